"""The slow logistic link against scikit-learn, against its own definition, and the quick one."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from netbenefit.kernels import logistic, reference
from netbenefit.kernels.reference import SlowLink
from netbenefit.patterns import PatternTable
from netbenefit.problem import Problem
from netbenefit.thresholds import Thresholds
from tests.strategies import points_of, problems

Rows = tuple[list[int], list[float], list[float]]

CASES: dict[str, Rows] = {
    "ties": ([2, 0, 1, 2, 0], [3, 1, 2, 1, 0], [0, 3, 2, 1, 2]),
    "one score": ([4, 4], [1, 2], [2, 2]),
    "falling": ([0, 1, 5], [3, 1, 0], [1, 3, 2]),
    "no trend": ([0, 1, 2], [1, 2, 1], [1, 2, 1]),
    "separable": ([0, 1, 5], [0, 0, 4], [4, 3, 0]),
    "separable, a gap": ([0, -2], [13, 0], [0, 33]),
    "separable, uneven": ([16, 13, 4], [2635.5, 0, 0], [59.75, 34.9, 71.9]),
    "separable, many rows": ([0, 1, 50, 51], [0, 0, 400_000, 1], [500_000, 300, 0, 0]),
    "far away": ([0, 1, 1000], [1, 0, 1], [10**6, 100, 0]),
    "huge scores": ([10**9, 10**9 + 7, 2 * 10**9], [1, 5, 7], [5, 2, 1]),
    "negative scores": ([-9, -8, -3, 4], [1, 0, 5, 2], [7, 3, 2, 1]),
    "real weights": ([0, 1, 2, 2], [0.37, 1.5, 2.25, 0.1], [2.5, 1.25, 0.75, 0.0]),
    "rare events": ([0, 1, 2, 3], [1, 2, 1, 2], [90_000, 9000, 900, 90]),
}


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    """Scores with masses of events and others, both of them present."""
    n = draw(st.integers(1, 8))
    score = draw(st.sampled_from([st.integers(-3, 5), st.integers(-(10**9), 10**9)]))
    mass = st.integers(0, 40) if draw(st.booleans()) else st.floats(0, 9).map(lambda v: round(v, 3))
    scores, a, b = (
        draw(st.lists(kind, min_size=n, max_size=n))
        for kind in (score, mass.map(float), mass.map(float))
    )
    a[0], b[-1] = a[0] + 1, b[-1] + 1
    return scores, a, b


def gradient(link: SlowLink, scores: list[int], a: list[float], b: list[float]) -> Any:
    """Derivatives of the penalised likelihood by intercept and slope (a standard deviation)."""
    s, events, others = np.array(scores, dtype=np.float64), np.array(a), np.array(b)
    n = events + others
    mean = float(n @ s) / n.sum()
    spread = math.sqrt(float(n @ (s - mean) ** 2) / n.sum())
    q = np.array([link.risk(v) for v in scores])
    miss = events - n * q
    beta = link.slope * spread
    pull = float(miss @ (s - mean)) / (spread or 1.0) - reference.RIDGE * beta
    return float(miss.sum()) / n.sum(), pull / n.sum(), beta


@settings(max_examples=200)
@given(rows())
def test_the_slow_link_is_at_the_top(case: Rows) -> None:
    by_level, by_slope, beta = gradient(reference.logistic_link(*case), *case)
    assert abs(by_level) < 1e-9
    assert by_slope < 1e-9  # a smaller slope than 0 may be better, but a larger one is not
    assert beta == 0.0 or abs(by_slope) < 1e-9


def sklearn_link(scores: list[int], a: list[float], b: list[float]) -> tuple[float, float]:
    """Intercept and slope by scikit-learn, on the standardised score."""
    s, events, others = np.array(scores, dtype=np.float64), np.array(a), np.array(b)
    n = events + others
    mean = float(n @ s) / n.sum()
    spread = math.sqrt(float(n @ (s - mean) ** 2) / n.sum())
    x = np.tile((s - mean) / spread, 2)[:, None]
    y, weight = np.repeat([1, 0], s.size), np.concatenate([events, others])
    model = LogisticRegression(
        C=1 / reference.RIDGE, tol=1e-12, max_iter=10_000, solver="newton-cholesky"
    ).fit(x[weight > 0], y[weight > 0], weight[weight > 0])
    return float(model.intercept_[0]), float(model.coef_[0, 0]) / spread


@pytest.mark.parametrize("name", [name for name in CASES if name != "one score"])
def test_scikit_learn_agrees(name: str) -> None:
    case, link = CASES[name], reference.logistic_link(*CASES[name])
    intercept, slope = sklearn_link(*case)
    if slope <= 0 or math.isclose(slope, 0, abs_tol=1e-12):
        assert link.slope == pytest.approx(0, abs=1e-12)
        events, others = sum(case[1]), sum(case[2])
        assert link.intercept == pytest.approx(math.log(events / others), abs=1e-9)
    else:
        assert link.slope == pytest.approx(slope, rel=1e-5)
        assert link.intercept == pytest.approx(intercept, rel=1e-5)


@settings(max_examples=60)
@given(rows())
def test_scikit_learn_agrees_on_random_rows(case: Rows) -> None:
    link = reference.logistic_link(*case)
    if link.slope > 0:
        intercept, slope = sklearn_link(*case)
        assert link.slope == pytest.approx(slope, rel=1e-6)
        assert link.intercept == pytest.approx(intercept, abs=1e-6)


def compare(case: Rows, spent: int) -> None:
    """The quick link, its S, and what shrinking leaves of it, against the slow ones."""
    scores, a, b = np.array(case[0]), np.array(case[1]), np.array(case[2])
    slow, quick = reference.logistic_link(*case), logistic.fit_link(scores, a, b)
    assert quick.value == pytest.approx(reference.smooth_of_link(slow, *case), abs=1e-9)
    seen = np.unique(np.linspace(scores.min(), scores.max(), 30).astype(np.int64))
    pairs = [
        (slow, quick),
        (
            reference.shrunk_link(slow, *case, spent=spent),
            logistic.shrink_link(quick, scores, a, b, spent),
        ),
    ]
    for ours, theirs in pairs:
        expected = [ours.risk(int(s)) for s in seen]
        np.testing.assert_allclose(theirs.risk(seen), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("spent", [0, 1, 3])
def test_the_quick_link_agrees(name: str, spent: int) -> None:
    compare(CASES[name], spent)


@settings(max_examples=200)
@given(rows(), st.integers(0, 4))
def test_the_quick_link_agrees_on_random_rows(case: Rows, spent: int) -> None:
    compare(case, spent)


def test_both_mean_the_same_ridge() -> None:
    assert reference.RIDGE == logistic.RIDGE


def test_one_score_has_the_share_of_events() -> None:
    link = reference.logistic_link(*CASES["one score"])
    assert (link.centre, link.slope) == (4, 0.0)
    assert link.risk(4) == pytest.approx(3 / 7, abs=1e-15)


def test_rows_of_one_class_end() -> None:
    """Nothing asks for them, but nothing may hang either."""
    assert reference.logistic_link([0, 1], [0, 0], [1, 1]).risk(1) < 1e-9


@settings(max_examples=100)
@given(st.data())
def test_s_of_points(data: st.DataObject) -> None:
    problem: Problem = data.draw(problems(real=data.draw(st.booleans())))
    points = points_of(data.draw, problem)
    with_prior = Problem.build(problem.patterns, Thresholds.tenths(), prior_strength=7)
    value = with_prior.evaluate(points)
    assert value.link is not None
    table = problem.patterns
    slow = reference.smooth_net_benefit(table, points.tolist())
    assert value.link.value == pytest.approx(slow, abs=1e-9)
    most = reference.saturated_smooth(table.positives.tolist(), table.negatives.tolist())
    assert slow <= most + 1e-12
    quick = logistic.saturated_smooth(table.positives, table.negatives)
    assert quick == pytest.approx(most, abs=1e-13)


def test_s_is_the_mean_net_benefit_over_thresholds() -> None:
    """By its meaning: act where the risk reaches p, for many p between 0 and 1."""
    table = PatternTable.from_arrays([[0], [0], [1], [1], [2], [2], [2]], [0, 0, 1, 0, 1, 1, 0])
    masses = table.positives.tolist(), table.negatives.tolist()
    scores = reference.floor_scores(table.codes, table.decimals, [1])
    link = reference.logistic_link(scores, *masses)
    grid = (np.arange(200_000) + 0.5) / 200_000
    earned = np.zeros_like(grid)
    for s, a, b in zip(scores, *masses, strict=True):
        earned += np.where(link.risk(s) >= grid, a - b * grid / (1 - grid), 0.0)
    mean = float(earned.mean()) / float(Fraction(table.n_total))
    assert reference.smooth_net_benefit(table, [1]) == pytest.approx(mean, abs=1e-4)
