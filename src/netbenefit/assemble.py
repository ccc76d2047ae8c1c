"""From a solver's answer to the card that a user keeps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netbenefit._validation import IntArray
from netbenefit.conditions import PerUnit, Term
from netbenefit.kernels.cutoffs import floor_scores
from netbenefit.patterns import PatternTable
from netbenefit.problem import Problem
from netbenefit.scorecard import Provenance, Rule, Scorecard
from netbenefit.solvers.base import SolverResult
from netbenefit.thresholds import Thresholds

__all__ = ["assemble_card", "level_risks", "terms_of"]

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
    return Scorecard(
        rules=tuple(rules),
        cutoffs=result.cutoffs,
        risks=level_risks(table, problem.thresholds, scores, result.cutoffs, calibrate),
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
) -> tuple[float | None, ...]:
    """Risk of each level; None where no row is.

    With ``calibrate``, Algorithm 2: the share of events.  Best cut-offs leave nothing for
    Algorithm 1 to move, so every share lies in its own interval.  (Sums of real weights are
    rounded; a share that lies outside by no more than that is moved to the end of its interval.
    A larger difference means that the cut-offs are not the best ones, and the card refuses it.)
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
        risks = np.where(rounded, inside, rate)
    else:
        risks = (low + high) / 2
    return tuple(float(q) if there else None for q, there in zip(risks, seen, strict=True))
