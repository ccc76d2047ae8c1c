"""The default search: annealing in rounds of growing length, with descent and pair moves."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from netbenefit.common import FloatArray, IntArray
from netbenefit.problem import Problem, SolverResult, Status
from netbenefit.solvers.base import Callback, Run, check_time_limit, first_points
from netbenefit.solvers.clock import now
from netbenefit.solvers.kernels.coordinates import make_state, pair_gains
from netbenefit.solvers.state import DESCEND, SLICE, SearchState, make_search_state

logger = logging.getLogger(__name__)

#: With more pairs of columns than this, only those are tried in which one has points.
_MANY_PAIRS = 100
#: Columns with more values than this are left out of pairs.
_MANY_VALUES = 100
#: With at most so many lists of a column's values, all vectors are tried.
_FEW_LISTS = 3000
#: Seconds that tidying may take after the time limit.
_OVERTIME = 0.5


def polish(state: SearchState, points: IntArray, run: Run) -> tuple[SearchState, int]:
    """Try all values of pairs of coordinates, and other questions, until none improves.

    Returns the state, which holds the best points, and the number of vectors evaluated.
    """
    problem = state.problem
    state.start(points, True)
    free = {k for k in state.free.tolist() if _n_values(problem, k) <= _MANY_VALUES}
    gains = _room_for_pairs(problem, free)
    evaluated, better = 0, True
    while better and not run.must_stop:
        evaluated, better = evaluated + _exchange_questions(state, run), False
        todo = _pairs(state.best, free)
        while todo and not better and not run.must_stop:
            values, points = _best_pair(state, todo.pop(), gains)
            evaluated += values.size
            better = bool(values.max() > state.best_value + problem.slack)
            if better:
                state.start(points, True)
    return state, evaluated


def _exchange_questions(state: SearchState, run: Run) -> int:
    """Replace, add and drop questions until none improves; return the vectors evaluated."""
    problem, evaluated = state.problem, 0
    todo = _exchanges(problem, state.best)
    while todo and not run.must_stop:
        closed, opened = todo.pop()
        question, before = problem.questions.of_column, state.best_value
        points = np.where(question == closed, 0, state.best).clip(problem.lower, problem.upper)
        columns = np.sort(state.free[question[state.free] == opened])
        evaluated += state.descend_along(points, columns)
        if state.best_value > before + problem.slack:
            todo = _exchanges(problem, state.best)
    state.start(state.best.copy(), False)
    return evaluated


def _exchanges(problem: Problem, points: IntArray) -> list[tuple[int, int]]:
    """Pairs of a question to close and one to open; −1 is none."""
    if not problem.questions.grouped:
        return []
    asked = np.unique(problem.questions.of_column[points != 0]).tolist()
    others = [q for q in range(len(problem.questions)) if q not in set(asked)]
    return [(a, b) for a in (*asked, -1) for b in (*others, -1) if (a, b) != (-1, -1)]


def _lowest(values: Any) -> Any:
    return np.iinfo(np.int64).min // 2 if values.dtype.kind == "i" else -np.inf


def _room_for_pairs(problem: Problem, free: set[int]) -> Any:
    widest = max((_n_values(problem, k) for k in free), default=1)
    return np.zeros((widest, widest), dtype=problem.rates.dtype)


def _n_values(problem: Problem, k: int) -> int:
    return int(problem.upper[k] - problem.lower[k]) + 1


def _pairs(points: IntArray, free: set[int]) -> list[tuple[int, int]]:
    """Pairs of columns that may change; if there are many, those where one has points."""
    pairs = list(combinations(sorted(free), 2))
    if len(pairs) > _MANY_PAIRS:
        pairs = [(k, j) for k, j in pairs if points[k] or points[j]]
    return pairs


def _best_pair(state: SearchState, pair: tuple[int, int], room: Any) -> tuple[Any, IntArray]:
    """Objectives of all pairs of values (lowest where not allowed), and the best points."""
    problem, (k, j), points = state.problem, pair, state.best
    n_k, n_j = _n_values(problem, k), _n_values(problem, j)
    values, allowed = room[:n_k, :n_j], np.zeros((n_k, n_j), dtype=np.bool_)
    if problem.is_plain and pair_gains(state.columns, state.arrays, k, j, room):
        price, allowed = state.pair_prices(k, j)
        values = problem.rates[0] * values - price
    else:  # one value of the first column after the other, with all of the second
        for v in np.flatnonzero(problem.limits.values[k, :n_k]).tolist():
            state.move(k, int(problem.lower[k]) + v)
            values[v], allowed[v] = state.values(j)
        state.move(k, int(points[k]))
    values = np.where(allowed, values, _lowest(values))
    a, b = np.unravel_index(int(np.argmax(values)), values.shape)
    better = points.copy()
    better[k], better[j] = problem.lower[k] + a, problem.lower[j] + b
    return values, better


def simplify(problem: Problem, points: IntArray, run: Run | None = None) -> IntArray:
    """Take the smallest points among equally good ones; report the primitive vector.

    Every change keeps or raises the objective, and one that keeps it makes a coefficient smaller,
    so the loop ends; with a ``run``, also when its time has been over for a while.  Where values
    are rounded, points that are not as good after all are left as they were.
    """
    points = _scaled_down(problem, points, run)
    plain = problem.primitive(_smallest(problem, points, run))
    if problem.rates.dtype.kind == "i" and problem.patterns.is_whole:
        return plain
    if problem.feasible(plain):
        if not problem.feasible(points):
            return plain
        if problem.evaluate(plain).objective >= problem.evaluate(points).objective:
            return plain
    return problem.primitive(points)


def _scaled_down(problem: Problem, points: IntArray, run: Run | None) -> IntArray:
    """The same points on the smallest scale on which they are as good when rounded."""
    top = int(np.abs(points).max(initial=0))
    if top > _MANY_VALUES or not problem.feasible(points):
        return points
    value = problem.evaluate(points).objective
    for most in range(1, top):
        if run is not None and -run.time_left > _OVERTIME:
            break
        smaller: IntArray = np.rint(points * (most / top)).astype(np.int64)
        if problem.feasible(smaller) and problem.evaluate(smaller).objective >= value:
            return smaller
    return points


def _smallest(problem: Problem, points: IntArray, run: Run | None) -> IntArray:
    state = make_search_state(problem, 0)
    current = points.copy()
    changed = True
    while changed:
        changed = False
        for k in state.free.tolist():
            if run is not None and -run.time_left > _OVERTIME:
                return current
            state.start(current, True)
            values = np.arange(problem.lower[k], problem.upper[k] + 1)
            value, allowed = state.values(k)
            if not allowed.any():  # with real weights, rates that meet their limits may seem not to
                continue
            equals = values[allowed & (value >= value[allowed].max() - problem.slack)]
            plain = min(equals, key=lambda v: (abs(v), -v))
            if plain == current[k]:
                continue
            gain = value[allowed].max() - value[current[k] - problem.lower[k]]
            if gain > problem.slack or abs(plain) < abs(current[k]):
                current[k], changed = plain, True
    return current


#: Steps after which scores and histogram are counted anew, to remove the rounding errors of real
#: weights.  A number of steps, not of seconds: the same run has the same rounding.
_RECOUNT = 8192
#: Parts of the first and the last temperature that chains from the best card so far have: on some
#: tables even equilibrium at the last is poor, and the card would be lost.
_WARM = 0.5, 0.3
#: Local optima whose surroundings set the temperatures.
_DESCENTS = 4


@dataclass(frozen=True)
class LocalSearch:
    """Anytime search for the best points.

    0. Where there are few vectors, try them all, and go to 5.
    1. Descend from the start and from three random vectors, one coordinate at a time; the losses of
       the best other value of each coordinate, at these local optima, set the temperatures.
    2. Run a round of ``chains`` independent heat-bath annealings, each from its own random numbers:
       draw a column, then its new value from a softmax over all values.  One-hot groups are free to
       shift as a whole.  Where questions have several columns, some steps give all columns of a
       question new points, in place of its own or of another question's.  Every second chain starts
       from the best card so far, at half the heat, and ends colder.
    3. Descend from each chain's best points.  The best of all chains becomes the incumbent if it is
       better, or as good and simpler; then pairs of coordinates, and other questions in place of
       each question or beside it, are tried on it.
    4. Make the chains four times longer, up to a limit, and go to 2, until ``patience`` rounds in a
       row brought nothing, or ``max_rounds`` are done, or time is up.
    5. Among equally good values take the smallest points: first all on a smaller scale, then one by
       one; divide by the greatest common divisor.

    Under constraints beyond bounds and size, annealings also walk through vectors that
    are not allowed, at a price that adapts, and only allowed ones count.  Where no vector is found
    whose cut-offs meet the required rates, an error says so: it does not mean that there is none.

    Chains are independent within a round, and are compared in a fixed order, so that the same seed
    gives the same card on any number of threads, unless time runs out first.
    """

    time_limit: float | None = 10.0
    max_rounds: int | None = None  #: of annealing; None leaves it to patience and time
    #: rounds without a better card after which the search ends; None: 3, or 2 for blended masses
    #: and many columns
    patience: int | None = None
    chains: int = 4  #: annealings per round
    n_jobs: int = 1
    seed: int = 0

    #: Steps of the shortest and of the longest chains, per column that may change.
    _SHORTEST, _LONGEST = 100, 5000
    #: The same of the longest where masses are blended: such a landscape is climbed quickly.
    _LONGEST_BLENDED = 200
    #: With fewer columns than this, chains are shorter still; with more than this and blended
    #: masses, most columns get no points.
    _FEW_COLUMNS, _MANY_COLUMNS = 16, 50
    #: Temperatures in units of the median loss of the best other value.
    _HOT, _COLD = 0.5, 0.1

    def solve(
        self,
        problem: Problem,
        *,
        start: IntArray | None = None,
        callback: Callback | None = None,
    ) -> SolverResult:
        """Search from ``start`` (zero by default) and return the best card found.

        Ctrl-C ends the search and returns the best so far.
        """
        begin, limit = now(), check_time_limit(self.time_limit)
        first = first_points(problem, start)
        compile_search(problem)
        run = Run(problem, "local", limit, callback, spent=now() - begin)
        with ThreadPoolExecutor(max(1, self.n_jobs)) as pool:
            search = _Search(problem, run, self.seed, first)
            status: Status = "finished"
            try:
                status = search.try_all() if search.is_small else self._rounds(search, pool)
                if run.stop.is_set():  # the callback has asked for it
                    status = "interrupted"
            except KeyboardInterrupt:
                status = "interrupted"
            finally:  # whatever happened, no chain goes on searching
                run.stop.set()
        best = search.best
        if status == "interrupted" and run.best is not None:
            best = run.best  # what the chains of the interrupted round reported counts, too
        if best is None:
            raise problem.nothing_found()
        return run.result(simplify(problem, best, run), status)

    def _rounds(self, search: _Search, pool: ThreadPoolExecutor) -> Status:
        run, free = search.run, search.n_free
        heat = search.first_descents()
        quiet, done = 0, 0
        unit, longest, patience = free * min(1.0, free / self._FEW_COLUMNS), self._LONGEST, 3
        if search.problem.patterns.outcomes is not None:  # blended
            longest = self._LONGEST_BLENDED
            patience = 2 if free > self._MANY_COLUMNS else 3
        patience = patience if self.patience is None else self.patience
        length = max(32, int(self._SHORTEST * unit))
        while not run.must_stop:
            if free == 0 or quiet >= patience or done == self.max_rounds:
                return "finished"
            steps = search.affordable(length, self.chains, self.n_jobs)
            better = search.round(pool, self.chains, steps, (self._HOT * heat, self._COLD * heat))
            if steps < length:  # the last round that there was time for
                return "time_limit"
            quiet = 0 if better else quiet + 1
            done += 1
            length = min(4 * length, max(128, int(longest * unit)))
        return "time_limit"


class _Search:
    """The incumbent and the speed of one solve."""

    def __init__(self, problem: Problem, run: Run, seed: int, start: IntArray) -> None:
        self.problem, self.run = problem, run
        self.best: IntArray | None = None
        self._seeds = np.random.SeedSequence(seed)
        self._start = start
        self._value: Any = None
        self._polished: IntArray | None = None
        self._seconds_per_step = 0.0
        self._strict = False
        self._free: list[int] = make_search_state(problem, 0).free.tolist()
        self.n_free = len(self._free)

    @property
    def is_small(self) -> bool:
        """Whether all vectors can be tried, and rounding does not decide which are feasible."""
        problem = self.problem
        values = sorted(_n_values(problem, k) for k in self._free)
        exact = problem.limits.rates is None or problem.patterns.is_whole
        return exact and bool(values) and math.prod(values[:-1]) <= _FEW_LISTS

    def try_all(self) -> Status:
        """Step 0: all values of the widest column, beside all of the others."""
        problem, state = self.problem, self._new_state(0)
        state.start(self._start, True)
        self._offer(state)
        *others, widest = sorted(self._free, key=lambda k: _n_values(problem, k))
        ranges = [
            (problem.lower[k] + np.flatnonzero(problem.limits.values[k])).tolist() for k in others
        ]
        for chosen in product(*ranges):
            if self.run.must_stop:
                return "time_limit"
            for k, value in zip(others, chosen, strict=True):
                state.move(k, value)
            values, allowed = state.values(widest)
            if not allowed.any():
                continue
            top = values[allowed].max()
            for place in np.flatnonzero(allowed & (values == top)).tolist():
                points = state.points.copy()
                points[widest] = problem.lower[widest] + place
                self._take(top, points)
            assert self.best is not None
            self.run.report(values.size, self._value, self.best)
        return "finished"

    def first_descents(self) -> float:
        """Step 1; returns the typical loss of a move from a local optimum."""
        state = self._new_state(self._next_seed())
        state.start(self._start, True)
        self._offer(state)
        if not self.n_free:
            return 1.0
        rng = np.random.default_rng(self._next_seed())
        medians = []
        for number in range(_DESCENTS):
            if number:
                state.start(self._some_points(rng), False)
            rng.shuffle(state.free)
            self._offer(state, state.descend(lambda: self.run.must_stop))
            losses = [state.losses(k) for k in self._while_time(state.free)]
            medians.append(_typical(losses, self.problem.slack))
            if self.run.must_stop:
                break
        return float(np.mean(medians)) or 0.001 * self.problem.value_of_one

    def _while_time(self, columns: IntArray) -> Iterator[int]:
        """The first of some columns, and others as long as there is time."""
        for place, k in enumerate(columns.tolist()):
            if place and self.run.must_stop:
                return
            yield k

    def _new_state(self, seed: int) -> SearchState:
        return make_search_state(self.problem, seed, strict=self._strict)

    def _some_points(self, rng: np.random.Generator) -> IntArray:
        """Random points on a random half of the columns, within the allowed size."""
        problem = self.problem
        if not problem.is_plain:
            return self._some_values(rng)
        points = rng.integers(problem.lower, problem.upper + 1)
        order = rng.permutation(points.size)
        points[order[points.size // 2 :]] = 0
        points = np.clip(points, problem.lower, problem.upper)
        removable = [k for k in order if points[k] and problem.lower[k] <= 0 <= problem.upper[k]]
        excess = max(0, int(np.count_nonzero(points)) - problem.max_features)
        points[removable[:excess]] = 0
        return self._fewer_questions(points, rng)

    def _fewer_questions(self, points: IntArray, rng: np.random.Generator) -> IntArray:
        """Close questions whose answers lie too far apart, and some where there are too many."""
        asked, limits = self.problem.questions, self.problem.limits.asked
        if not asked.grouped:
            return points
        least = self.problem.nearest_to_zero()
        apart = np.flatnonzero(asked.spreads(points) > limits.spread)
        points = np.where(np.isin(asked.of_column, apart), least, points)
        for question in rng.permutation(np.unique(asked.of_column[points != 0])):
            if asked.used(points) <= limits.most:
                break
            points = np.where(asked.of_column == question, least, points)
        return points

    def _some_values(self, rng: np.random.Generator) -> IntArray:
        """Random allowed values on a random half of the columns; a descent meets other limits."""
        problem, points = self.problem, self.problem.nearest_to_zero()
        free = make_search_state(problem, 0).free
        for k in rng.permutation(free)[: (free.size + 1) // 2]:
            points[k] = problem.lower[k] + rng.choice(np.flatnonzero(problem.limits.values[k]))
        return points

    def affordable(self, length: int, chains: int, n_jobs: int) -> int:
        """Shorten a round that would not finish: a chain cut off while hot is worth little."""
        if not self._seconds_per_step:
            return length
        waves = -(-chains // max(1, n_jobs))
        most = 0.95 * self.run.time_left / (waves * self._seconds_per_step)
        return max(1, int(min(length, most)))

    def round(
        self, pool: ThreadPoolExecutor, chains: int, steps: int, heats: tuple[float, float]
    ) -> bool:
        """Steps 2 and 3; returns whether a better card was found."""
        before = self._value
        futures = []
        for number in range(chains):
            warm = number % 2 == 1
            first, last = _WARM if warm else (1.0, 1.0)
            schedule = np.array([first * heats[0], last * heats[1], steps])
            state = self._new_state(self._next_seed())
            origin = self.best if warm and self.best is not None else self._start
            futures.append(pool.submit(self._anneal, state, schedule, origin))
        pending = set(futures)
        while pending:  # short waits keep Ctrl-C responsive
            _, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
        results = [future.result() for future in futures]
        for state, unreported, _ in results:  # in order of the chains, not of their ends
            self._offer(state, unreported)
        work = sum(seconds for _, _, seconds in results)
        if not self.run.must_stop:
            self._seconds_per_step = work / (chains * steps)
        best, polished = self.best, self._polished
        known = best is None or (polished is not None and np.array_equal(best, polished))
        if best is not None and not known and not self.run.must_stop:
            state, evaluated = polish(self._new_state(0), best, self.run)
            self._offer(state, evaluated)
            self._polished = self.best
        return bool(self._value is not None and (before is None or self._value > before))

    def _anneal(
        self, state: SearchState, schedule: Any, origin: IntArray
    ) -> tuple[SearchState, int, float]:
        """One chain, in slices; stops early where it has to."""
        run, unreported = self.run, 0
        begin = now()
        state.start(origin, True)
        done, total, piece = 0, int(schedule[2]), 16
        while done < total and not run.must_stop:
            tick = now()
            end = min(done + piece, total, done - done % _RECOUNT + _RECOUNT)
            unreported = self._report(state, unreported + state.anneal(schedule, done, end))
            spent = max(now() - tick, 1e-6)
            piece = max(1, min(4 * piece, int((end - done) * SLICE / spent)))
            done = end
            if done % _RECOUNT == 0:
                state.start(state.points.copy(), False)
        state.start(state.best.copy(), False)
        unreported = self._report(state, unreported + state.descend(lambda: run.must_stop))
        return state, unreported, now() - begin

    def _report(self, state: SearchState, evaluated: int) -> int:
        """Report work and the best points, if there are any; return the work not reported."""
        if not state.found or not self._certain(state.best):
            return evaluated
        self.run.report(evaluated, state.best_value, state.best)
        return 0

    def _offer(self, state: SearchState, evaluated: int = 0) -> None:
        """Make a walk's best the incumbent if it is better, or as good and simpler."""
        unreported = self._report(state, evaluated)
        self.run.evaluations += unreported
        if not state.found:
            return
        value, points = state.best_value, state.best
        if not self._certain(points):
            self._strict = True  # from now on, rates may not touch their limits
            return
        self._take(value, points)

    def _take(self, value: Any, points: IntArray) -> None:
        """Make allowed points the incumbent if they are better, or as good and simpler."""
        if self.best is None or value > self._value:
            self._value, self.best = value, points.copy()
        elif value == self._value and plainness(points) < plainness(self.best):
            self.best = points.copy()

    def _certain(self, points: IntArray) -> bool:
        """Whether points are feasible: with real weights, the walk's own rates are rounded."""
        problem = self.problem
        rounded = problem.limits.rates is not None and not problem.patterns.is_whole
        return not rounded or problem.feasible(points)

    def _next_seed(self) -> int:
        return int(self._seeds.spawn(1)[0].generate_state(1, dtype=np.uint64)[0])


def _typical(losses: list[FloatArray], slack: float) -> float:
    """Median over columns of the smallest loss; where that is nothing, of what costs something."""
    median = float(np.median([abs(own.min()) if own.size else 0.0 for own in losses]))
    if median > slack:
        return median
    costly = [own[own > slack].min() for own in losses if (own > slack).any()]
    return float(np.median(costly)) if costly else 0.0


def plainness(points: IntArray) -> tuple[Any, ...]:
    """What equally good (P,) points are sorted by, the simplest first."""
    size = int(np.count_nonzero(points))
    return size, int(np.abs(points).sum()), tuple((-points).tolist())


def compile_search(problem: Problem) -> None:
    """Compile (or load) what a search needs, before threads wait for each other's compilation."""
    state = make_search_state(problem, 1)
    state.start(problem.nearest_to_zero(), True)
    state.anneal(DESCEND, 0, 0)
    if state.free.size > 1 and problem.is_plain:  # a state without scores makes it return at once
        room = _room_for_pairs(problem, set())
        pair_gains(state.columns, make_state(state.columns), 0, 0, room)
