from __future__ import annotations

import math
import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from netbenefit.common.checks import InputError
from netbenefit.metrics.benefit import (
    aunbc,
    auroc,
    expected_calibration_error,
    hosmer_lemeshow,
)
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.theory.calibration import (
    LevelMap,
    Move,
    calibrate_levels,
    improve_levels,
    keep_order,
)
from tests.helpers.full import examples

# -- the slow twin: the published algorithms on rows ----------------------------------------------


class Rows:
    """Risks that are moved row by row, and counted anew each time; probes are moved, not counted.

    Rows beyond the outcomes are probes: new risks to which the map is applied.
    """

    def __init__(self, y_true, risk, thresholds, weights, probes=()):
        self.p = [*thresholds.fractions, Fraction(1)]
        self.edges = [*thresholds.values, 1.0]
        self.last = len(thresholds) - 1
        self.y = [bool(y) for y in y_true] + [False] * len(probes)
        self.weights = [Fraction(float(w)) for w in weights] + [Fraction(0)] * len(probes)
        self.risks = [float(c) for c in risk] + [float(c) for c in probes]

    def inside(self, i, c):
        return self.edges[i] <= c and (i == self.last or c < self.edges[i + 1])

    def count(self, i):
        members = [j for j, c in enumerate(self.risks) if self.inside(i, c)]
        total = sum((self.weights[j] for j in members), Fraction(0))
        events = sum((self.weights[j] for j in members if self.y[j]), Fraction(0))
        return total, events

    def send(self, i, value):
        self.risks = [value if self.inside(i, c) else c for c in self.risks]

    def algorithm_1(self):
        for i in range(self.last):
            total, events = self.count(i)
            if events > self.p[i + 1] * total:
                self.send(i, self.edges[i + 1])
        for i in range(self.last, 0, -1):
            total, events = self.count(i)
            if events < self.p[i] * total:
                self.send(i, self.edges[i - 1])
        return np.array(self.risks)

    def algorithm_2(self):
        self.algorithm_1()
        for i in range(self.last + 1):
            total, events = self.count(i)
            if total == 0:  # the published rule moves nothing here, but it would move probes
                continue
            if events == self.p[i + 1] * total:
                self.send(i, self.edges[i + 1])
            else:
                rate = float(events / total)
                if i < self.last and rate >= self.edges[i + 1]:
                    # Below the edge, but rounded onto it: the risk must not cross (documented).
                    rate = math.nextafter(self.edges[i + 1], 0.0)
                self.send(i, rate)
        return np.array(self.risks)


# -- random cases ---------------------------------------------------------------------------------

GRIDS = [
    Thresholds.tenths(),
    Thresholds.of([0.5]),
    Thresholds.of([0.25, 0.5, 0.75]),
    Thresholds.range(0.05, 0.5, 0.05),
    Thresholds.of([1 / 3, 0.4, 0.9]),
    Thresholds.of([0.0857, 0.1102, 0.1325, 0.2292, 0.4491, 0.5409, 0.5727, 0.5778, 0.6975]),
    Thresholds.of([0.1, 0.123456789012345678, 2**-0.5]),
]
WEIGHTS = st.one_of(
    st.just(1.0),
    st.integers(0, 4).map(float),
    st.sampled_from([0.1, 0.3, 1e-3, 7.5]),
)


@st.composite
def cases(draw):
    """Outcomes, risks (many on the thresholds), thresholds, weights (some zero, never all)."""
    grid = draw(st.sampled_from(GRIDS))
    level = st.sampled_from([*grid.values, 1.0])
    anywhere = st.integers(0, 40).map(lambda k: k / 40)
    n = draw(st.integers(1, 30))
    risk = draw(st.lists(level | anywhere, min_size=n, max_size=n))
    y_true = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    weights = draw(st.just([1.0] * n) | st.lists(WEIGHTS, min_size=n, max_size=n))
    if not any(weights):
        weights[0] = 1.0
    return np.array(y_true), np.array(risk), grid, np.array(weights)


