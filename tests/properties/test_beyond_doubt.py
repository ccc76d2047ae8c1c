"""Small problems of every kind: exact search, integer program and every bound against all vectors.

240 problems in a plain run, 10,000 in a full one (``make test-full``): up to 6 columns, points up
to ±5, binary, whole and fractional columns, weights, ties, copies of rows, one-hot groups, every
kind of constraint, with and without a penalty, on outcomes and on outcomes that a teacher is
blended with; questions with several columns and two prices; thresholds from 1e-6 to 1 − 1e-6 with
weights over twelve orders of magnitude.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, seed, settings, strategies as st

from netbenefit.cards.scorecard import Provenance
from netbenefit.certificates.certificate import make_certificate
from netbenefit.certificates.judge import verify
from netbenefit.estimators.training import assemble_card
from netbenefit.problem.problem import NEGLIGIBLE, IntegerProblem, NoCardFound, Problem
from netbenefit.solvers.bounds.directions import direction_bound
from netbenefit.solvers.bounds.packed import Rules
from netbenefit.solvers.bounds.packing import packing_bound
from netbenefit.solvers.bounds.supports import support_bound
from netbenefit.solvers.milp.solve import MixedInteger
from netbenefit.solvers.search_then_prove import SearchThenProve
from netbenefit.teachers.crossfit import Taught
from tests.helpers.box_prover import flow_bound
from tests.helpers.full import FULL, more_cases
from tests.helpers.small_proofs import teach_problem
from tests.helpers.strategies import (
    brute_force,
    constrained_problems,
    extreme_problems,
    grouped_problems,
)

SHARDS, EXAMPLES = (50, 200) if FULL else (8, 30)
#: Every so many problems the slower judges look as well.
OFTEN = 4

SOLVER = SearchThenProve(time_limit=None)


def bounds_of(integers: IntegerProblem, problem: Problem) -> dict[str, int]:
    """Every bound of the whole box, by name."""
    lower, upper = integers.lower, integers.upper
    rules = Rules.of(problem)
    return {
        "flow": flow_bound(integers, lower, upper),
        "supports": support_bound(integers, rules).value,
        "directions, no step": direction_bound(integers, rules, iterations=0).value,
        "directions": direction_bound(integers, rules, iterations=60).value,
        "packing": packing_bound(integers, rules, seconds=5.0, most_nodes=3).value,
    }


def check(
    problem: Problem, taught: Taught | None, *, bounds: bool = True, judges: bool = True
) -> None:
    """One problem, all ways; without bounds or judges, exact search alone."""
    best = brute_force(problem)
    if best is None:
        with pytest.raises(NoCardFound, match="proven"):
            SOLVER.solve(problem)
        return
    objective, _ = best
    # 1. Exact search finds the best value and proves it.
    integers = IntegerProblem.of(problem)
    result = SOLVER.solve(problem)
    assert result.status == "optimal"
    assert problem.feasible(result.points)
    assert result.proof is not None
    assert result.proof.rounding == integers.rounding <= NEGLIGIBLE
    found = problem.evaluate(result.points).objective
    assert found <= objective <= result.proof.bound <= found + integers.rounding
    # 2. No bound is lower.
    value = integers.from_objective(objective)
    for name, bound in bounds_of(integers, problem).items() if bounds else ():
        assert bound >= value, name
    # 3. The integer program agrees; 4. so does the judge.
    if judges:
        answer = MixedInteger(time_limit=30.0).solve(problem)
        assert problem.evaluate(answer.points).objective <= objective
        assert answer.proof is not None
        assert answer.proof.bound >= objective
        reported = answer.proof.details.get("solver_bound", answer.bound)
        if reported <= math.nextafter(answer.objective, math.inf):
            assert math.isclose(answer.objective, float(objective), rel_tol=1e-12, abs_tol=1e-12)
        card = assemble_card(problem, result, Provenance(version="0"))
        certificate = make_certificate(problem, result, card, taught=taught)
        verdict = verify(card, certificate, problem.patterns)
        assert verdict.accepted, verdict.failures
        assert certificate.answer.objective == found
        assert Fraction(certificate.proof.bound) >= objective


#: Kinds of problems, a shard each: plain ones, with questions, extreme, and both.
KINDS = [
    constrained_problems(taught=False),
    grouped_problems(taught=False),
    extreme_problems(taught=False),
    grouped_problems(taught=False, extreme=True),
]


@more_cases
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_way_gives_the_same(shard: int) -> None:
    count = iter(range(10**9))

    @seed(shard)
    @settings(max_examples=EXAMPLES)
    @given(
        KINDS[shard % len(KINDS)],
        st.sampled_from(["outcomes", None, Fraction(1, 3), Fraction(50)]),
    )
    def run(problem: Problem, strength: Any) -> None:
        taught = None
        if strength != "outcomes":
            problem, taught = teach_problem(problem, strength)
        check(problem, taught, judges=next(count) % OFTEN == 0)

    run()
