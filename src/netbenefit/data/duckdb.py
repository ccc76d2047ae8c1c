"""A source opened: a table that DuckDB reads where it is, and that is never all in memory."""

from __future__ import annotations

import gzip
import importlib.util
import os
import re
import threading
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import plain_array
from netbenefit.common import Display, InputError, InputWarning, Remedy, at, check_names
from netbenefit.data.files import (
    MISSING,
    FileFormat,
    RawFile,
    check_not_empty,
    format_of,
    is_gzip,
    lines_of,
    raw_file,
    read_layout,
    rewrite,
)
from netbenefit.data.sources import Engine, Source, attach_database, duckdb_errors, name, text

if TYPE_CHECKING:
    from rich.console import Console

# -- CSV files as one table of text, and what its columns are --------------------------------------
# A column is what all its cells are: whole numbers, numbers, true and false, else text.  So all
# cells are looked at before one is converted.  DuckDB's own guess looks at some, reads 1_000 as a
# number and recognises dates.

_NULLS = text("|".join(sorted(map(re.escape, MISSING))))
#: What Python's ``str.strip`` removes, for DuckDB's regular expressions.
_BLANK = r"[\s\pZ\x0b\x1c-\x1f\x{85}]"
#: Cells such as 007, and numbers of more digits than any number holds.
_LOSES = (
    "regexp_matches(cell, '^[+-]?0[0-9]') OR (TRY_CAST(cell AS BIGINT) IS NULL "
    "AND length(regexp_replace(cell, '[^0-9]', '', 'g')) > 15)"
)
#: CSV files of up to this many bytes are read by a single thread of DuckDB.
_ALONE = 2**20


class _Part(NamedTuple):
    """A file of cells, and what is needed to read it."""

    named: Path  #: the file that users named
    file: Path  #: the same, or a copy of it
    header: tuple[str, ...]
    separator: str
    how: FileFormat  #: how it is read, all of it found out
    kinds: tuple[str, ...] = ()  #: the types of columns, where the file says them

    def read(self, *others: _Part) -> str:
        """Return SQL for all cells of this file, and others like it, as h0, h1 and so on."""
        named = ", ".join(f"h{k}: 'VARCHAR'" for k in range(len(self.header)))
        listed = ", ".join(text(escaped(part.file)) for part in (self, *others))
        # Several threads may start inside a cell of several lines and take its lines for rows; a
        # single thread overlooks a quote that never ends, which a copy does not have.
        parallel = str(self.file == self.named).lower()
        packing = "gzip" if is_gzip(self.file) else "none"
        # A blank line is not a row; in a table of one column, DuckDB reads it as a missing value.
        rows = " WHERE h0 IS NOT NULL" if len(self.header) == 1 else ""
        return (
            f"FROM read_csv([{listed}], columns = {{{named}}}, auto_detect = false, header = true, "
            f"delim = {text(self.separator)}, quote = '\"', escape = '\"', allow_quoted_nulls = "
            f"false, parallel = {parallel}, compression = {packing}, "
            f"hive_partitioning = false){rows}"
        )

    def copied(self, folder: Path) -> _Part:
        """Return a plain copy; lines that are wrong are an error."""
        if self.kinds:
            return self
        copy = _new_file(folder)
        rewrite(self.named, self.how, copy)
        return self._replace(file=copy)

    def lines(self) -> Iterator[int]:
        """Return the line of the file that each row begins in."""
        if not self.kinds:
            return lines_of(self.named, self.how)
        from netbenefit.data.xlsx import rows_of_sheet

        return rows_of_sheet(self.named, self.how.sheet)

    @classmethod
    def of(cls, file: Path, how: FileFormat, folder: Path) -> _Part:
        """Look at a file; all but plain CSV files are copied."""
        if format_of(file) == "xlsx":
            from netbenefit.data.xlsx import copy_sheet

            copy = _new_file(folder)
            names, kinds = copy_sheet(file, how.sheet, copy)
            return cls(file, copy, names, ",", how, kinds)
        layout = read_layout(file, how)
        how = replace(how, encoding=layout.encoding, delimiter=layout.separator)
        part = cls(file, file, layout.names, layout.separator, how)
        # DuckDB expects all lines to end like the first one, even if that is inside a name.
        return part if layout.is_plain else part.copied(folder)


def _new_file(folder: Path) -> Path:
    return folder / f"copy {len(list(folder.iterdir()))}.csv"


