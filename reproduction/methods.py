"""One adapter a method: an estimator with the settings of the published experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from netbenefit.estimators import RiskSLIMClassifier, SLIMClassifier
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.estimators.rss_dnb import RSSDNBClassifier
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.validation.comparison_tuned import lasso, pruned_tree
from netbenefit.validation.models import xgboost_platt
from netbenefit.validation.sensitivity import paper_grids
from reproduction.logistic import FullRankLogistic
from reproduction.plan import Job

__all__ = ["REVISION", "SEED", "make_model", "recipe_of"]

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
    """Return the estimator of a job, not fitted.

    Examples
    --------
    >>> make_model(Job("heart", "rss-dnb-sa", "coarse", 0, "standard")).solver
    'anneal'
    """
    return _MAKERS[job.method](job)


def recipe_of(job: Job) -> str:
    """Everything that the result of a job depends on, but data and version, as text.

    A row that was made by another recipe is made anew.

    Examples
    --------
    >>> recipe_of(Job("heart", "logistic", "original", 0, "quick"))
    'FullRankLogistic(), seed 0, revision 2'
    """
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
    told = {name: _described(item) for name, item in value.get_params(deep=False).items()}
    changed = [f"{k}={text}" for k, text in told.items() if text != _described(plain.get(k, ...))]
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
    return RiskScoreClassifier(time_limit=job.seconds, random_state=SEED, n_jobs=1)


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
