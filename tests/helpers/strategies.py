"""Random problems for Hypothesis: every kind of column, mass and threshold that a kernel meets."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from netbenefit.common.checks import InputError, IntArray
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds, tidy
from netbenefit.problem.constraints import (
    AtLeast,
    AtMost,
    Bounds,
    Constraint,
    Exclude,
    Exclusive,
    Implies,
    Include,
    MaxFeatures,
    MaxFPR,
    MaxQuestions,
    MaxTotalPoints,
    MinTPR,
    Sign,
    Values,
)
from netbenefit.problem.levels import floor_scores
from netbenefit.problem.problem import Problem
from netbenefit.problem.questions import Questions
from netbenefit.teachers.crossfit import blend

GRIDS = [
    Thresholds.tenths(),
    Thresholds.of([0.5], weights=[1.0]),
    Thresholds.range(0.05, 0.5, 0.15),
    Thresholds.of([0, 0.2, 0.35], weights="length"),
    Thresholds.of([0.3, 0.6], weights=[0.0, 1.0]),
]
#: No common integer scale: floats.
ROUGH_GRID = Thresholds.of([0.0857, 0.1102, 0.4491, 0.5778, 0.6975], weights="length")

#: Thresholds near both ends, with and without a common integer scale.
_NEAR_0 = st.sampled_from([1e-6, 3e-5, 0.001]) | st.floats(1e-6, 0.01)
_NEAR_1 = st.sampled_from([1 - 1e-6, 0.99999, 0.999]) | st.floats(0.99, 1 - 1e-6)
_BETWEEN = st.sampled_from([0.1, 0.5, 0.75]) | st.floats(0.02, 0.98)


@st.composite
def extreme_grids(draw: st.DrawFn) -> Thresholds:
    """One to four thresholds, most often some near 0 or 1; weights may differ by 10^6."""
    kinds = st.lists(st.sampled_from([_NEAR_0, _BETWEEN, _NEAR_1]), min_size=1, max_size=4)
    values = sorted({tidy(draw(kind)) for kind in draw(kinds)})
    if draw(st.booleans()):
        return Thresholds.of(values, weights=draw(st.sampled_from(["equal", "length"])), end=1.0)
    raw = [draw(st.sampled_from([1.0, 3.0, 1e-3, 1e-6, math.pi])) for _ in values]
    return Thresholds.of(values, weights=[w / math.fsum(raw) for w in raw])


#: Risks that a teacher may give, and its weight in rows (None: the teacher alone).
RISKS = st.sampled_from([0.0, 1.0, 0.5, 0.2, 1 / 3, 0.0004]) | st.floats(0, 1)
STRENGTHS = st.sampled_from([Fraction(1, 1000), Fraction(5, 2), Fraction(30), 10**9, None]).map(
    lambda n0: None if n0 is None else Fraction(n0)
)


_WIDE_WEIGHTS = st.sampled_from(
    [
        st.integers(1, 5),
        st.integers(0, 9).map(lambda power: 10**power),
        st.sampled_from([1.0, 0.37, 1e-6, 1e6, 1e-3, 12.5, math.e]),
        st.floats(-6, 6).map(lambda power: 10.0**power),
    ]
)


def _column(draw: st.DrawFn, kind: str, n: int) -> list[float]:
    values = {
        "binary": st.integers(0, 1),
        "two": st.sampled_from([0, 7]),
        "small": st.integers(-2, 4),
        "wide": st.sampled_from([0, 1, 3000, -50_000, 1_000_003]),
        "tenths": st.integers(-25, 25).map(lambda v: v / 10),
        "thousandths": st.sampled_from([0.0, 0.001, -0.5, 2.125, 40.999]),
        "constant": st.just(3),
    }[kind]
    return draw(st.lists(values, min_size=n, max_size=n))


KINDS = ["binary", "binary", "two", "small", "wide", "tenths", "thousandths", "constant"]


#: Prices of a question, some with that of each further rule on it.
PENALTIES = ["paper", "auto", 0.0, 0.01, (0.01, 0.002), (0.03, 0.0), (0.02, 0.02)]


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    max_rows: int = 10,
    max_columns: int = 4,
    kinds: tuple[str, ...] = tuple(KINDS),
    real_weights: bool = False,
    wide_weights: bool = False,
    groups: bool = False,
    taught: bool | None = None,
) -> PatternTable:
    """A table with both classes; with ``groups``, sometimes with a one-hot group.

    ``wide_weights`` are real or whole, over twelve orders of magnitude.

    With ``taught`` (None: sometimes), masses are outcomes blended with risks, which may contradict
    them.
    """
    n = draw(st.integers(2, max_rows))
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=max_columns))
    columns = [_column(draw, kind, n) for kind in chosen]
    if groups and len(columns) + 2 <= max_columns and draw(st.booleans()):
        n_levels = draw(st.integers(2, min(3, max_columns - len(columns))))
        level = draw(st.lists(st.integers(0, n_levels - 1), min_size=n, max_size=n))
        columns += [[float(code == v) for code in level] for v in range(n_levels)]
    X = np.column_stack(columns).astype(np.float64)
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n).filter(lambda y: 0 < sum(y) < n))
    whole = st.integers(1, 5)
    weight = st.floats(0.1, 3.0, allow_nan=False) if real_weights else whole
    weights = draw(st.lists(weight, min_size=n, max_size=n))
    if real_weights:
        weights[0] = 0.37  # so that not all of them happen to be whole
    if wide_weights:
        weights = draw(st.lists(draw(_WIDE_WEIGHTS), min_size=n, max_size=n))
    table = PatternTable.from_arrays(X, y, sample_weight=weights)
    if not (draw(st.integers(0, 2)) == 0 if taught is None else taught):
        return table
    drawn = draw(st.lists(RISKS, min_size=n, max_size=n))
    risks = np.where(draw(st.integers(0, 2)) == 0, 1.0 - np.array(y), drawn)
    return blend(table, risks, np.array(weights, dtype=np.float64), draw(STRENGTHS))[0]


@st.composite
def problems(
    draw: st.DrawFn,
    *,
    max_points: int = 4,
    real: bool = False,
    max_rows: int = 10,
    max_columns: int = 4,
    kinds: tuple[str, ...] = tuple(KINDS),
    constrained: bool = False,
    rates: bool = True,
    most_vectors: int = 3000,
    taught: bool | None = None,
    extreme: bool = False,
) -> Problem:
    """A problem: exact (integers) or not (real weights or thresholds without a common scale).

    Where it is ``extreme``, thresholds and weights are :func:`extreme_grids` and ``wide_weights``.

    With ``constrained``, constraints of every kind (rates only if ``rates`` is true), one-hot
    groups, and a box of at most ``most_vectors`` vectors, so that all of them can be tried.
    """
    real_weights = real and draw(st.booleans())
    table = draw(
        tables(
            max_rows=max_rows,
            max_columns=max_columns,
            kinds=kinds,
            real_weights=real_weights,
            wide_weights=extreme,
            groups=constrained,
            taught=taught,
        )
    )
    grid = ROUGH_GRID if real and not real_weights else draw(st.sampled_from(GRIDS))
    if extreme:
        grid = draw(extreme_grids())
    penalty = draw(st.sampled_from(PENALTIES))
    asked = draw(st.none() | some_questions(table))
    if constrained:
        return _constrained(draw, table, grid, penalty, max_points, rates, most_vectors, asked)
    bounds = {}
    for k in range(table.n_features):
        if draw(st.integers(0, 3)) == 0:
            low = draw(st.integers(-max_points, max_points))
            bounds[k] = (low, draw(st.integers(low, max_points)))
    forced = sum(low > 0 or high < 0 for low, high in bounds.values())
    limit = draw(st.none() | st.integers(forced, table.n_features))
    few = draw(st.none() | st.integers(forced, table.n_features))
    return Problem.build(
        table,
        grid,
        penalty=penalty,
        max_points=max_points,
        bounds=bounds,
        max_features=limit,
        max_questions=few,
        questions=asked,
    )


@st.composite
def some_questions(draw: st.DrawFn, table: PatternTable) -> Questions:
    """Columns that belong together, at random; their answers are the codes that occur, and 0."""
    n = table.n_features
    return questions_of(table, draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n)))


def questions_of(table: PatternTable, labels: list[int]) -> Questions:
    """Columns with the same label are one question."""
    n = table.n_features
    names = tuple(dict.fromkeys(labels))
    of_column = np.array([names.index(label) for label in labels], dtype=np.int64)
    answers, of_answer = [np.zeros((0, n), dtype=np.int64)], []
    for question in range(len(names)):
        own = np.flatnonzero(of_column == question)
        codes = table.codes[:, own]
        if own.size > 1 and np.isin(codes, (0, 1)).all() and not any(table.decimals):
            rows = np.zeros((len(codes) + 1, n), dtype=np.int64)
            rows[1:, own] = codes
            answers.append(np.unique(rows, axis=0))
            of_answer += [question] * len(answers[-1])
    return Questions(
        tuple(map(str, names)), of_column, np.concatenate(answers), np.array(of_answer, np.int64)
    )


def points_of(draw: st.DrawFn, problem: Problem) -> np.ndarray:
    """Points within the bounds (ignoring max_features)."""
    pairs = zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
    return np.array([draw(st.integers(low, high)) for low, high in pairs], dtype=np.int64)


def constrained_problems(
    *,
    max_points: int = 5,
    max_columns: int = 6,
    real: bool = False,
    max_rows: int = 10,
    kinds: tuple[str, ...] = tuple(KINDS),
    rates: bool = True,
    most_vectors: int = 3000,
    taught: bool | None = None,
    extreme: bool = False,
) -> st.SearchStrategy[Problem]:
    """Small problems with constraints of every kind; there may be no card that meets the rates."""
    return problems(
        max_points=max_points,
        max_columns=max_columns,
        real=real,
        max_rows=max_rows,
        kinds=kinds,
        constrained=True,
        rates=rates,
        most_vectors=most_vectors,
        taught=taught,
        extreme=extreme,
    )


def extreme_problems(**settings: Any) -> st.SearchStrategy[Problem]:
    """The same with thresholds from 1e-6 to 1 − 1e-6 and weights over twelve orders."""
    return constrained_problems(extreme=True, **settings)


@st.composite
def grouped_problems(draw: st.DrawFn, **settings: Any) -> Problem:
    """The same where questions have several columns, most often with a limit on questions."""
    problem = draw(constrained_problems(**settings).filter(lambda p: p.questions.grouped))
    few = draw(st.integers(1, len(problem.questions)))
    try:
        return problem.with_constraints([MaxQuestions(few)])
    except InputError:  # more must have points
        return problem


def _constrained(
    draw: st.DrawFn,
    table: PatternTable,
    grid: Thresholds,
    penalty: Any,
    max_points: int,
    rates: bool,
    most_vectors: int,
    asked: Questions | None,
) -> Problem:
    widest = int(most_vectors ** (1 / table.n_features))  # values per column, on average
    most = draw(st.integers(1, max(1, min(max_points, (widest - 1) // 2))))
    constraints = draw(constraint_lists(table, grid, most, rates=rates))
    # A wider column may be there as well, if there is room for it.
    room = most_vectors // (2 * most + 1) ** (table.n_features - 1)
    if room > 2 * most + 1 and draw(st.booleans()):
        k, top = draw(st.integers(0, table.n_features - 1)), min(max_points, (room - 1) // 2)
        low = draw(st.integers(-top, top))
        constraints.insert(0, Bounds(k, low, draw(st.integers(low, top))))
    while True:
        try:
            return Problem.build(
                table,
                grid,
                penalty=penalty,
                max_points=most,
                constraints=constraints,
                questions=asked,
            )
        except InputError:  # they contradict each other: drop one
            constraints.pop()


@st.composite
def constraint_lists(
    draw: st.DrawFn,
    table: PatternTable,
    grid: Thresholds,
    max_points: int,
    *,
    rates: bool = True,
    max_size: int = 4,
) -> list[Constraint]:
    """Constraints of all kinds on a table's columns, which may contradict each other."""
    column = st.sampled_from(table.names)
    columns = st.lists(column, min_size=1, max_size=4, unique=True)
    number = st.integers(-max_points, max_points)
    share = st.sampled_from(["0", "1/10", "1/3", "1/2", "3/4", "9/10", "1"]).map(Fraction)
    count = st.integers(0, 3)
    kinds: list[st.SearchStrategy[Constraint]] = [
        st.builds(lambda k, a, b: Bounds(k, min(a, b), max(a, b)), column, number, number),
        st.builds(Sign, column, st.sampled_from("+-")),
        st.builds(Values, column, st.lists(number, min_size=1, max_size=4)),
        st.builds(lambda k, v: Values(k, [0, *v]), column, st.lists(number, max_size=3)),
        st.builds(MaxFeatures, st.integers(0, table.n_features)),
        st.builds(MaxQuestions, st.integers(0, table.n_features)),
        columns.map(lambda names: Include(*names[:2])),
        columns.map(lambda names: Exclude(*names[:2])),
        columns.map(lambda names: Exclusive(*names)),
        st.builds(AtMost, count, columns),
        columns.flatmap(
            lambda names: st.builds(AtLeast, st.integers(1, len(names)), st.just(names))
        ),
        st.builds(Implies, column, column),
        st.builds(MaxTotalPoints, st.integers(0, 3 * max_points)),
    ]
    if rates:
        threshold = st.sampled_from(grid.values[1:])
        kinds += [st.builds(MinTPR, threshold, share), st.builds(MaxFPR, threshold, share)]
    constraints = draw(st.lists(st.one_of(kinds), min_size=2, max_size=max_size))
    if rates and draw(st.integers(0, 3)) == 0:  # both kinds, which may be impossible
        p, high = draw(threshold), draw(st.sampled_from(["1/2", "3/4", "9/10", "1"]))
        constraints += [MinTPR(p, high), MaxFPR(p, draw(st.sampled_from(["0", "1/10", "1/3"])))]
    return constraints


