"""The steps of a card, or of a binner, as expressions that an engine computes.

The arithmetic is that of :mod:`netbenefit.export.logic`: what Python refuses with an error has no
score here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import narwhals as nw

from netbenefit.cards.card_steps import Input, Step
from netbenefit.cards.card_types import INT64
from netbenefit.cards.readings import plain_number
from netbenefit.cards.terms import PerUnit, Term, Value
from netbenefit.common.checks import InputError
from netbenefit.common.decimals import LARGEST_EXACT
from netbenefit.data.engine import EngineTable
from netbenefit.tables.engine_states import (
    LARGEST_LOG,
    IntType,
    States,
    added,
    states_of_flags,
    states_of_numbers,
    states_of_text,
    whole,
)

__all__ = ["StepCodes", "any_of", "largest_code", "step_codes"]

#: All white space, as ``str.strip`` takes it away.
_WHITE = "".join(chr(k) for k in range(0x3001) if chr(k).isspace())
#: Text that is plainly a number, as :func:`netbenefit.cards.readings.plain_number` has it.
_PLAIN_NUMBER = r"^[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]{1,3})?$"


class UnitCode(NamedTuple):
    """Points per unit: which term it is, and the expression of its code."""

    place: int
    code: nw.Expr


class StepCodes(NamedTuple):
    """What a step's terms make of rows.

    Attributes
    ----------
    places : list of int
        The terms that the states tell of.
    states : States
        Of conditions and logarithms.
    units : list of UnitCode
        Of the other terms.
    refused : list of expressions
        What must not hold of a row: it has no score then.
    """

    places: list[int]
    states: States
    units: list[UnitCode]
    refused: list[nw.Expr]

    def sums(self, factors: Sequence[int]) -> list[int]:
        """Return Σ factor · code of each state, factors being in the order of the terms."""
        own = [factors[place] for place in self.places]
        return [sum(f * c for f, c in zip(own, code, strict=True)) for code in self.states.codes]

    def total(self, factors: Sequence[int], dtype: IntType = nw.Int64) -> nw.Expr | None:
        """Return Σ factor · code of all terms; None where that is always 0."""
        sums = self.sums(factors)
        parts = [self.states.pick(sums, dtype)] if any(sums) else []
        parts += [unit.code * whole(factors[unit.place]) for unit in self.units]
        return added(parts) if parts else None


def any_of(tests: Sequence[nw.Expr]) -> nw.Expr | None:
    """Return whether one of some tests holds; None without any."""
    if not tests:
        return None
    middle = len(tests) // 2
    first, last = any_of(tests[:middle]), any_of(tests[middle + 1 :])
    both = tests[middle] if first is None else first | tests[middle]
    return both if last is None else both | last


def step_codes(table: EngineTable, step: Step, n_terms: int = 1) -> StepCodes:
    """Put a step in expressions; ``n_terms`` of all steps together add up to a score."""
    terms = [term for term, _ in step.terms]
    if step.kind == "text":
        return StepCodes(list(range(len(terms))), *_text_states(table, step, terms))
    if step.kind == "any":
        missing = _absence(table, step.inputs[0])
        refused = [] if step.may_miss else [missing]
        there = nw.when(~missing).then(nw.lit(1.0))
        states = states_of_numbers(there, [there.is_null()], terms, step.inputs[0].fill)
        return StepCodes(list(range(len(terms))), states, [], refused)
    single = step.inputs[0] if step.combine is None else None
    if single is not None and table.types[single.name] == "boolean" and not single.special:
        return _flag_codes(table, step, terms)
    units = [k for k, term in enumerate(terms) if isinstance(term, PerUnit) and not term.log]
    places = [k for k in range(len(terms)) if k not in units]
    number = _number(table, step)
    refused = number.refused
    if number.fill is None and not step.may_miss:
        refused.append(number.missing)
    if any(isinstance(term, PerUnit) and term.log and term.upper is None for term in terms):
        refused.append(~number.missing & (number.x > LARGEST_LOG))
    made = []
    for k in units:
        term = terms[k]
        assert isinstance(term, PerUnit)
        most = largest_code(step.terms[k][1], n_terms)
        code, large = _unit_code(number.filled(), term, most)
        made.append(UnitCode(k, code))
        refused += large
    asked = [terms[k] for k in places]
    states = states_of_numbers(
        number.x,
        number.tests,
        asked,
        number.fill,
        integers=number.integers,
    )
    return StepCodes(places, states, made, refused)


def _flag_codes(table: EngineTable, step: Step, terms: Sequence[Term]) -> StepCodes:
    one = step.inputs[0]
    x = table.column(one.name)
    needed = one.refuse or (one.fill is None and not step.may_miss)
    states = states_of_flags(x, terms, one.fill)
    return StepCodes(list(range(len(terms))), states, [], [x.is_null()] if needed else [])


# -- numbers ---------------------------------------------------------------------------------------


class _Number(NamedTuple):
    """A number that a step's terms see."""

    x: nw.Expr  #: where it is not missing
    tests: list[nw.Expr]  #: it is missing where one of these holds
    fill: float | int | None  #: what a missing one counts as
    refused: list[nw.Expr]
    integers: bool = False

    @property
    def missing(self) -> nw.Expr:
        """Whether it is missing."""
        found = any_of(self.tests)
        assert found is not None  # there is always null
        return found

    def filled(self) -> nw.Expr:
        """Return it as float64, null where it stays missing."""
        x = self.x.cast(nw.Float64) if self.integers else self.x
        there = nw.when(~self.missing).then(x)
        return there if self.fill is None else there.fill_null(float(self.fill))


