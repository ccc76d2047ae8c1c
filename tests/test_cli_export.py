"""``netbenefit export``: every format by its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netbenefit import Scorecard
from netbenefit.cli import app
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
        ("js", "export { score, risk };"),
        ("pmml", "<Scorecard"),
        ("md", "| Rule | Points |"),
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
    assert json.loads(text)["version"] == 2


def test_scaled_scores_are_told(card: Path, tmp_path: Path) -> None:
    said = run("export", card, "--to", "md", "--scale", "20,600,50")
    assert "scaled score = " in said
    assert "three numbers" in run("export", card, "--to", "md", "--scale", "20", code=2)


def test_the_card_is_not_overwritten(card: Path) -> None:
    before = card.read_bytes()
    run("export", card, "--to", "md", "--out", card, code=2)
    assert card.read_bytes() == before
