"""Tables as Markdown that reads well raw and rendered, and as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from netbenefit.common import text_table as _text_table
from reproduction.published import PublishedCell
from reproduction.summary import Cell, Summary

__all__ = [
    "MISSING",
    "bullets",
    "csv_text",
    "document",
    "escape",
    "number",
    "pipe_table",
    "run_words",
    "spread",
]

#: Stands where nothing was run, or nothing can be computed.
MISSING = "–"

_MARKUP = re.compile(r"([\\`*_{}\[\]<>|~#])")


def escape(text: str) -> str:
    r"""Escape what Markdown would take for markup, and keep a text on one line.

    Examples
    --------
    >>> escape("a|b_c")
    'a\\|b\\_c'
    """
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def number(value: float | None, decimals: int = 3) -> str:
    """Write a number; no zero has a sign.

    Examples
    --------
    >>> number(0.12345), number(-0.0001), number(-0.5, 1), number(None)
    ('0.123', '0.000', '−0.5', '–')
    """
    return _text_table.number(value, decimals)


def spread(cell: Cell | PublishedCell, key: str, decimals: int) -> str:
    """Write what follows a mean: its standard deviation, for sizes smallest and largest.

    Examples
    --------
    >>> import numpy as np
    >>> spread(Cell.of(np.array([2.0, 4.0])), "size", 1)
    ' (2–4)'
    """
    if key == "size":
        return "" if cell.min is None else f" ({cell.min:.0f}–{cell.max:.0f})"
    return f" ± {number(cell.sd, decimals)}"


def pipe_table(head: Sequence[str], lines: Iterable[Sequence[str]], left: int = 1) -> str:
    """Write a table, its first ``left`` columns to the left and the others to the right.

    Cells are taken as they are: names from outside go through :func:`escape` first.

    Examples
    --------
    >>> print(pipe_table(["Method", "AUROC"], [["LASSO", "0.9"]]))
    | Method | AUROC |
    | :----- | ----: |
    | LASSO  |   0.9 |
    """
    rows = [list(head), *map(list, lines)]
    widths = [max(3, *(len(row[place]) for row in rows)) for place in range(len(head))]
    rule = [
        (":" + "-" * (w - 1)) if i < left else ("-" * (w - 1) + ":") for i, w in enumerate(widths)
    ]
    return "\n".join(
        "| "
        + " | ".join(
            text.ljust(width) if place < left else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in [rows[0], rule, *rows[1:]]
    )


def bullets(items: Iterable[str]) -> str:
    """Write a list.

    Examples
    --------
    >>> print(bullets(["one", "two"]))
    - one
    - two
    """
    return "\n".join(f"- {item}" for item in items)


def run_words(summary: Summary) -> str:
    """Say what kind of run the numbers come from.

    Examples
    --------
    >>> from reproduction.summary import summarise
    >>> row = {"dataset": "heart", "method": "lasso", "setting": "original", "fold": 0}
    >>> run_words(summarise([{**row, "budget": "quick", "version": "1.0"}]))
    'Budget of the run: quick. Version of the package: 1.0.'
    """
    words = {"budget": "Budget of the run", "version": "Version of the package"}
    found = {key: summary.told(key) for key in words}
    return " ".join(
        f"{words[key]}: {escape(', '.join(texts))}." for key, texts in found.items() if texts
    )


def document(title: str, *parts: str) -> str:
    r"""Join a title and paragraphs, tables and lists; empty ones are left out.

    Examples
    --------
    >>> document("Ranks", "", "Words.")
    '# Ranks\n\nWords.\n'
    """
    return "\n\n".join([f"# {title}", *(part for part in parts if part)]) + "\n"


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    r"""Write rows as CSV: nothing for None, true and false, ten digits of a float.

    Examples
    --------
    >>> csv_text([{"a": 0.1 + 0.2, "b": None, "c": True}])
    'a,b,c\n0.3,,true\n'
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _plain(value) for key, value in row.items()})
    return out.getvalue()


def _plain(value: Any) -> Any:
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else value
