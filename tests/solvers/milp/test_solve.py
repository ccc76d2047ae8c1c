"""The integer program and its solver against brute force, and against fake solvers."""

from __future__ import annotations

import itertools
import math
import threading
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from netbenefit.cards.scorecard import Provenance
from netbenefit.certificates.certificate import Certificate, make_certificate
from netbenefit.certificates.judge import verify
from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.training import assemble_card
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import (
    AtLeast,
    Implies,
    Include,
    MaxFPR,
    MaxTotalPoints,
    MinTPR,
    Sign,
    Values,
)
from netbenefit.problem.problem import IntegerProblem, Problem, Progress, SolverResult
from netbenefit.solvers.base import conclude, round_up
from netbenefit.solvers.bounds.packed import ceiling
from netbenefit.solvers.milp import solve as milp
from netbenefit.solvers.milp.backends import Backend, BackendAnswer, News, Order
from netbenefit.solvers.milp.model import MilpModel, build_model
from netbenefit.solvers.milp.solve import MixedInteger
from tests.helpers.full import examples
from tests.helpers.strategies import all_points, brute_force, constrained_problems, problems

#: Columns whose scores a floating-point solver can tell apart.
TAME = ("binary", "binary", "two", "small", "tenths", "constant")


def some_problem(n: int = 40, n_columns: int = 3, seed: int = 0, **settings: object) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, n_columns))
    y = (X @ rng.normal(size=n_columns) + rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    return Problem.build(PatternTable.from_arrays(X, y), Thresholds.tenths(), **settings)


def violations(model: MilpModel, z: np.ndarray) -> list[int]:
    """Rows and variables out of bounds, in exact arithmetic."""
    wrong = [j for j, v in enumerate(z) if not model.lower[j] <= int(v) <= model.upper[j]]
    matrix = model.matrix
    for r in range(matrix.shape[0]):
        span = range(matrix.indptr[r], matrix.indptr[r + 1])
        total = sum(
            (Fraction(matrix.data[e]) * int(z[matrix.indices[e]]) for e in span), Fraction(0)
        )
        if not model.row_lower[r] <= total <= model.row_upper[r]:
            wrong.append(r)
    return wrong


# -- the model -----------------------------------------------------------------------------------


@settings(max_examples=examples(100))
@given(
    st.one_of(
        problems(max_points=3, max_rows=8),
        problems(max_points=3, max_rows=8, real=True),
        constrained_problems(max_points=3, max_rows=8, max_columns=4, most_vectors=300),
        constrained_problems(max_points=3, max_rows=8, max_columns=4, most_vectors=300, real=True),
    ),
    st.data(),
)
def test_every_card_is_a_solution(problem: Problem, data: st.DataObject) -> None:
    points = data.draw(st.sampled_from(all_points(problem).tolist()).map(np.array))
    assume(problem.feasible(points))
    model = build_model(problem)
    z = model.solution(points)
    assert violations(model, z) == []
    assert np.array_equal(model.points_of(z[model.blocks["points"]].astype(float)), points)
    value = model.value(points)
    integers, objective = IntegerProblem.of(problem), problem.evaluate(points).objective
    if integers.exact and not model.rounded:
        assert integers.to_objective(value * model.grain) == objective
        if problem.limits.rates is None:
            assert value * model.grain == integers.value(points)
    else:
        assert integers.to_objective(value * model.grain) >= objective


def solutions(model: MilpModel) -> dict[tuple[int, ...], int]:
    """Best objective of every point vector that some solution has, by trying all solutions."""
    ranges = [
        range(int(low), int(high) + 1) for low, high in zip(model.lower, model.upper, strict=True)
    ]
    block, found = model.blocks["points"], {}
    for z in itertools.product(*ranges):
        activity = model.matrix @ np.array(z, dtype=float)
        if (activity >= model.row_lower).all() and (activity <= model.row_upper).all():
            value = int(model.objective @ np.array(z))
            points = z[block]
            found[points] = max(value, found.get(points, value))
    return found


@pytest.mark.parametrize(
    "constraints",
    [
        [],
        [Sign(0, "+")],
        [Include(0)],
        [AtLeast(1, (0, 1))],
        [Implies(0, 1)],
        [Values(0, (-1, 1))],
        [Values(0, (-1, 0))],
        [MaxTotalPoints(1)],
        [MinTPR(0.5, 1)],
        [MaxFPR(0.5, 0)],
        [MinTPR(0.5, 0.6), MaxFPR(0.5, 0.5)],
    ],
)
def test_solutions_are_the_feasible_cards_and_no_others(constraints: list[object]) -> None:
    X = [[0, 1], [0, 1], [1, 0], [1, 1], [1, 1]]
    table = PatternTable.from_arrays(X, [0, 1, 1, 0, 1], sample_weight=[3, 1, 2, 1, 3])
    problem = Problem.build(
        table, Thresholds.of([0.5]), penalty=0.01, max_points=1, constraints=constraints
    )
    model = build_model(problem)
    integers = model.integers
    expected = {
        tuple(points.tolist()): integers.from_objective(problem.evaluate(points).objective)
        for points in all_points(problem)
        if problem.feasible(points)
    }
    found = {points: value * model.grain for points, value in solutions(model).items()}
    assert found == expected


def test_numbers_without_a_common_scale_are_rounded_up() -> None:
    table = PatternTable.from_arrays([[0], [1], [2]], [0, 1, 1], sample_weight=[0.3, 0.7, 1.1])
    problem = Problem.build(table, Thresholds.of([0.3, 0.7]), penalty=0.01, max_points=2)
    model = build_model(problem)
    assert model.rounded
    assert np.abs(model.objective).max() <= 2**31
    for points in all_points(problem):
        assert model.integers.to_objective(model.value(points) * model.grain) >= (
            problem.evaluate(points).objective
        )


def test_blocks_fit() -> None:
    model = build_model(some_problem(constraints=[Values(0, (-2, 0, 3)), AtLeast(1, (1, 2))]))
    ends = [(block.start, block.stop) for block in model.blocks.values()]
    assert ends[0][0] == 0
    assert ends[-1][1] == model.lower.size
    assert all(a[1] == b[0] for a, b in itertools.pairwise(ends))
    used = {name for name, block in model.blocks.items() if block.stop > block.start}
    assert used == {"points", "used", "cutoffs", "called", "choices", "sides"}
    assert model.matrix.shape == model.shape


def test_big_m_is_tight() -> None:
    """The differences of scores bound it: one column of 0 … 3 with points −2 … 2."""
    table = PatternTable.from_arrays([[0], [1], [2], [3]], [0, 1, 0, 1])
    model = build_model(Problem.build(table, Thresholds.of([0.5]), max_points=2))
    assert model.big_m == 2 * 3 + 1


# -- the solver ----------------------------------------------------------------------------------


def check(problem: Problem, result: SolverResult) -> None:
    """Compare with brute force; what the solver reports is right, but only the ceiling proven."""
    best = brute_force(problem)
    assert best is not None
    objective = problem.evaluate(result.points).objective
    assert problem.feasible(result.points)
    is_the_ceiling(problem, result)
    assert result.proof.bound >= best[0]
    assert (result.status == "optimal") == result.proof.settles(objective)
    integers, model = IntegerProblem.of(problem), build_model(problem)
    details = result.proof.details
    if not model.trusted:
        assert "solver_bound" not in details
        return
    assert objective == best[0]
    reported = Fraction(details.get("solver_bound", result.bound))
    assert reported >= best[0] or result.status == "optimal"
    if result.status != "optimal":
        assert result.status == "finished"
        # thousandths of a row may be finer than the margin for tolerances
        exact = integers.exact and not model.rounded and model.margin < 0.5
        assert float(reported - best[0]) < (1e-15 if exact else 1e-6)


def is_the_ceiling(problem: Problem, result: SolverResult) -> None:
    """The bound is the sum of all gains that pay, less certain prices, with one box for all."""
    integers, proof = IntegerProblem.of(problem), result.proof
    assert (proof.method, len(proof.boxes)) == ("ceiling", 1)
    assert proof.bound == ceiling(problem, integers).bound
    assert proof.bound <= integers.to_objective(integers.ceiling)
    assert np.array_equal(proof.boxes.lower, [problem.lower])
    assert np.array_equal(proof.boxes.upper, [problem.upper])
    assert integers.to_objective(int(proof.boxes.values[0])) == proof.bound
    assert result.status == "optimal" or result.bound == round_up(proof.bound)


def solve_from_nothing(problem: Problem, **settings: object) -> SolverResult | None:
    """Solve without a good start, so that the solver has to find the card; None if infeasible.

    A program with loose constants is not believed that there is no card: it was merely not found.
    """
    start = problem.nearest_to_zero()
    try:
        return MixedInteger(**settings).solve(problem, start=start)
    except InputError as error:
        loose = not build_model(problem).trusted and "no card was found" in str(error)
        if loose or "no card meets the constraints" in str(error):
            return None
        raise


@settings(max_examples=80)
@given(problems(max_points=3, max_rows=8))
def test_equals_brute_force(problem: Problem) -> None:
    check(problem, solve_from_nothing(problem))


@settings(max_examples=80)
@given(constrained_problems(max_points=3, max_rows=8, max_columns=4, most_vectors=400))
def test_equals_brute_force_with_constraints(problem: Problem) -> None:
    result = solve_from_nothing(problem)
    if result is None:
        assert brute_force(problem) is None
    else:
        check(problem, result)


@settings(max_examples=30)
@given(
    st.one_of(
        problems(max_points=2, max_rows=8, real=True, max_columns=3),
        constrained_problems(
            max_points=2, max_rows=8, max_columns=3, most_vectors=200, real=True, rates=False
        ),
    )
)
def test_equals_brute_force_without_a_common_scale(problem: Problem) -> None:
    check(problem, solve_from_nothing(problem))


def test_starts_from_a_local_search_and_reports_progress() -> None:
    problem = some_problem(n=20, n_columns=2, max_points=2)
    reports: list[Progress] = []
    result = MixedInteger().solve(problem, callback=reports.append)
    assert result.solver == "milp"
    assert {t.bound for t in reports} == {result.bound}
    is_the_ceiling(problem, result)


def test_the_bound_of_the_solver_is_information() -> None:
    """It is in the details, in the trace and in a sentence; bound, gap and status ignore it."""
    problem = some_problem(n=20, n_columns=2, max_points=2)
    result = MixedInteger().solve(problem)
    best = brute_force(problem)
    assert problem.evaluate(result.points).objective == best[0]
    assert result.status == "finished"
    assert result.gap > 0.05
    details = result.proof.details
    assert details.keys() == {
        *("solver", "rows", "variables", "big_m", "margin", "objective_of_one", "solver_bound")
    }
    assert details["solver"] == "HiGHS"
    assert details["solver_bound"] == round_up(best[0])
    assert result.trace[-1].source == f"HiGHS reports a bound of {round_up(best[0])!r}"
    assert all(row.bound == result.bound for row in result.trace if row.source.startswith("HiGHS"))
    text = conclude(result)
    assert text.startswith("Within ")
    up = math.ceil(best[0] * 10**6) / 10**6
    assert text.endswith(
        f". HiGHS reports a bound of {up:.6f} on the objective, which nobody can recount: it is "
        "not a proof."
    )


def test_the_bound_that_is_returned_can_be_recounted() -> None:
    problem = some_problem(n=20, n_columns=2, max_points=2)
    result = MixedInteger().solve(problem)
    certificate = make_certificate(problem, result)
    card = assemble_card(problem, result, Provenance(version="0"))
    verdict = verify(card, Certificate.from_json(certificate.to_json()), problem.patterns)
    assert verdict.accepted, verdict.failures
    assert certificate.proof.bound == result.proof.bound
    assert certificate.proof.details == result.proof.details


def hard_problem() -> Problem:
    """One that no solver finishes in seconds."""
    return some_problem(n=400, n_columns=8, seed=3)


def test_time_limit_gives_a_card_and_a_bound() -> None:
    problem = hard_problem()
    begin = time.perf_counter()
    result = MixedInteger(time_limit=2.0).solve(problem)
    assert time.perf_counter() - begin < 120  # ended, not hung
    assert result.status == "time_limit"
    assert result.bound >= result.objective
    assert result.gap > 0
    assert problem.feasible(result.points)


def test_interrupt_returns_the_best_so_far() -> None:
    problem = hard_problem()

    def interrupt(progress: Progress) -> None:
        if progress.seconds > 1.0:
            raise KeyboardInterrupt

    begin = time.perf_counter()
    result = MixedInteger(time_limit=60).solve(
        problem, start=problem.nearest_to_zero(), callback=interrupt
    )
    assert time.perf_counter() - begin < 120
    assert result.status == "interrupted"
    assert result.bound >= result.objective


def test_interrupt_at_the_first_report() -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    problem = hard_problem()
    result = MixedInteger().solve(problem, start=problem.nearest_to_zero(), callback=interrupt)
    assert result.status == "interrupted"
    assert result.bound >= result.objective


def test_an_error_of_the_callback_ends_the_solver() -> None:
    def fail(progress: Progress) -> None:
        if progress.seconds > 0.5:
            raise RuntimeError("broken")

    problem = hard_problem()
    with pytest.raises(RuntimeError, match="broken"):
        MixedInteger().solve(problem, start=problem.nearest_to_zero(), callback=fail)


def test_impossible_rates_are_reported() -> None:
    table = PatternTable.from_arrays([[0], [1], [2], [3]], [1, 0, 0, 1])
    problem = Problem.build(
        table, Thresholds.of([0.5]), constraints=[MinTPR(0.5, 1), MaxFPR(0.5, 0)], max_points=3
    )
    with pytest.raises(InputError, match="no card meets the constraints, as HiGHS reports"):
        MixedInteger().solve(problem, start=problem.nearest_to_zero())


# -- solvers that are wrong ------------------------------------------------------------------------


class Fake(Backend):
    """A solver whose answers the test makes up."""

    name, package, extra = "Fake", "math", "fake"

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def solve(self, model: MilpModel, order: Order) -> BackendAnswer:
        return self.answer(model, order)


def fake(monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    monkeypatch.setattr(milp, "find_backend", lambda name: Fake(answer))


@pytest.fixture
def problem() -> Problem:
    return some_problem(n=20, n_columns=2, max_points=2)


def test_a_false_claim_is_noticed(monkeypatch: pytest.MonkeyPatch, problem: Problem) -> None:
    """The counted value is reported, the claimed one is in the trace, and nothing is optimal."""
    zero = problem.nearest_to_zero()

    def answer(model: MilpModel, order: Order) -> BackendAnswer:
        claimed = float(model.value(zero) + 50)
        return BackendAnswer("optimal", zero.astype(float), claimed, claimed)

    fake(monkeypatch, answer)
    result = MixedInteger().solve(problem, start=zero)
    assert Fraction(result.objective) == pytest.approx(problem.evaluate(zero).objective)
    assert result.status == "finished"
    assert result.bound > result.objective
    note = result.trace[-1].source
    assert note.startswith("Fake: solver claimed 0.")
    assert f"data say {result.objective!r}" in note
    assert result.proof.details["notes"] == [note]


def test_a_bound_below_a_known_card_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, problem: Problem
) -> None:
    """Earlier bounds of the same solver are dropped, too."""
    best = solve_from_nothing(problem).points

    def answer(model: MilpModel, order: Order) -> BackendAnswer:
        value = float(model.value(best))
        order.on_news(News(bound=value + 100))
        time.sleep(0.2)
        return BackendAnswer("optimal", best.astype(float), value, value - 1)

    fake(monkeypatch, answer)
    result = MixedInteger().solve(problem, start=best)
    assert result.status == "finished"
    assert "solver_bound" not in result.proof.details
    assert "its bounds are not passed on" in result.trace[-1].source
    assert "reports a bound" not in conclude(result)


def test_a_bound_below_a_later_card_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, problem: Problem
) -> None:
    best, zero = solve_from_nothing(problem).points, problem.nearest_to_zero()

    def answer(model: MilpModel, order: Order) -> BackendAnswer:
        order.on_news(News(bound=float(model.value(zero) + 1)))
        time.sleep(0.2)
        return BackendAnswer("time_limit", best.astype(float), float(model.value(best)), None)

    fake(monkeypatch, answer)
    result = MixedInteger().solve(problem, start=zero)
    assert result.status == "time_limit"
    assert np.array_equal(result.points, best)
    assert "solver_bound" not in result.proof.details


