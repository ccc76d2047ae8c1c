"""A kind of case for the soak whose second batch kills its process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

SHARE = 1.0


def draw(seed: int) -> Iterator[int]:
    """Two cases, which are the seed."""
    yield from (seed, seed)


def check(case: int) -> None:
    """Die if the case is 2."""
    if case == 2:
        os.kill(os.getpid(), signal.SIGKILL)
