"""What is searched: patterns, thresholds, penalty and allowed points, as one immutable object.

With N rows, weights ω, odds r and integer points λ, a solver maximises

    G(λ) = Σ_i ω_i max_T (TP_i(T) − r_i FP_i(T)) / N − C0 · questions − C1 · further rules .

A question is used if any of its conditions has points; each rule beyond the first on the same
question is a further one.  With one condition per question the price is C0 · ‖λ‖₀, as published.
TP and FP add up the masses of the patterns: outcomes of rows, or a blend with a teacher's risks.
Limits on rates of events found and false alarms always refer to the outcomes.

Where a common scale exists, G is held as an integer: ``scale · N · G = rates[0] · gain −
rates[1] · size − rates[2] · questions`` up to a constant, with no rounding anywhere; rates[1] is
the price C1 of a rule, and rates[2] what a question costs beyond its first rule, C0 − C1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import MOST_POINTS
from netbenefit.common import InputError, IntArray, Table, Tabular, exact_number, relative_gap
from netbenefit.data import PatternTable
from netbenefit.metrics import Thresholds
from netbenefit.problem.constraints import Constraint, MaxFPR, MinTPR, all_constraints, in_arrays
from netbenefit.problem.levels import allowed_cutoffs, common_unit, floor_scores
from netbenefit.problem.limits import Limits, whole
from netbenefit.problem.questions import Questions

# -- what a proof consists of: boxes of points that cover the search space, each with a bound ------


class Reason(IntEnum):
    """Why no card of a box is worth more than the box's value."""

    FLOW = 0  #: the pair-order flow bound, with the price of columns whose points exclude 0
    COUNTED = 1  #: every allowed vector of the box was evaluated; the value is the best of them
    DOUBLED = 2  #: twice each vector is allowed too and is worth as much or more; see the others
    FORBIDDEN = 3  #: the limits allow no vector of the box
    SHIFTED = 4  #: a one-hot group can be shifted by 1, its first column towards 0, for free
    PACKED = 5  #: multipliers of conflicts between patterns; see :class:`Packing`


class Asked(IntEnum):
    """Which vectors of a box count, by what they ask."""

    NO = 0  #: those without points on the question
    YES = 1  #: those with points on it
    EITHER = 2


class Way(IntEnum):
    """What a card that resolves a conflict is charged with."""

    SIGNS = 0  #: a share of the multiplier at each column whose points could resolve it
    ORDER = 1  #: all of it, by the sign of D·λ, which all conflicts along the same D share


@dataclass(frozen=True, eq=False)
class Conflicts:
    """Patterns that some card gets wrong, unless D·λ > 0, where D = Σ times · x.

    If all patterns with positive ``times`` are called and none of those with negative ones is,
    every score of the first is above every score of the others.  The ``times`` of each add up to 0.
    """

    threshold: IntArray  #: (C,) row of :attr:`IntegerProblem.gains`
    start: IntArray  #: (C + 1,) conflict c has the members start[c] … start[c + 1] − 1
    pattern: IntArray  #: (members,) position of the pattern in the table
    times: IntArray  #: (members,)

    def __len__(self) -> int:
        return int(self.threshold.size)


