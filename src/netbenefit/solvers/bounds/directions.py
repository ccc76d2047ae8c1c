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

The flows come from a primal-dual method with diagonal step lengths (:mod:`._first_order`); pairs
without flow are passed over in most steps.  Other limits than the box only lower the optimum, and
are not looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from netbenefit.common import IntArray
from netbenefit.problem import IntegerProblem
from netbenefit.solvers.bounds.first_order import (
    FlowState,
    Model,
    advance,
    exact_value,
    make_state,
    plain_value,
)
from netbenefit.solvers.kernels.jit import internal, jit

# -- pairs of patterns that differ in few columns, sorted by the direction in which they differ ----


Array = Any
#: Comparisons of two patterns between two looks at the clock.
_MOST_PRODUCTS = 4_000_000
#: Products of differences and points stay below this.
_SAFE = 2**61


class Directions(NamedTuple):
    """Pairs u, v with v = u + c·d for a whole c > 0, grouped by the primitive direction d.

    Pairs of one direction stand together.  ``first`` is u, ``second`` is v, ``owner`` the number of
    the direction.  Column ``column[t]`` of direction j has a positive (``up[t]``) or negative step,
    for t in start[j] … start[j+1].
    """

    first: Array  #: (E,) int32
    second: Array  #: (E,) int32
    owner: Array  #: (E,) int32
    start: Array  #: (D + 1,) int64
    column: Array  #: (T,) int32
    up: Array  #: (T,) bool
    rises: Array  #: (D,) bool: whether d·λ > 0 for some λ of the box
    falls: Array  #: (D,) bool: whether d·λ < 0 for some λ of the box


def merge_patterns(
    units: IntArray, gains: IntArray, lower: IntArray, upper: IntArray
) -> tuple[IntArray, IntArray]:
    """Patterns and gains after patterns that differ only in columns fixed at 0 became one."""
    rows = np.where((lower == 0) & (upper == 0), 0, units)
    unique, where = np.unique(rows, axis=0, return_inverse=True)
    sums = np.zeros((unique.shape[0], gains.shape[0]), dtype=np.int64)
    np.add.at(sums, where.ravel(), gains.T)
    return unique, np.ascontiguousarray(sums.T)


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
    # Patterns that differ in many columns are told apart sooner if telling columns come first.
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
    return _group(units, first[:size], second[:size], lower, upper)


def _group(
    units: IntArray, first: Array, second: Array, lower: IntArray, upper: IntArray
) -> Directions:
    """Sort pairs by direction."""
    keys = np.empty(first.size, dtype=np.uint64)
    _hash(units, first, second, keys)
    order = np.argsort(keys, kind="stable")
    return _collect(units, first[order], second[order], keys[order], lower, upper)


def _collect(
    units: IntArray, first: Array, second: Array, keys: Array, lower: IntArray, upper: IntArray
) -> Directions:
    """Give equal directions a number; pairs whose key is another direction's are left out."""
    owner = np.empty(first.size, dtype=np.int32)
    leaders = np.empty(first.size, dtype=np.int64)
    count = _number(units, first, second, keys, owner, leaders)
    kept = owner >= 0
    leaders = leaders[:count]
    start = np.zeros(count + 1, dtype=np.int64)
    start[1:] = np.cumsum(_weights(units, first, second, leaders))
    column, up = np.empty(start[-1], dtype=np.int32), np.empty(start[-1], dtype=np.bool_)
    rises, falls = np.ones(count, dtype=np.bool_), np.ones(count, dtype=np.bool_)
    widest = max(int(np.abs(lower).max(initial=0)), int(np.abs(upper).max(initial=0)))
    # Else products might leave int64, and signs that the box rules out stay in: valid, but weaker.
    if 2 * int(np.abs(units).max(initial=0)) * widest * lower.size < _SAFE:
        _reach(units, first, second, leaders, lower, upper, rises, falls)
    _describe(units, first, second, leaders, column, up)
    return Directions(first[kept], second[kept], owner[kept], start, column, up, rises, falls)


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
    units: Array, first: Array, second: Array, keys: Array, owner: Array, leaders: Array
) -> int:
    """Number the directions of pairs sorted by key; −1 for a pair that shares only the key."""
    count = 0
    for e in range(first.size):
        if e == 0 or keys[e] != keys[e - 1]:
            leaders[count] = e
            count += 1
        leader = leaders[count - 1]
        same = _same(units, first[e], second[e], first[leader], second[leader])
        owner[e] = count - 1 if same else -1
    return count


