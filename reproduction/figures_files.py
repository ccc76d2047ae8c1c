"""Figures and their numbers as files: small, and the same for the same input."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from pathlib import Path
from typing import Any

from netbenefit.common.files import write_text
from netbenefit.common.table import Table
from netbenefit.plots.base import write_figure

__all__ = ["csv_text", "save_drawn", "svg_text"]

#: Paths and places in an SVG file, and the long numbers in them.
_PLACES = re.compile(r'(?<= )(?:d|x|y)="[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{2,}")
#: Markers that are defined once, and where they are used.
_MARKS = re.compile(r'<path id="(?P<id>[^"]+)"[^>]*? style="(?P<style>[^"]*)"')
_USES = re.compile(r'(?P<start><use xlink:href="#(?P<id>[^"]+)"[^>]*?) style="(?P<style>[^"]*)"')
#: matplotlib lists a dozen fonts at every word.
_FONTS = re.compile(r"'DejaVu Sans', [^\";]*sans-serif")


def svg_text(figure: Any) -> str:
    """Return a figure as SVG, its places rounded to a tenth of a point.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> svg_text(Figure()).lstrip().startswith("<?xml")
    True
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "figure.svg")
        write_figure(figure, file)
        text = file.read_text(encoding="utf-8")
    text = _FONTS.sub("'DejaVu Sans', Verdana, sans-serif", text)
    text = _without_repetition(_PLACES.sub(_rounded, text))
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(lines) + "\n"


def _rounded(place: re.Match[str]) -> str:
    return _LONG.sub(_short, place[0])


def _short(number: re.Match[str]) -> str:
    """Keep hundredths in small shapes such as markers, tenths elsewhere."""
    value = float(number[0])
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def _without_repetition(text: str) -> str:
    """Leave out of each use of a marker what the marker itself says, which holds anyhow."""
    said = {mark["id"]: set(mark["style"].split("; ")) for mark in _MARKS.finditer(text)}

    def shortened(use: re.Match[str]) -> str:
        own = [part for part in use["style"].split("; ") if part not in said.get(use["id"], ())]
        return f'{use["start"]} style="{"; ".join(own)}"' if own else use["start"]

    return _USES.sub(shortened, text)


def csv_text(table: Table) -> str:
    r"""Return a table as CSV; numbers to seven digits, nothing where a number is missing.

    Examples
    --------
    >>> csv_text(Table({"method": ["tree", "lasso"], "auroc": [1 / 3, float("nan")]}))
    'method,auroc\ntree,0.3333333\nlasso,\n'
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(
        [_cell(value) for value in row]
        for row in zip(*(column.tolist() for column in table.values()), strict=True)
    )
    return out.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.7g}"
    return str(value)


def save_drawn(name: str, figure: Any, table: Table, folder: Path) -> list[Path]:
    """Write a figure as ``name.svg`` and its numbers as ``name.csv``.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as here:
    ...     files = save_drawn("empty", Figure(), Table({"x": [1]}), Path(here))
    ...     [file.name for file in files]
    ['empty.svg', 'empty.csv']
    """
    files = [folder / f"{name}.svg", folder / f"{name}.csv"]
    write_text(files[0], svg_text(figure))
    write_text(files[1], csv_text(table))
    return files
