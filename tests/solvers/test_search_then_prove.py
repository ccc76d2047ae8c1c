"""The strategy: which bounds it picks, what it reports, and that every choice is right."""

from __future__ import annotations

import logging
import threading

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import MaxFeatures, MinTPR
from netbenefit.problem.problem import IntegerProblem, NoCardFound, Problem, Progress, Proof
from netbenefit.solvers import search_then_prove
from netbenefit.solvers.base import Run, conclude
from netbenefit.solvers.bounds.supports import SupportBound
from netbenefit.solvers.search_then_prove import BoundStep, SearchThenProve, plan
from tests.helpers.strategies import brute_force, constrained_problems


def make_problem(n: int, columns: int, top: int, noise: float = 1.0, **options: object) -> Problem:
    """Rows whose risk rises with the first half of the columns."""
    rng = np.random.default_rng(n)
    X = rng.integers(0, top + 1, (n, columns))
    signal = X[:, : columns // 2].sum(axis=1) / top
    score = 4 * (signal - signal.mean()) / noise
    y = rng.random(n) < 1 / (1 + np.exp(-score))
    return Problem.build(PatternTable.from_arrays(X, y), Thresholds.tenths(), **options)


def methods(problem: Problem) -> list[str]:
    integers = IntegerProblem.of(problem)
    return [step.method for step in plan(problem, integers, integers.ceiling // 2)]


def test_few_columns_are_searched_first() -> None:
    assert methods(make_problem(100, 6, 3)) == ["branch and bound", "packing"]


def test_many_columns_are_packed() -> None:
    assert methods(make_problem(200, 20, 3)) == ["packing"]


def test_many_two_valued_patterns_share_directions() -> None:
    assert methods(make_problem(3000, 20, 1)) == ["direction signs"]


def test_few_features_have_few_supports() -> None:
    problem = make_problem(200, 20, 3, constraints=[MaxFeatures(3)])
    assert methods(problem)[0] == "supports"


def assert_boxes(problem: Problem, proof: Proof) -> None:
    """Its boxes give exactly its bound."""
    integers = IntegerProblem.of(problem)
    assert proof.boxes is not None
    assert integers.to_objective(int(proof.boxes.values.max())) == proof.bound


def test_nearly_separable_data_are_packed() -> None:
    problem = make_problem(3000, 20, 1)
    integers = IntegerProblem.of(problem)
    steps = plan(problem, integers, integers.ceiling - integers.price)
    assert [step.method for step in steps] == ["packing"]


WAYS = ["branch and bound", "supports", "direction signs", "packing"]


@pytest.mark.parametrize("method", WAYS)
def test_every_way_is_right_on_small_problems(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_then_prove, "plan", lambda *_: [BoundStep(method, 1.0)])

    @settings(max_examples=25)
    @given(constrained_problems(most_vectors=300, rates=False))
    def check(problem: Problem) -> None:
        best = brute_force(problem)
        assert best is not None
        result = SearchThenProve(time_limit=2.0).solve(problem)
        assert problem.feasible(result.points)
        assert result.proof is not None
        assert problem.evaluate(result.points).objective <= best[0] <= result.proof.bound
        assert_boxes(problem, result.proof)

    check()


def test_the_trace_says_what_gave_the_bound() -> None:
    result = SearchThenProve(time_limit=None).solve(make_problem(120, 5, 3))
    assert result.status == "optimal"
    sources = [row.source for row in result.trace]
    assert sources[0] == "local"
    assert sources[-1] == "branch and bound"
    bounds = [row.bound for row in result.trace if row.bound is not None]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == pytest.approx(result.objective)


@pytest.mark.parametrize("columns", [12, 20])
def test_time_is_kept_and_the_bound_valid(columns: int) -> None:
    problem = make_problem(300, columns, 9)
    result = SearchThenProve(time_limit=3.0, n_jobs=2).solve(problem)
    assert result.status == "time_limit"
    assert result.bound is not None
    assert result.objective < result.bound
    assert "Within" in conclude(result)
    assert result.proof is not None
    assert_boxes(problem, result.proof)


@pytest.mark.parametrize("columns", [12, 20])
def test_an_interrupt_keeps_card_and_bound(columns: int) -> None:
    problem = make_problem(300, columns, 9)
    threads = threading.active_count()

    def stop(progress: Progress) -> None:
        if progress.bound is not None and progress.seconds > 1.5:
            raise KeyboardInterrupt

    result = SearchThenProve(time_limit=60.0, search_share=0.01).solve(problem, callback=stop)
    assert result.status == "interrupted"
    assert result.bound is not None
    assert result.proof is not None
    assert_boxes(problem, result.proof)
    assert problem.feasible(result.points)
    assert threading.active_count() <= threads + 1


def test_impossible_rates_are_proven_impossible() -> None:
    table = PatternTable.from_arrays([[0], [0], [1], [1]], [0, 1, 0, 1])
    limits = [MinTPR(0.5, 1.0)]
    problem = Problem.build(table, Thresholds.of([0.5]), constraints=limits)
    assert SearchThenProve().solve(problem).status == "optimal"  # all rows are called
    from netbenefit.problem.constraints import MaxFPR

    worse = Problem.build(
        table, Thresholds.of([0.5]), constraints=[MinTPR(0.5, 0.9), MaxFPR(0.5, 0.4)]
    )
    with pytest.raises(NoCardFound, match=r"proven.*at least 0.9"):
        SearchThenProve().solve(worse)


def test_a_bound_below_a_card_is_never_believed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    problem = make_problem(100, 5, 3)

    wrong = SupportBound(0, 1, True, None)
    monkeypatch.setattr(search_then_prove, "_bound", lambda *_: wrong)
    monkeypatch.setattr(search_then_prove, "plan", lambda *_: [BoundStep("supports", 1.0)])
    with caplog.at_level(logging.ERROR):
        result = SearchThenProve(time_limit=None).solve(problem)
    assert "below a card that exists" in caplog.text
    assert result.status != "optimal"
    assert result.bound is not None
    assert result.bound > result.objective
    run = Run(problem, "test", np.inf)
    run.report(1, 0, result.points)
    run.report_proof(Proof("wrong", problem.evaluate(result.points).objective / 2))
    assert run.result(result.points, "finished").bound is None


@settings(max_examples=50)
@given(st.data())
def test_sentences_are_true(data: st.DataObject) -> None:
    problem = data.draw(constrained_problems(most_vectors=100, rates=False))
    result = SearchThenProve(time_limit=None).solve(problem)
    assert conclude(result).startswith("Proven optimal: no card")


# -- cases that were wrong once --------------------------------------------------------------------


def test_real_weights_and_no_rule_worth_its_price() -> None:
    X = [[0, 1], [1, 0], [1, 1], [0, 0], [2, 1], [1, 2], [0, 2]]
    weights = [0.37, 1.1, 2.3, 0.9, 1.7, 0.51, 1.01]
    table = PatternTable.from_arrays(X, [0, 1, 0, 1, 1, 0, 1], sample_weight=weights)
    problem = Problem.build(table, Thresholds.tenths(), penalty=0.5, max_points=100)
    result = SearchThenProve(time_limit=None).solve(problem)
    assert result.size == 0
    assert result.status == "optimal"
    assert result.proof is not None
    assert result.proof.bound >= problem.evaluate(result.points).objective


@pytest.mark.parametrize("top", [0.99, 0.9999, 0.99999, 0.9999999])
def test_real_weights_and_high_thresholds(top: float) -> None:
    X = [[0, 1], [1, 0], [1, 1], [0, 0], [2, 1]]
    table = PatternTable.from_arrays(X, [0, 1, 0, 1, 1], sample_weight=[0.37, 1.1, 2.3, 0.9, 1.7])
    problem = Problem.build(table, Thresholds.of([0.5, top]), max_points=3)
    best = brute_force(problem)
    assert best is not None
    result = SearchThenProve(time_limit=None).solve(problem)
    assert result.proof is not None
    assert result.proof.bound >= best[0]
    assert float(result.proof.bound - best[0]) < 1e-6


@pytest.mark.parametrize("rough", [False, True])
def test_rates_without_exact_numbers_still_give_a_card(rough: bool) -> None:
    X = [[0, 1], [1, 0], [1, 1], [0, 0], [2, 1]]
    weights = None if rough else [0.37, 1.1, 2.3, 0.9, 1.7]
    table = PatternTable.from_arrays(X, [0, 1, 0, 1, 1], sample_weight=weights)
    grid = Thresholds.of([0.0857, 0.4491], weights="length") if rough else Thresholds.of([0.1, 0.5])
    limits = [MinTPR(grid.values[-1], 0.9)]
    problem = Problem.build(table, grid, max_points=3, constraints=limits)
    result = SearchThenProve(time_limit=None).solve(problem)
    assert problem.feasible(result.points)
    assert result.proof is not None
    best = brute_force(problem)
    assert best is not None
    assert result.proof.bound >= best[0]


def test_an_interrupt_of_the_search_leaves_the_trivial_bound() -> None:
    def stop(progress: Progress) -> None:
        if progress.seconds > 0.3:
            raise KeyboardInterrupt

    problem = make_problem(300, 12, 9)
    result = SearchThenProve(time_limit=60.0).solve(problem, callback=stop)
    assert result.status == "interrupted"
    assert result.bound is not None
    assert result.bound >= result.objective
    assert "Within" in conclude(result)
