"""The example of a boosted model, run as it stands."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.helpers.full import slow

FOLDER = Path(__file__).resolve().parents[2] / "examples"
PAGE = FOLDER / "from_boosting.md"


@slow
def test_every_line_does_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert result.failed == 0
    assert result.attempted > 15
    drawn = (tmp_path / "from_boosting.svg").read_text(encoding="utf-8")
    shown = (FOLDER / "from_boosting.svg").read_text(encoding="utf-8")
    for text in ("teacher", "card", "Treat All", "Lost: Teacher − Card", "Threshold Probability"):
        assert text in drawn
        assert text in shown
    assert len(shown) < 80_000
