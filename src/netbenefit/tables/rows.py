"""Distinct raw rows of a table, with how often each occurs: what a binner learns from.

The rows come in one order, whatever order the engine has them in, and with one type a column: the
same table gives the same rows in every engine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from netbenefit.cards.columns import as_column
from netbenefit.common.checks import FloatArray
from netbenefit.data.engine import EngineTable, Groups
from netbenefit.data.merging import merge_rows
from netbenefit.data.raw_table import RawColumn, RawTable, storage_of
from netbenefit.tables.survey import Survey

__all__ = [
    "MergedRows",
    "canonical",
    "distinct_rows",
    "event_key",
    "merged",
    "nothing",
    "raw_keys",
    "rows_of",
]

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
    keys = {**raw_keys(table, names, idle), _EVENT: event_key(survey)}
    groups = table.group(keys, "merging rows", weight=survey.weight, where=survey.used, most=most)
    return None if groups.size > most else rows_of(table, groups, names)


def event_key(survey: Survey) -> nw.Expr:
    """Return 1 for an event, else 0."""
    return nw.when(survey.event).then(nw.lit(1, nw.Int64)).otherwise(nw.lit(0, nw.Int64))


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
        info, values = table.info(name), groups.keys.get(f"nb_key_{k}")
        if values is None:  # nobody uses it, or can: then its type tells why
            values = nothing(groups.size)
        elif table.types[name] == "boolean":
            values = _flags(values.astype(np.float64))
        columns.append(
            RawColumn(
                name, values, info.categories, info.is_category, info.is_ordered, info.is_date
            )
        )
    event = groups.keys[_EVENT].astype(np.int64) == 1
    return merged(columns, event, groups.weight.astype(np.float64))


def nothing(n_rows: int) -> NDArray[Any]:
    """Return the values of a column that nobody looks at."""
    return np.full(n_rows, object(), dtype=object)


def _flags(values: FloatArray) -> NDArray[Any]:
    """Booleans as such, unless some are missing."""
    return values if np.isnan(values).any() else values.astype(np.bool_)


def canonical(column: RawColumn) -> RawColumn:
    """Return a column in memory with the type that it would have if an engine had read it.

    >>> canonical(RawColumn("n", np.array([1, None], dtype=object))).values
    array([ 1., nan])
    """
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
    """Merge equal rows, and sort them.

    Examples
    --------
    >>> columns = [RawColumn("age", np.array([60.0, 51.0, 60.0]))]
    >>> rows = merged(columns, np.array([True, False, True]), np.ones(3))
    >>> rows.table.column("age").values, rows.event, rows.weight
    (array([51., 60.]), array([False,  True]), array([1., 2.]))
    """
    kept = np.flatnonzero(weight > 0)
    ranks = [_ranks(column.values[kept]) for column in columns if not column.is_date]
    first, kind = merge_rows([*ranks, event[kept]], kept.size)
    rows = kept[first]
    return MergedRows(
        RawTable.of(
            [column._replace(values=_plus_zero(column.values[rows])) for column in columns]
        ),
        event[rows],
        np.bincount(kind, weight[kept], first.size).astype(np.float64),
    )


def _plus_zero(values: NDArray[Any]) -> NDArray[Any]:
    """Minus zero is zero: which of them came first is nobody's business."""
    return values + 0.0 if values.dtype.kind == "f" else values


def _ranks(values: NDArray[Any]) -> NDArray[np.intp]:
    """Whole numbers in the order of the values: missing ones last, or first among objects."""
    if values.dtype.kind in "biuf":
        return np.unique(values, return_inverse=True)[1]
    items = values.tolist()
    if not _hashable(items):  # lists and the like, which no binner uses
        return np.zeros(len(items), dtype=np.intp)
    place = {item: k for k, item in enumerate(sorted(set(items), key=_place))}
    return np.fromiter((place[item] for item in items), np.intp, len(items))


def _place(item: Any) -> tuple[str, str]:
    kind = "" if item is None else "text" if isinstance(item, str) else "other"
    return kind, str(item)


def _hashable(items: list[Any]) -> bool:
    try:
        hash(tuple(items))
    except TypeError:
        return False
    return True