def test_the_margin_is_added(monkeypatch: pytest.MonkeyPatch, problem: Problem) -> None:
    """A bound a little below the true value, as rounding makes it, is the true value."""
    best = solve_from_nothing(problem).points

    def answer(model: MilpModel, order: Order) -> BackendAnswer:
        value = float(model.value(best))
        return BackendAnswer("optimal", best.astype(float), value, value - model.margin / 2)

    fake(monkeypatch, answer)
    result = MixedInteger().solve(problem, start=best)
    assert result.status == "finished"
    reported = result.proof.details["solver_bound"]
    assert reported == round_up(problem.evaluate(best).objective)


def test_less_than_one_unit_above_is_rounded_down(
    monkeypatch: pytest.MonkeyPatch, problem: Problem
) -> None:
    best = solve_from_nothing(problem).points

    def answer(model: MilpModel, order: Order) -> BackendAnswer:
        return BackendAnswer("interrupted", None, None, model.value(best) + 0.99)

    fake(monkeypatch, answer)
    result = MixedInteger().solve(problem, start=best)
    assert result.status == "time_limit"
    reported = result.proof.details["solver_bound"]
    assert reported == round_up(problem.evaluate(best).objective)


def test_infeasible_against_the_evidence(monkeypatch: pytest.MonkeyPatch, problem: Problem) -> None:
    fake(monkeypatch, lambda model, order: BackendAnswer("infeasible"))
    result = MixedInteger().solve(problem)
    assert result.status == "finished"
    assert "no card at all" in result.trace[-1].source
    assert "solver_bound" not in result.proof.details


