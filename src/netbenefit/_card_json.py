"""Cards as JSON: a versioned format, written exactly and read strictly.

What is read comes from outside, so every value is checked before it is used, and every error names
the place of the culprit, such as ``rules[2].points``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import Any, NoReturn, TypedDict, TypeVar

from netbenefit._card_types import Card, Provenance, Rule
from netbenefit._validation import InputError
from netbenefit.conditions import Condition, PerUnit, Value
from netbenefit.thresholds import Thresholds

__all__ = ["SCHEMA", "VERSIONS", "Parts", "dumps", "loads"]

SCHEMA = "netbenefit.scorecard"
VERSIONS = (1,)

_CARD_KEYS = (
    "schema",
    "version",
    "rules",
    "cutoffs",
    "risks",
    "thresholds",
    "score_range",
    "feature_names",
    "provenance",
)
_RULE_KEYS = {
    "condition": ("kind", "feature", "op", "value", "points"),
    "per_unit": ("kind", "feature", "decimals", "lower", "upper", "binary", "points"),
}
_THRESHOLD_KEYS = ("values", "weights", "end", "zero_asked")
_PROVENANCE_KEYS = tuple(field.name for field in fields(Provenance))
_TEXT_KEYS = ("version", "solver", "status", "outcome")

T = TypeVar("T")


class Parts(TypedDict):
    """What a :class:`netbenefit.scorecard.Scorecard` is made from."""

    rules: tuple[Rule, ...]
    cutoffs: tuple[int, ...]
    risks: tuple[float | None, ...]
    thresholds: Thresholds
    score_range: tuple[int, int] | None
    feature_names: tuple[str, ...]
    provenance: Provenance | None


def dumps(card: Card) -> str:
    """Write a card; floats are written so that they come back as they were.

    Examples
    --------
    >>> from netbenefit.scorecard import Scorecard
    >>> card = Scorecard([], [0], [None, 0.6], Thresholds.of([0.5]), score_range=(0, 0))
    >>> Scorecard(**loads(dumps(card))) == card
    True
    """
    data = {
        "schema": SCHEMA,
        "version": VERSIONS[-1],
        "rules": [_rule_data(rule) for rule in card.rules],
        "cutoffs": card.cutoffs,
        "risks": card.risks,
        "thresholds": {key: getattr(card.thresholds, key) for key in _THRESHOLD_KEYS},
        "score_range": card.score_range,
        "feature_names": card.feature_names,
        "provenance": None if card.provenance is None else asdict(card.provenance),
    }
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _rule_data(rule: Rule) -> dict[str, Any]:
    kind = "condition" if isinstance(rule.term, Condition) else "per_unit"
    return {"kind": kind, **asdict(rule.term), "points": rule.points}


def loads(text: str) -> Parts:
    """Read the parts of a card, each of them checked; the card checks that they fit together.

    Raises
    ------
    InputError
        Where the text is not a card of a known version: what is wrong, and where.
    """
    data = _parse(text)
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise InputError(
            f'not a card: expected a JSON object with "schema": "{SCHEMA}". Pass a file that '
            "Scorecard.save wrote."
        )
    if "version" not in data:
        _missing("version", "")
    if type(data["version"]) is not int or data["version"] not in VERSIONS:
        known = ", ".join(map(str, VERSIONS))
        raise InputError(
            f"version {_show(data['version'])} of the card format is not known; this package reads "
            f"version {known}. Update the package: pip install --upgrade netbenefit."
        )
    _object(data, "", _CARD_KEYS)
    return Parts(
        rules=tuple(_list(data["rules"], "rules", _rule)),
        cutoffs=tuple(_list(data["cutoffs"], "cutoffs", _integer)),
        risks=tuple(_list(data["risks"], "risks", _or_null(_number))),
        thresholds=_thresholds(data["thresholds"], "thresholds"),
        score_range=_or_null(_pair)(data["score_range"], "score_range"),
        feature_names=tuple(_list(data["feature_names"], "feature_names", _text)),
        provenance=_or_null(_provenance)(data["provenance"], "provenance"),
    )


# -- the parts of a card ---------------------------------------------------------------------------


def _rule(data: Any, path: str) -> Rule:
    if not isinstance(data, dict):
        _wrong(path, "an object", data)
    if "kind" not in data:
        _missing("kind", path)
    keys = _RULE_KEYS.get(data["kind"]) if isinstance(data["kind"], str) else None
    if keys is None:
        _wrong(f"{path}.kind", " or ".join(f'"{kind}"' for kind in _RULE_KEYS), data["kind"])
    _object(data, path, keys)
    points = _integer(data["points"], f"{path}.points")
    feature = _text(data["feature"], f"{path}.feature")
    if data["kind"] == "condition":
        op = _text(data["op"], f"{path}.op")
        value = _condition_value(data["value"], f"{path}.value")
        with _at(path):
            return Rule(Condition(feature, op, value), points)
    decimals = _integer(data["decimals"], f"{path}.decimals")
    lower, upper = (_or_null(_number)(data[key], f"{path}.{key}") for key in ("lower", "upper"))
    binary = _boolean(data["binary"], f"{path}.binary")
    with _at(path):
        return Rule(PerUnit(feature, decimals, lower, upper, binary), points)


def _condition_value(data: Any, path: str) -> Value | tuple[Value, ...] | None:
    if isinstance(data, list):
        return tuple(_list(data, path, _number_or_text))
    return _or_null(_number_or_text)(data, path)


def _thresholds(data: Any, path: str) -> Thresholds:
    _object(data, path, _THRESHOLD_KEYS)
    values = tuple(_list(data["values"], f"{path}.values", _number))
    weights = tuple(_list(data["weights"], f"{path}.weights", _number))
    end = _number(data["end"], f"{path}.end")
    zero_asked = _boolean(data["zero_asked"], f"{path}.zero_asked")
    with _at(path):
        return Thresholds(values, weights, end, zero_asked)


def _provenance(data: Any, path: str) -> Provenance:
    _object(data, path, _PROVENANCE_KEYS)
    for key, value in data.items():
        if key == "version" or (key in _TEXT_KEYS and value is not None):
            _text(value, f"{path}.{key}")
        elif value is not None:
            _number(value, f"{path}.{key}")
    with _at(path):
        return Provenance(**data)


def _pair(data: Any, path: str) -> tuple[int, int]:
    numbers = _list(data, path, _integer)
    if len(numbers) != 2:
        _wrong(path, "two integers", data)
    return numbers[0], numbers[1]


# -- the parts of JSON -----------------------------------------------------------------------------


def _parse(text: str) -> Any:
    if not isinstance(text, str):
        raise InputError(f"a card is read from text, not from {type(text).__name__}.")
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique_keys)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg} (line {error.lineno}, column {error.colno}). Pass a file that "
            "Scorecard.save wrote."
        ) from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or endless brackets
        raise InputError("not a card: its JSON is too large to read.") from None


def _no_constant(name: str) -> NoReturn:
    raise InputError(f"{name} is not a number in JSON. Replace it by null or a finite number.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"key {_show(twice)} appears twice in one object. Remove one of them.")
    return data


@contextmanager
def _at(path: str) -> Iterator[None]:
    """Put the path before an error of the classes that a card is built from."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


