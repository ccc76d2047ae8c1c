"""Branch and bound over threads: which boxes are searched next, and what is proven meanwhile.

Depth-first search alone leaves an early box open to the very end, so its bound at a time-out would
say nothing.  Here the whole search space is brought below one target after another, from the bound
of the root down to the incumbent; what lies below the target already waits for the next one.  Boxes
with the highest bound come first, so the proven bound falls all the time.
"""

from __future__ import annotations

import heapq
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from netbenefit.common import IntArray
from netbenefit.problem import Boxes, IntegerProblem, NoCardFound, Problem, Proof, Reason, Status
from netbenefit.solvers.base import Run, value_of
from netbenefit.solvers.boxes import tree as _tree
from netbenefit.solvers.boxes.tree import NOTHING
from netbenefit.solvers.clock import now
from netbenefit.solvers.kernels.jit import WORD

#: Less than any value: what to pass where no vector is known.
_NO_INCUMBENT = -(1 << 61)

#: Seconds of compiled work between two looks at the clock.
_SLICE = 0.03
#: Boxes that a slice looks at, at most.
_MOST_PACE = 1 << 20
#: Targets, as shares of the distance between the first bound and the incumbent.  The first ones
#: are cheap; each box that waits for the next target has its flow found anew there.
_LADDER = (0.85, 0.7, 0.55, 0.4, 0.2, 0.0)
#: Closed boxes after which a search ends: what cannot be written down is not claimed.
MOST_BOXES = 4_000_000


