"""The table of default problems in the docs."""

from __future__ import annotations

from pathlib import Path

from benchmarks.proofs import DEFAULT_HEADER, write_defaults


def row(name: str, limit: str, gap: str) -> list[str]:
    return [name, limit, "0.1", "0.2", gap, "ceiling", limit, "0.0", "1"]


def test_rows_replace_those_of_the_same_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- benchmarks.proofs: default problems -->\n\n<!-- end -->\nafter\n")
    write_defaults([row("wine", "10", "3%"), row("heart", "60", "1%")], page)
    write_defaults([row("heart", "10", "2%"), row("wine", "10", "4%")], page)
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    table = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    assert table[0] == DEFAULT_HEADER
    assert table[2:] == [
        row("heart", "10", "2%"),
        row("heart", "60", "1%"),
        row("wine", "10", "4%"),
    ]
