"""Workbooks, recalculated by LibreOffice, against Python; and what must never get into one.

No formula has a result that LibreOffice could take over: each is stored as an empty one.
"""

from __future__ import annotations

import csv
import dataclasses
import re
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from netbenefit import Condition, InputError, PerUnit, Reading, Rule, Scorecard, Thresholds
from netbenefit.cards.terms import log_ends
from netbenefit.common import install_command
from netbenefit.export import xlsx
from tests.export._xlsx_near import undecidable
from tests.export.truth import (
    EMOJI,
    FORMULA,
    HOSTILE_COLUMN,
    HOSTILE_LEVEL,
    Truth,
    truth_of,
    truths,
)

pytest.importorskip("xlsxwriter", reason="XlsxWriter is not installed")

NAMES = ("conditions", "from zero", "units", "hostile", "no rules", "200 rules", "binned")
HALF = Thresholds.of([0.5])
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
#: All sheets, each in a file, UTF-8, with numbers in full and formulas by their results.
CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"


# -- LibreOffice ---------------------------------------------------------------------------------


@cache
def _soffice() -> str:
    found = shutil.which("soffice") or shutil.which("libreoffice")
    if found is None:
        pytest.skip("LibreOffice is not installed")
    return found


def recalculated(folder: Path, books: dict[str, bytes]) -> dict[str, dict[str, list[list[str]]]]:
    """Return all sheets of some workbooks as LibreOffice calculates them."""
    paths = []
    for name, data in books.items():
        paths.append(folder / f"{name}.xlsx")
        paths[-1].write_bytes(data)
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    command = [_soffice(), profile, "--headless", "--convert-to", CSV, "--outdir", str(folder)]
    subprocess.run([*command, *map(str, paths)], check=True, capture_output=True, timeout=500)
    sheets = ("Calculator", "Rows", "Steps")
    return {
        name: {sheet: _table(folder / f"{name}-{sheet}.csv") for sheet in sheets} for name in books
    }


def _table(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def answer(row: list[str]) -> tuple[float | None, float | None]:
    """Return the last two cells of a row of the sheet "Rows"."""
    score, risk = row[-2:]
    return (float(score) if score else None, _share(risk) if risk else None)


def _share(text: str) -> float:
    """Read a share, which LibreOffice writes in percent where the cell shows it so."""
    return round(float(text[:-1]) / 100, 12) if text.endswith("%") else float(text)


def calculator_answer(table: list[list[str]]) -> tuple[float | None, float | None]:
    """Return the results of the calculator."""
    found = {line[0]: line[1] for line in table if line[0] in ("SCORE", "RISK")}
    return answer([found["SCORE"], found["RISK"]])


# -- the stated rule: what spreadsheets cannot distinguish -----------------------------------------


@pytest.mark.parametrize(("x", "near"), [(18.499999999999996, True), (18.5, False), (18.4, False)])
def test_the_rule_takes_only_what_is_near_and_not_equal(x: float, near: bool) -> None:
    card = Scorecard.from_levels([Rule(Condition("bmi", ">=", 18.5), 1)], [1], [0.1, 0.6], HALF)
    assert undecidable(card._logic, {"bmi": x}) is near


# -- agreement -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def calculated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    books = {
        name: xlsx.workbook_bytes(truth.card, len(truth.rows) + 2, truth.rows)
        for name, truth in truths().items()
    }
    return recalculated(tmp_path_factory.mktemp("books"), books)


@pytest.mark.parametrize("name", NAMES)
def test_rows_agree_with_python(calculated: dict[str, Any], name: str) -> None:
    truth = truths()[name]
    logic = truth.card._logic
    table = calculated[name]["Rows"][1:]
    compared, wrong = 0, []
    for k, row in enumerate(truth.rows):
        if undecidable(logic, row):
            continue
        compared += 1
        if answer(table[k]) != (truth.scores[k], truth.risks[k]):
            wrong.append((row, truth.scores[k], truth.risks[k], table[k][-2:]))
    assert wrong == []
    # The truths hold values next to cuts on purpose, and nothing else is left out.
    left_out = len(truth.rows) - compared
    assert left_out == {"conditions": 139, "from zero": 139, "units": 106}.get(name, 0)


