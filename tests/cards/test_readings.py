"""Readings: a raw value means the same in a table, in one row, in a file, and in the docstring."""

from __future__ import annotations

import json
import math
import re
import warnings
from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.cards.readings import Reading, Readings, plain_number
from netbenefit.cards.scorecard import Rule, Scorecard
from netbenefit.cards.terms import Condition, PerUnit
from netbenefit.common.checks import InputError
from netbenefit.metrics.thresholds import Thresholds
from tests.helpers.full import examples

HALF = Thresholds.of([0.5])


def make(rules, readings=()) -> Scorecard:
    return Scorecard.from_levels(rules, [1], [0.2, 0.7], HALF, readings=readings)


# -- a slow reference, written from the docstring --------------------------------------------------


class Refused(Exception):
    """The reference raises this where the package raises an InputError."""


NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def reference(reading: Reading, item, kind: str, watched: bool = True) -> tuple:
    """Return what a raw value is read as (None: missing), and its warnings."""
    value = item
    if isinstance(item, str):
        bare = item.strip()
        if bare == "" or bare in reading.special:
            value = None
        elif kind != "text" and reading.text and NUMBER.fullmatch(bare):
            value = float(bare)
        elif kind == "number":
            raise Refused
    elif item is None or item != item:
        value = None
    elif kind == "text":
        if isinstance(item, bool | np.bool_):
            raise Refused
        number = float(item)
        spelt = str(int(number)) if number == int(number) else repr(number)
        value = None if number in reading.special else spelt
    else:
        value = float(item)
    return settle(reading, value, watched)


def settle(reading: Reading, value, watched: bool) -> tuple:
    """Codes, fill and levels."""
    warned_of = set()
    if any(value == code for code in reading.special):
        value = None
    if value is None and reading.fill is not None:
        warned_of |= set() if reading.saw_missing else {"missing"}
        value = reading.fill
    if value is not None and watched and reading.levels and value not in reading.levels:
        warned_of.add("levels")
    return value, warned_of


def reference_derived(reading: Reading, others: dict, row: dict) -> tuple:
    parts, warned_of = [], set()
    for source in reading.sources:
        value, more = reference(others[source], row[source], "number")
        parts.append(value)
        warned_of |= more
    combine = {"sum": sum, "max": max, "min": min}[reading.combine]
    value, more = settle(reading, None if None in parts else float(combine(parts)), True)
    return value, warned_of | more


