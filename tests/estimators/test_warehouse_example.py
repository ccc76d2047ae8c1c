"""The example of a warehouse, run as it stands."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "examples" / "warehouse.md"


def test_every_line_does_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert result.failed == 0
    assert result.attempted > 10
    assert (tmp_path / "scored.parquet").stat().st_size > 100_000


def test_it_takes_a_dozen_lines() -> None:
    after_the_data = PAGE.read_text(encoding="utf-8").split("## A card")[1]
    lines = re.findall(r"^(?:>>>|\.\.\.) .*$", after_the_data, flags=re.MULTILINE)
    assert 8 <= len(lines) <= 12


def test_the_commands_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb
    from typer.testing import CliRunner

    from netbenefit.cli.main import app

    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    query = (
        "SELECT i AS loan_id, i % 40 AS age, (i % 40 + i % 7 > 25) AS defaulted "
        "FROM range(900) t(i)"
    )
    for part in range(2):
        duckdb.sql(f"{query} WHERE i % 2 = {part}").write_parquet(f"loans-{part}.parquet")
    commands = re.findall(r"^netbenefit (.*)$", text, flags=re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        words = [word.strip("'") for word in command.split()]
        result = CliRunner().invoke(
            app, [*words, *(["--time-limit", "2"] if words[0] == "fit" else [])]
        )
        assert result.exit_code == 0, result.output
    assert duckdb.sql("SELECT count(card_score) FROM 'scored.parquet'").fetchall() == [(900,)]
    assert (tmp_path / "card.json").exists()
