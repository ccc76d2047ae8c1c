"""Simulated annealing exactly as published, on our kernel: the yardstick for the default search."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from netbenefit._validation import InputError, IntArray
from netbenefit.kernels.layout import make_state
from netbenefit.problem import Problem
from netbenefit.solvers import _chain
from netbenefit.solvers.base import (
    Callback,
    Run,
    SolverResult,
    Status,
    check_time_limit,
    first_points,
)

__all__ = ["Annealing"]

#: Seconds of compiled work between two looks at the clock.
_SLICE = 0.02


@dataclass(frozen=True)
class Annealing:
    """Published annealing (RSS-DNB-SA).

    1. Start at the given points (zero by default), with temperature t = ``temperature``.
    2. ``steps_per_temperature`` times: draw a column, and one of its other values; re-optimise the
       cut-offs; accept a better vector, and a worse one with probability exp((G' − G) / t).
    3. Lower t by ``cooling``; go to 2 while t > ``lowest_temperature``.
    4. Return the best vector seen, the start included.

    With the defaults that makes 10,000 steps.  Bounds and signs restrict the values that are drawn;
    a step beyond ``max_features`` is rejected without being evaluated.

    Parameters
    ----------
    temperature : float, default=1e-3
    cooling : float, default=1e-6
    lowest_temperature : float, default=0.0
    steps_per_temperature : int, default=10
    time_limit : float or None, default=None
        Seconds; None for all steps.
    seed : int, default=0

    Examples
    --------
    >>> from netbenefit.patterns import PatternTable
    >>> from netbenefit.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1])
    >>> Annealing().solve(Problem.build(table, Thresholds.tenths())).points
    array([1])
    """

    temperature: float = 1e-3
    cooling: float = 1e-6
    lowest_temperature: float = 0.0
    steps_per_temperature: int = 10
    time_limit: float | None = None
    seed: int = 0

    @property
    def n_steps(self) -> int:
        """Steps of a full run.

        >>> Annealing().n_steps
        10000
        """
        span = self.temperature - self.lowest_temperature
        # ceil, with room for the rounding of a quotient such as 1e-3 / 1e-6
        return math.ceil(span / self.cooling - 1e-9) * self.steps_per_temperature

    def solve(
        self,
        problem: Problem,
        *,
        start: IntArray | None = None,
        callback: Callback | None = None,
    ) -> SolverResult:
        """Anneal and return the best vector seen; Ctrl-C returns the best so far."""
        self._check()
        limit = check_time_limit(self.time_limit)
        columns = problem.columns
        seed = np.random.SeedSequence(self.seed).generate_state(1, dtype=np.uint64)[0]
        state, chain = make_state(columns), _chain.make_chain(problem, int(seed))
        one = problem.value_of_one
        schedule = np.array(
            [self.temperature * one, self.cooling * one, self.steps_per_temperature]
        )
        first = first_points(problem, start)
        _chain.start(columns, state, chain, first, True)
        _chain.metropolis(columns, state, chain, schedule, 0, 0)  # compiles before the clock starts
        run = Run(problem, "anneal", limit, callback)
        status: Status = "finished"
        done, piece = 0, 64
        total = self.n_steps if chain.free.size else 0
        try:
            run.report(1, chain.value[1], chain.best)
            while done < total:
                if run.must_stop:
                    status = "time_limit"
                    break
                tick = time.perf_counter()
                end = min(done + piece, total)
                evaluated = _chain.metropolis(columns, state, chain, schedule, done, end)
                run.report(evaluated, chain.value[1], chain.best)
                spent = max(time.perf_counter() - tick, 1e-6)
                done, piece = end, max(1, min(4 * piece, int(piece * _SLICE / spent)))
        except KeyboardInterrupt:
            status = "interrupted"
        return run.result(problem.primitive(chain.best), status)

    def _check(self) -> None:
        positive = {
            "temperature": self.temperature,
            "cooling": self.cooling,
            "steps_per_temperature": self.steps_per_temperature,
        }
        for name, value in positive.items():
            if not value > 0:
                raise InputError(f"{name} must be positive, but is {value!r}.")
        if not 0 <= self.lowest_temperature < self.temperature:
            raise InputError(
                f"lowest_temperature must lie between 0 and temperature={self.temperature!r}, but "
                f"is {self.lowest_temperature!r}."
            )
