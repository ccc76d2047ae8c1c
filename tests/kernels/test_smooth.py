"""S, the smooth part of the objective: compiled against numpy against plain Python and peers."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from netbenefit.kernels.cutoffs import floor_scores
from netbenefit.kernels.link import CENTRE, INTERCEPT, SLOPE, SPREAD
from netbenefit.kernels.logistic import RIDGE, Link, fit_link, saturated_smooth, shrink_link
from netbenefit.patterns import PatternTable
from netbenefit.problem import Problem
from netbenefit.solvers._chain import DESCEND
from netbenefit.solvers._walker import Walker, make_walker
from netbenefit.thresholds import Thresholds
from tests.strategies import points_of, problems

EXAMPLES = 70
PRIORS = [Fraction(1, 2), Fraction(40), Fraction(3000)]


def with_prior(problem: Problem, prior: Fraction) -> Problem:
    return replace(problem, prior_strength=prior)


@st.composite
def placed(draw: st.DrawFn, **kinds: bool) -> tuple[Problem, np.ndarray]:
    problem = with_prior(draw(problems(**kinds)), draw(st.sampled_from(PRIORS)))
    return problem, points_of(draw, problem)


def check_value(walker: Walker, points: np.ndarray) -> None:
    problem = walker.problem
    truth = float(problem.evaluate(points).objective)
    one = 1.0 + float(problem.prior_weight)
    assert problem.to_objective(walker.value) == pytest.approx(truth, abs=1e-9 * one)


# -- the link --------------------------------------------------------------------------------------


@st.composite
def histograms(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = draw(st.integers(1, 8))
    score = st.integers(-6, 6) | st.sampled_from([10**9, -(10**9), 1000])
    scores = draw(st.lists(score, min_size=n, max_size=n))
    mass = st.integers(0, 9) if draw(st.booleans()) else st.floats(0.05, 5.0)
    a = draw(st.lists(mass, min_size=n, max_size=n))
    b = draw(st.lists(mass, min_size=n, max_size=n))
    a[0], b[-1] = a[0] or 1, b[-1] or 2  # both classes are there
    return np.array(scores), np.array(a), np.array(b)


@settings(max_examples=EXAMPLES)
@given(histograms())
def test_the_link_has_the_highest_likelihood_of_all_that_rise(data):
    scores, a, b = data
    link = fit_link(scores, a, b)
    total, spread = (a + b).sum(), math.sqrt(np.cov(scores, aweights=a + b, ddof=0))
    x = (scores - scores @ (a + b) / total) / (spread or 1.0)

    def loss(theta: np.ndarray) -> float:
        eta = theta[0] + theta[1] * x
        return float((a + b) @ np.logaddexp(0, eta) - a @ eta) + 0.5 * RIDGE * theta[1] ** 2

    start = [math.log(a.sum() / b.sum()), 0.0]
    best = minimize(loss, start, bounds=[(None, None), (0.0, None)], tol=1e-14)
    ours = np.array([link.intercept, link.slope * spread])
    assert loss(ours) <= best.fun + 1e-9 * (1 + abs(best.fun))
    assert link.slope >= 0.0
    q = link.risk(scores)
    with np.errstate(divide="ignore"):
        rest = np.where(b > 0, b * np.log1p(-q), 0.0)
    assert link.value == pytest.approx(float(((a + b) @ q + rest.sum()) / total), abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_link_agrees_with_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-15, 15, 300)
    y = rng.random(300) < expit(0.2 * scores - 0.7)
    link = fit_link(scores, y.astype(int), 1 - y.astype(int))
    x = ((scores - scores.mean()) / scores.std())[:, None]
    peer = LogisticRegression(C=1 / RIDGE, tol=1e-12, max_iter=10_000).fit(x, y)
    assert link.slope * scores.std() == pytest.approx(peer.coef_[0, 0], rel=1e-6)
    assert link.intercept == pytest.approx(peer.intercept_[0], abs=1e-6)


def test_s_is_net_benefit_integrated_over_all_thresholds():
    rng = np.random.default_rng(1)
    scores, y = rng.integers(0, 9, 200), rng.random(200) < 0.4
    link = fit_link(scores, y.astype(int), 1 - y.astype(int))
    q = link.risk(scores)
    p = (np.arange(200_000) + 0.5) / 200_000
    order = np.sort(q[y]), np.sort(q[~y])
    found, alarms = (np.searchsorted(part, p, side="left") for part in order)
    benefit = (y.sum() - found) - p / (1 - p) * ((~y).sum() - alarms)
    assert link.value == pytest.approx(benefit.mean() / 200, abs=1e-5)


@settings(max_examples=EXAMPLES)
@given(histograms())
def test_no_risks_earn_more_than_the_observed_rates(data):
    scores, a, b = data
    bound = saturated_smooth(a, b)
    assert fit_link(scores, a, b).value <= bound + 1e-12
    rng = np.random.default_rng(0)
    q = rng.random((50, a.size)) * 0.999
    worth = ((a + b) * q + b * np.log1p(-q)).sum(axis=1) / (a + b).sum()
    assert worth.max() <= bound + 1e-12


@settings(max_examples=300)
@given(histograms(), st.integers(0, 6))
def test_a_shrunk_link_is_flatter_and_keeps_the_mean_risk(data, spent):
    scores, a, b = data
    link = fit_link(scores, a, b)
    shrunk = shrink_link(link, scores, a, b, spent)
    assert 0.0 <= shrunk.slope <= link.slope
    assert (a + b) @ shrunk.risk(scores) == pytest.approx(a.sum(), abs=1e-6 * (a + b).sum())
    if spent == 0 and link.slope > 0:
        assert shrunk.slope == link.slope


def test_the_factor_is_that_of_van_houwelingen_and_le_cessie():
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 10, 400)
    y = (rng.random(400) < expit(0.3 * scores - 1.5)).astype(int)
    link = fit_link(scores, y, 1 - y)
    q, share = link.risk(scores), y.mean()
    gain = np.sum(np.where(y == 1, np.log(q / share), np.log((1 - q) / (1 - share))))
    shrunk = shrink_link(link, scores, y, 1 - y, 5)
    assert shrunk.slope == pytest.approx(link.slope * (1 - 5 / (2 * gain)), rel=1e-9)
    assert shrink_link(link, scores, y, 1 - y, 1e9).slope == 0.0


# -- compiled --------------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES)
@given(placed())
def test_the_value_of_points_is_the_truth(case):
    problem, points = case
    walker = make_walker(problem, 0)
    walker.start(points, True)
    check_value(walker, points)


@settings(max_examples=EXAMPLES)
@given(placed(real=True))
def test_the_value_of_points_is_the_truth_for_real_weights_and_thresholds(case):
    problem, points = case
    walker = make_walker(problem, 0)
    walker.start(points, True)
    check_value(walker, points)


def usual_value(table: PatternTable, k: int) -> int:
    """The most frequent whole value of a column, or 0: rows that have it stay where they are."""
    unit = 10 ** table.decimals[k]
    values, counts = np.unique(table.codes[:, k], return_counts=True)
    whole = values % unit == 0
    return int(values[whole][np.argmax(counts[whole])]) // unit if whole.any() else 0


def estimate(
    problem: Problem, points: np.ndarray, link: Link, spread: float, moved: int = 0
) -> float:
    """Objective with S after one Newton step from a given link, to second order: slowly.

    All scores are taken less ``moved``, as the step depends on where they lie.
    """
    value = problem.evaluate(points)
    table = problem.patterns
    scores = floor_scores(table.codes, table.decimals, points)
    a, n = table.positives.astype(float), (table.positives + table.negatives).astype(float)
    x = scores - moved - link.centre
    eta = link.intercept + link.slope * x
    q = expit(eta)
    w = q * (1 - q)
    ridge = RIDGE * (spread or 1.0) ** 2
    basis = np.stack([np.ones_like(x), x])
    gradient = basis @ (a - n * q) - [0.0, ridge * link.slope]
    hessian = (basis * (n * w)) @ basis.T + [[0.0, 0.0], [0.0, ridge]]
    s = float(n @ q - (n - a) @ np.logaddexp(0, eta))
    if np.linalg.det(hessian) > 0 and hessian[0, 0] > 0:
        step = np.linalg.solve(hessian, gradient)
        if link.slope + step[1] < 0:
            step[1] = -link.slope
            step[0] = (gradient[0] - hessian[0, 1] * step[1]) / hessian[0, 0]
        step /= max(1.0, abs(step[0]), abs(step[1]) * (spread or 1.0))
        bend = (basis * (w * (a - 2 * n * q))) @ basis.T
        s += float((basis @ (q * (a - n * q))) @ step + 0.5 * step @ bend @ step)
    published = float(value.net_benefit - problem.penalty * value.size)
    return published + float(problem.prior_weight) * s / n.sum()


#: Without the widest columns, for which a determinant is rounding.
NARROW = ("binary", "two", "small", "tenths", "thousandths", "constant")


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_every_value_of_a_column_is_estimated_as_said(data):
    problem = with_prior(
        data.draw(problems(kinds=NARROW, real=data.draw(st.booleans()))), PRIORS[1]
    )
    points = points_of(data.draw, problem)
    walker = make_walker(problem, 0)
    walker.start(points, True)
    told = walker.chain.smooth.link
    scores = floor_scores(problem.patterns.codes, problem.patterns.decimals, points)
    own = fit_link(scores, problem.patterns.positives, problem.patterns.negatives)
    assert told[SLOPE] == pytest.approx(own.slope, abs=1e-6 * (1 + own.slope))
    # The kernel's scores are shifted by a constant, column by column.
    shift = int(walker.state.score[0, 0]) - int(scores[0])
    link = Link(float(told[CENTRE]) - shift, float(told[INTERCEPT]), float(told[SLOPE]), 0.0)
    for k in walker.free.tolist():
        values, _ = walker.values(k)
        for v, got in zip(range(problem.lower[k], problem.upper[k] + 1), values, strict=True):
            other = points.copy()
            other[k] = v
            moved = (v - int(points[k])) * usual_value(problem.patterns, k)
            wanted = estimate(problem, other, link, float(told[SPREAD]), moved)
            assert problem.to_objective(got) == pytest.approx(wanted, abs=1e-7)


def test_where_little_moves_the_estimate_is_close():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (2000, 8))
    y = rng.random(2000) < expit(X @ np.arange(-3, 5) * 0.4)
    problem = Problem.build(
        PatternTable.from_arrays(X, y), Thresholds.tenths(), prior_strength=2000, penalty=0
    )
    points = np.array([-6, -4, -2, 0, 2, 4, 6, 8])
    walker = make_walker(problem, 0)
    walker.start(points, True)
    for k in range(8):
        values, _ = walker.values(k)
        for v in (points[k] - 1, points[k] + 1):
            other = points.copy()
            other[k] = v
            truth = float(problem.evaluate(other).objective)
            assert problem.to_objective(values[v - problem.lower[k]]) == pytest.approx(
                truth, abs=1e-4
            )


@settings(max_examples=20, deadline=None)
@given(st.data(), st.booleans())
def test_walks_keep_their_books(data, constrained):
    problem = data.draw(problems(real=data.draw(st.booleans()), constrained=constrained))
    problem = with_prior(problem, data.draw(st.sampled_from(PRIORS)))
    walker = make_walker(problem, data.draw(st.integers(0, 2**32)))
    walker.start(problem.nearest_to_zero(), True)
    if not walker.free.size:
        return
    one = problem.value_of_one
    for schedule in (np.array([0.05 * one, 0.001 * one, 30.0]), DESCEND):
        before = walker.standing
        walker.anneal(schedule, 0, 30)
        assert not walker.state.work.any()  # left as clean as it was
        if problem.feasible(walker.points):
            check_value(walker, walker.points)
        if schedule is DESCEND:
            assert walker.standing >= before
    if walker.found:
        walker.start(walker.best.copy(), True)
        assert problem.feasible(walker.best)
