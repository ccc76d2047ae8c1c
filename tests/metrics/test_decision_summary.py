"""One number over a range of thresholds: plain functions, integrals, draws."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from netbenefit import aunbc, weighted_net_benefit
from netbenefit.common.checks import InputError
from netbenefit.metrics.bands import decision_summary
from netbenefit.metrics.curves import decision_curve
from netbenefit.metrics.survival import TimeToEvent
from netbenefit.metrics.thresholds import Thresholds
from tests.metrics.test_bands import GRID, Rows, all_draws


def test_summary_values_are_those_of_the_plain_functions() -> None:
    rng = np.random.default_rng(50)
    grids = [
        Thresholds.range(0.05, 0.6, 0.05, weights="length"),
        Thresholds.of([0, 0.2, 0.4], weights=lambda p: 1 + p),
        Thresholds.of([0.1, 0.3], weights=[0.25, 0.75]),
    ]
    for grid in grids:
        rows = Rows(rng, 70, 0)
        options: dict[str, Any] = {"sample_weight": rows.weight}
        for area, plain in (("weights", weighted_net_benefit), ("length", aunbc)):
            table = decision_summary(
                rows.y, rows.risks, grid, area=area, n_resamples=10, harm={"b": 0.02}, **options
            )
            expected = [
                plain(rows.y, rows.risks["a"], grid, **options),
                plain(rows.y, rows.risks["b"], grid, **options) - 0.02,
                plain(rows.y, np.ones(70), grid, **options),
                0.0,
            ]
            assert table["aunbc"] == pytest.approx(expected, abs=1e-12)


def test_exact_area_is_the_integral_of_the_curve() -> None:
    rng = np.random.default_rng(51)
    for trial in range(30):
        n = 25
        y, weight = rng.integers(0, 2, n), rng.random(n) + 0.1
        risk = rng.choice([0.0, 0.1, 0.15, 0.2, 0.33, 0.6, 0.8, 1.0], n)
        low, high = ((0.1, 0.6), (0.05, 0.5), (0.0, 0.8))[trial % 3]
        table = decision_summary(
            y,
            {"m": risk},
            Thresholds.range(low, high, (high - low) / 3),
            area="exact",
            sample_weight=weight,
            n_resamples=5,
        )

        def benefit(p: float, risk: Any = risk, y: Any = y, weight: Any = weight) -> float:
            positive = risk >= p
            tp, fp = weight[positive & (y == 1)].sum(), weight[positive & (y == 0)].sum()
            return float((tp - fp * p / (1 - p)) / weight.sum())

        breaks = sorted({low, high, *(r for r in risk if low < r < high)})
        total = sum(quad(benefit, a + 1e-13, b)[0] for a, b in pairwise(breaks))
        assert table["aunbc"][0] == pytest.approx(total / (high - low), abs=1e-9)


def test_fine_grids_approach_the_exact_area_over_time() -> None:
    rows = Rows(np.random.default_rng(52), 300, 2)
    exact = decision_summary(rows.y, rows.risks, "0.1:0.5:0.1", area="exact", n_resamples=5)
    fine = decision_summary(rows.y, rows.risks, "0.1:0.5:0.0005", area="length", n_resamples=5)
    rough = decision_summary(rows.y, rows.risks, "0.1:0.5:0.2", area="length", n_resamples=5)
    assert fine["aunbc"] == pytest.approx(exact["aunbc"], abs=4e-4)
    assert abs(rough["aunbc"][0] - exact["aunbc"][0]) > 1e-3


def test_summary_limits_and_differences_follow_from_the_draws() -> None:
    rows = Rows(np.random.default_rng(53), 60, 2)
    grid = Thresholds.of(GRID, weights=[0.2, 0.5, 0.3])
    table = decision_summary(rows.y, rows.risks, grid, reference="b", n_resamples=80, level=0.8)
    draws = np.einsum("stb,t->sb", all_draws(rows, 80, 0), np.array([0.2, 0.5, 0.3]))
    known = ~np.isnan(table["aunbc"])
    assert known[2:].all()
    for s in np.flatnonzero(known):
        low, high = np.quantile(draws[s], [0.1, 0.9])
        assert [table["lower"][s], table["upper"][s]] == pytest.approx([low, high], abs=1e-12)
        if known[1]:
            apart = draws[s] - draws[1]
            assert table["difference_lower"][s] == pytest.approx(np.quantile(apart, 0.1))
            assert table["difference_standard_error"][s] == pytest.approx(apart.std(ddof=1))


def test_summary_is_missing_where_a_threshold_that_counts_is() -> None:
    outcome = TimeToEvent([1, 2, 6], [1, 0, 0], horizon=5)
    risk = [0.9, 0.9, 0.1]
    lost = decision_summary(outcome, risk, [0.05, 0.5], n_resamples=5)
    assert math.isnan(lost["aunbc"][0])
    assert math.isnan(lost["difference_upper"][1])
    assert lost["aunbc"][1] < 1
    fine = decision_summary(
        outcome, risk, Thresholds.of([0.05, 0.5], weights=[1.0, 0.0]), n_resamples=5
    )
    assert fine["aunbc"][0] == pytest.approx(net_benefit_at(outcome, risk, 0.05))


def net_benefit_at(outcome: TimeToEvent, risk: list[float], p: float) -> float:
    return float(decision_curve(outcome, risk, [p])["net_benefit"][0])


@pytest.mark.parametrize(
    ("area", "message"),
    [("all", r"area='all' is not known"), ("exact", r"a range of thresholds that ends below 1")],
)
def test_bad_input(area: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        decision_summary([0, 1], [0, 1], area=area)
