from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.problem import IntegerProblem, Problem
from netbenefit.solvers.bounds.conflicts import hitting_set
from netbenefit.solvers.bounds.farkas import Combination, FarkasCut, farkas_bound, nearly_separable
from netbenefit.solvers.bounds.signs import make_signs
from tests.helpers.brute import all_points, all_values, cut_loss, random_problem
from tests.helpers.strategies import problems


def check_cuts(integers: IntegerProblem, cuts: tuple[FarkasCut, ...], points: np.ndarray) -> None:
    """Each cut holds: by its combinations, and for all cards that avoid its elements."""
    losses = integers.ceiling - all_values(integers, points)
    losses -= integers.price * (points != 0).sum(axis=1)
    for cut in cuts:
        assert cut_loss(integers, cut) == cut.loss
        avoids = np.ones(len(points), dtype=bool)
        for k, sign in cut.elements:
            avoids &= points[:, k] * sign <= 0
        assert not avoids.any() or losses[avoids].min() >= cut.loss


def test_bounds_every_card_and_every_cut_holds() -> None:
    rng = np.random.default_rng(0)
    seen: Counter[str] = Counter()
    for _ in range(900):
        integers = random_problem(
            rng,
            rows=int(rng.choice([6, 12])),
            most=int(rng.integers(1, 3)),
            noise=float(rng.choice([0.0, 0.3, 0.9])),
        )
        points = all_points(integers)
        best = int(all_values(integers, points).max())
        incumbent = [None, best, best - 2, best + 3][int(rng.integers(0, 4))]
        reported: list[int] = []
        bound = farkas_bound(integers, incumbent=incumbent, on_bound=reported.append)
        assert bound.value >= best
        assert bound.finished
        assert reported == sorted(reported, reverse=True)
        assert reported[-1] == bound.value
        assert incumbent is None or bound.optimal == (bound.value <= incumbent)
        check_cuts(integers, bound.cuts, points)
        seen["combinations"] += any(
            len(c.gain_rows) > 1 for cut in bound.cuts for c in cut.combinations
        )
        seen["doubles"] += (
            make_signs(integers).columns.size
            < ((integers.lower != 0) | (integers.upper != 0)).sum()
        )
        seen["proven"] += incumbent == best and bound.optimal
    assert seen["combinations"] > 15
    assert seen["doubles"] > 30
    assert seen["proven"] > 80


def test_limits_on_the_support() -> None:
    rng = np.random.default_rng(1)
    for _ in range(400):
        integers = random_problem(rng, noise=float(rng.choice([0.0, 0.5])))
        points = all_points(integers)
        rows = int(rng.integers(1, 3))
        support = rng.integers(int(rng.integers(-1, 1)), 3, (rows, integers.lower.size))
        limit = rng.integers(0, 4, rows)
        kept = ((points != 0) @ support.T <= limit).all(axis=1)
        values = all_values(integers, points)
        incumbent = int(values[kept].max()) if kept.any() else int(values.max())
        bound = farkas_bound(integers, incumbent=incumbent, support=support, support_limit=limit)
        assert not kept.any() or bound.value >= incumbent
        free = farkas_bound(integers, incumbent=incumbent)
        assert bound.value <= free.value


@settings(max_examples=50)
@given(problems(max_points=2, max_columns=3, real=True) | problems(max_points=2, max_columns=3))
def test_bounds_the_objective_of_any_problem(problem) -> None:
    integers = IntegerProblem.of(problem)
    limits = problem.limits
    bound = farkas_bound(integers, support=limits.support, support_limit=limits.support_limit)
    points = all_points(integers)
    check_cuts(integers, bound.cuts, points)
    for vector in points[:: max(1, len(points) // 12)]:
        if problem.allows(vector):
            assert problem.evaluate(vector).objective <= integers.to_objective(bound.value)


def separable(rng: np.random.Generator) -> IntegerProblem:
    """All patterns of some binary columns, separated by a card with points −1, 0 and 1."""
    p = int(rng.integers(2, 5))
    X = np.array(list(product([0, 1], repeat=p)))
    X = X[rng.random(len(X)) < rng.choice([0.6, 1.0])]
    hidden = rng.integers(-1, 2, p)
    y = (X @ hidden >= rng.integers(-1, 2)).astype(int)
    if len(set(y.tolist())) < 2:
        return separable(rng)
    table = PatternTable.from_arrays(X, y, sample_weight=rng.integers(1, 4, len(X)))
    penalty = Fraction(int(rng.integers(1, 4)), 100)
    return IntegerProblem.of(
        Problem.build(table, Thresholds.tenths(), penalty=penalty, max_points=2)
    )


def test_proves_the_best_card_of_separable_data() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        integers = separable(rng)
        values = all_values(integers, all_points(integers))
        bound = farkas_bound(integers, incumbent=int(values.max()))
        assert bound.optimal
        assert bound.value == values.max()


def test_combinations_show_what_pairs_cannot() -> None:
    # 1100 + 0011 = 1010 + 0101, but four signs keep each pair of them in order
    X = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0]]
    table = PatternTable.from_arrays(X, [1, 1, 1, 0, 0, 0])
    problem = Problem.build(table, Thresholds.of([0.5]), penalty=Fraction(1, 1000), max_points=2)
    integers = IntegerProblem.of(problem)
    best = int(all_values(integers, all_points(integers)).max())
    bound = farkas_bound(integers, incumbent=best)
    assert bound.optimal
    assert bound.programs > 0
    assert any(len(c.gain_rows) == 2 for cut in bound.cuts for c in cut.combinations)


