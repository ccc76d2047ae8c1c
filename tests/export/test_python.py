"""The exported Python function against the card itself, also on difficult cards and rows."""

from __future__ import annotations

import ast
import math
import subprocess
import sys
import warnings
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from netbenefit import Condition, InputError, PerUnit, Reading, Rule, Scorecard, Thresholds
from netbenefit.cards.scorecard import Provenance
from netbenefit.cards.terms import log_ends
from netbenefit.export.python import to_python
from tests.export.truth import HOSTILE_COLUMN, Truth, all_rows, truth_of, truths

NAN, INF = math.nan, math.inf
#: Numbers as text, and what is none.
SPELT = ["7", " 6.5 ", "-9", "-9.0", "broken", "", "\t", None, "abc", "nan", "1e3", "1_0", ".5"]
SPELT += ["8.", "inf", "+7", "Infinity", "--7", "0x10", "1e", "e7", "7,5", "1.e2", "-.5E+1", "."]


def small_card(rules: list[Rule], readings: list[Reading] | None = None, **more: Any) -> Scorecard:
    given = {"cutoffs": [2, 6], "risks": [0.04, 0.3, 0.75], "thresholds": Thresholds.of([0.1, 0.5])}
    base = more.pop("base", ())
    card = Scorecard.from_levels(rules, readings=readings or [], **{**given, **more})
    return replace(card, base=base)


# -- further cards and rows, for exports that take columns of mixed types --------------------------


def _missing() -> Truth:
    """Everything that can be missing, in every kind of column."""
    rules = [
        Rule(Condition("read", "in", ("a", " b")), 1),
        Rule(Condition("read", "missing"), 2),
        Rule(Condition("unread", "!=", "a"), 3),
        Rule(Condition("unread", "missing"), 5),
        Rule(Condition("spelt", ">=", 7), 7),
        Rule(Condition("spelt", "missing"), 11),
        Rule(Condition("some number", "missing"), 13),
        Rule(Condition("some text", "missing"), 17),
        Rule(Condition("nb_1", "missing"), 19),
        Rule(PerUnit("strict", lower=0, upper=3), 23),
    ]
    base = [("read", -3), ("unread", 29), ("some number", 31), ("nb_1", -7)]
    readings = [
        Reading(feature="read", special=("NA", " pad")),
        Reading(feature="spelt", special=("broken", -9), text=True),
        Reading(feature="some number", special=(-9, "NA")),
        Reading(feature="some text", special=("NA", -9)),
        Reading(feature="strict", special=(9,), fill=2, refuse=True),
    ]
    values = {
        "read": ["a", "", " ", "\t\n", "\xa0", "\u2003 ", None, "NA", " NA\t", " pad", "pad", " b"],
        "unread": ["a", "", " ", "b", None],
        "spelt": SPELT,
        "some number": [1.5, NAN, None, -9, -9.5, INF, -INF, 0],
        "some text": ["a", "", " \t", "NA", " NA ", "-9", "nan", "NaN", None],
        "nb_1": [1.0, NAN, None, INF],
        "strict": [0, 1, None, 9, NAN, 3.5, INF],
    }
    return truth_of(small_card(rules, readings, base=base), all_rows(values, 700))


def _spelt_codes() -> Truth:
    """Special codes that are given as text, of columns of numbers."""
    rules = [
        Rule(Condition("a", ">=", 50), 1),
        Rule(Condition("a", "missing"), 2),
        Rule(Condition("b", ">=", 50), 4),
        Rule(Condition("b", "missing"), 8),
        Rule(Condition("c", "missing"), 16),
        Rule(PerUnit("d", lower=0, upper=200), 32),
    ]
    readings = [
        Reading(feature="a", special=("96", "1e2", "NA")),
        Reading(feature="b", special=(" 96 ", "97.0"), text=True),
        Reading(feature="c", special=("96",)),
        Reading(feature="d", special=("96",), fill=3),
    ]
    values = {
        "a": [96, 100, 97, 1, None],
        "b": ["96", "96.0", "97", " 97.0", "98", "1", None],
        "c": [96, 95, None],
        "d": [96, 9.6, None],
    }
    return truth_of(small_card(rules, readings), all_rows(values))


def _combined() -> Truth:
    rules = [
        Rule(Condition("least", ">=", 2), 1),
        Rule(Condition("least", "missing"), 2),
        Rule(Condition("most", ">", 0.1), 4),
        Rule(PerUnit("most", decimals=1, lower=-1, upper=4), 1),
        Rule(Condition("most", "missing"), 8),
        Rule(Condition("total", ">", 0.6), 16),
        Rule(Condition("refused", "<", 1), 32),
        Rule(Condition("refused", "missing"), 64),
        Rule(Condition("a", "missing"), 128),
    ]
    readings = [
        Reading(feature="least", sources=("a", "b", "c"), combine="min", special=(3,)),
        Reading(feature="most", sources=("a", "b", "c"), combine="max", special=(99,)),
        Reading(feature="total", sources=("b", "c", "d"), combine="sum", fill=7, special=(-9,)),
        Reading(feature="refused", sources=("c", "e"), combine="max", refuse=True, special=(5,)),
        Reading(feature="b", special=(99,), fill=0),
    ]
    values = {
        "a": [1, 3, None, NAN, -2.5, INF],
        "b": [0.1, 2, 99, None, -INF],
        "c": [0.2, 3, 5, None, 4.5],
        "d": [0.3, -9.3, 0.30000000000000004, None],
        "e": [0, 5, None, 7],
    }
    return truth_of(small_card(rules, readings, cutoffs=[20, 60]), all_rows(values, 600))


