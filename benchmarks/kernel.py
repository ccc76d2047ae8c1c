"""All values of one coordinate, compared with one streaming read of the arrays that it needs."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from benchmarks.common import available, best_time, load_problem, median, show
from netbenefit.solvers.kernels.coordinates import (
    GROUP,
    WHOLE,
    Columns,
    State,
    columns_of,
    coordinate_gains,
    make_state,
    pair_gains,
    place,
)

LOOPS = 200


@numba.njit
def _stream(score: NDArray, mass: NDArray, column: NDArray, loops: int) -> int:  # type: ignore[type-arg]
    """Read scores, masses and a column once, doing next to nothing with them."""
    total = 0
    for _ in range(loops):
        for u in range(score.size):
            total += score[u] + mass[u] + column[u]
    return total


@numba.njit
def _coordinate(columns: Columns, state: State, k: int, out: NDArray, loops: int) -> None:  # type: ignore[type-arg]
    for _ in range(loops):
        coordinate_gains(columns, state, k, out)


@numba.njit
def _pair(columns: Columns, state: State, k: int, j: int, out: NDArray, loops: int) -> None:  # type: ignore[type-arg]
    for _ in range(loops):
        pair_gains(columns, state, k, j, out)


def measure(name: str) -> list[str]:
    """Microseconds of a streaming read and of 21 values of each column of one data set."""
    problem = load_problem(name)
    columns = columns_of(problem)
    state = make_state(columns)
    rng = np.random.default_rng(0)
    points = np.zeros(problem.lower.size, dtype=np.int64)
    chosen = rng.permutation(points.size)[:11]
    points[chosen] = rng.integers(-10, 11, chosen.size)
    if name == "spambase":
        points[-3:] = 0  # three columns of another scale, without points in any good card
    place(columns, state, points)
    dense = rng.integers(0, 2, columns.mass.size).astype(np.int8)
    out = np.zeros(21, dtype=problem.rates.dtype)
    _stream(state.score[WHOLE], columns.mass, dense, 1)
    _coordinate(columns, state, 0, out, 1)
    read = best_time(lambda: _stream(state.score[WHOLE], columns.mass, dense, LOOPS)) / LOOPS
    kinds = np.diff(columns.column[:, GROUP])
    times = []
    for k in range(points.size):
        loops = LOOPS if kinds[k] == 1 else 5
        times.append(best_time(lambda k=k, n=loops: _coordinate(columns, state, k, out, n)) / loops)  # type: ignore[misc]
    binary = [t for t, kind in zip(times, kinds, strict=True) if kind == 1]
    others = [t for t, kind in zip(times, kinds, strict=True) if kind != 1]
    row = [name, str(columns.mass.size), f"{read * 1e6:.2f}"]
    for group in (binary, others):
        row += [f"{median(group) * 1e6:.1f}", f"{max(group) * 1e6:.1f}"] if group else ["", ""]
    ratio = f"{median(binary) / read:.1f} / {max(binary) / read:.1f}" if binary else ""
    pair = ""
    if len(binary) > 1:
        k, j = np.flatnonzero(kinds == 1)[:2]
        both = np.zeros((21, 21), dtype=problem.rates.dtype)
        _pair(columns, state, k, j, both, 1)
        seconds = best_time(lambda: _pair(columns, state, k, j, both, 20)) / 20
        pair = f"{441 / seconds / 1e6:.1f}"
    return [*row, ratio, pair]


def main() -> None:
    """Print one row per data set; the goal is at most 4 × a streaming read on adult."""
    rows = [measure(name) for name in available()]
    header = [
        "data", "patterns", "read µs", "two-valued µs", "worst", "other µs", "worst",
        "× read", "pairs, M/s",
    ]  # fmt: skip
    show("All 21 values of one coordinate (goal on adult: ≤ 4 × one streaming read)", header, rows)


if __name__ == "__main__":
    main()
