"""Models on the same folds: every number against a plain loop, weights, raw tables, journals."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from typing import Any, ClassVar

import joblib
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from netbenefit import InputError, RiskScoreClassifier, Scorecard, compare, rank_models
from netbenefit.common import install_command
from netbenefit.metrics import benefit as metrics
from netbenefit.metrics.bands import curve_bands
from netbenefit.metrics.measures import size_of
from netbenefit.metrics.thresholds import Thresholds, as_thresholds
from netbenefit.validation.comparison import corrected_difference
from netbenefit.validation.cross_validation import cross_validate
from netbenefit.validation.folds import Sample, take_rows
from netbenefit.validation.models import NAMES, PlattScaled, lasso, pruned_tree
from netbenefit.validation.prepare import (
    Preparation,
    PreparedClassifier,
    read_plain,
    weighted_median,
)
from netbenefit.validation.runner import Task, Work
from tests.helpers.cards import SHORT_SEARCH
from tests.helpers.full import examples
from tests.helpers.raw_rows import CONTAINERS, raw_table

mpl.use("Agg")

GRID = "0.1:0.5:0.1"


def numbers(n: int = 240, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    return X, (rng.random(n) < 1 / (1 + np.exp(1 - 1.5 * X[:, 0] + X[:, 1]))).astype(int)


def outcome_of(table: dict[str, list[Any]], seed: int = 0) -> NDArray[np.bool_]:
    rng = np.random.default_rng(seed)
    age = np.array(table["age"], dtype=float)
    return rng.random(age.size) < 1 / (1 + np.exp(3 - age / 20))


# -- measures --------------------------------------------------------------------------------------


def test_every_number_is_that_of_a_plain_loop() -> None:
    X, y = numbers()
    models = {"ridge": LogisticRegression(), "bayes": GaussianNB()}
    found = compare(models, X, y, thresholds=GRID, folds=4, random_state=3)
    folds = list(StratifiedKFold(4, shuffle=True, random_state=3).split(X, y))
    np.testing.assert_array_equal(found.rows, np.concatenate([test for _, test in folds]))
    grid = as_thresholds(GRID)
    for place, (name, model) in enumerate(models.items()):
        risks = []
        for number, (train, test) in enumerate(folds):
            fitted = make_pipeline(StandardScaler(), model).fit(X[train], y[train])
            for split, chosen in ((found.train, train), (found.test, test)):
                risk = fitted.predict_proba(X[chosen])[:, 1]
                area = sum(  # docs/method.md §2: mean net benefit over the range
                    w
                    * (
                        ((risk >= p) & (y[chosen] == 1)).mean()
                        - ((risk >= p) & (y[chosen] == 0)).mean() * p / (1 - p)
                    )
                    for p, w in zip(grid.given, grid.length_weights[1:], strict=True)
                )
                assert split["auroc"][number, place] == pytest.approx(
                    roc_auc_score(y[chosen], risk)
                )
                assert split["aunbc"][number, place] == pytest.approx(area)
                ece = metrics.expected_calibration_error(y[chosen], risk, grid)
                assert split["ece"][number, place] == pytest.approx(ece)
            risks.append(risk)
        np.testing.assert_allclose(found.risks[name], np.concatenate(risks), rtol=1e-9)
    values = found.test["auroc"]
    assert found.means("auroc") == dict(zip(models, values.mean(axis=0), strict=True))
    assert found.sds("auroc")["bayes"] == pytest.approx(np.std(values[:, 1], ddof=1))
    assert found.size[:, 0].tolist() == [4.0] * 4
    assert np.isnan(found.size[:, 1]).all()


def test_a_pipeline_gets_rows_as_they_are() -> None:
    X, y = numbers()
    models = {
        "prepared": LogisticRegression(),
        "own": make_pipeline(StandardScaler(), LogisticRegression()),
    }
    found = compare(models, X, y, folds=3)
    np.testing.assert_allclose(found.risks["own"], found.risks["prepared"], rtol=1e-9)
    gap = found.differences("auroc")["own"]
    assert (gap.mean, gap.p) == (0.0, 1.0)


def test_held_out_rows_are_held_out() -> None:
    """A memory of the training rows knows nothing of the others, where labels are noise."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.random(400) < 0.5
    found = compare({"memory": KNeighborsClassifier(1)}, X, y, folds=4)
    assert found.means("auroc", "train")["memory"] == 1.0
    assert abs(found.means("auroc")["memory"] - 0.5) < 0.1


