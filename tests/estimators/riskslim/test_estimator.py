"""RiskSLIMClassifier: scikit-learn's checks, its card, its answers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import netbenefit
from netbenefit import RiskSLIMClassifier, Scorecard
from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.riskslim.estimator import make_card
from netbenefit.metrics.benefit import weighted_net_benefit
from netbenefit.problem import SolverResult


def make_data(seed: int, n: int = 120, p: int = 4, kind: str = "binary"):
    rng = np.random.default_rng(seed)
    if kind == "binary":
        X = rng.integers(0, 2, (n, p))
    elif kind == "counts":
        X = rng.integers(0, 6, (n, p))
    else:
        X = np.round(rng.normal(size=(n, p)), 1)
    t = X @ rng.normal(size=p) + rng.normal()
    y = rng.random(n) < 1 / (1 + np.exp(-t + t.mean()))
    y[:2] = False, True
    return X, y


def objective(X, y, intercept, points, penalty, weight=None) -> float:
    t = intercept + X @ np.asarray(points, dtype=float)
    loss = np.where(y, np.logaddexp(0, -t), np.logaddexp(0, t))
    return float(np.average(loss, weights=weight) + penalty * np.count_nonzero(points))


@parametrize_with_checks(
    [
        RiskSLIMClassifier(max_nodes=3, time_limit=None),
        RiskSLIMClassifier(binner="auto", max_nodes=3, time_limit=None),
    ]
)
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)


def test_is_public() -> None:
    assert netbenefit.RiskSLIMClassifier is RiskSLIMClassifier


def reported(result: SolverResult) -> float:
    """The search's own bound, which is not claimed."""
    assert result.proof is not None
    bound: float = result.proof.details["solver_bound"]
    return bound


@pytest.mark.parametrize("kind", ["binary", "counts", "decimals"])
def test_optimum_is_that_of_brute_force(kind: str) -> None:
    for seed in range(25):
        X, y = make_data(seed, n=40, p=3, kind=kind)
        weight = None if seed % 2 else np.random.default_rng(seed).random(40) + 0.1
        penalty = [1e-6, 0.01, 0.05][seed % 3]
        model = RiskSLIMClassifier(max_points=2, max_intercept=4, penalty=penalty)
        model.fit(X, y, sample_weight=weight)
        least = min(
            objective(X, y, b, points, penalty, weight)
            for b in range(-4, 5)
            for points in itertools.product(range(-2, 3), repeat=3)
        )
        result = model.result_
        assert -result.objective == pytest.approx(least, abs=1e-9)
        assert -reported(result) <= least + 1e-12
        assert reported(result) <= result.objective + 1e-9
        assert result.status == "finished"
        assert result.bound == 0.0
        own = objective(X, y, model.intercept_, model.coef_, penalty, weight)
        assert own == pytest.approx(-result.objective, abs=1e-12)
        assert model.loss_ == pytest.approx(own - penalty * result.size, abs=1e-12)


def test_never_worse_than_rounded_logistic_regression() -> None:
    for seed in range(15):
        kind = ["binary", "counts", "decimals"][seed % 3]
        X, y = make_data(seed, n=150, p=8, kind=kind)
        model = RiskSLIMClassifier(max_nodes=0).fit(X, y)  # no branching: starts alone
        for strength in (0.1, 1.0, 1e4):
            peer = LogisticRegression(C=strength, max_iter=200).fit(X, y)
            points = np.clip(np.round(peer.coef_[0]), -10, 10)
            b = np.clip(np.round(peer.intercept_[0]), -100, 100)
            assert -model.result_.objective <= objective(X, y, b, points, 1e-6) + 1e-12, seed


def test_bound_is_at_least_that_of_the_convex_relaxation() -> None:
    """Unpenalised logistic regression inside the box: no whole numbers can do better."""
    for seed in range(10):
        X, y = make_data(seed, n=150, p=5)
        peer = LogisticRegression(C=1e8, tol=1e-10, max_iter=5000).fit(X, y)
        if np.abs(peer.coef_).max() > 10:
            continue
        relaxed = objective(X, y, peer.intercept_[0], peer.coef_[0], 0.0)
        early = RiskSLIMClassifier(max_nodes=0).fit(X, y).result_
        late = RiskSLIMClassifier().fit(X, y).result_
        assert relaxed - 1e-6 <= -reported(early) <= -reported(late) + 1e-12
        assert -reported(late) <= -late.objective
        assert -late.objective > relaxed


