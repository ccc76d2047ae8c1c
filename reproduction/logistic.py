"""Plain logistic regression: maximum likelihood, without columns that others determine."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from netbenefit.common.checks import FloatArray

__all__ = ["FullRankLogistic", "independent_columns"]

#: A column counts as determined by others when less than this share of its length is its own.
_OWN = 1e-8
#: Next to no penalty: where classes can be separated, the likelihood has no maximum.
_INVERSE_PENALTY = 1e6


def independent_columns(matrix: FloatArray) -> NDArray[np.intp]:
    """Columns that neither the constant nor the columns before them determine.

    Examples
    --------
    >>> independent_columns(np.array([[1.0, 0, 1], [0, 1, 1], [0, 1, 1], [1, 0, 1]]))
    array([0])
    """
    n_rows, n_columns = matrix.shape
    basis = np.empty((n_rows, n_columns + 1), order="F")
    basis[:, 0] = 1.0 / np.sqrt(n_rows)
    kept: list[int] = []
    for place, column in enumerate(matrix.T):
        rest = column.astype(np.float64)
        length = np.linalg.norm(rest)
        found = basis[:, : len(kept) + 1]
        for _ in range(2):  # twice: once leaves rounding errors of the size that is asked about
            rest -= found @ (found.T @ rest)
        own = np.linalg.norm(rest)
        if own > _OWN * length:
            kept.append(place)
            basis[:, len(kept)] = rest / own
    return np.array(kept, dtype=np.intp)


class FullRankLogistic(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    BaseEstimator,  # type: ignore[misc]
):
    """Logistic regression as R and MATLAB fit it.

    Columns that the ones before them determine get no coefficient, so that sizes count what the
    model can use; the others get that of (all but) maximum likelihood.

    Attributes
    ----------
    coef_ : (1, n_features) array
    intercept_ : (1,) array
    classes_ : (2,) array

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (400, 2))
    >>> y = rng.random(400) < 0.2 + 0.5 * X[:, 0]
    >>> model = FullRankLogistic().fit(np.column_stack([X, 1 - X[:, 0]]), y)
    >>> model.coef_[0].round(1)[2]
    np.float64(0.0)
    """

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit.

        Parameters
        ----------
        X : (n_rows, n_features) array
        y : (n_rows,) array
            Two labels.
        """
        matrix = np.asarray(X, dtype=np.float64)
        kept = independent_columns(matrix)
        scale = matrix[:, kept].std(axis=0)
        model = LogisticRegression(
            C=_INVERSE_PENALTY, solver="newton-cholesky", max_iter=1000, tol=1e-8
        )
        model.fit((matrix[:, kept] - matrix[:, kept].mean(axis=0)) / scale, y)
        self.classes_ = model.classes_
        self.coef_ = np.zeros((1, matrix.shape[1]))
        self.coef_[0, kept] = model.coef_[0] / scale
        self.intercept_ = model.intercept_ - self.coef_[0] @ matrix.mean(axis=0)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Risk of each row, as probabilities of both classes."""
        from scipy.special import expit

        risk = expit(np.asarray(X, dtype=np.float64) @ self.coef_[0] + self.intercept_[0])
        return np.column_stack([1.0 - risk, risk])

    def predict(self, X: Any) -> NDArray[Any]:
        """The likelier label of each row."""
        labels: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels
