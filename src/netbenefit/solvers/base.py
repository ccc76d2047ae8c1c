"""What every solver shares: its result, its progress reports, its clock, its incumbent."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from netbenefit.cards import Provenance, share_text
from netbenefit.common import Display, InputError, IntArray, Remedy
from netbenefit.problem import Evaluation, Problem, Progress, Proof, SolverResult, Status, TraceRow
from netbenefit.solvers.clock import compiling, now

if TYPE_CHECKING:
    from rich.console import Console

logger = logging.getLogger(__name__)


def describe(progress: Progress) -> str:
    """One line: objective, size, bound and gap where known, seconds, evaluations."""
    parts = [f"objective {progress.objective:.6f}", f"size {progress.size}"]
    if progress.bound is not None and progress.gap is not None:
        parts += [f"bound {progress.bound:.6f}", f"gap {progress.gap:.1%}"]
    parts += [f"{progress.seconds:.1f} s", f"{progress.evaluations:,} cards tried"]
    return " · ".join(parts)


def conclude(result: SolverResult, origin: Provenance | None = None) -> str:
    """One honest sentence about how far from the best possible card a card is.

    Where the card's ``origin`` names a teacher, it says how much of the teacher's net benefit the
    card keeps, and how much any other card could.  What a solver reports, but nobody can recount,
    follows in a sentence of its own.
    """
    if origin is not None and origin.updated is not None and origin.objective is None:
        return "The points were searched on a sample of the rows: nothing is proven about all rows."
    if origin is not None and origin.share_kept is not None:
        proven = _share(result, origin.share_kept, origin.share_bound)
    else:
        proven = _distance(result)
    return proven + _hearsay(result)


def _distance(result: SolverResult) -> str:
    """How far the best possible card can be, as far as it is proven."""
    proof = result.proof
    if result.status == "optimal":
        return "Proven optimal: no card within these limits has a higher objective."
    if proof is None:
        return "Nothing is proven: better cards may exist (solvers auto and exact give a bound)."
    bound = f"no card within these limits has an objective above {_up(proof.bound, 6)}"
    if not result.objective > 0:
        return f"Not proven optimal: {bound}."
    gap = proof.bound / Fraction(result.objective) - 1
    return f"Within {_up(100 * gap, 1)}% of the best possible card: {bound}."


def _hearsay(result: SolverResult) -> str:
    """What an integer programming solver reports; nothing where the card is proven optimal."""
    details = {} if result.proof is None else result.proof.details
    if result.status == "optimal" or "solver_bound" not in details:
        return ""
    bound = _up(Fraction(details["solver_bound"]), 6)
    return (
        f" {details['solver']} reports a bound of {bound} on the objective, which nobody can "
        "recount: it is not a proof."
    )


def _share(result: SolverResult, kept: float, most: float | None) -> str:
    if not result.size:
        return f"No rule is worth its price here: everybody gets the same risk. {_distance(result)}"
    rules = f"{result.size} rule{'s' * (result.size != 1)}"
    if result.questions != result.size:
        rules = f"{result.questions} question{'s' * (result.questions != 1)} and {rules}"
    own = f"This card of {rules} keeps {share_text(kept)} of the net benefit of the model behind it"
    if most is not None and most >= 1.0 and most > kept and result.objective > 0:
        return f"{own}. {_distance(result)}"
    if most is None or (most >= 1.0 and most > kept):
        return f"{own}; whether another card of at most {rules} could keep more is not known."
    if result.status == "optimal":
        return f"{own}, and no card of at most {rules} can keep more: this is proven."
    most_text = _up(Fraction(100) * Fraction(most), 1)
    return f"{own}; no card of at most {rules} can keep more than {most_text}%."


def _up(value: Fraction, digits: int) -> str:
    """Format a number, rounded up so that a statement about a bound stays true."""
    scale = 10**digits
    return f"{math.ceil(value * scale) / scale:.{digits}f}"


class LiveLine(Display):
    """A context manager whose calls update one line on a terminal; silent elsewhere."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console=console)

    def _draw(self, console: Console) -> Any:
        return console.status("preparing")

    def __enter__(self) -> Self:
        compiling.listeners.append(self._say)
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        compiling.listeners.remove(self._say)
        super().__exit__(*error)

    def _say(self, text: str) -> None:
        if self._live is not None:
            self._live.update(text)

    def __call__(self, progress: Progress) -> None:
        """Show where the solver stands."""
        text = describe(progress)
        logger.info(text)
        self._say(text)


