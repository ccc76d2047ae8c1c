"""What an export has to say: a card taken apart into steps that any language can follow.

For each :class:`Step` of a card's :class:`Logic`:

1. Read the raw inputs.  An input is missing where it is null, not a number, blank text, or one of
   its special codes.  With ``refuse`` the row then has no score; otherwise a missing input counts
   as its ``fill``, and without one it stays missing.
2. A step with several inputs combines them (sum, largest, smallest), from left to right; it is
   missing where one of them is.  Its own special codes and fill follow, as for an input.
3. A step that is missing still has no score to give: the row has none, unless ``may_miss``, where
   its terms count 0, except for "missing", which counts 1.
4. Each term turns the value into a whole code: 1 or 0 for a condition; for points per unit
   ``floor(clip(x) * 10**decimals + 0.5)`` in double precision, or, with ``log``, the number of
   :func:`log_ends` that x reaches.  A term brings factor · code units.

The score is ``floor(units / unit)``, in whole numbers.  The risk is that of the last of ``risks``
whose lowest score it reaches.  A row without a score has no risk: what Python refuses with an
error, exports answer with nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from netbenefit.cards.rules import RiskRow
from netbenefit.cards.scorecard import Scorecard
from netbenefit.cards.scoring import Input, Step, make_steps
from netbenefit.cards.terms import PerUnit, log_ends
from netbenefit.common.checks import InputError

__all__ = ["Input", "Logic", "Step", "log_ends", "logic_of", "reached", "unit_ends"]


@dataclass(frozen=True)
class Logic:
    """All that an export needs to know of a card.

    Examples
    --------
    >>> from netbenefit.cards.terms import Condition
    >>> from netbenefit.cards.readings import Reading
    >>> from netbenefit.cards.scorecard import Rule
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> card = Scorecard([Rule(Condition("age", ">=", 52), 2)], [(0, 0.1), (1, 0.6)],
    ...     Thresholds.of([0.5]), readings=[Reading(feature="age", fill=50, saw_missing=True)])
    >>> logic = logic_of(card)
    >>> logic.steps[0].inputs[0].fill, logic.risks
    (50, (RiskRow(low=None, high=0, risk=0.1), RiskRow(low=1, high=None, risk=0.6)))
    """

    steps: tuple[Step, ...]
    unit: int  #: units in one point
    risks: tuple[RiskRow, ...]  #: of all scores, lowest first; the first has no lower end
    outcome: str

    @property
    def inputs(self) -> tuple[Input, ...]:
        """All raw columns, in the order in which rules come to them."""
        found: dict[str, Input] = {}
        for step in self.steps:
            for one in step.inputs:  # who only asks whether it is there takes any kind
                if found.setdefault(one.name, one).kind == "any":
                    found[one.name] = one
        return tuple(found.values())


def logic_of(card: Scorecard) -> Logic:
    """Take a card apart.

    >>> logic_of({"age": 60})
    Traceback (most recent call last):
    netbenefit.common.checks.InputError: card must be a Scorecard, not dict.
    """
    if not isinstance(card, Scorecard):
        raise InputError(f"card must be a Scorecard, not {type(card).__name__}.")
    plan = card._plan
    steps = make_steps(plan.columns, plan.readings.by_name)
    outcome = (card.provenance.outcome if card.provenance else None) or ""
    return Logic(steps, plan.unit, card._risk_rows, outcome)


def unit_ends(term: PerUnit) -> tuple[float | None, float | None]:
    """Return where points per unit are clipped; a logarithm starts at 0.

    >>> unit_ends(PerUnit("income", log=True))
    (0.0, None)
    """
    if not term.log:
        return term.lower, term.upper
    return max(0.0, term.lower or 0.0), term.upper


def reached(term: PerUnit, ends: Sequence[float]) -> tuple[int, int]:
    """Return the fewest and most of some ascending numbers that a clipped value reaches.

    >>> reached(PerUnit("x", lower=2, upper=5), [1, 2, 3, 4, 5, 6])
    (2, 5)
    """
    last = len(ends) if term.upper is None else bisect_right(ends, term.upper)
    return (0 if term.lower is None else bisect_right(ends, term.lower, 0, last)), last
