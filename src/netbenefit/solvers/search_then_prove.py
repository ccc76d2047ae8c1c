"""Search, then proof: the strategy that picks the bounds that fit the data."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from netbenefit.common import IntArray
from netbenefit.problem import (
    Boxes,
    IntegerProblem,
    NoCardFound,
    Problem,
    Proof,
    SolverResult,
    Status,
)
from netbenefit.solvers.base import Callback, Run, check_time_limit
from netbenefit.solvers.bounds.packed import Rules, ceiling
from netbenefit.solvers.boxes.search import fits_boxes, no_card, prove_boxes
from netbenefit.solvers.clock import now
from netbenefit.solvers.local_search import LocalSearch

logger = logging.getLogger(__name__)

#: With at most this many columns the boxes of points are few enough to be searched to the end.
_FEW_COLUMNS = 16
#: Where a card lacks less than so many rules cost, conflicts show that they are needed.
_FEW_RULES = 12
#: So many sets of questions can be enumerated within seconds; or with luck, if most are poor.
_FEW_SUPPORTS, _MANY_SUPPORTS = 100_000, 5_000_000
#: Most of the time for the local search where few sets of questions are enumerated.
_SHORT_SEARCH = 0.3
#: Two-valued data with at least this many patterns have many pairs that share a direction.
_MANY_PATTERNS = 1000


class BoundStep(NamedTuple):
    """One way to a bound, and the share of the time left that it may take."""

    method: str
    share: float


def plan(problem: Problem, integers: IntegerProblem, incumbent: int) -> list[BoundStep]:
    """Choose the bounds that fit a problem, in the order in which to try them.

    1. Few columns and patterns: branch and bound, which can come to an end; where it does not,
       packed conflicts get the last part of the time.
    2. Few sets of questions are allowed: enumerate them, and no more; where they are many, for a
       part of the time.
    3. Many two-valued patterns: direction signs, unless a few rules cost what the card lacks.
    4. Otherwise packed conflicts.
    """
    free = int((problem.upper > problem.lower).sum())
    if fits_boxes(integers) and free <= _FEW_COLUMNS:
        return [BoundStep("branch and bound", 0.5), BoundStep("packing", 1.0)]
    steps = []
    supports = _supports(problem)
    if supports <= _FEW_SUPPORTS:
        return [BoundStep("supports", 0.8)]
    if supports <= _MANY_SUPPORTS and supports < 2 ** len(problem.questions):
        steps.append(BoundStep("supports", 0.2))
    two_valued = all(np.unique(column).size <= 2 for column in integers.units.T)
    lacking = integers.ceiling - incumbent
    separable = lacking <= _FEW_RULES * (integers.price + integers.question_price)
    if two_valued and integers.units.shape[0] >= _MANY_PATTERNS and not separable:
        return [*steps, BoundStep("direction signs", 1.0)]
    return [*steps, BoundStep("packing", 1.0)]


def _supports(problem: Problem) -> int:
    """How many sets of questions a card may ask."""
    count, most = len(problem.questions), problem.limits.asked.most
    if not problem.questions.grouped:
        most = min(most, problem.max_features)
    return sum(math.comb(count, k) for k in range(min(most, count) + 1))


@dataclass(frozen=True)
class SearchThenProve:
    """Local search, then proof within the time limit; ends early when proven.

    1. The local search finds the incumbent, in at most ``search_share`` of the time.
    2. Bounds that fit the data (see :func:`plan`) are lowered in turn; the trace says which bound
       gave what.  Better cards that turn up on the way are kept.
    3. Once the bound meets the incumbent, it is optimal.
    """

    #: None goes on until the card is proven optimal, or the bounds give no more
    time_limit: float | None = 60.0
    n_jobs: int = 1
    seed: int = 0
    search_share: float = 0.3  #: share of the time for the local search
    #: seconds for a method to lower the gap by a tenth; None: all of the time
    patience: float | None = None
    name: str = "exact"  #: what the result calls the solver

    #: Seconds for the local search where there is no time limit.
    _SEARCH = 30.0

    def solve(
        self,
        problem: Problem,
        *,
        start: IntArray | None = None,
        callback: Callback | None = None,
    ) -> SolverResult:
        """Search and prove; Ctrl-C returns the best card so far, with its bound."""
        begin, limit = now(), check_time_limit(self.time_limit)
        share = self.search_share
        if _supports(problem) <= _FEW_SUPPORTS:  # their proof is worth the time
            share = min(share, _SHORT_SEARCH)
        seconds = min(self._SEARCH, share * limit)
        search = LocalSearch(time_limit=seconds, n_jobs=self.n_jobs, seed=self.seed)
        run: Run | None = None
        status: Status = "time_limit"
        try:
            first = search.solve(problem, start=start, callback=callback)
            run = Run(problem, self.name, limit, callback, spent=now() - begin)
            run.follow(first)
            status = first.status
        except NoCardFound:
            run = Run(problem, self.name, limit, callback, spent=now() - begin)
        if status != "interrupted":
            status = self._prove(run)
        if run.best is not None:  # whatever has stopped the work, something is proven
            run.finish_proof(ceiling(problem, IntegerProblem.of(problem)))
            run.keep_recountable()
        if run.best is None:
            raise no_card(problem, proven=status == "finished")
        return run.result(problem.primitive(run.best), status)

    def _prove(self, run: Run) -> Status:
        """Step 2."""
        problem = run.problem
        integers = IntegerProblem.of(problem)
        incumbent = _incumbent(run, integers)
        status: Status = "finished"
        try:
            if incumbent is None:  # only counting can tell whether there is a card at all
                if not fits_boxes(integers):
                    return "time_limit"
                return prove_boxes(run, integers, n_jobs=self.n_jobs)
            run.report_proof(ceiling(problem, integers))
            steps = plan(problem, integers, incumbent)
            for step in steps:
                if run.must_stop or _proven(run):
                    break
                # With all the time there is, what can come to an end should.
                endless = np.isinf(run.time_left) and step.share >= 0.5
                endless |= self.patience is None and step is steps[-1]
                # The published objective is rugged: there, bounds fall by fits and starts.
                # Supports fall slowly, but come to an end.
                blended = problem.patterns.outcomes is not None and step.method != "supports"
                patience = self.patience if self.patience is not None and blended else np.inf
                with run.within(1.0 if endless else step.share), run.patient(patience):
                    status = self._take(step, run, integers)
                if status == "interrupted":
                    run.stop.set()
        except KeyboardInterrupt:
            run.stop.set()
            return "interrupted"
        if run.stop.is_set():
            return "interrupted"
        return "time_limit" if run.out_of_time else status

    def _take(self, step: BoundStep, run: Run, integers: IntegerProblem) -> Status:
        """Lower the bound in one way."""
        if step.method == "branch and bound":
            return prove_boxes(run, integers, n_jobs=self.n_jobs)
        incumbent = _incumbent(run, integers)
        assert incumbent is not None

        def proof(value: int, boxes: Boxes | None = None) -> Proof | None:
            if value < incumbent:  # this cannot happen; if it does, it must not be believed
                logger.error("%s gave a bound below a card that exists: ignored", step.method)
                return None
            bound = integers.to_objective(int(value))
            if not integers.exact:  # the incumbent's value was rounded down
                assert run.best is not None
                bound = max(bound, run.problem.evaluate(run.best).objective)
            return Proof(step.method, bound, boxes=boxes, rounding=integers.rounding)

        def report(value: int) -> None:
            if (found := proof(value)) is not None:
                run.report_proof(found)

        begin, left = now(), run.time_left
        common = {"incumbent": incumbent, "seconds": left, "should_stop": run.poll}
        found = _bound(step.method, run.problem, integers, report, self.n_jobs, common)
        report(found.value)
        if found.boxes is not None and (last := proof(found.value, found.boxes)) is not None:
            run.finish_proof(last)
        if getattr(found, "interrupted", False):
            return "interrupted"
        return "time_limit" if now() - begin >= left else "finished"


def _incumbent(run: Run, integers: IntegerProblem) -> int | None:
    if run.best is None:
        return None
    return integers.from_objective(run.problem.evaluate(run.best).objective)


def _proven(run: Run) -> bool:
    assert run.best is not None
    assert run.proof is not None
    return run.proof.settles(run.problem.evaluate(run.best).objective)


def _bound(
    method: str,
    problem: Problem,
    integers: IntegerProblem,
    report: Callable[[int], None],
    n_jobs: int,
    common: dict[str, Any],
) -> Any:
    """What one of the bounds gives within the time left; its module is imported only here."""
    rules = Rules.of(problem)
    if method == "supports":
        from netbenefit.solvers.bounds.supports import support_bound

        return support_bound(integers, rules, on_bound=report, n_jobs=n_jobs, **common)
    if method == "direction signs":
        from netbenefit.solvers.bounds.directions import direction_bound

        return direction_bound(integers, rules, on_bound=report, **common)
    from netbenefit.solvers.bounds.packing import packing_bound

    return packing_bound(integers, rules, on_bound=report, n_jobs=n_jobs, **common)
