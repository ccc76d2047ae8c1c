"""A source opened: a table that DuckDB reads where it is, and that is never all in memory."""

from __future__ import annotations

import gzip
import importlib.util
import os
import re
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import plain_array
from netbenefit.common import Display, InputError, check_names
from netbenefit.data.files import (
    MISSING,
    RawFile,
    format_of,
    is_gzip,
    raw_file,
    read_header,
    rewrite,
)
from netbenefit.data.sources import Engine, Listed, Source, duckdb_errors, name, pick_table, text

if TYPE_CHECKING:
    from rich.console import Console

# -- CSV files as one table of text, and what its columns are --------------------------------------
# A column is what all its cells are: whole numbers, numbers, true and false, else text.  So all
# cells are looked at before one is converted.  DuckDB's own guess looks at some, reads 1_000 as a
# number and knows dates.


_NULLS = text("|".join(sorted(map(re.escape, MISSING))))
#: What Python's ``str.strip`` takes away, for DuckDB's regular expressions.
_BLANK = r"[\s\pZ\x0b\x1c-\x1f\x{85}]"


#: Bytes of a CSV file, and fewer, that DuckDB gives to one thread.
_ALONE = 2**20


class _Cells(NamedTuple):
    """Cells as text, in columns c0, c1, … of one place."""

    place: str  #: how SQL calls them
    columns: tuple[str, ...]
    odd: dict[str, str]  #: columns that some files do not have, with a sentence about it


class _Part(NamedTuple):
    """A CSV file, and what has to be known to read it."""

    named: Path  #: the file as users call it
    file: Path  #: the same, or a copy of it
    header: tuple[str, ...]
    separator: str

    def read(self, *others: _Part) -> str:
        """Return SQL for all cells of this file, and others like it, as h0, h1 and so on."""
        named = ", ".join(f"h{k}: 'VARCHAR'" for k in range(len(self.header)))
        listed = ", ".join(text(escaped(part.file)) for part in (self, *others))
        # Several threads begin inside cells of several lines, and may take them for rows; one alone
        # overlooks a quote that never ends, which a copy does not have.
        parallel = str(self.file == self.named).lower()
        packing = "gzip" if is_gzip(self.file) else "none"
        # A blank line is no row; in a table of one column, DuckDB takes it for a missing value.
        rows = " WHERE h0 IS NOT NULL" if len(self.header) == 1 else ""
        return (
            f"FROM read_csv([{listed}], columns = {{{named}}}, auto_detect = false, header = true, "
            f"delim = {text(self.separator)}, quote = '\"', escape = '\"', allow_quoted_nulls = "
            f"false, parallel = {parallel}, compression = {packing}, "
            f"hive_partitioning = false){rows}"
        )

    def copied(self, folder: Path) -> _Part:
        """Return a plain copy; a line that is wrong is an error."""
        copy = folder / f"copy {len(list(folder.iterdir()))}.csv"
        rewrite(self.named, copy)
        return self._replace(file=copy)


def escaped(file: Path) -> str:
    """Return a file's name so that DuckDB takes it for no pattern.

    >>> escaped(Path("a[1]*.csv"))
    'a[[]1][*].csv'
    """
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(file))


def _read_cells(engine: Engine, source: Source, without: Collection[str], on_disk: bool) -> _Cells:
    """Read the cells of CSV files with the same columns, in any order, once."""
    import duckdb

    parts = []
    for file in source.files:
        header, separator, is_one_line = read_header(file)
        part = _Part(file, file, header, separator)
        # DuckDB takes the first end of a line for that of all, even inside a name.
        parts.append(part if is_one_line else part.copied(engine.folder))
    headers: dict[tuple[str, ...], Path] = {}
    for part in parts:
        headers.setdefault(part.header, part.named)
    every = dict.fromkeys(one for header in headers for one in header if one)
    odd = {}
    for column in every:
        there = [file for header, file in headers.items() if column in header]
        absent = [file for header, file in headers.items() if column not in header]
        if absent:
            odd[column] = f"column {column!r} is in {there[0]}, but not in {absent[0]}"
    columns = tuple(column for column in every if column not in without)
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
    return _Cells(place, columns, odd)


def _store(
    engine: Engine, parts: Sequence[_Part], columns: Sequence[str], on_disk: bool
) -> tuple[str, int]:
    """Put all cells in one place, for text is slow to read; return it, and how many rows."""
    groups: dict[tuple[Any, ...], list[_Part]] = {}
    for part in parts:
        groups.setdefault((*part[2:], part.file == part.named, is_gzip(part.file)), []).append(part)
    queries = []
    for first, *others in groups.values():
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


