"""docs/theory.md: examples run, pictures are those of the script, every name is described."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import netbenefit.theory as theory

pytest.importorskip("matplotlib")
from benchmarks.theory_figures import FIGURES, main

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "theory.md").read_text(encoding="utf-8")


def test_examples_run() -> None:
    result = doctest.testfile(
        str(DOCS / "theory.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert result.attempted > 20
    assert result.failed == 0


def test_every_picture_is_drawn_and_shown() -> None:
    shown = re.findall(r"\]\(theory/(\w+)\.svg\)", TEXT)
    assert sorted(shown) == sorted(FIGURES)
    assert {path.stem for path in (DOCS / "theory").glob("*.svg")} == set(FIGURES)


def test_every_function_is_described() -> None:
    functions = {name for name in theory.__all__ if name.islower()}
    assert {name for name in functions if not re.search(rf"`{name}\b", TEXT)} == set()


def test_script_draws_the_same_twice(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        main(["capacity", "rules", "--folder", str(tmp_path / folder)])
    for name in ("capacity", "rules"):
        one, two = ((tmp_path / f / f"{name}.svg").read_bytes() for f in ("one", "two"))
        assert one == two
        assert b"<dc:date>" not in one


@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"capacity", "rules"}))
def test_pictures_can_be_drawn(name: str, tmp_path: Path) -> None:
    main([name, "--folder", str(tmp_path)])
    text = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
    assert text.rstrip().endswith("</svg>")
    assert len(text) < 80_000
