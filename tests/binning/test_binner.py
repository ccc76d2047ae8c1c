"""The binner: what it makes of raw columns, and that a card reads raw rows as it did."""

from __future__ import annotations

import json
import pickle
import re
import warnings
from datetime import date
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from netbenefit import Binner, Condition, InputError, PerUnit, Rule, Scorecard, Thresholds
from netbenefit.binning.fitted import FittedBins
from netbenefit.cli.model import read_binner
from tests.helpers.raw_rows import CONTAINERS, STAGES, outcome, raw_table


@parametrize_with_checks([Binner(), Binner(method="quantile", bins="interval")])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


SPECIAL = {"visits (−9: unknown)": [-9]}
BINNERS = {
    "default": Binner(special=SPECIAL),
    "interval": Binner(bins="interval", method="tree", special=SPECIAL, missing="condition"),
    "impute": Binner(method="quantile", special=SPECIAL, missing="impute", max_bins=3),
    "mixed": Binner(
        method="quantile",
        special=SPECIAL,
        ordered={"stage": STAGES},
        per_unit={"lactate": PerUnit("lactate", decimals=1, lower=0, upper=8)},
        cuts={"age": [40, 60.5]},
        categorical=["code"],
        combine={"load": ("sum", ["visits (−9: unknown)", "price"])},
        missing={"*": "auto", "load": "condition", "lactate": "condition"},
    ),
    "log": Binner(method="quantile", per_unit={"age": PerUnit("age", decimals=1, log=True)}),
}


def fitted(kind: str, seed: int, n_rows: int = 300) -> tuple[Binner, dict[str, list[Any]]]:
    table = raw_table(seed, n_rows)
    return clone(BINNERS[kind]).fit(table, outcome(table, seed)), table


def random_card(fit: FittedBins, seed: int) -> tuple[Scorecard, np.ndarray]:
    """A card with random points on the binner's terms, as :mod:`learn` makes it."""
    rng = np.random.default_rng(seed)
    points = rng.integers(-5, 6, len(fit.terms))
    rules = [Rule(term, int(p)) for term, p in zip(fit.terms, points, strict=True) if p]
    used = {rule.term.feature for rule in rules}
    terms = {rule.term for rule in rules}
    rules += [
        Rule(Condition(name, "missing"), 0)
        for name in fit.own_missing
        if name in used and Condition(name, "missing") not in terms
    ]
    card = Scorecard.from_levels(
        rules=rules,
        cutoffs=[0, 5],
        risks=[0.1, 0.3, 0.7],
        thresholds=Thresholds.of([0.2, 0.5]),
        feature_names=fit.columns,
        readings=fit.readings_of([rule.term.feature for rule in rules]),
    )
    return card, points


# -- one truth -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BINNERS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
@pytest.mark.filterwarnings("ignore:column ")
def test_a_card_scores_raw_rows_as_the_binner_codes_them(kind: str, seed: int) -> None:
    binner, _ = fitted(kind, seed % 7)
    card, points = random_card(binner.fitted_, seed)
    card = Scorecard.from_json(card.to_json())
    rows = raw_table(seed, 40, strange=True)
    codes = binner.codes(rows)
    factor = 10 ** (max(codes.decimals) - np.array(codes.decimals))
    expected = (codes.matrix.astype(int) @ (points * factor)) // 10 ** max(codes.decimals)
    for name, make in CONTAINERS.items():
        data = make(rows)
        np.testing.assert_array_equal(card.score(data), expected, err_msg=name)
        np.testing.assert_array_equal(binner.transform(data), codes.matrix, err_msg=name)
    records = CONTAINERS["list of dicts"](rows)
    assert [card.score(row) for row in records] == expected.tolist()
    assert [card.risk(row) for row in records] == card.risk(rows).tolist()


@pytest.mark.parametrize("kind", BINNERS)
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.filterwarnings("ignore:column ")
def test_the_container_does_not_matter(kind: str, container: str) -> None:
    binner, table = fitted(kind, 1)
    other = clone(BINNERS[kind]).fit(CONTAINERS[container](table), outcome(table, 1))
    assert other.fitted_ == binner.fitted_


