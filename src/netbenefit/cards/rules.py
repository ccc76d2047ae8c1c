"""What a :class:`netbenefit.cards.scorecard.Scorecard` is made of, and how its rules add up."""

from __future__ import annotations

import functools
import math
import operator
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards.readings import Column, Kind, Reading, Readings, check_present, missing_error
from netbenefit.cards.terms import OTHERS, Condition, PerUnit, Term, log_ends, samples, total_of
from netbenefit.common import InputError, IntArray, RowNumber, Value, relative_gap, shorten
from netbenefit.metrics import Thresholds

#: Scores, and what adds up to them, lie in [−INT64, INT64).
INT64 = 2**63
#: Most points of a rule, either way.
MOST_POINTS = 10**9
#: Fields of a :class:`Provenance` that hold text, and those that hold any finite number.
TEXTS = ("version", "solver", "status", "outcome", "updated", "teacher", "caution")
_ANY_NUMBERS = (
    "objective",
    "bound",
    "net_benefit",
    "teacher_net_benefit",
    "share_kept",
    "share_bound",
)


@dataclass(frozen=True)
class Rule:
    """A term and the points that it brings.

    >>> Rule(Condition("age", ">=", 52), -2).term.text()
    'age ≥ 52'
    """

    term: Term
    points: int

    def __post_init__(self) -> None:
        if not isinstance(self.term, Condition | PerUnit):
            raise InputError(f"a rule needs a Condition or a PerUnit, not {self.term!r}.")
        points = check_integer(self.points, f"points of the rule on {self.term.feature!r}")
        if abs(points) > MOST_POINTS:
            raise InputError(f"{points} points on {self.term.feature!r}: use at most 10**9.")
        object.__setattr__(self, "points", points)


class RiskRow(NamedTuple):
    """One row of the SCORE → RISK table; no ``low`` (``high``) means from below (and above)."""

    low: int | None
    high: int | None
    risk: float


class HeldOutLevel(NamedTuple):
    """Rows with some scores of a card: how many, and how many of them had the event."""

    first: int | None  #: the lowest of these scores; None where they start at the lowest of all
    rows: float
    events: float
    low: float | None  #: 95% interval of the share of events; None without rows
    high: float | None


@dataclass(frozen=True)
class HeldOut:
    """What a card did on rows that it was not learnt from.

    Parameters
    ----------
    net_benefit : float
        Weighted net benefit of the card's decisions there.
    levels : sequence of HeldOutLevel
        Counts of rows and events by score, lowest first; numbers are sums of weights.
    """

    net_benefit: float
    levels: tuple[HeldOutLevel, ...]

    def __post_init__(self) -> None:
        if not is_finite(self.net_benefit):
            raise InputError(f"held_out: net_benefit={self.net_benefit!r} must be a finite number.")
        levels = tuple(HeldOutLevel(*level) for level in self.levels)
        firsts = [check_integer(level.first, "held_out: first") for level in levels[1:]]
        if not levels or levels[0].first is not None or firsts != sorted(set(firsts)):
            raise InputError("held_out: levels must start with first=None, and then rise.")
        for level in levels:
            n, events = level.rows, level.events
            ends: Any = level.low, level.high
            counted = is_finite(n) and is_finite(events) and 0 <= events <= n
            within = all(map(is_finite, ends)) and [0, *ends, 1] == sorted([0, *ends, 1])
            if not counted or not (within if n else ends == (None, None)):
                raise InputError(f"held_out: {level} is no count of rows with its interval.")
        if not any(level.rows for level in levels):
            raise InputError("held_out: no level has any rows.")
        object.__setattr__(self, "net_benefit", float(self.net_benefit))
        object.__setattr__(self, "levels", levels)

    @property
    def n_rows(self) -> float:
        """Mass of the rows."""
        return sum(level.rows for level in self.levels)

    @property
    def n_events(self) -> float:
        """Mass of the rows with the event."""
        return sum(level.events for level in self.levels)

    def level_of(self, score: int | None) -> HeldOutLevel:
        """Return the level that holds a score; None is the lowest of all."""
        firsts = [level.first for level in self.levels if level.first is not None]
        return self.levels[0 if score is None else bisect_right(firsts, score)]

    def moved(self, by: int) -> HeldOut:
        """Return the same counts for scores that have all moved by as many points."""
        firsts = [one.first if one.first is None else one.first + by for one in self.levels]
        levels = zip(self.levels, firsts, strict=True)
        return replace(self, levels=tuple(one._replace(first=first) for one, first in levels))


