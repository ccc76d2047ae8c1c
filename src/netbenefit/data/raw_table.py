"""A raw table for the binner: columns by name, with their types in a data frame."""

from __future__ import annotations

import datetime
import re
import shlex
from collections.abc import Mapping, Sequence
from copy import copy
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import ColumnInfo, Frame, is_one_row, plain_array, plain_number
from netbenefit.common import InputError, Remedy, RowNumber, by_name, check_names, drop_it, shorten

#: What a raw column is made of, whatever it means.
Storage = Literal["boolean", "number", "text", "text numbers", "mixed", "date", "empty", "other"]

_DATES = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?"
    r"|\d{1,2}[-./]\d{1,2}[-./]\d{2,4}( .*)?"
    r"|\d{1,2}\.? [^\W\d]{3,}\.? \d{4}|[^\W\d]{3,}\.? \d{1,2},? \d{4}"
)
#: Numbers with a comma, a currency or a percent sign, which may mean two things.
_DRESSED = re.compile(r"[$€£¥]? ?[+-]?\d[\d.,' ]*([.,]\d+)? ?[%$€£¥]?")
_MISSING_TYPES = ("NAType", "NaTType")


class RawColumn(NamedTuple):
    """One column as it came."""

    name: str
    values: NDArray[Any]  #: numbers, booleans or Python objects
    categories: tuple[Any, ...] | None = None  #: of a column whose type lists them
    is_category: bool = False
    is_ordered: bool = False  #: whether the order of the categories means something
    is_date: bool = False
    #: Weights of the rows by which this column's own values are as frequent as in a larger table,
    #: of which the rows are a sample.
    weight: NDArray[np.float64] | None = None


class RawTable:
    """Named raw columns of equal length, read one at a time; an array's are named x0, x1, …."""

    def __init__(self, X: Any, names: Sequence[str] | None = None) -> None:
        self._frame: Frame | None = None
        self._columns: dict[str, Any] = {}
        self._rows: NDArray[np.intp] | None = None
        X = as_array(X)
        if isinstance(X, np.ndarray) and X.dtype.names is None:
            self._columns = array_columns(X, names)
        elif isinstance(X, np.ndarray):
            self._columns = {name: X[name] for name in X.dtype.names or ()}
        elif isinstance(X, Mapping) and not hasattr(X, "shape"):
            named = dict(zip(check_names(list(X)), X.values(), strict=True))
            read = any(isinstance(column, RawColumn) for column in named.values())
            one = bool(named) and not read and is_one_row(named, list(named))
            self._columns = {n: [v] for n, v in named.items()} if one else named
        elif isinstance(X, list | tuple) and all(isinstance(row, Mapping) for row in X):
            keys = dict.fromkeys(str(key) for row in X for key in row)
            rows = [{str(key): value for key, value in row.items()} for row in X]
            self._columns = {key: [row.get(key) for row in rows] for key in keys}
        elif isinstance(X, list | tuple):
            self._columns = array_columns(_matrix(X), names)
        else:
            self._frame = Frame(
                X, "Pass a data frame in memory, a dict of columns, a list of dicts, or an array."
            )
        self.names = self._frame.names if self._frame is not None else tuple(self._columns)
        check_named(self.names)
        self._n_rows = len(X) if isinstance(X, np.ndarray) else self._check_lengths()

    @classmethod
    def of(cls, columns: Sequence[RawColumn]) -> RawTable:
        """Return the table of columns that were read before."""
        return cls({column.name: column for column in columns})

    def _check_lengths(self) -> int:
        if self._frame is not None:
            return len(self._frame)
        lengths = {
            name: len(column.values if isinstance(column, RawColumn) else column)
            for name, column in self._columns.items()
        }
        if len(set(lengths.values())) > 1:
            raise InputError(f"columns differ in length: {lengths}. Pass columns of equal length.")
        return next(iter(lengths.values()), 0)

    def __len__(self) -> int:
        return self._n_rows

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def take(self, rows: NDArray[np.intp]) -> RawTable:
        """Return the table of these rows; columns are still read when they are needed."""
        table = copy(self)
        table._rows = rows if self._rows is None else self._rows[rows]
        table._n_rows = rows.size
        return table

    def without(self, name: str) -> RawTable:
        """Return the table of all other columns."""
        table = copy(self)
        table.names = tuple(other for other in self.names if other != name)
        return table

    def column(self, name: str) -> RawColumn:
        """Read a column."""
        whole = self._whole_column(name)
        if self._rows is None:
            return whole
        weight = None if whole.weight is None else whole.weight[self._rows]
        return whole._replace(values=whole.values[self._rows], weight=weight)

    def _whole_column(self, name: str) -> RawColumn:
        if self._frame is not None:
            return raw_column(name, self._frame.column(name), self._frame.info(name))
        data = self._columns[name]
        if isinstance(data, RawColumn):
            return data
        if not isinstance(data, list | tuple | np.ndarray):
            import narwhals as nw  # late: only columns of data frames need it

            series = nw.from_native(data, series_only=True, pass_through=True)
            if isinstance(series, nw.Series):  # its type may say more than its values
                frame = Frame(series.alias("x").to_frame().to_native())
                return raw_column(name, frame.column("x"), frame.info("x"))
        return RawColumn(name, plain_array(data))


