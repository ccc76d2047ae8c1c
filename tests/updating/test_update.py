"""Updating a card: every fast number beside a slow one, on random cards and rows."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from netbenefit import (
    Condition,
    InputError,
    PatternTable,
    PerUnit,
    Provenance,
    RiskScoreClassifier,
    Rule,
    Scorecard,
    Thresholds,
    aunbc,
    calibrate_levels,
    expected_calibration_error,
    net_benefit,
)
from netbenefit.cards.rules import HeldOut
from netbenefit.estimators.training import Rows, TrainingData
from netbenefit.updating.evaluate import evaluate_card
from netbenefit.updating.update import choose_update, default_estimator, update_card
from netbenefit.validation.folds import Sample, make_folds
from tests.helpers.cards import SHORT_SEARCH
from tests.helpers.raw_rows import outcome, raw_table

GRIDS = ([0.1, 0.3, 0.5], [0.5], [0, 0.25, 0.5, 0.75], [0.05, 0.1, 0.2, 0.4, 0.8])


def random_card(rng: np.random.Generator, ranged: bool | None = None) -> Scorecard:
    """Three rules; levels may be empty, never reached, or beyond every score."""
    grid = Thresholds.of(GRIDS[rng.integers(len(GRIDS))])
    points = rng.integers(-3, 4, 3)
    rules = [
        Rule(PerUnit("x"), int(points[0]) or 1),
        Rule(Condition("x", ">=", 2), int(points[1])),
        Rule(Condition("sex", "==", "f"), int(points[2])),
    ]
    cutoffs = np.sort(rng.integers(-8, 9, len(grid) - 1)).tolist()
    edges = [*grid.values, 1.0]
    risks = [
        a if rng.random() < 0.2 else a + (b - a) * rng.random() * 0.999 for a, b in pairwise(edges)
    ]
    ranged = bool(rng.random() < 0.5) if ranged is None else ranged
    return Scorecard.from_levels(
        rules,
        cutoffs,
        risks,
        grid,
        score_range=(int(rng.integers(-8, 0)), int(rng.integers(0, 9))) if ranged else None,
        provenance=Provenance(
            version="0", n_rows=1000, objective=0.2, bound=0.2, outcome="ill = 1"
        ),
    )


def random_rows(
    rng: np.random.Generator, n: int | None = None
) -> tuple[dict[str, Any], np.ndarray, np.ndarray | None]:
    """Rows with ties; weights sometimes none, whole, or real with zeros."""
    n = int(rng.integers(4, 60)) if n is None else n
    columns = {"x": rng.integers(-2, 5, n), "sex": rng.choice(["f", "m"], n).astype(object)}
    slope, shift = rng.normal(), rng.normal()
    y = rng.random(n) < 1 / (1 + np.exp(-(slope * columns["x"] + shift)))
    y[0], y[1] = False, True
    kind = rng.integers(3)
    if kind == 0:
        return columns, y, None
    weight = rng.integers(0, 4, n).astype(float) if kind == 1 else rng.random(n) * 3
    weight[:2] += 1
    return columns, y, weight


def duplicated(columns: dict[str, Any], y: np.ndarray, weight: np.ndarray) -> tuple[Any, Any]:
    rows = np.repeat(np.arange(y.size), weight.astype(int))
    return {name: column[rows] for name, column in columns.items()}, y[rows]


# -- risks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(8))
def test_new_risks_are_those_of_algorithm_2(block: int) -> None:
    for seed in range(50 * block, 50 * block + 50):
        rng = np.random.default_rng(seed)
        card = random_card(rng)
        columns, y, weight = random_rows(rng)
        new = update_card(card, columns, y, "risks", sample_weight=weight).new
        old_risk = card.risk(columns)
        mapped = calibrate_levels(y, old_risk, card.thresholds, sample_weight=weight)
        found, expected = new.risk(columns), mapped.apply(old_risk)
        used = np.ones(y.size, bool) if weight is None else weight > 0
        np.testing.assert_array_equal(found[used], expected[used])
        # new rows, scores beyond the range among them
        other = {"x": np.arange(-30, 31), "sex": np.array(["f", "m"] * 30 + ["f"], dtype=object)}
        scores, risks = card.score(other), new.risk(other)
        assert (np.diff(risks[np.argsort(scores, kind="stable")]) >= 0).all()
        together = {}
        for before, after in zip(card.risk(other).tolist(), risks.tolist(), strict=True):
            assert together.setdefault(before, after) == after  # groups of scores stay, or join
        assert Scorecard.from_json(new.to_json()) == new


@pytest.mark.parametrize("block", range(4))
def test_new_risks_lose_no_net_benefit_and_are_calibrated(block: int) -> None:
    for seed in range(50 * block, 50 * block + 50):
        rng = np.random.default_rng([7, seed])
        card = random_card(rng)
        columns, y, weight = random_rows(rng)
        update = update_card(card, columns, y, "risks", sample_weight=weight)
        options = {"sample_weight": weight}
        before = net_benefit(y, card.risk(columns), card.thresholds, **options)
        after = net_benefit(y, update.new.risk(columns), card.thresholds, **options)
        assert (after >= before - 1e-12).all()
        assert expected_calibration_error(
            y, update.new.risk(columns), card.thresholds, **options
        ) == pytest.approx(0, abs=1e-12)
        assert update.after.aunbc == pytest.approx(
            aunbc(y, update.new.risk(columns), card.thresholds, **options)
        )
        assert update.before.aunbc <= update.after.aunbc + 1e-12


def test_belief_in_the_old_risks_is_counted_as_rows() -> None:
    rng = np.random.default_rng(3)
    card = Scorecard.from_levels(
        [Rule(PerUnit("x"), 1)], [1, 3], [0.1, 0.3, 0.6], Thresholds.of([0.2, 0.5])
    )
    x, y = rng.integers(0, 5, 50), rng.random(50) < 0.5
    for strength in (1.0, 50.0, 1e4):
        new = update_card(card, {"x": x}, y, "risks", prior_strength=strength).new
        q = card.risk({"x": x})
        more = np.repeat(strength / 50, 50)
        mapped = calibrate_levels(
            np.concatenate([y, np.ones(50, bool), np.zeros(50, bool)]),
            np.concatenate([q, q, q]),
            card.thresholds,
            sample_weight=np.concatenate([np.ones(50), more * q, more * (1 - q)]),
        )
        np.testing.assert_array_equal(new.risk({"x": x}), mapped.apply(q))
    # endless belief is the old card
    firm = update_card(card, {"x": x}, y, "risks", prior_strength=1e12).new
    np.testing.assert_allclose(firm.risk({"x": x}), card.risk({"x": x}), atol=1e-9)
    assert firm.cutoffs == card.cutoffs
    with pytest.raises(InputError, match="prior_strength=-1"):
        update_card(card, {"x": x}, y, "risks", prior_strength=-1)


# -- cut-offs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(6))
def test_new_cutoffs_are_the_best_of_all(block: int) -> None:
    for seed in range(50 * block, 50 * block + 50):
        rng = np.random.default_rng([1, seed])
        card = random_card(rng)
        columns, y, weight = random_rows(rng)
        update = update_card(card, columns, y, "cutoffs", sample_weight=weight)
        new, w = update.new, np.ones(y.size) if weight is None else weight
        used = w > 0
        score = card.score(columns)[used]
        assert new.rules == card.rules
        for i, p in enumerate(card.thresholds.values[1:]):
            odds = p / (1 - p)
            values = {
                t: w[used][y[used] & (score >= t)].sum()
                - odds * w[used][~y[used] & (score >= t)].sum()
                for t in [*np.unique(score).tolist(), int(score.max()) + 1]
            }
            best = max(values.values())
            assert values[new.cutoffs[i]] == pytest.approx(best, abs=1e-9)
            assert new.cutoffs[i] >= min(t for t, v in values.items() if v >= best - 1e-9)
        level = new.level_of_score(score)
        for i in np.unique(level):
            here = level == i
            rate = w[used][here & y[used]].sum() / w[used][here].sum()
            assert new.risk_of_score(score[here])[0] == pytest.approx(rate, abs=1e-9)
        assert Scorecard.from_json(new.to_json()) == new


# -- a risk for every score ------------------------------------------------------------------------


def stepped_card(rng: np.random.Generator) -> Scorecard:
    scores = np.sort(rng.choice(np.arange(-3, 14), rng.integers(6, 13), replace=False))
    risks = np.sort(rng.random(scores.size).round(2))
    steps = list(zip(scores.tolist(), risks.tolist(), strict=True))
    return Scorecard([Rule(PerUnit("x"), 1)], steps, Thresholds.of([0.5]))


@pytest.mark.parametrize("seed", range(40))
def test_scores_get_their_own_rates_made_monotone(seed):
    rng = np.random.default_rng(seed)
    card = stepped_card(rng)
    n = int(rng.integers(5, 200))
    x, weight = rng.integers(-4, 15, n), rng.integers(1, 5, n).astype(float)
    y = rng.random(n) < card.risk_of_score(x)
    y[:2] = [True, False]
    new = update_card(card, {"x": x}, y, sample_weight=weight).new
    starts = [score for score, _ in card.risks]
    assert [score for score, _ in new.risks] == starts
    place = np.maximum(np.searchsorted(starts, x, side="right") - 1, 0)
    expected = IsotonicRegression().fit(place, y, weight).predict(place)
    np.testing.assert_allclose(new.risk_of_score(x), expected, atol=1e-12)
    for step in set(range(len(starts))) - set(place.tolist()):  # no rows: between its neighbours
        old, found = card.risks[step][1], new.risks[step][1]
        near = [new.risks[k][1] for k in (step - 1, step + 1) if 0 <= k < len(starts)]
        assert found == old or found in near


def test_belief_in_a_card_holds_its_risks():
    card = stepped_card(np.random.default_rng(1))
    rows = {"x": np.arange(0, 12).repeat(2)}
    y = np.arange(24) % 3 == 0
    new = update_card(card, rows, y, prior_strength=1e9).new
    np.testing.assert_allclose(
        new.risk_of_score(rows["x"]), card.risk_of_score(rows["x"]), atol=1e-6
    )
    text = str(update_card(card, rows, y))
    assert "neighbours whose rates were not in order are pooled" in text


# -- what changed ----------------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(3))
@pytest.mark.parametrize("what", ["risks", "cutoffs"])
def test_what_changed_is_counted(block: int, what: str) -> None:
    for seed in range(50 * block, 50 * block + 50):
        rng = np.random.default_rng([2, seed])
        card = random_card(rng)
        columns, y, weight = random_rows(rng)
        update = update_card(card, columns, y, what, sample_weight=weight)
        w = np.ones(y.size) if weight is None else weight
        old, new = card.risk(columns), update.new.risk(columns)
        d = update.decisions
        assert d["threshold"].tolist() == card.thresholds.given.tolist()
        for i, p in enumerate(card.thresholds.given):
            rows = range(y.size)
            assert d["old"][i] == pytest.approx(sum(w[j] for j in rows if old[j] >= p))
            assert d["new"][i] == pytest.approx(sum(w[j] for j in rows if new[j] >= p))
            up = sum(w[j] for j in rows if new[j] >= p > old[j])
            assert d["to_positive"][i] == pytest.approx(up)
            down = sum(w[j] for j in rows if old[j] >= p > new[j])
            assert d["to_negative"][i] == pytest.approx(down)
        r = update.risks
        assert r["n"].sum() == pytest.approx(w.sum())
        assert r["events"].sum() == pytest.approx(w[y].sum())
        score = card.score(columns)
        for j in range(y.size):  # every row finds its group, and both risks there
            texts = [k for k in range(r.n_rows) if _inside(score[j], str(r["scores"][k]))]
            assert len(texts) == 1
            assert r["old"][texts[0]] == old[j]
            assert r["new"][texts[0]] == new[j]
        assert update.points["old"].tolist() == update.points["new"].tolist()
        assert update.cutoffs["new"].tolist() == list(update.new.cutoffs)
        assert "points: as they were" in str(update)
        assert "expect less" in str(update)


def _inside(score: int, text: str) -> bool:
    plain = text.replace("−", "-")
    if plain == "any":
        return True
    if plain.startswith("≤"):
        return bool(score <= int(plain[2:]))
    if plain.startswith("≥"):
        return bool(score >= int(plain[2:]))
    low, _, high = plain.replace(" to ", "–").partition("–")
    return bool(int(low) <= score <= int(high or low))


@pytest.mark.parametrize("block", range(2))
def test_a_row_of_weight_two_is_two_rows(block: int) -> None:
    for seed in range(50 * block, 50 * block + 50):
        rng = np.random.default_rng([4, seed])
        card = random_card(rng)
        columns, y, _ = random_rows(rng)
        weight = rng.integers(0, 3, y.size).astype(float)
        weight[:2] = 1
        more, twice = duplicated(columns, y, weight)
        for what in ("risks", "cutoffs"):
            a = update_card(card, columns, y, what, sample_weight=weight)
            b = update_card(card, more, twice, what)
            assert a.new == b.new
            for key in ("points", "cutoffs", "risks", "decisions"):
                one, two = getattr(a, key), getattr(b, key)
                for name in one:
                    if one[name].dtype.kind == "f":
                        np.testing.assert_allclose(one[name], two[name])
            assert str(a) == str(b)
        one = evaluate_card(card, columns, y, sample_weight=weight)
        two = evaluate_card(card, more, twice)
        np.testing.assert_allclose(one.measures[:7], two.measures[:7], atol=1e-12)
        assert one.calibration[:2] == pytest.approx(two.calibration[:2])
        for key in ("intercept", "slope"):
            left, right = getattr(one.calibration, key), getattr(two.calibration, key)
            assert (left is None) == (right is None)
            assert left is None or left == pytest.approx(right, abs=1e-6)
        assert [row[3:6] for row in one.levels] == [row[3:6] for row in two.levels]


def test_provenance_says_what_was_updated() -> None:
    rng = np.random.default_rng(0)
    card = random_card(rng, ranged=True)
    columns, y, _ = random_rows(rng, 40)
    seen = replace(card, held_out=HeldOut(0.1, [(None, 5, 1, 0.0, 0.6)]))
    first = update_card(seen, columns, y, "risks").new
    assert first.held_out is None  # it was about the old risks
    origin = first.provenance
    assert origin is not None
    assert (origin.n_rows, origin.n_events) == (40, int(y.sum()))
    assert origin.prevalence == y.mean()
    assert origin.prior_strength is None
    assert (origin.objective, origin.bound, origin.net_benefit, origin.status) == (None,) * 4
    events = int(y.sum())
    expected = f"points from 1,000 rows; risks on 40 rows ({events} with the event)"
    assert origin.updated == expected
    assert f"updated: {origin.updated}" in " ".join(str(first).split())
    second = update_card(first, columns, y, "cutoffs", prior_strength=10).new
    assert second.provenance is not None
    assert second.provenance.updated == (
        f"{origin.updated}; cut-offs and risks on 40 rows ({events} with the event), with 10 rows "
        "of belief in the old risks"
    )
    assert Scorecard.from_json(second.to_json()) == second
    bare = update_card(replace(card, provenance=None), columns, y).new
    assert bare.provenance is not None
    assert bare.provenance.updated == f"risks on 40 rows ({events} with the event)"
    assert '"updated"' not in card.to_json()  # files of other cards stay as they were


def test_bad_requests_are_refused() -> None:
    rng = np.random.default_rng(0)
    card = random_card(rng)
    columns, y, _ = random_rows(rng, 20)
    with pytest.raises(InputError, match="what='points' is not known"):
        update_card(card, columns, y, "points")
    with pytest.raises(InputError, match=r"y holds no events \(1\) .* update"):
        update_card(card, columns, np.zeros(20))
    with pytest.raises(InputError, match="y holds no non-events"):
        update_card(card, columns, y, sample_weight=y.astype(float))
    with pytest.raises(InputError, match="estimator is used by a refit only"):
        update_card(card, columns, y, estimator=RiskScoreClassifier(binner=None))
    with pytest.raises(InputError, match="estimator is a str"):
        update_card(card, columns, y, "refit", estimator="auto")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="set it in the estimator"):
        update_card(card, columns, y, "refit", prior_strength=3)
    with pytest.raises(InputError, match="20 rows, but y has 3"):
        update_card(card, columns, y[:3])
    with pytest.raises(InputError, match="must list some of"):
        choose_update(card, columns, y, what=["risk"])


@pytest.mark.parametrize("what", ["risks", "cutoffs"])
def test_a_card_that_starts_at_0_is_updated_as_its_raw_form(what: str) -> None:
    shifted = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        raw = random_card(rng, ranged=True)
        rules = [rule for rule in raw.rules if isinstance(rule.term, Condition)]
        raw = replace(raw, rules=rules, feature_names=())
        card = raw.start_at_zero()
        shifted += card.shift > 0
        columns, y, weight = random_rows(rng)
        new, other = (
            update_card(one, columns, y, what, sample_weight=weight, prior_strength=5)
            for one in (card, raw)
        )
        assert new.new.base == card.base
        assert new.new.raw() == other.new
        assert new.new.risk(columns).tolist() == other.new.risk(columns).tolist()
        assert new.points["old"].tolist() == new.points["new"].tolist()
        names = [f"{name}: every answer" for name, _ in card.base]
        assert new.points["rule"].tolist()[len(rules) :] == names
    assert shifted > 60


# -- refit -----------------------------------------------------------------------------------------


class Stay:
    """A solver that stays where it begins."""

    def __init__(self) -> None:
        self.start: Any = None

    def solve(self, problem: Any, *, start: Any = None, callback: Any = None) -> Any:
        from netbenefit.solvers.base import Run, first_points

        self.start = start
        return Run(problem, "stay", math.inf).result(first_points(problem, start), "finished")


def numbers(seed: int, n: int = 400) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = {"a": rng.integers(0, 4, n), "b": rng.random(n).round(1), "c": rng.integers(0, 2, n)}
    logit = 0.8 * columns["a"] + 2 * columns["b"] - columns["c"] - 2.5
    return columns, rng.random(n) < 1 / (1 + np.exp(-logit))


def test_a_refit_begins_at_the_old_points() -> None:
    import pandas as pd

    columns, y = numbers(0)
    settings: dict[str, Any] = {"solver": SHORT_SEARCH, "n_jobs": 1}
    model = RiskScoreClassifier(binner=None, prior_strength=0, **settings).fit(
        pd.DataFrame(columns), y
    )
    card = model.scorecard_
    other, z = numbers(1)
    stay = Stay()
    update = update_card(
        card,
        other,
        z,
        "refit",
        estimator=RiskScoreClassifier(binner=None, prior_strength=0, solver=stay),
    )
    np.testing.assert_array_equal(stay.start, model.coef_)
    assert update.new.rules == card.rules
    for X in (pd.DataFrame(other), np.column_stack(list(other.values()))):
        again = update_card(
            card,
            X,
            z,
            "refit",
            estimator=RiskScoreClassifier(binner=None, prior_strength=0, **settings),
        )
        assert again.result is not None
        assert update.result is not None
        assert again.result.objective >= update.result.objective
        assert again.new.provenance is not None
        assert again.new.provenance.n_rows == 400
        assert again.new.provenance.objective == again.result.objective
        events = int(z.sum())
        assert again.new.provenance.updated == (
            f"refit on 400 rows ({events} with the event) from a card of 400 rows"
        )
        assert str(again)


def test_a_taught_refit_is_no_worse_than_its_start() -> None:
    columns, y = numbers(2)
    card = Scorecard.from_levels(
        [Rule(PerUnit("a"), 7), Rule(PerUnit("b", decimals=1), 10), Rule(PerUnit("c"), -5)],
        [5] * 9,
        [0.05, *[None] * 8, 0.95],
        Thresholds.tenths(),
        score_range=(0, 5),
    )
    assert default_estimator(card).binner is None
    stay = Stay()
    moved = update_card(
        card, columns, y, "refit", estimator=RiskScoreClassifier(binner=None, solver=stay)
    )
    assert moved.result is not None
    again = update_card(
        card,
        columns,
        y,
        "refit",
        estimator=RiskScoreClassifier(binner=None, solver=SHORT_SEARCH),
    )
    assert again.result is not None
    assert again.result.objective >= moved.result.objective - 1e-12


def test_a_start_is_moved_into_its_bounds_or_refused() -> None:
    columns, y = numbers(4, 100)
    stay = Stay()

    def run(start: list[int], **settings: Any) -> None:
        rows = Rows(columns, columns, np.asarray(y, dtype=bool))
        training = TrainingData(PatternTable.from_columns(columns, y), settings, rows)
        model = RiskScoreClassifier(binner=None, solver=stay, teacher=None)
        model.thresholds_ = Thresholds.tenths()
        model._learn(training, "ill", np.array(start))

    run([9, -9, 1], bounds={"a": (0, 4)})
    assert stay.start.tolist() == [4, -9, 1]
    run([9, -9, 1], max_features=2)
    assert stay.start is None  # not allowed: the solver begins where it always does
    with pytest.raises(InputError, match="start has 2 points for 3 columns"):
        run([1, 2])


@pytest.mark.filterwarnings("ignore:column ")
def test_a_raw_card_is_refitted_with_its_own_conditions() -> None:
    table = raw_table(0, 400)
    y = outcome(table, 0)
    settings: dict[str, Any] = {"solver": SHORT_SEARCH, "n_jobs": 1}
    card = RiskScoreClassifier(binner="auto", **settings).fit(table, y).scorecard_
    settings["teacher"] = "logistic"
    other = raw_table(5, 300)
    z = outcome(other, 5)
    stay = Stay()
    model = RiskScoreClassifier(binner="auto", prior_strength=0, solver=stay)
    labels = {"title": "T", "columns": {name: {"unit": "u"} for name in card.features}}
    update = update_card(card.with_labels(labels), other, z, "refit", estimator=model)
    assert update.new.labels.title == "T"
    assert {one.feature for one in update.new.labels.columns} <= set(update.new.features)
    old = {rule.term: rule.points for rule in card.rules if rule.points}
    new = {rule.term: rule.points for rule in update.new.rules if rule.points}
    kept = {t: p for t, p in new.items() if t in old}
    assert kept == new  # nothing but the old card
    lost = [t for t in old if t not in new]
    # rules for missing values, which the new rows may lack
    assert all(t.kind == "any" for t in lost), lost
    usual = default_estimator(card)
    assert usual.binner == "auto"
    assert usual.thresholds == card.thresholds
    assert usual.teacher == "auto"
    assert usual.prior_strength == "auto"
    untaught = replace(card, provenance=replace(card.provenance, prior_strength=0.0))
    assert default_estimator(untaught).teacher is None
    usual.set_params(teacher="logistic")
    learnt = update_card(card, other, z, "refit", estimator=usual.set_params(**settings))
    assert learnt.new.feature_names == card.feature_names
    assert str(learnt)
    signed = RiskScoreClassifier(binner="auto", sign={"age": "+"}, **settings)
    rising = update_card(card, other, z, "refit", estimator=signed).new
    ages = [{**{k: v[0] for k, v in other.items()}, "age": age} for age in (20, 40, 60, 80)]
    assert (np.diff(rising.score(ages)) >= 0).all()


def test_held_out_rows_choose_the_update() -> None:
    rng = np.random.default_rng(0)
    card = Scorecard.from_levels(
        [Rule(PerUnit("x"), 1)], [1, 2], [0.1, 0.3, 0.6], Thresholds.of([0.2, 0.5])
    )
    x = rng.integers(0, 3, 900)
    for rates, expected in (([0.1, 0.3, 0.6], "keep"), ([0.1, 0.6, 0.8], "risks")):
        y = rng.random(900) < np.array(rates)[x]
        choice = choose_update(card, {"x": x.tolist()}, y, what=["cutoffs", "keep", "risks"])
        assert choice.ways == ("keep", "risks", "cutoffs")
        assert choice.suggested == expected
        assert expected in str(choice)
        # the slow way, for one fold after the other
        for k, (train, test) in enumerate(make_folds(5, Sample.of({"x": x}, y, None), 0)):
            new = update_card(card, {"x": x[train]}, y[train], "risks").new
            area = aunbc(y[test], new.risk({"x": x[test]}), card.thresholds)
            assert choice.fold_aunbc[k, 1] == pytest.approx(area)
            kept = aunbc(y[test], card.risk({"x": x[test]}), card.thresholds)
            assert choice.fold_aunbc[k, 0] == pytest.approx(kept)


@pytest.mark.parametrize(
    ("splitter", "ratio"),
    [
        (StratifiedKFold(5), 1 / 4),
        (RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0), 1 / 4),
        (StratifiedShuffleSplit(8, test_size=0.5, random_state=0), 1.0),
    ],
)
def test_errors_of_an_update_allow_for_any_splitter(splitter: Any, ratio: float) -> None:
    rng = np.random.default_rng(0)
    card = Scorecard.from_levels(
        [Rule(PerUnit("x"), 1)], [1, 2], [0.1, 0.3, 0.6], Thresholds.of([0.2, 0.5])
    )
    x = rng.integers(0, 3, 400)
    y = np.arange(400) % 4 == 0
    choice = choose_update(card, {"x": x}, y, what=["keep", "risks"], folds=splitter)
    table = choice.to_table()
    factor = math.sqrt(1 / len(choice.fold_aunbc) + ratio)
    gaps = choice.fold_aunbc - choice.fold_aunbc[:, [choice.ways.index(choice.best)]]
    for name, values in (("aunbc_se", choice.fold_aunbc), ("difference_se", gaps)):
        np.testing.assert_allclose(table[name], values.std(axis=0, ddof=1) * factor)
