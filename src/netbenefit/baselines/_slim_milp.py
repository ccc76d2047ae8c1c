"""SLIM as the integer program that its authors wrote down, handed to HiGHS."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from netbenefit.baselines._slim_exact import polish
from netbenefit.baselines._slim_run import SlimRun
from netbenefit.baselines._slim_task import SlimTask
from netbenefit.solvers._milp_model import MilpModel, build_model
from netbenefit.solvers.backends import News, find_backend
from netbenefit.solvers.backends.base import Answer, Order
from netbenefit.solvers.base import Callback, SolverResult, Status, check_time_limit
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.solvers.milp import LOOK_SECONDS, OBEY_SECONDS, Worker

__all__ = ["SlimProgram", "slim_model"]

#: Longest search for a first card: seconds, and share of the time limit.
_FIRST = 2.0, 0.1


def slim_model(task: SlimTask) -> MilpModel:
    """Write SLIM as an integer program: both prices and the range of the intercept included.

    It is the program of :mod:`netbenefit.solvers._milp_model` with the one threshold 0.5, at which
    a false alarm costs what a missed event costs, a variable β_k ≥ |λ_k| of price ε a column, and
    the cut-off between −B and B.

    Examples
    --------
    >>> import numpy as np
    >>> from netbenefit.patterns import PatternTable
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1])
    >>> task = SlimTask.build(table, penalty=Fraction(1, 10), point_price=Fraction(1, 100))
    >>> model = slim_model(task)
    >>> model.names()[-2:], model.objective.tolist()
    (['called p=0.5 #1', 'size x0'], [0.0, -30.0, 0.0, -100.0, 200.0, -3.0])
    """
    reach = task.max_intercept
    return build_model(task.problem, point_price=task.point_price, cutoff_range=(-reach, reach))


@dataclass(frozen=True)
class SlimProgram:
    """Search and proof by HiGHS, whose answers are counted anew.

    1. A short local search gives HiGHS a first card.
    2. HiGHS works in a thread of its own.  The loss of every card that it tells of is counted from
       the data, and its bound is believed only with a margin for its tolerances: not at all if the
       program's numbers are too large for them, or if a counted loss is lower.
    3. The best card is polished, column by column.

    Parameters
    ----------
    time_limit : float or None, default=600.0
        Seconds.
    n_jobs : int, default=1
        Threads of the local search; HiGHS uses one.
    seed : int, default=0

    Examples
    --------
    >>> from netbenefit.patterns import PatternTable
    >>> table = PatternTable.from_arrays([[0, 1], [1, 0], [1, 1], [0, 0]], [0, 1, 1, 0])
    >>> task = SlimTask.build(table, penalty=Fraction(1, 10), point_price=Fraction(1, 100))
    >>> result = SlimProgram().solve(task)
    >>> result.points, result.cutoffs, result.status
    (array([1, 0]), (1,), 'optimal')
    """

    time_limit: float | None = 600.0
    n_jobs: int = 1
    seed: int = 0

    def solve(self, task: SlimTask, *, callback: Callback | None = None) -> SolverResult:
        """Solve the integer program; Ctrl-C returns the best card so far, with its bound."""
        limit = check_time_limit(self.time_limit)
        run = SlimRun(task, "milp", limit, callback)
        hunt = _Hunt(run, slim_model(task))
        status: Status = "interrupted"
        try:
            run.tell()
            if self._first_card(run, limit):
                status = self._work(hunt)
                polish(run)
        except KeyboardInterrupt:
            hunt.stop = True
        hunt.check()
        return run.result(status)

    def _first_card(self, run: SlimRun, limit: float) -> bool:
        """Step 1; False if it was interrupted."""
        seconds = min(_FIRST[0], _FIRST[1] * limit)
        search = LocalSearch(time_limit=seconds, n_jobs=self.n_jobs, seed=self.seed)
        found = search.solve(run.task.problem, callback=run.listener)
        run.evaluations += found.evaluations
        run.offer(found.points)
        return found.status != "interrupted"

    def _work(self, hunt: _Hunt) -> Status:
        """Step 2."""
        run, model = hunt.run, hunt.model
        order = Order(
            time_limit=max(0.01, run.time_left),
            warm_start=model.solution(run.best, (run.value.cutoff,)),
            on_news=hunt.news.append,
            should_stop=lambda: hunt.stop or run.time_left <= 0,
            seed=self.seed,
        )
        worker = Worker(find_backend("highs"), model, order)
        try:
            while worker.running(LOOK_SECONDS) and run.time_left > -OBEY_SECONDS:
                hunt.digest()
        except KeyboardInterrupt:
            hunt.stop = True
            with suppress(KeyboardInterrupt):  # a second one: do not wait
                worker.running(OBEY_SECONDS)
            raise
        hunt.stop = True
        answer = worker.answer
        if answer is None:  # HiGHS did not look at the clock
            return "time_limit"
        hunt.digest(answer)
        # Nobody but the clock has stopped it: Ctrl-C arrives above.
        stopped = answer.end in ("time_limit", "interrupted", "failed")
        return "time_limit" if stopped else "finished"


class _Hunt:
    """What HiGHS has told, judged by the data."""

    def __init__(self, run: SlimRun, model: MilpModel) -> None:
        self.run, self.model = run, model
        self.news: deque[News] = deque()
        self.stop = False
        self._believed = model.trusted
        run.details = {"rows": model.shape[0], "variables": model.shape[1], "big_m": model.big_m}
        if not model.trusted:
            run.details["notes"] = ["numbers too large for HiGHS's tolerances: its bound not used"]

    def digest(self, answer: Answer | None = None) -> None:
        """Count cards, then believe the lowest of the bounds that were told."""
        told = []
        while self.news:
            told.append(self.news.popleft())
        if answer is not None:
            told.append(News(answer.points, answer.claimed, answer.bound))
        for item in told:
            if item.points is not None:
                self.run.offer(self.model.points_of(item.points), "HiGHS")
        bounds = [item.bound for item in told if item.bound is not None]
        if bounds and self._believed:
            # The program counts gains from "nobody called", as the problem's objective does.
            highest = self.model.to_objective(min(bounds))
            self._raise(self.run.task.prevalence - highest)

    def _raise(self, bound: Fraction) -> None:
        run = self.run
        if bound > run.value.loss + self.model.pieces.rounding:
            self._disbelieve()
            return
        bound = min(bound, run.value.loss)
        rounding = self.model.pieces.rounding
        run.raise_bound(bound, "integer program (HiGHS)", rounded=True, rounding=rounding)

    def check(self) -> None:
        """At the end: a card that was counted after a bound may have proven it wrong."""
        if self.run.bound > self.run.value.loss:
            self._disbelieve()

    def _disbelieve(self) -> None:
        """HiGHS is wrong: nothing that it says of bounds counts, not even what it said."""
        self._believed = False
        self.run.drop_bound("HiGHS gave a bound above the loss of a card that exists: not used")
