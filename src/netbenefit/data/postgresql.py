"""A table of PostgreSQL: through DuckDB's own reader, else copied once to this machine's disk.

DuckDB's reader is an extension.  It is used where it is installed, or comes with a Python package
(``duckdb-extension-postgres-scanner``, which fits one version of DuckDB).  Else psycopg copies the
table, in pieces, into a database in the folder for what does not fit into memory.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from netbenefit.common import InputError
from netbenefit.data.sources import Engine, Listed, Source, name, pick_table, scrub, text

_PACKAGE = "duckdb_extension_postgres_scanner"
_SECONDS = 15  #: to wait for a server that does not answer
_PIECE = 16 * 2**20  #: bytes of a copy that go to disk before DuckDB reads them
#: What PostgreSQL's types become; the rest is text.
_TYPES = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "oid": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "numeric": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
}
_TABLES = """
SELECT n.nspname, c.relname, CASE c.relkind WHEN 'r' THEN 'BASE TABLE' ELSE 'VIEW' END
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT LIKE 'pg\\_%'
  AND n.nspname <> 'information_schema' AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 1, 2
"""


class Found(NamedTuple):
    """A table that DuckDB can read."""

    place: str  #: how SQL calls it
    columns: tuple[str, ...]
    copied: bool


def open_postgresql(
    source: Source,
    engine: Engine,
    without: Collection[str] = (),
    tell: Callable[[str], None] | None = None,
) -> Found:
    """Make a table of PostgreSQL known to DuckDB.

    Parameters
    ----------
    source : Source
        With an address and, unless the database has one table only, the name of a table.
    engine : Engine
    without : collection of str
        Columns to leave out.
    tell : callable, optional
        Called with a few words while rows are copied.

    Returns
    -------
    Found
    """
    if _load(engine):
        return _attach(source, engine, without)
    if importlib.util.find_spec("psycopg") is not None:
        return _copy(source, engine, without, tell)
    import duckdb

    try:  # over the network, which is why it comes last
        engine.connection.execute("INSTALL postgres_scanner")
        engine.connection.execute("LOAD postgres_scanner")
    except duckdb.Error:
        raise InputError(
            f"{source.shown}: DuckDB's reader for PostgreSQL is not installed and cannot be "
            "fetched. Run `pip install 'netbenefit[postgresql]'`, which copies the table to this "
            "machine's disk instead."
        ) from None
    return _attach(source, engine, without)


# -- DuckDB's reader -------------------------------------------------------------------------------


def _load(engine: Engine) -> bool:
    """Load DuckDB's reader for PostgreSQL, if it is on this machine."""
    import duckdb

    try:
        engine.connection.execute("LOAD postgres_scanner")
        return True
    except duckdb.Error:
        pass
    package = importlib.util.find_spec(_PACKAGE)
    if package is None or not package.submodule_search_locations:
        return False
    version = engine.connection.sql("SELECT version()").fetchall()[0][0]
    for folder in package.submodule_search_locations:
        file = Path(folder, "extensions", version, "postgres_scanner.duckdb_extension")
        if file.is_file():
            engine.connection.execute(f"LOAD {text(file)}")
            return True
    return False


def _attach(source: Source, engine: Engine, without: Collection[str]) -> Found:
    address = text(_patient(source.address))
    engine.connection.execute(f"ATTACH {address} AS source (TYPE postgres, READ_ONLY)")
    rows = engine.connection.sql(
        "SELECT table_schema, table_name, table_type FROM information_schema.tables "
        "WHERE table_catalog = 'source' "
        "AND table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY ALL"
    ).fetchall()
    found = pick_table(source, [Listed(*row) for row in rows], "public")
    place = f"source.{name(found.schema)}.{name(found.table)}"
    every = engine.connection.sql(f"SELECT * FROM {place}").columns
    return Found(place, tuple(one for one in every if one not in without), False)


def _patient(address: str) -> str:
    """Return the address with an end to waiting, unless it says when."""
    if "connect_timeout=" in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}connect_timeout={_SECONDS}"


# -- a copy ----------------------------------------------------------------------------------------


def _copy(
    source: Source,
    engine: Engine,
    without: Collection[str],
    tell: Callable[[str], None] | None,
) -> Found:
    """Copy a table to a database on disk, reading the server once."""
    import psycopg
    from psycopg import sql

    with _server_errors(source), psycopg.connect(_patient(source.address)) as server:
        server.read_only = True
        listed = [Listed(*row) for row in server.execute(_TABLES).fetchall()]
        found = pick_table(source, listed, "public")
        place = sql.Identifier(found.schema, found.table)
        kinds = server.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(place)).description or []
        types = {
            one.name: _TYPES.get(_type_name(server, one.type_code), "VARCHAR")
            for one in kinds
            if one.name not in without
        }
        if not types:
            return Found("", (), True)
        base = text(engine.folder / "copy.db")
        engine.connection.execute(f"ATTACH {base} AS copy")
        defined = ", ".join(f"{name(one)} {kind}" for one, kind in types.items())
        engine.connection.execute(f"CREATE TABLE copy.main.rows ({defined})")
        columns = sql.SQL(", ").join(map(sql.Identifier, types))
        query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT csv)").format(columns, place)
        with server.cursor() as cursor, cursor.copy(query) as rows:
            copied = 0
            for piece in _pieces(rows, engine.folder):
                copied += _insert(engine, piece, types)
                if tell is not None:
                    tell(f"copying from PostgreSQL: {copied:,} rows")
    return Found("copy.main.rows", tuple(types), True)


def _type_name(server: Any, code: int) -> str:
    known = server.adapters.types.get(code)
    return "" if known is None else str(known.name)


def _pieces(rows: Any, folder: Path) -> Iterator[Path]:
    """Write rows into one file after another, whole rows each; a file is used and then removed."""
    piece = folder / "piece.csv"
    waiting = iter(rows)
    more = True
    while more:
        size = 0
        with open(piece, "wb") as file:
            more = False
            for row in waiting:  # one row per message
                size += file.write(row)
                if size >= _PIECE:
                    more = True
                    break
        if size:
            yield piece
        piece.unlink()


def _insert(engine: Engine, piece: Path, types: dict[str, str]) -> int:
    """Let DuckDB read a piece; return how many rows it held."""
    columns = ", ".join(f"{text(one)}: {text(kind)}" for one, kind in types.items())
    found = engine.connection.execute(
        f"INSERT INTO copy.main.rows SELECT * FROM read_csv({text(piece)}, auto_detect = false, "
        f"columns = {{{columns}}}, header = false, delim = ',', quote = '\"', escape = '\"', "
        "nullstr = '', allow_quoted_nulls = false)"
    )
    return int(found.fetchall()[0][0])


@contextmanager
def _server_errors(source: Source) -> Iterator[None]:
    """Say what the server said, without secrets."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        lines = scrub(str(error), source).strip().splitlines() or [type(error).__name__]
        raise InputError(
            f"{source.shown}: PostgreSQL says: {lines[0]} Check the address, and that its user may "
            "read the table."
        ) from None
