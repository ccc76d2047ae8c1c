"""Where cuts come from: pairs of patterns, and a linear program over convex combinations.

The program looks for weights α of positives and β of negatives, Σα = Σβ = 1, with

    d⁺ − d⁻ = Σ α_u x_u − Σ β_w x_w ,
    minimise  Σ cost_u α_u + Σ cost_w β_w + Σ_k (price⁺_k d⁺_k + price⁻_k d⁻_k) ,

where costs stand for how much the current solution of the covering program has paid for a pattern
or a sign already.  A cut counts a member as a whole, however small its weight: costs are divided by
the weights of the last answer and the program is solved again.
"""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from netbenefit.common.checks import IntArray
from netbenefit.problem.integer import IntegerProblem
from netbenefit.solvers.bounds.cover_program import Point
from netbenefit.solvers.bounds.cuts import CutPool
from netbenefit.solvers.bounds.multipliers import null_multipliers
from netbenefit.solvers.highs import linear_program, quiet_highs
from netbenefit.solvers.kernels.jit import jit

__all__ = ["Pricing", "pair_cuts"]

FloatArray = NDArray[np.float64]
_INF = float(highspy.kHighsInf)
_TINY = 1e-9
#: Members that a pattern's or a column's price is meant for.
_MEMBERS = 8.0
#: Patterns of one side that a program looks at.
_MOST_MEMBERS = 700


class Pricing:
    """The pricing program; one for each thread."""

    def __init__(self, integers: IntegerProblem, pool: CutPool) -> None:
        self.integers, self.pool = integers, pool
        n, p = integers.units.shape
        self.n, self.p = n, p
        x = integers.units.astype(np.float64)
        self.range = np.maximum(x.max(axis=0) - x.min(axis=0), 1.0)
        scaled = sparse.csr_matrix((x / self.range).T)
        unit = sparse.identity(p, format="csr")
        ones, none = np.ones((1, n)), sparse.csr_matrix((1, p))
        matrix = sparse.vstack(
            [
                sparse.hstack([ones, sparse.csr_matrix((1, n)), none, none]),
                sparse.hstack([sparse.csr_matrix((1, n)), ones, none, none]),
                sparse.hstack([scaled, -scaled, -unit, unit]),
            ]
        ).tocsc()
        self._usable = np.ones(2 * n, dtype=bool)
        self._pass(matrix)

    def _pass(self, matrix: sparse.csc_matrix) -> None:
        rows, columns = matrix.shape
        sides = np.concatenate([[1.0, 1.0], np.zeros(rows - 2)])
        self.solver = quiet_highs(presolve="off", simplex_strategy=4)
        self.solver.passModel(
            linear_program(
                matrix,
                cost=np.zeros(columns),
                lower=np.zeros(columns),
                upper=np.full(columns, _INF),
                row_lower=sides,
                row_upper=sides,
            )
        )
        self._index = np.arange(columns, dtype=np.int32)

    def _solve(self, costs: FloatArray, usable: NDArray[np.bool_]) -> FloatArray | None:
        count = self._index.size
        upper = np.concatenate([usable, np.ones(2 * self.p, dtype=bool)])
        self.solver.changeColsCost(count, self._index, costs)
        self.solver.changeColsBounds(
            count, self._index, np.zeros(count), np.where(upper, _INF, 0.0)
        )
        self.solver.setOptionValue("time_limit", self.solver.getRunTime() + 1.0)
        self.solver.run()
        if self.solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return np.asarray(self.solver.getSolution().col_value, dtype=np.float64)

    def choose(self, point: Point, i: int, random: np.random.Generator) -> None:
        """Pick the patterns of threshold i that may take part: all, or some of very many."""
        gains = self.integers.gains[i]
        sides = []
        for side in (gains > 0, gains < 0):
            members = np.flatnonzero(side)
            if members.size > _MOST_MEMBERS:
                hope = random.random(members.size) + point.lost[i][members]
                members = members[np.argpartition(hope, _MOST_MEMBERS)[:_MOST_MEMBERS]]
            sides.append(np.isin(np.arange(self.n), members))
        self._usable = np.concatenate(sides)

    def search(
        self, point: Point, i: int, extra: FloatArray, weight: float, passes: int
    ) -> list[int]:
        """Cuts for threshold i (of the last :meth:`choose`) near the point; numbers in the pool.

        The program is solved ``passes`` times, reweighted; ``extra`` (n,) costs lead away from
        known cuts; ``weight`` is the price of a sign compared with that of a pattern.
        """
        n, p = self.n, self.p
        lost = np.tile(4.0 * (point.lost[i] + 1e-4 + extra), 2)
        signs = np.concatenate([point.plus, point.minus]) * weight + 1e-6
        w_lost, w_signs = np.ones(2 * n), np.ones(2 * p)
        found: list[int] = []
        for _ in range(passes):
            x = self._solve(np.concatenate([lost * w_lost, signs * w_signs]), self._usable)
            if x is None:
                break
            number = self._cut(x, point, i)
            if number is not None and number not in found:
                found.append(number)
            w_lost = 1.0 / (x[: 2 * n] * _MEMBERS + 0.2)
            w_signs = 1.0 / (x[2 * n :] * _MEMBERS + 0.2)
        return found

    def _cut(self, x: FloatArray, point: Point, i: int) -> int | None:
        """Turn an answer into a cut in whole numbers."""
        n, p = self.n, self.p
        positives = np.flatnonzero(x[:n] > 1e-7)
        negatives = np.flatnonzero(x[n : 2 * n] > 1e-7)
        if positives.size == 0 or negatives.size == 0:
            return None
        up, down = x[2 * n : 2 * n + p] > _TINY, x[2 * n + p :] > _TINY
        paid = point.lost[i][positives].sum() + point.lost[i][negatives].sum()
        if paid >= 1:
            return None
        priced = (point.plus > _TINY) | (point.minus > _TINY)
        zero = np.flatnonzero(~up & ~down & priced)
        weights = np.concatenate([x[:n][positives], x[n : 2 * n][negatives]])
        multipliers = self._multipliers(positives, negatives, weights, zero)
        if multipliers is None:
            return None
        return self.pool.add(positives.tolist(), negatives.tolist(), multipliers)

    def _multipliers(
        self, positives: IntArray, negatives: IntArray, weights: FloatArray, zero: IntArray
    ) -> list[int] | None:
        if positives.size == 1 and negatives.size == 1:
            return [1, 1]
        units = self.integers.units
        rows = np.concatenate([units[positives][:, zero], -units[negatives][:, zero]]).T
        sides = np.concatenate([np.ones(positives.size), -np.ones(negatives.size)])
        matrix = np.concatenate([rows, sides[None].astype(np.int64)])
        return null_multipliers(np.ascontiguousarray(matrix), weights)


