"""One adapter per method: an estimator with the settings of the published experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from netbenefit import RiskSLIMClassifier, SLIMClassifier
from netbenefit.common.checks import FloatArray
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.estimators.rss_dnb import RSSDNBClassifier
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.validation.models import lasso, pruned_tree, xgboost_platt
from netbenefit.validation.sensitivity import paper_grids
from reproduction.plan import Job

# -- plain logistic regression: maximum likelihood, without columns that others determine ----------


#: A column counts as determined by others when less than this share of its length is its own.
_OWN = 1e-8
#: Next to no penalty: where classes can be separated, the likelihood has no maximum.
_INVERSE_PENALTY = 1e6


def independent_columns(matrix: FloatArray) -> NDArray[np.intp]:
    """Columns that neither the constant nor the columns before them determine."""
    n_rows, n_columns = matrix.shape
    basis = np.empty((n_rows, n_columns + 1), order="F")
    basis[:, 0] = 1.0 / np.sqrt(n_rows)
    kept: list[int] = []
    for place, column in enumerate(matrix.T):
        rest = column.astype(np.float64)
        length = np.linalg.norm(rest)
        found = basis[:, : len(kept) + 1]
        for _ in range(2):  # twice: once leaves rounding errors of the size in question
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
    """Logistic regression as R and MATLAB fit it: (nearly) maximum likelihood.

    Columns that are determined by those before them get no coefficient.
    """

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit rows, (n_rows, n_features), with two labels."""
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


#: Of folds, searches and inner folds.
SEED = 0
#: Raised whenever a change to the code changes what fits give, so that none is mixed with old ones.
REVISION = 2

#: Names of the paper's settings, and those of our function for its grids.
_GRIDS = {
    "fine": "i/20",
    "coarse": "i/5",
    "random-ew": "random, equal",
    "random-lw": "random, length",
}


def make_model(job: Job) -> Any:
    """Return the estimator of a job, not fitted."""
    return _MAKERS[job.method](job)


def recipe_of(job: Job) -> str:
    """Everything that a job's result depends on, except data and version, as text."""
    return f"{_described(make_model(job))}, seed {SEED}, revision {REVISION}"


def _described(value: Any) -> str:
    """An estimator with those of its parameters that differ from their defaults."""
    if isinstance(value, Pipeline):
        return " + ".join(_described(step) for _, step in value.steps)
    if not hasattr(value, "get_params"):
        return repr(value)
    try:
        plain = type(value)().get_params(deep=False)
    except TypeError:  # it has parameters without defaults
        plain = {}
    settings = {name: _described(item) for name, item in value.get_params(deep=False).items()}
    changed = [
        f"{k}={text}" for k, text in settings.items() if text != _described(plain.get(k, ...))
    ]
    return f"{type(value).__name__}({', '.join(changed)})"


def _grid(job: Job) -> Thresholds | None:
    name = _GRIDS.get(job.setting)
    return None if name is None else paper_grids()[name]


def _published(solver: str) -> Callable[[Job], Any]:
    def make(job: Job) -> Any:
        return RSSDNBClassifier(
            solver=solver,
            thresholds=_grid(job),
            penalty=0.0 if job.setting == "c0=0" else "paper",
            # The annealing is so many steps, as published, however long they take.
            time_limit=None if solver == "anneal" else job.seconds,
            random_state=SEED,
            n_jobs=1,
        )

    return make


def _scorecard(job: Job) -> Any:
    return RiskScoreClassifier(
        binner=None,
        max_questions=None,
        time_limit=job.seconds,
        random_state=SEED,
        n_jobs=1,
    )


def _slim(job: Job) -> Any:
    # Risks of 0 and 1 are what the published figures of SLIM are made of.
    return SLIMClassifier(time_limit=job.seconds, calibrate=False, random_state=SEED, n_jobs=1)


def _riskslim(job: Job) -> Any:
    return RiskSLIMClassifier(time_limit=job.seconds, random_state=SEED)


def _lasso(job: Job) -> Any:
    return make_pipeline(StandardScaler(), lasso(SEED, rule="one_se"))


def _fasterrisk(job: Job) -> Any:
    from reproduction.fasterrisk import FasterRiskClassifier

    return FasterRiskClassifier()


_MAKERS: dict[str, Callable[[Job], Any]] = {
    "rss-dnb": _published("milp"),
    "rss-dnb-sa": _published("anneal"),
    "rss-dnb-exact": _published("exact"),
    "scorecard": _scorecard,
    "slim": _slim,
    "riskslim": _riskslim,
    "logistic": lambda job: FullRankLogistic(),
    "lasso": _lasso,
    "tree": lambda job: pruned_tree(SEED),
    "xgboost": lambda job: xgboost_platt(SEED),
    "fasterrisk": _fasterrisk,
}
