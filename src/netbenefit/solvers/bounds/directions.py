"""The direction-sign relaxation: a bound for data with many patterns and few-valued columns.

Two patterns u and v = u + d are ordered by the sign of d·λ, and so are all other pairs with the
same difference d, at every threshold: one sign decides for all of them.

1. z_iu = 1 if pattern u is called positive at threshold i, else 0.  The value of points λ is
   Σ_iu gains_iu z_iu − price · ‖λ‖₀ for the best cut-offs.
2. For each direction d let rise_d = [d·λ > 0] and fall_d = [d·λ < 0]; then rise_d + fall_d ≤ 1.
   If d·λ ≥ 0 then ⌊s_v⌋ ≥ ⌊s_u⌋ for every pair v = u + c·d, c > 0, fractional columns included:
   calling u means calling v.  Hence z_iu − z_iv ≤ fall_d, and likewise z_iv − z_iu ≤ rise_d.
3. For each column let plus_k = [λ_k > 0], minus_k = [λ_k < 0]; plus_k + minus_k ≤ 1, and the price
   is paid for plus_k + minus_k.  λ_k = 0 makes both 0: nothing is paid.
4. A sum is positive only if a term is: rise_d ≤ Σ_{d_k>0} plus_k + Σ_{d_k<0} minus_k, and fall_d
   with the roles exchanged.  So d = e_k is an order along column k only if k is paid for; if both
   signs are 0, then (2) makes both patterns of a pair equal.
5. A box of points makes it tighter: rise_d = 0 if d·λ ≤ 0 everywhere in it, fall_d = 0 if d·λ ≥ 0;
   plus_k, minus_k alike; patterns that differ only in columns fixed at 0 become one; and columns
   whose points exclude 0 are paid in advance, and free in (3).
6. Dropping that the variables are whole numbers gives a linear program.  Its multipliers: one flow
   f_ie of any sign for each pair e = (u, v) and threshold, f⁺ for the first line of (2), f⁻ for the
   second (where both are positive, their difference is better); ties t ≥ 0 for (4).
7. For any flows and ties no card of the box is worth more than

       Σ_iu max(0, gains_iu − Σ_{e=(u,·)} f_ie + Σ_{e=(·,u)} f_ie)
       + Σ_d max(0, Σ_{i, e of d} f⁻_ie − t_d^rise, Σ_{i, e of d} f⁺_ie − t_d^fall)
       + Σ_k max(0, ties on plus_k − price_k, ties on minus_k − price_k) − prices paid in advance,

   where a sign that the box rules out is left out of its maximum.  Flows and ties are rounded to a
   grid and (7) is counted in whole numbers, so that the bound is exact whatever the solver did.

The flows come from a primal-dual method with diagonal step lengths (``first_order``); pairs without
flow are skipped in most steps.  Other limits than the box only lower the optimum, and are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from netbenefit.common import IntArray
from netbenefit.problem import Asked, Boxes, IntegerProblem
from netbenefit.solvers.bounds.first_order import (
    Directions,
    Model,
    advance,
    collect,
    exact_value,
    make_state,
    plain_value,
)
from netbenefit.solvers.bounds.orders import PairConflicts, as_packed, no_conflicts
from netbenefit.solvers.bounds.packed import NOTHING, Packer, Rules, TightBox
from netbenefit.solvers.clock import now
from netbenefit.solvers.kernels.jit import internal, jit

Array = Any
#: Comparisons of two patterns between two looks at the clock.
_MOST_PRODUCTS = 4_000_000
#: Products of differences and points stay below this.
_SAFE = 2**61


def find_directions(
    units: IntArray,
    lower: IntArray,
    upper: IntArray,
    weight: int,
    should_stop: Callable[[], bool],
    most: int = 3_000_000,
) -> Directions:
    """List pairs that differ in at most ``weight`` columns; smaller weights if these are too many.

    Every part of the full list gives a valid relaxation, so that it may be cut anywhere.
    """
    spread = [-np.unique(units[:, k]).size for k in range(units.shape[1])]
    # Patterns that differ in many columns are found sooner if columns with many values come first.
    sorted_units = np.ascontiguousarray(units[:, np.argsort(spread, kind="stable")])
    n = units.shape[0]
    counts = np.zeros(weight + 1, dtype=np.int64)
    ends = [*range(0, n, max(1, _MOST_PRODUCTS // max(n, 1))), n]
    done = 0
    for begin, end in pairwise(ends):
        if should_stop():
            break
        _count(sorted_units, begin, end, counts)
        done = end
    total = np.cumsum(counts)
    while weight > 1 and total[weight] > most:
        weight -= 1
    first = np.empty(min(int(total[weight]), most), dtype=np.int32)
    second = np.empty_like(first)
    size = 0
    for begin, end in pairwise(ends):
        if begin >= done or should_stop():
            break
        size = _fill(sorted_units, begin, end, weight, first, second, size)
    first, second = first[:size], second[:size]
    keys = np.empty(size, dtype=np.uint64)
    _hash(units, first, second, keys)
    return _group(units, first, second, keys, lower, upper)


def _group(
    units: IntArray, first: Array, second: Array, keys: Array, lower: IntArray, upper: IntArray
) -> Directions:
    """Sort pairs by direction; pairs whose key is another direction's are left out."""
    order = np.argsort(keys, kind="stable")
    first, second, keys = first[order], second[order], keys[order]
    owner = np.empty(first.size, dtype=np.int32)
    leaders = np.empty(first.size, dtype=np.int64)
    start = np.zeros(first.size + 1, dtype=np.int64)
    count = _number(units, first, second, keys, owner, leaders, start)
    kept, start = owner >= 0, start[: count + 1].copy()
    column, up = np.empty(start[-1], dtype=np.int32), np.empty(start[-1], dtype=np.bool_)
    signs = np.ones((2, count), dtype=np.bool_)
    widest = max(int(np.abs(lower).max(initial=0)), int(np.abs(upper).max(initial=0)))
    # Else products might leave int64, and signs that the box rules out stay in: valid, but weaker.
    safe = 2 * int(np.abs(units).max(initial=0)) * widest * lower.size < _SAFE
    box = (lower, upper) if safe else (lower[:0], upper[:0])
    _describe(units, first, second, leaders[:count], *box, column, up, signs)
    return Directions(first[kept], second[kept], owner[kept], start, column, up, signs)