def all_points(problem: Problem) -> IntArray:
    """All vectors that a problem's limits allow, apart from rates: (count, P)."""
    limits, lower = problem.limits, problem.lower
    ranges = [
        [v for v in range(low, high + 1) if limits.values[k, v - low]]
        for k, (low, high) in enumerate(zip(lower.tolist(), problem.upper.tolist(), strict=True))
    ]
    vectors = np.array(list(itertools.product(*ranges)), dtype=np.int64).reshape(-1, lower.size)
    rows = ((vectors != 0) @ limits.support.T <= limits.support_limit).all(axis=1)
    rows &= np.abs(vectors).sum(axis=1) <= limits.total
    asked, most = problem.questions, limits.asked
    for question in range(len(asked)):
        worth = vectors @ asked.answers[asked.of_answer == question].T
        if worth.shape[1]:
            rows &= worth.max(axis=1) - worth.min(axis=1) <= most.spread[question]
    rows &= np.array([count_questions(problem, points) <= most.most for points in vectors])
    kept: IntArray = vectors[rows]
    return kept


def count_questions(problem: Problem, points: IntArray) -> int:
    """How many questions have points, one column after the other."""
    return len({int(problem.questions.of_column[k]) for k, v in enumerate(points) if v != 0})


def brute_force(problem: Problem) -> tuple[Fraction, IntArray] | None:
    """The best objective of all feasible vectors, and one that has it; None if there is none.

    Only the order of the patterns' floor-scores (ties included) decides the net benefit, so each
    order is evaluated once.
    """
    table = problem.patterns
    seen: dict[bytes, Fraction | None] = {}
    best: tuple[Fraction, IntArray] | None = None
    for points in all_points(problem):
        scores = floor_scores(table.codes, table.decimals, points)
        order = np.unique(scores, return_inverse=True)[1].astype(np.int16).tobytes()
        if order not in seen:
            try:
                seen[order] = problem.evaluate(points).net_benefit
            except InputError:  # no cut-offs within the rates
                seen[order] = None
        benefit = seen[order]
        if benefit is None:
            continue
        questions = count_questions(problem, points)
        further = int(np.count_nonzero(points)) - questions
        value = benefit - problem.penalty * questions - problem.rule_penalty * further
        if best is None or value > best[0]:
            best = value, points
    return best