def test_points_that_break_the_constraints(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = some_problem(n=20, n_columns=2, max_points=2, max_features=1)
    fake(
        monkeypatch,
        lambda model, order: BackendAnswer("optimal", np.array([1.0, 1.0]), 1e6, 1e6),
    )
    result = MixedInteger().solve(problem)
    assert problem.feasible(result.points)
    assert "which break the constraints" in result.trace[-1].source


def test_failure_is_reported(monkeypatch: pytest.MonkeyPatch, problem: Problem) -> None:
    fake(monkeypatch, lambda model, order: BackendAnswer("failed", details="out of memory"))
    result = MixedInteger().solve(problem)
    assert result.status == "interrupted"
    assert result.trace[-1].source == "Fake: failed (out of memory)"


def test_an_error_in_the_solver_reaches_the_caller(
    monkeypatch: pytest.MonkeyPatch, problem: Problem
) -> None:
    def answer(model: MilpModel, order: Order) -> BackendAnswer:
        raise InputError("refused")

    fake(monkeypatch, answer)
    with pytest.raises(InputError, match="refused"):
        MixedInteger().solve(problem)


def test_a_solver_that_does_not_stop_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, problem: Problem
) -> None:
    release = threading.Event()

    def answer(model: MilpModel, order: Order) -> BackendAnswer:
        release.wait(30)
        return BackendAnswer("optimal")

    fake(monkeypatch, answer)
    result = MixedInteger(time_limit=0.5).solve(problem, start=problem.nearest_to_zero())
    release.set()
    assert result.status == "time_limit"
    assert result.seconds < 120


