"""A source opened: a table that DuckDB reads where it is, and that is never all in memory."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import os
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from netbenefit.common.checks import InputError
from netbenefit.data.connection import Engine, duckdb_errors, name, text
from netbenefit.data.files import MISSING, RawFile, format_of, raw_file, read_header
from netbenefit.data.sources import Listed, Source, pick_table

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "STREAM_BYTES",
    "STREAM_ROWS",
    "CsvTable",
    "OpenTable",
    "QueryBar",
    "Size",
    "csv_cells",
    "escaped",
    "kind_of",
    "open_source",
    "pack",
    "size_of_file",
    "size_of_table",
]


# -- many CSV files as one table of DuckDB, read by the same rules as one file in memory -----------
# A column is what all its cells are: whole numbers, numbers, true and false, else text.  So all
# cells are looked at before the work begins.  Text is slow to read, so the files are read once,
# into a temporary Parquet file.


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


# -- how far DuckDB is, on a terminal: a bar, fed from a thread that asks while queries run --------


_PAUSE = 0.1


class QueryBar:
    """A context manager that shows how far a connection's query is; nothing without a terminal.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    words : str
        What is being done.
    shown : bool, default=True
        False for nothing at all.
    console : rich.console.Console, optional
        Where to draw; stderr by default.

    Examples
    --------
    >>> import duckdb
    >>> with duckdb.connect() as base, QueryBar(base, "counting values") as bar:
    ...     found = base.sql("SELECT sum(i) FROM range(10) t(i)").fetchall()
    ...     bar.say("merging rows")
    """

    def __init__(
        self, connection: Any, words: str, *, shown: bool = True, console: Console | None = None
    ) -> None:
        self._connection, self._words, self._shown = connection, words, shown
        self._console = console
        self._bar: Any = None
        self._task: Any = None
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    def say(self, words: str) -> None:
        """Begin another part of the work."""
        self._words = words
        if self._bar is not None:
            self._bar.reset(self._task, total=None, description=words)

    def __enter__(self) -> QueryBar:
        if not self._shown:
            return self
        from rich.console import Console  # late: rich takes its time to import

        console = self._console or Console(stderr=True)
        if console.is_terminal:
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            # DuckDB draws nothing itself, but keeps count only when asked to.
            self._connection.execute("SET enable_progress_bar_print = false")
            self._connection.execute("SET enable_progress_bar = true")
            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task(self._words, total=None)
            self._bar.start()
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._over.wait(_PAUSE):
            try:
                percent = float(self._connection.query_progress())
            except Exception:  # a closed connection is the end of the work, not an error
                return
            if 0 <= percent <= 100:
                self._bar.update(self._task, completed=percent, total=100)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._bar is not None:
            self._bar.stop()


# --------------------------------------------------------------------------------------------------


_KEY = "netbenefit row"
_NUMBERS = ("INT", "FLOAT", "DOUBLE", "DECIMAL")
_SHARES = 2**32


@dataclass(frozen=True)
class OpenTable:
    """A table that DuckDB reads where it is.

    Parameters
    ----------
    source : Source
    engine : Engine
    query : str
        SQL for all rows and columns.
    columns : tuple of str
    n_rows : int
    odd : dict of str to str
        Columns that are not alike in all files, with a sentence about it.
    keyed : str, optional
        SQL for all rows and columns, and a column that tells rows apart in the same way each time;
        None where there is no such thing.
    copied : bool
        Whether rows were first copied from a server to this machine's disk.
    """

    source: Source
    engine: Engine
    query: str
    columns: tuple[str, ...]
    n_rows: int
    odd: dict[str, str] = field(default_factory=dict)
    keyed: str | None = None
    copied: bool = False

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
        that every pass over the data draws alike, and equal rows are drawn one by one.
        """
        if self.keyed is None:
            raise InputError(
                f"{self.source.shown}: --holdout needs rows that can be told apart, which a view "
                "and a table behind PostgreSQL do not offer to DuckDB. Copy the table into a "
                "Parquet file first, or name other rows for `netbenefit evaluate`."
            )
        limit = round(share * _SHARES)
        drawn = f"hash({name(_KEY)}, {int(seed)}) % {_SHARES} < {limit}"
        query = f"SELECT {_list(columns)} FROM ({self.keyed}) WHERE"
        return (
            self.connection.sql(f"{query} NOT ({drawn})"),
            self.connection.sql(f"{query} {drawn}"),
        )

    def check_columns(self, wanted: Collection[str]) -> None:
        """Refuse to use columns that are not alike in all files."""
        for column in wanted:
            if column in self.odd:
                raise InputError(
                    f"{self.source.shown}: {self.odd[column]}. Repair the files, name others, or "
                    "leave the column out."
                )

    def read(self) -> RawFile:
        """Read the whole table into memory."""
        with duckdb_errors(self.source):
            relation = self.relation()
            fetch = getattr(relation, "to_arrow_table", None) or relation.fetch_arrow_table
            table = fetch()
        return raw_file(table, self.source.shown)

    def sample(self, columns: Sequence[str], n_rows: int = 2000) -> dict[str, NDArray[Any]]:
        """Read the first rows of some columns."""
        relation = self.relation(columns).limit(n_rows)
        fetch = getattr(relation, "to_arrow_table", None) or relation.fetch_arrow_table
        return raw_file(fetch(), self.source.shown).columns

    def close(self) -> None:
        """Close the database, and remove what it left on disk."""
        self.engine.close()

    def __enter__(self) -> OpenTable:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_source(
    source: Source,
    *,
    as_text: Collection[str] = (),
    without: Collection[str] = (),
    memory: str | None = None,
    threads: int = -1,
    engine: Engine | None = None,
    tell: Callable[[str], None] | None = None,
) -> OpenTable:
    r"""Open a source with DuckDB.

    Parameters
    ----------
    source : Source
    as_text : collection of str
        Columns of CSV files that are text whatever their cells look like.
    without : collection of str
        Columns to leave out.
    memory, threads
        As in :class:`Engine`.
    engine : Engine, optional
        An engine to use (and to close with the table), by default a new one.
    tell : callable, optional
        Called with a few words while rows of a server are copied.

    Returns
    -------
    OpenTable
        To be closed, or used in a ``with``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from netbenefit.data.sources import find_source
    >>> folder = Path(tempfile.mkdtemp())
    >>> for k in range(3):
    ...     _ = (folder / f"{k}.csv").write_text(f"age,ill\n5{k},true\n")
    >>> with open_source(find_source([f"{folder}/*.csv"])) as table:
    ...     table.n_rows, table.relation().order("age").fetchall()
    (3, [(50, True), (51, True), (52, True)])
    """
    engine = engine or Engine(memory, threads)
    try:
        with duckdb_errors(source):
            if source.kind == "csv":
                return _open_csv(source, engine, as_text, without)
            if source.kind == "parquet":
                return _open_parquet(source, engine, without)
            if source.kind == "duckdb":
                return _open_duckdb(source, engine, without)
            from netbenefit.data.postgresql import open_postgresql

            found = open_postgresql(source, engine, without, tell)
            return _table(source, engine, found.place, found.columns, found.copied, found.copied)
    except BaseException:
        engine.close()
        raise


