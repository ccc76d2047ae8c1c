"""What a certificate says, as plain records that :mod:`certificate` writes and reads."""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import Reading, Term, read_reading, read_term, reading_data, term_data
from netbenefit.common import (
    InputError,
    IntArray,
    check_object,
    or_null,
    read_boolean,
    read_fraction,
    read_integer,
    read_list,
    read_number,
    read_text,
    wrong,
)
from netbenefit.problem import (
    NEGLIGIBLE,
    Asked,
    Boxes,
    Conflicts,
    Limits,
    Packing,
    QuestionLimits,
    Questions,
    RateLimits,
    Way,
)

_T = TypeVar("_T")


class DataDigest(NamedTuple):
    """The data of a problem, known again by its digest; the other figures explain it."""

    digest: str  #: see :func:`netbenefit.certificates.certificate.table_digest`
    patterns: int  #: distinct rows
    rows: Fraction  #: mass of all rows, N
    events: Fraction  #: mass of the events


class Lesson(NamedTuple):
    """What a teacher added to the outcomes (:mod:`netbenefit.teachers.crossfit`)."""

    name: str  #: the teacher, in words
    strength: Fraction | None  #: n0, in rows; None where only the teacher counts
    denominator: int  #: parts of a row that ``expected`` is counted in
    expected: IntArray  #: the teacher's expected events of each pattern, in the digest's order
    net_benefit: float  #: of its out-of-fold risks, by the outcomes; as stated
    blended_benefit: float  #: of the same, by the masses; as stated


@dataclass(frozen=True, eq=False)
class Statement:
    """The problem that was solved: data, what is maximised, what is allowed."""

    data: DataDigest
    names: tuple[str, ...]  #: the P columns of the pattern table
    terms: tuple[Term, ...]  #: how each of them arises from a raw column
    #: whether raw values are whole numbers of steps, so that nothing was rounded
    exact: tuple[bool, ...]
    thresholds: tuple[Fraction, ...]  #: p_0 … p_M
    weights: tuple[Fraction, ...]  #: ω_0 … ω_M
    penalty: Fraction  #: C0, of a question that is used
    rule_penalty: Fraction  #: C1, of each further rule on it
    questions: Questions  #: which columns belong together, and which answers are limited
    lower: IntArray  #: (P,) smallest points
    upper: IntArray  #: (P,) largest points
    max_points: int  #: largest points of an answer, and of a column without bounds of its own
    max_features: int  #: most non-zero points
    limits: Limits  #: the constraints in arrays
    constraints: list[Any]  #: as JSON: where the limits come from
    #: what the outcomes are blended with; None where they are all that counts
    teacher: Lesson | None = None
    readings: tuple[Reading, ...] = ()  #: how raw columns are read, where a binner made the columns
    features: tuple[str, ...] = ()  #: raw columns, in the order of an array that a card scores

    @property
    def objective(self) -> str:
        """What is maximised, in words."""
        paid = "the penalty of every rule"
        if self.penalty != self.rule_penalty:
            paid = "the prices of every question and of every further rule on it"
        less = f"weighted net benefit less {paid}"
        if self.teacher is None:
            return less
        return f"{less}, on outcomes blended with a teacher's risks"

    @property
    def objective_in_full(self) -> str:
        """What is maximised, in words, and n0, where it matters."""
        if self.teacher is None:
            return self.objective
        rows = self.teacher.strength
        if rows is None:
            return f"{self.objective} (of which only the risks count)"
        number = f"{rows.numerator:,}" if rows.denominator == 1 else f"{float(rows):,g}"
        return f"{self.objective} (n0 = {number} rows)"

    def price(self, points: Sequence[int]) -> Fraction:
        """What the rules of some points, and the questions that they belong to, cost."""
        rules = [k for k, v in enumerate(points) if v != 0]
        asked = {int(self.questions.of_column[k]) for k in rules}
        return self.penalty * len(asked) + self.rule_penalty * (len(rules) - len(asked))


class Answer(NamedTuple):
    """The points that were found, and what they are worth, exactly."""

    points: tuple[int, ...]
    cutoffs: tuple[int, ...]
    objective: Fraction
    net_benefit: Fraction


class ValueScale(NamedTuple):
    """How whole numbers mean objectives: objective = (value + constant) / total.

    One non-zero coefficient costs ``price``, and the question that it belongs to
    ``question_price``, once.  Where not ``exact``, gains were rounded up and prices down.
    """

    total: Fraction
    constant: Fraction
    price: int
    question_price: int
    exact: bool


