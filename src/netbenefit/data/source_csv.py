"""Many CSV files as one table of DuckDB, read by the same rules as one file in memory.

A column is what all its cells are: whole numbers, numbers, true and false, else text.  So all cells
are looked at before the work begins.  Text is slow to read, so the files are read once, into a
temporary Parquet file.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from netbenefit.common.checks import InputError
from netbenefit.data.files import MISSING, read_header
from netbenefit.data.source_engine import name, text

__all__ = ["CsvTable", "csv_cells", "escaped", "pack"]

_NULLS = ", ".join(text(word) for word in sorted(MISSING))
_BLANKS = "' ' || chr(9) || chr(10) || chr(13)"
#: A name that no header has: cells of a first column without a name.
_UNNAMED = "\N{ZERO WIDTH SPACE}row"


class CsvTable(NamedTuple):
    """A query for all cells as text."""

    query: str
    columns: tuple[str, ...]
    odd: dict[str, str]  #: columns that some files do not have, with a sentence about it


def escaped(file: Path) -> str:
    """Return a file's name so that DuckDB takes it for no pattern.

    >>> escaped(Path("a[1]*.csv"))
    'a[[]1][*].csv'
    """
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(file))


def csv_cells(files: Sequence[Path], without: Collection[str] = ()) -> CsvTable:
    r"""Return a query for the cells of CSV files with the same columns, in any order.

    Parameters
    ----------
    files : sequence of Path
    without : collection of str
        Columns to leave out.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = file.write_text("age,ill\n51,1\n")
    >>> csv_cells([file]).columns
    ('age', 'ill')
    """
    groups: dict[tuple[tuple[str, ...], str], list[Path]] = {}
    for file in files:
        header, separator = read_header(file)
        if "" in header[1:]:
            raise InputError(
                f"{file}: column {header.index('') + 1} has no name. Name it in the first line."
            )
        groups.setdefault((header, separator), []).append(file)
    headers = {header: found[0] for (header, _), found in groups.items()}
    every = dict.fromkeys(one for header in headers for one in header if one)
    odd = {}
    for column in every:
        there = [file for header, file in headers.items() if column in header]
        absent = [file for header, file in headers.items() if column not in header]
        if absent:
            odd[column] = f"column {column!r} is in {there[0]}, but not in {absent[0]}"
    columns = tuple(column for column in every if column not in without)
    parts = [
        _part(header, separator, found, columns) for (header, separator), found in groups.items()
    ]
    return CsvTable("\nUNION ALL\n".join(parts), columns, odd)


def _part(
    header: tuple[str, ...], separator: str, files: Sequence[Path], columns: Sequence[str]
) -> str:
    named = ", ".join(f"{text(one or _UNNAMED)}: 'VARCHAR'" for one in header)
    listed = ", ".join(text(escaped(file)) for file in files)
    cells = ", ".join(
        name(column) if column in header else f"NULL::VARCHAR AS {name(column)}"
        for column in columns
    )
    return (
        f"SELECT {cells} FROM read_csv([{listed}], columns = {{{named}}}, auto_detect = false, "
        f"header = true, delim = {text(separator)}, quote = '\"', escape = '\"', "
        "hive_partitioning = false)"
    )


def pack(connection: Any, cells: CsvTable, folder: Path, as_text: Collection[str] = ()) -> Path:
    """Write the cells of CSV files to a Parquet file, each column as what all its cells are.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    cells : CsvTable
    folder : Path
        Where to write.
    as_text : collection of str
        Columns that are text whatever their cells look like.
    """
    raw, packed = folder / "cells.parquet", folder / "rows.parquet"
    connection.execute(f"COPY ({cells.query}) TO {text(raw)} (FORMAT parquet)")
    columns = ", ".join(f"{_cell(column)} AS {name(column)}" for column in cells.columns)
    query = f"(SELECT {columns} FROM read_parquet({text(escaped(raw))}))"
    tests = [test for column in cells.columns for test in _tests(name(column))]
    (found,) = connection.sql(f"SELECT {', '.join(tests)} FROM {query}").fetchall()
    typed = []
    for k, column in enumerate(cells.columns):
        whole, number, boolean = found[3 * k : 3 * k + 3]
        kind = "BIGINT" if whole else "DOUBLE" if number else "BOOLEAN" if boolean else "VARCHAR"
        kind = "VARCHAR" if column in as_text else kind
        typed.append(f"{name(column)}::{kind} AS {name(column)}")
    connection.execute(
        f"COPY (SELECT {', '.join(typed)} FROM {query}) TO {text(packed)} (FORMAT parquet)"
    )
    raw.unlink()
    return packed


def _cell(column: str) -> str:
    trimmed = f"trim({name(column)}, {_BLANKS})"
    return f"CASE WHEN {trimmed} IN ({_NULLS}) THEN NULL ELSE {trimmed} END"


def _tests(cell: str) -> list[str]:
    """Whether all cells that are there are whole numbers, numbers, or true and false."""
    whole = f"TRY_CAST({cell} AS BIGINT) IS NOT NULL AND NOT regexp_matches({cell}, '[^0-9+-]')"
    # DuckDB reads 1_000 as a number, nobody else does
    number = f"TRY_CAST({cell} AS DOUBLE) IS NOT NULL AND NOT contains({cell}, '_')"
    boolean = f"lower({cell}) IN ('true', 'false')"
    return [
        f"coalesce(bool_and({test}) FILTER ({cell} IS NOT NULL), {without_any})"
        for test, without_any in ((whole, "false"), (number, "true"), (boolean, "false"))
    ]