def test_large_numbers_are_not_trusted() -> None:
    """Scores that differ by billions: a solver's tolerances cover many of them."""
    X = [[0.001, 1_000_003], [40.999, 0], [2.125, -50_000], [-0.5, 3000]]
    table = PatternTable.from_arrays(X, [0, 1, 1, 0])
    problem = Problem.build(table, Thresholds.tenths(), max_points=3, penalty=0.01)
    result = MixedInteger(time_limit=None).solve(problem)
    assert "solver_bound" not in result.proof.details
    assert result.proof.bound >= brute_force(problem)[0]
    assert any("its bound is not passed on" in row.source for row in result.trace)


def test_nothing_to_do_without_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card that calls every pattern right, for nothing, needs no proof by a solver."""

    def answer(model: MilpModel, order: Order) -> BackendAnswer:
        raise AssertionError("must not be called")

    fake(monkeypatch, answer)
    table = PatternTable.from_arrays([[0], [1]], [0, 1])
    result = MixedInteger().solve(Problem.build(table, Thresholds.tenths(), penalty=0.0))
    assert result.status == "optimal"
    assert result.proof.details == {}


@pytest.mark.parametrize("limit", [0, -1, "long", math.nan])
def test_time_limit_is_checked(problem: Problem, limit: object) -> None:
    with pytest.raises(InputError, match="time_limit"):
        replace(MixedInteger(), time_limit=limit).solve(problem)
