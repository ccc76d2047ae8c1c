"""Printed rows: adding up what is printed gives the points of the card."""

from __future__ import annotations

import math
import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from netbenefit.cards.readings import Reading
from netbenefit.cards.scorecard import Rule, Scorecard
from netbenefit.cards.terms import Condition, PerUnit
from netbenefit.cards.text import card_notes, card_rows, contents
from netbenefit.metrics.thresholds import Thresholds

HALF = Thresholds.of([0.5])
STEPS, LEVELS = (">=", "<", "between"), ("==", "!=", "in", "not in")


def make(rules, readings=()) -> Scorecard:
    return Scorecard.from_levels(rules, [1], [0.2, 0.7], HALF, readings=readings)


def age(*pairs, feature="age", **reading) -> Scorecard:
    """A card on one column, from (op, value, points)."""
    rules = [Rule(Condition(feature, op, value), points) for op, value, points in pairs]
    return make(rules, [Reading(feature=feature, **reading)] if reading else [])


def printed(card: Scorecard) -> list[tuple[str, int]]:
    return [(row.text, row.points) for row in card_rows(card)]


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


def as_rules(card: Scorecard) -> Scorecard:
    """The printed rows as the rules of a card of their own."""
    rows = card_rows(card)
    used = {row.feature for row in rows}
    readings = [reading for reading in card.readings if reading.feature in used]
    return make([Rule(row.term, row.points) for row in rows], readings)


def constant(*pairs) -> tuple[list[Rule], list[Reading]]:
    return [Rule(Condition("x", op, value), points) for op, value, points in pairs], []


