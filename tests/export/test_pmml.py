"""PMML documents, evaluated by pmml4s (through pypmml), against Python."""

from __future__ import annotations

import math
import operator
import re
import shutil
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
import pytest

from netbenefit import Condition, InputError, PerUnit, Reading, Rule, Scorecard, Thresholds
from netbenefit.export.pmml import to_pmml
from tests.export.truth import (
    EMOJI,
    FORMULA,
    HOSTILE_COLUMN,
    HOSTILE_LEVEL,
    RIGHT_TO_LEFT,
    truth_of,
    truths,
)

NAMES = ("conditions", "from zero", "units", "hostile", "no rules", "200 rules", "binned")
HALF = Thresholds.of([0.5])
SPACE = "{http://www.dmg.org/PMML-4_4}"


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    pypmml = pytest.importorskip("pypmml", reason="pypmml is not installed")
    yield pypmml.Model
    pypmml.PMMLContext.shutdown()


def card_of(rules: list[Rule], readings: Sequence[Reading] = (), **more: Any) -> Scorecard:
    return Scorecard.from_levels(rules, [3], [0.1, 0.6], HALF, readings=readings, **more)


def predictions(
    engine: Any, card: Scorecard, rows: Sequence[dict[str, Any]]
) -> list[tuple[float | None, float | None]]:
    model = engine.fromString(to_pmml(card))
    found = [model.predict(dict(row)) for row in rows]
    return [(_given(one["score"]), _given(one["risk"])) for one in found]


def _given(value: Any) -> float | None:
    """The engine returns NaN or None where there is no score; text would be wrong."""
    assert value is None or isinstance(value, int | float)
    return None if value is None or math.isnan(value) else value


# -- agreement -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_agrees_with_python(engine: Any, name: str) -> None:
    truth = truths()[name]
    found = predictions(engine, truth.card, truth.rows)
    expected = list(zip(truth.scores, truth.risks, strict=True))
    wrong = [
        (row, want, got)
        for row, want, got in zip(truth.rows, expected, found, strict=True)
        if want != got
    ]
    assert wrong == []


def test_missing_in_every_place(engine: Any) -> None:
    """Codes of sources and of what they combine to, refused sources, fills of each."""
    rules = [
        Rule(PerUnit("total"), 1),
        Rule(Condition("total", ">=", 5), 10),
        Rule(Condition("total", "in", (2, 3)), 20),
        Rule(Condition("total", "between", (1, 4)), 40),
        Rule(Condition("total", "not in", (2, 8)), 80),
        Rule(Condition("total", "!=", 4), 160),
        Rule(Condition("total", "missing"), 1000),
        Rule(Condition("least", "<=", 1), 2000),
        Rule(Condition("least", "missing"), 4000),
        Rule(Condition("a", "missing"), 8000),
    ]
    readings = [
        Reading(feature="total", sources=("a", "b"), combine="sum", special=(9,)),
        Reading(feature="least", sources=("a", "c"), combine="min"),
        Reading(feature="a", special=(-1, "NA")),
        Reading(feature="c", refuse=True),
    ]
    card = card_of(rules, readings)
    values: list[float | None] = [None, -1, 0, 1, 2, 3, 4, 5, 7, 0.5]
    rows = [{"a": a, "b": b, "c": c} for a in values for b in (0, 2, None) for c in (0, 4, None)]
    truth = truth_of(card, rows)
    expected = list(zip(truth.scores, truth.risks, strict=True))
    assert None in truth.scores
    assert len(set(truth.scores)) > 10
    assert predictions(engine, card, rows) == expected


def test_text_in_every_form(engine: Any) -> None:
    levels = (" a ", "a", "A", "a\nb", "a\tb", "%s", "&amp;", "NaN", "null", "1", "1.0")
    rules = [Rule(Condition("x", "==", level), 2**k) for k, level in enumerate(levels)]
    rules += [Rule(Condition("x", "missing"), -1), Rule(Condition("y", "!=", "f"), -5)]
    rules.append(Rule(Condition("z", "missing"), 5000))
    readings = [
        Reading(feature="x", special=("not known", "n  a")),
        Reading(feature="y", fill="f", saw_missing=True),
        Reading(feature="z", special=("none",)),
    ]
    card = card_of(rules, readings)
    texts = [*levels, None, "", " ", "\t", "not known", " not known ", "n  a", "n a", "b"]
    rows = [{"x": x, "y": "f", "z": "1"} for x in texts]
    rows += [{"x": "a", "y": y, "z": z} for y in ("m", None, " ") for z in ("none", None, "some")]
    truth = truth_of(card, rows)
    assert predictions(engine, card, rows) == list(zip(truth.scores, truth.risks, strict=True))


