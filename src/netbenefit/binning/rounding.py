"""Cut points as numbers that a person would choose, where that costs nothing measurable.

Any number in the gap between two neighbouring values splits a column alike.  Beyond the gap a cut
may cross a little weight, as long as the partition keeps its gain.  That leaves an interval
for each cut, and the roundest number in it is taken.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from netbenefit.binning.cells import Cells
from netbenefit.binning.search import CellScores
from netbenefit.binning.weights import SLACK
from netbenefit.common.checks import FloatArray

__all__ = ["round_cuts", "roundest"]

#: Largest share of all weight that a cut may cross.
_CROSSED = 0.01
#: Largest share of the partition's gain that rounding all cuts together may cost …
_LOST = 0.02
#: … or, where that is more, this much for each cut, in units of the gain of noise in a bin: within
#: one unit of the best place lie all places that the data cannot tell from it.
_UNSEEN = 1.0


def round_cuts(
    cells: Cells,
    edges: NDArray[np.intp],
    scores: CellScores,
    *,
    min_mass: float = 0.0,
    supervised: bool = True,
) -> FloatArray:
    """Return a round number for each edge, ascending.

    A number inside a quantile cell splits its rows in a way that the cells do not know; it is taken
    only if both the edge before and the edge after that cell would do.
    """
    if not len(edges):
        return np.empty(0)
    state = _Rounding(cells, edges, scores, min_mass, supervised)
    return np.array([state.round_next() for _ in edges])


class _Rounding:
    """Rounds cut after cut, each one with those before it already rounded."""

    def __init__(
        self,
        cells: Cells,
        edges: NDArray[np.intp],
        scores: CellScores,
        min_mass: float,
        supervised: bool,
    ) -> None:
        self.cells, self.supervised = cells, supervised
        self.edges = [int(edge) for edge in edges]
        self.sums = [_sums(part) for part in scores[:3]]
        self.ridge = scores.noise
        self.total = float(self.sums[0][-1])
        self.least = max(min_mass * (1.0 - SLACK), self.total * 1e-12)
        both_ends = np.concatenate((cells.starts, cells.ends))
        self.whole = bool(np.all(both_ends == np.floor(both_ends)))
        walls = [0, *self.edges, cells.size]
        gain = sum(self._gain(a, b) for a, b in pairwise(walls))
        self.scale = gain + self.ridge  # what losses are made of, and their last bits
        self.budget = max(_LOST * gain, _UNSEEN * self.ridge * len(self.edges))
        self.spent = 0.0
        self.done = 0
        self.before = {0}  # edges that the last cut may stand for

    def round_next(self) -> float:
        """Return the next cut."""
        own = self.edges[self.done]
        low = own
        while self._is_allowed(low - 1):
            low -= 1
        high = own
        while self._is_allowed(high + 1):
            high += 1
        starts, ends = self.cells.starts, self.cells.ends
        middle = 0.5 * float(ends[own - 1]) + 0.5 * float(starts[own])
        cut = roundest(float(ends[low - 1]), float(starts[high]), middle, whole=self.whole)
        meant = {int(np.searchsorted(part, cut, side="left")) for part in (starts, ends)}
        self.spent += max(0.0, *(self._lost(edge) for edge in meant))
        self.before = meant
        self.done += 1
        return cut

    def _next(self) -> int:
        """Return the edge after the one that is being rounded."""
        return [*self.edges, self.cells.size][self.done + 1]

    def _is_allowed(self, edge: int) -> bool:
        left, right = max(self.before), self._next()
        if not left < edge < right:
            return False
        mass = self.sums[0]
        crossed = abs(float(mass[edge] - mass[self.edges[self.done]]))
        if crossed > _CROSSED * self.total * (1.0 + SLACK):
            return False
        if min(mass[edge] - mass[left], mass[right] - mass[edge]) < self.least:
            return False
        # Half of what is left of the budget: most cuts need little of it.  The last may have all.
        share = (self.budget - self.spent) / (1 if right == self.cells.size else 2)
        return not self.supervised or self._lost(edge) <= share + SLACK * self.scale

    def _lost(self, edge: int) -> float:
        """Return how much the partition loses with the current edge at another place."""
        own, right = self.edges[self.done], self._next()
        return max(
            self._gain(left, own)
            + self._gain(own, right)
            - self._gain(left, edge)
            - self._gain(edge, right)
            for left in self.before
        )

    def _gain(self, start: int, end: int) -> float:
        _, g, h = (float(part[end] - part[start]) for part in self.sums)
        return g * g / (h + self.ridge) if self.ridge > 0 else 0.0


def _sums(parts: FloatArray) -> FloatArray:
    return np.concatenate(([0.0], np.cumsum(parts)))


def roundest(low: float, high: float, middle: float, *, whole: bool = False) -> float:
    """Return the roundest number c with low < c <= high, a whole one if ``whole``.

    The fewest decimal places first (or the most zeros at the end), then multiples of 5 of the last
    place, then the nearest to ``middle``.
    """
    if math.isinf(low) or math.isinf(high):
        low, high = _finite(low, high)
    if low < 0 <= high:
        return 0.0
    middle = middle if low < middle <= high else high
    bottom, top = Fraction(low), Fraction(high)
    place = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for exponent in range(place, -1 if whole else place - 20, -1):
        step = Fraction(10) ** exponent
        first, last = math.floor(bottom / step) + 1, math.floor(top / step)
        # The nearest float to a decimal just above ``low`` may be ``low`` itself.
        found = [(m, c) for m in range(first, last + 1) if (c := float(f"{m}e{exponent}")) > low]
        if found:
            best = min(found, key=lambda mc: (mc[0] % 5 > 0, abs(mc[1] - middle)))
            return best[1]
    return high


def _finite(low: float, high: float) -> tuple[float, float]:
    """Return an interval of ordinary size that touches the finite end of an endless one."""
    if math.isinf(low) and math.isinf(high):
        return -1.0, 0.0
    if math.isinf(high):
        return low, low + max(abs(low), 1.0)
    return high - max(abs(high), 1.0), high
