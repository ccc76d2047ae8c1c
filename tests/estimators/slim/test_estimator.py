"""SLIMClassifier: scikit-learn's contract, what its numbers mean, and real data."""

from __future__ import annotations

import csv
import doctest
import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from netbenefit import InputError, Scorecard, SLIMClassifier, expected_calibration_error
from netbenefit.estimators.slim.task import SlimExact
from reproduction.datasets import load_dataset
from tests.helpers.full import slow

#: Far away: the searches below end by themselves.
LATE = 600.0


def make_data(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 2, (n, 2)), rng.integers(0, 5, n)])
    risk = 0.1 + 0.3 * X[:, 0] + 0.12 * X[:, 2]
    return X, (rng.random(n) < risk).astype(int)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    return make_data()


@pytest.fixture(scope="module")
def fitted(data: tuple[np.ndarray, np.ndarray]) -> SLIMClassifier:
    return SLIMClassifier(n_jobs=1).fit(*data)


SMALL = {"time_limit": LATE, "max_points": 1, "max_features": 1, "n_jobs": 1}


@parametrize_with_checks([SLIMClassifier(**SMALL), SLIMClassifier(binner="auto", **SMALL)])
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)


def test_attributes_say_the_same(fitted, data) -> None:
    X, y = data
    result, card = fitted.result_, fitted.scorecard_
    n, p = X.shape
    called = X @ fitted.coef_ + fitted.intercept_ >= 0
    assert fitted.predict(X).tolist() == called.astype(int).tolist()
    errors = float(np.mean(called != y))
    price = 0.9 / (n * p)
    size, total = np.count_nonzero(fitted.coef_), np.abs(fitted.coef_).sum()
    assert fitted.loss_ == pytest.approx(errors + price * size + price / 10 * total, abs=1e-14)
    assert fitted.gap_ == 0.0
    assert fitted.loss_bound_ == fitted.loss_
    assert result.status == "finished"
    assert card.provenance.status == "finished"
    assert result.proof is not None
    assert result.proof.details["solver_bound"] == result.objective < result.bound
    assert result.objective == pytest.approx(y.mean() - fitted.loss_, abs=1e-14)
    assert result.net_benefit == pytest.approx(y.mean() - errors, abs=1e-14)
    assert card.cutoffs == (-fitted.intercept_,)
    assert card.provenance is not None
    assert card.provenance.net_benefit == result.net_benefit
    assert (card.score(X) == X @ fitted.coef_).all()
    assert not hasattr(fitted, "near_optimal")
    assert not hasattr(fitted, "fit_table")


def test_predict_proba_is_the_event_rate_of_each_side_or_the_class(fitted, data) -> None:
    X, y = data
    called = fitted.predict(X) == 1
    risk = fitted.predict_proba(X)[:, 1]
    assert np.allclose(risk[called], y[called].mean())
    assert np.allclose(risk[~called], y[~called].mean())
    assert expected_calibration_error(y, risk) == pytest.approx(0, abs=1e-12)
    plain = SLIMClassifier(n_jobs=1, calibrate=False).fit(X, y)
    assert plain.coef_.tolist() == fitted.coef_.tolist()
    assert plain.predict_proba(X)[:, 1].tolist() == called.astype(float).tolist()


def test_weights_equal_repetition(data) -> None:
    X, y = data
    times = np.random.default_rng(1).integers(0, 3, y.size)
    weighted = SLIMClassifier(n_jobs=1).fit(X, y, sample_weight=times)
    repeated = SLIMClassifier(n_jobs=1).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.loss_ == repeated.loss_
    assert weighted.coef_.tolist() == repeated.coef_.tolist()


def test_weights_that_are_no_rows_are_refused(data) -> None:
    X, y = data
    shares = np.full(y.size, 1 / y.size)
    with pytest.raises(InputError, match=r"add up to 1 only.*SLIM's usual prices"):
        SLIMClassifier().fit(X, y, sample_weight=shares)
    usual = 0.9 / X.size
    model = SLIMClassifier(penalty=usual, point_penalty=usual / 10, n_jobs=1)
    assert model.fit(X, y, sample_weight=shares).result_.size > 0


def test_a_card_without_rules_speaks(data) -> None:
    X, y = data
    none = SLIMClassifier(max_features=0, n_jobs=1).fit(X, y)
    assert set(none.predict(X)) == {int(y.mean() >= 0.5)}
    assert none.predict_proba(X)[:, 1] == pytest.approx(np.full(y.size, y.mean()))
    assert "RISK" in str(none.scorecard_).upper()


def test_settings_reach_the_card(data) -> None:
    X, y = data
    none = SLIMClassifier(max_features=0, n_jobs=1).fit(X, y)
    assert none.result_.size == 0
    one = SLIMClassifier(max_features=1, n_jobs=1).fit(X, y)
    assert one.result_.size <= 1
    assert SLIMClassifier(penalty=1.0, n_jobs=1).fit(X, y).result_.size == 0
    assert SLIMClassifier(sign={0: "-", 1: "-", 2: "-"}, n_jobs=1).fit(X, y).coef_.max() <= 0
    low = SLIMClassifier(max_intercept=1, n_jobs=1).fit(X, y)
    assert abs(low.intercept_) <= 1
    tall = SLIMClassifier(max_points=1, n_jobs=1).fit(X, y)
    assert np.abs(tall.coef_).max() <= 1


