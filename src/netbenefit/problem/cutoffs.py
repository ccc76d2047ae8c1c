"""Best cut-offs of given scores: exact, and fast enough to be called for every final answer."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import IntArray

__all__ = ["allowed_cutoffs", "count_called", "floor_scores"]

#: Of each row: mass of events, and of others.
Masses = tuple[NDArray[Any], NDArray[Any]]


def floor_scores(codes: IntArray, decimals: Sequence[int], points: IntArray) -> IntArray:
    """Floor of x·λ for each row of codes; the caller has made sure that nothing overflows."""
    digits = max(decimals, default=0)
    scale = np.array([10 ** (digits - d) for d in decimals], dtype=np.int64)
    units = codes @ (np.asarray(points, dtype=np.int64) * scale)
    result: IntArray = np.floor_divide(units, 10**digits)
    return result


def allowed_cutoffs(
    scores: IntArray,
    masses: Masses,
    odds: Sequence[Fraction],
    limits: Sequence[tuple[Fraction, Fraction | None]],
    outcomes: Masses,
) -> list[tuple[int, Fraction] | None]:
    """Smallest cut-off with the highest TP − odds · FP, and that value, for each odds.

    Exact, for real weights too: a float is a whole number of some power of two, and all masses are
    taken as multiples of the smallest such power that is needed.

    Of the ``outcomes`` (rows with the event, rows without it), at least limits[i][0] events must be
    found, and at most limits[i][1] others called; a limit of None limits nothing.  None where
    there is no such cut-off.

    Algorithm alg:find_opt_T of the paper, corrected (docs/paper_notes.md).
    """
    candidates, tp, fp, unit = count_called(scores, *masses)
    _, found, alarms, whole = (
        (candidates, tp, fp, unit) if outcomes[0] is masses[0] else count_called(scores, *outcomes)
    )
    most = max(int(tp[0]), int(fp[0]), 1)
    result: list[tuple[int, Fraction] | None] = []
    for r, limit in zip(odds, limits, strict=True):
        first, last = _run(found, alarms, whole, limit)
        if first >= last:
            result.append(None)
            continue
        # TP·den − FP·num has the sign and the order of TP − odds·FP.
        small = max(r.denominator, r.numerator) * most < 2**62
        a, b = (tp.astype(np.int64), fp.astype(np.int64)) if small else (tp, fp)
        values = a[first:last] * r.denominator - b[first:last] * r.numerator
        best = int(np.argmax(values))
        value = Fraction(int(values[best]), r.denominator * unit)
        result.append((int(candidates[first + best]), value))
    return result


_Counts = tuple[IntArray, NDArray[np.object_], NDArray[np.object_], int]


def count_called(scores: IntArray, positives: NDArray[Any], negatives: NDArray[Any]) -> _Counts:
    """Candidate cut-offs, and TP and FP of each as whole numbers of 1 / unit."""
    distinct, place = np.unique(scores, return_inverse=True)
    unit = 1 if positives.dtype.kind == "i" else _common_unit(positives, negatives)
    tp = _at_or_above(positives, place.ravel(), distinct.size, unit)
    fp = _at_or_above(negatives, place.ravel(), distinct.size, unit)
    return np.append(distinct, distinct[-1] + 1), tp, fp, unit


def _run(
    tp: NDArray[np.object_],
    fp: NDArray[np.object_],
    unit: int,
    limit: tuple[Fraction, Fraction | None],
) -> tuple[int, int]:
    """Both counts fall as the cut-off rises, so what is allowed is a run of candidates."""
    least_found, most_alarms = limit
    first = 0 if most_alarms is None else int((fp > most_alarms * unit).sum())
    return first, int((tp >= least_found * unit).sum())


def _common_unit(*masses: NDArray[Any]) -> int:
    """Smallest power of two that makes all masses whole numbers when multiplied."""
    return max(Fraction(m).denominator for part in masses for m in part.tolist())


def _at_or_above(
    masses: NDArray[Any], place: NDArray[np.intp], size: int, unit: int
) -> NDArray[np.object_]:
    """Mass at or above each distinct score, and 0 for "none", as Python's own integers."""
    if masses.dtype.kind == "i":
        by_score = np.zeros(size, dtype=np.int64)
        np.add.at(by_score, place, masses)
        whole = by_score.tolist()
    else:
        whole = [0] * size
        for where, mass in zip(place.tolist(), masses.tolist(), strict=True):
            whole[where] += int(Fraction(mass) * unit)
    total = np.zeros(size + 1, dtype=object)
    total[:size] = list(accumulate(reversed(whole)))[::-1]
    return total
