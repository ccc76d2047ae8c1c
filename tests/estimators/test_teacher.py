"""Cards taught by a model, through the estimator: every kind of teacher, every kind of table."""

from __future__ import annotations

import math
import pickle
import warnings
from typing import Any, ClassVar

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from netbenefit import RiskScoreClassifier
from netbenefit.cards.text import share_text
from netbenefit.common.checks import InputError
from netbenefit.estimators.rss_dnb import RSSDNBClassifier
from netbenefit.problem.problem import SolverResult
from netbenefit.solvers.base import conclude
from netbenefit.updating.update import choose_update, update_card
from netbenefit.validation.bootstrap import bootstrap_validate
from netbenefit.validation.comparison import compare
from netbenefit.validation.cross_validation import cross_validate
from netbenefit.validation.sizes import size_path
from tests.helpers.raw_rows import outcome, raw_table

QUICK: dict[str, Any] = {
    "thresholds": "0.1:0.6:0.1",
    "max_points": 3,
    "solver": "local",
    "time_limit": 60.0,
    "n_jobs": 1,
}


def make_rows(n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Numbers, the outcome, and the true risk."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"fever": rng.integers(0, 2, n), "age": rng.integers(0, 4, n), "id": np.arange(n) % 3}
    )
    risk = (0.05 + 0.3 * X["fever"] + 0.15 * X["age"]).to_numpy()
    return X, (rng.random(n) < risk).astype(np.int64), risk


