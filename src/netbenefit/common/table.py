"""A small tidy table: named columns of equal length, without a data-frame library."""

from __future__ import annotations

import importlib
import math
import unicodedata
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common.checks import InputError, check_option
from netbenefit.common.signs import shown_on_stdout

# -- plain tables of text, as wide as their cells --------------------------------------------------


def format_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], left: int | Sequence[bool] = 1
) -> list[str]:
    """Align cells in columns: to the left the first ``left`` ones, or those that it names."""
    is_left = [c < left for c in range(len(head))] if isinstance(left, int) else left
    table = [head, *rows]
    widths = [max(map(display_width, column)) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        cells = []
        for cell, width, at_left in zip(row, widths, is_left, strict=True):
            blank = " " * (width - display_width(cell))
            cells.append(cell + blank if at_left else blank + cell)
        lines.append("  ".join(cells).rstrip())
    return lines


def format_count(value: float) -> str:
    """Write a number of rows, or a sum of weights, with no more digits than a reader needs."""
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.1f}" if value >= 1000 else f"{value:.4g}"


def format_number(value: float | None, decimals: int = 4) -> str:
    """Write a number with a true minus sign; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{decimals}f}"
    return (text.lstrip("-") if not float(text) else text).replace("-", "−")


def format_percent(value: float | None, decimals: int = 1) -> str:
    """Write a share in percent."""
    text = format_number(None if value is None else 100 * value, decimals)
    return text if text == "–" else f"{text}%"


def format_p_value(p: float) -> str:
    """Write a p-value to three decimals, but never as zero."""
    return "< 0.001" if p < 0.001 else format_number(p, 3)


_BACKENDS = ("pandas", "polars", "pyarrow")
_ROWS_SHOWN = 10
_MOST_DECIMALS = 4


class Table(dict[str, NDArray[Any]]):
    """Named columns of equal length: a dict, which pandas, polars and pyarrow take as it is."""

    def __init__(self, columns: Mapping[str, ArrayLike]) -> None:
        arrays = {name: np.asarray(column) for name, column in columns.items()}
        for name, array in arrays.items():
            if array.ndim != 1:
                raise InputError(
                    f"column {name!r} has shape {array.shape}. Pass one-dimensional columns."
                )
        lengths = {name: len(array) for name, array in arrays.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"columns differ in length: {lengths}. Pass columns of equal length.")
        super().__init__(arrays)

    @property
    def n_rows(self) -> int:
        """Number of rows (``len(table)`` counts columns, as for any dict)."""
        return len(next(iter(self.values()), ()))

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Return the table as a data frame of pandas, polars or pyarrow."""
        import narwhals as nw  # late: most users never leave numpy

        check_option("backend", backend, _BACKENDS)
        try:
            importlib.import_module(backend)
        except ImportError as error:
            raise ImportError(
                f"to_frame(backend={backend!r}) needs {backend}, which is not installed. Install "
                f"it with `pip install {backend}`, or use the table as a dict of arrays."
            ) from error
        return nw.from_dict(dict(self), backend=backend).to_native()

    @shown_on_stdout
    def __repr__(self) -> str:
        if not self:
            return "Table without columns"
        left = [column.dtype.kind not in "biuf" for column in self.values()]
        return "\n".join([*format_table(list(self), self._rows(), left), *self._rest()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>"
            for row in self._rows()
        )
        rest = "".join(f"<p>{text}</p>" for text in self._rest())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"

    def _rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the first rows as text."""
        texts = (_texts(column[:_ROWS_SHOWN]) for column in self.values())
        return list(zip(*texts, strict=True))

    def _rest(self) -> list[str]:
        more = self.n_rows - _ROWS_SHOWN
        return [f"… {more} more row{'s' if more > 1 else ''}"] if more > 0 else []


class Tabular:
    """A result with a table: one line in a Python session, that table in a notebook and in print.

    Classes define ``to_table``, and more than the table for print if they have more to say.
    """

    def to_table(self) -> Table:
        """Return the result as a table."""
        raise NotImplementedError

    def __repr__(self) -> str:
        table = self.to_table()
        names = [*list(table)[:4], *(["…"] if len(table) > 4 else [])]
        rows = f"{table.n_rows} row{'s' * (table.n_rows != 1)}"
        return f"<{type(self).__name__} with {rows} of {', '.join(names)}; print() shows it>"

    def __str__(self) -> str:
        return repr(self.to_table())

    def _repr_html_(self) -> str:
        return self.to_table()._repr_html_()


def _texts(column: NDArray[Any]) -> list[str]:
    """Write the cells of a column; floats get the same, smallest sufficient, number of decimals."""
    if column.dtype.kind != "f":
        return [str(cell) for cell in column]
    finite = column[np.isfinite(column)]
    decimals = _MOST_DECIMALS
    while decimals and all(f"{x:.{decimals}f}".endswith("0") for x in finite):
        decimals -= 1
    return [f"{x:.{decimals}f}" for x in column]


def display_width(text: str) -> int:
    """Count the columns that a text takes in a terminal."""
    return sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
