"""What a card is made of, and what all that print, write or read one know about it.

Nothing here knows of :class:`netbenefit.scorecard.Scorecard`, which is built from these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Protocol

import numpy as np

from netbenefit._gap import relative_gap
from netbenefit._validation import InputError
from netbenefit.conditions import Condition, PerUnit, Term
from netbenefit.readings import Reading
from netbenefit.thresholds import Thresholds

__all__ = [
    "INT64",
    "MOST_POINTS",
    "Card",
    "Provenance",
    "RiskRow",
    "Rule",
    "check_integer",
    "is_finite",
]

#: Scores, and what adds up to them, lie in [−INT64, INT64).
INT64 = 2**63
#: Most points of a rule, either way.
MOST_POINTS = 10**9


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
    objective, bound, penalty, prior_strength : float
        What the card reaches of what was maximised, the most that any card could reach, the
        penalty a feature, and the rows of belief in a logistic risk (0: the objective is weighted
        net benefit minus penalties).
    net_benefit : float
        Weighted net benefit of the card's own cut-offs on its training rows.
    solver, status, seconds, random_state : str, str, float, int
        What searched, how it ended, how long it took, and its seed.
    outcome : str
        What the risk is the risk of, such as "Malignant = 1".
    updated : str
        What was changed later and on which rows, such as "risks on 512 rows (96 with the event)".
        All else still speaks of where the points come from.
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

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.name != "version":
                continue
            value = value.item() if isinstance(value, np.generic) else value
            if field.name in ("version", "solver", "status", "outcome", "updated"):
                usable, wanted = isinstance(value, str), "text"
            elif field.name in ("n_patterns", "random_state"):
                usable, wanted = type(value) is int and 0 <= value < INT64, "an integer from 0"
            elif field.name in ("objective", "bound", "net_benefit"):
                usable, wanted = is_finite(value), "a finite number"
            elif field.name == "prevalence":
                usable, wanted = is_finite(value) and 0 <= value <= 1, "a number from 0 to 1"
            else:
                usable, wanted = is_finite(value) and value >= 0, "a finite number from 0"
            if not usable:
                raise InputError(f"provenance: {field.name}={value!r} must be {wanted}.")
            object.__setattr__(self, field.name, value)

    @property
    def gap(self) -> float | None:
        """Bound minus objective, as a share of the objective's size; None where one is unknown.

        >>> round(Provenance(version="1", objective=0.4, bound=0.5).gap, 2)
        0.25
        """
        if self.objective is None or self.bound is None:
            return None
        # A bound below the objective is one that rounding has moved: nothing can be better.
        return relative_gap(self.objective, max(self.bound, self.objective))


class Card(Protocol):
    """What can be printed and written: see :class:`netbenefit.scorecard.Scorecard`."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Terms with their points."""

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """T_1 … T_M."""

    @property
    def risks(self) -> tuple[float | None, ...]:
        """q_0 … q_M."""

    @property
    def thresholds(self) -> Thresholds:
        """p_0 … p_M."""

    @property
    def score_range(self) -> tuple[int, int] | None:
        """Lowest and highest score in training."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Raw columns in the order of an array to be scored."""

    @property
    def provenance(self) -> Provenance | None:
        """Where the card comes from."""

    @property
    def readings(self) -> tuple[Reading, ...]:
        """How raw columns are read."""

    def risk_table(self) -> tuple[RiskRow, ...]:
        """Return the SCORE → RISK table."""


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
