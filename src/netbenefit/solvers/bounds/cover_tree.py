"""Three-way branching over boxes of points, best first, with one pool of cuts for all boxes.

1. Take the open box with the highest bound.
2. Set up its covering program with the rows that were tight in its parent (their coefficients are
   computed anew for the box) and solve it; add violated cuts, from the pool and from pricing, while
   that pays.  If its bound falls below that of another open box, go to 1: it waits its turn.
3. Split the box: at the signs of a column (0, +, −) while a column is undecided, else in halves.
   A single vector is counted.
4. The bound of all is the highest bound of an open or closed box.  It holds at any time.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from netbenefit.common.checks import IntArray
from netbenefit.problem.integer import IntegerProblem
from netbenefit.solvers.bounds.cover_cuts import Pricing, pair_cuts
from netbenefit.solvers.bounds.cover_program import CoverProgram, Point, SupportRows
from netbenefit.solvers.bounds.cuts import Box, CutPool, PoolView, make_box
from netbenefit.solvers.bounds.probing import Part, sign_parts

__all__ = ["CoverTree", "Effort"]

Names = list[tuple[int, int]]


@dataclass(frozen=True)
class Effort:
    """How hard a box is worked on."""

    rounds: int = 40  #: most rounds of cuts
    turn: int = 5  #: rounds after which a box waits if another one has a higher bound
    least_gain: float = 0.004  #: go on while a round adds this share of the loss proven so far
    searches: int = 6  #: pricing programs per threshold and round
    passes: int = 3  #: solutions of each
    violation: float = 0.02
    most_rows: int = 1000
    enough: int = 200  #: violated cuts of the pool that make pricing unnecessary in a round
    memory: int = 20_000  #: the latest cuts of the pool that are looked through


@dataclass(order=True)
class _Node:
    rank: int
    number: int
    lower: IntArray = field(compare=False)
    upper: IntArray = field(compare=False)
    value: int = field(compare=False)
    rows: Names = field(compare=False, default_factory=list)
    depth: int = field(compare=False, default=0)


class CoverTree:
    """The search; :meth:`run` works until the time is up or no open box can beat the incumbent."""

    def __init__(
        self,
        integers: IntegerProblem,
        parts: list[Part],
        *,
        incumbent: int | None,
        deadline: float,
        on_bound: Callable[[int], None],
        should_stop: Callable[[], bool],
        support: SupportRows | None = None,
        effort: Effort | None = None,
        most_nodes: int | None = None,
        free_signs: bool = False,
    ) -> None:
        self.free_signs = free_signs
        self.integers, self.pool, self.support = integers, CutPool(integers), support
        self.effort = effort or Effort()
        self.incumbent, self.deadline = incumbent, deadline
        self.on_bound, self.should_stop = on_bound, should_stop
        self.most_nodes = most_nodes
        self.nodes = 0
        self.closed: list[Part] = []
        self._count = 0
        self._open: list[_Node] = []
        self._busy: dict[int, _Node] = {}
        self._told: int | None = None
        self._lock = threading.Condition()
        self._error: BaseException | None = None
        self._levels = np.array([np.unique(c).size for c in integers.units.T])
        for part in parts:
            self._push(part.lower, part.upper, part.value, [], 0)

    # -- bookkeeping (with the lock) -------------------------------------------------------------

    def _push(self, lower: IntArray, upper: IntArray, value: int, rows: Names, depth: int) -> None:
        self._count += 1
        node = _Node(-value, self._count, lower, upper, value, rows, depth)
        heapq.heappush(self._open, node)

    def bound(self) -> int:
        """The highest bound of a box."""
        values = [part.value for part in self.closed] + [n.value for n in self._busy.values()]
        if self._open:
            values.append(self._open[0].value)
        return max(values)

    def leaves(self) -> list[Part]:
        """All boxes, open and closed; together they cover the box that was given."""
        nodes = [*self._open, *self._busy.values()]
        return self.closed + [Part(n.lower, n.upper, n.value) for n in nodes]

    def _tell(self) -> None:
        value = self.bound()
        if self._told is None or value < self._told:
            self._told = value
            self.on_bound(value)

    def _over(self) -> bool:
        return self._error is not None or time.perf_counter() > self.deadline or self.should_stop()

    # -- the loop --------------------------------------------------------------------------------

    def run(self, n_jobs: int = 1) -> None:
        """Work with some threads; the bound holds whenever they end."""
        self._tell()
        if n_jobs == 1:
            self._work()
        else:
            threads = [threading.Thread(target=self._work, daemon=True) for _ in range(n_jobs)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        pricing: Pricing | None = None
        try:
            while (node := self._take()) is not None:
                pricing = pricing or Pricing(self.integers, self.pool)
                children = self._process(node, pricing)
                self._replace(node, children)
        except BaseException as error:  # passed on to the caller's thread
            with self._lock:
                self._error = error
                self._lock.notify_all()

    def _take(self) -> _Node | None:
        """The open box with the highest bound; None at the end."""
        with self._lock:
            while not self._over():
                if self.most_nodes is not None and self.nodes >= self.most_nodes:
                    return None
                if self._open:
                    if self.incumbent is not None and self._open[0].value <= self.incumbent:
                        return None
                    node = heapq.heappop(self._open)
                    self._busy[node.number] = node
                    self.nodes += 1
                    return node
                if not self._busy:
                    return None
                self._lock.wait(0.1)
            return None

    def _replace(self, node: _Node, children: list[tuple[IntArray, IntArray]] | None) -> None:
        """Put a box's parts in its place; None leaves it open as it is, [] closes it."""
        with self._lock:
            del self._busy[node.number]
            if children is None:
                self._push(node.lower, node.upper, node.value, node.rows, node.depth)
            elif not children:
                self.closed.append(Part(node.lower, node.upper, node.value))
            for lower, upper in children or []:
                self._push(lower, upper, node.value, node.rows, node.depth + 1)
            self._tell()
            self._lock.notify_all()

    # -- one box ---------------------------------------------------------------------------------

    def _process(self, node: _Node, pricing: Pricing) -> list[tuple[IntArray, IntArray]] | None:
        if (node.lower == node.upper).all():
            self._lower(node, self.integers.value(node.lower))
            return []
        box = make_box(self.integers, node.lower, node.upper, free_signs=self.free_signs)
        program = CoverProgram(self.pool, box, self.support)
        program.add(node.rows)
        point = self._rounds(node, program, pricing)
        if self.incumbent is not None and node.value <= self.incumbent:
            return []
        return None if point is None else self._split(node, box, point)

    def _lower(self, node: _Node, value: int) -> None:
        with self._lock:
            if value < node.value:
                node.value = value
                self._tell()

    def _rounds(self, node: _Node, program: CoverProgram, pricing: Pricing) -> Point | None:
        """Solve and add cuts while that pays; None if that was cut short."""
        effort, random = self.effort, np.random.default_rng(node.number)
        top = self.integers.ceiling
        history: list[int] = []
        point: Point | None = None
        for turn in range(effort.rounds):
            found = program.solve(self.deadline, self._over)
            self._lower(node, program.bound())
            if self._over():
                return None
            point = found
            history.append(node.value)
            program.purge()
            node.rows = list(program.names)
            if self.incumbent is not None and node.value <= self.incumbent:
                break
            if turn >= 3:
                gain = history[-4] - history[-1]
                if gain < 3 * effort.least_gain * max(1, top - node.value):
                    break
            if turn >= effort.turn and self._others_first(node):
                return None
            if program.add(self._separate(program.box, point, pricing, random)) == 0:
                break
        return point

    def _others_first(self, node: _Node) -> bool:
        """Whether another box has a higher bound by now, so that more work here can wait."""
        with self._lock:
            return bool(self._open) and self._open[0].value > node.value

    def _separate(
        self, box: Box, point: Point, pricing: Pricing, random: np.random.Generator
    ) -> Names:
        """Violated cuts at thresholds: from the pool, and if these are few, new ones."""
        effort, count = self.effort, int(point.lost.shape[1])
        count_before = len(self.pool)
        known = PoolView(self.pool, box, max(0, count_before - effort.memory))
        names = known.violated(*point, effort.violation)[: effort.most_rows]
        if len(names) >= effort.enough:
            return names
        for i in range(point.lost.shape[0]):
            if len(names) < 50:
                names += [(c, i) for c in pair_cuts(self.pool, point, i, 0.05, 60)]
            extra = 0.02 * random.random(count)
            pricing.choose(point, i, random)
            for t in range(effort.searches):
                if self._over():
                    return names
                weight = (1.0, 3.0, 10.0, 0.3)[t % 4]
                for number in pricing.search(point, i, extra, weight, effort.passes):
                    cut = self.pool.cuts[number]
                    extra[cut.positives] += 0.1
                    extra[cut.negatives] += 0.1
        fresh = PoolView(self.pool, box, count_before)
        return names + fresh.violated(*point, effort.violation)

    def _split(self, node: _Node, box: Box, point: Point) -> list[tuple[IntArray, IntArray]]:
        """Split at the signs of an undecided column, else halve the widest interval."""
        free = box.plus | box.minus
        if free.any():
            score = self._scores(point)
            k = int(np.argmax(np.where(free, score, -1.0)))
            return sign_parts(node.lower, node.upper, k)
        k = int(np.argmax(node.upper - node.lower))
        middle = int(node.lower[k] + node.upper[k]) // 2
        low, high = node.upper.copy(), node.lower.copy()
        low[k], high[k] = middle, middle + 1
        return [(node.lower, low), (high, node.upper)]

    def _scores(self, point: Point) -> np.ndarray:
        """How much a column's sign is torn; many-valued columns count more."""
        both, larger = point.plus + point.minus, np.maximum(point.plus, point.minus)
        torn = np.minimum(point.plus, point.minus)
        many = np.where(self._levels > 2, 0.3, 0.0)
        return np.asarray(both * (1 - larger) + 2 * torn + many + 1e-6 * self._levels)
