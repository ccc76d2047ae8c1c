"""What a problem maximises, in numbers: the price of a rule, the weight of S, and their scale."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._validation import InputError
from netbenefit.patterns import PatternTable
from netbenefit.thresholds import Thresholds

__all__ = ["PRIOR_ROWS", "UNITS", "Scale", "make_scale", "read_penalty", "read_price", "read_prior"]

#: Largest magnitude that sums in int64 may reach.
_ROOM = 2**62
#: Rows of belief in a logistic risk that ``prior_strength="auto"`` stands for.
PRIOR_ROWS = 3000
#: Price of a rule that ``penalty="auto"`` stands for, in units of prevalence / rows.
UNITS = 2


class Scale(NamedTuple):
    """How gains, sizes and S add up: objective = (value + constant) / total.

    A value is rates[0] · gain − rates[1] · size + smooth · S · N.
    """

    found: NDArray[Any]
    alarm: NDArray[Any]
    rates: NDArray[Any]
    constant: Fraction | float  #: value of thresholds that every card serves alike (p = 0)
    total: Fraction | float  #: what the sum is divided by
    smooth: float  #: worth of one row's S


def make_scale(
    table: PatternTable, thresholds: Thresholds, penalty: Fraction, prior: Fraction
) -> Scale:
    """Find a scale: whole numbers where there is a common one, else floats.

    With a ``prior`` (the weight of S, which is no rational number), gains stay whole numbers where
    they can, and values are floats.
    """
    scale = _integer_scale(table, thresholds, penalty) or _float_scale(table, thresholds, penalty)
    if not prior:
        return scale
    worth = float(prior * Fraction(scale.total) / Fraction(table.n_total))
    return scale._replace(rates=scale.rates.astype(np.float64), smooth=worth)


def _integer_scale(table: PatternTable, thresholds: Thresholds, penalty: Fraction) -> Scale | None:
    gains = thresholds.integer_gains
    if gains is None or not table.is_whole:
        return None
    events, others = int(table.n_events), int(table.n_total - table.n_events)
    price = penalty * gains.scale * Fraction(table.n_total)
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
        total=Fraction(gains.scale * int(table.n_total) * price.denominator),
        smooth=0.0,
    )


def _float_scale(table: PatternTable, thresholds: Thresholds, penalty: Fraction) -> Scale:
    weights, odds = thresholds.weight_array, thresholds.odds
    kept = np.flatnonzero(weights * odds > 0)
    return Scale(
        found=weights[kept],
        alarm=(weights * odds)[kept],
        rates=np.array([1.0, float(penalty * Fraction(table.n_total))]),
        constant=float(weights[odds == 0].sum() * table.n_events),
        total=float(table.n_total),
        smooth=0.0,
    )


def read_penalty(penalty: str | float | Fraction, patterns: PatternTable) -> Fraction:
    """C0: "paper" is 0.1 · a0 / P; "auto" is UNITS · a0 / N; a number is itself.

    >>> table = PatternTable.from_arrays([[0], [1]], [0, 1])
    >>> read_penalty("paper", table), read_penalty("auto", table), read_penalty(0.01, table)
    (Fraction(1, 20), Fraction(1, 2), Fraction(1, 100))
    """
    share = Fraction(patterns.n_events) / Fraction(patterns.n_total)
    if isinstance(penalty, str):
        if penalty == "paper":
            return share / (10 * patterns.n_features)
        if penalty == "auto":
            return UNITS * share / Fraction(patterns.n_total)
        raise InputError(f'penalty={penalty!r} is not known. Use "auto", "paper" or a number.')
    return _number(penalty, "penalty", '"auto", "paper"')


def read_prior(prior_strength: str | float | Fraction) -> Fraction:
    """n0, in rows: "auto" is PRIOR_ROWS.

    >>> read_prior("auto"), read_prior(2.5)
    (Fraction(3000, 1), Fraction(5, 2))
    """
    if isinstance(prior_strength, str):
        if prior_strength == "auto":
            return Fraction(PRIOR_ROWS)
        raise InputError(
            f'prior_strength={prior_strength!r} is not known. Use "auto", 0 (the published method) '
            "or a number of rows."
        )
    return _number(prior_strength, "prior_strength", '"auto"')


def read_price(price: float | Fraction, name: str) -> Fraction:
    """A price as the decimal that was written; "paper" is its caller's word.

    >>> read_price(0.001, "point_penalty")
    Fraction(1, 1000)
    """
    return _number(price, name, '"paper"')


def _number(value: Any, name: str, words: str) -> Fraction:
    """A setting as the decimal that was written, not negative."""
    refusal = InputError(f"{name} must be a finite number or {words}, not {value!r}.")
    if isinstance(value, bool):
        raise refusal
    if isinstance(value, Rational):
        exact = Fraction(int(value.numerator), int(value.denominator))
    elif isinstance(value, float | np.floating) and math.isfinite(value):
        exact = Fraction(repr(float(value)))
    else:
        raise refusal
    if exact < 0:
        raise InputError(f"{name} must not be negative, but is {value!r}.")
    return exact
