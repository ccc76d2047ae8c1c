"""Whether other processes live, and waiting for what they do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["runs", "wait_for"]


def runs(pid: int) -> bool:
    """Whether a process lives (one that has ended and waits to be collected does not)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z" if stat.exists() else True
    except OSError:
        return False


def wait_for(condition: Callable[[], bool]) -> bool:
    """Whether something comes true within a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False
