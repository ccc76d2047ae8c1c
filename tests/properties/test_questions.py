"""Small problems whose questions have several columns: every solver and bound against all vectors.

160 problems in a plain run, 3,000 in a full one (``make test-full``).
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, seed, settings, strategies as st

from netbenefit.problem.problem import IntegerProblem, NoCardFound, Problem
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.solvers.milp.solve import MixedInteger
from netbenefit.solvers.multi_start import MultiStart
from netbenefit.solvers.near_optimal import enumerate_near_optimal
from netbenefit.solvers.search_then_prove import SearchThenProve
from tests.helpers.box_prover import BranchAndBound
from tests.helpers.full import FULL, more_cases
from tests.helpers.small_proofs import teach_problem
from tests.helpers.strategies import brute_force, grouped_problems
from tests.properties.test_beyond_doubt import bounds_of
from tests.solvers.test_near_optimal import all_near

SHARDS, EXAMPLES = (20, 150) if FULL else (4, 40)
#: Every so many problems the slower solvers look as well.
OFTEN = 4

SEARCHES = (
    LocalSearch(time_limit=None, max_rounds=1),
    MultiStart(2, LocalSearch(max_rounds=1), time_limit=None),
    Annealing(cooling=1e-5),
)


def check(problem: Problem, number: int) -> None:
    """One problem, all ways."""
    best = brute_force(problem)
    if best is None:
        with pytest.raises(NoCardFound, match="proven"):
            BranchAndBound(time_limit=None).solve(problem)
        return
    objective, _ = best
    # 1. Searches find cards that are allowed, and worth what they say.
    for search in SEARCHES:
        try:
            found = search.solve(problem)
        except NoCardFound:
            assert problem.limits.rates is not None
            continue
        assert problem.feasible(found.points)
        assert problem.evaluate(found.points).objective <= objective
        assert found.questions <= problem.limits.asked.most
    # 2. Exact searches find the best value and prove it.
    for solver in (BranchAndBound(time_limit=None), SearchThenProve(time_limit=None)):
        result = solver.solve(problem)
        assert result.status == "optimal"
        assert problem.feasible(result.points)
        assert problem.evaluate(result.points).objective == objective
        assert result.proof is not None
        assert objective <= result.proof.bound <= objective + result.proof.rounding
    # 3. No bound is lower.
    integers = IntegerProblem.of(problem)
    value = integers.from_objective(objective)
    for name, bound in bounds_of(integers, problem).items():
        assert bound >= value, name
    if number % OFTEN:
        return
    # 4. The integer program agrees.
    answer = MixedInteger(time_limit=30.0).solve(problem)
    assert problem.feasible(answer.points)
    assert problem.evaluate(answer.points).objective <= objective
    assert answer.proof is not None
    assert answer.proof.bound >= objective
    reported = answer.proof.details.get("solver_bound", answer.bound)
    assert reported >= answer.objective
    if reported <= math.nextafter(answer.objective, math.inf):
        assert math.isclose(answer.objective, float(objective), rel_tol=1e-12, abs_tol=1e-12)
    # 5. Near-optimal sets are complete.
    near = enumerate_near_optimal(problem, Fraction(1, 100), limit=5000, time_limit=None)
    assert near.complete
    expected = all_near(problem, Fraction(1, 100))
    assert {card.points: card.objective for card in near.cards} == expected


@more_cases
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_way_gives_the_same(shard: int) -> None:
    count = iter(range(10**9))

    @seed(shard)
    @settings(max_examples=EXAMPLES)
    @given(
        grouped_problems(taught=False, max_rows=8, max_columns=5, most_vectors=400),
        st.sampled_from(["outcomes", None, Fraction(1, 3), Fraction(50)]),
    )
    def run(problem: Problem, strength: Fraction | str | None) -> None:
        if not isinstance(strength, str):
            problem = teach_problem(problem, strength)[0]
        check(problem, next(count))

    run()
