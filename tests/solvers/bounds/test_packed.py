"""The value of packed conflicts against a slow twin, and against every card of a box."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from netbenefit.problem.problem import IntegerProblem
from netbenefit.solvers.bounds.packed import (
    NOTHING,
    Entries,
    LeafBox,
    Packer,
    Rules,
    as_boxes,
    joined_conflicts,
    same_rows,
)
from tests.helpers.brute import all_points, all_values, random_problem
from tests.helpers.slow_packed import packed_value

Case = tuple[IntegerProblem, Rules, tuple[Any, Any, Any], list[Any], list[Any]]


def random_case(rng: np.random.Generator) -> Case:
    """A small problem with limits, a box of it, and any multipliers."""
    integers = random_problem(rng, rows=7, columns=4, most=2)
    if rng.random() < 0.3:  # blended masses are large, and prices with them
        gains = integers.gains * 10**6 + rng.integers(0, 10**6, integers.gains.shape)
        integers = replace(
            integers, gains=gains, price=integers.price * 10**6, question_price=123_457
        )
    p, rules = integers.lower.size, Rules.none(integers)
    n_questions = int(integers.questions.max()) + 1
    if rng.random() < 0.5:
        values = rng.random(rules.values.shape) < 0.7
        rows = int(rng.integers(0, 3))
        rules = Rules(
            values if rng.random() < 0.5 else rules.values,
            rng.integers(-1, 3, (rows, p)),
            rng.integers(0, 4, rows),
            int(rng.integers(0, p + 1)),
            int(rng.integers(0, n_questions + 1)),
        )
    lower = np.array(
        [rng.integers(a, b + 1) for a, b in zip(integers.lower, integers.upper, strict=True)]
    )
    upper = np.array([rng.integers(a, b + 1) for a, b in zip(lower, integers.upper, strict=True)])
    asked = np.array([2, 2, 0, 1])[rng.integers(0, 4, n_questions)]
    entries = []
    n = integers.units.shape[0]
    top = int(np.abs(integers.gains).max()) + 2
    for _ in range(int(rng.integers(0, 7))):
        times = np.zeros(n, dtype=np.int64)
        for _ in range(int(rng.integers(1, 4))):
            u, w = rng.integers(0, n, 2)
            t = int(rng.integers(1, 3))
            times[u] += t
            times[w] -= t
        members = {int(u): int(times[u]) for u in np.flatnonzero(times)}
        if members:
            threshold, y = int(rng.integers(integers.gains.shape[0])), int(rng.integers(1, top))
            entries.append((threshold, members, y, int(rng.random() < 0.4)))
    known = range(len(rules.support) + 2)
    fines = [(r, int(rng.integers(1, top))) for r in known if rng.random() < 0.3]
    return integers, rules, (lower, upper, asked), entries, fines


def fast_value(case: Case) -> int:
    integers, rules, box, entries, fines = case
    packer = Packer(integers, rules)
    conflicts = joined_conflicts([(i, list(t), list(t.values())) for i, t, _, _ in entries])
    given = Entries(
        np.arange(len(entries)),
        np.array([y for *_, y, _ in entries], dtype=np.int64),
        np.array([way for *_, way in entries], dtype=np.int64),
        np.array([limit for limit, _ in fines], dtype=np.int64),
        np.array([fine for _, fine in fines], dtype=np.int64),
    )
    return packer.value(packer.tighten(*box), conflicts, given)


def best_of_box(case: Case) -> int | None:
    """The best value of the allowed cards of the box."""
    integers, rules, (lower, upper, asked), *_ = case
    points = all_points(integers)
    keep = ((points >= lower) & (points <= upper)).all(axis=1)
    place = np.arange(lower.size), points - integers.lower
    keep &= rules.values[place].all(axis=1)
    used = points != 0
    keep &= (used @ rules.support.T <= rules.support_limit).all(axis=1)
    keep &= used.sum(axis=1) <= rules.max_features
    count = np.zeros(len(points), dtype=np.int64)
    for q, flag in enumerate(asked):
        has = used[:, integers.questions == q].any(axis=1)
        count += has
        keep &= has if flag == 1 else ~has if flag == 0 else True
    keep &= count <= rules.max_questions
    values = all_values(integers, points[keep])
    return None if values.size == 0 else int(values.max())


@pytest.mark.parametrize("part", range(4))
def test_as_the_slow_twin_and_never_below_a_card(part: int) -> None:
    empty = close = 0
    for seed in range(part * 600, part * 600 + 600):
        case = random_case(np.random.default_rng(seed))
        value, slow, best = fast_value(case), packed_value(*case), best_of_box(case)
        assert value == (NOTHING if slow is None else slow)
        empty += slow is None
        if best is not None:
            assert slow is not None
            assert slow >= best
            close += slow == best
    assert empty > 50
    assert close > 20


def test_large_shares_are_rounded_up_exactly() -> None:
    units = np.array([[0, 10**6 + 3], [10**9 + 7, 0], [3, 5]])
    for seed in range(200):
        rng = np.random.default_rng(seed)
        integers = random_problem(rng, columns=2, kinds=("small",))
        integers = replace(
            integers,
            units=units,
            unit=1,
            gains=rng.integers(-(2**55), 2**55, (1, 3)),
            questions=np.arange(2),
            lower=np.full(2, -10),
            upper=np.full(2, 10),
        )
        entries = [
            (0, {u: a, w: -a}, int(rng.integers(1, 2**55)), 0)
            for u, w, a in [(0, 1, 3), (1, 2, 7), (2, 0, 1_000_003)]
        ]
        box = np.array([1, -10]), np.array([3, 10]), np.full(2, 2)
        case: Case = (integers, Rules.none(integers), box, entries, [])
        assert fast_value(case) == packed_value(*case)


def test_multipliers_that_do_not_fit_are_refused() -> None:
    integers = random_problem(np.random.default_rng(1), rows=8)
    box = integers.lower, integers.upper, np.full(int(integers.questions.max()) + 1, 2)
    case: Case = (integers, Rules.none(integers), box, [(0, {0: 1, 1: -1}, 2**61, 0)], [])
    with pytest.raises(OverflowError, match="too large"):
        fast_value(case)


def test_equal_rows() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        rows = rng.integers(-2, 2, (int(rng.integers(0, 12)), int(rng.integers(0, 4))))
        number, count = same_rows(rows)
        known: dict[tuple[int, ...], int] = {}
        for row, own in zip(rows.tolist(), number.tolist(), strict=True):
            assert known.setdefault(tuple(row), own) == own
        assert len(set(known.values())) == len(known) == count


def test_boxes_keep_the_conflicts_that_they_use() -> None:
    conflicts = joined_conflicts([(0, [0, 1], [1, -1]), (1, [2, 3], [2, -2]), (2, [1, 0], [1, -1])])
    column, either = np.array([-1]), np.array([2])

    def leaf(which: list[int], value: int) -> LeafBox:
        amounts = np.array([10 * c + 1 for c in which])
        entries = Entries(np.array(which), amounts, np.zeros_like(amounts), *Entries.none()[3:])
        return LeafBox(column, -column, either, value, entries=entries)

    boxes = as_boxes([leaf([2], 5), leaf([], 6), leaf([2, 1], 7)], conflicts)
    assert boxes.asked is None
    packing = boxes.packing
    assert packing is not None
    assert packing.conflicts.threshold.tolist() == [1, 2]
    assert packing.conflicts.pattern.tolist() == [2, 3, 1, 0]
    assert packing.conflicts.times.tolist() == [2, -2, 1, -1]
    assert packing.start.tolist() == [0, 1, 1, 3]
    assert packing.conflict.tolist() == [1, 1, 0]
    assert packing.amount.tolist() == [21, 21, 11]
    assert boxes.values.tolist() == [5, 6, 7]
