"""A table of PostgreSQL, copied once to this machine's disk.

psycopg copies it, in pieces, into a database in the folder for what does not fit into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from netbenefit.common import InputError, install_command
from netbenefit.data.files import check_not_empty
from netbenefit.data.sources import Engine, Listed, Source, name, pick_table, scrub, text

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


def _patient(address: str) -> str:
    """Return the address with a time limit for connecting, unless it has one."""
    if "connect_timeout=" in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}connect_timeout={_SECONDS}"


def copy_postgresql(source: Source, engine: Engine, tell: Callable[[str], None] | None) -> str:
    """Copy a table, reading the server once; return what DuckDB's SQL calls it.

    ``tell`` is called with a few words while rows are copied.
    """
    try:
        import psycopg
        from psycopg import sql
    except ImportError:
        raise InputError(
            f"{source.shown}: reading PostgreSQL needs psycopg, which is not installed. Run "
            f"`{install_command('postgresql')}`."
        ) from None
    with _server_errors(source), psycopg.connect(_patient(source.address)) as server:
        server.read_only = True
        listed = [Listed(*row) for row in server.execute(_TABLES).fetchall()]
        found = pick_table(source, listed, "public")
        place = sql.Identifier(found.schema, found.table)
        kinds = server.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(place)).description or []
        types = {
            one.name: _TYPES.get(_type_name(server, one.type_code), "VARCHAR") for one in kinds
        }
        check_not_empty(source.shown, len(types))
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
    return "copy.main.rows"


def _type_name(server: Any, code: int) -> str:
    known = server.adapters.types.get(code)
    return "" if known is None else str(known.name)


def _pieces(rows: Any, folder: Path) -> Iterator[Path]:
    """Write rows into one file after another, whole rows each; a file is used and then removed."""
    piece = folder / "piece.csv"
    waiting = iter(rows)
    while True:
        size = 0
        with open(piece, "wb") as file:
            while size < _PIECE and (row := next(waiting, None)) is not None:  # one per message
                size += file.write(row)
        if not size:
            break
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
    """Report errors of the server, without secrets."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        lines = scrub(str(error), source).strip().splitlines() or [type(error).__name__]
        raise InputError(
            f"{source.shown}: PostgreSQL says: {lines[0]} Check the address, and that its user may "
            "read the table."
        ) from None
