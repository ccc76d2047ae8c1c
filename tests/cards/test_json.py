"""Cards as files: exact round trips, strict reading, writing that cannot half succeed."""

from __future__ import annotations

import json
import math
import os
import stat
import warnings
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.cards.json import _digest
from netbenefit.cards.readings import Reading
from netbenefit.cards.rules import Decision, HeldOut
from netbenefit.cards.scorecard import Provenance, Rule, Scorecard
from netbenefit.cards.terms import Condition, PerUnit
from netbenefit.common.checks import InputError, InputWarning
from netbenefit.metrics.thresholds import Thresholds
from tests.helpers.full import examples

# -- round trips -----------------------------------------------------------------------------------

numbers = st.one_of(
    st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), st.booleans()
)
texts = st.text(max_size=8)


@st.composite
def conditions(draw, feature):
    is_text = feature.startswith("t")
    ops = ["==", "!=", "in", "not in", "missing"]
    op = draw(st.sampled_from(ops if is_text else [*ops, ">=", ">", "<=", "<", "between"]))
    one = texts if is_text else numbers
    if op == "missing":
        return Condition(feature, op)
    if op in ("in", "not in"):
        return Condition(
            feature, op, tuple(draw(st.lists(one, min_size=1, max_size=4, unique=True)))
        )
    if op == "between":
        pair = draw(st.lists(one, min_size=2, max_size=2, unique=True))
        return Condition(feature, op, tuple(sorted(pair)))
    return Condition(feature, op, draw(one))


@st.composite
def per_units(draw, feature):
    ends = draw(st.lists(st.floats(-1000, 1000), min_size=2, max_size=2, unique=True))
    lower, upper = (draw(st.sampled_from([None, end])) for end in sorted(ends))
    if draw(st.integers(0, 3)) == 0:
        return PerUnit(feature, draw(st.integers(0, 2)), lower, upper, log=True)
    return PerUnit(feature, draw(st.integers(0, 9)), lower, upper, draw(st.booleans()))


@st.composite
def cards(draw):
    names = draw(st.lists(texts.filter(bool), unique=True, max_size=4))
    terms = {}
    for name in names:
        makers = [conditions(name)] + [per_units(name)] * (not name.startswith("t"))
        for term in draw(st.lists(st.one_of(makers), max_size=3)):
            terms[term] = draw(st.integers(-(10**9), 10**9))
    grid = st.floats(0.001, 0.999)
    values = sorted(draw(st.lists(grid, min_size=1, max_size=5, unique_by=lambda p: round(p, 6))))
    weights = draw(st.sampled_from(["equal", "length"]))
    thresholds = Thresholds.of(values, weights)
    small = st.integers(-20, 20)
    score_range = draw(st.none() | st.lists(small, min_size=2, max_size=2).map(sorted).map(tuple))
    low, high = score_range or (-20, 20)
    scores = sorted(draw(st.sets(st.integers(low, high), min_size=1, max_size=12)))
    same = st.lists(st.floats(0, 1), min_size=len(scores), max_size=len(scores))
    risks = list(zip(scores, sorted(draw(same)), strict=True))
    some = st.none() | st.floats(0, 1)
    provenance = draw(
        st.none()
        | st.builds(
            Provenance,
            version=texts,
            n_rows=st.none() | st.integers(0, 10**9) | st.floats(0, 1e9),
            n_patterns=st.none() | st.integers(0, 10**9),
            prevalence=some,
            objective=some | st.floats(-1, 1),
            bound=some,
            penalty=some,
            rule_penalty=some,
            solver=st.none() | texts,
            random_state=st.none() | st.integers(0, 2**32),
            outcome=st.none() | texts,
            prior_strength=st.none() | st.just(math.inf) | st.floats(0, 1e9),
            teacher=st.none() | texts,
            teacher_net_benefit=some | st.floats(-1, 1),
            share_kept=some,
            share_bound=some,
        )
    )
    rules = [Rule(term, points) for term, points in terms.items()]
    extra = draw(st.lists(texts.filter(bool), max_size=2, unique=True))
    used = list(dict.fromkeys(rule.term.feature for rule in rules))
    columns = used + [name for name in extra if name not in used] if extra else ()
    counted = {term.feature for term, n in terms.items() if n and not is_simple(term)}
    starts = draw(st.dictionaries(st.sampled_from(used), small)) if used else {}
    base = [(name, points) for name, points in starts.items() if name not in counted]
    firsts = [None, *sorted(draw(st.sets(small, max_size=3)))]
    counted_rows = [
        (first, 4, 1, 0.25, 0.5) if k else (first, 0, 0, None, None)
        for k, first in enumerate(firsts)
    ]
    held_out = None
    if len(firsts) > 1 and draw(st.booleans()):
        held_out = HeldOut(draw(st.floats(-1, 1)), counted_rows)
    return Scorecard(
        rules,
        risks,
        thresholds,
        score_range,
        tuple(columns),
        provenance,
        base=base,
        held_out=held_out,
    )


