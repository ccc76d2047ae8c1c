from __future__ import annotations

import os
from copy import deepcopy
from dataclasses import replace
from itertools import combinations
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import given, settings, strategies as st

from netbenefit.problem.problem import IntegerProblem
from netbenefit.solvers.bounds.supports import _Orders, cells, support_bound
from tests.helpers.brute import all_points, all_values, random_problem
from tests.helpers.strategies import problems

#: Random problems: thousands in the full run (make test-full).
MANY = 3000 if os.environ.get("NETBENEFIT_FULL") else 150


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
        slow_gain(integers, sorted(must | set(more))) - price(integers, must | set(more))
        for size in range(min(len(may), max(0, max_size - len(must))) + 1)
        for more in combinations(sorted(may), size)
    )


def price(integers: IntegerProblem, columns: set[int]) -> int:
    """What columns and their questions cost."""
    asked = {int(integers.questions[k]) for k in columns}
    return integers.price * len(columns) + integers.question_price * len(asked)


def question_supports(integers: IntegerProblem, most: int) -> list[tuple[list[int], int]]:
    """All columns of so many questions, and the least that such cards pay."""
    must = set(np.flatnonzero((integers.lower > 0) | (integers.upper < 0)).tolist())
    may = np.flatnonzero((integers.lower != 0) | (integers.upper != 0))
    first = {int(integers.questions[k]): {k} for k in may[::-1].tolist()}
    for k in must:
        first[int(integers.questions[k])] = set()
    forced = {int(integers.questions[k]) for k in must}
    found = []
    for size in range(max(0, most - len(forced)) + 1):
        for more in combinations(sorted(set(first) - forced), size):
            own = [k for k in may.tolist() if int(integers.questions[k]) in forced | set(more)]
            found.append((own, price(integers, must.union(*(first[q] for q in more)))))
    return found


def slow_loss(integers: IntegerProblem, items: list[list[int]]) -> int:
    """What cells lose, by dictionaries: differences between one answer first, then between two."""
    left: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    for unit, gains in zip(integers.units.tolist(), integers.gains.T.tolist(), strict=True):
        key = tuple(tuple(unit[k] for k in own) for own in items)
        left[key] = [a + b for a, b in zip(left.get(key, [0] * len(gains)), gains, strict=True)]
    kinds: dict[Any, list[tuple[Any, Any]]] = {}
    for lower, upper in combinations(sorted(left), 2):
        moved = [j for j in range(len(items)) if lower[j] != upper[j]]
        if len(moved) <= 2:
            kind = len(moved), *((j, lower[j], upper[j]) for j in moved)
            kinds.setdefault(kind, []).append((lower, upper))
    total = 0
    for kind in sorted(kinds):
        least, most = span(integers, items, *kinds[kind][0])
        rising = [(a, b, i) for a, b in kinds[kind] for i in range(len(left[a]))]
        falling = [(b, a, i) for a, b, i in rising]
        if least >= 0 or most <= 0:
            total += spend(left, rising, 10**9) if least >= 0 else 0
            total += spend(left, falling, 10**9) if most <= 0 else 0
        else:
            copies = deepcopy(left), deepcopy(left)
            both = min(spend(copies[0], rising, 10**9), spend(copies[1], falling, 10**9))
            assert spend(left, rising, both) == spend(left, falling, both) == both
            total += both
    return total


def span(integers: IntegerProblem, items: list[list[int]], lower: Any, upper: Any) -> Any:
    """Least and most that one cell is worth beyond another."""
    least = most = 0
    for own, x, y in zip(items, lower, upper, strict=True):
        for k, a, b in zip(own, x, y, strict=True):
            ends = (b - a) * int(integers.lower[k]), (b - a) * int(integers.upper[k])
            least, most = least + min(ends), most + max(ends)
    return least, most


def spend(left: Any, pairs: Any, reach: int) -> int:
    """Use up gains of the first cell and losses of the second, up to ``reach``; return how much."""
    total = 0
    for a, b, i in pairs:
        x = min(max(0, left[a][i]), max(0, -left[b][i]), reach - total)
        left[a][i] -= x
        left[b][i] += x
        total += x
    return total


