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

from benchmarks.generalisation import faster, forward, logistic, trees
from benchmarks.generalisation.data import Need
from benchmarks.generalisation.rows import (
    BoolArray,
    FloatArray,
    IntArray,
    MergedRows,
    Standardiser,
    fold_count as inner_folds,
)
from netbenefit.metrics.thresholds import Thresholds
from reproduction import fasterrisk

#: Seconds of search and proof that a card is given.
TIME_LIMIT = 10.0
#: Most questions, on raw tables.
QUESTIONS = (5, 8)
#: Most questions of the fits that are timed.
TIMED_LIMIT = 5


class Training(NamedTuple):
    """What a method learns from."""

    X: Any
    y: BoolArray
    thresholds: Thresholds
    seed: int
    questions: IntArray | None = None  # question of each column, where they are known

    def asked(self, coef: NDArray[Any]) -> int | None:
        """How many questions coefficients ask; None where they are not known."""
        if self.questions is None:
            return None
        return int(np.unique(self.questions[np.ravel(coef) != 0]).size)


class Model(NamedTuple):
    """A fitted model."""

    risk: Callable[[NDArray[Any]], FloatArray]
    size: float | None  # non-zero coefficients, or nodes
    gap: float | None = None  # how much better, at most, another card could be
    questions: int | None = None  # that one has to answer


class Fit(NamedTuple):
    """What a method made of the training rows."""

    risk: FloatArray  # of the test rows
    size: float | None
    seconds: float
    gap: float | None = None
    questions: int | None = None


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
    #: What a case must offer.
    needs: ClassVar[Need] = "codes"

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
        questions: IntArray | None = None,
    ) -> Fit:
        """Fit to the training rows and return the risks of the test rows."""
        earlier = self._prepare(X_train, y_train, seed)
        begin = time.perf_counter()
        model = self._fit(Training(X_train, y_train, thresholds, seed, questions))
        seconds = earlier + time.perf_counter() - begin
        risk = np.asarray(model.risk(X_test), dtype=np.float64)
        return Fit(risk, model.size, seconds, model.gap, model.questions)

    def _prepare(self, X: NDArray[Any], y: BoolArray, seed: int) -> float:
        """Do what comes before the clock starts; return the seconds to add for it."""
        return 0.0

    @abstractmethod
    def _fit(self, training: Training) -> Model: ...


@dataclass(frozen=True)
class Card(Method):
    """A scorecard of this package."""

    estimator: str = "RiskScoreClassifier"
    solver: str | None = None  # None: the estimator's default
    time_limit: float | None = TIME_LIMIT
    max_features: int | None = None

    ours = True
    #: Threads of a fit.
    n_jobs: ClassVar[int] = 1

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
        if self.estimator == "RiskScoreClassifier":
            options["max_questions"] = None
        return make(
            thresholds=thresholds,
            n_jobs=self.n_jobs,
            random_state=seed,
            max_features=self.max_features,
            **(options | self._limits()),
        )

    def _limits(self) -> dict[str, object]:
        """Further limits on the card."""
        return {}

    def _prepare(self, X: NDArray[Any], y: BoolArray, seed: int) -> float:
        compile_for(self)
        return 0.0

    def _fit(self, training: Training) -> Model:
        model = self.build(training.thresholds, training.seed).fit(training.X, training.y)
        questions = training.asked(model.coef_)
        if self.raw:  # the columns of its own conditions
            terms = zip(model.binner_.terms_, model.coef_, strict=True)
            questions = len({term.feature for term, points in terms if points})
        size = int(np.count_nonzero(model.coef_))
        return Model(_risk_of(model, _as_is), size, model.result_.gap, questions)


class RawCard(Card):
    """The same from the columns as measured: it makes its own conditions."""

    raw = True
    needs = "table"


@dataclass(frozen=True)
class QuestionCard(RawCard):
    """The same with a limit on questions: raw columns that its conditions are about."""

    max_questions: int | None = None

    def _limits(self) -> dict[str, object]:
        return {"max_questions": self.max_questions}


class TimedCard(QuestionCard):
    """The same with all cores, as a user fits it; the clock starts when all is compiled."""

    n_jobs = -1
    needs = "cores"

    def _prepare(self, X: Any, y: BoolArray, seed: int) -> float:
        if self not in _warm:  # not compile_for: a few rows do not reach all compiled functions
            self.build(Thresholds.tenths(), seed).fit(X, y)
            _warm.add(self)
        return 0.0


