"""What a user can require of a card: one small language that every solver understands.

A constraint names columns as the table does (or by position) and says what their points may be.
Every constraint of a list must be met.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from netbenefit.cards import MOST_POINTS
from netbenefit.common import InputError, IntArray, Remedy, shorten
from netbenefit.data import PatternTable
from netbenefit.metrics import Thresholds
from netbenefit.problem.limits import (
    Form,
    LimitsBuilder,
    position,
    share,
    sign_of,
    whole,
    whole_pair,
)
from netbenefit.problem.questions import Questions

# -- what all constraints have in common -----------------------------------------------------------


@dataclass(frozen=True)
class Constraint(ABC):
    """What all constraints have: a text, a check, a form in arrays, and a form in JSON.

    Examples
    --------
    >>> Exclusive("age", "bmi").allows({"age": 1, "bmi": 2})
    False
    """

    kind: ClassVar[str] = ""  #: what JSON calls it
    label: ClassVar[str] = ""  #: what an error calls it; the class name by default
    _kinds: ClassVar[dict[str, type[Constraint]]] = {}

    def __init_subclass__(cls) -> None:
        if cls.kind:
            Constraint._kinds[cls.kind] = cls

    @abstractmethod
    def __str__(self) -> str: ...

    def named(self, names: Sequence[str]) -> Self:
        """Return the same constraint with columns by name; refuse columns that are not there."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        for key in {"feature", "other", "features"} & set(values):
            values[key] = self._lookup(values[key], names)
        return self._from(values)

    def allows(self, points: Sequence[int] | Mapping[str, int], names: Sequence[str] = ()) -> bool:
        """Whether a vector meets the constraint: points in the order of ``names``, or by name.

        Rates depend on the data too, so their constraints allow all points here;
        :meth:`Problem.feasible` decides.
        """
        if isinstance(points, Mapping):
            of = {str(name): int(v) for name, v in points.items()}
        else:
            of = {name: int(v) for name, v in zip(names, points, strict=True)}
        return self.named(tuple(of))._allows(of)

    def to_json(self) -> dict[str, Any]:
        """Return the constraint as a dict of plain values."""
        plain = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        return {"kind": self.kind, **plain}

    @abstractmethod
    def _add_to(self, builder: LimitsBuilder) -> None:
        """Contribute to the form in arrays; columns must be named."""

    @abstractmethod
    def _allows(self, points: Mapping[str, int]) -> bool:
        """Whether points, by name, meet the constraint."""

    def _lookup(self, key: Any, names: Sequence[str]) -> Any:
        label = self.label or type(self).__name__
        if isinstance(key, tuple):
            found = tuple(names[position(k, names, label)] for k in key)
            if len(set(found)) < len(found):
                raise InputError(f"{label} names a column twice: {shorten(found, 10)}.")
            return found
        return names[position(key, names, label)]

    @classmethod
    def _from(cls, values: Mapping[str, Any]) -> Self:
        return cls(**values)


def from_json(data: Any) -> Constraint:
    """Read a constraint that :meth:`Constraint.to_json` has written."""
    kind = data.get("kind") if isinstance(data, Mapping) else None
    what = Constraint._kinds.get(kind) if isinstance(kind, str) else None
    if what is None:
        known = shorten(sorted(Constraint._kinds), 20)
        raise InputError(f"{data!r} is not a constraint: its kind is none of {known}.")
    needed = {f.name for f in fields(what)}
    values = {key: value for key, value in data.items() if key != "kind"}
    if set(values) != needed:
        raise InputError(
            f"a constraint of kind {kind!r} needs {shorten(sorted(needed))}, not {data!r}."
        )
    return what._from(values)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    return value


# Texts of constraints tell any two of them apart: numbers are exact, and names of columns that
# could be read as more than one are in quotes.


def _called(name: str | int) -> str:
    """A column in a text."""
    text = str(name)
    return repr(text) if set(text) & set(",;'\"") else text


def _exact(number: Fraction | float) -> str:
    """A number in a text: as a decimal, where that is all of it."""
    short = f"{float(number)!r}".removesuffix(".0")
    return short if isinstance(number, float) or Fraction(short) == number else str(number)