class BoxSearch:
    """One proof by branch and bound.

    1. Open the box of all points.
    2. Set a target between the incumbent and the highest bound; search all open boxes, those with
       the highest bound first, one per thread, until each part is bounded by the target.  A thread
       without work is given the highest open part of another one's stack.
    3. What is bounded by the incumbent is closed; the rest is open for the next target.  Go to 2
       until nothing is open or time is up.

    ``offer`` is called with (points, value) of vectors better than ``incumbent``, from one thread
    at a time.  ``every_vector`` leaves out none that is worth more than the incumbent, see
    ``make_tree_arrays``.
    """

    def __init__(
        self,
        problem: Problem,
        integers: IntegerProblem,
        incumbent: int,
        *,
        must_stop: Callable[[], bool],
        offer: Callable[[IntArray, int], None] | None = None,
        n_jobs: int = 1,
        every_vector: bool = False,
    ) -> None:
        self._arrays = _tree.make_tree_arrays(problem, integers, every_vector=every_vector)
        self._shared = np.array([incumbent], dtype=np.int64)
        self._integers, self._offer = integers, offer
        self._is_over = must_stop
        self._n_jobs = max(1, n_jobs)
        self._trees = [_tree.make_tree(self._arrays) for _ in range(self._n_jobs)]
        self._known = [incumbent] * self._n_jobs
        self._lock = threading.Lock()
        self._closed: list[tuple[Any, Any]] = []
        self._n_closed = 0
        self._counted = _NO_INCUMBENT  # the best value of boxes that did not raise the incumbent
        self._tick = 0
        # Open boxes: a heap of (−bound, number, lower, upper); those for the next target; the
        # bounds of those that threads are working on.
        self._jobs: list[tuple[int, int, IntArray, IntArray]] = []
        self._later: list[tuple[int, int, IntArray, IntArray]] = []
        self._busy: dict[int, int] = {}
        self._push(self._jobs, integers.ceiling, integers.lower, integers.upper)
        self._target = integers.ceiling

    # -- what is known -----------------------------------------------------------------------------

    @property
    def value(self) -> int:
        """No vector is worth more than this."""
        with self._lock:
            heads = [-heap[0][0] for heap in (self._jobs, self._later) if heap]
            return max([self._incumbent(), self._counted, *heads, *self._busy.values()])

    def _must_stop(self) -> bool:
        return self._n_closed > MOST_BOXES or self._is_over()

    def _incumbent(self) -> int:
        """The best value known; of two threads that write at once, the lower may stay shared."""
        return max([int(self._shared[0]), *self._known])

    @property
    def vectors(self) -> int:
        """Vectors counted one by one."""
        return int(sum(tree.state[_tree.VECTORS] for tree in self._trees))

    def proof(self, boxes: Boxes | None = None) -> Proof:
        """The present bound, as a proof."""
        nodes = int(sum(tree.state[_tree.NODES] for tree in self._trees))
        details: dict[str, Any] = {"boxes": nodes, "vectors": self.vectors}
        if len(self._arrays.groups):
            details["groups"] = self._arrays.groups.tolist()
        return Proof(
            "branch and bound",
            self._integers.to_objective(self.value),
            boxes=boxes,
            rounding=self._integers.rounding,
            details=details,
        )

    # -- the search --------------------------------------------------------------------------------

    def run(self, watch: Callable[[], None] | None = None) -> tuple[bool, Boxes]:
        """Search until done or stopped: whether it is done, and all boxes.

        ``watch`` is called from this thread now and then.
        """
        self._renew()
        first = self._top() - int(self._shared[0])
        with ThreadPoolExecutor(self._n_jobs) as pool:
            while self._jobs and not self._must_stop():
                incumbent = int(self._shared[0])
                rungs = [incumbent + int(share * first) for share in _LADDER]
                self._target = next(rung for rung in rungs if rung < self._top())
                self._level(pool, watch)
                self._renew()
        self._renew()
        return not self._jobs, self._boxes()

    def _renew(self) -> None:
        """All boxes that are open, for the next target; what the incumbent closes is closed."""
        with self._lock:
            jobs = self._jobs + self._later
            incumbent = self._incumbent()
            self._shared[0] = incumbent
            done = [job for job in jobs if -job[0] <= incumbent]
            self._jobs, self._later = [job for job in jobs if -job[0] > incumbent], []
            heapq.heapify(self._jobs)
            self._close(*self._as_arrays(done))

    def _level(self, pool: ThreadPoolExecutor, watch: Callable[[], None] | None) -> None:
        """Bring all open boxes below the target."""
        stop = threading.Event()
        futures = {pool.submit(self._work, number, stop) for number in range(self._n_jobs)}
        try:
            pending = futures
            while pending:  # short waits keep Ctrl-C responsive
                done, pending = wait(pending, timeout=0.1)
                if any(future.exception() is not None for future in done):
                    break
                if watch is not None:
                    watch()
        finally:
            stop.set()
            wait(futures)
        for future in futures:
            future.result()

    def _work(self, number: int, stop: threading.Event) -> None:
        """One thread: take boxes and search them, until none is left for any thread."""
        pace = 1
        while not (stop.is_set() or self._must_stop()):
            job = self._take(number)
            if job is None:
                with self._lock:
                    if not self._jobs and not self._busy:
                        return
                time.sleep(0.002)
                continue
            try:
                pace = self._search(number, job, stop, pace)
            finally:  # whatever happened, no box is lost
                if self._trees[number].state[_tree.DEPTH] != _tree.DONE:
                    self._give(number, all_levels=True)
                with self._lock:
                    self._busy.pop(number, None)

    def _search(
        self, number: int, job: tuple[IntArray, IntArray], stop: threading.Event, pace: int
    ) -> int:
        """Search one box, until it is done or the search has to stop; returns the pace."""
        tree = self._trees[number]
        _tree.enter(tree, *job)
        while tree.state[_tree.DEPTH] != _tree.DONE:
            if stop.is_set() or self._must_stop():
                break
            begin = now()
            _tree.explore(self._arrays, tree, self._shared, self._target, pace)
            spent = max(now() - begin, 1e-6)
            self._collect(number)
            pace = max(1, min(4 * pace, int(pace * _SLICE / spent), _MOST_PACE))
            if not self._jobs and self._n_jobs > 1:
                self._give(number, all_levels=False)
        return pace

    def _take(self, number: int) -> tuple[IntArray, IntArray] | None:
        """The open box with the highest bound; what lies below the target waits."""
        with self._lock:
            if self._jobs and self._top() <= self._target:
                self._later += self._jobs
                heapq.heapify(self._later)
                self._jobs = []
            if not self._jobs:
                return None
            bound, _, lower, upper = heapq.heappop(self._jobs)
            self._busy[number] = -bound
            return lower, upper

    def _give(self, number: int, *, all_levels: bool) -> None:
        """Move open boxes of a stack to where others can take them."""
        tree = self._trees[number]
        waiting = tree.state[_tree.DEPTH] == _tree.WAITING
        with self._lock:
            if waiting:
                bound = self._busy[number]
                self._push(self._jobs, bound, tree.lo[0].copy(), tree.hi[0].copy())
            else:
                for lower, upper, bound in zip(
                    *_tree.open_boxes(tree, all_levels=all_levels), strict=True
                ):
                    self._push(self._jobs, int(bound), lower, upper)
            if all_levels:
                tree.state[_tree.DEPTH] = _tree.DONE

    def _collect(self, number: int) -> None:
        """Put what a thread has written out where it belongs."""
        tree = self._trees[number]
        size = int(tree.state[_tree.OUT])
        box, out = tree.out_box[:size], tree.out[:size]
        news: tuple[IntArray, int] | None = None
        with self._lock:
            if self._arrays.raises and tree.best[-1] > self._known[number]:
                self._known[number] = int(tree.best[-1])
                news = tree.best[:-1].copy(), self._known[number]
            incumbent = self._incumbent()
            is_open = (out[:, 1] == Reason.FLOW) & (out[:, 0] > incumbent)
            for at in np.flatnonzero(is_open):
                self._push(self._later, int(out[at, 0]), box[at, 0].copy(), box[at, 1].copy())
            self._counted = max(self._counted, int(out[~is_open, 0].max(initial=_NO_INCUMBENT)))
            self._close(box[~is_open], out[~is_open])
            tree.state[_tree.OUT] = 0
            if news is not None and self._offer is not None:
                self._offer(*news)

    # -- the boxes ---------------------------------------------------------------------------------

    def _push(self, heap: list[Any], bound: int, lower: IntArray, upper: IntArray) -> None:
        self._tick += 1
        heapq.heappush(heap, (-bound, self._tick, lower, upper))

    def _top(self) -> int:
        return -self._jobs[0][0] if self._jobs else int(self._shared[0])

    def _as_arrays(self, jobs: list[Any]) -> tuple[IntArray, IntArray]:
        """Open boxes (B, 2, P), and (B, 2) their bounds and the reason."""
        box = np.array([[lower, upper] for _, _, lower, upper in jobs], dtype=np.int64)
        out = np.array([[-bound, Reason.FLOW] for bound, *_ in jobs], dtype=np.int64)
        return box.reshape(len(jobs), 2, self._arrays.box.shape[1]), out.reshape(len(jobs), 2)

    def _close(self, box: IntArray, out: IntArray) -> None:
        if not len(out):
            return
        self._n_closed += len(out)
        small = np.abs(self._arrays.box).max(initial=0) < 2**15
        self._closed.append((box.astype(np.int16 if small else np.int64), out.copy()))

    def _boxes(self) -> Boxes:
        """All boxes, closed and open."""
        parts = [*self._closed, self._as_arrays(self._jobs)]
        box = np.concatenate([box for box, _ in parts])
        out = np.concatenate([out for _, out in parts])
        return Boxes(box[:, 0], box[:, 1], out[:, 0], out[:, 1].astype(np.uint8))


