"""The direction-sign bound against brute force, and against the linear program it solves."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from netbenefit.problem import Asked, Boxes, IntegerProblem
from netbenefit.solvers.bounds import directions as pairs_of
from netbenefit.solvers.bounds.directions import direction_bound, sharpened
from netbenefit.solvers.bounds.packed import Packer, Rules
from tests.helpers.slow_packed import packed_value
from tests.helpers.strategies import problems


def brute_force(integers: IntegerProblem, lower: np.ndarray, upper: np.ndarray) -> int:
    """Best value of a vector in the box, all vectors at once."""
    ranges = [range(int(a), int(b) + 1) for a, b in zip(lower, upper, strict=True)]
    vectors = np.array(list(product(*ranges)), dtype=np.int64)
    scores = (vectors @ integers.units.T) // integers.unit
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=1)
    last = np.ones(ranked.shape, dtype=bool)
    last[:, :-1] = ranked[:, 1:] != ranked[:, :-1]
    total = -integers.price * np.count_nonzero(vectors, axis=1)
    for question in np.unique(integers.questions):
        used = (vectors[:, integers.questions == question] != 0).any(axis=1)
        total -= integers.question_price * used
    for gains in integers.gains:
        sums = np.where(last, np.cumsum(gains[order], axis=1), 0)
        total += np.maximum(sums.max(axis=1), 0)
    return int(total.max())


def random_problem(rng: np.random.Generator) -> IntegerProblem:
    """A problem of any kind: binary, small whole, fractional or mixed columns, repeated rows."""
    n, n_columns, m = int(rng.integers(2, 12)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    unit = int(rng.choice([1, 1, 1, 10]))
    top = rng.choice([1, 1, 1, 2, 3, 17], size=n_columns)
    units = rng.integers(0, top + 1, size=(n, n_columns)) * np.where(top <= 3, unit, 1)
    if rng.random() < 0.2:
        units[:, 0] -= 3
    gains = rng.integers(-9, 10, size=(m, n)) * int(rng.choice([1, 1, 1000]))
    widest = 2 if n_columns > 2 else 4
    low = rng.integers(-widest, widest + 1, size=n_columns)
    high = rng.integers(-widest, widest + 1, size=n_columns)
    wide = rng.random(n_columns) < 0.6
    lower = np.where(wide, -widest, np.minimum(low, high))
    upper = np.where(wide, widest, np.maximum(low, high))
    price = int(rng.choice([0, 1, 3, 500]))
    return IntegerProblem(
        units.astype(np.int64),
        unit,
        gains.astype(np.int64),
        price,
        int(rng.choice([0, 2, 100])),
        rng.integers(0, n_columns, n_columns),
        lower.astype(np.int64),
        upper.astype(np.int64),
        Fraction(0),
        Fraction(1),
        True,
    )


def slow_value(integers: IntegerProblem, boxes: Boxes) -> int:
    """What the multipliers of the only box give, counted by the slow twin."""
    packing = boxes.packing
    assert packing is not None
    assert len(boxes) == 1
    pairs = packing.conflicts
    told = [
        (
            int(pairs.threshold[c]),
            {int(pairs.pattern[2 * c]): 1, int(pairs.pattern[2 * c + 1]): -1},
            int(amount),
            int(way),
        )
        for c, amount, way in zip(packing.conflict, packing.amount, packing.way, strict=True)
    ]
    assert (pairs.times.reshape(-1, 2) == [1, -1]).all()
    flags = np.full(int(integers.questions.max()) + 1, int(Asked.EITHER))
    box = boxes.lower[0], boxes.upper[0], flags
    value = packed_value(integers, Rules.none(integers), box, told, [])
    assert value is not None
    return value


@pytest.mark.parametrize("seed", range(10))
def test_no_vector_beats_the_bound_of_any_iterate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tight = 0
    for _ in range(250):
        integers = random_problem(rng)
        best = brute_force(integers, integers.lower, integers.upper)
        weight = int(rng.integers(1, 5))
        for iterations in (0, 1, 5, 150):
            bound = direction_bound(integers, iterations=iterations, weight=weight)
            assert bound.value >= best
            assert bound.iterations <= iterations
            assert slow_value(integers, bound.boxes) <= bound.value == bound.boxes.values.max()
        tight += bound.value == best
    assert tight >= 50  # often the optimum itself


def test_fast_brute_force_equals_the_slow_one() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        integers = random_problem(rng)
        vector = rng.integers(integers.lower, integers.upper + 1)
        assert brute_force(integers, vector, vector) == integers.value(vector.tolist())


@settings(max_examples=80, deadline=None)
@given(st.data(), st.booleans())
def test_real_problems_and_boxes_within(data: st.DataObject, real: bool) -> None:
    problem = data.draw(problems(max_points=2, max_rows=8, max_columns=3, real=real))
    integers = IntegerProblem.of(problem)
    low = np.array([data.draw(st.integers(a, b)) for a, b in zip(integers.lower, integers.upper)])  # noqa: B905
    high = np.array([data.draw(st.integers(a, b)) for a, b in zip(low, integers.upper)])  # noqa: B905
    whole = direction_bound(integers, iterations=60)
    inside = direction_bound(replace(integers, lower=low, upper=high), iterations=60)
    assert whole.value >= brute_force(integers, integers.lower, integers.upper)
    assert inside.value >= brute_force(integers, low, high)


def linear_program(integers: IntegerProblem, lower: np.ndarray, upper: np.ndarray) -> float:
    """Equations (1)–(5) written out pair by pair, with every variable of its own."""
    units = np.where((lower == 0) & (upper == 0), 0, integers.units)
    m, n, n_columns = *integers.gains.shape, lower.size
    names: dict[object, int] = {}

    def at(*name: object) -> int:
        return names.setdefault(name, len(names))

    objective: dict[int, float] = {}
    caps: dict[int, float] = {}
    rows: list[tuple[dict[int, float], float]] = []
    for i, u in product(range(m), range(n)):
        objective[at("z", i, u)] = float(integers.gains[i, u])
    constant = 0.0
    for k in range(n_columns):
        forced = lower[k] > 0 or upper[k] < 0
        constant -= integers.price * forced
        rows.append(({at("+", k): 1.0, at("-", k): 1.0}, 1.0))
        for sign, possible in (("+", upper[k] > 0), ("-", lower[k] < 0)):
            objective[at(sign, k)] = 0.0 if forced else -float(integers.price)
            caps[at(sign, k)] = float(possible)
    for u, v in product(range(n), range(n)):
        step = units[v] - units[u]
        divisor = gcd(*(int(a) for a in step))
        if divisor == 0:  # the same once columns fixed at 0 are dropped
            rows += [({at("z", i, u): 1.0, at("z", i, v): -1.0}, 0.0) for i in range(m)]
            continue
        if step[np.flatnonzero(step)[0]] < 0:
            continue
        d = tuple(int(a) // divisor for a in step)
        ends = [(a * int(x), a * int(y)) for a, x, y in zip(d, lower, upper, strict=True)]
        caps[at("rise", d)] = float(sum(max(e) for e in ends) > 0)
        caps[at("fall", d)] = float(sum(min(e) for e in ends) < 0)
        rows.append(({at("rise", d): 1.0, at("fall", d): 1.0}, 1.0))
        for name, up, down in (("rise", "+", "-"), ("fall", "-", "+")):
            row = {at(name, d): 1.0}
            row |= {at(up if a > 0 else down, k): -1.0 for k, a in enumerate(d) if a}
            rows.append((row, 0.0))
        for i in range(m):
            rows.append(({at("z", i, u): 1.0, at("z", i, v): -1.0, at("fall", d): -1.0}, 0.0))
            rows.append(({at("z", i, v): 1.0, at("z", i, u): -1.0, at("rise", d): -1.0}, 0.0))
    matrix = np.zeros((len(rows), len(names)))
    for r, (row, _) in enumerate(rows):
        for j, a in row.items():
            matrix[r, j] += a
    answer = linprog(
        [-objective.get(j, 0.0) for j in range(len(names))],
        A_ub=matrix,
        b_ub=[limit for _, limit in rows],
        bounds=[(0.0, caps.get(j, 1.0)) for j in range(len(names))],
        method="highs",
    )
    assert answer.status == 0
    return constant - float(answer.fun)


def test_it_reaches_the_linear_program() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        integers = replace(random_problem(rng), question_price=0)  # it knows no questions
        integers = replace(  # multipliers are whole numbers
            integers, gains=1000 * integers.gains, price=1000 * integers.price
        )
        exact = linear_program(integers, integers.lower, integers.upper)
        bound = direction_bound(integers, iterations=4000).value
        room = 0.003 * max(abs(exact), integers.ceiling) + 1e-6
        assert exact - 1 - 1e-6 <= bound <= exact + room


def test_directions_are_those_of_the_pairs() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        units = np.unique(rng.integers(-2, 3, size=(9, 3)), axis=0)
        low, high = np.array([-1, 0, -2]), np.array([1, 2, 2])
        weight = int(rng.integers(1, 4))
        found = pairs_of.find_directions(units, low, high, weight, lambda: False)
        seen: dict[int, tuple[int, ...]] = {}
        for u, v, j in zip(found.first, found.second, found.owner, strict=True):
            step = units[v] - units[u]
            primitive = tuple((step // np.gcd.reduce(step)).tolist())
            assert seen.setdefault(int(j), primitive) == primitive
        assert len(set(seen.values())) == len(seen) == found.signs.shape[1]
        distance = (units[:, None] != units[None]).sum(axis=2)
        assert found.first.size == (np.triu(distance <= weight, 1)).sum()
        for j, d in seen.items():
            reach = [np.dot(d, p) for p in product(*(range(a, b + 1) for a, b in zip(low, high)))]  # noqa: B905
            assert [max(reach) > 0, min(reach) < 0] == found.signs[:, j].tolist()
            part = slice(found.start[j], found.start[j + 1])
            assert found.column[part].tolist() == np.flatnonzero(d).tolist()
            assert found.up[part].tolist() == [a > 0 for a in d if a]


def test_pairs_with_a_colliding_key_are_left_out() -> None:
    units = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    first, second = np.array([0, 2, 0], dtype=np.int32), np.array([1, 3, 2], dtype=np.int32)
    box = np.array([-1, -1]), np.array([1, 1])
    found = pairs_of._group(units, first, second, np.zeros(3, dtype=np.uint64), *box)
    assert found.first.tolist() == [0, 2]
    assert found.owner.tolist() == [0, 0]
    assert found.column.tolist() == [1]


def test_too_many_pairs_lower_the_weight_or_cut_the_list() -> None:
    units = np.array(list(product([0, 1], repeat=5)))
    box = np.full(5, -1), np.full(5, 1)
    assert pairs_of.find_directions(units, *box, 4, lambda: False, 300).first.size == 80 + 160
    assert pairs_of.find_directions(units, *box, 4, lambda: False, 30).first.size == 30
    assert pairs_of.find_directions(units, *box, 4, lambda: True, 30).first.size == 0


def _ungrouped(
    units: np.ndarray, gains: np.ndarray, price: int, lower: np.ndarray, upper: np.ndarray
) -> IntegerProblem:
    """A problem whose columns are questions of their own."""
    each = np.arange(units.shape[1])
    return IntegerProblem(
        units, 1, gains, price, 0, each, lower, upper, Fraction(0), Fraction(1), True
    )


def _large() -> IntegerProblem:
    rng = np.random.default_rng(0)
    units = np.array(list(product([0, 1], repeat=9)))
    gains = rng.integers(-60, 50, size=(5, len(units))) + 10 * units[:, 0] - 10 * units[:, 1]
    lower, upper = np.full(9, -10), np.full(9, 10)
    return _ungrouped(units, gains, 40, lower, upper)


def test_bounds_are_reported_in_order_and_an_incumbent_ends_it() -> None:
    integers = _large()
    reported: list[int] = []
    full = direction_bound(integers, iterations=300, on_bound=reported.append)
    assert reported == sorted(reported, reverse=True)
    assert reported[0] == integers.ceiling
    assert reported[-1] == full.value < 0.9 * integers.ceiling
    halfway = (full.value + integers.ceiling) // 2
    early = direction_bound(integers, incumbent=halfway)
    assert full.value < early.value <= halfway
    assert early.ended == "target"


def test_it_ends_by_itself() -> None:
    integers = random_problem(np.random.default_rng(2))
    bound = direction_bound(integers)
    assert bound.ended == "stalled"
    assert bound.iterations >= 400


def test_it_stops_on_request() -> None:
    integers = _large()
    direction_bound(integers, iterations=1)
    assert direction_bound(integers, should_stop=lambda: True).value == integers.ceiling
    looks: list[float] = []
    began = time.perf_counter()

    def stop() -> bool:
        looks.append(time.perf_counter())
        return time.perf_counter() - began > 0.5

    bound = direction_bound(integers, seconds=60, should_stop=stop)
    assert bound.ended == "time"
    assert time.perf_counter() - began < 120  # ended, not hung
    assert len(looks) >= 4
    began = time.perf_counter()
    direction_bound(integers, seconds=0.2)
    assert time.perf_counter() - began < 120


def test_fixed_signs_and_columns_tighten() -> None:
    integers = _large()
    free = direction_bound(integers, iterations=400).value
    high = integers.upper.copy()
    high[3:] = 0
    low = np.where(high == 0, 0, integers.lower)
    box = replace(integers, lower=low, upper=high)
    assert direction_bound(box, iterations=400).value < 0.9 * free
    low = np.ones(9, dtype=np.int64)
    signed = direction_bound(replace(integers, lower=low), iterations=400)
    assert signed.value < free - 5 * integers.price


def test_huge_gains_fall_back_to_the_trivial_bound() -> None:
    units, gains = np.array([[0], [1]]), np.array([[2**60, -(2**60)]])
    ends = np.array([-1]), np.array([1])
    integers = _ungrouped(units, gains, 0, *ends)
    assert direction_bound(integers).value == 2**60


def test_a_small_box_is_sharpened() -> None:
    """Of all cards that ask these questions; the value is that of the multipliers."""
    rng = np.random.default_rng(9)
    lower = 0
    for _ in range(150):
        integers = random_problem(rng)
        integers = replace(integers, gains=100 * integers.gains, price=30 * integers.price)
        packer = Packer(integers)
        flags = rng.integers(0, 3, packer.n_questions)
        box = packer.tighten(integers.lower, integers.upper, flags)
        if box is None:
            continue
        value, found = sharpened(packer, box, 3, 200, -(2**62), lambda: False)
        trivial = packer.value(box)
        entries, conflicts = found.entries()
        assert trivial - found.loss == value == packer.value(box, conflicts, entries)
        lower += value < trivial
        stopped, _ = sharpened(packer, box, 3, 200, trivial - 1, lambda: False)
        assert stopped <= trivial
        assert sharpened(packer, box, 3, 200, -(2**62), lambda: True)[0] <= trivial
    assert lower > 50
