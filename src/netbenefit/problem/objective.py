"""What a problem maximises, in numbers: the price of a rule, and the scale of gains."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import InputError, read_number
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds

__all__ = ["Scale", "auto_units", "make_scale", "read_penalty"]

#: Largest magnitude that sums in int64 may reach.
_ROOM = 2**62
#: Rows from which on ``penalty="auto"`` is one unit of prevalence / rows.
_MANY_ROWS = 4000


class Scale(NamedTuple):
    """How gains and sizes add up: objective = (value + constant) / total.

    A value is rates[0] · gain − rates[1] · size.
    """

    found: NDArray[Any]
    alarm: NDArray[Any]
    rates: NDArray[Any]
    constant: Fraction | float  #: value of thresholds that every card serves alike (p = 0)
    total: Fraction | float  #: what the sum is divided by


def make_scale(table: PatternTable, thresholds: Thresholds, penalty: Fraction) -> Scale:
    """Find a scale: whole numbers where there is a common one, else floats."""
    return _integer_scale(table, thresholds, penalty) or _float_scale(table, thresholds, penalty)


def _integer_scale(table: PatternTable, thresholds: Thresholds, penalty: Fraction) -> Scale | None:
    gains = thresholds.integer_gains
    if gains is None or not table.is_whole:
        return None
    events, others = int(table.event_mass), int(table.total_mass - table.event_mass)
    price = penalty * gains.scale * Fraction(table.total_mass)
    largest = max(max(gains.found) * events, max(gains.alarm) * others)
    total_gain = sum(gains.found) * events
    top = price.denominator * total_gain + abs(price.numerator) * table.n_features
    if largest >= _ROOM or top >= _ROOM or max(events, others) >= 2**31:
        return None
    kind = np.int32 if largest < 2**31 else np.int64
    kept = [i for i, alarm in enumerate(gains.alarm) if alarm > 0]
    constant = sum(f for f, alarm in zip(gains.found, gains.alarm, strict=True) if alarm == 0)
    return Scale(
        found=np.array([gains.found[i] for i in kept], dtype=kind),
        alarm=np.array([gains.alarm[i] for i in kept], dtype=kind),
        rates=np.array([price.denominator, price.numerator], dtype=np.int64),
        constant=Fraction(constant * events * price.denominator),
        total=Fraction(gains.scale * int(table.total_mass) * price.denominator),
    )


def _float_scale(table: PatternTable, thresholds: Thresholds, penalty: Fraction) -> Scale:
    weights, odds = thresholds.weight_array, thresholds.odds
    kept = np.flatnonzero(weights * odds > 0)
    return Scale(
        found=weights[kept],
        alarm=(weights * odds)[kept],
        rates=np.array([1.0, float(penalty * Fraction(table.total_mass))]),
        constant=float(weights[odds == 0].sum() * table.event_mass),
        total=float(table.total_mass),
    )


def auto_units(n_rows: float) -> Fraction:
    """Price of a rule that ``penalty="auto"`` stands for, in units of prevalence / rows.

    √(N / 4000), to the hundredth, and at most 1: like the sampling error of net benefit, the price
    falls with the root of the rows, until a rule has so little to fear from noise that the price
    of one more event found, 1 / N, will do.

    >>> [float(auto_units(n)) for n in (200, 1000, 40_000)]
    [0.22, 0.5, 1.0]
    """
    return min(Fraction(1), Fraction(round(100 * math.sqrt(n_rows / _MANY_ROWS)), 100))


def read_penalty(penalty: str | float | Fraction, patterns: PatternTable) -> Fraction:
    """C0: "paper" is 0.1 · a0 / P; "auto" is auto_units · a0 / N; a number is itself.

    >>> table = PatternTable.from_arrays([[0], [1]], [0, 1])
    >>> read_penalty("paper", table), read_penalty("auto", table), read_penalty(0.01, table)
    (Fraction(1, 20), Fraction(1, 200), Fraction(1, 100))
    """
    share = Fraction(patterns.n_events) / Fraction(patterns.n_total)
    if isinstance(penalty, str):
        if penalty == "paper":
            return share / (10 * patterns.n_features)
        if penalty == "auto":
            return auto_units(patterns.n_total) * share / Fraction(patterns.n_total)
        raise InputError(f'penalty={penalty!r} is not known. Use "auto", "paper" or a number.')
    return read_number(penalty, "penalty", '"auto", "paper"')
