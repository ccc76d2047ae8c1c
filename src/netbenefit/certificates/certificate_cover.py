"""Whether boxes of whole-number vectors cover a larger box, found out from the boxes alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import IntArray

__all__ = ["Undecided", "find_uncovered"]

#: So few boxes are compared pair by pair.
_FEW = 48


class Undecided(Exception):
    """The boxes overlap so much that the check would take for ever."""


def find_uncovered(
    lower: IntArray, upper: IntArray, root_lower: IntArray, root_upper: IntArray
) -> list[int] | None:
    """Return a vector of the root that no box holds, or None where they cover it all.

    1. Boxes are clipped to the part that is looked at; one that fills it covers it.
    2. A few boxes whose volumes add up to that of the part, and of which no two overlap, cover it.
    3. Otherwise the part is cut in two, at the edge of a box, where the fewest boxes are cut
       (none, if the boxes are the leaves of a tree) and the larger half is smallest.

    Parameters
    ----------
    lower, upper : (B, P) int
    root_lower, root_upper : (P,) int

    Raises
    ------
    Undecided
        Where overlapping boxes make the work explode.

    Examples
    --------
    >>> low, high = np.array([[0, 0], [0, 2]]), np.array([[3, 1], [2, 3]])
    >>> find_uncovered(low, high, np.array([0, 0]), np.array([3, 3]))
    [3, 2]
    >>> find_uncovered(low, high, np.array([0, 0]), np.array([2, 3])) is None
    True
    """
    parts = [(root_lower, root_upper, lower, upper)]
    work, most = 0, 500 * len(lower) + 1_000_000  # a tree's leaves need far less
    while parts:
        low, high, box_low, box_high = parts.pop()
        work += 1 + len(box_low)
        if work > most:
            raise Undecided
        box_low, box_high = np.maximum(box_low, low), np.minimum(box_high, high)  # 1.
        inside = (box_low <= box_high).all(axis=1)
        if not inside.all():
            box_low, box_high = box_low[inside], box_high[inside]
        if not len(box_low):
            return [int(v) for v in low]
        if ((box_low == low) & (box_high == high)).all(axis=1).any():
            continue
        if len(box_low) <= _FEW and _tile(low, high, box_low, box_high):  # 2.
            continue
        column, last = _best_cut(low, high, box_low, box_high)  # 3.
        left = box_low[:, column] <= last
        right = box_high[:, column] > last
        until, since = high.copy(), low.copy()
        until[column], since[column] = last, last + 1
        parts.append((since, high, box_low[right], box_high[right]))
        parts.append((low, until, box_low[left], box_high[left]))
    return None


def _tile(low: IntArray, high: IntArray, box_low: IntArray, box_high: IntArray) -> bool:
    """Whether boxes inside a part fill it without overlap."""
    volume = sum(map(math.prod, (box_high - box_low + 1).tolist()))
    if volume != math.prod((high - low + 1).tolist()):
        return False
    overlap = (box_low[:, None] <= box_high).all(axis=2)
    overlap &= overlap.T
    return int(overlap.sum()) == len(box_low)  # each with itself alone


def _best_cut(
    low: IntArray, high: IntArray, box_low: IntArray, box_high: IntArray
) -> tuple[int, int]:
    """Choose column and last value of the lower half; some box has an edge there."""
    n_boxes, n_columns = box_low.shape
    widths = high - low + 1
    first = np.concatenate([[0], np.cumsum(widths)[:-1]])  # where a column's values start
    starts = _count(box_low - low + first, int(widths.sum()))
    ends = _count(box_high - low + first, int(widths.sum()))
    before = n_boxes * np.repeat(np.arange(n_columns), widths)
    begun = np.cumsum(starts) - before  # boxes that start at a value or below it
    ended = np.cumsum(ends) - before
    cost = (begun - ended) * (n_boxes + 1) + np.maximum(begun, n_boxes - ended)
    edge = ends > 0
    edge[:-1] |= starts[1:] > 0
    edge[first + widths - 1] = False  # above the highest value there is nothing to cut off
    place = int(np.argmin(np.where(edge, cost, np.iinfo(np.int64).max)))
    column = int(np.searchsorted(first, place, side="right")) - 1
    return column, int(low[column] + place - first[column])


def _count(places: IntArray, size: int) -> NDArray[np.int64]:
    return np.bincount(places.ravel(), minlength=size).astype(np.int64)
