"""The problem of a certificate, set up from the data alone, and the worth of point vectors in it.

Plain and exact: Python integers, fractions, and int64 where nothing can overflow.  Nothing here is
shared with a solver.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product

import numpy as np

from netbenefit.certificates.certificate_digest import pattern_order
from netbenefit.certificates.certificate_types import Lesson, RateLimits, Scale, Statement
from netbenefit.certificates.reference import floor_scores
from netbenefit.common.checks import InputError, IntArray
from netbenefit.data.patterns import PatternTable

__all__ = ["Ground", "Whole", "Worth", "vectors_of"]

#: Sums of int64 stay below this.
_ROOM = 2**62
#: Vectors that are counted at once.
_CHUNK = 2048


@dataclass(frozen=True)
class Worth:
    """A point vector's exact value."""

    objective: Fraction  #: G
    net_benefit: Fraction
    cutoffs: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Ground:
    """A certificate's problem on a pattern table.

    Examples
    --------
    >>> from netbenefit.certificates.certificate import make_certificate
    >>> from netbenefit.problem.problem import Problem
    >>> from netbenefit.solvers.local_search import LocalSearch
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1])
    >>> problem = Problem.build(table, Thresholds.of([0.5]), penalty=0.01)
    >>> said = make_certificate(problem, LocalSearch().solve(problem)).problem
    >>> Ground(said, table).worth([1])
    Worth(objective=Fraction(197, 300), net_benefit=Fraction(2, 3), cutoffs=(1,))
    """

    said: Statement
    table: PatternTable

    @cached_property
    def outcomes(self) -> tuple[list[Fraction], list[Fraction]]:
        """Rows of each pattern with the event, and without it, exactly."""
        table = self.table
        events, others = table.events.tolist(), table.others.tolist()
        return [Fraction(v) for v in events], [Fraction(v) for v in others]

    @cached_property
    def masses(self) -> tuple[list[Fraction], list[Fraction]]:
        """Mass of events and of non-events of each pattern: outcomes, or the blend of them."""
        lesson = self.said.teacher
        return self.outcomes if lesson is None else self._blended(lesson)

    def _blended(self, lesson: Lesson) -> tuple[list[Fraction], list[Fraction]]:
        """The blend counted again from the outcomes and the teacher's expected events."""
        table, parts = self.table, lesson.denominator
        n_rows, n0 = Fraction(table.n_total), lesson.strength
        masses = [Fraction(0)] * len(table), [Fraction(0)] * len(table)
        for u, expected in zip(pattern_order(table), lesson.expected.tolist(), strict=True):
            events, rows = self.outcomes[0][u], self.outcomes[0][u] + self.outcomes[1][u]
            taught = Fraction(expected, parts)
            if not 0 <= taught <= rows + Fraction(1, parts):
                raise InputError(f"the teacher expects {float(taught):g} events of {rows} rows.")
            mass = min(taught, rows)
            if n0 is not None:
                mass = (n_rows * events + n0 * mass) / (n_rows + n0)
            if table.is_whole:
                positive = Fraction(math.floor(parts * mass + Fraction(1, 2)))
                masses[0][u], masses[1][u] = positive, parts * rows - positive
            else:
                positive = Fraction(float(mass))
                masses[0][u] = positive
                masses[1][u] = max(Fraction(0), Fraction(float(rows - positive)))
        return masses

    @cached_property
    def total(self) -> Fraction:
        """Mass of all rows (rounded once where weights are real, as the table does)."""
        if self.table.is_whole:
            return sum((a + b for a, b in zip(*self.masses, strict=True)), Fraction(0))
        events, others = (np.array([float(v) for v in part]) for part in self.masses)
        return Fraction(float(events.sum() + others.sum()))

    @property
    def odds(self) -> list[Fraction]:
        """Of each threshold, p / (1 − p)."""
        return [p / (1 - p) for p in self.said.thresholds]

    def scores(self, points: Sequence[int]) -> list[int]:
        """Floor of each pattern's score."""
        return floor_scores(self.table.codes, self.table.decimals, points)

    def worth(self, points: Sequence[int]) -> Worth | None:
        """Count G of a vector with its best cut-offs; None where rates allow no cut-offs."""
        scores = self.scores(points)
        candidates, *masses = _at_or_above(scores, *self.masses)
        _, *rows = _at_or_above(scores, *self.outcomes)
        benefit, cutoffs = Fraction(0), []
        for i, (weight, odds) in enumerate(zip(self.said.weights, self.odds, strict=True)):
            best: tuple[Fraction, int] | None = None
            for t, a, b, found, alarms in zip(candidates, *masses, *rows, strict=True):
                value = a - odds * b
                if self._rates_allow(i, found, alarms) and (best is None or value > best[0]):
                    best = value, t
            if best is None:
                return None
            benefit += weight * best[0]
            cutoffs.append(best[1])
        net_benefit = benefit / self.total
        size = sum(v != 0 for v in points)
        return Worth(net_benefit - self.said.penalty * size, net_benefit, tuple(cutoffs[1:]))

    def net_benefit(self, points: Sequence[int], cutoffs: Sequence[int]) -> Fraction:
        """Count Σ_i ω_i NB_i of cut-offs T_1 … T_M by the outcomes; at p = 0 all are called."""
        scores, (events, others) = self.scores(points), self.outcomes
        benefit = self.said.weights[0] * sum(events)
        for weight, odds, t in zip(self.said.weights[1:], self.odds[1:], cutoffs, strict=True):
            rows = zip(scores, events, others, strict=True)
            benefit += weight * sum((a - odds * b for s, a, b in rows if s >= t), Fraction(0))
        return benefit / Fraction(self.table.n_total)

    def _rates_allow(self, i: int, found: Fraction, alarms: Fraction) -> bool:
        rates = self.said.limits.rates
        return rates is None or (found >= rates.found[i] and alarms <= rates.alarms[i])

    def forbids(self, points: Sequence[int]) -> str | None:
        """Say why points are not allowed; None where they are."""
        said, vector = self.said, np.array(points, dtype=np.int64)
        outside = np.flatnonzero((vector < said.lower) | (vector > said.upper))
        if outside.size:
            k = int(outside[0])
            return f"{said.names[k]!r} has {vector[k]}, outside {said.lower[k]} to {said.upper[k]}"
        values = said.limits.values[np.arange(vector.size), vector - said.lower]
        if not values.all():
            k = int(np.argmin(values))
            return f"{said.names[k]!r} may not have {vector[k]}"
        size = int(np.count_nonzero(vector))
        if size > said.max_features:
            return f"{size} columns have points, more than {said.max_features}"
        for row, limit in zip(said.limits.support, said.limits.support_limit, strict=True):
            if row @ (vector != 0) > limit:
                return f"which columns have points breaks the limit {row.tolist()} ≤ {limit}"
        if int(np.abs(vector).sum()) > said.limits.total:
            return f"the points add up to more than {said.limits.total}"
        if self.worth(points) is None:
            return "no cut-offs keep to the limits on events found and false alarms"
        return None

    def check_room(self) -> None:
        """Refuse points whose scores would not fit in 64 bits."""
        digits = max(self.table.decimals)
        most = np.maximum(np.abs(self.said.lower), np.abs(self.said.upper)).tolist()
        codes = np.abs(self.table.codes).max(axis=0).tolist()
        reach = sum(
            m * c * 10 ** (digits - d)
            for m, c, d in zip(most, codes, self.table.decimals, strict=True)
        )
        if 4 * reach >= 2**63:
            raise InputError("scores could exceed 64-bit integers.")

    def whole(self, scale: Scale) -> Whole:
        """The problem in whole numbers of a stated scale, rounded so that no value is too low."""
        if scale.total <= 0:
            raise InputError("the scale of the boxes' values is not positive.")
        events, others = self.masses
        one = scale.total / self.total
        rows, kept, constant = [], [], Fraction(0)
        price = scale.total * self.said.penalty
        exact = price.denominator == 1
        for i, (weight, odds) in enumerate(zip(self.said.weights, self.odds, strict=True)):
            if weight * odds == 0:
                constant += one * weight * sum(events)  # all are called positive, or nothing counts
                continue
            a, b = one * weight, one * weight * odds
            kept.append(i)
            row = [a * u - b * v for u, v in zip(events, others, strict=True)]
            exact = exact and all(gain.denominator == 1 for gain in row)
            rows.append([math.ceil(gain) for gain in row])
        largest = sum(abs(g) for row in rows for g in row) + price * len(self.said.names)
        if largest >= _ROOM:
            raise InputError("the values of boxes could exceed 64-bit integers.")
        gains = np.array(rows, dtype=np.int64).reshape(len(rows), len(self.table))
        return Whole(self, gains, tuple(kept), math.floor(price), constant, scale.total, exact)


