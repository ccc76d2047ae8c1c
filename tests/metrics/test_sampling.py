"""Weights for case-control samples and censored rows: identities, simulations, cards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from netbenefit import RiskScoreClassifier
from netbenefit.common.checks import InputError
from netbenefit.metrics.benefit import net_benefit
from netbenefit.metrics.curves import decision_curve
from netbenefit.metrics.sampling import case_control_weights, censoring_weights
from netbenefit.metrics.survival import TimeToEvent
from tests.helpers.cards import SHORT_SEARCH
from tests.helpers.full import FULL, more_cases

GRID = [0.1, 0.2, 0.3, 0.5]


def slow_weights(
    time: list[int], event: list[int], weight: list[float], horizon: float
) -> list[float]:
    """1 / G(t−) by its definition, row by row."""
    rows = list(zip(time, event, weight, strict=True))

    def staying(before: float) -> float:
        g = 1.0
        for c in sorted({t for t, e, _ in rows if e == 0 and t < before}):
            lost = sum(w for t, e, w in rows if t == c and e == 0)
            at_risk = sum(w for t, e, w in rows if t > c or (t == c and e == 0))
            g *= 1 - lost / at_risk
        return g

    found = []
    for t, e, w in rows:
        if t >= horizon and not (t == horizon and e):
            found.append(w / staying(horizon))
        else:
            found.append(w / staying(t) if e else 0.0)
    return found


def random_rows(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    n = int(rng.integers(2, 25))
    time, event = rng.integers(0, 8, n), rng.integers(0, 3, n)
    time[0], event[0] = 8, 0  # one row stays
    return time, event, rng.random(n) + 0.1


def test_censoring_weights_against_the_definition() -> None:
    rng = np.random.default_rng(0)
    for _ in range(400):
        time, event, weight = random_rows(rng)
        horizon = float(rng.choice([1, 2, 3.5, 5, 8]))
        y, found = censoring_weights(time, event, horizon, sample_weight=weight)
        slow = slow_weights(time.tolist(), event.tolist(), weight.tolist(), horizon)
        assert found == pytest.approx(slow, rel=1e-12)
        assert y.tolist() == ((event == 1) & (time <= horizon)).tolist()


def test_weighted_share_is_the_risk_and_weights_keep_their_sum() -> None:
    """IPCW with this tie rule is Kaplan–Meier (Aalen–Johansen), exactly."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        time, event, weight = random_rows(rng)
        outcome = TimeToEvent(time, event, horizon=float(rng.integers(1, 9)))
        y, found = censoring_weights(outcome, sample_weight=weight)
        assert found.sum() == pytest.approx(weight.sum(), rel=1e-12)
        share = found[y].sum() / found.sum()
        assert share == pytest.approx(outcome.risk(weight), abs=1e-12)


def test_within_the_groups_called_positive_it_is_the_decision_curve() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        n = 40
        time, event = rng.integers(1, 10, n), rng.integers(0, 3, n)
        risk, weight = rng.integers(0, 5, n) / 5, rng.random(n) + 0.1
        time[:10], risk[:10] = 10, np.arange(10) % 5 / 5  # every group is followed
        outcome = TimeToEvent(time, event, horizon=7)
        for p in (0.2, 0.4, 0.6, 0.8):
            table = decision_curve(outcome, risk, [p], sample_weight=weight)
            y, found = censoring_weights(outcome, sample_weight=weight, groups=risk >= p)
            by_weights = net_benefit(y, risk, [p], sample_weight=found)
            assert table["net_benefit"][0] == pytest.approx(by_weights[0], abs=1e-12)


def test_without_censoring_weights_are_one() -> None:
    rng = np.random.default_rng(3)
    time = rng.exponential(5, 200)
    y, weight = censoring_weights(time, rng.integers(1, 3, 200), horizon=4)
    assert (weight == 1).all()
    late = np.where(time > 4, 0, 1)  # censoring after the horizon does not matter
    assert (censoring_weights(time, late, horizon=4).sample_weight == 1).all()
    at_end = np.minimum(time, 4)  # nor does the end of the study at it
    again, weight = censoring_weights(at_end, late, horizon=4)
    assert (weight == 1).all()
    assert again.tolist() == (time <= 4).tolist()
    assert y.any()


def test_case_control_weights() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        n = int(rng.integers(2, 30))
        y = np.array([0, 1, *rng.integers(0, 2, n - 2)])
        start, prevalence = rng.random(n) + 0.1, rng.uniform(0.01, 0.99)
        weight = case_control_weights(y, prevalence, sample_weight=start)
        assert weight.sum() == pytest.approx(start.sum())
        assert weight[y == 1].sum() / weight.sum() == pytest.approx(prevalence)
        risk = rng.integers(0, 11, n) / 10
        by_weight = net_benefit(y, risk, GRID, sample_weight=weight)
        by_option = net_benefit(y, risk, GRID, sample_weight=start, prevalence=prevalence)
        assert by_weight == pytest.approx(by_option, abs=1e-12)
    y = np.array([0, 1, 1, 0])
    assert case_control_weights(y, 0.5).tolist() == [1, 1, 1, 1]


# -- the population behind the sample --------------------------------------------------------------