@pytest.mark.parametrize("kind", BINNERS)
@pytest.mark.filterwarnings("ignore:column ")
def test_binners_survive_json_and_pickle(kind: str) -> None:
    binner, _ = fitted(kind, 2)
    rows = raw_table(9, 50, strange=True)
    again = Binner.from_json(binner.to_json())
    assert again.fitted_ == binner.fitted_
    assert again.to_json() == binner.to_json()
    assert str(clone(again).get_params()) == str(again.get_params())
    for copy in (again, pickle.loads(pickle.dumps(binner))):
        np.testing.assert_array_equal(copy.transform(rows), binner.transform(rows))


def test_fit_codes_are_those_of_transform() -> None:
    table = raw_table(3, 200)
    binner = Binner(special=SPECIAL)
    codes = binner.fit_codes(table, outcome(table, 3))
    np.testing.assert_array_equal(codes.matrix, binner.transform(table))
    assert codes.matrix.dtype == np.int8


# -- scikit-learn ----------------------------------------------------------------------------------


def test_output_is_named_and_wrapped() -> None:
    binner, table = fitted("default", 4)
    names = binner.get_feature_names_out()
    assert [str(name) for name in names] == [term.text() for term in binner.terms_]
    frame = clone(BINNERS["default"]).set_output(transform="pandas")
    made = frame.fit_transform(pd.DataFrame(table), outcome(table, 4))
    assert list(made.columns) == list(names)
    assert (made.dtypes == np.int8).all()
    wide = clone(BINNERS["default"]).set_output(transform="polars")
    assert isinstance(wide.fit_transform(pl.DataFrame(table), outcome(table, 4)), pl.DataFrame)
    assert list(binner.feature_names_in_) == list(table)


def test_it_stands_in_a_pipeline() -> None:
    from sklearn.linear_model import LogisticRegression

    table = raw_table(5, 300)
    y = outcome(table, 5)
    pipe = make_pipeline(Binner(special=SPECIAL), LogisticRegression(max_iter=1000))
    risk = pipe.fit(pd.DataFrame(table), y).predict_proba(pd.DataFrame(table))[:, 1]
    assert np.corrcoef(risk, y)[0, 1] > 0.3


# -- numbers ---------------------------------------------------------------------------------------


def column_of(values: list[Any], y: Any = None, **params: Any) -> Binner:
    n = len(values)
    event = np.arange(n) % 2 if y is None else y
    return Binner(**{"method": "quantile", **params}).fit({"x": values}, event)


def test_max_bins_and_min_share_hold() -> None:
    values = np.random.default_rng(0).normal(size=1000).tolist()
    for most in (2, 3, 6):
        assert len(column_of(values, max_bins=most).terms_) == most - 1
        assert len(column_of(values, max_bins=most, bins="interval").terms_) in (1, most)
    few = column_of(values, max_bins=50, min_share=0.2)
    matrix = few.transform({"x": values})
    shares = np.diff(np.append(0, np.sort(matrix.mean(axis=0))))
    assert shares.min() >= 0.2 - 1e-9


def test_interval_conditions_are_one_hot() -> None:
    values = np.random.default_rng(0).normal(size=500)
    values[:50] = np.nan
    binner = column_of(values.tolist(), bins="interval", max_bins=4)
    assert [t.op for t in binner.terms_] == ["<", "between", "between", ">=", "missing"]
    assert (binner.transform({"x": values}).sum(axis=1) == 1).all()
    assert binner.groups_ == {"x": (0, 1, 2, 3, 4)}


def test_own_cuts_are_taken_as_they_are() -> None:
    binner = column_of(list(range(60)) * 2, cuts={"x": [40, 17.5]})
    assert [term.text() for term in binner.terms_] == ["x ≥ 18", "x ≥ 40"]


def test_cuts_are_rounded_only_when_asked() -> None:
    values = np.random.default_rng(1).uniform(0, 100, 2000).tolist()
    rounded, plain = (column_of(values, round_cuts=r).terms_ for r in (True, False))
    assert [t.value for t in rounded] == [20, 40, 60, 80]
    assert all(len(repr(t.value)) > 6 for t in plain)


