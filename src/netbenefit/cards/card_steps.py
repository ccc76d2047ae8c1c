"""A card's columns as steps: what to read, how to combine it, what its terms bring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from netbenefit.cards.columns import Kind
from netbenefit.cards.readings import Reading
from netbenefit.cards.scoring import ColumnPlan
from netbenefit.cards.terms import Term, Value

__all__ = ["Input", "Step", "make_steps"]


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
