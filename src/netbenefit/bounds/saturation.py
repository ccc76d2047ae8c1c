"""Saturation bound: patterns that a card cannot tell apart are called alike, all else freely.

A card with points on columns S only gives equal scores to patterns that are equal on S.  If such
patterns form a cell and each cell is called as suits best at every threshold, then

    Σ_i Σ_cells max(0, Σ_{u in cell} gains[i, u]) − price · (columns that must have points)

is at least the value of every card with points on S.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netbenefit._validation import IntArray
from netbenefit.bounds.pieces import Pieces

__all__ = ["cells", "saturated_gain", "saturation_bound"]

#: Codes of several columns are joined to one number up to this.
_ROOM = 2**62


def cells(units: IntArray, columns: Sequence[int] | IntArray) -> tuple[IntArray, int]:
    """Number the cells of rows that are equal on ``columns``; and how many cells there are.

    Examples
    --------
    >>> cells(np.array([[0, 5], [1, 5], [0, 5], [0, 6]]), [0, 1])
    (array([0, 2, 0, 1]), 3)
    """
    joined = np.zeros(units.shape[0], dtype=np.int64)
    count = 1
    for k in columns:
        column = units[:, k]
        low, spread = int(column.min()), int(column.max()) - int(column.min()) + 1
        codes = column - low
        if count * spread >= _ROOM:
            values, joined = np.unique(joined, return_inverse=True)
            count = values.size
        if count * spread >= _ROOM:
            values, codes = np.unique(codes, return_inverse=True)
            spread = values.size
        joined = joined * spread + codes
        count *= spread
    values, numbers = np.unique(joined, return_inverse=True)
    return numbers, values.size


def saturated_gain(pieces: Pieces, columns: Sequence[int] | IntArray) -> int:
    """Gain of the best calls that tell apart only what ``columns`` tell apart.

    Examples
    --------
    >>> from netbenefit.patterns import PatternTable
    >>> from netbenefit.problem import Problem
    >>> from netbenefit.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> pieces = Pieces.of(Problem.build(table, Thresholds.of([0.5]), penalty=0))
    >>> [saturated_gain(pieces, columns) for columns in ([], [0], [0, 1])]
    [0, 0, 2]
    """
    numbers, count = cells(pieces.units, columns)
    order = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[order], np.arange(count))
    sums = np.add.reduceat(pieces.gains[:, order], starts, axis=1)
    return int(np.maximum(sums, 0).sum())


def saturation_bound(pieces: Pieces, lower: IntArray, upper: IntArray) -> int:
    """No card of the box lower ≤ λ ≤ upper is worth more.

    Examples
    --------
    >>> from netbenefit.patterns import PatternTable
    >>> from netbenefit.problem import Problem
    >>> from netbenefit.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> pieces = Pieces.of(Problem.build(table, Thresholds.of([0.5]), penalty=0))
    >>> saturation_bound(pieces, np.array([0, -1]), np.array([0, 1]))
    0
    """
    columns = np.flatnonzero((lower != 0) | (upper != 0))
    paid = int(((lower > 0) | (upper < 0)).sum())
    return saturated_gain(pieces, columns) - pieces.price * paid
