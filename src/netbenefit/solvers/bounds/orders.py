"""What cards on some questions lose because scores add up, as packed conflicts of two cells.

Patterns with the same answers to all questions that are asked form a cell: a card calls all of
them or none.  For a difference d between two cells, d·λ has one sign, which orders all pairs of
cells with this difference, at all thresholds: if d·λ ≥ 0, no card calls the lower cell of such a
pair without the upper one.  Of a gain of the lower and a loss of the upper cell, the smaller is
then lost.  So with A lost if d·λ ≥ 0, and B lost if d·λ ≤ 0, each card loses min(A, B).  Losses
that use up different parts of gains add up, over pairs and differences; these are between answers
to one question or to two.

1. Where d is a step in one column k, a card with λ_k = 0 loses A and B.  One with λ_k ≠ 0 pays for
   k.  So of A and of B, as much as the price is lost by every card, without a pool: conflicts of
   way SIGNS.  Only the cheapest column of a question that must have one is paid for already.
2. Bounds of points may rule a sign out; then all of A, or of B, is lost.
3. All others are conflicts of way ORDER, as much with the one sign as with the other.

Differences with much loss for few conflicts come first, so that the list may be cut as soon as
enough is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import IntArray
from netbenefit.problem import Boxes, Conflicts, IntegerProblem, Packing, Reason, Way
from netbenefit.solvers.bounds.packed import Entries, TightBox
from netbenefit.solvers.kernels.coordinates import fill
from netbenefit.solvers.kernels.jit import ONE, WORD, count_bits, internal, jit

#: Most pairs of cells of one support that are compared.
_MOST_PAIRS = 200_000
#: Most answers to a question for which differences between answers are compared.
_MOST_ANSWERS = 64
_SIGNS, _ORDER = int(Way.SIGNS), int(Way.ORDER)


class PairConflicts(NamedTuple):
    """Multipliers of conflicts of one called and one uncalled pattern, in parts.

    Each part loses its share of :attr:`lost` by itself.
    """

    threshold: IntArray  #: (E,)
    called: IntArray  #: (E,) pattern
    other: IntArray  #: (E,) pattern
    amount: IntArray  #: (E,) above 0
    way: IntArray  #: (E,)
    end: IntArray  #: (parts,) where each part ends
    lost: IntArray  #: (parts,) by this and all parts before

    @property
    def loss(self) -> int:
        """What all parts lose."""
        return int(self.lost[-1]) if self.lost.size else 0

    def enough(self, loss: int) -> PairConflicts:
        """The first parts that lose as much; all, if these do not."""
        kept = min(int(np.searchsorted(self.lost, loss)) + 1, self.lost.size) if loss > 0 else 0
        size = int(self.end[kept - 1]) if kept else 0
        return PairConflicts(
            self.threshold[:size],
            self.called[:size],
            self.other[:size],
            self.amount[:size],
            self.way[:size],
            self.end[:kept],
            self.lost[:kept],
        )

    def entries(self) -> tuple[Entries, Conflicts]:
        """The same as multipliers of a box, one conflict for each."""
        count, none = self.amount.size, np.zeros(0, dtype=np.int64)
        members = np.stack([self.called, self.other], axis=1).reshape(-1).astype(np.int64)
        times, start = np.tile(np.array([1, -1]), count), 2 * np.arange(count + 1)
        conflicts = Conflicts(self.threshold.astype(np.int64), start, members, times)
        return Entries(np.arange(count), self.amount, self.way, none, none), conflicts


def no_conflicts() -> PairConflicts:
    """Nothing is lost."""
    return PairConflicts(*(np.zeros(0, dtype=np.int64) for _ in range(7)))


def as_packed(
    integers: IntegerProblem,
    asked: IntArray | None,
    values: IntArray,
    conflicts: Sequence[PairConflicts | None],
) -> Boxes:
    """Boxes of all points, told apart by what is asked, as a proof with its multipliers."""
    count, n = values.size, integers.units.shape[0]
    each = [[] if one is None else [one] for one in conflicts]
    some = [one for part in each for one in part]
    threshold, called, other, amount, way = (
        np.concatenate([np.zeros(0, dtype=np.int64), *(one[f] for one in some)]) for f in range(5)
    )
    key, which = np.unique((threshold * n + called) * n + other, return_inverse=True)
    pairs = np.stack([key // n % n, key % n], axis=1)
    sizes = [sum(one.amount.size for one in part) for part in each]
    nothing = np.zeros(0, dtype=np.int64)
    packing = Packing(
        Conflicts(
            key // (n * n),
            2 * np.arange(key.size + 1),
            pairs.reshape(-1),
            np.tile(np.array([1, -1]), key.size),
        ),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        which.reshape(-1).astype(np.int64),
        amount,
        way,
        np.zeros(count + 1, dtype=np.int64),
        nothing,
        nothing,
    )
    return Boxes(
        np.broadcast_to(integers.lower, (count, integers.lower.size)),
        np.broadcast_to(integers.upper, (count, integers.upper.size)),
        values,
        np.full(count, int(Reason.PACKED), dtype=np.uint8),
        None if asked is None else asked.astype(np.uint8),
        packing,
    )


def answer_codes(units: IntArray, columns: IntArray) -> IntArray:
    """(n,) number of each pattern's answer to the question with these columns."""
    _, codes = np.unique(units[:, columns], axis=0, return_inverse=True)
    result: IntArray = codes.reshape(-1).astype(np.int64)
    return result


