"""The compiled kernels against plain Python, on thousands of random problems."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.levels import allowed_cutoffs, floor_scores
from netbenefit.problem.problem import Problem
from netbenefit.solvers.kernels import coordinates as compiled
from netbenefit.solvers.kernels.coordinates import (
    GROUP,
    IN_USE,
    State,
    columns_of,
    make_state,
    pack_masses,
    pair_gains,
)
from tests.helpers import slow_truth as reference
from tests.helpers.full import examples
from tests.helpers.strategies import points_of, problems, tables

EXAMPLES = examples(500)


def value_of(problem: Problem, gain: float) -> Fraction | float:
    """Net benefit of a kernel's gain: a fraction where everything is exact."""
    worth = problem.rates.tolist()[0]
    value = worth * (int(gain) if problem.rates.dtype.kind == "i" else float(gain))
    scale = problem._scale
    if problem.rates.dtype.kind == "i":
        return (Fraction(value) + scale.constant) / scale.total
    return (value + float(scale.constant)) / float(scale.total)


def agree(problem: Problem, got: Fraction | float, expected: Fraction) -> bool:
    if isinstance(got, Fraction):
        return got == expected
    return got == pytest.approx(float(expected), abs=1e-12)


def placed(problem: Problem, points: np.ndarray) -> State:
    state = make_state(columns_of(problem))
    compiled.place(columns_of(problem), state, points)
    return state


def expected(problem: Problem, points: np.ndarray) -> Fraction:
    return reference.weighted_net_benefit(problem.patterns, problem.thresholds, points.tolist())


def check_coordinates(problem: Problem, state: State, points: np.ndarray) -> None:
    """Every value of every coordinate; the state must come out as it went in."""
    before = [array.copy() for array in (state.score, state.hist, state.window)]
    for k in range(points.size):
        values = list(range(int(problem.lower[k]), int(problem.upper[k]) + 1))
        out = np.zeros(len(values), dtype=problem.rates.dtype)
        compiled.coordinate_gains(columns_of(problem), state, k, out)
        truth = reference.coordinate_objectives(
            problem.patterns, problem.thresholds, Fraction(0), points.tolist(), k, values
        )
        for v, gain, exact in zip(values, out, truth, strict=True):
            assert agree(problem, value_of(problem, gain), exact), (k, v)
    for array, old in zip((state.score, state.hist, state.window), before, strict=True):
        np.testing.assert_array_equal(array, old)
    assert not state.work.any()


@pytest.mark.parametrize("real", [False, True], ids=["exact", "real"])
@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_gain_and_all_values_of_a_coordinate(data: st.DataObject, real: bool) -> None:
    problem = data.draw(problems(real=real))
    assert columns_of(problem).gains.dtype.kind == ("f" if real else "i")
    points = points_of(data.draw, problem)
    state = placed(problem, points)
    gain = compiled.gain_now(columns_of(problem), state)
    assert agree(problem, value_of(problem, gain), expected(problem, points))
    check_coordinates(problem, state, points)


@given(data=st.data())
@settings(max_examples=examples(300))
def test_few_valued_columns_with_many_rows_in_few_scores(data: st.DataObject) -> None:
    problem = data.draw(
        problems(max_points=3, max_rows=60, max_columns=2, kinds=("small", "binary"))
    )
    check_coordinates(problem, placed(problem, p := points_of(data.draw, problem)), p)


@given(data=st.data())
@settings(max_examples=examples(300))
def test_tables_of_two_valued_columns_need_no_other_recipe(data: st.DataObject) -> None:
    """Also where one column moves scores much farther than all others."""
    most = data.draw(st.sampled_from([1, 5, 400]))
    problem = data.draw(problems(max_points=most, max_rows=30, kinds=("binary",)))
    assert columns_of(problem).mixed is None
    check_coordinates(problem, placed(problem, p := points_of(data.draw, problem)), p)


@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_moves_equal_a_fresh_start(data: st.DataObject) -> None:
    problem = data.draw(problems())
    columns = columns_of(problem)
    state = placed(problem, points_of(data.draw, problem))
    for _ in range(data.draw(st.integers(1, 6))):
        k = data.draw(st.integers(0, problem.lower.size - 1))
        v = data.draw(st.integers(int(problem.lower[k]), int(problem.upper[k])))
        compiled.move(columns, state, k, v)
    fresh = placed(problem, state.points.copy())
    np.testing.assert_array_equal(state.score, fresh.score)
    np.testing.assert_array_equal(state.window[1:], fresh.window[1:])
    assert compiled.gain_now(columns, state) == compiled.gain_now(columns, fresh)
    if fresh.window[IN_USE]:
        low, high = fresh.window[1:3]
        mine = state.hist[low - state.window[0] : high - state.window[0] + 1]
        theirs = fresh.hist[low - fresh.window[0] : high - fresh.window[0] + 1]
        np.testing.assert_array_equal(mine, theirs)
        assert state.hist.sum() == fresh.hist.sum()


