"""Generalisation: how far net benefit in training can be above what new rows will show.

There are finitely many cards, so Hoeffding's inequality, taken for all of them at once, bounds the
difference for the one that training chose, however it was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from netbenefit.common.checks import InputError
from netbenefit.metrics.thresholds import ThresholdsLike, as_thresholds
from netbenefit.problem.constraint_values import whole

__all__ = ["generalisation_bound", "rows_needed"]

#: More rows than this are no sample size, and would not be exact as a float.
_MOST_ROWS = 2**53


def generalisation_bound(
    n_rows: int,
    max_points: Sequence[int],
    max_cutoff: int,
    thresholds: ThresholdsLike = None,
    *,
    confidence: float = 0.95,
) -> float:
    """Return how much lower the expected net benefit can be than the one in training.

    With probability of at least ``confidence``, no card of the given size has an expected weighted
    net benefit Σ ω_i NB_i that is lower than its own on the n rows by more than

        Σ ω_i / (1 − p_i) · √((ln |L| + ln |B_0| − ln δ) / 2n),

    where |L| = Π (2Λ_k + 1) counts the vectors of points, |B_0| = 2 T_max + 1 the values of a
    cut-off, and 1 − 2 (M + 1) δ is the confidence.

    Parameters
    ----------
    n_rows : int
        Independent rows in training, each of weight 1.
    max_points : sequence of int
        Λ_k of each feature that training could choose from, used or not; 0 for a feature without
        points.
    max_cutoff : int
        T_max: cut-offs lie in −T_max … T_max.
    thresholds : Thresholds, str, sequence of float, or None
        Thresholds and their weights.  None is the grid 0, 0.1, …, 0.9.
    confidence : float, default=0.95
        In (0, 1).

    Returns
    -------
    float

    Notes
    -----
    The bound is for the worst of all distributions and the worst of all cards, so that it is wide;
    cross-validation tells more about one card on one kind of data.  It holds for any number of
    features in the card: a limit on their number makes |L| smaller than assumed here.

    Examples
    --------
    >>> round(generalisation_bound(1000, [10] * 5, 50, [0.1, 0.2, 0.3]), 4)
    0.141
    """
    n = whole(n_rows, "n_rows", 1)
    return _bound(n, *_factors(max_points, max_cutoff, thresholds, confidence))


def rows_needed(
    bound: float,
    max_points: Sequence[int],
    max_cutoff: int,
    thresholds: ThresholdsLike = None,
    *,
    confidence: float = 0.95,
) -> int:
    """Return the smallest number of rows for which :func:`generalisation_bound` is small enough.

    Parameters
    ----------
    bound : float
        The wanted bound, in units of net benefit.
    max_points, max_cutoff, thresholds, confidence
        As in :func:`generalisation_bound`.

    Returns
    -------
    int

    Examples
    --------
    >>> rows_needed(0.05, [10] * 5, 50, [0.1, 0.2, 0.3])
    7951
    """
    wanted = _check_bound(bound)
    spread, logs = _factors(max_points, max_cutoff, thresholds, confidence)
    guess = (spread / wanted) ** 2 * logs / 2.0
    if guess >= _MOST_ROWS:
        raise InputError(f"bound={bound!r} needs more than {_MOST_ROWS} rows. Ask for less.")
    # The formula is right to a few units in the last place; the bound itself decides.
    n = max(1, math.ceil(guess))
    while _bound(n, spread, logs) > wanted:
        n += 1
    while n > 1 and _bound(n - 1, spread, logs) <= wanted:
        n -= 1
    return n


def _bound(n: int, spread: float, logs: float) -> float:
    return spread * math.sqrt(logs / (2.0 * n))


def _factors(
    max_points: Sequence[int], max_cutoff: int, thresholds: ThresholdsLike, confidence: float
) -> tuple[float, float]:
    """Return Σ ω_i / (1 − p_i), and ln |L| + ln |B_0| − ln δ."""
    grid = as_thresholds(thresholds)
    if np.ndim(max_points) != 1 or len(max_points) == 0:
        raise InputError("max_points must hold one whole number a feature, as in [10] * 5.")
    largest = [whole(top, f"max_points[{k}]", 0) for k, top in enumerate(max_points)]
    cutoff = whole(max_cutoff, "max_cutoff", 0)
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence={confidence!r} must lie strictly between 0 and 1.")
    delta = (1.0 - confidence) / (2 * len(grid))
    cards = math.fsum(math.log(2 * top + 1) for top in largest)
    spread = float(grid.weight_array @ (1.0 + grid.odds))
    return spread, cards + math.log(2 * cutoff + 1) - math.log(delta)


def _check_bound(bound: float) -> float:
    if not 0.0 < bound < math.inf:
        raise InputError(f"bound={bound!r} must be a positive, finite number.")
    return float(bound)
