"""Cards from raw tables: fit, save, load, score; constraints by raw column; certificates."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from netbenefit import (
    AtMost,
    Binner,
    Certificate,
    Condition,
    Exclude,
    Exclusive,
    Implies,
    Include,
    InputError,
    MaxPerColumn,
    RiskScoreClassifier,
    RSSDNBClassifier,
    Scorecard,
    Sign,
    aunbc,
)
from netbenefit.certificates.certificate import differences
from netbenefit.certificates.judge import verify
from netbenefit.data.duckdb import read_table
from netbenefit.problem.constraints import AtLeast, Bounds, NeedsOneOf, Values
from netbenefit.problem.raw_constraints import RawNames, by_condition
from netbenefit.solvers.local_search import LocalSearch
from reproduction.datasets import data_folder
from tests.helpers.cards import SHORT_SEARCH
from tests.helpers.full import slow
from tests.helpers.raw_rows import CONTAINERS, STAGES, outcome, raw_table

SPECIAL = {"visits (−9: unknown)": [-9]}
QUICK: dict[str, Any] = {"solver": SHORT_SEARCH, "n_jobs": 1}


def learn(seed: int = 0, n_rows: int = 400, **params: Any) -> tuple[RiskScoreClassifier, Any, Any]:
    table = raw_table(seed, n_rows)
    y = outcome(table, seed)
    model = RiskScoreClassifier(**{"binner": Binner(special=SPECIAL), **QUICK, **params})
    return model.fit(pd.DataFrame(table), y), table, y


# -- fit, save, load, score ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "binner",
    [
        "auto",
        Binner(bins="interval", method="tree", special=SPECIAL),
        Binner(method="quantile", missing="impute", ordered={"stage": STAGES}),
    ],
    ids=["auto", "interval", "impute"],
)
@pytest.mark.filterwarnings("ignore:column ", "ignore:columns ")
def test_risks_are_the_same_wherever_rows_come_from(binner: Any, tmp_path: Any) -> None:
    model, _, _ = learn(binner=binner)
    file = tmp_path / "card.json"
    model.scorecard_.save(file)
    card = Scorecard.load(file)
    assert card == model.scorecard_

    @given(seed=st.integers(0, 10**6))
    @settings(max_examples=25, deadline=None)
    def check(seed: int) -> None:
        rows = raw_table(seed, 30, strange=True)
        expected = model.predict_proba(pd.DataFrame(rows))[:, 1]
        for name, make in CONTAINERS.items():
            np.testing.assert_array_equal(card.risk(make(rows)), expected, err_msg=name)
            got = model.predict_proba(make(rows))[:, 1]
            np.testing.assert_array_equal(got, expected, err_msg=name)
        for record, risk in zip(CONTAINERS["list of dicts"](rows), expected, strict=True):
            assert card.risk(record) == risk
            assert model.predict_proba(record)[0, 1] == risk

    check()


def test_training_rows_get_the_scores_of_the_search() -> None:
    model, table, _ = learn(1)
    scores = model.binner_.transform(table).astype(int) @ model.coef_
    card = model.scorecard_
    assert card.shift > 0
    np.testing.assert_array_equal(card.score(table), scores + card.shift)
    np.testing.assert_array_equal(card.raw().score(table), scores)
    assert card.raw().cutoffs == model.result_.cutoffs
    assert card.raw().score_range == model.result_.score_range
    assert list(model.feature_names_in_) == list(table)
    assert model.n_features_in_ == len(table)
    assert model.predict(pd.DataFrame(table), threshold=0.2).dtype == bool


def test_a_row_needs_only_the_columns_of_the_card() -> None:
    model, table, _ = learn(2)
    needed = {name: table[name][0] for name in model.scorecard_.features}
    assert model.predict_proba(needed).shape == (1, 2)
    absent = next(iter(needed))
    del needed[absent]
    with pytest.raises(InputError, match="the card needs"):
        model.predict_proba(needed)


def test_arrays_of_objects_and_of_numbers() -> None:
    table = raw_table(3, 300)
    y = outcome(table, 3)
    rows = np.array([list(row) for row in zip(*table.values(), strict=True)], dtype=object)
    model = RiskScoreClassifier(binner="auto", **QUICK).fit(rows, y)
    named = RiskScoreClassifier(binner="auto", **QUICK).fit(pd.DataFrame(table), y)
    codes = named.binner_.transform(table)
    np.testing.assert_array_equal(model.binner_.transform(rows), codes)
    np.testing.assert_array_equal(model.predict_proba(rows.tolist()), model.predict_proba(rows))


def test_it_is_a_good_scikit_learn_estimator() -> None:
    table = pd.DataFrame(raw_table(4, 300))
    y = outcome(raw_table(4, 300), 4)
    model = RiskScoreClassifier(binner=Binner(special=SPECIAL), **QUICK)
    assert cross_val_score(model, table, y, cv=3, scoring="roc_auc").mean() > 0.6
    grid = GridSearchCV(model, {"binner__max_bins": [2, 4]}, cv=2).fit(table, y)
    assert grid.best_params_["binner__max_bins"] in (2, 4)
    again = pickle.loads(pickle.dumps(model.fit(table, y)))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert clone(model).binner.get_params() == model.binner.get_params()
    assert model.binner is not model.binner_
    assert not hasattr(model.binner, "terms_")  # fit changes no constructor argument


def test_binning_is_learnt_from_the_training_rows_alone() -> None:
    table = raw_table(5, 400)
    y = outcome(table, 5)
    half = {name: values[:200] for name, values in table.items()}
    model = RiskScoreClassifier(binner="auto", **QUICK).fit(half, y[:200])
    assert model.binner_.fitted_ == Binner(thresholds=model.thresholds_).fit(half, y[:200]).fitted_


def test_weights_reach_the_binner() -> None:
    x = np.random.default_rng(0).normal(size=400)
    y = np.where(np.arange(400) < 200, x > 0, x > 1)
    weight = np.where(np.arange(400) < 200, 1.0, 0.0)
    model = RiskScoreClassifier(binner="auto", prior_strength=0, **QUICK)
    terms = model.fit({"x": x}, y, sample_weight=weight).binner_.terms_
    alone = model.fit({"x": x[:200]}, y[:200]).binner_.terms_
    assert terms == alone


def test_the_published_method_takes_raw_tables() -> None:
    table = raw_table(6, 200)
    model = RSSDNBClassifier(binner="auto", solver=SHORT_SEARCH)
    card = model.fit(table, outcome(table, 6)).scorecard_
    assert card.provenance is not None
    assert card.provenance.prior_strength == 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"binner": "yes"}, "binner='yes' is not known"),
        ({"binner": 3}, "binner=3 is not known"),
        ({"decimals": {"age": 1}}, "decimals need binner=None"),
        ({"sign": {"agee": "+"}}, "'agee'"),
        ({"constraints": [Include("age", "nose")]}, "nose"),
    ],
)
def test_settings_are_checked(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        learn(**params)


def test_without_a_binner_raw_columns_are_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match="binner"):
        RiskScoreClassifier(binner=None, **QUICK).fit(raw_table(0, 50), np.arange(50) % 2)


def test_a_card_without_rules_scores_every_row() -> None:
    model, table, _ = learn(16, max_features=0)
    assert model.scorecard_.rules == ()
    assert model.predict_proba(table).shape == (400, 2)
    assert model.predict_proba(pd.DataFrame(table)).shape == (400, 2)
    assert model.predict_proba({"age": 3}).shape == (1, 2)


def test_signs_hold_along_combined_columns() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 6, (2, 300))
    y = np.abs(a + b - 5) + rng.normal(0, 1, 300) < 2
    binner = Binner(method="tree", bins="interval", combine={"s": ("sum", ["a", "b"])})
    for how in ({"sign": {"s": "+"}}, {"constraints": [Sign("s", "+")]}):
        model = RiskScoreClassifier(binner=binner, prior_strength=0, penalty=1e-5, **how, **QUICK)
        card = model.fit({"a": a, "b": b}, y).scorecard_
        scores = [card.score({"a": k // 2, "b": k - k // 2}) for k in range(11)]
        assert (np.diff(scores) >= 0).all()


def test_rows_may_hold_more_than_the_card_needs() -> None:
    model, table, _ = learn(17)
    row = {name: values[0] for name, values in table.items()}
    risk = model.predict_proba(row)
    np.testing.assert_array_equal(model.predict_proba({**row, "tags": ["a", "b"]}), risk)
    frame = pd.DataFrame(table).iloc[:1].assign(**{"": 1})
    np.testing.assert_array_equal(model.predict_proba(frame), risk)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [1, 2, 3, 5])  # some answers take points away
def test_both_forms_of_a_card_are_the_same_card(seed: int) -> None:
    """Shifted or raw: the same rules, decisions and risks; only scores and cut-offs move."""
    same: dict[str, Any] = {"solver": LocalSearch(time_limit=None, max_rounds=1)}
    same |= {"prior_strength": 0, "max_features": 6}
    model, table, _ = learn(seed, **same)
    raw, _, _ = learn(seed, start_at_zero=False, **same)
    card, other = model.scorecard_, raw.scorecard_
    assert card.rules == other.rules
    assert (other.base, card.raw()) == ((), replace(other, provenance=card.provenance))
    assert all(min(a.points for a in one.answers) == 0 for one in card.questions if not one.units)
    assert model.cutoffs_.tolist() == [cutoff + card.shift for cutoff in raw.cutoffs_.tolist()]
    assert model.result_.cutoffs == raw.result_.cutoffs
    for read in (model.predict_proba, model.decision_function, model.predict):
        np.testing.assert_array_equal(read(table), getattr(raw, read.__name__)(table))
    assert list(differences(card, model.certificate_.problem, model.certificate_.answer)) == []
    (name, points), *rest = card.base
    moved = replace(card, base=((name, points + 1), *rest))
    (wrong, *_) = differences(moved, model.certificate_.problem, model.certificate_.answer)
    assert "its columns start from" in wrong


# -- what is missing, what is new ------------------------------------------------------------------


def test_missing_is_worth_what_was_learnt() -> None:
    model, _, _ = learn(7)
    card = model.scorecard_
    missing = [r for r in card.rules if r.term == Condition("lactate", "missing")]
    used = "lactate" in {rule.term.feature for rule in card.rules}
    assert len(missing) == used
    if used:
        (question,) = (one for one in card.questions if one.feature == "lactate")
        assert question.answers[-1].text == "not known"


@pytest.mark.filterwarnings("ignore:column ")
def test_new_holes_and_levels_warn_and_score() -> None:
    model, table, _ = learn(8)
    row = {name: values[0] for name, values in table.items()}
    with pytest.warns(UserWarning, match="column 'age' is missing, but never was"):
        assert 0 <= model.scorecard_.risk({**row, "age": None}) <= 1


# -- constraints by raw column ---------------------------------------------------------------------


def totals_along(card: Scorecard, name: str, values: list[Any]) -> list[int]:
    """Points that one column brings, value by value."""
    return [
        sum(r.points * r.term.value_code(v) for r in card.rules if r.term.feature == name)
        for v in values
    ]


@pytest.mark.parametrize("bins", ["cumulative", "interval"])
@pytest.mark.parametrize("way", ["non-decreasing", "-"])
def test_points_are_monotone_along_a_column(bins: str, way: str) -> None:
    binner = Binner(method="quantile", bins=bins, special=SPECIAL)
    model, _, _ = learn(9, binner=binner, sign={"age": way}, prior_strength=0, penalty=0)
    along = totals_along(model.scorecard_, "age", list(range(15, 99)))
    steps = np.diff(along)
    assert (steps >= 0).all() if way == "non-decreasing" else (steps <= 0).all()
    assert not any(t.op == "between" for t in model.binner_.terms_ if t.feature == "age")


def test_a_sign_may_stand_among_the_constraints() -> None:
    binner = Binner(method="quantile", bins="interval", special=SPECIAL)
    model, _, _ = learn(9, binner=binner, constraints=[Sign("age", "-")], penalty=0)
    assert (np.diff(totals_along(model.scorecard_, "age", list(range(15, 99)))) <= 0).all()


def test_at_most_some_conditions_a_column() -> None:
    binner = Binner(method="quantile", special=SPECIAL)
    free, _, _ = learn(10, binner=binner, prior_strength=0, penalty=0)
    tight, _, _ = learn(
        10, binner=binner, prior_strength=0, penalty=0, constraints=[MaxPerColumn(1)]
    )

    def most(model: RiskScoreClassifier) -> int:
        names = [r.term.feature for r in model.scorecard_.rules if r.points]
        return max(names.count(name) for name in names)

    assert most(free) > 1
    assert most(tight) == 1


def test_columns_in_and_out() -> None:
    model, _, _ = learn(11, constraints=[Include("stage"), Exclude("age"), AtMost(1, ["sex"])])
    names = {rule.term.feature for rule in model.scorecard_.rules if rule.points}
    assert "stage" in names
    assert "age" not in names


NAMES = ["age ≥ 40", "age ≥ 60", "age missing", "sex is m", "bmi ≥ 30", "bmi ≥ 35"]
TERMS = [
    Condition("age", ">=", 40),
    Condition("age", ">=", 60),
    Condition("age", "missing"),
    Condition("sex", "==", "m"),
    Condition("bmi", ">=", 30),
    Condition("bmi", ">=", 35),
]


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (Sign("age", "-"), [Sign(n, "-") for n in NAMES[:2]]),
        (Sign("age missing", "-"), [Sign("age missing", "-")]),
        (Bounds("bmi", 0, 3), [Bounds(n, 0, 3) for n in NAMES[4:]]),
        (Values("sex", [0, 2]), [Values("sex is m", [0, 2])]),
        (Include("age"), [AtLeast(1, NAMES[:3])]),
        (Include("sex"), [Include("sex is m")]),
        (Exclude("bmi", "sex"), [Exclude(*NAMES[4:], "sex is m")]),
        (AtMost(1, ["bmi"]), [AtMost(1, NAMES[4:])]),
        (AtLeast(2, ["bmi", "sex"]), [AtLeast(2, [*NAMES[4:], "sex is m"])]),
        (Exclusive("sex", "bmi"), [Exclusive("sex is m", n) for n in NAMES[4:]]),
        (Implies("bmi", "sex"), [Implies(n, "sex is m") for n in NAMES[4:]]),
        (Implies("sex", "bmi"), [NeedsOneOf("sex is m", NAMES[4:])]),
        (Implies("sex", "none"), [Exclude("sex is m")]),
        (MaxPerColumn(2), [AtMost(2, NAMES[:3])]),
    ],
    ids=str,
)
def test_raw_names_stand_for_their_conditions(constraint: Any, expected: list[Any]) -> None:
    known = RawNames(NAMES, TERMS, ["age", "sex", "bmi", "none"])
    assert by_condition(known, None, None, [constraint]) == expected


def test_needs_one_of_is_kept_by_the_search() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 4))
    y = rng.random(300) < 0.1 + 0.7 * X[:, 0]
    model = RiskScoreClassifier(
        constraints=[NeedsOneOf(0, [1, 2])], prior_strength=0, penalty=0.0, **QUICK
    ).fit(X, y)
    assert model.coef_[0] != 0
    assert model.coef_[1] != 0 or model.coef_[2] != 0


# -- groups ----------------------------------------------------------------------------------------


def test_solvers_know_the_one_hot_members() -> None:
    from netbenefit.estimators.training import training_of_raw
    from netbenefit.metrics.thresholds import Thresholds
    from netbenefit.problem.problem import Problem

    table = raw_table(12, 300, missing=False)
    binner = Binner(method="quantile", bins="interval")
    training = training_of_raw(binner, table, outcome(table, 12), None, {"constraints": ()})
    problem = Problem.build(training.table, Thresholds.tenths())
    groups = problem.shift_groups
    for name in ("stage", "age"):
        places = binner.groups_[name]
        assert {tuple(groups[k]) for k in places} == {(places[0], places[-1] + 1)}


# -- certificates ----------------------------------------------------------------------------------


@pytest.mark.parametrize("binner", ["auto", "units"])
@pytest.mark.filterwarnings("ignore:column ")
def test_certificates_speak_of_raw_columns(binner: Any) -> None:
    if binner == "units":
        binner = Binner(
            method="quantile",
            per_unit=["lactate"],
            special=SPECIAL,
            combine={"load": ("max", ["visits (−9: unknown)", "code"])},
            max_bins=3,
        )
    model, table, y = learn(13, binner=binner, prior_strength=0, max_features=4)
    certificate = Certificate.from_json(model.certificate_.to_json())
    raw = {name: np.array(values, dtype=object) for name, values in table.items()}
    verdict = verify(model.scorecard_, certificate, raw, y)
    assert verdict.accepted, verdict.failures
    card = model.scorecard_
    assert verify(card.raw(), certificate, raw, y).accepted  # the same card in its raw form
    name = next(rule.term.feature for rule in card.rules if isinstance(rule.term, Condition))
    other_base = {**dict(card.base), name: dict(card.base).get(name, 0) + 1}
    refused = verify(replace(card, base=tuple(other_base.items())), certificate, raw, y)
    assert any("its columns start from" in text for text in refused.failures)
    used = model.scorecard_.features[0]
    other = {**raw, used: raw[used][::-1]}
    assert not verify(model.scorecard_, certificate, other, y).accepted


def test_a_changed_reading_is_found() -> None:
    model, table, y = learn(14, max_features=5)
    card = model.scorecard_
    text = card.to_json().replace('"whole": true', '"whole": false', 1)
    changed = Scorecard.from_json(text)
    assert changed != card
    raw = {name: np.array(values, dtype=object) for name, values in table.items()}
    failures = verify(changed, model.certificate_, raw, y).failures
    assert any("reads column" in text for text in failures)


# -- what a person reads ---------------------------------------------------------------------------


def test_the_printed_card_reads_well() -> None:
    ages = np.arange(20, 90).repeat(20)
    rng = np.random.default_rng(0)
    y = rng.random(ages.size) < np.where(ages >= 60, 0.6, np.where(ages >= 40, 0.25, 0.05))
    model = RiskScoreClassifier(binner=Binner(cuts={"age": [40, 50, 60]}), **QUICK)
    text = str(model.fit(pd.DataFrame({"age": ages}), pd.Series(y, name="ill")).scorecard_)
    for words in ("│ under 40 ", "│ 40–59 ", "│ 60 or more "):
        assert words in text
    assert "50" not in text.split("SCORE")[0]  # no step there: merged


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_may_have_more_columns_in_any_order(frame: Any) -> None:
    model, table, _ = learn(15)
    expected = model.predict_proba(table)
    shuffled = {"extra": [1] * 400, **dict(reversed(table.items()))}
    np.testing.assert_array_equal(model.predict_proba(frame(shuffled)), expected)


# -- against logistic regression -------------------------------------------------------------------


def logistic_risk(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(
        SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression(C=1e6, max_iter=5000)
    )
    risk: np.ndarray = model.fit(X, y).predict_proba(new)[:, 1]
    return risk


@slow
def test_auto_is_no_worse_than_logistic_regression_on_breast_cancer() -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import StratifiedKFold

    data = load_breast_cancer(as_frame=True)
    y = (data.target == 0).to_numpy()
    gaps = []
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for train, test in folds.split(data.data, y):
        model = RiskScoreClassifier(binner="auto", solver="local", time_limit=None)
        card = model.fit(data.data.iloc[train], y[train])
        ours = card.predict_proba(data.data.iloc[test])[:, 1]
        raw = data.data.to_numpy()
        theirs = logistic_risk(raw[train], y[train], raw[test])
        grid = card.thresholds_
        gaps.append(aunbc(y[test], ours, grid) - aunbc(y[test], theirs, grid))
    error = np.std(gaps, ddof=1) / np.sqrt(len(gaps))
    assert np.mean(gaps) >= -error


@slow
def test_auto_is_no_worse_than_logistic_regression_on_credit_data() -> None:
    file = data_folder() / "givemesomecredit.csv.gz"
    if not file.exists():
        pytest.skip(f"{file} is absent: set NETBENEFIT_DATA to the folder of the data sets")
    columns = read_table(file)
    y = columns.pop("SeriousDlqin2yrs") == 1
    rng = np.random.default_rng(0)
    test = np.zeros(y.size, dtype=bool)
    test[rng.permutation(y.size)[: y.size // 4]] = True
    model = RiskScoreClassifier(binner="auto", solver="local", time_limit=None)
    model.fit({name: values[~test] for name, values in columns.items()}, y[~test])
    ours = model.predict_proba({name: values[test] for name, values in columns.items()})[:, 1]
    raw = np.column_stack(list(columns.values()))
    theirs = logistic_risk(raw[~test], y[~test], raw[test])
    # AUNBC is a mean over rows: its difference has the standard error of a mean.
    grid = model.thresholds_.given
    odds = grid / (1 - grid)
    worth = np.where(y[test][:, None], 1.0, -odds)
    benefit = (worth * ((ours[:, None] >= grid) * 1.0 - (theirs[:, None] >= grid))).mean(axis=1)
    assert benefit.mean() >= -benefit.std() / np.sqrt(test.sum())
