"""Time limits hold, and the compilation of kernels is not charged to them."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import MaxTotalPoints, MinTPR
from netbenefit.problem.problem import IntegerProblem, NoCardFound, Problem, SolverResult
from netbenefit.solvers import clock, search_then_prove
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.base import LiveLine, Run
from netbenefit.solvers.boxes.search import fits_boxes, prove_boxes
from netbenefit.solvers.clock import Compiling, compiling, now
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.solvers.near_optimal import enumerate_near_optimal
from netbenefit.solvers.search_then_prove import SearchThenProve
from netbenefit.solvers.sizes import best_of_every_size
from netbenefit.teachers.crossfit import blend
from tests.helpers.strategies import problems

LIMIT = 0.5


def random_problem(n_rows: int, n_columns: int, **settings: Any) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (n_rows, n_columns))
    X[:, 0] = np.arange(n_rows) % 7
    risk = 1 / (1 + np.exp(2 - X[:, 0] + X[:, 1]))
    table = PatternTable.from_arrays(X, rng.random(n_rows) < risk)
    blended, _ = blend(table, risk, np.ones(n_rows), Fraction(n_rows, 10))
    return Problem.build(blended, Thresholds.tenths(), penalty="auto", **settings)


WIDE, LONG = (120, 3000), (20_000, 30)
RATES = [MinTPR(0.3, Fraction(1, 2)), MaxTotalPoints(30)]


@pytest.mark.parametrize("shape", [WIDE, LONG], ids=["wide", "long"])
@pytest.mark.parametrize("constraints", [(), RATES], ids=["plain", "rates"])
@pytest.mark.parametrize(
    "solve",
    [
        lambda p: LocalSearch(time_limit=LIMIT).solve(p),
        lambda p: Annealing(time_limit=LIMIT).solve(p, start=p.nearest_to_zero()),
        lambda p: SearchThenProve(time_limit=LIMIT).solve(p),
        lambda p: best_of_every_size(p, range(1, 5), time_limit=LIMIT),
        lambda p: enumerate_near_optimal(p, 0.01, 10, time_limit=LIMIT),
    ],
    ids=["local", "anneal", "exact", "sizes", "near"],
)
def test_no_phase_forgets_the_clock(
    solve: Callable[[Problem], Any], constraints: Any, shape: tuple[int, int]
) -> None:
    problem = random_problem(*shape, constraints=constraints)
    begin = now()
    with suppress(NoCardFound):  # in so short a time, there may be no card within the rates
        solve(problem)
    assert now() - begin <= 1.1 * LIMIT + 1.0


def test_boxes_stop_in_time() -> None:
    problem = random_problem(600, 60)
    integers = IntegerProblem.of(problem)
    assert fits_boxes(integers)
    run = Run(problem, "test", LIMIT)
    run.report(1, 0, problem.nearest_to_zero())
    assert prove_boxes(run, integers, n_jobs=2) == "time_limit"
    assert run.seconds <= 1.1 * LIMIT + 1.0
    assert not fits_boxes(IntegerProblem.of(random_problem(*WIDE)))  # too many levels


def test_the_clock_stands_still_while_kernels_are_compiled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kernel = numba.njit(lambda x: x + 1)
    run = Run(random_problem(20, 3), "test", 60.0)
    told: list[str] = []
    compiling.listeners.append(told.append)
    before, wall, spent = now(), time.perf_counter(), compiling.seconds
    with caplog.at_level(logging.INFO, "netbenefit"):
        kernel(1)
    compiling.listeners.remove(told.append)
    charged, took = now() - before, time.perf_counter() - wall
    assert compiling.seconds - spent > 0.5 * took
    assert charged < 0.5 * took
    assert run.seconds < took
    assert told == [clock.ANNOUNCEMENT]
    assert clock.ANNOUNCEMENT in caplog.text
    assert "later runs load them from disk" in caplog.text


def test_calls_of_the_compiler_within_others_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 3.0, 10.0])
    monkeypatch.setattr(clock.time, "perf_counter", lambda: next(ticks))
    watch = Compiling()
    watch.begin()  # 0
    watch.begin()
    assert watch.seconds == 3.0
    watch.end()
    watch.end()  # 10
    assert watch.seconds == 10.0


@pytest.mark.parametrize("terminal", [True, False])
def test_people_are_told_where_nobody_listens(
    terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    watch = Compiling()
    watch.begin()
    watch.announce()
    watch.announce()
    watch.end()
    told = f"netbenefit: {clock.ANNOUNCEMENT}\n" if terminal else ""
    assert capsys.readouterr().err == told


def test_the_line_on_a_terminal_says_what_takes_so_long() -> None:
    texts: list[str] = []

    class Drawn:
        def update(self, text: str) -> None:
            texts.append(text)

    line = LiveLine()
    with line:
        line._live = Drawn()
        compiling.begin()
        compiling.announce()
        compiling.announce()
        compiling.end()
        line._live = None
    assert texts == [clock.ANNOUNCEMENT]
    assert line._say not in compiling.listeners


@settings(max_examples=20)
@given(
    data=st.data(), limit=st.sampled_from([60.0, 600.0]), speed=st.sampled_from([0.1, 5.0, 20.0])
)
def test_a_search_that_ends_by_itself_does_not_depend_on_the_clock(
    data: st.DataObject, limit: float, speed: float
) -> None:
    """Any clock, limit and number of threads: the card is that of one thread without a limit."""
    problem = data.draw(problems(constrained=data.draw(st.booleans()), rates=False))
    ended: list[str] = []

    class Short(LocalSearch):
        """Ends soon, and leaves something to be found by the proof."""

        _SHORTEST, _LONGEST, _LONGEST_BLENDED = 2, 8, 8

        def solve(self, *given: Any, **named: Any) -> SolverResult:
            result = super().solve(*given, **named)
            ended.append(result.status)
            return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_then_prove, "LocalSearch", Short)
        try:
            alone = SearchThenProve(time_limit=None).solve(problem)
        except NoCardFound:
            return
        real, begin = time.perf_counter, time.perf_counter()
        patch.setattr(time, "perf_counter", lambda: begin + speed * (real() - begin))
        timed = SearchThenProve(time_limit=limit, n_jobs=2, patience=1.0).solve(problem)
    if ended == ["finished", "finished"] and timed.status != "time_limit":
        np.testing.assert_array_equal(timed.points, alone.points)
