"""A DuckDB of our own: how much memory it may take, where it spills, and what its errors mean."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from netbenefit.common.checks import InputError
from netbenefit.data.sources import Source, scrub

__all__ = ["Engine", "duckdb_errors", "name", "text"]

#: Settings from the environment: how much memory DuckDB may use, and where it puts what is more.
MEMORY, SPILL = "NETBENEFIT_MEMORY", "NETBENEFIT_TEMP"
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_LEAST = 1_000_000_000


def name(word: str) -> str:
    """Quote a name for SQL.

    >>> name('a "b" c')
    '"a ""b"" c"'
    """
    return '"' + word.replace('"', '""') + '"'


def text(words: str | Path) -> str:
    """Quote a text for SQL.

    >>> text("it's")
    "'it''s'"
    """
    return "'" + str(words).replace("'", "''") + "'"


class Engine:
    """A DuckDB connection in memory, with a folder on disk for what does not fit.

    Parameters
    ----------
    memory : str, optional
        Such as "4GB".  By default what the environment variable NETBENEFIT_MEMORY says, else a
        quarter of the machine's memory, but no less than 1 GB.
    threads : int, default=-1
        Threads; −1 for all cores.

    Examples
    --------
    >>> with Engine(memory="1GB") as engine:
    ...     engine.connection.sql("SELECT 6 * 7").fetchall()
    [(42,)]
    """

    def __init__(self, memory: str | None = None, threads: int = -1) -> None:
        import duckdb  # late: it takes its time to import

        limit = _memory(memory)
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
            "autoinstall_known_extensions": "false",  # nothing is fetched that was not asked for
        }
        if threads > 0:
            settings["threads"] = threads
        self.connection = duckdb.connect(":memory:", config=settings)

    def close(self) -> None:
        """Close the connection, and remove what it left on disk."""
        self.connection.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _memory(wanted: str | None) -> str:
    """Return a limit of memory in DuckDB's words."""
    found = wanted or os.environ.get(MEMORY)
    if found:
        if not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", found.strip(), re.IGNORECASE):
            raise InputError(f"{MEMORY}={found!r} is no amount of memory. Write it as 4GB.")
        return found.strip()
    try:
        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system tells
        most = 4 * _LEAST
    for file in _GROUPS:  # a container may have less than the machine
        try:
            most = min(most, int(Path(file).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return f"{max(most // 4, _LEAST) // 1_000_000}MB"


@contextmanager
def duckdb_errors(source: Source) -> Iterator[None]:
    """Say in one line what DuckDB could not do with a source, without its secrets."""
    import duckdb

    try:
        yield
    except (duckdb.Error, RuntimeError, InputError) as error:
        # Engines that ask DuckDB wrap its errors in their own.
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
        raise InputError(f"{source.shown}: {_told(str(cause), source)}") from None


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C came while DuckDB was at work, which it tells in several ways."""
    import duckdb

    told = isinstance(error, RuntimeError) and "interrupt" in str(error).lower()
    return told or isinstance(error, duckdb.InterruptException | KeyboardInterrupt)


def _told(message: str, source: Source) -> str:
    """Shorten an error to what it is about: DuckDB adds hints about its own settings."""
    lines = [line.strip() for line in scrub(message, source).splitlines() if line.strip()]
    what = " as Parquet" * (source.kind == "parquet")
    return f"DuckDB cannot read it{what}: {lines[0] if lines else 'no reason given'}"
