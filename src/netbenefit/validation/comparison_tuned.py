"""Two baselines whose complexity is chosen by cross-validation inside the training rows."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import __version__ as sklearn_version
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from netbenefit.common.checks import FloatArray, check_weights

__all__ = ["TunedClassifier", "lasso", "pruned_tree"]

Loss = Literal["log", "brier"]
Rule = Literal["min", "one_se"]

#: Strengths of a path: so many, over so many powers of ten.
_STEPS, _POWERS = 25, 3.0
_MOST_ALPHAS = 40


class TunedClassifier(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    BaseEstimator,  # type: ignore[misc]
):
    """A classifier of which one parameter is chosen by cross-validation.

    Candidates depend on the training rows; each is measured on inner folds that it was not fitted
    to, by the mean loss of its risks, rows weighted.  The best is fitted to all training rows, or
    the simplest whose loss is within one standard error of the best; of equals, the simplest.

    Parameters
    ----------
    estimator : classifier
    parameter : {"C", "ccp_alpha"}
        What is chosen: the inverse penalty of a lasso, or the price of a leaf of a tree.
    loss : {"log", "brier"}
        What is minimised: the log loss, or the Brier score (bounded, for trees with pure leaves).
    n_splits : int, default=5
    random_state : int, default=0
        Of the inner folds.
    rule : {"min", "one_se"}, default="min"
        The smallest loss, or the simplest model whose loss is not larger by more than the standard
        error of the smallest one, over the inner folds (Breiman et al. 1984).

    Attributes
    ----------
    best_estimator_ : classifier
    best_value_ : float
    classes_ : (2,) array

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 6))
    >>> y = rng.random(300) < 1 / (1 + np.exp(-2 * X[:, 0]))
    >>> model = lasso(0).fit(X, y)
    >>> int(np.abs(model.best_estimator_.coef_).argmax())
    0
    """

    def __init__(
        self,
        estimator: Any,
        parameter: str = "C",
        loss: Loss = "log",
        n_splits: int = 5,
        random_state: int = 0,
        rule: Rule = "min",
    ) -> None:
        self.estimator = estimator
        self.parameter = parameter
        self.loss = loss
        self.n_splits = n_splits
        self.random_state = random_state
        self.rule = rule

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose the parameter, then fit.

        Parameters
        ----------
        X : (n_rows, n_features) array
        y : (n_rows,) array
            Two labels.
        sample_weight : (n_rows,) array, optional
        """
        matrix = np.asarray(X, dtype=np.float64)
        self.classes_, code = np.unique(np.asarray(y), return_inverse=True)
        weight = check_weights(sample_weight, code.size)
        values = self._candidates(matrix, code, weight)
        losses, error = self._losses(matrix, code, weight, values)
        most = losses.min() + (error[losses.argmin()] if self.rule == "one_se" else 0.0)
        # Candidates come simplest first; a tie that only rounding breaks is a tie.
        best = int(np.argmax(losses <= most * (1 + 1e-9)))
        self.best_value_ = float(values[best])
        model = clone(self.estimator).set_params(**{self.parameter: self.best_value_})
        self.best_estimator_ = model.fit(matrix, code, sample_weight=weight)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Risk of each row, as probabilities of both classes."""
        result: FloatArray = self.best_estimator_.predict_proba(np.asarray(X, dtype=np.float64))
        return result

    def predict(self, X: Any) -> NDArray[Any]:
        """The likelier label of each row."""
        labels: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels

    # -- steps -----------------------------------------------------------------------------------

    def _candidates(
        self, matrix: FloatArray, code: NDArray[np.intp], weight: FloatArray
    ) -> FloatArray:
        """Values to try, from the simplest model to the most complex one."""
        if self.parameter == "C":
            # Above this penalty all coefficients are 0: the gradient of the loss at 0.
            residual = weight * (code - (weight @ code) / weight.sum())
            most = float(np.abs(residual @ matrix).max())
            weakest = 1.0 / most if most > 0 else 1.0
            result: FloatArray = np.geomspace(weakest, weakest * 10**_POWERS, _STEPS)
            return result
        tree = clone(self.estimator)
        path = tree.cost_complexity_pruning_path(matrix, code, sample_weight=weight)
        alphas = np.unique(np.maximum(path.ccp_alphas, 0.0))
        between = np.sqrt(alphas[:-1] * alphas[1:]) if alphas.size > 1 else np.empty(0)
        values = np.unique(np.concatenate([[0.0], between, alphas[-1:] * 1.0001]))
        values = values[::-1]
        if values.size > _MOST_ALPHAS:
            # Dense among small trees, where one more split changes most.
            steps = np.geomspace(1, values.size, _MOST_ALPHAS).round().astype(int) - 1
            values = values[np.unique(steps)]
        return values

    def _losses(
        self,
        matrix: FloatArray,
        code: NDArray[np.intp],
        weight: FloatArray,
        values: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Loss of each candidate on the inner folds, all rows together; its standard error."""
        n_splits = max(2, min(self.n_splits, int(np.bincount(code).min())))
        folds = StratifiedKFold(n_splits, shuffle=True, random_state=self.random_state)
        sums, totals = np.zeros((n_splits, values.size)), np.zeros(n_splits)
        for fold, (train, test) in enumerate(folds.split(matrix, code)):
            rows = _merged(matrix[train], code[train], weight[train])
            totals[fold] = weight[test].sum()
            for place, value in enumerate(values.tolist()):
                model = clone(self.estimator).set_params(**{self.parameter: value})
                model.fit(rows.matrix, rows.code, sample_weight=rows.weight)
                risk = model.predict_proba(matrix[test])[:, 1]
                sums[fold, place] = weight[test] @ self._loss(code[test], risk)
        means: FloatArray = sums.sum(axis=0) / totals.sum()
        spread = (sums / totals[:, None]).std(axis=0, ddof=1)
        error: FloatArray = spread / np.sqrt(n_splits)
        return means, error

    def _loss(self, code: NDArray[np.intp], risk: FloatArray) -> FloatArray:
        if self.loss == "brier":
            return (risk - code) ** 2
        right = np.clip(np.where(code == 1, risk, 1.0 - risk), 1e-15, 1.0)
        result: FloatArray = -np.log(right)
        return result


