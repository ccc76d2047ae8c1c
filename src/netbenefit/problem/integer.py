"""A problem in whole numbers: what every bound works on.

With points λ, floors of the scores s_u = ⌊x_u·λ⌋ and one cut-off per threshold,

    value(λ) = Σ_i max_T Σ_{u: s_u ≥ T} gains[i, u] − price · ‖λ‖₀ ,
    objective = (value + constant) / total .

Where masses or thresholds have no common whole scale, gains are rounded up and the price down, so
that every value (and every bound of it) is at least the true one; ``exact`` then is False.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from netbenefit.common.checks import IntArray
from netbenefit.problem.cutoffs import allowed_cutoffs, floor_scores
from netbenefit.problem.problem import Problem

__all__ = ["IntegerProblem"]

#: Values are kept below this where they have to be rounded.
_FINE = 2**52


@dataclass(frozen=True, eq=False)
class IntegerProblem:
    """A problem in whole numbers; build it with :meth:`of`."""

    units: IntArray  #: (n, P) features of a pattern: x = units / unit
    unit: int  #: 1 for integer data, else a power of ten
    #: (m, n) what calling pattern u positive adds, at thresholds where some call is a loss
    gains: IntArray
    price: int  #: of a non-zero coefficient
    lower: IntArray  #: (P,) allowed points
    upper: IntArray
    constant: Fraction
    total: Fraction  #: objective = (value + constant) / total
    exact: bool  #: whether nothing was rounded

    @classmethod
    def of(cls, problem: Problem) -> IntegerProblem:
        """Put a problem into whole numbers."""
        table = problem.patterns
        digits = max(table.decimals)
        scale = np.array([10 ** (digits - d) for d in table.decimals], dtype=np.int64)
        gains, price, constant, total, exact = _whole(problem) or _rounded(problem)
        return cls(
            units=table.codes * scale,
            unit=10**digits,
            gains=gains,
            price=price,
            lower=problem.lower,
            upper=problem.upper,
            constant=constant,
            total=total,
            exact=exact,
        )

    def value(self, points: Sequence[int] | IntArray) -> int:
        """Value of a point vector."""
        vector = np.asarray(points, dtype=np.int64)
        digits = len(str(self.unit)) - 1
        scores = floor_scores(self.units, [digits] * vector.size, vector)
        total = -self.price * int(np.count_nonzero(vector))
        for row in self.gains:
            masses = np.maximum(row, 0), np.maximum(-row, 0)
            (best,) = allowed_cutoffs(scores, masses, [Fraction(1)], [(Fraction(0), None)], masses)
            assert best is not None  # calling none is always allowed
            total += int(best[1])
        return total

    def to_objective(self, value: int) -> Fraction:
        """Objective of a value; at least the true one where gains were rounded."""
        return (int(value) + self.constant) / self.total

    def from_objective(self, objective: Fraction) -> int:
        """Largest whole value whose objective is at most ``objective``."""
        return math.floor(objective * self.total - self.constant)

    @property
    def rounding(self) -> Fraction:
        """How much higher than the true objective a value may seem; 0 where nothing was rounded."""
        return Fraction(0) if self.exact else (self.gains.size + self.lower.size) / self.total

    @property
    def ceiling(self) -> int:
        """Value of a card that calls every pattern right, without rules: the trivial bound."""
        return int(np.maximum(self.gains, 0).sum())


_Whole = tuple[IntArray, int, Fraction, Fraction, bool]


def _whole(problem: Problem) -> _Whole | None:
    """Gains where counts and thresholds have a common scale."""
    table, rates = problem.patterns, problem.rates
    if rates.dtype.kind != "i":
        return None
    found, alarm = problem.gains.astype(np.int64)
    one = int(rates[0])
    largest = max(int(found.max()), int(alarm.max())) * int(table.total_mass) * one
    if largest * found.size >= 2**61:
        return None
    gains = one * (np.outer(found, table.positives) - np.outer(alarm, table.negatives))
    constant, total = problem.exact_scale
    return gains, int(rates[1]), constant, total, True


def _rounded(problem: Problem) -> _Whole:
    """Gains times a power of two, rounded up; the price rounded down."""
    table, thresholds = problem.patterns, problem.thresholds
    total = Fraction(table.total_mass)
    ps = thresholds.fractions
    worth = sum(
        (
            w * max(Fraction(1), p / (1 - p))
            for p, w in zip(ps, thresholds.weight_fractions, strict=True)
        ),
        Fraction(0),
    )
    fine = Fraction(2) ** math.floor(math.log2(_FINE / float(total * worth)))
    positives = [Fraction(v) for v in table.positives.tolist()]
    negatives = [Fraction(v) for v in table.negatives.tolist()]
    events = sum(positives)  # exactly: table.event_mass is a rounded sum
    rows, constant = [], Fraction(0)
    for p, weight in zip(thresholds.fractions, thresholds.weight_fractions, strict=True):
        alarm = weight * p / (1 - p)
        if alarm == 0:
            constant += weight * events
            continue
        rows.append(
            [
                math.ceil(fine * (weight * a - alarm * b))
                for a, b in zip(positives, negatives, strict=True)
            ]
        )
    return (
        np.array(rows, dtype=np.int64),
        math.floor(fine * problem.penalty * total),
        constant * fine,
        fine * total,
        False,
    )
