"""Reference values for bounds: every vector of a small box, evaluated one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from netbenefit.problem.problem import IntegerProblem


def all_points(integers: IntegerProblem) -> np.ndarray:
    """Every vector of the box."""
    ranges = [range(a, b + 1) for a, b in zip(integers.lower, integers.upper, strict=True)]
    return np.array(list(product(*ranges)), dtype=np.int64)


def all_values(integers: IntegerProblem, points: np.ndarray) -> np.ndarray:
    """Value of every vector, as ``IntegerProblem.value`` gives it (a test compares the two)."""
    scores = points @ integers.units.T // integers.unit
    total = np.zeros(len(points), dtype=np.int64)
    for row in integers.gains:
        best = np.zeros(len(points), dtype=np.int64)
        for t in range(scores.shape[1]):
            called = scores >= scores[:, t : t + 1]
            best = np.maximum(best, called @ row)
        total += best
    total -= integers.price * (points != 0).sum(axis=1)
    for question in set(integers.questions.tolist()):
        used = (points[:, integers.questions == question] != 0).any(axis=1)
        total -= integers.question_price * used
    return total


def random_problem(
    rng: np.random.Generator,
    *,
    rows: int = 9,
    columns: int = 4,
    most: int = 2,
    kinds: tuple[str, ...] = ("binary", "small", "tenths", "twin", "group"),
    noise: float = 0.5,
    thresholds: int = 3,
) -> IntegerProblem:
    """A tiny problem: a hidden card with noise; ties, duplicates, one-hot groups, fractions."""
    n, p = int(rng.integers(2, rows + 1)), int(rng.integers(1, columns + 1))
    unit = 1
    parts: list[np.ndarray] = []
    while len(parts) < p:
        kind = str(rng.choice(kinds))
        if kind == "binary":
            parts.append(rng.integers(0, 2, n))
        elif kind == "small":
            parts.append(rng.integers(-2, 4, n))
        elif kind == "wide":
            parts.append(rng.choice([0, 1, 3000, -50_000, 1_000_003], n) + rng.integers(0, 4, n))
        elif kind == "tenths":
            unit = 10
            parts.append(rng.integers(-15, 16, n) / 10)
        elif kind == "twin" and parts:
            parts.append(int(rng.choice([-2, -1, 1, 3])) * parts[-1] + int(rng.integers(0, 2)))
        elif kind == "group":
            which = rng.integers(0, 3, n)
            parts += [(which == v).astype(int) for v in range(3)]
    units = np.rint(np.column_stack(parts[:p]) * unit).astype(np.int64)
    units = np.unique(units, axis=0)
    n = len(units)
    hidden = rng.integers(-2, 3, p)
    likely = (units @ hidden > np.median(units @ hidden)).astype(float)
    likely = (1 - noise) * likely + noise * rng.random(n)
    m = int(rng.integers(1, thresholds + 1))
    mass = rng.integers(1, 5, n)
    positives = rng.binomial(mass, np.where(rng.random(n) < 0.6, likely > 0.5, likely))
    alarm = np.sort(rng.integers(1, 9, m))
    gains = int(rng.integers(1, 4)) * positives - alarm[:, None] * (mass - positives)
    lower, upper = np.full(p, -most), np.full(p, most)
    for k in range(p):
        if rng.random() < 0.25:
            lower[k] = rng.integers(-most, most + 1)
            upper[k] = rng.integers(lower[k], most + 1)
    price = int(rng.choice([0, 1, 1, 2, 5]))
    extra, questions = 0, np.arange(p)
    if rng.random() < 0.5:
        extra, questions = int(rng.choice([0, 1, 3])), rng.integers(0, p, p)
    return IntegerProblem(
        units=units,
        unit=unit,
        gains=gains,
        price=price,
        question_price=extra,
        questions=questions,
        lower=lower,
        upper=upper,
        constant=Fraction(0),
        total=Fraction(int(mass.sum())),
        exact=True,
    )
