"""Compiled leaves of the kernels: gains of counts, by histogram or by sorting."""

from __future__ import annotations

from typing import Any

from netbenefit.solvers.kernels.jit import internal, negatives, positives
from netbenefit.solvers.kernels.layout import Array

__all__ = [
    "add",
    "best_gains",
    "copy",
    "cumulate",
    "fill",
    "gain_curve",
    "gain_of",
    "gain_of_keys",
    "highest_sum",
]


# -- whole-array steps: loops compile far faster than array expressions ----------------------------


@internal
def fill(target: Array, value: Any) -> None:
    """Set every cell."""
    for t in range(target.size):
        target[t] = value


@internal
def copy(target: Array, source: Array) -> None:
    """Copy as many cells as the target has."""
    for t in range(target.size):
        target[t] = source[t]


@internal
def add(target: Array, source: Array) -> None:
    """Add cell by cell."""
    for t in range(target.size):
        target[t] += source[t]


# -- gains of counts -------------------------------------------------------------------------------


@internal
def cumulate(masses: Array, tp: Array, fp: Array) -> None:
    """Positives and negatives at or above each score; ``masses`` is overwritten."""
    above = masses[0] - masses[0]
    for t in range(masses.size - 1, -1, -1):
        above += masses[t]
        masses[t] = above
    for t in range(masses.size):
        tp[t] = positives(masses[t])
        fp[t] = negatives(masses[t])


@internal
def best_gains(tp: Array, fp: Array, gains: Array) -> Any:
    """Σ_i max(0, max_t found_i tp_t − alarm_i fp_t)."""
    kind = gains.dtype.type
    total = gains[0, 0] - gains[0, 0]
    for i in range(gains.shape[1]):
        a, b = gains[0, i], gains[1, i]
        best = kind(0)
        for t in range(tp.size):
            gain = kind(kind(a * tp[t]) - kind(b * fp[t]))
            if gain > best:
                best = gain
        total += best
    return total


@internal
def gain_of(masses: Array, gains: Array, curves: Array) -> Any:
    """Gain of masses by score; ``masses`` is overwritten."""
    tp, fp = curves[0, : masses.size], curves[1, : masses.size]
    cumulate(masses, tp, fp)
    return best_gains(tp, fp, gains)


@internal
def _sort_keys(keys: Array, n: int, low: int, high: int) -> int:
    """Radix-sort keys[0] (in [low, high]) with keys[2]; the result is in rows 0, 2 or 1, 3."""
    counts = keys[4]
    side, shift = 0, 0
    while shift == 0 or ((high - low) >> shift) > 0:
        fill(counts, 0)
        for j in range(n):
            counts[(((keys[side, j] - low) >> shift) & 2047) + 1] += 1
        for digit in range(2048):
            counts[digit + 1] += counts[digit]
        for j in range(n):
            digit = ((keys[side, j] - low) >> shift) & 2047
            target = counts[digit]
            counts[digit] += 1
            keys[1 - side, target] = keys[side, j]
            keys[3 - side, target] = keys[2 + side, j]
        side = 1 - side
        shift += 11
    return side


@internal
def gain_of_keys(keys: Array, mass: Array, gains: Array, curves: Array) -> Any:
    """Gain of the scores in keys[0], whatever their range."""
    n = mass.size
    low, high = keys[0, 0], keys[0, 0]
    for j in range(n):
        low, high = min(low, keys[0, j]), max(high, keys[0, j])
        keys[2, j] = j
    side = _sort_keys(keys, n, low, high)
    tp, fp = curves[0], curves[1]
    above = mass[0] - mass[0]
    size = 0
    for back in range(n):
        j = n - 1 - back
        above += mass[keys[2 + side, j]]
        if j == 0 or keys[side, j - 1] != keys[side, j]:
            tp[size] = positives(above)
            fp[size] = negatives(above)
            size += 1
    return best_gains(tp[:size], fp[:size], gains)


# -- gain curves -----------------------------------------------------------------------------------


@internal
def gain_curve(out: Array, a: Any, b: Any, tp: Array, fp: Array, left: int, right: int) -> None:
    """Gain by score: constant for ``left`` cells below the lowest score, 0 above the highest."""
    size = tp.size
    kind = out.dtype.type
    fill(out[:left], a * tp[0] - b * fp[0])
    body = out[left : left + size]
    for t in range(size):
        body[t] = kind(kind(a * tp[t]) - kind(b * fp[t]))
    fill(out[left + size : left + size + right], 0)


@internal
def highest_sum(x: Array, y: Array) -> Any:
    """max(0, max_t x_t + y_t)."""
    kind = x.dtype.type
    best = kind(0)
    for t in range(x.size):
        both = kind(x[t] + y[t])
        if both > best:
            best = both
    return best