def test_white_space_of_all_kinds(engine: Any) -> None:
    rules = [Rule(Condition("x", "==", "a"), 1), Rule(Condition("x", "==", "NA b"), 2)]
    rules += [Rule(Condition("x", "missing"), 4), Rule(Condition("y", "missing"), 8)]
    readings = [
        Reading(feature="x", special=("NA", " pad", "[n].a$", "N\u2003A", "e & f")),
        Reading(feature="y", special=("none",)),
    ]
    card = card_of(rules, readings)
    blanks = [chr(k) for k in range(0x3001) if chr(k).isspace()]
    assert len(blanks) > 20
    rows = [
        {"x": x.replace("_", blank), "y": y.replace("_", blank)}
        for blank in [*blanks, "\u200b", "\ufeff", " \u3000", "\n\n"]
        for x, y in (("_", "1"), ("_NA", "_"), ("NA__", "none_"), ("N_A", "a"), ("_a", "_x"))
    ]
    rows += [
        {"x": x, "y": "1"} for x in (" pad", "pad", " pad\n", "nxa", "\xa0[n].a$", "e & f", "f")
    ]
    truth = truth_of(card, rows)
    assert predictions(engine, card, rows) == list(zip(truth.scores, truth.risks, strict=True))


def test_what_fills_text_may_have_any_sign(engine: Any) -> None:
    fills = ("a & b", "<i>", "[a] b", 'x"]]>', "a")
    rules = [Rule(Condition(f"x{k}", "==", fill), 2**k) for k, fill in enumerate(fills)]
    readings = [Reading(feature=f"x{k}", fill=fill) for k, fill in enumerate(fills)]
    card = card_of(rules, readings)
    rows = [dict.fromkeys(card.features, value) for value in (None, "\u2003", "b", *fills)]
    truth = truth_of(card, rows)
    assert truth.scores[0] == 31
    assert predictions(engine, card, rows) == list(zip(truth.scores, truth.risks, strict=True))


def test_special_codes_given_as_text(engine: Any) -> None:
    rules = [Rule(Condition("x", ">=", 50), 1), Rule(Condition("x", "missing"), 5)]
    rules.append(Rule(Condition("y", "missing"), 10))
    readings = [Reading(feature="x", special=("96", "1e2")), Reading(feature="y", special=("96",))]
    card = card_of(rules, readings)
    rows = [{"x": x, "y": y} for x in (96, 100, 97, None) for y in (96, 95, None)]
    truth = truth_of(card, rows)
    assert len(set(truth.scores)) == 4
    assert predictions(engine, card, rows) == list(zip(truth.scores, truth.risks, strict=True))


def test_sums_up_to_what_doubles_hold(engine: Any) -> None:
    """A rule without an end may bring all that the others leave of 2^53 units."""
    rules = [Rule(PerUnit("x"), 1), Rule(PerUnit("y", lower=0, upper=9), 10**9)]
    card = card_of(rules)
    near = float(2**53 - 9 * 10**9)
    xs = [1e6, 1e9, 1.1e12, 1e13, 4e15, near, -near]
    rows = [{"x": x, "y": y} for x in xs for y in (0, 9)]
    truth = truth_of(card, rows)
    assert predictions(engine, card, rows) == list(zip(truth.scores, truth.risks, strict=True))
    assert predictions(engine, card, [{"x": near + 2, "y": 0}]) == [(None, None)]


def test_refused_columns(engine: Any) -> None:
    rules = [Rule(Condition("x", ">=", 1), 4), Rule(Condition("x", "missing"), 5)]
    rules += [Rule(Condition("t", "==", "a"), 8), Rule(Condition("t", "missing"), 16)]
    readings = [Reading(feature="x", refuse=True, special=(7,), fill=2)]
    readings += [Reading(feature="t", refuse=True, special=("b",), fill="a")]
    card = card_of(rules, readings)
    rows = [{"x": x, "t": t} for x in (1, 0, 7, None) for t in ("a", "b", "c", None)]
    truth = truth_of(card, rows)
    assert sum(score is None for score in truth.scores) == 12
    assert predictions(engine, card, rows) == list(zip(truth.scores, truth.risks, strict=True))