def test_a_card_is_scored_as_it_stands(tmp_path: Path) -> None:
    X, y = numbers()
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = RiskScoreClassifier(binner=None, thresholds=GRID, solver=SHORT_SEARCH).fit(
        frame[:120], y[:120]
    )
    card = fitted.scorecard_
    card.save(tmp_path / "card.json")
    found = compare(
        {"card": card, "file": tmp_path / "card.json", "anew": GaussianNB()}, frame, y, folds=3
    )
    assert found.not_refitted == ("card", "file")
    np.testing.assert_array_equal(found.risks["card"], card.risk(frame)[found.rows])
    np.testing.assert_array_equal(found.risks["file"], found.risks["card"])
    assert found.thresholds == card.thresholds  # the default
    assert (found.size[:, 0] == card.size).all()
    assert "card*" in str(found)
    assert "anew*" not in str(found)
    assert "not learnt anew" in str(found)
    assert set(found.to_table()["model"][~found.to_table()["refitted"]]) == {"card", "file"}


def test_repeats_draw_new_folds() -> None:
    X, y = numbers()
    found = compare(["logistic"], X, y, folds=3, repeats=2)
    assert found.n_folds == 6
    assert np.bincount(found.rows).tolist() == [2] * y.size
    once = compare(["logistic"], X, y, folds=3)
    assert once.n_folds == 3
    curve = found.decision_curve([0.3])
    nb = metrics.net_benefit(y[found.rows], found.risks["logistic"], [0.3])
    assert curve["net_benefit"][0] == nb[0]


# -- weights ---------------------------------------------------------------------------------------


def test_a_weight_of_two_counts_twice() -> None:
    """Weighted rows and rows that are there several times, with folds to match."""
    table = raw_table(1, 150)
    y = outcome_of(table)
    times = np.random.default_rng(2).integers(1, 4, 150)
    fold = np.arange(150) % 3
    repeated = np.repeat(np.arange(150), times)
    models = {"logistic": "logistic", "ridge": LogisticRegression(C=0.01)}
    weighted = compare(
        models, table, y, sample_weight=times, folds=PredefinedSplit(fold), thresholds=GRID
    )
    copied = compare(
        models,
        take_rows(table, repeated),
        y[repeated],
        folds=PredefinedSplit(fold[repeated]),
        thresholds=GRID,
    )
    for metric in ("auroc", "ece", "aunbc"):
        for split in ("train", "test"):
            np.testing.assert_allclose(
                weighted.values(metric, split), copied.values(metric, split), atol=1e-6
            )
    np.testing.assert_array_equal(weighted.size, copied.size)
    for name in models:
        order = np.argsort(copied.rows, kind="stable")
        spread = weighted.risks[name][np.argsort(weighted.rows)][repeated]
        np.testing.assert_allclose(copied.risks[name][order], spread, atol=1e-5)
    ours, theirs = weighted.decision_curve(), copied.decision_curve()
    np.testing.assert_allclose(ours["net_benefit"], theirs["net_benefit"], atol=1e-6)


def test_weights_reach_a_pipeline_and_are_not_lost() -> None:
    X, y = numbers()
    weight = np.where(y == 1, 5.0, 1.0)
    pipe = make_pipeline(make_pipeline(StandardScaler(), LogisticRegression()))
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2)
    models = {"pipe": pipe, "search": search, "wrapped": make_pipeline(search)}
    found = compare({**models, "nb": GaussianNB()}, X, y, folds=3, sample_weight=weight)
    plain = compare(models, X, y, folds=3)
    for name in models:
        assert found.risks[name].mean() > plain.risks[name].mean() + 0.1
    with pytest.raises(InputError, match="'near': KNeighborsClassifier takes no sample_weight"):
        compare({"near": KNeighborsClassifier()}, X, y, folds=3, sample_weight=weight)


