"""Rounding to points keeps every row's side; the generalisation bound holds in simulation."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from netbenefit import InputError, Thresholds
from netbenefit.theory import (
    generalisation_bound,
    learning_capacity,
    round_linear,
    rounding_loss,
    rows_needed,
)
from tests.helpers.full import more_cases
from tests.helpers.theory_cases import CASES, random_grid, some

pytestmark = more_cases

# -- learning capacity -----------------------------------------------------------------------------


def random_linear(rng: np.random.Generator, n_cutoffs: int) -> tuple[np.ndarray, ...]:
    """Rows of any kind, real coefficients, and cut-offs between scores or anywhere."""
    n, n_features = rng.integers(2, 25), rng.integers(1, 5)
    X = np.column_stack(
        [
            [
                rng.integers(0, 2, n),
                rng.integers(-5, 9, n),
                rng.integers(0, 40, n) / 10,
                rng.normal(0, 3, n),
            ][rng.integers(4)]
            for _ in range(n_features)
        ]
    ).astype(float)
    rho = rng.normal(size=n_features) * 10.0 ** rng.integers(-3, 4)
    rho[rng.random(n_features) < 0.2] = 0.0
    if not rho.any():
        rho[0] = 1.0
    scores = np.unique(X @ rho)
    scores = scores[np.append(True, np.diff(scores) > 1e-9 * np.abs(rho).max())]
    if rng.random() < 0.5 and scores.size > 1:
        t = rng.choice((scores[1:] + scores[:-1]) / 2, n_cutoffs)
    else:
        t = rng.uniform(scores[0] - 1, scores[-1] + 1, n_cutoffs)
    return X, rho, np.sort(t)


def meant(x: float) -> Fraction:
    """The tenth that a number stands for, or the number itself."""
    tenth = Fraction(round(x * 10), 10)
    return tenth if float(tenth) == x else Fraction(x)


def exact_sides(X: np.ndarray, rho: np.ndarray, t: np.ndarray) -> list[list[bool]]:
    """Whether x·ρ ≥ t_i, in fractions."""
    exact = [[meant(float(v)) for v in row] for row in X]
    coefficients = [Fraction(float(v)) for v in rho]
    scores = [sum(a * b for a, b in zip(row, coefficients, strict=True)) for row in exact]
    return [[s >= Fraction(float(c)) for c in t] for s in scores]


def exact_distances(X: np.ndarray, rho: np.ndarray, t: np.ndarray) -> list[Fraction]:
    """γ_j of every row, in fractions."""
    coefficients = [Fraction(float(v)) for v in rho]
    cutoffs = [Fraction(float(c)) for c in t]
    scores = [
        sum(Fraction(float(a)) * b for a, b in zip(row, coefficients, strict=True)) for row in X
    ]
    largest = max(abs(b) for b in coefficients)
    return [min(abs(s - c) for c in cutoffs) / largest for s in scores]


def test_enough_points_keep_every_row_on_its_side() -> None:
    rng = np.random.default_rng(1)
    kept = 0
    for _ in range(CASES):
        X, rho, t = random_linear(rng, rng.integers(1, 5))
        try:
            capacity = learning_capacity(X, rho, t)
        except InputError:
            assert min(exact_distances(X, rho, t)) < Fraction(1, 10**6)
            continue
        kept += 1
        model = round_linear(X, rho, t, capacity.max_points)
        assert model.changed == ()
        assert exact_sides(X, model.points, model.cutoffs) == exact_sides(X, rho, t)
        assert np.abs(model.points).max() == capacity.max_points
        assert np.abs(model.cutoffs).max() <= capacity.max_cutoff
        assert (np.diff(model.cutoffs) >= 0).all()
        # The theorem's conditions, in fractions: enough, and no more than needed.
        gamma = min(exact_distances(X, rho, t))
        norm = max(sum(abs(Fraction(float(v))) for v in row) for row in X)
        needed = (norm + 1) / (2 * gamma)
        assert needed < capacity.max_points
        assert capacity.max_points <= needed * (1 + Fraction(1, 10**6)) + 1
        assert capacity.max_cutoff >= capacity.max_points * capacity.norm
        assert capacity.margin == pytest.approx(float(gamma), rel=1e-6, abs=1e-14)
        within = np.abs(t).max() <= np.abs(X @ rho).max()
        if within:
            assert capacity.max_cutoff == math.ceil(capacity.max_points * capacity.norm)
    assert kept > 0.9 * CASES


def exact_net_benefit(sides, y: np.ndarray, grid: Thresholds) -> Fraction:
    """Σ_{i≥1} ω_i NB_i of sides of cut-offs T_1 … T_M."""
    total = Fraction(0)
    odds = [p / (1 - p) for p in grid.fractions]
    for i in range(1, len(grid)):
        tp = sum(1 for row, event in zip(sides, y, strict=True) if row[i - 1] and event)
        fp = sum(1 for row, event in zip(sides, y, strict=True) if row[i - 1] and not event)
        total += grid.weight_fractions[i] * (tp - odds[i] * fp)
    return total / len(y)


def test_dropped_rows_cost_no_more_than_is_said() -> None:
    rng = np.random.default_rng(2)
    smaller = 0
    for _ in range(some(2)):
        grid = random_grid(rng)
        X, rho, t = random_linear(rng, len(grid) - 1)
        y, drop = rng.integers(0, 2, len(X)), int(rng.integers(0, len(X)))
        try:
            capacity = learning_capacity(X, rho, t, drop=drop)
        except InputError:
            continue
        gamma = exact_distances(X, rho, t)
        assert len(capacity.dropped) <= drop
        left = [g for j, g in enumerate(gamma) if j not in capacity.dropped]
        assert all(gamma[j] <= float(min(left)) * (1 + 1e-9) + 1e-12 for j in capacity.dropped)
        assert capacity.margin == pytest.approx(float(sorted(gamma)[drop]), rel=1e-6, abs=1e-14)
        model = round_linear(X, rho, t, capacity.max_points)
        assert set(model.changed) <= set(capacity.dropped)
        assert np.abs(model.cutoffs).max() <= capacity.max_cutoff
        before = exact_net_benefit(exact_sides(X, rho, t), y, grid)
        after = exact_net_benefit(exact_sides(X, model.points, model.cutoffs), y, grid)
        assert after >= before - Fraction(rounding_loss(grid, drop, len(y))) - Fraction(1, 10**12)
        try:
            smaller += capacity.max_points < learning_capacity(X, rho, t).max_points
        except InputError:
            smaller += 1
    assert smaller > CASES // 10


def test_fewer_points_may_change_sides() -> None:
    """The rows that are named are those that change, and there are some."""
    rng = np.random.default_rng(3)
    n_changed = 0
    for _ in range(some(4)):
        X, rho, t = random_linear(rng, 3)
        model = round_linear(X, rho, t, int(rng.integers(1, 6)))
        before, after = exact_sides(X, rho, t), exact_sides(X, model.points, model.cutoffs)
        changed = [
            j for j, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]
        ]
        assert list(model.changed) == changed
        n_changed += bool(changed)
    assert n_changed > CASES // 40


def test_ties_of_the_margin_are_kept() -> None:
    X, rho = [[0], [1], [2], [3]], [1.0]
    assert learning_capacity(X, rho, [1.5], drop=1).dropped == ()  # rows 1 and 2 are as near
    assert learning_capacity(X, rho, [1.5], drop=2).dropped == (1, 2)
    assert learning_capacity(X, rho, [1.25], drop=1).dropped == (1,)


# -- generalisation --------------------------------------------------------------------------------


def plain_bound(n, max_points, max_cutoff, grid: Thresholds, confidence: float) -> float:
    delta = (1 - confidence) / (2 * len(grid.values))
    spread = sum(w / (1 - p) for w, p in zip(grid.weights, grid.values, strict=True))
    count = (2 * max_cutoff + 1) * math.prod(2 * top + 1 for top in max_points)
    return spread * math.sqrt((math.log(count) - math.log(delta)) / (2 * n))


def test_bound_is_the_formula_and_rows_needed_its_smallest_inverse() -> None:
    rng = np.random.default_rng(4)
    for _ in range(CASES):
        grid = random_grid(rng)
        size = {
            "max_points": rng.integers(0, 30, rng.integers(1, 30)).tolist(),
            "max_cutoff": int(rng.integers(0, 500)),
            "thresholds": grid,
            "confidence": float(rng.choice([0.5, 0.9, 0.95, 0.999, rng.uniform(0.01, 0.9999)])),
        }
        n = int(10 ** rng.uniform(0, 7))
        bound = generalisation_bound(n, **size)
        assert bound == pytest.approx(
            plain_bound(n, size["max_points"], size["max_cutoff"], grid, size["confidence"])
        )
        assert rows_needed(bound, **size) == n  # its own bound is met, one row fewer is not
        bound = float(10 ** rng.uniform(-3, 0.5))
        n = rows_needed(bound, **size)
        assert generalisation_bound(n, **size) <= bound
        assert n == 1 or generalisation_bound(n - 1, **size) > bound


def largest_gaps(rng, n: int, max_points: int, max_cutoff: int, grid: Thresholds, draws: int):
    """sup over all cards of (training − expected) net benefit, for each of many samples of n rows.

    Rows are two whole-numbered columns and an outcome, from one random distribution.  Every card of
    the box is tried: for given points the best cut-off of each threshold is found on its own.
    """
    values = list(product(range(2), range(3), range(2)))  # x1, x2, y
    chances = rng.dirichlet(np.full(len(values), 0.5))
    shares = rng.multinomial(n, chances, draws) / n
    off = shares - chances  # (draws, cells)
    x, y = np.array(values)[:, :2], np.array(values)[:, 2]
    box, worst = range(-max_points, max_points + 1), np.full(draws, -np.inf)
    cutoffs = np.arange(-max_cutoff, max_cutoff + 1)
    for points in product(box, box):
        called = (x @ points)[:, None] >= cutoffs  # (cells, cut-offs)
        tp, fp = off @ (called * (y == 1)[:, None]), off @ (called * (y == 0)[:, None])
        total = sum(
            w * (tp - r * fp).max(axis=1) for w, r in zip(grid.weights, grid.odds, strict=True)
        )
        worst = np.maximum(worst, total)
    return worst


def test_generalisation_bound_is_never_violated() -> None:
    rng = np.random.default_rng(5)
    draws, ratios = 0, []
    while draws < CASES:
        grid, n = random_grid(rng), int(10 ** rng.uniform(0.5, 3.5))
        gaps = largest_gaps(rng, n, 2, 6, grid, 50)
        bound = generalisation_bound(n, [2, 2], 6, grid, confidence=0.5)
        assert (gaps <= bound).all()
        ratios += (gaps / bound).tolist()
        draws += 50
    # It is wide, but a bound of a third would be violated.
    assert max(ratios) > 1 / 3


# -- what cannot be used ---------------------------------------------------------------------------

X3 = [[0.0], [1.0], [2.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: learning_capacity(X3, [1.0], [1.0]), "row 1 lies on a cut-off"),
        (lambda: learning_capacity(X3, [1.0], [1.0 + 1e-15]), "row 1 lies on a cut-off"),
        (lambda: learning_capacity([[1e9], [2e9]], [1.0], [1e9 + 1]), "would be needed"),
        (lambda: learning_capacity(X3, [1.0], [0.5], drop=3), "leaves none of the 3 rows"),
        (lambda: learning_capacity(X3, [1.0], [0.5], drop=-1), "drop must be a whole number"),
        (lambda: learning_capacity(X3, [0.0], [0.5]), "coefficients are all 0"),
        (lambda: learning_capacity(X3, [1.0, 2.0], [0.5]), "2 coefficients for 1 columns"),
        (lambda: learning_capacity(X3, [1.0], [1.5, 0.5]), "cutoffs must not decrease"),
        (lambda: learning_capacity([0.0], [1.0], [0.5]), r"X has shape \(1,\)"),
        (lambda: learning_capacity([[np.nan]], [1.0], [0.5]), "X holds values that are missing"),
        (lambda: learning_capacity([["a"]], [1.0], [0.5]), "X must hold numbers"),
        (lambda: round_linear(X3, [1.0], [0.5], 0), "max_points must be a whole number"),
        (lambda: round_linear(X3, [1e-9], [1e9], 10), "too large for whole numbers"),
        (lambda: rounding_loss(None, 3, 2), "n_dropped=3 of n_rows=2"),
        (lambda: generalisation_bound(0, [1], 1), "n_rows must be a whole number"),
        (lambda: generalisation_bound(10, [], 1), "max_points must hold"),
        (lambda: generalisation_bound(10, 5, 1), "max_points must hold"),
        (lambda: generalisation_bound(10, [1, -1], 1), r"max_points\[1\] must be"),
        (lambda: generalisation_bound(10, [1], 1, confidence=1.0), "confidence=1.0"),
        (lambda: rows_needed(0.0, [1], 1), "bound=0.0"),
        (lambda: rows_needed(1e-9, [1], 1), "needs more than"),
    ],
)
def test_errors_say_what_is_wrong(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
