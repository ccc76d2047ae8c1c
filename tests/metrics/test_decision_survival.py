"""Decision curves of censored outcomes: loops, dcurves, lifelines, and where dcurves is off."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import dcurves
import lifelines
import numpy as np
import pandas as pd
import pytest

from netbenefit.cards.scorecard import Rule, Scorecard
from netbenefit.cards.terms import Condition
from netbenefit.common.checks import InputError
from netbenefit.metrics.curves import decision_curve, risk_breakpoints
from netbenefit.metrics.survival import TimeToEvent
from netbenefit.metrics.thresholds import Thresholds
from tests.metrics.test_survival import slow_risk

COLUMNS = [
    "model",
    "threshold",
    "n",
    "prevalence",
    "harm",
    "test_pos_rate",
    "tp_rate",
    "fp_rate",
    "net_benefit",
    "net_intervention_avoided",
]
HUNDREDTHS = [i / 100 for i in range(1, 100)]
THIRDS = HUNDREDTHS[::3]


@pytest.fixture(scope="module")
def surv() -> pd.DataFrame:
    return pd.read_csv(Path(dcurves.data) / "df_surv.csv")


def theirs(data: pd.DataFrame, models: list[str], thresholds: Any, **options: Any) -> pd.DataFrame:
    settings = {"time": 1.5, "time_to_outcome_col": "ttcancer", **options}
    table = dcurves.dca(data, "cancer", models, thresholds=list(thresholds), **settings)
    return table.replace({"model": {"all": "Treat All", "none": "Treat None"}})


def ours(data: pd.DataFrame, models: list[str], thresholds: Any, **options: Any) -> pd.DataFrame:
    outcome = TimeToEvent(data["ttcancer"], data["cancer"], horizon=1.5)
    risks = {name: data[name] for name in models}
    return pd.DataFrame(decision_curve(outcome, risks, thresholds, **options))


# -- loops -----------------------------------------------------------------------------------------


def test_every_cell_against_loops() -> None:
    """Kaplan–Meier and Aalen–Johansen in fractions, among the positives at each threshold."""
    rng = np.random.default_rng(0)
    unknown = 0
    for trial in range(300):
        n = int(rng.integers(3, 16))
        time, weight = rng.integers(0, 7, n), rng.integers(0, 4, n)
        event = rng.integers(0, 2 + trial % 2, n)
        time[0], weight[0] = 7, 1  # one row is followed to the horizon
        risk = rng.integers(0, 6, n) / 5
        horizon, harm = float(rng.integers(1, 7)), 0.01
        outcome = TimeToEvent(time, event, horizon)
        table = decision_curve(
            outcome, {"a": risk}, [0, 0.2, 0.5, 0.8], sample_weight=weight, harm=harm
        )
        rows = list(zip(time.tolist(), event.tolist(), weight.tolist(), strict=True))
        share = slow_risk(*map(list, zip(*rows, strict=True)), horizon, 1)
        assert share is not None
        assert table["prevalence"] == pytest.approx(float(share), abs=1e-12)
        for i, p in enumerate([0, 0.2, 0.5, 0.8]):
            positive = [row for row, r in zip(rows, risk, strict=True) if r >= p and row[2]]
            size = sum(w for *_, w in positive) / weight.sum()
            assert table["test_pos_rate"][i] == pytest.approx(size, abs=1e-12)
            found = slow_risk(*map(list, zip(*positive, strict=True)), horizon, 1) if size else 0
            if found is None:
                unknown += 1
                cells = ("tp_rate", "fp_rate", "net_benefit", "net_intervention_avoided")
                assert all(math.isnan(table[cell][i]) for cell in cells)
                continue
            tp, fp = size * float(found), size * (1 - float(found))
            assert table["tp_rate"][i] == pytest.approx(tp, abs=1e-12)
            assert table["fp_rate"][i] == pytest.approx(fp, abs=1e-12)
            benefit = tp - fp * p / (1 - p) - harm
            assert table["net_benefit"][i] == pytest.approx(benefit, abs=1e-12)
    assert unknown > 20


def test_without_censoring_it_is_the_binary_curve() -> None:
    rng = np.random.default_rng(1)
    for codes in (2, 3):
        time, event = rng.integers(1, 9, 200), rng.integers(1, codes, 200)
        risk, weight = rng.integers(0, 21, 200) / 20, rng.random(200)
        over_time = decision_curve(
            TimeToEvent(time, event, 4), risk, sample_weight=weight, standardised=True, per=100
        )
        plain = decision_curve(
            (event == 1) & (time <= 4), risk, sample_weight=weight, standardised=True, per=100
        )
        for name in plain:
            if name != "model":
                assert over_time[name] == pytest.approx(plain[name], abs=1e-11, nan_ok=True)


# -- dcurves and lifelines -------------------------------------------------------------------------


def test_matches_dcurves_on_its_survival_data(surv: pd.DataFrame) -> None:
    models, harm = ["cancerpredmarker", "famhistory"], {"famhistory": 0.02}
    mine = ours(surv, models, THIRDS, harm=harm)
    other = theirs(surv, models, THIRDS, harm=harm)
    assert list(mine.columns) == COLUMNS
    unknown = mine["net_benefit"].isna()
    assert (other.loc[unknown, "net_benefit"].isna()).all()
    assert 0 < unknown.sum() < 20
    # dcurves also drops what is known: all of a group had events before the horizon
    shared = other["net_benefit"].notna()
    pd.testing.assert_frame_equal(
        mine[shared], other[shared], check_dtype=False, rtol=1e-10, atol=1e-12
    )


def test_weights_match_dcurves_on_repeated_rows(surv: pd.DataFrame) -> None:
    weight = np.random.default_rng(2).integers(0, 4, len(surv))
    grid = HUNDREDTHS[4:45:8]
    mine = ours(surv, ["cancerpredmarker"], grid, sample_weight=weight)
    other = theirs(surv.loc[surv.index.repeat(weight)], ["cancerpredmarker"], grid)
    pd.testing.assert_frame_equal(
        mine, other.reset_index(drop=True), check_dtype=False, rtol=1e-10, atol=1e-12
    )


@pytest.mark.filterwarnings("ignore")  # lifelines: standard errors of real weights
def test_real_weights_and_competing_risks_against_lifelines(surv: pd.DataFrame) -> None:
    """dcurves knows neither; lifelines' estimators among the positives do."""
    weight = np.random.default_rng(3).random(len(surv)) + 0.5
    event = (
        surv["cancer_cr"]
        .map({"censor": 0, "diagnosed with cancer": 1, "dead other causes": 2})
        .to_numpy()
    )
    time, risk = surv["ttcancer"].to_numpy(), surv["cancerpredmarker"].to_numpy()
    assert len(np.unique(time)) == len(time)  # lifelines would move ties
    grid = [0.02, 0.1, 0.2, 0.35]
    for codes in (event, (event == 1) * 1):
        table = decision_curve(TimeToEvent(time, codes, 1.5), risk, grid, sample_weight=weight)
        for i, p in enumerate(grid):
            rows = risk >= p
            if codes is event:
                fitter: Any = lifelines.AalenJohansenFitter(calculate_variance=False)
                fitter.fit(time[rows], codes[rows], 1, weights=weight[rows])
                inside = float(np.ravel(fitter.predict(1.5))[0])
            else:
                fitter = lifelines.KaplanMeierFitter()
                fitter.fit(time[rows], codes[rows], weights=weight[rows])
                inside = 1 - float(fitter.predict(1.5))
            share = weight[rows].sum() / weight.sum()
            assert table["tp_rate"][i] == pytest.approx(share * inside, abs=1e-8)
            assert table["fp_rate"][i] == pytest.approx(share * (1 - inside), abs=1e-8)