@dataclass(frozen=True)
class Bounds(Constraint):
    """Points of a column from ``lowest`` to ``highest``, instead of −max_points … max_points."""

    kind, label = "bounds", "bounds"
    feature: str | int
    lowest: int
    highest: int

    def __post_init__(self) -> None:
        low, high = whole_pair(self.feature, (self.lowest, self.highest))
        object.__setattr__(self, "lowest", low)
        object.__setattr__(self, "highest", high)

    def __str__(self) -> str:
        return f"points of {_called(self.feature)} from {self.lowest} to {self.highest}"

    def _allows(self, points: Mapping[str, int]) -> bool:
        return self.lowest <= points[str(self.feature)] <= self.highest

    def _add_to(self, builder: LimitsBuilder) -> None:
        builder.keep(self.feature, range(self.lowest, self.highest + 1))


@dataclass(frozen=True)
class Sign(Constraint):
    """No negative points for a column (``"+"`` or 1), or no positive ones (``"-"`` or −1)."""

    kind, label = "sign", "sign"
    feature: str | int
    sign: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "sign", sign_of(self.feature, self.sign))

    def __str__(self) -> str:
        never = "negative" if self.sign == "+" else "positive"
        return f"no {never} points for {_called(self.feature)}"

    def _allows(self, points: Mapping[str, int]) -> bool:
        v = points[str(self.feature)]
        return v >= 0 if self.sign == "+" else v <= 0

    def _add_to(self, builder: LimitsBuilder) -> None:
        builder.one_sign(self.feature, 1 if self.sign == "+" else -1)


@dataclass(frozen=True)
class Monotone(Sign):
    """Points never fall along a column (``"+"``), or never rise (``"-"``).

    As :class:`Sign`, but a column whose levels have no order is refused: nothing rises along it.
    """

    kind, label = "monotone", "monotone"

    def __str__(self) -> str:
        return (
            f"points never {'fall' if self.sign == '+' else 'rise'} along {_called(self.feature)}"
        )


@dataclass(frozen=True)
class Values(Constraint):
    """Points of a column among ``values`` (0 included, if the column may be left out)."""

    kind: ClassVar[str] = "values"
    feature: str | int
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        given: Any = self.values
        if isinstance(given, str) or not np.iterable(given):
            raise InputError(f"Values of column {self.feature!r} must be a list, not {given!r}.")
        what = f"each of the values of column {self.feature!r}"
        numbers = tuple(sorted({whole(v, what, -MOST_POINTS, MOST_POINTS) for v in given}))
        if not numbers:
            raise InputError(f"Values of column {self.feature!r} is empty. Give at least one.")
        object.__setattr__(self, "values", numbers)

    def __str__(self) -> str:
        return f"points of {_called(self.feature)} among {', '.join(map(str, self.values))}"

    def _allows(self, points: Mapping[str, int]) -> bool:
        return points[str(self.feature)] in self.values

    def _add_to(self, builder: LimitsBuilder) -> None:
        builder.keep(self.feature, self.values)


# -- groups of columns -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Group(Constraint):
    """Something about which of some columns have points."""

    features: tuple[str | int, ...]

    def __post_init__(self) -> None:
        given: Any = self.features
        if isinstance(given, str) or not np.iterable(given):
            raise InputError(f"{type(self).__name__} needs a list of columns, not {given!r}.")
        if not tuple(given):
            raise InputError(f"{type(self).__name__} names no column. Give at least one.")
        object.__setattr__(self, "features", tuple(given))

    @property
    def _list(self) -> str:
        return ", ".join(map(_called, self.features))

    def _count(self, points: Mapping[str, int]) -> int:
        return sum(points[str(name)] != 0 for name in self.features)


class _Names(_Group):
    """A group whose columns are written one after the other."""

    def __init__(self, *features: str | int) -> None:
        object.__setattr__(self, "features", features)
        self.__post_init__()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.features))})"

    @classmethod
    def _from(cls, values: Mapping[str, Any]) -> Self:
        names = values["features"]
        return cls(*(names if isinstance(names, list | tuple) else [names]))


