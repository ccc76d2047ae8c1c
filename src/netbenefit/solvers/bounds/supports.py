"""Support enumeration: what cards with few features, or few questions, can be worth at most.

A card with points on columns S only gives equal scores to patterns that are equal on S.  If such
patterns form a cell and each cell is called as suits best at every threshold, then

    Σ_i Σ_cells max(0, Σ_{u in cell} gains[i, u]) − price · |S| − question_price · #questions of S ,

the saturation bound, is at least the value of every card with exactly these features.  The largest
one over all supports with at most k features bounds all cards with at most k features.  Where
questions are what is limited, S is a set of questions: cells are equal on all columns of these, and
each question pays for itself and for one rule.  Supports are enumerated in one fixed order of their
columns or questions ("items"), those with the highest bound first:

1. a node holds chosen items and those that may follow; patterns that are equal on all of them are
   merged, so tables get shorter on the way down;
2. more items never lower the gain, so the gain of the merged table, where every row is called as
   suits it best, minus the price of one more item bounds all supports below: where that is not
   above the best so far, the node is closed;
3. the last two items are taken in compiled code, a pass over the table for each pair;
4. supports of questions have many cells, so that saturation says little.  Here cells are also
   compared.  For a difference d between two cells, d·λ has one sign, which orders all pairs of
   cells with this difference, at all thresholds: if d·λ ≥ 0, no card calls the lower cell of such a
   pair without the upper one.  Of a gain of the lower and a loss of the upper cell, the smaller is
   then lost.  So with A lost if d·λ ≥ 0, and B lost if d·λ ≤ 0, each card loses min(A, B).  Losses
   that use up different parts of gains add up, over pairs and differences; these are between
   answers to one question or to two.  Bounds of points may rule one sign out.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from netbenefit.common import IntArray
from netbenefit.problem import IntegerProblem
from netbenefit.solvers.kernels.jit import ONE, WORD, count_bits, internal, jit

#: Most cells of a table that are numbered; beyond it each row counts by itself.
_MOST_CELLS = 2**22
#: Codes of several columns are joined to one number up to this.
_ROOM = 2**62
#: Most pairs of cells of one support that are compared.
_MOST_PAIRS = 200_000
#: What stands for no support.
_NOTHING = -(2**62)


class SupportBound(NamedTuple):
    """A bound for cards with few features or questions."""

    value: int  #: no card with at most so many features and questions is worth more
    nodes: int
    complete: bool  #: False where the time was over; the value holds nevertheless


class _Open(NamedTuple):
    """A node whose supports have not been looked at, or (``start`` < 0) a support."""

    negative: int  #: minus its bound, for the heap
    tick: int
    chosen: tuple[int, ...]  #: items
    start: int  #: the first item that may follow


def support_bound(
    integers: IntegerProblem,
    max_size: int,
    incumbent: int | None = None,
    seconds: float = math.inf,
    should_stop: Callable[[], bool] = lambda: False,
    *,
    most_questions: int | None = None,
    on_bound: Callable[[int], None] = lambda value: None,
    n_jobs: int = 1,
) -> SupportBound:
    """Bound the value of every card of the box with at most ``max_size`` features.

    With ``most_questions`` below that, it is cards with so many questions that are bounded.  The
    bound need not go lower than ``incumbent``; a good one saves time.
    """
    deadline = time.perf_counter() + seconds
    search = _Enumeration(integers, max_size, most_questions, incumbent)
    value = search.open_bound
    with ThreadPoolExecutor(n_jobs) as pool:
        while search.heap:
            if search.open_bound < value:
                value = search.open_bound
                on_bound(value)
            if time.perf_counter() > deadline or should_stop():
                return SupportBound(search.open_bound, search.nodes, False)
            search.step(pool, n_jobs)
    return SupportBound(search.best, search.nodes, True)


class _Enumeration:
    """The state of one run."""

    def __init__(
        self,
        integers: IntegerProblem,
        max_size: int,
        most_questions: int | None,
        incumbent: int | None,
    ) -> None:
        by_question = most_questions is not None and most_questions < max_size
        self.integers, self.nodes, self._tick = integers, 0, 0
        forced, items = _items(integers, by_question)
        in_all = np.concatenate([np.zeros(0, dtype=np.int64), *forced])
        needed = integers.questions[(integers.lower > 0) | (integers.upper < 0)]
        self.most = max_size - needed.size  # items beyond those that are needed
        if most_questions is not None and by_question:
            self.most = min(self.most, most_questions - np.unique(needed).size)
        self.sums, self.shape, self.divisor = _factors(integers.gains)
        self.cell, self.count = cells(integers.units, in_all)
        codes = [cells(integers.units, own)[0] for own in items]
        # items that help little come last: what follows them is closed soon
        alone = [self._gain(_join(self.cell, self.count, code)[0]) for code in codes]
        order = np.argsort(-np.array(alone, dtype=np.int64), kind="stable")
        self.columns = [items[j] for j in order]
        self.codes = np.array([codes[j] for j in order], dtype=np.int64).reshape(
            len(items), self.cell.size
        )
        self.question = np.array([integers.questions[own[0]] for own in self.columns], np.int64)
        self.asked = frozenset(needed.tolist())
        self.base = integers.paid((integers.lower > 0) | (integers.upper < 0))
        self.orders = _Orders(integers, forced, self.columns) if by_question else None
        self.best = _NOTHING if incumbent is None else int(incumbent)
        self.heap: list[_Open] = []
        self._settle((), self._gain(self.cell) - self.base)
        if self.most > 0 and items:
            self._push((), 0, integers.ceiling - self.base)

    @property
    def open_bound(self) -> int:
        """Bound of all supports that are settled or open."""
        return max(self.best, -self.heap[0].negative) if self.heap else self.best

    def step(self, pool: ThreadPoolExecutor, n_jobs: int) -> None:
        """Treat the node with the highest bound, or that many supports at once."""
        node = heapq.heappop(self.heap)
        self.nodes += 1
        if -node.negative <= self.best:  # so are all others
            self.heap.clear()
        elif node.start >= 0:
            self._open(node.chosen, node.start)
        else:
            assert self.orders is not None
            supports = [node]
            while self.heap and self.heap[0].start < 0 and len(supports) < n_jobs:
                supports.append(heapq.heappop(self.heap))
            losses = pool.map(self.orders.loss, [support.chosen for support in supports])
            for support, loss in zip(supports, losses, strict=True):
                self.best = max(self.best, -support.negative - loss)

    def _open(self, chosen: tuple[int, ...], start: int) -> None:
        """Look at the supports of the chosen items and one more, and at what can follow."""
        cell, count = self.cell, self.count
        for j in chosen:
            cell, count = _join(cell, count, self.codes[j])
        cell, codes, sums = _merge(cell, self.codes[start:], self.sums)
        prices = self._prices(chosen)[start:]
        paid = self._paid(chosen)
        if self.most - len(chosen) <= 2:
            two = self.most - len(chosen) == 2
            gains = _last_two(cell, codes, sums, self.shape, self.divisor, two, _MOST_CELLS)
            values = gains - paid - self._prices_of_two(prices, self.question[start:])
            for a, b in np.argwhere((gains >= 0) & (values > self.best)).tolist():
                support = *chosen, *sorted({start + a, start + b})
                self._settle(support, int(values[a, b]))
            return
        last = codes.shape[0] - 1
        below, below_count = cell, count
        for j in range(last, -1, -1):
            own = _join(cell, count, codes[j])[0]
            now = paid + int(prices[j])
            self._settle((*chosen, start + j), self._gain(own, sums) - now)
            below, below_count = _join(below, below_count, codes[j])
            if j < last:
                more = *chosen, start + j
                least = int(self._prices(more)[start + j + 1 :].min())
                self._push(more, start + j + 1, self._gain(below, sums) - now - least)

    def _settle(self, chosen: tuple[int, ...], value: int) -> None:
        """Take a support's saturation bound, or keep it to be sharpened."""
        if self.orders is None:
            self.best = max(self.best, value)
        else:
            self._push(chosen, -1, value)

    def _push(self, chosen: tuple[int, ...], start: int, bound: int) -> None:
        if bound > self.best:
            self._tick += 1
            heapq.heappush(self.heap, _Open(-bound, self._tick, chosen, start))

    def _prices(self, chosen: Sequence[int]) -> IntArray:
        """What each item costs on top of chosen ones."""
        asked = [*self.asked, *self.question[list(chosen)].tolist()]
        extra = np.where(np.isin(self.question, asked), 0, self.integers.question_price)
        prices: IntArray = self.integers.price + extra
        return prices

    def _prices_of_two(self, prices: IntArray, question: IntArray) -> IntArray:
        """What each pair of items costs; on the diagonal, one item."""
        same = (question[:, None] == question) & (prices > self.integers.price)
        pairs: IntArray = prices[:, None] + prices - same * self.integers.question_price
        np.fill_diagonal(pairs, prices)
        return pairs

    def _paid(self, chosen: Sequence[int]) -> int:
        """What chosen items cost, and what is needed."""
        new = {*self.question[list(chosen)].tolist()} - self.asked
        return (
            self.base + self.integers.price * len(chosen) + self.integers.question_price * len(new)
        )

    def _gain(self, cell: IntArray, sums: IntArray | None = None) -> int:
        """Σ over cells and thresholds of what the best call adds."""
        sums = self.sums if sums is None else sums
        totals = np.zeros((int(cell.max()) + 1, sums.shape[1]), dtype=np.int64)
        np.add.at(totals, cell, sums)
        return int(np.maximum(totals @ self.shape.T, 0).sum()) // self.divisor