# -- the card --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["binary", "counts"])
def test_card_has_one_risk_a_score(kind: str) -> None:
    for seed in range(15):
        X, y = make_data(seed, kind=kind)
        model = RiskSLIMClassifier(max_nodes=20).fit(X, y)
        card = model.scorecard_
        risk = model.predict_proba(X)[:, 1]
        np.testing.assert_array_equal(card.risk(X), risk)
        t = np.clip(X @ model.coef_ + model.intercept_, -15, 15)
        np.testing.assert_allclose(risk, 1 / (1 + np.exp(-t)), rtol=1e-12)
        far = X * 5 if kind == "counts" else X  # far outside of what training has seen
        np.testing.assert_array_equal(card.risk(far), model.predict_proba(far)[:, 1])
        assert Scorecard.from_json(card.to_json()) == card
        for row in card.risk_table()[1:-1]:
            assert row.low == row.high
        assert model.result_.net_benefit == pytest.approx(
            weighted_net_benefit(y, risk, card.thresholds)
        )
        scores = card.score(X)
        assert model.result_.score_range == (scores.min(), scores.max())


def test_card_of_decimals_keeps_the_order_and_the_level() -> None:
    for seed in range(15):
        X, y = make_data(seed, kind="decimals")
        model = RiskSLIMClassifier(max_nodes=20).fit(X, y)
        card = model.scorecard_
        t = X @ model.coef_ + model.intercept_
        exact = model.predict_proba(X)[:, 1]
        np.testing.assert_allclose(exact, 1 / (1 + np.exp(-np.clip(t, -15, 15))), rtol=1e-9)
        whole = np.floor(np.round(X * 10) @ model.coef_ / 10).astype(int)
        np.testing.assert_array_equal(card.score(X), whole)
        shown = card.risk(X)
        inside = np.abs(whole + model.intercept_) < 14
        lowest = 1 / (1 + np.exp(-(whole + model.intercept_)))
        highest = 1 / (1 + np.exp(-(whole + 1 + model.intercept_)))
        assert (shown[inside] >= lowest[inside] - 1e-15).all()
        assert (shown[inside] <= highest[inside] + 1e-15).all()
        # the mean risk of all training rows stays what it was
        assert shown.mean() == pytest.approx(exact.mean(), abs=1e-12)


def test_card_without_rules_has_one_risk() -> None:
    X, y = make_data(0)
    model = RiskSLIMClassifier(max_features=0).fit(X, y)
    assert not model.coef_.any()
    (row,) = model.scorecard_.risk_table()
    assert row.risk == 1 / (1 + math.exp(-model.intercept_))
    assert (model.predict_proba(X)[:, 1] == row.risk).all()
    assert str(model.scorecard_)


def test_card_of_huge_scores_is_short() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10**6, (60, 2))
    y = X[:, 0] > 5 * 10**5
    model = RiskSLIMClassifier(max_nodes=20).fit(X, y)
    assert len(model.scorecard_.risk_table()) <= 31
    assert model.predict(X).dtype == bool


# -- settings --------------------------------------------------------------------------------------


def test_weights_are_repetitions() -> None:
    for seed in range(10):
        X, y = make_data(seed, n=60)
        weight = np.random.default_rng(seed).integers(0, 4, 60)
        weight[:2] = 1
        settings = {"max_nodes": 30, "max_points": 4}
        one = RiskSLIMClassifier(**settings).fit(X, y, sample_weight=weight)
        many = RiskSLIMClassifier(**settings).fit(
            np.repeat(X, weight, axis=0), np.repeat(y, weight)
        )
        np.testing.assert_array_equal(one.coef_, many.coef_)
        assert one.intercept_ == many.intercept_
        assert one.result_.objective == pytest.approx(many.result_.objective, abs=1e-14)


def test_limits_are_kept() -> None:
    for seed in range(10):
        X, y = make_data(seed, n=100, p=6, kind="counts")
        for most in range(4):
            model = RiskSLIMClassifier(max_features=most, max_points=2, max_intercept=3).fit(X, y)
            assert np.count_nonzero(model.coef_) <= most
            assert np.abs(model.coef_).max() <= 2
            assert abs(model.intercept_) <= 3
            assert reported(model.result_) <= model.result_.objective + 1e-9