@dataclass(frozen=True, eq=False)
class Claim:
    """A bound, and where it comes from; fields as in :class:`netbenefit.problem.problem.Proof`."""

    method: str
    bound: Fraction
    rounding: Fraction
    details: dict[str, Any]
    scale: ValueScale
    boxes: Boxes  #: patterns of conflicts are in the order of the digest

    @property
    def slack(self) -> Fraction:
        """How much of the bound may be ascribed to rounding, and the card be called optimal."""
        return self.rounding if self.rounding <= NEGLIGIBLE else Fraction(0)


class Check(NamedTuple):
    """One thing that was checked."""

    name: str
    ok: bool | None  #: None: could not be checked
    text: str


# -- certificates as JSON: written exactly, read strictly ------------------------------------------
# A file comes from outside, so every value is checked before it is used, and every error names the
# place of the wrong value, such as ``problem.lower[2]``.


#: Points lie within these.
_MOST = 10**9
#: Most values that the points of a column can have.
_MOST_VALUES = 20_001
#: Most codes of answers: answers times columns.
MOST_CODES = 2**24
#: How the arrays of boxes are packed.
_PACKED = {"lower": "<i4", "upper": "<i4", "values": "<i8", "reasons": "<u1"}
#: How the arrays of packed boxes are: of conflicts, their members, boxes, entries and fines.
_COUNTS = {
    "conflicts": {"threshold": "<i4", "conflict_start": "<i8"},
    "members": {"pattern": "<i4", "times": "<i8"},
    "entries": {"start": "<i8", "conflict": "<i4", "amount": "<i8", "way": "<u1"},
    "fines": {"fine_start": "<i8", "limit": "<i4", "fine": "<i8"},
}
_STARTS = ("conflict_start", "start", "fine_start")


# -- writing ---------------------------------------------------------------------------------------


def write_problem(statement: Statement) -> dict[str, Any]:
    """Return a problem as JSON, without its digest."""
    limits = statement.limits
    return {
        "data": write_record(statement.data),
        "columns": [
            {"name": name, "exact": exact, **term_data(term)}
            for name, exact, term in zip(
                statement.names, statement.exact, statement.terms, strict=True
            )
        ],
        "questions": _write_questions(statement.questions, limits.asked),
        "readings": [reading_data(reading) for reading in statement.readings],
        "features": list(statement.features),
        "thresholds": [str(p) for p in statement.thresholds],
        "weights": [str(w) for w in statement.weights],
        "objective": statement.objective,
        "penalty": str(statement.penalty),
        "rule_penalty": str(statement.rule_penalty),
        "teacher": None if statement.teacher is None else _write_lesson(statement.teacher),
        "lower": statement.lower.tolist(),
        "upper": statement.upper.tolist(),
        "max_points": statement.max_points,
        "max_features": statement.max_features,
        "max_questions": limits.asked.most,
        "limits": {
            "values": _allowed_values(limits.values, statement.lower, statement.upper),
            "support": limits.support.tolist(),
            "support_limit": limits.support_limit.tolist(),
            "total": int(limits.total),
            "rates": None if limits.rates is None else write_record(limits.rates),
        },
        "constraints": statement.constraints,
    }


def _write_questions(asked: Questions, limits: QuestionLimits) -> list[dict[str, Any]]:
    result = []
    for q, name in enumerate(asked.names):
        columns = np.flatnonzero(asked.of_column == q)
        answers = asked.answers[asked.of_answer == q][:, columns]
        one = {"columns": columns.tolist(), "answers": answers.tolist()}
        result.append({"name": name, **one, "spread": int(limits.spread[q])})
    return result


def _allowed_values(
    values: NDArray[np.bool_], lower: IntArray, upper: IntArray
) -> list[list[int] | None]:
    """Allowed points of each column; None where all from lower to upper are."""
    result: list[list[int] | None] = []
    for k, (low, high) in enumerate(zip(lower.tolist(), upper.tolist(), strict=True)):
        mask = values[k, : high - low + 1]
        result.append(None if mask.all() else (low + np.flatnonzero(mask)).tolist())
    return result


def write_record(record: DataDigest | Answer | ValueScale | RateLimits | Claim) -> dict[str, Any]:
    """Return a record as JSON, with fractions as texts."""
    fields = vars(record) if isinstance(record, Claim) else record._asdict()
    return {key: _plain(value) for key, value in fields.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Fraction) else value


