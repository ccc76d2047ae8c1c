"""Texts that come with the package, and files that are written completely or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path


@cache
def asset(room: str, name: str) -> str:
    """Return a text that comes with a room of the package."""
    return (files(f"netbenefit.{room}") / "assets" / name).read_text(encoding="utf-8")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8; an existing file is replaced at once or stays as it was."""
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write bytes as :func:`write_text` does."""
    with replacing(path) as draft:
        draft.write_bytes(content)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the name of a draft to be written; it takes the file's place once it is complete."""
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield draft
        with open(draft, "rb") as file:
            os.fsync(file.fileno())
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