def run_with_warnings(work) -> tuple:
    """Run something; return its result and the kinds of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work()
    kinds = {"but never was": "missing", "which it did not": "levels"}
    warned_of = [next(k for words, k in kinds.items() if words in str(w.message)) for w in caught]
    return result, warned_of


def as_list(column) -> list:
    """Values of a column, None where missing; the mask must agree."""
    values = [None if v is None or v != v else v for v in column.values.tolist()]
    missing = np.zeros(len(values), bool) if column.missing is None else column.missing
    assert [v is None for v in values] == missing.tolist()
    assert column.missing is None or column.missing.any()
    return values


# -- arrays and single rows ------------------------------------------------------------------------

CODES = [-9, 99, "NA", "?", "7", 0.5]
LEVELS = ["low", "high", "Low", "7", "missing"]
MISSING = [None, math.nan, "", "  ", "NA", " NA ", "?", -9, -9.0, 99]
NUMBERS = [0, 1, 2.5, -9, 7, 99, 0.5, True, np.float64(3.0), np.int64(-9)]
TEXT_NUMBERS = ["7", " 7 ", "1e2", "-9", "0.5", ".5", "1,5", "nan", "inf", "1_0", "+3"]


@st.composite
def single_readings(draw, feature="x", kinds=("number", "text", "any")):
    kind = draw(st.sampled_from(kinds))
    special = draw(st.lists(st.sampled_from(CODES), max_size=3, unique=True))
    own = LEVELS if kind == "text" else [0, 1, 2.5, 7, 40]
    fill = draw(st.none() | st.sampled_from(own))
    reading = Reading(
        feature=feature,
        special=[code for code in special if str(code) != str(fill)],
        fill=fill,
        saw_missing=draw(st.booleans()),
        levels=draw(st.just([]) | st.lists(st.sampled_from(own), max_size=4, unique=True)),
        text=draw(st.booleans()),
    )
    return reading, kind


def test_a_code_that_spells_a_number_is_that_number_too():
    reading = Reading(feature="x", special=("96", " 1e2", "NA", "1_0", "nan", -9, "-9"))
    assert reading.special == ("96", " 1e2", "NA", "1_0", "nan", -9, "-9", 96, 100)
    assert Reading(feature="x", special=("96",)).notes() == ["x: 96 means not known"]
    rules = [Rule(Condition("x", ">=", 50), 1), Rule(Condition("x", "missing"), 5)]
    card = Scorecard(rules, [(0, 0.1), (1, 0.6)], Thresholds.of([0.5]), readings=[reading])
    values = [96, "96", 96.0, np.float64(100), "NA", 97]
    assert [card.score({"x": value}) for value in values] == [5, 5, 5, 5, 5, 1]
    assert card.score({"x": np.array([96.0, 97.0])}).tolist() == [5, 1]
    with pytest.raises(InputError, match=r"fill=96 .* is one of its special codes"):
        Reading(feature="x", special=("96",), fill=96)


def raw_values(kind: str) -> st.SearchStrategy:
    of = {"number": NUMBERS + TEXT_NUMBERS, "text": LEVELS, "any": NUMBERS + LEVELS + TEXT_NUMBERS}
    return st.sampled_from(of[kind]) | st.sampled_from(MISSING)


def forms(items: list) -> list:
    """The same column in different types."""
    objects = np.empty(len(items), dtype=object)
    objects[:] = items
    found = [list(items), tuple(items), objects, pd.Series(items, dtype=object)]
    if all(isinstance(v, str) for v in items):
        found.append(np.array(items, dtype=str))
    if not any(isinstance(v, str) for v in items):
        found.append(np.array([math.nan if v is None else float(v) for v in items]))
    return found


@settings(max_examples=examples(1200), deadline=None)
@given(st.data())
def test_a_column_reads_as_its_values_do(data):
    reading, kind = data.draw(single_readings())
    watched = data.draw(st.booleans())
    readings = Readings([reading], () if watched else ("x",))
    good, expected, warned_of = [], [], []
    for item in data.draw(st.lists(raw_values(kind), max_size=10)):
        try:
            value, warned = reference(reading, item, kind, watched)
        except Refused:
            with pytest.raises(InputError):
                readings.value("x", {"x": item}, kind)
            with pytest.raises(InputError):
                readings.column("x", {"x": [*good, item]}, kind)
            continue
        got, one = run_with_warnings(lambda item=item: readings.value("x", {"x": item}, kind))
        assert got == value
        assert (set(one), len(one)) == (warned, len(warned))
        good, expected, warned_of = [*good, item], [*expected, value], [*warned_of, *warned]
    for form in forms(good):
        column, all_warned = run_with_warnings(
            lambda form=form: readings.column("x", {"x": form}, kind)
        )
        assert as_list(column) == expected
        assert sorted(all_warned) == sorted(set(warned_of))  # each of them once, for all rows
        if kind == "number":
            assert column.values.dtype == np.float64


@settings(max_examples=examples(500), deadline=None)
@given(st.data())
def test_derived_columns_read_as_their_sources_do(data):
    names = data.draw(st.sampled_from([("a",), ("a", "b"), ("c", "a", "b")]))
    own = {name: data.draw(single_readings(name, kinds=("number",)))[0] for name in names}
    total, _ = data.draw(single_readings("d", kinds=("number",)))
    total = Reading(
        feature="d",
        special=total.special,
        fill=total.fill,
        saw_missing=total.saw_missing,
        levels=total.levels,
        sources=names,
        combine=data.draw(st.sampled_from(["sum", "max", "min"])),
    )
    readings = Readings([total, *own.values()])
    assert readings.sources("d") == names
    plain = st.sampled_from([*NUMBERS, None, math.nan, "", -9])
    rows = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys(names, plain)), max_size=8))
    expected = [reference_derived(total, own, row) for row in rows]
    for row, (value, _) in zip(rows, expected, strict=True):
        got, warned_of = run_with_warnings(lambda row=row: readings.value("d", row, "number"))
        assert got == value
        assert set(warned_of) == reference_derived(total, own, row)[1]
    columns = {name: [row[name] for row in rows] for name in names}
    column, warned_of = run_with_warnings(lambda: readings.column("d", columns, "number"))
    assert as_list(column) == [value for value, _ in expected]
    assert set(warned_of) == set().union(*(more for _, more in expected))


@pytest.mark.parametrize(("combine", "first"), [("sum", 3), ("max", 2), ("min", 1)])
def test_a_derived_column_is_missing_where_a_source_is(combine, first):
    expected = [first, None, None]
    readings = Readings(
        [
            Reading(feature="d", sources=("a", "b"), combine=combine),
            Reading(feature="b", special=[-9]),
        ]
    )
    data = {"a": [1, None, 4], "b": [2, 5, -9]}
    assert as_list(readings.column("d", data, "number")) == expected
    assert [
        readings.value("d", {"a": a, "b": b}, "number")
        for a, b in zip(data["a"], data["b"], strict=True)
    ] == expected
    with pytest.raises(InputError, match="'a', 'b' have different lengths"):
        readings.column("d", {"a": [1], "b": [1, 2]}, "number")


def test_a_column_of_missing_values_can_be_filled_with_text():
    readings = Readings([Reading(feature="x", fill="low", saw_missing=True)])
    for column in ([None, None], np.array([math.nan, math.nan]), ["", " "]):
        assert as_list(readings.column("x", {"x": column}, "text")) == ["low", "low"]


def test_a_value_where_a_column_should_be_is_refused():
    readings = Readings([Reading(feature="x", special=("NA",))])
    for data in (3.0, "NA", np.zeros((2, 2)), np.array("NA")):
        with pytest.raises(InputError, match=r"has shape .* Pass one value per row"):
            readings.column("x", {"x": data}, "number")


@settings(max_examples=examples(300), deadline=None)
@given(st.floats() | st.integers(-(10**20), 10**20), st.text(" \t\n", max_size=2))
def test_what_python_writes_as_a_number_is_read_as_one(number, space):
    text = f"{space}{number!r}{space}"
    assert plain_number(text) == (float(number) if math.isfinite(number) else None)


@pytest.mark.parametrize("text", ["", " ", ".", "1,5", "1_000", "nan", "-inf", "1e999", "0x1f"])
def test_what_is_not_plainly_a_number_stays_text(text):
    assert plain_number(text) is None


# -- on a card -------------------------------------------------------------------------------------


def raw_card() -> Scorecard:
    return make(
        [
            Rule(Condition("stage", "in", ("III", "IV")), 10),
            Rule(Condition("stage", "missing"), 1),
            Rule(Condition("late", ">=", 3), 100),
            Rule(PerUnit("income", decimals=1, log=True), 1000),
            Rule(Condition("lab", "missing"), 7),
        ],
        [
            Reading(feature="stage", special=("unknown",), levels=("I", "II", "III", "IV")),
            Reading(feature="late", sources=("late 30", "late 60"), combine="sum"),
            Reading(feature="late 60", special=(98,), fill=0, saw_missing=True),
            Reading(feature="income", text=True, fill=9),
            Reading(feature="lab", special=(-9,)),
        ],
    )


ROWS = [
    {"stage": "III", "late 30": 1, "late 60": 2, "income": "9", "lab": 3},
    {"stage": "unknown", "late 30": 2, "late 60": 98, "income": " 0 ", "lab": -9},
    {"stage": None, "late 30": 3, "late 60": None, "income": "0.06", "lab": None},
    {"stage": "II", "late 30": -1, "late 60": 4, "income": "1e3", "lab": 0},
]
# 1000 points a tenth of ln(1 + x): ln 10 = 2.3, ln 1.06 = 0.1 (rounded), ln 1001 = 6.9
SCORES = [10 + 100 + 2300, 1 + 0 + 0 + 7, 1 + 100 + 100 + 7, 100 + 6900]


def test_raw_rows_have_the_same_scores_in_every_form():
    card = raw_card()
    assert card.features == ("stage", "late 30", "late 60", "income", "lab")
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [card.score(row) for row in ROWS] == SCORES
        for form in (ROWS, columns, pd.DataFrame(columns), pl.DataFrame(columns)):
            assert card.score(form).tolist() == SCORES
        assert Scorecard.from_json(card.to_json()).score(ROWS).tolist() == SCORES
    with pytest.raises(InputError, match="needs 'late 60', absent"):
        card.score([{k: v for k, v in ROWS[0].items() if k != "late 60"}])
    with pytest.raises(InputError, match=r"column 'late' is missing in row 1 \(2 such rows"):
        card.score(pd.DataFrame(columns).assign(**{"late 30": [1, None, None, 2]}))


@pytest.mark.parametrize(
    ("reading", "values", "words"),
    [
        ({"fill": 3}, [1, 2], []),
        ({"fill": 3}, [1, None], ["'x' is missing in row 1, but never was .* It counts as 3,"]),
        ({"fill": 3}, [None, math.nan], [r"missing in row 0 \(2 such rows\), but never"]),
        ({"fill": 3, "special": [-9]}, [1, -9], ["missing in row 1, but never was"]),
        ({"fill": 3, "saw_missing": True}, [1, None], []),
        ({"levels": [1, 2]}, [1, 2], []),
        ({"levels": [1, 2]}, [1, 5, 4], [r"'x' holds '4', '5' \(row 1 is the first\), which"]),
        ({"levels": [1, 2], "special": [-9], "fill": 2, "saw_missing": True}, [1, -9, None], []),
        ({"levels": [1], "fill": 1}, [7, None], ["missing in row 1", "holds '7'"]),
    ],
)
@pytest.mark.parametrize("others", [None, "!=", "not in"])
def test_warnings_appear_when_documented(reading, values, words, others):
    rules = [Rule(Condition("x", "==", 1), 1)]
    if others:  # a rule for all other levels
        rules.append(Rule(Condition("x", others, 1 if others == "!=" else (1, 2)), 1))
        words = [word for word in words if "holds" not in word]
    card = make(rules, [Reading(feature="x", **reading)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        card.score({"x": values})
    assert len(caught) == len(words)
    for word, warning in zip(words, caught, strict=True):
        assert re.search(word, str(warning.message))


def test_missing_values_with_a_rule_do_not_warn():
    card = make(
        [Rule(Condition("x", "==", "a"), 1), Rule(Condition("x", "missing"), 2)],
        [Reading(feature="x", levels=["a", "b"], special=["?"])],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert card.score({"x": ["a", "b", "?", None, " "]}).tolist() == [1, 0, 2, 2, 2]
    with pytest.warns(UserWarning, match="holds 'c', which it did not"):
        assert card.score({"x": "c"}) == 0


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        ({"feature": ""}, "must be a name, not empty"),
        ({"feature": "x\ud800"}, "half a character"),
        ({"special": -9}, "special=-9 .* must be a list"),
        ({"special": [None]}, "neither a number nor text"),
        ({"levels": "ab"}, "levels='ab' .* must be a list"),
        ({"levels": [math.nan]}, "finite number"),
        ({"fill": []}, "neither a number nor text"),
        ({"fill": -9, "special": [1, -9.0]}, "fill=-9 .* is one of its special codes"),
        ({"saw_missing": 1}, "saw_missing=1 .* must be True or False"),
        ({"whole": None}, "whole=None .* must be True or False"),
        ({"combine": "sum"}, "combine='sum' .* goes with sources"),
        ({"sources": ["a"]}, "combine=None .* goes with sources"),
        ({"sources": ["a"], "combine": "mean"}, "combine='mean' .* one of sum, max, min"),
        ({"sources": ["a"], "combine": []}, "combine=.* one of sum, max, min"),
        ({"sources": ["a", "a"], "combine": "sum"}, "duplicate column names"),
        ({"sources": "ab", "combine": "sum"}, "sources='ab' .* must be a list of names"),
        ({"sources": [""], "combine": "sum"}, "must be a list of names"),
    ],
)
def test_bad_readings_are_refused(reading, message):
    with pytest.raises(InputError, match=message):
        Reading(**{"feature": "x", **reading})


def reading(feature="x", **parts) -> Reading:
    return Reading(feature=feature, **parts)


@pytest.mark.parametrize(
    ("readings", "message"),
    [
        ([{"feature": "x"}], r"readings\[0\] = .* is not a Reading"),
        ([reading(), reading()], r"readings\[1\] repeats the reading of 'x'"),
        ([reading("y")], "readings of columns that no rule uses: 'y'"),
        ([reading(fill="low")], "the reading of 'x' has 'low', but its rules expect number"),
        ([reading(levels=[1, "low"])], "has 'low', but its rules expect number"),
        ([reading("t", fill=3)], "the reading of 't' has 3, but its rules expect text"),
        (
            [reading(sources=["a"], combine="sum"), reading("a", fill="low")],
            "the reading of 'a' has 'low', but its rules expect number",
        ),
        (
            [reading(sources=["t"], combine="sum"), reading("t", sources=["b"], combine="max")],
            "'x' is derived from 't', itself derived",
        ),
    ],
)
def test_readings_that_do_not_fit_the_rules_are_refused(readings, message):
    rules = [Rule(PerUnit("x"), 1), Rule(Condition("t", "==", "a"), 1)]
    with pytest.raises(InputError, match=message):
        make(rules, readings)


def test_notes_explain_what_to_do_with_pencil_and_paper():
    assert reading().notes() == []
    assert reading(levels=["a"], whole=True, text=True, saw_missing=True).notes() == []
    assert reading(special=[-9]).notes() == ["x: −9 means not known"]
    assert reading(special=[-9, "NA", ""]).notes() == ['x: −9, NA or "" means not known']
    assert reading(fill=52).notes() == ["x: missing counts as 52"]
    assert reading(fill="low", special=[-9]).notes() == ["x: missing or −9 counts as low"]
    assert reading(sources=["a", "b"], combine="max", fill=1).notes() == [
        "x: the largest of a, b",
        "x: missing counts as 1",
    ]


# -- files -----------------------------------------------------------------------------------------


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_cards_with_readings_come_back_as_they_were(data):
    first, kind = data.draw(single_readings("x", kinds=("number", "text")))
    rules = [Rule(Condition("x", "==", "a" if kind == "text" else 1.5), 1), Rule(PerUnit("d"), 2)]
    source, _ = data.draw(single_readings("é", kinds=("number",)))
    whole, how = data.draw(st.booleans()), data.draw(st.sampled_from(["sum", "max", "min"]))
    derived = reading("d", sources=["é", "b"], combine=how, whole=whole)
    card = make(rules, data.draw(st.permutations([first, source, derived])))
    text = card.to_json()
    again = Scorecard.from_json(text)
    assert again == card
    for one in fields(card):
        assert repr(getattr(again, one.name)) == repr(getattr(card, one.name))
    assert again.to_json() == text
    assert again.features == ("x", "é", "b")


VERSION_1 = """
{"schema": "netbenefit.scorecard", "version": 1, "rules": [
  {"kind": "condition", "feature": "age", "op": ">=", "value": 52, "points": -2},
  {"kind": "per_unit", "feature": "use", "decimals": 1, "lower": null, "upper": 1.5,
   "binary": false, "points": 10}],
 "cutoffs": [3], "risks": [0.05, 0.8], "score_range": [-2, 16], "feature_names": ["age", "use"],
 "thresholds": {"values": [0.0, 0.5], "weights": [0.5, 0.5], "end": 1.0, "zero_asked": true},
 "provenance": null}