def _list(columns: Sequence[str]) -> str:
    return ", ".join(map(name, columns))


# -- files -----------------------------------------------------------------------------------------


def _open_csv(
    source: Source, engine: Engine, as_text: Collection[str], without: Collection[str]
) -> OpenTable:
    cells = csv_cells(source.files, without)
    _refuse_case(source, cells.columns)
    file = pack(engine.connection, cells, engine.folder, as_text)
    read = f"read_parquet({text(escaped(file))}"
    return _parquet(source, engine, read, cells.columns, cells.odd, cells.columns, packed=True)


def _open_parquet(source: Source, engine: Engine, without: Collection[str]) -> OpenTable:
    files = ", ".join(text(escaped(file)) for file in source.files)
    odd = _odd_columns(source, engine)
    read = f"read_parquet([{files}], union_by_name = true"
    every = engine.connection.sql(f"SELECT * FROM {read})").columns
    _refuse_case(source, every)
    columns = tuple(column for column in every if column not in without)
    return _parquet(source, engine, read, columns, odd, every)


def _parquet(
    source: Source,
    engine: Engine,
    read: str,
    columns: tuple[str, ...],
    odd: dict[str, str],
    every: Sequence[str],
    packed: bool = False,
) -> OpenTable:
    """Open what ``read_parquet(…`` reads, which has ``every`` column; or what CSV was packed to."""
    keyed = None
    if "file_row_number" not in every:  # DuckDB calls the number of a row so
        # A file by its name below the folder of all: another place, or our own temporary one, must
        # not change who is drawn.
        file = f"substr({name(_KEY)}, {_common(source.files) + 1})" if not packed else "''"
        place = f"hash({file}, file_row_number) AS {name(_KEY)}"
        options = f"filename = {text(_KEY)}, file_row_number = true"
        keyed = f"SELECT {_list(columns)}, {place} FROM {read}, {options})"
    query, count = f"SELECT {_list(columns)} FROM {read})", _count(engine, f"{read})")
    return _checked(OpenTable(source, engine, query, columns, count, odd, keyed))


