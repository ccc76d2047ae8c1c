"""What the binner makes of each raw column: its role, how it is read, or why it is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import Column, Kind, PerUnit, Reading, Readings
from netbenefit.common import (
    LARGEST_EXACT,
    FloatArray,
    InputError,
    Remedy,
    Value,
    are_whole,
    by_name,
    drop_it,
    shorten,
)
from netbenefit.data import (
    LazyColumns,
    RawColumn,
    RawTable,
    Storage,
    comma_error,
    mixed_error,
    storage_of,
    with_commas,
)

#: What a column is to the card.
Role = Literal["numeric", "binary", "per unit", "levels", "ordered"]

#: Rows from which a column that differs in every row can be an identifier …
_MANY_ROWS = 20
#: … and from which whole numbers that all differ and lie close together are one, wherever they
#: begin: of a hundred numbers drawn from 150, some always coincide.
_NO_CHANCE = 100
#: With fewer rows they must begin at 0 or 1, or at this many times their spread: 1000, 1001, …,
#: 1059 number rows, but 20, 21, …, 79 may be one person of each age.
_FAR_FROM_ZERO = 10.0
#: Share of rows with a value of their own that makes an identifier.
_OWN_VALUES = 0.95
#: The same where the column's name says that it is one.
_NAMED_OWN_VALUES = 0.5
_ID_NAME = re.compile(r"(.*[\s_.-])?(?i:id|ids|uuid|guid|key|nr|no|mrn)|.*[a-z]I[Dd]s?|.*[a-z]Key")


class ColumnOptions(NamedTuple):
    """The user's options for columns, checked."""

    cuts: Mapping[str, tuple[float, ...]]
    per_unit: Mapping[str, PerUnit | None]
    categorical: frozenset[str]
    ordered: Mapping[str, tuple[Value, ...]]
    numeric: frozenset[str]
    special: Mapping[str, tuple[Value, ...]]
    combine: Mapping[str, tuple[str, tuple[str, ...]]]
    drop: frozenset[str]
    missing: Mapping[str, str]  #: what to do with missing values, by column
    cumulative: frozenset[str]  #: columns with conditions that add up, not one per bin

    def mentions(self, name: str) -> bool:
        """Whether the user has set what a column is, so that it is not guessed."""
        lists = (self.cuts, self.per_unit, self.categorical, self.ordered, self.numeric)
        return any(name in given for given in lists) or name in self.combine


class ClassifiedColumn(NamedTuple):
    """A column that is understood, but not yet cut."""

    name: str
    role: Role
    kind: Kind
    reading: Reading
    order: tuple[Value, ...] | None = None  #: levels from low to high
    guess: str = ""  #: what the column was taken for, in words
    n_levels: int = 0

    def read(self, table: RawTable, readings: Sequence[Reading] = ()) -> Column:
        """Read the column; ``readings`` are those of a derived column's sources."""
        return Readings([*readings, self.reading], [self.name]).column(
            self.name, LazyColumns(table), self.kind
        )


#: What can always be done about a column.
DROP = drop_it()


class SkippedColumn(NamedTuple):
    """A column that cannot be used."""

    name: str
    reason: str
    remedy: tuple[str | Remedy, ...]


def classify_column(
    table: RawTable, name: str, options: ColumnOptions, weight: FloatArray
) -> ClassifiedColumn | SkippedColumn:
    """Find out what a raw column is; an error where only the user can choose the remedy."""
    raw = table.column(name)
    codes = options.special.get(name, ())
    spelt = [repr(code) for code in codes if not isinstance(code, str)]
    # 96 and "96" mean the same to people.
    reading = Reading(feature=name, special=tuple(dict.fromkeys([*codes, *spelt])))
    special = reading.special
    storage = storage_of(raw, special)
    wants_levels = name in options.categorical or name in options.ordered
    if storage == "date" and wants_levels and not raw.is_date and raw.values.dtype.kind in "OTU":
        storage = "text"  # dates as text that are to be levels
    refusal = _unusable(raw, storage, wants_levels, special)
    if refusal is not None:
        return refusal
    order = options.ordered.get(name)
    if order is None and raw.is_ordered and name not in options.categorical:
        order = tuple(raw.categories or ())
    as_levels = wants_levels or (raw.is_category and name not in options.numeric)
    words = storage in ("text", "mixed")
    if words and (name in options.cuts or name in options.per_unit or name in options.numeric):
        raise mixed_error(raw, special)
    if words or (as_levels and storage in ("number", "text numbers")):
        kind: Kind = "number" if storage == "number" else "text"
        if kind == "number":
            _check_exact(raw)
        return _levels(table, name, kind, reading, order, options, weight)
    if storage == "boolean":
        if name in options.cuts:
            raise InputError(
                f"column {name!r} holds true and false, and needs no cut points. Leave it out of "
                "cuts."
            )
        return ClassifiedColumn(name, "binary", "number", reading, guess="yes or no")
    reading = replace(reading, text=storage == "text numbers")
    classified = ClassifiedColumn(name, "numeric", "number", reading)
    return _numeric(classified, classified.read(table), options, weight)


