"""The packing bound against every card, and its boxes against a slow recount."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from netbenefit.problem.problem import Boxes, IntegerProblem, Reason
from netbenefit.solvers.bounds.packed import NOTHING, Rules
from netbenefit.solvers.bounds.packing import Effort, PackingBound, packing_bound
from tests.helpers.brute import all_points, all_values, random_problem
from tests.helpers.slow_packed import packed_value


def random_rules(rng: np.random.Generator, integers: IntegerProblem) -> Rules:
    """Now and then some limits."""
    rules, p = Rules.none(integers), integers.lower.size
    if rng.random() < 0.5:
        return rules
    rows = int(rng.integers(0, 3))
    return Rules(
        rng.random(rules.values.shape) < 0.8 if rng.random() < 0.5 else rules.values,
        rng.integers(-1, 3, (rows, p)),
        rng.integers(0, 3, rows),
        int(rng.integers(1, p + 1)),
        int(rng.integers(1, int(integers.questions.max()) + 2)),
    )


def allowed(integers: IntegerProblem, rules: Rules, points: np.ndarray) -> np.ndarray:
    """Which points keep the rules."""
    used = points != 0
    questions = range(int(integers.questions.max()) + 1)
    asked = sum(used[:, integers.questions == q].any(axis=1).astype(int) for q in questions)
    return np.asarray(
        rules.values[np.arange(points.shape[1]), points - integers.lower].all(axis=1)
        & (used @ rules.support.T <= rules.support_limit).all(axis=1)
        & (used.sum(axis=1) <= rules.max_features)
        & (asked <= rules.max_questions)
    )


def recount(integers: IntegerProblem, rules: Rules, boxes: Boxes) -> list[int]:
    """The value of each box, counted anew."""
    values = []
    asked = boxes.asked
    none = np.full(int(integers.questions.max()) + 1, 2)
    for b in range(len(boxes)):
        box = boxes.lower[b], boxes.upper[b], none if asked is None else asked[b]
        if boxes.reasons[b] == Reason.COUNTED:
            assert (box[0] == box[1]).all()
            values.append(int(all_values(integers, box[0][None])[0]))
            continue
        entries, fines = [], []
        packing = boxes.packing
        assert packing is not None
        for e in range(packing.start[b], packing.start[b + 1]):
            c = packing.conflict[e]
            own = slice(packing.conflicts.start[c], packing.conflicts.start[c + 1])
            times = dict(
                zip(
                    packing.conflicts.pattern[own].tolist(),
                    packing.conflicts.times[own].tolist(),
                    strict=True,
                )
            )
            threshold = int(packing.conflicts.threshold[c])
            entries.append((threshold, times, int(packing.amount[e]), int(packing.way[e])))
        for f in range(packing.fine_start[b], packing.fine_start[b + 1]):
            fines.append((int(packing.limit[f]), int(packing.fine[f])))
        value = packed_value(integers, rules, box, entries, fines)
        values.append(NOTHING if value is None else value)
    return values


def covered(integers: IntegerProblem, boxes: Boxes, points: np.ndarray) -> np.ndarray:
    """How many boxes hold each point."""
    count = np.zeros(len(points), dtype=np.int64)
    for b in range(len(boxes)):
        inside = ((points >= boxes.lower[b]) & (points <= boxes.upper[b])).all(axis=1)
        if boxes.asked is not None:
            for q, flag in enumerate(boxes.asked[b]):
                used = (points[:, integers.questions == q] != 0).any(axis=1)
                if flag != 2:
                    inside &= used == (flag == 1)
        count += inside
    return count


def run(seed: int, **settings: float) -> tuple[IntegerProblem, Rules, PackingBound, int | None]:
    rng = np.random.default_rng(seed)
    integers = random_problem(rng, rows=8, columns=4, most=2)
    if rng.random() < 0.5:
        gains = integers.gains * 10**5 + rng.integers(0, 10**5, integers.gains.shape)
        integers = replace(
            integers, gains=gains, price=integers.price * 10**5, question_price=54_321
        )
    rules = random_rules(rng, integers)
    points = all_points(integers)
    values = all_values(integers, points)[allowed(integers, rules, points)]
    best = int(values.max()) if values.size else None
    reported: list[int] = []
    bound = packing_bound(
        integers,
        rules,
        incumbent=None if rng.random() < 0.3 else best,
        on_bound=reported.append,
        effort=Effort(rounds=int(rng.integers(1, 8)), turn=2, few=int(rng.integers(0, 9))),
        n_jobs=int(rng.integers(1, 3)),
        most_nodes=int(rng.integers(0, 40)),
        **settings,
    )
    assert reported == sorted(set(reported), reverse=True)
    assert reported[-1] == bound.value
    return integers, rules, bound, best


@pytest.mark.parametrize("part", range(4))
def test_no_card_beats_the_bound_and_its_boxes_can_be_recounted(part: int) -> None:
    met = 0
    for seed in range(part * 60, part * 60 + 60):
        integers, rules, bound, best = run(seed)
        assert recount(integers, rules, bound.boxes) == bound.boxes.values.tolist()
        assert bound.value == bound.boxes.values.max()
        assert (covered(integers, bound.boxes, all_points(integers)) == 1).all()
        if best is not None:
            assert bound.value >= best
            met += bound.value == best
    assert met > 10


def test_it_ends_with_the_best_value() -> None:
    for seed in range(12):
        integers = random_problem(np.random.default_rng(seed), rows=6, columns=3, most=2)
        best = int(all_values(integers, all_points(integers)).max())
        assert packing_bound(integers, incumbent=best, seconds=20).value == best
        assert packing_bound(integers, seconds=20).value == best


def test_it_stops_when_told() -> None:
    integers = random_problem(np.random.default_rng(5), rows=9, columns=4)
    bound = packing_bound(integers, should_stop=lambda: True)
    assert bound.nodes == 0
    assert bound.value <= integers.ceiling
    assert len(bound.boxes) == 1
