"""The integer program of a problem as sparse matrices, for any mixed-integer solver.

With λ the points, T the cut-offs, s_u = x_u·λ and φ_iu = "pattern u is called positive at threshold
i", maximise Σ gains[i, u] φ_iu − price · Σ α_k subject to

1. λ_k = 0 unless α_k = 1, and T_i ≤ T_{i+1};
2. φ_iu = 1 forces ⌊s_u⌋ ≥ T_i, where calling u brings a gain (or counts as an event found);
3. φ_iu = 0 forces ⌊s_u⌋ ≤ T_i − 1, where it brings a loss (or counts as a false alarm);
4. φ_iu ≥ φ_ju for thresholds i < j;
5. all limits of the problem.

Scores are taken in units (x = units / unit), so that 2 and 3 are comparisons of whole numbers:
S_u ≥ unit · T_i and S_u ≤ unit · T_i − 1.  Each row has its own big-M, the range of the difference
over all points and over all cut-offs that matter: a cut-off lies between the lowest score and one
above the highest, so differences of scores bound it, not only scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from netbenefit.common.checks import FloatArray, IntArray
from netbenefit.problem.cutoffs import floor_scores
from netbenefit.problem.integer import Pieces
from netbenefit.problem.problem import Problem
from netbenefit.solvers.milp import rows as rows_of

__all__ = ["TOLERANCE", "MilpModel", "build_model"]

#: Feasibility, integrality and optimality tolerance that backends set.  A smaller one is not safer:
#: with 1e-9, and rows that were not scaled, HiGHS cut off true optima even without presolve.
TOLERANCE = 1e-7
#: Bounds are used up to this big-M: the tolerance then moves a score by about 0.01 units.  It is a
#: choice, not a guarantee; see ``trusted``.
_TRUSTED = 2**17
#: Objective coefficients are kept below this, rounded outward if need be.
_COARSE = 2**30


@dataclass(frozen=True, eq=False)
class MilpModel:
    """Maximise objective·z with row_lower ≤ matrix·z ≤ row_upper, lower ≤ z ≤ upper, z whole.

    Attributes
    ----------
    problem : Problem
    pieces : Pieces
        Where the whole numbers come from.
    matrix : (rows, variables) sparse array
        Whole numbers, where they are large divided by a power of two a row.
    row_lower, row_upper, lower, upper : float64
    objective : (variables,) float64
        Whole numbers.
    grain : int
        value of :class:`Pieces` ≤ grain · objective·z for the best z of a point vector; equal where
        ``rounded`` is False.
    rounded : bool
        Whether gains were rounded up (and the price down) to multiples of ``grain``.
    blocks : mapping of str to slice
        Which variables are what: "points", "used", "cutoffs", "called", "choices", "sides" and
        "sizes".
    plan : Plan
        What stands behind the variables.
    big_m : int
        Largest big-M, in units of the scores.

    Examples
    --------
    >>> from netbenefit.data.patterns import PatternTable
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1])
    >>> model = build_model(Problem.build(table, Thresholds.of([0.5]), penalty=0.01))
    >>> model.names()
    ['points x0', 'used x0', 'cutoff p=0.5', 'called p=0.5 #0', 'called p=0.5 #1']
    >>> model.solution(np.array([2]))
    array([2, 1, 2, 0, 1])
    >>> model.value(np.array([2]))
    197
    """

    problem: Problem
    pieces: Pieces
    matrix: Any
    row_lower: FloatArray
    row_upper: FloatArray
    lower: FloatArray
    upper: FloatArray
    objective: FloatArray
    grain: int
    rounded: bool
    blocks: Mapping[str, slice]
    plan: rows_of.Plan
    big_m: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of variables."""
        return int(self.row_lower.size), int(self.lower.size)

    @property
    def integrality(self) -> NDArray[np.bool_]:
        """Which variables are whole numbers: all of them."""
        return np.ones(self.lower.size, dtype=np.bool_)

    @property
    def trusted(self) -> bool:
        """Whether a floating-point solver can tell neighbouring scores apart.

        A solver that takes 1 − tolerance for 1 moves the right-hand side of a row by big-M times
        its tolerance, which has to stay far below one unit.
        """
        return self.big_m <= _TRUSTED

    @property
    def margin(self) -> float:
        """What is added to a solver's bound before it is believed, in units of the objective.

        Reduced costs may be wrong by the tolerance for each step of each variable, and rows may be
        off by it, priced at no more than all that the objective holds.
        """
        span = self.upper - self.lower
        worth = np.abs(self.objective) * span
        return float(TOLERANCE * (1.0 + span.sum() + worth.sum()))

    def solution(self, points: IntArray) -> IntArray:
        """The best z of a point vector that the problem allows: feasible, without any rounding."""
        plan, blocks = self.plan, self.blocks
        vector = np.asarray(points, dtype=np.int64)
        cutoffs = (0, *self.problem.evaluate(vector).cutoffs)
        chosen = np.array([cutoffs[i] for i in plan.levels], dtype=np.int64)
        table = self.problem.patterns
        scores = floor_scores(table.codes, table.decimals, vector)
        z = np.zeros(self.lower.size, dtype=np.int64)
        z[blocks["points"]] = vector
        z[blocks["used"]] = vector != 0
        z[blocks["cutoffs"]] = chosen
        z[blocks["called"]] = scores[plan.called_pattern] >= chosen[plan.called_level]
        z[blocks["choices"]] = vector[plan.choice_column] == plan.choice_value
        z[blocks["sides"]] = np.sign(vector[plan.side_column]) == plan.side_sign
        z[blocks["sizes"]] = np.abs(vector[plan.size_column])
        return z

    def value(self, points: IntArray) -> int:
        """objective·z of a point vector, counted in whole numbers."""
        z = self.solution(points)
        pairs = zip(self.objective.tolist(), z.tolist(), strict=True)
        return sum(int(c) * v for c, v in pairs if c and v)

    def points_of(self, values: FloatArray) -> IntArray:
        """The point vector that a solver's values of the points block stand for."""
        nearest = np.rint(values).astype(np.int64)
        result: IntArray = np.clip(nearest, self.problem.lower, self.problem.upper)
        return result

    def to_objective(self, bound: float) -> Fraction:
        """Largest objective of a card, if objective·z ≤ bound + margin for all z."""
        return self.pieces.to_objective(self.grain * math.floor(bound + self.margin))

    def names(self) -> list[str]:
        """What each variable is, for people."""
        plan, columns = self.plan, self.problem.patterns.names
        at = [f"p={self.problem.thresholds.values[i]:g}" for i in plan.levels]
        called = zip(plan.called_level.tolist(), plan.called_pattern.tolist(), strict=True)
        choices = zip(plan.choice_column.tolist(), plan.choice_value.tolist(), strict=True)
        sides = zip(plan.side_column.tolist(), plan.side_sign.tolist(), strict=True)
        return [
            *(f"points {name}" for name in columns),
            *(f"used {name}" for name in columns),
            *(f"cutoff {p}" for p in at),
            *(f"called {at[i]} #{u}" for i, u in called),
            *(f"choice {columns[k]}={v}" for k, v in choices),
            *(f"side {columns[k]}{'+' if sign > 0 else '-'}" for k, sign in sides),
            *(f"size {columns[k]}" for k in plan.size_column.tolist()),
        ]


