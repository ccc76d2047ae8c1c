"""True and false positive rates of many models, thresholds and resamples at once.

A *unit* stands for one row, or for several rows that nothing here can tell apart.  Arrays over
resamples have them on the last axis: weights are (units, draws), rates (models, levels, draws).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import FloatArray, InputError, IntArray
from netbenefit.metrics.benefit import sums_by
from netbenefit.metrics.survival import TimeToEvent, undetermined
from netbenefit.metrics.thresholds import Thresholds

BoolArray = NDArray[np.bool_]

#: Stands for no weight at all where one divides by it.
_TINY = 1e-300


class Rates(NamedTuple):
    """Shares of the population: positive with the event, positive without it, with the event."""

    tp: FloatArray  # (strategies, levels, draws)
    fp: FloatArray
    share: FloatArray  # (draws,)


@dataclass(frozen=True)
class Outcome:
    """What rates are computed from; ``code`` is all that matters of each unit's outcome."""

    code: IntArray

    def take(self, units: IntArray) -> Self:
        """Keep these units."""
        return replace(self, code=self.code[units])

    def usable(self, weights: FloatArray) -> BoolArray:
        """Which draws have rates: those with weight."""
        return _has_weight(weights)

    def width(self) -> int:
        """How many numbers a draw needs at a time."""
        return 1

    def rates(self, levels: IntArray, n_levels: int, weights: FloatArray) -> Rates:
        """Rates of the models, from the level of every unit by every model."""
        raise NotImplementedError


@dataclass(frozen=True)
class BinaryOutcome(Outcome):
    """Events (code 1) and non-events (0), perhaps of a case-control sample."""

    prevalence: float | None = None

    def usable(self, weights: FloatArray) -> BoolArray:
        """Which draws have rates: they need weight, for a given prevalence in both classes."""
        if self.prevalence is None:
            return super().usable(weights)
        event = self.code == 1
        return _has_weight(weights[event]) & _has_weight(weights[~event])

    def rates(self, levels: IntArray, n_levels: int, weights: FloatArray) -> Rates:
        """Count from the highest level down."""
        event = self.code == 1
        parts = []
        for rows in (event, ~event):
            inside = weights[rows]
            parts.append(
                np.stack([_from_top(_sums(level[rows], n_levels, inside)) for level in levels])
            )
        tp, fp = parts
        events, nonevents = tp[0, 0], fp[0, 0]
        if self.prevalence is None:
            n = events + nonevents
            return Rates(tp / n, fp / n, events / n)
        share = np.full(events.shape, self.prevalence)
        return Rates(tp / events * share, fp / nonevents * (1.0 - share), share)


