"""Pairs of patterns that differ in few columns, sorted by the direction in which they differ."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from netbenefit.common.checks import IntArray
from netbenefit.solvers.kernels.jit import inner, jit

__all__ = ["Directions", "find_directions", "merge_patterns"]

Array = Any
#: Comparisons of two patterns between two looks at the clock.
_SLICE = 4_000_000
#: Products of differences and points stay below this.
_ROOM = 2**61


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
    """Patterns and gains after patterns that differ only in columns fixed at 0 became one.

    >>> units, gains = np.array([[0, 1], [0, 2], [1, 1]]), np.array([[1, 2, 4]])
    >>> merged = merge_patterns(units, gains, np.array([-1, 0]), np.array([1, 0]))
    >>> merged[0].tolist(), merged[1].tolist()
    ([[0, 0], [1, 0]], [[3, 4]])
    """
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
    ends = [*range(0, n, max(1, _SLICE // max(n, 1))), n]
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
    if 2 * int(np.abs(units).max(initial=0)) * widest * lower.size < _ROOM:
        _reach(units, first, second, leaders, lower, upper, rises, falls)
    _describe(units, first, second, leaders, column, up)
    return Directions(first[kept], second[kept], owner[kept], start, column, up, rises, falls)


@inner
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


@inner
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


@inner
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
