"""Sums of weights, and the small parts of a search for cuts."""

from __future__ import annotations

import numpy as np
import pytest

from netbenefit import Condition, PerUnit
from netbenefit.binning.cuts import count_events, fit_additive, outside_logits, roundest
from netbenefit.binning.fitted import dtype_of
from netbenefit.binning.search import CellScores, count_cells, equal_mass_edges, gain_edges
from netbenefit.binning.weights import count_rows, first_reaching
from netbenefit.metrics.benefit import sums_by


def test_sums_and_counts() -> None:
    assert sums_by(np.array([0, 1, 1]), np.array([0.5, 1.0, 2.0]), 3).tolist() == [0.5, 3.0, 0.0]
    assert count_rows(np.array([3.0, 1.0, 0.0])) == 4.0
    assert count_rows(np.array([0.5, 0.25, 0.0])) == 2.0
    assert first_reaching(np.cumsum([0.1, 0.2, 0.3]), 0.5) == 1


def test_cells_are_values_or_quantiles() -> None:
    assert count_cells(np.array([3.0, 1.0, 1.0, 2.0])).starts.tolist() == [1, 2, 3]
    cells = count_cells(np.arange(100), most=4)
    assert (cells.starts.tolist(), cells.ends.tolist()) == ([0, 25, 50, 75], [24, 49, 74, 99])
    few = count_cells(np.array([1.0, 1.0, 2.0]))
    counts = count_events(few, np.array([True, False, True]), np.ones(3))
    assert (counts.events.tolist(), counts.others.tolist()) == ([1, 1], [1, 0])


def test_edges() -> None:
    g, h = np.array([-9.0, -9.0, 9.0, 9.0]), np.full(4, 5.0)
    assert gain_edges(CellScores(h, g, h, h), max_bins=4, min_mass=1.0).tolist() == [2]
    assert equal_mass_edges(np.array([4.0, 1.0, 1.0, 2.0]), 2, 1.0).tolist() == [1]


def test_logits_of_the_other_columns() -> None:
    x, z = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    without_x, without_z = outside_logits([x, z], [2, 2], x > 0, np.ones(4))
    assert without_x == pytest.approx(np.zeros(4), abs=1e-9)
    assert without_z.round(2).tolist() == [-0.4, -0.4, 0.4, 0.4]
    effects = fit_additive([x], [2], x > 0, np.ones(4), ridge=1.0).effects
    assert effects[0].round(3).tolist() == [-0.675, 0.675]


def test_round_numbers() -> None:
    assert (roundest(51.2, 52.2, 51.7), roundest(49.0, 52.0, 51.7)) == (52.0, 50.0)
    assert roundest(0.5301, 0.5353, 0.5327) == 0.535
    assert roundest(0.528, 0.537, 0.5327) == 0.53


def test_codes_take_few_bits() -> None:
    terms = [Condition("age", ">=", 52), PerUnit("bmi", decimals=1, lower=15, upper=45)]
    assert dtype_of(terms) == np.int16
