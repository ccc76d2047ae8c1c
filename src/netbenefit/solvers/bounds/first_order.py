"""A primal-dual first-order method for the direction-sign relaxation, and its exact dual value.

Equation numbers are those of :mod:`netbenefit.solvers.bounds.directions`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from netbenefit.solvers.kernels.jit import internal, jit

Array = Any
#: Every so many steps all pairs are looked at, in between only those with flow.
_FULL = 25


class Model(NamedTuple):
    """The relaxation in floating point; gains and prices are divided by a common scale."""

    gains: Array  #: (m, n) float32
    prices: Array  #: (P,) float64, 0 where the box excludes 0
    above: Array  #: (P,) bool: whether λ_k > 0 is in the box
    below: Array  #: (P,) bool: whether λ_k < 0 is in the box
    first: Array
    second: Array
    owner: Array
    start: Array
    column: Array
    up: Array
    rises: Array
    falls: Array
    degree: Array  #: (n,) pairs of a pattern
    members: Array  #: (D,) pairs of a direction
    shares: Array  #: (P,) directions with this column


class FlowState(NamedTuple):
    """Where the method is; the first three are multipliers, and all that a bound needs."""

    flow: Array  #: (m, E) float32: f of (6)
    tie_rise: Array  #: (D,) multipliers of (4)
    tie_fall: Array  #: (D,)
    calls: Array  #: (m, n) float32: z
    ahead: Array  #: z extrapolated
    rise: Array  #: (D,)
    rise_ahead: Array
    fall: Array
    fall_ahead: Array
    plus: Array  #: (P,)
    plus_ahead: Array
    minus: Array
    minus_ahead: Array
    load: Array  #: (m, n) float32: flow out of a pattern minus flow into it
    rise_load: Array  #: (D,) sum of the flow that a rising direction pays
    fall_load: Array
    rise_pull: Array  #: (D,) float32: how far a step pulls flow towards 0
    fall_pull: Array


def make_state(model: Model) -> FlowState:
    """No flow, every pattern called right, every sign undecided."""
    n_pairs, n_directions = model.first.size, model.rises.size
    calls = (model.gains > 0).astype(np.float32)
    rise, fall = 0.5 * model.rises, 0.5 * model.falls
    plus, minus = 0.5 * model.above, 0.5 * model.below
    return FlowState(
        flow=np.zeros((calls.shape[0], n_pairs), dtype=np.float32),
        tie_rise=np.zeros(n_directions),
        tie_fall=np.zeros(n_directions),
        calls=calls,
        ahead=calls.copy(),
        rise=rise,
        rise_ahead=rise.copy(),
        fall=fall,
        fall_ahead=fall.copy(),
        plus=plus,
        plus_ahead=plus.copy(),
        minus=minus,
        minus_ahead=minus.copy(),
        load=np.zeros_like(calls),
        rise_load=np.zeros(n_directions),
        fall_load=np.zeros(n_directions),
        rise_pull=np.zeros(n_directions, dtype=np.float32),
        fall_pull=np.zeros(n_directions, dtype=np.float32),
    )


@internal
def _clear(model: Model, state: FlowState, step: Any) -> None:
    """Make the sums of flow empty, and note how far a step pulls flow towards 0."""
    state.load[:] = 0
    state.rise_load[:] = 0
    state.fall_load[:] = 0
    for d in range(model.rises.size):
        state.rise_pull[d] = step * np.float32(max(state.rise_ahead[d], 0.0))
        state.fall_pull[d] = step * np.float32(max(state.fall_ahead[d], 0.0))


@internal
def _pulled(state: FlowState, d: int, moved: Any) -> Any:
    """A flow after the pull of its direction's sign, which learns how much there is."""
    if moved > state.fall_pull[d]:
        moved -= state.fall_pull[d]
        state.fall_load[d] += moved
        return moved
    if moved < -state.rise_pull[d]:
        moved += state.rise_pull[d]
        state.rise_load[d] -= moved
        return moved
    return np.float32(0)


@internal
def _move_all(model: Model, state: FlowState, step: Any) -> Any:
    """Step along the violation of every pair's order, pulled towards 0 by its direction's sign.

    Returns the number of entries that carry flow.
    """
    _clear(model, state, step)
    count = 0
    for i in range(state.flow.shape[0]):
        flow, ahead, load = state.flow[i], state.ahead[i], state.load[i]
        for e in range(flow.size):
            u, v, d = model.first[e], model.second[e], model.owner[e]
            moved = _pulled(state, d, flow[e] + step * (ahead[u] - ahead[v]))
            flow[e] = moved
            if moved != 0:
                load[u] += moved
                load[v] -= moved
                count += 1
    return count


