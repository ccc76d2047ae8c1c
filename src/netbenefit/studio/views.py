"""What a page is told of a session: plain values for JSON, counts and never rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netbenefit.cards import (
    Answer,
    Condition,
    Kind,
    Question,
    Scorecard,
    contents,
    named,
    percent,
    samples,
    scores_text,
)
from netbenefit.common import Table
from netbenefit.solvers import NearOptimal
from netbenefit.studio.figures import Figures
from netbenefit.studio.session import Search, Session


def state(session: Session, threshold: float | None = None) -> dict[str, Any]:
    """Return all that a page shows at all times; ``revision`` changes whenever any of it does."""
    with session.lock:
        standing, draft = session.standing(), session.draft
        card, steps = session.card, session.history
        origin = card.provenance
        figures = session.figures(threshold)
        before = [None, *steps[:-1]]
        return {
            "revision": session.revision,
            "card": card_view(card),
            "conditions": _conditions(session),
            "limits": [{"text": str(one), "limit": one.to_json()} for one in draft.limits],
            "model_limits": [str(one) for one in session.bench.base.constraints],
            "history": [
                {
                    "number": step.number,
                    "when": step.when,
                    "by": step.by,
                    "what": step.what,
                    "effect": "" if last is None else step.effect(last),
                }
                for step, last in zip(steps, before, strict=True)
            ],
            "can_undo": session.can_undo,
            "can_redo": session.can_redo,
            "standing": {
                "sentences": standing.sentences,
                "broken": list(standing.broken),
                "settled": standing.settled,
                "value": float(standing.value),
                "best": None if standing.best is None else float(standing.best),
                "bound": None if standing.bound is None else float(standing.bound),
            },
            "teacher": None if origin is None else origin.teacher,
            "share_kept": None if origin is None else origin.share_kept,
            "thresholds": card.thresholds.given.tolist(),
            "threshold": figures["training"].threshold,
            "figures": {name: figures_view(found, card) for name, found in figures.items()},
            "teacher_curve": _table(session.teacher_curve()),
        }


def _conditions(session: Session) -> list[dict[str, Any]]:
    """All conditions, in the order of their columns; the points of those that are switched off."""
    draft = session.draft
    off = dict(draft.off)
    return [
        {
            "rule": name,
            "column": term.feature,
            "points": points,
            "off": off.get(k),
            "cuts": [v for v in named([term]) if not isinstance(v, str)] if _is_cut(term) else [],
        }
        for k, (term, name, points) in enumerate(
            zip(draft.terms, draft.names, draft.points, strict=True)
        )
    ]


def _is_cut(term: Any) -> bool:
    return isinstance(term, Condition) and term.op in (">=", ">", "<=", "<", "between")


def card_view(card: Scorecard) -> dict[str, Any]:
    """Return a card as printed; an answer that can change has a ``value`` that it is for."""
    words = contents(card)
    return {
        "title": words.title,
        "asked": words.asked,
        "questions": [
            {
                "column": question.feature,
                "label": card.labels.called(question.feature),
                "unit": card.labels.of(question.feature).unit,
                "answers": [_answer(question, answer) for answer in question.answers],
                "units": [{"text": one.text, "points": one.points} for one in question.units],
            }
            for question in card.questions
        ],
        "risks": [
            {
                "scores": scores_text(row),
                "risk": row.risk,
                "text": percent(row.risk, card.thresholds),
            }
            for row in card.risk_table()
        ],
        "notes": words.notes,
        "footer": words.footer,
    }


def _answer(question: Question, answer: Answer) -> dict[str, Any]:
    missing = isinstance(answer.term, Condition) and answer.term.op == "missing"
    # "Not known" that is read as another answer has its points, and none of its own.
    fixed = bool(question.units) or (missing and question.filled)
    shown = {"text": answer.text, "points": answer.points, "editable": not fixed}
    return shown if fixed else shown | {"value": None if missing else _value_for(question, answer)}


def _value_for(question: Question, answer: Answer) -> Any:
    """A raw value that an answer is for."""
    terms = [a.term for a in question.answers if isinstance(a.term, Condition)]
    kind: Kind = next((term.kind for term in terms if term.kind != "any"), "any")
    for value in samples(named(terms), kind):
        if question.answer_to(value) == answer:
            return value
    return None


def figures_view(found: Figures, card: Scorecard) -> dict[str, Any]:
    """Return the figures of one side."""
    return {
        "n": found.n,
        "events": found.events,
        "net_benefit": found.net_benefit,
        "net_benefit_before": found.net_benefit_before,
        "at": found.at,
        "at_before": found.at_before,
        "called": found.called,
        "called_before": found.called_before,
        "moved": found.moved._asdict(),
        "curve": _table(found.curve, "model", "threshold", "net_benefit"),
        "levels": [level._asdict() for level in found.levels],
    }


def alternatives_view(session: Session, found: NearOptimal) -> dict[str, Any]:
    """Return near-optimal cards: points by rule, columns, and how often they decide alike."""
    draft = session.draft
    best = found.cards[0].objective if found.cards else None
    return {
        "complete": found.complete,
        "tolerance": float(found.tolerance),
        "cards": [
            {
                "points": {n: v for n, v in zip(draft.names, card.points, strict=True) if v},
                "columns": sorted(
                    {t.feature for t, v in zip(draft.terms, card.points, strict=True) if v}
                ),
                "objective": float(card.objective),
                "loss": float(best - card.objective) if best is not None else 0.0,
                "rules": card.size,
                "questions": card.questions,
                "agreement": card.agreement,
                "present": card.points == draft.points,
            }
            for card in found.cards
        ],
    }


def search_view(search: Search | None) -> dict[str, Any] | None:
    """Return where a solver stands."""
    if search is None:
        return None
    news = search.progress
    return {
        "done": search.done,
        "objective": None if news is None else news.objective,
        "bound": None if news is None else news.bound,
        "rules": None if news is None else news.size,
        "seconds": None if news is None else news.seconds,
        "cards": None if news is None else news.evaluations,
    }


def _table(table: Table | None, *columns: str) -> dict[str, list[Any]] | None:
    """Columns of a table as lists; what is no number is null."""
    if table is None:
        return None
    names = columns or tuple(table)
    return {name: [_plain(v) for v in np.asarray(table[name]).tolist()] for name in names}


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
