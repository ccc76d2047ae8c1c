"""The JavaScript module, run by Node: the score and risk of Python, for every row."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netbenefit import Condition, PerUnit, Reading, Rule, Scorecard, Thresholds
from netbenefit.export.javascript import literal, to_javascript
from tests.export.truth import EMOJI, HOSTILE_LEVEL, RIGHT_TO_LEFT, Truth, truth_of, truths

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node is not installed")


def js(value: Any) -> str:
    """Write a plain value in JavaScript, also what JSON cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return f"{value}n"
    return json.dumps(value)


def js_row(row: dict[str, Any]) -> str:
    # A computed key is a plain property, also where it is called __proto__.
    return "{" + ", ".join(f"[{js(name)}]: {js(value)}" for name, value in row.items()) + "}"


def run(folder: Path, cards: list[Scorecard], rows: list[list[str]]) -> list[list[list[Any]]]:
    """Return [score, risk] of each card's rows; a BigInt comes as text."""
    for number, card in enumerate(cards):
        (folder / f"card{number}.mjs").write_text(to_javascript(card), encoding="ascii")
    imports = [f'import * as c{n} from "./card{n}.mjs";' for n in range(len(cards))]
    calls = [
        f"[{', '.join(part)}].map((row) => [c{n}.score(row), c{n}.risk(row)])"
        for n, part in enumerate(rows)
    ]
    plain = '(_, v) => (typeof v === "bigint" ? String(v) : v)'
    script = "\n".join([*imports, f"console.log(JSON.stringify([{', '.join(calls)}], {plain}));"])
    (folder / "main.mjs").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [str(NODE), "main.mjs"], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found: list[list[list[Any]]] = json.loads(done.stdout)
    return found


def check(folder: Path, given: list[Truth]) -> None:
    found = run(folder, [t.card for t in given], [[js_row(row) for row in t.rows] for t in given])
    for truth, pairs in zip(given, found, strict=True):
        expected = [list(pair) for pair in zip(truth.scores, truth.risks, strict=True)]
        assert len(pairs) == len(expected)
        for row, pair, right in zip(truth.rows, pairs, expected, strict=True):
            assert pair == right, (row, truth.card.rules, truth.card.readings)


def card_of(rules: list[Rule], readings: list[Reading] | None = None) -> Scorecard:
    return Scorecard.from_levels(
        rules, [1, 4], [0.1, 0.3, 0.6], Thresholds.of([0.2, 0.5]), readings=readings or []
    )


@needs_node
def test_node_agrees_with_python_on_every_row(tmp_path: Path) -> None:
    check(tmp_path, list(truths().values()))
    assert sum(len(truth.rows) for truth in truths().values()) > 1000


def _random_card(rng: np.random.Generator) -> Truth:
    """A card of random terms on few columns, with random readings, and rows around its values."""
    numbers = [-2.5, -1, 0, 0.5, 1, 2, 3.25, 7]
    levels = ["a", "b", " b", "7", "0.5", "NA"]
    rules: dict[Any, Rule] = {}
    readings: list[Reading] = []

    def pick(values: list[Any]) -> Any:
        return values[rng.integers(len(values))]

    def add(term: Any) -> None:
        rules.setdefault(term, Rule(term, int(rng.integers(-5, 6))))

    for name in ("x", "y", "__proto__"):
        for _ in range(rng.integers(1, 4)):
            add(Condition(name, pick([">=", ">", "<=", "<", "==", "!="]), pick(numbers)))
        low, high = sorted(rng.choice(len(numbers), 2, replace=False).tolist())
        add(Condition(name, "between", (numbers[low], numbers[high])))
        if rng.random() < 0.4:
            decimals = int(rng.integers(0, 4))
            add(PerUnit(name, decimals=decimals, lower=pick([None, -1]), upper=pick([None, 2.5])))
        if rng.random() < 0.4:
            add(PerUnit(name, decimals=int(rng.integers(0, 2)), log=True, upper=pick([None, 3])))
        if rng.random() < 0.5:
            add(Condition(name, "missing"))
        if rng.random() < 0.6:
            fill = pick([None, 0, 0.5])
            special = pick([(), (7,), (7, "NA")])
            flags = {flag: bool(rng.random() < 0.3) for flag in ("text", "refuse")}
            readings.append(Reading(feature=name, fill=fill, special=special, **flags))
    for _ in range(2):
        add(Condition("t", pick(["in", "not in"]), tuple(rng.permutation(levels)[:2].tolist())))
    add(Condition("only", "missing"))
    if rng.random() < 0.7:
        readings.append(Reading(feature="t", fill=pick([None, "b"]), special=pick([(), ("NA", 7)])))
    readings.append(
        Reading(
            feature="d",
            sources=("x", "z"),
            combine=pick(["sum", "max", "min"]),
            fill=pick([None, 1]),
            special=pick([(), (2,)]),
            refuse=bool(rng.random() < 0.2),
        )
    )
    add(Condition("d", ">=", pick(numbers)))
    if rng.random() < 0.5:
        add(Condition("d", "missing"))
    counted = {t.feature for t, r in rules.items() if isinstance(t, PerUnit) and r.points}
    free = sorted({term.feature for term in rules} - counted)
    base = tuple((name, int(rng.integers(-9, 10))) for name in free if rng.random() < 0.7)
    card = replace(card_of(list(rules.values()), readings), base=base)
    read = {reading.feature for reading in readings}
    strange = [None, math.nan, math.inf, True, 2**60, 1e308, 1e15]
    near = [math.nextafter(v, end) for v in numbers for end in (-math.inf, math.inf)]
    text = [*levels, None, 7, 0.5, 1e-5, 1e22, math.nan, True]
    rows = []
    for _ in range(40):
        row: dict[str, Any] = {}
        for name in ("x", "y", "__proto__", "z", "only"):
            row[name] = pick(numbers + near if rng.random() < 0.85 else strange)
            if name in read and rng.random() < 0.1:
                row[name] = pick(["7", " 1.5 ", "NA ", "", "  ", "1e1", "0x10", "x", "1_0"])
        row["t"] = pick([*text, "", " "] if "t" in read else text)
        rows.append(row)
    return truth_of(card, rows)