def _items(integers: IntegerProblem, by_question: bool) -> tuple[list[IntArray], list[IntArray]]:
    """The columns of what has to be in each support, and of what may be chosen.

    A column that makes the same cells as another one, at the same price, is left out.  A question
    is not, as its bounds may leave other orders of these cells.
    """
    usable = np.flatnonzero((integers.lower != 0) | (integers.upper != 0))
    needed = (integers.lower > 0) | (integers.upper < 0)
    label = integers.questions if by_question else np.arange(integers.lower.size)
    groups = [usable[label[usable] == item] for item in np.unique(label[usable])]
    forced = [own for own in groups if needed[own].any()]
    kept: list[IntArray] = []
    seen: set[tuple[int, bytes]] = set()
    alike = not by_question and integers.question_price == 0
    for own in groups:
        numbers, count = cells(integers.units, own)
        first = np.full(count, -1, dtype=np.int64)
        first[numbers[::-1]] = np.arange(numbers.size)[::-1]  # name cells by their first row
        question = 0 if alike else int(integers.questions[own[0]])
        shape = question, first[numbers].tobytes()
        if count > 1 and not needed[own].any() and shape not in seen:
            kept.append(own)
            seen.add(shape)
    return forced, kept


def _factors(gains: IntArray) -> tuple[IntArray, IntArray, int]:
    """(n, q) and (m, q) whole numbers whose product is ``gains`` transposed times a divisor.

    Gains are found_i · a_u − alarm_i · b_u, so that those at two thresholds tell all others.
    """
    trivial = np.ascontiguousarray(gains.T), np.eye(gains.shape[0], dtype=np.int64), 1
    common = np.gcd.reduce(gains, axis=1)
    if gains.shape[0] <= 2 or not common.all():
        return trivial
    base = gains[[0, -1]] // common[[0, -1], None]
    a, b = base.astype(object)
    u = int(np.abs(base[0]).argmax())
    others = np.flatnonzero(a[u] * b - b[u] * a)
    if not others.size:
        return trivial
    w = int(others[0])
    rows, determinant = gains.astype(object), a[u] * b[w] - b[u] * a[w]
    exact = [
        (
            Fraction(row[u] * b[w] - row[w] * b[u], determinant),
            Fraction(a[u] * row[w] - a[w] * row[u], determinant),
        )
        for row in rows
    ]
    divisor = math.lcm(*(part.denominator for pair in exact for part in pair))
    shape = np.array([[int(part * divisor) for part in pair] for pair in exact], dtype=object)
    reach = np.abs(shape) @ np.abs(base).astype(object).sum(axis=1)
    if int(reach.sum()) >= _ROOM or not (shape @ base.astype(object) == divisor * rows).all():
        return trivial
    return np.ascontiguousarray(base.T), shape.astype(np.int64), divisor


