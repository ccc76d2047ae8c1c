"""What is called optimal is optimal: extreme thresholds, real weights, limits on rates."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import MaxFPR, MinTPR
from netbenefit.problem.problem import (
    NEGLIGIBLE,
    IntegerProblem,
    NoCardFound,
    Problem,
    Proof,
    Reason,
)
from netbenefit.solvers.base import Run
from netbenefit.solvers.boxes.search import prove_boxes
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.solvers.search_then_prove import SearchThenProve
from tests.helpers.strategies import brute_force


def problem_of(grid: Thresholds, seed: int, weights: Any = None, **settings: Any) -> Problem:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (12, 3)) / 2, rng.integers(0, 2, 12)
    y[:2] = 0, 1
    table = PatternTable.from_arrays(X, y, sample_weight=weights)
    return Problem.build(table, grid, max_points=2, **settings)


@pytest.mark.parametrize("seed", range(4))
def test_a_threshold_next_to_one_is_proven_with_real_weights(seed: int) -> None:
    # With its odds of 10^12 as the scale, the rounding was .3: any card was called optimal.
    weights = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, 12)
    problem = problem_of(Thresholds.of([0.3, math.pi / 10, 1 - 1e-12]), seed, weights)
    best = brute_force(problem)
    assert best is not None
    result = SearchThenProve(time_limit=None).solve(problem)
    assert result.status == "optimal"
    assert result.proof is not None
    assert result.proof.rounding < Fraction(1, 10**12)
    found = problem.evaluate(result.points).objective
    assert found <= best[0] <= found + result.proof.rounding


def test_a_coarse_bound_is_reported_as_it_is() -> None:
    problem = problem_of(Thresholds.of([0.3, 0.5]), 0)
    card = LocalSearch(max_rounds=1).solve(problem)
    objective = problem.evaluate(card.points).objective
    coarse = Proof("coarse", objective + Fraction(1, 4), rounding=Fraction(1, 3))
    for proof, status in (
        (coarse, "finished"),
        (replace(coarse, bound=objective), "finished"),
        (replace(coarse, bound=objective + NEGLIGIBLE, rounding=NEGLIGIBLE), "optimal"),
    ):
        run = Run(problem, "test", math.inf)
        run.proof = proof
        result = run.result(card.points, "finished")
        assert result.status == status
        assert result.bound is not None
        assert result.bound >= float(proof.bound) or status == "optimal"


@pytest.mark.parametrize("seed", range(8))
def test_rates_of_real_weights_are_proven(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = 10.0 ** rng.uniform(-6, 6, 12) if seed % 2 else rng.uniform(0.1, 3.0, 12)
    limits = [MinTPR(0.3, Fraction(int(rng.integers(1, 4)), 4)), MaxFPR(0.5, Fraction(1, 2))]
    grid = Thresholds.of([0.3, 0.5, [0.999999, math.pi / 4][seed // 2 % 2]])
    problem = problem_of(grid, seed, weights, constraints=limits)
    best = brute_force(problem)
    if best is None:
        with pytest.raises(NoCardFound, match="proven"):
            SearchThenProve(time_limit=None).solve(problem)
        return
    result = SearchThenProve(time_limit=None).solve(problem)
    assert result.status == "optimal"
    found = problem.evaluate(result.points).objective
    assert found <= best[0] <= found + NEGLIGIBLE


def test_a_card_at_the_border_of_a_rate_is_counted_in_fractions() -> None:
    # Two events of weight 10^-15 and 0.2, and a limit that their sum misses by 10^-25 of a row:
    # held in 60 bits the pair seems to meet it.
    weights = [1e-15, 0.2, 0.3, 1.0, 1.0]
    table = PatternTable.from_arrays(
        [[1, 0], [1, 1], [0, 1], [0, 0], [1, 0]], [1, 1, 1, 0, 0], sample_weight=weights
    )
    events = sum((Fraction(v) for v in table.events.tolist()), Fraction(0))
    reached = Fraction(1e-15) + Fraction(0.2)
    for share, fits in ((reached / events, True), (reached / events + Fraction(1, 10**25), False)):
        problem = Problem.build(
            table,
            Thresholds.of([0.5]),
            max_points=1,
            penalty=0,
            constraints=[MinTPR(0.5, share), MaxFPR(0.5, Fraction(1, 2))],
        )
        best = brute_force(problem)
        assert best is not None
        run = Run(problem, "test", math.inf)
        integers = IntegerProblem.of(problem)
        assert prove_boxes(run, integers, n_jobs=1) == "finished"
        assert run.best is not None
        assert run.proof is not None
        assert run.proof.boxes is not None
        result = run.result(run.best, "finished")
        assert result.status == "optimal"
        assert problem.evaluate(result.points).objective == best[0]
        counted = run.proof.boxes.reasons == Reason.COUNTED
        top = integers.to_objective(int(run.proof.boxes.values[counted].max()))
        assert best[0] <= top <= best[0] + integers.rounding
        assert problem.feasible([1, 0]) is fits
