"""Probing of wide columns against brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.problem import IntegerProblem, Problem
from netbenefit.solvers.bounds.covering import (
    conflict_bound,
    probe_columns,
    sign_parts,
    wide_columns,
)
from tests.solvers.bounds.test_covering import all_values, cases, check_leaves


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_conflicts_are_above_brute_force(data):
    integers, lower, upper = data.draw(cases())
    assert conflict_bound(integers, lower, upper) >= max(
        all_values(integers, lower, upper).values()
    )


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_parts_cover_the_box_and_bound_it(data):
    integers, lower, upper = data.draw(cases())
    values = all_values(integers, lower, upper)
    target = data.draw(st.sampled_from([0, max(values.values()), integers.ceiling]))
    answers = iter(data.draw(st.lists(st.booleans(), max_size=20)))
    parts = probe_columns(integers, lower, upper, target, lambda: next(answers, False))
    check_leaves(integers, parts, values)


def test_a_wide_column_is_ruled_out():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, size=(80, 3)).astype(float)
    y = (X[:, 0] + X[:, 1] > 0.5).astype(int)
    noise = rng.integers(0, 5000, size=80)
    problem = Problem.build(
        PatternTable.from_arrays(np.column_stack([X, noise]), y),
        Thresholds.tenths(),
        max_points=3,
    )
    integers = IntegerProblem.of(problem)
    assert wide_columns(integers, integers.lower, integers.upper) == [3]
    best = integers.value([1, 1, 0, 0])
    parts = probe_columns(integers, integers.lower, integers.upper, best, lambda: False)
    assert len(parts) == 3
    for part in parts:
        used = part.lower[3] > 0 or part.upper[3] < 0
        assert (part.value < best) == used


def test_sign_parts_of_decided_columns():
    low, high = np.array([1, -3]), np.array([4, 3])
    assert [(a.tolist(), b.tolist()) for a, b in sign_parts(low, high, 0)] == [([1, -3], [4, 3])]
    assert len(sign_parts(low, high, 1)) == 3