def test_numbers_at_their_ends(engine: Any) -> None:
    rules = [
        Rule(PerUnit("x", decimals=2, lower=-1.5), 3),
        Rule(Condition("y", "<", 0.1), 1),
        Rule(Condition("y", ">", math.nextafter(0.1, 1)), 2),
        Rule(PerUnit("w", log=True, decimals=2, lower=3, upper=40), 1),
    ]
    card = card_of(rules)
    ys = [0.1, math.nextafter(0.1, 0), math.nextafter(0.1, 1), math.nextafter(0.1, 1) + 1e-15, -0.0]
    rows = [{"x": 1.005, "y": y, "w": 9} for y in ys]
    rows += [{"x": x, "y": 1, "w": 9} for x in (-9e9, -1.5, -1.495, 2.675, 1e6, 12345.675)]
    rows += [{"x": 0, "y": 1, "w": w} for w in (-5, 0, 3, 3.1, 39.9, 40, 1e300)]
    truth = truth_of(card, rows)
    assert predictions(engine, card, rows) == list(zip(truth.scores, truth.risks, strict=True))
    unusable = [{"x": x, "y": 1, "w": 9} for x in (math.inf, 1e15, 1e300, None, math.nan)]
    assert predictions(engine, card, unusable) == [(None, None)] * 5


def test_outputs_keep_clear_of_columns(engine: Any) -> None:
    names = ["score", "risk", "units", "x (read)", "none"]
    rules = [Rule(Condition(name, ">=", 1), 2**k) for k, name in enumerate(names)]
    rules += [Rule(Condition("x", "==", "a"), 64), Rule(PerUnit("w", decimals=1), 1)]
    card = card_of(rules)
    model = engine.fromString(to_pmml(card))
    assert model.outputNames == ["units 2", "score 2", "risk 2"]
    row = {**dict.fromkeys(names, 1), "x": "a", "w": 2}
    assert model.predict(row)["score 2"] == card.score(row) == 97


# -- a reader of our own, for the parts that add up ------------------------------------------------

_COMPARE = {
    "equal": operator.eq,
    "notEqual": operator.ne,
    "greaterOrEqual": operator.ge,
    "greaterThan": operator.gt,
    "lessOrEqual": operator.le,
    "lessThan": operator.lt,
}


def _holds(predicate: Element, row: dict[str, Any]) -> bool:
    """Whether a predicate is true (a comparison with a missing value is not)."""
    if predicate.tag.endswith("CompoundPredicate"):
        both = all if predicate.get("booleanOperator") == "and" else any
        return both(_holds(part, row) for part in predicate)
    value, how, other = (
        row[predicate.get("field")],
        predicate.get("operator"),
        predicate.get("value"),
    )
    if how in ("isMissing", "isNotMissing"):
        return (value is None) == (how == "isMissing")
    return value is not None and _COMPARE[how](value, type(value)(other))


def _worth(part: Element, row: dict[str, Any]) -> Any:
    """The value of an expression."""
    if part.tag.endswith("FieldRef"):
        return row[part.get("field")]
    if part.tag.endswith("Constant"):
        return float(part.text or "")
    function = part.get("function")
    if function == "if":
        return _worth(part[1 if _worth(part[0], row) else 2], row)
    values = [_worth(one, row) for one in part]
    if function in _COMPARE:
        return _COMPARE[function](*values)
    plain = {"+": operator.add, "*": operator.mul, "min": min, "max": max, "floor": math.floor}
    return plain[function](*values)


def read_score(root: Element, row: dict[str, Any]) -> float | None:
    total = 0.0
    for characteristic in root.iter(f"{SPACE}Characteristic"):
        first = next((one for one in characteristic if _holds(one[0], row)), None)
        if first is None:
            return None
        own = first.get("partialScore")
        total += float(own) if own is not None else _worth(first[1][0], row)
    return total


def test_partial_scores_of_random_cards_add_up_to_the_score() -> None:
    rng = np.random.default_rng(3)
    numbers, levels = [-2.0, 0.0, 1.5, 40.0], ["a", "b", "c", "d"]
    with_base = 0
    for _ in range(300):
        terms: dict[Any, int] = {}
        for name in ("x", "y"):
            for op in rng.choice([">=", ">", "<", "<=", "==", "!="], 2):
                terms[Condition(name, str(op), float(rng.choice(numbers)))] = int(
                    rng.integers(-4, 5)
                )
        for op in rng.choice(["==", "!="], 2):
            terms[Condition("t", str(op), str(rng.choice(levels)))] = int(rng.integers(-4, 5))
        terms[PerUnit("ill", binary=True)] = int(rng.integers(-4, 5))
        terms[PerUnit("n", lower=0, upper=3)] = int(rng.integers(1, 5))
        for name in ("x", "t", "ill"):
            if rng.random() < 0.5:
                terms[Condition(name, "missing")] = int(rng.integers(-4, 5))
        card = card_of([Rule(term, points) for term, points in terms.items()])
        if rng.random() < 0.7:
            card = card.start_at_zero()
        with_base += bool(card.base)
        rows = []
        for _ in range(20):
            near = [*numbers, *(math.nextafter(v, 99) for v in numbers), -9.0, 99.0, None]
            row: dict[str, Any] = {name: near[rng.integers(len(near))] for name in ("x", "y")}
            row["t"] = [*levels, "e", None][rng.integers(6)]
            row["ill"], row["n"] = [0.0, 1.0, None][rng.integers(3)], float(rng.integers(-1, 5))
            rows.append(row)
        root = ElementTree.fromstring(to_pmml(card).encode())
        truth = truth_of(card, rows)
        assert [read_score(root, _read(row)) for row in rows] == list(truth.scores)
    assert with_base > 150


