"""Bands around decision curves of out-of-fold risks, by a bootstrap of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from netbenefit.common.checks import FloatArray, InputError, IntArray
from netbenefit.common.table import Table
from netbenefit.metrics.decision_draws import check_draws
from netbenefit.metrics.net_benefit import asked_part
from netbenefit.metrics.thresholds import Thresholds

__all__ = ["curve_bands"]

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
    """Percentile bands of net benefit, one row a model and threshold.

    Rows of the data are drawn with replacement; all predictions of a row, by every model and in
    every repeat, come along with it.  Models are not learnt anew, so that the bands tell how far
    the net benefit of *these* predictions depends on which rows were there.

    Parameters
    ----------
    event : (n_rows,) bool
    rows : (n_predictions,) int
        Which row each out-of-fold prediction is about.
    risks : mapping of str to (n_predictions,) float
    thresholds : Thresholds
    weight : (n_rows,) float, optional
    level : float, default=0.95
    n_resamples : int, default=500
    random_state : int, default=0

    Examples
    --------
    >>> event = np.array([False, True] * 20)
    >>> bands = curve_bands(event, np.arange(40), {"card": event * 1.0}, Thresholds.of([0.5]))
    >>> bool((bands["lower"] <= 0.5).all() and (bands["upper"] >= 0.5).all())
    True
    """
    n_resamples, level, seed = check_draws(n_resamples, level, random_state)
    random = np.random.default_rng(seed)
    base = np.ones(event.size) if weight is None else weight
    part, tail = asked_part(thresholds), 100 * (1 - level) / 2
    found: dict[str, list[FloatArray]] = {name: [] for name in risks}
    counted = {name: _Counted.of(event, rows, r, thresholds) for name, r in risks.items()}
    step = max(1, _MOST_CELLS // event.size)
    for first in range(0, n_resamples, step):
        number = min(step, n_resamples - first)
        drawn = random.multinomial(event.size, np.full(event.size, 1 / event.size), size=number)
        for name, counts in counted.items():
            found[name].append(counts.net_benefit(drawn * base, thresholds)[:, part])
    ends = [_percentiles(np.concatenate(found[name]), [tail, 100 - tail]) for name in risks]
    p = thresholds.asked
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