class Include(_Names):
    """Every one of these columns has points."""

    kind: ClassVar[str] = "include"

    def __str__(self) -> str:
        return f"points for {self._list}"

    def _allows(self, points: Mapping[str, int]) -> bool:
        return self._count(points) == len(self.features)

    def _add_to(self, builder: LimitsBuilder) -> None:
        for name in self.features:
            builder.needs(name)


class Exclude(_Names):
    """None of these columns has points."""

    kind: ClassVar[str] = "exclude"

    def __str__(self) -> str:
        return f"no points for {self._list}"

    def _allows(self, points: Mapping[str, int]) -> bool:
        return self._count(points) == 0

    def _add_to(self, builder: LimitsBuilder) -> None:
        for name in self.features:
            builder.only_zero(name)


class Exclusive(_Names):
    """At most one of these columns has points."""

    kind: ClassVar[str] = "exclusive"

    def __str__(self) -> str:
        return f"at most one of {self._list}"

    def _allows(self, points: Mapping[str, int]) -> bool:
        return self._count(points) <= 1

    def _add_to(self, builder: LimitsBuilder) -> None:
        builder.row(dict.fromkeys(self.features, 1), 1)


@dataclass(frozen=True)
class AtMost(_Group):
    """At most ``limit`` of these columns have points."""

    kind: ClassVar[str] = "at_most"
    limit: int

    def __init__(self, limit: int, features: Sequence[str | int]) -> None:
        object.__setattr__(self, "limit", whole(limit, "the limit of AtMost", 0))
        object.__setattr__(self, "features", features)
        self.__post_init__()

    def __str__(self) -> str:
        return f"at most {self.limit} of {self._list}"

    def _allows(self, points: Mapping[str, int]) -> bool:
        return self._count(points) <= self.limit

    def _add_to(self, builder: LimitsBuilder) -> None:
        builder.row(dict.fromkeys(self.features, 1), self.limit)


@dataclass(frozen=True)
class AtLeast(_Group):
    """At least ``count`` of these columns have points."""

    kind: ClassVar[str] = "at_least"
    count: int

    def __init__(self, count: int, features: Sequence[str | int]) -> None:
        object.__setattr__(self, "count", whole(count, "the count of AtLeast", 0))
        object.__setattr__(self, "features", features)
        self.__post_init__()

    def __str__(self) -> str:
        return f"at least {self.count} of {self._list}"

    def _allows(self, points: Mapping[str, int]) -> bool:
        return self._count(points) >= self.count

    def _add_to(self, builder: LimitsBuilder) -> None:
        builder.row(dict.fromkeys(self.features, -1), -self.count)


@dataclass(frozen=True)
class Implies(Constraint):
    """If ``feature`` has points, ``other`` has."""

    kind: ClassVar[str] = "implies"
    feature: str | int
    other: str | int

    def __str__(self) -> str:
        return f"points for {_called(self.feature)} only together with {_called(self.other)}"

    def _allows(self, points: Mapping[str, int]) -> bool:
        return points[str(self.feature)] == 0 or points[str(self.other)] != 0

    def _add_to(self, builder: LimitsBuilder) -> None:
        if self.feature != self.other:
            builder.row({self.feature: 1, self.other: -1}, 0)


@dataclass(frozen=True)
class NeedsOneOf(_Group):
    """If ``feature`` has points, at least one of ``features`` has."""

    kind: ClassVar[str] = "needs_one_of"
    feature: str | int

    def __init__(self, feature: str | int, features: Sequence[str | int]) -> None:
        object.__setattr__(self, "feature", feature)
        object.__setattr__(self, "features", features)
        self.__post_init__()

    def __str__(self) -> str:
        return f"points for {_called(self.feature)} only together with one of {self._list}"

    def _allows(self, points: Mapping[str, int]) -> bool:
        return points[str(self.feature)] == 0 or self._count(points) > 0

    def _add_to(self, builder: LimitsBuilder) -> None:
        if self.feature not in self.features:
            builder.row({self.feature: 1, **dict.fromkeys(self.features, -1)}, 0)


