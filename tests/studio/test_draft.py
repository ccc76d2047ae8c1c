"""Edits of a draft: what they change, how they are written, and what they refuse."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from netbenefit.binning import Binner
from netbenefit.cards import Condition, PerUnit, Term
from netbenefit.common import InputError
from netbenefit.problem import AtMost, Bounds, Exclude, NeedsOneOf
from netbenefit.studio import (
    Draft,
    Edit,
    MoveCut,
    Rename,
    SetAnswer,
    SetLimits,
    SetPoints,
    Solved,
    SwitchOff,
    SwitchOn,
    TakeOver,
)


def draft_of(*rules: tuple[Term, int]) -> Draft:
    terms = tuple(term for term, _ in rules)
    names = tuple(term.text() for term in terms)
    return Draft(terms, names, tuple(points for _, points in rules))


AGE = draft_of(
    (Condition("age", ">=", 40), 1),
    (Condition("age", ">=", 60), 2),
    (Condition("sex", "==", "male"), 0),
)


def test_points_are_set_added_and_taken_out() -> None:
    after, what = SetPoints("age ≥ 40", 3).apply(AGE)
    assert (after.points, what) == ((3, 2, 0), "“age ≥ 40”: 1 → 3 points")
    after, what = SetPoints("sex is male", -1).apply(AGE)
    assert (after.points, what) == ((1, 2, -1), "added “sex is male” with −1 point")
    after, what = SetPoints("age ≥ 60", 0).apply(AGE)
    assert (after.points, what) == ((1, 0, 0), "took out “age ≥ 60” (2 points)")


def test_a_rule_is_switched_off_and_on_again() -> None:
    off, what = SwitchOff("age ≥ 60").apply(AGE)
    assert (off.points, off.off, what) == (
        (1, 0, 0),
        ((1, 2),),
        "switched off “age ≥ 60” (2 points)",
    )
    on, what = SwitchOn("age ≥ 60").apply(off)
    assert (on, what) == (AGE, "switched on “age ≥ 60” (2 points)")
    with pytest.raises(InputError, match="not switched off"):
        SwitchOn("age ≥ 60").apply(AGE)
    with pytest.raises(InputError, match="has no points"):
        SwitchOff("sex is male").apply(AGE)
    # Other points make it a rule like any other.
    again, _ = SetPoints("age ≥ 60", 5).apply(off)
    assert again.off == ()


@pytest.mark.parametrize(
    ("value", "points", "expected", "answer"),
    [
        (50, 4, (4, -1, 0), "40 to under 60: 1 → 4 points"),  # 60 or more keeps its 3
        (75, 7, (1, 6, 0), "60 or more: 3 → 7 points"),
        (20, 2, (-1, 2, 0), "under 40: 0 → 2 points"),  # the others keep 1 and 3
    ],
)
def test_an_answer_changes_and_all_others_keep_their_points(
    value: float, points: int, expected: tuple[int, ...], answer: str
) -> None:
    after, what = SetAnswer("age", value, points).apply(AGE)
    assert (after.points, what) == (expected, f"age, {answer}")


def test_a_printed_answer_of_several_intervals_changes_as_one() -> None:
    draft = draft_of(*((Condition("age", ">=", cut), p) for cut, p in ((40, 0), (50, 2), (60, 0))))
    after, _ = SetAnswer("age", 45, 1).apply(draft)  # "under 50", although 40 is a cut point
    assert after.points == (0, 1, 0)
    after, _ = SetAnswer("age", 80, 5).apply(draft)
    assert after.points == (0, 5, 0)


def test_answers_of_levels_intervals_and_missing_values() -> None:
    levels = draft_of(
        (Condition("ward", "==", "A"), 1),
        (Condition("ward", "==", "B"), 2),
        (Condition("ward", "not in", ("A", "B")), 0),
    )
    assert SetAnswer("ward", "B", 5).apply(levels)[0].points == (1, 5, 0)
    assert SetAnswer("ward", "elsewhere", 4).apply(levels)[0].points == (1, 2, 4)
    parts = draft_of(
        (Condition("bmi", "<", 25), 0),
        (Condition("bmi", "between", (25, 30)), 1),
        (Condition("bmi", ">=", 30), 2),
        (Condition("bmi", "missing"), 1),
    )
    assert SetAnswer("bmi", None, 3).apply(parts)[0].points == (0, 1, 2, 3)
    assert SetAnswer("bmi", 22, 4).apply(parts)[0].points == (4, 1, 2, 1)
    yes = draft_of((PerUnit("falls", binary=True), 2))
    assert SetAnswer("falls", 1, 3).apply(yes)[0].points == (3,)


def test_an_answer_that_no_whole_points_give_is_refused() -> None:
    apart = draft_of((Condition("age", "between", (40, 60)), 2))  # both ends count as one answer
    with pytest.raises(InputError, match="no whole points of the conditions on 'age'"):
        SetAnswer("age", 20, 1).apply(apart)
    with pytest.raises(InputError, match="points per unit"):
        SetAnswer("x", 1, 1).apply(draft_of((PerUnit("x"), 1)))
    with pytest.raises(InputError, match="holds no value such as 'old'"):
        SetAnswer("age", "old", 1).apply(AGE)
    with pytest.raises(InputError, match="no answer to 'age' is for None"):
        SetAnswer("age", None, 1).apply(AGE)


def test_a_cut_point_moves_in_all_conditions_that_it_divides() -> None:
    after, what = MoveCut("age", 60, 65).apply(AGE)
    assert after.names == ("age ≥ 40", "age ≥ 65", "sex is male")
    assert (after.points, what) == (AGE.points, "cut point of age: 60 → 65")
    parts = draft_of(
        (Condition("bmi", "<", 25), 1),
        (Condition("bmi", "between", (25, 30)), 2),
        (Condition("bmi", ">=", 30), 3),
    )
    after, _ = MoveCut("bmi", 30, 29.5).apply(parts)
    assert after.names == ("bmi < 25", "25 ≤ bmi < 29.5", "bmi ≥ 29.5")


def test_limits_follow_a_condition_that_is_called_otherwise() -> None:
    limits = (
        Bounds("age ≥ 60", 2, 2),
        AtMost(1, ["age ≥ 40", "age ≥ 60"]),
        NeedsOneOf("sex is male", ["age ≥ 60"]),
        Exclude("age"),
    )
    after, _ = MoveCut("age", 60, 65).apply(replace(AGE, limits=limits))
    assert after.limits == (
        Bounds("age ≥ 65", 2, 2),
        AtMost(1, ["age ≥ 40", "age ≥ 65"]),
        NeedsOneOf("sex is male", ["age ≥ 65"]),
        Exclude("age"),
    )


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (MoveCut("age", 50, 55), "50 is no cut point of 'age'; they are '40', '60'"),
        (MoveCut("age", 60, 40), "60|above 40"),
        (MoveCut("age", 40, 70), "must lie below 60"),
        (MoveCut("age", 40, 40), "is 40 already"),
        (MoveCut("aeg", 40, 50), "no condition on a column 'aeg'.*age"),
        (SetPoints("age ≥ 41", 1), "no condition 'age ≥ 41'"),
        (SetPoints("age ≥ 40", 10**10), "too many"),
        (TakeOver({"nothing": 1}, "alternative 1"), "no condition 'nothing'"),
        (Rename("colour", None, "x"), "must be one of title"),
        (Rename("label", None, "x"), "label is of a column"),
        (Rename("title", "age", "x"), "title is of the card"),
        (Rename("unit", "age", "x" * 201), "200 characters, not 201"),
    ],
)
def test_what_cannot_be_done_is_said(edit: Edit, message: str) -> None:
    with pytest.raises(InputError, match=message):
        edit.apply(AGE)


def test_names_are_changed_and_taken_away() -> None:
    after, what = Rename("title", None, " Sepsis ").apply(AGE)
    assert (after.labels.title, what) == ("Sepsis", "title: none → “Sepsis”")
    after, what = Rename("unit", "age", "years").apply(after)
    assert (after.labels.of("age").unit, what) == ("years", "unit of age: none → “years”")
    bare, what = Rename("unit", "age", None).apply(after)
    assert (bare.labels.columns, what) == ((), "unit of age: “years” → none")


EDITS = [
    SetPoints("age ≥ 40", 3),
    SetAnswer("age", 50, 4),
    SetAnswer("ward", None, -1),
    SwitchOff("age ≥ 40"),
    SwitchOn("age ≥ 40"),
    TakeOver({"age ≥ 40": 1}, "alternative 2"),
    Solved({"age ≥ 40": 1}, "1/3", "optimal", 0.5),
    MoveCut("age", 40, 45.5),
    SetLimits((Bounds("age", 0, 2), AtMost(1, ["age", "sex"]))),
    Rename("label", "age", "Age"),
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.kind)
def test_edits_are_written_and_read(edit: Edit) -> None:
    assert Edit.from_json(json.loads(json.dumps(edit.to_json()))) == edit


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "is no edit"),
        ({"kind": "delete everything"}, "must be one of"),
        ({"kind": ["points"]}, "must be one of"),
        ({"kind": "points", "rule": "a"}, "points"),
        ({"kind": "points", "rule": "a", "points": 1, "path": "/etc/passwd"}, "path"),
        ({"kind": "points", "rule": "a", "points": True}, "points"),
        ({"kind": "points", "rule": "a", "points": 1.5}, "points"),
        ({"kind": "points", "rule": ["a"], "points": 1}, "rule"),
        ({"kind": "cut", "column": "a", "old": "40", "new": 1}, "old"),
        ({"kind": "take over", "points": [1], "origin": "x"}, "points"),
        ({"kind": "limits", "limits": [{"kind": "anything"}]}, "is not a constraint"),
        ({"kind": "limits", "limits": "none"}, "limits"),
    ],
)
def test_what_is_no_edit_is_refused(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Edit.from_json(data)


def test_conditions_of_a_binner_can_all_be_edited() -> None:
    X = {"age": [31, 47, 58, 64, 72, 80] * 20, "sex": ["f", "m", "m"] * 40}
    binner = Binner().fit(X, [0, 0, 0, 1, 1, 1] * 20)
    draft = draft_of(*((term, 0) for term in binner.terms_))
    for name in draft.names:
        draft, _ = SetPoints(name, 1).apply(draft)
    assert draft.rules == dict.fromkeys(draft.names, 1)