def write_claim(claim: Claim | None) -> dict[str, Any] | None:
    """Return a bound and its origin as JSON; nothing where nothing is proven."""
    if claim is None:
        return None
    boxes = _write_boxes(claim.boxes)
    return {**write_record(claim), "scale": write_record(claim.scale), "boxes": boxes}


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
    asked, packing = boxes.asked, boxes.packing
    return {
        "count": len(boxes),
        "columns": int(boxes.lower.shape[1]),
        **packed,
        "questions": 0 if asked is None else int(asked.shape[1]),
        "asked": None if asked is None else _pack(asked, "<u1"),
        "packing": None if packing is None else _write_packing(packing),
    }


def _write_packing(packing: Packing) -> dict[str, Any]:
    conflicts = packing.conflicts
    arrays = {**vars(packing), **vars(conflicts), "conflict_start": conflicts.start}
    arrays["start"] = packing.start
    sizes = {
        "conflicts": len(conflicts),
        "members": conflicts.pattern.size,
        "entries": packing.conflict.size,
        "fines": packing.limit.size,
    }
    return {
        **sizes,
        **{k: _pack(arrays[k], kind) for part in _COUNTS.values() for k, kind in part.items()},
    }


# -- reading ---------------------------------------------------------------------------------------


def read_problem(data: Any, path: str) -> Statement:
    """Read what :func:`write_problem` wrote (and its digest, which the caller compares)."""
    keys = ("digest", "data", "columns", "questions", "readings", "features", "thresholds")
    more = (
        "weights",
        "objective",
        "penalty",
        "rule_penalty",
        "teacher",
        "lower",
        "upper",
        "max_points",
    )
    sizes = ("max_features", "max_questions", "limits", "constraints")
    check_object(data, path, (*keys, *more, *sizes))
    columns = read_list(data["columns"], f"{path}.columns", _column)
    n_columns = len(columns)
    if not n_columns:
        wrong(f"{path}.columns", "a list of at least one column", data["columns"])
    questions, spread = _questions(data["questions"], f"{path}.questions", n_columns)
    thresholds = read_list(data["thresholds"], f"{path}.thresholds", read_fraction)
    weights = read_list(data["weights"], f"{path}.weights", read_fraction, len(thresholds))
    rising = all(a < b for a, b in zip(thresholds, [*thresholds[1:], Fraction(1)], strict=True))
    if len(thresholds) < 2 or thresholds[0] != 0 or not rising:
        wrong(f"{path}.thresholds", "0 and then rising numbers below 1", data["thresholds"])
    if min(weights) < 0:
        wrong(f"{path}.weights", "numbers from 0", data["weights"])
    penalty = read_fraction(data["penalty"], f"{path}.penalty")
    if penalty < 0:
        wrong(f"{path}.penalty", "a number from 0", data["penalty"])
    further = read_fraction(data["rule_penalty"], f"{path}.rule_penalty")
    if not 0 <= further <= penalty:
        wrong(f"{path}.rule_penalty", "a number from 0 to the penalty", data["rule_penalty"])
    if further != penalty and not questions.grouped:
        what = "the penalty, as each column is a question of its own"
        wrong(f"{path}.rule_penalty", what, data["rule_penalty"])
    max_points = read_points(data["max_points"], f"{path}.max_points")
    if max_points < 1:
        wrong(f"{path}.max_points", "a whole number from 1", max_points)
    teacher = or_null(_read_lesson)(data["teacher"], f"{path}.teacher")
    lower = read_list(data["lower"], f"{path}.lower", read_points, n_columns)
    upper = read_list(data["upper"], f"{path}.upper", read_points, n_columns)
    if any(a > b for a, b in zip(lower, upper, strict=True)):
        wrong(f"{path}.upper", "at least the lower points", data["upper"])
    asked = QuestionLimits(
        of_column=questions.of_column,
        most=read_integer(data["max_questions"], f"{path}.max_questions"),
        answers=questions.answers,
        first=np.searchsorted(questions.of_answer, np.arange(len(questions) + 1)),
        spread=spread,
    )
    statement = Statement(
        data=_read_record(
            DataDigest,
            data["data"],
            f"{path}.data",
            digest=read_text,
            patterns=read_integer,
            rows=read_fraction,
            events=read_fraction,
        ),
        names=tuple(name for name, _, _ in columns),
        terms=tuple(term for _, _, term in columns),
        exact=tuple(exact for _, exact, _ in columns),
        thresholds=tuple(thresholds),
        weights=tuple(weights),
        penalty=penalty,
        rule_penalty=further,
        questions=questions,
        lower=np.array(lower, dtype=np.int64),
        upper=np.array(upper, dtype=np.int64),
        max_points=max_points,
        max_features=read_integer(data["max_features"], f"{path}.max_features"),
        limits=_limits(data["limits"], f"{path}.limits", lower, upper, len(thresholds), asked),
        constraints=read_list(data["constraints"], f"{path}.constraints", lambda item, _: item),
        teacher=teacher,
        readings=tuple(read_list(data["readings"], f"{path}.readings", read_reading)),
        features=tuple(read_list(data["features"], f"{path}.features", read_text)),
    )
    if statement.data.rows <= 0:
        wrong(f"{path}.data.rows", "a positive number", data["data"]["rows"])
    if teacher is not None and teacher.expected.size != statement.data.patterns:
        wrong(f"{path}.teacher.patterns", f"{statement.data.patterns}", teacher.expected.size)
    if data["objective"] != statement.objective:
        wrong(f"{path}.objective", f'"{statement.objective}"', data["objective"])
    return statement


