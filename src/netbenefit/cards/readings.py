"""How a raw column is read before rules use it: missing values, codes for them, unknown levels.

A card that was learnt from a raw table carries one :class:`Reading` for each column that it uses,
so that a raw row means the same to it as it did in training.  In this order:

1. A derived column is combined from its sources, each of which is read by its own reading; it is
   missing where one of them is.
2. Blank text is missing; other text becomes a number, where training held numbers as text.  In a
   column of text levels a number is read as it is written: 7 is the level "7".
3. A special code, such as −9, is missing.
4. A missing value becomes ``fill``, where there is one.  Where training had no missing values, this
   comes with a warning: nobody knows what a hole means there.
5. A level that training did not have comes with a warning, unless the card has a rule for all
   others.  It satisfies no condition that names levels.
6. A fraction comes with a warning where training had whole numbers only: a card that prints
   "40–59" says nothing of 59.5.  It is scored by its exact value.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards.columns import Column, Kind, as_column, as_value, missing_error, plain_array
from netbenefit.cards.terms import check_value, join_words, value_text
from netbenefit.common.checks import InputError, check_names, shorten
from netbenefit.common.strict_json import Value

__all__ = ["COMBINE", "Reading", "Readings", "plain_number"]

#: How the sources of a derived column can be combined.
COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How one column is read.

    Parameters
    ----------
    feature : str
        The column.
    special : sequence of number or text
        Codes that mean "missing".
    fill : number or text, optional
        What a missing value counts as.
    saw_missing : bool, default=False
        Whether training had missing values (or special codes); if not, filling warns.
    levels : sequence of number or text
        All levels of training, where others are worth a warning.
    whole : bool, default=False
        Whether the column held whole numbers: "40–59" then says the same as "40 ≤ x < 60".
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
        if self.fill is not None:
            put(self, "fill", check_value(self.fill, f"fill of {what}"))
            if self.fill in self.special:
                raise InputError(f"fill={self.fill!r} of {what} is one of its special codes.")
        for name in ("saw_missing", "whole", "text", "refuse"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise InputError(f"{name}={getattr(self, name)!r} of {what} must be True or False.")
            put(self, name, bool(getattr(self, name)))
        if not isinstance(self.sources, tuple | list) or "" in self.sources:
            raise InputError(f"sources={self.sources!r} of {what} must be a list of names.")
        put(self, "sources", check_names(self.sources))
        for name in (self.feature, *self.sources):
            check_value(name, what)  # refuses half a character, which no file could hold
        if self.refuse:
            put(self, "fill", None)  # what is refused is never filled in
        known = (None,) if not self.sources else tuple(COMBINE)
        if self.combine not in known:
            raise InputError(
                f"combine={self.combine!r} of {what} goes with sources, and is one of "
                f"{', '.join(COMBINE)}."
            )

    def notes(self) -> list[str]:
        """What somebody with pencil and paper has to know."""
        notes = []
        if self.sources:
            how = {"sum": "sum", "max": "largest", "min": "smallest"}[str(self.combine)]
            notes.append(f"{self.feature}: the {how} of {', '.join(self.sources)}")
        # A code in both spellings, 96 and "96", is one code to people.
        spelt = {repr(code) for code in self.special if not isinstance(code, str)}
        codes = [value_text(code) for code in self.special if code not in spelt]
        if self.fill is not None:
            when = join_words(["missing", *codes])
            notes.append(f"{self.feature}: {when} counts as {value_text(self.fill)}")
        elif codes:
            notes.append(f"{self.feature}: {join_words(codes)} means missing")
        return notes


class Readings:
    """The readings of some columns; a column without one is read as it stands, blank text missing.

    Parameters
    ----------
    readings : iterable of Reading
    others : collection of str
        Columns with a rule for all levels that training did not have.
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
        if reading is None:
            return as_column(name, _without_blanks(data[name]), kind)
        if reading.sources:
            column = self._combined(reading, data)
        else:
            column = as_column(name, _decoded(reading, data[name], kind), kind)
        column = _without_codes(reading, column)
        if reading.refuse and column.missing is not None:
            raise missing_error(name, column.missing)
        return self._filled(reading, column, kind)

    def raw(self, name: str, data: Mapping[str, Any], kind: Kind) -> Column:
        """Read a raw column as it is: special codes are missing, nothing is filled in or refused.

        >>> age = Reading(feature="age", special=(-9,), fill=50, text=True)
        >>> Readings([age]).raw("age", {"age": ["40", "-9", ""]}, "number").missing
        array([False,  True,  True])
        """
        reading = self.by_name.get(name, Reading(feature=name))
        bare = replace(reading, fill=None, saw_missing=True, levels=(), whole=False, refuse=False)
        return Readings([bare]).column(name, data, kind)

    def _combined(self, reading: Reading, data: Mapping[str, Any]) -> Column:
        parts = [self.column(source, data, "number").values for source in reading.sources]
        lengths = {len(part) for part in parts}
        if len(lengths) > 1:
            raise InputError(
                f"columns {shorten(reading.sources)} have different lengths. Pass columns of equal "
                "length."
            )
        values = parts[0]
        for part in parts[1:]:
            values = COMBINE[str(reading.combine)](values, part)
        missing = np.isnan(values)
        return Column(reading.feature, values, missing if missing.any() else None)

    def _filled(self, reading: Reading, column: Column, kind: Kind) -> Column:
        values, missing = column.values, column.missing
        if reading.whole and values.dtype.kind == "f":
            odd = np.flatnonzero((values != np.floor(values)) & ~np.isnan(values))
            if odd.size:
                _warn_of_fractions(reading, float(values[odd[0]]), int(odd[0]))
        if missing is not None and reading.fill is not None:
            if not reading.saw_missing:
                _warn_of_holes(reading, np.flatnonzero(missing).tolist())
            # A text column of which nothing is there comes as NaN.
            values = values.astype(object) if isinstance(reading.fill, str) else values.copy()
            values[missing] = reading.fill
            missing = None
        if self._watches(reading):
            known = frozenset(reading.levels)
            strange = {v for v in _distinct(values, missing) if v not in known}
            if strange:
                row = next(i for i, v in enumerate(values.tolist()) if v in strange)
                _warn_of_levels(reading, sorted(map(_shown, strange)), row)
        return Column(column.name, values, missing)

    def _watches(self, reading: Reading) -> bool:
        return bool(reading.levels) and reading.feature not in self._others

    # -- one row -----------------------------------------------------------------------------------

    def value(self, name: str, row: Mapping[str, Any], kind: Kind) -> float | str | None:
        """Read one value of a row of plain values."""
        reading = self.by_name.get(name)
        if reading is None:
            return as_value(name, None if _is_blank(row[name]) else row[name], kind)
        value: float | str | None
        if reading.sources:
            parts = [self.value(source, row, "number") for source in reading.sources]
            value = parts[0]
            for part in parts[1:]:
                if value is None or part is None:
                    value = None
                    break
                value = float(COMBINE[str(reading.combine)](value, part))
        else:
            value = as_value(name, _decode(reading, row[name], kind), kind)
        if value is not None and value in reading.special:
            value = None
        if value is None and reading.refuse:
            raise missing_error(name)
        if reading.whole and isinstance(value, float) and not value.is_integer():
            _warn_of_fractions(reading, value, None)
        if value is None and reading.fill is not None:
            if not reading.saw_missing:
                _warn_of_holes(reading, [])
            value = reading.fill
        if value is not None and self._watches(reading) and value not in reading.levels:
            _warn_of_levels(reading, [_shown(value)], None)
        return value


