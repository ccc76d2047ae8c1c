"""Gurobi, for those who have a licence."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from netbenefit.common.checks import InputError
from netbenefit.solvers.milp.backends import Backend, BackendAnswer, End, News, Order
from netbenefit.solvers.milp.model import TOLERANCE, MilpModel

__all__ = ["GurobiBackend"]

#: Gurobi's numbers for "no licence" and "the licence does not allow a model of this size".
_NO_LICENSE, _TOO_LARGE = 10009, 10010


class GurobiBackend(Backend):
    """Gurobi by its matrix interface.

    The package that pip installs brings a licence for models of up to 2,000 variables and 2,000
    rows; anything larger is refused with a message that says so.
    """

    name: ClassVar[str] = "Gurobi"
    package: ClassVar[str] = "gurobipy"
    install: ClassVar[str] = "netbenefit[gurobi]"

    def solve(self, model: MilpModel, order: Order) -> BackendAnswer:
        """Maximise."""
        gurobi = self.require()
        try:
            with gurobi.Env(empty=True) as env:
                env.setParam("OutputFlag", 0)
                env.start()
                with gurobi.Model(env=env) as program:
                    return _solve(gurobi, program, model, order)
        except gurobi.GurobiError as error:
            raise _explained(error, model) from error


def _explained(error: Any, model: MilpModel) -> Exception:
    """An error that says what to do, for licences; else the error itself."""
    rows, variables = model.shape
    if error.errno == _TOO_LARGE:
        return InputError(
            f"Gurobi's licence is size-limited and refuses this model of {variables:,} variables "
            f"and {rows:,} rows; the licence that comes with pip allows 2,000 of each. Install a "
            'full licence (free for academic use), use backend="highs", or make the problem '
            "smaller: fewer thresholds, or coarser columns that give fewer patterns."
        )
    if error.errno == _NO_LICENSE:
        return InputError(
            f'Gurobi found no valid licence ({error}). Install one, or use backend="highs".'
        )
    return error if isinstance(error, Exception) else RuntimeError(str(error))


def _solve(gurobi: Any, program: Any, model: MilpModel, order: Order) -> BackendAnswer:
    for name, value in _parameters(order).items():
        program.setParam(name, value)
    z = program.addMVar(
        model.lower.size, lb=model.lower, ub=model.upper, obj=model.objective, vtype="I"
    )
    program.ModelSense = gurobi.GRB.MAXIMIZE
    above, below = np.isfinite(model.row_lower), np.isfinite(model.row_upper)
    if above.any():
        program.addMConstr(model.matrix[above], z, ">", model.row_lower[above])
    if below.any():
        program.addMConstr(model.matrix[below], z, "<", model.row_upper[below])
    if order.warm_start is not None:
        z.Start = order.warm_start.astype(np.float64)
    program.optimize(_listener(gurobi, z, model, order))
    return _answer(gurobi, program, z, model, order)


def _parameters(order: Order) -> dict[str, Any]:
    return {
        "IntFeasTol": TOLERANCE,
        "FeasibilityTol": TOLERANCE,
        "OptimalityTol": TOLERANCE,
        "MIPGap": 0.0,
        "MIPGapAbs": 0.5,  # values are whole numbers
        "IntegralityFocus": 1,
        "Threads": max(1, order.n_jobs),
        "Seed": order.seed % 2_000_000_000,
        **({"TimeLimit": order.time_limit} if math.isfinite(order.time_limit) else {}),
    }


def _bound(value: float) -> float | None:
    return value if abs(value) < 1e100 else None


def _listener(gurobi: Any, z: Any, model: MilpModel, order: Order) -> Any:
    codes, block = gurobi.GRB.Callback, model.blocks["points"]

    def listen(program: Any, where: int) -> None:
        if order.should_stop():
            program.terminate()
        if where == codes.MIPSOL:
            points = np.asarray(program.cbGetSolution(z), dtype=np.float64)[block]
            claimed = program.cbGet(codes.MIPSOL_OBJ)
            order.on_news(News(points, claimed, _bound(program.cbGet(codes.MIPSOL_OBJBND))))
        elif where == codes.MIP:
            order.on_news(News(bound=_bound(program.cbGet(codes.MIP_OBJBND))))

    return listen


def _answer(gurobi: Any, program: Any, z: Any, model: MilpModel, order: Order) -> BackendAnswer:
    codes = gurobi.GRB.Status
    ends: dict[int, End] = {
        codes.OPTIMAL: "optimal",
        codes.INFEASIBLE: "infeasible",
        codes.TIME_LIMIT: "time_limit",
        codes.INTERRUPTED: "interrupted",
    }
    end: End = ends.get(program.Status, "failed")
    details = f"Gurobi status {program.Status}"
    if end in ("infeasible", "failed"):
        return BackendAnswer(end, details=details)
    bound = _bound(program.ObjBound)
    if not program.SolCount:
        return _start_as_answer(BackendAnswer(end, bound=bound, details=details), model, order)
    points = np.asarray(z.X, dtype=np.float64)[model.blocks["points"]]
    return BackendAnswer(end, points, program.ObjVal, bound, details)


def _start_as_answer(answer: BackendAnswer, model: MilpModel, order: Order) -> BackendAnswer:
    """Gurobi was stopped before it took the warm start in: the start is what it leaves with."""
    if order.warm_start is None:
        return answer
    start = np.asarray(order.warm_start, dtype=np.float64)
    return answer._replace(
        points=start[model.blocks["points"]], claimed=float(model.objective @ start)
    )