def is_simple(term) -> bool:
    return isinstance(term, Condition) or term.binary


@settings(max_examples=examples(150), deadline=None)
@given(cards())
def test_a_card_comes_back_as_it_was(card):
    text = card.to_json()
    again = Scorecard.from_json(text)
    assert again == card
    assert again.to_json() == text
    for one in fields(card):  # also the types and the sign of zero
        assert repr(getattr(again, one.name)) == repr(getattr(card, one.name))
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


# -- strict reading --------------------------------------------------------------------------------


def example() -> Scorecard:
    return Scorecard(
        rules=[
            Rule(Condition("age", ">=", 52), -2),
            Rule(PerUnit("utilisation", decimals=1, upper=1.5), 10),
            Rule(Condition("größe", "in", ("S", "M")), 1),
        ],
        risks=[(-2, 0.05), (3, 0.1 + 0.2), (5, 0.4), (8, 0.8)],
        thresholds=Thresholds.of([0.2, 0.5]),
        score_range=(-2, 16),
        provenance=Provenance(version="0.1.0", n_rows=100, prevalence=0.25, outcome="Default = 1"),
    )


def changed(path: list, value) -> str:
    """Return the example's text with the value at a path replaced (or removed: KeyError)."""
    data = json.loads(example().to_json())
    place = data
    for key in path[:-1]:
        place = place[key]
    if value is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(data)


def test_the_layout_is_readable_and_versioned():
    text = example().to_json()
    data = json.loads(text)
    assert list(data)[:2] == ["schema", "version"]
    assert (data["schema"], data["version"]) == ("netbenefit.scorecard", 7)
    assert data["rules"][0] == {
        "kind": "condition",
        "feature": "age",
        "op": ">=",
        "value": 52,
        "points": -2,
    }
    assert data["risks"] == [[-2, 0.05], [3, 0.30000000000000004], [5, 0.4], [8, 0.8]]
    assert "cutoffs" not in data
    assert "teacher" not in data["provenance"]  # written only where it is known
    assert "größe" in text
    assert text.endswith("}\n")


DECISIONS = (
    Decision("2026-01-31T12:00:00Z", "solver", "the card that the model learnt", 0.25, 0.2),
    Decision("2026-01-31T12:01:00Z", "person", "“age ≥ 60”: 2 → 3 points", -0.125),
)


def test_decisions_come_back():
    card = replace(example(), decisions=DECISIONS)
    data = json.loads(card.to_json())
    assert data["decisions"][1] == {
        "when": "2026-01-31T12:01:00Z",
        "by": "person",
        "what": "“age ≥ 60”: 2 → 3 points",
        "net_benefit": -0.125,
        "held_out": None,
    }
    assert read(card.to_json()) == (card, [])
    assert card.start_at_zero().raw().decisions == DECISIONS
    assert "1 change after it was learnt" in str(card)
    assert "after it was learnt" not in str(example())


