"""What the terms of a column make of its values, as one expression.

All terms of a column together tell few kinds of values apart: "age ≥ 40" and "age ≥ 60" three, and
missing makes a fourth.  These are the states of the column.  An engine finds out which state a row
is in by a few comparisons, and what each term says of a state is known beforehand.  So the same
comparisons give the codes of all terms, or their points together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import narwhals as nw

from netbenefit.cards.terms import Condition, PerUnit, Term, Value, log_ends
from netbenefit.common.decimals import LARGEST_EXACT

__all__ = [
    "LARGEST_LOG",
    "Edge",
    "IntType",
    "States",
    "added",
    "choose",
    "states_of_flags",
    "states_of_numbers",
    "states_of_text",
    "whole",
]


#: Numbers above this have no logarithm here, unless the term has an upper end: the ends of all
#: steps up to the largest float would be tens of thousands of comparisons.
LARGEST_LOG = float(LARGEST_EXACT)


_FEW = 8
#: Types of whole numbers: sums in fewer bits are quicker, where they fit.
IntType = type[nw.Int64] | type[nw.Int32] | type[nw.Int16]


class Edge(NamedTuple):
    """Where a state begins: at a number, or just above it."""

    value: float  #: or a whole number, to be compared as such
    above: bool = False

    def reached(self, x: nw.Expr) -> nw.Expr:
        """Whether a value is in this state or a later one."""
        return x > self.value if self.above else x >= self.value

    def missed(self, x: nw.Expr) -> nw.Expr:
        """Whether a value is in an earlier state."""
        return x <= self.value if self.above else x < self.value

    def whole(self) -> Edge:
        """Return the same edge among whole numbers."""
        number = math.floor(self.value) + 1 if self.above else math.ceil(self.value)
        return Edge(number)


class States(NamedTuple):
    """The states of a column: what each term says of them, and how to tell them apart.

    Attributes
    ----------
    codes : list of tuple of int
        Codes of all terms, one tuple a state; the last state is "missing".
    pick : callable
        Given one whole number a state, and their type, returns the expression of the number of a
        row's state.
    """

    codes: list[tuple[int, ...]]
    pick: Callable[[Sequence[int], IntType], nw.Expr]


def choose(
    x: nw.Expr, edges: Sequence[Edge], values: Sequence[nw.Expr], null_at: int = 0
) -> nw.Expr:
    """Return values[k] where x has reached exactly k of some ascending edges.

    By halving: a few comparisons decide among hundreds of edges.  A comparison with null is
    neither true nor false and leads to "otherwise", so it is put such that null gets
    values[null_at], without being asked for.

    Examples
    --------
    >>> import polars as pl
    >>> frame = nw.from_native(pl.DataFrame({"x": [1.0, 2.0, 3.0, None]}))
    >>> words = [nw.lit(text) for text in ("low", "two", "high")]
    >>> picked = choose(nw.col("x"), [Edge(2.0), Edge(2.0, above=True)], words, null_at=1)
    >>> frame.select(picked.alias("x"))["x"].to_list()
    ['low', 'two', 'high', 'two']
    """
    if not edges:
        return values[0]
    middle = len(edges) // 2
    late = null_at > middle
    low = choose(x, edges[:middle], values[: middle + 1], min(null_at, middle))
    high = choose(x, edges[middle + 1 :], values[middle + 1 :], max(null_at - middle - 1, 0))
    if late:
        return nw.when(edges[middle].missed(x)).then(low).otherwise(high)
    return nw.when(edges[middle].reached(x)).then(high).otherwise(low)


def added(parts: Sequence[nw.Expr]) -> nw.Expr:
    """Add up numbers; by halves, as libraries walk through expressions by recursion."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return added(parts[:middle]) + added(parts[middle:])


def whole(number: int, dtype: IntType = nw.Int64) -> nw.Expr:
    """Return a whole number of a type, whatever it is added to."""
    return nw.lit(number, dtype)