def _common(files: Sequence[Path]) -> int:
    """How many signs the names of files begin with that only say in which folder all are.

    >>> _common([Path("data/a/1.pq"), Path("data/b/1.pq")]), _common([Path("1.pq")])
    (5, 0)
    """
    try:
        folder = os.path.commonpath([file.parent for file in files])
    except ValueError:  # on several drives, or relative and absolute
        return 0
    return 0 if folder in ("", ".") else len(folder.rstrip("/")) + 1


def _odd_columns(source: Source, engine: Engine) -> dict[str, str]:
    """Find columns that are numbers in one Parquet file and text in another, or are not in all."""
    seen: dict[str, tuple[str, str]] = {}
    odd: dict[str, str] = {}
    first: set[str] | None = None
    for file in source.files:
        query = f"SELECT * FROM read_parquet({text(escaped(file))}, hive_partitioning = false)"
        with duckdb_errors(Source("parquet", str(file))):
            relation = engine.connection.sql(query)
        kinds = {c: kind_of(str(t)) for c, t in zip(relation.columns, relation.types, strict=True)}
        first = set(kinds) if first is None else first
        for column, kind in kinds.items():
            before, where = seen.setdefault(column, (kind, str(file)))
            if kind != before:
                odd.setdefault(
                    column, f"column {column!r} holds {before} in {where}, but {kind} in {file}"
                )
        for column in first ^ set(kinds):
            there, absent = (source.files[0], file) if column in first else (file, source.files[0])
            odd.setdefault(column, f"column {column!r} is in {there}, but not in {absent}")
    return odd


def kind_of(duckdb_type: str) -> str:
    """What a DuckDB type means to a person.

    >>> [kind_of(word) for word in ("UBIGINT", "DECIMAL(9,2)", "VARCHAR", "TIMESTAMP_NS")]
    ['numbers', 'numbers', 'text', 'dates']
    """
    if any(word in duckdb_type for word in _NUMBERS) and duckdb_type[-1] != "]":
        return "numbers"
    if duckdb_type == "VARCHAR" or duckdb_type.startswith("ENUM"):
        return "text"
    if duckdb_type == "BOOLEAN":
        return "true and false"
    return "dates" if duckdb_type.startswith(("DATE", "TIME")) else duckdb_type


