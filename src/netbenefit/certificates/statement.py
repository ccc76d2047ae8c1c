"""What a certificate says, as plain records that :mod:`certificate` writes and reads."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards.readings import Reading
from netbenefit.cards.terms import Term
from netbenefit.common.checks import IntArray
from netbenefit.data.patterns import PatternTable
from netbenefit.problem.result import Boxes

__all__ = [
    "Answer",
    "Check",
    "Claim",
    "DataDigest",
    "Lesson",
    "Limits",
    "RateLimits",
    "Scale",
    "Statement",
    "canonical",
    "json_digest",
    "pattern_order",
    "table_digest",
]


# -- fingerprints: of a pattern table, and of what a certificate says ------------------------------
# They are checksums, not signatures: who changes a file can compute them anew.  What then still
# fails is the arithmetic, which :mod:`netbenefit.certificates.verify` does again.


def canonical(data: Any) -> bytes:
    """JSON with sorted keys, no spaces, in UTF-8: one text for one meaning.

    >>> canonical({"b": [1, "½"], "a": None}).decode()
    '{"a":null,"b":[1,"½"]}'
    """
    text = json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def json_digest(data: Any) -> str:
    """SHA-256 of :func:`canonical`, in hexadecimal."""
    return hashlib.sha256(canonical(data)).hexdigest()


def pattern_order(table: PatternTable) -> IntArray:
    """Patterns in lexicographic order of their codes.

    >>> table = PatternTable.from_arrays([[1, 0], [0, 1], [0, 0]], [0, 1, 1])
    >>> table.codes[pattern_order(table)].tolist()
    [[0, 0], [0, 1], [1, 0]]
    """
    order: IntArray = np.lexsort(table.codes.T[::-1])
    return order


def table_digest(table: PatternTable) -> str:
    """SHA-256 of the distinct rows and their outcomes, whatever the order and format of the file.

    Hashed are, one after the other,

    1. the canonical JSON of ``{"columns": P, "decimals": […], "masses": "int64" or "float64",
       "names": […], "patterns": n}`` and a line feed,
    2. the codes, n rows of P little-endian int64, rows in lexicographic order,
    3. the n numbers of rows with the event in that order, then of those without, little-endian, as
       int64 or (where some weight is not whole) float64.

    Real weights of equal rows are added in the order of the file, so that with them another order
    can give another last digit, and so another digest.

    >>> one = PatternTable.from_arrays([[0, 1], [1, 1], [0, 1]], [0, 1, 1])
    >>> two = PatternTable.from_arrays([[1.0, 1], [0, 1], [0, 1]], [1, 1, 0])
    >>> table_digest(one) == table_digest(two)
    True
    """
    kind = "int64" if table.is_whole else "float64"
    header = {
        "columns": table.n_features,
        "decimals": list(table.decimals),
        "masses": kind,
        "names": list(table.names),
        "patterns": len(table),
    }
    order = pattern_order(table)
    small = np.dtype(kind).newbyteorder("<")
    digest = hashlib.sha256(canonical(header) + b"\n")
    digest.update(np.ascontiguousarray(table.codes[order], dtype="<i8").tobytes())
    for rows in (table.events, table.others):
        digest.update(rows[order].astype(small).tobytes())
    return digest.hexdigest()


# --------------------------------------------------------------------------------------------------


class DataDigest(NamedTuple):
    """The data of a problem, known again by its digest; the other figures explain it."""

    digest: str  #: see :func:`netbenefit.certificates.statement.table_digest`
    patterns: int  #: distinct rows
    rows: Fraction  #: mass of all rows, N
    events: Fraction  #: mass of the events


class Lesson(NamedTuple):
    """What a teacher added to the outcomes (:mod:`netbenefit.teachers.blend`)."""

    name: str  #: the teacher, in words
    strength: Fraction | None  #: n0, in rows; None where only the teacher counts
    denominator: int  #: parts of a row that ``expected`` is counted in
    expected: IntArray  #: the teacher's expected events of each pattern, in the digest's order
    net_benefit: float  #: of its out-of-fold risks, by the outcomes; as stated
    blended_benefit: float  #: of the same, by the masses; as stated


class RateLimits(NamedTuple):
    """Least events found and most false alarms at each threshold, in rows."""

    found: tuple[Fraction, ...]
    alarms: tuple[Fraction, ...]


class Limits(NamedTuple):
    """What is asked of the points, as in :class:`Limits`, whose module compiles.

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
    teacher : Lesson or None
        What the outcomes are blended with; None where they are all that counts.
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
    teacher: Lesson | None = None
    readings: tuple[Reading, ...] = ()

    @property
    def objective(self) -> str:
        """What is maximised, in words."""
        published = "weighted net benefit less the penalty of every rule"
        if self.teacher is None:
            return published
        return f"{published}, on outcomes blended with a teacher's risks"

    @property
    def objective_in_full(self) -> str:
        """What is maximised, in words, and n0, where it matters."""
        if self.teacher is None:
            return self.objective
        rows = self.teacher.strength
        if rows is None:
            return f"{self.objective} (of which only the risks count)"
        number = f"{rows.numerator:,}" if rows.denominator == 1 else f"{float(rows):,g}"
        return f"{self.objective} (n0 = {number} rows)"


class Answer(NamedTuple):
    """The points that were found, and what they are worth, exactly."""

    points: tuple[int, ...]
    cutoffs: tuple[int, ...]
    objective: Fraction
    net_benefit: Fraction


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
    """A bound, and where it comes from; fields as in :class:`netbenefit.problem.result.Proof`."""

    method: str
    bound: Fraction
    rounded: bool
    rounding: Fraction
    details: dict[str, Any]
    scale: Scale
    boxes: Boxes | None


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    ok: bool | None  #: None: could not be looked at
    text: str
