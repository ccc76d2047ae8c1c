"""What a certificate says, as plain records that :mod:`netbenefit.certificate` writes and reads."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._validation import IntArray
from netbenefit.bounds.proof import Boxes
from netbenefit.conditions import Term
from netbenefit.readings import Reading

__all__ = ["Answer", "Check", "Claim", "DataDigest", "Limits", "RateLimits", "Scale", "Statement"]


class DataDigest(NamedTuple):
    """The data of a problem, known again by its digest; the other figures explain it."""

    digest: str  #: see :func:`netbenefit._certificate_digest.table_digest`
    patterns: int  #: distinct rows
    rows: Fraction  #: mass of all rows, N
    events: Fraction  #: mass of the events


class RateLimits(NamedTuple):
    """Least events found and most false alarms at each threshold, in masses."""

    found: tuple[Fraction, ...]
    alarms: tuple[Fraction, ...]


class Limits(NamedTuple):
    """What is asked of the points, as in :class:`netbenefit.limits.Limits`, whose module compiles.

    Allowed are λ with values[k, λ_k − lower[k]] for every column k, Σ_k support[r, k] · [λ_k ≠ 0] ≤
    support_limit[r] for every row r, Σ_k |λ_k| ≤ total, and cut-offs within ``rates``.
    """

    values: NDArray[np.bool_]
    support: IntArray
    support_limit: IntArray
    total: int
    rates: RateLimits | None


@dataclass(frozen=True, eq=False)
class Statement:
    """The problem that was solved: data, what is maximised, what is allowed.

    Attributes
    ----------
    data : DataDigest
    names : tuple of str
        The P columns of the pattern table.
    terms : tuple of Condition or PerUnit
        How each of them arises from a raw column.
    exact : tuple of bool
        Whether raw values are whole numbers of steps, so that nothing was rounded.
    thresholds, weights : tuple of Fraction
        p_0 … p_M and ω_0 … ω_M.
    penalty : Fraction
        C0.
    lower, upper : (P,) int64
        Smallest and largest points of each column.
    max_features : int
        Most non-zero points.
    limits : Limits
        All that is asked of the points.
    constraints : list
        What the user asked for, as JSON: where the limits come from.
    prior_strength : Fraction
        n0, in rows.
    readings : tuple of Reading
        How raw columns are read, where a binner made the columns.
    """

    data: DataDigest
    names: tuple[str, ...]
    terms: tuple[Term, ...]
    exact: tuple[bool, ...]
    thresholds: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    penalty: Fraction
    lower: IntArray
    upper: IntArray
    max_features: int
    limits: Limits
    constraints: list[Any]
    prior_strength: Fraction = Fraction(0)
    readings: tuple[Reading, ...] = ()

    @property
    def objective(self) -> str:
        """What is maximised, in words."""
        published = "weighted net benefit less the penalty of every rule"
        if not self.prior_strength:
            return published
        return f"{published}, plus n0 / N times S"

    @property
    def objective_in_full(self) -> str:
        """What is maximised, in words, and n0, where it matters."""
        rows = self.prior_strength
        if not rows:
            return self.objective
        number = f"{rows.numerator}" if rows.denominator == 1 else f"{float(rows):g}"
        return f"{self.objective} (n0 = {number} rows)"


class Answer(NamedTuple):
    """The points that were found, and what they are worth, exactly."""

    points: tuple[int, ...]
    cutoffs: tuple[int, ...]
    objective: Fraction
    net_benefit: Fraction
    smooth: Fraction | None = None  #: S, where there is a prior


class Scale(NamedTuple):
    """How whole numbers mean objectives: objective = (value + constant) / total.

    One non-zero coefficient costs ``price``.  Where not ``exact``, gains were rounded up and the
    price down.
    """

    total: Fraction
    constant: Fraction
    price: int
    exact: bool


@dataclass(frozen=True, eq=False)
class Claim:
    """A bound, and where it comes from; fields as in :class:`netbenefit.bounds.proof.Proof`."""

    method: str
    bound: Fraction
    rounded: bool
    rounding: Fraction
    details: dict[str, Any]
    scale: Scale
    boxes: Boxes | None
    smooth: Fraction | None = None


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    ok: bool | None  #: None: could not be looked at
    text: str
