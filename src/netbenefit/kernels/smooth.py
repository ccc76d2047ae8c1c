"""Compiled kernels of S, the smooth part of the objective (see :mod:`netbenefit.kernels.logistic`).

Two questions are asked, again and again:

* ``settle``: what is S at the present points?  The link is fitted anew, from where it was, by
  Newton's method on the masses at each score.
* ``add_smooth``: what would S be at every value of one column?  With the present link at hand, the
  sums that make up S, and its first and second derivatives along the link, change only by the rows
  that move.  One Newton step of the link, and S to second order along it, is the estimate: equal to
  S where nothing moves, close to it where little does.  Who goes to a value settles there.

``smooth`` is None for problems without this part, and then nothing of it is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from netbenefit.kernels._jit import inner, jit
from netbenefit.kernels.layout import (
    FIRST,
    GROUP,
    HIGH,
    IN_USE,
    LAST,
    LOW,
    LOWER,
    PART,
    REACH,
    SHIFT,
    START,
    UPPER,
    WHOLE,
    Array,
    Columns,
    State,
)
from netbenefit.kernels.link import (
    BASE,
    CENTRE,
    END,
    FILLED,
    INTERCEPT,
    SLOPE,
    SPREAD,
    Smooth,
    collect,
    put,
    risk_at,
    settle_link,
    take,
)
from netbenefit.kernels.logistic import RIDGE

__all__ = ["add_smooth", "settle", "settled", "smooth_part"]

# -- all values of one column ----------------------------------------------------------------------


@inner
def _cover(smooth: Smooth, low: int, high: int) -> bool:
    """Have the table hold all scores from low to high; False where it has no room."""
    table, span, link = smooth.table, smooth.span, smooth.link
    size = table.shape[1]
    if span[FILLED] == span[END]:
        span[BASE] = low - (size - (high - low + 1)) // 2
        span[FILLED] = span[END] = low - span[BASE]
    first, last = low - span[BASE], high - span[BASE] + 1
    if first < 0 or last > size:
        return False
    for t in range(first, span[FILLED]):
        eta = link[INTERCEPT] + link[SLOPE] * (t + span[BASE] - link[CENTRE])
        table[0, t], table[1, t] = risk_at(eta)
    for t in range(span[END], last):
        eta = link[INTERCEPT] + link[SLOPE] * (t + span[BASE] - link[CENTRE])
        table[0, t], table[1, t] = risk_at(eta)
    span[FILLED], span[END] = min(first, span[FILLED]), max(last, span[END])
    return True


@inner
def _sums(smooth: Smooth, first: int, last: int, offset: int, tabled: bool) -> Any:
    """S of some cells, moved by an offset, with its derivatives, and those of the likelihood."""
    at, n, a = smooth.at, smooth.mass[0], smooth.mass[1]
    link, table, base = smooth.link, smooth.table, smooth.span[BASE]
    s = g0 = g1 = h00 = h01 = h11 = u0 = u1 = v00 = v01 = v11 = 0.0
    for c in range(first, last):
        score = at[c] + offset
        x = score - link[CENTRE]
        if tabled:
            q, rest = table[0, score - base], table[1, score - base]
        else:
            q, rest = risk_at(link[INTERCEPT] + link[SLOPE] * x)
        weight = q * (1.0 - q)
        miss, info, bend = a[c] - n[c] * q, n[c] * weight, weight * (a[c] - 2.0 * n[c] * q)
        s += n[c] * q + (n[c] - a[c]) * rest
        g0 += miss
        g1 += miss * x
        h00 += info
        h01 += info * x
        h11 += info * x * x
        u0 += q * miss
        u1 += q * miss * x
        v00 += bend
        v01 += bend * x
        v11 += bend * x * x
    return s, g0, g1, h00, h01, h11, u0, u1, v00, v01, v11


@inner
def _plus(x: Any, y: Any, sign: float) -> Any:
    return (
        x[0] + sign * y[0],
        x[1] + sign * y[1],
        x[2] + sign * y[2],
        x[3] + sign * y[3],
        x[4] + sign * y[4],
        x[5] + sign * y[5],
        x[6] + sign * y[6],
        x[7] + sign * y[7],
        x[8] + sign * y[8],
        x[9] + sign * y[9],
        x[10] + sign * y[10],
    )


@inner
def _stepped(smooth: Smooth, sums: Any) -> Any:
    """S after one Newton step of the link, to second order in that step."""
    s, g0, g1, h00, h01, h11, u0, u1, v00, v01, v11 = sums
    slope, spread = smooth.link[SLOPE], smooth.link[SPREAD]
    if spread == 0.0:
        spread = 1.0
    ridge = RIDGE * spread * spread
    g1 -= ridge * slope
    h11 += ridge
    det = h00 * h11 - h01 * h01
    if not (det > 0.0 and h00 > 0.0):
        return s
    d0, d1 = (h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det
    if slope + d1 < 0.0:  # a link never falls
        d1 = -slope
        d0 = (g0 - h01 * d1) / h00
    size = max(abs(d0), abs(d1) * spread)
    if size > 1.0:  # beyond this, two orders say little
        d0, d1 = d0 / size, d1 / size
    first = u0 * d0 + u1 * d1
    return s + first + 0.5 * (v00 * d0 * d0 + 2.0 * v01 * d0 * d1 + v11 * d1 * d1)


@inner
def _gather_groups(columns: Columns, state: State, smooth: Smooth, k: int, ends: Array) -> Any:
    """Cells of the rows that deviate in column k, group by group; return how many."""
    low, whole, hist = state.window[LOW], state.score[WHOLE], state.work[0]
    size = state.window[HIGH] - low + 1
    count = 0
    for g in range(columns.column[k, GROUP], columns.column[k + 1, GROUP]):
        for e in range(columns.group[g, FIRST], columns.group[g, LAST]):
            hist[whole[columns.rows[e]] - low] += columns.masses[e]
        count = take(smooth, hist[:size], low, count)
        ends[g - columns.column[k, GROUP]] = count
    return count


@inner
def _list_groups(
    columns: Columns, state: State, smooth: Smooth, k: int, rest: Any, tabled: bool
) -> None:
    """Few groups of equal deviations: each moves as one."""
    first_group, last_group = columns.column[k, GROUP], columns.column[k + 1, GROUP]
    ends = state.keys[4]  # as long as there are rows, so as groups
    count = _gather_groups(columns, state, smooth, k, ends)
    rest = _plus(rest, _sums(smooth, 0, count, 0, tabled), -1.0)
    lower = columns.column[k, LOWER]
    for v in range(columns.column[k, UPPER] - lower + 1):
        step = lower + v - state.points[k]
        sums, first = rest, 0
        for g in range(first_group, last_group):
            last = ends[g - first_group]
            offset = step * columns.group[g, SHIFT]
            sums = _plus(sums, _sums(smooth, first, last, offset, tabled), 1.0)
            first = last
        smooth.listed[v] = smooth.weight[0] * _stepped(smooth, sums)


@inner
def _list_rows(
    columns: Columns, state: State, smooth: Smooth, k: int, rest: Any, tabled: bool
) -> None:
    """Each row that deviates moves by itself."""
    start, end = columns.column[k, START], columns.column[k + 1, START]
    lower, base = columns.column[k, LOWER], smooth.span[BASE] + smooth.span[FILLED]
    size = smooth.span[END] - smooth.span[FILLED]
    counted = tabled and size < end - start  # many rows a score: count them first
    hist = state.work[0]
    for v in range(-1, columns.column[k, UPPER] - lower + 1):
        # First where they are, to take them out of the sums; then at every value.
        step = 0 if v < 0 else lower + v - state.points[k]
        for e in range(start, end):
            u = columns.rows[e]
            units = np.int64(state.score[PART, u]) + step * np.int64(columns.steps[PART, e])
            score = np.int64(state.score[WHOLE, u]) + step * np.int64(columns.steps[WHOLE, e])
            score += units // columns.unit
            if counted:
                hist[score - base] += columns.masses[e]
            else:
                put(smooth, e - start, score, columns.masses[e])
        count = end - start
        if counted:
            count = take(smooth, hist[:size], base, 0)
        sums = _sums(smooth, 0, count, 0, tabled)
        if v < 0:
            rest = _plus(rest, sums, -1.0)
        else:
            smooth.listed[v] = smooth.weight[0] * _stepped(smooth, _plus(rest, sums, 1.0))


@inner
def _list(columns: Columns, state: State, smooth: Smooth, k: int) -> None:
    """Estimate S at every value of column k: smooth.listed."""
    column, window = columns.column, state.window
    low, high = window[LOW], window[HIGH]
    size = high - low + 1
    room = column[k, REACH] * max(
        column[k, UPPER] - state.points[k], state.points[k] - column[k, LOWER]
    )
    tabled = window[IN_USE] == 1 and _cover(smooth, low - room, high + room)
    rest = _sums(smooth, 0, collect(columns, state, smooth), 0, tabled)
    groups = column[k + 1, GROUP] - column[k, GROUP]
    listed = column[k + 1, START] - column[k, START]
    if window[IN_USE] == 1 and groups > 0 and groups * size <= max(size, listed):
        _list_groups(columns, state, smooth, k, rest, tabled)
    else:
        _list_rows(columns, state, smooth, k, rest, tabled)


# -- ways in ---------------------------------------------------------------------------------------
# Each of them twice: for problems with a smooth part, and for those without, whose code and types
# stay as they are.  (numba compares argument names of a function and its stand-ins.)


def add_smooth(columns: Any, state: Any, smooth: Any, k: int, out: Any) -> None:
    """Add the estimated smooth part to the objectives of column k's values, in compiled code."""
    raise TypeError("add_smooth() works in compiled code only")


