"""Exact search against all vectors: random problems of every kind, and the proof's own boxes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, seed, settings, strategies as st

from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.problem import (
    IntegerProblem,
    NoCardFound,
    Problem,
    Progress,
    Reason,
    SolverResult,
)
from netbenefit.solvers.boxes import search as branch_and_bound
from netbenefit.solvers.boxes.flow import make_field
from netbenefit.solvers.boxes.tree import NOTHING
from tests.helpers.box_prover import BranchAndBound, flow_bound
from tests.helpers.full import FULL, more_cases
from tests.helpers.strategies import brute_force, constrained_problems, problems

#: 100 problems in the quick run, 5,000 in the full one (make test-full), in shards for xdist.
SHARDS, EXAMPLES = (20, 250) if FULL else (4, 25)

SOLVER = BranchAndBound(time_limit=None, n_jobs=1)


def check_against_all(problem: Problem) -> SolverResult | None:
    """Exact search finds the best of all vectors and proves it, or that there is none."""
    best = brute_force(problem)
    if best is None:
        with pytest.raises(NoCardFound, match="proven"):
            SOLVER.solve(problem)
        return None
    result = SOLVER.solve(problem)
    assert problem.feasible(result.points)
    assert problem.evaluate(result.points).objective == best[0]
    assert result.status == "optimal"
    assert result.proof is not None
    assert result.proof.bound >= best[0]
    assert result.proof.bound <= best[0] + result.proof.rounding
    assert result.bound == result.objective == float(best[0])
    return result


@more_cases
@pytest.mark.parametrize("shard", range(SHARDS))
def test_equals_all_vectors(shard: int) -> None:
    @seed(shard)
    @settings(max_examples=EXAMPLES)
    @given(constrained_problems())
    def check(problem: Problem) -> None:
        check_against_all(problem)

    check()


@settings(max_examples=25)
@given(st.data())
def test_equals_all_vectors_with_real_weights(data: st.DataObject) -> None:
    problem = data.draw(constrained_problems(real=True, rates=False, most_vectors=300))
    best = brute_force(problem)
    assert best is not None
    result = SOLVER.solve(problem)
    assert result.proof is not None
    assert result.status == "optimal"
    # Real weights are held in whole numbers, rounded up: equal up to that.
    exact = problem.evaluate(result.points).objective
    assert exact <= best[0] <= result.proof.bound <= exact + result.proof.rounding
    assert result.proof.rounding < Fraction(1, 10**9)


@settings(max_examples=60)
@given(constrained_problems(most_vectors=500))
def test_boxes_cover_the_space_and_bound_it(problem: Problem) -> None:
    """Every vector is in one box; no vector is worth more than its box allows."""
    result = check_against_all(problem)
    if result is None:
        return
    assert result.proof is not None
    boxes, integers = result.proof.boxes, IntegerProblem.of(problem)
    assert boxes is not None
    widths = (boxes.upper - boxes.lower + 1).astype(object)
    volumes = widths.prod(axis=1)
    assert sum(volumes) == int((problem.upper - problem.lower + 1).astype(object).prod())
    most = integers.from_objective(result.proof.bound)
    for lower, upper, value, reason in zip(
        boxes.lower, boxes.upper, boxes.values.tolist(), boxes.reasons.tolist(), strict=True
    ):
        assert (lower >= problem.lower).all()
        assert (upper <= problem.upper).all()
        if reason == Reason.FLOW:
            assert flow_bound(integers, lower, upper) <= value <= most
        elif reason == Reason.COUNTED:
            assert value <= most
        else:
            assert value == NOTHING


@settings(max_examples=60)
@given(problems(max_points=3, max_columns=3), st.integers(2, 3))
def test_threads_change_nothing(problem: Problem, n_jobs: int) -> None:
    one = SOLVER.solve(problem)
    more = BranchAndBound(time_limit=None, n_jobs=n_jobs).solve(problem)
    assert one.bound == more.bound
    assert one.objective == more.objective


def one_hot_problem(seed: int) -> Problem:
    """A group of three, a group of two and a column of its own, at no price."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 30))
    first, second = (
        np.eye(3, dtype=int)[rng.integers(0, 3, n)],
        np.eye(2, dtype=int)[rng.integers(0, 2, n)],
    )
    X = np.column_stack([first, second, rng.integers(0, 3, n)])
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    table = PatternTable.from_arrays(X, y)
    bounds = {"x1": (-1, 2), "x5": (0, 2)} if seed % 2 else None
    return Problem.build(table, Thresholds.tenths(), penalty=0.0, max_points=2, bounds=bounds)


