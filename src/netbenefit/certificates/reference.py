"""The truth, slowly: what the compiled kernels must give, in plain exact arithmetic.

Everything is a Python integer or a :class:`fractions.Fraction`; nothing is updated, everything is
counted again.  The functions serve tests, certificates and the final value of a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from netbenefit.common.checks import IntArray

__all__ = ["best_cutoff", "floor_scores"]

Number = int | Fraction


def floor_scores(codes: IntArray, decimals: Sequence[int], points: Sequence[int]) -> list[int]:
    """Floor of x·λ for each row of codes, where x = codes / 10 ** decimals.

    Examples
    --------
    >>> import numpy as np
    >>> floor_scores(np.array([[15, 1], [-1, 0]]), [1, 0], [3, 2])  # 1.5·3 + 1·2 and -0.1·3
    [6, -1]
    """
    digits = max(decimals, default=0)
    unit = 10**digits
    return [
        sum(
            int(v) * int(c) * 10 ** (digits - d)
            for v, c, d in zip(points, row, decimals, strict=True)
        )
        // unit
        for row in codes
    ]


def best_cutoff(
    scores: Sequence[int], positives: Sequence[Number], negatives: Sequence[Number], odds: Number
) -> tuple[int, Number]:
    """Smallest cut-off with the highest TP − odds · FP, and that value.

    Candidates are the scores that occur and "nobody", one above the highest.

    Examples
    --------
    >>> best_cutoff([0, 1, 2], [0, 1, 5], [5, 1, 0], 1)
    (1, 5)
    """
    candidates = [*sorted(set(scores)), max(scores) + 1]
    rows = list(zip(scores, positives, negatives, strict=True))
    values = [sum(a - odds * b for s, a, b in rows if s >= cutoff) for cutoff in candidates]
    best = max(values)
    return candidates[values.index(best)], best
