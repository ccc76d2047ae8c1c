"""Cuts of the signed covering relaxation: convex combinations that cannot be kept in order.

Take positives u (a call is a gain) and negatives w (a call is a loss) at a threshold, with whole
multipliers α_u, β_w > 0 of equal sums A.  If every u is called and no w is, then a cut-off T has
x_u·λ ≥ T > x_w·λ, for fractional scores too, since T is whole.  In whole units, with all entries of
columns that may be used and ``unit`` itself multiples of a grain g,

    units_u·λ ≥ T·unit ,   units_w·λ ≤ T·unit − g ,   hence   D·λ ≥ g·A > 0

for D = Σ α_u units_u − Σ β_w units_w.  Within a box lo ≤ λ ≤ hi, a column whose points exclude 0
(a *decided* one) adds at most max(D_k lo_k, D_k hi_k); what is left,

    need = g·A − Σ_{k decided} max(D_k lo_k, D_k hi_k) ,

must come from undecided columns: at most D_k hi_k if λ_k > 0 (s⁺_k), D_k lo_k if λ_k < 0 (s⁻_k).
So, with z = 1 for a pattern that is lost (u not called, w called),

    Σ z + Σ_{D_k>0} min(1, D_k hi_k / need) s⁺_k + Σ_{D_k<0} min(1, D_k lo_k / need) s⁻_k ≥ 1

holds for every λ of the box if need > 0, and says nothing otherwise.  If all contributions together
stay below need, a pattern is lost whatever λ is: Σ z ≥ 1.  Coefficients are rounded up to multiples
of 1 / GRID, which only weakens a cut.  Nothing but the box enters, so a cut is never used outside
the box for which its coefficients were computed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from netbenefit.common import IntArray
from netbenefit.problem import IntegerProblem

#: Coefficients of cuts are whole multiples of 1 / GRID.
GRID = 1024
#: Contributions of all columns together stay below this, in any box.
_ROOM = 2**62


class Box(NamedTuple):
    """A box of points and what follows from it."""

    lower: IntArray
    upper: IntArray
    grain: int  #: all scores are multiples of grain / unit
    #: columns whose points exclude 0: no sign variables, their best contribution counts
    decided: NDArray[np.bool_]
    plus: NDArray[np.bool_]  #: undecided columns that may be positive
    minus: NDArray[np.bool_]  #: undecided columns that may be negative

    @property
    def paid(self) -> int:
        """Number of decided columns."""
        return int(self.decided.sum())


def make_box(integers: IntegerProblem, lower: IntArray, upper: IntArray) -> Box:
    """Describe a box."""
    used = (lower != 0) | (upper != 0)
    grain = int(np.gcd.reduce(np.append(integers.units[:, used].ravel(), integers.unit)))
    decided = (lower > 0) | (upper < 0)
    return Box(lower, upper, grain, decided, ~decided & (upper > 0), ~decided & (lower < 0))


class Cut(NamedTuple):
    """A convex combination, in whole numbers."""

    positives: IntArray
    negatives: IntArray
    multipliers: tuple[int, ...]  #: of the positives, then of the negatives
    direction: IntArray  #: D; Python integers where 64 bits are too few
    weight: int  #: A
    ratio: NDArray[np.float64]  #: about D / A
    valid: NDArray[np.bool_]  #: thresholds at which all members are on the right side


def coefficients(cut: Cut, box: Box) -> tuple[IntArray, IntArray] | None:
    """GRID times the coefficients of s⁺ and s⁻ in a box; None where the cut says nothing."""
    low, high = cut.direction * box.lower, cut.direction * box.upper
    need = box.grain * cut.weight - int(np.maximum(low, high)[box.decided].sum())
    if need <= 0:
        return None
    plus = np.where(box.plus, np.maximum(high, 0), 0)
    minus = np.where(box.minus, np.maximum(low, 0), 0)
    # no column can be positive and negative: count the better of its two contributions
    if int(np.maximum(plus, minus).sum()) < need:
        return np.zeros(plus.size, dtype=np.int64), np.zeros(minus.size, dtype=np.int64)
    return _shares(plus, need), _shares(minus, need)


def _shares(parts: IntArray, need: int) -> IntArray:
    """⌈GRID · min(1, part / need)⌉, without overflow."""
    found = [GRID if part >= need else -(-part * GRID // need) for part in parts.tolist()]
    return np.array(found, dtype=np.int64)


class CutPool:
    """All cuts found so far; threads share it."""

    def __init__(self, integers: IntegerProblem) -> None:
        self.integers = integers
        self.cuts: list[Cut] = []
        self._known: dict[tuple[bytes, bytes, bytes], int] = {}
        self._lock = threading.Lock()
        most = np.maximum(np.abs(integers.lower), np.abs(integers.upper))
        reach = np.abs(integers.units).max(axis=0, initial=0) * np.maximum(most, 1)
        # D_k λ_k ≤ 2 A · reach_k, and grain · A must fit as well
        self._most_weight = _ROOM // (2 * sum(int(r) for r in reach) + integers.unit + 1)

    def __len__(self) -> int:
        return len(self.cuts)

    def add(
        self, positives: Sequence[int], negatives: Sequence[int], multipliers: Sequence[int]
    ) -> int | None:
        """Put a combination into the pool and return its number; None if it proves nothing."""
        u, w = np.asarray(positives, dtype=np.int64), np.asarray(negatives, dtype=np.int64)
        whole = [int(v) for v in multipliers]
        weight = sum(whole[: u.size])
        if min(whole, default=0) <= 0 or weight != sum(whole[u.size :]):
            return None
        small = weight <= self._most_weight
        units = self.integers.units if small else self.integers.units.astype(object)
        factors = np.array(whole, dtype=np.int64 if small else object)
        direction = factors[: u.size] @ units[u] - factors[u.size :] @ units[w]
        gains = self.integers.gains
        valid = np.all(gains[:, u] > 0, axis=1) & np.all(gains[:, w] < 0, axis=1)
        if not valid.any():
            return None
        ratio = np.array([float(d / weight) for d in direction])
        key = (np.sort(u).tobytes(), np.sort(w).tobytes(), ratio.tobytes())
        with self._lock:
            if key not in self._known:
                self._known[key] = len(self.cuts)
                self.cuts.append(Cut(u, w, tuple(whole), direction, weight, ratio, valid))
            return self._known[key]


class PoolView:
    """The pool's cuts from ``first`` on as matrices, with their coefficients in one box, as floats.

    It serves to find violated cuts quickly; rows of a program are made from exact coefficients.
    """

    def __init__(self, pool: CutPool, box: Box, first: int = 0) -> None:
        cuts = pool.cuts[first:]
        self.first, self.size = first, len(cuts)
        sizes = [c.positives.size + c.negatives.size for c in cuts]
        members = [m for c in cuts for m in (c.positives, c.negatives)]
        index = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        shape = (self.size, pool.integers.units.shape[0])
        self.members = sparse.csr_matrix((np.ones(index.size), index, start), shape=shape)
        columns = box.lower.size
        direction = np.array([c.ratio for c in cuts], dtype=np.float64).reshape(-1, columns)
        thresholds = pool.integers.gains.shape[0]
        self.valid = np.array([c.valid for c in cuts], dtype=bool).reshape(-1, thresholds)
        low, high = direction * box.lower, direction * box.upper
        need = box.grain - np.maximum(low, high)[:, box.decided].sum(axis=1)
        self.live = need > 0
        need = np.where(self.live, need, 1.0)[:, None]
        plus = np.where(box.plus, np.maximum(high, 0), 0) / need
        minus = np.where(box.minus, np.maximum(low, 0), 0) / need
        never = np.maximum(plus, minus).sum(axis=1) < 1
        plus[never], minus[never] = 0, 0
        self.plus, self.minus = np.minimum(plus, 1), np.minimum(minus, 1)

    def violated(
        self,
        lost: NDArray[np.float64],
        plus: NDArray[np.float64],
        minus: NDArray[np.float64],
        least: float,
    ) -> list[tuple[int, int]]:
        """Cuts (their numbers) and thresholds violated by more than ``least``, the worst first."""
        signs = self.plus @ plus + self.minus @ minus
        amount = 1 - signs[:, None] - self.members @ lost.T
        amount[~self.live] = -1
        amount[~self.valid] = -1
        cuts, thresholds = np.nonzero(amount > least)
        found = amount[cuts, thresholds]
        order = np.argsort(-found, kind="stable")
        return list(
            zip((cuts[order] + self.first).tolist(), thresholds[order].tolist(), strict=True)
        )
