"""What displays share: names, styles, options, grids and labels."""

from __future__ import annotations

import numpy as np

from netbenefit import Thresholds
from netbenefit.common.checks import check_option
from netbenefit.plots.base import name_lines, named, style_of
from netbenefit.plots.calibration import _apart
from netbenefit.plots.decision_curve import curve_grid, part_of_interest
from netbenefit.plots.roc import _percents, _shared


def test_names_and_styles() -> None:
    assert (named({"card": 1}), named(0.5)) == ({"card": 1}, {"float": 0.5})
    assert named(0.5, "half") == {"half": 0.5}
    assert len({style_of(i)[1:] for i in range(35)}) == 35  # without colour
    assert name_lines("a name\x07 that goes on", 12) == "a name� that\ngoes on"
    assert check_option("kind", "curve", ("curve", "table")) == "curve"


def test_grids() -> None:
    assert len(curve_grid(None, Thresholds.of([0.125, 0.5]), [0.2]).given) == 101
    assert len(curve_grid("risks", None, [0.125, 0.3, 0.125]).given) == 103
    part = part_of_interest(Thresholds.tenths(), Thresholds.of([0.2, 0.4]))
    assert part.given.tolist() == [0.2, 0.3, 0.4]


def test_labels_of_points() -> None:
    near = _apart(np.array([0.1, 0.11, 0.5]), np.array([5.0, 7.0, 2.0]))
    assert near == [(0.11, 7.0), (0.5, 2.0)]
    assert (_percents([0.05, 0.125]), _percents([0.1, 0.2, 0.3, 0.4])) == ("5%, 12.5%", "10% … 40%")
    points = {
        "threshold": np.array([0.05, 0.1, 0.15, 0.5]),
        "fpr": np.array([0.2, 0.2, 0.2, 0.1]),
        "tpr": np.array([0.9, 0.9, 0.9, 0.5]),
    }
    assert _shared(points) == [(0.2, 0.9, "5%, 10%, 15%"), (0.1, 0.5, "50%")]