# -- differences and bands -------------------------------------------------------------------------


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30), st.floats(0, 1))
@settings(max_examples=examples(200))
def test_corrected_differences(values: list[float], share: float) -> None:
    d = np.array(values)
    found = corrected_difference(d, share)
    assert found.mean == pytest.approx(d.mean())
    variance = sum((x - d.mean()) ** 2 for x in values) / (len(values) - 1)
    assert found.se**2 == pytest.approx((1 / len(values) + share) * variance, abs=1e-12)
    if np.ptp(d) > 1e-6:
        plain = stats.ttest_1samp(d, 0.0)  # what is left without the correction
        free = corrected_difference(d, 0.0)
        assert free.p == pytest.approx(plain.pvalue, abs=1e-9)
        interval = plain.confidence_interval(0.95)
        assert (free.low, free.high) == pytest.approx((interval.low, interval.high))
        assert found.se >= free.se
        assert found.p >= free.p - 1e-12


def test_differences_without_spread() -> None:
    assert corrected_difference(np.zeros(3), 0.5).p == 1.0
    assert np.isnan(corrected_difference(np.full(3, 0.25), 0.5).p)
    with pytest.raises(InputError, match="at least 2"):
        corrected_difference(np.zeros(1), 0.5)


def test_the_correction_keeps_its_level() -> None:
    """Two models that are alike in truth, on overlapping folds: the plain test cries too often."""
    rng = np.random.default_rng(5)
    wrong = {"corrected": 0, "plain": 0}
    runs = 150
    for _ in range(runs):
        x = rng.normal(size=(60, 2))  # two noisy columns, one a model: risk is their mean where 1
        y = rng.random(60) < 0.5
        gaps = []
        for _ in range(60):
            order = rng.permutation(60)
            train, test = order[:50], order[50:]
            slopes = [np.cov(x[train, k], y[train])[0, 1] for k in (0, 1)]
            losses = [np.mean((y[test] - 0.5 - 2 * slopes[k] * x[test, k]) ** 2) for k in (0, 1)]
            gaps.append(losses[0] - losses[1])
        d = np.array(gaps)
        wrong["corrected"] += corrected_difference(d, 10 / 50).p < 0.05
        wrong["plain"] += corrected_difference(d, 0.0).p < 0.05
    assert wrong["plain"] / runs > 0.15
    assert wrong["corrected"] / runs < 0.10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 95}, "level=95 must lie strictly between 0 and 1"),
        ({"n_resamples": 0}, "n_resamples=0 must be a whole number"),
        ({"random_state": None}, "random_state=None must be a whole number"),
    ],
)
def test_bands_check_their_options(options: dict[str, Any], message: str) -> None:
    event = np.array([False, True])
    with pytest.raises(InputError, match=message):
        curve_bands(event, np.arange(2), {"a": event * 1.0}, Thresholds.of([0.5]), **options)


def test_bands_leave_out_resamples_without_weight() -> None:
    event = np.array([False, True, True])
    options = {"weight": np.array([0.0, 1.0, 0.0]), "n_resamples": 200}
    grid = Thresholds.of([0.5])
    found = curve_bands(event, np.arange(3), {"a": np.array([1.0, 1.0, 1.0])}, grid, **options)
    assert found["lower"].tolist() == found["upper"].tolist() == [1.0]


class OutOfLine(DummyClassifier):
    """Risks that rounding led out of [0, 1], and a number of cores to use."""

    cores: ClassVar[list[Any]] = []

    def __init__(self, n_jobs: int | None = None) -> None:
        super().__init__()
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OutOfLine:
        self.cores.append(self.n_jobs)
        warnings.warn("old code", FutureWarning, stacklevel=2)
        warnings.warn("strange rows", UserWarning, stacklevel=2)
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X: Any) -> Any:
        return np.tile([-5e-7, 1 + 5e-7], (len(X), 1))


def test_compare_and_cross_validate_treat_odd_risks_and_warnings_alike() -> None:
    X, y = numbers(60)
    found = compare({"odd": OutOfLine()}, X, y, folds=3)
    assert found.risks["odd"].tolist() == [1.0] * 60
    assert found.notes == ("odd: strange rows",)
    with pytest.warns(UserWarning, match="strange rows"), pytest.warns(FutureWarning):
        alone = cross_validate(OutOfLine(), X, y, folds=3)
    assert (alone.predictions == 1.0).all()