@dataclass(frozen=True)
class Decision:
    """One change of a card after it was learnt: part of its audit trail.

    Parameters
    ----------
    when : str
        Date and time, such as "2026-01-31T12:00:00Z".
    by : {"person", "solver"}
        Who decided it.
    what : str
        What was changed, in words.
    net_benefit, held_out : float
        Net benefit of the card after it: on its training rows, and on held-out rows that were in
        view (None without any).
    """

    when: str
    by: str
    what: str
    net_benefit: float
    held_out: float | None = None

    def __post_init__(self) -> None:
        for name in ("when", "what"):
            text = getattr(self, name)
            if not (isinstance(text, str) and text.strip()):
                raise InputError(f"decisions: {name}={text!r} must be text that is not blank.")
        if self.by not in ("person", "solver"):
            raise InputError(f'decisions: by={self.by!r} must be "person" or "solver".')
        for name in ("net_benefit", "held_out"):
            number = getattr(self, name)
            if not is_finite(number) and not (name == "held_out" and number is None):
                raise InputError(f"decisions: {name}={number!r} must be a finite number.")


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where a card comes from; what is not known is None.

    Parameters
    ----------
    version : str
        Version of the package that made the card.
    n_rows, n_events, n_patterns, prevalence : int or float
        Mass of the training rows and of those with the event (floats where rows were weighted),
        number of distinct rows, share of events.
    objective, bound, prior_strength : float
        What the card reaches of what was maximised, the most that any card could reach, and the
        rows of belief in the teacher (0: the published objective; may be infinite).
    penalty, rule_penalty : float
        Price of a question, and of each further rule on it; the second is None where each rule
        costs the first.
    net_benefit : float
        Weighted net benefit of the card's own cut-offs on its training rows.
    teacher : str
        What taught the card, such as "a stack of logistic regression and boosting".
    teacher_net_benefit : float
        The teacher's own net benefit: out-of-fold, on outcomes.
    share_kept, share_bound : float
        The share of the teacher's net benefit that the card keeps, and the most that any card with
        as few questions and rules can keep.
    solver, status, seconds, random_state : str, str, float, int
        What searched, how it ended, how long it took, and its seed.
    outcome : str
        What the risk is the risk of, such as "Malignant = 1".
    updated : str
        What was changed later and on which rows, such as "risks on 512 rows (96 with the event)".
        All else still describes where the points come from.
    caution : str
        Reasons to doubt the card, such as "small table: 2.5 rows of the rarer outcome per rule".
    """

    version: str
    n_rows: int | float | None = None
    n_events: int | float | None = None
    n_patterns: int | None = None
    prevalence: float | None = None
    objective: float | None = None
    bound: float | None = None
    penalty: float | None = None
    prior_strength: float | None = None
    net_benefit: float | None = None
    solver: str | None = None
    status: str | None = None
    seconds: float | None = None
    random_state: int | None = None
    outcome: str | None = None
    updated: str | None = None
    teacher: str | None = None
    teacher_net_benefit: float | None = None
    share_kept: float | None = None
    share_bound: float | None = None
    rule_penalty: float | None = None
    caution: str | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.name != "version":
                continue
            value = value.item() if isinstance(value, np.generic) else value
            from_0 = is_finite(value) and value >= 0
            if field.name in TEXTS:
                usable, expected = isinstance(value, str), "text"
            elif field.name in ("n_patterns", "random_state"):
                usable, expected = type(value) is int and 0 <= value < INT64, "an integer from 0"
            elif field.name in _ANY_NUMBERS:
                usable, expected = is_finite(value), "a finite number"
            elif field.name == "prevalence":
                usable, expected = from_0 and value <= 1, "a number from 0 to 1"
            elif field.name == "prior_strength":
                usable, expected = value == math.inf or from_0, "a number from 0"
            else:
                usable, expected = from_0, "a finite number from 0"
            if not usable:
                raise InputError(f"provenance: {field.name}={value!r} must be {expected}.")
            object.__setattr__(self, field.name, value)

    @property
    def gap(self) -> float | None:
        """Bound minus objective, as a share of the objective's size; None where one is unknown."""
        if self.objective is None or self.bound is None:
            return None
        # A bound below the objective is one that rounding has moved: nothing can be better.
        return relative_gap(self.objective, max(self.bound, self.objective))


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number (and no boolean)."""
    number = isinstance(value, int | float | np.integer | np.floating)
    return number and not isinstance(value, bool) and abs(value) < math.inf


def check_integer(value: Any, what: str) -> int:
    """Return an integer of at most 64 bits; ``what`` names it in the error."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"{what} must be an integer, not {value!r}.")
    if not -INT64 <= value < INT64:
        raise InputError(f"{what} = {value} does not fit into 64 bits.")
    return int(value)