def random_case(rng):
    """Draw a case without hypothesis: hundreds a second, with sharper rates than uniform ones."""
    grid = GRIDS[rng.integers(len(GRIDS))]
    n = int(rng.integers(1, 60))
    risk = rng.choice([*grid.values, 1.0], n) if rng.random() < 0.3 else rng.random(n) ** 2
    risk = np.where(rng.random(n) < 0.5, risk, rng.choice([*grid.values, 1.0], n))
    y_true = rng.random(n) < rng.choice([0.0, 0.2, 0.5, 1.0], p=[0.1, 0.4, 0.4, 0.1])
    kind = rng.integers(3)
    weights = [np.ones(n), rng.integers(0, 4, n).astype(float), rng.exponential(size=n)][kind]
    if not weights.any():
        weights[0] = 1.0
    return y_true, risk, grid, weights


def probes_of(grid: Thresholds) -> NDArray[np.float64]:
    """Risks at, just below and between all edges: one map, seen everywhere."""
    edges = np.array([*grid.values, 1.0])
    return np.unique(
        np.concatenate([edges, np.nextafter(edges[1:], 0), (edges[1:] + edges[:-1]) / 2])
    )


def check_against_twin(y_true, risk, grid, weights):
    probes = probes_of(grid)
    everywhere = np.append(risk, probes)
    one = improve_levels(y_true, risk, grid, sample_weight=weights)
    np.testing.assert_array_equal(
        one.apply(everywhere), Rows(y_true, risk, grid, weights, probes).algorithm_1()
    )
    two = calibrate_levels(y_true, risk, grid, sample_weight=weights)
    np.testing.assert_array_equal(
        two.apply(everywhere), Rows(y_true, risk, grid, weights, probes).algorithm_2()
    )


@settings(max_examples=examples(400))
@given(cases())
def test_both_algorithms_equal_the_published_row_by_row_version(case):
    check_against_twin(*case)


def test_a_rate_just_below_a_threshold_stays_below_it():
    """0.3 / 0.5 of these floats is less than 3/5, but the nearest float is 0.6."""
    y = np.array([0, 0, 1])
    risk, weights = np.full(3, 0.1), np.array([0.1, 0.1, 0.3])
    check_against_twin(y, risk, Thresholds.tenths(), weights)
    got = calibrate_levels(y, risk, Thresholds.tenths(), sample_weight=weights).apply(risk)
    assert (got < 0.6).all()


def test_both_algorithms_equal_the_twin_on_thousands_of_cases():
    rng = np.random.default_rng(20)
    for _ in range(2500):
        check_against_twin(*random_case(rng))


# -- what the paper promises ----------------------------------------------------------------------


@settings(max_examples=examples(300))
@given(cases())
def test_proposition_rates_lie_in_their_closed_intervals(case):
    y_true, risk, grid, weights = case
    better = improve_levels(y_true, risk, grid, sample_weight=weights)
    rows = Rows(y_true, better.apply(risk), grid, weights)
    for i in range(len(grid)):
        total, events = rows.count(i)
        assert rows.p[i] * total <= events <= rows.p[i + 1] * total


def exact_net_benefits(y_true, risk, grid, weights):
    """N · net benefit at every threshold, exactly."""
    w = [Fraction(float(v)) for v in weights]
    result = []
    for value, p in zip(grid.values, grid.fractions, strict=True):
        found = sum((v for v, y, c in zip(w, y_true, risk, strict=True) if y and c >= value), 0)
        alarm = sum((v for v, y, c in zip(w, y_true, risk, strict=True) if not y and c >= value), 0)
        result.append(found - p / (1 - p) * alarm)
    return result


