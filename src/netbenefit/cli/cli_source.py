"""DATA of a command: opened, measured, and read into memory or left where it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from netbenefit.cli.terminal import tell
from netbenefit.common.checks import InputError
from netbenefit.data.connection import Engine
from netbenefit.data.duckdb import read_raw, size_of_file, size_of_table
from netbenefit.data.files import RawFile

if TYPE_CHECKING:
    from netbenefit.data.duckdb import OpenTable
    from netbenefit.data.sources import Source

__all__ = ["check_column", "open_data", "open_table", "read_data"]


def open_data(
    source: Source,
    *,
    stream: bool | None = None,
    as_text: Collection[str] = (),
    drop: Sequence[str] = (),
    jobs: int = -1,
    quiet: bool = False,
) -> RawFile | OpenTable:
    """Read a source into memory, or open it where it is, as its size and the options say.

    Parameters
    ----------
    source : Source
    stream : bool, optional
        What --stream or --no-stream says; by default, large tables stay where they are.
    as_text : collection of str
        Columns of CSV files that are text whatever their cells look like.
    drop : sequence of str
        Columns that will not be used, so that they need not be alike in all files.
    jobs : int
        Threads.
    quiet : bool
        Whether to say nothing.

    Returns
    -------
    RawFile or OpenTable
        The latter is to be closed.
    """
    if source.is_plain_file and not (size_of_file(source).is_large if stream is None else stream):
        return read_raw(source.files[0], text=as_text)
    table = open_table(source, as_text, jobs, quiet)
    try:
        table.check_columns([name for name in table.columns if name not in drop])
        size = size_of_table(table)
        if size.is_large if stream is None else stream:
            if not quiet:
                tell("bold", source.shown, f"{size}: {_how(table)}")
            return table
        raw = table.read()
    except BaseException:
        table.close()
        raise
    table.close()
    return raw


def read_data(source: Source, as_text: Collection[str] = ()) -> RawFile:
    """Read a source into memory, whatever its size."""
    given = open_data(source, stream=False, as_text=as_text)
    assert isinstance(given, RawFile)
    return given


def check_column(table: OpenTable, name: str | None, option: str) -> None:
    """Refuse a column that an option names and the table does not have."""
    from netbenefit.common.checks import shorten

    if name is not None and name not in table.columns:
        raise InputError(
            f"{option} names column {name!r}, which the table does not have; its columns are "
            f"{shorten(list(table.columns), 10)}. Correct the name."
        )


def open_table(
    source: Source, as_text: Collection[str] = (), jobs: int = -1, quiet: bool = False
) -> OpenTable:
    """Open a source, and show how far DuckDB is while it looks at it."""
    from netbenefit.data.duckdb import QueryBar, open_source

    engine = Engine(threads=jobs)
    words = {"csv": "reading CSV", "postgresql": "reading from PostgreSQL"}
    doing = words.get(source.kind, "opening")
    with QueryBar(engine.connection, doing, shown=not quiet) as bar:
        return open_source(source, as_text=as_text, engine=engine, tell=bar.say)


def _how(table: OpenTable) -> str:
    if table.copied:
        return "copied from PostgreSQL to this disk, then streamed by DuckDB"
    return "streamed by DuckDB, never all in memory"
