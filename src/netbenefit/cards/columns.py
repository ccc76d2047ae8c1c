"""Raw data in, named columns out: mappings, lists of dicts, arrays, data frames of any library.

Fitting and scoring read with the same functions, so that a value means the same to both.  They
differ in what they refuse: a card says what it expects of a column (:func:`as_column`), while a
column to learn from has to be numbers, all of them there (:func:`numeric_column`).

Missing is ``None``, NaN or a data frame's null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import FloatArray, InputError, check_names, shorten

__all__ = [
    "Column",
    "ColumnInfo",
    "Frame",
    "InputTypeError",
    "Kind",
    "as_column",
    "as_value",
    "check_present",
    "is_one_row",
    "missing_error",
    "numeric_column",
    "plain_array",
    "read_columns",
]

Kind = Literal["number", "text", "any"]


class InputTypeError(InputError, TypeError):
    """An object of a kind that no column can hold; scikit-learn expects a TypeError there."""


class Column(NamedTuple):
    """A raw column, read: float64 (NaN where missing) or text (None where missing)."""

    name: str
    values: NDArray[Any]
    missing: NDArray[np.bool_] | None


# -- one value, one column -------------------------------------------------------------------------


def as_value(name: str, value: Any, kind: Kind, row: int | None = None) -> float | str | None:
    """Read one raw value: None where missing, else a float or a text as ``kind`` asks.

    >>> as_value("age", True, "number"), as_value("age", float("nan"), "number")
    (1.0, None)
    """
    if isinstance(value, str):
        if kind == "number":
            raise _wrong_kind(name, value, kind, row)
        return str(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, Real | Decimal | np.bool_):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        except ValueError:  # a signalling NaN
            return None
        if number != number:
            return None
        if kind == "text":
            raise _wrong_kind(name, value, kind, row)
        if math.isinf(number) and kind == "number":
            raise _infinite(name, value, row)
        return number
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return as_value(name, value.item(), kind, row)
    if kind != "any":
        raise _wrong_kind(name, value, kind, row)
    return ""  # present, which is all that "missing" asks


def as_column(name: str, data: Any, kind: Kind) -> Column:
    """Read a raw column that a card speaks of: any one-dimensional sequence or array.

    >>> as_column("sex", ["f", None], "text").missing
    array([False,  True])
    """
    array = _one_dimensional(name, data)
    if array.dtype.kind in "biuf":
        return _number_column(name, array.astype(np.float64, copy=False), kind)
    if array.dtype.kind == "U":
        if kind == "number" and array.size:
            raise _wrong_kind(name, str(array[0]), kind, 0)
        return Column(name, array, None)
    if array.dtype.kind not in "OT":
        raise InputError(
            f"column {name!r} holds {array.dtype} values. Turn it into numbers or text first."
        )
    items = array.tolist()
    numbers = _plain_numbers(items) if kind != "text" and items else None
    if numbers is not None:
        return _number_column(name, numbers, kind)
    read = [
        item if type(item) is str and kind != "number" else as_value(name, item, kind, row)
        for row, item in enumerate(items)
    ]
    missing = np.fromiter((item is None for item in read), np.bool_, len(read))
    values = np.empty(len(read), dtype=np.float64 if kind == "number" else object)
    values[:] = [math.nan if item is None else item for item in read] if kind == "number" else read
    return Column(name, values, missing if missing.any() else None)


def numeric_column(name: str, data: Any) -> NDArray[Any]:
    """Read a column to learn from: booleans, integers or floats, none missing or infinite.

    >>> numeric_column("age", [51, True, 0.5])
    array([51. ,  1. ,  0.5])
    """
    array = _one_dimensional(name, data)
    if array.dtype.kind in "OTUS":
        array = _numbers(name, array.tolist())
    if array.dtype.kind not in "biuf":
        shown = f", such as {array[0].item()!r} in row 0" if array.size else ""
        raise InputError(f"column {name!r} holds {array.dtype} values{shown}. {_ENCODE}")
    if array.dtype.kind == "f":
        missing = np.flatnonzero(np.isnan(array))
        if missing.size:
            raise InputError(
                f"column {name!r} has {missing.size} missing values (NaN), the first in row "
                f"{missing[0]}. Impute or drop them first."
            )
        infinite = np.flatnonzero(np.isinf(array))
        if infinite.size:
            raise InputError(
                f"column {name!r} has {infinite.size} infinite values (inf), the first in row "
                f"{infinite[0]}. Clip or drop them first."
            )
    return array


_ENCODE = "Encode it as numbers (0/1 for yes/no, one column per category), or drop it."


def _numbers(name: str, items: list[Any]) -> FloatArray:
    """Numbers, booleans and decimals behind Python objects; NaN where missing."""
    numbers = _plain_numbers(items)
    if numbers is not None:
        return numbers
    numbers = np.empty(len(items))
    for row, item in enumerate(items):
        value = as_value(name, item, "any", row)
        if isinstance(value, str):
            what = f"column {name!r} holds text or other objects, such as {item!r} in row {row}"
            if isinstance(item, str | bytes):
                raise InputError(f"{what}. {_ENCODE}")
            kind = type(item).__name__
            raise InputTypeError(
                f"{what}. {_ENCODE} (Each argument must be no string and no {kind}, but a number.)"
            )
        numbers[row] = math.nan if value is None else value
    return numbers


def _one_dimensional(name: str, data: Any) -> NDArray[Any]:
    array = plain_array(data)
    if array.ndim != 1:
        raise InputError(f"column {name!r} has shape {array.shape}. Pass one value per row.")
    return array


def plain_array(data: Any) -> NDArray[Any]:
    """Return a sequence or array as a plain array; what a mask hides is missing.

    >>> plain_array(np.ma.array([30, 89], mask=[False, True]))
    array([30., nan])
    """
    if isinstance(data, list | tuple):  # np.array would turn the list ["a", 1] into text
        return _objects(data)
    if isinstance(data, np.ma.MaskedArray):
        if not np.ma.getmaskarray(data).any():
            return np.asarray(data)
        numbers = data.dtype.kind in "biuf"
        values = np.asarray(data).astype(np.float64 if numbers else object)
        values[np.ma.getmaskarray(data)] = math.nan if numbers else None
        return values
    return np.asarray(data)


def _objects(items: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(items, dtype=object, count=len(items))


def _plain_numbers(items: list[Any]) -> FloatArray | None:
    """Read items that are all Python numbers, quickly; None where one is not."""
    if not set(map(type, items)) <= {int, float, bool}:
        return None
    try:
        return np.array(items, dtype=np.float64)
    except OverflowError:  # an enormous int: found again by as_value, with its row
        return None


def _number_column(name: str, values: FloatArray, kind: Kind) -> Column:
    finite = np.isfinite(values)
    if finite.all():
        missing = None
    else:
        missing = np.isnan(values)
        if kind == "number" and not (finite | missing).all():
            row = int(np.argmin(finite | missing))
            raise _infinite(name, values[row].item(), row)
        missing = missing if missing.any() else None
    if kind == "text" and values.size and (missing is None or not missing.all()):
        row = 0 if missing is None else int(np.argmin(missing))
        raise _wrong_kind(name, values[row].item(), kind, row)
    return Column(name, values, missing)


# -- what a card refuses ---------------------------------------------------------------------------


def missing_error(name: str, missing: NDArray[np.bool_] | None = None) -> InputError:
    """Return the error for missing values that no rule speaks of (no rows named for one value)."""
    rows = [] if missing is None else np.flatnonzero(missing).tolist()
    where = _where(rows[0]) if rows else ""
    more = f" ({len(rows)} such rows)" if len(rows) > 1 else ""
    return InputError(
        f"column {name!r} is missing{where}{more}, and the card has no rule for that. Fill in the "
        "value, or fit a card with a rule for missing values."
    )


def _where(row: int | None) -> str:
    return "" if row is None else f" in row {row}"


def _infinite(name: str, value: Any, row: int | None) -> InputError:
    shown = "an enormous number" if isinstance(value, int) else repr(value)
    return InputError(
        f"column {name!r} holds {shown}{_where(row)}. Give a finite number, or mark the "
        "value as missing."
    )


def _wrong_kind(name: str, value: Any, kind: Kind, row: int | None) -> InputError:
    wanted = "numbers" if kind == "number" else "text"
    return InputError(
        f"column {name!r} holds {value!r}{_where(row)}, but the card expects {wanted}. "
        f"Turn the column into {wanted} as it was in training."
    )


def check_present(wanted: Sequence[str], available: Sequence[str], row: int | None = None) -> None:
    """Refuse data without the columns that a card needs."""
    absent = [name for name in wanted if name not in set(available)]
    if absent:
        raise InputError(
            f"the card needs {shorten(absent, 10)}, absent{_where(row)}. Available are "
            f"{shorten(list(available), 10) or 'no columns'}. Add or rename the columns."
        )


class ColumnInfo(NamedTuple):
    """What a data frame says about a column's type."""

    is_category: bool = False
    is_ordered: bool = False  #: whether its categories have an order
    categories: tuple[Any, ...] | None = None  #: where the type lists them, in their order
    is_date: bool = False


