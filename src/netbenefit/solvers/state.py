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

from netbenefit.common import FloatArray, IntArray
from netbenefit.problem import Problem
from netbenefit.solvers.clock import now
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
from netbenefit.solvers.kernels.jit import inlined, lean, lean_internal

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)

#: Seconds of compiled work between two looks at the clock.
SLICE = 0.02
#: The schedule that makes ``anneal`` a plain descent: no heat, and it ends at a local optimum.
DESCEND = np.zeros(3)
#: More steps than a descent in a few columns takes; with limits on rates, one may go in circles.
MOST_STEPS = 10_000


# What the fields of Chain.size mean: rules, and the most of them; questions, and the most of them.
SIZE, MOST, ASKED, MOST_ASKED = range(4)
#: Added to the size of a value that is not allowed; larger than any size.
FORBIDDEN = 1 << 40
#: How often an annealing takes up a question anew, where questions have several columns.
_ANEW = 0.1


class Chain(NamedTuple):
    """Where one search stands; written by the loops below.

    Where every column is a question of its own, all belong to one here: questions then have no
    price, and no limit.
    """

    rng: Array  #: (1,) state of the random numbers
    free: Array  #: columns that may change
    rates: Array  #: (3,) objective = rates[0] · gain − rates[1] · size − rates[2] · questions
    slack: Array  #: (1,) what counts as a gain: more than 0, for floats more than their rounding
    value: Array  #: (2,) objective of the current and of the best points
    best: Array  #: (P,) best points seen
    size: Array  #: (4,) SIZE, MOST, ASKED, MOST_ASKED
    group: Array  #: (P, 2) first and last of the columns that share every row with column k
    question: Array  #: (P,) question of each column
    used: Array  #: (Q,) columns of a question that have points
    answers: Array  #: (A, P) codes of the answers whose points are limited
    limits: Array  #: (2, Q + 1) where a question's answers begin, and their largest difference
    out: Array  #: work space: objectives of one coordinate's values
    sizes: Array  #: (2, widest) work space: their sizes and questions
    shifts: Array  #: work space: common shifts of a group, and sizes that they leave
    worth: Array  #: (2, A) work space: points of answers, and whether a group's columns count there
    kept: Array  #: (P,) work space: points before a step


def make_chain(problem: Problem, seed: int) -> Chain:
    """Allocate a chain; ``start`` sets it and its state to some points."""
    column = columns_of(problem).column
    movable = (problem.upper > problem.lower) & (np.diff(column[:, START]) > 0)
    widest = int((problem.upper - problem.lower).max(initial=0)) + 1
    n_columns = problem.lower.size
    asked, grouped = problem.limits.asked, problem.questions.grouped
    n_questions = len(problem.questions) if grouped else 1
    limits = np.zeros((2, n_questions + 1), dtype=np.int64)
    if grouped:
        limits[0], limits[1, :-1] = asked.first, asked.spread
    return Chain(
        rng=np.array([seed], dtype=np.uint64),
        free=np.flatnonzero(movable).astype(np.int64),
        rates=problem.rates,
        slack=np.array([problem.slack], dtype=problem.rates.dtype),
        value=np.zeros(2, dtype=problem.rates.dtype),
        best=np.zeros(n_columns, dtype=np.int64),
        size=np.array([0, problem.max_features, 0, asked.most if grouped else 2], dtype=np.int64),
        group=problem.shift_groups,
        question=asked.of_column if grouped else np.zeros(n_columns, dtype=np.int64),
        used=np.zeros(n_questions, dtype=np.int64),
        answers=np.ascontiguousarray(asked.answers, dtype=np.int64),
        limits=limits,
        out=np.zeros(widest, dtype=problem.rates.dtype),
        sizes=np.zeros((2, widest), dtype=np.int64),
        shifts=np.zeros((n_columns + 1, 2), dtype=np.int64),
        worth=np.zeros((2, asked.answers.shape[0]), dtype=np.int64),
        kept=np.zeros(n_columns, dtype=np.int64),
    )


def count_used(chain: Chain, points: Array) -> None:
    """Count the rules and questions of some points."""
    chain.used[:] = np.bincount(chain.question[points != 0], minlength=chain.used.size)
    chain.size[SIZE], chain.size[ASKED] = chain.used.sum(), np.count_nonzero(chain.used)