@pytest.mark.parametrize("real", [False, True], ids=["exact", "real"])
@given(data=st.data())
@settings(max_examples=examples(500))
def test_all_pairs_of_values(data: st.DataObject, real: bool) -> None:
    kinds = ("binary", "binary", "two", "wide", "tenths")
    problem = data.draw(problems(real=real, max_points=2, max_rows=8, kinds=kinds))
    size = problem.lower.size
    if size < 2:
        return
    points = points_of(data.draw, problem)
    state = placed(problem, points)
    k = data.draw(st.integers(0, size - 1))
    j = data.draw(st.integers(0, size - 1).filter(lambda j: j != k))
    ranges = [list(range(int(problem.lower[i]), int(problem.upper[i]) + 1)) for i in (k, j)]
    out = np.zeros((len(ranges[0]), len(ranges[1])), dtype=problem.rates.dtype)
    two_valued = np.diff(columns_of(problem).column[:, GROUP])[[k, j]].tolist() == [1, 1]
    state.keys[:4] = -1  # whatever an earlier sort has left
    done = pair_gains(columns_of(problem), state, k, j, out)
    if not done:  # another kind of column, or no room for the range of scores
        return
    assert two_valued
    truth = reference.pair_objectives(
        problem.patterns, problem.thresholds, Fraction(0), points.tolist(), (k, j),
        (ranges[0], ranges[1]),
    )  # fmt: skip
    pairs = [(v, w) for v in ranges[0] for w in ranges[1]]
    for pair, gain, exact in zip(pairs, out.ravel(), truth, strict=True):
        assert agree(problem, value_of(problem, gain), exact), pair
    np.testing.assert_array_equal(state.points, points)


def test_pairs_of_binary_columns_take_the_fast_way() -> None:
    rng = np.random.default_rng(0)
    table = PatternTable.from_arrays(rng.integers(0, 2, (50, 3)), rng.integers(0, 2, 50))
    problem = Problem.build(table, Thresholds.tenths())
    out = np.zeros((21, 21), dtype=np.int64)
    assert pair_gains(columns_of(problem), placed(problem, np.array([3, -1, 10])), 0, 2, out)
    best = max(
        expected(problem, np.array([v, -1, w])) for v in range(-10, 11) for w in range(-10, 11)
    )
    assert value_of(problem, out.max()) == best


@given(tables(), st.data())
@settings(max_examples=examples(500))
def test_cutoffs(table: PatternTable, data: st.DataObject) -> None:
    grid = data.draw(st.sampled_from([Thresholds.tenths(), Thresholds.of([0.0857, 1 / 3, 0.7])]))
    points = np.array([data.draw(st.integers(-5, 5)) for _ in table.names])
    scores = floor_scores(table.codes, table.decimals, points)
    assert scores.tolist() == reference.floor_scores(table.codes, table.decimals, points.tolist())
    odds = [p / (1 - p) for p in grid.fractions]
    masses, free = (table.positives, table.negatives), [(Fraction(0), None)] * len(odds)
    got = allowed_cutoffs(scores, masses, odds, free, masses)
    truth = [
        reference.best_cutoff(
            scores.tolist(), table.positives.tolist(), table.negatives.tolist(), r
        )
        for r in odds
    ]
    assert got == truth
    cutoffs = [cutoff for cutoff, _ in got]
    assert cutoffs == sorted(cutoffs)  # the order of the cut-offs comes for free


def test_huge_points_and_values_use_wide_scores_and_sorting() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(-(10**7), 10**7, (40, 2))
    y = rng.integers(0, 2, 40)
    problem = Problem.build(
        PatternTable.from_arrays(X, y), Thresholds.tenths(), bounds={0: (10**6, 10**6 + 2)}
    )
    assert columns_of(problem).steps.dtype == np.int64
    points = np.array([10**6 + 1, -3])
    state = placed(problem, points)
    assert state.window[IN_USE] == 0
    check_coordinates(problem, state, points)


def test_every_recipe_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """The random problems above test something only if they reach all four recipes."""
    rng = np.random.default_rng(0)
    n = 400
    X = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 3, n), rng.integers(0, 30, n) / 10])
    problem = Problem.build(
        PatternTable.from_arrays(X, rng.integers(0, 2, n)), Thresholds.tenths(), max_points=2
    )
    groups = np.diff(columns_of(problem).column[:, GROUP])
    assert groups.tolist() == [1, 2, 0]  # two-valued, few-valued, fractional
    assert columns_of(problem).mixed
    points = np.array([1, 1, 1])
    state = placed(problem, points)
    listed = np.diff(columns_of(problem).column[:, 0])[1]
    size = state.window[2] - state.window[1] + 1
    assert 2 * size < listed  # the few-valued recipe is the one that is taken
    check_coordinates(problem, state, points)


def test_counts_too_large_to_pack_become_complex() -> None:
    assert pack_masses(np.array([2**31]), np.array([1])).dtype == np.complex128
    assert pack_masses(np.array([2**31 - 1]), np.array([1])).dtype == np.int64
    table = PatternTable.from_arrays([[0], [1]], [0, 1], sample_weight=[2**40, 2**40])
    problem = Problem.build(table, Thresholds.tenths())
    assert columns_of(problem).gains.dtype == np.float64
    points = np.array([1])
    gain = compiled.gain_now(columns_of(problem), placed(problem, points))
    assert agree(problem, value_of(problem, gain), expected(problem, points))
