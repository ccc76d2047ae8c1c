"""Bootstrap validation and stability against hand-written twins."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import netbenefit as nb
from netbenefit import InputError, bootstrap_validate
from netbenefit.metrics.measures import Rules, chance_of, measures_of
from netbenefit.validation.bootstrap import point632plus
from netbenefit.validation.folds import random_of, resample
from netbenefit.validation.stability import CardStability, label
from tests.helpers.cards import SHORT_SEARCH
from tests.helpers.full import FULL, examples, more_cases

GRIDS = [
    nb.Thresholds.tenths(),
    nb.Thresholds.of([0.2, 0.5], weights=[0.25, 0.75]),
    nb.Thresholds.range(0.1, 0.4, 0.1),
]


# -- chance ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(300))
def test_chance_is_the_measure_on_all_pairs(seed: int) -> None:
    """Every outcome with every risk: the definition, taken literally."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 14))
    event = np.r_[True, False, rng.random(n - 2) < 0.5]
    risk = rng.choice([0.0, 0.1, 0.2, 0.3, 0.5, 0.95, 1.0, *rng.random(3)], n)
    weight = np.r_[1.0, 2.0, rng.integers(0, 3, n - 2)] if seed % 2 else None
    grid, at = GRIDS[seed % 3], (0.0, 0.2, 0.37)
    own = np.ones(n) if weight is None else weight
    pairs = np.repeat(event, n), np.tile(risk, n), np.outer(own, own).ravel()
    slow = measures_of(*pairs, grid, at)
    assert chance_of(event, risk, weight, grid, at) == pytest.approx(slow, abs=1e-12)


# -- .632+ -----------------------------------------------------------------------------------------


def hand_632plus(error: float, left_out: float, gamma: float) -> float:
    """Efron and Tibshirani's rule, case by case, for an error rate."""
    plain = 0.368 * error + 0.632 * left_out
    if left_out <= error or gamma <= error:
        return plain  # no overfitting
    if left_out >= gamma:  # as bad as chance, or worse: R is 1
        return plain + 0.368 * (gamma - error)
    overfitting = (left_out - error) / (gamma - error)
    share = 0.632 / (1 - 0.368 * overfitting)
    return (1 - share) * error + share * left_out


numbers = st.one_of(st.floats(-1, 1, allow_nan=False), st.sampled_from([0.0, 0.25, 0.5]))


@settings(max_examples=examples(500), deadline=None)
@given(numbers, numbers, numbers)
def test_632plus_is_the_hand_written_one(error: float, left_out: float, gamma: float) -> None:
    found, rate = point632plus(error, left_out, gamma, lower_is_better=True)
    assert found == pytest.approx(hand_632plus(error, left_out, gamma), abs=1e-9)
    assert 0.0 <= rate <= 1.0
    gain, same = point632plus(-error, -left_out, -gamma)  # more is better
    assert gain == pytest.approx(-found, abs=1e-12)
    assert same == rate


def test_632plus_of_a_memoriser_of_noise_is_chance() -> None:
    """One nearest neighbour never errs on its own rows; .632 alone would call it good."""
    plain, plus, benefit = [], [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(120, 3)), np.arange(120) < 60
        model = KNeighborsClassifier(1)
        found = bootstrap_validate(model, X, y, resamples=15, net_benefit_at=0.5)
        assert found.apparent["auroc"] == 1.0
        assert found.chance["auroc"] == 0.5
        plain.append(0.368 + 0.632 * found.left_out["auroc"].mean())
        plus.append(found.point632plus["auroc"])
        benefit.append(found.point632plus["net_benefit_at_0.5"])
    assert np.mean(plain) > 0.65
    assert abs(np.mean(plus) - 0.5) < 0.05
    assert abs(np.mean(benefit)) < 0.05


