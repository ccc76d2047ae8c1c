"""How numbers, levels, points and scores are written on a card."""

from __future__ import annotations

import numpy as np
import pytest

from netbenefit.cards.readings import (
    Reading,
    Readings,
    join_words,
    plain_array,
    read_columns,
    value_text,
)
from netbenefit.cards.rules import Provenance, RiskRow, Rule, steps_of_levels
from netbenefit.cards.scorecard import Scorecard
from netbenefit.cards.terms import Condition, PerUnit
from netbenefit.cards.text import (
    card_notes,
    contents,
    kept_text,
    percent,
    price_text,
    scores_text,
    share_text,
    side_by_side,
    strip_control,
    wrap,
)
from netbenefit.metrics.thresholds import Thresholds


def test_values_and_lists_of_them():
    assert [join_words(list(words)) for words in ("a", "ab", "abc")] == ["a", "a or b", "a, b or c"]
    values = {
        -2.5: "−2.5",
        "male": "male",
        "": '""',
        "I or II": '"I or II"',
        "missing": '"missing"',
    }
    assert [value_text(value) for value in values] == list(values.values())


@pytest.mark.parametrize(
    ("risk", "threshold", "text"),
    [
        (0.14, None, "14.0%"),
        (0.0002, None, "<0.1%"),
        (0.99999, None, ">99.9%"),
        (0.0, None, "0.0%"),
        (0.0996, 0.1, "9.96%"),
        (0.09996, 0.1, "9.996%"),
        (0.1 - 1e-12, 0.1, "<10.0%"),
    ],
)
def test_a_risk_is_never_rounded_across_a_threshold(risk, threshold, text):
    assert percent(risk, threshold and Thresholds.of([threshold])) == text


def test_points_and_scores():
    rules = [Rule(PerUnit("falls"), -2), Rule(PerUnit("ill", binary=True), 1)]
    assert [asked.answers for asked in contents(card_with(rules, [])).questions] == [
        [("whole number", "× −2 per unit")],
        [("no", "0"), ("yes", "1")],
    ]
    ends = {
        (None, 9): "≤ 9",
        (10, 14): "10–14",
        (15, 15): "15",
        (-3, 0): "−3 to 0",
        (2, None): "≥ 2",
    }
    assert [scores_text(RiskRow(*pair, 0.5)) for pair in ends] == list(ends.values())
    assert [len(part) for part in side_by_side([("0", "1%")] * 40)] == [14, 14, 12]


def test_the_share_that_a_card_keeps_is_rounded_down_and_its_bound_up():
    assert share_text(0.98957) == "98.9%"
    assert kept_text(Provenance(version="0", share_kept=0.98957, share_bound=0.9951)) == (
        "keeps 98.9% of its net benefit (no card of its size keeps more than 99.6%)"
    )


def test_prices_in_words():
    assert (
        price_text(Provenance(version="0")) == price_text(Provenance(version="0", penalty=0)) == ""
    )
    assert price_text(Provenance(version="0", penalty=0.01)) == "0.01 per rule"
    assert price_text(Provenance(version="0", penalty=0.01, rule_penalty=0.0025)) == (
        "0.01 per question and 0.0025 per further rule"
    )


def test_long_and_strange_names():
    assert wrap("number of real-estate loans", 12) == ["number of", "real-estate", "loans"]
    assert strip_control("dose\n(mg)\x1b") == "dose (mg)�"


def card_with(rules, readings) -> Scorecard:
    return Scorecard(rules, [(0, 0.1), (1, 0.9)], Thresholds.of([0.5]), readings=readings)


def test_questions_and_notes_of_a_card():
    rules = [Rule(Condition("age", ">=", 40), 1), Rule(Condition("age", ">=", 60), 2)]
    card = card_with(rules, [Reading(feature="age", whole=True)])
    assert contents(card).asked == "1 question: the points of its answer are the score"
    assert contents(card).questions == [
        ("age", [("under 40", "0"), ("40–59", "1"), ("60 or more", "3")])
    ]
    late = Reading(feature="late", sources=("a", "b"), combine="sum")
    card = card_with([Rule(PerUnit("late"), 1)], [late, Reading(feature="b", special=(-9,))])
    assert card_notes(card) == ["late: the sum of a, b", "b: −9 means not known"]


def test_scores_that_answers_can_produce():
    ages = [Rule(Condition("age", ">=", 40), 3), Rule(Condition("age", ">=", 60), 1)]
    card = card_with([*ages, Rule(Condition("sex", "==", "m"), 2)], [])
    assert card._scores == [0, 2, 3, 4, 5, 6]


def test_levels_without_scores_have_no_step():
    thresholds = Thresholds.of([0.2, 0.5, 0.7])
    steps = steps_of_levels([2, 2, 4], [0.1, None, 0.6, 0.8], thresholds)
    assert steps == ((1, 0.1), (2, 0.6), (4, 0.8))


def test_raw_columns_are_read_without_filling():
    age = Reading(feature="age", special=(-9,), fill=50, text=True)
    column = Readings([age]).raw("age", {"age": ["40", "-9", ""]}, "number")
    assert column.missing.tolist() == [False, True, True]


def test_hidden_values_are_missing_and_records_are_columns():
    hidden = plain_array(np.ma.array([30, 89], mask=[False, True]))
    np.testing.assert_array_equal(hidden, [30.0, np.nan])
    records = [{"age": 51, "sex": "f"}, {"age": 52, "sex": "m"}]
    assert read_columns(records, ("age",), ("age",)) == ({"age": [51, 52]}, 2)