"""


def test_files_of_the_first_version_still_load():
    card = Scorecard.from_json(VERSION_1)
    assert card.readings == ()
    assert card.rules == (
        Rule(Condition("age", ">=", 52), -2),
        Rule(PerUnit("use", 1, upper=1.5), 10),
    )
    assert card.score({"age": 60, "use": 0.7}) == 5
    assert Scorecard.from_json(card.to_json()) == card
    assert json.loads(card.to_json())["version"] == 7


def damaged(path: list, value) -> str:
    data = json.loads(raw_card().to_json())
    place = data
    for key in path[:-1]:
        place = place[key]
    if value is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ([], KeyError, "^readings is missing"),
        ([], {}, "^readings must be a list, but is {}"),
        ([0], 3, r"^readings\[0\] must be an object, but is 3"),
        *(
            ([2, key], KeyError, rf"^readings\[2\].{key} is missing")
            for key in ("feature", "special", "fill", "holes", "levels", "whole", "text", "sources")
        ),
        ([2, "combine"], KeyError, r"^readings\[2\].combine is missing"),
        ([2, "unit"], "mg", r"^readings\[2\].unit is not a known key"),
        ([1, "feature"], 3, r"^readings\[1\].feature must be text, but is 3"),
        ([1, "feature"], "", r"^readings\[1\]: .* not empty"),
        ([0, "special"], "unknown", r'^readings\[0\].special must be a list, but is "unknown"'),
        ([0, "special"], ["a", None], r"^readings\[0\].special\[1\] must be a finite number"),
        ([0, "special"], [2**60], r"^readings\[0\]: .* beyond what numbers hold exactly"),
        ([0, "levels", 2], True, r"^readings\[0\].levels\[2\] must be a finite number"),
        ([2, "fill"], [0], r"^readings\[2\].fill must be a finite number"),
        ([2, "fill"], 98, r"^readings\[2\]: fill=98 .* is one of its special codes"),
        ([2, "holes"], 1, r"^readings\[2\].holes must be true or false, but is 1"),
        ([2, "whole"], None, r"^readings\[2\].whole must be true or false, but is null"),
        ([3, "text"], "yes", r"^readings\[3\].text must be true or false"),
        ([1, "sources"], None, r"^readings\[1\].sources must be a list"),
        ([1, "sources", 1], 60, r"^readings\[1\].sources\[1\] must be text, but is 60"),
        ([1, "sources"], ["late 60", "late 60"], r"^readings\[1\]: duplicate column names"),
        ([1, "sources"], [], r"^readings\[1\]: combine='sum' .* goes with sources"),
        ([1, "combine"], 3, r"^readings\[1\].combine must be text, but is 3"),
        ([1, "combine"], "mean", r"^readings\[1\]: combine='mean' .* one of sum, max, min"),
        ([1, "combine"], None, r"^readings\[1\]: combine=None"),
        ([2, "feature"], "lost", "readings of columns that no rule uses: 'lost'"),
        ([2, "fill"], "none", "the reading of 'late 60' has 'none', but its rules expect number"),
    ],
)
def test_damaged_readings_are_refused_with_their_place(path, value, message):
    with pytest.raises(InputError, match=message):
        Scorecard.from_json(damaged(["readings", *path], value))


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_no_replacement_in_a_reading_crashes_the_reader(data):
    parts = json.loads(raw_card().to_json())
    one = data.draw(st.sampled_from(parts["readings"]))
    odd = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
    one[data.draw(st.sampled_from(sorted(one)))] = data.draw(odd | st.lists(odd, max_size=3))
    try:
        card = Scorecard.from_json(json.dumps(parts))
    except InputError:
        return
    assert Scorecard.from_json(card.to_json()) == card
    row = {name: value for name, value in ROWS[0].items() if name in card.features}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            one_row = card.score({**dict.fromkeys(card.features, 1), **row})
            assert card.score([{**dict.fromkeys(card.features, 1), **row}]).tolist() == [one_row]
        except InputError:
            return


# -- logarithms ------------------------------------------------------------------------------------


@pytest.mark.parametrize("decimals", [0, 1, 2])
@settings(max_examples=examples(400), deadline=None)
@given(
    st.lists(
        st.floats(-10, 1e6) | st.floats(0, 1e308) | st.floats(-1e308, 0) | st.just(None),
        min_size=1,
        max_size=20,
    )
)
def test_logarithms_agree_in_arrays_and_rows_and_with_the_formula(decimals, values):
    term = PerUnit("x", decimals, log=True)
    card = make([Rule(term, 1), Rule(Condition("x", "missing"), 0)])
    units = 10**decimals
    codes = [term.value_code(v) for v in values]
    assert card.score({"x": values}).tolist() == [code // units for code in codes]
    there = sorted(v for v in values if v is not None)
    in_order = term.codes(np.array(there, dtype=float)).tolist()
    assert in_order == [term.value_code(v) for v in there]
    assert in_order == sorted(in_order)
    for value, code in zip(values, codes, strict=True):
        steps = math.log1p(max(value or 0.0, 0.0)) * units + 0.5
        if abs(steps - round(steps)) > 1e-9 * steps:  # away from where rounding changes
            assert code == math.floor(steps)


@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_logarithms_change_at_the_ends_of_their_steps(decimals):
    term = PerUnit("x", decimals, log=True)
    for k in [1, 2, 3, 7, 20, 300, 700 * 10**decimals]:
        edge = math.expm1((k - 0.5) / 10**decimals)
        around = [math.nextafter(edge, 0), edge, math.nextafter(edge, math.inf)]
        assert term.codes(around).tolist() == [k - 1, k, k]
        assert [term.value_code(x) for x in around] == [k - 1, k, k]


def test_logarithms_are_taken_after_clipping_and_described_so():
    term = PerUnit("income", 1, lower=9, upper=99, log=True)
    assert term.codes([0, 9, 50, 99, 1e9]).tolist() == [23, 23, 39, 46, 46]
    assert term.text() == "income (ln(1 + x), rounded to 0.1, from 9 to 99)"
    assert PerUnit("income", log=True).text() == "income (ln(1 + x), rounded)"
    card = make([Rule(term, 2)])
    assert card.score({"income": 50}) == 7  # 2 · 3.9, rounded down
    assert card.score_limits == (4, 9)