class Orders:
    """Differences between answers to questions, and what cells lose by them."""

    def __init__(self, integers: IntegerProblem, root: TightBox, items: Sequence[IntArray]) -> None:
        """``items`` are the columns that are not fixed at 0 of each question."""
        units, price = integers.units, integers.price
        self._gains = np.ascontiguousarray(integers.gains.T)
        self.codes = np.array([answer_codes(units, own) for own in items], dtype=np.int64)
        self.codes = self.codes.reshape(len(items), units.shape[0])
        self._most = most = int(self.codes.max(initial=0)) + 1
        self._few = most <= _MOST_ANSWERS
        shape = len(items), *((most, most) if self._few else (0, 0))
        #: what the second answer is worth beyond the first: least, most
        self._spans = np.zeros((2, *shape), dtype=np.int64)
        #: 2 · column + (whether the second answer has less of it), where they differ in one
        self._single = np.full(shape, -1, dtype=np.int64)
        self._pays = np.ones(len(items), dtype=np.bool_)
        self._charged = 2 * units.shape[1]  # one for each sign of each column
        self._price = price
        for j, own in enumerate(items if self._few else ()):
            answers = units[np.unique(self.codes[j], return_index=True)[1]][:, own]
            count = len(answers)
            d = answers[None] - answers[:, None]
            ends = d * root.lower[own], d * root.upper[own]
            self._spans[0, j, :count, :count] = np.minimum(*ends).sum(axis=2)
            self._spans[1, j, :count, :count] = np.maximum(*ends).sum(axis=2)
            k = (d != 0).argmax(axis=2)
            step = np.take_along_axis(d, k[:, :, None], axis=2)[:, :, 0]
            both = (root.lower[own] < 0) & (root.upper[own] > 0) & ~root.used[own]
            single = ((d != 0).sum(axis=2) == 1) & both[k]
            self._single[j, :count, :count] = np.where(single, 2 * own[k] + (step < 0), -1)
            self._pays[j] = not root.used[own].any()

    def saturated(self, chosen: Sequence[int]) -> int:
        """Σ over cells and thresholds of what the best call adds."""
        return int(_saturated(self.codes[list(chosen)], self._gains, self._most))

    def conflicts(
        self, chosen: Sequence[int], differ: int = 2, enough: int = 2**62
    ) -> PairConflicts:
        """What every card on these questions, and no others, loses; parts that lose ``enough``.

        Cells of a pair have other answers to at most ``differ`` questions, one or two.
        """
        own = list(chosen)
        if not self._few or not own:
            return no_conflicts()
        entry, end, lost = _conflicts(
            self.codes[own],
            self._gains,
            self._spans[:, own],
            self._single[own],
            self._pays[own],
            np.zeros(self._charged, dtype=np.int64),
            self._price,
            differ,
            _MOST_PAIRS,
        )
        # The parts that lose most for each conflict first.
        size = np.diff(end, prepend=0)
        ranked = np.argsort(-lost / np.maximum(size, 1), kind="stable")
        ends = np.cumsum(size[ranked])
        places = np.arange(entry.shape[1]) + np.repeat(end[ranked] - ends, size[ranked])
        parts = *entry[:, places], ends, np.cumsum(lost[ranked])
        kept = PairConflicts(*parts).enough(enough)
        return kept._replace(
            threshold=kept.threshold.astype(np.int32),
            called=kept.called.astype(np.int32),
            other=kept.other.astype(np.int32),
            way=kept.way.astype(np.uint8),
        )


