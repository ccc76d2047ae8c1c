"""Tables from files, and which rows of them had the event."""

from __future__ import annotations

import csv
import gzip
import importlib.util
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netbenefit.common.checks import InputError
from netbenefit.common.table import Table
from netbenefit.data.duckdb import open_source, read_table
from netbenefit.data.files import read_cell, write_csv
from netbenefit.data.labels import find_target, label_in, read_outcome
from netbenefit.data.sources import find_source
from tests.helpers.slow_csv import slow_read


def write(folder: Path, text: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


# -- CSV -------------------------------------------------------------------------------------------


def test_csv_finds_the_kind_of_each_column(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "whole,real,yes,word,gap,mixed\n1,0.5,true,a,3,1\n-2,1e3,FALSE,b,,x\n+3,7,True,a,NA,true\n",
    )
    table = read_table(path)
    assert list(table) == ["whole", "real", "yes", "word", "gap", "mixed"]
    assert table["whole"].dtype == np.int64
    assert table["whole"].tolist() == [1, -2, 3]
    assert table["real"].tolist() == [0.5, 1000.0, 7.0]
    assert table["yes"].dtype == np.bool_
    assert table["yes"].tolist() == [True, False, True]
    assert table["word"].tolist() == ["a", "b", "a"]
    np.testing.assert_array_equal(table["gap"], [3.0, np.nan, np.nan])
    assert table["mixed"].tolist() == ["1", "x", "true"]


@pytest.mark.parametrize("missing", ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "  "])
def test_csv_missing_cells(tmp_path: Path, missing: str) -> None:
    table = read_table(write(tmp_path, f"x,t,b\n1,a,true\n{missing},{missing},{missing}\n"))
    np.testing.assert_array_equal(table["x"], [1.0, np.nan])
    assert table["t"].tolist() == ["a", None]
    np.testing.assert_array_equal(table["b"], [1.0, np.nan])


def test_csv_column_without_any_value(tmp_path: Path) -> None:
    column = read_table(write(tmp_path, "x,y\n,1\n,0\n"))["x"]
    assert column.dtype == np.float64
    assert np.isnan(column).all()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("1,5", "1,5"),
        ("007", 7),
        ("-0", 0),
        (".5", 0.5),
        ("inf", np.inf),
        ("9223372036854775808", 9223372036854775808.0),
        ("true", True),
        ("yes", "yes"),
        ("NA", None),
    ],
)
def test_cells(text: str, value: object) -> None:
    found = read_cell(text)
    assert found == value
    assert type(found) is type(value)


def test_csv_quotes_mark_and_windows_lines(tmp_path: Path) -> None:
    text = '\ufeff"age, years",note\r\n51,"says ""no"", twice"\r\n52,"two\r\nlines"\r\n\r\n'
    table = read_table(write(tmp_path, text))
    assert table["age, years"].tolist() == [51, 52]
    assert table["note"].tolist() == ['says "no", twice', "two\r\nlines"]


def test_csv_strips_blanks_around_cells(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "age, sex\n 51 , f\n52, m \n"))
    assert table["age"].tolist() == [51, 52]
    assert table["sex"].tolist() == ["f", "m"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.tsv", "a\tb\n1\tx,y\n2\tz\n"),
        ("t.csv", "a\tb\n1\tx,y\n2\tz\n"),
        ("t.csv", "a;b\n1;x,y\n2;z\n"),
        ("t.csv", "a;b;c,d\n1;x,y;0\n2;z;0\n"),
        ("t.csv", 'a;b;"c,d"\n1;x,y;0\n2;z;0\n'),
        ("t.csv", 'a,b,c;d\n1,"x,y",0\n2,z,0\n'),
        ("T.CSV", 'a,b\n1,"x,y"\n2,z\n'),
    ],
)
def test_separators(tmp_path: Path, name: str, text: str) -> None:
    table = read_table(write(tmp_path, text, name))
    assert table["a"].tolist() == [1, 2]
    assert table["b"].tolist() == ["x,y", "z"]


def test_gzip(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress("\ufeffa,b\n1,é\n".encode()), "t.csv.gz")
    assert read_table(path)["b"].tolist() == ["é"]