def check_range(score_range: Any) -> tuple[int, int]:
    """Return the lowest and the highest score."""
    if not isinstance(score_range, tuple | list) or len(score_range) != 2:
        raise InputError(f"score_range={score_range!r} must be (lowest, highest), or None.")
    low, high = (check_integer(s, f"score_range[{i}]") for i, s in enumerate(score_range))
    if low > high:
        raise InputError(f"score_range=({low}, {high}) must not decrease.")
    return low, high


# -- risks of scores -------------------------------------------------------------------------------


def check_steps(
    risks: Any, score_range: tuple[int, int] | None = None
) -> tuple[tuple[int, float], ...]:
    """Return pairs (score, risk): scores increase, within the range; risks do not decrease."""
    steps: list[tuple[int, float]] = []
    for i, step in enumerate(risks):
        if not isinstance(step, tuple | list) or len(step) != 2:
            raise InputError(f"risks[{i}] = {step!r} must be a pair (score, risk).")
        score = check_integer(step[0], f"the score of risks[{i}]")
        risk = step[1].item() if isinstance(step[1], np.generic) else step[1]
        if not (is_finite(risk) and 0 <= risk <= 1):
            raise InputError(f"the risk {risk!r} of score {score} must be a number from 0 to 1.")
        if steps and score <= steps[-1][0]:
            raise InputError(
                f"the scores of risks must increase, but risks[{i}] has {score} after "
                f"{steps[-1][0]}."
            )
        if steps and risk < steps[-1][1]:
            raise InputError(
                f"risks must not decrease, but score {score} has {risk!r} after {steps[-1][1]!r}."
            )
        if score_range is not None and not score_range[0] <= score <= score_range[1]:
            raise InputError(
                f"risks[{i}] starts at score {score}, beyond score_range={score_range}. Leave it "
                "out, or widen score_range."
            )
        steps.append((score, float(risk)))
    if not steps:
        raise InputError("risks is empty. Pass at least one pair (score, risk).")
    return tuple(steps)


def steps_of_levels(
    cutoffs: Sequence[int],
    risks: Sequence[float | None],
    thresholds: Thresholds,
    score_range: tuple[int, int] | None = None,
) -> tuple[tuple[int, float], ...]:
    """Turn cut-offs T_1 ≤ … ≤ T_M and one risk per level into pairs (score, risk).

    With thresholds 0 = p_0 < p_1 < … < p_M, a row with score s is on level i when s reaches
    exactly the first i cut-offs; its risk q_i lies in [p_i, p_{i+1}).  A level that no score
    (within ``score_range``) is on has no risk, that is None, and no pair.
    """
    starts = [-math.inf, *_check_cutoffs(cutoffs, thresholds), math.inf]
    checked = _check_level_risks(risks, thresholds)
    low, high = (-math.inf, math.inf) if score_range is None else check_range(score_range)
    steps = []
    for level, ((start, end), risk) in enumerate(zip(pairwise(starts), checked, strict=True)):
        if not (start < end and start <= high and low < end):
            continue
        first = max(start, low)  # where nothing says how low scores go: just below the next level
        score = int(first) if first > -math.inf else int(end) - 1 if end < math.inf else 0
        if risk is None:
            raise InputError(
                f"risks[{level}] is None, but a score such as {score} is on level {level}. "
                "Give the level a risk, or narrow score_range."
            )
        if score >= -INT64:  # nothing is lower than the lowest cut-off that there is
            steps.append((score, risk))
    return tuple(steps)


