"""Branch and bound alone, without the other bounds of the exact solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netbenefit.problem.problem import IntegerProblem, NoCardFound, Problem, SolverResult, Status
from netbenefit.solvers.base import Callback, Run, check_time_limit
from netbenefit.solvers.boxes.flow import (
    TOTAL,
    Field,
    Flow,
    augment,
    make_field,
    make_flow,
    spread,
)
from netbenefit.solvers.boxes.search import no_card, prove_boxes
from netbenefit.solvers.kernels.coordinates import Array
from netbenefit.solvers.kernels.jit import jit
from netbenefit.solvers.local_search import LocalSearch


@dataclass(frozen=True)
class BranchAndBound:
    """A card by local search, then a proof by boxes."""

    time_limit: float | None = 60.0
    n_jobs: int = 1
    seed: int = 0

    def solve(
        self,
        problem: Problem,
        *,
        start: np.ndarray | None = None,
        callback: Callback | None = None,
    ) -> SolverResult:
        limit = check_time_limit(self.time_limit)
        search = LocalSearch(time_limit=min(10.0, 0.3 * limit), n_jobs=self.n_jobs, seed=self.seed)
        run = Run(problem, "exact", limit, callback)
        status: Status = "time_limit"
        try:
            first = search.solve(problem, start=start, callback=callback)
            run.follow(first)
            status = first.status
        except NoCardFound:
            pass  # perhaps there is none, which the proof will show
        if status != "interrupted":
            status = prove_boxes(run, IntegerProblem.of(problem), n_jobs=self.n_jobs)
        if run.best is None:
            raise no_card(problem, proven=status == "finished")
        return run.result(problem.primitive(run.best), status)


def flow_bound(integers: IntegerProblem, lower: np.ndarray, upper: np.ndarray) -> int:
    """Bound of all points with lower ≤ λ ≤ upper: the largest flow, from scratch."""
    field = make_field(integers)
    flow = make_flow(field)
    lo, hi = np.asarray(lower, dtype=np.int64), np.asarray(upper, dtype=np.int64)
    slack = np.empty_like(field.blank)
    bits = np.zeros((field.blank.shape[0], field.has_room.shape[1]), dtype=np.uint64)
    _from_scratch(field, flow, lo, hi, slack, bits)
    return int(integers.ceiling - flow.state[TOTAL]) - integers.paid((lo > 0) | (hi < 0))


@jit
def _from_scratch(
    field: Field, flow: Flow, lo: Array, hi: Array, slack: Array, bits: Array
) -> None:
    """The largest flow of a box."""
    spread(field, lo, hi, slack, bits)
    augment(field, flow, bits, np.iinfo(np.int64).max)
