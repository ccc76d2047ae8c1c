"""PatternTable: exact merging, the way back, every kind of table, every bad input."""

from __future__ import annotations

import datetime
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from netbenefit.common.checks import InputError
from netbenefit.common.numbers import find_decimals, to_step, to_steps
from netbenefit.data.patterns import PatternTable

pytestmark = pytest.mark.filterwarnings("error")

# -- a slow twin -----------------------------------------------------------------------------------


def twin(rows, y, weights):
    """Return {row: [mass of events, mass of non-events]}, rows as tuples of fractions."""
    masses = defaultdict(lambda: [Fraction(0), Fraction(0)])
    for row, event, weight in zip(rows, y, weights, strict=True):
        if weight > 0:
            masses[tuple(map(Fraction, row))][0 if event else 1] += Fraction(weight)
    return masses


def fractions_of(table):
    units = [10**d for d in table.decimals]
    return [
        tuple(Fraction(code, unit) for code, unit in zip(row, units, strict=True))
        for row in table.codes.tolist()
    ]


def decimals_of(column):
    return max(max(0, -Decimal(x).normalize().as_tuple().exponent) for x in column)


def assert_is_twin(table, rows, y, weights):
    """Compare a table with the twin of the same rows, given as integers or decimals."""
    expected = twin(rows, y, weights)
    found = fractions_of(table)
    assert found == sorted(expected)  # distinct, in lexicographic order
    assert [Fraction(m) for m in table.positives.tolist()] == [expected[r][0] for r in found]
    assert [Fraction(m) for m in table.negatives.tolist()] == [expected[r][1] for r in found]
    whole = all(w == int(w) for w in weights)
    assert table.positives.dtype == table.negatives.dtype == (np.int64 if whole else np.float64)
    assert table.is_whole is whole
    # the way back
    assert table.pattern_of_row.shape == (len(rows),)
    for row, weight, pattern in zip(rows, weights, table.pattern_of_row.tolist(), strict=True):
        assert found[pattern] == tuple(map(Fraction, row)) if weight > 0 else pattern == -1
    # the sums
    events = sum(Fraction(w) for w, event in zip(weights, y, strict=True) if event)
    total = sum(map(Fraction, weights))
    assert (table.n_events, table.n_total) == (events, total)
    assert table.prevalence == pytest.approx(float(events / total), rel=1e-15)
    # the steps
    kept = [row for row, weight in zip(rows, weights, strict=True) if weight > 0]
    assert table.decimals == tuple(map(decimals_of, zip(*kept, strict=True)))
    assert table.is_integer is (max(table.decimals) == 0)
    assert table.rounded == ()


INTEGERS = st.integers(-3, 3)
DECIMALS = st.one_of(
    st.integers(-20, 20).map(lambda i: Decimal(i) / 10),
    st.integers(-999, 999).map(lambda i: Decimal(i) / 1000),
    st.integers(-(10**6), 10**6).map(lambda i: Decimal(i) / 10**6),
    st.integers(-3, 3).map(Decimal),
)
HUGE = st.sampled_from([-(2**52), -(2**52) + 1, -1, 0, 1, 2**51 + 7, 2**52])
WEIGHTS = {
    "none": st.none(),
    "whole": st.integers(0, 3),
    "real": st.integers(0, 12).map(lambda i: i / 4),  # sums of quarters are exact
}


@st.composite
def tables(draw, values):
    n_rows, n_columns = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    row = st.lists(values, min_size=n_columns, max_size=n_columns)
    pool = draw(st.lists(row, min_size=1, max_size=4))  # few distinct rows: duplicates are common
    rows = [draw(st.sampled_from(pool)) for _ in range(n_rows)]
    y = draw(st.lists(st.integers(0, 1), min_size=n_rows, max_size=n_rows))
    kind = draw(st.sampled_from(sorted(WEIGHTS)))
    weights = [draw(WEIGHTS[kind]) for _ in range(n_rows)]
    if kind == "none":
        return rows, y, None
    weights[draw(st.integers(0, n_rows - 1))] = 2
    return rows, y, weights


