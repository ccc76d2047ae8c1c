"""Last improvements of a good card: pairs of coordinates, and the plainest of equals."""

from __future__ import annotations

from typing import Any

import numpy as np

from netbenefit._validation import IntArray
from netbenefit.kernels.layout import make_state
from netbenefit.kernels.pairs import pair_gains
from netbenefit.problem import Problem
from netbenefit.solvers import _chain
from netbenefit.solvers.base import Run

__all__ = ["polish", "simplify"]


def polish(problem: Problem, points: IntArray, run: Run) -> tuple[Any, IntArray, int]:
    """Try all values of pairs of coordinates, one of which has points, until none improves.

    Returns the value, the points, and the number of vectors evaluated.
    """
    columns = problem.columns
    state, chain = make_state(columns), _chain.make_chain(problem, 0)
    _chain.start(columns, state, chain, points, True)
    widest = int((problem.upper - problem.lower).max()) + 1
    gains = np.zeros((widest, widest), dtype=problem.rates.dtype)
    free = set(chain.free.tolist())
    evaluated, tried = 0, set[tuple[int, int]]()
    todo = _pairs(chain.best, free)
    while todo:
        k, j = pair = todo.pop()
        if run.must_stop:
            break
        if pair in tried:
            continue
        tried.add(pair)
        pair_gains(columns, state, k, j, gains)
        values, better = _best_pair(problem, gains, chain.best, k, j)
        evaluated += values.size
        if values.max() > chain.value[1] + problem.slack:
            _chain.start(columns, state, chain, better, True)
            tried.clear()
            todo = _pairs(chain.best, free)
    return chain.value[1], chain.best, evaluated


def _pairs(points: IntArray, free: set[int]) -> list[tuple[int, int]]:
    """Pairs of columns that may change, at least one of which has points."""
    used = [k for k in np.flatnonzero(points).tolist() if k in free]
    return [(k, j) for k in used for j in sorted(free) if j != k and not (points[j] and j < k)]


def _best_pair(
    problem: Problem, gains: Any, points: IntArray, k: int, j: int
) -> tuple[Any, IntArray]:
    """Objectives of all pairs of values (not allowed ones lowest), and the best points."""
    v_k = np.arange(problem.lower[k], problem.upper[k] + 1)
    v_j = np.arange(problem.lower[j], problem.upper[j] + 1)
    rest = int(np.count_nonzero(points)) - int(points[k] != 0) - int(points[j] != 0)
    sizes = rest + (v_k != 0)[:, None].astype(np.int64) + (v_j != 0)[None, :]
    values = problem.rates[0] * gains[: v_k.size, : v_j.size] - problem.rates[1] * sizes
    lowest = np.iinfo(np.int64).min if values.dtype.kind == "i" else -np.inf
    values = np.where(sizes <= problem.max_features, values, lowest)
    a, b = np.unravel_index(int(np.argmax(values)), values.shape)
    better = points.copy()
    better[k], better[j] = v_k[a], v_j[b]
    return values, better


def simplify(problem: Problem, points: IntArray) -> IntArray:
    """Take the smallest points among equally good ones; report the primitive vector.

    Every change keeps or raises the objective, and one that keeps it makes a coefficient smaller,
    so the loop ends.
    """
    columns = problem.columns
    state, chain = make_state(columns), _chain.make_chain(problem, 0)
    current = points.copy()
    changed = True
    while changed:
        changed = False
        for k in chain.free.tolist():
            _chain.start(columns, state, chain, current, True)
            _chain.list_values(columns, state, chain, k)
            values = np.arange(problem.lower[k], problem.upper[k] + 1)
            # Sizes as they are, without shifts of groups, which would change several points.
            size = chain.size[0] - int(current[k] != 0) + (values != 0)
            value = chain.out[: values.size] + problem.rates[1] * (
                chain.sizes[: values.size] - size
            )
            allowed = size <= problem.max_features
            best = value[allowed].max()
            equals = values[allowed & (value >= best - problem.slack)]
            plain = min(equals, key=lambda v: (abs(v), -v))
            if best > chain.value[0] + problem.slack or abs(plain) < abs(current[k]):
                current[k] = plain
                changed = True
    return problem.primitive(current)
