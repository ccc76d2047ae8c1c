from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings, strategies as st

from netbenefit.bounds.pieces import Pieces
from netbenefit.bounds.saturation import cells, saturated_gain, saturation_bound
from tests.bounds.brute import all_points, all_values, random_pieces
from tests.strategies import problems


def slow_gain(pieces: Pieces, columns: list[int]) -> int:
    """Sums by dictionary, threshold by threshold."""
    total = 0
    for row in pieces.gains.tolist():
        sums: dict[tuple[int, ...], int] = {}
        for unit, gain in zip(pieces.units.tolist(), row, strict=True):
            key = tuple(unit[k] for k in columns)
            sums[key] = sums.get(key, 0) + gain
        total += sum(max(v, 0) for v in sums.values())
    return total


def test_brute_force_values_are_those_of_pieces() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        pieces = random_pieces(rng, columns=3)
        points = all_points(pieces)
        points = points[rng.permutation(len(points))[:15]]
        assert all_values(pieces, points).tolist() == [pieces.value(v) for v in points]


@settings(max_examples=80)
@given(problems(), st.data())
def test_gain_is_that_of_free_calls(problem, data) -> None:
    pieces = Pieces.of(problem)
    columns = data.draw(st.lists(st.integers(0, pieces.lower.size - 1), unique=True))
    assert saturated_gain(pieces, columns) == slow_gain(pieces, columns)


@settings(max_examples=60)
@given(problems(max_points=2, max_columns=3, real=True))
def test_bounds_every_card_also_where_gains_are_rounded(problem) -> None:
    pieces = Pieces.of(problem)
    bound = saturation_bound(pieces, pieces.lower, pieces.upper)
    for points in all_points(pieces)[::7]:
        assert pieces.value(points) <= bound
        assert problem.evaluate(points).objective <= pieces.to_objective(bound)


def test_bounds_every_card_of_every_box() -> None:
    rng = np.random.default_rng(1)
    for _ in range(800):
        pieces = random_pieces(rng)
        lower = rng.integers(pieces.lower, pieces.upper + 1)
        upper = rng.integers(lower, pieces.upper + 1)
        points = all_points(pieces)
        values = all_values(pieces, points)
        inside = ((points >= lower) & (points <= upper)).all(axis=1)
        assert values[inside].max() <= saturation_bound(pieces, lower, upper)


def test_more_columns_never_lower_the_gain() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        pieces = random_pieces(rng)
        p = pieces.lower.size
        gains = {
            chosen: saturated_gain(pieces, np.flatnonzero(chosen))
            for chosen in product([0, 1], repeat=p)
        }
        for chosen, gain in gains.items():
            for k in range(p):
                assert gains[(*chosen[:k], 1, *chosen[k + 1 :])] >= gain


def test_cells_of_wide_columns_do_not_overflow() -> None:
    units = np.array([[0, 2**61, -(2**60)], [2**61, 0, 2**60], [0, 2**61, 2**60], [0, 0, 0]])
    numbers, count = cells(units[[0, 1, 2, 3, 0]], [0, 1, 2])
    assert count == 4
    assert numbers[0] == numbers[4]
    assert len(set(numbers.tolist())) == 4
