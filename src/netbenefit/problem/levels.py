"""Cut-offs and risks of a card: how scores become risks, and risks become decisions.

1. The cut-off of a threshold is the one with the highest net benefit (docs/method.md §3), on the
   masses that the card was trained on.
2. Where these masses are outcomes alone, a level (the scores between two cut-offs) has the share of
   events among its rows as its risk: Algorithm 2.
3. Where they are blended with a teacher's risks, they are smooth enough for a risk of every score:
   the share of event mass at the score, made monotone by pooling neighbouring scores (isotonic
   regression).  The cut-off of a threshold then is the first score whose risk reaches it, which is
   the same as step 1 finds.

Limits on rates move cut-offs away from the best ones; risks follow, so that decisions at every
threshold stay those of the cut-offs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import IntArray
from netbenefit.data import PatternTable
from netbenefit.metrics import Thresholds, largest_risk

if TYPE_CHECKING:
    from netbenefit.problem.problem import Problem


# -- best cut-offs of given scores: exact, and fast enough to be called for every final answer -----


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
    """Smallest cut-off with the highest TP − odds · FP, and that value, for each odds; exact.

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
    unit = 1 if positives.dtype.kind == "i" else common_unit(positives, negatives)
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


def common_unit(*masses: NDArray[Any]) -> int:
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


# -- risks -----------------------------------------------------------------------------------------


#: Events, as a share of all rows, that the sums of real weights may be off by.
_ROUNDING = 1e-9


class CardLevels(NamedTuple):
    """Cut-offs T_1 … T_M, the risk from each score on, and their net benefit."""

    cutoffs: tuple[int, ...]
    risks: tuple[tuple[int, float], ...]
    net_benefit: float  #: weighted net benefit of these cut-offs, by the outcomes of training


def fit_levels(
    problem: Problem, points: Sequence[int] | IntArray, *, calibrate: bool = True
) -> CardLevels:
    """Cut-offs and risks of the card with these (P,) points.

    Without ``calibrate``, the risk of a level is the middle of its interval.
    """
    table, grid = problem.patterns, problem.thresholds
    scores = floor_scores(table.codes, table.decimals, np.asarray(points, dtype=np.int64))
    cutoffs = problem.evaluate(points).cutoffs
    rated = problem.limits.rates is not None
    if table.outcomes is not None and calibrate:
        risks = _risk_of_every_score(table, grid, scores, cutoffs, rated)
    else:
        by_level = level_risks(table, grid, scores, cutoffs, rated)
        firsts = [int(scores.min()), *cutoffs]
        ends = (*grid.values[1:], 1.0)
        risks = tuple(
            (firsts[i], risk if calibrate else (grid.values[i] + ends[i]) / 2)
            for i, risk in enumerate(by_level)
            if risk is not None
        )
    return CardLevels(cutoffs, risks, _net_benefit(table, grid, scores, cutoffs))


def pooled_rates(
    scores: IntArray, positives: Sequence[Fraction], negatives: Sequence[Fraction]
) -> list[tuple[int, Fraction]]:
    """Share of event mass at each score, lowest first, pooled until it never falls; exact."""
    sums: dict[int, tuple[Fraction, Fraction]] = {}
    for score, a, b in zip(scores.tolist(), positives, negatives, strict=True):
        before = sums.get(score, (Fraction(0), Fraction(0)))
        sums[score] = before[0] + a, before[1] + b
    blocks: list[tuple[Fraction, Fraction, list[int]]] = []
    for score, (a, b) in sorted(sums.items()):
        block = a, a + b, [score]
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:
            events, mass, before_scores = blocks.pop()
            block = events + block[0], mass + block[1], before_scores + block[2]
        blocks.append(block)
    return [(score, events / mass) for events, mass, members in blocks for score in members]


def _risk_of_every_score(
    table: PatternTable,
    grid: Thresholds,
    scores: IntArray,
    cutoffs: tuple[int, ...],
    rated: bool,
) -> tuple[tuple[int, float], ...]:
    """Step 3 of the recipe; the last rounding to a float keeps every risk on its level."""
    masses = [table.positives, table.negatives]
    if table.is_whole:  # few scores: sums of 64 bits spare fractions of every pattern
        scores, place = np.unique(scores, return_inverse=True)
        sums = np.zeros((2, scores.size), dtype=np.int64)
        for total, mass in zip(sums, masses, strict=True):
            np.add.at(total, place.ravel(), mass)
        masses = [*sums]
    positives, negatives = ([Fraction(m) for m in mass.tolist()] for mass in masses)
    risks = []
    for score, rate in pooled_rates(scores, positives, negatives):
        level = sum(score >= cutoff for cutoff in cutoffs)
        risk = min(max(float(rate), grid.values[level]), largest_risk(grid, level))
        # Only limits on rates make a level of scores whose risk belongs to another one.
        assert rated or abs(risk - rate) <= _ROUNDING
        risks.append((score, risk))
    return tuple(risks)


def _net_benefit(
    table: PatternTable, grid: Thresholds, scores: IntArray, cutoffs: tuple[int, ...]
) -> float:
    """Σ_i ω_i NB_i of given cut-offs, by the outcomes; at threshold 0 all rows are called."""
    called = scores[None, :] >= np.array([scores.min(), *cutoffs])[:, None]
    net = called @ table.events - grid.odds * (called @ table.others)
    return float(grid.weight_array @ net) / float(table.n_total)


def level_risks(
    table: PatternTable,
    thresholds: Thresholds,
    scores: IntArray,
    cutoffs: Sequence[int],
    rated: bool = False,
) -> tuple[float | None, ...]:
    """Share of events of each level, as in Algorithm 2; None where no row is.

    With the best cut-offs, every share lies in its own interval.  One outside is moved to the near
    end where the rounding of real weights explains it, or where constraints on rates (``rated``)
    have moved the cut-offs; otherwise it is left, and the card refuses it.

    Algorithm alg:moderate_calibration of the paper, where cut-offs are the best ones.
    """
    size = len(thresholds)
    level = np.searchsorted(np.asarray(cutoffs), scores, side="right")
    events = np.bincount(level, weights=table.positives, minlength=size)
    mass = events + np.bincount(level, weights=table.negatives, minlength=size)
    seen = np.bincount(level, minlength=size) > 0
    rate = events / np.where(seen, mass, 1.0)
    inside = np.clip(rate, thresholds.array, [largest_risk(thresholds, i) for i in range(size)])
    rounded = np.abs(inside - rate) * mass <= _ROUNDING * mass.sum()
    risks = np.where(rounded | rated, inside, rate)
    return tuple(float(q) if there else None for q, there in zip(risks, seen, strict=True))
