"""A chain with its state: what searches hold, for plain problems and for constrained ones.

The compiled loops run between two looks at the clock, without the interpreter's lock.  Everything
that a loop needs to go on is in arrays (:class:`Chain`), so cutting a run into pieces, or running
it on another thread, changes nothing in its result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import IntArray
from netbenefit.problem import Problem
from netbenefit.solvers.kernels.coordinates import (
    LOWER,
    START,
    UPPER,
    Array,
    Columns,
    State,
    columns_of,
    coordinate_gains,
    gain_now,
    make_state,
    move,
    place,
)
from netbenefit.solvers.kernels.jit import inlined, internal, jit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)

#: The schedule that makes ``anneal`` a plain descent: no heat, and it ends at a local optimum.
DESCEND = np.zeros(3)


class Chain(NamedTuple):
    """Where one search stands; written by the loops below."""

    rng: Array  #: (1,) state of the random numbers
    free: Array  #: columns that may change
    rates: Array  #: (2,) objective = rates[0] · gain − rates[1] · size
    slack: Array  #: (1,) what counts as a gain: more than 0, for floats more than their rounding
    value: Array  #: (2,) objective of the current and of the best points
    best: Array  #: (P,) best points seen
    size: Array  #: (2,) size of the current points, and the largest allowed
    group: Array  #: (P, 2) first and last of the columns that share every row with column k
    out: Array  #: work space: objectives of one coordinate's values
    sizes: Array  #: work space: their sizes
    shifts: Array  #: work space: common shifts of a group, and sizes that they leave


def make_chain(problem: Problem, seed: int) -> Chain:
    """Allocate a chain; ``start`` sets it and its state to some points."""
    column = columns_of(problem).column
    movable = (problem.upper > problem.lower) & (np.diff(column[:, START]) > 0)
    widest = int((problem.upper - problem.lower).max(initial=0)) + 1
    n_columns = problem.lower.size
    return Chain(
        rng=np.array([seed], dtype=np.uint64),
        free=np.flatnonzero(movable).astype(np.int64),
        rates=problem.rates,
        slack=np.array([problem.slack], dtype=problem.rates.dtype),
        value=np.zeros(2, dtype=problem.rates.dtype),
        best=np.zeros(n_columns, dtype=np.int64),
        size=np.array([0, problem.max_features], dtype=np.int64),
        group=problem.shift_groups,
        out=np.zeros(widest, dtype=problem.rates.dtype),
        sizes=np.zeros(widest, dtype=np.int64),
        shifts=np.zeros((n_columns + 1, 2), dtype=np.int64),
    )


@internal
def random(rng: Array) -> Any:
    """Next number in [0, 1) (splitmix64)."""
    rng[0] += _GOLDEN
    z = rng[0]
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    z = z ^ (z >> _S31)
    return (z >> _S11) * (1.0 / 9007199254740992.0)


@internal
def keep(points: Array, value: Array, best: Array) -> None:
    """Remember the current points as the best."""
    value[1] = value[0]
    for k in range(points.size):
        best[k] = points[k]


@internal
def _list_shifts(column: Array, points: Array, group: Array, k: int, shifts: Array) -> Any:
    """Shifts that make one more of column k's companions zero, and how many they leave non-zero."""
    first, last = group[0], group[1]
    count = 0
    for j in range(first - 1, last):
        # The first candidate is no shift at all; the others are the companions' points.
        shift = 0 if j < first else points[j]
        if j == k or (j >= first and shift == 0):
            continue
        left = 0
        for i in range(first, last):
            x = points[i] - shift
            if i != k and (x < column[i, LOWER] or x > column[i, UPPER]):
                left = -1
                break
            left += 1 if (i != k and x != 0) else 0
        if left >= 0:
            shifts[count, 0] = shift
            shifts[count, 1] = left
            count += 1
    return count


@internal
def _best_shift(shifts: Array, lower: int, upper: int, value: int) -> Any:
    """The shift that leaves the fewest non-zero points with points[k] = value, and how many."""
    best = 0
    fewest = shifts[0, 1] + (1 if value != 0 else 0)
    for c in range(1, shifts.shape[0]):
        x = value - shifts[c, 0]
        size = shifts[c, 1] + (1 if x != 0 else 0)
        if size < fewest and lower <= x <= upper:
            best, fewest = shifts[c, 0], size
    return best, fewest


@inlined
def _list_values(columns: Columns, state: State, chain: Chain, k: int) -> Any:
    """Objectives and sizes of column k's values; return the number of shifts listed."""
    coordinate_gains(columns, state, k, chain.out)
    column, group, points = columns.column, chain.group[k], state.points
    lower, upper = column[k, LOWER], column[k, UPPER]
    count = _list_shifts(column, points, group, k, chain.shifts)
    shifts = chain.shifts[:count]
    rest = chain.size[0]
    for i in range(group[0], group[1]):
        rest -= 1 if points[i] != 0 else 0
    for v in range(upper - lower + 1):
        chain.sizes[v] = rest + _best_shift(shifts, lower, upper, lower + v)[1]
        chain.out[v] = chain.rates[0] * chain.out[v] - chain.rates[1] * chain.sizes[v]
    return count


