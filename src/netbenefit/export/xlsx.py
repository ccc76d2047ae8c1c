"""A card as an Excel workbook, with live formulas that Excel and LibreOffice both understand.

Sheets: "Card" is the printed card; "Calculator" scores one person; "Rows" scores pasted rows.  Two
hidden sheets do the work: "Steps" has one column for each value as it is read and for each rule,
"Values" all that these compare with.

Where a workbook differs from Python:

1. Spreadsheets take numbers for equal that differ only in the 15th digit or later (Excel's MATCH
   does not).  So a calculated value that is nearer to a cut than 1e-14 of its size may fall on the
   other side of it; likewise for points per unit, where x · 10^d + ½ is that near to an integer.
2. A row in which nothing is entered has no score.
3. Text that looks like a number is no number: the row has no score.  A number in a column of text
   levels is read as it is written (7 is the level "7").
4. Blank text means spaces, no-break spaces, tabs and line breaks.
5. There are no scores beyond 10^13 units (points, or the decimal steps of one): sums of that size
   are not exact.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from netbenefit.cards import (
    CardLogic,
    ColumnLogic,
    Condition,
    Contents,
    InputColumn,
    Labels,
    PerUnit,
    RiskRow,
    Scorecard,
    check_card,
    join_words,
    log_ends,
    named,
    strip_control,
    value_text,
)
from netbenefit.common import InputError, Value, install_command, write_bytes
from netbenefit.export.scaling import Scaling, scaled_contents

# -- a card as spreadsheet formulas: one for each value that is read, one for each rule ------------
# Names and levels are never part of a formula: formulas refer to cells that hold them.  So nothing
# has to be quoted, no text is too long, and no name can become code.
# In a formula template ``{row}`` is the row of the sheet "Steps" and ``{cell[k]}`` the cell of raw
# input k.  A value that is missing is empty text; one that gives the row no score is ``#N/A``.


#: Characters that a cell holds.
LONGEST_TEXT = 32767
#: A number that every score reaches; spreadsheets have no numbers far beyond it.
LOWEST = -9.9e307
#: Sums of units up to here are exact in spite of 15 digits, and their floors right.
_MOST_UNITS = "1E13"
#: A function takes 255 arguments.
_MOST_ARGUMENTS = 200
_NO_BREAK_SPACE = "\u00a0"
_COMPARE = {"==": "=", "!=": "<>"}


#: A column of the sheet "Steps": title and formula, a template.
Column = tuple[str, str]


@dataclass
class Constants:
    """What formulas compare with, one value per row in column A of the sheet "Values"."""

    values: list[Value] = field(default_factory=list)
    _places: dict[tuple[tuple[type, Value], ...], int] = field(default_factory=dict)

    def cell(self, value: Value) -> str:
        """Return where one value stands."""
        return f"Values!$A${self._place([value]) + 1}"

    def span(self, values: Sequence[Value]) -> str:
        """Return the range of some values, one below the other."""
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
    """Return the letters of a column, counted from 0."""
    return str(import_module("xlsxwriter.utility").xl_col_to_name(column))


def columns_of(logic: CardLogic, constants: Constants) -> tuple[list[Column], list[Column]]:
    """Return the columns of the sheet "Steps": values as they are read, and units of all rules."""
    place = {one.name: k for k, one in enumerate(logic.inputs)}
    readings: list[Column] = []
    read: dict[InputColumn, str] = {}
    units: list[Column] = []

    def add(title: str, formula: str) -> str:
        readings.append((title, formula))
        return f"{letters(len(readings) - 1)}{{row}}"

    for column in logic.columns:
        for one in column.inputs:
            if one not in read:
                formula = _read(one, f"{{cell[{place[one.name]}]}}", constants)
                read[one] = add(f"{one.name}: as read", formula)
        value = read[column.inputs[0]]
        if column.combine is not None:
            value = add(column.name, _combined(column, [read[one] for one in column.inputs]))
            if column.special or column.fill is not None:
                value = add(f"{column.name}: as read", _reread(column, value, constants))
        units += _units(column, value, constants)
    return readings, units


# -- reading ---------------------------------------------------------------------------------------


def _read(one: InputColumn, cell: str, constants: Constants) -> str:
    missing = "NA()" if one.refuse else _missing(one.fill, constants)
    numbers = one.number_codes
    blank = f"LEN({_stripped(cell, constants)})=0"
    coded = _any([blank, *_text_codes(cell, one.text_codes, constants)])
    if one.kind == "number":
        present = f"N({cell})"
        if numbers:
            found = _number_code(present, numbers, constants)
            present = f"IF({found},{missing},{present})"
        is_number = f"OR(ISNUMBER({cell}),ISLOGICAL({cell}))"  # booleans are 1 and 0
        return f"=IF({is_number},{present},IF({coded},{missing},NA()))"
    if numbers:
        coded = f"IF(ISNUMBER({cell}),{_number_code(cell, numbers, constants)},{coded})"
    if one.kind == "any":
        return f"=IF({coded},{missing},1)"
    return f"=IF(ISLOGICAL({cell}),NA(),IF({coded},{missing},{_as_text(cell)}))"


def _missing(fill: Value | None, constants: Constants) -> str:
    return '""' if fill is None else constants.cell(fill)


def _stripped(text: str, constants: Constants) -> str:
    space = constants.cell(_NO_BREAK_SPACE)
    for blank in ("CHAR(9)", "CHAR(10)", "CHAR(13)", space):
        text = f'SUBSTITUTE({text},{blank}," ")'
    return f"TRIM({text})"


def _text_codes(cell: str, codes: Sequence[str], constants: Constants) -> list[str]:
    """Test whether a cell holds one of some codes, ignoring blanks around it."""
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


def _any(tests: Sequence[str]) -> str:
    return tests[0] if len(tests) == 1 else f"OR({','.join(tests)})"


def _combined(column: ColumnLogic, parts: Sequence[str]) -> str:
    missing = _many("OR", [f'{part}=""' for part in parts])
    return f'=IF({missing},"",{_many(str(column.combine).upper(), parts)})'


def _many(function: str, arguments: Sequence[str]) -> str:
    """Call a function that takes any number of arguments, in groups where there are many."""
    calls = list(arguments)
    while len(calls) > _MOST_ARGUMENTS:
        groups = range(0, len(calls), _MOST_ARGUMENTS)
        calls = [f"{function}({','.join(calls[k : k + _MOST_ARGUMENTS])})" for k in groups]
    return f"{function}({','.join(calls)})"


def _reread(column: ColumnLogic, value: str, constants: Constants) -> str:
    tests = [f'{value}=""']
    if column.number_codes:
        tests.append(_number_code(value, column.number_codes, constants))
    return f"=IF({_any(tests)},{_missing(column.fill, constants)},{value})"


# -- points ----------------------------------------------------------------------------------------


def _units(column: ColumnLogic, value: str, constants: Constants) -> list[Column]:
    missing = "0" if column.may_miss else "NA()"
    found = []
    for term, factor in column.terms:
        if term.kind == "any":
            formula = f'=IF({value}="",{factor},0)'
        else:
            if isinstance(term, PerUnit):
                present = _per_unit(term, factor, value, constants)
            else:
                present = f"IF({_holds(term, value, constants)},{factor},0)"
            formula = f'=IF({value}="",{missing},{present})'
        found.append((term.text(), formula))
    if not found:  # no points, but a row may have no score because of it
        found.append((f"{column.name}: no points", f'=IF({value}="",{missing},0)'))
    if column.base:
        found.append((f"{column.name}: every answer", f"={column.base}"))
    return found


def _holds(term: Condition, value: str, constants: Constants) -> str:
    text = term.kind == "text"
    if term.op == "between":
        low, high = map(constants.cell, term.values)
        return f"AND({value}>={low},{value}<{high})"
    if term.op in ("in", "not in"):
        span = constants.span(term.values)
        among = f"ISNUMBER(MATCH({value},{span},0))"
        if text:
            among = f"SUMPRODUCT(--EXACT({value},{span}))>0"
        return among if term.op == "in" else f"NOT({among})"
    other = constants.cell(term.values[0])
    if text:
        same = f"EXACT({value},{other})"
        return same if term.op == "==" else f"NOT({same})"
    return f"{value}{_COMPARE.get(term.op, term.op)}{other}"


def _per_unit(term: PerUnit, factor: int, value: str, constants: Constants) -> str:
    low, high = term.ends
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


_MOST_COLUMNS = 16_384
_MOST_ROWS = 1_048_576 - 2  # one for the heading, one of "Steps" for the calculator
#: First line of the calculator that takes a value.
_FIRST = 3


def to_xlsx(
    card: Scorecard,
    path: str | os.PathLike[str],
    *,
    rows: int = 1000,
    scaling: Scaling | None = None,
) -> None:
    """Write a card as a workbook; a file that is there is replaced at once or stays as it was.

    Needs XlsxWriter: ``pip install 'netbenefit[xlsx]'``.

    Parameters
    ----------
    card : Scorecard
    path : path
        Where to write it, such as "card.xlsx".
    rows : int, default=1000
        For how many rows the sheet "Rows" has formulas.
    scaling : Scaling, optional
        Adds the scaled score below the risk, and as a last column of "Rows".

    Examples
    --------
    >>> import tempfile
    >>> from netbenefit import Condition, Rule, Thresholds
    >>> card = Scorecard([Rule(Condition("age", ">=", 52), 2)], [(0, 0.1), (1, 0.6)],
    ...     Thresholds.of([0.5]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_xlsx(card, f"{folder}/card.xlsx", rows=10)
    ...     os.listdir(folder)
    ['card.xlsx']
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= _MOST_ROWS:
        raise InputError(f"rows={rows!r} must be an integer from 1 to {_MOST_ROWS}.")
    write_bytes(path, workbook_bytes(card, rows, scaling=scaling))


class _Exact(float):
    """A number that is written with as many digits as it needs: XlsxWriter stops at 16."""

    def __format__(self, spec: str) -> str:
        return repr(float(self))


class _Book(NamedTuple):
    """All that the sheets are written from."""

    logic: CardLogic
    risks: tuple[RiskRow, ...]
    printed: Contents
    labels: Labels
    constants: Constants
    readings: list[Column]
    units: list[Column]
    rows: int
    formats: dict[str, Any]
    scaling: Scaling | None


def workbook_bytes(
    card: Scorecard,
    rows: int,
    entries: Sequence[Mapping[str, Value | None]] = (),
    scaling: Scaling | None = None,
) -> bytes:
    """Return the workbook; ``entries`` fill "Rows", and the first of them also "Calculator"."""
    try:
        xlsxwriter = import_module("xlsxwriter")
    except ImportError:
        raise InputError(
            f"writing a workbook needs XlsxWriter. Install it with `{install_command('xlsx')}`."
        ) from None
    logic, constants = check_card(card)._logic, Constants()
    readings, units = columns_of(logic, constants)
    n_steps = len(readings) + len(units)
    if max(n_steps, len(logic.inputs) + 2) > _MOST_COLUMNS:
        raise InputError(
            f"the card needs {n_steps} columns, but a sheet has {_MOST_COLUMNS}. Export a card "
            "with fewer rules."
        )
    stream = io.BytesIO()
    file = xlsxwriter.Workbook(stream, {"in_memory": True})
    printed = scaled_contents(card, scaling)
    looks = _formats(file, printed)
    risks = card._risk_rows
    book = _Book(
        logic, risks, printed, card.labels, constants, readings, units, rows, looks, scaling
    )
    sheets = {name: file.add_worksheet(name) for name in ("Card", "Calculator", "Rows")}
    for name in ("Steps", "Values"):
        sheets[name] = file.add_worksheet(name)
        sheets[name].hide()
    _write_card(book, sheets["Card"])
    _write_calculator(book, sheets["Calculator"], entries[0] if entries else {})
    _write_rows(book, sheets["Rows"], entries)
    _write_steps(book, sheets["Steps"])
    for k, value in enumerate(constants.values):  # last: the other sheets add to them
        _put(sheets["Values"], k, 0, value)
    file.close()
    return stream.getvalue()


def _formats(file: Any, printed: Contents) -> dict[str, Any]:
    shares = [share.strip("<>%").partition(".")[2] for _, share in printed.table]
    most = max(len(digits) for digits in shares)
    if any(share[0] in "<>" for _, share in printed.table):
        most = 5  # "<0.1%" says more than 0.0% does
    percent = f"0.{'0' * max(most, 1)}%"
    kinds: dict[str, dict[str, Any]] = {
        "title": {"bold": True, "font_size": 14},
        "head": {"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"},
        "head right": {"bold": True, "bottom": 1, "align": "right", "valign": "top"},
        "score": {"bold": True, "top": 1},
        "score right": {"bold": True, "top": 1, "align": "right"},
        "wrap": {"text_wrap": True, "valign": "top"},
        "right": {"align": "right", "valign": "top"},
        "asked": {"bold": True, "text_wrap": True, "valign": "top"},
        "asked first": {"bold": True, "text_wrap": True, "valign": "top", "top": 4},
        "wrap first": {"text_wrap": True, "valign": "top", "top": 4},
        "right first": {"align": "right", "valign": "top", "top": 4},
        "small": {"font_size": 9, "text_wrap": True, "valign": "top"},
        "text": {"num_format": "@"},  # what is entered stays text: 007, 1-2, =1+1
        "enter": {"border": 1, "bg_color": "#FFF9E5"},
        "enter text": {"border": 1, "bg_color": "#FFF9E5", "num_format": "@"},
        "result": {"bold": True, "border": 1},
        "risk": {"num_format": percent},
        "result risk": {"bold": True, "border": 1, "num_format": percent},
    }
    return {name: file.add_format(kind) for name, kind in kinds.items()}


def _put(sheet: Any, row: int, column: int, value: Value | None, look: Any = None) -> None:
    """Write a value as what it is: text never becomes a formula, a link or a number."""
    if value is None:
        sheet.write_blank(row, column, None, look)
    elif isinstance(value, str):
        sheet.write_string(row, column, value, look)
    else:
        sheet.write_number(row, column, _Exact(value), look)


# -- sheets ----------------------------------------------------------------------------------------


def _write_card(book: _Book, sheet: Any) -> None:
    printed, looks = book.printed, book.formats
    for column, width in enumerate((44, 36, 14, 10)):
        sheet.set_column(column, column, width)
    sheet.fit_to_pages(1, 0)
    lines: list[list[tuple[str, str]]] = [[(printed.title, "title")], [(printed.asked, "")], []]
    if printed.questions:
        head = [("Question", "head"), ("Answer", "head"), ("Points", "head right")]
        lines.append([*head, ("Yours", "head right")])
    for name, answers in printed.questions:
        for i, (words, points) in enumerate(answers):
            parts = [("" if i else name, "asked"), (words, "wrap"), (points, "right")]
            rule = "" if i else " first"
            ends = [*parts, ("" if i else "_____", "right")]
            lines.append([(text, kind + rule) for text, kind in ends])
    lines.append([("", "score"), ("", "score"), (printed.score, "score right")])
    lines[-1].append(("= _____", "score right"))
    lines += [[], [("SCORE", "head"), ("RISK", "head")]]
    lines += [[(scores, "wrap"), (risk, "wrap")] for scores, risk in printed.table]
    lines += [[], *([(line, "small")] for line in (*printed.notes, printed.footer) if line)]
    for row, cells in enumerate(lines):
        for column, (text, kind) in enumerate(cells):
            if text or kind:
                _put(sheet, row, column, text or None, looks.get(kind))


def _write_calculator(book: _Book, sheet: Any, entry: Mapping[str, Value | None]) -> None:
    looks, inputs = book.formats, book.logic.inputs
    sheet.set_column(0, 0, 45)
    sheet.set_column(1, 1, 20)
    sheet.set_column(2, 2, 70)
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
    _put(sheet, 0, 0, book.printed.title, looks["title"])
    for column, heading in enumerate(("Enter", "Value", "How it is read")):
        _put(sheet, _FIRST - 1, column, heading, looks["head"])
    for k, one in enumerate(inputs):
        row, kind = _FIRST + k, "enter text" if one.kind == "text" else "enter"
        known = book.labels.of(one.name)
        _put(sheet, row, 0, strip_control(known.name), looks["wrap"])
        hints = [_hint(book.logic, one), strip_control(known.range_text)]
        _put(sheet, row, 2, "; ".join(filter(None, hints)), looks["small"])
        _put(sheet, row, 1, entry.get(one.name), looks[kind])
        options = _validation(book, one)
        if options is not None:
            sheet.data_validation(row, 1, row, 1, options)
    last = _FIRST + len(inputs)  # the row below the inputs, counted from 0
    entered = f"B{_FIRST + 1}:B{last}"
    score = f"B{last + 2}"
    results = [
        ("SCORE", _score(book, 1, entered), "result"),
        ("RISK", _risk(book, score), "result risk"),
    ]
    if book.scaling is not None:
        results.append(("SCALED SCORE", _scaled(book.scaling, score), "result"))
    for row, (name, formula, look) in enumerate(results, start=last + 1):
        _put(sheet, row, 0, name, looks["result"])
        sheet.write_formula(row, 1, formula, looks[look], "")
    if inputs:
        no_score = '"No score: a value is missing, or cannot be read."'
        state = f'=IF(COUNTA({entered})=0,"Enter the values.",IF({score}="",{no_score},""))'
        sheet.write_formula(last + 4, 0, state, looks["small"], "")


def _write_rows(book: _Book, sheet: Any, entries: Sequence[Mapping[str, Value | None]]) -> None:
    looks, inputs = book.formats, book.logic.inputs
    for k, one in enumerate(inputs):
        sheet.set_column(k, k, 16, looks["text"] if one.kind == "text" else None)
        _put(sheet, 0, k, strip_control(one.name), looks["head"])
    at = len(inputs)
    for k, name in enumerate(("Score", "Risk", *(["Scaled score"] if book.scaling else []))):
        _put(sheet, 0, at + k, name, looks["head"])
    sheet.freeze_panes(1, 0)
    for row, entry in zip(range(1, book.rows + 1), entries, strict=False):
        for k, one in enumerate(inputs):
            if entry.get(one.name) is not None:
                look = looks["text"] if one.kind == "text" else None
                _put(sheet, row, k, entry[one.name], look)
    end, own = letters(max(at - 1, 0)), letters(at)
    for row in range(1, book.rows + 1):
        score = f"{own}{row + 1}"
        formula = _score(book, row + 1, f"A{row + 1}:{end}{row + 1}")
        sheet.write_formula(row, at, formula, None, "")
        sheet.write_formula(row, at + 1, _risk(book, score), looks["risk"], "")
        if book.scaling is not None:
            sheet.write_formula(row, at + 2, _scaled(book.scaling, score), None, "")


def _write_steps(book: _Book, sheet: Any) -> None:
    inputs = range(len(book.logic.inputs))
    # XlsxWriter searches each formula for some 30 new functions, which takes most of the time of a
    # large card; there are none.  (Should the method go by another name, it searches again.)
    sheet._prepare_formula = lambda formula, *_, **__: formula.removeprefix("=")
    steps = book.readings + book.units
    for k, (title, _) in enumerate(steps):
        _put(sheet, 0, k, strip_control(title), book.formats["head"])
    for row in range(1, book.rows + 2):
        cells = (
            [f"Calculator!$B${_FIRST + k + 1}" for k in inputs]
            if row == 1
            else [f"Rows!{letters(k)}{row}" for k in inputs]
        )
        for k, (_, template) in enumerate(steps):
            sheet.write_formula(row, k, template.format(row=row + 1, cell=cells), None, "")


def _score(book: _Book, row: int, entered: str) -> str:
    """Return the formula of the score that row ``row`` of "Steps" (from 0) adds up to."""
    if not book.units:
        return "=0"
    first, count = len(book.readings), len(book.units)
    units = f"Steps!{letters(first)}{row + 1}:{letters(first + count - 1)}{row + 1}"
    total = f"SUM({units})"
    if book.logic.unit > 1:  # the half keeps a whole result away from the edge that INT rounds at
        total = f"INT(({total}+0.5)/{book.logic.unit})"
    return (
        f'=IF(COUNTA({entered})=0,"",IF(COUNT({units})<{count},"",'
        f'IF(SUMPRODUCT(ABS({units}))>{_MOST_UNITS},"",{total})))'
    )


def _risk(book: _Book, score: str) -> str:
    lows = [LOWEST if row.low is None else row.low for row in book.risks]
    risks = [row.risk for row in book.risks]
    at, found = book.constants.span(lows), book.constants.span(risks)
    return f'=IF({score}="","",INDEX({found},MATCH({score},{at},1)))'


def _scaled(scaling: Scaling, score: str) -> str:
    return f'=IF({score}="","",{scaling.offset}+({scaling.multiplier})*{score})'


# -- what to enter ---------------------------------------------------------------------------------


def _own_column(logic: CardLogic, one: InputColumn) -> tuple[bool, tuple[Value, ...], bool]:
    """Return whether an input is whole, its levels, and whether it is yes or no."""
    column = logic.own_column(one.name)
    if column is None:
        return False, (), False
    binary = any(isinstance(t, PerUnit) and t.binary for t, _ in column.terms)
    texts = [term for term, _ in column.terms if term.kind == "text"]
    return column.whole, column.levels or tuple(named(texts)), binary


def _hint(logic: CardLogic, one: InputColumn) -> str:
    whole, levels, binary = _own_column(logic, one)
    if one.kind == "text":
        words = "text" + (f", such as {_some_levels(levels)}" if levels else "")
    elif one.kind == "any":
        words = "anything: only whether it is there counts"
    else:
        words = "1 for yes, 0 for no" if binary else "whole number" if whole else "number"
    if one.special:
        words += f"; {join_words([value_text(code) for code in one.special])} means missing"
    may_miss = all(column.fill is not None or column.may_miss for column in logic.uses(one.name))
    if one.fill is not None:
        words += f"; missing counts as {value_text(one.fill)}"
    else:
        words += "; may be missing" if may_miss and not one.refuse else "; needed"
    return strip_control(words)


def _some_levels(levels: Sequence[Value]) -> str:
    words = [value_text(level) for level in levels]
    if len(words) <= 10:
        return join_words(words)
    return f"{', '.join(words[:8])} and {len(words) - 8} more"


def _validation(book: _Book, one: InputColumn) -> dict[str, Any] | None:
    """Return what a cell takes: levels from a list, or numbers.  Others only bring a warning."""
    whole, levels, binary = _own_column(book.logic, one)
    warn = {
        "error_type": "warning",
        "error_title": "Not as in training",
        "error_message": "The card was learnt from other values. Is this one right?",
    }
    if binary:
        return {"validate": "list", "source": ["0", "1"], **warn}
    if one.kind == "any":
        return None
    if levels and (one.kind == "text" or not one.special):
        return {"validate": "list", "source": f"={book.constants.span(levels)}", **warn}
    if one.kind == "text":
        return None
    most, known = 10**15 if whole else 1e300, book.labels.of(one.name)
    lowest, highest = (-most, most)
    stop = {"error_title": "A number, please", "error_message": "The card needs a number here."}
    if known.range_text:
        codes = [float(code) for code in one.number_codes]
        lowest = min([-most if known.low is None else known.low, *codes])
        highest = max([most if known.high is None else known.high, *codes])
        stop = {"error_title": "Not plausible", "error_message": f"Expected: {known.range_text}."}
    ends = {"criteria": "between", "minimum": lowest, "maximum": highest}
    if one.text_codes:  # a code may be a word
        stop["error_type"] = "warning"
    if whole:
        return {"validate": "integer", **ends, **(stop if known.range_text else warn)}
    return {"validate": "decimal", **ends, **stop}