def model(**options: Any) -> RiskScoreClassifier:
    return RiskScoreClassifier(**{"binner": None, **QUICK, **options})


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that knows a row by its column ``row``, and tells which rows it has learnt."""

    fits: ClassVar[list[set[int]]] = []
    predicted: ClassVar[list[set[int]]] = []

    def fit(self, X: Any, y: Any) -> Recorder:
        self.classes_ = np.unique(y)
        self.seen_ = set(_rows(X).tolist())
        Recorder.fits.append(self.seen_)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        rows = _rows(X)
        Recorder.predicted.append(set(rows.tolist()))
        assert not self.seen_ & set(rows.tolist())  # never predicts a row that it has learnt from
        risk = 0.1 + 0.8 * (rows % 7) / 7
        return np.column_stack([1 - risk, risk])


def _rows(X: Any) -> np.ndarray:
    return np.asarray(X["row"] if hasattr(X, "columns") else X[:, -1]).astype(np.int64)


@pytest.fixture
def recorder() -> Recorder:
    Recorder.fits, Recorder.predicted = [], []
    return Recorder()


def numbered(n: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    X, y, _ = make_rows(n)
    return X.assign(row=np.arange(n)), y


# -- every kind of teacher -------------------------------------------------------------------------


def test_teachers_by_name() -> None:
    X, y, _ = make_rows()
    for teacher, name in (("logistic", "logistic regression"), ("boosting", "boosting")):
        fitted = model(teacher=teacher).fit(X, y)
        origin = fitted.scorecard_.provenance
        assert fitted.teaching_.name == origin.teacher == name
        assert origin.prior_strength == 10 * len(X)
        assert origin.teacher_net_benefit > 0
        assert 0.8 < origin.share_kept <= 1.05
        assert fitted.teaching_.risks.shape == y.shape
    default = model().fit(X, y)
    assert default.scorecard_.provenance.teacher in (
        "logistic regression",
        "boosting",
        "a stack of logistic regression and boosting",
    )


def test_no_teacher_and_no_belief_are_the_published_objective() -> None:
    X, y, risk = make_rows()
    none = model(teacher=None).fit(X, y)
    for other in (
        model(prior_strength=0),
        model(teacher=LinearSVC(), prior_strength=0),  # is not even looked at
        model(teacher=risk, prior_strength=0.0),
    ):
        other.fit(X, y)
        assert other.teaching_ is None
        assert other.scorecard_.risks == none.scorecard_.risks
        assert other.coef_.tolist() == none.coef_.tolist()
        assert other.result_.objective == none.result_.objective
    assert none.scorecard_.provenance.teacher is None
    assert none.scorecard_.provenance.prior_strength == 0
    assert conclude(none.result_, none.scorecard_.provenance).startswith("Nothing is proven")
    published = RSSDNBClassifier(**QUICK)
    assert "teacher" not in published.get_params()
    assert published.fit(X, y).teaching_ is None


def test_a_classifier_sees_the_data_frame_that_was_passed() -> None:
    X, y, _ = make_rows()
    table = X.assign(ward=np.where(X["fever"] == 1, "A", "B"), note=None)
    encoded = ColumnTransformer([("text", OneHotEncoder(), ["ward"])], remainder="drop")
    teacher = make_pipeline(encoded, LogisticRegression())
    for rows in (table, pl.from_pandas(table.drop(columns="note"))):
        fitted = model(teacher=teacher, binner="auto").fit(rows, y)
        assert fitted.teaching_.name == "Pipeline"
        assert np.unique(fitted.teaching_.risks.round(1)).size >= 2
    assert not hasattr(teacher, "classes_")  # a clone was fitted


def test_a_classifier_without_a_binner_gets_the_array_or_frame() -> None:
    X, y, _ = make_rows()
    tree = DecisionTreeClassifier(max_depth=2)
    risks = [
        model(teacher=tree).fit(rows, y).teaching_.risks
        for rows in (X, X.to_numpy(), pl.from_pandas(X))
    ]
    assert risks[0].tolist() == risks[1].tolist() == risks[2].tolist()


def test_names_that_are_no_text() -> None:
    X, y, _ = make_rows()
    strange = X.set_axis([0, 1, 2], axis=1)
    tree = DecisionTreeClassifier(max_depth=2)
    found = model(teacher=tree, binner="auto").fit(strange, y)
    known = model(teacher=tree, binner="auto").fit(X, y)
    assert found.teaching_.risks.tolist() == known.teaching_.risks.tolist()


def test_a_column_of_risks_is_no_feature_even_if_it_is_named() -> None:
    X, y, risk = make_rows()
    frame = X.assign(risk=risk, y=y)
    for table in _engines(frame).values():
        fitted = model(teacher="risk").fit_table(table, "y", features=[*X, "risk"])
        assert fitted.scorecard_.feature_names == tuple(X)


def test_given_risks_by_array_and_by_column() -> None:
    X, y, risk = make_rows()
    by_array = model(teacher=risk, prior_strength=math.inf).fit(X, y)
    assert by_array.teaching_.name == "the given risks"
    with_risk = X.assign(model_risk=risk)
    tables = [
        with_risk,
        pl.from_pandas(with_risk),
        with_risk.to_dict("records"),
        {name: with_risk[name].to_numpy() for name in with_risk},
    ]
    for rows in tables[:2]:
        fitted = model(teacher="model_risk", prior_strength=math.inf).fit(rows, y)
        assert fitted.coef_.tolist() == by_array.coef_.tolist()
        assert fitted.feature_names_in_.tolist() == list(X)
        # The column may be there, or not, or hold anything, where cards predict.
        known = fitted.predict_proba(rows)
        assert (fitted.predict_proba(X) == known).all()
        assert (fitted.predict_proba(X.assign(model_risk=np.nan)) == known).all()
        assert (fitted.predict_proba(with_risk[:1]) == known[:1]).all()
    cards = []
    for rows in tables:
        fitted = model(teacher="model_risk", binner="auto").fit(rows, y)
        assert "model_risk" not in fitted.scorecard_.feature_names
        assert fitted.n_features_in_ == 3
        cards.append(fitted.scorecard_.risks)
        fitted.predict_proba(rows)
    assert all(card == cards[0] for card in cards)


def test_the_whole_belief_copies_the_teacher() -> None:
    X, _, risk = make_rows(600)
    noise = np.random.default_rng(5).integers(0, 2, 600)  # outcomes that say nothing
    card = model(teacher=risk, prior_strength=math.inf, penalty=0).fit(X, noise).scorecard_
    grid = np.array(card.thresholds.values, dtype=float)
    own = card.risk(X)
    agree = [((own >= p) == (risk >= p)).mean() for p in grid]
    assert min(agree) > 0.9
    assert card.provenance.prior_strength == math.inf
    assert card.provenance.share_kept > 0.98


def test_raw_rows_of_every_form_give_the_same_card() -> None:
    columns = raw_table(3, 200)
    y = outcome(columns, 3)
    frame = pd.DataFrame(columns)
    forms = [frame, pl.from_pandas(frame), frame.astype(object).where(frame.notna(), None)]
    forms[2] = forms[2].to_dict("records")
    cards = [model(teacher="logistic", binner="auto").fit(rows, y) for rows in forms]
    assert len({tuple(card.coef_.tolist()) for card in cards}) == 1
    assert len({card.scorecard_.risks for card in cards}) == 1


# -- invariance ------------------------------------------------------------------------------------


@pytest.mark.parametrize("teacher", ["auto", "logistic"])
def test_order_of_rows_and_threads_do_not_matter(teacher: str) -> None:
    X, y, _ = make_rows(150)
    order = np.random.default_rng(1).permutation(len(X))
    first = model(teacher=teacher).fit(X, y)
    again = model(teacher=teacher).fit(X.iloc[order], y[order])
    threads = model(teacher=teacher, n_jobs=2).fit(X, y)
    for other in (again, threads):
        assert other.coef_.tolist() == first.coef_.tolist()
        assert other.scorecard_.risks == first.scorecard_.risks
        assert other.result_.objective == first.result_.objective
    assert (again.teaching_.risks == first.teaching_.risks[order]).all()


def test_a_weight_of_two_counts_as_two_rows() -> None:
    X, y, _ = make_rows(150)
    twice = np.arange(150) % 3 == 0
    weighted = model(teacher="logistic").fit(X, y, sample_weight=1 + twice)
    longer = pd.concat([X, X[twice]])
    repeated = model(teacher="logistic").fit(longer, np.concatenate([y, y[twice]]))
    assert weighted.coef_.tolist() == repeated.coef_.tolist()
    assert weighted.scorecard_.risks == repeated.scorecard_.risks
    assert weighted.scorecard_.provenance.prior_strength == 10 * len(longer)


def test_groups_stay_together(recorder: Recorder) -> None:
    X, y = numbered()
    groups = np.arange(120) // 4
    model(teacher=recorder).fit(X, y, groups=groups)
    for seen, predicted in zip(Recorder.fits, Recorder.predicted, strict=True):
        assert not {row // 4 for row in seen} & {row // 4 for row in predicted}
    with pytest.raises(InputError, match="groups has shape"):
        model(teacher="logistic").fit(X, y, groups=groups[:5])
    near = model(teacher=recorder, max_points=1).near_optimal(X, y, groups=groups, limit=3)
    assert len(near.to_table()["size"]) >= 1


def test_scikit_learns_ways() -> None:
    X, y, risk = make_rows(120)
    teacher = DecisionTreeClassifier(max_depth=2)
    estimator = model(teacher=teacher, prior_strength=50)
    assert estimator.get_params()["teacher"] is teacher
    assert estimator.get_params()["teacher__max_depth"] == 2
    copy = clone(estimator)
    assert copy.teacher is not teacher
    assert copy.teacher.max_depth == 2
    assert clone(model(teacher=risk)).teacher.tolist() == risk.tolist()
    fitted = estimator.fit(X, y)
    stored = pickle.loads(pickle.dumps(fitted))
    assert (stored.predict_proba(X) == fitted.predict_proba(X)).all()
    assert stored.teaching_.name == "DecisionTreeClassifier"
    grid = {"teacher": ["logistic", None, teacher], "prior_strength": [20, math.inf]}
    search = GridSearchCV(model(), grid, cv=2, scoring="roc_auc", error_score="raise").fit(X, y)
    assert search.best_score_ > 0.6


def test_an_array_of_risks_cannot_be_split_and_a_column_can() -> None:
    X, y, risk = make_rows(120)
    with pytest.raises(InputError, match=r"120 risks.*60 rows.*column of X.*teacher='its name'"):
        cross_val_score(model(teacher=risk), X, y, cv=2, error_score="raise")
    found = cross_val_score(
        model(teacher="risk"), X.assign(risk=risk), y, cv=2, error_score="raise", scoring="roc_auc"
    )
    assert found.min() > 0.5


# -- learning inside, whatever is done with rows ---------------------------------------------------


def _check_folds(folds: list[np.ndarray]) -> None:
    """The teacher was fitted, and predicted, within the training rows of each fold alone."""
    wholes = [set(fold.tolist()) for fold in folds]
    assert Recorder.fits
    for seen in (*Recorder.fits, *Recorder.predicted):
        assert any(seen <= whole for whole in wholes)
    for whole in wholes:
        assert any(seen <= whole and len(seen) > len(whole) / 2 for seen in Recorder.fits)
        assert set().union(*(rows for rows in Recorder.predicted if rows <= whole)) == whole


def _folds(n: int, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rows = np.arange(n)
    return [(rows[rows % k != i], rows[rows % k == i]) for i in range(k)]


def test_cross_validation_teaches_inside(recorder: Recorder) -> None:
    X, y = numbered()
    folds = _folds(120, 2)
    cross_validate(model(teacher=recorder, max_features=2), X, y, folds=folds)
    _check_folds([train for train, _ in folds])


def test_the_bootstrap_teaches_inside(recorder: Recorder) -> None:
    X, y = numbered(60)
    # A row that is drawn twice does not teach about itself: the recorder would say so.
    bootstrap_validate(model(teacher=recorder, max_features=1), X, y, resamples=2)
    sizes = [len(seen) for seen in Recorder.fits]
    assert len(sizes) >= 2 * 20  # twice ten folds for each resample
    assert min(sizes) < 0.9 * 0.7 * 60  # of a resample, not of all rows


def test_comparison_teaches_inside(recorder: Recorder) -> None:
    X, y = numbered()
    folds = _folds(120, 2)
    mine = model(teacher=recorder, max_features=2)
    compare({"mine": mine, "logistic": "logistic"}, X, y, folds=folds)
    _check_folds([train for train, _ in folds])


def test_sizes_teach_inside(recorder: Recorder) -> None:
    X, y = numbered()
    folds = _folds(120, 2)
    size_path(model(teacher=recorder), X, y, sizes=[1], folds=folds)
    _check_folds([*(train for train, _ in folds), np.arange(120)])


def test_updates_teach_inside(recorder: Recorder) -> None:
    X, y = numbered()
    card = model(teacher=None, max_features=2).fit(X, y).scorecard_
    folds = _folds(120, 2)
    mine = model(teacher=recorder, max_features=2)
    choose_update(card, X, y, what=["keep", "refit"], folds=folds, estimator=mine)
    _check_folds([train for train, _ in folds])
    changed = update_card(card, X, y, "refit", estimator=mine)
    assert changed.new.provenance.teacher == "Recorder"
    assert changed.new.provenance.share_kept is not None
    assert Recorder.fits[-1] < set(range(120))


def test_an_update_by_a_column_of_risks() -> None:
    X, y, risk = make_rows()
    card = model(teacher=None).fit(X, y).scorecard_
    rows = X.assign(risk=risk)
    for table in (rows, {name: rows[name].to_numpy() for name in rows}, rows.to_dict("records")):
        by = model(teacher="risk")
        choice = choose_update(card, table, y, what=["keep", "refit"], folds=2, estimator=by)
        assert choice.ways == ("keep", "refit")
        assert update_card(card, table, y, "refit", estimator=by).new.provenance.teacher == (
            "the given risks"
        )


def test_near_optimal_cards_are_those_of_the_blend() -> None:
    X, y, risk = make_rows(150)
    estimator = model(teacher=risk, max_points=2, solver="auto")
    best = estimator.fit(X, y).result_
    near = estimator.near_optimal(X, y, tolerance=0.01, limit=5)
    assert near.to_table()["objective"][0] == pytest.approx(best.objective, abs=1e-9)


def test_a_column_of_risks_is_no_feature_of_other_models() -> None:
    X, y, _ = make_rows()
    rows = X.assign(oracle=y * 0.8 + 0.1)  # it gives the outcome away
    found = compare(
        ["scorecard", "rss-dnb", "tree"], rows, y, folds=2, teacher="oracle", time_limit=1.0
    )
    assert max(found.means("auroc").values()) < 0.95
    plain = compare(["tree"], X, y, folds=2)
    assert found.means("auroc")["tree"] == plain.means("auroc")["tree"]
    seen = compare(["tree"], rows, y, folds=2)
    assert seen.means("auroc")["tree"] > 0.99
    taught = {"a": model(teacher="oracle"), "b": model(teacher=None)}
    both = compare(taught, rows, y, folds=2)
    assert max(both.means("auroc").values()) < 0.95


# -- tables that stay where they are ---------------------------------------------------------------


def _engines(frame: pd.DataFrame) -> dict[str, Any]:
    return {
        "memory": frame,
        "DuckDB": duckdb.from_df(frame),
        "Polars": pl.from_pandas(frame).lazy(),
    }


@pytest.mark.parametrize("binner", ["auto", None])
@pytest.mark.parametrize("teacher", ["logistic", "auto", "risk", "tree"])
def test_tables_give_the_card_of_their_rows(binner: str | None, teacher: Any) -> None:
    if binner is None:
        X, y, _ = make_rows(150)
    else:
        columns = raw_table(4, 300)
        X, y = pd.DataFrame(columns)[["age", "sex"]], outcome(columns, 4)
    rng = np.random.default_rng(0)
    risk = np.round(np.clip(0.3 + 0.4 * y + rng.normal(0, 0.2, len(y)), 0, 1), 2)
    if teacher == "risk":
        X = X.assign(risk=risk)
    if teacher == "tree":
        teacher = DecisionTreeClassifier(max_depth=2)
    estimator = model(teacher=teacher, binner=binner, max_points=2)
    tables = _engines(X.assign(y=y))
    found = {
        name: clone(estimator).fit_table(table, "y")
        for name, table in tables.items()
        if teacher != "auto" or name != "Polars"  # the default teacher takes its time
    }
    first = found["memory"].scorecard_
    for name, fitted in found.items():
        assert fitted.scorecard_.risks == first.risks, name
        assert fitted.scorecard_.rules == first.rules, name
    if isinstance(teacher, str):  # another classifier sees numbers here, and the rows there
        whole = estimator.fit(X, y)
        assert whole.scorecard_.risks == first.risks
        assert whole.scorecard_.rules == first.rules
    teacher_text = found["DuckDB"].scorecard_.provenance.teacher
    if teacher == "risk":
        assert teacher_text == "the given risks"
    else:
        assert "distinct rows by their weight" in teacher_text


def test_on_large_tables_conditions_teach_and_the_card_says_so() -> None:
    columns = raw_table(5, 900)
    y = outcome(columns, 5)
    frame = pd.DataFrame(columns)[["age", "sex", "stage", "lactate"]].assign(y=y)
    risk = 0.2 + 0.5 * y
    options = {"binner": "auto", "max_points": 2}
    for teacher in ("logistic", DecisionTreeClassifier(max_depth=2)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model(teacher=teacher, **options).fit_table(
                duckdb.from_df(frame), "y", sample_rows=200
            )
            sampled = model(teacher=teacher, **options).fit_table(
                duckdb.from_df(frame), "y", sample_rows=200, max_patterns=100
            )
        assert fitted.scorecard_.provenance.teacher.endswith("the conditions of all rows")
        assert fitted.scorecard_.provenance.updated is None
        assert sampled.merging_.search_sampled
        assert "the conditions of a sample of" in sampled.scorecard_.provenance.teacher
        assert "points from a sample of" in sampled.scorecard_.provenance.updated
        assert conclude(sampled.result_, sampled.scorecard_.provenance).startswith(
            "The points were searched on a sample of the rows"
        )
    taught = frame.assign(risk=risk)
    by_column = model(teacher="risk", prior_strength=math.inf, **options).fit_table(
        duckdb.from_df(taught), "y", sample_rows=200
    )
    teacher_text = by_column.scorecard_.provenance.teacher
    assert teacher_text == "the given risks, their means over equal conditions"
    # Means of 0.2 and 0.7 over groups of one outcome are 0.2 and 0.7: what fit finds row by row.
    assert set(by_column.teaching_.risks.round(9)) == {0.2, 0.7}
    sampled = model(teacher="risk", **options)
    with pytest.warns(UserWarning, match="points were searched"):
        sampled.fit_table(duckdb.from_df(taught), "y", sample_rows=200, max_patterns=100)
    assert sampled.scorecard_.provenance.teacher == teacher_text


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, None, 0.2] * 20, "'risk' is missing in 20 of 60 rows"),
        ([0.5, 1.5, 0.2] * 20, "'risk' ranges from 0.2 to 1.5"),
        ([0.5] * 60, "'risk' is 0.5 in every row"),
    ],
)
def test_bad_columns_of_risks_in_tables(values: list[Any], message: str) -> None:
    frame = pd.DataFrame({"x": [0, 1, 2] * 20, "y": [0, 1] * 30, "risk": values})
    for name, table in _engines(frame).items():
        text = message if name != "memory" or "every" in message else "risk"
        with pytest.raises(InputError, match=text):
            model(teacher="risk", binner="auto").fit_table(table, "y")
        with pytest.raises(InputError, match="risk"):
            model(teacher="risk").fit_table(table, "y")
    with pytest.raises(InputError, match="no column 'other'"):
        model(teacher="other").fit_table(frame, "y")
    with pytest.raises(InputError, match="'y' cannot be both outcome and risk"):
        model(teacher="y").fit_table(frame, "y")


# -- bad input -------------------------------------------------------------------------------------


class Raises(LogisticRegression):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        raise RuntimeError("no convergence")


class Beyond(LogisticRegression):
    def predict_proba(self, X: Any) -> np.ndarray:
        return 2 * super().predict_proba(X)


class Silent(LogisticRegression):
    def predict_proba(self, X: Any) -> np.ndarray:
        return np.nan * super().predict_proba(X)


_RISK = make_rows()[2]


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        (np.where(np.arange(240) == 3, 1.5, _RISK), r"row 3 has 1.5.*probabilities"),
        (np.full(240, 0.3), "same risk, 0.3.*Pass risks that differ"),
        (np.where(np.arange(240) == 5, np.nan, _RISK), r"missing \(nan\) in row 5.*[Dd]rop"),
        (_RISK[:100], "100 risks, but there are 240 rows.*column"),
        (np.column_stack([1 - _RISK, _RISK]), r"two columns.*teacher\[:, 1\]"),
        (LinearSVC(), "LinearSVC has no predict_proba.*CalibratedClassifierCV"),
        (LogisticRegression, r"is a class. Pass an instance: LogisticRegression\(\)"),
        (Raises(), "Raises failed on fold 1 of 10: RuntimeError: no convergence. Correct"),
        (Beyond(), "Beyond gave the risk .* on fold 1 of 10.*probabilities"),
        (Silent(), "Silent gave the risk nan on fold 1 of 10"),
        ("bosting", "'bosting' is neither known nor a column.*'boosting'"),
        (5, "teacher=5 cannot teach. Use"),
        ({"age": 1}, "cannot teach. Use"),
    ],
)
def test_teachers_that_cannot_teach(teacher: Any, message: str) -> None:
    X, y, _ = make_rows()
    for binner in (None, "auto"):
        with pytest.raises(InputError, match=message):
            model(teacher=teacher, binner=binner).fit(X, y)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.where(np.arange(240) == 3, 1.5, _RISK), "'risk' must lie in .* row 3 has 1.5"),
        (np.full(240, 0.3), "'risk' is 0.3 in every row.*another teacher"),
        (np.where(np.arange(240) == 5, np.nan, _RISK), "'risk' has 1 missing.*row 5"),
        (["high"] * 240, "'risk' holds text"),
    ],
)
def test_columns_that_cannot_teach(values: Any, message: str) -> None:
    X, y, _ = make_rows()
    rows = X.assign(risk=values)
    for table in (rows, pl.from_pandas(rows)):
        for binner in (None, "auto"):
            with pytest.raises(InputError, match=message):
                model(teacher="risk", binner=binner).fit(table, y)


def test_a_column_needs_names_and_company() -> None:
    X, y, risk = make_rows()
    with pytest.raises(
        InputError, match=r"X has no column names\. Pass a data frame, or the numbers"
    ):
        model(teacher="risk").fit(X.to_numpy(), y)
    with pytest.raises(InputError, match="no columns"):
        model(teacher="risk").fit(pd.DataFrame({"risk": risk}), y)


@pytest.mark.parametrize("strength", [-1, math.nan, -math.inf, "much", True])
def test_strengths_that_are_none(strength: Any) -> None:
    X, y, risk = make_rows()
    with pytest.raises(InputError, match=r"is not a number of rows. Use \"auto\".*or inf"):
        model(teacher=risk, prior_strength=strength).fit(X, y)


def test_fallbacks_are_said() -> None:
    X, y, _ = make_rows()
    single = np.zeros_like(y)
    single[7] = 1
    with pytest.warns(UserWarning, match="Only 1 events.*share of events.*More rows"):
        fitted = model().fit(X, single)
    assert fitted.scorecard_.provenance.teacher == "the prevalence"
    with pytest.warns(UserWarning, match="Only 1 events"):
        model(teacher=LogisticRegression(), max_points=1).near_optimal(X, single, limit=1)
    with pytest.warns(UserWarning, match="Only 1 events"):
        size_path(
            model(teacher="logistic", max_points=1), X, single, sizes=[1], folds=_half(single)
        )
    with pytest.warns(UserWarning, match="DummyClassifier gives every row of a fold the same risk"):
        model(teacher=DummyClassifier()).fit(X, y)
    few = np.where(np.cumsum(y) <= 12, y, 0)
    with pytest.warns(UserWarning, match="12 rows, fewer than 20: logistic regression teaches"):
        model(teacher="boosting").fit(X, few)
    card = model(teacher=None).fit(X, y).scorecard_
    with pytest.warns(UserWarning, match="12 rows, fewer than 20"):
        update_card(card, X, few, "refit", estimator=model())


def _half(y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds that learn from the only event."""
    rows = np.arange(y.size)
    event = np.flatnonzero(y)
    others = np.setdiff1d(rows, event)
    halves = [others[::2], others[1::2]]
    return [(np.union1d(halves[1 - i], event), halves[i]) for i in range(2)]


