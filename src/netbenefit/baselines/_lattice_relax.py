"""Compiled relaxation of RISKSLIM over a box: a convex minimum, and a bound that always holds.

Names are those of :mod:`netbenefit.baselines._lattice_kernels`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netbenefit._validation import FloatArray, IntArray
from netbenefit.kernels._jit import inner, jit

__all__ = ["relax"]

#: Newton steps, and halvings of a step, before a box is left with the bound that it has.
_STEPS, _HALVINGS = 60, 30


@inner
def _state(z: Any, a: Any, b: Any, w: Any, gradient: Any, weight: Any, t: Any) -> float:
    """Loss at w; fills the gradient, and the patterns' second derivatives."""
    n, p = z.shape
    gradient[:] = 0.0
    total = 0.0
    for u in range(n):
        x = 0.0
        for k in range(p):
            x += z[u, k] * w[k]
        t[u] = x
        small = math.exp(-abs(x))
        total += (a[u] + b[u]) * math.log1p(small) + (b[u] * x if x > 0.0 else -a[u] * x)
        large = 1.0 / (1.0 + small)
        small = small * large
        # a·(1 − risk) and b·risk, each without cancellation
        miss = (b[u] * large - a[u] * small) if x > 0.0 else (b[u] * small - a[u] * large)
        weight[u] = (a[u] + b[u]) * large * small
        for k in range(p):
            gradient[k] += miss * z[u, k]
    return total


@inner
def _cheapest(g: float, at: float, low: int, high: int, price: float) -> Any:
    """Least of g·(v − at) + price·[v ≠ 0] over whole v in low … high, and its value at v = 0."""
    zero = math.inf
    if low <= 0 and high >= 0:
        zero = -g * at
    ends = min(g * (low - at) + (price if low != 0 else 0.0),
               g * (high - at) + (price if high != 0 else 0.0))
    return min(ends, zero), zero


@inner
def _plane_bound(
    loss: float, g: Any, w: Any, low: Any, high: Any, price: Any, most: int, savings: Any
) -> float:
    """Least objective that the tangent plane at w allows over the whole numbers of the box.

    The loss lies above its tangent planes, which split into coordinates.  Where at most ``most``
    coefficients may be used, those that save most are.
    """
    total, room, n = loss, most, 0
    for k in range(w.size):
        least, zero = _cheapest(g[k], w[k], low[k], high[k], price[k])
        if k == 0 or zero == math.inf:
            total += least
            room -= k > 0
        else:
            total += zero
            savings[n] = zero - least
            n += 1
    if room < 0:
        return math.inf
    if room < n:
        ordered = np.sort(savings[:n])
        for i in range(n - room, n):
            total -= ordered[i]
    else:
        for i in range(n):
            total -= savings[i]
    return total


@inner
def _cholesky_solve(h: Any, rhs: Any, n: int) -> bool:
    """Solve h x = rhs for the leading n × n block; h becomes its factor, rhs the answer."""
    for i in range(n):
        for j in range(i + 1):
            s = h[i, j]
            for m in range(j):
                s -= h[i, m] * h[j, m]
            if i == j:
                if s <= 0.0:
                    return False
                h[i, i] = math.sqrt(s)
            else:
                h[i, j] = s / h[j, j]
    for i in range(n):
        for m in range(i):
            rhs[i] -= h[i, m] * rhs[m]
        rhs[i] /= h[i, i]
    for i in range(n - 1, -1, -1):
        for m in range(i + 1, n):
            rhs[i] -= h[m, i] * rhs[m]
        rhs[i] /= h[i, i]
    return True


@inner
def _slopes(k: int, low: Any, high: Any, price: Any) -> Any:
    """Slopes of the convex price of coefficient k below and above zero, and its constant part."""
    if low[k] > 0 or high[k] < 0:
        return 0.0, 0.0, price[k]
    down = price[k] / -low[k] if low[k] < 0 else 0.0
    up = price[k] / high[k] if high[k] > 0 else 0.0
    return down, up, 0.0


@inner
def _priced(w: Any, low: Any, high: Any, price: Any) -> float:
    total = 0.0
    for k in range(w.size):
        down, up, constant = _slopes(k, low, high, price)
        total += constant + (up * w[k] if w[k] > 0.0 else -down * w[k])
    return total


