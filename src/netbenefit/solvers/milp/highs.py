"""HiGHS, the solver that comes with the package."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from netbenefit.solvers.highs import linear_program
from netbenefit.solvers.milp.backends import Backend, BackendAnswer, End, News, Order
from netbenefit.solvers.milp.model import TOLERANCE, MilpModel

__all__ = ["HighsBackend"]


class HighsBackend(Backend):
    """HiGHS by its own Python interface.

    It searches with one thread: HiGHS keeps one pool of threads for the whole process, whose size
    cannot be changed while other parts of a program use it, and gains little from more threads.
    """

    name: ClassVar[str] = "HiGHS"
    package: ClassVar[str] = "highspy"
    install: ClassVar[str] = "highspy"

    def solve(self, model: MilpModel, order: Order) -> BackendAnswer:
        """Maximise, by minimising the negative."""
        highspy = self.require()
        highs = highspy.Highs()
        for option, value in _options(order).items():
            highs.setOptionValue(option, value)
        if highs.passModel(_program(model)) == highspy.HighsStatus.kError:
            return BackendAnswer("failed", details="HiGHS refused the model")
        if order.warm_start is not None:
            start = highspy.HighsSolution()
            start.col_value = order.warm_start.astype(np.float64).tolist()
            highs.setSolution(start)
        _listen(highs, model, order)
        highs.run()
        return _answer(highspy, highs, model)


def _options(order: Order) -> dict[str, Any]:
    return {
        "output_flag": False,
        # HiGHS 1.15 gave bounds below the true optimum on random programs of this kind whose rows
        # hold numbers above 20,000; most, not all, of these cases had presolve on.  Restarts
        # presolve again.  Which step goes wrong is not known, so both are off.
        "presolve": "off",
        "mip_allow_restart": False,
        "mip_feasibility_tolerance": TOLERANCE,
        "primal_feasibility_tolerance": TOLERANCE,
        "dual_feasibility_tolerance": TOLERANCE,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 0.5,  # values are whole numbers
        "parallel": "off",
        "random_seed": order.seed % 2**31,
        **({"time_limit": order.time_limit} if math.isfinite(order.time_limit) else {}),
    }


def _program(model: MilpModel) -> Any:
    return linear_program(
        model.matrix,
        cost=0.0 - model.objective,  # no negative zeros
        lower=model.lower,
        upper=model.upper,
        row_lower=model.row_lower,
        row_upper=model.row_upper,
        whole=True,
    )


def _listen(highs: Any, model: MilpModel, order: Order) -> None:
    """Report better solutions and bounds, and interrupt the solver when it should stop."""
    block = model.blocks["points"]

    def improved(event: Any) -> None:
        out = event.data_out
        points = np.array(out.mip_solution, dtype=np.float64)[block]
        order.on_news(News(points, -out.objective_function_value, _bound(out.mip_dual_bound)))

    def interrupt(event: Any) -> None:
        order.on_news(News(bound=_bound(event.data_out.mip_dual_bound)))
        if order.should_stop():
            event.interrupt()

    def interrupt_simplex(event: Any) -> None:
        if order.should_stop():
            event.interrupt()

    highs.cbMipImprovingSolution.subscribe(improved)
    highs.cbMipInterrupt.subscribe(interrupt)
    highs.cbSimplexInterrupt.subscribe(interrupt_simplex)


def _bound(dual: float) -> float | None:
    return -dual if math.isfinite(dual) else None


def _answer(highspy: Any, highs: Any, model: MilpModel) -> BackendAnswer:
    status, info = highs.getModelStatus(), highs.getInfo()
    known = highspy.HighsModelStatus
    ends: dict[Any, End] = {
        known.kOptimal: "optimal",
        known.kInfeasible: "infeasible",
        known.kTimeLimit: "time_limit",
        known.kInterrupt: "interrupted",
    }
    end: End = ends.get(status, "failed")
    details = highs.modelStatusToString(status)
    if end == "infeasible":
        return BackendAnswer(end, details=details)
    bound = _bound(info.mip_dual_bound) if end != "failed" else None
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return BackendAnswer(end, bound=bound, details=details)
    values = np.array(highs.getSolution().col_value, dtype=np.float64)
    return BackendAnswer(
        end, values[model.blocks["points"]], -info.objective_function_value, bound, details
    )
