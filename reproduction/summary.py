"""Rows of a run, one per fold, become cells: mean and spread over the folds."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from netbenefit.common import table as _text_table
from netbenefit.common.checks import FloatArray, InputError, shorten
from reproduction.names import DATASETS, METHODS, OWN_METHODS, Measure
from reproduction.published import PublishedCell

#: The case study has its own tables.
_CASE_STUDY = "credit"


@dataclass(frozen=True)
class Cell:
    """One measure over the folds; ``sd`` divides by n − 1, so one fold has none."""

    n_folds: int
    mean: float | None = None
    sd: float | None = None
    min: float | None = None
    max: float | None = None

    @classmethod
    def of(cls, values: FloatArray) -> Cell:
        """Summarise numbers, without those that are not finite."""
        found = values[np.isfinite(values)]
        if not found.size:
            return cls(0)
        sd = float(found.std(ddof=1)) if found.size > 1 else None
        return cls(found.size, float(found.mean()), sd, float(found.min()), float(found.max()))


@dataclass(frozen=True)
class Group:
    """The folds of one method in one setting on one data set."""

    rows: tuple[Mapping[str, Any], ...]

    @property
    def n_folds(self) -> int:
        """How many folds were run."""
        return len(self.rows)

    def values(self, key: str) -> FloatArray:
        """Return a number of each fold, NaN where it has none."""
        return np.array([_number(row, key) for row in self.rows], dtype=np.float64)

    def cell(self, key: str) -> Cell:
        """Return mean and spread of a number."""
        return Cell.of(self.values(key))


class Summary(dict[tuple[str, str, str], Group]):
    """Groups by (dataset, method, setting)."""

    def cell(self, dataset: str, method: str, setting: str, key: str) -> Cell:
        """Return a cell, one of no folds where nothing was run."""
        group = self.get((dataset, method, setting))
        return Cell(0) if group is None else group.cell(key)

    def datasets(self, setting: str | None = None) -> list[str]:
        """Data sets that were run, the paper's first and in its order."""
        return _ordered((d for d, _, s in self if setting in (None, s)), DATASETS)

    def methods(self, setting: str | None = None) -> list[str]:
        """Methods that were run, the paper's first and in its order."""
        return _ordered((m for _, m, s in self if setting in (None, s)), METHODS | OWN_METHODS)

    def values_of(self, key: str) -> list[str]:
        """Return the distinct texts of all rows under a key, in alphabetical order."""
        found = {str(row.get(key) or "") for group in self.values() for row in group.rows}
        return sorted(found - {""})


def summarise(rows: Iterable[Mapping[str, Any]]) -> Summary:
    """Group the rows of a run by data set, method and setting.

    The case study, and cards measured on their own training rows (fold −1), are left out.
    """
    found: dict[tuple[str, str, str], dict[int, Mapping[str, Any]]] = {}
    for place, row in enumerate(rows):
        absent = [key for key in ("dataset", "method", "setting", "fold") if row.get(key) is None]
        if absent:
            raise InputError(f"row {place} of the run has no {shorten(absent)}. Run it again.")
        if row["dataset"] == _CASE_STUDY or row["fold"] < 0:
            continue
        key = (str(row["dataset"]), str(row["method"]), str(row["setting"]))
        folds = found.setdefault(key, {})
        if row["fold"] in folds:
            raise InputError(
                f"fold {row['fold']} of {' / '.join(key)} is there twice, the second time as row "
                f"{place}. Pass the rows of one run, each once."
            )
        folds[row["fold"]] = row
    return Summary(
        {key: Group(tuple(folds[fold] for fold in sorted(folds))) for key, folds in found.items()}
    )


def outside(measure: Measure, cell: Cell, published: PublishedCell | None) -> bool | None:
    """Whether our mean is inconsistent with the printed numbers; None if one is missing.

    Measures: further from the printed mean than two printed standard deviations, allowing for
    rounding of both (a printed 0.000 is not "no spread"). Sizes: outside the printed range.
    """
    if cell.mean is None or published is None:
        return None
    slack = 1e-9  # means are sums of floats
    if measure.key == "size":
        if published.min is None or published.max is None:
            return None
        return not published.min - slack <= cell.mean <= published.max + slack
    if published.sd is None:
        return None
    half = published.half_unit
    return abs(cell.mean - published.mean) > 2 * (published.sd + half) + half + slack


def _number(row: Mapping[str, Any], key: str) -> float:
    value = row.get(key)
    return math.nan if value is None else float(value)


def _ordered(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Known names in their order, then the others alphabetically."""
    there = set(names)
    first = [name for name in known if name in there]
    return first + sorted(there.difference(first))


# -- tables as Markdown that reads well raw and rendered, and as CSV -------------------------------


#: Stands where nothing was run, or nothing can be computed.
MISSING = "–"

_MARKUP = re.compile(r"([\\`*_{}\[\]<>|~#])")


def escape(text: str) -> str:
    """Escape what Markdown would take for markup, and keep a text on one line."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def number(value: float | None, decimals: int = 3) -> str:
    """Write a number; no zero has a sign."""
    return _text_table.format_number(value, decimals)


def spread(cell: Cell | PublishedCell, key: str, decimals: int) -> str:
    """Write what follows a mean: its standard deviation, for sizes smallest and largest."""
    if key == "size":
        return "" if cell.min is None else f" ({cell.min:.0f}–{cell.max:.0f})"
    return f" ± {number(cell.sd, decimals)}"


def pipe_table(head: Sequence[str], lines: Iterable[Sequence[str]], left: int = 1) -> str:
    """Write a table, its first ``left`` columns to the left; cells must be escaped already."""
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
    """Write a list."""
    return "\n".join(f"- {item}" for item in items)


def run_words(summary: Summary) -> str:
    """Return what kind of run the numbers come from."""
    words = {"budget": "Budget of the run", "version": "Version of the package"}
    found = {key: summary.values_of(key) for key in words}
    return " ".join(
        f"{words[key]}: {escape(', '.join(texts))}." for key, texts in found.items() if texts
    )


def document(title: str, *parts: str) -> str:
    """Join a title and paragraphs, tables and lists; empty ones are left out."""
    return "\n\n".join([f"# {title}", *(part for part in parts if part)]) + "\n"


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows as CSV: nothing for None, true and false, ten digits of a float."""
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
