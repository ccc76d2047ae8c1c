"""Cards as JSON: a versioned format, written exactly and read strictly.

Every value is checked before it is used, and every error names its place, such as
``rules[2].points``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from netbenefit.cards.readings import Reading
from netbenefit.cards.rules import TEXTS, Provenance, Rule, steps_of_levels
from netbenefit.cards.terms import Condition, PerUnit, Term
from netbenefit.common import (
    InputError,
    Value,
    absent,
    at,
    check_object,
    or_null,
    parse,
    read_boolean,
    read_integer,
    read_list,
    read_number,
    read_text,
    read_value,
    show,
    wrong,
)
from netbenefit.metrics import Thresholds

if TYPE_CHECKING:
    from netbenefit.cards.scorecard import Scorecard

SCHEMA = "netbenefit.scorecard"
#: The second knows readings, logarithms and "not in"; the third has a risk for every score, where
#: the others have cut-offs and one risk per level.
VERSIONS = (1, 2, 3)

_CARD_KEYS = (
    "schema",
    "version",
    "rules",
    "risks",
    "thresholds",
    "score_range",
    "feature_names",
    "provenance",
    "readings",
)
_TERM_KEYS = {
    "condition": ("kind", "feature", "op", "value"),
    "per_unit": ("kind", "feature", "decimals", "lower", "upper", "binary", "log"),
}
#: What Python calls ``saw_missing`` has kept its first name in files.
_READING_KEYS = tuple(
    "holes" if field.name == "saw_missing" else field.name for field in fields(Reading)
)
_THRESHOLD_KEYS = ("values", "weights", "end", "zero_asked")
_PROVENANCE_KEYS = tuple(field.name for field in fields(Provenance))
#: Written only where they are known, so that other files stay as they are.
_LATER_KEYS = ("updated", "teacher", "teacher_net_benefit", "share_kept", "share_bound")


def dumps(card: Scorecard) -> str:
    """Write a card; floats are written so that they come back as they were."""
    data = {
        "schema": SCHEMA,
        "version": VERSIONS[-1],
        "rules": [{**term_data(rule.term), "points": rule.points} for rule in card.rules],
        "risks": card.risks,
        "thresholds": {key: getattr(card.thresholds, key) for key in _THRESHOLD_KEYS},
        "score_range": card.score_range,
        "feature_names": card.feature_names,
        "provenance": None if card.provenance is None else _provenance_data(card.provenance),
        "readings": [reading_data(reading) for reading in card.readings],
    }
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _provenance_data(origin: Provenance) -> dict[str, Any]:
    data = asdict(origin)
    for key in _LATER_KEYS:
        if data[key] is None:
            del data[key]
    if origin.prior_strength == math.inf:
        data["prior_strength"] = "inf"
    return data


def term_data(term: Term) -> dict[str, Any]:
    """Return a term as a JSON object."""
    kind = "condition" if isinstance(term, Condition) else "per_unit"
    return {"kind": kind, **asdict(term)}


def loads(text: str) -> dict[str, Any]:
    """Read the arguments of a card, each checked; the card checks that they fit together."""
    data = parse(text)
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise InputError(
            f'not a card: expected a JSON object with "schema": "{SCHEMA}". Pass a file that '
            "Scorecard.save wrote."
        )
    if "version" not in data:
        absent("version", "")
    if type(data["version"]) is not int or data["version"] not in VERSIONS:
        known = ", ".join(map(str, VERSIONS))
        raise InputError(
            f"version {show(data['version'])} of the card format is not known; this package reads "
            f"version {known}. Update the package: pip install --upgrade netbenefit."
        )
    if data["version"] == 1:
        _upgrade(data)
    levels = data["version"] < 3
    check_object(data, "", (*_CARD_KEYS, "cutoffs") if levels else _CARD_KEYS)
    rules = tuple(read_list(data["rules"], "rules", _rule))
    thresholds = _thresholds(data["thresholds"], "thresholds")
    score_range = or_null(_pair)(data["score_range"], "score_range")
    risks: Sequence[tuple[int, float]]
    if levels:  # cut-offs and one risk per level
        cutoffs = read_list(data["cutoffs"], "cutoffs", read_integer)
        by_level = read_list(data["risks"], "risks", or_null(read_number))
        risks = steps_of_levels(cutoffs, by_level, thresholds, score_range)
    else:
        risks = read_list(data["risks"], "risks", _step)
    return {
        "rules": rules,
        "risks": risks,
        "thresholds": thresholds,
        "score_range": score_range,
        "feature_names": tuple(read_list(data["feature_names"], "feature_names", read_text)),
        "provenance": or_null(_provenance)(data["provenance"], "provenance"),
        "readings": tuple(read_list(data["readings"], "readings", read_reading)),
    }


def _upgrade(data: dict[str, Any]) -> None:
    """Add what cards of version 1 did not have."""
    data.setdefault("readings", [])
    rules = data.get("rules")
    for rule in rules if isinstance(rules, list) else []:
        if isinstance(rule, dict) and rule.get("kind") == "per_unit":
            rule.setdefault("log", False)


# -- the parts of a card ---------------------------------------------------------------------------


def _step(data: Any, path: str) -> tuple[int, float]:
    if not isinstance(data, list) or len(data) != 2:
        wrong(path, "a list of a score and its risk", data)
    return read_integer(data[0], f"{path}[0]"), read_number(data[1], f"{path}[1]")


def _rule(data: Any, path: str) -> Rule:
    term = read_term(data, path, extra=("points",))
    points = read_integer(data["points"], f"{path}.points")
    with at(path):
        return Rule(term, points)


def read_term(data: Any, path: str, extra: tuple[str, ...] = ()) -> Term:
    """Read a condition, or points per unit, from an object that may have more keys."""
    if not isinstance(data, dict):
        wrong(path, "an object", data)
    if "kind" not in data:
        absent("kind", path)
    keys = _TERM_KEYS.get(data["kind"]) if isinstance(data["kind"], str) else None
    if keys is None:
        wrong(f"{path}.kind", " or ".join(f'"{kind}"' for kind in _TERM_KEYS), data["kind"])
    check_object(data, path, keys + extra)
    feature = read_text(data["feature"], f"{path}.feature")
    if data["kind"] == "condition":
        op = read_text(data["op"], f"{path}.op")
        value: Value | tuple[Value, ...] | None
        if isinstance(data["value"], list):
            value = tuple(read_list(data["value"], f"{path}.value", read_value))
        else:
            value = or_null(read_value)(data["value"], f"{path}.value")
        with at(path):
            return Condition(feature, op, value)
    decimals = read_integer(data["decimals"], f"{path}.decimals")
    lower, upper = (or_null(read_number)(data[key], f"{path}.{key}") for key in ("lower", "upper"))
    binary, log = (read_boolean(data[key], f"{path}.{key}") for key in ("binary", "log"))
    with at(path):
        return PerUnit(feature, decimals, lower, upper, binary, log)


def reading_data(reading: Reading) -> dict[str, Any]:
    """Write how a column is read."""
    return dict(zip(_READING_KEYS, asdict(reading).values(), strict=True))


def read_reading(data: Any, path: str) -> Reading:
    """Read how a column is read."""
    check_object(data, path, _READING_KEYS)
    values = partial(read_list, read=read_value)
    readers: dict[str, Callable[[Any, str], Any]] = {
        "special": values,
        "levels": values,
        "sources": partial(read_list, read=read_text),
        "whole": read_boolean,
        "text": read_boolean,
        "refuse": read_boolean,
        "holes": read_boolean,
        "feature": read_text,
        "fill": or_null(read_value),
        "combine": or_null(read_text),
    }
    parts = {key: read(data[key], f"{path}.{key}") for key, read in readers.items()}
    saw_missing = parts.pop("holes")
    with at(path):
        return Reading(**parts, saw_missing=saw_missing)


def _thresholds(data: Any, path: str) -> Thresholds:
    check_object(data, path, _THRESHOLD_KEYS)
    values = tuple(read_list(data["values"], f"{path}.values", read_number))
    weights = tuple(read_list(data["weights"], f"{path}.weights", read_number))
    end = read_number(data["end"], f"{path}.end")
    zero_asked = read_boolean(data["zero_asked"], f"{path}.zero_asked")
    with at(path):
        return Thresholds(values, weights, end, zero_asked)


def _provenance(data: Any, path: str) -> Provenance:
    if isinstance(data, dict):
        data = {**dict.fromkeys(_LATER_KEYS), **data}
    check_object(data, path, _PROVENANCE_KEYS)
    infinite = data["prior_strength"] == "inf"
    if infinite:
        data["prior_strength"] = None
    for key, value in data.items():
        if key == "version" or (key in TEXTS and value is not None):
            read_text(value, f"{path}.{key}")
        elif value is not None:
            read_number(value, f"{path}.{key}")
    if infinite:
        data["prior_strength"] = math.inf
    with at(path):
        return Provenance(**data)


def _pair(data: Any, path: str) -> tuple[int, int]:
    numbers = read_list(data, path, read_integer)
    if len(numbers) != 2:
        wrong(path, "two integers", data)
    return numbers[0], numbers[1]
