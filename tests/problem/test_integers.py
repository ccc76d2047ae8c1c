"""A problem in whole numbers: values against the objective by its definition, in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import MinTPR
from netbenefit.problem.problem import (
    NEGLIGIBLE,
    IntegerProblem,
    Problem,
    Proof,
    is_settled,
)
from tests.helpers.full import examples
from tests.helpers.strategies import all_points, extreme_problems

HARD = [1 - 1e-12, 1 - 1e-6, 1e-6, 0.5]


def weighed(thresholds: Thresholds, weights: list[float], **settings: Any) -> Problem:
    X = [[0, 1], [1, 0], [1, 1], [0, 0]]
    table = PatternTable.from_arrays(X, [0, 1, 1, 0], sample_weight=weights)
    return Problem.build(table, thresholds, **settings)


def test_an_extreme_threshold_does_not_spoil_the_scale() -> None:
    grid = Thresholds.of([1e-6, np.pi / 10, 1 - 1e-12])
    integers = IntegerProblem.of(weighed(grid, [0.37, 1.5, np.pi, 2.0]))
    assert not integers.exact
    assert integers.rounding < Fraction(1, 10**12)
    # A loss beyond all gains of its threshold is held at minus their sum.
    gained = np.maximum(integers.gains, 0).sum(axis=1)
    assert (integers.gains.min(axis=1) >= -gained).all()


@pytest.mark.parametrize("p", [1 - 1e-12, 1e-6, 0.999999, 1e-9])
def test_decimal_thresholds_and_whole_masses_are_exact(p: float) -> None:
    integers = IntegerProblem.of(weighed(Thresholds.of(sorted({p, 0.5})), [1, 2, 3, 10**6]))
    assert integers.exact
    assert integers.rounding == 0


def test_the_scale_is_the_smallest_one() -> None:
    # Net benefit at 1/2 of 8 rows, each of mass 1000, with a price of 1/8: one unit is 1/8.
    table = PatternTable.from_arrays(np.eye(8), [1, 0] * 4, sample_weight=[1000] * 8)
    integers = IntegerProblem.of(Problem.build(table, Thresholds.of([0.5]), penalty=0.125))
    assert integers.total == 8
    assert integers.price == 1
    assert sorted(integers.gains.tolist()[0]) == [-1] * 4 + [1] * 4


@settings(max_examples=examples(150))
@given(extreme_problems(most_vectors=60, rates=False), st.randoms(use_true_random=False))
def test_values_are_never_too_low_and_hardly_too_high(problem: Problem, random: Any) -> None:
    integers = IntegerProblem.of(problem)
    assert integers.rounding < Fraction(1, 10**11)
    points = all_points(problem)
    for vector in random.sample(points.tolist(), min(20, len(points))):
        objective = problem.evaluate(vector).objective
        seeming = integers.to_objective(integers.value(vector))
        assert objective <= seeming <= objective + integers.rounding
        assert integers.exact == (integers.rounding == 0)


def test_losses_that_rates_force_are_cut_off() -> None:
    # All events must be found, at odds of 10^12: the best card loses more than 64 bits can tell.
    grid = Thresholds.of([0.5, 1 - 1e-12])
    problem = weighed(grid, [0.37, 1.5, np.pi, 2.0], constraints=[MinTPR(1 - 1e-12, 1)])
    integers = IntegerProblem.of(problem)
    assert not integers.exact
    assert integers.rounding <= NEGLIGIBLE
    assert np.abs(integers.gains).sum(dtype=object) < 2**61
    objective = problem.evaluate([1, 0]).objective
    assert integers.to_objective(integers.value([1, 0])) >= objective


def test_what_is_optimal() -> None:
    tiny = Fraction(1, 10**10)
    assert is_settled(Fraction(1, 3), Fraction(1, 3), Fraction(0))
    assert is_settled(Fraction(1, 3) + tiny, Fraction(1, 3), tiny)
    assert not is_settled(Fraction(1, 3) + tiny, Fraction(1, 3), tiny / 2)
    assert not is_settled(Fraction(1, 3), Fraction(1, 3), Fraction(1, 10**8))
    assert Proof("a", Fraction(1), rounding=NEGLIGIBLE).settles(1 - NEGLIGIBLE)
