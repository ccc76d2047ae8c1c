"""From patterns to the card that a user keeps: problem, solver, rules, cut-offs, risks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from netbenefit._bin_fitted import Fitted
from netbenefit._tasks import threads_here
from netbenefit._validation import InputError, IntArray, shorten
from netbenefit._version import __version__
from netbenefit.conditions import Condition, PerUnit, Term
from netbenefit.levels import find_levels
from netbenefit.patterns import PatternTable
from netbenefit.problem import NoCardFound, Problem
from netbenefit.readings import Reading
from netbenefit.scorecard import Provenance, Rule, Scorecard
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.base import Callback, Solver, SolverResult, check_time_limit
from netbenefit.solvers.exact import Exact
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.solvers.milp import MixedInteger
from netbenefit.solvers.starts import Path, allowed_start, best_start, kept_signs, logistic_path
from netbenefit.thresholds import Thresholds

__all__ = [
    "Learned",
    "Rules",
    "assemble_card",
    "choose_solver",
    "count_threads",
    "keeping_signs",
    "learn",
    "make_problem",
    "make_provenance",
    "refuse_constants",
    "refuse_small_weights",
    "rules_of",
    "terms_of",
    "too_small_text",
]


T = TypeVar("T")


class Learned(NamedTuple):
    """A card and how it was found."""

    card: Scorecard
    result: SolverResult
    problem: Problem


def learn(
    table: PatternTable,
    thresholds: Thresholds,
    solver: Solver,
    *,
    outcome: str,
    seed: int | None = None,
    terms: Sequence[Term] | None = None,
    bins: Fitted | None = None,
    calibrate: bool = True,
    keep_signs: str | bool = "auto",
    start: Sequence[int] | IntArray | None = None,
    callback: Callback | None = None,
    **settings: Any,
) -> Learned:
    """Learn a card from patterns: the one way that the estimator and the command line go.

    Parameters
    ----------
    table : PatternTable
    thresholds : Thresholds
    solver : Solver
    outcome : str
        What the risk is the risk of.
    seed : int, optional
        The solver's seed, for the card's provenance.
    terms, bins, calibrate
        As in :func:`assemble_card`.
    keep_signs : "auto" or bool, default="auto"
        With a prior: whether points may not contradict a column's own association with the outcome,
        unless the data show clearly that other columns turn it round
        (:mod:`netbenefit.solvers.starts`).  ``"auto"`` keeps signs while the prior outweighs the
        data (n0 > N).
    start : (P,) int, optional
        Points to begin from, such as those of an earlier card; moved into what is allowed.  With a
        prior, the better of these and of those that logistic regression suggests.
    callback : callable, optional
        Called with the solver's progress.
    **settings
        penalty, prior_strength, max_points, sign, bounds, max_features, constraints: as in
        :meth:`Problem.build`.

    Examples
    --------
    >>> from netbenefit.solvers.local_search import LocalSearch
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1], names=["fever"])
    >>> card = learn(table, Thresholds.of([0.5]), LocalSearch(), outcome="flu").card
    >>> card.risk({"fever": 1})
    1.0
    """
    problem = make_problem(table, thresholds, **settings)
    if problem.prior_strength:
        path = logistic_path(table)

        def solve(asked: Problem) -> SolverResult:
            first = best_start(asked, path, start)
            return solver.solve(asked, start=first, callback=callback)

        problem, result = keeping_signs(problem, path, keep_signs, solve)
    else:
        # Without one it is not mentioned: a solver may know of no start.
        first = {} if start is None else {"start": allowed_start(problem, start)}
        result = solver.solve(problem, callback=callback, **first)
    provenance = make_provenance(problem, result, outcome, seed)
    card = assemble_card(problem, result, provenance, terms=terms, bins=bins, calibrate=calibrate)
    return Learned(card, result, problem)


def make_problem(table: PatternTable, thresholds: Thresholds, **settings: Any) -> Problem:
    """Build the problem that rows pose; refuse rows from which nothing can be learnt.

    Settings are those of :meth:`Problem.build`.
    """
    refuse_constants(table)
    problem = Problem.build(table, thresholds, **settings)
    if problem.prior_strength or settings.get("penalty") == "auto":
        refuse_small_weights(
            table,
            "A prior, and the price of a rule, count weights as rows",
            'set prior_strength=0 and penalty="paper"',
        )
    return problem


def refuse_constants(table: PatternTable) -> None:
    """Raise an error where no column varies."""
    if len(table.constant) == table.n_features:
        raise InputError(
            f"every column is constant ({shorten(table.constant)}): nothing tells rows apart. Add "
            "a column that varies."
        )


def refuse_small_weights(table: PatternTable, why: str, otherwise: str) -> None:
    """Raise an error where weights are no numbers of rows, but something counts them as such."""
    rows, total = int((table.pattern_of_row >= 0).sum()), float(table.n_total)
    if total < _LEAST_WEIGHT * rows:
        raise InputError(
            f"the weights of {rows:,} rows add up to {total:g} only. {why}: multiply the weights "
            f"so that they add up to the number of rows, or {otherwise}."
        )


def keeping_signs(
    problem: Problem, path: Path, keep_signs: str | bool, solve: Callable[[Problem], T]
) -> tuple[Problem, T]:
    """Solve a problem whose points keep their signs, if they are to; return it and the answer.

    Rates that are asked for come first: where no card with these signs meets them, signs are free.
    """
    keep = problem.prior_weight > 1 if keep_signs == "auto" else keep_signs
    signs = kept_signs(path, problem.patterns.names, problem.constraints)
    if keep and problem.prior_strength and signs:
        signed = problem.with_constraints(signs)
        try:
            return signed, solve(signed)
        except NoCardFound:
            pass
    return problem, solve(problem)


def make_provenance(
    problem: Problem, result: SolverResult, outcome: str, seed: int | None
) -> Provenance:
    """Write down where a card comes from."""
    table = problem.patterns
    return Provenance(
        version=__version__,
        n_rows=table.n_total,
        n_events=table.n_events,
        n_patterns=len(table),
        prevalence=table.prevalence,
        objective=result.objective,
        bound=result.bound,
        penalty=float(problem.penalty),
        prior_strength=float(problem.prior_strength),
        solver=result.solver,
        status=result.status,
        seconds=round(result.seconds, 3),
        random_state=seed,
        outcome=outcome,
    )


def too_small_text(problem: Problem) -> str:
    """Say which columns vary too little to count, and what to do."""
    most = int(max(np.abs(problem.lower).max(), np.abs(problem.upper).max()))
    return (
        f"columns that vary too little to move a score, even with {most} points: "
        f"{shorten(problem.too_small)}. Multiply them by 10, 100, …, or bin them."
    )


def choose_solver(
    solver: str | Solver, *, time_limit: float | None, seed: int, n_jobs: int | None
) -> Solver:
    """Turn a solver's name into a solver; a solver object is used as it is.

    >>> choose_solver("anneal", time_limit=None, seed=1, n_jobs=1)
    Annealing(temperature=0.001, cooling=1e-06, lowest_temperature=0.0, steps_per_temperature=10,
              time_limit=None, seed=1)
    """
    check_time_limit(time_limit)
    if not 0 <= seed < 2**53:  # what a card file can hold exactly
        raise InputError(f"the seed must be a whole number from 0 to 2^53, not {seed}.")
    if not isinstance(solver, str | type) and hasattr(solver, "solve"):
        return solver
    if solver == "anneal":
        return Annealing(time_limit=time_limit, seed=seed)
    if solver not in ("auto", "exact", "local", "milp"):
        raise InputError(
            f'solver={solver!r} is not known. Use "auto", "exact", "milp", "local", "anneal", or a '
            "solver object such as Annealing()."
        )
    threads = count_threads(n_jobs)
    if solver == "local":
        return LocalSearch(time_limit=time_limit, n_jobs=threads, seed=seed)
    if solver == "milp":
        return MixedInteger(time_limit=time_limit, n_jobs=threads, seed=seed)
    return Exact(
        time_limit,
        n_jobs=threads,
        seed=seed,
        search_share=_SEARCH_SHARE[solver],
        # With a prior the bound is the sum of two, and loose: only for those who ask for a proof.
        bound_parts=solver == "exact",
        name=solver,
    )


def count_threads(n_jobs: int | None) -> int:
    """Threads that a number as scikit-learn takes it stands for.

    >>> count_threads(2)
    2
    """
    if n_jobs == 0:
        raise InputError("0 threads cannot search (n_jobs=0). Use 1 or more, or −1 for all cores.")
    return threads_here(n_jobs)


#: Mean weight below which weights are no numbers of rows.
_LEAST_WEIGHT = 0.1

#: How much of the time the local search may take: what matters most comes first in "auto".
_SEARCH_SHARE = {"auto": 0.7, "exact": 0.2}


def assemble_card(
    problem: Problem,
    result: SolverResult,
    provenance: Provenance,
    *,
    terms: Sequence[Term] | None = None,
    bins: Fitted | None = None,
    calibrate: bool = True,
) -> Scorecard:
    """Put rules, cut-offs and risks together.

    Parameters
    ----------
    problem : Problem
    result : SolverResult
    provenance : Provenance
        Its net benefit is filled in.
    terms : sequence of Condition or PerUnit, optional
        How each column arises from a raw column; by default each column is its own, per unit.
    bins : Fitted, optional
        What a binner has learnt, where it made the columns: terms, and how raw columns are read.
    calibrate : bool, default=True
        Give each level the risk of its training rows (see :mod:`netbenefit.levels`); otherwise the
        middle of its interval.

    Examples
    --------
    >>> from netbenefit.solvers.local_search import LocalSearch
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1], names=["fever"])
    >>> problem = Problem.build(table, Thresholds.of([0.5]))
    >>> card = assemble_card(problem, LocalSearch().solve(problem), Provenance(version="0"))
    >>> card.risk({"fever": 1})
    1.0
    """
    rules, names, readings = rules_of(problem.patterns, result.points, terms=terms, bins=bins)
    levels = find_levels(problem, result.points, calibrate=calibrate)
    provenance = replace(provenance, net_benefit=levels.net_benefit)
    return Scorecard.from_levels(
        rules=rules,
        cutoffs=levels.cutoffs,
        risks=levels.risks,
        thresholds=problem.thresholds,
        score_range=result.score_range,
        feature_names=names,
        provenance=provenance,
        readings=readings,
    )


class Rules(NamedTuple):
    """What a card says of columns."""

    rules: tuple[Rule, ...]
    names: tuple[str, ...]  #: raw columns
    readings: tuple[Reading, ...]


def rules_of(
    table: PatternTable,
    points: IntArray,
    *,
    terms: Sequence[Term] | None = None,
    bins: Fitted | None = None,
) -> Rules:
    """Write points down as rules; terms and bins as in :func:`assemble_card`.

    >>> table = PatternTable.from_arrays([[0, 1], [1, 0]], [0, 1])
    >>> rules_of(table, np.array([0, 3])).rules[0].points
    3
    """
    if bins is not None:
        terms = bins.terms
    all_terms = tuple(terms_of(table) if terms is None else terms)
    rules = [Rule(all_terms[k], int(points[k])) for k in np.flatnonzero(points)]
    if bins is None:
        return Rules(tuple(rules), tuple(dict.fromkeys(t.feature for t in all_terms)), ())
    rules = _with_missing(rules, bins)
    readings = bins.readings_of([rule.term.feature for rule in rules])
    return Rules(tuple(rules), bins.columns, readings)


def _with_missing(rules: list[Rule], bins: Fitted) -> list[Rule]:
    """Say what a missing value is worth wherever that was learnt, be it nothing."""
    terms = {rule.term for rule in rules}
    used = dict.fromkeys(rule.term.feature for rule in rules)
    missing = [Condition(name, "missing") for name in used if name in bins.own_missing]
    return rules + [Rule(term, 0) for term in missing if term not in terms]


def terms_of(table: PatternTable) -> tuple[Term, ...]:
    """Each column as itself: points per unit, in the step in which it is held.

    >>> terms_of(PatternTable.from_arrays([[0, 0.5], [1, 2.0]], [0, 1]))[1]
    PerUnit(feature='x1', decimals=1, lower=None, upper=None, binary=False, log=False)
    """
    return tuple(
        PerUnit(name, decimals=d, binary=d == 0 and bool(np.isin(table.codes[:, k], (0, 1)).all()))
        for k, (name, d) in enumerate(zip(table.names, table.decimals, strict=True))
    )
