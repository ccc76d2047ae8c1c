"""What is searched: patterns, thresholds, penalty and allowed points, as one immutable object.

With N rows, weights ω, odds r and integer points λ, a solver maximises

    G(λ) = Σ_i ω_i max_T (TP_i(T) − r_i FP_i(T)) / N − C0 · ‖λ‖₀ .

Where a common scale exists, G is held as an integer: ``scale · N · G = rates[0] · gain −
rates[1] · size`` up to a constant, with no rounding anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Rational, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._card_types import MOST_POINTS
from netbenefit._validation import InputError, IntArray, shorten
from netbenefit.kernels.cutoffs import best_cutoffs, floor_scores
from netbenefit.kernels.groups import one_hot_groups
from netbenefit.kernels.layout import Columns, make_columns, pack_masses
from netbenefit.limits import Limits, box_limits
from netbenefit.patterns import PatternTable
from netbenefit.thresholds import Thresholds

__all__ = ["Evaluation", "Problem"]

#: Largest magnitude that sums in int64 may reach.
_ROOM = 2**62
#: Most values that one coefficient can take.
_MOST_VALUES = 20_001


class Evaluation(NamedTuple):
    """A point vector's exact value, counted from the patterns."""

    objective: Fraction  #: G, penalty included
    net_benefit: Fraction  #: Σ_i ω_i NB_i
    cutoffs: tuple[int, ...]  #: T_1 … T_M
    score_range: tuple[int, int]  #: lowest and highest floor-score
    size: int  #: number of non-zero points


class _Scale(NamedTuple):
    """How gains and sizes add up to the objective."""

    found: NDArray[Any]
    alarm: NDArray[Any]
    rates: NDArray[Any]
    constant: Fraction | float  #: value of thresholds that every card serves alike (p = 0)
    total: Fraction | float  #: what the sum is divided by