@settings(max_examples=examples(300))
@given(cases())
def test_each_move_raises_net_benefit_at_one_threshold_and_lowers_it_at_none(case):
    y_true, risk, grid, weights = case
    better = improve_levels(y_true, risk, grid, sample_weight=weights)
    level = grid.level_of(risk)
    before = exact_net_benefits(y_true, grid.array[level], grid, weights)
    for source, target, _ in better.moves:
        level = np.where(level == source, target, level)
        after = exact_net_benefits(y_true, grid.array[level], grid, weights)
        gains = [b - a for a, b in zip(before, after, strict=True)]
        assert min(gains) == 0
        assert [i for i, gain in enumerate(gains) if gain > 0] == [max(source, target)]
        before = after
    assert before == exact_net_benefits(y_true, better.apply(risk), grid, weights)


@settings(max_examples=examples(300))
@given(cases())
def test_calibrated_risks_have_no_calibration_error_and_no_lower_area(case):
    y_true, risk, grid, weights = case
    fitted = calibrate_levels(y_true, risk, grid, sample_weight=weights)
    new = fitted.apply(risk)
    assert expected_calibration_error(y_true, new, grid, sample_weight=weights) <= 1e-12
    assert hosmer_lemeshow(y_true, new, grid, sample_weight=weights) <= 1e-12
    old_area = aunbc(y_true, risk, grid, sample_weight=weights)
    new_area = aunbc(y_true, new, grid, sample_weight=weights)
    assert new_area >= old_area - 1e-12
    old = exact_net_benefits(y_true, risk, grid, weights)
    improved = improve_levels(y_true, risk, grid, sample_weight=weights).apply(risk)
    one = exact_net_benefits(y_true, improved, grid, weights)
    two = exact_net_benefits(y_true, new, grid, weights)
    assert one == two  # calibration itself costs no net benefit
    assert all(a <= b for a, b in zip(old, two, strict=True))


def test_area_rises_where_a_model_is_far_off():
    rng = np.random.default_rng(0)
    truth = rng.random(3000)
    y_true = rng.random(3000) < truth
    squashed = truth / 4
    new = calibrate_levels(y_true, squashed).apply(squashed)
    assert aunbc(y_true, new) > aunbc(y_true, squashed) + 0.02


@settings(max_examples=examples(300))
@given(cases())
def test_calibrated_risks_keep_the_order_weakly_everywhere(case):
    y_true, risk, grid, weights = case
    fitted = calibrate_levels(y_true, risk, grid, sample_weight=weights)
    assert np.all(np.diff(fitted.apply(probes_of(grid))) >= 0)
    assert list(fitted.levels) == sorted(fitted.levels)


def test_algorithm_1_as_published_turns_an_order_round_and_keep_order_mends_it():
    # Nobody at 0.25 has the event: they are sent to 0.1, below those who stay at 0.15.
    y_true = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    risk = np.array([0.05, 0.05, 0.15, 0.15, 0.15, 0.15, 0.15, 0.15, 0.25, 0.25])
    better = improve_levels(y_true, risk, [0.1, 0.2])
    assert better.apply([0.15, 0.25]).tolist() == [0.15, 0.1]
    ordered = keep_order(better).apply([0.05, 0.1, 0.15, 0.19, 0.2, 0.25, 1.0])
    assert np.all(np.diff(ordered) > 0)
    assert Thresholds.of([0.1, 0.2]).level_of(ordered).tolist() == [0, 1, 1, 1, 1, 1, 1]
    assert np.all(np.diff(calibrate_levels(y_true, risk, [0.1, 0.2]).apply([0.15, 0.25])) >= 0)


# -- the order-keeping version --------------------------------------------------------------------


