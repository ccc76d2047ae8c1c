"""What a proof consists of: boxes of points that cover the search space, each with a bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from netbenefit.common.checks import IntArray
from netbenefit.common.decimals import relative_gap

__all__ = ["Boxes", "Progress", "Proof", "Reason", "SolverResult", "Status", "TraceRow"]


class Reason(IntEnum):
    """Why no card of a box is worth more than the box's value."""

    FLOW = 0  #: the pair-order flow bound, with the price of columns whose points exclude 0
    COUNTED = 1  #: every allowed vector of the box was evaluated; the value is the best of them
    DOUBLED = 2  #: twice each vector is allowed too and is worth as much or more; see the others
    FORBIDDEN = 3  #: the limits allow no vector of the box
    SHIFTED = 4  #: a one-hot group can be shifted by 1, its first column towards 0, for free


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of points, with whole-number bounds in the units of :class:`IntegerProblem`."""

    lower: IntArray  #: (B, P): a box holds the vectors with lower ≤ λ ≤ upper
    upper: IntArray  #: (B, P)
    #: (B,) no card of the box is worth more (the smallest int64 where there is none)
    values: IntArray
    reasons: IntArray  #: (B,) uint8, one :class:`Reason` per box

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
    """Why no card is worth more than ``bound``."""

    method: str  #: such as "branch and bound" or "direction signs"
    bound: Fraction  #: no allowed card has a higher objective
    boxes: Boxes | None = None  #: of branch and bound: they cover the search space
    #: whether a floating-point solver took part; its result was rounded outward
    rounded: bool = False
    #: what real weights, held in whole numbers, can add to the bound
    rounding: Fraction = Fraction(0)
    #: figures for the trace and the certificate; only what JSON can hold
    details: dict[str, Any] = field(default_factory=dict)


#: "finished": the search did all it meant to do; the others say what stopped it.
Status = Literal["finished", "time_limit", "interrupted", "optimal"]


class TraceRow(NamedTuple):
    """When a better card or a lower bound was found, and what gave it."""

    seconds: float
    objective: float
    size: int
    bound: float | None = None
    source: str = ""


@dataclass(frozen=True)
class Progress:
    """Where a running solver stands."""

    objective: float
    size: int
    seconds: float
    evaluations: int
    bound: float | None = None

    @property
    def gap(self) -> float | None:
        """How far the incumbent can be from the best, relative to itself; None if unknown."""
        return relative_gap(self.objective, self.bound)


@dataclass(frozen=True, eq=False)
class SolverResult:
    """A solver's answer, with its value counted anew from the data."""

    points: IntArray  #: (P,)
    cutoffs: tuple[int, ...]  #: T_1 … T_M, the best cut-off at each threshold
    objective: float  #: G, penalty included; exact up to the last rounding to a float
    net_benefit: float  #: weighted, of the masses that were trained on, without the penalty
    score_range: tuple[int, int]  #: lowest and highest floor-score of a training row
    bound: float | None  #: no card can have a higher objective; None where nothing is proven
    status: Status
    seconds: float
    evaluations: int  #: point vectors whose objective was computed
    trace: tuple[TraceRow, ...]  #: the improvements of card and bound, in order of time
    solver: str
    proof: Proof | None = None  #: where the bound comes from

    @property
    def size(self) -> int:
        """Number of non-zero points."""
        return int(np.count_nonzero(self.points))

    @property
    def gap(self) -> float | None:
        """(bound − objective) / |objective|; None where nothing is proven."""
        return relative_gap(self.objective, self.bound)
