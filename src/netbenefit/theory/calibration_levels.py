"""What each level holds, counted without rounding, and the two rules that move a level.

Rates and thresholds are compared as exact fractions, weights included: no tolerance decides a move.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common.checks import FloatArray, check_binary, check_risks, check_weights
from netbenefit.metrics.thresholds import Thresholds

__all__ = ["Levels", "Move"]

#: A 53-bit integer is summed as two halves, each exactly in float64 (up to 2**26 rows).
_HALF_BITS = 27


class Move(NamedTuple):
    """All risks of one level sent to a neighbouring level.

    Attributes
    ----------
    source, target : int
        Level that was emptied and level that took its risks.
    rate : float
        Observed event rate of the risks that moved: the reason for the move.
    """

    source: int
    target: int
    rate: float


@dataclass
class Levels:
    """Where each original level is now, and what the levels hold; changed by moves.

    ``events`` and ``totals`` are O_i and N_i of the present levels as integers on one common
    scale; ``now[k]`` is the present level of original level k, and ``moved[k]`` whether it has
    ever been moved (to come back to one's own level by two moves counts, too).
    """

    thresholds: Thresholds
    events: list[int]
    totals: list[int]
    now: list[int]
    moved: list[bool]
    moves: list[Move]

    @classmethod
    def count(
        cls,
        y_true: ArrayLike,
        risk: ArrayLike,
        thresholds: Thresholds,
        sample_weight: ArrayLike | None,
    ) -> Levels:
        """Check the rows and count them by level; nothing has moved yet."""
        outcome = check_binary(y_true)
        risks = check_risks(risk, len(outcome))
        weights = check_weights(sample_weight, len(outcome))
        size = len(thresholds)
        sums = _exact_sums(weights, thresholds.level_of(risks) + size * outcome, 2 * size)
        events = sums[size:]
        totals = [a + b for a, b in zip(sums[:size], events, strict=True)]
        return cls(thresholds, events, totals, list(range(size)), [False] * size, [])

    def rate(self, level: int) -> float:
        """O_i / N_i of a level that holds rows."""
        return self.events[level] / self.totals[level]  # correctly rounded: both are integers

    def move(self, source: int, target: int) -> None:
        """Send all that is in one level now to another."""
        self.moves.append(Move(source, target, self.rate(source)))
        for counts in (self.events, self.totals):
            counts[target] += counts[source]
            counts[source] = 0
        for k, level in enumerate(self.now):
            if level == source:
                self.now[k], self.moved[k] = target, True

    def excess(self, level: int) -> Fraction:
        """O_i - p_{i+1} N_i: above 0, the level pays one higher (rule one; p_{M+1} = 1)."""
        p = self.thresholds.fractions
        upper = p[level + 1] if level + 1 < len(p) else Fraction(1)
        return self.events[level] - upper * self.totals[level]

    def shortfall(self, level: int) -> Fraction:
        """p_i N_i - O_i: above 0, the level pays one lower (rule two)."""
        return self.thresholds.fractions[level] * self.totals[level] - self.events[level]

    def improve(self) -> None:
        """Make the moves of Algorithm 1, upwards from the lowest level and then back down."""
        last = len(self.thresholds) - 1
        for i in range(last):
            if self.excess(i) > 0:
                self.move(i, i + 1)
        for i in range(last, 0, -1):
            if self.shortfall(i) > 0:
                self.move(i, i - 1)


def _exact_sums(weights: FloatArray, group: NDArray[np.intp], n_groups: int) -> list[int]:
    """Sum weights by group without rounding; the sums are integers on an unspecified common scale.

    A float is an integer of 53 bits times a power of two.  Weights of the same power are summed
    as integers, and Python's integers put the powers together.
    """
    used = weights > 0
    mantissa, exponent = np.frexp(weights[used])
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    group = group[used]
    sums = [0] * n_groups
    lowest = int(exponent.min())
    for power in np.unique(exponent):
        rows = exponent == power
        high, low = np.divmod(whole[rows], 1 << _HALF_BITS)
        high_sums = np.bincount(group[rows], weights=high, minlength=n_groups)
        low_sums = np.bincount(group[rows], weights=low, minlength=n_groups)
        for k in range(n_groups):
            part = (int(high_sums[k]) << _HALF_BITS) + int(low_sums[k])
            sums[k] += part << (int(power) - lowest)
    return sums
