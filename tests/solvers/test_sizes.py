"""The best card of every size: against all vectors, in order, within limits, in time."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import AtMost, Include, MaxFPR, MinTPR
from netbenefit.problem.problem import NoCardFound, Problem, Progress, SolverResult
from netbenefit.solvers import sizes as sizes_module
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.solvers.sizes import best_of_every_size, check_sizes, limit_size
from netbenefit.teachers.crossfit import blend
from tests.helpers.full import FULL, more_cases
from tests.helpers.strategies import (
    all_points,
    brute_force,
    constrained_problems,
    count_questions,
    problems,
)

EXAMPLES = 400 if FULL else 12


def random_problem(
    seed: int = 0, rows: int = 200, columns: int = 8, taught: int = 0, **settings: object
) -> Problem:
    """Rows of a logistic model, on whose risks ``taught`` rows' worth of the masses rests."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (rows, columns))
    risk = 1 / (1 + np.exp(-(X @ rng.normal(size=columns) - 0.5)))
    table = PatternTable.from_arrays(X, rng.random(rows) < risk)
    if taught:
        table, _ = blend(table, risk, np.ones(rows), Fraction(taught))
    return Problem.build(table, Thresholds.tenths(), **settings)  # type: ignore[arg-type]


def possible_sizes(problem: Problem) -> list[int]:
    """Sizes for which the constraints leave any vectors."""
    found = []
    for size in range(1, len(problem.questions) + 1):
        try:
            limit_size(problem, size)
        except InputError:
            continue
        found.append(size)
    return found


def best_by_size(problem: Problem, sizes: Iterable[int]) -> dict[int, float | None]:
    """The best objective of all vectors with at most so many questions."""
    values = [
        (count_questions(problem, points), float(problem.evaluate(points).objective))
        for points in all_points(problem)
        if problem.feasible(points)
    ]
    return {
        size: max((value for count, value in values if count <= size), default=None)
        for size in sizes
    }


def check(problem: Problem, found: dict[int, SolverResult]) -> None:
    """Cards keep to size and constraints; values are counted from the data, prices included."""
    objectives = [result.objective for result in found.values()]
    assert objectives == sorted(objectives)
    for size, result in found.items():
        limited = limit_size(problem, size)
        assert count_questions(problem, result.points) == result.questions <= size
        assert limited.feasible(result.points)
        assert problem.feasible(result.points)
        for constraint in problem.constraints:
            assert constraint.allows(result.points.tolist(), problem.patterns.names)
        assert result.objective == float(limited.evaluate(result.points).objective)
        assert result.bound is None


# -- against all vectors ---------------------------------------------------------------------------


@more_cases
@settings(max_examples=EXAMPLES)
@given(
    problem=problems(max_points=2, max_columns=4, max_rows=9)
    | problems(max_points=2, max_columns=4, max_rows=9, taught=True)
)
def test_every_size_is_the_best_of_all_vectors(problem: Problem) -> None:
    requested = possible_sizes(problem) or [len(problem.questions)]
    found = best_of_every_size(problem, requested, time_limit=None)
    check(problem, found)
    for size in requested:
        best = brute_force(limit_size(problem, size))
        assert best is not None
        assert found[size].objective == pytest.approx(float(best[0]), abs=1e-12)


