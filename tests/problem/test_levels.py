"""Cut-offs and risks: one consistent, rising thing, with a risk per level or for every score."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.isotonic import IsotonicRegression

from netbenefit.cards.scorecard import Provenance
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.training import assemble_card
from netbenefit.metrics.benefit import weighted_net_benefit
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import MaxFPR, MinTPR
from netbenefit.problem.levels import (
    allowed_cutoffs,
    fit_levels,
    floor_scores,
    level_risks,
    pooled_rates,
)
from netbenefit.problem.problem import Problem
from netbenefit.solvers.base import Run
from tests.helpers.full import examples
from tests.helpers.strategies import constrained_problems, points_of, problems

# -- pooling ---------------------------------------------------------------------------------------


def naive_pooling(rates: list[tuple[Fraction, Fraction]]) -> list[Fraction]:
    """min over ends, max over beginnings, of the mean between: the textbook formula."""

    def mean(i: int, j: int) -> Fraction:
        return sum(e for e, _ in rates[i : j + 1]) / sum(m for _, m in rates[i : j + 1])

    n = len(rates)
    return [max(min(mean(i, j) for j in range(k, n)) for i in range(k + 1)) for k in range(n)]


def draw_masses(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores with ties and gaps, and masses that are often equal or of one class."""
    n = int(rng.integers(1, 9))
    scores = rng.integers(-4, 5, n)
    most = int(rng.choice([2, 5, 2000]))
    positives, negatives = rng.integers(0, most, (2, n))
    negatives[positives + negatives == 0] = 1
    if rng.random() < 0.3:
        return scores, positives * 0.37, negatives * rng.choice([0.37, 1.3])
    return scores, positives, negatives


def test_pooled_rates_against_the_textbook_and_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2000):
        scores, positives, negatives = draw_masses(rng)
        exact = [[Fraction(v) for v in part.tolist()] for part in (positives, negatives)]
        found = pooled_rates(scores, *exact)
        assert [score for score, _ in found] == np.unique(scores).tolist()
        sums = [
            tuple(
                sum((v for v, s in zip(part, scores, strict=True) if s == score), Fraction(0))
                for part in exact
            )
            for score, _ in found
        ]
        expected = naive_pooling([(a, a + b) for a, b in sums])
        assert [rate for _, rate in found] == expected
        mass = np.array([float(a + b) for a, b in sums])
        rate = np.array([float(a / (a + b)) for a, b in sums])
        theirs = IsotonicRegression().fit_transform(np.arange(mass.size), rate, sample_weight=mass)
        assert np.allclose([float(r) for _, r in found], theirs, atol=1e-12)


def test_best_cutoffs_are_the_first_scores_whose_pooled_risk_reaches_the_threshold() -> None:
    """Thresholds are often met exactly: then the score is called."""
    rng = np.random.default_rng(1)
    met = 0
    for _ in range(4000):
        scores, positives, negatives = draw_masses(rng)
        exact = [[Fraction(v) for v in part.tolist()] for part in (positives, negatives)]
        pooled = pooled_rates(scores, *exact)
        rates = [rate for _, rate in pooled if 0 < rate < 1]
        ps = sorted({Fraction(1, 10), Fraction(1, 2), Fraction(2, 3), *rates})
        met += len(rates)
        masses, free = (positives, negatives), [(Fraction(0), None)] * len(ps)
        found = allowed_cutoffs(scores, masses, [p / (1 - p) for p in ps], free, masses)
        for p, (cutoff, _) in zip(ps, found, strict=True):
            reached = [score for score, rate in pooled if rate >= p]
            assert cutoff == (reached[0] if reached else max(scores) + 1)
    assert met > 4000


# -- levels of problems ----------------------------------------------------------------------------


@settings(max_examples=examples(200))
@given(st.data(), st.booleans())
def test_blended_masses_give_every_score_its_pooled_risk(data: st.DataObject, real: bool) -> None:
    problem = data.draw(problems(real=real, taught=True))
    points = points_of(data.draw, problem)
    levels, table = fit_levels(problem, points), problem.patterns
    scores = floor_scores(table.codes, table.decimals, points)
    exact = [[Fraction(v) for v in m.tolist()] for m in (table.positives, table.negatives)]
    pooled = pooled_rates(scores, *exact)
    assert levels.cutoffs == problem.evaluate(points).cutoffs
    for p, cutoff in zip(problem.thresholds.fractions[1:], levels.cutoffs, strict=True):
        reached = [score for score, rate in pooled if rate >= p]
        assert cutoff == (reached[0] if reached else int(scores.max()) + 1)
    assert [score for score, _ in levels.risks] == [score for score, _ in pooled]
    for (_, risk), (_, rate) in zip(levels.risks, pooled, strict=True):
        assert risk == pytest.approx(float(rate), abs=1e-15)
    check_decisions(problem, points)


