"""Distinct rows with the mass of events and non-events among them.

Rows with equal features always get equal scores, so merging them is exact: every solver and kernel
works on patterns, and its cost depends on how many distinct rows there are, not on how many rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit._steps import MAX_DECIMALS, find_decimals, to_steps
from netbenefit._validation import (
    FloatArray,
    InputError,
    IntArray,
    check_binary,
    check_names,
    check_weights,
    shorten,
)

__all__ = ["PatternTable", "columns_of", "numeric_column"]

#: Beyond this a float no longer holds every integer, so rounding to steps would lose digits.
_LARGEST_CODE = 2**53


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
        Mass of events and of non-events: int64 when all weights are whole numbers, else float64.
    pattern_of_row : (n_rows,) intp
        Which pattern a row became; −1 for a row of weight 0, which counts nowhere.
    rounded : tuple of str
        Continuous columns, whose values were rounded to the step.

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
        matrix = np.asarray(X)
        if matrix.ndim != 2:
            raise InputError(
                f"X must be a table with rows and columns, but has shape {matrix.shape}."
            )
        if names is None:
            names = [f"x{k}" for k in range(matrix.shape[1])]
        if len(names) != matrix.shape[1]:
            raise InputError(f"{len(names)} names for {matrix.shape[1]} columns.")
        columns = {name: matrix[:, k] for k, name in enumerate(check_names(names))}
        return cls._from_columns(columns, y, sample_weight, decimals)

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
        """Merge the rows of a pandas, polars or pyarrow table.

        Parameters
        ----------
        frame : any eager data frame that narwhals knows
        target : str
            Column of 0/1 outcomes.
        features : sequence of str, optional
            Columns to use; all but the target (and the weights) by default.
        sample_weight : str or array, optional
            A column's name, or one weight a row.
        decimals : mapping of str to int, optional
            As in :meth:`from_arrays`.
        """
        columns = columns_of(frame)
        weight_name = sample_weight if isinstance(sample_weight, str) else None
        chosen = [c for c in columns if c not in (target, weight_name)]
        needed = [target, *(features or chosen), *([weight_name] if weight_name else [])]
        absent = [name for name in needed if name not in columns]
        if absent:
            raise InputError(
                f"the table has no column {shorten(absent)}; its columns are "
                f"{shorten(list(columns), 10)}."
            )
        return cls._from_columns(
            {name: columns[name] for name in (features or chosen)},
            columns[target],
            columns[weight_name] if weight_name else sample_weight,
            decimals,
        )

    @classmethod
    def _from_columns(
        cls,
        columns: Mapping[str, NDArray[Any]],
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        decimals: Mapping[str, int] | None,
    ) -> PatternTable:
        if not columns:
            raise InputError("the table has no feature columns. Pass at least one.")
        event = check_binary(y, name="y")
        weights = check_weights(sample_weight, event.size)
        kept = weights > 0
        unknown = [name for name in decimals or {} if name not in columns]
        if unknown:
            raise InputError(f"decimals are given for unknown columns: {shorten(unknown)}.")
        codes, found, rounded = [], [], []
        for name, values in columns.items():
            if values.shape != event.shape:
                raise InputError(
                    f"column {name!r} has {values.shape[0]} rows, but y has {event.size}."
                )
            column = numeric_column(values, name)[kept]
            digits, exact = find_decimals(column)
            if decimals and name in decimals:
                digits, exact = _check_decimals(decimals[name], name), True
            codes.append(_codes(column, digits, name))
            found.append(digits)
            if not exact:
                rounded.append(name)
        patterns, inverse = _merge(np.column_stack(codes))
        n = patterns.shape[0]
        pattern_of_row = np.full(event.size, -1, dtype=np.intp)
        pattern_of_row[kept] = inverse
        w, e = weights[kept], event[kept]
        positives = np.bincount(inverse, weights=w * e, minlength=n)
        negatives = np.bincount(inverse, weights=w * ~e, minlength=n)
        if (w == np.floor(w)).all() and w.sum() < _LARGEST_CODE:
            positives, negatives = positives.astype(np.int64), negatives.astype(np.int64)
        return cls(
            codes=patterns,
            decimals=tuple(found),
            names=tuple(columns),
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

    @cached_property
    def n_events(self) -> int | float:
        """Mass of events."""
        total = self.positives.sum()
        return int(total) if self.is_whole else float(total)

    @cached_property
    def n_total(self) -> int | float:
        """Mass of all rows, N."""
        total = self.positives.sum() + self.negatives.sum()
        return int(total) if self.is_whole else float(total)

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
        """Columns that hold a single value and so cannot tell rows apart."""
        same = (self.codes == self.codes[:1]).all(axis=0)
        return tuple(name for name, is_same in zip(self.names, same, strict=True) if is_same)

    def values(self) -> FloatArray:
        """Features of the patterns as floats.

        >>> PatternTable.from_arrays([[0.5], [1.0]], [0, 1]).values().tolist()
        [[0.5], [1.0]]
        """
        scale = np.array([10.0**d for d in self.decimals])
        result: FloatArray = self.codes / scale
        return result


def columns_of(frame: Any) -> dict[str, NDArray[Any]]:
    """Read an eager data frame into named arrays; missing values become NaN or None.

    Examples
    --------
    >>> import pandas as pd
    >>> columns_of(pd.DataFrame({"a": [1, 2]}))
    {'a': array([1, 2])}
    """
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(
            f"cannot read a {type(frame).__name__} as a table. Pass a pandas, polars or pyarrow table."
        ) from None
    names = check_names(table.columns)
    return {
        name: table.get_column(column).to_numpy()
        for name, column in zip(names, table.columns, strict=True)
    }


def numeric_column(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a column as booleans, integers or floats; refuse text, missing values, infinities."""
    if values.dtype.kind == "O":
        values = _from_objects(values, name)
    if values.dtype.kind not in "iufb":
        raise InputError(
            f"column {name!r} holds {values.dtype} values, such as {values.flat[0]!r}. Encode it as "
            "numbers (0/1 for yes/no, one column a category), or drop it."
        )
    if values.dtype.kind == "f":
        missing = np.flatnonzero(np.isnan(values))
        if missing.size:
            raise InputError(
                f"column {name!r} has {missing.size} missing values (NaN), the first in row "
                f"{missing[0]}. Impute or drop them first."
            )
        infinite = np.flatnonzero(np.isinf(values))
        if infinite.size:
            raise InputError(
                f"column {name!r} has {infinite.size} infinite values (inf), the first in row "
                f"{infinite[0]}. Clip or drop them first."
            )
    return values


