"""Raw columns for classifiers that take numbers only, prepared from the training rows alone.

1. A number that is missing becomes the median, and a column of its own says so.
2. Each level of text becomes a column of 0 and 1; rare levels, and those that training never saw,
   share one.  Missing is a level.
3. Every column is standardised; those that are constant in training are left out.

Medians, means and counts are weighted as the rows are, so that a row of weight 2 counts as two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from netbenefit.cards import as_value, plain_number
from netbenefit.common import FloatArray, InputError, RowNumber, check_weights
from netbenefit.data import RawColumn, RawTable, storage_of
from netbenefit.validation.folds import weight_name

#: Numbers (NaN where missing) as floats, text (None where missing) as objects.
Columns = Mapping[str, NDArray[Any]]

#: A level has a column of its own from this weight of training rows on; so many of them at most.
RARE, MOST_LEVELS = 10.0, 30

_OTHER = object()


def read_plain(X: Any) -> dict[str, NDArray[Any]]:
    """Read a raw table into numbers and text; dates, and columns without a value, are left out.

    The type of a column is decided on all rows.
    """
    table = RawTable(X)
    columns = {}
    for name in table.names:
        column = table.column(name)
        kind = storage_of(column)
        if kind in ("date", "empty", "other"):
            continue
        words = column.is_category or kind in ("text", "mixed")
        columns[name] = _words(column) if words else _numbers(column)
    if not columns:
        raise InputError("no column holds numbers or text. Pass at least one.")
    return columns


def _numbers(column: RawColumn) -> FloatArray:
    values = column.values
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
    else:
        numbers = np.array([_number(item) for item in values.tolist()], dtype=np.float64)
    bad = np.flatnonzero(np.isinf(numbers))
    if bad.size:
        raise InputError(
            f"column {column.name!r} is infinite in ",
            RowNumber(int(bad[0])),
            f" ({bad.size} such rows). Correct them, or leave them empty.",
        )
    return numbers


def _number(item: Any) -> float:
    if isinstance(item, str):
        found = plain_number(item)
        return float("nan") if found is None else float(found)
    return float("nan") if as_value("", item, "any") is None else float(item)


def _words(column: RawColumn) -> NDArray[Any]:
    found = np.empty(len(column.values), dtype=object)
    for row, item in enumerate(column.values.tolist()):
        if isinstance(item, str):
            found[row] = item.strip() or None
        elif as_value(column.name, item, "any") is not None:
            found[row] = str(item)
    return found


# -- what is learnt from the training rows ---------------------------------------------------------


class _Number(NamedTuple):
    """A column of numbers: its median, and whether any was missing in training."""

    name: str
    median: float
    flagged: bool

    def matrix(self, columns: Columns) -> FloatArray:
        values = columns[self.name]
        missing = np.isnan(values)
        filled = np.where(missing, self.median, values)
        return np.column_stack([filled, missing])[:, : 2 if self.flagged else 1]


class _Text(NamedTuple):
    """A column of text: the groups of its levels, the last of which may be all other ones."""

    name: str
    levels: tuple[Any, ...]

    def matrix(self, columns: Columns) -> FloatArray:
        place = {level: i for i, level in enumerate(self.levels)}
        other = place.get(_OTHER, -1)
        code = np.array([place.get(item, other) for item in columns[self.name].tolist()])
        table: FloatArray = (code[:, None] == np.arange(len(self.levels))).astype(np.float64)
        return table[:, 1:] if len(self.levels) == 2 else table


class Preparation(NamedTuple):
    """What was learnt from training rows; turns any rows into a matrix of numbers."""

    parts: tuple[_Number | _Text, ...]
    kept: NDArray[np.intp]  #: columns that vary
    mean: FloatArray
    scale: FloatArray

    @classmethod
    def learn(cls, columns: Columns, weight: FloatArray) -> Preparation:
        """Learn medians, levels, means and scales."""
        parts = tuple(_learn_part(name, values, weight) for name, values in columns.items())
        matrix = np.column_stack([part.matrix(columns) for part in parts])
        share = weight / weight.sum()
        mean = share @ matrix
        scale = np.sqrt(share @ (matrix - mean) ** 2)
        kept = np.flatnonzero(scale > 1e-12 * np.maximum(1.0, np.abs(mean)))
        if not kept.size:
            raise InputError("every column is constant in the training rows. Use more rows.")
        return cls(parts, kept, mean[kept], scale[kept])

    def apply(self, columns: Columns) -> FloatArray:
        """Return the matrix of some rows."""
        matrix = np.column_stack([part.matrix(columns) for part in self.parts])
        result: FloatArray = (matrix[:, self.kept] - self.mean) / self.scale
        return result


class PreparedClassifier(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    BaseEstimator,  # type: ignore[misc]
):
    """A classifier of numbers that takes plain columns, see :func:`read_plain`."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Columns, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the preparation, then the classifier from what it makes of the rows."""
        self.preparation_ = Preparation.learn(X, check_weights(sample_weight, len(np.asarray(y))))
        self.estimator_ = clone(self.estimator)
        options = {}
        if sample_weight is not None:
            options[weight_name(self.estimator_)] = sample_weight
        self.estimator_.fit(self.preparation_.apply(X), y, **options)
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: Columns) -> FloatArray:
        """Risk of each row, as probabilities of both classes."""
        risks: FloatArray = self.estimator_.predict_proba(self.preparation_.apply(X))
        return risks


def _learn_part(name: str, values: NDArray[Any], weight: FloatArray) -> _Number | _Text:
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        known = ~missing
        median = weighted_median(values[known], weight[known]) if known.any() else 0.0
        return _Number(name, median, bool(missing.any()))
    mass: dict[Any, float] = {}
    for item, w in zip(values.tolist(), weight.tolist(), strict=True):
        mass[item] = mass.get(item, 0.0) + w
    # Sorted by name: the order of rows must not matter.
    frequent = sorted((k for k, m in mass.items() if m >= RARE), key=lambda k: (k is None, str(k)))
    largest = sorted(frequent, key=lambda k: -mass[k])[:MOST_LEVELS]
    levels = tuple(level for level in frequent if level in largest)
    rest = len(levels) < len(mass)
    return _Text(name, (*levels, _OTHER) if rest else levels)


def weighted_median(values: FloatArray, weight: FloatArray) -> float:
    """The median of values that count as often as their weights say."""
    order = np.argsort(values, kind="stable")
    ordered, total = values[order], np.cumsum(weight[order])
    half = total[-1] / 2
    place = int(np.searchsorted(total, half * (1 - 1e-12), side="left"))
    if place + 1 < ordered.size and total[place] <= half * (1 + 1e-12):
        return float((ordered[place] + ordered[place + 1]) / 2)
    return float(ordered[place])
