"""What the command line calls DATA: one file, many files, a folder, or a table in a database.

Nothing is read here: names are looked up, addresses are parsed.  A password stays inside the
address; what is shown to people never holds it.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from netbenefit.common import InputError, shorten
from netbenefit.data.files import SUFFIXES, FileFormat, format_of

Kind = Literal["csv", "xlsx", "parquet", "duckdb", "postgresql"]

_DATABASES = (".duckdb", ".ddb")
_SCHEMES = {"duckdb": "duckdb", "postgresql": "postgresql", "postgres": "postgresql"}
_LIKE = {
    "duckdb": "duckdb:///file.db?table=patients (////file.db for a path that starts with /)",
    "postgresql": "postgresql://user@host:5432/database?table=patients",
}


@dataclass(frozen=True)
class Source:
    """Where a table is."""

    kind: Kind
    shown: str  #: what people are shown; holds no password
    files: tuple[Path, ...] = ()  #: in order; one for DuckDB, none for PostgreSQL
    folder: Path | None = None  #: the folder that was named instead of files
    table: str | None = None  #: the table in a database, as it was written
    #: How to reach a database; may hold a password, and is left out of ``repr``.
    address: str = field(default="", repr=False)
    how: FileFormat = field(default_factory=FileFormat)  #: how to read files of text, and workbooks

    @property
    def is_plain_file(self) -> bool:
        """Whether this is one file, which needs no database to be read."""
        return (
            self.kind in ("csv", "xlsx", "parquet") and len(self.files) == 1 and self.folder is None
        )

    @property
    def label(self) -> str:
        """How to call it in front of a line: a file without its folder."""
        return self.files[0].name if self.is_plain_file else self.shown

    @property
    def n_bytes(self) -> int:
        """Size of the files on disk."""
        return sum(file.stat().st_size for file in self.files)


def find_source(data: Sequence[str], how: FileFormat | None = None) -> Source:
    """Find what arguments of the command line name, and say how to read it.

    They are files; patterns such as ``data/**/*.parquet``; a folder of Parquet or CSV files; or one
    address, ``duckdb:///file.db?table=t`` or ``postgresql://user@host/base?table=t``.
    """
    addresses = [text for text in data if "://" in text and not Path(text).exists()]
    if addresses:
        if len(data) > 1:
            raise InputError(
                f"{len(data)} sources were named, one of them a database. Name one database, or "
                "files."
            )
        return _database(addresses[0])
    if len(data) == 1 and data[0].lower().endswith(_DATABASES) and Path(data[0]).is_file():
        return Source("duckdb", data[0], (Path(data[0]),))
    folder = Path(data[0]) if len(data) == 1 and Path(data[0]).is_dir() else None
    files = list(dict.fromkeys(file for text in data for file in _files(text)))
    kinds = {format_of(file): file for file in files}
    if len(kinds) > 1:
        raise InputError(
            f"files of several formats do not go together: {', '.join(map(str, kinds.values()))}. "
            "Name files of one format."
        )
    shown = data[0] if len(data) == 1 else f"{data[0]} and {len(files) - 1} more"
    kind = next(iter(kinds))
    how = how or FileFormat()
    if how.sheet is not None and kind != "xlsx":
        raise InputError(f"{shown} is no Excel workbook and has no sheets. Leave out --sheet.")
    return Source(kind, shown, tuple(files), folder, how=how)


def _files(text: str) -> list[Path]:
    """Return the files that one argument names."""
    path = Path(text)
    if path.is_dir():
        return _inside(path)
    if path.exists():  # also where its name looks like a pattern
        return [path]
    if not glob.has_magic(text):
        raise InputError(f"{text}: no such file. Check the name and the folder.")
    found = sorted(Path(name) for name in glob.glob(text, recursive=True))
    files = [file for file in found if file.is_file()]
    if not files:
        raise InputError(f"{text}: no file matches. Check the pattern and the folder.")
    return files


def _inside(folder: Path) -> list[Path]:
    """Return the tables in a folder and in folders below, without hidden and unfinished ones."""
    below = sorted(
        file
        for file in folder.rglob("*")
        if file.name.lower().endswith(SUFFIXES)
        and file.is_file()
        and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    )
    if not below:
        raise InputError(
            f"{folder} is a folder without files that end in {', '.join(SUFFIXES)}. Name another."
        )
    return below


def _database(text: str) -> Source:
    """Parse an address; errors never repeat it, because it may hold a password."""
    scheme, _, rest = text.partition("://")
    kind = _SCHEMES.get(scheme.lower())
    if kind is None:
        known = "; ".join(_LIKE.values())
        raise InputError(
            f"{scheme}:// is not supported. Name files, or a table in a database: {known}. "
            "Download remote files first."
        )
    try:
        parts = urlsplit(f"{kind}://{rest}")
        settings = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        _ = parts.port  # a wrong one is an error only when it is read
    except ValueError:
        raise InputError(
            f"the {kind}:// address is not understood. Write {_LIKE[kind]}, with special "
            "characters in a name or password encoded, such as %40 for @."
        ) from None
    tables = [value for name, value in settings if name == "table"]
    if len(tables) > 1 or tables == [""]:
        raise InputError(f"the {kind}:// address has to name one table. Write {_LIKE[kind]}.")
    table = tables[0] if tables else None
    others = [(name, value) for name, value in settings if name != "table"]
    if kind == "duckdb":
        return _duckdb(parts.netloc, parts.path, table, [name for name, _ in others])
    place = f"{parts.hostname or ''}" + (f":{parts.port}" if parts.port else "")
    user = f"{parts.username}@" if parts.username else ""
    ending = "" if table is None else f"?table={table}"
    query = urlencode(others, quote_via=quote)  # libpq does not read + as a blank
    address = f"postgresql://{parts.netloc}{parts.path}" + (f"?{query}" if query else "")
    shown = f"postgresql://{unquote(user)}{place}{unquote(parts.path)}{ending}"
    return Source("postgresql", shown, table=table, address=address)


def _duckdb(host: str, path: str, table: str | None, others: Sequence[str]) -> Source:
    if others:
        raise InputError(
            f"the duckdb:// address sets {shorten(others)}; only table= is known. Write "
            f"{_LIKE['duckdb']}."
        )
    if host:
        raise InputError(
            f"duckdb://{host}… needs three slashes before a relative path, four before an absolute "
            f"one: {_LIKE['duckdb']}."
        )
    file = Path(unquote(path.removeprefix("/")))
    if not file.is_file():
        what = "is a folder" if file.is_dir() and path.strip("/") else "no such file"
        raise InputError(f"{file}: {what}. Check the name and the folder.")
    return Source("duckdb", f"{file}" + (f", table {table}" if table else ""), (file,), table=table)


def scrub(message: str, source: Source) -> str:
    """Remove the secrets of a source's address from a message."""
    if not source.address:
        return message
    parts = urlsplit(source.address)
    secrets = {source.address: source.shown}
    named = {name: value for name, value in parse_qsl(parts.query) if "pass" in name.lower()}
    for secret in filter(None, [parts.password, *named.values()]):
        plain = unquote(secret)
        secrets |= dict.fromkeys((secret, plain, quote(plain, safe="")), "…")
    for secret in sorted(secrets, key=len, reverse=True):
        message = message.replace(secret, secrets[secret])
    return message


