"""Where a card stands: what is known to be better, and what is proven that nothing can exceed.

All of it is about what solvers maximise on the training rows: net benefit (of outcomes blended with
the teacher's risks, where there is a teacher) less the price of questions and rules.  Values are
fractions, so that no statement depends on rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from netbenefit.common import IntArray
from netbenefit.problem import MaxQuestions, Problem


@dataclass(frozen=True)
class Standing:
    """A card beside the best one known, and beside what is proven."""

    value: Fraction
    best: Fraction | None  #: of the cards known within the limits; None where there is none
    best_is_here: bool  #: whether the best one known has the same cut points
    #: no card with these cut points, within the limits, has more; None where nothing is proven
    bound: Fraction | None
    settled: bool  #: whether the bound shows that the card is the best one
    broken: tuple[str, ...]  #: limits that the card does not keep

    @property
    def sentences(self) -> list[str]:
        """Say what the card gives up, and what could be gained at most; true however rounded."""
        return [self._kept(), self._cost(), self._room()]

    def _kept(self) -> str:
        if not self.broken:
            return "The card keeps to all limits."
        return f"The card breaks {_listed(self.broken)}."

    def _cost(self) -> str:
        if self.best is None:
            return "No card is known that keeps to the limits."
        if self.value == self.best:
            return "No better card is known within the limits."
        known = "The best card known" + " (with other cut points)" * (not self.best_is_here)
        if self.value > self.best:
            less = self._share(self.value - self.best)
            return f"{known} within the limits gives {less} less."
        return f"{known} gives {self._share(self.best - self.value)} more."

    def _room(self) -> str:
        if self.bound is None:
            return (
                "Nothing is proven for these cut points and limits: re-optimise to learn how much "
                "better a card could be."
            )
        what = "No card with these cut points, within the limits,"
        if self.settled:
            return f"{what} can be better: this is proven."
        room = self.bound - self.value
        if room < 0:
            return f"{what} can give as much: it is proven that {self._share(-room)} is missing."
        return f"{what} can give more than {self._share(room, up=True)} more: this is proven."

    def _share(self, difference: Fraction, *, up: bool = False) -> str:
        """A difference, as a share of the card's value where that is positive."""
        amount = _digits(difference, up=up)
        if self.value <= 0:
            return amount
        return f"{_percent(difference / self.value, up=up)} ({amount})"


def _listed(items: Sequence[str]) -> str:
    few = [f"“{item}”" for item in items[:3]]
    more = f" and {len(items) - 3} more limits" if len(items) > 3 else ""
    return "; ".join(few) + more


def _digits(value: Fraction, *, up: bool) -> str:
    """A net benefit with enough digits to be no 0; rounded up where it is said to be a limit."""
    digits = 5
    while digits < 9 and 0 < value < Fraction(10, 10**digits):
        digits += 1
    scaled = value * 10**digits
    whole = math.ceil(scaled) if up else math.floor(scaled + Fraction(1, 2))
    return f"{whole / 10**digits:.{digits}f}"


def _percent(share: Fraction, *, up: bool) -> str:
    digits = 1
    while digits < 5 and 0 < share < Fraction(1, 100 * 10**digits):
        digits += 1
    scaled = share * 100 * 10**digits
    whole = math.ceil(scaled) if up else math.floor(scaled + Fraction(1, 2))
    return f"{whole / 10**digits:.{digits}f}%"


# -- limits ----------------------------------------------------------------------------------------


def broken_limits(problem: Problem, points: IntArray) -> tuple[str, ...]:
    """The limits that points do not keep, in words."""
    if problem.allows(points):
        return ()
    names, found = problem.patterns.names, []
    for one in problem.constraints:
        if isinstance(one, MaxQuestions):
            broken = problem.questions.used(points) > one.limit
        else:
            broken = not one.allows(points.tolist(), names)
        if broken:
            found.append(str(one))
    most = problem.max_points
    if (abs(points) > most).any() or (
        problem.questions.spreads(points) > problem.limits.asked.spread
    ).any():
        found.append(f"at most {most} points for an answer")
    return tuple(found) or ("the limits of the model",)


def is_within(new: Problem, old: Problem) -> bool:
    """Whether every card that one problem allows is allowed by another on the same conditions.

    Bounds of the second then hold for the first.
    """
    a, b = new.limits, old.limits
    inside = bool((new.lower >= old.lower).all() and (new.upper <= old.upper).all())
    if not inside or new.max_features > old.max_features or a.total > b.total:
        return False
    for k, (low, high) in enumerate(zip(new.lower.tolist(), new.upper.tolist(), strict=True)):
        wide = b.values[k, low - old.lower[k] : high + 1 - old.lower[k]]
        if (a.values[k, : high + 1 - low] & ~wide).any():
            return False
    rows = [(row.tolist(), most) for row, most in zip(a.support, a.support_limit, strict=True)]
    needed = (new.lower > 0) | (new.upper < 0)
    possible = (new.lower != 0) | (new.upper != 0)
    for row, limit in zip(b.support, b.support_limit.tolist(), strict=True):
        most = int(np.where(needed, row, np.where(possible, np.maximum(row, 0), 0)).sum())
        same = any(own == row.tolist() and its <= limit for own, its in rows)
        if most > limit and not same:
            return False
    if b.rates is not None:
        if a.rates is None:
            return False
        floors = zip(a.rates.found, b.rates.found, strict=True)
        ceilings = zip(a.rates.alarms, b.rates.alarms, strict=True)
        if any(x < y for x, y in floors) or any(x > y for x, y in ceilings):
            return False
    return a.asked.most <= b.asked.most and bool((a.asked.spread <= b.asked.spread).all())
