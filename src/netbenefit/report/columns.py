"""How each raw column of a card was prepared, and what of it is missing in some rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import (
    NOT_KNOWN,
    ColumnLabel,
    ColumnLogic,
    InputColumn,
    Question,
    Scorecard,
    check_card,
    value_text,
)

#: Most answers of a question that are listed.
_MOST_LISTED = 8


class ColumnRow(NamedTuple):
    """One column of a card."""

    name: str
    prepared: str  #: in words
    missing: int  #: rows
    share: float


def column_rows(card: Scorecard, columns: Mapping[str, Any]) -> list[ColumnRow]:
    """Say what a card does with each of its raw columns, and count what is missing."""
    logic = check_card(card)._logic
    asked = {question.feature: question for question in card.questions}
    rows = []
    for one in logic.inputs:
        uses = logic.uses(one.name)
        raw = logic.readings.raw(one.name, columns, one.kind)
        absent = raw.missing
        missing = 0 if absent is None else int(np.count_nonzero(absent))
        share = missing / max(len(columns[one.name]), 1)
        known = card.labels.of(one.name)
        words = [_words(one, uses, asked), _plausible(known, raw.values)]
        rows.append(ColumnRow(known.name, "; ".join(filter(None, words)), missing, share))
    return rows


def _plausible(known: ColumnLabel, values: NDArray[Any]) -> str:
    """Say which numbers are plausible, and how many rows have others."""
    if not known.range_text:
        return ""
    low, high = known.low, known.high
    outside = 0
    if values.dtype.kind == "f":
        under = values < (-math.inf if low is None else low)
        over = values > (math.inf if high is None else high)
        outside = int(np.count_nonzero(under | over))
    others = f" ({outside:,} row{'s' * (outside != 1)} outside)" if outside else ""
    return f"plausible: {known.range_text}{others}"


def _words(one: InputColumn, uses: Sequence[ColumnLogic], asked: Mapping[str, Question]) -> str:
    """Say what all uses of a column do with it, nothing twice."""
    parts = [
        "; ".join(filter(None, [_combined(one, column), _answers(asked.get(column.name))]))
        for column in uses
    ]
    if one.special:
        codes = ", ".join(value_text(code) for code in one.special if not isinstance(code, str))
        parts.append(f"{codes or 'special codes'} read as missing")
    if one.refuse:
        parts.append("missing is refused")
    elif one.fill is not None:
        binary = any(column.is_binary for column in uses)
        parts.append(f"missing counts as {value_text(one.fill, binary=binary)}")
    elif any(column.fill is None and not column.may_miss for column in uses):
        parts.append("missing is refused")
    else:
        parts += [_when_missing(column) for column in uses]
    return "; ".join(dict.fromkeys(part for part in parts if part))


def _combined(one: InputColumn, column: ColumnLogic) -> str:
    if column.combine is None:
        return ""
    how = {"sum": "added up", "max": "the largest taken", "min": "the smallest taken"}
    others = ", ".join(other.name for other in column.inputs if other.name != one.name)
    return f"{how[column.combine]} with {others} as “{column.name}”"


def _when_missing(column: ColumnLogic) -> str:
    """Say what a use does with a missing value that nothing was filled in for."""
    if column.fill is not None:  # of the combined column: its sources' own are filled in before
        return f"where missing, {column.name} then counts as {value_text(column.fill)}"
    return f"missing is an answer of its own{f' of {column.name}' if column.combine else ''}"


def _answers(question: Question | None) -> str:
    """List the answers to a question; of many, how many there are."""
    if question is None:
        return ""
    texts = [answer.text for answer in question.listed() if answer.text != NOT_KNOWN]
    return " / ".join(texts) if len(texts) <= _MOST_LISTED else f"{len(texts)} answers"
