"""Which points are allowed, in arrays: the one form of all constraints that solvers read."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._validation import IntArray

__all__ = ["Limits", "RateLimits", "box_limits"]


class RateLimits(NamedTuple):
    """Least events found and most false alarms at each threshold, in masses.

    Cut-offs rise with the threshold, so a floor of events found holds at all lower thresholds too,
    and a ceiling of false alarms at all higher ones.  With limits that have been passed on in this
    way, the best allowed cut-offs of single thresholds are in order again.
    """

    found: tuple[Fraction, ...]  #: TP_i must be at least this
    alarms: tuple[Fraction, ...]  #: FP_i must be at most this


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


def box_limits(lower: IntArray, upper: IntArray, max_features: int) -> Limits:
    """Limits that say no more than bounds and size do.

    >>> limits = box_limits(np.array([-1, 0]), np.array([1, 0]), 1)
    >>> limits.values.tolist(), limits.support.tolist(), limits.support_limit.tolist()
    ([[True, True, True], [True, False, False]], [[1, 1]], [1])
    """
    n_columns = lower.size
    widths = upper - lower + 1
    rows = 1 if max_features < n_columns else 0
    return Limits(
        values=np.arange(int(widths.max(initial=1))) < widths[:, None],
        support=np.ones((rows, n_columns), dtype=np.int64),
        support_limit=np.full(rows, max_features, dtype=np.int64),
        total=int(np.maximum(np.abs(lower), np.abs(upper)).sum()),
        rates=None,
    )