@pytest.mark.parametrize(("single", "cores"), [(True, 1), (False, 2)])
def test_models_side_by_side_use_one_core_each(single: bool, cores: int) -> None:
    X, y = numbers(40)
    train, test = np.arange(30), np.arange(10, 40)
    model = PreparedClassifier(OutOfLine(n_jobs=2))
    sample = Sample(read_plain(X), y, y == 1, None)
    work = Work(model, sample, as_thresholds(GRID), single=single)
    OutOfLine.cores.clear()
    with pytest.warns(UserWarning, match="strange rows"), pytest.warns(FutureWarning):
        work(Task(train, {"test": test}, seed=0))
    assert OutOfLine.cores == [cores]


def test_compare_checks_its_seed() -> None:
    X, y = numbers(40)
    for wrong in (None, -1, 0.5):
        with pytest.raises(InputError, match=f"random_state={wrong!r} must be a whole number"):
            compare(["logistic"], X, y, folds=3, random_state=wrong)


@pytest.mark.parametrize("seed", range(20))
def test_bands_are_percentiles_of_resampled_curves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 40))
    event = rng.random(n) < 0.4
    event[0] = True
    rows = np.concatenate([np.arange(n), rng.permutation(n)])  # two repeats
    risks = {"a": rng.integers(0, 11, 2 * n) / 10, "b": rng.random(2 * n)}
    weight = rng.uniform(0.5, 2, n) if seed % 2 else None
    grid = Thresholds.of([0.1, 0.3, 0.5])
    found = curve_bands(event, rows, risks, grid, weight=weight, n_resamples=30, random_state=seed)
    random = np.random.default_rng(seed)
    base = np.ones(n) if weight is None else weight
    for i, risk in enumerate(risks.values()):
        random = np.random.default_rng(seed)
        curves = []
        for times in random.multinomial(n, np.full(n, 1 / n), size=30):
            tp = [(base * times)[rows] @ (event[rows] & (risk >= p)) for p in grid.given]
            fp = [(base * times)[rows] @ (~event[rows] & (risk >= p)) for p in grid.given]
            total = (base * times)[rows].sum()
            curves.append(
                [(t - f * p / (1 - p)) / total for t, f, p in zip(tp, fp, grid.given, strict=True)]
            )
        low, high = np.percentile(curves, [2.5, 97.5], axis=0)
        np.testing.assert_allclose(found["lower"][3 * i : 3 * i + 3], low, atol=1e-12)
        np.testing.assert_allclose(found["upper"][3 * i : 3 * i + 3], high, atol=1e-12)


def test_the_picture_shows_curves_bands_and_differences(tmp_path: Path) -> None:
    X, y = numbers()
    found = compare(
        {"a $x$": GaussianNB(), "b": LogisticRegression()}, X, y, folds=3, thresholds=GRID
    )
    display = found.plot()
    assert list(display.bands_) == ["a $x$", "b"]
    gap = found.differences()["b"]
    assert list(display.intervals_) == ["b"]
    dots = display.intervals_["b"].lines[0]
    assert dots.get_xdata()[0] == pytest.approx(gap.mean)
    found.display().save(tmp_path / "out.svg")
    text = (tmp_path / "out.svg").read_text()
    assert "AUNBC less that of a $x$" in text
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    alone = found.plot(ax=ax)
    assert alone.ax_ is ax
    assert alone.intervals_ == {}
    assert len(ax.figure.axes) == 1
    many = compare(
        {"a": GaussianNB(), "b": LogisticRegression(), "c": DecisionTreeClassifier(max_depth=1)},
        X,
        y,
        folds=2,
    )
    assert list(many.plot().bands_) == ["a"]


# -- preparation -----------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=12),
)
@settings(max_examples=examples(300))
def test_weighted_median(pairs: list[tuple[int, int]]) -> None:
    values = np.array([value for value, _ in pairs], dtype=float)
    times = np.array([count for _, count in pairs])
    expected = np.median(np.repeat(values, times))
    assert weighted_median(values, times.astype(float)) == expected
    assert weighted_median(values, times * 0.1) == expected


