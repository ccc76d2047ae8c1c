"""Who takes part in a comparison: cards as they stand, classifiers by name, or any of your own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from netbenefit.cards.scorecard import Scorecard
from netbenefit.common.checks import InputError, shorten
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.estimators.rss_dnb import RSSDNBClassifier
from netbenefit.metrics.decision_curve import TREAT_ALL, TREAT_NONE
from netbenefit.metrics.evaluation_measures import size_of as size_of_fitted
from netbenefit.metrics.thresholds import Thresholds, ThresholdsLike, as_thresholds
from netbenefit.validation.comparison_platt import PlattScaled
from netbenefit.validation.comparison_tuned import lasso, pruned_tree
from netbenefit.validation.folds import weight_name

__all__ = [
    "NAMES",
    "Contestant",
    "Settings",
    "choose_thresholds",
    "read_models",
    "size_of",
    "xgboost_platt",
]

#: How a model gets its rows: as they came, or as numbers that were prepared.
Rows = Literal["raw", "prepared"]


class Contestant(NamedTuple):
    """A model that takes part."""

    model: Any  #: a card, or a classifier that is not fitted
    rows: Rows
    refitted: bool  #: False for a card, which is scored as it stands

    @property
    def given_risks(self) -> str | None:
        """The column of risks that teaches it; no feature of anybody."""
        own = isinstance(self.model, RiskScoreClassifier)
        return self.model._teacher_column() if own else None


class Settings(NamedTuple):
    """What classifiers by name are told."""

    thresholds: Thresholds
    time_limit: float | None
    max_features: int | None
    seed: int
    threads: int  #: −1 for all cores
    teacher: Any = "auto"  #: of "scorecard", as of :class:`RiskScoreClassifier`
    prior_strength: Any = "auto"


def _logistic(told: Settings) -> Any:
    # The default ridge, which is next to nothing unless rows are few or classes separable.
    return LogisticRegression(C=1.0, max_iter=5000, random_state=told.seed)


def _forest(told: Settings) -> Any:
    return RandomForestClassifier(
        n_estimators=500, min_samples_leaf=5, random_state=told.seed, n_jobs=told.threads
    )


def xgboost_platt(seed: int) -> PlattScaled:
    """Boosted trees as in the paper (depth 4, rate 0.1, 100 rounds), with Platt scaling."""
    try:
        from xgboost import XGBClassifier  # late: an extra
    except ImportError:
        raise InputError(
            "the model 'xgboost' needs the package xgboost, which is not installed. Install it "
            "with `pip install 'netbenefit[xgboost]'`, or leave the model out."
        ) from None
    trees = XGBClassifier(
        max_depth=4, learning_rate=0.1, n_estimators=100, random_state=seed, n_jobs=1
    )
    inner = StratifiedKFold(5, shuffle=True, random_state=seed)
    return PlattScaled(trees, cv=inner)


def _scorecard(told: Settings) -> Any:
    return RiskScoreClassifier(
        binner="auto",
        thresholds=told.thresholds,
        teacher=told.teacher,
        prior_strength=told.prior_strength,
        max_features=told.max_features,
        time_limit=told.time_limit,
        random_state=told.seed,
        n_jobs=told.threads,
    )


def _published(solver: str) -> Callable[[Settings], Any]:
    def make(told: Settings) -> Any:
        return RSSDNBClassifier(
            binner="auto",
            solver=solver,
            thresholds=told.thresholds,
            max_features=told.max_features,
            time_limit=told.time_limit,
            random_state=told.seed,
            n_jobs=told.threads,
        )

    return make


_MAKERS: dict[str, Callable[[Settings], Any]] = {
    "scorecard": _scorecard,
    "rss-dnb": _published("auto"),
    "rss-dnb-sa": _published("anneal"),
    "logistic": _logistic,
    "lasso": lambda told: lasso(told.seed),
    "tree": lambda told: pruned_tree(told.seed),
    "forest": _forest,
    "xgboost": lambda told: xgboost_platt(told.seed),
}
#: Classifiers that are known by name.
NAMES = tuple(_MAKERS)


def read_models(
    models: Any, settings: Callable[[Thresholds], Settings], grid: ThresholdsLike
) -> tuple[dict[str, Contestant], Thresholds]:
    """Models by name, ready to take part, and the thresholds that all are measured at."""
    given = _loaded(_by_name(models))
    thresholds = choose_thresholds(given, grid)
    told = settings(thresholds)
    return {name: _contestant(name, model, told) for name, model in given.items()}, thresholds


def _by_name(models: Any) -> dict[str, Any]:
    """A mapping as it is; a list of names, files and models under their own names."""
    if isinstance(models, Mapping):
        found = dict(models)
    else:
        single = isinstance(models, str | os.PathLike | Scorecard | BaseEstimator)
        found = {}
        for model in [models] if single else models:
            name = _own_name(model)
            if name in found:
                raise InputError(f"two models are called {name!r}. Pass a dict with your names.")
            found[name] = model
    if not found:
        raise InputError("no model was passed. Pass some, such as ['scorecard', 'logistic'].")
    for name in found:
        if not isinstance(name, str) or not name:
            raise InputError(f"model name {name!r} is not text. Name models by strings.")
        if name in (TREAT_ALL, TREAT_NONE):
            raise InputError(f"{name!r} names a reference strategy. Rename the model.")
    return found


def _own_name(model: Any) -> str:
    if isinstance(model, str):
        return Path(model).name if _is_file(model) else model
    if isinstance(model, os.PathLike):
        return Path(model).name
    return "card" if isinstance(model, Scorecard) else type(model).__name__


def _is_file(text: str) -> bool:
    return text not in _MAKERS and (text.endswith(".json") or os.sep in text)


def _loaded(models: Mapping[str, Any]) -> dict[str, Any]:
    """Read cards from files, and refuse names that nobody knows."""
    loaded = {}
    for name, model in models.items():
        file = isinstance(model, os.PathLike) or (isinstance(model, str) and _is_file(model))
        if file:
            path = Path(model)
            if not path.is_file():
                raise InputError(
                    f"{path}: no such file. Name a card that `netbenefit fit --out` has written."
                )
            model = Scorecard.load(path)
        elif isinstance(model, str) and model not in _MAKERS:
            raise InputError(
                f"no model is called {model!r}. Known are {', '.join(NAMES)}; a card is named by "
                "its file, such as card.json."
            )
        loaded[name] = model
    return loaded


def choose_thresholds(models: Mapping[str, Any], thresholds: ThresholdsLike) -> Thresholds:
    """The thresholds that were given, else those of the first model that has some of its own."""
    if thresholds is None:
        for model in models.values():
            own = getattr(model, "thresholds", None)
            if isinstance(model, Scorecard):
                return model.thresholds
            if isinstance(model, RiskScoreClassifier) and own is not None:
                return as_thresholds(own, model.weights)
    return as_thresholds(thresholds)


def _contestant(name: str, model: Any, told: Settings) -> Contestant:
    if isinstance(model, str):
        model = _MAKERS[model](told)
    if isinstance(model, Scorecard):
        return Contestant(model, "raw", refitted=False)
    if isinstance(model, type) or not hasattr(model, "fit"):
        what = f"the class {model.__name__}" if isinstance(model, type) else repr(type(model))
        raise InputError(
            f"{name!r} is {what}. Pass a classifier object, a Scorecard, or one of the names "
            f"{', '.join(NAMES)}."
        )
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"{name!r} is a {type(model).__name__}, which predicts no risks. Wrap it, as in "
            "sklearn.calibration.CalibratedClassifierCV(model)."
        )
    own = isinstance(model, RiskScoreClassifier | Pipeline)
    return Contestant(clone(model), "raw" if own else "prepared", refitted=True)


def fit_weights(name: str, model: Any, weight: Any) -> dict[str, Any]:
    """The argument of ``fit`` that brings the weights; refuses a model that takes none."""
    if weight is None:
        return {}
    try:
        return {weight_name(model): weight}
    except InputError as error:
        raise InputError(
            f"{name!r}: {error} (Models that take weights: {shorten(list(NAMES), 9)}.)"
        ) from None


def size_of(model: Any) -> float:
    """Rules of a card, non-zero coefficients, nodes of trees; NaN where there is no such number.

    Examples
    --------
    >>> size_of(LogisticRegression().fit([[0], [1], [2], [3]], [0, 0, 1, 1]))
    1.0
    """
    return float(model.size) if isinstance(model, Scorecard) else size_of_fitted(model)