def test_row_numbers_without_a_name_are_left_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [5, 6, 7]})
    frame.to_csv(tmp_path / "t.csv")  # writes its index
    assert list(read_table(tmp_path / "t.csv")) == ["a"]
    assert list(read_table(write(tmp_path, ",a\n1,5\n2,6\n"))) == ["a"]
    assert list(read_table(write(tmp_path, ",a\nP07,5\nP01,5\n"))) == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty. The first line has to name the columns."),
        ("\n\na,b\n", "the first line is blank"),
        ("a,b\n", "no rows below the header"),
        ("1,2\n3,4\n", "the first line names no columns, it holds '1'"),
        ("a,b,a\n1,2,3\n", "duplicate column names: 'a'"),
        ("a,,c\n1,2,3\n", "columns without a name in the first line: 2"),
        (",a\n5,2\n5,3\n", "column 1 has no name"),
        ("a,,\n1,2,3\n", "columns without a name in the first line: 2, 3"),
        ("a,b\n1,2\n\n3\n", "line 4: 1 cell, but the header names 2 columns"),
        ("a,b\n1,2,3\n", "line 2: 3 cells"),
        ('a,b\n1,"2\n', "line 2: unexpected end of data"),
        ('a,b\n1,"2"x\n', "line 2:"),
        (b"a,b\n1,\xff\xfe\n", "not UTF-8 text"),
    ],
)
def test_csv_refusals_name_file_place_and_remedy(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    assert message in refusal(write(tmp_path, text))


def test_broken_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    assert "not a whole gzip file" in refusal(write(tmp_path, whole[:-20], "t.csv.gz"))
    assert "not a whole gzip file" in refusal(write(tmp_path, b"a,b\n1,2\n", "u.csv.gz"))


def test_no_such_file_folder_and_suffix(tmp_path: Path) -> None:
    assert "no such file. Check the name" in refusal(tmp_path / "absent.csv")
    assert "is a folder. Name the file in it." in refusal(tmp_path)
    message = refusal(write(tmp_path, "a\n1\n", "t.ods"))
    assert "cannot tell the format" in message
    assert ".parquet" in message


def test_lines_may_end_in_several_ways(tmp_path: Path) -> None:
    for text in ("a,b\n1,x\r\n2,y\n", "a,b\r\n1,x\n\n2,y\r\n", "a,b\r1,x\r2,y\r"):
        table = read_table(write(tmp_path, text))
        assert table["a"].tolist() == [1, 2]
        assert table["b"].tolist() == ["x", "y"]
    table = read_table(write(tmp_path, '"first\nname",b\r\n1,"x\ry"\r\n'))
    assert table["first\nname"].tolist() == [1]
    assert table["b"].tolist() == ["x\ry"]


def test_names_that_differ_in_case_alone(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "a,A\n1,2\n"))
    assert {name: column.tolist() for name, column in table.items()} == {"a": [1], "A": [2]}
    pq.write_table(pa.table({"a": [1], "s": [{"x": 3}], "A": [2]}), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert (table["a"].tolist(), table["A"].tolist()) == ([1], [2])


def test_whole_numbers_are_exact(tmp_path: Path) -> None:
    numbers = [2**53 + 1, 2**63 - 1, -(2**63)]
    found = read_table(write(tmp_path, "a\n" + "\n".join(map(str, numbers))))["a"]
    assert found.tolist() == numbers
    pq.write_table(pa.table({"a": numbers}), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["a"].tolist() == numbers


def test_text_in_tables_is_no_formula(tmp_path: Path) -> None:
    cells = ["=1+1", "+cmd", "-3 to 5", "@x", "\tx", "-3", "+0.5", "age ≥ 52", "−3 to 5", ""]
    write_csv(Table({"-name": cells, "x": np.arange(10) - 5.0}), tmp_path / "t.csv")
    with open(tmp_path / "t.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    guarded = ["'=1+1", "'+cmd", "'-3 to 5", "'@x", "'\tx", "-3", "+0.5", "age ≥ 52", "−3 to 5"]
    assert [row[0] for row in rows] == ["'-name", *guarded, ""]
    assert rows[1][1] == "-5.0"


def test_large_files_keep_their_order_and_their_cells_of_many_lines(tmp_path: Path) -> None:
    n = 200_000
    with open(tmp_path / "t.csv", "w") as file:
        file.write("a,b,c\n")  # inside the cells, lines that look like rows
        file.writelines(f'{k},"of {k}\n{k},x,y\n{"z" * (k % 300)} ",NA\n' for k in range(n))
    found = read_table(tmp_path / "t.csv")
    with open_source(find_source([str(tmp_path / "t.csv")])) as table:
        streamed = table.read().columns
    for columns in (found, streamed):
        np.testing.assert_array_equal(columns["a"], np.arange(n))
        assert columns["b"][-1] == f"of {n - 1}\n{n - 1},x,y\n{'z' * ((n - 1) % 300)}".strip()


#: Cells that readers interpret differently.
CELLS = [
    *("", "NA", " NA ", "NAN", "nan(1)", "1", "0", "-5", "+7", "007", "1.5", ".5", "5.", "1e3"),
    *("1e400", "inf", "-Infinity", "1_000", "_1", "0x10", "true", "FALSE ", "t", "yes", "b c"),
    *("\t3\t", "\xa04\xa0", "\x1f7", "\u3000", "é", "٣", "9007199254740993", "9223372036854775808"),
    *(
        "a,b",
        "a;b",
        'q"q',
        "two\nlines",
        "two\r\nlines",
        "x\ry",
        "--5",
        "5-",
        "1e",
        ".",
        "-",
        "1 5",
    ),
    *("2020-01-01", "'x", "#c", "\\", "\\n", "\x00", "12:30", "1d", "1" * 40, "-0", "-0.0"),
]


def quoted(cell: str) -> str:
    escaped = cell.replace('"', '""')
    return f'"{escaped}"' if set(cell) & set(',;\t"\r\n') else cell


@pytest.mark.parametrize("seed", range(6))
def test_unusual_cells_are_read_as_the_slow_reader_reads_them(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for k in range(5):
        width, rows = int(rng.integers(2, 5)), int(rng.integers(1, 20))
        pools = [rng.choice(CELLS, int(rng.choice([1, 2, 4, 30]))) for _ in range(width)]
        path = tmp_path / f"{k}.csv"
        separator, end = rng.choice([",", ";", "\t"]), rng.choice(["\n", "\r\n", "\r"])
        lines = [["a", "b c", "d", "é"][:width]]
        lines += [[str(rng.choice(pool)) for pool in pools] for _ in range(rows)]
        text = "".join(separator.join(map(quoted, line)) + end for line in lines)
        path.write_bytes(text.encode(str(rng.choice(["utf-8", "utf-8-sig"]))))
        expected = slow_read(path, ["a"][: seed % 2])
        found = read_table(path, ["a"][: seed % 2])
        with open_source(find_source([str(path)]), as_text=["a"][: seed % 2]) as table:
            streamed = table.read().columns
        assert list(found) == list(streamed) == list(expected)
        for name, column in expected.items():
            assert found[name].dtype == streamed[name].dtype == column.dtype
            np.testing.assert_array_equal(found[name], column)
            np.testing.assert_array_equal(streamed[name], column)


def test_one_cell_means_the_same_to_python_and_to_duckdb(tmp_path: Path) -> None:
    for text in CELLS:
        with open(tmp_path / "t.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["a", "b"], [text, "x"]])
        (found,) = read_table(tmp_path / "t.csv")["a"].tolist()
        expected = read_cell(text.strip())
        both_missing = expected is None and found != found
        assert both_missing or repr(found) == repr(expected), text


def test_a_large_file_is_read_whole(data_folder: Path) -> None:
    table = read_table(data_folder / "adult.csv")
    assert len(table) == 37
    assert len(table["Over50K"]) == 32_561


def test_numbers_agree_with_pandas(data_folder: Path) -> None:
    table = read_table(data_folder / "heart.csv")
    frame = pd.read_csv(data_folder / "heart.csv", float_precision="round_trip")
    assert list(table) == list(frame.columns)
    for name, column in table.items():
        np.testing.assert_array_equal(column, frame[name].to_numpy())
        assert column.dtype == frame[name].dtype


def test_write_csv_round_trip(tmp_path: Path) -> None:
    table = Table({"m": ["a,b", "c"], "x": [0.1, np.nan], "n": [1, 2]})
    write_csv(table, tmp_path / "t.csv")
    with open(tmp_path / "t.csv", newline="") as file:
        assert list(csv.reader(file)) == [["m", "x", "n"], ["a,b", "0.1", "1"], ["c", "", "2"]]
    np.testing.assert_array_equal(read_table(tmp_path / "t.csv")["x"], [0.1, np.nan])


# -- Parquet ---------------------------------------------------------------------------------------

COLUMNS = {"n": [1, 2], "x": [0.5, None], "b": [True, False], "t": ["a", None]}


def write_parquet(path: Path) -> Path:
    pq.write_table(pa.table({**COLUMNS, "d": [Decimal("0.1"), Decimal("2.0")]}), path)
    return path


@pytest.mark.parametrize("alone", [True, False])
def test_parquet_with_and_without_pyarrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    if alone:
        monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    table = read_table(write_parquet(tmp_path / "t.parquet"))
    assert list(table) == ["n", "x", "b", "t", "d"]
    assert table["n"].tolist() == [1, 2]
    np.testing.assert_array_equal(table["x"], [0.5, np.nan])
    assert table["b"].dtype == np.bool_
    assert table["t"].tolist() == ["a", None]
    assert [float(item) for item in table["d"]] == [0.1, 2.0]


def test_parquet_of_other_writers(tmp_path: Path) -> None:
    pl.DataFrame({"n": [1, 2]}).write_parquet(tmp_path / "t.pq")
    assert read_table(tmp_path / "t.pq")["n"].tolist() == [1, 2]


def test_broken_or_empty_parquet(tmp_path: Path) -> None:
    assert "cannot read it as Parquet" in refusal(write(tmp_path, "a,b\n1,2\n", "t.parquet"))
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "none.parquet")
    assert "no rows" in refusal(tmp_path / "none.parquet")


# -- outcomes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "event", "text"),
    [
        ([0, 1, 1], [False, True, True], "y = 1"),
        ([0.0, 1.0], [False, True], "y = 1"),
        ([True, False], [True, False], "y = True"),
        (["no", "yes"], [False, True], "y = yes"),
        ([2, 1, 2], [True, False, True], "y = 2"),
    ],
)
def test_the_label_that_sorts_last_is_the_event(
    labels: list[object], event: list[bool], text: str
) -> None:
    found = read_outcome(np.array(labels), "y")
    assert found.event.tolist() == event
    assert found.text == text


@pytest.mark.parametrize(
    ("labels", "positive", "event"),
    [
        ([0, 1], "0", [True, False]),
        ([0.0, 1.0], "0", [True, False]),
        ([False, True], "false", [True, False]),
        ([0, 1], "True", [False, True]),
        ([1, 2, 3], "2", [False, True, False]),
        (["a", "b", "c"], "a", [True, False, False]),
    ],
)
def test_positive_chooses_the_event(labels: list[object], positive: str, event: list[bool]) -> None:
    assert read_outcome(np.array(labels), "y", positive).event.tolist() == event


@pytest.mark.parametrize(
    ("labels", "positive", "message"),
    [
        ([1, 1], None, "column 'y' holds one class only: every row is 1"),
        ([1, 2, 3], None, "holds 3 labels (1, 2, 3), but an outcome has two. Say which one"),
        ([0, 1], "2", "column 'y' is never '2'; it holds 0, 1"),
        ([0.0, np.nan], None, "column 'y': 1 label is missing, in row 2. Drop that row."),
    ],
)
def test_outcome_refusals(labels: list[object], positive: str | None, message: str) -> None:
    with pytest.raises(InputError, match="column 'y'") as caught:
        read_outcome(np.array(labels), "y", positive)
    assert message in caught.value.in_options()


def test_missing_text_outcome() -> None:
    with pytest.raises(InputError, match="2 labels are missing, the first in row 1"):
        read_outcome(np.array(["a", None, "b", None], dtype=object), "y")


def test_find_target_composes_and_never_parses() -> None:
    columns = {"a": np.array([1]), "a = b": np.array(["c"]), "x": np.array([0])}
    assert find_target(columns, "a = b = c", ["x"]) == ("a = b", "c")
    assert label_in("a = b = c", "a") == "b = c"
    for outcome in (None, "z = 1", "x = 0", "a = 2"):
        with pytest.raises(InputError, match="Name the column of the outcome"):
            find_target(columns, outcome, ["x"])