# -- tables ----------------------------------------------------------------------------------------


class Frame:
    """A data frame in memory: pandas, polars, pyarrow, or what else narwhals knows.

    Parameters
    ----------
    data : data frame
    remedy : str
        What to pass instead, for the error about anything that is no data frame.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = Frame(pd.DataFrame({"age": [51, 52], "sex": ["f", None]}))
    >>> frame.names, frame.column("age"), frame.column("sex")
    (('age', 'sex'), array([51, 52]), array(['f', None], dtype=object))
    """

    def __init__(self, data: Any, remedy: str = "Pass a pandas, polars or pyarrow table.") -> None:
        import narwhals as nw  # late: only data frames need it

        try:
            self._table = nw.from_native(data, eager_only=True)
        except TypeError:
            raise InputError(f"cannot read rows from {type(data).__name__}. {remedy}") from None
        except nw.exceptions.DuplicateError as error:
            check_names(data.column_names if hasattr(data, "column_names") else data.columns)
            raise InputError(f"duplicate column names: {error} Rename or drop them.") from None
        #: Column names as text.
        self.names = check_names(self._table.columns)
        self._columns = dict(zip(self.names, self._table.columns, strict=True))

    def __len__(self) -> int:
        return len(self._table)

    def info(self, name: str) -> ColumnInfo:
        """Return what the type of a column says: category, order, date."""
        import narwhals as nw

        series = self._table.get_column(self._columns[name])
        dtype = series.dtype
        if dtype == nw.Enum:  # an ordered category of pandas is one, too
            return ColumnInfo(True, True, tuple(getattr(dtype, "categories", ())))
        if dtype == nw.Categorical:
            native = getattr(series.to_native(), "type", None)  # pyarrow's
            if getattr(native, "ordered", False):
                chunks = series.to_native().unify_dictionaries().chunks
                levels = chunks[0].dictionary.to_pylist() if chunks else []
                return ColumnInfo(True, True, tuple(levels))
            return ColumnInfo(True)
        return ColumnInfo(is_date=dtype.is_temporal())

    def column(self, name: str) -> NDArray[Any]:
        """Return a column: numbers and booleans as they are, else Python objects.

        Numbers or booleans of which some are missing become float64, with NaN for those.
        """
        import narwhals as nw

        series = self._table.get_column(self._columns[name])
        # Decimals come as objects: their quick conversion to floats is off by a bit in pyarrow.
        numeric = series.dtype.is_numeric() and series.dtype != nw.Decimal
        if not (numeric or series.dtype == nw.Boolean):
            return _objects(series.to_list())
        if series.null_count():
            try:
                series = series.cast(nw.Float64)
            except ValueError:  # Arrow refuses integers beyond what floats hold exactly
                return _numbers(name, series.to_list())
        array: NDArray[Any] = series.to_numpy()
        return array


