"""From patterns to the card that a user keeps: problem, solver, rules, cut-offs, risks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._version import __version__
from netbenefit.binning.fitted import FittedBins
from netbenefit.cards.readings import Reading
from netbenefit.cards.scorecard import Provenance, Rule, Scorecard
from netbenefit.cards.terms import Condition, PerUnit, Term
from netbenefit.common.checks import FloatArray, InputError, IntArray, check_weights, shorten
from netbenefit.common.parallel import threads_here
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.training import Training
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.levels import fit_levels
from netbenefit.problem.problem import Problem, refuse_one_class
from netbenefit.problem.result import SolverResult
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.base import Callback, Solver, allowed_start, check_time_limit
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.solvers.milp.solve import MixedInteger
from netbenefit.solvers.search_then_prove import SearchThenProve
from netbenefit.teachers import teach
from netbenefit.teachers.blend import Taught, blend, read_strength

__all__ = [
    "Learned",
    "Rules",
    "assemble_card",
    "choose_solver",
    "count_threads",
    "learn",
    "make_problem",
    "make_provenance",
    "refuse_constants",
    "refuse_small_weights",
    "rules_of",
    "teach_masses",
    "terms_of",
    "too_small_text",
    "warn_of_teaching",
]


class Learned(NamedTuple):
    """A card and how it was found."""

    card: Scorecard
    result: SolverResult
    problem: Problem
    taught: Taught | None = None


def learn(
    training: Training,
    thresholds: Thresholds,
    solver: Solver,
    *,
    outcome: str,
    teacher: Any = None,
    prior_strength: Any = "auto",
    seed: int = 0,
    n_jobs: int | None = -1,
    calibrate: bool = True,
    start: Sequence[int] | IntArray | None = None,
    callback: Callback | None = None,
) -> Learned:
    """Learn a card from patterns: the one way that the estimator and the command line go.

    1. The teacher gives every row a risk, which is blended with the outcomes into masses.
    2. The solver searches the points of the highest net benefit on these masses.
    3. Points, cut-offs and risks become a card.

    Parameters
    ----------
    training : Training
    thresholds : Thresholds
    solver : Solver
    outcome : str
        What the risk is the risk of.
    teacher, prior_strength
        As for :class:`netbenefit.RiskScoreClassifier`.
    seed : int
        Of the teacher's folds; the solver has its own.
    n_jobs : int, optional
        Threads for the teacher.
    calibrate : bool, default=True
        As in :func:`assemble_card`.
    start : (P,) int, optional
        Points to begin from, such as those of an earlier card; moved into what is allowed.
    callback : callable, optional
        Called with the solver's progress.
    """
    table, taught = teach_masses(
        training, thresholds, teacher, prior_strength, seed=seed, n_jobs=n_jobs
    )
    problem = make_problem(table, thresholds, **training.settings)
    first = None if start is None else allowed_start(problem, start)
    # Without one it is not mentioned: a solver may know of no start.
    more = {} if first is None else {"start": first}
    result = solver.solve(problem, callback=callback, **more)
    provenance = make_provenance(problem, result, outcome, seed, taught)
    card = assemble_card(problem, result, provenance, bins=training.bins, calibrate=calibrate)
    return Learned(card, result, problem, taught)


def teach_masses(
    training: Training,
    thresholds: Thresholds,
    teacher: Any,
    prior_strength: Any,
    *,
    seed: int,
    n_jobs: int | None,
) -> tuple[PatternTable, Taught | None]:
    """Blend outcomes with a teacher's risks; without a teacher, outcomes are all that counts."""
    table, rows = training.table, training.rows
    strength = read_strength(prior_strength, table.n_total)
    if teacher is None or strength == 0:
        return table, None
    refuse_constants(table)
    refuse_one_class(table)
    if strength is not None and prior_strength != "auto":
        refuse_small_weights(
            table, "A prior counts weights as rows", 'set prior_strength="auto", 0 or inf'
        )
    teaching = teach(
        teacher if rows.risks is None else rows.risks,
        rows.columns if isinstance(teacher, str) else rows.X,
        rows.event,
        sample_weight=rows.sample_weight,
        groups=rows.groups,
        binner=rows.binner,
        seed=seed,
        n_jobs=n_jobs,
    )
    if rows.learnt_from:
        teaching = replace(teaching, name=f"{teaching.name}, {rows.learnt_from}")
    weight = check_weights(rows.sample_weight, rows.event.size)
    blended, how = blend(table, teaching.risks, weight, strength)
    # What the teacher's own decisions are worth, row by row: by outcomes, and by blended masses.
    share = 1.0 if strength is None else float(strength / (strength + Fraction(table.n_total)))
    masses = (1.0 - share) * rows.event + share * teaching.risks
    worth = [_worth(of, teaching.risks, thresholds, weight) for of in (rows.event, masses)]
    return blended, Taught(teaching, how, *worth)


