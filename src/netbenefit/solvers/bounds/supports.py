"""Support enumeration: what cards with few questions can be worth at most, with a proof in boxes.

A card that asks the questions S only gives equal scores to patterns that are equal on their
columns.  If such patterns form a cell and each cell is called as suits best at every threshold,
then

    Σ_i Σ_cells max(0, Σ_{u in cell} gains[i, u]) − price of S

is at least the value of every such card; this is the saturation bound.  The largest one over all
supports with at most k questions bounds all cards with at most k questions.  Supports are
enumerated in one fixed order of their questions ("items"), those with the highest bound first:

1. a node holds chosen items and those that may follow; patterns that are equal on all of them are
   merged, so tables get shorter on the way down;
2. more items never lower the gain, so the gain of the merged table, where every row is called as
   suits it best, bounds all supports below: where that is not above the best so far, the node is
   closed;
3. the last two items are taken in compiled code, a pass over the table for each pair;
4. a support that is too high is sharpened step by step, as far as is needed: by the orders of cells
   that differ in one question, then in two (``orders``), then by a linear program (``directions``).

The proof: nodes that were closed are boxes whose chosen questions are asked, where those that may
follow may be; a support is a box that says of each question whether it is asked.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from netbenefit.common import IntArray
from netbenefit.problem import Asked, Boxes, IntegerProblem
from netbenefit.solvers.bounds.directions import sharpened
from netbenefit.solvers.bounds.orders import Orders, PairConflicts, as_packed, no_conflicts
from netbenefit.solvers.bounds.packed import NOTHING, Packer, Rules, TightBox
from netbenefit.solvers.clock import now
from netbenefit.solvers.kernels.coordinates import fill
from netbenefit.solvers.kernels.jit import internal, jit

#: Most cells of a table that are numbered; beyond it each row counts by itself.
_MOST_CELLS = 2**22
#: Codes of several columns are joined to one number up to this.
_ROOM = 2**62
#: A bound is news where it has come nearer to the best card by one part in so many.
_NEWS = 50
#: What stands for no support.
_NOTHING = -(2**62)
#: Nodes, supports for 4, and such for linear programs that a thread gets at once.
_AT_ONCE = 4, 32, 1
#: Conflicts are kept down to this part of the way from the best card to the first bound.
_AIM = 5
#: Steps 4: pairs of cells with so many different answers, or linear programs (columns, steps).
_ORDERS = (1, 2)
_PROGRAMS = ((3, 400), (4, 1600), (5, 3200))
_LAST = len(_ORDERS) + len(_PROGRAMS)
#: Rows of a table times pairs of items between two looks at the clock.
_PRODUCTS = 20_000_000
#: Most conflicts that are kept, and most numbers of a list of boxes.
_MOST_KEPT, _MOST_NUMBERS = 14_000_000, 50_000_000
#: Seconds to write a box down, and a conflict.
_WRITING = 4e-5, 2e-7


class SupportBound(NamedTuple):
    """A bound for cards with few questions."""

    value: int  #: no card within the limits is worth more
    nodes: int
    complete: bool  #: False where the time was over; the value holds nevertheless
    boxes: Boxes  #: why
    interrupted: bool = False  #: by Ctrl-C


class _Open(NamedTuple):
    """A node whose supports have not been looked at, or (``level`` ≥ 0) a support."""

    negative: int  #: minus its bound, for the heap
    tick: int
    chosen: tuple[int, ...]  #: items
    level: int  #: how far it was sharpened; −1 for a node


def support_bound(
    integers: IntegerProblem,
    rules: Rules,
    incumbent: int | None = None,
    seconds: float = math.inf,
    should_stop: Callable[[], bool] = lambda: False,
    *,
    on_bound: Callable[[int], None] = lambda value: None,
    n_jobs: int = 1,
) -> SupportBound:
    """Bound the value of every card within the limits, by the questions that it asks.

    The bound need not go lower than ``incumbent``; a good one saves time.
    """
    deadline = now() + seconds
    packer = Packer(integers, rules)
    root = packer.tighten(integers.lower, integers.upper)
    if root is None:
        boxes = as_packed(integers, None, np.array([NOTHING]), [None])
        return SupportBound(NOTHING if incumbent is None else incumbent, 0, True, boxes)
    search = _Enumeration(packer, root, incumbent)
    value, complete, interrupted = search.open_bound, True, False

    def over() -> bool:
        return now() + search.writing > deadline or search.full or should_stop()

    with ThreadPoolExecutor(n_jobs) as pool:
        try:
            while search.heap:
                if _NEWS * (value - search.open_bound) > value - search.best:
                    value = search.open_bound
                    on_bound(value)
                if over():
                    complete = False
                    break
                search.step(pool, n_jobs, over)
        except KeyboardInterrupt:
            complete, interrupted = False, True
        boxes = _Writer(search, search.open_bound).boxes(pool, n_jobs)
    # What is written down is all that counts.
    value = max(search.best, int(boxes.values.max()))
    return SupportBound(value, search.nodes, complete, boxes, interrupted)


#: Supports and nodes: chosen items, bound, level.
_Parts = list[tuple[tuple[int, ...], int, int]]


def _kind(one: _Open) -> int:
    """Which of the numbers above holds."""
    return 0 if one.level < 0 else 1 if one.level < len(_ORDERS) else 2


class _Enumeration:
    """The state of one run."""

    def __init__(self, packer: Packer, root: TightBox, incumbent: int | None) -> None:
        integers, rules = packer.integers, packer.rules
        self.packer, self.integers, self.root = packer, integers, root
        self.nodes, self._tick = 0, 0
        live = (root.lower != 0) | (root.upper != 0)
        own = [np.flatnonzero(live & (integers.questions == q)) for q in range(packer.n_questions)]
        self.forced = [q for q in range(packer.n_questions) if root.asked[q] == Asked.YES]
        may = [
            q
            for q in range(packer.n_questions)
            if root.asked[q] == Asked.EITHER and own[q].size > 0
        ]
        most = rules.max_questions
        if np.unique(integers.questions).size == integers.questions.size:  # each a column
            most = min(most, rules.max_features)
        self.most = min(most - len(self.forced), len(may))  # items beyond those that are forced
        self.sums, self.shape, self.divisor = _factors(integers.gains)
        columns = [np.zeros(0, dtype=np.int64), *(own[q] for q in self.forced)]
        self.cell, self.count = cells(integers.units, np.concatenate(columns))
        # items that help little come last: what follows them is closed soon
        codes = {q: cells(integers.units, own[q])[0] for q in may}
        alone = {q: self._gain(_join(self.cell, self.count, codes[q])[0]) for q in may}
        self.items = sorted(may, key=lambda q: -alone[q])
        self.codes = np.array([codes[q] for q in self.items], dtype=np.int64)
        self.codes = self.codes.reshape(len(may), self.cell.size)
        self.orders = Orders(integers, root, [own[q] for q in (*self.forced, *self.items)])
        self._each = integers.price + integers.question_price
        needed = (root.used & np.isin(integers.questions, self.forced)).astype(np.int64)
        used = np.bincount(integers.questions, needed, packer.n_questions).astype(np.int64)
        self._base = sum(
            integers.question_price + integers.price * max(1, int(used[q])) for q in self.forced
        )
        self.best = _NOTHING if incumbent is None else int(incumbent)
        self.heap: list[_Open] = []
        self.expanded: set[tuple[int, ...]] = set()
        self.sharp: dict[tuple[int, ...], tuple[int, PairConflicts]] = {}
        self._kept = self._listed = 0  # conflicts, and parts of nodes
        first = self.bound((), range(len(self.items)))
        self._aim = self.best + (first - self.best) // _AIM
        if self.most > 0:
            self._push((), first, -1)
        else:
            self._push((), self.bound(()), 0)

    @property
    def open_bound(self) -> int:
        """Bound of all supports that are settled or open."""
        return max(self.best, -self.heap[0].negative) if self.heap else self.best

    @property
    def writing(self) -> float:
        """About how many seconds it takes to write the proof."""
        box, conflict = _WRITING
        return box * self._listed + conflict * self._kept

    @property
    def full(self) -> bool:
        """Whether the proof is as large as it may be."""
        numbers = self._listed * self.integers.lower.size
        return self._kept > _MOST_KEPT or numbers > _MOST_NUMBERS

    def bound(self, chosen: Sequence[int], more: Sequence[int] = ()) -> int:
        """The saturation bound of some items, where others may be asked too."""
        own = [*range(len(self.forced)), *(len(self.forced) + j for j in (*chosen, *more))]
        return self.orders.saturated(own) - self.paid(chosen)

    def paid(self, chosen: Sequence[int]) -> int:
        """What chosen items cost, and what is forced."""
        return self._base + self._each * len(chosen)

    def box(self, chosen: Sequence[int], more: Sequence[int] = ()) -> IntArray:
        """Flags of the cards that ask these items, and may ask more.

        What the limits settle is left open, so that the boxes cover all there is: with as many
        questions as there may be, no other can be asked.
        """
        asked = np.full(self.packer.n_questions, int(Asked.EITHER), dtype=np.int64)
        asked[self.items] = int(Asked.NO)
        asked[[self.items[j] for j in chosen]] = int(Asked.YES)
        if len(chosen) == self.most:
            more = range(chosen[-1] + 1 if chosen else 0, len(self.items))
        asked[[self.items[j] for j in more]] = int(Asked.EITHER)
        return asked

    def step(self, pool: ThreadPoolExecutor, n_jobs: int, over: Callable[[], bool]) -> None:
        """Treat the node with the highest bound, or some supports at once."""
        top = self.heap[0]
        if -top.negative <= self.best:  # so are all others
            self.heap.clear()
            return
        kind = _kind(top)
        some: list[_Open] = []
        while self.heap and len(some) < _AT_ONCE[kind] * n_jobs and _kind(self.heap[0]) == kind:
            some.append(heapq.heappop(self.heap))
        self.nodes += len(some)
        parts = [some[j::n_jobs] for j in range(n_jobs)]
        if kind == 0:
            for part, looks in zip(
                parts, pool.map(lambda part: self._look(part, over), parts), strict=True
            ):
                for one, found in zip(part, looks, strict=True):
                    if found is None:
                        self._push(one.chosen, -one.negative, one.level)
                        continue
                    self._listed += len(found)
                    for chosen, bound, level in found:
                        self._push(chosen, bound, level)
                    self.expanded.add(one.chosen)
            return
        for part, sharper in zip(
            parts, pool.map(lambda part: self._sharpen(part, over), parts), strict=True
        ):
            for one, (value, conflicts) in zip(part, sharper, strict=True):
                self._keep(one, value, conflicts, over)

    def _keep(
        self, one: _Open, value: int, conflicts: PairConflicts, over: Callable[[], bool]
    ) -> None:
        """Note what has become of a support."""
        before = self.sharp.get(one.chosen)
        if before is None or value <= before[0]:
            self._kept += conflicts.amount.size - (before[1].amount.size if before else 0)
            self.sharp[one.chosen] = value, conflicts
        value = min(value, -one.negative)
        if one.level + 1 == _LAST and not over():
            self.best = max(self.best, value)
        else:
            self._push(one.chosen, value, one.level + 1)

    def _sharpen(
        self, supports: list[_Open], over: Callable[[], bool]
    ) -> list[tuple[int, PairConflicts]]:
        """Bound supports by the next of the steps 4, and say why."""
        found = []
        for one in supports:
            saturated = self.bound(one.chosen) if one.level > 0 else -one.negative
            if one.level < len(_ORDERS):
                lost = self.ordered(one.chosen, one.level)
                kept = lost.enough(saturated - max(self.best, self._aim))
                found.append((saturated - lost.loss, kept))
                continue
            weight, steps = _PROGRAMS[one.level - len(_ORDERS)]
            asked = self.box(one.chosen)
            box = self.packer.tighten(self.integers.lower, self.integers.upper, asked)
            if box is None:  # no card asks just these
                found.append((NOTHING, no_conflicts()))
            else:
                found.append(sharpened(self.packer, box, weight, steps, self.best, over))
        return found

    def ordered(self, chosen: tuple[int, ...], level: int) -> PairConflicts:
        """What cards on a support lose by the orders of cells."""
        own = [*range(len(self.forced)), *(len(self.forced) + j for j in chosen)]
        return self.orders.conflicts(own, _ORDERS[level])

    def _look(self, nodes: list[_Open], over: Callable[[], bool]) -> list[_Parts | None]:
        """What nodes consist of; None where there is no time to see."""
        return [
            self._parts(node.chosen, node.chosen[-1] + 1 if node.chosen else 0, over)
            for node in nodes
        ]

    def _parts(
        self, chosen: tuple[int, ...], start: int, over: Callable[[], bool]
    ) -> _Parts | None:
        """The supports of the chosen items, alone or with one more, and what can follow."""
        cell, count = self.cell, self.count
        for j in chosen:
            cell, count = _join(cell, count, self.codes[j])
        cell, codes, sums = _merge(cell, self.codes[start:], self.sums)
        found: _Parts = [(chosen, self._gain(cell, sums) - self.paid(chosen), 0)]
        one = self._each
        if self.most - len(chosen) <= 2:
            two = self.most - len(chosen) == 2
            n_items = codes.shape[0]
            step = max(1, _PRODUCTS // (cell.size * (n_items if two else 1)))
            for begin in range(0, n_items, step):
                if over():
                    return None
                end = min(n_items, begin + step)
                ends = begin, end, two, _MOST_CELLS
                gains = _last_two(cell, codes, sums, self.shape, self.divisor, *ends)
                paid = self.paid(chosen) + 2 * one - one * np.eye(end - begin, n_items, begin)
                values = gains - paid.astype(np.int64)
                for a, b in np.argwhere((gains >= 0) & (values > self.best)).tolist():
                    more = sorted({start + begin + a, start + b})
                    found.append(((*chosen, *more), int(values[a, b]), 0))
            return found
        below, below_count = cell, count
        for j in range(codes.shape[0] - 1, -1, -1):
            below, below_count = _join(below, below_count, codes[j])
            last = start + j + 1 == len(self.items)  # then it is a support
            more_chosen = *chosen, start + j
            bound = self._gain(below, sums) - self.paid(more_chosen)
            found.append((more_chosen, bound, 0 if last else -1))
        return found

    def _push(self, chosen: tuple[int, ...], bound: int, level: int) -> None:
        if bound > self.best:
            self._tick += 1
            heapq.heappush(self.heap, _Open(-bound, self._tick, chosen, level))

    def _gain(self, cell: IntArray, sums: IntArray | None = None) -> int:
        """Σ over cells and thresholds of what the best call adds."""
        sums = self.sums if sums is None else sums
        totals = np.zeros((int(cell.max()) + 1, sums.shape[1]), dtype=np.int64)
        np.add.at(totals, cell, sums)
        return int(np.maximum(totals @ self.shape.T, 0).sum()) // self.divisor


class _Writer:
    """The boxes of a run, which show that no card is worth more than ``most``."""

    def __init__(self, search: _Enumeration, most: int) -> None:
        self._search, self._most = search, most
        self._asked: list[IntArray] = []
        self._values: list[int] = []
        self._conflicts: list[PairConflicts | None] = []
        self._supports: list[tuple[int, ...]] = []

    def boxes(self, pool: ThreadPoolExecutor, n_jobs: int) -> Boxes:
        """All boxes."""
        search = self._search
        if search.most > 0:
            self._node(())
        else:
            self._supports.append(())
        parts = [self._supports[j::n_jobs] for j in range(n_jobs)]
        for part, found in zip(parts, pool.map(self._each, parts), strict=True):
            for chosen, (value, conflicts) in zip(part, found, strict=True):
                self._add(search.box(chosen), value, conflicts)
        integers = search.integers
        return as_packed(integers, np.array(self._asked), np.array(self._values), self._conflicts)

    def _add(self, asked: IntArray, value: int, conflicts: PairConflicts | None = None) -> None:
        self._asked.append(asked)
        self._values.append(value)
        self._conflicts.append(conflicts)

    def _node(self, chosen: tuple[int, ...], divided: bool = False) -> None:
        """One box if that will do, else those of all that follows."""
        search = self._search
        n_items, start = len(search.items), chosen[-1] + 1 if chosen else 0
        following = range(start, n_items)
        value = search.bound(chosen, following)
        divided = divided or chosen in search.expanded
        if value <= self._most or not divided:
            self._add(search.box(chosen, following), value)
            return
        self._supports.append(chosen)
        last = search.most - len(chosen) <= 2 and chosen in search.expanded
        for j in following:
            if len(chosen) + 1 == search.most or j + 1 == n_items:
                self._supports.append((*chosen, j))
            else:
                self._node((*chosen, j), last)

    def _each(self, supports: list[tuple[int, ...]]) -> list[tuple[int, PairConflicts | None]]:
        return [self._support(chosen) for chosen in supports]

    def _support(self, chosen: tuple[int, ...]) -> tuple[int, PairConflicts | None]:
        """Value of a support, and conflicts where they are needed."""
        search = self._search
        saturated = search.bound(chosen)
        if saturated <= self._most or chosen not in search.sharp:
            return saturated, None
        value, conflicts = search.sharp[chosen]
        if value == NOTHING:
            return NOTHING, None
        conflicts = conflicts.enough(saturated - self._most)
        for level in range(len(_ORDERS)):
            if saturated - conflicts.loss > self._most:
                again = search.ordered(chosen, level).enough(saturated - self._most)
                if again.loss > conflicts.loss:
                    conflicts = again
        return saturated - conflicts.loss, conflicts


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
    fill(place, -1)
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
    begin: int,
    end: int,
    two: bool,
    most_cells: int,
) -> Any:
    """Gains of one more item or, if ``two``, of two, from ``begin`` … ``end`` on; −1 elsewhere."""
    n_items, n_rows = codes.shape
    width: Any = np.int64(0)
    largest: Any = np.int64(0)
    values = np.zeros(n_items, dtype=np.int64)
    for row in range(n_rows):
        width = max(width, cell[row] + 1)
        for j in range(n_items):
            values[j] = max(values[j], codes[j, row] + 1)
            largest = max(largest, values[j])
    place = np.empty(min(width * largest, most_cells), dtype=np.int64)
    first = np.empty(n_rows, dtype=np.int64)
    totals = np.zeros((n_rows, sums.shape[1]), dtype=np.int64)
    second = np.empty(n_rows, dtype=np.int64)
    finer = np.empty(min(n_rows * largest, most_cells), dtype=np.int64)
    gains = np.empty((end - begin, n_items), dtype=np.int64)
    for a in range(begin, end):
        count = n_rows
        if width * values[a] <= place.size:
            count = _number(cell, width, codes[a], place[: width * values[a]], first)
        else:  # too many cells: as if each row were one, which is never lower
            for row in range(n_rows):
                first[row] = row
        fill(gains[a - begin], -1)
        for b in range(a, n_items if two else a + 1):
            number, numbered = count, first
            if b > a:
                number, numbered = n_rows, second
                if count * values[b] <= finer.size:
                    number = _number(first, count, codes[b], finer[: count * values[b]], second)
                else:
                    for row in range(n_rows):
                        second[row] = row
            for c in range(number):
                fill(totals[c], 0)
            for row in range(n_rows):
                for q in range(sums.shape[1]):
                    totals[numbered[row], q] += sums[row, q]
            gain: Any = np.int64(0)
            for c in range(number):
                gain += _worth(totals[c], shape)
            gains[a - begin, b] = gain // divisor
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
