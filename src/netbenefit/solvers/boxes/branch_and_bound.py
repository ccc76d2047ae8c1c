"""Branch and bound with the pair-order flow bound, in whole numbers.

Boxes of points are bounded, split and closed (see ``BoxSearch``).  Complete, it proves the best
card so far optimal; stopped before, the highest bound of an open box is the bound of all cards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from netbenefit.common.checks import IntArray
from netbenefit.data.patterns import PatternTable
from netbenefit.problem.integer import IntegerProblem
from netbenefit.problem.problem import NoCardFound, Problem
from netbenefit.problem.result import Boxes, Proof, Status
from netbenefit.solvers.base import Run, value_of
from netbenefit.solvers.boxes.search import NO_INCUMBENT, BoxSearch
from netbenefit.solvers.boxes.tree import free_groups
from netbenefit.solvers.kernels.jit import WORD

__all__ = [
    "MOST_PAIRS",
    "Reduced",
    "can_count",
    "leave_out_references",
    "n_pairs",
    "no_card",
    "prove_boxes",
]


# -- one-hot groups without their first column -----------------------------------------------------
# Where exactly one column of a group is 1 in every row, a constant can be added to the points of
# all of them: every score moves by it, and no decision changes.  If sizes are free (C0 = 0, no
# limits on supports), the first column's points can so be made 0 and the column left out, at the
# price of a wider range for the others.  The reduced problem has fewer columns and, in its wider
# box, all cards of the first one and some more: its bounds are bounds of the first one.


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
    """Leave out the first column of each group; None where there is no group."""
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


#: Share of the time for a proof that can be rechecked, where there is a faster one.
_PLAIN_SHARE, _PLAIN_SECONDS = 0.1, 10.0
#: Pairs of patterns that a search can hold, for each of its levels.
MOST_PAIRS = 300_000


def n_pairs(integers: IntegerProblem) -> int:
    """Pairs of a pattern worth calling positive and one that is not, padding included."""
    above = int((integers.gains > 0).any(axis=0).sum())
    below = int((integers.gains < 0).any(axis=0).sum())
    return above * max(WORD, -(-below // WORD) * WORD)  # as they are held, in words of bits


def can_count(problem: Problem, integers: IntegerProblem) -> bool:
    """Whether vectors can be counted: rates need exact numbers."""
    return problem.limits.rates is None or (problem.patterns.is_whole and integers.exact)


def no_card(problem: Problem, *, proven: bool) -> NoCardFound:
    """Make the error of a proof without a card."""
    if not proven:
        return problem.nothing_found()
    return NoCardFound(
        f"no card meets the constraints, which is proven: {problem.rates_text()}. Relax a rate, "
        "or allow more columns or points."
    )


def prove_boxes(run: Run, integers: IntegerProblem, *, n_jobs: int) -> Status:
    """Prove by branch and bound until done, out of time or interrupted; ``run`` keeps the proof.

    One-hot groups without a price for their size are searched twice where need be: as they are, for
    a proof with boxes that can be rechecked, and if that takes long without their first columns,
    which is faster.
    """
    problem = run.problem
    zero = np.zeros_like(problem.lower)
    if problem.feasible(zero):  # doubling leaves it where it is, so it is looked at by itself
        run.report(1, value_of(problem, zero), zero)
    reduced = leave_out_references(problem, free_groups(problem))
    with run.within(1.0 if reduced is None else _PLAIN_SHARE, _PLAIN_SECONDS):
        status = _search(run, problem, integers, lambda points: points, n_jobs)
    if reduced is None or status != "time_limit" or run.must_stop or run.best is None:
        return status  # without a card, only the problem itself can tell whether there is one
    return _search(run, reduced.problem, IntegerProblem.of(reduced.problem), reduced.back, n_jobs)


def _search(
    run: Run,
    problem: Problem,
    integers: IntegerProblem,
    back: Callable[[IntArray], IntArray | None],
    n_jobs: int,
) -> Status:
    """Prove a bound of the run's problem, or of one that holds all its cards."""
    incumbent = NO_INCUMBENT
    if run.best is not None:
        incumbent = integers.from_objective(run.problem.evaluate(run.best).objective)

    def offer(points: IntArray, value: int) -> None:
        card = back(points)
        if card is not None and run.problem.feasible(card):
            run.report(0, value_of(run.problem, card), card)

    search = BoxSearch(
        problem,
        integers,
        incumbent,
        must_stop=lambda: run.must_stop,
        offer=offer,
        n_jobs=n_jobs,
    )

    def claim(boxes: Boxes | None = None) -> Proof:
        proof = search.proof(boxes)
        if integers.exact or run.best is None:
            return proof
        # Rounded values: the incumbent's was rounded down, to leave no better card out.
        return replace(proof, bound=max(proof.bound, run.problem.evaluate(run.best).objective))

    status: Status = "finished"
    try:
        outcome = search.run(lambda: run.report_proof(claim()))
        status = "finished" if outcome.complete else "time_limit"
    except KeyboardInterrupt:
        status = "interrupted"
        run.stop.set()
        outcome = search.run()
    run.evaluations += outcome.vectors
    if run.best is not None:
        run.finish_proof(claim(outcome.boxes if problem is run.problem else None))
    return status
