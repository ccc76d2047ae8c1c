"""A source opened: a table that DuckDB reads where it is, and that is never all in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from netbenefit.common.checks import InputError
from netbenefit.data.files import RawFile, raw_file
from netbenefit.data.source_csv import csv_cells, escaped, pack
from netbenefit.data.source_engine import Engine, duckdb_errors, name, text
from netbenefit.data.source_names import Listed, pick_table
from netbenefit.data.sources import Source

__all__ = ["OpenTable", "kind_of", "open_source"]

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
