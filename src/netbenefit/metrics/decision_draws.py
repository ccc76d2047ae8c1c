"""The bootstrap of decision curves: rows are drawn as counts of the units that stand for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np

from netbenefit.common.checks import FloatArray, InputError, check_level, check_seed
from netbenefit.metrics.study import Rates, Study

__all__ = ["Bands", "bands_of", "check_draws", "draw"]

#: Numbers held at a time while drawing, so that memory stays small.
_AT_ONCE = 2_000_000
#: Tries for a draw that has rates at all (weights may be zero in most rows).
_MOST_TRIES = 1000
#: Standard errors below this are rounding errors of a number that does not vary.
_NO_SPREAD = 1e-12


def draw(
    study: Study, n_resamples: int, seed: int, value: Callable[[Rates], FloatArray]
) -> FloatArray:
    """Compute a value on resamples: (…, draws).

    1. Merge rows that cannot be told apart into units.
    2. In each stratum draw as many rows as it has, with replacement: multinomial counts of units.
       Every row drawn keeps its weight.
    3. Compute the rates of all strategies from the same counts, and the value from the rates.
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
    """Draws of weights; one stream of random numbers a stratum, whatever the batches."""

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


class Bands(dict[str, FloatArray]):
    """Columns around an estimate: standard error, pointwise and simultaneous limits."""


def bands_of(value: FloatArray, draws: FloatArray, level: float) -> Bands:
    """Limits of curves, one a row of ``value``; each row is simultaneous over its thresholds.

    Pointwise limits are quantiles of the draws.  Simultaneous ones are value ± c · standard error,
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
    columns = Bands(
        standard_error=error,
        lower=lower,
        upper=upper,
        simultaneous_lower=value - reach,
        simultaneous_upper=value + reach,
    )
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
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, Integral) or n_resamples < 2:
        raise InputError(
            f"n_resamples={n_resamples!r} must be a whole number of at least 2. 1000 is usual."
        )
    return int(n_resamples), check_level(level), check_seed(random_state)
