"""Elements: which signs the points of a problem can have.

An *element* (k, +) or (k, −) says that column k may have positive or negative points.  Sets of
elements are bit masks: words of 64 columns for +, and as many words again for −.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import IntArray
from netbenefit.problem import IntegerProblem

Words = NDArray[np.uint64]


class Signs(NamedTuple):
    """Which signs the points of a problem can have, and patterns in the form the kernels need."""

    columns: IntArray  #: (Q,) columns of the problem that count; doubles are left out
    doubles: tuple[tuple[tuple[int, int], ...], ...]  #: columns alike, with their direction
    units: IntArray  #: (n, Q)
    ranks: NDArray[np.int32]  #: (n, Q) order of the values of a column
    bits: Words  #: (n, W) columns with two values
    wide: IntArray  #: positions of columns with more values
    allowed: Words  #: (2 W,) elements that the box allows
    forced: Words  #: (2 W,) elements of columns whose points exclude 0
    n_forced: int  #: number of columns whose points exclude 0
    weights: IntArray  #: (R, Q) coefficients of columns in limits on the support
    room: IntArray  #: (R,) what forced columns leave of those limits

    @property
    def words(self) -> int:
        """Number of words per sign."""
        return int(self.bits.shape[1])

    def mask(self, elements: Any) -> Words:
        """Words of a list of elements: q for +, Q + q for −."""
        out = np.zeros(2 * self.words, dtype=np.uint64)
        size = self.columns.size
        for e in elements:
            q, half = (int(e), 0) if e < size else (int(e) - size, self.words)
            out[half + q // 64] |= np.uint64(1) << np.uint64(q % 64)
        return out

    def elements(self, mask: Words) -> IntArray:
        """Elements of a mask, in order."""
        as_bytes = np.ascontiguousarray(mask).view(np.uint8).reshape(2, -1)
        flags = np.unpackbits(as_bytes, axis=1, bitorder="little")[:, : self.columns.size]
        return np.flatnonzero(flags.ravel())


def make_signs(
    integers: IntegerProblem, support: IntArray | None = None, support_limit: IntArray | None = None
) -> Signs:
    """Describe the signs that the box of a problem allows.

    A column that is a multiple of another one, up to a constant, tells the same patterns apart:
    points of both could be added up, at no higher price.  It is left out where its signs are
    allowed for the other column too.  Limits on the support with negative coefficients are left
    out: a relaxation.
    """
    n_columns = integers.lower.size
    rows = np.zeros((0, n_columns), dtype=np.int64) if support is None else support
    limit = np.zeros(0, dtype=np.int64) if support_limit is None else support_limit
    usable = (rows >= 0).all(axis=1)
    rows, limit = rows[usable], limit[usable]
    is_forced = (integers.lower > 0) | (integers.upper < 0)
    groups = _groups(integers, is_forced)
    columns = np.array([group[0][0] for group in groups], dtype=np.int64)
    units = np.ascontiguousarray(integers.units[:, columns])
    n_words = max(1, -(-columns.size // 64))
    ranks = np.zeros(units.shape, dtype=np.int32)
    bits = np.zeros((units.shape[0], n_words), dtype=np.uint64)
    wide = []
    for q in range(columns.size):
        values, ranks[:, q] = np.unique(units[:, q], return_inverse=True)
        if values.size > 2:
            wide.append(q)
        else:
            bits[:, q // 64] |= ranks[:, q].astype(np.uint64) << np.uint64(q % 64)
    members = [[k for k, _ in group] for group in groups]
    weights = np.array([rows[:, group].min(axis=1) for group in members], dtype=np.int64)
    signs = Signs(
        columns=columns,
        doubles=tuple(
            tuple((k, 1 if flipped == group[0][1] else -1) for k, flipped in group)
            for group in groups
        ),
        units=units,
        ranks=ranks,
        bits=bits,
        wide=np.array(wide, dtype=np.int64),
        allowed=np.zeros(0, dtype=np.uint64),
        forced=np.zeros(0, dtype=np.uint64),
        n_forced=int(is_forced.sum()),
        weights=np.ascontiguousarray(weights.reshape(columns.size, limit.size).T),
        room=limit - rows[:, is_forced].sum(axis=1),
    )
    size, lower, upper = columns.size, integers.lower[columns], integers.upper[columns]
    plus, minus = np.flatnonzero(upper > 0), np.flatnonzero(lower < 0) + size
    must = [*np.flatnonzero(lower > 0), *(np.flatnonzero(upper < 0) + size)]
    return signs._replace(allowed=signs.mask([*plus, *minus]), forced=signs.mask(must))


def _groups(integers: IntegerProblem, is_forced: NDArray[np.bool_]) -> list[list[tuple[int, bool]]]:
    """Columns that count, each followed by its doubles, and whether their signs were turned."""
    groups: list[list[tuple[int, bool]]] = []
    first: dict[bytes, list[list[tuple[int, bool]]]] = {}

    def allowed(k: int, flipped: bool) -> tuple[bool, bool]:
        signs = bool(integers.upper[k] > 0), bool(integers.lower[k] < 0)
        return signs[::-1] if flipped else signs

    for k in range(integers.lower.size):
        column = integers.units[:, k]
        if integers.lower[k] == integers.upper[k] == 0 or (column == column[0]).all():
            continue
        if is_forced[k]:
            groups.append([(k, False)])
            continue
        shape, flipped = _shape(column)
        family = first.setdefault(shape, [])
        for group in family:
            pairs = zip(allowed(k, flipped), allowed(*group[0]), strict=True)
            if all(a <= b for a, b in pairs):
                group.append((k, flipped))
                break
        else:
            groups.append([(k, flipped)])
            family.append(groups[-1])
    return groups


def _shape(column: IntArray) -> tuple[bytes, bool]:
    """What is left of a column without shift, scale and sign; whether the sign was turned."""
    moved = column - column[0]
    moved = moved // np.gcd.reduce(moved)
    flipped = bool(moved[np.flatnonzero(moved)[0]] < 0)
    return (-moved if flipped else moved).tobytes(), flipped
