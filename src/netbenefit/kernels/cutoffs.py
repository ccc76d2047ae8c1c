"""Best cut-offs of given scores: exact, and fast enough to be called for every final answer."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit._validation import IntArray

__all__ = ["best_cutoffs", "floor_scores"]


def floor_scores(codes: IntArray, decimals: Sequence[int], points: IntArray) -> IntArray:
    """Floor of x·λ for each row of codes; the caller has made sure that nothing overflows.

    Examples
    --------
    >>> floor_scores(np.array([[15, 1], [-1, 0]]), [1, 0], np.array([3, 2]))
    array([ 6, -1])
    """
    digits = max(decimals, default=0)
    scale = np.array([10 ** (digits - d) for d in decimals], dtype=np.int64)
    units = codes @ (np.asarray(points, dtype=np.int64) * scale)
    result: IntArray = np.floor_divide(units, 10**digits)
    return result


def best_cutoffs(
    scores: IntArray,
    positives: NDArray[Any],
    negatives: NDArray[Any],
    odds: Sequence[Fraction],
) -> list[tuple[int, Fraction]]:
    """Smallest cut-off with the highest TP − odds · FP, and that value, for each odds.

    Exact for whole masses.  For real weights sums are rounded as floats are, and the comparison is
    one of floats.

    Examples
    --------
    >>> best_cutoffs(np.array([0, 1, 2]), np.array([0, 1, 5]), np.array([5, 1, 0]), [Fraction(1)])
    [(1, Fraction(5, 1))]
    """
    distinct, place = np.unique(scores, return_inverse=True)
    candidates = np.append(distinct, distinct[-1] + 1)
    tp = _at_or_above(positives, place, distinct.size)
    fp = _at_or_above(negatives, place, distinct.size)
    result = []
    for r in odds:
        # TP·den − FP·num has the sign and the order of TP − odds·FP.
        small = max(r.denominator, r.numerator) * max(float(tp[0]), float(fp[0]), 1.0) < 2**62
        if tp.dtype.kind == "i" and small:
            values = tp * r.denominator - fp * r.numerator
            best = int(np.argmax(values))
            value = Fraction(int(values[best]), r.denominator)
        elif tp.dtype.kind == "i":
            exact = [
                a * r.denominator - b * r.numerator
                for a, b in zip(tp.tolist(), fp.tolist(), strict=True)
            ]
            best = exact.index(max(exact))
            value = Fraction(exact[best], r.denominator)
        else:
            floats = tp - float(r) * fp
            best = int(np.argmax(floats))
            value = Fraction(float(floats[best]))
        result.append((int(candidates[best]), value))
    return result


def _at_or_above(masses: NDArray[Any], place: NDArray[np.intp], size: int) -> NDArray[Any]:
    """Mass at or above each distinct score, and 0 for "nobody"."""
    by_score = np.bincount(place.ravel(), weights=masses, minlength=size)
    total = np.append(np.cumsum(by_score[::-1])[::-1], 0.0)
    return total.astype(np.int64) if masses.dtype.kind == "i" else total
