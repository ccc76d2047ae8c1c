"""Reasons to doubt a card: small tables by published criteria; columns that tell the outcome."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

from netbenefit import (
    Binner,
    LeakWarning,
    RiskScoreClassifier,
    RiskSLIMClassifier,
    RSSDNBClassifier,
    Scorecard,
    SLIMClassifier,
    SmallTableWarning,
    cross_validate,
)
from netbenefit.data import RawTable
from netbenefit.estimators.cautions import (
    explained_by,
    find_cautions,
    most_explained,
    needed_for_candidates,
    needed_for_overall_risk,
)
from netbenefit.estimators.training import training_of_raw
from reproduction.datasets import DATASETS, load_dataset

SMALL: dict[str, Any] = {"max_features": 2, "max_points": 1, "time_limit": None}
SEARCHED: dict[str, Any] = {**SMALL, "teacher": None, "solver": "local", "n_jobs": 1}


def rows(n: int = 600, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"fever": rng.integers(0, 2, n), "age": rng.integers(20, 80, n)})
    return X, rng.random(n) < 0.2 + 0.5 * X["fever"].to_numpy()


def caught(call: Any) -> list[Any]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [w for w in found if issubclass(w.category, SmallTableWarning | LeakWarning)]


# -- tables that are too small ---------------------------------------------------------------------


def test_the_criteria_are_those_that_were_published() -> None:
    # Riley et al. (2019): 24 candidates, R² 0.288, prevalence 17.4%: 623 and 221 rows.
    assert needed_for_candidates(24, 0.288) == 623
    assert needed_for_overall_risk(0.174) == 221
    # Riley et al. (2020): at a prevalence of 5% no R² is above 0.33.
    assert most_explained(0.05) == pytest.approx(0.33, abs=0.005)


def test_a_good_teacher_needs_fewer_rows() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"x{k}": rng.normal(size=450) for k in range(12)})
    event = X["x0"] + X["x1"] + 0.3 * rng.normal(size=450) > 0
    strong = RiskScoreClassifier(**{**SEARCHED, "teacher": "logistic"})
    assert not caught(lambda: strong.fit(X, event))
    weak = RiskScoreClassifier(**{**SEARCHED, "teacher": "logistic"})
    (found,) = caught(lambda: weak.fit(X, rng.permutation(event)))
    assert "12 candidate columns" in str(found.message)
    # By hand: risks of 0.9 and 0.1, right in nine of ten rows.
    truth = np.arange(100) % 2 == 0
    risk = np.where(truth, 0.9, 0.1)
    risk[:10] = 1 - risk[:10]
    gain = (90 * np.log(0.9 / 0.5) + 10 * np.log(0.1 / 0.5)) / 100
    assert explained_by(risk, truth, np.ones(100)) == pytest.approx(1 - np.exp(-2 * gain))


def test_a_tiny_table_is_told_on_the_card() -> None:
    X, event = rows(20)
    model = RiskScoreClassifier(binner=None, penalty=0.0, **SEARCHED)
    (found,) = caught(lambda: model.fit(X, event))
    assert found.category is SmallTableWarning
    assert found.filename == __file__
    rarer = min(event.sum(), 20 - event.sum())
    each = f"{rarer / model.scorecard_.size:.2g} rows of the rarer outcome per rule"
    for part in (each, "20 rows for 2 candidate columns", "overall risk", "Riley et al. 2019"):
        assert part in str(found.message)
    assert "--max-features" in found.message.in_options()
    origin = model.scorecard_.provenance
    assert origin is not None
    assert origin.caution == f"small table: {each}, 20 rows for 2 candidate columns"
    assert "caution: small table" in " ".join(str(model.scorecard_).split())
    assert Scorecard.from_json(model.scorecard_.to_json()) == model.scorecard_


@pytest.mark.parametrize(
    "model",
    [
        RiskScoreClassifier(**SEARCHED),
        RSSDNBClassifier(**{k: v for k, v in SEARCHED.items() if k != "teacher"}),
        SLIMClassifier(**SMALL),
        RiskSLIMClassifier(**SMALL),
    ],
)
def test_all_learners_tell_it_and_none_does_of_enough_rows(model: Any) -> None:
    (found,) = caught(lambda: model.fit(*rows(40)))
    assert found.category is SmallTableWarning
    assert found.filename == __file__
    assert "caution: small table" in " ".join(str(model.scorecard_).split())
    assert not caught(lambda: model.fit(*rows()))
    assert model.scorecard_.provenance.caution is None


def test_whole_weights_count_rows_and_others_do_not() -> None:
    X, event = rows(60)
    model = RiskScoreClassifier(binner=None, **SEARCHED)
    assert not caught(lambda: model.fit(X, event, sample_weight=np.full(60, 20)))
    assert caught(lambda: model.fit(X, event, sample_weight=np.full(60, 20.5)))


def test_a_search_tells_it_once_for_all_folds() -> None:
    X, y = rows(60)
    model = RiskScoreClassifier(**SEARCHED | {"time_limit": None})
    search = GridSearchCV(model, {"max_features": [1, 2]}, cv=3)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        search.fit(X, y)
    told = [str(w.message) for w in found if w.category is SmallTableWarning]
    assert len(told) == 2
    assert "of some folds" in told[0]
    assert told[1].startswith("a small table for this card: ")
    assert "small table" in search.best_estimator_.scorecard_.provenance.caution


def test_folds_do_not_repeat_it() -> None:
    X, event = rows(60)
    model = RiskScoreClassifier(binner=None, **SEARCHED)
    assert not caught(lambda: cross_validate(model, X, event, folds=2))


# -- columns that give away the outcome ------------------------------------------------------------


def leaks_of(X: Any, event: Any, binner: Binner | None = None) -> list[str]:
    training = training_of_raw(binner or Binner(), X, np.asarray(event), None, {})
    return [c.on_card for c in find_cautions(training, 1) if isinstance(c.warning, LeakWarning)]


@pytest.mark.filterwarnings("ignore:column ")
@pytest.mark.parametrize(
    "copy",
    [
        lambda event, rng: event,
        lambda event, rng: np.where(event, "dead", "alive"),
        lambda event, rng: np.r_[np.nan, event[1:]],
        lambda event, rng: 9.0 * event + rng.normal(0, 1, event.size),
        # known of the dead only
        lambda event, rng: np.where(event, rng.integers(1, 90, event.size), np.nan),
        # one level of many
        lambda event, rng: np.where(event, "morgue", rng.choice(list("abcd"), event.size)),
        lambda event, rng: event ^ (rng.random(event.size) < 0.004),
    ],
    ids=["copy", "words", "with a gap", "numbers", "missing", "level", "some errors"],
)
def test_a_column_that_gives_away_the_outcome(copy: Any) -> None:
    X, event = rows()
    X["late"] = copy(event, np.random.default_rng(1))
    assert leaks_of(X, event) == ["likely leak: 'late'"]
    assert leaks_of(X.drop(columns="late"), event) == []
    assert leaks_of(X, ~event) == ["likely leak: 'late'"]


def test_cuts_beside_the_one_that_tells_do_not_hide_it() -> None:
    rng = np.random.default_rng(0)
    X, event = rows(200)
    X["weight"] = np.where(event, rng.integers(1000, 2496, 200), rng.integers(2500, 4000, 200))
    assert leaks_of(X, event, Binner(cuts={"weight": [1800, 3200]})) == []  # the user's own cuts
    assert leaks_of(X, event, Binner(method="quantile", max_bins=3)) == ["likely leak: 'weight'"]


def test_a_leak_is_told_with_its_remedy() -> None:
    X, event = rows()
    X["late"] = event
    model = RiskScoreClassifier(**SEARCHED)
    (found,) = caught(lambda: model.fit(X, event))
    assert found.category is LeakWarning
    assert "'late' almost gives away the outcome" in str(found.message)
    assert "--drop late" in found.message.in_options()
    assert "caution: likely leak: 'late'" in " ".join(str(model.scorecard_).split())
    plain = RiskScoreClassifier(binner=None, **SEARCHED)
    assert [w.category for w in caught(lambda: plain.fit(X, event))] == [LeakWarning]
    meant = RiskScoreClassifier(binner=Binner(numeric=["late"]), **SEARCHED)
    assert not caught(lambda: meant.fit(X, event))
    folds = caught(lambda: cross_validate(model, X, event, folds=2))
    assert [w.category for w in folds] == [LeakWarning]


def test_noise_is_no_leak() -> None:
    rng = np.random.default_rng(2)
    for n in (20, 40, 100):
        for _ in range(20):
            X = {f"x{k}": rng.integers(0, 12, n) for k in range(8)}
            X["level"] = rng.choice(list("abcdef"), n)
            assert leaks_of(X, rng.permutation(np.arange(n) % 3 == 0)) == []


@pytest.mark.filterwarnings("ignore:column ")
@pytest.mark.parametrize("name", sorted(DATASETS))
def test_no_false_alarm_on_the_data_of_the_paper(name: str, data_folder: Path) -> None:
    X, event, names = load_dataset(name, folder=data_folder)
    table = RawTable(dict(zip(names, X.T, strict=True)))
    assert leaks_of(table, event.astype(bool)) == []
    assert leaks_of(table, event.astype(bool), Binner(method="quantile")) == []
