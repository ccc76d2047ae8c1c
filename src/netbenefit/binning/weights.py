"""Weights of rows: how they are summed, compared and counted.

What is learnt must depend neither on the order of the rows nor on whether equal rows are merged
into one with a whole weight.  Sums of whole weights are exact.  Sums of other numbers differ in
their last bits with the order of the rows, and those bits must not decide anything.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import FloatArray, are_whole
from netbenefit.metrics import sums_by

#: Numbers that differ by less than this share of what they are made of are equal.
SLACK = 1e-9
#: Bits of a sum that do not depend on the order of its parts, with much to spare.
_STEADY_BITS = 40


def mass_by(codes: NDArray[Any], weight: FloatArray, count: int) -> FloatArray:
    """Return the weight of each code 0 … count-1, the same in every order of the rows."""
    return drop_last_bits(sums_by(codes, weight, count))


def drop_last_bits(sums: FloatArray) -> FloatArray:
    """Round sums to bits that do not depend on the order of their parts; whole numbers stay."""
    step = math.ldexp(1.0, math.frexp(float(np.abs(sums).sum()))[1] - _STEADY_BITS)
    if step == 0:  # sums so small that nothing can be taken from them
        return sums
    rounded: FloatArray = np.round(sums / step) * step
    return rounded


def count_rows(weight: FloatArray) -> float:
    """Return how many rows there are: whole weights count rows, of others each row is one."""
    return float(weight.sum() if are_whole(weight) else np.count_nonzero(weight))


def weight_of_one_row(weight: FloatArray) -> float:
    """Return the weight that counts as one row: 1 of whole weights, else Σv²/Σv (Kish)."""
    total = float(weight.sum())
    if total <= 0 or are_whole(weight):
        return 1.0
    largest = float(weight.max())  # first, or tiny weights would vanish when squared
    return largest * float(np.square(weight / largest).sum() / (weight / largest).sum())


def total_weight(weight: FloatArray) -> float:
    """Return the sum of weights, to its last bit the same in every order of the rows."""
    return float(weight.sum()) if are_whole(weight) else math.fsum(weight.tolist())


def has_enough_weight(mass: float, least: float) -> bool:
    """Return whether there is enough weight for a bin, whatever its last bits are."""
    return bool(mass >= least * (1.0 - SLACK))


def first_reaching(cumulated: FloatArray, share: float) -> int:
    """Return the first place where cumulated weight reaches a share of the total."""
    enough = (share - SLACK) * float(cumulated[-1])
    return min(int(np.searchsorted(cumulated, enough)), cumulated.size - 1)