#: Seconds that shares are taken of where there is no time limit.
_ENDLESS = 600.0

#: Told where a running solver stands; a true answer ends the search, as Ctrl-C does.
Callback = Callable[[Progress], bool | None]


class Solver(Protocol):
    """What the estimator needs of a solver."""

    def solve(
        self,
        problem: Problem,
        *,
        start: IntArray | None = None,
        callback: Callback | None = None,
    ) -> SolverResult:
        """Search for the best points, from ``start`` if it is given."""


def check_time_limit(time_limit: float | None) -> float:
    """Return seconds; None is no limit."""
    if time_limit is None:
        return float("inf")
    if isinstance(time_limit, bool) or not isinstance(time_limit, int | float | np.number):
        raise InputError(f"time_limit must be a number of seconds or None, not {time_limit!r}.")
    if not time_limit > 0:
        raise InputError(
            Remedy("time_limit", "--time-limit"),
            f" must be positive, but is {time_limit!r} seconds.",
        )
    return float(time_limit)


def round_up(value: Fraction) -> float:
    """Smallest float that is not below ``value``."""
    number = float(value)
    return number if number >= value else math.nextafter(number, math.inf)


def value_of(problem: Problem, points: IntArray) -> Any:
    """Value of points in the search's own units, counted from the data."""
    constant, total = problem.exact_scale
    value = problem.evaluate(points).objective * total - constant
    return int(value) if problem.rates.dtype.kind == "i" else float(value)


def allowed_start(problem: Problem, points: Sequence[int] | IntArray) -> IntArray | None:
    """Move points into their bounds; None where other constraints still forbid them."""
    vector = np.asarray(points, dtype=np.int64)
    if vector.shape != problem.lower.shape:
        raise InputError(
            f"start has {vector.size} points for {problem.lower.size} columns. Pass one per column."
        )
    inside = np.clip(vector, problem.lower, problem.upper)
    return inside if problem.allows(inside) else None


def first_points(problem: Problem, start: IntArray | None) -> IntArray:
    """Where a search begins: the points that were given, if they are allowed, else zero."""
    if start is None:
        return problem.nearest_to_zero()
    points = np.asarray(start, dtype=np.int64)
    if points.shape != problem.lower.shape or not problem.allows(points):
        raise InputError(
            f"start={points.tolist()} is not allowed. Pass one whole number per column, within the "
            "bounds, max_features and all other constraints."
        )
    return points


def _lower(proof: Proof, known: Proof | None) -> Proof | None:
    """The lower bound of those that come with boxes."""
    if proof.boxes is None or (known is not None and known.bound <= proof.bound):
        return known
    return proof