@pytest.mark.parametrize("seed", range(60))
def test_preparation_is_that_of_scikit_learns_parts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 120
    number = np.where(rng.random(n) < 0.2 * (seed % 2), np.nan, rng.normal(size=n).round(1))
    word = rng.choice(["a", "b", "c", "rare"], n, p=[0.5, 0.25, 0.2, 0.05]).astype(object)
    train = np.arange(n) < 90
    columns = {"x": number, "w": word}
    made = Preparation.learn({k: v[train] for k, v in columns.items()}, np.ones(90))
    matrix = made.apply(columns)
    fill = SimpleImputer(strategy="median", add_indicator=True).fit(number[train, None])
    code = OneHotEncoder(
        min_frequency=10, handle_unknown="infrequent_if_exist", sparse_output=False
    ).fit(word[train, None])
    parts = np.column_stack([fill.transform(number[:, None]), code.transform(word[:, None])])
    scaled = StandardScaler().fit(parts[train]).transform(parts)
    np.testing.assert_allclose(matrix, scaled, atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_preparation_counts_weights_as_rows(seed: int) -> None:
    columns = read_plain(raw_table(seed, 80))
    times = np.random.default_rng(seed).integers(1, 4, 80)
    repeated = np.repeat(np.arange(80), times)
    weighted = Preparation.learn(columns, times.astype(float))
    copied = Preparation.learn(
        {name: column[repeated] for name, column in columns.items()}, np.ones(repeated.size)
    )
    assert weighted.parts == copied.parts
    np.testing.assert_array_equal(weighted.kept, copied.kept)
    np.testing.assert_allclose(weighted.apply(columns), copied.apply(columns), atol=1e-9)


def test_preparation_looks_at_training_rows_only() -> None:
    columns = read_plain({"x": [1.0, 2.0, 3.0, None], "w": ["a", "b"] * 2})
    other = read_plain({"x": [900.0, None], "w": ["new", None]})
    made = Preparation.learn(columns, np.full(4, 10.0))
    x, missing, b = made.apply(other).T
    assert x[1] == made.apply({"x": np.array([2.0]), "w": np.array(["a"], object)})[0, 0]
    assert missing[0] < 0 < missing[1]
    assert b[0] == b[1] < 0  # levels that training did not see


def test_columns_that_say_nothing_are_left_out() -> None:
    columns = read_plain(
        {
            "x": [1, 2, 3],
            "day": ["2024-01-01", "2024-02-01", "2024-03-01"],
            "none": [None] * 3,
            "text numbers": ["1", " 2 ", ""],
            "yes": [True, False, None],
        }
    )
    assert list(columns) == ["x", "text numbers", "yes"]
    np.testing.assert_array_equal(columns["text numbers"], [1, 2, np.nan])
    np.testing.assert_array_equal(columns["yes"], [1, 0, np.nan])
    with pytest.raises(InputError, match="no column holds numbers or text"):
        read_plain({"none": [None, None]})
    with pytest.raises(InputError, match="'x' is infinite in row 1"):
        read_plain({"x": np.array([1.0, np.inf])})
    with pytest.raises(InputError, match="every column is constant"):
        Preparation.learn(read_plain({"x": [1.0, 1.0]}), np.ones(2))


@pytest.mark.parametrize("container", CONTAINERS)
def test_all_containers_give_the_same_numbers(container: str) -> None:
    table = raw_table(4, 90)
    y = outcome_of(table)
    expected = compare(["logistic"], table, y, folds=2).risks["logistic"]
    made = CONTAINERS[container](table)
    found = compare(["logistic"], made, y, folds=2)
    np.testing.assert_allclose(found.risks["logistic"], expected, rtol=1e-9)
    assert read_plain(take_rows(made, np.array([3, 1])))["age"].tolist() == [
        table["age"][3],
        table["age"][1],
    ]


# -- models ----------------------------------------------------------------------------------------


def test_every_named_model_takes_text_and_missing_values() -> None:
    table = raw_table(3, 360)
    y = outcome_of(table)
    found = compare(NAMES, table, y, folds=2, thresholds=GRID, time_limit=0.5, max_features=3)
    assert found.models == NAMES
    for name in NAMES:
        assert ((found.risks[name] >= 0) & (found.risks[name] <= 1)).all()
        assert found.means("auroc")[name] > 0.55
    sized = dict(zip(NAMES, found.size.T.tolist(), strict=True))
    for name in ("scorecard", "rss-dnb", "rss-dnb-sa"):
        assert max(sized[name]) <= 3
    assert min(sized["forest"]) > 500
    assert np.isnan(sized["xgboost"]).all()
    assert all(size >= 3 and size % 2 for size in sized["tree"])  # nodes of a binary tree
    text = str(found)
    assert all(name in text for name in NAMES)
    table_ = found.to_table()
    assert table_.n_rows == 7 * len(NAMES)
    ranks = rank_models({"one": found.means("aunbc"), "two": found.means("auroc")})
    assert ranks.models == NAMES


@pytest.mark.parametrize("seed", range(3))
def test_lasso_and_tree_choose_by_inner_folds(seed: int) -> None:
    X, y = numbers(150, seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, y.size)
    for model, loss in ((lasso(seed), log_loss), (pruned_tree(seed), brier_score_loss)):
        model.fit(X, y, weight)
        risk = np.zeros(y.size)
        inner = StratifiedKFold(5, shuffle=True, random_state=seed)
        results = {}
        values = model._candidates(X, y, weight)
        for value in values.tolist():
            for train, test in inner.split(X, y):
                one = model.estimator.set_params(**{model.parameter: value})
                one.fit(X[train], y[train], sample_weight=weight[train])
                risk[test] = one.predict_proba(X[test])[:, 1]
            results[value] = loss(y, risk, sample_weight=weight)
        best = min(results.values())
        assert results[model.best_value_] == pytest.approx(best, rel=1e-6)
        simpler = values[: values.tolist().index(model.best_value_)]
        assert all(results[v] > best for v in simpler.tolist())
    simplest = lasso(seed)
    strong = simplest.estimator.set_params(C=0.9 * simplest._candidates(X, y, weight)[0])
    assert np.count_nonzero(strong.fit(X, y, sample_weight=weight).coef_) == 0


def test_sizes() -> None:
    X, y = numbers()
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y)
    assert size_of(tree) == 3.0
    assert size_of(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)) == 4.0
    assert np.isnan(size_of(GaussianNB().fit(X, y)))
    assert np.isnan(size_of(CalibratedClassifierCV(tree).fit(X, y)))


