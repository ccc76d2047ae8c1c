"""What SLIM minimises, in exact numbers, and the same as problems that our engine knows.

With N rows, points λ and a whole cut-off T between −B and B (the intercept is −T), a row is called
positive when ⌊x·λ⌋ ≥ T, and

    loss(λ, T) = (false alarms + events missed) / N + C0 · ‖λ‖₀ + ε · ‖λ‖₁ .

The share of errors is the prevalence less the net benefit at the threshold 0.5, (TP − FP) / N.  So
a :class:`Problem` with this one threshold is SLIM except for two things:

1. *The last term.*  min loss = min over m of (least loss without it, given ‖λ‖₁ ≤ m) + ε · m, and
   a bound of ‖λ‖₁ is a limit that problems have.
2. *The range of the intercept.*  A problem's cut-offs are free.  Two more patterns tie them down
   (:meth:`SlimTask.tied`): a column that nothing else uses and whose points are fixed at 1 gives
   one of them the score B whatever the card, the other −B − 1.  The first is worth more events than
   there are rows, the second as many non-events: so T ≤ B and T > −B − 1 wherever it pays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from netbenefit.common import InputError, IntArray
from netbenefit.data import PatternTable
from netbenefit.metrics import Thresholds
from netbenefit.problem import (
    Evaluation,
    Limits,
    Problem,
    Progress,
    Proof,
    Questions,
    SolverResult,
    Status,
    count_called,
    floor_scores,
)
from netbenefit.solvers import Callback, Run, SearchThenProve, check_time_limit

# -- the exact engine ------------------------------------------------------------------------------

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
        found = self._engine(run, replace(task.problem, penalty=price, rule_penalty=price))
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


#: The one threshold, at which a false alarm costs as much as a missed event.
HALF = Thresholds.of([0.5])


@dataclass(frozen=True, eq=False)
class SlimTask:
    """Data, prices and limits of SLIM; build it with :meth:`build`."""

    problem: Problem  #: without the last term and with free cut-offs; its penalty is C0
    point_price: Fraction  #: ε
    max_intercept: int  #: B

    @classmethod
    def build(
        cls,
        table: PatternTable,
        *,
        penalty: Fraction,
        point_price: Fraction,
        max_intercept: int = 100,
        **settings: Any,
    ) -> SlimTask:
        """Put a task together; settings are those of :meth:`Problem.build`.

        SLIM counts columns: each is a question of its own.
        """
        problem = Problem.build(table, HALF, penalty=penalty, questions=None, **settings)
        if problem.limits.rates is not None:
            raise InputError(
                f"SLIM has one cut-off, and no limits on rates: {problem.rates_text()}. Leave "
                "them out, or use RiskScoreClassifier."
            )
        return cls(problem, point_price, max_intercept)

    @property
    def n_total(self) -> Fraction:
        """N, as the problem has it: of real weights it is a rounded sum."""
        return Fraction(self.problem.patterns.n_total)

    @cached_property
    def prevalence(self) -> Fraction:
        """Share of events: loss = prevalence − (net benefit at 0.5 − prices)."""
        events = sum(map(Fraction, self.problem.patterns.positives.tolist()), Fraction(0))
        return events / self.n_total

    @property
    def most_total(self) -> int:
        """Largest ‖λ‖₁ of an allowed card."""
        problem = self.problem
        most = np.maximum(np.abs(problem.lower), np.abs(problem.upper)).sum()
        return min(int(most), int(problem.limits.total))

    # -- exact values ----------------------------------------------------------------------------

    def evaluate(self, points: IntArray) -> Evaluation:
        """Count a card from the patterns, with its best (and smallest such) cut-off.

        The objective is the prevalence less the loss.
        """
        table, reach = self.problem.patterns, self.max_intercept
        scores = floor_scores(table.codes, table.decimals, points)
        candidates, tp, fp, unit = count_called(scores, table.positives, table.negatives)
        # Any allowed T calls the same rows as the first candidate from it on.
        first = int(np.searchsorted(candidates, -reach))
        last = int(np.searchsorted(candidates, reach))
        if first == candidates.size:  # no row reaches even −B
            best, cutoff = candidates.size - 1, -reach
        else:
            last = min(last, candidates.size - 1)
            net = tp[first : last + 1] - fp[first : last + 1]
            best = first + int(np.argmax(net))
            cutoff = min(int(candidates[best]), reach)
        benefit = Fraction(int(tp[best]) - int(fp[best]), unit) / self.n_total
        size, total = int(np.count_nonzero(points)), int(np.abs(points).sum())
        prices = self.problem.penalty * size + self.point_price * total
        reached = int(scores.min()), int(scores.max())
        return Evaluation(benefit - prices, benefit, (cutoff,), reached, size, size)

    # -- the same for the engine -----------------------------------------------------------------

    def limited(self, total: int) -> Problem:
        """The problem without the last term, for cards with ‖λ‖₁ ≤ total; its cut-offs are free."""
        if total >= self.most_total:
            return self.problem
        limits = self.problem.limits._replace(total=total)
        start = self.problem.nearest_to_zero()
        return replace(self.problem, limits=limits, _start=start)

    def ties_needed(self, total: int) -> bool:
        """Whether a card with ‖λ‖₁ ≤ total can have scores outside the range of cut-offs."""
        table, problem = self.problem.patterns, self.problem
        digits = max(table.decimals)
        scale = np.array([10 ** (digits - d) for d in table.decimals], dtype=np.int64)
        units = np.abs(table.codes) * scale
        most = np.maximum(np.abs(problem.lower), np.abs(problem.upper))
        reach = min(int((units @ most).max()), total * int(units.max(initial=0)))
        return bool(reach // 10**digits + 2 > self.max_intercept)

    def tied(self, total: int) -> Problem:
        """The same with cut-offs in their range; :meth:`untie` takes its values back."""
        problem, wider = self.limited(total), self._wider
        limits = problem.limits
        values = np.zeros((wider.n_features, limits.values.shape[1]), dtype=np.bool_)
        values[:-1], values[-1, 0] = limits.values, True
        support, asked = np.pad(limits.support, ((0, 0), (0, 1))), limits.asked
        asked = asked._replace(
            of_column=np.append(asked.of_column, asked.of_column.size),
            most=asked.most + 1,
            answers=np.pad(asked.answers, ((0, 0), (0, 1))),
            first=np.append(asked.first, asked.first[-1]),
            spread=np.append(asked.spread, 1),
        )
        price = problem.penalty * self.n_total / self.tied_total
        return replace(
            problem,
            patterns=wider,
            penalty=price,
            rule_penalty=price,
            questions=Questions.single(wider.names),
            lower=np.append(problem.lower, 1),
            upper=np.append(problem.upper, 1),
            max_features=problem.max_features + 1,
            limits=Limits(values, support, limits.support_limit, limits.total + 1, None, asked),
            _start=np.append(problem.nearest_to_zero(), 1),
        )

    @property
    def tied_total(self) -> Fraction:
        """Mass of all rows of :meth:`tied`."""
        return Fraction(self._wider.n_total)

    @cached_property
    def _heavy(self) -> int:
        """A mass that no card can make up for: more than all rows together."""
        return 2 * int(self.n_total) + 2

    @cached_property
    def _wider(self) -> PatternTable:
        """The patterns, with one more column and the two patterns that use it."""
        table, reach = self.problem.patterns, self.max_intercept
        n = len(table)
        codes = np.zeros((n + 2, table.n_features + 1), dtype=np.int64)
        codes[:n, :-1] = table.codes
        codes[n:, -1] = reach, -reach - 1
        kind = table.positives.dtype
        return replace(
            table,
            codes=codes,
            decimals=(*table.decimals, 0),
            names=(*table.names, _free_name(table.names)),
            positives=np.append(table.positives, np.array([self._heavy, 0], kind)),
            negatives=np.append(table.negatives, np.array([0, self._heavy], kind)),
        )

    def untie(self, objective: Fraction) -> Fraction:
        """Turn an objective (or bound) of :meth:`tied` into one of :meth:`limited`.

        The two patterns add one heavy mass of events found; the fixed column costs one C0.
        """
        return (objective * self.tied_total - self._heavy) / self.n_total + self.problem.penalty


def _free_name(names: Sequence[str]) -> str:
    """A name that no column has."""
    name = "intercept"
    while name in names:
        name += "_"
    return name


class SlimRun(Run):
    """A run whose objective is the net benefit at 0.5 less both prices: prevalence − loss."""

    best: IntArray
    proof: Proof

    def __init__(
        self, task: SlimTask, solver: str, time_limit: float, callback: Callback | None = None
    ) -> None:
        super().__init__(task.problem, solver, time_limit, callback)
        self.task = task
        self.best = task.problem.nearest_to_zero()
        self.value = task.evaluate(self.best)
        self.proof = Proof("no errors", task.prevalence)
        self._note(float(self.value.objective), self.value.size)

    @property
    def proven(self) -> bool:
        """Whether no card is better than the best one."""
        return self.proof.settles(self.value.objective)

    def evaluate(self, points: IntArray) -> Evaluation:
        """Count a card's value from the patterns, exactly."""
        return self.task.evaluate(points)

    def offer(self, points: IntArray) -> Evaluation | None:
        """Count a card, and keep it if it is the best so far; None if it is not allowed."""
        self.evaluations += 1
        if not self.problem.allows(points):
            return None
        value = self.evaluate(points)
        if value.objective > self.value.objective:
            self.best, self.value = points.copy(), value
            if value.objective > self.proof.bound:  # by no more than the bound's rounding
                self.proof = replace(self.proof, bound=value.objective)
            self._note(float(value.objective), value.size)
            self._notify(True)
        return value

    def report_proof(self, proof: Proof) -> None:
        """Keep a bound if it is the lowest so far; none lies below a card that exists."""
        bound = max(proof.bound, self.value.objective)
        rounding = max(proof.rounding, self.proof.rounding)
        super().report_proof(replace(proof, bound=bound, rounding=rounding))