# -- numbers ---------------------------------------------------------------------------------------


def states_of_numbers(
    x: nw.Expr,
    missing: Sequence[nw.Expr],
    terms: Sequence[Term],
    fill: Value | None = None,
    *,
    integers: bool = False,
) -> States:
    """Return the states that conditions (and logarithms) tell apart among numbers.

    Parameters
    ----------
    x : expression
        The column; what it holds where it is missing does not matter.
    missing : sequence of expressions
        One of them holds where it is missing; the first says whether it is null.
    terms : sequence of Condition or PerUnit
    fill : number, optional
        What a missing value counts as.
    integers : bool, default=False
        Whether the column's type holds small integers, which engines compare fastest.

    Examples
    --------
    >>> x = nw.col("age")
    >>> terms = [Condition("age", ">=", 40), Condition("age", "==", 60)]
    >>> states_of_numbers(x, [x.is_null()], terms).codes
    [(0, 0), (1, 0), (1, 1), (1, 0), (0, 0)]
    """
    edges = sorted({edge for term in terms for edge in _edges(term)})
    kept: list[Edge] = []
    codes = [_codes(terms, _before(edges))]
    for edge in edges:
        code = _codes(terms, math.nextafter(edge.value, math.inf) if edge.above else edge.value)
        if code != codes[-1]:
            kept.append(edge)
            codes.append(code)
    compared = [edge.whole() for edge in kept] if integers else kept

    def pick(values: Sequence[int], dtype: IntType) -> nw.Expr:
        # States of equal value are one.
        steps = [k for k in range(1, len(codes)) if values[k] != values[k - 1]]
        own, hole = [values[0], *(values[k] for k in steps)], values[-1]
        passed = [compared[k - 1] for k in steps]
        found = _number_at(x, passed, own, hole, dtype)
        for test in reversed(missing[1:]):  # of null, the first, nobody has to ask
            found = nw.when(test).then(whole(hole, dtype)).otherwise(found)
        return found

    return States([*codes, _codes(terms, fill)], pick)


def _number_at(
    x: nw.Expr, edges: Sequence[Edge], values: Sequence[int], hole: int, dtype: IntType
) -> nw.Expr:
    """Return values[k] where x has reached exactly k of some ascending edges, ``hole`` for null.

    Of a few edges it is a sum of steps, which engines add up faster than they go through nested
    cases.  The sum starts from the value of null, which reaches no edge and misses none.
    """
    null_at = values.index(hole) if hole in values else 0
    if len(edges) > _FEW:
        found = choose(x, edges, [whole(value, dtype) for value in values], null_at)
    else:
        nothing, parts = whole(0, dtype), []
        for k, edge in enumerate(edges, start=1):
            rise = values[k] - values[k - 1]
            if k <= null_at:
                parts.append(nw.when(edge.missed(x)).then(whole(-rise, dtype)).otherwise(nothing))
            else:
                parts.append(nw.when(edge.reached(x)).then(whole(rise, dtype)).otherwise(nothing))
        if values[null_at] or not parts:
            parts.append(whole(values[null_at], dtype))
        found = added(parts)
    if hole in values:
        return found
    return nw.when(x.is_null()).then(whole(hole, dtype)).otherwise(found)


def states_of_flags(x: nw.Expr, terms: Sequence[Term], fill: Value | None = None) -> States:
    """Return the states of true and false.

    >>> states_of_flags(nw.col("smoker"), [PerUnit("smoker", binary=True)]).codes
    [(0,), (1,), (0,)]
    """

    def pick(values: Sequence[int], dtype: IntType) -> nw.Expr:
        no, yes, hole = (whole(value, dtype) for value in values)
        if values[0] == values[2]:
            return nw.when(x).then(yes).otherwise(no)
        if values[1] == values[2]:
            return nw.when(~x).then(no).otherwise(yes)
        return nw.when(x.is_null()).then(hole).otherwise(nw.when(x).then(yes).otherwise(no))

    return States([_codes(terms, 0.0), _codes(terms, 1.0), _codes(terms, fill)], pick)


