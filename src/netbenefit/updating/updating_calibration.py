"""Calibration in the large and calibration slope, by logistic recalibration.

With L the log-odds of the predicted risks, two logistic models are fitted to the outcomes:

1. log-odds = a + L, whose a is calibration in the large: 0 where risks are right on average, above
   0 where events are more common than predicted.
2. log-odds = a + b · L, whose b is the calibration slope: below 1 where risks are too extreme.

(Cox 1958, Biometrika; Van Calster et al. 2019, BMC Medicine.)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common.checks import FloatArray, check_binary, check_risks, check_weights
from netbenefit.updating.observed import effective_rows

__all__ = ["Recalibration", "recalibration"]

_MOST_STEPS = 200
_CLOSE = 1e-10


class Recalibration(NamedTuple):
    """How far risks are from the observed outcomes, on average and in spread.

    Standard errors are those of maximum likelihood; weights count as (Σv)² / Σv² rows.
    """

    observed: float  #: mass of events
    expected: float  #: sum of risks
    intercept: float | None  #: calibration in the large
    intercept_se: float | None
    slope: float | None
    slope_se: float | None
    note: str = ""  #: why there is no intercept, or no slope

    @property
    def ratio(self) -> float:
        """Observed over expected events; infinite where none were expected.

        >>> Recalibration(30.0, 20.0, None, None, None, None).ratio
        1.5
        """
        if self.expected == 0:
            return math.inf if self.observed > 0 else math.nan
        return self.observed / self.expected


def recalibration(
    y_true: ArrayLike,
    risk: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    worth: float | None = None,
) -> Recalibration:
    """Compare risks with outcomes by logistic recalibration.

    Parameters
    ----------
    y_true, risk, sample_weight
        As in :func:`netbenefit.net_benefit`.
    worth : float, optional
        How many rows of equal weight all of these are worth, where a row stands for many; by
        default (Σv)² / Σv².

    Returns
    -------
    Recalibration
        Intercept and slope are None where they do not exist: a risk of exactly 0 or 1 has no
        log-odds; one class only has no intercept; risks that are all equal, or that separate the
        classes, have no slope.

    Examples
    --------
    >>> y = [0] * 9 + [1] + [0] * 5 + [1] * 5
    >>> found = recalibration(y, [0.1] * 10 + [0.5] * 10)
    >>> abs(found.intercept) < 1e-9, round(found.slope, 6)
    (True, 1.0)
    >>> recalibration([0, 1], [0.0, 0.5]).note
    'some risks are exactly 0 or 1'
    """
    event = check_binary(y_true)
    risks = check_risks(risk, event.size)
    weight = check_weights(sample_weight, event.size)
    observed, expected = float(weight[event].sum()), float(weight @ risks)
    used = weight > 0
    event, risks, weight = event[used], risks[used], weight[used]

    def told(note: str) -> Recalibration:
        return Recalibration(observed, expected, None, None, None, None, note)

    if event.all() or not event.any():
        return told("all rows have the same outcome")
    if risks.min() <= 0.0 or risks.max() >= 1.0:
        return told("some risks are exactly 0 or 1")
    distinct, place = np.unique(risks, return_inverse=True)
    scale = (effective_rows(weight) if worth is None else worth) / float(weight.sum())
    a: FloatArray = np.bincount(place, weights=weight * event).astype(np.float64) * scale
    b: FloatArray = np.bincount(place, weights=weight * ~event).astype(np.float64) * scale
    logit = np.log(distinct) - np.log1p(-distinct)
    one = np.ones((distinct.size, 1))
    (intercept,), (intercept_se,) = _fit(one, logit, a, b)
    if not _overlap(logit, a > 0, b > 0):
        alike = distinct.size == 1
        why = "all risks are equal" if alike else "the risks separate the classes"
        return Recalibration(observed, expected, intercept, intercept_se, None, None, why)
    (_, slope), (_, slope_se) = _fit(np.column_stack([one, logit]), np.zeros_like(logit), a, b)
    return Recalibration(observed, expected, intercept, intercept_se, slope, slope_se)


def _overlap(x: FloatArray, events: NDArray[np.bool_], others: NDArray[np.bool_]) -> bool:
    """Whether a slope has a finite best value: neither class lies all on one side of the other."""
    with_event, without = x[events], x[others]
    return bool(with_event.min() < without.max() and without.min() < with_event.max())


def _fit(
    design: FloatArray, offset: FloatArray, a: FloatArray, b: FloatArray
) -> tuple[list[float], list[float]]:
    """Coefficients and standard errors of a logistic model of grouped rows, by damped Newton."""
    from scipy.special import expit, log_expit

    def likelihood(theta: FloatArray) -> float:
        eta = design @ theta + offset
        return float(a @ log_expit(eta) + b @ log_expit(-eta))

    theta = np.zeros(design.shape[1])
    value = likelihood(theta)
    for _ in range(_MOST_STEPS):
        eta = design @ theta + offset
        weight = (a + b) * expit(eta) * expit(-eta)
        gradient = design.T @ (a * expit(-eta) - b * expit(eta))
        step = np.linalg.solve(design.T @ (weight[:, None] * design), gradient)
        step *= min(1.0, 5.0 / float(np.abs(step).max(initial=1e-300)))
        while likelihood(theta + step) < value - 1e-12 * abs(value) and np.abs(step).max() > _CLOSE:
            step /= 2
        theta = theta + step
        value = likelihood(theta)
        if np.abs(step).max() <= _CLOSE:
            break
    eta = design @ theta + offset
    weight = (a + b) * expit(eta) * expit(-eta)
    covariance = np.linalg.inv(design.T @ (weight[:, None] * design))
    return theta.tolist(), np.sqrt(np.diag(covariance)).tolist()