@jit
def relax(
    z: FloatArray,
    a: FloatArray,
    b: FloatArray,
    low: IntArray,
    high: IntArray,
    price: FloatArray,
    most: int,
    cutoff: float,
    close: float,
    w: FloatArray,
) -> tuple[float, float, FloatArray, FloatArray]:
    """Bound the objective over the whole numbers of a box; w becomes the relaxation's minimiser.

    1. The relaxed price of a coefficient is the convex hull of 0 at zero and ``price`` at both ends
       of its range.
    2. Projected Newton steps from w: coordinates that press against an end, or stay at the kink at
       zero, are held; the step is solved for the others, cut back to the box and to the side of
       zero it starts on, and halved until the relaxed objective falls.
    3. After each step the tangent plane at w gives a bound (``_plane_bound``), which holds whether
       or not w is the minimiser.  End when it reaches ``cutoff`` or is within ``close`` of the
       relaxed objective.

    Returns the best bound, its loss, gradient and the inverse curvature of each free coordinate.
    """
    n, p = z.shape
    g, pull, weight, t = np.zeros(p), np.zeros(p), np.zeros(n), np.zeros(n)
    h, step, savings = np.zeros((p, p)), np.zeros(p), np.zeros(p)
    free, best_g, best_w = np.zeros(p, dtype=np.int64), np.zeros(p), w.copy()
    trial, trial_g, trial_weight = np.zeros(p), np.zeros(p), np.zeros(n)
    for k in range(p):
        w[k] = min(max(w[k], float(low[k])), float(high[k]))
    loss = _state(z, a, b, w, g, weight, t)
    value = loss + _priced(w, low, high, price)
    best, best_loss = -math.inf, loss
    for _ in range(_STEPS):
        # 3.
        bound = _plane_bound(loss, g, w, low, high, price, most, savings)
        if bound > best:
            best, best_loss = bound, loss
            best_g[:] = g
            best_w[:] = w
        if best >= cutoff or value - best <= close:
            break
        # 2.
        size = 0
        for k in range(p):
            down, up, _c = _slopes(k, low, high, price)
            if w[k] > 0.0:
                pull[k] = g[k] + up
            elif w[k] < 0.0:
                pull[k] = g[k] - down
            elif g[k] + up < 0.0 and high[k] > 0:
                pull[k] = g[k] + up
            elif g[k] - down > 0.0 and low[k] < 0:
                pull[k] = g[k] - down
            else:
                pull[k] = 0.0
            at_end = (w[k] <= low[k] and pull[k] >= 0.0) or (w[k] >= high[k] and pull[k] <= 0.0)
            if not at_end and not (w[k] == 0.0 and pull[k] == 0.0):
                free[size] = k
                size += 1
        if size == 0:
            break
        _curvature(z, weight, free, size, h)
        for i in range(size):
            step[i] = -pull[free[i]]
        newton = _cholesky_solve(h, step, size)
        if not newton:
            for i in range(size):
                step[i] = -pull[free[i]]
        moved = False
        scale = 1.0
        for halving in range(_HALVINGS):
            trial[:] = w
            promise = 0.0
            for i in range(size):
                k = free[i]
                to = min(max(w[k] + scale * step[i], float(low[k])), float(high[k]))
                if low[k] < 0 < high[k] and price[k] > 0.0:
                    side = w[k] if w[k] != 0.0 else -pull[k]
                    to = max(to, 0.0) if side > 0.0 else min(to, 0.0)
                promise += pull[k] * (to - w[k])
                trial[k] = to
            if promise < 0.0:
                trial_loss = _state(z, a, b, trial, trial_g, trial_weight, t)
                trial_value = trial_loss + _priced(trial, low, high, price)
                if trial_value <= value + 1e-4 * promise:
                    moved = True
                    break
            scale *= 0.5
            if halving == 8 and newton:  # the Newton step misleads at a corner: steepest descent
                newton, scale = False, 1.0
                for i in range(size):
                    k = free[i]
                    curve = 1e-12
                    for u in range(n):
                        curve += weight[u] * z[u, k] * z[u, k]
                    step[i] = -pull[k] / curve
        if not moved:
            break
        w[:] = trial
        g[:] = trial_g
        weight[:] = trial_weight
        loss, value = trial_loss, trial_value
    spread = np.zeros(p)
    w[:] = best_w
    if best < cutoff:
        _state(z, a, b, w, g, weight, t)
        _inverse_diagonal(z, weight, w, low, high, free, h, spread)
    return best, best_loss, best_g, spread


@inner
def _curvature(z: Any, weight: Any, free: Any, size: int, h: Any) -> None:
    """Second derivatives of the free coordinates, with a whiff of ridge for equal columns."""
    n = z.shape[0]
    for i in range(size):
        for j in range(i + 1):
            h[i, j] = 0.0
    for u in range(n):
        if weight[u] > 0.0:
            for i in range(size):
                x = weight[u] * z[u, free[i]]
                if x != 0.0:
                    for j in range(i + 1):
                        h[i, j] += x * z[u, free[j]]
    for i in range(size):
        h[i, i] = h[i, i] * (1.0 + 1e-9) + 1e-12


@inner
def _inverse_diagonal(
    z: Any, weight: Any, w: Any, low: Any, high: Any, free: Any, h: Any, spread: Any
) -> None:
    """Diagonal of the inverse curvature of coordinates that lie inside their range."""
    size = 0
    for k in range(w.size):
        if low[k] < w[k] < high[k] and w[k] != 0.0:
            free[size] = k
            size += 1
    _curvature(z, weight, free, size, h)
    unit = np.zeros(size)
    if size == 0 or not _cholesky_solve(h, unit, size):
        return
    column = np.zeros(size)  # of the inverse of the factor; its squares add up to the diagonal
    for i in range(size):
        column[:] = 0.0
        column[i] = 1.0 / h[i, i]
        for j in range(i + 1, size):
            s = 0.0
            for m in range(i, j):
                s -= h[j, m] * column[m]
            column[j] = s / h[j, j]
        total = 0.0
        for j in range(i, size):
            total += column[j] * column[j]
        spread[free[i]] = total
