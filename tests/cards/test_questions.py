"""Questions: the one answer that applies has the points of the card, in words and in numbers."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from netbenefit.cards.readings import Reading
from netbenefit.cards.scorecard import Rule, Scorecard
from netbenefit.cards.terms import Condition, PerUnit
from netbenefit.cards.text import card_notes, contents
from netbenefit.common.checks import InputError
from netbenefit.metrics.thresholds import Thresholds
from tests.helpers.full import examples

HALF = Thresholds.of([0.5])
STEPS, LEVELS = (">=", "<", "between"), ("==", "!=", "in", "not in")


def make(rules, readings=()) -> Scorecard:
    return Scorecard.from_levels(rules, [1], [0.2, 0.7], HALF, readings=readings)


def age(*pairs, feature="age", **reading) -> Scorecard:
    """A card on one column, from (op, value, points)."""
    rules = [Rule(Condition(feature, op, value), points) for op, value, points in pairs]
    return make(rules, [Reading(feature=feature, **reading)] if reading else [])


def printed(card: Scorecard) -> dict[str, list[tuple[str, int]]]:
    return {
        question.feature: [(answer.text, answer.points) for answer in question.listed()]
        for question in card.questions
    }


# -- random cards ----------------------------------------------------------------------------------

NUMBERS = st.sampled_from([-7, -1.5, 0, 0.1, 2, 2.5, 3, 4, 40, 1e300, -1e300, 2**53])
LETTERS = st.sampled_from(["a", "b", "c", "d", ""])
POINTS = st.integers(-3, 3)


@st.composite
def conditions(draw, feature, one, ops):
    op = draw(st.sampled_from(ops))
    if op == "between":
        ends = draw(st.lists(one, min_size=2, max_size=2, unique=True))
        return Condition(feature, op, tuple(sorted(ends)))
    if op in ("in", "not in"):
        values = draw(st.lists(one, min_size=1, max_size=4, unique=True))
        return Condition(feature, op, tuple(values))
    return Condition(feature, op, None if op == "missing" else draw(one))


@st.composite
def columns(draw, feature):
    """Rules of one column, and how it is read."""
    is_text = draw(st.booleans())
    one = LETTERS if is_text else NUMBERS
    families = [LEVELS] if is_text else [STEPS, STEPS, LEVELS, (">", "<="), STEPS + LEVELS]
    ops = [*draw(st.sampled_from(families)), "missing"]
    terms = draw(st.lists(conditions(feature, one, ops), min_size=1, max_size=6, unique=True))
    if not is_text and draw(st.integers(0, 4)) == 0:
        terms.append(PerUnit(feature, draw(st.integers(0, 2)), -5, 5))
    fill = draw(st.none() | one)
    special = draw(st.lists(one, max_size=2, unique=True))
    levels = draw(st.lists(one, max_size=4, unique=True))
    reading = Reading(
        feature=feature,
        fill=fill,
        special=[v for v in special if v != fill],
        levels=levels,
        whole=not is_text and draw(st.booleans()),
        saw_missing=draw(st.booleans()),
    )
    return [Rule(term, draw(POINTS)) for term in terms], draw(st.sampled_from([[reading], []]))


def interesting(rules: list[Rule]) -> list:
    """Every value that conditions name, what lies next to it, and what none names."""
    values: list = []
    for rule in rules:
        value = getattr(rule.term, "value", None)
        values += [v for v in (value if isinstance(value, tuple) else (value,)) if v is not None]
    if any(isinstance(v, str) for v in values):
        return [*dict.fromkeys(values), "a", "unseen"]
    near = [math.nextafter(v, end) for v in values for end in (-math.inf, math.inf)]
    return [*values, *near, *range(-8, 9), 0.5, -1e307, 1e307]


def takes_missing(rules: list[Rule], readings: list[Reading]) -> bool:
    filled = any(reading.fill is not None for reading in readings)
    return filled or any(rule.term.kind == "any" for rule in rules)


def read_as_missing(value, readings: list[Reading]) -> bool:
    return value == "" or any(value in reading.special for reading in readings)


def constant(*pairs) -> tuple[list[Rule], list[Reading]]:
    return [Rule(Condition("x", op, value), points) for op, value, points in pairs], []


def scored_values(rules: list[Rule], readings: list[Reading]) -> list:
    """Values of all kinds that a card takes, missing ones among them where it takes these."""
    values = [*interesting(rules), None]
    if takes_missing(rules, readings):
        return values
    return [v for v in values[:-1] if not read_as_missing(v, readings)]


def points_of(card: Scorecard, value) -> int:
    """The score of one column by its question alone, as the value is read."""
    if not card.questions:
        return 0
    (question,) = card.questions
    (column,) = card._logic.columns
    read = card._logic.readings.value("x", {"x": value}, column.kind)
    answer = question.answer_to(read)
    applying = [
        one for one in question.answers if one.term is not None and one.term.value_code(read)
    ]
    if question.units:
        assert len(applying) + (answer is not None and not applying) <= 1
    else:
        assert answer is not None
        assert applying == ([] if answer.term is None else [answer])
    units = [
        one.points * one.term.value_code(read) / 10**one.term.decimals for one in question.units
    ]
    return math.floor(sum(units) + (0 if answer is None else answer.points))


@settings(max_examples=examples(2000), deadline=None)
@given(columns("x"), st.booleans())
@example(constant((">=", 4, 2), ("<", 4, 2), ("missing", None, 0)), False)
@example(constant(("==", "a", 2), ("!=", "a", 2), ("missing", None, 1)), True)
@example(constant((">", 4, 2), ("<=", 9, 2), ("==", 7, -3)), True)
def test_one_answer_applies_to_every_value_and_has_the_points_of_the_card(column, from_zero):
    rules, readings = column
    card = make(rules, readings)
    card = card.start_at_zero() if from_zero else card
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in scored_values(rules, readings):
            assert points_of(card, value) == card.score({"x": value})


@settings(max_examples=examples(1000), deadline=None)
@given(columns("x"))
def test_the_least_answer_is_worth_0(column):
    """By brute force: of all values tried, of the answers as printed, and of the limits."""
    rules, readings = column
    card = make(rules, readings).start_at_zero()
    if any(isinstance(rule.term, PerUnit) and rule.points for rule in rules):
        assert card.base == ()  # points per unit keep their form
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = [card.score({"x": value}) for value in scored_values(rules, readings)]
    assert min(scores) == 0
    assert card.score_limits == (0, max(scores))
    assert all(answer.points >= 0 for one in card.questions for answer in one.answers)
    assert all(min(a.points for a in one.answers) == 0 for one in card.questions)


@settings(max_examples=examples(300), deadline=None)
@given(st.tuples(columns("x"), columns("y"), columns("z")), st.booleans())
def test_a_row_is_explained_by_answers_that_add_up(drawn, from_zero):
    rules = [rule for own, _ in drawn for rule in own]
    card = make(rules, [r for _, own in drawn for r in own])
    card = card.start_at_zero() if from_zero else card
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = [scored_values(own, readings) for own, readings in drawn]
        for k in range(40):
            row = {n: own[(7 * k) % len(own)] for n, own in zip("xyz", values, strict=True)}
            parts = card.explain(row)
            assert [part.question for part in parts] == [one.feature for one in card.questions]
            assert math.floor(
                sum(Fraction(part.points).limit_denominator(100) for part in parts)
            ) == card.score(row)


@settings(max_examples=examples(500), deadline=None)
@given(columns("x"))
def test_answers_are_in_order_and_neighbours_differ(column):
    rules, readings = column
    for question in make(rules, readings).questions:
        texts = [answer.text for answer in question.answers]
        assert "not known" not in texts[:-1]
        assert len(set(texts)) == len(texts)
        found = [a for a in question.answers if isinstance(a.term, Condition)]
        steps = [a for a in found if a.term.op in STEPS]
        for before, after in pairwise(steps):
            start = after.term.value[0] if after.term.op == "between" else after.term.value
            end = before.term.value[1] if before.term.op == "between" else before.term.value
            assert end == start
            assert before.points != after.points


@settings(max_examples=examples(300), deadline=None)
@given(st.tuples(columns("x"), columns("y"), columns("z")))
def test_questions_are_sorted_by_points(drawn):
    card = make(
        [rule for rules, _ in drawn for rule in rules], [r for _, own in drawn for r in own]
    )
    weights = [question.most for question in card.questions]
    assert weights == sorted(weights, reverse=True)
    assert 0 not in weights


# -- what is printed, read by someone who has only the paper ---------------------------------------


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def applies(text: str, value, others: bool) -> bool:
    """Read an answer as a person does; ``others``: whether another answer fits."""
    n = r"(−?[\d.e+]+)"
    if text == "not known" or value is None:
        return text == "not known" and value is None
    if text in ("any value", "known"):
        return True
    if text.endswith("any other"):
        return not others
    if isinstance(value, str):
        return value in [w.strip('"') for w in re.split(", | or ", text)]
    if found := re.fullmatch(rf"(under|over|up to) {n}", text):
        edge = number(found[2])
        return {"under": value < edge, "over": value > edge, "up to": value <= edge}[found[1]]
    if found := re.fullmatch(rf"{n} or more", text):
        return value >= number(found[1])
    if found := re.fullmatch(rf"(over )?{n}(–| to under | to ){n}", text):
        low, high = number(found[2]), number(found[4])
        above = value > low if found[1] else value >= low
        return above and (value < high if "under" in found[3] else value <= high)
    return value in [number(w) for w in re.split(", | or ", text)]


@settings(max_examples=examples(500), deadline=None)
@given(columns("x"), st.booleans())
def test_a_person_finds_one_answer_and_its_points(column, from_zero):
    rules, readings = column
    readings = [r for r in readings if r.fill is None]
    rules = [rule for rule in rules if isinstance(rule.term, Condition)]
    if not rules:
        return
    card = make(rules, readings)
    card = card.start_at_zero() if from_zero else card
    values = [v for v in interesting(rules) if not read_as_missing(v, readings)]
    if any(reading.whole for reading in readings):  # the words for whole numbers are about these
        values = [v for v in values if isinstance(v, str) or float(v).is_integer()]
    values += [None] * takes_missing(rules, readings)
    answers = [answer for question in card.questions for answer in question.answers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in values:
            named = [a for a in answers if not a.text.endswith("any other")]
            fits = [a for a in named if applies(a.text, value, False)]
            fits += [a for a in answers if a not in named and applies(a.text, value, bool(fits))]
            assert len(fits) == bool(answers)
            assert sum(a.points for a in fits) == card.score({"x": value})


# -- examples --------------------------------------------------------------------------------------

AGE = [(">=", 40, 1), (">=", 60, 2)]


EMPTY: list = []


@pytest.mark.parametrize(
    ("card", "answers"),
    [
        (age(*AGE), [("under 40", 0), ("40 to under 60", 1), ("60 or more", 3)]),
        (age(*AGE, whole=True), [("under 40", 0), ("40–59", 1), ("60 or more", 3)]),
        (age(*AGE, whole=True, fill=52), [("under 40", 0), ("40–59", 1), ("60 or more", 3)]),
        # 52.5 would be neither in 40–52 nor in 53–59
        (
            age(*AGE, whole=True, fill=52.5),
            [("under 40", 0), ("40 to under 60", 1), ("60 or more", 3)],
        ),
        (
            age(("<", 40, 2), (">=", 60, -1)),
            [("under 40", 2), ("40 to under 60", 0), ("60 or more", -1)],
        ),
        (
            age(("between", (40, 41), 2), whole=True),
            [("under 40", 0), ("40", 2), ("41 or more", 0)],
        ),
        (
            age(("between", (-5, 0), 2), whole=True),
            [("under −5", 0), ("−5 to −1", 2), ("0 or more", 0)],
        ),
        (
            age(("between", (39.5, 59.5), 2), whole=True),
            [("under 40", 0), ("40–59", 2), ("60 or more", 0)],
        ),
        # no whole number lies between: the words are exact
        (
            age(("between", (40.2, 40.8), 2), whole=True),
            [("under 41", 0), ("40.2 to under 40.8", 2), ("41 or more", 0)],
        ),
        (age((">=", 1e300, 2), whole=True), [("under 1e+300", 0), ("1e+300 or more", 2)]),
        # equal neighbours merge
        (
            age((">=", 40, 2), (">=", 50, 1), ("<", 50, 1)),
            [("under 40", 1), ("40 or more", 3)],
        ),
        (
            age((">=", 40, 2), (">=", 50, -2), (">=", 60, 2)),
            [("under 40", 0), ("40 to under 50", 2), ("50 to under 60", 0), ("60 or more", 2)],
        ),
        # worth the same for all that are not missing
        (age((">=", 40, 2), ("<", 40, 2)), [("any value", 2)]),
        (age(("==", "a", 2), ("!=", "a", 2)), [("any value", 2)]),
        # everything cancels
        (age(("between", (1, 3), 2), ("between", (1, 2), -2), ("between", (2, 3), -2)), EMPTY),
        (age((">=", 40, 0)), EMPTY),
        # missing
        (
            age(("missing", None, 0), (">=", 40, 2)),
            [("under 40", 0), ("40 or more", 2), ("not known", 0)],
        ),
        (age((">=", 40, 0), ("missing", None, 0)), EMPTY),
        (age((">=", 40, 0), ("missing", None, 1)), [("known", 0), ("not known", 1)]),
        (age((">=", 40, 2), ("missing", None, 1), fill=7), [("under 40", 0), ("40 or more", 2)]),
        (
            age((">=", 40, 2), fill=50, saw_missing=True),
            [("under 40", 0), ("40 or more", 2), ("not known", 2)],
        ),
        # other ends
        (age((">", 40, 2), ("<=", 40, 3)), [("up to 40", 3), ("over 40", 2)]),
        (age(("<=", 40, 1), ("<=", 9, 3)), [("up to 9", 4), ("over 9 to 40", 1), ("over 40", 0)]),
        (age(("<=", 40, 1), whole=True), [("up to 40", 1), ("41 or more", 0)]),
        (
            age(("==", 62, 5), *AGE, whole=True),
            [("under 40", 0), ("40–59", 1), ("60–61", 3), ("62", 8), ("63 or more", 3)],
        ),
        (
            age(("==", 62, 5), (">", 60, 1)),
            [("up to 60", 0), ("over 60 to under 62", 1), ("62", 6), ("over 62", 1)],
        ),
        # what is read as missing is no answer
        (age(("==", -9, 5), (">=", 60, 1), special=(-9,)), [("under 60", 0), ("60 or more", 1)]),
        # levels
        (
            age(("in", ("c", "a"), 2), levels=("a", "b", "c")),
            [("a or c", 2), ("b or any other", 0)],
        ),
        (age(("in", (3, 1), 1), ("==", 2, 1)), [("1, 2 or 3", 1), ("any other", 0)]),
        (age(("not in", ("a", "b"), 3), ("==", "a", 1)), [("a", 1), ("b", 0), ("any other", 3)]),
        (age(("!=", "a", 3), ("==", "b", -3)), [("a or b", 0), ("any other", 3)]),
        (age(("!=", "a", 3), ("==", "b", -1)), [("a", 0), ("b", 2), ("any other", 3)]),
        (age(("not in", ("a", "b"), 3), ("==", "b", 3)), [("a", 0), ("any other", 3)]),
        (
            age(("==", "I or II", 1), ("==", "not known", 1)),
            [('"I or II" or "not known"', 1), ("any other", 0)],
        ),
    ],
)
def test_examples(card, answers):
    assert printed(card) == ({"age": answers} if answers else {})


def test_no_and_yes():
    rules = [Rule(PerUnit("smoker", binary=True), -2), Rule(Condition("smoker", "missing"), 1)]
    assert printed(make(rules)) == {"smoker": [("no", 0), ("yes", -2), ("not known", 1)]}
    assert printed(make(rules).start_at_zero()) == {
        "smoker": [("no", 2), ("yes", 0), ("not known", 3)]
    }


def test_levels_come_in_the_order_of_training():
    stages = ("I", "II", "III", "IV")
    pairs = [("==", "IV", 3), ("==", "II", 1), ("==", "III", 3)]
    assert printed(age(*pairs, feature="stage", levels=stages)) == {
        "stage": [("II", 1), ("III or IV", 3), ("I or any other", 0)]
    }
    others = [*pairs[1:], ("not in", ("I", "II", "III"), 5)]
    assert printed(age(*others, feature="stage", levels=stages)) == {
        "stage": [("I", 0), ("II", 1), ("III", 3), ("IV or any other", 5)]
    }


def test_points_per_unit_are_written_as_such():
    rules = [
        Rule(Condition("age", ">=", 60), 2),
        Rule(Condition("age", "missing"), 0),
        Rule(Condition("age", ">=", 40), 1),
        Rule(PerUnit("age", lower=0, upper=9), 1),
        Rule(PerUnit("falls"), -7),
        Rule(Condition("falls", "missing"), 0),
        Rule(PerUnit("nothing"), 0),
    ]
    card = make(rules)
    assert printed(card) == {
        "falls": [("whole number", -7), ("not known", 0)],
        "age": [
            ("whole number, from 0 to 9", 1),
            ("plus: under 40", 0),
            ("plus: 40 to under 60", 1),
            ("plus: 60 or more", 3),
            ("not known", 0),
        ],
    }
    assert contents(card).questions[0].answers == [
        ("whole number", "× −7 per unit"),
        ("not known", "0"),
    ]
    assert card.start_at_zero() == card
    assert card.explain({"age": 62, "falls": 2, "nothing": 1}) == [
        ("falls", "2", -14),
        ("age", "62", 12),
    ]


def test_a_whole_sum_with_a_source_filled_with_a_half():
    rule = Rule(Condition("late", "between", (2, 5)), 1)
    late = Reading(feature="late", sources=("a", "b"), combine="sum", whole=True)
    assert printed(make([rule], [late]))["late"][1] == ("2–4", 1)
    halves = Reading(feature="b", fill=1.5)
    assert printed(make([rule], [late, halves]))["late"][1] == ("2 to under 5", 1)


def test_a_card_whose_answers_are_all_worth_0_asks_nothing():
    card = age((">=", 40, 1), ("<", 40, 1), (">=", 10, -1), ("<", 10, -1), fill=3)
    assert card.questions == ()
    assert card.score({"age": np.array([5.0, 45.0])}).tolist() == [0, 0]
    printed = contents(card)
    assert (printed.questions, printed.notes) == ([], [])
    assert "no questions: every row scores 0" in str(card)
    always = age((">=", 40, 2), ("<", 40, 2))
    assert always.start_at_zero().questions == ()
    assert always.start_at_zero().score({"age": 3}) == 0


def test_the_same_card_in_both_forms():
    rules = [
        Rule(Condition("age", ">=", 40), -2),
        Rule(PerUnit("use", decimals=1, lower=0, upper=2), 5),
        Rule(Condition("stage", "==", "I"), -3),
        Rule(Condition("stage", "!=", "I"), -1),
    ]
    steps = [(-5, 0.1), (-2, 0.2), (3, 0.6)]
    raw = Scorecard(rules, steps, Thresholds.of([0.15, 0.5]), score_range=(-5, 9))
    card = raw.start_at_zero()
    assert (card.base, card.shift) == ((("age", 2), ("stage", 3)), 5)
    assert card.rules == raw.rules
    assert card.risks == ((0, 0.1), (3, 0.2), (8, 0.6))
    assert (card.score_range, card.cutoffs) == ((0, 14), (3, 8))
    assert raw.cutoffs == (-2, 3)
    assert card.score_limits == (0, 14)
    assert (card.raw(), card.start_at_zero(), card.raw().start_at_zero()) == (raw, card, card)
    ages, uses, stages = [30, 50], [0, 0.05, 0.77, 9], ["I", "II"]
    rows = list(itertools.product(ages, uses, stages))
    data = dict(zip(("age", "use", "stage"), map(list, zip(*rows, strict=True)), strict=True))
    assert (card.score(data) - raw.score(data)).tolist() == [5] * len(rows)
    assert card.risk(data).tolist() == raw.risk(data).tolist()
    for k, score in enumerate(card.score(data).tolist()):
        assert card.score({name: values[k] for name, values in data.items()}) == score


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (3, "base=3 must be a list of pairs"),
        ([("age",)], r"base\[0\] = .* must be a pair"),
        ([("sex", 1)], r"base\[0\] is of column 'sex', which no rule uses"),
        ([("age", 1), ("age", 2)], r"base\[1\] repeats the base of 'age'"),
        ([("age", 1.0)], "the base of 'age' must be an integer, not 1.0"),
        ([("age", True)], "the base of 'age' must be an integer, not True"),
        ([("age", 10**12)], "more than all rules can bring"),
        ([("falls", 1)], "column 'falls' has points per unit, which count from 0"),
    ],
)
def test_a_base_that_makes_no_sense_is_refused(base, message):
    rules = [Rule(Condition("age", ">=", 40), 1), Rule(PerUnit("falls"), 1)]
    with pytest.raises(InputError, match=message):
        Scorecard(rules, [(0, 0.1)], HALF, base=base)


def test_a_base_of_0_is_none():
    rules = [Rule(Condition("age", ">=", 40), 1)]
    assert Scorecard(rules, [(0, 0.1)], HALF, base=[("age", 0)]).base == ()


def test_sums_with_a_base_beyond_64_bits_are_refused():
    rules = [Rule(PerUnit("x", decimals=9, lower=-2, upper=2), 1), Rule(Condition("y", ">", 0), 1)]
    most = 10**9
    card = Scorecard(rules, [(0, 0.1)], HALF, base=[("y", most)])
    assert card.score({"x": 2, "y": 1}) == most + 3
    assert card.score({"x": [2.0], "y": [1.0]}).tolist() == [most + 3]
    many = [Rule(Condition("y", ">", k), 10**9) for k in range(20)]
    card = Scorecard([rules[0], *many], [(0, 0.1)], HALF, base=[("y", 10 * most)])
    for y in (1, [1.0]):
        with pytest.raises(InputError, match="does not fit into 64 bits"):
            card.score({"x": 2 if y == 1 else [2.0], "y": y})
    low = replace(card, base=(("y", -10 * most),))
    assert low.score({"x": [0.0], "y": [16.0]}).tolist() == [6 * most]
    assert low.score({"x": 0, "y": 16}) == 6 * most


def test_notes_are_about_what_is_asked():
    readings = [
        Reading(feature="late", sources=("a", "b"), combine="sum"),
        Reading(feature="b", special=(-9, "?")),
        Reading(feature="a", fill=0, saw_missing=True),
        Reading(feature="age", fill=52),
        Reading(feature="bmi", fill=22, special=(99,)),
        Reading(feature="gone", fill=1),
    ]
    rules = [
        Rule(Condition("age", ">=", 60), 1),
        Rule(Condition("late", ">=", 3), 5),
        Rule(Condition("bmi", ">=", 20), 2),
        Rule(PerUnit("a", upper=4), 1),
        Rule(Condition("gone", ">=", 3), 0),
    ]
    card = make(rules, readings)
    assert card_notes(card) == [
        "late: the sum of a, b",
        "a: missing counts as 0",
        "b: −9 or ? means not known",
        "bmi: 99 means not known",
        "if not known, count as: age 52 (none was missing in training)",
    ]
    assert printed(card)["bmi"] == [("under 20", 0), ("20 or more", 2), ("not known", 2)]
