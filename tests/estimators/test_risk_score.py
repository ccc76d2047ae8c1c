"""RiskScoreClassifier: scikit-learn's contract, and the promises of the method on training data."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from netbenefit import RiskScoreClassifier, Scorecard, Thresholds
from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.rss_dnb import RSSDNBClassifier
from netbenefit.metrics.benefit import (
    expected_calibration_error,
    hosmer_lemeshow,
    weighted_net_benefit,
)
from netbenefit.problem.problem import Problem, Progress, SolverResult
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.base import Run
from netbenefit.solvers.local_search import LocalSearch
from tests.helpers import slow_truth as reference
from tests.helpers.cards import risks_by_level
from tests.helpers.full import examples

NAMES = ["fever", "cough", "age", "lactate"]
GRID = "0.1:0.6:0.1"
#: Far away: the searches below end by themselves, so that every machine finds the same cards.
LATE = 600.0


class FixedPoints:
    """A solver that returns the points it was given: the estimator must cope with any."""

    def __init__(self, *points):
        self.points = points

    def solve(self, problem: Problem, *, start=None, callback=None) -> SolverResult:
        points = np.array(self.points, dtype=np.int64)
        return Run(problem, "fixed", np.inf, callback).result(points, "finished")


#: Without a prior, so that cards are what net benefit alone makes them; test_prior.py has the rest.
PUBLISHED = {"prior_strength": 0, "penalty": "paper"}


def model(**options) -> RiskScoreClassifier:
    basic = {"binner": None, "solver": "local", "time_limit": LATE, "n_jobs": 1, "thresholds": GRID}
    return RiskScoreClassifier(**{**basic, **PUBLISHED, **options})


def make_data(n: int = 500, seed: int = 0):
    """Two binary columns, an integer one and one with tenths; all matter."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.integers(0, 2, n),
            rng.integers(0, 2, n),
            rng.integers(0, 4, n),
            rng.integers(0, 30, n) / 10,
        ]
    )
    risk = 0.04 + 0.3 * X[:, 0] + 0.1 * X[:, 1] + 0.12 * X[:, 2] + 0.06 * X[:, 3]
    return X, (rng.random(n) < risk).astype(np.int64)


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def fitted(data):
    return model().fit(*data)


def same_card(one: RiskScoreClassifier, two: RiskScoreClassifier) -> bool:
    """Equal except for names, and for the time that the search took."""
    return (
        one.coef_.tolist() == two.coef_.tolist()
        and one.scorecard_.cutoffs == two.scorecard_.cutoffs
        and one.scorecard_.risks == two.scorecard_.risks
        and one.scorecard_.score_range == two.scorecard_.score_range
        and one.result_.objective == two.result_.objective
        and one.result_.evaluations == two.result_.evaluations
    )


# -- scikit-learn's own checks ---------------------------------------------------------------------

CHECKED = {
    "solver": "local",
    "time_limit": LATE,
    "n_jobs": 1,
    "max_points": 2,
    "max_features": 2,
    "thresholds": [0.3, 0.5],
}


