"""Choosing a setting: the one-standard-error rule, and nested cross-validation by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import netbenefit as nb
from netbenefit import (
    BenefitSearch,
    InputError,
    SettingChoice,
    choose_setting,
    cross_validate,
    nested_cross_validate,
    tune,
)
from tests.helpers.cards import SHORT_SEARCH

TREE = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
DEPTHS = {"max_depth": [4, 1, 2, 3]}


def rows(n: int = 240, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 4)).astype(float)
    y = rng.random(n) < 0.1 + 0.2 * X[:, 0] + 0.2 * (X[:, 1] == 2)
    return X, y, rng.integers(1, 4, n).astype(float)


def by_hand(values: Any, sizes: Any, ratio: float, rule: str) -> tuple[int, int]:
    """Best and chosen setting, in plain loops."""
    many, count = len(values), len(values[0])
    means = [sum(row[s] for row in values) / many for s in range(count)]
    mean_sizes = [sum(row[s] for row in sizes) / many for s in range(count)]
    best = 0
    for s in range(1, count):
        if means[s] > means[best] or (means[s] == means[best] and mean_sizes[s] < mean_sizes[best]):
            best = s
    if rule == "best":
        return best, best
    chosen = best
    for s in range(count):
        gaps = [row[s] - row[best] for row in values]
        mean = sum(gaps) / many
        if rule == "classic":
            own = [row[best] for row in values]
            center = sum(own) / many
            error = (sum((v - center) ** 2 for v in own) / (many - 1)) ** 0.5 / many**0.5
            near = means[s] >= means[best] - error
        else:
            spread = (sum((g - mean) ** 2 for g in gaps) / (many - 1)) ** 0.5
            near = mean + spread * (1 / many + ratio) ** 0.5 >= 0
        if not near:
            continue
        smaller = mean_sizes[s] < mean_sizes[chosen]
        same = mean_sizes[s] == mean_sizes[chosen]
        if smaller or (same and means[s] > means[chosen]):
            chosen = s
        elif same and means[s] == means[chosen]:
            chosen = min(chosen, s)
    return best, chosen


@pytest.mark.parametrize("rule", ["one_se", "classic", "best"])
def test_rules_agree_with_plain_loops(rule: str) -> None:
    """Multiples of 1/64 and few folds: sums are exact, and ties are frequent."""
    smaller = 0
    for seed in range(500):
        rng = np.random.default_rng(seed)
        folds, count = int(rng.choice([2, 4, 8])), int(rng.integers(1, 7))
        values = rng.integers(0, 9, (folds, count)) / 64 + rng.integers(0, 9, (folds, 1)) / 4
        sizes = np.tile(rng.integers(1, 4, count), (folds, 1)).astype(float)
        choice = SettingChoice(
            tuple({"s": s} for s in range(count)), values, sizes, 0.25, "aunbc", rule
        )
        assert (choice.best, choice.chosen) == by_hand(values, sizes, 0.25, rule), seed
        assert choice.near[choice.best]
        assert choice.size[choice.chosen] <= choice.size[choice.best]
        smaller += choice.size[choice.chosen] < choice.size[choice.best]
        table = choice.to_table()
        assert table["chosen"].tolist().index(True) == choice.chosen
        assert (table["difference"] <= 0).all()
    assert (smaller > 50) == (rule != "best")


def test_choice_prefers_the_small_model_that_earns_as_much() -> None:
    X, y, weight = rows()
    choice = choose_setting(TREE, X, y, settings=DEPTHS, sample_weight=weight, repeats=2)
    best = choose_setting(TREE, X, y, settings=DEPTHS, sample_weight=weight, repeats=2, rule="best")
    assert np.array_equal(choice.values, best.values)
    assert choice.values.shape == (10, 4)
    assert choice.size[choice.chosen] <= best.size[best.chosen]
    assert choice.setting in ({"max_depth": 2}, {"max_depth": 3})
    assert "chosen (one_se): max_depth=" in str(choice)
    model = tune(TREE, X, y, settings=DEPTHS, sample_weight=weight, repeats=2)
    assert model.choice_.setting == choice.setting
    assert model.max_depth == choice.setting["max_depth"]
    assert np.array_equal(
        model.predict_proba(X),
        clone(TREE).set_params(**choice.setting).fit(X, y, weight).predict_proba(X),
    )
    assert TREE.max_depth is None


def test_choice_by_one_threshold() -> None:
    X, y, _ = rows()
    choice = choose_setting(TREE, X, y, settings=DEPTHS, measure=0.35)
    assert choice.measure == "net_benefit_at_0.35"
    found = cross_validate(
        clone(TREE).set_params(max_depth=1), X, y, folds=StratifiedKFold(3), net_benefit_at=0.35
    )
    other = choose_setting(TREE, X, y, settings=DEPTHS, measure=0.35, folds=StratifiedKFold(3))
    np.testing.assert_array_equal(other.values[:, 1], found.held_out["net_benefit_at_0.35"])


# -- nested ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_nested_cross_validation_is_what_one_would_do_by_hand(weighted: bool) -> None:
    X, y, weight = rows()
    grid = nb.Thresholds.of([0.2, 0.5])
    outer = StratifiedKFold(3, shuffle=True, random_state=1)
    inner = StratifiedKFold(4, shuffle=True, random_state=2)
    own = weight if weighted else np.ones(len(y))
    found = nested_cross_validate(
        TREE,
        X,
        y,
        settings=DEPTHS,
        folds=outer,
        inner_folds=inner,
        thresholds=grid,
        sample_weight=weight if weighted else None,
    )

    def measured(depth: int, train: Any, test: Any) -> tuple[float, int]:
        fitted = clone(TREE).set_params(max_depth=depth).fit(X[train], y[train], own[train])
        risk = fitted.predict_proba(X[test])[:, 1]
        value = nb.weighted_net_benefit(y[test], risk, grid, sample_weight=own[test])
        return value, fitted.tree_.node_count

    for k, (train, test) in enumerate(outer.split(X, y)):
        pairs = [(train[a], train[b]) for a, b in inner.split(X[train], y[train])]
        tried = [[measured(depth, a, b) for depth in DEPTHS["max_depth"]] for a, b in pairs]
        values = [[value for value, _ in row] for row in tried]
        np.testing.assert_allclose(found.choices[k].values, values, atol=1e-12)
        ratio = float(np.mean([len(b) / len(a) for a, b in pairs]))
        _, chosen = by_hand(values, [[size for _, size in row] for row in tried], ratio, "one_se")
        depth = DEPTHS["max_depth"][chosen]
        assert found.settings[k] == {"max_depth": depth}
        value, size = measured(depth, train, test)
        assert found.held_out["net_benefit"][k] == pytest.approx(value, abs=1e-12)
        assert found.held_out["size"][k] == size
    assert "chosen: max_depth=" in str(found)


def test_nested_is_cross_validation_of_a_search() -> None:
    X, y, weight = rows()
    inner = StratifiedKFold(3, shuffle=True, random_state=2)
    search = BenefitSearch(TREE, DEPTHS, folds=inner)
    options = {"folds": 3, "sample_weight": weight, "thresholds": "0.1:0.5:0.1"}
    one = cross_validate(search.set_params(thresholds="0.1:0.5:0.1"), X, y, **options)
    other = nested_cross_validate(TREE, X, y, settings=DEPTHS, inner_folds=inner, **options)
    assert np.array_equal(one.predictions, other.predictions)
    for measure, values in one.held_out.items():
        np.testing.assert_array_equal(values, other.held_out[measure])


def test_nested_numbers_are_lower_than_those_of_the_chosen_setting_on_noise() -> None:
    """Of many settings on noise the best is best by luck; nested folds do not fall for it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 30)), np.arange(120) < 50
    settings = {"random_state": list(range(25)), "max_features": [1]}
    model = DecisionTreeClassifier(max_depth=1)
    options = {"settings": settings, "rule": "best", "measure": "aunbc"}
    lucky = choose_setting(model, X, y, folds=4, **options)
    honest = nested_cross_validate(model, X, y, folds=4, inner_folds=4, **options)
    assert lucky.mean[lucky.chosen] > honest.mean["aunbc"] + 0.01


