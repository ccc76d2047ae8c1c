"""What a card is made of, and what all that print, write or read one know about it.

Nothing here knows of :class:`netbenefit.cards.scorecard.Scorecard`, which is built from these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from netbenefit.cards.terms import Condition, PerUnit, Term
from netbenefit.common.checks import InputError
from netbenefit.common.decimals import relative_gap
from netbenefit.metrics.thresholds import Thresholds

__all__ = [
    "INT64",
    "MOST_POINTS",
    "TEXTS",
    "Provenance",
    "RiskRow",
    "Rule",
    "check_integer",
    "check_range",
    "check_steps",
    "is_finite",
    "steps_of_levels",
]

#: Scores, and what adds up to them, lie in [−INT64, INT64).
INT64 = 2**63
#: Most points of a rule, either way.
MOST_POINTS = 10**9
#: Fields of a :class:`Provenance` that hold text, and those that hold any finite number.
TEXTS = ("version", "solver", "status", "outcome", "updated", "teacher")
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
        penalty per feature, and the rows of belief in the teacher (0: the published objective;
        may be infinite).
    net_benefit : float
        Weighted net benefit of the card's own cut-offs on its training rows.
    teacher : str
        What taught the card, such as "a stack of logistic regression and boosting".
    teacher_net_benefit : float
        The teacher's own net benefit: out-of-fold, on outcomes.
    share_kept, share_bound : float
        The share of the teacher's net benefit that the card keeps, and the most that any card with
        as few rules can keep.
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
    teacher: str | None = None
    teacher_net_benefit: float | None = None
    share_kept: float | None = None
    share_bound: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.name != "version":
                continue
            value = value.item() if isinstance(value, np.generic) else value
            if field.name in TEXTS:
                usable, wanted = isinstance(value, str), "text"
            elif field.name in ("n_patterns", "random_state"):
                usable, wanted = type(value) is int and 0 <= value < INT64, "an integer from 0"
            elif field.name in _ANY_NUMBERS:
                usable, wanted = is_finite(value), "a finite number"
            elif field.name == "prevalence":
                usable, wanted = is_finite(value) and 0 <= value <= 1, "a number from 0 to 1"
            elif field.name == "prior_strength":
                usable, wanted = value == math.inf or _is_from_0(value), "a number from 0"
            else:
                usable, wanted = _is_from_0(value), "a finite number from 0"
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


def _is_from_0(value: Any) -> bool:
    return is_finite(value) and value >= 0


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

    >>> steps_of_levels([2, 2, 4], [0.1, None, 0.6, 0.8], Thresholds.of([0.2, 0.5, 0.7]))
    ((1, 0.1), (2, 0.6), (4, 0.8))
    """
    known = _check_cutoffs(cutoffs, thresholds)
    checked = _check_level_risks(risks, thresholds)
    low, high = (-math.inf, math.inf) if score_range is None else check_range(score_range)
    steps = []
    for level, (start, end) in enumerate(pairwise([-math.inf, *known, math.inf])):
        if not (start < end and start <= high and low < end):
            continue
        first = max(start, low)  # where nothing says how low scores go: just below the next level
        score = int(first) if first > -math.inf else int(end) - 1 if end < math.inf else 0
        risk = checked[level]
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
