"""The score and the risk of a card as expressions."""

from __future__ import annotations

import narwhals as nw

from netbenefit._card_steps import make_steps
from netbenefit._engine import EngineTable
from netbenefit._engine_states import Edge, choose, whole
from netbenefit._engine_steps import any_of, step_codes, sum_of
from netbenefit.scorecard import Scorecard

__all__ = ["risk_of", "score_of"]

_INT32 = 2**31


def score_of(card: Scorecard, table: EngineTable) -> nw.Expr:
    """Return the expression of a card's score; null where the card refuses a row."""
    plan = card._plan
    table.require(card.features)
    n_terms = sum(len(column.terms) for column in plan.columns)
    steps = make_steps(plan.columns, plan.readings.by_name)
    codes = [step_codes(table, step, n_terms) for step in steps]
    factors = [[factor for _, factor in step.terms] for step in steps]
    sums = [one.sums(own) for one, own in zip(codes, factors, strict=True)]
    largest = sum(max(map(abs, own), default=0) for own in sums)
    small = largest < _INT32 and not any(one.units for one in codes)
    dtype = nw.Int32 if small else nw.Int64
    parts = [one.total(own, dtype) for one, own in zip(codes, factors, strict=True)]
    units = sum_of([part for part in parts if part is not None] or [whole(0)])
    score = units.cast(nw.Int64) if small else units
    if plan.unit > 1:  # rounded down, also where an engine rounds towards zero
        unit = whole(plan.unit)
        near = score // unit
        score = nw.when(near * unit > score).then(near - whole(1)).otherwise(near)
    wrong = any_of([test for one in codes for test in one.refused])
    return score if wrong is None else nw.when(wrong).then(None).otherwise(score)


def risk_of(card: Scorecard, score: nw.Expr) -> nw.Expr:
    """Return the expression of the risk of a score."""
    rows = card.risk_table()
    edges = [Edge(row.low) for row in rows if row.low is not None]
    risks = [nw.lit(float(row.risk)) for row in rows]
    return nw.when(~score.is_null()).then(choose(score, edges, risks))
