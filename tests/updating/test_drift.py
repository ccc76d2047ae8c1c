"""Drift and calibration on new rows: beside slow counts, simulation and statsmodels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm

from netbenefit import (
    Condition,
    InputError,
    PerUnit,
    Provenance,
    Reading,
    RiskScoreClassifier,
    Rule,
    Scorecard,
    Thresholds,
    card_drift,
    evaluate_card,
    recalibration,
)
from netbenefit.cards.readings import as_column
from netbenefit.metrics.benefit import aunbc, auroc, expected_calibration_error
from netbenefit.updating.drift import (
    Bins,
    ScoredRows,
    _edges,
    bins_of,
    chance_index,
    compare_rows,
    score_rows,
    stability_index,
    standardised_difference,
)
from netbenefit.updating.evaluate import Recalibration, calibration_lines, evaluate_scores
from tests.helpers.cards import SHORT_SEARCH
from tests.helpers.raw_rows import CONTAINERS, outcome, raw_table

# -- calibration in the large, slope ---------------------------------------------------------------


def by_statsmodels(y: np.ndarray, risk: np.ndarray, weight: np.ndarray) -> tuple[Any, Any]:
    logit = np.log(risk / (1 - risk))
    family = sm.families.Binomial()
    one = np.ones((y.size, 1))
    large = sm.GLM(y, one, family=family, offset=logit, freq_weights=weight).fit(tol=1e-12)
    both = np.column_stack([one, logit])
    slope = sm.GLM(y, both, family=family, freq_weights=weight).fit(tol=1e-12)
    return large, slope


def test_recalibration_agrees_with_statsmodels() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(30, 200))
        risk = rng.choice(rng.random(12) * 0.9 + 0.05, n)
        y = (rng.random(n) < risk ** rng.uniform(0.5, 2)).astype(float)
        y[:4], risk[:4] = [0, 1, 0, 1], [0.02, 0.02, 0.97, 0.97]
        weight = np.ones(n) if seed % 2 else rng.integers(1, 4, n).astype(float)
        found = recalibration(y, risk, sample_weight=weight)
        large, slope = by_statsmodels(y, risk, weight)
        assert found.intercept == pytest.approx(large.params[0], abs=1e-6)
        assert found.slope == pytest.approx(slope.params[1], abs=1e-6)
        assert found.observed == pytest.approx(weight @ y)
        assert found.expected == pytest.approx(weight @ risk)
        # weights count as fewer rows: the errors of whole weights are wider by that factor
        factor = math.sqrt(weight.sum() / (weight.sum() ** 2 / (weight**2).sum()))
        assert found.intercept_se == pytest.approx(factor * large.bse[0], rel=1e-5)
        assert found.slope_se == pytest.approx(factor * slope.bse[1], rel=1e-5)


def test_recalibration_says_why_there_is_none() -> None:
    assert recalibration([0, 0], [0.1, 0.2]).note == "all rows have the same outcome"
    assert recalibration([0, 1], [0.1, 1.0]).note == "some risks are exactly 0 or 1"
    # a row that does not count does not matter
    assert recalibration([0, 1, 1], [0.2, 0.3, 1.0], sample_weight=[1, 1, 0]).note != (
        "some risks are exactly 0 or 1"
    )
    alike = recalibration([0, 1, 1], [0.5, 0.5, 0.5])
    assert alike.slope is None
    assert alike.intercept == pytest.approx(math.log(2))
    assert alike.note == "all risks are equal"
    for y in ([0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1]):
        apart = recalibration(
            y, [0.1, 0.2, 0.2, 0.7] if y == [0, 1, 1, 1] else [0.1, 0.2, 0.3, 0.7]
        )
        assert apart.slope is None
        assert apart.note == "the risks separate the classes"
        assert apart.intercept is not None
    assert recalibration([0, 1], [0.0, 0.0]).ratio == math.inf
    extreme = recalibration([0, 1] * 50, [1e-12, 1 - 1e-12] * 49 + [1 - 1e-12, 1e-12])
    assert extreme.slope is not None
    assert math.isfinite(extreme.slope)


# -- the stability index ---------------------------------------------------------------------------


def slow_index(a: list[float], b: list[float], sizes: tuple[float, float]) -> float:
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x or y]
    if any(x == 0 or y == 0 for x, y in pairs):
        s, t = 0.5 * sum(a) / sizes[0], 0.5 * sum(b) / sizes[1]
        pairs = [(x + s, y + t) for x, y in pairs]
    n, m = sum(x for x, _ in pairs), sum(y for _, y in pairs)
    return sum((y / m - x / n) * math.log((y / m) / (x / n)) for x, y in pairs)


def test_the_index_is_the_sum() -> None:
    rng = np.random.default_rng(0)
    for _ in range(500):
        k = int(rng.integers(1, 8))
        a, b = rng.integers(0, 6, k).astype(float), rng.integers(0, 6, k).astype(float)
        a[0] += 1
        b[-1] += 1
        scale = rng.choice([1.0, 0.37])  # weights of any scale
        sizes = (float(a.sum()), float(b.sum()))
        found = stability_index(scale * a, 3 * scale * b, rows=sizes)
        expected = slow_index((scale * a).tolist(), (3 * scale * b).tolist(), sizes)
        assert found == pytest.approx(expected, abs=1e-12)
        assert found >= 0
        assert found == pytest.approx(stability_index(a, b), abs=1e-9)


def test_chance_exceeds_its_limit_in_one_of_twenty() -> None:
    rng = np.random.default_rng(1)
    shares = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    n, m, times = 800, 400, 4000
    one, two = rng.multinomial(n, shares, times), rng.multinomial(m, shares, times)
    index = [stability_index(a, b) for a, b in zip(one, two, strict=True)]
    exceeded = np.mean(np.array(index) > chance_index(5, (n, m)))
    assert abs(exceeded - 0.05) < 4 * math.sqrt(0.05 * 0.95 / times)


def test_bins_count_every_row_once() -> None:
    for seed in range(200):
        rng = np.random.default_rng([2, seed])
        n, m = int(rng.integers(1, 80)), int(rng.integers(1, 80))
        if seed % 3:
            spread = rng.choice([3, 1000])
            old, new = rng.integers(0, spread, n) / 4, rng.integers(0, spread, m) / 4
            kind: Any = "number"
        else:
            names = np.array([f"level {i}" for i in range(rng.choice([3, 40]))], dtype=object)
            old, new = rng.choice(names, n), rng.choice(names, m)
            kind = "text"
        a = [None if rng.random() < 0.1 else v for v in old.tolist()]
        b = [None if rng.random() < 0.1 else v for v in new.tolist()]
        v, w = rng.integers(0, 3, n).astype(float), rng.integers(0, 3, m).astype(float)
        v[0] = w[0] = 1
        bins = bins_of(as_column("x", a, kind), v, as_column("x", b, kind), w)
        assert bins.reference.sum() == pytest.approx(v.sum())
        assert bins.new.sum() == pytest.approx(w.sum())
        assert ((bins.reference > 0) | (bins.new > 0)).all()
        absent = sum(x for x, value in zip(w, b, strict=True) if value is None)
        if "missing" in bins.names:
            assert bins.new[bins.names.index("missing")] == pytest.approx(absent)
        else:
            assert absent == 0
        # rows of weight two are two rows
        rows, more = np.repeat(np.arange(n), v.astype(int)), np.repeat(np.arange(m), w.astype(int))
        again = bins_of(
            as_column("x", [a[i] for i in rows], kind),
            np.ones(rows.size),
            as_column("x", [b[i] for i in more], kind),
            np.ones(more.size),
        )
        assert again.names == bins.names
        np.testing.assert_allclose(again.reference, bins.reference)
        np.testing.assert_allclose(again.new, bins.new)


def counted(old: np.ndarray, new: np.ndarray, weight: np.ndarray | None = None) -> Bins:
    first = np.ones(old.size) if weight is None else weight
    return bins_of(
        as_column("x", old, "number"), first, as_column("x", new, "number"), np.ones(new.size)
    )


@pytest.mark.parametrize("n", [20, 100, 1000])
@pytest.mark.parametrize("weight", [1.0, 0.1, 1 / 3])
def test_bins_of_many_numbers_are_tenths(n: int, weight: float) -> None:
    values = np.arange(1, n + 1, dtype=float)
    bins = counted(values, values + n / 2, np.full(n, weight))
    assert len(bins.names) == 10
    np.testing.assert_allclose(bins.reference, weight * n / 10)
    np.testing.assert_array_equal(bins.new, [0] * 5 + [n / 10] * 4 + [6 * n / 10])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_frequent_value_has_a_bin_of_its_own(sign: float) -> None:
    old = sign * np.concatenate([np.zeros(950), np.arange(1, 51)])
    new = sign * np.concatenate([np.zeros(500), np.tile(np.arange(1, 51), 10)])
    bins = counted(old, new)
    assert sorted(bins.reference.tolist()) == [50, 950]
    assert sorted(bins.new.tolist()) == [500, 500]
    share = 0.5 - 0.95
    expected = share * math.log(0.5 / 0.95) + -share * math.log(0.5 / 0.05)
    assert stability_index(bins.reference, bins.new) == pytest.approx(expected)


# -- drift of a card -------------------------------------------------------------------------------

CARD = Scorecard.from_levels(
    [
        Rule(PerUnit("visits"), 1),
        Rule(Condition("age", ">=", 60), 2),
        Rule(Condition("sex", "==", "f"), -1),
        Rule(Condition("age", "missing"), 0),
    ],
    [1, 3],
    [0.1, 0.3, 0.6],
    Thresholds.of([0.2, 0.5]),
    score_range=(-1, 5),
    provenance=Provenance(version="0", prevalence=0.25),
    readings=[
        Reading(feature="sex", levels=("f", "m")),
        Reading(feature="visits", special=(-9,), fill=1),
        Reading(feature="age", saw_missing=True),
    ],
)


def rows(seed: int, n: int, shift: float = 0.0) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    age = [
        None if u < 0.1 else int(a)
        for a, u in zip(rng.normal(55 + shift, 9, n), rng.random(n), strict=True)
    ]
    return {
        "age": age,
        "sex": rng.choice(
            ["f", "m", "x"], n, p=[0.5, 0.4, 0.1] if shift else [0.5, 0.5, 0]
        ).tolist(),
        "visits": rng.choice([-9, 0, 1, 2, 9], n).tolist(),
    }


def test_drift_is_counted_by_hand() -> None:
    then, now = rows(0, 300), rows(1, 200, shift=6.0)
    y = np.arange(200) % 2
    drift = card_drift(CARD, now, then, y=y, reference_y=np.arange(300) % 4 == 0)
    c = {name: i for i, name in enumerate(drift.columns["column"])}
    ages = [a for a in now["age"] if a is not None], [a for a in then["age"] if a is not None]
    t = drift.columns
    assert t["missing"][c["age"]] == pytest.approx(1 - len(ages[0]) / 200)
    assert t["missing_reference"][c["age"]] == pytest.approx(1 - len(ages[1]) / 300)
    assert t["missing"][c["visits"]] == pytest.approx(now["visits"].count(-9) / 200)
    assert t["unseen"][c["sex"]] == pytest.approx(now["sex"].count("x") / 200)
    assert t["unseen_values"][c["sex"]] == "x"
    beyond = sum(a < min(ages[1]) or a > max(ages[1]) for a in ages[0]) / 200
    assert t["unseen"][c["age"]] == pytest.approx(beyond)
    gap = (np.mean(ages[0]) - np.mean(ages[1])) / math.sqrt((np.var(ages[0]) + np.var(ages[1])) / 2)
    assert t["difference"][c["age"]] == pytest.approx(gap)
    assert math.isnan(t["difference"][c["sex"]])
    assert t["psi"][c["age"]] > t["chance"][c["age"]]
    assert t["psi"][c["visits"]] < t["chance"][c["visits"]]
    for name in c:
        here = drift.bins["column"] == name
        a, b = drift.bins["reference"][here], drift.bins["new"][here]
        assert (a.sum(), b.sum()) == (300, 200)
        index = slow_index(a.tolist(), b.tolist(), (300, 200))
        assert t["psi"][c[name]] == pytest.approx(index)
    r = {text: i for i, text in enumerate(drift.answers["answer"])}
    old = np.mean([a is not None and a >= 60 for a in then["age"]])
    new = np.mean([a is not None and a >= 60 for a in now["age"]])
    assert drift.answers["reference"][r["age: 60 or more"]] == pytest.approx(old)
    assert drift.answers["new"][r["age: 60 or more"]] == pytest.approx(new)
    assert drift.answers["shift"][r["age: 60 or more"]] == pytest.approx(2 * (new - old))
    index = slow_index([300 * (1 - old), 300 * old], [200 * (1 - new), 200 * new], (300, 200))
    assert drift.answers["psi"][r["age: 60 or more"]] == pytest.approx(index)
    assert np.isnan(drift.answers["psi"]).sum() == 1  # points per unit have none of their own
    with pytest.warns(UserWarning, match="column"):
        moved = CARD.score(now).mean() - CARD.score(then).mean()
    assert drift.answers["shift"].sum() == pytest.approx(moved)
    p = drift.prevalence
    assert (p.reference, p.new) == (0.25, 0.5)
    assert p.low is not None
    assert p.high is not None
    assert p.low < 0.5 < p.high
    with pytest.warns(UserWarning, match="column"):
        score = CARD.score(now)
    assert p.expected == pytest.approx(CARD.risk_of_score(score).mean())
    assert drift.beyond == pytest.approx(np.mean((score < -1) | (score > 5)))
    assert drift.levels["new"].sum() == 200
    text = str(drift)
    for words in ("200 rows, against 300", "age: 60 or more", "25.0% then, 50.0% now", "by chance"):
        assert words in text


def test_drift_without_a_reference_uses_what_the_card_records() -> None:
    drift = card_drift(CARD, rows(1, 100, shift=6.0))
    c = {name: i for i, name in enumerate(drift.columns["column"])}
    assert drift.columns["unseen"][c["sex"]] > 0
    assert math.isnan(drift.columns["unseen"][c["age"]])
    assert np.isnan(drift.columns["psi"]).all()
    assert drift.prevalence.reference == 0.25
    assert drift.prevalence.new is None
    assert "no reference table" in str(drift)
    with pytest.raises(InputError, match="go with reference"):
        card_drift(CARD, rows(1, 10), reference_y=[0, 1])
    empty = Scorecard.from_levels([], [1], [0.2, 0.6], Thresholds.of([0.5]))
    with pytest.raises(InputError, match="no rules"):
        card_drift(empty, {"x": [1]})


@pytest.mark.filterwarnings("ignore:column ")
@pytest.mark.parametrize("seed", range(20))
def test_weights_are_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    then, now = rows(seed, 60), rows(seed + 100, 40, shift=5)
    v, w = rng.integers(0, 3, 60), rng.integers(0, 3, 40)
    y = rng.random(40) < 0.4

    def repeat(table: dict[str, list[Any]], times: np.ndarray) -> dict[str, list[Any]]:
        return {
            k: [x for x, t in zip(col, times, strict=True) for _ in range(t)]
            for k, col in table.items()
        }

    one = card_drift(CARD, now, then, y=y, sample_weight=w, reference_weight=v)
    two = card_drift(CARD, repeat(now, w), repeat(then, v), y=np.repeat(y, w))
    for name in ("bins", "levels", "answers"):
        for key, column in getattr(one, name).items():
            other = getattr(two, name)[key]
            if key == "psi":  # half a row where a bin is empty: of effective rows, which are fewer
                continue
            if column.dtype.kind == "f":
                np.testing.assert_allclose(column, other, atol=1e-12)
            else:
                assert column.tolist() == other.tolist()
    for key in ("difference", "missing", "missing_reference", "unseen"):
        np.testing.assert_allclose(one.columns[key], two.columns[key])
    assert one.prevalence[:2] == pytest.approx(two.prevalence[:2])


@pytest.fixture(scope="module")
def fitted() -> tuple[Scorecard, dict[str, list[Any]], np.ndarray]:
    table = raw_table(0, 300)
    y = outcome(table, 0)
    model = RiskScoreClassifier(binner="auto", solver=SHORT_SEARCH, n_jobs=1)
    return model.fit(table, y).scorecard_, table, y


@pytest.mark.filterwarnings("ignore:column ")
@pytest.mark.parametrize("container", CONTAINERS)
def test_raw_tables_of_every_kind_are_evaluated_alike(container: str, fitted: Any) -> None:
    card, table, y = fitted
    strange, z = raw_table(3, 200, strange=True), outcome(raw_table(3, 200), 3)
    make = CONTAINERS[container]
    plain = evaluate_card(card, strange, z, reference=table, reference_y=y)
    found = evaluate_card(card, make(strange), z, reference=make(table), reference_y=y)
    assert str(found) == str(plain)
    risk = card.risk(strange)
    assert plain.measures.aunbc == aunbc(z, risk, card.thresholds)
    assert plain.measures.auroc == auroc(z, risk)
    ece = expected_calibration_error(z, risk, card.thresholds)
    assert plain.measures.expected_calibration_error == ece
    t = plain.to_table()
    assert t["n"].sum() == 200
    assert t["events"].sum() == z.sum()
    assert "observed / expected" in str(plain)


def test_other_thresholds_can_be_given() -> None:
    card = Scorecard.from_levels([Rule(PerUnit("x"), 1)], [2], [0.1, 0.6], Thresholds.of([0.5]))
    x, y = {"x": [0, 1, 2, 3]}, [0, 1, 0, 1]
    found = evaluate_card(card, x, y, thresholds="0.1:0.3:0.1")
    assert found.measures.aunbc == aunbc(y, card.risk(x), "0.1:0.3:0.1")
    assert "10.0%" in str(found)
    empty = Scorecard.from_levels([], [1], [0.2, 0.6], Thresholds.of([0.5]))
    assert evaluate_card(empty, {}, y).drift is None


@pytest.mark.filterwarnings("ignore:column ")
def test_sources_of_a_derived_column_are_columns() -> None:
    late = Reading(feature="late", sources=("a", "b"), combine="sum")
    kind = Reading(feature="kind", levels=(1, 2), saw_missing=True)
    card = Scorecard.from_levels(
        [Rule(Condition("late", ">=", 2), 1), Rule(Condition("kind", "==", 2), 1)],
        [1],
        [0.1, 0.6],
        Thresholds.of([0.5]),
        readings=[late, Reading(feature="a", special=(-9,), fill=0), kind],
    )
    then = {"a": [0, 1, 2, -9], "b": [0, 1, 1, 2], "kind": [1, 2, 1, 2]}
    now = {"a": [-9, -9, 5, 1], "b": [2, 0, 0, 0], "kind": [3, 2, 1, 1]}
    drift = card_drift(card, now, then)
    assert drift.columns["column"].tolist() == ["a", "b", "kind"]
    assert drift.columns["missing"].tolist() == [0.5, 0, 0]
    assert drift.columns["missing_reference"].tolist() == [0.25, 0, 0]
    assert drift.columns["unseen"].tolist() == [0.25, 0, 0.25]
    assert drift.columns["unseen_values"].tolist() == ["5", "", "3"]
    shares = dict(zip(drift.answers["answer"], drift.answers["new"], strict=True))
    assert shares == {
        "late: under 2": 0.5,
        "late: 2 or more": 0.5,
        "kind: 2": 0.25,
        "kind: 1 or any other": 0.75,
    }


# -- parts -----------------------------------------------------------------------------------------


def test_indices_of_two_tables() -> None:
    assert stability_index([50, 50], [40, 60]) == pytest.approx(0.0405, abs=1e-4)
    assert stability_index([10, 20, 0], [20, 40, 0]) == 0.0
    assert chance_index(10, (1000, 500)) == pytest.approx(0.0508, abs=1e-4)
    one, low, high = np.ones(4), np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4)
    assert standardised_difference(low, one, high, one) == pytest.approx(math.sqrt(2))


def test_edges_are_tenths_or_follow_a_common_value() -> None:
    assert _edges(np.arange(1.0, 21.0), np.ones(20)).tolist() == [3, 5, 7, 9, 11, 13, 15, 17, 19]
    common = np.concatenate([np.zeros(90), np.arange(1.0, 11.0)])
    assert _edges(common, np.ones(100)).tolist() == [1.0]


def test_groups_of_rows_are_enough() -> None:
    card = Scorecard([Rule(PerUnit("x"), 1)], [(1, 0.1), (2, 0.6)], Thresholds.of([0.5]))
    rows, events = np.array([90.0, 10, 5, 5]), np.array([False, True, False, True])
    found = evaluate_scores(card, [1, 1, 2, 2], events, rows, card.thresholds, effective_rows=110)
    assert [row.rate for row in found.levels] == [0.1, 0.5]
    then = ScoredRows(np.array([1, 2]), None, np.array([50.0, 50.0]), 100.0)
    now = ScoredRows(np.array([1, 2]), None, np.array([40.0, 60.0]), 100.0)
    assert compare_rows(card, now, then).score_psi == pytest.approx(0.0405, abs=1e-4)


def test_a_card_without_rules_scores_rows() -> None:
    card = Scorecard([], [(0, 0.2), (1, 0.6)], Thresholds.of([0.5]))
    assert score_rows(card, {}, 2).tolist() == [0, 0]


def test_calibration_in_words() -> None:
    found = Recalibration(30.0, 20.0, None, None, None, None, "no")
    assert calibration_lines(found)[0] == ["observed / expected", "1.500 (30 / 20)"]
