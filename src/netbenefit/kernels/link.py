"""The link of a state: its parts in arrays, and its fit to the present points, compiled."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from netbenefit.kernels._jit import inner, negatives, positives
from netbenefit.kernels.layout import HIGH, IN_USE, LOW, ORIGIN, WHOLE, Array, Columns, State
from netbenefit.kernels.logistic import CLOSE, MOST_STEPS, RIDGE, ROUNDING

__all__ = ["Smooth", "collect", "make_smooth", "put", "risk_at", "settle_link", "take"]

# What Smooth.link holds …
CENTRE, INTERCEPT, SLOPE, SPREAD = 0, 1, 2, 3
# … and Smooth.span: the score of the table's first cell, and the cells that are filled.
BASE, FILLED, END = 0, 1, 2
#: A Newton step longer than this has to show that it leads up.
_LONG = 0.3


class Smooth(NamedTuple):
    """The link of a state, with work space; one per thread."""

    weight: Array  #: (1,) worth, in the search's units, of one row's S
    link: Array  #: (4,) CENTRE, INTERCEPT (there), SLOPE (a point), SPREAD of the scores
    at: Array  #: (cells,) work space: scores …
    mass: Array  #: (2, cells) … with all rows and events there
    table: Array  #: (2, bins) q and ln(1 − q) by score
    span: Array  #: (3,) BASE, FILLED, END of the table
    listed: Array  #: what ``add_smooth`` has added at each value


def make_smooth(columns: Columns, bins: int, weight: float, widest: int) -> Smooth:
    """Allocate; ``settle`` fills it for a state."""
    cells = max(bins, columns.mass.size)
    return Smooth(
        weight=np.array([weight]),
        link=np.zeros(4),
        at=np.zeros(cells, dtype=np.int64),
        mass=np.zeros((2, cells)),
        table=np.zeros((2, bins)),
        span=np.zeros(3, dtype=np.int64),
        listed=np.zeros(widest),
    )


@inner
def put(smooth: Smooth, cell: int, score: Any, mass: Any) -> None:
    """Fill a cell of the work space."""
    smooth.at[cell] = score
    found = float(positives(mass))
    smooth.mass[0, cell] = found + float(negatives(mass))
    smooth.mass[1, cell] = found


@inner
def take(smooth: Smooth, hist: Array, low: Any, count: int) -> Any:
    """Move the masses of a histogram, which is left empty, into cells; return how many."""
    for t in range(hist.size):
        if hist[t] != 0:
            put(smooth, count, t + low, hist[t])
            hist[t] = 0
            count += 1
    return count


@inner
def collect(columns: Columns, state: State, smooth: Smooth) -> Any:
    """Scores and their masses, one cell each; return how many."""
    window, count = state.window, 0
    if window[IN_USE] == 1:
        for t in range(window[LOW] - window[ORIGIN], window[HIGH] - window[ORIGIN] + 1):
            if state.hist[t] != 0:
                put(smooth, count, t + window[ORIGIN], state.hist[t])
                count += 1
        return count
    for u in range(columns.mass.size):
        put(smooth, u, np.int64(state.score[WHOLE, u]), columns.mass[u])
    return columns.mass.size


@inner
def risk_at(eta: float) -> Any:
    """The risk q, and ln(1 − q)."""
    small = math.exp(-abs(eta))
    if eta >= 0.0:
        return 1.0 / (1.0 + small), -eta - math.log1p(small)
    return small / (1.0 + small), -math.log1p(small)


@inner
def _moments(smooth: Smooth, count: int) -> Any:
    """Centre and spread of the scores, all rows, events, and their common trend."""
    at, n, a = smooth.at[:count], smooth.mass[0, :count], smooth.mass[1, :count]
    first = at[0]
    total, events, mean = 0.0, 0.0, 0.0
    for c in range(count):
        total += n[c]
        events += a[c]
        mean += n[c] * (at[c] - first)
    mean /= total
    square, trend = 0.0, 0.0
    for c in range(count):
        x = (at[c] - first) - mean
        square += n[c] * x * x
        trend += (a[c] - n[c] * (events / total)) * x
    return first + mean, math.sqrt(square / total), total, events, trend


@inner
def _likelihood(smooth: Smooth, count: int, centre: float, scale: float, theta: Any) -> Any:
    total = -0.5 * RIDGE * theta[1] * theta[1]
    for c in range(count):
        eta = theta[0] + theta[1] * ((smooth.at[c] - centre) * scale)
        total += smooth.mass[1, c] * eta + smooth.mass[0, c] * risk_at(eta)[1]
    return total


@inner
def _newton_step(smooth: Smooth, count: int, centre: float, scale: float, theta: Any) -> Any:
    g0, g1 = 0.0, -RIDGE * theta[1]
    h00, h01, h11 = 0.0, 0.0, RIDGE
    for c in range(count):
        x = (smooth.at[c] - centre) * scale
        eta = theta[0] + theta[1] * x
        small = math.exp(-abs(eta))
        q = (1.0 if eta >= 0.0 else small) / (1.0 + small)
        rest = (small if eta >= 0.0 else 1.0) / (1.0 + small)  # 1 − q, to the last digit
        a, b = smooth.mass[1, c], smooth.mass[0, c] - smooth.mass[1, c]
        miss = a * rest - b * q
        weight = smooth.mass[0, c] * q * rest
        g0 += miss
        g1 += miss * x
        h00 += weight
        h01 += weight * x
        h11 += weight * x * x
    det = h00 * h11 - h01 * h01
    if det <= 0.0:  # all risks are 0 or 1 to the last digit: start again from the middle
        return -theta[0], -theta[1]
    return (h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det


@inner
def _fit(smooth: Smooth, count: int) -> Any:
    """Fit the link to the cells, from where it was; return S times all rows."""
    link = smooth.link
    centre, spread, total, events, trend = _moments(smooth, count)
    level = math.log(events / (total - events))
    alpha, beta = level, 0.0
    if trend > 0.0 and spread > 0.0:
        scale = 1.0 / spread
        if link[SLOPE] > 0.0:
            alpha = link[INTERCEPT] + link[SLOPE] * (centre - link[CENTRE])
            beta = link[SLOPE] * spread
            start = _likelihood(smooth, count, centre, scale, (alpha, beta))
            if not start >= _likelihood(smooth, count, centre, scale, (level, 0.0)):
                alpha, beta = level, 0.0
        for _ in range(MOST_STEPS):
            d0, d1 = _newton_step(smooth, count, centre, scale, (alpha, beta))
            if abs(d0) > _LONG or abs(d1) > _LONG:
                before = _likelihood(smooth, count, centre, scale, (alpha, beta))
                before -= ROUNDING * total
                while (
                    max(abs(d0), abs(d1)) > CLOSE
                    and _likelihood(smooth, count, centre, scale, (alpha + d0, beta + d1)) < before
                ):
                    d0, d1 = d0 / 2, d1 / 2
            alpha, beta = alpha + d0, beta + d1
            if max(abs(d0), abs(d1)) <= CLOSE:
                break
        beta *= scale
    link[CENTRE], link[INTERCEPT], link[SLOPE], link[SPREAD] = centre, alpha, beta, spread
    smooth.span[FILLED] = smooth.span[END] = 0
    value = 0.0
    for c in range(count):
        q, rest = risk_at(alpha + beta * (smooth.at[c] - centre))
        value += smooth.mass[0, c] * q + (smooth.mass[0, c] - smooth.mass[1, c]) * rest
    return value


@inner
def settle_link(columns: Columns, state: State, smooth: Smooth) -> Any:
    """Fit the link to the state's points; return what S is worth there."""
    return smooth.weight[0] * _fit(smooth, collect(columns, state, smooth))