@parametrize_with_checks(
    [
        RiskScoreClassifier(**CHECKED),
        RiskScoreClassifier(binner=None, teacher=None, **CHECKED),
        RSSDNBClassifier(**CHECKED),
        RSSDNBClassifier(binner="auto", **CHECKED),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- what fit leaves -------------------------------------------------------------------------------


def test_fitted_attributes(fitted):
    levels = len(fitted.thresholds_)
    assert fitted.thresholds_ == Thresholds.range(0.1, 0.6, 0.1)
    assert isinstance(fitted.scorecard_, Scorecard)
    assert isinstance(fitted.result_, SolverResult)
    assert fitted.coef_.shape == (4,)
    assert fitted.coef_.dtype == np.int64
    assert fitted.cutoffs_.shape == (levels - 1,)
    assert fitted.cutoffs_.dtype == np.int64
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.n_features_in_ == 4
    assert not hasattr(fitted, "feature_names_in_")
    assert tuple(fitted.cutoffs_) == fitted.scorecard_.cutoffs == fitted.result_.cutoffs
    assert fitted.scorecard_.size == fitted.result_.size == np.count_nonzero(fitted.coef_) > 0
    points = {rule.term.feature: rule.points for rule in fitted.scorecard_.rules}
    assert [points.get(f"x{k}", 0) for k in range(4)] == fitted.coef_.tolist()
    assert fitted.scorecard_.feature_names == ("x0", "x1", "x2", "x3")


def test_provenance(data):
    X, y = data
    card = model(random_state=7).fit(X, y, sample_weight=np.full(len(y), 3)).scorecard_
    origin = card.provenance
    assert origin.n_rows == 3 * len(y)
    assert origin.n_events == 3 * y.sum()
    assert origin.prevalence == y.mean()
    assert origin.n_patterns == len(np.unique(X, axis=0))
    assert origin.random_state == 7
    assert (origin.solver, origin.status) == ("local", "finished")
    assert origin.penalty == pytest.approx(0.1 * y.mean() / 4)
    assert origin.outcome == "outcome = 1"
    assert origin.bound is None
    assert Scorecard.from_json(card.to_json()) == card
    named = model().fit(X, pd.Series(np.where(y, "yes", "no"), name="sepsis"))
    assert named.scorecard_.provenance.outcome == "sepsis = yes"
    assert "Risk of sepsis " in str(named.scorecard_)


def test_the_objective_is_counted_from_the_data(fitted, data):
    X, y = data
    table = PatternTable.from_arrays(X, y)
    penalty = Fraction(int(y.sum()), len(y)) / 40
    truth = reference.objective(table, fitted.thresholds_, penalty, fitted.coef_.tolist())
    assert fitted.result_.objective == float(truth)
    assert fitted.result_.net_benefit == float(truth + penalty * fitted.result_.size)


def test_fit_changes_no_parameter_and_takes_it_as_it_is(data):
    options = {
        "thresholds": [0.2, 0.4],
        "weights": [0.25, 0.75],
        "sign": {"x0": "+"},
        "bounds": {"x1": (0, 2)},
        "decimals": {"x3": 0},
        "random_state": 3,
        "max_features": 3,
    }
    estimator = model(**options)
    before = {name: (value, repr(value)) for name, value in estimator.get_params().items()}
    estimator.fit(*data)
    for name, value in estimator.get_params().items():
        assert value is before[name][0]
        assert repr(value) == before[name][1]


def test_clone_pickle_and_set_params(fitted, data):
    X, y = data
    copy = clone(fitted)
    assert not hasattr(copy, "scorecard_")
    assert copy.get_params() == fitted.get_params()
    assert same_card(copy.fit(X, y), fitted)
    thawed = pickle.loads(pickle.dumps(fitted))
    assert thawed.scorecard_ == fitted.scorecard_
    np.testing.assert_array_equal(thawed.predict_proba(X), fitted.predict_proba(X))
    smaller = clone(fitted).set_params(max_features=1, thresholds=Thresholds.of([0.5]))
    assert clone(smaller).thresholds == Thresholds.of([0.5])
    smaller.fit(X, y)
    assert np.count_nonzero(smaller.coef_) == 1
    assert smaller.cutoffs_.shape == (1,)
    with pytest.raises(ValueError, match="Invalid parameter 'max_rules'"):
        smaller.set_params(max_rules=3)


# -- in scikit-learn's machinery -------------------------------------------------------------------


def test_pipeline(data):
    X, y = data
    bins = KBinsDiscretizer([2, 3], encode="onehot-dense", strategy="uniform")
    pipeline = make_pipeline(bins, model(max_features=3)).fit(X[:, [0, 2]], y)
    inner = pipeline[-1]
    assert inner.n_features_in_ == 5
    risk = pipeline.predict_proba(X[:, [0, 2]])[:, 1]
    np.testing.assert_array_equal(risk, inner.scorecard_.risk(bins.fit_transform(X[:, [0, 2]])))
    assert roc_auc_score(y, risk) > 0.6


def test_pipeline_with_frames_keeps_names(data):
    X, y = data
    bins = KBinsDiscretizer(2, encode="onehot-dense", strategy="uniform")
    pipeline = make_pipeline(bins.set_output(transform="pandas"), model(max_features=2))
    frame = pd.DataFrame(X, columns=NAMES)[["age", "lactate"]]
    names = pipeline.fit(frame, y)[-1].feature_names_in_.tolist()
    assert names == ["age_0.0", "age_1.0", "lactate_0.0", "lactate_1.0"]
    assert set(pipeline[-1].scorecard_.features) <= set(names)


def test_grid_search(data):
    X, y = data
    grid = {"penalty": [0.0, "paper", "auto", 0.5], "max_features": [1, 2]}
    search = GridSearchCV(model(), grid, scoring="roc_auc", cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    by_penalty = dict(zip(search.cv_results_["param_penalty"].tolist(), scores, strict=False))
    assert by_penalty[0.5] == 0.5  # no rule is worth half a net benefit: one score for all
    assert search.best_params_["penalty"] != 0.5
    assert search.best_score_ > 0.6
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))


def test_cross_validation(data):
    X, y = data
    estimator = model(max_features=2)
    risks = cross_val_predict(estimator, X, y, cv=3, method="predict_proba")
    assert risks.shape == (len(y), 2)
    np.testing.assert_allclose(risks.sum(axis=1), 1.0)
    assert roc_auc_score(y, risks[:, 1]) > 0.6
    scores = cross_val_score(estimator, X, y, cv=3, scoring="neg_brier_score")
    assert scores.shape == (3,)
    assert scores.min() > -y.mean() * (1 - y.mean()) - 0.05  # near or above no model at all
    labels = cross_val_predict(estimator, X, np.where(y, "ill", "well"), cv=3)
    assert set(labels) == {"ill", "well"}


@pytest.mark.parametrize("threshold", [0.1, 0.35, 0.6])
def test_fixed_threshold_classifier(fitted, data, threshold):
    X, y = data
    decided = FixedThresholdClassifier(fitted, threshold=threshold, pos_label=1).fit(X, y)
    np.testing.assert_array_equal(decided.predict(X), fitted.predict(X, threshold=threshold))


def test_threshold_can_be_requested_as_metadata():
    with sklearn.config_context(enable_metadata_routing=True):
        requesting = model().set_predict_request(threshold=True)
    assert requesting.get_metadata_routing().predict.requests == {"threshold": True}


# -- tables ----------------------------------------------------------------------------------------

FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns),
    "pyarrow": lambda columns: pa.table(columns),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames_give_the_card_of_the_array(make, fitted, data):
    X, y = data
    columns = {
        "fever": X[:, 0].astype(bool),
        "cough": X[:, 1].astype(np.int8),
        "age": X[:, 2].astype(np.int64),
        "lactate": X[:, 3],
    }
    frame = make(columns)
    named = model().fit(frame, y)
    assert same_card(named, fitted)
    assert named.feature_names_in_.tolist() == NAMES
    assert named.feature_names_in_.dtype == object
    assert named.scorecard_.feature_names == tuple(NAMES)
    np.testing.assert_array_equal(named.predict_proba(frame), fitted.predict_proba(X))
    np.testing.assert_array_equal(named.decision_function(frame), fitted.decision_function(X))
    np.testing.assert_array_equal(named.scorecard_.risk(frame), named.predict_proba(frame)[:, 1])
    with warnings.catch_warnings(action="error"):
        named.predict(frame)


