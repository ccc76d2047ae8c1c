"""Linear programs for HiGHS: one way to write them down."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from netbenefit.common import FloatArray


def linear_program(
    matrix: Any,
    *,
    cost: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    row_lower: FloatArray,
    row_upper: FloatArray,
    whole: bool = False,
) -> Any:
    """Write down: minimise cost·x with lower ≤ x ≤ upper and row_lower ≤ matrix·x ≤ row_upper.

    ``matrix`` is dense or sparse; ``whole`` requires whole numbers x.
    """
    import highspy  # late: most work does without

    rows = sparse.csr_array(matrix)
    program: Any = highspy.HighsLp()
    program.num_row_, program.num_col_ = rows.shape
    program.col_cost_ = cost
    program.col_lower_, program.col_upper_ = lower, upper
    program.row_lower_, program.row_upper_ = row_lower, row_upper
    if whole:
        program.integrality_ = [highspy.HighsVarType.kInteger] * rows.shape[1]
    stored = program.a_matrix_
    stored.format_ = highspy.MatrixFormat.kRowwise
    stored.num_row_, stored.num_col_ = rows.shape
    stored.start_ = rows.indptr.astype(np.int32)
    stored.index_ = rows.indices.astype(np.int32)
    stored.value_ = rows.data
    return program


def equality_program(matrix: Any, sides: FloatArray, **options: Any) -> Any:
    """A quiet solver of matrix·x = sides, x ≥ 0, that has no costs yet."""
    import highspy

    columns = matrix.shape[1]
    solver = quiet_highs(**options)
    solver.passModel(
        linear_program(
            matrix,
            cost=np.zeros(columns),
            lower=np.zeros(columns),
            upper=np.full(columns, highspy.kHighsInf),
            row_lower=sides,
            row_upper=sides,
        )
    )
    return solver


def solve_again(solver: Any, cost: FloatArray, upper: FloatArray) -> FloatArray | None:
    """Solve with other costs of the last variables and other upper bounds; None if not optimal."""
    import highspy

    index = np.arange(upper.size, dtype=np.int32)
    solver.changeColsCost(cost.size, index[upper.size - cost.size :], cost)
    solver.changeColsBounds(upper.size, index, np.zeros(upper.size), upper)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.asarray(solver.getSolution().col_value, dtype=np.float64)


def quiet_highs(**options: Any) -> Any:
    """A silent solver with one thread; other options as HiGHS calls them."""
    import highspy

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        solver.setOptionValue(name, value)
    return solver