def read_columns(
    X: Any, features: tuple[str, ...], feature_names: tuple[str, ...]
) -> tuple[dict[str, Any], int]:
    """Return the raw columns ``features`` of what a card is asked to score, and how many rows.

    An array is read as having the columns ``feature_names``.

    >>> read_columns([{"age": 51, "sex": "f"}, {"age": 52, "sex": "m"}], ("age",), ("age",))
    ({'age': [51, 52]}, 2)
    """
    if isinstance(X, np.ndarray) and X.dtype.names is None:
        if X.ndim != 2 or X.shape[1] != len(feature_names):
            raise InputError(
                f"the array has shape {X.shape}, but the card reads {len(feature_names)} columns: "
                f"{shorten(feature_names, 10)}. Pass a data frame or a dict of columns by name."
            )
        return {f: X[:, feature_names.index(f)] for f in features}, len(X)
    if isinstance(X, np.ndarray):
        X = {name: X[name] for name in X.dtype.names}
    if isinstance(X, list | tuple):
        records = [_record(record, features, row) for row, record in enumerate(X)]
        return {f: [record[f] for record in records] for f in features}, len(X)
    if isinstance(X, Mapping):
        columns = {str(name): column for name, column in X.items()}
        check_present(features, list(columns))
        first = next((columns[f] for f in features), next(iter(columns.values()), ()))
        return {f: columns[f] for f in features}, len(first)
    frame = Frame(
        X, "Pass a data frame in memory, a dict of columns, a list of dicts, or one dict."
    )
    check_present(features, frame.names)
    return {f: frame.column(f) for f in features}, len(frame)


def _record(record: Any, features: tuple[str, ...], row: int) -> Mapping[str, Any]:
    if not isinstance(record, Mapping):
        raise InputError(f"row {row} is {type(record).__name__}, not a dict by column name.")
    if all(f in record for f in features):
        return record
    named = {str(name): value for name, value in record.items()}
    check_present(features, list(named), row)
    return named


def is_one_row(X: Mapping[Any, Any], features: Sequence[str]) -> bool:
    """Whether a mapping is one row of plain values, not many rows as columns.

    >>> is_one_row({"age": 51}, ["age"]), is_one_row({"age": [51]}, ["age"])
    (True, False)
    """
    values = [X[name] for name in features if name in X] or list(X.values())
    scalars = sum(map(_is_scalar, values))
    if 0 < scalars < len(values):
        raise InputError(
            "some columns are plain values and some are sequences. Pass one row as plain values, "
            "or many as columns of equal length."
        )
    return scalars == len(values)


def _is_scalar(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return isinstance(value, str) or not hasattr(value, "__len__")
