"""Problem: exact values against the slow truth, the search's own units, every bad input."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.levels import count_called
from netbenefit.problem.problem import Problem, auto_units, read_penalty
from netbenefit.solvers.kernels.coordinates import columns_of
from tests.helpers import slow_truth as reference
from tests.helpers.full import examples

pytestmark = pytest.mark.filterwarnings("error")

TENTHS = Thresholds.tenths()
TABLE = PatternTable.from_arrays(
    [[0, 1, 0], [1, 0, 0], [1, 1, 2], [0, 0, 3]], [0, 1, 1, 0], names=["age", "sex", "bmi"]
)


# -- random problems -------------------------------------------------------------------------------

VALUES = {
    "binary": st.integers(0, 1),
    "integer": st.integers(-4, 9),
    "tenths": st.integers(-30, 30).map(lambda i: i / 10),
    "mixed": st.sampled_from([0.0, 0.25, -1.5, 2.0, 3.125]),
}
MASSES = {
    "plain": st.just(1),
    "whole": st.integers(1, 9),
    "real": st.floats(0.01, 9.0).map(lambda w: w + 0.001953125),
}
THRESHOLDS = [
    TENTHS,
    Thresholds.of([0.5]),
    Thresholds.range(0.05, 0.5, 0.05, weights="length"),
    Thresholds.of([0.1, 1 / 3, 0.8], weights=[0.5, 0.25, 0.25]),
    Thresholds.of([0, 0.2, 0.6], weights=[0.5, 0.0, 0.5]),
    Thresholds.of([0.123456789, 0.5], weights=[0.7, 0.3]),  # no small fraction
    Thresholds.of([0.2, 0.7], weights=lambda p: p**0.5),
]


@st.composite
def cases(draw, masses):
    """Return a problem and a point vector."""
    n_rows, n_columns = draw(st.integers(2, 10)), draw(st.integers(1, 4))
    kinds = [draw(st.sampled_from(sorted(VALUES))) for _ in range(n_columns)]
    columns = [draw(st.lists(VALUES[kind], min_size=n_rows, max_size=n_rows)) for kind in kinds]
    y = draw(st.lists(st.integers(0, 1), min_size=n_rows, max_size=n_rows))
    y[:2] = [0, 1]
    weights = draw(st.lists(MASSES[masses], min_size=n_rows, max_size=n_rows))
    table = PatternTable.from_arrays(np.array(columns).T, y, sample_weight=weights)
    penalty = draw(st.sampled_from(["paper", "auto", 0, 0.01, 1e-3, Fraction(1, 7)]))
    problem = Problem.build(table, draw(st.sampled_from(THRESHOLDS)), penalty=penalty)
    points = draw(st.lists(st.integers(-10, 10), min_size=n_columns, max_size=n_columns))
    return problem, points


def reference_value(problem, points):
    return reference.objective(problem.patterns, problem.thresholds, problem.penalty, points)


@settings(max_examples=examples(300))
@given(st.sampled_from(["plain", "whole"]).flatmap(cases))
def test_whole_masses_have_the_exact_value(made):
    problem, points = made
    table, thresholds = problem.patterns, problem.thresholds
    found = problem.evaluate(points)
    assert isinstance(found.objective, Fraction)
    assert found.objective == reference_value(problem, points)
    assert found.net_benefit == reference.weighted_net_benefit(table, thresholds, points)
    assert list(found.cutoffs) == reference.cutoffs(table, thresholds, points)
    scores = reference.floor_scores(table.codes, table.decimals, points)
    assert found.score_range == (min(scores), max(scores))
    assert found.size == sum(v != 0 for v in points)


@settings(max_examples=examples(300))
@given(cases("real"))
def test_real_masses_have_the_value_up_to_rounding(made):
    problem, points = made
    table, thresholds = problem.patterns, problem.thresholds
    found = problem.evaluate(np.array(points))
    assert float(found.objective) == pytest.approx(float(reference_value(problem, points)), 1e-12)
    # Where cut-offs are equally good, rounding may choose; the chosen one is as good.
    scores = reference.floor_scores(table.codes, table.decimals, points)
    positives = [Fraction(a) for a in table.positives.tolist()]
    negatives = [Fraction(b) for b in table.negatives.tolist()]
    for p, cutoff in zip(thresholds.fractions[1:], found.cutoffs, strict=True):
        odds = p / (1 - p)
        best = reference.best_cutoff(scores, positives, negatives, odds)[1]
        rows = list(zip(scores, positives, negatives, strict=True))
        reached = sum(a - odds * b for s, a, b in rows if s >= cutoff)
        assert float(reached) == pytest.approx(float(best), rel=1e-12, abs=1e-12)


# -- the units of the search -----------------------------------------------------------------------


def search_value(problem, points):
    """Return rates[0] · gain − rates[1] · size − rates[2] · questions, in Python's integers."""
    table, scale = problem.patterns, problem._scale
    scores = reference.floor_scores(table.codes, table.decimals, points)
    gain = 0
    for found, alarm in zip(scale.found.tolist(), scale.alarm.tolist(), strict=True):
        values = [0]
        for cutoff in set(scores):
            rows = zip(scores, table.positives.tolist(), table.negatives.tolist(), strict=True)
            values.append(sum(found * a - alarm * b for s, a, b in rows if s >= cutoff))
        gain += max(values)
    worth, price, question = problem.rates.tolist()
    size = sum(v != 0 for v in points)  # each column is a question
    return worth * gain - (price + question) * size


