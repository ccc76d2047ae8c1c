"""SCIP, an open solver that some problems like better than HiGHS."""

from __future__ import annotations

import math
import threading
from typing import Any, ClassVar

import numpy as np

from netbenefit._validation import FloatArray
from netbenefit.solvers._milp_model import TOLERANCE, MilpModel
from netbenefit.solvers.backends.base import Answer, Backend, End, News, Order

__all__ = ["ScipBackend"]

#: Seconds between two looks at whether to stop.
_LOOK = 0.05


class ScipBackend(Backend):
    """SCIP by PySCIPOpt, on one thread.

    Examples
    --------
    >>> ScipBackend().name
    'SCIP'
    """

    name: ClassVar[str] = "SCIP"
    package: ClassVar[str] = "pyscipopt"
    install: ClassVar[str] = "netbenefit[scip]"

    def solve(self, model: MilpModel, order: Order) -> Answer:
        """Maximise."""
        scip = self.require()
        program = scip.Model()
        program.hideOutput()
        program.setParams(_parameters(order))
        z = _fill(scip, program, model)
        if order.warm_start is not None:
            start = program.createSol()
            for variable, value in zip(z, order.warm_start.tolist(), strict=True):
                program.setSolVal(start, variable, float(value))
            program.addSol(start)
        handler = _make_handler(scip, z[model.blocks["points"]], order)
        program.includeEventhdlr(handler, "news", "passes on better solutions and bounds")
        done = threading.Event()
        watcher = threading.Thread(target=_watch, args=(program, order, done), daemon=True)
        watcher.start()
        try:
            program.optimizeNogil()
        finally:
            done.set()
            watcher.join()
        return _answer(program, z[model.blocks["points"]])


def _parameters(order: Order) -> dict[str, Any]:
    return {
        "numerics/feastol": TOLERANCE,
        "numerics/dualfeastol": TOLERANCE,
        "limits/gap": 0.0,
        "limits/absgap": 0.5,  # values are whole numbers
        "misc/catchctrlc": False,
        "randomization/randomseedshift": order.seed % 2**31,
        **({"limits/time": order.time_limit} if math.isfinite(order.time_limit) else {}),
    }


def _fill(scip: Any, program: Any, model: MilpModel) -> list[Any]:
    """Hand over the model; returns SCIP's variables."""
    columns = zip(model.lower.tolist(), model.upper.tolist(), model.objective.tolist(), strict=True)
    z = [program.addVar(vtype="I", lb=low, ub=high, obj=cost) for low, high, cost in columns]
    program.setMaximize()
    starts, indices = model.matrix.indptr.tolist(), model.matrix.indices.tolist()
    data = model.matrix.data.tolist()
    bounds = zip(model.row_lower.tolist(), model.row_upper.tolist(), strict=True)
    for row, (low, high) in enumerate(bounds):
        span = range(starts[row], starts[row + 1])
        total = scip.quicksum(data[e] * z[indices[e]] for e in span)
        if low == high:
            program.addCons(total == low)
            continue
        if math.isfinite(low):
            program.addCons(total >= low)
        if math.isfinite(high):
            program.addCons(total <= high)
    return z


def _watch(program: Any, order: Order, done: threading.Event) -> None:
    """Ask again and again whether to stop: SCIP forgets a wish from before its start."""
    while not done.wait(_LOOK):
        if order.should_stop():
            program.interruptSolve()


def _make_handler(scip: Any, points: list[Any], order: Order) -> Any:
    """An event handler; its class can only be made once SCIP has been imported."""
    kinds = scip.SCIP_EVENTTYPE

    class Handler(scip.Eventhdlr):  # type: ignore[misc]
        def eventinit(self) -> None:
            self.model.catchEvent(kinds.BESTSOLFOUND, self)
            self.model.catchEvent(kinds.NODESOLVED, self)

        def eventexec(self, event: Any) -> None:
            bound = _bound(self.model, self.model.getDualbound())
            if event.getType() == kinds.BESTSOLFOUND:
                best = self.model.getBestSol()
                claimed = self.model.getSolObjVal(best)
                order.on_news(News(_values(self.model, best, points), claimed, bound))
            else:
                order.on_news(News(bound=bound))

    return Handler()


def _bound(program: Any, value: float) -> float | None:
    return None if program.isInfinity(abs(value)) else float(value)


def _values(program: Any, solution: Any, points: list[Any]) -> FloatArray:
    return np.array([program.getSolVal(solution, v) for v in points], dtype=np.float64)


def _answer(program: Any, points: list[Any]) -> Answer:
    status = program.getStatus()
    ends: dict[str, End] = {
        "optimal": "optimal",
        "gaplimit": "optimal",  # less than one unit of the objective is left
        "infeasible": "infeasible",
        "timelimit": "time_limit",
        "userinterrupt": "interrupted",
    }
    end: End = ends.get(status, "failed")
    if end in ("infeasible", "failed"):
        return Answer(end, details=status)
    bound = _bound(program, program.getDualbound())
    if not program.getNSols():
        return Answer(end, bound=bound, details=status)
    best = program.getBestSol()
    return Answer(end, _values(program, best, points), program.getSolObjVal(best), bound, status)
