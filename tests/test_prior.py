"""The default (a prior of many rows, signs kept, rules priced by the row), and its opposite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netbenefit import InputError, RiskScoreClassifier, RSSDNBClassifier
from netbenefit.constraints import Bounds, MaxFeatures, MinTPR, Sign
from netbenefit.patterns import PatternTable
from netbenefit.problem import Problem
from netbenefit.solvers._walker import make_walker
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.base import Progress, Run, SolverResult
from netbenefit.solvers.branch_and_bound import BranchAndBound
from netbenefit.solvers.exact import Exact
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.solvers.milp import MixedInteger
from netbenefit.solvers.polish import settle_values
from netbenefit.solvers.progress import conclude
from netbenefit.solvers.starts import Path, best_start, kept_signs, logistic_path
from netbenefit.thresholds import Thresholds
from netbenefit.verify import verify
from tests.strategies import all_points, problems

LATE = 600.0


def make_data(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 6))
    return X, rng.random(n) < 0.1 + 0.3 * X[:, 0] + 0.3 * X[:, 1] - 0.1 * X[:, 2] * X[:, 0]


def local(**options: object) -> RiskScoreClassifier:
    basic = {"solver": LocalSearch(time_limit=LATE, max_rounds=1), "n_jobs": 1}
    return RiskScoreClassifier(**{**basic, **options})


# -- what is maximised -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_search_finds_the_best_and_the_bound_is_above_it(data):
    kinds = ("binary", "two", "small", "tenths")
    constrained = data.draw(st.booleans())
    problem = data.draw(
        problems(max_points=2, max_columns=3, kinds=kinds, constrained=constrained, rates=False)
    )
    problem = replace(
        problem, prior_strength=data.draw(st.sampled_from([Fraction(5), Fraction(99)]))
    )
    best = max(
        float(problem.evaluate(points).objective)
        for points in all_points(problem)
        if problem.feasible(points)
    )
    found = LocalSearch(time_limit=LATE).solve(problem)
    assert found.objective == pytest.approx(best, abs=1e-8)
    assert found.bound is None  # a search alone proves nothing
    proven = Exact(LATE, bound_parts=data.draw(st.booleans())).solve(problem)
    assert proven.bound >= best - 1e-12
    assert proven.proof.smooth is not None
    assert proven.bound >= proven.objective


def test_the_objective_is_the_sum_of_its_parts():
    X, y = make_data()
    problem = Problem.build(
        PatternTable.from_arrays(X, y), Thresholds.tenths(), penalty=0.01, prior_strength=700
    )
    value = problem.evaluate([3, 3, -1, 0, 0, 0])
    q = value.link.risk(X @ np.array([3, 3, -1, 0, 0, 0]))
    s = np.mean(q + ~y * np.log1p(-q))
    assert float(value.objective) == pytest.approx(
        float(value.net_benefit) - 0.03 + 700 / 300 * s, abs=1e-12
    )
    assert problem.without_prior().evaluate([3, 3, -1, 0, 0, 0]).objective == (
        value.net_benefit - Fraction(3, 100)
    )


def test_the_default_settings():
    X, y = make_data()
    fit = local().fit(X, y)
    origin = fit.scorecard_.provenance
    assert origin.prior_strength == 3000
    assert origin.penalty == pytest.approx(2 * y.mean() / 300)
    assert "prior" not in str(fit.scorecard_)
    assert fit.certificate_.problem.prior_strength == 3000
    assert fit.cutoffs_.tolist() == list(fit.scorecard_.cutoffs)


def test_without_a_prior_it_is_the_published_method_to_the_last_bit():
    X, y = make_data()
    ours = local(prior_strength=0, penalty="paper").fit(X, y)
    theirs = RSSDNBClassifier(solver=LocalSearch(time_limit=LATE, max_rounds=1)).fit(X, y)
    assert ours.coef_.tolist() == theirs.coef_.tolist()
    assert ours.scorecard_.cutoffs == theirs.scorecard_.cutoffs
    assert ours.scorecard_.risks == theirs.scorecard_.risks
    assert ours.result_.objective == theirs.result_.objective
    assert ours.certificate_.problem_digest == theirs.certificate_.problem_digest


def test_weights_are_repetitions():
    X, y = make_data(120)
    twice = local().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    weighed = local().fit(X, y, sample_weight=np.full(120, 2))
    assert twice.coef_.tolist() == weighed.coef_.tolist()
    np.testing.assert_allclose(twice.scorecard_.risks, weighed.scorecard_.risks, rtol=1e-6)


def test_weights_that_are_no_numbers_of_rows_are_refused():
    X, y = make_data(120)
    shares = np.full(120, 1 / 120)
    for options in ({}, {"prior_strength": 0, "penalty": "auto"}):
        with pytest.raises(InputError, match=r"weights of 120 rows add up to 1 only.*multiply"):
            local(**options).fit(X, y, sample_weight=shares)
    published = {"prior_strength": 0, "penalty": "paper"}
    card = local(**published).fit(X, y, sample_weight=shares).coef_
    assert card.tolist() == local(**published).fit(X, y).coef_.tolist()


def test_wide_columns_do_not_hold_up_the_last_step():
    X, y = make_data(80)
    problem = Problem.build(
        PatternTable.from_arrays(X, y),
        Thresholds.tenths(),
        prior_strength=50,
        bounds={0: (0, 9999)},
    )
    walker = make_walker(problem, 0)
    start = np.zeros(6, dtype=np.int64)
    walker, evaluated = settle_values(walker, start, Run(problem, "test", LATE))
    assert walker.best[0] == 0  # too many values: left alone
    assert evaluated > 5 * 20
    best = float(problem.evaluate(walker.best).objective)
    for k in range(1, 6):
        for v in range(-10, 11):
            other = walker.best.copy()
            other[k] = v
            assert float(problem.evaluate(other).objective) <= best + 1e-8


@pytest.mark.parametrize("value", [-1, "big", np.nan, np.inf, "3000"])
def test_bad_priors(value):
    with pytest.raises(InputError, match="prior_strength"):
        local(prior_strength=value).fit(*make_data(50))


# -- the published method by name ------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["milp", "anneal"])
def test_the_published_solvers(solver):
    X, y = make_data(80)
    fit = RSSDNBClassifier(solver=solver, max_points=2, time_limit=20, n_jobs=1).fit(X, y)
    table = PatternTable.from_arrays(X, y)
    problem = Problem.build(table, Thresholds.tenths(), max_points=2)
    assert fit.scorecard_.provenance.penalty == pytest.approx(0.1 * y.mean() / 6)
    assert fit.result_.solver == solver
    assert fit.result_.objective == float(problem.evaluate(fit.coef_).objective)
    assert fit.scorecard_.provenance.prior_strength == 0


def test_published_parameters_are_those_of_the_default_but_two():
    ours, theirs = set(RiskScoreClassifier().get_params()), set(RSSDNBClassifier().get_params())
    assert ours - theirs == {"prior_strength", "keep_signs"}
    assert theirs <= ours
    assert RSSDNBClassifier().solver == "milp"
    with pytest.raises(TypeError):
        RSSDNBClassifier(prior_strength=5)


def test_near_optimal_cards_are_those_of_the_published_objective():
    X, y = make_data(60)
    options = {"max_points": 1, "n_jobs": 1, "time_limit": LATE}
    near = RiskScoreClassifier(penalty="paper", **options).near_optimal(X, y, tolerance=0.01)
    published = RSSDNBClassifier(**options).near_optimal(X, y, tolerance=0.01)
    assert [card.points for card in near.cards] == [card.points for card in published.cards]


# -- solvers that know one objective only ----------------------------------------------------------


@pytest.mark.parametrize("solver", [MixedInteger(), BranchAndBound()])
def test_solvers_of_the_published_objective_refuse_a_prior(solver):
    with pytest.raises(InputError, match=r"prior_strength is 3000.*Use prior_strength=0"):
        local(solver=solver).fit(*make_data(50))


def test_annealing_works_with_a_prior():
    X, y = make_data()
    fit = local(solver=Annealing(cooling=1e-5)).fit(X, y)
    problem = Problem.build(
        PatternTable.from_arrays(X, y), Thresholds.tenths(), penalty="auto", prior_strength="auto"
    )
    assert fit.result_.objective == pytest.approx(
        float(problem.evaluate(fit.coef_).objective), abs=1e-9
    )


def test_exact_tells_of_both_parts():
    X, y = make_data(100)
    seen = []
    fit = RiskScoreClassifier(
        solver="exact", time_limit=5, n_jobs=1, callback=seen.append, max_points=2
    ).fit(X, y)
    assert fit.result_.bound >= fit.result_.objective
    assert fit.result_.trace[-1].bound == fit.result_.bound
    assert all(told.bound is None or told.bound >= told.objective for told in seen)
    assert "both parts" in conclude(fit.result_)
    verdict = verify(fit.scorecard_, fit.certificate_, {f"x{k}": X[:, k] for k in range(6)}, y)
    assert verdict.accepted, verdict.failures


class Stop:
    """Press Ctrl-C once, at the first news that says so."""

    def __init__(self, when: Callable[[Progress], bool]) -> None:
        self.when, self.done = when, False

    def __call__(self, progress: Progress) -> None:
        if not self.done and self.when(progress):
            self.done = True
            raise KeyboardInterrupt


@pytest.mark.parametrize("when", [lambda told: True, lambda told: told.bound is not None])
@pytest.mark.parametrize("solver", ["auto", "exact"])
def test_an_interrupted_search_keeps_its_card(when, solver):
    X, y = make_data()
    options = {"n_jobs": 1, "time_limit": LATE, "solver": solver, "max_points": 2}
    with pytest.warns(UserWarning, match="interrupted"):
        fit = RiskScoreClassifier(callback=Stop(when), **options).fit(X, y)
    assert fit.result_.status == "interrupted"
    assert fit.result_.bound >= fit.result_.objective
    assert fit.predict_proba(X).shape == (300, 2)


# -- signs and starts ------------------------------------------------------------------------------


def test_points_keep_the_sign_of_their_own_association():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (150, 8))
    y = rng.random(150) < 0.2 + 0.5 * X[:, 0]
    own = np.sign((X - X.mean(axis=0)).T @ (y - y.mean()))
    names = tuple(f"x{k}" for k in range(8))
    told = kept_signs(logistic_path(PatternTable.from_arrays(X, y)), names, ())
    signs = {sign.feature for sign in told}
    assert len(signs) >= 6
    kept = local(keep_signs=True).fit(X, y)
    for k, name in enumerate(names):
        assert name not in signs or kept.coef_[k] * own[k] >= 0
    assert kept.certificate_.problem.constraints  # the certificate says so
    signs = [item["kind"] for item in kept.certificate_.problem.constraints]
    assert signs == ["sign"] * len(signs)
    free = local(keep_signs=False).fit(X, y)
    assert not free.certificate_.problem.constraints
    assert free.result_.objective >= kept.result_.objective - 1e-9


def test_signs_are_free_once_the_data_outweigh_the_prior():
    X, y = make_data()
    assert not local(prior_strength=299).fit(X, y).certificate_.problem.constraints
    assert local(prior_strength=301).fit(X, y).certificate_.problem.constraints


def test_what_the_user_says_of_a_column_comes_first():
    X, y = make_data()
    fit = local(sign={0: "-"}, constraints=[Bounds("x1", -3, 0)]).fit(X, y)
    assert fit.coef_[0] <= 0
    assert fit.coef_[1] <= 0
    path = logistic_path(PatternTable.from_arrays(X, y))
    asked = (Sign("x0", "-"), Bounds("x1", -3, 0), MaxFeatures(3))
    names = tuple(f"x{k}" for k in range(6))
    assert not {"x0", "x1"} & {sign.feature for sign in kept_signs(path, names, asked)}


def test_a_sign_that_others_turn_round_is_free():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 4000)
    b = np.where(rng.random(4000) < 0.9, a, 1 - a)  # goes along with a, but protects
    y = rng.random(4000) < 1 / (1 + np.exp(1.5 - 3 * a + 1.5 * b))
    X = np.column_stack([a, b])
    assert np.corrcoef(b, y)[0, 1] > 0
    table = PatternTable.from_arrays(X, y)
    assert kept_signs(logistic_path(table), ("x0", "x1"), ()) == [Sign("x0", "+")]
    assert local(prior_strength=5000).fit(X, y).coef_[1] < 0


class OnlyFree:
    """A solver that finds no card while signs are kept."""

    def solve(self, problem: Problem, *, start=None, callback=None) -> SolverResult:
        if any(isinstance(asked, Sign) for asked in problem.constraints):
            raise problem.nothing_found()
        return LocalSearch(time_limit=LATE, max_rounds=1).solve(problem, start=start)


def test_rates_come_before_signs():
    X, y = make_data(200, seed=3)
    limit = MinTPR(0.2, 0.95)
    fit = local(constraints=[limit]).fit(X, y)
    assert (fit.predict_proba(X)[:, 1] >= 0.2)[y].mean() >= 0.95
    assert any(item["kind"] == "sign" for item in fit.certificate_.problem.constraints)
    # Where no card with kept signs is found, signs are free again.
    freed = local(constraints=[limit], solver=OnlyFree()).fit(X, y)
    assert [item["kind"] for item in freed.certificate_.problem.constraints] == ["min_tpr"]
    assert (freed.predict_proba(X)[:, 1] >= 0.2)[y].mean() >= 0.95


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_starts_are_allowed_and_none_of_them_is_better(data):
    problem = data.draw(problems(constrained=data.draw(st.booleans())))
    problem = replace(problem, prior_strength=Fraction(50))
    start = best_start(problem, logistic_path(problem.patterns))
    if start is not None:
        assert problem.allows(start)
        search = LocalSearch(time_limit=LATE, max_rounds=1, chains=1).solve(problem, start=start)
        assert search.objective >= float(problem.evaluate(start).objective) - 1e-9


def test_a_path_without_any_effect():
    table = PatternTable.from_arrays([[0], [1], [0], [1]], [0, 0, 1, 1])
    path = logistic_path(table)
    assert kept_signs(path, ("x0",), ()) == []
    flat = Path(np.zeros((2, 1)), 0, np.zeros(1), np.ones(1))
    problem = Problem.build(table, Thresholds.tenths(), prior_strength=5)
    assert best_start(problem, flat) is None
