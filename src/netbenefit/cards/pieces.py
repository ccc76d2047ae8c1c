"""What the terms of one column tell apart: intervals of numbers, or groups of levels.

"age ≥ 40" and "age ≥ 60" cut the numbers into three intervals; "stage is III or IV" and "stage is
IV" sort the levels into three groups, the last of which is all others.  Within such a piece a
value is always worth the same.  ``worth`` is any function of a value: the total of points, or the
codes of all terms.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from netbenefit.cards.columns import Kind
from netbenefit.cards.terms import Condition, PerUnit, Term, log_ends
from netbenefit.common.strict_json import Value

__all__ = [
    "LEVELS",
    "OTHERS",
    "Edge",
    "cuts",
    "edges",
    "group_levels",
    "intervals",
    "level_order",
    "log_steps",
    "named",
    "other_level",
    "samples",
    "total_of",
    "unit_ends",
]

#: Conditions that name levels; those of them that hold for all levels that they do not name.
LEVELS = ("==", "!=", "in", "not in")
OTHERS = ("!=", "not in")

_Worth = TypeVar("_Worth")


def total_of(pairs: Iterable[tuple[Term, int]], value: Value | None) -> int:
    """Return Σ factor · code of a value (None: missing)."""
    return sum(factor * term.value_code(value) for term, factor in pairs)


def named(terms: Iterable[Term]) -> list[Value]:
    """Return the values that conditions name, each once."""
    values = (v for term in terms if isinstance(term, Condition) for v in term.values)
    return list(dict.fromkeys(values))


def samples(values: Sequence[Value], kind: Kind) -> list[Value]:
    """Return values of all pieces that some values bound: these, and what is next to them."""
    if kind == "text":
        return [*values, other_level(values)]
    numbers = [v for v in values if not isinstance(v, str)] or [0.0]
    near = (math.nextafter(v, end) for v in numbers for end in (-math.inf, math.inf))
    return [*numbers, *near]


# -- numbers ---------------------------------------------------------------------------------------


class Edge(NamedTuple):
    """Where an interval begins: at a number, or just above it."""

    value: float
    above: bool = False

    @property
    def first(self) -> float:
        """The first number of the interval."""
        return math.nextafter(self.value, math.inf) if self.above else self.value


def edges(terms: Iterable[Term]) -> list[Edge]:
    """Return where conditions on numbers begin or cease to hold."""
    found = []
    for term in terms:
        for value in named([term]):
            if isinstance(value, str) or not isinstance(term, Condition):
                continue
            if term.op not in (">", "<="):
                found.append(Edge(value))
            if term.op not in (">=", "<", "between"):
                found.append(Edge(value, above=True))
    return found


def intervals(found: Iterable[Edge], worth: Callable[[float], _Worth]) -> list[tuple[Edge, _Worth]]:
    """Return where intervals begin, and their worth: ascending from −∞, neighbours differ."""
    pieces = [(Edge(-math.inf), worth(-math.inf))]
    for edge in sorted(set(found)):
        own = worth(edge.first)
        if own != pieces[-1][1]:
            pieces.append((edge, own))
    return pieces


def cuts(terms: Iterable[Term]) -> list[float]:
    """Return the numbers that conditions name, ascending."""
    return sorted(value for value in named(terms) if not isinstance(value, str))


def unit_ends(term: PerUnit) -> tuple[float | None, float | None]:
    """Return where points per unit are clipped; a logarithm starts at 0."""
    if not term.log:
        return term.lower, term.upper
    return max(0.0, term.lower or 0.0), term.upper


def log_steps(term: PerUnit) -> tuple[int, list[float]]:
    """Return the code of the lowest clipped value, and where the steps above it begin."""
    ends: list[float] = log_ends(term.decimals).tolist()
    last = len(ends) if term.upper is None else bisect_right(ends, term.upper)
    first = 0 if term.lower is None else bisect_right(ends, term.lower, 0, last)
    return first, ends[first:last]


# -- levels ----------------------------------------------------------------------------------------


def level_order(terms: Iterable[Term], known: Sequence[Value]) -> list[Value]:
    """Levels that conditions name: as training lists them, then numbers by size, or as named."""
    levels = named(terms)
    if not any(isinstance(level, str) for level in levels):
        levels.sort()
    place = {level: i for i, level in enumerate(known)}
    return sorted(levels, key=lambda level: place.get(level, len(place)))


def other_level(levels: Iterable[Value]) -> str:
    """Return a text that equals none of some levels."""
    return "".join(map(str, levels)) + "…"


def group_levels(
    terms: Sequence[Term], worth: Callable[[Value], _Worth], levels: Iterable[Value] | None = None
) -> tuple[dict[_Worth, list[Value]], _Worth]:
    """Return levels by their worth, and the worth of all others; levels worth as much are left out.

    Without ``levels``, those that the terms name.
    """
    known = named(terms)
    others = worth(other_level(known))
    groups: dict[_Worth, list[Value]] = {}
    for level in known if levels is None else levels:
        own = worth(level)
        if own != others:
            groups.setdefault(own, []).append(level)
    return groups, others
