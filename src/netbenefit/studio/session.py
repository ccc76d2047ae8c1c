"""A session: one card, edited step by step, with a history from which it can be made again.

Nothing here knows of a page.  Every edit, undo and redo is a line of a journal that is on disk
before it counts, so that a crash loses none; a session that finds its own journal goes on from it.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.cards import Scorecard
from netbenefit.common import InputError, Table, fingerprint_of, open_journal
from netbenefit.estimators import RiskScoreClassifier, choose_solver, count_threads
from netbenefit.problem import (
    NEGLIGIBLE,
    IntegerProblem,
    MaxFPR,
    MinTPR,
    Progress,
    SolverResult,
    is_settled,
)
from netbenefit.solvers import NearOptimal, allowed_start, enumerate_near_optimal
from netbenefit.studio.bench import Bench, Valued
from netbenefit.studio.draft import Draft, Edit, Solved, Who, renamed
from netbenefit.studio.figures import (
    Bin,
    Figures,
    Group,
    Grouping,
    Plan,
    curve_grid,
    distribution,
    measure_groups,
    measure_rows,
    teacher_curve,
)
from netbenefit.studio.ranking import rank_conditions
from netbenefit.studio.standing import Standing, broken_limits, is_within


@dataclass(frozen=True)
class Step:
    """One entry of the history: a change, who decided it, and what it did."""

    number: int
    when: str  #: UTC, such as 2026-01-31T12:00:00Z
    by: Who
    edit: Edit | None  #: None for the card that the session began with
    what: str  #: in words
    draft: Draft  #: after the change
    value: Fraction  #: of what solvers maximise, on the training rows
    training: float  #: net benefit by the outcomes, mean over the thresholds
    held_out: float | None

    def effect(self, before: Step) -> str:
        """Say what the change did to net benefit."""
        parts = [f"net benefit {_change(before.training, self.training)} in training"]
        if self.held_out is not None and before.held_out is not None:
            parts.append(f"{_change(before.held_out, self.held_out)} on held-out rows")
        return ", ".join(parts)


def _change(old: float, new: float) -> str:
    difference = new - old
    if abs(difference) < 5e-6:
        return f"{new:.5f} as before"
    sign = "+" if difference > 0 else "−"
    return f"{old:.5f} → {new:.5f} ({sign}{abs(difference):.5f})"


class Search:
    """A solver at work on the draft of a session, in a thread of its own.

    ``progress`` is the latest news; :meth:`stop` ends the work with the best card so far.
    """

    def __init__(
        self, draft: Draft, work: Callable[[Callable[[Progress], bool]], SolverResult]
    ) -> None:
        self.draft = draft
        self.progress: Progress | None = None
        self._stop = threading.Event()
        self._result: SolverResult | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[Callable[[Progress], bool]], SolverResult]) -> None:
        try:
            self._result = work(self._listen)
        except BaseException as error:  # raised where the result is asked for
            self._error = error

    def _listen(self, progress: Progress) -> bool:
        self.progress = progress
        return self._stop.is_set()

    @property
    def done(self) -> bool:
        """Whether the solver has ended."""
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Ask the solver to end."""
        self._stop.set()

    def result(self) -> SolverResult:
        """Wait for the solver, and return what it has found."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result


class Session:
    """A card that is edited, on the rows that it was learnt from and on held-out rows.

    Parameters
    ----------
    model : RiskScoreClassifier
        Fitted on ``X`` and ``y``.
    X, y, sample_weight
        The rows of the fit.
    held_out : (X, y) or (X, y, sample_weight), optional
        Rows that nothing was learnt from.
    journal : path, optional
        File that keeps every edit.  Where it is this session's own, the session goes on from it.

    Examples
    --------
    >>> from netbenefit.studio.draft import SetPoints
    >>> rng = np.random.default_rng(0)
    >>> X = {"falls": rng.integers(0, 2, 400), "frail": rng.integers(0, 2, 400)}
    >>> y = rng.random(400) < 0.1 + 0.2 * X["falls"] + 0.4 * X["frail"]
    >>> model = RiskScoreClassifier(thresholds=[0.2, 0.4], teacher=None, time_limit=5).fit(X, y)
    >>> session = Session(model, X, y)
    >>> session.edit(SetPoints("falls", 3)).what
    '“falls”: 1 → 3 points'
    """

    def __init__(
        self,
        model: RiskScoreClassifier,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        held_out: Sequence[Any] | None = None,
        journal: str | os.PathLike[str] | None = None,
    ) -> None:
        self.bench = Bench(model, X, y, sample_weight, held_out)
        self.lock = threading.RLock()  #: whoever holds it sees no change by others
        self._undone: list[Step] = []
        self._past: list[Step] = []  # all that ever were, in the order of the journal
        self._seen: list[tuple[Draft, Fraction]] = []  # alternatives that were listed
        self._count = 0
        self._files = ExitStack()
        self._book = self._files.enter_context(open_journal(journal, self._fingerprint()))
        self._steps = [self._first()]
        try:
            self._replay()
        except BaseException:
            self._files.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the journal free."""
        self._files.close()

    # -- the journal -----------------------------------------------------------------------------

    def _fingerprint(self) -> str:
        """What has to be the same for a journal to go on: rows, conditions, teacher, problem."""
        bench, held_out = self.bench, self.bench.held_out
        problem = bench.base
        table = problem.patterns
        return fingerprint_of(
            names=table.names,
            terms=[repr(term) for term in bench.bins.terms],
            codes=table.codes,
            rows=table.pattern_of_row,
            masses=[table.positives, table.negatives, table.events, table.others],
            thresholds=problem.thresholds,
            prices=[str(problem.penalty), str(problem.rule_penalty)],
            limits=[str(one) for one in problem.constraints],
            most=problem.max_points,
            held_out=None if held_out is None else [held_out.event, held_out.weight],
        )

    def _write(self, line: Mapping[str, Any]) -> None:
        self._book.write(json.dumps({"task": str(self._count), "result": line}))
        self._count += 1

    def _first(self) -> Step:
        """The card that the session begins with: that of the journal, or the model's own."""
        found = self._book.results.get("0")
        draft, when = self.bench.start, _now()
        origin = self.bench.learned.result
        bound = None if origin.proof is None else origin.proof.bound
        if found is not None:
            draft = draft.with_vector(found["points"])
            when, bound = (
                found["when"],
                None if found["bound"] is None else Fraction(found["bound"]),
            )
        self._start_bound: Fraction | None = bound
        step = self._step(0, when, "solver", None, "the card that the model learnt", draft)
        if found is None:
            self._write(
                {
                    "points": draft.rules,
                    "bound": None if bound is None else str(bound),
                    "when": when,
                }
            )
        else:
            self._count = 1
        return step

    def _replay(self) -> None:
        """Go through the lines of the journal; their numbers are not counted anew."""
        while (line := self._book.results.get(str(self._count))) is not None:
            if "edit" in line:
                edit = Edit.from_json(line["edit"], f"line {self._count + 2} of the journal")
                draft, what = edit.apply(self._steps[-1].draft)
                value, training, held_out = line["found"]
                number, when, by = len(self._steps), line["when"], edit.by
                self._keep(
                    Step(number, when, by, edit, what, draft, Fraction(value), training, held_out)
                )
            elif line.get("move") == "undo":
                self._undone.append(self._steps.pop())
            else:
                self._steps.append(self._undone.pop())
            self._count += 1

    # -- edits -----------------------------------------------------------------------------------

    @property
    def draft(self) -> Draft:
        """What the card is now."""
        return self._steps[-1].draft

    @property
    def history(self) -> tuple[Step, ...]:
        """The steps that lead to the present card, the start first."""
        return tuple(self._steps)

    @property
    def revision(self) -> int:
        """How many lines the journal has: another number after every change."""
        return self._count

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to take back."""
        return len(self._steps) > 1

    @property
    def can_redo(self) -> bool:
        """Whether an edit was taken back since the last one."""
        return bool(self._undone)

    def edit(self, edit: Edit) -> Step:
        """Change the card; what cannot be done is an InputError, and leaves all as it is."""
        with self.lock:
            draft, what = edit.apply(self.draft)
            if draft == self.draft and not isinstance(edit, Solved):
                raise InputError(f"nothing changes: {what}.")
            if draft.limits != self.draft.limits:
                _check_limits(draft)
                self.bench.limited(draft)  # limits that clash are refused
            step = self._step(len(self._steps), _now(), edit.by, edit, what, draft)
            found = [str(step.value), step.training, step.held_out]
            self._write({"edit": edit.to_json(), "when": step.when, "found": found})
            self._keep(step)
            return step

    def _keep(self, step: Step) -> None:
        self._steps.append(step)
        self._past.append(step)
        self._undone.clear()

    def _step(
        self, number: int, when: str, by: Who, edit: Edit | None, what: str, draft: Draft
    ) -> Step:
        valued = self.bench.value(draft)
        plan = self._plan(draft)
        training, other = plan.net_benefit(self.bench.training), self.bench.held_out
        held_out = None if other is None else plan.net_benefit(other)
        return Step(number, when, by, edit, what, draft, valued.value, training, held_out)

    def undo(self) -> Step:
        """Take back the last edit; return the step that is the last one now."""
        with self.lock:
            if not self.can_undo:
                raise InputError("there is nothing to undo: this is the card of the start.")
            self._write({"move": "undo", "when": _now()})
            self._undone.append(self._steps.pop())
            return self._steps[-1]

    def redo(self) -> Step:
        """Do again what was taken back last."""
        with self.lock:
            if not self.can_redo:
                raise InputError("there is nothing to redo.")
            self._write({"move": "redo", "when": _now()})
            self._steps.append(self._undone.pop())
            return self._steps[-1]

    # -- what the card is and does ---------------------------------------------------------------

    @property
    def card(self) -> Scorecard:
        """The present card, by its names."""
        return self.named(self.bench.value(self.draft).card, self.draft)

    def named(self, card: Scorecard, draft: Draft) -> Scorecard:
        """The card by the names of a draft."""
        return card.with_labels(draft.labels.only(card.named_columns))

    def _plan(self, draft: Draft) -> Plan:
        return Plan(self.bench.value(draft).card, draft.terms, draft.points)

    def figures(
        self, threshold: float | None = None, *, before: int | None = None
    ) -> dict[str, Figures]:
        """Measure the card on "training" and "held-out" rows.

        Parameters
        ----------
        threshold : float, optional
            Risk from which one acts; the middle one of the card's thresholds by default.
        before : int, optional
            Step of the history to compare with; the last but one by default.
        """
        steps = self.history
        at = max(len(steps) - 2, 0) if before is None else before
        if not 0 <= at < len(steps):
            raise InputError(f"before={before} is no step of the history: 0 to {len(steps) - 1}.")
        now, then = self._plan(steps[-1].draft), self._plan(steps[at].draft)
        p = self.threshold(threshold)
        return {name: measure_rows(rows, now, then, p) for name, rows in self._sides()}

    def threshold(self, given: float | None = None) -> float:
        """Return a threshold at which to decide, checked."""
        if given is None:
            own = [p for p in self.bench.base.thresholds.given.tolist() if p > 0]
            return float(own[len(own) // 2])
        number = isinstance(given, int | float) and not isinstance(given, bool)
        if not number or not 0 < given < 1:
            raise InputError(f"threshold={given!r} is not a risk above 0 and below 1.")
        return float(given)

    def _sides(self) -> list[tuple[str, Any]]:
        sides = [("training", self.bench.training), ("held-out", self.bench.held_out)]
        return [(name, rows) for name, rows in sides if rows is not None]

    def teacher_curve(self) -> Table | None:
        """Decision curve of the teacher's out-of-fold risks on the training rows."""
        grid = self.bench.base.thresholds
        found = teacher_curve(self.bench.training, grid)
        if found is None:
            return None
        return Table({"threshold": np.array(curve_grid(grid)), "net_benefit": found})

    def groups(self, column: str, threshold: float | None = None) -> dict[str, list[Group]]:
        """Measure the card on the groups of people that a raw column makes."""
        grouping, p = Grouping(self.bench.training, column), self.threshold(threshold)
        plan = self._plan(self.draft)
        return {name: measure_groups(rows, plan, grouping, p) for name, rows in self._sides()}

    def distribution(self, column: str) -> list[Bin]:
        """Count the training rows of a numeric column, by outcome."""
        place = self.draft.of_column(column)[0]
        return distribution(self.bench.training, self.draft.terms[place])

    def ranking(self) -> list[dict[str, Any]]:
        """Rank all conditions that have no points by what they would add."""
        draft = self.draft
        points = np.array(draft.points, dtype=np.int64)
        return [
            {
                "rule": draft.names[one.place],
                "column": draft.terms[one.place].feature,
                "points": one.points,
                "gain": one.gain,
                "allowed": one.allowed,
            }
            for one in rank_conditions(self.bench.limited(draft), points)
        ]

    # -- how good it is --------------------------------------------------------------------------

    def standing(self) -> Standing:
        """Compare the card with the best one known, and with what is proven.

        Cards that were seen in this session count as known, if they keep to the present limits;
        bounds count that were proven for the present conditions, and for limits that allow as much
        or more.
        """
        bench, draft = self.bench, self.draft
        problem, valued = bench.limited(draft), bench.value(draft)
        broken = broken_limits(problem, valued.points)
        best, here = self._best(draft)
        bound: Fraction | None = None
        for then, proven in self._bounds(draft):
            if (bound is None or proven < bound) and is_within(problem, bench.limited(then)):
                bound = proven
        settled = bound is not None and not broken and _settles(bound, valued)
        return Standing(valued.value, best, here, bound, settled, broken)

    def _best(self, draft: Draft) -> tuple[Fraction | None, bool]:
        """The best value known within the limits, and whether its card is on these conditions."""
        known = [(one.value, one.draft) for one in (self._steps[0], *self._past)]
        known += [(value, other) for other, value in self._seen]
        # Of equal ones first those on these conditions, whose problem is at hand.
        known.sort(key=lambda pair: (pair[0], pair[1].terms == draft.terms), reverse=True)
        tried = set()
        for value, other in known:
            card = other.terms, other.points
            if card not in tried and self._keeps_limits(other, draft):
                return value, other.terms == draft.terms
            tried.add(card)
        return None, True

    def _keeps_limits(self, other: Draft, draft: Draft) -> bool:
        """Whether a card keeps the limits of a draft, whatever its own were."""
        limits = tuple(renamed(one, draft.names, other.names) for one in draft.limits)
        try:
            problem = self.bench.limited(replace(other, limits=limits))
        except InputError:  # they clash on its conditions
            return False
        return problem.feasible(np.array(other.points, dtype=np.int64))

    def _bounds(self, draft: Draft) -> list[tuple[Draft, Fraction]]:
        """Bounds that were proven for the present conditions, and the drafts of their limits."""
        found = []
        if draft.terms == self.bench.start.terms and self._start_bound is not None:
            found.append((self.bench.start, self._start_bound))
        for one in self._past:
            if isinstance(one.edit, Solved) and one.edit.bound and one.draft.terms == draft.terms:
                found.append((one.draft, Fraction(one.edit.bound)))
        return found

    # -- the solver as a partner -----------------------------------------------------------------

    def solve(self, time_limit: float | None = 10.0) -> Search:
        """Let the model's solver look for the best card within the limits, beginning at this one.

        It works in a thread; :meth:`adopt` makes what it has found an edit.
        """
        draft, model = self.draft, self.bench.model
        problem = self.bench.limited(draft)
        solver = choose_solver(
            model.solver, time_limit=time_limit, seed=model._seed(), n_jobs=model.n_jobs
        )
        start = allowed_start(problem, draft.points)
        first = {} if start is None else {"start": start}
        return Search(draft, lambda tell: solver.solve(problem, callback=tell, **first))

    def adopt(self, search: Search) -> Step:
        """Take over what a solver has found, with its bound."""
        found = search.result()
        if (search.draft.terms, search.draft.limits) != (self.draft.terms, self.draft.limits):
            raise InputError(
                "cut points or limits were changed while the solver was at work: its card is for "
                "those of before. Re-optimise again."
            )
        points = dict(zip(self.draft.names, found.points.tolist(), strict=True))
        bound = None if found.proof is None else str(found.proof.bound)
        rules = {name: value for name, value in points.items() if value}
        return self.edit(Solved(rules, bound, found.status, round(found.seconds, 3)))

    def alternatives(
        self, tolerance: float = 0.005, limit: int = 100, time_limit: float | None = 10.0
    ) -> NearOptimal:
        """List cards within the limits that are almost as good as the best of them."""
        model, draft = self.bench.model, self.draft
        found = enumerate_near_optimal(
            self.bench.limited(draft),
            tolerance,
            limit,
            time_limit=time_limit,
            n_jobs=count_threads(model.n_jobs),
            seed=model._seed(),
        )
        self._seen += [(replace(draft, points=one.points), one.objective) for one in found.cards]
        return found


def _check_limits(draft: Draft) -> None:
    """Refuse limits that move cut-offs: a draft's figures are those of the best ones."""
    rates = [str(one) for one in draft.limits if isinstance(one, MinTPR | MaxFPR)]
    if rates:
        raise InputError(
            f"“{rates[0]}” limits the cut-offs of a card, which has to be set where the model is "
            "fitted: constraints=[…], or --constraints FILE."
        )


def _settles(bound: Fraction, valued: Valued) -> bool:
    if not valued.value < bound <= valued.value + NEGLIGIBLE:
        return bound <= valued.value
    return is_settled(bound, valued.value, IntegerProblem.of(valued.problem).rounding)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
