"""Functions that kill the worker that runs them, or count copies.

Fresh workers import this, again and again: the standard library has to do.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

__all__ = ["Counted", "Deadly", "Sleepy", "die_once"]


def die_once(marker: Path) -> None:
    """Kill this process, once per marker."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return
    _kill()


def _kill() -> None:
    """Kill this process after start-up: Dask's nannies give up on workers that die earlier."""
    time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly:
    """Kills its worker at some task: the first time, or always."""

    def __init__(self, folder: Path, *, at: int = 2, always: bool = False) -> None:
        self.folder, self.at, self.always = folder, at, always
        self.parent = os.getpid()

    def __call__(self, task: int) -> int:
        if task == self.at:
            if os.getpid() == self.parent:
                raise AssertionError("a deadly task must never run in the parent")
            if self.always:
                _kill()
            die_once(self.folder / "died")
        time.sleep(0.02)
        return 10 * task


class Sleepy:
    """Records which process runs a task, then waits."""

    def __init__(self, folder: Path, seconds: float = 0.4) -> None:
        self.folder, self.seconds = folder, seconds

    def __call__(self, task: int) -> int:
        (self.folder / f"{task} {os.getpid()} {time.monotonic_ns()}").touch()
        time.sleep(self.seconds)
        return task


class Counted:
    """Counts how often it is pickled."""

    copies = 0

    def __init__(self, content: bytes = b"") -> None:
        self.content = content

    def __reduce__(self) -> Any:
        Counted.copies += 1
        return Counted, (self.content,)

    def __call__(self, task: int) -> int:
        return task + len(self.content)