def _extremes() -> Truth:
    ends = log_ends(1)
    rules = [
        Rule(PerUnit("free", decimals=3), -2),
        Rule(PerUnit("floor", decimals=1, lower=-0.25), 3),
        Rule(PerUnit("roof", upper=2.5), 1),
        Rule(PerUnit("log", decimals=1, log=True), 1),
        Rule(PerUnit("late log", log=True, lower=10, upper=1e6), -3),
        Rule(Condition("late log", "missing"), 1),
        Rule(PerUnit("roof", binary=True), 1),
        Rule(Condition("roof", "missing"), 0),
    ]
    most = 2**53 / 1000
    near = [math.nextafter(most, end) for end in (0, INF)]
    log = [float(v) for k in (0, 5, 99, 7000, len(ends) - 1) for v in (ends[k],)]
    log += [math.nextafter(v, end) for v in log for end in (-INF, INF)]
    values = {
        "free": [0, 0.0005, -0.0005, 1.0005, -1.0015, most, *near, -most, -near[1], 1e300, 5e-324],
        "floor": [0, -0.25, -0.05, -3, 1e308, 2**53 / 10, -1e308, 0.15, NAN],
        "roof": [
            0,
            1,
            2.5,
            9,
            -(2.0**53),
            -(2.0**53) - 2,
            1e308,
            -1e308,
            None,
            0.49999999999999994,
        ],
        "log": [0, -1, 1e308, sys.float_info.max, INF, *log],
        "late log": [5, 10, 11.182493960703473, 11.18249396070347, 1e6, 1e7, None, -1e308],
    }
    return truth_of(small_card(rules), all_rows(values, 600))


def _wide() -> Truth:
    """Units beyond 64 bits."""
    rules = [
        Rule(PerUnit("x", decimals=9, lower=-2, upper=2), 7),
        Rule(PerUnit("y"), 10**9),
        Rule(PerUnit("z"), -(10**9)),
    ]
    values = {
        "x": [0, 1, -1.9999999995, 0.0000000005],
        "y": [0, 9, 10, -9, 2**53, -(2**53), 2**53 - 1],
        "z": [0, 1, -9, 10, 2**53, 2**53 - 9],
    }
    return truth_of(small_card(rules), all_rows(values))


def _lines() -> Truth:
    """Names and levels with line breaks and all kinds of quotes."""
    odd = "a\n    b\r\n'\"`\\n ${HOME} ; --"
    rules = [
        Rule(Condition("line\nbreak", "==", odd), 1),
        Rule(Condition("quote ` ' \" \\", "in", ("$1", "\\'", "''", "\u2028", "%s :x ?")), 2),
    ]
    values = {
        "line\nbreak": [odd, odd.replace("\n    ", "\n"), odd.replace("\n    ", "\n     "), "a"],
        "quote ` ' \" \\": ["$1", "\\'", "'", "''", "\u2028", "%s :x ?", "\\"],
    }
    return truth_of(small_card(rules), all_rows(values))


def _random(seed: int) -> Truth:
    rng = np.random.default_rng(seed)

    def some(options: list[Any], size: int) -> list[Any]:
        return [options[i] for i in rng.choice(len(options), size, replace=False)]

    grid = [-9, -1.5, 0, 0.1, 0.30000000000000004, 1, 2.5, 40, 1e6]
    rules: dict[Any, int] = {}
    for name in ("p", "q", "r", "s"):
        for _ in range(3):
            op = str(rng.choice([">=", ">", "<=", "<", "==", "!=", "between", "in", "not in", "u"]))
            value: Any = sorted(some(grid, 2)) if op in ("between", "in", "not in") else None
            term: Any = Condition(name, op, value or some(grid, 1)[0]) if op != "u" else None
            lower, upper = some([None, -1, 0.25], 1)[0], some([None, 3, 40.75], 1)[0]
            log = bool(rng.random() < 0.3)
            places = int(rng.integers(0, 2 if log else 4))
            term = term or PerUnit(name, places, lower, upper, log=log)
            rules[term] = int(rng.integers(-9, 10))
        if rng.random() < 0.5:
            rules[Condition(name, "missing")] = int(rng.integers(0, 5))
    readings = []
    if rng.random() < 0.7:
        how = str(rng.choice(["sum", "max", "min"]))
        readings.append(Reading(feature="s", sources=("p", "q", "t"), combine=how))
    for name in ("p", "q", "r"):
        special, fill = some([-9, 0, 40], 1), some([None, 1, 2.5], 1)[0]
        if rng.random() < 0.6:
            strict = bool(rng.random() < 0.2)
            readings.append(Reading(feature=name, special=special, fill=fill, refuse=strict))
    own = [Rule(term, points) for term, points in rules.items()]
    counted = {term.feature for term in rules if isinstance(term, PerUnit)}
    free = sorted({term.feature for term in rules} - counted)
    base = {name: int(rng.integers(-9, 10)) for name in free if rng.random() < 0.7}
    card = replace(small_card(own, readings), base=tuple(base.items()))
    values = [*grid, None, NAN, 0.25, 3, -0.0, 40.75, 17.123, 1e15]
    rows = [{name: some(values, 1)[0] for name in "pqrst"} for _ in range(60)]
    return truth_of(card, rows)


