"""Small parts that all solvers share."""

from __future__ import annotations

import io
from dataclasses import replace
from fractions import Fraction

import numpy as np
from rich.console import Console

from netbenefit.cards.scorecard import Provenance
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.problem import Problem, Progress, Proof
from netbenefit.solvers.base import (
    LiveLine,
    allowed_start,
    check_time_limit,
    conclude,
    describe,
    round_up,
)
from netbenefit.solvers.local_search import plainness
from netbenefit.solvers.search_then_prove import SearchThenProve


def test_no_time_limit_is_endless() -> None:
    assert check_time_limit(None) == float("inf")


def test_a_bound_is_rounded_up() -> None:
    assert round_up(Fraction(1, 3)) > Fraction(1, 3)
    assert round_up(Fraction(1, 4)) == 0.25


def test_a_start_is_moved_into_its_bounds_or_dropped() -> None:
    table = PatternTable.from_arrays([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    problem = Problem.build(table, Thresholds.tenths(), max_points=3, max_features=1)
    moved = allowed_start(problem, [5, 0])
    assert moved is not None
    assert moved.tolist() == [3, 0]
    assert allowed_start(problem, [5, 1]) is None


def test_fewer_and_smaller_points_are_plainer() -> None:
    assert plainness(np.array([0, 2, -1])) == (2, 3, (0, -2, 1))


def test_progress_is_one_line() -> None:
    progress = Progress(0.25, 4, 1.26, 2_500_000)
    text = "objective 0.250000 · size 4 · 1.3 s · 2,500,000 cards tried"
    assert describe(progress) == text
    out = io.StringIO()
    with LiveLine(Console(file=out)) as line:  # no terminal
        line(progress)
    assert not out.getvalue()


def test_the_conclusion_of_a_proof() -> None:
    table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1])
    result = SearchThenProve().solve(Problem.build(table, Thresholds.of([0.5])))
    text = "Proven optimal: no card within these limits has a higher objective."
    assert conclude(result) == text


def test_the_conclusion_tells_reports_from_proofs() -> None:
    """A solver's bound has a sentence of its own, unless the card is proven optimal."""
    table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1])
    optimal = SearchThenProve().solve(Problem.build(table, Thresholds.of([0.5])))
    details = {"solver": "HiGHS", "solver_bound": 0.6000001}
    proof = Proof("ceiling", Fraction(2), details=details)
    result = replace(optimal, proof=proof, status="finished", objective=0.5, bound=2.0)
    said = " HiGHS reports a bound of 0.600001 on the objective, which nobody can recount: it is "
    assert conclude(result) == (
        "Within 300.0% of the best possible card: no card within these limits has an objective "
        f"above 2.000000.{said}not a proof."
    )
    origin = Provenance(version="0", objective=0.5, share_kept=0.9, share_bound=1.5)
    assert conclude(result, origin) == (
        "This card of 1 rule keeps 90.0% of the net benefit of the model behind it. "
        + conclude(result)
    )
    unproven = replace(result, proof=None, bound=None)
    origin = replace(origin, share_bound=None)
    assert conclude(unproven, origin).endswith("could keep more is not known.")
    assert conclude(result, replace(origin, share_bound=0.95)).endswith(f"95.0%.{said}not a proof.")
    assert "reports" not in conclude(replace(result, status="optimal"))


def test_an_empty_card_keeps_nothing_worth_a_share() -> None:
    table = PatternTable.from_arrays([[0], [1], [0], [1]], [0, 1, 1, 0])
    result = SearchThenProve().solve(Problem.build(table, Thresholds.of([0.3])))
    origin = Provenance(version="0", objective=0.5, share_kept=0.999, share_bound=0.999)
    assert conclude(result, origin) == (
        "No rule is worth its price here: everybody gets the same risk. Proven optimal: no card "
        "within these limits has a higher objective."
    )