def test_per_unit_columns_are_clipped_and_rounded() -> None:
    values = np.append(np.random.default_rng(2).uniform(0, 1.5, 400), [250.0]).tolist()
    unit = PerUnit("x", decimals=1, upper=1.5)
    binner = column_of(values, per_unit={"x": unit})
    assert binner.terms_ == (unit,)
    assert binner.transform({"x": [0.04, 0.77, 99.0]}).tolist() == [[0], [8], [15]]
    (found,) = column_of(values, per_unit=["x"]).terms_
    assert isinstance(found, PerUnit)
    assert found.decimals == 1
    assert found.upper is not None
    assert found.upper <= 1.6


def test_two_values_become_one_question() -> None:
    binner = column_of([1, 2, 2, 1] * 20)
    assert [t.text() for t in binner.terms_] == ["x = 2"]
    with pytest.warns(UserWarning, match=r"holds '3'.*did not where the card was learnt"):
        assert binner.transform({"x": [1, 3]}).tolist() == [[0], [0]]


def test_zero_one_and_booleans_stay_as_they_are() -> None:
    for values in ([0, 1, 1, 0] * 10, [True, False] * 20, [0.0, 1.0] * 20):
        binner = column_of(values, y=[0, 0, 1, 1] * 10)
        assert binner.terms_ == (PerUnit("x", binary=True),)


def test_optbinning_finds_cuts_for_all_columns_at_once() -> None:
    if find_spec("optbinning") is None:  # importing it here would keep HiGHS out of this process
        pytest.skip("optbinning, an optional engine, is not installed")
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 600)).round(2)
    y = rng.random(600) < np.where(x > 0.5, 0.7, 0.2)
    binner = Binner(method="optbinning").fit({"x": x, "z": z}, y)
    cuts = [t.value for t in binner.terms_ if t.feature == "x"]
    assert min(abs(cut - 0.5) for cut in cuts) < 0.15


# -- levels ----------------------------------------------------------------------------------------


