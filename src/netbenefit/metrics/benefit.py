"""How good are predicted risks: net benefit, calibration and discrimination.

Plain functions of outcomes (0/1 or booleans), risks in [0, 1], thresholds and row weights.  All of
them share three conventions: a row is called positive at threshold p when its risk is at least p; a
row of weight 2 counts as two rows; and thresholds cut [0, 1] into the intervals
S_i = [p_i, p_{i+1}), the last of which includes 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common import FloatArray, InputError, check_binary, check_risks, check_weights
from netbenefit.metrics.thresholds import Thresholds, ThresholdsLike, as_thresholds


def net_benefit(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
    harm: float = 0.0,
    prevalence: float | None = None,
) -> FloatArray:
    """Net benefit TP/N - FP/N · p/(1 - p) at each given threshold p.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Outcomes, 1 or True for an event.
    risk : array-like of shape (n_rows,)
        Predicted risks in [0, 1].
    thresholds : Thresholds, str, sequence of float, or None
        None is the grid 0, 0.1, …, 0.9.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights; a weight of 2 counts the row twice.
    harm : float, default=0.0
        What obtaining the prediction costs per person, in units of net benefit; it is subtracted.
    prevalence : float, optional
        Share of events in the population, where the rows do not show it (case-control samples).
        TP/N becomes sensitivity · prevalence, FP/N becomes (1 - specificity) · (1 - prevalence).

    Returns
    -------
    ndarray of shape (n_thresholds,)
        In the order of ``as_thresholds(thresholds).given``.

    Examples
    --------
    >>> net_benefit([0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9], [0.2, 0.5, 0.8])
    array([0.4375, 0.25  , 0.25  ])
    """
    counts = check_and_count(y_true, risk, thresholds, sample_weight)
    if prevalence is None:
        tp_rate, fp_rate = counts.tp / counts.n, counts.fp / counts.n
    else:
        share = check_prevalence(prevalence)
        require_both(counts.tp[0], counts.fp[0], "rates for another prevalence are")
        tp_rate, fp_rate = (
            counts.tp / counts.tp[0] * share,
            counts.fp / counts.fp[0] * (1.0 - share),
        )
    benefit = tp_rate - counts.thresholds.odds * fp_rate - check_harm(harm)
    return benefit[given_part(counts.thresholds)]


def aunbc(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Area under the net benefit curve: Σ (p_{i+1} - p_i) NB_i, whatever the thresholds' weights.

    The sum starts at threshold 0 (where net benefit is the share of events) if 0 was given, as
    in the default grid.  Otherwise, and for a range, it covers the range only and is divided by its
    length, so that it stays an average net benefit.

    Definition def:aunbc of the paper.

    Parameters
    ----------
    y_true, risk, thresholds, sample_weight
        As in :func:`net_benefit`.

    Examples
    --------
    >>> round(aunbc([0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9], [0, 0.2, 0.5, 0.8]), 5)
    0.35625
    """
    counts = check_and_count(y_true, risk, thresholds, sample_weight)
    return float(counts.thresholds.length_weights @ counts.net_benefit)