def _column(data: Any, path: str) -> tuple[str, bool, Term]:
    term = read_term(data, path, extra=("name", "exact"))
    exact = read_boolean(data["exact"], f"{path}.exact")
    return read_text(data["name"], f"{path}.name"), exact, term


def _questions(data: Any, path: str, n_columns: int) -> tuple[Questions, IntArray]:
    """Read questions, of which every column belongs to one, and the spread of their answers."""
    read = read_list(data, path, _question)
    places = [k for _, columns, _, _ in read for k in columns]
    if sorted(places) != list(range(n_columns)):
        wrong(path, f"questions to which each of {n_columns} columns belongs once", places)
    sizes = [len(rows) for _, _, rows, _ in read]
    if sum(sizes) * n_columns > MOST_CODES:
        raise InputError(
            f"{path}: {sum(sizes):,} answers about {n_columns:,} columns are too many."
        )
    of_column = np.zeros(n_columns, dtype=np.int64)
    of_answer = np.repeat(np.arange(len(read)), sizes)
    answers = np.zeros((sum(sizes), n_columns), dtype=np.int64)
    for q, (_, columns, rows, _) in enumerate(read):
        of_column[columns] = q
        if rows:
            answers[np.ix_(of_answer == q, columns)] = rows
    questions = Questions(tuple(name for name, *_ in read), of_column, answers, of_answer)
    return questions, np.array([spread for *_, spread in read], dtype=np.int64)


def _question(data: Any, path: str) -> tuple[str, list[int], list[list[int]], int]:
    """Read name, columns, answers (one code per column) and spread of a question."""
    check_object(data, path, ("name", "columns", "answers", "spread"))
    columns = read_list(data["columns"], f"{path}.columns", read_integer)
    if not columns or columns != sorted(columns):
        wrong(f"{path}.columns", "a rising list of at least one column", columns)
    answers = read_list(
        data["answers"],
        f"{path}.answers",
        lambda row, at: read_list(row, at, read_points, len(columns)),
    )
    spread = read_integer(data["spread"], f"{path}.spread")
    if spread < 0:
        wrong(f"{path}.spread", "a whole number from 0", spread)
    return read_text(data["name"], f"{path}.name"), columns, answers, spread


def _read_lesson(data: Any, path: str) -> Lesson:
    keys = ("name", "strength", "denominator", "patterns", "expected")
    check_object(data, path, (*keys, "net_benefit", "blended_benefit"))
    strength = None
    if data["strength"] != "inf":
        strength = read_fraction(data["strength"], f"{path}.strength")
        if strength <= 0:
            wrong(f"{path}.strength", 'a positive number of rows or "inf"', data["strength"])
    denominator = read_integer(data["denominator"], f"{path}.denominator")
    patterns = read_integer(data["patterns"], f"{path}.patterns")
    if denominator < 1:
        wrong(f"{path}.denominator", "a whole number from 1", denominator)
    return Lesson(
        read_text(data["name"], f"{path}.name"),
        strength,
        denominator,
        _Unpacker(data).read(data["expected"], f"{path}.expected", "<i8", patterns),
        float(read_number(data["net_benefit"], f"{path}.net_benefit")),
        float(read_number(data["blended_benefit"], f"{path}.blended_benefit")),
    )


