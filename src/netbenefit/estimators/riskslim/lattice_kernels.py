"""Compiled inner loops of RISKSLIM: loss, rounding, descent along coordinates.

All work on a design matrix Z of distinct patterns, whose first column is 1 (the intercept), and on
the shares a_u and b_u of all rows that are events and others of pattern u.  The loss of
coefficients w is

    f(w) = Σ_u a_u ln(1 + exp(−z_u·w)) + b_u ln(1 + exp(z_u·w)) ,

and every coefficient k that is not zero costs ``price[k]`` on top (0 for the intercept).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netbenefit.common.checks import FloatArray, IntArray
from netbenefit.solvers.kernels.jit import inner, jit

__all__ = ["GAIN", "descend", "loss_at", "round_in_turn"]

#: A move has to gain more than this: less is rounding.
GAIN = 1e-13


@jit
def loss_at(t: FloatArray, a: FloatArray, b: FloatArray) -> float:
    """Loss of patterns with log odds t.

    Examples
    --------
    >>> half = np.array([0.5])
    >>> round(loss_at(np.array([0.0]), half, half), 4)
    0.6931
    """
    total = 0.0
    for u in range(t.size):
        x = t[u]
        total += (a[u] + b[u]) * math.log1p(math.exp(-abs(x)))
        total += b[u] * x if x > 0.0 else -a[u] * x
    return total


@inner
def _shifted_loss(t: Any, z: Any, k: int, step: float, a: Any, b: Any) -> Any:
    """Loss after adding ``step`` to coefficient k, and its slope there."""
    total, slope = 0.0, 0.0
    for u in range(t.size):
        x = t[u] + step * z[u, k]
        small = math.exp(-abs(x))
        total += (a[u] + b[u]) * math.log1p(small)
        risk = 1.0 / (1.0 + small)
        if x > 0.0:
            total += b[u] * x
        else:
            total -= a[u] * x
            risk = small * risk
        slope += ((a[u] + b[u]) * risk - a[u]) * z[u, k]
    return total, slope


@inner
def _best_value(t: Any, z: Any, a: Any, b: Any, k: int, at: int, low: int, high: int) -> Any:
    """Whole number in low … high with the least loss, and that loss: halving by the slope."""
    left, right = low, high
    while left < right:  # the least loss lies in left … right, as the loss is convex
        middle = (left + right) // 2
        _, slope = _shifted_loss(t, z, k, float(middle - at), a, b)
        if slope > 0.0:
            right = middle
        else:
            left = middle + 1
    # left is the first number with a rising loss: the best is that one or the one before
    best, _ = _shifted_loss(t, z, k, float(left - at), a, b)
    if left > low:
        before, _ = _shifted_loss(t, z, k, float(left - 1 - at), a, b)
        if before <= best:
            return left - 1, before
    return left, best


@jit
def descend(
    z: FloatArray,
    a: FloatArray,
    b: FloatArray,
    low: IntArray,
    high: IntArray,
    price: FloatArray,
    most: int,
    w: IntArray,
) -> float:
    """Move one coefficient at a time to its best value, until no single move helps; change w.

    1. Coordinates in turn; the loss is convex along each, so halving finds its best whole number.
    2. Zero is tried besides, as it saves the price; a coefficient other than the intercept only
       leaves zero while fewer than ``most`` are in use.
    3. End after a full turn without gain.

    Returns the objective: loss plus prices.
    """
    n, p = z.shape
    t = np.zeros(n)
    used, cost = 0, 0.0
    for k in range(p):
        if w[k] != 0:
            cost += price[k]
            used += k > 0
        for u in range(n):
            t[u] += w[k] * z[u, k]
    loss = loss_at(t, a, b)
    still = 0
    k = 0
    while still < p:
        now = w[k]
        to, value = now, loss
        if low[k] < high[k]:
            closed = k > 0 and now == 0 and used >= most
            if not closed:
                to, value = _best_value(t, z, a, b, k, now, low[k], high[k])
            if to != 0:
                value += price[k]
            if now != 0 and to != 0 and low[k] <= 0 and high[k] >= 0:
                zero, _ = _shifted_loss(t, z, k, float(-now), a, b)
                if zero <= value:
                    to, value = 0, zero
        gain = loss + (price[k] if now != 0 else 0.0) - value
        if to != now and gain > GAIN:
            for u in range(n):
                t[u] += (to - now) * z[u, k]
            used += (k > 0) * (int(to != 0) - int(now != 0))
            cost += price[k] * (int(to != 0) - int(now != 0))
            loss = value - (price[k] if to != 0 else 0.0)
            w[k] = to
            still = 0
        else:
            still += 1
        k = (k + 1) % p
    return loss_at(t, a, b) + cost


@jit
def round_in_turn(
    z: FloatArray, a: FloatArray, b: FloatArray, low: IntArray, high: IntArray, start: FloatArray
) -> IntArray:
    """Round coefficients one after the other, always the one whose rounding costs least.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> box = np.array([-5]), np.array([5])
    >>> round_in_turn(one, np.array([0.7]), np.array([0.3]), *box, np.array([0.6]))
    array([1])
    """
    n, p = z.shape
    w = np.minimum(np.maximum(start, low.astype(np.float64)), high.astype(np.float64))
    t = np.zeros(n)
    for k in range(p):
        for u in range(n):
            t[u] += w[k] * z[u, k]
    open_ = np.ones(p, dtype=np.bool_)
    for k in range(p):
        open_[k] = w[k] != math.floor(w[k])
    for _ in range(p):
        best, which, to = math.inf, -1, 0.0
        for k in range(p):
            if open_[k]:
                for side in range(2):
                    value = math.floor(w[k]) + side
                    loss, _ = _shifted_loss(t, z, k, value - w[k], a, b)
                    if loss < best:
                        best, which, to = loss, k, value
        if which < 0:
            break
        for u in range(n):
            t[u] += (to - w[which]) * z[u, which]
        w[which], open_[which] = to, False
    return np.round(w).astype(np.int64)
