"""Models to compare: cards as they stand, classifiers by name, or any of your own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn import __version__ as sklearn_version
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import _check_sample_weight

from netbenefit.cards import Scorecard
from netbenefit.common import (
    FloatArray,
    InputError,
    check_weights,
    did_you_mean,
    install_command,
    shorten,
)
from netbenefit.data import learner_of_codes, match_labels, read_outcome
from netbenefit.estimators import RiskScoreClassifier, RSSDNBClassifier
from netbenefit.metrics import TREAT_ALL, TREAT_NONE, Thresholds, ThresholdsLike, as_thresholds
from netbenefit.validation.errors import corrected_error, near_best
from netbenefit.validation.folds import silenced, weight_name
from netbenefit.validation.names import NAMES
from netbenefit.validation.prepare import PreparedClassifier


class PlattScaled(CalibratedClassifierCV):  # type: ignore[misc]
    """A classifier whose scores become risks by a sigmoid that rises (Platt 1999).

    The sigmoid is fitted to scores of rows that were held out in inner folds; the classifier then
    learns from all rows.  Where held-out scores rank worse than chance, a falling sigmoid would fit
    best, and reverse a model that may be right: all risks then are the share of events.
    """

    def __init__(self, estimator: Any = None, *, cv: Any = 5) -> None:
        super().__init__(estimator, method="sigmoid", cv=cv, ensemble=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit classifier and sigmoid."""
        super().fit(X, y, sample_weight)
        weight = _check_sample_weight(sample_weight, X)
        event = match_labels(y, self.classes_, type(self).__name__)
        share = float(weight[event].sum() / weight.sum())
        for part in self.calibrated_classifiers_:
            for sigmoid in part.calibrators:
                if sigmoid.a_ > 0:  # the risk is expit(−(a · score + b))
                    sigmoid.a_, sigmoid.b_ = 0.0, -float(logit(share))
        return self


Rule = Literal["min", "one_se"]

#: Number of penalties of a lasso, and the powers of ten that they span.
_STEPS, _POWERS = 25, 3.0
_MOST_ALPHAS = 40
_INNER_FOLDS = 5


class TunedClassifier(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    BaseEstimator,  # type: ignore[misc]
):
    """A lasso or a pruned tree whose complexity is chosen by cross-validation.

    ``parameter`` is ``"C"``, the inverse penalty of a lasso, or ``"ccp_alpha"``, the price of a
    tree's leaf.  Candidates depend on the training rows; each is measured on inner folds by the
    mean log loss or, for trees, whose leaves may be pure, the Brier score.  ``rule`` chooses the
    smallest loss, or the simplest model whose loss is within one standard error of it (Breiman et
    al. 1984); of equals, the simplest.
    """

    def __init__(
        self, estimator: Any, parameter: str = "C", random_state: int = 0, rule: Rule = "min"
    ) -> None:
        self.estimator = estimator
        self.parameter = parameter
        self.random_state = random_state
        self.rule = rule

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose the parameter, then fit."""
        matrix = np.asarray(X, dtype=np.float64)
        outcome = read_outcome(y)
        self.classes_, code = outcome.labels, outcome.event.astype(np.intp)
        weight = check_weights(sample_weight, code.size)
        values = self._candidates(matrix, code, weight)
        losses, error = self._losses(matrix, code, weight, values)
        least = int(losses.argmin())
        within = float(error[least]) if self.rule == "one_se" else 0.0
        # Candidates come simplest first; a tie that only rounding breaks is a tie.
        within += 1e-9 * (float(losses[least]) + within)
        self.best_value_ = float(values[int(np.argmax(near_best(-losses, within, least)))])
        model = clone(self.estimator).set_params(**{self.parameter: self.best_value_})
        self.best_estimator_ = model.fit(matrix, code, sample_weight=weight)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Risk of each row, as probabilities of both classes."""
        result: FloatArray = self.best_estimator_.predict_proba(np.asarray(X, dtype=np.float64))
        return result

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
        tree = self.estimator
        path = tree.cost_complexity_pruning_path(matrix, code, sample_weight=weight)
        alphas = np.unique(np.maximum(path.ccp_alphas, 0.0))
        between = np.sqrt(alphas[:-1] * alphas[1:])
        values = np.unique([0.0, *between, alphas[-1] * 1.0001])[::-1]
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
        n_splits = max(2, min(_INNER_FOLDS, int(np.bincount(code).min())))
        folds = StratifiedKFold(n_splits, shuffle=True, random_state=self.random_state)
        sums, totals = np.zeros((n_splits, values.size)), np.zeros(n_splits)
        for fold, (train, test) in enumerate(folds.split(matrix, code)):
            merged, codes, mass = _merged(matrix[train], code[train], weight[train])
            totals[fold] = weight[test].sum()
            for place, value in enumerate(values.tolist()):
                model = clone(self.estimator).set_params(**{self.parameter: value})
                model.fit(merged, codes, sample_weight=mass)
                risk = model.predict_proba(matrix[test])[:, 1]
                sums[fold, place] = weight[test] @ self._loss(code[test], risk)
        means: FloatArray = sums.sum(axis=0) / totals.sum()
        return means, corrected_error(sums / totals[:, None], 0.0)

    def _loss(self, code: NDArray[np.intp], risk: FloatArray) -> FloatArray:
        if self.parameter == "ccp_alpha":
            return (risk - code) ** 2
        right = np.clip(np.where(code == 1, risk, 1.0 - risk), 1e-15, 1.0)
        result: FloatArray = -np.log(right)
        return result


