"""Compiled kernels: a point vector's gain, and that of all its neighbours along a coordinate.

The *gain* of a point vector is Σ_i max_T (found_i · TP(T) − alarm_i · FP(T)), over the thresholds
that matter, where T runs over the floors of the scores and "none".  The type of ``found`` decides
the arithmetic: int32 or int64, exact, for counts; float64 otherwise.  (Sums of int32 become int64
unless they are told not to; staying narrow doubles the speed, and the layout has made sure that it
is safe.)

A state keeps the histogram of floor-scores of its current points.  For one coordinate:

1. two-valued column: the rows that deviate are counted once, where they are; the gain curves of
   both parts are then added at each shift and maximised;
2. few-valued column: the rows of each value are counted once and their histograms added at each
   shift;
3. other columns: the deviating rows walk from one value to the next and are counted there;
4. wide ranges, where a histogram would be mostly empty: scores are sorted for each value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from netbenefit.solvers.kernels.gains import (
    add,
    copy,
    cumulate,
    fill,
    gain_curve,
    gain_of,
    gain_of_keys,
    highest_sum,
)
from netbenefit.solvers.kernels.jit import inlined, internal, jit
from netbenefit.solvers.kernels.layout import (
    FIRST,
    GROUP,
    HIGH,
    IN_USE,
    LAST,
    LOW,
    LOWER,
    ORIGIN,
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

__all__ = ["coordinate_gains", "gain_now", "move", "pair_gains", "place"]


# -- compiled kernel for two coordinates at once ---------------------------------------------------
# For two columns with two values each, the rows fall into four parts that move as one: by neither
# column, by the first, by the second, by both.  Four gain curves, counted once, give every pair of
# values: the first column's value joins them two by two, the second slides one sum along the other.


@internal
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


@internal
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


#: Gains that a vectorised loop takes at once; the rest would go one by one.
BLOCK = 32


# -- the state -------------------------------------------------------------------------------------


@internal
def _fill_histogram(mass: Array, whole: Array, hist: Array, window: Array) -> None:
    """Count scores anew; the window is centred so that moves have room on both sides."""
    low, high = np.int64(whole[0]), np.int64(whole[0])
    for u in range(whole.size):
        low, high = min(low, whole[u]), max(high, whole[u])
    window[LOW], window[HIGH] = low, high
    window[IN_USE] = 1 if high - low < hist.size else 0
    if window[IN_USE] == 0:
        return
    origin = low - (hist.size - (high - low + 1)) // 2
    window[ORIGIN] = origin
    fill(hist, 0)
    for u in range(whole.size):
        hist[whole[u] - origin] += mass[u]


@jit
def place(columns: Columns, state: State, points: Array) -> None:
    """Set the state to ``points``, from scratch."""
    unit = columns.unit
    whole, part = state.score[WHOLE], state.score[PART]
    fill(whole, 0)
    fill(part, 0)
    for k in range(points.size):
        v = points[k]
        state.points[k] = v
        if v == 0:
            continue
        for e in range(columns.column[k, START], columns.column[k + 1, START]):
            u = columns.rows[e]
            units = part[u] + v * np.int64(columns.steps[PART, e])
            carry = units // unit
            whole[u] += v * columns.steps[WHOLE, e] + carry
            part[u] = units - carry * unit
    _fill_histogram(columns.mass, whole, state.hist, state.window)


@jit
def gain_now(columns: Columns, state: State) -> Any:
    """Gain of the state's own points."""
    window = state.window
    if window[IN_USE] == 1:
        first, last = window[LOW] - window[ORIGIN], window[HIGH] - window[ORIGIN] + 1
        masses = state.work[0, : last - first]
        copy(masses, state.hist[first:last])
        gain = gain_of(masses, columns.gains, state.curves)
        fill(masses, 0)
        return gain
    copy(state.keys[0, : columns.mass.size], state.score[WHOLE])
    return gain_of_keys(state.keys, columns.mass, columns.gains, state.curves)


@jit
def move(columns: Columns, state: State, k: int, points: int) -> None:
    """Give column ``k`` other points; scores and histogram follow."""
    step = points - state.points[k]
    if step == 0:
        return
    state.points[k] = points
    unit, window, hist = columns.unit, state.window, state.hist
    whole, part = state.score[WHOLE], state.score[PART]
    origin, low, high = window[ORIGIN], window[LOW], window[HIGH]
    reach = abs(step) * columns.column[k, REACH]
    inside = window[IN_USE] == 1 and low - reach >= origin and high + reach < origin + hist.size
    for e in range(columns.column[k, START], columns.column[k + 1, START]):
        u = columns.rows[e]
        old = np.int64(whole[u])
        new = old + step * columns.steps[WHOLE, e]
        if unit > 1:
            units = part[u] + step * np.int64(columns.steps[PART, e])
            carry = units // unit
            new += carry
            part[u] = units - carry * unit
        whole[u] = new
        low, high = min(low, new), max(high, new)
        if inside:
            hist[old - origin] -= columns.masses[e]
            hist[new - origin] += columns.masses[e]
    if not inside:
        _fill_histogram(columns.mass, whole, hist, window)
        return
    while low < high and hist[low - origin] == 0:
        low += 1
    while high > low and hist[high - origin] == 0:
        high -= 1
    window[LOW], window[HIGH] = low, high