def test_without_xgboost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(InputError, match=re.escape(install_command("xgboost"))):
        compare(["xgboost"], *numbers())


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([], "no model was passed"),
        (["magic"], "no model is called 'magic'. Known are scorecard"),
        (["tree", "tree"], "two models are called 'tree'"),
        (["nowhere/card.json"], "no such file"),
        ({"Treat All": "tree"}, "names a reference strategy"),
        ({3: "tree"}, "is not text"),
        ({"a": GaussianNB}, "is the class GaussianNB"),
        ({"a": 3}, "Pass a classifier object"),
        ({"a": RidgeClassifier()}, "predicts no risks"),
    ],
)
def test_models_that_cannot_take_part(models: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare(models, *numbers())


def test_arguments_are_checked() -> None:
    X, y = numbers()
    with pytest.raises(InputError, match="X has 240 rows, but y has 239"):
        compare(["logistic"], X, y[1:])
    with pytest.raises(InputError, match="repeats=0"):
        compare(["logistic"], X, y, repeats=0)
    with pytest.raises(InputError, match="a splitter repeats by itself"):
        compare(["logistic"], X, y, repeats=2, folds=StratifiedKFold(3))
    with pytest.raises(InputError, match="folds=1"):
        compare(["logistic"], X, y, folds=1)
    with pytest.raises(InputError, match="metric='auc'"):
        compare(["logistic"], X, y, folds=2).values("auc")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="fold 1 has held-out rows of one class only"):
        compare(["logistic"], X, y, folds=PredefinedSplit(np.where(y == 1, -1, np.arange(240) % 2)))


# -- running ---------------------------------------------------------------------------------------