@given(tables(INTEGERS))
def test_integers_merge_like_a_dict_of_rows(made):
    rows, y, weights = made
    table = PatternTable.from_arrays(rows, y, sample_weight=weights)
    assert_is_twin(table, rows, y, weights or [1] * len(rows))
    assert table.codes[table.pattern_of_row][table.pattern_of_row >= 0].tolist() == [
        row for row, weight in zip(rows, weights or [1] * len(rows), strict=True) if weight
    ]


@given(tables(DECIMALS))
def test_decimals_merge_like_a_dict_of_rows(made):
    rows, y, weights = made
    floats = [[float(x) for x in row] for row in rows]
    table = PatternTable.from_arrays(floats, y, sample_weight=weights)
    assert_is_twin(table, rows, y, weights or [1] * len(rows))
    kept = table.pattern_of_row >= 0
    assert np.array_equal(table.values()[table.pattern_of_row[kept]], np.array(floats)[kept])
    # Decimal objects are the same numbers
    again = PatternTable.from_arrays(np.array(rows, dtype=object), y, sample_weight=weights)
    assert_same(again, table)


@given(tables(HUGE))
def test_huge_spans_do_not_overflow_the_key(made):
    rows, y, weights = made
    table = PatternTable.from_arrays(np.array(rows), y, sample_weight=weights)
    assert_is_twin(table, rows, y, weights or [1] * len(rows))


def test_many_rows_of_huge_spans_merge_like_unique_rows():
    rng = np.random.default_rng(0)
    values = rng.integers(-(2**52), 2**52, size=40)
    X = rng.choice(values, size=(3000, 9))
    X = np.concatenate([X, X[:1000]])
    table = PatternTable.from_arrays(X, rng.integers(0, 2, size=4000))
    assert np.array_equal(table.codes, np.unique(X, axis=0))
    assert np.array_equal(table.codes[table.pattern_of_row], X)


def test_real_weights_of_any_size_add_up():
    rng = np.random.default_rng(1)
    X, y, w = rng.integers(0, 2, size=(500, 3)), rng.integers(0, 2, size=500), rng.random(500)
    table = PatternTable.from_arrays(X, y, sample_weight=w)
    assert table.positives.dtype == np.float64
    for code, positive, negative in zip(table.codes, table.positives, table.negatives, strict=True):
        same = (code == X).all(axis=1)
        assert positive == pytest.approx(w[same & (y == 1)].sum(), rel=1e-12)
        assert negative == pytest.approx(w[same & (y == 0)].sum(), rel=1e-12)
    assert isinstance(table.n_total, float)


def test_whole_masses_stay_integers_until_floats_cannot_hold_them():
    X, y = [[0], [1]], [0, 1]
    table = PatternTable.from_arrays(X, y, sample_weight=[2.0**52, 3.0])
    assert table.positives.dtype == np.int64
    assert (table.n_total, type(table.n_total), type(table.n_events)) == (2**52 + 3, int, int)
    assert not PatternTable.from_arrays(X, y, sample_weight=[2.0**53, 3.0]).is_whole
    assert not PatternTable.from_arrays(X, y, sample_weight=[1, 0.5]).is_whole
    assert PatternTable.from_arrays(X, y, sample_weight=[0.0, 2.0]).is_whole


def test_one_weight_for_all_rows():
    table = PatternTable.from_arrays([[0], [1]], [0, 1], sample_weight=3)
    assert (table.positives.tolist(), table.negatives.tolist()) == ([0, 3], [3, 0])


@pytest.mark.parametrize(("y", "events"), [([0, 0, 0], 0), ([1, 1, 1], 3)])
def test_one_class_can_be_merged(y, events):
    table = PatternTable.from_arrays([[0], [1], [0]], y)
    assert (len(table), table.n_events, table.n_total) == (2, events, 3)