def test_search_as_an_estimator() -> None:
    X, y, weight = rows()
    search = BenefitSearch(TREE, DEPTHS)
    clone(search)
    labels = np.where(y, "yes", "no")
    search.fit(X, labels, sample_weight=weight)
    assert search.classes_.tolist() == ["no", "yes"]
    assert search.n_features_in_ == 4
    assert set(search.predict(X)) <= {"no", "yes"}
    assert search.score(X, labels) > 0.5
    assert search.predict_proba(X).shape == (240, 2)
    # thresholds of what is wrapped count
    card = nb.RiskScoreClassifier(binner=None, thresholds=[0.2, 0.4], solver=SHORT_SEARCH, n_jobs=1)
    wrapped = BenefitSearch(card, {"max_features": [1, 2]}, folds=2).fit(X, y)
    assert wrapped.estimator_.scorecard_.size <= 2
    found = cross_validate(wrapped, X, y, folds=2, net_benefit_at=0.2)
    assert found.stability().cards
    assert max(found.held_out["size"]) <= 2


@parametrize_with_checks(
    [
        BenefitSearch(LogisticRegression(), {"C": [0.1, 1]}, rule="best", folds=2),
        BenefitSearch(
            nb.RiskScoreClassifier(teacher=None, solver=SHORT_SEARCH, n_jobs=1),
            {"max_features": [1, 2]},
            folds=2,
        ),
    ],
    # As of scikit-learn's own searches: folds of weighted rows are not those of repeated rows.
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "folds are drawn by row",
        "check_sample_weight_equivalence_on_sparse_data": "folds are drawn by row",
    },
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_settings_of_cards_by_default() -> None:
    from netbenefit.validation.choice import check_settings

    found = check_settings(nb.RiskScoreClassifier(binner=None), None)
    assert len(found) == 12
    assert {"penalty", "max_questions", "max_points"} == set(found[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": None}, "settings=None is for cards"),
        ({"settings": {"depth": [1]}}, "settings name 'depth'"),
        ({"settings": {"max_depth": 3}}, r"Pass a list: \[3\]"),
        ({"settings": {"criterion": "gini"}}, r"Pass a list: \['gini'\]"),
        ({"settings": []}, "nothing to choose from"),
        ({"rule": "two_se"}, "rule='two_se' is not known"),
        ({"measure": "accuracy"}, "measure='accuracy' is not known"),
        ({"measure": 1.5}, "is not a threshold"),
    ],
)
def test_bad_choices(change: dict[str, Any], message: str) -> None:
    X, y, _ = rows(60)
    with pytest.raises(InputError, match=message):
        choose_setting(TREE, X, y, **{"settings": DEPTHS, **change})


def test_models_without_a_size_have_no_smallest() -> None:
    X, y, _ = rows(60)
    options = {"settings": {"n_neighbors": [1, 5]}, "folds": 2}
    with pytest.raises(InputError, match='Choose rule="best"'):
        choose_setting(KNeighborsClassifier(), X, y, **options)
    assert choose_setting(KNeighborsClassifier(), X, y, rule="best", **options).setting
    with pytest.raises(InputError, match="inner_folds must be a number or a splitter"):
        nested_cross_validate(TREE, X, y, settings=DEPTHS, inner_folds=[([0], [1])])
    with pytest.raises(InputError, match="tune has no 'fold'"):
        tune(LogisticRegression(), X, y, settings={"C": [1]}, fold=3)
