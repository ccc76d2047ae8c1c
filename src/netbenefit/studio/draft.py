"""A card in the making, and what can be done to it.

A :class:`Draft` never changes; an :class:`Edit` makes the next one, or says why it cannot.  Edits
are plain data: a history of them, and nothing else, leads from one card to another.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, cast

import numpy as np

from netbenefit.cards import (
    MOST_POINTS,
    NOT_KNOWN,
    ColumnLabel,
    Condition,
    Kind,
    Labels,
    PerUnit,
    Reading,
    Readings,
    Rule,
    Scorecard,
    Term,
    cuts,
    integer_text,
    named,
    samples,
    value_text,
)
from netbenefit.common import (
    InputError,
    Value,
    check_object,
    did_you_mean,
    or_null,
    read_integer,
    read_list,
    read_number,
    read_text,
    read_value,
    shorten,
    show,
    wrong,
)
from netbenefit.metrics import Thresholds
from netbenefit.problem import Constraint, from_json

#: Most characters of a name.
_LONGEST = 200
#: Who decides: a person at the page, or a solver that a person has asked.
Who = Literal["person", "solver"]


@dataclass(frozen=True)
class Draft:
    """What is being edited: conditions with points, their limits, and what things are called."""

    terms: tuple[Term, ...]  #: all conditions; their places never change
    names: tuple[str, ...]  #: what each condition is called, no two alike
    points: tuple[int, ...]  #: of each condition
    off: tuple[tuple[int, int], ...] = ()  #: rules that are switched off: place, and points before
    limits: tuple[Constraint, ...] = ()  #: what a solver has to keep to, beside the model's own
    labels: Labels = field(default_factory=Labels)
    readings: tuple[Reading, ...] = ()  #: how raw columns are read; no edit changes that
    from_zero: bool = True  #: whether printed questions count from the answer that is worth least

    def place(self, rule: str) -> int:
        """Where a condition stands."""
        if rule in self.names:
            return self.names.index(rule)
        raise InputError(
            f"there is no condition {rule!r}.{did_you_mean(rule, self.names)} Use the name of one."
        )

    @property
    def rules(self) -> dict[str, int]:
        """Points of the conditions that have some, by name."""
        return {name: p for name, p in zip(self.names, self.points, strict=True) if p}

    def of_column(self, column: str) -> list[int]:
        """Places of the conditions on a raw (or combined) column."""
        found = [k for k, term in enumerate(self.terms) if term.feature == column]
        if not found:
            known = list(dict.fromkeys(term.feature for term in self.terms))
            raise InputError(
                f"there is no condition on a column {column!r}.{did_you_mean(column, known)} The "
                f"columns with conditions are {shorten(known, 10)}."
            )
        return found

    def cuts(self, column: str) -> list[float]:
        """Cut points of a column, in order."""
        return cuts(self.terms[k] for k in self.of_column(column))

    def with_points(self, places: Mapping[int, int]) -> Draft:
        """The same draft with other points of some rules."""
        points = list(self.points)
        for k, value in places.items():
            if abs(value) > MOST_POINTS:
                raise InputError(
                    f"{value} points for “{self.names[k]}” are too many: use at most {MOST_POINTS}."
                )
            points[k] = int(value)
        off = tuple((k, before) for k, before in self.off if k not in places)
        return replace(self, points=tuple(points), off=off)

    def with_vector(self, points: Mapping[str, int]) -> Draft:
        """The same draft with these points, and none for conditions that are not named."""
        places = dict.fromkeys(range(len(self.points)), 0)
        places |= {self.place(name): value for name, value in points.items()}
        return self.with_points(places)


class Edit(ABC):
    """One change of a draft; ``by`` says who has decided it."""

    kind: ClassVar[str]
    by: ClassVar[Who] = "person"
    _kinds: ClassVar[dict[str, type[Edit]]] = {}
    _readers: ClassVar[dict[str, Callable[[Any, str], Any]]]

    def __init_subclass__(cls) -> None:
        Edit._kinds[cls.kind] = cls

    def apply(self, draft: Draft) -> tuple[Draft, str]:
        """Return the next draft, and what was changed, in words; or an error that says why not."""
        after = self._apply(draft)
        return after, self._words(draft, after)

    @abstractmethod
    def _apply(self, draft: Draft) -> Draft: ...

    @abstractmethod
    def _words(self, before: Draft, after: Draft) -> str: ...

    def to_json(self) -> dict[str, Any]:
        """Return the edit as a dict of plain values."""
        plain = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind, **plain}

    @staticmethod
    def from_json(data: Any, path: str = "edit") -> Edit:
        """Read what :meth:`to_json` has written; nothing else passes."""
        kind = data.get("kind") if isinstance(data, Mapping) else None
        what = Edit._kinds.get(kind) if isinstance(kind, str) else None
        if what is None:
            known = ", ".join(sorted(Edit._kinds))
            raise InputError(f"{path}: {show(data)} is no edit: its kind must be one of {known}.")
        check_object(data, path, ("kind", *what._readers))
        return what(**{k: read(data[k], f"{path}.{k}") for k, read in what._readers.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.to_json() if isinstance(value, Constraint) else value


def _read_points(data: Any, path: str) -> dict[str, int]:
    if not isinstance(data, dict):
        wrong(path, "an object of points by condition", data)
    return {name: read_integer(value, f"{path}.{name}") for name, value in data.items()}


def _read_limits(data: Any, path: str) -> tuple[Constraint, ...]:
    return tuple(read_list(data, path, lambda one, _: from_json(one)))


def _quoted(text: str) -> str:
    return f"“{text}”"


def _points(value: int) -> str:
    return f"{integer_text(value)} point{'s' * (abs(value) != 1)}"


# -- points ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetPoints(Edit):
    """Give a rule other points; from 0 this adds it to the card, to 0 it takes it away."""

    kind: ClassVar[str] = "points"
    _readers: ClassVar = {"rule": read_text, "points": read_integer}
    rule: str
    points: int

    def _apply(self, draft: Draft) -> Draft:
        return draft.with_points({draft.place(self.rule): self.points})

    def _words(self, before: Draft, after: Draft) -> str:
        old = before.points[before.place(self.rule)]
        if not old and self.points:
            return f"added {_quoted(self.rule)} with {_points(self.points)}"
        if old and not self.points:
            return f"took out {_quoted(self.rule)} ({_points(old)})"
        return f"{_quoted(self.rule)}: {integer_text(old)} → {_points(self.points)}"


@dataclass(frozen=True)
class SetAnswer(Edit):
    """Give one answer to a question other points, as printed; all other answers keep theirs.

    Of conditions that add up ("age ≥ 40", "age ≥ 60"), two may have to change for one answer.
    """

    kind: ClassVar[str] = "answer"
    _readers: ClassVar = {"column": read_text, "value": or_null(read_value), "points": read_integer}
    column: str
    value: float | str | None  #: a raw value that the answer applies to; None: a missing one
    points: int

    def _apply(self, draft: Draft) -> Draft:
        own = draft.of_column(self.column)
        codes, worth, chosen = self._answers(draft, own)
        wanted = np.where(chosen, self.points, worth - _least(draft, worth))
        points = np.array([draft.points[k] for k in own], dtype=np.int64)
        # Where questions count from their least answer, one constant may be added to all.
        constants = np.unique(np.append(wanted - worth, 0)) if draft.from_zero else np.array([0])
        for constant in constants.tolist():
            change = wanted - worth - constant
            step = np.rint(np.linalg.lstsq(codes, change, rcond=None)[0]).astype(np.int64)
            if (codes @ step == change).all():
                return draft.with_points(dict(zip(own, (points + step).tolist(), strict=True)))
        raise InputError(
            f"no whole points of the conditions on {self.column!r} give this answer {self.points} "
            "while all others keep theirs. Change the points of its rules one by one."
        )

    def _answers(self, draft: Draft, own: Sequence[int]) -> tuple[Any, Any, Any]:
        """Codes and worth of values of all kinds, and which of them share the printed answer."""
        terms = [draft.terms[k] for k in own]
        if not all(isinstance(term, Condition) or term.binary for term in terms):
            raise InputError(f"{self.column!r} has points per unit. Change the points of its rule.")
        kind: Kind = next((term.kind for term in terms if term.kind != "any"), "any")
        binary = any(isinstance(term, PerUnit) for term in terms)
        known: list[Any] = [0.0, 1.0] if binary else sorted(samples(named(terms), kind))
        values: list[Value | None] = [*known]
        if any(isinstance(term, Condition) and term.op == "missing" for term in terms):
            values.append(None)
        if isinstance(self.value, str) != (kind == "text") and self.value is not None:
            raise InputError(f"{self.column!r} holds no value such as {self.value!r}.")
        codes = np.array([[term.value_code(v) for term in terms] for v in values], dtype=np.int64)
        worth = codes @ np.array([draft.points[k] for k in own], dtype=np.int64)
        missing = np.array([value is None for value in values])
        mine = (codes == [term.value_code(self.value) for term in terms]).all(axis=1)
        mine &= missing == (self.value is None)
        if not mine.any():
            raise InputError(f"no answer to {self.column!r} is for {self.value!r}.")
        chosen = mine
        if kind == "number" and self.value is not None:
            # All values of an interval that are worth the same have one answer, and no others.
            at = max(0, bisect_right(known, self.value) - 1)
            apart = np.flatnonzero((worth != worth[at]) | missing)
            first = apart[apart < at].max(initial=-1) + 1
            chosen = np.arange(len(values)) >= first
            chosen &= np.arange(len(values)) < apart[apart > at].min(initial=len(values))
        elif self.value is not None:  # all levels that are worth the same have one
            chosen = (worth == worth[np.argmax(mine)]) & ~missing
        return codes, worth, chosen

    def _words(self, before: Draft, after: Draft) -> str:
        _, worth, chosen = self._answers(before, before.of_column(self.column))
        old = int(worth[chosen][0] - _least(before, worth))
        return (
            f"{self.column}, {self._answer(before)}: {integer_text(old)} → {_points(self.points)}"
        )

    def _answer(self, draft: Draft) -> str:
        """The answer in words, as the card prints it."""
        own = [(draft.terms[k], draft.points[k]) for k in draft.of_column(self.column)]
        rules = tuple(Rule(term, points) for term, points in own if points)
        if not rules:
            return NOT_KNOWN if self.value is None else value_text(self.value)
        own_column = {self.column, *Readings(draft.readings).sources(self.column)}
        readings = tuple(one for one in draft.readings if one.feature in own_column)
        grid = Thresholds.of([0.5])
        (question,) = Scorecard(rules, ((0, 0.5),), grid, readings=readings).questions
        return question.given(self.value)


def _least(draft: Draft, worth: Any) -> int:
    """What printed points of answers are counted from."""
    return int(worth.min()) if draft.from_zero else 0


@dataclass(frozen=True)
class SwitchOff(Edit):
    """Take a rule off the card for now; its points are remembered."""

    kind: ClassVar[str] = "off"
    _readers: ClassVar = {"rule": read_text}
    rule: str

    def _apply(self, draft: Draft) -> Draft:
        k = draft.place(self.rule)
        if not draft.points[k]:
            raise InputError(f"“{self.rule}” has no points: there is nothing to switch off.")
        after = draft.with_points({k: 0})
        return replace(after, off=(*after.off, (k, draft.points[k])))

    def _words(self, before: Draft, after: Draft) -> str:
        old = before.points[before.place(self.rule)]
        return f"switched off {_quoted(self.rule)} ({_points(old)})"


@dataclass(frozen=True)
class SwitchOn(Edit):
    """Give a rule that was switched off its points again."""

    kind: ClassVar[str] = "on"
    _readers: ClassVar = {"rule": read_text}
    rule: str

    def _apply(self, draft: Draft) -> Draft:
        k = draft.place(self.rule)
        points = dict(draft.off).get(k)
        if points is None:
            raise InputError(f"“{self.rule}” is not switched off. Set its points instead.")
        return draft.with_points({k: points})

    def _words(self, before: Draft, after: Draft) -> str:
        new = after.points[after.place(self.rule)]
        return f"switched on {_quoted(self.rule)} ({_points(new)})"


@dataclass(frozen=True)
class TakeOver(Edit):
    """Take over another card on the same conditions: points of its rules by name."""

    kind: ClassVar[str] = "take over"
    _readers: ClassVar = {"points": _read_points, "origin": read_text}
    points: Mapping[str, int]
    origin: str  #: where the card is from, such as "alternative 3"

    def _apply(self, draft: Draft) -> Draft:
        return draft.with_vector(self.points)

    def _words(self, before: Draft, after: Draft) -> str:
        return f"took over {self.origin}: {changes_text(before, after)}"


@dataclass(frozen=True)
class Solved(Edit):
    """What a solver has found within the limits, and what it has proven."""

    kind: ClassVar[str] = "solved"
    by: ClassVar[Who] = "solver"
    _readers: ClassVar = {
        "points": _read_points,
        "bound": or_null(read_text),
        "status": read_text,
        "seconds": read_number,
    }
    points: Mapping[str, int]
    bound: str | None  #: no card within the limits has a higher objective: an exact fraction
    status: str
    seconds: float

    def _apply(self, draft: Draft) -> Draft:
        return draft.with_vector(self.points)

    def _words(self, before: Draft, after: Draft) -> str:
        found = {
            "optimal": "proven optimal",
            "interrupted": "stopped by hand",
            "time_limit": "as far as time allowed",
        }.get(self.status, self.status)
        return f"re-optimised in {self.seconds:.1f} s, {found}: {changes_text(before, after)}"


def changes_text(before: Draft, after: Draft) -> str:
    """Say which rules have other points."""
    changed = [
        f"{_quoted(name)} {integer_text(old)} → {integer_text(new)}"
        for name, old, new in zip(after.names, before.points, after.points, strict=True)
        if old != new
    ]
    more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
    return "; ".join(changed[:5]) + more if changed else "the same points"


# -- cut points ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MoveCut(Edit):
    """Move a cut point of a column, in all conditions that it divides."""

    kind: ClassVar[str] = "cut"
    _readers: ClassVar = {"column": read_text, "old": read_number, "new": read_number}
    column: str
    old: float
    new: float

    def _apply(self, draft: Draft) -> Draft:
        own, known = draft.of_column(self.column), draft.cuts(self.column)
        new = int(self.new) if float(self.new).is_integer() else self.new
        if self.old not in known:
            raise InputError(
                f"{value_text(self.old)} is no cut point of {self.column!r}; they are "
                f"{shorten([value_text(cut) for cut in known], 20) or 'none'}."
            )
        ends = [-math.inf, *known, math.inf]
        at = known.index(self.old) + 1
        if new == self.old:
            raise InputError(f"the cut point of {self.column!r} is {value_text(new)} already.")
        if not ends[at - 1] < new < ends[at + 1]:
            low, high = (value_text(v) for v in (ends[at - 1], ends[at + 1]))
            room = [f"above {low}"] * (at > 1) + [f"below {high}"] * (at < len(known))
            raise InputError(
                f"the cut point {value_text(new)} of {self.column!r} must lie "
                f"{' and '.join(room)}, between its neighbours."
            )
        terms, names = list(draft.terms), list(draft.names)
        for k in own:
            term = draft.terms[k]
            if isinstance(term, Condition) and (moved := _moved(term, self.old, new)):
                terms[k] = moved
                others = {*names[:k], *names[k + 1 :]}
                names[k] = moved.text()
                while names[k] in others:
                    names[k] += " (moved)"
        limits = tuple(renamed(one, draft.names, names) for one in draft.limits)
        return replace(draft, terms=tuple(terms), names=tuple(names), limits=limits)

    def _words(self, before: Draft, after: Draft) -> str:
        cuts_before, cuts_after = before.cuts(self.column), after.cuts(self.column)
        (old,) = set(cuts_before) - set(cuts_after)
        (new,) = set(cuts_after) - set(cuts_before)
        return f"cut point of {self.column}: {value_text(old)} → {value_text(new)}"


def _moved(term: Condition, old: float, new: float) -> Condition | None:
    """The condition with another cut point; None where it does not have that one."""
    if term.op not in (">=", ">", "<=", "<", "between") or old not in term.values:
        return None
    if term.op == "between":
        return replace(term, value=tuple(new if v == old else v for v in term.values))
    return replace(term, value=new)


def renamed(limit: Constraint, old: Sequence[str], new: Sequence[str]) -> Constraint:
    """The same limit, on conditions by their new names."""
    names = {a: b for a, b in zip(old, new, strict=True) if a != b}
    data = limit.to_json()
    for key in {"feature", "other", "features"} & set(data):
        value = data[key]
        data[key] = (
            [names.get(v, v) for v in value] if key == "features" else names.get(value, value)
        )
    return from_json(data)


# -- limits, and what things are called ------------------------------------------------------------


@dataclass(frozen=True)
class SetLimits(Edit):
    """Say anew what a solver has to keep to, beside the limits that the model was fitted with."""

    kind: ClassVar[str] = "limits"
    _readers: ClassVar = {"limits": _read_limits}
    limits: tuple[Constraint, ...]

    def _apply(self, draft: Draft) -> Draft:
        return replace(draft, limits=tuple(dict.fromkeys(self.limits)))

    def _words(self, before: Draft, after: Draft) -> str:
        new = [f"“{one}” from now on" for one in after.limits if one not in before.limits]
        old = [f"“{one}” no longer" for one in before.limits if one not in after.limits]
        return f"limits: {'; '.join([*new, *old]) or 'as before'}"


@dataclass(frozen=True)
class Rename(Edit):
    """Change the card's title, its outcome in words, or a column's label or unit."""

    kind: ClassVar[str] = "rename"
    _readers: ClassVar = {
        "what": read_text,
        "column": or_null(read_text),
        "text": or_null(read_text),
    }
    what: str  #: one of :attr:`_WHAT`
    column: str | None  #: of a label or a unit
    text: str | None  #: None takes the name away

    _WHAT: ClassVar = ("title", "outcome", "label", "unit")

    def _apply(self, draft: Draft) -> Draft:
        if self.what not in self._WHAT:
            raise InputError(f"what={self.what!r} must be one of {', '.join(self._WHAT)}.")
        if (self.column is None) != (self.what in ("title", "outcome")):
            raise InputError(
                f"{self.what} is of {'a column' if self.column is None else 'the card'}."
            )
        text = None if self.text is None or not self.text.strip() else self.text.strip()
        if text is not None and len(text) > _LONGEST:
            raise InputError(f"a {self.what} may have {_LONGEST} characters, not {len(text)}.")
        labels, named_so = draft.labels, cast(dict[str, Any], {self.what: text})
        if self.column is None:
            return replace(draft, labels=replace(labels, **named_so))
        draft.of_column(self.column)
        new: ColumnLabel = replace(labels.of(self.column), **named_so)
        rest = tuple(one for one in labels.columns if one.feature != self.column)
        kept = (new,) if new != ColumnLabel(self.column) else ()
        return replace(draft, labels=replace(labels, columns=(*rest, *kept)))

    def _words(self, before: Draft, after: Draft) -> str:
        what = self.what if self.column is None else f"{self.what} of {self.column}"
        old, new = (self._now(draft) for draft in (before, after))
        return f"{what}: {old} → {new}"

    def _now(self, draft: Draft) -> str:
        holder = draft.labels if self.column is None else draft.labels.of(self.column)
        text = getattr(holder, self.what)
        return "none" if text is None else _quoted(text)
