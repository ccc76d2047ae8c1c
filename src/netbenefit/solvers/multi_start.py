"""Many independent searches from different seeds, here or over a cluster; the best card counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from netbenefit.common import (
    InputError,
    IntArray,
    WorkerDied,
    check_count,
    finished_tasks,
    tasks_at_once,
)
from netbenefit.problem import NoCardFound, Problem, SolverResult, Status
from netbenefit.solvers.base import Callback, Run, Solver, check_time_limit, first_points, value_of
from netbenefit.solvers.local_search import LocalSearch, plainness

#: Ends when it finds no better card, or with its part of the time of all.
_SEARCH = LocalSearch(time_limit=None)


@dataclass(frozen=True)
class MultiStart:
    """The best card of several independent searches.

    1. Give each search its seed: ``seed``, ``seed + 1``, …; and its share of the time.
    2. Run them some at a time, by joblib, wherever :func:`joblib.parallel_config` says: in this
       process, in others of this machine, on a Dask or Ray cluster.  The problem is sent there, not
       the rows.  A search whose worker dies is run again.
    3. Count every card from the data, in this process.  The best one wins; among equally good ones
       the simplest, as in :class:`~netbenefit.solvers.local_search.LocalSearch`; among equal ones
       the smallest seed.
    4. Where searches prove bounds, the lowest one holds for all.

    Searches are independent, so that the same seed gives the same card on any backend and any
    number of workers, unless time runs out first.

    Parameters
    ----------
    starts : int, default=8
        Searches.
    solver : solver, default=LocalSearch(time_limit=None)
        Any solver of this package that has a seed; its own seed plays no role.
    time_limit : float or None, default=60.0
        Seconds for all searches together.  Where not all can run at a time, each gets a part of it,
        and never more than its own limit.  What workers need to start and to compile is not
        counted, and a search that is run again gets its part again.
    n_jobs : int or None, default=None
        Searches at a time, by joblib: None is what :func:`joblib.parallel_config` says, else 1;
        −1 is one per core.
    seed : int, default=0
        Seed of the first search.

    Examples
    --------
    >>> from netbenefit.data.patterns import PatternTable
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0, 1], [1, 0], [1, 1], [0, 0]], [0, 1, 1, 0])
    >>> result = MultiStart(starts=3).solve(Problem.build(table, Thresholds.tenths()))
    >>> result.points, result.status, result.solver
    (array([1, 0]), 'finished', 'multi-start')
    """

    starts: int = 8
    solver: Solver = _SEARCH
    time_limit: float | None = 60.0
    n_jobs: int | None = None
    seed: int = 0

    def solve(
        self,
        problem: Problem,
        *,
        start: IntArray | None = None,
        callback: Callback | None = None,
    ) -> SolverResult:
        """Run all searches, each from ``start``, and return the best card.

        The callback is called after each search.  Ctrl-C returns the best card of those that are
        finished; before the first one is, it is passed on.
        """
        limit = self._check()
        begin = first_points(problem, start)
        run = Run(problem, "multi-start", limit, callback)
        best: tuple[Any, ...] | None = None  # what cards are compared by, and the best points
        status: Status = "finished"
        try:
            with closing(self._searches(problem, None if start is None else begin, limit)) as found:
                for seed, result in found:
                    points = result.points
                    objective = problem.evaluate(points).objective
                    key = (-objective, plainness(points), seed)
                    if best is None or key < best[0]:
                        best = key, points
                    if result.proof is not None:
                        run.finish_proof(result.proof)
                    run.report(result.evaluations, value_of(problem, points), points)
                    if result.status == "interrupted":  # a search in this process has seen Ctrl-C
                        status = "interrupted"
                        break
                    if result.status == "time_limit":
                        status = "time_limit"
        except KeyboardInterrupt:
            if best is None:
                raise
            status = "interrupted"
        if best is None:
            raise problem.nothing_found()
        return run.result(best[1], status)

    def _check(self) -> float:
        check_count(self.starts, "starts")
        solver: Any = self.solver
        known = dataclasses.is_dataclass(solver) and not isinstance(solver, type)
        names = {field.name for field in dataclasses.fields(solver)} if known else set()
        if not {"seed", "time_limit"} <= names:
            raise InputError(
                f"solver={solver!r} has no seed and time limit that could be set. Use a solver of "
                "this package, such as LocalSearch()."
            )
        return check_time_limit(self.time_limit)

    def _searches(
        self, problem: Problem, start: IntArray | None, limit: float
    ) -> Generator[tuple[int, SolverResult]]:
        """Steps 1 and 2: seeds and results, as they come."""
        waves = -(-self.starts // tasks_at_once(self.n_jobs))
        own = check_time_limit(self.solver.time_limit)  # type: ignore[attr-defined]
        seconds = min(own, limit / waves)
        share = None if seconds == float("inf") else seconds
        search = partial(_search, problem, self.solver, start, share)
        seeds = range(self.seed, self.seed + self.starts)
        with closing(finished_tasks(search, seeds, self.n_jobs)) as finished:
            for seed, result in finished:
                if isinstance(result, NoCardFound):  # others may find one
                    continue
                if isinstance(result, WorkerDied):
                    raise WorkerDied(f"search with seed {seed}: {result}")
                if isinstance(result, Exception):
                    raise result
                yield seed, result


def _search(
    problem: Problem, solver: Any, start: IntArray | None, seconds: float | None, seed: int
) -> SolverResult:
    """One search, in this or another process."""
    result: SolverResult = dataclasses.replace(solver, seed=seed, time_limit=seconds).solve(
        problem, start=start
    )
    return result