def test_rows_of_weight_zero_decide_nothing():
    table = PatternTable.from_arrays(
        [[1.0, 0], [0.125, 5], [2.0, 0]], [0, 1, 1], sample_weight=[1, 0, 1]
    )
    assert table.decimals == (0, 0)  # 0.125 would need three
    assert table.constant == ("x1",)  # 5 would differ
    assert table.pattern_of_row.tolist() == [0, -1, 1]


def test_what_a_table_knows():
    table = PatternTable.from_arrays(
        [[0, 1.5, 7], [1, 2.0, 7]], [0, 1], names=["a", "b", "c"], decimals={"c": 2}
    )
    assert (len(table), table.n_features, table.names) == (2, 3, ("a", "b", "c"))
    assert table.decimals == (0, 1, 2)
    assert table.codes.dtype == np.int64
    assert table.values().tolist() == [[0.0, 1.5, 7.0], [1.0, 2.0, 7.0]]
    assert table.constant == ("c",)
    assert not table.is_integer


# -- steps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([1, 2]), (0, True)),
        (np.array([True, False]), (0, True)),
        (np.array([], dtype=float), (0, True)),
        (np.array([1.0, -3.0]), (0, True)),
        (np.array([0.1, 0.2, 0.1 + 0.2]), (4, False)),  # not the float that 0.3 is
        (np.array([0.25, 7.0]), (2, True)),
        (np.array([1e-6, 123456.0]), (6, True)),
        (np.array([0.1, 0.2, 2.3], dtype=np.float32), (1, True)),
        (np.array([0.001, 16.5], dtype=np.float32), (3, True)),
        (np.array([0.1], dtype=np.float16), (1, True)),
        (np.array([0.0, 1e-7]), (9, False)),
        (np.array([0.0, 1 / 3]), (4, False)),
        (np.array([0.0, 100 / 3]), (2, False)),
        (np.array([1 / 3, 1 / 3]), (3, False)),
        (np.array([0.0, 1e6 / 3]), (0, False)),
        (np.array([-1.7e308, 0.5, 1.7e308]), (0, False)),
        (np.append(np.zeros(5000), 0.5), (1, True)),  # the first rows do not show it
    ],
)
def test_find_decimals(values, expected):
    assert find_decimals(values) == expected


@given(st.integers(-(10**9), 10**9), st.integers(0, 6))
def test_decimals_are_found_again(units, decimals):
    value = float(Decimal(units).scaleb(-decimals))
    found, exact = find_decimals(np.array([value]))
    assert exact
    assert found == decimals_of([Decimal(units).scaleb(-decimals)])
    assert to_steps(np.array([value]), decimals).tolist() == [units]


@given(st.floats(-1e6, 1e6), st.integers(0, 9))
def test_one_value_has_the_steps_of_a_column(value, decimals):
    assert to_steps(np.array([value]), decimals).tolist() == [to_step(value, decimals)]


def test_continuous_columns_are_rounded_and_named():
    x = np.array([0.0, 1 / 3, 1 / 3 + 1e-9, 1.0])
    table = PatternTable.from_arrays(np.column_stack([x, [0, 1, 1, 0]]), [0, 1, 0, 1])
    assert table.rounded == ("x0",)
    assert table.codes.tolist() == [[0, 0], [333, 1], [1000, 0]]
    assert table.pattern_of_row.tolist() == [0, 1, 1, 2]


def test_float32_is_read_as_the_decimal_that_it_shows():
    X = np.array([[0.1], [2.3]], dtype=np.float32)
    table = PatternTable.from_arrays(X, [0, 1])
    assert (table.decimals, table.codes.tolist(), table.rounded) == ((1,), [[1], [23]], ())


def test_decimals_can_be_set():
    X = [[-1.5, 1 / 3], [0.5, 2 / 3]]
    table = PatternTable.from_arrays(X, [0, 1], decimals={"x0": 0, "x1": np.int64(2)})
    assert table.decimals == (0, 2)
    assert table.codes.tolist() == [[-1, 33], [1, 67]]  # ½ counts upwards
    finer = PatternTable.from_arrays([[1], [2]], [0, 1], decimals={"x0": 3})
    assert finer.codes.tolist() == [[1000], [2000]]


