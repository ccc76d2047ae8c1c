"""Compiled kernels: a point vector's gain, and that of all its neighbours along a coordinate.

The *gain* of a point vector is Σ_i max_T (found_i · TP(T) − alarm_i · FP(T)), over the thresholds
that matter, where T runs over the floors of the scores and "none".  The type of ``found`` decides
the arithmetic: int32 or int64, exact, for counts; float64 otherwise.  (numba turns sums of int32
into int64 unless they are cast; staying narrow doubles the speed, and the layout makes it safe.)

A state keeps the histogram of floor-scores of its current points.  For one coordinate:

1. two-valued column: the rows that deviate are counted once, where they are; the gain curves of
   both parts are then added at each shift and maximised;
2. few-valued column: the rows of each value are counted once and their histograms added at each
   shift;
3. other columns: the deviating rows walk from one value to the next and are counted there;
4. wide ranges, where a histogram would be mostly empty: scores are sorted for each value.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from netbenefit.common import IntArray
from netbenefit.problem import Problem
from netbenefit.solvers.kernels.jit import inlined, lean, lean_internal, negatives, positives

# -- arrays that the compiled kernels work on ------------------------------------------------------
# Scores are stored as ``whole * unit + part`` with ``0 <= part < unit``: exact integers.  The floor
# of a score is ``whole``, without a division in a hot loop.  ``unit`` is 1 for integer data, 10,
# 100, … where a column has decimals.
# Each column is shifted by its most frequent whole value, which moves every score by the same
# integer and so changes no comparison, and only the rows that deviate are listed.  A 0/1 column
# thus costs the rarer of its two values, whichever that is.


Array = NDArray[Any]

#: Bins of a histogram of scores per pattern; with more, sorting is faster.
_BINS_PER_PATTERN = 8
_LEAST_BINS = 4096
#: Counts below this fit in half an int64.
_PACK_LIMIT = 2**31


class Columns(NamedTuple):
    """The data of a problem; never written to, shared by all threads.

    With n patterns, P columns, m thresholds that matter, E listed deviations, and G groups of equal
    deviations within a column.  Few, wide arrays: each array in an argument costs compilation time.
    """

    mass: Array  #: (n,) positives and negatives of a pattern, packed
    gains: Array  #: (2, m) worth of one event found, cost of one false alarm
    column: Array  #: (P + 1, 5) START, GROUP, REACH, LOWER, UPPER of a column
    group: Array  #: (G, 3) FIRST, LAST, SHIFT of a group
    rows: Array  #: (E,) pattern of a deviation
    masses: Array  #: (E,) mass of that pattern
    steps: Array  #: (2, E) WHOLE and PART of a deviation, 0 <= part < unit
    unit: int  #: units in one point
    #: None where no column has more than two values and all scores fit a histogram: recipe 1 does
    mixed: bool | None


# What the fields of Columns.column mean …
START = 0  #: where the column's deviations start; they end where the next column's start
GROUP = 1  #: where its groups start; a column with fractions has none
REACH = 2  #: how far one point can move a whole score
LOWER = 3  #: smallest allowed points
UPPER = 4  #: largest allowed points
# … of Columns.group …
FIRST, LAST, SHIFT = 0, 1, 2
# … of Columns.steps, State.score and State.walk …
WHOLE, PART = 0, 1
# … and of State.window.
ORIGIN = 0  #: the score that hist[0] counts
LOW, HIGH = 1, 2  #: lowest and highest score
IN_USE = 3  #: 1 while hist counts the scores, 0 where their range is too wide


class State(NamedTuple):
    """Scores and histogram of one point vector, with work space; one per thread."""

    points: Array  #: (P,)
    score: Array  #: (2, n) WHOLE (the floor, up to a constant) and PART
    hist: Array  #: (bins,) mass at a score
    window: Array  #: (4,) ORIGIN, LOW, HIGH, IN_USE
    work: Array  #: (4, bins) work space for masses by score; zero between calls
    curves: Array  #: (14, frame) work space for counts and gains by score
    keys: Array  #: (5, at least n) work space for sorting: keys, keys, rows, rows, counts
    walk: Array  #: (4, n) work space for moving rows: WHOLE, PART, and their steps


def pack_masses(positives: Array, negatives: Array) -> Array:
    """Pack counts into one int64 each; real weights and huge counts into a complex number."""
    whole = positives.dtype.kind in "iu" and negatives.dtype.kind in "iu"
    if whole and positives.sum() < _PACK_LIMIT and negatives.sum() < _PACK_LIMIT:
        return (positives.astype(np.int64) << 32) + negatives.astype(np.int64)
    return positives.astype(np.float64) + 1j * negatives.astype(np.float64)


def make_columns(
    codes: IntArray,
    decimals: tuple[int, ...],
    mass: Array,
    found: Array,
    alarm: Array,
    lower: IntArray,
    upper: IntArray,
) -> Columns:
    """Lay out patterns for the kernels.

    ``codes`` (n, P) int64 are in steps of 10 ** -decimals[k], ``mass`` (n,) is packed
    (:func:`pack_masses`), ``found`` and ``alarm`` (m,) are the value of an event and the cost of a
    false alarm (int64 or float64), ``lower`` and ``upper`` (P,) the allowed points.
    """
    n_columns = codes.shape[1]
    digits = max(decimals, default=0)
    unit = 10**digits
    lists = [
        _deviations(codes[:, k] * 10 ** (digits - decimals[k]), unit) for k in range(n_columns)
    ]
    start = np.concatenate([[0], np.cumsum([entry[0].size for entry in lists])]).astype(np.int64)
    rows, whole, part = (_joined([entry[i] for entry in lists]) for i in range(3))
    group_start, group = _groups(start, whole, part)
    column = np.zeros((n_columns + 1, 5), dtype=np.int64)
    column[:, START], column[:, GROUP] = start, group_start
    column[:-1, LOWER], column[:-1, UPPER] = lower, upper
    column[:-1, REACH] = [int(np.abs(w).max(initial=0)) + int(p.any()) for _, w, p in lists]
    score_type = np.int32 if max(farthest(column), 2 * unit) < 2**30 else np.int64
    return Columns(
        mass=mass,
        gains=np.stack([found, alarm]),
        column=column,
        group=group,
        rows=rows.astype(np.uint32),  # unsigned: no check for negative indices
        masses=mass[rows],
        steps=np.stack([whole, part]).astype(score_type),
        unit=unit,
        mixed=None if _is_narrow(column, mass.size) else True,
    )


def _is_narrow(column: Array, n_patterns: int) -> bool:
    """Whether no column has more than two values, and every range of scores fits a histogram."""
    return bool((np.diff(column[:, GROUP]) == 1).all()) and _span(column) <= _most_bins(n_patterns)


#: Tables are laid out once per problem.
_LAID_OUT: WeakKeyDictionary[Problem, Columns] = WeakKeyDictionary()


def columns_of(problem: Problem) -> Columns:
    """Lay out a problem's patterns for the kernels."""
    columns = _LAID_OUT.get(problem)
    if columns is None:
        table = problem.patterns
        mass = pack_masses(table.positives, table.negatives)
        found, alarm = problem.gains
        columns = make_columns(
            table.codes, table.decimals, mass, found, alarm, problem.lower, problem.upper
        )
        _LAID_OUT[problem] = columns
    return columns