@lean_internal
def random(rng: Array) -> Any:
    """Next number in [0, 1) (splitmix64)."""
    rng[0] += _GOLDEN
    z = rng[0]
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    z = z ^ (z >> _S31)
    return (z >> _S11) * (1.0 / 9007199254740992.0)


@lean_internal
def keep(points: Array, value: Array, best: Array) -> None:
    """Remember the current points as the best."""
    value[1] = value[0]
    for k in range(points.size):
        best[k] = points[k]


@lean_internal
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


@lean_internal
def weigh(chain: Chain, points: Array, k: int, group: Array) -> None:
    """Points of the answers to column k's question, and how many columns of a group count there."""
    question = chain.question[k]
    for a in range(chain.limits[0, question], chain.limits[0, question + 1]):
        chain.worth[0, a] = 0
        chain.worth[1, a] = 0
        for j in range(points.size):
            chain.worth[0, a] += chain.answers[a, j] * points[j]
        for i in range(group[0], group[1]):
            chain.worth[1, a] += chain.answers[a, i]


@lean_internal
def apart(chain: Chain, k: int, step: int, shift: int) -> Any:
    """How far answers lie beyond their largest difference, after ``weigh``.

    Column k has ``step`` more points, and all columns of its group ``shift`` fewer.
    """
    question = chain.question[k]
    first, last = chain.limits[0, question], chain.limits[0, question + 1]
    low, high = np.int64(0), np.int64(0)
    for a in range(first, last):
        own = chain.worth[0, a] + chain.answers[a, k] * step - chain.worth[1, a] * shift
        low = own if a == first else min(low, own)
        high = own if a == first else max(high, own)
    return max(0, high - low - chain.limits[1, question])


@lean_internal
def _best_shift(chain: Chain, count: int, ends: Array, k: int, own: int, value: int) -> Any:
    """The shift that leaves the fewest non-zero points with points[k] = value, and how many.

    Where the points of answers allow no shift, the number says so.
    """
    best, shifts = 0, chain.shifts
    fewest = shifts[0, 1] + (1 if value != 0 else 0)
    if apart(chain, k, value - own, 0) > 0:
        fewest += FORBIDDEN
    for c in range(1, count):
        x = value - shifts[c, 0]
        size = shifts[c, 1] + (1 if x != 0 else 0)
        if (
            size < fewest
            and ends[LOWER] <= x <= ends[UPPER]
            and apart(chain, k, value - own, shifts[c, 0]) == 0
        ):
            best, fewest = shifts[c, 0], size
    return best, fewest


@inlined
def _list_values(columns: Columns, state: State, chain: Chain, k: int) -> Any:
    """Objectives, sizes and questions of column k's values; return the number of shifts listed."""
    coordinate_gains(columns, state, k, chain.out)
    column, group, points = columns.column, chain.group[k], state.points
    lower, upper = column[k, LOWER], column[k, UPPER]
    count = _list_shifts(column, points, group, k, chain.shifts)
    weigh(chain, points, k, group)
    rest, question = chain.size[SIZE], chain.question[k]
    for i in range(group[0], group[1]):
        rest -= 1 if points[i] != 0 else 0
    others = chain.size[SIZE] - chain.used[question]  # rules on other questions
    asked = chain.size[ASKED] - (1 if chain.used[question] > 0 else 0)
    for v in range(upper - lower + 1):
        size = rest + _best_shift(chain, count, column[k], k, points[k], lower + v)[1]
        allowed = size % FORBIDDEN
        questions = asked + (1 if allowed > others else 0)
        chain.out[v] = (
            chain.rates[0] * chain.out[v] - chain.rates[1] * allowed - chain.rates[2] * questions
        )
        if questions > chain.size[MOST_ASKED]:
            size = FORBIDDEN + allowed
        chain.sizes[0, v] = size
        chain.sizes[1, v] = questions
    return count


@lean_internal
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


@lean_internal
def _shift(points: Array, group: Array, shift: int) -> None:
    """Take the same points off all columns of a one-hot group: no score changes its order."""
    if shift != 0:
        for i in range(group[0], group[1]):
            points[i] -= shift


@lean_internal
def _removable(columns: Columns, points: Array, j: int) -> Any:
    return points[j] != 0 and columns.column[j, LOWER] <= 0 <= columns.column[j, UPPER]


