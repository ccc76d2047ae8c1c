"""A chain with its state, for plain problems and for constrained ones: what searches hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import IntArray
from netbenefit.problem.problem import Problem
from netbenefit.solvers import chain as _chain, constrained as _constrained
from netbenefit.solvers.kernels.coordinates import move, place
from netbenefit.solvers.kernels.layout import columns_of, make_state

__all__ = ["ConstrainedState", "SearchState", "make_search_state"]


def make_search_state(problem: Problem, seed: int, *, strict: bool = False) -> SearchState:
    """Choose the loops that a problem needs.

    With real weights, rates are sums with rounding: a walk takes rates that are equal to their
    limit as meeting it, a ``strict`` one as missing it.
    """
    if problem.is_plain:
        return SearchState(problem, seed)
    return ConstrainedState(problem, seed, strict=strict)


class SearchState:
    """Where one search stands, and the steps that it can take."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.columns = columns_of(problem)
        self.arrays = make_state(self.columns)
        self.chain = _chain.make_chain(problem, self.arrays, seed)

    @property
    def free(self) -> IntArray:
        """Columns that may change, in the order in which a descent goes through them."""
        free: IntArray = self.chain.free
        return free

    @property
    def points(self) -> IntArray:
        """Where it is."""
        points: IntArray = self.arrays.points
        return points

    @property
    def value(self) -> Any:
        """Objective of the current points, in the search's units."""
        return self.chain.value[0]

    @property
    def best(self) -> IntArray:
        """The best allowed points so far."""
        best: IntArray = self.chain.best
        return best

    @property
    def best_value(self) -> Any:
        """Their objective."""
        return self.chain.value[1]

    @property
    def found(self) -> bool:
        """Whether there are any."""
        return True

    @property
    def standing(self) -> tuple[Any, ...]:
        """What a descent improves."""
        return (self.value,)

    def start(self, points: IntArray, first: bool) -> None:
        """Go to some points; the first time, they are also the best (if they are allowed)."""
        _chain.start(self.columns, self.arrays, self.chain, points, first)

    def anneal(self, schedule: Any, begin: int, end: int) -> int:
        """Take steps of an annealing or of a descent; see :func:`chain.anneal`."""
        return _chain.anneal(self.columns, self.arrays, self.chain, schedule, begin, end)

    def metropolis(self, schedule: Any, begin: int, end: int) -> int:
        """Take steps of the published annealing; see :func:`chain.metropolis`."""
        return _chain.metropolis(self.columns, self.arrays, self.chain, schedule, begin, end)

    def move(self, k: int, value: int) -> None:
        """Give a column other points, for a moment: the books do not follow."""
        move(self.columns, self.arrays, k, value)

    def gains(self, k: int) -> Any:
        """Gains of column k's values, without any price of features."""
        _chain.list_values(self.columns, self.arrays, self.chain, k)
        return self._without_price(k, self.chain.sizes)

    def values(self, k: int) -> tuple[Any, NDArray[np.bool_]]:
        """Objectives of column k's values, all else as it is, and which of them are allowed."""
        problem, points = self.problem, self.arrays.points
        values = np.arange(problem.lower[k], problem.upper[k] + 1)
        # Sizes as they are, without shifts of groups, which would change several points.
        size = self.chain.size[0] - int(points[k] != 0) + (values != 0)
        value = problem.rates[0] * self.gains(k) - problem.rates[1] * size
        return value, size <= problem.max_features

    def loss(self, k: int) -> float:
        """What the best other value of column k costs."""
        _chain.list_values(self.columns, self.arrays, self.chain, k)
        lower, upper = int(self.problem.lower[k]), int(self.problem.upper[k])
        others = np.delete(self.chain.out[: upper - lower + 1], self.points[k] - lower)
        return float(self.value) - float(others.max())

    def _without_price(self, k: int, sizes: Any) -> Any:
        n_values, rates = int(self.problem.upper[k] - self.problem.lower[k]) + 1, self.problem.rates
        priced = self.chain.out[:n_values] + rates[1] * sizes[:n_values]
        return priced // rates[0] if priced.dtype.kind == "i" else priced / rates[0]


class ConstrainedState(SearchState):
    """The same where limits say more than bounds and size do."""

    def __init__(self, problem: Problem, seed: int, *, strict: bool = False) -> None:
        super().__init__(problem, seed)
        self.rules = _constrained.make_rules(problem, strict)

    @property
    def found(self) -> bool:
        """Whether an allowed vector is known."""
        return bool(self.rules.found[0])

    @property
    def standing(self) -> tuple[Any, ...]:
        """What a descent improves: first what is missing, then the value."""
        return -self.rules.miss[0], self.value

    def start(self, points: IntArray, first: bool) -> None:
        """Go to some points; the first time, they are also the best, if they are allowed."""
        chain, rules = self.chain, self.rules
        place(self.columns, self.arrays, points)
        chain.size[0] = np.count_nonzero(points)
        chain.value[0], rules.miss[0] = _constrained.judge(self.columns, self.arrays, chain, rules)
        if first:
            rules.found[0] = int(rules.miss[0] == 0 and self.problem.allows(points))
            chain.value[1] = chain.value[0]
            chain.best[:] = points

    def anneal(self, schedule: Any, begin: int, end: int) -> int:
        """Take steps of an annealing or of a descent; see :func:`anneal_constrained`."""
        if begin == 0 and schedule[0] > 0:
            self.rules.price[0] = 10.0 * schedule[0]
        return _constrained.anneal_constrained(
            self.columns, self.arrays, self.chain, self.rules, schedule, begin, end
        )

    def metropolis(self, schedule: Any, begin: int, end: int) -> int:
        """Take steps of the published annealing; see :func:`metropolis_constrained`."""
        return _constrained.metropolis_constrained(
            self.columns, self.arrays, self.chain, self.rules, schedule, begin, end
        )

    def values(self, k: int) -> tuple[Any, NDArray[np.bool_]]:
        """Objectives of column k's values, all else as it is, and which of them are allowed."""
        chain, rules = self.chain, self.rules
        chain.size[0] = np.count_nonzero(self.arrays.points)  # moves do not count
        _constrained.list_values(self.columns, self.arrays, chain, rules, k)
        n_values = int(self.problem.upper[k] - self.problem.lower[k]) + 1
        return chain.out[:n_values].copy(), rules.missing[:n_values] == 0

    def loss(self, k: int) -> float:
        """How far the best other allowed value of column k is from the current one."""
        values, allowed = self.values(k)
        allowed[self.points[k] - self.problem.lower[k]] = False
        if not allowed.any():
            return 0.0
        return abs(float(self.value) - float(values[allowed].max()))