@pytest.mark.parametrize("name", ["conditions", "units"])
def test_values_next_to_a_cut_are_taken_for_equal(calculated: dict[str, Any], name: str) -> None:
    """As documented: each such row gets the score of a row on the cut."""
    truth = truths()[name]
    logic, table = truth.card._logic, calculated[name]["Rows"][1:]
    on_cut = {
        ("bmi", 18.499999999999996): 18.5,
        ("bmi", 24.999999999999996): 25,
        ("dose", 0.10000000000000002): 0.1,
        ("falls", 1.4999999999999998): 1.5,
        ("debt", 0.05127109637602412): log_ends(1)[0],
    }
    rows = [row for row in truth.rows if undecidable(logic, row)]
    moved = [{key: on_cut.get((key, row[key]), row[key]) for key in row} for row in rows]
    assert not any(undecidable(logic, row) for row in moved)
    expected = truth_of(truth.card, moved).scores
    at = [k for k, row in enumerate(truth.rows) if undecidable(logic, row)]
    assert tuple(answer(table[k])[0] for k in at) == expected
    assert expected != tuple(truth.scores[k] for k in at)  # so they had to be left out


@pytest.mark.parametrize("name", NAMES)
def test_empty_lines_have_no_score(calculated: dict[str, Any], name: str) -> None:
    spare = calculated[name]["Rows"][len(truths()[name].rows) + 1 :]
    expected = (0, 0.2) if name == "no rules" else (None, None)
    assert [answer(line) for line in spare[:2]] == [expected] * 2


def test_the_calculator_agrees_with_python(tmp_path: Path) -> None:
    chosen = []
    for name in ("conditions", "units"):
        truth = truths()[name]
        usable = [not undecidable(truth.card._logic, row) for row in truth.rows]
        chosen += [(name, k) for k in (*range(20), *range(-5, 0)) if usable[k]]
    chosen += [("hostile", 5), ("200 rules", 1), ("binned", 0), ("binned", 9), ("no rules", 0)]
    books = {}
    for name, k in chosen:
        truth = truths()[name]
        books[f"{name} {k}"] = xlsx.workbook_bytes(truth.card, 1, [truth.rows[k]])
    found = recalculated(tmp_path, books)
    for name, k in chosen:
        truth, table = truths()[name], found[f"{name} {k}"]["Calculator"]
        assert calculator_answer(table) == (truth.scores[k], truth.risks[k]), (name, k)
        if truth.rows[k] and truth.scores[k] is None:
            assert table[-1][0].startswith("No score")


def test_what_cannot_be_read_has_no_score(tmp_path: Path) -> None:
    """Text among numbers, codes as text with blanks around, blanks of all kinds, booleans."""
    rules = [
        Rule(Condition("age", ">=", 40), 2),
        Rule(Condition("stage", "==", "7"), 3),
        Rule(Condition("stage", "==", "Ab"), 20),
        Rule(Condition("stage", "missing"), 1),
        Rule(Condition("seen", "missing"), 5),
        Rule(Condition("must", ">=", 1), 1),
        Rule(Condition("must", "missing"), 1),
    ]
    readings = [
        Reading(feature="age", special=(-9, "not known"), fill=50, saw_missing=True),
        Reading(feature="stage", special=("n  a", -1)),
        Reading(feature="seen", special=(-9, "none")),
        Reading(feature="must", refuse=True),
    ]
    card = Scorecard.from_levels(rules, [3], [0.1, 0.6], HALF, readings=readings)
    base = {"age": 30, "stage": "x", "seen": 1, "must": 0}
    cases: list[tuple[dict[str, Any], int | None]] = [
        ({}, 0),
        ({"age": "old"}, None),
        ({"age": "41"}, None),
        ({"age": " not known\t"}, 2),
        ({"age": "Not known"}, None),
        ({"age": "\u00a0 \n"}, 2),
        ({"age": -9}, 2),
        ({"stage": 7}, 3),
        ({"stage": "Ab"}, 20),
        ({"stage": "aB"}, 0),
        ({"stage": "7 "}, 0),
        ({"stage": " n  a "}, 1),
        ({"stage": "n a"}, 0),
        ({"stage": "  "}, 1),
        ({"stage": -1}, 1),
        ({"seen": "none"}, 5),
        ({"seen": "nonesuch"}, 0),
        ({"seen": -9}, 5),
        ({"seen": " "}, 5),
        ({"must": None}, None),
        ({"must": 1}, 1),
    ]
    rows = [{**base, **changes} for changes, _ in cases]
    found = recalculated(tmp_path, {"book": xlsx.workbook_bytes(card, len(rows), rows)})
    table = found["book"]["Rows"][1:]
    assert [answer(line)[0] for line in table] == [score for _, score in cases]
    for row, (changes, score) in zip(rows, cases, strict=True):
        if score is not None:
            assert card.score(row) == score, changes


def test_large_numbers_have_no_score_rather_than_a_wrong_one(tmp_path: Path) -> None:
    card = Scorecard.from_levels([Rule(PerUnit("x", decimals=3), 7)], [3], [0.1, 0.6], HALF)
    rows = [{"x": v} for v in (1.2345, -0.0005, 1e9, 1e14, 1e300, 123456.7894)]
    found = recalculated(tmp_path, {"book": xlsx.workbook_bytes(card, len(rows), rows)})
    scores = [answer(line)[0] for line in found["book"]["Rows"][1:]]
    assert scores == [card.score(rows[0]), card.score(rows[1]), 7e9, None, None, 864197]