class Counting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts the share of events, and counts how often it is fitted."""

    fits = 0

    def __init__(self, shift: float = 0.0, n_jobs: int = 1) -> None:
        self.shift = shift
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Counting:
        Counting.fits += 1
        self.classes_ = np.unique(y)
        self.rate_ = float(np.mean(y)) + self.shift
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        return np.tile([1 - self.rate_, self.rate_], (len(X), 1))


def test_a_journal_saves_finished_fits(tmp_path: Path) -> None:
    X, y = numbers()
    file = tmp_path / "journal"
    Counting.fits = 0
    first = compare({"count": Counting()}, X, y, folds=4, journal=file)
    assert Counting.fits == 4
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:3]))  # as if it had been ended after two folds
    again = compare({"count": Counting(n_jobs=2)}, X, y, folds=4, journal=file)
    assert Counting.fits == 6
    np.testing.assert_array_equal(first.risks["count"], again.risks["count"])
    np.testing.assert_array_equal(first.test["aunbc"], again.test["aunbc"])
    for changed in ({"X": X + 1}, {"models": {"count": Counting(shift=0.1)}}, {"thresholds": GRID}):
        options = {
            "models": {"count": Counting()},
            "X": X,
            "y": y,
            "folds": 4,
            "journal": file,
            **changed,
        }
        with pytest.raises(InputError, match="other data or other settings"):
            compare(**options)


def test_the_number_of_jobs_changes_nothing() -> None:
    X, y = numbers()
    alone = compare(["logistic", "tree"], X, y, folds=3)
    with joblib.parallel_config(backend="threading"):
        together = compare(["logistic", "tree"], X, y, folds=3, n_jobs=2)
    for name in alone.models:
        np.testing.assert_array_equal(alone.risks[name], together.risks[name])


def test_labels_of_any_kind() -> None:
    X, y = numbers()
    words = np.where(y == 1, "yes", "no")
    plain = compare(["logistic"], X, y, folds=2)
    named = compare(["logistic"], X, words, folds=2)
    np.testing.assert_array_equal(plain.risks["logistic"], named.risks["logistic"])


def test_warnings_become_notes_once() -> None:
    table = {**raw_table(5, 120), "day": ["2024-01-01"] * 120}
    found = compare(
        {"one": "scorecard", "two": "rss-dnb"},
        table,
        outcome_of(table),
        folds=2,
        time_limit=0.3,
        thresholds=GRID,
        max_features=2,
    )
    notes = [note for note in found.notes if "'day' left out" in note]
    assert len(notes) == 1
    assert notes[0].startswith("one, two: ")


def test_a_card_in_the_list_has_its_own_name() -> None:
    X, y = numbers()
    frame = pd.DataFrame((X > 0).astype(int), columns=list("abcd"))
    card = RiskScoreClassifier(binner=None, solver=SHORT_SEARCH).fit(frame, y).scorecard_
    assert isinstance(card, Scorecard)
    assert compare([card, GaussianNB()], frame, y, folds=2).models == ("card", "GaussianNB")


def test_a_journal_distinguishes_models(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = rng.random(120) < 1 / (1 + np.exp(-X[:, 0]))
    learnt = [LogisticRegression().fit(X, target) for target in (y, ~y)]
    for number, pair in enumerate(
        [
            tuple(FrozenEstimator(model) for model in learnt),
            tuple(LogisticRegression(class_weight={0: 1.0, 1: w}) for w in (1.0, 2.0)),
        ]
    ):
        journal = tmp_path / f"{number}.jsonl"
        first = compare({"m": pair[0]}, X, y, folds=3, journal=journal)
        again = compare({"m": pair[0]}, X, y, folds=3, journal=journal)
        assert again.means("auroc") == first.means("auroc")
        with pytest.raises(InputError, match="other data or other settings"):
            compare({"m": pair[1]}, X, y, folds=3, journal=journal)


def test_a_seed_reaches_models_of_others() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 3 == 0
    models = {"forest": RandomForestClassifier(8)}
    first, second = (compare(models, X, y, folds=3, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(first.risks["forest"], second.risks["forest"])


def test_platt_scaling_never_reverses_a_model() -> None:
    class Upside(LogisticRegression):  # type: ignore[misc]
        """Right where it has seen a row, wrong elsewhere."""

        def decision_function(self, X: np.ndarray) -> np.ndarray:
            score = super().decision_function(X)
            return score if len(X) == 60 else -score

    X = np.linspace(-2, 2, 60)[:, None]
    y = (X[:, 0] > 0).astype(int)
    risk = PlattScaled(Upside(), cv=3).fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(risk, y.mean())
