"""Random problems for Hypothesis: every kind of column, mass and threshold that a kernel meets."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from netbenefit.patterns import PatternTable
from netbenefit.problem import Problem
from netbenefit.thresholds import Thresholds

GRIDS = [
    Thresholds.tenths(),
    Thresholds.of([0.5], weights=[1.0]),
    Thresholds.range(0.05, 0.5, 0.15),
    Thresholds.of([0, 0.2, 0.35], weights="length"),
    Thresholds.of([0.3, 0.6], weights=[0.0, 1.0]),
]
#: No common integer scale: floats.
ROUGH_GRID = Thresholds.of([0.0857, 0.1102, 0.4491, 0.5778, 0.6975], weights="length")


def _column(draw: st.DrawFn, kind: str, n: int) -> list[float]:
    values = {
        "binary": st.integers(0, 1),
        "two": st.sampled_from([0, 7]),
        "small": st.integers(-2, 4),
        "wide": st.sampled_from([0, 1, 3000, -50_000, 1_000_003]),
        "tenths": st.integers(-25, 25).map(lambda v: v / 10),
        "thousandths": st.sampled_from([0.0, 0.001, -0.5, 2.125, 40.999]),
        "constant": st.just(3),
    }[kind]
    return draw(st.lists(values, min_size=n, max_size=n))


KINDS = ["binary", "binary", "two", "small", "wide", "tenths", "thousandths", "constant"]


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    max_rows: int = 10,
    max_columns: int = 4,
    kinds: tuple[str, ...] = tuple(KINDS),
    real_weights: bool = False,
) -> PatternTable:
    """A table with both classes."""
    n = draw(st.integers(2, max_rows))
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=max_columns))
    X = np.column_stack([_column(draw, kind, n) for kind in chosen]).astype(np.float64)
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n).filter(lambda y: 0 < sum(y) < n))
    whole = st.integers(1, 5)
    weight = st.floats(0.1, 3.0, allow_nan=False) if real_weights else whole
    weights = draw(st.lists(weight, min_size=n, max_size=n))
    if real_weights:
        weights[0] = 0.37  # so that not all of them happen to be whole
    return PatternTable.from_arrays(X, y, sample_weight=weights)


@st.composite
def problems(
    draw: st.DrawFn,
    *,
    max_points: int = 4,
    real: bool = False,
    max_rows: int = 10,
    max_columns: int = 4,
    kinds: tuple[str, ...] = tuple(KINDS),
) -> Problem:
    """A problem: exact (integers) or not (real weights or thresholds without a common scale)."""
    real_weights = real and draw(st.booleans())
    table = draw(
        tables(max_rows=max_rows, max_columns=max_columns, kinds=kinds, real_weights=real_weights)
    )
    grid = ROUGH_GRID if real and not real_weights else draw(st.sampled_from(GRIDS))
    penalty = draw(st.sampled_from(["auto", 0.0, 0.01]))
    bounds = {}
    for k in range(table.n_features):
        if draw(st.integers(0, 3)) == 0:
            low = draw(st.integers(-max_points, max_points))
            bounds[k] = (low, draw(st.integers(low, max_points)))
    forced = sum(low > 0 or high < 0 for low, high in bounds.values())
    limit = draw(st.none() | st.integers(forced, table.n_features))
    return Problem.build(
        table, grid, penalty=penalty, max_points=max_points, bounds=bounds, max_features=limit
    )


def points_of(draw: st.DrawFn, problem: Problem) -> np.ndarray:
    """Some points within the bounds (not minding max_features)."""
    pairs = zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
    return np.array([draw(st.integers(low, high)) for low, high in pairs], dtype=np.int64)