def test_weights_must_be_rows_for_a_belief_in_rows() -> None:
    X, y, risk = make_rows()
    small = np.full(len(y), 0.01)
    with pytest.raises(InputError, match=r'A prior counts weights as rows.*prior_strength="auto"'):
        model(teacher=risk, prior_strength=100, penalty="paper").fit(X, y, sample_weight=small)
    model(teacher=risk, penalty="paper").fit(X, y, sample_weight=small)


# -- what is printed at the end --------------------------------------------------------------------


def test_the_closing_sentence() -> None:
    X, y, _ = make_rows()
    proven = model(teacher="logistic", solver="auto").fit(X, y)
    origin, result = proven.scorecard_.provenance, proven.result_
    text = conclude(result, origin)
    rules = f"{result.size} rule{'s' * (result.size != 1)}"
    assert text.startswith(
        f"This card of {rules} keeps {share_text(origin.share_kept)} of the net benefit of the "
    )
    assert result.status == "optimal"
    assert text.endswith(f"no card of at most {rules} can keep more: this is proven.")
    searched = model(teacher="logistic").fit(X, y)
    assert conclude(searched.result_, searched.scorecard_.provenance).endswith(
        "could keep more is not known."
    )


def test_the_share_is_that_of_the_blended_masses() -> None:
    """Count again what the card and its teacher are worth on outcomes and risks, row by row."""
    X, y, risk = make_rows()
    fitted = model(teacher=risk, prior_strength=len(y)).fit(X, y)  # half outcomes, half risks
    grid = fitted.thresholds_
    mass = (y + risk) / 2

    def worth(risks: np.ndarray) -> float:
        total = 0.0
        for p, w, r in zip(grid.array, grid.weight_array, grid.odds, strict=True):
            called = risks >= p
            total += w * (mass[called].sum() - r * (1 - mass)[called].sum()) / len(y)
        return total

    card = np.asarray(fitted.scorecard_.risk(X))
    origin = fitted.scorecard_.provenance
    assert origin.share_kept == pytest.approx(worth(card) / worth(risk), abs=2e-3)
    result: SolverResult = fitted.result_
    assert result.net_benefit == pytest.approx(worth(card), abs=2e-3)
