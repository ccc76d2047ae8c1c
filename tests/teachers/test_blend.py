"""Masses of a blend against the formula, row by row, in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.teachers.crossfit import blend, read_strength

STRENGTHS = [Fraction(1, 10**9), Fraction(1, 3), Fraction(20), Fraction(10**15), None]


def masses_by_hand(
    table: PatternTable, y: np.ndarray, risks: np.ndarray, weights: np.ndarray, n0: Fraction | None
) -> list[Fraction]:
    """Σ w_j (y_j + κ p̂_j) / (1 + κ) of each pattern, in rows."""
    total = Fraction(0)
    for w in weights.tolist():
        total += Fraction(w)
    sums = [Fraction(0)] * len(table)
    for j, u in enumerate(table.pattern_of_row.tolist()):
        if u < 0:
            continue
        mass = Fraction(risks[j].item())
        if n0 is not None:
            kappa = n0 / total
            mass = (int(y[j]) + kappa * mass) / (1 + kappa)
        sums[u] += Fraction(weights[j].item()) * mass
    return sums


def draw_rows(seed: int, real: bool) -> tuple[np.ndarray, ...]:
    """Rows with ties, copies, single-class patterns, weights of 0 and certain risks."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    X = rng.integers(0, 3, (n, int(rng.integers(1, 3)))) * rng.choice([1, 0.5, 0.001])
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    risks = rng.choice([rng.random(n), rng.integers(0, 2, n), 1.0 - y, np.full(n, 0.2)])
    weights = rng.uniform(0.05, 3, n) if real else rng.integers(0, 5, n).astype(float)
    weights[:2] = 0.37 if real else 1
    return X, y, risks, weights


@pytest.mark.parametrize("real", [False, True])
def test_masses_are_those_of_the_rows(real: bool) -> None:
    for seed in range(600):
        X, y, risks, weights = draw_rows(seed, real)
        n0 = STRENGTHS[seed % len(STRENGTHS)]
        table = PatternTable.from_arrays(X, y, sample_weight=weights)
        taught, how = blend(table, risks, weights, n0)
        assert how.strength == n0
        assert how.denominator == 1000
        # Risks are added up in billionths, expected events and masses rounded to thousandths.
        exact = masses_by_hand(table, y, risks, weights, n0)
        pairs = zip(table.events.tolist(), table.others.tolist(), strict=True)
        rows = [Fraction(a) + Fraction(b) for a, b in pairs]
        unit = taught.denominator
        for u, (mass, weight) in enumerate(zip(exact, rows, strict=True)):
            found, rest = (Fraction(v[u].item()) for v in (taught.positives, taught.negatives))
            assert abs(found / unit - mass) <= Fraction(1, 1000) + weight / 10**9
            assert found >= 0
            assert rest >= 0
            assert abs(found + rest - unit * weight) <= (Fraction(1, 10**12) if real else 0)
        assert taught.is_whole != real
        assert unit == (1 if real else 1000)
        if not real:
            assert taught.total_mass == 1000 * table.n_total
        assert np.array_equal(taught.events, table.positives)
        assert np.array_equal(taught.others, table.negatives)
        assert (taught.n_events, taught.n_total) == (table.n_events, table.n_total)


def test_masses_follow_the_documented_formula_to_the_last_unit() -> None:
    for seed in range(400):
        X, y, risks, weights = draw_rows(seed, False)
        n0 = STRENGTHS[seed % len(STRENGTHS)]
        table = PatternTable.from_arrays(X, y, sample_weight=weights)
        taught, how = blend(table, risks, weights, n0)
        n_rows = Fraction(table.n_total)
        for u in range(len(table)):
            here = np.flatnonzero(table.pattern_of_row == u)
            fine = sum(round(risks[j].item() * 10**9) * int(weights[j]) for j in here)
            t = math.floor(Fraction(fine, 10**6) + Fraction(1, 2))
            assert how.expected[u] == t
            events = Fraction(int(table.events[u]))
            mass = Fraction(t)
            if n0 is not None:
                mass = (1000 * n_rows * events + n0 * t) / (n_rows + n0)
            assert taught.positives[u] == math.floor(mass + Fraction(1, 2))


def test_the_order_of_rows_and_copies_of_rows_do_not_matter() -> None:
    for seed in range(200):
        X, y, risks, weights = draw_rows(seed, False)
        n0 = STRENGTHS[seed % len(STRENGTHS)]
        order = np.random.default_rng(seed).permutation(len(y))
        copied = np.repeat(order, weights[order].astype(int))
        found = []
        for rows, w in ((np.arange(len(y)), weights), (order, weights[order]), (copied, None)):
            table = PatternTable.from_arrays(X[rows], y[rows], sample_weight=w)
            taught, _ = blend(table, risks[rows], np.ones(rows.size) if w is None else w, n0)
            at = np.lexsort(table.codes.T)
            found.append((table.codes[at], taught.positives[at], taught.negatives[at]))
        for other in found[1:]:
            for a, b in zip(found[0], other, strict=True):
                assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    ("rows", "denominator"),
    [
        (2_147_483, 1000),
        (2_147_484, 100),
        (21_474_836, 100),
        (21_474_837, 10),
        (214_748_364, 10),
        (214_748_365, 1),
        (2**31, 1),
        (2**52, 1),
    ],
)
def test_large_tables_have_coarser_masses(rows: int, denominator: int) -> None:
    weights = np.array([rows - 3, 1, 1, 1], dtype=float)
    table = PatternTable.from_arrays([[0], [0], [1], [1]], [0, 1, 0, 1], sample_weight=weights)
    risks = np.array([0.25, 0.75, 0.5, 1.0])
    taught, how = blend(table, risks, weights, None)
    assert how.denominator == taught.denominator == denominator
    assert taught.total_mass == denominator * rows
    exact = [Fraction(rows - 3, 4) + Fraction(3, 4), Fraction(3, 2)]
    for found, mass in zip(taught.positives.tolist(), exact, strict=True):
        assert abs(found - denominator * mass) <= Fraction(1, 2)


def test_tiny_and_huge_beliefs_are_limits() -> None:
    X, y, risks, weights = draw_rows(5, False)
    table = PatternTable.from_arrays(X, y, sample_weight=weights)
    none, _ = blend(table, risks, weights, Fraction(1, 10**12))
    assert np.array_equal(none.positives, 1000 * table.positives)
    assert np.array_equal(none.negatives, 1000 * table.negatives)
    huge, how = blend(table, risks, weights, Fraction(10**18))
    alone, _ = blend(table, risks, weights, None)
    assert np.array_equal(huge.positives, alone.positives)
    assert np.array_equal(alone.positives, how.expected)


def test_certain_risks_with_real_weights_leave_no_mass_below_zero() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(2, 12))
        y = np.arange(n) % 2
        weights = rng.uniform(0, 1, n)
        table = PatternTable.from_arrays(np.arange(n)[:, None] // 4, y, sample_weight=weights)
        for n0 in (None, Fraction(7)):
            taught, _ = blend(table, np.ones(n), weights, n0)
            assert taught.negatives.min() >= 0
            taught, _ = blend(table, np.zeros(n), weights, n0)
            assert taught.positives.min() >= 0


def test_strengths_are_read() -> None:
    assert read_strength("auto", 37) == 370
    assert read_strength(0, 37) == 0
    assert read_strength(0.1, 37) == Fraction(1, 10)
    assert read_strength(np.inf, 37) is None
    for wrong in ("much", -1, math.nan, True, None, "inf"):
        with pytest.raises(InputError, match="prior_strength"):
            read_strength(wrong, 37)