def test_a_dict_of_columns_gives_the_card_of_the_array(fitted, data):
    X, y = data
    columns = {f"x{k}": X[:, k].tolist() for k in range(X.shape[1])}
    named = model().fit(columns, y)
    assert same_card(named, fitted)
    assert named.feature_names_in_.tolist() == list(columns)
    backwards = dict(reversed(columns.items()))
    np.testing.assert_array_equal(named.predict_proba(backwards), fitted.predict_proba(X))
    del backwards["x0"]
    with pytest.raises(ValueError, match="'x0', absent"):
        named.predict_proba(backwards)


def test_names_on_one_side_only_go_by_position(data):
    X, y = data
    frame = pd.DataFrame(X, columns=NAMES)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        risk = model().fit(frame, y).predict_proba(X)
    np.testing.assert_array_equal(risk, model().fit(X, y).predict_proba(X))
    with pytest.warns(UserWarning, match="fitted without feature names"):
        again = model().fit(X, y).predict_proba(frame)
    np.testing.assert_array_equal(risk, again)
    numbered = pd.DataFrame(X)
    np.testing.assert_array_equal(model().fit(numbered, y).predict_proba(numbered), risk)


def test_columns_in_another_order_are_refused(data):
    X, y = data
    frame = pd.DataFrame(X, columns=NAMES)
    named = model().fit(frame, y)
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        named.predict(frame[NAMES[::-1]])


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint16, np.float32, object])
def test_kinds_of_numbers(data, fitted, kind):
    X, y = data
    binary = X[:, :2]
    one = model(penalty=0.0).fit(binary.astype(kind), y)
    assert same_card(one, model(penalty=0.0).fit(binary, y))
    assert one.result_.size > 0
    np.testing.assert_array_equal(one.predict_proba(binary.astype(kind)), one.predict_proba(binary))
    if kind is np.float32:  # 0.1 as float32 is meant as 0.1
        assert same_card(model().fit(X.astype(kind), y), fitted)


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        [False, True],
        [-1, 1],
        [0.0, 1.0],
        [1, 2],
        np.array(["a", "b"], dtype=object),
        np.array([0, 1], dtype=object),
        np.array([False, True], dtype=object),
    ],
    ids=str,
)
def test_labels_of_any_two_classes(data, fitted, labels):
    X, y = data
    labels = np.asarray(labels)
    other = model().fit(X, labels[y])
    assert same_card(other, fitted)
    assert other.classes_.tolist() == labels.tolist()
    predicted = other.predict(X)
    assert set(predicted.tolist()) == set(labels.tolist())
    np.testing.assert_array_equal(predicted, labels[fitted.predict(X)])
    np.testing.assert_array_equal(other.predict_proba(X), fitted.predict_proba(X))
    assert (predicted == labels[y]).mean() == fitted.score(X, y)


