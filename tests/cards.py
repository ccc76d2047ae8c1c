"""Cards as tests want them."""

from __future__ import annotations

from netbenefit.scorecard import Scorecard

__all__ = ["risks_by_level"]


def risks_by_level(card: Scorecard) -> tuple[float | None, ...]:
    """The risk of each level of a card with one risk per level; None where no score is on it."""
    known = {card.level_of_score(score): risk for score, risk in card.risks}
    assert len(known) == len({risk for _, risk in card.risks})
    return tuple(known.get(level) for level in range(len(card.thresholds)))
