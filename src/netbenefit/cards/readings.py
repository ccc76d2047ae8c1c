"""How a raw column is read before rules use it: missing values, codes for them, unknown levels.

A card that was learnt from a raw table carries one :class:`Reading` for each column that it uses,
so that a raw row means the same to it as it did in training.  In this order:

1. A derived column is combined from its sources, each of which is read by its own reading; it is
   missing where one of them is.
2. Blank text is missing; other text becomes a number, where training held numbers as text.  In a
   column of text levels a number is read as it is written: 7 is the level "7".
3. A special code, such as −9, is missing.
4. A missing value becomes ``fill``, where there is one, with a warning where training had no
   missing values.
5. A level that training did not have comes with a warning, unless the card has a rule for all
   others.  It satisfies no condition that names levels.
6. A fraction comes with a warning where training had whole numbers only (is 59.5 in "40–59"?).  It
   is scored by its exact value.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import (
    LARGEST_EXACT,
    FloatArray,
    InputError,
    InputWarning,
    RowNumber,
    Value,
    check_names,
    did_you_mean,
    shorten,
)

# -- raw data in, named columns out: mappings, lists of dicts, arrays, data frames of any library --
# Fitting and scoring read with the same functions, so that a value means the same to both.  They
# differ in what they refuse: a card says what it expects of a column (:func:`as_column`), while a
# column to learn from has to be numbers, none missing (:func:`numeric_column`).  Missing is
# ``None``, NaN or a data frame's null.


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
    """Read one raw value: None where missing, else a float or a text, as ``kind`` says."""
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
    return ""  # present, which is all that the condition "missing" needs to know


def as_column(name: str, data: Any, kind: Kind) -> Column:
    """Read a raw column of a card: any one-dimensional sequence or array."""
    array = _one_dimensional(name, data)
    if array.dtype.kind in "biuf":
        return _number_column(name, array.astype(np.float64, copy=False), kind)
    if array.dtype.kind not in "OTU":
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
    """Read a column to learn from: booleans, integers or floats, none missing or infinite."""
    array = _one_dimensional(name, data)
    if array.dtype.kind in "OTUS":
        array = _numbers(name, array.tolist())
    if array.dtype.kind not in "biuf":
        shown = (f", such as {array[0].item()!r} in ", RowNumber(0)) if array.size else ()
        raise InputError(f"column {name!r} holds {array.dtype} values", *shown, f". {_ENCODE}")
    if array.dtype.kind == "f":
        for what, test, remedy in (
            ("missing values (NaN)", np.isnan, "Impute"),
            ("infinite values (inf)", np.isinf, "Clip"),
        ):
            rows = np.flatnonzero(test(array))
            if rows.size:
                raise InputError(
                    f"column {name!r} has {rows.size} {what}, the first in ",
                    RowNumber(int(rows[0])),
                    f". {remedy} or drop them first.",
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
            what = f"column {name!r} holds text or other objects, such as {item!r} in "
            if isinstance(item, str | bytes):
                raise InputError(what, RowNumber(row), f". {_ENCODE}")
            kind = type(item).__name__
            raise InputTypeError(
                what,
                RowNumber(row),
                f". {_ENCODE} (Each argument must be no string and no {kind}, but a number.)",
            )
        numbers[row] = math.nan if value is None else value
    return numbers


def _one_dimensional(name: str, data: Any) -> NDArray[Any]:
    array = plain_array(data)
    if array.ndim != 1:
        raise InputError(f"column {name!r} has shape {array.shape}. Pass one value per row.")
    return array


def plain_array(data: Any) -> NDArray[Any]:
    """Return a sequence or array as a plain array; what a mask hides is missing."""
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
    missing = np.isnan(values)
    infinite = np.isinf(values)
    if kind == "number" and infinite.any():
        row = int(np.argmax(infinite))
        raise _infinite(name, values[row].item(), row)
    if kind == "text" and not missing.all():
        row = int(np.argmin(missing))
        raise _wrong_kind(name, values[row].item(), kind, row)
    return Column(name, values, missing if missing.any() else None)


# -- what a card refuses ---------------------------------------------------------------------------


def missing_error(name: str, missing: NDArray[np.bool_] | None = None) -> InputError:
    """Return the error for missing values that no rule is for (no rows named for one value)."""
    return InputError(
        f"column {name!r} is missing",
        *_rows_of(missing),
        ", and the card has no rule for that. Fill in the value, or fit a card with a rule for "
        "missing values.",
    )


def _rows_of(missing: NDArray[np.bool_] | None) -> tuple[str | RowNumber, ...]:
    """Name the first of some rows, and how many there are."""
    if missing is None:
        return ()
    rows = np.flatnonzero(missing)
    more = f" ({len(rows)} such rows)" if len(rows) > 1 else ""
    return " in ", RowNumber(int(rows[0])), more


def where(row: int | None) -> tuple[str | RowNumber, ...]:
    """Name a row, for an error; nothing of a single one."""
    return () if row is None else (" in ", RowNumber(row))


def _infinite(name: str, value: Any, row: int | None) -> InputError:
    shown = "an enormous number" if isinstance(value, int) else repr(value)
    return InputError(
        f"column {name!r} holds {shown}",
        *where(row),
        ". Give a finite number, or mark the value as missing.",
    )


def _wrong_kind(name: str, value: Any, kind: Kind, row: int | None) -> InputError:
    expected = "numbers" if kind == "number" else "text"
    return InputError(
        f"column {name!r} holds {value!r}",
        *where(row),
        f", but the card expects {expected}. Turn the column into {expected} as it was in "
        "training.",
    )


def check_present(needed: Sequence[str], available: Sequence[str], row: int | None = None) -> None:
    """Refuse data without the columns that a card needs."""
    absent = [name for name in needed if name not in set(available)]
    if absent:
        raise InputError(
            f"the card needs {shorten(absent, 10)}, absent",
            *where(row),
            f".{did_you_mean(absent[0], available)} Available are "
            f"{shorten(list(available), 10) or 'no columns'}. Add or rename the columns.",
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

    ``remedy`` says what to pass instead, for the error about anything else.
    """

    def __init__(self, data: Any, remedy: str = "Pass a pandas, polars or pyarrow table.") -> None:
        import narwhals as nw  # late: only data frames need it

        try:
            self._table = nw.from_native(data, eager_only=True)
        except TypeError:
            if hasattr(data, "toarray"):
                remedy = "A sparse matrix is not supported: pass X.toarray()."
            raise InputError(f"cannot read rows from {type(data).__name__}. {remedy}") from None
        except nw.exceptions.DuplicateError as error:
            check_names(data.column_names if hasattr(data, "column_names") else data.columns)
            raise InputError(f"duplicate column names: {error} Rename or drop them.") from None
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
    """Return the raw columns ``features`` of a table, and how many rows it has.

    An array is read as having the columns ``feature_names``.
    """
    if isinstance(X, np.ndarray) and X.dtype.names is None:
        if X.ndim != 2 or X.shape[1] != len(feature_names):
            remedy = "Reshape your data to one row per case, or pass" if X.ndim != 2 else "Pass"
            raise InputError(
                f"the array has shape {X.shape}, but the card reads {len(feature_names)} columns: "
                f"{shorten(feature_names, 10)}. {remedy} a data frame or a dict of columns "
                "by name."
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
    """Whether a mapping is one row of plain values, not many rows as columns."""
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


def join_words(words: Sequence[str]) -> str:
    """Join words as a sentence does."""
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def value_text(value: Value, *, binary: bool = False) -> str:
    """Write a number with a true minus sign, or as yes or no; quote text that would be misread."""
    if binary and value in (0, 1):
        return "yes" if value else "no"
    if isinstance(value, str):
        several = "," in value or " or " in value  # as lists of values are written
        plain = value and value == value.strip() and not several and value != "missing"
        return value if plain else f'"{value}"'
    return repr(value).replace("-", "−", 1) if value < 0 else repr(value)


def check_value(value: Any, what: str) -> Value:
    """Return a plain number (an int where it is whole) or text to compare with."""
    if isinstance(value, str):
        return _plain_text(value, f"the value of {what}")
    if not isinstance(value, int | float | np.integer | np.floating | np.bool_):
        raise InputError(f"{what} has {value!r}, which is neither a number nor text.")
    if isinstance(value, int | np.integer) and abs(int(value)) > LARGEST_EXACT:
        raise InputError(f"{what} has {value!r}, beyond what numbers hold exactly (2**53).")
    number = float(value)
    if not math.isfinite(number):
        raise InputError(f"{what} has {value!r}. Use a finite number.")
    return int(number) if number.is_integer() and abs(number) <= LARGEST_EXACT else number


def check_flags(owner: Any, names: Sequence[str], what: str) -> None:
    """Make attributes of a frozen object plain booleans; ``what`` names it in the error."""
    for name in names:
        flag = getattr(owner, name)
        if not isinstance(flag, bool | np.bool_):
            raise InputError(f"{name}={flag!r} of {what} must be True or False.")
        object.__setattr__(owner, name, bool(flag))


def _plain_text(text: str, what: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} {text!r} holds half a character. Repair the text.") from None
    return str(text)


#: How the sources of a derived column can be combined, and what that is called.
COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
}
_COMBINED = {"sum": "sum", "max": "largest", "min": "smallest"}


