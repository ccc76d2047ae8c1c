"""The published integer program, handed to a mixed-integer solver whose answers are checked."""

from __future__ import annotations

import atexit
import threading
from collections import deque
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from netbenefit.common import FloatArray, InputError, IntArray
from netbenefit.problem import NoCardFound, Problem, SolverResult, Status
from netbenefit.solvers.base import (
    Callback,
    Run,
    check_time_limit,
    first_points,
    round_up,
    value_of,
)
from netbenefit.solvers.bounds.packed import ceiling
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.solvers.milp.backends import Backend, BackendAnswer, News, Order, find_backend
from netbenefit.solvers.milp.model import MilpModel, build_model

#: Seconds between two looks at what the solver reports.
LOOK_SECONDS = 0.05
#: Seconds that a solver has to react to a stop; after that it is left behind.
STOP_SECONDS = 1.0
#: Longest wait for solvers that were left behind, at the end of Python.
_AT_EXIT = 60.0
#: Longest search for a first card: seconds, and share of the time limit.
_FIRST = 2.0, 0.1

#: Answers of solvers that are still at work, also of those that were left behind.
_AT_WORK: set[Future[BackendAnswer]] = set()


@atexit.register
def _wait_for_solvers() -> None:
    """Wait for solvers, which have all been stopped: ending Python under one aborts the process."""
    wait(list(_AT_WORK), _AT_EXIT)


@dataclass(frozen=True)
class MixedInteger:
    """Search and proof by a general mixed-integer solver.

    1. Take the points that were given, or those of a short local search.
    2. Write the problem as an integer program (:mod:`netbenefit.solvers.milp.model`) and start the
       solver in its own thread, from these points.
    3. Count the objective of every answer from the data.  A solver's tolerances can make it believe
       in a better value than there is; the counted value is reported, and the difference is put
       into the trace and into the details of the proof.
    4. Prove what needs no solver: the ceiling, whose box anybody can recount.  Only where the card
       meets it is it called optimal.
    5. Pass the solver's own bound on as information: as ``solver_bound`` in the details of the
       proof, and in the trace.  A margin for tolerances is added; it is left out if the program's
       numbers are too large for them, or if a counted value exceeds it.
    """

    time_limit: float | None = 600.0
    backend: str = "highs"
    n_jobs: int = 1  #: threads; only Gurobi and the local search use more than one
    seed: int = 0

    def solve(
        self,
        problem: Problem,
        *,
        start: IntArray | None = None,
        callback: Callback | None = None,
    ) -> SolverResult:
        """Solve the integer program, from ``start`` or from a quickly found card.

        Ctrl-C ends the search and returns the best card so far with the bound so far.
        """
        limit = check_time_limit(self.time_limit)
        backend = find_backend(self.backend)  # before any work: it may be missing
        first, seconds, stopped = self._first_card(problem, start, limit)
        run = Run(problem, "milp", limit, callback, spent=seconds)
        try:
            model = build_model(problem)
            monitor = SolverMonitor(model, run, backend)
            if stopped:
                monitor.begin(first)
                return monitor.result("interrupted")
            return self._solve(monitor, first)
        finally:  # whatever happened, the solver has to end
            run.stop.set()

    def _first_card(
        self, problem: Problem, start: IntArray | None, limit: float
    ) -> tuple[IntArray | None, float, bool]:
        """Step 1: points (None if there are none yet), seconds spent, whether it was stopped."""
        if start is not None:
            given = first_points(problem, start)
            return given if problem.feasible(given) else None, 0.0, False
        seconds = min(_FIRST[0], _FIRST[1] * limit)
        search = LocalSearch(time_limit=seconds, n_jobs=self.n_jobs, seed=self.seed)
        try:
            found = search.solve(problem)
        except NoCardFound:  # the solver may find one, or prove that there is none
            return None, seconds, False
        return found.points, found.seconds, found.status == "interrupted"

    def _solve(self, monitor: SolverMonitor, first: IntArray | None) -> SolverResult:
        """Steps 2 to 5."""
        run = monitor.run
        future: Future[BackendAnswer] | None = None
        status: Status = "interrupted"
        try:
            monitor.begin(first)
            if monitor.proven:
                return monitor.result("finished")
            order = Order(
                time_limit=max(0.01, run.time_left),
                warm_start=None if first is None else monitor.model.solution(first),
                on_news=monitor.news.append,
                should_stop=lambda: run.must_stop,
                n_jobs=self.n_jobs,
                seed=self.seed,
            )
            future = _start(monitor.backend, monitor.model, order)
            while wait([future], LOOK_SECONDS).not_done and -run.time_left < STOP_SECONDS:
                monitor.digest()
                run.poll()
            status = "finished"
        except KeyboardInterrupt:
            run.stop.set()
            if future is not None:
                with suppress(KeyboardInterrupt):  # a second one: do not wait
                    wait([future], STOP_SECONDS)
        answer = future.result() if future is not None and future.done() else None
        if answer is None and status == "finished":
            status = "time_limit"  # the solver did not look at the clock
        try:
            monitor.digest(answer)
        except KeyboardInterrupt:
            status = "interrupted"
            monitor.digest(answer, quiet=True)
        if answer is not None and status == "finished":
            status = monitor.conclude(answer)
        return monitor.result(status)