@pytest.mark.parametrize(
    "series",
    [
        lambda y: pd.Series(y == 1).astype("boolean"),
        lambda y: pl.Series(y == 1),
        lambda y: pa.chunked_array([y == 1]),
        lambda y: (y == 1).tolist(),
    ],
    ids=["pandas", "polars", "pyarrow", "list"],
)
def test_boolean_labels_of_any_library_stay_boolean(data, fitted, series):
    X, y = data
    other = model().fit(X, series(y))
    assert same_card(other, fitted)
    assert other.classes_.dtype == np.bool_
    assert other.predict(X).dtype == np.bool_


@pytest.mark.parametrize(
    "series",
    [
        lambda y: pd.Series(y).astype("category"),
        lambda y: pd.Series(y).astype("string"),
        lambda y: pl.Series(y),
        lambda y: pa.chunked_array([y]),
    ],
    ids=["category", "string", "polars", "pyarrow"],
)
def test_text_labels_of_any_library(data, fitted, series):
    X, y = data
    other = model().fit(X, series(np.where(y, "yes", "no").tolist()))
    assert same_card(other, fitted)
    assert other.classes_.tolist() == ["no", "yes"]


# -- weights ---------------------------------------------------------------------------------------


def test_weights_equal_repetition(data):
    X, y = data
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = model().fit(X, y, sample_weight=weight)
    repeated = model().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert same_card(weighted, repeated)
    mine, theirs = weighted.scorecard_.provenance, repeated.scorecard_.provenance
    assert (mine.n_rows, mine.n_events) == (theirs.n_rows, theirs.n_events) == (
        weight.sum(),
        weight[y == 1].sum(),
    )  # fmt: skip
    assert not same_card(weighted, model().fit(X, y))


def test_zero_weights_equal_removal(data):
    X, y = data
    kept = np.random.default_rng(2).random(len(y)) < 0.7
    X = X.copy()
    X[~kept, 3] = 0.12345  # would cost the column its step
    weighted = model().fit(X, y, sample_weight=kept)
    assert same_card(weighted, model().fit(X[kept], y[kept]))
    assert weighted.scorecard_.provenance.n_rows == kept.sum()


def test_the_unit_of_weights_does_not_matter(data):
    X, y = data
    weight = np.random.default_rng(3).integers(1, 4, len(y))
    whole = model().fit(X, y, sample_weight=weight)
    quarters = model().fit(X, y, sample_weight=weight / 4)  # real weights, exact in binary
    assert quarters.result_.status == "finished"
    assert quarters.coef_.tolist() == whole.coef_.tolist()
    assert quarters.scorecard_.cutoffs == whole.scorecard_.cutoffs
    assert quarters.scorecard_.risks == whole.scorecard_.risks
    assert quarters.result_.objective == pytest.approx(whole.result_.objective, abs=1e-12)


# -- predictions -----------------------------------------------------------------------------------


