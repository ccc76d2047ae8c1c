"""Distinct rows with the mass of events and non-events among them.

Rows with equal features always get equal scores, so merging them is exact: every solver and kernel
works on patterns, and its cost depends on how many distinct rows there are, not on how many rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards import Frame, numeric_column
from netbenefit.common import (
    LARGEST_EXACT,
    MAX_DECIMALS,
    FloatArray,
    InputError,
    IntArray,
    check_binary,
    check_names,
    check_weights,
    find_decimals,
    shorten,
    to_steps,
)
from netbenefit.data.engine import EngineTable, group_numbers, is_lazy, require_columns
from netbenefit.data.raw_table import array_columns, check_named

#: Keys stay below this, so that they never overflow.
_LARGEST_KEY = 2**62


def merge_rows(
    columns: Iterable[NDArray[Any]], n_rows: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return one row of each kind, kinds in lexicographic order, and the kind of each row.

    The columns, (n_rows,) integers or booleans, are read as the digits of one number, which sorts
    much faster than rows; where it would overflow, what has been read is replaced by its rank.
    """
    key = np.zeros(n_rows, dtype=np.int64)
    size = 1
    for column in columns:
        digit = column.astype(np.int64)  # one at a time: columns may hold small integers
        digit -= digit.min()
        span = int(digit.max()) + 1
        if size * span >= _LARGEST_KEY:
            ranks, key = np.unique(key, return_inverse=True)
            size = ranks.size
            if size == n_rows:
                break  # all rows differ: the other columns change neither kinds nor their order
        if size * span >= _LARGEST_KEY:
            ranks, digit = np.unique(digit, return_inverse=True)
            span = ranks.size
        key = key * span + digit
        size *= span
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first.astype(np.intp), inverse.astype(np.intp)


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Distinct rows of a table, in steps, with positive and negative mass.

    Attributes
    ----------
    codes : (n, P) int64
        Features of a pattern as integer numbers of steps: x = codes / 10 ** decimals.
    decimals : tuple of int
        Decimals of each column's step.
    names : tuple of str
        Column names.
    positives, negatives : (n,)
        Mass of events and of non-events, which is what a card is trained on: int64 when all weights
        are whole numbers, else float64.
    pattern_of_row : (n_rows,) intp
        Which pattern a row became; −1 for a row of weight 0, which counts nowhere.
    rounded : tuple of str
        Continuous columns, whose values were rounded to the step.
    denominator : int
        How many units of mass make a row: 1 where masses count rows.
    outcomes : (2, n) array or None
        Rows with the event and without it, where the masses are not just that.

    Examples
    --------
    >>> table = PatternTable.from_arrays([[0, 1], [1, 1], [0, 1]], [0, 1, 1])
    >>> table.codes
    array([[0, 1],
           [1, 1]])
    >>> table.positives, table.negatives
    (array([1, 1]), array([1, 0]))
    >>> table.pattern_of_row
    array([0, 1, 0])
    """

    codes: IntArray
    decimals: tuple[int, ...]
    names: tuple[str, ...]
    positives: NDArray[Any]
    negatives: NDArray[Any]
    pattern_of_row: NDArray[np.intp]
    rounded: tuple[str, ...] = ()
    denominator: int = 1
    outcomes: NDArray[Any] | None = None

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        decimals: Mapping[str, int] | None = None,
    ) -> PatternTable:
        """Merge the rows of a numeric matrix.

        Parameters
        ----------
        X : (n_rows, P) array
        y : (n_rows,) array of 0/1 or booleans
        sample_weight : (n_rows,) array, optional
        names : sequence of str, optional
            Column names; x0, x1, … by default.
        decimals : mapping of str to int, optional
            Decimals to keep for some columns, instead of those found in the data.
        """
        try:
            matrix = np.asarray(X)
        except ValueError:
            raise InputError("the rows of X have different lengths. Pass a full table.") from None
        columns = array_columns(matrix, names)
        return cls.from_columns(columns, y, sample_weight=sample_weight, decimals=decimals)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        target: str,
        *,
        features: Sequence[str] | None = None,
        sample_weight: str | ArrayLike | None = None,
        decimals: Mapping[str, int] | None = None,
    ) -> PatternTable:
        """Merge the rows of a table, where it is.

        Parameters
        ----------
        frame : data frame, lazy frame or relation
            In memory, of any library that narwhals knows; or lazy, of Polars, DuckDB, Dask, Spark
            or Ibis: then the engine merges equal rows, and only distinct ones come into memory.
        target : str
            Column of 0/1 outcomes.
        features : sequence of str, optional
            Columns to use; all but the target (and the weights) by default.
        sample_weight : str or array, optional
            A column's name, or one weight per row (not of a lazy table).
        decimals : mapping of str to int, optional
            As in :meth:`from_arrays`.
        """
        table = EngineTable(frame) if is_lazy(frame) else Frame(frame)
        weight_name = sample_weight if isinstance(sample_weight, str) else None
        others = [name for name in table.names if name not in (target, weight_name)]
        chosen = others if features is None else check_names(features)
        weight_names = [] if weight_name is None else [weight_name]
        require_columns(table.names, [target, *chosen, *weight_names])
        weights = sample_weight
        if isinstance(table, EngineTable):
            if weights is not None and weight_name is None:
                raise InputError("sample_weight of a lazy table must be the name of a column.")
            groups = group_numbers(table, target, chosen, weight_name)
            assert groups is not None  # without a limit
            columns, y, weights = groups.columns, groups.target, groups.weight
        else:
            columns, y = {name: table.column(name) for name in chosen}, table.column(target)
            if weight_name is not None:
                weights = numeric_column(weight_name, table.column(weight_name))
        return cls.from_columns(
            columns, y, sample_weight=weights, decimals=decimals, target=f"column {target!r}"
        )

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, NDArray[Any]],
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        decimals: Mapping[str, int] | None = None,
        target: str = "y",
    ) -> PatternTable:
        """Merge the rows of named columns; ``target`` is what errors call the outcome."""
        if not columns:
            raise InputError("the table has no feature columns. Pass at least one.")
        check_named(list(columns))
        event = check_binary(y, name=target)
        weights = check_weights(sample_weight, event.size)
        kept = weights > 0
        unknown = [name for name in decimals or {} if name not in columns]
        if unknown:
            raise InputError(
                f"decimals are given for unknown columns: {shorten(unknown)}; the columns are "
                f"{shorten(list(columns), 10)}. Correct the names."
            )
        codes, found, rounded = [], [], []
        for name, values in columns.items():
            if values.shape != event.shape:
                raise InputError(
                    f"column {name!r} has {values.shape[0]} rows, but {target} has {event.size}. "
                    "Pass one outcome per row."
                )
            column = numeric_column(name, values)[kept]
            digits, exact = find_decimals(column)
            if decimals and name in decimals:
                digits, exact = _check_decimals(decimals[name], name), True
            codes.append(_codes(column, digits, name))
            if not exact and (codes[-1] == codes[-1][0]).all():
                raise InputError(
                    f"column {name!r} varies by less than its finest step, 1e-{digits}. Multiply "
                    "it by a large number, or bin it."
                )
            found.append(digits)
            if not exact:
                rounded.append(name)
        return cls._merged(np.column_stack(codes), found, columns, rounded, event, weights)

    @classmethod
    def from_codes(
        cls,
        codes: NDArray[Any],
        y: ArrayLike,
        *,
        names: Sequence[str],
        decimals: Sequence[int] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> PatternTable:
        """Merge the rows of a matrix of whole numbers of steps, as a binner makes it.

        Parameters
        ----------
        codes : (n_rows, P) array of integers of any size
        y : (n_rows,) array of 0/1 or booleans
        names : sequence of str
        decimals : sequence of int, optional
            Decimals of each column's step; 0 by default.
        sample_weight : (n_rows,) array, optional
        """
        event = check_binary(y, name="y")
        if codes.ndim != 2 or codes.dtype.kind not in "iu" or len(codes) != event.size:
            raise InputError(
                f"codes must be a matrix of integers with {event.size} rows, but have shape "
                f"{codes.shape} and type {codes.dtype}."
            )
        weights = check_weights(sample_weight, event.size)
        steps = [0] * codes.shape[1] if decimals is None else list(decimals)
        kept = weights > 0
        rows = codes if kept.all() else codes[kept]
        return cls._merged(rows, steps, check_names(names), (), event, weights)

    @classmethod
    def _merged(
        cls,
        codes: NDArray[Any],
        decimals: Sequence[int],
        names: Iterable[str],
        rounded: Sequence[str],
        event: NDArray[np.bool_],
        weights: FloatArray,
    ) -> PatternTable:
        """Merge the codes of the rows that have weight."""
        kept = weights > 0
        first, inverse = merge_rows(codes.T, codes.shape[0])
        n = first.size
        pattern_of_row = np.full(event.size, -1, dtype=np.intp)
        pattern_of_row[kept] = inverse
        w, e = weights[kept], event[kept]
        positives = np.bincount(inverse, weights=w * e, minlength=n)
        negatives = np.bincount(inverse, weights=w * ~e, minlength=n)
        if (w == np.floor(w)).all() and w.sum() < LARGEST_EXACT:
            positives, negatives = positives.astype(np.int64), negatives.astype(np.int64)
        return cls(
            codes=codes[first].astype(np.int64),
            decimals=tuple(decimals),
            names=tuple(names),
            positives=positives,
            negatives=negatives,
            pattern_of_row=pattern_of_row,
            rounded=tuple(rounded),
        )

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns, P."""
        return int(self.codes.shape[1])

    def with_masses(
        self, positives: NDArray[Any], negatives: NDArray[Any], denominator: int = 1
    ) -> PatternTable:
        """Return the same patterns with other masses to train on; outcomes stay as they are."""
        return replace(
            self,
            positives=positives,
            negatives=negatives,
            denominator=denominator,
            outcomes=np.stack([self.events, self.others]),
        )

    @property
    def events(self) -> NDArray[Any]:
        """Rows of each pattern that had the event."""
        return self.positives if self.outcomes is None else self.outcomes[0]

    @property
    def others(self) -> NDArray[Any]:
        """Rows of each pattern that did not have it."""
        return self.negatives if self.outcomes is None else self.outcomes[1]

    @cached_property
    def n_events(self) -> int | float:
        """Number of rows with the event (of their weights, where rows have weights)."""
        return _total(self.events)

    @cached_property
    def n_total(self) -> int | float:
        """Number of all rows, N (of their weights)."""
        return _total(self.events, self.others)

    @cached_property
    def event_mass(self) -> int | float:
        """Sum of :attr:`positives`: n_events, unless there are other masses to train on."""
        return _total(self.positives)

    @cached_property
    def total_mass(self) -> int | float:
        """Sum of all masses: n_total times the denominator."""
        return _total(self.positives, self.negatives)

    @property
    def prevalence(self) -> float:
        """Share of events, a0."""
        return self.n_events / self.n_total

    @property
    def is_whole(self) -> bool:
        """Whether masses are whole numbers."""
        return bool(self.positives.dtype.kind == "i")

    @property
    def is_integer(self) -> bool:
        """Whether every feature is a whole number."""
        return max(self.decimals) == 0

    @cached_property
    def constant(self) -> tuple[str, ...]:
        """Columns that hold a single value, and so cannot distinguish rows."""
        same = (self.codes == self.codes[:1]).all(axis=0)
        return tuple(name for name, is_same in zip(self.names, same, strict=True) if is_same)

    def values(self) -> FloatArray:
        """Features of the patterns as floats."""
        scale = np.array([10.0**d for d in self.decimals])
        result: FloatArray = self.codes / scale
        return result


def _total(*masses: NDArray[Any]) -> int | float:
    total = sum(part.sum() for part in masses)
    return int(total) if masses[0].dtype.kind == "i" else float(total)


def _check_decimals(decimals: int, name: str) -> int:
    whole = isinstance(decimals, int | np.integer) and not isinstance(decimals, bool)
    if not (whole and 0 <= decimals <= MAX_DECIMALS):
        raise InputError(
            f"decimals of column {name!r} must be a whole number from 0 to {MAX_DECIMALS}, "
            f"not {decimals!r}."
        )
    return int(decimals)


def _codes(column: NDArray[Any], decimals: int, name: str) -> IntArray:
    largest = max(abs(float(column.max())), abs(float(column.min())))
    if largest * float(10**decimals) >= LARGEST_EXACT:
        raise InputError(
            f"column {name!r} holds values as large as {largest:g}, too large for steps of "
            f"10^-{decimals}. Rescale it, take its logarithm, or bin it."
        )
    return to_steps(column, decimals)