@internal
def _draw(values: Array, sizes: Array, limit: int, top: int, heat: float, part: float) -> int:
    """Index at ``part`` of the softmax of the allowed values at this temperature."""
    total = 0.0
    for v in range(values.size):
        if sizes[v] <= limit:
            total += np.exp((values[v] - values[top]) / heat)
    left = part * total
    for v in range(values.size):
        if sizes[v] <= limit:
            left -= np.exp((values[v] - values[top]) / heat)
            if left <= 0.0:
                return v
    return top


@internal
def _shift(points: Array, group: Array, shift: int) -> None:
    """Take the same points off all columns of a one-hot group: no score changes its order."""
    if shift != 0:
        for i in range(group[0], group[1]):
            points[i] -= shift


@internal
def _removable(columns: Columns, points: Array, j: int) -> Any:
    return points[j] != 0 and columns.column[j, LOWER] <= 0 <= columns.column[j, UPPER]


@jit
def anneal(
    columns: Columns, state: State, chain: Chain, schedule: Array, begin: int, end: int
) -> int:
    """Anneal: draw a column, then its value from a softmax over all of them.

    Steps ``begin`` … ``end`` of a run whose temperature falls geometrically; ``schedule`` holds the
    first temperature, the last one, and the number of steps.  A first temperature of 0 is a
    descent: columns in turn, the best value, until none improves.  At the largest allowed size, a
    column without points may take the place of one that has some.  Step −1 − k only lists the
    values of column k (see :func:`list_values`).  Returns the number of vectors evaluated.
    """
    evaluated, quiet = 0, 0
    column, points, free = columns.column, state.points, chain.free
    descent = schedule[0] == 0.0
    for step in range(begin, end):
        # 1. A column, and where there is no room for it, one that makes room.
        if descent and quiet == free.size:
            break
        if step < 0:
            k = -1 - step
        elif descent:
            k = free[step % free.size]
        else:
            k = free[int(random(chain.rng) * free.size)]
        given_up, points_given_up = -1, 0
        if not descent and points[k] == 0 and chain.size[0] >= chain.size[1]:
            j = free[int(random(chain.rng) * free.size)]
            if not _removable(columns, points, j):
                continue
            given_up, points_given_up = j, points[j]
            move(columns, state, j, points[k])  # which is 0, as a number that is not a literal
            chain.size[0] -= 1
        # 2. All of its values.
        n_shifts = _list_values(columns, state, chain, k)
        if step < 0:
            break
        lower, upper = column[k, LOWER], column[k, UPPER]
        values, sizes = chain.out[: upper - lower + 1], chain.sizes[: upper - lower + 1]
        evaluated += values.size
        top = points[k] - lower
        for v in range(values.size):
            if sizes[v] <= chain.size[1] and values[v] > values[top]:
                top = v
        # 3. The best one, or a random one.
        quiet += 1
        if descent:
            if values[top] <= chain.value[0] + chain.slack[0]:
                continue
        elif values[top] <= chain.value[1]:
            heat = schedule[0] * (schedule[1] / schedule[0]) ** (step / schedule[2])
            top = _draw(values, sizes, chain.size[1], top, heat, random(chain.rng))
            loss = chain.value[0] - values[top]
            if given_up >= 0 and loss > 0 and random(chain.rng) >= np.exp(-loss / heat):
                move(columns, state, given_up, points_given_up)
                chain.size[0] += 1
                continue
        # 4. Go there; a group shifts to where most of its points are zero.
        shift = _best_shift(chain.shifts[:n_shifts], lower, upper, lower + top)[0]
        move(columns, state, k, lower + top)
        _shift(points, chain.group[k], shift)
        quiet = 0
        chain.size[0], chain.value[0] = sizes[top], values[top]
        if values[top] > chain.value[1]:
            keep(points, chain.value, chain.best)
    return evaluated


def list_values(columns: Columns, state: State, chain: Chain, k: int) -> None:
    """Leave objectives and sizes of column k's values in chain.out and chain.sizes."""
    anneal(columns, state, chain, DESCEND, -1 - k, -k)


def start(columns: Columns, state: State, chain: Chain, points: Array, first: bool) -> None:
    """Put the chain at ``points``; the first time they are also the best.

    The value comes from the list of one column's values, so that nothing else needs compiling.
    """
    place(columns, state, points)
    chain.size[0] = np.count_nonzero(points)
    if chain.free.size:
        k = int(chain.free[0])
        list_values(columns, state, chain, k)
        v = points[k] - columns.column[k, LOWER]
        chain.value[0] = chain.out[v] + chain.rates[1] * (chain.sizes[v] - chain.size[0])
    else:
        gain = gain_now(columns, state)
        chain.value[0] = chain.rates[0] * gain - chain.rates[1] * chain.size[0]
    if first:
        chain.value[1] = chain.value[0]
        chain.best[:] = state.points