def smooth_part(columns: Any, state: Any, smooth: Any) -> Any:
    """Fit the link to the state's points and return the smooth part, in compiled code."""
    raise TypeError("smooth_part() works in compiled code only")


def settled(columns: Any, state: Any, smooth: Any, v: int, value: Any) -> Any:
    """Put the smooth part in place of the estimate in the v-th objective, in compiled code."""
    raise TypeError("settled() works in compiled code only")


def _add_nothing(columns, state, smooth, k, out):  # type: ignore[no-untyped-def]
    pass


def _add_listed(columns, state, smooth, k, out):  # type: ignore[no-untyped-def]
    _list(columns, state, smooth, k)
    for v in range(columns.column[k, UPPER] - columns.column[k, LOWER] + 1):
        out[v] += smooth.listed[v]


def _no_part(columns, state, smooth):  # type: ignore[no-untyped-def]
    return 0


def _own_part(columns, state, smooth):  # type: ignore[no-untyped-def]
    return settle_link(columns, state, smooth)


def _keep_value(columns, state, smooth, v, value):  # type: ignore[no-untyped-def]
    return value


def _settle_value(columns, state, smooth, v, value):  # type: ignore[no-untyped-def]
    return value - smooth.listed[v] + settle_link(columns, state, smooth)


def _choose_add(columns, state, smooth, k, out):  # type: ignore[no-untyped-def]
    return _add_nothing if isinstance(smooth, types.NoneType) else _add_listed


def _choose_part(columns, state, smooth):  # type: ignore[no-untyped-def]
    return _no_part if isinstance(smooth, types.NoneType) else _own_part


def _choose_settled(columns, state, smooth, v, value):  # type: ignore[no-untyped-def]
    return _keep_value if isinstance(smooth, types.NoneType) else _settle_value


overload(add_smooth)(_choose_add)
overload(smooth_part)(_choose_part)
overload(settled)(_choose_settled)


@jit
def settle(columns: Columns, state: State, smooth: Smooth) -> Any:
    """Fit the link to the state's points; return what S is worth there."""
    return settle_link(columns, state, smooth)
