"""Mixed-integer solvers behind one interface; the package of each is imported when needed."""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from netbenefit.common import FloatArray, InputError, IntArray, check_option, install_command
from netbenefit.solvers.highs import linear_program
from netbenefit.solvers.milp.model import TOLERANCE, MilpModel

#: How a solver ended; "failed" is anything that is not one of the others.
End = Literal["optimal", "infeasible", "time_limit", "interrupted", "failed"]


class News(NamedTuple):
    """What a solver reports while it runs; None where there is nothing new.

    ``points`` are the values of the points block, ``claimed`` is what the solver takes their
    objective to be, ``bound`` is what no solution exceeds, as far as the solver knows.
    """

    points: FloatArray | None = None
    claimed: float | None = None
    bound: float | None = None


class BackendAnswer(NamedTuple):
    """What a solver reports at the end; the same fields as :class:`News`."""

    end: End
    points: FloatArray | None = None
    claimed: float | None = None
    bound: float | None = None
    details: str = ""


@dataclass(frozen=True, eq=False)
class Order:
    """How a model is to be solved."""

    time_limit: float = math.inf  #: seconds
    warm_start: IntArray | None = None  #: (variables,) a feasible solution
    #: called from whatever thread the solver uses; must not raise
    on_news: Callable[[News], None] = lambda news: None
    should_stop: Callable[[], bool] = lambda: False  #: called often; True ends the search
    n_jobs: int = 1
    seed: int = 0


class Backend(ABC):
    """A mixed-integer solver; its package is imported by :meth:`require`, not before."""

    name: ClassVar[str]  #: as it is spelled in text
    package: ClassVar[str]  #: what to import
    extra: ClassVar[str | None] = None  #: of this package that brings it; None: it always comes

    def require(self) -> Any:
        """Import the solver's package, or raise an error with the way to install it."""
        try:
            return importlib.import_module(self.package)
        except ImportError as error:
            raise InputError(
                f"the {self.name} backend needs the package {self.package!r}, which cannot be "
                f"imported ({error}). Install it with `{self._install()}`, or "
                'use backend="highs".'
            ) from error

    def _install(self) -> str:
        return f"pip install {self.package}" if self.extra is None else install_command(self.extra)

    @abstractmethod
    def solve(self, model: MilpModel, order: Order) -> BackendAnswer:
        """Maximise; with tolerances of ``TOLERANCE`` and no gap below one unit of the objective."""


class HighsBackend(Backend):
    """HiGHS, which comes with this package, by its own Python interface.

    It searches with one thread: HiGHS keeps one pool of threads for the whole process, whose size
    cannot be changed while other parts of a program use it, and gains little from more threads.
    """

    name = "HiGHS"
    package = "highspy"

    def solve(self, model: MilpModel, order: Order) -> BackendAnswer:
        """Maximise, by minimising the negative."""
        highspy = self.require()
        highs = highspy.Highs()
        for option, value in _options(order).items():
            highs.setOptionValue(option, value)
        program = linear_program(
            model.matrix,
            cost=0.0 - model.objective,  # no negative zeros
            lower=model.lower,
            upper=model.upper,
            row_lower=model.row_lower,
            row_upper=model.row_upper,
            whole=True,
        )
        if highs.passModel(program) == highspy.HighsStatus.kError:
            return BackendAnswer("failed", details="HiGHS refused the model")
        if order.warm_start is not None:
            start = highspy.HighsSolution()
            start.col_value = order.warm_start.astype(np.float64).tolist()
            highs.setSolution(start)
        _listen(highs, model, order)
        highs.run()
        return _highs_answer(highspy, highs, model)


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


def _listen(highs: Any, model: MilpModel, order: Order) -> None:
    """Report better solutions and bounds, and interrupt the solver when it should stop."""
    block = model.blocks["points"]

    def improved(event: Any) -> None:
        out = event.data_out
        points = np.array(out.mip_solution, dtype=np.float64)[block]
        order.on_news(News(points, -out.objective_function_value, _highs_bound(out.mip_dual_bound)))

    def interrupt(event: Any) -> None:
        order.on_news(News(bound=_highs_bound(event.data_out.mip_dual_bound)))
        if order.should_stop():
            event.interrupt()

    def interrupt_simplex(event: Any) -> None:
        if order.should_stop():
            event.interrupt()

    highs.cbMipImprovingSolution.subscribe(improved)
    highs.cbMipInterrupt.subscribe(interrupt)
    highs.cbSimplexInterrupt.subscribe(interrupt_simplex)


def _highs_bound(dual: float) -> float | None:
    return -dual if math.isfinite(dual) else None


def _highs_answer(highspy: Any, highs: Any, model: MilpModel) -> BackendAnswer:
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
    bound = _highs_bound(info.mip_dual_bound) if end != "failed" else None
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return BackendAnswer(end, bound=bound, details=details)
    values = np.array(highs.getSolution().col_value, dtype=np.float64)
    return BackendAnswer(
        end, values[model.blocks["points"]], -info.objective_function_value, bound, details
    )


#: Gurobi's numbers for "no licence" and "the licence does not allow a model of this size".
_NO_LICENSE, _TOO_LARGE = 10009, 10010


class GurobiBackend(Backend):
    """Gurobi by its matrix interface.

    The package that pip installs brings a licence for models of up to 2,000 variables and 2,000
    rows; anything larger is refused with a message that says so.
    """

    name = "Gurobi"
    package = "gurobipy"
    extra = "gurobi"

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
    """For problems with the licence an error that says what to do; else the error itself."""
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
    parameters = {
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
    for name, value in parameters.items():
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
    return _gurobi_answer(gurobi, program, z, model, order)


def _gurobi_bound(value: float) -> float | None:
    return value if abs(value) < 1e100 else None


def _listener(gurobi: Any, z: Any, model: MilpModel, order: Order) -> Any:
    codes, block = gurobi.GRB.Callback, model.blocks["points"]

    def listen(program: Any, where: int) -> None:
        if order.should_stop():
            program.terminate()
        if where == codes.MIPSOL:
            points = np.asarray(program.cbGetSolution(z), dtype=np.float64)[block]
            claimed = program.cbGet(codes.MIPSOL_OBJ)
            order.on_news(News(points, claimed, _gurobi_bound(program.cbGet(codes.MIPSOL_OBJBND))))
        elif where == codes.MIP:
            order.on_news(News(bound=_gurobi_bound(program.cbGet(codes.MIP_OBJBND))))

    return listen


def _gurobi_answer(
    gurobi: Any, program: Any, z: Any, model: MilpModel, order: Order
) -> BackendAnswer:
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
    bound = _gurobi_bound(program.ObjBound)
    block = model.blocks["points"]
    if program.SolCount:
        points = np.asarray(z.X, dtype=np.float64)[block]
        return BackendAnswer(end, points, program.ObjVal, bound, details)
    if order.warm_start is None:
        return BackendAnswer(end, bound=bound, details=details)
    # It was stopped before it had read the warm start, which is then the answer.
    start = order.warm_start.astype(np.float64)
    return BackendAnswer(end, start[block], float(model.objective @ start), bound, details)


BACKENDS: dict[str, Backend] = {"highs": HighsBackend(), "gurobi": GurobiBackend()}


def find_backend(name: str) -> Backend:
    """Return a backend by name, or raise an error that names what is missing."""
    check_option("backend", name, BACKENDS)
    backend = BACKENDS[name]
    backend.require()
    return backend
