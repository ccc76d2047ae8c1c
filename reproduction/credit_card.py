"""The published illustrative card for Give Me Some Credit, and cards held against prepared rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from netbenefit.cards.scorecard import Rule, Scorecard
from netbenefit.cards.terms import PerUnit
from netbenefit.common.checks import FloatArray, InputError, check_binary, shorten
from netbenefit.data.datasets import Dataset
from netbenefit.metrics.measures import Measures, measure
from netbenefit.metrics.thresholds import Thresholds

__all__ = [
    "CardOnRows",
    "ScoreRow",
    "best_net_benefit",
    "card_on_rows",
    "published_card",
    "risk_misfit",
    "score_table",
    "with_names",
]


def published_card() -> Scorecard:
    """Return the authors' illustrative card; it reads prepared rows."""
    return Scorecard.from_levels(
        rules=(
            Rule(PerUnit("utilisation", decimals=1), 10),
            Rule(PerUnit("ever past due", binary=True), 9),
            Rule(PerUnit("age ≥ 52", binary=True), -2),
            Rule(PerUnit("open lines ≥ 8", binary=True), 1),
            Rule(PerUnit("real-estate loans ≥ 1", binary=True), -1),
        ),
        cutoffs=(10, 15, 18, 20, 21, 25, 25, 25, 25),
        risks=(0.028, 0.14, 0.268, 0.371, 0.489, 0.534, None, None, None, 0.9),
        thresholds=Thresholds.tenths(),
        score_range=(-3, 25),
    )


class ScoreRow(NamedTuple):
    """One row of a card's SCORE → RISK table, held against rows."""

    low: int | None
    high: int | None
    risk: float  #: what the card says
    rows: int
    events: int

    @property
    def observed(self) -> float:
        """Share of events; NaN without rows."""
        return self.events / self.rows if self.rows else float("nan")


def score_table(card: Scorecard, data: Dataset) -> list[ScoreRow]:
    """Count rows and events in each score range of a card.

    Parameters
    ----------
    card : Scorecard
    data : Dataset
        Prepared rows with the columns that the card reads, among others.

    Returns
    -------
    list of ScoreRow
    """
    event, score = check_binary(data.y), _scores(card, data)
    found = []
    for low, high, risk in card.risk_table():
        inside = np.ones(score.size, dtype=np.bool_)
        if low is not None:
            inside &= score >= low
        if high is not None:
            inside &= score <= high
        found.append(ScoreRow(low, high, risk, int(inside.sum()), int(event[inside].sum())))
    return found


def _scores(card: Scorecard, data: Dataset) -> Any:
    return np.asarray(card.score(dict(zip(data.names, data.X.T, strict=True))), dtype=np.int64)


def with_names(card: Scorecard, names: Sequence[str]) -> Scorecard:
    """Return a card that speaks of columns by name, where it was learnt from a plain array.

    Parameters
    ----------
    card : Scorecard
        One that has these names already is returned as it is.
    names : sequence of str
        Of the columns of the array, in order.
    """
    if set(card.features) <= set(names):
        return card
    if len(card.feature_names) != len(names):
        raise InputError(
            f"the card reads {shorten(card.features)}, which are none of the prepared columns "
            f"{shorten(names, 8)}. Pass a card that was learnt from these."
        )
    called = dict(zip(card.feature_names, names, strict=True))
    rules = [
        replace(rule, term=replace(rule.term, feature=called[rule.term.feature]))
        for rule in card.rules
    ]
    return replace(card, rules=tuple(rules), feature_names=tuple(names))


class CardOnRows(NamedTuple):
    """A card held against rows."""

    card: Scorecard
    table: list[ScoreRow]
    measures: Measures
    best: float  #: weighted net benefit of its points with the best cut-offs for these rows


def card_on_rows(card: Scorecard, data: Dataset) -> CardOnRows:
    """Measure a card on rows: its table, its measures, and what its points could reach.

    Parameters
    ----------
    card : Scorecard
    data : Dataset
        Prepared rows.
    """
    known = with_names(card, data.names)
    score = _scores(known, data)
    measures = measure(data.y, known.risk_of_score(score), known.thresholds, score=score)
    return CardOnRows(known, score_table(known, data), measures, best_net_benefit(known, data))


def best_net_benefit(card: Scorecard, data: Dataset) -> float:
    """Weighted net benefit that a card's points reach with the best cut-offs for these rows.

    This is the published objective with C0 = 0: Σ_i ω_i max_T (TP_i(T) − r_i FP_i(T)) / N.
    """
    event = check_binary(data.y)
    _, rank = np.unique(_scores(card, data), return_inverse=True)
    counts = [np.bincount(rank, kind) for kind in (event, ~event)]
    # Rows that reach each score that occurs; the last cut-off, beyond all of them, finds nobody.
    found, alarms = (np.append(np.cumsum(count[::-1])[::-1], 0.0) for count in counts)
    odds = np.asarray(card.thresholds.odds)[:, None]
    best = (found - odds * alarms).max(axis=1) / event.size
    return float(best @ np.asarray(card.thresholds.weights))


def risk_misfit(table: Sequence[ScoreRow], share: float = 0.75) -> FloatArray:
    """How far a card's risks are from those of a random part of the rows, in standard errors.

    Parameters
    ----------
    table : sequence of ScoreRow
        From all rows.
    share : float, default=0.75
        Part of the rows that the risks would be rates of.

    Returns
    -------
    array
        One number a level; that risks are printed to a tenth of a percent is allowed for.
    """
    rate = np.array([row.observed for row in table])
    rows = np.array([row.rows for row in table], dtype=np.float64)
    risk = np.array([row.risk for row in table])
    # Drawn without replacement: the variance shrinks by the part that is left out.
    variance = rate * (1.0 - rate) / (share * rows) * (1.0 - share) + 0.001**2 / 12
    result: FloatArray = (risk - rate) / np.sqrt(variance)
    return result
