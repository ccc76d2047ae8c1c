"""The same cards and rows for all exports, with the scores and risks that Python gives them.

Every engine gets the same rows and has to return the same score and risk; ``None`` where the card
refuses the row (exports then give no score and no risk).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from netbenefit import Binner, Condition, InputError, PerUnit, Reading, Rule, Scorecard, Thresholds
from netbenefit.cards.scorecard import Provenance
from tests.helpers.raw_rows import STAGES, outcome, raw_table

HOSTILE_COLUMN = 'x"; DROP TABLE t;--'
HOSTILE_LEVEL = '"><script>alert(1)</script>'
FORMULA = '=HYPERLINK("http://example.org","x")'
RIGHT_TO_LEFT = "عمر المريض"
EMOJI = "😀 naïve ' quote & <b>"


class Truth(NamedTuple):
    """A card and rows, with the score and risk of each."""

    card: Scorecard
    rows: tuple[dict[str, Any], ...]
    scores: tuple[int | None, ...]
    risks: tuple[float | None, ...]


def truth_of(card: Scorecard, rows: list[dict[str, Any]]) -> Truth:
    scores, risks = [], []
    for row in rows:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                scores.append(card.score(row))
                risks.append(card.risk(row))
            except InputError:
                scores.append(None)
                risks.append(None)
    return Truth(card, tuple(rows), tuple(scores), tuple(risks))


def all_rows(values: dict[str, list[Any]], most: int = 400) -> list[dict[str, Any]]:
    """All combinations of values, or a random part of them in which every value occurs."""
    return [dict(zip(values, combination, strict=True)) for combination in _some(values, most)]


def _some(values: dict[str, list[Any]], most: int) -> list[tuple[Any, ...]]:
    total = int(np.prod([len(v) for v in values.values()]))
    if total <= most:
        return list(product(*values.values()))
    rng = np.random.default_rng(0)
    rows = [tuple(v[rng.integers(len(v))] for v in values.values()) for _ in range(most)]
    base = [v[0] for v in values.values()]
    for k, options in enumerate(values.values()):
        rows += [(*base[:k], option, *base[k + 1 :]) for option in options]
    return rows


def _card(rules: list[Rule], readings: list[Reading] | None = None, **more: Any) -> Scorecard:
    low, high = more.pop("cutoffs", (3, 8))
    return Scorecard.from_levels(
        rules=rules,
        cutoffs=[low, high],
        risks=[0.04, 0.3, 0.75],
        thresholds=Thresholds.of([0.1, 0.5]),
        readings=readings or [],
        provenance=Provenance(version="0", outcome="death = 1", n_rows=1000, prevalence=0.2),
        **more,
    )


def _conditions() -> Truth:
    rules = [
        Rule(Condition("age", ">=", 40), 1),
        Rule(Condition("age", ">=", 60), 2),
        Rule(Condition("age", "missing"), 1),
        Rule(Condition("bmi", "between", (18.5, 25)), -2),
        Rule(Condition("bmi", "<", 18.5), 3),
        Rule(Condition("stage", "in", ("III", "IV")), 4),
        Rule(Condition("stage", "not in", ("I", "II", "III", "IV")), 2),
        Rule(Condition("code", "==", 2), 3),
        Rule(Condition("code", "!=", 1), 1),
        Rule(Condition("dose", ">", 0.1), 2),
        Rule(Condition("dose", "<=", -0.5), 5),
        Rule(PerUnit("smoker", binary=True), 2),
    ]
    readings = [
        Reading(feature="age", special=(-9, 999), saw_missing=True, whole=True),
        Reading(feature="bmi", fill=22, saw_missing=True),
        Reading(feature="stage", fill="II", levels=("I", "II", "III", "IV")),
        Reading(feature="smoker", fill=0),
    ]
    values = {
        "age": [50, 39, 40, 59, 60, 60.0001, -9, 999, None, 1e9, -1e9],
        "bmi": [22, 18.5, 18.499999999999996, 25, 24.999999999999996, None, 1e300, -1e300],
        "stage": ["II", "I", "III", "IV", "V", "", None, " III", "iii"],
        "code": [1, 2, 3, 2.5, -2, 0],
        "dose": [0.1, 0.30000000000000004, 0.1 + 1e-17, -0.5, -0.5000001, 0, 1e-300],
        "smoker": [0, 1],
    }
    rows = all_rows(values)
    rows += [{**rows[0], "code": None}, {**rows[0], "dose": None}]  # no rule: no score
    return truth_of(_card(rules, readings, score_range=(-2, 20)), rows)


def _from_zero() -> Truth:
    """The same with columns that start from other points, more than their rules need."""
    truth = _conditions()
    base = (("age", 7), ("bmi", -4), ("stage", 2), ("code", 30), ("dose", -1), ("smoker", 11))
    card = replace(truth.card, base=base, score_range=None)
    return truth_of(card, list(truth.rows))


def _units() -> Truth:
    rules = [
        Rule(PerUnit("utilisation", decimals=1, lower=0, upper=1.5), 10),
        Rule(PerUnit("income", log=True, upper=25000), -1),
        Rule(PerUnit("debt", decimals=1, log=True, upper=5000), 2),
        Rule(PerUnit("falls", lower=0, upper=9), 1),
        Rule(Condition("late", ">=", 1), 9),
        Rule(PerUnit("worst", lower=-3, upper=30), 1),
    ]
    readings = [
        Reading(feature="utilisation", fill=0.2, saw_missing=True),
        Reading(feature="income", fill=5400, saw_missing=True),
        Reading(feature="debt", fill=0.4),
        Reading(feature="late", sources=("late30", "late60", "late90"), combine="sum", fill=0),
        Reading(feature="late30", special=(96, 98), fill=0, saw_missing=True),
        Reading(feature="late60", special=(96, 98)),
        Reading(feature="worst", sources=("late30", "late90"), combine="max", fill=1),
    ]
    values = {
        "utilisation": [0.3, 0.05, 0.049999999999999996, 0.25, 0.35, 1.45, 1.5, 9e9, -1, None],
        "income": [5400, 0, 1, 0.6487212707001282, 90, 25000, 1e9, -5, None],
        "debt": [0.4, 0, 0.05127109637602412, 5000, 5001, 1e12, None],
        "falls": [0, 1, 0.5, 1.4999999999999998, 9, 12, -2, 2.5],
        "late30": [0, 1, 96, 98, None, 3],
        "late60": [0, 2, 96, None],
        "late90": [0, 1, None],
    }
    rows = all_rows(values)
    rows.append({**rows[0], "falls": None})
    return truth_of(_card(rules, readings, cutoffs=(-4, 8)), rows)


def _hostile() -> Truth:
    rules = [
        Rule(Condition(HOSTILE_COLUMN, ">=", 1), 2),
        Rule(Condition(FORMULA, "==", HOSTILE_LEVEL), 3),
        Rule(Condition(FORMULA, "in", ("it's", 'a "b"', "=1+1", "\\")), 1),
        Rule(Condition(RIGHT_TO_LEFT, "<", 18), 4),
        Rule(Condition(EMOJI, "missing"), 1),
        Rule(Condition(EMOJI, "==", "😀"), 2),
    ]
    values = {
        HOSTILE_COLUMN: [0, 1, 2],
        FORMULA: [HOSTILE_LEVEL, "it's", 'a "b"', "=1+1", "\\", "other", "<b>"],
        RIGHT_TO_LEFT: [17, 18, 40],
        EMOJI: ["😀", None, "x", "", " "],
    }
    return truth_of(_card(rules), all_rows(values))


def _no_rules() -> Truth:
    card = Scorecard.from_levels([], [1], [0.2, None], Thresholds.of([0.5]), score_range=(0, 0))
    return truth_of(card, [{"age": 3}, {"age": None}])


def _many_rules() -> Truth:
    rules = [Rule(Condition(f"column {k}", ">=", k % 7), (k % 9) - 4 or 1) for k in range(200)]
    rng = np.random.default_rng(0)
    rows = [
        {f"column {k}": int(v) for k, v in enumerate(rng.integers(0, 8, 200))} for _ in range(40)
    ]
    return truth_of(_card(rules, cutoffs=(0, 20)).start_at_zero(), rows)


def _binned() -> Truth:
    """A card that a binner has made, with random points."""
    table = raw_table(3, 400)
    special = {"visits (−9: unknown)": [-9]}
    binner = Binner(method="tree", special=special, ordered={"stage": STAGES})
    fit = binner.fit(table, outcome(table, 3)).fitted_
    rng = np.random.default_rng(1)
    points = rng.integers(-4, 6, len(fit.terms))
    rules = [Rule(term, int(p)) for term, p in zip(fit.terms, points, strict=True) if p]
    terms, used = {rule.term for rule in rules}, {rule.term.feature for rule in rules}
    extra = [Condition(name, "missing") for name in fit.own_missing if name in used]
    rules += [Rule(term, 0) for term in extra if term not in terms]
    card = _card(rules, list(fit.readings_of(sorted(used))), feature_names=fit.columns)
    rows = raw_table(11, 80, strange=True)
    records = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    for record in records:  # engines take doubles and booleans as numbers
        for name, value in record.items():
            if name in ("price", "smoker") and value is not None:
                record[name] = float(value)
    return truth_of(card, records)


def _many_steps() -> Truth:
    """A risk for every score: neighbours of equal risk, scores that cannot occur, decimals."""
    rules = [
        Rule(PerUnit("use", decimals=1, lower=0, upper=2), 9),
        Rule(Condition("age", ">=", 40), 3),
        Rule(Condition("age", ">=", 70), 5),
        Rule(Condition("age", "missing"), 2),
        Rule(Condition("stage", "in", ("III", "IV")), 6),
        Rule(Condition("stage", "!=", "I"), -4),
    ]
    risks = [(s, round(0.02 + 0.95 * ((s + 4) // 2 / 18) ** 1.5, 4)) for s in range(-4, 31)]
    card = Scorecard(
        rules=rules,
        risks=risks,
        thresholds=Thresholds.tenths(),
        score_range=(-4, 30),
        readings=[Reading(feature="age", special=(-9,), saw_missing=True)],
        provenance=Provenance(version="0", outcome="death = 1", n_rows=1000, prevalence=0.2),
    )
    values = {
        "use": [k / 20 for k in range(41)] + [-1, 3],
        "age": [39, 40, 69.5, 70, 90, -9, None],
        "stage": ["I", "II", "III", "IV", "V"],
    }
    return truth_of(card, all_rows(values))


@cache
def truths() -> dict[str, Truth]:
    """All of them, by name."""
    return {
        "conditions": _conditions(),
        "from zero": _from_zero(),
        "units": _units(),
        "hostile": _hostile(),
        "no rules": _no_rules(),
        "200 rules": _many_rules(),
        "binned": _binned(),
        "many steps": _many_steps(),
    }
