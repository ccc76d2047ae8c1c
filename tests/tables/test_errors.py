"""Errors about tables in engines, and about rows that cannot be used."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from netbenefit import (
    Condition,
    InputError,
    PatternTable,
    Reading,
    RiskScoreClassifier,
    Rule,
    Scorecard,
    Thresholds,
    evaluate_table,
    score_table,
)
from tests.helpers.cards import SHORT_SEARCH

FRAME = pl.DataFrame({"age": [30, 50, 70, 90] * 20, "w": [1.0, 2.0] * 40, "y": [0, 0, 1, 1] * 20})


def fit(frame: Any, target: str = "y", **more: Any) -> RiskScoreClassifier:
    model = RiskScoreClassifier(binner="auto", teacher=None, solver=SHORT_SEARCH)
    return model.fit_table(frame, target, **more)


def with_column(name: str, values: list[Any]) -> Any:
    return FRAME.with_columns(pl.Series(name, values, strict=False)).lazy()


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: fit([1, 2]), "cannot read rows from list"),
        (lambda: fit(FRAME["age"]), "cannot read rows from|single column"),
        (lambda: fit(FRAME.lazy(), "outcome"), "no column 'outcome'.*Its columns are 'age'"),
        (lambda: fit(FRAME.lazy(), features=["sex"]), "no column 'sex'"),
        (lambda: fit(FRAME.lazy(), features=["age", "y"]), "'y' is the outcome, and no feature"),
        (lambda: fit(FRAME.select("y").lazy()), "no feature columns"),
        (lambda: fit(FRAME.lazy().filter(pl.col("age") > 99)), "0 rows"),
        (lambda: fit(with_column("y", [0] * 80)), "one class only"),
        (lambda: fit(with_column("y", [0, 1, 2, 3] * 20)), "4 labels"),
        (lambda: fit(with_column("y", [None, 1, 0, 1] * 20)), "20 labels are missing"),
        (lambda: fit(with_column("age", [float("inf"), 1.0] * 40)), "'age' holds infinite numbers"),
        (lambda: fit(FRAME.lazy(), sample_weight="v"), "no column 'v'"),
        (
            lambda: fit(with_column("w", ["a"] * 80), sample_weight="w"),
            "'w', the weights, holds no",
        ),
        (
            lambda: fit(with_column("w", [-1.0] * 80), sample_weight="w"),
            "negative or infinite in 80",
        ),
        (lambda: fit(with_column("w", [None, 1.0] * 40), sample_weight="w"), "infinite in 40 rows"),
        (
            lambda: PatternTable.from_frame(with_column("age", [None, 1] * 40), "y"),
            "column 'age' has 40 missing values",
        ),
        (
            lambda: PatternTable.from_frame(FRAME.lazy(), "y", sample_weight=np.ones(80)),
            "must be the name of a column",
        ),
    ],
)
def test_bad_tables(run: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run()


def card(*readings: Reading) -> Scorecard:
    rules = [Rule(Condition("age", ">=", 60), 2), Rule(Condition("sex", "==", "m"), 1)]
    return Scorecard.from_levels(rules, [2], [0.1, 0.6], Thresholds.of([0.5]), readings=readings)


def test_bad_columns_are_refused_before_any_query() -> None:
    frame = pl.LazyFrame({"age": ["x"], "sex": ["m"]})
    with pytest.raises(InputError, match="'age' holds text, but the card expects numbers"):
        score_table(card(), frame)
    with pytest.raises(InputError, match="'sex' holds true and false, but the card expects text"):
        score_table(card(), pl.LazyFrame({"age": [1], "sex": [True]}))
    with pytest.raises(InputError, match="no column 'sex'"):
        score_table(card(), pl.LazyFrame({"age": [1]}))
    with pytest.raises(InputError, match="need names of their own"):
        score_table(card(), pl.LazyFrame({"age": [1], "sex": ["m"], "card_risk": [0]}))


def test_rows_that_a_card_refuses_have_no_score_and_are_counted() -> None:
    frame = pl.LazyFrame({"age": [60, None, 70], "sex": ["m", "f", "f"], "y": [1, 0, 1]})
    scores = score_table(card(), frame, keep=["y"]).collect()
    assert scores["card_score"].to_list() == [3, None, 2]
    assert scores["card_risk"].to_list() == [0.6, None, 0.6]
    with pytest.raises(InputError, match="refuses 1 of 3 rows"):
        evaluate_table(card(), frame, "y")
    filled = card(Reading(feature="age", fill=50, saw_missing=True))
    assert evaluate_table(filled, frame, "y").measures.n == 3


def test_outcomes_of_evaluations() -> None:
    frame = pl.LazyFrame({"age": [60, 50], "sex": ["m", "f"], "y": ["alive", "dead"]})
    assert evaluate_table(card(), frame, "y").measures.auroc == 0
    assert evaluate_table(card(), frame, "y", positive="alive").measures.auroc == 1
    with pytest.raises(InputError, match=r"it holds alive, dead"):
        evaluate_table(card(), frame, "y", positive="gone")
    with pytest.raises(InputError, match="one class only"):
        evaluate_table(card(), frame.head(1), "y")
    with pytest.raises(InputError, match="no rows with weight"):
        evaluate_table(card(), frame.head(0), "y")


def test_an_engine_that_fails_is_named() -> None:
    relation = duckdb.sql("SELECT error('disk full') AS age, 'm' AS sex, 1 AS y")
    relation = duckdb.sql("SELECT age::DOUBLE AS age, sex, y FROM relation")
    with pytest.raises(InputError, match=r"DuckDB failed while .*disk full"):
        evaluate_table(card(), relation, "y")


def test_results_are_of_the_library_that_the_table_is_of(tmp_path: Any) -> None:
    frame = pl.DataFrame({"age": [60, 50], "sex": ["m", "f"]})
    assert isinstance(score_table(card(), frame), pl.DataFrame)
    assert isinstance(score_table(card(), frame.lazy()), pl.LazyFrame)
    relation = duckdb.sql("SELECT * FROM frame")
    scored = score_table(card(), relation)
    assert isinstance(scored, duckdb.DuckDBPyRelation)
    scored.write_parquet(str(tmp_path / "scored.parquet"))
    back = pl.read_parquet(tmp_path / "scored.parquet")
    assert back["card_score"].to_list() == [3, 0]
    assert back["card_risk"].to_list() == [0.6, 0.1]


def test_names_that_differ_in_case_clash() -> None:
    relation = duckdb.sql("SELECT 40 AS age, 'm' AS sex, 77 AS Card_Score")
    with pytest.raises(InputError, match="need names of their own"):
        score_table(card(), relation, keep=["age"])


def test_names_that_polars_takes_for_patterns() -> None:
    only = Scorecard.from_levels(
        [Rule(Condition("^x$", ">=", 2), 2)], [2], [0.1, 0.6], Thresholds.of([0.5])
    )
    frame = pl.LazyFrame({"x": [5, 5], "^x$": [1, 3], "*": [0, 0]})
    scored = score_table(only, frame, keep=["^x$"]).collect()
    assert scored["card_score"].to_list() == [0, 2]
    assert scored.columns == ["^x$", "card_score", "card_risk"]


def test_missing_codes_in_other_spellings() -> None:
    reading = Reading(feature="d", special=(-9,), text=True, saw_missing=True)
    rules = [Rule(Condition("d", "missing"), 2)]
    only = Scorecard.from_levels(rules, [2], [0.1, 0.6], Thresholds.of([0.5]), readings=[reading])
    spelt = ["-9", " -9 ", "-9.0", "4", None, ""]
    assert only.score({"d": spelt}).tolist() == [2, 2, 2, 0, 2, 2]
    for frame in (pl.LazyFrame({"d": spelt}), duckdb.sql("SELECT * FROM frame_of_texts")):
        found = nw.from_native(score_table(only, frame)).collect()
        assert sorted(found["card_score"].to_list()) == [0, 2, 2, 2, 2, 2]


frame_of_texts = pl.DataFrame({"d": ["-9", " -9 ", "-9.0", "4", None, ""]})


def test_levels_that_mean_missing_are_none() -> None:
    rules = [Rule(Condition("s", "==", "unk"), 2), Rule(Condition("s", "==", "a"), 1)]
    reading = Reading(feature="s", special=("unk",), fill="a", saw_missing=True)
    only = Scorecard.from_levels(rules, [2], [0.1, 0.6], Thresholds.of([0.5]), readings=[reading])
    values = ["unk", "a", "b", ""]
    expected = only.score({"s": values}).tolist()
    found = score_table(only, pl.LazyFrame({"s": values})).collect()
    assert found["card_score"].to_list() == expected == [1, 1, 0, 1]


def test_decimals_of_arrow_are_exact() -> None:
    only = Scorecard.from_levels(
        [Rule(Condition("n", "==", 0.35), 2)], [2], [0.1, 0.6], Thresholds.of([0.5])
    )
    table = pa.table({"n": pa.array([Decimal("0.35"), Decimal("0.36")], pa.decimal128(10, 2))})
    for frame in (table, table.to_pandas(types_mapper=pd.ArrowDtype)):
        assert nw.from_native(score_table(only, frame))["card_score"].to_list() == [2, 0]


def test_large_weights_and_decimal_outcomes() -> None:
    heavy = FRAME.with_columns(v=pl.lit(5_000_000_000), sex=pl.lit("f"))
    found = evaluate_table(card(), heavy.lazy(), "y", sample_weight="v")
    plain = evaluate_table(card(), heavy.lazy(), "y")
    assert found.calibration.intercept_se == pytest.approx(plain.calibration.intercept_se)
    relation = duckdb.sql("SELECT age, CASE WHEN y = 1 THEN 1.0 ELSE 0.0 END AS y FROM FRAME")
    assert fit(relation).classes_.tolist() == [0.0, 1.0]
    assert PatternTable.from_frame(relation, "y").n_events == 40


def test_a_reference_without_events_has_none() -> None:
    frame = pl.DataFrame({"age": [70, 50] * 20, "sex": ["m"] * 40, "y": [1, 0] * 20})
    none = frame.with_columns(y=pl.lit(0)).lazy()
    drift = evaluate_table(card(), frame.lazy(), "y", reference=none).drift
    assert drift is not None
    assert drift.prevalence.reference == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_rows": 0}, "sample_rows=0 must be a whole number of at least 10"),
        ({"max_patterns": 1e3}, "max_patterns=1000.0 must be a whole number"),
        ({"features": "age"}, "must be a list of column names"),
        ({"sample_weight": "y"}, "cannot be both outcome and weight"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit(FRAME.lazy(), **options)
