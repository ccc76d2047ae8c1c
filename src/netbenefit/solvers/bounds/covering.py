"""The signed covering relaxation: an upper bound of a problem by cuts and three-way branching.

Variables: z_iu = 1 if pattern u is lost at threshold i (a gain not called, or a loss called), and
s⁺_k, s⁻_k = 1 if λ_k is positive, negative.  Convex combinations of positives and negatives that
coincide on some columns show that either a pattern in them is lost or one of the other columns must
be used with the right sign (see ``cuts``).  The linear program over z and s with these cuts bounds
every card of a box (``cover_program``); boxes are split where that helps, after wide columns have
been probed (``probe_columns``).  All bounds are counted in whole numbers.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import highspy
import numpy as np
from scipy import sparse

from netbenefit.common import FloatArray, IntArray
from netbenefit.problem import IntegerProblem
from netbenefit.solvers.bounds.cover_program import CoverProgram, Point, SupportRows
from netbenefit.solvers.bounds.cuts import Box, CutPool, PoolView, make_box
from netbenefit.solvers.bounds.multipliers import equal_multipliers
from netbenefit.solvers.highs import equality_program, solve_again
from netbenefit.solvers.kernels.jit import jit

# -- probing ---------------------------------------------------------------------------------------
# A column with a spread far above that of all others orders the patterns nearly by itself once its
# points are not 0, since points are whole.  Pairs show it.  A positive u and a negative w are in
# *conflict* in a box if no λ of it calls u without calling w, that is, if
#
#     max over the box of (x_u − x_w)·λ  <  grain   (in units; see ``cuts``) ,
#
# since u called and w not called needs at least the grain.  Each threshold then loses at least any
# flow from positives (supply gains) along conflicts to negatives (room −gains); here the flow is
# found greedily, in whole numbers, without storing the pairs.
#
# The recipe of :func:`probe_columns`:
#
# 1. Order the columns by spread; those that outweigh all narrower ones together are *wide*.
# 2. Split the box at the signs of the widest column that is not decided yet, and bound each part by
#    its conflicts.  Parts that stay above the target are split at the next wide column.

#: Positives whose conflicts are looked for between two looks at the clock.
_BLOCK = 200


class Part(NamedTuple):
    """A box of points with an upper bound of the values in it."""

    lower: IntArray
    upper: IntArray
    value: int


@jit
def _conflicts(
    units: IntArray,
    columns: IntArray,
    lower: IntArray,
    upper: IntArray,
    positives: IntArray,
    negatives: IntArray,
    grain: int,
    found: np.ndarray,
) -> None:
    """Mark (u, w) whose order no λ of the box can get right."""
    for a in range(positives.size):
        u = positives[a]
        for b in range(negatives.size):
            w = negatives[b]
            most = 0
            for k in columns:
                d = units[u, k] - units[w, k]
                most += max(d * lower[k], d * upper[k])
            found[a, b] = most < grain


@jit
def _greedy_flow(
    found: np.ndarray, supply: IntArray, room: IntArray, order: IntArray, turn: IntArray
) -> int:
    """Send what fits: positives with few conflicts first, to negatives with few first."""
    total = 0
    for a in order:
        left = supply[a]
        if left <= 0:
            continue
        for b in turn:
            if found[a, b] and room[b] > 0:
                sent = min(left, room[b])
                room[b] -= sent
                left -= sent
                total += sent
                if left == 0:
                    break
    return total


def conflict_bound(
    integers: IntegerProblem,
    lower: IntArray,
    upper: IntArray,
    should_stop: Callable[[], bool] = lambda: False,
) -> int:
    """No card of the box is worth more: ceiling − prices of decided columns − greedy flows."""
    box = make_box(integers, lower, upper)
    gains = integers.gains
    positives = np.flatnonzero((gains > 0).any(axis=0))
    negatives = np.flatnonzero((gains < 0).any(axis=0))
    found = np.zeros((positives.size, negatives.size), dtype=np.bool_)
    columns = np.flatnonzero((box.lower != 0) | (box.upper != 0))
    for a in range(0, positives.size, _BLOCK):
        if should_stop():
            break  # fewer conflicts are found, which is no mistake
        some, place = positives[a : a + _BLOCK], found[a : a + _BLOCK]
        _conflicts(integers.units, columns, box.lower, box.upper, some, negatives, box.grain, place)
    order = np.argsort(found.sum(axis=1), kind="stable")
    turn = np.argsort(found.sum(axis=0), kind="stable")
    loss = 0
    for row in gains:
        supply = np.maximum(row[positives], 0)
        room = np.maximum(-row[negatives], 0)
        loss += int(_greedy_flow(found, supply, room, order, turn))
    return integers.ceiling - integers.price * box.paid - loss


def wide_columns(
    integers: IntegerProblem, lower: IntArray, upper: IntArray, most: int = 4
) -> list[int]:
    """Columns whose spread outweighs all narrower ones together, widest first."""
    x = integers.units.astype(np.float64)
    spread = np.abs(x - np.median(x, axis=0)).mean(axis=0)
    spread[(lower == 0) & (upper == 0)] = 0
    order = np.argsort(-spread, kind="stable")
    wide: list[int] = []
    for place, k in enumerate(order[:most]):
        rest = float(spread[order[place + 1 :]].sum())
        if spread[k] <= rest / 4 or len(np.unique(integers.units[:, k])) <= 2:
            break
        wide.append(int(k))
    return wide


def sign_parts(lower: IntArray, upper: IntArray, k: int) -> list[tuple[IntArray, IntArray]]:
    """The box split at λ_k < 0, = 0, > 0; empty parts are left out."""
    parts = []
    for low, high in ((0, 0), (1, int(upper[k])), (int(lower[k]), -1)):
        low, high = max(low, int(lower[k])), min(high, int(upper[k]))
        if low <= high:
            a, b = lower.copy(), upper.copy()
            a[k], b[k] = low, high
            parts.append((a, b))
    return parts


def probe_columns(
    integers: IntegerProblem,
    lower: IntArray,
    upper: IntArray,
    target: int,
    should_stop: Callable[[], bool],
) -> list[Part]:
    """Split a box at the signs of its wide columns and bound the parts by their conflicts.

    Parts with all wide columns at 0 are not bounded: there are few conflicts there.
    """
    wide = wide_columns(integers, lower, upper)
    top = integers.ceiling - integers.price * int(((lower > 0) | (upper < 0)).sum())
    done: list[Part] = []
    todo = [(Part(lower, upper, top), 0)]
    while todo:
        part, depth = todo.pop()
        if depth == len(wide) or part.value <= target:
            done.append(part)
            continue
        for a, b in sign_parts(part.lower, part.upper, wide[depth]):
            value = part.value
            decided = (a[wide] > 0) | (b[wide] < 0)
            if decided.any() and not should_stop():
                value = min(value, conflict_bound(integers, a, b, should_stop))
            todo.append((Part(a, b, value), depth + 1))
    return done


# -- where cuts come from: pairs of patterns, and a linear program over convex combinations --------
# The program looks for weights α of positives and β of negatives, Σα = Σβ = 1, with
# d⁺ − d⁻ = Σ α_u x_u − Σ β_w x_w ,
# minimise  Σ cost_u α_u + Σ cost_w β_w + Σ_k (price⁺_k d⁺_k + price⁻_k d⁻_k) ,
# where costs stand for how much the current solution of the covering program has paid for a pattern
# or a sign already.  A cut counts a member as a whole, however small its weight: costs are divided
# by the weights of the last answer and the program is solved again.


_TINY = 1e-9
#: Members that a pattern's or a column's price is meant for.
_MEMBERS = 8.0
#: Patterns of one side that a program looks at.
_MOST_MEMBERS = 700


class Pricing:
    """The pricing program; one for each thread."""

    def __init__(self, integers: IntegerProblem, pool: CutPool) -> None:
        self.integers, self.pool = integers, pool
        n, p = integers.units.shape
        self.n, self.p = n, p
        x = integers.units.astype(np.float64)
        scaled = sparse.csr_matrix((x / np.maximum(x.max(axis=0) - x.min(axis=0), 1.0)).T)
        unit = sparse.identity(p, format="csr")
        ones, none = np.ones((1, n)), sparse.csr_matrix((1, p))
        matrix = sparse.vstack(
            [
                sparse.hstack([ones, sparse.csr_matrix((1, n)), none, none]),
                sparse.hstack([sparse.csr_matrix((1, n)), ones, none, none]),
                sparse.hstack([scaled, -scaled, -unit, unit]),
            ]
        ).tocsc()
        #: upper bounds of all variables: 0 for patterns that may not take part
        self._upper = np.full(2 * (n + p), highspy.kHighsInf)
        sides = np.concatenate([[1.0, 1.0], np.zeros(p)])
        self.solver = equality_program(matrix, sides, presolve="off", simplex_strategy=4)

    def choose(self, point: Point, i: int, random: np.random.Generator) -> None:
        """Pick the patterns of threshold i that may take part: all, or some of very many."""
        gains = self.integers.gains[i]
        self._upper[: 2 * self.n] = 0.0
        for first, side in ((0, gains > 0), (self.n, gains < 0)):
            members = np.flatnonzero(side)
            if members.size > _MOST_MEMBERS:
                rank = random.random(members.size) + point.lost[i][members]
                members = members[np.argpartition(rank, _MOST_MEMBERS)[:_MOST_MEMBERS]]
            self._upper[first + members] = highspy.kHighsInf

    def search(
        self, point: Point, i: int, extra: FloatArray, weight: float, passes: int
    ) -> list[int]:
        """Cuts for threshold i (of the last :meth:`choose`) near the point; numbers in the pool.

        The program is solved ``passes`` times, reweighted; ``extra`` (n,) costs lead away from
        known cuts; ``weight`` is the price of a sign compared with that of a pattern.
        """
        n, p = self.n, self.p
        lost = np.tile(4.0 * (point.lost[i] + 1e-4 + extra), 2)
        signs = np.concatenate([point.plus, point.minus]) * weight + 1e-6
        w_lost, w_signs = np.ones(2 * n), np.ones(2 * p)
        found: list[int] = []
        for _ in range(passes):
            self.solver.setOptionValue("time_limit", self.solver.getRunTime() + 1.0)
            costs = np.concatenate([lost * w_lost, signs * w_signs])
            x = solve_again(self.solver, costs, self._upper)
            if x is None:
                break
            number = self._cut(x, point, i)
            if number is not None and number not in found:
                found.append(number)
            w_lost = 1.0 / (x[: 2 * n] * _MEMBERS + 0.2)
            w_signs = 1.0 / (x[2 * n :] * _MEMBERS + 0.2)
        return found

    def _cut(self, x: FloatArray, point: Point, i: int) -> int | None:
        """Turn an answer into a cut in whole numbers."""
        n, p = self.n, self.p
        positives = np.flatnonzero(x[:n] > 1e-7)
        negatives = np.flatnonzero(x[n : 2 * n] > 1e-7)
        if positives.size == 0 or negatives.size == 0:
            return None
        up, down = x[2 * n : 2 * n + p] > _TINY, x[2 * n + p :] > _TINY
        paid = point.lost[i][positives].sum() + point.lost[i][negatives].sum()
        if paid >= 1:
            return None
        multipliers: list[int] | None = [1, 1]
        if positives.size > 1 or negatives.size > 1:
            priced = (point.plus > _TINY) | (point.minus > _TINY)
            zero = np.flatnonzero(~up & ~down & priced)
            weights = np.concatenate([x[:n][positives], x[n : 2 * n][negatives]])
            units = self.integers.units[:, zero]
            multipliers = equal_multipliers(units[positives], units[negatives], weights)
        if multipliers is None:
            return None
        return self.pool.add(positives.tolist(), negatives.tolist(), multipliers)


@jit
def _best_pairs(
    units: IntArray,
    positives: IntArray,
    negatives: IntArray,
    lost: FloatArray,
    columns: IntArray,
    plus: FloatArray,
    minus: FloatArray,
    best: FloatArray,
) -> IntArray:
    """For each positive the negative with the most violated cut, and how much it is violated."""
    partner = np.zeros(positives.size, dtype=np.int64)
    for a in range(positives.size):
        u = positives[a]
        best[a] = -1.0
        for w in negatives:
            left = 1.0 - lost[u] - lost[w]
            for k in columns:
                if left <= best[a]:
                    break
                if units[u, k] > units[w, k]:
                    left -= plus[k]
                elif units[u, k] < units[w, k]:
                    left -= minus[k]
            if left > best[a]:
                best[a], partner[a] = left, w
    return partner


def pair_cuts(pool: CutPool, point: Point, i: int, least: float, most: int) -> list[int]:
    """The most violated cuts of two patterns at threshold i, one for each positive."""
    gains, lost = pool.integers.gains[i], point.lost[i]
    positives = np.flatnonzero((gains > 0) & (lost < 1 - least))
    negatives = np.flatnonzero((gains < 0) & (lost < 1 - least))
    if negatives.size == 0:
        return []
    signs = point.plus + point.minus
    columns = np.argsort(-signs, kind="stable")[: int((signs > 0).sum())]
    best = np.zeros(positives.size)
    partner = _best_pairs(
        pool.integers.units, positives, negatives, lost, columns, point.plus, point.minus, best
    )
    chosen = np.argsort(-best, kind="stable")[:most]
    found = [
        pool.add([int(positives[a])], [int(partner[a])], [1, 1]) for a in chosen if best[a] > least
    ]
    return [number for number in found if number is not None]


# -- three-way branching over boxes of points, best first, with one pool of cuts for all boxes -----
# 1. Take the open box with the highest bound.
# 2. Set up its covering program with the rows that were tight in its parent (their coefficients are
# computed anew for the box) and solve it; add violated cuts, from the pool and from pricing, while
# that pays.  If its bound falls below that of another open box, go to 1: it waits its turn.
# 3. Split the box: at the signs of a column (0, +, −) while a column is undecided, else in halves.
# A single vector is counted.
# 4. The bound of all is the highest bound of an open or closed box.  It holds at any time.


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
    rows: Names = field(compare=False)


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
        support: SupportRows = (),
        effort: Effort | None = None,
        most_nodes: int | None = None,
    ) -> None:
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
        self._reported: int | None = None
        self._lock = threading.Condition()
        self._error: BaseException | None = None
        self._levels = np.array([np.unique(c).size for c in integers.units.T])
        for part in parts:
            self._push(*part, [])

    # -- bookkeeping (with the lock) -------------------------------------------------------------

    def _push(self, lower: IntArray, upper: IntArray, value: int, rows: Names) -> None:
        self._count += 1
        heapq.heappush(self._open, _Node(-value, self._count, lower, upper, value, rows))

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

    def _report(self) -> None:
        value = self.bound()
        if self._reported is None or value < self._reported:
            self._reported = value
            self.on_bound(value)

    def _over(self) -> bool:
        return self._error is not None or time.perf_counter() > self.deadline or self.should_stop()

    # -- the loop --------------------------------------------------------------------------------

    def run(self, n_jobs: int = 1) -> None:
        """Work with some threads; the bound holds whenever they end."""
        self._report()
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
                self._push(node.lower, node.upper, node.value, node.rows)
            elif not children:
                self.closed.append(Part(node.lower, node.upper, node.value))
            for lower, upper in children or []:
                self._push(lower, upper, node.value, node.rows)
            self._report()
            self._lock.notify_all()

    # -- one box ---------------------------------------------------------------------------------

    def _process(self, node: _Node, pricing: Pricing) -> list[tuple[IntArray, IntArray]] | None:
        if (node.lower == node.upper).all():
            self._lower(node, self.integers.value(node.lower))
            return []
        box = make_box(self.integers, node.lower, node.upper)
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
                self._report()

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
        """How undecided a column's sign is; many-valued columns count more."""
        both, larger = point.plus + point.minus, np.maximum(point.plus, point.minus)
        torn = np.minimum(point.plus, point.minus)
        many = np.where(self._levels > 2, 0.3, 0.0)
        return np.asarray(both * (1 - larger) + 2 * torn + many + 1e-6 * self._levels)


