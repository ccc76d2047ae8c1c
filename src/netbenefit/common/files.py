"""Texts that come with the package, and files that are written completely or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path

from netbenefit.common.checks import InputError


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
    """Give the name of a draft to be written; it takes the file's place once it is complete.

    A link is followed, and the new file has the mode of the old one.  What is no regular file is
    never replaced: a pipe or a device gets the bytes once they are complete, anything else is
    refused.
    """
    state = check_target(path)
    if state is not None and not stat.S_ISREG(state.st_mode):
        with tempfile.TemporaryDirectory() as folder:
            draft = Path(folder) / Path(path).name
            yield draft
            with open(draft, "rb") as content, open(path, "wb", buffering=0) as target:
                shutil.copyfileobj(content, target)
        return
    place = Path(os.path.realpath(path))
    draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp")
    try:
        if state is not None:  # no moment at which others can read what they could not before
            draft.touch(mode=stat.S_IMODE(state.st_mode) & 0o600, exist_ok=False)
        yield draft
        with open(draft, "rb") as file:
            os.fsync(file.fileno())
        if state is not None:
            with suppress(PermissionError, AttributeError):  # another's file; not on Windows
                os.chown(draft, state.st_uid, state.st_gid)
            draft.chmod(stat.S_IMODE(state.st_mode))
        os.replace(draft, place)
    finally:
        draft.unlink(missing_ok=True)


def check_target(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return what stands where a file is to be written, None for nothing; refuse what cannot be."""
    try:
        state = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(state.st_mode):
        raise InputError(
            f"{path} is a folder. Name the file to write, such as {Path(path) / 'card.json'}."
        )
    kinds = (stat.S_ISREG, stat.S_ISFIFO, stat.S_ISCHR)
    if not any(is_kind(state.st_mode) for is_kind in kinds):
        raise InputError(f"{path} is not a file that can be written. Name another one.")
    if not os.access(path, os.W_OK):
        raise InputError(f"{path} is there already and is write-protected. Name another file.")
    return state
