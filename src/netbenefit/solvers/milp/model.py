"""The integer program of a problem as sparse matrices, for any mixed-integer solver.

With λ the points, T the cut-offs, s_u = x_u·λ and φ_iu = "pattern u is called positive at threshold
i", maximise Σ gains[i, u] φ_iu − price · Σ α_k − question_price · Σ asked_q subject to

1. λ_k = 0 unless α_k = 1, asked_q ≥ α_k for the columns k of question q, and T_i ≤ T_{i+1};
2. φ_iu = 1 forces ⌊s_u⌋ ≥ T_i, where calling u brings a gain (or counts as an event found);
3. φ_iu = 0 forces ⌊s_u⌋ ≤ T_i − 1, where it brings a loss (or counts as a false alarm);
4. φ_iu ≥ φ_ju for thresholds i < j;
5. all limits of the problem.

A question with one column needs no variable of its own: α_k stands for it.

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
from scipy import sparse

from netbenefit.common import FloatArray, IntArray
from netbenefit.problem import IntegerProblem, Problem, floor_scores
from netbenefit.solvers.milp import rows as rows_of

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
    """Maximise objective·z with row_lower ≤ matrix·z ≤ row_upper, lower ≤ z ≤ upper, z whole."""

    problem: Problem
    integers: IntegerProblem
    matrix: Any  #: (rows, variables) sparse whole numbers, large rows divided by a power of two
    row_lower: FloatArray
    row_upper: FloatArray
    lower: FloatArray
    upper: FloatArray
    objective: FloatArray  #: (variables,) whole numbers
    #: value of the integers ≤ grain · objective·z of the best z; equal unless ``rounded``
    grain: int
    rounded: bool  #: whether gains were rounded up (and prices down) to multiples of ``grain``
    #: which variables are points, used, cutoffs, called, choices, sides, asked, least and sizes
    blocks: Mapping[str, slice]
    plan: rows_of.RowPlan
    big_m: int  #: largest big-M, in units of the scores

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of variables."""
        return int(self.row_lower.size), int(self.lower.size)

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
        z[blocks["asked"]] = [vector[own].any() for own in plan.asked]
        z[blocks["least"]] = [(answers @ vector).min() for answers, _ in plan.apart]
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
        return self.integers.to_objective(self.grain * math.floor(bound + self.margin))


def build_model(problem: Problem) -> MilpModel:
    """Write a problem as an integer program.

    Program ilp:formulation of the paper, on patterns.
    """
    integers = IntegerProblem.of(problem)
    plan = rows_of.make_plan(problem, integers)
    blocks = _blocks(plan)
    lower, upper = _bounds(plan, blocks)
    objective, grain, rounded = _objective(plan, integers, blocks)
    parts, big_m = rows_of.all_rows(problem, integers, plan, blocks)
    return MilpModel(
        problem=problem,
        integers=integers,
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


def _blocks(plan: rows_of.RowPlan) -> dict[str, slice]:
    sizes = {
        "points": plan.lower.size,
        "used": plan.lower.size,
        "cutoffs": len(plan.levels),
        "called": plan.called_level.size,
        "choices": plan.choice_column.size,
        "sides": plan.side_column.size,
        "asked": len(plan.asked),
        "least": len(plan.apart),
        "sizes": plan.size_column.size,
    }
    ends = np.cumsum(list(sizes.values())).tolist()
    return {
        name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)
    }


def _bounds(plan: rows_of.RowPlan, blocks: Mapping[str, slice]) -> tuple[FloatArray, FloatArray]:
    """Bounds of all variables; those without a word below are 0 or 1."""
    count = blocks["sizes"].stop
    lower, upper = np.zeros(count), np.ones(count)
    lower[blocks["points"]], upper[blocks["points"]] = plan.lower, plan.upper
    lower[blocks["used"]] = (plan.lower > 0) | (plan.upper < 0)
    upper[blocks["used"]] = (plan.lower != 0) | (plan.upper != 0)
    lower[blocks["cutoffs"]], upper[blocks["cutoffs"]] = plan.cutoff_range
    for j, (answers, _) in enumerate(plan.apart, start=blocks["least"].start):
        plus, minus = np.maximum(answers, 0), np.minimum(answers, 0)
        lower[j] = (plus @ plan.lower + minus @ plan.upper).min()
        upper[j] = (plus @ plan.upper + minus @ plan.lower).min()
    largest = np.maximum(np.abs(plan.lower), np.abs(plan.upper))
    upper[blocks["sizes"]] = largest[plan.size_column]
    return lower, upper


def _objective(
    plan: rows_of.RowPlan, integers: IntegerProblem, blocks: Mapping[str, slice]
) -> tuple[FloatArray, int, bool]:
    """Gains and prices in whole numbers that floats hold, the worth of one, whether it rounded."""
    gains = plan.gains[plan.called_level, plan.called_pattern]
    prices = np.full(plan.lower.size, integers.price + integers.question_price)
    for own in plan.asked:
        prices[own] = integers.price
    numbers = np.concatenate([gains, prices, np.repeat(integers.question_price, len(plan.asked))])
    common = int(np.gcd.reduce(numbers)) or 1
    largest = int(np.abs(numbers).max(initial=0)) // common
    coarser = 1 << max(0, largest.bit_length() - _COARSE.bit_length() + 1)
    grain = common * coarser
    objective = np.zeros(blocks["sizes"].stop)
    objective[blocks["called"]] = -(-gains // grain)
    objective[blocks["used"]] = -(prices // grain)
    objective[blocks["asked"]] = -(integers.question_price // grain)
    return objective, grain, coarser > 1