def farthest(column: Array) -> int:
    """How far from 0 (up to the constant shift) a whole score can be."""
    most = np.maximum(np.abs(column[:, LOWER]), np.abs(column[:, UPPER]))
    return int((most * column[:, REACH]).sum())


def _span(column: Array) -> int:
    """How many scores there can be."""
    return 2 * farthest(column) + 2


def _most_bins(n_patterns: int) -> int:
    return max(_LEAST_BINS, _BINS_PER_PATTERN * n_patterns)


def make_state(columns: Columns) -> State:
    """Allocate a state; the kernel ``place`` fills it for a point vector."""
    n = columns.mass.size
    bins = min(_span(columns.column), _most_bins(n))
    return State(
        points=np.zeros(columns.column.shape[0] - 1, dtype=np.int64),
        score=np.zeros((2, n), dtype=columns.steps.dtype),
        hist=np.zeros(bins, dtype=columns.mass.dtype),
        window=np.zeros(4, dtype=np.int64),
        work=np.zeros((4, bins), dtype=columns.mass.dtype),
        curves=np.zeros((14, max(3 * bins, n) + 64), dtype=columns.gains.dtype),
        keys=np.zeros((5, max(n, 2049)), dtype=np.int64),
        walk=np.zeros((4, n), dtype=columns.steps.dtype),
    )


def _deviations(units: IntArray, unit: int) -> tuple[IntArray, IntArray, IntArray]:
    """Rows off the most frequent whole value, ordered by how far they are off."""
    values, counts = np.unique(units, return_counts=True)
    is_whole = values % unit == 0
    base = int(values[is_whole][np.argmax(counts[is_whole])]) if is_whole.any() else 0
    off = units - base
    rows = np.flatnonzero(off)
    rows = rows[np.argsort(off[rows], kind="stable")]
    return rows, off[rows] // unit, off[rows] % unit


