"""Outcomes and a teacher's risks, blended into the masses that a card is trained on.

With N rows, a belief worth n0 rows and risks p̂, row j brings the event mass

    e_j = (y_j + κ p̂_j) / (1 + κ),    κ = n0 / N ,

and the non-event mass 1 − e_j, times its weight.  Patterns add these masses up:

1. t_u = the teacher's expected events among the rows of pattern u, in thousandths, rounded.
2. m_u = (1000 · N · O_u + n0 · t_u) / (N + n0), rounded, with O_u events among W_u rows.
3. The masses are m_u and 1000 · W_u − m_u.

All of it in whole numbers, so that the masses of a certificate can be counted again from the
outcomes, t and n0 alone.  (With real weights, step 2 is a float, rounded once, in units of rows.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import FloatArray, InputError, IntArray, read_number
from netbenefit.data.patterns import PatternTable
from netbenefit.teachers.crossfit import Teaching

__all__ = ["STRENGTH", "Blend", "Taught", "blend", "read_strength"]

#: Rows of belief for each row of data that ``prior_strength="auto"`` stands for.
STRENGTH = 10
#: Units of mass in a row: the first that leaves room for all rows of a table.
_DENOMINATORS = (1000, 100, 10, 1)
#: Total mass that kernels count in whole numbers.
_ROOM = 2**31
#: Risks are added up as whole numbers of this part, so that their order does not matter.
_FINE = 10**9


@dataclass(frozen=True, eq=False)
class Blend:
    """What, beside the outcomes, the masses were made from."""

    strength: Fraction | None  #: n0, in rows; None if infinite: only the teacher counts
    denominator: int  #: parts of a row that ``expected`` is counted in
    expected: IntArray  #: (n,), the teacher's expected events of each pattern


def read_strength(prior_strength: Any, n_rows: float) -> Fraction | None:
    """Return n0, in rows; None where it is infinite."""
    if isinstance(prior_strength, str) and prior_strength == "auto":
        return STRENGTH * Fraction(n_rows)
    if isinstance(prior_strength, float | np.floating) and prior_strength == math.inf:
        return None
    try:
        return read_number(prior_strength, "prior_strength", '"auto"')
    except InputError:
        raise InputError(
            f'prior_strength={prior_strength!r} is no number of rows. Use "auto" (ten for every '
            "row), 0 (outcomes alone, the published method), a number of rows, or inf (the teacher "
            "alone)."
        ) from None


def blend(
    table: PatternTable, risks: FloatArray, weights: FloatArray, strength: Fraction | None
) -> tuple[PatternTable, Blend]:
    """Blend the outcomes of a table with n0 rows of a risk per row; risks and weights (n_rows,)."""
    n_rows = Fraction(table.n_total)
    denominator = next(d for d in _DENOMINATORS if d * n_rows < _ROOM or d == 1)
    expected = _expected(table, risks, weights, denominator)
    made = Blend(strength, denominator, expected)
    if not table.is_whole:
        return table.with_masses(*_real_masses(table, made, n_rows)), made
    # (2 · numerator + denominator) // (2 · denominator) rounds to the nearest whole number.
    share = Fraction(1) if strength is None else strength / (n_rows + strength)
    own, taught, parts = (share.denominator - share.numerator), share.numerator, share.denominator
    numerator = own * denominator * table.events.astype(object) + taught * expected.astype(object)
    positives = ((2 * numerator + parts) // (2 * parts)).astype(np.int64)
    rows = denominator * (table.events + table.others)
    return table.with_masses(positives, rows - positives, denominator), made


def _real_masses(
    table: PatternTable, made: Blend, n_rows: Fraction
) -> tuple[FloatArray, FloatArray]:
    """Step 2 with real weights: exact, then rounded once."""
    pairs = []
    for events, others, t in zip(
        table.events.tolist(), table.others.tolist(), made.expected.tolist(), strict=True
    ):
        rows = Fraction(events) + Fraction(others)
        mass = min(Fraction(t, made.denominator), rows)
        if made.strength is not None:
            mass = (n_rows * Fraction(events) + made.strength * mass) / (n_rows + made.strength)
        pairs.append((float(mass), max(0.0, float(rows - Fraction(float(mass))))))
    positives, negatives = np.array(pairs).T
    return positives, negatives


def _expected(
    table: PatternTable, risks: FloatArray, weights: FloatArray, denominator: int
) -> NDArray[np.int64]:
    """Step 1: the risks of each pattern's rows, added up as whole numbers where weights are."""
    used = table.pattern_of_row >= 0
    place = table.pattern_of_row[used]
    if table.is_whole:
        # Python's own integers where 64 bits might not do.
        kind = np.int64 if table.n_total < 2**62 // _FINE else object
        fine, times = (np.rint(v).astype(np.int64) for v in (risks[used] * _FINE, weights[used]))
        total = np.zeros(len(table), dtype=kind)
        np.add.at(total, place, fine.astype(kind) * times.astype(kind))
        step = _FINE // denominator
        return ((total + step // 2) // step).astype(np.int64)
    sums = np.bincount(place, weights=risks[used] * weights[used], minlength=len(table))
    return np.rint(sums * denominator).astype(np.int64)


class Taught(NamedTuple):
    """A teacher's risks, how they were blended with the outcomes, and what they are worth."""

    teaching: Teaching
    blend: Blend
    net_benefit: float  #: of its out-of-fold risks, by the outcomes
    blended_benefit: float  #: of the same, by the masses that the card is trained on
