"""Count small boxes: the best value among all vectors of a box, one by one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import IntArray
from netbenefit.problem.integer import IntegerProblem
from netbenefit.problem.problem import Problem
from netbenefit.solvers.kernels.jit import internal, jit
from netbenefit.solvers.kernels.layout import Array

__all__ = ["Counter", "best_vector", "make_counter", "vector_allowed"]

#: Ranges of scores up to this are counted in a histogram, wider ones are sorted.
_BINS = 8192


class Counter(NamedTuple):
    """Patterns for counting; never written to."""

    units: Array  #: (P, n)
    unit: int
    gains: Array  #: (n, m), and rows with and without the event where rates are limited
    rates: Array  #: (thresholds, 3) row of gains or −1, least events found, most false alarms
    room: Array  #: (bins, columns of gains) zeros: room for a histogram


def make_counter(problem: Problem, integers: IntegerProblem) -> Counter:
    """Lay out a problem for counting; limits of rates need whole weights and exact integers."""
    gains, rates = integers.gains.T, np.zeros((0, 3), dtype=np.int64)
    if problem.limits.rates is not None:
        table = problem.patterns
        gains = np.column_stack([gains, table.events, table.others])
        rates = _rate_rows(problem)
    return Counter(
        units=np.ascontiguousarray(integers.units.T),
        unit=integers.unit,
        gains=np.ascontiguousarray(gains, dtype=np.int64),
        rates=rates,
        room=np.zeros((_BINS, gains.shape[1]), dtype=np.int64),
    )


def _rate_rows(problem: Problem) -> Array:
    """One row a threshold: its gains, least events found, most false alarms."""
    limits = problem.limits.rates
    assert limits is not None
    rows, at = [], 0
    weights, ps = problem.thresholds.weight_fractions, problem.thresholds.fractions
    for i, (p, weight) in enumerate(zip(ps, weights, strict=True)):
        counts = p > 0 and weight > 0
        found, alarms = math.ceil(limits.found[i]), math.floor(limits.alarms[i])
        rows.append([at if counts else -1, found, alarms])
        at += int(counts)
    return np.array(rows[1:], dtype=np.int64).reshape(-1, 3)  # at p = 0 all rows are called


@internal
def _best_sums(sums: Array, best: Array, current: Array) -> None:
    """Highest sum of the rows from some row on, for each column; 0 is "none"."""
    best[:] = 0
    current[:] = 0
    for t in range(sums.shape[0] - 1, -1, -1):
        for i in range(best.size):
            current[i] += sums[t, i]
            best[i] = max(best[i], current[i])


@internal
def _best_within(sums: Array, rates: Array, current: Array, best: Array) -> bool:
    """As above, with cut-offs within the rates; False where there are none."""
    n_gains = sums.shape[1] - 2
    lowest = np.iinfo(np.int64).min
    current[:] = 0
    for r in range(rates.shape[0]):
        best[r] = lowest
    for t in range(sums.shape[0], -1, -1):  # "none" first, then one more score at a time
        if t < sums.shape[0]:
            for i in range(current.size):
                current[i] += sums[t, i]
        for r in range(rates.shape[0]):
            if current[n_gains] >= rates[r, 1] and current[n_gains + 1] <= rates[r, 2]:
                gain = current[rates[r, 0]] if rates[r, 0] >= 0 else 0
                best[r] = max(best[r], gain)
    met = True
    for r in range(rates.shape[0]):
        met = met and best[r] > lowest
    return met


@internal
def _value(counter: Counter, scores: Array, hist: Array) -> int:
    """Sum over the thresholds of the best gain; scores holds units, and work space."""
    gains, unit, lowest = counter.gains, counter.unit, np.iinfo(np.int64).min
    floors = scores[1]
    low, high = np.iinfo(np.int64).max, lowest
    for u in range(floors.size):
        s = scores[0, u] if unit == 1 else scores[0, u] // unit
        floors[u] = s
        low, high = min(low, s), max(high, s)
    n_columns = gains.shape[1]
    size = high - low + 1
    if size > hist.shape[0]:
        # Too wide a range: give each distinct score its rank.  At most n rows, which fit.
        order = np.argsort(floors)
        rank, last = -1, floors[order[0]] - 1
        for j in range(order.size):
            s = floors[order[j]]
            if s != last:
                rank, last = rank + 1, s
            scores[2, order[j]] = rank
        size, low = rank + 1, 0
        floors = scores[2]
    sums = hist[:size] if size <= hist.shape[0] else np.zeros((size, n_columns), dtype=np.int64)
    for u in range(floors.size):
        t = floors[u] - low
        for i in range(n_columns):
            sums[t, i] += gains[u, i]
    current = np.empty(n_columns, dtype=np.int64)
    total = 0
    if counter.rates.shape[0] == 0:
        best = np.empty(n_columns, dtype=np.int64)
        _best_sums(sums, best, current)
        for i in range(n_columns):
            total += best[i]
    else:
        best = np.empty(counter.rates.shape[0], dtype=np.int64)
        if _best_within(sums, counter.rates, current, best):
            for r in range(best.size):
                total += best[r]
        else:
            total = lowest
    sums[:] = 0
    return total


@internal
def best_vector(
    counter: Counter,
    values: Array,
    base: Array,
    support: Array,
    support_limit: Array,
    total: int,
    price: int,
    lo: Array,
    hi: Array,
    hist: Array,
    scores: Array,
    best: Array,
) -> int:
    """Best value of all allowed vectors of a box; the smallest int64 where there is none.

    ``best`` holds the best vector so far and its value, and is renewed.
    """
    nothing = np.iinfo(np.int64).min
    n_columns = lo.size
    points = lo.copy()
    scores[0] = 0
    for k in range(n_columns):
        if lo[k] != 0:
            for u in range(scores.shape[1]):
                scores[0, u] += lo[k] * counter.units[k, u]
    top = nothing
    while True:
        if vector_allowed(values, base, support, support_limit, total, points):
            value = _value(counter, scores, hist)
            if value > nothing:
                for k in range(n_columns):
                    value -= price if points[k] != 0 else 0
                top = max(top, value)
                if value > best[n_columns]:
                    best[:n_columns] = points
                    best[n_columns] = value
        # The next vector, like the next number on a row of dials.
        k = 0
        while k < n_columns and points[k] == hi[k]:
            if hi[k] > lo[k]:
                for u in range(scores.shape[1]):
                    scores[0, u] -= (hi[k] - lo[k]) * counter.units[k, u]
                points[k] = lo[k]
            k += 1
        if k == n_columns:
            return top
        points[k] += 1
        for u in range(scores.shape[1]):
            scores[0, u] += counter.units[k, u]


@jit
def vector_allowed(
    values: NDArray[np.bool_],
    base: IntArray,
    support: IntArray,
    support_limit: IntArray,
    total: int,
    points: IntArray,
) -> bool:
    """Whether a vector keeps to limits 1–3; ``base[k]`` is what ``values[k, 0]`` stands for."""
    weight = 0
    for k in range(points.size):
        place = points[k] - base[k]
        if place < 0 or place >= values.shape[1] or not values[k, place]:
            return False
        weight += abs(points[k])
    if weight > total:
        return False
    for r in range(support.shape[0]):
        sum_of_row = 0
        for k in range(points.size):
            if points[k] != 0:
                sum_of_row += support[r, k]
        if sum_of_row > support_limit[r]:
            return False
    return True
