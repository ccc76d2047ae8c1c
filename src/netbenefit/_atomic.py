"""Files that are written at once or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ["write_bytes", "write_text"]


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8; a file that is there is replaced at once or stays as it was.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "note.txt")
    >>> write_text(file, "a card")
    >>> file.read_text()
    'a card'
    """
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write bytes as :func:`write_text` does."""
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
