"""How the rules of a card add up: integer units, column by column, for one row or for many.

One unit is 10^-D of a point, with D the most decimals of any rule, so that no float takes part.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards.columns import Kind, check_present, missing_error
from netbenefit.cards.readings import Reading, Readings
from netbenefit.cards.rules import INT64, Rule
from netbenefit.cards.terms import Condition, PerUnit, Term, log_ends
from netbenefit.common.checks import InputError, IntArray, shorten
from netbenefit.common.strict_json import Value

__all__ = ["ColumnPlan", "Input", "Plan", "Step", "check_readings", "check_rules", "make_steps"]

#: Scores are listed where at most so many units lie between the fewest and the most.
_MOST_UNITS = 100_000
#: Steps of points per unit on a column that also has conditions: those that are gone through.
_MOST_STEPS = 2_000


def check_rules(rules: Any) -> tuple[Rule, ...]:
    """Return rules that can stand on one card: no term twice, one kind of value a column."""
    seen: dict[Term, int] = {}
    kinds: dict[str, Kind] = {}
    for i, rule in enumerate(rules):
        if not isinstance(rule, Rule):
            raise InputError(f"rules[{i}] = {rule!r} is not a Rule.")
        term = rule.term
        if term in seen:
            raise InputError(
                f"rules[{i}] ({term.text()}) repeats rules[{seen[term]}]. Add up their points."
            )
        seen[term] = i
        if term.kind != "any" and kinds.setdefault(term.feature, term.kind) != term.kind:
            raise InputError(
                f"rules[{i}] ({term.text()}) reads column {term.feature!r} as {term.kind}, another "
                f"rule as {kinds[term.feature]}. A column holds numbers or text, not both."
            )
    return tuple(rules)


def check_readings(readings: Any, rules: Sequence[Rule]) -> tuple[Reading, ...]:
    """Return the readings of a card: one a column, of columns that its rules come to."""
    by_name: dict[str, Reading] = {}
    for i, reading in enumerate(readings):
        if not isinstance(reading, Reading):
            raise InputError(f"readings[{i}] = {reading!r} is not a Reading.")
        if reading.feature in by_name:
            raise InputError(f"readings[{i}] repeats the reading of {reading.feature!r}.")
        by_name[reading.feature] = reading
    wanted = {rule.term.feature for rule in rules}
    for reading in by_name.values():
        for source in reading.sources:
            if source in by_name and by_name[source].sources:
                raise InputError(
                    f"column {reading.feature!r} is derived from {source!r}, itself derived. Name "
                    "raw columns."
                )
    wanted |= {source for name in wanted & set(by_name) for source in by_name[name].sources}
    strange = [name for name in by_name if name not in wanted]
    if strange:
        raise InputError(f"readings of columns that no rule uses: {shorten(strange)}.")
    kinds = {rule.term.feature: rule.term.kind for rule in rules if rule.term.kind != "any"}
    kinds |= {source: "number" for reading in by_name.values() for source in reading.sources}
    kinds |= {reading.feature: "number" for reading in by_name.values() if reading.sources}
    for name, reading in by_name.items():
        values = [*reading.levels, *(() if reading.fill is None else (reading.fill,))]
        odd = [v for v in values if isinstance(v, str) != (kinds.get(name) == "text")]
        if odd and name in kinds:
            raise InputError(
                f"the reading of {name!r} has {odd[0]!r}, but its rules expect {kinds[name]}."
            )
    return tuple(by_name.values())


class ColumnPlan(NamedTuple):
    """What to do with one column: raw, or derived from some that are."""

    name: str
    kind: Kind
    missing_allowed: bool
    terms: tuple[tuple[Term, int], ...]  #: with the units of one step; terms worth 0 left out


class Plan(NamedTuple):
    """What to do with each raw column.

    Examples
    --------
    >>> plan = Plan.of([Rule(PerUnit("bmi", decimals=1), 2), Rule(Condition("age", ">=", 40), 3)])
    >>> plan.unit, plan.units_of_row({"bmi": 25.25, "age": 30})
    (10, [(PerUnit(feature='bmi', decimals=1, ...), 506), (Condition(feature='age', ...), 0)])
    """

    columns: tuple[ColumnPlan, ...]
    unit: int  #: units in one point, 10**D
    readings: Readings

    @classmethod
    def of(cls, rules: Sequence[Rule], readings: Sequence[Reading] = ()) -> Plan:
        """Make the plan of a card with these rules."""
        decimals = max((rule.term.decimals for rule in rules), default=0)
        by_column: dict[str, list[Rule]] = {}
        for rule in rules:
            by_column.setdefault(rule.term.feature, []).append(rule)
        columns = []
        for name, own in by_column.items():
            kinds = {rule.term.kind for rule in own} - {"any"}
            holes = any(rule.term.kind == "any" for rule in own)
            terms = tuple(
                (rule.term, rule.points * 10 ** (decimals - rule.term.decimals))
                for rule in own
                if rule.points
            )
            columns.append(ColumnPlan(name, kinds.pop() if kinds else "any", holes, terms))
        others = {rule.term.feature for rule in rules if _takes_others(rule.term)}
        return cls(tuple(columns), int(10**decimals), Readings(readings, others))

    @property
    def features(self) -> tuple[str, ...]:
        """Raw columns, in the order in which rules come to them."""
        return tuple(
            dict.fromkeys(
                name for plan in self.columns for name in self.readings.sources(plan.name)
            )
        )

    def units_of_row(self, row: Mapping[str, Any]) -> list[tuple[Term, int]]:
        """Return the units that each term brings for one row of plain values."""
        if not all(name in row for name in self.features):
            row = {str(name): value for name, value in row.items()}
            check_present(self.features, list(row))
        units, total = [], 0
        for plan in self.columns:
            value = self.readings.value(plan.name, row, plan.kind)
            if value is None and not plan.missing_allowed:
                raise missing_error(plan.name)
            for term, factor in plan.terms:
                part = factor * term.value_code(value)
                total += part
                units.append((term, part))
        if not -INT64 <= total < INT64:
            raise _too_large(None)
        return units

    def units_of_rows(self, data: Mapping[str, Any], n_rows: int) -> IntArray:
        """Return the sum of units of each row, from raw columns by name."""
        total = np.zeros(n_rows, dtype=np.int64)
        bound = 0  # of the units so far, as a Python int: it cannot overflow
        parts = []
        for plan in self.columns:
            column = self.readings.column(plan.name, data, plan.kind)
            if len(column.values) != n_rows:
                raise InputError(
                    f"column {plan.name!r} has {len(column.values)} rows, but "
                    f"{self.columns[0].name!r} has {n_rows}. Pass columns of equal length."
                )
            if column.missing is not None and not plan.missing_allowed:
                raise missing_error(plan.name, column.missing)
            for term, factor in plan.terms:
                codes = term.column_codes(column)
                largest = 1 if codes.dtype == np.bool_ else int(np.abs(codes).max(initial=0))
                bound += abs(factor) * largest
                if bound >= INT64:
                    parts.append((codes, factor))
                else:
                    total += codes * np.int64(factor)
        return _add_large(total, parts) if parts else total

    def limits(self) -> tuple[int, int] | None:
        """Return the fewest and most units that any row can get, or None where there is no end."""
        low = high = 0
        for column in self.columns:
            limits = self._column_limits(column)
            if limits is None:
                return None
            low, high = low + limits[0], high + limits[1]
        return low, high

    def _column_limits(self, column: ColumnPlan) -> tuple[int, int] | None:
        units = [term for term, _ in column.terms if isinstance(term, PerUnit) and not term.binary]
        if len(units) < 2:
            totals = self._totals(column)
            return None if totals is None else (min(totals), max(totals))
        # Roundings may work against each other: bound each on its own.
        parts = [self._column_limits(column._replace(terms=(pair,))) for pair in column.terms]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return sum(low for low, _ in known), sum(high for _, high in known)

    def scores(self) -> Sequence[int] | None:
        """Return all scores that answers can produce, ascending, or None where there is no end.

        Every answer to one column may go with every answer to another.  Where there are too many
        to list, all whole numbers between the lowest and the highest score are returned.

        >>> ages = [Rule(Condition("age", ">=", 40), 3), Rule(Condition("age", ">=", 60), 1)]
        >>> Plan.of([*ages, Rule(Condition("sex", "==", "m"), 2)]).scores()
        [0, 2, 3, 4, 5, 6]
        """
        limits = self.limits()
        if limits is None:
            return None
        if limits[1] - limits[0] <= _MOST_UNITS:
            columns = [self._totals(column, every=True) for column in self.columns]
            known = [totals for totals in columns if totals is not None]
            if len(known) == len(columns):
                return _sums(known, self.unit)
        low, high = (end // self.unit for end in limits)
        return range(low, high + 1) if high - low < INT64 - 1 else None

    def _totals(self, column: ColumnPlan, every: bool = False) -> set[int] | None:
        """Return units that one column can bring, the fewest and the most among them, or None.

        With ``every``, all of them; None then also stands for too many.  Codes only change at the
        numbers that terms name and at the ends of steps, so these and their neighbours are tried.
        """
        terms = column.terms
        reading = self.readings.by_name.get(column.name)
        missing = column.missing_allowed
        if reading is not None and (reading.fill is not None or reading.refuse):
            missing = False  # filled in, or refused
        values: list[Any] = []
        for term, _ in terms:
            if isinstance(term, Condition):
                values += term.values
            elif term.binary:
                values += [0.0, 1.0]
            elif term.lower is None or term.upper is None:
                return None
            else:
                values += [term.lower, term.upper]
                first, last = (term.value_code(end) for end in (term.lower, term.upper))
                if every and len(terms) == 1:
                    codes = {0, *range(first, last + 1)} if missing else range(first, last + 1)
                    return {terms[0][1] * code for code in codes}
                if every and last - first > _MOST_STEPS:
                    return None
                if every:
                    values += _within(term, first, last)
        if column.kind == "text":
            values.append("".join(values) + "…")  # equals none of them
        elif any(isinstance(term, PerUnit) and term.binary for term, _ in terms):
            values = [0.0, 1.0]
        else:
            near = values or [0.0]
            values = near + [math.nextafter(v, end) for v in near for end in (-math.inf, math.inf)]
        coded = () if reading is None else reading.special
        answers = [value for value in values if value not in coded] or values
        answers += [None] if missing else []
        return {sum(factor * term.value_code(v) for term, factor in terms) for v in answers}


def _takes_others(term: Term) -> bool:
    return isinstance(term, Condition) and term.op in ("not in", "!=")


def _within(term: PerUnit, first: int, last: int) -> list[float]:
    """Return the lower ends of steps, and a number inside each."""
    if term.log:
        return [float(end) for end in log_ends(term.decimals)[first:last]]
    steps = 10**term.decimals
    return [k / 2 / steps for k in range(2 * first, 2 * last + 1)]


def _sums(columns: Sequence[set[int]], unit: int) -> list[int]:
    """Return the scores that one number of units of each column adds up to."""
    found, low = 1, sum(map(min, columns))  # bit i of found: low + i units can be reached
    for totals in columns:
        least = min(totals)
        found = functools.reduce(operator.or_, (found << (total - least) for total in totals))
    size = (found.bit_length() + 7) // 8
    bits = np.unpackbits(np.frombuffer(found.to_bytes(size, "little"), np.uint8), bitorder="little")
    return sorted({(low + units) // unit for units in np.flatnonzero(bits).tolist()})


def _add_large(total: IntArray, parts: list[tuple[NDArray[Any], int]]) -> IntArray:
    """Add units that may leave 64 bits, with Python integers."""
    exact = total.astype(object)
    for codes, factor in parts:
        exact = exact + codes.astype(object) * factor
    for row, units in enumerate(exact):
        if not -INT64 <= units < INT64:
            raise _too_large(row)
    return exact.astype(np.int64)


def _too_large(row: int | None) -> InputError:
    where = "" if row is None else f" of row {row}"
    return InputError(
        f"the score{where} does not fit into 64 bits. Correct the values, or give the card's "
        "per-unit rules an upper and lower end."
    )


# -- a card's columns as steps: what to read, how to combine it, what its terms bring --------------


@dataclass(frozen=True)
class Input:
    """A raw column, as it comes."""

    name: str
    kind: Kind  #: "number", "text", or "any" where it is only asked whether it is missing
    special: tuple[Value, ...] = ()
    fill: Value | None = None
    refuse: bool = False
    text: bool = False  #: whether training held its numbers as text


@dataclass(frozen=True)
class Step:
    """A column that rules speak of: a raw one, or one combined from several."""

    name: str
    kind: Kind
    inputs: tuple[Input, ...]
    combine: str | None  #: "sum", "max" or "min"; None for a raw column
    special: tuple[Value, ...]  #: of a combined column
    fill: Value | None  #: of a combined column
    may_miss: bool
    terms: tuple[tuple[Term, int], ...]  #: with the units of one step of its code
    whole: bool = False  #: whether training had whole numbers only
    levels: tuple[Value, ...] = ()  #: that training had, where that is known


def make_steps(columns: Iterable[ColumnPlan], readings: Mapping[str, Reading]) -> tuple[Step, ...]:
    """Say of each column what is read, and how.

    >>> plan = ColumnPlan("late", "number", False, ())
    >>> total = Reading(feature="late", sources=("a", "b"), combine="sum")
    >>> [one.name for one in make_steps([plan], {"late": total})[0].inputs]
    ['a', 'b']
    """
    return tuple(_step(column, readings) for column in columns)


def _step(column: ColumnPlan, readings: Mapping[str, Reading]) -> Step:
    reading = readings.get(column.name, Reading(feature=column.name))
    if reading.sources:
        own = [readings.get(name, Reading(feature=name)) for name in reading.sources]
        inputs = tuple(_input(source, "number") for source in own)
    else:
        inputs = (_input(reading, column.kind),)
    combined = bool(reading.sources)
    return Step(
        name=column.name,
        kind=column.kind,
        inputs=inputs,
        combine=reading.combine,
        special=reading.special if combined else (),
        fill=reading.fill if combined else None,
        # What is refused is not allowed (and has no fill), whatever rules say.
        may_miss=column.missing_allowed and not reading.refuse,
        terms=column.terms,
        whole=reading.whole,
        levels=reading.levels,
    )


def _input(reading: Reading, kind: Kind) -> Input:
    return Input(reading.feature, kind, reading.special, reading.fill, reading.refuse, reading.text)