def _merged(
    matrix: FloatArray, code: NDArray[np.intp], weight: FloatArray
) -> tuple[FloatArray, NDArray[np.intp], FloatArray]:
    """Equal rows with equal outcomes become one row with their weight: the same loss, faster."""
    both = np.column_stack([matrix, code])
    # Rows as bytes sort far faster than rows as numbers; + 0.0 makes −0.0 and 0.0 the same.
    keys = np.ascontiguousarray(both + 0.0).view(np.dtype((np.void, both.strides[0]))).ravel()
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    if first.size > code.size // 2:
        return matrix, code, weight
    mass: FloatArray = np.bincount(place, weights=weight).astype(np.float64)
    return matrix[first], code[first], mass


def lasso(seed: int, rule: Rule = "min") -> TunedClassifier:
    """Logistic regression with an L1 penalty that cross-validation chooses (Tibshirani 1996)."""
    version = [int(part) for part in sklearn_version.split(".")[:2]]
    kind = {"l1_ratio": 1.0} if version >= [1, 8] else {"penalty": "l1"}
    # liblinear counts the intercept among what is penalised; so large a scale makes that small.
    model = LogisticRegression(
        solver="liblinear", intercept_scaling=10.0, max_iter=1000, random_state=seed, **kind
    )
    return TunedClassifier(model, "C", seed, rule)


def pruned_tree(seed: int) -> TunedClassifier:
    """A decision tree, pruned by cost and complexity (Breiman et al. 1984)."""
    model = DecisionTreeClassifier(min_samples_leaf=5, random_state=seed)
    return TunedClassifier(model, "ccp_alpha", seed)


class FixedCard(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    BaseEstimator,  # type: ignore[misc]
):
    """A card as a classifier that learns nothing."""

    def __init__(self, card: Scorecard) -> None:
        self.card = card

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Leave the card as it stands."""
        self.classes_ = read_outcome(y).labels
        self.scorecard_ = self.card
        self.n_features_in_ = len(self.card.feature_names)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """The card's risks, as probabilities of both classes."""
        risk = np.asarray(self.scorecard_.risk(X), dtype=np.float64)
        return np.column_stack([1.0 - risk, risk])


class ModelOptions(NamedTuple):
    """What classifiers that are called by name are made with."""

    thresholds: Thresholds
    time_limit: float | None
    max_features: int | None
    max_questions: int | None
    seed: int
    threads: int  #: −1 for all cores
    teacher: Any  #: of "scorecard", as of :class:`RiskScoreClassifier`
    prior_strength: Any


def _logistic(options: ModelOptions) -> Any:
    # The default ridge, which is next to nothing unless rows are few or classes separable.
    return LogisticRegression(C=1.0, max_iter=5000, random_state=options.seed)


def _forest(options: ModelOptions) -> Any:
    return RandomForestClassifier(
        n_estimators=500, min_samples_leaf=5, random_state=options.seed, n_jobs=options.threads
    )


