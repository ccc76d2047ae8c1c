"""What users write into constraints, checked: columns, signs, whole numbers, shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np

from netbenefit.cards.card_types import MOST_POINTS
from netbenefit.common.checks import InputError, shorten

__all__ = ["position", "share", "sign_of", "whole", "whole_pair"]

_SIGNS = {
    "+": "+",
    "-": "-",
    1: "+",
    -1: "-",
    "non-decreasing": "+",
    "non-increasing": "-",
    "increasing": "+",
    "decreasing": "-",
}


def position(key: Any, names: Sequence[str], what: str) -> int:
    """Where a column stands that was given by name or by position.

    >>> position("bmi", ["age", "bmi"], "bounds")
    1
    """
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key < len(names):
        return int(key)
    if isinstance(key, str) and key in names:
        return list(names).index(key)
    raise InputError(
        f"{what} names column {key!r}, which is not in the table; its columns are "
        f"{shorten(names, 10)}. Correct the name."
    )


def whole(value: object, name: str, least: int, most: int | None = None) -> int:
    """Return a whole number of at least ``least`` (and at most ``most``).

    >>> whole(3, "max_features", 0)
    3
    """
    number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not number or value < least or (most is not None and value > most):  # type: ignore[operator]
        room = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(f"{name} must be a whole number {room}, not {value!r}.")
    return int(value)  # type: ignore[call-overload,no-any-return]


def whole_pair(feature: object, pair: Any) -> tuple[int, int]:
    """Return (lowest, highest) points of a column."""
    try:
        low, high = (int(v) for v in pair if v == int(v))
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"bounds of column {feature!r} must be two whole numbers (lowest, highest), not "
            f"{pair!r}."
        ) from None
    if low > high:
        raise InputError(
            f"bounds of column {feature!r} are empty: {low} > {high}. Give (lowest, highest)."
        )
    if max(-low, high) > MOST_POINTS:
        raise InputError(
            f"bounds of column {feature!r} are too wide: ({low}, {high}). Use at most "
            f"{MOST_POINTS} points either way."
        )
    return low, high


def sign_of(feature: object, sign: Any) -> str:
    """Return "+" or "-".

    >>> sign_of("age", -1)
    '-'
    """
    known = isinstance(sign, str | Real) and not isinstance(sign, bool)
    way = _SIGNS.get(sign) if known else None
    if way is None:
        raise InputError(
            f'sign of column {feature!r} must be "+" or "-" (or 1, −1, "non-decreasing", '
            f'"non-increasing"), not {sign!r}.'
        )
    return way


def share(value: Any, name: str) -> Fraction:
    """Return a number from 0 to 1 as the decimal (or the fraction) that was written.

    >>> share(0.9, "rate"), share("2/3", "rate")
    (Fraction(9, 10), Fraction(2, 3))
    """
    exact = None
    if isinstance(value, Rational) and value is not True and value is not False:
        exact = Fraction(int(value.numerator), int(value.denominator))
    elif isinstance(value, float | np.floating) and math.isfinite(value):
        exact = Fraction(repr(float(value)))
    elif isinstance(value, str):
        try:
            exact = Fraction(value)
        except (ValueError, ZeroDivisionError):
            exact = None
    if exact is None or not 0 <= exact <= 1:
        raise InputError(f"the {name} must be a number from 0 to 1, not {value!r}.")
    return exact
