"""Distinct raw rows of a table, with how often each occurs: what a binner learns from.

The rows come in one order, whatever order the engine has them in, and with one type per column: the
same table gives the same rows in every engine.
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from netbenefit.binning import count_cells
from netbenefit.cards import Edge, as_column
from netbenefit.common import FloatArray, InputError, IntArray
from netbenefit.data import (
    EngineTable,
    Groups,
    RawColumn,
    RawTable,
    flag,
    in_halves,
    merge_rows,
    raw_column,
    storage_of,
)
from netbenefit.tables.expressions import choose, whole
from netbenefit.tables.survey import Survey

_EVENT = "nb_event"


class MergedRows(NamedTuple):
    """Distinct raw rows, sorted, with outcome and weight."""

    table: RawTable
    event: NDArray[np.bool_]
    weight: FloatArray

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.event.size)


def distinct_rows(
    table: EngineTable,
    survey: Survey,
    names: Sequence[str],
    most: int,
    idle: Collection[str] = (),
) -> MergedRows | None:
    """Merge equal rows in the engine; None where there are more than ``most``.

    Of ``idle`` columns nothing is read: the table has them, and that is all.
    """
    keys = {**raw_keys(table, names, idle), _EVENT: flag(survey.event)}
    groups = table.group(keys, "merging rows", weight=survey.weight, where=survey.used, most=most)
    return None if groups.size > most else rows_of(table, groups, names)


def raw_keys(
    table: EngineTable, names: Sequence[str], idle: Collection[str] = ()
) -> dict[str, nw.Expr]:
    """Return raw columns as they are grouped: numbers in double precision, text as text."""
    keys = {}
    for k, name in enumerate(names):
        if name in idle:
            continue
        if table.types[name] in ("number", "boolean"):
            keys[f"nb_key_{k}"] = table.number(name)
        elif table.types[name] == "text":
            keys[f"nb_key_{k}"] = table.text(name)
    return keys


def rows_of(table: EngineTable, groups: Groups, names: Sequence[str]) -> MergedRows:
    """Return the raw rows of groups that were made by :func:`raw_keys`."""
    columns = []
    for k, name in enumerate(names):
        values = groups.keys.get(f"nb_key_{k}")
        if values is None:  # it is not used, or cannot be: then its type tells why
            values = nothing(groups.size)
        elif table.types[name] == "boolean":
            values = _flags(values.astype(np.float64))
        columns.append(raw_column(name, values, table.info(name)))
    event = groups.keys[_EVENT].astype(np.int64) == 1
    return merged(columns, event, groups.weight.astype(np.float64))


def nothing(n_rows: int) -> NDArray[Any]:
    """Return the values of a column that is not read."""
    return np.full(n_rows, object(), dtype=object)


def _flags(values: FloatArray) -> NDArray[Any]:
    """Booleans as such, unless some are missing."""
    return values if np.isnan(values).any() else values.astype(np.bool_)


def canonical(column: RawColumn) -> RawColumn:
    """Return a column in memory with the type that it would have if an engine had read it."""
    values = column.values
    if column.is_category or column.is_date or values.dtype.kind == "b":
        return column
    if values.dtype.kind in "iuf":
        return column._replace(values=values.astype(np.float64))
    storage = storage_of(column)
    if storage in ("number", "empty") and not any(isinstance(v, str) for v in values.tolist()):
        return column._replace(values=as_column(column.name, values, "number").values)
    if storage == "boolean":
        flags = _flags(as_column(column.name, values, "number").values)
        return column._replace(values=flags)
    return column


def merged(
    columns: Sequence[RawColumn], event: NDArray[np.bool_], weight: FloatArray
) -> MergedRows:
    """Merge equal rows, and sort them."""
    kept = np.flatnonzero(weight > 0)
    ranks = [_ranks(column.values[kept]) for column in columns if not column.is_date]
    first, kind = merge_rows([*ranks, event[kept]], kept.size)
    rows = kept[first]
    taken = [column._replace(values=_plus_zero(column.values[rows])) for column in columns]
    total = np.bincount(kind, weight[kept], first.size).astype(np.float64)
    return MergedRows(RawTable.of(taken), event[rows], total)


def _plus_zero(values: NDArray[Any]) -> NDArray[Any]:
    """Write minus zero as zero: which of them came first must not matter."""
    return values + 0.0 if values.dtype.kind == "f" else values


def _ranks(values: NDArray[Any]) -> NDArray[np.intp]:
    """Whole numbers in the order of the values: missing ones last, or first among objects."""
    if values.dtype.kind in "biuf":
        return np.unique(values, return_inverse=True)[1]
    items = values.tolist()
    try:
        distinct = set(items)
    except TypeError:  # lists and the like, which no binner uses
        return np.zeros(len(items), dtype=np.intp)
    place = {item: k for k, item in enumerate(sorted(distinct, key=_place))}
    return np.fromiter((place[item] for item in items), np.intp, len(items))


def _place(item: Any) -> tuple[str, str]:
    kind = "" if item is None else "text" if isinstance(item, str) else "other"
    return kind, str(item)


# -- a sample of rows that depends on nothing but what is in them ----------------------------------
# Every row gets a number from 0 to 1, computed from its values alone by a few multiplications, and
# the rows with small numbers are the sample.  So the same table gives the same sample in every
# engine and in every run, in whatever order and parts it is read.  Equal rows are in the sample
# together or not at all, so the share of distinct rows in it tells how many there are in the table.

#: Large factors without pattern, which bring the last digits of a value to the front.
_STRETCH = (98765.4321, 76543.2109)
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_OWN = 618.033988749
#: Frequent levels of a text column that are distinguished; others are by their length.
_LEVELS = 10_000
#: Up to this many of them are compared one by one.
_FEW_LEVELS = 30
#: Most levels of a text column that are counted.
_MOST_LEVELS = 100_000
#: A sample may be so many times larger or smaller than requested, or is drawn again.
_MUCH, _TRIES = 3, 5
#: Cells in which a column of numbers is counted.
_CELLS = 256


class Sample(NamedTuple):
    """Some rows, and how they were chosen."""

    rows: MergedRows
    shares: tuple[float, float]  #: of rows without and with the event that were to be drawn

    @property
    def distinct(self) -> float:
        """How many distinct rows the table is estimated to have."""
        events = float(np.count_nonzero(self.rows.event))
        return (self.rows.size - events) / self.shares[0] + events / self.shares[1]


def draw_sample(
    table: EngineTable,
    survey: Survey,
    names: Sequence[str],
    levels: Mapping[str, Groups],
    size: int,
    idle: Collection[str] = (),
) -> Sample:
    """Draw about ``size`` rows, as many with the event as without where there are enough.

    Their weights add up to what they stand for, in units of one drawn row on average.  Of ``idle``
    columns nothing is read.
    """
    shares = _shares(survey.counts, size)
    read = [name for name in names if name not in idle]
    keys = {**raw_keys(table, names, idle), "nb_event": flag(survey.event)}
    for _ in range(_TRIES):  # where values repeat in blocks, a share may draw far more or less
        test = sample_test(table, survey, read, levels, shares)
        where = test if survey.used is None else survey.used & test
        groups = table.group(
            keys, "drawing a sample", weight=survey.weight, where=where, most=_MUCH * size
        )
        drawn = int(groups.rows.sum())
        if groups.size > _MUCH * size:
            shares = (shares[0] / 10, shares[1] / 10)
        elif drawn * _MUCH < size and max(shares) < 1:
            shares = (min(1.0, 5 * shares[0]), min(1.0, 5 * shares[1]))
        else:
            break
    rows = rows_of(table, groups, names)
    if rows.event.all() or not rows.event.any():
        raise InputError(
            f"a sample of {rows.size:,} distinct rows holds one outcome only. Raise sample_rows."
        )
    stands_for = np.where(rows.event, 1.0 / shares[1], 1.0 / shares[0]) * rows.weight
    mean = float(stands_for.sum() / rows.weight.sum())
    return Sample(MergedRows(rows.table, rows.event, stands_for / mean), shares)


def _shares(totals: tuple[int, int], size: int) -> tuple[float, float]:
    """What share of each outcome to draw, so that rare ones are not lost."""
    rarer = min(*totals, size / 2)
    drawn = [min(total, size - rarer if total > rarer else rarer) for total in totals]
    return drawn[0] / totals[0], drawn[1] / totals[1]


def sample_test(
    table: EngineTable,
    survey: Survey,
    names: Sequence[str],
    levels: Mapping[str, Groups],
    shares: tuple[float, float],
) -> nw.Expr:
    """Return whether a row is in the sample.

    Each row has a number from 0 to 1 that depends on its values alone, and looks random.
    """
    parts = []
    for k, name in enumerate(names):
        if table.types[name] in ("number", "boolean"):
            ends = survey.ends[name]
            first, second = (f * (1.0 + (k + 1) * _GOLDEN % 1.0) for f in _STRETCH)
            # (Polars divides by multiplying with an inverse, which is off by a bit.)
            scale = first / (ends.high - ends.low) if ends.low < ends.high else math.inf
            if math.isinf(scale):
                continue
            x = table.number(name)
            # By its place between the ends, and by itself: one end may be far away.
            value = _fraction(_fraction((x - ends.low) * scale) * second)
            parts.append((value + _fraction(x * (_OWN * (1.0 + k * _GOLDEN)))).fill_null(0.5))
        elif table.types[name] == "text":
            parts.append(_text_number(table.text(name), levels.get(name)) * (1.0 + k * _GOLDEN))
    number = _fraction(in_halves(operator.add, parts) * _STRETCH[0]) if parts else nw.lit(0.5)
    return number < nw.when(survey.event).then(nw.lit(shares[1])).otherwise(nw.lit(shares[0]))


def _fraction(x: nw.Expr) -> nw.Expr:
    return x - x.floor()


def _text_number(x: nw.Expr, counted: Groups | None) -> nw.Expr:
    value = (x.str.len_chars().cast(nw.Float64) * _GOLDEN).fill_null(0.25)
    if counted is None:
        return value
    rows: dict[str, int] = {}
    for level, count in zip(counted.keys["nb_level"].tolist(), counted.rows.tolist(), strict=True):
        if level is not None:
            rows[level] = rows.get(level, 0) + count
    frequent = sorted(rows, key=lambda level: (-rows[level], level))[:_LEVELS]
    if len(frequent) <= _FEW_LEVELS:
        for place, level in enumerate(frequent):
            value = nw.when(x == level).then(nw.lit((place + 2) * _GOLDEN % 1.0)).otherwise(value)
        return value
    # Of many levels each has ten bits, by a hash of its name.
    digests = {level: hashlib.blake2b(level.encode(), digest_size=2).digest() for level in frequent}
    for bit in range(10):
        chosen = [one for one in frequent if digests[one][bit // 8] >> (bit % 8) & 1]
        part = nw.when(x.is_in(chosen)).then(nw.lit(_GOLDEN * 2.0**-bit)).otherwise(nw.lit(0.0))
        value = value + part
    return value


# -- how frequent values are -----------------------------------------------------------------------


def count_levels(table: EngineTable, survey: Survey, names: Sequence[str]) -> dict[str, Groups]:
    """Count the levels of all text columns, by outcome; those with very many are left out."""
    found = {}
    for name in names:
        if table.types[name] != "text":
            continue
        keys = {"nb_level": table.text(name), "nb_event": flag(survey.event)}
        what = f"counting the levels of {name}"
        groups = table.group(keys, what, weight=survey.weight, where=survey.used, most=_MOST_LEVELS)
        if groups.size <= _MOST_LEVELS:
            found[name] = groups
    return found


def own_weights(
    table: EngineTable,
    survey: Survey,
    names: Sequence[str],
    levels: Mapping[str, Groups],
    rows: MergedRows,
    idle: Collection[str] = (),
) -> MergedRows:
    """Give each column weights by which its values are as frequent as in the whole table.

    The engine counts all rows by cell (quantiles of the sample; single levels of text) and outcome.
    So how a column is distributed, and what it says about the outcome, comes from all rows, and
    only how columns go together comes from the sample.
    """
    total = float(rows.weight.sum())
    columns = []
    for name in names:
        column = rows.table.column(name)
        kind = "other" if name in idle else table.types[name]
        weight = None
        if kind in ("number", "boolean"):
            weight = _number_weights(table, survey, name, column.values, rows)
        elif kind == "text" and name in levels:
            weight = _level_weights(levels[name], column.values, rows)
        if weight is not None and weight.sum() > 0:
            weight = weight * (total / float(weight.sum()))
            column = column._replace(weight=weight)
        columns.append(column)
    return MergedRows(RawTable.of(columns), rows.event, rows.weight)


def _number_weights(
    table: EngineTable, survey: Survey, name: str, values: FloatArray, rows: MergedRows
) -> FloatArray | None:
    numbers = values.astype(np.float64)
    here = ~np.isnan(numbers)
    if not here.any():
        return None
    cells = count_cells(numbers[here], rows.weight[here], _CELLS)
    edges = [Edge(start) for start in cells.starts[1:].tolist()]
    x = table.number(name)
    places = [whole(k) for k in range(len(edges) + 1)]
    cell = nw.when(x.is_null()).then(whole(-1)).otherwise(choose(x, edges, places))
    keys = {"nb_cell": cell, "nb_event": flag(survey.event)}
    groups = table.group(
        keys, f"counting the values of {name}", weight=survey.weight, where=survey.used
    )
    code = np.zeros(numbers.size, dtype=np.int64)
    code[here] = cells.cell_of_row + 1
    return _matched(code, groups.keys["nb_cell"].astype(np.int64) + 1, groups, rows)


def _level_weights(groups: Groups, values: NDArray[Any], rows: MergedRows) -> FloatArray:
    counted = groups.keys["nb_level"].tolist()
    place = {level: k for k, level in enumerate(dict.fromkeys(counted))}
    code = np.fromiter((place[value] for value in values.tolist()), np.int64, values.size)
    return _matched(code, np.array([place[level] for level in counted]), groups, rows)


def _matched(code: IntArray, counted: IntArray, groups: Groups, rows: MergedRows) -> FloatArray:
    """Scale the weights of rows of equal value and outcome to what the whole table has of them.

    ``code`` is the value of each row, ``counted`` that of each group of the whole table.
    """
    size = 2 * (int(counted.max(initial=0)) + 1)
    here = 2 * code + rows.event
    drawn = np.bincount(here, rows.weight, size)
    there = 2 * counted + groups.keys["nb_event"].astype(np.int64)
    total = np.bincount(there, groups.weight, size)
    result: FloatArray = rows.weight * (total[here] / drawn[here])
    return result
