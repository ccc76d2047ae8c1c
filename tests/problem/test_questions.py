"""Questions: which columns belong together, what can be answered, and what is paid for it."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from netbenefit import InputError, MaxQuestions, RiskScoreClassifier, Thresholds
from netbenefit.cards import Condition, PerUnit, Term
from netbenefit.data import PatternTable
from netbenefit.problem import Problem, Questions
from netbenefit.problem.problem import RULE_SHARE, read_prices

GRID = Thresholds.tenths()
LEVELS = ("a", "b", "c", "d")


def random_terms(rng: random.Random, name: str) -> tuple[list[Term], list[Any]]:
    """Conditions on one column, and values that meet all of its cases; None is missing."""
    found: dict[Term, None] = {}
    if rng.random() < 0.5:
        cuts = sorted({rng.choice([-1.5, 0, 0.1, 2, 40, 60]) for _ in range(rng.randint(1, 4))})
        for cut in cuts:
            found[Condition(name, rng.choice([">=", ">=", "<", ">", "<="]), cut)] = None
        if rng.random() < 0.3:
            found[Condition(name, "between", (1, 50))] = None
        ends = [*cuts, 1, 50]
        near = [math.nextafter(v, way) for v in ends for way in (-math.inf, math.inf)]
        values: list[Any] = [*ends, *near, -1e9, 1e9, *(rng.uniform(-3, 70) for _ in range(200))]
    else:
        for _ in range(rng.randint(1, 3)):
            some = tuple(rng.sample(LEVELS, rng.randint(1, 3)))
            one = len(some) == 1
            op = rng.choice(["==", "!="] if one else ["in", "not in"])
            found[Condition(name, op, some[0] if one else some)] = None
        values = [*LEVELS, "another"]
    if rng.random() < 0.4:
        found[Condition(name, "missing")] = None
        values.append(None)
    return list(found), values


def test_answers_are_the_codes_that_values_can_have() -> None:
    rng = random.Random(3)
    for _ in range(1000):
        columns = [random_terms(rng, name) for name in ("u", "v", "w")[: rng.randint(1, 3)]]
        terms = [term for own, _ in columns for term in own]
        asked = Questions.of_terms(terms)
        for question, (own, values) in enumerate(columns):
            assert asked.names[question] == own[0].feature
            seen = {tuple(term.value_code(value) for term in own) for value in values}
            listed = asked.answers[asked.of_answer == question]
            columns_of = asked.of_column == question
            assert not listed[:, ~columns_of].any()
            if len(own) == 1:  # its points are limited by themselves
                assert listed.shape[0] == 0
            else:
                assert {tuple(row) for row in listed[:, columns_of].tolist()} == seen
                assert len(listed) == len(seen)


def test_spreads_are_those_of_the_answers() -> None:
    rng = random.Random(4)
    for _ in range(300):
        own, values = random_terms(rng, "u")
        if len(own) == 1:
            continue
        asked = Questions.of_terms([*own, Condition("v", ">=", 1)])
        points = np.array([rng.randint(-9, 9) for _ in range(len(own) + 1)])
        worth = [
            sum(int(v) * term.value_code(x) for term, v in zip(own, points, strict=False))
            for x in values
        ]
        assert asked.spreads(points).tolist() == [max(worth) - min(worth), 0]
        assert asked.used(points) == int(points[:-1].any()) + int(points[-1] != 0)


def test_per_unit_and_combined_columns() -> None:
    terms: list[Term] = [PerUnit("dose"), Condition("dose", "missing"), Condition("sum", ">=", 2)]
    asked = Questions.of_terms(terms)
    assert asked.names == ("dose", "sum")
    assert asked.of_column.tolist() == [0, 0, 1]
    assert asked.answers.shape == (0, 3)  # points per unit have no end
    yes = Questions.of_terms([PerUnit("sick", binary=True), Condition("sick", "missing")])
    assert yes.answers.tolist() == [[0, 0], [0, 1], [1, 0]]


# -- prices ----------------------------------------------------------------------------------------


def small_table() -> PatternTable:
    rng = np.random.default_rng(2)
    return PatternTable.from_arrays(rng.integers(0, 2, (40, 4)), rng.random(40) < 0.4)


def pairs() -> Questions:
    none = np.zeros((0, 4), dtype=np.int64)
    return Questions(("p", "q"), np.array([0, 0, 1, 1]), none, np.zeros(0, dtype=np.int64))


def test_a_question_and_its_further_rules_are_paid_for() -> None:
    table = small_table()
    c0, c1 = Fraction("0.03"), Fraction("0.005")
    problem = Problem.build(table, GRID, penalty=(c0, c1), questions=pairs())
    free = Problem.build(table, GRID, penalty=0, questions=pairs())
    for points, price in (
        ([0, 0, 0, 0], Fraction(0)),
        ([0, 3, 0, 0], c0),
        ([1, 3, 0, 0], c0 + c1),
        ([1, 0, 0, -2], 2 * c0),
        ([1, 3, 2, -2], 2 * c0 + 2 * c1),
    ):
        found = problem.evaluate(points)
        assert found.objective == free.evaluate(points).objective - price
        assert problem.price(found.size, found.questions) == price


@pytest.mark.parametrize("penalty", ["paper", "auto", 0.01, Fraction(1, 7)])
def test_one_condition_per_question_is_the_published_penalty(penalty: Any) -> None:
    """To the last bit: the same prices, scale and values as with the price of each condition."""
    table = small_table()
    single = Problem.build(table, GRID, penalty=penalty)
    also = Problem.build(table, GRID, penalty=penalty, questions=Questions.single(table.names))
    c0 = read_prices(penalty, table)[0]
    assert single.rule_penalty == also.rule_penalty == single.penalty == c0
    assert single.rates.tolist() == also.rates.tolist()
    assert single.rates[2] == 0
    free = Problem.build(table, GRID, penalty=0)
    for points in ([0, 0, 0, 0], [1, 0, 0, 0], [1, 2, 0, -3], [1, 1, 1, 1]):
        size = int(np.count_nonzero(points))
        expected = free.evaluate(points).objective - c0 * size
        assert single.evaluate(points).objective == also.evaluate(points).objective == expected


def test_prices_are_read() -> None:
    table = small_table()
    assert read_prices(0.02, table) == (Fraction("0.02"), RULE_SHARE * Fraction("0.02"))
    share = Fraction(int(table.n_events), int(table.n_total))
    assert read_prices((0.02, "paper"), table)[1] == share / 40
    assert read_prices([0.02, 0], table) == (Fraction("0.02"), 0)


@pytest.mark.parametrize(
    ("penalty", "message"),
    [
        ((0.01, 0.02), "a further rule on a question may not cost more than the question itself"),
        ((0.01,), "must be one price, or two"),
        ((0.1, 0.1, 0.1), "must be one price, or two"),
        ("cheap", "penalty='cheap' is not known"),
        ((0.1, "cheap"), "penalty='cheap' is not known"),
        ((0.1, -0.1), "penalty"),
        ((float("nan"), 0), "penalty"),
    ],
)
def test_bad_prices(penalty: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Problem.build(small_table(), GRID, penalty=penalty)


# -- limits ----------------------------------------------------------------------------------------


def test_the_number_of_questions_is_limited() -> None:
    table = small_table()
    problem = Problem.build(table, GRID, max_questions=1, questions=pairs())
    assert problem.allows([1, 2, 0, 0])
    assert not problem.allows([1, 0, 2, 0])
    assert problem.constraints == (MaxQuestions(1),)
    single = Problem.build(table, GRID, max_questions=1)
    assert not single.allows([1, 2, 0, 0])
    assert single.max_features == 1
    with pytest.raises(InputError, match="at most 0 questions"):
        Problem.build(table, GRID, constraints=[MaxQuestions(0)], bounds={"x0": (1, 2)})
    with pytest.raises(InputError, match="max_questions must be a whole number of at least 0"):
        Problem.build(table, GRID, max_questions=-1)


def test_max_points_limits_answers_as_printed() -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 90, 400)
    ill = rng.random(400) < 1 / (1 + np.exp(-(age - 55) / 6))
    for most in (2, 3, 10):
        model = RiskScoreClassifier(
            binner="auto", max_points=most, penalty=0, teacher="logistic", solver="local",
            time_limit=None, n_jobs=1,
        ).fit({"age": age}, ill)  # fmt: skip
        card = model.scorecard_
        scores = np.asarray(card.score({"age": np.arange(20, 90)}))
        assert model.result_.size > 1
        assert 0 < scores.max() - scores.min() <= most
