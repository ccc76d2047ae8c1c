"""What each condition that has no points would add to a card, with the points that add the most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from netbenefit.common import IntArray
from netbenefit.problem import IntegerProblem, Problem

#: Scores beyond this range are sorted, not counted in bins.
_MOST_BINS = 100_000


class Candidate(NamedTuple):
    """A condition, and what it would add."""

    place: int
    points: int  #: what adds the most; one point where nothing adds anything
    gain: float  #: of what solvers maximise, price included; may be negative
    allowed: bool  #: whether the limits allow the card that comes out


def rank_conditions(problem: Problem, points: IntArray) -> list[Candidate]:
    """Rank all conditions without points by what they would add, the most first.

    With gains[i, u] what it is worth to call pattern u at threshold i, and patterns sorted by
    score:

    1. The gains of the patterns that a condition is about, and of the others, are added up by
       score; the card's value with v points for it takes the best cut-off of both, v scores apart.
    2. Columns that count more than yes and no are scored anew for each number of points.
    """
    whole = IntegerProblem.of(problem)
    reach = problem.max_points
    base = whole.units @ points
    used = points != 0
    narrow = int(base.max() - base.min()) <= _MOST_BINS * whole.unit
    now = _worth(np.floor_divide(base, whole.unit), whole.gains) - whole.paid(used)
    found = []
    for k in np.flatnonzero(~used).tolist():
        units = whole.units[:, k]
        if (units == units[0]).all():
            continue
        with_k = used.copy()
        with_k[k] = True
        paid = whole.paid(with_k)
        low, high = max(int(problem.lower[k]), -reach), min(int(problem.upper[k]), reach)
        steps = [v for v in range(low, high + 1) if v] or [v for v in range(-reach, reach + 1) if v]
        if narrow and set(np.unique(units).tolist()) <= {0, whole.unit}:
            values = _shifted(base, units != 0, whole, steps)
        else:
            values = [
                _worth(np.floor_divide(base + v * units, whole.unit), whole.gains) for v in steps
            ]
        # Of equal ones the fewest points.
        best = max(range(len(steps)), key=lambda i: (values[i], -abs(steps[i]), steps[i]))
        vector = points.copy()
        vector[k] = steps[best]
        gain = float(whole.to_objective(values[best] - paid) - whole.to_objective(now))
        found.append(Candidate(k, steps[best], gain, problem.allows(vector)))
    return sorted(found, key=lambda one: (-one.gain, one.place))


def _by_score(scores: IntArray, gains: IntArray, low: int, size: int) -> IntArray:
    """(m, size) sums of gains at each score from ``low`` on."""
    order = np.argsort(scores, kind="stable")
    firsts = np.flatnonzero(np.append(True, np.diff(scores[order]) != 0))
    sums = np.zeros((gains.shape[0], size), dtype=np.int64)
    if scores.size:
        sums[:, scores[order][firsts] - low] = np.add.reduceat(gains[:, order], firsts, axis=1)
    return sums


def _worth(scores: IntArray, gains: IntArray) -> int:
    """Σ_i max_T of the gains from score T on; calling nobody is worth 0."""
    ranks = np.unique(scores, return_inverse=True)[1].ravel()
    return _best(_by_score(ranks, gains, 0, int(ranks.max()) + 1))


def _best(sums: IntArray) -> int:
    above = np.cumsum(sums[:, ::-1], axis=1)
    return int(np.maximum(above.max(axis=1), 0).sum())


def _shifted(base: IntArray, holds: IntArray, whole: IntegerProblem, steps: list[int]) -> list[int]:
    """Step 1."""
    scores = np.floor_divide(base, whole.unit)
    low, reach = int(scores.min()), max(abs(v) for v in steps)
    size = int(scores.max()) - low + 1
    with_it = _by_score(scores[holds], whole.gains[:, holds], low, size)
    without = _by_score(scores[~holds], whole.gains[:, ~holds], low, size)
    values = []
    for v in steps:
        both = np.zeros((with_it.shape[0], size + 2 * reach), dtype=np.int64)
        both[:, reach : reach + size] = without
        both[:, reach + v : reach + v + size] += with_it
        values.append(_best(both))
    return values