@internal
def _in_order(codes: Any, side: int) -> Any:
    """Patterns sorted by all their answers."""
    order = _up_to(codes.shape[1])
    for j in range(codes.shape[0] - 1, -1, -1):
        order = _sorted(order, codes[j], side)
    return order


@internal
def _up_to(n: int) -> Any:
    """0, 1, … n − 1."""
    order = np.empty(n, dtype=np.int64)
    for p in range(n):
        order[p] = p
    return order


@internal
def _cells(codes: Any, side: int) -> Any:
    """Number the cells of patterns that have the same codes; and how many there are."""
    n = codes.shape[1]
    order = _in_order(codes, side)
    cell = np.empty(n, dtype=np.int64)
    count = -1
    for place in range(n):
        u = order[place]
        new = place == 0
        for j in range(codes.shape[0]):
            if not new and codes[j, u] != codes[j, order[place - 1]]:
                new = True
        count += 1 if new else 0
        cell[u] = count
    return cell, count + 1


@jit
def _saturated(codes: IntArray, gains: IntArray, side: int) -> Any:
    cell, count = _cells(codes, side)
    totals = np.zeros((count, gains.shape[1]), dtype=np.int64)
    for u in range(cell.size):
        for i in range(gains.shape[1]):
            totals[cell[u], i] += gains[u, i]
    saturated = 0
    for c in range(count):
        for i in range(gains.shape[1]):
            saturated += max(totals[c, i], 0)
    return saturated


@internal
def _sorted(order: Any, number: Any, side: int) -> Any:
    """Sort by numbers below ``side``; equals stay as they are."""
    start = np.zeros(side + 1, dtype=np.int64)
    for p in order:
        start[number[p] + 1] += 1
    for v in range(side):
        start[v + 1] += start[v]
    result = np.empty(order.size, dtype=np.int64)
    for p in order:
        result[start[number[p]]] = p
        start[number[p]] += 1
    return result


@internal
def _longer(pair: Any, size: int, more: int) -> Any:
    """An array with room for more pairs."""
    if size + more <= pair.shape[1]:
        return pair
    longer = np.empty((2, 2 * pair.shape[1] + more), dtype=np.int64)
    for p in range(size):
        longer[0, p], longer[1, p] = pair[0, p], pair[1, p]
    return longer


@internal
def _next(codes: Any, at: Any, calls: Any, side: int, most: int) -> Any:
    """Pairs of cells that are called differently, with other answers to one question."""
    pair, size, n = np.empty((2, 4096), dtype=np.int64), 0, calls.size
    for j in range(codes.shape[0]):
        order = _up_to(n)
        for h in range(codes.shape[0]):
            if h != j:
                order = _sorted(order, at[h], side)
        begin = 0
        while begin < n and size < most:
            end = begin + 1
            while end < n:
                same = True
                for h in range(codes.shape[0]):
                    if h != j and at[h, order[end]] != at[h, order[begin]]:
                        same = False
                if not same:
                    break
                end += 1
            pair = _longer(pair, size, (end - begin) * (end - begin))
            for a in range(begin, end):
                for b in range(a + 1, end):
                    if calls[order[a]] != calls[order[b]]:
                        pair[0, size], pair[1, size] = order[a], order[b]
                        size += 1
            begin = end
    return pair[:, :size]


