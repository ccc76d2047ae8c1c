"""Proofs of tiny problems by slow, simple code, for testing certificates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from netbenefit.problem.problem import Boxes, IntegerProblem, Problem, Proof, Reason, SolverResult
from netbenefit.solvers.base import Run
from netbenefit.teachers.crossfit import Taught, Teaching, blend

NOTHING = int(np.iinfo(np.int64).min)


def all_vectors(lower: Any, upper: Any) -> Iterator[tuple[int, ...]]:
    """Every vector of a box."""
    return product(*(range(int(a), int(b) + 1) for a, b in zip(lower, upper, strict=True)))


def best_points(problem: Problem) -> np.ndarray:
    """The best allowed points, by enumeration."""
    allowed = [v for v in all_vectors(problem.lower, problem.upper) if problem.feasible(v)]
    return np.array(max(allowed, key=lambda v: problem.evaluate(v).objective), dtype=np.int64)


def closure_bound(integers: IntegerProblem, lower: Any, upper: Any) -> int:
    """The pair-order bound of a box, by enumerating all sets of patterns."""
    units = integers.units.tolist()
    total = 0
    for row in integers.gains.tolist():
        good = [u for u, g in enumerate(row) if g > 0]
        drawn = {
            u: frozenset(
                w
                for w, g in enumerate(row)
                if g < 0 and _always_above(units[w], units[u], lower, upper)
            )
            for u in good
        }
        total += max(
            sum(row[u] for u in chosen)
            + sum(row[w] for w in frozenset().union(*(drawn[u] for u in chosen)))
            for size in range(len(good) + 1)
            for chosen in combinations(good, size)
        )
    forced = [k for k, ends in enumerate(zip(lower, upper, strict=True)) if not _holds_zero(*ends)]
    asked = {int(integers.questions[k]) for k in forced}
    return total - integers.price * len(forced) - integers.question_price * len(asked)


def _holds_zero(low: int, high: int) -> bool:
    return low <= 0 <= high


def _always_above(w: list[int], u: list[int], lower: Any, upper: Any) -> bool:
    return (
        sum(
            min((a - b) * int(low), (a - b) * int(high))
            for a, b, low, high in zip(w, u, lower, upper, strict=True)
        )
        >= 0
    )


def prove(
    problem: Problem, *, start: str = "double", target: Fraction | None = None
) -> SolverResult:
    """Branch and bound over boxes; stops once ``target``, if given, is proven."""
    integers, points = IntegerProblem.of(problem), best_points(problem)
    reach = problem.evaluate(points).objective if target is None else target
    prune = integers.from_objective(reach)
    leaves: list[tuple[Any, Any, int, Reason]] = []
    waiting = list(_starts(problem, start))
    while waiting:
        low, high = waiting.pop()
        allowed = [v for v in all_vectors(low, high) if problem.allows(v)]
        bound = closure_bound(integers, low, high)
        if not allowed:
            leaves.append((low, high, NOTHING, Reason.FORBIDDEN))
        elif start and _doubles(problem, low, high):
            leaves.append((low, high, 0, Reason.DOUBLED))
        elif start and _shifts(problem, low, high):
            leaves.append((low, high, 0, Reason.SHIFTED))
        elif bound <= prune:
            leaves.append((low, high, bound, Reason.FLOW))
        elif len(list(all_vectors(low, high))) <= 3:
            values = [integers.value(v) for v in allowed if problem.feasible(v)]
            if problem.limits.rates is not None:  # a vector's best cut-offs may not be allowed
                values = [rated_value(problem, integers, v) for v in allowed if problem.feasible(v)]
            leaves.append((low, high, max(values, default=NOTHING), Reason.COUNTED))
        else:
            k = int(np.argmax(np.subtract(high, low)))
            middle = (low[k] + high[k]) // 2
            waiting.append((low, [*high[:k], middle, *high[k + 1 :]]))
            waiting.append(([*low[:k], middle + 1, *low[k + 1 :]], high))
    return with_proof(problem, points, leaves)


def _peel(problem: Problem, inner: list[tuple[int, int]]) -> Iterator[tuple[list[int], list[int]]]:
    """An inner box of the search space, and slabs around it."""
    low, high = problem.lower.tolist(), problem.upper.tolist()
    for k, (first, last) in enumerate(inner):
        if first > last:
            break
        if low[k] < first:
            yield low, [*high[:k], first - 1, *high[k + 1 :]]
        if high[k] > last:
            yield [*low[:k], last + 1, *low[k + 1 :]], high
        low, high = [*low[:k], first, *low[k + 1 :]], [*high[:k], last, *high[k + 1 :]]
    yield low, high


def _starts(problem: Problem, start: str) -> Iterator[tuple[list[int], list[int]]]:
    """Boxes to start from: vectors that can be doubled, or that can be shifted down."""
    pairs = list(zip(problem.lower.tolist(), problem.upper.tolist(), strict=True))
    if start == "double":
        yield from _peel(problem, [(-(-a // 2), b // 2) for a, b in pairs])
    elif start == "shift":
        yield from _peel(
            problem, [(max(1, pairs[0][0] + 1), pairs[0][1])] + [(a + 1, b) for a, b in pairs[1:]]
        )
    else:
        yield problem.lower.tolist(), problem.upper.tolist()


def rated_value(problem: Problem, integers: IntegerProblem, points: Any) -> int:
    """Value of points under limits on rates, from the exact objective."""
    value = problem.evaluate(points).objective * integers.total - integers.constant
    assert value.denominator == 1
    return int(value)


def _doubles(problem: Problem, low: list[int], high: list[int]) -> bool:
    inside = all(
        2 * a >= lo and 2 * b <= up
        for a, b, lo, up in zip(low, high, problem.lower, problem.upper, strict=True)
    )
    most = 2 * sum(max(abs(a), abs(b)) for a, b in zip(low, high, strict=True))
    inside = inside and most <= problem.limits.total  # ``verify`` does not check single vectors
    corners = list(product(*zip(low, high, strict=True)))
    wide = np.max([problem.questions.spreads(np.array(v)) for v in corners], axis=0)
    inside = inside and bool((2 * wide <= problem.limits.asked.spread).all())
    return inside and all(
        problem.allows([2 * x for x in v]) for v in all_vectors(low, high) if problem.allows(v)
    )


def _shifts(problem: Problem, low: list[int], high: list[int]) -> bool:
    """Whether the first two or three columns are one-hot and can be moved towards 0."""
    limits = problem.limits
    full = int(np.maximum(np.abs(problem.lower), np.abs(problem.upper)).sum())
    widths = problem.upper - problem.lower + 1
    if problem.penalty or problem.questions.grouped:
        return False
    if len(limits.support) or limits.total < full:
        return False
    if not (limits.values.sum(axis=1) == widths).all():
        return False
    codes = problem.patterns.codes
    for last in (2, 3):
        group = slice(0, last)
        if last > codes.shape[1] or max(problem.patterns.decimals[group]):
            return False
        if not ((codes[:, group].sum(axis=1) == 1).all() and (codes[:, group] >= 0).all()):
            continue
        if not (codes[:, group].max(axis=0) == 1).all():
            continue
        if (problem.lower[group] > 0).any() or (problem.upper[group] < 0).any():
            return False
        down = low[0] > 0 and all(low[group] > problem.lower[group])
        up = high[0] < 0 and all(high[group] < problem.upper[group])
        return down or up
    return False


def with_proof(
    problem: Problem, points: Any, leaves: list[tuple[Any, Any, int, Reason]]
) -> SolverResult:
    """A result whose bound is the best that these boxes give."""
    integers = IntegerProblem.of(problem)
    boxes = Boxes(
        np.array([leaf[0] for leaf in leaves], dtype=np.int64),
        np.array([leaf[1] for leaf in leaves], dtype=np.int64),
        np.array([leaf[2] for leaf in leaves], dtype=np.int64),
        np.array([leaf[3] for leaf in leaves], dtype=np.int64),
    )
    valued = [leaf[2] for leaf in leaves if leaf[3] in (Reason.FLOW, Reason.COUNTED)]
    bounds = [problem.evaluate(points).objective]
    bounds += [integers.to_objective(value) for value in valued if value > NOTHING]
    zero = np.zeros(len(problem.lower), dtype=np.int64)
    if problem.feasible(zero):
        bounds.append(problem.evaluate(zero).objective)
    run = Run(problem, "test", float("inf"))
    run.proof = Proof(
        "branch and bound",
        max(bounds),
        boxes,
        rounding=integers.rounding,
        details={"nodes": 7},
    )
    return run.result(np.asarray(points), "finished")


def teach_problem(problem: Problem, strength: Fraction | None) -> tuple[Problem, Taught]:
    """The same problem on masses that are blended with a poor teacher's risks."""
    table = problem.patterns
    mass = table.events + table.others
    rows = replace(table, pattern_of_row=np.arange(len(table)))
    risks = np.linspace(0.1, 0.8, len(table))
    blended, how = blend(rows, risks, mass.astype(float), strength)
    blended = replace(blended, pattern_of_row=table.pattern_of_row)
    return replace(problem, patterns=blended), Taught(Teaching(risks, "a ramp"), how, 0.0, 0.0)
