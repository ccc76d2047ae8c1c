"""Which points are allowed, in arrays: the one form of all constraints that solvers read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from numbers import Rational, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import MOST_POINTS
from netbenefit.common import InputError, IntArray, Remedy, did_you_mean, shorten
from netbenefit.data import PatternTable
from netbenefit.metrics import Thresholds
from netbenefit.problem.questions import Questions

# -- what users write into constraints, checked: columns, signs, whole numbers, shares -------------


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


def position(key: Any, names: Sequence[str], what: str | Remedy) -> int:
    """Where a column stands that was given by name or by position."""
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key < len(names):
        return int(key)
    if isinstance(key, str) and key in names:
        return list(names).index(key)
    raise InputError(
        what,
        f" names column {key!r}, which is not in the table.{did_you_mean(key, names)} Its columns "
        f"are {shorten(names, 10)}. Correct the name.",
    )


def whole(value: object, name: str, least: int, most: int | None = None) -> int:
    """Return a whole number of at least ``least`` (and at most ``most``)."""
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
    """Return "+" or "-"."""
    known = isinstance(sign, str | Real) and not isinstance(sign, bool)
    way = _SIGNS.get(sign) if known else None
    if way is None:
        raise InputError(
            f'sign of column {feature!r} must be "+" or "-" (or 1, −1, "non-decreasing", '
            f'"non-increasing"), not {sign!r}.'
        )
    return way


def share(value: Any, name: str) -> Fraction:
    """Return a number from 0 to 1 as the decimal (or the fraction) that was written."""
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
        """Limits of single thresholds, handed down (floors) and up (ceilings)."""
        floors = list(accumulate(reversed(found), max))[::-1]
        return cls(tuple(floors), tuple(accumulate(alarms, min)))


class QuestionLimits(NamedTuple):
    """How many questions may be asked, and how far apart their answers may be."""

    of_column: IntArray  #: (P,) question of each column
    most: int  #: questions with points, at most
    answers: IntArray  #: (A, P) codes of the answers whose points are limited
    first: IntArray  #: (Q + 1,) answers to question q are rows first[q] … first[q + 1] − 1
    spread: IntArray  #: (Q,) largest difference between two answers to a question


class Limits(NamedTuple):
    """The constraints of a problem with P columns, as arrays.

    A vector λ is allowed if lower ≤ λ ≤ upper and

    1. values[k, λ_k − lower[k]] for every column k,
    2. Σ_k support[r, k] · [λ_k ≠ 0] ≤ support_limit[r] for every row r,
    3. Σ_k |λ_k| ≤ total (which bounds nothing where no limit was given),
    4. its cut-offs can be chosen within ``rates``, where there are any,
    5. the columns with points belong to at most ``asked.most`` questions,
    6. max − min of answers[a]·λ ≤ asked.spread[q] over the answers a to every question q.
    """

    values: NDArray[np.bool_]  #: (P, widest range)
    support: IntArray  #: (R, P)
    support_limit: IntArray  #: (R,)
    total: int
    rates: RateLimits | None
    asked: QuestionLimits


def least_points(
    zero: NDArray[np.bool_],
    nearest: IntArray,
    support: IntArray,
    support_limit: IntArray,
    total: int | None,
    asked: tuple[IntArray, int],
) -> IntArray | None:
    """Return an allowed vector with the least sum of absolute points, or None if none is allowed.

    Only two values of a column matter: 0, where ``zero`` allows it, and the one nearest to 0 apart
    from 0 (``nearest``; 0 where there is none).  ``asked`` holds the question of each column, and
    how many of them may have points.
    """
    if not (zero | (nearest != 0)).all():
        return None
    used = ~zero
    room = int(np.abs(nearest).sum()) if total is None else total
    forbidden: list[NDArray[np.bool_]] = []
    while True:
        points: IntArray = np.where(used, nearest, 0)
        if (
            (support @ used <= support_limit).all()
            and int(np.abs(points).sum()) <= room
            and np.unique(asked[0][used]).size <= asked[1]
        ):
            return points
        forbidden.append(used)  # a solver's tolerance may let a vector pass that is not allowed
        found = _least_support(zero, nearest, support, support_limit, room, forbidden, asked)
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
    asked: tuple[IntArray, int],
) -> NDArray[np.bool_] | None:
    """Choose the columns with points, and the questions that they belong to, by a small program."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # late: few constraints need it

    size = np.abs(nearest).astype(np.float64)
    weights = size / max(1.0, size.max())
    unlike = np.array([np.where(used, -1.0, 1.0) for used in forbidden])
    question, most = asked
    n_columns, n_questions = weights.size, int(question.max(initial=-1)) + 1
    needs = np.zeros((n_columns, n_questions))
    needs[np.arange(n_columns), question] = -1.0  # a column's question is used if the column is
    own = np.vstack([support, weights, -unlike])
    rows = np.block(
        [
            [own, np.zeros((own.shape[0], n_questions))],
            [np.eye(n_columns), needs],
            [np.zeros((1, n_columns)), np.ones((1, n_questions))],
        ]
    )
    top = [*support_limit, room / max(1.0, size.max()), *((unlike < 0).sum(axis=1) - 1.0)]
    top += [0.0] * n_columns + [most]
    found = milp(
        np.concatenate([weights, np.zeros(n_questions)]),
        integrality=np.ones(n_columns + n_questions),
        bounds=Bounds(
            np.concatenate([np.where(zero, 0.0, 1.0), np.zeros(n_questions)]),
            np.concatenate([np.where(nearest != 0, 1.0, 0.0), np.ones(n_questions)]),
        ),
        constraints=LinearConstraint(rows, ub=np.array(top, dtype=np.float64)),
        options={"mip_rel_gap": 0.0},
    )
    return None if found.x is None else found.x[:n_columns] > 0.5