def _check_cutoffs(cutoffs: Sequence[int], thresholds: Thresholds) -> list[int]:
    known = [check_integer(t, f"cutoffs[{i}]") for i, t in enumerate(cutoffs)]
    if len(known) != len(thresholds) - 1:
        raise InputError(
            f"{len(known)} cutoffs for {len(thresholds) - 1} thresholds above 0. "
            "Pass one cut-off for each."
        )
    for i, (before, after) in enumerate(pairwise(known), start=1):
        if after < before:
            raise InputError(
                f"cutoffs must not decrease, but cutoffs[{i}] = {after} follows {before}."
            )
    return known


def _check_level_risks(risks: Sequence[float | None], thresholds: Thresholds) -> list[float | None]:
    p = (*thresholds.values, 1.0)
    if len(risks) != len(p) - 1:
        raise InputError(
            f"{len(risks)} risks for {len(p) - 1} levels. Pass one risk (or None) per level."
        )
    checked: list[float | None] = []
    for i, risk in enumerate(risks):
        risk = risk.item() if isinstance(risk, np.generic) else risk
        last = i == len(p) - 2
        if risk is not None and not (
            is_finite(risk) and p[i] <= risk and (risk < p[i + 1] or (last and risk == 1))
        ):
            interval = f"[{p[i]:g}, {p[i + 1]:g}{']' if last else ')'}"
            raise InputError(f"risks[{i}] = {risk!r} must lie in {interval}, or be None.")
        checked.append(None if risk is None else float(risk))
    return checked


# -- how the rules of a card add up: integer units, column by column, for one row or for many ------
# One unit is 10^-D of a point, with D the most decimals of any rule, so that no float takes part.
# The same steps in every language, for each :class:`ColumnLogic` of a card's :class:`CardLogic`:
# 1. Read the raw inputs.  An input is missing where it is null, not a number, blank text, or one of
# its special codes.  With ``refuse`` the row then has no score; otherwise a missing input counts
# as its ``fill``, and without one it stays missing.
# 2. A column with several inputs combines them (sum, largest, smallest), from left to right; it is
# missing where one of them is.  Its own special codes and fill follow, as for an input.
# 3. If the column is still missing, the row has no score, unless ``may_miss``, where its terms
# count 0, except for "missing", which counts 1.
# 4. Each term turns the value into a whole code: 1 or 0 for a condition; for points per unit
# ``floor(clip(x) * 10**decimals + 0.5)`` in double precision, or, with ``log``, the number of
# :func:`netbenefit.cards.terms.log_ends` that x reaches.  A term brings factor · code units.
# 5. A column adds its ``base``, whatever the value.
# The score is ``floor(units / unit)``, in whole numbers.  The risk is that of the last row of the
# card's table of risks whose lowest score it reaches.  A row without a score has no risk: where
# Python raises an error, exports return nothing.


#: Scores are listed where at most so many units lie between the fewest and the most.
_MOST_UNITS = 100_000
#: The most steps of points per unit that are tried one by one, on a column with several terms.
_MOST_STEPS = 2_000