def test_a_file_of_version_6_has_no_decisions():
    data = json.loads(example().to_json()) | {"version": 6}
    del data["decisions"]
    data["digest"] = _digest(data)
    assert read(json.dumps(data)) == (example(), [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"by": "nobody"}, 'by=\'nobody\' must be "person" or "solver"'),
        ({"what": " "}, "what=' ' must be text that is not blank"),
        ({"net_benefit": None}, "net_benefit must be a finite number"),
        ({"why": "x"}, "why"),
    ],
)
def test_a_strange_decision_is_refused(change, message):
    data = json.loads(replace(example(), decisions=DECISIONS).to_json())
    data["decisions"][1] |= change
    with pytest.raises(InputError, match=rf"decisions\[1\].*{message}"):
        Scorecard.from_json(json.dumps(data))
    with pytest.raises(InputError, match="must be Decisions, not 'x'"):
        replace(example(), decisions=("x",))


def test_what_held_out_rows_say_comes_back():
    levels = [(None, 6.5, 0, 0.0, 0.4), (3, 4, 3, 0.3, 0.95), (5, 0, 0, None, None)]
    card = replace(example(), held_out=HeldOut(0.125, levels))
    data = json.loads(card.to_json())
    assert data["held_out"]["net_benefit"] == 0.125
    assert data["held_out"]["levels"][1] == {
        "first": 3,
        "rows": 4,
        "events": 3,
        "low": 0.3,
        "high": 0.95,
    }
    assert Scorecard.from_json(json.dumps(data)) == card
    moved = card.start_at_zero()
    assert [level.first for level in moved.held_out.levels] == [None, 5, 7]
    assert moved.held_out.level_of(5).events == 3
    assert moved.held_out.level_of(4) == moved.held_out.level_of(None) == moved.held_out.levels[0]
    assert moved.raw() == card
    first = ["held_out", "levels", 0]
    for path, value, message in (
        (["version"], 5, "decisions is not a known key"),
        (["held_out"], 3, "^held_out must be an object"),
        (["held_out", "levels"], [], "levels must start with first=None"),
        ([*first, "first"], 2, "levels must start with first=None"),
        ([*first, "events"], 7, "is no count of rows with its interval"),
        ([*first, "low"], None, "is no count of rows with its interval"),
        ([*first, "high"], 1.5, "is no count of rows with its interval"),
        (["held_out", "levels", 2, "low"], 0.1, "is no count of rows with its interval"),
        (["held_out", "levels", 2, "first"], 3, "levels must start with first=None"),
        (["held_out", "levels", 1, "rows"], "4", r"levels\[1\].rows must be a finite number"),
    ):
        wrong = json.loads(json.dumps(data))
        place = wrong
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        with pytest.raises(InputError, match=message):
            Scorecard.from_json(json.dumps(wrong))