class _Cells(NamedTuple):
    """All cells of some files."""

    place: str  #: where SQL finds them, in columns c0, c1, …
    columns: tuple[str, ...]  #: the names of these
    differing: dict[str, str]  #: columns that some files do not have, with a sentence about it
    parts: list[_Part]  #: in the order of their rows

    def place_of(self, row: int) -> str:
        """Say where a row stands, by the line of its file."""
        for part in self.parts:
            for line in part.lines():
                if not row:
                    kind = "row" if part.kinds else "line"
                    return f"{kind} {line}" + f" of {part.named}" * (len(self.parts) > 1)
                row -= 1
        raise InputError("a file has changed while it was read. Try again.")


def escaped(file: Path) -> str:
    """Return a file's name such that DuckDB does not take it for a pattern."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(file))


def _read_cells(engine: Engine, source: Source, on_disk: bool, keep_all: bool = False) -> _Cells:
    """Read the cells of files with the same columns, in any order, once.

    A first column without a name names the rows: it is left out, unless all columns are to be kept.
    """
    import duckdb

    parts = [_Part.of(file, source.how, engine.folder) for file in source.files]
    if keep_all:
        named = _row_name([one for part in parts for one in part.header])
        parts = [
            part._replace(header=(part.header[0] or named, *part.header[1:])) for part in parts
        ]
    columns = tuple(dict.fromkeys(column for part in parts for column in part.header if column))
    differing = _absent_columns({part.named: part.header for part in parts})
    try:
        place, n_rows = _store(engine, parts, columns, on_disk)
    except (duckdb.InvalidInputException, duckdb.IOException):
        parts = [
            part if _is_readable(engine, part) else part.copied(engine.folder) for part in parts
        ]
        place, n_rows = _store(engine, parts, columns, on_disk)
    if _is_in_doubt(engine, parts, place, len(columns)):
        parts = [part.copied(engine.folder) for part in parts]
        place, n_rows = _store(engine, parts, columns, on_disk)
    if not n_rows:
        raise InputError(f"{source.shown}: there are no rows below the header. Add some.")
    for part in parts:
        if "" in part.header:
            _check_unnamed(engine, part)
            warnings.warn(
                InputWarning(
                    f"{part.named}: the first column has no name. It is taken for row names and "
                    "left out; to use it, give it a name."
                ),
                stacklevel=2,
            )
    return _Cells(place, columns, differing, [part for group in _groups(parts) for part in group])


def _absent_columns(headers: Mapping[Path, Collection[str]]) -> dict[str, str]:
    """Find columns that some files do not have, with a sentence about it."""
    found = {}
    for column in dict.fromkeys(column for header in headers.values() for column in header):
        there = next(file for file, header in headers.items() if column in header)
        absent = next((file for file, header in headers.items() if column not in header), None)
        if column and absent is not None:
            found[column] = f"column {column!r} is in {there}, but not in {absent}"
    return found


def _store(
    engine: Engine, parts: Sequence[_Part], columns: Sequence[str], on_disk: bool
) -> tuple[str, int]:
    """Store all cells, because text is slow to read; return where, and how many rows."""
    queries = []
    for first, *others in _groups(parts):
        at = {column: f"h{k}" for k, column in enumerate(first.header)}
        chosen = (f"{at.get(one, 'NULL::VARCHAR')} AS c{k}" for k, one in enumerate(columns))
        queries.append(f"SELECT {', '.join(chosen)} {first.read(*others)}")
    query = " UNION ALL ".join(queries)
    if on_disk:
        file = engine.folder / "cells.parquet"
        place = f"read_parquet({text(escaped(file))})"
        store = f"COPY ({query}) TO {text(file)} (FORMAT parquet)"
    else:
        place, store = "cells", f"CREATE OR REPLACE TEMP TABLE cells AS {query}"
    return place, int(engine.connection.execute(store).fetchall()[0][0])


def _groups(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Put files together that are read alike."""
    groups: dict[tuple[Any, ...], list[_Part]] = {}
    for part in parts:
        alike = (part.header, part.separator, part.file == part.named, is_gzip(part.file))
        groups.setdefault(alike, []).append(part)
    return list(groups.values())


def _row_name(taken: Collection[str]) -> str:
    """Return a name for a first column that has none, which no other column has."""
    used = {one.casefold() for one in taken}
    return next(one for k in count(1) if (one := f"row_name{k if k > 1 else ''}") not in used)


