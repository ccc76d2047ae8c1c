"""The levels of a card on some rows: how many there are, how many events, and how sure that is."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.cards.rules import RiskRow
from netbenefit.cards.scorecard import Scorecard
from netbenefit.cards.text import percent, scores_text
from netbenefit.common.checks import FloatArray, check_binary, check_weights

__all__ = ["LevelRow", "effective_rows", "level_rows", "wilson"]

#: Rows of a table that are counted one by one.
_MOST = 12


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
    card: Scorecard,
    score: ArrayLike,
    event: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    worth: float | None = None,
) -> list[LevelRow]:
    """Count rows and events of each row of the card's SCORE → RISK table.

    A table of more than twelve rows is counted by levels, that is, between the card's thresholds:
    few rows have any one score.  The risk of several scores is the mean over the rows that have
    them.

    ``worth`` is how many rows of equal weight all of these are worth, where a row stands for many;
    by default :func:`effective_rows` of the weights.

    Examples
    --------
    >>> from netbenefit.cards.terms import PerUnit
    >>> from netbenefit.cards.scorecard import Rule
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> card = Scorecard([Rule(PerUnit("x"), 1)], [(1, 0.1), (2, 0.6)], Thresholds.of([0.5]))
    >>> [(row.scores, row.n, row.events) for row in level_rows(card, [0, 1, 2], [0, 1, 1])]
    [('≤ 1', 2.0, 1.0), ('≥ 2', 1.0, 1.0)]
    """
    happened = check_binary(event)
    weight = check_weights(sample_weight, happened.size)
    # Weights of any scale: an interval needs a number of rows.
    effective = (effective_rows(weight) if worth is None else worth) / float(weight.sum())
    table = card.risk_table()
    known = np.array([row.risk for row in table])
    groups = np.arange(len(table)) if len(table) <= _MOST else card.thresholds.level_of(known)
    risk = card.risk_of_score(np.asarray(score, dtype=np.int64))
    places = np.maximum(np.searchsorted(known, risk, side="right") - 1, 0)
    rows = []
    for group in np.unique(groups):
        own = [row for row, its in zip(table, groups, strict=True) if its == group]
        here = groups[places] == group
        mean = np.average(risk[here], weights=weight[here]) if weight[here].any() else own[0].risk
        row = RiskRow(own[0].low, own[-1].high, float(np.clip(mean, own[0].risk, own[-1].risk)))
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


@overload
def wilson(rate: float, n: float, confidence: float = ...) -> tuple[float, float]: ...
@overload
def wilson(
    rate: FloatArray, n: FloatArray, confidence: float = ...
) -> tuple[FloatArray, FloatArray]: ...
def wilson(rate: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> tuple[Any, Any]:
    """Return Wilson's interval of a share, or of several.

    Parameters
    ----------
    rate : float or array
        The share, from 0 to 1.
    n : float or array
        Rows that it is a share of; of weighted rows as many as they are worth, see
        :func:`effective_rows`.
    confidence : float, default=0.95

    Examples
    --------
    >>> [round(end, 3) for end in wilson(0.5, 10)]
    [0.237, 0.763]
    >>> wilson(np.array([0.0, 1.0]), np.array([3.0, 3.0]))[0].round(3)
    array([0.   , 0.439])
    """
    share, rows = np.asarray(rate, dtype=np.float64), np.asarray(n, dtype=np.float64)
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    middle = (share + z2 / (2 * rows)) / (1 + z2 / rows)
    half = np.sqrt(z2 * (share * (1 - share) / rows + z2 / (4 * rows * rows))) / (1 + z2 / rows)
    # At 0 and at 1 an end is exact; rounding must not lead past the share itself.
    low, high = np.clip(middle - half, 0.0, share), np.clip(middle + half, share, 1.0)
    return (low, high) if low.ndim else (float(low), float(high))
