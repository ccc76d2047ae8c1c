"""The rows of the integer program that :mod:`netbenefit.solvers.milp.model` describes, by kind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from netbenefit.common import FloatArray, InputError, IntArray
from netbenefit.problem import IntegerProblem, Problem

BoolArray = NDArray[np.bool_]
#: Coefficients of variables, lower and upper bound.
Row = tuple[dict[int, float], float, float]
#: Rows with larger numbers are divided by a power of two until they are below this.
_LARGE = 2**10
#: A row on scores holds, or fails by a whole unit.  It is loosened by a quarter of a unit: that
#: lets in no other card, and keeps true ones away from the edge, where rounding could cut them off.
_SPARE = 0.25
#: Differences of scores are used up to this many pairs of patterns times columns.
_MOST_PAIRS = 300_000_000


class ProgramRows(NamedTuple):
    """Some rows: lower ≤ matrix·z ≤ upper."""

    matrix: Any
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class RowPlan:
    """Which variables the integer program has, and what they stand for."""

    lower: IntArray  #: (P,) smallest allowed points
    upper: IntArray  #: (P,) largest allowed points
    levels: tuple[int, ...]  #: thresholds with a weight or a limited rate, but not 0
    gains: IntArray  #: (levels, n)
    up: BoolArray  #: (levels, n) whether a positive call must be true
    down: BoolArray  #: (levels, n) whether a negative call must be true
    called_level: IntArray  #: (C,) level of each φ
    called_pattern: IntArray  #: (C,) pattern of each φ
    #: (Z,) columns with gaps between allowed values: one variable per value
    choice_column: IntArray
    choice_value: IntArray  #: (Z,)
    side_column: IntArray  #: (S,) where α_k = 1 has to mean λ_k ≠ 0
    side_sign: IntArray  #: (S,) "λ_k is positive" or "λ_k is negative"
    asked: tuple[IntArray, ...]  #: columns of each question with several that may have points
    #: answers (rows) to each question where bounds do not keep them together, and their spread
    apart: tuple[tuple[IntArray, int], ...]
    size_column: IntArray  #: (A,) columns that need a variable for |λ_k|
    cutoff_range: tuple[int, int]  #: lowest and highest cut-off of all cards


def make_plan(problem: Problem, integers: IntegerProblem) -> RowPlan:
    """Decide which variables are needed."""
    allowed = _allowed_values(problem)
    lower = np.array([values[0] for values in allowed], dtype=np.int64)
    upper = np.array([values[-1] for values in allowed], dtype=np.int64)
    gaps = [k for k, values in enumerate(allowed) if len(values) <= upper[k] - lower[k]]
    both = (lower < 0) & (upper > 0)
    strict = (problem.limits.support < 0).any(axis=0) & both
    strict[gaps] = False  # their choices are exact
    sides = np.flatnonzero(strict)
    bounded = problem.limits.total < int(np.maximum(np.abs(lower), np.abs(upper)).sum())
    levels, gains, up, down = _calls(problem, integers)
    called_level, called_pattern = np.nonzero(up | down)
    low, high = _score_range(integers, lower, upper)
    return RowPlan(
        lower=lower,
        upper=upper,
        levels=levels,
        gains=gains,
        up=up,
        down=down,
        called_level=called_level.astype(np.int64),
        called_pattern=called_pattern.astype(np.int64),
        choice_column=np.array([k for k in gaps for _ in allowed[k]], dtype=np.int64),
        choice_value=np.array([v for k in gaps for v in allowed[k]], dtype=np.int64),
        side_column=np.repeat(sides, 2).astype(np.int64),
        side_sign=np.tile(np.array([1, -1], dtype=np.int64), sides.size),
        asked=tuple(own for own in _questions(problem, lower, upper) if own.size > 1),
        apart=tuple(_apart(problem, lower, upper)),
        size_column=np.flatnonzero(both & bounded).astype(np.int64),
        cutoff_range=(int(low.min()) // integers.unit, int(high.max()) // integers.unit + 1),
    )


def _questions(problem: Problem, lower: IntArray, upper: IntArray) -> list[IntArray]:
    """The columns of each question, those that may have points."""
    open_columns = np.flatnonzero((lower != 0) | (upper != 0))
    question = problem.limits.asked.of_column[open_columns]
    return [open_columns[question == q] for q in np.unique(question)]


def _apart(problem: Problem, lower: IntArray, upper: IntArray) -> Iterator[tuple[IntArray, int]]:
    """Answers that the bounds of points let lie too far apart."""
    limits = problem.limits.asked
    for q, spread in enumerate(limits.spread.tolist()):
        answers = limits.answers[limits.first[q] : limits.first[q + 1]]
        d = answers[:, None] - answers
        most = np.maximum(d, 0) @ upper + np.minimum(d, 0) @ lower
        if most.max(initial=0) > spread:
            yield answers, spread


def _allowed_values(problem: Problem) -> list[list[int]]:
    allowed = []
    for k, (low, high) in enumerate(zip(problem.lower, problem.upper, strict=True)):
        mask = problem.limits.values[k]
        values = [v for v in range(int(low), int(high) + 1) if mask[v - int(low)]]
        if not values:
            name = problem.patterns.names[k]
            raise InputError(
                f"no card meets the constraints: column {name!r} has no allowed value. Loosen them."
            )
        allowed.append(values)
    return allowed


def _calls(
    problem: Problem, integers: IntegerProblem
) -> tuple[tuple[int, ...], IntArray, BoolArray, BoolArray]:
    """Levels, their gains, and which calls must be true in which direction."""
    thresholds, table, rates = problem.thresholds, problem.patterns, problem.limits.rates
    weighed = [p > 0 and w > 0 for p, w in zip(thresholds.values, thresholds.weights, strict=True)]
    finds = [False] * len(weighed) if rates is None else [f > 0 for f in rates.found]
    others = _sum(table.others)
    alarms = [False] * len(weighed) if rates is None else [f < others for f in rates.alarms]
    levels = tuple(
        i
        for i, p in enumerate(thresholds.values)
        if p > 0 and (weighed[i] or finds[i] or alarms[i])
    )
    gains = np.zeros((len(levels), integers.units.shape[0]), dtype=np.int64)
    gains[[weighed[i] for i in levels]] = integers.gains
    find = np.array([finds[i] for i in levels], dtype=np.bool_)[:, None]
    alarm = np.array([alarms[i] for i in levels], dtype=np.bool_)[:, None]
    up = (gains > 0) | (find & (table.events > 0))
    down = (gains < 0) | (alarm & (table.others > 0))
    return levels, gains, up, down


def _sum(masses: NDArray[Any]) -> Fraction:
    return sum((Fraction(m) for m in masses.tolist()), Fraction(0))


def _score_range(
    integers: IntegerProblem, lower: IntArray, upper: IntArray
) -> tuple[IntArray, IntArray]:
    """Lowest and highest score of each pattern, in units."""
    plus: IntArray = np.maximum(integers.units, 0)
    minus: IntArray = np.minimum(integers.units, 0)
    low: IntArray = plus @ lower + minus @ upper
    high: IntArray = plus @ upper + minus @ lower
    return low, high


def all_rows(
    problem: Problem,
    integers: IntegerProblem,
    plan: RowPlan,
    blocks: Mapping[str, slice],
) -> tuple[list[ProgramRows], int]:
    """All rows, and the largest big-M."""
    width = blocks["sizes"].stop
    calls, big_m = _call_rows(integers, plan, blocks)
    others = [
        *_use_rows(plan, blocks),
        *_choice_rows(plan, blocks),
        *_side_rows(plan, blocks),
        *_support_rows(problem, blocks),
        *_question_rows(problem, plan, blocks),
        *_answer_rows(plan, blocks),
        *_total_rows(problem, plan, blocks),
        *_rate_rows(problem, plan, blocks),
    ]
    return [_order_rows(plan, blocks), calls, _from_lists(others, width)], big_m


# -- calls and cut-offs --------------------------------------------------------------------------


def _call_rows(
    integers: IntegerProblem, plan: RowPlan, blocks: Mapping[str, slice]
) -> tuple[ProgramRows, int]:
    """Rows 2 and 3: what a call implies about a score.

    up:    S_u − unit·T_i − M φ_iu ≥ −M  with M ≥ unit·T_i − S_u,
    down:  S_u − unit·T_i − M φ_iu ≤ −1  with M ≥ S_u − unit·T_i + 1.
    """
    most_up, most_down = _big_m(integers, plan)
    up = plan.up[plan.called_level, plan.called_pattern]
    down = plan.down[plan.called_level, plan.called_pattern]
    place = np.concatenate([np.flatnonzero(up), np.flatnonzero(down)])
    is_up = np.arange(place.size) < int(up.sum())
    pattern, level = plan.called_pattern[place], plan.called_level[place]
    big = np.where(is_up, most_up[pattern], most_down[pattern])
    scores = sparse.csr_array(integers.units)[pattern].tocoo()
    row = np.arange(place.size)
    entries = [
        (scores.row, scores.col + blocks["points"].start, scores.data),
        (row, blocks["cutoffs"].start + level, np.full(row.size, -integers.unit)),
        (row, blocks["called"].start + place, -big),
    ]
    bound = np.where(is_up, -big, -1)
    rows = _whole_rows(entries, bound, is_up, blocks["sizes"].stop)
    return rows, int(big.max(initial=0))


def _big_m(integers: IntegerProblem, plan: RowPlan) -> tuple[IntArray, IntArray]:
    """Largest unit·T − S_u and S_u − unit·T + 1 of each pattern."""
    unit, (first, last) = integers.unit, plan.cutoff_range
    low, high = _score_range(integers, plan.lower, plan.upper)
    up, down = unit * last - low, high - unit * first + 1
    n, n_columns = integers.units.shape
    if n * n * n_columns > _MOST_PAIRS:
        return np.maximum(up, 1), np.maximum(down, 1)
    for u in range(n):
        # ⌊s_v⌋ ≤ T ≤ ⌊s_w⌋ + 1 for the lowest score s_v and the highest s_w, whichever they are
        d = integers.units - integers.units[u]
        plus, minus = np.maximum(d, 0), np.minimum(d, 0)
        above = int((plus @ plan.upper + minus @ plan.lower).max())
        below = int((plus @ plan.lower + minus @ plan.upper).min())
        up[u], down[u] = min(up[u], above + unit), min(down[u], unit - below)
    return up, down


def _whole_rows(
    entries: Sequence[tuple[Any, Any, Any]], bound: IntArray, is_lower: BoolArray, width: int
) -> ProgramRows:
    """Rows of whole numbers with one bound each; large ones are divided by a power of two."""
    row = np.concatenate([r for r, _, _ in entries]).astype(np.int64)
    column = np.concatenate([c for _, c, _ in entries]).astype(np.int64)
    data = np.concatenate([d for _, _, d in entries]).astype(np.float64)
    largest = np.ones(bound.size)
    np.maximum.at(largest, row, np.abs(data))
    power = np.maximum(0, np.ceil(np.log2(largest / _LARGE)))
    scale = 2.0**-power
    matrix = sparse.csr_array((data * scale[row], (row, column)), shape=(bound.size, width))
    return ProgramRows(
        matrix,
        np.where(is_lower, (bound - _SPARE) * scale, -np.inf),
        np.where(is_lower, np.inf, (bound + _SPARE) * scale),
    )


def _order_rows(plan: RowPlan, blocks: Mapping[str, slice]) -> ProgramRows:
    """Rows T_i ≤ T_{i+1}, and φ of a higher threshold ≤ φ of the next lower one that has it."""
    by_pattern = np.lexsort((plan.called_level, plan.called_pattern))
    same = np.diff(plan.called_pattern[by_pattern]) == 0
    cutoffs = blocks["cutoffs"].start + np.arange(len(plan.levels))
    called = blocks["called"].start + by_pattern
    small = np.concatenate([cutoffs[:-1], called[1:][same]])
    large = np.concatenate([cutoffs[1:], called[:-1][same]])
    row = np.arange(small.size)
    ones = np.ones(small.size)
    matrix = sparse.csr_array(
        (np.concatenate([ones, -ones]), (np.tile(row, 2), np.concatenate([small, large]))),
        shape=(small.size, blocks["sizes"].stop),
    )
    return ProgramRows(matrix, np.full(small.size, -np.inf), np.zeros(small.size))


# -- points and limits: rows one by one ------------------------------------------------------------


def _from_lists(found: Sequence[Row], width: int) -> ProgramRows:
    row = [r for r, (terms, _, _) in enumerate(found) for _ in terms]
    column = [j for terms, _, _ in found for j in terms]
    data = [float(c) for terms, _, _ in found for c in terms.values()]
    matrix = sparse.csr_array((data, (row, column)), shape=(len(found), width))
    return ProgramRows(
        matrix,
        np.array([low for _, low, _ in found], dtype=np.float64),
        np.array([high for _, _, high in found], dtype=np.float64),
    )


def _use_rows(plan: RowPlan, blocks: Mapping[str, slice]) -> Iterator[Row]:
    """Rows 1: λ_k = 0 unless α_k = 1; and α_k = 0 if λ_k = 0, where that comes for free."""
    known = {*plan.choice_column.tolist(), *plan.side_column.tolist()}
    for k, (low, high) in enumerate(zip(plan.lower.tolist(), plan.upper.tolist(), strict=True)):
        if k in known or low > 0 or high < 0 or low == high:
            continue
        points, used = blocks["points"].start + k, blocks["used"].start + k
        least, most = (1 if low == 0 else low), (-1 if high == 0 else high)
        yield {points: 1, used: -most}, -math.inf, 0
        yield {points: 1, used: -least}, 0, math.inf


def _choice_rows(plan: RowPlan, blocks: Mapping[str, slice]) -> Iterator[Row]:
    """Rows for columns with gaps: one of the allowed values; α_k = 0 if that is 0."""
    for k in sorted(set(plan.choice_column.tolist())):
        places = np.flatnonzero(plan.choice_column == k)
        values = plan.choice_value[places].tolist()
        choices = (blocks["choices"].start + places).tolist()
        points, used = blocks["points"].start + k, blocks["used"].start + k
        yield dict.fromkeys(choices, 1.0), 1, 1
        yield {points: -1, **{z: v for z, v in zip(choices, values, strict=True) if v}}, 0, 0
        zero = {choices[values.index(0)]: 1.0} if 0 in values else {}
        yield {used: 1.0, **zero}, 1, 1


def _side_rows(plan: RowPlan, blocks: Mapping[str, slice]) -> Iterator[Row]:
    """Rows that make α_k = 1 mean λ_k ≠ 0: α = π + ν, π + low·ν ≤ λ ≤ high·π − ν."""
    for place in range(0, plan.side_column.size, 2):
        k = int(plan.side_column[place])
        low, high = int(plan.lower[k]), int(plan.upper[k])
        points, used = blocks["points"].start + k, blocks["used"].start + k
        plus = blocks["sides"].start + place
        minus = plus + 1
        yield {used: 1, plus: -1, minus: -1}, 0, 0
        yield {points: 1, plus: -1, minus: -low}, 0, math.inf
        yield {points: 1, plus: -high, minus: 1}, -math.inf, 0


def _support_rows(problem: Problem, blocks: Mapping[str, slice]) -> Iterator[Row]:
    """Rows Σ support[r, k] α_k ≤ limit[r]."""
    limits, first = problem.limits, blocks["used"].start
    for row, limit in zip(limits.support.tolist(), limits.support_limit.tolist(), strict=True):
        yield {first + k: c for k, c in enumerate(row) if c}, -math.inf, limit


def _question_rows(problem: Problem, plan: RowPlan, blocks: Mapping[str, slice]) -> Iterator[Row]:
    """Rows asked_q ≥ α_k for each column k of question q, and for the most questions."""
    used, asked = blocks["used"].start, blocks["asked"].start
    for place, own in enumerate(plan.asked):
        for k in own.tolist():
            yield {asked + place: 1, used + k: -1}, 0, math.inf
    questions = _questions(problem, plan.lower, plan.upper)
    if plan.asked and problem.limits.asked.most < len(questions):
        places = range(asked, blocks["asked"].stop)
        single = [used + int(own[0]) for own in questions if own.size == 1]
        yield dict.fromkeys([*places, *single], 1.0), -math.inf, problem.limits.asked.most


def _answer_rows(plan: RowPlan, blocks: Mapping[str, slice]) -> Iterator[Row]:
    """Rows least_q ≤ x_a·λ ≤ least_q + spread for each answer a to question q."""
    points = blocks["points"].start
    for place, (answers, spread) in enumerate(plan.apart):
        for answer in answers.tolist():
            terms = {points + k: float(code) for k, code in enumerate(answer) if code}
            yield {**terms, blocks["least"].start + place: -1}, 0, spread


def _total_rows(problem: Problem, plan: RowPlan, blocks: Mapping[str, slice]) -> Iterator[Row]:
    """Rows β_k ≥ |λ_k|, where there is a β_k, and Σ |λ_k| ≤ total."""
    first = blocks["points"].start
    terms: dict[int, float] = {}
    for k in range(plan.lower.size):
        if plan.lower[k] >= 0:
            terms[first + k] = 1
        elif plan.upper[k] <= 0:
            terms[first + k] = -1
    for place, k in enumerate(plan.size_column.tolist()):
        size = blocks["sizes"].start + place
        yield {size: 1, first + k: -1}, 0, math.inf
        yield {size: 1, first + k: 1}, 0, math.inf
        terms[size] = 1
    most = np.maximum(np.abs(plan.lower), np.abs(plan.upper))
    if problem.limits.total < int(most.sum()):
        yield terms, -math.inf, problem.limits.total


def _rate_rows(problem: Problem, plan: RowPlan, blocks: Mapping[str, slice]) -> Iterator[Row]:
    """Rows for events found and false alarms; real masses get their bounds rounded outward."""
    rates, table = problem.limits.rates, problem.patterns
    if rates is None:
        return
    if rates.alarms[0] < _sum(table.others):
        raise InputError(
            "no card meets the constraints: all rows are called positive at threshold 0, so false "
            "alarms cannot be limited there. Limit them at a threshold above 0."
        )
    place = np.full(plan.gains.shape, -1)
    place[plan.called_level, plan.called_pattern] = np.arange(plan.called_level.size)
    for level, i in enumerate(plan.levels):
        call = (blocks["called"].start + place[level]).tolist()
        for masses, low, high in (
            (table.events, rates.found[i], None),
            (table.others, None, rates.alarms[i]),
        ):
            terms = {call[u]: float(m) for u, m in enumerate(masses.tolist()) if m > 0}
            total = _sum(masses)
            if (low is not None and low > 0) or (high is not None and high < total):
                spare = 0.0 if table.is_whole else 1e-9 * float(total)
                least = -math.inf if low is None else math.ceil(low) if table.is_whole else low
                most = math.inf if high is None else math.floor(high) if table.is_whole else high
                yield terms, float(least) - spare, float(most) + spare