def _check_unnamed(engine: Engine, part: _Part) -> None:
    """Accept a first column without a name if it tells the rows apart."""
    column = part.header.index("")
    if column == 0:
        query = f"SELECT count(*) = count(DISTINCT h0) {part.read()}"
        if engine.connection.sql(query).fetchall()[0][0]:
            return
    raise InputError(f"{part.named}: column {column + 1} has no name. Name it in the first line.")


def _is_in_doubt(engine: Engine, parts: Sequence[_Part], place: str, width: int) -> bool:
    """Whether several threads may have started inside a cell of several lines."""
    large = any(p.file == p.named and p.file.stat().st_size > _ALONE for p in parts)
    tests = " OR ".join(f"regexp_matches(c{k}, '[\\r\\n]')" for k in range(width))
    query = f"SELECT bool_or({tests}) FROM {place}"
    return large and bool(engine.connection.sql(query).fetchall()[0][0])


def _is_readable(engine: Engine, part: _Part) -> bool:
    import duckdb

    try:
        engine.connection.sql(f"SELECT max(COLUMNS(*)) {part.read()}").fetchall()
        return True
    except (duckdb.InvalidInputException, duckdb.IOException):
        return False


def _typed(
    connection: Any,
    source: Source,
    cells: _Cells,
    as_text: Collection[str],
    distinct: bool,
    used: Collection[str] | None = None,
) -> list[str]:
    """Return SQL for each column with the type of all its cells.

    ``distinct`` looks at distinct cells only, which is quicker where memory can hold them.  Columns
    that are not ``used`` stay text where a number would lose digits, as those of a patient's id.
    """
    place, columns = cells.place, cells.columns
    alone = "DISTINCT " if distinct else ""
    every = " UNION ALL ".join(
        f"SELECT {k} AS k, raw FROM (SELECT {alone}c{k} AS raw FROM {place})"
        for k in range(len(columns))
    )
    whole = "TRY_CAST(cell AS BIGINT) IS NOT NULL AND NOT regexp_matches(cell, '[^0-9+-]')"
    # DuckDB alone reads 1_000 and nan(1).
    number = "TRY_CAST(cell AS DOUBLE) IS NOT NULL AND NOT regexp_matches(cell, '[_(]')"
    boolean = "lower(cell) IN ('true', 'false')"
    all_are = ", ".join(
        f"bool_and({test}) FILTER (cell IS NOT NULL)" for test in (whole, number, boolean)
    )
    found = connection.sql(
        f"SELECT k, bool_or(raw IS DISTINCT FROM cell), bool_or({_LOSES}), {_COMMAS}, {all_are} "
        f"FROM (SELECT k, raw, {_meant('raw')} AS cell FROM ({every})) GROUP BY k ORDER BY k"
    ).fetchall()
    commas = {columns[k]: _Commas._make([*row[2:7], row[8]]) for k, *row in found}
    decimal = _with_decimal_commas(source, cells, commas, as_text)
    said = _kinds_said(cells.parts)
    typed = []
    for k, changed, loses, *rest in found:
        tests, column = rest[5:], columns[k]
        kinds = ["BIGINT", "DOUBLE", "BOOLEAN"]
        kind = next((kind for kind, is_so in zip(kinds, tests, strict=True) if is_so), "VARCHAR")
        if tests == [None] * 3:  # every cell is missing
            kind = "DOUBLE"
        kind = said.get(column, kind)
        cell = _meant(f"c{k}") if changed else f"c{k}"
        if column in decimal:
            cell, kind = f"replace({cell}, ',', '.')", "DOUBLE"
        if column in as_text or (loses and used is not None and column not in used):
            kind = "VARCHAR"
        typed.append(f"{cell}::{kind}")
    return typed


def _kinds_said(parts: Sequence[_Part]) -> dict[str, str]:
    """The types of columns that all files state, as workbooks do; text where they differ."""
    found: dict[str, str] = {}
    for part in parts:
        for column, kind in zip(part.header, part.kinds, strict=bool(part.kinds)):
            before = found.setdefault(column, kind)
            if before != kind:
                numbers = {before, kind} == {"BIGINT", "DOUBLE"}
                found[column] = "DOUBLE" if numbers else "VARCHAR"
    return found


# Numbers with a comma: "1,5" is a decimal, "1,234,567" is not, and "1,234" may be either.  A file
# has decimal commas where something else separates its cells, some number can only be a decimal,
# none can only have thousands, and no column has decimal points.  Otherwise --decimal has to say
# so; without it such columns are text, which is refused where numbers are expected.