@dataclass(frozen=True)
class SurvivalOutcome(Outcome):
    """Right-censored outcomes at a horizon, coded as 3 · slot + kind.

    A unit of slot s was at risk at the first s times of events (of any kind) by the horizon; kind
    1 or 2: its own event, or a competing one, was at the last of them.
    """

    n_times: int
    competing: bool

    @classmethod
    def of(cls, outcome: TimeToEvent) -> Self:
        """Code checked rows."""
        kind = outcome.kind
        at = np.unique(outcome.time[kind > 0])
        slot = np.searchsorted(at, outcome.time, side="right")
        return cls(3 * slot + kind, at.size, bool((kind == 2).any()))

    def width(self) -> int:
        """How many numbers a draw needs at a time: a curve over time."""
        return self.n_times + 1

    def rates(self, levels: IntArray, n_levels: int, weights: FloatArray) -> Rates:
        """Share called positive, times the risk by the horizon among them."""
        n = weights.sum(axis=0)
        tp, fp = np.empty((2, len(levels), n_levels, n.size))
        for i, level in enumerate(levels):
            positive, risk = self._from_top(level, n_levels, weights)
            tp[i], fp[i] = positive / n * risk, positive / n * (1.0 - risk)
        return Rates(tp, fp, tp[0, 0] + 0.0)  # at level 0 every row is positive

    def _from_top(
        self, level: IntArray, n_levels: int, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Weight, and risk by the horizon, of the units at or above each level."""
        base = 3 * self.n_times + 3
        cells, cell_of = np.unique(level * base + self.code, return_inverse=True)
        sums = np.ascontiguousarray(_sums(cell_of, cells.size, weights).T)
        cell_level, code = np.divmod(cells, base)
        starts = np.searchsorted(cell_level, np.arange(n_levels + 1))
        counts = _Counts(weights.shape[1], self.n_times, self.competing)
        positive, risk = np.zeros((2, n_levels, weights.shape[1]))
        for i in range(n_levels - 1, -1, -1):
            here = slice(starts[i], starts[i + 1])
            if here.start < here.stop:
                counts.add(code[here], sums[:, here])
                positive[i], risk[i] = counts.risk()
            elif i + 1 < n_levels:
                positive[i], risk[i] = positive[i + 1], risk[i + 1]
        return positive, risk


class _Counts:
    """Weights leaving by time, (draws, times), the last time first: running sums are at risk."""

    def __init__(self, n_draws: int, n_times: int, competing: bool) -> None:
        self.leaving = np.zeros((n_draws, n_times + 1))
        self.events = np.zeros((n_draws, n_times))
        self.others = np.zeros((n_draws, n_times)) if competing else None
        self._at_risk, self._hazard = np.empty_like(self.leaving), np.empty_like(self.events)

    def add(self, code: IntArray, weights: FloatArray) -> None:
        """Add cells, no two of the same code."""
        slot, kind = np.divmod(code, 3)
        place = self.events.shape[1] - slot
        for i, into in enumerate((None, self.events, self.others)):
            these = kind == i
            self.leaving[:, place[these]] += weights[:, these]
            if into is not None:
                into[:, place[these]] += weights[:, these]

    def risk(self) -> tuple[FloatArray, FloatArray]:
        """Total weight, and the risk by the horizon, of each draw."""
        np.cumsum(self.leaving, axis=1, out=self._at_risk)
        at_risk = self._at_risk[:, :-1]
        np.maximum(at_risk, _TINY, out=at_risk)  # no row at risk: no events either
        total = self._at_risk[:, -1].copy()
        if self.others is None:
            stay = self._stay(self.events, at_risk)
            return total, np.asarray(1.0 - np.prod(stay, axis=1))
        hazard = np.minimum(self.events / at_risk, 1.0)
        stay = self._stay(self.events + self.others, at_risk)
        free = np.cumprod(stay[:, ::-1], axis=1)  # forwards in time
        risk = hazard[:, -1:].sum(axis=1) + (free[:, :-1] * hazard[:, -2::-1]).sum(axis=1)
        return total, np.asarray(np.minimum(risk, 1.0))

    def _stay(self, ended: FloatArray, at_risk: FloatArray) -> FloatArray:
        hazard = self._hazard
        np.divide(ended, at_risk, out=hazard)
        np.minimum(hazard, 1.0, out=hazard)  # sums of weights may differ in the last digit
        return np.subtract(1.0, hazard, out=hazard)


@dataclass(frozen=True)
class Study:
    """All that rates are computed from; strategies are the models, treating all, treating none."""

    grid: Thresholds
    names: tuple[str, ...]
    harms: FloatArray  # (models,)
    levels: IntArray  # (models, units)
    outcome: Outcome
    weight: FloatArray  # (units,), of each row that the unit stands for
    count: IntArray  # (units,): rows that the unit stands for
    stratum: IntArray  # (units,)
    missing: BoolArray  # (strategies, levels): follow-up is too short

    def rates(self, weights: FloatArray | None = None) -> Rates:
        """Rates of all strategies, for the rows or for given weights (units, draws)."""
        if weights is None:
            weights = (self.weight * self.count)[:, None]
        models = self.outcome.rates(self.levels, len(self.grid), weights)
        shape = (1, *models.tp.shape[1:])
        share = np.broadcast_to(models.share, shape)
        none = np.zeros(shape)
        return Rates(
            np.concatenate([models.tp, share, none]),
            np.concatenate([models.fp, 1.0 - share, none]),
            models.share,
        )

    def merged(self) -> Self:
        """Let one unit stand for all indistinguishable rows."""
        key = np.zeros(self.weight.size, dtype=np.int64)
        _, by_weight = np.unique(self.weight, return_inverse=True)
        for column in (self.outcome.code, self.stratum, by_weight, *self.levels):
            _, key = np.unique(key * (int(column.max()) + 1) + column, return_inverse=True)
        _, first, count = np.unique(key, return_index=True, return_counts=True)
        return replace(
            self,
            levels=self.levels[:, first],
            outcome=self.outcome.take(first),
            weight=self.weight[first],
            count=count.astype(np.int64),
            stratum=self.stratum[first],
        )


def missing_levels(
    outcome: TimeToEvent, levels: IntArray, n_levels: int, weight: FloatArray
) -> BoolArray:
    """Tell, for each model and level, whether its positives are not followed long enough."""
    rows = weight > 0
    if undetermined(outcome, rows):
        raise InputError(
            f"no row is followed to the horizon {outcome.horizon:g} (the longest time is "
            f"{outcome.time[rows].max():g}), so the risk by then is not known. Pass an earlier one."
        )
    reach = np.minimum(outcome.time, outcome.horizon)
    open_end = (outcome.event == 0) | (outcome.time >= outcome.horizon)
    missing = np.zeros((len(levels), n_levels), dtype=np.bool_)
    for i, level in enumerate(levels):
        last_open, last_event = np.full((2, n_levels), -1.0)
        for last, part in ((last_open, rows & open_end), (last_event, rows & ~open_end)):
            np.maximum.at(last, level[part], reach[part])
            last[:] = np.maximum.accumulate(last[::-1])[::-1]
        missing[i] = (last_open >= last_event) & (last_open >= 0) & (last_open < outcome.horizon)
    return missing


def _sums(index: IntArray, size: int, values: FloatArray) -> FloatArray:
    """Add up the rows of ``values`` by index: (size, draws)."""
    if values.shape[1] == 1:
        return sums_by(index, values[:, 0], size)[:, None]
    from scipy.sparse import csr_array  # late: only resamples need it

    ones = np.ones(index.size)
    adder = csr_array((ones, (index, np.arange(index.size))), shape=(size, index.size))
    total: FloatArray = adder @ values
    return total


def _has_weight(weights: FloatArray) -> BoolArray:
    return np.asarray(weights.sum(axis=0) > 0)


def _from_top(by_level: FloatArray) -> FloatArray:
    return np.cumsum(by_level[::-1], axis=0)[::-1]
