"""Compiled loops of the search: they run between two looks at the clock, free of the interpreter.

Everything that a loop needs to go on lives in arrays (:class:`Chain`), so cutting a run into pieces,
or running it on another thread, changes nothing in its result.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from netbenefit.kernels._jit import jit
from netbenefit.kernels.compiled import coordinate_gains, gain_now, move, place
from netbenefit.kernels.layout import LOWER, UPPER, Array, Columns, State

__all__ = ["Chain", "descend", "heat_bath", "make_chain", "metropolis", "start"]

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
    out: Array  #: work space: gains of one coordinate's values
    limits: Array  #: (2,) size now, largest allowed size
    group: Array  #: (P, 2) first and last of the columns that share every row with column k
    sizes: Array  #: work space: sizes of one coordinate's values


def make_chain(columns: Columns, rates: Array, max_features: int, seed: int, groups: Array) -> Chain:
    """Allocate a chain; ``start`` sets it to some points."""
    lower, upper = columns.column[:-1, LOWER], columns.column[:-1, UPPER]
    deviates = np.diff(columns.column[:, 0]) > 0
    widest = int((upper - lower).max(initial=0)) + 1
    return Chain(
        rng=np.array([seed], dtype=np.uint64),
        free=np.flatnonzero((upper > lower) & deviates).astype(np.int64),
        rates=rates,
        value=np.zeros(2, dtype=rates.dtype),
        best=np.zeros(lower.size, dtype=np.int64),
        out=np.zeros(widest, dtype=rates.dtype),
        limits=np.array([0, max_features], dtype=np.int64),
        group=groups,
        sizes=np.zeros(widest, dtype=np.int64),
    )


@jit
def random(rng: Array) -> float:
    """Next number in [0, 1) (splitmix64)."""
    rng[0] += _GOLDEN
    z = rng[0]
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    z = z ^ (z >> _S31)
    return (z >> _S11) * (1.0 / 9007199254740992.0)


@jit
def start(columns: Columns, state: State, chain: Chain, points: Array) -> None:
    """Put the chain at ``points``; the best seen is kept only if better."""
    place(columns, state, points)
    size = 0
    for k in range(points.size):
        size += 1 if points[k] != 0 else 0
    chain.limits[0] = size
    chain.value[0] = chain.rates[0] * gain_now(columns, state) - chain.rates[1] * size


@jit
def keep_best(state: State, chain: Chain) -> None:
    """Remember the current points as the best."""
    chain.value[1] = chain.value[0]
    for k in range(state.points.size):
        chain.best[k] = state.points[k]


@jit
def _best_shift(columns: Columns, points: Array, first: int, last: int, k: int, value: int):
    """Fewest non-zero points of a group with points[k] = value, over all common shifts."""
    column = columns.column
    best_shift, fewest = 0, 0
    for i in range(first, last):
        fewest += 1 if (value if i == k else points[i]) != 0 else 0
    for j in range(first, last):
        shift = value if j == k else points[j]
        if shift == 0:
            continue
        count = 0
        for i in range(first, last):
            x = (value if i == k else points[i]) - shift
            if x < column[i, LOWER] or x > column[i, UPPER]:
                count = last
                break
            count += 1 if x != 0 else 0
        if count < fewest:
            best_shift, fewest = shift, count
    return best_shift, fewest


@jit
def _values(columns: Columns, state: State, chain: Chain, k: int) -> int:
    """Turn chain.out into objectives of column k's values; return the index of the best one."""
    coordinate_gains(columns, state, k, chain.out)
    lower = columns.column[k, LOWER]
    first, last = chain.group[k, 0], chain.group[k, 1]
    size_rest = chain.limits[0]
    for i in range(first, last):
        size_rest -= 1 if state.points[i] != 0 else 0
    best = -1
    for v in range(columns.column[k, UPPER] - lower + 1):
        if last - first == 1:
            size = size_rest + (1 if lower + v != 0 else 0)
        else:
            size = size_rest + _best_shift(columns, state.points, first, last, k, lower + v)[1]
        chain.sizes[v] = size
        chain.out[v] = chain.rates[0] * chain.out[v] - chain.rates[1] * size
        if size <= chain.limits[1] and (best < 0 or chain.out[v] > chain.out[best]):
            best = v
    return best


@jit
def _set(columns: Columns, state: State, chain: Chain, k: int, points: int, value: Any) -> None:
    first, last = chain.group[k, 0], chain.group[k, 1]
    for i in range(first, last):
        chain.limits[0] -= 1 if state.points[i] != 0 else 0
    move(columns, state, k, points)
    if last - first > 1:
        shift = _best_shift(columns, state.points, first, last, k, points)[0]
        for i in range(first, last):
            state.points[i] -= shift
    for i in range(first, last):
        chain.limits[0] += 1 if state.points[i] != 0 else 0
    chain.value[0] = value
    if value > chain.value[1]:
        keep_best(state, chain)


@jit
def heat_bath(
    columns: Columns,
    state: State,
    chain: Chain,
    hot: float,
    cold: float,
    begin: int,
    end: int,
    total: int,
) -> int:
    """Anneal: draw a column, then its value from a softmax over all of them.

    Steps ``begin`` … ``end`` of a run of ``total`` steps whose temperature falls geometrically from
    ``hot`` to ``cold``.  Returns the number of point vectors evaluated.
    """
    evaluated = 0
    for step in range(begin, end):
        heat = hot * (cold / hot) ** (step / total)
        k = chain.free[int(random(chain.rng) * chain.free.size)]
        lower, n_values = (
            columns.column[k, LOWER],
            columns.column[k, UPPER] - columns.column[k, LOWER] + 1,
        )
        top = _values(columns, state, chain, k)
        evaluated += n_values
        highest = chain.out[top]
        total_weight = 0.0
        for v in range(n_values):
            if chain.sizes[v] <= chain.limits[1]:
                total_weight += np.exp((chain.out[v] - highest) / heat)
        draw = random(chain.rng) * total_weight
        chosen = top
        for v in range(n_values):
            if chain.sizes[v] <= chain.limits[1]:
                draw -= np.exp((chain.out[v] - highest) / heat)
                if draw <= 0.0:
                    chosen = v
                    break
        _set(columns, state, chain, k, lower + chosen, chain.out[chosen])
    return evaluated


@jit
def descend(columns: Columns, state: State, chain: Chain) -> int:
    """Best value of one column after another, until none improves."""
    evaluated = 0
    quiet = 0
    position = int(random(chain.rng) * chain.free.size)
    while quiet < chain.free.size:
        k = chain.free[position]
        position = (position + 1) % chain.free.size
        top = _values(columns, state, chain, k)
        evaluated += columns.column[k, UPPER] - columns.column[k, LOWER] + 1
        if chain.out[top] > chain.value[0]:
            _set(columns, state, chain, k, columns.column[k, LOWER] + top, chain.out[top])
            quiet = 0
        else:
            quiet += 1
    return evaluated