def _check_unnamed(engine: Engine, part: _Part) -> None:
    """Let a first column without a name go if it just counts the rows, from 0 or from 1."""
    column = part.header.index("")
    if column == 0:
        counted = f"SELECT TRY_CAST(h0 AS BIGINT) - row_number() OVER () AS d {part.read()}"
        test = "min(d) = max(d) AND min(d) IN (0, -1) AND count(d) = count(*)"
        query = f"SELECT coalesce({test}, count(*) = 0) FROM ({counted})"
        if engine.connection.sql(query).fetchall()[0][0]:
            return
    raise InputError(f"{part.named}: column {column + 1} has no name. Name it in the first line.")


def _is_in_doubt(engine: Engine, parts: Sequence[_Part], place: str, width: int) -> bool:
    """Whether several threads may have begun inside a cell of several lines."""
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


def _typed(connection: Any, cells: _Cells, as_text: Collection[str], distinct: bool) -> list[str]:
    """Return SQL for each column as what all its cells are.

    ``distinct`` looks at different cells only, which is quicker where memory can hold them.
    """
    alone = "DISTINCT " if distinct else ""
    every = " UNION ALL ".join(
        f"SELECT {k} AS k, raw FROM (SELECT {alone}c{k} AS raw FROM {cells.place})"
        for k in range(len(cells.columns))
    )
    whole = "TRY_CAST(cell AS BIGINT) IS NOT NULL AND NOT regexp_matches(cell, '[^0-9+-]')"
    # DuckDB reads 1_000 and nan(1), nobody else does.
    number = "TRY_CAST(cell AS DOUBLE) IS NOT NULL AND NOT regexp_matches(cell, '[_(]')"
    boolean = "lower(cell) IN ('true', 'false')"
    all_are = ", ".join(
        f"bool_and({test}) FILTER (cell IS NOT NULL)" for test in (whole, number, boolean)
    )
    found = connection.sql(
        f"SELECT k, bool_or(raw IS DISTINCT FROM cell), {all_are} "
        f"FROM (SELECT k, raw, {_meant('raw')} AS cell FROM ({every})) GROUP BY k ORDER BY k"
    ).fetchall()
    typed = []
    for k, changed, *tests in found:
        kinds = ["BIGINT", "DOUBLE", "BOOLEAN"]
        kind = next((kind for kind, is_so in zip(kinds, tests, strict=True) if is_so), "VARCHAR")
        if tests == [None] * 3:  # no cell is there
            kind = "DOUBLE"
        if cells.columns[k] in as_text:
            kind = "VARCHAR"
        typed.append(f"{_meant(f'c{k}') if changed else f'c{k}'}::{kind}")
    return typed


def _meant(cell: str) -> str:
    """Return SQL for a cell without blanks around it, and NULL for words that mean missing."""
    trimmed = f"regexp_replace({cell}, '^{_BLANK}+|{_BLANK}+$', '', 'g')"
    # Not IN: DuckDB makes a join of that, which does not keep the order of rows.
    return f"(CASE WHEN regexp_full_match({trimmed}, {_NULLS}) THEN NULL ELSE {trimmed} END)"


# -- into memory: one file, or what a query finds --------------------------------------------------


def read_file(path: Path, as_text: Collection[str] = ()) -> RawFile:
    r"""Read one CSV or Parquet file into memory.

    Parameters
    ----------
    path : Path
    as_text : collection of str
        Columns of a CSV file that are text whatever their cells look like.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = file.write_text("age,code\n51,007\nNA,008\n")
    >>> read_file(file, ["code"]).columns
    {'age': array([51., nan]), 'code': array(['007', '008'], dtype=object)}
    """
    source = Source(format_of(path), str(path), (path,))
    with Engine() as engine, duckdb_errors(source):
        connection = engine.connection
        if source.kind == "csv":
            cells = _read_cells(engine, source, (), on_disk=False)
            typed = _typed(connection, cells, as_text, distinct=True)
            named = ", ".join(f"{cell} AS c{k}" for k, cell in enumerate(typed))
            arrays = arrays_of(connection.sql(f"SELECT {named} FROM cells"))
            return RawFile(dict(zip(cells.columns, arrays, strict=True)))
        place = text(escaped(path))
        relation = connection.sql(f"FROM read_parquet({place}, hive_partitioning = false)")
        fields = connection.sql(f"SELECT name, num_children FROM parquet_schema({place})")
        try:
            names = check_names(_top(fields.fetchall()))
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        described = f"FROM parquet_kv_metadata({place}) WHERE key = 'ARROW:schema'"
        if connection.sql(described).fetchall() and has_pyarrow():
            table = _with_categories(path)
            if table is not None:
                return raw_file(table, str(path))
        return _in_memory(relation, names, source)


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


