"""A slow, simple CSV reader in plain Python, to compare DuckDB's reader with."""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit.data.files import FileFormat, read_cell, read_layout


def slow_read(path: Path, text: Collection[str] = ()) -> dict[str, NDArray[Any]]:
    """Read a CSV file as ``read_table`` does; ValueError if it cannot be read."""
    layout = read_layout(path, FileFormat())
    names, separator = layout.names, layout.separator
    opened = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "rt", encoding=layout.encoding, newline="") as file:
        reader = csv.reader(file, delimiter=separator, skipinitialspace=True, strict=True)
        try:
            rows = [row for row in reader if row][1:]
        except csv.Error as error:
            raise ValueError(f"line {reader.line_num}") from error
    # Empty cells beyond the last column are nothing, as where each line ends in a separator.
    rows = [row if any(row[len(names) :]) else row[: len(names)] for row in rows]
    if not rows or {len(row) for row in rows} != {len(names)}:
        raise ValueError("no rows, or rows of several lengths")
    cells = dict(zip(names, zip(*rows, strict=True), strict=True))
    columns = {name: typed(column, name in text) for name, column in cells.items()}
    if "" in columns:
        count = columns.pop("")
        if names[0] != "" or len(set(cells[""])) < count.size:
            raise ValueError("a column has no name")
    return columns


def typed(cells: Collection[str], as_text: bool = False) -> NDArray[Any]:
    """Convert a column: all numbers, or all true and false, count as such; else it is text."""
    meaning = {text: read_cell(text.strip()) for text in set(cells)}
    kinds = {type(value) for value in meaning.values()}
    some_missing = type(None) in kinds
    kinds.discard(type(None))
    dtype: Any
    if not as_text and (kinds <= {int, float} or kinds == {bool}):
        if some_missing or float in kinds:
            dtype = np.float64
            meaning = {t: math.nan if v is None else float(v) for t, v in meaning.items()}
        else:
            dtype = np.bool_ if kinds == {bool} else np.int64
    else:
        dtype = object
        meaning = {t: None if v is None else t.strip() for t, v in meaning.items()}
    return np.fromiter(map(meaning.__getitem__, cells), dtype=dtype, count=len(cells))
