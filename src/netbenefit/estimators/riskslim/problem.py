"""What RISKSLIM minimises, over which whole numbers, and the state of a search for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from netbenefit.common import FloatArray, IntArray
from netbenefit.data import PatternTable
from netbenefit.estimators.riskslim.relaxation import descend, loss_at
from netbenefit.problem import Progress, TraceRow
from netbenefit.solvers import now

#: Two objectives closer than this count as equal; every proof leaves this much open, and says so.
TOLERANCE = 1e-9
#: Half a unit in the last place of 1.
_UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class Lattice:
    """Minimise f(w) + Σ_k price_k · [w_k ≠ 0] over whole w with low ≤ w ≤ high.

    f is the mean logistic loss (see :mod:`netbenefit.estimators.riskslim.relaxation`); w_0 is the
    intercept, which has no price; at most ``most`` of the others may be other than zero.
    """

    z: FloatArray  #: (U, 1 + P) patterns, with a column of ones in front
    a: FloatArray  #: (U,) events of each pattern, as a share of all rows
    b: FloatArray  #: (U,) others
    low: IntArray
    high: IntArray
    price: FloatArray
    most: int
    total: float = 1.0  #: rows, or their weights

    @classmethod
    def of(
        cls,
        table: PatternTable,
        *,
        max_points: int,
        max_intercept: int,
        penalty: float,
        max_features: int | None = None,
    ) -> Lattice:
        """Pose the problem of a table; columns that never vary get no points."""
        values, p = table.values(), table.n_features
        z = np.ascontiguousarray(np.column_stack([np.ones(len(table)), values]))
        varies = ~(table.codes == table.codes[:1]).all(axis=0)
        high = np.concatenate([[max_intercept], np.where(varies, max_points, 0)]).astype(np.int64)
        total = float(table.n_total)
        return cls(
            z=z,
            a=table.positives / total,
            b=table.negatives / total,
            low=-high,
            high=high,
            price=np.concatenate([[0.0], np.full(p, float(penalty))]),
            most=p if max_features is None else min(p, int(max_features)),
            total=total,
        )

    def value(self, w: IntArray) -> float:
        """Objective of whole coefficients."""
        loss = loss_at(self.z @ w.astype(np.float64), self.a, self.b)
        return float(loss + self.price[w != 0].sum())

    def allows(self, w: IntArray) -> bool:
        """Whether coefficients are in the box, and few enough."""
        inside = (w >= self.low).all() and (w <= self.high).all()
        return bool(inside and np.count_nonzero(w[1:]) <= self.most)

    @cached_property
    def size(self) -> FloatArray:
        """Mean absolute value of each column over all rows."""
        result: FloatArray = (self.a + self.b) @ np.abs(self.z)
        return result

    def rounding(self, loss: float, at: FloatArray, low: IntArray, high: IntArray) -> float:
        """Most that rounding errors can add to a bound from the plane at ``at`` over a box.

        A sum of n terms is off by at most n units of the last place of the sum of their sizes: so
        much for the loss and its slopes, which the width of the box multiplies; the log odds
        themselves are sums of one term per column.
        """
        n, p = self.z.shape
        wide = 1.0 + loss + float(self.size @ (high - low))
        return float(_UNIT * ((n + p + 4) * wide + (p + 4) * (self.size @ np.abs(at))))

    def polish(self, w: IntArray) -> IntArray:
        """Discrete coordinate descent from w, which the lattice must allow."""
        moved = w.astype(np.int64).copy()
        descend(self.z, self.a, self.b, self.low, self.high, self.price, self.most, moved)
        return moved


@dataclass
class Search:
    """Best coefficients and bound so far, with the clock."""

    lattice: Lattice
    time_limit: float = math.inf
    callback: Callable[[Progress], bool | None] | None = None
    begin: float = field(default_factory=now)
    best: IntArray = field(init=False)
    value: float = field(init=False)
    bound: float = 0.0  #: a loss is never negative
    evaluations: int = 1
    trace: list[TraceRow] = field(default_factory=list)
    _last_call: float = 0.0

    def __post_init__(self) -> None:
        zero = np.zeros(self.lattice.low.size, dtype=np.int64)
        self.best = np.clip(zero, self.lattice.low, self.lattice.high)
        self.value = self.lattice.value(self.best)
        self._note("no points")

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return now() - self.begin

    @property
    def out_of_time(self) -> bool:
        """Whether the limit has passed."""
        return self.seconds >= self.time_limit

    @property
    def cutoff(self) -> float:
        """From this bound on, a box holds nothing that matters."""
        return self.value - TOLERANCE

    @property
    def proven(self) -> bool:
        """Whether the best is known to be the best."""
        return self.bound >= self.cutoff

    def offer(self, w: IntArray, source: str) -> bool:
        """Count what allowed coefficients are worth; keep them if they are better."""
        self.evaluations += 1
        value = self.lattice.value(w)
        better = value < self.value and self.lattice.allows(w)
        if better:
            self.best, self.value = w.copy(), value
            self._note(source)
        self.notify(better)
        return better

    def raise_bound(self, bound: float, source: str) -> None:
        """Keep a proven bound, never above what the tolerance leaves open."""
        bound = min(bound, self.cutoff)
        if bound > self.bound:
            gained = bound - self.bound
            self.bound = bound
            # a bound that creeps would fill the trace
            if gained > 1e-3 * self.value or self.proven:
                self._note(source)

    def notify(self, changed: bool = False) -> None:
        """Call the callback, at every better card and now and then."""
        now = self.seconds
        if self.callback is not None and (changed or now - self._last_call >= 0.1):
            self._last_call = now
            best = self.trace[-1]
            news = Progress(-self.value, best.size, now, self.evaluations, -self.bound)
            if self.callback(news):
                raise KeyboardInterrupt

    def _note(self, source: str) -> None:
        size = int(np.count_nonzero(self.best[1:]))
        self.trace.append(TraceRow(self.seconds, -self.value, size, -self.bound, source))
