"""Last improvements of a good card: pairs of coordinates, and the plainest of equals."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from netbenefit.common.checks import IntArray
from netbenefit.problem.problem import Problem
from netbenefit.solvers.base import Run
from netbenefit.solvers.kernels.layout import make_state
from netbenefit.solvers.kernels.pairs import pair_gains
from netbenefit.solvers.walker import Walker, make_walker

__all__ = ["compile_polish", "polish", "simplify"]

_MANY_PAIRS = 100
#: Columns with more values than this are left out of pairs.
_MANY_VALUES = 100
#: Seconds that tidying may take after the time limit.
_OVERTIME = 0.5


def polish(walker: Walker, points: IntArray, run: Run) -> tuple[Walker, int]:
    """Try all values of pairs of coordinates until none improves.

    Where there are many pairs, only those are tried in which at least one column has points.

    Returns the walker, which holds the best points, and the number of vectors evaluated.
    """
    problem = walker.problem
    walker.start(points, True)
    free = {k for k in walker.free.tolist() if _n_values(problem, k) <= _MANY_VALUES}
    gains = _room_for_pairs(problem, free)
    evaluated = 0
    todo = _pairs(walker.best, free)
    while todo:
        if run.must_stop:
            break
        values, better = _best_pair(walker, todo.pop(), gains)
        evaluated += values.size
        if values.max() > walker.best_value + problem.slack:
            walker.start(better, True)
            todo = _pairs(walker.best, free)
    return walker, evaluated


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


def _best_pair(walker: Walker, pair: tuple[int, int], room: Any) -> tuple[Any, IntArray]:
    """Objectives of all pairs of values (not allowed ones lowest), and the best points."""
    problem, (k, j), points = walker.problem, pair, walker.best
    v_k, v_j = (np.arange(problem.lower[i], problem.upper[i] + 1) for i in pair)
    if problem.is_plain:
        values, allowed = _plain_pairs(walker, pair, room)
    else:
        values, allowed = _other_pairs(walker, pair, room)
    lowest = np.iinfo(np.int64).min if values.dtype.kind == "i" else -np.inf
    values = np.where(allowed, values, lowest)
    a, b = np.unravel_index(int(np.argmax(values)), values.shape)
    better = points.copy()
    better[k], better[j] = v_k[a], v_j[b]
    return values, better


def _plain_pairs(walker: Walker, pair: tuple[int, int], room: Any) -> tuple[Any, Any]:
    """All pairs at once, by the kernel for pairs where it can."""
    problem, (k, j), points = walker.problem, pair, walker.best
    v_k, v_j = (np.arange(problem.lower[i], problem.upper[i] + 1) for i in pair)
    gains = room[: v_k.size, : v_j.size]
    if not pair_gains(problem.columns, walker.state, k, j, room):
        for v, row in zip(v_k.tolist(), gains, strict=True):
            walker.move(k, v)
            row[:] = walker.gains(j)
        walker.move(k, int(points[k]))
    rest = int(np.count_nonzero(points)) - int(points[k] != 0) - int(points[j] != 0)
    sizes = rest + (v_k != 0)[:, None].astype(np.int64) + (v_j != 0)[None, :]
    values = problem.rates[0] * gains - problem.rates[1] * sizes
    return values, sizes <= problem.max_features


def _other_pairs(walker: Walker, pair: tuple[int, int], room: Any) -> tuple[Any, Any]:
    """One value of the first column after the other, with all of the second."""
    problem, (k, j), points = walker.problem, pair, walker.best
    n_k, n_j = _n_values(problem, k), _n_values(problem, j)
    values, allowed = room[:n_k, :n_j], np.zeros((n_k, n_j), dtype=np.bool_)
    for v in np.flatnonzero(problem.limits.values[k, :n_k]).tolist():
        walker.move(k, int(problem.lower[k]) + v)
        values[v], allowed[v] = walker.values(j)
    walker.move(k, int(points[k]))
    return values, allowed


def simplify(problem: Problem, points: IntArray, run: Run | None = None) -> IntArray:
    """Take the smallest points among equally good ones; report the primitive vector.

    Every change keeps or raises the objective, and one that keeps it makes a coefficient smaller,
    so the loop ends; with a ``run``, also when its time has been over for a while.
    """
    walker = make_walker(problem, 0)
    current = points.copy()
    changed = True
    while changed:
        changed = False
        for k in walker.free.tolist():
            if run is not None and run.overtime > _OVERTIME:
                return problem.primitive(current)
            walker.start(current, True)
            values = np.arange(problem.lower[k], problem.upper[k] + 1)
            value, allowed = walker.values(k)
            equals = values[allowed & (value >= value[allowed].max() - problem.slack)]
            plain = min(equals, key=lambda v: (abs(v), -v))
            if plain == current[k]:
                continue
            gain = value[allowed].max() - value[current[k] - problem.lower[k]]
            if gain > problem.slack or abs(plain) < abs(current[k]):
                current[k], changed = plain, True
    return problem.primitive(current)
