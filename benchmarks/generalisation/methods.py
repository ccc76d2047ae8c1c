"""The methods that are compared, behind one small interface.

All of them get the same rows, and nothing but the training rows decides their settings.
"""

from __future__ import annotations

import importlib.util
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold

from benchmarks.generalisation import logistic, trees
from benchmarks.generalisation.rows import (
    BoolArray,
    FloatArray,
    MergedRows,
    Standardiser,
    fold_count as inner_folds,
)
from netbenefit.metrics.thresholds import Thresholds

#: Seconds of search and proof that a card is given.
TIME_LIMIT = 10.0


class Model(NamedTuple):
    """A fitted model."""

    risk: Callable[[NDArray[Any]], FloatArray]
    size: float | None  # non-zero coefficients, or nodes
    gap: float | None = None  # how much better, at most, another card could be


class Fit(NamedTuple):
    """What a method made of the training rows."""

    risk: FloatArray  # of the test rows
    size: float | None
    seconds: float
    gap: float | None = None


@dataclass(frozen=True)
class Method(ABC):
    """A way to learn risks."""

    name: str

    #: Raised when a change of the code changes the risks: older results are then run again.
    version: ClassVar[int] = 1
    #: Whether a person can read the model.
    interpretable: ClassVar[bool] = True
    #: Whether it is this package's: its results depend on the package's code.
    ours: ClassVar[bool] = False
    #: Whether it gets the columns as measured, where those of the others are binned.
    raw: ClassVar[bool] = False

    def settings(self) -> dict[str, object]:
        """All that decides the result, for the digest."""
        return {"version": self.version, **asdict(self)}

    def missing(self) -> str | None:
        """Why the method cannot run here; None if it can."""
        return None

    def fit_predict(
        self,
        X_train: NDArray[Any],
        y_train: BoolArray,
        X_test: NDArray[Any],
        thresholds: Thresholds,
        seed: int,
    ) -> Fit:
        """Fit to the training rows and return the risks of the test rows."""
        earlier = self._prepare(X_train, y_train, seed)
        begin = time.perf_counter()
        model = self._fit(X_train, y_train, thresholds, seed)
        seconds = earlier + time.perf_counter() - begin
        risk = np.asarray(model.risk(X_test), dtype=np.float64)
        return Fit(risk, model.size, seconds, model.gap)

    def _prepare(self, X: NDArray[Any], y: BoolArray, seed: int) -> float:
        """Do what comes before the clock starts; return the seconds to add for it."""
        return 0.0

    @abstractmethod
    def _fit(self, X: NDArray[Any], y: BoolArray, thresholds: Thresholds, seed: int) -> Model: ...


@dataclass(frozen=True)
class Card(Method):
    """A scorecard of this package."""

    estimator: str = "RiskScoreClassifier"
    solver: str | None = None  # None: the estimator's default
    time_limit: float | None = TIME_LIMIT
    max_features: int | None = None

    ours = True

    def missing(self) -> str | None:
        """Whether the package has the estimator."""
        import netbenefit

        if hasattr(netbenefit, self.estimator):
            return None
        return f"netbenefit has no {self.estimator}"

    def build(self, thresholds: Thresholds, seed: int) -> Any:
        """Make the estimator, with its own defaults for everything else."""
        import netbenefit

        options: dict[str, object] = {} if self.solver is None else {"solver": self.solver}
        if self.time_limit is not None:
            options["time_limit"] = self.time_limit
        make = getattr(netbenefit, self.estimator)
        options["binner"] = "auto" if self.raw else None
        return make(
            thresholds=thresholds,
            n_jobs=1,
            random_state=seed,
            max_features=self.max_features,
            **options,
        )

    def _prepare(self, X: NDArray[Any], y: BoolArray, seed: int) -> float:
        compile_for(self)
        return 0.0

    def _fit(self, X: Any, y: BoolArray, thresholds: Thresholds, seed: int) -> Model:
        model = self.build(thresholds, seed).fit(X, y)
        gap = model.result_.gap
        return Model(_risk_of(model, _as_is), int(np.count_nonzero(model.coef_)), gap)


class RawCard(Card):
    """The same from the columns as measured: it makes its own conditions."""

    raw = True


def _as_is(X: Any) -> Any:
    return X


@cache
def compile_for(card: Card) -> None:
    """Compile before the clock starts, once in each process."""
    X = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 25)
    event = X[:, 0] > 0
    event[:10] = ~event[:10]  # a copy of the outcome is refused as a column
    card.build(Thresholds.tenths(), 0).fit(X, event)


