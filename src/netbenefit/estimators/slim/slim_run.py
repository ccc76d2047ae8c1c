"""The state of one search for a SLIM card: clock, best card, bound, trace."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np

from netbenefit.common.checks import IntArray
from netbenefit.estimators.slim.task import SlimTask, SlimValue
from netbenefit.problem.result import Proof
from netbenefit.solvers.base import Callback, Progress, SolverResult, Status, TraceRow, round_up

__all__ = ["SlimRun"]


class SlimRun:
    """Best card and highest lower bound of the loss so far, both exact.

    The result speaks as all solvers do, of something to be made large: its objective is the net
    benefit at the threshold 0.5 less both prices, which is the prevalence less the loss.
    """

    def __init__(
        self, task: SlimTask, solver: str, time_limit: float, callback: Callback | None = None
    ) -> None:
        self.task, self.solver = task, solver
        self.evaluations = 0
        self._callback = callback
        self._begin = time.perf_counter()
        self._deadline = self._begin + time_limit
        self._trace: list[TraceRow] = []
        self.bound = Fraction(0)  #: no card has a lower loss
        self.rounding = Fraction(0)  #: what real weights, held in whole numbers, may take off it
        self.method = "no errors"
        self.best = task.problem.nearest_to_zero()
        self.value = task.evaluate(self.best)
        self._note(self.solver)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self._begin

    @property
    def time_left(self) -> float:
        """Seconds until the limit."""
        return self._deadline - time.perf_counter()

    @property
    def proven(self) -> bool:
        """Whether no card is better than the best one."""
        return self.bound + self.rounding >= self.value.loss

    def offer(self, points: IntArray, source: str = "") -> SlimValue | None:
        """Count a card, and keep it if it is the best so far; None if it is not allowed."""
        self.evaluations += 1
        if not self.task.problem.allows(points):
            return None
        value = self.task.evaluate(points)
        if value.loss < self.value.loss:
            self.best, self.value = points.copy(), value
            self._note(source or self.solver)
            self.tell()
        return value

    def raise_bound(self, bound: Fraction, method: str, *, rounding: Fraction) -> None:
        """Keep a lower bound of the loss if it is the highest so far."""
        if bound > self.bound:
            self.bound, self.method = bound, method
            self.rounding = max(self.rounding, rounding)
            self._note(method)
            self.tell()

    def tell(self) -> None:
        """Call the callback."""
        if self._callback is not None:
            last = self._trace[-1]
            told = Progress(
                last.objective, last.size, self.seconds, self.evaluations, self._upper(self.bound)
            )
            self._callback(told)

    def follow(self, progress: Progress) -> None:
        """Pass on that a part of the work goes on."""
        self.tell()

    @property
    def listener(self) -> Callback | None:
        """What parts of the work call, if anybody listens."""
        return None if self._callback is None else self.follow

    def _upper(self, bound: Fraction) -> float:
        return round_up(self.task.prevalence - min(bound, self.value.loss))

    def _note(self, source: str) -> None:
        objective = float(self.task.prevalence - self.value.loss)
        upper = self._upper(self.bound)
        self._trace.append(TraceRow(self.seconds, objective, self.value.size, upper, source))

    def result(self, status: Status) -> SolverResult:
        """Wrap up; the status becomes "optimal" where the bound says so."""
        value, high = self.value, self.task.prevalence
        objective = float(high - value.loss)
        bound = self._upper(self.bound)
        if self.proven:
            status, bound = "optimal", objective
        return SolverResult(
            points=np.asarray(self.best, dtype=np.int64).copy(),
            cutoffs=(value.cutoff,),
            objective=objective,
            net_benefit=float(high - value.errors),
            score_range=value.score_range,
            bound=bound,
            status=status,
            seconds=self.seconds,
            evaluations=self.evaluations,
            trace=tuple(self._trace),
            solver=self.solver,
            proof=Proof(self.method, high - min(self.bound, value.loss), rounding=self.rounding),
        )