_COMMA = "'^[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?$'"
_MAY_BE_THOUSANDS = "'^[+-]?[1-9][0-9]{0,2},[0-9]{3}$'"
_THOUSANDS = "'^[+-]?[0-9]{1,3}((,[0-9]{3}){2,}|(,[0-9]{3})+[.][0-9]+)$'"
_COMMAS = f"""
bool_and(regexp_matches(cell, '^[+-]?([0-9]*,)?[0-9]+([eE][+-]?[0-9]+)?$')),
min(cell) FILTER (regexp_matches(cell, {_COMMA})),
bool_or(regexp_matches(cell, {_COMMA}) AND NOT regexp_matches(cell, {_MAY_BE_THOUSANDS})),
min(cell) FILTER (contains(cell, '.')),
bool_or(regexp_matches(cell, {_THOUSANDS}))
"""


class _Commas(NamedTuple):
    """What the cells of a column say about commas."""

    all_fit: bool | None  #: whether all cells are numbers, if a comma is the decimal sign
    comma: str | None  #: a number with a comma
    clear: bool | None  #: whether some comma cannot separate thousands
    point: str | None  #: a cell with a point
    thousands: bool | None  #: whether some comma can only separate thousands
    numbers: bool | None  #: whether all cells are numbers, if a point is the decimal sign


def _with_decimal_commas(
    source: Source, cells: _Cells, found: Mapping[str, _Commas], as_text: Collection[str]
) -> list[str]:
    """Return the columns whose numbers have decimal commas."""
    given = source.how.decimal
    said = _kinds_said(cells.parts)
    looked = {n: one for n, one in found.items() if n not in as_text and n not in said}
    points = {n: one.point for n, one in looked.items() if one.numbers and one.point}
    commas = {n: one.comma for n, one in looked.items() if one.all_fit and one.comma}
    if given == "," and points:
        listed = ", ".join(f"{n!r} (such as {cell})" for n, cell in points.items())
        raise InputError(
            f"{source.shown}: --decimal , but columns have numbers with a point: {listed}. Write "
            "all numbers in one way, or call those columns categorical."
        )
    if given is None:
        clear = any(looked[n].clear for n in commas)
        thousands = any(one.thousands for one in looked.values())
        if points or thousands or not clear or any(part.separator == "," for part in cells.parts):
            return []
        listed = ", ".join(f"{n!r} (such as {cell})" for n, cell in commas.items())
        warnings.warn(
            InputWarning(
                f"{source.shown}: read with decimal commas: {listed}. If the commas separate "
                "thousands, say so: ",
                Remedy("decimal='.'", "--decimal '.'"),
                ".",
            ),
            stacklevel=2,
        )
    return list(commas) if given != "." else []


def _meant(cell: str) -> str:
    """Return SQL for a cell without blanks around it, and NULL for words that mean missing."""
    trimmed = f"regexp_replace({cell}, '^{_BLANK}+|{_BLANK}+$', '', 'g')"
    # Not IN: DuckDB makes a join of that, which does not keep the order of rows.
    return f"(CASE WHEN regexp_full_match({trimmed}, {_NULLS}) THEN NULL ELSE {trimmed} END)"


# -- into memory: one file, or what a query finds --------------------------------------------------


