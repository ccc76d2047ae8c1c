"""The loops' own value, size and best points equal those counted from the data."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.problem import Problem, one_hot_groups
from netbenefit.solvers import state as _chain
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.kernels.coordinates import columns_of, make_state
from tests.helpers import slow_truth as reference
from tests.helpers.full import examples
from tests.helpers.strategies import count_questions, problems

MASK = 2**64 - 1


def objective_of(problem: Problem, value: float) -> float:
    return problem.to_objective(value)


@pytest.mark.parametrize("real", [False, True], ids=["exact", "real"])
@given(data=st.data())
@settings(max_examples=examples(300))
def test_state_is_right_after_any_number_of_steps(data: st.DataObject, real: bool) -> None:
    problem = data.draw(problems(real=real, max_points=3))
    columns = columns_of(problem)
    state = make_state(columns)
    chain = _chain.make_chain(problem, data.draw(st.integers(0, 99)))
    first = problem.nearest_to_zero()
    _chain.start(columns, state, chain, first, True)
    if chain.free.size == 0:
        return
    one = problem.value_of_one
    schedule = np.array([0.05 * one, 0.001 * one, 60.0])
    steps = data.draw(st.integers(1, 60))
    _chain.anneal(columns, state, chain, schedule, 0, steps)
    for points, value in ((state.points, chain.value[0]), (chain.best, chain.value[1])):
        assert problem.allows(points)
        exact = problem.evaluate(points)
        assert objective_of(problem, value) == pytest.approx(float(exact.objective), abs=1e-12)
    assert chain.size[0] == np.count_nonzero(state.points)
    if problem.questions.grouped:
        assert chain.size[2] == count_questions(problem, state.points)
    assert chain.value[1] >= chain.value[0]


@given(data=st.data())
@settings(max_examples=examples(200))
def test_one_hot_groups_shift_without_changing_the_value(data: st.DataObject) -> None:
    n = data.draw(st.integers(6, 14))
    levels = [0, 1, 2, *data.draw(st.lists(st.integers(0, 2), min_size=n - 3, max_size=n - 3))]
    X = np.column_stack([np.eye(3, dtype=int)[levels], np.arange(n) % 4])
    y = data.draw(
        st.lists(st.integers(0, 1), min_size=n, max_size=n).filter(lambda y: 0 < sum(y) < n)
    )
    limit = data.draw(st.none() | st.integers(1, 3))
    bounds = data.draw(st.sampled_from([None, {0: (-1, 3)}, {1: (0, 3)}, {2: (1, 3)}]))
    problem = Problem.build(
        PatternTable.from_arrays(X, y), Thresholds.tenths(), max_points=3, max_features=limit,
        bounds=bounds,
    )  # fmt: skip
    columns = columns_of(problem)
    state = make_state(columns)
    chain = _chain.make_chain(problem, 3)
    assert chain.group[:3].tolist() == [[0, 3]] * 3
    _chain.start(columns, state, chain, problem.nearest_to_zero(), True)
    one = problem.value_of_one
    _chain.anneal(columns, state, chain, np.array([0.1 * one, 0.01 * one, 200.0]), 0, 200)
    for points, value in ((state.points, chain.value[0]), (chain.best, chain.value[1])):
        assert problem.allows(points)
        assert objective_of(problem, value) == float(problem.evaluate(points).objective)


@given(data=st.data())
@settings(max_examples=examples(150))
def test_descent_ends_in_a_local_optimum(data: st.DataObject) -> None:
    problem = data.draw(problems(max_points=2))
    columns = columns_of(problem)
    state = make_state(columns)
    chain = _chain.make_chain(problem, 0)
    _chain.start(columns, state, chain, problem.nearest_to_zero(), True)
    if chain.free.size:
        _chain.anneal(columns, state, chain, _chain.DESCEND, 0, 2**62)
    value = problem.evaluate(chain.best).objective
    for k in range(problem.lower.size):
        for v in range(int(problem.lower[k]), int(problem.upper[k]) + 1):
            other = chain.best.copy()
            other[k] = v
            if problem.allows(other):
                assert problem.evaluate(other).objective <= value


@pytest.mark.parametrize("real", [False, True], ids=["exact", "real"])
@given(data=st.data())
@settings(max_examples=100)
def test_values_and_prices_are_those_of_the_problem(data: st.DataObject, real: bool) -> None:
    """Of one column, all else as it is; and of pairs, less what they gain."""
    problem = data.draw(problems(real=real, max_points=2))
    state = _chain.make_search_state(problem, 1)
    state.start(problem.nearest_to_zero(), True)
    one = problem.value_of_one
    if state.free.size:
        steps = data.draw(st.integers(0, 20))
        state.anneal(np.array([0.05 * one, 0.01 * one, 20.0]), 0, steps)
    first = state.points.copy()
    for k in state.free.tolist():
        values, allowed = state.values(k)
        for place, value in enumerate(values.tolist()):
            other = first.copy()
            other[k] = problem.lower[k] + place
            assert allowed[place] == problem.allows(other)
            if allowed[place]:
                counted = float(problem.evaluate(other).objective)
                assert objective_of(problem, value) == pytest.approx(counted, abs=1e-12)
    state.start(first, False)
    for k, j in itertools.combinations(state.free.tolist(), 2):
        prices, allowed = state.pair_prices(k, j)
        for a, b in np.ndindex(*allowed.shape):
            other = first.copy()
            other[[k, j]] = problem.lower[k] + a, problem.lower[j] + b
            assert allowed[a, b] == problem.allows(other)
            size, asked = np.count_nonzero(other), count_questions(problem, other)
            paid = problem.rates[1] * size
            if problem.questions.grouped:
                paid += problem.rates[2] * asked
            assert prices[a, b] == pytest.approx(float(paid), rel=1e-12)


@given(data=st.data())
@settings(max_examples=100)
def test_a_descent_along_some_columns_leaves_the_others(data: st.DataObject) -> None:
    problem = data.draw(problems(max_points=2))
    state = _chain.make_search_state(problem, 1)
    first = problem.nearest_to_zero()
    state.start(first, True)
    chosen = state.free[: data.draw(st.integers(0, state.free.size))].copy()
    state.descend_along(first, chosen)
    groups = problem.shift_groups[chosen]
    touched = {k for low, high in groups.tolist() for k in range(low, high)}
    others = [k for k in range(first.size) if k not in touched]
    assert (state.points[others] == first[others]).all()
    value = problem.evaluate(state.best).objective
    assert objective_of(problem, state.best_value) == float(value)
    for k in chosen.tolist():
        for v in range(int(problem.lower[k]), int(problem.upper[k]) + 1):
            other = state.best.copy()
            other[k] = v
            if problem.allows(other):
                assert problem.evaluate(other).objective <= value


def test_cutting_a_run_into_pieces_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 5)), rng.integers(0, 2, 60)
    problem = Problem.build(PatternTable.from_arrays(X, y), Thresholds.tenths())
    columns = columns_of(problem)
    one = problem.value_of_one
    schedule = np.array([0.05 * one, 0.001 * one, 300.0])
    ends = []
    for cuts in ([0, 300], [0, 1, 7, 100, 299, 300]):
        state = make_state(columns)
        chain = _chain.make_chain(problem, 5)
        _chain.start(columns, state, chain, problem.nearest_to_zero(), True)
        for begin, end in itertools.pairwise(cuts):
            _chain.anneal(columns, state, chain, schedule, begin, end)
        ends.append((state.points.tolist(), chain.best.tolist(), chain.value.tolist()))
    assert ends[0] == ends[1]


def test_groups_are_found_only_where_exactly_one_column_is_on() -> None:
    codes = np.array([[1, 0, 0, 1, 0, 1], [0, 1, 0, 1, 1, 0], [0, 0, 1, 1, 0, 1]])
    assert one_hot_groups(codes, (0,) * 6).tolist() == [
        [0, 3], [0, 3], [0, 3], [3, 4], [4, 6], [4, 6],
    ]  # fmt: skip
    overlapping = np.array([[1, 1], [0, 1]])
    assert one_hot_groups(overlapping, (0, 0)).tolist() == [[0, 1], [1, 2]]
    gap = np.array([[1, 0], [0, 1], [0, 0]])
    assert one_hot_groups(gap, (0, 0)).tolist() == [[0, 1], [1, 2]]
    constant = np.array([[1, 0, 0], [0, 0, 1]])
    assert one_hot_groups(constant, (0, 0, 0)).tolist() == [[0, 1], [1, 2], [2, 3]]


class Numbers:
    """splitmix64 in plain Python."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def __call__(self) -> float:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 11) / 2**53