def _from_objects(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Booleans, numbers and decimals behind Python objects; None counts as missing."""
    for row, value in enumerate(values):
        if isinstance(value, str | bytes | dict | list | tuple):
            raise InputError(
                f"column {name!r} holds text or other objects, such as {value!r} in row {row}. Encode "
                "it as numbers (0/1 for yes/no, one column a category), or drop it."
            )
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        missing = [row for row, value in enumerate(values) if value is None or value != value]
        what = f"missing values in rows {shorten(missing)}" if missing else "values of mixed kinds"
        raise InputError(f"column {name!r} has {what}. Impute or drop them first.") from None


def _check_decimals(decimals: int, name: str) -> int:
    if not (isinstance(decimals, int | np.integer) and 0 <= decimals <= MAX_DECIMALS):
        raise InputError(
            f"decimals of column {name!r} must be a whole number from 0 to {MAX_DECIMALS}, "
            f"not {decimals!r}."
        )
    return int(decimals)


def _codes(column: NDArray[Any], decimals: int, name: str) -> IntArray:
    largest = max(abs(float(column.max())), abs(float(column.min()))) * 10**decimals
    if largest >= _LARGEST_CODE:
        raise InputError(
            f"column {name!r} holds values as large as {largest / 10**decimals:g}, too large for steps "
            f"of 10^-{decimals}. Rescale it, take its logarithm, or bin it."
        )
    return to_steps(column, decimals)


def _merge(codes: IntArray) -> tuple[IntArray, NDArray[np.intp]]:
    """Distinct rows in lexicographic order, and which of them each row is.

    The columns are read as the digits of one number, which sorts much faster than rows; where the
    number would overflow, what has been read so far is replaced by its rank.
    """
    key = np.zeros(codes.shape[0], dtype=np.int64)
    size = 1
    for k in range(codes.shape[1]):
        column = codes[:, k] - codes[:, k].min()
        span = int(column.max()) + 1
        if size * span >= 2**62:
            ranks, key = np.unique(key, return_inverse=True)
            size = ranks.size
        if size * span >= 2**62:
            ranks, column = np.unique(column, return_inverse=True)
            span = ranks.size
        key = key * span + column
        size *= span
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return codes[first], inverse.astype(np.intp)