@dataclass(frozen=True, eq=False)
class Packing:
    """Multipliers of the boxes whose reason is :attr:`Reason.PACKED`; in whole numbers of values.

    Box b has the conflicts start[b] … start[b + 1] − 1 and the fines fine_start[b] ….  A fine is
    the multiplier of a limit: a row of ``Limits.support`` (0 …), then the most features, then the
    most questions.  Any multipliers give a bound; see ``docs/certificate_format.md``.
    """

    conflicts: Conflicts
    start: IntArray  #: (B + 1,)
    conflict: IntArray  #: (entries,) which one
    amount: IntArray  #: (entries,) its multiplier, above 0
    way: IntArray  #: (entries,) :class:`Way`
    fine_start: IntArray  #: (B + 1,)
    limit: IntArray  #: (fines,) which one
    fine: IntArray  #: (fines,) above 0


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of points, with whole-number bounds in the units of :class:`IntegerProblem`."""

    lower: IntArray  #: (B, P): a box holds the vectors with lower ≤ λ ≤ upper
    upper: IntArray  #: (B, P)
    #: (B,) no card of the box is worth more (the smallest int64 where there is none)
    values: IntArray
    reasons: IntArray  #: (B,) uint8, one :class:`Reason` per box
    asked: IntArray | None = None  #: (B, Q) :class:`Asked`; None where all are EITHER
    packing: Packing | None = None  #: None where no reason is PACKED

    def __len__(self) -> int:
        return int(self.values.size)


#: In units of net benefit: a card is called optimal only if no other can be better by more.
NEGLIGIBLE = Fraction(1, 10**9)


def is_settled(bound: Fraction, objective: Fraction, rounding: Fraction) -> bool:
    """Whether a bound, of which ``rounding`` may be rounding, shows that a card is optimal.

    This is the one definition of "optimal".
    """
    return bound <= objective + rounding and rounding <= NEGLIGIBLE


@dataclass(frozen=True, eq=False)
class Proof:
    """Why no card is worth more than ``bound``."""

    method: str  #: such as "branch and bound" or "direction signs"
    bound: Fraction  #: no allowed card has a higher objective
    boxes: Boxes | None = None  #: of branch and bound: they cover the search space
    #: what real weights, held in whole numbers, can add to the bound
    rounding: Fraction = Fraction(0)
    #: figures for the trace and the certificate; only what JSON can hold
    details: dict[str, Any] = field(default_factory=dict)

    def settles(self, objective: Fraction) -> bool:
        """Whether a card of this objective is the best, up to :data:`NEGLIGIBLE` at most."""
        return is_settled(self.bound, objective, self.rounding)


#: "finished": the search did all it meant to do; the others say what stopped it.
Status = Literal["finished", "time_limit", "interrupted", "optimal"]


class TraceRow(NamedTuple):
    """When a better card or a lower bound was found, and what gave it."""

    seconds: float
    objective: float
    size: int
    bound: float | None = None
    source: str = ""


@dataclass(frozen=True)
class Progress:
    """Where a running solver stands."""

    objective: float
    size: int
    seconds: float
    evaluations: int
    bound: float | None = None

    @property
    def gap(self) -> float | None:
        """How far the incumbent can be from the best, relative to itself; None if unknown."""
        return relative_gap(self.objective, self.bound)


@dataclass(frozen=True, eq=False, repr=False)
class SolverResult(Tabular):
    """A solver's answer, with its value counted anew from the data."""

    points: IntArray  #: (P,)
    cutoffs: tuple[int, ...]  #: T_1 … T_M, the best cut-off at each threshold
    objective: float  #: G, penalty included; exact up to the last rounding to a float
    net_benefit: float  #: weighted, of the masses that were trained on, without the penalty
    questions: int  #: how many are asked
    score_range: tuple[int, int]  #: lowest and highest floor-score of a training row
    bound: float | None  #: no card can have a higher objective; None where nothing is proven
    status: Status
    seconds: float
    evaluations: int  #: point vectors whose objective was computed
    trace: tuple[TraceRow, ...]  #: the improvements of card and bound, in order of time
    solver: str
    proof: Proof | None = None  #: where the bound comes from

    @property
    def size(self) -> int:
        """Number of non-zero points."""
        return int(np.count_nonzero(self.points))

    @property
    def gap(self) -> float | None:
        """(bound − objective) / |objective|; None where nothing is proven."""
        return relative_gap(self.objective, self.bound)

    def to_table(self) -> Table:
        """What was found and proven, in one row."""
        found = {
            "status": self.status,
            "objective": self.objective,
            "bound": math.nan if self.bound is None else self.bound,
            "gap": math.nan if self.gap is None else self.gap,
            "net_benefit": self.net_benefit,
            "questions": self.questions,
            "rules": self.size,
            "seconds": self.seconds,
            "solver": self.solver,
        }
        return Table({name: [value] for name, value in found.items()})

    def __repr__(self) -> str:
        gap = "nothing proven" if self.gap is None else f"gap {self.gap:.2%}"
        asked = f"{self.questions} question{'s' * (self.questions != 1)}"
        return (
            f"<SolverResult: {self.status}, objective {self.objective:.6f}, {gap}, {asked}, "
            f"{self.seconds:.1f} s>"
        )


# -- what a problem maximises, in numbers: the price of a rule, and the scale of gains -------------


#: Largest magnitude that sums in int64 may reach.
_ROOM = 2**62
#: Rows from which on ``penalty="auto"`` is one unit of prevalence / rows.
_MANY_ROWS = 4000
#: C1 / C0, where only C0 is given: what a further rule on a question costs.
RULE_SHARE = Fraction(1, 4)


class Scale(NamedTuple):
    """How gains and sizes add up: objective = (value + constant) / total.

    A value is rates[0] · gain − rates[1] · size − rates[2] · questions.
    """

    found: NDArray[Any]
    alarm: NDArray[Any]
    rates: NDArray[Any]
    constant: Fraction | float  #: value of thresholds that every card serves alike (p = 0)
    total: Fraction | float  #: what the sum is divided by