def check_rules(rules: Any) -> tuple[Rule, ...]:
    """Return rules that fit on one card: no term twice, one kind of value per column."""
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
    """Return the readings of a card: one per column, of columns that its rules use."""
    by_name: dict[str, Reading] = {}
    for i, reading in enumerate(readings):
        if not isinstance(reading, Reading):
            raise InputError(f"readings[{i}] = {reading!r} is not a Reading.")
        if reading.feature in by_name:
            raise InputError(f"readings[{i}] repeats the reading of {reading.feature!r}.")
        by_name[reading.feature] = reading
    used = {rule.term.feature for rule in rules}
    for reading in by_name.values():
        for source in reading.sources:
            if source in by_name and by_name[source].sources:
                raise InputError(
                    f"column {reading.feature!r} is derived from {source!r}, itself derived. Name "
                    "raw columns."
                )
    used |= {source for name in used & set(by_name) for source in by_name[name].sources}
    unused = [name for name in by_name if name not in used]
    if unused:
        raise InputError(f"readings of columns that no rule uses: {shorten(unused)}.")
    kinds = {rule.term.feature: rule.term.kind for rule in rules if rule.term.kind != "any"}
    for reading in by_name.values():
        if reading.sources:
            kinds |= dict.fromkeys([reading.feature, *reading.sources], "number")
    for name, reading in by_name.items():
        values = [*reading.levels, *(() if reading.fill is None else (reading.fill,))]
        odd = [v for v in values if isinstance(v, str) != (kinds.get(name) == "text")]
        if odd and name in kinds:
            raise InputError(
                f"the reading of {name!r} has {odd[0]!r}, but its rules expect {kinds[name]}."
            )
    return tuple(by_name.values())


def check_base(base: Any, rules: Sequence[Rule]) -> tuple[tuple[str, int], ...]:
    """Return the points that columns start from: of columns with rules, none twice, none 0."""
    if isinstance(base, Mapping):
        base = tuple(base.items())
    if not isinstance(base, tuple | list):
        raise InputError(f"base={base!r} must be a list of pairs (column, points).")
    by_name: dict[str, int] = {}
    used = {rule.term.feature for rule in rules}
    for i, pair in enumerate(base):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"base[{i}] = {pair!r} must be a pair (column, points).")
        name, points = pair
        if not isinstance(name, str) or name not in used:
            raise InputError(f"base[{i}] is of column {name!r}, which no rule uses. Leave it out.")
        if name in by_name:
            raise InputError(f"base[{i}] repeats the base of {name!r}. Add up their points.")
        by_name[name] = check_integer(points, f"the base of {name!r}")
        if abs(by_name[name]) > MOST_POINTS * len(rules):
            raise InputError(f"base {points} of {name!r} is more than all rules can bring.")
    counted = [rule.term.feature for rule in rules if rule.points and _is_counted(rule.term)]
    odd = [name for name, points in by_name.items() if points and name in counted]
    if odd:
        raise InputError(
            f"column {odd[0]!r} has points per unit, which count from 0: it takes no base."
        )
    return tuple((name, points) for name, points in by_name.items() if points)


def _is_counted(term: Term) -> bool:
    """Whether points are per unit, and not those of no and yes."""
    return isinstance(term, PerUnit) and not term.binary


@dataclass(frozen=True)
class InputColumn:
    """A raw column."""

    name: str
    kind: Kind  #: "number", "text", or "any" where only being missing matters
    special: tuple[Value, ...] = ()
    fill: Value | None = None
    refuse: bool = False
    text: bool = False  #: whether training held its numbers as text
    saw_missing: bool = False  #: whether training had missing values
    whole: bool = False  #: whether training had whole numbers only
    levels: tuple[Value, ...] = ()  #: that training had, where that is known
    has_reading: bool = False  #: with a reading, a number is the level that it is written as

    @classmethod
    def of(cls, name: str, kind: Kind, readings: Mapping[str, Reading]) -> InputColumn:
        """Describe a raw column; its reading has the fields of the same names."""
        own = readings.get(name, Reading(feature=name))
        shared = {
            field.name: getattr(own, field.name)
            for field in fields(cls)
            if hasattr(own, field.name)
        }
        return cls(name, kind, **shared, has_reading=name in readings)

    @property
    def number_codes(self) -> list[float]:
        """The special codes that are numbers."""
        return _numbers_of(self.special)

    @property
    def text_codes(self) -> list[str]:
        """The special codes that are text."""
        return [code for code in self.special if isinstance(code, str)]