def test_points_that_columns_start_from_come_back():
    card = example().start_at_zero()
    data = json.loads(card.to_json())
    assert data["base"] == [{"feature": "age", "points": 2}]
    assert Scorecard.from_json(json.dumps(data)) == card
    for path, value, message in (
        (["version"], 3, "base is not a known key"),
        (["base"], 3, "^base must be a list, but is 3"),
        (["base", 0], "age", r"^base\[0\] must be an object"),
        (["base", 0, "points"], 1.5, r"^base\[0\].points must be an integer"),
        (["base", 0, "feature"], "sex", "base.0. is of column 'sex', which no rule uses"),
    ):
        changed = json.loads(card.to_json())
        place = changed
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        with pytest.raises(InputError, match=message):
            Scorecard.from_json(json.dumps(changed))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON: Expecting value .line 1, column 1."),
        ('{"schema": ', "not JSON"),
        ("[]", "not a card: expected a JSON object"),
        ("3", "not a card: expected a JSON object"),
        ("{}", 'not a card: .* "schema": "netbenefit.scorecard"'),
        (changed(["schema"], "other"), "not a card"),
        (changed(["version"], KeyError), "^version is missing"),
        (changed(["version"], 8), "version 8 .* 1, 2, 3, 4, 5, 6, 7. Update the"),
        (changed(["version"], "1"), 'version "1" of the card format is not known'),
        (changed(["version"], True), "version true of the card format is not known"),
        (changed(["version"], 1.0), "version 1.0 of the card format is not known"),
        ('{"a": 1, "a": 2}', 'key "a" appears twice'),
        ('{"schema": NaN}', "NaN is not a number in JSON"),
        ('{"schema": -Infinity}', "-Infinity is not a number in JSON"),
        ("[" * 100_000, "too large to read|not JSON"),
        ("1" * 10_000, "too large to read"),
        *[
            (changed([key], KeyError), f"^{key} is missing. The file is incomplete")
            for key in ("rules", "risks", "thresholds", "score_range", "feature_names")
        ],
        (changed(["provenance"], KeyError), "^provenance is missing"),
        (changed(["digest"], KeyError), "^digest is missing"),
        (changed(["colour"], "red"), "^colour is not a known key"),
        # types
        (changed(["rules"], {}), "^rules must be a list, but is {}"),
        (changed(["rules", 1], 3), r"^rules\[1\] must be an object, but is 3"),
        (
            changed(["rules", 2, "points"], True),
            r"^rules\[2\].points must be an integer, but is tr",
        ),
        (
            changed(["rules", 2, "points"], 1.0),
            r"^rules\[2\].points must be an integer, but is 1.0",
        ),
        (changed(["rules", 2, "points"], None), r"^rules\[2\].points must be an integer"),
        (changed(["rules", 2, "points"], 2**63), r"^rules\[2\].points must be .* 64 bits"),
        (changed(["rules", 2, "points"], KeyError), r"^rules\[2\].points is missing"),
        (changed(["rules", 2, "weight"], 1), r"^rules\[2\].weight is not a known key"),
        (changed(["rules", 0, "kind"], KeyError), r"^rules\[0\].kind is missing"),
        (changed(["rules", 0, "kind"], "tree"), r'^rules\[0\].kind must be "condition" or "per_un'),
        (changed(["rules", 0, "kind"], []), r"^rules\[0\].kind must be"),
        (changed(["rules", 0, "feature"], 3), r"^rules\[0\].feature must be text, but is 3"),
        (changed(["rules", 0, "op"], None), r"^rules\[0\].op must be text, but is null"),
        (changed(["rules", 0, "value"], True), r"^rules\[0\].value must be a finite number"),
        (changed(["rules", 0, "value"], {}), r"^rules\[0\].value must be a finite number"),
        (changed(["rules", 2, "value"], ["S", None]), r"^rules\[2\].value\[1\] must be a finite"),
        (changed(["rules", 1, "decimals"], "1"), r"^rules\[1\].decimals must be an integer"),
        (changed(["rules", 1, "upper"], "1"), r"^rules\[1\].upper must be a finite number"),
        (changed(["rules", 1, "binary"], 0), r"^rules\[1\].binary must be true or false"),
        (changed(["cutoffs"], [3]), "^cutoffs is not a known key"),
        (changed(["risks"], "38"), '^risks must be a list, but is "38"'),
        (changed(["risks", 0], 0.05), r"^risks\[0\] must be a list of a score and its risk"),
        (changed(["risks", 0], [1]), r"^risks\[0\] must be a list of a score and its risk"),
        (changed(["risks", 1, 0], 8.0), r"^risks\[1\]\[0\] must be an integer, but is 8.0"),
        (changed(["risks", 0, 1], "low"), r"^risks\[0\]\[1\] must be a finite number"),
        (changed(["risks", 0, 1], False), r"^risks\[0\]\[1\] must be a finite .* is false"),
        (changed(["risks", 0, 1], None), r"^risks\[0\]\[1\] must be a finite number"),
        (changed(["thresholds"], [0.2]), "^thresholds must be an object"),
        (changed(["thresholds", "end"], None), "^thresholds.end must be a finite number"),
        (changed(["thresholds", "zero_asked"], 1), "^thresholds.zero_asked must be true or false"),
        (changed(["thresholds", "values", 1], "x"), r"^thresholds.values\[1\] must be a finite"),
        (changed(["thresholds", "weights"], KeyError), "^thresholds.weights is missing"),
        (changed(["score_range"], [1]), "^score_range must be two integers"),
        (changed(["score_range"], [1, True]), r"^score_range\[1\] must be an integer"),
        (changed(["feature_names", 0], 3), r"^feature_names\[0\] must be text"),
        (changed(["provenance"], []), "^provenance must be an object"),
        (changed(["provenance", "version"], None), "^provenance.version must be text, but is null"),
        (changed(["provenance", "n_rows"], "9"), "^provenance.n_rows must be a finite number"),
        (changed(["provenance", "n_rows"], True), "^provenance.n_rows must be a finite number"),
        (changed(["provenance", "seed"], 1), "^provenance.seed is not a known key"),
        (changed(["provenance", "solver"], KeyError), "^provenance.solver is missing"),
        # values
        (changed(["rules", 0, "op"], "=>"), r"^rules\[0\]: op '=>' .* is not known"),
        (changed(["rules", 0, "feature"], ""), r"^rules\[0\]: .* not empty"),
        (changed(["rules", 1, "decimals"], 10), r"^rules\[1\]: decimals=10 .* from 0 to 9"),
        (changed(["rules", 1, "lower"], 2), r"^rules\[1\]: lower=2 .* must be below upper=1.5"),
        (changed(["rules", 1, "points"], 10**10), r"^rules\[1\]: .* use at most 10\*\*9"),
        (changed(["rules", 0, "feature"], "a\ud800"), r"^rules\[0\]: .* half a character"),
        (changed(["thresholds", "values", 1], 1.5), "^thresholds: threshold 1.5 .* is not a risk"),
        (changed(["thresholds", "weights", 1], 0.9), "^thresholds: threshold weights sum to"),
        (changed(["provenance", "prevalence"], 2), "^provenance: .*prevalence=2 must be a number"),
        (changed(["risks"], []), "risks is empty"),
        (changed(["risks", 1, 0], -2), "risks must increase, but .* has -2 after -2"),
        (changed(["risks", 1, 1], 0.9), "must not decrease, but score 5 has 0.4 after 0.9"),
        (changed(["risks", 3, 0], 17), r"risks\[3\] starts at score 17, beyond score_range"),
        (changed(["provenance", "prior_strength"], "Inf"), "^provenance.prior_strength must be"),
        (changed(["provenance", "prior_strength"], -1), "prior_strength=-1 must be a number from"),
        (changed(["provenance", "teacher"], 3), "^provenance.teacher must be text"),
        (changed(["provenance", "share_kept"], "all"), "^provenance.share_kept must be a finite"),
        (changed(["feature_names"], ["age"]), "feature_names lack 'utilisation', 'größe'"),
        (
            changed(["risks", 0, 1], 0).replace("[-2, 0]", "[-2, 1e999]"),
            r"^risks\[0\]\[1\] must be a finite number",
        ),
    ],
)
def test_what_is_read_is_checked(text, message):
    with pytest.raises(InputError, match=message):
        Scorecard.from_json(text)