def test_rare_levels_are_merged_with_unseen_ones() -> None:
    values = ["a"] * 50 + ["b"] * 40 + ["c", "d", "e", "f"] * 3
    binner = column_of(values, min_share=0.1)
    assert [t.text() for t in binner.terms_] == ["x is a", "x is b", "x other than a or b"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the card has a rule for all others: nothing to warn of
        assert binner.transform({"x": ["zzz"]}).tolist() == [[0, 0, 1]]


def test_an_unseen_level_without_a_rule_warns() -> None:
    binner = column_of(["a", "b", "c"] * 20, y=[0, 0, 1] * 20)
    with pytest.warns(UserWarning, match=r"column 'x' holds 'q' \(row 1 is the first\)|'q'"):
        assert binner.transform({"x": ["a", "q"]}).tolist() == [[1, 0, 0], [0, 0, 0]]


def test_of_two_levels_the_riskier_is_asked_for() -> None:
    assert column_of(["no", "yes"] * 30, y=[0, 1, 0, 1, 1, 1] * 10).terms_[0].value == "yes"
    assert column_of(["no", "yes"] * 30, y=[1, 0, 1, 0, 1, 1] * 10).terms_[0].value == "no"


@pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow", "named"])
def test_ordered_categories_are_cumulative(container: str) -> None:
    values = ["low", "high", "middle"] * 30
    order = ["low", "middle", "high"]
    ordered: Any = None
    data: Any
    if container == "pandas":
        data = pd.DataFrame({"x": pd.Categorical(values, categories=order, ordered=True)})
    elif container == "polars":
        data = pl.DataFrame({"x": pl.Series(values, dtype=pl.Enum(order))})
    elif container == "pyarrow":
        codes = pa.array([order.index(v) for v in values], pa.int8())
        data = pa.table({"x": pa.DictionaryArray.from_arrays(codes, order, ordered=True)})
    else:
        data, ordered = {"x": values}, {"x": order}
    binner = Binner(method="quantile", ordered=ordered).fit(data, np.arange(90) % 2)
    assert binner.terms_ == (
        Condition("x", "in", ("middle", "high")),
        Condition("x", "==", "high"),
    )
    assert binner.transform({"x": order}).tolist() == [[0, 0], [1, 0], [1, 1]]


def test_plain_categories_and_numbers_as_levels() -> None:
    frame = pd.DataFrame({"zip": pd.Categorical([1, 2, 3] * 30), "code": [7, 8, 9] * 30})
    binner = Binner(method="quantile", categorical=["code"]).fit(frame, np.arange(90) % 2)
    assert {t.op for t in binner.terms_} == {"=="}
    assert len(binner.groups_["zip"]) == 3


# -- missing values --------------------------------------------------------------------------------


def test_missing_by_policy() -> None:
    values = [None if k % 10 == 0 else k + 0.5 for k in range(200)]
    own = column_of(values, missing="condition")
    assert own.terms_[-1] == Condition("x", "missing")
    assert own.transform({"x": [None]}).tolist() == [[0, 0, 0, 0, 1]]
    filled = column_of(values, missing="impute")
    assert filled.readings_[0].saw_missing
    assert filled.transform({"x": [None]}).tolist() == filled.transform({"x": [100]}).tolist()
    with pytest.raises(InputError, match=r"column 'x' is missing in row 0.*refused.*condition"):
        column_of(values, missing="refuse")
    few = [None, *(np.arange(500) / 2).tolist()]
    assert all(t.op != "missing" for t in column_of(few).terms_)  # too few for a bin: imputed
    forced = column_of(few, missing={"x": "condition"})
    assert forced.terms_[-1] == Condition("x", "missing")


def test_missing_where_training_had_none() -> None:
    values = (np.arange(100) + 0.5).tolist()
    binner = column_of(values)
    with pytest.warns(UserWarning, match=r"missing in row 1.*never was.*counts as"):
        made = binner.transform({"x": [3.0, None]})
    assert made[1].tolist() == binner.transform({"x": [50.0]})[0].tolist()
    strict = column_of(values, missing="refuse")
    with pytest.raises(InputError, match="column 'x' is missing in row 1"):
        strict.transform({"x": [3.0, None]})


def test_the_usual_value_is_the_median_or_the_mode() -> None:
    numbers = column_of([1, 2, 3, 4, 100] * 20 + [None], max_bins=5)
    assert numbers.readings_[0].fill == 3
    words = column_of(["a", "b", "b"] * 20 + [None], y=np.arange(61) % 2)
    assert words.readings_[0].fill == "b"


def test_special_codes_are_missing() -> None:
    values = [-9 if k % 5 == 0 else k // 2 for k in range(200)]
    binner = column_of(values, special={"x": [-9]})
    low = [t for t in binner.terms_ if t.op == ">="]
    assert min(t.value for t in low) > 0
    assert binner.transform({"x": [-9, None]}).tolist() == [[0, 0, 0, 0, 1]] * 2
    words = [str(k // 2) if k % 5 else "unknown" for k in range(200)]
    texts = column_of(words, special={"x": ["unknown"]})
    assert texts.transform({"x": ["unknown", " 199 ", 199]}).tolist() == [
        [0, 0, 0, 0, 1],
        [1, 1, 1, 1, 0],
        [1, 1, 1, 1, 0],
    ]


def test_combined_columns() -> None:
    table = {"a": [0, 1, 2, 0] * 20, "b": [0, 0, 96, 1] * 20, "c": [k // 2 for k in range(80)]}
    for how, expected in (("sum", [0, 1, 2, 1]), ("max", [0, 1, 2, 1]), ("min", [0, 0, 0, 0])):
        binner = Binner(
            method="quantile",
            combine={"late": (how, ["a", "b"])},
            special={"b": [96]},
            missing={"b": "impute"},
            cuts={"late": [1, 2]},
        ).fit(table, np.arange(80) % 2)
        got = binner.codes({"a": [0, 1, 2, 0], "b": [0, 0, 96, 1], "c": [0] * 4})
        late = [got.matrix[:, k] for k in binner.groups_.get("late", ())]
        total = np.sum(late, axis=0) if late else np.zeros(4)
        np.testing.assert_array_equal(total, np.minimum(expected, 2))
        assert "a" not in binner.groups_


# -- what is dropped -------------------------------------------------------------------------------


def test_duplicate_and_constant_conditions_are_dropped() -> None:
    x = np.arange(100) % 10
    binner = Binner(method="quantile").fit(
        {"x": x, "same": x * 2, "still": [1] * 100, "empty": ["a"] * 100}, x > 4
    )
    assert set(binner.groups_) == {"x"}
    rows = {row["column"]: row["conditions"] for row in binner.fitted_.rows}
    assert "is the same as" in rows["same"]
    assert rows["still"].startswith("none")


def test_zero_weights_count_nowhere() -> None:
    x = np.arange(200) + 0.5
    weight = (x < 100).astype(float)
    binner = Binner(method="tree").fit({"x": x}, x % 100 > 50, weight)
    clear = Binner(method="tree").fit({"x": x[:100]}, x[:100] > 50)
    assert binner.terms_ == clear.terms_


def test_names_are_unique_even_when_columns_are_called_like_conditions() -> None:
    x = np.arange(100)
    table = {"x": x + 0.0, "x ≥ 50": (x % 7 == 0).astype(int)}
    binner = Binner(cuts={"x": [50]}, method="quantile").fit(table, x % 2)
    assert list(binner.get_feature_names_out()) == ["x ≥ 50", "x ≥ 50 (2)"]


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, "a", 3, 4] * 10, r"'x' mixes numbers with text, such as 'a' in row 1.*special=.*drop"),
        (["1", "2", "3", "n/a"] * 10, r"mixes numbers with text, such as 'n/a' in row 3"),
        (["1,234", "5", "6"] * 10, r"commas or signs, such as '1,234' in row 0.*1234 or 1.234"),
    ],
)
def test_columns_that_only_the_user_can_mend(values: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        column_of(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([date(2020, 1, 1 + k % 28) for k in range(40)], "'x' left out: it holds dates.*years"),
        ([f"2020-01-{1 + k % 28:02d}" for k in range(40)], "'x' left out: it holds dates"),
        ([None] * 40, "'x' left out: every value is missing"),
        ([f"patient {k}" for k in range(40)], "'x' left out: it holds free text or an identifier"),
        (list(range(1, 41)), "'x' left out: its values number the rows: an identifier"),
        ([f"w{k % 15}" for k in range(40)], "'x' left out: 15 levels, none with at least 8 rows"),
        ([object()] * 40, "'x' left out: it holds objects"),
    ],
)
def test_columns_that_cannot_be_used_are_left_out(values: list[Any], message: str) -> None:
    table = {"x": values, "age": [20, 30, 40, 50] * 10}
    with pytest.warns(UserWarning, match=message):
        binner = Binner(method="quantile", min_share=0.2).fit(table, np.arange(40) % 2)
    assert set(binner.groups_) == {"age"}
    with pytest.raises(InputError, match="no column could be turned into a condition: 'x'"):
        column_of(values, min_share=0.2)


def test_numbers_as_text_are_read() -> None:
    binner = column_of([" 7 ", "8", "9.5", "10"] * 10)
    assert binner.readings_[0].text
    assert (
        binner.transform({"x": [" 9 ", "10"]}).tolist() == binner.transform({"x": [9, 10]}).tolist()
    )


def test_thousands_of_levels_are_merged_and_told() -> None:
    values = [f"z{k % 3000}" for k in range(4000)] + ["big"] * 2000
    with pytest.warns(UserWarning, match=r"column 'x' has 3,001 levels: 3,000 rare levels merged"):
        binner = column_of(values)
    assert len(binner.terms_) == 1


def test_very_many_columns() -> None:
    rng = np.random.default_rng(0)
    table = {f"c{k}": rng.normal(size=60) for k in range(10_000)}
    y = np.asarray(table["c77"] > 0)
    with pytest.warns(UserWarning, match="10,000 columns; only the 40 most informative"):
        binner = Binner(max_columns=40, method="quantile").fit(table, y)
    assert "c77" in binner.groups_
    assert len(binner.groups_) == 40


def test_three_rows() -> None:
    table = {"age": [40, 50, 60], "sex": ["f", "m", "m"]}
    binner = Binner().fit(table, [0, 1, 1])
    assert binner.transform(table).shape == (3, len(binner.terms_))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"drop": ["y"]}, "drop names unknown columns: 'y'; the columns are 'x'"),
        ({"cuts": {"y": [1]}}, "cuts names unknown columns"),
        ({"cuts": {"x": ["a"]}}, "cuts of column 'x' must be numbers"),
        ({"method": "magic"}, "method='magic' is not known"),
        ({"bins": "many"}, "bins='many' is not known"),
        ({"missing": "ignore"}, "missing='ignore' is not known"),
        ({"missing": {"x": "drop"}}, "missing='drop' of column 'x'"),
        ({"max_bins": 1}, "max_bins=1 must be a whole number of at least 2"),
        ({"min_share": 0.7}, "min_share=0.7"),
        ({"per_unit": {"x": 3}}, "per_unit of column 'x' must be PerUnit"),
        ({"combine": {"x": ("sum", ["x"])}}, "combine makes column 'x': choose a name"),
        ({"combine": {"z": ("mean", ["x"])}}, "how one of sum, max, min"),
        ({"cuts": {"x": [1]}, "categorical": ["x"]}, "'x' is named by cuts and by categorical"),
        ({"ordered": {"x": [1, 2]}}, "column 'x' holds .* absent from its order"),
    ],
)
def test_settings_are_checked(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        column_of([1, 2, 3, 4] * 10, **params)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({}, "no columns"),
        ({"a": []}, "no rows"),
        ({"a": [1, 2], "b": [1]}, "columns differ in length"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "duplicate column names"),
        (pd.DataFrame({"": [1, 2]}), "column 0 has an empty name"),
        ([1, 2, 3], "list of plain values"),
        (np.arange(5), "must be a table"),
        (5, "cannot read rows from int"),
    ],
)
def test_tables_are_checked(X: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Binner(method="quantile").fit(X)


def test_what_is_read_from_json_is_checked() -> None:
    binner, _ = fitted("default", 6)
    text = binner.to_json()
    for old, new, message in (
        ('"netbenefit.binner"', '"other"', "not a binner"),
        ('"version": 1', '"version": 9', "version 9"),
        ('"op": ">="', '"op": "~"', r"terms\[0\]"),
        ('"method"', '"madness"', "'madness'"),
    ):
        with pytest.raises(InputError, match=message):
            Binner.from_json(text.replace(old, new, 1))


def test_supervised_methods_want_an_outcome() -> None:
    with pytest.raises(InputError, match="needs the outcome"):
        Binner(method="tree").fit({"x": [1, 2, 3]})
    assert Binner(method="quantile").fit({"x": [Decimal(k) / 2 for k in range(30)]}).terms_


# -- odd input, found by a reviewer ----------------------------------------------------------------


def test_dates_at_predict_are_refused() -> None:
    binner = column_of((np.arange(200) / 2).tolist())
    for kind in ("M8[ns]", "M8[D]", "m8[ns]"):
        with pytest.raises(InputError, match="column 'x' holds"):
            binner.transform({"x": np.array([1, 2]).astype(kind)})


def test_what_a_mask_hides_is_missing() -> None:
    values = np.ma.array(np.arange(200) / 2, mask=np.arange(200) < 40)
    binner = column_of(values)  # type: ignore[arg-type]
    assert binner.terms_[-1].op == "missing"
    hidden = np.ma.array([30.0, 89.0], mask=[False, True])
    assert binner.transform({"x": hidden})[:, -1].tolist() == [0, 1]


def test_levels_beyond_what_numbers_hold_are_refused() -> None:
    codes = [900000000000490003, 900000000000490001, 100000000000480007] * 20
    for values in (codes, np.array(codes)):
        with pytest.raises(InputError, match=r"as large as 900000000000490003.*as text"):
            column_of(values, categorical=["x"])  # type: ignore[arg-type]
    assert len(column_of([str(code) for code in codes], categorical=["x"]).terms_) == 3


def test_a_key_that_a_row_lacks_is_refused_at_predict() -> None:
    values = [None if k % 5 == 0 else k % 7 for k in range(100)]
    binner = Binner(method="quantile").fit(
        {"x": values, "z": [1, 2, 2, 1] * 25}, np.arange(100) % 2
    )
    with pytest.raises(InputError, match="absent in row 1"):
        binner.transform([{"x": 3, "z": 1}, {"X": 3, "z": 1}])


def test_refused_sources_are_refused() -> None:
    a, b = np.arange(100) % 7 + 0.0, np.arange(100) % 3
    settings = {"combine": {"s": ("sum", ["a", "b"])}, "missing": {"a": "refuse"}}
    binner = Binner(method="quantile", **settings).fit({"a": a, "b": b}, np.arange(100) % 2)
    for rows in ({"a": [None], "b": [1]}, [{"a": None, "b": 1}]):
        with pytest.raises(InputError, match="column 'a' is missing"):
            binner.transform(rows)
    a[3] = np.nan
    with pytest.raises(InputError, match="column 'a' has missing values, which are to be refused"):
        Binner(method="quantile", **settings).fit({"a": a, "b": b}, np.arange(100) % 2)


@pytest.mark.parametrize("code", [96, "96", 96.0])
def test_special_codes_in_either_spelling(code: Any) -> None:
    numbers = [96 if k % 5 == 0 else k % 9 for k in range(200)]
    for values in (numbers, [str(v) for v in numbers], [f"{v}" for v in numbers]):
        binner = column_of(values, special={"x": [code]})
        assert binner.terms_[-1].op == "missing"
    words = column_of([str(v) for v in numbers], special={"x": [code]}, categorical=["x"])
    assert not any("96" in term.text() for term in words.terms_)


def test_rows_without_weight_do_not_change_bins() -> None:
    frame = {"g": ["a"] * 8 + ["b"] * 42 + ["c"] * 50, "x": np.arange(100) % 13 / 2}
    y = np.tile([0, 1], 50)
    twice = {"g": frame["g"] + ["c"] * 100, "x": np.r_[frame["x"], np.arange(100)]}
    weight = np.r_[np.ones(100), np.zeros(100)]
    for method in ("quantile", "tree", "net_benefit"):
        one = Binner(method=method).fit(frame, y)
        two = Binner(method=method).fit(twice, np.r_[y, y], weight)
        assert two.terms_ == one.terms_


def test_columns_whose_values_have_no_weight_are_left_out() -> None:
    weight, z = np.ones(100), np.full(100, np.nan)
    weight[:20], z[:20] = 0, np.arange(20) + 0.5
    words = np.where(np.isnan(z), None, "a")
    table = {"x": np.arange(100) % 13, "z": z, "w": words}
    with pytest.warns(UserWarning, match="columns 'z', 'w' left out: every value is missing"):
        binner = Binner(missing="impute").fit(table, np.arange(100) % 2, weight)
    assert set(binner.groups_) == {"x"}


def test_fractions_in_whole_columns_warn() -> None:
    binner = column_of(list(range(30)) * 5, cuts={"x": [9.5, 20]})
    assert [t.value for t in binner.terms_] == [10, 20]
    with pytest.warns(UserWarning, match=r"holds 9.7 \(row 1 is the first\).*whole numbers"):
        assert binner.transform({"x": [10, 9.7]}).tolist() == [[1, 0], [0, 0]]


def test_a_signalling_nan_is_missing() -> None:
    values = [Decimal("sNaN"), *[Decimal(k) / 2 for k in range(99)]]
    assert column_of(values).readings_[0].saw_missing


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("PatientID", np.random.default_rng(0).permutation(10**6)[:60]),
        ("ID", np.r_[np.random.default_rng(0).permutation(10**6)[:50], np.full(10, 77)]),
        ("patient", np.arange(1000, 1060)),
        ("n", np.r_[np.nan, np.arange(1.0, 60)]),
        ("n", np.arange(1.0, 61)),
    ],
)
def test_identifiers_in_disguise(name: str, values: Any) -> None:
    table = {name: values, "age": [20, 30, 40, 50] * 15}
    with pytest.warns(UserWarning, match="an identifier"):
        assert set(Binner(method="quantile").fit(table).groups_) == {"age"}
    assert name in Binner(method="quantile", numeric=[name]).fit(table).groups_