@dataclass(frozen=True, eq=False)
class Problem:
    """A search problem; build it with :meth:`build`.

    Attributes
    ----------
    patterns : PatternTable
    thresholds : Thresholds
    penalty : Fraction
        C0, the price of one non-zero coefficient in units of net benefit.
    lower, upper : (P,) int64
        Smallest and largest allowed points of each column.
    max_features : int
        Largest allowed number of non-zero points.

    Examples
    --------
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1])
    >>> problem = Problem.build(table, Thresholds.of([0.5]), penalty=0.01)
    >>> problem.evaluate([1]).objective
    Fraction(197, 300)
    """

    patterns: PatternTable
    thresholds: Thresholds
    penalty: Fraction
    lower: IntArray
    upper: IntArray
    max_features: int

    @classmethod
    def build(
        cls,
        patterns: PatternTable,
        thresholds: Thresholds,
        *,
        penalty: str | float | Fraction = "auto",
        max_points: int = 10,
        sign: Mapping[Any, Any] | None = None,
        bounds: Mapping[Any, Any] | None = None,
        max_features: int | None = None,
    ) -> Problem:
        """Check the settings and put the problem together.

        Parameters
        ----------
        patterns : PatternTable
        thresholds : Thresholds
        penalty : "auto" or number, default="auto"
            C0; ``"auto"`` is the published 0.1 · a0 / P.
        max_points : int, default=10
            Largest absolute value of a coefficient.
        sign : mapping of column to "+" / "-" (or 1 / −1), optional
            Columns whose points may not be negative, or not positive.
        bounds : mapping of column to (lowest, highest), optional
            Allowed points of single columns, instead of −max_points … max_points.
        max_features : int, optional
            Largest number of non-zero coefficients.
        """
        if patterns.n_events in (0, patterns.n_total):
            what = "no events" if patterns.n_events == 0 else "only events"
            raise InputError(
                f"the outcome has one class only: there are {what}. A card needs rows of both "
                "classes."
            )
        weighed = zip(thresholds.values, thresholds.weights, strict=True)
        if not any(p > 0 and weight > 0 for p, weight in weighed):
            raise InputError(
                "all weight lies on threshold 0, where every card is equally good. Give weight to "
                "a threshold above 0."
            )
        most = _whole(max_points, "max_points", 1)
        if most > MOST_POINTS:
            raise InputError(f"max_points={most} is too large. Use at most {MOST_POINTS}.")
        lower, upper = _boxes(patterns.names, most, sign, bounds)
        widest = int(np.argmax(upper - lower))
        if upper[widest] - lower[widest] > _MOST_VALUES:
            raise InputError(
                f"column {patterns.names[widest]!r} may have {upper[widest] - lower[widest] + 1:,} "
                f"different points, more than can be searched ({_MOST_VALUES:,}). Lower max_points "
                "or narrow its bounds: points on a card are small."
            )
        # A constant column tells nothing apart; it could only move the floors of fractional scores.
        still = np.isin(patterns.names, patterns.constant) & (lower <= 0) & (upper >= 0)
        lower, upper = np.where(still, 0, lower), np.where(still, 0, upper)
        limit = patterns.n_features
        if max_features is not None:
            limit = min(limit, _whole(max_features, "max_features", 0))
        forced = [
            name
            for name, low, high in zip(patterns.names, lower, upper, strict=True)
            if low > 0 or high < 0
        ]
        if len(forced) > limit:
            raise InputError(
                f"bounds force {len(forced)} columns to have points ({shorten(forced)}), but "
                f"max_features is {limit}. Raise it, or let the bounds include 0."
            )
        problem = cls(patterns, thresholds, _penalty(penalty, patterns), lower, upper, limit)
        problem._check_room()
        return problem

    # -- exact values ----------------------------------------------------------------------------

    def evaluate(self, points: Sequence[int] | IntArray) -> Evaluation:
        """Count a point vector's value from the patterns; exact for whole masses."""
        vector = np.asarray(points, dtype=np.int64)
        table = self.patterns
        scores = floor_scores(table.codes, table.decimals, vector)
        odds = [p / (1 - p) for p in self.thresholds.fractions]
        best = best_cutoffs(scores, table.positives, table.negatives, odds)
        weights = self.thresholds.weight_fractions
        total = Fraction(table.n_total)
        benefit = (
            sum((w * value for w, (_, value) in zip(weights, best, strict=True)), Fraction(0))
            / total
        )
        size = int(np.count_nonzero(vector))
        return Evaluation(
            objective=benefit - self.penalty * size,
            net_benefit=benefit,
            cutoffs=tuple(cutoff for cutoff, _ in best[1:]),
            score_range=(int(scores.min()), int(scores.max())),
            size=size,
        )

    def allows(self, points: Sequence[int] | IntArray) -> bool:
        """Whether points keep to bounds and size.

        >>> table = PatternTable.from_arrays([[0], [1]], [0, 1])
        >>> Problem.build(table, Thresholds.tenths(), max_points=5).allows([6])
        False
        """
        vector = np.asarray(points, dtype=np.int64)
        inside = bool(((vector >= self.lower) & (vector <= self.upper)).all())
        return inside and int(np.count_nonzero(vector)) <= self.max_features

    @cached_property
    def too_small(self) -> tuple[str, ...]:
        """Columns that vary, but whose points can never move a score by a whole point.

        >>> table = PatternTable.from_arrays([[0.01, 0], [0.02, 1]], [0, 1])
        >>> Problem.build(table, Thresholds.tenths()).too_small
        ('x0',)
        """
        table = self.patterns
        spread = table.codes.max(axis=0) - table.codes.min(axis=0)
        most = np.maximum(np.abs(self.lower), np.abs(self.upper))
        reach = [
            int(s) * int(m) < 10**d for s, m, d in zip(spread, most, table.decimals, strict=True)
        ]
        return tuple(
            name
            for name, small, m in zip(table.names, reach, most, strict=True)
            if small and m and name not in table.constant
        )

    def nearest_to_zero(self) -> IntArray:
        """The allowed point vector with the smallest entries: where a search may start."""
        return np.clip(np.zeros_like(self.lower), self.lower, self.upper)

    def primitive(self, points: IntArray) -> IntArray:
        """Divide by the greatest common divisor, where that changes no order and is allowed."""
        divisor = int(np.gcd.reduce(points)) if points.size else 0
        if divisor <= 1 or not self.patterns.is_integer:
            return points
        smaller = points // divisor
        return smaller if self.allows(smaller) else points

    # -- what the kernels need -------------------------------------------------------------------

    @cached_property
    def columns(self) -> Columns:
        """The patterns laid out for the compiled kernels."""
        table, scale = self.patterns, self._scale
        mass = pack_masses(table.positives, table.negatives)
        return make_columns(
            table.codes, table.decimals, mass, scale.found, scale.alarm, self.lower, self.upper
        )

    @cached_property
    def shift_groups(self) -> IntArray:
        """(P, 2) first and last of the columns whose points may be shifted together, for free."""
        n_columns = self.lower.size
        if self.penalty > 0 or self.max_features < n_columns:
            return one_hot_groups(self.patterns.codes, self.patterns.decimals)
        # sizes cost nothing, so nothing is gained by shifting
        return np.stack([np.arange(n_columns), np.arange(n_columns) + 1], axis=1)

    @cached_property
    def limits(self) -> Limits:
        """All that is asked of the points, in arrays."""
        return box_limits(self.lower, self.upper, self.max_features)

    @property
    def exact_scale(self) -> tuple[Fraction, Fraction]:
        """(constant, total): the objective is (value of the search + constant) / total."""
        return Fraction(self._scale.constant), Fraction(self._scale.total)

    @property
    def rates(self) -> NDArray[Any]:
        """Worth of one unit of gain and price of one feature, in the search's own units."""
        return self._scale.rates

    def to_objective(self, value: float) -> float:
        """Turn a value of the search (rates[0] · gain − rates[1] · size) into G."""
        exact = Fraction(int(value)) if self.rates.dtype.kind == "i" else float(value)
        return float((exact + self._scale.constant) / self._scale.total)

    @property
    def value_of_one(self) -> float:
        """What an objective of 1 is worth in the search's units."""
        return float(self._scale.total)

    @property
    def slack(self) -> float:
        """Differences up to this are rounding: none where values are exact, else 1e-12."""
        return 0 if self.rates.dtype.kind == "i" else 1e-12 * self.value_of_one

    @cached_property
    def _scale(self) -> _Scale:
        return self._integer_scale() or self._float_scale()

    def _integer_scale(self) -> _Scale | None:
        table, gains = self.patterns, self.thresholds.integer_gains
        if gains is None or not table.is_whole:
            return None
        events, others = int(table.n_events), int(table.n_total - table.n_events)
        price = self.penalty * gains.scale * Fraction(table.n_total)
        largest = max(max(gains.found) * events, max(gains.alarm) * others)
        total_gain = sum(gains.found) * events
        top = price.denominator * total_gain + abs(price.numerator) * table.n_features
        if largest >= _ROOM or top >= _ROOM or max(events, others) >= 2**31:
            return None
        kind = np.int32 if largest < 2**31 else np.int64
        kept = [i for i, alarm in enumerate(gains.alarm) if alarm > 0]
        constant = sum(f for f, alarm in zip(gains.found, gains.alarm, strict=True) if alarm == 0)
        return _Scale(
            found=np.array([gains.found[i] for i in kept], dtype=kind),
            alarm=np.array([gains.alarm[i] for i in kept], dtype=kind),
            rates=np.array([price.denominator, price.numerator], dtype=np.int64),
            constant=Fraction(constant * events * price.denominator),
            total=Fraction(gains.scale * int(table.n_total) * price.denominator),
        )

    def _float_scale(self) -> _Scale:
        weights, odds = self.thresholds.weight_array, self.thresholds.odds
        kept = np.flatnonzero(weights * odds > 0)
        return _Scale(
            found=weights[kept],
            alarm=(weights * odds)[kept],
            rates=np.array([1.0, float(self.penalty * Fraction(self.patterns.n_total))]),
            constant=float(weights[odds == 0].sum() * self.patterns.n_events),
            total=float(self.patterns.n_total),
        )

    def _check_room(self) -> None:
        """Refuse points and features whose scores would not fit in 64 bits."""
        table = self.patterns
        digits = max(table.decimals)
        reach = []
        for k, decimals in enumerate(table.decimals):
            most = max(abs(int(self.lower[k])), abs(int(self.upper[k])))
            code = max(abs(int(table.codes[:, k].min())), abs(int(table.codes[:, k].max())))
            reach.append(most * code * 10 ** (digits - decimals))
        if sum(reach) * 4 >= 2**63:
            culprit = table.names[reach.index(max(reach))]
            raise InputError(
                f"scores could exceed 64-bit integers; column {culprit!r} contributes most. "
                "Rescale or bin it, keep fewer decimals, or lower max_points."
            )


