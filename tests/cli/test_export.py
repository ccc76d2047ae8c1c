"""``netbenefit export``: every format by its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netbenefit import Condition, Rule, Scorecard, Thresholds
from netbenefit.cli.main import app
from tests.export.truth import truths


def run(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("export") / "card.json"
    truths()["conditions"].card.save(file)
    return file


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("html", "<!DOCTYPE html>"),
        ("sql", 'AS "card_score"'),
        ("python", "def risk_score(row):"),
        ("js", "export { score, risk };"),
        ("pmml", "<Scorecard"),
        ("md", "| Question | Answer | Points | |"),
        ("latex", "\\begin{tabular}"),
        ("json", "netbenefit.scorecard"),
    ],
)
def test_formats(card: Path, tmp_path: Path, to: str, words: str) -> None:
    assert words.lower() in run("export", card, "--to", to).lower()
    out = tmp_path / f"card.{to}"
    assert "saved" in run("export", card, "--to", to, "--out", out)
    assert words.lower() in out.read_text(encoding="utf-8").lower()


def test_a_workbook_needs_a_file(card: Path, tmp_path: Path) -> None:
    pytest.importorskip("xlsxwriter")
    assert "--out card.xlsx" in run("export", card, "--to", "xlsx", code=2)
    run("export", card, "--to", "xlsx", "--out", tmp_path / "card.xlsx")
    assert (tmp_path / "card.xlsx").read_bytes()[:2] == b"PK"


def test_json_is_the_card(card: Path) -> None:
    text = run("export", card, "--to", "json")
    assert Scorecard.from_json(text) == Scorecard.load(card)
    assert json.loads(text)["version"] == 7


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A card, the same with a digit changed by hand, and rows."""
    folder = tmp_path_factory.mktemp("edited")
    whole, edited, rows = (folder / name for name in ("whole.json", "edited.json", "rows.csv"))
    rules = [Rule(Condition("age", ">=", 52), 2)]
    Scorecard(rules, [(0, 0.1), (1, 0.6)], Thresholds.of([0.5])).save(whole)
    edited.write_text(whole.read_text().replace("52", "53"))
    rows.write_text("age,ill\n" + "30,0\n40,1\n60,0\n70,1\n" * 10)
    return whole, edited, rows


@pytest.mark.parametrize(
    "command",
    [
        "show CARD",
        "evaluate CARD ROWS --target ill --json",
        "score CARD ROWS --out OUT.csv",
        "report CARD ROWS --target ill --out OUT.html",
        "export CARD --to sql",
        "update CARD ROWS --target ill --quiet",
        "compare ROWS --target ill --models CARD,logistic --folds 2 --quiet --jobs 1",
        "verify CARD CARD ROWS --target ill",
    ],
)
def test_every_command_says_that_a_card_was_changed(
    edited: tuple[Path, Path, Path], command: str, tmp_path: Path
) -> None:
    found = []
    for card in edited[:2]:
        words = command
        for name, place in (("CARD", card), ("ROWS", edited[2]), ("OUT", tmp_path / card.stem)):
            words = words.replace(name, str(place))
        found.append(CliRunner().invoke(app, words.split()))
    whole, changed = found
    warning = f"warning: {edited[1]} was changed after it was saved"
    assert "was changed" not in whole.stderr
    assert changed.stderr.count(warning) == changed.output.count("was changed after") == 1
    assert changed.exit_code == whole.exit_code == (2 if "verify" in command else 0)


def test_an_export_signs_a_card_anew(edited: tuple[Path, Path, Path], tmp_path: Path) -> None:
    said = run("export", edited[1], "--to", "json", "--out", tmp_path / "signed.json")
    assert "sign it anew: netbenefit export CARD --to json --out NEW_CARD" in said
    assert "changed" not in run("show", tmp_path / "signed.json")
    assert Scorecard.load(tmp_path / "signed.json").rules[0].term == Condition("age", ">=", 53)


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("html", 'id="scaled"'),
        ("sql", 'AS "card_scaled_score"'),
        ("python", "score, risk, scaled score"),
        ("js", "export { score, risk, scaledScore };"),
        ("pmml", 'name="scaled score"'),
        ("md", "points double the odds"),
        ("latex", "points double the odds"),
    ],
)
def test_scaled_scores(card: Path, tmp_path: Path, to: str, words: str) -> None:
    out = tmp_path / "card"
    printed = run("export", card, "--to", to, "--scale", "20,600,50", "--out", out)
    assert "scaled score = " in printed
    assert words in out.read_text(encoding="utf-8")
    assert words not in run("export", card, "--to", to)


def test_a_query_of_a_table(card: Path) -> None:
    query = run("export", card, "--to", "sql", "--dialect", "spark", "--table", "clinic.visits")
    assert "FROM `clinic`.`visits` AS" in query
    assert "AS `card_risk`" in query


def test_labels_reach_every_format(card: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("column,label,unit,low,high\nage,Age (>=18),years,18,100\n")
    page = run("export", card, "--to", "html", "--labels", file)
    for words in ("Age (&gt;=18)", "in years", "18 to 100"):
        assert words in page
    assert '"label": "Age (>=18)"' in run("export", card, "--to", "json", "--labels", file)
    assert "(years)" in run("export", card, "--to", "md", "--labels", file)
    file.write_text("column,low\nage,old\n")
    printed = run("export", card, "--to", "html", "--labels", file, code=2)
    assert "line 2, low: 'old' is not a number" in " ".join(printed.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "md", "--lower-is-better"], "give --scale, too"),
        (["--to", "md", "--scale", "20"], "three numbers"),
        (["--to", "json", "--scale", "20,600,50"], "leave --scale out"),
        (["--to", "js", "--table", "t"], "--table is for --to sql"),
        (["--to", "js", "--dialect", "duckdb"], "--dialect is for --to sql"),
        (["--to", "sql", "--threshold", "0.2"], "--threshold is for --to html"),
        (["--to", "sql", "--table", "a..b"], "cannot stand in SQL"),
        (["--to", "xlsx", "--out", "q.html"], "hold html, but --to xlsx was asked for"),
        (["--to", "sql", "--out", "q.py"], "Write --to python, or choose another name"),
    ],
)
def test_options_that_do_not_fit(card: Path, options: list[str], message: str) -> None:
    assert message in " ".join(run("export", card, *options, code=2).split())


def test_the_card_is_not_overwritten(card: Path) -> None:
    before = card.read_bytes()
    run("export", card, "--to", "md", "--out", card, code=2)
    assert card.read_bytes() == before
