"""The truth, slowly: what the compiled kernels must give, in plain exact arithmetic.

Everything is a Python integer or a :class:`fractions.Fraction`; nothing is updated, everything is
counted again.  The functions serve tests, certificates and the final value of a result.

Only the logistic link and S need logarithms, and so floats: terms are added up without rounding
(:func:`math.fsum`), and equations are solved until nothing moves any more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from numpy.typing import NDArray

from netbenefit._validation import IntArray
from netbenefit.patterns import PatternTable
from netbenefit.thresholds import Thresholds

__all__ = [
    "RIDGE",
    "SlowLink",
    "allowed_cutoff",
    "allowed_net_benefit",
    "best_cutoff",
    "coordinate_objectives",
    "cutoffs",
    "floor_scores",
    "logistic_link",
    "objective",
    "pair_objectives",
    "saturated_smooth",
    "shrunk_link",
    "smooth_net_benefit",
    "smooth_of_link",
    "weighted_net_benefit",
]

Number = int | Fraction
Masses = Sequence[int | Fraction | float]

#: Weight of the belief in small slopes of a link, in rows.
RIDGE = 0.1


def floor_scores(codes: IntArray, decimals: Sequence[int], points: Sequence[int]) -> list[int]:
    """Floor of x·λ for each row of codes, where x = codes / 10 ** decimals.

    Examples
    --------
    >>> import numpy as np
    >>> floor_scores(np.array([[15, 1], [-1, 0]]), [1, 0], [3, 2])  # 1.5·3 + 1·2 and -0.1·3
    [6, -1]
    """
    digits = max(decimals, default=0)
    unit = 10**digits
    return [
        sum(
            int(v) * int(c) * 10 ** (digits - d)
            for v, c, d in zip(points, row, decimals, strict=True)
        )
        // unit
        for row in codes
    ]


def best_cutoff(
    scores: Sequence[int], positives: Sequence[Number], negatives: Sequence[Number], odds: Number
) -> tuple[int, Number]:
    """Smallest cut-off with the highest TP − odds · FP, and that value.

    Candidates are the scores that occur and "nobody", one above the highest.

    Examples
    --------
    >>> best_cutoff([0, 1, 2], [0, 1, 5], [5, 1, 0], 1)
    (1, 5)
    """
    best = allowed_cutoff(scores, positives, negatives, odds, 0, sum(negatives))
    assert best is not None  # "nobody" is always allowed here
    return best


def allowed_cutoff(
    scores: Sequence[int],
    positives: Sequence[Number],
    negatives: Sequence[Number],
    odds: Number,
    least_found: Number,
    most_alarms: Number,
) -> tuple[int, Number] | None:
    """Smallest best cut-off among those with TP ≥ least_found and FP ≤ most_alarms, or None.

    Examples
    --------
    >>> allowed_cutoff([0, 1, 2], [0, 1, 5], [5, 1, 0], 1, least_found=0, most_alarms=0)
    (2, 5)
    """
    found: list[tuple[int, Number]] = []
    for cutoff in [*sorted(set(scores)), max(scores) + 1]:
        tp: Number = 0
        fp: Number = 0
        for s, a, b in zip(scores, positives, negatives, strict=True):
            if s >= cutoff:
                tp, fp = tp + a, fp + b
        if tp >= least_found and fp <= most_alarms:
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
    """Weighted net benefit of the best cut-offs within (least TP, most FP) a threshold.

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
    n = len(thresholds)
    found, alarms = ([Fraction(0)] * n, [sum(b)] * n) if rates is None else rates
    return [
        allowed_cutoff(scores, a, b, p / (1 - p), least, most)
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
    """G for each value of one coordinate, all else as it is."""
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
    """G for each pair of values of two coordinates, the second one fastest."""
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


# -- the logistic link, and S ----------------------------------------------------------------------


class SlowLink(NamedTuple):
    """Risk as a logistic function of the score: α + β (s − centre) on the scale of log odds.

    Examples
    --------
    >>> SlowLink(Fraction(1, 2), 0.0, 2.0).risk(1)
    0.7310585786300049
    """

    centre: Fraction  #: mean score
    intercept: float  #: α
    slope: float  #: β, a point

    def log_odds(self, score: int) -> float:
        """α + β (s − centre)."""
        return self.intercept + self.slope * float(score - self.centre)

    def risk(self, score: int) -> float:
        """Risk at a score."""
        return _expit(self.log_odds(score))


class _Row(NamedTuple):
    """A score that occurs, with all of its events and others."""

    score: int
    events: float
    others: float


def logistic_link(scores: Sequence[int], positives: Masses, negatives: Masses) -> SlowLink:
    """The link of the highest likelihood, less RIDGE · β² / 2 (β per standard deviation), β ≥ 0.

    What is maximised is concave.  For each slope there is one best intercept: where as many events
    are expected as there are.  With it, the derivative by the slope falls as the slope rises, so
    the best slope is where it is 0, or 0 where it is never positive.

    Examples
    --------
    >>> link = logistic_link([0, 1, 2], [0, 2, 4], [4, 2, 0])
    >>> link.centre, round(link.slope, 2)
    (Fraction(1, 1), 3.5)
    >>> logistic_link([0, 1], [3, 1], [1, 3]).slope
    0.0
    """
    rows, centre, spread = _by_score(scores, positives, negatives)
    x = [float(row.score - centre) / spread if spread else 0.0 for row in rows]

    def pull(slope: float) -> tuple[float, float]:
        """Derivative of the penalised likelihood by the slope, and its own derivative."""
        alpha = _level(rows, [slope * v for v in x])
        etas = [alpha + slope * v for v in x]
        weights, total = _weights(rows, etas), math.fsum(_weights(rows, etas))
        mean = math.fsum(w * v for w, v in zip(weights, x, strict=True)) / (total or 1.0)
        # The intercept follows the slope, so that only distances from this mean count.
        bend = math.fsum(w * (v - mean) ** 2 for w, v in zip(weights, x, strict=True))
        value = math.fsum(m * v for m, v in zip(_misses(rows, etas), x, strict=True))
        return value - RIDGE * slope, -bend - RIDGE

    beta = max(_falling_root(pull), 0.0) if pull(0.0)[0] > 0 else 0.0
    alpha = _level(rows, [beta * v for v in x])
    return SlowLink(centre, alpha, beta / spread if beta else 0.0)


def shrunk_link(
    link: SlowLink, scores: Sequence[int], positives: Masses, negatives: Masses, spent: int
) -> SlowLink:
    """The link with its slope times max(0, 1 − spent / χ²), its intercept following.

    χ² is twice the gain in log-likelihood over a constant risk.  As many events are expected as
    there are.

    Examples
    --------
    >>> rows = [0, 1], [10, 30], [30, 10]
    >>> link = logistic_link(*rows)
    >>> round(link.risk(1), 3), round(shrunk_link(link, *rows, spent=2).risk(1), 3)
    (0.749, 0.729)
    """
    rows, centre, _ = _by_score(scores, positives, negatives)
    constant = _level(rows, [0.0] * len(rows))
    gain = math.fsum(
        row.events * (_log_expit(eta) - _log_expit(constant))
        + row.others * (_log_expit(-eta) - _log_expit(-constant))
        for row, eta in ((row, link.log_odds(row.score)) for row in rows)
    )
    slope = link.slope * max(0.0, 1.0 - spent / (2.0 * gain)) if gain > 0 else 0.0
    level = _level(rows, [slope * float(row.score - centre) for row in rows])
    return SlowLink(centre, level, slope)


def smooth_net_benefit(patterns: PatternTable, points: Sequence[int]) -> float:
    """S: net benefit of the score's logistic link, averaged over all thresholds from 0 to 1.

    Examples
    --------
    >>> table = PatternTable.from_arrays([[0]] * 4 + [[1]] * 4 + [[2]] * 4, [0] * 6 + [1] * 6)
    >>> round(smooth_net_benefit(table, [1]), 4)
    0.3746
    """
    scores = floor_scores(patterns.codes, patterns.decimals, points)
    masses = _exact(patterns.positives), _exact(patterns.negatives)
    return smooth_of_link(logistic_link(scores, *masses), scores, *masses)


def smooth_of_link(
    link: SlowLink, scores: Sequence[int], positives: Masses, negatives: Masses
) -> float:
    """Mean of q + (1 − y) ln(1 − q) over the rows, with the link's risks q.

    Examples
    --------
    >>> smooth_of_link(SlowLink(Fraction(0), 0.0, 0.0), [0], [1], [0])
    0.5
    """
    rows, _, _ = _by_score(scores, positives, negatives)
    terms = (
        _mass(row) * _expit(eta) + row.others * _log_expit(-eta)
        for row, eta in ((row, link.log_odds(row.score)) for row in rows)
    )
    return math.fsum(terms) / math.fsum(_mass(row) for row in rows)


def saturated_smooth(positives: Masses, negatives: Masses) -> float:
    """S of the observed rates of patterns, which no risks of these patterns exceed.

    At a pattern with events a and others b, (a + b) q + b ln(1 − q) is highest for q = a / (a + b).

    Examples
    --------
    >>> round(saturated_smooth([1, 0], [1, 2]), 4)
    0.0767
    """
    pairs = [(float(a), float(b)) for a, b in zip(positives, negatives, strict=True)]
    terms = [a + b * math.log(b / (a + b)) if b > 0 else a for a, b in pairs]
    return math.fsum(terms) / math.fsum(mass for pair in pairs for mass in pair)


def _by_score(
    scores: Sequence[int], positives: Masses, negatives: Masses
) -> tuple[list[_Row], Fraction, float]:
    """Events and others of each score; mean and standard deviation of the scores."""
    sums: dict[int, tuple[Fraction, Fraction]] = {}
    for s, a, b in zip(scores, positives, negatives, strict=True):
        events, others = sums.get(s, (Fraction(0), Fraction(0)))
        sums[s] = events + Fraction(a), others + Fraction(b)
    total = sum((a + b for a, b in sums.values()), Fraction(0))
    mean = sum((s * (a + b) for s, (a, b) in sums.items()), Fraction(0)) / total
    variance = sum(((s - mean) ** 2 * (a + b) for s, (a, b) in sums.items()), Fraction(0)) / total
    rows = [_Row(s, float(a), float(b)) for s, (a, b) in sorted(sums.items())]
    return rows, mean, math.sqrt(variance)


def _level(rows: Sequence[_Row], offsets: Sequence[float]) -> float:
    """Intercept with which as many events are expected as there are."""

    def missing(alpha: float) -> tuple[float, float]:
        etas = [alpha + offset for offset in offsets]
        return math.fsum(_misses(rows, etas)), -math.fsum(_weights(rows, etas))

    return _falling_root(missing)


def _misses(rows: Sequence[_Row], etas: Sequence[float]) -> list[float]:
    """Events less expected events at each score; as a difference of what does not cancel."""
    return [
        row.events * _expit(-eta) - row.others * _expit(eta)
        for row, eta in zip(rows, etas, strict=True)
    ]


def _weights(rows: Sequence[_Row], etas: Sequence[float]) -> list[float]:
    """How much more is expected at each score as the log odds rise."""
    return [_mass(row) * _expit(eta) * _expit(-eta) for row, eta in zip(rows, etas, strict=True)]


def _falling_root(function: Callable[[float], tuple[float, float]]) -> float:
    """Where a falling function is 0, from its value and its derivative.

    The root is kept between two numbers.  Newton's method says where to look next; where it leaves
    them, or no longer halves its steps, their middle does.
    """
    low, high = -1.0, 1.0
    while function(low)[0] < 0:
        low *= 2
    while function(high)[0] > 0:
        high *= 2
    at, last = (low + high) / 2, high - low
    while True:
        value, slope = function(at)
        if value == 0.0:
            return at
        low, high = (at, high) if value > 0 else (low, at)
        after = at - value / slope if slope < 0 else math.nan
        if not (low <= after <= high and abs(after - at) <= last / 2):
            after = (low + high) / 2
        step, at = abs(after - at), after
        if step <= 1e-15 * max(1.0, abs(at)) or not low < at < high:
            return at
        last = step


def _mass(row: _Row) -> float:
    return row.events + row.others


def _expit(eta: float) -> float:
    """1 / (1 + exp(−η)), without overflow."""
    small = math.exp(-abs(eta))
    return (1.0 if eta >= 0 else small) / (1.0 + small)


def _log_expit(eta: float) -> float:
    """ln(1 / (1 + exp(−η)))."""
    return min(eta, 0.0) - math.log1p(math.exp(-abs(eta)))
