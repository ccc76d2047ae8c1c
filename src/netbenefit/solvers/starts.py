"""Where a search may begin: rounded coefficients of logistic regression with an L1 penalty.

1. Fit a path: penalties from the one that leaves no column, over the noise level (what the largest
   of P columns without any effect would need to enter), down to almost none; columns divided by
   their standard deviations, one row a pattern and outcome.
2. Starts: divide each coefficient vector of the path by its largest entry, multiply by many scales,
   round, and move into what the problem allows.  The best of them by the objective is where a
   search begins.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._validation import FloatArray, InputError, IntArray
from netbenefit.patterns import PatternTable
from netbenefit.problem import Problem
from netbenefit.solvers._walker import make_walker

__all__ = ["Path", "allowed_start", "best_start", "logistic_path"]

#: Penalties above the noise level, and from there down.
_ABOVE, _BELOW = 6, 8
#: The weakest penalty, as a share of the noise level.
_WEAKEST = 1 / 30
#: Scales that a coefficient vector is rounded at.
_SCALES = 20
#: Most rows (a pattern with an outcome is one) that the path is fitted on.
_MOST_ROWS = 100_000
#: liblinear penalises the intercept, too; this factor makes that penalty negligible.
_INTERCEPT_SCALING = 100.0


class Path(NamedTuple):
    """Coefficients along the path, and how much the columns vary."""

    coefficients: FloatArray  #: (steps, P) a unit of the column, from few columns to all of them
    spread: FloatArray  #: (P,) standard deviation of the column


def logistic_path(table: PatternTable) -> Path:
    """Step 1.

    Examples
    --------
    >>> rows = [[0, 0], [0, 1], [1, 0], [1, 1]] * 50
    >>> path = logistic_path(PatternTable.from_arrays(rows, [0, 0, 1, 1] * 40 + [0, 1, 0, 1] * 10))
    >>> np.sign(path.coefficients[-1])
    array([1., 1.])
    """
    mass = np.concatenate([table.positives, table.negatives]) / table.denominator
    total, share = float(mass.sum()), table.event_mass / table.total_mass
    rows, mass = _some_rows(mass)
    pattern = rows % len(table)
    both = table.codes[pattern] / 10.0 ** np.array(table.decimals)
    mean = mass @ both / total
    spread = np.sqrt(mass @ (both - mean) ** 2 / total)
    x = (both - mean) / np.where(spread > 0, spread, 1.0)
    y = (rows < len(table)).astype(np.float64)
    association = (mass * (y - share)) @ x / total
    noise = math.sqrt(2.0 * math.log(max(2, table.n_features)) * share * (1.0 - share) / total)
    used = mass > 0
    penalties = _penalties(float(np.abs(association).max()), noise)
    path = [_fit(x[used], y[used], mass[used], 1.0 / (total * p)) for p in penalties]
    scale = np.where(spread > 0, spread, np.inf)
    return Path(np.array(path) / scale, spread)


def _some_rows(mass: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Rows to fit, and their mass: all, or a systematic sample of many, which does for a start.

    >>> _some_rows(np.array([1.0, 2.0]))
    (array([0, 1]), array([1., 2.]))
    """
    if np.count_nonzero(mass) <= _MOST_ROWS:
        return np.arange(mass.size, dtype=np.intp), mass
    total = float(mass.sum())
    places = (np.arange(_MOST_ROWS) + 0.5) * (total / _MOST_ROWS)
    hits = np.bincount(np.searchsorted(np.cumsum(mass), places), minlength=mass.size)[: mass.size]
    rows = np.flatnonzero(hits)
    drawn = (hits[rows] * (total / _MOST_ROWS)).astype(np.float64)
    return rows.astype(np.intp), drawn


