"""Both searches: answers, limits, seeds, reports, interrupts."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import AtLeast, AtMost, Constraint, Implies, MaxFPR, MinTPR
from netbenefit.problem.problem import NoCardFound, Problem, Progress
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.local_search import LocalSearch, _Search, _smallest, simplify
from netbenefit.solvers.search_then_prove import SearchThenProve
from tests.helpers import slow_truth as reference
from tests.helpers.full import examples
from tests.helpers.strategies import brute_force, constrained_problems, problems


def random_problem(seed: int = 0, rows: int = 200, columns: int = 8, **settings: object) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (rows, columns))
    risk = 1 / (1 + np.exp(-(X @ rng.normal(size=columns) - 0.5)))
    table = PatternTable.from_arrays(X, rng.random(rows) < risk)
    return Problem.build(table, Thresholds.tenths(), **settings)  # type: ignore[arg-type]


def best_by_trying_all(problem: Problem) -> float:
    ranges = [
        range(low, high + 1)
        for low, high in zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
    ]
    return max(
        float(problem.evaluate(points).objective)
        for points in itertools.product(*ranges)
        if problem.allows(points)
    )


@pytest.mark.parametrize("real", [False, True], ids=["exact", "real"])
@given(data=st.data())
@settings(max_examples=60)
def test_small_problems_are_solved(data: st.DataObject, real: bool) -> None:
    problem = data.draw(problems(real=real, max_points=2, max_columns=3))
    result = LocalSearch(time_limit=None, max_rounds=3).solve(problem)
    assert problem.allows(result.points)
    assert result.objective == pytest.approx(best_by_trying_all(problem), abs=1e-12)


def test_points_are_as_small_as_their_order_allows() -> None:
    """No single point can be lowered here, but all of them together."""
    rng = np.random.default_rng(147)
    table = PatternTable.from_arrays(rng.integers(0, 2, (40, 4)), rng.integers(0, 2, 40))
    problem = Problem.build(table, Thresholds.tenths(), max_points=9, penalty=0)
    assert _smallest(problem, np.array([-5, 6, -2, -4]), None).tolist() == [-5, 6, -2, -4]
    assert simplify(problem, np.array([-5, 6, -2, -4])).tolist() == [-4, 5, -2, -3]


def test_ties_do_not_freeze_the_annealing() -> None:
    """Most columns have an equally good other value here: that is no measure of a loss."""
    X = np.array([[-50000, 0, 0], [0, 1, 0], [3000, 1, 1], [0, 0, 0], [0, 1, 0], [1, 1, 0]])
    table = PatternTable.from_arrays(
        X, np.array([1, 1, 1, 0, 0, 0]), sample_weight=np.array([3, 1, 2, 2.37, 1, 3])
    )
    thresholds = Thresholds.of([0.0, 0.2, 0.35], weights=[0.2, 0.15, 0.65])
    problem = Problem.build(table, thresholds, max_points=2)
    for seed in range(5):
        result = LocalSearch(time_limit=None, max_rounds=3, seed=seed).solve(problem)
        assert result.objective == pytest.approx(best_by_trying_all(problem), abs=1e-12)


@pytest.mark.parametrize("most", [0, 1])
def test_no_false_alarm_with_real_weights_leaves_the_empty_card(most: int) -> None:
    """Rates that meet their limits may miss them by their rounding."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 4))
    y = rng.random(60) < 0.2 + 0.5 * X[:, 0]
    table = PatternTable.from_arrays(X, y, sample_weight=rng.random(60) + 0.5)
    problem = Problem.build(
        table, Thresholds.tenths(), constraints=[MaxFPR(0.3, 0)], max_features=most, max_points=1
    )
    result = LocalSearch(time_limit=None, max_rounds=1).solve(problem)
    best = brute_force(problem)
    assert best is not None
    assert problem.evaluate(result.points).objective == best[0]


