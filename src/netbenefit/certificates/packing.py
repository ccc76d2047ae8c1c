"""Packed boxes: what their cards are worth at most, by prices and multipliers of conflicts.

A card that calls all patterns P of a conflict and none of its patterns N has D·λ ≥ g·A, where
D = Σ times · units and A is the sum of the positive times: it *resolves* the conflict.  So

    Σ_P (1 − z) + Σ_N z + [resolved] ≥ 1

for what every card calls (z), and multiples of that may be added to the value of a card.  To
resolve a conflict, points must be paid for, or lie on one side of D·λ = 0.  The text of
``docs/certificate_format.md`` gives the same steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.certificates.recount import IntegerRecount
from netbenefit.certificates.statement import Statement
from netbenefit.common import InputError, IntArray
from netbenefit.problem import Asked, Packing, Way

_Mask = NDArray[np.bool_]

# -- step 0: what the limits leave of a box --------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tight:
    """What the limits leave of boxes (B of them)."""

    lower: IntArray  #: (B, P) points
    upper: IntArray
    used: _Mask  #: (B, P) columns that have points for sure
    certain: _Mask  #: (B, Q) questions that are asked for sure
    asked: _Mask  #: (B, Q) questions that may be asked
    empty: _Mask  #: (B,) whether nothing is left

    def paid(self, price: int, question_price: int, member: NDArray[np.float32]) -> IntArray:
        """(B,) what all cards of a box pay."""
        own = self.used.astype(np.float32) @ member > 0
        rules = self.used.sum(axis=1) + (self.certain & ~own).sum(axis=1)
        result: IntArray = price * rules + question_price * self.certain.sum(axis=1)
        return result


def members(statement: Statement) -> NDArray[np.float32]:
    """(P, Q) 1 where a column belongs to a question."""
    asked = statement.questions
    result: NDArray[np.float32] = np.equal.outer(asked.of_column, np.arange(len(asked))).astype(
        "f4"
    )
    return result


def tighten(statement: Statement, lower: IntArray, upper: IntArray, asked: IntArray) -> Tight:
    """Apply limits on values, columns and questions to boxes, until nothing changes."""
    low = np.maximum(lower, statement.lower)
    high = np.minimum(upper, statement.upper)
    of, member = statement.questions.of_column, members(statement)
    off, certain = asked == Asked.NO, asked == Asked.YES
    used = np.zeros(low.shape, dtype=np.bool_)
    most, most_asked = statement.max_features, statement.limits.asked.most
    while True:
        before = [part.copy() for part in (low, high, off, certain, used)]
        _shrink(statement, low, high)
        full = used.sum(axis=1) == most
        zero = off[:, of] | (full[:, None] & ~used)
        low, high = (
            np.where(zero, np.maximum(low, 0), low),
            np.where(zero, np.minimum(high, 0), high),
        )
        used |= (low > 0) | (high < 0)
        open_columns = (low != 0) | (high != 0)
        count = open_columns.astype(np.float32) @ member
        certain |= used.astype(np.float32) @ member > 0
        used |= open_columns & (certain & (count == 1))[:, of]
        off |= (certain.sum(axis=1) == most_asked)[:, None] & ~certain
        after = (low, high, off, certain, used)
        if all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)):
            break
    empty = (low > high).any(axis=1) | (off & certain).any(axis=1)
    empty |= (certain & (count == 0)).any(axis=1)
    empty |= (used.sum(axis=1) > most) | (certain.sum(axis=1) > most_asked)
    return Tight(low, high, used, certain, ~off, empty)


def _shrink(statement: Statement, low: IntArray, high: IntArray) -> None:
    """Move both ends of ranges inwards to allowed points; where there are none, they cross."""
    widths = (statement.upper - statement.lower + 1).tolist()
    for k, width in enumerate(widths):
        mask = statement.limits.values[k, :width]
        if mask.all():
            continue
        allowed = np.flatnonzero(mask) + statement.lower[k]
        ends = np.concatenate([[statement.lower[k] - 1], allowed, [statement.upper[k] + 1]])
        low[:, k] = ends[np.searchsorted(ends, low[:, k].clip(ends[0] + 1, ends[-1]))]
        high[:, k] = ends[
            np.searchsorted(ends, high[:, k].clip(ends[0], ends[-1] - 1), "right") - 1
        ]


# -- the bound -------------------------------------------------------------------------------------


#: Patterns of entries times columns that are looked at together.
_AT_ONCE = 2**21
#: Members that a conflict may have, even if there are fewer patterns.
_MOST_MEMBERS = 2**12
#: Entries that are measured together.
_PART = 2**18
#: Sums of multipliers stay below this.
_ROOM = 2.0**61


class _Sums(NamedTuple):
    """What the entries of a box add up to."""

    calls: IntArray  #: (m, cells) what calling a cell gains, after all entries
    plus: IntArray  #: (P,) charged to positive points
    minus: IntArray  #: (P,) charged to negative points
    pools: dict[bytes, list[int]]  #: of each ±δ, both sums


@dataclass(frozen=True, eq=False)
class PackedBound:
    """The bound of packed boxes, of one problem and one list of conflicts."""

    integers: IntegerRecount
    packing: Packing | None  #: with patterns by their position in the table

    @property
    def _statement(self) -> Statement:
        return self.integers.recount.statement

    def wrong_conflicts(self) -> str | None:
        """Say why conflicts cannot be used; None where they can."""
        if self.packing is None:
            return None
        one = self.packing.conflicts
        gains, statement = self.integers.gains, self._statement
        if (np.diff(one.start) < 2).any():
            return "a conflict has fewer than two patterns"
        if (np.diff(one.start) > max(_MOST_MEMBERS, gains.shape[1])).any():
            return f"a conflict has more members than patterns, and than {_MOST_MEMBERS:,}"
        if len(one) and (
            one.threshold.min() < 0
            or one.threshold.max() >= gains.shape[0]
            or one.pattern.min() < 0
            or one.pattern.max() >= gains.shape[1]
        ):
            return "a conflict names a threshold or a pattern that there is not"
        most = statement.limits.support.shape[0] + 2
        if self.packing.limit.size and self.packing.limit.max() >= most:
            return "a fine names a limit that there is not"
        largest = np.maximum(np.abs(statement.lower), np.abs(statement.upper)).astype(np.float64)
        reach = float((np.abs(self.integers.units) @ largest).max()) + self.integers.unit
        if len(one):
            size = np.add.reduceat(np.abs(one.times.astype(np.float64)), one.start[:-1])
            if size.max() * reach >= _ROOM:
                return "the times of a conflict are too large"
            if np.add.reduceat(one.times, one.start[:-1]).any() or not one.times.all():
                return "the times of a conflict do not add up to 0, or one of them is 0"
        return None

    def highest(self, tight: Tight, b: int, box: int) -> int:
        """No card of box ``b`` of these is worth more, which is number ``box`` of all."""
        low, high = tight.lower[b], tight.upper[b]
        fixed = low == high
        decided = fixed | (tight.used[b] & ((low >= 0) | (high <= 0)))
        cell, calls = self._cells(fixed, low)
        zero = np.zeros(low.size, dtype=np.int64)
        sums = _Sums(calls, zero, zero.copy(), {})
        worth = 0
        for entries in self._entries(box):
            worth += self._add(entries, sums, cell, low, high, decided)
        fined, prices, question_price = self._prices(box)
        worth += fined + sum(max(pair) for pair in sums.pools.values())
        worth += int(np.maximum(sums.calls, 0).sum())
        charge = np.where(decided, 0, np.maximum(sums.plus, sums.minus)).tolist()
        paid = [price - off for price, off in zip(prices, charge, strict=True)]
        return worth - self._cost(tight, b, paid, question_price)

    def _cells(self, fixed: _Mask, low: IntArray) -> tuple[IntArray, IntArray]:
        """(n,) cell of each pattern, and (m, cells) gains: what is alike in all of the box."""
        units, gains = self.integers.units, self.integers.gains
        ranks, sizes = self._ranks
        parts = [(ranks[:, k], sizes[k]) for k in np.flatnonzero(~fixed)]
        parts.append(_numbered(units[:, fixed] @ low[fixed]))
        label, count = np.zeros(len(units), dtype=np.int64), 1
        for part, size in parts:
            if count * size >= 2**62:
                label, count = _numbered(label)
            label, count = label * size + part, count * size
        label, count = _numbered(label)
        order = np.argsort(label, kind="stable")
        first = np.searchsorted(label[order], np.arange(count))
        return label, np.ascontiguousarray(np.add.reduceat(gains[:, order], first, axis=1))

    @cached_property
    def _ranks(self) -> tuple[IntArray, list[int]]:
        """(n, P) values of each column, numbered, and how many there are."""
        numbered = [_numbered(column) for column in self.integers.units.T]
        return np.stack([ranks for ranks, _ in numbered], axis=1), [size for _, size in numbered]

    @cached_property
    def _steps(self) -> IntArray:
        """(P,) greatest common divisor of each column's units."""
        result: IntArray = np.gcd.reduce(self.integers.units, axis=0)
        return result

    def _entries(self, b: int) -> Iterator[slice]:
        """Yield the entries of a box, some thousands of patterns at a time."""
        if self.packing is None:
            return
        most = max(1, _AT_ONCE // self.integers.units.shape[1])
        first, last = (int(v) for v in self.packing.start[b : b + 2])
        packing, sizes = self.packing, np.diff(self.packing.conflicts.start)
        parts = [slice(a, min(last, a + _PART)) for a in range(first, last, _PART)]
        total = sum(
            float((packing.amount[part].astype(np.float64) * sizes[packing.conflict[part]]).sum())
            for part in parts
        )
        if total >= _ROOM:
            raise InputError(f"the multipliers of box {b + 1} are too large.")
        for part in parts:
            start, ends = 0, np.cumsum(sizes[packing.conflict[part]])
            while start < ends.size:
                before = int(ends[start - 1]) if start else 0
                stop = max(start + 1, int(np.searchsorted(ends, before + most, "right")))
                yield slice(part.start + start, part.start + stop)
                start = stop

    def _add(
        self,
        entries: slice,
        sums: _Sums,
        cell: IntArray,
        low: IntArray,
        high: IntArray,
        decided: _Mask,
    ) -> int:
        """Add entries to the sums; return Σ y · (|P| − 1)."""
        assert self.packing is not None
        packing, one, units = self.packing, self.packing.conflicts, self.integers.units
        conflict, y, way = packing.conflict[entries], packing.amount[entries], packing.way[entries]
        size = one.start[conflict + 1] - one.start[conflict]
        first = np.cumsum(size) - size
        member = np.repeat(one.start[conflict] - first, size) + np.arange(int(size.sum()))
        pattern, times = one.pattern[member], one.times[member]
        D = np.add.reduceat(times[:, None] * units[pattern], first, axis=0)
        moves = (low != 0) | (high != 0)
        least = int(np.gcd.reduce(self._steps[moves], initial=self.integers.unit))
        need = least * np.add.reduceat(np.maximum(times, 0), first)
        reach = np.maximum(D * low, D * high)
        resolvable = reach.sum(axis=1) >= need
        need = need - reach[:, decided].sum(axis=1)
        signs = way == Way.SIGNS
        _charge(sums, D, reach, need, y, signs & resolvable & (need > 0), ~decided)
        _pool(sums.pools, D * moves, y, ~signs & resolvable)
        kept = ~signs | (need > 0)
        entry = np.repeat(np.arange(y.size), size)
        count = np.zeros(y.size, dtype=np.int64)
        flat, cells = sums.calls.reshape(-1), sums.calls.shape[1]  # the same numbers
        for positive in (True, False):
            these = ((times > 0) == positive) & kept[entry]
            pairs = np.unique(entry[these] * cells + cell[pattern[these]])  # each cell once
            of, where = pairs // cells, pairs % cells
            where = one.threshold[conflict[of]] * cells + where
            np.add.at(flat, where, -y[of] if positive else y[of])
            if positive:
                count = np.bincount(of, minlength=y.size)
        return int((y * (count - 1))[kept].sum())

    def _prices(self, b: int) -> tuple[int, list[int], int]:
        """Σ fines · limits, and the prices of columns and of a question with all fines."""
        statement = self._statement
        rows = [*statement.limits.support.tolist(), [1] * statement.lower.size]
        limits = [*statement.limits.support_limit.tolist(), statement.max_features]
        prices, question_price = [self.integers.price] * statement.lower.size, 0
        fined = 0
        if self.packing is not None:
            fines = slice(*self.packing.fine_start[b : b + 2].tolist())
            for r, fine in zip(
                self.packing.limit[fines].tolist(), self.packing.fine[fines].tolist(), strict=True
            ):
                if r == len(rows):
                    question_price += fine
                    fined += fine * statement.limits.asked.most
                    continue
                prices = [price + fine * own for price, own in zip(prices, rows[r], strict=True)]
                fined += fine * limits[r]
        return fined, prices, question_price + self.integers.question_price

    def _cost(self, tight: Tight, b: int, paid: list[int], question_price: int) -> int:
        """Least that the cards of a box pay, after what they are charged with."""
        low, high = tight.lower[b], tight.upper[b]
        used, may = tight.used[b].tolist(), ((low != 0) | (high != 0)).tolist()
        of = self._statement.questions.of_column.tolist()
        best: dict[int, list[int]] = {}  # of each question: forced, gladly chosen
        forced, glad = [[0] * tight.certain.shape[1] for _ in range(2)]
        some = [False] * tight.certain.shape[1]
        for k, q in enumerate(of):
            if not may[k]:
                continue
            best.setdefault(q, []).append(paid[k])
            if used[k]:
                forced[q] += paid[k]
                some[q] = True
            elif paid[k] < 0:
                glad[q] += paid[k]
        total = 0
        for q, prices in best.items():
            certain = bool(tight.certain[b, q])
            cost = forced[q] + glad[q]
            if not some[q] and not glad[q]:
                cost = min(prices)
            cost += question_price
            total += cost if certain else min(0, cost)
        return total


def _numbered(values: IntArray) -> tuple[IntArray, int]:
    """Number equal values from 0 on."""
    different, label = np.unique(values, return_inverse=True)
    return label.astype(np.int64).reshape(values.shape), different.size


def _charge(
    sums: _Sums,
    D: IntArray,
    reach: IntArray,
    need: IntArray,
    y: IntArray,
    which: _Mask,
    undecided: _Mask,
) -> None:
    """Share out entries among the columns whose points could resolve them."""
    columns = np.flatnonzero(undecided)
    D, need, y = D[np.ix_(which, columns)], need[which, None], y[which, None]
    part = np.minimum(reach[np.ix_(which, columns)], need)
    if part.size and float(y.max()) * float(part.max()) >= _ROOM:
        part, need, y = (array.astype(object) for array in (part, need, y))
    share = (-(-(y * part) // need)).astype(np.int64)
    sums.plus[columns] += np.where(D > 0, share, 0).sum(axis=0)
    sums.minus[columns] += np.where(D < 0, share, 0).sum(axis=0)


def _pool(pools: dict[bytes, list[int]], D: IntArray, y: IntArray, which: _Mask) -> None:
    """Add entries up by direction; opposite directions share a pool, as one excludes the other."""
    D = D[which]
    if not len(D):
        return
    D = D // np.gcd.reduce(D, axis=1)[:, None]
    leading = D[np.arange(len(D)), np.argmax(D != 0, axis=1)]
    D *= np.sign(leading)[:, None]
    for row, sign, amount in zip(D, leading.tolist(), y[which].tolist(), strict=True):
        pools.setdefault(row.tobytes(), [0, 0])[int(sign < 0)] += amount