# -- where dcurves differs -------------------------------------------------------------------------


def test_dcurves_takes_survival_for_risk(surv: pd.DataFrame) -> None:
    """models_to_prob predicts S(t) by Cox's model and treats it as the risk; it is 1 − S(t)."""
    cox = lifelines.CoxPHFitter()
    cox.fit(surv[["ttcancer", "cancer", "age"]], "ttcancer", "cancer")
    survival = cox.predict_survival_function(surv[["age"]], times=1.5).to_numpy()[0]
    grid = [0.1, 0.2, 0.3]
    other = theirs(surv, ["age"], grid, models_to_prob=["age"])["net_benefit"][:3]
    wrong = ours(surv.assign(age=survival), ["age"], grid)["net_benefit"][:3]
    right = ours(surv.assign(age=1 - survival), ["age"], grid)["net_benefit"][:3]
    assert other.to_numpy() == pytest.approx(wrong.to_numpy(), abs=1e-10)
    assert (right.to_numpy() > wrong.to_numpy()).all()
    # The older have the higher risk, and dcurves calls the younger positive.
    assert cox.params_["age"] > 0
    assert np.corrcoef(surv["age"], survival)[0, 1] < 0


def test_dcurves_drops_groups_whose_events_all_came_before_the_horizon() -> None:
    data = pd.DataFrame(
        {"ttcancer": [1.0, 1.2, 2.0, 3.0], "cancer": [1, 1, 0, 0], "a": [0.9, 0.8, 0.1, 0.2]}
    )
    other, mine = theirs(data, ["a"], [0.5]), ours(data, ["a"], [0.5])
    assert math.isnan(other["net_benefit"][0])
    assert mine["net_benefit"][0] == 0.5  # both positives had the event: the risk is 1


def test_dcurves_fails_beyond_the_last_time(surv: pd.DataFrame) -> None:
    with pytest.raises(TypeError):
        theirs(surv, ["cancerpredmarker"], [0.1], time=99)
    outcome = TimeToEvent(surv["ttcancer"], surv["cancer"], 99)
    with pytest.raises(InputError, match=r"no row is followed to the horizon 99 .*earlier one"):
        decision_curve(outcome, surv["cancerpredmarker"], [0.1])