def test_what_cells_lose_is_counted_right_and_lost_by_every_card() -> None:
    rng = np.random.default_rng(5)
    compared = lost = 0
    while compared < MANY:
        integers = replace(random_problem(rng, rows=14, columns=5), questions=rng.integers(0, 3, 5))
        integers = replace(integers, questions=integers.questions[: integers.lower.size])
        may = np.flatnonzero((integers.lower != 0) | (integers.upper != 0)).tolist()
        items = [[k for k in may if integers.questions[k] == q] for q in range(3)]
        items = [own for own in items if own]
        if not items:
            continue
        orders = _Orders(integers, [], [np.array(own) for own in items])
        points = all_points(integers)
        values = all_values(integers, points) + integers.price * (points != 0).sum(axis=1)
        for q in range(3):
            values += integers.question_price * points[:, integers.questions == q].any(axis=1)
        for size in range(1, len(items) + 1):
            for chosen in combinations(range(len(items)), size):
                loss = orders.loss(chosen)
                own = [items[j] for j in chosen]
                assert loss == slow_loss(integers, own)
                columns = [k for columns in own for k in columns]
                inside = (np.delete(points, columns, axis=1) == 0).all(axis=1)
                if inside.any():
                    assert values[inside].max() <= slow_gain(integers, columns) - loss
                compared, lost = compared + 1, lost + (loss > 0)
    assert lost > compared // 20


def test_questions_with_the_same_cells_may_order_them_differently() -> None:
    """Only the second question can put the pattern that is worth calling above the other one."""
    integers = replace(
        random_problem(np.random.default_rng(0)),
        units=np.array([[0, 1], [1, 0]]),
        unit=1,
        gains=np.array([[-5, 5]]),
        price=1,
        question_price=1,
        questions=np.arange(2),
        lower=np.array([-1, -1]),
        upper=np.array([0, 1]),
    )
    assert support_bound(integers, 2, most_questions=1).value == 5 - 2
    one_way = replace(integers, upper=np.array([0, 1]), lower=np.array([-1, 0]))
    assert support_bound(one_way, 2, most_questions=1).value == 0


def test_bounds_every_card_with_few_questions() -> None:
    rng = np.random.default_rng(6)
    sharper = 0
    for _ in range(MANY):
        integers = random_problem(rng, rows=12, columns=5)
        integers = replace(
            integers, questions=rng.integers(0, 3, integers.lower.size), question_price=1
        )
        points = all_points(integers)
        values = all_values(integers, points)
        asked = sum(
            (points[:, integers.questions == q] != 0).any(axis=1).astype(int) for q in range(3)
        )
        size, most = int(rng.integers(1, 6)), int(rng.integers(0, 3))
        few = (asked <= most) & ((points != 0).sum(axis=1) <= size)
        bound = support_bound(integers, size, most_questions=most)
        assert bound.complete
        assert not few.any() or values[few].max() <= bound.value
        if most < size:
            saturated = max(
                slow_gain(integers, own) - paid for own, paid in question_supports(integers, most)
            )
            assert bound.value <= saturated
            sharper += bound.value < saturated
            with mock.patch.object(_Orders, "loss", return_value=0):
                assert support_bound(integers, 5, most_questions=most).value == saturated
        stops = iter([False] * int(rng.integers(0, 6)) + [True] * 1000)
        early = support_bound(
            integers, size, most_questions=most, should_stop=lambda stops=stops: next(stops)
        )
        assert early.value >= bound.value
        incumbent = bound.value + int(rng.integers(-4, 5))
        on_bound: list[int] = []
        again = support_bound(
            integers, size, incumbent, most_questions=most, on_bound=on_bound.append, n_jobs=2
        )
        assert again.value == max(bound.value, incumbent)
        assert on_bound == sorted(on_bound, reverse=True)
        assert min(on_bound, default=again.value) >= again.value
    assert sharper > MANY // 50


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