@dataclass(frozen=True)
class Logistic(Method):
    """Logistic regression on standardised columns, with a ridge too weak to matter."""

    C: float = logistic.PLAIN_C

    def _fit(self, X: NDArray[Any], y: BoolArray, thresholds: Thresholds, seed: int) -> Model:
        model, standardise = logistic.fit_plain(X, y)
        return Model(_risk_of(model, standardise), int(np.count_nonzero(model.coef_)))


class RawLogistic(Logistic):
    """The same on the columns as measured."""

    raw = True


@dataclass(frozen=True)
class Lasso(Method):
    """L1-penalised logistic regression on standardised columns.

    The penalty has the lowest log loss in five folds, or is the largest within one standard error.
    """

    one_standard_error: bool = False
    steps: int = logistic.STEPS
    smallest: float = logistic.SMALLEST

    def _prepare(self, X: NDArray[Any], y: BoolArray, seed: int) -> float:
        return logistic.cross_validate(X, y, seed).seconds

    def _fit(self, X: NDArray[Any], y: BoolArray, thresholds: Thresholds, seed: int) -> Model:
        choice = logistic.cross_validate(X, y, seed)
        penalty = choice.one_standard_error() if self.one_standard_error else choice.best()
        merged, standardise = MergedRows.of(X, y), Standardiser.of(X)
        model = logistic.fit_lasso(standardise(merged.X), merged.counts(), penalty)
        return Model(_risk_of(model, standardise), int(np.count_nonzero(model.coef_)))


@dataclass(frozen=True)
class Tree(Method):
    """A decision tree, pruned to the highest AUNBC in five folds; its size counts nodes."""

    prunings: int = trees.PRUNINGS

    def _fit(self, X: NDArray[Any], y: BoolArray, thresholds: Thresholds, seed: int) -> Model:
        tree = trees.fit_pruned(X, y, thresholds, seed)
        return Model(_risk_of(tree), int(tree.tree_.node_count))


@dataclass(frozen=True)
class XGBoost(Method):
    """Boosted trees with Platt scaling of the log-odds, fitted on out-of-fold scores."""

    max_depth: int = 4
    learning_rate: float = 0.1
    n_estimators: int = 100

    interpretable = False

    def missing(self) -> str | None:
        """Whether the library is there."""
        found = importlib.util.find_spec("xgboost") is not None
        return None if found else "xgboost is not installed (pip install xgboost-cpu)"

    def _fit(self, X: NDArray[Any], y: BoolArray, thresholds: Thresholds, seed: int) -> Model:
        from benchmarks.generalisation.boosting import MarginBooster  # late: may be absent

        booster = MarginBooster(
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            n_estimators=self.n_estimators,
            n_jobs=1,
            random_state=seed,
        )
        folds = StratifiedKFold(inner_folds(y), shuffle=True, random_state=seed)
        model = CalibratedClassifierCV(booster, method="sigmoid", cv=folds)
        return Model(_risk_of(model.fit(X, y.astype(np.int64))), None)


def _risk_of(model: Any, before: Callable[[Any], Any] = np.asarray) -> Callable[[Any], FloatArray]:
    """Risk by a fitted scikit-learn model, of columns that are transformed before."""

    def risk(X: NDArray[Any]) -> FloatArray:
        result: FloatArray = model.predict_proba(before(X))[:, 1]
        return result

    return risk


def all_methods(time_limit: float = TIME_LIMIT) -> tuple[Method, ...]:
    """Every method, in the order of the tables."""
    published = "RSSDNBClassifier"
    return (
        Card("default", time_limit=time_limit),
        RawCard("card", time_limit=time_limit),
        RawCard("card_5", time_limit=time_limit, max_features=5),
        # The annealing's length is part of what was published: it has no time limit.
        Card("published", published, solver="anneal", time_limit=None),
        Card("published_hard", published, solver="local", time_limit=time_limit),
        Logistic("logistic"),
        RawLogistic("logistic_raw"),
        Lasso("lasso"),
        Lasso("lasso_1se", one_standard_error=True),
        Tree("tree"),
        XGBoost("xgboost"),
    )


def choose_methods(names: Sequence[str] | None, time_limit: float = TIME_LIMIT) -> list[Method]:
    """Select methods by name; None is all of them."""
    known = {method.name: method for method in all_methods(time_limit)}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise SystemExit(f"no method {unknown[0]!r}; there are {', '.join(known)}")
    return [method for name, method in known.items() if names is None or name in names]
