"""Compiled loops of the search: they run between two looks at the clock, free of the interpreter.

Everything that a loop needs to go on lives in arrays (:class:`Chain`), so cutting a run into
pieces, or running it on another thread, changes nothing in its result.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from netbenefit.kernels._jit import jit
from netbenefit.kernels.compiled import coordinate_gains, gain_now, move, place
from netbenefit.kernels.groups import one_hot_groups
from netbenefit.kernels.layout import LOWER, START, UPPER, Array, Columns, State
from netbenefit.problem import Problem

__all__ = ["Chain", "descend", "heat_bath", "make_chain", "metropolis", "start", "values_of"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


class Chain(NamedTuple):
    """Where one search stands; written by the loops below."""

    rng: Array  #: (1,) state of the random numbers
    free: Array  #: columns that may change
    rates: Array  #: (2,) objective = rates[0] · gain − rates[1] · size
    value: Array  #: (2,) objective of the current and of the best points
    best: Array  #: (P,) best points seen
    size: Array  #: (2,) size of the current points, and the largest allowed
    group: Array  #: (P, 2) first and last of the columns that share every row with column k
    out: Array  #: work space: objectives of one coordinate's values
    sizes: Array  #: work space: their sizes
    shifts: Array  #: work space: common shifts of a group, and sizes that they leave


def make_chain(problem: Problem, seed: int) -> Chain:
    """Allocate a chain; ``start`` sets it to some points."""
    column = problem.columns.column
    movable = (problem.upper > problem.lower) & (np.diff(column[:, START]) > 0)
    widest = int((problem.upper - problem.lower).max(initial=0)) + 1
    n_columns = problem.lower.size
    if problem.penalty > 0 or problem.max_features < n_columns:
        groups = one_hot_groups(problem.patterns.codes, problem.patterns.decimals)
    else:  # sizes are free, so nothing is gained by shifting
        groups = np.stack([np.arange(n_columns), np.arange(n_columns) + 1], axis=1)
    return Chain(
        rng=np.array([seed], dtype=np.uint64),
        free=np.flatnonzero(movable).astype(np.int64),
        rates=problem.rates,
        value=np.zeros(2, dtype=problem.rates.dtype),
        best=np.zeros(n_columns, dtype=np.int64),
        size=np.array([0, problem.max_features], dtype=np.int64),
        group=groups,
        out=np.zeros(widest, dtype=problem.rates.dtype),
        sizes=np.zeros(widest, dtype=np.int64),
        shifts=np.zeros((n_columns + 1, 2), dtype=np.int64),
    )


@jit
def random(rng: Array) -> Any:
    """Next number in [0, 1) (splitmix64)."""
    rng[0] += _GOLDEN
    z = rng[0]
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    z = z ^ (z >> _S31)
    return (z >> _S11) * (1.0 / 9007199254740992.0)


@jit
def start(columns: Columns, state: State, chain: Chain, points: Array, first: bool) -> None:
    """Put the chain at ``points``; the first time they are also the best."""
    place(columns, state, points)
    size = 0
    for k in range(points.size):
        size += 1 if points[k] != 0 else 0
    chain.size[0] = size
    chain.value[0] = chain.rates[0] * gain_now(columns, state) - chain.rates[1] * size
    if first:
        _keep(state, chain)


@jit
def _keep(state: State, chain: Chain) -> None:
    """Remember the current points as the best."""
    chain.value[1] = chain.value[0]
    for k in range(state.points.size):
        chain.best[k] = state.points[k]


@jit
def _list_shifts(column: Array, points: Array, group: Array, k: int, shifts: Array) -> int:
    """Shifts that make one more of column k's companions zero, and how many they leave non-zero."""
    first, last = group[0], group[1]
    count = 0
    for j in range(first - 1, last):
        # The first candidate is no shift at all; the others are the companions' points.
        shift = 0 if j < first else points[j]
        if j == k or (j >= first and shift == 0):
            continue
        left = 0
        for i in range(first, last):
            x = points[i] - shift
            if i != k and (x < column[i, LOWER] or x > column[i, UPPER]):
                left = -1
                break
            left += 1 if (i != k and x != 0) else 0
        if left >= 0:
            shifts[count, 0] = shift
            shifts[count, 1] = left
            count += 1
    return count


@jit
def _best_shift(shifts: Array, lower: int, upper: int, value: int) -> Any:
    """The shift that leaves the fewest non-zero points when column k has ``value``, and how many."""
    best = 0
    fewest = shifts[0, 1] + (1 if value != 0 else 0)
    for c in range(1, shifts.shape[0]):
        x = value - shifts[c, 0]
        size = shifts[c, 1] + (1 if x != 0 else 0)
        if size < fewest and lower <= x <= upper:
            best, fewest = shifts[c, 0], size
    return best, fewest


@jit
def values_of(columns: Columns, state: State, chain: Chain, k: int) -> int:
    """Objectives and sizes of column k's values; return the index of the best allowed one."""
    coordinate_gains(columns, state, k, chain.out)
    column, group = columns.column, chain.group[k]
    lower, upper = column[k, LOWER], column[k, UPPER]
    shifts = chain.shifts[: _list_shifts(column, state.points, group, k, chain.shifts)]
    rest = chain.size[0]
    for i in range(group[0], group[1]):
        rest -= 1 if state.points[i] != 0 else 0
    for v in range(upper - lower + 1):
        size = rest + _best_shift(shifts, lower, upper, lower + v)[1]
        chain.sizes[v] = size
        chain.out[v] = chain.rates[0] * chain.out[v] - chain.rates[1] * size
    best = state.points[k] - lower
    for v in range(upper - lower + 1):
        if chain.sizes[v] <= chain.size[1] and chain.out[v] > chain.out[best]:
            best = v
    return best


