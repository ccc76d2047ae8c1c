"""Every box of a proof, checked again: its reason has to be true, its value high enough."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from netbenefit.certificates.certificate import pattern_order, with_patterns
from netbenefit.certificates.packing import PackedBound, Tight, members, tighten
from netbenefit.certificates.recount import IntegerRecount, RecountedProblem, vectors_of
from netbenefit.certificates.statement import Check, Claim
from netbenefit.common import InputError, IntArray
from netbenefit.problem import NEGLIGIBLE, Asked, Boxes, Reason

# -- the pair-order flow bound of a box, done again: plain arrays and a textbook maximum flow ------
# Let pattern u be worth calling at a threshold (gain > 0) and w not (gain < 0).  Where
# (x_w − x_u)·λ ≥ 0 for all λ of a box, calling u means calling w too.  So a threshold brings at
# most Σ_u gain⁺ − F, with F the largest flow that sends at most gain⁺ out of each u and at most
# |gain⁻| into each w, along such pairs (and any smaller flow gives a bound as well).


#: scipy's flows are 32-bit integers.
_LARGEST = 2**31 - 1
#: Pairs of patterns that are looked at together.
_AT_ONCE = 2**19


@dataclass(frozen=True, eq=False)
class FlowBound:
    """Bounds of boxes for one problem in whole numbers."""

    above: IntArray  #: (U, P) units of the patterns that some threshold gains by
    below: IntArray  #: (W, P) units of those that some threshold loses by
    supply: IntArray  #: (m, U) what each threshold gains by u, or 0
    room: IntArray  #: (m, W) what each threshold loses by w, or 0

    @classmethod
    def of(cls, units: IntArray, gains: IntArray) -> FlowBound:
        """List the patterns of a problem that are worth calling, and those that are not."""
        good, bad = (gains > 0).any(axis=0), (gains < 0).any(axis=0)
        supply, room = np.maximum(gains[:, good], 0), np.maximum(-gains[:, bad], 0)
        return cls(units[good], units[bad], supply, room)

    def highest(self, lower: IntArray, upper: IntArray) -> Iterator[int]:
        """No vector of a box gains more, prices aside; of each of (K, P) boxes, one by one."""
        supply, room = self.supply.ravel(), self.room.ravel()
        unit = max(1, int(np.gcd.reduce(np.concatenate([supply, room]))))
        step = max(1, _AT_ONCE // max(1, len(self.above) * len(self.below)))
        step = max(1, min(step, 2**61 // max(1, int(supply.sum()), int(room.sum()))))
        for first in range(0, len(lower), step):
            part = slice(first, first + step)
            conflicts = self._conflicts(lower[part], upper[part])
            copies = len(conflicts)
            sent = send(
                *self._pairs(conflicts),
                np.tile(supply // unit, copies),
                np.tile(room // unit, copies),
            )
            for flow in sent.reshape(copies, supply.size).sum(axis=1).tolist():
                yield int(supply.sum()) - unit * flow

    def _pairs(self, conflicts: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Pairs of a source and a sink, a copy of both for each box and threshold, sorted."""
        sources, sinks = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        copies = 0
        for table in conflicts:
            u, w = np.nonzero(table)
            for supply, room in zip(self.supply > 0, self.room > 0, strict=True):
                both = supply[u] & room[w]
                sources.append(u[both] + copies * supply.size)
                sinks.append(w[both] + copies * room.size)
                copies += 1
        return np.concatenate(sources), np.concatenate(sinks)

    def _conflicts(self, lower: IntArray, upper: IntArray) -> NDArray[np.bool_]:
        """(K, U, W) whether the least of (x_w − x_u)·λ over a box is 0 or more.

        Twice that least value is d·(lower + upper) − |d|·(upper − lower).
        """
        ends = np.hstack([lower + upper, lower - upper]).T
        shape = len(lower), len(self.above), len(self.below)
        result = np.zeros(shape, dtype=np.bool_)
        if not result.size:
            return result
        apart = np.abs(self.above).max() + np.abs(self.below).max()
        largest = 2.0 * ends.shape[0] * float(apart) * float(np.abs(ends).max())
        exact = np.float64 if largest < 2.0**53 else np.int64  # floats are faster
        ends = ends.astype(exact)
        for u, units in enumerate(self.above):
            d = (self.below - units).astype(exact)
            result[:, u] = (np.hstack([d, np.abs(d)]) @ ends >= 0).T
        return result


