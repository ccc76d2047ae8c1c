"""A primal-dual first-order method for the direction-sign relaxation, and its exact dual value.

Equation numbers are those of :mod:`netbenefit.solvers.bounds.directions`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from netbenefit.solvers.kernels.coordinates import fill
from netbenefit.solvers.kernels.jit import internal, jit

Array = Any
#: Steps from one pass over all pairs to the next; in between only those with flow are moved.
_FULL = 25


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
    signs: Array  #: (2, D) bool: whether d·λ > 0, and d·λ < 0, for some λ of the box


class Model(NamedTuple):
    """The relaxation in floating point; gains and prices are divided by a common scale."""

    gains: Array  #: (m, n) float32
    prices: Array  #: (P,) float64, 0 where the box excludes 0
    signs: Array  #: (2, P) bool: whether λ_k > 0, and λ_k < 0, is in the box
    directions: Directions
    degree: Array  #: (n,) pairs of a pattern
    members: Array  #: (D,) pairs of a direction
    shares: Array  #: (P,) directions with this column


class FlowState(NamedTuple):
    """Where the method is; flow and ties are multipliers, and all that a bound needs.

    Arrays with two rows hold rise_d and fall_d of directions, or plus_k and minus_k of columns.
    """

    flow: Array  #: (m, E) float32: f of (6)
    ties: Array  #: (2, D) multipliers of (4)
    calls: Array  #: (m, n) float32: z
    ahead: Array  #: z extrapolated
    turns: Array  #: (2, D) rise and fall
    turns_ahead: Array
    signs: Array  #: (2, P) plus and minus
    signs_ahead: Array
    load: Array  #: (m, n) float32: flow out of a pattern minus flow into it
    turn_load: Array  #: (2, D) sum of the flow that a direction pays
    pull: Array  #: (2, D) float32: how far a step pulls flow towards 0


def make_state(model: Model) -> FlowState:
    """No flow, every pattern called right, every sign undecided."""
    calls = (model.gains > 0).astype(np.float32)
    turns, signs = 0.5 * model.directions.signs, 0.5 * model.signs
    return FlowState(
        flow=np.zeros((calls.shape[0], model.directions.first.size), dtype=np.float32),
        ties=np.zeros(turns.shape),
        calls=calls,
        ahead=calls.copy(),
        turns=turns,
        turns_ahead=turns.copy(),
        signs=signs,
        signs_ahead=signs.copy(),
        load=np.zeros_like(calls),
        turn_load=np.zeros(turns.shape),
        pull=np.zeros(turns.shape, dtype=np.float32),
    )


@internal
def _clear(state: FlowState, step: Any) -> None:
    """Make the sums of flow empty, and note how far a step pulls flow towards 0."""
    for i in range(state.load.shape[0]):
        fill(state.load[i], 0)
    for side in range(2):
        fill(state.turn_load[side], 0)
        pull, ahead = state.pull[side], state.turns_ahead[side]
        for d in range(pull.size):
            pull[d] = step * np.float32(max(ahead[d], 0.0))


@internal
def _pulled(pull: Any, load: Any, d: int, moved: Any) -> Any:
    """A flow after the pull of its direction's sign; what is left is added to the load."""
    if moved > pull[1][d]:
        moved -= pull[1][d]
        load[1][d] += moved
        return moved
    if moved < -pull[0][d]:
        moved += pull[0][d]
        load[0][d] -= moved
        return moved
    return np.float32(0)


@internal
def _move_all(pairs: Directions, state: FlowState, step: Any) -> Any:
    """Step along the violation of every pair's order, pulled towards 0 by its direction's sign.

    Returns the number of entries that carry flow.
    """
    _clear(state, step)
    # Rows by themselves: arrays with two indices make these loops several times slower.
    pull = state.pull[0], state.pull[1]
    turn_load = state.turn_load[0], state.turn_load[1]
    count = 0
    for i in range(state.flow.shape[0]):
        flow, ahead, load = state.flow[i], state.ahead[i], state.load[i]
        for e in range(flow.size):
            u, v, d = pairs.first[e], pairs.second[e], pairs.owner[e]
            moved = _pulled(pull, turn_load, d, flow[e] + step * (ahead[u] - ahead[v]))
            flow[e] = moved
            if moved != 0:
                load[u] += moved
                load[v] -= moved
                count += 1
    return count