@lean_internal
def change(columns: Columns, state: State, chain: Chain, k: int, value: int) -> None:
    """Give column k other points, and count its rule and its question."""
    question, old = chain.question[k], state.points[k]
    before = chain.used[question]
    after = before + (1 if value != 0 else 0) - (1 if old != 0 else 0)
    chain.used[question] = after
    chain.size[SIZE] += after - before
    chain.size[ASKED] += (1 if after > 0 else 0) - (1 if before > 0 else 0)
    move(columns, state, k, value)


@lean_internal
def _close(columns: Columns, state: State, chain: Chain, question: int) -> bool:
    """Take all points off a question; False, with nothing done, where some have to stay."""
    points = state.points
    for j in range(points.size):
        if chain.question[j] == question and points[j] != 0 and not _removable(columns, points, j):
            return False
    none = points[0] - points[0]  # 0, as a number that is not a literal
    for j in range(points.size):
        if chain.question[j] == question and points[j] != 0:
            change(columns, state, chain, j, none)
    return True


@lean_internal
def _make_room(columns: Columns, state: State, chain: Chain, k: int, j: int, descent: bool) -> Any:
    """Let column j, or its question, make room for column k where there is none.

    0: there is room.  1: a column was given up.  2: a question was.  −1: there is none to be had.
    """
    points, size = state.points, chain.size
    closed = chain.used[chain.question[k]] == 0 and size[ASKED] >= size[MOST_ASKED]
    if descent or points[k] != 0 or not (closed or size[SIZE] >= size[MOST]):
        return 0
    if closed:
        own = chain.question[j]
        return 2 if chain.used[own] > 0 and _close(columns, state, chain, own) else -1
    if not _removable(columns, points, j):
        return -1
    change(columns, state, chain, j, points[k])  # which is 0, as a number that is not a literal
    return 1


@lean_internal
def _go_back(columns: Columns, state: State, chain: Chain) -> None:
    """Return to the points before the step."""
    for j in range(chain.kept.size):
        if state.points[j] != chain.kept[j]:
            change(columns, state, chain, j, chain.kept[j])


@lean_internal
def _next_of_question(chain: Chain, free: Array, question: int, place: int) -> Any:
    """Place of the next free column of a question, from a place on; −1 for none."""
    for at in range(place, free.size):
        if chain.question[free[at]] == question:
            return at
    return -1