def _integer_scale(
    table: PatternTable, thresholds: Thresholds, prices: tuple[Fraction, Fraction]
) -> Scale | None:
    gains = thresholds.integer_gains
    if gains is None or not table.is_whole:
        return None
    events, others = int(table.event_mass), int(table.total_mass - table.event_mass)
    rule, question = (price * gains.scale * Fraction(table.total_mass) for price in prices)
    one = math.lcm(rule.denominator, question.denominator)
    largest = max(max(gains.found) * events, max(gains.alarm) * others)
    total_gain = sum(gains.found) * events
    top = one * (total_gain + (rule + question) * table.n_features)
    if largest >= _ROOM or top >= _ROOM or max(events, others) >= 2**31:
        return None
    kind = np.int32 if largest < 2**31 else np.int64
    kept = [i for i, alarm in enumerate(gains.alarm) if alarm > 0]
    constant = sum(f for f, alarm in zip(gains.found, gains.alarm, strict=True) if alarm == 0)
    return Scale(
        found=np.array([gains.found[i] for i in kept], dtype=kind),
        alarm=np.array([gains.alarm[i] for i in kept], dtype=kind),
        rates=np.array([one, int(one * rule), int(one * question)], dtype=np.int64),
        constant=Fraction(constant * events * one),
        total=Fraction(gains.scale * int(table.total_mass) * one),
    )


def _float_scale(
    table: PatternTable, thresholds: Thresholds, prices: tuple[Fraction, Fraction]
) -> Scale:
    weights, odds = thresholds.weight_array, thresholds.odds
    kept = np.flatnonzero(weights * odds > 0)
    return Scale(
        found=weights[kept],
        alarm=(weights * odds)[kept],
        rates=np.array([1.0, *(float(price * Fraction(table.total_mass)) for price in prices)]),
        constant=float(weights[odds == 0].sum() * table.event_mass),
        total=float(table.total_mass),
    )


def auto_units(n_rows: float) -> Fraction:
    """Price of a rule that ``penalty="auto"`` stands for, in units of prevalence / rows.

    √(N / 4000), to the hundredth, and at most 1: like the sampling error of net benefit, the price
    falls with the root of the rows, down to 1 / N, that of one more event found.
    """
    return min(Fraction(1), Fraction(round(100 * math.sqrt(n_rows / _MANY_ROWS)), 100))


#: One price, whose share :data:`RULE_SHARE` is that of a further rule; or both.
Penalty = str | float | Fraction | Sequence[float | Fraction]


def read_prices(penalty: Penalty, patterns: PatternTable) -> tuple[Fraction, Fraction]:
    """C0 and C1; a pair names both, anything else C0 alone."""
    if isinstance(penalty, str) or not np.iterable(penalty):
        first = read_penalty(penalty, patterns)
        return first, RULE_SHARE * first
    given = list(penalty)
    if len(given) != 2:
        raise InputError(
            f"penalty={penalty!r} must be one price, or two: of a question and of each further "
            "rule on it."
        )
    first, further = (read_penalty(price, patterns) for price in given)
    if further > first:
        raise InputError(
            f"penalty={penalty!r}: a further rule on a question may not cost more than the "
            "question itself. Swap the two prices, or give one."
        )
    return first, further


def read_penalty(penalty: str | float | Fraction, patterns: PatternTable) -> Fraction:
    """C0: "paper" is 0.1 · a0 / P; "auto" is auto_units · a0 / N; a number is itself."""
    share = Fraction(patterns.n_events) / Fraction(patterns.n_total)
    if isinstance(penalty, str):
        if penalty == "paper":
            return share / (10 * patterns.n_features)
        if penalty == "auto":
            return auto_units(patterns.n_total) * share / Fraction(patterns.n_total)
        raise InputError(f'penalty={penalty!r} is not known. Use "auto", "paper" or a number.')
    return exact_number(penalty, "penalty", '"auto", "paper"')


# -- columns of which exactly one is 1 in every row ------------------------------------------------
# Adding the same number to the points of all columns of such a group moves every score by that
# number, which changes no comparison.  A search that treats these cards as one sees a much smoother
# landscape: the column without points, against which the others are measured, can change in a
# single step.


def one_hot_groups(
    codes: IntArray, decimals: tuple[int, ...], questions: Questions | None = None
) -> IntArray:
    """Return (first, last) of the run of adjacent columns that each column shares its rows with.

    A column on its own gets (k, k + 1).  Only adjacent columns that vary are tried, as every
    encoder puts them; a constant column never gets points, not even by a shift.  Where questions
    have several columns, those of a run belong to one.
    """
    part = np.zeros(codes.shape[1], dtype=np.int64)
    if questions is not None and questions.grouped:
        part = questions.of_column
    n_columns = codes.shape[1]
    binary = [
        decimals[k] == 0 and codes[:, k].min() == 0 and codes[:, k].max() == 1
        for k in range(n_columns)
    ]
    groups = np.stack([np.arange(n_columns), np.arange(n_columns) + 1], axis=1)
    first = 0
    while first < n_columns:
        last = _end_of_group(codes, binary, part, first)
        groups[first:last] = first, last
        first = last
    return groups


