"""Cards as JSON: a versioned format, written exactly and read strictly.

Every value is checked before it is used, and every error names its place, such as
``rules[2].points``.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from netbenefit.cards.labels import ColumnLabel, Labels
from netbenefit.cards.readings import Reading
from netbenefit.cards.rules import (
    TEXTS,
    Decision,
    HeldOut,
    HeldOutLevel,
    Provenance,
    Rule,
    steps_of_levels,
)
from netbenefit.cards.terms import Condition, PerUnit, Term
from netbenefit.common import (
    InputError,
    absent,
    at,
    check_object,
    or_null,
    parse,
    read_boolean,
    read_integer,
    read_list,
    read_number,
    read_object,
    read_text,
    read_value,
    show,
    upgrade_advice,
    wrong,
)
from netbenefit.metrics import Thresholds

if TYPE_CHECKING:
    from netbenefit.cards.scorecard import Scorecard

SCHEMA = "netbenefit.scorecard"
#: The second knows readings, logarithms and "not in"; the third has a risk for every score, where
#: those before have cut-offs and one risk per level; the fourth has points that columns start from;
#: the fifth what held-out rows say, and labels; the sixth a digest; the seventh decisions.
VERSIONS = (1, 2, 3, 4, 5, 6, 7)

_Reader = Callable[[Any, str], Any]
#: What Python calls ``saw_missing`` has kept its first name in files.
_READING_KEYS = tuple(
    "holes" if field.name == "saw_missing" else field.name for field in fields(Reading)
)
_THRESHOLD_KEYS = ("values", "weights", "end", "zero_asked")
_PROVENANCE_KEYS = tuple(field.name for field in fields(Provenance))
#: Written only where they are known, so that other files stay as they are.
_LATER_KEYS = (
    "updated",
    "teacher",
    "teacher_net_benefit",
    "share_kept",
    "share_bound",
    "rule_penalty",
    "caution",
)


def dumps(card: Scorecard) -> str:
    """Write a card; floats are written so that they come back as they were."""
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSIONS[-1],
        "rules": [{**term_data(rule.term), "points": rule.points} for rule in card.rules],
        "risks": card.risks,
        "thresholds": {key: getattr(card.thresholds, key) for key in _THRESHOLD_KEYS},
        "score_range": card.score_range,
        "feature_names": card.feature_names,
        "provenance": None if card.provenance is None else _provenance_data(card.provenance),
        "readings": [reading_data(reading) for reading in card.readings],
        "base": [{"feature": name, "points": points} for name, points in card.base],
        "held_out": None if card.held_out is None else _held_out_data(card.held_out),
        "labels": asdict(card.labels),
        "decisions": [asdict(decision) for decision in card.decisions],
    }
    data["digest"] = _digest(data)
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _digest(data: dict[str, Any]) -> str:
    """SHA-256 of what a card says, however its text is laid out (``docs/card_format.md``)."""
    rest = {key: _canonical(value) for key, value in data.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """Write 2.0 as 2, as some programs do that pass a file on."""
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _held_out_data(found: HeldOut) -> dict[str, Any]:
    levels = [level._asdict() for level in found.levels]
    return {"net_benefit": found.net_benefit, "levels": levels}


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


def loads(text: str) -> tuple[dict[str, Any], bool]:
    """Read the arguments of a card, and whether the text was changed after it was written.

    Each argument is checked; the card checks that they fit together.
    """
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
            f"version {known}. {upgrade_advice()}"
        )
    if data["version"] == 1:
        _upgrade(data)
    levels = data["version"] < 3  # cut-offs and one risk per level
    readers: dict[str, _Reader] = {
        "schema": read_text,
        "version": read_integer,
        "rules": partial(read_list, read=_rule),
        "risks": partial(read_list, read=or_null(read_number) if levels else _step),
        "thresholds": _thresholds,
        "score_range": or_null(_pair),
        "feature_names": partial(read_list, read=read_text),
        "provenance": or_null(_provenance),
        "readings": partial(read_list, read=read_reading),
    }
    if data["version"] > 3:
        readers["base"] = partial(read_list, read=_start)
    if data["version"] > 4:
        readers["held_out"] = or_null(_held_out)
        readers["labels"] = _labels
    if data["version"] > 5:
        readers["digest"] = read_text
    if data["version"] > 6:
        readers["decisions"] = partial(read_list, read=_decision)
    if levels:
        readers["cutoffs"] = partial(read_list, read=read_integer)
    card = read_object(data, "", readers)
    del card["schema"], card["version"]
    digest = card.pop("digest", None)
    if levels:
        cutoffs, limits = card.pop("cutoffs"), card["score_range"]
        card["risks"] = steps_of_levels(cutoffs, card["risks"], card["thresholds"], limits)
    return card, digest is not None and digest != _digest(data)


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


def _start(data: Any, path: str) -> tuple[str, int]:
    parts = read_object(data, path, {"feature": read_text, "points": read_integer})
    return parts["feature"], parts["points"]


def _held_out(data: Any, path: str) -> HeldOut:
    level: dict[str, _Reader] = {
        "first": or_null(read_integer),
        **dict.fromkeys(("rows", "events"), read_number),
        **dict.fromkeys(("low", "high"), or_null(read_number)),
    }

    def read_level(data: Any, path: str) -> HeldOutLevel:
        return HeldOutLevel(**read_object(data, path, level))

    readers: dict[str, _Reader] = {
        "net_benefit": read_number,
        "levels": partial(read_list, read=read_level),
    }
    parts = read_object(data, path, readers)
    with at(path):
        return HeldOut(parts["net_benefit"], tuple(parts["levels"]))


def _labels(data: Any, path: str) -> Labels:
    column: dict[str, _Reader] = {
        "feature": read_text,
        **dict.fromkeys(("label", "unit"), or_null(read_text)),
        **dict.fromkeys(("low", "high"), or_null(read_number)),
        "levels": partial(read_list, read=read_value),
    }

    def read_column(data: Any, path: str) -> ColumnLabel:
        parts = read_object(data, path, column)
        with at(path):
            return ColumnLabel(**parts)

    readers: dict[str, _Reader] = {
        **dict.fromkeys(("title", "outcome"), or_null(read_text)),
        "columns": partial(read_list, read=read_column),
    }
    parts = read_object(data, path, readers)
    with at(path):
        return Labels(**parts)


def _decision(data: Any, path: str) -> Decision:
    readers: dict[str, _Reader] = {
        **dict.fromkeys(("when", "by", "what"), read_text),
        "net_benefit": read_number,
        "held_out": or_null(read_number),
    }
    parts = read_object(data, path, readers)
    with at(path):
        return Decision(**parts)


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
    kind = data["kind"]
    if kind not in ("condition", "per_unit"):
        wrong(f"{path}.kind", '"condition" or "per_unit"', kind)
    readers = _CONDITION if kind == "condition" else _PER_UNIT
    check_object(data, path, ("kind", *readers, *extra))
    values = {key: read(data[key], f"{path}.{key}") for key, read in readers.items()}
    with at(path):
        return Condition(**values) if kind == "condition" else PerUnit(**values)


def _operand(data: Any, path: str) -> Any:
    """Read what a condition compares with."""
    if isinstance(data, list):
        return tuple(read_list(data, path, read_value))
    return or_null(read_value)(data, path)


_CONDITION: dict[str, _Reader] = {"feature": read_text, "op": read_text, "value": _operand}
_PER_UNIT: dict[str, _Reader] = {
    "feature": read_text,
    "decimals": read_integer,
    "lower": or_null(read_number),
    "upper": or_null(read_number),
    "binary": read_boolean,
    "log": read_boolean,
}


def reading_data(reading: Reading) -> dict[str, Any]:
    """Write how a column is read."""
    return dict(zip(_READING_KEYS, asdict(reading).values(), strict=True))


def read_reading(data: Any, path: str) -> Reading:
    """Read how a column is read."""
    readers: dict[str, _Reader] = {
        **dict.fromkeys(_READING_KEYS, read_boolean),
        **dict.fromkeys(("special", "levels"), partial(read_list, read=read_value)),
        "sources": partial(read_list, read=read_text),
        "feature": read_text,
        "fill": or_null(read_value),
        "combine": or_null(read_text),
    }
    parts = read_object(data, path, readers)
    saw_missing = parts.pop("holes")
    with at(path):
        return Reading(**parts, saw_missing=saw_missing)


def _thresholds(data: Any, path: str) -> Thresholds:
    numbers = partial(read_list, read=read_number)
    readers: list[_Reader] = [numbers, numbers, read_number, read_boolean]
    parts = read_object(data, path, dict(zip(_THRESHOLD_KEYS, readers, strict=True)))
    with at(path):
        return Thresholds(tuple(parts.pop("values")), tuple(parts.pop("weights")), **parts)


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
