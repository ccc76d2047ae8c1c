"""How sure a decision curve is: bands, paired differences between models, one number with limits.

All functions draw rows with replacement, seeded, and let every model see the same draws.  Rows keep
their weights when drawn.  Nothing is refitted: limits speak of the risks as they were predicted, on
rows that the models have not learnt from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.common.checks import FloatArray, InputError, shorten
from netbenefit.common.table import Table
from netbenefit.metrics.decision_curve import curve_table, risk_breakpoints
from netbenefit.metrics.decision_draws import bands_of, check_draws, draw, quantile_limits
from netbenefit.metrics.decision_input import (
    Measure,
    check_measure,
    check_per,
    make_study,
    measured,
)
from netbenefit.metrics.net_benefit import asked_part
from netbenefit.metrics.study import Rates, Study
from netbenefit.metrics.survival import TimeToEvent
from netbenefit.metrics.thresholds import Thresholds, ThresholdsLike, as_thresholds

__all__ = ["decision_bands", "decision_differences", "decision_summary"]

Area = Literal["weights", "length", "exact"]


def decision_bands(
    y_true: ArrayLike | TimeToEvent,
    risks: ArrayLike | Mapping[str, ArrayLike],
    thresholds: ThresholdsLike = None,
    *,
    measure: Measure = "net_benefit",
    sample_weight: ArrayLike | None = None,
    harm: float | Mapping[str, float] | None = None,
    prevalence: float | None = None,
    per: float = 1,
    strata: ArrayLike | None = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    random_state: int = 0,
) -> Table:
    """Decision curves with bootstrap bands, pointwise and simultaneous.

    Parameters
    ----------
    y_true, risks, thresholds, sample_weight, harm, prevalence, per
        As in :func:`decision_curve`.
    measure : {"net_benefit", "standardised_net_benefit", "net_intervention_avoided"}
        What the bands are for.
    strata : array-like of shape (n_rows,), optional
        Groups to draw rows within, such as centres.  By default all rows are drawn from one pot, so
        that the number of events varies; with ``prevalence``, cases and controls are drawn apart,
        as they were sampled.
    n_resamples : int, default=1000
    level : float, default=0.95
        Confidence level.
    random_state : int, default=0
        Seed; the same seed gives the same bands.

    Returns
    -------
    Table
        The table of :func:`decision_curve`, and

        - ``band_of``: the measure;
        - ``standard_error``: standard deviation over the resamples;
        - ``lower``, ``upper``: for each threshold on its own (quantiles of the resamples);
        - ``simultaneous_lower``, ``simultaneous_upper``: for the whole curve of a model, over all
          thresholds asked for: estimate ± c standard errors, c the quantile of the largest
          deviation in standard errors (max-t).

    Notes
    -----
    Where too few positives are followed to the horizon the estimate and its bands are missing
    (NaN).  In resamples, a curve over time that ends before the horizon is carried forward, and
    resamples without events, which have no standardised net benefit, are left out.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 1] * 10
    >>> risk = [0.1, 0.2, 0.3, 0.3, 0.6, 0.6, 0.7, 0.9] * 10
    >>> table = decision_bands(y, {"card": risk}, [0.2, 0.5])
    >>> shown = ("threshold", "net_benefit", "lower", "upper", "simultaneous_lower")
    >>> Table({name: table[name][:2].round(2) for name in shown})
    threshold  net_benefit  lower  upper  simultaneous_lower
          0.2         0.41   0.27   0.53                0.27
          0.5         0.25   0.11   0.39                0.10
    """
    wanted, many = check_measure(measure), check_per(per)
    size, sure, seed = check_draws(n_resamples, level, random_state)
    study = make_study(
        y_true,
        risks,
        as_thresholds(thresholds),
        sample_weight=sample_weight,
        harm=harm,
        prevalence=prevalence,
        strata=strata,
    )
    table = curve_table(
        study,
        weighted=sample_weight is not None,
        standardised=wanted == "standardised_net_benefit",
        per=many,
    )
    part = asked_part(study.grid)
    value = table[wanted].reshape(len(study.names), -1)
    draws = draw(study, size, seed, lambda rates: measured(study, rates, wanted, many)[:, part])
    columns: dict[str, Any] = {**table, "band_of": np.full(table.n_rows, wanted)}
    columns |= {name: band.ravel() for name, band in bands_of(value, draws, sure).items()}
    return Table(columns)


def decision_differences(
    y_true: ArrayLike | TimeToEvent,
    risks: Mapping[str, ArrayLike],
    thresholds: ThresholdsLike = None,
    *,
    reference: str | None = None,
    measure: Measure = "net_benefit",
    sample_weight: ArrayLike | None = None,
    harm: float | Mapping[str, float] | None = None,
    prevalence: float | None = None,
    per: float = 1,
    strata: ArrayLike | None = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    random_state: int = 0,
) -> Table:
    """Differences between the curves of models and one of them, with paired bands.

    Parameters
    ----------
    y_true, risks, thresholds, measure, sample_weight, harm, prevalence, per
        As in :func:`decision_bands`.
    reference : str, optional
        The model, "Treat All" or "Treat None" to compare with; by default the first model.
    strata, n_resamples, level, random_state
        As in :func:`decision_bands`.  Both curves of a difference come from the same resamples.

    Returns
    -------
    Table
        ``model``, ``reference``, ``threshold``, ``difference`` (model − reference), and the columns
        of bands of :func:`decision_bands`.  One row a threshold and strategy other than the
        reference.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 1] * 10
    >>> risks = {"card": [0.1, 0.2, 0.3, 0.3, 0.6, 0.6, 0.7, 0.9] * 10, "coin": [0.5] * 80}
    >>> table = decision_differences(y, risks, [0.2, 0.5], reference="coin")
    >>> shown = ("model", "difference", "lower", "upper")
    >>> Table({name: table[name][:2] for name in shown})
    model  difference   lower  upper
    card       0.0312  0.0156   0.05
    card       0.2500  0.1122   0.40
    """
    wanted, many = check_measure(measure), check_per(per)
    size, sure, seed = check_draws(n_resamples, level, random_state)
    study = make_study(
        y_true,
        risks,
        as_thresholds(thresholds),
        sample_weight=sample_weight,
        harm=harm,
        prevalence=prevalence,
        strata=strata,
    )
    base = _check_reference(reference, study)
    others = [i for i in range(len(study.names)) if i != base]
    part = asked_part(study.grid)

    def difference(rates: Rates) -> FloatArray:
        value = measured(study, rates, wanted, many)[:, part]
        return np.asarray(value[others] - value[base])

    value = difference(study.rates())[:, :, 0]
    value[(study.missing[others] | study.missing[base])[:, part]] = np.nan
    bands = bands_of(value, draw(study, size, seed, difference), sure)
    p = study.grid.asked
    columns: dict[str, Any] = {
        "model": np.repeat([study.names[i] for i in others], p.size),
        "reference": np.full(value.size, study.names[base]),
        "threshold": np.tile(p, len(others)),
        "difference_of": np.full(value.size, wanted),
        "difference": value.ravel(),
    }
    return Table(columns | {name: band.ravel() for name, band in bands.items()})


def decision_summary(
    y_true: ArrayLike | TimeToEvent,
    risks: ArrayLike | Mapping[str, ArrayLike],
    thresholds: ThresholdsLike = None,
    *,
    area: Area = "weights",
    reference: str | None = None,
    sample_weight: ArrayLike | None = None,
    harm: float | Mapping[str, float] | None = None,
    prevalence: float | None = None,
    strata: ArrayLike | None = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    random_state: int = 0,
) -> Table:
    """One number a model over the range of thresholds: its mean net benefit, with limits.

    Parameters
    ----------
    y_true, risks, thresholds, sample_weight, harm, prevalence
        As in :func:`decision_curve`.
    area : {"weights", "length", "exact"}, default="weights"
        ``"weights"`` is Σ ω_i NB_i with the weights of the thresholds (``Thresholds.of(…,
        weights=density)`` for a density), what training maximises; ``"length"`` is AUNBC,
        Σ (p_{i+1} − p_i) NB_i, as :func:`aunbc` computes it; ``"exact"`` is the mean of the curve
        itself, integrated between the risks at which it breaks, from the first threshold to the end
        of the range, which has to be below 1.  The last one does not depend on a grid.
    reference : str, optional
        As in :func:`decision_differences`.
    strata, n_resamples, level, random_state
        As in :func:`decision_bands`.

    Returns
    -------
    Table
        ``model``, ``aunbc`` (whichever mean was asked for), ``standard_error``, ``lower``,
        ``upper``; ``reference``, ``difference`` to it and ``difference_standard_error``,
        ``difference_lower``, ``difference_upper``.  Limits are quantiles of the resamples.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 1] * 10
    >>> risk = [0.1, 0.2, 0.3, 0.3, 0.6, 0.6, 0.7, 0.9] * 10
    >>> table = decision_summary(y, {"card": risk}, "0.1:0.5:0.1", area="exact")
    >>> Table({name: table[name] for name in ("model", "aunbc", "lower", "upper")})
    model        aunbc  lower   upper
    card        0.3572  0.238  0.4703
    Treat All   0.2653  0.100  0.4122
    Treat None  0.0000  0.000  0.0000
    """
    size, sure, seed = check_draws(n_resamples, level, random_state)
    grid = as_thresholds(thresholds)
    found, worth = _area(area, grid, risks)
    study = make_study(
        y_true,
        risks,
        found,
        sample_weight=sample_weight,
        harm=harm,
        prevalence=prevalence,
        strata=strata,
    )
    base = _check_reference(reference, study)

    def mean(rates: Rates) -> FloatArray:
        tp = np.einsum("l,slb->sb", worth[0], rates.tp)
        fp = np.einsum("l,slb->sb", worth[1], rates.fp)
        return np.asarray(tp - fp - study.harms[:, None])

    value = mean(study.rates())[:, 0]
    value[(study.missing & (worth[0] > 0)).any(axis=1)] = np.nan
    draws = draw(study, size, seed, mean)
    draws[np.isnan(value)] = np.nan
    lower, upper = quantile_limits(draws, sure)
    apart = draws - draws[base]
    apart_lower, apart_upper = quantile_limits(apart, sure)
    return Table(
        {
            "model": np.array(study.names),
            "aunbc": value,
            "standard_error": draws.std(axis=-1, ddof=1),
            "lower": lower,
            "upper": upper,
            "reference": np.full(value.size, study.names[base]),
            "difference": value - value[base],
            "difference_standard_error": apart.std(axis=-1, ddof=1),
            "difference_lower": apart_lower,
            "difference_upper": apart_upper,
        }
    )


def _area(area: Any, grid: Thresholds, risks: Any) -> tuple[Thresholds, FloatArray]:
    """Where rates are needed, and what a unit of TP/N and of FP/N is worth there."""
    if area == "weights":
        return grid, np.stack([grid.weight_array, grid.weight_array * grid.odds])
    if area == "length":
        return grid, np.stack([grid.length_weights, grid.length_weights * grid.odds])
    if area != "exact":
        raise InputError(f'area={area!r} is not known. Use "weights", "length" or "exact".')
    low, high = float(grid.asked[0]), grid.end
    if not low < high < 1.0:
        raise InputError(
            f'area="exact" needs a range of thresholds that ends below 1, but this one goes from '
            f"{low:g} to {high:g}. Pass Thresholds.range(low, high, step), or text low:high:step."
        )
    points = risk_breakpoints(risks, low, high)
    # The curve is continuous from the left: on (a, b] those are positive whose risk reaches b.
    ends = points.array
    starts = np.concatenate([[low], np.maximum(ends[:-1], low)])
    width = np.where(ends > low, ends - starts, 0.0)
    cost = np.where(ends > low, np.log1p(-starts) - np.log1p(-ends) - width, 0.0)
    return points, np.stack([width, cost]) / (high - low)


def _check_reference(reference: str | None, study: Study) -> int:
    if reference is None:
        return 0
    if reference not in study.names:
        raise InputError(
            f"reference={reference!r} is no model here. Use one of {shorten(study.names)}."
        )
    return study.names.index(reference)
