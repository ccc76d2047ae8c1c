"""The covering relaxation against brute force: cuts, multipliers, bounds, trees."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.problem import IntegerProblem, Problem
from netbenefit.solvers.bounds.cover_program import CoverProgram, lagrangian
from netbenefit.solvers.bounds.covering import CoverTree, Effort, covering_bound
from netbenefit.solvers.bounds.cuts import GRID, CutPool, PoolView, coefficients, make_box
from netbenefit.solvers.bounds.multipliers import null_multipliers
from tests.helpers.strategies import GRIDS, problems

KINDS = ("binary", "binary", "two", "small", "wide", "tenths", "thousandths", "constant")


def all_values(integers: IntegerProblem, lower: np.ndarray, upper: np.ndarray) -> dict[tuple, int]:
    """Every vector of a box with its value."""
    ranges = [range(int(a), int(b) + 1) for a, b in zip(lower, upper, strict=True)]
    found = {}
    for vector in itertools.product(*ranges):
        scores = (integers.units @ np.array(vector, dtype=np.int64)) // integers.unit
        called = scores[:, None] >= scores[None, :]
        best = np.maximum((integers.gains @ called).max(axis=1), 0)
        rules = [k for k, v in enumerate(vector) if v]
        asked = {int(integers.questions[k]) for k in rules}
        paid = integers.price * len(rules) + integers.question_price * len(asked)
        found[vector] = int(best.sum()) - paid
    return found


def sub_box(draw: st.DrawFn, integers: IntegerProblem) -> tuple[np.ndarray, np.ndarray]:
    """A box within the problem's own."""
    lower, upper = integers.lower.copy(), integers.upper.copy()
    for k in range(lower.size):
        if draw(st.booleans()):
            lower[k] = draw(st.integers(int(lower[k]), int(upper[k])))
            upper[k] = draw(st.integers(int(lower[k]), int(upper[k])))
    return lower, upper


@st.composite
def one_hot_problems(draw: st.DrawFn, max_rows: int = 9) -> Problem:
    """A group of columns of which every row has one, and a column of another kind."""
    n = draw(st.integers(3, max_rows))
    level = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    other = draw(st.lists(st.sampled_from([0, 1, 2.5]), min_size=n, max_size=n))
    X = np.column_stack([np.eye(2)[level], other])
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n).filter(lambda y: 0 < sum(y) < n))
    table = PatternTable.from_arrays(X, y)
    return Problem.build(
        table,
        draw(st.sampled_from(GRIDS)),
        penalty=draw(st.sampled_from(["paper", 0.0])),
        max_points=2,
    )


@st.composite
def cases(draw: st.DrawFn, max_points: int = 2, max_columns: int = 3, max_rows: int = 9):
    """A problem and a box; some problems are rounded (real weights), some have one-hot groups."""
    if draw(st.integers(0, 4)) == 0:
        problem = draw(one_hot_problems(max_rows))
    else:
        problem = draw(
            problems(
                max_points=max_points,
                max_columns=max_columns,
                max_rows=max_rows,
                kinds=KINDS,
                real=draw(st.integers(0, 4)) == 0,
            )
        )
    integers = IntegerProblem.of(problem)
    return integers, *sub_box(draw, integers)


def inside(box_low, box_high, vector) -> bool:
    return bool(((box_low <= vector) & (vector <= box_high)).all())


def check_leaves(integers, leaves, values) -> None:
    """Leaves cover the box, and none is worth less than a vector in it."""
    for vector, value in values.items():
        homes = [leaf for leaf in leaves if inside(leaf.lower, leaf.upper, np.array(vector))]
        assert len(homes) == 1
        assert homes[0].value >= value


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_twin_is_the_slow_truth(data):
    integers, lower, upper = data.draw(cases())
    for vector, value in list(all_values(integers, lower, upper).items())[:5]:
        assert integers.value(vector) == value


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_cut_holds_for_every_vector_and_cutoff(data):
    integers, lower, upper = data.draw(cases())
    i = data.draw(st.integers(0, integers.gains.shape[0] - 1))
    good = np.flatnonzero(integers.gains[i] > 0).tolist()
    bad = np.flatnonzero(integers.gains[i] < 0).tolist()
    if not good or not bad:
        return
    u = data.draw(st.lists(st.sampled_from(good), min_size=1, max_size=3, unique=True))
    w = data.draw(st.lists(st.sampled_from(bad), min_size=1, max_size=3, unique=True))
    huge = data.draw(st.sampled_from([1, 1, 10**18]))
    alpha = [huge * data.draw(st.integers(1, 4)) for _ in u]
    beta = [huge * data.draw(st.integers(1, 4)) for _ in w]
    alpha, beta = [a * sum(beta) for a in alpha], [b * sum(alpha) for b in beta]
    pool = CutPool(integers)
    number = pool.add(u, w, alpha + beta)
    assert number == 0
    box = make_box(integers, lower, upper)
    cut = pool.cuts[0]
    shares = coefficients(cut, box)
    if shares is None:
        return
    plus, minus = shares
    view = PoolView(pool, box)
    assert np.allclose(np.ceil(np.round(view.plus[0] * GRID, 6)), plus, atol=1)
    assert np.allclose(np.ceil(np.round(view.minus[0] * GRID, 6)), minus, atol=1)
    assert cut.valid[i]
    for vector in all_values(integers, lower, upper):
        point = np.array(vector)
        scores = (integers.units @ point) // integers.unit
        signs = int(plus[point > 0].sum() + minus[point < 0].sum())
        for cutoff in [*scores.tolist(), int(scores.max()) + 1]:
            called = scores >= cutoff
            lost = int((~called[u]).sum() + called[w].sum())
            assert lost * GRID + signs >= GRID