# -- the whole of it -------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("stratified", [False, True])
def test_bootstrap_is_what_one_would_do_by_hand(stratified: bool, weighted: bool) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(70, 5))
    y = rng.random(70) < 1 / (1 + np.exp(-X[:, 0]))
    weight = rng.integers(0, 3, 70).astype(float) if weighted else np.ones(70)
    model, many, seed, grid = LogisticRegression(C=100.0, solver="newton-cholesky"), 12, 3, GRIDS[1]
    found = bootstrap_validate(
        model,
        X,
        y,
        resamples=many,
        stratified=stratified,
        thresholds=grid,
        sample_weight=weight if weighted else None,
        random_state=seed,
    )
    strata = np.where(weight == 0, 2, y.astype(int))

    def measure(fitted: Any, rows: Any) -> dict[str, float]:
        risk = fitted.predict_proba(X[rows])[:, 1]
        options = {"sample_weight": weight[rows]}
        return {
            "aunbc": nb.aunbc(y[rows], risk, grid, **options),
            "net_benefit": nb.weighted_net_benefit(y[rows], risk, grid, **options),
            "auroc": nb.auroc(y[rows], risk, **options),
            "ece": nb.expected_calibration_error(y[rows], risk, grid, **options),
        }

    everyone = np.arange(70)
    whole = clone(model).fit(X, y, weight)
    apparent = measure(whole, everyone)
    gaps: dict[str, list[float]] = {m: [] for m in apparent}
    outside: dict[str, list[float]] = {m: [] for m in apparent}
    own: dict[str, list[float]] = {m: [] for m in apparent}
    for b in range(many):
        drawn = resample(strata, random_of(seed, 6, b), stratified)
        fitted = clone(model).fit(X[drawn], y[drawn], weight[drawn])
        left = np.array([i for i in everyone if i not in set(drawn.tolist())])
        inside, on_all, beyond = (measure(fitted, r) for r in (drawn, everyone, left))
        for m in apparent:
            own[m].append(inside[m])
            gaps[m].append(inside[m] - on_all[m])
            outside[m].append(beyond[m])
    risk = whole.predict_proba(X)[:, 1]
    pairs = np.repeat(y, 70), np.tile(risk, 70), np.outer(weight, weight).ravel()
    chance = measures_of(*pairs, grid)
    for m in apparent:
        assert found.apparent[m] == pytest.approx(apparent[m], abs=1e-9)
        assert found.optimism[m] == pytest.approx(np.mean(gaps[m]), abs=1e-9)
        assert found.optimism_se[m] == pytest.approx(np.std(gaps[m], ddof=1) / many**0.5, abs=1e-9)
        if m == "ece":
            none = (found.corrected[m], found.point632plus[m], *found.interval(m))
            assert np.isnan(none).all()
            continue
        corrected = apparent[m] - np.mean(gaps[m])
        assert found.corrected[m] == pytest.approx(corrected, abs=1e-9)
        low, high = corrected + np.quantile(own[m], [0.025, 0.975]) - np.mean(own[m])
        assert found.interval(m) == pytest.approx((low, high), abs=1e-9)
        by_hand = hand_632plus(-apparent[m], -np.mean(outside[m]), -chance[m])
        assert found.point632plus[m] == pytest.approx(-by_hand, abs=1e-9)
    table = found.to_table()
    np.testing.assert_array_equal(table["corrected"], [found.corrected[m] for m in apparent])
    assert "12 resamples" in str(found)


@more_cases
def test_optimism_is_what_the_apparent_measure_has_too_much() -> None:
    """Over many data sets, the corrected AUROC is near that on new rows; the apparent is not."""
    errors: dict[str, list[float]] = {"apparent": [], "corrected": [], "plus": []}
    for seed in range(100 if FULL else 10):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(80, 8)), rng.normal(size=(4000, 8))
        y, later = (rng.random(len(x)) < 1 / (1 + np.exp(-x[:, 0])) for x in (X, new))
        model = LogisticRegression(C=1e4, solver="newton-cholesky")
        truth = nb.auroc(later, model.fit(X, y).predict_proba(new)[:, 1])
        found = bootstrap_validate(model, X, y, resamples=200 if FULL else 20)
        errors["apparent"].append(found.apparent["auroc"] - truth)
        errors["corrected"].append(found.corrected["auroc"] - truth)
        errors["plus"].append(found.point632plus["auroc"] - truth)
    mean = {name: np.mean(values) for name, values in errors.items()}
    assert mean["apparent"] > 0.07
    assert abs(mean["corrected"]) < 0.035
    assert abs(mean["plus"]) < 0.035


@more_cases
def test_intervals_cover_unless_the_share_of_events_is_held_fixed() -> None:
    """Stratified resamples do not know that another sample has another share of events."""
    covered: dict[bool, list[bool]] = {False: [], True: []}
    for seed in range(200 if FULL else 15):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(200, 4)), rng.normal(size=(4000, 4))
        y, later = (rng.random(len(x)) < 1 / (1 + np.exp(1 - x[:, 0])) for x in (X, new))
        model = LogisticRegression(solver="newton-cholesky")
        truth = nb.aunbc(later, model.fit(X, y).predict_proba(new)[:, 1])
        for stratified, found in covered.items():
            many = 200 if FULL else 25
            low, high = bootstrap_validate(
                model, X, y, resamples=many, stratified=stratified
            ).interval("aunbc")
            found.append(low <= truth <= high)
    assert np.mean(covered[False]) > (0.87 if FULL else 0.7)
    assert np.mean(covered[True]) < np.mean(covered[False])


@pytest.mark.parametrize("stratified", [False, True])
def test_resamples_draw_and_leave_out_both_classes(stratified: bool) -> None:
    strata = np.array([1] * 3 + [0] * 4 + [2] * 5)
    for b in range(300):
        drawn = resample(strata, random_of(0, b), stratified)
        assert drawn.size == 12
        left = np.setdiff1d(np.arange(12), drawn)
        for part in (drawn, left):
            assert {0, 1} <= set(strata[part])
        if stratified:
            assert np.bincount(strata[drawn]).tolist() == [4, 3, 5]