def _groups(start: IntArray, whole: IntArray, part: IntArray) -> tuple[list[int], IntArray]:
    """Runs of equal deviations in whole-number columns; constant ones have an empty run."""
    group_start = [0]
    groups: list[tuple[int, int, int]] = []
    for first, last in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        if first == last:
            groups.append((first, last, 0))
        elif not part[first:last].any():
            cuts = [first, *(first + 1 + np.flatnonzero(np.diff(whole[first:last]))).tolist()]
            groups.extend(zip(cuts, [*cuts[1:], last], whole[cuts].tolist(), strict=True))
        group_start.append(len(groups))
    return group_start, np.array(groups, dtype=np.int64).reshape(-1, 3)


def _joined(parts: list[IntArray]) -> IntArray:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


# -- whole-array steps: loops compile far faster than array expressions ----------------------------


@lean_internal
def fill(target: Array, value: Any) -> None:
    """Set every cell."""
    for t in range(target.size):
        target[t] = value


@lean_internal
def copy(target: Array, source: Array) -> None:
    """Copy as many cells as the target has."""
    for t in range(target.size):
        target[t] = source[t]


@lean_internal
def add(target: Array, source: Array) -> None:
    """Add cell by cell."""
    for t in range(target.size):
        target[t] += source[t]


# -- gains of counts -------------------------------------------------------------------------------


@lean_internal
def cumulate(masses: Array, tp: Array, fp: Array) -> None:
    """Positives and negatives at or above each score; ``masses`` is overwritten."""
    above = masses[0] - masses[0]
    for t in range(masses.size - 1, -1, -1):
        above += masses[t]
        masses[t] = above
    for t in range(masses.size):
        tp[t] = positives(masses[t])
        fp[t] = negatives(masses[t])


@lean_internal
def best_gains(tp: Array, fp: Array, gains: Array) -> Any:
    """Σ_i max(0, max_t found_i tp_t − alarm_i fp_t)."""
    kind = gains.dtype.type
    total = gains[0, 0] - gains[0, 0]
    for i in range(gains.shape[1]):
        a, b = gains[0, i], gains[1, i]
        best = kind(0)
        for t in range(tp.size):
            gain = kind(kind(a * tp[t]) - kind(b * fp[t]))
            if gain > best:
                best = gain
        total += best
    return total


@lean_internal
def gain_of(masses: Array, gains: Array, curves: Array) -> Any:
    """Gain of masses by score; ``masses`` is overwritten."""
    tp, fp = curves[0, : masses.size], curves[1, : masses.size]
    cumulate(masses, tp, fp)
    return best_gains(tp, fp, gains)


@lean_internal
def sort_keys(keys: Array, n: int) -> int:
    """Radix-sort keys[0]; sorted keys and where they were are in rows 0, 2 or 1, 3: the side."""
    low, high = keys[0, 0], keys[0, 0]
    for j in range(n):
        low, high = min(low, keys[0, j]), max(high, keys[0, j])
        keys[2, j] = j
    counts = keys[4]
    side, shift = 0, 0
    while shift == 0 or ((high - low) >> shift) > 0:
        fill(counts, 0)
        for j in range(n):
            counts[(((keys[side, j] - low) >> shift) & 2047) + 1] += 1
        for digit in range(2048):
            counts[digit + 1] += counts[digit]
        for j in range(n):
            digit = ((keys[side, j] - low) >> shift) & 2047
            target = counts[digit]
            counts[digit] += 1
            keys[1 - side, target] = keys[side, j]
            keys[3 - side, target] = keys[2 + side, j]
        side = 1 - side
        shift += 11
    return side


@lean_internal
def cumulate_keys(mass: Array, keys: Array, side: int, tp: Array, fp: Array) -> Any:
    """Positives and negatives at or above each sorted score, from the highest; how many scores."""
    n = mass.size
    above = mass[0] - mass[0]
    size = 0
    for back in range(n):
        j = n - 1 - back
        above += mass[keys[2 + side, j]]
        if j == 0 or keys[side, j - 1] != keys[side, j]:
            tp[size] = positives(above)
            fp[size] = negatives(above)
            size += 1
    return size


@lean_internal
def gain_of_keys(keys: Array, mass: Array, gains: Array, curves: Array) -> Any:
    """Gain of the scores in keys[0], whatever their range."""
    side = sort_keys(keys, mass.size)
    size = cumulate_keys(mass, keys, side, curves[0], curves[1])
    return best_gains(curves[0, :size], curves[1, :size], gains)


