"""How one column of the design matrix arises from one raw column.

A :class:`Condition` is true or false of a raw value (1 or 0); a :class:`PerUnit` counts the raw
value itself in whole steps.  Both turn a value into an integer *code*: a card adds integers, never
floats.
"""

from __future__ import annotations

import math
import operator
import sys
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards.readings import (
    Column,
    Kind,
    _plain_text,
    as_column,
    check_flags,
    check_value,
    join_words,
    missing_error,
    value_text,
    where,
)
from netbenefit.common import (
    LARGEST_EXACT,
    InputError,
    InputWarning,
    IntArray,
    Value,
    to_step,
    to_steps,
)

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
_SIGNS = {">=": "≥", ">": ">", "<=": "≤", "<": "<", "==": "=", "!=": "≠"}
_OPS = (*_COMPARE, "between", "in", "not in", "missing")
#: Most decimals of a logarithm: the ends of its steps are listed, some 700 for each unit of 10^-d.
_MOST_LOG_DECIMALS = 2


@dataclass(frozen=True)
class Condition:
    """A yes-or-no question about one raw column; yes counts 1.

    Parameters
    ----------
    feature : str
        Name of the raw column.
    op : {">=", ">", "<=", "<", "==", "!=", "between", "in", "not in", "missing"}
        ``"between"`` means ``lo <= x < hi``.
    value : number, text, tuple, or None
        What to compare with: ``(lo, hi)`` for ``"between"``, a tuple for ``"in"`` and ``"not in"``,
        nothing for ``"missing"``.  Text goes with ``"=="``, ``"!="``, ``"in"`` and ``"not in"``.

    Examples
    --------
    >>> Condition("age", ">=", 52).holds([51, 52.5, None])
    array([False,  True, False])
    >>> Condition("age", "between", (40, 60)).text()
    '40 ≤ age < 60'
    """

    feature: str
    op: str
    value: Value | tuple[Value, ...] | None = None

    decimals: ClassVar[int] = 0
    most_code: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "feature", _name(self.feature))
        if self.op not in _OPS:
            raise InputError(
                f"op {self.op!r} of the condition on {self.feature!r} is not known. Use one of "
                f"{', '.join(_OPS)}."
            )
        object.__setattr__(self, "value", self._checked_value())

    def _checked_value(self) -> Value | tuple[Value, ...] | None:
        what, value = f"the {self.op!r} condition on {self.feature!r}", self.value
        if self.op == "missing":
            if value is not None:
                raise InputError(f"{what} takes no value, but has {value!r}. Leave it out.")
            return None
        if self.op in ("between", "in", "not in"):
            if not isinstance(value, tuple | list):
                raise InputError(f"{what} needs a tuple of values, not {value!r}.")
            values = tuple(check_value(item, what) for item in value)
            if self.op == "between":
                numbers = [item for item in values if not isinstance(item, str)]
                if not (len(values) == len(numbers) == 2 and numbers[0] < numbers[1]):
                    raise InputError(f"{what} needs two numbers lo < hi, not {value!r}.")
            elif not values or len(set(values)) < len(values):
                raise InputError(f"{what} needs different values, at least one, not {value!r}.")
            elif len({isinstance(item, str) for item in values}) > 1:
                raise InputError(f"{what} mixes numbers and text: {value!r}. Use one kind.")
            return values
        single = check_value(value, what)
        if isinstance(single, str) and self.op not in ("==", "!="):
            raise InputError(f'{what} needs a number, not {value!r}. Text goes with "==" or "in".')
        return single

    @property
    def kind(self) -> Kind:
        """What the column must hold: ``"number"``, ``"text"``, or ``"any"`` of the two."""
        if self.op == "missing":
            return "any"
        return "text" if isinstance(self.values[0], str) else "number"

    @property
    def values(self) -> tuple[Value, ...]:
        """All values that it names, one or several; none for ``"missing"``."""
        if isinstance(self.value, tuple):
            return self.value
        return () if self.value is None else (self.value,)

    def holds(self, column: Any) -> NDArray[np.bool_]:
        """Return for each value of a raw column whether the condition holds.

        A missing value satisfies only ``"missing"``.
        """
        return self.column_codes(as_column(self.feature, column, self.kind))

    def column_codes(self, column: Column) -> NDArray[np.bool_]:
        """Return :meth:`holds` for a column that was read before."""
        values, missing = column.values, column.missing
        if self.op == "missing":
            return np.zeros(len(values), dtype=np.bool_) if missing is None else missing
        held = np.asarray(self._test(values), dtype=np.bool_)
        return held if missing is None else held & ~missing

    def _test(self, values: Any) -> Any:
        """Test an array, or one value; missing values of an array give no error."""
        if not isinstance(self.value, tuple):
            return _COMPARE[self.op](values, self.value)
        if self.op == "between":
            return (values >= self.value[0]) & (values < self.value[1])
        return _among(values, self.value) ^ (self.op == "not in")

    def value_code(self, value: float | str | None) -> int:
        """Return 1 where the condition holds for one value (None: missing), else 0."""
        if value is None or self.op == "missing":
            return int(value is None and self.op == "missing")
        return int(self._test(value))

    def text(self) -> str:
        """Return the condition in words, such as "sex is male" or "stage is 1, 2 or 3"."""
        if self.op == "missing":
            return f"{self.feature} missing"
        if isinstance(self.value, tuple):
            words = [value_text(item) for item in self.value]
            if self.op == "between":
                return f"{words[0]} ≤ {self.feature} < {words[1]}"
            verb = "is" if self.op == "in" else "other than"
            return f"{self.feature} {verb} {join_words(words)}"
        if isinstance(self.value, str):
            verb = "is" if self.op == "==" else "is not"
            return f"{self.feature} {verb} {value_text(self.value)}"
        return f"{self.feature} {_SIGNS[self.op]} {value_text(cast(float, self.value))}"


