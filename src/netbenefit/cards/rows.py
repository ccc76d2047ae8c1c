"""The rows of a printed card: what a person would write, with the points that the rules add up to.

The solver's conditions add up: "age ≥ 40" and "age ≥ 60" both count for somebody of 70.  On paper a
reader looks for the one row that fits.  So the conditions of a column are merged, exactly:

1. Thresholds (≥, <, between) are a step function: one row per interval, with its total.
2. Levels (=, ≠, in, not in): one row for all levels of equal total, one for all others.
3. What cannot be merged (per unit, >, ≤) stands as it is.
4. "Missing" comes last, also where it is worth 0, so that no one has to guess.

Rows of one kind never both apply.  Where a column has several kinds they add up, as rules do.  In
all cases rows, taken as rules, give every value the points that the card gives it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from netbenefit.cards.pieces import (
    LEVELS,
    cuts,
    edges,
    group_levels,
    intervals,
    level_order,
    total_of,
)
from netbenefit.cards.readings import Reading
from netbenefit.cards.rules import Rule
from netbenefit.cards.scoring import ColumnLogic
from netbenefit.cards.terms import Condition, PerUnit, Term, value_text
from netbenefit.common.decimals import LARGEST_EXACT
from netbenefit.common.strict_json import Value

if TYPE_CHECKING:
    from netbenefit.cards.scorecard import Scorecard

__all__ = ["Row", "card_notes", "card_rows"]

_STEPS = (">=", "<", "between")

_Pair = tuple[Term, int]


class Row(NamedTuple):
    """One printed row."""

    feature: str
    term: Term  #: when it applies, exactly
    points: int
    text: str  #: the term in words, not cleaned, not escaped


def card_rows(card: Scorecard) -> list[Row]:
    """Return what a card prints: columns by their largest points, the rows of each ascending.

    Examples
    --------
    >>> from netbenefit.cards.scorecard import Scorecard
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> rules = [Rule(Condition("age", ">=", 40), 1), Rule(Condition("age", ">=", 60), 2)]
    >>> whole = Reading(feature="age", whole=True)
    >>> card = Scorecard(rules, [(0, 0.1), (1, 0.9)], Thresholds.of([0.5]), readings=[whole])
    >>> [(row.text, row.points) for row in card_rows(card)]
    [('age 40–59', 1), ('age ≥ 60', 3)]
    """
    by_column: dict[str, list[Rule]] = {}
    for rule in card.rules:
        by_column.setdefault(rule.term.feature, []).append(rule)
    columns = [_column_rows(by_column[column.name], column) for column in card._logic.columns]
    columns.sort(key=lambda rows: -max((abs(row.points) for row in rows), default=0))
    return [row for rows in columns for row in rows]


def card_notes(card: Scorecard, rows: Iterable[Row]) -> list[str]:
    """Return how the columns of some rows are read, one sentence per rule of reading.

    What missing values count as that training never had comes last, in one sentence for all.

    >>> from netbenefit.cards.scorecard import Scorecard
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> late = Reading(feature="late", sources=("a", "b"), combine="sum")
    >>> card = Scorecard([Rule(PerUnit("late"), 1)], [(0, 0.1), (1, 0.9)], Thresholds.of([0.5]),
    ...     readings=[late, Reading(feature="b", special=(-9,))])
    >>> card_notes(card, card_rows(card))
    ['late: the sum of a, b', 'b: −9 means missing']
    """
    readings = {reading.feature: reading for reading in card.readings}
    names: dict[str, None] = {}
    for row in rows:
        names[row.feature] = None
        if row.feature in readings:  # who adds up sources has to know how to read them
            names |= dict.fromkeys(readings[row.feature].sources)
    used = [_without_idle_fill(readings[name], readings) for name in names if name in readings]
    unseen = [
        r for r in used if r.fill is not None and not (r.saw_missing or r.special or r.sources)
    ]
    notes = [note for reading in used if reading not in unseen for note in reading.notes()]
    if unseen:
        fills = [f"{reading.feature} {value_text(cast(Value, reading.fill))}" for reading in unseen]
        notes.append(f"if not known, count as: {', '.join(fills)} (none was missing in training)")
    return notes


def _without_idle_fill(reading: Reading, readings: Mapping[str, Reading]) -> Reading:
    """Forget what a derived column counts as where its sources are never missing."""
    filled = [n for n in reading.sources if n in readings and readings[n].fill is not None]
    if reading.sources and len(filled) == len(reading.sources) and not reading.special:
        return replace(reading, fill=None)
    return reading


# -- one column ------------------------------------------------------------------------------------


def _column_rows(rules: Sequence[Rule], column: ColumnLogic) -> list[Row]:
    worth = [(rule.term, rule.points) for rule in rules if rule.points]
    pairs: list[_Pair] = [pair for pair in worth if isinstance(pair[0], PerUnit)]
    conditions = [(term, points) for term, points in worth if isinstance(term, Condition)]
    beyond = [pair for pair in conditions if pair[0].op in (">", "<=")]
    pairs += _step_rows([pair for pair in conditions if pair[0].op in _STEPS])
    pairs += [*sorted(beyond, key=_place)]
    pairs += _level_rows([pair for pair in conditions if pair[0].op in LEVELS], column.levels)
    for rule in rules:
        # A filled column is never missing to its rules; its note says what it counts as.
        if rule.term.kind == "any" and column.last.fill is None and (pairs or rule.points):
            pairs.append((rule.term, rule.points))
    # Whether the rules see whole numbers only, filled-in ones and those of sources included.
    fills = [column.fill, *(one.fill for one in column.inputs)]
    whole = column.whole and all(fill is None or isinstance(fill, int) for fill in fills)
    return [Row(column.name, term, points, _text(term, whole)) for term, points in pairs]


def _place(pair: tuple[Condition, int]) -> tuple[float, bool]:
    term = pair[0]
    return cast(float, term.value), term.op == ">"


def _step_rows(pairs: Sequence[tuple[Condition, int]]) -> list[_Pair]:
    """Merge thresholds into intervals that are worth something."""
    if not pairs:
        return []
    terms = [term for term, _ in pairs]
    starts = [
        (edge.value, worth) for edge, worth in intervals(edges(terms), partial(total_of, pairs))
    ]
    if len(starts) == 1:  # worth the same everywhere; no condition says "not missing"
        starts.append((cuts(terms)[0], starts[0][1]))
    ends = [start for start, _ in starts[1:]] + [math.inf]
    return [
        (_interval(terms[0].feature, low, high), worth)
        for (low, worth), high in zip(starts, ends, strict=True)
        if worth
    ]


def _interval(feature: str, low: float, high: float) -> Condition:
    if low == -math.inf:
        return Condition(feature, "<", high)
    if high == math.inf:
        return Condition(feature, ">=", low)
    return Condition(feature, "between", (low, high))


def _level_rows(pairs: Sequence[tuple[Condition, int]], known: Sequence[Value]) -> list[_Pair]:
    """Merge conditions on levels: levels of equal total together, then all others.

    Levels that no condition names are among the others, whether they are known or not, so the
    known ones only give the order.
    """
    if len(pairs) < 2:
        return list(pairs)
    feature, terms = pairs[0][0].feature, [term for term, _ in pairs]
    order = level_order(terms, known)
    groups, others = group_levels(terms, partial(total_of, pairs), order)
    rows: list[_Pair] = [
        (_among(feature, levels), worth) for worth, levels in groups.items() if worth
    ]
    if others:
        apart = [level for level in order if total_of(pairs, level) != others]
        if not apart:  # worth the same everywhere; no condition says "not missing"
            rows.append((_among(feature, order[:1]), others))
        rows.append((_among(feature, apart or order[:1], but=True), others))
    return rows


def _among(feature: str, levels: Sequence[Value], but: bool = False) -> Condition:
    if len(levels) == 1:
        return Condition(feature, "!=" if but else "==", levels[0])
    return Condition(feature, "not in" if but else "in", tuple(levels))


# -- words -----------------------------------------------------------------------------------------


def _text(term: Term, whole: bool) -> str:
    """Say when a row applies; of whole numbers as people do."""
    if not (whole and isinstance(term, Condition) and term.op in _STEPS):
        return term.text()
    name, numbers = term.feature, [cast(float, value) for value in term.values]
    if any(abs(number) > LARGEST_EXACT for number in numbers):
        return term.text()
    ends = [math.ceil(number) for number in numbers]
    if term.op != "between":
        return Condition(name, term.op, ends[0]).text()
    first, last = ends[0], ends[1] - 1
    if first > last:  # no whole number lies within
        return term.text()
    low, high = value_text(first), value_text(last)
    if low == high:
        return f"{name} = {low}"
    if name[-1].isdigit():  # "x1 40–59" would read as one number after another
        return f"{low} ≤ {name} ≤ {high}"
    return f"{name} {low}{' to ' if first < 0 else '–'}{high}"
