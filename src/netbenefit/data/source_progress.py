"""How far DuckDB is, on a terminal: a bar, fed from a thread that asks while queries run."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["QueryBar"]

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
