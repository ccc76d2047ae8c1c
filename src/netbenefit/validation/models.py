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
from netbenefit.common import FloatArray, InputError, check_weights, shorten
from netbenefit.estimators import RiskScoreClassifier, RSSDNBClassifier
from netbenefit.metrics import TREAT_ALL, TREAT_NONE, Thresholds, ThresholdsLike, as_thresholds
from netbenefit.validation.errors import corrected_error, near_best
from netbenefit.validation.folds import silenced, weight_name
from netbenefit.validation.prepare import PreparedClassifier

# -- Platt scaling that never reverses a model -----------------------------------------------------


class PlattScaled(CalibratedClassifierCV):  # type: ignore[misc]
    """A classifier whose scores become risks by a sigmoid that rises (Platt 1999).

    The sigmoid is fitted to scores of rows that were held out in inner folds; the classifier then
    learns from all rows.  Where held-out scores rank worse than chance, a falling sigmoid would fit
    best, and reverse a model that may be right: all risks then are the share of events.

    Parameters
    ----------
    estimator : classifier
    cv : int or splitter, default=5

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.arange(40)[:, None], np.arange(40) >= 20
    >>> model = PlattScaled(DecisionTreeClassifier(max_depth=1), cv=4).fit(X, y)
    >>> risk = model.predict_proba([[0], [39]])[:, 1]
    >>> bool(risk[0] < 0.5 < risk[1])
    True
    """

    def __init__(self, estimator: Any = None, *, cv: Any = 5) -> None:
        super().__init__(estimator, method="sigmoid", cv=cv, ensemble=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit classifier and sigmoid."""
        super().fit(X, y, sample_weight)
        weight = _check_sample_weight(sample_weight, X)
        event = np.asarray(y) == self.classes_[1]
        share = float(weight[event].sum() / weight.sum())
        for part in self.calibrated_classifiers_:
            for sigmoid in part.calibrators:
                if sigmoid.a_ > 0:  # the risk is expit(−(a · score + b))
                    sigmoid.a_, sigmoid.b_ = 0.0, -float(logit(share))
        return self


# -- two baselines whose complexity is chosen by cross-validation inside the training rows ---------


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
        return means, corrected_error(sums / totals[:, None], 0.0)

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


# --------------------------------------------------------------------------------------------------


class Candidate(NamedTuple):
    """A model that is compared with others."""

    model: Any  #: a classifier that is not fitted
    prepared: bool  #: whether it gets numbers that were prepared, not rows as they came
    refitted: bool  #: False for a card, which is scored as it stands

    @property
    def given_risks(self) -> str | None:
        """The column of risks that teaches it; no feature of any model."""
        own = isinstance(self.model, RiskScoreClassifier)
        return self.model._teacher_column() if own else None


class FixedCard(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    BaseEstimator,  # type: ignore[misc]
):
    """A card as a classifier that learns nothing."""

    def __init__(self, card: Scorecard) -> None:
        self.card = card

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Leave the card as it stands."""
        self.classes_ = np.unique(np.asarray(y))
        self.scorecard_ = self.card
        self.n_features_in_ = len(self.card.feature_names)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """The card's risks, as probabilities of both classes."""
        risk = np.asarray(self.scorecard_.risk(X), dtype=np.float64)
        return np.column_stack([1.0 - risk, risk])


class Settings(NamedTuple):
    """Settings of classifiers by name."""

    thresholds: Thresholds
    time_limit: float | None
    max_features: int | None
    seed: int
    threads: int  #: −1 for all cores
    teacher: Any = "auto"  #: of "scorecard", as of :class:`RiskScoreClassifier`
    prior_strength: Any = "auto"


def _logistic(settings: Settings) -> Any:
    # The default ridge, which is next to nothing unless rows are few or classes separable.
    return LogisticRegression(C=1.0, max_iter=5000, random_state=settings.seed)


def _forest(settings: Settings) -> Any:
    return RandomForestClassifier(
        n_estimators=500, min_samples_leaf=5, random_state=settings.seed, n_jobs=settings.threads
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


def _scorecard(settings: Settings) -> Any:
    return RiskScoreClassifier(
        binner="auto",
        thresholds=settings.thresholds,
        teacher=settings.teacher,
        prior_strength=settings.prior_strength,
        max_features=settings.max_features,
        time_limit=settings.time_limit,
        random_state=settings.seed,
        n_jobs=settings.threads,
    )


def _published(solver: str) -> Callable[[Settings], Any]:
    def make(settings: Settings) -> Any:
        return RSSDNBClassifier(
            binner="auto",
            solver=solver,
            thresholds=settings.thresholds,
            max_features=settings.max_features,
            time_limit=settings.time_limit,
            random_state=settings.seed,
            n_jobs=settings.threads,
        )

    return make


_MAKERS: dict[str, Callable[[Settings], Any]] = {
    "scorecard": _scorecard,
    "rss-dnb": _published("auto"),
    "rss-dnb-sa": _published("anneal"),
    "logistic": _logistic,
    "lasso": lambda settings: lasso(settings.seed),
    "tree": lambda settings: pruned_tree(settings.seed),
    "forest": _forest,
    "xgboost": lambda settings: xgboost_platt(settings.seed),
}
#: Classifiers that are known by name.
NAMES = tuple(_MAKERS)


def read_models(
    models: Any, settings: Callable[[Thresholds], Settings], grid: ThresholdsLike
) -> tuple[dict[str, Candidate], Thresholds]:
    """Models by name, ready to be compared, and the thresholds that all are measured at."""
    given = _loaded(_by_name(models))
    thresholds = choose_thresholds(given, grid)
    own = settings(thresholds)
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
    if isinstance(model, str):
        return Path(model).name if _is_file(model) else model
    if isinstance(model, os.PathLike):
        return Path(model).name
    return "card" if isinstance(model, Scorecard) else type(model).__name__


def _is_file(text: str) -> bool:
    return text not in _MAKERS and (text.endswith(".json") or os.sep in text)


def _loaded(models: Mapping[str, Any]) -> dict[str, Any]:
    """Read cards from files, and refuse names that are not known."""
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


def _candidate(name: str, model: Any, settings: Settings) -> Candidate:
    if isinstance(model, str):
        model = _MAKERS[model](settings)
    if isinstance(model, Scorecard):
        return Candidate(FixedCard(model), prepared=False, refitted=False)
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
        return Candidate(clone(model), prepared=False, refitted=True)
    return Candidate(PreparedClassifier(clone(silenced(model))), prepared=True, refitted=True)


def check_weighted(candidates: Mapping[str, Candidate]) -> None:
    """Refuse models that take no weights."""
    for name, candidate in candidates.items():
        model = candidate.model
        try:
            weight_name(model.estimator if candidate.prepared else model)
        except InputError as error:
            raise InputError(
                f"{name!r}: {error} (Models that take weights: {shorten(list(NAMES), 9)}.)"
            ) from None
