"""Supports of questions, and the orders of their cells, against brute force and slow twins."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from netbenefit.problem import Asked, Boxes, IntegerProblem, Reason
from netbenefit.solvers.bounds import supports
from netbenefit.solvers.bounds.orders import Orders
from netbenefit.solvers.bounds.packed import NOTHING, Packer, Rules
from netbenefit.solvers.bounds.supports import cells, support_bound
from tests.helpers.brute import all_points, all_values, random_problem
from tests.helpers.full import FULL, more_cases
from tests.helpers.slow_packed import packed_value

#: Random problems: thousands in the full run (make test-full).
MANY = 3000 if FULL else 150


def drawn(rng: np.random.Generator, rows: int = 12, columns: int = 5) -> IntegerProblem:
    """A random problem, most often with questions of several columns; masses may be blended."""
    integers = random_problem(rng, rows=rows, columns=columns)
    size = integers.lower.size
    if rng.random() < 0.8:
        number = np.unique(rng.integers(0, 4, size), return_inverse=True)[1]
        integers = replace(integers, questions=number, question_price=int(rng.integers(0, 9)))
    else:
        integers = replace(integers, questions=np.arange(size), question_price=0)
    if rng.random() < 0.5:  # as of blended masses: large numbers, few of them alike
        noise = rng.integers(-40, 41, integers.gains.shape)
        integers = replace(
            integers, gains=100 * integers.gains + noise, price=int(rng.choice([0, 7, 60]))
        )
    return integers


def limited(rng: np.random.Generator, integers: IntegerProblem) -> Rules:
    """Few questions; at times few features, and values that are left out."""
    rules = Rules.none(integers)
    values = rules.values.copy()
    if rng.random() < 0.3:
        k = int(rng.integers(0, integers.lower.size))
        width = int(integers.upper[k] - integers.lower[k]) + 1
        values[k, :width] = rng.random(width) < 0.7
        values[k, int(rng.integers(0, width))] = True
    most = int(rng.integers(0, 4))
    features = int(rng.integers(1, 6)) if rng.random() < 0.4 else rules.max_features
    return rules._replace(values=values, max_questions=most, max_features=features)


def allowed(integers: IntegerProblem, rules: Rules, points: np.ndarray) -> np.ndarray:
    """Which points keep to the limits."""
    columns = np.arange(integers.lower.size)
    own = np.array([rules.values[columns, p - integers.lower].all() for p in points])
    asked = asked_questions(integers, points).sum(axis=1) <= rules.max_questions
    return own & asked & ((points != 0).sum(axis=1) <= rules.max_features)


def asked_questions(integers: IntegerProblem, points: np.ndarray) -> np.ndarray:
    """(points, Q) whether a question is asked."""
    n_questions = int(integers.questions.max()) + 1
    return np.stack(
        [(points[:, integers.questions == q] != 0).any(axis=1) for q in range(n_questions)], axis=1
    )


def entries_of(boxes: Boxes, b: int) -> list[tuple[int, dict[int, int], int, int]]:
    """The multipliers of a box, for the slow twin."""
    packing = boxes.packing
    assert packing is not None
    result = []
    for e in range(packing.start[b], packing.start[b + 1]):
        c = packing.conflict[e]
        members = slice(packing.conflicts.start[c], packing.conflicts.start[c + 1])
        pattern, times = (
            packing.conflicts.pattern[members].tolist(),
            packing.conflicts.times[members].tolist(),
        )
        together = dict(zip(pattern, times, strict=True))
        threshold, amount = int(packing.conflicts.threshold[c]), int(packing.amount[e])
        result.append((threshold, together, amount, int(packing.way[e])))
    return result


def check_boxes(
    integers: IntegerProblem, rules: Rules, boxes: Boxes, points: np.ndarray, value: int
) -> int:
    """Every box states what the slow twin counts, or a little more; they part the points.

    Returns how many multipliers there are.
    """
    count = int(integers.questions.max()) + 1
    asked = boxes.asked
    if asked is None:
        asked = np.full((len(boxes), count), int(Asked.EITHER))
    used = asked_questions(integers, points)
    hits = np.zeros(len(points), dtype=np.int64)
    for b in range(len(boxes)):
        assert boxes.reasons[b] == Reason.PACKED
        told = entries_of(boxes, b)
        assert all(amount > 0 for _, _, amount, _ in told)
        counted = packed_value(
            integers, rules, (boxes.lower[b], boxes.upper[b], asked[b]), told, []
        )
        assert counted is None or counted <= boxes.values[b]
        if boxes.values[b] > NOTHING:
            assert boxes.values[b] <= value
        flags = np.where(asked[b] == Asked.EITHER, used, asked[b] == Asked.YES)
        hits += (flags == used).all(axis=1)
    assert (hits == 1).all()
    return sum(len(entries_of(boxes, b)) for b in range(len(boxes)))


def test_brute_force_values_are_those_of_the_integer_problem() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        integers = random_problem(rng, columns=3)
        points = all_points(integers)
        points = points[rng.permutation(len(points))[:15]]
        assert all_values(integers, points).tolist() == [integers.value(v) for v in points]


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


@more_cases
@pytest.mark.parametrize("jobs", [1, 2])
def test_bounds_every_card_within_the_limits_and_says_why(jobs: int) -> None:
    rng = np.random.default_rng(6 + jobs)
    told = below = 0
    for _ in range(MANY):
        integers = drawn(rng)
        rules = limited(rng, integers)
        points = all_points(integers)
        values, fine = all_values(integers, points), allowed(integers, rules, points)
        best = int(values[fine].max()) if fine.any() else NOTHING
        bound = support_bound(integers, rules, n_jobs=jobs)
        assert bound.complete
        assert best <= bound.value
        told += check_boxes(integers, rules, bound.boxes, points, bound.value)
        below += saturated(integers, rules) > bound.value > NOTHING
    assert told > MANY
    assert below > MANY // 20


def saturated(integers: IntegerProblem, rules: Rules) -> int:
    """The best saturation bound of all supports, each counted by itself."""
    packer = Packer(integers, rules)
    count = packer.n_questions
    best = NOTHING
    for size in range(min(count, rules.max_questions) + 1):
        for some in combinations(range(count), size):
            asked = np.array([int(Asked.YES if q in some else Asked.NO) for q in range(count)])
            box = packer.tighten(integers.lower, integers.upper, asked)
            if box is None:
                continue
            live = np.flatnonzero((box.lower != 0) | (box.upper != 0)).tolist()
            rules_paid = sum(max(1, int(box.used[integers.questions == q].sum())) for q in some)
            paid = integers.price * rules_paid + integers.question_price * size
            best = max(best, slow_gain(integers, live) - paid)
    return best


@more_cases
def test_an_interruption_leaves_a_proof_of_what_is_reported() -> None:
    rng = np.random.default_rng(7)
    for _ in range(MANY):
        integers = drawn(rng)
        rules = limited(rng, integers)
        points = all_points(integers)
        full = support_bound(integers, rules).value
        stops = iter([False] * int(rng.integers(0, 12)) + [True] * 10**6)
        reported: list[int] = []

        def stop(stops: object = stops) -> bool:
            return next(stops)  # type: ignore[call-overload,no-any-return]

        early = support_bound(integers, rules, should_stop=stop, on_bound=reported.append)
        assert early.value >= full
        assert reported == sorted(reported, reverse=True)
        check_boxes(integers, rules, early.boxes, points, early.value)

        left = int(rng.integers(0, 12))

        def interrupt() -> bool:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            return False

        broken = support_bound(integers, rules, should_stop=interrupt)
        assert broken.interrupted == (left < 0)
        assert broken.value >= full
        check_boxes(integers, rules, broken.boxes, points, broken.value)


@more_cases
def test_an_incumbent_changes_nothing_but_the_floor() -> None:
    rng = np.random.default_rng(2)
    for _ in range(MANY):
        integers = drawn(rng)
        rules = limited(rng, integers)
        free = support_bound(integers, rules).value
        if free == NOTHING:
            continue
        incumbent = free + int(rng.integers(0, 5))
        bound = support_bound(integers, rules, incumbent, n_jobs=2)
        assert bound.value == incumbent
        check_boxes(integers, rules, bound.boxes, all_points(integers), incumbent)


@more_cases
def test_orders_lose_what_the_packed_value_says() -> None:
    rng = np.random.default_rng(5)
    compared = lost = signs = 0
    while compared < MANY:
        integers = drawn(rng, rows=14)
        packer = Packer(integers)
        root = packer.tighten(integers.lower, integers.upper)
        assert root is not None
        live = (root.lower != 0) | (root.upper != 0)
        may = [q for q in range(packer.n_questions) if live[integers.questions == q].any()]
        items = [np.flatnonzero(live & (integers.questions == q)) for q in may]
        orders = Orders(integers, root, items)
        for size in range(1, len(may) + 1):
            for chosen in combinations(range(len(may)), size):
                asked = np.full(packer.n_questions, int(Asked.NO))
                asked[[may[j] for j in chosen]] = int(Asked.YES)
                box = packer.tighten(integers.lower, integers.upper, asked)
                if box is None:  # another question is certain
                    continue
                columns = [k for j in chosen for k in items[j].tolist()]
                gain = orders.saturated(chosen)
                assert gain == slow_gain(integers, columns)
                for differ in (1, 2):
                    found = orders.conflicts(chosen, differ)
                    plain = packer.value(box)
                    for part in (found, found.enough(found.loss // 2)):
                        entries, conflicts = part.entries()
                        value = packer.value(box, conflicts, entries)
                        assert value <= plain - part.loss
                        exactly = [
                            (
                                int(conflicts.threshold[e]),
                                {int(part.called[e]): 1, int(part.other[e]): -1},
                                int(part.amount[e]),
                                int(part.way[e]),
                            )
                            for e in range(part.amount.size)
                        ]
                        whole = integers.lower, integers.upper, asked
                        rules = Rules.none(integers)
                        assert packed_value(integers, rules, whole, exactly, []) == value
                    assert found.enough(found.loss // 2).loss * 2 >= found.loss - 1
                    compared, lost = compared + 1, lost + (found.loss > 0)
                    signs += int((found.way == 0).any())
    assert lost > compared // 10
    assert signs > compared // 50


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
    rules = Rules.none(integers)._replace(max_questions=1)
    assert support_bound(integers, rules).value == 5 - 2
    one_way = replace(integers, upper=np.array([0, 1]), lower=np.array([-1, 0]))
    assert support_bound(one_way, rules).value in (5 - 2, 0)


def test_supports_are_closed_by_the_bound_of_all_that_follows() -> None:
    """A question that helps nobody is never looked at beside others."""
    rng = np.random.default_rng(3)
    units = rng.integers(0, 2, (60, 12))
    gains = np.where(units[:, 0] > 0, 50, -50)[None, :] + rng.integers(-2, 3, (1, 60))
    integers = replace(
        random_problem(rng),
        units=units,
        unit=1,
        gains=gains,
        price=40,
        question_price=40,
        questions=np.arange(12),
        lower=np.full(12, -3),
        upper=np.full(12, 3),
    )
    best = int(gains[gains > 0].sum()) - 80
    bound = support_bound(integers, Rules.none(integers)._replace(max_questions=4), best)
    assert bound.value == best
    assert bound.nodes < 20
    assert len(bound.boxes) < 40


def test_time_and_size_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    integers = drawn(rng, rows=12)
    rules = Rules.none(integers)._replace(max_questions=2)
    assert not support_bound(integers, rules, seconds=-1).complete
    monkeypatch.setattr(supports, "_MOST_NUMBERS", -1)
    bound = support_bound(integers, rules)
    assert not bound.complete
    check_boxes(integers, rules, bound.boxes, all_points(integers), bound.value)


def test_wide_tables_are_looked_at_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        integers = drawn(rng)
        rules = Rules.none(integers)._replace(max_questions=2)
        with monkeypatch.context() as patch:
            patch.setattr(supports, "_PRODUCTS", 1)
            sliced = support_bound(integers, rules)
        assert sliced.value == support_bound(integers, rules).value


def test_cells_of_wide_columns_do_not_overflow() -> None:
    units = np.array([[0, 2**61, -(2**60)], [2**61, 0, 2**60], [0, 2**61, 2**60], [0, 0, 0]])
    numbers, count = cells(units[[0, 1, 2, 3, 0]], [0, 1, 2])
    assert count == 4
    assert numbers[0] == numbers[4]
    assert len(set(numbers.tolist())) == 4