@settings(max_examples=examples(400))
@given(cases(), st.sampled_from([improve_levels, calibrate_levels]))
def test_kept_order_changes_no_decision_and_no_order(case, learn):
    y_true, risk, grid, weights = case
    flat = learn(y_true, risk, grid, sample_weight=weights)
    ordered = keep_order(flat)
    assert ordered == learn(y_true, risk, grid, sample_weight=weights, order_keeping=True)
    assert 0 < ordered.delta <= 0.01
    everywhere = np.unique(np.append(risk, probes_of(grid)))
    new = ordered.apply(everywhere)
    np.testing.assert_array_equal(grid.level_of(new), grid.level_of(flat.apply(everywhere)))
    assert np.all(np.diff(new) >= 0)
    for (a, new_a), (b, new_b) in pairwise(zip(everywhere, new, strict=True)):
        if ordered.delta * (b - a) > 1e-15:
            assert new_a < new_b or new_a == new_b == 1.0
    assert aunbc(y_true, ordered.apply(risk), grid, sample_weight=weights) == aunbc(
        y_true, flat.apply(risk), grid, sample_weight=weights
    )
    if learn is calibrate_levels:
        error = expected_calibration_error(y_true, ordered.apply(risk), grid, sample_weight=weights)
        assert error <= ordered.delta + 1e-12


@settings(max_examples=examples(200))
@given(cases(), st.floats(0.001, 0.999))
def test_any_allowed_delta_keeps_the_promises(case, share):
    y_true, risk, grid, weights = case
    flat = calibrate_levels(y_true, risk, grid, sample_weight=weights)
    edges = [*grid.values[1:], 1.0]
    rooms = [
        edges[i] - q
        for i, q in zip(flat.levels, flat.values, strict=True)
        if q is not None and q < 1
    ]
    delta = share * min(rooms, default=1.0)
    ordered = keep_order(flat, delta)
    everywhere = probes_of(grid)
    new = ordered.apply(everywhere)
    np.testing.assert_array_equal(grid.level_of(new), grid.level_of(flat.apply(everywhere)))
    assert np.all(np.diff(new) >= 0)
    error = expected_calibration_error(y_true, ordered.apply(risk), grid, sample_weight=weights)
    assert error <= delta + 1e-12
    if rooms:
        with pytest.raises(InputError, match="so that the risk"):
            keep_order(flat, min(rooms))


def test_order_is_strict_up_to_the_cap():
    fitted = LevelMap(Thresholds.of([0.5]), (0.25, 1.0))
    new = keep_order(fitted).apply([0.0, 0.1, 0.4, 0.5, 0.9])
    assert new.tolist() == [0.25, 0.251, 0.254, 1.0, 1.0]
    assert auroc([0, 1, 1], keep_order(fitted).apply([0.1, 0.2, 0.3])) == 1.0
    assert auroc([0, 1, 1], fitted.apply([0.1, 0.2, 0.3])) == 0.5


def test_default_delta_is_half_of_the_room_where_it_is_small():
    grid = Thresholds.of([0.5])
    assert keep_order(LevelMap(grid, (0.492, 0.8))).delta == pytest.approx(0.004)
    assert keep_order(LevelMap(grid, (0.2, 0.994))).delta == pytest.approx(0.003)
    assert keep_order(LevelMap(grid, (None, None))).delta == 0.01


def test_delta_just_below_the_room_does_not_round_onto_the_threshold():
    grid = Thresholds.of([0.3])
    flat = LevelMap(grid, (0.1, 0.5))
    ordered = keep_order(flat, np.nextafter(0.3 - 0.1, 0))
    assert ordered.apply(np.nextafter(0.3, 0)) < 0.3
    top = LevelMap(Thresholds.of([0.9]), (0.7, 0.95))  # a low constant for a high original risk
    assert keep_order(top, np.nextafter(1 - 0.95, 0)).apply([1.0])[0] <= 1.0


@pytest.mark.parametrize("delta", [0.0, -0.1, np.nan, np.inf, 0.25])
def test_impossible_delta_is_refused(delta):
    with pytest.raises(InputError, match=r"delta=.* must be positive and below 0\.25"):
        keep_order(LevelMap(Thresholds.of([0.5]), (0.25, 0.5)), delta)


def test_infinite_delta_is_refused_where_nothing_limits_it():
    with pytest.raises(InputError, match="must be positive and finite"):
        keep_order(LevelMap(Thresholds.of([0.5]), (None, 1.0)), np.inf)


