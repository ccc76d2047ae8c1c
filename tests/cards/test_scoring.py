"""Scores that can occur: the listed table, against all combinations of answers."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from netbenefit.cards.readings import Reading
from netbenefit.cards.rules import CardLogic, starting_points
from netbenefit.cards.scorecard import Rule, Scorecard
from netbenefit.cards.terms import Condition, PerUnit
from netbenefit.common.checks import InputError
from netbenefit.metrics.thresholds import Thresholds

HALF = Thresholds.of([0.5])
TENTHS = Thresholds.tenths()


# -- steps are checked -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("risks", "more", "message"),
    [
        ([], {}, "risks is empty. Pass at least one pair"),
        ([0.1, 0.3], {}, r"risks\[0\] = 0.1 must be a pair \(score, risk\)"),
        ([(1, 0.1, 3)], {}, r"risks\[0\] = .* must be a pair"),
        ([(1.0, 0.1)], {}, r"the score of risks\[0\] must be an integer, not 1.0"),
        ([(True, 0.1)], {}, r"the score of risks\[0\] must be an integer, not True"),
        ([(2**63, 0.1)], {}, "does not fit into 64 bits"),
        ([(1, None)], {}, "the risk None of score 1 must be a number from 0 to 1"),
        ([(1, math.nan)], {}, "the risk nan of score 1"),
        ([(1, "0.1")], {}, "the risk '0.1' of score 1"),
        ([(1, -0.1)], {}, "the risk -0.1 of score 1"),
        ([(1, 0.1), (2, 1.1)], {}, "the risk 1.1 of score 2"),
        ([(1, 0.1), (1, 0.2)], {}, r"must increase, but risks\[1\] has 1 after 1"),
        ([(2, 0.1), (1, 0.2)], {}, r"must increase, but risks\[1\] has 1 after 2"),
        ([(1, 0.2), (2, 0.1)], {}, "must not decrease, but score 2 has 0.1 after 0.2"),
        ([(1, 0.2)], {"score_range": (2, 5)}, r"risks\[0\] starts at score 1, beyond score_range"),
        ([(2, 0.2), (6, 0.3)], {"score_range": (2, 5)}, r"risks\[1\] starts at score 6, beyond"),
    ],
)
def test_steps_that_make_no_sense_are_refused(risks, more, message):
    with pytest.raises(InputError, match=message):
        Scorecard([], risks, HALF, **more)


def test_a_threshold_has_the_first_score_that_reaches_it():
    steps = [(0, 0.1), (2, 0.3), (3, 0.3), (5, 0.5), (9, 1.0)]
    card = Scorecard([], steps, TENTHS, score_range=(-1, 12))
    assert card.cutoffs == (0, 2, 2, 5, 5, 9, 9, 9, 9)
    assert [card.cutoff(p) for p in (0.0, 0.1, 0.11, 0.5, 1.0)] == [0, 0, 2, 5, 9]
    low = Scorecard([], [(0, 0.1), (4, 0.2)], TENTHS, score_range=(0, 7))
    assert low.cutoffs == (0, 4, *[8] * 7)
    assert Scorecard([], [(0, 0.1), (4, 0.2)], TENTHS).cutoffs == (0, 4, *[5] * 7)


def test_steps_and_arrays_of_steps_agree():
    rng = random.Random(3)
    for _ in range(200):
        count = rng.randint(1, 12)
        scores = sorted(rng.sample(range(-20, 20), count))
        risks = sorted(rng.choice([0, 0.1, 0.2, 0.35, 0.5, 1, rng.random()]) for _ in scores)
        card = Scorecard([], list(zip(scores, risks, strict=True)), TENTHS)
        for score in range(-25, 25):
            reached = [q for s, q in zip(scores, risks, strict=True) if s <= score]
            risk = reached[-1] if reached else risks[0]
            assert card.risk_of_score(score) == risk
            assert card.level_of_score(score) == sum(risk >= p for p in TENTHS.values[1:])
            if scores[0] <= score <= scores[-1]:  # beyond, a score is read as the nearest
                for p, cutoff in zip(TENTHS.values[1:], card.cutoffs, strict=True):
                    assert (risk >= p) == (score >= cutoff)
        every = np.arange(-25, 25)
        one_by_one = [card.risk_of_score(int(s)) for s in every]
        assert card.risk_of_score(every).tolist() == one_by_one
        assert card.level_of_score(every).tolist() == [card.level_of_score(int(s)) for s in every]


# -- all combinations of answers -------------------------------------------------------------------

NUMBERS = [-2, -0.5, 0, 0.05, 0.15, 1, 1.5, 2, 2.5, 3, 7.25]


def random_column(rng: random.Random, name: str) -> tuple[list[Rule], list[Reading]]:
    """Rules and reading of one column, of a common kind."""
    points = [p for p in range(-4, 6) if p]
    kind = rng.choice(
        ["cumulative", "intervals", "levels", "numbers", "units", "log", "yes", "mix"]
    )
    terms: list = []
    if kind in ("cumulative", "mix"):
        op = rng.choice([">=", ">", "<", "<="])
        terms += [Condition(name, op, v) for v in rng.sample(NUMBERS, rng.randint(1, 4))]
    if kind == "intervals":
        cuts = sorted(rng.sample(NUMBERS, rng.randint(2, 4)))
        terms += [Condition(name, "between", pair) for pair in itertools.pairwise(cuts)]
        terms += [Condition(name, "<", cuts[0])] * rng.randint(0, 1)
    if kind == "levels":
        for op in rng.sample(["==", "!=", "in", "not in"], rng.randint(1, 3)):
            some = tuple(rng.sample("abcd", rng.randint(1, 3)))
            terms.append(Condition(name, op, some if "in" in op else some[0]))
    if kind == "numbers":
        terms += [Condition(name, "==", v) for v in rng.sample(NUMBERS, rng.randint(1, 3))]
    if kind in ("units", "mix"):
        low = rng.choice([-1, 0, 0.3])
        decimals = rng.choice([0, 0, 1])
        terms.append(PerUnit(name, decimals, low, low + rng.choice([0.4, 2, 3])))
        if rng.random() < 0.2:
            terms.append(PerUnit(name, 1 - decimals, low, low + 1))
    if kind == "log":
        terms.append(PerUnit(name, 0, 0, rng.choice([5, 200]), log=True))
    if kind == "yes":
        terms.append(PerUnit(name, binary=True))
    if rng.random() < 0.3:
        terms.append(Condition(name, "missing"))
    rules = [Rule(term, rng.choice(points)) for term in dict.fromkeys(terms)]
    readings = []
    if rng.random() < 0.3:
        fill = "a" if kind == "levels" else 1
        special = ("d",) if kind == "levels" else (7.25,)
        filled = rng.random() < 0.5
        readings.append(Reading(feature=name, special=special, fill=fill if filled else None))
    return rules, readings


def answers(rules: list[Rule]) -> list:
    """All possible answers, on a fine grid around the values that rules name."""
    terms = [rule.term for rule in rules]
    if any(term.kind == "text" for term in terms):
        return [*"abcde", None]
    if any(isinstance(term, PerUnit) and term.binary for term in terms):
        return [0, 1, None]
    fine = [k / 80 for k in range(-4 * 80, 9 * 80)] + [float(k) for k in range(10, 260)]
    near = [math.nextafter(v, end) for v in NUMBERS for end in (-math.inf, math.inf)]
    return [*NUMBERS, *fine, *near, -1e9, 1e9, None]


def units_of_answers(logic: CardLogic, rules: list[Rule]) -> set[int]:
    """What one column can bring, answer by answer."""
    found = set()
    name = rules[0].term.feature
    column = CardLogic(
        tuple(c for c in logic.columns if c.name == name), logic.unit, logic.readings
    )
    for value in answers(rules):
        try:
            found.add(column.units_of_row({name: value}))
        except InputError:  # missing, without a rule for it
            continue
    return found


def random_case(rng: random.Random) -> tuple[list[Rule], list[Reading], list[int]]:
    """Rules, readings, and all scores by brute force."""
    parts = [random_column(rng, f"x{k}") for k in range(rng.randint(1, 3))]
    rules = [rule for own, _ in parts for rule in own]
    readings = [reading for _, own in parts for reading in own]
    logic = CardLogic.of(rules, readings)
    totals = [units_of_answers(logic, own) for own, _ in parts]
    scores = {sum(units) // logic.unit for units in itertools.product(*totals)}
    return rules, readings, sorted(scores)


@pytest.mark.filterwarnings("ignore")
def test_scores_that_can_occur_are_those_of_all_combinations_of_answers():
    rng = random.Random(11)
    for _ in range(400):
        rules, readings, scores = random_case(rng)
        assert CardLogic.of(rules, readings).scores() == scores, (rules, readings)
        base = starting_points(rules, readings)
        by = sum(points for _, points in base)
        moved = CardLogic.of(rules, readings, base)
        assert moved.scores() == [score + by for score in scores]
        ends = CardLogic.of(rules, readings).limits()
        assert moved.limits() == tuple(end + by * moved.unit for end in ends)


@pytest.mark.filterwarnings("ignore")
def test_the_table_lists_scores_that_can_occur_with_their_risks():
    rng = random.Random(12)
    merged = dropped = opened = 0
    for _ in range(400):
        rules, readings, scores = random_case(rng)
        count = rng.randint(1, 15)
        starts = sorted(rng.sample(range(scores[0] - 5, scores[-1] + 16), count))
        risks = sorted(round(rng.random(), 1) for _ in starts)
        inside = [s for s in scores if rng.random() < 0.7] or scores
        ends = None
        if rng.random() < 0.5:
            ends = min(inside[0], starts[0]), max(inside[-1], starts[-1])
        steps = list(zip(starts, risks, strict=True))
        card = Scorecard(rules, steps, TENTHS, ends, readings=readings)
        table = card.risk_table()
        for score in scores:
            rows = [
                row
                for row in table
                if (row.low is None or row.low <= score) and (row.high is None or score <= row.high)
            ]
            assert [row.risk for row in rows] == [card.risk_of_score(score)]
        for row in table:
            assert {row.low, row.high} - {None} <= set(scores)
        assert [row.risk for row in table] == sorted({row.risk for row in table})
        assert {row.risk for row in table} == {card.risk_of_score(score) for score in scores}
        assert (table[0].low is None) == (ends is not None and scores[0] < ends[0])
        assert (table[-1].high is None) == (ends is not None and scores[-1] > ends[1])
        merged += len(set(risks)) < len(risks)
        dropped += len(table) < len(set(risks))
        opened += table[-1].high is None
    assert min(merged, dropped) > 50  # the cases that this test is about did occur
    assert opened > 5


def test_without_an_end_the_table_is_open():
    card = Scorecard([Rule(PerUnit("x"), 2)], [(0, 0.1), (3, 0.2), (4, 0.2), (5, 0.7)], HALF)
    assert [tuple(row) for row in card.risk_table()] == [
        (None, 2, 0.1),
        (3, 4, 0.2),
        (5, None, 0.7),
    ]


def test_too_many_scores_to_list_are_all_between_their_ends():
    wide = Rule(PerUnit("x", 2, 0, 10**6), 3)
    card = Scorecard([wide, Rule(Condition("y", ">=", 1), -7)], [(0, 0.1), (9, 0.8)], HALF)
    assert [tuple(row) for row in card.risk_table()] == [(-7, 8, 0.1), (9, 3 * 10**6, 0.8)]
    huge = Scorecard([Rule(PerUnit("x", 0, -(2**53), 2**53), 10**9)], [(0, 0.1)], HALF)
    assert len(huge.risk_table()) == 1


def test_per_unit_scores_are_rounded_down():
    card = Scorecard(
        [Rule(PerUnit("x", 1, 0, 0.5), 3), Rule(Condition("y", ">=", 1), -1)],
        [(-1, 0.1), (0, 0.2), (1, 0.6)],
        HALF,
    )
    rows = {"x": [0, 0.1, 0.4, 0.5] * 2, "y": [0] * 4 + [1] * 4}
    assert sorted(set(card.score(rows).tolist())) == [-1, 0, 1] == card._scores
    assert [tuple(row) for row in card.risk_table()] == [(-1, -1, 0.1), (0, 0, 0.2), (1, 1, 0.6)]


@pytest.mark.parametrize("ends", [None, (0, 6)])
def test_cutoffs_of_levels_come_back(ends):
    """Cut-offs among the scores seen, or one more than the highest: as solvers give them."""
    rng = random.Random(5)
    for _ in range(300):
        cutoffs = sorted(rng.randint(0, 7) for _ in range(9))
        seen = range(-9, 20) if ends is None else range(ends[0], ends[1] + 1)
        reached = {sum(s >= t for t in cutoffs) for s in seen}
        risks = [p + 0.05 if i in reached else None for i, p in enumerate(TENTHS.values)]
        card = Scorecard.from_levels([], cutoffs, risks, TENTHS, ends)
        assert list(card.cutoffs) == cutoffs
        for score in range(-5, 12):
            near = score if ends is None else min(max(score, 0), 6)
            assert card.risk_of_score(score) == risks[sum(near >= t for t in cutoffs)]