def test_every_damaged_file_is_an_input_error():
    text = example().to_json()
    for end in range(0, len(text) - 2, 7):
        with pytest.raises(InputError):
            Scorecard.from_json(text[:end])
    with pytest.raises(InputError, match="from text, not from bytes"):
        Scorecard.from_json(text.encode())


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_no_replacement_crashes_the_reader(data):
    """Whatever replaces any one value, the result is a card or an InputError."""
    card = json.loads(example().to_json())
    place, key = card, data.draw(st.sampled_from(sorted(card)))
    while isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
        place = place[key]
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
    odd = st.none() | st.booleans() | st.integers() | st.floats() | texts
    place[key] = data.draw(
        odd | st.lists(odd, max_size=3) | st.dictionaries(texts, odd, max_size=2)
    )
    try:
        again = Scorecard.from_json(json.dumps(card))
    except InputError:
        return
    assert Scorecard.from_json(again.to_json()) == again


# -- digests ---------------------------------------------------------------------------------------


def full() -> Scorecard:
    """Return a card with all that a file can hold."""
    readings = [Reading(feature="utilisation", special=(96, 98), fill=0.25)]
    levels = [(None, 6.5, 0, 0.0, 0.4), (3, 4, 3, 0.3, 0.95)]
    labels = {"title": "Größe 2", "columns": {"age": {"unit": "years", "low": 18, "high": 110.0}}}
    card = replace(example(), readings=readings, held_out=HeldOut(0.125, levels))
    return card.start_at_zero().with_labels(labels)


