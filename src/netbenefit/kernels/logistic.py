"""The logistic link of a card, and S, the net benefit that it earns over all thresholds.

A link says that the risk is logistic in the score: q(s) = 1 / (1 + exp(−(α + β s))) with β ≥ 0.
Acting on q at every threshold p between 0 and 1, and averaging net benefit over p, earns a row with
outcome y

    ∫₀^q (y − (1 − y) p / (1 − p)) dp = q + (1 − y) ln(1 − q) ,

whose mean over the rows is S.  It is a proper score: the true risks earn most.  Like everything
else here, it sees the data only through the events and others at each score.

α and β are those of the highest likelihood, less a very weak belief in small slopes (RIDGE · β²/2,
with β per standard deviation of the score), which keeps them finite where a score separates the
classes.  A score that falls as the risk rises gets β = 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._validation import FloatArray, IntArray

__all__ = [
    "CLOSE",
    "MOST_STEPS",
    "RIDGE",
    "ROUNDING",
    "Link",
    "fit_link",
    "saturated_smooth",
    "shrink_link",
]

#: Weight of the belief in small slopes, in rows.
RIDGE = 0.1
#: Newton's method ends with a step below this: what is left is its square.
CLOSE = 1e-7
MOST_STEPS = 200
#: A likelihood that falls by less than this, a row, falls by rounding: no reason to halve a step.
ROUNDING = 1e-12


class Link(NamedTuple):
    """Risk as a logistic function of the score, on the rows that it was fitted to.

    Examples
    --------
    >>> link = fit_link(np.array([0, 1]), np.array([1, 3]), np.array([3, 1]))
    >>> link.risk(np.array([0, 1])).round(3)
    array([0.263, 0.737])
    """

    centre: float  #: mean score
    intercept: float  #: α, at the mean score
    slope: float  #: β, a point
    value: float  #: S

    def risk(self, scores: IntArray | float) -> Any:
        """Risk at some scores."""
        return _expit(self.intercept + self.slope * (np.asarray(scores) - self.centre))


def fit_link(scores: IntArray, positives: NDArray[Any], negatives: NDArray[Any]) -> Link:
    """Fit the link of scores with masses of events and others, both of them present.

    1. Add up masses by score; measure scores in standard deviations from their mean.
    2. Without a rising trend the best slope is 0.
    3. Newton's method from there, its steps halved while they lead down.

    Examples
    --------
    >>> link = fit_link(np.array([0, 1, 2]), np.array([0, 2, 4]), np.array([4, 2, 0]))
    >>> round(link.value, 4), round(link.slope, 2)
    (0.3746, 3.5)
    >>> fit_link(np.array([0, 1]), np.array([3, 1]), np.array([1, 3])).slope
    0.0
    """
    # 1.
    at, place = np.unique(scores, return_inverse=True)
    a = np.bincount(place.ravel(), weights=positives).astype(np.float64)
    n = a + np.bincount(place.ravel(), weights=negatives)
    total, events = float(n.sum()), float(a.sum())
    offset = (at - at[0]).astype(np.float64)
    mean = float(offset @ n) / total
    spread = math.sqrt(float((offset - mean) ** 2 @ n) / total)
    centre, level = float(at[0]) + mean, math.log(events / (total - events))
    # 2.
    x = (offset - mean) / spread if spread > 0 else offset * 0.0
    if float((a - n * (events / total)) @ x) <= 0.0:
        return Link(centre, level, 0.0, _smooth(np.full_like(n, level), a, n))
    # 3.
    theta = np.array([level, 0.0])
    for _ in range(MOST_STEPS):
        step = _newton_step(theta, x, a, n)
        before = _likelihood(theta, x, a, n)
        lowest = before - ROUNDING * total
        while np.abs(step).max() > CLOSE and _likelihood(theta + step, x, a, n) < lowest:
            step /= 2
        theta = theta + step
        if np.abs(step).max() <= CLOSE:
            break
    eta = theta[0] + theta[1] * x
    return Link(centre, float(theta[0]), float(theta[1]) / spread, _smooth(eta, a, n))


def shrink_link(
    link: Link, scores: IntArray, positives: NDArray[Any], negatives: NDArray[Any], spent: float
) -> Link:
    """Shrink the slope by the heuristic factor of van Houwelingen and Le Cessie.

    With χ² twice the gain in log-likelihood over a constant risk, and ``spent`` degrees of freedom,
    the slope is multiplied by max(0, 1 − spent / χ²): what is left of it, on average, on new rows.
    The intercept follows, so that the mean risk stays the share of events.

    Examples
    --------
    >>> scores, events, others = np.array([0, 1]), np.array([10, 30]), np.array([30, 10])
    >>> link = fit_link(scores, events, others)
    >>> shrunk = shrink_link(link, scores, events, others, spent=2)
    >>> link.risk(scores).round(3), shrunk.risk(scores).round(3)
    (array([0.251, 0.749]), array([0.271, 0.729]))
    """
    a = positives.astype(np.float64)
    n = a + negatives
    x = np.asarray(scores, dtype=np.float64) - link.centre
    eta: FloatArray = link.intercept + link.slope * x
    level = math.log(float(a.sum()) / float((n - a).sum()))
    gain = float(a @ (eta - level) + n @ (_log_others(eta) - _log_others(np.full(1, level))))
    kept = max(0.0, 1.0 - spent / (2.0 * gain)) if gain > 0 else 0.0
    slope, intercept = kept * link.slope, link.intercept
    for _ in range(MOST_STEPS):  # the mean risk rises with the intercept: Newton, held back
        eta = intercept + slope * x
        q, rest = _expit(eta), _expit(-eta)
        weight = float(n @ (q * rest))
        step = float(a @ rest - (n - a) @ q) / weight if weight > 0 else 0.0
        intercept += min(max(step, -1.0), 1.0)
        if abs(step) <= CLOSE:
            break
    return link._replace(intercept=intercept, slope=slope)


def saturated_smooth(positives: NDArray[Any], negatives: NDArray[Any]) -> float:
    """S of the observed rates of all patterns: no link, indeed no model, earns more on these rows.

    Examples
    --------
    >>> round(saturated_smooth(np.array([1, 0]), np.array([1, 2])), 4)
    0.0767
    """
    a, b = positives.astype(np.float64), negatives.astype(np.float64)
    others = np.where(b > 0, b, 1.0)  # a pattern without others has no term for them
    terms = a + b * np.log(others / (a + others))
    return math.fsum(terms.tolist()) / math.fsum([*a.tolist(), *b.tolist()])


def _expit(eta: Any) -> Any:
    """1 / (1 + exp(−eta)), without overflow."""
    small = np.exp(-np.abs(eta))
    return np.where(eta >= 0, 1.0, small) / (1.0 + small)


def _log_others(eta: FloatArray) -> FloatArray:
    """ln(1 − q)."""
    result: FloatArray = -(np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta))))
    return result


def _smooth(eta: FloatArray, a: FloatArray, n: FloatArray) -> float:
    return float(n @ _expit(eta) + (n - a) @ _log_others(eta)) / float(n.sum())


def _likelihood(theta: FloatArray, x: FloatArray, a: FloatArray, n: FloatArray) -> float:
    eta = theta[0] + theta[1] * x
    return float(a @ eta + n @ _log_others(eta)) - 0.5 * RIDGE * float(theta[1]) ** 2


def _newton_step(theta: FloatArray, x: FloatArray, a: FloatArray, n: FloatArray) -> FloatArray:
    eta = theta[0] + theta[1] * x
    q, rest = _expit(eta), _expit(-eta)  # 1 − q would lose digits where a score separates
    miss, weight = a * rest - (n - a) * q, n * q * rest
    gradient = np.array([miss.sum(), miss @ x - RIDGE * theta[1]])
    cross = float(weight @ x)
    hessian = np.array([[weight.sum(), cross], [cross, weight @ (x * x) + RIDGE]])
    step: FloatArray = np.linalg.solve(hessian, gradient)
    return step