@more_cases
def test_groups_that_shift_for_free() -> None:
    shifted = proven = 0
    count = 60 if FULL else 6
    for number in range(count):
        problem = one_hot_problem(number)
        best = brute_force(problem)
        assert best is not None
        result = SOLVER.solve(problem)
        assert problem.evaluate(result.points).objective == best[0]
        assert result.proof is not None
        assert result.proof.bound >= best[0]
        proven += result.status == "optimal"
        assert result.proof.boxes is not None
        shifted += bool((result.proof.boxes.reasons == Reason.SHIFTED).any())
    assert proven == count
    assert shifted > 0


def big_problem(penalty: str | float = "paper") -> Problem:
    """One that takes longer than any test has time for."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, (400, 9))
    y = rng.random(400) < 1 / (1 + np.exp(5 - X[:, :6].sum(axis=1) / 2))
    return Problem.build(PatternTable.from_arrays(X, y), Thresholds.tenths(), penalty=penalty)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_time_out_leaves_a_valid_bound(n_jobs: int) -> None:
    problem = big_problem()
    result = BranchAndBound(time_limit=3.0, n_jobs=n_jobs).solve(problem)
    assert result.status == "time_limit"
    assert result.bound is not None
    integers = IntegerProblem.of(problem)
    assert result.objective < result.bound
    assert result.proof is not None
    assert result.proof.bound <= integers.to_objective(integers.ceiling)
    bounds = [row.bound for row in result.trace if row.bound is not None]
    assert bounds == sorted(bounds, reverse=True)
    assert {row.source for row in result.trace} == {"local", "branch and bound"}
    assert result.proof is not None
    boxes = result.proof.boxes
    assert boxes is not None
    volumes = (boxes.upper - boxes.lower + 1).astype(object).prod(axis=1)
    assert sum(volumes) == 21**9
    assert integers.to_objective(int(boxes.values.max())) == result.proof.bound


def test_an_interrupt_leaves_a_card_and_a_valid_bound() -> None:
    problem = big_problem()

    def stop(progress: Progress) -> None:
        if progress.bound is not None and progress.seconds > 2.0:
            raise KeyboardInterrupt

    result = BranchAndBound(time_limit=60.0, n_jobs=2).solve(problem, callback=stop)
    assert result.status == "interrupted"
    assert result.bound is not None
    assert result.gap is not None
    assert result.gap > 0
    assert problem.evaluate(result.points).objective <= result.bound


def test_many_negatives_do_not_overflow_a_count() -> None:
    """More pairs per row than 16 bits can count."""
    a = np.arange(40_000)
    X = np.column_stack([a % 250, a // 250])
    y = np.isin(a, [0, 250, 500, 750])
    table = PatternTable.from_arrays(X, y)
    problem = Problem.build(
        table, Thresholds.of([0.0002, 0.5]), penalty=0, max_points=60, bounds={"x1": (0, 0)}
    )
    assert make_field(IntegerProblem.of(problem)).blank.dtype != np.int16


def test_what_cannot_be_kept_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search with too many boxes ends with those that it has."""
    rng = np.random.default_rng(4)
    table = PatternTable.from_arrays(rng.integers(0, 4, (60, 5)), rng.integers(0, 2, 60))
    problem = Problem.build(table, Thresholds.tenths(), max_points=4)
    monkeypatch.setattr(branch_and_bound, "MOST_BOXES", 50)
    result = SOLVER.solve(problem)
    assert result.proof is not None
    assert result.proof.boxes is not None
    assert len(result.proof.boxes) > 50
    assert result.status == "time_limit"
    valued = np.isin(result.proof.boxes.reasons, (Reason.FLOW, Reason.COUNTED))
    highest = int(result.proof.boxes.values[valued].max())
    assert IntegerProblem.of(problem).to_objective(highest) == result.proof.bound
