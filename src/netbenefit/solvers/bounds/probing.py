"""Probing of wide columns: which of their signs can be ruled out.

A column with a spread far above that of all others orders the patterns nearly by itself once its
points are not 0, since points are whole.  Pairs show it.  A positive u and a negative w are in
*conflict* in a box if no λ of it calls u without calling w, that is, if

    max over the box of (x_u − x_w)·λ  <  grain   (in units; see ``cuts``) ,

since u called and w not called needs at least the grain.  Each threshold then loses at least any
flow from positives (supply gains) along conflicts to negatives (room −gains); here the flow is
found greedily, in whole numbers, without storing the pairs.

The recipe of :func:`probe_columns`:

1. Order the columns by spread; those that outweigh all narrower ones together are *wide*.
2. Split the box at the signs of the widest column that is not decided yet, and bound each part by
   its conflicts.  Parts that stay above the target are split at the next wide column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from netbenefit.common import IntArray
from netbenefit.problem import IntegerProblem
from netbenefit.solvers.bounds.cuts import make_box
from netbenefit.solvers.kernels.jit import jit

#: Positives whose conflicts are looked for between two looks at the clock.
_BLOCK = 200


class Part(NamedTuple):
    """A box of points with an upper bound of the values in it."""

    lower: IntArray
    upper: IntArray
    value: int


@jit
def _conflicts(
    units: IntArray,
    columns: IntArray,
    lower: IntArray,
    upper: IntArray,
    positives: IntArray,
    negatives: IntArray,
    grain: int,
    found: np.ndarray,
) -> None:
    """Mark (u, w) whose order no λ of the box can get right."""
    for a in range(positives.size):
        u = positives[a]
        for b in range(negatives.size):
            w = negatives[b]
            most = 0
            for k in columns:
                d = units[u, k] - units[w, k]
                most += max(d * lower[k], d * upper[k])
            found[a, b] = most < grain


@jit
def _greedy_flow(
    found: np.ndarray, supply: IntArray, room: IntArray, order: IntArray, turn: IntArray
) -> int:
    """Send what fits: positives with few conflicts first, to negatives with few first."""
    total = 0
    for a in order:
        left = supply[a]
        if left <= 0:
            continue
        for b in turn:
            if found[a, b] and room[b] > 0:
                sent = min(left, room[b])
                room[b] -= sent
                left -= sent
                total += sent
                if left == 0:
                    break
    return total


def conflict_bound(
    integers: IntegerProblem,
    lower: IntArray,
    upper: IntArray,
    should_stop: Callable[[], bool] = lambda: False,
) -> int:
    """No card of the box is worth more: ceiling − prices of decided columns − greedy flows."""
    box = make_box(integers, lower, upper)
    gains = integers.gains
    positives = np.flatnonzero((gains > 0).any(axis=0))
    negatives = np.flatnonzero((gains < 0).any(axis=0))
    found = np.zeros((positives.size, negatives.size), dtype=np.bool_)
    columns = np.flatnonzero((box.lower != 0) | (box.upper != 0))
    for a in range(0, positives.size, _BLOCK):
        if should_stop():
            break  # fewer conflicts are found, which is no mistake
        some, place = positives[a : a + _BLOCK], found[a : a + _BLOCK]
        _conflicts(integers.units, columns, box.lower, box.upper, some, negatives, box.grain, place)
    order = np.argsort(found.sum(axis=1), kind="stable")
    turn = np.argsort(found.sum(axis=0), kind="stable")
    loss = 0
    for row in gains:
        supply = np.maximum(row[positives], 0)
        room = np.maximum(-row[negatives], 0)
        loss += int(_greedy_flow(found, supply, room, order, turn))
    return integers.ceiling - integers.price * box.paid - loss


def wide_columns(
    integers: IntegerProblem, lower: IntArray, upper: IntArray, most: int = 4
) -> list[int]:
    """Columns whose spread outweighs all narrower ones together, widest first."""
    x = integers.units.astype(np.float64)
    spread = np.abs(x - np.median(x, axis=0)).mean(axis=0)
    spread[(lower == 0) & (upper == 0)] = 0
    order = np.argsort(-spread, kind="stable")
    wide: list[int] = []
    for place, k in enumerate(order[:most]):
        rest = float(spread[order[place + 1 :]].sum())
        if spread[k] <= rest / 4 or len(np.unique(integers.units[:, k])) <= 2:
            break
        wide.append(int(k))
    return wide


def sign_parts(lower: IntArray, upper: IntArray, k: int) -> list[tuple[IntArray, IntArray]]:
    """The box split at λ_k < 0, = 0, > 0; empty parts are left out."""
    parts = []
    for low, high in ((0, 0), (1, int(upper[k])), (int(lower[k]), -1)):
        low, high = max(low, int(lower[k])), min(high, int(upper[k]))
        if low <= high:
            a, b = lower.copy(), upper.copy()
            a[k], b[k] = low, high
            parts.append((a, b))
    return parts


def probe_columns(
    integers: IntegerProblem,
    lower: IntArray,
    upper: IntArray,
    target: int,
    should_stop: Callable[[], bool],
) -> list[Part]:
    """Split a box at the signs of its wide columns and bound the parts by their conflicts.

    Parts with all wide columns at 0 are not bounded: there are few conflicts there.
    """
    wide = wide_columns(integers, lower, upper)
    top = integers.ceiling - integers.price * int(((lower > 0) | (upper < 0)).sum())
    done: list[Part] = []
    todo = [(Part(lower, upper, top), 0)]
    while todo:
        part, depth = todo.pop()
        if depth == len(wide) or part.value <= target:
            done.append(part)
            continue
        for a, b in sign_parts(part.lower, part.upper, wide[depth]):
            value = part.value
            decided = (a[wide] > 0) | (b[wide] < 0)
            if decided.any() and not should_stop():
                value = min(value, conflict_bound(integers, a, b, should_stop))
            todo.append((Part(a, b, value), depth + 1))
    return done