@jit
def _best_pairs(
    units: IntArray,
    positives: IntArray,
    negatives: IntArray,
    lost: FloatArray,
    columns: IntArray,
    plus: FloatArray,
    minus: FloatArray,
    best: FloatArray,
) -> IntArray:
    """For each positive the negative with the most violated cut, and how much it is violated."""
    partner = np.zeros(positives.size, dtype=np.int64)
    for a in range(positives.size):
        u = positives[a]
        best[a] = -1.0
        for w in negatives:
            left = 1.0 - lost[u] - lost[w]
            for k in columns:
                if left <= best[a]:
                    break
                if units[u, k] > units[w, k]:
                    left -= plus[k]
                elif units[u, k] < units[w, k]:
                    left -= minus[k]
            if left > best[a]:
                best[a], partner[a] = left, w
    return partner


def pair_cuts(pool: CutPool, point: Point, i: int, least: float, most: int) -> list[int]:
    """The most violated cuts of two patterns at threshold i, one for each positive."""
    gains, lost = pool.integers.gains[i], point.lost[i]
    positives = np.flatnonzero((gains > 0) & (lost < 1 - least))
    negatives = np.flatnonzero((gains < 0) & (lost < 1 - least))
    if negatives.size == 0:
        return []
    signs = point.plus + point.minus
    columns = np.argsort(-signs, kind="stable")[: int((signs > 0).sum())]
    best = np.zeros(positives.size)
    partner = _best_pairs(
        pool.integers.units, positives, negatives, lost, columns, point.plus, point.minus, best
    )
    chosen = np.argsort(-best, kind="stable")[:most]
    found = [
        pool.add([int(positives[a])], [int(partner[a])], [1, 1]) for a in chosen if best[a] > least
    ]
    return [number for number in found if number is not None]
