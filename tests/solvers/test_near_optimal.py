"""The set of near-optimal cards against all vectors."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit import RiskScoreClassifier
from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.problem import Problem
from netbenefit.solvers import near_optimal
from netbenefit.solvers.near_optimal import enumerate_near_optimal
from tests.helpers.full import FULL, more_cases
from tests.helpers.strategies import all_points, brute_force, constrained_problems


def all_near(problem: Problem, tolerance: Fraction) -> dict[tuple[int, ...], Fraction]:
    """All cards of the set, one by one; of multiples the smallest that is allowed."""
    best = brute_force(problem)
    assert best is not None
    found = {}
    for points in all_points(problem):
        if not problem.feasible(points):
            continue
        value = problem.evaluate(points).objective
        if value >= best[0] - tolerance:
            found[tuple(problem.primitive(points).tolist())] = value
    return found


@more_cases
@settings(max_examples=1500 if FULL else 40)
@given(
    constrained_problems(most_vectors=400),
    st.sampled_from(["0", "1/1000", "1/100", "1/20", "1/2"]).map(Fraction),
)
def test_equals_all_vectors(problem: Problem, tolerance: Fraction) -> None:
    if brute_force(problem) is None:
        return
    expected = all_near(problem, tolerance)
    near = enumerate_near_optimal(problem, tolerance, limit=1000, time_limit=None)
    assert near.complete
    assert near.optimal
    assert {card.points: card.objective for card in near.cards} == expected
    for card in near.cards:
        used = problem.questions.of_column[np.array(card.points) != 0]
        assert card.questions == len(set(used.tolist())) <= problem.limits.asked.most
        assert card.size == used.size
    objectives = [card.objective for card in near.cards]
    assert objectives == sorted(objectives, reverse=True)
    assert near.cards[0].agreement == 1.0
    assert all(0.0 <= card.agreement <= 1.0 for card in near.cards)


def small_problem(**settings: object) -> Problem:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (60, 4))
    y = rng.random(60) < 0.2 + 0.5 * X[:, 0] * X[:, 1]
    table = PatternTable.from_arrays(X, y, names=["a", "b", "c", "d"])
    return Problem.build(table, Thresholds.tenths(), max_points=3, **settings)


def test_the_limit_keeps_the_best_and_says_so() -> None:
    problem = small_problem()
    everything = enumerate_near_optimal(problem, 0.02, limit=5000)
    few = enumerate_near_optimal(problem, 0.02, limit=5)
    assert everything.complete
    assert len(everything.cards) > 5
    assert not few.complete
    assert [c.objective for c in few.cards] == [c.objective for c in everything.cards[:5]]


def test_a_large_problem_is_best_effort_and_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = small_problem()
    everything = enumerate_near_optimal(problem, 0.02, limit=5000)
    monkeypatch.setattr(near_optimal, "fits_boxes", lambda *_: False)
    some = enumerate_near_optimal(problem, 0.02, limit=5000)
    assert not some.complete
    expected = {card.points for card in everything.cards}
    found = {card.points for card in some.cards}
    assert found <= expected
    assert len(found) > len(expected) // 2  # neighbours lead far in so small a problem


def test_table() -> None:
    near = enumerate_near_optimal(small_problem(), 0.01)
    table = near.to_table()
    assert list(table) == [
        "objective",
        "loss",
        "size",
        "questions",
        "agreement",
        "features",
        "points",
    ]
    assert table.n_rows == len(near.cards)
    assert table["loss"][0] == 0.0
    assert (np.diff(table["loss"]) >= 0).all()
    for card, features, points in zip(near.cards, table["features"], table["points"], strict=True):
        used = [(n, v) for n, v in zip(near.names, card.points, strict=True) if v]
        assert features == ", ".join(n for n, _ in used)
        assert points == ", ".join(str(v) for _, v in used)


def test_estimator_method_leaves_the_fit_alone() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 3))
    y = rng.random(200) < 0.1 + 0.3 * X[:, 0] + 0.4 * X[:, 2]
    model = RiskScoreClassifier(
        binner=None, thresholds="0.1:0.6:0.1", max_points=3, prior_strength=0
    )
    near = model.near_optimal(X, y, tolerance=0.01, limit=20)
    assert not hasattr(model, "scorecard_")
    model.fit(X, y)
    assert math.isclose(float(near.cards[0].objective), model.result_.objective)
    assert near.cards[0].points == tuple(model.coef_.tolist())


@pytest.mark.parametrize("tolerance", [-0.1, float("nan"), float("inf"), True, "much"])
def test_bad_tolerance(tolerance: object) -> None:
    with pytest.raises(InputError, match="tolerance"):
        enumerate_near_optimal(small_problem(), tolerance)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [0, -1, 2.5, True])
def test_bad_limit(limit: object) -> None:
    with pytest.raises(InputError, match="limit"):
        enumerate_near_optimal(small_problem(), 0.1, limit)  # type: ignore[arg-type]