@internal
def _near(sets: Any, calls: Any, most: int) -> Any:
    """Pairs of cells that are called differently, with other answers to one or two questions."""
    pair, size, n = np.empty((2, 4096), dtype=np.int64), 0, calls.size
    distance = np.empty(n, dtype=np.int64)
    for u in range(n):
        if size >= most:
            break
        pair = _longer(pair, size, n)
        first, second = pair[0], pair[1]
        fill(distance, 0)
        for word in range(sets.shape[0]):
            own, all_sets = sets[word, u], sets[word]
            for w in range(u + 1, n):
                distance[w] += count_bits(own ^ all_sets[w])
        for w in range(u + 1, n):  # written in any case, and kept if near: no jumps
            first[size], second[size] = u, w
            size += (distance[w] <= 4) & (calls[u] != calls[w])
    return pair[:, :size]


@jit
def _conflicts(
    codes: IntArray,
    gains: IntArray,
    spans: IntArray,
    single: IntArray,
    pays: NDArray[np.bool_],
    charge: IntArray,
    price: int,
    differ: int,
    most_pairs: int,
) -> Any:
    """The conflicts of :class:`PairConflicts`, (5, E), where each part ends, and what it loses."""
    n_items, n_answers, m = codes.shape[0], spans.shape[2], gains.shape[1]
    # 1. What each cell can gain and lose.
    cell, count = _cells(codes, n_answers)
    left = np.zeros((count, m), dtype=np.int64)
    at = np.zeros((n_items, count), dtype=np.int64)
    named = np.zeros(count, dtype=np.int64)
    for row in range(cell.size):
        for i in range(m):
            left[cell[row], i] += gains[row, i]
        for j in range(n_items):
            at[j, cell[row]] = codes[j, row]
        named[cell[row]] = row
    # 2. Pairs of cells with other answers to one or two questions; two bits of their sets differ
    # for each.  They are numbered by these answers, and sorted with those to one question first.
    # Cells that are called alike lose nothing.
    sets = np.zeros((n_items * n_answers // WORD + 1, count), dtype=np.uint64)
    calls = np.zeros(count, dtype=np.int64)
    for c in range(count):
        for j in range(n_items):
            bit = j * n_answers + at[j, c]
            sets[bit // WORD, c] |= ONE << np.uint64(bit % WORD)
        for i in range(m):
            calls[c] += 1 if left[c, i] > 0 else 0
    if differ == 1:
        pair = _next(codes, at, calls, n_answers, most_pairs)
    else:
        pair = _near(sets, calls, most_pairs)
    size, room = pair.shape[1], 0
    number = np.zeros((2, size), dtype=np.int64)
    for p in range(size):
        u, w = pair[0, p], pair[1, p]
        for j in range(n_items):
            if at[j, u] != at[j, w]:  # u is lower at the first, as cells are in order
                number[1, p] = number[0, p]
                number[0, p] = (j * n_answers + at[j, u]) * n_answers + at[j, w] + 1
        room += abs(calls[u] - calls[w])
    order = _up_to(size)
    side = n_items * n_answers * n_answers + 1
    for digit in range(2):
        order = _sorted(order, number[digit], side)
    # 3. What each difference loses.
    entry = np.empty((5, 2 * room), dtype=np.int64)
    end, lost = np.empty(size + 1, dtype=np.int64), np.empty(size + 1, dtype=np.int64)
    filled, part = 0, 0
    if price > 0:
        filled, lost[0] = _take_signs(
            pair, order, number, at, calls, named, single, pays, charge, price, left, entry
        )
        end[0], part = filled, 1
    state = np.zeros((4, 2), dtype=np.int64)
    begin = 0
    while begin < size:
        stop = begin
        while (
            stop < size
            and number[0, order[stop]] == number[0, order[begin]]
            and number[1, order[stop]] == number[1, order[begin]]
        ):
            stop += 1
        u, w = pair[0, order[begin]], pair[1, order[begin]]
        least, most = np.int64(0), np.int64(0)
        for j in range(n_items):
            if at[j, u] != at[j, w]:
                least += spans[0, j, at[j, u], at[j, w]]
                most += spans[1, j, at[j, u], at[j, w]]
        own = order[begin:stop]
        loss = np.int64(0)
        if least >= 0 or most <= 0:
            if least >= 0:
                filled, loss = _take_all(pair[0], pair[1], own, calls, left, named, entry, filled)
            if most <= 0:
                filled, more = _take_all(pair[1], pair[0], own, calls, left, named, entry, filled)
                loss += more
        else:
            filled, loss = _take_both(pair, own, calls, left, named, entry, filled, state)
        if loss > 0:
            lost[part], end[part] = loss, filled
            part += 1
        begin = stop
    return entry[:, :filled], end[:part], lost[:part]


@internal
def _note(entry: Any, filled: int, i: int, called: int, other: int, y: Any, way: int) -> Any:
    """Write a conflict down."""
    entry[0, filled], entry[1, filled], entry[2, filled] = i, called, other
    entry[3, filled], entry[4, filled] = y, way
    return filled + 1


@internal
def _take_signs(
    pair: Any,
    order: Any,
    number: Any,
    at: Any,
    calls: Any,
    named: Any,
    single: Any,
    pays: Any,
    charge: Any,
    price: int,
    left: Any,
    entry: Any,
) -> Any:
    """Use up gains and losses of pairs along single columns, up to the price of each sign."""
    n_items, filled = at.shape[0], 0
    total = np.int64(0)
    for p in order:
        if number[1, p] > 0:
            continue
        for j in range(n_items):
            u, w = pair[0, p], pair[1, p]
            if at[j, u] == at[j, w] or single[j, at[j, u], at[j, w]] < 0:
                continue
            # even: w has more of the column, so that u above w needs points below 0
            lower, upper, where = u, w, single[j, at[j, u], at[j, w]] ^ 1
            if calls[u] < calls[w]:
                lower, upper, where = w, u, where ^ 1
            for i in range(calls[upper], calls[lower]):
                x = min(left[lower, i], -left[upper, i], price - charge[where])
                if x > 0:
                    charge[where] += x
                    left[lower, i] -= x
                    left[upper, i] += x
                    filled = _note(entry, filled, i, named[lower], named[upper], x, _SIGNS)
                    total += x
    for j in range(n_items):  # one column of each question is paid for already
        most = np.int64(0)
        for a in range(single.shape[1]):
            for b in range(single.shape[2]):
                v = single[j, a, b]
                if v >= 0:
                    most = max(most, charge[v], charge[v ^ 1])
        if pays[j]:
            total -= most
    return filled, total


@internal
def _take_all(
    lower: Any, upper: Any, own: Any, calls: Any, left: Any, named: Any, entry: Any, filled: int
) -> Any:
    """Use up gains of lower cells and losses of upper ones; return how much."""
    total = np.int64(0)
    for p in own:
        u, w = lower[p], upper[p]
        for i in range(calls[w], calls[u]):
            x = min(left[u, i], -left[w, i])
            if x > 0:
                left[u, i] -= x
                left[w, i] += x
                filled = _note(entry, filled, i, named[u], named[w], x, _ORDER)
                total += x
    return filled, total


@internal
def _take_both(
    pair: Any,
    own: Any,
    calls: Any,
    left: Any,
    named: Any,
    entry: Any,
    filled: int,
    state: Any,
) -> Any:
    """Use up as much in the one order of cells as in the other; return how much in each."""
    total = np.int64(0)
    # Of each order: place of the current pair, its threshold, and what has been used up, but not
    # written down.
    place, i, held, found = state[0], state[1], state[2], state[3]
    for way in range(2):
        place[way], i[way], held[way] = 0, -1, 0
    while True:
        for way in range(2):
            found[way] = 0
            while place[way] < own.size:
                p = own[place[way]]
                u, w = pair[way, p], pair[1 - way, p]
                if i[way] < 0:
                    i[way] = calls[w]
                if i[way] < calls[u]:
                    found[way] = min(left[u, i[way]], -left[w, i[way]])
                    if found[way] > 0:
                        break
                    if held[way] > 0:
                        filled = _note(entry, filled, i[way], named[u], named[w], held[way], _ORDER)
                        held[way] = 0
                    i[way] += 1
                else:
                    place[way], i[way] = place[way] + 1, -1
        x = min(found[0], found[1])
        if x <= 0:
            break
        for way in range(2):
            p = own[place[way]]
            left[pair[way, p], i[way]] -= x
            left[pair[1 - way, p], i[way]] += x
            held[way] += x
        total += x
    for way in range(2):
        if held[way] > 0:
            u, w = pair[way, own[place[way]]], pair[1 - way, own[place[way]]]
            filled = _note(entry, filled, i[way], named[u], named[w], held[way], _ORDER)
    return filled, total