def _start(backend: Backend, model: MilpModel, order: Order) -> Future[BackendAnswer]:
    """Start a solver in a thread of its own, so that the main one stays free for Ctrl-C."""
    answer: Future[BackendAnswer] = Future()

    def work() -> None:
        try:
            answer.set_result(backend.solve(model, order))
        except BaseException as error:  # raised again by ``answer.result()``
            answer.set_exception(error)

    _AT_WORK.add(answer)
    answer.add_done_callback(_AT_WORK.discard)
    threading.Thread(target=work, daemon=True).start()
    return answer


class SolverMonitor:
    """What a solver reports, checked against the data."""

    def __init__(self, model: MilpModel, run: Run, backend: Backend) -> None:
        self.model, self.run, self.backend = model, run, backend
        self.news: deque[News] = deque()
        self._best: Fraction | None = None
        self._worth: dict[tuple[int, ...], int | None] = {}
        self._notes: list[str] = []
        self._ceiling = ceiling(model.problem, model.integers)
        self._reported: Fraction | None = None  # the solver's bound, where it is below the ceiling
        self._believed = model.trusted
        if not model.trusted:
            self._note(
                f"{backend.name}: scores differ by up to {model.big_m:,} units, too much for its "
                "tolerances; its bound is not passed on"
            )

    def begin(self, first: IntArray | None) -> None:
        """Take the first card and the bound that needs no solver."""
        self.run.proof = self._ceiling
        if first is not None:
            self._count(first)

    @property
    def proven(self) -> bool:
        """Whether the best card is known to be optimal."""
        return self._best is not None and self._ceiling.settles(self._best)

    # -- steps 3 and 5 ---------------------------------------------------------------------------

    def digest(self, answer: BackendAnswer | None = None, *, quiet: bool = False) -> None:
        """Judge all news, and the answer if there is one; ``quiet`` ignores Ctrl-C."""
        items = []
        while self.news:
            items.append(self.news.popleft())
        if answer is not None:
            items.append(News(answer.points, answer.claimed, answer.bound))
        stops: list[KeyboardInterrupt] = []
        for item in items:
            try:
                if item.points is not None:
                    self._judge(item.points, item.claimed)
            except KeyboardInterrupt as stop:  # from the callback: the rest still counts
                stops.append(stop)
        bounds = [item.bound for item in items if item.bound is not None]
        try:
            if bounds:
                self._bound(min(bounds))
        except KeyboardInterrupt as stop:
            stops.append(stop)
        if stops and not quiet:
            raise stops[0]

    def _judge(self, values: FloatArray, claimed: float | None) -> None:
        """Step 3: count what an answer is worth, and compare it with what the solver claims."""
        points = self.model.points_of(values)
        key = tuple(points.tolist())
        if key not in self._worth:
            feasible = self.model.problem.feasible(points)
            self._worth[key] = self.model.value(points) if feasible else None
        worth = self._worth[key]
        name = self.backend.name
        if worth is None:
            self._note(f"{name}: solver claimed points {list(key)}, which break the constraints")
            return
        if claimed is not None and claimed > worth + 0.5 + self.model.margin:
            claim, data = (self._objective(v) for v in (claimed, worth))
            self._note(f"{name}: solver claimed {claim!r}, data say {data!r}, points {list(key)}")
        self._count(points)

    def _objective(self, value: float) -> float:
        return float(self.model.integers.to_objective(0) + self._step * Fraction(value))

    @property
    def _step(self) -> Fraction:
        """Objective of one unit of the program's objective."""
        return self.model.grain / self.model.integers.total

    def _count(self, points: IntArray) -> None:
        problem = self.model.problem
        objective = problem.evaluate(points).objective
        if self._best is None or objective > self._best:
            self._best = objective
        self.run.report(1, value_of(problem, points), points)

    def _bound(self, bound: float) -> None:
        """Step 5: pass a bound on, with a margin, unless there is evidence against it."""
        if not self._believed:
            return
        objective = self.model.to_objective(bound)
        if self._best is not None and objective < self._best:
            self._distrust(f"claimed bound {float(objective)!r}, data have {float(self._best)!r}")
        elif objective < (self._ceiling.bound if self._reported is None else self._reported):
            self._reported = objective
            self.run.remark(f"{self.backend.name} reports a bound of {round_up(objective)!r}")

    def _distrust(self, why: str) -> None:
        """The solver is wrong: none of its bounds is passed on any more."""
        self._believed, self._reported = False, None
        self._note(f"{self.backend.name}: solver {why}; its bounds are not passed on")

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    # -- the end ---------------------------------------------------------------------------------

    def conclude(self, answer: BackendAnswer) -> Status:
        """The status that follows from how the solver ended."""
        if answer.end == "infeasible":
            if self._best is None:
                raise InputError(
                    f"no card meets the constraints, as {self.backend.name} reports, which nobody "
                    "can recount. Loosen or drop some of them."
                )
            self._distrust("claimed that there is no card at all")
        if answer.end == "failed":
            self._note(f"{self.backend.name}: failed ({answer.details})")
            return "interrupted"
        stopped = answer.end in ("time_limit", "interrupted")
        return "time_limit" if stopped else "finished"

    def result(self, status: Status) -> SolverResult:
        """The best card under the ceiling, with what was heard and noted in trace and details."""
        run, best = self.run, self.run.best
        if best is None or self._best is None:
            raise self.model.problem.nothing_found()
        if self._reported is not None and self._reported < self._best:
            # A card was counted after the bound had been believed.
            self._distrust(f"claimed bound {float(self._reported)!r}")
        run.proof = replace(self._ceiling, details=self._details())
        for note in self._notes:
            run.remark(note)
        return run.result(run.problem.primitive(best), status)

    def _details(self) -> dict[str, Any]:
        """What is worth knowing about the solver, if anything was heard from it."""
        if self._reported is None and not self._notes:
            return {}
        rows, variables = self.model.shape
        details: dict[str, Any] = {
            "solver": self.backend.name,
            "rows": rows,
            "variables": variables,
            "big_m": self.model.big_m,
            "margin": self.model.margin,
            "objective_of_one": float(self._step),
        }
        if self._reported is not None:
            details["solver_bound"] = round_up(self._reported)
        if self._notes:
            details["notes"] = list(self._notes)
        return details
