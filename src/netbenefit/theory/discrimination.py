"""Discrimination and utility: which pairs of grouped AUROC and AUNBC a model can have.

A model puts events and non-events on the levels of the thresholds.  With l_i the lengths of the
intervals (the weights of AUNBC, Σ l_i = 1), V_k = Σ_{i≤k} l_i, P_k = Σ_{i≤k} l_i r_i, a0 the share
of events, b0 = 1 − a0, G the grouped AUROC (ties within a level are wins), and the cost

    g(u; α, β) = min over u ≤ c ≤ 1 of  α u/c + β c
               = 2 √(αβu)                        if u ≤ min(α, β) / max(α, β),
                 min(α, β) + max(α, β) u         otherwise,

the most and the least AUNBC are

    a0 − min_k g(1 − G; a0 (1 − V_{k−1}), b0 P_k)                                   k = 1 … M,
    a0 V_0 − b0 P_M + min_k g(G; a0 (V_k − V_0), b0 (P_M − P_k))                     k = 0 … M.

Why: for given non-events, AUNBC and G are linear in the shares of the events on the levels, so that
two levels suffice for the events; likewise for the non-events.  Above, events sit on levels k − 1
(share (1 − G)/c) and M, non-events on 0 and k (share c).  Below, events sit on 0 and k (share G/c),
non-events on k (share c) and M.  Both bounds are reached, and increase with G.

The published versions are the first line with 2 √(αβu) wherever β > α, which is too high where
u > α/β: the share (1 − G)/c of events would exceed 1.  And a0 V_0 − b0 P_M alone for the least,
which holds for all G, but is reached at G = 0 only.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common import FloatArray, InputError, check_option
from netbenefit.metrics import Thresholds, ThresholdsLike, as_thresholds, check_prevalence

#: The tight bounds, or those of the method's paper.
Version = Literal["corrected", "paper"]

#: How far rounding may carry a computed AUROC or AUNBC out of its range.
_ROUNDING = 1e-9


def upper_aunbc(
    thresholds: ThresholdsLike,
    prevalence: float,
    auroc: ArrayLike,
    version: Version = "corrected",
) -> FloatArray:
    """Return the most AUNBC that a model with a given grouped AUROC can have.

    Theorem thm:auroc_aunbc of the paper, and its A_k (eq:Ak).

    Parameters
    ----------
    thresholds : Thresholds, str, sequence of float, or None
        None is the grid 0, 0.1, …, 0.9.
    prevalence : float
        Share of events.
    auroc : array-like of float
        Grouped AUROC (:func:`netbenefit.grouped_auroc`), in [0, 1]; bounds have its shape.  For
        the ordinary AUROC they do not hold.
    version : {"corrected", "paper"}, default="corrected"
        The corrected bound is reached by some model everywhere.  The published one is never below
        it, and above it where :func:`upper_is_tight` is False.

    Examples
    --------
    >>> upper_aunbc(None, 0.9, [0.2, 0.6]).round(4)
    array([0.6557, 0.7333])
    >>> upper_aunbc(None, 0.9, [0.2, 0.6], "paper").round(4)
    array([0.6643, 0.7333])
    """
    grid, a0 = as_thresholds(thresholds), check_prevalence(prevalence)
    u, pairs = 1.0 - check_auroc(auroc), above_pairs(grid, a0)
    check_option("version", version, get_args(Version))
    cost = _cost if version == "corrected" else _paper_cost
    return np.asarray(a0 - np.min([cost(u, pair) for pair in pairs], axis=0))


def lower_aunbc(
    thresholds: ThresholdsLike,
    prevalence: float,
    auroc: ArrayLike,
    version: Version = "corrected",
) -> FloatArray:
    """Return the least AUNBC that a model with a given grouped AUROC can have.

    Theorem thm:auroc_aunbc of the paper, the lower side.

    Parameters
    ----------
    thresholds, prevalence, auroc
        As in :func:`upper_aunbc`.
    version : {"corrected", "paper"}, default="corrected"
        The published bound is that of a grouped AUROC of 0, for every grouped AUROC: it holds, but
        is reached at 0 only.

    Examples
    --------
    >>> lower_aunbc([0, 0.5], 0.4, [0.0, 1.0])  # 0.4 · 0.5 − 0.6 · 0.5, and 0.4 − 0.3
    array([-0.1,  0.1])
    """
    grid, a0 = as_thresholds(thresholds), check_prevalence(prevalence)
    G, floor = check_auroc(auroc), _floor(grid, a0)
    if check_option("version", version, get_args(Version)) == "paper":
        return np.full(G.shape, floor)
    return np.asarray(floor + np.min([_cost(G, pair) for pair in below_pairs(grid, a0)], axis=0))


def lower_grouped_auroc(
    thresholds: ThresholdsLike,
    prevalence: float,
    aunbc: ArrayLike,
    version: Version = "corrected",
) -> FloatArray:
    """Return the least grouped AUROC that a model with a given AUNBC can have.

    This is the inverse of :func:`upper_aunbc`: high utility needs high discrimination.

    Corollary cor:auroc_aunbc of the paper, and its B_k (eq:Bk).

    Parameters
    ----------
    thresholds, prevalence
        As in :func:`upper_aunbc`.
    aunbc : array-like of float
        From a0 V_0 − b0 P_M (all decisions wrong) to the prevalence (all right).
    version : {"corrected", "paper"}, default="corrected"
        The inverse of which upper bound.

    Examples
    --------
    >>> lower_grouped_auroc(None, 0.4, [-0.2, 0.2, 0.3, 0.4]).round(4)
    array([0.    , 0.4427, 0.7407, 1.    ])
    """
    grid, a0 = as_thresholds(thresholds), check_prevalence(prevalence)
    lost = a0 - _check_aunbc(aunbc, grid, a0)
    check_option("version", version, get_args(Version))
    inverse = _inverse_cost if version == "corrected" else _inverse_paper_cost
    most = np.max([inverse(lost, pair) for pair in above_pairs(grid, a0)], axis=0)
    return np.asarray(1.0 - np.minimum(most, 1.0))


def upper_grouped_auroc(
    thresholds: ThresholdsLike,
    prevalence: float,
    aunbc: ArrayLike,
    version: Version = "corrected",
) -> FloatArray:
    """Return the most grouped AUROC that a model with a given AUNBC can have.

    This is the inverse of :func:`lower_aunbc`.  It is below 1 only where AUNBC is lower than that
    of every constant risk.

    Corollary cor:auroc_aunbc of the paper, the upper side.

    Parameters
    ----------
    thresholds, prevalence, aunbc
        As in :func:`lower_grouped_auroc`.
    version : {"corrected", "paper"}, default="corrected"
        The published bound is 1 everywhere.

    Examples
    --------
    >>> upper_grouped_auroc([0, 0.5], 0.4, [-0.1, 0.0, 0.1, 0.4]).round(4)
    array([0. , 0.5, 1. , 1. ])
    """
    grid, a0 = as_thresholds(thresholds), check_prevalence(prevalence)
    gained = _check_aunbc(aunbc, grid, a0) - _floor(grid, a0)
    if check_option("version", version, get_args(Version)) == "paper":
        return np.ones(gained.shape)
    most = np.max([_inverse_cost(gained, pair) for pair in below_pairs(grid, a0)], axis=0)
    return np.asarray(np.minimum(most, 1.0))


def upper_is_tight(
    thresholds: ThresholdsLike, prevalence: float, auroc: ArrayLike
) -> NDArray[np.bool_]:
    """Whether some model reaches the published upper bound of AUNBC.

    It is reached where, for the best k, the share (1 − G)/c of events that the construction puts on
    level k − 1 is at most 1.  Otherwise TP_k would have to be negative, no model reaches the
    published bound, and the corrected one is lower.

    Theorem thm:auroc_aunbc of the paper, its claim of tightness.

    Parameters
    ----------
    thresholds, prevalence, auroc
        As in :func:`upper_aunbc`.

    Examples
    --------
    >>> upper_is_tight(None, 0.9, [0.2, 0.6, 0.9])
    array([False,  True,  True])
    """
    grid, a0 = as_thresholds(thresholds), check_prevalence(prevalence)
    u, pairs = 1.0 - check_auroc(auroc), above_pairs(grid, a0)
    published = np.array([_paper_cost(u, pair) for pair in pairs])
    possible = np.array([u * pair.beta <= pair.alpha for pair in pairs])  # c ≥ u, or c at most 1
    possible |= u == 0.0
    return np.asarray((possible & (published == published.min(axis=0))).any(axis=0))


# -- the cost g and its inverse --------------------------------------------------------------------


class Pair(NamedTuple):
    """α and β of one k, and the levels of the model that reaches the bound."""

    k: int
    alpha: float  #: cost of all events on the wrong one of their two levels
    beta: float  #: cost of all non-events on the wrong one of theirs


def best_pair(u: float, pairs: list[Pair]) -> tuple[Pair, float]:
    """Return the pair of the least cost and the c at which it is reached."""
    pair = min(pairs, key=lambda pair: float(_cost(np.asarray(u), pair)))
    root = np.sqrt(pair.alpha * u / pair.beta) if pair.beta > 0 else np.inf
    return pair, float(np.clip(root, u, 1.0))


def above_pairs(thresholds: Thresholds, prevalence: float) -> list[Pair]:
    """Return α and β of the upper bound, k = 1 … M."""
    V, P = _sums(thresholds)
    a0, b0 = prevalence, 1.0 - prevalence
    return [Pair(k, a0 * max(1.0 - V[k - 1], 0.0), b0 * P[k]) for k in range(1, len(V))]


def below_pairs(thresholds: Thresholds, prevalence: float) -> list[Pair]:
    """Return α and β of the lower bound, k = 0 … M."""
    V, P = _sums(thresholds)
    a0, b0 = prevalence, 1.0 - prevalence
    return [Pair(k, a0 * (V[k] - V[0]), b0 * (P[-1] - P[k])) for k in range(len(V))]


def _floor(thresholds: Thresholds, prevalence: float) -> float:
    """AUNBC with all events on the lowest level and all non-events on the highest."""
    V, P = _sums(thresholds)
    return float(prevalence * V[0] - (1.0 - prevalence) * P[-1])


def _sums(thresholds: Thresholds) -> tuple[FloatArray, FloatArray]:
    """V_0 … V_M and P_0 … P_M."""
    lengths = thresholds.length_weights
    return np.cumsum(lengths), np.cumsum(lengths * thresholds.odds)


def _cost(u: FloatArray, pair: Pair) -> FloatArray:
    """g(u; α, β)."""
    low, high = sorted((pair.alpha, pair.beta))
    return np.where(high * u <= low, 2.0 * np.sqrt(low * high * u), low + high * u)


def _inverse_cost(cost: FloatArray, pair: Pair) -> FloatArray:
    """Return the u at which g(u; α, β) is the given cost; beyond 1 where none in [0, 1] is."""
    low, high = sorted((pair.alpha, pair.beta))
    if high == 0.0:  # nothing costs anything
        return np.full(cost.shape, np.inf)
    line = (cost - low) / high
    if low == 0.0:
        return line
    return np.where(cost <= 2.0 * low, cost / (2.0 * low) * (cost / (2.0 * high)), line)


def _paper_cost(u: FloatArray, pair: Pair) -> FloatArray:
    """a0 − A_k(1 − u), as published."""
    alpha, beta = pair.alpha, pair.beta
    return np.where(alpha * u >= beta, alpha * u + beta, 2.0 * np.sqrt(alpha * beta * u))


def _inverse_paper_cost(cost: FloatArray, pair: Pair) -> FloatArray:
    """1 − B_k(a0 − cost), as published."""
    alpha, beta = pair.alpha, pair.beta
    if alpha == 0.0:  # the published bound is then a0, whatever the AUROC
        return np.full(cost.shape, np.inf)
    if beta == 0.0:
        return cost / alpha
    square = cost / (2.0 * alpha) * (cost / (2.0 * beta))
    return np.where(cost >= 2.0 * beta, (cost - beta) / alpha, square)


def check_auroc(auroc: ArrayLike) -> FloatArray:
    """Check a grouped AUROC, or several."""
    return _check_between(auroc, 0.0, 1.0, "auroc", "a grouped AUROC")


def _check_aunbc(aunbc: ArrayLike, grid: Thresholds, prevalence: float) -> FloatArray:
    what = "the AUNBC of a model with these thresholds and this prevalence"
    return _check_between(aunbc, _floor(grid, prevalence), prevalence, "aunbc", what)


def _check_between(values: ArrayLike, low: float, high: float, name: str, what: str) -> FloatArray:
    """Return numbers of a range; what rounding may have carried out of it is put back."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers: {what}.") from None
    slack = _ROUNDING * max(1.0, abs(low))
    bad = ~((array >= low - slack) & (array <= high + slack))
    if bad.any():
        culprit = float(array[bad].flat[0])
        raise InputError(f"{name}={culprit!r} is outside [{low:.6g}, {high:.6g}]: {what}.")
    return np.clip(array, low, high)
