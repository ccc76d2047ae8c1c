"""Learning capacity: how large whole-numbered points must be to decide as a linear model does.

A linear model ρ with real cut-offs t_i becomes a card by λ_k = round(Λ ρ_k / ‖ρ‖∞) and
T_i = round(Λ t_i / ‖ρ‖∞).  Rounding moves no row by more than (‖x_j‖₁ + 1) / 2 points against a
cut-off, while the row's distance to it has grown to Λ γ_j, where γ_j = min_i |x_j·ρ − t_i| / ‖ρ‖∞.
With Λ > (max_j ‖x_j‖₁ + 1) / (2 min_j γ_j), every row stays on its side of every cut-off.  Dropping
the rows nearest to a cut-off makes Λ smaller, at a price that is known beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.common import (
    LARGEST_EXACT,
    FloatArray,
    InputError,
    IntArray,
    find_decimals,
    to_steps,
)
from netbenefit.metrics import ThresholdsLike, as_thresholds
from netbenefit.problem import floor_scores, whole

# -- generalisation: how far net benefit in training can be above what new rows will show ----------
# There are finitely many cards, so Hoeffding's inequality, taken for all of them at once, bounds
# the difference for the one that training chose, however it was chosen.


#: Larger numbers of rows would not be exact as floats.
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
    cut-off, and 1 − 2 (M + 1) δ is the confidence.  The bound is for the worst of all distributions
    and cards, so that it is wide; cross-validation tells more about one card on one kind of data.

    Theorem thm:generalization of the paper.

    Parameters
    ----------
    n_rows : int
        Independent rows in training, each of weight 1.
    max_points : sequence of int
        Λ_k of each feature that training could choose from, used or not; 0 for a feature without
        points.  A limit on the number of features is not taken into account.
    max_cutoff : int
        T_max: cut-offs lie in −T_max … T_max.
    thresholds : Thresholds, str, sequence of float, or None
        Thresholds and their weights.  None is the grid 0, 0.1, …, 0.9.
    confidence : float, default=0.95
        In (0, 1).

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

    Theorem thm:generalization of the paper, solved for the number of rows.

    Parameters
    ----------
    bound : float
        The bound to reach, in units of net benefit.
    max_points, max_cutoff, thresholds, confidence
        As in :func:`generalisation_bound`.

    Examples
    --------
    >>> rows_needed(0.05, [10] * 5, 50, [0.1, 0.2, 0.3])
    7951
    """
    if not 0.0 < bound < math.inf:
        raise InputError(f"bound={bound!r} must be a positive, finite number.")
    spread, logs = _factors(max_points, max_cutoff, thresholds, confidence)
    guess = (spread / bound) ** 2 * logs / 2.0
    if guess >= _MOST_ROWS:
        raise InputError(f"bound={bound!r} needs more than {_MOST_ROWS} rows. Use a larger bound.")
    # The formula is right to a few units in the last place; the bound itself decides.
    n = max(1, math.ceil(guess))
    while _bound(n, spread, logs) > bound:
        n += 1
    while n > 1 and _bound(n - 1, spread, logs) <= bound:
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
        raise InputError("max_points must hold one whole number per feature, as in [10] * 5.")
    largest = [whole(top, f"max_points[{k}]", 0) for k, top in enumerate(max_points)]
    cutoff = whole(max_cutoff, "max_cutoff", 0)
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence={confidence!r} must lie strictly between 0 and 1.")
    delta = (1.0 - confidence) / (2 * len(grid))
    cards = math.fsum(math.log(2 * top + 1) for top in largest)
    spread = float(grid.weight_array @ (1.0 + grid.odds))
    return spread, cards + math.log(2 * cutoff + 1) - math.log(delta)


@dataclass(frozen=True)
class Capacity:
    """How large points and cut-offs need to be, at most, to decide as a linear model."""

    max_points: int  #: Λ: points in −Λ … Λ are enough, and fewer may be
    max_cutoff: int  #: T_max: cut-offs in −T_max … T_max are enough
    margin: float  #: γ: least distance of a kept row to a cut-off, by the largest coefficient
    norm: float  #: the largest Σ_k |x_jk| of a kept row
    dropped: tuple[int, ...] = ()  #: rows that were dropped, those nearest to a cut-off


