"""The columns of a card, or of a binner, as expressions that an engine computes.

The arithmetic is that of :mod:`netbenefit.cards.rules`: what Python refuses with an error has no
score here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, cast

import narwhals as nw

from netbenefit.cards import (
    INT64,
    ColumnLogic,
    Edge,
    InputColumn,
    PerUnit,
    Scorecard,
    Term,
    edges,
    group_levels,
    intervals,
    named,
    plain_number,
)
from netbenefit.common import LARGEST_EXACT, InputError, Value
from netbenefit.data import EngineTable, in_halves

# -- what the terms of a column make of its values, as one expression ------------------------------
# All terms of a column together distinguish few kinds of values: "age ≥ 40" and "age ≥ 60" three,
# and missing makes a fourth.  These are the states of the column.  An engine finds the state of a
# row by a few comparisons, and the codes of all terms in a state are known beforehand.  So the same
# comparisons give the codes of all terms, or their points together.

#: Numbers above this have no logarithm here, unless the term has an upper end: the ends of all
#: steps up to the largest float would be tens of thousands of comparisons.
LARGEST_LOG = float(LARGEST_EXACT)
_FEW = 8
#: Integers of 32 bits at most, exact as floats.
_SMALL = (nw.Int8, nw.Int16, nw.Int32, nw.UInt8, nw.UInt16, nw.UInt32)
#: Types of whole numbers: sums in fewer bits are quicker, where they fit.
IntType = type[nw.Int64] | type[nw.Int32] | type[nw.Int16]


class States(NamedTuple):
    """The states of a column."""

    codes: list[tuple[int, ...]]  #: of all terms, one tuple per state; the last one is "missing"
    #: Given one whole number per state, and their type, the expression of that of a row's state.
    pick: Callable[[Sequence[int], IntType], nw.Expr]


def choose(
    x: nw.Expr, edges: Sequence[Edge], values: Sequence[nw.Expr], null_at: int = 0
) -> nw.Expr:
    """Return values[k] where x has reached exactly k of some ascending edges.

    By halving: a few comparisons decide among hundreds of edges.  A comparison with null is
    neither true nor false and leads to "otherwise", so it is put such that null gets
    values[null_at], without a test of its own.
    """
    if not edges:
        return values[0]
    middle = len(edges) // 2
    late = null_at > middle
    low = choose(x, edges[:middle], values[: middle + 1], min(null_at, middle))
    high = choose(x, edges[middle + 1 :], values[middle + 1 :], max(null_at - middle - 1, 0))
    if late:
        return nw.when(_missed(edges[middle], x)).then(low).otherwise(high)
    return nw.when(_reached(edges[middle], x)).then(high).otherwise(low)


def _reached(edge: Edge, x: nw.Expr) -> nw.Expr:
    """Whether a value is in the state that begins at an edge, or in a later one."""
    return x > edge.value if edge.above else x >= edge.value


def _missed(edge: Edge, x: nw.Expr) -> nw.Expr:
    """Whether a value is in an earlier state."""
    return x <= edge.value if edge.above else x < edge.value


def _whole_edge(edge: Edge) -> Edge:
    """Return the same edge among whole numbers."""
    return Edge(math.floor(edge.value) + 1 if edge.above else math.ceil(edge.value))


def whole(number: int, dtype: IntType = nw.Int64) -> nw.Expr:
    """Return a whole number of a type, whatever it is added to."""
    return nw.lit(number, dtype)


# -- numbers ---------------------------------------------------------------------------------------


def states_of_numbers(
    x: nw.Expr,
    missing: Sequence[nw.Expr],
    terms: Sequence[Term],
    fill: Value | None = None,
    *,
    integers: bool = False,
) -> States:
    """Return the states that conditions (and logarithms) distinguish among numbers.

    ``x`` is missing, and then counts as ``fill``, where one of ``missing`` holds; the first of
    these tests for null.  ``integers`` says that x holds small ones, which engines compare faster.
    """
    pieces = intervals(_edges(terms), partial(_codes, terms))
    codes = [code for _, code in pieces]
    starts = [_whole_edge(edge) if integers else edge for edge, _ in pieces[1:]]

    def pick(values: Sequence[int], dtype: IntType) -> nw.Expr:
        # States of equal value are one.
        steps = [k for k in range(1, len(codes)) if values[k] != values[k - 1]]
        own, absent = [values[0], *(values[k] for k in steps)], values[-1]
        passed = [starts[k - 1] for k in steps]
        found = _number_at(x, passed, own, absent, dtype)
        for test in reversed(missing[1:]):  # of null, the first, there is no need
            found = nw.when(test).then(whole(absent, dtype)).otherwise(found)
        return found

    return States([*codes, _codes(terms, fill)], pick)


def _number_at(
    x: nw.Expr, edges: Sequence[Edge], values: Sequence[int], absent: int, dtype: IntType
) -> nw.Expr:
    """Return values[k] where x has reached exactly k of some ascending edges, ``absent`` for null.

    Of a few edges it is a sum of steps, which engines add up faster than they go through nested
    cases.  The sum starts from the value of null, which reaches no edge and misses none.
    """
    null_at = values.index(absent) if absent in values else 0
    if len(edges) > _FEW:
        found = choose(x, edges, [whole(value, dtype) for value in values], null_at)
    else:
        nothing, parts = whole(0, dtype), []
        for k, edge in enumerate(edges, start=1):
            rise = values[k] - values[k - 1]
            if k <= null_at:
                parts.append(nw.when(_missed(edge, x)).then(whole(-rise, dtype)).otherwise(nothing))
            else:
                parts.append(nw.when(_reached(edge, x)).then(whole(rise, dtype)).otherwise(nothing))
        if values[null_at] or not parts:
            parts.append(whole(values[null_at], dtype))
        found = in_halves(operator.add, parts)
    if absent in values:
        return found
    return nw.when(x.is_null()).then(whole(absent, dtype)).otherwise(found)


def states_of_flags(x: nw.Expr, terms: Sequence[Term], fill: Value | None = None) -> States:
    """Return the states of true and false."""

    def pick(values: Sequence[int], dtype: IntType) -> nw.Expr:
        no, yes, absent = (whole(value, dtype) for value in values)
        if values[0] == values[2]:
            return nw.when(x).then(yes).otherwise(no)
        if values[1] == values[2]:
            return nw.when(~x).then(no).otherwise(yes)
        return nw.when(x.is_null()).then(absent).otherwise(nw.when(x).then(yes).otherwise(no))

    return States([_codes(terms, 0.0), _codes(terms, 1.0), _codes(terms, fill)], pick)


def _edges(terms: Sequence[Term]) -> list[Edge]:
    """Where states may begin, as floats, which engines compare with floats."""
    found = [Edge(float(value), above) for value, above in edges(terms)]
    for term in terms:
        if isinstance(term, PerUnit):
            found += [Edge(end) for end in term.log_steps()[1] if end <= LARGEST_LOG]
    return found


def _codes(terms: Sequence[Term], value: float | str | None) -> tuple[int, ...]:
    return tuple(int(term.value_code(value)) for term in terms)


def states_of_text(
    x: nw.Expr,
    absent: nw.Expr,
    terms: Sequence[Term],
    fill: Value | None = None,
    known: Sequence[Value] = (),
    spell: Callable[[str], Value | None] = str,
) -> States:
    """Return the states of text: levels of equal codes together, then all others.

    Whether ``x`` is ``absent`` is tested last, because looking for blanks takes time, and not at
    all for ``known`` levels.  ``spell`` says how the column writes a level; None where it cannot.
    """
    levels = [level for level in named(terms) if spell(str(level)) is not None]
    groups, others = group_levels(terms, partial(_codes, terms), levels)
    together = [[cast(Value, spell(str(level))) for level in own] for own in groups.values()]

    common = [spelt for spelt in map(spell, map(str, known)) if spelt is not None]
    common = [level for level in common if not any(level in own for own in together)]

    def pick(values: Sequence[int], dtype: IntType) -> nw.Expr:
        *here, other, missing = values
        alike: dict[int, list[Value]] = {other: list(common)}
        for levels, value in zip(together, here, strict=True):
            alike.setdefault(value, []).extend(levels)
        present = alike.pop(other)
        found = rest = whole(other, dtype)
        if missing != other:
            found = nw.when(absent).then(whole(missing, dtype)).otherwise(rest)
            if present:
                found = nw.when(_is_one(x, present)).then(rest).otherwise(found)
        for value, levels in alike.items():
            few = [[level] for level in levels] if len(levels) <= _FEW else [levels]
            for some in few:  # one after the other: engines are slow with "or"
                found = nw.when(_is_one(x, some)).then(whole(value, dtype)).otherwise(found)
        return found

    return States([*groups, others, _codes(terms, fill)], pick)


def _is_one(x: nw.Expr, levels: Sequence[Value]) -> nw.Expr:
    """Whether a value is one of some; a few comparisons are faster than a search in a list."""
    if len(levels) > _FEW:
        return x.is_in(levels)
    return in_halves(operator.or_, [x == level for level in levels])


# -- all terms of a column -------------------------------------------------------------------------

#: All white space, as ``str.strip`` removes it.
_WHITE = "".join(chr(k) for k in range(0x3001) if chr(k).isspace())
#: Text that is plainly a number, as :func:`netbenefit.cards.readings.plain_number` has it.
_PLAIN_NUMBER = r"^[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]{1,3})?$"


class ColumnCodes(NamedTuple):
    """What a column's terms make of rows."""

    places: list[int]  #: the terms that the states are of: conditions and logarithms
    states: States
    units: dict[int, nw.Expr]  #: codes of the other terms, points per unit, by their place
    refused: list[nw.Expr]  #: a row for which one of these holds has no score

    def sums(self, factors: Sequence[int]) -> list[int]:
        """Return Σ factor · code of each state, factors being in the order of the terms."""
        own = [factors[place] for place in self.places]
        return [sum(f * c for f, c in zip(own, code, strict=True)) for code in self.states.codes]

    def total(self, factors: Sequence[int], dtype: IntType = nw.Int64) -> nw.Expr | None:
        """Return Σ factor · code of all terms; None where that is always 0."""
        sums = self.sums(factors)
        parts = [self.states.pick(sums, dtype)] if any(sums) else []
        parts += [code * whole(factors[place]) for place, code in self.units.items()]
        return in_halves(operator.add, parts) if parts else None