def _number(table: EngineTable, step: Step) -> _Number:
    parts = [_input_number(table, one) for one in step.inputs]
    if step.combine is None:
        return parts[0]
    refused = [test for part in parts for test in part.refused]
    value = parts[0].filled()
    for part in parts[1:]:
        value = _combined(step.combine, value, part.filled())
    tests = [value.is_null(), *_codes_among(value, step.special)]
    return _Number(value, tests, _plain_fill(step.fill), refused)


def _input_number(table: EngineTable, one: Input) -> _Number:
    """Read a column of numbers, of booleans, or of text that stands for numbers."""
    kind = table.types[one.name]
    refused: list[nw.Expr] = []
    small = table.is_small(one.name)
    if kind == "text":
        x = _parsed(table, one, refused)
    elif kind == "number":
        x = table.column(one.name) if small else table.number(one.name, holes=False)
    elif kind == "boolean":
        x = table.number(one.name)
    else:
        raise _wrong_kind(one.name, kind, "numbers")
    tests = [x.is_null(), *_codes_among(x, one.special)]
    if table.has_nan(one.name):
        tests.insert(1, x.is_nan())
    if kind == "text" or table.has_nan(one.name):
        refused += [x == math.inf, x == -math.inf]
    number = _Number(x, tests, _plain_fill(one.fill), refused, small)
    if one.refuse:
        refused.append(number.missing)
    return number


def _plain_fill(fill: Value | None) -> float | int | None:
    return None if isinstance(fill, str) else fill


def _codes_among(x: nw.Expr, special: Sequence[Value]) -> list[nw.Expr]:
    """Say when a number is a special code."""
    # (Not by is_in, to which minus zero is another number than zero in Arrow.)
    return [x == float(code) for code in special if not isinstance(code, str)]


def _parsed(table: EngineTable, one: Input, refused: list[nw.Expr]) -> nw.Expr:
    words = [code for code in one.special if isinstance(code, str)]
    if not (one.text or words):
        raise _wrong_kind(one.name, "text", "numbers")
    bare = _bare(table.text(one.name))
    spelt = nw.when(~bare.is_in(["", *words])).then(bare)
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


def _text_states(
    table: EngineTable, step: Step, terms: Sequence[Term]
) -> tuple[States, list[UnitCode], list[nw.Expr]]:
    one = step.inputs[0]
    kind = table.types[one.name]
    if kind == "text":
        x = table.text(one.name)
        hole = _blank(x, one)
        codes = {"", *(code for code in one.special if isinstance(code, str))}

        def spell(level: str) -> str | None:  # what is missing is no level
            return None if level in codes or level.strip() in codes else level

        states = states_of_text(x, hole, terms, one.fill, step.levels, spell)
    elif kind == "number":  # 7 is the level "7"
        x = table.number(one.name)
        numbers = [c if not isinstance(c, str) else _unspelt(c) for c in one.special]
        coded = [code for code in numbers if code is not None]
        hole = x.is_null()
        for test in _codes_among(x, coded):
            hole = hole | test

        def unspelt(level: str) -> float | None:
            number = _unspelt(level)
            return None if number in coded else number

        states = states_of_text(x, hole, terms, one.fill, spell=unspelt)
    else:
        raise _wrong_kind(one.name, kind, "text")
    refused = [hole] if one.refuse or (one.fill is None and not step.may_miss) else []
    if kind == "number" and table.has_nan(one.name):
        refused += [x == math.inf, x == -math.inf]
    return states, [], refused


def _blank(x: nw.Expr, one: Input) -> nw.Expr:
    """Whether text is missing: null, blank, or a code, spaces around it aside."""
    codes = [code for code in one.special if isinstance(code, str)]
    hole = x.is_null() | _bare(x).is_in(["", *codes])
    padded = [code for code in codes if code != code.strip()]
    return hole | x.is_in(padded) if padded else hole


def _bare(x: nw.Expr) -> nw.Expr:
    """Take away white space around text: all that Python knows, not only what the engine does."""
    return x.str.strip_chars_start(_WHITE).str.strip_chars_end(_WHITE)


def _unspelt(level: str) -> float | None:
    """The number that is written like this; None if there is none."""
    number = plain_number(level)
    if number is None:
        return None
    spelt = str(int(number)) if number.is_integer() else repr(number)
    return number if spelt == level else None


def _absence(table: EngineTable, one: Input) -> nw.Expr:
    """Whether a column of any type has no value."""
    kind = table.types[one.name]
    if kind == "text":
        hole = _blank(table.text(one.name), one)
        if one.text:  # "-9.0" is the code −9, too
            for code in _codes_among(_parsed(table, one, []), one.special):
                hole = hole | nw.when(code).then(nw.lit(True)).otherwise(nw.lit(False))
        return hole
    if kind == "number":
        return _input_number(table, one).missing
    return table.column(one.name).is_null()


_HELD = {
    "number": "numbers",
    "boolean": "true and false",
    "text": "text",
    "date": "dates",
    "other": "objects",
}


def _wrong_kind(name: str, kind: str, wanted: str) -> InputError:
    held = {"boolean": "true and false", "other": "objects"}.get(
        kind, f"{kind}s".replace("texts", "text")
    )
    return InputError(
        f"column {name!r} holds {held}, but the card expects {wanted}. Turn the column into "
        f"{wanted} as it was in training."
    )


def largest_code(factor: int, n_terms: int) -> int:
    """Return the largest code of points per unit of which the score surely fits into 64 bits.

    >>> largest_code(2, 5) == LARGEST_EXACT, largest_code(10**10, 5) < LARGEST_EXACT
    (True, True)
    """
    return min(LARGEST_EXACT, INT64 // (n_terms + 1) // max(1, abs(factor)))