@internal
def _gather(pairs: Directions, state: FlowState, places: Array, flows: Array, ends: Array) -> None:
    """Put the entries that carry flow side by side: where they are, and the flow."""
    count = 0
    for i in range(state.flow.shape[0]):
        flow = state.flow[i]
        for e in range(flow.size):
            if flow[e] != 0:
                places[0, count] = e
                places[1, count] = pairs.first[e]
                places[2, count] = pairs.second[e]
                places[3, count] = pairs.owner[e]
                flows[count] = flow[e]
                count += 1
        ends[i + 1] = count


@internal
def _move_some(state: FlowState, step: Any, places: Array, flows: Array, ends: Array) -> None:
    """Do as :func:`_move_all` for the entries put side by side."""
    _clear(state, step)
    pull = state.pull[0], state.pull[1]
    turn_load = state.turn_load[0], state.turn_load[1]
    for i in range(state.flow.shape[0]):
        ahead, load = state.ahead[i], state.load[i]
        for j in range(ends[i], ends[i + 1]):
            u, v, d = places[1, j], places[2, j], places[3, j]
            moved = _pulled(pull, turn_load, d, flows[j] + step * (ahead[u] - ahead[v]))
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
def _move_pair(now: Array, ahead: Array, usable: Array, j: int, a: float, b: float) -> None:
    """Move two opposite signs by a and b, to the nearest point with both ≥ 0 and a sum ≤ 1."""
    a = max(now[0, j] + a, 0.0) if usable[0, j] else 0.0
    b = max(now[1, j] + b, 0.0) if usable[1, j] else 0.0
    if a + b > 1.0:
        a = min(max((a - b + 1.0) / 2, 0.0), 1.0)
        b = 1.0 - a
    ahead[0, j], ahead[1, j] = 2 * a - now[0, j], 2 * b - now[1, j]
    now[0, j], now[1, j] = a, b


@internal
def _move_signs(model: Model, state: FlowState, omega: float, gain: Array) -> None:
    """Move the multipliers of (4), then the signs of directions, then those of columns."""
    n_thresholds = state.flow.shape[0]
    pairs, ties, load = model.directions, state.ties, state.turn_load
    fill(gain[0], 0)
    fill(gain[1], 0)
    for d in range(model.members.size):
        begin, end = pairs.start[d], pairs.start[d + 1]
        rise, fall = state.turns_ahead[0, d], state.turns_ahead[1, d]
        for t in range(begin, end):
            k, side = pairs.column[t], 0 if pairs.up[t] else 1
            rise -= state.signs_ahead[side, k]
            fall -= state.signs_ahead[1 - side, k]
        step = omega / (1 + end - begin)
        ties[0, d] = max(ties[0, d] + step * rise, 0.0)
        ties[1, d] = max(ties[1, d] + step * fall, 0.0)
        for t in range(begin, end):
            k, side = pairs.column[t], 0 if pairs.up[t] else 1
            gain[side, k] += ties[0, d]
            gain[1 - side, k] += ties[1, d]
        back = 1 / (omega * (model.members[d] * n_thresholds + 1))
        rise, fall = back * (load[0, d] - ties[0, d]), back * (load[1, d] - ties[1, d])
        _move_pair(state.turns, state.turns_ahead, pairs.signs, d, rise, fall)
    for k in range(model.prices.size):
        back = 1 / (omega * max(2 * model.shares[k], 1))
        plus, minus = back * (gain[0, k] - model.prices[k]), back * (gain[1, k] - model.prices[k])
        _move_pair(state.signs, state.signs_ahead, model.signs, k, plus, minus)


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
            count = _move_all(model.directions, state, step)
            places = np.empty((4, count), dtype=np.int32)
            flows = np.empty(count, dtype=np.float32)
            _gather(model.directions, state, places, flows, ends)
        else:
            _move_some(state, step, places, flows, ends)
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
        value -= model.prices[k] * (state.signs[0, k] + state.signs[1, k])
    return value