#: A column with more values than this is split before anything is solved.
_MANY = 20


@dataclass(frozen=True, eq=False)
class CoveringBound:
    """What the covering relaxation proves."""

    value: int  #: no vector of the box is worth more, in the units of :class:`IntegerProblem`
    leaves: list[Part]  #: boxes (lower, upper, value) that cover the box, each with its own bound
    nodes: int  #: boxes worked on
    cuts: int  #: convex combinations found


def covering_bound(
    integers: IntegerProblem,
    *,
    incumbent: int | None = None,
    seconds: float = 60.0,
    n_jobs: int = 1,
    on_bound: Callable[[int], None] = lambda value: None,
    should_stop: Callable[[], bool] = lambda: False,
    support: IntArray | None = None,
    support_limit: IntArray | None = None,
    effort: Effort | None = None,
    most_nodes: int | None = None,
) -> CoveringBound:
    """Bound the values of all vectors of the box; the bound holds whenever it ends.

    Boxes that cannot beat the ``incumbent`` are closed; vectors that break
    Σ_k support[r, k] · [λ_k ≠ 0] ≤ support_limit[r] need no bound.  ``on_bound`` gets every lower
    bound, from any thread but never from two at once.
    """
    rows: SupportRows = ()
    if support is not None and support_limit is not None:
        rows = list(zip(support, support_limit.tolist(), strict=True))
    deadline = time.perf_counter() + seconds

    def over() -> bool:
        return time.perf_counter() > deadline or should_stop()

    target = integers.ceiling // 2 if incumbent is None else incumbent
    probed = probe_columns(integers, integers.lower, integers.upper, target, over)
    parts = [piece for part in probed for piece in _first_split(integers, part, target)]
    tree = CoverTree(
        integers,
        parts,
        incumbent=incumbent,
        deadline=deadline,
        on_bound=on_bound,
        should_stop=should_stop,
        support=rows,
        effort=effort,
        most_nodes=most_nodes,
    )
    tree.run(n_jobs)
    leaves = tree.leaves()
    value = max(part.value for part in leaves)
    return CoveringBound(value, leaves, nodes=tree.nodes, cuts=len(tree.pool))


def _first_split(integers: IntegerProblem, part: Part, target: int) -> list[Part]:
    """Split at the signs of the column with most values: either sign alone satisfies all cuts."""
    undecided = (part.lower <= 0) & (part.upper >= 0) & (part.lower < part.upper)
    levels = np.array([np.unique(column).size for column in integers.units.T])
    k = int(np.argmax(np.where(undecided, levels, 0)))
    if part.value <= target or not undecided.any() or levels[k] <= _MANY:
        return [part]
    return [Part(a, b, part.value) for a, b in sign_parts(part.lower, part.upper, k)]
