"""What a value has to be for its row to get a score, and how far codes can go."""

from __future__ import annotations

import math
from dataclasses import dataclass

from netbenefit.cards.terms import Condition, Term, log_ends
from netbenefit.common.decimals import LARGEST_EXACT, to_step
from netbenefit.export.sql_words import Words

__all__ = ["Wanted", "largest_exact", "most_of"]


@dataclass
class Wanted:
    """What has to hold of a value for its row to get a score."""

    present: bool = False
    low: float | None = None
    high: float | None = None

    def within(self, low: float | None, high: float | None) -> None:
        self.low = max((x for x in (self.low, low) if x is not None), default=None)
        self.high = min((x for x in (self.high, high) if x is not None), default=None)

    def text(self, value: str, words: Words) -> str | None:
        """Say it in SQL; None where there is nothing to ask."""
        ends = [(f"{value} >=", self.low), (f"{value} <=", self.high)]
        if self.low is not None and self.high == -self.low:
            ends = [(f"ABS({value}) <=", self.high)]
        tests = [f"{test} {words.number(end)}" for test, end in ends if end is not None]
        if not tests:
            return f"{value} IS NOT NULL" if self.present else None
        within = " AND ".join(tests)
        return within if self.present else f"({value} IS NULL OR {within})"


def largest_exact(decimals: int) -> float:
    """Return the largest number whose steps a double counts exactly.

    >>> largest_exact(0) == 2**53, largest_exact(1) * 10 <= 2**53
    (True, True)
    """
    steps = float(10**decimals)
    number = LARGEST_EXACT / steps
    while math.nextafter(number, math.inf) * steps <= LARGEST_EXACT:
        number = math.nextafter(number, math.inf)
    while number * steps > LARGEST_EXACT:
        number = math.nextafter(number, 0)
    return number


def most_of(term: Term) -> int:
    """Return a bound of a term's code, either way."""
    if isinstance(term, Condition):
        return 1
    if term.log:
        return len(log_ends(term.decimals))
    if term.lower is None or term.upper is None:
        return LARGEST_EXACT + 1
    return max(abs(to_step(end, term.decimals)) for end in (term.lower, term.upper))
