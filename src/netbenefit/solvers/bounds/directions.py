"""The direction-sign relaxation: a bound for data with many patterns and few-valued columns.

Two patterns u and v = u + d are ordered by the sign of d·λ, and so are all other pairs with the
same difference d, at every threshold: one sign decides for all of them.

1. z_iu = 1 if pattern u is called positive at threshold i, else 0.  The value of points λ is
   Σ_iu gains_iu z_iu − price · ‖λ‖₀ for the best cut-offs.
2. For each direction d let rise_d = [d·λ > 0] and fall_d = [d·λ < 0]; then rise_d + fall_d ≤ 1.
   If d·λ ≥ 0 then ⌊s_v⌋ ≥ ⌊s_u⌋ for every pair v = u + c·d, c > 0, fractional columns included:
   whoever calls u calls v.  Hence z_iu − z_iv ≤ fall_d, and likewise z_iv − z_iu ≤ rise_d.
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
from typing import Any, NamedTuple

import numpy as np

from netbenefit.common.checks import IntArray
from netbenefit.problem.integer import Pieces
from netbenefit.solvers.bounds.direction_pairs import Directions, find_directions, merge_patterns
from netbenefit.solvers.bounds.first_order import (
    Model,
    State,
    advance,
    exact_value,
    make_state,
    plain_value,
)

__all__ = ["DirectionBound", "DualState", "direction_bound"]

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


class DualState(NamedTuple):
    """Where a run ended, to start another one from: the same pairs, perhaps in another box."""

    state: State
    omega: float


@dataclass(frozen=True, eq=False)
class DirectionBound:
    """A bound, and how it came about.

    Attributes
    ----------
    value : int
        No vector of the box has a higher :meth:`Pieces.value`.
    seconds : float
    iterations : int
        Steps of the method.
    details : dict
        Figures for the trace: patterns, pairs, directions and why it ended.
    warm : DualState
    """

    value: int
    seconds: float
    iterations: int
    details: dict[str, Any] = field(default_factory=dict)
    warm: DualState | None = None


def direction_bound(
    pieces: Pieces,
    *,
    lower: IntArray | None = None,
    upper: IntArray | None = None,
    seconds: float | None = None,
    target: int | None = None,
    weight: int = 4,
    iterations: int | None = None,
    warm: DualState | None = None,
    on_bound: Callable[[int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> DirectionBound:
    """Bound the value of all vectors in a box.

    Parameters
    ----------
    pieces : Pieces
    lower, upper : (P,) int, optional
        The box; by default all allowed points.
    seconds : float or None
        Time limit, setting up included; by default until the bound stalls.
    target : int, optional
        Stop as soon as the bound is at most this.
    weight : int, default=4
        Most columns in which two patterns of a pair may differ.
    iterations : int, optional
        Most steps.
    warm : DualState, optional
        End of another run.  Used where it has as many patterns, pairs and directions, as after a
        change of the box that fixed no further column at 0; any multipliers are valid.
    on_bound : callable, optional
        Told every new best bound.
    should_stop : callable, optional
        Asked several times a second.

    Examples
    --------
    >>> from netbenefit.data.patterns import PatternTable
    >>> from netbenefit.problem.problem import Problem
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> pieces = Pieces.of(Problem.build(table, Thresholds.of([0.5], weights=[1.0]), penalty=0))
    >>> pieces.ceiling, direction_bound(pieces).value, pieces.value([1, 1])
    (2, 1, 1)
    """
    clock = Clock(seconds, should_stop)
    ready = prepare(pieces, lower, upper, weight, clock)
    run = Run(ready.trivial, target, on_bound)
    if ready.model is None or ready.grid is None or run.reached or clock.over():
        return run.result(clock, "trivial", ready.figures)
    state, omega = make_state(ready.model), OMEGA
    if warm is not None and _fits(warm.state, state):
        state, omega = State(*(part.copy() for part in warm.state)), warm.omega
    ended, omega = descend(ready.model, state, omega, ready.grid, run, clock, iterations)
    run.warm = DualState(state, omega)
    return run.result(clock, ended, ready.figures)


class Ready(NamedTuple):
    """A relaxation ready to be solved; no model where numbers are too large or time is up."""

    trivial: int  #: the bound without any flow
    model: Model | None
    grid: Grid | None
    figures: dict[str, Any]


def prepare(
    pieces: Pieces, lower: IntArray | None, upper: IntArray | None, weight: int, clock: Clock
) -> Ready:
    """Set up the relaxation of a box."""
    low = np.asarray(pieces.lower if lower is None else lower, dtype=np.int64)
    high = np.asarray(pieces.upper if upper is None else upper, dtype=np.int64)
    units, gains = merge_patterns(pieces.units, pieces.gains, low, high)
    forced = (low > 0) | (high < 0)
    paid = pieces.price * int(forced.sum())
    trivial = int(np.maximum(gains, 0).sum()) - paid
    used = int(np.abs(gains).sum()) + pieces.price * low.size
    if used >= _ROOM or clock.over():
        return Ready(trivial, None, None, {})
    fine = min(_FINE, max(1, 2 ** ((_ROOM // (64 * max(used, 1))).bit_length() - 1)))
    most = min(_MOST_PAIRS, _MOST_FLOWS // gains.shape[0])
    directions = find_directions(units, low, high, weight, clock.over, most)
    scale = max(used / max(units.shape[0], 1), 1.0)
    prices = np.where(forced, 0, pieces.price)
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
        return time.perf_counter() - self.began

    def over(self) -> bool:
        if self.seconds is not None and self.spent() >= self.seconds:
            return True
        return self.should_stop is not None and self.should_stop()


class Run:
    """The best bound so far."""

    def __init__(
        self, value: int, target: int | None, on_bound: Callable[[int], None] | None
    ) -> None:
        self.best = value
        self.target = target
        self.on_bound = on_bound
        self.steps = 0
        self.warm: DualState | None = None
        if on_bound is not None:
            on_bound(value)

    @property
    def reached(self) -> bool:
        return self.target is not None and self.best <= self.target

    def add(self, value: int) -> None:
        if value < self.best:
            self.best = value
            if self.on_bound is not None:
                self.on_bound(value)

    def result(self, clock: Clock, ended: str, figures: dict[str, Any]) -> DirectionBound:
        details = {**figures, "ended": ended}
        return DirectionBound(self.best, clock.spent(), self.steps, details, self.warm)


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


def _fits(old: State, new: State) -> bool:
    """Whether multipliers of another run can be taken over."""
    return all(a.shape == b.shape for a, b in zip(old, new, strict=True))


def _value(model: Model, state: State, grid: Grid) -> int | None:
    """The bound (7) of the current multipliers; None where they are too large to count."""
    left = grid.gains.copy()
    sums = exact_value(model, state, left, grid.prices, grid.fine * grid.scale, float(_ROOM))
    return None if sums < 0 else int(sums) // grid.fine - grid.paid


def descend(
    model: Model,
    state: State,
    omega: float,
    grid: Grid,
    run: Run,
    clock: Clock,
    iterations: int | None,
) -> tuple[str, float]:
    """Step until something ends it; why, and the last ratio of step lengths."""
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
                return ended or "target", omega
        steps = chunk if iterations is None else min(chunk, iterations - run.steps)
        began = time.perf_counter()
        advance(model, state, omega, steps)
        lasted = time.perf_counter() - began
        run.steps += steps
        spent += lasted
        chunk = max(1, min(2 * chunk, int(_SLICE * steps / max(lasted, 1e-7)), 50))


def _ended(
    run: Run, clock: Clock, iterations: int | None, history: list[tuple[int, int]]
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
    omega: float, steps: int, model: Model, state: State, grid: Grid, value: int
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