def _numbers_of(codes: Iterable[Value]) -> list[float]:
    return [code for code in codes if not isinstance(code, str)]


@dataclass(frozen=True)
class ColumnLogic:
    """A column that rules use: a raw one, or one combined from several."""

    name: str
    kind: Kind
    inputs: tuple[InputColumn, ...]
    combine: str | None  #: "sum", "max" or "min"; None for a raw column
    special: tuple[Value, ...]  #: of a combined column
    fill: Value | None  #: of a combined column
    may_miss: bool
    terms: tuple[tuple[Term, int], ...]  #: with the units of one step; terms worth 0 left out
    whole: bool = False  #: whether training had whole numbers only
    levels: tuple[Value, ...] = ()  #: that training had, where that is known
    base: int = 0  #: units that every value brings

    @classmethod
    def of(
        cls,
        name: str,
        kind: Kind,
        may_miss: bool,
        terms: Iterable[tuple[Term, int]],
        readings: Mapping[str, Reading],
        base: int = 0,
    ) -> ColumnLogic:
        """Describe a column with these terms."""
        reading = readings.get(name, Reading(feature=name))
        combined = bool(reading.sources)
        return cls(
            name=name,
            kind=kind,
            inputs=tuple(InputColumn.of(source, "number", readings) for source in reading.sources)
            or (InputColumn.of(name, kind, readings),),
            combine=reading.combine,
            special=reading.special if combined else (),
            fill=reading.fill if combined else None,
            # What is refused is never allowed (and has no fill), even where a rule is for it.
            may_miss=may_miss and not reading.refuse,
            terms=tuple(terms),
            whole=reading.whole,
            levels=reading.levels,
            base=base,
        )

    @property
    def last(self) -> ColumnLogic | InputColumn:
        """Whose special codes and fill come last: the combined column, or the raw one."""
        return self.inputs[0] if self.combine is None else self

    @property
    def present_terms(self) -> list[tuple[Term, int]]:
        """The terms of a value that is not missing."""
        return [pair for pair in self.terms if pair[0].kind != "any"]

    @property
    def is_counted(self) -> bool:
        """Whether some points are per unit, and not those of no and yes."""
        return any(_is_counted(term) for term, _ in self.terms)

    @property
    def is_binary(self) -> bool:
        """Whether its values are 0 and 1, no and yes."""
        return not self.is_counted and any(isinstance(term, PerUnit) for term, _ in self.terms)

    def never_sees(self, value: Value) -> bool:
        """Whether the terms never see a value: it is a special code, or blank text."""
        special = self.last.special
        bare = value.strip() if isinstance(value, str) else value
        return value != self.last.fill and (bare == "" or bare in special or value in special)

    def units_of(self, value: Value | None) -> int:
        """Return the units that one value brings, as the terms see it (None: missing)."""
        return self.base + total_of(self.terms, value)

    @property
    def missing_units(self) -> int:
        """The units that a missing value brings, apart from the base."""
        return sum(factor for term, factor in self.terms if term.kind == "any")

    @property
    def number_codes(self) -> list[float]:
        """The special codes that are numbers."""
        return _numbers_of(self.special)


