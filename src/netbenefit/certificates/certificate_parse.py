"""The parts of a certificate's JSON, read strictly: every error names the place of the culprit."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

from netbenefit.common.checks import InputError

__all__ = [
    "check_version",
    "parse",
    "read_boolean",
    "read_fraction",
    "read_list",
    "read_object",
    "read_points",
    "read_text",
    "read_whole",
    "refuse",
]

T = TypeVar("T")

#: Points lie within these.
_MOST = 10**9


def parse(text: str) -> Any:
    """Read JSON in which no key stands twice and every number is finite."""
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique_keys)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg} (line {error.lineno}, column {error.colno}). The file is "
            "damaged or incomplete."
        ) from None
    except (ValueError, RecursionError):
        raise InputError("not a certificate: its JSON is too large to read.") from None


def check_version(version: Any, known: tuple[int, ...]) -> None:
    """Refuse a format that this package does not read, and say what to do about it."""
    if type(version) is int and version in known:
        return
    advice = "Update the package."
    if type(version) is int and 1 <= version < min(known):
        advice = "It is too old: fit the card again, and make a new certificate."
    raise InputError(
        f"version {version!r} of the certificate format is not read; this package reads version "
        f"{', '.join(map(str, known))}. {advice}"
    )


def _no_constant(name: str) -> NoReturn:
    raise InputError(f"{name} is not a number in JSON.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise InputError("a key appears twice in one object.")
    return data


def read_object(data: Any, path: str, keys: tuple[str, ...]) -> None:
    """Check that an object has these keys and no others."""
    if not isinstance(data, dict):
        refuse(path or "the file", "an object", data)
    where = f"{path}." if path else ""
    for key in keys:
        if key not in data:
            raise InputError(f"{where}{key} is missing. The file is incomplete.")
    for key in data:
        if key not in keys:
            raise InputError(f"{where}{key} is not a known key. Update the package.")


def read_text(data: Any, path: str) -> str:
    """Check that a value is text."""
    if not isinstance(data, str):
        refuse(path, "text", data)
    return data


def refuse(path: str, wanted: str, value: Any) -> NoReturn:
    """Raise the error of a value that is not what it should be."""
    text = json.dumps(value, ensure_ascii=False)
    raise InputError(f"{path} must be {wanted}, but is {text[:57] + '…' * (len(text) > 57)}.")


def read_list(
    data: Any, path: str, read: Callable[[Any, str], T], size: int | None = None
) -> list[T]:
    """Read each entry of a list; ``size`` is how many there have to be."""
    if not isinstance(data, list):
        refuse(path, "a list", data)
    if size is not None and len(data) != size:
        raise InputError(f"{path} must hold {size} entries, but holds {len(data)}.")
    return [read(item, f"{path}[{i}]") for i, item in enumerate(data)]


def read_whole(data: Any, path: str) -> int:
    """Check that a value is an integer of at most 64 bits."""
    if type(data) is not int or not -(2**63) <= data < 2**63:
        refuse(path, "an integer of at most 64 bits", data)
    return data


def read_points(data: Any, path: str) -> int:
    """Check that a value is an integer that points may have."""
    if abs(read_whole(data, path)) > _MOST:
        refuse(path, "an integer within ±10^9", data)
    return int(data)


def read_fraction(data: Any, path: str) -> Fraction:
    """Read a text such as "3/10"."""
    text = read_text(data, path)
    try:
        if "e" in text.lower() or "." in text:  # "1e999999999" would fill the memory
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        refuse(path, 'a fraction such as "3/10"', data)


def read_boolean(data: Any, path: str) -> bool:
    """Check that a value is true or false."""
    if not isinstance(data, bool):
        refuse(path, "true or false", data)
    return data
