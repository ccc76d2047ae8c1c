"""Compiled relaxation of RISKSLIM over a box: a convex minimum, and a bound that always holds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netbenefit.common import FloatArray, IntArray
from netbenefit.solvers import internal, jit

# -- compiled inner loops of RISKSLIM: loss, rounding, descent along coordinates -------------------
# All work on a design matrix Z of distinct patterns, whose first column is 1 (the intercept), and
# on the shares a_u and b_u of all rows that are events and others of pattern u.  The loss of
# coefficients w is f(w) = Σ_u a_u ln(1 + exp(−z_u·w)) + b_u ln(1 + exp(z_u·w)) , and every
# coefficient k that is not zero costs ``price[k]`` on top (0 for the intercept).


#: A move has to gain more than this: less is rounding.
GAIN = 1e-13


@jit
def loss_at(t: FloatArray, a: FloatArray, b: FloatArray) -> float:
    """Loss of patterns with log odds t."""
    total = 0.0
    for u in range(t.size):
        x = t[u]
        total += (a[u] + b[u]) * math.log1p(math.exp(-abs(x)))
        total += b[u] * x if x > 0.0 else -a[u] * x
    return total


@internal
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


@internal
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
    """Round coefficients one after the other, always the one whose rounding costs least."""
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


#: Newton steps, and halvings of a step, before a box is left with the bound that it has.
_STEPS, _HALVINGS = 60, 30
#: Sweeps over the coordinates of a quadratic model.
_SWEEPS = 40
#: A bound may stay open by this share of what separates its box from the cut-off.
_SHARE = 0.01


@internal
def _state(z: Any, a: Any, b: Any, w: Any, gradient: Any, weight: Any) -> float:
    """Loss at w; fills the gradient, and the patterns' second derivatives."""
    n, p = z.shape
    gradient[:] = 0.0
    total = 0.0
    for u in range(n):
        x = 0.0
        for k in range(p):
            x += z[u, k] * w[k]
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


@internal
def _cheapest(g: float, at: float, low: int, high: int, price: float) -> Any:
    """Least of g·(v − at) + price·[v ≠ 0] over whole v in low … high, and its value at v = 0."""
    zero = math.inf
    if low <= 0 and high >= 0:
        zero = -g * at
    ends = min(
        g * (low - at) + (price if low != 0 else 0.0),
        g * (high - at) + (price if high != 0 else 0.0),
    )
    return min(ends, zero), zero


@internal
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


@internal
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


@internal
def _slopes(k: int, low: Any, high: Any, price: Any) -> Any:
    """Slopes of the convex price of coefficient k below and above zero, and its constant part."""
    if low[k] > 0 or high[k] < 0:
        return 0.0, 0.0, price[k]
    down = price[k] / -low[k] if low[k] < 0 else 0.0
    up = price[k] / high[k] if high[k] > 0 else 0.0
    return down, up, 0.0


@internal
def _priced(w: Any, low: Any, high: Any, price: Any) -> float:
    total = 0.0
    for k in range(w.size):
        down, up, constant = _slopes(k, low, high, price)
        total += constant + (up * w[k] if w[k] > 0.0 else -down * w[k])
    return total


@internal
def _sweep(h: Any, r: Any, at: Any, low: Any, high: Any, price: Any, free: Any, size: int) -> float:
    """Minimise the quadratic model along each free coordinate in turn; the largest gain of one.

    ``at`` and ``r``, the model's gradient there, follow.
    """
    largest = 0.0
    for i in range(size):
        k = free[i]
        down, up, _ = _slopes(k, low, high, price)
        curve = h[i, i]
        to = at[k] - (r[i] + up) / curve
        if to < 0.0:
            to = min(at[k] - (r[i] - down) / curve, 0.0)
        to = min(max(to, float(low[k])), float(high[k]))
        move = to - at[k]
        if move != 0.0:
            for j in range(size):
                r[j] += move * h[i, j]
            at[k] = to
            largest = max(largest, curve * move * move)
    return largest