def combined_text(combine: str, sources: Iterable[str]) -> str:
    """Say how a column is combined from others."""
    return f"the {_COMBINED[combine]} of {', '.join(sources)}"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How one column is read.

    Parameters
    ----------
    feature : str
        The column.
    special : sequence of number or text
        Codes that mean "missing".  Of text such as "96" the number is a code, too.
    fill : number or text, optional
        What a missing value counts as.
    saw_missing : bool, default=False
        Whether training had missing values (or special codes); if not, filling warns.
    levels : sequence of number or text
        All levels of training, where others are worth a warning.
    whole : bool, default=False
        Whether the column held whole numbers: "40–59" then means the same as "40 ≤ x < 60".
    text : bool, default=False
        Whether the column's numbers came as text.
    refuse : bool, default=False
        Whether a missing value is an error; then there is no ``fill``.
    sources : sequence of str
        Raw columns that a derived column is made of.
    combine : {"sum", "max", "min"}, optional
        How; only with ``sources``.

    Examples
    --------
    >>> reading = Reading(feature="visits", special=(-9,), fill=2, saw_missing=True)
    >>> Readings([reading]).column("visits", {"visits": [0, -9, None]}, "number").values
    array([0., 2., 2.])
    >>> reading.notes()
    ['visits: missing or −9 counts as 2']
    """

    feature: str
    special: tuple[Value, ...] = ()
    fill: Value | None = None
    saw_missing: bool = False
    levels: tuple[Value, ...] = ()
    whole: bool = False
    text: bool = False
    refuse: bool = False
    sources: tuple[str, ...] = ()
    combine: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.feature, str) or not self.feature:
            raise InputError(f"a reading's column {self.feature!r} must be a name, not empty.")
        what = f"the reading of {self.feature!r}"
        put = object.__setattr__
        for name in ("special", "levels"):
            values = getattr(self, name)
            if not isinstance(values, tuple | list):
                raise InputError(f"{name}={values!r} of {what} must be a list of values.")
            put(self, name, tuple(check_value(v, f"{name} of {what}") for v in values))
        put(self, "special", _with_numbers(self.special))
        if self.fill is not None:
            put(self, "fill", check_value(self.fill, f"fill of {what}"))
            if self.fill in self.special:
                raise InputError(f"fill={self.fill!r} of {what} is one of its special codes.")
        check_flags(self, ("saw_missing", "whole", "text", "refuse"), what)
        if not isinstance(self.sources, tuple | list) or "" in self.sources:
            raise InputError(f"sources={self.sources!r} of {what} must be a list of names.")
        put(self, "sources", check_names(self.sources))
        for name in (self.feature, *self.sources):
            check_value(name, what)  # refuses half a character, which no file could hold
        if self.refuse:
            put(self, "fill", None)  # what is refused is never filled in
        if self.combine not in (tuple(COMBINE) if self.sources else (None,)):
            raise InputError(
                f"combine={self.combine!r} of {what} goes with sources, and is one of "
                f"{', '.join(COMBINE)}."
            )

    def notes(self) -> list[str]:
        """What a user with pencil and paper has to know."""
        notes = []
        if self.combine is not None:
            notes.append(f"{self.feature}: {combined_text(self.combine, self.sources)}")
        # A code in both spellings, 96 and "96", is one code to people.
        spelt = {repr(code) for code in self.special if not isinstance(code, str)}
        codes = [value_text(code) for code in self.special if code not in spelt]
        if self.fill is not None:
            when = join_words(["missing", *codes])
            notes.append(f"{self.feature}: {when} counts as {value_text(self.fill)}")
        elif codes:
            notes.append(f"{self.feature}: {join_words(codes)} means not known")
        return notes


class Readings:
    """The readings of some columns; a column without one is read as it stands, blank text missing.

    ``others`` are columns with a rule for all levels that training did not have.
    """

    def __init__(self, readings: Iterable[Reading], others: Iterable[str] = ()) -> None:
        self.by_name = {reading.feature: reading for reading in readings}
        self._others = frozenset(others)

    def sources(self, name: str) -> tuple[str, ...]:
        """Raw columns that a column is made of: itself, unless it is derived."""
        reading = self.by_name.get(name)
        return reading.sources if reading is not None and reading.sources else (name,)

    # -- many rows ---------------------------------------------------------------------------------

    def column(self, name: str, data: Mapping[str, Any], kind: Kind) -> Column:
        """Read a column of raw columns by name; ``kind`` is what the rules expect of it."""
        reading = self.by_name.get(name)
        if reading is not None and reading.sources:
            column = self._combined(reading, data)
        else:
            column = as_column(name, _decoded(reading, data[name], kind), kind)
        if reading is None:
            return column
        column = _without_codes(reading, column)
        if reading.refuse and column.missing is not None:
            raise missing_error(name, column.missing)
        return self._filled(reading, column)

    def raw(self, name: str, data: Mapping[str, Any], kind: Kind) -> Column:
        """Read a raw column as it is: special codes are missing, nothing is filled or refused."""
        reading = self.by_name.get(name, Reading(feature=name))
        bare = replace(reading, fill=None, saw_missing=True, levels=(), whole=False, refuse=False)
        return Readings([bare]).column(name, data, kind)

    def _combined(self, reading: Reading, data: Mapping[str, Any]) -> Column:
        parts = [self.column(source, data, "number").values for source in reading.sources]
        if len({len(part) for part in parts}) > 1:
            raise InputError(
                f"columns {shorten(reading.sources)} have different lengths. Pass columns of equal "
                "length."
            )
        values = reduce(COMBINE[str(reading.combine)], parts)
        missing = np.isnan(values)
        return Column(reading.feature, values, missing if missing.any() else None)

    def _filled(self, reading: Reading, column: Column) -> Column:
        values, missing = column.values, column.missing
        if reading.whole and values.dtype.kind == "f":
            odd = np.flatnonzero((values != np.floor(values)) & ~np.isnan(values))
            if odd.size:
                _warn_of_fractions(reading, float(values[odd[0]]), int(odd[0]))
        if missing is not None and reading.fill is not None:
            if not reading.saw_missing:
                _warn_of_missing(reading, missing)
            # A text column in which all is missing comes as NaN.
            values = values.astype(object) if isinstance(reading.fill, str) else values.copy()
            values[missing] = reading.fill
            missing = None
        if self._watches(reading):
            present = values if missing is None else values[~missing]
            unknown = set(present.tolist()).difference(reading.levels)
            if unknown:
                row = next(i for i, v in enumerate(values.tolist()) if v in unknown)
                _warn_of_levels(reading, sorted(map(_shown, unknown)), row)
        return Column(column.name, values, missing)

    def _watches(self, reading: Reading) -> bool:
        return bool(reading.levels) and reading.feature not in self._others

    # -- one row -----------------------------------------------------------------------------------

    def value(self, name: str, row: Mapping[str, Any], kind: Kind) -> float | str | None:
        """Read one value of a row of plain values."""
        reading = self.by_name.get(name)
        value: float | str | None
        if reading is not None and reading.sources:
            parts: list[Any] = [self.value(source, row, "number") for source in reading.sources]
            missing = None in parts
            value = None if missing else float(reduce(COMBINE[str(reading.combine)], parts))
        else:
            value = as_value(name, _decode(reading, row[name], kind), kind)
        if reading is None:
            return value
        if value is not None and value in reading.special:
            value = None
        if value is None and reading.refuse:
            raise missing_error(name)
        if reading.whole and isinstance(value, float) and not value.is_integer():
            _warn_of_fractions(reading, value, None)
        if value is None and reading.fill is not None:
            if not reading.saw_missing:
                _warn_of_missing(reading, None)
            value = reading.fill
        if value is not None and self._watches(reading) and value not in reading.levels:
            _warn_of_levels(reading, [_shown(value)], None)
        return value


def _with_numbers(codes: Iterable[Value]) -> tuple[Value, ...]:
    """Add the numbers that codes spell: people who are told "96" may enter either."""
    found = dict.fromkeys(codes)
    for code in list(found):
        number = plain_number(code) if isinstance(code, str) else None
        if number is not None:
            found[check_value(number, f"the code {code!r}")] = None
    return tuple(found)


def plain_number(text: str) -> float | None:
    """Read a text that is plainly a number, spaces around it aside; None for anything else."""
    bare = text.strip()
    if not bare or bare[-1] not in "0123456789." or "_" in bare:
        return None
    try:
        number = float(bare)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _decoded(reading: Reading | None, data: Any, kind: Kind) -> Any:
    """Turn blank text into missing values, and text that is a number into one."""
    if not isinstance(data, list | tuple):
        data = plain_array(data)
        spelt = "OTUiuf" if kind == "text" and reading is not None else "OTU"
        if data.dtype.kind not in spelt or data.ndim != 1:
            return data  # numbers as they are; what reads the column refuses dates
        data = data.tolist()
    return [_decode(reading, item, kind) for item in data]


def _decode(reading: Reading | None, item: Any, kind: Kind) -> Any:
    if reading is None:
        return None if isinstance(item, str) and not item.strip() else item
    if not isinstance(item, str):
        return _spelt(item, reading.special) if kind == "text" else item
    bare = item.strip()
    if not bare or bare in reading.special:
        return None
    number = plain_number(bare) if reading.text and kind != "text" else None
    return item if number is None else number


def _spelt(item: Any, special: Sequence[Value]) -> Any:
    """Write a number as text: where 7 and "7" are levels they are the same one."""
    if isinstance(item, bool | np.bool_) or not isinstance(item, Real | Decimal):
        return item
    number = as_value("", item, "any")
    if not isinstance(number, float) or not math.isfinite(number):
        return number
    if number in special:
        return None
    return str(int(number)) if number.is_integer() else repr(number)


def _without_codes(reading: Reading, column: Column) -> Column:
    """Make special codes missing."""
    if not reading.special:
        return column
    values, missing = column.values, column.missing
    if values.dtype.kind == "f":
        numbers = [code for code in reading.special if not isinstance(code, str)]
        found, empty = np.isin(values, np.array(numbers, dtype=np.float64)), math.nan
    else:  # text, or a mix, where only being missing matters
        codes = frozenset(reading.special)
        found = np.fromiter((v in codes for v in values.tolist()), np.bool_, len(values))
        empty = None
    if not found.any():
        return column
    values = values.copy()
    values[found] = empty
    return Column(column.name, values, found if missing is None else found | missing)


def _shown(value: Any) -> str:
    return value_text(int(value) if isinstance(value, float) and value.is_integer() else value)


def _warn_of_missing(reading: Reading, missing: NDArray[np.bool_] | None) -> None:
    warnings.warn(
        InputWarning(
            f"column {reading.feature!r} is missing",
            *_rows_of(missing),
            ", but never was where the card was learnt. It counts as "
            f"{value_text(reading.fill or 0)}, the usual value; fill it in if it is known.",
        ),
        stacklevel=2,
    )


def _first(row: int | None) -> tuple[str | RowNumber, ...]:
    return () if row is None else (" (", RowNumber(row), " is the first)")


def _warn_of_fractions(reading: Reading, value: float, row: int | None) -> None:
    warnings.warn(
        InputWarning(
            f"column {reading.feature!r} holds {value!r}",
            *_first(row),
            ", but only whole numbers where the card was learnt. It is scored by its exact value; "
            "round it if it should be whole.",
        ),
        stacklevel=2,
    )


def _warn_of_levels(reading: Reading, unknown: Sequence[str], row: int | None) -> None:
    warnings.warn(
        InputWarning(
            f"column {reading.feature!r} holds {shorten(unknown)}",
            *_first(row),
            ", which it did not where the card was learnt. Rules that name levels do not apply; "
            "correct the value if it is a typing error.",
        ),
        stacklevel=2,
    )