@dataclass(frozen=True)
class CardLogic:
    """All that scoring, printing and every export need to know about a card's columns."""

    columns: tuple[ColumnLogic, ...]
    unit: int  #: units in one point, 10**D
    readings: Readings

    @classmethod
    def of(
        cls,
        rules: Sequence[Rule],
        readings: Sequence[Reading] = (),
        base: Sequence[tuple[str, int]] = (),
    ) -> CardLogic:
        """Describe a card with these rules."""
        bases = dict(base)
        decimals = max((rule.term.decimals for rule in rules), default=0)
        by_column: dict[str, list[Rule]] = {}
        for rule in rules:
            by_column.setdefault(rule.term.feature, []).append(rule)
        known = Readings(readings, columns_with_others(rule.term for rule in rules))
        columns = []
        for name, own in by_column.items():
            kinds = [rule.term.kind for rule in own]
            kind: Kind = next((kind for kind in kinds if kind != "any"), "any")
            terms = [
                (rule.term, rule.points * 10 ** (decimals - rule.term.decimals))
                for rule in own
                if rule.points
            ]
            start = bases.get(name, 0) * 10**decimals
            columns.append(ColumnLogic.of(name, kind, "any" in kinds, terms, known.by_name, start))
        return cls(tuple(columns), int(10**decimals), known)

    @property
    def base(self) -> int:
        """Units that every row gets."""
        return sum(column.base for column in self.columns)

    @cached_property
    def bounded_units(self) -> int:
        """The most units, either way, of the base and of the rules whose codes have an end."""
        bases = sum(abs(column.base) for column in self.columns)
        pairs = [pair for column in self.columns for pair in column.terms]
        return bases + sum(abs(factor) * (term.most_code or 0) for term, factor in pairs)

    @cached_property
    def open_factors(self) -> tuple[int, ...]:
        """Units of one step of each rule whose codes have no end."""
        pairs = [pair for column in self.columns for pair in column.terms]
        return tuple(abs(factor) for term, factor in pairs if term.most_code is None)

    @cached_property
    def reads(self) -> tuple[InputColumn, ...]:
        """Raw columns, each in every way that it is read: as a number, for being missing only."""
        return tuple(dict.fromkeys(one for column in self.columns for one in column.inputs))

    @cached_property
    def inputs(self) -> tuple[InputColumn, ...]:
        """All raw columns, in the order in which rules use them."""
        found: dict[str, InputColumn] = {}
        for one in self.reads:  # where only being missing matters, any kind will do
            if found.setdefault(one.name, one).kind == "any":
                found[one.name] = one
        return tuple(found.values())

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of raw columns, in the order in which rules use them."""
        return tuple(one.name for one in self.inputs)

    def uses(self, name: str) -> list[ColumnLogic]:
        """Return the columns that a raw column is part of."""
        return [c for c in self.columns if any(one.name == name for one in c.inputs)]

    def own_column(self, name: str) -> ColumnLogic | None:
        """Return the column that a raw column is by itself, not combined with others."""
        return next((column for column in self.uses(name) if column.combine is None), None)

    def read(self, data: Mapping[str, Any], n_rows: int) -> Iterator[tuple[ColumnLogic, Column]]:
        """Read raw columns by name; refuse missing values that no term is for."""
        for logic in self.columns:
            column = self.readings.column(logic.name, data, logic.kind)
            if len(column.values) != n_rows:
                raise InputError(
                    f"column {logic.name!r} has {len(column.values)} rows, but "
                    f"{self.columns[0].name!r} has {n_rows}. Pass columns of equal length."
                )
            if column.missing is not None and not logic.may_miss:
                raise missing_error(logic.name, column.missing)
            yield logic, column

    def values_of_row(self, row: Mapping[str, Any]) -> list[Value | None]:
        """Return the value of each column for one row of plain values, as its terms see it."""
        if not all(name in row for name in self.features):
            row = {str(name): value for name, value in row.items()}
            check_present(self.features, list(row))
        values: list[Value | None] = []
        for column in self.columns:
            values.append(self.readings.value(column.name, row, column.kind))
            if values[-1] is None and not column.may_miss:
                raise missing_error(column.name)
        return values

    def units_of_row(self, row: Mapping[str, Any]) -> int:
        """Return the sum of units of one row of plain values."""
        values = self.values_of_row(row)
        total = sum(map(ColumnLogic.units_of, self.columns, values))
        if not -INT64 <= total < INT64:
            raise _too_large(None)
        return total

    def units_of_rows(self, data: Mapping[str, Any], n_rows: int) -> IntArray:
        """Return the sum of units of each row, from raw columns by name."""
        total = np.zeros(n_rows, dtype=np.int64)
        bound = 0  # of the units so far, as a Python int: it cannot overflow
        parts: list[tuple[NDArray[Any], int]] = []
        if self.base:
            bound = abs(self.base)
            if bound >= INT64:
                parts.append((np.ones(n_rows, dtype=np.int64), self.base))
            else:
                total += np.int64(self.base)
        for logic, column in self.read(data, n_rows):
            for term, factor in logic.terms:
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
        for part in (part for column in self.columns for part in _parts(column)):
            totals = _totals(part)
            if totals is None:
                return None
            low, high = low + min(totals), high + max(totals)
        return low, high

    def scores(self) -> Sequence[int] | None:
        """Return all scores that answers can produce, ascending, or None where there is no end.

        Every answer to one column may go with every answer to another.  Where there are too many
        to list, all whole numbers between the lowest and the highest score are returned.
        """
        limits = self.limits()
        if limits is None:
            return None
        if limits[1] - limits[0] <= _MOST_UNITS:
            columns = [_totals(column, every=True) for column in self.columns]
            known = [totals for totals in columns if totals is not None]
            if len(known) == len(columns):
                return _sums(known, self.unit)
        low, high = (end // self.unit for end in limits)
        return range(low, high + 1) if high - low < INT64 - 1 else None


def _parts(column: ColumnLogic) -> list[ColumnLogic]:
    """Split a column with several terms per unit: their roundings may work against each other."""
    units = [term for term, _ in column.terms if isinstance(term, PerUnit) and not term.binary]
    if len(units) < 2:
        return [column]
    return [replace(column, terms=(pair,)) for pair in column.terms]


def _totals(column: ColumnLogic, every: bool = False) -> set[int] | None:
    """Return units that one column can bring, the fewest and the most among them, or None.

    With ``every``, all of them; None then also means too many.  Codes only change at the
    numbers that terms name and at the ends of steps, so these and their neighbours are tried.
    """
    terms, read, base = column.terms, column.last, column.base
    missing = column.may_miss and read.fill is None
    values: list[Any] = []
    for term, factor in terms:
        if isinstance(term, Condition):
            values += term.values
        elif not term.binary:
            if term.lower is None or term.upper is None:
                return None
            values += [term.lower, term.upper]
            first, last = (term.value_code(end) for end in (term.lower, term.upper))
            if every and len(terms) == 1:
                codes = {0, *range(first, last + 1)} if missing else range(first, last + 1)
                return {base + factor * code for code in codes}
            if every and last - first > _MOST_STEPS:
                return None
            if every:
                values += _within(term, first, last)
    if any(isinstance(term, PerUnit) and term.binary for term, _ in terms):
        values = [0.0, 1.0]
    else:
        values = samples(values, column.kind)
    answers = [value for value in values if not column.never_sees(value)] or values
    return {column.units_of(value) for value in [*answers, *([None] if missing else [])]}


def starting_points(
    rules: Sequence[Rule], readings: Sequence[Reading] = ()
) -> tuple[tuple[str, int], ...]:
    """Return the points that columns have to start from, so that the least answer is worth 0.

    Points per unit count from 0 anyway: their columns are left as they are.

    >>> rules = [Rule(Condition("age", ">=", 40), -2), Rule(Condition("sex", "==", "male"), 1)]
    >>> starting_points(rules)
    (('age', 2),)
    """
    logic = CardLogic.of(rules, readings)
    found = []
    for column in logic.columns:
        totals = None if column.is_counted else _totals(column)
        least = 0 if totals is None else min(totals)
        if least % logic.unit == 0 and least:
            found.append((column.name, -least // logic.unit))
    return tuple(found)


def columns_with_others(terms: Iterable[Term]) -> set[str]:
    """Return the columns with a term for all levels that it does not name."""
    return {term.feature for term in terms if isinstance(term, Condition) and term.op in OTHERS}


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
    where = () if row is None else (" of ", RowNumber(row))
    return InputError(
        "the score",
        *where,
        " does not fit into 64 bits. Correct the values, or give the card's per-unit rules an "
        "upper and lower end.",
    )