@settings(max_examples=examples(300))
@given(st.sampled_from(["plain", "whole", "real"]).flatmap(cases))
def test_values_of_the_search_become_objectives(made):
    problem, points = made
    value = search_value(problem, points)
    objective = reference_value(problem, points)
    if problem.rates.dtype.kind == "i":
        assert type(value) is int
        assert (value + problem._scale.constant) / problem._scale.total == objective
        assert problem.to_objective(value) == float(objective)
    else:
        assert problem.to_objective(value) == pytest.approx(float(objective), rel=1e-12, abs=1e-12)
    assert problem.value_of_one == float(problem._scale.total)


@given(cases("whole"))
def test_integers_are_used_wherever_a_common_scale_exists(made):
    problem, _ = made
    exists = problem.thresholds.integer_gains is not None
    assert (problem.rates.dtype.kind == "i") is exists
    kind = problem._scale.found.dtype.kind
    assert kind == problem._scale.alarm.dtype.kind == ("i" if exists else "f")
    assert columns_of(problem).gains.dtype == problem._scale.found.dtype


def weighed(mass, **options):
    table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 0], sample_weight=mass)
    return Problem.build(table, options.pop("thresholds", TENTHS), **options)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"mass": 1}, np.int32),
        ({"mass": 10**4}, np.int32),
        ({"mass": 10**7}, np.int64),
        ({"mass": 2**31}, np.float64),  # counts no longer fit into half an int64
        ({"mass": 0.5}, np.float64),
        ({"mass": 1, "penalty": Fraction(1, 3)}, np.int32),
        ({"mass": 10**7, "penalty": Fraction(1, 10**17 + 3)}, np.float64),  # no room
        ({"mass": 1, "thresholds": Thresholds.of([0.123456789])}, np.int32),
        ({"mass": 1, "thresholds": Thresholds.of([math.pi / 10])}, np.float64),
        ({"mass": 1, "thresholds": Thresholds.of([0.5])}, np.int32),
    ],
)
def test_the_narrowest_exact_kind_is_chosen(options, kind):
    problem = weighed(**options)
    assert problem._scale.found.dtype == problem._scale.alarm.dtype == kind
    assert problem.rates.dtype == (np.float64 if kind == np.float64 else np.int64)
    for points in ([0], [1], [-1]):
        objective = reference_value(problem, points)
        if problem.patterns.is_whole:
            assert problem.evaluate(points).objective == objective
        found = problem.to_objective(search_value(problem, points))
        exact = float(objective)
        assert found == (pytest.approx(exact, rel=1e-12) if kind == np.float64 else exact)


def test_gains_are_as_narrow_as_their_largest_sum_allows():
    gains = TENTHS.integer_gains
    unit = max(max(gains.found), 2 * max(gains.alarm))  # one event and two others
    most = (2**31 - 1) // unit
    assert weighed(most)._scale.found.dtype == np.int32
    assert weighed(most + 1)._scale.found.dtype == np.int64


def test_thresholds_that_cannot_tell_cards_apart_are_left_out():
    for thresholds in (THRESHOLDS[4], Thresholds.of([0, 0.123456789], weights=[0.5, 0.5])):
        problem = Problem.build(TABLE, thresholds)
        assert problem._scale.found.shape == (1,)
        assert problem._scale.constant > 0
        assert problem.to_objective(0) == pytest.approx(0.5 * TABLE.prevalence)


# -- allowed points --------------------------------------------------------------------------------