def plain_number(text: str) -> float | None:
    """Read a text that is plainly a number, spaces around it aside; None for anything else.

    >>> plain_number(" 7 "), plain_number("1.5e3"), plain_number("1,234"), plain_number("nan")
    (7.0, 1500.0, None, None)
    """
    bare = text.strip()
    if not bare or bare[-1] not in "0123456789." or "_" in bare:
        return None
    try:
        number = float(bare)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _is_blank(item: Any) -> bool:
    return isinstance(item, str) and not item.strip()


def _without_blanks(data: Any) -> Any:
    """Turn blank text into missing values."""
    if not isinstance(data, list | tuple):
        data = plain_array(data)
        if data.dtype.kind not in "OTU" or data.ndim != 1:
            return data
    items = data if isinstance(data, list | tuple) else data.tolist()
    if not any(map(_is_blank, items)):
        return data
    return [None if _is_blank(item) else item for item in items]


def _decoded(reading: Reading, data: Any, kind: Kind) -> Any:
    """Turn blank text into missing values, and text that stands for a number into one."""
    if not isinstance(data, list | tuple):
        data = plain_array(data)
        spelt = "OTUiuf" if kind == "text" else "OTU"
        if data.dtype.kind not in spelt or data.ndim != 1:
            return data  # numbers as they are; dates are for others to refuse
    items = data if isinstance(data, list | tuple) else data.tolist()
    if kind == "text":
        return [_decode(reading, item, kind) for item in items]
    return [_decode(reading, item, kind) if isinstance(item, str) else item for item in items]


def _decode(reading: Reading, item: Any, kind: Kind) -> Any:
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
    else:  # text, or numbers among text, where the rules ask no more than whether it is missing
        codes = frozenset(reading.special)
        found = np.fromiter((v in codes for v in values.tolist()), np.bool_, len(values))
        empty = None
    if not found.any():
        return column
    values = values.copy()
    values[found] = empty
    return Column(column.name, values, found if missing is None else found | missing)


def _distinct(values: NDArray[Any], missing: NDArray[np.bool_] | None) -> set[Any]:
    present = values if missing is None else values[~missing]
    return set(np.unique(present).tolist()) if present.dtype.kind == "f" else set(present.tolist())


def _shown(value: Any) -> str:
    return value_text(int(value) if isinstance(value, float) and value.is_integer() else value)


def _warn_of_holes(reading: Reading, rows: Sequence[int]) -> None:
    where = f" in row {rows[0]}" if rows else ""
    more = f" ({len(rows)} such rows)" if len(rows) > 1 else ""
    warnings.warn(
        f"column {reading.feature!r} is missing{where}{more}, but never was where the card was "
        f"learnt. It counts as {value_text(reading.fill or 0)}, the usual value; fill it in if it "
        "is known.",
        stacklevel=2,
    )


def _warn_of_fractions(reading: Reading, value: float, row: int | None) -> None:
    where = "" if row is None else f" (row {row} is the first)"
    warnings.warn(
        f"column {reading.feature!r} holds {value!r}{where}, but only whole numbers where the card "
        "was learnt. It is scored by its exact value; round it if it should be whole.",
        stacklevel=2,
    )


def _warn_of_levels(reading: Reading, strange: Sequence[str], row: int | None) -> None:
    where = "" if row is None else f" (row {row} is the first)"
    warnings.warn(
        f"column {reading.feature!r} holds {shorten(strange)}{where}, which it did not where the "
        "card was learnt. Rules that name levels do not apply; correct the value if it is a typing "
        "error.",
        stacklevel=2,
    )
