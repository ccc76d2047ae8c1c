"""Constraints by raw column, put in terms of the conditions that a binner has made of it.

The name of a raw column means all conditions on it; a condition's own name ("age ≥ 52") means that
condition alone:

* ``Sign``: no condition on the column takes points away (or adds any), missing values aside.  As
  conditions "≥" add up, the points then never fall (or never rise) along the column.
* ``Monotone``: the same, and the column's levels have to have an order.
* ``Bounds``, ``Values``: of each condition, missing values aside.
* ``Include``: at least one condition; ``Exclude``: none.
* ``AtMost``, ``AtLeast``: conditions are counted.
* ``Exclusive``: of conditions on different columns, not two have points.
* ``Implies``: points for a condition only together with one on the other column.
* ``MaxPerColumn``: ``AtMost`` for every column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from netbenefit.cards import Condition, Term
from netbenefit.common import InputError, Remedy, shorten
from netbenefit.problem.constraints import (
    AtLeast,
    AtMost,
    Bounds,
    Constraint,
    Exclude,
    Exclusive,
    Implies,
    Include,
    MaxPerColumn,
    Monotone,
    NeedsOneOf,
    Sign,
    Values,
    all_constraints,
)


class RawNames:
    """Which conditions a name stands for; a raw column may have none."""

    def __init__(self, names: Sequence[str], terms: Sequence[Term], columns: Sequence[str]) -> None:
        self.names = tuple(names)
        self._terms = dict(zip(names, terms, strict=True))
        self.columns = tuple(dict.fromkeys([*columns, *(term.feature for term in terms)]))

    def all(self, name: Any) -> tuple[str, ...]:
        """Conditions of a name; a column comes before a condition that is called like it."""
        found = tuple(own for own, term in self._terms.items() if term.feature == name)
        if name in self._terms and name not in self.columns:
            return (str(name),)
        if not found and name not in self.columns:
            raise InputError(
                f"a constraint names {name!r}, which is neither a column nor a condition; the "
                f"columns are {shorten(self.columns, 10)}. Correct the name."
            )
        return found

    def present(self, name: Any) -> tuple[str, ...]:
        """Conditions of a name, without the one for missing values (unless it is the name)."""
        if name not in self.columns:
            return self.all(name)
        return tuple(own for own in self.all(name) if self._op(own) != "missing")

    def is_level(self, name: str) -> bool:
        """Whether a condition is about single levels, not about an order of values."""
        return self._op(name) in ("==", "not in")

    def _op(self, name: str) -> str:
        term = self._terms[name]
        return term.op if isinstance(term, Condition) else ""

    def each(self, names: Iterable[Any]) -> tuple[str, ...]:
        """Conditions of several names."""
        return tuple(dict.fromkeys(own for name in names for own in self.all(name)))


def by_condition(
    known: RawNames,
    sign: Mapping[Any, Any] | None,
    bounds: Mapping[Any, Any] | None,
    constraints: Sequence[Constraint],
) -> list[Constraint]:
    """Return all constraints in terms of conditions."""
    names = tuple(dict.fromkeys([*known.columns, *known.names]))
    named = all_constraints(names, sign, bounds, None, constraints)
    made: list[Constraint] = []
    for one in named:
        rewrite = _REWRITE.get(type(one))
        made += [one] if rewrite is None else rewrite(one, known)
    return made


def _include(one: Any, known: RawNames) -> list[Constraint]:
    made: list[Constraint] = []
    for name in one.features:
        own = known.all(name)
        if not own:
            raise InputError(
                f"{one}: column {name!r} has no condition that could have points. Give it cut "
                "points, or leave out the constraint."
            )
        made.append(Include(*own) if len(own) == 1 else AtLeast(1, own))
    return made


def _exclude(one: Any, known: RawNames) -> list[Constraint]:
    own = known.each(one.features)
    return [Exclude(*own)] if own else []


def _at_most(one: Any, known: RawNames) -> list[Constraint]:
    own = known.each(one.features)
    return [AtMost(one.limit, own)] if own else []


def _at_least(one: Any, known: RawNames) -> list[Constraint]:
    own = known.each(one.features)
    if len(own) < one.count:
        raise InputError(f"{one}: there are only {len(own)} conditions on them. Lower the count.")
    return [AtLeast(one.count, own)] if own else []


def _exclusive(one: Any, known: RawNames) -> list[Constraint]:
    groups = [known.all(name) for name in one.features]
    return [
        Exclusive(a, b)
        for first, second in combinations(groups, 2)
        for a, b in product(first, second)
        if a != b
    ]


def _implies(one: Any, known: RawNames) -> list[Constraint]:
    others = known.all(one.other)
    made: list[Constraint] = []
    for own in known.all(one.feature):
        if not others:
            made.append(Exclude(own))
        elif len(others) == 1:
            made.append(Implies(own, others[0]))
        else:
            made.append(NeedsOneOf(own, others))
    return made


def _needs_one_of(one: Any, known: RawNames) -> list[Constraint]:
    others = known.each(one.features)
    own = known.all(one.feature)
    return [NeedsOneOf(name, others) if others else Exclude(name) for name in own]


def _per_column(one: Any, known: RawNames) -> list[Constraint]:
    groups = [known.all(name) for name in known.columns]
    return [AtMost(one.limit, own) for own in groups if len(own) > one.limit]


def _monotone(one: Any, known: RawNames) -> list[Constraint]:
    own = known.present(one.feature)
    if sum(known.is_level(name) for name in own) > 1:
        column = one.feature
        raise InputError(
            f"{one}: the levels of column {column!r} have no order. Give one, as ",
            Remedy(
                f"Binner(ordered={{{column!r}: ['low', …, 'high']}})",
                f'{{"ordered": {{"{column}": ["low", …, "high"]}}}} in a --binner FILE.json',
            ),
            ", or only ask for no points below 0: ",
            Remedy(f"sign={{{column!r}: {one.sign!r}}}", f"--sign '{column}={one.sign}'"),
            ".",
        )
    return [Sign(name, one.sign) for name in own]


_REWRITE: dict[type[Constraint], Callable[[Any, RawNames], list[Constraint]]] = {
    Monotone: _monotone,
    Sign: lambda one, known: [Sign(own, one.sign) for own in known.present(one.feature)],
    Bounds: lambda one, known: [
        Bounds(own, one.lowest, one.highest) for own in known.present(one.feature)
    ],
    Values: lambda one, known: [Values(own, one.values) for own in known.present(one.feature)],
    Include: _include,
    Exclude: _exclude,
    AtMost: _at_most,
    AtLeast: _at_least,
    Exclusive: _exclusive,
    Implies: _implies,
    NeedsOneOf: _needs_one_of,
    MaxPerColumn: _per_column,
}
