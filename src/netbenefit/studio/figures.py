"""What a card does on some rows: net benefit, decision curve, calibration, and who is affected.

Rows with the same scores and outcome count as one with their weight, so that figures cost as much
as there are scores, not rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import Scorecard, Term, value_text
from netbenefit.common import FloatArray, InputError, IntArray, Table, did_you_mean
from netbenefit.data import merge_rows
from netbenefit.metrics import (
    Thresholds,
    count_effective_rows,
    decision_curve,
    net_benefit,
    weighted_net_benefit,
    wilson,
)
from netbenefit.studio.rows import RowSet
from netbenefit.updating import LevelRow, count_levels_of_card

#: Thresholds of a decision curve beside the card's own: one for each percent of its range.
_STEP = 0.01
#: Numbers of more values than this are divided by quarters of the training rows.
_FEW_VALUES = 8
#: Most levels of a column that are groups of their own.
_MOST_LEVELS = 12
_OTHERS, _MISSING = "other levels", "missing"


class Plan(NamedTuple):
    """A card, and the points on conditions that it was made of."""

    card: Scorecard
    terms: Sequence[Term]
    points: Sequence[int]

    def scores(self, rows: RowSet) -> IntArray:
        """Scores of rows as the card counts them."""
        return rows.scores(self.terms, self.points) + self.card.shift

    def net_benefit(self, rows: RowSet) -> float:
        """Net benefit on rows, the mean over the card's thresholds by their weights."""
        risk = self.card.risk_of_score(self.scores(rows))
        return weighted_net_benefit(
            rows.event, risk, self.card.thresholds, sample_weight=rows.weight
        )


class Moved(NamedTuple):
    """People who change sides at a threshold, and how many of them have the event."""

    now_called: float
    now_called_events: float
    no_longer: float
    no_longer_events: float


@dataclass(frozen=True)
class Figures:
    """A card on some rows, beside the card before; numbers of people are sums of weights.

    ``net_benefit`` is the mean over the card's thresholds, by their weights; ``at`` that at one of
    them, from which ``called`` people are called positive.
    """

    n: float
    events: float
    net_benefit: float
    net_benefit_before: float
    threshold: float
    at: float
    at_before: float
    called: float
    called_before: float
    moved: Moved
    curve: Table  #: decision curves of card, before, Treat All, Treat None
    levels: tuple[LevelRow, ...]  #: calibration by score


def measure_rows(rows: RowSet, now: Plan, before: Plan, threshold: float) -> Figures:
    """Measure a card on rows, and compare it with the card before."""
    scores = now.scores(rows), before.scores(rows)
    first, kind = merge_rows([*scores, rows.event], len(rows))
    weight = np.bincount(kind, weights=rows.weight, minlength=first.size)
    event = rows.event[first]
    score, score_before = (one[first] for one in scores)
    risk, risk_before = now.card.risk_of_score(score), before.card.risk_of_score(score_before)
    grid = now.card.thresholds

    def benefit(risks: FloatArray) -> tuple[float, float]:
        at = net_benefit(event, risks, [threshold], sample_weight=weight)
        return weighted_net_benefit(event, risks, grid, sample_weight=weight), float(at[0])

    called, called_before = risk >= threshold, risk_before >= threshold
    (whole, at), (whole_before, at_before) = benefit(risk), benefit(risk_before)
    new, gone = called & ~called_before, called_before & ~called
    return Figures(
        n=float(weight.sum()),
        events=float(weight[event].sum()),
        net_benefit=whole,
        net_benefit_before=whole_before,
        threshold=threshold,
        at=at,
        at_before=at_before,
        called=float(weight[called].sum()),
        called_before=float(weight[called_before].sum()),
        moved=Moved(*(float(weight[w].sum()) for w in (new, new & event, gone, gone & event))),
        curve=decision_curve(
            event, {"card": risk, "before": risk_before}, curve_grid(grid), sample_weight=weight
        ),
        levels=tuple(
            count_levels_of_card(
                now.card,
                score,
                event,
                weight,
                effective_rows=count_effective_rows(rows.weight),
            )
        ),
    )