@pytest.mark.parametrize("text", ["1.234,5", "$12", "12%", "1 234", "€ 7"])
def test_dressed_numbers_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"commas or signs.*plain numbers.*categorical"):
        column_of([text, "5", "6"] * 20)


@pytest.mark.parametrize("text", ["31-12-2020", "1 Jan 2020", "March 3, 2020", "2020/01/31"])
def test_dates_as_text_are_found_and_may_be_levels(text: str) -> None:
    values = [text, text.replace("20", "21"), text.replace("20", "19")] * 20
    table = {"x": values, "age": [20, 30, 40, 50] * 15}
    with pytest.warns(UserWarning, match="'x' left out: it holds dates"):
        Binner(method="quantile").fit(table)
    as_levels = Binner(method="quantile", categorical=["x"]).fit(table, np.arange(60) % 2)
    assert "x" in as_levels.groups_


def test_remedies_do_not_loop() -> None:
    mixed = [1, "a", 2] * 20
    with pytest.raises(InputError, match="categorical"):
        column_of(mixed)
    levels = column_of(mixed, categorical=["x"])
    assert levels.terms_ == column_of([str(v) for v in mixed], categorical=["x"]).terms_
    for values in ([2, "1", "a"], np.array(["2", "1", "a"]), ["2", 1.0, "a"]):
        assert levels.transform({"x": values}).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert levels.transform({"x": np.array([2, 1])}).tolist() == [[0, 1, 0], [1, 0, 0]]
    with pytest.raises(InputError, match="holds words, such as 'f'"):
        column_of(["f", "m"] * 20, cuts={"x": [1]})
    with pytest.raises(InputError, match="needs no cut points"):
        column_of([True, False] * 20, cuts={"x": [1]})
    with pytest.raises(InputError, match=r"holds '1', '2'.*absent from its order 1, 2, 3.*as the"):
        column_of(["1", "2"] * 20, ordered={"x": [1, 2, 3]})