@pytest.mark.parametrize("decimals", [-1, 10, 1.0, "1", None, True])
def test_unusable_decimals_are_refused(decimals):
    message = "decimals of column 'x0' must be a whole number from 0 to 9, not"
    with pytest.raises(InputError, match=message):
        PatternTable.from_arrays([[0.5], [1]], [0, 1], decimals={"x0": decimals})


def test_decimals_of_a_column_that_is_not_there():
    with pytest.raises(InputError, match=r"unknown columns: 'z'; the columns are 'x0'. Correct"):
        PatternTable.from_arrays([[0], [1]], [0, 1], decimals={"z": 1})


# -- data frames -----------------------------------------------------------------------------------


def assert_same(table, other):
    assert table.names == other.names
    assert table.decimals == other.decimals
    assert table.rounded == other.rounded
    for field in ("codes", "positives", "negatives", "pattern_of_row"):
        one, two = getattr(table, field), getattr(other, field)
        assert one.dtype == two.dtype
        assert np.array_equal(one, two)


NAMES = ["flag", "count", "share", "single"]
COLUMNS = {
    "flag": [True, False, True, True, False],
    "count": [3, 0, 3, 3, 12],
    "share": [0.1, 0.25, 0.1, 0.1, 7.0],
    "single": [0.1, 2.3, 0.1, 0.1, 2.3],
    "y": [1, 0, 0, 1, 1],
    "w": [1, 2, 1, 0, 3],
}


def of_arrays(**options):
    matrix = np.array([COLUMNS[name] for name in NAMES], dtype=object).T
    return PatternTable.from_arrays(matrix, COLUMNS["y"], names=NAMES, **options)


def polars_frame():
    frame = pl.DataFrame(COLUMNS)
    return frame.with_columns(
        pl.col("count").cast(pl.UInt8), pl.col("single").cast(pl.Float32), pl.col("y") == 1
    )


def pyarrow_table():
    types = {"flag": pa.bool_(), "count": pa.int32(), "share": pa.float64(), "single": pa.float32()}
    types |= {"y": pa.int8(), "w": pa.float64()}
    return pa.table({name: pa.array(COLUMNS[name], types[name]) for name in COLUMNS})


def nullable_frame():
    types = {"flag": "boolean", "count": "Int64", "share": "Float64", "single": "Float32"}
    types |= {"y": "boolean", "w": "UInt16"}
    return pd.DataFrame({k: pd.array(COLUMNS[k], dtype=dtype) for k, dtype in types.items()})


def arrow_backed_frame():
    return pyarrow_table().to_pandas(types_mapper=pd.ArrowDtype)


FRAMES = {
    "pandas": lambda: pd.DataFrame(COLUMNS, index=[7, 7, 3, 1, 0]).astype({"single": "float32"}),
    "pandas objects": lambda: pd.DataFrame(COLUMNS).astype(object),
    "pandas nullable": nullable_frame,
    "pandas on arrow": arrow_backed_frame,
    "polars": polars_frame,
    "pyarrow": pyarrow_table,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_all_frames_give_the_table_of_the_array(kind):
    frame = FRAMES[kind]()
    plain = PatternTable.from_frame(frame, "y", features=NAMES)
    assert_same(plain, of_arrays())
    assert plain.decimals == (0, 0, 2, 1)
    weighted = PatternTable.from_frame(frame, "y", sample_weight="w")
    assert_same(weighted, of_arrays(sample_weight=COLUMNS["w"]))
    assert weighted.positives.dtype == np.int64
    some = PatternTable.from_frame(
        frame, "y", features=["share", "flag"], sample_weight=COLUMNS["w"], decimals={"share": 1}
    )
    assert some.names == ("share", "flag")
    assert some.decimals == (1, 0)


PRICES = [Decimal("0.30"), Decimal("1.10"), Decimal("-12.35")]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"price": PRICES, "y": [0, 1, 1]}),
        pl.DataFrame({"price": PRICES, "y": [0, 1, 1]}),
        pa.table({"price": pa.array(PRICES, pa.decimal128(9, 2)), "y": [0, 1, 1]}),
        pd.DataFrame(
            {"price": pd.array(PRICES, dtype=pd.ArrowDtype(pa.decimal128(9, 2))), "y": [0, 1, 1]}
        ),
    ],
    ids=["pandas", "polars", "pyarrow", "pandas on arrow"],
)
def test_decimals_in_frames_are_exact(frame):
    table = PatternTable.from_frame(frame, "y")
    assert table.decimals == (2,)
    assert table.codes[table.pattern_of_row].ravel().tolist() == [30, 110, -1235]
    assert table.rounded == ()