# -- exactness ------------------------------------------------------------------------------------


def test_a_rate_on_the_threshold_is_no_reason_to_move_but_joins_the_next_level():
    # 3 of 10 at 0.25, threshold 0.3: in floats 0.3 * 10 and sums of 0.1 are treacherous.
    y_true = [1] * 3 + [0] * 7
    for weights in (None, [0.1] * 10, [1e-3] * 10, [3.0] * 10):
        one = improve_levels(y_true, [0.25] * 10, [0.2, 0.3], sample_weight=weights)
        assert one.moves == ()
        two = calibrate_levels(y_true, [0.25] * 10, [0.2, 0.3], sample_weight=weights)
        assert two.moves == (Move(1, 2, 0.3),)
        assert two.values == (None, 0.3, 0.3)


def test_equal_weights_are_no_weights():
    rng = np.random.default_rng(3)
    for _ in range(200):
        y_true, risk, grid, _ = random_case(rng)
        plain = calibrate_levels(y_true, risk, grid)
        assert plain == calibrate_levels(
            y_true, risk, grid, sample_weight=np.full(len(risk), rng.exponential())
        )


def test_integer_weights_are_repeated_rows():
    rng = np.random.default_rng(4)
    for _ in range(200):
        y_true, risk, grid, _ = random_case(rng)
        weights = rng.integers(0, 4, len(risk))
        weights[0] = 1
        repeated = calibrate_levels(y_true.repeat(weights), risk.repeat(weights), grid)
        assert repeated == calibrate_levels(y_true, risk, grid, sample_weight=weights)


def test_weights_of_very_different_size_are_summed_exactly():
    # A float sum would lose the small weights, and with them the move.
    y_true = [1, 0, 1]
    weights = [2.0**60, 2.0**60, 2.0**-60]
    fitted = improve_levels(y_true, [0.4] * 3, [0.5], sample_weight=weights)
    assert fitted.moves == (Move(0, 1, 0.5),)
    weights = [2.0**60, 2.0**60 + 2.0**10, 5e-324]
    assert improve_levels(y_true, [0.4] * 3, [0.5], sample_weight=weights).moves == ()


def test_a_rate_that_rounds_onto_the_threshold_stays_below_it():
    y_true = [1, 1, 1, 1, 0, 0, 0, 0]
    weights = np.ones(8)
    weights[0] = np.nextafter(1.0, 0.0)  # the rate is below one half by less than floats can tell
    fitted = calibrate_levels(y_true, [0.4] * 8, [0.5], sample_weight=weights)
    assert fitted.moves == ()
    assert fitted.values == (np.nextafter(0.5, 0.0), None)
    assert fitted.thresholds.level_of(fitted.apply([0.4]))[0] == 0
    assert keep_order(fitted).apply([0.0, 0.4]).max() < 0.5
    weights[0] = np.nextafter(1.0, 2.0)  # and now above
    fitted = calibrate_levels(y_true, [0.4] * 8, [0.5], sample_weight=weights)
    assert fitted.values == (0.5, 0.5)
    assert len(fitted.moves) == 1


@settings(max_examples=examples(200))
@given(cases())
def test_new_risks_lie_in_the_levels_that_the_counts_gave_them(case):
    y_true, risk, grid, weights = case
    fitted = calibrate_levels(y_true, risk, grid, sample_weight=weights)
    for value, level in zip(fitted.values, fitted.levels, strict=True):
        if value is not None:
            assert grid.values[level] <= value <= 1.0
            assert level == len(grid) - 1 or value < grid.values[level + 1]


# -- special cases --------------------------------------------------------------------------------


def test_one_class_only():
    risk = [0.05, 0.35, 0.95]
    events = calibrate_levels([1, 1, 1], risk)
    assert events.apply(risk).tolist() == [1.0, 1.0, 1.0]
    assert events.apply([0.15]).tolist() == [1.0]  # passed by on the way up
    none = calibrate_levels([0, 0, 0], risk)
    assert none.apply([*risk, 0.15]).tolist() == [0.0] * 4