@pytest.mark.parametrize(
    "solver", [LocalSearch(max_rounds=2), Annealing(cooling=1e-5)], ids=["local", "anneal"]
)
def test_result_is_counted_from_the_data(solver: LocalSearch | Annealing) -> None:
    problem = random_problem()
    seen: list[Progress] = []
    result = solver.solve(problem, callback=seen.append)
    points = result.points.tolist()
    exact = reference.objective(problem.patterns, problem.thresholds, problem.penalty, points)
    assert result.objective == float(exact)
    assert list(result.cutoffs) == reference.cutoffs(problem.patterns, problem.thresholds, points)
    assert result.size == sum(v != 0 for v in points)
    assert result.net_benefit == pytest.approx(
        result.objective + float(problem.penalty) * result.size
    )
    assert (result.bound, result.gap, result.status) == (None, None, "finished")
    assert result.evaluations > 100
    # The trace climbs to the answer; the reports climb with it.
    objectives = [row.objective for row in result.trace]
    assert objectives == sorted(objectives)
    assert objectives[-1] == pytest.approx(result.objective, abs=1e-12)
    assert [row.seconds for row in result.trace] == sorted(row.seconds for row in result.trace)
    assert len(seen) >= len(result.trace)
    assert [p.objective for p in seen] == sorted(p.objective for p in seen)
    assert [p.evaluations for p in seen] == sorted(p.evaluations for p in seen)
    assert seen[-1].objective == pytest.approx(result.objective, abs=1e-12)
    assert seen[-1].bound is None


def test_same_seed_same_answer_on_any_number_of_threads() -> None:
    problem = random_problem(columns=12)
    answers = [
        LocalSearch(time_limit=None, max_rounds=2, n_jobs=jobs, seed=4).solve(problem)
        for jobs in (1, 2, 3)
    ]
    for other in answers[1:]:
        assert other.points.tolist() == answers[0].points.tolist()
        assert other.evaluations == answers[0].evaluations
    annealed = [Annealing(seed=seed).solve(problem) for seed in (1, 1, 2)]
    assert annealed[0].points.tolist() == annealed[1].points.tolist()
    assert [row.objective for row in annealed[0].trace] != [
        row.objective for row in annealed[2].trace
    ]