def read(text: str) -> tuple[Scorecard, list[str]]:
    """Return a card, and the warnings of reading it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        card = Scorecard.from_json(text)
    assert all(one.category is InputWarning and one.filename == __file__ for one in caught)
    return card, [str(one.message) for one in caught]


def test_no_digit_can_change_unseen():
    text = full().to_json()
    card, found = read(text)
    assert card == full()
    assert not found
    places = [i for i, sign in enumerate(text) if sign.isdigit()]
    assert len(places) > 100
    loaded = 0
    for place in places:
        for digit in "0123456789":
            if digit == text[place]:
                continue
            try:
                other, found = read(text[:place] + digit + text[place + 1 :])
            except InputError:
                continue
            loaded += 1
            assert len(found) == 1 or (not found and other == card)
    assert loaded > 500


@pytest.mark.parametrize(
    ("old", "new"), [("Größe 2", "Größe"), ("Default", "default"), ('"in"', '"not in"')]
)
def test_no_word_can_change_unseen(old, new):
    text = full().to_json()
    assert text.count(old) == 1
    assert len(read(text.replace(old, new))[1]) == 1


def test_only_what_a_card_says_counts(tmp_path):
    """Editors and other programs lay out a file anew; 2.0 and 2 are the same."""
    text = full().to_json()
    data = json.loads(text)
    parts = sorted(data.items(), reverse=True)
    for other in (
        text.replace("\n", "\r\n"),
        text.replace("\n", "\r"),
        json.dumps(data),
        json.dumps(dict(parts), indent="\t"),
        text.replace("110.0", "110"),
        text.replace("110.0", "1.1e2"),
        text.replace("0.30000000000000004", "3.00000000000000040e-1"),
    ):
        assert other != text
        card, found = read(other)
        assert card == full()
        assert not found


def test_digests_stay_what_they_are():
    """Other programs and later versions compute the same."""
    assert json.loads(full().to_json())["digest"] == (
        "78f5fd96e7fba370276be18aa59ad19b9bc189fe2a235fd29bcc2e3d4281de82"
    )


def test_a_changed_card_says_so_and_can_be_signed_anew(tmp_path):
    path = tmp_path / "card.json"
    full().save(path)
    path.write_text(path.read_text(encoding="utf-8").replace("0.05", "0.06"), encoding="utf-8")
    with pytest.warns(InputWarning, match=r"^.*card.json was changed after it was saved") as caught:
        card = Scorecard.load(path)
    assert [one.filename for one in caught] == [__file__]
    assert str(caught[0].message).endswith("sign it anew: load the card and save it.")
    card.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Scorecard.load(path) == card


# -- older files -----------------------------------------------------------------------------------

VERSION_1 = """{"schema": "netbenefit.scorecard", "version": 1,
  "rules": [
    {"kind": "condition", "feature": "age", "op": ">=", "value": 52, "points": -2},
    {"kind": "per_unit", "feature": "falls", "decimals": 0, "lower": 0, "upper": 9,
     "binary": false, "points": 1}
  ],
  "cutoffs": [1, 4, 4], "risks": [0.05, 0.2, null, 0.9],
  "thresholds": {"values": [0, 0.1, 0.5, 0.8], "weights": [0, 0.4, 0.3, 0.3], "end": 1.0,
    "zero_asked": false},
  "score_range": [-2, 9], "feature_names": ["age", "falls"], "provenance": null}"""

VERSION_2 = """{"schema": "netbenefit.scorecard", "version": 2,
  "rules": [
    {"kind": "condition", "feature": "stage", "op": "not in", "value": ["I", "II"], "points": 3},
    {"kind": "per_unit", "feature": "income", "decimals": 0, "lower": null, "upper": null,
     "binary": false, "log": true, "points": -1}
  ],
  "cutoffs": [-3, 2], "risks": [0.01, 0.3, 0.7],
  "thresholds": {"values": [0, 0.1, 0.5], "weights": [0, 0.5, 0.5], "end": 1.0,
    "zero_asked": false},
  "score_range": null, "feature_names": ["stage", "income"],
  "provenance": {"version": "0.1", "n_rows": 100, "n_events": 20, "n_patterns": null,
    "prevalence": 0.2, "objective": 0.1, "bound": null, "penalty": null, "prior_strength": 3000.0,
    "net_benefit": 0.1, "solver": null, "status": null, "seconds": null, "random_state": null,
    "outcome": null},
  "readings": [{"feature": "stage", "special": [], "fill": "I", "holes": true, "levels": [],
    "whole": false, "text": false, "refuse": false, "sources": [], "combine": null}]}"""


def old_risk(data: dict, score: int) -> float:
    """The rule of versions 1 and 2: move the score into the range, count cut-offs, look up."""
    if data["score_range"] is not None:
        low, high = data["score_range"]
        score = min(max(score, low), high)
    return data["risks"][sum(score >= cutoff for cutoff in data["cutoffs"])]


@pytest.mark.parametrize("text", [VERSION_1, VERSION_2])
def test_older_files_load_and_score_as_before(text):
    data, card = json.loads(text), Scorecard.from_json(text)
    scores = list(range(-40, 40))
    assert [card.risk_of_score(s) for s in scores] == [old_risk(data, s) for s in scores]
    assert card.risk_of_score(np.array(scores)).tolist() == [old_risk(data, s) for s in scores]
    assert Scorecard.from_json(card.to_json()) == card
    assert json.loads(card.to_json())["version"] == 7


@pytest.mark.parametrize(
    ("version", "later"),
    [
        (5, ["decisions", "digest"]),
        (4, ["decisions", "digest", "held_out", "labels"]),
        (3, ["decisions", "digest", "held_out", "labels"]),
    ],
)
def test_files_without_a_digest_are_read_without_a_word(version, later):
    card = example().start_at_zero() if version > 3 else example()
    data = json.loads(card.to_json()) | {"version": version}
    for key in [*later, *(["base"] if version < 4 else [])]:
        del data[key]
    assert read(json.dumps(data)) == (card, [])


def test_older_files_score_as_they_were_written():
    assert Scorecard.from_json(VERSION_1).risk(
        {"age": [60, 40, 40], "falls": [1, 2, 20]}
    ).tolist() == [0.05, 0.2, 0.9]
    card = Scorecard.from_json(VERSION_2)
    assert card.risk({"stage": ["III", None, "I"], "income": [0, 90, 5400]}).tolist() == [
        0.7,
        0.01,
        0.01,
    ]
    assert card.provenance.teacher is None


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_any_older_card_scores_as_before(data):
    grid = Thresholds.of(
        sorted(data.draw(st.sets(st.sampled_from([0.1, 0.2, 0.5, 0.7, 0.9]), min_size=1)))
    )
    count, small = len(grid) - 1, st.integers(-20, 20)
    cutoffs = sorted(data.draw(st.lists(small, min_size=count, max_size=count)))
    ends = data.draw(st.none() | st.lists(small, min_size=2, max_size=2).map(sorted))
    low, high = ends or (-30, 30)
    reached = {sum(s >= t for t in cutoffs) for s in range(low, high + 1)}
    edges = (*grid.values, 1.0)
    risks = [
        data.draw(st.floats(edges[i], edges[i + 1], exclude_max=i < count))
        if i in reached or data.draw(st.booleans())
        else None
        for i in range(count + 1)
    ]
    old = json.loads(VERSION_1) | {"cutoffs": cutoffs, "risks": risks, "score_range": ends}
    old["thresholds"] = {
        "values": grid.values,
        "weights": grid.weights,
        "end": grid.end,
        "zero_asked": grid.zero_asked,
    }
    card = Scorecard.from_json(json.dumps(old))
    for score in range(-35, 36):
        assert card.risk_of_score(score) == old_risk(old, score)
        inside = score if ends is None else min(max(score, ends[0]), ends[1])
        level = sum(inside >= cutoff for cutoff in cutoffs)
        assert card.level_of_score(score) == level
    # Cut-offs among the scores seen, or one more, come back as they were.
    kept = [c if ends is None else min(max(c, low), high + 1) for c in cutoffs]
    assert list(card.cutoffs) == kept


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cutoffs": [1, 4]}, "2 cutoffs for 3 thresholds above 0"),
        ({"cutoffs": [4, 1, 4]}, r"cutoffs\[1\] = 1 follows 4"),
        ({"cutoffs": [1, 4.0, 4]}, r"^cutoffs\[1\] must be an integer"),
        ({"risks": [0.05, 0.2, 0.9]}, "3 risks for 4 levels"),
        ({"risks": [0.05, None, None, 0.9]}, r"risks\[1\] is None, but a score such as 1 is on"),
        ({"risks": [0.05, 0.6, None, 0.9]}, r"risks\[1\] = 0.6 must lie in \[0.1, 0.5\)"),
        ({"risks": [[0, 0.1]]}, r"^risks\[0\] must be a finite number"),
        ({"score_range": [3, 1]}, "must not decrease"),
    ],
)
def test_older_files_are_checked_as_before(change, message):
    with pytest.raises(InputError, match=message):
        Scorecard.from_json(json.dumps(json.loads(VERSION_1) | change))


def test_what_taught_a_card_comes_back():
    origin = Provenance(
        version="1", prior_strength=math.inf, teacher="boosting", share_kept=0.98, share_bound=1.01
    )
    card = Scorecard([], [(0, 0.2)], Thresholds.of([0.5]), provenance=origin)
    assert json.loads(card.to_json())["provenance"]["prior_strength"] == "inf"
    assert Scorecard.from_json(card.to_json()).provenance == origin


# -- files -----------------------------------------------------------------------------------------


def test_save_and_load(tmp_path):
    path = tmp_path / "card.json"
    example().save(path)
    assert Scorecard.load(path) == example()
    assert Scorecard.load(str(path)) == example()
    assert [file.name for file in tmp_path.iterdir()] == ["card.json"]
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as some editors save it
    assert Scorecard.load(path) == example()


def test_a_new_file_has_the_usual_permissions(tmp_path):
    example().save(tmp_path / "card.json")
    (tmp_path / "plain").write_text("")
    modes = {stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in ("card.json", "plain")}
    assert len(modes) == 1


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failing_write_leaves_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "card.json"
    path.write_text("old")

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="disk full"):
        example().save(path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["card.json"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.json").write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "real.json")
    example().save(link)
    assert link.is_symlink()
    assert Scorecard.load(tmp_path / "real.json") == example()


def test_errors_of_a_file_name_the_file(tmp_path):
    path = tmp_path / "card.json"
    path.write_text(changed(["version"], 8))
    with pytest.raises(InputError, match=r"card.json: version 8 of the card format"):
        Scorecard.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"card.json: not a card file"):
        Scorecard.load(path)
    with pytest.raises(FileNotFoundError):
        Scorecard.load(tmp_path / "absent.json")