@lean
def anneal(
    columns: Columns, state: State, chain: Chain, schedule: Array, begin: int, end: int
) -> int:
    """Anneal: draw a column, then its value from a softmax over all of them.

    Steps ``begin`` … ``end`` of a run whose temperature falls geometrically; ``schedule`` holds the
    first temperature, the last one, and the number of steps.  A first temperature of 0 is a
    descent: columns in turn, the best value, until none improves.  At the largest allowed size, a
    column without points may take the place of one that has some, and at the largest number of
    questions a question that of another.  A question that is opened in this way, or that is taken
    up anew now and then, gets points for all of its columns in one step.  Step −1 − k only lists
    the values of column k (see :func:`list_values`).  Returns the number of vectors evaluated.
    """
    evaluated, quiet = 0, 0
    column, points, free = columns.column, state.points, chain.free
    descent = schedule[0] == 0.0
    for step in range(begin, end):
        # 1. A column, and where there is no room for it, one (or a question) that makes room.
        if descent and quiet == free.size:
            break
        if step < 0:
            k = -1 - step
        elif descent:
            k = free[step % free.size]
        else:
            k = free[int(random(chain.rng) * free.size)]
        given_up = 0
        if not descent:
            for j in range(points.size):
                chain.kept[j] = points[j]
            size = chain.size
            j = k
            if points[k] == 0 and (size[SIZE] >= size[MOST] or size[ASKED] >= size[MOST_ASKED]):
                j = free[int(random(chain.rng) * free.size)]
            given_up = _make_room(columns, state, chain, k, j, descent)
            if given_up < 0:
                continue
            if given_up == 0 and chain.used.size > 1 and random(chain.rng) < _ANEW:
                own = chain.question[k]
                if chain.used[own] > 0 and _close(columns, state, chain, own):
                    given_up = 2
        place = 0  # where in ``free`` to look for another column of the question
        heat = 0.0 if descent else schedule[0] * (schedule[1] / schedule[0]) ** (step / schedule[2])
        before, first = chain.value[0], k
        quiet += 1
        while True:
            # 2. All of its values.
            n_shifts = _list_values(columns, state, chain, k)
            if step < 0:
                return evaluated
            lower, upper = column[k, LOWER], column[k, UPPER]
            values, sizes = chain.out[: upper - lower + 1], chain.sizes[0, : upper - lower + 1]
            evaluated += values.size
            top = points[k] - lower
            for v in range(values.size):
                if sizes[v] <= chain.size[MOST] and values[v] > values[top]:
                    top = v
            # 3. The best one, or a random one.
            if descent:
                if values[top] <= chain.value[0] + chain.slack[0]:
                    break
            elif k == first and values[top] <= chain.value[1]:
                top = _draw(values, sizes, chain.size[MOST], top, heat, random(chain.rng))
                loss = before - values[top]
                if given_up == 1 and loss > 0 and random(chain.rng) >= np.exp(-loss / heat):
                    _go_back(columns, state, chain)
                    break
            # 4. Go there; a group shifts to where most of its points are zero.
            own, question = points[k], chain.question[k]
            shift = _best_shift(chain, n_shifts, column[k], k, own, lower + top)[0]
            rules = sizes[top] - chain.size[SIZE] + chain.used[question]
            move(columns, state, k, lower + top)
            _shift(points, chain.group[k], shift)
            quiet = 0
            chain.used[question] = rules
            chain.size[SIZE], chain.size[ASKED] = sizes[top], chain.sizes[1, top]
            chain.value[0] = values[top]
            if values[top] > chain.value[1]:
                keep(points, chain.value, chain.best)
            # 5. The other columns of a question that was opened; it stays if that was worth it.
            if given_up < 2:
                break
            place = _next_of_question(chain, free, chain.question[first], place)
            if place >= 0 and free[place] == first:
                place = _next_of_question(chain, free, chain.question[first], place + 1)
            if place >= 0:
                k = free[place]
                place += 1
                continue
            loss = before - chain.value[0]
            if loss > 0 and random(chain.rng) >= np.exp(-loss / heat):
                _go_back(columns, state, chain)
                chain.value[0] = before
            break
    return evaluated


def list_values(columns: Columns, state: State, chain: Chain, k: int) -> None:
    """Leave objectives and sizes of column k's values in chain.out and chain.sizes."""
    anneal(columns, state, chain, DESCEND, -1 - k, -k)


def start(columns: Columns, state: State, chain: Chain, points: Array, first: bool) -> None:
    """Put the chain at ``points``; the first time they are also the best.

    The value comes from the list of one column's values, so that nothing else needs compiling.
    """
    place(columns, state, points)
    count_used(chain, points)
    size, rates = chain.size, chain.rates
    if chain.free.size:
        k = int(chain.free[0])
        list_values(columns, state, chain, k)
        v = points[k] - columns.column[k, LOWER]
        # The list is of shifted groups; these points are as they are.
        fewer = chain.sizes[0, v] % FORBIDDEN - size[SIZE]
        chain.value[0] = (
            chain.out[v] + rates[1] * fewer + rates[2] * (chain.sizes[1, v] - size[ASKED])
        )
    else:
        gain = gain_now(columns, state)
        chain.value[0] = rates[0] * gain - rates[1] * size[SIZE] - rates[2] * size[ASKED]
    if first:
        chain.value[1] = chain.value[0]
        chain.best[:] = state.points