class Population:
    """Three binary predictors, exponential times of the event and of a competing one."""

    def __init__(self, n: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.X = self.rng.integers(0, 2, (n, 3))
        rate = 0.02 * np.exp(self.X @ [1.0, 0.7, 0.4])
        self.event_time = self.rng.exponential(1 / rate)
        self.other_time = self.rng.exponential(40, n)
        self.risk = 1 - np.exp(-5 * rate)  # any number will do
        first = np.minimum(self.event_time, self.other_time)
        self.end, self.code = first, np.where(self.event_time <= self.other_time, 1, 2)
        self.y = (self.code == 1) & (first <= 5)

    def censor(self) -> tuple[Any, Any]:
        lost = self.rng.uniform(1, 12, self.end.size)
        return np.minimum(self.end, lost), np.where(self.end <= lost, self.code, 0)


def spread(values: Any) -> Any:
    return np.std(values, axis=0, ddof=1) / math.sqrt(len(values))


@more_cases
def test_net_benefit_of_the_population_from_case_control_samples() -> None:
    people = Population(200_000, seed=5)
    truth = net_benefit(people.y, people.risk, GRID)
    cases, controls = np.flatnonzero(people.y), np.flatnonzero(~people.y)
    found, naive = [], []
    for _ in range(400 if FULL else 60):
        rows = np.concatenate([people.rng.choice(part, 400) for part in (cases, controls)])
        y, risk = people.y[rows], people.risk[rows]
        weight = case_control_weights(y, people.y.mean())
        found.append(net_benefit(y, risk, GRID, sample_weight=weight))
        naive.append(net_benefit(y, risk, GRID))
    assert (np.abs(np.mean(found, axis=0) - truth) <= 4 * spread(found) + 1e-9).all()
    assert (np.abs(np.mean(naive, axis=0) - truth) > 0.05).all()


@more_cases
def test_net_benefit_of_the_population_from_censored_samples() -> None:
    found, by_curve, naive, truths = [], [], [], []
    for seed in range(400 if FULL else 60):
        people = Population(1500, seed)
        outcome = TimeToEvent(*people.censor(), horizon=5)
        assert outcome.censored_early.mean() > 0.2
        y, weight = censoring_weights(outcome)
        assert (weight[outcome.censored_early] == 0).all()
        truths.append(net_benefit(people.y, people.risk, GRID))  # the same people, all seen
        found.append(net_benefit(y, people.risk, GRID, sample_weight=weight))
        by_curve.append(decision_curve(outcome, people.risk, GRID)["net_benefit"][:4])
        naive.append(net_benefit(y, people.risk, GRID))  # the censored taken for event-free
    for estimate in (found, by_curve):
        off = np.array(estimate) - truths
        assert (np.abs(off.mean(axis=0)) <= 4 * spread(off) + 1e-9).all()
    lost = np.array(naive) - truths
    assert (np.abs(lost.mean(axis=0))[:2] > 6 * spread(lost)[:2]).all()


# -- cards -----------------------------------------------------------------------------------------


def card() -> RiskScoreClassifier:
    return RiskScoreClassifier(binner=None, thresholds=GRID, solver=SHORT_SEARCH, n_jobs=1)


def test_a_card_from_cases_and_controls_gives_risks_of_the_population() -> None:
    people = Population(100_000, seed=6)
    sampled = np.concatenate(
        [people.rng.choice(np.flatnonzero(part), 600) for part in (people.y, ~people.y)]
    )
    X, y = people.X[sampled], people.y[sampled]
    weight = case_control_weights(y, people.y.mean())
    risk = card().fit(X, y, sample_weight=weight).predict_proba(people.X)[:, 1]
    naive = card().fit(X, y).predict_proba(people.X)[:, 1]
    assert abs(risk.mean() - people.y.mean()) < 0.03
    assert naive.mean() > people.y.mean() + 0.1
    gain = net_benefit(people.y, risk, GRID) - net_benefit(people.y, naive, GRID)
    assert (gain >= -1e-3).all()
    assert gain.max() > 0.01


def test_a_card_from_censored_rows_is_calibrated_at_the_horizon() -> None:
    people = Population(4000, seed=7)
    outcome = TimeToEvent(*people.censor(), horizon=5)
    y, weight = censoring_weights(outcome)
    model = card().fit(people.X, y, sample_weight=weight)
    assert abs(model.predict_proba(people.X)[:, 1].mean() - people.y.mean()) < 0.02
    naive = card().fit(people.X, y).predict_proba(people.X)[:, 1].mean()
    assert naive < people.y.mean() - 0.02


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: case_control_weights([1, 1], 0.2), r"y holds no non-events"),
        (lambda: case_control_weights([0, 1], 1.0), r"prevalence=1\.0 must lie strictly"),
        (lambda: censoring_weights([1, 2], [0, 1]), r"need time, event and horizon"),
        (
            lambda: censoring_weights(TimeToEvent([1], [1], 1), horizon=2.0),
            r"holds event and horizon already",
        ),
        (lambda: censoring_weights([1, 2], [1, 0], 3), r"no row is followed to the horizon 3"),
        (
            lambda: censoring_weights([1, 4], [0, 1], 3, groups=["a", "b"]),
            r"no row in the group .*'a'.* is followed",
        ),
        (lambda: censoring_weights([1, 4], [0, 1], 3, groups=["a"]), r"groups has shape \(1,\)"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
