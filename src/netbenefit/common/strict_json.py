"""JSON from outside, read strictly: every error names the place of the culprit."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

from netbenefit.common.checks import InputError

T = TypeVar("T")
Value = int | float | str


def parse(
    text: str, what: str = "a card", remedy: str = "Pass a file that Scorecard.save wrote."
) -> Any:
    """Read JSON strictly: no constants, no key twice; errors name ``what`` and ``remedy``."""
    if not isinstance(text, str):
        raise InputError(f"{what} is read from text, not from {type(text).__name__}.")
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique_keys)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg} (line {error.lineno}, column {error.colno}). {remedy}"
        ) from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or endless brackets
        raise InputError(f"not {what}: its JSON is too large to read. {remedy}") from None


def _no_constant(name: str) -> NoReturn:
    raise InputError(f"{name} is not a number in JSON. Replace it by null or a finite number.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise InputError(f"key {show(twice)} appears twice in one object. Remove one of them.")
    return data


@contextmanager
def at(path: str) -> Iterator[None]:
    """Put the path before an error."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: ", *error.args) from None


def show(value: Any) -> str:
    """Write a value for an error message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


def wrong(path: str, expected: str, value: Any) -> NoReturn:
    """Refuse a value."""
    raise InputError(f"{path} must be {expected}, but is {show(value)}.")


def absent(key: str, path: str) -> NoReturn:
    """Refuse an object without a key."""
    raise InputError(f"{_place(path, key)} is missing. The file is incomplete: write it again.")


def check_object(data: Any, path: str, keys: tuple[str, ...]) -> None:
    """Refuse what is no object with exactly these keys."""
    if not isinstance(data, dict):
        wrong(path or "the file", "an object", data)
    for key in keys:
        if key not in data:
            absent(key, path)
    for key in data:
        if key not in keys:
            raise InputError(
                f"{_place(path, key)} is not a known key. Remove it, or update the package."
            )


def read_object(
    data: Any, path: str, readers: Mapping[str, Callable[[Any, str], Any]]
) -> dict[str, Any]:
    """Read an object with exactly these keys, each by its own reader."""
    check_object(data, path, tuple(readers))
    return {key: read(data[key], _place(path, key)) for key, read in readers.items()}


def _place(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def read_list(
    data: Any, path: str, read: Callable[[Any, str], T], size: int | None = None
) -> list[T]:
    """Read a list, each item by ``read``; ``size`` is how many there have to be."""
    if not isinstance(data, list):
        wrong(path, "a list", data)
    if size is not None and len(data) != size:
        raise InputError(f"{path} must hold {size} entries, but holds {len(data)}.")
    return [read(item, f"{path}[{i}]") for i, item in enumerate(data)]


def or_null(read: Callable[[Any, str], T]) -> Callable[[Any, str], T | None]:
    """Let a reader take null for None."""
    return lambda data, path: None if data is None else read(data, path)


def read_integer(data: Any, path: str) -> int:
    """Read an integer of at most 64 bits."""
    if type(data) is not int:
        wrong(path, "an integer", data)
    if not -(2**63) <= data < 2**63:
        wrong(path, "an integer of at most 64 bits", data)
    return data


def read_fraction(data: Any, path: str) -> Fraction:
    """Read a text such as "3/10"."""
    text = read_text(data, path)
    try:
        if "e" in text.lower() or "." in text:  # "1e999999999" would fill the memory
            raise ValueError
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        wrong(path, 'a fraction such as "3/10"', data)
    if abs(value) >= 10**100:  # a float has to hold it, for people to read
        wrong(path, "a fraction below 10^100", data)
    return value


def read_number(data: Any, path: str) -> int | float:
    """Read a finite number."""
    if type(data) is int:
        return read_integer(data, path)
    if type(data) is not float or not math.isfinite(data):
        wrong(path, "a finite number", data)
    return data


def read_value(data: Any, path: str) -> Value:
    """Read a finite number or text."""
    return data if isinstance(data, str) else read_number(data, path)


def read_text(data: Any, path: str) -> str:
    """Read text."""
    if not isinstance(data, str):
        wrong(path, "text", data)
    return data


def read_boolean(data: Any, path: str) -> bool:
    """Read true or false."""
    if not isinstance(data, bool):
        wrong(path, "true or false", data)
    return data
