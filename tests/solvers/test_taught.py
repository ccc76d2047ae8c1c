"""Solvers on blended masses against every vector, counted row by row in fractions.

Nothing is shared with the package but the blend: scores, cut-offs, net benefit and rates are
counted anew from the rows, rates by their outcomes.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import MaxFPR, MinTPR
from netbenefit.problem.problem import NoCardFound, Problem
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.solvers.milp.solve import MixedInteger
from netbenefit.solvers.near_optimal import enumerate_near_optimal
from netbenefit.solvers.search_then_prove import SearchThenProve
from netbenefit.solvers.sizes import best_of_every_size
from netbenefit.teachers.crossfit import blend
from tests.helpers.box_prover import BranchAndBound
from tests.helpers.full import FULL, more_cases

MOST = 2
GRID = [Fraction(1, 5), Fraction(1, 2), Fraction(7, 10)]


@dataclass(frozen=True, eq=False)
class Small:
    """A problem, and its rows as (features, weight, event, mass of events)."""

    problem: Problem
    rows: list[tuple[tuple[Fraction, ...], Fraction, bool, Fraction]]
    found: Fraction | None  #: least share of events to find at ½
    alarms: Fraction | None  #: most share of others to call at ½

    def objective(self, points: tuple[int, ...]) -> Fraction | None:
        """G by its definition; None where the rates forbid every cut-off."""
        scores = [
            math.floor(sum(x * v for x, v in zip(row, points, strict=True)))
            for row, *_ in self.rows
        ]
        n = sum(w for _, w, _, _ in self.rows)
        events = sum(w for _, w, y, _ in self.rows if y)
        total = Fraction(0)
        for p in GRID:
            best = None
            for cutoff in {*scores, max(scores) + 1}:
                called = [r for r, s in zip(self.rows, scores, strict=True) if s >= cutoff]
                hits = sum((w for _, w, y, _ in called if y), Fraction(0))
                alarms = sum((w for _, w, y, _ in called if not y), Fraction(0))
                # A limit at ½ also holds below it (events found) or above it (false alarms).
                if self.found is not None and p <= GRID[1] and hits < self.found * events:
                    continue
                if self.alarms is not None and p >= GRID[1] and alarms > self.alarms * (n - events):
                    continue
                mass = sum((m for *_, m in called), Fraction(0))
                value = mass - p / (1 - p) * (hits + alarms - mass)
                best = value if best is None else max(best, value)
            if best is None:
                return None
            total += Fraction(1, len(GRID)) * best
        return total / n - self.problem.penalty * sum(v != 0 for v in points)

    def best(self, most: int = 9) -> Fraction | None:
        vectors = itertools.product(range(-MOST, MOST + 1), repeat=len(self.rows[0][0]))
        values = [self.objective(v) for v in vectors if sum(x != 0 for x in v) <= most]
        return max((v for v in values if v is not None), default=None)


def small(seed: int) -> Small:
    """A few rows, with ties and copies, and a teacher that may contradict the outcomes."""
    rng = np.random.default_rng(seed)
    n, width = int(rng.integers(4, 9)), 2
    X = rng.integers(0, 3, (n, width)) / int(rng.choice([1, 1, 2]))
    X[:2] = [0, 1], [1, 0]  # a constant column would get no points
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    risks = (rng.random(n), 1.0 - y, 0.8 - 0.6 * y, rng.integers(0, 3, n) / 2)[seed % 4]
    weights = rng.integers(1, 4, n) * int(rng.choice([1, 1, 10**6]))
    n0 = [Fraction(1, 3), Fraction(25), None, Fraction(10**9)][int(rng.integers(4))]
    table = PatternTable.from_arrays(X, y, sample_weight=weights)
    table, _ = blend(table, np.asarray(risks, dtype=np.float64), weights.astype(float), n0)
    found = alarms = None
    limits: list[Any] = []
    if rng.random() < 0.5:
        found = Fraction(int(rng.integers(1, 5)), 4)
        limits.append(MinTPR(0.5, found))
    if rng.random() < 0.5:
        alarms = Fraction(int(rng.integers(0, 4)), 4)
        limits.append(MaxFPR(0.5, alarms))
    problem = Problem.build(
        table,
        Thresholds.of([float(p) for p in GRID], weights="equal"),
        penalty=Fraction(int(rng.integers(0, 3)), 100),
        max_points=MOST,
        constraints=limits,
    )
    # A pattern's mass is shared by its rows: only sums matter.
    rows = []
    for row, w, event, u in zip(X, weights.tolist(), y, table.pattern_of_row, strict=True):
        size = int(table.events[u] + table.others[u])
        mass = Fraction(int(table.positives[u]), table.denominator) * w / size
        rows.append((tuple(Fraction(x) for x in row.tolist()), Fraction(w), bool(event), mass))
    return Small(problem, rows, found, alarms)


def test_the_problem_counts_as_the_rows_do() -> None:
    infeasible = 0
    for seed in range(150):
        case = small(seed)
        rng = np.random.default_rng(seed)
        for points in rng.integers(-MOST, MOST + 1, (4, 2)).tolist():
            expected = case.objective(tuple(points))
            assert case.problem.feasible(points) == (expected is not None)
            if expected is None:
                infeasible += 1
            else:
                assert case.problem.evaluate(points).objective == expected
    assert infeasible > 50


@more_cases
@pytest.mark.parametrize("part", range(4))
def test_solvers_find_and_prove_the_best_of_all_vectors(part: int) -> None:
    none = 0
    for seed in range(part * 60, part * 60 + (60 if FULL else 15)):
        case = small(seed)
        problem, best = case.problem, case.best()
        if best is None:
            none += 1
            with pytest.raises(NoCardFound, match="proven"):
                BranchAndBound(time_limit=None).solve(problem)
            with pytest.raises(InputError, match="no card meets the constraints"):
                MixedInteger().solve(problem, start=problem.nearest_to_zero())
            with pytest.raises(NoCardFound):
                LocalSearch(time_limit=None, max_rounds=1).solve(problem)
            continue
        found = LocalSearch(time_limit=None, max_rounds=2).solve(problem)
        assert problem.evaluate(found.points).objective == best
        solvers: list[Any] = [BranchAndBound(time_limit=None)]
        if seed % 5 == 0:
            solvers += [MixedInteger(), SearchThenProve(time_limit=2.0)]
        for solver in solvers:
            result = solver.solve(problem)
            assert problem.evaluate(result.points).objective == best
            assert result.proof is not None
            assert best <= result.proof.bound
            if isinstance(solver, MixedInteger) and result.status != "optimal":
                # Huge masses are beyond the tolerances of a floating-point solver: then its bound
                # is above the best by a little.
                reported = Fraction(result.proof.details["solver_bound"])
                assert best <= reported <= best + Fraction(1, 10**6)
            else:
                assert result.status == "optimal"
                assert result.proof.bound == best
    assert none > 0 or part > 1


@more_cases
def test_near_optimal_cards_and_sizes() -> None:
    for seed in range(300, 360 if FULL else 310):
        case = small(seed)
        best = case.best()
        if best is None:
            continue
        tolerance = Fraction(1, 50)
        near = enumerate_near_optimal(case.problem, tolerance, limit=1000, time_limit=None)
        vectors = itertools.product(range(-MOST, MOST + 1), repeat=2)
        values = {v: case.objective(v) for v in vectors}
        expected = {
            tuple(case.problem.primitive(np.array(v)).tolist())
            for v, value in values.items()
            if value is not None and value >= best - tolerance
        }
        assert near.complete
        assert {card.points for card in near.cards} == expected
        assert all(card.objective == values[card.points] for card in near.cards)
        sizes = [size for size in (1, 2) if case.best(size) is not None]
        found = best_of_every_size(case.problem, [1, 2], time_limit=None)
        assert list(found) == sizes
        for size, result in found.items():
            assert result.objective == pytest.approx(float(case.best(size) or 0), abs=1e-12)