# -- one coordinate --------------------------------------------------------------------------------


@internal
def _slide(
    still: Array, sliding: Array, size: int, slides: tuple[int, int, int, int], out: Array
) -> None:
    """Add to out[v] the best sum of two gain curves, one of them moved by ``first + v · step``."""
    first, step, left, right = slides
    for v in range(out.size):
        slide = first + v * step
        begin = left + min(0, slide)
        # Both curves end in zeros, so a range may be rounded up to whole vectors.
        end = begin + (size + abs(slide) + BLOCK - 1) // BLOCK * BLOCK
        offset = right - slide
        out[v] += highest_sum(still[begin:end], sliding[begin + offset : end + offset])


@internal
def _count(rows: Array, masses: Array, whole: Array, low: int, even: Array, odd: Array) -> None:
    """Count rows by score, half of them into each array: two additions then run side by side."""
    half = rows.size // 2
    for e in range(half):
        even[np.uintp(whole[rows[e]] - low)] += masses[e]
        odd[np.uintp(whole[rows[half + e]] - low)] += masses[half + e]
    if 2 * half < rows.size:
        even[np.uintp(whole[rows[2 * half]] - low)] += masses[2 * half]


@internal
def _two_valued(columns: Columns, state: State, k: int, out: Array) -> bool:
    """Recipe 1; False, with nothing done, where the frame has no room."""
    group = columns.group[columns.column[k, GROUP]]
    shift = group[SHIFT]
    first = (columns.column[k, LOWER] - state.points[k]) * shift
    last = (columns.column[k, UPPER] - state.points[k]) * shift
    left, right = max(0, -min(first, last)), max(0, max(first, last))
    low = state.window[LOW]
    size = state.window[HIGH] - low + 1
    if 2 * (left + right) + size + BLOCK > state.curves.shape[1] or size > state.hist.size:
        return False
    # 1. Count the rows that deviate; the others are what is left of the histogram.
    moved, rest, whole = state.work[0, :size], state.work[1, :size], state.score[WHOLE]
    first_row, last_row = group[FIRST], group[LAST]
    _count(
        columns.rows[first_row:last_row],
        columns.masses[first_row:last_row],
        whole,
        low,
        moved,
        rest,
    )
    base = low - state.window[ORIGIN]
    for t in range(size):
        moved[t] += rest[t]
        rest[t] = state.hist[base + t] - moved[t]
    tp, fp = state.curves[0, :size], state.curves[1, :size]
    tp1, fp1 = state.curves[2, :size], state.curves[3, :size]
    cumulate(rest, tp, fp)
    cumulate(moved, tp1, fp1)
    fill(moved, 0)
    fill(rest, 0)
    # 2. At each threshold, slide one gain curve along the other.
    still, sliding, both = state.curves[4], state.curves[5], left + right
    for i in range(columns.gains.shape[1]):
        a, b = columns.gains[0, i], columns.gains[1, i]
        gain_curve(still, a, b, tp, fp, left, right + BLOCK)
        gain_curve(sliding, a, b, tp1, fp1, both, both + BLOCK)
        _slide(still, sliding, size, (first, shift, left, right), out)
    return True


@internal
def _few_valued(columns: Columns, state: State, k: int, room: int, out: Array) -> None:
    """Recipe 2: histograms of the groups, added at the shifts of each value."""
    groups = columns.group[columns.column[k, GROUP] : columns.column[k + 1, GROUP]]
    low, whole = state.window[LOW], state.score[WHOLE]
    size = state.window[HIGH] - low + 1
    base = low - state.window[ORIGIN]
    rest, both, stack = state.work[0, :size], state.work[1], state.work[2:].reshape(-1)
    copy(rest, state.hist[base : base + size])
    for g in range(groups.shape[0]):
        own = stack[g * size : (g + 1) * size]
        for e in range(groups[g, FIRST], groups[g, LAST]):
            own[whole[columns.rows[e]] - low] += columns.masses[e]
        for t in range(size):
            rest[t] -= own[t]
    for v in range(out.size):
        step = columns.column[k, LOWER] + v - state.points[k]
        begin, end = room, room + size
        copy(both[begin:end], rest)
        for g in range(groups.shape[0]):
            at = room + step * groups[g, SHIFT]
            begin, end = min(begin, at), max(end, at + size)
            add(both[at : at + size], stack[g * size : (g + 1) * size])
        out[v] = gain_of(both[begin:end], columns.gains, state.curves)
        fill(both[begin:end], 0)
    fill(rest, 0)
    fill(stack[: groups.shape[0] * size], 0)