def test_stopping_early_leaves_a_valid_bound() -> None:
    rng = np.random.default_rng(3)
    for _ in range(150):
        integers = random_problem(rng, noise=0.3)
        best = int(all_values(integers, all_points(integers)).max())
        stops = iter([False] * int(rng.integers(0, 15)) + [True] * 10_000)
        bound = farkas_bound(integers, incumbent=best, should_stop=lambda stops=stops: next(stops))
        assert bound.value >= best
    late = farkas_bound(separable(rng), incumbent=0, seconds=-1)
    assert not late.finished


def test_tampered_cuts_are_refused() -> None:
    integers = separable(np.random.default_rng(4))
    cut = next(c for c in farkas_bound(integers, incumbent=0).cuts if c.elements)
    with pytest.raises(ValueError, match="in order"):
        cut_loss(integers, cut._replace(elements=()))
    broken = Combination((0,), (2,), (1,), (1,))
    with pytest.raises(ValueError, match="multipliers"):
        cut_loss(integers, cut._replace(combinations=(broken,)))
    twice = cut._replace(combinations=cut.combinations * 2)
    assert cut_loss(integers, twice) <= 2 * cut.loss - 1 or cut.loss == 0


def test_near_separability() -> None:
    integers = separable(np.random.default_rng(5))
    assert nearly_separable(integers, integers.ceiling)
    assert nearly_separable(integers, integers.ceiling - integers.price)
    assert not nearly_separable(integers, 0)


@pytest.mark.slow
def test_mushroom_needs_seven_features(data_folder) -> None:
    data = np.loadtxt(data_folder / "mushroom.csv", delimiter=",", skiprows=1)
    table = PatternTable.from_arrays(data[:, 1:], data[:, 0].astype(int))
    integers = IntegerProblem.of(Problem.build(table, Thresholds.tenths()))
    bound = farkas_bound(integers, incumbent=integers.ceiling - 7 * integers.price, seconds=300)
    assert bound.optimal
    assert all(cut_loss(integers, cut) == cut.loss for cut in bound.cuts)


@settings(max_examples=150)
@given(st.data())
def test_hitting_sets_against_brute_force(data) -> None:
    n = data.draw(st.integers(1, 7))
    family = np.array(
        data.draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), max_size=7)),
        dtype=bool,
    ).reshape(-1, n)
    most = data.draw(st.integers(0, 4))
    rival = np.full(n, -1)
    if n > 1 and data.draw(st.booleans()):
        rival[0], rival[1] = 1, 0
    weights = np.array([data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))])
    room = np.array([data.draw(st.integers(-1, 5))])
    found = hitting_set(family, most, rival=rival, weights=weights, room=room)
    assert found.complete

    def fits(chosen: tuple[int, ...]) -> bool:
        return (
            bool(family[:, list(chosen)].any(axis=1).all())
            and not any(rival[e] in chosen for e in chosen)
            and int(weights[0, list(chosen)].sum()) <= room[0]
        )

    exists = any(fits(c) for size in range(most + 1) for c in combinations(range(n), size))
    assert (found.elements is not None) == exists
    if found.elements is not None:
        assert fits(tuple(found.elements.tolist()))
        assert found.elements.size <= most


def test_hitting_sets_of_large_families_pause_and_go_on() -> None:
    rng = np.random.default_rng(6)
    family = np.zeros((60, 40), dtype=bool)
    for row in family:
        row[rng.permutation(40)[:4]] = True
    free = {"rival": np.full(40, -1), "weights": np.zeros((0, 40), int), "room": np.zeros(0, int)}
    assert not hitting_set(family, 11, **free, should_stop=lambda: True).complete
    patient = hitting_set(family, 11, **free)
    assert patient.complete
    assert patient.elements is None
    assert patient.nodes > 2000