@internal
def _whole(value: Any, grid: float) -> Any:
    """A multiplier in whole numbers."""
    return np.int64(np.rint(np.float64(value) * grid))


@jit
def exact_value(
    model: Model, state: FlowState, left: Array, prices: Array, grid: float, room: float
) -> Any:
    """Dual value (7) of the multipliers, rounded to whole numbers, in whole numbers.

    ``left`` holds the gains on entry and what the flow leaves of them on return; ``prices`` are in
    the same units, and a multiplier times ``grid`` too.  Returns −1 where the sums might leave
    int64 (``room``), else the value.
    """
    pairs = model.directions
    size = 0.0
    loads = np.zeros(pairs.signs.shape, dtype=np.int64)
    gain = np.zeros(model.signs.shape, dtype=np.int64)
    for i in range(state.flow.shape[0]):
        flow, rest = state.flow[i], left[i]
        for e in range(flow.size):
            if flow[e] != 0:
                whole = _whole(flow[e], grid)
                size += abs(np.float64(flow[e]) * grid)
                rest[pairs.first[e]] -= whole
                rest[pairs.second[e]] += whole
                loads[1 if whole > 0 else 0, pairs.owner[e]] += abs(whole)
    value = np.int64(0)
    for d in range(model.members.size):
        begin, end = pairs.start[d], pairs.start[d + 1]
        best = np.int64(0)
        for way in range(2):
            size += abs(state.ties[way, d] * grid) * (1 + end - begin)
            if not pairs.signs[way, d]:
                continue
            # A multiplier of (4) larger than the load costs and brings nothing.
            tie = min(max(_whole(state.ties[way, d], grid), 0), loads[way, d])
            best = max(best, loads[way, d] - tie)
            for t in range(begin, end):
                gain[way if pairs.up[t] else 1 - way, pairs.column[t]] += tie
        value += best
    if not size < room:
        return np.int64(-1)
    for k in range(model.prices.size):
        best = np.int64(0)
        for way in range(2):
            if model.signs[way, k]:
                best = max(best, gain[way, k] - prices[k])
        value += best
    for i in range(left.shape[0]):
        for u in range(left.shape[1]):
            value += max(left[i, u], 0)
    return value


@jit
def collect(model: Model, state: FlowState, grid: float) -> Any:
    """The multipliers as conflicts: threshold, called and uncalled pattern, amount, :class:`Way`.

    A direction's tie takes over the first of its flow: it is of way SIGNS, and the rest ORDER.
    """
    pairs = model.directions
    count = 0
    for i in range(state.flow.shape[0]):
        for e in range(state.flow.shape[1]):
            count += 1 if _whole(state.flow[i, e], grid) != 0 else 0
    n_ties = 2 * model.members.size
    table = np.empty((5, count + n_ties), dtype=np.int64)
    tie = np.zeros((2, model.members.size), dtype=np.int64)
    for d in range(model.members.size):
        for way in range(2):
            if pairs.signs[way, d]:
                tie[way, d] = max(_whole(state.ties[way, d], grid), 0)
    size = 0
    for i in range(state.flow.shape[0]):
        for e in range(state.flow.shape[1]):
            whole = _whole(state.flow[i, e], grid)
            if whole == 0:
                continue
            side = 1 if whole > 0 else 0
            called, other = pairs.first[e], pairs.second[e]
            if whole < 0:
                called, other = other, called
            tied = min(tie[side, pairs.owner[e]], abs(whole))
            tie[side, pairs.owner[e]] -= tied
            for way in range(2):
                amount = tied if way == 0 else abs(whole) - tied
                if amount > 0:
                    table[0, size], table[1, size], table[2, size] = i, called, other
                    table[3, size], table[4, size] = amount, way
                    size += 1
    return table[0, :size], table[1, :size], table[2, :size], table[3, :size], table[4, :size]