@internal
def _distance(units: Array, u: int, v: int, most: int) -> int:
    """Number of columns in which two patterns differ, as far as it is at most ``most``."""
    count = 0
    for k in range(units.shape[1]):
        if units[u, k] != units[v, k]:
            count += 1
            if count > most:
                break
    return count


@jit
def _count(units: Array, begin: int, end: int, counts: Array) -> None:
    """Add the pairs (u, v > u) with u in begin … end to the counts of their weights."""
    most = counts.size - 1
    for u in range(begin, end):
        for v in range(u + 1, units.shape[0]):
            weight = _distance(units, u, v, most)
            if weight <= most:
                counts[weight] += 1


@jit
def _fill(
    units: Array, begin: int, end: int, most: int, first: Array, second: Array, size: int
) -> int:
    """Write the pairs of at most that weight behind the first ``size``; the new size."""
    for u in range(begin, end):
        for v in range(u + 1, units.shape[0]):
            if _distance(units, u, v, most) <= most and size < first.size:
                first[size], second[size] = u, v
                size += 1
    return size


@internal
def _divisor(units: Array, u: int, v: int) -> int:
    """Number by which v − u is divided: its greatest common divisor, with the leading sign."""
    divisor = 0
    sign = 1
    for k in range(units.shape[1]):
        a = units[v, k] - units[u, k]
        if a != 0 and divisor == 0:
            sign = 1 if a > 0 else -1
        a = abs(a)
        while a != 0:
            divisor, a = a, divisor % a
    return sign * divisor