def _read_record(
    kind: Callable[..., _T], data: Any, path: str, **readers: Callable[[Any, str], Any]
) -> _T:
    """Read an object with exactly these keys, each by its own reader."""
    check_object(data, path, tuple(readers))
    return kind(**{key: read(data[key], f"{path}.{key}") for key, read in readers.items()})


def _limits(
    data: Any,
    path: str,
    lower: list[int],
    upper: list[int],
    n_thresholds: int,
    asked: QuestionLimits,
) -> Limits:
    check_object(data, path, ("values", "support", "support_limit", "total", "rates"))
    n_columns = len(lower)
    widths = [high - low + 1 for low, high in zip(lower, upper, strict=True)]
    if max(widths) > _MOST_VALUES or max(widths) * n_columns > 10**7:
        raise InputError(f"{path}: the points have too many values to check.")
    mask = np.arange(max(widths)) < np.array(widths)[:, None]
    read_values = or_null(lambda item, at: read_list(item, at, read_points))
    for k, allowed in enumerate(
        read_list(data["values"], f"{path}.values", read_values, n_columns)
    ):
        if allowed is not None:
            if any(not lower[k] <= v <= upper[k] for v in allowed):
                wrong(f"{path}.values[{k}]", f"points from {lower[k]} to {upper[k]}", allowed)
            mask[k] = False
            mask[k, np.array(allowed, dtype=np.int64) - lower[k]] = True
    rows = read_list(
        data["support"],
        f"{path}.support",
        lambda row, at: read_list(row, at, read_points, n_columns),
    )
    limit = read_list(data["support_limit"], f"{path}.support_limit", read_integer, len(rows))
    rates = None
    if data["rates"] is not None:
        check_object(data["rates"], f"{path}.rates", ("found", "alarms"))
        found, alarms = (
            tuple(read_list(data["rates"][key], f"{path}.rates.{key}", read_fraction, n_thresholds))
            for key in ("found", "alarms")
        )
        rates = RateLimits(found, alarms)
    return Limits(
        values=mask,
        support=np.array(rows, dtype=np.int64).reshape(len(rows), n_columns),
        support_limit=np.array(limit, dtype=np.int64),
        total=read_integer(data["total"], f"{path}.total"),
        rates=rates,
        asked=asked,
    )


def read_answer(data: Any, path: str) -> Answer:
    """Read the points that were found, and what they are worth."""
    return _read_record(
        Answer,
        data,
        path,
        points=lambda item, at: tuple(read_list(item, at, read_points)),
        cutoffs=lambda item, at: tuple(read_list(item, at, read_integer)),
        objective=read_fraction,
        net_benefit=read_fraction,
    )


def read_claim(data: Any, path: str, size: int) -> Claim | None:
    """Read what :func:`write_claim` wrote, from a file of ``size`` bytes."""
    if data is None:
        return None
    return _read_record(
        Claim,
        data,
        path,
        method=read_text,
        bound=read_fraction,
        rounding=read_fraction,
        details=_read_details,
        scale=_read_scale,
        boxes=lambda item, at: _read_boxes(item, at, size),
    )


