"""Several searches, one answer: the same on any backend, and with honest counts."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
import pytest

from netbenefit import InputError, MultiStart, RiskScoreClassifier
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.problem import NoCardFound, Problem, Progress, SolverResult
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.local_search import LocalSearch, plainness
from netbenefit.solvers.search_then_prove import SearchThenProve


def make_problem(n: int = 120, columns: int = 8, seed: int = 0, **settings: Any) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, columns))
    y = rng.random(n) < 1 / (1 + np.exp(2 - X[:, 0] - X[:, 1] + X[:, 2]))
    table = PatternTable.from_arrays(X, y)
    return Problem.build(table, Thresholds.of([0.2, 0.4, 0.6]), **settings)


#: Short runs that often end in different cards.
SHORT = Annealing(cooling=1e-5)


def by_hand(problem: Problem, solver: Any, seeds: range) -> list[SolverResult]:
    return [dataclasses.replace(solver, seed=seed).solve(problem) for seed in seeds]


@pytest.mark.parametrize(("backend", "n_jobs"), [("loky", 1), ("threading", 3), ("loky", 2)])
def test_the_best_of_all_on_any_backend(backend: str, n_jobs: int) -> None:
    problem = make_problem()
    single = by_hand(problem, SHORT, range(5, 11))
    values = [problem.evaluate(one.points).objective for one in single]
    assert len(set(values)) > 1  # searches differ, so that there is something to choose
    best = min(
        (one for one, value in zip(single, values, strict=True) if value == max(values)),
        key=lambda one: plainness(one.points),
    )
    with joblib.parallel_config(backend=backend):
        found = MultiStart(starts=6, solver=SHORT, seed=5, n_jobs=n_jobs).solve(problem)
    assert found.points.tolist() == best.points.tolist()
    assert found.objective == best.objective
    assert found.cutoffs == best.cutoffs
    assert found.evaluations == sum(one.evaluations for one in single)
    assert (found.status, found.solver, found.bound) == ("finished", "multi-start", None)
    assert found.trace[-1].objective == found.objective


@dataclass(frozen=True)
class Fixed:
    """A solver that knows its answers: points by seed, or an error."""

    answers: dict[int, Any] = field(default_factory=dict)
    status: Any = "finished"
    seed: int = 0
    time_limit: float | None = None
    seen: list[float | None] = field(default_factory=list)

    def solve(self, problem: Problem, *, start: Any = None, callback: Any = None) -> SolverResult:
        from netbenefit.solvers.base import Run

        self.seen.append(self.time_limit)
        answer = self.answers[self.seed]
        if isinstance(answer, BaseException):
            raise answer
        points = np.array(answer if start is None else start, dtype=np.int64)
        run = Run(problem, "fixed", float("inf"))
        run.evaluations = 7
        return run.result(points, self.status)


def tied() -> Problem:
    """Two equal columns, so that points on either have the same value."""
    column = np.array([0, 0, 0, 1, 1, 1])
    table = PatternTable.from_arrays(np.column_stack([column, column]), column)
    return Problem.build(table, Thresholds.of([0.5]), penalty=0)


def test_ties_go_to_the_simplest_card() -> None:
    problem = tied()
    several = {0: [1, 1], 1: [0, 2], 2: [0, 1], 3: [1, 0]}
    found = MultiStart(starts=4, solver=Fixed(several)).solve(problem)
    objectives = {problem.evaluate(points).objective for points in several.values()}
    assert len(objectives) == 1
    assert found.points.tolist() == [1, 0]  # one rule, one point, the first column
    assert found.evaluations == 28


def test_the_limit_is_shared_and_never_longer_than_a_searchs_own() -> None:
    problem, answers = tied(), {seed: [1, 0] for seed in range(4)}
    for limit, own, seconds in ((8.0, None, 2.0), (8.0, 1.0, 1.0), (None, 3.0, 3.0), (None,) * 3):
        solver = Fixed(answers, time_limit=own)
        MultiStart(starts=4, solver=solver, time_limit=limit).solve(problem)
        assert solver.seen == [seconds] * 4
    solver = Fixed(answers)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        MultiStart(starts=4, solver=solver, time_limit=8.0).solve(problem)
    assert solver.seen == [4.0] * 4  # two at a time, in two waves


def test_time_runs_out() -> None:
    problem = make_problem(n=400, columns=20)
    found = MultiStart(starts=2, time_limit=0.4).solve(problem)
    assert found.status == "time_limit"
    assert found.objective >= problem.evaluate(problem.nearest_to_zero()).objective


def test_searches_without_a_card_do_not_stop_the_others() -> None:
    problem = tied()
    none = NoCardFound("none")
    found = MultiStart(starts=3, solver=Fixed({0: none, 1: [1, 0], 2: none})).solve(problem)
    assert found.points.tolist() == [1, 0]
    with pytest.raises(NoCardFound):
        MultiStart(starts=2, solver=Fixed({0: none, 1: none})).solve(problem)
    broken = Fixed({0: InputError("something else"), 1: [1, 0]})
    with pytest.raises(InputError, match="something else"):
        MultiStart(starts=2, solver=broken).solve(problem)


def test_ctrl_c_returns_the_best_of_the_finished_ones() -> None:
    problem = tied()
    stopped = Fixed({0: [0, 1], 1: [1, 0], 2: KeyboardInterrupt(), 3: [1, 1]})
    found = MultiStart(starts=4, solver=stopped).solve(problem)
    assert (found.status, found.points.tolist(), len(stopped.seen)) == ("interrupted", [1, 0], 3)
    with pytest.raises(KeyboardInterrupt):
        MultiStart(starts=2, solver=Fixed({0: KeyboardInterrupt()})).solve(problem)
    broken_off = Fixed({0: [1, 0], 1: [0, 1]}, status="interrupted")
    found = MultiStart(starts=2, solver=broken_off).solve(problem)
    assert (found.status, len(broken_off.seen)) == ("interrupted", 1)

    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    answers = Fixed({0: [0, 1], 1: [1, 0]})
    found = MultiStart(starts=2, solver=answers).solve(problem, callback=stop)
    assert (found.status, found.points.tolist(), len(answers.seen)) == ("interrupted", [0, 1], 1)


def test_start_and_callback() -> None:
    problem = tied()
    seen: list[Progress] = []
    answers = Fixed({seed: [1, 0] for seed in range(3)})
    start = np.array([2, 1])
    found = MultiStart(starts=3, solver=answers).solve(problem, start=start, callback=seen.append)
    assert found.points.tolist() == [2, 1]
    assert seen[0].evaluations == 7
    assert seen[0].objective == found.objective
    with pytest.raises(InputError, match="is not allowed"):
        MultiStart().solve(problem, start=np.array([99, 0]))


def test_the_lowest_bound_holds_for_all() -> None:
    problem = make_problem(n=30, columns=3)
    found = MultiStart(starts=2, solver=SearchThenProve(time_limit=10.0)).solve(problem)
    assert found.status == "optimal"
    assert found.bound == found.objective == SearchThenProve().solve(problem).objective
    assert found.proof is not None


def test_settings_that_make_no_sense_are_refused() -> None:
    problem = tied()
    for starts in (0, True, 1.5):
        with pytest.raises(InputError, match="starts="):
            MultiStart(starts=starts).solve(problem)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no seed"):
        MultiStart(solver=LocalSearch).solve(problem)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="time_limit"):
        MultiStart(time_limit=-1).solve(problem)
    with pytest.raises(InputError, match="n_jobs=0"):
        MultiStart(n_jobs=0).solve(problem)


def test_a_classifier_uses_it() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 4))
    y = rng.random(300) < 0.1 + 0.3 * X[:, 0] + 0.4 * X[:, 2]
    short = LocalSearch(time_limit=None, max_rounds=1)
    model = RiskScoreClassifier(binner=None, solver=MultiStart(starts=3, solver=short)).fit(X, y)
    assert model.scorecard_.provenance.solver == "multi-start"
    alone = RiskScoreClassifier(binner=None, solver=short).fit(X, y)
    assert model.result_.objective >= alone.result_.objective
    assert model.result_.evaluations > 2 * alone.result_.evaluations