def build_model(problem: Problem) -> MilpModel:
    """Write a problem as an integer program.

    Program ilp:formulation of the paper, on patterns.
    """
    pieces = Pieces.of(problem)
    plan = rows_of.make_plan(problem, pieces)
    blocks = _blocks(plan)
    lower, upper = _bounds(plan, blocks)
    objective, grain, rounded = _objective(plan, pieces, blocks)
    parts, big_m = rows_of.all_rows(problem, pieces, plan, blocks)
    return MilpModel(
        problem=problem,
        pieces=pieces,
        matrix=sparse.vstack([part.matrix for part in parts], format="csr"),
        row_lower=np.concatenate([part.lower for part in parts]),
        row_upper=np.concatenate([part.upper for part in parts]),
        lower=lower,
        upper=upper,
        objective=objective,
        grain=grain,
        rounded=rounded,
        blocks=blocks,
        plan=plan,
        big_m=big_m,
    )


def _blocks(plan: rows_of.Plan) -> dict[str, slice]:
    sizes = {
        "points": plan.lower.size,
        "used": plan.lower.size,
        "cutoffs": len(plan.levels),
        "called": plan.called_level.size,
        "choices": plan.choice_column.size,
        "sides": plan.side_column.size,
        "sizes": plan.size_column.size,
    }
    ends = np.cumsum(list(sizes.values())).tolist()
    return {
        name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)
    }


def _bounds(plan: rows_of.Plan, blocks: Mapping[str, slice]) -> tuple[FloatArray, FloatArray]:
    """Bounds of all variables; those without a word below are 0 or 1."""
    count = blocks["sizes"].stop
    lower, upper = np.zeros(count), np.ones(count)
    lower[blocks["points"]], upper[blocks["points"]] = plan.lower, plan.upper
    lower[blocks["used"]] = (plan.lower > 0) | (plan.upper < 0)
    upper[blocks["used"]] = (plan.lower != 0) | (plan.upper != 0)
    lower[blocks["cutoffs"]], upper[blocks["cutoffs"]] = plan.cutoff_range
    largest = np.maximum(np.abs(plan.lower), np.abs(plan.upper))
    upper[blocks["sizes"]] = largest[plan.size_column]
    return lower, upper


def _objective(
    plan: rows_of.Plan, pieces: Pieces, blocks: Mapping[str, slice]
) -> tuple[FloatArray, int, bool]:
    """Gains and prices in whole numbers that floats hold, the worth of one, whether it rounded."""
    gains = plan.gains[plan.called_level, plan.called_pattern]
    common = int(np.gcd.reduce(np.append(gains, pieces.price))) or 1
    largest = max(int(np.abs(gains).max(initial=0)), pieces.price) // common
    coarser = 1 << max(0, largest.bit_length() - _COARSE.bit_length() + 1)
    grain = common * coarser
    objective = np.zeros(blocks["sizes"].stop)
    objective[blocks["called"]] = -(-gains // grain)
    objective[blocks["used"]] = -(pieces.price // grain)
    return objective, grain, coarser > 1