def test_predict_is_risk_at_least_threshold_is_the_card(fitted, data):
    X, _ = data
    risk = fitted.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(risk, fitted.scorecard_.risk(X))
    np.testing.assert_array_equal(fitted.predict(X), fitted.predict(X, threshold=0.5))
    for threshold in [0, 0.1, 0.25, 0.3, *risk[:5], 0.6, 1]:
        decided = fitted.predict(X, threshold=threshold)
        np.testing.assert_array_equal(decided, risk >= threshold)
        np.testing.assert_array_equal(decided, fitted.scorecard_.decide(X, threshold))
    rows = [dict(zip(["x0", "x1", "x2", "x3"], row, strict=True)) for row in X[:20].tolist()]
    assert [fitted.scorecard_.risk(row) for row in rows] == risk[:20].tolist()


@settings(max_examples=examples(150))
@given(st.data())
def test_decision_function_is_the_score_and_agrees_with_predict(data):
    """On any card, also one that acts on all rows or on none, and on rows it has never seen."""
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 4, (12, 2)) / rng.choice([1, 2])
    X[:2] = [[0.0], [1.0]]  # never constant
    y = rng.permutation([0, 1, *rng.integers(0, 2, 10)])
    points = data.draw(st.tuples(st.integers(-4, 4), st.integers(-4, 4)))
    grid = data.draw(st.sampled_from([[0.5], [0.1, 0.2], [0.2, 0.5, 0.8], [0.45, 0.7]]))
    fit = model(thresholds=grid, solver=FixedPoints(*points)).fit(X, y)
    new = np.vstack([X, rng.integers(-9, 9, (30, 2))])
    decision, score = fit.decision_function(new), fit.scorecard_.score(new)
    np.testing.assert_array_equal(decision > 0, fit.predict(new) == 1)
    seen = np.clip(score, *fit.scorecard_.score_range)
    assert len(set((decision - seen).tolist())) == 1


def test_predictions_rank_alike(fitted, data):
    X, _ = data
    score, risk = fitted.decision_function(X), fitted.predict_proba(X)[:, 1]
    order = np.argsort(score, kind="stable")
    assert (np.diff(risk[order]) >= 0).all()
    assert len(np.unique(score)) > len(np.unique(risk)) > 1


# -- promises on the training data -----------------------------------------------------------------

GRIDS = [
    Thresholds.tenths(),
    Thresholds.of([0.5]),
    Thresholds.range(0.05, 0.5, 0.05),
    Thresholds.of([0, 0.2, 0.35], weights="length"),
    Thresholds.of([0.3, 0.6], weights=[0.0, 1.0]),
    Thresholds.of([0.1, 1 / 3, 0.4, 0.7], weights=[0.5, 0.0, 0.5, 0.0]),
    Thresholds.of([0.0857, 0.1102, 0.4491, 0.5778, 0.6975], weights="length"),
]
WEIGHTS = {
    "none": lambda rng, n: None,
    "whole": lambda rng, n: rng.integers(0, 4, n),
    "tenths": lambda rng, n: rng.integers(1, 12, n) / 10,
    "real": lambda rng, n: rng.exponential(size=n),
}


