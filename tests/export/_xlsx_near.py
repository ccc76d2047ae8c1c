"""The rule by which rows are left out when workbooks are compared with Python, as it is stated.

See :mod:`netbenefit.export.xlsx`: to spreadsheets, numbers that differ in the 15th digit are equal.
"""

from __future__ import annotations

from typing import Any

from netbenefit import PerUnit
from netbenefit.cards.rules import CardLogic, ColumnLogic
from netbenefit.cards.terms import log_ends


def undecidable(logic: CardLogic, row: dict[str, Any]) -> bool:
    """Whether a value comes nearer to a cut or code than 1e-14 of its size, but is not equal."""
    for one in logic.inputs:
        x = row[one.name]
        codes = [code for code in one.special if isinstance(code, int | float)]
        if isinstance(x, int | float) and any(_close(x, code, abs(x)) for code in codes):
            return True
    return any(_near(column, row) for column in logic.columns if column.kind == "number")


def _near(column: ColumnLogic, row: dict[str, Any]) -> bool:
    parts = []
    for one in column.inputs:
        value = row[one.name]
        value = one.fill if value is None or value in one.special else value
        if not isinstance(value, int | float):
            return False
        parts.append(float(value))
    combine = {"sum": sum, "max": max, "min": min, None: sum}[column.combine]
    x, size = float(combine(parts)), max(map(abs, parts))
    return any(_near_term(term, x, size) for term, _ in column.terms)


def _near_term(term: Any, x: float, size: float) -> bool:
    if isinstance(term, PerUnit):
        low, high = term.ends
        x = x if high is None else min(x, high)
        x = x if low is None else max(x, low)
        if term.log:
            return any(_close(x, end, size) for end in log_ends(term.decimals).tolist())
        raised = x * 10**term.decimals + 0.5
        return abs(raised) < 1e15 and _close(raised, round(raised), abs(raised))
    values = term.value if isinstance(term.value, tuple) else (term.value,)
    return any(_close(x, value, size) for value in values if value is not None)


def _close(x: float, end: float, size: float) -> bool:
    return x != end and abs(x - end) <= 1e-14 * max(size, abs(end))
