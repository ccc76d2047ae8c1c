"""How each raw column of a card was prepared, and what of it is missing in some rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from netbenefit.cards.rows import Row, card_rows
from netbenefit.cards.scorecard import Scorecard
from netbenefit.cards.terms import Condition, PerUnit, value_text
from netbenefit.export.logic import Input, Step, logic_of

__all__ = ["ColumnRow", "column_rows"]


class ColumnRow(NamedTuple):
    """One column of a card."""

    name: str
    prepared: str  #: in words
    missing: int  #: rows
    share: float


def column_rows(card: Scorecard, columns: Mapping[str, Any]) -> list[ColumnRow]:
    """Say what a card does with each of its raw columns, and count what is missing.

    Examples
    --------
    >>> from netbenefit.cards.readings import Reading
    >>> from netbenefit.cards.scorecard import Rule
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> card = Scorecard([Rule(Condition("age", ">=", 52), 1)], [(0, 0.1), (1, 0.6)],
    ...     Thresholds.of([0.5]), readings=[Reading(feature="age", fill=50)])
    >>> column_rows(card, {"age": [40, None, 60, 70]})
    [ColumnRow(name='age', prepared='cut at 52; missing counts as 50', missing=1, share=0.25)]
    """
    printed = card_rows(card)
    logic = logic_of(card)
    rows = []
    for one in logic.inputs:
        steps = [step for step in logic.steps if one.name in (i.name for i in step.inputs)]
        missing, size = _count_missing(card, one, columns), len(columns[one.name])
        share = missing / size if size else 0.0
        rows.append(ColumnRow(one.name, _words(one, steps, printed), missing, share))
    return rows


def _count_missing(card: Scorecard, one: Input, columns: Mapping[str, Any]) -> int:
    column = card._plan.readings.raw(one.name, columns, one.kind)
    return 0 if column.missing is None else int(np.count_nonzero(column.missing))


def _words(one: Input, steps: Sequence[Step], printed: Sequence[Row]) -> str:
    """Say what all uses of a column do with it, nothing twice."""
    uses = [[_combined(one, step), _cuts(step, printed)] for step in steps]
    parts = ["; ".join(filter(None, use)) for use in uses]
    if one.special:
        codes = ", ".join(value_text(code) for code in one.special if not isinstance(code, str))
        parts.append(f"{codes or 'special codes'} read as missing")
    if one.refuse:
        parts.append("missing is refused")
    elif one.fill is not None:
        parts.append(f"missing counts as {value_text(one.fill)}")
    elif any(step.fill is None and not step.may_miss for step in steps):
        parts.append("missing is refused")
    else:
        parts += [_when_missing(step) for step in steps]
    return "; ".join(dict.fromkeys(part for part in parts if part))


def _combined(one: Input, step: Step) -> str:
    if step.combine is None:
        return ""
    how = {"sum": "added up", "max": "the largest taken", "min": "the smallest taken"}
    others = ", ".join(other.name for other in step.inputs if other.name != one.name)
    return f"{how[step.combine]} with {others} as “{step.name}”"


def _when_missing(step: Step) -> str:
    """Say what a use does with a missing value that nothing was filled in for."""
    if step.fill is not None:  # of the combined column: its sources' own are filled in before
        return f"where missing, {step.name} then counts as {value_text(step.fill)}"
    return f"missing has its own row{f' of {step.name}' if step.combine else ''}"


def _cuts(step: Step, printed: Sequence[Row]) -> str:
    cuts: dict[float, None] = {}
    words = []
    for row in printed:
        if row.feature != step.name:
            continue
        term = row.term
        if isinstance(term, PerUnit):
            words.append(term.text().removeprefix(f"{step.name} ").strip("()") or "as it is")
            if term.binary:
                words[-1] = "yes or no"
        elif isinstance(term, Condition) and term.op in (">=", "<", "between", ">", "<="):
            cuts |= dict.fromkeys(v for v in term.values if isinstance(v, int | float))
        elif isinstance(term, Condition) and term.op != "missing":
            words.append("by its levels")
    if cuts:
        words.insert(0, "cut at " + ", ".join(value_text(cut) for cut in sorted(cuts)))
    return ", ".join(dict.fromkeys(words))
