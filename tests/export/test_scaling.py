"""Scaled scores: a straight line that keeps the order of the card's scores."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings, strategies as st

from netbenefit import InputError, PerUnit, Rule, Scorecard, Thresholds
from netbenefit.export.scaling import scale
from tests.helpers.full import examples

SIMPLE = Scorecard.from_levels(
    [Rule(PerUnit("late", upper=9, lower=0), 1)],
    [2, 4],
    [0.05, 0.2, 0.6],
    Thresholds.of([0.1, 0.5]),
    score_range=(0, 9),
)
#: Its levels: scores 0–1, 2–3 and 4–9 by their middle, with the log odds of their risks.
LEVELS = [(x, math.log(r / (1 - r))) for x, r in ((0.5, 0.05), (2.5, 0.2), (6.5, 0.6))]


def line() -> tuple[float, float]:
    """Slope and height of the log odds, by least squares with pencil and paper."""
    mean, level = (sum(part) / 3 for part in zip(*LEVELS, strict=True))
    around = sum((x - mean) ** 2 for x, _ in LEVELS)
    slope = sum((x - mean) * (odds - level) for x, odds in LEVELS) / around
    return slope, level - slope * mean


@settings(max_examples=examples(200), deadline=None)
@given(
    pdo=st.floats(1, 200),
    base=st.floats(-1000, 1000),
    odds=st.floats(0.01, 1000),
    better=st.booleans(),
)
def test_the_line_is_as_stated(pdo: float, base: float, odds: float, better: bool) -> None:
    made = scale(
        SIMPLE, points_to_double=pdo, base_score=base, base_odds=odds, higher_is_better=better
    )
    scaled = [made.scaled(s) for s in range(10)]
    steps = {b - a for a, b in itertools.pairwise(scaled)}
    assert steps == {made.multiplier}
    assert (made.multiplier < 0) == better
    # What doubles the odds is stated, and within half a step of the request.
    slope, _ = line()
    assert made.points_to_double == pytest.approx(abs(made.multiplier) * math.log(2) / slope)
    assert abs(made.points_to_double - pdo) <= 0.5 * math.log(2) / slope + 1e-9 or (
        abs(made.multiplier) == 1
    )


def test_base_odds_lie_at_the_base_score() -> None:
    made = scale(SIMPLE, points_to_double=20, base_score=600, base_odds=50)
    slope, height = line()
    near = (made.base_score - made.offset) / made.multiplier  # the card's score at base odds
    # The offset is a whole number: half a point of the scaled score at most.
    rounding = 0.5 / abs(made.multiplier) * slope
    assert height + slope * near == pytest.approx(-math.log(50), abs=rounding + 1e-9)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"points_to_double": 0}, "points_to_double=0 must be a positive number"),
        ({"base_odds": -1}, "base_odds=-1 must be a positive number"),
        ({"base_score": math.nan}, "base_score=nan must be a number"),
    ],
)
def test_settings_are_checked(params: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        scale(SIMPLE, **params)  # type: ignore[arg-type]


def test_a_card_of_one_level_cannot_be_scaled() -> None:
    card = Scorecard.from_levels([], [1], [0.2, None], Thresholds.of([0.5]), score_range=(0, 0))
    with pytest.raises(InputError, match="at least two levels"):
        scale(card)