@jit
def metropolis(
    columns: Columns, state: State, chain: Chain, schedule: Array, begin: int, end: int
) -> int:
    """Published annealing: one column, one other value, accepted or not.

    Steps ``begin`` … ``end``; ``schedule`` holds the first temperature, what it loses each time,
    and the number of steps in between.  Returns the number of vectors evaluated.
    """
    evaluated = 0
    column = columns.column
    for step in range(begin, end):
        heat = schedule[0] - schedule[1] * (step // int(schedule[2]))
        k = chain.free[int(random(chain.rng) * chain.free.size)]
        old = state.points[k]
        new = column[k, LOWER] + int(random(chain.rng) * (column[k, UPPER] - column[k, LOWER]))
        if new >= old:  # one of the other values, each equally likely
            new += 1
        size = chain.size[0] + (1 if new != 0 else 0) - (1 if old != 0 else 0)
        if size > chain.size[1]:
            continue
        move(columns, state, k, new)
        evaluated += 1
        value = chain.rates[0] * gain_now(columns, state) - chain.rates[1] * size
        gained = value - chain.value[0]
        if gained > 0 or random(chain.rng) < np.exp(gained / heat):
            chain.size[0] = size
            chain.value[0] = value
            if value > chain.value[1]:
                keep(state.points, chain.value, chain.best)
        else:
            move(columns, state, k, old)
    return evaluated


def make_search_state(problem: Problem, seed: int, *, strict: bool = False) -> SearchState:
    """Choose the loops that a problem needs.

    With real weights, rates are rounded sums: a rate equal to its limit counts as meeting it, or
    as missing it where ``strict``.
    """
    if problem.is_plain:
        return SearchState(problem, seed)
    from netbenefit.solvers.constrained import ConstrainedState  # compiled only where needed

    return ConstrainedState(problem, seed, strict=strict)


class SearchState:
    """Where one search stands, and the steps that it can take."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.columns = columns_of(problem)
        self.arrays = make_state(self.columns)
        self.chain = make_chain(problem, seed)
        #: columns that may change, in the order in which a descent goes through them
        self.free: IntArray = self.chain.free
        self.points: IntArray = self.arrays.points  #: the current points
        self.best: IntArray = self.chain.best  #: the best allowed points so far

    @property
    def value(self) -> Any:
        """Objective of the current points, in the search's units."""
        return self.chain.value[0]

    @property
    def best_value(self) -> Any:
        """Objective of the best points."""
        return self.chain.value[1]

    @property
    def found(self) -> bool:
        """Whether an allowed vector is known."""
        return True

    @property
    def standing(self) -> tuple[Any, ...]:
        """What a descent improves."""
        return (self.value,)

    def start(self, points: IntArray, first: bool) -> None:
        """Go to some points; the first time, they are also the best (if they are allowed)."""
        start(self.columns, self.arrays, self.chain, points, first)

    def anneal(self, schedule: Any, begin: int, end: int) -> int:
        """Take steps of an annealing or of a descent; see :func:`anneal`."""
        return anneal(self.columns, self.arrays, self.chain, schedule, begin, end)

    def metropolis(self, schedule: Any, begin: int, end: int) -> int:
        """Take steps of the published annealing; see :func:`metropolis`."""
        return metropolis(self.columns, self.arrays, self.chain, schedule, begin, end)

    def descend(self, must_stop: Callable[[], bool]) -> int:
        """Descend to a local optimum, with a look at the clock after each round of all columns."""
        evaluated, done, sweep = 0, 0, self.free.size
        while not must_stop():
            before = self.standing
            evaluated += self.anneal(DESCEND, done, done + sweep)
            done += sweep
            if self.standing == before:
                break
        return evaluated

    def move(self, k: int, value: int) -> None:
        """Change a column's points for a moment: value and size are not updated."""
        move(self.columns, self.arrays, k, value)

    def values(self, k: int) -> tuple[Any, NDArray[np.bool_]]:
        """Objectives of column k's values, all else as it is, and which of them are allowed."""
        problem, points, rates = self.problem, self.points, self.problem.rates
        list_values(self.columns, self.arrays, self.chain, k)
        values = np.arange(problem.lower[k], problem.upper[k] + 1)
        priced = self.chain.out[: values.size] + rates[1] * self.chain.sizes[: values.size]
        gains = priced // rates[0] if priced.dtype.kind == "i" else priced / rates[0]
        # Sizes as they are, without shifts of groups, which would change several points.
        size = int(np.count_nonzero(points)) - int(points[k] != 0) + (values != 0)
        return rates[0] * gains - rates[1] * size, size <= problem.max_features

    def loss(self, k: int) -> float:
        """What the best other value of column k costs."""
        list_values(self.columns, self.arrays, self.chain, k)
        lower, upper = int(self.problem.lower[k]), int(self.problem.upper[k])
        others = np.delete(self.chain.out[: upper - lower + 1], self.points[k] - lower)
        return float(self.value) - float(others.max())