def _end_of_group(codes: IntArray, binary: list[bool], part: IntArray, first: int) -> int:
    taken = np.zeros(codes.shape[0], dtype=np.int64)
    for k in range(first, codes.shape[1]):
        if not binary[k] or part[k] != part[first]:
            break
        taken += codes[:, k]
        if taken.max() > 1:
            break
        if taken.min() == 1:
            return k + 1
    return first + 1


class NoCardFound(InputError):
    """A search ended without a card that meets the constraints on rates; there may still be one."""


class Evaluation(NamedTuple):
    """A point vector's exact value, counted from the patterns."""

    objective: Fraction  #: what is maximised: G, penalty included
    net_benefit: Fraction  #: Σ_i ω_i NB_i
    cutoffs: tuple[int, ...]  #: T_1 … T_M
    score_range: tuple[int, int]  #: lowest and highest floor-score
    size: int  #: number of non-zero points
    questions: int  #: number of questions that these belong to


@dataclass(frozen=True, eq=False)
class Problem:
    """A search problem; build it with :meth:`build`.

    Problem ilp:original of the paper, on patterns.

    Examples
    --------
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1])
    >>> problem = Problem.build(table, Thresholds.of([0.5]), penalty=0.01)
    >>> problem.evaluate([1]).objective
    Fraction(197, 300)
    """

    patterns: PatternTable
    thresholds: Thresholds
    penalty: Fraction  #: C0, the price of a question that is used, in units of net benefit
    rule_penalty: Fraction  #: C1, that of each further rule; C0 where each column is a question
    questions: Questions
    lower: IntArray  #: (P,) smallest allowed points of each column
    upper: IntArray  #: (P,) largest
    max_features: int  #: largest allowed number of non-zero points
    constraints: tuple[Constraint, ...]  #: all, shorthands included, with columns by name
    limits: Limits  #: the same in arrays, which is what solvers read
    _start: IntArray
    max_points: int = 10  #: largest absolute points of a column without bounds of its own

    @classmethod
    def build(
        cls,
        patterns: PatternTable,
        thresholds: Thresholds,
        *,
        penalty: Penalty = "paper",
        max_points: int = 10,
        sign: Mapping[Any, Any] | None = None,
        bounds: Mapping[Any, Any] | None = None,
        max_features: int | None = None,
        max_questions: int | None = None,
        constraints: Sequence[Constraint] = (),
        questions: Questions | None = None,
    ) -> Problem:
        """Check the settings and put the problem together.

        Parameters
        ----------
        patterns : PatternTable
        thresholds : Thresholds
        penalty : "paper", "auto", number or pair of numbers, default="paper"
            C0; ``"paper"`` is the published 0.1 · a0 / P, ``"auto"`` is a0 / N times
            √(N / 4000), at most 1.  C1, the price of a further rule on a question, is a quarter
            of it, unless a pair (C0, C1) gives both.
        max_points : int, default=10
            Largest absolute value of a coefficient; of a question with several columns also the
            largest difference between two of its answers.
        sign : mapping of column to "+" / "-" (or 1 / −1), optional
            Columns whose points may not be negative, or not positive.
        bounds : mapping of column to (lowest, highest), optional
            Allowed points of single columns, instead of −max_points … max_points.
        max_features : int, optional
            Largest number of non-zero coefficients.
        max_questions : int, optional
            Largest number of questions with such coefficients.
        constraints : sequence of Constraint, optional
            Further constraints; see :mod:`netbenefit.problem.constraints`.  ``sign``,
            ``bounds``, ``max_features`` and ``max_questions`` are short for constraints of these
            names.  Where no points meet all of them, an error names some that clash.
        questions : Questions, optional
            Which columns belong together; by default each is a question of its own.
        """
        check_two_classes(patterns)
        weighed = zip(thresholds.values, thresholds.weights, strict=True)
        if not any(p > 0 and weight > 0 for p, weight in weighed):
            raise InputError(
                "all weight lies on threshold 0, where every card is equally good. Give weight to "
                "a threshold above 0."
            )
        most = whole(max_points, "max_points", 1)
        if most > MOST_POINTS:
            raise InputError(f"max_points={most} is too large. Use at most {MOST_POINTS}.")
        named = all_constraints(
            patterns.names, sign, bounds, max_features, constraints, max_questions
        )
        asked = Questions.single(patterns.names) if questions is None else questions
        form = in_arrays(patterns, thresholds, most, named, asked)
        first, further = read_prices(penalty, patterns)
        problem = cls(
            patterns,
            thresholds,
            first,
            further if asked.grouped else first,
            asked,
            form.lower,
            form.upper,
            form.size,
            named,
            form.limits,
            form.start,
            most,
        )
        problem._check_room()
        return problem

    # -- exact values ----------------------------------------------------------------------------

    def evaluate(self, points: Sequence[int] | IntArray) -> Evaluation:
        """Count a point vector's value from the patterns, exactly.

        Cut-offs are the best ones that the rates allow, if constraints limit any; where no cut-offs
        do, an InputError names the constraints.
        """
        vector = np.asarray(points, dtype=np.int64)
        table = self.patterns
        scores = floor_scores(table.codes, table.decimals, vector)
        best = self._cutoffs(scores)
        weights = self.thresholds.weight_fractions
        total = Fraction(table.total_mass)
        benefit = (
            sum((w * value for w, (_, value) in zip(weights, best, strict=True)), Fraction(0))
            / total
        )
        size, asked = int(np.count_nonzero(vector)), self.questions.used(vector)
        return Evaluation(
            objective=benefit - self.price(size, asked),
            net_benefit=benefit,
            cutoffs=tuple(cutoff for cutoff, _ in best[1:]),
            score_range=(int(scores.min()), int(scores.max())),
            size=size,
            questions=asked,
        )

    def price(self, size: int, questions: int) -> Fraction:
        """What so many rules on so many questions cost."""
        return self.penalty * questions + self.rule_penalty * (size - questions)

    def with_constraints(self, more: Sequence[Constraint]) -> Problem:
        """The same problem under more constraints."""
        return self._under((*self.constraints, *more))

    def without_constraints(self, kind: type[Constraint]) -> Problem:
        """The same problem without its constraints of one kind."""
        rest = tuple(one for one in self.constraints if not isinstance(one, kind))
        return self if rest == self.constraints else self._under(rest)

    def _under(self, constraints: tuple[Constraint, ...]) -> Problem:
        return self.with_patterns(self.patterns, self.questions, constraints)

    def with_patterns(
        self, patterns: PatternTable, questions: Questions, constraints: Sequence[Constraint]
    ) -> Problem:
        """The same thresholds, prices and largest points, for other conditions on the same rows."""
        named = tuple(constraint.named(patterns.names) for constraint in constraints)
        form = in_arrays(patterns, self.thresholds, self.max_points, named, questions)
        problem = replace(
            self,
            patterns=patterns,
            questions=questions,
            lower=form.lower,
            upper=form.upper,
            max_features=form.size,
            constraints=named,
            limits=form.limits,
            _start=form.start,
        )
        if patterns is not self.patterns:
            problem._check_room()
        return problem

    def _cutoffs(self, scores: IntArray) -> list[tuple[int, Fraction]]:
        """Best allowed cut-off of each threshold, and its TP − odds · FP."""
        table, rates = self.patterns, self.limits.rates
        odds = [p / (1 - p) for p in self.thresholds.fractions]
        limits: list[tuple[Fraction, Fraction | None]] = [(Fraction(0), None)] * len(odds)
        if rates is not None:
            limits = list(zip(rates.found, rates.alarms, strict=True))
        best: list[tuple[int, Fraction]] = []
        masses, outcomes = (table.positives, table.negatives), (table.events, table.others)
        for i, found in enumerate(allowed_cutoffs(scores, masses, odds, limits, outcomes)):
            if found is None:
                raise InputError(
                    "no cut-offs of this card meet all of these constraints: "
                    f"{self.rates_text(self.thresholds.values[i])}."
                )
            best.append(found)
        return best

    def allows(self, points: Sequence[int] | IntArray) -> bool:
        """Whether points keep to all limits except those of rates, which :meth:`feasible` adds."""
        vector, limits = np.asarray(points, dtype=np.int64), self.limits
        if not ((vector >= self.lower) & (vector <= self.upper)).all():
            return False
        own = limits.values[np.arange(vector.size), vector - self.lower]
        rows = limits.support @ (vector != 0) <= limits.support_limit
        few = self.questions.used(vector) <= limits.asked.most
        near = self.questions.spreads(vector) <= limits.asked.spread
        fits = own.all() and rows.all() and few and near.all()
        return bool(fits and np.abs(vector).sum() <= limits.total)

    def feasible(self, points: Sequence[int] | IntArray) -> bool:
        """Whether points keep to all limits, and cut-offs exist that keep to the rates."""
        if self.limits.rates is None or not self.allows(points):
            return self.allows(points)
        try:
            self.evaluate(points)
        except InputError:
            return False
        return True

    def nothing_found(self) -> NoCardFound:
        """Make the error of a search that found no feasible card."""
        return NoCardFound(
            "no card was found that meets the constraints on rates (no proof that there is none): "
            f"{self.rates_text()}. Relax a rate, search longer, or allow more columns or points."
        )

    def rates_text(self, threshold: float | None = None) -> str:
        """The constraints on rates (that matter at one threshold), for messages."""
        texts = [
            str(c)
            for c in self.constraints
            if (isinstance(c, MinTPR) and (threshold is None or c.threshold >= threshold - 1e-12))
            or (isinstance(c, MaxFPR) and (threshold is None or c.threshold <= threshold + 1e-12))
        ]
        return "; ".join(texts)

    @cached_property
    def is_plain(self) -> bool:
        """Whether there are no constraints except bounds, sizes and points of answers."""
        limits = self.limits
        widths = self.upper - self.lower + 1
        size_rows = 1 if self.max_features < widths.size else 0
        return (
            limits.rates is None
            and int(limits.values.sum()) == int(widths.sum())
            and limits.support.shape[0] == size_rows
            and limits.total >= int(np.maximum(np.abs(self.lower), np.abs(self.upper)).sum())
        )

    @cached_property
    def too_small(self) -> tuple[str, ...]:
        """Columns that vary, but whose points can never move a score by a whole point."""
        table = self.patterns
        spread = table.codes.max(axis=0) - table.codes.min(axis=0)
        most = np.maximum(np.abs(self.lower), np.abs(self.upper))
        reach = [
            int(s) * int(m) < 10**d for s, m, d in zip(spread, most, table.decimals, strict=True)
        ]
        return tuple(
            name
            for name, small, m in zip(table.names, reach, most, strict=True)
            if small and m and name not in table.constant
        )

    def nearest_to_zero(self) -> IntArray:
        """An allowed vector with the smallest entries (rates aside): where a search may start."""
        return self._start.copy()

    def primitive(self, points: IntArray) -> IntArray:
        """Divide by the greatest common divisor, where that changes no order and is allowed."""
        divisor = int(np.gcd.reduce(points)) if points.size else 0
        if divisor <= 1 or not self.patterns.is_integer:
            return points
        smaller = points // divisor
        return smaller if self.allows(smaller) else points

    # -- what a search needs ---------------------------------------------------------------------

    @property
    def gains(self) -> NDArray[Any]:
        """(2, m) worth of one event found and cost of one false alarm, in the search's units."""
        return np.stack([self._scale.found, self._scale.alarm])

    @cached_property
    def shift_groups(self) -> IntArray:
        """(P, 2) first and last of the columns whose points may be shifted together, for free."""
        n_columns, table = self.lower.size, self.patterns
        if self.is_plain and (self.penalty > 0 or self.max_features < n_columns):
            return one_hot_groups(table.codes, table.decimals, self.questions)
        # Sizes cost nothing, so nothing is gained by shifting; or other limits forbid it.
        return np.stack([np.arange(n_columns), np.arange(n_columns) + 1], axis=1)

    @property
    def exact_scale(self) -> tuple[Fraction, Fraction]:
        """(constant, total): the objective is (value of the search + constant) / total."""
        return Fraction(self._scale.constant), Fraction(self._scale.total)

    @property
    def rates(self) -> NDArray[Any]:
        """(3,) worth of one unit of gain, price of a rule, and what a question costs beyond it."""
        return self._scale.rates

    def to_objective(self, value: float) -> float:
        """Turn a value of the search into an objective."""
        exact = Fraction(int(value)) if self.rates.dtype.kind == "i" else float(value)
        return float((exact + self._scale.constant) / self._scale.total)

    @property
    def value_of_one(self) -> float:
        """What an objective of 1 is worth in the search's units."""
        return float(self._scale.total)

    @property
    def slack(self) -> float:
        """Differences up to this are rounding: none where values are whole numbers."""
        if self.rates.dtype.kind == "i":
            return 0
        dearest = float(self._scale.alarm.max())  # what is lost is rounded, too
        return max(1e-12, 1e-14 * dearest) * self.value_of_one

    @cached_property
    def _in_integers(self) -> IntegerProblem:
        return IntegerProblem._make(self)

    @cached_property
    def _scale(self) -> Scale:
        prices = self.rule_penalty, self.penalty - self.rule_penalty
        settings = self.patterns, self.thresholds, prices
        return _integer_scale(*settings) or _float_scale(*settings)

    def _check_room(self) -> None:
        """Refuse points and features whose scores would not fit in 64 bits."""
        table = self.patterns
        digits = max(table.decimals)
        reach = []
        for k, decimals in enumerate(table.decimals):
            most = max(abs(int(self.lower[k])), abs(int(self.upper[k])))
            code = max(abs(int(table.codes[:, k].min())), abs(int(table.codes[:, k].max())))
            reach.append(most * code * 10 ** (digits - decimals))
        if sum(reach) * 4 >= 2**63:
            culprit = table.names[reach.index(max(reach))]
            raise InputError(
                f"scores could exceed 64-bit integers; column {culprit!r} contributes most. "
                "Rescale or bin it, keep fewer decimals, or lower max_points."
            )