@jit
def _weights(units: Array, first: Array, second: Array, leaders: Array) -> Any:
    """In how many columns each direction has a step."""
    weights = np.zeros(leaders.size, dtype=np.int64)
    for d in range(leaders.size):
        u, v = first[leaders[d]], second[leaders[d]]
        weights[d] = _distance(units, u, v, units.shape[1])
    return weights


@jit
def _describe(
    units: Array, first: Array, second: Array, leaders: Array, column: Array, up: Array
) -> None:
    """Write the columns of each direction, and whether its step there is positive."""
    t = 0
    for d in range(leaders.size):
        u, v = first[leaders[d]], second[leaders[d]]
        for k in range(units.shape[1]):
            if units[u, k] != units[v, k]:
                column[t], up[t] = k, units[v, k] > units[u, k]
                t += 1


@jit
def _reach(
    units: Array,
    first: Array,
    second: Array,
    leaders: Array,
    lower: Array,
    upper: Array,
    rises: Array,
    falls: Array,
) -> None:
    """Whether d·λ can be positive, and whether it can be negative, in the box."""
    for d in range(leaders.size):
        u, v = first[leaders[d]], second[leaders[d]]
        low, high = 0, 0
        for k in range(units.shape[1]):
            step = units[v, k] - units[u, k]
            one, two = step * lower[k], step * upper[k]
            low += min(one, two)
            high += max(one, two)
        rises[d], falls[d] = high > 0, low < 0


#: Sums in whole numbers stay below this.
_ROOM = 2**60
#: Finest grid of multipliers: this part of a unit.
_FINE = 2**20
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

    value: int  #: no vector of the box has a higher :meth:`IntegerProblem.value`
    seconds: float
    iterations: int  #: steps of the method
    #: figures for the trace: patterns, pairs, directions, why it ended
    details: dict[str, Any] = field(default_factory=dict)