def send(
    source: NDArray[np.intp], sink: NDArray[np.intp], supply: IntArray, room: IntArray
) -> IntArray:
    """Return what each source sends of a largest flow along pairs (source, sink), in order.

    Numbers that are too large for scipy are divided until they fit.  That gives a flow, which a
    second one completes along what is left, and may take back in part; and so on.
    """
    n, m, left, free = supply.size, room.size, supply.copy(), room.copy()
    sent = np.zeros(source.size, dtype=np.int64)
    most = min(int(supply.sum()), int(room.sum())) if source.size else 0  # that may be left to send
    ends = np.concatenate([n + sink, np.full(m, n + m + 1), np.arange(n), source])
    nodes = np.concatenate([source, n + np.arange(m), np.full(n, n + m), n + sink])
    edges = source.size + m + n  # the others take back what was sent
    while most > 0:
        coarse = -(-most // _LARGEST)
        along = np.minimum(supply[source], room[sink])
        capacity = np.concatenate([along, free, left, sent])[:edges] // coarse
        capacity = np.minimum(capacity, most // coarse).astype(np.int32)
        graph = _graph(nodes[:edges], ends[:edges], capacity, n + m + 2)
        flow = maximum_flow(graph, n + m, n + m + 1).flow
        left -= coarse * flow[[n + m]].toarray().ravel()[:n].astype(np.int64)
        if coarse == 1:
            break
        sent += coarse * np.asarray(flow[source, n + sink]).ravel().astype(np.int64)
        free = room.copy()
        np.subtract.at(free, sink, sent)
        edges = ends.size
        # Some cut was full in parts of ``coarse``: each of its edges has less than one part left.
        most = min(coarse * (2 * source.size + n + m), int(left.sum()))
    return supply - left


def _graph(
    nodes: NDArray[np.intp], ends: NDArray[np.intp], capacity: NDArray[np.int32], size: int
) -> csr_array:
    """A graph of edges, which need not be in order."""
    if (np.diff(nodes) < 0).any():
        return csr_array((capacity, (nodes, ends)), shape=(size, size))
    first = np.append(0, np.cumsum(np.bincount(nodes, minlength=size)))
    return csr_array((capacity, ends.astype(np.int32), first.astype(np.int32)), shape=(size, size))


# -- whether boxes of whole-number vectors cover a larger box, found out from the boxes alone ------


#: Of any width: points, or how far they are from the lowest ones.
_Ints = NDArray[np.signedinteger[Any]]
#: Up to this many boxes are compared pair by pair.
_FEW = 48


class Undecided(Exception):
    """The boxes overlap so much that the check would take forever."""


def find_uncovered(
    lower: _Ints, upper: _Ints, root_lower: _Ints, root_upper: _Ints
) -> list[int] | None:
    """Return a vector of the root that no box holds, or None where they cover it all.

    1. Boxes (B, P) are clipped to the part that is looked at; one that fills it covers it.
    2. A few boxes whose volumes add up to that of the part, and of which no two overlap, cover it.
    3. Otherwise the part is cut in two, at the edge of a box, where the fewest boxes are cut
       (none, if the boxes are the leaves of a tree) and the larger half is smallest.

    :class:`Undecided` is raised where overlapping boxes make the work explode.
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


def _tile(low: _Ints, high: _Ints, box_low: _Ints, box_high: _Ints) -> bool:
    """Whether boxes inside a part fill it without overlap."""
    volume = sum(map(math.prod, (box_high - box_low + 1).tolist()))
    if volume != math.prod((high - low + 1).tolist()):
        return False
    overlap = (box_low[:, None] <= box_high).all(axis=2)
    overlap &= overlap.T
    return int(overlap.sum()) == len(box_low)  # each with itself alone


def _best_cut(low: _Ints, high: _Ints, box_low: _Ints, box_high: _Ints) -> tuple[int, int]:
    """Choose column and last value of the lower half; some box has an edge there."""
    n_boxes, best = len(box_low), (np.iinfo(np.int64).max, 0, 0)
    for k in np.flatnonzero(low < high).tolist():  # above the highest value is nothing to cut off
        width = int(high[k]) - int(low[k]) + 1
        starts = np.bincount(box_low[:, k] - low[k], minlength=width)
        ends = np.bincount(box_high[:, k] - low[k], minlength=width)[:-1]
        begun = np.cumsum(starts[:-1])  # boxes that start at a value or below it
        ended = np.cumsum(ends)
        cost = (begun - ended) * (n_boxes + 1) + np.maximum(begun, n_boxes - ended)
        cost[(ends == 0) & (starts[1:] == 0)] = best[0]  # no edge of a box
        place = int(np.argmin(cost))
        best = min(best, (int(cost[place]), k, int(low[k]) + place))
    return best[1:]


#: Most vectors of a box that are checked one by one.
_MOST_VECTORS = 2_000_000


#: Points of boxes that are looked at together: arrays of many boxes take memory many times over.
_BLOCK = 2**18


class BoxChecker:
    """The boxes of a proof, next to the problem.

    Methods return what is wrong with the first bad box, or None.
    """

    def __init__(self, integers: IntegerRecount, boxes: Boxes) -> None:
        statement = integers.recount.statement
        self.integers, self.statement, self.boxes = integers, statement, boxes
        self.first = 0  #: number of the first box, where these are a part of all
        packing = boxes.packing
        if packing is not None:
            packing = with_patterns(boxes, pattern_order(integers.recount.table)).packing
        self.packed = PackedBound(integers, packing)

    def blocks(self) -> Iterator[BoxChecker]:
        """Yield some thousands of boxes at a time."""
        if (self.boxes.reasons == Reason.SHIFTED).any():
            _ = self._one_hot_groups  # once, for all of them
        if (self.boxes.reasons == Reason.FLOW).any():
            _ = self._flow
        step = max(1, _BLOCK // self.statement.lower.size)
        boxes = self.boxes
        for first in range(0, len(boxes), step):
            part, some = copy(self), slice(first, first + step)
            for own in ("tight", "paid"):
                part.__dict__.pop(own, None)
            part.first = first
            part.boxes = Boxes(
                boxes.lower[some],
                boxes.upper[some],
                boxes.values[some],
                boxes.reasons[some],
                None if boxes.asked is None else boxes.asked[some],
            )
            yield part

    @cached_property
    def tight(self) -> Tight:
        """What the limits leave of the boxes."""
        asked: Any = self.boxes.asked
        if asked is None:
            shape = len(self.boxes), len(self.statement.questions)
            asked = np.full(shape, Asked.EITHER, dtype=np.uint8)
        return tighten(self.statement, self.boxes.lower, self.boxes.upper, asked)

    @cached_property
    def paid(self) -> IntArray:
        """What all cards of a box pay."""
        prices = self.integers.price, self.integers.question_price
        return self.tight.paid(*prices, members(self.statement))

    @cached_property
    def _flow(self) -> FlowBound:
        return FlowBound.of(self.integers.units, self.integers.gains)

    def _box(self, b: int) -> str:
        return f"box {self.first + b + 1}"

    def having(self, *reasons: Reason) -> NDArray[np.intp]:
        """Which boxes have one of these reasons, and are not empty by the limits."""
        return np.flatnonzero(~self.tight.empty & np.isin(self.boxes.reasons, reasons))

    # -- what single columns of a box can be -------------------------------------------------------

    def _ranges(
        self, which: NDArray[np.intp]
    ) -> tuple[IntArray, IntArray, NDArray[np.bool_], NDArray[np.bool_], IntArray]:
        """Lowest and highest allowed value, whether 0 and whether another is, least size."""
        columns = [self._column_ranges(k, which) for k in range(self.statement.lower.size)]
        low, high, zero, other, least = np.stack(columns, axis=2)
        return low, high, zero.astype(np.bool_), other.astype(np.bool_), least

    def _column_ranges(self, k: int, which: NDArray[np.intp]) -> IntArray:
        """(5, boxes): the same of one column; each pair of ends is looked up once."""
        allowed = self._allowed(k)
        lowest, highest = int(self.statement.lower[k]), int(self.statement.upper[k])
        width = highest - lowest + 1
        first = self.tight.lower[which, k].clip(lowest, highest) - lowest
        last = self.tight.upper[which, k].clip(lowest, highest) - lowest
        pairs, place = np.unique(first * width + last, return_inverse=True)
        found = []
        for pair in pairs.tolist():
            start, end = lowest + pair // width, lowest + pair % width
            inside = allowed[(allowed >= start) & (allowed <= end)]
            if inside.size:
                sizes = np.abs(inside)
                found.append(
                    [inside.min(), inside.max(), sizes.min() == 0, sizes.max() > 0, sizes.min()]
                )
            else:
                found.append([1, 0, False, False, 0])  # 1 to 0: nothing
        result: IntArray = np.array(found, dtype=np.int64)[place].T
        return result

    def _allowed(self, k: int) -> IntArray:
        """Allowed points of a column, rising."""
        width = int(self.statement.upper[k] - self.statement.lower[k]) + 1
        result: IntArray = (
            np.flatnonzero(self.statement.limits.values[k, :width]) + self.statement.lower[k]
        )
        return result

    # -- reasons -----------------------------------------------------------------------------------

    def wrong_forbidden(self) -> str | None:
        """Boxes that are claimed to hold no allowed vector."""
        which = self.having(Reason.FORBIDDEN)
        if not which.size:
            return None
        low, high, zero, other, least = self._ranges(which)
        limits = self.statement.limits
        empty = (low > high).any(axis=1)
        empty |= least.sum(axis=1) > limits.total
        rows = [*limits.support, np.ones(low.shape[1], dtype=np.int64)]
        for row, limit in zip(
            rows, [*limits.support_limit, self.statement.max_features], strict=True
        ):
            # A column has to count where 0 is not allowed, and may count where that helps.
            counts = np.where(zero, np.where(other, np.minimum(row, 0), 0), row)
            empty |= counts.sum(axis=1) > limit
        empty |= self._questions(~zero).sum(axis=1) > limits.asked.most
        which, low, high = which[~empty], low[~empty], high[~empty]
        far = np.zeros(which.size, dtype=np.bool_)
        for q, own, apart in self._differences():
            for d in apart:
                # In all vectors of the box, these answers lie at least so far apart.
                nearest = low[:, own] @ np.maximum(d, 0) + high[:, own] @ np.minimum(d, 0)
                far |= nearest > limits.asked.spread[q]
        for b in which[~far].tolist():
            wrong = self._allowed_vector(b)
            if wrong is not None:
                text = f"{self._box(b)} is claimed to hold no allowed points"
                return f"{text}, but {wrong} could not be ruled out"
        return None

    def _questions(self, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(B, Q) which questions have columns that are used, in each row of (B, P)."""
        asked = self.statement.questions
        columns = [used[:, asked.of_column == q].any(axis=1) for q in range(len(asked))]
        result: NDArray[np.bool_] = np.stack(columns, axis=1)
        return result

    def _answers(self) -> Iterator[tuple[int, NDArray[np.intp], IntArray]]:
        """Yield each question with limited answers, its columns and the codes of its answers."""
        asked = self.statement.questions
        for q in np.unique(asked.of_answer).tolist():
            own = np.flatnonzero(asked.of_column == q)
            yield q, own, asked.answers[asked.of_answer == q][:, own]

    def _differences(self) -> Iterator[tuple[int, NDArray[np.intp], IntArray]]:
        """Yield of each answer what it differs by from the others to its question."""
        for q, own, codes in self._answers():
            for one in codes:
                yield q, own, one - codes

    def _allowed_vector(self, b: int) -> str | None:
        """Some allowed vector of a box, in words; None where there is none."""
        if self._volume(b) > _MOST_VECTORS:
            return "some of them"
        for vectors in self._vectors(b):
            best = self.integers.highest(vectors)
            if best is not None:
                return str(best[1].tolist())
        return None

    def wrong_doubled(self) -> str | None:
        """Boxes whose vectors are claimed to be no better than their doubles."""
        which = self.having(Reason.DOUBLED)
        if not which.size:
            return None
        low, high = self.tight.lower[which], self.tight.upper[which]
        beyond = ((2 * low < self.statement.lower) | (2 * high > self.statement.upper)).any(axis=1)
        largest = 2 * np.maximum(np.abs(low), np.abs(high)).sum(axis=1)
        wrong = {
            "the double leaves the search space": beyond,
            "the double has too many points in all": largest > self.statement.limits.total,
        }
        for k, name in enumerate(self.statement.names):
            allowed = self._allowed(k)
            lost = allowed[~np.isin(2 * allowed, allowed)]  # allowed, but not their doubles
            holds = np.searchsorted(lost, low[:, k]) < np.searchsorted(lost, high[:, k], "right")
            wrong[f"{name!r} may not have some of the doubled points"] = holds
        for q, own, apart in self._differences():
            text = f"doubled answers to {self.statement.questions.names[q]!r} may lie too far apart"
            far = wrong.setdefault(text, np.zeros(which.size, dtype=np.bool_))
            for d in apart:
                most = high[:, own] @ np.maximum(d, 0) + low[:, own] @ np.minimum(d, 0)
                far |= 2 * most > self.statement.limits.asked.spread[q]
        for reason, boxes in wrong.items():
            if boxes.any():
                b = int(which[np.argmax(boxes)])
                return f"{self._box(b)} is claimed to be doubled, but {reason}"
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
        statement = self.statement
        widths = statement.upper - statement.lower + 1
        full = all(len(self._allowed(k)) == width for k, width in enumerate(widths.tolist()))
        most = int(np.maximum(np.abs(statement.lower), np.abs(statement.upper)).sum())
        counted = (
            statement.penalty > 0
            or statement.max_features < widths.size
            or len(statement.limits.support)
            or statement.questions.grouped
        )
        if counted or not full or statement.limits.total < most:
            return f"{self._box(which[0])} is claimed to be shifted, which is not free here"
        moved = np.zeros(which.size, dtype=np.bool_)
        for first, last in self._one_hot_groups:
            low, high = self.tight.lower[which, first:last], self.tight.upper[which, first:last]
            down = (low[:, 0] > 0) & (low > statement.lower[first:last]).all(axis=1)
            up = (high[:, 0] < 0) & (high < statement.upper[first:last]).all(axis=1)
            moved |= down | up
        if not moved.all():
            return f"{self._box(which[np.argmin(moved)])} is claimed to be shifted, but cannot be"
        return None

    @cached_property
    def _one_hot_groups(self) -> list[tuple[int, int]]:
        """Runs of columns, of which exactly one is 1 in every row and that may all have no points.

        No column is in two of them, on which the argument rests.
        """
        table, statement = self.integers.recount.table, self.statement
        fitting = [
            table.decimals[k] == 0
            and set(np.unique(table.codes[:, k]).tolist()) == {0, 1}
            and statement.lower[k] <= 0 <= statement.upper[k]
            for k in range(statement.lower.size)
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
        low, high = self.boxes.lower[which], self.boxes.upper[which]
        doubled = ((low <= 0) & (high >= 0)).all(axis=1).any()
        inside = ((self.statement.lower <= 0) & (self.statement.upper >= 0)).all()
        return bool(doubled or (inside and self.having(Reason.SHIFTED).size))

    def wrong_value(self, *which: int) -> str | None:
        """Boxes with a value, by flow, by packing or by counting."""
        tight, reasons = self.tight, self.boxes.reasons
        real = [b for b in which if not tight.empty[b]]  # the others hold nothing that is allowed
        flows = [b for b in real if reasons[b] == Reason.FLOW]
        gained = self._flow.highest(tight.lower[flows], tight.upper[flows])
        for b, value in zip(flows, gained, strict=True):
            if value - self.paid[b] > self.boxes.values[b]:
                return self._too_low(b, "flow", value - int(self.paid[b]))
        for b in real:
            if reasons[b] == Reason.COUNTED:
                wrong = self._wrong_count(b, int(self.boxes.values[b]))
                if wrong is not None:
                    return wrong
            elif reasons[b] == Reason.PACKED:
                try:
                    value = self.packed.highest(tight, b, self.first + b)
                except InputError as error:
                    return str(error)
                if value > self.boxes.values[b]:
                    return self._too_low(b, "packed", value)
        return None

    def _too_low(self, b: int, kind: str, value: int) -> str:
        stated = int(self.boxes.values[b])
        kept = f"{self._box(b)} is claimed to be worth {stated} at most"
        return f"{kept}; its {kind} bound is {value}"

    def _wrong_count(self, b: int, stated: int) -> str | None:
        if self._volume(b) > _MOST_VECTORS:
            return f"{self._box(b)} is claimed to have been counted, but is too large for that"
        for vectors in self._vectors(b):
            best = self.integers.highest(vectors)
            if best is not None and best[0] > stated:
                text = f"{self._box(b)} is claimed to be worth {stated} at most"
                return f"{text}, but {best[1].tolist()} in it is worth {best[0]}"
        return None

    # -- vectors of a box --------------------------------------------------------------------------

    def _volume(self, b: int) -> int:
        return math.prod(len(self._between(b, k)) for k in range(self.statement.lower.size))

    def _between(self, b: int, k: int) -> list[int]:
        allowed = self._allowed(k)
        inside = (allowed >= self.tight.lower[b, k]) & (allowed <= self.tight.upper[b, k])
        result: list[int] = allowed[inside].tolist()
        return result

    def _vectors(self, b: int) -> Iterator[IntArray]:
        """Yield the vectors that limits allow, rates aside, some thousands at a time."""
        limits = self.statement.limits
        for part in vectors_of([self._between(b, k) for k in range(self.statement.lower.size)]):
            used = (part != 0).astype(np.int64)
            fine = (used @ limits.support.T <= limits.support_limit).all(axis=1)
            fine &= used.sum(axis=1) <= self.statement.max_features
            fine &= np.abs(part).sum(axis=1) <= limits.total
            asked = self._questions(part != 0)
            fine &= asked.sum(axis=1) <= limits.asked.most
            fine &= (asked | ~self.tight.certain[b]).all(axis=1)
            for q, own, codes in self._answers():
                worth = part[:, own] @ codes.T
                fine &= worth.max(axis=1) - worth.min(axis=1) <= limits.asked.spread[q]
            if fine.any():
                yield part[fine]


# -- the checks of a bound: its order, its scale, and its boxes, one after the other ---------------


#: Reasons that are checked below: listed one by one, so that a new one is not taken on trust.
_KNOWN = (
    Reason.FLOW,
    Reason.COUNTED,
    Reason.DOUBLED,
    Reason.FORBIDDEN,
    Reason.SHIFTED,
    Reason.PACKED,
)
_VALUED = (Reason.FLOW, Reason.COUNTED, Reason.PACKED)


def check_bound(
    recount: RecountedProblem, objective: Fraction, proof: Claim, sample: int | None, seed: int
) -> Iterator[Check]:
    """Check a claimed bound of a problem; :mod:`netbenefit.certificates.judge` lists the steps."""
    yield _check_order(objective, proof.bound)
    integers = _whole_numbers(recount, proof)
    if isinstance(integers, str):
        yield Check("scale", False, integers)
        return
    text = "values are whole numbers, without any rounding"
    if not integers.exact:
        text = f"rounding of values may add {float(integers.rounding):.2g} to the bound, "
        fine = integers.rounding <= NEGLIGIBLE
        text += "which is negligible" if fine else "so that nothing is called optimal"
    yield Check("scale", True, text)
    yield from _check_boxes(integers, proof.bound, proof.boxes, sample, seed)


def _check_order(objective: Fraction, bound: Fraction) -> Check:
    if bound < objective:
        text = f"the bound {float(bound):.9f} is below the objective {float(objective):.9f}"
        return Check("order", False, text)
    if bound == objective:
        return Check("order", True, "the bound equals the objective")
    return Check("order", True, f"the bound {shown(bound, up=True)} is not below the objective")


def _whole_numbers(recount: RecountedProblem, proof: Claim) -> IntegerRecount | str:
    """The problem on the scale of the boxes' values, or what is wrong with that scale."""
    stated = proof.scale
    try:
        integers = recount.in_integers(stated.total)
    except InputError as error:
        return str(error)
    whole = recount.whole_total
    if not integers.exact and whole is not None:
        return (
            f"the boxes' values were rounded, which nothing makes necessary: at a total of {whole} "
            "all are whole numbers"
        )
    if stated.constant != integers.constant:
        return f"the constant of the boxes' values is {integers.constant}, not {stated.constant}"
    prices = integers.price, integers.question_price
    if (stated.price, stated.question_price) != prices:
        return (
            f"in the boxes' values, a rule costs {prices[0]} and its question {prices[1]} more, "
            f"not {stated.price} and {stated.question_price}"
        )
    if stated.exact != integers.exact:
        said, found = ("exact", "rounded")[:: 1 if stated.exact else -1]
        return f"the boxes' values are claimed to be {said}, but are {found}"
    if proof.rounding != integers.rounding:
        return (
            f"rounding can add {float(integers.rounding):g}, not {float(proof.rounding):g}, to the "
            "bound"
        )
    return integers


def _check_boxes(
    integers: IntegerRecount, bound: Fraction, boxes: Boxes, sample: int | None, seed: int
) -> Iterator[Check]:
    wrong = _misfit(integers, boxes)
    if wrong is None:
        checker = BoxChecker(integers, boxes)
        wrong = checker.packed.wrong_conflicts()
    if wrong is not None:
        yield Check("boxes", False, wrong)
        return
    yield _check_cover(checker)
    seen = _look(checker, weigh=sample is not None)
    yield seen.valueless
    yield _check_values(checker, seen, sample, seed)
    yield _check_highest(checker, seen, bound)


def _misfit(integers: IntegerRecount, boxes: Boxes) -> str | None:
    """Say why boxes cannot be about a problem."""
    n_questions = len(integers.recount.statement.questions)
    if not np.isin(boxes.reasons, _KNOWN).all():
        return "they have an unknown reason"
    if boxes.lower.shape[1] != integers.units.shape[1]:
        return "they have another number of columns"
    if boxes.asked is not None and boxes.asked.shape[1] != n_questions:
        return "they have another number of questions"
    if boxes.packing is not None:
        pattern = boxes.packing.conflicts.pattern
        if pattern.size and not 0 <= pattern.min() <= pattern.max() < len(integers.units):
            return "a conflict names a pattern that there is not"
    return None


def _check_cover(checker: BoxChecker) -> Check:
    statement, boxes = checker.statement, checker.boxes
    n_columns, widths = statement.lower.size, statement.upper - statement.lower
    # Whether a question is asked is one more coordinate, 0 or 1, where some box cares.
    cares = np.zeros(0, dtype=np.intp)
    if boxes.asked is not None:
        cares = np.flatnonzero((boxes.asked != Asked.EITHER).any(axis=0))
    # All are counted from the lowest one, in few bytes: columns have some thousand values at most.
    lower = np.zeros((len(boxes), n_columns + cares.size), dtype=np.int16)
    upper = np.ones_like(lower)
    step = max(1, _BLOCK // n_columns)
    for first in range(0, len(boxes), step):
        some = slice(first, first + step)
        low, high = boxes.lower[some] - statement.lower, boxes.upper[some] - statement.lower
        lower[some, :n_columns] = np.clip(low, 0, widths + 1)
        upper[some, :n_columns] = np.clip(high, -1, widths)
        if boxes.asked is not None:
            flags = boxes.asked[some][:, cares]
            lower[some, n_columns:] = flags == Asked.YES
            upper[some, n_columns:] = flags != Asked.NO
    root_lower = np.zeros(lower.shape[1], dtype=np.int16)
    root_upper = np.append(widths, np.ones(cares.size)).astype(np.int16)
    try:
        gap = find_uncovered(lower, upper, root_lower, root_upper)
    except Undecided:
        return Check("cover", False, "the boxes overlap too much to see whether they cover all")
    if gap is not None:
        points = (np.array(gap)[:n_columns] + statement.lower).tolist()
        return Check("cover", False, f"no box holds the points {points}")
    # Boxes that hold all points and no more volume than those share no point.
    everything = math.prod((root_upper - root_lower + 1).tolist())
    if sum(_volumes(lower, upper)) > everything:
        return Check("cover", False, "some boxes overlap, which would hide others from a sample")
    return Check("cover", True, f"{len(boxes):,} boxes hold all points, each in one of them")


def _volumes(lower: _Ints, upper: _Ints) -> Iterator[int]:
    """Number of vectors of each box."""
    step = max(1, _BLOCK // lower.shape[1])
    for first in range(0, len(lower), step):
        some = slice(first, first + step)
        for widths in np.maximum(upper[some] - lower[some] + 1, 0).tolist():
            yield math.prod(widths)


class _Seen(NamedTuple):
    """What a first look at all boxes shows."""

    valueless: Check  #: of boxes that need no value
    valued: IntArray  #: the boxes whose values count
    weight: NDArray[np.float64]  #: what each of them could hide, where they are weighed
    needs_zero: bool


def _look(checker: BoxChecker, *, weigh: bool) -> _Seen:
    kinds = (Reason.FORBIDDEN, Reason.DOUBLED, Reason.SHIFTED)
    counts, needs_zero, wrong = [0, 0, 0], False, None
    valued, weight = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for part in checker.blocks():
        wrong = wrong or part.wrong_forbidden() or part.wrong_doubled() or part.wrong_shifted()
        counts = [n + part.having(kind).size for n, kind in zip(counts, kinds, strict=True)]
        needs_zero |= part.needs_zero()
        which = part.having(*_VALUED)
        valued.append(which + part.first)
        if weigh:
            weight.append(_hidden(part, which))
    text = (
        f"{counts[0]:,} boxes hold nothing allowed, {counts[1]:,} are no better than their "
        f"doubles, {counts[2]:,} no better than when shifted"
    )
    check = Check("reasons", wrong is None, text if wrong is None else wrong)
    return _Seen(check, np.concatenate(valued), np.concatenate(weight), needs_zero)


def _check_values(checker: BoxChecker, seen: _Seen, sample: int | None, seed: int) -> Check:
    which = seen.valued
    text = f"all {which.size:,} boxes are worth no more than stated"
    ok: bool | None = True
    if sample is not None and sample < which.size:
        share = seen.weight / seen.weight.sum()
        rng = np.random.default_rng(seed)
        drawn = np.unique(which[rng.choice(which.size, sample, p=share)])
        text = f"{drawn.size:,} of {which.size:,} boxes, drawn with seed {seed}, are worth no more "
        text += f"than stated: {sample_text(sample)}"
        which, ok = drawn, None
    for part in checker.blocks():
        first, last = np.searchsorted(which, [part.first, part.first + len(part.boxes)])
        these = which[first:last] - part.first
        wrong = part.wrong_value(*these.tolist()) if these.size else None
        if wrong is not None:
            return Check("values", False, wrong)
    return Check("values", ok, text)


def sample_text(size: int) -> str:
    """What a sample of boxes shows, none of which was wrong."""
    share = math.ceil(1e4 * (1 - 0.05 ** (1 / size))) / 100
    return (
        f"with 95% certainty fewer than {share:g}% of the boxes are wrong, each weighed by what it "
        "could hide"
    )


def _hidden(part: BoxChecker, which: IntArray) -> NDArray[np.float64]:
    """What false boxes could hide, by which they are drawn.

    That is how far its value lies below what calls alone could be worth, times the number of its
    cards in bits: a few large boxes with false values would hide a better card from a draw by
    number, many small ones from a draw by volume.
    """
    gains = part.integers.gains
    ceiling = int(np.maximum(gains, 0).sum()) - part.paid[which].astype(np.float64)
    excess = np.maximum(ceiling - part.boxes.values[which], 1.0)
    volumes = _volumes(part.tight.lower[which], part.tight.upper[which])
    bits = np.array([1 + math.log2(max(volume, 1)) for volume in volumes])
    hidden: NDArray[np.float64] = excess * bits
    return hidden


def _check_highest(checker: BoxChecker, seen: _Seen, bound: Fraction) -> Check:
    integers, recount = checker.integers, checker.integers.recount
    which = seen.valued
    if which.size:
        b = int(which[np.argmax(checker.boxes.values[which])])
        highest = integers.to_objective(int(checker.boxes.values[b]))
        if highest > bound:
            text = f"box {b + 1} may be worth {float(highest):.9f}, above {float(bound):.9f}"
            return Check("bound", False, text)
    if seen.needs_zero:
        zero = [0] * recount.statement.lower.size
        exact = None if recount.forbids(zero) else recount.evaluate(zero)
        if exact is not None and exact.objective > bound:
            text = f"the card without points is worth {float(exact.objective):.9f}, above the bound"
            return Check("bound", False, text)
    return Check("bound", True, f"no box is stated to be worth more than {shown(bound, up=True)}")


def shown(value: Fraction, *, up: bool = False) -> str:
    """A number as a fraction, if that can be read, and as a decimal: rounded up, if asked to."""
    decimal = float(Fraction(math.ceil(10**6 * value), 10**6) if up else value)
    return f"{value} = {decimal:.6f}" if value.denominator < 10**12 else f"{decimal:.6f}"