@internal
def _finish(
    h: Any,
    r: Any,
    at: Any,
    low: Any,
    high: Any,
    price: Any,
    free: Any,
    size: int,
    work: Any,
    inside: Any,
    rhs: Any,
) -> bool:
    """Solve the model for coordinates off their ends and off zero; go there, or until one hits.

    Returns whether the whole way was free.
    """
    n = 0
    for i in range(size):
        k = free[i]
        if low[k] < at[k] < high[k] and (at[k] != 0.0 or price[k] == 0.0):
            inside[n] = i
            n += 1
    for i in range(n):
        k = free[inside[i]]
        down, up, _ = _slopes(k, low, high, price)
        rhs[i] = -(r[inside[i]] + (up if at[k] > 0.0 else -down))
        for j in range(i + 1):
            work[i, j] = h[inside[i], inside[j]]
    if n == 0 or not _cholesky_solve(work, rhs, n):
        return True
    share, hit, stop = 1.0, -1, 0.0
    for i in range(n):
        k = free[inside[i]]
        end = float(high[k]) if rhs[i] > 0.0 else float(low[k])
        if price[k] > 0.0 and at[k] * rhs[i] < 0.0 and low[k] <= 0 <= high[k]:
            end = 0.0
        if abs(rhs[i]) * share > abs(end - at[k]):
            share, hit, stop = abs(end - at[k]) / abs(rhs[i]), i, end
    for i in range(n):
        k = free[inside[i]]
        move = (stop - at[k]) if i == hit else share * rhs[i]
        at[k] += move
        for j in range(size):
            r[j] += move * h[inside[i], j]
    return hit < 0


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
    2. Newton's method from w: the quadratic model of the loss, plus the relaxed price, is minimised
       over the box by sweeps over the coordinates, then solved for those inside; the step is halved
       until the relaxed objective falls.
    3. Before each step the tangent plane at w gives a bound (``_plane_bound``), which holds whether
       or not w is the minimiser.  End when it reaches ``cutoff`` or is within ``close`` of the
       relaxed objective, or when that lies so far below ``cutoff`` that the rest cannot matter.

    Returns the best bound, its loss, gradient and the inverse curvature of each free coordinate.
    """
    n, p = z.shape
    g, weight, savings = np.zeros(p), np.zeros(n), np.zeros(p)
    h, work, r, rhs = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p), np.zeros(p)
    free, inside = np.zeros(p, dtype=np.int64), np.zeros(p, dtype=np.int64)
    best_g, best_w, at, trial = np.zeros(p), w.copy(), np.zeros(p), np.zeros(p)
    size = 0
    for k in range(p):
        w[k] = min(max(w[k], float(low[k])), float(high[k]))
        if low[k] < high[k]:
            free[size] = k
            size += 1
    loss = _state(z, a, b, w, g, weight)
    priced = _priced(w, low, high, price)
    best, best_loss = -math.inf, loss
    for _ in range(_STEPS):
        # 3.
        bound = _plane_bound(loss, g, w, low, high, price, most, savings)
        if bound > best:
            best, best_loss = bound, loss
            best_g[:] = g
            best_w[:] = w
        open_ = loss + priced - best
        if size == 0 or best >= cutoff or open_ <= close:
            break
        if cutoff < math.inf and open_ <= _SHARE * (cutoff - loss - priced):
            break
        # 2.
        _curvature(z, weight, free, size, h)
        at[:] = w
        for i in range(size):
            r[i] = g[free[i]]
        for _sweeps in range(_SWEEPS):
            gain = _sweep(h, r, at, low, high, price, free, size)
            clear = _finish(h, r, at, low, high, price, free, size, work, inside, rhs)
            if gain <= 0.01 * close and clear:
                break
        promise = _priced(at, low, high, price) - priced
        for k in range(p):
            promise += g[k] * (at[k] - w[k])
        moved = False
        scale = 1.0
        for _halving in range(_HALVINGS):
            for k in range(p):
                trial[k] = w[k] + scale * (at[k] - w[k])
            new_loss = _state(z, a, b, trial, g, weight)
            new_priced = _priced(trial, low, high, price)
            if new_loss + new_priced <= loss + priced + 1e-4 * scale * promise:
                moved = promise < 0.0
                break
            scale *= 0.5
        if not moved:
            break
        w[:] = trial
        loss, priced = new_loss, new_priced
    spread = np.zeros(p)
    w[:] = best_w
    if best < cutoff:
        _state(z, a, b, w, g, weight)
        _inverse_diagonal(z, weight, w, low, high, free, h, spread)
    return best, best_loss, best_g, spread


@internal
def _curvature(z: Any, weight: Any, free: Any, size: int, h: Any) -> None:
    """Second derivatives of the free coordinates, with a tiny ridge for equal columns."""
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
        h[i, i] = h[i, i] * (1.0 + 1e-6) + 1e-12
        for j in range(i):
            h[j, i] = h[i, j]


@internal
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