def test_same_seed_same_card() -> None:
    X, y = make_data(1, p=10)
    cards = [RiskSLIMClassifier(max_nodes=40, random_state=3).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(cards[0].coef_, cards[1].coef_)
    assert reported(cards[0].result_) == reported(cards[1].result_)


@pytest.mark.parametrize("by_answer", [False, True])
def test_interrupted_keeps_the_best_so_far(by_answer: bool) -> None:
    X, y = make_data(2, n=400, p=12, kind="counts")
    calls = []

    def stop(progress) -> bool:
        calls.append(progress)
        if len(calls) == 4 and not by_answer:
            raise KeyboardInterrupt
        return len(calls) == 4

    model = RiskSLIMClassifier(callback=stop)
    with pytest.warns(UserWarning, match="interrupted; the card is the best so far"):
        model.fit(X, y)
    assert model.result_.status == "interrupted"
    assert -model.result_.objective <= objective(X, y, 0, np.zeros(12), 1e-6)
    assert reported(model.result_) >= model.result_.objective


def test_trace_rises_and_bound_falls() -> None:
    X, y = make_data(3, n=300, p=8, kind="counts")
    result = RiskSLIMClassifier(time_limit=5.0).fit(X, y).result_
    objectives = [row.objective for row in result.trace]
    bounds = [row.bound for row in result.trace]
    assert objectives == sorted(objectives)
    assert bounds == sorted(bounds, reverse=True)
    assert objectives[-1] == result.objective
    assert result.solver == "riskslim branch"


def test_time_limit_is_a_status() -> None:
    X, y = make_data(4, n=500, p=15, kind="decimals")
    result = RiskSLIMClassifier(time_limit=1e-3).fit(X, y).result_
    assert result.status == "time_limit"
    assert reported(result) > result.objective + 1e-9


def test_raw_columns_by_a_binner() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 90, 300), "sex": rng.choice(["f", "m"], 300)})
    frame.loc[::17, "age"] = np.nan
    y = (frame["age"].fillna(0) > 60) ^ (rng.random(300) < 0.2)
    model = RiskSLIMClassifier(binner="auto", max_nodes=50).fit(frame, y)
    risk = model.predict_proba(frame)[:, 1]
    np.testing.assert_allclose(model.scorecard_.risk(frame), risk, rtol=1e-12)
    old, young = ({"age": age, "sex": "f"} for age in (80, 30))
    assert model.scorecard_.risk(old) > 0.6 > 0.4 > model.scorecard_.risk(young)


def test_decision_function_agrees_with_predict() -> None:
    for kind in ("counts", "decimals"):
        X, y = make_data(5, kind=kind)
        model = RiskSLIMClassifier(max_nodes=20).fit(X, y)
        np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X))
        np.testing.assert_array_equal(
            model.predict(X, threshold=0.2), model.predict_proba(X)[:, 1] >= 0.2
        )


def test_errors_say_what_to_do() -> None:
    X, y = make_data(6)
    with pytest.raises(InputError, match="every column is constant"):
        RiskSLIMClassifier().fit(np.ones_like(X), y)
    with pytest.raises(InputError, match="one class only"):
        RiskSLIMClassifier().fit(X, y, sample_weight=y.astype(float))
    with pytest.raises(InputError, match="not a risk between 0 and 1"):
        RiskSLIMClassifier(max_nodes=0).fit(X, y).predict(X, threshold=20)
    with pytest.raises(InputError, match="decimals need binner=None"):
        RiskSLIMClassifier(binner="auto", decimals={"x0": 1}).fit(X, y)
    with pytest.warns(UserWarning, match="constant columns"):
        model = RiskSLIMClassifier(max_nodes=5).fit(np.column_stack([X, np.ones(len(X))]), y)
    assert model.coef_[-1] == 0


@pytest.mark.filterwarnings("ignore:column 'x")
def test_odd_values_are_read_as_the_card_reads_them() -> None:
    X, y = make_data(0)
    model = RiskSLIMClassifier(max_nodes=20).fit(X, y)
    far = X * 100  # of columns that were 0 or 1
    np.testing.assert_array_equal(model.scorecard_.risk(far), model.predict_proba(far)[:, 1])
    np.testing.assert_array_equal(model.decision_function(far) > 0, model.predict(far))


def test_printed_risks_need_no_odd_digits() -> None:
    X, y = make_data(7)
    card = RiskSLIMClassifier(max_nodes=20, max_points=2).fit(X, y).scorecard_
    rows = card.risk_table()
    assert len(rows) > 2
    text = str(card)
    for row in rows:
        if 0.01 <= row.risk <= 0.99:
            assert f"{row.risk:.1%}" in text


def test_the_intercept_moves_the_table_of_risks() -> None:
    table = PatternTable.from_arrays([[0], [1]], [0, 1], names=["fever"])
    card, _ = make_card(table, -2, np.array([3]))
    rows = [(row.low, row.high, round(row.risk, 3)) for row in card.risk_table()]
    assert rows == [(0, 0, 0.119), (3, 3, 0.731)]
