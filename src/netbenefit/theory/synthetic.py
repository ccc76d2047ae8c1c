"""Synthetic predictions: with a given correlation, and on the edge of what is possible.

Type I risks have a given correlation with the outcome, whatever the thresholds: they show how far
from the bounds ordinary models lie.  Type II risks reach the bounds of
:mod:`netbenefit.theory`, which shows that these are the best possible.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common import FloatArray, InputError, check_binary, check_option, check_weights
from netbenefit.metrics import (
    Thresholds,
    ThresholdsLike,
    as_thresholds,
    check_prevalence,
    require_both,
)
from netbenefit.theory.discrimination import above_pairs, below_pairs, best_pair, check_auroc

Side = Literal["upper", "lower"]


def correlated_risks(
    y_true: ArrayLike,
    correlation: float,
    *,
    sample_weight: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
) -> FloatArray:
    """Return random risks with a given Pearson correlation to the outcome (type I).

    1. Standardise the outcome.
    2. Draw Gaussian noise, take away what correlates with the outcome, standardise it.
    3. Add correlation · outcome and √(1 − correlation²) · noise.
    4. Stretch the sum to [0, 1], from 0 for the lowest to 1 for the highest.

    Algorithm alg:synthetic_1 of the paper.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Outcomes of both kinds, at least three rows (two will do for a correlation of ±1).
    correlation : float
        In [−1, 1]; it is met up to rounding.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights; the correlation is then the weighted one.
    random_state : int, numpy Generator, or None
        Where the noise comes from.

    Examples
    --------
    >>> y = [0, 0, 1, 0, 1, 1, 0, 0]
    >>> risk = correlated_risks(y, 0.6, random_state=0)
    >>> float(np.corrcoef(y, risk)[0, 1].round(9))
    0.6
    """
    outcome = check_binary(y_true)
    weight = check_weights(sample_weight, outcome.size)
    share = weight / weight.sum()
    if not -1.0 <= correlation <= 1.0:
        raise InputError(f"correlation={correlation!r} must lie between -1 and 1.")
    require_both(weight[outcome].sum(), weight[~outcome].sum(), "a correlation is")
    y = _standard(outcome.astype(np.float64), share)
    noise = np.random.default_rng(random_state).standard_normal(outcome.size)
    noise -= (share @ noise) + (share @ (noise * y)) * y
    sums = correlation * y
    if abs(correlation) < 1.0:
        if np.count_nonzero(weight) < 3:
            raise InputError("two rows correlate fully or not at all. Pass at least three rows.")
        sums = sums + np.sqrt(1.0 - correlation**2) * _standard(noise, share)
    low = sums.min()
    return np.asarray((sums - low) / (sums.max() - low))


class BoundaryModel(NamedTuple):
    """A model that reaches a bound: four groups of rows, with their outcome, risk and weight."""

    y_true: NDArray[np.int64]  #: (4,): events, events, non-events, non-events
    risk: FloatArray  #: (4,)
    sample_weight: FloatArray  #: (4,): shares of all rows, sum 1; some may be 0


def boundary_model(
    thresholds: ThresholdsLike, prevalence: float, auroc: float, side: Side = "upper"
) -> BoundaryModel:
    """Return a model with a given grouped AUROC and the most (or least) AUNBC that goes with it.

    Algorithm alg:synthetic_2 of the paper, as four weighted groups.

    Parameters
    ----------
    thresholds : Thresholds, str, sequence of float, or None
        None is the grid 0, 0.1, …, 0.9.
    prevalence : float
        Share of events.
    auroc : float
        The grouped AUROC to be met.
    side : {"upper", "lower"}, default="upper"
        Which bound is to be reached.

    Examples
    --------
    >>> boundary_model(None, 0.4, 0.75).risk
    array([0. , 1. , 0. , 0.1])
    """
    grid, a0 = as_thresholds(thresholds), check_prevalence(prevalence)
    edge = _edge(grid, a0, float(check_auroc(auroc)), side)
    y_true = np.array([1, 1, 0, 0])
    events, others = edge.second_events, edge.second_others
    shares = np.array([1.0 - events, events, 1.0 - others, others])
    return BoundaryModel(y_true, np.array(edge.risks), shares * np.where(y_true, a0, 1.0 - a0))


def boundary_risks(
    y_true: ArrayLike, auroc: float, thresholds: ThresholdsLike = None, side: Side = "upper"
) -> FloatArray:
    """Return risks for given rows that come as near to a bound as their number allows (type II).

    The groups of :func:`boundary_model` are rounded to whole rows, the non-events first and then
    the events, such that the grouped AUROC comes near to the given one.  The AUNBC is then at the
    bound for the grouped AUROC of the risks returned, up to a term of the order 1/n.  Events have
    at most two risks, and so have non-events; the first rows get the lower.

    Algorithm alg:synthetic_2 of the paper.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Outcomes of both kinds.
    auroc : float
        The grouped AUROC to come near to.
    thresholds, side
        As in :func:`boundary_model`.

    Examples
    --------
    >>> from netbenefit import aunbc, grouped_auroc
    >>> y = np.repeat([0, 1], [600, 400])
    >>> risk = boundary_risks(y, 0.75)
    >>> round(grouped_auroc(y, risk), 4), round(aunbc(y, risk), 4)
    (0.75, 0.3033)
    """
    outcome = check_binary(y_true)
    require_both(outcome.sum(), (~outcome).sum(), "the AUROC is")
    grid, target = as_thresholds(thresholds), float(check_auroc(auroc))
    n_events, n_others = int(outcome.sum()), int((~outcome).sum())
    edge = _edge(grid, n_events / outcome.size, target, side)
    events, others = _whole_rows(edge, target, n_events, n_others, side)
    risk = np.empty(outcome.size)
    low, high, other_low, other_high = edge.risks
    risk[outcome] = np.where(np.arange(n_events) < n_events - events, low, high)
    risk[~outcome] = np.where(np.arange(n_others) < n_others - others, other_low, other_high)
    return risk


class _Edge(NamedTuple):
    """Where the groups of a model on the edge lie, and how large they are."""

    risks: tuple[float, float, float, float]  # events, events, non-events, non-events
    second_events: float  # share of the events in the second group of events
    second_others: float  # share of the non-events in the second group of non-events


def _edge(grid: Thresholds, prevalence: float, auroc: float, side: str) -> _Edge:
    p = grid.values
    if check_option("side", side, get_args(Side)) == "upper":
        pair, c = best_pair(u := 1.0 - auroc, above_pairs(grid, prevalence))
        wrong = u / c if c > 0 else 0.0
        return _Edge((p[pair.k - 1], 1.0, 0.0, p[pair.k]), 1.0 - wrong, c)
    pair, c = best_pair(auroc, below_pairs(grid, prevalence))
    right = auroc / c if c > 0 else 0.0
    return _Edge((0.0, p[pair.k], p[pair.k], 1.0), right, 1.0 - c)


def _whole_rows(
    edge: _Edge, auroc: float, n_events: int, n_others: int, side: str
) -> tuple[int, int]:
    """Return how many events and non-events go into their second groups."""
    above = side == "upper"
    c = edge.second_others if above else 1.0 - edge.second_others
    share = 1.0 - edge.second_events if above else edge.second_events
    u = 1.0 - auroc if above else auroc
    if share >= 1.0:  # all events are in this group: AUROC is set by the non-events alone
        part, crossed = round(c * n_others), n_events
    else:
        part = round(c * n_others) or (1 if u > 0 else 0)
        crossed = min(n_events, round(u * n_others / part * n_events)) if part else 0
    return (n_events - crossed, part) if above else (crossed, n_others - part)


def _standard(values: FloatArray, share: FloatArray) -> FloatArray:
    centred = values - share @ values
    return np.asarray(centred / np.sqrt(share @ centred**2))
