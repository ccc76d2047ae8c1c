"""Kaplan–Meier and Aalen–Johansen: slow twins with fractions, and lifelines."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import lifelines
import numpy as np
import pytest

from netbenefit.common.checks import InputError
from netbenefit.metrics.survival import (
    TimeToEvent,
    aalen_johansen,
    censoring_survival,
    kaplan_meier,
)


def slow_risk(
    time: list[int], event: list[int], weight: list[int], horizon: float, cause: int
) -> Fraction | None:
    """Risk by the horizon, one time after the other, in fractions; None where it is not known."""
    free, risk = Fraction(1), Fraction(0)
    rows = [row for row in zip(time, event, weight, strict=True) if row[2] > 0]
    for t in sorted({t for t, e, _ in rows if e and t <= horizon}):
        at_risk = sum(w for s, _, w in rows if s >= t)
        events = sum(w for s, e, w in rows if s == t and e == cause)
        ended = sum(w for s, e, w in rows if s == t and e)
        risk += free * Fraction(events, at_risk)
        free *= 1 - Fraction(ended, at_risk)
    followed = max(s for s, _, _ in rows) >= horizon
    return risk if followed or free == 0 else None


def random_rows(rng: np.random.Generator, n: int, codes: int = 3) -> tuple[Any, Any, Any]:
    """Few distinct times, so that there are ties of every kind; some weights are 0."""
    time = rng.integers(0, 7, n)
    event = rng.integers(0, codes, n)
    weight = rng.integers(0, 4, n)
    weight[rng.integers(n)] = 1
    return time, event, weight


def test_risk_against_fractions() -> None:
    rng = np.random.default_rng(0)
    unknown = 0
    for _ in range(1500):
        time, event, weight = random_rows(rng, int(rng.integers(1, 12)), int(rng.integers(1, 4)))
        horizon, cause = float(rng.choice([1, 2.5, 3, 5, 6, 9])), int(rng.integers(1, 3))
        found = TimeToEvent(time, event, horizon, cause).risk(weight)
        slow = slow_risk(time.tolist(), event.tolist(), weight.tolist(), horizon, cause)
        unknown += slow is None
        if slow is None:
            assert math.isnan(found)
        else:
            assert found == pytest.approx(float(slow), abs=1e-12)
    assert 100 < unknown < 1200


def test_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        time, event, weight = random_rows(rng, 15)
        rows = np.repeat(np.arange(15), weight)
        for curve in (kaplan_meier, aalen_johansen):
            one = curve(time, event, sample_weight=weight)
            other = curve(time[rows], event[rows])
            assert all(one[name] == pytest.approx(other[name], abs=1e-12) for name in one)


@pytest.mark.parametrize("weighted", [False, True])
def test_kaplan_meier_of_lifelines(weighted: bool) -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        time = rng.integers(1, 30, 200) / 4
        event = rng.random(200) < 0.6
        weight = rng.integers(1, 5, 200) if weighted else np.ones(200)
        theirs = lifelines.KaplanMeierFitter().fit(time, event, weights=weight)
        ours = kaplan_meier(time, event, sample_weight=weight)
        expected = theirs.survival_function_at_times(ours["time"]).to_numpy()
        assert ours["survival"] == pytest.approx(expected, abs=1e-10)


def test_aalen_johansen_of_lifelines() -> None:
    rng = np.random.default_rng(3)
    for cause in (1, 2):
        time = rng.permutation(np.arange(1, 301)) / 10  # lifelines moves tied times at random
        event = rng.integers(0, 3, 300)
        weight = rng.integers(1, 4, 300)
        fitter = lifelines.AalenJohansenFitter(calculate_variance=False)
        theirs = fitter.fit(time, event, event_of_interest=cause, weights=weight)
        ours = aalen_johansen(time, event, cause=cause, sample_weight=weight)
        expected = theirs.predict(ours["time"]).to_numpy()
        assert ours["risk"] == pytest.approx(expected, abs=1e-10)


def test_risks_of_all_kinds_and_survival_add_up_to_one() -> None:
    rng = np.random.default_rng(4)
    time, event, _ = random_rows(rng, 200)
    weight = rng.random(200)
    one = aalen_johansen(time, event, cause=1, sample_weight=weight)
    two = aalen_johansen(time, event, cause=2, sample_weight=weight)
    assert one["risk"] + two["risk"] + one["survival"] == pytest.approx(1.0, abs=1e-12)
    assert one["competing"] == pytest.approx(two["events"], abs=1e-12)
    alone = kaplan_meier(time, event, sample_weight=weight)
    assert one["survival"] == pytest.approx(alone["survival"], abs=1e-15)


def test_staying_times_surviving_is_the_share_at_risk() -> None:
    """With events before censoring at equal times: G(t−) S(t−) = share of rows followed to t."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        time, event, _ = random_rows(rng, 30)
        weight = rng.random(30) + 0.1
        staying = censoring_survival(time.astype(float), event, weight)
        curve = kaplan_meier(time, event, sample_weight=weight)
        before = np.concatenate([[1.0], curve["survival"]])
        free = before[np.searchsorted(curve["time"], time, side="left")]
        followed = np.array([weight[time >= t].sum() for t in time]) / weight.sum()
        assert staying * free == pytest.approx(followed, abs=1e-12)