def test_decimals_of_arrow_are_the_nearest_floats():
    # A cast inside pyarrow multiplies by a rounded power of ten and misses a third of these.
    prices = [Decimal(i).scaleb(-1) for i in range(1, 1000)]
    frame = pa.table({"price": pa.array(prices, pa.decimal128(9, 1)), "y": [0, 1, 1] * 333})
    table = PatternTable.from_frame(frame, "y")
    assert (table.decimals, table.rounded) == ((1,), ())
    assert table.codes.ravel().tolist() == list(range(1, 1000))


def test_column_names_that_are_numbers():
    frame = pd.DataFrame([[0, 1], [1, 0]], columns=[0, 1])
    table = PatternTable.from_frame(frame, "1")
    assert table.names == ("0",)


# -- bad input -------------------------------------------------------------------------------------

ENCODE = r"Encode it as numbers \(0/1 for yes/no, one column per category\), or drop it"


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1, np.nan], [2, 3], [4, np.nan]], "'x1' has 2 missing values .NaN., the first in row 0"),
        ([[1], [None], [3]], "'x0' has 1 missing values .NaN., the first in row 1. Impute or drop"),
        (np.array([[1], [pd.NA], [3]], dtype=object), "'x0' has 1 missing .* row 1. Impute"),
        ([[1, 2], [np.inf, 3], [4, 5]], "'x0' has 1 infinite .*, the first in row 1. Clip or drop"),
        ([[1], [10**400], [2]], "'x0' has 1 infinite values .inf., the first in row 1. Clip"),
        (np.array([["a"], ["b"], ["c"]]), rf"'x0' holds text .* 'a' in row 0. {ENCODE}"),
        (
            np.array([[1, 2], [3, "no"], [4, 5]], dtype=object),
            rf"column 'x1' holds text or other objects, such as 'no' in row 1. {ENCODE}",
        ),
        (np.array([[b"a"], [b"b"], [b"c"]]), rf"'x0' holds text .* b'a' in row 0. {ENCODE}"),
        (np.array([[1j], [1], [2]]), rf"'x0' holds complex128 values, .* in row 0. {ENCODE}"),
        (np.array([["2020-01-01"]] * 3, dtype="M8[ns]"), r"'x0' holds datetime64\[ns\] .* Encode"),
        (np.array([[1], [{}], [2]], dtype=object), "'x0' holds text .* {} in row 1. Encode"),
        ([[1], [2**53], [3]], r"'x0' holds values as large as 9.*e\+15, too large .* Rescale it"),
        ([[0.5], [1e300], [3]], r"'x0' holds values as large as 1e\+300, .*take its logarithm"),
        ([[-1.7e308], [1.7e308], [0.5]], "'x0' holds values as large as 1.7e"),
        ([1, 2, 3], r"shape \(3,\). Reshape it to one row per observation, one column per feature"),
        ([[1, 2], [3], [4, 5]], "rows of X have different lengths. Pass a full table"),
        ([[], [], []], "no feature columns. Pass at least one"),
        ([[1], [2]], "column 'x0' has 2 rows, but y has 3. Pass one outcome per row"),
    ],
)
def test_bad_matrices(X, message):
    with pytest.raises(InputError, match=message):
        PatternTable.from_arrays(X, [0, 1, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": []}, "y is empty: there are no rows. Pass at least one row"),
        ({"y": [0, 2, 1]}, "y must hold only 0 and 1, but row 1 holds 2 .* Recode the outcome"),
        ({"y": [0, 1, -1]}, "row 2 holds -1"),
        ({"y": [0, np.nan, 1]}, "row 1 holds nan .* or drop those rows"),
        ({"y": ["ill", "well", "ill"]}, "such as 'ill'. Compare it with the event's label first"),
        ({"y": [[0], [1], [1]]}, r"y must be one-dimensional, but has shape \(3, 1\)"),
        ({"y": [0, 1]}, "column 'x0' has 3 rows, but y has 2. Pass one outcome per row"),
        ({"sample_weight": [1, -1, 1]}, "not negative, but row 1 has -1.0 .* set 0"),
        ({"sample_weight": [1, np.nan, 1]}, "must be finite .* row 1 has nan"),
        ({"sample_weight": [1, np.inf, 1]}, "must be finite .* row 1 has inf"),
        ({"sample_weight": [0, 0, 0]}, "zero in every row. Give at least one row a weight"),
        ({"sample_weight": [1, 2]}, r"shape \(2,\), but there are 3 rows. Pass one weight per row"),
        ({"sample_weight": ["a", "b", "c"]}, "must hold one number per row. Convert text"),
        ({"names": ["a"]}, "1 names for 2 columns. Pass one name per column"),
        ({"names": ["a", "a"]}, "duplicate column names: 'a'. Rename or drop"),
        ({"names": [1, "1"]}, "duplicate column names: '1'. Rename or drop"),
    ],
)
def test_bad_outcomes_weights_and_names(options, message):
    given = {"y": [0, 1, 1], **options}
    with pytest.raises(InputError, match=message):
        PatternTable.from_arrays([[0, 1], [1, 1], [2, 0]], given.pop("y"), **given)


