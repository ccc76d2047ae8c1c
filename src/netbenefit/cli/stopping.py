"""What Ctrl-C does: it ends a command in the command's own way, and an import at once."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any

#: The code of all running commands, which end by KeyboardInterrupt.
COMMANDS = set[object]()


def handle_interrupts() -> None:
    """Let Ctrl-C never end in a traceback, whatever runs at that moment.

    Python raises KeyboardInterrupt wherever it stands.  Inside an import that leaves half a module
    behind, or is reported and forgotten; outside a command nobody catches it.  There is nothing to
    be saved in both cases, so the program ends.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # somebody else's, or ignored, as in the background of a shell
    signal.signal(signal.SIGINT, _interrupt)
    sys.unraisablehook = _unraisable


def _interrupt(number: int, frame: FrameType | None) -> None:
    in_command = False
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            _leave()
        in_command |= frame.f_code in COMMANDS
        frame = frame.f_back
    if not in_command:
        _leave()
    raise KeyboardInterrupt


def _unraisable(error: Any) -> None:
    """End where Python can only report KeyboardInterrupt, such as in a destructor."""
    if issubclass(error.exc_type, KeyboardInterrupt):
        _leave()
    sys.__unraisablehook__(error)


def _leave() -> None:
    show_cursor = b"\x1b[?25h" if os.isatty(2) else b""
    os.write(2, show_cursor + b"stopped.\n")
    os._exit(130)
