"""Slow reference code for objectives, which compiled kernels and solvers must match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from numpy.typing import NDArray

from netbenefit.certificates.recount import floor_scores
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds

__all__ = [
    "allowed_cutoff",
    "allowed_net_benefit",
    "best_cutoff",
    "coordinate_objectives",
    "cutoffs",
    "floor_scores",
    "objective",
    "pair_objectives",
    "weighted_net_benefit",
]

Number = int | Fraction


def best_cutoff(
    scores: Sequence[int], positives: Sequence[Number], negatives: Sequence[Number], odds: Number
) -> tuple[int, Number]:
    """Smallest cut-off with the highest TP − odds · FP, and that value.

    Candidates are the scores that occur and one above the highest.
    """
    candidates = [*sorted(set(scores)), max(scores) + 1]
    rows = list(zip(scores, positives, negatives, strict=True))
    values = [sum(a - odds * b for s, a, b in rows if s >= cutoff) for cutoff in candidates]
    best = max(values)
    return candidates[values.index(best)], best


def allowed_cutoff(
    scores: Sequence[int],
    positives: Sequence[Number],
    negatives: Sequence[Number],
    odds: Number,
    least_found: Number,
    most_alarms: Number,
    events: Sequence[Number],
    others: Sequence[Number],
) -> tuple[int, Number] | None:
    """Smallest best cut-off among those with enough true and few enough false positives, or None.

    Examples
    --------
    >>> events, others = [0, 1, 5], [5, 1, 0]
    >>> allowed_cutoff([0, 1, 2], events, others, 1, 0, 0, events, others)
    (2, 5)
    """
    found: list[tuple[int, Number]] = []
    for cutoff in [*sorted(set(scores)), max(scores) + 1]:
        called = [j for j, score in enumerate(scores) if score >= cutoff]
        tp, fp = (sum(masses[j] for j in called) for masses in (positives, negatives))
        enough = sum(events[j] for j in called) >= least_found
        if enough and sum(others[j] for j in called) <= most_alarms:
            found.append((cutoff, tp - odds * fp))
    if not found:
        return None
    best = max(value for _, value in found)
    return next((cutoff, value) for cutoff, value in found if value == best)


def weighted_net_benefit(
    patterns: PatternTable, thresholds: Thresholds, points: Sequence[int]
) -> Fraction:
    """Σ_i ω_i max_T NB_i(T): the weighted net benefit with the best cut-offs."""
    value = allowed_net_benefit(patterns, thresholds, points, None)
    assert value is not None  # without limits there always is one
    return value


def allowed_net_benefit(
    patterns: PatternTable,
    thresholds: Thresholds,
    points: Sequence[int],
    rates: tuple[Sequence[Fraction], Sequence[Fraction]] | None,
) -> Fraction | None:
    """Weighted net benefit of the best cut-offs within (least TP, most FP) per threshold.

    None where some threshold has no such cut-off, be its weight 0 or not.
    """
    a, b = _exact(patterns.positives), _exact(patterns.negatives)
    allowed = _allowed_cutoffs(patterns, thresholds, points, rates)
    total = Fraction(0)
    for best, weight in zip(allowed, thresholds.weight_fractions, strict=True):
        if best is None:
            return None
        total += weight * best[1]
    return total / (sum(a) + sum(b))


def objective(
    patterns: PatternTable, thresholds: Thresholds, penalty: Fraction, points: Sequence[int]
) -> Fraction:
    """G(λ): the weighted net benefit minus the penalty for each non-zero coefficient."""
    size = sum(1 for v in points if v != 0)
    return weighted_net_benefit(patterns, thresholds, points) - penalty * size


def cutoffs(
    patterns: PatternTable,
    thresholds: Thresholds,
    points: Sequence[int],
    rates: tuple[Sequence[Fraction], Sequence[Fraction]] | None = None,
) -> list[int]:
    """T_1 … T_M: the smallest best cut-off at each threshold (within the rates, where given)."""
    best = _allowed_cutoffs(patterns, thresholds, points, rates)
    return [found[0] for found in best[1:] if found is not None]


def _allowed_cutoffs(
    patterns: PatternTable,
    thresholds: Thresholds,
    points: Sequence[int],
    rates: tuple[Sequence[Fraction], Sequence[Fraction]] | None,
) -> list[tuple[int, Number] | None]:
    """Best cut-off and its TP − odds · FP at each threshold."""
    scores = floor_scores(patterns.codes, patterns.decimals, points)
    a, b = _exact(patterns.positives), _exact(patterns.negatives)
    events, others = _exact(patterns.events), _exact(patterns.others)
    n = len(thresholds)
    found, alarms = ([Fraction(0)] * n, [sum(others)] * n) if rates is None else rates
    return [
        allowed_cutoff(scores, a, b, p / (1 - p), least, most, events, others)
        for p, least, most in zip(thresholds.fractions, found, alarms, strict=True)
    ]


def coordinate_objectives(
    patterns: PatternTable,
    thresholds: Thresholds,
    penalty: Fraction,
    points: Sequence[int],
    k: int,
    values: Sequence[int],
) -> list[Fraction]:
    """G for each value of one coordinate, with the others fixed."""
    return [
        objective(patterns, thresholds, penalty, neighbour)
        for neighbour in _neighbours(points, (k,), (values,))
    ]


def pair_objectives(
    patterns: PatternTable,
    thresholds: Thresholds,
    penalty: Fraction,
    points: Sequence[int],
    pair: tuple[int, int],
    values: tuple[Sequence[int], Sequence[int]],
) -> list[Fraction]:
    """G for each pair of values of two coordinates; the second varies fastest."""
    return [
        objective(patterns, thresholds, penalty, neighbour)
        for neighbour in _neighbours(points, pair, values)
    ]


def _neighbours(
    points: Sequence[int], where: Sequence[int], values: Sequence[Sequence[int]]
) -> Iterator[list[int]]:
    for chosen in product(*values):
        neighbour = [int(v) for v in points]
        for k, v in zip(where, chosen, strict=True):
            neighbour[k] = int(v)
        yield neighbour


def _exact(masses: NDArray[Any]) -> list[Number]:
    return [m if isinstance(m, int) else Fraction(m) for m in masses.tolist()]
