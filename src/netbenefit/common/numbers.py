"""Numbers: decimal steps, whole weights, the gap, and Newton's method.

Every feature is held as an integer number of steps of 10^-d.  No floating-point score ever decides
a level: scores are sums of integers, and their floors are integer divisions, which come out the
same in every language that a card is exported to.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import FloatArray, IntArray


def relative_gap(objective: float, bound: float | None) -> float | None:
    """Return (bound − objective) / |objective|, or None where no bound is known."""
    if bound is None:
        return None
    if bound == objective:
        return 0.0
    return (bound - objective) / abs(objective) if objective else math.inf


#: Integers up to here are exact in float64, hence the same in numpy, JavaScript and SQL.
LARGEST_EXACT = 2**53

#: Finest step that a column can have: 10^-9.
MAX_DECIMALS = 9
#: A column with more decimals than this is taken to be continuous.
_MAX_EXACT_DECIMALS = 6
#: Significant digits that are kept of a continuous column's spread.
_SIGNIFICANT_DIGITS = 4


def to_steps(values: NDArray[Any], decimals: int) -> IntArray:
    """Round to steps of 10^-decimals, as exported cards do: floor(x · 10^decimals + ½)."""
    if decimals == 0 and values.dtype.kind in "iub":
        return values.astype(np.int64)
    steps: IntArray = np.floor(_raised(values.astype(np.float64), decimals)).astype(np.int64)
    return steps


def to_step(value: float, decimals: int) -> int:
    """Return :func:`to_steps` of one number."""
    raised: float = _raised(value, decimals)
    return math.floor(raised)


def _raised(values: Any, decimals: int) -> Any:
    """Return x · 10^decimals + ½, whose floor is the number of steps."""
    return values * float(10**decimals) + 0.5


def find_decimals(values: NDArray[Any]) -> tuple[int, bool]:
    """Return (decimals, exact): the coarsest step that loses nothing, else a fine enough one.

    A column is exact when every value is the float nearest to a decimal with at most six decimals.
    Otherwise the step keeps four significant digits of its spread.
    """
    if values.dtype.kind in "iub" or values.size == 0:
        return 0, True
    head = values[:1000]  # most columns are refused or accepted by their first rows
    for decimals in range(_MAX_EXACT_DECIMALS + 1):
        if _loses_nothing(head, decimals) and _loses_nothing(values, decimals):
            return decimals, True
    spread = min(float(values.max()) - float(values.min()), sys.float_info.max)
    magnitude = math.floor(math.log10(spread)) if spread > 0 else 0
    return min(max(_SIGNIFICANT_DIGITS - 1 - magnitude, 0), MAX_DECIMALS), False


def _loses_nothing(values: NDArray[Any], decimals: int) -> bool:
    with np.errstate(over="ignore"):  # an infinite number of steps is none of the values
        steps = np.floor(_raised(values.astype(np.float64), decimals))
        # In the column's own precision: 0.1 as float32 is 0.1, not 0.10000000149.
        back = (steps / float(10**decimals)).astype(values.dtype)
    return bool(np.array_equal(back, values))


def are_whole(weight: FloatArray) -> bool:
    """Return whether all weights are whole numbers, which are taken to count rows."""
    return bool(np.all(weight == np.floor(weight)))


#: Newton steps, and halvings of one step, at most.
_MOST_STEPS, _MOST_HALVINGS = 100, 20


def minimise_by_newton(
    value: Callable[[FloatArray], float],
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    start: FloatArray,
    *,
    close: float = 0.0,
    longest: float = math.inf,
    least_gain: float = -math.inf,
    slack: float = 1e-12,
) -> FloatArray:
    """Minimise a smooth convex function, such as the loss of a logistic regression.

    1. A Newton step solves H · step = g, where ``derivatives`` returns the gradient g and the
       curvature H; no coordinate moves by more than ``longest``.
    2. It is halved until the value rises by no more than a share ``slack``, which is rounding.
    3. End when no coordinate moves by more than ``close``, or the gain is below ``least_gain``.
    """
    at, now = start, value(start)
    for _ in range(_MOST_STEPS):
        # 1.
        gradient, curvature = derivatives(at)
        step = np.linalg.solve(curvature, gradient)
        largest = float(np.abs(step).max())
        if largest > longest:
            step *= longest / largest
        # 2.
        for _ in range(_MOST_HALVINGS):
            new = value(at - step)
            if new <= now + slack * abs(now):
                break
            step = step / 2
        else:
            break
        # 3.
        at, gain, now = at - step, now - new, new
        if np.abs(step).max() <= close or gain < least_gain:
            break
    return at
