"""What a certificate says, as plain records that :mod:`certificate` writes and reads."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from netbenefit.cards.readings import Reading
from netbenefit.cards.terms import Term
from netbenefit.common.checks import IntArray
from netbenefit.data.patterns import PatternTable
from netbenefit.problem.limits import Limits
from netbenefit.problem.result import Boxes

__all__ = [
    "Answer",
    "Check",
    "Claim",
    "DataDigest",
    "Lesson",
    "Statement",
    "ValueScale",
    "canonical",
    "json_digest",
    "pattern_order",
    "table_digest",
]


# -- fingerprints: of a pattern table, and of what a certificate says ------------------------------
# They are checksums, not signatures: who changes a file can compute them anew.  What then still
# fails is the arithmetic, which :mod:`netbenefit.certificates.verify` does again.


def canonical(data: Any) -> bytes:
    """JSON with sorted keys, no spaces, in UTF-8: one text for one meaning."""
    text = json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def json_digest(data: Any) -> str:
    """SHA-256 of :func:`canonical`, in hexadecimal."""
    return hashlib.sha256(canonical(data)).hexdigest()


def pattern_order(table: PatternTable) -> IntArray:
    """Patterns in lexicographic order of their codes."""
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


@dataclass(frozen=True, eq=False)
class Statement:
    """The problem that was solved: data, what is maximised, what is allowed."""

    data: DataDigest
    names: tuple[str, ...]  #: the P columns of the pattern table
    terms: tuple[Term, ...]  #: how each of them arises from a raw column
    #: whether raw values are whole numbers of steps, so that nothing was rounded
    exact: tuple[bool, ...]
    thresholds: tuple[Fraction, ...]  #: p_0 … p_M
    weights: tuple[Fraction, ...]  #: ω_0 … ω_M
    penalty: Fraction  #: C0
    lower: IntArray  #: (P,) smallest points
    upper: IntArray  #: (P,) largest points
    max_features: int  #: most non-zero points
    limits: Limits  #: the constraints in arrays
    constraints: list[Any]  #: as JSON: where the limits come from
    #: what the outcomes are blended with; None where they are all that counts
    teacher: Lesson | None = None
    readings: tuple[Reading, ...] = ()  #: how raw columns are read, where a binner made the columns

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


class ValueScale(NamedTuple):
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
    scale: ValueScale
    boxes: Boxes | None


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    ok: bool | None  #: None: could not be looked at
    text: str
