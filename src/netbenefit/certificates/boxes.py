"""Every box of a proof, looked at again: its reason has to be true, its value high enough."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from netbenefit.certificates.flow import FlowBound
from netbenefit.certificates.recount import Whole, vectors_of
from netbenefit.common.checks import IntArray
from netbenefit.problem.result import Boxes, Reason

__all__ = ["BoxJudge"]

#: Most vectors of a box that are looked at one by one.
_MOST_VECTORS = 2_000_000


class BoxJudge:
    """The boxes of a proof, clipped to the search space, next to the problem.

    Methods return what is wrong with the first bad box, or None.

    Parameters
    ----------
    whole : Whole
        The problem in whole numbers.
    boxes : Boxes
    """

    def __init__(self, whole: Whole, boxes: Boxes) -> None:
        said = whole.ground.said
        self.whole, self.said, self.boxes = whole, said, boxes
        self.lower = np.maximum(boxes.lower, said.lower)
        self.upper = np.minimum(boxes.upper, said.upper)
        #: Boxes that hold some vector of the search space; the others say nothing.
        self.real = (self.lower <= self.upper).all(axis=1)
        self._flow = FlowBound.of(whole.units, whole.gains)

    def having(self, *reasons: Reason) -> NDArray[np.intp]:
        """Which boxes of the search space have one of these reasons."""
        return np.flatnonzero(self.real & np.isin(self.boxes.reasons, reasons))

    # -- what single columns of a box can be -------------------------------------------------------

    @cached_property
    def _ranges(self) -> tuple[IntArray, IntArray, NDArray[np.bool_], NDArray[np.bool_], IntArray]:
        """Lowest and highest allowed value, whether 0 and whether another is, least size."""
        shape = self.lower.shape
        low, high = np.ones(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        zero, other = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
        least = np.zeros(shape, dtype=np.int64)
        for k in range(shape[1]):
            allowed = self._allowed(k)
            first = self.lower[:, k].clip(self.said.lower[k], self.said.upper[k])
            last = self.upper[:, k].clip(self.said.lower[k], self.said.upper[k])
            start = np.searchsorted(allowed, first)  # allowed[start:end] is what the box holds
            end = np.searchsorted(allowed, last, side="right")
            some = start < end
            padded = np.append(allowed, 0)
            low[:, k] = np.where(some, padded[start], 1)
            high[:, k] = np.where(some, padded[end - 1], 0)  # 1 to 0: nothing
            zero[:, k] = some & (
                np.searchsorted(allowed, 0) < np.searchsorted(allowed, 0, side="right")
            )
            zero[:, k] &= (first <= 0) & (last >= 0)
            other[:, k] = end - start > zero[:, k]
            least[:, k] = _least_size(allowed, start, end, zero[:, k])
        return low, high, zero, other, least

    def _allowed(self, k: int) -> IntArray:
        """Allowed points of a column, rising."""
        width = int(self.said.upper[k] - self.said.lower[k]) + 1
        result: IntArray = np.flatnonzero(self.said.limits.values[k, :width]) + self.said.lower[k]
        return result

    # -- reasons -----------------------------------------------------------------------------------

    def wrong_forbidden(self) -> str | None:
        """Boxes that are said to hold no allowed vector."""
        low, high, zero, other, least = self._ranges
        limits = self.said.limits
        empty = (low > high).any(axis=1) | (least.sum(axis=1) > limits.total)
        rows = [*limits.support, np.ones(low.shape[1], dtype=np.int64)]
        for row, limit in zip(rows, [*limits.support_limit, self.said.max_features], strict=True):
            # A column has to count where 0 is not allowed, and may count where that helps.
            counts = np.where(zero, np.where(other, np.minimum(row, 0), 0), row)
            empty |= counts.sum(axis=1) > limit
        for b in self.having(Reason.FORBIDDEN):
            if not empty[b]:
                wrong = self._allowed_vector(int(b))
                if wrong is not None:
                    return (
                        f"box {b + 1} is said to hold no allowed points, but {wrong} could not be "
                        "ruled out"
                    )
        return None

    def _allowed_vector(self, b: int) -> str | None:
        """Some allowed vector of a box, in words; None where there is none."""
        if self._volume(b) > _MOST_VECTORS:
            return "some of them"
        for vectors in self._vectors(b):
            best = self.whole.highest(vectors)
            if best is not None:
                return str(best[1].tolist())
        return None

    def wrong_doubled(self) -> str | None:
        """Boxes whose vectors are said to be no better than their doubles."""
        which = self.having(Reason.DOUBLED)
        low, high = self.lower[which], self.upper[which]
        beyond = ((2 * low < self.said.lower) | (2 * high > self.said.upper)).any(axis=1)
        if beyond.any():
            b = int(which[np.argmax(beyond)])
            return f"box {b + 1} is said to be doubled, but the double leaves the search space"
        largest = 2 * np.maximum(np.abs(low), np.abs(high)).sum(axis=1)
        if (largest > self.said.limits.total).any():
            b = int(which[np.argmax(largest > self.said.limits.total)])
            return f"box {b + 1} is said to be doubled, but the double has too many points in all"
        for k in range(low.shape[1]):
            allowed = self._allowed(k)
            lost = allowed[~np.isin(2 * allowed, allowed)]  # allowed, but not their doubles
            holds = np.searchsorted(lost, low[:, k]) < np.searchsorted(lost, high[:, k], "right")
            if holds.any():
                b = int(which[np.argmax(holds)])
                return (
                    f"box {b + 1} is said to be doubled, but {self.said.names[k]!r} may not have "
                    "some of the doubled points"
                )
        return None

    def wrong_shifted(self) -> str | None:
        """Boxes in which a one-hot group can be moved by 1, its first column towards 0, for free.

        Such a move changes every score by 1 and so no value, where the number of non-zero points
        does not matter and every column may have all points of its range.  Moves leave differences
        within groups and other columns as they are, and bring a first column nearer to 0; doubling
        doubles all of these.  So a chain of moves and doublings is endless only where all of them
        are 0: where all rows score alike, as they do without any points (see :meth:`needs_zero`).
        """
        which = self.having(Reason.SHIFTED)
        if not which.size:
            return None
        said = self.said
        widths = said.upper - said.lower + 1
        full = all(len(self._allowed(k)) == width for k, width in enumerate(widths.tolist()))
        most = int(np.maximum(np.abs(said.lower), np.abs(said.upper)).sum())
        counted = said.penalty > 0 or said.max_features < widths.size or len(said.limits.support)
        if counted or not full or said.limits.total < most:
            return f"box {which[0] + 1} is said to be shifted, which is not free here"
        moved = np.zeros(which.size, dtype=np.bool_)
        for first, last in self._one_hot_groups():
            low, high = self.lower[which, first:last], self.upper[which, first:last]
            down = (low[:, 0] > 0) & (low > said.lower[first:last]).all(axis=1)
            up = (high[:, 0] < 0) & (high < said.upper[first:last]).all(axis=1)
            moved |= down | up
        if not moved.all():
            return f"box {which[np.argmin(moved)] + 1} is said to be shifted, but cannot be"
        return None

    def _one_hot_groups(self) -> list[tuple[int, int]]:
        """Runs of columns, of which exactly one is 1 in every row and that may all have no points.

        No column is in two of them, on which the argument rests.
        """
        table, said = self.whole.ground.table, self.said
        fitting = [
            table.decimals[k] == 0
            and set(np.unique(table.codes[:, k]).tolist()) == {0, 1}
            and said.lower[k] <= 0 <= said.upper[k]
            for k in range(said.lower.size)
        ]
        groups, first = [], 0
        while first < len(fitting):
            last = first
            count = np.zeros(len(table), dtype=np.int64)
            while last < len(fitting) and fitting[last] and count.max() <= 1 and count.min() < 1:
                count += table.codes[:, last]
                last += 1
            if (count == 1).all():
                groups.append((first, last))
                first = last
            else:
                first += 1
        return groups

    def needs_zero(self) -> bool:
        """Whether the bound has to cover the card without points, beside the boxes' values.

        Doubling does nothing to it; and shifting may do no more than that.
        """
        which = self.having(Reason.DOUBLED)
        doubled = ((self.lower[which] <= 0) & (self.upper[which] >= 0)).all(axis=1).any()
        inside = ((self.said.lower <= 0) & (self.said.upper >= 0)).all()
        return bool(doubled or (inside and self.having(Reason.SHIFTED).size))

    def wrong_value(self, b: int) -> str | None:
        """A box with a value, by flow or by counting."""
        low, high, zero, _, _ = (part[b] for part in self._ranges)
        stated = int(self.boxes.values[b])
        if (low > high).any():
            return None  # no allowed vector at all
        if self.boxes.reasons[b] == Reason.FLOW:
            value = self._flow.highest(low, high) - self.whole.price * int((~zero).sum())
            if value > stated:
                return (
                    f"box {b + 1} is said to be worth {stated} at most; its flow bound is {value}"
                )
            return None
        if self._volume(b) > _MOST_VECTORS:
            return f"box {b + 1} is said to have been counted, but is too large for that"
        for vectors in self._vectors(b):
            best = self.whole.highest(vectors)
            if best is not None and best[0] > stated:
                return (
                    f"box {b + 1} is said to be worth {stated} at most, but {best[1].tolist()} in "
                    f"it is worth {best[0]}"
                )
        return None

    # -- vectors of a box --------------------------------------------------------------------------

    def _volume(self, b: int) -> int:
        volume = 1
        for k in range(self.lower.shape[1]):
            volume *= len(self._between(b, k))
        return volume

    def _between(self, b: int, k: int) -> list[int]:
        allowed = self._allowed(k)
        inside = (allowed >= self.lower[b, k]) & (allowed <= self.upper[b, k])
        result: list[int] = allowed[inside].tolist()
        return result

    def _vectors(self, b: int) -> Iterator[IntArray]:
        """Yield the vectors that limits allow, rates aside, some thousands at a time."""
        limits = self.said.limits
        for part in vectors_of([self._between(b, k) for k in range(self.lower.shape[1])]):
            used = (part != 0).astype(np.int64)
            fine = (used @ limits.support.T <= limits.support_limit).all(axis=1)
            fine &= used.sum(axis=1) <= self.said.max_features
            fine &= np.abs(part).sum(axis=1) <= limits.total
            if fine.any():
                yield part[fine]


def _least_size(
    allowed: IntArray,
    start: NDArray[np.intp],
    end: NDArray[np.intp],
    zero: NDArray[np.bool_],
) -> IntArray:
    """Least |v| of allowed[start:end]; 0 where there is none, or where it is 0."""
    positive = np.searchsorted(allowed, 0, side="right")  # the first value above 0
    negative = np.searchsorted(allowed, 0) - 1  # the last one below
    far = np.iinfo(np.int64).max
    padded = np.append(allowed, 0)
    up = np.maximum(start, positive)
    down = np.minimum(end - 1, negative)
    above = np.where(up < end, padded[np.minimum(up, allowed.size)], far)
    below = np.where(down >= start, -padded[down], far)
    result: IntArray = np.where(zero | (start >= end), 0, np.minimum(above, below))
    return result
