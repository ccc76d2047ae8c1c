"""Last improvements of a good card: pairs of coordinates, and the plainest of equals."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from netbenefit._validation import IntArray
from netbenefit.kernels.compiled import move
from netbenefit.kernels.layout import State, make_state
from netbenefit.kernels.pairs import pair_gains
from netbenefit.problem import Problem
from netbenefit.solvers import _chain
from netbenefit.solvers.base import Run

__all__ = ["compile_polish", "polish", "simplify"]

_MANY_PAIRS = 100
#: Columns with more values than this are left out of pairs.
_MANY_VALUES = 100
#: Seconds that tidying may take after the time limit.
_OVERTIME = 0.5


def polish(problem: Problem, points: IntArray, run: Run) -> tuple[Any, IntArray, int]:
    """Try all values of pairs of coordinates until none improves.

    Where there are many pairs, only those are tried in which at least one column has points.

    Returns the value, the points, and the number of vectors evaluated.
    """
    columns = problem.columns
    state, chain = make_state(columns), _chain.make_chain(problem, 0)
    _chain.start(columns, state, chain, points, True)
    free = {k for k in chain.free.tolist() if _n_values(problem, k) <= _MANY_VALUES}
    gains = _room_for_pairs(problem, free)
    evaluated = 0
    todo = _pairs(chain.best, free)
    while todo:
        if run.must_stop:
            break
        values, better = _best_pair(problem, state, chain, todo.pop(), gains)
        evaluated += values.size
        if values.max() > chain.value[1] + problem.slack:
            _chain.start(columns, state, chain, better, True)
            todo = _pairs(chain.best, free)
    return chain.value[1], chain.best, evaluated


def compile_polish(problem: Problem) -> None:
    """Have the pair kernel compiled, or loaded: a state without scores makes it return at once."""
    pair_gains(problem.columns, make_state(problem.columns), 0, 0, _room_for_pairs(problem, set()))


def _room_for_pairs(problem: Problem, free: set[int]) -> Any:
    widest = max((_n_values(problem, k) for k in free), default=1)
    return np.zeros((widest, widest), dtype=problem.rates.dtype)


def _n_values(problem: Problem, k: int) -> int:
    return int(problem.upper[k] - problem.lower[k]) + 1


def _pairs(points: IntArray, free: set[int]) -> list[tuple[int, int]]:
    """Pairs of columns that may change; if there are many, those where one has points."""
    pairs = list(combinations(sorted(free), 2))
    if len(pairs) > _MANY_PAIRS:
        pairs = [(k, j) for k, j in pairs if points[k] or points[j]]
    return pairs


def _best_pair(
    problem: Problem, state: State, chain: _chain.Chain, pair: tuple[int, int], room: Any
) -> tuple[Any, IntArray]:
    """Objectives of all pairs of values (not allowed ones lowest), and the best points."""
    (k, j), points = pair, chain.best
    v_k, v_j = (np.arange(problem.lower[i], problem.upper[i] + 1) for i in pair)
    gains = room[: v_k.size, : v_j.size]
    if not pair_gains(problem.columns, state, k, j, room):
        for v, row in zip(v_k.tolist(), gains, strict=True):
            move(problem.columns, state, k, v)
            row[:] = _gains_of(problem, state, chain, j)
        move(problem.columns, state, k, int(points[k]))
    rest = int(np.count_nonzero(points)) - int(points[k] != 0) - int(points[j] != 0)
    sizes = rest + (v_k != 0)[:, None].astype(np.int64) + (v_j != 0)[None, :]
    values = problem.rates[0] * gains - problem.rates[1] * sizes
    lowest = np.iinfo(np.int64).min if values.dtype.kind == "i" else -np.inf
    values = np.where(sizes <= problem.max_features, values, lowest)
    a, b = np.unravel_index(int(np.argmax(values)), values.shape)
    better = points.copy()
    better[k], better[j] = v_k[a], v_j[b]
    return values, better


def _gains_of(problem: Problem, state: State, chain: _chain.Chain, k: int) -> Any:
    """Gains of column k's values, without any price of features."""
    _chain.list_values(problem.columns, state, chain, k)
    n_values = _n_values(problem, k)
    priced = chain.out[:n_values] + problem.rates[1] * chain.sizes[:n_values]
    return priced // problem.rates[0] if priced.dtype.kind == "i" else priced / problem.rates[0]


def simplify(problem: Problem, points: IntArray, run: Run | None = None) -> IntArray:
    """Take the smallest points among equally good ones; report the primitive vector.

    Every change keeps or raises the objective, and one that keeps it makes a coefficient smaller,
    so the loop ends; with a ``run``, also when its time has been over for a while.
    """
    columns = problem.columns
    state, chain = make_state(columns), _chain.make_chain(problem, 0)
    current = points.copy()
    changed = True
    while changed:
        changed = False
        for k in chain.free.tolist():
            if run is not None and run.overtime > _OVERTIME:
                return problem.primitive(current)
            _chain.start(columns, state, chain, current, True)
            values = np.arange(problem.lower[k], problem.upper[k] + 1)
            # Sizes as they are, without shifts of groups, which would change several points.
            size = chain.size[0] - int(current[k] != 0) + (values != 0)
            value = problem.rates[0] * _gains_of(problem, state, chain, k) - problem.rates[1] * size
            allowed = size <= problem.max_features
            best = value[allowed].max()
            equals = values[allowed & (value >= best - problem.slack)]
            plain = min(equals, key=lambda v: (abs(v), -v))
            if best > chain.value[0] + problem.slack or abs(plain) < abs(current[k]):
                current[k] = plain
                changed = True
    return problem.primitive(current)