def published_annealing(problem: Problem, settings: Annealing, start: list[int]) -> list[int]:
    """docs/method.md §5 word for word, with every value counted anew."""
    seed = np.random.SeedSequence(settings.seed).generate_state(1, dtype=np.uint64)[0]
    number = Numbers(int(seed))

    def loss(points: list[int]) -> Fraction:
        free = reference.objective(problem.patterns, problem.thresholds, Fraction(0), points)
        asked = count_questions(problem, np.array(points))
        further = sum(v != 0 for v in points) - asked
        return problem.penalty * asked + problem.rule_penalty * further - free

    free = [
        k
        for k, name in enumerate(problem.patterns.names)
        if problem.lower[k] < problem.upper[k] and name not in problem.patterns.constant
    ]
    current, best = list(start), list(start)
    for step in range(settings.n_steps):
        t = settings.temperature - settings.cooling * (step // settings.steps_per_temperature)
        k = free[int(number() * len(free))]
        others = [v for v in range(problem.lower[k], problem.upper[k] + 1) if v != current[k]]
        new = list(current)
        new[k] = others[int(number() * len(others))]
        if not problem.allows(new):
            continue
        worse = loss(new) - loss(current)
        if worse < 0 or number() < math.exp(-float(worse) / t):
            current = new
            if loss(current) < loss(best):
                best = list(current)
    return best


@given(data=st.data())
@settings(max_examples=25)
def test_annealing_is_the_published_one(data: st.DataObject) -> None:
    problem = data.draw(problems(max_points=2, max_rows=8, kinds=("binary", "small", "tenths")))
    solver = Annealing(
        temperature=0.02, cooling=0.001, steps_per_temperature=3, seed=data.draw(st.integers(0, 9))
    )
    start = problem.nearest_to_zero()
    got = solver.solve(problem)
    if (
        problem.patterns.n_features == len(problem.patterns.constant)
        or not (problem.lower < problem.upper).any()
    ):
        assert got.points.tolist() == start.tolist()
        return
    free = [
        k
        for k, name in enumerate(problem.patterns.names)
        if problem.lower[k] < problem.upper[k] and name not in problem.patterns.constant
    ]
    if not free:
        return
    expected = published_annealing(problem, solver, start.tolist())
    assert got.points.tolist() == problem.primitive(np.array(expected)).tolist()