# -- the whole card --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Limit(Constraint):
    """A constraint that is one number."""

    _least: ClassVar[int] = 0
    limit: int

    def __post_init__(self) -> None:
        name = self.label or f"the limit of {type(self).__name__}"
        object.__setattr__(self, "limit", whole(self.limit, name, self._least))


class MaxFeatures(_Limit):
    """At most ``limit`` columns have points."""

    kind, label = "max_features", "max_features"

    def __str__(self) -> str:
        return f"at most {self.limit} columns with points"

    def _allows(self, points: Mapping[str, int]) -> bool:
        return sum(v != 0 for v in points.values()) <= self.limit

    def _add_to(self, builder: LimitsBuilder) -> None:
        builder.size = min(builder.size, self.limit)


class MaxQuestions(_Limit):
    """At most ``limit`` questions are asked: columns of which some condition has points.

    Which conditions belong to one question depends on the problem, so that this constraint allows
    all points by itself; :meth:`Problem.allows` decides.
    """

    kind, label = "max_questions", "max_questions"

    def __str__(self) -> str:
        return f"at most {self.limit} question{'s' * (self.limit != 1)}"

    def _allows(self, points: Mapping[str, int]) -> bool:
        return True

    def _add_to(self, builder: LimitsBuilder) -> None:
        builder.most_questions = min(builder.most_questions, self.limit)


class MaxPerColumn(_Limit):
    """At most ``limit`` conditions of any one raw column have points (see ``Binner``).

    Columns that are not conditions of a raw column always meet it.
    """

    kind, _least = "max_per_column", 1

    def __str__(self) -> str:
        return f"at most {self.limit} conditions per column with points"

    def _allows(self, points: Mapping[str, int]) -> bool:
        return True

    def _add_to(self, builder: LimitsBuilder) -> None:
        """Nothing: a binner has put :class:`AtMost` in its place."""


class MaxTotalPoints(_Limit):
    """The absolute points of all columns sum to at most ``limit``."""

    kind: ClassVar[str] = "max_total_points"

    def __str__(self) -> str:
        return f"absolute points that sum to at most {self.limit}"

    def _allows(self, points: Mapping[str, int]) -> bool:
        return sum(map(abs, points.values())) <= self.limit

    def _add_to(self, builder: LimitsBuilder) -> None:
        builder.total = self.limit if builder.total is None else min(builder.total, self.limit)


@dataclass(frozen=True)
class _Rate(Constraint):
    """A limit of a rate on the training rows, at one of the problem's thresholds."""

    threshold: float
    rate: Fraction

    def __post_init__(self) -> None:
        name = type(self).__name__
        object.__setattr__(self, "threshold", float(share(self.threshold, f"threshold of {name}")))
        object.__setattr__(self, "rate", share(self.rate, f"rate of {name}"))

    def _allows(self, points: Mapping[str, int]) -> bool:
        return True


class MinTPR(_Rate):
    """At ``threshold``, at least this share of the events is called positive."""

    kind: ClassVar[str] = "min_tpr"

    def __str__(self) -> str:
        return f"TPR of at least {_exact(self.rate)} at threshold {_exact(self.threshold)}"

    def _add_to(self, builder: LimitsBuilder) -> None:
        builder.floor(self.threshold, self.rate)


class MaxFPR(_Rate):
    """At ``threshold``, at most this share of the non-events is called positive."""

    kind: ClassVar[str] = "max_fpr"

    def __str__(self) -> str:
        return f"FPR of at most {_exact(self.rate)} at threshold {_exact(self.threshold)}"

    def _add_to(self, builder: LimitsBuilder) -> None:
        builder.ceiling(self.threshold, self.rate)


# -- what a problem makes of its settings: constraints, their arrays, and an error if they clash ---


