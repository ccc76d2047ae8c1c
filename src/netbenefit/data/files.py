"""Tables from files: CSV and Parquet, both read by DuckDB.

Columns of booleans, integers and floats are numpy arrays of that kind, those of text are object
arrays.  Missing is NaN among numbers and None among text.

Python itself reads the header of a CSV file, which DuckDB would guess; and, where DuckDB refuses a
file, all of it, to name the line.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import Frame, plain_number
from netbenefit.common import InputError, Table, at, check_names, replacing

_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_PARQUET = (".parquet", ".pq")
#: How the name of a readable file may end.
SUFFIXES = (*_CSV, *_PARQUET)

#: Cells that mean "not known".
MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "NULL", "null"})
_BOOLEANS = {"true": True, "false": False}
_INT64 = 2**63


class RawFile:
    """A table from a file: plain columns by name, and a data frame where these have categories."""

    def __init__(self, columns: dict[str, NDArray[Any]], frame: Any = None) -> None:
        self.columns = columns
        self._frame = frame

    def rows(self, names: Sequence[str], kept: NDArray[np.intp] | None = None) -> Any:
        """Return some columns, of all rows or of those ``kept``, for a binner."""
        if self._frame is None or not names:
            return {n: self.columns[n] if kept is None else self.columns[n][kept] for n in names}
        import narwhals as nw  # late: most files hold no categories

        chosen = nw.from_native(self._frame, eager_only=True).select(list(names))
        return (chosen if kept is None else chosen[kept.tolist()]).to_native()


def raw_file(native: Any, place: str) -> RawFile:
    """Return a data frame that came from ``place`` as if it had been read from a file."""
    with at(place):
        frame = Frame(native)
        columns = {name: frame.column(name) for name in frame.names}
    check_not_empty(place, len(columns), len(frame))
    return RawFile(columns, native)


def check_not_empty(place: str, n_columns: int, n_rows: int = 1) -> None:
    """Refuse a table without columns or rows."""
    for what, number in (("columns", n_columns), ("rows", n_rows)):
        if not number:
            raise InputError(f"{place}: the table has no {what}. Add some.")


def format_of(path: Path) -> Literal["csv", "parquet"]:
    """Return the format of a file by its name."""
    name = path.name.lower()
    if name.endswith(_PARQUET):
        return "parquet"
    if name.endswith(_CSV):
        return "csv"
    raise InputError(
        f"{path}: cannot tell the format from the name. It has to end in one of "
        f"{', '.join(SUFFIXES)}."
    )


def write_csv(table: Table, path: str | Path) -> None:
    """Write a tidy table; missing numbers become empty cells, and text is never a formula."""
    columns = [column.tolist() for column in table.values()]
    with replacing(path) as draft, open(draft, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(_no_formula, table))
        for row in zip(*columns, strict=True):
            writer.writerow("" if cell != cell else _no_formula(cell) for cell in row)


def _no_formula(cell: Any) -> Any:
    """Put an apostrophe before text that a spreadsheet would compute: =, +, -, @ and the like."""
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    return cell if plain_number(cell) is not None else f"'{cell}"


# -- CSV -------------------------------------------------------------------------------------------


def is_gzip(path: Path) -> bool:
    """Whether a file's name says that it is gzipped."""
    return path.name.lower().endswith(".gz")


def read_header(path: Path) -> tuple[tuple[str, ...], str, bool]:
    """Return a CSV file's column names, what separates cells, and whether it is one line."""
    with _opened(path) as reader:
        names = _header(next(reader), path)
        return names, reader.dialect.delimiter, reader.line_num == 1


def rewrite(path: Path, copy: Path) -> None:
    """Copy a CSV file as plainly as it can be written, or name the line that is wrong.

    DuckDB words its errors differently from version to version, and refuses files whose lines end
    in several ways, which is not the user's concern.
    """
    with _opened(path) as reader, open(copy, "w", encoding="utf-8", newline="") as file:
        separator = reader.dialect.delimiter
        writer = csv.writer(file, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
        header = next(reader)
        writer.writerow(range(len(header)))  # the names are not read again
        for row in reader:
            if len(row) == len(header):
                writer.writerow(row)
            elif row:  # a blank line is no row
                raise InputError(
                    f"{path}, line {reader.line_num}: {len(row)} cells, but the header names "
                    f"{len(header)} columns. Repair the line; a cell that holds a separator needs "
                    "quotes."
                )


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file for Python's CSV reader; report what is wrong with one that cannot be read."""
    reader: Any = None
    try:
        # utf-8-sig skips the mark that spreadsheets put in front.
        opened = gzip.open if is_gzip(path) else open
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            reader = _reader(file, path)
            yield reader
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}. Repair the line.") from None
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: not UTF-8 text. Save it as CSV in UTF-8 (or rename it, if it is Parquet)."
        ) from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise InputError(f"{path}: not a whole gzip file. Fetch or compress it again.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from None


def _reader(file: IO[str], path: Path) -> Any:
    """Return a reader of the whole file, with the separator that its first lines suggest."""
    first = file.readline()
    if not first.strip():
        what = "the first line is blank" if first else "the file is empty"
        raise InputError(f"{path}: {what}. The first line has to name the columns.")
    second = file.readline()
    delimiter = _delimiter(first, second, path)
    # As in DuckDB, a cell may have blanks before its opening quote.
    lines = chain((first, second), file)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)


def _delimiter(header: str, row: str, path: Path) -> str:
    """Tab in a .tsv; elsewhere comma, semicolon or tab, whichever header and first row agree on."""
    if ".tsv" in path.name.lower():
        return "\t"
    found = [d for d in (",", ";", "\t") if d in header]
    agreed = {d: n for d in found if (n := _width(header, d)) > 1 and n == _width(row, d)}
    return max(agreed, key=agreed.__getitem__) if agreed else next(iter(found), ",")


def _width(line: str, delimiter: str) -> int:
    """Return the number of cells of a line; 0 where it is unknown."""
    try:
        return len(next(csv.reader([line], delimiter=delimiter), ()))
    except csv.Error:
        return 0


def _header(cells: list[str], path: Path) -> tuple[str, ...]:
    names = [cell.strip() for cell in cells]
    if all(name in MISSING or isinstance(read_cell(name), int | float) for name in names):
        raise InputError(
            f"{path}: the first line names no columns, it holds {names[0]!r}. Put a line with the "
            "names of the columns in front."
        )
    if names.count("") > 1:
        raise InputError(f"{path}: {names.count('')} columns have no name. Name them all.")
    with at(str(path)):
        return check_names(names)


def read_cell(text: str) -> bool | int | float | str | None:
    """Read one cell, by the rules for DuckDB: None where missing, and 1_000 is text."""
    if text in MISSING:
        return None
    if text.isalpha() and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if "_" in text or not text.isascii():  # Python alone reads 1_000 and digits of other scripts
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    if text.lstrip("+-").isdecimal() and abs(number) <= _INT64:
        whole = int(text)
        return whole if -_INT64 <= whole < _INT64 else number
    return number
