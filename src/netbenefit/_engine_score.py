"""The score and the risk of a card as expressions."""

from __future__ import annotations

import narwhals as nw

from netbenefit._card_steps import make_steps
from netbenefit._engine import EngineTable
from netbenefit._engine_states import Edge, choose, whole
from netbenefit._engine_steps import any_of, step_codes, sum_of
from netbenefit.scorecard import Scorecard

__all__ = ["risk_of", "score_of"]


def score_of(card: Scorecard, table: EngineTable) -> nw.Expr:
    """Return the expression of a card's score; null where the card refuses a row."""
    plan = card._plan
    table.require(card.features)
    n_terms = sum(len(column.terms) for column in plan.columns)
    parts: list[nw.Expr] = []
    refused: list[nw.Expr] = []
    for step in make_steps(plan.columns, plan.readings.by_name):
        codes = step_codes(table, step, n_terms)
        parts.append(codes.total([factor for _, factor in step.terms]))
        refused += codes.refused
    score = units = sum_of(parts)
    if plan.unit > 1:  # rounded down, also where an engine rounds towards zero
        unit = whole(plan.unit)
        near = units // unit
        score = nw.when(near * unit > units).then(near - whole(1)).otherwise(near)
    wrong = any_of(refused)
    return score if wrong is None else nw.when(wrong).then(None).otherwise(score)


def risk_of(card: Scorecard, score: nw.Expr) -> nw.Expr:
    """Return the expression of the risk of a score."""
    rows = card.risk_table()
    edges = [Edge(row.low) for row in rows if row.low is not None]
    risks = [nw.lit(float(row.risk)) for row in rows]
    return nw.when(~score.is_null()).then(choose(score, edges, risks))
