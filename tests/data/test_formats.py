"""How files are written: encodings, delimiters, decimal signs, workbooks; where a row stands."""

from __future__ import annotations

import datetime
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xlsxwriter

from netbenefit.common import InputError, InputWarning
from netbenefit.data import FileFormat, find_source, open_source, read_raw, read_table
from tests.data.test_files import write


def found(path: Path, **how: Any) -> tuple[dict[str, list[Any]], list[str]]:
    """The columns of a file, and the notes on it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        columns = read_table(path, **how)
    lists = {name: column.tolist() for name, column in columns.items()}
    return lists, [one.message.in_options() for one in caught]  # type: ignore[union-attr]


def refusal(path: Path, **how: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path, **how)
    return caught.value.in_options()


# -- encodings -------------------------------------------------------------------------------------

TEXT = "Größe;Ort\n61;Île d’Yeu\n72;Besançon – Médoc\n"
READ = {"Größe": [61, 72], "Ort": ["Île d’Yeu", "Besançon – Médoc"]}


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
def test_encodings_that_say_what_they_are(tmp_path: Path, encoding: str) -> None:
    assert found(write(tmp_path, TEXT.encode(encoding))) == (READ, [])


def test_western_text_of_windows_is_found_and_told(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT.encode("cp1252"))
    columns, notes = found(path)
    assert columns == READ
    assert [one.split(". ")[0] for one in notes] == [
        f"{path} is not UTF-8 and was read as cp1252, with words such as 'Größe'"
    ]
    assert found(path, encoding="cp1252") == (READ, [])


@pytest.mark.parametrize(
    ("word", "encoding"),
    [
        ("Москва", "cp1251"),
        ("Αθήνα", "cp1253"),
        ("Łódź", "cp1250"),
        ("Pałac", "cp1250"),
        ("Müller", "cp850"),
        ("März", "cp437"),
        ("東京", "shift-jis"),
    ],
)
def test_other_encodings_are_asked_for(tmp_path: Path, word: str, encoding: str) -> None:
    path = write(tmp_path, f"n,w\n1,{word}\n".encode(encoding))
    assert "not UTF-8 text. Name its encoding, such as --encoding cp1250" in refusal(path)
    assert found(path, encoding=encoding)[0] == {"n": [1], "w": [word]}
    assert "not ascii text" in refusal(path, encoding="ascii") or encoding == "shift-jis"
    assert "--encoding x is not known" in refusal(path, encoding="x")


# -- delimiters ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_delimiters_are_found(tmp_path: Path, sign: str) -> None:
    text = f'a{sign}"b{sign}, c"\n1{sign}x, y\n' if sign != "," else 'a,"b,, c"\n1,"x, y"\n'
    assert found(write(tmp_path, text))[0] == {"a": [1], f"b{sign}, c": ["x, y"]}


def test_delimiters_that_are_not_clear_are_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b;c\n1,2;3\n4,5;6\n")
    assert refusal(path).endswith(
        "cells may be separated by ',' (2 columns) or ';' (2 columns). Say by which: "
        "--delimiter ';'."
    )
    assert found(path, delimiter=",")[0] == {"a": [1, 4], "b;c": ["2;3", "5;6"]}
    assert found(write(tmp_path, "a:b\n1:2\n"), delimiter=":")[0] == {"a": [1], "b": [2]}
    assert "must be one sign" in refusal(path, delimiter="::")


# -- decimal commas --------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_clear_decimal_commas_are_read_and_told(tmp_path: Path, sign: str) -> None:
    rows = [("w", "h", "n"), ("71,5", "1,234", "3"), ("-,25", "2,345", "4"), ("80", "", "5")]
    path = write(tmp_path, "\n".join(map(sign.join, rows)) + "\n")
    columns, notes = found(path)
    assert columns["w"] == [71.5, -0.25, 80.0]
    np.testing.assert_array_equal(columns["h"], [1.234, 2.345, np.nan])
    assert columns["n"] == [3, 4, 5]
    assert len(notes) == 1
    assert "read with decimal commas: 'w' (such as -,25), 'h' (such as 1,234)" in notes[0]
    assert found(path, decimal=",")[1] == []
    assert found(path, decimal=".")[0]["w"] == ["71,5", "-,25", "80"]
    with pytest.warns(InputWarning, match="commas"):
        table = open_source(find_source([str(path)]))
    with table:
        assert table.read().columns["w"].tolist() == columns["w"]


@pytest.mark.parametrize(
    "text",
    [
        "w;n\n1,234;1\n2,345;2\n",  # may be thousands
        "w;n\n1,5;0.5\n2,5;0.75\n",  # points elsewhere
        "w;n\n1,5;1,234,567\n2,5;2,000,000\n",  # thousands elsewhere
        'w,n\n"1,5",1\n"2,5",2\n',  # may be two answers
    ],
)
def test_commas_that_are_not_clear_stay_text(tmp_path: Path, text: str) -> None:
    columns, notes = found(write(tmp_path, text))
    assert all(isinstance(cell, str) and "," in cell for cell in columns["w"])
    assert notes == []


def test_a_decimal_comma_that_was_asked_for_leaves_no_points(tmp_path: Path) -> None:
    path = write(tmp_path, "a;b;c\n1,5;1.234;2.5\n2,5;2.345;3.5\n")
    assert "'b' (such as 1.234), 'c' (such as 2.5). Write all numbers in one way" in refusal(
        path, decimal=","
    )
    columns = read_table(path, text=["b", "c"], decimal=",")
    assert columns["a"].tolist() == [1.5, 2.5]
    assert columns["b"].tolist() == ["1.234", "2.345"]
    quoted = write(tmp_path, 'w,n\n"1,234",1\n')
    assert found(quoted, decimal=",")[0] == {"w": [1.234], "n": [1]}
    assert "--decimal ; must be a point or a comma" in refusal(quoted, decimal=";")


# -- lines, and all problems at once ---------------------------------------------------------------

ODD = '"a\nb",c\r\n\n1,"x\ny"\n\n\n2,z\n3,"p\n\nq"\n4,r\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_row_is_named_by_the_line_where_it_begins(tmp_path: Path, encoding: str) -> None:
    file = read_raw(write(tmp_path, ODD.encode(encoding)))
    assert file.columns["a\nb"].tolist() == [1, 2, 3, 4]
    assert [file.place(row) for row in range(4)] == ["line 4", "line 8", "line 9", "line 12"]


def test_rows_of_several_files_are_named_by_file_and_line(tmp_path: Path) -> None:
    write(tmp_path, "a,b\n1,2\n\n3,4\n", "1.csv")
    write(tmp_path, "a;b\n5;6\n", "2.csv")
    write(tmp_path, "a,b\n7,8\n", "3.csv")
    with open_source(find_source([str(tmp_path)])) as table:
        file = table.read()
    places = {a: file.place(row) for row, a in enumerate(file.columns["a"].tolist())}
    assert places == {
        1: f"line 2 of {tmp_path}/1.csv",
        3: f"line 4 of {tmp_path}/1.csv",
        5: f"line 2 of {tmp_path}/2.csv",
        7: f"line 2 of {tmp_path}/3.csv",
    }


def test_all_wrong_lines_are_told_at_once(tmp_path: Path) -> None:
    lines = ["a,b", *["1,2", "3", "", "4,5,6"] * 8]
    message = refusal(write(tmp_path, "\n".join(lines) + "\n"))
    assert "line 3: 1 cell, but the header names 2 columns; line 5: 3 cells, but" in message
    assert message.count("; line") == 9
    assert "; and 6 more. Repair the lines" in message


# -- workbooks -------------------------------------------------------------------------------------


def workbook(path: Path, *sheets: str, errors: bool = False) -> Path:
    book = xlsxwriter.Workbook(str(path))
    day, hour = book.add_format({"num_format": "dd.mm.yyyy"}), book.add_format({"num_format": "h"})
    share = book.add_format({"num_format": "0.0%"})
    for name in sheets:
        sheet = book.add_worksheet(name)
        heads = ["id", "n", "x", "day", "at", "yes", "share", "word", "f", "mixed", "none", "gap"]
        for k, head in enumerate(heads):
            sheet.write(1, k + 1, head)
        for row, number in ((2, 5), (4, 6)):  # a row without cells between
            sheet.write_string(row, 1, f"00{number}")
            sheet.write(row, 2, number)
            sheet.write(row, 3, number / 4)
            sheet.write_datetime(row, 4, datetime.date(2024, 1, number), day)
            sheet.write_datetime(row, 5, datetime.datetime(2024, 1, 2, 3, number), hour)
            sheet.write_boolean(row, 6, number == 5)
            sheet.write(row, 7, 0.125, share)
            sheet.write(row, 8, "NA" if number == 5 else "Größe, 1")
            sheet.write_formula(row, 9, "=C3+1", None, number + 0.5)
            sheet.write(row, 10, "low" if number == 5 else 7)
            if number == 6:
                sheet.write_formula(row, 12, "=NA()", None, "#N/A")
            elif errors:
                sheet.write_formula(row, 12, "=1/0", None, "#DIV/0!")
            else:
                sheet.write(row, 12, 3)
    hidden = book.add_worksheet("hidden")
    hidden.hide()
    hidden.write(0, 0, "x")
    book.add_worksheet("empty")
    book.close()
    return path


def check_cells(columns: dict[str, Any]) -> None:
    lists = {name: column.tolist() for name, column in columns.items()}
    assert lists["id"] == ["005", "006"]
    assert (columns["n"].dtype, lists["n"]) == (np.int64, [5, 6])
    assert lists["x"] == [1.25, 1.5]
    assert lists["day"] == [datetime.date(2024, 1, 5), datetime.date(2024, 1, 6)]
    assert lists["at"] == [datetime.datetime(2024, 1, 2, 3, k) for k in (5, 6)]
    assert (columns["yes"].dtype, lists["yes"]) == (np.bool_, [True, False])
    assert lists["share"] == [0.125, 0.125]
    assert lists["word"] == [None, "Größe, 1"]
    assert lists["f"] == [5.5, 6.5]
    assert lists["mixed"] == ["low", "7"]
    assert np.isnan(columns["none"]).all()
    np.testing.assert_array_equal(columns["gap"], [3, np.nan])


def test_cells_of_a_workbook_are_what_they_say(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", "Data")
    file = read_raw(path)
    check_cells(file.columns)
    assert [file.place(row) for row in (0, 1)] == ["row 3", "row 5"]
    with open_source(find_source([str(path)])) as table:
        check_cells(table.read().columns)
        assert table.n_rows == 2
    assert read_table(path, text=["n"])["n"].tolist() == ["5", "6"]


def test_a_sheet_is_named_where_there_are_several(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", "2023", "2024")
    message = refusal(path)
    assert "has 2 sheets: '2023', '2024'. Say which one: --sheet NAME." in message
    check_cells(read_table(path, sheet="2024"))
    assert "no sheet '2025'; it has '2023', '2024', 'empty'" in refusal(path, sheet="2025")
    assert "no rows below a row of names" in refusal(path, sheet="empty")
    text = str(write(tmp_path, "a\n1\n"))
    with pytest.raises(InputError, match="no Excel workbook and has no sheets"):
        find_source([text], FileFormat(sheet="x"))


def test_formulas_that_were_never_calculated_are_told(tmp_path: Path) -> None:
    path, bare = tmp_path / "t.xlsx", tmp_path / "bare.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet("Data")
        sheet.write_row(0, 0, ["x", "y"])
        for row in (1, 2):
            sheet.write(row, 0, row)
            sheet.write_formula(row, 1, "=A2+1", None, row + 1)
    assert read_table(path)["y"].tolist() == [2, 3]
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(bare, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"<v>3</v>", b"<v></v>"))
    assert refusal(bare) == (
        f"{bare}, cell B3 holds a formula without a value. Open the file in a program that "
        "calculates, such as Excel, and save it there."
    )


def test_failed_formulas_are_told_by_their_cells(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", "Data", errors=True)
    assert refusal(path) == (
        f"{path}, cell M3 holds #DIV/0!. Correct the formulas, or clear the cells."
    )


def test_workbooks_that_cannot_be_read(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", "Data")
    content = path.read_bytes()
    for size in (0, 10, len(content) // 2, len(content) - 10):
        assert "cannot be read as an Excel workbook" in refusal(
            write(tmp_path, content[:size], "u.xlsx")
        )