@internal
def _advance(whole: Array, part: Array, by_whole: Array, by_part: Array, unit: Any) -> None:
    """Move each row by its own step; all of one type, so that the loop becomes vector code."""
    kind = whole.dtype.type
    for e in range(whole.size):
        units = kind(part[e] + by_part[e])
        carry = kind(units >= unit)
        part[e] = kind(units - kind(carry * unit))
        whole[e] = kind(kind(whole[e] + by_whole[e]) + carry)


@internal
def _negate(whole: Array, part: Array, unit: int) -> None:
    """Turn steps into their opposites, with 0 <= part < unit again."""
    for e in range(whole.size):
        borrow = 1 if part[e] > 0 else 0
        whole[e] = -whole[e] - borrow
        part[e] = borrow * unit - part[e]


@internal
def _walk(columns: Columns, state: State, k: int, room: int, out: Array) -> None:
    """Recipe 3: the rows that deviate walk up from the current value, then down."""
    window, own = state.window, state.points[k]
    origin, lower = window[ORIGIN], columns.column[k, LOWER]
    first, last = columns.column[k, START], columns.column[k + 1, START]
    rows, masses = columns.rows[first:last], columns.masses[first:last]
    whole, part = state.walk[WHOLE, : rows.size], state.walk[PART, : rows.size]
    by_whole, by_part = state.walk[2, : rows.size], state.walk[3, : rows.size]
    copy(by_whole, columns.steps[WHOLE, first:last])
    copy(by_part, columns.steps[PART, first:last])
    unit = whole.dtype.type(columns.unit)
    rest, both = state.work[0], state.work[1]
    begin, end = window[LOW] - room - origin, window[HIGH] + room - origin + 1
    copy(rest[begin:end], state.hist[begin:end])
    for e in range(rows.size):
        rest[state.score[WHOLE, rows[e]] - origin] -= masses[e]
    for direction in (1, -1):
        for e in range(rows.size):
            whole[e] = state.score[WHOLE, rows[e]]
            part[e] = state.score[PART, rows[e]]
        n_steps = columns.column[k, UPPER] - own if direction > 0 else own - lower
        for step in range(n_steps + 1):
            if step > 0:
                _advance(whole, part, by_whole, by_part, unit)
            low, high = whole[0], whole[0]
            for e in range(whole.size):
                low, high = min(low, whole[e]), max(high, whole[e])
            a, b = min(low, window[LOW]) - origin, max(high, window[HIGH]) - origin + 1
            copy(both[a:b], rest[a:b])
            for e in range(whole.size):
                both[whole[e] - origin] += masses[e]
            out[own + direction * step - lower] = gain_of(both[a:b], columns.gains, state.curves)
            fill(both[a:b], 0)
        _negate(by_whole, by_part, columns.unit)
    fill(rest[begin:end], 0)


@internal
def _by_sorting(columns: Columns, state: State, k: int, out: Array) -> None:
    """Recipe 4: every value from its own sorted scores."""
    unit, keys = columns.unit, state.keys
    for v in range(out.size):
        step = columns.column[k, LOWER] + v - state.points[k]
        copy(keys[0, : columns.mass.size], state.score[WHOLE])
        for e in range(columns.column[k, START], columns.column[k + 1, START]):
            u = columns.rows[e]
            units = state.score[PART, u] + step * np.int64(columns.steps[PART, e])
            keys[0, u] += step * np.int64(columns.steps[WHOLE, e]) + units // unit
        out[v] = gain_of_keys(keys, columns.mass, columns.gains, state.curves)


@inlined
def coordinate_gains(columns: Columns, state: State, k: int, out: Array) -> None:
    """Gain of every allowed value of column ``k``, all else as it is: out[v - lower]."""
    column, window = columns.column, state.window
    out = out[: column[k, UPPER] - column[k, LOWER] + 1]
    listed = column[k + 1, START] - column[k, START]
    groups = column[k + 1, GROUP] - column[k, GROUP]
    fill(out, 0)
    if window[IN_USE] == 1 and listed > 0:
        if groups == 1 and _two_valued(columns, state, k, out):
            return
        bins, low, high = (
            state.hist.size,
            window[LOW] - window[ORIGIN],
            window[HIGH] - window[ORIGIN],
        )
        size = high - low + 1
        room = column[k, REACH] * max(
            column[k, UPPER] - state.points[k], state.points[k] - column[k, LOWER]
        )
        if 0 < groups * size < min(listed, 2 * bins) and 2 * room + size <= bins:
            _few_valued(columns, state, k, room, out)
            return
        if low - room >= 0 and high + room < bins:
            _walk(columns, state, k, room, out)
            return
    _by_sorting(columns, state, k, out)