@dataclass(frozen=True)
class PerUnit:
    """Points per unit of a raw number, which counts in whole steps of ``10**-decimals``.

    The raw value is clipped to [lower, upper] where these are given; its code is then
    ``floor(x * 10**decimals + 0.5)``, in float64, here as in every export (see
    :func:`netbenefit.common.numbers.to_steps`).

    Parameters
    ----------
    feature : str
        Name of the raw column: numbers or booleans.
    decimals : int, default=0
        0 to 9.
    lower, upper : float, optional
        Where to clip.
    binary : bool, default=False
        Whether all training values were 0 or 1: the printed card shows the name alone, and scoring
        another value warns.
    log : bool, default=False
        Count steps of ln(1 + x) instead of x, after clipping; a negative x counts as 0.  A value's
        code is the number of steps whose lower end e^((k − ½) / 10^decimals) − 1 it reaches.

    Examples
    --------
    >>> PerUnit("utilisation", decimals=1, upper=1.5).codes([0.04, 0.05, 0.7, 9.9])
    array([ 0,  1,  7, 15])
    """

    feature: str
    decimals: int = 0
    lower: float | None = None
    upper: float | None = None
    binary: bool = False
    log: bool = False

    kind: ClassVar[Kind] = "number"

    def __post_init__(self) -> None:
        object.__setattr__(self, "feature", _name(self.feature))
        what = f"the per-unit rule on {self.feature!r}"
        check_flags(self, ("binary", "log"), what)
        decimals, whole = self.decimals, isinstance(self.decimals, int | np.integer)
        if isinstance(decimals, bool) or not (whole and 0 <= decimals <= 9):
            raise InputError(f"decimals={decimals!r} of {what} must be an integer from 0 to 9.")
        object.__setattr__(self, "decimals", int(decimals))
        if self.log and (self.binary or self.decimals > _MOST_LOG_DECIMALS):
            raise InputError(
                f"{what} counts logarithms: binary must be False, and decimals at most "
                f"{_MOST_LOG_DECIMALS}."
            )
        for side in ("lower", "upper"):
            bound = getattr(self, side)
            if bound is None:
                continue
            number = check_value(bound, f"{side} of {what}")
            if isinstance(number, str) or abs(number) * self._steps > LARGEST_EXACT:
                raise InputError(f"{side}={bound!r} of {what} must be a number of usable size.")
            object.__setattr__(self, side, number)
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise InputError(f"lower={self.lower!r} of {what} must be below upper={self.upper!r}.")

    @property
    def _steps(self) -> float:
        return float(10**self.decimals)

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Where values are clipped; a logarithm starts at 0."""
        return max(0.0, self.lower or 0.0) if self.log else self.lower, self.upper

    @property
    def most_code(self) -> int | None:
        """The largest code, either way; None where it has no end."""
        if self.log:
            first, ends = self.log_steps()
            return first + len(ends)
        if self.lower is None or self.upper is None:
            return None
        return max(abs(to_step(end, self.decimals)) for end in (self.lower, self.upper))

    def log_steps(self) -> tuple[int, list[float]]:
        """Return the code of the lowest clipped value, and where the steps above it begin."""
        ends: list[float] = log_ends(self.decimals).tolist()
        last = len(ends) if self.upper is None else bisect_right(ends, self.upper)
        first = 0 if self.lower is None else bisect_right(ends, self.lower, 0, last)
        return first, ends[first:last]

    def codes(self, column: Any) -> IntArray:
        """Return the number of steps in each value; missing and infinite values are refused."""
        read = as_column(self.feature, column, "number")
        if read.missing is not None:
            raise missing_error(self.feature, read.missing)
        return self.column_codes(read)

    def column_codes(self, column: Column) -> IntArray:
        """Return :meth:`codes` for a column that was read before, 0 where it is missing."""
        values = column.values if column.missing is None else np.nan_to_num(column.values)
        if self.lower is not None or self.upper is not None:
            values = np.clip(values, self.lower, self.upper)
        codes: IntArray
        if self.log:
            codes = np.searchsorted(log_ends(self.decimals), values, "right")
        else:
            with np.errstate(over="ignore"):
                bad = np.flatnonzero(np.abs(values * self._steps) > LARGEST_EXACT)
            if bad.size:
                self._refuse(float(column.values[bad[0]]), int(bad[0]))
            if self.binary:
                odd = np.flatnonzero((values != 0) & (values != 1))
                if odd.size:
                    self._warn(float(values[odd[0]]), int(odd[0]))
            codes = to_steps(values, self.decimals)
        if column.missing is not None:
            codes[column.missing] = 0
        return codes

    def value_code(self, value: float | str | None) -> int:
        """Return the number of steps in one value, 0 where it is missing."""
        if value is None:
            return 0
        x = float(value)
        if self.lower is not None and x < self.lower:
            x = self.lower
        if self.upper is not None and x > self.upper:
            x = self.upper
        if self.log:
            return int(np.searchsorted(log_ends(self.decimals), x, "right"))
        if abs(x * self._steps) > LARGEST_EXACT:
            self._refuse(x, None)
        if self.binary and x not in (0.0, 1.0):
            self._warn(x, None)
        return to_step(x, self.decimals)

    def _warn(self, value: float, row: int | None) -> None:
        warnings.warn(
            InputWarning(
                f"column {self.feature!r} holds {value:g}",
                *where(row),
                ", but was 0 or 1 wherever the card was learnt. It is scored per unit; recode it "
                "if it means yes or no.",
            ),
            stacklevel=2,
        )

    def _refuse(self, value: float, row: int | None) -> None:
        raise InputError(
            f"column {self.feature!r} holds {value!r}",
            *where(row),
            f", too large to count exactly in steps of 1e-{self.decimals}. Correct the value, or "
            "give the rule an upper and lower end.",
        )

    def text(self) -> str:
        """Name the column, how it is rounded and where it is clipped."""
        counted = self.counted()
        return f"{self.feature} ({counted})" if counted else self.feature

    def counted(self) -> str:
        """Say how a value is rounded and where it is clipped; nothing of no and yes."""
        low, high = (None if v is None else value_text(v) for v in (self.lower, self.upper))
        notes = [] if self.binary else ["whole number"]
        if self.decimals:
            notes = [f"rounded to {10**-self.decimals:.{self.decimals}f}"]
        if self.log:
            notes = ["ln(1 + x), " + (notes[0] if self.decimals else "rounded")]
        if low and high:
            notes.append(f"from {low} to {high}")
        elif low or high:
            notes.append(f"at least {low}" if low else f"at most {high}")
        return ", ".join(notes)


Term = Condition | PerUnit


def _among(values: Any, levels: tuple[Value, ...]) -> Any:
    """Whether each value of an array, or one value, is one of some levels."""
    if not isinstance(values, np.ndarray):
        return values in levels
    if not isinstance(levels[0], str):
        return np.isin(values, np.array(levels, dtype=np.float64))
    among = frozenset(levels)
    return np.fromiter((v in among for v in values.tolist()), np.bool_, len(values))


@cache
def log_ends(decimals: int) -> NDArray[np.float64]:
    """Return the lower ends of the steps 1, 2, … of ln(1 + x), up to the largest float."""
    steps = 10**decimals
    last = math.floor(math.log(sys.float_info.max) * steps)
    return np.array([math.expm1((k - 0.5) / steps) for k in range(1, last + 1)])


def _name(feature: Any) -> str:
    if not isinstance(feature, str) or not feature:
        raise InputError(f"a rule's column {feature!r} must be a name that is not empty.")
    return _plain_text(feature, "a rule's column")


# -- what the terms of one column distinguish: intervals of numbers, or groups of levels -----------
# "age ≥ 40" and "age ≥ 60" cut the numbers into three intervals; "stage is III or IV" and "stage is
# IV" sort the levels into three groups, the last of which is all others.  Within such a piece all
# values are worth the same.  ``worth`` is any function of a value: the total of points, or the
# codes of all terms.


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


class Edge(NamedTuple):
    """Where an interval begins: at a number, or just above it."""

    value: float
    above: bool = False


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
        own = worth(math.nextafter(edge.value, math.inf) if edge.above else edge.value)
        if own != pieces[-1][1]:
            pieces.append((edge, own))
    return pieces


def cuts(terms: Iterable[Term]) -> list[float]:
    """Return the numbers that conditions name, ascending."""
    return sorted(value for value in named(terms) if not isinstance(value, str))


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
