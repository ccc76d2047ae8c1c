"""Thresholds: every way to build them, the exact integer scale, and every refusal."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import integrate, stats

from netbenefit import RiskScoreClassifier
from netbenefit.common.checks import InputError
from netbenefit.metrics.thresholds import Thresholds, as_thresholds
from tests.helpers.full import examples

NAN = float("nan")
RANDOM_GRID = [0, 0.0857, 0.1102, 0.1325, 0.2292, 0.4491, 0.5409, 0.5727, 0.5778, 0.6975]


# -- building ------------------------------------------------------------------------------------


def test_missing_zero_is_added_with_weight_zero_and_not_counted_as_given() -> None:
    t = Thresholds.of([0.2, 0.5])
    assert t.values == (0.0, 0.2, 0.5)
    assert t.weights == (0.0, 0.5, 0.5)
    assert not t.zero_asked
    assert t.given.tolist() == [0.2, 0.5]
    assert len(t) == 3


def test_zero_that_was_given_gets_its_weight() -> None:
    t = Thresholds.of([0, 0.2, 0.5])
    assert t.values == (0.0, 0.2, 0.5)
    assert t.weights == (1 / 3, 1 / 3, 1 / 3)
    assert t.zero_asked
    assert t.given.tolist() == [0.0, 0.2, 0.5]


def test_tenths() -> None:
    t = Thresholds.tenths()
    assert t.values == tuple(i / 10 for i in range(10))
    assert t.weights == (0.1,) * 10
    assert t.end == 1.0
    assert t.zero_asked
    assert as_thresholds(None) == t


@pytest.mark.parametrize("values", [(0.1, 0.4), [0.1, 0.4], np.array([0.1, 0.4])])
def test_containers(values: object) -> None:
    assert Thresholds.of(values).values == (0.0, 0.1, 0.4)
    assert as_thresholds(values) == Thresholds.of([0.1, 0.4])


def test_single_number_is_one_threshold() -> None:
    assert Thresholds.of(0.3).values == (0.0, 0.3)
    assert Thresholds.of(0.3).weights == (0.0, 1.0)


@pytest.mark.parametrize(
    ("low", "high", "step", "expected", "end"),
    [
        (0.05, 0.5, 0.05, [0.05 * 1, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5], 0.5),
        (0, 0.3, 0.1, [0, 0.1, 0.2, 0.3], 0.3),
        (0.1, 0.45, 0.1, [0.1, 0.2, 0.3, 0.4], 0.45),
        (0.2, 0.3, 0.1, [0.2, 0.3], 0.3),
    ],
)
def test_range(low: float, high: float, step: float, expected: list[float], end: float) -> None:
    t = Thresholds.range(low, high, step)
    assert t.given.tolist() == expected
    assert t.end == end
    assert t.zero_asked == (low == 0)


def test_parse() -> None:
    assert Thresholds.parse("0.05:0.5:0.05") == Thresholds.range(0.05, 0.5, 0.05)
    assert Thresholds.parse(" 0.1, 0.2 ,0.5") == Thresholds.of([0.1, 0.2, 0.5])
    assert Thresholds.parse("0.3") == Thresholds.of([0.3])
    assert Thresholds.parse("0.1:0.3:0.1", "length") == Thresholds.range(0.1, 0.3, 0.1, "length")
    assert as_thresholds("0.1:0.3:0.1") == Thresholds.range(0.1, 0.3, 0.1)


def test_as_thresholds_keeps_or_reweighs() -> None:
    t = Thresholds.range(0.1, 0.4, 0.1)
    assert as_thresholds(t) is t
    reweighed = as_thresholds(t, "length")
    assert reweighed == Thresholds.range(0.1, 0.4, 0.1, "length")
    assert reweighed.end == 0.4
    assert as_thresholds([0.1, 0.2], [0.25, 0.75]).weights == (0.0, 0.25, 0.75)
    zero = as_thresholds(Thresholds.of([0, 0.5]), "length")
    assert zero.zero_asked
    assert zero.weights == (0.5, 0.5)


@pytest.mark.parametrize(
    ("noisy", "scale"),
    [
        (np.arange(0.01, 1, 0.01), 100),
        (np.arange(0, 1, 0.05), 20),
        (np.arange(0.05, 0.5, 0.05), 20),
        (np.linspace(0, 0.99, 100), 100),
        (np.arange(0.001, 1, 0.001), 1000),
        (np.cumsum([0.1] * 9), 10),
    ],
)
def test_rounding_noise_is_tidied(noisy: np.ndarray, scale: int) -> None:
    meant = [round(p * scale) / scale for p in noisy]
    assert noisy.tolist() != meant  # there is something to tidy
    assert Thresholds.of(noisy).given.tolist() == meant


def test_tidying_leaves_other_floats_alone() -> None:
    p = math.pi / 10
    assert Thresholds.of([p]).given.tolist() == [p]


# -- weights -------------------------------------------------------------------------------------


def test_length_weights_of_a_list_run_to_one() -> None:
    t = Thresholds.of([0, 0.25, 0.5], "length")
    assert t.weights == (0.25, 0.25, 0.5)
    without_zero = Thresholds.of([0.2, 0.5, 0.6], "length")
    assert without_zero.weights == pytest.approx((0, 0.375, 0.125, 0.5), abs=1e-15)


def test_length_weights_of_a_range_end_with_the_range() -> None:
    t = Thresholds.range(0.1, 0.4, 0.1, "length")
    assert t.weights == (0.0, 1 / 3, 1 / 3, 1 / 3, 0.0)
    partial = Thresholds.range(0.1, 0.45, 0.1, "length")
    assert partial.weights == pytest.approx((0, 2 / 7, 2 / 7, 2 / 7, 1 / 7), abs=1e-15)


@given(
    st.lists(st.integers(0, 999), min_size=1, max_size=12, unique=True).filter(lambda v: v != [0]),
    st.booleans(),
)
@settings(max_examples=examples(200), deadline=None)
def test_length_weights_are_the_area_whatever_the_weights(ticks: list[int], is_range: bool) -> None:
    values = [Fraction(i, 1000) for i in sorted(ticks)]
    end = (values[-1] + 1) / 2 if is_range else Fraction(1)
    floats = [float(p) for p in values]
    t = Thresholds.of(floats, end=float(end))
    span = end - values[0]
    expected = [float((b - a) / span) for a, b in zip(values, [*values[1:], end], strict=True)]
    if values[0] != 0:
        expected = [0.0, *expected]
    assert t.length_weights == pytest.approx(expected, abs=1e-12)
    assert Thresholds.of(floats, "length", end=float(end)).weights == pytest.approx(
        expected, abs=1e-12
    )


def test_length_weights_of_a_range_without_length() -> None:
    t = Thresholds.of([0.4], end=0.4)
    assert t.length_weights.tolist() == [0.0, 1.0]


def test_array_weights() -> None:
    for weights in ([0.2, 0.8], (0.2, 0.8), np.array([0.2, 0.8])):
        assert Thresholds.of([0.1, 0.6], weights).weights == (0.0, 0.2, 0.8)
        assert Thresholds.of([0.0, 0.6], weights).weights == (0.2, 0.8)
    assert Thresholds.of([0.1, 0.6], [0, 1]).weights == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(("a", "b"), [(2, 5), (1, 1), (3, 1.5)])
def test_density_weights_match_the_distribution_function(a: float, b: float) -> None:
    values = [0.05, 0.1, 0.3, 0.35, 0.8]
    beta = stats.beta(a, b)
    mass = np.diff(beta.cdf([*values, 1.0]))
    t = Thresholds.of(values, beta.pdf)
    assert t.weights[1:] == pytest.approx(mass / mass.sum(), abs=1e-9)
    assert t.weights[0] == 0.0
    on_range = Thresholds.range(0.1, 0.4, 0.1, beta.pdf)
    mass = np.diff(beta.cdf([0.1, 0.2, 0.3, 0.4, 0.4]))
    assert on_range.weights[1:] == pytest.approx(mass / mass.sum(), abs=1e-9)


def test_density_weights_match_an_independent_integral() -> None:
    def density(p: float) -> float:
        return math.exp(-3 * p) * (1 + math.sin(9 * p)) * 17  # not normalised

    edges = [0.0, 0.2, 0.55, 1.0]
    mass = []
    for low, high in pairwise(edges):
        x = np.linspace(low, high, 20_001)
        mass.append(integrate.simpson([density(p) for p in x], x=x))
    t = Thresholds.of(edges[:-1], density)
    assert t.weights == pytest.approx(np.array(mass) / sum(mass), abs=1e-9)


def test_constant_density_is_length() -> None:
    values = [0.0, 0.1, 0.45, 0.7]
    assert Thresholds.of(values, lambda p: 4.0).weights == pytest.approx(
        Thresholds.of(values, "length").weights, abs=1e-12
    )


# -- what it knows -------------------------------------------------------------------------------


def test_odds() -> None:
    t = Thresholds.of([0.2, 0.5, 0.75])
    assert t.odds == pytest.approx([0, 0.25, 1, 3], abs=1e-15)


def test_level_of_puts_each_risk_in_its_interval() -> None:
    t = Thresholds.of([0.1, 0.2, 0.3])
    rng = np.random.default_rng(0)
    grid = [0, 0.1, 0.2, 0.3, 1, np.nextafter(0.2, 0), np.nextafter(0.2, 1), 0.1 + 0.2]
    risks = np.concatenate([grid, rng.random(200)])
    slow = [max(i for i, p in enumerate(t.values) if r >= p) for r in risks]
    assert t.level_of(risks).tolist() == slow


def test_frozen_hashable_equal() -> None:
    t = Thresholds.of([0.1, 0.3])
    with pytest.raises(dataclasses.FrozenInstanceError):
        t.end = 0.5  # type: ignore[misc]
    for array in (t.array, t.weight_array, t.odds, t.length_weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.5
    assert hash(t) == hash(Thresholds.parse("0.1,0.3"))
    assert {t: 1}[Thresholds.of(np.array([0.1, 0.3]))] == 1
    assert t != Thresholds.of([0.1, 0.3], "length")
    assert t != Thresholds.of([0.1, 0.3], end=0.9)
    assert Thresholds.of([0, 0.3], [0, 1]) != Thresholds.of([0.3])  # 0 was given only once


@pytest.mark.parametrize("move", [lambda t: pickle.loads(pickle.dumps(t)), copy.deepcopy])
def test_copies_are_equal_and_still_read_only(move: object) -> None:
    t = Thresholds.range(0.1, 0.4, 0.1, "length")
    assert t.array.size == t.odds.size == 5  # caches are filled
    again = move(t)  # type: ignore[operator]
    assert again == t
    assert hash(again) == hash(t)
    assert not again.array.flags.writeable
    assert not again.odds.flags.writeable


# -- the integer scale ---------------------------------------------------------------------------


def test_tenths_have_the_known_integers() -> None:
    gains = Thresholds.tenths().integer_gains
    assert gains is not None
    assert gains.found == (252,) * 10
    assert gains.alarm == tuple(252 * i // (10 - i) for i in range(10))
    assert all(252 * i % (10 - i) == 0 for i in range(10))
    assert gains.scale == 2520


@given(
    st.lists(st.integers(1, 19), min_size=1, max_size=8, unique=True),
    st.lists(st.integers(0, 9), min_size=8, max_size=8),
    st.integers(0, 10_000),
    st.integers(0, 10_000),
)
@settings(max_examples=examples(300), deadline=None)
def test_integer_gains_are_exact(ticks: list[int], parts: list[int], tp: int, fp: int) -> None:
    values = [Fraction(i, 20) for i in sorted(ticks)]
    parts = parts[: len(values)]
    if not any(parts):
        parts[0] = 1
    weights = [Fraction(part, sum(parts)) for part in parts]
    t = Thresholds.of([float(p) for p in values], [float(w) for w in weights])
    gains = t.integer_gains
    assert gains is not None
    assert (gains.found[0], gains.alarm[0]) == (0, 0)
    assert t.fractions == (0, *values)
    for k, (p, w) in enumerate(zip(values, weights, strict=True), start=1):
        exact = gains.scale * w * (tp - p / (1 - p) * fp)
        assert gains.found[k] * tp - gains.alarm[k] * fp == exact


def test_integer_gains_use_the_smallest_scale() -> None:
    gains = Thresholds.of([0.2, 0.5]).integer_gains
    assert gains is not None
    assert gains == (8, (0, 4, 4), (0, 1, 4))
    assert math.gcd(gains.scale, *gains.found, *gains.alarm) == 1


@pytest.mark.parametrize("weights", ["equal", "length"])
def test_random_grid_has_no_usable_scale(weights: str) -> None:
    assert Thresholds.of(RANDOM_GRID, weights).integer_gains is None


def test_irrational_threshold_or_weight_has_no_scale() -> None:
    assert Thresholds.of([math.pi / 10]).integer_gains is None
    w = math.e / 10
    assert Thresholds.of([0.2, 0.5], [w, 1 - w]).integer_gains is None


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.1, 1.0], r"threshold 1\.0 \(number 2\) is not a risk.*write 0\.2 for 20%"),
        ([20, 30], r"threshold 20\.0 \(number 1\) is not a risk"),
        ([-0.1, 0.2], r"threshold -0\.1 \(number 1\) is not a risk"),
        ([0.1, NAN], r"threshold nan \(number 2\) is not a risk"),
        ([0.1, math.inf], r"threshold inf \(number 2\) is not a risk"),
        ([0.3, 0.2], r"must increase, but 0\.2 \(number 2\) is below 0\.3.*Sort them"),
        ([0.2, 0.5, 0.5], r"0\.5 \(number 3\) repeats 0\.5.*drop duplicates"),
        ([0.3, 0.1 + 0.2], r"0\.3 \(number 2\) repeats 0\.3.*drop duplicates"),
        ([], r"thresholds are empty.*Pass at least one"),
        ([0.1, "high"], r"threshold 'high' is not a number"),
        ([0.1, None], r"threshold None is not a number"),
        ([[0.1, 0.2]], r"threshold array.* is not a number"),
        ([0], r"thresholds hold only 0.*Add at least one threshold between 0 and 1"),
    ],
)
def test_bad_values(values: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Thresholds.of(values)
    with pytest.raises(InputError, match=message):
        as_thresholds(values)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"1 weights for 2 thresholds.*one weight per threshold"),
        ([0.2, 0.3, 0.5], r"3 weights for 2 thresholds"),
        ([1.5, -0.5], r"weight -0\.5 \(position 1\) must be finite and not negative"),
        ([NAN, 1.0], r"weight nan \(position 0\) must be finite"),
        ([math.inf, 1.0], r"weight inf \(position 0\) must be finite"),
        ([0.5, 0.6], r"sum to 1\.1, not to 1.*Divide them by their sum"),
        ([0.0, 0.0], r"sum to 0, not to 1"),
        (["a", "b"], r"weight 'a' is not a number"),
        ("lenght", r"weights='lenght' is not known.*\"equal\", \"length\".*density"),
        (None, r"weights=None is not known.*\"equal\""),
        (0.5, r"weights=0\.5 is not known.*one number per threshold"),
        (lambda p: -1.0, r"density.*integrates to -0\.4 on \[0\.1, 0\.5\].*not negative"),
        (lambda p: NAN, r"density.*integrates to nan.*must be finite"),
        (lambda p: 0.0, r"density over thresholds is zero everywhere"),
    ],
)
@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
def test_bad_weights(weights: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Thresholds.of([0.1, 0.5], weights)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((0.5, 0.1, 0.1), r"range 0\.5 to 0\.1 must satisfy 0 <= low < high < 1"),
        ((0.1, 0.1, 0.1), r"must satisfy 0 <= low < high < 1"),
        ((-0.1, 0.5, 0.1), r"range -0\.1 to 0\.5"),
        ((0.1, 1.0, 0.1), r"range 0\.1 to 1\.0"),
        ((NAN, 0.5, 0.1), r"range nan to 0\.5"),
        ((0.1, 0.5, 0), r"step 0\.0 must be positive and at most high - low = 0\.4"),
        ((0.1, 0.5, -0.1), r"step -0\.1 must be positive"),
        ((0.1, 0.5, 0.41), r"step 0\.41 must be positive and at most"),
        ((0.1, 0.5, NAN), r"step nan must be positive"),
        (("low", 0.5, 0.1), r"threshold 'low' is not a number"),
    ],
)
def test_bad_range(args: tuple[float, float, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Thresholds.range(*args)


@pytest.mark.parametrize(
    "text", ["", "high", "0.1:0.5", "0.1:0.5:0.1:2", "0.1,,0.5", "0.1;0.5", "0.1:x:0.1", ":"]
)
def test_bad_text(text: str) -> None:
    with pytest.raises(InputError, match=r"cannot read thresholds .*low:high:step.*or a list"):
        Thresholds.parse(text)


def test_bad_text_with_readable_numbers() -> None:
    with pytest.raises(InputError, match=r"threshold 20\.0 .* is not a risk"):
        as_thresholds("20,30")
    with pytest.raises(InputError, match=r"range 0\.5 to 0\.1"):
        as_thresholds("0.5:0.1:0.1")


@pytest.mark.parametrize("weights", ["equal", "length", lambda p: 1.0])
@pytest.mark.parametrize(
    ("end", "message"),
    [
        (0.3, r"end=0\.3 must lie between the last threshold 0\.5 and 1"),
        (1.5, r"end=1\.5 must lie between"),
        (NAN, r"end=nan must lie between"),
        (math.inf, r"end=inf must lie between"),
        ("far", r"end 'far' is not a number"),
        (None, r"end None is not a number"),
    ],
)
def test_bad_end(end: float, message: str, weights: object) -> None:
    with pytest.raises(InputError, match=message):
        Thresholds.of([0.1, 0.5], weights, end=end)


def test_length_weights_need_an_interval() -> None:
    with pytest.raises(InputError, match=r'weights="length" needs an interval.*weights="equal"'):
        Thresholds.of([0.5], "length", end=0.5)


@pytest.mark.parametrize(
    ("values", "weights", "end", "message"),
    [
        ((0.1, 0.5), (0.5, 0.5), 1.0, r"must start at 0.*Use Thresholds\.of"),
        ((), (), 1.0, r"must start at 0"),
        ((0.0,), (1.0,), 1.0, r"hold only 0"),
        ((0.0, 0.5), (1.0,), 1.0, r"1 weights for 2 thresholds"),
        ((0.0, 0.5), (0.5, 0.6), 1.0, r"sum to 1\.1"),
        ((0.0, 0.5), (0.5, 0.5), 0.4, r"end=0\.4 must lie between"),
        ((0.0, "a"), (0.5, 0.5), 1.0, r"threshold 'a' is not a number"),
        ((0.0, 0.5), (0.5, "b"), 1.0, r"weight 'b' is not a number"),
    ],
)
def test_constructor_checks_too(
    values: tuple[float, ...], weights: tuple[float, ...], end: float, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Thresholds(values, weights, end)


def test_one_threshold_is_a_list_of_one() -> None:
    one = as_thresholds(0.2)
    assert one == as_thresholds([0.2]) == as_thresholds("0.2") == as_thresholds(np.float64(0.2))
    model = RiskScoreClassifier(thresholds=0.2, teacher=None, solver="local", time_limit=None)
    model.fit({"a": np.arange(60) % 2}, np.arange(60) % 3 == 0)
    assert model.scorecard_.thresholds == one