@needs_node
def test_node_agrees_on_random_cards(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    given = [_random_card(rng) for _ in range(250)]
    scores = [score for truth in given for score in truth.scores]
    assert sum(bool(truth.card.base) for truth in given) > 200
    assert 300 < sum(score is not None for score in scores) < len(scores) - 300
    check(tmp_path, given)


@needs_node
def test_scores_beyond_doubles_are_exact(tmp_path: Path) -> None:
    rules = [Rule(PerUnit("a"), 10**9), Rule(PerUnit("b", decimals=9), 1)]
    card = Scorecard.from_levels(rules, [2**60], [0.1, 0.6], Thresholds.of([0.5]))
    rows = [{"a": 3, "b": -1e-9}, {"a": 9, "b": 0.5}, {"a": 2**53, "b": 0}]
    found = run(tmp_path, [card], [[js_row(row) for row in rows]])[0]
    assert found[0] == [card.score(rows[0]), 0.1] == [2_999_999_999, 0.1]
    assert found[1] == [card.score(rows[1]), 0.1]
    assert found[2] == [None, None]  # more than 64 bits: refused, as in Python

    whole = Scorecard.from_levels(
        [Rule(PerUnit("a"), 1023)], [1023 * (2**50 + 1)], [0.1, 0.6], Thresholds.of([0.5])
    )
    rows = [{"a": 2**53}, {"a": 2**50 + 1}, {"a": 2**50}, {"a": -(2**53)}]
    found = run(tmp_path, [whole], [[js_row(row) for row in rows]])[0]
    assert [pair[0] for pair in found] == [str(whole.score(row)) for row in rows]
    assert [pair[1] for pair in found] == [0.6, 0.6, 0.1, 0.1]


@needs_node
def test_what_is_no_row_has_no_score(tmp_path: Path) -> None:
    card = card_of([Rule(Condition("toString", "missing"), 1), Rule(Condition("a", ">=", 1), 2)])
    given = ["{a: 1}", "{a: 1, toString: null}", "{a: 1, toString: undefined}", "{toString: 1}"]
    given += ["{a: '1', toString: 1}", "{a: {}, toString: 1}", "{a: 1n, toString: {}}"]
    found = run(tmp_path, [card], [given])[0]
    scores = [None, 3, 3, None, None, None, 2]  # an inherited property is no column
    assert [score for score, _ in found] == scores


def test_no_name_is_code() -> None:
    names = ["</script>", "<!--", "\u2028", "${alert(1)}", '"]}; alert(1); [{"', HOSTILE_LEVEL]
    rules = [Rule(Condition(name, "==", name), k + 1) for k, name in enumerate(names)]
    module = to_javascript(card_of(rules))
    assert module.isascii()
    data = next(line for line in module.splitlines() if line.startswith("const CARD = "))
    for sign in "<>&":
        assert sign not in data
    parsed = json.loads(data.removeprefix("const CARD = ").removesuffix(";"))
    assert [one["name"] for one in parsed["inputs"]] == names
    # All that is not data is the same for every card.
    assert module.replace(data, "") == to_javascript(card_of([])).replace(
        next(x for x in to_javascript(card_of([])).splitlines() if x.startswith("const CARD")), ""
    )


@needs_node
def test_hostile_names_do_not_run(tmp_path: Path) -> None:
    name = '"]};globalThis.ran = 1;//\u2028\nglobalThis.ran = 1;`${globalThis.ran = 1}`'
    card = card_of([Rule(Condition(name, "==", name), 3)])
    row = f"{{[{js(name)}]: {js(name)}, ran: globalThis.ran}}"
    assert run(tmp_path, [card], [[row]])[0] == [[3, 0.3]]
    (tmp_path / "ran.mjs").write_text(
        'import "./card0.mjs";\nconsole.log(globalThis.ran === undefined);', encoding="ascii"
    )
    done = subprocess.run([str(NODE), "ran.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "true"


def test_literals_are_json() -> None:
    data = {"a": [RIGHT_TO_LEFT, EMOJI, HOSTILE_LEVEL, "\u2029\\", 0.1, -3, None, True]}
    assert json.loads(literal(data)) == data
    assert not set(literal(data)) & set("<>&\u2029")


def test_only_ends_within_reach_are_listed() -> None:
    short = to_javascript(card_of([Rule(PerUnit("x", log=True, upper=100), 1)]))
    assert len(short) < len(to_javascript(card_of([Rule(PerUnit("x", log=True), 1)]))) - 5000