def test_bootstrap_is_reproducible_and_grows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) < 25
    model = DecisionTreeClassifier(max_features=1)
    few = bootstrap_validate(model, X, y, resamples=5)
    with joblib.parallel_config(backend="threading"):
        more = bootstrap_validate(model, X, y, resamples=8, n_jobs=2)
    assert np.array_equal(few.left_out["aunbc"], more.left_out["aunbc"][:5])
    with pytest.raises(InputError, match="resamples=1 must be"):
        bootstrap_validate(model, X, y, resamples=1)
    with pytest.raises(InputError, match="leave no event"):
        bootstrap_validate(model, X, np.arange(60) < 1, resamples=2)
    with pytest.raises(InputError, match="known for cards and linear models"):
        few.stability()


# -- stability -------------------------------------------------------------------------------------


def test_stability_counts_rules_and_columns() -> None:
    cards = (
        Rules(
            5, ["age", "bmi"], [("age", "age ≥ 50", 2), ("age", "age ≥ 60", 1), ("bmi", "b", -1)]
        ),
        Rules(5, ["age"], [("age", "age ≥ 50", 4)]),
        Rules(5, ["bmi"], [("bmi", "b", 1)]),
        Rules(5, [], []),
    )
    found = CardStability(cards, Rules(5, ["sex"], [("sex", "sex is f", 3)]))
    rules = found.rules
    by_name = {name: i for i, name in enumerate(rules["rule"])}
    i = by_name["age ≥ 50"]
    assert rules["share"][i] == 0.5
    assert rules["points"][i] == 3
    assert rules["points_sd"][i] == pytest.approx(2**0.5)
    assert (rules["points_min"][i], rules["points_max"][i]) == (2, 4)
    assert rules["same_sign"][i] == 1.0
    assert rules["same_sign"][by_name["b"]] == 0.5
    assert rules["share"][by_name["sex is f"]] == 0.0
    assert rules["card_points"][by_name["sex is f"]] == 3
    columns = dict(zip(found.columns["column"], found.columns["share"], strict=True))
    assert columns == {"age": 0.5, "bmi": 0.5, "sex": 0.0}
    assert dict(zip(found.columns["column"], found.columns["rules"], strict=True))["age"] == 1.5
    assert "age ≥ 50" in str(found)


def test_stability_in_print() -> None:
    one = Rules(4, ["age", "bmi"], [("age", "age ≥ 50", 2.0), ("bmi", "bmi ≥ 30", 1.0)])
    two = Rules(4, ["age"], [("age", "age ≥ 50", 3.0)])
    assert str(CardStability((one, two))).splitlines() == [
        "Stability over 2 cards",
        "",
        "rule      share  points   sd   range",
        "age ≥ 50   100%     2.5  0.7  2 to 3",
        "bmi ≥ 30    50%     1.0    –  1 to 1",
        "",
        "column  share  rules",
        "age      100%    1.0",
        "bmi       50%    1.0",
        "",
        "Stability index of the choice of columns: 0.47 (1: always the same; 0: as by chance).",
    ]


def test_measures_in_print() -> None:
    names = [label(measure) for measure in ("aunbc", "net_benefit_at_0.05", "size")]
    assert names == ["AUNBC", "net benefit at 5%", "size"]


def test_stability_index_of_equal_and_of_random_choices() -> None:
    same = CardStability(tuple(Rules(10, ["a", "b"], []) for _ in range(5)))
    assert same.index == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    values = []
    for _ in range(300):
        drawn = [rng.choice(10, 4, replace=False) for _ in range(6)]
        values.append(CardStability(tuple(Rules(10, list(map(str, d)), []) for d in drawn)).index)
    assert abs(np.mean(values)) < 0.02
    assert np.isnan(CardStability((Rules(2, [], []), Rules(2, [], []))).index)


def test_stability_of_a_card_over_resamples() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 6))
    y = rng.random(300) < 0.1 + 0.4 * X[:, 0] + 0.4 * X[:, 3]
    model = nb.RiskScoreClassifier(binner=None, solver=SHORT_SEARCH, max_features=3, n_jobs=1)
    found = bootstrap_validate(model, X, y, resamples=6)
    stable = found.stability()
    assert set(stable.columns["column"][:2]) == {"x0", "x3"}
    assert (stable.columns["share"][:2] == 1.0).all()
    assert stable.reference is not None
    assert {"x0", "x3"} <= set(stable.reference.columns)
    assert found.size == len(stable.reference.rules)
    assert found.sizes.max() <= 3
    linear = bootstrap_validate(LogisticRegression(), X, y, resamples=3).stability()
    assert sorted(linear.columns["column"]) == [f"x{k}" for k in range(6)]


def test_a_model_that_knows_nothing_is_not_optimistic() -> None:
    X, y = np.zeros((40, 1)), np.arange(40) < 10
    found = bootstrap_validate(DummyClassifier(), X, y, resamples=5)
    measures = found.apparent, found.optimism, found.overfitting
    assert [one["auroc"] for one in measures] == [0.5, 0.0, 0.0]
