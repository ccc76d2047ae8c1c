"""Scores as lenders write them: a base score at base odds, and points that double the odds.

A card's score is a whole number, and its risks are those of levels, not of a formula.  So a scaled
score is a straight line with whole coefficients, scaled = offset + multiplier · score, which
separates the same rows.  The multiplier is the whole number that comes nearest to the requested
points that double the odds, given how fast the odds grow along the levels; the points that really
double them are stated beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from netbenefit.cards import Contents, Scorecard, check_card, contents, is_finite
from netbenefit.common import InputError


@dataclass(frozen=True)
class Scaling:
    """A scaled score, as a function of the card's own.

    Attributes
    ----------
    offset, multiplier : int
    points_to_double : float
        Points of the scaled score that double the odds along the levels.
    base_score, base_odds : float
        The requested scaled score at these odds of the good outcome (the event not happening) to
        the event.
    higher_is_better : bool
        Whether a higher scaled score means a lower risk.
    """

    offset: int
    multiplier: int
    points_to_double: float
    base_score: float
    base_odds: float
    higher_is_better: bool

    def scaled(self, score: int) -> int:
        """Return the scaled score."""
        return self.offset + self.multiplier * score

    def text(self) -> str:
        """Say how a scaled score is read."""
        way = "lower" if self.higher_is_better else "higher"
        return (
            f"scaled score = {self.offset} {'+' if self.multiplier > 0 else '−'} "
            f"{abs(self.multiplier)} × score; the higher, the {way} the risk; "
            f"{self.points_to_double:.1f} points double the odds, "
            f"{self.base_score:g} is about {self.base_odds:g} to 1"
        )


def scaled_contents(card: Scorecard, scaling: Scaling | None) -> Contents:
    """Put a card into words, with a note on its scaled score."""
    printed = contents(check_card(card))
    if scaling is None:
        return printed
    return printed._replace(notes=[*printed.notes, scaling.text()])


def scale(
    card: Scorecard,
    *,
    points_to_double: float = 20.0,
    base_score: float = 600.0,
    base_odds: float = 50.0,
    higher_is_better: bool = True,
) -> Scaling:
    """Find the scaled score of a card.

    Parameters
    ----------
    card : Scorecard
        With at least two levels whose risks lie between 0 and 1.
    points_to_double : float, default=20
        Points of the scaled score that are to double the odds.
    base_score, base_odds : float, default=600 and 50
        The scaled score at odds of ``base_odds`` to 1 against the event.
    higher_is_better : bool, default=True
        Whether a higher scaled score is to mean a lower risk, as lenders have it.

    Examples
    --------
    >>> from netbenefit import PerUnit, Rule, Thresholds
    >>> card = Scorecard([Rule(PerUnit("late", upper=9, lower=0), 1)],
    ...     [(0, 0.05), (2, 0.2), (4, 0.6)], Thresholds.of([0.1, 0.5]), score_range=(0, 9))
    >>> made = scale(card)
    >>> [made.scaled(score) for score in (0, 9)], round(made.points_to_double, 1)
    ([574, 430], 20.4)
    """
    for name, value in (("points_to_double", points_to_double), ("base_odds", base_odds)):
        if not (is_finite(value) and value > 0):
            raise InputError(f"{name}={value!r} must be a positive number.")
    if not is_finite(base_score):
        raise InputError(f"base_score={base_score!r} must be a number.")
    slope, level = _odds_line(card)
    multiplier = max(1, round(points_to_double / math.log(2) * slope))
    # The score at which the line has the base odds against the event.
    at_base = (-math.log(base_odds) - level) / slope
    sign = -1 if higher_is_better else 1
    return Scaling(
        offset=round(base_score - sign * multiplier * at_base),
        multiplier=sign * multiplier,
        points_to_double=multiplier * math.log(2) / slope,
        base_score=float(base_score),
        base_odds=float(base_odds),
        higher_is_better=higher_is_better,
    )


def _odds_line(card: Scorecard) -> tuple[float, float]:
    """Slope and height of the log odds along the levels' middle scores."""
    low, high = card.score_range or card.score_limits or (None, None)
    points = []
    for row in card.risk_table():
        first = row.low if row.low is not None else low
        last = row.high if row.high is not None else high
        if first is None or last is None:
            first = last = first if last is None else last
        if first is not None and last is not None and 0 < row.risk < 1:
            points.append(((first + last) / 2, math.log(row.risk / (1 - row.risk))))
    if len(points) < 2:
        raise InputError(
            "a scaled score needs at least two levels with a risk between 0 and 1; this card has "
            f"{len(points)}. Fit it with more thresholds."
        )
    score, logit = np.array(points).T
    slope, level = np.polyfit(score, logit, 1)
    if slope <= 0:
        raise InputError("the risks of this card do not rise with its score: nothing to scale.")
    return float(slope), float(level)
