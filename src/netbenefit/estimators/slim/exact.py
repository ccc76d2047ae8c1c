"""SLIM by our own engine: net benefit at one threshold, and the sum of points step by step."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from netbenefit.common import IntArray
from netbenefit.estimators.slim.task import SlimRun, SlimTask
from netbenefit.problem import Problem, Progress, Proof, SolverResult, Status
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
        with suppress(KeyboardInterrupt):  # between two solves, or in the callback
            status = self._descend(run)
        return run.result(run.best, status)

    def _descend(self, run: SlimRun) -> Status:
        """Steps 1 to 4."""
        task = run.task
        least = int(np.abs(task.problem.nearest_to_zero()).sum())
        m, tied, exact = task.most_total, False, False
        while True:
            proof, status, tied = self._solve(run, m, tied)  # step 2
            # What lies above m has been ruled out, so this holds for every card that could win.
            run.report_proof(proof)
            if status == "interrupted":
                return status
            polish(run)
            if run.proven or not task.point_price:
                return status
            room = proof.bound - run.value.objective - run.proof.rounding  # L − g(m)
            smaller = math.ceil(room / task.point_price) - 1  # step 3
            if smaller < least:
                bound = run.value.objective + run.proof.rounding
                run.report_proof(replace(proof, bound=bound))
                return "finished"
            exact |= status == "optimal"
            if run.out_of_time:
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
        run.report_proof(_proof(run, found))
        if found.status != "interrupted":
            polish(run)
        return "finished" if found.status == "optimal" else found.status

    def _solve(self, run: SlimRun, m: int, tied: bool) -> tuple[Proof, Status, bool]:
        """Step 2: a proof about g(m), how the solve ended, and whether ties were used."""
        task = run.task
        needed = task.ties_needed(m)
        free: Proof | None = None
        if not (tied and needed):
            found = self._engine(run, task.limited(m))
            relaxed = task.problem.evaluate(found.points).objective
            value = run.offer(found.points)
            assert value is not None
            inside = value.net_benefit - task.problem.penalty * value.size >= relaxed
            free = _proof(run, found)
            if inside or not needed or found.status == "interrupted" or run.out_of_time:
                return free, found.status, False
        found = self._engine(run, task.tied(m))
        run.offer(found.points[:-1])
        proof = _proof(run, found, tied=True)
        if free is not None and free.bound < proof.bound:  # holds for free cut-offs, so for tied
            proof = free
        return proof, found.status, True

    def _engine(self, run: SlimRun, problem: Problem) -> SolverResult:
        def on_progress(_: Progress) -> None:
            run.poll()

        left = run.time_left
        seconds = None if math.isinf(left) else max(0.05, _SHARE * left)
        engine = SearchThenProve(time_limit=seconds, n_jobs=self.n_jobs, seed=self.seed)
        found = engine.solve(problem, callback=on_progress)
        run.evaluations += found.evaluations
        return found


def _proof(run: SlimRun, found: SolverResult, *, tied: bool = False) -> Proof:
    """What a solve of the engine proves of the task; without a proof, what was known before."""
    proof, task = found.proof, run.task
    if proof is None:
        return run.proof
    bound, rounding = proof.bound, proof.rounding
    if tied:
        bound, rounding = task.untie(bound), rounding * task.tied_total / task.n_total
    return Proof(proof.method, bound, rounding=rounding)


def polish(run: SlimRun) -> None:
    """Improve the best card one column at a time, and by common divisors, while time is left."""
    problem = run.task.problem
    better = True
    while better and run.time_left > 0:
        before = run.value.objective
        _divide(run)
        for k in np.argsort(-np.abs(run.best), kind="stable").tolist():
            if run.out_of_time:
                break
            for points in range(int(problem.lower[k]), int(problem.upper[k]) + 1):
                _try(run, k, points)
        better = run.value.objective > before


def _try(run: SlimRun, column: int, points: int) -> None:
    """Give one column of the best card other points, unless their price alone is too high."""
    old = int(run.best[column])
    if points == old:
        return
    trial: IntArray = run.best.copy()
    trial[column] = points
    task = run.task
    size, total = int(np.count_nonzero(trial)), int(np.abs(trial).sum())
    prices = task.problem.penalty * size + task.point_price * total
    if prices < task.prevalence - run.value.objective:
        run.offer(trial)


def _divide(run: SlimRun) -> None:
    """Divide the best card by a common divisor of its points."""
    divisor = int(np.gcd.reduce(run.best))
    for d in range(divisor, 1, -1):
        if divisor % d == 0:
            run.offer(run.best // d)
            return
