"""Cards and problems that several tests use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards.scorecard import Scorecard
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.training import Rows, TrainingData
from netbenefit.solvers.local_search import LocalSearch

__all__ = ["SHORT_SEARCH", "risks_by_level", "training_of"]

#: For cards that need not be the best: it ends soon, by itself, with the same card everywhere.
SHORT_SEARCH = LocalSearch(time_limit=None, max_rounds=1)


def training_of(
    columns: dict[str, NDArray[Any]],
    event: ArrayLike,
    sample_weight: ArrayLike | None = None,
    **settings: Any,
) -> TrainingData:
    """Numeric columns to learn from, with settings of the problem."""
    y = np.asarray(event, dtype=np.bool_)
    table = PatternTable.from_columns(columns, y, sample_weight=sample_weight)
    return TrainingData(table, settings, Rows(columns, columns, y, sample_weight))


def risks_by_level(card: Scorecard) -> tuple[float | None, ...]:
    """The risk of each level of a card with one risk per level; None where no score is on it."""
    known = {card.level_of_score(score): risk for score, risk in card.risks}
    assert len(known) == len({risk for _, risk in card.risks})
    return tuple(known.get(level) for level in range(len(card.thresholds)))
