"""Arrays that the compiled kernels work on.

Scores are held as ``whole * unit + part`` with ``0 <= part < unit``: exact integers, so that the
floor of a score is simply ``whole`` and no division happens in a hot loop.  ``unit`` is 1 for
integer data, 10, 100, … where a column has decimals.

Each column is shifted by its most frequent whole value, which moves every score by the same integer
and so changes no comparison, and only the rows that deviate are listed.  A 0/1 column thus costs
the rarer of its two values, whichever that is.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import IntArray
from netbenefit.problem.problem import Problem

__all__ = [
    "Array",
    "Columns",
    "State",
    "columns_of",
    "farthest",
    "make_columns",
    "make_state",
    "pack_masses",
]

Array = NDArray[Any]

#: A histogram of scores may be this many times longer than there are patterns; beyond that sorting
#: is faster.
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
    )


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


def make_state(columns: Columns) -> State:
    """Allocate a state; the kernel ``place`` fills it for a point vector."""
    n = columns.mass.size
    span = 2 * farthest(columns.column) + 2
    bins = min(span, max(_LEAST_BINS, _BINS_PER_PATTERN * n))
    return State(
        points=np.zeros(columns.column.shape[0] - 1, dtype=np.int64),
        score=np.zeros((2, n), dtype=columns.steps.dtype),
        hist=np.zeros(bins, dtype=columns.mass.dtype),
        window=np.zeros(4, dtype=np.int64),
        work=np.zeros((4, bins), dtype=columns.mass.dtype),
        curves=np.zeros((14, max(2 * bins, n) + 64), dtype=columns.gains.dtype),
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
    """Runs of equal deviations in columns that hold whole numbers only."""
    group_start = [0]
    groups: list[tuple[int, int, int]] = []
    for first, last in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        if first < last and not part[first:last].any():
            cuts = [first, *(first + 1 + np.flatnonzero(np.diff(whole[first:last]))).tolist()]
            groups.extend(zip(cuts, [*cuts[1:], last], whole[cuts].tolist(), strict=True))
        group_start.append(len(groups))
    return group_start, np.array(groups, dtype=np.int64).reshape(-1, 3)


def _joined(parts: list[IntArray]) -> IntArray:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
