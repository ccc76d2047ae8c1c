"""SLIM's search against brute force."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from netbenefit import InputError, MaxTotalPoints, MinTPR, PatternTable, Values
from netbenefit.estimators.slim.task import SlimExact, SlimTask
from netbenefit.problem.problem import SolverResult
from tests.helpers.full import FULL, more_cases


class Case(NamedTuple):
    """Raw rows and settings, from which truth and task are made independently."""

    X: list[list[Fraction]]
    y: list[int]
    weights: list[float]
    penalty: Fraction
    point_price: Fraction
    max_points: int
    reach: int
    max_features: int | None

    @property
    def task(self) -> SlimTask:
        rows = np.array([[float(v) for v in row] for row in self.X])
        table = PatternTable.from_arrays(
            rows, self.y, sample_weight=self.weights, decimals={"x0": 1}
        )
        return SlimTask.build(
            table,
            penalty=self.penalty,
            point_price=self.point_price,
            max_intercept=self.reach,
            max_points=self.max_points,
            max_features=self.max_features,
        )


def make_case(seed: int) -> Case:
    """A few rows: ties, duplicates, tenths, wide scores, weights, cut-offs that hardly move."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 13)), int(rng.integers(1, 4))
    wide = 40 if rng.random() < 0.25 else 3
    X = rng.integers(-wide, wide + 1, (n, p))
    rows = [[Fraction(int(v), 10 if k == 0 else 1) for k, v in enumerate(row)] for row in X]
    y = rng.integers(0, 2, n).tolist()
    y[:2] = 0, 1
    rows[1] = [v + 1 for v in rows[0]]  # so that no column is constant
    weights = rng.integers(1, 4, n).astype(float).tolist()
    if seed % 4 == 3:
        weights = rng.choice([0.25, 0.5, 1.75, 3.0], n).tolist()  # sums without rounding
    usual = Fraction(9, 10) / (Fraction(sum(weights)) * p)
    penalty = usual if seed % 3 else Fraction(int(rng.integers(0, 6)), 100)
    point_price = penalty / 10 if seed % 5 else Fraction(int(rng.integers(0, 6)), 200)
    limit = int(rng.integers(0, p + 1)) if rng.random() < 0.3 else None
    most = int(rng.integers(1, 4)) if p == 3 else int(rng.integers(1, 7))
    reach = int(rng.choice([0, 1, 3, 10, 100]))
    return Case(rows, y, weights, penalty, point_price, most, reach, limit)


def loss_of(case: Case, points: tuple[int, ...], cutoff: int) -> Fraction:
    """The definition, row by row."""
    scores = [math.floor(sum(a * b for a, b in zip(row, points, strict=True))) for row in case.X]
    called = [score >= cutoff for score in scores]
    wrong = sum(
        (Fraction(w) for w, c, y in zip(case.weights, called, case.y, strict=True) if c != bool(y)),
        Fraction(0),
    )
    size, total = sum(v != 0 for v in points), sum(abs(v) for v in points)
    rows = Fraction(sum(case.weights))
    return wrong / rows + case.penalty * size + case.point_price * total


def brute_force(case: Case) -> Fraction:
    """Least loss of all points and all cut-offs of the range, in whole numbers."""
    units = np.array([[int(10 * v) for v in row] for row in case.X])
    masses = np.array([int(4 * w) for w in case.weights])
    box = range(-case.max_points, case.max_points + 1)
    points = np.array(list(itertools.product(box, repeat=units.shape[1])))
    if case.max_features is not None:
        points = points[(points != 0).sum(axis=1) <= case.max_features]
    scores = np.floor_divide(points @ units.T, 10)
    event = np.array(case.y) == 1
    wrong = np.min(
        [((scores >= t) != event) @ masses for t in range(-case.reach, case.reach + 1)], axis=0
    )
    size, total = (points != 0).sum(axis=1), np.abs(points).sum(axis=1)
    rows = 4 * Fraction(sum(case.weights))
    prices = {
        (int(w), int(s), int(t)): w / rows + case.penalty * int(s) + case.point_price * int(t)
        for w, s, t in zip(wrong.tolist(), size, total, strict=True)
    }
    return min(prices.values())


def check(case: Case, result: SolverResult, least: Fraction) -> None:
    """The card is worth what is said, is the best one, and nothing false is proven."""
    task = case.task
    points, (cutoff,) = tuple(result.points.tolist()), result.cutoffs
    assert abs(cutoff) <= case.reach
    assert task.problem.allows(result.points)
    loss = loss_of(case, points, cutoff)
    assert loss == task.prevalence - task.evaluate(result.points).objective
    assert result.objective == float(task.prevalence - loss)
    assert result.proof is not None
    assert task.prevalence - result.proof.bound <= least == loss
    assert result.status == "optimal"
    assert result.bound == result.objective
    assert result.gap == 0.0


#: Factor of how many random problems have to be solved.
MANY = 10 if FULL else 1


@more_cases
@pytest.mark.parametrize("first", range(0, 250 * MANY, 50))
def test_engine_against_brute_force(first: int) -> None:
    for seed in range(first, first + 50):
        case = make_case(seed)
        check(case, SlimExact(time_limit=None).solve(case.task), brute_force(case))


def test_the_price_of_points_can_outweigh_a_column() -> None:
    """It is no mere tie-breaker: one point more costs more than one column here."""
    X = [[1, 0, 1], [0, 1, 1], [0, 0, 1], [0, 0, 2], [1, 1, 2], [1, 1, 0]]
    y = [1, 1, 0, 0, 1, 1]
    table = PatternTable.from_arrays(X, y)
    results = [
        SlimExact(None).solve(
            SlimTask.build(table, penalty=Fraction(1, 1000), point_price=Fraction(k, 1000))
        )
        for k in (0, 2)
    ]
    assert all(result.status == "optimal" for result in results)
    assert np.abs(results[1].points).sum() <= np.abs(results[0].points).sum()


def test_cutoffs_stay_in_their_range() -> None:
    """Without the range one point of age is enough; with it, the age is out of reach."""
    ages = [[v] for v in (30, 35, 40, 160, 165, 170)]
    table = PatternTable.from_arrays(ages, [0, 0, 0, 1, 1, 1])
    for reach, errors in ((150, 0), (41, 0), (40, Fraction(1, 6)), (30, Fraction(1, 2))):
        task = SlimTask.build(
            table, penalty=Fraction(0), point_price=Fraction(0), max_intercept=reach
        )
        found = SlimExact(None).solve(task)
        assert task.prevalence - task.evaluate(found.points).net_benefit == errors
        assert abs(found.cutoffs[0]) <= reach
        assert found.status == "optimal"


def test_constraints_hold() -> None:
    case = make_case(6)
    table = case.task.problem.patterns
    constraints = [MaxTotalPoints(2), Values(0, (0, 2))]
    task = SlimTask.build(
        table, penalty=Fraction(0), point_price=Fraction(1, 10**6), constraints=constraints
    )
    allowed = [
        points
        for points in itertools.product(range(-2, 3), repeat=table.n_features)
        if points[0] in (0, 2) and sum(map(abs, points)) <= 2
    ]
    best = max(task.evaluate(np.array(points)).objective for points in allowed)
    result = SlimExact(None).solve(task)
    assert tuple(result.points.tolist()) in allowed
    assert task.evaluate(result.points).objective == best
    with pytest.raises(InputError, match="no limits on rates"):
        SlimTask.build(
            table,
            penalty=Fraction(0),
            point_price=Fraction(0),
            constraints=[MinTPR(0.5, 0.5)],
        )
