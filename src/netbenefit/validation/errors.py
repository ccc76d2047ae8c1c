"""Means over folds: how sure one can be of them, and which are about as good as the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import FloatArray, format_number


def corrected_error(values: FloatArray, ratio: float) -> FloatArray:
    """Standard error of means over folds (the first axis), corrected for shared training rows.

    sd · √(1/K + n_test / n_train), after Nadeau and Bengio (2003, Machine Learning); for repeated
    folds with K counting all of them (Bouckaert and Frank 2004).
    """
    result: FloatArray = values.std(axis=0, ddof=1) * np.sqrt(1.0 / len(values) + ratio)
    return result


def fold_ratio(folds: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> float:
    """Mean over the folds of n_test / n_train; see :func:`corrected_error`."""
    return float(np.mean([test.size / train.size for train, test in folds]))


def near_best(mean: FloatArray, error: FloatArray | float, best: int) -> NDArray[np.bool_]:
    """The one-standard-error rule: which means are at most one error below the best one."""
    return np.asarray(mean + error >= mean[best])


def with_error(value: float, error: float) -> str:
    """Write a mean and its standard error."""
    return f"{format_number(value)} ± {format_number(error)}"


@dataclass(frozen=True, eq=False)
class FoldMeans:
    """Means of several candidates over the same folds, and their differences to one of them.

    ``values`` has one row per fold and one column per candidate; ``ratio`` is that of
    :func:`fold_ratio`; ``reference`` is the candidate to compare with, by default the best one.
    """

    values: FloatArray
    ratio: float
    reference: int | None = None

    @cached_property
    def mean(self) -> FloatArray:
        """Mean over the folds."""
        result: FloatArray = self.values.mean(axis=0)
        return result

    @cached_property
    def error(self) -> FloatArray:
        """Its corrected standard error."""
        return corrected_error(self.values, self.ratio)

    @property
    def to(self) -> int:
        """Number of the candidate that the others are compared with; of equal ones the first."""
        return int(np.argmax(self.mean)) if self.reference is None else self.reference

    @cached_property
    def difference(self) -> FloatArray:
        """Mean less that of the candidate to compare with."""
        result: FloatArray = self._within_folds.mean(axis=0)
        return result

    @cached_property
    def difference_error(self) -> FloatArray:
        """Its corrected standard error, from the differences within each fold.

        These vary much less than the values do: a fold that is easy is easy for all.
        """
        return corrected_error(self._within_folds, self.ratio)

    @cached_property
    def near(self) -> NDArray[np.bool_]:
        """Which candidates are at most one error of the difference below that one."""
        return near_best(self.difference, self.difference_error, self.to)

    @property
    def _within_folds(self) -> FloatArray:
        result: FloatArray = self.values - self.values[:, [self.to]]
        return result


class ComparesFolds:
    """What results have in common that compare candidates over the same folds."""

    @property
    def _means(self) -> FoldMeans:
        raise NotImplementedError

    @property
    def difference(self) -> FloatArray:
        """Mean on held-out rows less that of the candidate to compare with."""
        return self._means.difference

    @property
    def difference_se(self) -> FloatArray:
        """Its standard error, from differences within folds, corrected (Nadeau and Bengio)."""
        return self._means.difference_error
