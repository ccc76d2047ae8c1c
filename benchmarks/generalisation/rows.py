"""Rows as the baselines see them: equal rows merged, columns standardised, folds drawn once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


class Counts(NamedTuple):
    """How many events and non-events each distinct row has."""

    events: FloatArray
    nonevents: FloatArray

    @property
    def total(self) -> float:
        """Number of rows."""
        return float(self.events.sum() + self.nonevents.sum())


class Fold(NamedTuple):
    """Counts of training rows and of test rows."""

    train: Counts
    validation: Counts


@dataclass(frozen=True)
class MergedRows:
    """Distinct rows with their outcomes: the same fit as on all rows, at a fraction of the cost.

    ``X`` is (n_distinct, n_columns); ``group`` and ``y`` are (n_rows,), with the distinct row that
    each row equals.
    """

    X: FloatArray
    group: NDArray[np.intp]
    y: BoolArray

    @classmethod
    def of(cls, X: NDArray[Any], y: BoolArray) -> MergedRows:
        """Merge equal rows."""
        distinct, group = np.unique(X, axis=0, return_inverse=True)
        return cls(distinct.astype(np.float64), np.ravel(group), np.asarray(y, dtype=bool))

    def counts(self, chosen: NDArray[Any] | slice = slice(None)) -> Counts:
        """Count the chosen rows."""
        group, y, size = self.group[chosen], self.y[chosen], len(self.X)
        return Counts(
            np.bincount(group[y], minlength=size).astype(np.float64),
            np.bincount(group[~y], minlength=size).astype(np.float64),
        )

    def folds(self, seed: int) -> Iterator[Fold]:
        """Five stratified folds, or as many as the rarer class allows."""
        splitter = StratifiedKFold(fold_count(self.y), shuffle=True, random_state=seed)
        for train, validation in splitter.split(self.group, self.y):
            yield Fold(self.counts(train), self.counts(validation))


def fold_count(y: BoolArray) -> int:
    """Number of folds of an inner cross-validation: five where each can hold both classes."""
    events = int(np.count_nonzero(y))
    return max(2, min(5, events, y.size - events))


def stack(X: FloatArray, counts: Counts) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Rows, outcomes and weights for scikit-learn: a distinct row once for each of its outcomes."""
    events, nonevents = counts.events > 0, counts.nonevents > 0
    y = np.repeat([True, False], [events.sum(), nonevents.sum()])
    weight = np.concatenate([counts.events[events], counts.nonevents[nonevents]])
    return np.concatenate([X[events], X[nonevents]]), y, weight


@dataclass(frozen=True)
class Standardiser:
    """Shift and scale of columns, learnt on training rows; a constant column becomes 0."""

    mean: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, X: NDArray[Any]) -> Standardiser:
        """Learn from all training rows."""
        scale = X.std(axis=0)
        return cls(X.mean(axis=0), np.where(scale > 0, scale, 1.0))

    def __call__(self, X: NDArray[Any]) -> FloatArray:
        """Standardise rows."""
        result: FloatArray = (X - self.mean) / self.scale
        return result