@lru_cache(maxsize=8)
def curve_grid(grid: Thresholds) -> tuple[float, ...]:
    """Thresholds of a curve: the card's own, and each percent between them."""
    low, high = float(grid.given[0]), float(grid.given[-1])
    between = (k * _STEP for k in range(math.ceil(low / _STEP), math.floor(high / _STEP) + 1))
    return tuple(sorted({*grid.given.tolist(), *(round(p, 9) for p in between)}))


def teacher_curve(rows: RowSet, grid: Thresholds) -> FloatArray | None:
    """Net benefit of the teacher's own decisions at each threshold of a curve, where known."""
    if rows.risk is None:
        return None
    return net_benefit(rows.event, rows.risk, curve_grid(grid), sample_weight=rows.weight)


# -- groups of people ------------------------------------------------------------------------------


class Group(NamedTuple):
    """A card on the rows of one group; pairs are 95% intervals, None where there are no rows."""

    name: str
    n: float
    events: float
    net_benefit: float | None  #: mean over the card's thresholds
    net_benefit_interval: tuple[float, float] | None
    at: float | None  #: net benefit at the threshold
    at_interval: tuple[float, float] | None
    mean_risk: float | None
    observed: float | None  #: share of events
    observed_interval: tuple[float, float] | None
    sensitivity: float | None  #: share of the events that are called at the threshold
    sensitivity_interval: tuple[float, float] | None
    specificity: float | None  #: share of the others that are not
    specificity_interval: tuple[float, float] | None


class Grouping:
    """Groups of people by a raw column, the same on all rows.

    Levels, and numbers of few values, are groups as they are; other numbers are divided by the
    quarters of the training rows.
    """

    def __init__(self, training: RowSet, column: str) -> None:
        if column not in training.table:
            names = training.table.names
            raise InputError(f"there is no column {column!r}.{did_you_mean(column, names)}")
        self.column = column
        values = _values(training, column)
        known = values[~_is_missing(values)]
        levels, counts = np.unique(known, return_counts=True)
        self._cuts: list[float] = []
        if levels.dtype.kind == "f" and levels.size > _FEW_VALUES:
            quarters = {_short(q) for q in np.quantile(known, [0.25, 0.5, 0.75]).tolist()}
            self._cuts = [q for q in sorted(quarters) if q > levels[0]]
        frequent = np.sort(np.argsort(-counts, kind="stable")[:_MOST_LEVELS])
        self._levels: list[Any] = levels[frequent].tolist()

    def names(self) -> list[str]:
        """Return the groups' names, in order."""
        if self._cuts:
            texts = [value_text(cut) for cut in self._cuts]
            middle = [f"{a} to under {b}" for a, b in pairwise(texts)]
            own = [f"under {texts[0]}", *middle, f"{texts[-1]} or more"]
        else:
            own = [value_text(v if isinstance(v, str) else _short(v)) for v in self._levels]
        return [*own, _OTHERS, _MISSING]

    def places(self, rows: RowSet) -> NDArray[np.intp]:
        """Return the place of each row's group among the names."""
        values, size = _values(rows, self.column), len(self.names())
        missing, numbers = _is_missing(values), values.dtype.kind == "f"
        if self._cuts:
            places = np.full(len(rows), size - 2, dtype=np.intp)
            if numbers:
                places = np.searchsorted(self._cuts, values, side="right")
        else:
            known = {level: k for k, level in enumerate(self._levels)}
            levels, kind = np.unique(values[~missing], return_inverse=True)
            of_level = [known.get(level, size - 2) for level in levels.tolist()]
            places = np.zeros(len(rows), dtype=np.intp)
            places[~missing] = np.array(of_level, dtype=np.intp)[kind.ravel()]
        places[missing] = size - 1
        return places


def _short(number: float) -> float:
    return int(number) if float(number).is_integer() else float(f"{number:.6g}")


def _values(rows: RowSet, column: str) -> NDArray[Any]:
    """Raw values: numbers (NaN where missing), or text (None where missing)."""
    found = rows.table.column(column).values
    if found.dtype.kind in "biuf":
        return found.astype(np.float64)
    items = [_plain(v) for v in found.tolist()]
    if not any(isinstance(v, str) for v in items):
        return np.array([np.nan if v is None else v for v in items], dtype=np.float64)
    result = np.empty(len(items), dtype=object)
    result[:] = [v if isinstance(v, str | None) else value_text(_short(v)) for v in items]
    return result