@cache
def more_truths() -> dict[str, Truth]:
    """Cards and rows that are not among those of all exports."""
    found = {
        "missing": _missing(),
        "spelt codes": _spelt_codes(),
        "combined": _combined(),
        "extremes": _extremes(),
        "wide": _wide(),
        "lines": _lines(),
    }
    return found | {f"random {seed}": _random(seed) for seed in range(25)}


def all_truths() -> dict[str, Truth]:
    return {**truths(), **more_truths()}


# -- tests -----------------------------------------------------------------------------------------


def compiled(card: Scorecard, **options: Any) -> Any:
    module: dict[str, Any] = {}
    exec(compile(to_python(card, **options), "card", "exec"), module)
    return module[options.get("function", "risk_score")]


@pytest.mark.parametrize("name", all_truths())
def test_every_row_of_every_card(name):
    truth = all_truths()[name]
    score = compiled(truth.card)
    found = [score(row) for row in truth.rows]
    assert found == list(zip(truth.scores, truth.risks, strict=True))


def test_hundreds_of_cards_with_columns_that_start_from_points():
    for seed in range(100, 500):
        truth = _random(seed)
        found = [compiled(truth.card)(row) for row in truth.rows]
        assert found == list(zip(truth.scores, truth.risks, strict=True)), seed


def test_there_are_rows_with_and_without_a_score():
    for name in ("conditions", "missing", "combined", "extremes", "wide"):
        scores = all_truths()[name].scores
        assert 10 <= sum(score is not None for score in scores) < len(scores), name


def test_unusual_types_are_read_as_the_card_reads_them():
    truth = truths()["conditions"]
    missing = more_truths()["missing"]
    unusual = [Decimal("40"), Decimal("sNaN"), Decimal("NaN"), np.float32(0.1), np.int64(60), True]
    unusual += [np.True_, np.array(59.0), pd.NA, pd.NaT, NAN, 10**400, "", " ", "II", "60", b"x"]
    unusual += [np.float64("nan"), np.str_("III"), 2, 2.5, -9.0, Decimal("-9"), {1}, 1j, INF]
    for card, base in ((truth.card, truth.rows[0]), (missing.card, missing.rows[0])):
        score = compiled(card)
        for name in card.features:
            for value in unusual:
                row = {**base, name: value}
                if isinstance(value, set):
                    assert score(row)[0] is None or name in ("some number", "some text", "nb_1")
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        expected = card.score(row), card.risk(row)
                    except InputError:
                        expected = (None, None)
                assert score(row) == expected, (name, value)


def test_needs_only_the_standard_library():
    source = to_python(truths()["units"].card)
    ast.parse(source, feature_version=(3, 8))
    row = dict(truths()["units"].rows[0])
    code = f"{source}\nimport sys\nprint(risk_score({row!r}))\nassert 'numpy' not in sys.modules"
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert run.stdout.split("\n")[0] == str(
        (truths()["units"].scores[0], truths()["units"].risks[0])
    ), run.stderr


def test_names_and_levels_are_only_literals():
    title = 'x"""\n\nimport os\nos.system("boom")\n"""\\'
    rules = [
        *truths()["hostile"].card.rules,
        Rule(Condition("c'\"\n''' \\", "==", "']) or leak() #\n"), 1),
        Rule(Condition("d", "in", ('"""', "'''\nleak()")), 1),
    ]
    card = small_card(rules, provenance=Provenance(version="0", outcome=title))
    tree = ast.parse(to_python(card))
    assert [type(node) for node in tree.body] == [ast.FunctionDef]
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    plain = {node.id for node in ast.walk(ast.parse(to_python(truths()["conditions"].card)))
             if isinstance(node, ast.Name)}  # fmt: skip
    assert named <= plain
    calls = [ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)]
    assert not any("system" in call or "leak" in call for call in calls)
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert {HOSTILE_COLUMN, "']) or leak() #\n", "'''\nleak()"} <= texts
    docstring = ast.get_docstring(tree.body[0])
    assert docstring.startswith('Risk of x"""  import os os.system("boom") """\\.')


def test_an_absent_column_is_named():
    with pytest.raises(KeyError, match="age"):
        compiled(truths()["conditions"].card)({"bmi": 2})


def test_the_name_of_the_function():
    assert compiled(truths()["no rules"].card, function="größe")({}) == (0, 0.2)
    for name in ("", "a b", "class", "x()", "float", "a;b", "None", 3):
        with pytest.raises(InputError, match="function="):
            to_python(truths()["no rules"].card, function=name)
