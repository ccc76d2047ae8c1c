"""What all constraints have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Self

from netbenefit.common.checks import InputError, shorten
from netbenefit.problem.constraint_draft import Draft
from netbenefit.problem.constraint_values import position

__all__ = ["Constraint", "from_json"]


@dataclass(frozen=True)
class Constraint(ABC):
    """What all constraints have: a text, a check, a form in arrays, and a form in JSON."""

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
        changed = {key: self._lookup(getattr(self, key), names) for key in self._column_fields()}
        return self._copy(changed)

    def allows(self, points: Sequence[int] | Mapping[str, int], names: Sequence[str] = ()) -> bool:
        """Whether a vector meets the constraint: points in the order of ``names``, or by name.

        Rates depend on the data too, so their constraints allow all points here;
        :meth:`Problem.feasible` decides.

        >>> from netbenefit.problem.constraints import AtMost
        >>> AtMost(1, ("a", "b")).allows([3, 0, 2], ["a", "b", "c"])
        True
        """
        if isinstance(points, Mapping):
            of = {str(name): int(v) for name, v in points.items()}
        else:
            of = {name: int(v) for name, v in zip(names, points, strict=True)}
        return self.named(tuple(of))._allows(of)

    def to_json(self) -> dict[str, Any]:
        """Return the constraint as a dict of plain values.

        >>> from netbenefit.problem.constraints import Implies
        >>> Implies("stage 3", "age").to_json()
        {'kind': 'implies', 'feature': 'stage 3', 'other': 'age'}
        """
        plain = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        return {"kind": self.kind, **plain}

    @abstractmethod
    def add_to(self, draft: Draft) -> None:
        """Contribute to the form in arrays; columns must be named."""

    @abstractmethod
    def _allows(self, points: Mapping[str, int]) -> bool:
        """Whether points, by name, meet the constraint."""

    def _column_fields(self) -> list[str]:
        return [f.name for f in fields(self) if f.name in ("feature", "other", "features")]

    def _lookup(self, key: Any, names: Sequence[str]) -> Any:
        label = self.label or type(self).__name__
        if isinstance(key, tuple):
            found = tuple(names[position(k, names, label)] for k in key)
            if len(set(found)) < len(found):
                raise InputError(f"{label} names a column twice: {shorten(found, 10)}.")
            return found
        return names[position(key, names, label)]

    def _copy(self, changed: Mapping[str, Any]) -> Self:
        values = {f.name: getattr(self, f.name) for f in fields(self)} | dict(changed)
        return self._from(values)

    @classmethod
    def _from(cls, values: Mapping[str, Any]) -> Self:
        return cls(**values)


def from_json(data: Any) -> Constraint:
    """Read a constraint that :meth:`Constraint.to_json` has written.

    >>> from netbenefit.problem.constraints import AtMost
    >>> from_json(AtMost(2, ["age", "bmi"]).to_json())
    AtMost(features=('age', 'bmi'), limit=2)
    """
    kind = data.get("kind") if isinstance(data, Mapping) else None
    what = Constraint._kinds.get(kind) if isinstance(kind, str) else None
    if what is None:
        known = shorten(sorted(Constraint._kinds), 20)
        raise InputError(f"{data!r} is not a constraint: its kind is none of {known}.")
    wanted = {f.name for f in fields(what)}
    values = {key: value for key, value in data.items() if key != "kind"}
    if set(values) != wanted:
        raise InputError(
            f"a constraint of kind {kind!r} needs {shorten(sorted(wanted))}, not {data!r}."
        )
    return what._from(values)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    return value