@internal
def _gather(model: Model, state: FlowState, places: Array, flows: Array, ends: Array) -> None:
    """Put the entries that carry flow side by side: where they are, and the flow."""
    count = 0
    for i in range(state.flow.shape[0]):
        flow = state.flow[i]
        for e in range(flow.size):
            if flow[e] != 0:
                places[0, count] = e
                places[1, count] = model.first[e]
                places[2, count] = model.second[e]
                places[3, count] = model.owner[e]
                flows[count] = flow[e]
                count += 1
        ends[i + 1] = count


@internal
def _move_some(
    model: Model, state: FlowState, step: Any, places: Array, flows: Array, ends: Array
) -> None:
    """Do as :func:`_move_all` for the entries put side by side."""
    _clear(model, state, step)
    for i in range(state.flow.shape[0]):
        ahead, load = state.ahead[i], state.load[i]
        for j in range(ends[i], ends[i + 1]):
            u, v, d = places[1, j], places[2, j], places[3, j]
            moved = _pulled(state, d, flows[j] + step * (ahead[u] - ahead[v]))
            flows[j] = moved
            if moved != 0:
                load[u] += moved
                load[v] -= moved


@internal
def _scatter(state: FlowState, places: Array, flows: Array, ends: Array) -> None:
    """Write the flow back."""
    for i in range(state.flow.shape[0]):
        for j in range(ends[i], ends[i + 1]):
            state.flow[i, places[0, j]] = flows[j]


@internal
def _share(a: float, b: float, use_a: bool, use_b: bool) -> Any:
    """The nearest point with a, b ≥ 0 and a + b ≤ 1; 0 where not to be used."""
    a = max(a, 0.0) if use_a else 0.0
    b = max(b, 0.0) if use_b else 0.0
    if a + b > 1.0:
        a = min(max((a - b + 1.0) / 2, 0.0), 1.0)
        b = 1.0 - a
    return a, b


@internal
def _move_signs(model: Model, state: FlowState, omega: float, gain: Array) -> None:
    """Move the multipliers of (4), then the signs of directions, then those of columns."""
    n_thresholds = state.flow.shape[0]
    gain[:] = 0
    for d in range(model.rises.size):
        begin, end = model.start[d], model.start[d + 1]
        rise, fall = state.rise_ahead[d], state.fall_ahead[d]
        for t in range(begin, end):
            k = model.column[t]
            plus, minus = state.plus_ahead[k], state.minus_ahead[k]
            rise -= plus if model.up[t] else minus
            fall -= minus if model.up[t] else plus
        step = omega / (1 + end - begin)
        state.tie_rise[d] = max(state.tie_rise[d] + step * rise, 0.0)
        state.tie_fall[d] = max(state.tie_fall[d] + step * fall, 0.0)
        for t in range(begin, end):
            k = model.column[t]
            side = 0 if model.up[t] else 1
            gain[side, k] += state.tie_rise[d]
            gain[1 - side, k] += state.tie_fall[d]
        back = 1 / (omega * (model.members[d] * n_thresholds + 1))
        rise, fall = _share(
            state.rise[d] + back * (state.rise_load[d] - state.tie_rise[d]),
            state.fall[d] + back * (state.fall_load[d] - state.tie_fall[d]),
            model.rises[d],
            model.falls[d],
        )
        state.rise_ahead[d], state.fall_ahead[d] = (
            2 * rise - state.rise[d],
            2 * fall - state.fall[d],
        )
        state.rise[d], state.fall[d] = rise, fall
    for k in range(model.prices.size):
        back = 1 / (omega * max(2 * model.shares[k], 1))
        plus, minus = _share(
            state.plus[k] + back * (gain[0, k] - model.prices[k]),
            state.minus[k] + back * (gain[1, k] - model.prices[k]),
            model.above[k],
            model.below[k],
        )
        state.plus_ahead[k], state.minus_ahead[k] = (
            2 * plus - state.plus[k],
            2 * minus - state.minus[k],
        )
        state.plus[k], state.minus[k] = plus, minus