def _refuse_case(source: Source, columns: Sequence[str]) -> None:
    """Refuse names that DuckDB would take for the same."""
    seen: dict[str, str] = {}
    for column in columns:
        other = seen.setdefault(column.casefold(), column)
        if other != column:
            raise InputError(
                f"{source.shown}: columns {other!r} and {column!r} differ in case alone, and DuckDB"
                " takes them for one. Rename one of them, or name a single file and --no-stream."
            )


# -- tables of a database --------------------------------------------------------------------------


def _open_duckdb(source: Source, engine: Engine, without: Collection[str]) -> OpenTable:
    file = text(source.files[0])
    engine.connection.execute(f"ATTACH {file} AS source (TYPE duckdb, READ_ONLY)")
    listed = [
        Listed(*row)
        for row in engine.connection.sql(
            "SELECT table_schema, table_name, table_type FROM information_schema.tables "
            "WHERE table_catalog = 'source' ORDER BY ALL"
        ).fetchall()
    ]
    found = pick_table(source, listed, "main")
    place = f"source.{name(found.schema)}.{name(found.table)}"
    every = engine.connection.sql(f"SELECT * FROM {place}").columns
    columns = tuple(column for column in every if column not in without)
    return _table(source, engine, place, columns, found.kind == "BASE TABLE", False)


def _table(
    source: Source, engine: Engine, place: str, columns: tuple[str, ...], keys: bool, copied: bool
) -> OpenTable:
    query = f"SELECT {_list(columns)} FROM {place}"
    keyed = f"SELECT {_list(columns)}, rowid AS {name(_KEY)} FROM {place}" if keys else None
    count = _count(engine, place)
    return _checked(OpenTable(source, engine, query, columns, count, {}, keyed, copied))


def _count(engine: Engine, place: str) -> int:
    return int(engine.connection.sql(f"SELECT count(*) FROM {place}").fetchall()[0][0])


def _checked(table: OpenTable) -> OpenTable:
    if not table.columns:
        raise InputError(f"{table.source.shown}: the table has no columns. Add some.")
    if not table.n_rows:
        raise InputError(f"{table.source.shown}: the table has no rows. Add some.")
    return table


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
        """Whether the table is too large to be read into memory without being asked to."""
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
    r"""Guess the size of one CSV or Parquet file from its first lines, or from what it says.

    Examples
    --------
    >>> import tempfile
    >>> from netbenefit.data.sources import find_source
    >>> file = Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = file.write_bytes(b"age,ill" + b"\n51,1" * 5000)
    >>> print(size_of_file(find_source([str(file)])))
    about 5,000 rows (25 kB)
    """
    file = source.files[0]
    n_bytes = source.n_bytes
    if format_of(file) == "parquet":
        return Size(_rows_of_parquet(file), True, n_bytes)
    packed = file.name.lower().endswith(".gz")
    whole = n_bytes * (_PACKED if packed else 1)
    try:
        with gzip.open(file, "rb") if packed else open(file, "rb") as opened:
            look = opened.read(_LOOK)
    except OSError:  # said in full when the file is read
        return Size(0, False, n_bytes)
    # Sizes are compared unpacked, for that is what memory has to hold.
    return Size(int(look.count(b"\n") / max(len(look), 1) * whole), False, whole)


def _rows_of_parquet(file: Path) -> int:
    """Read how many rows a file says it has; 0 where nobody can tell without reading it."""
    if importlib.util.find_spec("pyarrow") is None:
        return 0
    try:
        return int(importlib.import_module("pyarrow.parquet").read_metadata(file).num_rows)
    except Exception:  # a broken file: said in full when it is read
        return 0


def _bytes(number: int) -> str:
    """Say how many bytes.

    >>> _bytes(25_000), _bytes(3_400_000_000)
    ('25 kB', '3.4 GB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            value = number / size
            return f"{value:.1f} {unit}" if value < 10 and unit == "GB" else f"{value:,.0f} {unit}"
    return f"{number} bytes"