def _is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "f":
        missing: NDArray[np.bool_] = np.isnan(values)
        return missing
    return np.fromiter((v is None for v in values.tolist()), np.bool_, len(values))


def _plain(value: Any) -> Any:
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return float(value) if isinstance(value, bool | int | float | np.number) else str(value)


def measure_groups(rows: RowSet, plan: Plan, grouping: Grouping, threshold: float) -> list[Group]:
    """Measure a card on the rows of each group that has any."""
    places, names = grouping.places(rows), grouping.names()
    score = plan.scores(rows)
    grid, risk = plan.card.thresholds, plan.card.risk_of_score(score)
    return [
        _measure_group(name, rows.event[own], risk[own], rows.weight[own], grid, threshold)
        for place, name in enumerate(names)
        if (own := np.flatnonzero((places == place) & (rows.weight > 0))).size
    ]


def _measure_group(
    name: str,
    event: NDArray[np.bool_],
    risk: FloatArray,
    weight: FloatArray,
    grid: Thresholds,
    threshold: float,
) -> Group:
    n, events = float(weight.sum()), float(weight[event].sum())
    share = count_effective_rows(weight) / n
    called = risk >= threshold
    worth = (risk[:, None] >= grid.array) * np.where(event[:, None], 1.0, -grid.odds)
    odds = threshold / (1.0 - threshold)
    whole = _mean(worth @ grid.weight_array, weight)
    at = _mean(np.where(called, np.where(event, 1.0, -odds), 0.0), weight)

    def rate(part: float, of: float) -> tuple[float | None, tuple[float, float] | None]:
        if not of:
            return None, None
        low, high = wilson(part / of, of * share)
        return part / of, (low, high)

    hits, passed = float(weight[event & called].sum()), float(weight[~event & ~called].sum())
    return Group(
        name,
        n,
        events,
        *whole,
        *at,
        float(risk @ weight) / n,
        *rate(events, n),
        *rate(hits, events),
        *rate(passed, n - events),
    )


def _mean(values: FloatArray, weight: FloatArray) -> tuple[float, tuple[float, float] | None]:
    """A mean, and its 95% interval by the normal law; None where all values are the same."""
    mean = float(values @ weight / weight.sum())
    if (values == values[0]).all():
        return mean, None
    square = float((weight**2) @ (values - mean) ** 2) / float(weight.sum()) ** 2
    half = 1.96 * math.sqrt(square * values.size / (values.size - 1))
    return mean, (mean - half, mean + half)


# -- the distribution of a column ------------------------------------------------------------------


class Bin(NamedTuple):
    """Rows of a column from ``low`` to under ``high``, by their outcome."""

    low: float
    high: float
    events: float
    others: float


def distribution(rows: RowSet, term: Term, size: int = 40) -> list[Bin]:
    """Count a numeric column's rows with and without the event, in bins of equal width.

    The first and last half percent of the rows are left out, so that a few do not take all room.
    """
    column = rows.column(term)
    if column.values.dtype.kind != "f":
        return []
    here = rows.weight > 0 if column.missing is None else (rows.weight > 0) & ~column.missing
    values, weight, event = column.values[here], rows.weight[here], rows.event[here]
    if not values.size:
        return []
    low, high = np.quantile(values, [0.005, 0.995])
    if not low < high:
        low, high = values.min(), values.max() + 1.0
    if (values == np.floor(values)).all():  # whole numbers stay whole
        low, width = (
            math.floor(low),
            max(1, math.ceil((math.floor(high) + 1 - math.floor(low)) / size)),
        )
        size = max(1, math.ceil((math.floor(high) + 1 - low) / width))
        high = low + size * width
    edges = np.linspace(low, high, size + 1)
    with_event, _ = np.histogram(values[event], edges, weights=weight[event])
    without, _ = np.histogram(values[~event], edges, weights=weight[~event])
    return [
        Bin(float(a), float(b), float(e), float(o))
        for a, b, e, o in zip(edges[:-1], edges[1:], with_event, without, strict=True)
    ]