# -- tables of a database, by name -----------------------------------------------------------------


class Listed(NamedTuple):
    """A table in a database."""

    schema: str
    table: str
    kind: str


def attach_database(engine: Engine, source: Source) -> tuple[str, bool]:
    """Let DuckDB read a database; return what SQL calls the table, and whether it is no view.

    A view holds SQL of somebody else: nothing outside the database can be read or written any more.
    """
    file = text(str(source.files[0]))
    engine.connection.execute(f"ATTACH {file} AS source (TYPE duckdb, READ_ONLY)")
    engine.shut()
    rows = engine.connection.sql(
        "SELECT table_schema, table_name, table_type FROM information_schema.tables "
        "WHERE table_catalog = 'source' "
        "AND table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY ALL"
    ).fetchall()
    found = pick_table(source, [Listed(*row) for row in rows], "main")
    return f"source.{name(found.schema)}.{name(found.table)}", found.kind == "BASE TABLE"


def pick_table(source: Source, listed: Sequence[Listed], schema: str) -> Listed:
    """Find the table that an address names; those of ``schema`` need no schema in front.

    A name is only ever compared with names that the database lists: it never becomes SQL.
    """
    names = {
        found: (found.table,) * (found.schema == schema) + (f"{found.schema}.{found.table}",)
        for found in listed
    }
    if source.table is None:
        matches = list(listed) if len(listed) == 1 else []
    else:
        written, folded = source.table, source.table.casefold()
        matches = [found for found, known in names.items() if written in known]
        matches = matches or [
            found for found, known in names.items() if folded in map(str.casefold, known)
        ]
    if len(matches) == 1:
        return matches[0]
    there = shorten([known[0] for known in names.values()], 10) or "none"
    if source.table is None:
        what, remedy = "the address names no table of the database", "Name one: ?table=NAME"
    else:
        number = "more than one" if matches else "no"
        what, remedy = f"the database has {number} table {source.table!r}", "Correct ?table="
    raise InputError(f"{source.shown}: {what}; it has {there}. {remedy}.")


