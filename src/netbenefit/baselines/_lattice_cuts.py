"""Lattice cutting planes with one integer program for HiGHS, solved again after every new plane.

1. The program: whole coefficients, a yes-or-no variable for each that says whether it is used, and
   a loss that may not lie below any plane known so far.  The first planes are those at the
   relaxation's minimiser and at the best coefficients.
2. HiGHS solves it from the best coefficients; its bound, less a margin for its tolerances, bounds
   the whole problem.
3. Its answer is counted from the data, polished, and counted again; the planes at both join the
   program.  An answer whose plane was there already ends the loop.

HiGHS runs in a thread of its own, so that Ctrl-C is heard.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
from scipy import sparse

from netbenefit._highs import linear_program, quiet_highs
from netbenefit._validation import FloatArray, IntArray
from netbenefit.baselines._lattice_problem import Lattice, Search

__all__ = ["cutting_planes", "plane"]

#: What HiGHS's own tolerances may add to its bound, for columns of a mean size of 1: it holds rows
#: and whole numbers to _TIGHT.
_MARGIN = 1e-7
_TIGHT = 1e-9
#: Seconds between two looks at the clock while HiGHS works.
_LOOK = 0.05


def plane(lattice: Lattice, w: FloatArray) -> tuple[FloatArray, float]:
    """Slope g and offset c of the tangent plane at w: the loss of v is at least g·v + c.

    Examples
    --------
    >>> half = np.array([0.5])
    >>> box = np.array([5])
    >>> lattice = Lattice(np.ones((1, 1)), half, half, -box, box, np.zeros(1), 0)
    >>> slope, offset = plane(lattice, np.array([0.0]))
    >>> float(slope[0]), round(offset, 4)
    (0.0, 0.6931)
    """
    t = lattice.z @ w
    small = np.exp(-np.abs(t))
    loss = (lattice.a + lattice.b) @ np.log1p(small)
    loss += lattice.a @ np.maximum(-t, 0.0) + lattice.b @ np.maximum(t, 0.0)
    risk = np.where(t > 0, 1.0, small) / (1.0 + small)
    rest = np.where(t > 0, small, 1.0) / (1.0 + small)
    slope: FloatArray = (lattice.b * risk - lattice.a * rest) @ lattice.z
    return slope, float(loss - slope @ w)


def cutting_planes(
    search: Search, relaxed: FloatArray, low: IntArray, high: IntArray, max_rounds: float = math.inf
) -> None:
    """Steps 1 to 3, over the box low … high, until proof, time or rounds end it."""
    assert search.best is not None
    lattice, p = search.lattice, low.size
    solver = quiet_highs(
        mip_feasibility_tolerance=_TIGHT,
        primal_feasibility_tolerance=_TIGHT,
        dual_feasibility_tolerance=_TIGHT,
        mip_rel_gap=0.0,
        mip_abs_gap=_TIGHT,
    )
    solver.passModel(_program(lattice, low, high))
    wide = np.maximum(np.abs(low), np.abs(high)).astype(np.float64)
    margin = _MARGIN * (1.0 + float(lattice.size.max()))
    margin += lattice.rounding(search.value, wide, low, high)
    known: set[tuple[int, ...]] = set()
    _add(solver, lattice, relaxed)
    first = search.best
    _add(solver, lattice, first.astype(np.float64))
    known.add(tuple(first.tolist()))
    rounds = 0
    while rounds < max_rounds and not search.out_of_time and not search.proven:
        rounds += 1
        _start(solver, lattice, search.best)
        if math.isfinite(search.time_limit):
            left = search.time_limit - search.seconds
            solver.setOptionValue("time_limit", solver.getRunTime() + max(0.05, left))
        _run(solver, search)
        info = solver.getInfo()
        if math.isfinite(info.mip_dual_bound):
            search.raise_bound(info.mip_dual_bound - margin, "cutting planes")
        values = np.array(solver.getSolution().col_value)
        if values.size < p:
            break
        found = np.clip(np.round(values[:p]).astype(np.int64), low, high)
        fresh = tuple(found.tolist()) not in known
        search.offer(found, "cutting planes")
        for w in (found, lattice.polish(found) if lattice.allows(found) else found):
            search.offer(w, "cutting planes")
            if tuple(w.tolist()) not in known:
                known.add(tuple(w.tolist()))
                _add(solver, lattice, w.astype(np.float64))
        if not fresh:
            break


def _program(lattice: Lattice, low: IntArray, high: IntArray) -> Any:
    """Step 1 without planes: columns are coefficients, uses (one a coefficient) and the loss."""
    import highspy

    p = low.size
    use = np.eye(p)
    nothing = np.zeros((p, 1))
    counted = np.concatenate([np.zeros(p), [0.0], np.ones(p - 1), [0.0]])
    rows = np.vstack(
        [
            np.hstack([np.eye(p), -use * high, nothing]),
            np.hstack([np.eye(p), -use * low, nothing]),
            counted,
        ]
    )
    none = np.full(p, np.inf)
    # whether the intercept, or one that cannot be zero, is used is no question
    forced = (np.arange(p) == 0) | (low > 0) | (high < 0)
    program = linear_program(
        sparse.csr_array(rows),
        cost=np.concatenate([np.zeros(p), lattice.price, [1.0]]),
        lower=np.concatenate([low, forced, [0.0]]).astype(np.float64),
        upper=np.concatenate([high, np.ones(p), [np.inf]]).astype(np.float64),
        row_lower=np.concatenate([-none, np.zeros(p), [-np.inf]]),
        row_upper=np.concatenate([np.zeros(p), none, [float(lattice.most)]]),
    )
    kinds = highspy.HighsVarType
    program.integrality_ = [kinds.kInteger] * (2 * p) + [kinds.kContinuous]
    return program


def _add(solver: Any, lattice: Lattice, w: FloatArray) -> None:
    """Add the plane at w: loss − g·v ≥ c."""
    slope, offset = plane(lattice, w)
    at = np.flatnonzero(slope)
    columns = np.append(at, 2 * w.size).astype(np.int32)
    values = np.append(-slope[at], 1.0)
    solver.addRow(offset, np.inf, columns.size, columns, values)


def _start(solver: Any, lattice: Lattice, w: IntArray) -> None:
    """Step 2: begin at w."""
    import highspy

    solution = highspy.HighsSolution()
    loss = lattice.value(w) - float(lattice.price[w != 0].sum())
    used = (w != 0).astype(np.float64)
    used[0] = 1.0
    solution.col_value = [*w.astype(np.float64), *used, loss]
    solver.setSolution(solution)


def _run(solver: Any, search: Search) -> None:
    """Let HiGHS work, in a thread; Ctrl-C ends it, and is passed on once it has ended."""
    stop, done = threading.Event(), threading.Event()

    def interrupt(event: Any) -> None:
        if stop.is_set():
            event.interrupt()

    def work() -> None:
        try:
            solver.run()
        finally:
            done.set()

    solver.cbMipInterrupt.subscribe(interrupt)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while not done.wait(_LOOK):
            search.tell()
            if search.seconds > search.time_limit + 1.0:
                stop.set()
    except KeyboardInterrupt:
        stop.set()
        done.wait()
        raise
    finally:
        solver.cbMipInterrupt.unsubscribe(interrupt)