def test_no_rows():
    with pytest.raises(InputError, match=r"there are no rows\. Pass at least one row"):
        PatternTable.from_arrays(np.zeros((0, 2)), [])
    with pytest.raises(InputError, match="column 'y' is empty: there are no rows"):
        PatternTable.from_frame(pl.DataFrame({"a": [1], "y": [1]})[:0], "y")


MAKERS = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1, None, 3], "column 'a' has 1 missing values .NaN., the first in row 1. Impute or drop"),
        ([True, False, None], "column 'a' has 1 missing values .NaN., the first in row 2"),
        ([0.5, 1.0, float("inf")], "column 'a' has 1 infinite values .inf., the first in row 2"),
        ([Decimal("0.1"), None, Decimal("0.2")], "column 'a' has 1 missing values .* row 1"),
        (["f", "m", "f"], rf"column 'a' holds text .*, such as 'f' in row 0. {ENCODE}"),
        ([None, "m", "f"], "column 'a' holds text .*, such as 'm' in row 1"),
        ([None, None, None], "column 'a' has 3 missing values .* row 0"),
        ([datetime.datetime(2020, 1, 1)] * 3, "column 'a' holds text or other objects, .* row 0"),
        ([[1], [2], [3]], r"column 'a' holds text or other objects, such as .* in row 0"),
        ([2**60, 1, 2], r"column 'a' holds values as large as 1.15.*e\+18, too large"),
    ],
)
def test_bad_columns_of_frames(make, column, message):
    with pytest.raises(InputError, match=message):
        PatternTable.from_frame(make({"a": column, "b": [1, 2, 3], "y": [0, 1, 1]}), "y")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"sex": pd.Categorical(["f", "m"]), "y": [0, 1]}),
        pd.DataFrame({"sex": pd.array(["f", "m"], dtype="string"), "y": [0, 1]}),
        pl.DataFrame({"sex": pl.Series(["f", "m"], dtype=pl.Categorical), "y": [0, 1]}),
        pl.DataFrame({"sex": pl.Series(["f", "m"], dtype=pl.Enum(["m", "f"])), "y": [0, 1]}),
        pa.table({"sex": pa.array(["f", "m"]).dictionary_encode(), "y": [0, 1]}),
    ],
    ids=["pandas categorical", "pandas string", "polars categorical", "polars enum", "pyarrow"],
)
def test_categories_are_refused(frame):
    with pytest.raises(InputError, match=rf"column 'sex' .* such as 'f' in row 0. {ENCODE}"):
        PatternTable.from_frame(frame, "y")