# -- a DuckDB of our own: how much memory it may take, where it spills, and what its errors mean ---

#: Settings from the environment: how much memory DuckDB may use, and where it puts what is more.
MEMORY, SPILL = "NETBENEFIT_MEMORY", "NETBENEFIT_TEMP"
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_LEAST = 1_000_000_000


def name(word: str) -> str:
    """Quote a name for SQL."""
    return '"' + word.replace('"', '""') + '"'


def text(words: str | Path) -> str:
    """Quote a text for SQL."""
    return "'" + str(words).replace("'", "''") + "'"


class Engine(AbstractContextManager["Engine"]):
    """A DuckDB connection in memory, with a folder on disk for what does not fit.

    It may use the memory that NETBENEFIT_MEMORY says, by default a quarter of the machine's, but at
    least 1 GB; and all cores, unless a number of threads is given.  ``output`` is a file that it
    can write when it is shut.
    """

    def __init__(self, threads: int = -1, output: Path | None = None) -> None:
        import duckdb  # late: it is slow to import

        self._output = output
        limit = _memory()
        place = os.environ.get(SPILL) or None
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="netbenefit-", dir=place))
        except OSError as error:
            raise InputError(
                f"{place}: cannot be written to ({error.strerror}). Choose another folder for what "
                f"does not fit into memory: {SPILL}."
            ) from None
        settings: dict[str, Any] = {
            "memory_limit": limit,
            "temp_directory": str(self.folder / "spill"),
            "autoinstall_known_extensions": "false",  # nothing is fetched unannounced
        }
        if threads > 0:
            settings["threads"] = threads
        self.connection = duckdb.connect(":memory:", config=settings)

    def shut(self) -> None:
        """From now on, reach no file but what is attached, this engine's own, and its output."""
        run = self.connection.execute
        run(f"SET allowed_directories = [{text(self.folder)}]")
        if self._output is not None:
            run(f"SET allowed_paths = [{text(self._output)}]")
        run("SET enable_external_access = false")

    def close(self) -> None:
        """Close the connection, and remove what it left on disk."""
        self.connection.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __exit__(self, *error: object) -> None:
        self.close()


def _memory() -> str:
    """Return a limit of memory as DuckDB writes it."""
    found = os.environ.get(MEMORY)
    if found:
        if not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", found.strip(), re.IGNORECASE):
            raise InputError(f"{MEMORY}={found!r} is not an amount of memory. Write it as 4GB.")
        return found.strip()
    try:
        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # unknown on some systems
        most = 4 * _LEAST
    for file in _GROUPS:  # a container may have less than the machine
        try:
            most = min(most, int(Path(file).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return f"{max(most // 4, _LEAST) // 1_000_000}MB"


@contextmanager
def duckdb_errors(source: Source) -> Iterator[None]:
    """Report in one line what DuckDB could not do with a source, without its secrets."""
    import duckdb

    try:
        yield
    except (duckdb.Error, RuntimeError, InputError) as error:
        # Engines built on DuckDB wrap its errors in their own.
        cause = error.__cause__ if isinstance(error, InputError) else error
        if _is_interrupt(cause):
            raise KeyboardInterrupt from None
        if isinstance(cause, duckdb.OutOfMemoryException):
            raise InputError(
                f"{source.shown}: DuckDB ran out of memory. Let it take more ({MEMORY}=8GB), or "
                f"give it a disk with more room ({SPILL}=/folder)."
            ) from None
        if not isinstance(cause, duckdb.Error):
            raise
        # The first line says what it is about; DuckDB adds hints about its own settings.
        lines = [line.strip() for line in scrub(str(cause), source).splitlines() if line.strip()]
        what = " as Parquet" * (source.kind == "parquet")
        reason = lines[0] if lines else "no reason given"
        raise InputError(f"{source.shown}: DuckDB cannot read it{what}: {reason}") from None


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C was pressed while DuckDB was at work, which it reports in several ways."""
    import duckdb

    reported = isinstance(error, RuntimeError) and "interrupt" in str(error).lower()
    return reported or isinstance(error, duckdb.InterruptException | KeyboardInterrupt)
