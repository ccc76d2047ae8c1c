"""Cut-offs and risks of a card: how scores become levels, and levels become risks.

Without a prior these are the published ones: the cut-offs of the highest net benefit, and the event
rates between them (SPEC Algorithm 2).  With a prior of n0 rows, and N rows of data:

1. Fit the logistic link of the score, and shrink its slope (see :func:`shrink_link`): points that
   were chosen on the same rows promise more than they keep.  Every rule counts as two degrees of
   freedom, for its points and for having been chosen, but all of them as no more than there are
   columns to choose from.  Take the published cut-offs and event rates.
2. The risk of a score is the average of both, with weights n0 and N:
   w · link(s) + (1 − w) · rate(level of s), w = n0 / (n0 + N).  It never falls as s rises.
3. The cut-off of a threshold is the first whole score whose risk reaches it.  Limits on rates move
   it into what they allow.
4. Between two cut-offs, the card shows the mean risk of the training rows there, which lies between
   both thresholds: one risk a level, the same decisions at every threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from netbenefit._validation import FloatArray, IntArray
from netbenefit.kernels.cutoffs import allowed_ranges, floor_scores
from netbenefit.kernels.logistic import Link, shrink_link
from netbenefit.patterns import PatternTable
from netbenefit.problem import Evaluation, Problem
from netbenefit.thresholds import Thresholds

__all__ = ["Blend", "Levels", "degrees_spent", "find_levels", "level_risks"]

#: Events, as a share of all rows, that the sums of real weights may be off by.
_ROUNDING = 1e-9


class Levels(NamedTuple):
    """Of a card: T_1 … T_M and q_0 … q_M (None for a level that no score reaches)."""

    cutoffs: tuple[int, ...]
    risks: tuple[float | None, ...]
    net_benefit: float  #: weighted net benefit of these cut-offs on the training rows


class Blend(NamedTuple):
    """Risk of every score: a link and event rates, averaged.

    Examples
    --------
    >>> blend = Blend(0.5, Link(0.0, 0.0, 0.0, 0.0), (1,), (0.1, 0.7))
    >>> blend.risk(np.array([0, 1]))
    array([0.3, 0.6])
    """

    weight: float  #: of the link
    link: Link
    cutoffs: tuple[int, ...]
    rates: tuple[float, ...]  #: event rate of each level

    def risk(self, scores: IntArray) -> FloatArray:
        """Risk at some scores."""
        level = np.searchsorted(np.asarray(self.cutoffs), scores, side="right")
        rate = np.asarray(self.rates)[level]
        result: FloatArray = self.weight * self.link.risk(scores) + (1.0 - self.weight) * rate
        return result


def find_levels(
    problem: Problem,
    points: Sequence[int] | IntArray,
    *,
    calibrate: bool = True,
    spent: int | None = None,
) -> Levels:
    """Cut-offs and risks of the card with these points.

    Parameters
    ----------
    problem : Problem
    points : (P,) int
    calibrate : bool, default=True
        False gives each level the middle of its interval as its risk.
    spent : int, optional
        Degrees of freedom that choosing the points took; by default as the recipe has it.

    Examples
    --------
    >>> table = PatternTable.from_arrays([[0], [0], [1], [1], [1]], [0, 1, 0, 1, 1])
    >>> grid = Thresholds.of([0.2, 0.6])
    >>> find_levels(Problem.build(table, grid), [1])[:2]
    ((0, 1), (None, 0.5, 0.6666666666666666))
    >>> find_levels(Problem.build(table, grid, prior_strength=5), [1])[:2]
    ((0, 1), (None, 0.55, 0.6333333333333333))
    """
    table, grid = problem.patterns, problem.thresholds
    scores = floor_scores(table.codes, table.decimals, np.asarray(points, dtype=np.int64))
    value = problem.evaluate(points)
    rated = problem.limits.rates is not None
    published = level_risks(table, grid, scores, value.cutoffs, rated)
    if value.link is None:
        risks = published if calibrate else _middles(grid, published)
        return Levels(value.cutoffs, risks, float(value.net_benefit))
    if spent is None:
        spent = degrees_spent(value.size, int((problem.upper > problem.lower).sum()))
    blend = _blend(problem, scores, value, published, spent)
    cutoffs = _first_scores(blend, grid, value.score_range)
    if rated:
        cutoffs = _within_rates(problem, scores, cutoffs)
    risks = _mean_risks(table, grid, scores, cutoffs, blend)
    benefit = _net_benefit(table, grid, scores, cutoffs)
    return Levels(cutoffs, risks if calibrate else _middles(grid, risks), benefit)


def degrees_spent(size: int, n_columns: int) -> int:
    """Return what choosing points took: two degrees of freedom a rule, at most one a column.

    >>> degrees_spent(3, 30), degrees_spent(3, 4)
    (6, 4)
    """
    return min(2 * size, n_columns)


def _blend(
    problem: Problem,
    scores: IntArray,
    value: Evaluation,
    published: Sequence[float | None],
    spent: int,
) -> Blend:
    assert value.link is not None
    n0, total = float(problem.prior_strength), float(problem.patterns.n_total)
    # Scores between those of the rows are on the level of the next lower row, which has a rate.
    rates = tuple(0.0 if rate is None else rate for rate in published)
    table = problem.patterns
    link = shrink_link(value.link, scores, table.positives, table.negatives, spent)
    return Blend(n0 / (n0 + total), link, value.cutoffs, rates)


def _first_scores(blend: Blend, grid: Thresholds, reach: tuple[int, int]) -> tuple[int, ...]:
    """First whole score with a risk of at least p_i, for each i from 1; one too many if none."""
    cutoffs: list[int] = []
    for threshold in grid.values[1:]:
        low, high = cutoffs[-1] if cutoffs else reach[0], reach[1] + 1
        while low < high:  # risks never fall, so halving finds the first
            middle = (low + high) // 2
            if blend.risk(np.array([middle]))[0] >= threshold:
                high = middle
            else:
                low = middle + 1
        cutoffs.append(low)
    return tuple(cutoffs)


def _within_rates(problem: Problem, scores: IntArray, cutoffs: tuple[int, ...]) -> tuple[int, ...]:
    """Move cut-offs up until few enough are called, and down until enough events are."""
    table, rates = problem.patterns, problem.limits.rates
    assert rates is not None
    limits = list(zip(rates.found[1:], rates.alarms[1:], strict=True))
    ranges = allowed_ranges(scores, table.positives, table.negatives, limits)
    return tuple(min(max(t, low), high) for t, (low, high) in zip(cutoffs, ranges, strict=True))


def _net_benefit(
    table: PatternTable, grid: Thresholds, scores: IntArray, cutoffs: tuple[int, ...]
) -> float:
    """Σ_i ω_i NB_i of given cut-offs; at threshold 0 everybody is called."""
    called = scores[None, :] >= np.array([scores.min(), *cutoffs])[:, None]
    net = called @ table.positives - grid.odds * (called @ table.negatives)
    return float(grid.weight_array @ net) / float(table.n_total)


def _mean_risks(
    table: PatternTable,
    grid: Thresholds,
    scores: IntArray,
    cutoffs: tuple[int, ...],
    blend: Blend,
) -> tuple[float | None, ...]:
    """Mean risk of the rows of each level; without rows, the risk in the middle of its scores."""
    size = len(grid)
    level = np.searchsorted(np.asarray(cutoffs), scores, side="right")
    mass = (table.positives + table.negatives).astype(np.float64)
    total = np.bincount(level, weights=mass, minlength=size)
    worth = np.bincount(level, weights=mass * blend.risk(scores), minlength=size)
    edges = [int(scores.min()), *cutoffs, int(scores.max()) + 1]
    risks: list[float | None] = []
    for i, (low, high) in enumerate(pairwise(edges)):
        if total[i] > 0:
            risk = float(worth[i] / total[i])
        elif low < high:
            risk = float(blend.risk(np.array([(low + high - 1) // 2]))[0])
        else:
            risks.append(None)
            continue
        # Inside but for rounding, or for limits on rates, which ask for other cut-offs.
        risks.append(min(max(risk, grid.values[i]), _top(grid, i)))
    return tuple(risks)


def _top(grid: Thresholds, level: int) -> float:
    """Largest risk of a level; the last one is the only one that holds its upper end."""
    last = level == len(grid) - 1
    return 1.0 if last else float(np.nextafter(grid.values[level + 1], 0.0))


def _middles(grid: Thresholds, risks: Sequence[float | None]) -> tuple[float | None, ...]:
    ends = (*grid.values[1:], 1.0)
    return tuple(
        None if risk is None else (low + high) / 2
        for risk, low, high in zip(risks, grid.values, ends, strict=True)
    )


def level_risks(
    table: PatternTable,
    thresholds: Thresholds,
    scores: IntArray,
    cutoffs: Sequence[int],
    rated: bool = False,
) -> tuple[float | None, ...]:
    """Share of events of each level, as in Algorithm 2; None where no row is.

    Best cut-offs leave nothing for Algorithm 1 to move, so every share lies in its own interval.
    (Sums of real weights are rounded; a share that lies outside by no more than that is moved to
    the end of its interval.  A larger difference means that the cut-offs are not the best ones, and
    the card refuses it.)

    Constraints on rates (``rated``) move cut-offs away from the best ones: a level can then have a
    share of events outside its interval.  Such a risk is moved to the near end of the interval, so
    that decisions at every threshold stay those of the cut-offs that the constraints ask for; the
    risk says where the level belongs, no longer how many events it had.
    """
    size = len(thresholds)
    level = np.searchsorted(np.asarray(cutoffs), scores, side="right")
    events = np.bincount(level, weights=table.positives, minlength=size)
    mass = events + np.bincount(level, weights=table.negatives, minlength=size)
    seen = np.bincount(level, minlength=size) > 0
    rate = events / np.where(seen, mass, 1.0)
    inside = np.clip(rate, thresholds.array, [_top(thresholds, i) for i in range(size)])
    rounded = np.abs(inside - rate) * mass <= _ROUNDING * mass.sum()
    risks = np.where(rounded | rated, inside, rate)
    return tuple(float(q) if there else None for q, there in zip(risks, seen, strict=True))