def raw_column(name: str, values: NDArray[Any], info: ColumnInfo) -> RawColumn:
    """Return a column with what is known from its type."""
    return RawColumn(name, values, info.categories, info.is_category, info.is_ordered, info.is_date)


class LazyColumns(Mapping[str, Any]):
    """Raw values by column name, read when they are needed."""

    def __init__(self, table: RawTable) -> None:
        self._table = table

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._table.column(name).values

    def __iter__(self) -> Any:
        return iter(self._table.names)

    def __len__(self) -> int:
        return len(self._table.names)


def raw_rows(X: Any, features: Sequence[str]) -> Any:
    """Return rows as a card takes many of them: one dict as a list, lists of values as an array."""
    if isinstance(X, Mapping) and not hasattr(X, "shape"):
        return [X] if is_one_row(X, features) else X
    if isinstance(X, list | tuple) and not all(isinstance(row, Mapping) for row in X):
        return _matrix(X)
    return as_array(X)


def as_array(X: Any) -> Any:
    """Return anything that is only known to become an array as that array, all else as it is."""
    return np.asarray(X) if hasattr(X, "__array__") and not hasattr(X, "columns") else X


def check_named(names: Sequence[str]) -> None:
    """Refuse a column with an empty name."""
    if "" in names:
        raise InputError(
            f"column {names.index('')} has an empty name. Name it: a card refers to its columns by "
            "name."
        )


def array_columns(X: NDArray[Any], names: Sequence[str] | None) -> dict[str, NDArray[Any]]:
    """Return the columns of a matrix by name; x0, x1, … by default."""
    if X.ndim != 2:
        raise InputError(
            f"X must be a table with rows and columns, but has shape {X.shape}. Reshape it to one "
            "row per observation, one column per feature."
        )
    given = check_names([f"x{k}" for k in range(X.shape[1])] if names is None else names)
    if len(given) != X.shape[1]:
        raise InputError(f"{len(given)} names for {X.shape[1]} columns. Pass one name per column.")
    return {name: X[:, k] for k, name in enumerate(given)}


def _matrix(rows: Sequence[Any]) -> NDArray[Any]:
    try:
        items = [list(row) for row in rows]
    except TypeError:
        raise InputError(
            "X is a list of plain values. Pass rows: dicts by column name, or lists of values."
        ) from None
    widths = {len(row) for row in items}
    if len(widths) > 1:
        raise InputError("the rows of X have different lengths. Pass a full table.")
    matrix = np.empty((len(items), widths.pop() if widths else 0), dtype=object)
    for i, row in enumerate(items):
        matrix[i] = row
    return matrix


# -- what a column is made of ----------------------------------------------------------------------


