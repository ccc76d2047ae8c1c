"""The rows of a printed card: what a person would write, with the points that the rules add up to.

The solver's conditions add up: "age ≥ 40" and "age ≥ 60" both count for somebody of 70.  On paper a
reader looks for the one row that fits.  So the conditions of a column are merged, exactly:

1. Thresholds (≥, <, between) are a step function: one row an interval, with its total.
2. Levels (=, ≠, in, not in): one row for all levels of equal total, one for all others.
3. What cannot be merged (per unit, >, ≤) stands as it is.
4. "Missing" comes last, also where it is worth 0, so that nobody has to guess.

Rows of one kind never both apply.  Where a column has several kinds they add up, as rules do.  In
all cases rows, taken as rules, give every value the points that the card gives it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

from netbenefit.cards.readings import Reading
from netbenefit.cards.rules import Rule
from netbenefit.cards.terms import Condition, PerUnit, Term, value_text
from netbenefit.common.decimals import LARGEST_EXACT
from netbenefit.common.strict_json import Value

if TYPE_CHECKING:
    from netbenefit.cards.scorecard import Scorecard

__all__ = ["LEVELS", "Row", "card_notes", "card_rows"]

_STEPS = (">=", "<", "between")
#: Conditions that name levels.
LEVELS = ("==", "!=", "in", "not in")

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
    readings = {reading.feature: reading for reading in card.readings}
    by_column: dict[str, list[Rule]] = {}
    for rule in card.rules:
        by_column.setdefault(rule.term.feature, []).append(rule)
    columns = [_column_rows(rules, readings) for rules in by_column.values()]
    columns.sort(key=lambda rows: -max((abs(row.points) for row in rows), default=0))
    return [row for rows in columns for row in rows]


def card_notes(card: Scorecard, rows: Iterable[Row]) -> list[str]:
    """Return how the columns of some rows are read, one sentence a rule of reading.

    What holes count as that training never had comes last, for all columns in one sentence.

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


def _column_rows(rules: Sequence[Rule], readings: Mapping[str, Reading]) -> list[Row]:
    feature = rules[0].term.feature
    reading = readings.get(feature, Reading(feature=feature))
    worth = [(rule.term, rule.points) for rule in rules if rule.points]
    pairs: list[_Pair] = [pair for pair in worth if isinstance(pair[0], PerUnit)]
    asked = [(term, points) for term, points in worth if isinstance(term, Condition)]
    beyond = [pair for pair in asked if pair[0].op in (">", "<=")]
    pairs += _step_rows([pair for pair in asked if pair[0].op in _STEPS])
    pairs += [*sorted(beyond, key=_place)]
    pairs += _level_rows([pair for pair in asked if pair[0].op in LEVELS], reading.levels)
    for rule in rules:
        # A filled column is never missing to its rules; its note says what it counts as.
        if rule.term.kind == "any" and reading.fill is None and (pairs or rule.points):
            pairs.append((rule.term, rule.points))
    whole = _is_whole(reading, readings)
    return [Row(feature, term, points, _text(term, whole)) for term, points in pairs]


def _place(pair: tuple[Condition, int]) -> tuple[float, bool]:
    term = pair[0]
    return cast(float, term.value), term.op == ">"


def _total(pairs: Sequence[tuple[Condition, int]], value: Value) -> int:
    return sum(points * term.value_code(value) for term, points in pairs)


def _step_rows(pairs: Sequence[tuple[Condition, int]]) -> list[_Pair]:
    """Merge thresholds into intervals that are worth something.

    >>> older, old = Condition("age", ">=", 60), Condition("age", ">=", 40)
    >>> [(term.text(), points) for term, points in _step_rows([(older, 2), (old, 1)])]
    [('40 ≤ age < 60', 1), ('age ≥ 60', 3)]
    """
    if not pairs:
        return []
    feature = pairs[0][0].feature
    edges = sorted({cast(float, value) for term, _ in pairs for value in term.values})
    pieces: list[tuple[float, int]] = []  # where an interval starts, and its total
    for start in (-math.inf, *edges):
        total = _total(pairs, start)
        if not pieces or total != pieces[-1][1]:
            pieces.append((start, total))
    if len(pieces) == 1:  # worth the same everywhere; no condition says "not missing"
        pieces.append((edges[0], pieces[0][1]))
    ends = [start for start, _ in pieces[1:]] + [math.inf]
    return [
        (_interval(feature, low, high), total)
        for (low, total), high in zip(pieces, ends, strict=True)
        if total
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

    >>> late, last = Condition("stage", "in", ("III", "IV")), Condition("stage", "==", "IV")
    >>> [(term.text(), points) for term, points in _level_rows([(late, 1), (last, 2)], ())]
    [('stage is III', 1), ('stage is IV', 3)]
    """
    if len(pairs) < 2:
        return list(pairs)
    feature = pairs[0][0].feature
    others = sum(points for term, points in pairs if term.op in ("!=", "not in"))
    together: dict[int, list[Value]] = {}
    for level in _in_order(pairs, known):
        together.setdefault(_total(pairs, level), []).append(level)
    alike = together.pop(others, [])
    rows = [(_among(feature, levels), total) for total, levels in together.items() if total]
    if others:
        named = _in_order(pairs, known)
        apart = [level for level in named if level not in alike]
        if not apart:  # worth the same everywhere; no condition says "not missing"
            rows.append((_among(feature, named[:1]), others))
        rows.append((_among(feature, apart or named[:1], but=True), others))
    return list(rows)


def _in_order(pairs: Sequence[tuple[Condition, int]], known: Sequence[Value]) -> list[Value]:
    """Levels that conditions name: as training lists them, then numbers by size, or as named."""
    named = list(dict.fromkeys(value for term, _ in pairs for value in term.values))
    if not isinstance(named[0], str):
        named.sort()
    place = {level: i for i, level in enumerate(known)}
    return sorted(named, key=lambda level: place.get(level, len(place)))


def _among(feature: str, levels: Sequence[Value], but: bool = False) -> Condition:
    if len(levels) == 1:
        return Condition(feature, "!=" if but else "==", levels[0])
    return Condition(feature, "not in" if but else "in", tuple(levels))


# -- words -----------------------------------------------------------------------------------------


def _is_whole(reading: Reading, readings: Mapping[str, Reading]) -> bool:
    """Whether the rules see whole numbers only, filled-in ones and those of sources included."""
    sources = [readings[name] for name in reading.sources if name in readings]
    fills = [part.fill for part in (reading, *sources)]
    return reading.whole and all(fill is None or isinstance(fill, int) for fill in fills)


def _text(term: Term, whole: bool) -> str:
    """Say when a row applies; of whole numbers as people do.

    >>> _text(Condition("age", "between", (39.5, 60)), True)
    'age 40–59'
    >>> _text(Condition("age", "between", (40, 41)), True), _text(Condition("x1", "<", 2.5), True)
    ('age = 40', 'x1 < 3')
    """
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