class RoundedModel(NamedTuple):
    """A linear model in whole numbers."""

    points: IntArray  #: (P,)
    cutoffs: IntArray  #: (M,)
    changed: tuple[int, ...]  #: rows on another side of some cut-off than before


def learning_capacity(
    X: ArrayLike, coefficients: ArrayLike, cutoffs: ArrayLike, *, drop: int = 0
) -> Capacity:
    """Return how large points and cut-offs must be to decide on all rows as a linear model does.

    Theorem thm:learning_capacity and Corollary cor:learning_capacity of the paper.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    coefficients : array-like of shape (n_features,)
        ρ of the linear model; not all 0.
    cutoffs : array-like of shape (n_cutoffs,)
        t_1 ≤ … ≤ t_M: a row is called positive at the i-th threshold when x·ρ ≥ t_i.  Leave out
        t_0, at which all rows are positive.
    drop : int, default=0
        How many rows nearest to a cut-off need not be kept on their side (the corollary's k − 1).
        Where the next row is as near as the last of these, fewer are dropped.

    Returns
    -------
    Capacity
        ``max_cutoff`` is ⌈Λ · norm⌉, or larger where a cut-off lies farther out than every kept
        row.  Rounding errors of floating-point scores are allowed for.

    Examples
    --------
    >>> X, rho, t = [[0, 1], [1, 0], [1, 1]], [1.0, 0.3], [0.5, 1.2]
    >>> fewer = learning_capacity(X, rho, t, drop=1)
    >>> fewer.max_points, fewer.max_cutoff, round(fewer.margin, 9), fewer.dropped
    (6, 7, 0.2, (2,))
    """
    rows, rho, t = _check_model(X, coefficients, cutoffs)
    n_dropped = whole(drop, "drop", 0)
    if n_dropped >= len(rows):
        raise InputError(
            f"drop={n_dropped} leaves none of the {len(rows)} rows. Drop fewer, or none."
        )
    scale = float(np.abs(rho).max())
    distance = np.abs((rows @ rho)[:, None] - t).min(axis=1) / scale
    limit = np.sort(distance)[n_dropped]
    kept = distance >= limit
    norm = float(np.abs(rows[kept]).sum(axis=1).max())
    doubt = (rho.size + 2) * 2.0**-52 * (norm + float(np.abs(t).max()) / scale)
    safe = float(limit) - doubt
    if safe <= 0:
        row = int(np.flatnonzero(kept)[np.argmin(distance[kept])])
        raise InputError(
            f"row {row} lies on a cut-off, so that no size of points is certain to keep its side. "
            "Move the cut-off between two scores, or drop more rows."
        )
    most = (norm + 1.0) / (2.0 * safe)
    if most * (norm + 1.0) >= LARGEST_EXACT:
        raise InputError(
            f"the nearest row is only {limit:.3g} from a cut-off, and points of {most:.3g} would be"
            " needed. Move the cut-off between two scores, or drop more rows."
        )
    max_points = math.floor(most) + 1
    farthest = int(np.abs(_rounded(t, rho, max_points)).max())
    max_cutoff = max(math.ceil(max_points * norm), farthest)
    dropped = tuple(np.flatnonzero(~kept).tolist())
    return Capacity(max_points, max_cutoff, float(limit), norm, dropped)


