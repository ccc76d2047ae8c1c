"""The questions of a card: what a person is asked, the answers, and the points of each.

The solver's conditions add up: "age ≥ 40" and "age ≥ 60" both count at age 70.  On paper a reader
looks for the one answer that fits.  So all conditions on a column become one question, exactly:

1. Numbers: one answer per interval in which all values are worth the same, low to high.
2. Levels (=, ≠, in, not in): one answer for all levels of equal worth, as training lists them;
   "any other" for all that are not named (a few of training's levels beside it).
3. A column of zeros and ones: "no" and "yes".
4. "Not known" comes last, where the card takes a missing value.
5. Points per unit cannot be listed: they are written as such, and the points of an answer, where
   the column has conditions as well, are added to them.

All answers are listed, also those worth 0; only a question whose answers are all worth 0 is left
out.  To every value exactly one answer applies, and the points of all answers add up to the score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from netbenefit.cards.readings import Reading, join_words, value_text
from netbenefit.cards.rules import CardLogic, ColumnLogic
from netbenefit.cards.terms import (
    LEVELS,
    Condition,
    Edge,
    PerUnit,
    Term,
    edges,
    group_levels,
    intervals,
    level_order,
    total_of,
)
from netbenefit.common import LARGEST_EXACT, Value

#: Words for answers; a level that is called so is quoted.
ANY_OTHER, NOT_KNOWN = "any other", "not known"
#: Most levels of training that are named beside "any other".
_MOST_NAMED = 3
_RESERVED = (ANY_OTHER, NOT_KNOWN, "known", "any value")


class Answer(NamedTuple):
    """One answer to a question."""

    text: str  #: in words, not cleaned, not escaped
    points: int
    #: When it applies, exactly, to a value as it is read; None: to all values that are not missing
    #: and that no other answer is for.
    term: Term | None

    @property
    def per_unit(self) -> bool:
        """Whether its points are for every unit of the value."""
        return isinstance(self.term, PerUnit)


@dataclass(frozen=True)
class Question:
    """What is asked about one column, the answers, and their points.

    Examples
    --------
    >>> from netbenefit.cards.rules import Rule
    >>> rules = [Rule(Condition("age", ">=", 40), 1), Rule(Condition("age", ">=", 60), 2)]
    >>> (question,) = questions_of(CardLogic.of(rules))
    >>> [(answer.text, answer.points) for answer in question.answers]
    [('under 40', 0), ('40 to under 60', 1), ('60 or more', 3)]
    >>> question.answer_to(70).points
    3
    """

    feature: str
    #: One applies; none does to a value that is only counted (:attr:`units`).
    answers: tuple[Answer, ...]
    units: tuple[Answer, ...] = ()  #: points per unit: all count, beside those of the answer
    #: Whether a missing value is read as another one: "not known" then repeats that one's points.
    filled: bool = False

    def answer_to(self, value: Value | None) -> Answer | None:
        """Return the answer that applies to a value, as the card reads it (None: missing)."""
        rest = None
        for answer in self.answers:
            if answer.term is None:
                rest = answer
            elif answer.term.value_code(value):
                return answer
        return None if value is None else rest

    def given(self, value: Value | None) -> str:
        """Say what is answered; a value that is counted, or that fits nowhere, as it is."""
        answer = self.answer_to(value)
        if value is None or (answer is not None and not self.units):
            return NOT_KNOWN if answer is None else answer.text
        return value_text(value if isinstance(value, str) else short(value))

    @property
    def most(self) -> int:
        """The largest points of an answer, either way."""
        return max(abs(answer.points) for answer in (*self.units, *self.answers))

    def listed(self) -> list[Answer]:
        """Return all lines that are printed; they say where points are added to others."""
        if not self.units:
            return list(self.answers)
        plain = [answer for answer in self.answers if not _is_missing(answer.term)]
        more = [Answer(f"plus: {a.text}", a.points, a.term) for a in plain]
        return [*self.units, *more, *self.answers[len(plain) :]]


def questions_of(logic: CardLogic) -> tuple[Question, ...]:
    """Return the questions of a card: those with the largest points first."""
    found = (_question(column, logic) for column in logic.columns)
    asked = [one for one in found if one is not None]
    return tuple(sorted(asked, key=lambda one: -one.most))


def _question(column: ColumnLogic, logic: CardLogic) -> Question | None:
    units = tuple(
        Answer(term.counted(), factor * 10**term.decimals // logic.unit, term)
        for term, factor in column.terms
        if isinstance(term, PerUnit) and not column.is_binary
    )
    pairs = [
        (term, factor // logic.unit)
        for term, factor in column.terms
        if isinstance(term, Condition) or column.is_binary
    ]
    start = column.base // logic.unit

    def worth(value: Value | None) -> int:
        return start + total_of(pairs, value)

    answers = _answers(column, [term for term, _ in pairs if term.kind != "any"], worth)
    if units and not any(answer.points for answer in answers):
        answers = []
    fill, filled = column.last.fill, False
    if fill is None and column.may_miss:
        answers.append(_unknown(column.name, worth(None)))
    elif fill is not None and _fill_is_seen(column.name, logic.readings.by_name):
        filled = True
        if not units:
            answers.append(_unknown(column.name, worth(fill)))
    if not any(answer.points for answer in (*units, *answers)):
        return None
    return Question(column.name, tuple(answers), units, filled and not units)


def _unknown(name: str, points: int) -> Answer:
    return Answer(NOT_KNOWN, points, Condition(name, "missing"))


def _is_missing(term: Term | None) -> bool:
    return term is not None and term.kind == "any"


def _fill_is_seen(name: str, readings: Mapping[str, Reading]) -> bool:
    """Whether training had missing values of a column that is filled, so that they need a line."""
    reading = readings[name]
    if reading.sources:
        return not is_idle(reading, readings)
    return reading.saw_missing or bool(reading.special)


def is_idle(reading: Reading, readings: Mapping[str, Reading]) -> bool:
    """Whether a derived column is never missing, because its sources are not."""
    filled = all(n in readings and readings[n].fill is not None for n in reading.sources)
    return bool(reading.sources) and filled and not reading.special


# -- the answers of one column ---------------------------------------------------------------------


def _answers(
    column: ColumnLogic, terms: Sequence[Term], worth: Callable[[Value], int]
) -> list[Answer]:
    if column.is_binary:
        return [
            Answer(text, worth(value), Condition(column.name, "==", value))
            for text, value in (("no", 0), ("yes", 1))
        ]
    conditions = [term for term in terms if isinstance(term, Condition)]
    if not conditions:
        text = "known" if column.may_miss and column.last.fill is None else "any value"
        return [Answer(text, worth(0.0), None)]
    if all(term.op in LEVELS for term in conditions):
        return _levels(column, conditions, worth)
    return _intervals(column, conditions, worth)


def _levels(
    column: ColumnLogic, terms: Sequence[Condition], worth: Callable[[Value], int]
) -> list[Answer]:
    """Levels of equal worth together, then all others."""
    order = [v for v in level_order(terms, column.levels) if not column.never_sees(v)]
    groups, others = group_levels(terms, worth, order)
    answers = []
    for points, levels in groups.items():
        term = Condition(column.name, "in", tuple(levels))
        if len(levels) == 1:
            term = Condition(column.name, "==", levels[0])
        answers.append(Answer(join_words([_level_text(level) for level in levels]), points, term))
    if not answers:
        return [Answer("any value", others, None)]
    listed = {level for levels in groups.values() for level in levels}
    rest = [v for v in column.levels if v not in listed and not column.never_sees(v)]
    few = [_level_text(level) for level in rest] if len(rest) <= _MOST_NAMED else []
    return [*answers, Answer(join_words([*few, ANY_OTHER]), others, None)]


def _level_text(level: Value) -> str:
    return f'"{level}"' if level in _RESERVED else value_text(level)


def _intervals(
    column: ColumnLogic, terms: Sequence[Condition], worth: Callable[[float], int]
) -> list[Answer]:
    """Intervals of numbers of equal worth, low to high."""
    whole = _sees_whole_numbers(column)
    pieces: list[tuple[Edge, int]] = []
    found = intervals((edge for edge in edges(terms) if _first(edge) < math.inf), worth)
    for (start, points), after in zip_longest(found, found[1:]):
        alone = after is not None and after[0] == Edge(start.value, above=True)
        never = alone and not start.above and column.never_sees(start.value)
        if not never and (not pieces or pieces[-1][1] != points):
            pieces.append((start, points))
    if len(pieces) == 1:
        return [Answer("any value", pieces[0][1], None)]
    return [
        Answer(_words(start, end, whole), points, _term(column.name, start, end))
        for (start, points), end in zip_longest(pieces, [edge for edge, _ in pieces[1:]])
    ]


def _sees_whole_numbers(column: ColumnLogic) -> bool:
    """Whether the rules see whole numbers only, filled-in ones and those of sources included."""
    fills = [column.fill, *(one.fill for one in column.inputs)]
    return column.whole and all(fill is None or isinstance(fill, int) for fill in fills)


def _term(name: str, start: Edge, end: Edge | None) -> Condition:
    """Return the condition of an interval; just above a number comes the next one that there is."""
    low = _first(start)
    if end is None:
        return Condition(name, ">=", low)
    high = _first(end)
    return (
        Condition(name, "<", high) if low == -math.inf else Condition(name, "between", (low, high))
    )


def _first(edge: Edge) -> float:
    return math.nextafter(edge.value, math.inf) if edge.above else edge.value


def _words(start: Edge, end: Edge | None, whole: bool) -> str:
    """Say which numbers lie in an interval."""
    ends = [edge.value for edge in (start, end) if edge is not None and edge.value > -math.inf]
    if whole and all(abs(value) < LARGEST_EXACT for value in ends):
        text = _whole_words(start, end)
        if text:
            return text
    low, high = value_text(short(start.value)), "" if end is None else value_text(short(end.value))
    if start.value == -math.inf:
        return f"up to {high}" if end is not None and end.above else f"under {high}"
    if end is None:
        return f"over {low}" if start.above else f"{low} or more"
    if start.value == end.value:
        return low
    return f"{'over ' if start.above else ''}{low} to {'' if end.above else 'under '}{high}"


def _whole_words(start: Edge, end: Edge | None) -> str:
    """The same for whole numbers; empty where none lies within."""
    first = _first_whole(start) if start.value > -math.inf else None
    after = None if end is None else _first_whole(end)
    if first is None:
        if after is None or end is None:
            return ""
        return f"up to {value_text(after - 1)}" if end.above else f"under {value_text(after)}"
    if after is None:
        return f"{value_text(first)} or more"
    if first >= after:
        return ""
    if first == after - 1:
        return value_text(first)
    dash = " to " if first < 0 else "–"
    return f"{value_text(first)}{dash}{value_text(after - 1)}"


def _first_whole(edge: Edge) -> int:
    return math.floor(edge.value) + 1 if edge.above else math.ceil(edge.value)


def short(number: float) -> float:
    """Return a number as an integer where it is whole."""
    whole = abs(number) <= LARGEST_EXACT and float(number).is_integer()
    return int(number) if whole else number
