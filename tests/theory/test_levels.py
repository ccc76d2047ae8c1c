"""The improvement rules and the properties of calibrated levels, against slow and plain twins."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from netbenefit import (
    InputError,
    aunbc,
    calibrate_levels,
    expected_calibration_error,
    improve_levels,
    keep_order,
)
from netbenefit.theory import (
    improvements,
    net_benefit_kept,
    order_kept,
    rates_inside,
    rates_predicted,
)
from netbenefit.theory.calibration import LevelMap
from tests.helpers.full import more_cases
from tests.helpers.theory_cases import CASES, Model, random_model, some

pytestmark = more_cases


def exact_counts(model: Model) -> list[tuple[Fraction, Fraction]]:
    """(O_i, N_i) of every level, one row after the other."""
    p = model.grid.values
    counts = [[Fraction(0), Fraction(0)] for _ in p]
    for y, c, w in zip(model.y, model.risk, model.weight, strict=True):
        level = max(i for i, q in enumerate(p) if c >= q)
        counts[level][0] += Fraction(float(w)) * int(y)
        counts[level][1] += Fraction(float(w))
    return [(o, n) for o, n in counts]


def exact_net_benefit(model: Model, risk: np.ndarray) -> list[Fraction]:
    """NB_0 … NB_M, one row after the other."""
    weight = [Fraction(float(w)) for w in model.weight]
    found = []
    for p, exact in zip(model.grid.values, model.grid.fractions, strict=True):
        positive = [(y, w) for y, c, w in zip(model.y, risk, weight, strict=True) if c >= p]
        tp, fp = (sum((w for y, w in positive if y == kind), Fraction(0)) for kind in (1, 0))
        found.append((tp - fp * exact / (1 - exact)) / sum(weight))
    return found


def moved(model: Model, source: int, target: int) -> np.ndarray:
    values = [None] * len(model.grid)
    values[source] = model.grid.values[target]
    return LevelMap(model.grid, tuple(values)).apply(model.risk)


# -- the rules -------------------------------------------------------------------------------------


def test_rules_find_exactly_the_moves_that_pay() -> None:
    rng = np.random.default_rng(1)
    n_found = 0
    for _ in range(some(10)):
        model = random_model(rng)
        before = exact_net_benefit(model, model.risk)
        found = {
            (m.source, m.target): m
            for m in improvements(model.y, model.risk, model.grid, sample_weight=model.weight)
        }
        levels = range(len(model.grid))
        for pair in [(i, i + s) for i in levels for s in (1, -1) if i + s in levels]:
            risk = moved(model, *pair)
            change = [b - a for a, b in zip(before, exact_net_benefit(model, risk), strict=True)]
            at = max(pair)
            assert all(c == 0 for i, c in enumerate(change) if i != at)
            assert (pair in found) == (change[at] > 0)
            if pair in found:
                n_found += 1
                assert found[pair].threshold == model.grid.values[at]
                assert found[pair].net_benefit == pytest.approx(float(change[at]), rel=1e-12)
                np.testing.assert_array_equal(found[pair].level_map.apply(model.risk), risk)
                rise = aunbc(model.y, risk, model.grid, sample_weight=model.weight) - aunbc(
                    model.y, model.risk, model.grid, sample_weight=model.weight
                )
                assert found[pair].aunbc == pytest.approx(rise, abs=1e-12)
    assert n_found > CASES // 10


def test_nothing_is_left_to_improve_after_algorithm_1() -> None:
    rng = np.random.default_rng(2)
    failed = 0
    for _ in range(CASES):
        m = random_model(rng)
        options = {"sample_weight": m.weight}
        before = rates_inside(m.y, m.risk, m.grid, **options)
        rules = improvements(m.y, m.risk, m.grid, **options)
        assert before.holds == (not rules)
        assert {f.level for f in before.failures} == {rule.source for rule in rules}
        failed += not before.holds
        risk = improve_levels(m.y, m.risk, m.grid, **options).apply(m.risk)
        assert rates_inside(m.y, risk, m.grid, **options).holds
        assert improvements(m.y, risk, m.grid, **options) == ()
        assert net_benefit_kept(m.y, m.risk, risk, m.grid, **options).holds
    assert failed > CASES // 3


# -- the properties --------------------------------------------------------------------------------


def test_rates_inside_agrees_with_plain_counting() -> None:
    rng = np.random.default_rng(3)
    for _ in range(some(2)):
        m = random_model(rng)
        p = (*m.grid.fractions, Fraction(1))
        for half_open in (False, True):
            check = rates_inside(m.y, m.risk, m.grid, sample_weight=m.weight, half_open=half_open)
            expected = {}
            for i, (o, n) in enumerate(exact_counts(m)):
                if n and o > p[i + 1] * n:
                    expected[i] = o / n - p[i + 1]
                elif n and o < p[i] * n:
                    expected[i] = o / n - p[i]
                elif n and half_open and i + 1 < len(m.grid) and o == p[i + 1] * n:
                    expected[i] = Fraction(0)
            assert check.holds == (not expected)
            assert [f.level for f in check.failures] == list(expected)
            for f in check.failures:
                assert f.amount == pytest.approx(float(expected[f.level]), abs=1e-12)
                assert (f.low, f.high) == (float(p[f.level]), float(p[f.level + 1]))
                o, n = exact_counts(m)[f.level]
                assert f.value == float(o / n)


def test_the_upper_end_is_another_level() -> None:
    y, risk = [0, 1], [0.3, 0.4]
    assert rates_inside(y, risk, [0.2, 0.5]).holds
    (failure,) = rates_inside(y, risk, [0.2, 0.5], half_open=True).failures
    assert failure == (1, 0.2, 0.5, 0.5, 0.0)
    assert rates_inside([1, 1], [0.6, 0.7], [0.2, 0.5], half_open=True).holds  # 1 is in S_M


def test_calibrated_levels_have_all_properties() -> None:
    rng = np.random.default_rng(4)
    strictly = 0
    for _ in range(CASES):
        m = random_model(rng)
        options = {"sample_weight": m.weight}
        calibrated = calibrate_levels(m.y, m.risk, m.grid, **options)
        risk = calibrated.apply(m.risk)
        assert rates_inside(m.y, risk, m.grid, half_open=True, **options).holds
        assert rates_predicted(m.y, risk, m.grid, **options).holds
        assert net_benefit_kept(m.y, m.risk, risk, m.grid, **options).holds
        assert order_kept(m.risk, risk).holds
        ordered = keep_order(calibrated)
        risk = ordered.apply(m.risk)
        assert rates_predicted(m.y, risk, m.grid, tolerance=ordered.delta + 1e-12, **options).holds
        assert expected_calibration_error(m.y, risk, m.grid, **options) <= ordered.delta + 1e-12
        # A rate next to its threshold leaves room for less than floats can tell apart.
        assert order_kept(m.risk, risk, strict=ordered.delta > 1e-9).holds
        strictly += ordered.delta > 1e-9
        before = aunbc(m.y, calibrated.apply(m.risk), m.grid, **options)
        assert aunbc(m.y, risk, m.grid, **options) == pytest.approx(before, abs=1e-12)
    assert strictly > 0.9 * CASES


def test_rates_predicted_tells_the_difference() -> None:
    rng = np.random.default_rng(5)
    for _ in range(some(4)):
        m = random_model(rng)
        check = rates_predicted(m.y, m.risk, m.grid, sample_weight=m.weight, tolerance=0.0512345)
        level, wrong, error = m.grid.level_of(m.risk), {}, 0.0
        for i in np.unique(level):
            w, rows = m.weight[level == i], level == i
            gap = np.average(m.risk[rows], weights=w) - np.average(m.y[rows], weights=w)
            error += abs(gap) * w.sum() / m.weight.sum()
            if abs(gap) > 0.0512345:
                wrong[int(i)] = gap
        assert {f.level: f.amount for f in check.failures} == pytest.approx(wrong)
        assert expected_calibration_error(
            m.y, m.risk, m.grid, sample_weight=m.weight
        ) == pytest.approx(error)


@pytest.mark.parametrize("strict", [False, True])
def test_order_kept_agrees_with_all_pairs(strict: bool) -> None:
    rng = np.random.default_rng(6)
    seen = set()
    for _ in range(CASES):
        n = rng.integers(1, 7)
        old = rng.integers(0, 5, n) / 4
        new = np.clip(old + rng.integers(-1, 2, n) * rng.integers(0, 2), 0, 1)
        reversed_pairs = {
            (i, j): new[i] - new[j]
            for i in range(n)
            for j in range(n)
            if old[i] < old[j] and (new[i] > new[j] or (strict and new[i] == new[j] < 1))
        }
        check = order_kept(old, new, strict=strict)
        assert check.holds == (not reversed_pairs)
        seen.add(check.holds)
        if reversed_pairs:
            assert reversed_pairs[check.pair] == check.amount == max(reversed_pairs.values())
        else:
            assert check == (True, None, 0.0)
    assert seen == {True, False}


def test_lost_net_benefit_is_named() -> None:
    check = net_benefit_kept([0, 0, 1], [0.1, 0.3, 0.6], [0.1, 0.3, 0.4], [0.3, 0.5])
    (failure,) = check.failures
    assert (failure.level, failure.low, failure.value) == (1, pytest.approx(1 / 3), 0.0)
    assert failure.amount == pytest.approx(-1 / 3)
    assert not check.holds


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rates_predicted([0, 1], [0.1, 0.2], tolerance=-1), "tolerance=-1"),
        (lambda: net_benefit_kept([0], [0.1], [0.2], tolerance=np.nan), "tolerance=nan"),
        (lambda: order_kept([0.1, 0.2], [0.1]), "after has shape"),
        (lambda: order_kept([0.1, 2.0], [0.1, 0.2]), "before must lie in"),
        (lambda: improvements([0, 2], [0.1, 0.2]), "y_true must hold only 0 and 1"),
    ],
)
def test_errors_say_what_is_wrong(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