def _with_categories(path: Path) -> Any:
    """Read a Parquet file by pyarrow if it holds categories, of which DuckDB sees but values."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    types = pq.read_schema(path).types
    return pq.read_table(path) if any(map(pa.types.is_dictionary, types)) else None


def has_pyarrow() -> bool:
    """Whether pyarrow is installed, which knows the categories of Arrow."""
    return importlib.util.find_spec("pyarrow") is not None


def _in_memory(relation: Any, names: Sequence[str], source: Source) -> RawFile:
    arrays = arrays_of(relation)
    if not arrays or not arrays[0].size:
        what = "rows" if arrays else "columns"
        raise InputError(f"{source.shown}: the table has no {what}. Add some.")
    return RawFile(dict(zip(names, arrays, strict=True)))


def arrays_of(relation: Any) -> list[NDArray[Any]]:
    """Fetch the columns of a DuckDB relation, without the help of pyarrow or pandas.

    Numbers of which some are missing become float64, with NaN for those; what is no number becomes
    Python objects, with None where missing.

    Parameters
    ----------
    relation : duckdb.DuckDBPyRelation

    Examples
    --------
    >>> import duckdb
    >>> arrays_of(duckdb.sql("SELECT 2::BIGINT AS a, 0.1 AS b, DATE '2020-01-02' AS c"))
    [array([2]), array([0.1]), array([datetime.date(2020, 1, 2)], dtype=object)]
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


# -- how far DuckDB is, on a terminal: a bar, fed from a thread that asks while queries run --------


_PAUSE = 0.1


class QueryBar(Display):
    """A context manager that shows how far a connection's query is; nothing without a terminal.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    words : str
        What is being done.
    shown, console
        As in :class:`~netbenefit.common.progress.Display`.

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
        super().__init__(shown=shown, console=console)
        self._connection, self._words = connection, words
        self._over = threading.Event()

    def say(self, words: str) -> None:
        """Begin another part of the work."""
        if self._live is not None:
            self._live.reset(self._task, total=None, description=words)

    def _draw(self, console: Console) -> Any:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        # DuckDB draws nothing itself, but keeps count only when asked to.
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

    def read(self, columns: Sequence[str] | None = None, n_rows: int | None = None) -> RawFile:
        """Read all columns or some, of all rows or of the first, into memory."""
        with duckdb_errors(self.source):
            relation = self.relation(columns)
            relation = relation if n_rows is None else relation.limit(n_rows)
            if has_pyarrow() and any(str(kind).startswith("ENUM") for kind in relation.types):
                fetch = getattr(relation, "to_arrow_table", None) or relation.fetch_arrow_table
                return raw_file(fetch(), self.source.shown)  # it keeps categories
            return _in_memory(relation, columns or self.columns, self.source)

    def close(self) -> None:
        """Close the database, and remove what it left on disk."""
        self.engine.close()

    def __enter__(self) -> OpenTable:
        return self

    def __exit__(self, *error: object) -> None:
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
    cells = _read_cells(engine, source, without, on_disk=True)
    _refuse_case(source, cells.columns)
    typed = _typed(engine.connection, cells, as_text, distinct=False)
    named = ", ".join(f"{c} AS {name(one)}" for c, one in zip(typed, cells.columns, strict=True))
    file = engine.folder / "rows.parquet"
    engine.connection.execute(
        f"COPY (SELECT {named} FROM {cells.place}) TO {text(file)} (FORMAT parquet)"
    )
    (engine.folder / "cells.parquet").unlink()
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
    import duckdb

    query = f"SELECT num_rows FROM parquet_file_metadata({text(escaped(file))})"
    try:
        with duckdb.connect() as base:
            return int(base.sql(query).fetchall()[0][0])
    except duckdb.Error:  # a broken file: said in full when it is read
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


def read_table(path: str | Path, text: Collection[str] = ()) -> dict[str, NDArray[Any]]:
    r"""Read a CSV or Parquet file.

    A CSV file names its columns in the first line.  Cells are separated by commas, semicolons or
    tabs, as the first two lines tell.  A first column without a name that just numbers
    the rows is left out.

    Parameters
    ----------
    path : path
        Ends in .csv, .tsv (either may be gzipped: .csv.gz), .parquet or .pq.
    text : collection of str
        Columns of a CSV file to take for text, even where all cells look like numbers: another
        part of the same data may hold others.

    Returns
    -------
    dict of str to ndarray
        The columns by name, in the order of the file.

    Raises
    ------
    InputError
        That names the file, the line or column where there is one, and the remedy.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "small.csv")
    >>> _ = file.write_text("age,sex,ill\n51,f,true\n,m,false\n")
    >>> read_table(file)["age"], read_table(file)["ill"]
    (array([51., nan]), array([ True, False]))
    """
    return read_raw(path, text).columns


def read_raw(path: str | Path, text: Collection[str] = ()) -> RawFile:
    """Read a file as :func:`read_table` does, and keep the categories of a Parquet file."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder. Name the file in it.")
    if not path.exists():
        raise InputError(f"{path}: no such file. Check the name and the folder.")
    return read_file(path, text)
