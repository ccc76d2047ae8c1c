"""The published illustrative card for Give Me Some Credit, and cards held against prepared rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from netbenefit._validation import FloatArray, check_binary
from netbenefit.conditions import PerUnit
from netbenefit.datasets import Dataset
from netbenefit.scorecard import Rule, Scorecard
from netbenefit.thresholds import Thresholds

__all__ = ["ScoreRow", "published_card", "risk_misfit", "score_table"]


def published_card() -> Scorecard:
    """Return the authors' illustrative card; it reads prepared rows.

    Examples
    --------
    >>> row = {"age ≥ 52": 0, "utilisation": 0.7, "open lines ≥ 8": 1,
    ...        "real-estate loans ≥ 1": 0, "ever past due": 1}
    >>> published_card().score(row), published_card().risk(row)
    (17, 0.268)
    """
    return Scorecard(
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

    Examples
    --------
    >>> data = Dataset(np.array([[1.0], [0.0], [1.0]]), np.array([True, False, False]), ("late",))
    >>> card = Scorecard([Rule(PerUnit("late"), 1)], [1], [0.1, 0.6], Thresholds.of([0.5]))
    >>> [(row.risk, row.rows, row.observed) for row in score_table(card, data)]
    [(0.1, 1, 0.0), (0.6, 2, 0.5)]
    """
    event = check_binary(data.y)
    score = np.asarray(card.score(dict(zip(data.names, data.X.T, strict=True))))
    found = []
    for low, high, risk in card.risk_table():
        inside = np.ones(score.size, dtype=np.bool_)
        if low is not None:
            inside &= score >= low
        if high is not None:
            inside &= score <= high
        found.append(ScoreRow(low, high, risk, int(inside.sum()), int(event[inside].sum())))
    return found


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

    Examples
    --------
    >>> risk_misfit([ScoreRow(None, None, 0.25, 4800, 960)]).round(1)
    array([14.9])
    """
    rate = np.array([row.observed for row in table])
    rows = np.array([row.rows for row in table], dtype=np.float64)
    risk = np.array([row.risk for row in table])
    # Drawn without replacement: the variance shrinks by the part that is left out.
    variance = rate * (1.0 - rate) / (share * rows) * (1.0 - share) + 0.001**2 / 12
    result: FloatArray = (risk - rate) / np.sqrt(variance)
    return result