@jit
def set_points(columns: Columns, state: State, chain: Chain, k: int, v: int) -> None:
    """Give column k its v-th value, whose objective stands in chain.out."""
    column, group = columns.column, chain.group[k]
    points = column[k, LOWER] + v
    if group[1] - group[0] > 1:
        shifts = chain.shifts[: _list_shifts(column, state.points, group, k, chain.shifts)]
        shift = _best_shift(shifts, column[k, LOWER], column[k, UPPER], points)[0]
        move(columns, state, k, points)
        for i in range(group[0], group[1]):
            state.points[i] -= shift
    else:
        move(columns, state, k, points)
    chain.size[0] = chain.sizes[v]
    chain.value[0] = chain.out[v]
    if chain.value[0] > chain.value[1]:
        _keep(state, chain)


@jit
def _draw(chain: Chain, top: int, n_values: int, heat: float) -> int:
    """Index of a value drawn from the softmax of chain.out at this temperature."""
    highest = chain.out[top]
    total = 0.0
    for v in range(n_values):
        if chain.sizes[v] <= chain.size[1]:
            total += np.exp((chain.out[v] - highest) / heat)
    left = random(chain.rng) * total
    for v in range(n_values):
        if chain.sizes[v] <= chain.size[1]:
            left -= np.exp((chain.out[v] - highest) / heat)
            if left <= 0.0:
                return v
    return top


@jit
def heat_bath(
    columns: Columns, state: State, chain: Chain, schedule: Array, begin: int, end: int
) -> int:
    """Anneal: draw a column, then its value from a softmax over all of them.

    Steps ``begin`` … ``end`` of a run whose temperature falls geometrically; ``schedule`` holds the
    first temperature, the last one, and the number of steps.  At the largest allowed size, a column
    without points takes the place of one that has some.  Returns the number of vectors evaluated.
    """
    evaluated = 0
    n_free = chain.free.size
    for step in range(begin, end):
        heat = schedule[0] * (schedule[1] / schedule[0]) ** (step / schedule[2])
        k = chain.free[int(random(chain.rng) * n_free)]
        if state.points[k] == 0 and chain.size[0] >= chain.size[1]:
            evaluated += _swap(columns, state, chain, k, heat)
            continue
        top = values_of(columns, state, chain, k)
        n_values = columns.column[k, UPPER] - columns.column[k, LOWER] + 1
        evaluated += n_values
        if chain.out[top] > chain.value[1]:
            set_points(columns, state, chain, k, top)
        else:
            set_points(columns, state, chain, k, _draw(chain, top, n_values, heat))
    return evaluated


@jit
def _swap(columns: Columns, state: State, chain: Chain, k: int, heat: float) -> int:
    """Take the points of a random column away and offer them to column k, or go back."""
    column = columns.column
    j = chain.free[int(random(chain.rng) * chain.free.size)]
    if state.points[j] == 0 or column[j, LOWER] > 0 or column[j, UPPER] < 0:
        return 0
    before, points = chain.value[0], state.points[j]
    values_of(columns, state, chain, j)
    set_points(columns, state, chain, j, -column[j, LOWER])
    evaluated = column[j, UPPER] - column[j, LOWER] + 1
    if chain.size[0] < chain.size[1]:
        top = values_of(columns, state, chain, k)
        n_values = column[k, UPPER] - column[k, LOWER] + 1
        evaluated += n_values
        v = top if chain.out[top] > chain.value[1] else _draw(chain, top, n_values, heat)
        change = (chain.out[v] - before) / heat
        if change >= 0.0 or random(chain.rng) < np.exp(change):
            set_points(columns, state, chain, k, v)
            return evaluated
    values_of(columns, state, chain, j)
    set_points(columns, state, chain, j, points - column[j, LOWER])
    return evaluated


@jit
def descend(columns: Columns, state: State, chain: Chain) -> int:
    """Best value of one column after another, until none improves."""
    evaluated, quiet = 0, 0
    n_free = chain.free.size
    position = int(random(chain.rng) * n_free)
    while quiet < n_free:
        k = chain.free[position]
        position = (position + 1) % n_free
        top = values_of(columns, state, chain, k)
        evaluated += columns.column[k, UPPER] - columns.column[k, LOWER] + 1
        quiet += 1
        if chain.out[top] > chain.value[0]:
            set_points(columns, state, chain, k, top)
            quiet = 0
    return evaluated


@jit
def metropolis(
    columns: Columns, state: State, chain: Chain, schedule: Array, begin: int, end: int
) -> int:
    """Published annealing: one column, one other value, accepted or not.

    Steps ``begin`` … ``end``; ``schedule`` holds the first temperature, what it loses each time,
    and the number of steps in between.  Returns the number of vectors evaluated.
    """
    evaluated = 0
    column = columns.column
    for step in range(begin, end):
        heat = schedule[0] - schedule[1] * (step // int(schedule[2]))
        k = chain.free[int(random(chain.rng) * chain.free.size)]
        old = state.points[k]
        new = column[k, LOWER] + int(random(chain.rng) * (column[k, UPPER] - column[k, LOWER]))
        if new >= old:  # one of the other values, each equally likely
            new += 1
        size = chain.size[0] + (1 if new != 0 else 0) - (1 if old != 0 else 0)
        if size > chain.size[1]:
            continue
        move(columns, state, k, new)
        evaluated += 1
        value = chain.rates[0] * gain_now(columns, state) - chain.rates[1] * size
        gained = value - chain.value[0]
        if gained > 0 or random(chain.rng) < np.exp(gained / heat):
            chain.size[0] = size
            chain.value[0] = value
            if value > chain.value[1]:
                _keep(state, chain)
        else:
            move(columns, state, k, old)
    return evaluated
