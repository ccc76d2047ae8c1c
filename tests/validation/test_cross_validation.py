"""Cross-validation against slow twins; nothing of a held-out row reaches the model it measures."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import netbenefit as nb
from netbenefit import InputError, RiskScoreClassifier, cross_validate, nested_cross_validate
from netbenefit.validation.folds import Sample, make_folds, prepared, take_rows
from tests.helpers.cards import SHORT_SEARCH
from tests.helpers.leaks import LeakDetector

GRID = nb.Thresholds.of([0.1, 0.25, 0.5], weights=[0.5, 0.25, 0.25])


def rows(n: int = 120, seed: int = 0, columns: int = 4) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns)).round(1)  # ties
    y = rng.random(n) < 1 / (1 + np.exp(1 - X[:, 0] + X[:, 1]))
    return X, y, rng.integers(0, 4, n).astype(float)


def truth(y: Any, risk: Any, weight: Any, at: float) -> dict[str, float]:
    """The measures, each in the plainest way."""
    weight = np.ones(len(y)) if weight is None else weight
    total = weight.sum()

    def benefit(p: float) -> float:
        hit = weight[(risk >= p) & y].sum()
        alarm = weight[(risk >= p) & ~y].sum()
        return float(hit / total - alarm / total * p / (1 - p))

    edges = [*GRID.values, 1.0]
    error = 0.0
    for low, high in pairwise(edges):
        inside = (risk >= low) & ((risk < high) | (high == 1.0))
        error += abs((weight * (y - risk))[inside].sum()) / total
    lengths = np.diff([0.1, 0.25, 0.5, 1.0])
    values = [benefit(p) for p in (0.1, 0.25, 0.5)]
    return {
        "aunbc": float(lengths @ values) / 0.9,
        "net_benefit": float(np.array([0.5, 0.25, 0.25]) @ values),
        "auroc": roc_auc_score(y, risk, sample_weight=weight),
        "ece": error,
        f"net_benefit_at_{at:g}": benefit(at),
    }


# -- the slow twin ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_cross_validation_is_what_one_would_do_by_hand(seed: int, weighted: bool) -> None:
    X, y, weight = rows(seed=seed)
    splitter = StratifiedKFold(4, shuffle=True, random_state=seed)
    model = LogisticRegression(solver="newton-cholesky")
    found = cross_validate(
        model,
        X,
        np.where(y, "yes", "no"),
        folds=splitter,
        thresholds=GRID,
        net_benefit_at=0.3,
        sample_weight=weight if weighted else None,
    )
    for k, (train, test) in enumerate(splitter.split(X, y)):
        own = weight if weighted else np.ones(len(y))
        fitted = clone(model).fit(X[train], y[train], own[train])
        risk = fitted.predict_proba(X)[:, 1]
        np.testing.assert_allclose(found.predictions[0, test], risk[test], atol=1e-12)
        for part, where in (("held_out", test), ("training", train)):
            expected = truth(y[where], risk[where], own[where], 0.3)
            seen = {m: values[k] for m, values in getattr(found, part).items() if m != "size"}
            assert seen == pytest.approx(expected, abs=1e-9)
        assert found.held_out["size"][k] == 4
    assert not hasattr(model, "coef_")  # left as it was


def test_weights_count_rows_several_times() -> None:
    X, y, weight = rows(60, seed=3)
    copies = np.repeat(np.arange(60), weight.astype(int))
    splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    folds = list(splitter.split(X, y))
    twin = [
        (np.flatnonzero(np.isin(copies, a)), np.flatnonzero(np.isin(copies, b))) for a, b in folds
    ]
    model = LogisticRegression(tol=1e-10, max_iter=1000)
    one = cross_validate(model, X, y, folds=folds, sample_weight=weight)
    other = cross_validate(model, X[copies], y[copies], folds=twin)
    for measure in one.held_out:
        np.testing.assert_allclose(one.held_out[measure], other.held_out[measure], atol=1e-6)


def test_means_and_errors() -> None:
    X, y, _ = rows(200)
    found = cross_validate(LogisticRegression(solver="liblinear"), X, y, folds=5, repeats=3)
    values = found.held_out["aunbc"]
    assert values.size == found.n_models == 15
    assert found.mean["aunbc"] == pytest.approx(np.mean(values))
    assert found.sd["aunbc"] == pytest.approx(np.std(values, ddof=1))
    assert found.se["aunbc"] == pytest.approx(np.std(values, ddof=1) / 15**0.5)
    # Nadeau and Bengio: 40 rows held out, 160 learnt from
    assert found.se_corrected["aunbc"] == pytest.approx(
        np.std(values, ddof=1) * (1 / 15 + 0.25) ** 0.5
    )
    low, high = found.interval("aunbc")
    assert (low + high) / 2 == pytest.approx(found.mean["aunbc"])
    assert (high - low) / 2 == pytest.approx(
        2.144786687916925 * found.se_corrected["aunbc"]
    )  # t, 14
    table = found.to_table()
    assert table["measure"].tolist() == ["aunbc", "net_benefit", "auroc", "ece", "size"]
    assert table["training"][0] == pytest.approx(found.training["aunbc"].mean())
    assert "15 folds in 3 repeats" in str(found)
    assert not np.isnan(found.predictions).any()
    with pytest.raises(InputError, match="no measure 'brier'"):
        found.interval("brier")


# -- folds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(100))
def test_folds_are_even_in_every_class(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(20, 60)), int(rng.integers(2, 6))
    event = np.arange(n) < rng.integers(k, n - 2 * k)
    rng.shuffle(event)
    weight = np.where((rng.random(n) < 0.2) & (event.cumsum() > k), 0.0, 1.0)
    weight[np.flatnonzero(~event)[:k]] = 1.0
    sample = Sample(None, event, event, weight)
    folds = make_folds(k, sample, np.random.default_rng(seed))
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(n))
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(n))
    for stratum in (0, 1, 2, None):
        member = sample.strata == stratum if stratum is not None else np.ones(n, bool)
        counts = [member[test].sum() for _, test in folds]
        assert max(counts) - min(counts) <= 1
    assert all(weight[test][event[test]].any() for _, test in folds)


def test_the_same_seed_gives_the_same_whatever_runs_it() -> None:
    X, y, weight = rows(150)
    model = DecisionTreeClassifier(max_features=1, splitter="random")  # no seed of its own
    options = {"folds": 4, "repeats": 2, "sample_weight": weight + 1, "random_state": 5}
    first = cross_validate(model, X, y, **options)
    for backend, jobs in (("threading", 3), ("loky", 2), ("sequential", 1)):
        with joblib.parallel_config(backend=backend):
            again = cross_validate(model, X, y, n_jobs=jobs, **options)
        assert np.array_equal(first.predictions, again.predictions)
        assert all(np.array_equal(first.held_out[m], again.held_out[m]) for m in first.held_out)
    other = cross_validate(model, X, y, **{**options, "random_state": 6})
    assert not np.array_equal(first.predictions, other.predictions)
    more = cross_validate(model, X, y, **{**options, "repeats": 3})
    assert np.array_equal(first.predictions, more.predictions[:2])
    assert not np.array_equal(first.predictions[0], first.predictions[1])


# -- leaks -----------------------------------------------------------------------------------------


def test_no_held_out_row_is_ever_learnt_from() -> None:
    """The detector gives risk 1 to every row that it has seen before."""
    X, y, _ = rows(90)
    X[:, 0] = np.arange(90)
    found = cross_validate(LeakDetector(), X, y, folds=6, repeats=2)
    assert not found.predictions.any()
    assert (found.training["auroc"] == 0.5).all()  # 1 for all
    nested = nested_cross_validate(
        LeakDetector(),
        X,
        y,
        settings={"size": [1, 2]},
        folds=3,
        inner_folds=3,
        rule="best",
        thresholds=[0.1, 0.5],
    )
    assert not nested.predictions.any()
    for choice in nested.choices:
        assert choice.values.shape == (3, 2)
        assert not choice.values.any()  # no row is called positive


def test_selection_on_noise_is_caught_only_outside_the_loop() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(100, 1500)), np.arange(100) < 40
    peeked = SelectKBest(k=10).fit_transform(X, y)
    cheat = cross_validate(LogisticRegression(), peeked, y, folds=5, repeats=2)
    honest = cross_validate(
        make_pipeline(SelectKBest(k=10), LogisticRegression()), X, y, folds=5, repeats=2
    )
    assert cheat.mean["auroc"] > 0.85
    assert abs(honest.mean["auroc"] - 0.5) < 0.12
    grid = nb.Thresholds.tenths()
    best = float(grid.length_weights @ np.maximum(0, 0.4 - 0.6 * grid.odds))
    assert cheat.mean["aunbc"] > best + 0.04
    assert honest.mean["aunbc"] < best
    assert honest.training["aunbc"].mean() > best + 0.04  # the models themselves believe otherwise


def test_cut_points_of_noise_gain_nothing_inside_the_loop() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(150, 12)), columns=[f"c{k}" for k in range(12)])
    y = np.arange(150) < 50
    model = RiskScoreClassifier(
        binner="auto",
        prior_strength=0,
        max_features=5,
        max_points=3,
        solver=SHORT_SEARCH,
        n_jobs=1,
    )
    found = cross_validate(model, frame, y, folds=3)
    grid = nb.Thresholds.tenths()
    best = float(grid.length_weights @ np.maximum(0, 1 / 3 - 2 / 3 * grid.odds))
    assert found.training["aunbc"].min() > best + 0.02
    assert found.mean["aunbc"] < best + 0.01
    assert 0.3 < found.mean["auroc"] < 0.7


# -- any classifier, any table ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        DummyClassifier(),
        KNeighborsClassifier(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        CalibratedClassifierCV(LinearSVC(), cv=3),
    ],
)
def test_any_classifier(model: Any) -> None:
    X, y, _ = rows(100)
    found = cross_validate(model, X, y, folds=3)
    assert set(found.held_out) >= {"aunbc", "net_benefit", "auroc", "ece"}
    known = isinstance(model[-1] if hasattr(model, "steps") else model, LogisticRegression)
    assert ("size" in found.held_out) == known


def test_weights_reach_pipelines_and_searches() -> None:
    X, y, weight = rows(100)
    folds = list(StratifiedKFold(3).split(X, y))
    plain = LogisticRegression(C=0.1)
    options = {"folds": folds, "sample_weight": weight}
    expected = cross_validate(plain, X, y, **options).predictions
    assert not np.allclose(expected, cross_validate(plain, X, y, folds=folds).predictions)
    wrapped = (
        make_pipeline("passthrough", plain),
        make_pipeline(make_pipeline("passthrough", plain)),
        GridSearchCV(LogisticRegression(), {"C": [0.1]}, cv=2),
        make_pipeline(GridSearchCV(LogisticRegression(), {"C": [0.1]}, cv=2)),
        GridSearchCV(make_pipeline(plain), {"logisticregression__C": [0.1]}, cv=2),
    )
    for model in wrapped:
        np.testing.assert_allclose(cross_validate(model, X, y, **options).predictions, expected)


def test_some_rows_of_a_table_keep_its_type() -> None:
    ages, names, some = [51, None, 53], ["f", "m", "f"], np.array([2, 0])
    columns = {
        "list": ages,
        "array": np.array([1.5, 2.5, 3.5]),
        "masked": np.ma.array([1, 2, 3], mask=[0, 0, 1]),
        "pandas": pd.Series(names, dtype="category"),
        "polars": pl.Series(ages),
        "pyarrow": pa.chunked_array([ages]),
    }
    found = take_rows(columns, some)
    for name, column in columns.items():
        assert type(found[name]) is type(column)
    assert found["list"] == found["polars"].to_list() == found["pyarrow"].to_pylist() == [53, 51]
    assert found["array"].tolist() == [3.5, 1.5]
    assert found["masked"].tolist() == [None, 1]
    assert found["pandas"].dtype == "category"
    for frame in (
        pd.DataFrame({"age": ages}),
        pl.DataFrame({"age": ages}),
        pa.table([ages], ["a"]),
    ):
        assert type(take_rows(frame, some)) is type(frame)
    assert take_rows([{"age": 1}, {"age": 2}], np.array([1])) == [{"age": 2}]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "dict", "rows"])
def test_any_table(kind: str) -> None:
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(20, 80, 160), "sex": rng.choice(["f", "m"], 160)}
    y = rng.random(160) < np.where(columns["age"] > 50, 0.6, 0.1)
    make: dict[str, Any] = {
        "pandas": lambda: pd.DataFrame(columns),
        "polars": lambda: pl.DataFrame(columns),
        "pyarrow": lambda: pa.table(columns),
        "dict": lambda: {name: list(values) for name, values in columns.items()},
        "rows": lambda: pd.DataFrame(columns).to_dict("records"),
    }
    model = RiskScoreClassifier(binner="auto", solver=SHORT_SEARCH, max_features=2, n_jobs=1)
    found = cross_validate(model, make[kind](), y, folds=2)
    assert found.mean["auroc"] > 0.65
    stable = found.stability()
    assert stable.columns["column"][0] == "age"
    assert stable.columns["share"][0] == 1.0
    assert all(card.n_columns == 2 for card in stable.cards)


# -- errors ----------------------------------------------------------------------------------------


class NoWeights(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    def fit(self, X: Any, y: Any) -> NoWeights:
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 2), 0.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": LogisticRegression}, r"Pass LogisticRegression\(\), unfitted"),
        ({"estimator": LinearSVC()}, "no predict_proba"),
        ({"estimator": NoWeights(), "sample_weight": np.ones(60)}, "takes no sample_weight"),
        ({"y": np.ones(60)}, "one class only"),
        ({"y": [0, 1]}, "X has 60 rows, but y has 2"),
        ({"folds": 1}, "folds=1 must be at least 2"),
        ({"folds": 50}, "at most .*number of"),
        ({"folds": True}, "folds=True must be a number of folds of at least 2"),
        ({"folds": None}, "folds=None must be"),
        ({"folds": [(np.arange(50), np.arange(40, 60))]}, "gives 1 fold"),
        ({"folds": [(np.arange(50), np.arange(40, 60))] * 2}, "also learns from"),
        ({"folds": StratifiedKFold(3), "repeats": 2}, "draws folds anew"),
        ({"repeats": 0}, "repeats=0 must be"),
        ({"random_state": None}, "random_state=None must be a whole number"),
        ({"random_state": -1}, "must not be negative"),
        ({"net_benefit_at": 20}, "is not a threshold"),
        ({"sample_weight": -np.ones(60)}, "not negative"),
    ],
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    X, y, _ = rows(60)
    options = {"estimator": LogisticRegression(), "X": X, "y": y, **change}
    with pytest.raises(InputError, match=message):
        cross_validate(**options)


def test_an_error_inside_says_in_which_fold() -> None:
    X = {"a": [1.0] * 30 + [np.nan] * 30}
    model = RiskScoreClassifier(binner=nb.Binner(missing="refuse"), n_jobs=1)
    with pytest.raises(InputError, match=r"^repeat 1 fold 1: "):
        cross_validate(model, X, np.arange(60) % 2, folds=2)


# -- warnings, seeds and bars ----------------------------------------------------------------------


class Grumbling(LogisticRegression):  # type: ignore[misc]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Grumbling:
        warnings.warn("the same for all", stacklevel=2)
        warnings.warn("about the future", FutureWarning, stacklevel=2)
        warnings.warn("of its own kind", ConvergenceWarning, stacklevel=2)
        super().fit(X, y, sample_weight)
        return self


def test_warnings_of_all_models_are_given_once() -> None:
    X, y, _ = rows(60)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cross_validate(Grumbling(), X, y, folds=5)
    assert [(one.category, str(one.message)) for one in caught] == [
        (UserWarning, "the same for all"),
        (FutureWarning, "about the future"),
        (UserWarning, "ConvergenceWarning: of its own kind"),
    ]


def test_copies_are_silent_seeded_and_alone() -> None:
    model = RiskScoreClassifier(binner=None, random_state=3, verbose=1, callback=print, n_jobs=-1)
    copy = prepared(model, {"max_points": 4}, 17, single=True)
    assert (copy.random_state, copy.verbose, copy.callback, copy.n_jobs) == (3, 0, None, 1)
    assert copy.max_points == 4
    assert model.callback is print
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    assert prepared(pipeline, {}, 17)[-1].random_state == 17
    shared = DecisionTreeClassifier(random_state=np.random.RandomState(0))  # would remember
    assert prepared(shared, {}, 17).random_state == 17


def test_verbose_is_quiet_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    X, y, _ = rows(60)
    cross_validate(LogisticRegression(), X, y, folds=2, verbose=1)
    assert capfd.readouterr() == ("", "")