def _read_details(data: Any, path: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        wrong(path, "an object", data)
    return dict(data)


def _read_scale(data: Any, path: str) -> ValueScale:
    return _read_record(
        ValueScale,
        data,
        path,
        total=read_fraction,
        constant=read_fraction,
        price=read_integer,
        question_price=read_integer,
        exact=read_boolean,
    )


class _Unpacker:
    """Unpacks the arrays of an object, and counts what they take before it is taken."""

    def __init__(self, data: dict[str, Any], size: int = 2**30) -> None:
        letters = sum(len(value) for value in data.values() if isinstance(value, str))
        #: Bytes that all arrays may take: in proportion to text and file, and in all.
        self.left = min(2**30, 2**26 + 100 * min(letters, size))

    def read(self, text: Any, path: str, kind: str, *shape: int, narrow: bool = False) -> IntArray:
        """Return an array; refuse what is damaged, or out of proportion."""
        letters, entries = read_text(text, path), math.prod(shape)
        small = kind == "<u1"
        self.left -= entries * (1 if small else 8)
        if min(shape) < 0 or self.left < 0:
            raise InputError(f"{path} cannot hold {entries:,} entries. The file is damaged.")
        size = entries * np.dtype(kind).itemsize
        try:
            packed = base64.b64decode(letters, validate=True)
            unzip = zlib.decompressobj()
            raw = unzip.decompress(packed, size + 1)  # no more, however much a hostile file holds
        except (binascii.Error, ValueError, zlib.error):
            raise InputError(f"{path} cannot be unpacked. The file is damaged.") from None
        if len(raw) != size or not unzip.eof or unzip.unused_data:
            raise InputError(f"{path} does not hold {entries:,} entries. The file is damaged.")
        kept: Any = np.uint8 if small else np.int32 if narrow else np.int64
        result: IntArray = np.frombuffer(raw, dtype=kind).astype(kept).reshape(shape)
        return result


def _read_boxes(data: Any, path: str, size: int) -> Boxes:
    check_object(data, path, ("count", "columns", "questions", *_PACKED, "asked", "packing"))
    count, width, asked = (
        read_integer(data[key], f"{path}.{key}") for key in ("count", "columns", "questions")
    )
    packed = data["packing"]
    if count < 1 or width < 1 or asked < 0:
        wrong(path, "at least one box of at least one column", [count, width, asked])
    own = {**data, **(packed if isinstance(packed, dict) else {})}
    unpack, arrays = _Unpacker(own, size), {}
    for key, kind in _PACKED.items():
        shape = (count, width) if key in ("lower", "upper") else (count,)
        narrow = len(shape) > 1  # points, which are put between those of the problem first
        arrays[key] = unpack.read(data[key], f"{path}.{key}", kind, *shape, narrow=narrow)
    if (data["asked"] is None) != (asked == 0):
        wrong(f"{path}.questions", "0 where no box cares what is asked, and only there", asked)
    if data["asked"] is not None:
        arrays["asked"] = unpack.read(data["asked"], f"{path}.asked", "<u1", count, asked)
        if (arrays["asked"] > max(Asked)).any():
            wrong(f"{path}.asked", "flags from 0 to 2", int(arrays["asked"].max()))
    packing = None
    if data["packing"] is not None:
        packing = _read_packing(data["packing"], f"{path}.packing", count, unpack)
    return Boxes(
        lower=arrays["lower"],
        upper=arrays["upper"],
        values=arrays["values"],
        reasons=arrays["reasons"],
        asked=arrays.get("asked"),
        packing=packing,
    )


def _read_packing(data: Any, path: str, count: int, unpack: _Unpacker) -> Packing:
    check_object(data, path, (*_COUNTS, *(key for part in _COUNTS.values() for key in part)))
    sizes = {name: read_integer(data[name], f"{path}.{name}") for name in _COUNTS}
    owners = {"conflict_start": sizes["conflicts"], "start": count, "fine_start": count}
    ends = dict(zip(_STARTS, ("members", "entries", "fines"), strict=True))
    arrays: dict[str, IntArray] = {}
    for name, part in _COUNTS.items():
        for key, kind in part.items():
            size = owners[key] + 1 if key in owners else sizes[name]
            arrays[key] = unpack.read(data[key], f"{path}.{key}", kind, size)
    for key, end in ends.items():
        start = arrays[key]
        if start[0] or start[-1] != sizes[end] or (np.diff(start) < 0).any():
            wrong(f"{path}.{key}", f"rising numbers from 0 to {sizes[end]:,}", start[:3].tolist())
    for key, least, most in (
        ("conflict", 0, sizes["conflicts"] - 1),
        ("amount", 1, None),
        ("way", 0, max(Way)),
        ("limit", 0, None),
        ("fine", 1, None),
    ):
        values = arrays[key]
        if values.size and (values.min() < least or (most is not None and values.max() > most)):
            room = f"from {least}" + ("" if most is None else f" to {most:,}")
            wrong(f"{path}.{key}", f"numbers {room}", [int(values.min()), int(values.max())])
    return Packing(
        conflicts=Conflicts(
            threshold=arrays["threshold"],
            start=arrays["conflict_start"],
            pattern=arrays["pattern"],
            times=arrays["times"],
        ),
        **{key: arrays[key] for key in (*_COUNTS["entries"], *_COUNTS["fines"])},
    )


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


def read_points(data: Any, path: str) -> int:
    """Check that a value is an integer that points may have."""
    if abs(read_integer(data, path)) > _MOST:
        wrong(path, "an integer within ±10^9", data)
    return int(data)