@lean_internal
def gain_curve(out: Array, a: Any, b: Any, tp: Array, fp: Array, left: int, right: int) -> None:
    """Gain by score: constant for ``left`` cells below the lowest score, 0 above the highest."""
    size = tp.size
    kind = out.dtype.type
    fill(out[:left], a * tp[0] - b * fp[0])
    body = out[left : left + size]
    for t in range(size):
        body[t] = kind(kind(a * tp[t]) - kind(b * fp[t]))
    fill(out[left + size : left + size + right], 0)


@lean_internal
def highest_sum(x: Array, y: Array) -> Any:
    """max(0, max_t x_t + y_t)."""
    kind = x.dtype.type
    best = kind(0)
    for t in range(x.size):
        both = kind(x[t] + y[t])
        if both > best:
            best = both
    return best


# -- compiled kernel for two coordinates at once ---------------------------------------------------
# For two columns with two values each, the rows fall into four parts that move as one: by neither
# column, by the first, by the second, by both.  Four gain curves, counted once, give every pair of
# values: the first column's value joins them two by two, the second slides one sum along the other.


@lean_internal
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


@lean_internal
def _sum_shifted(out: Array, still: Array, moved: Array, offset: int) -> None:
    for t in range(out.size):
        out[t] = still[t] + moved[t + offset]


@lean
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


@lean_internal
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


@lean
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


@lean
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


@lean
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


@lean_internal
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


@lean_internal
def _count(rows: Array, masses: Array, whole: Array, low: int, even: Array, odd: Array) -> None:
    """Count rows by score, half of them into each array: two additions then run side by side."""
    half = rows.size // 2
    for e in range(half):
        even[np.uintp(whole[rows[e]] - low)] += masses[e]
        odd[np.uintp(whole[rows[half + e]] - low)] += masses[half + e]
    if 2 * half < rows.size:
        even[np.uintp(whole[rows[2 * half]] - low)] += masses[2 * half]


@lean_internal
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
    rows = columns.rows[group[FIRST] : group[LAST]]
    masses = columns.masses[group[FIRST] : group[LAST]]
    _count(rows, masses, whole, low, moved, rest)
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


@lean_internal
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


@lean_internal
def _advance(whole: Array, part: Array, by_whole: Array, by_part: Array, unit: Any) -> None:
    """Move each row by its own step; all of one type, so that the loop becomes vector code."""
    kind = whole.dtype.type
    for e in range(whole.size):
        units = kind(part[e] + by_part[e])
        carry = kind(units >= unit)
        part[e] = kind(units - kind(carry * unit))
        whole[e] = kind(kind(whole[e] + by_whole[e]) + carry)


@lean_internal
def _negate(whole: Array, part: Array, unit: int) -> None:
    """Turn steps into their opposites, with 0 <= part < unit again."""
    for e in range(whole.size):
        borrow = 1 if part[e] > 0 else 0
        whole[e] = -whole[e] - borrow
        part[e] = borrow * unit - part[e]


@lean_internal
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


@lean_internal
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


@lean_internal
def _by_other_recipes(columns: Columns, state: State, k: int, out: Array) -> None:
    """Recipes 2 to 4."""
    column, window = columns.column, state.window
    listed = column[k + 1, START] - column[k, START]
    groups = column[k + 1, GROUP] - column[k, GROUP]
    if window[IN_USE] == 1 and listed > 0:
        bins = state.hist.size
        low, high = window[LOW] - window[ORIGIN], window[HIGH] - window[ORIGIN]
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


def other_recipes(columns: Columns, state: State, k: int, out: Array) -> None:
    """Recipes 2 to 4, inside compiled code; compiled only for tables that may need them."""
    raise TypeError("other_recipes() works in compiled code only")


def _choose_recipes(columns, state, k, out):  # type: ignore[no-untyped-def]
    if isinstance(columns.types[Columns._fields.index("mixed")], types.NoneType):
        return lambda columns, state, k, out: None
    return lambda columns, state, k, out: _by_other_recipes(columns, state, k, out)


overload(other_recipes)(_choose_recipes)


@inlined
def coordinate_gains(columns: Columns, state: State, k: int, out: Array) -> None:
    """Gain of every allowed value of column ``k``, all else as it is: out[v - lower]."""
    column = columns.column
    out = out[: column[k, UPPER] - column[k, LOWER] + 1]
    groups = column[k + 1, GROUP] - column[k, GROUP]
    fill(out, 0)
    if state.window[IN_USE] == 1 and groups == 1 and _two_valued(columns, state, k, out):
        return
    other_recipes(columns, state, k, out)