def warn_of_teaching(taught: Taught | None, *, stacklevel: int) -> None:
    """Warn of what a user should know about the teacher: fallbacks, and what was left out."""
    for note in () if taught is None else taught.teaching.notes:
        warnings.warn(note, stacklevel=stacklevel + 1)


def _worth(
    events: NDArray[Any], risks: FloatArray, thresholds: Thresholds, weight: FloatArray
) -> float:
    """Σ_i ω_i NB_i of decisions by ``risks``; events are shares of rows."""
    called = risks[None, :] >= thresholds.array[:, None]
    net = called @ (weight * events) - thresholds.odds * (called @ (weight * (1.0 - events)))
    # Rounded, so that the order of the rows does not show in the last digits.
    return round(float(thresholds.weight_array @ net / weight.sum()), 12)


def make_problem(table: PatternTable, thresholds: Thresholds, **settings: Any) -> Problem:
    """Build the problem that rows pose; refuse rows from which nothing can be learnt.

    Settings are those of :meth:`Problem.build`.
    """
    refuse_constants(table)
    problem = Problem.build(table, thresholds, **settings)
    if settings.get("penalty") == "auto":
        refuse_small_weights(
            table, "The price of a rule counts weights as rows", 'set penalty="paper"'
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


def make_provenance(
    problem: Problem,
    result: SolverResult,
    outcome: str,
    seed: int | None,
    taught: Taught | None = None,
) -> Provenance:
    """Write down where a card comes from.

    Of the teacher's net benefit on the masses, the card keeps its own share; and a card with as few
    rules at most that of the bound, to which the price of its rules is added again.
    """
    table = problem.patterns
    origin = Provenance(
        version=__version__,
        n_rows=table.n_total,
        n_events=table.n_events,
        n_patterns=len(table),
        prevalence=table.prevalence,
        objective=result.objective,
        bound=result.bound,
        penalty=float(problem.penalty),
        prior_strength=0.0,
        solver=result.solver,
        status=result.status,
        seconds=round(result.seconds, 3),
        random_state=seed,
        outcome=outcome,
    )
    if taught is None:
        return origin
    whole, strength = taught.blended_benefit, taught.blend.strength
    bound = None if result.bound is None else result.bound + float(problem.penalty) * result.size
    return replace(
        origin,
        prior_strength=math.inf if strength is None else float(strength),
        teacher=taught.teaching.name,
        teacher_net_benefit=taught.net_benefit,
        share_kept=result.net_benefit / whole if whole > 0 else None,
        share_bound=bound / whole if whole > 0 and bound is not None else None,
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
    return SearchThenProve(
        time_limit,
        n_jobs=threads,
        seed=seed,
        search_share=_SEARCH_SHARE[solver],
        patience=_PATIENCE[solver],
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
#: Seconds that a proof goes on without lowering the gap by a tenth.
_PATIENCE = {"auto": 1.0, "exact": None}


def assemble_card(
    problem: Problem,
    result: SolverResult,
    provenance: Provenance,
    *,
    terms: Sequence[Term] | None = None,
    bins: FittedBins | None = None,
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
        Give each level the risk of its training rows (see :mod:`levels`); otherwise the
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
    levels = fit_levels(problem, result.points, calibrate=calibrate)
    provenance = replace(provenance, net_benefit=levels.net_benefit)
    return Scorecard(
        rules=rules,
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
    bins: FittedBins | None = None,
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


def _with_missing(rules: list[Rule], bins: FittedBins) -> list[Rule]:
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