def weighted_net_benefit(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Σ ω_i NB_i with the thresholds' own weights ω: what training maximises, without the penalty.

    Parameters
    ----------
    y_true, risk, thresholds, sample_weight
        As in :func:`net_benefit`.

    Examples
    --------
    >>> grid = Thresholds.of([0.2, 0.5], weights=[0.25, 0.75])
    >>> weighted_net_benefit([0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9], grid)
    0.296875
    """
    counts = check_and_count(y_true, risk, thresholds, sample_weight)
    return float(counts.thresholds.weight_array @ counts.net_benefit)


def expected_calibration_error(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Σ (N_i/N) |observed share of events - mean risk| over the intervals S_i that hold rows.

    Parameters
    ----------
    y_true, risk, thresholds, sample_weight
        As in :func:`net_benefit`.  Rows are grouped by the intervals of *all* thresholds, the one
        that starts at 0 included, given or not.

    Examples
    --------
    >>> expected_calibration_error([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], [0.5])
    0.25
    """
    counts = check_and_count(y_true, risk, thresholds, sample_weight)
    return float(np.abs(counts.events - counts.expected).sum() / counts.n)


def hosmer_lemeshow(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Σ (O_i - E_i)² / (E_i (1 - E_i/N_i)) over the intervals S_i that hold rows.

    O_i and E_i are the observed and the predicted number of events in S_i.  Where every risk in an
    interval is 0, or every one is 1, the quotient has no denominator: the interval adds 0 if the
    outcomes agree (O_i = E_i), and infinity if they do not.

    Parameters
    ----------
    y_true, risk, thresholds, sample_weight
        As in :func:`expected_calibration_error`.

    Returns
    -------
    float
        The statistic alone: the chi-squared reference in textbooks is for groups cut at quantiles
        of the risks, not for fixed intervals or row weights that are not counts.

    Examples
    --------
    >>> round(hosmer_lemeshow([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], [0.5]), 4)
    1.3333
    """
    counts = check_and_count(y_true, risk, thresholds, sample_weight)
    impossible = ((counts.expected == 0) & (counts.events > 0)) | (
        (counts.expected_none == 0) & (counts.nonevents > 0)
    )
    if impossible.any():
        return math.inf
    usable = (counts.expected > 0) & (counts.expected_none > 0)
    events, expected = counts.events[usable], counts.expected[usable]
    none = counts.expected_none[usable]
    gap = events - expected
    with np.errstate(over="ignore"):  # a risk near 1e-308 may lead out of the range of floats
        return float(((gap / expected) * (gap / none) * (expected + none)).sum())


def auroc(y_true: ArrayLike, risk: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Area under the ROC curve: how often an event has the higher risk; ties count one half.

    Parameters
    ----------
    y_true, risk, sample_weight
        As in :func:`net_benefit`.

    Examples
    --------
    >>> auroc([0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9])
    0.875
    """
    outcome = check_binary(y_true)
    risks = check_risks(risk, outcome.size)
    weight = check_weights(sample_weight, outcome.size)
    _, group = np.unique(risks, return_inverse=True)
    events = np.bincount(group, weights=weight * outcome)
    nonevents = np.bincount(group, weights=weight * ~outcome)
    require_both(events.sum(), nonevents.sum(), "AUROC is")
    below = np.cumsum(nonevents)
    wins = events @ (below - nonevents / 2)
    return min(1.0, float(wins / (events.sum() * below[-1])))


def grouped_auroc(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Σ (FP_i - FP_{i+1}) TP_i / (N⁺ N⁻) over the intervals of the thresholds; ties count as wins.

    This is the definition for which the published bounds between AUROC and AUNBC hold.  It is not
    the AUROC of the literature: an event and a non-event in the same interval count as ordered
    correctly, so that a constant risk gets 1.  Report :func:`auroc`.

    Definition def:auroc of the paper.

    Parameters
    ----------
    y_true, risk, thresholds, sample_weight
        As in :func:`expected_calibration_error`.

    Examples
    --------
    >>> grouped_auroc([0, 1], [0.3, 0.3]), auroc([0, 1], [0.3, 0.3])
    (1.0, 0.5)
    """
    counts = check_and_count(y_true, risk, thresholds, sample_weight)
    require_both(counts.tp[0], counts.fp[0], "grouped AUROC is")
    wins = counts.nonevents @ counts.tp
    return min(1.0, float(wins / (counts.tp[0] * counts.fp[0])))


# -- counting: shared with decision curves -------------------------------------------------------


@dataclass(frozen=True)
class LevelCounts:
    """Weighted counts in each interval S_i; TP_i and FP_i add them up from i on."""

    thresholds: Thresholds
    events: FloatArray
    nonevents: FloatArray
    expected: FloatArray  # sum of risk
    expected_none: FloatArray  # sum of 1 - risk, kept apart for accuracy where risks are near 1

    @cached_property
    def tp(self) -> FloatArray:
        """Weight of the events at or above each threshold."""
        return np.cumsum(self.events[::-1])[::-1]

    @cached_property
    def fp(self) -> FloatArray:
        """Weight of the non-events at or above each threshold."""
        return np.cumsum(self.nonevents[::-1])[::-1]

    @property
    def n(self) -> float:
        """Total weight."""
        return float(self.tp[0] + self.fp[0])

    @property
    def net_benefit(self) -> FloatArray:
        """NB_0 … NB_M."""
        return (self.tp - self.thresholds.odds * self.fp) / self.n


def check_and_count(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: ThresholdsLike,
    sample_weight: ArrayLike | None,
) -> LevelCounts:
    """Check the arguments that all metrics share, and count rows by interval."""
    outcome = check_binary(y_true)
    risks = check_risks(risk, outcome.size)
    weight = check_weights(sample_weight, outcome.size)
    return count_levels(outcome, risks, weight, as_thresholds(thresholds))


def count_levels(
    outcome: NDArray[np.bool_], risk: FloatArray, weight: FloatArray, grid: Thresholds
) -> LevelCounts:
    """Count checked rows by interval."""
    level, size = grid.level_of(risk), len(grid)
    sums = (weight * outcome, weight * ~outcome, weight * risk, weight * (1.0 - risk))
    return LevelCounts(grid, *(sums_by(level, values, size) for values in sums))


def sums_by(index: NDArray[np.integer], values: FloatArray, size: int) -> FloatArray:
    """Add up values by index; floats even where there are none."""
    return np.bincount(index, values, size).astype(np.float64, copy=False)


def given_part(grid: Thresholds) -> slice:
    """Select, from arrays over p_0 … p_M, the thresholds that were given."""
    return slice(len(grid) - len(grid.given), None)


def check_harm(harm: float, name: str = "harm") -> float:
    """Return a harm as a float; refuse what is not a finite number of at least 0."""
    value = as_float(harm)
    if not 0.0 <= value < math.inf:
        raise InputError(
            f"{name}={harm!r} must be a finite number, not negative: the net benefit that "
            "obtaining the prediction costs. Use 0 for none."
        )
    return value


def check_prevalence(prevalence: float) -> float:
    """Return a prevalence as a float; refuse what is not strictly between 0 and 1."""
    value = as_float(prevalence)
    if not 0.0 < value < 1.0:
        raise InputError(
            f"prevalence={prevalence!r} must lie strictly between 0 and 1. Write 0.2 for 20%, or "
            "leave it out to use the share of events in the rows."
        )
    return value


def as_float(value: object) -> float:
    """A number as a float; NaN, which fails every range check, for anything else."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def require_both(events: float, nonevents: float, what: str, name: str = "y_true") -> None:
    """Refuse rows of one class alone."""
    if events > 0 and nonevents > 0:
        return
    missing = "events (1)" if events <= 0 else "non-events (0)"
    raise InputError(
        f"{name} holds no {missing} with positive weight, so {what} not defined. Pass rows of both "
        "classes."
    )
