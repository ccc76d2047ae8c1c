"""The backends: same answers and limits, clear errors without a package or a licence."""

from __future__ import annotations

import importlib
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.common.checks import InputError
from netbenefit.problem.problem import Problem
from netbenefit.solvers.milp.backends import BACKENDS, News, Order, find_backend
from netbenefit.solvers.milp.model import build_model
from netbenefit.solvers.milp.solve import MixedInteger
from tests.helpers.strategies import brute_force, constrained_problems, problems
from tests.solvers.milp.test_solve import check, hard_problem, solve_from_nothing, some_problem


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    pytest.importorskip({"highs": "highspy", "gurobi": "gurobipy"}[name])
    return name


@settings(max_examples=15)
@given(
    st.one_of(
        problems(max_points=3, max_rows=8),
        constrained_problems(max_points=3, max_rows=8, max_columns=4, most_vectors=300),
    )
)
def test_equals_brute_force(problem: Problem) -> None:
    pytest.importorskip("gurobipy")
    result = solve_from_nothing(problem, backend="gurobi")
    if result is None:
        assert brute_force(problem) is None
    else:
        check(problem, result)


def small_problem() -> Problem:
    return some_problem(n=20, n_columns=2, max_points=2)


def test_answers_in_full(backend: str) -> None:
    problem = small_problem()
    model = build_model(problem)
    answer = find_backend(backend).solve(model, Order(time_limit=60, seed=3))
    assert answer.end == "optimal"
    points = model.points_of(answer.points)
    assert model.value(points) == pytest.approx(answer.claimed)
    best = brute_force(problem)[0]
    assert model.to_objective(answer.bound) == best
    assert problem.evaluate(points).objective == best


def test_warm_start_is_taken(backend: str) -> None:
    """A good card of a hard problem is among the news at once, at its true value."""
    problem = hard_problem()
    if backend == "gurobi":
        problem = some_problem(n=60, n_columns=5, max_points=10)  # the licence is size-limited
    model = build_model(problem)
    start = solve_from_nothing(problem, time_limit=1.0).points
    news: list[News] = []
    order = Order(
        warm_start=model.solution(start),
        on_news=news.append,
        should_stop=lambda: any(item.claimed is not None for item in news),
    )
    answer = find_backend(backend).solve(model, order)
    claims = [item.claimed for item in news if item.claimed is not None] or [answer.claimed]
    assert claims[0] >= model.value(start) - 1e-3
    assert answer.claimed >= model.value(start) - 1e-3


def test_stops_on_request(backend: str) -> None:
    problem = hard_problem() if backend != "gurobi" else some_problem(60, 5, seed=1)
    model = build_model(problem)
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    begin = time.perf_counter()
    order = Order(warm_start=model.solution(problem.nearest_to_zero()), should_stop=stop.is_set)
    answer = find_backend(backend).solve(model, order)
    assert time.perf_counter() - begin < 120
    assert answer.end in ("interrupted", "optimal")
    assert answer.points is not None


def test_stopped_at_once_it_returns_the_start() -> None:
    problem = some_problem(60, 5, seed=1)
    model, start = build_model(problem), problem.nearest_to_zero()
    order = Order(warm_start=model.solution(start), should_stop=lambda: True)
    answer = find_backend("gurobi").solve(model, order)
    assert answer.end == "interrupted"
    assert model.objective @ model.solution(answer.points) >= answer.claimed - 1e-6


def test_gives_a_bound_at_the_time_limit(backend: str) -> None:
    problem = some_problem(60, 5, seed=1)
    result = MixedInteger(time_limit=2.0, backend=backend).solve(problem)
    assert result.status in ("time_limit", "finished")
    assert result.proof.details["solver_bound"] >= result.objective


def test_infeasible_is_reported(backend: str) -> None:
    model = build_model(small_problem())
    rows = np.full(model.row_lower.size, np.inf)
    rows[0] = -1e6  # the cut-offs cannot be that far out of order
    broken = replace(model, row_upper=np.minimum(model.row_upper, rows))
    assert find_backend(backend).solve(broken, Order()).end == "infeasible"


# -- what is missing -----------------------------------------------------------------------------


def test_unknown_name() -> None:
    with pytest.raises(InputError, match="backend='cplex' is not known"):
        find_backend("cplex")


@pytest.mark.parametrize(("name", "package"), [("highs", "highspy"), ("gurobi", "gurobipy")])
def test_missing_package(monkeypatch: pytest.MonkeyPatch, name: str, package: str) -> None:
    real = importlib.import_module

    def missing(module: str, *rest: Any) -> Any:
        if module == package:
            raise ModuleNotFoundError(f"No module named {module!r}")
        return real(module, *rest)

    monkeypatch.setattr(importlib, "import_module", missing)
    expected = rf"needs the package '{package}'.*pip install"
    with pytest.raises(InputError, match=expected):
        MixedInteger(backend=name).solve(small_problem())


def test_size_limited_licence() -> None:
    pytest.importorskip("gurobipy")
    problem = hard_problem()
    assert max(build_model(problem).shape) > 2000
    try:
        MixedInteger(backend="gurobi", time_limit=2.0).solve(problem)
    except InputError as error:
        message = str(error)
    else:
        pytest.skip("there is a full licence here")
    assert "size-limited" in message
    assert 'backend="highs"' in message


def test_no_licence_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    gurobipy = pytest.importorskip("gurobipy")
    from netbenefit.solvers.milp import backends as gurobi

    def refuse(*args: Any) -> Any:
        raise gurobipy.GurobiError(10009, "expired")

    monkeypatch.setattr(gurobi, "_solve", refuse)
    with pytest.raises(InputError, match="found no valid licence"):
        solve_from_nothing(small_problem(), backend="gurobi")
