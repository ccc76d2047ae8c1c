"""The pair-order flow bound against a flow of SciPy and against all vectors of a box."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.problem import IntegerProblem, Problem
from tests.helpers.box_prover import flow_bound
from tests.helpers.full import examples
from tests.helpers.strategies import points_of, problems


def slow_flow_bound(integers: IntegerProblem, lower: np.ndarray, upper: np.ndarray) -> int:
    """The bound written down plainly: one flow per threshold, by SciPy."""
    x, lo, hi = integers.units.astype(object), lower.tolist(), upper.tolist()
    total = 0
    for gains in integers.gains.tolist():
        plus = [u for u, g in enumerate(gains) if g > 0]
        minus = [w for w, g in enumerate(gains) if g < 0]
        unit = int(np.gcd.reduce([abs(g) for g in gains]))
        source, sink = 0, 1 + len(plus) + len(minus)
        edges = {(source, 1 + i): gains[u] // unit for i, u in enumerate(plus)}
        edges |= {(1 + len(plus) + j, sink): -gains[w] // unit for j, w in enumerate(minus)}
        for (i, u), (j, w) in itertools.product(enumerate(plus), enumerate(minus)):
            d = (x[w] - x[u]).tolist()
            if sum(min(dk * a, dk * b) for dk, a, b in zip(d, lo, hi, strict=True)) >= 0:
                edges[1 + i, 1 + len(plus) + j] = 2**30
        size = sink + 1
        graph = np.zeros((size, size), dtype=np.int32)
        for (a, b), room in edges.items():
            graph[a, b] = room
        flow = maximum_flow(csr_array(graph), source, sink).flow_value
        total += sum(gains[u] for u in plus) - unit * int(flow)
    forced = [k for k, (a, b) in enumerate(zip(lo, hi, strict=True)) if a > 0 or b < 0]
    asked = {int(integers.questions[k]) for k in forced}
    return total - integers.price * len(forced) - integers.question_price * len(asked)


def boxes(draw: st.DrawFn, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """A box within the problem's."""
    ends = np.sort([points_of(draw, problem), points_of(draw, problem)], axis=0)
    return ends[0], ends[1]


@settings(max_examples=examples(150))
@given(st.data())
def test_equals_the_flow_of_scipy(data: st.DataObject) -> None:
    problem = data.draw(problems(max_points=5, max_rows=12))
    integers = IntegerProblem.of(problem)
    lower, upper = boxes(data.draw, problem)
    assert flow_bound(integers, lower, upper) == slow_flow_bound(integers, lower, upper)


@settings(max_examples=examples(150))
@given(st.data())
def test_no_vector_of_the_box_is_worth_more(data: st.DataObject) -> None:
    real = data.draw(st.booleans())
    problem = data.draw(problems(max_points=2, max_columns=3, real=real))
    integers = IntegerProblem.of(problem)
    lower, upper = boxes(data.draw, problem)
    bound = flow_bound(integers, lower, upper)
    ranges = [range(a, b + 1) for a, b in zip(lower.tolist(), upper.tolist(), strict=True)]
    vectors = list(itertools.product(*ranges))
    assert bound >= max(integers.value(v) for v in vectors)
    if len(vectors) == 1 and integers.unit == 1:  # scores are known, so nothing is relaxed
        assert bound == integers.value(vectors[0])


@settings(max_examples=examples(150))
@given(st.data())
def test_smaller_boxes_have_smaller_bounds(data: st.DataObject) -> None:
    problem = data.draw(problems(max_points=5))
    integers = IntegerProblem.of(problem)
    lower, upper = boxes(data.draw, problem)
    ends = [data.draw(st.integers(int(a), int(b))) for a, b in zip(lower, upper, strict=True)]
    inside = np.array(ends, dtype=np.int64)
    assert flow_bound(integers, inside, inside) <= flow_bound(integers, lower, upper)


@pytest.mark.parametrize("n_rows", [70, 300])
def test_more_patterns_than_bits_in_a_word(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    X = rng.integers(0, 9, (n_rows, 4))
    y = rng.random(n_rows) < 1 / (1 + np.exp(4 - X[:, 0] / 2 - X[:, 1] / 3))
    problem = Problem.build(PatternTable.from_arrays(X, y), Thresholds.tenths())
    integers = IntegerProblem.of(problem)
    for low, high in [(-10, 10), (0, 10), (1, 5), (3, 3)]:
        lower, upper = np.full(4, low), np.full(4, high)
        assert flow_bound(integers, lower, upper) == slow_flow_bound(integers, lower, upper)