def _edges(term: Term) -> list[Edge]:
    if isinstance(term, PerUnit):
        top = LARGEST_LOG if term.upper is None else float(term.upper)
        return [Edge(end) for end in log_ends(term.decimals).tolist() if end <= top]
    numbers = [float(value) for value in term.values if not isinstance(value, str)]
    if term.op in (">=", "<", "between"):
        return [Edge(number) for number in numbers]
    if term.op in (">", "<="):
        return [Edge(number, above=True) for number in numbers]
    return [Edge(number, above) for number in numbers for above in (False, True)]


def _before(edges: Sequence[Edge]) -> float:
    return math.nextafter(edges[0].value, -math.inf) if edges else 0.0


def _codes(terms: Sequence[Term], value: float | str | None) -> tuple[int, ...]:
    return tuple(int(term.value_code(value)) for term in terms)


# -- text ------------------------------------------------------------------------------------------


def states_of_text(
    x: nw.Expr,
    hole: nw.Expr,
    terms: Sequence[Term],
    fill: Value | None = None,
    known: Sequence[Value] = (),
    spell: Callable[[str], Value | None] = str,
) -> States:
    """Return the states that conditions tell apart among texts: levels of equal codes, all others.

    Parameters
    ----------
    x : expression
        The column.
    hole : expression
        Whether it is missing; asked last, because looking for blanks takes time.
    terms : sequence of Condition
    fill : str, optional
        What a missing value counts as.
    known : sequence of str
        Other levels that are common, of which nobody has to ask whether they are missing.
    spell : callable
        How the column itself writes a level; None where it cannot.

    Examples
    --------
    >>> terms = [Condition("stage", "in", ("III", "IV")), Condition("stage", "==", "IV")]
    >>> states_of_text(nw.col("stage"), nw.col("stage").is_null(), terms).codes
    [(1, 0), (1, 1), (0, 0), (0, 0)]
    """
    named = [v for term in terms if isinstance(term, Condition) for v in term.values]
    together: dict[tuple[int, ...], list[Value]] = {}
    others = _codes(terms, "".join(map(str, named)) + "…")  # equals none of them
    for level in dict.fromkeys(str(value) for value in named):
        spelt, code = spell(level), _codes(terms, level)
        if spelt is not None and code != others:
            together.setdefault(code, []).append(spelt)

    common = [spelt for spelt in map(spell, map(str, known)) if spelt is not None]
    common = [level for level in common if not any(level in own for own in together.values())]

    def pick(values: Sequence[int], dtype: IntType) -> nw.Expr:
        *here, other, missing = values
        alike: dict[int, list[Value]] = {other: list(common)}
        for levels, value in zip(together.values(), here, strict=True):
            alike.setdefault(value, []).extend(levels)
        present = alike.pop(other)
        found = rest = whole(other, dtype)
        if missing != other:
            found = nw.when(hole).then(whole(missing, dtype)).otherwise(rest)
            if present:
                found = nw.when(_is_one(x, present)).then(rest).otherwise(found)
        for value, levels in alike.items():
            few = [[level] for level in levels] if len(levels) <= _FEW else [levels]
            for some in few:  # one after the other: engines are slow with "or"
                found = nw.when(_is_one(x, some)).then(whole(value, dtype)).otherwise(found)
        return found

    return States([*together, others, _codes(terms, fill)], pick)


def _is_one(x: nw.Expr, levels: Sequence[Value]) -> nw.Expr:
    """Whether a value is one of some; a few comparisons are faster than a search in a list."""
    if len(levels) > _FEW:
        return x.is_in(levels)
    found = x == levels[0]
    for level in levels[1:]:
        found = found | (x == level)
    return found
