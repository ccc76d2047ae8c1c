"""Means over folds: how sure one can be of them, and which are about as good as the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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


def with_error(value: float, error: float, decimals: int = 4) -> str:
    """Write a mean and its error."""
    return f"{format_number(value, decimals)} ± {format_number(error, decimals)}"


class FoldMeans(NamedTuple):
    """Means of several candidates over the same folds, and their differences to one of them."""

    mean: FloatArray
    error: FloatArray  #: corrected standard error of the mean
    to: int  #: number of the candidate that the others are compared with
    difference: FloatArray  #: mean less that of this candidate
    difference_error: FloatArray  #: from differences within folds, which vary less than the values
    near: NDArray[np.bool_]  #: which are at most one error of the difference below this candidate


def fold_means(values: FloatArray, ratio: float, reference: int | None = None) -> FoldMeans:
    """Compare candidates; ``values`` has one row per fold and one column per candidate.

    ``ratio`` is that of :func:`fold_ratio`; ``reference`` is the candidate to compare with, by
    default the best one, of equal ones the first.
    """
    mean = values.mean(axis=0)
    to = int(np.argmax(mean)) if reference is None else reference
    gaps = values - values[:, [to]]
    difference, error = gaps.mean(axis=0), corrected_error(gaps, ratio)
    near = near_best(difference, error, to)
    return FoldMeans(mean, corrected_error(values, ratio), to, difference, error, near)


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