def _penalties(strongest: float, noise: float) -> FloatArray:
    """Penalties of the path."""
    above = np.zeros(0)
    if strongest > noise:
        above = np.geomspace(0.9 * strongest + 0.1 * noise, noise, _ABOVE)
    first = min(noise, strongest) if strongest > noise * _WEAKEST else noise
    below = np.geomspace(first, noise * _WEAKEST, _BELOW + 1)[1:]
    return np.concatenate([above, below])


def _fit(x: FloatArray, y: FloatArray, mass: FloatArray, c: float) -> FloatArray:
    import sklearn  # late: slow to import
    from sklearn.linear_model import LogisticRegression

    modern = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
    kind: dict[str, Any] = {"l1_ratio": 1.0} if modern else {"penalty": "l1"}
    model = LogisticRegression(
        C=c,
        solver="liblinear",
        intercept_scaling=_INTERCEPT_SCALING,
        tol=1e-3,
        max_iter=200,
        random_state=0,
        **kind,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a path that has not converged is as good a start
        model.fit(x, y, sample_weight=mass)
    coefficients: FloatArray = model.coef_[0]
    return coefficients


def best_start(
    problem: Problem, path: Path, given: Sequence[int] | IntArray | None = None
) -> IntArray | None:
    """Step 2: the rounded vector with the highest objective; None where none is allowed.

    ``given`` points, such as those of an earlier card, compete where they are allowed.

    Examples
    --------
    >>> from netbenefit.thresholds import Thresholds
    >>> rows = [[0, 0], [0, 1], [1, 0], [1, 1]] * 50
    >>> table = PatternTable.from_arrays(rows, [0, 0, 1, 1] * 40 + [0, 1, 0, 1] * 10)
    >>> problem = Problem.build(table, Thresholds.tenths(), penalty=0.001)
    >>> best_start(problem, logistic_path(table))
    array([3, 2])
    """
    walker, best, highest = make_walker(problem, 0), None, -math.inf
    own = None if given is None else allowed_start(problem, given)
    for points in [*([] if own is None else [own]), *_rounded(problem, path)]:
        walker.start(points, True)
        if walker.found and float(walker.value) > highest:
            best, highest = points, float(walker.value)
    return best


def allowed_start(problem: Problem, points: Sequence[int] | IntArray) -> IntArray | None:
    """Move points into their bounds; None where other constraints still forbid them.

    Examples
    --------
    >>> from netbenefit.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    >>> problem = Problem.build(table, Thresholds.tenths(), max_points=3, max_features=1)
    >>> allowed_start(problem, [5, 0]), allowed_start(problem, [5, 1])
    (array([3, 0]), None)
    """
    vector = np.asarray(points, dtype=np.int64)
    if vector.shape != problem.lower.shape:
        raise InputError(
            f"start has {vector.size} points for {problem.lower.size} columns. Pass one a column."
        )
    inside = np.clip(vector, problem.lower, problem.upper)
    return inside if problem.allows(inside) else None


def _rounded(problem: Problem, path: Path) -> list[IntArray]:
    """All different vectors that the path rounds to and the problem allows."""
    most = int(np.maximum(np.abs(problem.lower), np.abs(problem.upper)).max())
    scales = np.geomspace(1.0, max(1, most), _SCALES)
    found: dict[bytes, IntArray] = {}
    for coefficients in path.coefficients:
        largest = float(np.abs(coefficients).max())
        for scale in scales if largest > 0 else ():
            points = np.rint(coefficients / largest * scale).astype(np.int64)
            points = _fewest(np.clip(points, problem.lower, problem.upper), problem, path)
            if problem.allows(points):
                found.setdefault(points.tobytes(), points)
    return list(found.values())


def _fewest(points: IntArray, problem: Problem, path: Path) -> IntArray:
    """Drop the columns with the smallest effect until the size is allowed."""
    excess = int(np.count_nonzero(points)) - problem.max_features
    if excess > 0:
        effect = np.where(points != 0, np.abs(points) * path.spread, np.inf)
        points[np.argsort(effect, kind="stable")[:excess]] = 0
    return points
