"""The best card of every size, in one run: what one size finds helps its neighbours.

A card "of size k" asks at most k questions.  Where each column is a question of its own, these are
its rules.  Prices are those of the problem, so that a size is the problem with one more limit.  A
size is chosen afterwards, by a person, from what each of them keeps on held-out rows
(:mod:`netbenefit.validation.sizes`).

1. From the smallest size to the largest: descend from the smallest allowed points, and from the
   card of the size before with the best columns added.  After this every size has a card.  A card
   that is known already counts for all sizes that it fits.
2. Upwards: add the best columns to the card of the size before, and descend; then a short annealing
   (:class:`LocalSearch`) from the best card of this size.
3. Downwards: drop the least useful questions from the card of the size above, and descend.
4. Go to 2, with a longer annealing, until nothing has become better or time is up.
5. Among equally good cards take the one with the smallest points.  A larger size whose card is not
   better than that of the size before takes that one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count, pairwise
from typing import Any

import numpy as np

from netbenefit.common import InputError, IntArray
from netbenefit.problem import (
    MaxQuestions,
    NoCardFound,
    Problem,
    Progress,
    Questions,
    SolverResult,
    Status,
    whole,
)
from netbenefit.solvers.base import Callback, Run, check_time_limit, value_of
from netbenefit.solvers.clock import now
from netbenefit.solvers.local_search import LocalSearch, compile_search, simplify
from netbenefit.solvers.state import SearchState, make_search_state

#: Rounds of annealing without a better card of any size, after which a run ends.
_PATIENCE = 3
#: The shortest search that is worth beginning, in seconds.
_SHORTEST = 0.001


def best_of_every_size(
    problem: Problem,
    sizes: Sequence[int],
    *,
    time_limit: float | None = 10.0,
    n_jobs: int = 1,
    seed: int = 0,
    start: IntArray | None = None,
    max_rounds: int | None = None,
    callback: Callback | None = None,
) -> dict[int, SolverResult]:
    """Search the best card with at most k questions, for every k in ``sizes``, in one run.

    No objective is lower than that of a smaller size; seconds and evaluations are those of the
    whole run.  Where constraints on rates are so strict that no card of a size was found, the size
    is left out.  ``start`` is a card that is known already; ``max_rounds`` ends the climb after so
    many.  After Ctrl-C, what there is.  The same seed gives the same cards on any number of
    threads, unless time runs out.
    """
    begin, limit = now(), check_time_limit(time_limit)
    checked = check_sizes(sizes)
    problems = {size: limit_size(problem, size) for size in checked}
    compile_search(problems[checked[-1]])
    ladder = _Ladder(problems, limit, callback, begin)
    try:
        ladder.begin(start)
        status = ladder.climb(n_jobs, seed, max_rounds)
    except KeyboardInterrupt:
        if not ladder.found:
            raise
        status = "interrupted"
    if not ladder.found:
        raise problem.nothing_found()
    return ladder.results(status)


def check_sizes(sizes: Any) -> tuple[int, ...]:
    """Sizes in order, each once; refuse what is none."""
    if isinstance(sizes, str) or not np.iterable(sizes):
        raise InputError(
            f"sizes must be a list of whole numbers, not {sizes!r}. Write range(1, 9) for 1 to 8."
        )
    found = tuple(sorted({whole(size, "each of the sizes", 1) for size in sizes}))
    if not found:
        raise InputError("sizes is empty. Give at least one, as in range(1, 9).")
    return found


def limit_size(problem: Problem, size: int) -> Problem:
    """The same problem for cards with at most ``size`` questions."""
    return problem.with_constraints([MaxQuestions(size)])


class _Ladder:
    """The problems of all sizes, and the best card of each so far."""

    def __init__(
        self, problems: dict[int, Problem], limit: float, callback: Callback | None, begin: float
    ) -> None:
        self.sizes = tuple(problems)
        self._problems = problems
        self._states = {size: make_search_state(problems[size], 0) for size in self.sizes}
        spent = now() - begin
        self._runs = {
            size: Run(problems[size], "sizes", limit, callback, spent) for size in self.sizes
        }
        self._values: dict[int, Any] = {}
        self._cards: dict[int, IntArray] = {}
        self._evaluations = 0
        self._callback = callback
        self._clock = self._runs[self.sizes[0]]

    @property
    def found(self) -> bool:
        """Whether there is a card of any size."""
        return bool(self._cards)

    def begin(self, known: IntArray | None) -> None:
        """Step 1."""
        for size in self.sizes:
            if self._clock.must_stop and self.found:
                return  # step 5 gives the larger sizes a card
            self._descend(size, self._problems[size].nearest_to_zero())
            grown = self._enlarged(size)
            if grown is not None:
                self._descend(size, grown)
            if known is not None:
                fewer = _shrunk(self._states[size], known, size, self._must_stop)
                if fewer is not None:
                    self._descend(size, fewer)

    def climb(self, n_jobs: int, seed: int, most: int | None) -> Status:
        """Steps 2 to 4."""
        for rounds in count(1):
            better = self._up(LocalSearch(max_rounds=rounds, n_jobs=n_jobs), (seed, rounds))
            better = self._down() or better
            if self._clock.must_stop:
                return "time_limit"
            if rounds == most or (rounds >= _PATIENCE and not better):
                break
        return "finished"

    def results(self, status: Status) -> dict[int, SolverResult]:
        """Step 5; every card is counted anew from the data."""
        results: dict[int, SolverResult] = {}
        best: int | None = None
        for size in self.sizes:
            self._simplify(size)
            own = self._values.get(size)
            if own is not None and (best is None or own > self._values[best]):
                best = size
            if best is not None:
                run = self._runs[size]
                run.evaluations = self._evaluations
                results[size] = run.result(self._cards[best], status)
        return results

    def _simplify(self, size: int) -> None:
        if size not in self._cards:
            return
        problem, run = self._problems[size], self._runs[size]
        plain = simplify(problem, self._cards[size], run)
        if problem.feasible(plain):
            value = value_of(problem, plain)
            if value >= self._values[size]:  # floats may be a little lower
                self._values[size], self._cards[size] = value, plain

    def _up(self, search: LocalSearch, seeds: tuple[int, int]) -> bool:
        """Step 2; returns whether a card has become better."""
        better = False
        for i, size in enumerate(self.sizes):
            if self._clock.must_stop:
                break
            grown = self._enlarged(size)
            if grown is not None:
                better = self._descend(size, grown) or better
            # What is left is shared among the sizes to come, and one part is for the way down.
            share = self._clock.time_left / (len(self.sizes) - i + 1)
            better = self._search(size, _short(search, share, (*seeds, size))) or better
        return better

    def _search(self, size: int, search: LocalSearch) -> bool:
        problem, start = self._problems[size], self._cards.get(size)
        try:
            result = search.solve(problem, start=start, callback=self._relay())
        except NoCardFound:
            return False
        self._evaluations += result.evaluations
        better = self._offer(size, result.points)
        if result.status == "interrupted":
            raise KeyboardInterrupt
        return better

    def _down(self) -> bool:
        """Step 3; returns whether a card has become better."""
        better = False
        for size, above in reversed(list(pairwise(self.sizes))):
            if self._clock.must_stop:
                break
            if above in self._cards:
                fewer = _shrunk(self._states[above], self._cards[above], size, self._must_stop)
                if fewer is not None:
                    better = self._descend(size, fewer) or better
        return better

    def _enlarged(self, size: int) -> IntArray | None:
        """The card of the size before with the best columns added."""
        i = self.sizes.index(size)
        below = self._cards.get(self.sizes[i - 1]) if i else None
        return None if below is None else _grown(self._states[size], below, self._must_stop)

    def _must_stop(self) -> bool:
        return self._clock.must_stop

    def _descend(self, size: int, points: IntArray) -> bool:
        """Offer the local optimum below some points."""
        state = self._states[size]
        state.start(points, True)
        self._evaluations += state.descend(self._must_stop)
        return state.found and self._offer(size, state.best)

    def _offer(self, size: int, points: IntArray) -> bool:
        """Keep points that are better than the card of this size, by more than rounding."""
        problem = self._problems[size]
        if not problem.feasible(points):  # with real weights, a walk's own rates are rounded
            return False
        value, standing = value_of(problem, points), self._values.get(size)
        if standing is not None and value <= standing + problem.slack:
            return False
        self._values[size], self._cards[size] = value, points.copy()
        self._runs[size].report(0, value, points)
        return True

    def _relay(self) -> Callback | None:
        """Pass on progress of one search with the time and work of the whole run."""
        callback, before = self._callback, self._evaluations
        if callback is None:
            return None

        def relay(progress: Progress) -> bool | None:
            tried = before + progress.evaluations
            return callback(replace(progress, seconds=self._clock.seconds, evaluations=tried))

        return relay


def _short(search: LocalSearch, seconds: float, seeds: tuple[int, ...]) -> LocalSearch:
    seed = int(np.random.SeedSequence(seeds).generate_state(1)[0])
    limit = None if math.isinf(seconds) else max(_SHORTEST, seconds)
    return replace(search, time_limit=limit, seed=seed)


def _grown(state: SearchState, points: IntArray, must_stop: Callable[[], bool]) -> IntArray:
    """Add the column and points that raise the objective most, as long as there is room."""
    problem, grown = state.problem, points.copy()
    while np.count_nonzero(grown) < problem.max_features:
        state.start(grown, True)
        best, highest = None, state.value + problem.slack
        for k in state.free[grown[state.free] == 0].tolist():
            if must_stop():
                return grown
            values, allowed = state.values(k)
            options = np.flatnonzero(allowed)
            if options.size and (value := values[options].max()) > highest:
                best, highest = (k, int(options[np.argmax(values[options])])), value
        if best is None:
            break
        grown[best[0]] = problem.lower[best[0]] + best[1]
    return grown


def _shrunk(
    state: SearchState, points: IntArray, size: int, must_stop: Callable[[], bool]
) -> IntArray | None:
    """Drop the question whose absence costs least, until ``size`` are left.

    None where none may go, or there is no time.
    """
    problem, asked, fewer = state.problem, state.problem.questions, points.copy()
    while asked.used(fewer) > size:
        without = [
            np.where(asked.of_column == question, 0, fewer)
            for question in np.unique(asked.of_column[fewer != 0])
            if all(_may_be_zero(problem, k) for k in _used_columns(asked, question, fewer))
        ]
        if not without or must_stop():
            return None
        fewer = max(without, key=lambda left: _worth(state, left))
    return fewer


def _worth(state: SearchState, points: IntArray) -> float:
    state.start(points, True)
    return float(state.value)


def _used_columns(asked: Questions, question: int, points: IntArray) -> list[int]:
    return np.flatnonzero((asked.of_column == question) & (points != 0)).tolist()


def _may_be_zero(problem: Problem, k: int) -> bool:
    inside = problem.lower[k] <= 0 <= problem.upper[k]
    return bool(inside and problem.limits.values[k, -problem.lower[k]])
