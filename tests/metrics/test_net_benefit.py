"""Metrics against slow twins in exact fractions, scikit-learn, and their own definitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.metrics import roc_auc_score

from netbenefit.common.checks import InputError
from netbenefit.metrics.benefit import (
    aunbc,
    auroc,
    expected_calibration_error,
    grouped_auroc,
    hosmer_lemeshow,
    net_benefit,
    weighted_net_benefit,
)
from netbenefit.metrics.thresholds import Thresholds
from tests.helpers.full import examples

NAN = float("nan")
Case = tuple[list[int], list[float], list[float] | None, Thresholds]

METRICS: dict[str, Callable[..., Any]] = {
    "net_benefit": net_benefit,
    "aunbc": aunbc,
    "weighted_net_benefit": weighted_net_benefit,
    "expected_calibration_error": expected_calibration_error,
    "hosmer_lemeshow": hosmer_lemeshow,
    "grouped_auroc": grouped_auroc,
    "auroc": lambda y, risk, thresholds=None, **kwargs: auroc(y, risk, **kwargs),
}
every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
NEEDS_BOTH = {"auroc", "grouped_auroc"}


# -- random cases --------------------------------------------------------------------------------


def random_grid(rng: np.random.Generator) -> Thresholds:
    kind = rng.integers(5)
    if kind == 0:
        return Thresholds.tenths()
    if kind == 1:
        return Thresholds.range(0.1, 0.45, 0.1, "length" if rng.integers(2) else "equal")
    ticks = np.sort(rng.choice(np.arange(1, 20), size=rng.integers(1, 7), replace=False)) / 20
    if kind == 2:
        return Thresholds.of([0, *ticks], "length")
    if kind == 3:
        parts = rng.integers(1, 9, size=ticks.size)
        return Thresholds.of(ticks, parts / parts.sum())
    return Thresholds.of(np.sort(rng.random(4)))


def random_risks(rng: np.random.Generator, grid: Thresholds, n: int) -> np.ndarray:
    """Risks exactly at thresholds, one float beside them, at 0 and 1, tied, and anywhere."""
    at = rng.choice(grid.array, size=n)
    beside = np.clip(np.nextafter(at, rng.choice([-1.0, 2.0], size=n)), 0, 1)
    choices = [at, beside, rng.integers(0, 21, n) / 20, rng.integers(0, 2, n) * 1.0, rng.random(n)]
    return np.choose(rng.integers(0, len(choices), n), choices)


def random_cases(seed: int, count: int, *, both_classes: bool = False) -> Iterator[Case]:
    rng = np.random.default_rng(seed)
    while count:
        n = int(rng.integers(1, 16))
        y = (rng.random(n) < rng.choice([0.0, 0.2, 0.5, 0.8, 1.0])).astype(int)
        grid = random_grid(rng)
        risk = random_risks(rng, grid, n)
        weight = [None, rng.integers(1, 5, n), rng.random(n) * 3, rng.integers(0, 3, n)][
            rng.integers(4)
        ]
        w = np.ones(n) if weight is None else weight
        if not w.any() or (both_classes and not (w[y == 1].any() and w[y == 0].any())):
            continue
        count -= 1
        yield y.tolist(), risk.tolist(), None if weight is None else weight.tolist(), grid


# -- slow twins: exact fractions, one row at a time ----------------------------------------------


def rows_of(case: Case) -> list[tuple[int, Fraction, Fraction]]:
    y, risk, weight, _ = case
    weight = [1.0] * len(y) if weight is None else weight
    return [(a, Fraction(r), Fraction(w)) for a, r, w in zip(y, risk, weight, strict=True)]


def slow_net_benefit(case: Case, p: float) -> Fraction:
    threshold = Fraction(p)
    total = tp = fp = Fraction(0)
    for y, risk, w in rows_of(case):
        total += w
        if risk >= threshold:
            if y == 1:
                tp += w
            else:
                fp += w
    return tp / total - fp / total * threshold / (1 - threshold)


def slow_area(case: Case) -> Fraction:
    grid = case[3]
    start = Fraction(float(grid.given[0]))
    edges = [*(Fraction(float(p)) for p in grid.given), Fraction(grid.end)]
    area = Fraction(0)
    for low, high in pairwise(edges):
        area += (high - low) * slow_net_benefit(case, float(low))
    return area / (Fraction(grid.end) - start)


def slow_level(risk: Fraction, grid: Thresholds) -> int:
    level = 0
    for i, p in enumerate(grid.values):
        if risk >= Fraction(p):
            level = i
    return level


def slow_groups(case: Case) -> list[tuple[Fraction, Fraction, Fraction]]:
    """(N_i, O_i, E_i) of the intervals that hold rows."""
    groups: dict[int, list[Fraction]] = {}
    for y, risk, w in rows_of(case):
        group = groups.setdefault(slow_level(risk, case[3]), [Fraction(0)] * 3)
        group[0] += w
        group[1] += w * y
        group[2] += w * risk
    return [(n, o, e) for n, o, e in groups.values() if n > 0]


def slow_ece(case: Case) -> Fraction:
    groups = slow_groups(case)
    total = sum(n for n, _, _ in groups)
    return sum((n / total * abs(o / n - e / n) for n, o, e in groups), Fraction(0))


def slow_hl(case: Case) -> float:
    value = Fraction(0)
    for n, o, e in slow_groups(case):
        if e in (0, n):
            if o != e:
                return math.inf
        else:
            value += (o - e) ** 2 / (e * (1 - e / n))
    try:
        return float(value)
    except OverflowError:  # a risk of 5e-324 that came true
        return math.inf


def slow_auroc(case: Case, tie: Fraction, key: Callable[[Fraction], Any]) -> Fraction:
    rows = rows_of(case)
    wins = pairs = Fraction(0)
    for y1, r1, w1 in rows:
        for y0, r0, w0 in rows:
            if y1 == 1 and y0 == 0:
                pairs += w1 * w0
                if key(r1) > key(r0):
                    wins += w1 * w0
                elif key(r1) == key(r0):
                    wins += w1 * w0 * tie
    return wins / pairs


def close(value: float, exact: Fraction | float) -> bool:
    return math.isclose(value, float(exact), rel_tol=1e-11, abs_tol=1e-12)


def test_net_benefit_and_its_sums_match_the_slow_twins() -> None:
    for case in random_cases(1, 1000):
        y, risk, weight, grid = case
        fast = net_benefit(y, risk, grid, sample_weight=weight)
        slow = [slow_net_benefit(case, p) for p in grid.given]
        assert len(fast) == len(slow)
        assert all(map(close, fast, slow)), case
        assert close(aunbc(y, risk, grid, sample_weight=weight), slow_area(case)), case
        weighted = sum(
            Fraction(w) * slow_net_benefit(case, p)
            for p, w in zip(grid.values, grid.weights, strict=True)
        )
        assert close(weighted_net_benefit(y, risk, grid, sample_weight=weight), weighted), case


def test_calibration_matches_the_slow_twins() -> None:
    infinite = 0
    for case in random_cases(2, 1000):
        y, risk, weight, grid = case
        ece = expected_calibration_error(y, risk, grid, sample_weight=weight)
        assert close(ece, slow_ece(case)), case
        hl, exact = hosmer_lemeshow(y, risk, grid, sample_weight=weight), slow_hl(case)
        assert hl == exact or math.isclose(hl, exact, rel_tol=1e-9, abs_tol=1e-12), case
        infinite += exact == math.inf
    assert 20 < infinite < 700  # both branches were met


def test_discrimination_matches_the_slow_twins_and_sklearn() -> None:
    for case in random_cases(3, 800, both_classes=True):
        y, risk, weight, grid = case
        ordinary = auroc(y, risk, sample_weight=weight)
        assert close(ordinary, slow_auroc(case, Fraction(1, 2), lambda r: r)), case
        assert close(ordinary, roc_auc_score(y, risk, sample_weight=weight)), case
        grouped = grouped_auroc(y, risk, grid, sample_weight=weight)
        by_level = slow_auroc(case, Fraction(1), lambda r, grid=grid: slow_level(r, grid))
        assert close(grouped, by_level), case


def test_grouped_auroc_is_the_published_formula() -> None:
    for y, risk, weight, grid in random_cases(4, 300, both_classes=True):
        w = [Fraction(1)] * len(y) if weight is None else [Fraction(v) for v in weight]
        tp, fp = [], []
        for p in grid.values:
            called = [r >= p for r in risk]
            tp.append(sum(v for v, a, c in zip(w, y, called, strict=True) if c and a == 1))
            fp.append(sum(v for v, a, c in zip(w, y, called, strict=True) if c and a == 0))
        fp.append(Fraction(0))
        wins = sum((fp[i] - fp[i + 1]) * tp[i] for i in range(len(tp)))
        expected = wins / (tp[0] * fp[0])
        assert close(grouped_auroc(y, risk, grid, sample_weight=weight), expected)


def test_auroc_matches_sklearn_on_many_rows() -> None:
    rng = np.random.default_rng(5)
    for digits in (1, 2, 15):
        y = rng.random(3000) < 0.2
        risk = np.clip(rng.random(3000) + 0.2 * y, 0, 1).round(digits)
        for weight in (None, rng.random(3000), rng.integers(0, 4, 3000)):
            expected = roc_auc_score(y, risk, sample_weight=weight)
            assert auroc(y, risk, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


# -- properties ----------------------------------------------------------------------------------


@every_metric
def test_weight_equals_repetition(metric: Callable[..., Any]) -> None:
    rng = np.random.default_rng(6)
    for y, risk, _, grid in random_cases(7, 100, both_classes=True):
        weight = rng.integers(1, 5, len(y))
        repeated = metric(np.repeat(y, weight), np.repeat(risk, weight), grid)
        assert metric(y, risk, grid, sample_weight=weight) == pytest.approx(
            repeated, rel=1e-11, abs=1e-12
        )


@every_metric
def test_rows_of_weight_zero_do_not_count(metric: Callable[..., Any]) -> None:
    for y, risk, _, grid in random_cases(8, 100, both_classes=True):
        weight = [1.0] * len(y) + [0.0] * 2
        padded = metric([*y, 0, 1], [*risk, 0.0, 1.0], grid, sample_weight=weight)
        assert padded == pytest.approx(metric(y, risk, grid), rel=1e-12, abs=1e-12)


@every_metric
def test_row_order_does_not_matter(metric: Callable[..., Any]) -> None:
    rng = np.random.default_rng(9)
    for y, risk, weight, grid in random_cases(10, 50, both_classes=True):
        order = rng.permutation(len(y))
        w = None if weight is None else np.array(weight)[order]
        shuffled = metric(np.array(y)[order], np.array(risk)[order], grid, sample_weight=w)
        expected = metric(y, risk, grid, sample_weight=weight)
        assert shuffled == pytest.approx(expected, rel=1e-11, abs=1e-12)


@every_metric
@pytest.mark.parametrize(
    "wrap",
    [np.array, tuple, pd.Series, pl.Series, pa.array, lambda v: pd.Series(v, index=[7, 5, 3, 1])],
)
def test_containers(metric: Callable[..., Any], wrap: Callable[[list[Any]], Any]) -> None:
    y, risk, weight = [0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8], [1.0, 2.0, 0.5, 1.0]
    expected = metric(y, risk, sample_weight=weight)
    got = metric(wrap(y), wrap(risk), sample_weight=wrap(weight))
    assert np.array_equal(got, expected)
    booleans = metric(wrap([False, True, False, True]), wrap(risk), sample_weight=wrap(weight))
    assert np.array_equal(booleans, expected)


@every_metric
def test_threshold_forms_agree(metric: Callable[..., Any]) -> None:
    y, risk = [0, 1, 0, 1, 1], [0.1, 0.4, 0.4, 0.8, 0.3]
    expected = metric(y, risk, Thresholds.of([0.2, 0.3, 0.4]))
    assert np.array_equal(metric(y, risk, [0.2, 0.3, 0.4]), expected)
    assert np.array_equal(metric(y, risk, "0.2,0.3,0.4"), expected)
    assert np.array_equal(metric(y, risk, np.array([0.2, 0.1 + 0.2, 0.4])), expected)
    assert np.array_equal(metric(y, risk), metric(y, risk, Thresholds.tenths()))


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1), st.integers(1, 4)), min_size=1, max_size=20)
)
@settings(max_examples=examples(200), deadline=None)
def test_ranges_of_values(rows: list[tuple[bool, float, int]]) -> None:
    y, risk, weight = (np.array(column) for column in zip(*rows, strict=True))
    share = weight[y].sum() / weight.sum()
    odds = Thresholds.tenths().odds
    nb = net_benefit(y, risk, sample_weight=weight)
    assert nb[0] == pytest.approx(share, abs=1e-12)
    assert (nb <= share + 1e-12).all()
    assert (nb >= -(1 - share) * odds - 1e-12).all()
    assert aunbc(y, risk, sample_weight=weight) <= share + 1e-12
    assert 0 <= expected_calibration_error(y, risk, sample_weight=weight) <= 1
    assert hosmer_lemeshow(y, risk, sample_weight=weight) >= 0
    if y.any() and not y.all():
        ordinary = auroc(y, risk, sample_weight=weight)
        assert 0 <= ordinary <= grouped_auroc(y, risk, sample_weight=weight) + 1e-12
        assert ordinary + auroc(~y, risk, sample_weight=weight) == pytest.approx(1, abs=1e-12)


# -- net benefit ---------------------------------------------------------------------------------


def test_risk_at_the_threshold_is_positive() -> None:
    for p in (0.1, 0.3, 0.35, 0.7):
        assert net_benefit([1], [p], [p]).tolist() == [1.0]
        assert net_benefit([1], [np.nextafter(p, 0)], [p]).tolist() == [0.0]
        assert net_benefit([0], [p], [p]) == pytest.approx([-p / (1 - p)], abs=1e-15)


def test_noisy_thresholds_still_meet_their_risks() -> None:
    noisy = np.arange(0.05, 1, 0.05)
    assert noisy[2] > 0.15  # 0.15000000000000002
    assert net_benefit([1], [0.15], noisy)[2] == 1.0


def test_only_given_thresholds_are_returned() -> None:
    y, risk = [0, 1], [0.0, 0.6]
    assert net_benefit(y, risk, [0.5]).tolist() == [0.5]
    assert net_benefit(y, risk, [0, 0.5]).tolist() == [0.5, 0.5]


def test_treating_all_is_a_model_of_ones_and_treating_none_one_of_zeros() -> None:
    for y, _, weight, grid in random_cases(11, 200):
        ones = net_benefit(y, np.ones(len(y)), grid, sample_weight=weight)
        share = np.average(y, weights=weight)
        odds = grid.given / (1 - grid.given)
        assert ones == pytest.approx(share - (1 - share) * odds, rel=1e-12, abs=1e-12)
        zeros = net_benefit(y, np.zeros(len(y)), grid, sample_weight=weight)
        assert (zeros[grid.given > 0] == 0).all()


def test_treating_all_at_the_prevalence_is_worth_nothing() -> None:
    ones = np.ones(2)
    assert net_benefit([0, 0, 0, 1], np.ones(4), [0.25]) == pytest.approx([0], abs=1e-15)
    found = net_benefit([0, 1], ones, [0.25, 0.5], prevalence=0.25)
    assert found == pytest.approx([0, -0.5], abs=1e-15)
    assert net_benefit([0, 1], ones, [0.25], sample_weight=[3, 1]) == pytest.approx([0], abs=1e-15)


def test_harm_is_subtracted_everywhere() -> None:
    for y, risk, weight, grid in random_cases(12, 100):
        without = net_benefit(y, risk, grid, sample_weight=weight)
        with_harm = net_benefit(y, risk, grid, sample_weight=weight, harm=0.03)
        assert with_harm == pytest.approx(without - 0.03, abs=1e-14)


def test_prevalence_is_reweighting_the_classes() -> None:
    for y, risk, weight, grid in random_cases(13, 300, both_classes=True):
        label, w = np.array(y), np.ones(len(y)) if weight is None else np.array(weight)
        share = 0.15
        event, nonevent = w[label == 1].sum(), w[label == 0].sum()
        reweighted = np.where(label == 1, w / event * share, w / nonevent * (1 - share))
        expected = net_benefit(y, risk, grid, sample_weight=reweighted)
        got = net_benefit(y, risk, grid, sample_weight=weight, prevalence=share)
        assert got == pytest.approx(expected, abs=1e-12)


def test_observed_prevalence_changes_nothing() -> None:
    y, risk = [0, 1, 0, 0, 1], [0.2, 0.4, 0.6, 0.1, 0.9]
    assert net_benefit(y, risk, prevalence=0.4) == pytest.approx(net_benefit(y, risk), abs=1e-15)


def test_single_class_net_benefit() -> None:
    assert net_benefit([1, 1], [0.2, 0.6], [0.5]).tolist() == [0.5]
    assert net_benefit([0, 0], [0.2, 0.6], [0.5]).tolist() == [-0.5]
    assert aunbc([1, 1], [1, 1]) == pytest.approx(1, abs=1e-15)
    assert aunbc([0, 0], [0, 0]) == 0.0


def test_aunbc_of_the_default_grid_starts_at_zero() -> None:
    """NB_0 is the share of events for any model, and belongs to the sum."""
    y, risk = [0, 0, 0, 1], [0.0, 0.0, 0.0, 0.0]
    assert net_benefit(y, risk)[0] == 0.25
    assert aunbc(y, risk) == pytest.approx(0.1 * 0.25, abs=1e-15)
    assert aunbc(y, risk, [i / 10 for i in range(1, 10)]) == 0.0


def test_aunbc_of_a_range_is_an_average_over_the_range() -> None:
    y, risk = [0, 1], [0.1, 0.9]
    assert aunbc(y, risk, Thresholds.range(0.2, 0.4, 0.1)) == pytest.approx(0.5, abs=1e-15)
    perfect_until = Thresholds.range(0.2, 0.4, 0.1)
    at = net_benefit([0, 1], [0.25, 0.9], perfect_until)
    # the value at the upper end opens no interval within the range
    assert aunbc([0, 1], [0.25, 0.9], perfect_until) == pytest.approx(at[:2].mean(), abs=1e-15)


def test_aunbc_ignores_the_weights_of_the_thresholds() -> None:
    y, risk = [0, 1, 1, 0], [0.15, 0.35, 0.8, 0.6]
    values = [0.1, 0.2, 0.5]
    skewed = Thresholds.of(values, [0.9, 0.05, 0.05])
    assert aunbc(y, risk, skewed) == aunbc(y, risk, values)
    assert weighted_net_benefit(y, risk, skewed) != weighted_net_benefit(y, risk, values)
    assert weighted_net_benefit(y, risk, Thresholds.of(values, "length")) == pytest.approx(
        aunbc(y, risk, values), abs=1e-15
    )


# -- calibration ---------------------------------------------------------------------------------


def test_calibrated_levels_have_no_error() -> None:
    y, risk = [0, 0, 0, 1, 0, 1, 1, 1], [0.25] * 4 + [0.75] * 4
    assert expected_calibration_error(y, risk) == 0.0
    assert hosmer_lemeshow(y, risk) == 0.0


def test_groups_include_the_interval_from_zero_even_when_zero_was_not_given() -> None:
    assert expected_calibration_error([1, 1], [0.25, 0.75], [0.5]) == pytest.approx(0.5, abs=1e-15)
    # one group below 0.5: 0.1 and 0.3 average out; by tenths they do not
    assert expected_calibration_error([0, 0, 0, 0, 1], [0.1, 0.1, 0.3, 0.3, 0.2], [0.5]) == (
        pytest.approx(0.0, abs=1e-15)
    )
    assert expected_calibration_error([0, 0, 0, 0, 1], [0.1, 0.1, 0.3, 0.3, 0.2]) == pytest.approx(
        (0.2 + 0.6 + 0.8) / 5, abs=1e-15
    )


@pytest.mark.parametrize(
    ("y", "risk", "expected"),
    [
        ([0, 0], [0.0, 0.0], 0.0),
        ([0, 1], [0.0, 0.0], math.inf),
        ([1, 1], [1.0, 1.0], 0.0),
        ([1, 0], [1.0, 1.0], math.inf),
        ([0, 1], [0.0, 1.0], 0.0),
        ([1, 0, 1, 0], [0.5, 0.5, 0.0, 0.0], math.inf),
        ([1, 0, 0, 0], [0.5, 0.5, 0.0, 0.0], 0.0),
    ],
)
def test_hosmer_lemeshow_without_denominator(
    y: list[int], risk: list[float], expected: float
) -> None:
    assert hosmer_lemeshow(y, risk) == expected


def test_hosmer_lemeshow_survives_extreme_risks() -> None:
    assert hosmer_lemeshow([1], [5e-324]) == math.inf
    assert hosmer_lemeshow([0], [5e-324]) == pytest.approx(0, abs=1e-300)
    near_one = 1 - 2.0**-53
    assert hosmer_lemeshow([0], [near_one]) == pytest.approx(2.0**53, rel=1e-12)


def test_hosmer_lemeshow_grows_with_the_weights() -> None:
    y, risk = [0, 1, 1, 0, 1], [0.2, 0.3, 0.6, 0.6, 0.2]
    once = hosmer_lemeshow(y, risk, [0.25, 0.5])
    assert once > 0
    assert hosmer_lemeshow(y, risk, [0.25, 0.5], sample_weight=3) == pytest.approx(3 * once)
    ece = expected_calibration_error(y, risk, sample_weight=3)
    assert ece == pytest.approx(expected_calibration_error(y, risk), abs=1e-15)


# -- discrimination: the slip in the published definition ----------------------------------------


@pytest.mark.parametrize("risk", [0.0, 0.3, 1.0])
def test_constant_model_gets_one_by_the_published_definition(risk: float) -> None:
    y = [0, 1, 0, 0, 1]
    assert grouped_auroc(y, [risk] * 5) == 1.0
    assert auroc(y, [risk] * 5) == 0.5
    assert roc_auc_score(y, [risk] * 5) == 0.5


def test_grouped_auroc_forgives_wrong_order_within_a_level() -> None:
    y, risk = [0, 1], [0.39, 0.31]
    assert auroc(y, risk) == 0.0
    assert grouped_auroc(y, risk) == 1.0
    assert grouped_auroc(y, risk, [0.35]) == 0.0


# -- refusals ------------------------------------------------------------------------------------

Y, RISK = [0, 1, 1], [0.1, 0.5, 0.7]


@every_metric
@pytest.mark.parametrize(
    ("y", "risk", "message"),
    [
        ([], [], r"y_true is empty: there are no rows.*at least one row"),
        ([[0], [1], [1]], RISK, r"y_true must be one-dimensional.*\(3, 1\).*Pass one column"),
        ([0, 1, 2], RISK, r"y_true must hold only 0 and 1, but row 2 holds 2.*Recode"),
        ([0, 1, NAN], RISK, r"y_true .* row 2 holds nan.*drop those rows"),
        ([0, 1, None], RISK, r"y_true must hold 0 and 1.*such as None"),
        (["ill", "well", "well"], RISK, r"y_true must hold 0 and 1.*'ill'.*y == 'yes'"),
        (Y, [0.1, 0.5], r"risk has shape \(2,\), but there are 3 rows.*one risk per row"),
        (Y, 0.5, r"risk has shape \(\), but there are 3 rows"),
        (Y, [[0.9, 0.1]] * 3, r"risk has two columns.*predict_proba.*risk\[:, 1\]"),
        (Y, [0.1, NAN, NAN], r"risk is missing \(nan\) in row 1 \(2 such rows\).*Drop those rows"),
        (Y, [0.1, None, 0.2], r"risk is missing \(nan\) in row 1 "),
        (Y, [0.1, 0.5, 1.2], r"risk must lie in \[0, 1\], but row 2 has 1\.2.*probabilities"),
        (Y, [-0.1, 0.5, 1], r"risk must lie in \[0, 1\], but row 0 has -0\.1"),
        (Y, [0.1, 0.5, math.inf], r"risk must lie in \[0, 1\], but row 2 has inf"),
        (Y, ["low", "high", "high"], r"risk must hold one number per row.*Convert text"),
        (Y, [[0.1], [0.2, 0.3], [0.4]], r"risk must hold one number per row"),
    ],
)
def test_bad_rows(metric: Callable[..., Any], y: Any, risk: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        metric(y, risk)


@pytest.mark.parametrize("metric", METRICS.values())
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 2], r"sample_weight has shape \(2,\), but there are 3 rows.*one weight per row"),
        ([1, -1, 1], r"sample_weight must be finite and not negative, but row 1 has -1\.0"),
        ([1, 1, NAN], r"sample_weight must be finite.*row 2 has nan.*Drop those rows or set 0"),
        ([1, 1, math.inf], r"sample_weight must be finite.*row 2 has inf"),
        ([0, 0, 0], r"sample_weight is zero in every row.*at least one row"),
        (["a", "b", "c"], r"sample_weight must hold one number per row"),
    ],
)
def test_bad_sample_weights(metric: Callable[..., Any], weight: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        metric(Y, RISK, sample_weight=weight)


@pytest.mark.parametrize("name", [name for name in METRICS if name != "auroc"])
def test_bad_thresholds(name: str) -> None:
    with pytest.raises(InputError, match=r"threshold 1\.5 .* is not a risk"):
        METRICS[name](Y, RISK, [1.5])


@pytest.mark.parametrize("name", sorted(NEEDS_BOTH))
@pytest.mark.parametrize(
    ("y", "weight", "missing"),
    [
        ([0, 0, 0], None, r"no events \(1\)"),
        ([1, 1, 1], None, r"no non-events \(0\)"),
        ([0, 1, 1], [0, 1, 1], r"no non-events \(0\)"),
        ([0, 0, 1], [1, 1, 0], r"no events \(1\)"),
    ],
)
def test_one_class_has_no_auroc(name: str, y: list[int], weight: Any, missing: str) -> None:
    with pytest.raises(InputError, match=rf"y_true holds {missing}.*AUROC is not.*both classes"):
        METRICS[name](y, RISK, sample_weight=weight)


@pytest.mark.parametrize("name", [name for name in METRICS if name not in NEEDS_BOTH])
@pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1]])
def test_one_class_is_fine_elsewhere(name: str, y: list[int]) -> None:
    assert np.isfinite(METRICS[name](y, RISK)).all()


def test_one_class_with_prevalence() -> None:
    with pytest.raises(InputError, match=r"no events.*another prevalence are not.*both classes"):
        net_benefit([0, 0, 0], RISK, prevalence=0.2)


@pytest.mark.parametrize("value", [0, 1, -0.1, 20, NAN, "high"])
def test_bad_prevalence(value: Any) -> None:
    message = r"prevalence=.* must lie strictly between 0 and 1\. Write 0\.2 for 20%"
    with pytest.raises(InputError, match=message):
        net_benefit(Y, RISK, prevalence=value)


@pytest.mark.parametrize("value", [-0.1, NAN, math.inf, "much", None])
def test_bad_harm(value: Any) -> None:
    with pytest.raises(InputError, match=r"harm=.* must be a finite number, not negative.*Use 0"):
        net_benefit(Y, RISK, harm=value)
