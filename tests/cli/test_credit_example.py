"""The example of credit, run as it stands; no example needs a file that a clone does not have."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from netbenefit import Scorecard
from tests.cli.test_main import run

FOLDER = Path(__file__).resolve().parents[2] / "examples"
PAGE = FOLDER / "credit.md"


def plain(text: str) -> list[str]:
    """Lines without the time that a search took, and without spaces at their ends."""
    return [re.sub(r"\d+\.\d s$", "… s", line.rstrip()) for line in text.splitlines()]


def test_every_command_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FOLDER, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    blocks = re.findall(r"^```\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    printed, fits = "", 0
    for block in blocks:
        if not block.startswith(("netbenefit ", "python ")):
            fits += 1
            missing = [line for line in plain(block) if line not in plain(printed)]
            assert missing == []
            continue
        for command in block.replace("\\\n", " ").splitlines():
            program, *words = shlex.split(command)
            if program == "python":
                monkeypatch.setattr(sys, "argv", words)
                runpy.run_path(words[0], run_name="__main__")
            else:
                printed = run(*words)
    assert fits == 3
    card = Scorecard.load("small.json")
    assert card.labels.title is not None
    assert card.labels.title in Path("calculator.html").read_text(encoding="utf-8")
    assert "borrowers" in Path("score.sql").read_text(encoding="utf-8")


def test_no_example_reaches_out_of_the_clone() -> None:
    files = [file for file in FOLDER.iterdir() if file.suffix in (".md", ".py", ".json", ".csv")]
    assert len(files) >= 5
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert "../shared" not in text, file.name
        for path in re.findall(r"(?:examples/)([\w.-]+)", text):
            assert (FOLDER / path).is_file(), (file.name, path)
