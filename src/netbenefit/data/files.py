"""Tables from files: CSV, Excel and Parquet, all read by DuckDB.

Columns of booleans, integers and floats are numpy arrays of that kind, those of text are object
arrays.  Missing is NaN among numbers and None among text.

Python itself reads the header of a CSV file, which DuckDB would guess; and, where DuckDB refuses a
file, all of it, to name the line.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import Frame, plain_number
from netbenefit.common import InputError, InputWarning, Remedy, Table, at, check_names, replacing

_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_PARQUET = (".parquet", ".pq")
_XLSX = (".xlsx", ".xlsm")
#: How the name of a readable file may end.
SUFFIXES = (*_CSV, *_XLSX, *_PARQUET)
#: Problems of a file to list; the rest are counted.
_MOST_PROBLEMS = 10

#: Cells that mean "not known".
MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "NULL", "null"})
_BOOLEANS = {"true": True, "false": False}
_INT64 = 2**63


@dataclass(frozen=True)
class FileFormat:
    """How text files and workbooks are to be read; what is None is found out."""

    delimiter: str | None = None  #: what separates cells
    decimal: str | None = None  #: the sign before decimals: a point or a comma
    encoding: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise InputError(
                *_named("delimiter", self.delimiter),
                " must be one sign, such as ; or |, or a tab.",
            )
        if self.decimal not in (None, ".", ","):
            raise InputError(*_named("decimal", self.decimal), " must be a point or a comma.")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            raise InputError(
                *_named("encoding", self.encoding),
                " is not known. Write one such as utf-8, cp1252, cp1250, latin-1 or utf-16.",
            ) from None


def _named(name: str, value: Any) -> tuple[Remedy]:
    return (Remedy(f"{name}={value!r}", f"--{name} {value}"),)


class RawFile:
    """A table from a file: plain columns by name, and a data frame where these have categories.

    ``place`` says where a row stands, such as "line 7"; by default it is counted from 1.
    """

    def __init__(
        self,
        columns: dict[str, NDArray[Any]],
        frame: Any = None,
        place: Callable[[int], str] | None = None,
    ) -> None:
        self.columns = columns
        self._frame = frame
        self.place = place or (lambda row: f"row {row + 1}")

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


def format_of(path: Path) -> Literal["csv", "xlsx", "parquet"]:
    """Return the format of a file by its name."""
    name = path.name.lower()
    if name.endswith(_PARQUET):
        return "parquet"
    if name.endswith(_CSV):
        return "csv"
    if name.endswith(_XLSX):
        return "xlsx"
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


class CsvLayout(NamedTuple):
    """What is needed to read a CSV file."""

    names: tuple[str, ...]
    separator: str
    encoding: str
    is_plain: bool  #: whether the header is one line, and the text is UTF-8


def read_layout(path: Path, how: FileFormat) -> CsvLayout:
    """Read the header of a CSV file, and find out how the file is written."""
    encoding = _find_encoding(path, how)
    with _opened(path, how, encoding) as reader:
        names = read_names(next(reader), path, "the first line")
        plain = reader.line_num == 1 and encoding == "utf-8-sig"
        return CsvLayout(names, reader.dialect.delimiter, encoding, plain)


def rewrite(path: Path, how: FileFormat, copy: Path) -> None:
    """Copy a CSV file as plainly as it can be written, or name the lines that are wrong.

    DuckDB words its errors differently from version to version, and refuses files whose lines end
    in several ways, which is not the user's concern.
    """
    problems: list[str] = []
    with open(copy, "w", encoding="utf-8", newline="") as file:
        writer: Any = None
        for line, row in _records(path, how, problems):
            if writer is None:
                separator, width = row.separator, len(row.names)
                writer = csv.writer(
                    file, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL
                )
                writer.writerow(range(width))  # the names are not read again
            elif len(row) == width:
                writer.writerow(row)
            else:
                number = f"{len(row)} cell{'s' * (len(row) != 1)}"
                problems.append(f"line {line}: {number}, but the header names {width} columns")
    if problems:
        raise InputError(
            list_problems(path, problems),
            " Repair the lines; a cell that holds a separator needs quotes.",
        )


def lines_of(path: Path, how: FileFormat) -> Iterator[int]:
    """Return the line of a CSV file in which each row of the table begins."""
    return (line for line, _ in islice(_records(path, how, []), 1, None))


def list_problems(path: Path, problems: Sequence[str]) -> str:
    """Put all problems of a file into one sentence."""
    more = len(problems) - _MOST_PROBLEMS
    rest = f"; and {more:,} more" if more > 0 else ""
    one = len(problems) == 1
    return f"{path}{', ' if one else ': '}{'; '.join(problems[:_MOST_PROBLEMS])}{rest}."


def _records(path: Path, how: FileFormat, problems: list[str]) -> Iterator[tuple[int, Any]]:
    """Return the layout, then each row that is not blank, with the line where it begins.

    A line that no CSV file can have ends the table, and is added to the problems.
    """
    layout = read_layout(path, how)
    with _opened(path, how, layout.encoding) as reader:
        next(reader)
        yield 1, layout
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader, None)
            except csv.Error as error:
                problems.append(f"line {line}: {error}")
                return
            if row is None:
                return
            if row:  # a blank line is no row
                yield line, row


@contextmanager
def _opened(path: Path, how: FileFormat, encoding: str) -> Iterator[Any]:
    """Open a file for Python's CSV reader; report what is wrong with one that cannot be read."""
    with _reading(path), _unpacked(path) as packed:
        try:
            with io.TextIOWrapper(packed, encoding=encoding, newline="") as file:
                yield _reader(file, path, how)
        except csv.Error as error:
            raise InputError(f"{path}, line 1: {error}. Repair the line.") from None
        except UnicodeError:
            raise InputError(
                f"{path}: not {how.encoding or encoding} text. ", *_NAME_ENCODING
            ) from None


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise InputError(f"{path}: not a whole gzip file. Fetch or compress it again.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from None


def _unpacked(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb") if is_gzip(path) else open(path, "rb"))


# How a file encodes its text: a mark at its start says so; else it is UTF-8 if all of it can be;
# else, if every other byte is 0, UTF-16; else Western European text of Windows, if it looks like
# words of these languages.  Anything else has to be named.

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NAME_ENCODING = (
    "Name its encoding, ",
    Remedy("such as encoding='cp1250'", "such as --encoding cp1250"),
    ", or save it in UTF-8 (or rename it, if it is Parquet).",
)
_LETTERS = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüý"
_SIGNS = "\xa0€‚„…†‡‰‹›‘’“”•–—™¡¢£¥§©«®°±²³´µ¶·¹º»¼½¾¿×÷"
_NO_WESTERN = re.compile(
    rf"[{_LETTERS}]{{3}}"  # Cyrillic and Greek words have hardly any ASCII letters
    rf"|[A-Za-z{_LETTERS}](?![’‘–—·\xa0])[{_SIGNS}][A-Za-z{_LETTERS}]"
    rf"|[^\t\n\r\x20-\x7f{_LETTERS}{_SIGNS}]"
)
_LOOK = 2**20


def _find_encoding(path: Path, how: FileFormat) -> str:
    if how.encoding is not None:
        name = codecs.lookup(how.encoding).name
        return "utf-8-sig" if name in ("utf-8", "ascii") else name
    with _reading(path), _unpacked(path) as file:
        head = file.read(_LOOK)
        for mark, encoding in _MARKS.items():
            if head.startswith(mark):
                return encoding
        if b"\0" in head and (encoding := _utf_16(head)):
            return encoding
        decoder, chunk = codecs.getincrementaldecoder("utf-8")(), head
        try:
            while chunk:
                decoder.decode(chunk)
                chunk = file.read(_LOOK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            pass
        else:
            return "utf-8-sig"
    return _western(path)


def _utf_16(head: bytes) -> str:
    """Which UTF-16 the first line is in, if every other byte is 0; else nothing."""
    for zeros, others, encoding in ((1, 0, "utf-16-le"), (0, 1, "utf-16-be")):
        line = head.split(b"\n")[0]
        line = line[: len(line) // 2 * 2]
        if line and not any(line[zeros::2]) and all(line[others::2]):
            return encoding
    return ""


def _western(path: Path) -> str:
    with _reading(path), _unpacked(path) as file:
        content = file.read()
    refusal = InputError(f"{path}: not UTF-8 text. ", *_NAME_ENCODING)
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        raise refusal from None
    if _NO_WESTERN.search(text):
        raise refusal
    word = re.search(r"\w*[^\x00-\x7f]\w*", text)
    warnings.warn(
        InputWarning(
            f"{path} is not UTF-8 and was read as cp1252, with words such as "
            f"{word[0] if word else ''!r}. If that is wrong, name its encoding: ",
            Remedy("encoding=name", "--encoding NAME"),
            ".",
        ),
        stacklevel=2,
    )
    return "cp1252"


_SAMPLE = 50  #: records that tell what separates cells


def _reader(file: IO[str], path: Path, how: FileFormat) -> Any:
    """Return a reader of the whole file, with the separator that its first lines suggest."""
    first = file.readline()
    if not first.strip():
        what = "the first line is blank" if first else "the file is empty"
        raise InputError(f"{path}: {what}. The first line has to name the columns.")
    sample = [first, *islice(file, _SAMPLE)]
    delimiter = how.delimiter or _delimiter(sample, path)
    # As in DuckDB, a cell may have blanks before its opening quote.
    lines = chain(sample, file)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)


def _delimiter(sample: Sequence[str], path: Path) -> str:
    """Tab in a .tsv; elsewhere the sign that separates all of the first lines alike."""
    if ".tsv" in path.name.lower():
        return "\t"
    found = [d for d in (",", ";", "\t", "|") if d in sample[0]]
    alike = {d: n for d in found if (n := _width(sample, d)) > 1}
    if len(alike) > 1:  # a sign inside quotes leaves halves of them
        whole = {d: n for d, n in alike.items() if not _has_quotes(sample, d)}
        alike = whole or alike
    if len(alike) > 1:
        ways = " or ".join(f"{_sign(d)} ({n} columns)" for d, n in alike.items())
        raise InputError(
            f"{path}: cells may be separated by {ways}. Say by which: ",
            Remedy("delimiter=';'", "--delimiter ';'"),
            ".",
        )
    if alike:
        return next(iter(alike))
    agrees = {d: n for d in found if (n := _width(sample[:2], d)) > 1}
    return max(agrees, key=agrees.__getitem__) if agrees else next(iter(found), ",")


def _sign(delimiter: str) -> str:
    return {"\t": "a tab"}.get(delimiter, repr(delimiter))


def _has_quotes(lines: Sequence[str], delimiter: str) -> bool:
    rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    return any('"' in cell for row in rows for cell in row)


def _width(lines: Sequence[str], delimiter: str) -> int:
    """Return the number of cells of all lines; 0 where it differs, or is unknown."""
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True) if row]
    except csv.Error:
        return 0
    if len(lines) > _SAMPLE:
        del rows[-1]  # it may go on
    return len(rows[0]) if len({len(row) for row in rows}) == 1 else 0


def read_names(cells: Sequence[str], path: Path, place: str) -> tuple[str, ...]:
    """Check the names of columns; a first one may be empty."""
    names = [cell.strip() for cell in cells]
    if all(name in MISSING or isinstance(read_cell(name), int | float) for name in names):
        raise InputError(
            f"{path}: {place} names no columns, it holds {names[0]!r}. Put a line with the "
            "names of the columns in front."
        )
    unnamed = [k for k, name in enumerate(names, 1) if not name]
    if unnamed not in ([], [1]):
        raise InputError(
            f"{path}: columns without a name in {place}: {', '.join(map(str, unnamed))}. Name them "
            "all; only a first column of row names may do without."
        )
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
