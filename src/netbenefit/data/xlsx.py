"""Sheets of Excel workbooks, as tables of cells that say what they are."""

from __future__ import annotations

import csv
import datetime
import math
import re
import zipfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from netbenefit.common import InputError, Remedy, shorten
from netbenefit.data.files import MISSING, list_problems, read_names

#: What columns of cells become, from the most special kind on; all else is text.
_KINDS = (
    ("BOOLEAN", (bool,)),
    ("BIGINT", (int,)),
    ("DOUBLE", (int, float)),
    ("DATE", (datetime.date,)),
    ("TIMESTAMP", (datetime.date, datetime.datetime)),
    ("TIME", (datetime.time,)),
)
_ERROR = re.compile(rb'<c\s[^>]*?\br="([A-Z]+[0-9]+)"[^>]*?\bt="e"[^>]*>(.*?)</c>', re.DOTALL)
_CELL = re.compile(rb"<c\s([^>]*[^/])>(.*?)</c>", re.DOTALL)
_NAME = re.compile(rb'\br="([A-Z]+[0-9]+)"')
_VALUE = re.compile(rb"<v>(.*?)</v>", re.DOTALL)
_INT64 = 2**63


class SheetTable(NamedTuple):
    """A sheet's table, written to a file of cells."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]  #: DuckDB's type of each column


def copy_sheet(path: Path, sheet: str | None, copy: Path) -> SheetTable:
    """Write the cells of a sheet as CSV; report at once what cannot be read."""
    rows = _rows(path, sheet)
    first, cells = next(rows)
    width = max((k for k, cell in enumerate(cells, 1) if cell is not None), default=0)
    start = next(k for k, cell in enumerate(cells) if cell is not None)
    body = list(rows)
    # A first column without a name holds row names; blank columns beside the table are none.
    used = {k for _, row in body for k, cell in enumerate(row) if cell is not None}
    start = min([start, *(k for k in used if k == start - 1)])
    beyond = [k for k in used if k >= width or k < start]
    if beyond:
        raise InputError(
            f"{path}, row {first}: cells below have no name in the first row of the table, as in "
            f"column {_letters(min(beyond))}. Name all columns there, and leave nothing beside it."
        )
    headers = ["" if c is None else _text(c) for c in cells[start:width]]
    names = read_names(headers, path, f"row {first}")
    columns = list(zip(*(row[start:width] for _, row in body), strict=True))
    kinds = tuple(map(_kind_of, columns or [() for _ in names]))
    with open(copy, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(range(len(names)))
        for _, row in body:
            writer.writerow(["" if c is None else _text(c) for c in row[start:width]])
    return SheetTable(names, kinds)


def rows_of_sheet(path: Path, sheet: str | None) -> Iterator[int]:
    """Return the number that Excel shows beside each row of the table."""
    return (number for number, _ in islice(_rows(path, sheet), 1, None))


def _rows(path: Path, sheet: str | None) -> Iterator[tuple[int, list[Any]]]:
    """Return the rows of a sheet that are not empty, with their numbers."""
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    try:
        book = CalamineWorkbook.from_path(str(path))
        sheets = [
            one.name
            for one in book.sheets_metadata
            if one.typ == SheetTypeEnum.WorkSheet and one.visible == SheetVisibleEnum.Visible
        ]
        if sheet is None:
            filled = [name for name in sheets if book.get_sheet_by_name(name).total_height]
            if len(filled) > 1:
                raise InputError(
                    f"{path} has {len(filled)} sheets: {shorten(filled, 10)}. Say which one: ",
                    Remedy("sheet=name", "--sheet NAME"),
                    ".",
                )
            sheet = filled[0] if filled else None
        elif sheet not in book.sheet_names:
            raise InputError(
                f"{path} has no sheet {sheet!r}; it has {shorten(sheets, 10)}. Correct the name."
            )
        cells = book.get_sheet_by_name(sheet).to_python(skip_empty_area=False) if sheet else []
        _check_formulas(path, str(sheet))
    except (CalamineError, OSError, KeyError, zipfile.BadZipFile, ElementTree.ParseError) as error:
        raise InputError(
            f"{path}: cannot be read as an Excel workbook ({error}). Save it again as .xlsx, "
            "without a password."
        ) from None
    found = [(k, [_plain(cell) for cell in row]) for k, row in enumerate(cells, 1)]
    found = [(k, row) for k, row in found if any(cell is not None for cell in row)]
    if len(found) < 2:
        raise InputError(f"{path}: the sheet has no rows below a row of names. Add some.")
    yield from found


def _plain(cell: Any) -> Any:
    if isinstance(cell, str):
        return None if cell.strip() in MISSING else cell
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _INT64:
        return int(cell)
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def _kind_of(column: Sequence[Any]) -> str:
    types = {type(cell) for cell in column if cell is not None}
    if not types:
        return "DOUBLE"
    return next((kind for kind, known in _KINDS if types <= set(known)), "VARCHAR")


def _text(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell if isinstance(cell, str) else repr(cell) if isinstance(cell, float) else str(cell)


def _letters(column: int) -> str:
    """Return what Excel calls a column."""
    letters = ""
    while column >= 0:
        letters = chr(65 + column % 26) + letters
        column = column // 26 - 1
    return letters


def _check_formulas(path: Path, sheet: str) -> None:
    """Refuse cells of formulas that failed, or were never calculated; #N/A means missing."""
    with zipfile.ZipFile(path) as book:
        place = _place_of(book, sheet)
        text = book.read(place)
    found = [
        (cell.decode(), value[1].decode())
        for cell, inner in _ERROR.findall(text)
        if (value := _VALUE.search(inner)) and value[1] != b"#N/A"
    ]
    if found:
        problems = [f"cell {cell} holds {value}" for cell, value in found]
        raise InputError(
            list_problems(path, problems), " Correct the formulas, or clear the cells."
        )
    # A formula whose value is no text is stored with its value by programs that calculate.
    bare = [
        name[1].decode()
        for head, inner in (_CELL.findall(text) if b"<f" in text else ())
        if b"<f" in inner and b't="str"' not in head
        if not ((value := _VALUE.search(inner)) and value[1]) and (name := _NAME.search(head))
    ]
    if bare:
        problems = [f"cell {cell} holds a formula without a value" for cell in bare]
        remedy = " Open the file in a program that calculates, such as Excel, and save it there."
        raise InputError(list_problems(path, problems), remedy)


def _place_of(book: zipfile.ZipFile, sheet: str) -> str:
    """Return the file of a sheet inside a workbook."""
    tree = ElementTree.fromstring(book.read("xl/workbook.xml"))
    own = next(one for one in tree.iter() if one.get("name") == sheet and one.tag.endswith("sheet"))
    link = next(value for key, value in own.items() if key.endswith("}id"))
    links = ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))
    target = next(str(one.get("Target")) for one in links if one.get("Id") == link)
    return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
