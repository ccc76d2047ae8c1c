"""The steps of a card, or of a binner, as expressions that an engine computes.

The arithmetic is that of :mod:`netbenefit.export.base`: what Python refuses with an error has no
score here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import narwhals as nw

from netbenefit._card_steps import Input, Step
from netbenefit._card_types import INT64
from netbenefit._engine import EngineTable
from netbenefit._engine_states import LARGEST_LOG, States, states_of_numbers, states_of_text, whole
from netbenefit._steps import LARGEST_EXACT
from netbenefit._validation import InputError
from netbenefit.conditions import PerUnit, Term, Value
from netbenefit.readings import plain_number

__all__ = ["StepCodes", "any_of", "largest_code", "step_codes", "step_number", "sum_of"]

_LARGEST = sys.float_info.max
#: All white space, as ``str.strip`` takes it away.
_WHITE = "".join(chr(k) for k in range(0x3001) if chr(k).isspace())
#: Text that is plainly a number, as :func:`netbenefit.readings.plain_number` has it.
_PLAIN_NUMBER = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,3})?$"


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

    def total(self, factors: Sequence[int]) -> nw.Expr:
        """Return Σ factor · code of all terms, factors being in their order."""
        own = [factors[place] for place in self.places]
        sums = [sum(f * c for f, c in zip(own, code, strict=True)) for code in self.states.codes]
        parts = [] if len(set(sums)) == 1 and not sums[0] else [self.states.pick(sums)]
        parts += [unit.code * whole(factors[unit.place]) for unit in self.units]
        return sum_of(parts)


def sum_of(parts: Sequence[nw.Expr]) -> nw.Expr:
    """Add up whole numbers; by halves, as libraries walk through expressions by recursion."""
    if len(parts) < 2:
        return parts[0] if parts else whole(0)
    middle = len(parts) // 2
    return sum_of(parts[:middle]) + sum_of(parts[middle:])


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
    units = [k for k, term in enumerate(terms) if isinstance(term, PerUnit) and not term.log]
    places = [k for k in range(len(terms)) if k not in units]
    asked = [terms[k] for k in places]
    if step.kind == "text":
        return StepCodes(places, *_text_states(table, step, asked))
    if step.kind == "any":
        x = _presence(table, step.inputs[0])
        refused = [] if step.may_miss else [x.is_null()]
        return StepCodes(places, states_of_numbers(x, asked, step.inputs[0].fill), [], refused)
    x, fill, refused = _number(table, step)
    if fill is None and not step.may_miss:
        refused.append(x.is_null())
    if any(isinstance(term, PerUnit) and term.log and term.upper is None for term in terms):
        refused.append(x > LARGEST_LOG)
    made = []
    for k in units:
        term = terms[k]
        assert isinstance(term, PerUnit)
        most = largest_code(step.terms[k][1], n_terms)
        code, large = _unit_code(x if fill is None else x.fill_null(float(fill)), term, most)
        made.append(UnitCode(k, code))
        refused += large
    return StepCodes(places, states_of_numbers(x, asked, fill), made, refused)


def step_number(table: EngineTable, step: Step) -> nw.Expr:
    """Return the number that a step's terms see before anything is filled in; null if missing."""
    return _number(table, step)[0]


# -- numbers ---------------------------------------------------------------------------------------


def _number(table: EngineTable, step: Step) -> tuple[nw.Expr, Value | None, list[nw.Expr]]:
    """A step's number (null where missing), what a missing one counts as, and what is refused."""
    refused: list[nw.Expr] = []
    parts = []
    for one in step.inputs:
        x = _input_number(table, one, refused)
        if not table.is_whole(one.name):
            refused.append((x > _LARGEST) | (x < -_LARGEST))
        if one.refuse:
            refused.append(x.is_null())
        parts.append(x)
    if step.combine is None:
        fill = step.inputs[0].fill
        return parts[0], None if isinstance(fill, str) else fill, refused
    filled = [
        x if one.fill is None else x.fill_null(float(one.fill))
        for x, one in zip(parts, step.inputs, strict=True)
    ]
    value = filled[0]
    for part in filled[1:]:
        value = _combined(step.combine, value, part)
    return _without(value, step.special), step.fill, refused


def _combined(how: str, a: nw.Expr, b: nw.Expr) -> nw.Expr:
    """Combine two numbers; null where one is."""
    if how == "sum":
        return a + b
    first = a >= b if how == "max" else a <= b
    larger = nw.when(first).then(a).otherwise(b)
    return nw.when(~(a.is_null() | b.is_null())).then(larger)


def _input_number(table: EngineTable, one: Input, refused: list[nw.Expr]) -> nw.Expr:
    kind = table.types[one.name]
    if kind in ("number", "boolean"):
        return _without(table.number(one.name), one.special)
    words = [code for code in one.special if isinstance(code, str)]
    if kind != "text" or not (one.text or words):
        raise _wrong_kind(one.name, kind, "numbers")
    bare = _bare(table.text(one.name))
    spelt = nw.when(~bare.is_in(["", *words])).then(bare)
    # (Without nulls: with them, pandas holds true and false as objects, which "~" gets wrong.)
    plain = spelt.fill_null("0").str.contains(_PLAIN_NUMBER)
    refused.append(~plain)
    return _without(nw.when(plain).then(spelt).cast(nw.Float64), one.special)


def _without(x: nw.Expr, special: Sequence[Value]) -> nw.Expr:
    # (Not by is_in, to which minus zero is another number than zero in Arrow.)
    coded = any_of([x == float(code) for code in special if not isinstance(code, str)])
    return x if coded is None else nw.when(~coded).then(x)


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
        states = states_of_text(x, _blank(x, one), terms, one.fill)
        hole = _blank(x, one)
    elif kind == "number":  # 7 is the level "7"
        x = table.number(one.name)
        codes = [c if not isinstance(c, str) else _unspelt(c) for c in one.special]
        x = _without(x, [code for code in codes if code is not None])
        hole = x.is_null()
        states = states_of_text(x, hole, terms, one.fill, _unspelt)
    else:
        raise _wrong_kind(one.name, kind, "text")
    refused = [hole] if one.refuse or (one.fill is None and not step.may_miss) else []
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


def _presence(table: EngineTable, one: Input) -> nw.Expr:
    """1 where a column has a value, null where it is missing."""
    kind = table.types[one.name]
    if kind == "text":
        x = table.text(one.name)
        here = ~_blank(x, one)
    elif kind in ("number", "boolean"):
        here = ~_without(table.number(one.name), one.special).is_null()
    else:
        here = ~table.column(one.name).is_null()
    return nw.when(here).then(nw.lit(1.0))


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
