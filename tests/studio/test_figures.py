"""Groups and distributions of odd columns."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from netbenefit.binning import Binner
from netbenefit.studio.figures import Grouping, distribution, measure_groups
from netbenefit.studio.rows import RowSet


def rows_of(values: Any, event: Any = None, weight: Any = None) -> RowSet:
    n = len(values)
    happened = np.arange(n) % 2 == 0 if event is None else np.asarray(event, dtype=bool)
    X = {"x": np.arange(n) % 3, "other": values}
    bins = Binner(cuts={"x": [1, 2]}, drop=["other"]).fit(X, happened).fitted_
    return RowSet(X, happened, weight, bins)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([True, False] * 20, ["0", "1"]),
        ([None, "a", "b", "a"] * 10, ["a", "b"]),
        ([1, "1", "b", None] * 10, ["1", "b"]),
        ([datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)] * 20, ["2026-01-01", "2026-01-02"]),
        ([None] * 40, []),
        (np.where(np.arange(40) % 4, np.nan, 1.5), ["1.5"]),
        (["<script>", "a, b"] * 20, ["<script>", '"a, b"']),
        (
            np.arange(40),
            ["under 9.75", "9.75 to under 19.5", "19.5 to under 29.25", "29.25 or more"],
        ),
        (np.where(np.arange(40) < 30, 0, np.arange(40)), ["under 7.5", "7.5 or more"]),
    ],
)
def test_groups_of_odd_columns(values: Any, names: list[str]) -> None:
    rows = rows_of(values)
    grouping = Grouping(rows, "other")
    assert grouping.names() == [*names, "other levels", "missing"]
    places = grouping.places(rows)
    here = [v is None or (isinstance(v, float) and np.isnan(v)) for v in np.asarray(values, object)]
    assert ((places == len(names) + 1) == here).all()
    assert not (places == len(names)).any()


def test_levels_that_training_did_not_have_are_others() -> None:
    grouping = Grouping(rows_of(["a", "b"] * 10), "other")
    assert grouping.places(rows_of(["a", "c", None, 1] * 2)).tolist() == [0, 2, 3, 2] * 2
    many = Grouping(rows_of([f"level {k % 20}" for k in range(100)]), "other")
    assert len(many.names()) == 14
    numbers = Grouping(rows_of(np.arange(40)), "other")
    assert numbers.places(rows_of(["text"] * 10)).tolist() == [4] * 10


def test_groups_without_rows_events_or_spread_have_no_interval() -> None:
    from netbenefit.cards import Condition, Rule, Scorecard
    from netbenefit.metrics import Thresholds
    from netbenefit.studio.figures import Plan

    values = ["a"] * 20 + ["b"] * 19 + ["zero"]
    weight = np.append(np.ones(39), 0.0)
    rows = rows_of(values, event=[False] * 20 + [True] * 20, weight=weight)
    rule = Rule(Condition("x", ">=", 1), 1)
    card = Scorecard((rule,), ((0, 0.1), (1, 0.6)), Thresholds.of([0.5]))
    plan = Plan(card, [rule.term], [1])
    a, b = measure_groups(rows, plan, Grouping(rows, "other"), 0.05)
    assert (a.name, a.events, a.sensitivity, a.sensitivity_interval) == ("a", 0, None, None)
    assert (a.at, a.at_interval) == (pytest.approx(-0.05 / 0.95), None)  # all are called
    assert (b.name, b.n, b.specificity, b.sensitivity) == ("b", 19, None, 1.0)
    assert b.observed_interval is not None
    assert b.observed_interval[1] == 1.0
    assert b.observed_interval[0] < 1.0


def test_a_distribution_counts_whole_numbers_whole_and_leaves_out_the_ends() -> None:
    rows = rows_of(np.arange(40))
    (term, *_) = rows._bins.terms
    bins = distribution(rows, term)
    assert [(one.low, one.high) for one in bins] == [(0, 1), (1, 2), (2, 3)]
    assert [one.events + one.others for one in bins] == [14, 13, 13]
