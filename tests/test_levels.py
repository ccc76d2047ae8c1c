"""Cut-offs and risks of cards with a prior: one consistent, rising thing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netbenefit.kernels.logistic import fit_link, shrink_link

from netbenefit.assemble import assemble_card, learn
from netbenefit.constraints import MaxFPR, MinTPR
from netbenefit.kernels.cutoffs import floor_scores
from netbenefit.levels import find_levels, level_risks
from netbenefit.metrics import weighted_net_benefit
from netbenefit.patterns import PatternTable
from netbenefit.problem import Problem
from netbenefit.scorecard import Provenance
from netbenefit.solvers.base import Run
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.thresholds import Thresholds
from tests.strategies import points_of, problems

PRIORS = [Fraction(1, 2), Fraction(10), Fraction(3000)]


def blended(problem: Problem, points: np.ndarray, score: int) -> float:
    """The definition, once more and slowly: link and event rate of a score, averaged."""
    table, n0 = problem.patterns, float(problem.prior_strength)
    scores = floor_scores(table.codes, table.decimals, points)
    value = problem.evaluate(points)
    free = int((problem.upper > problem.lower).sum())
    spent = min(2 * np.count_nonzero(points), free)
    link = fit_link(scores, table.positives, table.negatives)
    link = shrink_link(link, scores, table.positives, table.negatives, spent)
    level = sum(score >= cutoff for cutoff in value.cutoffs)
    rate = level_risks(
        table, problem.thresholds, scores, value.cutoffs, problem.limits.rates is not None
    )[level]
    weight = n0 / (n0 + float(table.n_total))
    return weight * float(link.risk(score)) + (1 - weight) * float(rate or 0.0)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.booleans())
def test_cutoffs_and_risks_follow_from_the_averages(data, real):
    problem = replace(
        data.draw(problems(real=real)), prior_strength=data.draw(st.sampled_from(PRIORS))
    )
    points = points_of(data.draw, problem)
    levels = find_levels(problem, points)
    value = problem.evaluate(points)
    low, high = value.score_range
    assert list(levels.cutoffs) == sorted(levels.cutoffs)
    for p, cutoff in zip(problem.thresholds.values[1:], levels.cutoffs, strict=True):
        assert low <= cutoff <= high + 1
        if cutoff <= high:
            assert blended(problem, points, cutoff) >= p - 1e-9
        if cutoff > low:
            assert blended(problem, points, cutoff - 1) < p + 1e-9
    known = [risk for risk in levels.risks if risk is not None]
    assert known == sorted(known)
    # It prints, and its decisions are those of its cut-offs.
    result = Run(problem, "test", 1.0).result(points, "finished")
    card = assemble_card(problem, result, Provenance(version="0"))
    assert card.cutoffs == levels.cutoffs
    assert str(card)
    table = problem.patterns
    scores = floor_scores(table.codes, table.decimals, points)
    for i, p in enumerate(problem.thresholds.values):
        called = np.asarray(card.risk_of_score(scores)) >= p
        wanted = scores >= ([low, *levels.cutoffs])[i]
        assert (called == wanted).all()
    y = np.repeat([1, 0], len(table))
    mass = np.concatenate([table.positives, table.negatives])
    both = np.tile(np.asarray(card.risk_of_score(scores)), 2)
    benefit = weighted_net_benefit(y, both, problem.thresholds, sample_weight=mass)
    assert card.provenance.net_benefit == pytest.approx(benefit, abs=1e-9)


@settings(max_examples=200)
@given(st.data())
def test_without_a_prior_all_is_as_published(data):
    problem = data.draw(problems())
    points = points_of(data.draw, problem)
    value, levels = problem.evaluate(points), find_levels(problem, points)
    table = problem.patterns
    scores = floor_scores(table.codes, table.decimals, points)
    assert value.link is None
    assert levels.cutoffs == value.cutoffs
    assert levels.risks == level_risks(table, problem.thresholds, scores, value.cutoffs)


def test_a_huge_prior_leaves_the_link_alone_and_a_tiny_one_the_rates():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 3))
    y = rng.random(400) < 0.2 + 0.5 * X[:, 0]
    table, grid = PatternTable.from_arrays(X, y), Thresholds.tenths()
    points = np.array([2, 1, 0])
    rates = find_levels(Problem.build(table, grid), points)
    tiny = find_levels(Problem.build(table, grid, prior_strength=1e-9), points)
    assert tiny.risks == pytest.approx(rates.risks, abs=1e-9)
    huge = Problem.build(table, grid, prior_strength=1e12)
    link = huge.evaluate(points).link
    scores = floor_scores(table.codes, table.decimals, points)
    link = shrink_link(link, scores, table.positives, table.negatives, 3)
    seen = {int(s): float(link.risk(int(s))) for s in np.unique(scores)}
    told = find_levels(huge, points)
    for score, risk in seen.items():
        level = sum(score >= cutoff for cutoff in told.cutoffs)
        assert grid.values[level] <= risk < ([*grid.values[1:], 1.01])[level]


@pytest.mark.parametrize("limit", [MinTPR(0.3, 0.9), MaxFPR(0.2, 0.15)])
def test_limits_on_rates_hold_for_the_cut_offs_of_the_card(limit):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (500, 4))
    y = rng.random(500) < 0.1 + 0.3 * X[:, 0] + 0.3 * X[:, 1]
    card, _, problem = learn(
        PatternTable.from_arrays(X, y),
        Thresholds.tenths(),
        LocalSearch(time_limit=5, max_rounds=1),
        outcome="y",
        prior_strength=1000,
        constraints=[limit],
    )
    called = np.asarray(card.risk({f"x{k}": X[:, k] for k in range(4)})) >= limit.threshold
    if isinstance(limit, MinTPR):
        assert called[y].mean() >= 0.9
    else:
        assert called[~y].mean() <= 0.15
    free = find_levels(
        replace(problem.without_prior(), prior_strength=Fraction(1000)), [1, 1, 0, 0]
    )
    assert list(free.cutoffs) == sorted(free.cutoffs)


def test_a_level_between_two_scores_without_rows_has_a_risk():
    X = np.array([[0]] * 50 + [[10]] * 50)
    y = np.array([0] * 45 + [1] * 5 + [0] * 5 + [1] * 45)
    problem = Problem.build(
        PatternTable.from_arrays(X, y), Thresholds.tenths(), prior_strength=10_000
    )
    levels = find_levels(problem, [1])
    edges = [0, *levels.cutoffs, 11]
    empty = [
        i
        for i in range(10)
        if edges[i] < edges[i + 1] and not {0, 10} & set(range(edges[i], edges[i + 1]))
    ]
    assert empty
    for i in empty:
        assert problem.thresholds.values[i] <= levels.risks[i]
