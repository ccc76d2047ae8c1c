"""A bar with the time left while many tasks run; nothing where there is no terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["TaskBar", "time_left"]


def time_left(seconds: float, done: int, left: int) -> str:
    """Say how long the rest takes if it goes on like this.

    Parameters
    ----------
    seconds : float
        Time that the tasks of this run took so far.
    done, left : int
        Tasks that this run has finished (not those that it found finished), and those to come.

    Examples
    --------
    >>> time_left(20.0, 2, 9), time_left(3000.0, 1, 3), time_left(0.0, 0, 5), time_left(9.0, 3, 0)
    ('about 90 s left', 'about 150 min left', '', '')
    """
    if not done or not left:
        return ""
    rest = seconds / done * left
    if rest < 120:
        return f"about {rest:.0f} s left"
    return (
        f"about {rest / 60:.0f} min left" if rest < 4 * 3600 else f"about {rest / 3600:.0f} h left"
    )


class TaskBar:
    """A context manager to be called with the numbers of finished tasks and of all tasks.

    Parameters
    ----------
    text : str
        What is being done.
    shown : bool, default=True
        False for nothing at all.
    console : rich.console.Console, optional
        Where to draw; stderr by default.

    Examples
    --------
    >>> with TaskBar("folds") as bar:
    ...     bar(1, 10)
    """

    def __init__(self, text: str, *, shown: bool = True, console: Console | None = None) -> None:
        self._text, self._shown, self._console = text, shown, console
        self._bar: Any = None
        self._task: Any = None
        self._start: tuple[float, int] | None = None

    def __enter__(self) -> TaskBar:
        if not self._shown:
            return self
        from rich.console import Console  # late: rich takes its time to import

        console = self._console or Console(stderr=True)
        if console.is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            columns = (TextColumn(self._text), BarColumn(), MofNCompleteColumn())
            self._bar = Progress(
                *columns, TextColumn("{task.fields[left]}"), console=console, transient=True
            )
            self._task = self._bar.add_task("", total=None, left="")
            self._bar.start()
        return self

    def __call__(self, done: int, total: int) -> None:
        """Show where the tasks stand."""
        if self._bar is None:
            return
        if self._start is None:
            self._start = time.monotonic(), done
        began, found = self._start
        left = time_left(time.monotonic() - began, done - found, total - done)
        self._bar.update(self._task, completed=done, total=total, left=left)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            sys.stderr.flush()
