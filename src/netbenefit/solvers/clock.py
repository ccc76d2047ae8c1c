"""The clock that time limits go by: it stands still while kernels are compiled.

Compilation happens once per machine and takes many seconds, so it is announced, and not charged to
anybody's limit.  The kernels report to :data:`compiling` whenever the compiler has begun and ended
(see :mod:`netbenefit.solvers.kernels.jit`); this module itself does not need the compiler.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)

#: What is said while kernels are compiled.
ANNOUNCEMENT = "compiling, once per machine"


class Compiling:
    """How long the compiler has been at work in this process, in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy = 0
        self._begin = 0.0
        self._total = 0.0
        #: called with :data:`ANNOUNCEMENT` when kernels are compiled, not just loaded
        self.listeners: list[Callable[[str], None]] = []
        self._said = False

    @property
    def seconds(self) -> float:
        """All of them so far."""
        with self._lock:
            now = time.perf_counter() - self._begin if self._busy else 0.0
            return self._total + now

    def begin(self) -> None:
        """The compiler is called, perhaps by another call of it; it may only load from disk."""
        with self._lock:
            if not self._busy:
                self._begin = time.perf_counter()
            self._busy += 1

    def end(self) -> None:
        """A call has ended."""
        with self._lock:
            self._busy -= 1
            if self._busy:
                return
            spent = time.perf_counter() - self._begin
            self._total += spent
            said, self._said = self._said, False
        if said:
            logger.info("compiled kernels in %.1f s; later runs load them from disk", spent)

    def announce(self) -> None:
        """Nothing was found on disk: say so, once for all that is compiled together.

        Where nobody listens, people at a terminal or a notebook still learn what takes so long.
        """
        with self._lock:
            said, self._said = self._said, True
        if not said:
            logger.info(ANNOUNCEMENT)
            for listener in list(self.listeners):
                listener(ANNOUNCEMENT)
            if not self.listeners and (sys.stderr.isatty() or "ipykernel" in sys.modules):
                sys.stderr.write(f"netbenefit: {ANNOUNCEMENT}\n")


compiling = Compiling()


def now() -> float:
    """Seconds since some moment, without those of compilation."""
    return time.perf_counter() - compiling.seconds
