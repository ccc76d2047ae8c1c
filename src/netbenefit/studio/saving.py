"""What leaves a session: the card with its history, a report, and Python that repeats the edits."""

from __future__ import annotations

from dataclasses import replace

from netbenefit.cards import Decision, Scorecard
from netbenefit.data import LazyColumns, PatternTable
from netbenefit.estimators import Rows, TrainingData, find_cautions
from netbenefit.problem import SolverResult
from netbenefit.report import validation_page
from netbenefit.solvers import round_up
from netbenefit.studio.draft import Solved, TakeOver
from netbenefit.studio.rows import RowSet
from netbenefit.studio.session import Session
from netbenefit.updating import count_levels_of_card, with_held_out

#: What a card is told of held-out rows that were in view while it was edited.
IN_VIEW = "edited with the held-out rows in view"


def finished_card(session: Session) -> Scorecard:
    """Return the present card with all that a reader should know of it.

    1. Its bound is the one that holds for these cut points and the model's limits.  Where further
       limits were set, or some are broken, no bound is about all cards of its size: there is none.
    2. Reasons to doubt it are looked for anew, for as many rules as it has now.
    3. Held-out rows are counted by score.
    4. Its decisions are the history: who changed what, and what that did.
    """
    draft, bench, steps = session.draft, session.bench, session.history
    valued = bench.value(draft)
    # 1.
    result = _result(session)
    # 2.
    rows, learned = bench.training, bench.learned
    outcomes = _outcomes(valued.problem.patterns)
    given = Rows(
        rows.table,
        rows.table,
        rows.event,
        rows.weight,
        binner=getattr(bench.model, "binner_", None),
    )
    training = TrainingData(outcomes, {}, given, bench.bins_of(draft))
    cautions = find_cautions(training, result.size, learned.taught)
    card = bench.card(draft, result, cautions)
    if len(steps) > 1 and bench.held_out is not None:
        assert card.provenance is not None
        caution = "; ".join(filter(None, [card.provenance.caution, IN_VIEW]))
        card = replace(card, provenance=replace(card.provenance, caution=caution))
    card = session.named(card, draft)
    # 3.
    if (held_out := bench.held_out) is not None:
        score = held_out.scores(draft.terms, draft.points) + card.shift
        levels = count_levels_of_card(card, score, held_out.event, held_out.weight)
        assert steps[-1].held_out is not None
        card = with_held_out(card, levels, steps[-1].held_out)
    # 4.
    decisions = [Decision(s.when, s.by, s.what, s.training, s.held_out) for s in steps]
    return replace(card, decisions=tuple(decisions))


def _result(session: Session) -> SolverResult:
    """The present points as an answer, with a bound where one is about all cards of their size."""
    result = session.bench.value(session.draft).result
    last = session.history[-1].edit
    own = session.bench.learned.result.solver
    if session.draft.points == session.bench.start.points and len(session.history) == 1:
        result = replace(result, solver=own, seconds=session.bench.learned.result.seconds)
    elif isinstance(last, Solved):
        result = replace(result, solver=f"{own}, then by hand and {own}", seconds=last.seconds)
    else:
        result = replace(result, solver=f"{own}, then by hand", seconds=0.0)
    standing = session.standing()
    if standing.bound is None or standing.broken or session.draft.limits:
        return result
    if standing.settled:
        return replace(result, bound=result.objective, status="optimal")
    return replace(result, bound=round_up(standing.bound))


def _outcomes(table: PatternTable) -> PatternTable:
    """The same patterns with the masses of their outcomes."""
    return replace(
        table, positives=table.events, negatives=table.others, denominator=1, outcomes=None
    )


def report_page(session: Session) -> str:
    """Return a report on the present card: on held-out rows, or else on those of training."""
    card, bench = finished_card(session), session.bench
    rows = bench.training if bench.held_out is None else bench.held_out
    return validation_page(
        card,
        raw_columns(rows, card),
        rows.event,
        sample_weight=rows.weight,
        data="the training rows" if bench.held_out is None else "held-out rows",
    )


def raw_columns(rows: RowSet, card: Scorecard) -> dict[str, object]:
    """Raw columns that a card asks for."""
    table = LazyColumns(rows.table)
    return {name: table[name] for name in card.features}


def python_code(session: Session) -> str:
    """Return Python code that makes the same edits, of the same model, once more."""
    steps = session.history
    edits = [step.edit for step in steps if step.edit is not None]
    names = {type(edit).__name__ for edit in edits} | {"Session", "TakeOver"}
    limits = {type(one).__name__ for edit in edits for one in getattr(edit, "limits", ())}
    first = TakeOver(steps[0].draft.rules, "the card that the model learnt")
    text = [
        '"""Edits of a card, one by one: `model` was fitted on the rows X and outcomes y."""',
        "",
        "from fractions import Fraction",
        "",
        *([f"from netbenefit import {', '.join(sorted(limits))}"] if limits else []),
        f"from netbenefit.studio import {', '.join(sorted(names))}",
        "",
        "session = Session(model, X, y)  # and held_out=(X, y) of other rows",
        f"start = {first.points!r}",
        "if session.draft.rules != start:  # a search may end elsewhere",
        f"    session.edit(TakeOver(start, {first.origin!r}))",
        *(
            f"session.edit({edit!r})  # {_comment(step.what)}"
            for step, edit in zip(steps[1:], edits, strict=True)
        ),
        "card = session.card",
        "",
    ]
    if "Fraction(" not in "".join(text):
        text = text[:2] + text[4:]
    return "\n".join(text)


def _comment(text: str) -> str:
    """A text that stays in its line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