def _read(row: dict[str, Any]) -> dict[str, Any]:
    """Text as its derived field has it: these levels are read as they are."""
    return {**row, "t (read)": row["t"]}


# -- the document --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_document_has_its_parts_in_order(name: str) -> None:
    truth = truths()[name]
    text = to_pmml(truth.card)
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<PMML ')
    root = ElementTree.fromstring(text.encode())
    assert [part.tag for part in root] == [
        f"{SPACE}{tag}" for tag in ("Header", "DataDictionary", "Scorecard")
    ]
    model = root.find(f"{SPACE}Scorecard")
    assert model is not None
    assert model.get("useReasonCodes") == "false"
    tags = [part.tag.removeprefix(SPACE) for part in model]
    assert tags in (
        ["MiningSchema", "Output", "LocalTransformations", "Characteristics"],
        ["MiningSchema", "Output", "Characteristics"],
    )
    fields = [one.get("name") for one in root.iter(f"{SPACE}DataField")]
    assert fields == [one.get("name") for one in root.iter(f"{SPACE}MiningField")]
    assert fields == (list(truth.card.features) or ["none"])
    for attribute in root.iter(f"{SPACE}Attribute"):
        score = attribute.get("partialScore")
        assert (score is None) == (attribute.find(f"{SPACE}ComplexPartialScore") is not None)
        assert score is None or re.fullmatch(r"-?\d+", score)


def test_every_field_that_is_used_is_there() -> None:
    for truth in truths().values():
        root = ElementTree.fromstring(to_pmml(truth.card).encode())
        tags = ("DataField", "DerivedField", "OutputField")
        known = [one.get("name") for tag in tags for one in root.iter(f"{SPACE}{tag}")]
        assert len(set(known)) == len(known)
        used = {one.get("field") for one in root.iter()} - {None}
        assert used <= set(known)


def test_hostile_names_stay_text() -> None:
    text = to_pmml(truths()["hostile"].card)
    assert "<script" not in text
    assert HOSTILE_LEVEL not in text
    root = ElementTree.fromstring(text.encode())
    fields = [one.get("name") for one in root.iter(f"{SPACE}DataField")]
    assert fields == [HOSTILE_COLUMN, FORMULA, RIGHT_TO_LEFT, EMOJI]
    values = {one.get("value") for one in root.iter(f"{SPACE}SimplePredicate")}
    assert {HOSTILE_LEVEL, "it's", 'a "b"', "=1+1", "\\", "😀"} <= values
    assert {one.tag for one in root.iter()} <= {
        f"{SPACE}{tag}" for tag in re.findall(r"<([A-Za-z]+)", to_pmml(truths()["binned"].card))
    } | {f"{SPACE}CompoundPredicate", f"{SPACE}PMML"}


# -- what PMML cannot express ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("card", "message"),
    [
        (card_of([Rule(Condition("a\x00b", ">=", 1), 1)]), "which XML cannot. Rename"),
        (card_of([Rule(Condition("a", "==", "x\x1b"), 1)]), "which XML cannot. Rename"),
        (card_of([Rule(PerUnit("a", upper=2**52), 9)]), "Clip the column at a smaller number"),
        (card_of([Rule(PerUnit("a", log=True), 10**9), Rule(PerUnit("b", decimals=9), 10**9)]),
         "more units than PMML"),
        (card_of([Rule(Condition("a", "==", "x"), 1)], [Reading(feature="a", special=(-9,))]),
         "add that as a code"),
        (card_of([Rule(Condition("a", "==", "x"), 1), Rule(Condition("s", ">=", 1), 1)],
                 [Reading(feature="s", sources=("a", "b"), combine="sum")]),
         "a field of PMML has one type"),
        ("card", "must be a Scorecard"),
    ],
)  # fmt: skip
def test_what_pmml_cannot_express_is_refused(card: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        to_pmml(card)