def test_everybody_is_positive_at_threshold_zero_but_not_in_dcurves(surv: pd.DataFrame) -> None:
    other, mine = theirs(surv, ["famhistory"], [0, 0.1]), ours(surv, ["famhistory"], [0, 0.1])
    assert mine["test_pos_rate"][0] == 1.0
    assert mine["net_benefit"][0] == pytest.approx(mine["prevalence"][0], abs=1e-15)
    assert other["test_pos_rate"].iloc[0] < 0.2


def test_dcurves_knows_no_competing_events(surv: pd.DataFrame) -> None:
    """It censors them, and so counts people who died as if they could still fall ill."""
    event = surv["cancer_cr"].map({"censor": 0, "diagnosed with cancer": 1, "dead other causes": 2})
    mine = decision_curve(
        TimeToEvent(surv["ttcancer"], event, 1.5), surv["cancerpredmarker"], [0.05, 0.1, 0.2]
    )
    other = theirs(surv, ["cancerpredmarker"], [0.05, 0.1, 0.2])
    assert (other["prevalence"] > mine["prevalence"] + 0.005).all()
    assert (other["tp_rate"][:3] > mine["tp_rate"][:3]).all()


# -- standardised, per so many, breakpoints --------------------------------------------------------


def test_standardised_and_per() -> None:
    y, risk = [0, 0, 0, 1], [0.2, 0.6, 0.1, 0.9]
    one = decision_curve(y, risk, [0.1, 0.5], standardised=True)
    assert list(one) == [*COLUMNS, "standardised_net_benefit"]
    assert one["standardised_net_benefit"] == pytest.approx(one["net_benefit"] / 0.25)
    many = decision_curve(y, risk, [0.1, 0.5], per=100)
    assert many["net_intervention_avoided"] == pytest.approx(100 * one["net_intervention_avoided"])
    none = decision_curve([0, 0], [0.1, 0.2], [0.1], standardised=True)
    assert np.isnan(none["standardised_net_benefit"]).all()


def test_breakpoints_miss_no_decision() -> None:
    """At each risk as threshold, just its rows and those above are positive; a hair more, not."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        risk = rng.choice([rng.random(6), rng.integers(0, 11, 6) / 10, [1 / 3] * 3 + [0.7] * 3])
        risk = np.concatenate([risk, np.nextafter(risk, 0)]).clip(0, 1)
        y = rng.integers(0, 2, risk.size)
        inside = risk[(risk > 1e-9) & (risk < 1)]
        if not inside.size:
            continue
        points = risk_breakpoints(risk)
        table = decision_curve(y, risk, points)
        rates = dict(zip(points.given, table["test_pos_rate"], strict=False))
        for q in inside:
            below = max(p for p in rates if p <= q)
            assert q - below < 1e-14
            assert rates[below] >= np.mean(risk >= q) - 1e-12
            assert rates[below] <= np.mean(risk >= q - 1e-14) + 1e-12


def test_breakpoints_of_a_card_and_of_several_models() -> None:
    card = Scorecard.from_levels(
        rules=[Rule(Condition("age", ">=", 52), 2)],
        cutoffs=[2, 4],
        risks=[0.04, 0.3, None],
        thresholds=Thresholds.of([0.1, 0.5]),
        score_range=(0, 2),
    )
    assert risk_breakpoints(card).given.tolist() == [0.04, 0.3]
    assert risk_breakpoints({"card": card, "b": [0.5]}).given.tolist() == [0.04, 0.3, 0.5]
    pooled = risk_breakpoints({"a": [0.1, 0.4, 1.0], "b": [0.4, 0.0]})
    assert pooled.given.tolist() == [0.0, 0.1, 0.4]
    limited = risk_breakpoints([0.1, 0.4, 0.9], 0.05, 0.5, weights="length")
    assert limited.given.tolist() == [0.05, 0.1, 0.4, 0.5]
    assert limited.end == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: risk_breakpoints([0.1], 0.5, 0.2), r"low=0\.5 and high=0\.2 must satisfy"),
        (lambda: risk_breakpoints([0.0, 1.0]), r"no risk lies between"),
        (lambda: risk_breakpoints([1.5]), r"must lie in \[0, 1\]"),
        (lambda: risk_breakpoints(["x"]), r"must be numbers"),
        (
            lambda: decision_curve(TimeToEvent([1, 2], [0, 1], 1), [0.1, 0.2], prevalence=0.1),
            r"prevalence goes with case-control",
        ),
        (
            lambda: decision_curve(TimeToEvent([1, 2], [0, 1], 1), [0.1]),
            r"risks has shape \(1,\), but there are 2 rows",
        ),
        (lambda: decision_curve([0, 1], [0.1, 0.2], per=0), r"per=0 must be a positive number"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
