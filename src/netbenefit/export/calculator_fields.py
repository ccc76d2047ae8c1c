"""What a calculator asks for: one field a raw column, of the kind that fits its rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from netbenefit.cards.readings import Reading
from netbenefit.cards.rows import LEVELS, card_rows
from netbenefit.cards.scorecard import Scorecard
from netbenefit.cards.terms import Condition, PerUnit, Term, join_words, value_text
from netbenefit.common.strict_json import Value
from netbenefit.export.logic import Input, Logic, Step, logic_of, unit_ends

__all__ = ["Control", "Field", "Group", "groups_of"]

Control = Literal["check", "choice", "select", "number"]

_MOST_CUTS = 6
_WAYS = {"sum": "sum", "max": "largest", "min": "smallest"}


@dataclass(frozen=True)
class Field:
    """One raw column, and how to ask for it."""

    name: str
    control: Control
    options: tuple[tuple[str, Value], ...] = ()  #: words and value, of a choice or select
    unknown: str | None = None  #: words for "not known", where the card can do without
    unseen: bool = False  #: whether training had no missing value
    whole: bool = False  #: whether training had whole numbers only
    hint: str = ""
    step: str = "any"


@dataclass(frozen=True)
class Group:
    """The fields of one column that rules speak of: several where it is combined."""

    name: str
    note: str  #: how it is combined; empty for a raw column
    fields: tuple[Field, ...]


def groups_of(card: Scorecard) -> tuple[Group, ...]:
    """Return the fields of a card, in the order of the printed card.

    Examples
    --------
    >>> from netbenefit.cards.scorecard import Rule
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> rules = [Rule(Condition("age", ">=", 52), 2), Rule(Condition("sex", "==", "m"), 1)]
    >>> card = Scorecard(rules, [(0, 0.1), (1, 0.6)], Thresholds.of([0.5]))
    >>> [(f.name, f.control, f.hint) for group in groups_of(card) for f in group.fields]
    [('age', 'number', 'points change at 52'), ('sex', 'select', '')]
    """
    logic = logic_of(card)
    readings = card._plan.readings.by_name
    printed = dict.fromkeys(row.feature for row in card_rows(card))
    order = {name: place for place, name in enumerate(printed)}
    steps = sorted(logic.steps, key=lambda step: order.get(step.name, len(order)))
    groups, shown = [], set()
    for step in steps:
        names = [one.name for one in step.inputs if one.name not in shown]
        shown |= set(names)
        fields = tuple(_field(name, logic, readings) for name in dict.fromkeys(names))
        if fields:
            groups.append(Group(step.name, _note(step), fields))
    return tuple(groups)


def _note(step: Step) -> str:
    if step.combine is None:
        return ""
    changes = _changes([term for term, _ in step.terms])
    sources = ", ".join(one.name for one in step.inputs)
    return "; ".join(filter(None, [f"the {_WAYS[step.combine]} of {sources}", changes]))


def _field(name: str, logic: Logic, readings: dict[str, Reading]) -> Field:
    """Ask for one raw column, for all the steps that come to it."""
    uses = [step for step in logic.steps if any(one.name == name for one in step.inputs)]
    one = next(one for one in logic.inputs if one.name == name)
    reading = readings.get(name, Reading(feature=name))
    own = next((step for step in uses if step.combine is None), None)
    terms = [term for term, _ in own.terms] if own is not None else []
    unknown = _unknown(one, uses)
    control = _control(one, uses, terms, unknown)
    if control == "number":
        return Field(
            name,
            control,
            unknown=unknown,
            unseen=one.fill is not None and not reading.saw_missing,
            whole=reading.whole,
            hint=_hint(one, reading, terms),
            step="1" if reading.whole else "any",
        )
    if control == "select":
        options = _options(one, reading, terms)
    elif one.kind == "any":
        options = (("known", _apart(one.special)),)
    else:
        options = (("yes", 1), ("no", 0))
    unseen = one.fill is not None and not reading.saw_missing
    return Field(name, control, options=options, unknown=unknown, unseen=unseen)


def _control(
    one: Input, uses: Sequence[Step], terms: Sequence[Term], unknown: str | None
) -> Control:
    asked = [term for term in terms if term.kind != "any"]
    if any(step.combine is not None for step in uses):
        return "number"  # what it adds up to depends on the number itself
    if one.kind == "text":
        return "select"
    if one.kind == "any":
        return "choice"
    if any(isinstance(term, PerUnit) and term.binary for term in asked):
        return "check" if unknown is None else "choice"
    if asked and all(isinstance(term, Condition) and term.op in LEVELS for term in asked):
        return "select"
    return "number"


def _unknown(one: Input, uses: Iterable[Step]) -> str | None:
    """Say what "not known" means for a column; None where the card needs its value."""
    if one.refuse:
        return None
    if one.fill is not None:
        return f"not known (counts as {value_text(one.fill)})"
    words = []
    for step in uses:
        if not (step.may_miss or step.fill is not None):
            return None
        if step.fill is not None:
            words.append(f"{step.name} counts as {value_text(step.fill)}")
    return f"not known ({', '.join(words)})" if words else "not known"


# -- levels ----------------------------------------------------------------------------------------


def _options(one: Input, reading: Reading, terms: Sequence[Term]) -> tuple[tuple[str, Value], ...]:
    """List the levels of a column, and "other" where the card can tell what others are worth."""
    named = list(dict.fromkeys(value for term in terms for value in _values(term)))
    if not reading.levels and all(not isinstance(level, str) for level in named):
        named.sort()
    levels = list(dict.fromkeys([*reading.levels, *named]))
    usable = [v for v in levels if v not in one.special and not _is_blank(v)]
    options = [(value_text(level), level) for level in usable]
    for_others = any(isinstance(term, Condition) and term.op in ("!=", "not in") for term in terms)
    if for_others or not reading.levels:
        words = "other" if one.kind == "text" else "another number"
        options.append((words, _apart([*levels, *one.special], text=one.kind == "text")))
    return tuple(options)


def _values(term: Term) -> tuple[Value, ...]:
    return term.values if isinstance(term, Condition) else ()


def _is_blank(value: Value) -> bool:
    return isinstance(value, str) and not value.strip()


def _apart(taken: Iterable[Value], text: bool = False) -> Value:
    """Return a value that is none of some.

    >>> _apart([0.5, 1]), _apart(["other"], text=True)
    (1.5, 'other…')
    """
    values = set(taken)
    if text:
        level = "other"
        while level in values:
            level += "…"
        return level
    number = 0.5
    while number in values:
        number += 1
    return number


# -- words -----------------------------------------------------------------------------------------


def _hint(one: Input, reading: Reading, terms: Sequence[Term]) -> str:
    parts = ["whole number"] if reading.whole else []
    parts += filter(None, [_changes(terms)])
    codes = [value_text(code) for code in one.special if not isinstance(code, str)]
    if codes:
        parts.append(f"{join_words(codes)} means not known")
    return "; ".join(parts)


def _changes(terms: Sequence[Term]) -> str:
    """Say where numbers make a difference."""
    cuts = sorted({v for term in terms for v in _values(term) if not isinstance(v, str)})
    parts = []
    if 0 < len(cuts) <= _MOST_CUTS:
        *first, last = [value_text(cut) for cut in cuts]
        where = f"{', '.join(first)} and {last}" if first else last
        parts.append(f"points change at {where}")
    elif cuts:
        ends = f"{value_text(cuts[0])} and {value_text(cuts[-1])}"
        parts.append(f"points change at {len(cuts)} places between {ends}")
    for term in terms:
        if isinstance(term, PerUnit):
            parts.append(_counted(term))
    return "; ".join(parts)


def _counted(term: PerUnit) -> str:
    """Say how points per unit count a number.

    >>> _counted(PerUnit("utilisation", decimals=1, lower=0, upper=1.5))
    'counted in steps of 0.1, from 0 to 1.5'
    """
    lower, upper = unit_ends(term)
    low, high = (None if v is None else value_text(_short(v)) for v in (lower, upper))
    step = f"{10**-term.decimals:.{term.decimals}f}"
    words = f"counted {'as ln(1 + x) ' if term.log else ''}in steps of {step}"
    name = "x " if term.log else ""
    if low and high:
        return f"{words}, {name}from {low} to {high}"
    if low or high:
        return f"{words}, {name}" + (f"from {low} on" if low else f"up to {high}")
    return words


def _short(number: float) -> float:
    return int(number) if float(number).is_integer() else number