def check_two_classes(patterns: PatternTable) -> None:
    """Raise an error where no row, or every row, had the event."""
    if patterns.n_events in (0, patterns.n_total):
        what = "no events" if patterns.n_events == 0 else "only events"
        raise InputError(
            f"the outcome has one class only: there are {what}. A card needs rows of both classes."
        )


# -- a problem in whole numbers: what every bound works on -----------------------------------------
# With points λ, floors of the scores s_u = ⌊x_u·λ⌋ and one cut-off per threshold,
# value(λ) = Σ_i max_T Σ_{u: s_u ≥ T} gains[i, u] − price · ‖λ‖₀ − question_price · questions(λ) ,
# objective = (value + constant) / total .
# Where no rates limit cut-offs, a call that loses more than all gains of its threshold never pays;
# it is held at minus their sum, which changes no value: so the scale is set by what there is to
# gain, not by the largest odds.
# Where masses, thresholds and prices have no common scale that fits, gains are rounded up and
# prices down, so that every value (and every bound of it) is at least the true one; ``exact`` then
# is False.


#: Sums of gains, and of losses, stay below this.
_ROOM_FOR_SUMS = 2**61
#: All that can be gained is kept below this where it has to be rounded.
_FINE = 2**56


@dataclass(frozen=True, eq=False)
class IntegerProblem:
    """A problem in whole numbers; build it with :meth:`of`."""

    units: IntArray  #: (n, P) features of a pattern: x = units / unit
    unit: int  #: 1 for integer data, else a power of ten
    #: (m, n) what calling pattern u positive adds, at thresholds where some call is a loss
    gains: IntArray
    price: int  #: of a non-zero coefficient: C1
    question_price: int  #: of a question with such coefficients, on top: C0 − C1
    questions: IntArray  #: (P,) question of each column
    lower: IntArray  #: (P,) allowed points
    upper: IntArray
    constant: Fraction
    total: Fraction  #: objective = (value + constant) / total
    exact: bool  #: whether nothing was rounded

    @classmethod
    def of(cls, problem: Problem) -> IntegerProblem:
        """Put a problem into whole numbers; done once per problem."""
        return problem._in_integers

    @classmethod
    def _make(cls, problem: Problem) -> IntegerProblem:
        table, worth = problem.patterns, _Worth.of(problem)
        digits = max(table.decimals)
        scale = np.array([10 ** (digits - d) for d in table.decimals], dtype=np.int64)
        exact = worth.exactly()
        gains, prices, total = exact or worth.rounded()
        return cls(
            units=table.codes * scale,
            unit=10**digits,
            gains=gains,
            price=prices[0],
            question_price=prices[1],
            questions=problem.questions.of_column,
            lower=problem.lower,
            upper=problem.upper,
            constant=worth.constant * total,
            total=total,
            exact=exact is not None,
        )

    def value(self, points: Sequence[int] | IntArray) -> int:
        """Value of a point vector."""
        vector = np.asarray(points, dtype=np.int64)
        digits = len(str(self.unit)) - 1
        scores = floor_scores(self.units, [digits] * vector.size, vector)
        total = -self.paid(vector != 0)
        for row in self.gains:
            masses = np.maximum(row, 0), np.maximum(-row, 0)
            (best,) = allowed_cutoffs(scores, masses, [Fraction(1)], [(Fraction(0), None)], masses)
            assert best is not None  # calling none is always allowed
            total += int(best[1])
        return total

    def paid(self, used: NDArray[np.bool_]) -> int:
        """Price of the (P,) columns that are used, and of their questions."""
        asked = np.unique(self.questions[used]).size
        return self.price * int(used.sum()) + self.question_price * asked

    def to_objective(self, value: int) -> Fraction:
        """Objective of a value; at least the true one where gains were rounded."""
        return (int(value) + self.constant) / self.total

    def from_objective(self, objective: Fraction) -> int:
        """Largest whole value whose objective is at most ``objective``."""
        return math.floor(objective * self.total - self.constant)

    @property
    def rounding(self) -> Fraction:
        """How much higher than the true objective a value may seem; 0 where nothing was rounded.

        (Where rates force calls that lose more than 64 bits can hold, values of such cards seem
        higher still: their bounds hold, and are not close.)
        """
        asked = np.unique(self.questions).size
        prices = self.lower.size + (asked if asked < self.lower.size else 0)
        return Fraction(0) if self.exact else (self.gains.size + prices) / self.total

    @property
    def ceiling(self) -> int:
        """Value of a card that calls every pattern right, without rules: the trivial bound."""
        return int(np.maximum(self.gains, 0).sum())


