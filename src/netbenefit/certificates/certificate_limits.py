"""Whether the limits of a certificate are those that its constraints ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from netbenefit.certificates.certificate_types import Statement
from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds

if TYPE_CHECKING:
    from netbenefit.problem.problem import Problem

__all__ = ["limits_differ"]


def limits_differ(said: Statement, table: PatternTable, points: Sequence[int]) -> str | None:
    """Say where limits and constraints differ; None where they agree.

    The constraints are put into arrays again, and have to give the bounds and limits that are
    stated, for some largest number of points: the search space as a whole is then what was asked
    for.  The points that were found must meet every constraint by itself, too.

    Examples
    --------
    >>> from netbenefit.certificates.certificate import make_certificate
    >>> from netbenefit.problem.problem import Problem
    >>> from netbenefit.solvers.local_search import LocalSearch
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1])
    >>> problem = Problem.build(table, Thresholds.of([0.5]), bounds={"x0": (0, 3)})
    >>> said = make_certificate(problem, LocalSearch().solve(problem)).problem
    >>> limits_differ(said, table, [1])
    >>> said.constraints.clear()
    >>> limits_differ(said, table, [1])
    'the limits are not those that its constraints ask for'
    """
    # Late, as they load the compiler; here they only turn words into arrays.
    from netbenefit.problem.constraints import from_json
    from netbenefit.problem.problem import Problem

    try:
        asked = [from_json(item) for item in said.constraints]
        for constraint in asked:
            if len(points) == len(said.names) and not constraint.allows(points, said.names):
                return f"the points break a constraint: {constraint}"
        grid = _grid(said)
    except (InputError, TypeError, KeyError) as error:
        return f"its constraints or thresholds cannot be read: {error}"
    most = {1, *np.abs(said.lower).tolist(), *np.abs(said.upper).tolist()} - {0}
    for largest in sorted(most, reverse=True):
        try:
            problem = Problem.build(
                table, grid, penalty=said.penalty, max_points=largest, constraints=asked
            )
        except InputError:
            continue  # another number may fit
        if _same(said, problem):
            return None
    return "the limits are not those that its constraints ask for"


def _grid(said: Statement) -> Thresholds:
    grid = Thresholds(
        tuple(float(p) for p in said.thresholds), tuple(float(w) for w in said.weights)
    )
    if grid.fractions != said.thresholds or grid.weight_fractions != said.weights:
        raise InputError("they are no thresholds that a card can have.")
    return grid


def _same(said: Statement, problem: Problem) -> bool:
    mine, yours = said.limits, problem.limits
    rates = None if yours.rates is None else (yours.rates.found, yours.rates.alarms)
    return (
        np.array_equal(said.lower, problem.lower)
        and np.array_equal(said.upper, problem.upper)
        and said.max_features == problem.max_features
        and _values(mine, said) == _values(yours, said)
        and _rows(mine) == _rows(yours)
        and mine.total == yours.total
        and (None if mine.rates is None else tuple(mine.rates)) == rates
    )


def _values(limits: Any, said: Statement) -> list[list[bool]]:
    widths = (said.upper - said.lower + 1).tolist()
    return [limits.values[k, :width].tolist() for k, width in enumerate(widths)]


def _rows(limits: Any) -> list[tuple[list[int], int]]:
    return sorted(zip(limits.support.tolist(), limits.support_limit.tolist(), strict=True))
