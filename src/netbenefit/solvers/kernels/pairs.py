"""Compiled kernel for two coordinates at once.

For two columns with two values each, the rows fall into four parts that move as one: by neither
column, by the first, by the second, by both.  Four gain curves, counted once, give every pair of
values: the first column's value joins them two by two, the second slides one sum along the other.
"""

from __future__ import annotations

from netbenefit.solvers.kernels.gains import cumulate, gain_curve, highest_sum
from netbenefit.solvers.kernels.jit import inner, jit
from netbenefit.solvers.kernels.layout import (
    FIRST,
    GROUP,
    HIGH,
    IN_USE,
    LAST,
    LOW,
    LOWER,
    ORIGIN,
    SHIFT,
    UPPER,
    WHOLE,
    Array,
    Columns,
    State,
)

__all__ = ["pair_gains"]


@inner
def _split_in_four(columns: Columns, state: State, k: int, j: int, size: int) -> None:
    """Masses by score of the rows that deviate in neither, k only, j only, both: state.work."""
    low, whole, work = state.window[LOW], state.score[WHOLE], state.work
    base = low - state.window[ORIGIN]
    first, second = columns.group[columns.column[k, GROUP]], columns.group[columns.column[j, GROUP]]
    mark = state.keys[4]  # what sorting leaves there is never negative
    for e in range(first[FIRST], first[LAST]):
        mark[columns.rows[e]] = -1
    for e in range(second[FIRST], second[LAST]):
        u = columns.rows[e]
        work[3 if mark[u] == -1 else 2, whole[u] - low] += columns.masses[e]
    for e in range(first[FIRST], first[LAST]):
        u = columns.rows[e]
        work[1, whole[u] - low] += columns.masses[e]
        mark[u] = 0
    for t in range(size):
        work[1, t] -= work[3, t]
        work[0, t] = state.hist[base + t] - work[1, t] - work[2, t] - work[3, t]


@inner
def _sum_shifted(out: Array, still: Array, moved: Array, offset: int) -> None:
    for t in range(out.size):
        out[t] = still[t] + moved[t + offset]


@jit
def pair_gains(columns: Columns, state: State, k: int, j: int, out: Array) -> bool:
    """Gain of every allowed pair of values of columns k ≠ j: out[v_k − lower_k, v_j − lower_j].

    Only for two columns with two values each, whose scores have a histogram and whose frames have
    room: otherwise nothing is done and False returned.
    """
    column, points = columns.column, state.points
    if (
        state.window[IN_USE] == 0
        or column[k + 1, GROUP] - column[k, GROUP] != 1
        or column[j + 1, GROUP] - column[j, GROUP] != 1
    ):
        return False
    shift_k = columns.group[column[k, GROUP], SHIFT]
    shift_j = columns.group[column[j, GROUP], SHIFT]
    n_k = column[k, UPPER] - column[k, LOWER] + 1
    n_j = column[j, UPPER] - column[j, LOWER] + 1
    size = state.window[HIGH] - state.window[LOW] + 1
    pad_k = abs(shift_k) * max(column[k, UPPER] - points[k], points[k] - column[k, LOWER])
    pad_j = abs(shift_j) * max(column[j, UPPER] - points[j], points[j] - column[j, LOWER])
    pad = pad_k + pad_j
    if size + 4 * pad > state.curves.shape[1]:
        return False
    # 1. Gain curves of the four parts, at one threshold after the other.
    _split_in_four(columns, state, k, j, size)
    counts = state.curves[6:, :size]
    for part in range(4):
        masses = state.work[part, :size]
        cumulate(masses, counts[2 * part], counts[2 * part + 1])
        for t in range(size):
            masses[t] = 0
    for v in range(n_k):
        for w in range(n_j):
            out[v, w] = 0
    frame = size + 2 * pad
    curves = state.curves
    for i in range(columns.gains.shape[1]):
        a, b = columns.gains[0, i], columns.gains[1, i]
        for part in range(4):
            gain_curve(curves[part], a, b, counts[2 * part], counts[2 * part + 1], 2 * pad, 2 * pad)
        # 2. Join the parts that column k moves to those that it does not.
        for v in range(n_k):
            slide = (column[k, LOWER] + v - points[k]) * shift_k
            # Without column j's deviations, over the frame; with them, over the frame and pad_j.
            _sum_shifted(curves[4, :frame], curves[0, pad:], curves[1], pad - slide)
            _sum_shifted(
                curves[5, : frame + 2 * pad_j], curves[2, pad_k:], curves[3], pad_k - slide
            )
            # 3. Slide one along the other for the values of column j.
            for w in range(n_j):
                slide_j = (column[j, LOWER] + w - points[j]) * shift_j
                out[v, w] += highest_sum(curves[4, :frame], curves[5, pad_j - slide_j :])
    return True
