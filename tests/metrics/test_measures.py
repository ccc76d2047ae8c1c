"""Measures of one model, and the small functions around them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from netbenefit import Thresholds, TimeToEvent, aunbc, weighted_net_benefit
from netbenefit.metrics.bands import decision_summary
from netbenefit.metrics.benefit import sums_by
from netbenefit.metrics.measures import (
    chance_of,
    check_thresholds_at,
    compare,
    count_effective_rows,
    inner_model,
    mean_benefit_beside,
    measure,
    measures_of,
    name_at,
    size_of,
    wilson,
)
from netbenefit.metrics.survival import check_groups, undetermined
from netbenefit.metrics.thresholds import tidy

GRID = Thresholds.of([0.2, 0.5])


def test_measures_by_name() -> None:
    event, risk = np.array([False, True]), np.array([0.1, 0.6])
    found = measures_of(event, risk, None, GRID, [0.5])
    assert (found["auroc"], found[name_at(0.5)]) == (1.0, 0.5)
    assert chance_of(event, risk, None, GRID)["auroc"] == 0.5
    assert name_at(0.05) == "net_benefit_at_0.05"
    assert check_thresholds_at([0.3, 0.1]) == (0.1, 0.3)


def test_models_side_by_side() -> None:
    y, risk = [0, 0, 1, 1], np.array([0.1, 0.5, 0.5, 0.9])
    assert measure(y, risk, GRID).auroc == 0.875
    assert [row.model for row in compare(y, {"card": risk}, GRID)] == [
        *("card", "Treat All", "Treat None")
    ]


def test_treating_none_is_worth_nothing_at_any_threshold() -> None:
    y, everyone = [0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5]
    all_row, none_row = compare(y, {}, Thresholds.of([0.0, 0.5]))
    assert all_row.aunbc == aunbc(y, everyone, Thresholds.of([0.0, 0.5])) == 0.25
    assert none_row.aunbc == 0.0


def test_a_model_beside_treating_all_and_none() -> None:
    rng = np.random.default_rng(0)
    risk = rng.choice([0.05, 0.15, 0.3, 0.7], 400)
    event = rng.random(400) < risk
    grid = Thresholds.of([0.0, 0.1, 0.2, 0.5], [0.4, 0.3, 0.2, 0.1])
    found = mean_benefit_beside(event, risk, grid)
    summary = decision_summary(event, {"card": risk}, grid, reference="Treat All")
    for one, other in zip(found, (np.ones(400), np.zeros(400)), strict=True):
        value = weighted_net_benefit(event, risk, grid)
        none = one.reference == "Treat None"
        less = 0.0 if none else weighted_net_benefit(event, other, grid)
        assert one.difference == pytest.approx(value - less, abs=1e-12)
        assert one.low < one.difference < one.high
        assert one.words == "better"
    assert found[0].low == pytest.approx(summary["difference_lower"][0], abs=0.004)
    assert found[0].high == pytest.approx(summary["difference_upper"][0], abs=0.004)
    worse = mean_benefit_beside(~event, risk, Thresholds.of([0.5]))
    assert [one.words for one in worse] == ["worse", "worse"]
    everyone = mean_benefit_beside(event, np.ones(400), grid)[0]
    assert (everyone.difference, everyone.low, everyone.words) == (0.0, 0.0, "no better")
    one_row = mean_benefit_beside([1], [0.9], grid)[1]
    assert (one_row.low, one_row.words) == (-np.inf, "no better")


def test_groups_of_rows_beside_are_as_their_rows() -> None:
    event = np.array([True, False, True, False])
    risk, count = np.array([0.1, 0.1, 0.6, 0.6]), np.array([3, 17, 9, 5])
    rows = mean_benefit_beside(event.repeat(count), risk.repeat(count), GRID)
    groups = mean_benefit_beside(event, risk, GRID, sample_weight=count, effective_rows=34)
    for one, other in zip(rows, groups, strict=True):
        assert one[1:] == pytest.approx(other[1:])


def test_sizes_of_models() -> None:
    assert isinstance(inner_model(make_pipeline(DummyClassifier())), DummyClassifier)
    assert size_of(LogisticRegression().fit([[0, 0], [1, 0]], [0, 1])) == 1.0


def test_intervals_of_shares() -> None:
    assert count_effective_rows(np.array([1.0, 1.0, 2.0])) == 8 / 3
    assert [round(end, 3) for end in wilson(0.5, 10)] == [0.237, 0.763]
    low = wilson(np.array([0.0, 1.0]), np.array([3.0, 3.0]))[0]
    assert low.round(3).tolist() == [0.0, 0.439]


def test_follow_up_that_is_too_short() -> None:
    outcome = TimeToEvent([1, 2, 3], [1, 1, 0], horizon=4)
    assert undetermined(outcome, np.array([True, True, True]))
    assert not undetermined(outcome, np.array([True, True, False]))


def test_sums_and_groups() -> None:
    sums = sums_by(np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]), 4)
    assert (sums.tolist(), sums.dtype) == ([1.0, 0.0, 5.0, 0.0], np.float64)
    assert check_groups(["b", "a", "b"], 3, "strata").tolist() == [1, 0, 1]
    assert tidy(0.1 + 0.2) == 0.3
