"""What terms distinguish: every value lies in one piece, and has the points of that piece."""

from __future__ import annotations

import math
import random
from functools import partial
from itertools import pairwise

import pytest

from netbenefit.cards.terms import (
    Condition,
    Edge,
    PerUnit,
    cuts,
    edges,
    group_levels,
    intervals,
    level_order,
    log_ends,
    named,
    other_level,
    samples,
    total_of,
)

NUMBERS = [-2, 0, 0.5, 1, 3, 7.25, 40]


def age(op, value):
    return Condition("age", op, value)


@pytest.mark.parametrize(
    ("pairs", "pieces"),
    [
        (
            [(age(">=", 40), 1), (age(">", 60), 2)],
            [(Edge(-math.inf), 0), (Edge(40), 1), (Edge(60, above=True), 3)],
        ),
        (
            [(age("==", 2), 5)],
            [(Edge(-math.inf), 0), (Edge(2), 5), (Edge(2, above=True), 0)],
        ),
        ([(age("<", 3), 1), (age(">=", 3), 1)], [(Edge(-math.inf), 1)]),
        ([], [(Edge(-math.inf), 0)]),
    ],
)
def test_intervals_have_the_totals_of_their_terms(pairs, pieces):
    assert intervals(edges(term for term, _ in pairs), partial(total_of, pairs)) == pieces


def random_terms(rng: random.Random) -> list[Condition]:
    terms = []
    for op in rng.choices([">=", ">", "<", "<=", "==", "!=", "in", "not in", "between"], k=3):
        if op == "between":
            terms.append(age(op, tuple(sorted(rng.sample(NUMBERS, 2)))))
        elif "in" in op:
            terms.append(age(op, tuple(rng.sample(NUMBERS, rng.randint(1, 3)))))
        else:
            terms.append(age(op, rng.choice(NUMBERS)))
    return terms


def reaches(value: float, edge: Edge) -> bool:
    return value > edge.value if edge.above else value >= edge.value


def test_every_number_has_the_points_of_its_interval():
    rng = random.Random(0)
    tried = samples(NUMBERS, "number") + [k / 8 for k in range(-40, 400)]
    for _ in range(200):
        pairs = [(term, rng.randint(-3, 3)) for term in random_terms(rng)]
        pieces = intervals(edges(term for term, _ in pairs), partial(total_of, pairs))
        assert all(a[1] != b[1] for a, b in pairwise(pieces))
        for value in tried:
            own = [worth for edge, worth in pieces if reaches(value, edge)][-1]
            assert own == total_of(pairs, value), (pairs, value)


def test_levels_with_equal_points_are_grouped_and_those_like_all_others_are_left_out():
    late, last = Condition("stage", "in", ("III", "IV")), Condition("stage", "==", "IV")
    not_first = Condition("stage", "not in", ("I", "V"))
    pairs = [(late, 1), (last, 2), (not_first, 4)]
    groups, others = group_levels([late, last, not_first], partial(total_of, pairs))
    assert groups == {5: ["III"], 7: ["IV"], 0: ["I", "V"]}
    assert others == 4
    assert group_levels([late], partial(total_of, [(late, 1)]), ["II", "IV"]) == ({1: ["IV"]}, 0)


def test_levels_are_in_the_order_of_training_then_by_size_or_as_named():
    texts = [Condition("stage", "in", ("IV", "x", "I")), Condition("stage", "==", "a")]
    assert named(texts) == ["IV", "x", "I", "a"]
    assert level_order(texts, ["I", "II", "IV"]) == ["I", "IV", "x", "a"]
    assert level_order([age("in", (7, 2, 5)), age("missing", None)], [5]) == [5, 2, 7]
    assert other_level(["I", "II"]) not in ("I", "II")
    assert cuts([age("between", (7, 9)), age(">", 2.5), *texts, PerUnit("age")]) == [2.5, 7, 9]


def test_points_per_unit_end_where_they_are_clipped():
    assert PerUnit("x", lower=-1).ends == (-1, None)
    assert PerUnit("income", log=True).ends == (0.0, None)
    assert PerUnit("income", log=True, lower=2, upper=9).ends == (2, 9)


@pytest.mark.parametrize("clip", [{}, {"upper": 10}, {"lower": -3, "upper": 0.1}, {"lower": 2}])
def test_steps_of_a_logarithm_are_those_within_the_clip(clip):
    term = PerUnit("income", log=True, **clip)
    first, ends = term.log_steps()
    assert first == term.value_code(-1e9)
    assert [term.value_code(end) for end in ends] == [first + k + 1 for k in range(len(ends))]
    assert first + len(ends) == term.value_code(1e308) <= len(log_ends(0))
