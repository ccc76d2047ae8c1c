"""Random grids and models for the tests of theory, and how many of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from netbenefit import Thresholds
from tests.helpers.full import FULL

#: Random cases of each simulation.
CASES = 12_000 if FULL else 1_000


def some(share: int) -> int:
    """Number of cases of a slow simulation: one in ``share``, or all of them in the full run."""
    return CASES if FULL else CASES // share


GRIDS = [
    Thresholds.tenths(),
    Thresholds.of([i / 5 for i in range(5)]),
    Thresholds.of([0.0, 0.5]),
    Thresholds.of([0.5]),
    Thresholds.of([0.2, 0.3, 0.75]),
    Thresholds.parse("0.05:0.5:0.05"),
    Thresholds.of([0, 0.0857, 0.1102, 0.1325, 0.2292, 0.4491, 0.5409, 0.5727, 0.5778, 0.6975]),
]


class Model(NamedTuple):
    grid: Thresholds
    y: np.ndarray
    risk: np.ndarray
    weight: np.ndarray

    @property
    def share(self) -> float:
        return float(self.weight[self.y == 1].sum() / self.weight.sum())


def random_grid(rng: np.random.Generator) -> Thresholds:
    """One of the grids, or one of 1 to 9 random thresholds, with and without 0, in full or not."""
    if rng.random() < 0.4:
        return GRIDS[rng.integers(len(GRIDS))]
    size = int(rng.integers(1, 10))
    values = np.sort(rng.choice(np.arange(1, 99), size, replace=False)) / 100
    values = np.append(0.0, values) if rng.random() < 0.7 else values
    end = 1.0 if rng.random() < 0.7 else float(rng.uniform(values[-1], 1.0))
    return Thresholds.of(values, end=end)


def random_model(rng: np.random.Generator) -> Model:
    """Poor to perfect models, with few or many levels, ties, weights and wrong order.

    Every third model has two levels for events and two for non-events, like those on the boundary.
    """
    grid = random_grid(rng)
    y = np.append([0, 1], rng.random(rng.integers(0, 40)) < rng.random()).astype(int)
    size, n = len(grid), y.size
    if rng.random() < 1 / 3:
        a, b = rng.integers(0, size, (2, 2))
        level = np.where(y == 1, rng.choice(a, n), rng.choice(b, n))
        if rng.random() < 0.5:  # the arrangement of the upper or the lower bound
            k = rng.integers(1, size)
            above = rng.random() < 0.5
            a, b = ((k - 1, size - 1), (0, k)) if above else ((0, k), (k, size - 1))
            level = np.where(y == 1, rng.choice(a, n), rng.choice(b, n))
    else:
        ends = rng.integers(0, size, 2)
        own = rng.integers(ends.min(), ends.max() + 1, n)
        level = np.where(rng.random(n) < rng.random(), own, np.where(y == 1, *ends))
    tops = np.append(grid.array[1:], 1.0)
    inside = rng.choice([0.0, 0.5, 0.9])  # on a threshold, or between two
    risk = grid.array[level] + inside * (tops - grid.array)[level]
    weight = rng.integers(1, 9, n).astype(float) ** rng.integers(0, 3)
    return Model(grid, y, risk, weight if rng.random() < 0.7 else weight * 0.37)
