"""The levels of a card on some rows: how many there are, how many events, and how sure that is."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from netbenefit._card_text import percent, scores_text
from netbenefit._validation import FloatArray, check_binary, check_weights
from netbenefit.scorecard import Scorecard

__all__ = ["LevelRow", "effective_rows", "level_rows", "wilson"]

#: Of a 95% interval.
_NORMAL = 1.959963984540054


class LevelRow(NamedTuple):
    """One level of a card, held against rows."""

    scores: str  #: such as "4–6"
    risk: float
    risk_text: str
    n: float  #: weight of the rows
    events: float
    rate: float | None  #: observed share of events; None without rows
    low: float | None  #: 95% interval of it
    high: float | None


def level_rows(
    card: Scorecard, score: ArrayLike, event: ArrayLike, sample_weight: ArrayLike | None = None
) -> list[LevelRow]:
    """Count rows and events of each row of the card's SCORE → RISK table.

    Examples
    --------
    >>> from netbenefit.conditions import PerUnit
    >>> from netbenefit.scorecard import Rule
    >>> from netbenefit.thresholds import Thresholds
    >>> card = Scorecard([Rule(PerUnit("x"), 1)], [2], [0.1, 0.6], Thresholds.of([0.5]))
    >>> [(row.scores, row.n, row.events) for row in level_rows(card, [0, 1, 2], [0, 1, 1])]
    [('≤ 1', 2.0, 1.0), ('≥ 2', 1.0, 1.0)]
    """
    happened = check_binary(event)
    weight = check_weights(sample_weight, happened.size)
    # Weights of any scale: an interval needs a number of rows.
    effective = effective_rows(weight) / float(weight.sum())
    level = np.asarray(card.level_of_score(np.asarray(score, dtype=np.int64)))
    rows = []
    for (_, _, place), row in zip(card._reachable_levels(), card.risk_table(), strict=True):
        here = level == place
        n, events = float(weight[here].sum()), float(weight[here & happened].sum())
        rate = events / n if n else None
        ends = (None, None) if rate is None else wilson(rate, n * effective)
        rows.append(
            LevelRow(
                scores_text(row),
                row.risk,
                percent(row.risk, card.thresholds),
                n,
                events,
                rate,
                *ends,
            )
        )
    return rows


def effective_rows(weight: FloatArray) -> float:
    """Rows of equal weight that would tell as much, by Kish: (Σv)² / Σv².

    >>> effective_rows(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    return float(weight.sum()) ** 2 / float(np.square(weight).sum())


def wilson(rate: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share.

    >>> [round(end, 3) for end in wilson(0.5, 10)]
    [0.237, 0.763]
    """
    z = _NORMAL
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)
