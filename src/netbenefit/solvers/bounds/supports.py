"""Support enumeration: what cards with few features can be worth at most.

A card with points on columns S only gives equal scores to patterns that are equal on S.  If such
patterns form a cell and each cell is called as suits best at every threshold, then

    Σ_i Σ_cells max(0, Σ_{u in cell} gains[i, u]) − price · |S| ,

the saturation bound, is at least the value of every card with exactly these features.  The largest
one over all supports with at most k features bounds all cards with at most k features.  Supports
are enumerated depth first, columns in one fixed order:

1. a node holds chosen columns and those that may follow; patterns that are equal on all of them are
   merged, so tables get shorter on the way down;
2. more columns never lower the gain, so the gain of the merged table, where every row is called as
   suits it best, minus the price of one more column bounds all supports below: where that is not
   above the best so far, the node is closed;
3. the last two columns are taken in compiled code, a pass over the table for each pair.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from netbenefit.common import IntArray
from netbenefit.problem import IntegerProblem
from netbenefit.solvers.kernels.jit import internal, jit

#: Most cells of a table that are numbered; beyond it each row counts by itself.
_MOST_CELLS = 2**22
#: Codes of several columns are joined to one number up to this.
_ROOM = 2**62


class SupportBound(NamedTuple):
    """A bound for cards with few features."""

    value: int  #: no card with at most ``max_size`` features is worth more
    nodes: int
    complete: bool  #: False where the time was over; the value holds nevertheless


class _Node(NamedTuple):
    cell: IntArray  #: (rows,) which rows the chosen columns cannot tell apart
    codes: IntArray  #: (rows, columns) values of the columns that may follow
    sums: IntArray  #: (rows, q)
    size: int  #: number of chosen columns
    above: int  #: bound of the node above


def support_bound(
    integers: IntegerProblem,
    max_size: int,
    incumbent: int | None = None,
    seconds: float = math.inf,
    should_stop: Callable[[], bool] = lambda: False,
) -> SupportBound:
    """Bound the value of every card of the box with at most ``max_size`` features.

    The bound need not go lower than ``incumbent``; a good one saves time.
    """
    deadline = time.perf_counter() + seconds
    search = _Enumeration(integers, max_size, incumbent)
    while search.stack:
        if time.perf_counter() > deadline or should_stop():
            return SupportBound(search.open_bound(), search.nodes, False)
        search.step()
    return SupportBound(search.best, search.nodes, True)


class _Enumeration:
    """The state of one run."""

    def __init__(self, integers: IntegerProblem, max_size: int, incumbent: int | None) -> None:
        forced = np.flatnonzero((integers.lower > 0) | (integers.upper < 0))
        sums, self.shape = _factors(integers.gains)
        columns = _candidates(integers, forced)
        cell, count = cells(integers.units, forced)
        codes = np.empty((integers.units.shape[0], columns.size), dtype=np.int64)
        for j, k in enumerate(columns):
            codes[:, j] = cells(integers.units, [k])[0]
        alone = [
            _gain(_join(cell, count, codes[:, j]), sums, self.shape) for j in range(columns.size)
        ]
        # columns that help little come last: what follows them is closed soon
        codes = codes[:, np.argsort(-np.array(alone, dtype=np.int64), kind="stable")]
        self.price, self.max_size, self.nodes = integers.price, max_size, 0
        first = _gain(cell, sums, self.shape) - self.price * forced.size
        self.best: int = first if incumbent is None else max(first, int(incumbent))
        ceiling = integers.ceiling - self.price * forced.size
        self.stack = [_Node(cell, codes, sums, int(forced.size), ceiling)]

    def open_bound(self) -> int:
        """Bound of all supports that are settled or lie below an open node."""
        return max([self.best, *(node.above for node in self.stack)])

    def step(self) -> None:
        """Treat one node: close it, or open those below."""
        node = self.stack.pop()
        self.nodes += 1
        left = min(self.max_size - node.size, node.codes.shape[1])
        if left <= 0:
            return
        node = _merge(node)
        bound = _gain(np.arange(node.sums.shape[0]), node.sums, self.shape)
        bound -= self.price * (node.size + 1)
        if bound <= self.best:
            return
        if left <= 2:
            found = _last_two(
                node.cell, node.codes, node.sums, self.shape, self.price, left == 2, _MOST_CELLS
            )
            self.best = max(self.best, int(found) - self.price * node.size)
            return
        below = []
        count = int(node.cell.max()) + 1
        for j in range(node.codes.shape[1]):
            cell = _join(node.cell, count, node.codes[:, j])
            gain = _gain(cell, node.sums, self.shape)
            self.best = max(self.best, gain - self.price * (node.size + 1))
            below.append(_Node(cell, node.codes[:, j + 1 :], node.sums, node.size + 1, bound))
        self.stack += below[::-1]  # the most useful columns first


def _candidates(integers: IntegerProblem, forced: IntArray) -> IntArray:
    """Columns that may have points, without those that make the same cells as another one."""
    kept: list[int] = []
    seen: set[bytes] = set()
    for k in np.flatnonzero((integers.lower != 0) | (integers.upper != 0)):
        numbers, count = cells(integers.units, [int(k)])
        first = np.full(count, -1, dtype=np.int64)
        first[numbers[::-1]] = np.arange(numbers.size)[::-1]  # name cells by their first row
        shape = first[numbers].tobytes()
        if count > 1 and k not in forced and shape not in seen:
            kept.append(int(k))
            seen.add(shape)
    return np.array(kept, dtype=np.int64)


def _factors(gains: IntArray) -> tuple[IntArray, IntArray]:
    """(n, q) and (m, q) whole numbers whose product is ``gains`` transposed, with q small.

    Gains are found_i · a_u − alarm_i · b_u: two numbers per pattern, where they can be found again.
    """
    up, down = np.flatnonzero((gains > 0).all(axis=0)), np.flatnonzero((gains < 0).all(axis=0))
    trivial = np.ascontiguousarray(gains.T), np.eye(gains.shape[0], dtype=np.int64)
    if gains.shape[0] <= 2 or up.size == 0 or down.size == 0:
        return trivial
    for u in up[:20]:
        for w in down[:20]:
            shape = np.stack([gains[:, u], gains[:, w]], axis=1)
            shape //= np.gcd.reduce(shape, axis=0)
            factors = _solve(gains, shape)
            if factors is not None:
                return factors, np.ascontiguousarray(shape)
    return trivial


def _solve(gains: IntArray, shape: IntArray) -> IntArray | None:
    """Whole x with shape · x = gains, if there is one; tested in integers."""
    rows = [0, gains.shape[0] - 1]
    (a, b), (c, d) = shape[rows].tolist()
    determinant = a * d - b * c
    if determinant == 0:
        return None
    top, bottom = gains[rows].astype(object)
    x, y = d * top - b * bottom, a * bottom - c * top
    if (x % determinant != 0).any() or (y % determinant != 0).any():
        return None
    both = np.stack([x // determinant, y // determinant], axis=1)
    fits = (both @ shape.T.astype(object) == gains.T.astype(object)).all()
    if not fits or max(int(np.abs(both).sum()), 1) * int(np.abs(shape).max()) >= 2**61:
        return None
    return both.astype(np.int64)


def _join(cell: IntArray, count: int, codes: IntArray) -> IntArray:
    """Number the cells that one more column makes of these."""
    joined: IntArray = np.unique(codes * count + cell, return_inverse=True)[1]
    return joined


def _merge(node: _Node) -> _Node:
    """Add up rows that neither the cells nor the columns that may follow tell apart."""
    table = np.column_stack([node.cell, node.codes])
    numbers, count = cells(table, range(table.shape[1]))
    if count == table.shape[0]:
        return node._replace(codes=np.ascontiguousarray(node.codes))
    order = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[order], np.arange(count))
    return node._replace(
        cell=node.cell[order[starts]],
        codes=np.ascontiguousarray(node.codes[order[starts]]),
        sums=np.add.reduceat(node.sums[order], starts, axis=0),
    )


def _gain(cell: IntArray, sums: IntArray, shape: IntArray) -> int:
    """Σ over cells and thresholds of what the best call adds."""
    totals = np.zeros((int(cell.max()) + 1, sums.shape[1]), dtype=np.int64)
    np.add.at(totals, cell, sums)
    return int(np.maximum(totals @ shape.T, 0).sum())


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
    price: int,
    two: bool,
    most_cells: int,
) -> Any:
    """Best gain of one or two more columns, minus their price."""
    n_rows, n_columns = codes.shape
    by_column = np.ascontiguousarray(codes.T)
    width = cell.max() + 1
    values = np.zeros(n_columns, dtype=np.int64)
    for j in range(n_columns):
        values[j] = by_column[j].max() + 1
    largest = values.max()
    place = np.empty(min(width * largest, most_cells), dtype=np.int64)
    first = np.empty(n_rows, dtype=np.int64)
    totals = np.zeros((n_rows, sums.shape[1]), dtype=np.int64)
    second = np.empty(n_rows, dtype=np.int64)
    finer = np.empty(min(n_rows * largest, most_cells), dtype=np.int64)
    best: Any = np.int64(-(1 << 62))
    for a in range(n_columns):
        count = n_rows
        if width * values[a] <= place.size:
            count = _number(cell, width, by_column[a], place[: width * values[a]], first)
        else:  # too many cells: as if each row were one, which is never lower
            first[:] = np.arange(n_rows)
        for b in range(a, n_columns if two else a + 1):
            number, numbered = count, first
            if b > a:
                number, numbered = n_rows, second
                if count * values[b] <= finer.size:
                    number = _number(first, count, by_column[b], finer[: count * values[b]], second)
                else:
                    second[:] = np.arange(n_rows)
            totals[:number] = 0
            for row in range(n_rows):
                for q in range(sums.shape[1]):
                    totals[numbered[row], q] += sums[row, q]
            gain: Any = np.int64(-price * (1 if b == a else 2))
            for c in range(number):
                gain += _worth(totals[c], shape)
            best = max(best, gain)
    return best


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
