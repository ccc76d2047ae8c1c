"""The table of default problems in the docs."""

from __future__ import annotations

from pathlib import Path

from benchmarks.proofs import write_default


def row(name: str, questions: str, limit: str, gap: str, seconds: str) -> list[str]:
    return [name, questions, limit, "0.1", "0.2", gap, "ceiling", seconds, "0.0", "1"]


def test_a_run_replaces_the_same_run_and_leaves_the_others(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- benchmarks.proofs: default problems -->\n\n<!-- end -->\nafter\n")
    for run in [
        row("wine", "at most 8", "10", "3%", "10.1"),
        row("heart", "any number", "60", "1%", "60.0"),
        row("heart", "at most 8", "10", "0%", "2.5"),
        row("wine", "at most 8", "10", "4%", "10.0"),
    ]:
        write_default(run, page)
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "|" in line]
    assert table[0][1:3] == ["at most 8, 10 s", "at most 8, 60 s"]
    assert table[2:] == [
        ["heart", "0% in 2.5 s, ceiling", "", "", "1%, ceiling"],
        ["wine", "4%, ceiling", "", "", ""],
    ]
