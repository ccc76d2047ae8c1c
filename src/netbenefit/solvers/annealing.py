"""Simulated annealing exactly as published, on our kernels: the yardstick for others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from netbenefit.common import InputError, IntArray
from netbenefit.problem import Problem, SolverResult, Status
from netbenefit.solvers.base import Callback, Run, check_time_limit, first_points
from netbenefit.solvers.clock import now
from netbenefit.solvers.state import SLICE, SearchState, make_search_state


@dataclass(frozen=True)
class Annealing:
    """Published annealing (RSS-DNB-SA).

    1. Start at the given points (zero by default), with temperature t = ``temperature``.
    2. ``steps_per_temperature`` times: draw a column, and one of its other values; re-optimise the
       cut-offs; accept a better vector, and a worse one with probability exp((G' − G) / t).
    3. Lower t by ``cooling``; go to 2 while t > ``lowest_temperature``.
    4. Return the best vector seen, the start included.

    With the defaults that makes 10,000 steps.  Bounds and signs restrict the values that are drawn;
    a step beyond ``max_features`` is rejected without being evaluated.  Under other constraints the
    walk may leave the allowed vectors, at a price for what is missing that rises until it comes
    back (otherwise it could be stuck where it starts); only allowed vectors become the best.

    Algorithm alg:sa of the paper.
    """

    temperature: float = 1e-3
    cooling: float = 1e-6
    lowest_temperature: float = 0.0
    steps_per_temperature: int = 10
    time_limit: float | None = None  #: seconds; None for all steps
    seed: int = 0

    @property
    def n_steps(self) -> int:
        """Steps of a full run."""
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
        begin, limit = now(), check_time_limit(self.time_limit)
        seed = np.random.SeedSequence(self.seed).generate_state(1, dtype=np.uint64)[0]
        one = problem.value_of_one
        schedule = np.array(
            [self.temperature * one, self.cooling * one, self.steps_per_temperature]
        )
        first = first_points(problem, start)
        state = make_search_state(problem, int(seed))
        state.start(first, True)
        run = Run(problem, "anneal", limit, callback, spent=now() - begin)
        status: Status = "finished"
        done, piece = 0, 64
        total = self.n_steps if state.free.size else 0
        try:
            _report(run, state, 1)
            while done < total:
                if run.must_stop:
                    status = "interrupted" if run.stop.is_set() else "time_limit"
                    break
                tick = now()
                end = min(done + piece, total)
                _report(run, state, state.metropolis(schedule, done, end))
                spent = max(now() - tick, 1e-6)
                done, piece = end, max(1, min(4 * piece, int(piece * SLICE / spent)))
        except KeyboardInterrupt:
            status = "interrupted"
        if not state.found or not problem.feasible(state.best):
            raise problem.nothing_found()
        return run.result(problem.primitive(state.best), status)

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


def _report(run: Run, state: SearchState, evaluated: int) -> None:
    """Report work, and the best points once there are any."""
    if state.found:
        run.report(evaluated, state.best_value, state.best)
    else:
        run.evaluations += evaluated