def test_levels_empty_in_training_stay_as_they_are():
    y_true, risk = [0, 1, 0, 0, 1, 1], [0.3, 0.3, 0.3, 0.7, 0.7, 0.7]
    fitted = calibrate_levels(y_true, risk, [0.2, 0.4, 0.6, 0.8])
    assert fitted.values == (None, 1 / 3, None, 2 / 3, None)
    assert fitted.apply([0.1, 0.45, 0.9]).tolist() == [0.1, 0.45, 0.9]
    # Taken literally, 0 = p · 0 would join an empty level to the next: new risks of 0.1 would be
    # treated like 0.3, on no evidence.


def test_rows_without_weight_teach_nothing():
    fitted = calibrate_levels([0, 1, 1], [0.1, 0.1, 0.9], [0.5], sample_weight=[2, 1, 0])
    assert fitted.values == (1 / 3, None)


def test_moves_join_on_the_way():
    # Each level alone would stay below the next but one; joined they go up together, then down.
    y_true = [1, 1, 0, 0, 0, 0]
    risk = [0.05, 0.05, 0.15, 0.15, 0.15, 0.15]
    fitted = improve_levels(y_true, risk, [0.1, 0.2, 0.3, 0.4])
    assert [(m.source, m.target) for m in fitted.moves] == [(0, 1), (1, 2), (2, 3)]
    assert fitted.values == (0.3, 0.3, 0.3, None, None)
    assert [m.rate for m in fitted.moves] == [1.0, 1 / 3, 1 / 3]


def test_apply_takes_numbers_and_arrays_and_nothing_else():
    fitted = LevelMap(Thresholds.of([0.5]), (0.25, None))
    assert fitted.apply(0.1).shape == ()
    assert float(fitted.apply(0.1)) == 0.25
    assert fitted.apply([]).shape == (0,)
    assert fitted.apply(np.float32([0.75])).tolist() == [0.75]
    with pytest.raises(InputError, match=r"risk must lie in \[0, 1\], but row 1"):
        fitted.apply([0.1, -0.2])
    with pytest.raises(InputError, match=r"risk .* row 1"):
        fitted.apply([0.1, np.nan])
    with pytest.raises(InputError, match=r"Pass the event's: risk\[:, 1\]"):
        fitted.apply(np.full((3, 2), 0.5))


def test_maps_are_frozen_comparable_and_picklable():
    fitted = calibrate_levels([0, 1, 0, 1], [0.1, 0.1, 0.3, 0.9], [0.2, 0.5])
    assert pickle.loads(pickle.dumps(fitted)) == fitted
    with pytest.raises(AttributeError):
        fitted.delta = 0.5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y_true": [0, 2, 1]}, "y_true must hold only 0 and 1, but row 1"),
        ({"y_true": []}, "y_true is empty"),
        ({"risk": [0.1, 0.2]}, "there are 3 rows"),
        ({"risk": [0.1, 1.2, 0.3]}, "row 1 has 1.2"),
        ({"thresholds": [0.5, 0.2]}, "thresholds must increase"),
        ({"sample_weight": [1, -1, 1]}, "row 1 has -1.0"),
        ({"sample_weight": [0, 0, 0]}, "zero in every row"),
    ],
)
@pytest.mark.parametrize("learn", [improve_levels, calibrate_levels])
def test_bad_input_is_named(learn, arguments, message):
    good = {"y_true": [0, 1, 1], "risk": [0.1, 0.2, 0.3], "thresholds": [0.2]}
    with pytest.raises(InputError, match=message):
        learn(**{**good, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": (0.1,)}, "1 values for 2 levels"),
        ({"values": (0.1, 1.5)}, "the value 1.5 of level 1"),
        ({"delta": -1.0}, "delta=-1.0"),
    ],
)
def test_impossible_maps_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        LevelMap(**{"thresholds": Thresholds.of([0.5]), "values": (None, None), **arguments})
