"""Progress on a terminal while work goes on."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.console import Console


def time_left(seconds: float, done: int, left: int) -> str:
    """Say how long ``left`` tasks take, if ``done`` ones took these seconds."""
    if not done or not left:
        return ""
    rest = seconds / done * left
    if rest < 120:
        return f"about {rest:.0f} s left"
    if rest < 4 * 3600:
        return f"about {rest / 60:.0f} min left"
    return f"about {rest / 3600:.0f} h left"


class Display(ABC):
    """A context manager that draws on a terminal, by default stderr, or in a notebook."""

    def __init__(self, *, shown: bool = True, console: Console | None = None) -> None:
        self._shown, self._console = shown, console
        self._live: Any = None  #: what is drawn, None without a terminal

    @abstractmethod
    def _draw(self, console: Console) -> Any:
        """Return what can be started and stopped."""

    def __enter__(self) -> Self:
        if self._shown:
            from rich.console import Console  # late: rich is slow to import

            console = self._console or Console(stderr=True)
            if "ipykernel" in sys.modules:
                # A notebook shows one line that is written over and over; rich's own way needs
                # widgets.
                console = Console(stderr=True, force_terminal=True, force_jupyter=False, width=100)
            if console.is_terminal:
                self._live = self._draw(console)
                self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()
            sys.stderr.flush()


class TaskBar(Display):
    """A bar with the time left, to be called with the numbers of finished and of all tasks."""

    def __init__(self, text: str, *, shown: bool = True, console: Console | None = None) -> None:
        super().__init__(shown=shown, console=console)
        self._text = text
        self._start: tuple[float, int] | None = None

    def _draw(self, console: Console) -> Any:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn(self._text), BarColumn(), MofNCompleteColumn())
        left = TextColumn("{task.fields[left]}")
        bar = Progress(*columns, left, console=console, transient=True)
        self._task = bar.add_task("", total=None, left="")
        return bar

    def __call__(self, done: int, total: int) -> None:
        """Show how many tasks are done."""
        if self._live is None:
            return
        if self._start is None:
            self._start = time.monotonic(), done
        began, found = self._start
        left = time_left(time.monotonic() - began, done - found, total - done)
        self._live.update(self._task, completed=done, total=total, left=left)
