"""The rows of a table in one order, equal ones merged, and how they are dealt to folds.

What a teacher learns must depend neither on the order of the rows nor on whether equal rows come as
one with a whole weight.  Therefore all code works on *canonical rows*: distinct, sorted, with the
number of rows (*units*) that each stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.binning.learn import classify_columns
from netbenefit.binning.options import check_column_options
from netbenefit.binning.roles import ClassifiedColumn
from netbenefit.binning.terms import Rows
from netbenefit.binning.weights import are_whole
from netbenefit.cards.columns import numeric_column
from netbenefit.common.checks import FloatArray, InputError, IntArray
from netbenefit.data.raw_table import RawColumn, RawTable

__all__ = ["CanonicalRows", "Fold", "deal", "fold_sizes", "merge_rows", "read_numbers"]


class Numbers(NamedTuple):
    """A table as numbers; NaN is missing."""

    columns: FloatArray  #: (n_rows, n_columns); a column of levels holds their places 0, 1, …
    levels: NDArray[np.bool_]  #: which columns hold levels without an order


class Fold(NamedTuple):
    """One part of the rows: a teacher learns from the others and gives these a risk."""

    number: int  #: 1, 2, …
    of: int
    train: IntArray  #: units of each canonical row to learn from
    rows: NDArray[np.intp]  #: canonical rows that get a risk
    units: IntArray  #: … and how many of each

    def __str__(self) -> str:
        return f"fold {self.number} of {self.of}"


@dataclass(frozen=True)
class CanonicalRows:
    """Distinct rows in the order of their values."""

    first: NDArray[np.intp]  #: (n,), a row of the table that each stands for
    event: NDArray[np.bool_]
    units: IntArray  #: how many rows each stands for
    mass: FloatArray  #: weight of one unit
    group: IntArray | None
    place: NDArray[np.intp]  #: (n_rows,), the canonical row of each row of the table

    def share(self, units: IntArray) -> float:
        """Return the share of events among some units of the rows."""
        mass = self.mass * units
        return float(mass[self.event].sum() / mass.sum())

    def class_sizes(self) -> tuple[int, int]:
        """Return how many rows have an event, and how many have none."""
        events = int(self.units[self.event].sum())
        return events, int(self.units.sum()) - events


# -- from raw columns to numbers -------------------------------------------------------------------


def read_numbers(table: RawTable, binner: Any, weight: FloatArray) -> tuple[Numbers, RawTable]:
    """Read a table as the binner does, without using the outcome; return numbers and table.

    Columns that the binner skips are empty in the table, because in a few of the rows an identifier
    could look like something else.
    """
    if binner is None:
        columns = [numeric_column(name, table.column(name).values) for name in table.names]
        return Numbers(np.column_stack(columns).astype(np.float64), np.zeros(len(columns), bool)), (
            table
        )
    options = check_column_options(binner, table.names)
    known = Rows(np.zeros(len(table), np.bool_), weight)
    usable, sources, skipped = classify_columns(table, options, known)
    empty = {out.name for out in skipped} | options.drop
    missing = np.full(len(table), np.nan)
    kept = [
        RawColumn(name, missing) if name in empty else table.column(name)._replace(weight=None)
        for name in table.names
    ]
    if not usable:
        raise InputError("the binner leaves out every column. Pass columns that can be used.")
    read = [
        _as_numbers(classified, classified.read(table, sources.get(classified.name, ())))
        for classified in usable
    ]
    levels = np.array([classified.role == "levels" for classified in usable])
    return Numbers(np.column_stack(read), levels), RawTable.of(kept)


def _as_numbers(classified: ClassifiedColumn, column: Any) -> FloatArray:
    """One column as numbers: levels by their place in the order, or among the sorted levels."""
    if classified.role not in ("levels", "ordered"):
        return np.asarray(column.values, dtype=np.float64)
    there = np.ones(len(column.values), bool) if column.missing is None else ~column.missing
    values = column.values.tolist()
    order = classified.order or sorted({v for v, here in zip(values, there, strict=True) if here})
    place = {level: k for k, level in enumerate(order)}
    return np.array([place[v] if here else np.nan for v, here in zip(values, there, strict=True)])


def rank(values: NDArray[Any]) -> IntArray:
    """Return the place of each value among the sorted distinct ones, whatever they are."""
    if values.dtype.kind in "biufmM":
        return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    texts = [f"{type(v).__name__} {v!r}" for v in values.tolist()]
    place = {text: k for k, text in enumerate(sorted(set(texts)))}
    return np.array([place[text] for text in texts], dtype=np.int64)


# -- canonical rows --------------------------------------------------------------------------------


def merge_rows(
    keys: Sequence[NDArray[Any]],
    event: NDArray[np.bool_],
    weight: FloatArray,
    group: IntArray | None,
) -> CanonicalRows:
    """Merge rows with equal keys, outcome and group (and weight, unless weights are whole)."""
    whole = are_whole(weight)
    parts = [rank(key) for key in keys] + [event.astype(np.int64)]
    parts += [] if group is None else [group]
    parts += [] if whole else [rank(weight)]
    order = np.lexsort(parts[::-1])
    new = np.zeros(event.size, dtype=bool)
    new[:1] = True
    for part in parts:
        new[1:] |= part[order[1:]] != part[order[:-1]]
    place = np.empty(event.size, dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    first = order[new]
    units = np.bincount(place, weight if whole else None)
    return CanonicalRows(
        first=first,
        event=event[first],
        units=units.astype(np.int64),
        mass=np.ones(first.size) if whole else weight[first] / float(np.mean(weight[first])),
        group=None if group is None else group[first],
        place=place,
    )


# -- folds -----------------------------------------------------------------------------------------


def fold_sizes(rows: CanonicalRows, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Deal rows to folds; return how many units of each row are in each fold, (n, n_folds).

    Without groups: shuffle the canonical rows of a class, number their units, and put unit i into
    fold i mod ``n_folds``; the second class goes on counting where the first stopped. With groups:
    deal whole groups, the largest first, each to the fold where it makes the folds' shares of both
    classes most equal.
    """
    if rows.group is not None:
        return _group_sizes(rows, n_folds, rng)
    order = np.concatenate([rng.permutation(np.flatnonzero(rows.event == e)) for e in (1, 0)])
    units = rows.units[order]
    before = np.cumsum(units) - units
    folds = np.arange(n_folds)
    # Of 0, 1, …, m-1 there are (m - f + K - 1) // K in fold f.
    upto = [(m[:, None] - folds + n_folds - 1) // n_folds for m in (before, before + units)]
    sizes = np.empty((order.size, n_folds), dtype=np.int64)
    sizes[order] = upto[1] - upto[0]
    return sizes


def _group_sizes(rows: CanonicalRows, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Deal whole groups."""
    assert rows.group is not None
    labels, code = np.unique(rows.group, return_inverse=True)
    held = np.stack([np.bincount(code, rows.units * (rows.event == e)) for e in (True, False)], 1)
    shuffled = rng.permutation(labels.size)
    order = shuffled[np.argsort(-held[shuffled].sum(axis=1), kind="stable")]
    relative = held / held.sum(axis=0)
    full = np.zeros((n_folds, 2))
    fold = np.empty(labels.size, dtype=np.intp)
    for g in order:
        # Adding a to a fold that holds f raises the sum of squares by a · (2 f + a): least first.
        fold[g] = np.argmin(np.round(full @ relative[g], 12))
        full[fold[g]] += relative[g]
    sizes = np.zeros((rows.units.size, n_folds), dtype=np.int64)
    sizes[np.arange(rows.units.size), fold[code]] = rows.units
    return sizes


def deal(rows: CanonicalRows, n_folds: int, n_repeats: int, seed: int) -> list[Fold]:
    """Return the folds of all repeats; empty folds are left out."""
    folds = []
    for repeat in range(n_repeats):
        sizes = fold_sizes(rows, n_folds, np.random.default_rng([seed, repeat]))
        for k in range(n_folds):
            here = np.flatnonzero(sizes[:, k])
            if here.size:
                own = sizes[:, k]
                folds.append(Fold(k + 1, n_folds, rows.units - own, here, own[here]))
    return folds
