"""A short table of what the binner took each column for, to look over before the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from netbenefit.cards.text import strip_control

__all__ = ["HOW_TO_CHANGE", "guess_table"]

HOW_TO_CHANGE = (
    "--categorical NAME, --numeric NAME, --cuts NAME=40,60, --special NAME=-9, "
    "--missing NAME=impute, --drop NAME"
)
_HEADS = ("column", "taken for", "conditions", "missing")
_MOST_ROWS = 15
_GAP = 2
_NARROWEST = 10


def guess_table(summary: Mapping[str, Sequence[Any]], width: int) -> Text:
    """Return a binner's summary in lines no wider than a terminal.

    Parameters
    ----------
    summary : mapping
        ``Binner.summary()``.
    width : int
        Characters of a line.

    Examples
    --------
    >>> columns = {"column": ["age"], "taken for": ["whole numbers"], "conditions": ["≥ 40, ≥ 60"]}
    >>> print(guess_table({**columns, "missing": [12]}, 60))
      column  taken for      conditions  missing
      age     whole numbers  ≥ 40, ≥ 60       12
    """
    rows = [_cells(*row) for row in zip(*(summary[head] for head in _HEADS), strict=True)]
    more = len(rows) - _MOST_ROWS
    if more == 1:  # a line that says so would take as much room
        more = 0
    shown = rows if more <= 0 else rows[:_MOST_ROWS]
    widths = _widths([_HEADS, *shown], width)
    lines = [_line(_HEADS, widths, "bold"), *(_line(row, widths) for row in shown)]
    if more > 0:
        lines.append(Text(f"  … and {more} more columns", "dim"))
    return Text("\n").join(lines)


def _cells(name: Any, taken: Any, conditions: Any, missing: Any) -> tuple[str, str, str, str]:
    out = str(taken) == "left out"
    if conditions == name:  # the condition of a yes-or-no column is the column itself
        conditions = "yes"
    number = "" if out else "–" if not missing else f"{missing:,.10g}"
    return (
        strip_control(str(name)),
        strip_control(str(taken)),
        strip_control(str(conditions)),
        number,
    )


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Widths of the columns: names and conditions give way where the line is too narrow."""
    widths = [max(cell_len(cell) for cell in column) for column in zip(*rows, strict=True)]
    room = max(width, 60) - 2 - 3 * _GAP - widths[1] - widths[3]
    if widths[0] + widths[2] > room:
        widths[0] = min(widths[0], max(room - widths[2], room // 2, len(_HEADS[0])))
        widths[2] = max(room - widths[0], _NARROWEST)
    return widths


def _line(cells: Sequence[str], widths: Sequence[int], style: str = "") -> Text:
    *left, last = (_fitted(cell, width) for cell, width in zip(cells, widths, strict=True))
    pad = " " * (widths[-1] - cell_len(last))
    words = [set_cell_size(cell, width) for cell, width in zip(left, widths, strict=False)]
    line = "  " + (" " * _GAP).join([*words, pad + last])
    return Text(line.rstrip(), "dim" if cells[1] == "left out" else style)


def _fitted(text: str, width: int) -> str:
    """Shorten a text, between conditions where it lists some.

    >>> _fitted("≥ 40, ≥ 50, ≥ 60", 13), _fitted("a very long name", 8)
    ('≥ 40, ≥ 50, …', 'a very…')
    """
    if cell_len(text) <= width:
        return text
    short = set_cell_size(text, width - 1)
    cut = short.rfind(", ")
    return f"{text[:cut]}, …" if cut > width // 2 else f"{short.rstrip()}…"
