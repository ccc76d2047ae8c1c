"""What all exports are written from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from netbenefit import Condition, InputError, PerUnit, Reading, Rule, Scorecard, Thresholds
from netbenefit.export import xlsx
from netbenefit.export.calculator import groups_of, to_calculator
from netbenefit.export.javascript import to_javascript
from netbenefit.export.pmml import to_pmml
from netbenefit.export.python import to_python
from netbenefit.export.sql import to_sql

HALF = Thresholds.of([0.5])


@pytest.mark.parametrize("missing_first", [False, True])
def test_a_column_that_is_added_up_is_a_number(missing_first: bool) -> None:
    rules = [Rule(PerUnit("late"), 1), Rule(Condition("b", "missing"), 2)]
    late = Reading(feature="late", sources=("a", "b"), combine="sum", fill=0)
    if missing_first:
        rules.reverse()
    logic = Scorecard.from_levels(rules, [1], [0.1, 0.6], HALF, readings=[late])._logic
    assert {one.name: one.kind for one in logic.inputs} == {"a": "number", "b": "number"}
    hints = {one.name: xlsx._hint(logic, one) for one in logic.inputs}
    assert hints["b"].startswith("number")


def test_what_is_refused_is_never_filled() -> None:
    reading = Reading(feature="age", refuse=True, special=(7,), fill=2)
    assert reading.fill is None
    assert reading.notes() == ["age: 7 means not known"]
    card = Scorecard.from_levels(
        [Rule(Condition("age", ">=", 1), 1)], [1], [0.1, 0.6], HALF, readings=[reading]
    )
    logic = card._logic
    (one,) = logic.inputs
    assert (one.fill, one.refuse) == (None, True)
    assert xlsx._hint(logic, one) == "number; 7 means missing; needed"


@pytest.mark.parametrize("export", [to_calculator, to_javascript, to_pmml, to_python, to_sql])
def test_what_is_no_card_is_refused(export: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="card must be a Scorecard, not dict"):
        export({"age": 60})
    with pytest.raises(InputError, match="card must be a Scorecard, not dict"):
        xlsx.to_xlsx({"age": 60}, "nowhere.xlsx")  # type: ignore[arg-type]


def test_fields_say_what_answers_are_worth() -> None:
    rules = [
        Rule(Condition("age", ">=", 52), 2),
        Rule(PerUnit("utilisation", decimals=1, lower=0, upper=1.5), 1),
        Rule(Condition("stage", "in", ("II", "other")), 1),
        Rule(Condition("code", "==", 0.5), 1),
    ]
    card = Scorecard.from_levels(rules, [1], [0.1, 0.6], HALF)
    fields = {one.name: one for group in groups_of(card) for one in group.fields}
    controls = {name: one.control for name, one in fields.items()}
    assert controls == dict.fromkeys(["age", "utilisation"], "number") | dict.fromkeys(
        ["stage", "code"], "select"
    )
    assert fields["age"].hint == "points: under 52 → 0, 52 or more → 2"
    counted = "points: counted in steps of 0.1, from 0 to 1.5 → × 1"
    assert fields["utilisation"].hint == counted
    assert fields["stage"].options == (
        ("II (1 point)", "II"),
        ("other (1 point)", "other"),
        ("any other (0 points)", "other…"),
    )
    assert fields["code"].options == (("0.5 (1 point)", 0.5), ("any other (0 points)", 1.5))