@internal
def _move_calls(model: Model, state: FlowState, omega: float) -> None:
    """Move z along what is left of the gains."""
    back = np.empty(model.degree.size, dtype=np.float32)
    for u in range(back.size):
        back[u] = 1 / (omega * max(model.degree[u], 1))
    zero, one, two = np.float32(0), np.float32(1), np.float32(2)
    for i in range(model.gains.shape[0]):
        calls, ahead, load, gains = state.calls[i], state.ahead[i], state.load[i], model.gains[i]
        for u in range(calls.size):
            moved = min(max(calls[u] + back[u] * (gains[u] - load[u]), zero), one)
            ahead[u] = two * moved - calls[u]
            calls[u] = moved


@jit
def advance(model: Model, state: FlowState, omega: float, steps: int) -> None:
    """Take ``steps`` steps; ``omega`` is the length of dual steps over that of primal ones.

    1. Every few steps move the flow of all pairs, and put those with flow side by side.
    2. Else move the flow of these only.
    3. Move the multipliers and signs of directions and columns, then the calls.
    """
    gain = np.zeros((2, model.prices.size))
    ends = np.zeros(state.flow.shape[0] + 1, dtype=np.int64)
    places = np.empty((4, 0), dtype=np.int32)
    flows = np.empty(0, dtype=np.float32)
    step = np.float32(omega / 3)
    for s in range(steps):
        if s % _FULL == 0:
            _scatter(state, places, flows, ends)
            count = _move_all(model, state, step)
            places = np.empty((4, count), dtype=np.int32)
            flows = np.empty(count, dtype=np.float32)
            _gather(model, state, places, flows, ends)
        else:
            _move_some(model, state, step, places, flows, ends)
        _move_signs(model, state, omega, gain)
        _move_calls(model, state, omega)
    _scatter(state, places, flows, ends)


@jit
def plain_value(model: Model, state: FlowState) -> float:
    """What the current z and signs would be worth, were they allowed."""
    value = 0.0
    for i in range(model.gains.shape[0]):
        for u in range(model.gains.shape[1]):
            value += model.gains[i, u] * state.calls[i, u]
    for k in range(model.prices.size):
        value -= model.prices[k] * (state.plus[k] + state.minus[k])
    return value


@jit
def exact_value(
    model: Model, state: FlowState, left: Array, prices: Array, grid: float, room: float
) -> Any:
    """Dual value (7) of the multipliers, rounded to whole numbers of a grid, in whole numbers.

    ``left`` holds the gains times the grid's fineness on entry and what the flow leaves of them on
    return; ``prices`` are in the same units, and a multiplier times ``grid`` too.  Returns −1 where
    the sums might leave int64 (``room``), else the value.
    """
    size = 0.0
    column = np.zeros((2, model.prices.size), dtype=np.int64)
    rises = np.zeros(model.rises.size, dtype=np.int64)
    falls = np.zeros(model.rises.size, dtype=np.int64)
    for i in range(state.flow.shape[0]):
        flow, rest = state.flow[i], left[i]
        for e in range(flow.size):
            if flow[e] != 0:
                real = np.rint(np.float64(flow[e]) * grid)
                size += abs(real)
                whole = np.int64(real)
                rest[model.first[e]] -= whole
                rest[model.second[e]] += whole
                falls[model.owner[e]] += max(whole, 0)
                rises[model.owner[e]] += max(-whole, 0)
    value = np.int64(0)
    for d in range(model.rises.size):
        rise, fall = rises[d], falls[d]
        real, other = np.rint(state.tie_rise[d] * grid), np.rint(state.tie_fall[d] * grid)
        size += (abs(real) + abs(other)) * (1 + model.start[d + 1] - model.start[d])
        # A multiplier of (4) larger than the load costs and brings nothing.
        tie_rise = min(max(np.int64(real), 0), rise) if model.rises[d] else 0
        tie_fall = min(max(np.int64(other), 0), fall) if model.falls[d] else 0
        best = np.int64(0)
        if model.rises[d]:
            best = max(best, rise - tie_rise)
        if model.falls[d]:
            best = max(best, fall - tie_fall)
        value += best
        for t in range(model.start[d], model.start[d + 1]):
            side = 0 if model.up[t] else 1
            column[side, model.column[t]] += tie_rise
            column[1 - side, model.column[t]] += tie_fall
    if not size < room:
        return np.int64(-1)
    for k in range(model.prices.size):
        best = np.int64(0)
        if model.above[k]:
            best = max(best, column[0, k] - prices[k])
        if model.below[k]:
            best = max(best, column[1, k] - prices[k])
        value += best
    for i in range(left.shape[0]):
        for u in range(left.shape[1]):
            value += max(left[i, u], 0)
    return value
