"""From a case that fails to a small one that fails in the same way, and its file."""

from __future__ import annotations

import json
import math
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.soak import Unusable

FOUND = Path(__file__).parent / "found"
#: Longest time that a failure is reduced.
SECONDS = 120.0

Check = Callable[[Any], Any]


def error_of(check: Check, case: Any) -> Exception | None:
    """What a check raises; None where it passes, or where the case means nothing."""
    try:
        check(case)
    except Unusable:
        return None
    except Exception as error:
        return error
    return None


def signature(error: Exception) -> str:
    """Tell failures apart: the kind of the error, and the last place of ours that raised it."""
    places = [
        f"{Path(frame.filename).name}:{frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if {"netbenefit", "tests"} & set(Path(frame.filename).parts)
    ]
    return f"{type(error).__name__} in {places[-1] if places else '?'}"


def reduced(
    case: Any,
    check: Check,
    smaller: Callable[[Any], Iterator[Any]] | None = None,
) -> Any:
    """The first simpler case that fails in the same way, again and again until there is none."""
    error = error_of(check, case)
    if error is None:  # it does not fail twice
        return case
    wanted, end = signature(error), time.monotonic() + SECONDS
    found = True
    while found:
        found = False
        for other in _all_smaller(case, smaller):
            if time.monotonic() > end:
                return case
            again = error_of(check, other)
            if again is not None and signature(again) == wanted:
                case, found = other, True
                break
    return case


def _all_smaller(case: Any, smaller: Callable[[Any], Iterator[Any]] | None) -> Iterator[Any]:
    if smaller is not None:
        yield from smaller(case)
    yield from simpler(case)


def simpler(value: Any) -> Iterator[Any]:
    """The same JSON with a part left out, or with a simpler value, the largest parts first."""
    if isinstance(value, list | str):
        size = len(value)
        step = size
        while step:
            for start in range(0, size, step):
                yield value[:start] + value[start + step :]
            step //= 2
    if isinstance(value, list | dict):
        for key, item in enumerate(value) if isinstance(value, list) else value.items():
            for other in simpler(item):
                copy = value.copy()
                copy[key] = other  # type: ignore[index]
                yield copy
    elif isinstance(value, bool):
        if value:
            yield False
    elif isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        others = [0, 1, round(value), round(value, 1), round(value, 3), value // 2]
        yield from dict.fromkeys(other for other in others if _size(other) < _size(value))


def _size(number: float) -> tuple[int, float]:
    """How much there is to read of a number, so that simplifying ends."""
    return len(repr(number)), abs(number)


def store(folder: Path, kind: str, name: str, case: Any, error: Exception) -> Path:
    """Write a failure down; a case that has a file keeps it."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"kind": kind, "error": _words(error), "case": case}, indent=1)
    path = folder / f"{kind}-{name}.json"
    path.write_text(text + "\n", encoding="utf-8")
    return path


def _words(error: Exception) -> str:
    text = f"{signature(error)}: {error}"
    return text if len(text) < 2000 else f"{text[:2000]}…"