class Run:
    """The state of one solve: clock, best points, counters, trace; safe to use from threads.

    A callback is never called from two threads at once; it is called at every improvement, and
    otherwise at most every tenth of a second.  ``spent`` seconds of the limit are already over;
    the compilation of kernels counts nowhere.
    """

    _INTERVAL = 0.1

    def __init__(
        self,
        problem: Problem,
        solver: str,
        time_limit: float,
        callback: Callback | None = None,
        spent: float = 0.0,
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.stop = threading.Event()
        self.evaluations = 0
        self._callback = callback
        self._lock = threading.Lock()
        self._begin = now() - spent
        self._deadline = self._begin + time_limit
        self._last_call = 0.0
        self._value: float | None = None
        self.best: IntArray | None = None
        self._trace: list[TraceRow] = []
        self.proof: Proof | None = None
        self._recountable: Proof | None = None  # the lowest bound so far that comes with boxes
        self._patience = math.inf
        self._progress = (0.0, math.inf)  # when the bound last fell by much, and the gap then

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return now() - self._begin

    @property
    def time_left(self) -> float:
        """Seconds until the limit; negative after it."""
        return self._deadline - now()

    @property
    def out_of_time(self) -> bool:
        """Whether the limit has passed."""
        return self.time_left <= 0

    @property
    def must_stop(self) -> bool:
        """Whether loops should end, for any reason."""
        stalled = self.seconds - self._progress[0] > self._patience
        return self.stop.is_set() or self.out_of_time or stalled

    @contextmanager
    def patient(self, seconds: float) -> Iterator[None]:
        """Let a proof go on only while the gap falls by a tenth within so many seconds."""
        self._patience, self._progress = seconds, (self.seconds, math.inf)
        try:
            yield
        finally:
            self._patience = math.inf

    def poll(self) -> bool:
        """Show that work goes on; True where it should end."""
        with self._lock:
            self._notify(False)
        return self.must_stop

    @contextmanager
    def within(self, share: float, most: float = math.inf) -> Iterator[None]:
        """Limit a part of the work to a share of the time left, and to ``most`` seconds."""
        deadline = self._deadline
        if share < 1.0:
            left = min(most, share * min(self.time_left, _ENDLESS))
            self._deadline = min(deadline, now() + left)
        try:
            yield
        finally:
            self._deadline = deadline

    @property
    def bound(self) -> float | None:
        """The lowest bound so far, rounded up to a float; None where nothing is proven."""
        return None if self.proof is None else round_up(self.proof.bound)

    def report(self, evaluations: int, value: Any, points: IntArray) -> None:
        """Count work done, and keep the best value of this part of the search."""
        with self._lock:
            self.evaluations += evaluations
            better = self._value is None or value > self._value
            if better:
                self._value = value
                self.best = points.copy()
                self._note(self.problem.to_objective(value), int(np.count_nonzero(points)))
            self._notify(better)

    def follow(self, result: SolverResult) -> None:
        """Go on where another solver has ended."""
        with self._lock:
            self._value = value_of(self.problem, result.points)
            self.best = result.points.copy()
            self.evaluations += result.evaluations
            self._trace += result.trace
            self.proof = self.proof or result.proof

    def finish_proof(self, proof: Proof) -> None:
        """Keep the final form of a proof, boxes included, unless another bound is lower."""
        with self._lock:
            old = self.proof
            self._recountable = _lower(proof, self._recountable)
            if (
                old is None
                or proof.bound < old.bound
                or (proof.bound == old.bound and old.boxes is None)
            ):
                self.proof = proof

    def report_proof(self, proof: Proof) -> None:
        """Keep a proven bound if it is the lowest so far."""
        with self._lock:
            better = self.proof is None or proof.bound < self.proof.bound
            self._recountable = _lower(proof, self._recountable)
            if better:
                self.proof = proof
                if self._trace:
                    last = self._trace[-1]
                    self._note(last.objective, last.size, proof.method)
                    gap = float(proof.bound) - last.objective
                    if gap <= 0.9 * self._progress[1]:
                        self._progress = self.seconds, gap
            self._notify(better)

    def keep_recountable(self) -> None:
        """Give up a bound whose boxes are not at hand for the lowest one that comes with boxes."""
        with self._lock:
            if self.proof is not None and self.proof.boxes is None:
                self.proof = self._recountable

    def remark(self, text: str) -> None:
        """Put into the trace what is worth knowing, but moves neither card nor bound."""
        with self._lock:
            if self._trace:
                self._note(self._trace[-1].objective, self._trace[-1].size, text)

    def _note(self, objective: float, size: int, source: str = "") -> None:
        row = TraceRow(self.seconds, objective, size, self.bound, source or self.solver)
        self._trace.append(row)

    def _notify(self, changed: bool) -> None:
        """Call the callback, at every change and now and then."""
        now = self.seconds
        if self._callback is None or not self._trace:
            return
        if changed or now - self._last_call >= self._INTERVAL:
            self._last_call = now
            best = self._trace[-1]
            news = Progress(best.objective, best.size, now, self.evaluations, self.bound)
            if self._callback(news):
                self.stop.set()

    def evaluate(self, points: IntArray) -> Evaluation:
        """Count what points are worth, exactly."""
        return self.problem.evaluate(points)

    def result(self, points: IntArray, status: Status) -> SolverResult:
        """Count the answer from the data; the status is "optimal" where the bound proves it."""
        value = self.evaluate(points)
        if self.proof is not None and self.proof.bound < value.objective:
            # This cannot happen; if it does, a wrong proof must not be returned.
            logger.error("%s gave a bound below a card that exists: dropped", self.proof.method)
            self.proof = None
        objective, bound, proof = float(value.objective), self.bound, self.proof
        if proof is not None and proof.settles(value.objective):
            status, bound = "optimal", objective  # equal but for a rounding that is negligible
        return SolverResult(
            points=points.copy(),
            cutoffs=value.cutoffs,
            objective=objective,
            net_benefit=float(value.net_benefit),
            questions=value.questions,
            score_range=value.score_range,
            bound=bound,
            status=status,
            seconds=self.seconds,
            evaluations=self.evaluations,
            trace=tuple(self._trace),
            solver=self.solver,
            proof=proof,
        )