def test_the_card_records_the_seed_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    began = SlimExact.__init__

    def init(self, *args, seed: int, **options) -> None:
        used.append(seed)
        began(self, *args, seed=seed, **options)

    monkeypatch.setattr(SlimExact, "__init__", init)
    model = SLIMClassifier(n_jobs=1, random_state=np.random.RandomState(0))
    model.fit([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, [0, 0, 1, 1] * 5)
    assert [model.scorecard_.provenance.random_state] == used


def test_names_frames_files_and_copies(data, tmp_path: Path) -> None:
    X, y = data
    frame = pd.DataFrame(X, columns=["fever", "cough", "age"])
    model = SLIMClassifier(n_jobs=1).fit(frame, pd.Series(y, name="ill"))
    assert model.scorecard_.provenance.outcome == "ill = 1"
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(frame) == model.predict(frame)).all()
    assert clone(model).get_params() == model.get_params()
    file = tmp_path / "card.json"
    model.scorecard_.save(file)
    assert Scorecard.load(file).risk(frame).tolist() == model.predict_proba(frame)[:, 1].tolist()
    search = GridSearchCV(SLIMClassifier(n_jobs=1), {"max_features": [0, 2]}, cv=2).fit(frame, y)
    assert search.best_params_ == {"max_features": 2}


def test_a_binner_makes_conditions(data) -> None:
    X, y = data
    frame = pd.DataFrame(X, columns=["fever", "cough", "age"])
    model = SLIMClassifier(binner="auto", n_jobs=1, time_limit=5.0).fit(frame, y)
    assert set(np.unique(model.predict_proba(frame)[:, 1])) <= {
        q for _, q in model.scorecard_.risks
    }
    assert model.predict({"fever": [1], "cough": [0], "age": [4]}).shape == (1,)


@pytest.mark.parametrize("name", ["penalty", "point_penalty"])
def test_prices_are_checked(data, name: str) -> None:
    with pytest.raises(InputError, match='Use "paper" or a number'):
        SLIMClassifier(**{name: "auto"}).fit(*data)
    with pytest.raises(InputError, match="must not be negative"):
        SLIMClassifier(**{name: -0.1}).fit(*data)


def test_constant_columns_are_refused() -> None:
    with pytest.raises(InputError, match="every column is constant"):
        SLIMClassifier().fit([[1], [1], [1]], [0, 1, 1])


class Stop:
    """A callback that interrupts at a given call."""

    def __init__(self, call: int) -> None:
        self.left = call

    def __call__(self, progress: object) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("call", [1, 2, 3, 5])
def test_an_interrupted_search_leaves_a_fitted_estimator(call: int) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (150, 8))
    y = (X @ rng.normal(size=8) + rng.normal(size=150) * 2 > 0).astype(int)
    stop = Stop(call)
    model = SLIMClassifier(callback=stop, n_jobs=1, time_limit=20.0)
    with pytest.warns(UserWarning, match="interrupted"):
        model.fit(X, y)
    assert stop.left <= 0
    assert model.result_.status == "interrupted"
    assert model.loss_bound_ <= model.loss_
    assert model.predict(X).shape == y.shape


def test_the_clock_ends_a_long_search() -> None:
    rng = np.random.default_rng(5)
    X = rng.integers(0, 5, (300, 15))
    y = (X @ rng.normal(size=15) + rng.normal(size=300) * 9 > 0).astype(int)
    model = SLIMClassifier(n_jobs=1, time_limit=1.0).fit(X, y)
    assert model.result_.status == "time_limit"
    assert 0 <= model.loss_bound_ < model.loss_ < y.mean()
    assert 0 < model.gap_ <= 1
    assert model.result_.bound > model.result_.objective


def test_progress_never_promises_what_is_not_kept(data) -> None:
    seen = []
    model = SLIMClassifier(callback=seen.append, n_jobs=1).fit(*data)
    assert seen
    best = model.result_.objective
    assert all(p.objective <= best <= p.bound for p in seen)
    assert all(a.objective <= b.objective for a, b in pairwise(seen))


def test_examples_of_the_page_run() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "baselines.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert (failed, tried > 8) == (0, True)


# -- real data -----------------------------------------------------------------------------------


def test_bankruptcy_is_separable(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETBENEFIT_DATA", str(data_folder))
    X, y, _ = load_dataset("bankruptcy")
    model = SLIMClassifier(n_jobs=1, time_limit=60.0).fit(X, y)
    assert model.gap_ == 0.0
    assert (model.predict(X) == y).all()


@slow
@pytest.mark.parametrize(("name", "errors"), [("mammo", 0.184), ("haberman", 0.223)])
def test_as_few_errors_as_published(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, errors: float
) -> None:
    """Errors of the published cards as their other figures imply them, a little rounded up."""
    monkeypatch.setenv("NETBENEFIT_DATA", str(data_folder))
    X, y, _ = load_dataset(name)
    model = SLIMClassifier(time_limit=120.0).fit(X, y)
    assert np.mean(model.predict(X) != y) <= errors


def test_published_figures_are_those_of_a_class(paper_folder: Path) -> None:
    """The published risks of SLIM are 0 and 1, and rows of risk 1 are left out of its ECE.

    The share of missed events is then the ECE; false alarms follow from the area under the net
    benefit curve, and both together give the published AUROC.
    """
    share = {  # of events
        "adult": 0.2408,
        "breastcancer": 0.3499,
        "haberman": 0.7353,
        "heartdisease": 0.4587,
        "mammo": 0.4631,
        "spambase": 0.3940,
    }
    with open(paper_folder / "performance.csv", newline="", encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if (r["method"], r["split"]) == ("slim", "train")]
    odds = sum(p / (10 - p) for p in range(10)) / 10
    for name, events in share.items():
        found = {r["metric"]: float(r["mean"]) for r in rows if r["dataset"] == name}
        hit = events - found["ece"]
        alarms = (0.1 * events + 0.9 * hit - found["aunbc"]) / odds
        sides = hit / events, 1 - alarms / (1 - events)
        assert found["auroc"] == pytest.approx(sum(sides) / 2, abs=0.002)
