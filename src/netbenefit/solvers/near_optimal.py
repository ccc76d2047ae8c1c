"""All cards that are almost as good as the best one (the Rashomon set)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import InputError, IntArray, Table, Tabular
from netbenefit.problem import Boxes, IntegerProblem, Problem, Reason, floor_scores, whole
from netbenefit.solvers.base import check_time_limit
from netbenefit.solvers.boxes.search import BoxSearch, fits_boxes, vectors_of
from netbenefit.solvers.clock import now
from netbenefit.solvers.search_then_prove import SearchThenProve


class NearCard(NamedTuple):
    """One of the almost best cards."""

    points: tuple[int, ...]
    objective: Fraction
    size: int
    questions: int  #: how many are asked
    agreement: float  #: share of decisions, over rows and thresholds, that are the best card's


@dataclass(frozen=True, repr=False)
class NearOptimal(Tabular):
    """Cards within a tolerance of the best, the best one first.

    Attributes
    ----------
    cards : tuple of NearCard
    complete : bool
        Whether these are all of them; False where time or the limit ended the work, or where the
        problem is too large to look at every box.
    tolerance : Fraction
        How much lower than the best an objective may be.
    optimal : bool
        Whether the best card is proven to be the best.
    names : tuple of str
        Columns that the points belong to.
    """

    cards: tuple[NearCard, ...]
    complete: bool
    tolerance: Fraction
    optimal: bool
    names: tuple[str, ...]

    def to_table(self) -> Table:
        """One row per card: objective, loss, size, questions, agreement, features, points.

        ``loss`` is against the best card; ``features`` names the columns with points; ``points``
        are theirs, in the same order.
        """
        best = self.cards[0].objective if self.cards else Fraction(0)
        used = [
            [(name, v) for name, v in zip(self.names, card.points, strict=True) if v]
            for card in self.cards
        ]
        return Table(
            {
                "objective": np.array([float(card.objective) for card in self.cards]),
                "loss": np.array([float(best - card.objective) for card in self.cards]),
                "size": np.array([card.size for card in self.cards], dtype=np.int64),
                "questions": np.array([card.questions for card in self.cards], dtype=np.int64),
                "agreement": np.array([card.agreement for card in self.cards]),
                "features": np.array([", ".join(n for n, _ in row) for row in used], dtype=object),
                "points": np.array([", ".join(str(v) for _, v in row) for row in used], object),
            }
        )


def enumerate_near_optimal(
    problem: Problem,
    tolerance: float | Fraction,
    limit: int = 1000,
    *,
    time_limit: float | None = 60.0,
    n_jobs: int = 1,
    seed: int = 0,
) -> NearOptimal:
    """List the cards whose objective is at most ``tolerance`` below the best one's.

    For whole-number data a card and its multiples are one card: only the smallest is listed.

    1. Find the best card, and prove it if there is time.
    2. Small problems: branch and bound keeps every box that may hold a card of the set, and counts
       it in the end, vector by vector: none is missed.
    3. Large ones: neighbours of cards of the set, one or two changed points or a question away, are
       tried in turn until time or ``limit`` is up; the set is marked as not complete.

    Parameters
    ----------
    problem : Problem
    tolerance : float or Fraction
        In units of the objective (net benefit).
    limit : int, default=1000
        Most cards to list; the best ones are kept.
    time_limit : float or None, default=60.0
        Seconds.
    n_jobs, seed
        As for the solvers.

    Examples
    --------
    >>> from netbenefit.data.patterns import PatternTable
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0, 1], [1, 0], [1, 1], [0, 0]], [0, 1, 1, 0])
    >>> problem = Problem.build(table, Thresholds.of([0.5]), penalty=0.01, max_points=2)
    >>> near = enumerate_near_optimal(problem, 0.011)
    >>> [card.points for card in near.cards], near.complete
    ([(1, 0), (2, 1), (2, -1)], True)
    """
    slack, most = _check_tolerance(tolerance), whole(limit, "limit", 1)
    deadline = now() + check_time_limit(time_limit)
    first = SearchThenProve(
        time_limit=time_limit and 0.5 * time_limit, n_jobs=n_jobs, seed=seed
    ).solve(problem)
    best = problem.evaluate(first.points).objective
    found = _Found(problem, best - slack, most)
    found.add(tuple(first.points.tolist()), best)

    def must_stop() -> bool:
        return now() >= deadline

    integers = IntegerProblem.of(problem)
    complete = False
    if fits_boxes(integers):
        complete = _count_boxes(problem, integers, found, must_stop, n_jobs)
    if not complete:
        _walk(problem, found, must_stop)
    # A better card than the first may have been found, which raises the lower end of the set.
    cards = found.sorted(slack)
    complete = complete and not found.overfull
    return NearOptimal(
        cards=_with_agreement(problem, cards),
        complete=complete,
        tolerance=slack,
        optimal=complete or first.status == "optimal",
        names=problem.patterns.names,
    )


def _check_tolerance(tolerance: float | Fraction) -> Fraction:
    number = isinstance(tolerance, int | float | Fraction | np.number)
    if isinstance(tolerance, bool) or not number or not math.isfinite(tolerance) or tolerance < 0:
        raise InputError(f"tolerance must be a number of at least 0, not {tolerance!r}.")
    if isinstance(tolerance, Fraction):
        return tolerance
    return Fraction(repr(float(tolerance)))  # the decimal that was written


class _Found:
    """Cards of the set so far; beyond the limit the best ones, and the bar rises to the last."""

    def __init__(self, problem: Problem, bar: Fraction, limit: int) -> None:
        self._problem, self.bar, self._limit = problem, bar, limit
        self.cards: dict[tuple[int, ...], Fraction] = {}
        self.overfull = False

    def add(self, points: tuple[int, ...], objective: Fraction) -> bool:
        """Keep a card that is good enough and new."""
        if objective < self.bar or points in self.cards:
            return False
        if self._problem.patterns.is_integer and math.gcd(*points) > 1:
            smaller = self._problem.primitive(np.array(points))
            if tuple(smaller.tolist()) != points:
                return self.add(tuple(smaller.tolist()), objective)
        self.cards[points] = objective
        if len(self.cards) > 2 * self._limit:
            self._trim()
        return True

    def _trim(self) -> None:
        ranked = sorted(self.cards.items(), key=_rank)[: self._limit]
        self.overfull = True
        self.cards = dict(ranked)
        self.bar = ranked[-1][1]

    def sorted(self, slack: Fraction) -> list[tuple[tuple[int, ...], Fraction]]:
        ranked = sorted(self.cards.items(), key=_rank)
        near = [item for item in ranked if item[1] >= ranked[0][1] - slack]
        self.overfull = self.overfull or len(near) > self._limit
        return near[: self._limit]


def _rank(item: tuple[tuple[int, ...], Fraction]) -> tuple[Fraction, int, int, tuple[int, ...]]:
    """The best first; of equals the smallest, then the one with the smallest points."""
    points, objective = item
    size = sum(v != 0 for v in points)
    return -objective, size, sum(abs(v) for v in points), tuple(-v for v in points)


def _count_boxes(
    problem: Problem,
    integers: IntegerProblem,
    found: _Found,
    must_stop: Callable[[], bool],
    n_jobs: int,
) -> bool:
    """Step 2; True where no box was left out."""
    bar = integers.from_objective(found.bar) - 1
    if integers.to_objective(bar + 1) < found.bar:
        bar += 1  # the bar lies between two values
    search = BoxSearch(
        problem, integers, bar, must_stop=must_stop, n_jobs=n_jobs, every_vector=True
    )
    complete, boxes = search.run()
    for points in _vectors(boxes, bar):
        if must_stop():
            return False
        if problem.feasible(points):
            found.add(tuple(points.tolist()), problem.evaluate(points).objective)
    return complete


def _vectors(boxes: Boxes, bar: int) -> Iterator[IntArray]:
    """All vectors of counted boxes that hold one of the set."""
    chosen = (boxes.reasons == Reason.COUNTED) & (boxes.values > bar)
    for lower, upper in zip(boxes.lower[chosen], boxes.upper[chosen], strict=True):
        yield from vectors_of(lower, upper)


def _walk(problem: Problem, found: _Found, must_stop: Callable[[], bool]) -> None:
    """Step 3: from card to card, the best ones first."""
    done: set[tuple[int, ...]] = set()
    while not must_stop():
        waiting = [item for item in found.cards.items() if item[0] not in done]
        if not waiting:
            return
        points, _ = min(waiting, key=_rank)
        done.add(points)
        for neighbour in _neighbours(problem, np.array(points, dtype=np.int64)):
            if must_stop():
                return
            if problem.feasible(neighbour):
                found.add(tuple(neighbour.tolist()), problem.evaluate(neighbour).objective)


def _neighbours(problem: Problem, points: IntArray) -> Iterator[IntArray]:
    """Vectors with one other value, or with a rule's or a question's points on another column."""
    for k in range(points.size):
        for value in range(int(problem.lower[k]), int(problem.upper[k]) + 1):
            if value != points[k]:
                changed = points.copy()
                changed[k] = value
                yield changed
    unused = np.flatnonzero(points == 0).tolist()
    for own in _rules(problem, points):
        bare = points.copy()
        bare[own] = 0
        if own.size > 1:
            yield bare
        most = int(np.abs(points[own]).max())
        for j, value in product(unused, (most, -most)):
            swapped = bare.copy()
            swapped[j] = value
            yield swapped


def _rules(problem: Problem, points: IntArray) -> list[IntArray]:
    """The columns with points, one by one, and those of a question with several together."""
    used = np.flatnonzero(points)
    question = problem.questions.of_column[used]
    asked = [used[question == q] for q in np.unique(question)]
    return [*used[:, None], *(own for own in asked if own.size > 1)]


def _with_agreement(
    problem: Problem, cards: list[tuple[tuple[int, ...], Fraction]]
) -> tuple[NearCard, ...]:
    """Add how often each card decides as the best one does."""
    table = problem.patterns
    mass = (table.positives + table.negatives).astype(np.float64)

    def decisions(points: tuple[int, ...]) -> NDArray[np.bool_]:
        vector = np.array(points, dtype=np.int64)
        scores = floor_scores(table.codes, table.decimals, vector)
        cutoffs = np.array(problem.evaluate(vector).cutoffs, dtype=np.int64)
        called: NDArray[np.bool_] = scores[:, None] >= cutoffs
        return called

    if not cards:
        return ()
    best = decisions(cards[0][0])
    result = []
    for points, objective in cards:
        same = (decisions(points) == best).mean(axis=1)
        agreement = float((same * mass).sum() / mass.sum())
        size, asked = sum(v != 0 for v in points), problem.questions.used(points)
        result.append(NearCard(points, objective, size, asked, agreement))
    return tuple(result)