# -- from a list of constraints to arrays ----------------------------------------------------------


#: Most values that one coefficient can take.
_MOST_VALUES = 20_001
#: Most columns times values.
_MOST_IN_ALL = 10**7
#: How far a threshold may be from the one that is meant: the rounding of a sum such as 0.1 + 0.2.
_ROUNDING = 1e-12


class Form(NamedTuple):
    """Constraints in arrays."""

    lower: IntArray
    upper: IntArray
    limits: Limits
    size: int  #: largest number of non-zero points
    start: IntArray  #: an allowed vector


class LimitsBuilder:
    """What constraints add up to, one after the other; :meth:`finish` makes arrays of it."""

    def __init__(
        self, table: PatternTable, thresholds: Thresholds, max_points: int, questions: Questions
    ) -> None:
        self.table, self.thresholds, self.questions = table, thresholds, questions
        self.place = {name: k for k, name in enumerate(table.names)}
        self.size = table.n_features
        self.most_questions = len(questions)
        self.total: int | None = None
        self.constant: set[int] = set()
        self._max_points = max_points
        self._needed: set[int] = set()
        self._range: dict[int, tuple[int, int]] = {}
        self._chosen: dict[int, frozenset[int]] = {}
        self._signs: dict[int, set[int]] = {}
        self._rows: list[tuple[dict[int, int], int]] = []
        self._floors: dict[int, Fraction] = {}
        self._ceilings: dict[int, Fraction] = {}

    # -- what constraints call ---------------------------------------------------------------------

    def keep(self, feature: Any, values: Iterable[int]) -> None:
        """Restrict a column to these values; the first time, instead of ±max_points."""
        k = self.place[feature]
        if isinstance(values, range):
            low, high = values.start, values.stop - 1
        else:
            numbers = frozenset(values)
            low, high = min(numbers), max(numbers)
            self._chosen[k] = self._chosen.get(k, numbers) & numbers
        before = self._range.get(k, (low, high))
        self._range[k] = max(before[0], low), min(before[1], high)

    def one_sign(self, feature: Any, way: int) -> None:
        """Restrict a column to values that are not below 0 (way 1) or not above (−1)."""
        self._signs.setdefault(self.place[feature], set()).add(way)

    def only_zero(self, feature: Any) -> None:
        """Leave a column without points."""
        self._signs[self.place[feature]] = {-1, 1}

    def needs(self, feature: Any) -> None:
        """Require that a column has points."""
        self._needed.add(self.place[feature])
        self.row({feature: -1}, -1)

    def row(self, weights: Mapping[Any, int], limit: int) -> None:
        """Require that the weights of the columns with points sum to at most ``limit``."""
        self._rows.append(({self.place[name]: w for name, w in weights.items()}, limit))

    def floor(self, threshold: float, rate: Fraction) -> None:
        """Require a least share of events found."""
        i = self._index(threshold, "MinTPR")
        if i == 0:  # all rows are called positive there
            return
        self._floors[i] = max(rate, self._floors.get(i, rate))

    def ceiling(self, threshold: float, rate: Fraction) -> None:
        """Require a largest share of false alarms."""
        i = self._index(threshold, "MaxFPR")
        if i == 0 and rate < 1:
            raise InputError(
                "MaxFPR at threshold 0 cannot be met: there, all rows are called positive. Name a "
                "threshold above 0."
            )
        self._ceilings[i] = min(rate, self._ceilings.get(i, rate))

    def _index(self, threshold: float, what: str) -> int:
        for i, p in enumerate(self.thresholds.values):
            if abs(p - threshold) <= _ROUNDING:
                return i
        known = self.thresholds.given.tolist()
        raise InputError(
            f"{what} names threshold {threshold!r}, but the thresholds are {shorten(known, 20)}. "
            "Name one of them, or add it to the thresholds (with weight 0, if need be)."
        )

    # -- what they add up to -----------------------------------------------------------------------

    def finish(self, start: IntArray) -> Form:
        """Make arrays."""
        spans = [self._span(k) for k in range(self.table.n_features)]
        self._check_widths(spans)
        most = len(spans) if self.questions.grouped else self.most_questions
        size = max(0, min(self.size, most, len(spans)))
        low_high = np.array([span or (0, 0) for span in spans], dtype=np.int64)
        lower, upper = low_high[:, 0], low_high[:, 1]
        if self.total is not None:
            lower, upper = self._within_total(lower, upper, size)
        return Form(lower, upper, self._limits(lower, upper, size), size, start)

    def start(self) -> IntArray | None:
        """Return an allowed vector with the least absolute points; None if no vector is allowed."""
        n_columns = self.table.n_features
        rows = [*self._rows, (dict.fromkeys(range(n_columns), 1), self.size)]
        return least_points(
            zero=np.array([self._has(k, 0) for k in range(n_columns)]),
            nearest=np.array([self._nearest(k) for k in range(n_columns)], dtype=np.int64),
            support=_matrix(rows, n_columns),
            support_limit=np.array([limit for _, limit in rows], dtype=np.int64),
            total=self.total,
            asked=(self.questions.of_column, self.most_questions),
        )

    def _ends(self, k: int) -> tuple[int, int]:
        """Between which values a column lies, by bounds and sign."""
        low, high = self._range.get(k, (-self._max_points, self._max_points))
        for way in self._signs.get(k, ()):
            low, high = (max(low, 0), high) if way > 0 else (low, min(high, 0))
        constant = k in self.constant and low <= 0 <= high and 0 in self._chosen.get(k, {0})
        return (0, 0) if constant else (low, high)

    def _has(self, k: int, value: int) -> bool:
        low, high = self._ends(k)
        chosen = k not in self._chosen or value in self._chosen[k]
        return low <= value <= high and chosen and not (value == 0 and k in self._needed)

    def _nearest(self, k: int) -> int:
        """The value nearest to 0, but not 0, positive rather than negative; 0 if there is none."""
        low, high = self._ends(k)
        if k in self._chosen:
            values = [v for v in self._chosen[k] if v and low <= v <= high]
        else:
            values = [v for v in (max(low, 1), min(high, -1)) if low <= v <= high]
        return min(values, key=lambda v: (abs(v), -v), default=0)

    def _span(self, k: int) -> tuple[int, int] | None:
        """Lowest and highest value of a column; None if it has none."""
        low, high = self._ends(k)
        if k in self._chosen:
            left = [v for v in self._chosen[k] if self._has(k, v)]
            return (min(left), max(left)) if left else None
        if k in self._needed:
            low, high = low + (low == 0), high - (high == 0)
        return (low, high) if low <= high else None

    def _check_widths(self, spans: Sequence[tuple[int, int] | None]) -> None:
        for name, span in zip(self.table.names, spans, strict=True):
            if span is not None and span[1] - span[0] > _MOST_VALUES:
                raise InputError(
                    f"column {name!r} may have {span[1] - span[0] + 1:,} different points, more "
                    f"than can be searched ({_MOST_VALUES:,}). Lower max_points or narrow its "
                    "bounds: points on a card are small."
                )
        widest = max((span[1] - span[0] + 1 for span in spans if span is not None), default=0)
        if widest * len(spans) > _MOST_IN_ALL:
            raise InputError(
                f"{len(spans):,} columns of up to {widest:,} different points are more than can be "
                f"searched ({_MOST_IN_ALL:,} in all). Lower max_points or narrow their bounds."
            )

    def _within_total(
        self, lower: IntArray, upper: IntArray, size: int
    ) -> tuple[IntArray, IntArray]:
        """Narrow each column to what the sum of absolute points leaves to it."""
        limits = self._limits(lower, upper, size)
        values = lower[:, None] + np.arange(limits.values.shape[1])
        least = np.where(limits.values, np.abs(values), np.iinfo(np.int64).max).min(axis=1)
        room = limits.total - (least.sum() - least)
        kept = limits.values & (np.abs(values) <= room[:, None])
        some = kept.any(axis=1)  # where nothing is left, no vector is allowed; that shows later
        first = lower + kept.argmax(axis=1)
        last = lower + kept.shape[1] - 1 - kept[:, ::-1].argmax(axis=1)
        return np.where(some, first, lower), np.where(some, last, upper)

    def _limits(self, lower: IntArray, upper: IntArray, size: int) -> Limits:
        n_columns = lower.size
        widths = upper - lower + 1
        values = np.arange(int(widths.max(initial=1))) < widths[:, None]
        for k in {*self._chosen, *self._needed}:
            span = range(int(lower[k]), int(upper[k]) + 1)
            values[k, : len(span)] = [self._has(k, v) for v in span]
        rows = [(dict.fromkeys(range(n_columns), 1), size)] if size < n_columns else []
        rows += [row for row in self._rows if not _idle(row, lower, upper)]
        most = int(np.maximum(np.abs(lower), np.abs(upper)).sum())
        return Limits(
            values=values,
            support=_matrix(rows, n_columns),
            support_limit=np.array([limit for _, limit in rows], dtype=np.int64),
            total=most if self.total is None else min(most, self.total),
            rates=self._rates(),
            asked=self._asked(lower, upper),
        )

    def _asked(self, lower: IntArray, upper: IntArray) -> QuestionLimits:
        """Limit the points of answers to ``max_points``, or to what their conditions' bounds allow.

        Conditions that must have points may need more, together.
        """
        asked = self.questions
        spread = np.zeros(len(asked), dtype=np.int64)
        forced = [k for k in range(lower.size) if not self._has(k, 0)]
        np.add.at(spread, asked.of_column[forced], [abs(self._nearest(k)) for k in forced])
        spread = np.maximum(spread, self._max_points)
        np.maximum.at(spread, asked.of_column, np.maximum(np.abs(lower), np.abs(upper)))
        return QuestionLimits(
            of_column=asked.of_column,
            most=min(len(asked), max(0, self.most_questions)),
            answers=asked.answers,
            first=np.searchsorted(asked.of_answer, np.arange(len(asked) + 1)),
            spread=spread,
        )

    def _rates(self) -> RateLimits | None:
        if not self._floors and not self._ceilings:
            return None
        events, others = _exact_sum(self.table.events), _exact_sum(self.table.others)
        n = len(self.thresholds)
        found = [self._floors.get(i, Fraction(0)) * events for i in range(n)]
        alarms = [self._ceilings.get(i, Fraction(1)) * others for i in range(n)]
        if max(found) == 0 and min(alarms) == others:
            return None  # nothing is limited
        return RateLimits.passed_on(found, alarms)


def _exact_sum(masses: NDArray[Any]) -> Fraction:
    if masses.dtype.kind == "i":
        return Fraction(int(masses.sum()))
    return sum((Fraction(v) for v in masses.tolist()), Fraction(0))


def _matrix(rows: Sequence[tuple[dict[int, int], int]], n_columns: int) -> IntArray:
    support = np.zeros((len(rows), n_columns), dtype=np.int64)
    for r, (weights, _) in enumerate(rows):
        support[r, list(weights)] = list(weights.values())
    return support


def _idle(row: tuple[dict[int, int], int], lower: IntArray, upper: IntArray) -> bool:
    """Whether the bounds alone keep a support row."""
    weights, limit = row
    most = 0
    for k, weight in weights.items():
        needed, possible = lower[k] > 0 or upper[k] < 0, lower[k] != 0 or upper[k] != 0
        most += weight if needed else max(0, weight) if possible else 0
    return most <= limit