@settings(max_examples=2000, deadline=None)
@given(columns("x"))
@example(constant((">=", 4, 2), ("<", 4, 2), ("missing", None, 0)))
@example(constant(("==", "a", 2), ("!=", "a", 2), ("missing", None, 1)))
def test_rows_give_every_value_the_points_of_the_card(column):
    rules, readings = column
    card = make(rules, readings)
    values = [*interesting(rules), None]
    if not takes_missing(rules, readings):
        values = [v for v in values[:-1] if not read_as_missing(v, readings)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = card.score({"x": values}).tolist()
        again = as_rules(card)
        # A column whose rows all vanish is no longer needed.
        got = again.score({"x": values}).tolist() if again.rules else [0] * len(values)
        assert got == scores
        one_by_one = [again.score({"x": v}) for v in values] if again.rules else got
    assert one_by_one == scores


@settings(max_examples=500, deadline=None)
@given(columns("x"))
def test_rows_of_a_kind_never_both_apply(column):
    rules, readings = column
    rows = card_rows(make(rules, readings))
    for ops in (STEPS, LEVELS):
        own = [r for r in rows if isinstance(r.term, Condition) and r.term.op in (*ops, "missing")]
        for value in [*interesting(rules), None]:
            assert sum(row.term.value_code(value) for row in own) <= 1
    assert all(row.points or row.term.op == "missing" for row in rows)
    steps = [r for r in rows if isinstance(r.term, Condition) and r.term.op in STEPS]
    everywhere = [r.term.op for r in steps] == ["<", ">="]
    for before, after in pairwise(steps):
        start = after.term.value[0] if after.term.op == "between" else after.term.value
        end = before.term.value[1] if before.term.op == "between" else before.term.value
        assert end <= start
        assert end < start or before.points != after.points or everywhere


@settings(max_examples=300, deadline=None)
@given(st.tuples(columns("x"), columns("y"), columns("z")))
def test_columns_are_sorted_by_points_and_missing_is_last(drawn):
    card = make(
        [rule for rules, _ in drawn for rule in rules], [r for _, own in drawn for r in own]
    )
    rows = card_rows(card)
    names = list(dict.fromkeys(row.feature for row in rows))
    assert [row.feature for row in rows] == sorted((r.feature for r in rows), key=names.index)
    weights = [max(abs(row.points) for row in rows if row.feature == name) for name in names]
    assert weights == sorted(weights, reverse=True)
    for name in names:
        ops = [getattr(row.term, "op", "unit") for row in rows if row.feature == name]
        assert "missing" not in ops[:-1]
        assert "unit" not in ops[1:]


# -- what is printed, read by someone who has only the paper ---------------------------------------


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def applies(text: str, name: str, value) -> bool:
    """Read a printed row as a person does."""
    n = r"(−?[\d.e+]+)"
    if text == f"{name} missing" or value is None:
        return text == f"{name} missing" and value is None
    if found := re.fullmatch(rf"{name} (≥|<|>|≤|=|≠) {n}", text):
        edge, sign = number(found[2]), found[1]
        held = {"≥": value >= edge, "<": value < edge, ">": value > edge, "≤": value <= edge}
        return {**held, "=": value == edge, "≠": value != edge}[sign]
    if found := re.fullmatch(rf"{n} ≤ {name} (<|≤) {n}", text):
        low, high = number(found[1]), number(found[3])
        return low <= value < high or (found[2] == "≤" and value == high)
    if found := re.fullmatch(rf"{name} {n}(?:(?:–| to ){n})?", text):
        return number(found[1]) <= value <= number(found[2] or found[1])
    found = re.fullmatch(rf"{name} (is not|is|other than) (.*)", text)
    words = re.split(", | or ", found[2])
    named = [w.strip('"') if isinstance(value, str) else number(w) for w in words]
    return (value in named) == (found[1] == "is")


@pytest.mark.parametrize("name", ["age", "x1"])
@settings(max_examples=500, deadline=None)
@given(st.data())
def test_the_words_mean_the_same(name, data):
    rules, readings = data.draw(columns(name))
    readings = [r for r in readings if r.fill is None]
    rules = [rule for rule in rules if isinstance(rule.term, Condition)]
    if not {rule.term.feature for rule in rules}:
        return
    card = make(rules, readings)
    values = [v for v in interesting(rules) if not read_as_missing(v, readings)]
    if any(reading.whole for reading in readings):  # the words for whole numbers are about these
        values = [v for v in values if float(v).is_integer()]
    values += [None] * takes_missing(rules, readings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in values:
            total = sum(row.points for row in card_rows(card) if applies(row.text, name, value))
            assert total == card.score({name: value})


# -- examples --------------------------------------------------------------------------------------

AGE = [(">=", 40, 1), (">=", 60, 2)]


@pytest.mark.parametrize(
    ("card", "rows"),
    [
        (age(*AGE), [("40 ≤ age < 60", 1), ("age ≥ 60", 3)]),
        (age(*AGE, whole=True), [("age 40–59", 1), ("age ≥ 60", 3)]),
        (age(*AGE, whole=True, fill=52), [("age 40–59", 1), ("age ≥ 60", 3)]),
        # 52.5 would be neither in 40–52 nor in 53–59
        (age(*AGE, whole=True, fill=52.5), [("40 ≤ age < 60", 1), ("age ≥ 60", 3)]),
        (age(("<", 40, 2), (">=", 60, -1)), [("age < 40", 2), ("age ≥ 60", -1)]),
        (age(("between", (40, 41), 2), whole=True), [("age = 40", 2)]),
        (age(("between", (-5, 0), 2), whole=True), [("age −5 to −1", 2)]),
        (age(("between", (39.5, 59.5), 2), whole=True), [("age 40–59", 2)]),
        (age((">=", 39.5, 2), whole=True), [("age ≥ 40", 2)]),
        (age(("between", (40.2, 40.8), 2), whole=True), [("40.2 ≤ age < 40.8", 2)]),
        (age((">=", 1e300, 2), whole=True), [("age ≥ 1e+300", 2)]),
        (age(("between", (40, 60), 2), feature="x1", whole=True), [("40 ≤ x1 ≤ 59", 2)]),
        (age(("between", (40, 41), 2), feature="x1", whole=True), [("x1 = 40", 2)]),
        # equal neighbours merge; what is worth nothing is left out
        (age((">=", 40, 2), (">=", 50, 1), ("<", 50, 1)), [("age < 40", 1), ("age ≥ 40", 3)]),
        (
            age((">=", 40, 2), (">=", 50, -2), (">=", 60, 2)),
            [("40 ≤ age < 50", 2), ("age ≥ 60", 2)],
        ),
        # worth the same for all that are not missing
        (age((">=", 40, 2), ("<", 40, 2)), [("age < 40", 2), ("age ≥ 40", 2)]),
        (age(("==", "a", 2), ("!=", "a", 2)), [("age is a", 2), ("age is not a", 2)]),
        # everything cancels
        (age(("between", (1, 3), 2), ("between", (1, 2), -2), ("between", (2, 3), -2)), []),
        (age((">=", 40, 0)), []),
        # missing
        (age((">=", 40, 2), ("missing", None, 0)), [("age ≥ 40", 2), ("age missing", 0)]),
        (age(("missing", None, 0), (">=", 40, 2)), [("age ≥ 40", 2), ("age missing", 0)]),
        (age((">=", 40, 0), ("missing", None, 0)), []),
        (age((">=", 40, 0), ("missing", None, 1)), [("age missing", 1)]),
        (age((">=", 40, 2), ("missing", None, 1), fill=7), [("age ≥ 40", 2)]),
        # no common form
        (age((">", 40, 2), ("<=", 40, 3)), [("age ≤ 40", 3), ("age > 40", 2)]),
        (age(("<=", 40, 1), ("<=", 9, 3)), [("age ≤ 9", 3), ("age ≤ 40", 1)]),
        (age(("==", 62, 5), *AGE), [("40 ≤ age < 60", 1), ("age ≥ 60", 3), ("age = 62", 5)]),
        # levels
        (age(("in", ("c", "a"), 2), levels=("a", "b", "c")), [("age is c or a", 2)]),
        (age(("in", (3, 1), 1), ("==", 2, 1)), [("age is 1, 2 or 3", 1)]),
        (
            age(("not in", ("a", "b"), 3), ("==", "a", 1)),
            [("age is a", 1), ("age other than a or b", 3)],
        ),
        (age(("!=", "a", 3), ("==", "b", -3)), [("age other than a or b", 3)]),
        (age(("!=", "a", 3), ("==", "b", -1)), [("age is b", 2), ("age other than a or b", 3)]),
        (age(("not in", ("a", "b"), 3), ("==", "b", 3)), [("age is not a", 3)]),
        (age(("==", "I or II", 1), ("==", "missing", 1)), [('age is "I or II" or "missing"', 1)]),
    ],
)
def test_examples(card, rows):
    assert printed(card) == rows


def test_levels_come_in_the_order_of_training():
    stages = ("I", "II", "III", "IV")
    pairs = [("==", "IV", 3), ("==", "II", 1), ("==", "III", 3)]
    assert printed(age(*pairs, feature="stage", levels=stages)) == [
        ("stage is II", 1),
        ("stage is III or IV", 3),
    ]
    others = [*pairs[1:], ("not in", ("I", "II", "III"), 5)]
    assert printed(age(*others, feature="stage", levels=stages)) == [
        ("stage is II", 1),
        ("stage is III", 3),
        ("stage other than I, II or III", 5),
    ]


def test_per_unit_is_before_merged_conditions():
    rules = [
        Rule(Condition("age", ">=", 60), 2),
        Rule(Condition("age", "missing"), 0),
        Rule(Condition("age", ">=", 40), 1),
        Rule(PerUnit("age", lower=0, upper=9), 1),
        Rule(PerUnit("falls"), -7),
        Rule(PerUnit("nothing"), 0),
    ]
    assert printed(make(rules)) == [
        ("falls (whole number)", -7),
        ("age (whole number, from 0 to 9)", 1),
        ("40 ≤ age < 60", 1),
        ("age ≥ 60", 3),
        ("age missing", 0),
    ]


def test_a_whole_sum_with_a_source_filled_with_a_half():
    rule = Rule(Condition("late", "between", (2, 5)), 1)
    late = Reading(feature="late", sources=("a", "b"), combine="sum", whole=True)
    assert printed(make([rule], [late])) == [("late 2–4", 1)]
    halves = Reading(feature="b", fill=1.5)
    assert printed(make([rule], [late, halves])) == [("2 ≤ late < 5", 1)]


def test_a_card_whose_rows_all_vanish_has_no_rules():
    card = age((">=", 40, 1), ("<", 40, 1), (">=", 10, -1), ("<", 10, -1), fill=3)
    assert card_rows(card) == []
    assert card.score({"age": np.array([5.0, 45.0])}).tolist() == [0, 0]
    printed = contents(card)
    assert printed.rules == [("no rules: every row scores 0", "")]
    assert printed.notes == []
    assert "no rules: every row scores 0" in str(card)


def test_notes_are_about_the_printed_columns():
    readings = [
        Reading(feature="late", sources=("a", "b"), combine="sum"),
        Reading(feature="b", special=(-9, "?")),
        Reading(feature="a", fill=0, saw_missing=True),
        Reading(feature="age", fill=52),
        Reading(feature="gone", fill=1),
    ]
    rules = [
        Rule(Condition("age", ">=", 60), 1),
        Rule(Condition("late", ">=", 3), 5),
        Rule(PerUnit("a", upper=4), 1),
        Rule(Condition("gone", ">=", 3), 0),
    ]
    card = make(rules, readings)
    assert card_notes(card, card_rows(card)) == [
        "late: the sum of a, b",
        "a: missing counts as 0",
        "b: −9 or ? means missing",
        "if not known, count as: age 52 (none was missing in training)",
    ]
