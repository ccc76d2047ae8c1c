"""docs/paper_index.md is true: functions exist, docstrings name labels, none is left out."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

INDEX = Path(__file__).resolve().parents[2] / "docs" / "paper_index.md"
#: A row of one of the two tables: what it is, its label, and dotted paths.
_ROW = re.compile(r"^\| (?P<what>[^|]+) \| `(?P<label>\w+:[^`]+)` \| (?P<paths>[^|]+) \|$", re.M)
_PATH = re.compile(r"`(netbenefit(?:\.\w+)+)`")
#: A numbered statement of the paper's source, from its beginning to its end.
_STATEMENT = re.compile(
    r"\\begin\{(definition|theorem|corollary|proposition|lemma|algorithm)\}(.*?)\\end\{\1\}", re.S
)
_LABEL = re.compile(r"\\label\{((?:thm|cor|prop|lem|def|alg):[^}]+)\}")

TEXT = INDEX.read_text(encoding="utf-8")
ROWS = {row["label"]: _PATH.findall(row["paths"]) for row in _ROW.finditer(TEXT)}
ENTRIES = [(label, path) for label, paths in ROWS.items() for path in paths]


def find(path: str) -> Any:
    """Import what a dotted path names: a module, or what is in one, methods included."""
    parts = path.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for name in parts[size:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(path)


def test_every_row_of_the_index_is_read() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("|")]
    assert len(rows) == len(ROWS) + 2 * 2  # two tables, each with a head and a ruler
    assert all(ROWS.values())


@pytest.mark.parametrize(("label", "path"), ENTRIES)
def test_docstring_names_the_label(label: str, path: str) -> None:
    words = " ".join((inspect.getdoc(find(path)) or "").split())
    assert re.search(rf"{re.escape(label)}(?!\w)", words), f"{path} does not name {label}"


@pytest.mark.parametrize("path", sorted(set(_PATH.findall(TEXT))))
def test_what_the_index_names_exists(path: str) -> None:
    found = find(path)
    assert path.startswith(f"{found.__module__}.")  # where it is defined, not where it is handed on


def test_no_statement_of_the_paper_is_left_out(paper_folder: Path) -> None:
    source = paper_folder / "rss_dnb.tex"
    if not source.is_file():
        pytest.skip(f"no {source.name}: the paper's source is not part of this repository")
    text = re.sub(r"(?<!\\)%.*", "", source.read_text(encoding="utf-8"))
    count: Counter[str] = Counter()
    statements = {}
    for kind, body in _STATEMENT.findall(text):
        count[kind] += 1
        label = _LABEL.search(body)
        statements[f"{kind.capitalize()} {count[kind]}"] = label[1] if label else None
    assert set(_LABEL.findall(text)) == set(statements.values()) - {None}
    listed = {row["what"].split(",")[0]: row["label"] for row in _ROW.finditer(TEXT)}
    for statement, label in statements.items():
        if label is None:  # explained below the tables
            assert f"- {statement} (" in TEXT
        else:
            assert listed.pop(statement, None) == label
    assert all(label.startswith(("eq:", "ilp:", "tab:")) for label in listed.values())
