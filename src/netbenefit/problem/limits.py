"""Which points are allowed, in arrays: the one form of all constraints that solvers read."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import IntArray
from netbenefit.solvers.highs import linear_program, quiet_highs
from netbenefit.solvers.kernels.jit import jit

__all__ = [
    "Limits",
    "RateLimits",
    "box_possible",
    "least_points",
    "vector_allowed",
]

#: No allowed value: farther from 0 than any points.
_NOWHERE = 2**62


class RateLimits(NamedTuple):
    """Least events found and most false alarms at each threshold, in masses.

    Cut-offs rise with the threshold, so a floor of events found holds at all lower thresholds too,
    and a ceiling of false alarms at all higher ones (:meth:`passed_on`).  Limits that have been
    passed on lose nothing, and every cut-off can be chosen by itself again:

    1. TP(T) and FP(T) fall as T rises.  Hence the cut-offs that are allowed at threshold i are an
       interval L_i ≤ T ≤ U_i: FP(T) ≤ alarms_i from L_i on, TP(T) ≥ found_i up to U_i.  Floors and
       ceilings fall with i, so L_i and U_i rise with it.
    2. From one threshold to the next, TP(T) − r_i FP(T) changes by −(r_{i+1} − r_i) FP(T), which
       rises with T (increasing differences).
    3. Let T be the smallest best cut-off at i and S that at i + 1, and suppose S < T.  Then
       L_i ≤ L_{i+1} ≤ S and S < T ≤ U_i, so S is allowed at i, and likewise T at i + 1.  S is worse
       than T at i, being smaller than the smallest best one; by 2 it is worse at i + 1, too: a
       contradiction.  So the smallest best allowed cut-offs are in order.
    """

    found: tuple[Fraction, ...]  #: TP_i must be at least this
    alarms: tuple[Fraction, ...]  #: FP_i must be at most this

    @classmethod
    def passed_on(cls, found: Sequence[Fraction], alarms: Sequence[Fraction]) -> RateLimits:
        """Limits of single thresholds, handed down (floors) and up (ceilings).

        >>> RateLimits.passed_on([0, 5, 0], [9, 4, 9])
        RateLimits(found=(5, 5, 0), alarms=(9, 4, 4))
        """
        floors = list(accumulate(reversed(found), max))[::-1]
        return cls(tuple(floors), tuple(accumulate(alarms, min)))


class Limits(NamedTuple):
    """The constraints of a problem with P columns, as arrays.

    A vector λ is allowed if lower ≤ λ ≤ upper and

    1. values[k, λ_k − lower[k]] for every column k,
    2. Σ_k support[r, k] · [λ_k ≠ 0] ≤ support_limit[r] for every row r,
    3. Σ_k |λ_k| ≤ total (which bounds nothing where it was not asked for),
    4. its cut-offs can be chosen within ``rates``, where there are any.
    """

    values: NDArray[np.bool_]  #: (P, widest range)
    support: IntArray  #: (R, P)
    support_limit: IntArray  #: (R,)
    total: int
    rates: RateLimits | None


@jit
def vector_allowed(
    values: NDArray[np.bool_],
    base: IntArray,
    support: IntArray,
    support_limit: IntArray,
    total: int,
    points: IntArray,
) -> bool:
    """Whether a vector keeps to limits 1–3; ``base[k]`` is what ``values[k, 0]`` stands for.

    Examples
    --------
    >>> base, values = np.array([-1, 0]), np.ones((2, 3), dtype=bool)  # −1 … 1 and 0 … 2
    >>> one_column = np.array([[1, 1]]), np.array([1])
    >>> vector_allowed(values, base, *one_column, 3, np.array([0, 2]))
    True
    >>> vector_allowed(values, base, *one_column, 3, np.array([1, 2]))
    False
    """
    weight = 0
    for k in range(points.size):
        place = points[k] - base[k]
        if place < 0 or place >= values.shape[1] or not values[k, place]:
            return False
        weight += abs(points[k])
    if weight > total:
        return False
    for r in range(support.shape[0]):
        sum_of_row = 0
        for k in range(points.size):
            if points[k] != 0:
                sum_of_row += support[r, k]
        if sum_of_row > support_limit[r]:
            return False
    return True


@jit
def box_possible(
    values: NDArray[np.bool_],
    base: IntArray,
    support: IntArray,
    support_limit: IntArray,
    total: int,
    lo: IntArray,
    hi: IntArray,
) -> bool:
    """Whether the box lo … hi may hold an allowed vector: False only if it holds none.

    Each limit is looked at by itself: a value in every interval; the least that each support row
    can sum to, given which columns the box leaves at 0, away from 0, or open; the least sum of
    absolute points.  For a box with a single vector the answer is exact.

    Examples
    --------
    >>> base, values = np.array([-1, 0]), np.ones((2, 3), dtype=bool)  # −1 … 1 and 0 … 2
    >>> one_column = np.array([[1, 1]]), np.array([1])
    >>> box_possible(values, base, *one_column, 3, np.array([0, 1]), np.array([1, 2]))
    True
    >>> box_possible(values, base, *one_column, 3, np.array([1, 1]), np.array([1, 2]))
    False
    """
    n_columns = lo.size
    zero = np.zeros(n_columns, dtype=np.bool_)  # 0 is allowed, and in the box
    other = np.zeros(n_columns, dtype=np.bool_)  # so is another value
    weight = 0
    for k in range(n_columns):
        first = max(lo[k], base[k])
        last = min(hi[k], base[k] + values.shape[1] - 1)
        zero[k] = first <= 0 <= last and values[k, -base[k]]
        nearest = _NOWHERE
        for v in range(max(first, 1), last + 1):
            if values[k, v - base[k]]:
                nearest = v
                break
        for v in range(min(last, -1), first - 1, -1):
            if -v >= nearest:
                break
            if values[k, v - base[k]]:
                nearest = -v
                break
        other[k] = nearest < _NOWHERE
        if not zero[k] and not other[k]:
            return False
        weight += 0 if zero[k] else nearest
    if weight > total:
        return False
    for r in range(support.shape[0]):
        least = 0
        for k in range(n_columns):
            if not zero[k] or (other[k] and support[r, k] < 0):
                least += support[r, k]
        if least > support_limit[r]:
            return False
    return True


def least_points(
    zero: NDArray[np.bool_],
    nearest: IntArray,
    support: IntArray,
    support_limit: IntArray,
    total: int | None,
) -> IntArray | None:
    """Return an allowed vector with the least sum of absolute points, or None if none is allowed.

    Only two values of a column matter: 0, where ``zero`` allows it, and the one nearest to 0 apart
    from 0 (``nearest``; 0 where there is none).

    Examples
    --------
    >>> zero, nearest = np.array([True, True]), np.array([2, -1])
    >>> at_least_one = np.array([[-1, -1]]), np.array([-1])
    >>> least_points(zero, nearest, *at_least_one, None).tolist()
    [0, -1]
    """
    if not (zero | (nearest != 0)).all():
        return None
    used = ~zero
    room = int(np.abs(nearest).sum()) if total is None else total
    forbidden: list[NDArray[np.bool_]] = []
    while True:
        points: IntArray = np.where(used, nearest, 0)
        if (support @ used <= support_limit).all() and int(np.abs(points).sum()) <= room:
            return points
        forbidden.append(used)  # a solver's tolerance may let a vector pass that is not allowed
        found = _least_support(zero, nearest, support, support_limit, room, forbidden)
        if found is None:
            return None
        used = found


def _least_support(
    zero: NDArray[np.bool_],
    nearest: IntArray,
    support: IntArray,
    support_limit: IntArray,
    room: int,
    forbidden: Sequence[NDArray[np.bool_]],
) -> NDArray[np.bool_] | None:
    """Choose the columns with points by a small integer program."""
    size = np.abs(nearest).astype(np.float64)
    weights = size / max(1.0, size.max())
    unlike = np.array([np.where(used, -1.0, 1.0) for used in forbidden])
    rows = np.vstack([support, weights, -unlike])
    top = [*support_limit, room / max(1.0, size.max()), *((unlike < 0).sum(axis=1) - 1.0)]
    solver = quiet_highs(mip_rel_gap=0.0)
    solver.passModel(
        linear_program(
            rows,
            cost=weights,
            lower=np.where(zero, 0.0, 1.0),
            upper=np.where(nearest != 0, 1.0, 0.0),
            row_lower=np.full(len(rows), -np.inf),
            row_upper=np.array(top, dtype=np.float64),
            whole=True,
        )
    )
    solver.run()
    if solver.modelStatusToString(solver.getModelStatus()) != "Optimal":
        return None
    return np.array(solver.getSolution().col_value) > 0.5