def _whole(value: object, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def _penalty(penalty: str | float | Fraction, patterns: PatternTable) -> Fraction:
    if isinstance(penalty, str):
        if penalty != "auto":
            raise InputError(f'penalty={penalty!r} is not known. Use "auto" or a number.')
        share = Fraction(patterns.n_events) / Fraction(patterns.n_total)
        return share / (10 * patterns.n_features)
    refusal = InputError(f'penalty must be a finite number or "auto", not {penalty!r}.')
    if isinstance(penalty, bool):
        raise refusal
    if isinstance(penalty, Rational):
        exact = Fraction(int(penalty.numerator), int(penalty.denominator))
    elif isinstance(penalty, float | np.floating) and math.isfinite(penalty):
        exact = Fraction(repr(float(penalty)))  # the decimal that was written
    else:
        raise refusal
    if exact < 0:
        raise InputError(f"penalty must not be negative, but is {penalty!r}.")
    return exact


def _position(key: Any, names: tuple[str, ...], what: str) -> int:
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key < len(names):
        return int(key)
    if key in names:
        return names.index(key)
    raise InputError(
        f"{what} names column {key!r}, which is not in the table; its columns are "
        f"{shorten(names, 10)}. Correct the name."
    )


_SIGNS = {"+": 1, "-": -1, 1: 1, -1: -1}


def _boxes(
    names: tuple[str, ...],
    max_points: int,
    sign: Mapping[Any, Any] | None,
    bounds: Mapping[Any, Any] | None,
) -> tuple[IntArray, IntArray]:
    lower = np.full(len(names), -max_points, dtype=np.int64)
    upper = np.full(len(names), max_points, dtype=np.int64)
    for key, pair in _items(bounds, "bounds"):
        k = _position(key, names, "bounds")
        try:
            low, high = (int(v) for v in pair if v == int(v))
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"bounds of column {names[k]!r} must be two whole numbers (lowest, highest), not "
                f"{pair!r}."
            ) from None
        if low > high:
            raise InputError(
                f"bounds of column {names[k]!r} are empty: {low} > {high}. Give (lowest, highest)."
            )
        if max(-low, high) > MOST_POINTS:
            raise InputError(
                f"bounds of column {names[k]!r} are too wide: ({low}, {high}). Use at most "
                f"{MOST_POINTS} points either way."
            )
        lower[k], upper[k] = low, high
    for key, direction in _items(sign, "sign"):
        k = _position(key, names, "sign")
        bounds_of = int(lower[k]), int(upper[k])
        way = _SIGNS.get(direction) if isinstance(direction, str | Real) else None
        if isinstance(direction, bool) or way is None:
            raise InputError(
                f'sign of column {names[k]!r} must be "+" or "-" (or 1, −1), not {direction!r}.'
            )
        if way > 0:
            lower[k] = max(lower[k], 0)
        else:
            upper[k] = min(upper[k], 0)
        if lower[k] > upper[k]:
            raise InputError(
                f"sign and bounds of column {names[k]!r} contradict each other: the bounds are "
                f"({bounds_of[0]}, {bounds_of[1]}), the sign is {direction!r}. Change one of them."
            )
    return lower, upper


def _items(mapping: Mapping[Any, Any] | None, what: str) -> list[tuple[Any, Any]]:
    if mapping is None:
        return []
    if not isinstance(mapping, Mapping):
        raise InputError(f"{what} must be a mapping from column to setting, not {mapping!r}.")
    return list(mapping.items())