_Whole = tuple[IntArray, tuple[int, int], Fraction]


@dataclass(frozen=True, eq=False)
class _Worth:
    """What each call adds to the objective, in fractions: numerators / denominators[i]."""

    numerators: list[list[int]]  #: one row per threshold where some call is a loss
    denominators: list[int]
    prices: tuple[Fraction, Fraction]  #: of a rule, and what a question costs beyond its first
    constant: Fraction  #: of thresholds where no call is a loss
    n_prices: int  #: rules, and questions, that a card can have
    rated: bool  #: whether rates may force calls that lose

    @classmethod
    def of(cls, problem: Problem) -> _Worth:
        table, grid = problem.patterns, problem.thresholds
        mass, rated = Fraction(table.total_mass), problem.limits.rates is not None
        unit = 1 if table.is_whole else common_unit(table.positives, table.negatives)
        positives, negatives = (
            np.array([int(Fraction(v) * unit) for v in part.tolist()], dtype=object)
            for part in (table.positives, table.negatives)
        )
        rows, denominators, constant = [], [], Fraction(0)
        for p, weight in zip(grid.fractions, grid.weight_fractions, strict=True):
            found, alarm = weight / (mass * unit), weight * p / ((1 - p) * mass * unit)
            if alarm == 0:
                constant += found * sum(positives.tolist())
                continue
            one = math.lcm(found.denominator, alarm.denominator)
            gains = (positives * int(found * one) - negatives * int(alarm * one)).tolist()
            most = sum(gain for gain in gains if gain > 0)
            row = gains if rated else [max(gain, -most) for gain in gains]
            common = math.gcd(one, *row)
            rows.append([gain // common for gain in row])
            denominators.append(one // common)
        asked = len(problem.questions)
        return cls(
            numerators=rows,
            denominators=denominators,
            prices=(problem.rule_penalty, problem.penalty - problem.rule_penalty),
            constant=constant,
            n_prices=table.n_features + (asked if asked < table.n_features else 0),
            rated=rated,
        )

    def exactly(self) -> _Whole | None:
        """Gains and prices on the smallest scale on which they are whole; None if too large."""
        one = math.lcm(*self.denominators, *(price.denominator for price in self.prices))
        rows = [
            [gain * (one // d) for gain in row]
            for row, d in zip(self.numerators, self.denominators, strict=True)
        ]
        prices = [int(price * one) for price in self.prices]
        common = math.gcd(*prices, *(math.gcd(*row) for row in rows)) or 1
        gained, lost = self._sums()
        if one * max(gained, lost) >= _ROOM_FOR_SUMS * common:
            return None
        gains = np.array([[gain // common for gain in row] for row in rows], dtype=np.int64)
        return gains, (prices[0] // common, prices[1] // common), Fraction(one, common)

    def rounded(self) -> _Whole:
        """Gains rounded up and prices rounded down, on a scale that is a power of two.

        Rates may force calls whose losses would leave no room for a fine scale.  They then are cut
        off: values of cards that make such calls seem higher than they are.
        """
        gained, lost = self._sums()
        total = min(_power_of_two(_FINE / gained), _power_of_two(_ROOM_FOR_SUMS / (2 * lost)))
        count = sum(map(len, self.numerators))
        fine = 16 * (count + self.n_prices) / NEGLIGIBLE
        cut = _ROOM_FOR_SUMS
        if total < fine and self.rated:
            total = 2 * min(_power_of_two(fine), _power_of_two(_FINE / (2 * gained)))
            cut = _ROOM_FOR_SUMS // (2 * count)
        rows = [
            [max(-(-gain * total.numerator // (d * total.denominator)), -cut) for gain in row]
            for row, d in zip(self.numerators, self.denominators, strict=True)
        ]
        prices = math.floor(self.prices[0] * total), math.floor(self.prices[1] * total)
        return np.array(rows, dtype=np.int64), prices, total

    def _sums(self) -> tuple[Fraction, Fraction]:
        """Objective of all gains and prices, and of all losses."""
        gained = self.n_prices * sum(self.prices, Fraction(0))
        lost = Fraction(1, _FINE)  # so that there always is some
        for row, d in zip(self.numerators, self.denominators, strict=True):
            gained += Fraction(sum(gain for gain in row if gain > 0), d)
            lost -= Fraction(sum(gain for gain in row if gain < 0), d)
        return max(gained, lost / _FINE), lost


def _power_of_two(most: Fraction) -> Fraction:
    """Largest power of two up to ``most``."""
    power = most.numerator.bit_length() - most.denominator.bit_length()
    result = Fraction(2) ** power
    return result if result <= most else result / 2
