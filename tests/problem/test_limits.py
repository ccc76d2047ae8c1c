"""Limits in arrays: what boxes may hold, the smallest allowed vector, cut-offs within rates."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import MaxFPR, MinTPR
from netbenefit.problem.levels import floor_scores, level_risks
from netbenefit.problem.limits import Limits, QuestionLimits, RateLimits, least_points
from netbenefit.problem.problem import Problem
from netbenefit.solvers.boxes.flow import box_possible, make_box_limits, vector_allowed
from tests.helpers import slow_truth as reference
from tests.helpers.full import examples
from tests.helpers.strategies import constrained_problems, points_of, tables


@st.composite
def some_asked(draw: st.DrawFn, n: int) -> QuestionLimits:
    """Limits on questions and on their answers."""
    of_column = np.sort(draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n)))
    of_column = np.unique(of_column, return_inverse=True)[1].astype(np.int64)
    count = int(of_column.max()) + 1
    of_answer = np.sort(draw(st.lists(st.integers(0, count - 1), max_size=5))).astype(np.int64)
    answers = np.zeros((of_answer.size, n), dtype=np.int64)
    for a, question in enumerate(of_answer):
        own = of_column == question
        size = int(own.sum())
        codes = st.lists(st.integers(0, 1), min_size=size, max_size=size)
        answers[a, own] = draw(codes)
    return QuestionLimits(
        of_column=of_column,
        most=draw(st.integers(0, count)),
        answers=answers,
        first=np.searchsorted(of_answer, np.arange(count + 1)),
        spread=np.array(draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))),
    )


@st.composite
def some_limits(draw: st.DrawFn) -> tuple[Limits, Any, Any]:
    """Limits of any kind, with lowest and highest values."""
    n = draw(st.integers(1, 3))
    lower = np.array(draw(st.lists(st.integers(-3, 2), min_size=n, max_size=n)))
    widths = np.array(draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    values = np.arange(widths.max()) < widths[:, None]
    kept = draw(st.lists(st.booleans(), min_size=values.size, max_size=values.size))
    values &= np.array(kept).reshape(values.shape) | (draw(st.booleans()))
    rows = draw(st.integers(0, 3))
    weights = st.lists(st.integers(-2, 2), min_size=n, max_size=n)
    support = np.array([draw(weights) for _ in range(rows)], dtype=np.int64).reshape(rows, n)
    limit = np.array([draw(st.integers(-2, 2)) for _ in range(rows)], dtype=np.int64)
    limits = Limits(values, support, limit, draw(st.integers(0, 9)), None, draw(some_asked(n)))
    return limits, lower.astype(np.int64), (lower + widths - 1).astype(np.int64)


def is_allowed(limits: Limits, lower: Any, vector: tuple[int, ...]) -> bool:
    """The definition, word for word."""
    return (
        all(limits.values[k, v - lower[k]] for k, v in enumerate(vector))
        and all(
            sum(int(w) for w, v in zip(row, vector, strict=True) if v != 0) <= limit
            for row, limit in zip(limits.support, limits.support_limit, strict=True)
        )
        and sum(map(abs, vector)) <= limits.total
        and answers_allowed(limits.asked, vector)
    )


def answers_allowed(asked: QuestionLimits, vector: tuple[int, ...]) -> bool:
    """Whether there are few enough questions, and answers near enough to each other."""
    used = {int(q) for q, v in zip(asked.of_column, vector, strict=True) if v != 0}
    worth = [sum(int(c) * v for c, v in zip(row, vector, strict=True)) for row in asked.answers]
    own = [worth[asked.first[q] : asked.first[q + 1]] for q in range(len(asked.spread))]
    near = all(max(w) - min(w) <= most for w, most in zip(own, asked.spread, strict=True) if w)
    return len(used) <= asked.most and near


@given(case=some_limits(), data=st.data())
@settings(max_examples=examples(300))
def test_boxes_and_vectors(case: tuple[Limits, Any, Any], data: st.DataObject) -> None:
    limits, lower, upper = case
    arrays = make_box_limits(limits, lower, (0, 0))
    ranges = [range(a, b + 1) for a, b in zip(lower.tolist(), upper.tolist(), strict=True)]
    allowed = []
    for vector in itertools.product(*ranges):
        points = np.array(vector)
        expected = is_allowed(limits, lower, vector)
        assert vector_allowed(arrays, points) == expected
        assert box_possible(arrays, points, points) == expected
        allowed += [points] if expected else []
    for _ in range(5):
        lo = np.array([data.draw(st.sampled_from(r)) for r in ranges])
        hi = np.array(
            [data.draw(st.integers(int(a), r[-1])) for a, r in zip(lo, ranges, strict=True)]
        )
        inside = any(((lo <= v) & (v <= hi)).all() for v in allowed)
        assert box_possible(arrays, lo, hi) or not inside
    assert not vector_allowed(arrays, lower - 1)
    assert not vector_allowed(arrays, upper + 1)


@given(case=some_limits())
@settings(max_examples=examples(200))
def test_least_points(case: tuple[Limits, Any, Any]) -> None:
    limits, lower, upper = case
    pairs = enumerate(zip(lower.tolist(), upper.tolist(), strict=True))
    values = [[v for v in range(a, b + 1) if limits.values[k, v - a]] for k, (a, b) in pairs]
    others = [[v for v in row if v != 0] for row in values]
    got = least_points(
        zero=np.array([0 in row for row in values]),
        nearest=np.array([min(row, key=abs, default=0) for row in others]),
        support=limits.support,
        support_limit=limits.support_limit,
        total=limits.total,
        asked=(limits.asked.of_column, limits.asked.most),
    )
    # How far answers are apart is looked at afterwards.
    far = limits.asked._replace(spread=limits.asked.spread + 99)
    limits = limits._replace(asked=far)
    allowed = [v for v in itertools.product(*values) if is_allowed(limits, lower, v)]
    if got is None:
        assert not allowed
    else:
        assert is_allowed(limits, lower, tuple(got.tolist()))
        assert np.abs(got).sum() == min(sum(map(abs, v)) for v in allowed)


@given(problem=constrained_problems(rates=False), data=st.data())
@settings(max_examples=examples(100))
def test_problems_agree_with_their_arrays(problem: Problem, data: st.DataObject) -> None:
    points, limits = points_of(data.draw, problem), problem.limits
    arrays = make_box_limits(limits, problem.lower, (0, 0))
    assert vector_allowed(arrays, points) == problem.allows(points)
    assert problem.allows(problem.nearest_to_zero())
    assert problem.allows(problem.primitive(problem.nearest_to_zero()))
    if problem.allows(points):
        assert problem.allows(problem.primitive(points))


# -- rates -----------------------------------------------------------------------------------------

SHARES = st.sampled_from(["0", "1/5", "1/3", "1/2", "2/3", "9/10", "1"]).map(Fraction)


@st.composite
def rated_problems(draw: st.DrawFn) -> Problem:
    real = draw(st.booleans())
    table = draw(tables(max_rows=7, max_columns=2, real_weights=real))
    grid = draw(
        st.sampled_from(
            [
                Thresholds.of([0.2, 0.4, 0.7]),
                Thresholds.of([0, 0.3, 0.6], weights=[0.5, 0.0, 0.5]),
                Thresholds.of([0.5]),
            ]
        )
    )
    threshold = st.sampled_from(grid.values[1:])
    rate = st.builds(MinTPR, threshold, SHARES) | st.builds(MaxFPR, threshold, SHARES)
    constraints = draw(st.lists(rate, min_size=1, max_size=4))
    return Problem.build(table, grid, max_points=2, constraints=constraints)


def best_of_all_cutoffs(problem: Problem, points: Any) -> Fraction | None:
    """Every tuple of cut-offs in order, each constraint as it was written: nothing passed on.

    Net benefit is counted in masses, rates in outcomes.
    """
    table, grid = problem.patterns, problem.thresholds
    scores = reference.floor_scores(table.codes, table.decimals, points)
    candidates = [*sorted(set(scores)), max(scores) + 1]

    def called(numbers: Any) -> dict[int, Fraction]:
        pairs = list(zip(numbers.tolist(), scores, strict=True))
        return {t: sum((Fraction(m) for m, s in pairs if s >= t), Fraction(0)) for t in candidates}

    tp, fp, found, alarms = map(
        called, (table.positives, table.negatives, table.events, table.others)
    )
    first = candidates[0]  # calls all
    best = None
    for above in itertools.combinations_with_replacement(candidates, len(grid) - 1):
        cutoffs = (candidates[0], *above)
        met = True
        for c in problem.constraints:
            assert isinstance(c, MinTPR | MaxFPR)
            t = cutoffs[grid.values.index(c.threshold)]
            if isinstance(c, MinTPR):
                met &= found[t] >= c.rate * found[first]
            else:
                met &= alarms[t] <= c.rate * alarms[first]
        if met:
            value = sum(
                (
                    w * (tp[t] - p / (1 - p) * fp[t])
                    for w, p, t in zip(grid.weight_fractions, grid.fractions, cutoffs, strict=True)
                ),
                Fraction(0),
            ) / (tp[first] + fp[first])
            best = value if best is None else max(best, value)
    return best


@given(problem=rated_problems(), data=st.data())
@settings(max_examples=examples(300))
def test_single_cutoffs_are_the_best_joint_ones(problem: Problem, data: st.DataObject) -> None:
    points = points_of(data.draw, problem)
    expected = best_of_all_cutoffs(problem, points)
    rates = problem.limits.rates
    slow = reference.allowed_net_benefit(problem.patterns, problem.thresholds, points, rates)
    assert slow == expected
    assert problem.feasible(points) == (expected is not None)
    if expected is None:
        with pytest.raises(
            InputError, match=r"no cut-offs of this card meet all .*TPR.*FPR|FPR.*TPR"
        ):
            problem.evaluate(points)
        return
    value = problem.evaluate(points)
    if problem.patterns.is_whole:
        assert value.net_benefit == expected
    else:  # the sum of all weights, which everything is divided by, is a float there
        assert float(value.net_benefit) == pytest.approx(float(expected), abs=1e-13)
    cutoffs = reference.cutoffs(problem.patterns, problem.thresholds, points, rates)
    assert list(value.cutoffs) == cutoffs == sorted(cutoffs)
    _check_risks(problem, points, value.cutoffs)


def _check_risks(problem: Problem, points: Any, cutoffs: tuple[int, ...]) -> None:
    """Risks lie in their intervals, so that decisions are those of the cut-offs."""
    table, grid = problem.patterns, problem.thresholds
    scores = floor_scores(table.codes, table.decimals, points)
    risks = level_risks(table, grid, scores, cutoffs, rated=True)
    ends = [*grid.values[1:], 1.0]
    for i, (risk, low, high) in enumerate(zip(risks, grid.values, ends, strict=True)):
        assert risk is None or low <= risk < high or (risk == high == 1.0 and i == len(risks) - 1)


def test_passing_on_keeps_the_strictest() -> None:
    passed = RateLimits.passed_on([Fraction(0), Fraction(3), Fraction(5)], [Fraction(9)] * 3)
    assert passed.found == (5, 5, 5)
    assert passed.alarms == (9, 9, 9)


def test_risks_of_levels_that_rates_moved() -> None:
    """All events must be found at 50%, so all rows are above it, with a risk of 50%."""
    table = PatternTable.from_arrays([[0]] * 10 + [[1]] * 10, [0] * 9 + [1] + [0] * 5 + [1] * 5)
    problem = Problem.build(table, Thresholds.of([0.5]), constraints=[MinTPR(0.5, 1)])
    value = problem.evaluate([1])
    assert value.cutoffs == (0,)
    scores = floor_scores(table.codes, table.decimals, np.array([1]))
    assert level_risks(table, problem.thresholds, scores, value.cutoffs, rated=True) == (
        None,
        0.5,
    )