def box(**options):
    problem = Problem.build(TABLE, TENTHS, **options)
    return list(zip(problem.lower.tolist(), problem.upper.tolist(), strict=True))


def test_boxes():
    assert box() == [(-10, 10)] * 3
    assert box(max_points=np.int64(3)) == [(-3, 3)] * 3
    assert box(sign={"age": "+", "bmi": "-"}) == [(0, 10), (-10, 10), (-10, 0)]
    assert box(sign={"age": 1, 1: -1.0, 2: np.int64(1)}) == [(0, 10), (-10, 0), (0, 10)]
    assert box(bounds={"sex": (-2, 30), 0: [1.0, 2.0]}) == [(1, 2), (-2, 30), (-10, 10)]
    assert box(bounds={"sex": np.array([-2, 5])}, sign={"sex": "+"})[1] == (0, 5)
    assert box(bounds={"sex": (0, 0)}, sign={"sex": "-"})[1] == (0, 0)
    assert box(bounds={"sex": (10**9 - 5, 10**9)})[1] == (10**9 - 5, 10**9)


def test_allows_keeps_to_bounds_and_size():
    problem = Problem.build(TABLE, TENTHS, max_points=5, bounds={"sex": (-1, 3)}, max_features=2)
    assert problem.allows([5, 3, 0])
    assert problem.allows(np.array([-5, 0, -5]))
    assert problem.allows([0, 0, 0])
    assert not problem.allows([6, 0, 0])
    assert not problem.allows([0, -2, 0])
    assert not problem.allows([0, 4, 0])
    assert not problem.allows([1, 1, 1])
    forced = Problem.build(TABLE, TENTHS, bounds={"sex": (1, 3), "bmi": (-4, -2)})
    assert not forced.allows([0, 0, 0])
    assert forced.nearest_to_zero().tolist() == [0, 1, -2]
    assert forced.allows(forced.nearest_to_zero())


def test_max_features():
    assert Problem.build(TABLE, TENTHS).max_features == 3
    assert Problem.build(TABLE, TENTHS, max_features=99).max_features == 3
    assert Problem.build(TABLE, TENTHS, max_features=0).allows([0, 0, 0])


def test_primitive_divides_where_nothing_changes():
    problem = Problem.build(TABLE, TENTHS, bounds={"sex": (2, 6)})
    whole = Problem.build(TABLE, TENTHS)
    assert whole.primitive(np.array([4, -6, 0])).tolist() == [2, -3, 0]
    assert whole.primitive(np.array([0, -7, 0])).tolist() == [0, -1, 0]
    assert whole.primitive(np.array([3, 2, 0])).tolist() == [3, 2, 0]
    assert whole.primitive(np.array([0, 0, 0])).tolist() == [0, 0, 0]
    assert problem.primitive(np.array([4, 4, 0])).tolist() == [4, 4, 0]  # 1 is not allowed
    assert problem.primitive(np.array([2, 4, 0])).tolist() == [1, 2, 0]
    tenths = PatternTable.from_arrays([[0.1], [0.5], [1.0]], [0, 1, 1])
    rounding = Problem.build(tenths, TENTHS)  # floors of halves are not halves of floors
    assert rounding.primitive(np.array([4])).tolist() == [4]


@given(cases("whole"))
def test_primitive_keeps_the_value(made):
    problem, points = made
    points = np.clip(points, problem.lower, problem.upper)  # a constant column has no points
    smaller = problem.primitive(points)
    assert problem.allows(smaller)
    assert problem.evaluate(smaller).objective == problem.evaluate(points).objective


