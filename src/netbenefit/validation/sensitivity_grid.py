"""A grid of thresholds from the data: where the risks of the rows lie."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards.columns import numeric_column
from netbenefit.common.checks import FloatArray, InputError, check_weights
from netbenefit.data.labels import encode_labels
from netbenefit.data.raw_table import RawTable
from netbenefit.metrics.thresholds import Thresholds, Weights
from netbenefit.validation.size_checks import choose_folds

__all__ = ["suggest_thresholds"]


def suggest_thresholds(
    X: Any,
    y: ArrayLike,
    *,
    low: float = 0.0,
    high: float = 1.0,
    size: int = 10,
    weights: Weights = "equal",
    model: Any = None,
    cv: Any = 5,
    sample_weight: ArrayLike | None = None,
    decimals: int = 2,
    random_state: int | None = 0,
) -> Thresholds:
    """Propose thresholds where the risks of these rows lie, inside the range that matters.

    1. A preliminary model predicts each row's risk from folds that do not hold it.
    2. Of the risks inside [low, high), take the middles of ``size`` − 1 equal parts, rounded.
    3. Put ``low`` in front; the area ends at ``high``.

    Decisions change only where risks are, so a grid that is dense there tells the commonest risks
    apart.  With equal weights, these also decide what matters, whether or not anybody would act
    there; with weights by length the area of the whole range does, which a few thresholds far apart
    describe badly where risks are rare.  Do not expect better cards than from a uniform grid: on
    six data sets they were no better, and some were worse (``docs/evaluation.md``).  Compare, by
    :func:`netbenefit.threshold_sensitivity`, on rows that were not used to choose the grid.

    Parameters
    ----------
    X : array, data frame or mapping of numeric columns
    y : (n_rows,) array
        Two labels; the one that sorts last is the event.
    low, high : float, default=0.0 and 1.0
        Lowest and highest risk from which anybody would act.
    size : int, default=10
        Most thresholds; fewer where rounding makes some equal.
    weights : {"equal", "length"}, sequence of float or callable, default="equal"
        As in :meth:`Thresholds.of`.
    model : classifier, optional
        Preliminary model with ``fit(X, y, sample_weight)`` and ``predict_proba``; by default
        logistic regression of standardised columns.
    cv : int, splitter or iterable, default=5
        Folds of the preliminary risks.
    sample_weight : (n_rows,) array, optional
    decimals : int, default=2
        Decimals that thresholds are rounded to.
    random_state : int or None, default=0
        Seed of the folds.

    Returns
    -------
    Thresholds

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(3 - X[:, 0]))
    >>> suggest_thresholds(X, y, low=0.02, high=0.5, size=6).values
    (0.0, 0.02, 0.03, 0.04, 0.06, 0.09, 0.16)
    """
    if not 0.0 <= low < high <= 1.0:
        raise InputError(f"low={low!r} and high={high!r} must satisfy 0 <= low < high <= 1.")
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 2:
        raise InputError(f"size={size!r} must be a whole number of at least 2.")
    event, _ = encode_labels(y)
    weight = check_weights(sample_weight, event.size)
    risk = _cross_fitted(X, event, weight, model, choose_folds(cv, event, random_state))
    inside = (risk >= low) & (risk < high) & (weight > 0)
    if not inside.any():
        raise InputError(
            f"no predicted risk lies between {low:g} and {high:g}. Widen the range, or choose the "
            "thresholds by hand."
        )
    steps = (np.arange(1, size) - 0.5) / (size - 1)
    found = _quantiles(risk[inside], weight[inside], steps)
    rounded = {round(q, decimals) for q in found.tolist()}
    chosen = sorted({low, *(q for q in rounded if low < q < high)})
    if chosen == [0.0]:
        raise InputError(
            f"all risks round to 0 with decimals={decimals}. Allow more decimals, or choose the "
            "thresholds by hand."
        )
    return Thresholds.of(chosen, weights, end=high)


def _quantiles(values: FloatArray, weight: FloatArray, steps: FloatArray) -> FloatArray:
    """Smallest value with at least a share of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weight[order])
    # An exact share must find its own value, whatever the sums of weights round to.
    at = np.searchsorted(mass, steps * mass[-1] * (1 - 1e-12))
    found: FloatArray = values[order][at]
    return found


def _cross_fitted(
    X: Any,
    event: NDArray[np.bool_],
    weight: FloatArray,
    model: Any,
    folds: list[tuple[NDArray[Any], NDArray[Any]]],
) -> FloatArray:
    """Risk of each row by a model that has not seen it; the mean where it was held out twice."""
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    table = RawTable(X)
    numbers = [numeric_column(name, table.column(name).values) for name in table.names]
    matrix = np.column_stack(numbers).astype(np.float64)
    if len(matrix) != event.size:
        raise InputError(f"X has {len(matrix)} rows, but y has {event.size}. Pass one a row.")
    total, times = np.zeros(event.size), np.zeros(event.size)
    for train, test in folds:
        x, held = matrix[train], matrix[test]
        if model is None:
            scaler = StandardScaler().fit(x, sample_weight=weight[train])
            x, held = scaler.transform(x), scaler.transform(held)
            fitted = LogisticRegression(max_iter=1000)
        else:
            fitted = clone(model)
        fitted.fit(x, event[train], sample_weight=weight[train])
        total[test] += fitted.predict_proba(held)[:, 1]
        times[test] += 1
    with np.errstate(invalid="ignore"):
        return np.where(times > 0, total / np.where(times > 0, times, 1), math.nan)