def test_many_sources_and_codes(tmp_path: Path) -> None:
    names = tuple(f"x{k}" for k in range(300))
    total = Reading(
        feature="t", sources=names, combine="sum", special=(7, 9), fill=2, saw_missing=True
    )
    codes = Reading(feature="x0", special=tuple(range(100, 400)), fill=0, saw_missing=True)
    card = Scorecard.from_levels(
        [Rule(PerUnit("t"), 1)], [3], [0.1, 0.6], HALF, readings=[total, codes]
    )
    base: dict[str, Any] = dict.fromkeys(names, 0)
    rows = [{**base, "x1": 3}, {**base, "x299": 7}, {**base, "x0": 250}, {**base, "x5": None}]
    found = recalculated(tmp_path, {"book": xlsx.workbook_bytes(card, 4, rows)})
    assert [answer(line)[0] for line in found["book"]["Rows"][1:]] == [3, 2, 0, 2]
    assert [card.score(row) for row in rows] == [3, 2, 0, 2]


# -- the file ------------------------------------------------------------------------------------


def parts_of(data: bytes, folder: Path) -> dict[str, str]:
    path = folder / "parts.xlsx"
    path.write_bytes(data)
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name).decode() for name in file.namelist()}


def formulas_of(parts: dict[str, str]) -> list[str]:
    found = []
    for name, text in parts.items():
        if name.startswith("xl/worksheets/sheet"):
            root = ElementTree.fromstring(text)
            for tag in ("f", "formula1", "formula2"):
                found += [one.text or "" for one in root.iter(f"{MAIN}{tag}")]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_formulas_hold_no_text_of_the_card(tmp_path: Path, name: str) -> None:
    """A name or level in a formula would be code; only cells, plain functions and numbers are."""
    truth: Truth = truths()[name]
    parts = parts_of(xlsx.workbook_bytes(truth.card, 3), tmp_path)
    formulas = formulas_of(parts)
    assert formulas
    functions = set()
    for formula in formulas:
        bare = re.sub(r'"(No score: [^"]*|Enter the values\.|[ ,.]|0,1)?"', "", formula)
        assert '"' not in bare, formula
        functions |= set(re.findall(r"([A-Z.]+)\(", bare))
        rest = re.sub(
            r"[A-Z]+\(|(Calculator|Rows|Steps|Values)!|\$?[A-Z]{1,3}\$?\d+|[\d.]+(E|e\+)?\d*",
            "",
            bare,
        )
        assert not re.search(r"[^-(),:<>=+*/&^]", rest), formula
    assert functions <= {
        "IF", "AND", "OR", "NOT", "NA", "N", "ISNUMBER", "ISLOGICAL", "MATCH", "INDEX", "INT",
        "EXACT", "MIN", "MAX", "SUM", "SUMPRODUCT", "COUNT", "COUNTA", "ABS", "LEN", "TRIM",
        "SUBSTITUTE", "CHAR", "FIND",
    }  # fmt: skip


def test_hostile_names_are_plain_strings(tmp_path: Path) -> None:
    parts = parts_of(xlsx.workbook_bytes(truths()["hostile"].card, 2), tmp_path)
    shared = ElementTree.fromstring(parts["xl/sharedStrings.xml"])
    texts = [one.text for one in shared.iter(f"{MAIN}t")]
    for text in (HOSTILE_COLUMN, HOSTILE_LEVEL, FORMULA, EMOJI, "=1+1"):
        assert text in texts
    assert not any("HYPERLINK" in formula or "1+1" in formula for formula in formulas_of(parts))
    assert "hyperlink" not in "".join(name for name in parts).lower()
    assert not any("<hyperlink" in text for text in parts.values())
    assert not any("definedName" in text for text in parts.values())


def test_no_formula_has_a_stored_result(tmp_path: Path) -> None:
    parts = parts_of(xlsx.workbook_bytes(truths()["conditions"].card, 3), tmp_path)
    for name, text in parts.items():
        if name.startswith("xl/worksheets/sheet"):
            for cell in ElementTree.fromstring(text).iter(f"{MAIN}c"):
                if cell.find(f"{MAIN}f") is not None:
                    assert not cell.findtext(f"{MAIN}v")


def test_numbers_are_written_in_full(tmp_path: Path) -> None:
    cut = 0.30000000000000004
    card = Scorecard.from_levels(
        [Rule(Condition("x", ">=", cut), 1)], [1], [0.1, 1 / 3 + 0.5], HALF
    )
    parts = parts_of(xlsx.workbook_bytes(card, 1), tmp_path)
    assert f"<v>{cut!r}</v>" in parts["xl/worksheets/sheet5.xml"]
    assert f"<v>{1 / 3 + 0.5!r}</v>" in parts["xl/worksheets/sheet5.xml"]