@settings(max_examples=examples(150))
@given(st.data(), st.booleans())
def test_decisions_are_those_of_the_cutoffs_whatever_rates_ask_for(
    data: st.DataObject, taught: bool
) -> None:
    problem = data.draw(constrained_problems(max_columns=3, taught=taught))
    points = points_of(data.draw, problem)
    if problem.limits.rates is None or problem.feasible(points):
        check_decisions(problem, points)


def check_decisions(problem: Problem, points: np.ndarray) -> None:
    """A card of the points prints, and calls at each threshold whom the cut-offs call."""
    try:
        value = problem.evaluate(points)
    except ValueError:  # no cut-offs within the rates
        return
    levels, table = fit_levels(problem, points), problem.patterns
    scores = floor_scores(table.codes, table.decimals, points)
    known = [risk for _, risk in levels.risks]
    assert known == sorted(known)
    result = Run(problem, "test", 1.0).result(points, "finished")
    card = assemble_card(problem, result, Provenance(version="0"))
    assert card.cutoffs == levels.cutoffs == value.cutoffs
    assert str(card)
    risks = np.asarray(card.risk_of_score(scores))
    firsts = [int(scores.min()), *value.cutoffs]
    for p, first in zip(problem.thresholds.values, firsts, strict=True):
        assert ((risks >= p) == (scores >= first)).all()
    y = np.repeat([1, 0], len(table))
    rows = np.concatenate([table.events, table.others])
    kept = rows > 0
    benefit = weighted_net_benefit(
        y[kept], np.tile(risks, 2)[kept], problem.thresholds, sample_weight=rows[kept]
    )
    assert card.provenance is not None
    assert card.provenance.net_benefit == pytest.approx(benefit, abs=1e-9)


@settings(max_examples=examples(200))
@given(st.data())
def test_without_a_teacher_all_is_as_published(data: st.DataObject) -> None:
    problem = data.draw(problems(taught=False))
    points = points_of(data.draw, problem)
    value, levels = problem.evaluate(points), fit_levels(problem, points)
    table = problem.patterns
    scores = floor_scores(table.codes, table.decimals, points)
    by_level = level_risks(table, problem.thresholds, scores, value.cutoffs)
    firsts = [value.score_range[0], *value.cutoffs]
    assert levels.cutoffs == value.cutoffs
    assert levels.risks == tuple(
        (first, risk) for first, risk in zip(firsts, by_level, strict=True) if risk is not None
    )
    assert levels.net_benefit == pytest.approx(float(value.net_benefit), abs=1e-12)


@settings(max_examples=50)
@given(st.data(), st.booleans())
def test_middles_of_intervals(data: st.DataObject, taught: bool) -> None:
    problem = data.draw(problems(taught=taught))
    points = points_of(data.draw, problem)
    levels = fit_levels(problem, points, calibrate=False)
    grid = problem.thresholds.values
    middles = {(a + b) / 2 for a, b in zip(grid, (*grid[1:], 1.0), strict=True)}
    assert {risk for _, risk in levels.risks} <= middles
    assert levels.cutoffs == problem.evaluate(points).cutoffs


@pytest.mark.parametrize("limit", [MinTPR(0.3, "9/10"), MaxFPR(0.3, "1/10")])
def test_rates_speak_of_outcomes_where_the_masses_say_the_opposite(
    limit: MinTPR | MaxFPR,
) -> None:
    """The teacher is wrong about everybody; the limits hold for what really happened."""
    X = np.repeat([[0], [1], [2]], 10, axis=0)
    y = np.repeat([0, 0, 0, 1, 1, 1], 5)
    table = PatternTable.from_arrays(X, y)
    wrong = table.with_masses(1000 * table.negatives, 1000 * table.positives, 1000)
    problem = Problem.build(wrong, Thresholds.of([0.3]), constraints=[limit], max_points=1)
    for points in ([1], [-1], [0]):
        if not problem.feasible(points):
            continue
        scores = floor_scores(table.codes, table.decimals, np.array(points))
        called = scores >= fit_levels(problem, points).cutoffs[0]
        if isinstance(limit, MinTPR):
            assert (table.positives @ called) >= 0.9 * 15
        else:
            assert (table.negatives @ called) <= 0.1 * 15
        check_decisions(problem, np.array(points))