GOOD = pd.DataFrame({"a": [0, 1, 2], "y": [0, 1, 1], "w": [1, 2, 3]})


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (GOOD, {"target": "died"}, "no column 'died'.* Its columns are 'a', 'y', 'w'. Correct the"),
        (GOOD, {"sample_weight": "weight"}, "no column 'weight'.* Its columns are 'a', 'y', 'w'"),
        (GOOD, {"sample_weight": ""}, "no column ''"),
        (GOOD, {"features": ["a", "b", "c"]}, "no column 'b', 'c'.* Its columns are"),
        (GOOD, {"features": ["a", "a"]}, "duplicate column names: 'a'. Rename or drop"),
        (GOOD, {"features": []}, "no feature columns. Pass at least one"),
        (GOOD[["y", "w"]], {"sample_weight": "w"}, "no feature columns. Pass at least one"),
        (GOOD.assign(y=[0, 1, 3]), {}, "column 'y' must hold only 0 and 1, but row 2 holds 3"),
        (GOOD.assign(y=["a", "b", "a"]), {}, "column 'y' must hold 0 and 1, .* such as 'a'"),
        (GOOD.assign(y=[0, None, 1]), {}, "column 'y' must hold only 0 and 1, but row 1 holds nan"),
        (GOOD.assign(w=[1, -2, 0]), {"sample_weight": "w"}, "not negative, but row 1 has -2.0"),
        (GOOD.assign(w=0), {"sample_weight": "w"}, "zero in every row. Give at least one row"),
        (GOOD.assign(w=[1, None, 1]), {"sample_weight": "w"}, "'w' has 1 missing .* row 1"),
        (GOOD.assign(w=["1", "2", "3"]), {"sample_weight": "w"}, "'w' holds text .* '1' in row 0"),
        (GOOD, {"sample_weight": [1, 2]}, r"shape \(2,\), but there are 3 rows. Pass one weight"),
        (pd.DataFrame([[0, 1, 1]], columns=["a", "a", "y"]), {}, "duplicate column names: 'a'. R"),
        (pd.DataFrame([[0, 1, 1]], columns=[1, "1", "y"]), {}, "duplicate column names: '1'. Ren"),
        (
            pa.table([pa.array([0]), pa.array([1]), pa.array([1])], names=["a", "a", "y"]),
            {},
            "duplicate column names: 'a'. Rename or drop",
        ),
        (np.zeros((2, 2)), {}, "cannot read rows from ndarray. Pass a pandas, polars or pyarrow"),
        ({"a": [1], "y": [1]}, {}, "cannot read rows from dict. Pass a pandas, polars or pyarrow"),
        (pl.LazyFrame({"a": ["1"], "y": [1]}), {}, "column 'a' holds text, not numbers. Encode it"),
    ],
)
def test_bad_frames(frame, options, message):
    with pytest.raises(InputError, match=message):
        PatternTable.from_frame(frame, **{"target": "y", **options})


def test_an_engine_merges_the_rows_of_a_lazy_table() -> None:
    rows = duckdb.sql("SELECT x % 2 AS odd, x >= 3 AS y FROM range(5) AS t(x)")
    table = PatternTable.from_frame(rows, "y")
    assert table.codes.tolist() == [[0], [1]]
    assert (table.positives.tolist(), table.n_total) == ([1, 1], 5)