def codes_of_column(
    table: EngineTable, column: ColumnLogic, share: int = INT64 // 2
) -> ColumnCodes:
    """Express a column; more units than ``share`` of a rule whose codes have no end are refused."""
    terms = [term for term, _ in column.terms]
    first = column.inputs[0]
    if column.kind == "text":
        return _text_codes(table, column, terms)
    if column.kind == "any":
        missing = _absence(table, first)
        refused = [] if column.may_miss else [missing]
        there = nw.when(~missing).then(nw.lit(1.0))
        states = states_of_numbers(there, [there.is_null()], terms, first.fill)
        return ColumnCodes(list(range(len(terms))), states, {}, refused)
    if column.combine is None and table.types[first.name] == "boolean" and not first.special:
        x = table.column(first.name)
        needed = first.refuse or (first.fill is None and not column.may_miss)
        states = states_of_flags(x, terms, first.fill)
        return ColumnCodes(list(range(len(terms))), states, {}, [x.is_null()] if needed else [])
    units = [k for k, term in enumerate(terms) if isinstance(term, PerUnit) and not term.log]
    places = [k for k in range(len(terms)) if k not in units]
    number = _number(table, column)
    refused = number.refused
    if number.fill is None and not column.may_miss:
        refused.append(number.missing)
    if any(isinstance(term, PerUnit) and term.log and term.upper is None for term in terms):
        refused.append(~number.missing & (number.x > LARGEST_LOG))
    made = {}
    for k in units:
        most = min(LARGEST_EXACT, share // abs(column.terms[k][1]))
        made[k], large = _unit_code(number.filled(), cast(PerUnit, terms[k]), most)
        refused += large
    others = [terms[k] for k in places]
    states = states_of_numbers(
        number.x, number.tests, others, number.fill, integers=number.integers
    )
    return ColumnCodes(places, states, made, refused)


# -- numbers ---------------------------------------------------------------------------------------


class _Number(NamedTuple):
    """A number that a column's terms see."""

    x: nw.Expr  #: where it is not missing
    tests: list[nw.Expr]  #: it is missing where one of these holds
    fill: float | int | None  #: what a missing one counts as
    refused: list[nw.Expr]
    integers: bool = False

    @property
    def missing(self) -> nw.Expr:
        """Whether it is missing."""
        return in_halves(operator.or_, self.tests)

    def filled(self) -> nw.Expr:
        """Return it as float64, null where it stays missing."""
        x = self.x.cast(nw.Float64) if self.integers else self.x
        there = nw.when(~self.missing).then(x)
        return there if self.fill is None else there.fill_null(float(self.fill))


def _number(table: EngineTable, column: ColumnLogic) -> _Number:
    parts = [_input_number(table, one) for one in column.inputs]
    if column.combine is None:
        return parts[0]
    refused = [test for part in parts for test in part.refused]
    value = parts[0].filled()
    for part in parts[1:]:
        value = _combined(column.combine, value, part.filled())
    tests = [value.is_null(), *_codes_among(value, column.number_codes)]
    return _Number(value, tests, _plain_fill(column.fill), refused)


def _input_number(table: EngineTable, one: InputColumn) -> _Number:
    """Read a column of numbers, of booleans, or of text that stands for numbers."""
    kind = table.types[one.name]
    refused: list[nw.Expr] = []
    small = table.dtypes[one.name] in _SMALL
    has_nan = table.dtypes[one.name].is_float()
    if kind == "text":
        x = _parsed(table, one, refused)
    elif kind == "number":
        x = table.column(one.name) if small else table.number(one.name, nan_is_null=False)
    elif kind == "boolean":
        x = table.number(one.name)
    else:
        raise _wrong_kind(one.name, kind, "numbers")
    tests = [x.is_null(), *_codes_among(x, one.number_codes)]
    if has_nan:
        tests.insert(1, x.is_nan())
    if kind == "text" or has_nan:
        refused += [x == math.inf, x == -math.inf]
    number = _Number(x, tests, _plain_fill(one.fill), refused, small)
    if one.refuse:
        refused.append(number.missing)
    return number


def _plain_fill(fill: Value | None) -> float | int | None:
    return None if isinstance(fill, str) else fill


def _codes_among(x: nw.Expr, codes: Sequence[float]) -> list[nw.Expr]:
    """Say when a number is a special code."""
    # (Not by is_in, to which minus zero is another number than zero in Arrow.)
    return [x == float(code) for code in codes]


def _parsed(table: EngineTable, one: InputColumn, refused: list[nw.Expr]) -> nw.Expr:
    if not (one.text or one.text_codes):
        raise _wrong_kind(one.name, "text", "numbers")
    bare = _bare(table.text(one.name))
    spelt = nw.when(~bare.is_in(["", *one.text_codes])).then(bare)
    # (Without nulls: with them, pandas holds true and false as objects, which "~" gets wrong.)
    plain = spelt.fill_null("0").str.contains(_PLAIN_NUMBER)
    refused.append(~plain)
    return nw.when(plain).then(spelt).cast(nw.Float64)


def _combined(how: str, a: nw.Expr, b: nw.Expr) -> nw.Expr:
    """Combine two numbers; null where one is."""
    if how == "sum":
        return a + b
    first = a >= b if how == "max" else a <= b
    larger = nw.when(first).then(a).otherwise(b)
    return nw.when(~(a.is_null() | b.is_null())).then(larger)


def _unit_code(x: nw.Expr, term: PerUnit, most: int) -> tuple[nw.Expr, list[nw.Expr]]:
    """Return the number of steps in a value, 0 where it is missing; and where that is too large."""
    refused = []
    steps = float(10**term.decimals)
    if term.lower is not None:
        x = nw.when(x < float(term.lower)).then(nw.lit(float(term.lower))).otherwise(x)
    if term.upper is not None:
        x = nw.when(x > float(term.upper)).then(nw.lit(float(term.upper))).otherwise(x)
    raised = x if term.decimals == 0 else x * steps
    if term.lower is None or term.upper is None:
        refused.append((raised > float(most)) | (raised < -float(most)))
        # What is refused need not be turned into an integer, where engines would fail.
        raised = nw.when((raised <= float(most)) & (raised >= -float(most))).then(raised)
    code = (raised + 0.5).floor().fill_null(0.0).cast(nw.Int64)
    return code, refused


# -- text, and anything ----------------------------------------------------------------------------


def _text_codes(table: EngineTable, column: ColumnLogic, terms: Sequence[Term]) -> ColumnCodes:
    one = column.inputs[0]
    kind = table.types[one.name]
    if kind == "text":
        x = table.text(one.name)
        missing = _blank(x, one)
        codes = {"", *one.text_codes}

        def spell(level: str) -> str | None:  # what is missing is no level
            return None if level in codes or level.strip() in codes else level

        states = states_of_text(x, missing, terms, one.fill, column.levels, spell)
    elif kind == "number":  # 7 is the level "7"
        x = table.number(one.name)
        numbers = [c if not isinstance(c, str) else _unspelt(c) for c in one.special]
        coded = [code for code in numbers if code is not None]
        missing = in_halves(operator.or_, [x.is_null(), *_codes_among(x, coded)])

        def unspelt(level: str) -> float | None:
            number = _unspelt(level)
            return None if number in coded else number

        states = states_of_text(x, missing, terms, one.fill, spell=unspelt)
    else:
        raise _wrong_kind(one.name, kind, "text")
    refused = [missing] if one.refuse or (one.fill is None and not column.may_miss) else []
    if table.dtypes[one.name].is_float():
        refused += [x == math.inf, x == -math.inf]
    return ColumnCodes(list(range(len(terms))), states, {}, refused)


def _blank(x: nw.Expr, one: InputColumn) -> nw.Expr:
    """Whether text is missing: null, blank, or a code, spaces around it aside."""
    missing = x.is_null() | _bare(x).is_in(["", *one.text_codes])
    padded = [code for code in one.text_codes if code != code.strip()]
    return missing | x.is_in(padded) if padded else missing


def _bare(x: nw.Expr) -> nw.Expr:
    """Remove white space around text: all that Python knows, not only what the engine does."""
    return x.str.strip_chars_start(_WHITE).str.strip_chars_end(_WHITE)


def _unspelt(level: str) -> float | None:
    """The number that is written like this; None if there is none."""
    number = plain_number(level)
    if number is None:
        return None
    spelt = str(int(number)) if number.is_integer() else repr(number)
    return number if spelt == level else None


def _absence(table: EngineTable, one: InputColumn) -> nw.Expr:
    """Whether a column of any type has no value."""
    kind = table.types[one.name]
    if kind == "text":
        missing = _blank(table.text(one.name), one)
        if one.text:  # "-9.0" is the code −9, too
            for code in _codes_among(_parsed(table, one, []), one.number_codes):
                missing = missing | nw.when(code).then(nw.lit(True)).otherwise(nw.lit(False))
        return missing
    if kind == "number":
        return _input_number(table, one).missing
    return table.column(one.name).is_null()


def _wrong_kind(name: str, kind: str, expected: str) -> InputError:
    held = {"boolean": "true and false", "other": "objects", "text": "text"}.get(kind, f"{kind}s")
    return InputError(
        f"column {name!r} holds {held}, but the card expects {expected}. Turn the column into "
        f"{expected} as it was in training."
    )


# -- the score and the risk of a card as expressions -----------------------------------------------

#: Tests that are made one by one.
_MOST_LISTED = 6


def score_of(card: Scorecard, table: EngineTable) -> nw.Expr:
    """Return the expression of a card's score; null where the card refuses a row."""
    logic = card._logic
    table.require(card.features)
    room = INT64 - 1 - logic.bounded_units
    if room < INT64 // 2:  # what is left for the others, and for differences of these
        raise InputError(
            "the rules of this card can bring more units than tables add up exactly "
            f"({INT64 // 2}). Clip columns at smaller numbers, or give the card smaller points."
        )
    share = room // max(1, len(logic.open_factors))
    codes = [codes_of_column(table, column, share) for column in logic.columns]
    factors = [[factor for _, factor in column.terms] for column in logic.columns]
    sums = [one.sums(own) for one, own in zip(codes, factors, strict=True)]
    largest = 2 * sum(max(map(abs, own), default=0) for own in sums)  # parts of sums, too
    largest += abs(logic.base)
    dtype: IntType = nw.Int16 if largest < 2**15 else nw.Int32 if largest < 2**31 else nw.Int64
    if any(one.units for one in codes):
        dtype = nw.Int64
    parts = [one.total(own, dtype) for one, own in zip(codes, factors, strict=True)]
    found = [part for part in parts if part is not None]
    if logic.base or not found:
        found.append(whole(logic.base, dtype))
    units = in_halves(operator.add, found)
    score = units if dtype is nw.Int64 else units.cast(nw.Int64)
    if logic.unit > 1:  # rounded down, also where an engine rounds towards zero
        unit = whole(logic.unit)
        near = score // unit
        score = nw.when(near * unit > score).then(near - whole(1)).otherwise(near)
    refused = [test for one in codes for test in one.refused]
    if len(refused) > _MOST_LISTED:
        refused = [in_halves(operator.or_, refused)]
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