def _join(cell: IntArray, count: int, codes: IntArray) -> tuple[IntArray, int]:
    """Number the cells that one more item makes of these, and how many there are."""
    values, joined = np.unique(codes * count + cell, return_inverse=True)
    return joined, values.size


def _merge(cell: IntArray, codes: IntArray, sums: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Add up rows that neither the cells nor the items that may follow tell apart."""
    table = np.column_stack([cell, codes.T])
    numbers, count = cells(table, range(table.shape[1]))
    if count == table.shape[0]:
        return cell, np.ascontiguousarray(codes), sums
    order = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[order], np.arange(count))
    rows = order[starts]
    return cell[rows], np.ascontiguousarray(codes[:, rows]), np.add.reduceat(sums[order], starts)


@internal
def _worth(sums: Any, shape: Any) -> Any:
    """What the best calls of one cell add."""
    total = np.int64(0)
    for i in range(shape.shape[0]):
        gain = np.int64(0)
        for q in range(shape.shape[1]):
            gain += shape[i, q] * sums[q]
        if gain > 0:
            total += gain
    return total


@internal
def _number(cell: Any, width: int, codes: Any, place: Any, out: Any) -> Any:
    """Number pairs of cell and code in order of appearance; their number."""
    place[:] = -1
    found = 0
    for row in range(cell.size):
        key = cell[row] + width * codes[row]
        if place[key] < 0:
            place[key] = found
            found += 1
        out[row] = place[key]
    return found


@jit
def _last_two(
    cell: IntArray,
    codes: IntArray,
    sums: IntArray,
    shape: IntArray,
    divisor: int,
    two: bool,
    most_cells: int,
) -> Any:
    """Gains of one more item (the diagonal) or, if ``two``, of two; −1 elsewhere."""
    n_items, n_rows = codes.shape
    width = cell.max() + 1
    values = np.zeros(n_items, dtype=np.int64)
    for j in range(n_items):
        values[j] = codes[j].max() + 1
    largest = values.max()
    place = np.empty(min(width * largest, most_cells), dtype=np.int64)
    first = np.empty(n_rows, dtype=np.int64)
    totals = np.zeros((n_rows, sums.shape[1]), dtype=np.int64)
    second = np.empty(n_rows, dtype=np.int64)
    finer = np.empty(min(n_rows * largest, most_cells), dtype=np.int64)
    gains = np.full((n_items, n_items), -1, dtype=np.int64)
    for a in range(n_items):
        count = n_rows
        if width * values[a] <= place.size:
            count = _number(cell, width, codes[a], place[: width * values[a]], first)
        else:  # too many cells: as if each row were one, which is never lower
            first[:] = np.arange(n_rows)
        for b in range(a, n_items if two else a + 1):
            number, numbered = count, first
            if b > a:
                number, numbered = n_rows, second
                if count * values[b] <= finer.size:
                    number = _number(first, count, codes[b], finer[: count * values[b]], second)
                else:
                    second[:] = np.arange(n_rows)
            totals[:number] = 0
            for row in range(n_rows):
                for q in range(sums.shape[1]):
                    totals[numbered[row], q] += sums[row, q]
            gain: Any = np.int64(0)
            for c in range(number):
                gain += _worth(totals[c], shape)
            gains[a, b] = gain // divisor
    return gains


def cells(units: IntArray, columns: Sequence[int] | IntArray) -> tuple[IntArray, int]:
    """Number the cells of rows that are equal on ``columns``; and how many cells there are."""
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


# -- step 4: what cells lose because scores add up -------------------------------------------------


#: Most answers to a question for which differences between answers are compared.
_MOST_ANSWERS = 64


class _Orders:
    """Differences between answers to each question, and what cells lose by them."""

    def __init__(
        self, integers: IntegerProblem, forced: list[IntArray], items: list[IntArray]
    ) -> None:
        self._n_forced = len(forced)
        self._gains = np.ascontiguousarray(integers.gains.T)
        found = [cells(integers.units, own) for own in (*forced, *items)]
        self._codes = np.array([code for code, _ in found], dtype=np.int64)
        most = max([1, *(count for _, count in found)])
        self._few = most <= _MOST_ANSWERS
        #: (2, items, answers, answers): what the second is worth beyond the first: least, most
        self._spans = np.zeros((2, len(found), *((most, most) if self._few else (0, 0))), np.int64)
        for j, own in enumerate((*forced, *items)):
            if self._few:
                code, count = found[j]
                units = integers.units[np.unique(code, return_index=True)[1]][:, own]
                d = units[None] - units[:, None]
                ends = d * integers.lower[own], d * integers.upper[own]
                self._spans[0, j, :count, :count] = np.minimum(*ends).sum(axis=2)
                self._spans[1, j, :count, :count] = np.maximum(*ends).sum(axis=2)

    def loss(self, chosen: tuple[int, ...]) -> int:
        """What every card on these items (and forced ones) loses against the saturation bound."""
        if not self._few:
            return 0
        own = [*range(self._n_forced), *(self._n_forced + j for j in chosen)]
        if not own:
            return 0
        codes = np.ascontiguousarray(self._codes[own])
        cell, count = cells(codes.T, range(len(own)))
        return int(_lost(cell, count, codes, self._gains, self._spans[:, own], _MOST_PAIRS))


@jit
def _lost(
    cell: IntArray, count: int, codes: IntArray, gains: IntArray, spans: IntArray, most_pairs: int
) -> Any:
    """Σ over differences of answers to one or two items of the least that cards lose by them."""
    n_items, n_answers = codes.shape[0], spans.shape[2]
    # 1. What each cell can gain and lose.
    plus = np.zeros((count, gains.shape[1]), dtype=np.int64)
    minus = np.zeros((count, gains.shape[1]), dtype=np.int64)
    at = np.zeros((count, n_items), dtype=np.int64)
    for row in range(cell.size):
        for i in range(gains.shape[1]):
            plus[cell[row], i] += gains[row, i]
        for j in range(n_items):
            at[cell[row], j] = codes[j, row]
    for c in range(count):
        for i in range(gains.shape[1]):
            minus[c, i] = max(0, -plus[c, i])
            plus[c, i] = max(0, plus[c, i])
    # 2. Pairs of cells with other answers to one or two items; two bits of their sets differ for
    # each.  They are numbered by these answers, and sorted with those to one item first.
    sets = np.zeros((count, n_items * n_answers // WORD + 1), dtype=np.uint64)
    for c in range(count):
        for j in range(n_items):
            bit = j * n_answers + at[c, j]
            sets[c, bit // WORD] |= ONE << np.uint64(bit % WORD)
    near = 0
    for u in range(count):
        for w in range(u + 1, count):
            near += 1 if _distance(sets, u, w) <= 4 else 0
    most_pairs = min(near, most_pairs)
    pair = np.empty((2, most_pairs), dtype=np.int64)
    number = np.zeros((2, most_pairs), dtype=np.int64)
    size = 0
    for u in range(count):
        for w in range(u + 1, count):
            if _distance(sets, u, w) <= 4 and size < most_pairs:
                pair[0, size], pair[1, size] = u, w
                for j in range(n_items):
                    if at[u, j] != at[w, j]:  # u is lower at the first, as cells are in order
                        number[1, size] = number[0, size]
                        number[0, size] = (j * n_answers + at[u, j]) * n_answers + at[w, j] + 1
                size += 1
    order = np.arange(size)
    side = n_items * n_answers * n_answers + 1
    for digit in range(2):
        order = _sorted(order, number[digit], side)
    # 3. What each difference loses.
    lost = np.int64(0)
    begin = 0
    while begin < size:
        end = begin
        while (
            end < size
            and number[0, order[end]] == number[0, order[begin]]
            and number[1, order[end]] == number[1, order[begin]]
        ):
            end += 1
        u, w = pair[0, order[begin]], pair[1, order[begin]]
        least, most = np.int64(0), np.int64(0)
        for j in range(n_items):
            if at[u, j] != at[w, j]:
                least += spans[0, j, at[u, j], at[w, j]]
                most += spans[1, j, at[u, j], at[w, j]]
        own = order[begin:end]
        if least >= 0:
            lost += _take_all(pair[0], pair[1], own, plus, minus)
        if most <= 0:
            lost += _take_all(pair[1], pair[0], own, plus, minus)
        if least < 0 and most > 0:
            lost += _take_both(pair, own, plus, minus)
        begin = end
    return lost


@internal
def _distance(sets: Any, u: int, w: int) -> Any:
    """How many bits differ."""
    differ = np.int64(0)
    for word in range(sets.shape[1]):
        differ += count_bits(sets[u, word] ^ sets[w, word])
    return differ


@internal
def _sorted(order: Any, number: Any, side: int) -> Any:
    """Sort by numbers below ``side``; equals stay as they are."""
    start = np.zeros(side + 1, dtype=np.int64)
    for p in order:
        start[number[p] + 1] += 1
    for v in range(side):
        start[v + 1] += start[v]
    result = np.empty_like(order)
    for p in order:
        result[start[number[p]]] = p
        start[number[p]] += 1
    return result


@internal
def _take_all(lower: Any, upper: Any, own: Any, plus: Any, minus: Any) -> Any:
    """Use up gains of lower cells and losses of upper ones; return how much."""
    total = np.int64(0)
    for p in own:
        for i in range(plus.shape[1]):
            x = min(plus[lower[p], i], minus[upper[p], i])
            plus[lower[p], i] -= x
            minus[upper[p], i] -= x
            total += x
    return total


@internal
def _take_both(pair: Any, own: Any, plus: Any, minus: Any) -> Any:
    """Use up as much in the one order of cells as in the other; return how much in each."""
    m = plus.shape[1]
    total, up, down, i, h = np.int64(0), 0, 0, 0, 0
    while True:
        x = np.int64(0)
        while up < own.size:
            lower, upper = plus[pair[0, own[up]]], minus[pair[1, own[up]]]
            while i < m and (lower[i] == 0 or upper[i] == 0):
                i += 1
            if i < m:
                x = min(lower[i], upper[i])
                break
            up, i = up + 1, 0
        if x == 0:
            return total
        while down < own.size:
            above, below = plus[pair[1, own[down]]], minus[pair[0, own[down]]]
            while h < m and (above[h] == 0 or below[h] == 0):
                h += 1
            if h < m:
                x = min(x, above[h], below[h])
                break
            down, h = down + 1, 0
        if down == own.size:
            return total
        lower[i] -= x
        upper[i] -= x
        above[h] -= x
        below[h] -= x
        total += x