def test_penalties():
    def penalty(given):
        return Problem.build(TABLE, TENTHS, penalty=given).penalty

    assert penalty("paper") == Fraction(1, 10) * Fraction(1, 2) / 3
    assert penalty(0.1) == penalty(np.float64(0.1)) == Fraction(1, 10)  # the decimal as written
    assert penalty(Fraction(1, 3)) == Fraction(1, 3)
    assert penalty(0) == 0
    assert penalty(np.int64(2)) == 2
    assert penalty(10**400) == 10**400


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_points": 0}, "max_points must be a whole number of at least 1, not 0"),
        ({"max_points": -3}, "max_points must be a whole number of at least 1, not -3"),
        ({"max_points": 2.5}, "max_points must be a whole number of at least 1, not 2.5"),
        ({"max_points": "5"}, "max_points must be a whole number of at least 1, not '5'"),
        ({"max_points": True}, "max_points must be a whole number of at least 1, not True"),
        ({"max_points": None}, "max_points must be a whole number of at least 1, not None"),
        ({"max_points": 10**30}, "max_points=10+ is too large. Use at most 1000000000"),
        ({"max_features": -1}, "max_features must be a whole number of at least 0, not -1"),
        ({"max_features": 2.0}, "max_features must be a whole number of at least 0, not 2.0"),
        ({"max_features": False}, "max_features must be a whole number of at least 0, not False"),
        ({"penalty": "big"}, 'penalty=\'big\' is not known. Use "auto", "paper" or a number'),
        ({"penalty": "0.1"}, 'penalty=\'0.1\' is not known. Use "auto", "paper" or a number'),
        ({"penalty": -0.1}, "penalty must not be negative, but is -0.1"),
        ({"penalty": Fraction(-1, 2)}, "penalty must not be negative, but is Fraction"),
        ({"penalty": np.nan}, 'penalty must be a finite number or "auto", "paper", not nan'),
        ({"penalty": np.inf}, 'penalty must be a finite number or "auto", "paper", not inf'),
        ({"penalty": None}, 'penalty must be a finite number or "auto", "paper", not None'),
        ({"penalty": True}, 'penalty must be a finite number or "auto", "paper", not True'),
        ({"penalty": 1j}, 'penalty must be a finite number or "auto", "paper", not 1j'),
        (
            {"penalty": [0.1]},
            "must be one price, or two: of a question",
        ),
        ({"sign": {"age": "up"}}, r'sign of column \'age\' must be "\+" or "-" .*, not \'up\''),
        ({"sign": {"sex": 0}}, r"sign of column 'sex' must be .*, not 0"),
        ({"sign": {"sex": 2}}, r"sign of column 'sex' must be .*, not 2"),
        ({"sign": {"sex": True}}, r"sign of column 'sex' must be .*, not True"),
        ({"sign": {"sex": ["+"]}}, r"sign of column 'sex' must be .*, not \['\+'\]"),
        ({"sign": {"sex": None}}, r"sign of column 'sex' must be .*, not None"),
        ({"sign": ["+", "-"]}, r"sign must be a mapping from column to setting, not \['\+', '-'\]"),
        ({"sign": {"weight": "+"}}, "sign names column 'weight', .* columns are 'age', 'sex', 'bm"),
        ({"sign": {3: "+"}}, "sign names column 3, which is not in the table. .* Correct the name"),
        ({"sign": {-1: "+"}}, "sign names column -1, which is not in the table"),
        ({"sign": {True: "+"}}, "sign names column True, which is not in the table"),
        ({"bounds": {"weight": (0, 1)}}, "bounds names column 'weight', which is not in the table"),
        ({"bounds": [(0, 1)]}, "bounds must be a mapping from column to setting, not"),
        ({"bounds": {"age": (0, 1, 2)}}, r"bounds of column 'age' must be two whole .* \(0, 1, 2"),
        (
            {"bounds": {"age": 5}},
            "bounds of column 'age' must be two whole numbers .lowest, highes",
        ),
        ({"bounds": {"age": (0.5, 2)}}, "bounds of column 'age' must be two whole numbers"),
        ({"bounds": {"age": ("0", "2")}}, "bounds of column 'age' must be two whole numbers"),
        ({"bounds": {"age": (0, None)}}, "bounds of column 'age' must be two whole numbers"),
        ({"bounds": {"age": (0, np.nan)}}, "bounds of column 'age' must be two whole numbers"),
        ({"bounds": {"age": (0, np.inf)}}, "bounds of column 'age' must be two whole numbers"),
        ({"bounds": {"age": (3, 1)}}, r"bounds of column 'age' are empty: 3 > 1. Give \(lowest"),
        ({"bounds": {"age": (0, 10**10)}}, r"'age' are too wide: \(0, 10+\). Use at most 10+ poin"),
        ({"bounds": {"age": (-(10**30), 0)}}, "'age' are too wide: .* Use at most 10+ points"),
        (
            {"bounds": {"bmi": (1, 5)}, "sign": {"bmi": "-"}},
            r"on column 'bmi' contradict .*: points of bmi from 1 to 5; no positive .* one of them",
        ),
        (
            {"bounds": {"bmi": (-5, -1)}, "sign": {"bmi": 1}},
            r"on column 'bmi' contradict each other: .* from -5 to -1; no negative points for bmi",
        ),
        (
            {"bounds": {"age": (1, 2), "bmi": (-3, -1)}, "max_features": 1},
            r"force 2 columns to have points \('age', 'bmi'\), but max_features is 1. Raise it",
        ),
        (
            {"bounds": {"age": (1, 2)}, "max_features": 0},
            "force 1 columns .*'age'.*, but max_features is 0. Raise it, or let the bounds include",
        ),
    ],
)
def test_bad_settings(options, message):
    with pytest.raises(InputError, match=message):
        Problem.build(TABLE, TENTHS, **options)


