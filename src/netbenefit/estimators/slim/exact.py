"""SLIM by our own engine: net benefit at one threshold, and the sum of points step by step."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from netbenefit.common import IntArray
from netbenefit.estimators.slim.task import SlimRun, SlimTask
from netbenefit.problem import Problem, SolverResult, Status
from netbenefit.solvers import Callback, SearchThenProve, check_time_limit

#: Share of the time left that a solve may take; the rest is for polishing what it found.
_SHARE = 0.85


@dataclass(frozen=True)
class SlimExact:
    """Search and proof by the engine of ``SearchThenProve``.

    Write g(m) for the least share of errors plus C0 · ‖λ‖₀ of all cards with ‖λ‖₁ ≤ m.

    1. Let m be the largest ‖λ‖₁ that any card has.
    2. Find a card that attains g(m), and a lower bound of g(m), with the engine; cut-offs are free
       at first, and tied to their range if the card found needs one outside (:class:`SlimTask`).
       Keep the card if its whole loss is the lowest so far, and polish it.
    3. Let L be the lowest loss so far.  A card with m ≥ ‖λ‖₁ ≥ (L − g(m)) / ε has a loss of at
       least g(m) + ε · ‖λ‖₁ ≥ L: none of them is better.  So m becomes the largest whole number
       below (L − g(m)) / ε.  It has become smaller if g(m) was found exactly, since
       L ≤ g(m) + ε · ‖λ‖₁ for the card of step 2.
    4. Go back to 2, until no card is left (L is optimal), m stays (the bound of g(m) has a gap), or
       time is over.  What is left has a loss of at least g(m): a bound in any case.
    5. If m stays, but some g was found exactly, bound the loss once more, at the price C0 + ε per
       column, as a column with points has at least one.

    With ε = 0 the first pass is all there is.
    """

    time_limit: float | None = 600.0
    n_jobs: int = 1
    seed: int = 0

    def solve(self, task: SlimTask, *, callback: Callback | None = None) -> SolverResult:
        """Search and prove; Ctrl-C returns the best card so far, with its bound."""
        run = SlimRun(task, "exact", check_time_limit(self.time_limit), callback)
        status: Status = "interrupted"
        try:
            run.notify()
            status = self._descend(run)
        except KeyboardInterrupt:  # between two solves, or in the callback
            pass
        return run.result(status)

    def _descend(self, run: SlimRun) -> Status:
        """Steps 1 to 4."""
        task = run.task
        least = int(np.abs(task.problem.nearest_to_zero()).sum())
        m, tied, exact = task.most_total, False, False
        while True:
            found, status, tied = self._solve(run, m, tied)  # step 2
            # What lies above m has been ruled out, so this holds for every card that could win.
            found.report(run)
            if status == "interrupted":
                return status
            polish(run)
            if run.proven or not task.point_price:
                return status
            room = run.value.loss - found.bound - run.rounding
            smaller = math.ceil(room / task.point_price) - 1  # step 3
            if smaller < least:
                found._replace(bound=run.value.loss - run.rounding).report(run)
                return "finished"
            exact |= status == "optimal"
            if run.time_left <= 0:
                return "time_limit"
            if smaller >= m:
                return self._by_size(run) if exact else status
            m = smaller

    def _by_size(self, run: SlimRun) -> Status:
        """Step 5."""
        task = run.task
        price = task.problem.penalty + task.point_price
        found = self._engine(run, replace(task.problem, penalty=price))
        run.offer(found.points)
        _Bound.of(run, found, tied=False).report(run)
        if found.status != "interrupted":
            polish(run)
        return "finished" if found.status == "optimal" else found.status

    def _solve(self, run: SlimRun, m: int, tied: bool) -> tuple[_Bound, Status, bool]:
        """Step 2: a lower bound of g(m), how the solve ended, and whether ties were used."""
        task = run.task
        needed = task.ties_needed(m)
        free: _Bound | None = None
        if not (tied and needed):
            found = self._engine(run, task.limited(m))
            relaxed = run.task.problem.evaluate(found.points).objective
            value = run.offer(found.points)
            assert value is not None
            inside = value.errors + task.problem.penalty * value.size <= task.prevalence - relaxed
            free = _Bound.of(run, found, tied=False)
            if inside or not needed or found.status == "interrupted" or run.time_left <= 0:
                return free, found.status, False
        found = self._engine(run, task.tied(m))
        run.offer(found.points[:-1])
        bound = _Bound.of(run, found, tied=True)
        if free is not None and free.bound > bound.bound:  # holds for free cut-offs, so for tied
            bound = free
        return bound, found.status, True

    def _engine(self, run: SlimRun, problem: Problem) -> SolverResult:
        left = run.time_left
        seconds = None if math.isinf(left) else max(0.05, _SHARE * left)
        engine = SearchThenProve(time_limit=seconds, n_jobs=self.n_jobs, seed=self.seed)
        found = engine.solve(problem, callback=run.listener)
        run.evaluations += found.evaluations
        return found


class _Bound(NamedTuple):
    """A lower bound of errors plus C0 · ‖λ‖₀, and where it comes from."""

    bound: Fraction
    rounding: Fraction
    method: str

    @classmethod
    def of(cls, run: SlimRun, found: SolverResult, *, tied: bool) -> _Bound:
        """Take an upper bound of the engine as a lower bound of the loss."""
        proof, task = found.proof, run.task
        if proof is None:
            return cls(run.bound, run.rounding, run.method)
        objective, rounding = proof.bound, proof.rounding
        if tied:
            objective, rounding = task.untie(objective), rounding * task.tied_total / task.n_total
        return cls(task.prevalence - objective, rounding, proof.method)

    def report(self, run: SlimRun) -> None:
        """Report to the run; no bound is above the loss of a card that exists."""
        run.raise_bound(min(self.bound, run.value.loss), self.method, rounding=self.rounding)


def polish(run: SlimRun) -> None:
    """Improve the best card one column at a time, and by common divisors, while time is left."""
    problem = run.task.problem
    better = True
    while better and run.time_left > 0:
        before = run.value.loss
        _divide(run)
        for k in np.argsort(-np.abs(run.best), kind="stable").tolist():
            if run.time_left <= 0:
                break
            for points in range(int(problem.lower[k]), int(problem.upper[k]) + 1):
                _try(run, k, points)
        better = run.value.loss < before


def _try(run: SlimRun, column: int, points: int) -> None:
    """Give one column of the best card other points, unless their price alone is too high."""
    old = int(run.best[column])
    if points == old:
        return
    task, value = run.task, run.value
    size = value.size + (points != 0) - (old != 0)
    total = value.total + abs(points) - abs(old)
    if task.problem.penalty * size + task.point_price * total >= value.loss:
        return
    trial: IntArray = run.best.copy()
    trial[column] = points
    run.offer(trial)


def _divide(run: SlimRun) -> None:
    """Divide the best card by a common divisor of its points."""
    divisor = int(np.gcd.reduce(run.best))
    for d in range(divisor, 1, -1):
        if divisor % d == 0:
            run.offer(run.best // d)
            return