def storage_of(column: RawColumn, special: Sequence[Any] = ()) -> Storage:
    """Return what a column is made of, special codes and missing values aside."""
    if column.is_date or column.values.dtype.kind in "mM":
        return "date"
    kind = column.values.dtype.kind
    if kind == "b":
        return "boolean"
    if kind in "iuf":
        return "empty" if kind == "f" and bool(np.isnan(column.values).all()) else "number"
    if kind not in "OTUS":
        return "other"
    codes = frozenset(special)
    items = [v for v in column.values.tolist() if not (_is_missing(v) or _is_code(v, codes))]
    texts = {v for v in items if isinstance(v, str)}
    others = [v for v in items if not isinstance(v, str)]
    return _of_objects(texts, others)


def _is_code(value: Any, codes: frozenset[Any]) -> bool:
    plain = isinstance(value, str | Real | Decimal)
    return plain and (value.strip() if isinstance(value, str) else value) in codes


def _of_objects(texts: set[str], others: list[Any]) -> Storage:
    if not texts and not others:
        return "empty"
    if any(isinstance(v, datetime.date | datetime.time | datetime.timedelta) for v in others):
        return "date"
    if not all(isinstance(v, Real | Decimal | np.bool_) for v in others):
        return "other"
    if not texts:
        return "boolean" if all(isinstance(v, bool | np.bool_) for v in others) else "number"
    numbers = sum(plain_number(text) is not None for text in texts)
    if numbers == len(texts):
        return "text numbers"
    if others or 2 * numbers > len(texts):
        return "mixed"
    return "date" if all(_DATES.fullmatch(text.strip()) for text in texts) else "text"


def _is_missing(value: Any) -> bool:
    """Whether an object is a missing value, such as an empty text."""
    if isinstance(value, str):
        return not value.strip()
    if value is None or type(value).__name__ in _MISSING_TYPES:  # these compare to nothing
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, Real) and bool(value != value)


def _words(column: RawColumn) -> list[tuple[int, str]]:
    """Return the texts that are no numbers, each with its row."""
    return [
        (row, value)
        for row, value in enumerate(column.values.tolist())
        if isinstance(value, str) and not _is_missing(value) and plain_number(value) is None
    ]


def with_commas(column: RawColumn) -> tuple[int, str] | None:
    """Return the first number with a comma or a sign, if the other texts are numbers as well."""
    words = _words(column)
    dressed = all(_DRESSED.fullmatch(value.strip()) for _, value in words)
    return words[0] if words and dressed else None


def mixed_error(column: RawColumn, special: Sequence[Any]) -> InputError:
    """The error for a column of numbers and words."""
    present = [v for v in column.values.tolist() if not _is_missing(v)]
    found = _words(column)
    if len(found) == len(present):
        return InputError(
            f"column {column.name!r} holds words, such as {present[0]!r}, and cannot be read as "
            "numbers. Leave out what requires numbers, or correct the column."
        )
    odd = [(row, text) for row, text in found if text.strip() not in special]
    row, text = odd[0] if odd else (0, "")
    words = list(dict.fromkeys(text.strip() for _, text in found))
    return InputError(
        f"column {column.name!r} mixes numbers with text, such as {text!r} in ",
        RowNumber(row),
        f"{f' ({shorten(words)})' if len(words) > 1 else ''}. If the text means missing, name it ",
        "as a special code (",
        Remedy(
            f"special={{{column.name!r}: {words[:3]!r}}}",
            "--special " + shlex.quote(f"{column.name}={','.join(words[:3])}"),
        ),
        "); if every value is a level, call the column categorical (",
        by_name("categorical", column.name),
        "); or correct it, or ",
        drop_it(column.name),
        ".",
    )


def comma_error(column: RawColumn, row: int, text: str) -> InputError:
    """The error for a number with a comma or a sign, which may mean two things."""
    return InputError(
        f"column {column.name!r} holds numbers as text with commas or signs, such as {text!r} in ",
        RowNumber(row),
        ": a thousand or a decimal, a share or a hundred times that? Write plain numbers (1234 or "
        "1.234), ",
        Remedy("", "say that all commas are decimal (--decimal ,), "),
        "call the column categorical if these are codes, or ",
        drop_it(column.name),
        ".",
    )