def xgboost_platt(seed: int) -> PlattScaled:
    """Boosted trees as in the paper (depth 4, rate 0.1, 100 rounds), with Platt scaling."""
    try:
        from xgboost import XGBClassifier  # late: an extra
    except ImportError:
        raise InputError(
            "the model 'xgboost' needs the package xgboost, which is not installed. Install it "
            f"with `{install_command('xgboost')}`, or leave the model out."
        ) from None
    trees = XGBClassifier(
        max_depth=4, learning_rate=0.1, n_estimators=100, random_state=seed, n_jobs=1
    )
    inner = StratifiedKFold(5, shuffle=True, random_state=seed)
    return PlattScaled(trees, cv=inner)


def _card(kind: type[RiskScoreClassifier], options: ModelOptions, **own: Any) -> Any:
    return kind(
        binner="auto",
        thresholds=options.thresholds,
        max_features=options.max_features,
        time_limit=options.time_limit,
        random_state=options.seed,
        n_jobs=options.threads,
        **own,
    )


def _scorecard(options: ModelOptions) -> Any:
    limited = {} if options.max_questions is None else {"max_questions": options.max_questions}
    return _card(
        RiskScoreClassifier,
        options,
        **limited,
        teacher=options.teacher,
        prior_strength=options.prior_strength,
    )


_MAKERS: dict[str, Callable[[ModelOptions], Any]] = {
    "scorecard": _scorecard,
    "rss-dnb": lambda options: _card(RSSDNBClassifier, options, solver="auto"),
    "rss-dnb-sa": lambda options: _card(RSSDNBClassifier, options, solver="anneal"),
    "logistic": _logistic,
    "lasso": lambda options: lasso(options.seed),
    "tree": lambda options: pruned_tree(options.seed),
    "forest": _forest,
    "xgboost": lambda options: xgboost_platt(options.seed),
}


def read_models(
    models: Any, options: Callable[[Thresholds], ModelOptions], grid: ThresholdsLike
) -> tuple[dict[str, Any], Thresholds]:
    """Models by name, ready to be compared, and the thresholds that all are measured at."""
    given = {name: _loaded(model) for name, model in _by_name(models).items()}
    thresholds = _thresholds(given, grid)
    own = options(thresholds)
    return {name: _candidate(name, model, own) for name, model in given.items()}, thresholds


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
    if _is_file(model):
        return Path(model).name
    if isinstance(model, str):
        return model
    return "card" if isinstance(model, Scorecard) else type(model).__name__


def _is_file(model: Any) -> bool:
    if isinstance(model, str):
        return model not in _MAKERS and (model.endswith(".json") or os.sep in model)
    return isinstance(model, os.PathLike)


def _loaded(model: Any) -> Any:
    """The card of a file; other models as they are, but no unknown names."""
    if _is_file(model):
        if not Path(model).is_file():
            raise InputError(
                f"{model}: no such file. Name a card that `netbenefit fit --out` has written."
            )
        return Scorecard.load(model)
    if isinstance(model, str) and model not in _MAKERS:
        raise InputError(
            f"no model is called {model!r}.{did_you_mean(model, NAMES)} Known are "
            f"{', '.join(NAMES)}; a card is named by "
            "its file, such as card.json."
        )
    return model


def _thresholds(models: Mapping[str, Any], thresholds: ThresholdsLike) -> Thresholds:
    """The thresholds that were given, else those of the first model that has some of its own."""
    if thresholds is None:
        for model in models.values():
            if isinstance(model, Scorecard):
                return model.thresholds
            if isinstance(model, RiskScoreClassifier) and model.thresholds is not None:
                return as_thresholds(model.thresholds, model.weights)
    return as_thresholds(thresholds)


def _candidate(name: str, model: Any, options: ModelOptions) -> Any:
    """A classifier, not fitted: a card as it stands, or one of raw rows, or of prepared numbers."""
    if isinstance(model, str):
        model = _MAKERS[model](options)
    if isinstance(model, Scorecard):
        return FixedCard(model)
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
    if isinstance(model, RiskScoreClassifier | Pipeline):
        return learner_of_codes(model)
    return PreparedClassifier(learner_of_codes(silenced(model)))


def teacher_column(model: Any) -> str | None:
    """The column of risks that teaches a model; no feature of any model."""
    return model._teacher_column() if isinstance(model, RiskScoreClassifier) else None


def check_weighted(candidates: Mapping[str, Any]) -> None:
    """Refuse models that take no weights."""
    for name, model in candidates.items():
        try:
            weight_name(model.estimator if isinstance(model, PreparedClassifier) else model)
        except InputError as error:
            known = f" (Models that take weights: {shorten(list(NAMES), 9)}.)"
            raise InputError(f"{name!r}: ", *error.args, known) from None