def test_a_pool_refuses_what_proves_nothing():
    integers = small_problem()
    pool = CutPool(integers)
    assert pool.add([1], [0], [1, 2]) is None  # sums differ
    assert pool.add([1], [0], [0, 0]) is None
    assert pool.add([0], [1], [1, 1]) is None  # wrong sides
    assert pool.add([1], [0], [1, 1]) == 0
    assert pool.add([1], [0], [2, 2]) == 0  # the same cut
    assert len(pool) == 1


def small_problem(penalty: float = 0.01) -> IntegerProblem:
    rows = [[0, 0], [1, 0], [0, 1], [1, 1]]
    table = PatternTable.from_arrays(rows, [0, 1, 1, 0])
    problem = Problem.build(table, Thresholds.of([0.5]), penalty=penalty, max_points=2)
    integers = IntegerProblem.of(problem)
    order = [table.codes.tolist().index(row) for row in rows]
    assert order == [0, 2, 1, 3] or order == [0, 1, 2, 3]
    return integers


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_multipliers_give_a_bound(data):
    integers, lower, upper = data.draw(cases(max_columns=2))
    box = make_box(integers, lower, upper)
    pool = CutPool(integers)
    m = integers.gains.shape[0]
    names = []
    for i in range(m):
        for u in np.flatnonzero(integers.gains[i] > 0).tolist():
            for w in np.flatnonzero(integers.gains[i] < 0).tolist():
                names.append((pool.add([u], [w], [1, 1]), i))
    program = CoverProgram(pool, box)
    program.add(names)
    rows = program._rows()
    size = rows.start.size - 1
    top = float(np.abs(integers.gains).max())
    kinds = st.one_of(st.floats(0, 2 * top), st.sampled_from([0.0, 1e300, np.inf, np.nan]))
    duals = np.array(data.draw(st.lists(kinds, min_size=size, max_size=size)))
    best = max(all_values(integers, lower, upper).values())
    assert lagrangian(integers, box, rows, duals) >= best
    program.solve(time.perf_counter() + 10)
    assert program.bound() >= best
    program.purge()
    assert program.bound() >= best


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_every_bound_of_a_tree_is_above_brute_force(data):
    integers, lower, upper = data.draw(cases())
    values = all_values(integers, lower, upper)
    best = max(values.values())
    incumbent = data.draw(st.sampled_from([None, best, best - 3, best + 5]))
    reported: list[int] = []
    answer = covering_bound(
        replace(integers, lower=lower, upper=upper),
        incumbent=incumbent,
        on_bound=reported.append,
        most_nodes=data.draw(st.sampled_from([0, 1, 3, 12])),
        effort=Effort(searches=data.draw(st.integers(1, 3))),
    )
    check_leaves(integers, answer.leaves, values)
    assert answer.value == max(leaf.value for leaf in answer.leaves) >= best
    assert reported == sorted(set(reported), reverse=True)
    assert reported[-1] == answer.value


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_a_tree_without_limits_finds_the_optimum(data):
    integers, lower, upper = data.draw(cases(max_points=1, max_rows=7))
    best = max(all_values(integers, lower, upper).values())
    box = replace(integers, lower=lower, upper=upper)
    answer = covering_bound(box, incumbent=best, effort=Effort(searches=1))
    assert answer.value == best


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_support_rows(data):
    integers, lower, upper = data.draw(cases())
    p = lower.size
    row = data.draw(st.lists(st.integers(-1, 1), min_size=p, max_size=p))
    limit = data.draw(st.integers(-1, p))
    values = all_values(integers, lower, upper)
    allowed = [
        value
        for vector, value in values.items()
        if sum(r for r, v in zip(row, vector, strict=True) if v) <= limit
    ]
    answer = covering_bound(
        replace(integers, lower=lower, upper=upper),
        support=np.array([row]),
        support_limit=np.array([limit]),
        most_nodes=4,
        effort=Effort(searches=2),
    )
    if allowed:
        assert answer.value >= max(allowed)


