"""How sure a decision curve is: bands, paired differences between models, one number with limits.

All functions draw rows with replacement, seeded, and let every model see the same draws.  Rows keep
their weights when drawn.  Nothing is refitted: limits are those of the given risks, on rows
that the models have not learnt from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from netbenefit.common import (
    FloatArray,
    InputError,
    IntArray,
    Table,
    check_count,
    check_level,
    check_option,
    check_seed,
    shorten,
)
from netbenefit.metrics.benefit import given_part
from netbenefit.metrics.curves import (
    Measure,
    check_per,
    curve_table,
    make_study,
    measured,
    risk_breakpoints,
)
from netbenefit.metrics.study import Rates, Study
from netbenefit.metrics.survival import TimeToEvent
from netbenefit.metrics.thresholds import Thresholds, ThresholdsLike, as_thresholds

# -- the bootstrap of decision curves: rows are drawn as counts of the units that stand for them ---


#: Numbers in memory at a time while drawing.
_AT_ONCE = 2_000_000
#: Tries for a draw that has rates at all (weights may be zero in most rows).
_MOST_TRIES = 1000
#: Standard errors below this are rounding errors of a number that does not vary.
_NO_SPREAD = 1e-12


def draw(
    study: Study, n_resamples: int, seed: int, value: Callable[[Rates], FloatArray]
) -> FloatArray:
    """Compute a value on resamples: (…, draws).

    Indistinguishable rows are merged into units. In each stratum as many rows are drawn as it has,
    with replacement (multinomial counts of units), and every row drawn keeps its weight. The rates
    of all strategies come from the same counts.
    """
    merged = study.merged()
    sources = _Source(merged, seed)
    rates = len(merged.grid) * len(merged.names)
    at_once = max(1, _AT_ONCE // max(merged.weight.size, 20 * merged.outcome.width(), rates))
    parts = []
    for start in range(0, n_resamples, at_once):
        weights = sources.weights(min(at_once, n_resamples - start))
        parts.append(value(merged.rates(weights)))
    return np.concatenate(parts, axis=-1)


class _Source:
    """Draws of weights, with one stream of random numbers per stratum, whatever the batches."""

    def __init__(self, study: Study, seed: int) -> None:
        self.study = study
        units = [np.flatnonzero(study.stratum == s) for s in np.unique(study.stratum)]
        seeds = np.random.SeedSequence(seed).spawn(len(units))
        self.strata = [(u, np.random.default_rng(s)) for u, s in zip(units, seeds, strict=True)]

    def weights(self, size: int) -> FloatArray:
        """Weights of the units, (units, size), each with rates."""
        drawn = self._draw(size)
        for _ in range(_MOST_TRIES):
            bad = np.flatnonzero(~self.study.outcome.usable(drawn))
            if not bad.size:
                return drawn
            drawn[:, bad] = self._draw(bad.size)
        raise InputError(
            "hardly any resample holds rows with weight. Give more rows a positive sample_weight."
        )

    def _draw(self, size: int) -> FloatArray:
        drawn = np.empty((self.study.weight.size, size))
        for units, rng in self.strata:
            count = self.study.count[units]
            n = int(count.sum())
            drawn[units] = rng.multinomial(n, count / n, size=size).T
        return drawn * self.study.weight[:, None]


def bands_of(value: FloatArray, draws: FloatArray, level: float) -> dict[str, FloatArray]:
    """Limits of curves, one per row of ``value``; each row is simultaneous over its thresholds.

    Pointwise limits are quantiles of the draws. Simultaneous ones are value ± c · standard error,
    with c the quantile of the largest |draw − value| / standard error over thresholds (max-t).
    """
    unknown = np.isnan(value)
    draws = _complete(np.where(unknown[..., None], 0.0, draws))
    error = draws.std(axis=-1, ddof=1)
    lower, upper = quantile_limits(draws, level)
    varies = ~unknown & (error > _NO_SPREAD)
    ratio = np.zeros(draws.shape)
    apart = np.abs(draws - value[..., None])
    np.divide(apart, error[..., None], out=ratio, where=varies[..., None])
    reach = np.quantile(ratio.max(axis=-2), level, axis=-1)[..., None] * error
    columns = {
        "standard_error": error,
        "lower": lower,
        "upper": upper,
        "simultaneous_lower": value - reach,
        "simultaneous_upper": value + reach,
    }
    for column in columns.values():
        column[unknown] = math.nan
    return columns


def _complete(draws: FloatArray) -> FloatArray:
    """Leave out draws in which some value is not defined, such as a share of no events."""
    lost = np.isnan(draws).any(axis=tuple(range(draws.ndim - 1)))
    if (~lost).sum() < 2:
        raise InputError(
            "the measure is defined in hardly any resample: there are too few events. Use "
            'measure="net_benefit", or more rows.'
        )
    return draws[..., ~lost] if lost.any() else draws


def quantile_limits(draws: FloatArray, level: float) -> Iterator[FloatArray]:
    """Lower and upper quantile over the draws."""
    tail = (1.0 - level) / 2.0
    yield from np.quantile(draws, [tail, 1.0 - tail], axis=-1)


def check_draws(n_resamples: Any, level: Any, random_state: Any) -> tuple[int, float, int]:
    """Check what all bootstrap functions take."""
    count = check_count(n_resamples, "n_resamples", 2, ". 1000 is usual.")
    return count, check_level(level), check_seed(random_state)


# -- bands around decision curves of out-of-fold risks, by a bootstrap of rows ---------------------


#: Rows × resamples that are in memory at a time.
_MOST_CELLS = 4_000_000


def curve_bands(
    event: NDArray[np.bool_],
    rows: IntArray,
    risks: Mapping[str, FloatArray],
    thresholds: Thresholds,
    *,
    weight: FloatArray | None = None,
    level: float = 0.95,
    n_resamples: int = 500,
    random_state: int = 0,
) -> Table:
    """Percentile bands of net benefit, one row per model and threshold.

    Rows of the data are drawn with replacement, each with all of its predictions, (n_predictions,),
    whose row ``rows`` names. Models are not fitted again.
    """
    n_resamples, level, seed = check_draws(n_resamples, level, random_state)
    random = np.random.default_rng(seed)
    base = np.ones(event.size) if weight is None else weight
    part, tail = given_part(thresholds), 100 * (1 - level) / 2
    found: dict[str, list[FloatArray]] = {name: [] for name in risks}
    counted = {name: _Counted.of(event, rows, r, thresholds) for name, r in risks.items()}
    step = max(1, _MOST_CELLS // event.size)
    for first in range(0, n_resamples, step):
        number = min(step, n_resamples - first)
        drawn = random.multinomial(event.size, np.full(event.size, 1 / event.size), size=number)
        for name, counts in counted.items():
            found[name].append(counts.net_benefit(drawn * base, thresholds)[:, part])
    ends = [_percentiles(np.concatenate(found[name]), [tail, 100 - tail]) for name in risks]
    p = thresholds.given
    return Table(
        {
            "model": np.repeat(np.array(list(risks), dtype=object), p.size),
            "threshold": np.tile(p, len(risks)),
            "lower": np.concatenate([low for low, _ in ends]),
            "upper": np.concatenate([high for _, high in ends]),
        }
    )


def _percentiles(values: FloatArray, at: list[float]) -> FloatArray:
    """Of each column, over the resamples in which any row has weight."""
    known = values[~np.isnan(values).any(axis=1)]
    if not len(known):
        raise InputError("no resample holds a row with weight. Pass more rows, or more resamples.")
    result: FloatArray = np.percentile(known, at, axis=0)
    return result


class _Counted(NamedTuple):
    """Predictions by row and level: counted once, a resample only weighs them."""

    positive: csr_array
    negative: csr_array

    @classmethod
    def of(
        cls, event: NDArray[np.bool_], rows: IntArray, risk: FloatArray, grid: Thresholds
    ) -> _Counted:
        place, shape = (rows, grid.level_of(risk)), (event.size, len(grid))
        ill = event[rows]
        return cls(*(csr_array((side * 1.0, place), shape=shape) for side in (ill, ~ill)))

    def net_benefit(self, mass: FloatArray, grid: Thresholds) -> FloatArray:
        """Of every resample (rows) at every threshold (columns); NaN where no row has weight."""
        tp, fp = (
            np.cumsum((mass @ side)[:, ::-1], axis=1)[:, ::-1]
            for side in (self.positive, self.negative)
        )
        total = tp[:, :1] + fp[:, :1]
        result: FloatArray = (tp - grid.odds * fp) / np.where(total > 0, total, np.nan)
        return result


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
        Groups to draw rows within, such as centres.  By default all rows are drawn together, so
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
          given thresholds: estimate ± c standard errors, c the quantile of the largest
          deviation in standard errors (max-t).

        Where too few positives are followed to the horizon, estimate and bands are missing (NaN).
        In resamples, a curve over time that ends before the horizon is carried forward, and
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
    check_option("measure", measure, get_args(Measure))
    per = check_per(per)
    size, level, seed = check_draws(n_resamples, level, random_state)
    grid = as_thresholds(thresholds)
    study = make_study(y_true, risks, grid, sample_weight, harm, prevalence, strata)
    table = curve_table(
        study,
        weighted=sample_weight is not None,
        standardised=measure == "standardised_net_benefit",
        per=per,
    )
    part = given_part(grid)
    value = table[measure].reshape(len(study.names), -1)
    draws = draw(study, size, seed, lambda rates: measured(study, rates, measure, per)[:, part])
    columns: dict[str, Any] = {**table, "band_of": np.full(table.n_rows, measure)}
    columns |= {name: band.ravel() for name, band in bands_of(value, draws, level).items()}
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
        of bands of :func:`decision_bands`.  One row per threshold and strategy other than the
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
    check_option("measure", measure, get_args(Measure))
    per = check_per(per)
    size, level, seed = check_draws(n_resamples, level, random_state)
    grid = as_thresholds(thresholds)
    study = make_study(y_true, risks, grid, sample_weight, harm, prevalence, strata)
    base = _check_reference(reference, study)
    others = [i for i in range(len(study.names)) if i != base]
    part = given_part(grid)

    def difference(rates: Rates) -> FloatArray:
        value = measured(study, rates, measure, per)[:, part]
        return np.asarray(value[others] - value[base])

    value = difference(study.rates())[:, :, 0]
    value[(study.missing[others] | study.missing[base])[:, part]] = np.nan
    bands = bands_of(value, draw(study, size, seed, difference), level)
    p = grid.given
    columns: dict[str, Any] = {
        "model": np.repeat([study.names[i] for i in others], p.size),
        "reference": np.full(value.size, study.names[base]),
        "threshold": np.tile(p, len(others)),
        "difference_of": np.full(value.size, measure),
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
    """One number per model over the range of thresholds: its mean net benefit, with limits.

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
        ``model``, ``aunbc`` (whichever mean ``area`` chooses), ``standard_error``, ``lower``,
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
    size, level, seed = check_draws(n_resamples, level, random_state)
    grid, worth = _area(area, as_thresholds(thresholds), risks)
    study = make_study(y_true, risks, grid, sample_weight, harm, prevalence, strata)
    base = _check_reference(reference, study)

    def mean(rates: Rates) -> FloatArray:
        tp = np.einsum("l,slb->sb", worth[0], rates.tp)
        fp = np.einsum("l,slb->sb", worth[1], rates.fp)
        return np.asarray(tp - fp - study.harms[:, None])

    value = mean(study.rates())[:, 0]
    value[(study.missing & (worth[0] > 0)).any(axis=1)] = np.nan
    draws = draw(study, size, seed, mean)
    draws[np.isnan(value)] = np.nan
    lower, upper = quantile_limits(draws, level)
    apart = draws - draws[base]
    apart_lower, apart_upper = quantile_limits(apart, level)
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
    check_option("area", area, get_args(Area))
    if area == "weights":
        return grid, np.stack([grid.weight_array, grid.weight_array * grid.odds])
    if area == "length":
        return grid, np.stack([grid.length_weights, grid.length_weights * grid.odds])
    low, high = float(grid.given[0]), grid.end
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
            f"reference={reference!r} is not one of the models. Use one of {shorten(study.names)}."
        )
    return study.names.index(reference)