@st.composite
def fits(draw, **options):
    """A fit with any points, and what it was fitted on."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(4, 40))
    width = draw(st.integers(1, 3))
    steps = draw(st.sampled_from([1, 10]))
    X = rng.integers(-1, 3, (n, width)) / steps
    X[:2] = [[0.0], [1.0]]  # never constant
    y = rng.random(n) < draw(st.sampled_from([0.1, 0.3, 0.5, 0.9]))
    y[:2] = [True, False]
    weight = WEIGHTS[draw(st.sampled_from(list(WEIGHTS)))](rng, n)
    if weight is not None:
        weight[:2] = 1
    points = draw(st.tuples(*[st.integers(-5, 5)] * width))
    grid = draw(st.sampled_from(GRIDS))
    estimator = model(thresholds=grid, solver=FixedPoints(*points), **options)
    return estimator.fit(X, y, sample_weight=weight), X, y, weight, grid


@settings(max_examples=examples(250))
@given(fits())
def test_risks_are_event_rates_calibrated_and_as_useful_as_promised(case):
    estimator, X, y, weight, grid = case
    risk = estimator.predict_proba(X)[:, 1]
    level = estimator.scorecard_.level(X)
    mass = np.ones(len(y)) if weight is None else weight
    for i, q in enumerate(risks_by_level(estimator.scorecard_)):
        inside = (level == i) & (mass > 0)
        if not inside.any():
            assert q is None or not (estimator.scorecard_.level(X[mass > 0]) == i).any()
            continue
        assert q == pytest.approx(np.average(y[inside], weights=mass[inside]), abs=1e-12)
        assert grid.level_of(np.array([q]))[0] == i
    keywords = {"sample_weight": weight}
    assert expected_calibration_error(y, risk, grid, **keywords) == pytest.approx(0, abs=1e-12)
    assert hosmer_lemeshow(y, risk, grid, **keywords) == pytest.approx(0, abs=1e-12)
    benefit = weighted_net_benefit(y, risk, grid, **keywords)
    assert benefit == pytest.approx(estimator.result_.net_benefit, abs=1e-12)


@settings(max_examples=examples(100))
@given(fits(), st.sampled_from(GRIDS))
def test_calibration_holds_for_any_other_grouping(case, other):
    estimator, X, y, weight, _ = case
    risk = estimator.predict_proba(X)[:, 1]
    error = expected_calibration_error(y, risk, other, sample_weight=weight)
    assert error == pytest.approx(0, abs=1e-12)


@settings(max_examples=examples(150))
@given(fits(calibrate=False))
def test_without_calibration_the_net_benefit_stays(case):
    estimator, X, y, weight, grid = case
    risk = estimator.predict_proba(X)[:, 1]
    edges = [*grid.values, 1.0]
    middles = {(low + high) / 2 for low, high in pairwise(edges)}
    assert set(risk.tolist()) <= middles
    benefit = weighted_net_benefit(y, risk, grid, sample_weight=weight)
    assert benefit == pytest.approx(estimator.result_.net_benefit, abs=1e-12)


@settings(max_examples=examples(100))
@given(fits())
def test_decisions_at_the_thresholds_follow_the_cutoffs(case):
    estimator, X, _, weight, grid = case
    if weight is not None:  # rows that counted nowhere may lie beyond the scores of the others
        X = X[weight > 0]
    score = estimator.scorecard_.score(X)
    for p, cutoff in zip(grid.values[1:], estimator.cutoffs_, strict=True):
        np.testing.assert_array_equal(estimator.predict(X, threshold=p), score >= cutoff)


def test_tiny_real_weights_never_put_a_risk_outside_its_interval():
    """Sums of 0.1, 0.2, … are rounded, and rates that are meant to be a threshold are a bit off."""
    ties = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 14))
        X = rng.integers(0, 3, (n, 1))
        X[:2, 0] = [0, 1]
        y = rng.permutation([0, 1, *rng.integers(0, 2, n - 2)])
        weight = rng.choice([0.1, 0.2, 0.3, 0.7, 0.05, 1.1], n)
        grid = [Thresholds.tenths(), Thresholds.of([0.5]), Thresholds.of([0.25, 1 / 3, 0.5])]
        fit = model(thresholds=grid[seed % 3], solver=FixedPoints(1)).fit(X, y, weight)
        p = fit.thresholds_.array
        risks = np.array([risk for _, risk in fit.scorecard_.risks])
        ties += int((np.abs(risks[:, None] - p[None, 1:]) < 1e-12).any())
    assert ties > 20  # the cases that this test is about did occur


# -- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 3])
def test_max_points(data, most):
    coef = model(max_points=most).fit(*data).coef_
    assert np.abs(coef).max() <= most
    assert coef.any()


def test_sign_and_bounds(data):
    X, y = data
    frame = pd.DataFrame(X, columns=NAMES)
    free = model(penalty=0.0).fit(frame, y)
    assert free.coef_[0] > 0
    assert free.coef_[3] > 0
    turned = model(penalty=0.0, sign={"fever": "-", "lactate": -1}).fit(frame, y)
    assert turned.coef_[0] <= 0
    assert turned.coef_[3] <= 0
    assert turned.result_.objective < free.result_.objective
    bound = model(bounds={"fever": (5, 6), "cough": (-2, -1)}, sign={"age": "+"}).fit(frame, y)
    assert 5 <= bound.coef_[0] <= 6
    assert -2 <= bound.coef_[1] <= -1
    assert bound.coef_[2] >= 0
    wide = model(max_points=2, bounds={"lactate": (-30, 30)}).fit(frame, y)
    assert np.abs(wide.coef_[:3]).max() <= 2
    by_index = model(bounds={0: (5, 6), np.int64(1): (-2, -1)}, sign={2: "+"}).fit(X, y)
    assert same_card(by_index, bound)
    by_name = model(bounds={"x0": (5, 6), "x1": (-2, -1)}, sign={"x2": "+"}).fit(X, y)
    assert same_card(by_name, bound)


@pytest.mark.parametrize("most", [0, 1, 2])
def test_max_features(data, most):
    X, y = data
    small = model(max_features=most, penalty=0.0).fit(X, y)
    assert np.count_nonzero(small.coef_) == small.scorecard_.size == most
    assert len(set(small.predict_proba(X)[:, 1].tolist())) > 1 or most == 0
    if most == 0:
        assert small.predict_proba(X)[0, 1] == pytest.approx(y.mean())


def test_penalty(data):
    X, y = data
    sizes = []
    for penalty in [0.0, 0.001, 0.01, 1.0]:
        fit = model(penalty=penalty).fit(X, y)
        sizes.append(fit.result_.size)
        paid = fit.result_.net_benefit - penalty * fit.result_.size
        assert fit.result_.objective == pytest.approx(paid, abs=1e-12)
        assert fit.scorecard_.provenance.penalty == penalty
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1] == 0
    auto = model(penalty="paper").fit(X, y)
    assert same_card(auto, model(penalty=Fraction(int(y.sum()), 40 * len(y))).fit(X, y))


def test_decimals(data):
    X, y = data
    fit = model(decimals={"x3": 0}, max_features=1, bounds={"x3": (1, 5)}).fit(X, y)
    assert fit.scorecard_.rules[0].term.decimals == 0
    assert fit.predict_proba(X).tolist() == fit.predict_proba(np.floor(X + 0.5)).tolist()


# -- solvers ---------------------------------------------------------------------------------------


def test_solvers(data):
    X, y = data
    local = model(solver="local").fit(X, y)
    proven = model(solver="auto").fit(X, y)
    assert proven.result_.status == "optimal"
    assert proven.result_.objective == local.result_.objective
    assert proven.coef_.tolist() == local.coef_.tolist()
    annealed = model(solver="anneal", random_state=5).fit(X, y)
    assert annealed.result_.solver == "anneal"
    by_hand = model(solver=Annealing(seed=5)).fit(X, y)
    assert same_card(annealed, by_hand)
    assert annealed.result_.objective <= local.result_.objective
    assert annealed.coef_.any()
    short = model(solver=LocalSearch(max_rounds=1, chains=1, seed=4)).fit(X, y)
    assert short.result_.evaluations < local.result_.evaluations
    assert model(solver=FixedPoints(1, 2, 3, 4)).fit(X, y).coef_.tolist() == [1, 2, 3, 4]


def test_no_time_limit(data, fitted):
    assert same_card(model(time_limit=None).fit(*data), fitted)
    annealed = model(time_limit=None, solver="anneal").fit(*data)
    assert annealed.result_.status == "finished"


@pytest.mark.parametrize("solver", ["auto", "anneal"])
def test_time_limit_reaches_the_solver(data, solver):
    X, y = make_data(3000)
    rng = np.random.default_rng(0)
    wide = np.column_stack([X, rng.integers(0, 10, (3000, 8))])
    fit = model(solver=solver, time_limit=1e-6).fit(wide, y)
    assert fit.result_.status == "time_limit"
    assert fit.predict_proba(wide).shape == (3000, 2)


@pytest.mark.parametrize("solver", ["gurobi", "", 3, None, LocalSearch])
def test_unknown_solvers(data, solver):
    with pytest.raises(
        InputError, match=r'solver=.* not known. Use "auto", "exact", "milp", "local"'
    ):
        model(solver=solver).fit(*data)


def test_same_seed_same_card_on_any_number_of_threads():
    X, y = make_data(250, seed=5)
    rng = np.random.default_rng(6)
    X = np.column_stack([X, rng.integers(0, 2, (250, 2))])
    first = model(random_state=11, n_jobs=1, penalty=0.0).fit(X, y)
    assert first.result_.status == "finished"
    assert same_card(first, model(random_state=11, n_jobs=1, penalty=0.0).fit(X, y))
    assert same_card(first, model(random_state=11, n_jobs=2, penalty=0.0).fit(X, y))
    assert same_card(first, model(random_state=np.int64(11), n_jobs=-1, penalty=0.0).fit(X, y))
    assert first.scorecard_.provenance.random_state == 11
    other = model(random_state=12, penalty=0.0).fit(X, y)
    assert other.result_.trace != first.result_.trace


def test_random_state_objects(data):
    one = model(random_state=np.random.RandomState(3), solver="anneal").fit(*data)
    two = model(random_state=np.random.RandomState(3), solver="anneal").fit(*data)
    assert same_card(one, two)
    seed = one.scorecard_.provenance.random_state
    assert same_card(one, model(random_state=seed, solver="anneal").fit(*data))
    fresh = [model(random_state=None, solver="anneal").fit(*data) for _ in range(2)]
    seeds = {fit.scorecard_.provenance.random_state for fit in fresh}
    assert len(seeds | {seed}) == 3


# -- progress --------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "anneal"])
def test_verbose_is_quiet_where_there_is_no_terminal(data, capfd, solver):
    talkative = model(verbose=1, solver=solver).fit(*data)
    assert capfd.readouterr() == ("", "")
    assert same_card(talkative, model(verbose=0, solver=solver).fit(*data))


@pytest.mark.parametrize("verbose", [0, 1])
@pytest.mark.parametrize("solver", ["auto", "anneal"])
def test_callback(data, solver, verbose):
    seen: list[Progress] = []
    fit = model(callback=seen.append, solver=solver, verbose=verbose, n_jobs=2).fit(*data)
    assert len(seen) >= 2
    assert all(isinstance(progress, Progress) for progress in seen)
    for before, after in pairwise(seen):
        assert after.seconds >= before.seconds
        assert after.objective >= before.objective
        assert after.evaluations >= before.evaluations
    assert seen[-1].objective > seen[0].objective
    assert seen[-1].objective == pytest.approx(fit.result_.objective, abs=1e-12)
    assert seen[-1].size >= fit.result_.size
    if solver == "auto":
        assert seen[-1].gap == pytest.approx(0.0, abs=1e-12)
        assert fit.result_.status == "optimal"
    else:
        assert seen[-1].gap is None
    trace = [row.objective for row in fit.result_.trace]
    assert trace == sorted(trace if solver == "auto" else set(trace))  # bounds have rows, too
    assert same_card(fit, model(solver=solver).fit(*data))


class Interrupt:
    """Press Ctrl-C in the given call of the callback."""

    def __init__(self, call: int):
        self.call = call
        self.seen: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        self.seen.append(progress)
        if len(self.seen) == self.call:
            raise KeyboardInterrupt


@pytest.mark.parametrize("solver", ["auto", "anneal"])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_an_interrupted_search_leaves_a_fitted_estimator(data, solver, call):
    X, y = data
    interrupt = Interrupt(call)
    estimator = model(callback=interrupt, solver=solver, penalty=0.0)
    with pytest.warns(UserWarning, match="interrupted; the card is the best so far") as caught:
        assert estimator.fit(X, y) is estimator
    assert caught[0].filename == __file__
    assert len(interrupt.seen) >= call
    assert estimator.result_.status == "interrupted"
    assert estimator.scorecard_.provenance.status == "interrupted"
    assert estimator.predict_proba(X).shape == (len(y), 2)


@pytest.mark.parametrize("solver", ["auto", "anneal"])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_an_interrupted_search_returns_the_best_that_it_had_reported(data, solver, call):
    interrupt = Interrupt(call)
    estimator = model(callback=interrupt, solver=solver, penalty=0.0)
    with pytest.warns(UserWarning, match="interrupted"):
        estimator.fit(*data)
    best = max(progress.objective for progress in interrupt.seen)
    assert estimator.result_.objective >= best - 1e-12


# -- columns that cannot help ----------------------------------------------------------------------


def test_constant_columns_are_named_and_get_no_points(data):
    X, y = data
    frame = pd.DataFrame(X, columns=NAMES).assign(site=3, dose=0.5)
    message = "constant columns get no points: 'site', 'dose'. Drop them"
    with pytest.warns(UserWarning, match=message) as caught:
        fit = model().fit(frame, y)
    assert caught[0].filename == __file__
    assert fit.coef_[4:].tolist() == [0, 0]
    with warnings.catch_warnings(action="error"):
        model().fit(frame[NAMES], y)
    weight = (X[:, 0] == 1).astype(int)  # constant among the rows that count
    with pytest.warns(UserWarning, match="constant columns get no points: 'fever'"):
        model().fit(frame[NAMES], y, sample_weight=weight)
