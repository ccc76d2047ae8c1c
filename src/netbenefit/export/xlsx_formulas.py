"""A card as spreadsheet formulas: one for each value that is read, one for each rule.

Names and levels never stand in a formula: all that a card compares with stands in cells of its
own, to which formulas refer.  So nothing has to be quoted, no text is too long, and no name can
become code.

In a formula template ``{row}`` is the row of the sheet "Steps" and ``{cell[k]}`` the cell of raw
input k.  A value that is missing is empty text; one that gives the row no score is ``#N/A``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from netbenefit.cards.terms import Condition, PerUnit, Term, Value
from netbenefit.common.checks import InputError
from netbenefit.export.logic import Input, Logic, Step, log_ends, unit_ends

__all__ = ["LONGEST_TEXT", "LOWEST", "Column", "Constants", "columns_of", "letters", "score_of"]

#: Characters that a cell holds.
LONGEST_TEXT = 32767
#: Numbers beyond are none to a spreadsheet.
LOWEST = -9.9e307
#: Sums of units up to here are exact in spite of 15 digits, and their floors right.
_MOST_UNITS = "1E13"
#: A function takes 255 arguments.
_MOST_ARGUMENTS = 200
_NO_BREAK_SPACE = "\u00a0"
_COMPARE = {">=": ">=", ">": ">", "<=": "<=", "<": "<", "==": "=", "!=": "<>"}


class Column(NamedTuple):
    """One column of the sheet "Steps"."""

    title: str
    formula: str  #: a template
    counts: bool  #: whether it holds units of the score


@dataclass
class Constants:
    """What formulas compare with, one below the other in column A of the sheet "Values".

    Examples
    --------
    >>> values = Constants()
    >>> values.cell(18.5), values.span(["I", "II"]), values.cell(18.5)
    ('Values!$A$1', 'Values!$A$2:$A$3', 'Values!$A$1')
    """

    values: list[Value] = field(default_factory=list)
    _places: dict[tuple[tuple[type, Value], ...], int] = field(default_factory=dict)

    def cell(self, value: Value) -> str:
        """Return where one value stands."""
        return f"Values!$A${self._place([value]) + 1}"

    def span(self, values: Sequence[Value]) -> str:
        """Return where some values stand, one below the other."""
        start = self._place(values)
        return f"Values!$A${start + 1}:$A${start + len(values)}"

    def _place(self, values: Sequence[Value]) -> int:
        for value in values:
            if isinstance(value, str) and len(value.encode("utf-16-le")) // 2 > LONGEST_TEXT:
                raise InputError(
                    f"the level {value[:30]!r}… has more than {LONGEST_TEXT} characters, the most "
                    "that a cell of a workbook holds. Shorten it before fitting the card."
                )
        key = tuple((type(value), value) for value in values)
        if key not in self._places:
            self._places[key] = len(self.values)
            self.values += values
        return self._places[key]


def letters(column: int) -> str:
    """Return the letters of a column, counted from 0.

    >>> letters(0), letters(25), letters(26), letters(701), letters(702)
    ('A', 'Z', 'AA', 'ZZ', 'AAA')
    """
    text, rest = "", column + 1
    while rest:
        rest, digit = divmod(rest - 1, 26)
        text = chr(ord("A") + digit) + text
    return text


def columns_of(logic: Logic, constants: Constants) -> list[Column]:
    """Return the columns of the sheet "Steps": first all readings, then the units of all rules."""
    place = {one.name: k for k, one in enumerate(logic.inputs)}
    readings: list[Column] = []
    read: dict[Input, str] = {}
    units: list[Column] = []

    def add(title: str, formula: str) -> str:
        readings.append(Column(title, formula, False))
        return f"{letters(len(readings) - 1)}{{row}}"

    for step in logic.steps:
        for one in step.inputs:
            if one not in read:
                formula = _read(one, f"{{cell[{place[one.name]}]}}", constants)
                read[one] = add(f"{one.name}: as read", formula)
        value = read[step.inputs[0]]
        if step.combine is not None:
            value = add(step.name, _combined(step, [read[one] for one in step.inputs]))
            if step.special or step.fill is not None:
                value = add(f"{step.name}: as read", _reread(step, value, constants))
        units += _units(step, value, constants)
    return readings + units


def score_of(logic: Logic, units: str, entered: str, n_units: int) -> str:
    """Return the formula of the score, from the ranges of units and of what was entered."""
    if not n_units:
        return "=0"
    total = f"SUM({units})"
    if logic.unit > 1:  # the half keeps a whole result away from the edge that INT rounds at
        total = f"INT(({total}+0.5)/{logic.unit})"
    return (
        f'=IF(COUNTA({entered})=0,"",IF(COUNT({units})<{n_units},"",'
        f'IF(SUMPRODUCT(ABS({units}))>{_MOST_UNITS},"",{total})))'
    )


# -- reading ---------------------------------------------------------------------------------------


def _read(one: Input, cell: str, constants: Constants) -> str:
    hole = _hole(one.fill, one.refuse, constants)
    numbers = [code for code in one.special if not isinstance(code, str)]
    texts = [code for code in one.special if isinstance(code, str)]
    blank = f"LEN({_stripped(cell, constants)})=0"
    coded = _any([blank, *_text_codes(cell, texts, constants)])
    if one.kind == "number":
        present = f"N({cell})"
        if numbers:
            found = _number_code(present, numbers, constants)
            present = f"IF({found},{hole},{present})"
        is_number = f"OR(ISNUMBER({cell}),ISLOGICAL({cell}))"  # booleans are 1 and 0
        return f"=IF({is_number},{present},IF({coded},{hole},NA()))"
    if numbers:
        coded = f"IF(ISNUMBER({cell}),{_number_code(cell, numbers, constants)},{coded})"
    if one.kind == "any":
        return f"=IF({coded},{hole},1)"
    return f"=IF(ISLOGICAL({cell}),NA(),IF({coded},{hole},{_as_text(cell)}))"


def _hole(fill: Value | None, refuse: bool, constants: Constants) -> str:
    if refuse:
        return "NA()"
    return '""' if fill is None else constants.cell(fill)


def _stripped(text: str, constants: Constants) -> str:
    space = constants.cell(_NO_BREAK_SPACE)
    for blank in ("CHAR(9)", "CHAR(10)", "CHAR(13)", space):
        text = f'SUBSTITUTE({text},{blank}," ")'
    return f"TRIM({text})"


def _text_codes(cell: str, codes: Sequence[str], constants: Constants) -> list[str]:
    """Ask whether a cell holds one of some codes, blanks around it aside."""
    found = []
    bare = [code for code in codes if code and code == code.strip()]
    others = [code for code in codes if code.strip() and code != code.strip()]
    if bare:  # with the code taken out nothing is left; TRIM alone would also change its inside
        span = constants.span(bare)
        rest = _stripped(f'SUBSTITUTE({cell},{span},"",1)', constants)
        found.append(f"SUMPRODUCT(ISNUMBER(FIND({span},{cell}))*(LEN({rest})=0))>0")
    if others:
        found.append(f"SUMPRODUCT(--EXACT({cell},{constants.span(others)}))>0")
    return found


def _number_code(value: str, codes: Sequence[Value], constants: Constants) -> str:
    if len(codes) == 1:
        return f"{value}={constants.cell(codes[0])}"
    return f"ISNUMBER(MATCH({value},{constants.span(codes)},0))"


def _as_text(cell: str) -> str:
    """Read a level; a number as it is written, with a point, where all programs write it alike."""
    odd = f"AND({cell}<>0,OR(ABS({cell})<0.0001,ABS({cell})>=1E15))"
    number = f'IF({odd},NA(),SUBSTITUTE({cell}&"",",","."))'
    return f'IF(ISNUMBER({cell}),{number},{cell}&"")'


def _any(questions: Sequence[str]) -> str:
    return questions[0] if len(questions) == 1 else f"OR({','.join(questions)})"


def _combined(step: Step, parts: Sequence[str]) -> str:
    missing = _many("OR", [f'{part}=""' for part in parts])
    function = {"sum": "SUM", "max": "MAX", "min": "MIN"}[str(step.combine)]
    return f'=IF({missing},"",{_many(function, parts)})'


def _many(function: str, arguments: Sequence[str]) -> str:
    """Call a function that takes any number of arguments, in groups where there are many.

    >>> _many("SUM", ["A1", "B1"])
    'SUM(A1,B1)'
    """
    calls = list(arguments)
    while len(calls) > _MOST_ARGUMENTS:
        groups = range(0, len(calls), _MOST_ARGUMENTS)
        calls = [f"{function}({','.join(calls[k : k + _MOST_ARGUMENTS])})" for k in groups]
    return f"{function}({','.join(calls)})"


def _reread(step: Step, value: str, constants: Constants) -> str:
    questions = [f'{value}=""']
    numbers = [code for code in step.special if not isinstance(code, str)]
    if numbers:
        questions.append(_number_code(value, numbers, constants))
    return f"=IF({_any(questions)},{_hole(step.fill, False, constants)},{value})"


# -- points ----------------------------------------------------------------------------------------


def _units(step: Step, value: str, constants: Constants) -> list[Column]:
    missing = "0" if step.may_miss else "NA()"
    found = []
    for term, factor in step.terms:
        if term.kind == "any":
            formula = f'=IF({value}="",{factor},0)'
        else:
            present = _term(term, factor, value, constants)
            formula = f'=IF({value}="",{missing},{present})'
        found.append(Column(term.text(), formula, True))
    if not found:  # no points, but a row may have no score because of it
        found.append(Column(f"{step.name}: no points", f'=IF({value}="",{missing},0)', True))
    return found


def _term(term: Term, factor: int, value: str, constants: Constants) -> str:
    if isinstance(term, PerUnit):
        return _per_unit(term, factor, value, constants)
    return f"IF({_holds(term, value, constants)},{factor},0)"


def _holds(term: Condition, value: str, constants: Constants) -> str:
    text = term.kind == "text"
    if isinstance(term.value, tuple):
        if term.op == "between":
            low, high = map(constants.cell, term.value)
            return f"AND({value}>={low},{value}<{high})"
        span = constants.span(term.value)
        among = (
            f"SUMPRODUCT(--EXACT({value},{span}))>0"
            if text
            else f"ISNUMBER(MATCH({value},{span},0))"
        )
        return among if term.op == "in" else f"NOT({among})"
    assert term.value is not None  # "missing" is for the caller
    wanted = constants.cell(term.value)
    if text:
        same = f"EXACT({value},{wanted})"
        return same if term.op == "==" else f"NOT({same})"
    return f"{value}{_COMPARE[term.op]}{wanted}"


def _per_unit(term: PerUnit, factor: int, value: str, constants: Constants) -> str:
    low, high = unit_ends(term)
    clipped = value
    if high is not None:
        clipped = f"MIN({constants.cell(high)},{clipped})"
    if low is not None:
        clipped = f"MAX({constants.cell(low)},{clipped})"
    if term.log:
        last = -LOWEST if high is None else max(high, 0.0)
        ends = [0.0, *(end for end in log_ends(term.decimals).tolist() if end <= last)]
        return f"{factor}*(MATCH({clipped},{constants.span(ends)},1)-1)"
    steps = 10**term.decimals
    code = f"{factor}*INT({clipped}*{steps}+0.5)"
    if low is not None and high is not None:
        return code
    return f"IF(ABS({clipped}*{steps})>{_MOST_UNITS},NA(),{code})"