@jit
def _hash(units: Array, first: Array, second: Array, keys: Array) -> None:
    """Turn pairs so that the first difference is positive; a key for each direction."""
    for e in range(first.size):
        divisor = _divisor(units, first[e], second[e])
        if divisor < 0:
            first[e], second[e] = second[e], first[e]
            divisor = -divisor
        key = np.uint64(0)
        for k in range(units.shape[1]):
            a = (units[second[e], k] - units[first[e], k]) // divisor
            if a != 0:
                key = (key ^ np.uint64(k + 1)) * np.uint64(0x9E3779B97F4A7C15)
                key = (key ^ np.uint64(a) ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
                key ^= key >> np.uint64(32)
        keys[e] = key


@internal
def _same(units: Array, u: int, v: int, a: int, b: int) -> bool:
    """Whether v − u and b − a have the same direction."""
    one, two = _divisor(units, u, v), _divisor(units, a, b)
    for k in range(units.shape[1]):
        if (units[v, k] - units[u, k]) // one != (units[b, k] - units[a, k]) // two:
            return False
    return True


@jit
def _number(
    units: Array,
    first: Array,
    second: Array,
    keys: Array,
    owner: Array,
    leaders: Array,
    start: Array,
) -> int:
    """Number the directions of pairs sorted by key; −1 for a pair that shares only the key.

    ``start`` gets where the steps of each direction start.
    """
    count = 0
    for e in range(first.size):
        if e == 0 or keys[e] != keys[e - 1]:
            leaders[count] = e
            steps = _distance(units, first[e], second[e], units.shape[1])
            start[count + 1] = start[count] + steps
            count += 1
        leader = leaders[count - 1]
        same = _same(units, first[e], second[e], first[leader], second[leader])
        owner[e] = count - 1 if same else -1
    return count


@jit
def _describe(
    units: Array,
    first: Array,
    second: Array,
    leaders: Array,
    lower: Array,
    upper: Array,
    column: Array,
    up: Array,
    signs: Array,
) -> None:
    """Write the columns of each direction, whether its step there is positive, and its signs.

    ``signs`` say whether d·λ can be positive and negative in the box, if there is one.
    """
    t = 0
    for d in range(leaders.size):
        u, v = first[leaders[d]], second[leaders[d]]
        low, high = 0, 0
        for k in range(units.shape[1]):
            step = units[v, k] - units[u, k]
            if step != 0:
                column[t], up[t] = k, step > 0
                t += 1
            if lower.size > 0:
                low += min(step * lower[k], step * upper[k])
                high += max(step * lower[k], step * upper[k])
        if lower.size > 0:
            signs[0, d], signs[1, d] = high > 0, low < 0


#: Sums in whole numbers stay below this.
_ROOM = 2**60
#: Seconds of compiled work between two looks at the clock.
_SLICE = 0.15
#: Seconds of steps for each second of exact counting.
_COUNTING = 10
#: Without a time limit it ends when the last half of the steps brought less than this part.
_STALLED = 2e-5
#: Fewest steps before that.
_FEW_STEPS = 400
#: Most pairs, and most pairs times thresholds.
_MOST_PAIRS = 3_000_000
_MOST_FLOWS = 30_000_000
#: Dual over primal step length at the start.
OMEGA = 0.02


@dataclass(frozen=True, eq=False)
class DirectionBound:
    """A bound, and how it came about."""

    value: int  #: no card within the limits has a higher :meth:`IntegerProblem.value`
    iterations: int  #: steps of the method
    ended: str  #: why it ended
    boxes: Boxes  #: one box, with the multipliers


def direction_bound(
    integers: IntegerProblem,
    rules: Rules | None = None,
    *,
    seconds: float = math.inf,
    incumbent: int | None = None,
    weight: int = 4,
    iterations: int | None = None,
    on_bound: Callable[[int], None] = lambda value: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> DirectionBound:
    """Bound the value of all vectors of the box; stop at the incumbent, or where the bound stalls.

    Patterns of a pair differ in at most ``weight`` columns.
    """
    deadline = now() + seconds

    def over() -> bool:
        return now() >= deadline or should_stop()

    packer = Packer(integers, rules)
    box = packer.tighten(integers.lower, integers.upper)
    if box is None:
        return DirectionBound(NOTHING, 0, "trivial", _one_box(integers, NOTHING, None))
    trivial = packer.value(box)
    on_bound(trivial)
    descent = None
    if _room(integers) and not over() and (incumbent is None or trivial > incumbent):
        descent = _Descent(packer, box, trivial, weight, over)
    if descent is None or over():
        return DirectionBound(trivial, 0, "trivial", _one_box(integers, trivial, None))
    endless = math.isinf(seconds) and iterations is None
    while True:
        ended = ""
        if iterations is not None and descent.steps >= iterations:
            ended = "iterations"
        elif over():
            ended = "time"
        elif endless and descent.stalled:
            ended = "stalled"
        # Counting exactly takes longer than a step: it has a fixed part of the time.
        if ended or descent.spent >= _COUNTING * descent.cost:
            if descent.count():
                on_bound(descent.best)
            if incumbent is not None and descent.best <= incumbent:
                ended = ended or "target"
            if ended:
                boxes = _one_box(integers, descent.best, descent.conflicts())
                return DirectionBound(descent.best, descent.steps, ended, boxes)
        descent.advance(None if iterations is None else iterations - descent.steps)


def sharpened(
    packer: Packer,
    box: TightBox,
    weight: int,
    iterations: int,
    floor: int,
    over: Callable[[], bool],
) -> tuple[int, PairConflicts]:
    """A bound of a small box by so many steps, and its multipliers; not below ``floor``."""
    trivial = packer.value(box)
    if not _room(packer.integers) or trivial <= floor:
        return trivial, no_conflicts()
    descent = _Descent(packer, box, trivial, weight, over)
    while descent.steps < iterations and descent.best > floor and not over():
        descent.advance(iterations - descent.steps)
        if descent.spent >= _COUNTING * descent.cost:
            descent.count()
    descent.count()
    found = descent.conflicts()
    entries, conflicts = found.entries()
    value = min(trivial, packer.value(box, conflicts, entries))
    if value == trivial:
        return trivial, no_conflicts()
    return value, found._replace(
        end=np.array([found.amount.size]), lost=np.array([trivial - value])
    )


def _room(integers: IntegerProblem) -> bool:
    """Whether sums stay in 64 bits."""
    prices = (integers.price + integers.question_price) * integers.lower.size
    return int(np.abs(integers.gains).astype(np.float64).sum()) + prices < _ROOM


def _one_box(integers: IntegerProblem, value: int, conflicts: PairConflicts | None) -> Boxes:
    return as_packed(integers, None, np.array([value]), [conflicts])


class _Descent:
    """Where the method stands, and the best bound so far."""

    def __init__(
        self,
        packer: Packer,
        box: TightBox,
        trivial: int,
        weight: int,
        over: Callable[[], bool],
    ) -> None:
        integers = packer.integers
        cell, n = packer.cells(box)
        self._pattern = np.unique(cell, return_index=True)[1]
        gains = np.zeros((integers.gains.shape[0], n), dtype=np.int64)
        for sums, row in zip(gains, integers.gains, strict=True):
            np.add.at(sums, cell, row)
        live = (box.lower != 0) | (box.upper != 0)
        units = np.ascontiguousarray(integers.units[self._pattern] * live)
        most = min(_MOST_PAIRS, _MOST_FLOWS // gains.shape[0])
        directions = find_directions(units, box.lower, box.upper, weight, over, most)
        #: what a column costs, with its share of a question that need not be asked; paid: 0
        asked = np.bincount(integers.questions, live, packer.n_questions)[integers.questions]
        share = integers.question_price // np.maximum(asked, 1).astype(np.int64)
        share[box.asked[integers.questions] == Asked.YES] = 0
        prices = np.where(box.used, 0, integers.price + share)
        used = int(np.abs(gains).sum()) + int(prices.sum())
        self.scale = max(used / max(n, 1), 1.0)
        self.model = Model(
            gains=(gains / self.scale).astype(np.float32),
            prices=prices / self.scale,
            signs=np.stack([box.upper > 0, box.lower < 0]),
            directions=directions,
            degree=np.bincount(np.concatenate([directions.first, directions.second]), minlength=n),
            members=np.bincount(directions.owner, minlength=directions.signs.shape[1]),
            shares=np.bincount(directions.column, minlength=prices.size),
        )
        self.state, self.omega = make_state(self.model), OMEGA
        self.gains, self.prices = gains, prices
        self.paid = int(np.maximum(gains, 0).sum()) - trivial
        # Which column a question needs is not certain: ties may use up the price of each.
        sure = np.unique(integers.questions[box.used])
        unsure = np.setdiff1d(np.flatnonzero(box.asked == Asked.YES), sure).size
        self.paid -= integers.price * int(unsure)
        self.best = trivial
        self._flows = no_conflicts()
        self.steps, self._chunk = 0, 1
        self.spent = self.cost = 0.0  #: seconds of steps since the last count, and of that count
        self._history: list[tuple[int, int]] = []

    def advance(self, most: int | None) -> None:
        """Take some steps, at most so many."""
        steps = self._chunk if most is None else min(self._chunk, most)
        began = now()
        advance(self.model, self.state, self.omega, steps)
        lasted = now() - began
        self.steps += steps
        self.spent += lasted
        self._chunk = max(1, min(2 * self._chunk, int(_SLICE * steps / max(lasted, 1e-7)), 50))

    def count(self) -> bool:
        """Count the bound (7) of the current multipliers exactly; whether it is lower."""
        began = now()
        sums = exact_value(
            self.model, self.state, self.gains.copy(), self.prices, self.scale, float(_ROOM)
        )
        lower = False
        if sums >= 0:  # else multipliers are too large to count
            value = int(sums) - self.paid
            lower = value < self.best
            if lower:
                self.best = value
                self._flows = self._collected()
            self._balance(value)
        self._history.append((self.steps, self.best))
        self.spent, self.cost = 0.0, now() - began
        return lower

    def conflicts(self) -> PairConflicts:
        """The multipliers of the best bound."""
        return self._flows

    def _collected(self) -> PairConflicts:
        """The current multipliers, as conflicts of patterns."""
        threshold, called, other, amount, way = collect(self.model, self.state, self.scale)
        part = np.array([amount.size]), np.array([0])
        return PairConflicts(
            threshold, self._pattern[called], self._pattern[other], amount, way, *part
        )

    def _balance(self, value: int) -> None:
        """Change the ratio of step lengths to bring the primal value nearer to the dual one.

        A primal value above the dual one breaks rules: the multipliers lag behind.  The ratio
        changes by at most 2% in fifty steps, since the values follow it slowly.
        """
        since = self.steps - (self._history[-1][0] if self._history else 0)
        primal = plain_value(self.model, self.state) * self.scale - self.paid
        off = (primal - value) / max(abs(value), 1)
        change = min(max(off, -0.02), 0.02) * min(since / 50, 1.0)
        self.omega = float(min(max(self.omega * (1 + change), 1e-5), 1e3))

    @property
    def stalled(self) -> bool:
        """Whether the second half of the steps brought next to nothing."""
        steps, best = self._history[-1] if self._history else (0, 0)
        if steps < _FEW_STEPS:
            return False
        before = next(value for step, value in reversed(self._history) if 2 * step <= steps)
        return before - best <= _STALLED * max(abs(best), 1)