def test_the_calculator_describes_its_inputs(tmp_path: Path) -> None:
    parts = parts_of(xlsx.workbook_bytes(truths()["conditions"].card, 1), tmp_path)
    root = ElementTree.fromstring(parts["xl/worksheets/sheet2.xml"])
    rules = {one.get("sqref"): one for one in root.iter(f"{MAIN}dataValidation")}
    kinds = {cell: rule.get("type") for cell, rule in rules.items()}
    assert kinds == {
        **dict.fromkeys(("B5", "B7", "B8"), "decimal"),
        **dict.fromkeys(("B6", "B9"), "list"),
        "B4": "whole",
    }
    source = rules["B6"].findtext(f"{MAIN}formula1") or ""
    assert re.fullmatch(r"Values!\$A\$\d+:\$A\$\d+", source)


def test_the_calculator_refuses_what_is_not_plausible(tmp_path: Path) -> None:
    rules = [Rule(Condition(name, ">=", 3), 1) for name in ("age", "visits")]
    readings = [
        Reading(feature="age", fill=50, whole=True),
        Reading(feature="visits", special=(-9,), fill=1),
    ]
    card = Scorecard(rules, [(0, 0.1), (1, 0.6)], HALF, readings=readings).with_labels(
        {
            "title": "=1+1",
            "columns": {
                "age": {"label": "Age", "unit": "years", "low": 18, "high": 110},
                "visits": {"low": 0},
            },
        }
    )
    parts = parts_of(xlsx.workbook_bytes(card, 1), tmp_path)
    root = ElementTree.fromstring(parts["xl/worksheets/sheet2.xml"])
    rules_of = {one.get("sqref"): one for one in root.iter(f"{MAIN}dataValidation")}
    assert all(rule.get("errorStyle") is None for rule in rules_of.values())  # not a mere warning
    ends = {
        cell: [float(rule.findtext(f"{MAIN}formula{k}") or "nan") for k in (1, 2)]
        for cell, rule in rules_of.items()
    }
    assert ends["B4"] == [18, 110]
    assert ends["B5"] == [-9, 1e300]  # a code for missing is plausible
    for words in ("Age (years)", "18 to 110", "0 or more", "=1+1"):
        assert words in parts["xl/sharedStrings.xml"]


def test_a_large_card_stays_within_the_limits(tmp_path: Path) -> None:
    path = tmp_path / "card.xlsx"
    xlsx.to_xlsx(truths()["200 rules"].card, path)
    assert path.stat().st_size < 20_000_000
    levels = tuple(f"level {k} " + "x" * 300 for k in range(2000))
    card = Scorecard.from_levels([Rule(Condition("a", "in", levels), 1)], [1], [0.1, 0.6], HALF)
    formulas = formulas_of(parts_of(xlsx.workbook_bytes(card, 1), tmp_path))
    assert max(map(len, formulas)) < 8192


# -- arguments -----------------------------------------------------------------------------------


def test_a_file_is_replaced_or_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "card.xlsx"
    path.write_text("old")
    card = truths()["no rules"].card
    with pytest.raises(InputError, match="rows=0 must be an integer"):
        xlsx.to_xlsx(card, path, rows=0)
    assert path.read_text() == "old"
    xlsx.to_xlsx(card, path, rows=1)
    assert zipfile.is_zipfile(path)
    assert [one.name for one in tmp_path.iterdir()] == ["card.xlsx"]


@pytest.mark.parametrize("rows", [0, -1, 1_048_575, 2.5, True, "9"])
def test_a_number_of_rows_that_no_sheet_has(tmp_path: Path, rows: Any) -> None:
    with pytest.raises(InputError, match="must be an integer from 1 to 1048574"):
        xlsx.to_xlsx(truths()["no rules"].card, tmp_path / "x.xlsx", rows=rows)


def test_what_is_no_card(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be a Scorecard, not str"):
        xlsx.to_xlsx("card", tmp_path / "x.xlsx")  # type: ignore[arg-type]


def test_a_level_that_no_cell_holds(tmp_path: Path) -> None:
    rule = Rule(Condition("a", "==", "x" * 40_000), 1)
    card = dataclasses.replace(truths()["no rules"].card, rules=(rule,))
    with pytest.raises(InputError, match="more than 32767 characters"):
        xlsx.to_xlsx(card, tmp_path / "x.xlsx")


def test_without_xlsxwriter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(InputError, match=re.escape(install_command("xlsx"))):
        xlsx.to_xlsx(truths()["no rules"].card, tmp_path / "x.xlsx")