@more_cases
@settings(max_examples=EXAMPLES)
@given(
    problem=constrained_problems(max_columns=4, most_vectors=200)
    | constrained_problems(max_columns=4, most_vectors=200, taught=True)
)
def test_every_size_under_constraints(problem: Problem) -> None:
    requested = possible_sizes(problem) or [len(problem.questions)]
    best = best_by_size(problem, requested)
    try:
        found = best_of_every_size(problem, requested, time_limit=None)
    except NoCardFound:
        assert set(best.values()) == {None}
        return
    check(problem, found)
    assert list(found) == [size for size in requested if best[size] is not None]
    for size, result in found.items():
        assert result.objective == pytest.approx(best[size], abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rows", [3, 40, 500])
def test_every_size_is_the_best_of_all_vectors_with_a_teacher(seed: int, rows: int) -> None:
    limits = ((), (AtMost(1, ["x0", "x2"]),), (Include("x1"), MinTPR(0.3, "1/2")))[seed % 3]
    problem = random_problem(
        seed, rows=60, columns=4, max_points=2, taught=rows, constraints=limits
    )
    found = best_of_every_size(problem, range(1, 5), time_limit=None)
    check(problem, found)
    assert list(found) == [1, 2, 3, 4]
    best = best_by_size(problem, found)
    for size, result in found.items():
        assert result.objective == pytest.approx(best[size], abs=1e-12)


# -- how it runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("taught", [0, 300])
def test_larger_problems_are_as_good_as_searches_of_one_size(taught: int) -> None:
    problem = random_problem(3, columns=6, taught=taught, penalty=0.001)
    found = best_of_every_size(problem, range(1, 7), time_limit=None, seed=1)
    check(problem, found)
    assert [result.status for result in found.values()] == ["finished"] * 6
    for size in (2, 4, 6):
        limited = limit_size(problem, size)
        assert (limited.penalty, limited.rule_penalty) == (problem.penalty, problem.rule_penalty)
        alone = LocalSearch(time_limit=None, max_rounds=2).solve(limited)
        assert found[size].objective >= alone.objective - 1e-9


def test_points_are_the_smallest_of_equals() -> None:
    rows = [[0, 0], [0, 1], [1, 0], [1, 1]] * 3
    table = PatternTable.from_arrays(rows, [0, 0, 1, 1] * 3)
    problem = Problem.build(table, Thresholds.tenths())
    found = best_of_every_size(problem, [1, 2], time_limit=None)
    assert [result.points.tolist() for result in found.values()] == [[1, 0], [1, 0]]


def test_sizes_may_have_gaps_and_come_in_any_order() -> None:
    problem = random_problem(columns=6, taught=50)
    found = best_of_every_size(problem, [5, 2, 2], time_limit=None)
    assert list(found) == [2, 5]
    check(problem, found)


def test_same_seed_same_cards_on_any_number_of_threads() -> None:
    problem = random_problem(columns=7, taught=100)
    first, second = (
        best_of_every_size(problem, [1, 3, 5], time_limit=None, n_jobs=jobs, seed=7)
        for jobs in (1, 2)
    )
    for size, result in first.items():
        assert second[size].points.tolist() == result.points.tolist()
        assert second[size].evaluations == result.evaluations


def test_constraints_are_respected() -> None:
    limits = [Include("x1"), AtMost(1, ["x2", "x3", "x4"])]
    problem = random_problem(4, taught=1000, constraints=limits, sign={"x0": "-"})
    found = best_of_every_size(problem, [1, 2, 4, 6], time_limit=None)
    check(problem, found)
    for result in found.values():
        assert result.points[1] != 0
        assert result.points[0] <= 0
        assert np.count_nonzero(result.points[2:5]) <= 1


def test_a_size_below_what_constraints_need_is_refused_by_name() -> None:
    problem = random_problem(columns=3, constraints=[Include("x0", "x1")])
    with pytest.raises(InputError, match=r"clash: .*points for x0, x1; at most 1 question"):
        best_of_every_size(problem, [1, 2])


def test_sizes_without_a_card_that_meets_the_rates_are_left_out() -> None:
    rows = [[0, 0], [0, 1], [1, 0], [1, 1]] * 5
    table = PatternTable.from_arrays(rows, [0, 1, 1, 1] * 5)
    limits = [MinTPR(0.5, 1), MaxFPR(0.5, 0)]
    problem = Problem.build(table, Thresholds.of([0.5]), constraints=limits, max_points=2)
    found = best_of_every_size(problem, [1, 2], time_limit=None)
    assert list(found) == [2]
    check(problem, found)
    impossible = Problem.build(
        PatternTable.from_arrays([[0], [0], [1], [1]], [0, 1, 1, 1]),
        Thresholds.of([0.5]),
        constraints=limits,
    )
    with pytest.raises(NoCardFound, match="no card was found"):
        best_of_every_size(impossible, [1], time_limit=None)


def test_time_limit_leaves_a_card_of_every_size() -> None:
    problem = random_problem(columns=14, rows=400, taught=100)
    found = best_of_every_size(problem, range(1, 13), time_limit=0.01)
    assert list(found) == list(range(1, 13))
    check(problem, found)
    assert {result.status for result in found.values()} == {"time_limit"}
    assert all(result.seconds < 5 for result in found.values())


@pytest.mark.parametrize("calls", [1, 2, 30])
def test_interrupt_returns_what_there_is(calls: int) -> None:
    problem = random_problem(columns=10)
    seen: list[Progress] = []

    def stop_soon(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == calls:
            raise KeyboardInterrupt

    found = best_of_every_size(problem, range(1, 9), time_limit=None, callback=stop_soon)
    assert list(found) == list(range(1, 9))
    check(problem, found)
    assert {result.status for result in found.values()} == {"interrupted"}


def test_an_interrupt_before_any_card_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sizes_module._Ladder, "begin", interrupt)
    with pytest.raises(KeyboardInterrupt):
        best_of_every_size(random_problem(), [1, 2])


def test_progress_counts_the_whole_run() -> None:
    seen: list[Progress] = []
    problem = random_problem(penalty=0)
    found = best_of_every_size(problem, range(1, 6), time_limit=None, callback=seen.append)
    assert {progress.size for progress in seen} >= {1, 2, 3, 4, 5}
    within = [p.seconds for p in seen]
    assert within == sorted(within)
    assert max(p.evaluations for p in seen) <= found[5].evaluations


# -- bad input -------------------------------------------------------------------------------------


def test_sizes_are_put_in_order() -> None:
    assert check_sizes(range(3, 0, -1)) == (1, 2, 3)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (5, r"sizes must be a list of whole numbers, not 5. Write range\(1, 9\)"),
        ("12", "sizes must be a list of whole numbers, not '12'"),
        ([], "sizes is empty. Give at least one"),
        ([0, 1], "each of the sizes must be a whole number of at least 1, not 0"),
        ([-2], "not -2"),
        ([2.5], "not 2.5"),
        ([True], "not True"),
        (["3"], "not '3'"),
    ],
)
def test_bad_sizes(sizes: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        best_of_every_size(random_problem(rows=20, columns=2), sizes)  # type: ignore[arg-type]


@pytest.mark.parametrize("time_limit", [0, -1.0, "soon", True])
def test_bad_time_limit(time_limit: object) -> None:
    with pytest.raises(InputError, match="time_limit must be"):
        best_of_every_size(
            random_problem(rows=20, columns=2),
            [1],
            time_limit=time_limit,  # type: ignore[arg-type]
        )