def all_constraints(
    names: tuple[str, ...],
    sign: Mapping[Any, Any] | None,
    bounds: Mapping[Any, Any] | None,
    max_features: int | None,
    constraints: Sequence[Constraint],
    max_questions: int | None = None,
) -> tuple[Constraint, ...]:
    """All constraints, with columns by name; those in short form first."""
    named: list[Constraint] = []
    for key, pair in _items(bounds, "bounds"):
        name = names[position(key, names, "bounds")]
        named.append(Bounds(name, *whole_pair(name, pair)))
    for key, direction in _items(sign, "sign"):
        named.append(Sign(names[position(key, names, Remedy("sign", "--sign"))], direction))
    if max_features is not None:
        named.append(MaxFeatures(max_features))
    if max_questions is not None:
        named.append(MaxQuestions(max_questions))
    if isinstance(constraints, Constraint | str | Mapping) or not np.iterable(constraints):
        raise InputError(f"constraints must be a list of constraints, not {constraints!r}.")
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise InputError(
                f"{constraint!r} is not a constraint. Use classes such as "
                "netbenefit.MaxFeatures(5)."
            )
        named.append(constraint.named(names))
    return tuple(named)


def in_arrays(
    patterns: PatternTable,
    thresholds: Thresholds,
    max_points: int,
    constraints: Sequence[Constraint],
    questions: Questions,
    start: IntArray | None = None,
) -> Form:
    """Constraints in arrays, and an allowed vector, if none is given; refuse those that clash."""
    # A constant column tells nothing apart; it could only move the floors of fractional scores.
    parts: list[_Part] = [*constraints, *(ConstantColumn(name) for name in patterns.constant)]

    def build(some: Sequence[_Part]) -> LimitsBuilder:
        builder = LimitsBuilder(patterns, thresholds, max_points, questions)
        for part in some:
            part._add_to(builder)
        return builder

    built = build(parts)
    found = built.start() if start is None else start
    if found is None:
        conflict = find_conflict(parts, lambda some: build(some).start() is not None)
        raise InputError(conflict_text(conflict))
    form = built.finish(found)
    beyond = np.flatnonzero(questions.spreads(form.start) > form.limits.asked.spread)
    if start is None and beyond.size:
        raise InputError(
            f"the constraints on {questions.names[beyond[0]]!r} need answers of more than "
            f"{form.limits.asked.spread[beyond[0]]} points. Raise max_points, or relax them."
        )
    return form


@dataclass(frozen=True)
class ConstantColumn:
    """A constant column tells nothing apart: no points, unless its own bounds demand some."""

    feature: str

    def __str__(self) -> str:
        return f"no points for {_called(self.feature)}, which is constant"

    def _add_to(self, builder: LimitsBuilder) -> None:
        builder.constant.add(builder.place[self.feature])


_Part = Constraint | ConstantColumn


def find_conflict(parts: Sequence[_Part], possible: Callable[[list[_Part]], bool]) -> list[_Part]:
    """Of constraints that cannot all be met, a part that cannot, of which every one is needed."""
    needed = list(parts)
    for part in parts:
        rest = [other for other in needed if other is not part]
        if not possible(rest):
            needed = rest
    return needed


def conflict_text(culprits: Sequence[Any]) -> str:
    """Say in words why constraints cannot be met together."""
    sizes = [c for c in culprits if isinstance(c, MaxFeatures)]
    forced = [c.feature for c in culprits if isinstance(c, Bounds)]
    if len(sizes) == 1 and len(forced) == len(culprits) - 1:
        return (
            f"bounds force {len(forced)} columns to have points ({shorten(forced)}), but "
            f"max_features is {sizes[0].limit}. Raise it, or let the bounds include 0."
        )
    listed = "; ".join(map(str, culprits))
    columns = {getattr(c, "feature", None) for c in culprits}
    if len(columns) == 1 and None not in columns:
        return (
            f"constraints on column {columns.pop()!r} contradict each other: {listed}. Change one "
            "of them."
        )
    return f"no card meets all constraints, because these clash: {listed}. Change one of them."


def _items(mapping: Mapping[Any, Any] | None, what: str) -> list[tuple[Any, Any]]:
    if mapping is None:
        return []
    if not isinstance(mapping, Mapping):
        raise InputError(f"{what} must be a mapping from column to setting, not {mapping!r}.")
    return list(mapping.items())