def round_linear(
    X: ArrayLike, coefficients: ArrayLike, cutoffs: ArrayLike, max_points: int
) -> RoundedModel:
    """Round a linear model to points of at most ``max_points``, and list the rows that change side.

    Theorem thm:learning_capacity of the paper, the rounding of its proof.

    Parameters
    ----------
    X, coefficients, cutoffs
        As in :func:`learning_capacity`.
    max_points : int
        Λ, the points of the largest coefficient.

    Returns
    -------
    RoundedModel
        Scores of decimal columns are added up without rounding, as a card does.  With the
        ``max_points`` of :func:`learning_capacity`, only dropped rows can change.

    Examples
    --------
    >>> X, rho, t = [[0, 1], [1, 0], [1, 1]], [1.0, 0.3], [0.5, 1.2]
    >>> round_linear(X, rho, t, 2)
    RoundedModel(points=array([2, 1]), cutoffs=array([1, 2]), changed=(0, 1))
    """
    rows, rho, t = _check_model(X, coefficients, cutoffs)
    top = whole(max_points, "max_points", 1)
    points, new_cutoffs = _rounded(rho, rho, top), _rounded(t, rho, top)
    before = (rows @ rho)[:, None] >= t
    after = _scores(rows, points)[:, None] >= new_cutoffs
    changed = np.flatnonzero((before != after).any(axis=1))
    return RoundedModel(points, new_cutoffs, tuple(changed.tolist()))


def rounding_loss(thresholds: ThresholdsLike, n_dropped: float, n_rows: float) -> float:
    """Return the most weighted net benefit that the dropped rows can cost.

    (k − 1)/N · Σ ω_i / (1 − p_i), with k − 1 the number of rows dropped.

    Corollary cor:learning_capacity of the paper, its price.

    Parameters
    ----------
    thresholds : Thresholds, str, sequence of float, or None
        None is the grid 0, 0.1, …, 0.9.
    n_dropped, n_rows : float
        Number of dropped rows and of all rows, or their sums of weights.

    Examples
    --------
    >>> round(rounding_loss([0.1, 0.2], n_dropped=3, n_rows=500), 5)
    0.00708
    """
    if not (n_rows > 0 and 0 <= n_dropped <= n_rows and math.isfinite(n_rows)):
        raise InputError(
            f"n_dropped={n_dropped!r} of n_rows={n_rows!r}: there must be rows, and not more "
            "dropped than there are."
        )
    grid = as_thresholds(thresholds)
    return float(n_dropped / n_rows * (grid.weight_array @ (1.0 + grid.odds)))


def _scores(rows: FloatArray, points: IntArray) -> FloatArray | IntArray:
    """Scores as a card computes them: floors of exact sums, where values are decimals."""
    used = points != 0
    columns = rows[:, used].T
    found = [find_decimals(column) for column in columns]
    digits = max(decimals for decimals, _ in found)
    largest = float((np.abs(rows) @ np.abs(points)).max()) * 10.0**digits
    if not all(exact for _, exact in found) or largest >= LARGEST_EXACT:
        return rows @ points
    decimals = [decimals for decimals, _ in found]
    codes = np.column_stack([to_steps(c, d) for c, d in zip(columns, decimals, strict=True)])
    return floor_scores(codes, decimals, points[used])


def _rounded(values: FloatArray, rho: FloatArray, max_points: int) -> IntArray:
    scaled = max_points * (values / np.abs(rho).max())
    if np.abs(scaled).max() >= LARGEST_EXACT:
        raise InputError("cut-offs or max_points are too large for whole numbers. Scale them down.")
    return np.asarray(np.rint(scaled), dtype=np.int64)


def _check_model(
    X: ArrayLike, coefficients: ArrayLike, cutoffs: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    rows = _check_numbers(X, "X", 2)
    rho = _check_numbers(coefficients, "coefficients", 1)
    t = _check_numbers(cutoffs, "cutoffs", 1)
    if rows.shape[1] != rho.size:
        raise InputError(
            f"{rho.size} coefficients for {rows.shape[1]} columns of X. Pass one per column."
        )
    if not rho.any():
        raise InputError("coefficients are all 0: there is nothing to round.")
    if (np.diff(t) < 0).any():
        raise InputError("cutoffs must not decrease. Sort them, as the thresholds are.")
    return rows, rho, t


def _check_numbers(values: ArrayLike, name: str, ndim: int) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers only.") from None
    if array.ndim != ndim or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}. Pass a non-empty {ndim}-d array.")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds values that are missing or infinite. Drop or fill them.")
    return array