# -- a proof --------------------------------------------------------------------------------------


#: Pairs of patterns that a search can hold for each of its levels, and for all (at 2 to 8 bytes).
_MOST_PAIRS, _MOST_ROOM = 300_000, 300_000_000


def fits_boxes(integers: IntegerProblem) -> bool:
    """Whether the search can hold all pairs of patterns, at each of its levels."""
    above = int((integers.gains > 0).any(axis=0).sum())
    below = int((integers.gains < 0).any(axis=0).sum())
    pairs = above * max(WORD, -(-below // WORD) * WORD)  # as they are held, in words of bits
    room = _tree.most_levels(integers.lower, integers.upper) * (pairs + 8 * integers.lower.size)
    return pairs <= _MOST_PAIRS and room <= _MOST_ROOM


def _is_lenient(problem: Problem, integers: IntegerProblem) -> bool:
    """Whether rounding may allow cards that break rates, or hide what their rates cost them."""
    whole = problem.patterns.is_whole and integers.exact
    return problem.limits.rates is not None and not whole


def no_card(problem: Problem, *, proven: bool) -> NoCardFound:
    """Make the error of a proof without a card."""
    if not proven:
        return problem.nothing_found()
    return NoCardFound(
        f"no card meets the constraints, which is proven: {problem.rates_text()}. Relax a rate, "
        "or allow more columns or points."
    )


def prove_boxes(run: Run, integers: IntegerProblem, *, n_jobs: int) -> Status:
    """Prove by branch and bound until done, out of time or interrupted; ``run`` keeps the proof."""
    problem = run.problem
    zero = np.zeros_like(problem.lower)
    if problem.feasible(zero):  # doubling leaves it where it is, so it is looked at by itself
        run.report(1, value_of(problem, zero), zero)
    incumbent = _NO_INCUMBENT
    if run.best is not None:
        incumbent = integers.from_objective(problem.evaluate(run.best).objective)

    def offer(points: IntArray, value: int) -> None:
        if problem.feasible(points):
            run.report(0, value_of(problem, points), points)

    lenient = _is_lenient(problem, integers)
    search = BoxSearch(
        problem,
        integers,
        incumbent,
        must_stop=lambda: run.must_stop,
        offer=offer,
        n_jobs=n_jobs,
        every_vector=lenient,
    )

    def claim(boxes: Boxes | None = None) -> Proof:
        proof = search.proof(boxes)
        if lenient and boxes is not None:
            proof = replace(proof, bound=_highest(integers, boxes, incumbent))
        if integers.exact or run.best is None:
            return proof
        # Rounded values: the incumbent's was rounded down, to leave no better card out.
        return replace(proof, bound=max(proof.bound, problem.evaluate(run.best).objective))

    status: Status = "finished"
    try:
        complete, boxes = search.run(lambda: run.report_proof(claim()))
        status = "finished" if complete else "time_limit"
    except KeyboardInterrupt:
        status = "interrupted"
        run.stop.set()
        _, boxes = search.run()
    run.evaluations += search.vectors
    if lenient:
        boxes, complete = _in_fractions(run, integers, boxes, incumbent)
        status = status if complete or status == "interrupted" else "time_limit"
    if run.best is not None:
        run.finish_proof(claim(boxes))
    return status


# -- boxes that whole numbers do not decide --------------------------------------------------------


def _highest(integers: IntegerProblem, boxes: Boxes, incumbent: int) -> Fraction:
    """The bound that boxes give."""
    return integers.to_objective(max(incumbent, int(boxes.values.max(initial=incumbent))))


def _in_fractions(
    run: Run, integers: IntegerProblem, boxes: Boxes, incumbent: int
) -> tuple[Boxes, bool]:
    """Count the vectors of boxes that seem better than the incumbent anew, in fractions.

    Their values become those of true cards, with all that rounding can add; also tells whether
    there was time for all.
    """
    values, complete = boxes.values.copy(), True
    most = max(0, int(integers.rounding * integers.total) - 1)
    open_ones = (boxes.reasons == Reason.COUNTED) & (values > incumbent)
    for at in np.flatnonzero(open_ones)[np.argsort(-values[open_ones], kind="stable")].tolist():
        best = NOTHING
        for points in vectors_of(boxes.lower[at], boxes.upper[at]):
            if run.must_stop:
                complete = False
                break
            if run.problem.feasible(points):
                objective = run.problem.evaluate(points).objective
                value = math.ceil(objective * integers.total - integers.constant)
                best = max(best, value + most)
                run.report(1, value_of(run.problem, points), points)
        else:
            values[at] = min(int(values[at]), best)
    return replace(boxes, values=values), complete


def vectors_of(lower: IntArray, upper: IntArray) -> Iterator[IntArray]:
    """All vectors of a box."""
    ranges = [range(a, b + 1) for a, b in zip(lower.tolist(), upper.tolist(), strict=True)]
    for points in product(*ranges):
        yield np.array(points, dtype=np.int64)
