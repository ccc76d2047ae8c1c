"""The covering program of one box: solved in floating point, its bound counted in integers.

    minimise  Σ |gain_iu| z_iu + price · Σ_k (s⁺_k + s⁻_k)
    subject to the cuts of the box (see ``cuts``), s⁺_k + s⁻_k ≤ 1, 0 ≤ z, s ≤ 1,
               Σ_k support_rk (s⁺_k + s⁻_k) ≤ limit_r ;

the value of every card of the box is at most ceiling − price · (decided columns) − minimum.

Any multipliers y ≥ 0 of the cuts give a bound: for whole y the Lagrangian minimum over z and s is a
sum over single variables, counted in integers.  So the solver's answer is only a hint; its
tolerances, or an early end, can make the bound weaker but not wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import highspy
import numpy as np

from netbenefit.common import FloatArray, IntArray
from netbenefit.problem import IntegerProblem
from netbenefit.solvers.bounds.cuts import GRID, Box, CutPool, coefficients
from netbenefit.solvers.highs import quiet_highs

_INF = float(highspy.kHighsInf)
#: Seconds of solving between two looks at the clock.
_SLICE = 0.25


#: Pairs (row, limit): Σ_k row[k] · [λ_k ≠ 0] ≤ limit.
SupportRows = Sequence[tuple[IntArray, int]]


class Point(NamedTuple):
    """A solution of the program."""

    lost: FloatArray  #: (m, n)
    plus: FloatArray  #: (P,) 1 for decided columns that may be positive
    minus: FloatArray


class CoverRows(NamedTuple):
    """Cuts at thresholds as sparse rows: Σ weights / GRID · x ≥ 1."""

    start: IntArray
    columns: IntArray
    weights: IntArray


class CoverProgram:
    """The covering program of a box with a growing set of rows.

    Columns: z_iu at i · n + u, then s⁺, then s⁻.
    """

    def __init__(self, pool: CutPool, box: Box, support: SupportRows = ()) -> None:
        self.pool, self.box, self.integers = pool, box, pool.integers
        #: support rows, and what decided columns leave of their limits
        self._support = [(row, limit - int(row[box.decided].sum())) for row, limit in support]
        m, n = self.integers.gains.shape
        self.shape = (m, n, box.lower.size)
        self.names: list[tuple[int, int]] = []
        self._present: set[tuple[int, int]] = set()
        self._parts: list[tuple[IntArray, IntArray]] = []
        self._cost = np.abs(self.integers.gains).ravel()
        self.scale = 1.0 / max(1.0, float(self._cost.mean()))
        self.solver = quiet_highs(presolve="off", simplex_strategy=1)
        self._columns()
        self._fixed_rows()

    # -- building --------------------------------------------------------------------------------

    def _columns(self) -> None:
        m, n, p = self.shape
        count = m * n + 2 * p
        cost = np.concatenate([self._cost, np.full(2 * p, self.integers.price)]) * self.scale
        upper = np.concatenate([np.ones(m * n), self.box.plus, self.box.minus]).astype(np.float64)
        self.solver.addVars(count, np.zeros(count), upper)
        self.solver.changeColsCost(count, np.arange(count, dtype=np.int32), cost)

    def _fixed_rows(self) -> None:
        """s⁺ + s⁻ ≤ 1, and the support rows (decided columns count as used)."""
        m, n, p = self.shape
        both = np.flatnonzero(self.box.plus & self.box.minus)
        columns = [np.array([m * n + k, m * n + p + k]) for k in both]
        values = [np.ones(2) for _ in both]
        limits = [1.0] * both.size
        for row, limit in self._support:
            columns.append(np.concatenate([m * n + np.arange(p), m * n + p + np.arange(p)]))
            values.append(np.concatenate([row, row]).astype(np.float64))
            limits.append(float(limit))
        self.fixed = len(columns)
        self._add(columns, values, np.full(self.fixed, -_INF), np.array(limits))

    def _add(
        self,
        columns: Sequence[IntArray],
        values: Sequence[FloatArray],
        low: FloatArray,
        high: FloatArray,
    ) -> None:
        if not columns:
            return
        sizes = [c.size for c in columns]
        start = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        index = np.concatenate(columns).astype(np.int32)
        self.solver.addRows(
            len(columns), low, high, index.size, start, index, np.concatenate(values)
        )

    def add(self, names: Sequence[tuple[int, int]]) -> int:
        """Add cuts at thresholds, given as (cut, threshold); return how many were new."""
        m, n, _ = self.shape
        parts: list[tuple[IntArray, IntArray]] = []
        known: dict[int, tuple[IntArray, IntArray] | None] = {}
        for number, i in names:
            cut = self.pool.cuts[number]
            if (number, i) in self._present or not cut.valid[i]:
                continue
            if number not in known:
                known[number] = coefficients(cut, self.box)
            shares = known[number]
            if shares is None:
                continue
            signs = np.concatenate(shares)
            used = np.flatnonzero(signs)
            members = np.concatenate([cut.positives, cut.negatives])
            index = np.concatenate([i * n + members, m * n + used])
            weights = np.concatenate([np.full(members.size, GRID), signs[used]])
            parts.append((index, weights))
            self._present.add((number, i))
            self.names.append((number, i))
        values = [weights / GRID for _, weights in parts]
        ones = np.ones(len(parts))
        self._add([index for index, _ in parts], values, ones, np.full(len(parts), _INF))
        self._parts.extend(parts)
        return len(parts)

    def purge(self) -> None:
        """Drop rows that hold with slack; the basis stays one."""
        status = self.solver.getBasis().row_status[self.fixed :]
        slack = [s == highspy.HighsBasisStatus.kBasic for s in status]
        if len(slack) != len(self.names) or not any(slack):
            return
        gone = (np.flatnonzero(slack) + self.fixed).astype(np.int32)
        self.solver.deleteRows(gone.size, gone)
        self._present -= {name for name, s in zip(self.names, slack, strict=True) if s}
        self.names = [name for name, s in zip(self.names, slack, strict=True) if not s]
        self._parts = [part for part, s in zip(self._parts, slack, strict=True) if not s]

    # -- solving ---------------------------------------------------------------------------------

    def solve(self, deadline: float, should_stop: Callable[[], bool] = lambda: False) -> Point:
        """Solve until ``deadline`` (of ``time.perf_counter``); the point may be unfinished."""
        while True:
            left = max(0.01, min(_SLICE, deadline - time.perf_counter()))
            self.solver.setOptionValue("time_limit", self.solver.getRunTime() + left)
            self.solver.run()
            status = self.solver.getModelStatus()
            if status != highspy.HighsModelStatus.kTimeLimit:
                break
            if time.perf_counter() > deadline or should_stop():
                break
        x = np.clip(np.asarray(self.solver.getSolution().col_value), 0.0, 1.0)
        m, n, p = self.shape
        plus, minus = x[m * n : m * n + p], x[m * n + p :]
        plus = np.where(self.box.decided & (self.box.upper > 0), 1.0, plus)
        minus = np.where(self.box.decided & (self.box.lower < 0), 1.0, minus)
        return Point(x[: m * n].reshape(m, n), plus, minus)

    def bound(self) -> int:
        """No card of the box is worth more; counted in integers from the last multipliers."""
        duals = np.asarray(self.solver.getSolution().row_dual, dtype=np.float64)
        if duals.size != self.fixed + len(self.names) or not np.isfinite(duals).all():
            duals = np.zeros(self.fixed + len(self.names))
        first = self.fixed - len(self._support)
        return lagrangian(
            self.integers,
            self.box,
            self._rows(),
            np.maximum(duals[self.fixed :], 0) / self.scale,
            self._support,
            np.maximum(-duals[first : self.fixed], 0) / self.scale,
        )

    def _rows(self) -> CoverRows:
        sizes = [index.size for index, _ in self._parts]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        empty = np.zeros(0, dtype=np.int64)
        return CoverRows(
            start,
            np.concatenate([empty, *(index for index, _ in self._parts)]),
            np.concatenate([empty, *(weights for _, weights in self._parts)]),
        )


def lagrangian(
    integers: IntegerProblem,
    box: Box,
    rows: CoverRows,
    duals: FloatArray,
    support: SupportRows = (),
    support_duals: FloatArray | tuple[()] = (),
) -> int:
    """Upper bound of the values of a box from any multipliers, in whole numbers.

    1. Round the multipliers down to whole multiples of 1 / fine of a unit of value.
    2. Reduced costs, times fine · GRID: cost − Σ_r weight_r y_r, whole.
    3. The Lagrangian is Σ y − Σ support y · limit + Σ_z min(0, reduced) + Σ_k min(0, reduced of s⁺,
       of s⁻), since at most one of the two signs of a column can be 1.
    """
    m, n = integers.gains.shape
    p = box.lower.size
    cost = np.concatenate([np.abs(integers.gains).ravel(), np.full(2 * p, integers.price)])
    top = sum(int(c) for c in np.abs(integers.gains).sum(axis=1)) + 2 * p * integers.price + 1
    room = 60 - (top * GRID).bit_length()
    fine = 2 ** max(0, min(room, 20))
    # sums of multipliers of one variable stay near its cost, unless the solver went wrong
    small = np.floor(np.clip(np.nan_to_num(duals), 0.0, float(top)) * fine)  # 1.
    huge = room < 0 or float(small.sum()) * GRID > 2.0**61
    kind = object if huge else np.int64
    whole = np.array([int(v) for v in small], dtype=kind)
    reduced = cost.astype(kind) * (fine * GRID)  # 2.
    np.subtract.at(reduced, rows.columns, rows.weights * np.repeat(whole, np.diff(rows.start)))
    total = int(whole.sum()) * GRID
    signs = [int(v) for v in reduced[m * n :]]
    for (row, limit), dual in zip(support, support_duals, strict=True):
        y = int(np.floor(min(float(np.nan_to_num(dual)), float(top)) * fine)) * GRID
        total -= y * limit
        signs = [s + y * int(row[j % p]) for j, s in enumerate(signs)]
    losses = reduced[: m * n]
    total += int(losses[losses < 0].sum())  # 3.
    for k in range(p):
        best = min(signs[k] if box.plus[k] else 0, signs[p + k] if box.minus[k] else 0)
        total += min(0, best)
    loss = -(-total // (fine * GRID))
    loss = max(loss, 0) if not support else loss
    return int(integers.ceiling - integers.price * box.paid - loss)