def blobs(seed: int = 0, n: int = 40, p: int = 4, columns: str = "mixed") -> IntegerProblem:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, p)).astype(float)
    if columns == "mixed":
        X[:, 0] = rng.integers(0, 30, size=n) / 10
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 2.5).astype(int)
    problem = Problem.build(PatternTable.from_arrays(X, y), Thresholds.tenths(), max_points=3)
    return IntegerProblem.of(problem)


def test_two_threads_agree_with_brute_force_and_the_root_is_not_trivial():
    integers = blobs()
    values = all_values(integers, integers.lower, integers.upper)
    best = max(values.values())
    answer = covering_bound(integers, incumbent=best, n_jobs=2, most_nodes=9, seconds=20)
    assert best <= answer.value < integers.ceiling
    for leaf in answer.leaves:
        held = [v for vector, v in values.items() if inside(leaf.lower, leaf.upper, vector)]
        assert leaf.value >= max(held)
    assert answer.cuts > 0
    assert answer.nodes <= 10


def test_it_stops_on_request():
    integers = blobs(n=200, p=8)
    begin = time.perf_counter()
    answer = covering_bound(integers, seconds=0.5)
    assert time.perf_counter() - begin < 120  # ended, not hung
    assert answer.value <= integers.ceiling
    stopped = covering_bound(integers, should_stop=lambda: True)
    assert stopped.nodes == 0
    assert stopped.value <= integers.ceiling


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_callback_reaches_the_caller(n_jobs):
    def fail(value: int) -> None:
        if value < integers.ceiling - 1:
            raise RuntimeError("enough")

    integers = blobs()
    with pytest.raises(RuntimeError, match="enough"):
        covering_bound(integers, on_bound=fail, n_jobs=n_jobs)


def test_tags_a_box_is_part_of_every_coefficient():
    """A cut that helps only where x0 must be positive is weaker elsewhere."""
    integers = small_problem()
    pool = CutPool(integers)
    good, bad = int(np.argmax(integers.gains[0])), int(np.argmin(integers.gains[0]))
    pool.add([good], [bad], [1, 1])
    wide = make_box(integers, np.array([-2, -2]), np.array([2, 2]))
    direction = pool.cuts[0].direction
    k = int(np.flatnonzero(direction)[0])
    low, high = np.array([-2, -2]), np.array([2, 2])
    if direction[k] > 0:
        high[k] = -1
    else:
        low[k] = 1
    narrow = make_box(integers, low, high)
    here, there = coefficients(pool.cuts[0], narrow), coefficients(pool.cuts[0], wide)
    assert here is not None
    assert there is not None
    assert sum(map(np.sum, here)) < sum(map(np.sum, there))


# -- multipliers ---------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_multipliers_cancel_exactly(data):
    m = data.draw(st.integers(2, 6))
    rows = data.draw(st.integers(1, m - 1))
    size = data.draw(st.sampled_from([3, 1000, 10**7]))
    entries = st.integers(-size, size)
    matrix = np.array([[data.draw(entries) for _ in range(m)] for _ in range(rows)])
    hidden = np.array([data.draw(st.integers(1, 9)) for _ in range(m)])
    matrix[:, -1] -= matrix @ hidden  # hidden times (1, …, 1) is a solution with the last entry 1
    hidden[-1] = 1
    matrix[:, -1] += 0
    found = null_multipliers(matrix.astype(np.int64), hidden / hidden.sum())
    if found is not None:
        assert min(found) > 0
        assert all(sum(int(a) * v for a, v in zip(row, found, strict=True)) == 0 for row in matrix)


def test_multipliers_with_many_digits():
    matrix = np.array([[10**9 + 7, -(10**9), 3, 0], [5, 10**8 + 1, -(10**8), 1], [1, 1, 1, -3]])
    weights = np.array([0.25, 0.25, 0.25, 0.25])
    found = null_multipliers(matrix, weights)
    if found is not None:
        assert all(sum(int(a) * v for a, v in zip(row, found, strict=True)) == 0 for row in matrix)
    assert null_multipliers(np.eye(3, dtype=np.int64), np.ones(3)) is None


def test_the_tree_reports_leaves_of_boxes_in_work():
    integers = blobs()
    tree = CoverTree(
        integers,
        covering_bound(integers, most_nodes=0).leaves,
        incumbent=None,
        deadline=time.perf_counter() + 5,
        on_bound=lambda value: None,
        should_stop=lambda: False,
        most_nodes=2,
    )
    tree.run()
    assert tree.bound() == max(part.value for part in tree.leaves())
