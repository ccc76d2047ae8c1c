from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings, strategies as st

from netbenefit.problem.problem import IntegerProblem
from netbenefit.solvers.bounds.supports import cells, support_bound
from tests.helpers.brute import all_points, all_values, random_problem
from tests.helpers.strategies import problems


def slow_gain(integers: IntegerProblem, columns: list[int]) -> int:
    """Sums by dictionary, threshold by threshold."""
    total = 0
    for row in integers.gains.tolist():
        sums: dict[tuple[int, ...], int] = {}
        for unit, gain in zip(integers.units.tolist(), row, strict=True):
            key = tuple(unit[k] for k in columns)
            sums[key] = sums.get(key, 0) + gain
        total += sum(max(v, 0) for v in sums.values())
    return total


def test_brute_force_values_are_those_of_the_integer_problem() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        integers = random_problem(rng, columns=3)
        points = all_points(integers)
        points = points[rng.permutation(len(points))[:15]]
        assert all_values(integers, points).tolist() == [integers.value(v) for v in points]


def best_support(integers: IntegerProblem, max_size: int) -> int:
    """Largest saturation bound of all supports, each counted by itself."""
    must = set(np.flatnonzero((integers.lower > 0) | (integers.upper < 0)).tolist())
    may = set(np.flatnonzero((integers.lower != 0) | (integers.upper != 0)).tolist()) - must
    return max(
        slow_gain(integers, sorted(must | set(more))) - integers.price * (len(must) + size)
        for size in range(min(len(may), max(0, max_size - len(must))) + 1)
        for more in combinations(sorted(may), size)
    )


def test_is_the_best_of_all_supports() -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        integers = random_problem(rng, rows=14, columns=6)
        for max_size in range(integers.lower.size + 1):
            bound = support_bound(integers, max_size)
            assert bound.complete
            assert bound.value == best_support(integers, max_size)


@settings(max_examples=60)
@given(problems(max_columns=5), st.integers(0, 5))
def test_is_the_best_of_all_supports_for_any_column(problem, max_size) -> None:
    integers = IntegerProblem.of(problem)
    assert support_bound(integers, max_size).value == best_support(integers, max_size)


def test_bounds_every_card_with_few_features() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        integers = random_problem(rng)
        points = all_points(integers)
        values, sizes = all_values(integers, points), (points != 0).sum(axis=1)
        max_size = int(rng.integers(0, integers.lower.size + 1))
        few = sizes <= max_size
        bound = support_bound(integers, max_size)
        assert not few.any() or values[few].max() <= bound.value


def test_an_incumbent_changes_nothing_but_the_floor() -> None:
    rng = np.random.default_rng(2)
    for _ in range(150):
        integers = random_problem(rng, columns=6)
        free = support_bound(integers, 3)
        incumbent = free.value + int(rng.integers(-4, 5))
        assert support_bound(integers, 3, incumbent).value == max(free.value, incumbent)


def test_stopping_early_leaves_a_valid_bound() -> None:
    rng = np.random.default_rng(3)
    for _ in range(150):
        integers = random_problem(rng, columns=6)
        true = support_bound(integers, 4).value
        stops = iter([False] * int(rng.integers(0, 12)) + [True] * 1000)
        bound = support_bound(integers, 4, should_stop=lambda stops=stops: next(stops))
        assert bound.value >= true
        assert not bound.complete or bound.value == true
    assert not support_bound(integers, 4, seconds=-1).complete


def test_rounded_gains_and_wide_tables() -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        integers = random_problem(rng, rows=40, columns=5, kinds=("wide", "binary"), thresholds=5)
        assert support_bound(integers, 3).value == best_support(integers, 3)


def test_cells_of_wide_columns_do_not_overflow() -> None:
    units = np.array([[0, 2**61, -(2**60)], [2**61, 0, 2**60], [0, 2**61, 2**60], [0, 0, 0]])
    numbers, count = cells(units[[0, 1, 2, 3, 0]], [0, 1, 2])
    assert count == 4
    assert numbers[0] == numbers[4]
    assert len(set(numbers.tolist())) == 4
