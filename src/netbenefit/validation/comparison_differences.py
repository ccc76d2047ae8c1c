"""Differences between models over the same folds, with an error that knows folds overlap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from netbenefit.common.checks import FloatArray, InputError

__all__ = ["Difference", "corrected_difference"]


class Difference(NamedTuple):
    """A mean difference over folds, its corrected standard error, 95% interval and p-value."""

    mean: float
    se: float
    low: float
    high: float
    p: float


def corrected_difference(
    differences: FloatArray, test_share: float, *, level: float = 0.95
) -> Difference:
    """Mean of differences over folds, by the corrected resampled t test (Nadeau and Bengio 2003).

    Training rows of different folds overlap, so that the usual s / √J is too small.  The corrected
    standard error is s √(1/J + n_test/n_train), with J − 1 degrees of freedom.

    Parameters
    ----------
    differences : (J,) float
        One difference a fold, of all repeats.
    test_share : float
        Held-out rows / training rows of a fold.
    level : float, default=0.95
        Of the interval.

    Returns
    -------
    Difference
        P is missing (NaN) where all folds show the same difference, other than 0.

    Examples
    --------
    >>> found = corrected_difference(np.array([0.01, 0.03, 0.02, 0.02, 0.02]), 0.25)
    >>> round(found.mean, 3), round(found.se, 5), round(found.p, 3)
    (0.02, 0.00474, 0.014)
    """
    d = np.asarray(differences, dtype=np.float64)
    if d.size < 2:
        raise InputError(f"{d.size} fold: a standard error needs at least 2.")
    mean, spread = float(d.mean()), float(d.std(ddof=1))
    se = spread * float(np.sqrt(1 / d.size + test_share))
    reach = float(stats.t.ppf((1 + level) / 2, d.size - 1)) * se
    if se > 0:
        p = float(2 * stats.t.sf(abs(mean) / se, d.size - 1))
    else:
        p = 1.0 if mean == 0 else float("nan")
    return Difference(mean, se, mean - reach, mean + reach, p)
