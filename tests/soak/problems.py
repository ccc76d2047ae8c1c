"""Small problems: exact search, every bound and the integer program against all vectors.

The checks are those of ``tests/properties/test_beyond_doubt.py``; the problems are drawn without
hypothesis, which would take longer than the search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds, tidy
from netbenefit.problem import constraints as limits
from netbenefit.problem.problem import Problem
from netbenefit.teachers.crossfit import Taught
from tests.helpers.small_proofs import teach_problem
from tests.helpers.strategies import GRIDS, PENALTIES, questions_of
from tests.properties.test_beyond_doubt import check as check_problem
from tests.soak import Unusable

SHARE = 0.45
BATCH = 200
#: Every so many problems, all bounds; and the integer program and the judge.
BOUNDS, JUDGES = 4, 16
#: Vectors of a problem, which are all tried.
MOST = 1500

_COLUMNS = ("binary", "binary", "two", "small", "wide", "tenths", "thousandths", "constant", "copy")
_WIDE = (0, 1, 3000, -50_000, 1_000_003)
_THOUSANDTHS = (0.0, 0.001, -0.5, 2.125, 40.999)
_STRENGTHS = ("outcomes", "outcomes", None, "1/3", "50", "1000000000")


def draw(seed: int) -> Iterator[dict[str, Any]]:
    """The problems of a batch."""
    rng = np.random.default_rng(seed)
    for number in range(BATCH):
        case = _drawn(rng)
        case["bounds"], case["judges"] = number % BOUNDS == 0, number % JUDGES == 0
        while True:  # constraints may contradict each other
            try:
                _build(case)
                break
            except Unusable:
                if not case["constraints"]:
                    raise
                case["constraints"].pop()
        yield case


def _drawn(rng: np.random.Generator) -> dict[str, Any]:
    n, p = int(rng.integers(2, 11)), int(rng.integers(1, 7))
    columns: list[list[float]] = []
    while len(columns) < p:
        if p - len(columns) >= 2 and rng.random() < 0.2:  # one-hot
            levels = int(rng.integers(2, min(3, p - len(columns)) + 1))
            of = rng.integers(0, levels, n)
            columns += [(of == v).astype(int).tolist() for v in range(levels)]
        else:
            columns.append(_column(rng, str(rng.choice(_COLUMNS)), n, columns))
    event = rng.random(n) < rng.uniform(0.2, 0.8)
    event[:2] = True, False
    weights = _weights(rng, n)
    rows = [
        {"x": list(x), "y": int(y), "w": w}
        for x, y, w in zip(zip(*columns, strict=True), event, weights, strict=True)
    ]
    rows += [dict(rows[int(k)]) for k in rng.integers(0, n, int(rng.integers(0, 3)))]
    widest = int(MOST ** (1 / p))
    most = int(rng.integers(1, max(1, min(5, (widest - 1) // 2)) + 1))
    grid = _grid(rng)
    case = {
        "rows": rows,
        "thresholds": grid,
        "penalty": _pick(rng, PENALTIES),
        "max_points": most,
        "labels": rng.integers(0, p, p).tolist() if rng.random() < 0.5 else None,
        "strength": _pick(rng, _STRENGTHS),
    }
    size = int(rng.choice([0, 1, 2, 3, 4]))
    case["constraints"] = [_constraint(rng, p, most, grid) for _ in range(size)]
    return case


def _pick(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _column(rng: np.random.Generator, kind: str, n: int, before: list[Any]) -> list[float]:
    if kind == "binary":
        return rng.integers(0, 2, n).tolist()
    if kind == "two":
        return (7 * rng.integers(0, 2, n)).tolist()
    if kind == "wide":
        return rng.choice(_WIDE, n).tolist()
    if kind == "tenths":
        return (rng.integers(-25, 26, n) / 10).tolist()
    if kind == "thousandths":
        return rng.choice(_THOUSANDTHS, n).tolist()
    if kind == "constant":
        return [3] * n
    if kind == "copy" and before:
        return [-v for v in before[-1]] if rng.random() < 0.5 else list(before[-1])
    return rng.integers(-2, 5, n).tolist()


def _weights(rng: np.random.Generator, n: int) -> list[float]:
    kind = rng.integers(0, 4)
    if kind < 2:
        return rng.integers(1, 6, n).tolist()
    if kind == 2:
        return [10 ** int(v) for v in rng.integers(0, 10, n)]
    return (10.0 ** rng.uniform(-6, 6, n)).tolist()


def _grid(rng: np.random.Generator) -> list[list[float]]:
    """Thresholds with their weights."""
    if rng.random() < 0.5:
        grid = _pick(rng, GRIDS)
        return [list(pair) for pair in zip(grid.values[1:], grid.weights[1:], strict=True)]
    places: list[float] = []
    for _ in range(int(rng.integers(1, 5))):
        u = rng.random()
        if rng.random() < 0.3:
            places.append(_pick(rng, (1e-6, 3e-5, 0.001, 0.1, 0.5, 0.75, 0.999, 0.99999, 1 - 1e-6)))
        else:
            places.append(_pick(rng, (1e-6 + 0.01 * u, 0.02 + 0.96 * u, 1 - 1e-6 - 0.01 * u)))
    values = sorted({tidy(v) for v in places})
    raw = [_pick(rng, (1.0, 3.0, 1e-3, 1e-6, 3.14159)) for _ in values]
    return [[v, w] for v, w in zip(values, raw, strict=True)]


def _constraint(rng: np.random.Generator, p: int, most: int, grid: Any) -> list[Any]:
    """The name of a constraint and its arguments."""

    def some(most_columns: int) -> list[str]:
        size = int(rng.integers(1, min(p, most_columns) + 1))
        return [f"x{k}" for k in rng.choice(p, size, replace=False)]

    def points() -> int:
        return int(rng.integers(-most, most + 1))

    name = str(rng.choice([
        "Bounds", "Sign", "Values", "MaxFeatures", "MaxQuestions", "Include", "Exclude",
        "Exclusive", "AtMost", "AtLeast", "Implies", "MaxTotalPoints", "MinTPR", "MaxFPR",
    ]))  # fmt: skip
    columns = some(4)
    if name == "Bounds":
        return [name, columns[0], *sorted((points(), points()))]
    if name == "Sign":
        return [name, columns[0], str(rng.choice(["+", "-"]))]
    if name == "Values":
        return [name, columns[0], [0] * int(rng.integers(0, 2)) + [points(), points()]]
    if name in ("MaxFeatures", "MaxQuestions"):
        return [name, int(rng.integers(0, p + 1))]
    if name in ("Include", "Exclude", "Exclusive"):
        return [name, *some(4 if name == "Exclusive" else 2)]
    if name == "AtMost":
        return [name, int(rng.integers(0, 4)), columns]
    if name == "AtLeast":
        return [name, int(rng.integers(1, len(columns) + 1)), columns]
    if name == "Implies":
        return [name, some(1)[0], some(1)[0]]
    if name == "MaxTotalPoints":
        return [name, int(rng.integers(0, 3 * most + 1))]
    shares = ("0", "1/10", "1/3", "1/2", "3/4", "9/10", "1")
    return [name, _pick(rng, grid)[0], _pick(rng, shares)]


def _build(case: dict[str, Any]) -> tuple[Problem, Taught | None]:
    try:
        rows, grid = case["rows"], case["thresholds"]
        total = sum(w for _, w in grid)
        if not rows or len({len(row["x"]) for row in rows}) != 1 or total <= 0:
            raise Unusable
        table = PatternTable.from_arrays(
            np.array([row["x"] for row in rows], dtype=np.float64),
            [row["y"] for row in rows],
            sample_weight=[row["w"] for row in rows],
        )
        weights = [w / total for _, w in grid]
        thresholds = Thresholds.of([v for v, _ in grid], weights=weights)
        penalty, labels = case["penalty"], case["labels"]
        problem = Problem.build(
            table,
            thresholds,
            penalty=tuple(penalty) if isinstance(penalty, list) else penalty,
            max_points=case["max_points"],
            constraints=[getattr(limits, name)(*rest) for name, *rest in case["constraints"]],
            questions=None if labels is None else questions_of(table, labels),
        )
        if case["strength"] == "outcomes":
            return problem, None
        strength = case["strength"]
        return teach_problem(problem, None if strength is None else Fraction(strength))
    except (InputError, TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
        raise Unusable from error


def check(case: dict[str, Any]) -> Counter[str]:
    """The best card is found and proven; no bound is lower; the judges agree."""
    problem, taught = _build(case)
    check_problem(problem, taught, bounds=case["bounds"], judges=case["judges"])
    return Counter(
        {
            "exact problems": 1,
            "with all bounds": case["bounds"],
            "with the integer program and the judge": case["judges"],
            "with constraints": bool(case["constraints"]),
            "on blended outcomes": taught is not None,
        }
    )


def smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same without a column."""
    p = len(case["rows"][0]["x"])
    for k in range(p if p > 1 else 0):
        constraints = [
            [_moved(part, k) for part in one]
            for one in case["constraints"]
            if f'"x{k}"' not in repr(one).replace("'", '"')
        ]
        labels = case["labels"] and [*case["labels"][:k], *case["labels"][k + 1 :]]
        rows = [{**row, "x": [*row["x"][:k], *row["x"][k + 1 :]]} for row in case["rows"]]
        yield {**case, "rows": rows, "constraints": constraints, "labels": labels}


def _moved(part: Any, k: int) -> Any:
    """A constraint's argument after column k is gone: later columns move up."""
    if isinstance(part, list):
        return [_moved(one, k) for one in part]
    if isinstance(part, str) and part[:1] == "x" and int(part[1:]) > k:
        return f"x{int(part[1:]) - 1}"
    return part