@dataclass(frozen=True, eq=False)
class Whole:
    """A problem in whole numbers: every value is at least the true one.

    Attributes
    ----------
    gains : (m, n) int64
        What calling pattern u positive at a threshold adds.
    kept : tuple of int
        Which thresholds those are.
    price : int
    constant, total : Fraction
        objective ≤ (value + constant) / total.
    exact : bool
        Whether they are equal: nothing had to be rounded.
    """

    ground: Ground
    gains: IntArray
    kept: tuple[int, ...]
    price: int
    constant: Fraction
    total: Fraction
    exact: bool

    @cached_property
    def units(self) -> IntArray:
        """Features of the patterns in whole units."""
        table = self.ground.table
        digits = max(table.decimals)
        return table.codes * np.array([10 ** (digits - d) for d in table.decimals], dtype=np.int64)

    @property
    def unit(self) -> int:
        """Units in one point."""
        return int(10 ** max(self.ground.table.decimals))

    @property
    def most_rounding(self) -> Fraction:
        """How much higher than the true objective a value may seem, where something was rounded."""
        return Fraction(self.gains.size + self.units.shape[1]) / self.total

    def to_objective(self, value: int) -> Fraction:
        """Objective that a value stands for."""
        return (int(value) + self.constant) / self.total

    def highest(self, vectors: IntArray) -> tuple[int, IntArray] | None:
        """Highest value of allowed vectors (rows), and one that has it; None where none can be."""
        best: tuple[int, IntArray] | None = None
        rates = self.ground.said.limits.rates
        for start in range(0, len(vectors), _CHUNK):
            part = vectors[start : start + _CHUNK]
            values = (
                self._values(part).tolist()
                if rates is None
                else [self._rated_value(vector.tolist(), rates) for vector in part]
            )
            for value, vector in zip(values, part, strict=True):
                if value is not None and (best is None or value > best[0]):
                    best = value, vector
        return best

    def _values(self, vectors: IntArray) -> IntArray:
        """Value of each vector, by sorting the patterns by score."""
        scores = (self.units @ vectors.T) // self.unit  # (n, K)
        order = np.argsort(-scores, axis=0, kind="stable")
        falling = np.take_along_axis(scores, order, axis=0)
        last = np.ones(falling.shape, dtype=np.bool_)  # of the patterns with equal scores
        last[:-1] = falling[:-1] != falling[1:]
        values: IntArray = -self.price * np.count_nonzero(vectors, axis=1).astype(np.int64)
        for row in self.gains:
            called = np.cumsum(row[order], axis=0)
            values += np.where(last, called, 0).max(axis=0).clip(min=0)
        return values

    def _rated_value(self, points: list[int], rates: RateLimits) -> int | None:
        """Value with the best cut-offs that the rates allow; None where there are none."""
        ground = self.ground
        scores = ground.scores(points)
        _, found, alarms = _at_or_above(scores, *ground.outcomes)
        allowed = [
            [a >= least and b <= most for a, b in zip(found, alarms, strict=True)]
            for least, most in zip(rates.found, rates.alarms, strict=True)
        ]
        if not all(any(row) for row in allowed):
            return None
        total = 0
        for i, row in zip(self.kept, self.gains.tolist(), strict=True):
            _, gained, _ = _at_or_above(scores, row, row)
            total += max(int(g) for g, fine in zip(gained, allowed[i], strict=True) if fine)
        return total - self.price * sum(v != 0 for v in points)


def _at_or_above(
    scores: Sequence[int], first: Sequence[Fraction | int], second: Sequence[Fraction | int]
) -> tuple[list[int], list[Fraction], list[Fraction]]:
    """Candidate cut-offs, rising, the last one above all scores; and the sums from each on."""
    sums: dict[int, list[Fraction]] = {}
    for s, a, b in zip(scores, first, second, strict=True):
        entry = sums.setdefault(s, [Fraction(0), Fraction(0)])
        entry[0] += a
        entry[1] += b
    distinct = sorted(sums)
    columns = (
        [*list(accumulate(sums[s][side] for s in reversed(distinct)))[::-1], Fraction(0)]
        for side in (0, 1)
    )
    found, alarms = columns
    return [*distinct, distinct[-1] + 1], found, alarms


def vectors_of(allowed: Sequence[Sequence[int]]) -> Iterator[IntArray]:
    """Yield all vectors whose entries are taken from lists, some thousands at a time."""
    chunk: list[tuple[int, ...]] = []
    for vector in product(*allowed):
        chunk.append(vector)
        if len(chunk) == _CHUNK:
            yield np.array(chunk, dtype=np.int64)
            chunk = []
    if chunk:
        yield np.array(chunk, dtype=np.int64)
