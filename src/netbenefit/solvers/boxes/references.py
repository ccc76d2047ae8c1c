"""One-hot groups without their first column.

Where exactly one column of a group is 1 in every row, a constant can be added to the points of all
of them: every score moves by it, and no decision changes.  If sizes are free (C0 = 0, no limits on
supports), the first column's points can so be made 0 and the column left out, at the price of a
wider range for the others.  The reduced problem has fewer columns and, in its wider box, all cards
of the first one and some more: its bounds are bounds of the first one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from netbenefit.common.checks import IntArray
from netbenefit.data.patterns import PatternTable
from netbenefit.problem.problem import Problem

__all__ = ["Reduced", "leave_out_references"]


class Reduced(NamedTuple):
    """A problem without the first columns of its one-hot groups, and the way back."""

    problem: Problem
    kept: IntArray  #: which columns of the first problem it has
    groups: IntArray  #: (G, 2) first and last columns of the groups, in the first problem
    lower: IntArray  #: of the first problem
    upper: IntArray

    def back(self, points: IntArray) -> IntArray | None:
        """The same card in the first problem; None where its points do not fit there."""
        full = np.zeros(self.lower.size, dtype=np.int64)
        full[self.kept] = points
        for first, last in self.groups.tolist():
            part = slice(first, last)
            least = int((self.lower[part] - full[part]).max())
            most = int((self.upper[part] - full[part]).min())
            if least > most:
                return None
            full[part] += min(max(0, least), most)
        return full


def leave_out_references(problem: Problem, groups: IntArray) -> Reduced | None:
    """Leave out the first column of each group; None where there is no group.

    Examples
    --------
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[1, 0, 0], [0, 1, 1]], [0, 1], names=["a", "b", "c"])
    >>> problem = Problem.build(table, Thresholds.of([0.5]), penalty=0, max_points=3)
    >>> reduced = leave_out_references(problem, np.array([[0, 2]]))
    >>> reduced.problem.patterns.names, reduced.problem.lower, reduced.problem.upper
    (('b', 'c'), array([-6, -3]), array([6, 3]))
    >>> reduced.back(np.array([5, 1])), reduced.back(np.array([7, 0]))
    (array([-2,  3,  1]), None)
    """
    if not len(groups):
        return None
    table = problem.patterns
    lower, upper = problem.lower.copy(), problem.upper.copy()
    for first, last in groups.tolist():
        lower[first:last] -= problem.upper[first]
        upper[first:last] -= problem.lower[first]
    kept = np.setdiff1d(np.arange(lower.size), groups[:, 0])
    smaller = PatternTable(
        codes=table.codes[:, kept],
        decimals=tuple(table.decimals[k] for k in kept),
        names=tuple(table.names[k] for k in kept),
        positives=table.positives,
        negatives=table.negatives,
        pattern_of_row=table.pattern_of_row,
        denominator=table.denominator,
        outcomes=table.outcomes,
    )
    bounds = {
        name: (int(lower[k]), int(upper[k])) for name, k in zip(smaller.names, kept, strict=True)
    }
    reduced = Problem.build(smaller, problem.thresholds, penalty=0, bounds=bounds)
    return Reduced(reduced, kept, groups, problem.lower, problem.upper)