def test_horizon_and_ties_with_it() -> None:
    assert TimeToEvent([5, 5], [1, 0], horizon=5).risk() == 0.5  # an event at 5 is one by 5
    assert TimeToEvent([5, 5], [1, 0], horizon=4.9).risk() == 0.0
    outcome = TimeToEvent([5, 5, 3, 8], [1, 0, 0, 1], horizon=5)
    assert outcome.kind.tolist() == [1, 0, 0, 0]
    assert outcome.censored_early.tolist() == [False, False, True, False]


def test_an_outcome_keeps_its_own_rows() -> None:
    time = np.array([1.0, 2.0])
    outcome = TimeToEvent(time, [1, 0], 2)
    time[:] = 0
    assert outcome.time.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        outcome.time[0] = 3
    again = pickle.loads(pickle.dumps(outcome))
    assert (again.risk(), again.horizon, len(again)) == (0.5, 2.0, 2)


def test_booleans_and_no_events() -> None:
    assert TimeToEvent([1, 2], [True, False], 2).risk() == 0.5
    assert TimeToEvent([1, 2], [0, 0], 2).risk() == 0.0
    assert kaplan_meier([1, 2], [0, 0]).n_rows == 0
    assert not TimeToEvent([1, 3], [1, 2], 2).competing  # the other event comes later


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, -2], [0, 1], 1), r"time must be finite and not negative, but row 1 has -2\.0"),
        (([1, math.nan], [0, 1], 1), r"row 1 has nan"),
        ((["x"], [0], 1), r"time must hold one number per row"),
        ((np.array([1, 2], "m8[D]"), [0, 1], 1), r"in the unit of the horizon"),
        (([], [], 1), r"at least one row"),
        (([1, 2], [0], 1), r"event has shape \(1,\), but there are 2 times"),
        (([1, 2], [0, 1.5], 1), r"event must hold 0 .* row 1 has 1\.5"),
        (([1, 2], [0, -1], 1), r"row 1 has -1\.0"),
        (([1, 2], ["dead", "alive"], 1), r"event must hold whole numbers"),
        (([1, 2], [0, 1], 0), r"horizon=0 must be a positive number"),
        (([1, 2], [0, 1], "soon"), r"horizon='soon' must be a positive"),
        (([1, 2], [0, 1], 1, 0), r"cause=0 must be a whole number of at least 1"),
        (([1, 2], [0, 1], 1, True), r"cause=True must be"),
    ],
)
def test_bad_input(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TimeToEvent(*arguments)