@lean
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
        size = chain.size[SIZE] + (1 if new != 0 else 0) - (1 if old != 0 else 0)
        question = chain.question[k]
        opened = old == 0 and new != 0 and chain.used[question] == 0
        if size > chain.size[MOST] or (opened and chain.size[ASKED] >= chain.size[MOST_ASKED]):
            continue
        if chain.answers.shape[0] > 0:
            weigh(chain, state.points, k, chain.group[k])
            if apart(chain, k, new - old, 0) > 0:
                continue
        change(columns, state, chain, k, new)
        evaluated += 1
        value = (
            chain.rates[0] * gain_now(columns, state)
            - chain.rates[1] * size
            - chain.rates[2] * chain.size[ASKED]
        )
        gained = value - chain.value[0]
        if gained > 0 or random(chain.rng) < np.exp(gained / heat):
            chain.value[0] = value
            if value > chain.value[1]:
                keep(state.points, chain.value, chain.best)
        else:
            change(columns, state, chain, k, old)
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
        #: the same, in which no group shifts along with a column
        each = np.arange(problem.lower.size)
        self._alone = self.chain._replace(group=np.stack([each, each + 1], axis=1))
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
    def missing(self) -> float:
        """How far the current points are from being allowed."""
        return 0.0

    @property
    def standing(self) -> tuple[float, Any]:
        """What a descent improves: first what is missing, then the value."""
        return -self.missing, self.value

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
        """Descend to a local optimum, in rounds of all columns and with looks at the clock."""
        evaluated, done, sweep, piece = 0, 0, self.free.size, 16
        before = None
        while sweep and not must_stop():
            if done % sweep == 0:
                if self.standing == before:
                    break
                before = self.standing
            begin, end = now(), min(done + piece, done - done % sweep + sweep)
            evaluated += self.anneal(DESCEND, done, end)
            spent = max(now() - begin, 1e-6)
            piece, done = max(1, min(4 * piece, int((end - done) * SLICE / spent))), end
        return evaluated

    def descend_along(self, points: IntArray, columns: IntArray) -> int:
        """Go to some points, and from there to a local optimum in some columns, if any."""
        if not columns.size:
            self.start(points, False)
            if self.value > self.best_value and not self.missing and self.problem.allows(points):
                self.chain.value[1] = self.value
                self.best[:] = points
            return 1
        whole, self.chain = self.chain, self.chain._replace(free=columns)
        try:
            self.start(points, False)
            return self.anneal(DESCEND, 0, MOST_STEPS)
        finally:
            self.chain = whole

    def move(self, k: int, value: int) -> None:
        """Change a column's points for a moment: value and size are not updated."""
        move(self.columns, self.arrays, k, value)

    def values(self, k: int) -> tuple[Any, NDArray[np.bool_]]:
        """Objectives of column k's values, all else as it is, and which of them are allowed."""
        count_used(self.chain, self.points)  # which ``move`` does not update
        list_values(self.columns, self.arrays, self._alone, k)
        n_values = int(self.problem.upper[k] - self.problem.lower[k]) + 1
        allowed = self.chain.sizes[0, :n_values] <= self.chain.size[MOST]
        return self.chain.out[:n_values].copy(), allowed

    def losses(self, k: int) -> FloatArray:
        """What each other allowed value of column k costs."""
        list_values(self.columns, self.arrays, self.chain, k)
        lower, upper = int(self.problem.lower[k]), int(self.problem.upper[k])
        here = self.chain.sizes[0, : upper - lower + 1] < FORBIDDEN
        here[self.points[k] - lower] = False
        values = self.chain.out[: upper - lower + 1][here].astype(np.float64)
        return float(self.value) - values

    def pair_prices(self, k: int, j: int) -> tuple[Any, NDArray[np.bool_]]:
        """What rules and questions cost where two columns take any of their values: (n_k, n_j).

        And which of these pairs are allowed, all else as it is.
        """
        chain, rates, points = self.chain, self.problem.rates, self.points
        both, first = [k, j], chain.limits[0]
        v_k, v_j = (np.arange(self.problem.lower[c], self.problem.upper[c] + 1) for c in both)
        v_k = v_k[:, None]
        on_k, on_j = v_k != 0, v_j != 0
        size = on_k.astype(np.int64) + on_j
        size += chain.size[SIZE] - np.count_nonzero(points[both])
        own = set(chain.question[both].tolist())
        questions: Any = chain.size[ASKED] - sum(chain.used[q] > 0 for q in own)
        allowed = size <= chain.size[MOST]
        for q in own:
            mine = [(c, on) for c, on in ((k, on_k), (j, on_j)) if chain.question[c] == q]
            if chain.used[q] > sum(points[c] != 0 for c, _ in mine):
                questions = questions + 1
            else:
                questions = questions + (mine[0][1] | mine[-1][1])
            answers = chain.answers[first[q] : first[q + 1]]
            if len(answers):
                rest = answers @ points - answers[:, both] @ points[both]
                worth = rest[:, None, None] + answers[:, k, None, None] * v_k
                worth = worth + answers[:, j, None, None] * v_j
                allowed &= worth.max(axis=0) - worth.min(axis=0) <= chain.limits[1, q]
        allowed &= questions <= chain.size[MOST_ASKED]
        return rates[1] * size + rates[2] * questions, allowed
