"""The linear program of one box, whose multipliers pack conflicts.

    minimise  Σ |gain| z + price Σ_k (s⁺_k + s⁻_k) + question price Σ_q asked_q
    subject to the rows of conflicts (see ``conflict_pool``), s⁺_k + s⁻_k ≤ asked_q, all in 0 … 1,
               Σ_k support_rk (s⁺_k + s⁻_k) ≤ limit_r ,  Σ_q asked_q ≤ most questions .

The multipliers of its rows, rounded to whole numbers, are the entries of the box's proof: the
solver's tolerance, or an early end, can make the bound weaker but not wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import highspy
import numpy as np

from netbenefit.common import FloatArray, IntArray
from netbenefit.problem import Asked, Way
from netbenefit.solvers.bounds.conflict_pool import Name, Point, Pool, Room, View
from netbenefit.solvers.bounds.packed import Entries, Packer
from netbenefit.solvers.highs import quiet_highs

_INF = float(highspy.kHighsInf)
#: Seconds of solving between two looks at the clock.
_SLICE = 0.25


class PackingProgram:
    """The program of a box, with a growing set of rows.

    Columns: z_iu at i · n + u for the first pattern u of each cell, then s⁺, s⁻, asked.
    """

    def __init__(self, packer: Packer, pool: Pool, room: Room) -> None:
        self.packer, self.pool, self.room = packer, pool, room
        m, n = room.gains.shape
        self.shape = m, n, room.box.lower.size, packer.n_questions
        self.names: list[Name] = []
        self._present: set[Name] = set()
        self._cost = np.abs(room.gains).astype(np.float64).ravel()
        self.scale = 1.0 / max(1.0, float(self._cost.mean()))
        self.solver = quiet_highs(presolve="off", simplex_strategy=1)
        self._columns()
        self._fixed_rows()

    # -- building --------------------------------------------------------------------------------

    def _columns(self) -> None:
        m, n, p, q = self.shape
        box, integers = self.room.box, self.packer.integers
        cost = np.concatenate(
            [self._cost, np.full(2 * p, integers.price), np.full(q, integers.question_price)]
        )
        plus, minus = ~box.decided & (box.upper > 0), ~box.decided & (box.lower < 0)
        upper = np.concatenate([np.ones(m * n), plus, minus, box.asked != Asked.NO])
        lower = np.zeros(upper.size)
        lower[m * n + 2 * p :] = box.asked == Asked.YES
        self.solver.addVars(upper.size, lower, upper.astype(np.float64))
        index = np.arange(upper.size, dtype=np.int32)
        self.solver.changeColsCost(upper.size, index, cost * self.scale)

    def _fixed_rows(self) -> None:
        """Rows of columns and questions, then those of limits, which may be fined."""
        m, n, p, q = self.shape
        box, rules, of = self.room.box, self.packer.rules, self.packer.integers.questions
        plus, minus, asked = m * n, m * n + p, m * n + 2 * p
        rows: list[tuple[IntArray, FloatArray, float, float]] = []
        for k in np.flatnonzero(~box.decided):
            must = 0.0 if box.used[k] else -_INF
            index = np.array([plus + k, minus + k, asked + of[k]])
            rows.append((index, np.array([1.0, 1.0, -1.0]), must, 0.0))
        for question in np.flatnonzero(box.asked == Asked.YES):
            own = np.flatnonzero((of == question) & ~box.decided)
            if not (box.used & (of == question)).any():
                index = np.concatenate([plus + own, minus + own])
                rows.append((index, np.ones(index.size), 1.0, _INF))
        free = np.flatnonzero(~box.decided)
        both = np.concatenate([plus + free, minus + free])
        self._limits: list[int] = []
        certain = box.used & box.decided
        for r, (row, limit) in enumerate(zip(rules.support, rules.support_limit, strict=True)):
            left = float(limit - row[certain].sum())
            rows.append((both, np.tile(row[free].astype(np.float64), 2), -_INF, left))
            self._limits.append(r)
        if rules.max_questions < q:
            index = asked + np.arange(q)
            rows.append((index, np.ones(q), -_INF, float(rules.max_questions)))
            self._limits.append(rules.support.shape[0] + 1)
        self.fixed = len(rows)
        self._add(
            [row[0] for row in rows],
            [row[1] for row in rows],
            np.array([row[2] for row in rows]),
            np.array([row[3] for row in rows]),
        )

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

    def add(self, view: View, chosen: Sequence[tuple[int, int]]) -> int:
        """Add rows of a view at thresholds; return how many were new."""
        m, n, p, _ = self.shape
        columns, values = [], []
        start, cells = view.members.indptr, view.members.indices
        for row, i in chosen:
            name = int(view.numbers[row]), i
            if name in self._present or not view.valid[row, i]:
                continue
            own = cells[start[row] : start[row + 1]]
            plus, minus = np.flatnonzero(view.plus[row]), np.flatnonzero(view.minus[row])
            columns.append(np.concatenate([i * n + own, m * n + plus, m * n + p + minus]))
            shares = view.plus[row, plus], view.minus[row, minus]
            values.append(np.concatenate([np.ones(own.size), *shares]))
            self._present.add(name)
            self.names.append(name)
        self._add(columns, values, np.ones(len(columns)), np.full(len(columns), _INF))
        return len(columns)

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

    # -- solving ---------------------------------------------------------------------------------

    def solve(self, should_stop: Callable[[], bool]) -> Point:
        """Solve until told to stop; the point may be unfinished."""
        while True:
            self.solver.setOptionValue("time_limit", self.solver.getRunTime() + _SLICE)
            self.solver.run()
            if self.solver.getModelStatus() != highspy.HighsModelStatus.kTimeLimit or should_stop():
                break
        x = np.clip(np.asarray(self.solver.getSolution().col_value), 0.0, 1.0)
        m, n, p, _ = self.shape
        plus, minus = x[m * n : m * n + p], x[m * n + p : m * n + 2 * p]
        box = self.room.box
        plus = np.where(box.decided & (box.upper > 0), 1.0, plus)
        minus = np.where(box.decided & (box.lower < 0), 1.0, minus)
        return Point(x[: m * n].reshape(m, n), plus, minus, x[m * n + 2 * p :])

    def entries(self) -> tuple[list[Name], IntArray, IntArray, IntArray]:
        """Names and amounts of the multipliers that are not 0, limits and their fines."""
        duals = np.asarray(self.solver.getSolution().row_dual, dtype=np.float64)
        if duals.size != self.fixed + len(self.names) or not np.isfinite(duals).all():
            duals = np.zeros(self.fixed + len(self.names))
        top = float(self._cost.max(initial=0.0)) * self.shape[0] + 1.0
        whole = np.rint(np.clip(duals / self.scale, -top, top)).astype(np.int64)
        fines = np.maximum(-whole[self.fixed - len(self._limits) : self.fixed], 0)
        kept = np.flatnonzero(whole[self.fixed :] > 0)
        limits = np.array(self._limits, dtype=np.int64)
        return (
            [self.names[c] for c in kept],
            whole[self.fixed :][kept],
            limits[fines > 0],
            fines[fines > 0],
        )


def as_entries(numbers: IntArray, amounts: IntArray, limits: IntArray, fines: IntArray) -> Entries:
    """Multipliers of way SIGNS."""
    way = np.full(amounts.size, int(Way.SIGNS), dtype=np.int64)
    return Entries(numbers, amounts, way, limits, fines)
