"""The score and the risk of a card as expressions."""

from __future__ import annotations

import narwhals as nw

from netbenefit.cards.card_steps import make_steps
from netbenefit.cards.scorecard import Scorecard
from netbenefit.data.engine import EngineTable
from netbenefit.tables.engine_states import IntType, added, whole
from netbenefit.tables.expressions import any_of, step_codes

__all__ = ["risk_of", "score_of"]

#: Tests that are asked one by one.
_FEW = 6


def score_of(card: Scorecard, table: EngineTable) -> nw.Expr:
    """Return the expression of a card's score; null where the card refuses a row."""
    plan = card._plan
    table.require(card.features)
    n_terms = sum(len(column.terms) for column in plan.columns)
    steps = make_steps(plan.columns, plan.readings.by_name)
    codes = [step_codes(table, step, n_terms) for step in steps]
    factors = [[factor for _, factor in step.terms] for step in steps]
    sums = [one.sums(own) for one, own in zip(codes, factors, strict=True)]
    largest = 2 * sum(max(map(abs, own), default=0) for own in sums)  # parts of sums, too
    dtype: IntType = nw.Int16 if largest < 2**15 else nw.Int32 if largest < 2**31 else nw.Int64
    if any(one.units for one in codes):
        dtype = nw.Int64
    parts = [one.total(own, dtype) for one, own in zip(codes, factors, strict=True)]
    units = added([part for part in parts if part is not None] or [whole(0)])
    score = units if dtype is nw.Int64 else units.cast(nw.Int64)
    if plan.unit > 1:  # rounded down, also where an engine rounds towards zero
        unit = whole(plan.unit)
        near = score // unit
        score = nw.when(near * unit > score).then(near - whole(1)).otherwise(near)
    refused = [test for one in codes for test in one.refused]
    if len(refused) > _FEW:
        refused = [test for test in (any_of(refused),) if test is not None]
    for test in refused:  # one after the other: engines are slow with "or"
        score = nw.when(test).then(None).otherwise(score)
    return score


def risk_of(card: Scorecard, score: nw.Expr, table: EngineTable) -> nw.Expr:
    """Return the expression of the risk of a score."""
    by_text = table.engine.casefold() == "ibis"

    def value(risk: float) -> nw.Expr:
        # Ibis writes bare numbers, which DuckDB reads as decimals, and rounds once too often.
        return nw.lit(repr(risk)).cast(nw.Float64) if by_text else nw.lit(risk)

    rows = card._risk_rows
    if len(rows) == 1:
        return nw.when(~score.is_null()).then(value(float(rows[0].risk)))
    # The lowest scores first: most rows have them, and are done then.  Null reaches no end.
    found: nw.Expr = nw.when(score >= rows[-1].low).then(value(float(rows[-1].risk)))
    for row, after in zip(reversed(rows[:-1]), reversed(rows[1:]), strict=True):
        found = nw.when(score < after.low).then(value(float(row.risk))).otherwise(found)
    return found
