"""Packed conflicts over a tree of boxes: a bound for problems with many columns.

1. Take the open box with the highest bound.  While its program gains enough from new conflicts, add
   some; if another box has a higher bound by then, it waits its turn.
2. Then split it: at the signs of a column (0, +, −), at whether a question is asked, or, where all
   signs are known, in halves.  The parts begin with the conflicts that bound the whole.
3. Each box keeps its best multipliers and the value that ``packed`` counts for them; the bound of
   all is the highest value of a box.  It holds at any time.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from netbenefit.common import FloatArray, IntArray
from netbenefit.problem import Asked, Boxes, IntegerProblem, Reason
from netbenefit.solvers.bounds.conflict_pool import Name, Point, Pool, Pricing, Room, View, pairs
from netbenefit.solvers.bounds.packed import (
    NOTHING,
    Entries,
    LeafBox,
    Packer,
    Rules,
    TightBox,
    as_boxes,
)
from netbenefit.solvers.bounds.packing_program import PackingProgram, as_entries
from netbenefit.solvers.clock import now


@dataclass(frozen=True)
class Effort:
    """How hard a box is worked on."""

    rounds: int = 40  #: most rounds of new conflicts
    turn: int = 4  #: rounds after which a box waits if another one has a higher bound
    least_gain: float = 0.004  #: go on while a round adds this share of the loss proven so far
    pairs: int = 60  #: new pairs per threshold and round
    few: int = 8  #: new pairs of a round that make larger conflicts unnecessary
    searches: int = 1  #: pricing programs per threshold and round
    passes: int = 2  #: solutions of each
    violation: float = 0.02
    most_rows: int = 1000
    enough: int = 200  #: violated rows of the pool that make new conflicts unnecessary in a round
    memory: int = 20_000  #: the latest combinations of the pool that are looked through


@dataclass(frozen=True)
class Part:
    """A box as it is split off: ranges of points, and flags of questions."""

    lower: IntArray
    upper: IntArray
    asked: IntArray

    def parts(self, k: int, asked: int | None) -> list[Part]:
        """Split at a question, or at the signs of column k, or its range in halves."""
        if asked is not None:
            return [replace(self, asked=_put(self.asked, asked, f)) for f in (Asked.NO, Asked.YES)]
        low, high = int(self.lower[k]), int(self.upper[k])
        cuts = [(max(low, 1), high), (low, min(high, -1))]
        if low <= 0 <= high:
            cuts.append((0, 0))
        else:
            middle = (low + high) // 2
            cuts = [(low, middle), (middle + 1, high)]
        return [
            replace(self, lower=_put(self.lower, k, a), upper=_put(self.upper, k, b))
            for a, b in cuts
            if a <= b
        ]


def _put(values: IntArray, at: int, value: int) -> IntArray:
    result = values.copy()
    result[at] = value
    return result


@dataclass(order=True)
class _Node:
    """A box with the best that is known about it; never changed."""

    rank: int
    number: int
    part: Part = field(compare=False)
    value: int = field(compare=False)
    reason: Reason = field(compare=False, default=Reason.PACKED)
    names: list[Name] = field(compare=False, default_factory=list)
    amounts: IntArray = field(compare=False, default_factory=lambda: Entries.none().amount)
    limits: IntArray = field(compare=False, default_factory=lambda: Entries.none().limit)
    fines: IntArray = field(compare=False, default_factory=lambda: Entries.none().fine)
    rows: list[Name] = field(compare=False, default_factory=list)  #: tight in its program
    split: tuple[int, int | None] | None = field(compare=False, default=None)


@dataclass(frozen=True, eq=False)
class PackingBound:
    """What packed conflicts prove."""

    value: int  #: no card is worth more, in the units of :class:`IntegerProblem`
    boxes: Boxes  #: they cover all points; the highest value is ``value``
    nodes: int  #: boxes worked on
    conflicts: int  #: combinations found
    interrupted: bool = False  #: by Ctrl-C


def packing_bound(
    integers: IntegerProblem,
    rules: Rules | None = None,
    *,
    incumbent: int | None = None,
    seconds: float = 60.0,
    n_jobs: int = 1,
    on_bound: Callable[[int], None] = lambda value: None,
    should_stop: Callable[[], bool] = lambda: False,
    effort: Effort | None = None,
    most_nodes: int | None = None,
) -> PackingBound:
    """Bound the values of all cards that keep the rules; the bound holds whenever it ends.

    Boxes that cannot beat the ``incumbent`` are closed.  ``on_bound`` gets every lower bound, from
    any thread but never from two at once.
    """
    deadline = now() + seconds

    def over() -> bool:
        return now() > deadline or should_stop()

    packer = Packer(integers, rules)
    tree = _Tree(packer, incumbent, on_bound, over, effort or Effort(), most_nodes)
    interrupted = False
    try:
        tree.run(n_jobs)
    except KeyboardInterrupt:
        interrupted = True
    return replace(tree.result(), interrupted=interrupted)


class _Tree:
    """The search; :meth:`run` works until told to stop or no open box can beat the incumbent."""

    def __init__(
        self,
        packer: Packer,
        incumbent: int | None,
        on_bound: Callable[[int], None],
        over: Callable[[], bool],
        effort: Effort,
        most_nodes: int | None,
    ) -> None:
        self.packer, self.pool = packer, Pool(packer)
        self.incumbent, self.on_bound, self.effort = incumbent, on_bound, effort
        self.most_nodes = most_nodes
        self.nodes = 0
        self._is_over = over
        self._open: list[_Node] = []
        self._busy: dict[int, _Node] = {}
        self._closed: list[_Node] = []
        self._count = 0
        self._lock = threading.Condition()
        self._error: BaseException | None = None
        integers = packer.integers
        self._levels = np.array([np.unique(c).size for c in integers.units.T])
        asked = np.full(packer.n_questions, Asked.EITHER, dtype=np.int64)
        root = self._node(Part(integers.lower, integers.upper, asked), Entries.none(), [])
        self._best = root.value, [root]
        self._file(root)
        on_bound(root.value)

    # -- bookkeeping -----------------------------------------------------------------------------

    def _node(self, part: Part, entries: Entries, names: list[Name]) -> _Node:
        """A box with the value of given multipliers, or none if those are better."""
        box = self.packer.tighten(part.lower, part.upper, part.asked)
        if box is not None and (part.lower == part.upper).all():
            value = self.packer.integers.value(part.lower)
            return _Node(-value, self._next(), part, value, Reason.COUNTED)
        plain = self.packer.value(box)
        value = self._value(box, entries, names)
        if plain <= value or not names:
            return _Node(-plain, self._next(), part, plain, rows=names)
        return _Node(
            -value,
            self._next(),
            part,
            value,
            Reason.PACKED,
            names,
            *entries[1:2],
            *entries[3:],
            names,
        )

    def _value(self, box: TightBox | None, entries: Entries, names: list[Name]) -> int:
        try:
            return self.packer.value(box, self.pool.conflicts(names), entries)
        except OverflowError:
            return self.packer.value(box)

    def _next(self) -> int:
        with self._lock:
            self._count += 1
            return self._count

    def _file(self, node: _Node) -> None:
        """Put a box where it belongs (with the lock, or before there are threads)."""
        beaten = self.incumbent is not None and node.value <= self.incumbent
        if beaten or node.value == NOTHING or node.reason == Reason.COUNTED:
            self._closed.append(node)
        else:
            heapq.heappush(self._open, node)

    def _bound(self) -> int:
        values = [node.value for node in self._busy.values()]
        values += [self._open[0].value] if self._open else []
        values += [max(node.value for node in self._closed)] if self._closed else []
        return max(values)

    def _replace(self, node: _Node, parts: list[_Node]) -> None:
        """Put boxes in the place of one."""
        with self._lock:
            del self._busy[node.number]
            for part in parts:
                self._file(part)
            value = self._bound()
            if value < self._best[0]:
                self._best = value, [*self._open, *self._busy.values(), *self._closed]
                self.on_bound(value)
            self._lock.notify_all()

    def _over(self) -> bool:
        return self._error is not None or self._is_over()

    def result(self) -> PackingBound:
        """The boxes of the lowest bound."""
        value, nodes = self._best
        names = sorted({name for node in nodes for name in node.names})
        number = {name: c for c, name in enumerate(names)}
        leaves = [
            LeafBox(
                node.part.lower,
                node.part.upper,
                node.part.asked,
                node.value,
                node.reason,
                as_entries(
                    np.array([number[name] for name in node.names], dtype=np.int64),
                    node.amounts,
                    node.limits,
                    node.fines,
                ),
            )
            for node in nodes
        ]
        boxes = as_boxes(leaves, self.pool.conflicts(names))
        return PackingBound(value, boxes, self.nodes, len(self.pool))

    # -- the loop --------------------------------------------------------------------------------

    def run(self, n_jobs: int = 1) -> None:
        """Work with some threads."""
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(n_jobs - 1)]
        for thread in threads:
            thread.start()
        self._work()
        for thread in threads:
            thread.join()
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        pricing: Pricing | None = None
        try:
            while (node := self._take()) is not None:
                pricing = pricing or Pricing(self.packer.integers, self.pool)
                self._replace(node, self._improve(node, pricing))
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
                    node = heapq.heappop(self._open)
                    self._busy[node.number] = node
                    self.nodes += 1
                    return node
                if not self._busy:
                    return None
                self._lock.wait(0.1)
            return None

    # -- one box ---------------------------------------------------------------------------------

    def _improve(self, node: _Node, pricing: Pricing) -> list[_Node]:
        """What takes the place of a box: its parts, or itself with better multipliers."""
        split = node.split or self._first_split(node)
        if split is None:
            return [self._relax(node, pricing)]
        parts = []
        for part in node.part.parts(*split):
            amounts = Entries.none()._replace(
                amount=node.amounts, limit=node.limits, fine=node.fines
            )
            numbers = np.arange(len(node.names))
            given = as_entries(numbers, amounts.amount, amounts.limit, amounts.fine)
            child = self._node(part, given, node.names)
            child.rows = node.rows
            if child.value != NOTHING and not self._over():
                child = self._relax(child, pricing, self.effort.turn)
            parts.append(child)
        return parts

    def _first_split(self, node: _Node) -> tuple[int, int | None] | None:
        """A column with so many values that either sign alone resolves all conflicts."""
        if node.names or node.rows:
            return None
        box = self.packer.tighten(node.part.lower, node.part.upper, node.part.asked)
        assert box is not None
        torn = (box.lower < 0) & (box.upper > 0)
        k = int(np.argmax(np.where(torn, self._levels, 0)))
        return (k, None) if torn.any() and self._levels[k] > _MANY else None

    def _relax(self, node: _Node, pricing: Pricing, turns: int | None = None) -> _Node:
        """Solve and add conflicts while that pays, for some turns or until another box is next."""
        effort, random = self.effort, np.random.default_rng(node.number)
        box = self.packer.tighten(node.part.lower, node.part.upper, node.part.asked)
        if box is None or node.reason == Reason.COUNTED:
            return node
        room = Room.of(self.packer, box)
        program = PackingProgram(self.packer, self.pool, room)
        self._add_rows(program, node.rows)
        top = self.packer.integers.ceiling
        best, history = node, list[int]()
        split: tuple[int, int | None] | None = None
        for turn in range(effort.rounds):
            point = program.solve(self._over)
            best = self._better(best, program)
            history.append(best.value)
            if self._over() or (self.incumbent is not None and best.value <= self.incumbent):
                break
            program.purge()
            split = self._choose(node.part, box, point)
            if turn >= 3:
                gain = history[-4] - history[-1]
                if gain < 3 * effort.least_gain * max(1, top - best.value):
                    break
            if turn == turns or (turn >= effort.turn and self._others_first(best)):
                split = None
                break
            found = self._separate(room, point, pricing, random)
            if sum(program.add(view, chosen) for view, chosen in found) == 0:
                break
        names = list(program.names) or best.names
        return replace(best, number=self._next(), rows=names, split=split)

    def _add_rows(self, program: PackingProgram, names: list[Name]) -> None:
        numbers = np.array(sorted({c for c, _ in names}), dtype=np.int64)
        place = {c: row for row, c in enumerate(numbers.tolist())}
        view = self.pool.view(program.room, numbers)
        program.add(view, [(place[c], i) for c, i in names])

    def _better(self, best: _Node, program: PackingProgram) -> _Node:
        """The box with the multipliers of the program, if they are better."""
        names, amounts, limits, fines = program.entries()
        given = as_entries(np.arange(len(names)), amounts, limits, fines)
        value = self._value(program.room.box, given, names)
        if value >= best.value:
            return best
        return _Node(
            -value, best.number, best.part, value, Reason.PACKED, names, amounts, limits, fines
        )

    def _others_first(self, node: _Node) -> bool:
        """Whether another box has a higher bound by now, so that more work here can wait."""
        with self._lock:
            return bool(self._open) and self._open[0].value > node.value

    def _separate(
        self, room: Room, point: Point, pricing: Pricing, random: np.random.Generator
    ) -> list[tuple[View, list[tuple[int, int]]]]:
        """Violated rows: from the pool, and if these are few, new ones."""
        effort, before = self.effort, len(self.pool)
        view = self.pool.view(room, np.arange(max(0, before - effort.memory), before))
        known = view, view.violated(point, effort.violation)[: effort.most_rows]
        if len(known[1]) >= effort.enough:
            return [known]
        thresholds = range(point.lost.shape[0])
        numbers = {
            number
            for i in thresholds
            if not self._over()
            for number in pairs(self.pool, room, point, i, 0.05, effort.pairs, random)
        }
        if len(numbers) < effort.few:
            for i in thresholds:
                extra = random.uniform(0, 0.02, (point.lost.shape[1],))
                pricing.choose(room, point, i, random)
                for t in range(effort.searches):
                    if self._over():
                        break
                    weight = (1.0, 3.0, 10.0, 0.3)[t % 4]
                    for number in pricing.search(point, i, extra, weight, effort.passes):
                        numbers.add(number)
                        extra[self.pool.patterns(number)] += 0.1
        fresh = self.pool.view(room, np.array(sorted(numbers), dtype=np.int64))
        return [known, (fresh, fresh.violated(point, effort.violation))]

    def _choose(self, part: Part, box: TightBox, point: Point) -> tuple[int, int | None]:
        """Where to split: where the program is least decided."""
        both, larger = point.plus + point.minus, np.maximum(point.plus, point.minus)
        torn = np.minimum(point.plus, point.minus)
        many = np.where(self._levels > 2, 0.3, 0.0)
        score = both * (1 - larger) + 2 * torn + many + 1e-6 * self._levels
        score = np.where((part.lower <= 0) & (part.upper >= 0) & box.free, score, -1.0)
        k, q = int(np.argmax(score)), int(np.argmax(self._doubt(box, point)))
        if self._doubt(box, point)[q] > max(0.0, float(score[k])):
            return k, q
        if score[k] < 0:
            k = int(np.argmax(part.upper - part.lower))
        return k, None

    def _doubt(self, box: TightBox, point: Point) -> FloatArray:
        """How undecided it is whether a question with several columns is asked."""
        of = self.packer.integers.questions
        several = np.bincount(of[box.free], minlength=box.asked.size) > 1
        doubt = 4 * point.asked * (1 - point.asked)
        return np.where(several & (box.asked == Asked.EITHER), doubt, -1.0)


#: A column with more values than this is split before anything is solved.
_MANY = 20