def read_table(
    path: str | Path,
    text: Collection[str] = (),
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> dict[str, NDArray[Any]]:
    """Read a CSV, Excel or Parquet file: its columns by name, in their order.

    A CSV file names its columns in the first line.  Its delimiter (comma, semicolon, tab or bar),
    decimal sign and encoding are found out where they are clear.  A first column without a name
    that tells the rows apart is left out.  Columns of ``text`` are text even where all cells look
    like numbers.  A workbook with more than one sheet needs the name of one.
    """
    return read_raw(path, text, FileFormat(delimiter, decimal, encoding, sheet)).columns


def read_raw(
    path: str | Path, text: Collection[str] = (), how: FileFormat | None = None
) -> RawFile:
    """Read a file as :func:`read_table` does, and keep the categories of a Parquet file."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder. Name the file in it.")
    if not path.exists():
        raise InputError(f"{path}: no such file. Check the name and the folder.")
    how = how or FileFormat()
    source = Source(format_of(path), str(path), (path,), how=how)
    with Engine() as engine, duckdb_errors(source):
        if source.kind == "parquet":
            return _read_parquet(engine.connection, path)
        cells = _read_cells(engine, source, on_disk=False)
        typed = _typed(engine.connection, source, cells, text, distinct=True)
        named = ", ".join(f"{cell} AS c{k}" for k, cell in enumerate(typed))
        arrays = arrays_of(engine.connection.sql(f"SELECT {named} FROM {cells.place}"))
        columns = dict(zip(cells.columns, arrays, strict=True))
        return RawFile(columns, place=cells.place_of)


def _read_parquet(connection: Any, path: Path) -> RawFile:
    place = text(escaped(path))
    fields = connection.sql(f"SELECT name, num_children FROM parquet_schema({place})").fetchall()
    with at(str(path)):
        names = check_names(_top(fields))
    described = f"FROM parquet_kv_metadata({place}) WHERE key = 'ARROW:schema'"
    if connection.sql(described).fetchall() and _has_pyarrow():
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        try:
            if any(map(pa.types.is_dictionary, pq.read_schema(path).types)):
                return raw_file(pq.read_table(path), str(path))  # DuckDB ignores categories
        except (pa.ArrowException, OSError, UnicodeError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"{path}: pyarrow cannot read it as Parquet: {reason}") from None
    arrays = arrays_of(connection.sql(f"FROM read_parquet({place}, hive_partitioning = false)"))
    check_not_empty(str(path), len(arrays), arrays[0].size if arrays else 0)
    return RawFile(dict(zip(names, arrays, strict=True)))


def _top(fields: Sequence[tuple[str, int | None]]) -> list[str]:
    """Return the names of a Parquet file's columns, which DuckDB changes where case alone differs.

    The fields inside a column follow it.
    """
    names, inner = [], 0
    for name_, children in fields[1:]:
        if not inner:
            names.append(name_)
        else:
            inner -= 1
        inner += children or 0
    return names


def _has_pyarrow() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def arrays_of(relation: Any) -> list[NDArray[Any]]:
    """Fetch the columns of a DuckDB relation, without pyarrow or pandas.

    Numbers of which some are missing become float64, with NaN for those; what is no number becomes
    Python objects, with None where missing.
    """
    kinds = [str(kind) for kind in relation.types]
    cells = (f"#{k + 1}{_AS.get(kind.partition('(')[0], '')}" for k, kind in enumerate(kinds))
    named = ", ".join(f"{cell} AS c{k}" for k, cell in enumerate(cells))
    found = relation.project(named).fetchnumpy().values()
    return [_array(kind, column) for kind, column in zip(kinds, found, strict=True)]


#: What DuckDB cannot put into numpy's arrays, or not exactly.
_AS = {
    "DECIMAL": "::VARCHAR::DOUBLE",  # its own way to floats is off by a bit
    "HUGEINT": "::VARCHAR",
    "UHUGEINT": "::VARCHAR",
    "ENUM": "::VARCHAR",
    "TIME WITH TIME ZONE": "::VARCHAR",
}


def _array(kind: str, column: Any) -> NDArray[Any]:
    if column.dtype.kind in "mM":
        unit = "D" if kind == "DATE" else "us"
        column = column.astype(f"{column.dtype.kind}8[{unit}]").astype(object)
    elif kind in ("HUGEINT", "UHUGEINT"):
        column = np.ma.array([v and int(v) for v in column.tolist()], object)
    return plain_array(column)


# -- progress on a terminal: a bar, fed from a thread that looks while queries run -----------------

_PAUSE = 0.1


class QueryBar(Display):
    """Shows how far a connection's query is; ``words`` say what is being done."""

    def __init__(
        self, connection: Any, words: str, *, shown: bool = True, console: Console | None = None
    ) -> None:
        super().__init__(shown=shown, console=console)
        self._connection, self._words = connection, words
        self._over = threading.Event()

    def say(self, words: str) -> None:
        """Begin another part of the work."""
        if self._live is not None:
            self._live.reset(self._task, total=None, description=words)

    def _draw(self, console: Console) -> Any:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        # DuckDB keeps count only with its bar enabled, which is not printed.
        self._connection.execute("SET enable_progress_bar_print = false")
        self._connection.execute("SET enable_progress_bar = true")
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        bar = Progress(*columns, console=console, transient=True)
        self._task = bar.add_task(self._words, total=None)
        self._thread = threading.Thread(target=self._watch, args=(bar,), daemon=True)
        self._thread.start()
        return bar

    def _watch(self, bar: Any) -> None:
        while not self._over.wait(_PAUSE):
            try:
                percent = float(self._connection.query_progress())
            except Exception:  # a closed connection is the end of the work, not an error
                return
            if 0 <= percent <= 100:
                bar.update(self._task, completed=percent, total=100)

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._live is not None:
            self._thread.join()
        super().__exit__(*error)


# -- tables that stay where they are ---------------------------------------------------------------

_KEY = "netbenefit row"
_NUMBERS = ("INT", "FLOAT", "DOUBLE", "DECIMAL")
_SHARES = 2**32


@dataclass(frozen=True)
class OpenTable(AbstractContextManager["OpenTable"]):
    """A table that DuckDB reads where it is; to be closed, or used in a ``with``."""

    source: Source
    engine: Engine
    query: str  #: SQL for all rows and columns
    columns: tuple[str, ...]
    n_rows: int
    #: Columns that are not alike in all files, with a sentence about it.
    differing: dict[str, str] = field(default_factory=dict)
    #: SQL for all columns and one that identifies a row, the same each time; None if impossible.
    keyed: str | None = None
    #: Says where a row stands, such as "line 7", if files tell.
    place_of: Callable[[int], str] | None = None

    @property
    def connection(self) -> Any:
        """The DuckDB connection."""
        return self.engine.connection

    def relation(self, columns: Sequence[str] | None = None) -> Any:
        """Return some columns, or all, as a lazy DuckDB relation."""
        if columns is None:
            return self.connection.sql(self.query)
        return self.connection.sql(f"SELECT {_list(columns)} FROM ({self.query})")

    def split(self, share: float, seed: int, columns: Sequence[str]) -> tuple[Any, Any]:
        """Return rows to learn from and rows held out: each row by a draw of its own.

        The draw is a hash of the row's place (its number in its file or table) and the seed, so
        that every pass over the data draws the same, and equal rows are drawn one by one.
        """
        if self.keyed is None:
            raise InputError(
                f"{self.source.shown}: ",
                Remedy("a split", "--holdout"),
                " needs rows that can be told apart, which a view and a table behind PostgreSQL do "
                "not offer to DuckDB. Copy the table into a Parquet file first",
                Remedy(".", ", or name other rows for `netbenefit evaluate`."),
            )
        limit = round(share * _SHARES)
        drawn = f"hash({name(_KEY)}, {int(seed)}) % {_SHARES} < {limit}"
        query = f"SELECT {_list(columns)} FROM ({self.keyed}) WHERE"
        return (
            self.connection.sql(f"{query} NOT ({drawn})"),
            self.connection.sql(f"{query} {drawn}"),
        )

    def without_missing(self, column: str) -> OpenTable:
        """Return the table of the rows that have a value in a column."""
        kept = f"WHERE {name(column)} IS NOT NULL"
        kinds = dict(zip(self.columns, map(str, self.relation().types), strict=True))
        if kinds[column] in ("FLOAT", "DOUBLE"):
            kept += f" AND NOT isnan({name(column)})"
        query = f"SELECT * FROM ({self.query}) {kept}"
        n_rows = int(self.connection.sql(f"SELECT count(*) FROM ({query})").fetchall()[0][0])
        keyed = None if self.keyed is None else f"SELECT * FROM ({self.keyed}) {kept}"
        return replace(self, query=query, keyed=keyed, n_rows=n_rows)

    def check_columns(self, names: Collection[str]) -> None:
        """Refuse to use columns that are not alike in all files."""
        for column in names:
            if column in self.differing:
                raise InputError(
                    f"{self.source.shown}: {self.differing[column]}. Repair the files, name "
                    "others, or leave the column out."
                )

    def read(self, columns: Sequence[str] | None = None, n_rows: int | None = None) -> RawFile:
        """Read all columns or some, of all rows or of the first, into memory."""
        with duckdb_errors(self.source):
            relation = self.relation(columns)
            relation = relation if n_rows is None else relation.limit(n_rows)
            if _has_pyarrow() and any(str(kind).startswith("ENUM") for kind in relation.types):
                fetch = getattr(relation, "to_arrow_table", None) or relation.fetch_arrow_table
                return raw_file(fetch(), self.source.shown)  # it keeps categories
            arrays = dict(zip(columns or self.columns, arrays_of(relation), strict=True))
            return RawFile(arrays, place=self.place_of)

    def close(self) -> None:
        """Close the database, and remove what it left on disk."""
        self.engine.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def open_source(
    source: Source,
    *,
    as_text: Collection[str] = (),
    used: Collection[str] | None = None,
    engine: Engine | None = None,
    tell: Callable[[str], None] | None = None,
) -> OpenTable:
    """Open a source with DuckDB.

    Columns ``as_text`` of CSV files are text whatever their cells look like.  Where it is said
    which columns are ``used``, all others are kept as they are: a first one without a name is
    called ``row_name``, and none loses digits.  The table closes its ``engine``, by default a new
    one.  ``tell`` is called while rows of a server are copied.
    """
    engine = engine or Engine()
    try:
        with duckdb_errors(source):
            if source.kind in ("csv", "xlsx"):
                return _open_csv(source, engine, as_text, used)
            if source.kind == "parquet":
                return _open_parquet(source, engine)
            if source.kind == "duckdb":
                place, is_table = attach_database(engine, source)
                return _open(source, engine, place, ("rowid", place) if is_table else None)
            from netbenefit.data.postgresql import copy_postgresql

            place = copy_postgresql(source, engine, tell)
            return _open(source, engine, place, ("rowid", place))
    except BaseException:
        engine.close()
        raise


def _open_csv(
    source: Source, engine: Engine, as_text: Collection[str], used: Collection[str] | None
) -> OpenTable:
    cells = _read_cells(engine, source, True, keep_all=used is not None)
    _check_case(source, cells.columns)
    typed = _typed(engine.connection, source, cells, as_text, distinct=False, used=used)
    named = ", ".join(f"{c} AS {name(one)}" for c, one in zip(typed, cells.columns, strict=True))
    file = engine.folder / "rows.parquet"
    engine.connection.execute(
        f"COPY (SELECT {named} FROM {cells.place}) TO {text(file)} (FORMAT parquet)"
    )
    (engine.folder / "cells.parquet").unlink()
    read = f"read_parquet({text(escaped(file))}"
    return _open_rows(source, engine, read, "''", cells.differing, place_of=cells.place_of)


def _open_parquet(source: Source, engine: Engine) -> OpenTable:
    files = ", ".join(text(escaped(file)) for file in source.files)
    differing = _differing_columns(source, engine)
    read = f"read_parquet([{files}], union_by_name = true"
    _check_case(source, engine.connection.sql(f"SELECT * FROM {read})").columns)
    # A file by its name below the folder of all: moving the folder must not change the draw.
    file = f"substr({name(_KEY)}, {_common(source.files) + 1})"
    return _open_rows(source, engine, read, file, differing)


def _open_rows(
    source: Source, engine: Engine, read: str, file: str, differing: dict[str, str], **more: Any
) -> OpenTable:
    """Open what ``read_parquet(…`` reads; ``file`` is SQL for what a row's file is called."""
    options = f"filename = {text(_KEY)}, file_row_number = true"
    keyed = (f"hash({file}, file_row_number)", f"{read}, {options})")
    return _open(source, engine, f"{read})", keyed, differing=differing, **more)


def _open(
    source: Source, engine: Engine, place: str, keyed: tuple[str, str] | None, **more: Any
) -> OpenTable:
    """Open a table; ``keyed`` is SQL for what identifies a row, and for where to find that."""
    connection = engine.connection
    columns = tuple(connection.sql(f"SELECT * FROM {place}").columns)
    n_rows = int(connection.sql(f"SELECT count(*) FROM {place}").fetchall()[0][0])
    check_not_empty(source.shown, len(columns), n_rows)
    query, rows = f"SELECT {_list(columns)} FROM {place}", None
    # The name that DuckDB gives to a row's number may be that of a column.
    if keyed is not None and (keyed[1] == place or "file_row_number" not in columns):
        rows = f"SELECT {_list(columns)}, {keyed[0]} AS {name(_KEY)} FROM {keyed[1]}"
    return OpenTable(source, engine, query, columns, n_rows, keyed=rows, **more)


def _list(columns: Sequence[str]) -> str:
    return ", ".join(map(name, columns))


def _common(files: Sequence[Path]) -> int:
    """Return the length of the common folder's name, with which all names of files begin."""
    try:
        folder = os.path.commonpath([file.parent for file in files])
    except ValueError:  # on several drives, or relative and absolute
        return 0
    return 0 if folder in ("", ".") else len(folder.rstrip("/")) + 1


def _differing_columns(source: Source, engine: Engine) -> dict[str, str]:
    """Find columns that are numbers in one Parquet file and text in another, or are not in all."""
    kinds = {}
    for file in source.files:
        query = f"SELECT * FROM read_parquet({text(escaped(file))}, hive_partitioning = false)"
        with duckdb_errors(Source("parquet", str(file))):
            relation = engine.connection.sql(query)
        types = map(_kind_of, map(str, relation.types))
        kinds[file] = dict(zip(relation.columns, types, strict=True))
    differing = _absent_columns(kinds)
    seen: dict[str, tuple[str, Path]] = {}
    for file, own in kinds.items():
        for column, kind in own.items():
            before, where = seen.setdefault(column, (kind, file))
            if kind != before:
                differing.setdefault(
                    column, f"column {column!r} holds {before} in {where}, but {kind} in {file}"
                )
    return differing


def _kind_of(duckdb_type: str) -> str:
    """What a DuckDB type means to a person."""
    if any(word in duckdb_type for word in _NUMBERS) and duckdb_type[-1] != "]":
        return "numbers"
    if duckdb_type == "VARCHAR" or duckdb_type.startswith("ENUM"):
        return "text"
    if duckdb_type == "BOOLEAN":
        return "true and false"
    return "dates" if duckdb_type.startswith(("DATE", "TIME")) else duckdb_type


def _check_case(source: Source, columns: Sequence[str]) -> None:
    """Refuse names that DuckDB does not distinguish."""
    seen: dict[str, str] = {}
    for column in columns:
        other = seen.setdefault(column.casefold(), column)
        if other != column:
            raise InputError(
                f"{source.shown}: columns {other!r} and {column!r} differ in case alone, which "
                "DuckDB ignores. Rename one of them, or ",
                Remedy("read a single file into memory.", "name a single file and --no-stream."),
            )


# -- how large a source is, without reading it; and from what size on it is not read into memory ---

#: Tables that are larger than this, in rows or on disk, stay where they are.
STREAM_ROWS, STREAM_BYTES = 1_000_000, 500_000_000
_LOOK = 2**16
_PACKED = 5  #: how much a gzipped table grows, about


class Size(NamedTuple):
    """Rows (exact or about), bytes on disk (0 where unknown), and in how many files."""

    rows: int
    exact: bool
    n_bytes: int = 0
    n_files: int = 1

    @property
    def is_large(self) -> bool:
        """Whether the table is too large to be read into memory by default."""
        return self.rows > STREAM_ROWS or self.n_bytes > STREAM_BYTES

    def __str__(self) -> str:
        about = "" if self.exact else "about "
        files = f" in {self.n_files:,} files" if self.n_files > 1 else ""
        return f"{about}{self.rows:,} rows{files}" + (
            f" ({_bytes(self.n_bytes)})" if self.n_bytes else ""
        )


def size_of_table(table: OpenTable) -> Size:
    """Return the size of an open table."""
    source = table.source
    if source.kind in ("duckdb", "postgresql"):  # the file holds other tables, too
        return Size(table.n_rows, True)
    return Size(table.n_rows, True, source.n_bytes, len(source.files))


def size_of_file(source: Source) -> Size:
    """Estimate the size of one CSV file from its first lines; a Parquet file states its own."""
    file = source.files[0]
    n_bytes = source.n_bytes
    if source.kind == "parquet":
        return Size(_rows_of_parquet(file), True, n_bytes)
    if source.kind == "xlsx":  # a sheet has at most 1,048,576 rows
        return Size(0, False, n_bytes)
    whole = n_bytes * (_PACKED if is_gzip(file) else 1)
    try:
        with gzip.open(file, "rb") if is_gzip(file) else open(file, "rb") as opened:
            look = opened.read(_LOOK)
    except (OSError, EOFError, zlib.error):  # reported when the file is read
        return Size(0, False, n_bytes)
    # Sizes are compared unpacked, because that is what memory has to hold.
    return Size(int(look.count(b"\n") / max(len(look), 1) * whole), False, whole)


def _rows_of_parquet(file: Path) -> int:
    """Return how many rows a file says it has; 0 for a broken one, reported when it is read."""
    import duckdb

    query = f"SELECT num_rows FROM parquet_file_metadata({text(escaped(file))})"
    try:
        with duckdb.connect() as base:
            return int(base.sql(query).fetchall()[0][0])
    except duckdb.Error:
        return 0


def _bytes(number: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            value = number / size
            return f"{value:.1f} {unit}" if value < 10 and unit == "GB" else f"{value:,.0f} {unit}"
    return f"{number} bytes"
