"""What a proof consists of: boxes of points that cover the search space, each with a bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np

from netbenefit.common.checks import IntArray

__all__ = ["Boxes", "Proof", "Reason"]


class Reason(IntEnum):
    """Why no card of a box is worth more than the box's value."""

    FLOW = 0  #: the pair-order flow bound, with the price of columns whose points exclude 0
    COUNTED = 1  #: every allowed vector of the box was evaluated; the value is the best of them
    DOUBLED = 2  #: twice each vector is allowed too and is worth as much or more; see the others
    FORBIDDEN = 3  #: the limits allow no vector of the box
    SHIFTED = 4  #: a one-hot group can be shifted by 1, its first column towards 0, for free


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of points, with whole-number bounds in the units of :class:`Pieces`.

    Attributes
    ----------
    lower, upper : (B, P) int
        A box holds the vectors with lower ≤ λ ≤ upper.
    values : (B,) int64
        No card of the box is worth more (the smallest int64 where there is none).
    reasons : (B,) uint8
        A :class:`Reason` a box.
    """

    lower: IntArray
    upper: IntArray
    values: IntArray
    reasons: IntArray

    def __len__(self) -> int:
        return int(self.values.size)

    @classmethod
    def join(cls, parts: list[Boxes]) -> Boxes:
        """All boxes of several lists."""
        return cls(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("lower", "upper", "values", "reasons")
            )
        )


@dataclass(frozen=True, eq=False)
class Proof:
    """Why no card is worth more than ``bound``.

    Attributes
    ----------
    method : str
        What gave the bound, such as "branch and bound" or "direction signs".
    bound : Fraction
        No allowed card has a higher objective.
    boxes : Boxes or None
        For branch and bound: boxes that cover the search space.
    rounded : bool
        Whether a floating-point solver took part; its result was rounded outward.
    rounding : Fraction
        What real weights, held in whole numbers, can add to the bound; 0 for counts.
    details : dict
        Figures for the trace and the certificate; only what JSON can hold.
    """

    method: str
    bound: Fraction
    boxes: Boxes | None = None
    rounded: bool = False
    rounding: Fraction = Fraction(0)
    details: dict[str, Any] = field(default_factory=dict)
