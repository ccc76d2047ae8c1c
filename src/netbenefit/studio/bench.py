"""What edits are tried on: rows, teacher and problem of a fitted model, for any conditions.

The model has read, binned, taught and posed the problem; here its parts are put together again when
a cut point has moved, with the same rows, teacher's risks, thresholds, prices and limits.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.binning import FittedBins
from netbenefit.cards import Scorecard
from netbenefit.common import InputError, IntArray
from netbenefit.data import Outcome, PatternTable, match_labels, read_outcome
from netbenefit.estimators import Caution, Learned, RiskScoreClassifier, terms_of
from netbenefit.problem import (
    Constraint,
    Evaluation,
    MaxFeatures,
    MaxQuestions,
    Problem,
    Questions,
    RawNames,
    SolverResult,
    by_condition,
)
from netbenefit.solvers import Run
from netbenefit.studio.draft import Draft, renamed
from netbenefit.studio.rows import RowSet
from netbenefit.teachers import blend

#: Problems and cards that are kept for undo and redo.
_KEPT = 64
_T = TypeVar("_T")


class Valued(NamedTuple):
    """A draft as a card, and what it is worth."""

    card: Scorecard
    result: SolverResult  #: its points, as if a solver had found them
    problem: Problem  #: without the limits of the draft
    evaluation: Evaluation

    @property
    def value(self) -> Fraction:
        """What solvers maximise, exactly."""
        return self.evaluation.objective

    @property
    def points(self) -> IntArray:
        """(P,) of all conditions."""
        return self.result.points


class Bench:
    """Rows, teacher and problem of a fitted model.

    Parameters
    ----------
    model : RiskScoreClassifier
        Fitted on ``X`` and ``y``.
    X, y, sample_weight
        The rows that it was fitted on.
    held_out : (X, y) or (X, y, sample_weight), optional
        Rows that nothing was learnt from.
    """

    def __init__(
        self,
        model: RiskScoreClassifier,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        held_out: Sequence[Any] | None = None,
    ) -> None:
        learned: Learned | None = getattr(model, "learned_", None)
        if learned is None:
            raise InputError("the model is not fitted, or was saved without its rows. Fit it.")
        self.model, self.learned = model, learned
        self.base = learned.problem
        table = self.base.patterns
        binner = getattr(model, "binner_", None)
        self.bins = _as_bins(table) if binner is None else binner.fitted_
        event = read_outcome(y, positive=model.pos_label).event
        risk = None if model.teaching_ is None else model.teaching_.risks
        if event.size != table.pattern_of_row.size:
            raise InputError(
                f"y has {event.size:,} rows, but the model was fitted on "
                f"{table.pattern_of_row.size:,}. Pass the rows of the fit."
            )
        self.training = RowSet(X, event, sample_weight, self.bins, risk)
        self.held_out: RowSet | None = None
        if held_out is not None:
            other_X, other_y, *more = held_out
            if isinstance(other_y, Outcome):
                other = other_y.event
            else:
                known = match_labels(other_y, model.classes_.tolist(), "model")
                other = known if model.classes_[1] == model.event_ else ~known
            self.held_out = RowSet(other_X, other, more[0] if more else None, self.bins)
        self.start = Draft(
            self.bins.terms,
            self.bins.names,
            tuple(int(v) for v in learned.result.points),
            readings=self.bins.readings,
            from_zero=model.start_at_zero,
        )
        self._lock = threading.RLock()
        self._problems: OrderedDict[Any, Problem] = OrderedDict()
        self._valued: OrderedDict[Any, Valued] = OrderedDict()
        self._check_rows(table)

    def _check_rows(self, table: PatternTable) -> None:
        """Refuse rows that are not those of the fit."""
        there = table.pattern_of_row >= 0
        place = table.pattern_of_row[there]
        weight = self.training.weight[there]
        events = np.bincount(place, weight * self.training.event[there], minlength=len(table))
        same = np.allclose(events, table.events, rtol=1e-9, atol=0)
        for k in np.flatnonzero(self.learned.result.points).tolist():
            codes = self.training.codes(self.bins.terms[k])[there]
            same = same and bool((codes == table.codes[place, k]).all())
        if not same:
            raise InputError("these are not the rows that the model was fitted on. Pass those.")

    # -- conditions and limits -------------------------------------------------------------------

    def problem(self, draft: Draft) -> Problem:
        """The model's problem with the draft's conditions in place of its own."""
        if draft.terms == self.start.terms:
            return self.base

        def pose() -> Problem:
            rows, base = self.training, self.base
            table = PatternTable.from_codes(
                np.column_stack([rows.codes(term) for term in draft.terms]),
                rows.event,
                names=draft.names,
                decimals=[term.decimals for term in draft.terms],
                sample_weight=rows.weight,
            )
            fixed = [n for n in table.constant if n not in self._constant]
            if fixed:
                raise InputError(
                    f"“{fixed[0]}” is true, or false, of all training rows: it tells nothing "
                    "apart. Choose a cut point with rows on both sides."
                )
            taught = self.learned.taught
            if taught is not None:
                risks, strength = taught.teaching.risks, taught.blend.strength
                table, _ = blend(table, risks, rows.weight, strength)
            grouped = base.questions.names == Questions.of_terms(self.start.terms).names
            asked = Questions.of_terms(draft.terms) if grouped else Questions.single(draft.names)
            limits = [renamed(one, self.start.names, draft.names) for one in base.constraints]
            return base.with_patterns(table, asked, limits)

        return self._keep(self._problems, draft.terms, pose)

    @property
    def _constant(self) -> tuple[str, ...]:
        return self.base.patterns.constant

    def limited(self, draft: Draft) -> Problem:
        """The same within the draft's limits; an InputError names those that clash.

        A number of questions, or of rules, takes the place of the model's own.
        """
        if not draft.limits:
            return self.problem(draft)

        def limit() -> Problem:
            problem = self.problem(draft)
            for kind in (MaxQuestions, MaxFeatures):
                if any(isinstance(one, kind) for one in draft.limits):
                    problem = problem.without_constraints(kind)
            return problem.with_constraints(self._by_condition(draft))

        return self._keep(self._problems, (draft.terms, draft.limits), limit)

    def _by_condition(self, draft: Draft) -> list[Constraint]:
        """Limits of raw columns as limits of the conditions on them."""
        known = RawNames(draft.names, draft.terms, self.bins.columns)
        return list(by_condition(known, None, None, draft.limits))

    # -- cards -----------------------------------------------------------------------------------

    def value(self, draft: Draft) -> Valued:
        """The draft as a card, and what it is worth; names aside."""

        def assemble() -> Valued:
            problem = self.problem(draft)
            points = np.array(draft.points, dtype=np.int64)
            result = Run(problem, "edited", math.inf).result(points, "finished")
            return Valued(self.card(draft, result), result, problem, problem.evaluate(points))

        return self._keep(self._valued, (draft.terms, draft.points), assemble)

    def bins_of(self, draft: Draft) -> FittedBins:
        """What the model's binner has learnt, with the draft's conditions."""
        return replace(self.bins, terms=draft.terms, names=draft.names)

    def card(
        self, draft: Draft, result: SolverResult, cautions: Sequence[Caution] = ()
    ) -> Scorecard:
        """The card of an answer on the draft's conditions, put together as the model does it."""
        learned = self.learned
        origin = learned.card.provenance
        assert origin is not None
        assert origin.outcome is not None
        return self.model._assemble(
            self.problem(draft),
            result,
            origin.outcome,
            origin.random_state or 0,
            learned.taught,
            self.bins_of(draft),
            cautions,
        )

    def _keep(self, known: OrderedDict[Any, _T], key: Any, make: Callable[[], _T]) -> _T:
        """Return what is known, or make it; the oldest of many is forgotten."""
        with self._lock:
            if key not in known:
                known[key] = make()
                if len(known) > _KEPT:
                    known.popitem(last=False)
            known.move_to_end(key)
            return known[key]


def _as_bins(table: PatternTable) -> FittedBins:
    """Columns that are used as they are, as conditions of a binner: points per unit."""
    kinds: dict[str, Any] = dict.fromkeys(table.names, "number")
    return FittedBins(table.names, terms_of(table), table.names, (), kinds, (), ())
