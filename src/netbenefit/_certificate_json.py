"""Certificates as JSON: written exactly, read strictly.

A file comes from outside, so every value is checked before it is used, and every error names the
place of the culprit, such as ``problem.lower[2]``.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from netbenefit._certificate_columns import (
    read_columns,
    read_readings,
    write_columns,
    write_readings,
)
from netbenefit._certificate_types import (
    Answer,
    Claim,
    DataDigest,
    Lesson,
    Limits,
    RateLimits,
    Scale,
    Statement,
)
from netbenefit._validation import InputError, IntArray
from netbenefit.bounds.proof import Boxes

__all__ = [
    "check_version",
    "parse",
    "read_answer",
    "read_claim",
    "read_object",
    "read_problem",
    "read_text",
    "write_answer",
    "write_claim",
    "write_problem",
]

T = TypeVar("T")

#: Points lie within these.
_MOST = 10**9
#: Most entries of an array that is unpacked.
_MOST_ENTRIES = 2**31
#: How the arrays of boxes are packed.
_PACKED = {"lower": "<i4", "upper": "<i4", "values": "<i8", "reasons": "<u1"}


# -- writing ---------------------------------------------------------------------------------------


def write_problem(said: Statement) -> dict[str, Any]:
    """Return a problem as JSON, without its digest."""
    limits = said.limits
    return {
        "data": {
            "digest": said.data.digest,
            "patterns": said.data.patterns,
            "rows": str(said.data.rows),
            "events": str(said.data.events),
        },
        "columns": write_columns(said),
        "readings": write_readings(said),
        "thresholds": [str(p) for p in said.thresholds],
        "weights": [str(w) for w in said.weights],
        "objective": said.objective,
        "penalty": str(said.penalty),
        "teacher": None if said.teacher is None else _write_lesson(said.teacher),
        "lower": said.lower.tolist(),
        "upper": said.upper.tolist(),
        "max_features": said.max_features,
        "limits": {
            "values": _allowed_values(limits.values, said.lower, said.upper),
            "support": limits.support.tolist(),
            "support_limit": limits.support_limit.tolist(),
            "total": int(limits.total),
            "rates": None
            if limits.rates is None
            else {
                "found": [str(v) for v in limits.rates.found],
                "alarms": [str(v) for v in limits.rates.alarms],
            },
        },
        "constraints": said.constraints,
    }


def _allowed_values(
    values: NDArray[np.bool_], lower: IntArray, upper: IntArray
) -> list[list[int] | None]:
    """Allowed points of each column; None where all from lower to upper are."""
    result: list[list[int] | None] = []
    for k, (low, high) in enumerate(zip(lower.tolist(), upper.tolist(), strict=True)):
        mask = values[k, : high - low + 1]
        result.append(None if mask.all() else (low + np.flatnonzero(mask)).tolist())
    return result


def write_answer(answer: Answer) -> dict[str, Any]:
    """Return points and their worth as JSON."""
    return {
        "points": list(answer.points),
        "cutoffs": list(answer.cutoffs),
        "objective": str(answer.objective),
        "net_benefit": str(answer.net_benefit),
    }


def write_claim(claim: Claim | None) -> dict[str, Any] | None:
    """Return a bound and its origin as JSON; nothing where nothing is proven."""
    if claim is None:
        return None
    scale = claim.scale
    return {
        "method": claim.method,
        "bound": str(claim.bound),
        "rounded": claim.rounded,
        "rounding": str(claim.rounding),
        "details": claim.details,
        "scale": {
            "total": str(scale.total),
            "constant": str(scale.constant),
            "price": scale.price,
            "exact": scale.exact,
        },
        "boxes": None if claim.boxes is None else _write_boxes(claim.boxes),
    }


def _write_lesson(lesson: Lesson) -> dict[str, Any]:
    return {
        "name": lesson.name,
        "strength": "inf" if lesson.strength is None else str(lesson.strength),
        "denominator": lesson.denominator,
        "patterns": int(lesson.expected.size),
        "expected": _pack(lesson.expected, "<i8"),
        "net_benefit": lesson.net_benefit,
        "blended_benefit": lesson.blended_benefit,
    }


def _pack(values: IntArray, kind: str) -> str:
    return base64.b64encode(zlib.compress(values.astype(kind).tobytes(), 6)).decode()


def _write_boxes(boxes: Boxes) -> dict[str, Any]:
    packed = {key: _pack(getattr(boxes, key), kind) for key, kind in _PACKED.items()}
    return {"count": len(boxes), "columns": int(boxes.lower.shape[1]), **packed}


# -- reading ---------------------------------------------------------------------------------------


def read_problem(data: Any, path: str) -> Statement:
    """Read what :func:`write_problem` wrote (and its digest, which the caller compares)."""
    keys = (
        "digest",
        "data",
        "columns",
        "readings",
        "thresholds",
        "weights",
        "objective",
        "penalty",
    )
    more = ("teacher", "lower", "upper", "max_features", "limits", "constraints")
    read_object(data, path, (*keys, *more))
    columns = read_columns(data["columns"], f"{path}.columns")
    n_columns = len(columns)
    if not n_columns:
        _wrong(f"{path}.columns", "a list of at least one column", data["columns"])
    thresholds = _list(data["thresholds"], f"{path}.thresholds", _fraction)
    weights = _list(data["weights"], f"{path}.weights", _fraction, len(thresholds))
    rising = all(a < b for a, b in zip(thresholds, [*thresholds[1:], Fraction(1)], strict=True))
    if len(thresholds) < 2 or thresholds[0] != 0 or not rising:
        _wrong(f"{path}.thresholds", "0 and then rising numbers below 1", data["thresholds"])
    if min(weights) < 0:
        _wrong(f"{path}.weights", "numbers from 0", data["weights"])
    penalty = _fraction(data["penalty"], f"{path}.penalty")
    if penalty < 0:
        _wrong(f"{path}.penalty", "a number from 0", data["penalty"])
    teacher = None
    if data["teacher"] is not None:
        teacher = _read_lesson(data["teacher"], f"{path}.teacher")
    lower = _list(data["lower"], f"{path}.lower", _points, n_columns)
    upper = _list(data["upper"], f"{path}.upper", _points, n_columns)
    if any(a > b for a, b in zip(lower, upper, strict=True)):
        _wrong(f"{path}.upper", "at least the lower points", data["upper"])
    said = Statement(
        data=_data_digest(data["data"], f"{path}.data"),
        names=tuple(column.name for column in columns),
        terms=tuple(column.term for column in columns),
        exact=tuple(column.exact for column in columns),
        thresholds=tuple(thresholds),
        weights=tuple(weights),
        penalty=penalty,
        lower=np.array(lower, dtype=np.int64),
        upper=np.array(upper, dtype=np.int64),
        max_features=_whole(data["max_features"], f"{path}.max_features"),
        limits=_limits(data["limits"], f"{path}.limits", lower, upper, len(thresholds)),
        constraints=_list(data["constraints"], f"{path}.constraints", lambda item, _: item),
        teacher=teacher,
        readings=read_readings(data["readings"], f"{path}.readings"),
    )
    if said.data.rows <= 0:
        _wrong(f"{path}.data.rows", "a positive number", data["data"]["rows"])
    if teacher is not None and teacher.expected.size != said.data.patterns:
        _wrong(f"{path}.teacher.patterns", f"{said.data.patterns}", teacher.expected.size)
    if data["objective"] != said.objective:
        _wrong(f"{path}.objective", f'"{said.objective}"', data["objective"])
    return said


def _read_lesson(data: Any, path: str) -> Lesson:
    keys = ("name", "strength", "denominator", "patterns", "expected")
    read_object(data, path, (*keys, "net_benefit", "blended_benefit"))
    strength = None
    if data["strength"] != "inf":
        strength = _fraction(data["strength"], f"{path}.strength")
        if strength <= 0:
            _wrong(f"{path}.strength", 'a positive number of rows or "inf"', data["strength"])
    denominator = _whole(data["denominator"], f"{path}.denominator")
    patterns = _whole(data["patterns"], f"{path}.patterns")
    if denominator < 1:
        _wrong(f"{path}.denominator", "a whole number from 1", denominator)
    if not 0 <= patterns <= _MOST_ENTRIES:
        _wrong(f"{path}.patterns", "a usable number", patterns)
    for key in ("net_benefit", "blended_benefit"):
        if isinstance(data[key], bool) or not isinstance(data[key], int | float):
            _wrong(f"{path}.{key}", "a number", data[key])
    return Lesson(
        read_text(data["name"], f"{path}.name"),
        strength,
        denominator,
        _unpack(data["expected"], f"{path}.expected", "<i8", (patterns,)),
        float(data["net_benefit"]),
        float(data["blended_benefit"]),
    )


def _data_digest(data: Any, path: str) -> DataDigest:
    read_object(data, path, ("digest", "patterns", "rows", "events"))
    return DataDigest(
        read_text(data["digest"], f"{path}.digest"),
        _whole(data["patterns"], f"{path}.patterns"),
        _fraction(data["rows"], f"{path}.rows"),
        _fraction(data["events"], f"{path}.events"),
    )


def _limits(data: Any, path: str, lower: list[int], upper: list[int], n_thresholds: int) -> Limits:
    read_object(data, path, ("values", "support", "support_limit", "total", "rates"))
    n_columns = len(lower)
    widths = [high - low + 1 for low, high in zip(lower, upper, strict=True)]
    if max(widths) * n_columns > 10**8:
        raise InputError(f"{path}: the points have too many values to check.")
    mask = np.arange(max(widths)) < np.array(widths)[:, None]
    for k, allowed in enumerate(_list(data["values"], f"{path}.values", _or_list, n_columns)):
        if allowed is not None:
            if any(not lower[k] <= v <= upper[k] for v in allowed):
                _wrong(f"{path}.values[{k}]", f"points from {lower[k]} to {upper[k]}", allowed)
            mask[k] = False
            mask[k, np.array(allowed, dtype=np.int64) - lower[k]] = True
    rows = _list(
        data["support"], f"{path}.support", lambda row, at: _list(row, at, _points, n_columns)
    )
    limit = _list(data["support_limit"], f"{path}.support_limit", _whole, len(rows))
    rates = None
    if data["rates"] is not None:
        read_object(data["rates"], f"{path}.rates", ("found", "alarms"))
        found, alarms = (
            tuple(_list(data["rates"][key], f"{path}.rates.{key}", _fraction, n_thresholds))
            for key in ("found", "alarms")
        )
        rates = RateLimits(found, alarms)
    return Limits(
        values=mask,
        support=np.array(rows, dtype=np.int64).reshape(len(rows), n_columns),
        support_limit=np.array(limit, dtype=np.int64),
        total=_whole(data["total"], f"{path}.total"),
        rates=rates,
    )


def read_answer(data: Any, path: str) -> Answer:
    """Read what :func:`write_answer` wrote."""
    read_object(data, path, ("points", "cutoffs", "objective", "net_benefit"))
    return Answer(
        tuple(_list(data["points"], f"{path}.points", _points)),
        tuple(_list(data["cutoffs"], f"{path}.cutoffs", _whole)),
        _fraction(data["objective"], f"{path}.objective"),
        _fraction(data["net_benefit"], f"{path}.net_benefit"),
    )


def read_claim(data: Any, path: str) -> Claim | None:
    """Read what :func:`write_claim` wrote."""
    if data is None:
        return None
    keys = ("method", "bound", "rounded", "rounding", "details", "scale", "boxes")
    read_object(data, path, keys)
    scale = data["scale"]
    read_object(scale, f"{path}.scale", ("total", "constant", "price", "exact"))
    if not isinstance(data["details"], dict):
        _wrong(f"{path}.details", "an object", data["details"])
    return Claim(
        method=read_text(data["method"], f"{path}.method"),
        bound=_fraction(data["bound"], f"{path}.bound"),
        rounded=_boolean(data["rounded"], f"{path}.rounded"),
        rounding=_fraction(data["rounding"], f"{path}.rounding"),
        details=data["details"],
        scale=Scale(
            _fraction(scale["total"], f"{path}.scale.total"),
            _fraction(scale["constant"], f"{path}.scale.constant"),
            _whole(scale["price"], f"{path}.scale.price"),
            _boolean(scale["exact"], f"{path}.scale.exact"),
        ),
        boxes=None if data["boxes"] is None else _read_boxes(data["boxes"], f"{path}.boxes"),
    )


def _read_boxes(data: Any, path: str) -> Boxes:
    read_object(data, path, ("count", "columns", *_PACKED))
    count, width = (_whole(data[key], f"{path}.{key}") for key in ("count", "columns"))
    if count < 0 or width < 1 or count * width > _MOST_ENTRIES:
        _wrong(path, "boxes of a usable number", [count, width])
    unpacked = {}
    for key, kind in _PACKED.items():
        shape = (count, width) if key in ("lower", "upper") else (count,)
        unpacked[key] = _unpack(data[key], f"{path}.{key}", kind, shape)
    return Boxes(**unpacked)


def _unpack(text: Any, path: str, kind: str, shape: tuple[int, ...]) -> IntArray:
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    try:
        packed = base64.b64decode(read_text(text, path), validate=True)
        unzip = zlib.decompressobj()
        raw = unzip.decompress(packed, size + 1)  # no more, however much a hostile file holds
    except (binascii.Error, ValueError, zlib.error):
        raise InputError(f"{path} cannot be unpacked. The file is damaged.") from None
    if len(raw) != size or not unzip.eof or unzip.unused_data:
        raise InputError(f"{path} does not hold {shape[0]:,} entries. The file is damaged.")
    return np.frombuffer(raw, dtype=kind).astype(np.int64).reshape(shape)


# -- the parts of JSON -----------------------------------------------------------------------------


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
        _wrong(path or "the file", "an object", data)
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
        _wrong(path, "text", data)
    return data


def _wrong(path: str, wanted: str, value: Any) -> NoReturn:
    text = json.dumps(value, ensure_ascii=False)
    raise InputError(f"{path} must be {wanted}, but is {text[:57] + '…' * (len(text) > 57)}.")


def _list(data: Any, path: str, read: Callable[[Any, str], T], size: int | None = None) -> list[T]:
    if not isinstance(data, list):
        _wrong(path, "a list", data)
    if size is not None and len(data) != size:
        raise InputError(f"{path} must hold {size} entries, but holds {len(data)}.")
    return [read(item, f"{path}[{i}]") for i, item in enumerate(data)]


def _or_list(data: Any, path: str) -> list[int] | None:
    return None if data is None else _list(data, path, _points)


def _whole(data: Any, path: str) -> int:
    if type(data) is not int or not -(2**63) <= data < 2**63:
        _wrong(path, "an integer of at most 64 bits", data)
    return data


def _points(data: Any, path: str) -> int:
    if abs(_whole(data, path)) > _MOST:
        _wrong(path, "an integer within ±10^9", data)
    return int(data)


def _fraction(data: Any, path: str) -> Fraction:
    text = read_text(data, path)
    try:
        if "e" in text.lower() or "." in text:  # "1e999999999" would fill the memory
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        _wrong(path, 'a fraction such as "3/10"', data)


def _boolean(data: Any, path: str) -> bool:
    if not isinstance(data, bool):
        _wrong(path, "true or false", data)
    return data