def _wrong(path: str, wanted: str, value: Any) -> NoReturn:
    raise InputError(f"{path} must be {wanted}, but is {_show(value)}.")


def _missing(key: str, path: str) -> NoReturn:
    where = f"{path}.{key}" if path else key
    raise InputError(f"{where} is missing. The file is incomplete: save the card again.")


def _object(data: Any, path: str, keys: tuple[str, ...]) -> None:
    if not isinstance(data, dict):
        _wrong(path, "an object", data)
    for key in keys:
        if key not in data:
            _missing(key, path)
    for key in data:
        if key not in keys:
            where = f"{path}.{key}" if path else key
            raise InputError(f"{where} is not a known key. Remove it, or update the package.")


def _list(data: Any, path: str, read: Callable[[Any, str], T]) -> list[T]:
    if not isinstance(data, list):
        _wrong(path, "a list", data)
    return [read(item, f"{path}[{i}]") for i, item in enumerate(data)]


def _or_null(read: Callable[[Any, str], T]) -> Callable[[Any, str], T | None]:
    return lambda data, path: None if data is None else read(data, path)


def _integer(data: Any, path: str) -> int:
    if type(data) is not int:
        _wrong(path, "an integer", data)
    if not -(2**63) <= data < 2**63:
        _wrong(path, "an integer of at most 64 bits", data)
    return data


def _number(data: Any, path: str) -> int | float:
    if type(data) is int:
        return _integer(data, path)
    if type(data) is not float or not math.isfinite(data):
        _wrong(path, "a finite number", data)
    return data


def _number_or_text(data: Any, path: str) -> Value:
    return data if isinstance(data, str) else _number(data, path)


def _text(data: Any, path: str) -> str:
    if not isinstance(data, str):
        _wrong(path, "text", data)
    return data


def _boolean(data: Any, path: str) -> bool:
    if not isinstance(data, bool):
        _wrong(path, "true or false", data)
    return data