_warm: set[TimedCard] = set()


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

    def _fit(self, training: Training) -> Model:
        model, standardise = logistic.fit_plain(training.X, training.y)
        return _linear(training, model.coef_, _risk_of(model, standardise))


class RawLogistic(Logistic):
    """The same on the columns as measured."""

    raw = True
    needs = "numbers"


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

    def _fit(self, training: Training) -> Model:
        X, y = training.X, training.y
        choice = logistic.cross_validate(X, y, training.seed)
        penalty = choice.one_standard_error() if self.one_standard_error else choice.best()
        merged, standardise = MergedRows.of(X, y), Standardiser.of(X)
        model = logistic.fit_lasso(standardise(merged.X), merged.counts(), penalty)
        return _linear(training, model.coef_, _risk_of(model, standardise))


@dataclass(frozen=True)
class Forward(Method):
    """Forward selection of whole questions by log loss in five folds, rounded to points."""

    max_questions: int = 5
    max_points: int = 10

    needs = "questions"

    def _fit(self, training: Training) -> Model:
        assert training.questions is not None
        card = forward.fit_forward(
            training.X,
            training.y,
            training.questions,
            max_questions=self.max_questions,
            max_points=self.max_points,
            seed=training.seed,
        )
        return _linear(training, card.points, card.risk)


@dataclass(frozen=True)
class FasterRisk(Method):
    """FasterRisk with its limit on groups of columns: a group is a question.

    It has to be told the number of rules, too: two for each question.
    """

    max_questions: int = 5
    max_points: int = 10
    rules: int = 2  # for each question

    needs = "questions"

    def missing(self) -> str | None:
        """Whether there is an interpreter that has it."""
        found = fasterrisk.available()
        return None if found else f"FasterRisk is not installed (see {fasterrisk.VARIABLE})"

    def _fit(self, training: Training) -> Model:
        assert training.questions is not None
        model = faster.fit_fasterrisk(
            training.X,
            training.y,
            training.questions,
            max_questions=self.max_questions,
            max_points=self.max_points,
            rules=self.rules * self.max_questions,
        )
        return _linear(training, model.coef_, _risk_of(model))


@dataclass(frozen=True)
class Tree(Method):
    """A decision tree, pruned to the highest AUNBC in five folds; its size counts nodes."""

    prunings: int = trees.PRUNINGS

    def _fit(self, training: Training) -> Model:
        tree = trees.fit_pruned(training.X, training.y, training.thresholds, training.seed)
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

    def _fit(self, training: Training) -> Model:
        from benchmarks.generalisation.boosting import MarginBooster  # late: may be absent

        booster = MarginBooster(
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            n_estimators=self.n_estimators,
            n_jobs=1,
            random_state=training.seed,
        )
        y = training.y
        folds = StratifiedKFold(inner_folds(y), shuffle=True, random_state=training.seed)
        model = CalibratedClassifierCV(booster, method="sigmoid", cv=folds)
        return Model(_risk_of(model.fit(training.X, y.astype(np.int64))), None)


def _linear(training: Training, coef: NDArray[Any], risk: Callable[..., FloatArray]) -> Model:
    """A model of coefficients."""
    return Model(risk, int(np.count_nonzero(coef)), questions=training.asked(coef))


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
        *(QuestionCard(f"card_{k}q", time_limit=time_limit, max_questions=k) for k in QUESTIONS),
        *(FasterRisk(f"fasterrisk_{k}q", max_questions=k) for k in QUESTIONS),
        *(Forward(f"forward_{k}q", max_questions=k) for k in QUESTIONS),
        # The annealing's length is part of what was published: it has no time limit.
        Card("published", published, solver="anneal", time_limit=None),
        Card("published_hard", published, solver="local", time_limit=time_limit),
        Logistic("logistic"),
        RawLogistic("logistic_raw"),
        Lasso("lasso"),
        Lasso("lasso_1se", one_standard_error=True),
        Tree("tree"),
        XGBoost("xgboost"),
        TimedCard("timed", time_limit=time_limit),
        TimedCard(f"timed_{TIMED_LIMIT}q", time_limit=time_limit, max_questions=TIMED_LIMIT),
    )


def choose_methods(names: Sequence[str] | None, time_limit: float = TIME_LIMIT) -> list[Method]:
    """Select methods by name; None is all of them."""
    known = {method.name: method for method in all_methods(time_limit)}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise SystemExit(f"no method {unknown[0]!r}; there are {', '.join(known)}")
    return [method for name, method in known.items() if names is None or name in names]
