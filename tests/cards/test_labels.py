"""A data dictionary: read strictly, kept in the card, shown wherever the card is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from netbenefit import Condition, InputError, Reading, Rule, Scorecard, Thresholds
from netbenefit.cards.labels import ColumnLabel, Labels
from netbenefit.cards.text import contents
from netbenefit.report.columns import column_rows

CSV = """column,label,unit,low,high,levels
*title,Death after sepsis
*outcome,death within 30 days
age,Age,years,18,110,
lac,Lactate,mmol/l,0.1,,
stage,Stage,,,,II|I
"""
DATA = {
    "title": "Death after sepsis",
    "outcome": "death within 30 days",
    "columns": {
        "age": {"label": "Age", "unit": "years", "low": 18, "high": 110},
        "lac": {"label": "Lactate", "unit": "mmol/l", "low": 0.1},
        "stage": {"label": "Stage", "levels": ["II", "I"]},
    },
}


def card() -> Scorecard:
    rules = [
        Rule(Condition("age", ">=", 52), 2),
        Rule(Condition("stage", "==", "II"), 3),
        Rule(Condition("stage", "==", "I"), 1),
    ]
    readings = [Reading(feature="age", fill=50), Reading(feature="stage", levels=("I", "II"))]
    return Scorecard(rules, [(0, 0.1), (3, 0.6)], Thresholds.of([0.5]), readings=readings)


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("column,low,high\nage,old,110\nsex,1,2\nlac,9,1\nbmi,1,x\n")
    with pytest.raises(InputError) as caught:
        Labels.read(path, among=["age", "sex", "bmi"])
    parts = ["line 2, low: 'old'", "line 4, column: the table has no column 'lac'", "line 5, high"]
    assert str(caught.value).startswith(f"{path}: 3 entries of the data dictionary are wrong: (1) ")
    assert all(part in str(caught.value) for part in parts)
    wrong = {"columns": {"age": {"low": "old"}, "sex": {"order": 1}, "bmi": {"high": 50}}}
    with pytest.raises(InputError, match=r"columns\.age: low must.*columns\.sex\.order is not"):
        Labels.read(wrong)


def test_all_forms_say_the_same(tmp_path: Path) -> None:
    table, text = tmp_path / "labels.csv", tmp_path / "labels.json"
    table.write_text(CSV, encoding="utf-8-sig")
    text.write_text(json.dumps(DATA), encoding="utf-8")
    europe = tmp_path / "europe.csv"
    europe.write_text(CSV.replace("0.1", "0#1").replace(",", ";").replace("#", ","), "utf-8")
    found = Labels.read(DATA)
    assert found.columns[0] == ColumnLabel("age", "Age", "years", 18, 110)
    assert found.of("stage").levels == ("II", "I")
    for one in (table, text, europe, str(table), found):
        assert Labels.read(one) == found


def test_the_card_is_called_as_the_dictionary_says() -> None:
    plain, named = card(), card().with_labels(DATA)
    shown = contents(named)
    assert shown.title == "Death after sepsis"
    assert [asked.name for asked in shown.questions] == ["Stage", "Age (years)"]
    assert [words for words, _ in shown.questions[0].answers] == ["II", "I", "any other"]
    assert contents(plain).questions[0].answers[0][0] == "I"
    assert shown.notes == ["if not known, count as: Age 50 (none was missing in training)"]
    assert contents(card().with_labels({"outcome": "death"})).title == "Risk of death"
    rows = {"age": [40, 60, 60], "stage": ["I", "II", "I"]}
    assert named.score(rows).tolist() == plain.score(rows).tolist()
    assert [one.feature for one in named.labels.columns] == ["age", "stage"]  # lac is not asked
    assert named.start_at_zero().labels == named.labels


def test_the_report_names_columns_and_counts_what_is_not_plausible() -> None:
    rows = {"age": [17, 40, 300], "stage": ["I", "II", "I"]}
    found = {row.name: row.prepared for row in column_rows(card().with_labels(DATA), rows)}
    assert "plausible: 18 to 110 (2 rows outside)" in found["Age (years)"]
    assert "Stage" in found


def test_a_file_keeps_the_dictionary() -> None:
    named = card().with_labels(DATA)
    text = named.to_json()
    assert Scorecard.from_json(text) == named
    for path, value, message in (
        (["title"], 3, r"labels\.title must be (a )?text"),
        (["columns", 0, "low"], "18", r"labels\.columns\[0\]\.low must be a finite number"),
        (["columns", 0, "low"], 200, r"labels\.columns\[0\]: low=200 must be below high=110"),
        (["columns", 1, "feature"], "age", "columns 'age' appear twice"),
    ):
        data = json.loads(text)
        place = data["labels"]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        with pytest.raises(InputError, match=message):
            Scorecard.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,label\nage,Age\n", "line 1: heading 'name' is unknown or twice there. Use column,"),
        ("column,label,label\nage,Age\n", "line 1: heading 'label' is unknown or twice"),
        ("label\nAge\n", "line 1: there is no heading 'column'"),
        ("", "line 1: there is no heading 'column'"),
        ("column,low\nage,18\nsex,young\n", "line 3, low: 'young' is not a number"),
        ("column,low,high\nage,18,3\n", "line 2: low=18 must be below high=3"),
        ("column,label\nage,Age\nage,Alter\n", "line 3, column: 'age' is there twice"),
        ("column,label\n*title,\n", r"line 2, label: \*title needs a text"),
        ("column,label\nage,Age, in years\n", "line 2 has 3 cells, but there are 2 headings"),
        ("column,label\n,Age\n", "line 2, column: there is no name"),
        ("column,levels\nsex,f|m|f\n", "line 2: levels name 'f' twice"),
        ("column,label\nage,Age\nold,Age\n", "the labels 'Age' appear twice"),
    ],
)
def test_errors_of_a_table_name_line_and_heading(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"labels\.csv: {message}"):
        Labels.read(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"title": "T",\n "columns": }', r"not JSON: .* \(line 2, column 13\)"),
        ("[]", "the labels must be an object"),
        ('{"colums": {}}', "colums is not a known key. Use title, outcome, columns"),
        ('{"columns": []}', None),
        ('{"columns": ["age"]}', "columns must be an object by column"),
        ('{"columns": {"age": "Age"}}', r"columns\.age must be an object"),
        ('{"columns": {"age": {"range": 3}}}', r"columns\.age\.range is not a known key"),
        ('{"columns": {"age": {"low": "18"}}}', r"columns\.age: low must be a number, not '18'"),
        ('{"columns": {"age": {"levels": "a"}}}', r"columns\.age\.levels must be a list"),
        ('{"columns": {"age": {"label": 3}}}', r"columns\.age: label must be text"),
        ('{"title": " "}', "title must be text that is not blank"),
    ],
)
def test_errors_of_json_name_the_place(text: str, message: str | None, tmp_path: Path) -> None:
    file = tmp_path / "labels.json"
    file.write_text(text, encoding="utf-8")
    if message is None:
        assert Labels.read(file) == Labels()
        return
    with pytest.raises(InputError, match=message):
        Labels.read(file)


def test_labels_of_another_table_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="about 'wage', but the card's columns are 'age'"):
        card().with_labels({"columns": {"wage": {"label": "Wage"}}})
    with pytest.raises(InputError, match=r"no column 'lac'\. Did you mean 'lact'"):
        Labels.read(DATA, ["age", "lact", "stage"])
    table = tmp_path / "labels.csv"
    table.write_text(CSV, encoding="utf-8")
    with pytest.raises(
        InputError, match=r"labels\.csv: line 5, column: the table has no column 'lac'"
    ):
        Labels.read(table, ["age", "stage"])
    assert Labels.read(table, ["age", "lac", "stage", "more"]) == Labels.read(DATA)
    with pytest.raises(InputError, match="no such file"):
        Labels.read(tmp_path / "absent.csv")
    latin = tmp_path / "latin.csv"
    latin.write_bytes("column,label\nage,Größe\n".encode("cp1252"))
    with pytest.raises(InputError, match="is not UTF-8"):
        Labels.read(latin)
    with pytest.raises(InputError, match=r"use card\.with_labels"):
        replace(card(), labels={"title": "T"})  # type: ignore[arg-type]