def test_own_cuts_that_part_nothing_are_told() -> None:
    with pytest.warns(UserWarning, match="'x ≥ 400' left out, which splits no rows"):
        assert len(column_of([k % 50 for k in range(200)], cuts={"x": [10, 400]}).terms_) == 1


def test_series_in_a_dict_keep_their_type() -> None:
    stage = pd.Categorical(["I", "II", "III"] * 30, categories=["I", "II", "III"], ordered=True)
    frame = pd.DataFrame({"stage": stage})
    y = np.arange(90) % 2
    as_frame = Binner(method="quantile").fit(frame, y).terms_
    assert Binner(method="quantile").fit({"stage": frame["stage"]}, y).terms_ == as_frame


@pytest.mark.parametrize("method", ["net_benefit", "tree", "quantile"])
@pytest.mark.parametrize("seed", range(3))
def test_whole_weights_count_rows(method: str, seed: int) -> None:
    table = raw_table(seed, 150)
    y = outcome(table, seed)
    times = np.random.default_rng(seed).integers(1, 4, 150)
    repeated = {
        name: [value for value, n in zip(values, times, strict=True) for _ in range(n)]
        for name, values in table.items()
    }
    weighted = Binner(method=method).fit(table, y, sample_weight=times).fitted_
    plain = Binner(method=method).fit(repeated, np.repeat(y, times)).fitted_
    assert weighted.terms == plain.terms
    assert weighted.readings_of(weighted.columns) == plain.readings_of(plain.columns)


def test_errors_in_json_speak_of_binners(tmp_path: Path) -> None:
    whole = fitted("impute", 0)[0].to_json()
    short = json.dumps({key: part for key, part in json.loads(whole).items() if key != "rows"})
    for text, message in (
        ("{", "Pass what Binner.to_json wrote."),
        ("1" * 10_000, "not a binner: its JSON is too large to read."),
        (short, "rows is missing. The file is incomplete: write it again."),
    ):
        with pytest.raises(InputError, match=re.escape(message)) as caught:
            Binner.from_json(text)
        assert "card" not in str(caught.value)
    path = tmp_path / "binner.json"
    for data, message in ((b"{", "not JSON"), (b"\xff", "can't decode")):
        path.write_bytes(data)
        with pytest.raises(InputError, match=message) as caught:
            read_binner(str(path))
        assert "card" not in str(caught.value).lower()
        assert str(caught.value).endswith('Write one JSON object, as {"cuts": {"age": [52]}}.')
