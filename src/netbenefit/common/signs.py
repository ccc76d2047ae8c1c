"""Signs that not every stream can write, such as − and ≤, and what is written instead."""

from __future__ import annotations

import codecs
import functools
import sys
from collections.abc import Callable
from typing import Any

#: How a stream writes what its encoding does not hold: ``stream.reconfigure(errors=SPELL_OUT)``.
SPELL_OUT = "netbenefit.spell_out"

_SPELLED = {
    **dict.fromkeys("−–‑", "-"),
    **dict.fromkeys("─━╴╶╌┄", "-"),
    **dict.fromkeys("│┃╎┆", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╯╰", "+"),
    **dict.fromkeys("“”", '"'),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys(map(chr, range(0x2800, 0x2900)), "."),  # of spinners
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "·": "*",
    "×": "x",
    "±": "+-",
    "…": "...",
    "→": "->",
    "∞": "inf",
    "√": "sqrt ",
    "²": "^2",
    "χ": "chi",
    "✓": "+",
    "✗": "x",
}


def spell_out(text: str, encoding: str | None) -> str:
    """Return a text that an encoding holds: other signs are spelled out, other letters escaped.

    What a line gains is taken from the next wide gap, so that tables stay aligned.
    """
    encoding = encoding or "utf-8"
    shown = text.encode(encoding, SPELL_OUT).decode(encoding)
    if len(shown) == len(text):
        return shown
    return "\n".join(_as_wide(line, encoding) for line in text.split("\n"))


def _as_wide(line: str, encoding: str) -> str:
    """Spell out a line; gaps of more than two blanks give way."""
    shown, gained = "", 0
    for sign in line:
        if sign == " " and gained and shown.endswith("  "):
            gained -= 1
            continue
        spelled = sign.encode(encoding, SPELL_OUT).decode(encoding)
        shown, gained = shown + spelled, gained + len(spelled) - 1
    return shown


def shown_on_stdout(text: Callable[[Any], str]) -> Callable[[Any], str]:
    """Let ``__str__`` return what stdout can show, so that ``print`` never fails."""

    @functools.wraps(text)
    def shown(self: Any) -> str:
        return spell_out(text(self), stdout_encoding())

    return shown


def stdout_encoding() -> str:
    """Return the encoding of stdout; UTF-8 where a program has none."""
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def _handle(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    culprits = error.object[error.start : error.end]
    return "".join(_SPELLED.get(sign) or _escaped(sign) for sign in culprits), error.end


def _escaped(sign: str) -> str:
    return sign.encode("ascii", "backslashreplace").decode("ascii")


codecs.register_error(SPELL_OUT, _handle)