class _Rows(NamedTuple):
    matrix: FloatArray
    code: NDArray[np.intp]
    weight: FloatArray


def _merged(matrix: FloatArray, code: NDArray[np.intp], weight: FloatArray) -> _Rows:
    """Equal rows with equal outcomes become one row with their weight: the same loss, sooner."""
    both = np.column_stack([matrix, code])
    # Rows as bytes sort far faster than rows as numbers; + 0.0 makes −0.0 and 0.0 the same.
    keys = np.ascontiguousarray(both + 0.0).view(np.dtype((np.void, both.strides[0]))).ravel()
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    if first.size > code.size // 2:
        return _Rows(matrix, code, weight)
    total: FloatArray = np.bincount(place, weights=weight).astype(np.float64)
    return _Rows(matrix[first], code[first], total)


def lasso(seed: int, rule: Rule = "min") -> TunedClassifier:
    """Logistic regression with an L1 penalty that cross-validation chooses (Tibshirani 1996)."""
    kind = {"l1_ratio": 1.0} if _version() >= (1, 8) else {"penalty": "l1"}
    # liblinear counts the intercept among what is penalised; so large a scale makes that small.
    model = LogisticRegression(
        solver="liblinear", intercept_scaling=10.0, max_iter=1000, random_state=seed, **kind
    )
    return TunedClassifier(model, "C", "log", random_state=seed, rule=rule)


def pruned_tree(seed: int) -> TunedClassifier:
    """A decision tree, pruned by cost and complexity (Breiman et al. 1984)."""
    model = DecisionTreeClassifier(min_samples_leaf=5, random_state=seed)
    return TunedClassifier(model, "ccp_alpha", "brier", random_state=seed)


def _version() -> tuple[int, int]:
    major, minor = sklearn_version.split(".")[:2]
    return int(major), int(minor)