@pytest.mark.parametrize(("y", "what"), [([0, 0, 0], "no events"), ([1, 1, 1], "only events")])
def test_one_class_only(y, what):
    table = PatternTable.from_arrays([[0], [1], [2]], y)
    message = f"the outcome has one class only: there are {what}. A card needs rows of both classes"
    with pytest.raises(InputError, match=message):
        Problem.build(table, TENTHS)


def test_one_class_only_once_rows_of_weight_zero_are_gone():
    table = PatternTable.from_arrays([[0], [1]], [0, 1], sample_weight=[1, 0])
    with pytest.raises(InputError, match="one class only: there are no events"):
        Problem.build(table, TENTHS)


@pytest.mark.parametrize("others", [[0.5], [0.123456789, 0.5]])
def test_all_weight_on_threshold_zero(others):
    thresholds = Thresholds.of([0, *others], weights=[1, *[0] * len(others)])
    message = (
        r"all weight lies on threshold 0, where every card is equally good\. Give weight to a "
        r"threshold above 0"
    )
    with pytest.raises(InputError, match=message):
        Problem.build(TABLE, thresholds)


def test_scores_that_could_overflow():
    message = (
        r"scores could exceed 64-bit integers; column 'income' contributes most\. Rescale or bin "
        r"it, keep fewer decimals, or lower max_points"
    )
    table = PatternTable.from_arrays([[0, 1], [2**50, 0]], [0, 1], names=["income", "age"])
    with pytest.raises(InputError, match=message):
        Problem.build(table, TENTHS, max_points=5000)
    with pytest.raises(InputError, match=message):
        Problem.build(table, TENTHS, bounds={"income": (-(10**6), -(10**6) + 9)})
    assert Problem.build(table, TENTHS).evaluate([10, 10]).score_range == (10, 10 * 2**50)
    # another column's decimals count as well: all scores are held in the finest steps
    mixed = PatternTable.from_arrays(
        [[0, 0.5], [2**50, 1]], [0, 1], names=["income", "rate"], decimals={"rate": 6}
    )
    with pytest.raises(InputError, match=message):
        Problem.build(mixed, TENTHS)
    coarse = PatternTable.from_arrays([[0, 0.5], [2**50, 1]], [0, 1], names=["income", "rate"])
    assert Problem.build(coarse, TENTHS).evaluate([3, 1]).score_range == (0, 3 * 2**50 + 1)


def test_too_many_values_for_one_column_are_refused():
    table = PatternTable.from_arrays([[0, 0], [1, 1]], [0, 1], names=["age", "sex"])
    with pytest.raises(InputError, match=r"'age' may have 2,000,001 different.*Lower max_points"):
        Problem.build(table, Thresholds.tenths(), max_points=10**6)
    with pytest.raises(InputError, match=r"'sex' may have 40,001 different"):
        Problem.build(table, Thresholds.tenths(), bounds={"sex": (-(10**4), 3 * 10**4)})


def test_columns_that_cannot_move_a_score_are_named():
    X = [[0.001, 0, 5], [0.009, 1, 5]]
    table = PatternTable.from_arrays(X, [0, 1], names=["tiny", "fine", "constant"])
    assert Problem.build(table, Thresholds.tenths()).too_small == ("tiny",)
    assert Problem.build(table, Thresholds.tenths(), max_points=125).too_small == ()


def test_the_price_of_a_rule() -> None:
    assert [float(auto_units(n)) for n in (200, 1000, 40_000)] == [0.22, 0.5, 1.0]
    table = PatternTable.from_arrays([[0], [1]], [0, 1])
    prices = [read_penalty(penalty, table) for penalty in ("paper", "auto", 0.01)]
    assert prices == [Fraction(1, 20), Fraction(1, 200), Fraction(1, 100)]


def test_counts_at_or_above_each_cutoff() -> None:
    cutoffs, tp, fp, unit = count_called(np.array([0, 4]), np.array([0, 1]), np.array([5, 1]))
    assert (cutoffs.tolist(), tp.tolist(), fp.tolist(), unit) == (
        [0, 4, 5],
        [1, 1, 0],
        [6, 1, 0],
        1,
    )