def test_same_seed_same_answer_with_real_weights() -> None:
    """Rounding must not depend on how the clock cut the run into pieces."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (300, 20)), rng.integers(0, 2, 300)
    table = PatternTable.from_arrays(X, y, sample_weight=rng.random(300) + 0.1)
    problem = Problem.build(table, Thresholds.tenths())
    assert problem.rates.dtype == np.float64
    answers = [
        LocalSearch(time_limit=None, max_rounds=3, n_jobs=jobs).solve(problem) for jobs in (1, 2, 2)
    ]
    for other in answers[1:]:
        assert other.evaluations == answers[0].evaluations
        assert other.points.tolist() == answers[0].points.tolist()


@pytest.mark.parametrize("solver", [LocalSearch(max_rounds=2), Annealing(cooling=1e-5)])
def test_bounds_signs_and_size_are_respected(solver: LocalSearch | Annealing) -> None:
    problem = random_problem(
        1, sign={"x0": "+", "x1": "-"}, bounds={"x2": (2, 3), "x3": (0, 0)}, max_features=3
    )
    points = solver.solve(problem).points
    assert points[0] >= 0 >= points[1]
    assert points[2] in (2, 3)
    assert points[3] == 0
    assert np.count_nonzero(points) <= 3


def test_full_cards_swap_columns() -> None:
    """With room for one column only, the best single column must be found."""
    for seed in range(5):
        problem = random_problem(seed, columns=6, max_features=1, max_points=3)
        best = LocalSearch(max_rounds=3, seed=seed).solve(problem).objective
        single = max(
            float(problem.evaluate(np.eye(6, dtype=int)[k] * v).objective)
            for k in range(6)
            for v in range(-3, 4)
        )
        assert best == single


@pytest.mark.parametrize("solver", [LocalSearch(), Annealing()], ids=["local", "anneal"])
def test_time_limit_ends_the_search_with_a_valid_card(solver: LocalSearch | Annealing) -> None:
    problem = random_problem(columns=14, rows=400)
    result = replace(solver, time_limit=1e-4).solve(problem)
    assert result.status == "time_limit"
    assert problem.allows(result.points)
    assert result.objective == float(problem.evaluate(result.points).objective)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", ["local", "anneal"])
def test_interrupt_returns_the_best_so_far(kind: str, n_jobs: int) -> None:
    problem = random_problem(columns=12)
    seen: list[Progress] = []

    def stop_soon(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == 3:
            raise KeyboardInterrupt

    solver = LocalSearch(time_limit=None, n_jobs=n_jobs) if kind == "local" else Annealing()
    threads = threading.active_count()
    result = solver.solve(problem, callback=stop_soon)
    assert result.status == "interrupted"
    assert problem.allows(result.points)
    if kind == "anneal":
        assert result.objective == pytest.approx(seen[2].objective, abs=1e-12)
    assert threading.active_count() <= threads + 1  # no thread goes on searching


@pytest.mark.parametrize("kind", ["local", "anneal", "auto"])
def test_a_callback_that_answers_true_ends_the_search(kind: str) -> None:
    problem = random_problem(columns=12)
    seen: list[Progress] = []

    def stop_soon(progress: Progress) -> bool:
        seen.append(progress)
        return len(seen) >= 3

    solvers: dict[str, Any] = {
        "local": LocalSearch(time_limit=None, n_jobs=2),
        "anneal": Annealing(time_limit=None),
        "auto": SearchThenProve(time_limit=None, n_jobs=2),
    }
    threads = threading.active_count()
    result = solvers[kind].solve(problem, callback=stop_soon)
    assert result.status == "interrupted"
    assert problem.allows(result.points)
    assert result.objective >= seen[2].objective
    assert (result.bound is None) == (kind != "auto")
    assert threading.active_count() <= threads + 1


def test_start_is_used_and_kept_if_nothing_is_better() -> None:
    problem = random_problem()
    best = LocalSearch(max_rounds=3).solve(problem)
    again = Annealing(temperature=1e-6, cooling=1e-6).solve(problem, start=best.points)
    assert again.objective == best.objective


@pytest.mark.parametrize("start", [[11, 0, 0], [1, 1, 1], [0, 0]])
def test_a_start_that_is_not_allowed_is_refused(start: list[int]) -> None:
    problem = random_problem(rows=20, columns=3, max_features=2)
    for solver in (LocalSearch(), Annealing()):
        with pytest.raises(InputError, match=r"start=.* is not allowed. Pass one whole number"):
            solver.solve(problem, start=np.array(start))


def test_simplify_keeps_the_value_and_reports_primitive_points() -> None:
    X = [[0, 0], [1, 0], [1, 1], [0, 1]] * 3
    y = [0, 1, 1, 0] * 3
    problem = Problem.build(PatternTable.from_arrays(X, y), Thresholds.tenths(), penalty=0.0)
    points = np.array([8, 2])
    plain = simplify(problem, points)
    assert plain.tolist() == [1, 0]  # the second column changes nothing
    assert problem.evaluate(plain).objective == problem.evaluate(points).objective


@given(data=st.data())
@settings(max_examples=examples(150))
def test_simplify_never_loses(data: st.DataObject) -> None:
    problem = data.draw(problems(max_points=3))
    points = problem.nearest_to_zero()
    for k in range(points.size):
        points[k] = data.draw(st.integers(int(problem.lower[k]), int(problem.upper[k])))
    if not problem.allows(points):
        return
    plain = simplify(problem, points)
    assert problem.allows(plain)
    assert problem.evaluate(plain).objective >= problem.evaluate(points).objective


def test_a_round_cut_short_ends_as_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Search, "affordable", lambda *_: 1)
    result = LocalSearch(time_limit=60).solve(random_problem())
    assert result.status == "time_limit"


def test_wide_boxes_can_be_searched() -> None:
    problem = random_problem(columns=3, max_points=2000)
    result = LocalSearch(time_limit=1.0).solve(problem)
    assert problem.allows(result.points)
    assert result.objective >= float(problem.evaluate(np.zeros(3, dtype=int)).objective)


def test_data_without_a_usable_column() -> None:
    table = PatternTable.from_arrays([[1, 0], [1, 1]], [0, 1])
    problem = Problem.build(table, Thresholds.tenths(), bounds={1: (2, 2)})
    assert LocalSearch().solve(problem).points.tolist() == [0, 2]
    assert Annealing().solve(problem).points.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0.0}, "temperature must be positive"),
        ({"cooling": -1.0}, "cooling must be positive"),
        ({"steps_per_temperature": 0}, "steps_per_temperature must be positive"),
        ({"lowest_temperature": 1.0}, "lowest_temperature must lie between 0 and temperature"),
        ({"time_limit": 0.0}, "time_limit must be positive"),
        ({"time_limit": "soon"}, "time_limit must be a number of seconds"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Annealing(**settings).solve(random_problem(rows=20, columns=2))  # type: ignore[arg-type]


# -- constraints -----------------------------------------------------------------------------------


@pytest.mark.parametrize("real", [False, True], ids=["exact", "real"])
@given(data=st.data())
@settings(max_examples=60)
def test_no_change_of_one_column_is_better(data: st.DataObject, real: bool) -> None:
    problem = data.draw(constrained_problems(real=real, max_columns=5, most_vectors=500))
    best = brute_force(problem)
    try:
        result = LocalSearch(time_limit=None, max_rounds=2).solve(problem)
    except NoCardFound:
        assert best is None or problem.limits.rates is not None
        return
    assert best is not None
    check_constraints(problem, result.points)
    assert result.objective <= float(best[0]) + 1e-12
    for column, (low, high) in enumerate(zip(problem.lower, problem.upper, strict=True)):
        for value in range(low, high + 1):
            changed = result.points.copy()
            changed[column] = value
            if problem.feasible(changed):
                assert float(problem.evaluate(changed).objective) <= result.objective + 1e-12


@given(problem=constrained_problems(max_columns=5, most_vectors=500))
@settings(max_examples=60)
def test_annealing_keeps_to_constraints(problem: Problem) -> None:
    try:
        result = Annealing(temperature=0.02, cooling=1e-4, seed=1).solve(problem)
    except NoCardFound:
        return
    check_constraints(problem, result.points)
    assert result.objective == float(problem.evaluate(result.points).objective)


def check_constraints(problem: Problem, points: np.ndarray) -> None:
    assert problem.feasible(points)
    for constraint in problem.constraints:
        assert constraint.allows(points.tolist(), problem.patterns.names), str(constraint)


def all_or_none(*names: str) -> list[Constraint]:
    pairs = zip(names, [*names[1:], names[0]], strict=True)
    return [Implies(first, second) for first, second in pairs]


def test_islands_are_reached() -> None:
    """All of three columns or none, and two such groups of which one must be on."""
    limits = [
        *all_or_none("x0", "x1", "x2"),
        *all_or_none("x3", "x4", "x5"),
        AtLeast(1, ["x0", "x3"]),
        AtMost(3, [f"x{k}" for k in range(6)]),
    ]
    for seed in range(4):
        problem = random_problem(seed, rows=60, columns=6, max_points=2, constraints=limits)
        best = brute_force(problem)
        assert best is not None
        result = LocalSearch(time_limit=None, max_rounds=3, seed=seed).solve(problem)
        assert result.objective == float(best[0])


@pytest.mark.parametrize("solver", [LocalSearch(max_rounds=2), Annealing(temperature=0.01)])
def test_rates_that_the_start_does_not_meet(solver: LocalSearch | Annealing) -> None:
    limits = [MinTPR(0.3, 0.8), MaxFPR(0.3, 0.4)]
    problem = random_problem(3, constraints=limits)
    assert not problem.feasible(problem.nearest_to_zero())
    result = solver.solve(problem)
    assert problem.feasible(result.points)
    assert result.objective == float(problem.evaluate(result.points).objective)


def test_rates_that_nothing_meets_are_reported_as_not_found() -> None:
    problem = random_problem(3, columns=3, constraints=[MinTPR(0.5, 1), MaxFPR(0.3, 0)])
    for solver in (LocalSearch(max_rounds=1), Annealing(cooling=1e-4)):
        with pytest.raises(
            NoCardFound, match=r"no card was found .* TPR of at least 1 .* FPR of at"
        ):
            solver.solve(problem)


def test_same_seed_same_answer_under_constraints() -> None:
    limits = [AtLeast(2, ["x0", "x1", "x2"]), MinTPR(0.2, 0.9)]
    problem = random_problem(columns=10, constraints=limits)
    answers = [
        LocalSearch(time_limit=None, max_rounds=1, n_jobs=jobs, seed=4).solve(problem)
        for jobs in (1, 2)
    ]
    assert answers[0].points.tolist() == answers[1].points.tolist()
    assert answers[0].evaluations == answers[1].evaluations
