"""From points to a card: levels, risks and the printed table against a twin in plain Python."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.cards.scorecard import Provenance, Scorecard
from netbenefit.cards.terms import PerUnit
from netbenefit.cards.text import contents, percent
from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.training import assemble_card, terms_of
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.levels import floor_scores, level_risks
from netbenefit.problem.problem import Problem, SolverResult
from netbenefit.solvers.base import Run
from tests.helpers import slow_truth as reference
from tests.helpers.cards import risks_by_level
from tests.helpers.full import examples
from tests.helpers.strategies import points_of, problems

ORIGIN = Provenance(version="0")


def result_of(problem: Problem, points) -> SolverResult:
    """What a solver returns that ends at these points."""
    return Run(problem, "none", np.inf).result(np.asarray(points, dtype=np.int64), "finished")


def card_of(problem: Problem, points, **options) -> Scorecard:
    return assemble_card(problem, result_of(problem, points), ORIGIN, **options)


# -- the twin --------------------------------------------------------------------------------------


def twin(problem: Problem, points) -> tuple[list[int], list[int], list[Fraction | None]]:
    """Scores and levels of the patterns, and the event rate of each level, by counting."""
    table = problem.patterns
    scores = reference.floor_scores(table.codes, table.decimals, list(points))
    cutoffs = reference.cutoffs(table, problem.thresholds, list(points))
    levels = [sum(1 for cutoff in cutoffs if score >= cutoff) for score in scores]
    rates: list[Fraction | None] = []
    for i in range(len(problem.thresholds)):
        events = others = Fraction(0)
        for level, a, b in zip(
            levels, table.positives.tolist(), table.negatives.tolist(), strict=True
        ):
            if level == i:
                events += Fraction(a)
                others += Fraction(b)
        rates.append(events / (events + others) if events + others else None)
    return scores, levels, rates


def rows_of(table: PatternTable) -> dict[str, list[float]]:
    """The patterns as raw columns."""
    return {name: table.values()[:, k].tolist() for k, name in enumerate(table.names)}


@settings(max_examples=examples(500))
@given(st.data())
def test_levels_and_risks_are_those_of_the_twin(data):
    problem = data.draw(problems(taught=False))
    points = points_of(data.draw, problem)
    card = card_of(problem, points)
    scores, levels, rates = twin(problem, points)
    rows = rows_of(problem.patterns)
    assert card.score(rows).tolist() == scores
    assert card.level(rows).tolist() == levels
    assert card.score_range == (min(scores), max(scores))
    p = [*problem.thresholds.fractions, Fraction(1)]
    for i, (risk, rate) in enumerate(zip(risks_by_level(card), rates, strict=True)):
        if rate is None:
            assert risk is None
            continue
        assert p[i] <= rate <= p[i + 1]
        assert rate < p[i + 1] or i == len(rates) - 1  # cut-offs take all that is worth it
        assert risk == float(rate)
    assert card.risk(rows).tolist() == [float(rates[level]) for level in levels]


@settings(max_examples=examples(300))
@given(st.data())
def test_real_weights_and_thresholds_without_a_scale(data):
    problem = data.draw(problems(real=True, taught=False))
    points = points_of(data.draw, problem)
    card = card_of(problem, points)
    rows = rows_of(problem.patterns)
    table, grid = problem.patterns, problem.thresholds
    level = card.level(rows)
    for i, risk in enumerate(risks_by_level(card)):
        inside = level == i
        assert (risk is None) == (not inside.any())
        if risk is None:
            continue
        events, others = table.positives[inside].sum(), table.negatives[inside].sum()
        assert risk == pytest.approx(events / (events + others), abs=1e-9)
        assert grid.level_of(np.array([risk]))[0] == i


@settings(max_examples=examples(200))
@given(st.data())
def test_without_calibration_every_level_gets_its_middle(data):
    problem = data.draw(problems())
    points = points_of(data.draw, problem)
    card = card_of(problem, points, calibrate=False)
    _, levels, _ = twin(problem, points)
    edges = [*problem.thresholds.values, 1.0]
    for i, risk in enumerate(risks_by_level(card)):
        assert risk == ((edges[i] + edges[i + 1]) / 2 if i in levels else None)


# -- single cases ----------------------------------------------------------------------------------


def small_problem(thresholds: Thresholds | None = None) -> Problem:
    """Score 0: 1 of 10 has the event; 1: 3 of 10; 2: 9 of 10."""
    x = np.repeat([0, 1, 2], 10)
    y = np.concatenate([np.arange(10) < k for k in (1, 3, 9)])
    table = PatternTable.from_arrays(x[:, None], y, names=["falls"])
    return Problem.build(table, thresholds or Thresholds.tenths())


def test_a_card_by_hand():
    card = card_of(small_problem(), [1])
    assert card.cutoffs == (0, 1, 1, 2, 2, 2, 2, 2, 2)
    assert risks_by_level(card) == (None, 0.1, None, 0.3, None, None, None, None, None, 0.9)
    assert [tuple(row) for row in card.risk_table()] == [
        (None, 0, 0.1),
        (1, 1, 0.3),
        (2, None, 0.9),
    ]
    assert card.feature_names == ("falls",)
    assert replace(card.provenance, net_benefit=None) == ORIGIN
    assert contents(card).table == [("≤ 0", "10.0%"), ("1", "30.0%"), ("≥ 2", "90.0%")]


def test_empty_levels_have_no_risk_and_no_row():
    problem = small_problem(Thresholds.of([0.05, 0.5, 0.95]))
    card = card_of(problem, [1])
    assert card.cutoffs == (0, 2, 3)  # no row reaches the last one
    assert risks_by_level(card) == (None, 0.2, 0.9, None)
    assert len(card.risk_table()) == 2
    assert card.decide({"falls": [0, 1, 2, 50]}, 0.95).tolist() == [False] * 4


def test_points_that_are_all_zero_give_one_level():
    card = card_of(small_problem(), [0])
    assert card.rules == ()
    assert card.score({"falls": [0, 1, 2]}).tolist() == [0, 0, 0]
    assert card.risks == ((0, 13 / 30),)
    assert [tuple(row) for row in card.risk_table()] == [(0, 0, 13 / 30)]


def test_columns_without_points_get_no_rule_but_keep_their_place():
    table = PatternTable.from_arrays(
        [[0, 0, 1], [1, 1, 0], [1, 0, 2]], [0, 1, 1], names=list("abc")
    )
    problem = Problem.build(table, Thresholds.of([0.5]))
    card = card_of(problem, [0, 0, 1])
    assert [rule.term.feature for rule in card.rules] == ["c"]
    assert card.feature_names == ("a", "b", "c")
    assert card.score(np.array([[9, 9, 2]])).tolist() == [2]


@settings(max_examples=examples(200))
@given(st.data())
def test_a_score_beyond_training_reads_as_the_nearest(data):
    problem = data.draw(problems())
    card = card_of(problem, points_of(data.draw, problem))
    low, high = card.score_range
    assert None not in (card.risk_of_score(low), card.risk_of_score(high))
    for far in (1, 7, 10**9):
        assert card.risk_of_score(low - far) == card.risk_of_score(low)
        assert card.risk_of_score(high + far) == card.risk_of_score(high)
    beyond = np.array([low - 10**6, high + 10**6])
    assert card.risk_of_score(beyond).tolist() == [
        card.risk_of_score(low), card.risk_of_score(high),
    ]  # fmt: skip


# -- the printed table -----------------------------------------------------------------------------


def printed_risk(table: list[tuple[str, str]], score: int) -> str:
    """Read a score off the printed table, as a person does."""
    found = []
    for scores, risk in table:
        words = scores.replace("−", "-")
        if words == "any":
            inside = True
        elif words.startswith("≤ "):
            inside = score <= int(words[2:])
        elif words.startswith("≥ "):
            inside = score >= int(words[2:])
        else:
            ends = words.replace(" to ", "–").split("–")
            inside = int(ends[0]) <= score <= int(ends[-1])
        if inside:
            found.append(risk)
    assert len(found) == 1, (table, score)
    return found[0]


@settings(max_examples=examples(300))
@given(st.data())
def test_the_printed_table_says_what_is_predicted(data):
    problem = data.draw(problems())
    card = card_of(problem, points_of(data.draw, problem))
    rows = rows_of(problem.patterns)
    scores, risks = card.score(rows).tolist(), card.risk(rows).tolist()
    low, high = card.score_range
    limits = card.score_limits
    for score in (low - 3, high + 3):  # beyond training
        if limits is None or limits[0] <= score <= limits[1]:
            scores, risks = [*scores, score], [*risks, card.risk_of_score(score)]
    printed = contents(card).table
    for score, risk in zip(scores, risks, strict=True):
        assert printed_risk(printed, score) == percent(risk, problem.thresholds)
    for words, risk in printed:  # and all of it is drawn
        assert words in str(card)
        assert risk in str(card)
    risk_column = [row.risk for row in card.risk_table()]
    assert risk_column == sorted(set(risk_column))


# -- terms -----------------------------------------------------------------------------------------


def test_terms_are_columns_per_unit_in_their_step():
    table = PatternTable.from_arrays([[0, 0.5, 3], [1, 2.0, 3]], [0, 1], names=["ill", "x", "n"])
    assert terms_of(table) == (
        PerUnit("ill", binary=True),
        PerUnit("x", decimals=1),
        PerUnit("n"),
    )


# -- cut-offs that are not the best ----------------------------------------------------------------


def test_rates_outside_their_interval_are_refused():
    """A foreign solver may return any cut-offs; risks that contradict them are not invented."""
    problem = small_problem(Thresholds.of([0.5]))
    table = problem.patterns
    scores = floor_scores(table.codes, table.decimals, np.array([1]))
    assert level_risks(table, problem.thresholds, scores, (2,)) == (0.2, 0.9)
    wrong = level_risks(table, problem.thresholds, scores, (1,))
    assert wrong == (0.1, 0.6)  # not the best cut-off, yet both rates are where they belong
    out_of_reach = level_risks(table, problem.thresholds, scores, (3,))
    assert out_of_reach == (13 / 30, None)
    everybody = level_risks(table, problem.thresholds, scores, (0,))
    assert everybody == (None, 13 / 30)
    with pytest.raises(InputError, match=r"risks\[1\] = 0.43.* must lie in \[0.5, 1\]"):
        Scorecard.from_levels((), (0,), everybody, problem.thresholds, score_range=(0, 2))


def test_rounding_of_real_weights_does_not_move_a_level():
    """0.1 + 0.2 against 0.3: a rate of one half, as meant, and a bit less as summed."""
    table = PatternTable.from_arrays(
        [[0], [1], [1], [1]], [0, 1, 0, 0], sample_weight=[1.0, 0.3, 0.1, 0.2]
    )
    grid = Thresholds.of([0.5])
    assert table.positives.tolist()[1] < table.negatives.tolist()[1]  # 0.3 < 0.1 + 0.2
    scores = np.array([0, 1])
    low, high = level_risks(table, grid, scores, (1,))
    assert low == 0.0
    assert high == 0.5  # not 0.49999999999999994, which would not be in [0.5, 1]
    other = PatternTable.from_arrays(
        [[0], [1], [1], [1]], [1, 0, 1, 1], sample_weight=[1.0, 0.3, 0.1, 0.2]
    )
    below, above = level_risks(other, grid, np.array([1, 0]), (1,))
    assert below == np.nextafter(0.5, 0)
    assert above == 1.0