def _check_exact(raw: RawColumn) -> None:
    """Refuse levels that are numbers too large to tell apart."""
    numbers = (v for v in raw.values.tolist() if isinstance(v, int | float) and v == v)
    largest = max(numbers, key=abs, default=0)
    if abs(largest) > LARGEST_EXACT:
        raise InputError(
            f"column {raw.name!r} holds levels as large as {_plain_level(largest)}, which numbers "
            "cannot tell apart. Pass the column as text, in training and later."
        )


def _unusable(
    raw: RawColumn, storage: Storage, wants_levels: bool, special: Sequence[Value]
) -> SkippedColumn | None:
    """Why a column cannot be read at all."""
    if storage == "empty":
        return SkippedColumn(raw.name, "every value is missing", ("fill it in, or ", DROP))
    if storage == "date":
        remedy = "turn it into a number, such as years before the decision, or "
        return SkippedColumn(raw.name, "it holds dates", (remedy, DROP))
    if storage == "other":
        reason = "it holds objects that are neither numbers nor text"
        return SkippedColumn(raw.name, reason, ("turn its values into numbers or text, or ", DROP))
    if storage in ("text", "mixed") and not wants_levels:
        comma = with_commas(raw)
        if comma is not None:
            raise comma_error(raw, *comma)
    if storage == "mixed":
        if wants_levels:
            return None  # numbers are levels among others
        raise mixed_error(raw, special)
    return None


def _numeric(
    classified: ClassifiedColumn, column: Column, options: ColumnOptions, weight: FloatArray
) -> ClassifiedColumn | SkippedColumn:
    name, present = classified.name, _present(column)
    distinct = np.unique(present)
    whole = bool((present == np.floor(present)).all())
    reading = replace(classified.reading, whole=whole)
    if name in options.per_unit:
        return classified._replace(role="per unit", reading=reading, guess="points per unit")
    if not options.mentions(name):
        if distinct.size and set(distinct.tolist()) <= {0.0, 1.0}:
            return classified._replace(role="binary", guess="yes or no")
        if whole and _is_identifier(name, distinct, _n_present(column, weight)):
            meant = ("; or, if it does mean something, say so by ", by_name("numeric", name))
            reason = "its values number the rows: an identifier"
            return SkippedColumn(name, reason, (DROP, *meant))
    text = " as text" if classified.reading.text else ""
    guess = f"{'whole ' if whole else ''}numbers{text}"
    return classified._replace(reading=reading, guess=guess)


def _is_identifier(name: str, distinct: FloatArray, rows: float) -> bool:
    """Whether whole numbers identify the rows, whatever the order of the rows.

    They do if most differ and the column's name says so (some people come twice), or if they all
    differ and lie so close together that independent values would have coincided.
    """
    if rows < _MANY_ROWS:
        return False
    if distinct.size >= _NAMED_OWN_VALUES * rows and _ID_NAME.fullmatch(name) is not None:
        return True
    if distinct.size < rows:
        return False
    low, spread = float(distinct[0]), float(distinct[-1] - distinct[0])
    begins = low in (0, 1) or low >= _FAR_FROM_ZERO * spread
    return (begins or rows >= _NO_CHANCE) and spread < 1.5 * rows


def _present(column: Column) -> NDArray[Any]:
    return column.values if column.missing is None else column.values[~column.missing]


def _n_present(column: Column, weight: FloatArray) -> float:
    """How many rows have a value, whole weights counting rows."""
    here = weight if column.missing is None else weight[~column.missing]
    return float(here.sum() if are_whole(weight) else np.count_nonzero(here))


def _levels(
    table: RawTable,
    name: str,
    kind: Kind,
    reading: Reading,
    order: tuple[Value, ...] | None,
    options: ColumnOptions,
    weight: FloatArray,
) -> ClassifiedColumn | SkippedColumn:
    classified = ClassifiedColumn(name, "levels", kind, reading)
    column = classified.read(table)
    levels = set(_present(column).tolist())
    if order is not None:
        strange = sorted((_plain_level(v) for v in levels - set(order)), key=str)
        if strange:
            raise InputError(
                f"column {name!r} holds {shorten(strange)}, absent from its order "
                f"{shorten(order, 10)}. List every level from low to high, as the column holds it "
                "(text or number), or name it as a special code."
            )
        return classified._replace(
            role="ordered", order=order, guess=f"{len(levels)} ordered levels"
        )
    rows = _n_present(column, weight)
    own = len(levels) >= _OWN_VALUES * rows and rows >= _MANY_ROWS
    if own and not options.mentions(name):
        what = "it holds free text or an identifier: almost every row has a value of its own"
        return SkippedColumn(name, what, (DROP, ", or make a column with a few levels of it"))
    number = len(levels)
    return classified._replace(guess=f"{number:,} level{'s' * (number != 1)}", n_levels=number)


def _plain_level(level: Any) -> Any:
    return int(level) if isinstance(level, float) and level.is_integer() else level


def plain(value: Any) -> Value:
    """Return a value as Python writes it, whole numbers without a point."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, str):
        return number
    whole = float(number).is_integer() and abs(number) <= LARGEST_EXACT
    return int(number) if whole else float(number)


def factorise(values: NDArray[Any]) -> tuple[NDArray[np.intp], list[Value]]:
    """Codes of levels, and the levels in ascending order."""
    items = values.tolist()
    place = {level: k for k, level in enumerate(sorted(set(items)))}
    codes = np.fromiter(map(place.__getitem__, items), np.intp, len(items))
    return codes, [plain(v) for v in place]
