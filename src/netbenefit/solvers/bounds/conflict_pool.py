"""Conflicts found so far, as a linear program of one box sees them, and where new ones come from.

A *combination* is a conflict without its threshold: patterns u and w with whole times of equal sums
A, and D = Σ times · units.  In a box it needs g·A of D·λ, less what decided columns can give; an
undecided column gives at most v_k, with one sign.  So, with z = 1 for a pattern that is lost,

    Σ z + Σ_k min(1, v_k / need) s_k ≥ 1

at every threshold where each u's cell is worth calling and no w's cell is.  All numbers here are
floating-point: they only lead to multipliers, whose bound ``packed`` counts.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import highspy
import numpy as np
from scipy import sparse

from netbenefit.common import FloatArray, IntArray
from netbenefit.problem import Conflicts, IntegerProblem
from netbenefit.solvers.bounds.multipliers import equal_multipliers
from netbenefit.solvers.bounds.packed import Packer, TightBox
from netbenefit.solvers.highs import equality_program, solve_again
from netbenefit.solvers.kernels.jit import jit

#: A combination at a threshold: (its number in the pool, threshold).
Name = tuple[int, int]


class Point(NamedTuple):
    """A solution of the program of a box."""

    lost: FloatArray  #: (m, n) at the first pattern of each cell
    plus: FloatArray  #: (P,) 1 for decided columns that may be positive
    minus: FloatArray
    asked: FloatArray  #: (Q,)


class Room(NamedTuple):
    """A box with its cells; each is known by its first pattern."""

    box: TightBox
    first: IntArray  #: (n,) first pattern of each pattern's cell
    gains: IntArray  #: (m, n) of whole cells, at their first pattern; else 0
    grain: int

    @classmethod
    def of(cls, packer: Packer, box: TightBox) -> Room:
        """The cells of a box."""
        cell, count = packer.cells(box)
        leader = np.full(count, cell.size, dtype=np.int64)
        np.minimum.at(leader, cell, np.arange(cell.size))
        first = leader[cell]
        gains = np.zeros_like(packer.integers.gains, dtype=np.int64)
        for row, own in zip(gains, packer.integers.gains, strict=True):
            np.add.at(row, first, own)
        return cls(box, first, gains, packer.grain(box))


class Pool:
    """All combinations; threads share it."""

    def __init__(self, packer: Packer) -> None:
        self.units: IntArray = packer.integers.units
        self._most = packer.most_times
        self._known: dict[tuple[tuple[int, int], ...], int] = {}
        self._members: list[tuple[IntArray, IntArray]] = []
        self._ratio: list[FloatArray] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._members)

    def add(self, above: Sequence[int], below: Sequence[int], times: Sequence[int]) -> int | None:
        """Put a combination into the pool and return its number; None if its times are too large.

        ``times`` are of the patterns to be called, then of the others.
        """
        if sum(times) > self._most:
            return None
        signed = [*times[: len(above)], *(-t for t in times[len(above) :])]
        key = tuple(sorted(zip([*above, *below], signed, strict=True)))
        with self._lock:
            if key not in self._known:
                self._known[key] = len(self._members)
                patterns, whole = (np.array(v, dtype=np.int64) for v in zip(*key, strict=True))
                weight = sum(times[: len(above)])
                self._ratio.append((whole @ self.units[patterns]) / weight)
                self._members.append((patterns, whole))  # last: others read without the lock
            return self._known[key]

    def patterns(self, number: int) -> IntArray:
        """The members of a combination."""
        return self._members[number][0]

    def view(self, room: Room, numbers: IntArray) -> View:
        """Some combinations, as a box sees them."""
        members = [self._members[c] for c in numbers.tolist()]
        sizes = np.array([patterns.size for patterns, _ in members], dtype=np.int64)
        start = np.concatenate([[0], np.cumsum(sizes)])
        none = np.zeros(0, dtype=np.int64)
        pattern = np.concatenate([none, *(patterns for patterns, _ in members)])
        times = np.concatenate([none, *(whole for _, whole in members)])
        ratio = np.array([self._ratio[c] for c in numbers.tolist()], dtype=np.float64)
        return View(room, numbers, start, pattern, times, ratio.reshape(-1, self.units.shape[1]))

    def conflicts(self, names: Sequence[Name]) -> Conflicts:
        """Combinations at thresholds, as a proof has them."""
        members = [self._members[c] for c, _ in names]
        sizes = [patterns.size for patterns, _ in members]
        none = np.zeros(0, dtype=np.int64)
        return Conflicts(
            np.array([i for _, i in names], dtype=np.int64),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([none, *(patterns for patterns, _ in members)]),
            np.concatenate([none, *(whole for _, whole in members)]),
        )


class View:
    """Combinations as rows of the program of one box."""

    def __init__(
        self,
        room: Room,
        numbers: IntArray,
        start: IntArray,
        pattern: IntArray,
        times: IntArray,
        ratio: FloatArray,
    ) -> None:
        box = room.box
        self.numbers = numbers
        shape = numbers.size, room.first.size
        cells, above = room.first[pattern], times > 0
        self.members = sparse.csr_matrix((np.ones(cells.size), cells, start), shape=shape)
        self.members.sum_duplicates()
        self.members.data[:] = 1.0
        part = np.maximum(ratio * box.lower, ratio * box.upper)
        need = room.grain - part[:, box.decided].sum(axis=1)
        live = need > 1e-9
        part[:, box.decided] = 0.0
        share = np.minimum(part / np.where(live, need, 1.0)[:, None], 1.0)
        never = part.sum(axis=1) < 0.999999 * need
        share[never] = 0.0
        self.plus = np.where(ratio > 0, share, 0.0)
        self.minus = np.where(ratio < 0, share, 0.0)
        # (C, m) whether all cells are on their right side
        rows = np.repeat(np.arange(numbers.size), np.diff(start))
        right = np.where(above, room.gains[:, cells] > 0, room.gains[:, cells] < 0)
        wrong = np.zeros((room.gains.shape[0], numbers.size), dtype=np.int64)
        for count, own in zip(wrong, right, strict=True):
            np.add.at(count, rows[~own], 1)
        self.valid = (wrong.T == 0) & live[:, None]

    def violated(self, point: Point, least: float) -> list[tuple[int, int]]:
        """(Row of this view, threshold) of rows violated by more than ``least``, worst first."""
        signs = self.plus @ point.plus + self.minus @ point.minus
        amount = 1 - signs[:, None] - self.members @ point.lost.T
        amount[~self.valid] = -1
        rows, thresholds = np.nonzero(amount > least)
        order = np.argsort(-amount[rows, thresholds], kind="stable")
        return list(zip(rows[order].tolist(), thresholds[order].tolist(), strict=True))


# -- pairs of patterns -----------------------------------------------------------------------------


#: Pairs of patterns that one search looks at.
_MOST_PAIRS = 400_000


@jit
def _best_pairs(
    units: IntArray,
    above: IntArray,
    below: IntArray,
    lost: FloatArray,
    known: IntArray,
    free: IntArray,
    lower: IntArray,
    upper: IntArray,
    plus: FloatArray,
    minus: FloatArray,
    grain: int,
    best: FloatArray,
) -> IntArray:
    """For each pattern above the one below with the most violated row, and by how much.

    Patterns ``below`` come by what is lost of them, ``free`` columns by what is used of them;
    ``known`` are the decided ones.
    """
    partner = np.zeros(above.size, dtype=np.int64)
    for a in range(above.size):
        u = above[a]
        best[a] = -1.0
        for w in below:
            left = 1.0 - lost[u] - lost[w]
            if left <= best[a]:
                break
            need = grain
            for k in known:
                d = units[u, k] - units[w, k]
                need -= d * (upper[k] if d > 0 else lower[k])
            if need <= 0:
                continue
            for k in free:
                d = units[u, k] - units[w, k]
                if d == 0:
                    continue
                part = d * (upper[k] if d > 0 else lower[k])
                value = plus[k] if d > 0 else minus[k]
                left -= value if part >= need else value * part / need
                if left <= best[a]:
                    break
            if left > best[a]:
                best[a], partner[a] = left, w
    return partner


def pairs(
    pool: Pool,
    room: Room,
    point: Point,
    i: int,
    least: float,
    most: int,
    random: np.random.Generator,
) -> list[int]:
    """Violated rows of two patterns at threshold i, one for each pattern above; the worst ones."""
    gains, lost, box = room.gains[i], point.lost[i], room.box
    above = np.flatnonzero((gains > 0) & (lost < 1 - least))
    below = np.flatnonzero((gains < 0) & (lost < 1 - least))
    if below.size == 0:
        return []
    many = max(50, _MOST_PAIRS // below.size)
    if above.size > many:
        above = above[np.argsort(random.random(above.size) / gains[above], kind="stable")[:many]]
    below = below[np.argsort(lost[below], kind="stable")]
    signs = np.where(box.decided, 0.0, point.plus + point.minus)
    order = np.argsort(-signs, kind="stable")
    best = np.zeros(above.size)
    partner = _best_pairs(
        pool.units,
        above,
        below,
        lost,
        np.flatnonzero(box.decided & ((box.lower != 0) | (box.upper != 0))),
        order[signs[order] > 0],
        box.lower,
        box.upper,
        point.plus,
        point.minus,
        room.grain,
        best,
    )
    chosen = np.argsort(-best, kind="stable")[:most]
    found = [
        pool.add([int(above[a])], [int(partner[a])], [1, 1]) for a in chosen if best[a] > least
    ]
    return [number for number in found if number is not None]


# -- a linear program over convex combinations -----------------------------------------------------
# It looks for weights α of patterns above and β of patterns below, Σα = Σβ = 1, with
# d⁺ − d⁻ = Σ α_u x_u − Σ β_w x_w ,
# minimise  Σ cost_u α_u + Σ cost_w β_w + Σ_k (price⁺_k d⁺_k + price⁻_k d⁻_k) ,
# where costs stand for how much the solution of the box's program has paid for a pattern or a sign
# already.  A row counts a member as a whole, however small its weight: costs are divided by the
# weights of the last answer and the program is solved again.

_TINY = 1e-9
#: Members that a pattern's or a column's price is meant for.
_MEMBERS = 8.0
#: Patterns of one side that a program looks at.
_MOST_MEMBERS = 700


class Pricing:
    """The pricing program; one for each thread."""

    def __init__(self, integers: IntegerProblem, pool: Pool) -> None:
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

    def choose(self, room: Room, point: Point, i: int, random: np.random.Generator) -> None:
        """Pick the patterns of threshold i that may take part: all, or some of very many."""
        gains = room.gains[i]
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
        """Combinations for threshold i (of the last :meth:`choose`) near the point.

        The program is solved ``passes`` times, reweighted; ``extra`` (n,) costs lead away from
        known ones; ``weight`` is the price of a sign compared with that of a pattern.
        """
        n, p = self.n, self.p
        lost = np.tile(4.0 * (point.lost[i] + 1e-4 + extra), 2)
        signs = np.concatenate([point.plus, point.minus]) * weight + 1e-6
        w_lost, w_signs = np.ones(2 * n), np.ones(2 * p)
        found: list[int] = []
        for _ in range(passes):
            self.solver.setOptionValue("time_limit", self.solver.getRunTime() + 0.3)
            costs = np.concatenate([lost * w_lost, signs * w_signs])
            x = solve_again(self.solver, costs, self._upper)
            if x is None:
                break
            number = self._combination(x, point, i)
            if number is not None and number not in found:
                found.append(number)
            w_lost = 1.0 / (x[: 2 * n] * _MEMBERS + 0.2)
            w_signs = 1.0 / (x[2 * n :] * _MEMBERS + 0.2)
        return found

    def _combination(self, x: FloatArray, point: Point, i: int) -> int | None:
        """Turn an answer into whole times."""
        n, p = self.n, self.p
        above = np.flatnonzero(x[:n] > 1e-7)
        below = np.flatnonzero(x[n : 2 * n] > 1e-7)
        if above.size == 0 or below.size == 0:
            return None
        up, down = x[2 * n : 2 * n + p] > _TINY, x[2 * n + p :] > _TINY
        if point.lost[i][above].sum() + point.lost[i][below].sum() >= 1:
            return None
        times: list[int] | None = [1, 1]
        if above.size > 1 or below.size > 1:
            priced = (point.plus > _TINY) | (point.minus > _TINY)
            zero = np.flatnonzero(~up & ~down & priced)
            weights = np.concatenate([x[:n][above], x[n : 2 * n][below]])
            units = self.integers.units[:, zero]
            times = equal_multipliers(units[above], units[below], weights)
        return None if times is None else self.pool.add(above.tolist(), below.tolist(), times)