def direction_bound(
    integers: IntegerProblem,
    *,
    lower: IntArray | None = None,
    upper: IntArray | None = None,
    seconds: float | None = None,
    target: int | None = None,
    weight: int = 4,
    iterations: int | None = None,
    on_bound: Callable[[int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> DirectionBound:
    """Bound the value of all vectors in a box; stop at ``target``, or where the bound stalls.

    Patterns of a pair differ in at most ``weight`` columns.
    """
    clock = Clock(seconds, should_stop)
    ready = prepare(integers, lower, upper, weight, clock)
    run = DirectionRun(ready.trivial, target, on_bound)
    if ready.model is None or ready.grid is None or run.reached or clock.over():
        return run.result(clock, "trivial", ready.figures)
    ended = descend(ready.model, ready.grid, run, clock, iterations)
    return run.result(clock, ended, ready.figures)


class Ready(NamedTuple):
    """A relaxation ready to be solved; no model where numbers are too large or time is up."""

    trivial: int  #: the bound without any flow
    model: Model | None
    grid: Grid | None
    figures: dict[str, Any]


def prepare(
    integers: IntegerProblem,
    lower: IntArray | None,
    upper: IntArray | None,
    weight: int,
    clock: Clock,
) -> Ready:
    """Set up the relaxation of a box."""
    low = np.asarray(integers.lower if lower is None else lower, dtype=np.int64)
    high = np.asarray(integers.upper if upper is None else upper, dtype=np.int64)
    units, gains = merge_patterns(integers.units, integers.gains, low, high)
    forced = (low > 0) | (high < 0)
    paid = integers.price * int(forced.sum())
    trivial = int(np.maximum(gains, 0).sum()) - paid
    used = int(np.abs(gains).sum()) + integers.price * low.size
    if used >= _ROOM or clock.over():
        return Ready(trivial, None, None, {})
    fine = min(_FINE, max(1, 2 ** ((_ROOM // (64 * max(used, 1))).bit_length() - 1)))
    most = min(_MOST_PAIRS, _MOST_FLOWS // gains.shape[0])
    directions = find_directions(units, low, high, weight, clock.over, most)
    scale = max(used / max(units.shape[0], 1), 1.0)
    prices = np.where(forced, 0, integers.price)
    model = _model(gains, prices, low, high, directions, scale)
    figures = {
        "patterns": units.shape[0],
        "pairs": int(directions.first.size),
        "directions": int(directions.rises.size),
    }
    return Ready(trivial, model, Grid(gains * fine, prices * fine, fine, scale, paid), figures)


class Grid(NamedTuple):
    """What the exact value needs."""

    gains: IntArray  #: (m, n), times the fineness
    prices: IntArray
    fine: int
    scale: float
    paid: int


class Clock:
    """When to end."""

    def __init__(self, seconds: float | None, should_stop: Callable[[], bool] | None) -> None:
        self.began = time.perf_counter()
        self.seconds = seconds
        self.should_stop = should_stop

    def spent(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self.began

    def over(self) -> bool:
        """Whether time is up, or the caller wants to stop."""
        if self.seconds is not None and self.spent() >= self.seconds:
            return True
        return self.should_stop is not None and self.should_stop()


class DirectionRun:
    """The best bound so far."""

    def __init__(
        self, value: int, target: int | None, on_bound: Callable[[int], None] | None
    ) -> None:
        self.best = value
        self.target = target
        self.on_bound = on_bound
        self.steps = 0
        if on_bound is not None:
            on_bound(value)

    @property
    def reached(self) -> bool:
        """Whether nothing better than the incumbent is left."""
        return self.target is not None and self.best <= self.target

    def add(self, value: int) -> None:
        """Take a bound if it is lower."""
        if value < self.best:
            self.best = value
            if self.on_bound is not None:
                self.on_bound(value)

    def result(self, clock: Clock, ended: str, figures: dict[str, Any]) -> DirectionBound:
        """Return the bound with how it was found."""
        details = {**figures, "ended": ended}
        return DirectionBound(self.best, clock.spent(), self.steps, details)


def _model(
    gains: IntArray,
    prices: IntArray,
    lower: IntArray,
    upper: IntArray,
    directions: Directions,
    scale: float,
) -> Model:
    n, n_columns, count = gains.shape[1], lower.size, directions.rises.size
    return Model(
        (gains / scale).astype(np.float32),
        prices / scale,
        upper > 0,
        lower < 0,
        *directions,
        np.bincount(directions.first, minlength=n) + np.bincount(directions.second, minlength=n),
        np.bincount(directions.owner, minlength=count),
        np.bincount(directions.column, minlength=n_columns),
    )


def _value(model: Model, state: FlowState, grid: Grid) -> int | None:
    """The bound (7) of the current multipliers; None where they are too large to count."""
    left = grid.gains.copy()
    sums = exact_value(model, state, left, grid.prices, grid.fine * grid.scale, float(_ROOM))
    return None if sums < 0 else int(sums) // grid.fine - grid.paid


def descend(
    model: Model, grid: Grid, run: DirectionRun, clock: Clock, iterations: int | None
) -> str:
    """Step until something ends it; return what."""
    state, omega = make_state(model), OMEGA
    history: list[tuple[int, int]] = []
    chunk, spent, cost = 1, 0.0, 0.0
    while True:
        ended = _ended(run, clock, iterations, history)
        # Counting exactly takes longer than a step: it has a fixed part of the time.
        if ended or spent >= _COUNTING * cost:
            began = time.perf_counter()
            value = _value(model, state, grid)
            if value is not None:
                run.add(value)
                since = run.steps - (history[-1][0] if history else 0)
                omega = _balanced(omega, since, model, state, grid, value)
            history.append((run.steps, run.best))
            spent, cost = 0.0, time.perf_counter() - began
            if ended or run.reached:
                return ended or "target"
        steps = chunk if iterations is None else min(chunk, iterations - run.steps)
        began = time.perf_counter()
        advance(model, state, omega, steps)
        lasted = time.perf_counter() - began
        run.steps += steps
        spent += lasted
        chunk = max(1, min(2 * chunk, int(_SLICE * steps / max(lasted, 1e-7)), 50))


def _ended(
    run: DirectionRun, clock: Clock, iterations: int | None, history: list[tuple[int, int]]
) -> str | None:
    """Why to end now, if so."""
    if iterations is not None and run.steps >= iterations:
        return "iterations"
    if clock.over():
        return "time"
    if clock.seconds is None and iterations is None and _stalled(history):
        return "stalled"
    return None


def _balanced(
    omega: float, steps: int, model: Model, state: FlowState, grid: Grid, value: int
) -> float:
    """A ratio of step lengths that brings the primal value nearer to the dual one.

    A primal value above the dual one is bought with broken rules: the multipliers lag behind.  The
    ratio changes by at most 2% in fifty steps, since the values follow it slowly.
    """
    primal = plain_value(model, state) * grid.scale - grid.paid
    off = (primal - value) / max(abs(value), 1)
    change = min(max(off, -0.02), 0.02) * min(steps / 50, 1.0)
    return float(min(max(omega * (1 + change), 1e-5), 1e3))


def _stalled(history: list[tuple[int, int]]) -> bool:
    """Whether the second half of the steps brought next to nothing."""
    steps, best = history[-1] if history else (0, 0)
    if steps < _FEW_STEPS:
        return False
    before = next(value for step, value in reversed(history) if 2 * step <= steps)
    return before - best <= _STALLED * max(abs(best), 1)
