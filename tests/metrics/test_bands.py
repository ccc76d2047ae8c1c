"""Bands and differences: slow twins, known standard errors, coverage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from netbenefit.common.checks import InputError
from netbenefit.metrics import bands as drawing
from netbenefit.metrics.bands import bands_of, decision_bands, decision_differences
from netbenefit.metrics.curves import decision_curve, make_study, measured
from netbenefit.metrics.survival import TimeToEvent
from netbenefit.metrics.thresholds import as_thresholds
from tests.helpers.full import FULL, more_cases

GRID = [0.1, 0.25, 0.5]
BANDS = ["standard_error", "lower", "upper", "simultaneous_lower", "simultaneous_upper"]


class Rows:
    """Random rows with many ties; binary, censored, and with competing events."""

    def __init__(self, rng: np.random.Generator, n: int, kind: int) -> None:
        self.risks = {"a": rng.integers(0, 9, n) / 8, "b": rng.integers(0, 21, n) / 20}
        self.weight = rng.choice([0.5, 1.0, 2.5, 0.0], n)
        self.weight[:2] = 1.0
        if kind == 0:
            self.y: Any = rng.integers(0, 2, n) == 1
            self.y[:2] = [False, True]
        else:
            time, event = rng.integers(0, 7, n), rng.integers(0, kind + 1, n)
            time[0] = 7
            self.y = TimeToEvent(time, event, horizon=5)


# -- rates -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "prevalence"), [(0, None), (0, 0.3), (1, None), (2, None)])
def test_rates_of_many_weights_are_those_of_single_curves(
    kind: int, prevalence: float | None
) -> None:
    rng = np.random.default_rng(kind)
    compared = 0
    for _ in range(25):
        rows = Rows(rng, int(rng.integers(4, 25)), kind)
        study = make_study(rows.y, rows.risks, as_thresholds(GRID), prevalence=prevalence)
        weights = rng.choice([0.0, 1.0, 1.7, 2.0], (rows.weight.size, 4))
        weights[:2] = 1.0
        many = measured(study, study.rates(weights), "net_benefit")[:, 1:]
        for i, weight in enumerate(weights.T):
            one = decision_curve(
                rows.y, rows.risks, GRID, sample_weight=weight, prevalence=prevalence
            )["net_benefit"]
            known = ~np.isnan(one)
            compared += int(known.sum())
            assert many[..., i].ravel()[known] == pytest.approx(one[known], abs=1e-12)
    assert compared > 700


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_merging_rows_changes_nothing(kind: int) -> None:
    rng = np.random.default_rng(10 + kind)
    for _ in range(40):
        n = int(rng.integers(4, 200))
        rows = Rows(rng, n, kind)
        strata = rng.integers(0, 3, n)
        study = make_study(
            rows.y, rows.risks, as_thresholds(GRID), sample_weight=rows.weight, strata=strata
        )
        merged = study.merged()
        assert merged.count.sum() == n
        assert (merged.weight * merged.count).sum() == pytest.approx(rows.weight.sum())
        for s in range(3):
            assert merged.count[merged.stratum == s].sum() == (study.stratum == s).sum()
        one, other = study.rates(), merged.rates()
        for a, b in zip(one, other, strict=True):
            assert a == pytest.approx(b, abs=1e-12)
    assert merged.weight.size < n or n < 20


def test_a_curve_that_ends_early_is_carried_forward_in_draws() -> None:
    outcome = TimeToEvent([1, 2, 6], [1, 0, 0], horizon=5)
    study = make_study(outcome, [0.9, 0.9, 0.1], as_thresholds([0.5]))
    assert study.missing[0].tolist() == [False, True]
    assert study.rates().tp[0, 1, 0] == pytest.approx(2 / 3 * 1 / 2)


# -- draws -----------------------------------------------------------------------------------------


def all_draws(rows: Rows, n_resamples: int, seed: int, **options: Any) -> Any:
    study = make_study(rows.y, rows.risks, as_thresholds(GRID), **options)
    return drawing.draw(
        study, n_resamples, seed, lambda rates: measured(study, rates, "net_benefit")[:, 1:]
    )


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_bands_follow_from_the_draws(kind: int) -> None:
    rows = Rows(np.random.default_rng(20 + kind), 60, kind)
    table = decision_bands(
        rows.y,
        rows.risks,
        GRID,
        sample_weight=rows.weight,
        n_resamples=99,
        level=0.9,
        random_state=7,
    )
    draws = all_draws(rows, 99, 7, sample_weight=rows.weight)
    value = table["net_benefit"].reshape(4, 3)
    for s in range(4):
        known = [i for i in range(3) if not math.isnan(value[s, i])]
        error = {i: math.sqrt(np.var(draws[s, i]) * 99 / 98) for i in known}
        largest = [
            max(
                (abs(draws[s, i, b] - value[s, i]) / error[i] for i in known if error[i] > 1e-12),
                default=0.0,
            )
            for b in range(99)
        ]
        c = np.quantile(largest, 0.9)
        for i in range(3):
            row = 3 * s + i
            if i not in known:
                assert all(math.isnan(table[name][row]) for name in BANDS)
                continue
            limits = np.quantile(draws[s, i], [0.05, 0.95])
            expected = [error[i], *limits, value[s, i] - c * error[i], value[s, i] + c * error[i]]
            assert [table[name][row] for name in BANDS] == pytest.approx(expected, abs=1e-12)


def test_plain_columns_are_those_of_the_curve() -> None:
    rows = Rows(np.random.default_rng(3), 80, 2)
    options: dict[str, Any] = {"sample_weight": rows.weight, "harm": 0.01, "per": 100}
    plain = decision_curve(rows.y, rows.risks, GRID, standardised=True, **options)
    for measure in ("net_benefit", "standardised_net_benefit", "net_intervention_avoided"):
        table = decision_bands(rows.y, rows.risks, GRID, measure=measure, n_resamples=20, **options)
        assert set(table["band_of"]) == {measure}
        for name in plain:
            if name in table and name != "model":
                assert table[name] == pytest.approx(plain[name], nan_ok=True)
        known = ~np.isnan(table[measure]) & (table["standard_error"] > 1e-9)
        assert (table["simultaneous_lower"] < table[measure])[known].all()
    avoided = decision_bands(rows.y, rows.risks, [0, 0.5], measure=measure, n_resamples=20)
    assert np.isnan(avoided["lower"][avoided["threshold"] == 0]).all()


def test_same_seed_same_bands_and_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows(np.random.default_rng(4), 100, 2)
    strata = np.arange(100) % 3
    one = all_draws(rows, 50, 5, strata=strata)
    assert np.array_equal(one, all_draws(rows, 50, 5, strata=strata))
    assert not np.array_equal(one, all_draws(rows, 50, 6, strata=strata))
    monkeypatch.setattr(drawing, "_AT_ONCE", 700)
    assert one == pytest.approx(all_draws(rows, 50, 5, strata=strata), abs=1e-12)


def test_order_of_rows_and_names_of_strata_do_not_change_the_law() -> None:
    """Counts of merged units are the counts of rows drawn with replacement."""
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    risk = np.array([0.1, 0.1, 0.9, 0.9, 0.9, 0.9, 0.1, 0.1])
    study = make_study(y, risk, as_thresholds([0.5])).merged()
    assert study.weight.size == 4
    drawn = drawing._Source(study, 0).weights(4000)
    assert (drawn.sum(axis=0) == 8).all()
    assert drawn.mean(axis=1) == pytest.approx(study.count, abs=0.12)
    share = study.count / 8
    assert drawn.var(axis=1) == pytest.approx(8 * share * (1 - share), rel=0.1)


def test_strata_keep_their_sizes_and_cases_stay_apart_from_controls() -> None:
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 90)
    risk = rng.integers(0, 5, 90) / 4
    grid = as_thresholds(GRID)
    centre = np.repeat(["x", "y", "z"], 30)
    by_centre = make_study(y, risk, grid, strata=centre).merged()
    drawn = drawing._Source(by_centre, 1).weights(50)
    for s in range(3):
        assert (drawn[by_centre.stratum == s].sum(axis=0) == 30).all()
    sampled = make_study(y, risk, grid, prevalence=0.2).merged()
    drawn = drawing._Source(sampled, 1).weights(50)
    assert (drawn[sampled.outcome.code == 1].sum(axis=0) == y.sum()).all()
    table = decision_bands(y, risk, GRID, prevalence=0.2, n_resamples=50)
    everybody = table["model"] == "Treat All"
    assert (table["standard_error"][everybody] < 1e-12).all()  # the prevalence is given
    assert (table["standard_error"][~everybody & (table["model"] == "model")] > 0.01).all()


def test_rows_keep_their_weights_and_rows_without_weight_are_drawn_too() -> None:
    weight = [0.0] * 30 + [2.0, 3.0]
    table = decision_bands(
        [0] * 30 + [0, 1], [0.6] * 32, [0.5], sample_weight=weight, n_resamples=300
    )
    assert np.isfinite(table["lower"]).all()  # draws without any weight are drawn anew
    assert table["lower"][0] == -1.0
    assert table["upper"][0] == 1.0


def test_resamples_without_events_have_no_standardised_benefit_and_are_left_out() -> None:
    y, risk = [0] * 18 + [1] * 2, [0.1] * 10 + [0.6] * 10
    options: dict[str, Any] = {"n_resamples": 400, "measure": "standardised_net_benefit"}
    table = decision_bands(y, risk, [0.05, 0.2], **options)
    assert np.isfinite(table["lower"]).all()
    study = make_study(y, risk, as_thresholds([0.05, 0.2]))
    draws = drawing.draw(
        study, 400, 0, lambda rates: measured(study, rates, "standardised_net_benefit")[:, 1:]
    )
    kept = draws[..., ~np.isnan(draws[0, 0])]
    assert 250 < kept.shape[-1] < 400
    assert table["lower"].reshape(3, 2) == pytest.approx(np.quantile(kept, 0.025, axis=-1))
    with pytest.raises(InputError, match="too few events"):
        bands_of(np.ones((1, 1)), np.full((1, 1, 9), np.nan), 0.9)


# -- known answers ---------------------------------------------------------------------------------


def test_standard_error_of_net_benefit_is_the_known_one() -> None:
    rng = np.random.default_rng(7)
    y, risk = rng.random(800) < 0.3, rng.integers(0, 11, 800) / 10
    table = decision_bands(y, risk, GRID, n_resamples=4000)
    for i, p in enumerate(GRID):
        worth = np.where(risk >= p, np.where(y, 1.0, -p / (1 - p)), 0.0)
        error = worth.std() / math.sqrt(800)
        assert table["standard_error"][i] == pytest.approx(error, rel=0.05)
        assert table["upper"][i] - table["lower"][i] == pytest.approx(2 * 1.96 * error, rel=0.08)


def test_standard_error_of_the_risk_is_greenwoods() -> None:
    rng = np.random.default_rng(8)
    n = 600
    life, lost = rng.exponential(6, n), rng.exponential(8, n)
    time, event = np.minimum(life, lost).round(1), life <= lost
    table = decision_bands(TimeToEvent(time, event, 5), np.full(n, 0.5), [0.5], n_resamples=2000)
    survival, total = 1.0, 0.0
    for t in np.unique(time[event & (time <= 5)]):
        at_risk, ended = (time >= t).sum(), (event & (time == t)).sum()
        survival *= 1 - ended / at_risk
        total += ended / (at_risk * (at_risk - ended))
    assert table["tp_rate"][0] == pytest.approx(1 - survival)
    # net benefit at 1/2 of treating all is 2 · risk − 1
    assert table["standard_error"][0] == pytest.approx(2 * survival * math.sqrt(total), rel=0.06)


def test_simultaneous_bands_hold_the_share_of_curves_that_they_promise() -> None:
    rng = np.random.default_rng(9)
    rows = Rows(rng, 300, 0)
    grid = [i / 20 for i in range(1, 19)]
    study = make_study(rows.y, rows.risks, as_thresholds(grid))
    draws = drawing.draw(study, 500, 3, lambda rates: measured(study, rates, "net_benefit")[:, 1:])
    value = measured(study, study.rates(), "net_benefit")[:, 1:, 0]
    bands = bands_of(value, draws, 0.9)
    low, high = bands["simultaneous_lower"][..., None], bands["simultaneous_upper"][..., None]
    inside = ((draws >= low - 1e-12) & (draws <= high + 1e-12)).all(axis=1).mean(axis=1)
    assert inside[:2] == pytest.approx([0.9] * 2, abs=0.003)
    pointwise = ((draws >= bands["lower"][..., None]) & (draws <= bands["upper"][..., None])).all(
        axis=1
    )
    assert (pointwise.mean(axis=1)[:2] < 0.85).all()
    one = bands_of(value[:, :1], draws[:, :1], 0.9)  # a single threshold: nearly the same
    assert one["simultaneous_upper"][0, 0] == pytest.approx(one["upper"][0, 0], abs=0.01)


@more_cases
@pytest.mark.parametrize("kind", [0, 1])
def test_coverage(kind: int) -> None:
    """The truth of a simulated population lies in 95% of pointwise and of simultaneous bands."""
    rng = np.random.default_rng(30 + kind)
    trials, n, horizon = (600 if FULL else 60), 400, 5.0
    levels = np.array([0.1, 0.3, 0.5, 0.7])
    grid = [0.05, 0.2, 0.4, 0.6]
    truth = np.array(
        [np.mean(np.where(levels >= p, levels - (1 - levels) * p / (1 - p), 0)) for p in grid]
    )
    point, whole = [], []
    for trial in range(trials):
        risk = rng.choice(levels, n)
        if kind == 0:
            y: Any = rng.random(n) < risk
        else:
            life = rng.exponential(1 / (-np.log(1 - risk) / horizon))
            lost = rng.uniform(2, 15, n)
            y = TimeToEvent(np.minimum(life, lost), life <= lost, horizon)
        table = decision_bands(y, risk, grid, n_resamples=300, random_state=trial)
        part = slice(0, 4)
        point.append((table["lower"][part] <= truth) & (truth <= table["upper"][part]))
        low, high = table["simultaneous_lower"][part], table["simultaneous_upper"][part]
        whole.append(bool(((low <= truth) & (truth <= high)).all()))
    slack = 3.5 * math.sqrt(0.05 * 0.95 / trials) + 0.01
    assert abs(np.mean(whole) - 0.95) < slack
    assert abs(np.mean(point) - 0.95) < slack
    assert np.mean(np.all(point, axis=1)) < np.mean(whole)


# -- differences -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [0, 2])
def test_differences_come_from_the_same_draws(kind: int) -> None:
    rows = Rows(np.random.default_rng(40 + kind), 80, kind)
    options: dict[str, Any] = {"n_resamples": 60, "random_state": 2}
    draws = all_draws(rows, 60, 2)
    value = decision_curve(rows.y, rows.risks, GRID)["net_benefit"].reshape(4, 3)
    table = decision_differences(rows.y, rows.risks, GRID, reference="b", **options)
    assert table["model"][::3].tolist() == ["a", "Treat All", "Treat None"]
    assert set(table["reference"]) == {"b"}
    for place, s in enumerate([0, 2, 3]):
        expected = bands_of((value[s] - value[1])[None], (draws[s] - draws[1])[None], 0.95)
        rows_of = slice(3 * place, 3 * place + 3)
        assert table["difference"][rows_of] == pytest.approx(value[s] - value[1], nan_ok=True)
        for name in BANDS:
            assert table[name][rows_of] == pytest.approx(expected[name][0], abs=1e-12, nan_ok=True)


def test_a_model_and_its_copy_do_not_differ() -> None:
    rows = Rows(np.random.default_rng(41), 80, 1)
    risks = {"one": rows.risks["b"], "two": rows.risks["b"]}
    table = decision_differences(rows.y, risks, [0.05, 0.1], n_resamples=40)
    copy = table["model"] == "two"
    for name in ("difference", *BANDS):
        assert (table[name][copy] == 0).all()


def test_pairing_narrows_the_band() -> None:
    rng = np.random.default_rng(42)
    y = rng.random(500) < 0.4
    first = np.clip(0.4 + 0.3 * (y - 0.4) + rng.normal(0, 0.1, 500), 0, 1)
    second = np.clip(first + rng.normal(0, 0.02, 500), 0, 1)
    paired = decision_differences(y, {"a": first, "b": second}, GRID, n_resamples=200)
    alone = decision_bands(y, {"a": first, "b": second}, GRID, n_resamples=200)
    apart = np.hypot(alone["standard_error"][:3], alone["standard_error"][3:6])
    assert (paired["standard_error"][:3] < 0.6 * apart).all()


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: decision_bands([0, 1], [0, 1], n_resamples=1), r"n_resamples=1 must be"),
        (lambda: decision_bands([0, 1], [0, 1], n_resamples=10.5), r"n_resamples=10\.5"),
        (lambda: decision_bands([0, 1], [0, 1], level=95), r"level=95 must lie strictly"),
        (lambda: decision_bands([0, 1], [0, 1], random_state=-1), r"random_state=-1"),
        (lambda: decision_bands([0, 1], [0, 1], random_state=None), r"random_state=None"),
        (lambda: decision_bands([0, 1], [0, 1], measure="x"), r"measure='x' is not known"),
        (lambda: decision_bands([0, 1], [0, 1], strata=[1]), r"strata has shape \(1,\)"),
        (
            lambda: decision_differences([0, 1], {"a": [0, 1]}, reference="b"),
            r"reference='b' is not one of the models. Use one of 'a', 'Treat All'",
        ),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
