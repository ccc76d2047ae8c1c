"""From patterns to the card that a user keeps: problem, solver, rules, cut-offs, risks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from netbenefit._validation import InputError, IntArray, shorten
from netbenefit._version import __version__
from netbenefit.conditions import PerUnit, Term
from netbenefit.kernels.cutoffs import floor_scores
from netbenefit.patterns import PatternTable
from netbenefit.problem import Problem
from netbenefit.scorecard import Provenance, Rule, Scorecard
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.base import Callback, Solver, SolverResult, check_time_limit
from netbenefit.solvers.exact import Exact
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.solvers.milp import MixedInteger
from netbenefit.thresholds import Thresholds

__all__ = [
    "Learned",
    "assemble_card",
    "choose_solver",
    "count_threads",
    "learn",
    "level_risks",
    "terms_of",
    "too_small_text",
]


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
    calibrate: bool = True,
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
    terms, calibrate
        As in :func:`assemble_card`.
    callback : callable, optional
        Called with the solver's progress.
    **settings
        penalty, max_points, sign, bounds, max_features, constraints: as in
        :meth:`Problem.build`.

    Examples
    --------
    >>> from netbenefit.solvers.local_search import LocalSearch
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1], names=["fever"])
    >>> card = learn(table, Thresholds.of([0.5]), LocalSearch(), outcome="flu").card
    >>> card.risk({"fever": 1})
    1.0
    """
    if len(table.constant) == table.n_features:
        raise InputError(
            f"every column is constant ({shorten(table.constant)}): nothing tells rows apart. Add "
            "a column that varies."
        )
    problem = Problem.build(table, thresholds, **settings)
    result = solver.solve(problem, callback=callback)
    provenance = Provenance(
        version=__version__,
        n_rows=table.n_total,
        n_events=table.n_events,
        n_patterns=len(table),
        prevalence=table.prevalence,
        objective=result.objective,
        bound=result.bound,
        penalty=float(problem.penalty),
        solver=result.solver,
        status=result.status,
        seconds=round(result.seconds, 3),
        random_state=seed,
        outcome=outcome,
    )
    card = assemble_card(problem, result, provenance, terms=terms, calibrate=calibrate)
    return Learned(card, result, problem)


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
    share = _SEARCH_SHARE[solver]
    return Exact(time_limit, n_jobs=threads, seed=seed, search_share=share, name=solver)


def count_threads(n_jobs: int | None) -> int:
    """Threads that a number as scikit-learn takes it stands for.

    >>> count_threads(2)
    2
    """
    if n_jobs == 0:
        raise InputError("0 threads cannot search (n_jobs=0). Use 1 or more, or −1 for all cores.")
    from joblib import effective_n_jobs  # type: ignore[import-untyped]  # by scikit-learn

    return int(effective_n_jobs(n_jobs))


#: How much of the time the local search may take: what matters most comes first in "auto".
_SEARCH_SHARE = {"auto": 0.7, "exact": 0.2}

#: Events, as a share of all rows, that the sums of real weights may be off by.
_ROUNDING = 1e-9


def assemble_card(
    problem: Problem,
    result: SolverResult,
    provenance: Provenance,
    *,
    terms: Sequence[Term] | None = None,
    calibrate: bool = True,
) -> Scorecard:
    """Put rules, cut-offs and risks together.

    Parameters
    ----------
    problem : Problem
    result : SolverResult
    provenance : Provenance
    terms : sequence of Condition or PerUnit, optional
        How each column arises from a raw column; by default each column is its own, per unit.
    calibrate : bool, default=True
        Give each level the event rate of its training rows; otherwise the middle of its interval.

    Examples
    --------
    >>> from netbenefit.solvers.local_search import LocalSearch
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1], names=["fever"])
    >>> problem = Problem.build(table, Thresholds.of([0.5]))
    >>> card = assemble_card(problem, LocalSearch().solve(problem), Provenance(version="0"))
    >>> card.risk({"fever": 1})
    1.0
    """
    table = problem.patterns
    all_terms = tuple(terms_of(table) if terms is None else terms)
    rules = [Rule(all_terms[k], int(result.points[k])) for k in np.flatnonzero(result.points)]
    scores = floor_scores(table.codes, table.decimals, result.points)
    rated = problem.limits.rates is not None
    return Scorecard(
        rules=tuple(rules),
        cutoffs=result.cutoffs,
        risks=level_risks(table, problem.thresholds, scores, result.cutoffs, calibrate, rated),
        thresholds=problem.thresholds,
        score_range=result.score_range,
        feature_names=tuple(dict.fromkeys(term.feature for term in all_terms)),
        provenance=provenance,
    )


def terms_of(table: PatternTable) -> tuple[Term, ...]:
    """Each column as itself: points per unit, in the step in which it is held.

    >>> terms_of(PatternTable.from_arrays([[0, 0.5], [1, 2.0]], [0, 1]))[1]
    PerUnit(feature='x1', decimals=1, lower=None, upper=None, binary=False)
    """
    return tuple(
        PerUnit(name, decimals=d, binary=d == 0 and bool(np.isin(table.codes[:, k], (0, 1)).all()))
        for k, (name, d) in enumerate(zip(table.names, table.decimals, strict=True))
    )


def level_risks(
    table: PatternTable,
    thresholds: Thresholds,
    scores: IntArray,
    cutoffs: Sequence[int],
    calibrate: bool,
    rated: bool = False,
) -> tuple[float | None, ...]:
    """Risk of each level; None where no row is.

    With ``calibrate``, Algorithm 2: the share of events.  Best cut-offs leave nothing for
    Algorithm 1 to move, so every share lies in its own interval.  (Sums of real weights are
    rounded; a share that lies outside by no more than that is moved to the end of its interval.
    A larger difference means that the cut-offs are not the best ones, and the card refuses it.)

    Constraints on rates (``rated``) move cut-offs away from the best ones: a level can then have a
    share of events outside its interval.  Such a risk is moved to the near end of the interval, so
    that decisions at every threshold stay those of the cut-offs that the constraints ask for; the
    risk says where the level belongs, no longer how many events it had.
    """
    size = len(thresholds)
    level = np.searchsorted(np.asarray(cutoffs), scores, side="right")
    seen = np.bincount(level, minlength=size) > 0
    low, high = thresholds.array, np.append(thresholds.array[1:], 1.0)
    if calibrate:
        events = np.bincount(level, weights=table.positives, minlength=size)
        others = np.bincount(level, weights=table.negatives, minlength=size)
        mass = events + others
        rate = events / np.where(seen, mass, 1.0)
        # The last interval is the only one that holds its upper end.
        inside = np.clip(rate, low, np.append(np.nextafter(high[:-1], 0.0), 1.0))
        rounded = np.abs(inside - rate) * mass <= _ROUNDING * mass.sum()
        risks = np.where(rounded | rated, inside, rate)
    else:
        risks = (low + high) / 2
    return tuple(float(q) if there else None for q, there in zip(risks, seen, strict=True))
