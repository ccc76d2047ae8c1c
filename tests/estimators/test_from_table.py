"""The same card, bit for bit, from every engine that holds the same rows."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from netbenefit import Binner, PatternTable, RiskScoreClassifier
from netbenefit.solvers.local_search import LocalSearch
from tests.helpers.engine_tables import EAGER, LAZY, in_engine
from tests.helpers.raw_rows import outcome, raw_table

BIG = 2**53

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@cache
def mixed() -> pa.Table:
    """Nulls, categories, booleans, decimals, large integers, numbers as text, codes, dates."""
    raw = raw_table(1, 500)
    rng = np.random.default_rng(3)
    columns: dict[str, Any] = {name: pa.array(values) for name, values in raw.items()}
    columns["price"] = pa.array(raw["price"], pa.decimal128(10, 2))
    columns["stage"] = columns["stage"].dictionary_encode()
    columns["account"] = pa.array(
        [None if k % 11 == 0 else BIG + 7 * age for k, age in enumerate(raw["age"])], pa.int64()
    )
    dose = rng.integers(0, 60, 500)
    columns["dose"] = pa.array([["", " 7 ", "12.5", "40"][d % 4] for d in dose.tolist()])
    columns["small"] = pa.array(rng.integers(-3, 4, 500), pa.int8())
    columns["single"] = pa.array(rng.integers(0, 9, 500) / 10, pa.float32())
    columns["seen"] = pa.array([None] * 250 + [0] * 250, pa.date32())
    columns["weights"] = pa.array(rng.integers(0, 4, 500), pa.int32())
    columns["died"] = pa.array(np.where(outcome(raw, 2), "yes", "no"))
    return pa.table(columns)


def estimator(**more: Any) -> RiskScoreClassifier:
    solver = LocalSearch(time_limit=None, max_rounds=1, n_jobs=1)
    binner = Binner(
        special={"visits (−9: unknown)": [-9]},
        missing={"price": "impute"},
        ordered={"stage": ["I", "II", "III", "IV"]},
        combine={"sum": ("sum", ["small", "code"])},
        categorical=["visits (−9: unknown)"],
    )
    options = {"binner": binner, "solver": solver, "time_limit": None, "teacher": "logistic"}
    return RiskScoreClassifier(**{**options, **more})


def card_of(model: RiskScoreClassifier) -> dict[str, Any]:
    card: dict[str, Any] = json.loads(model.scorecard_.to_json())
    card["provenance"].pop("seconds")
    card.pop("digest")  # which the seconds are part of
    return card


@cache
def expected(weighted: bool) -> dict[str, Any]:
    weight = "weights" if weighted else None
    table = mixed() if weighted else mixed().drop_columns(["weights"])
    return card_of(estimator().fit_table(table.to_pandas(), "died", sample_weight=weight))


def check(engine: str, weighted: bool = False) -> None:
    weight = "weights" if weighted else None
    table = mixed() if weighted else mixed().drop_columns(["weights"])
    model = estimator().fit_table(in_engine(engine, table), "died", sample_weight=weight)
    assert card_of(model) == expected(weighted)
    assert model.classes_.tolist() == ["no", "yes"]
    assert len(model.scorecard_.rules) > 5
    assert not model.merging_.bins_sampled


@pytest.mark.parametrize("engine", [*EAGER[1:], *LAZY])
def test_same_card(engine: str) -> None:
    check(engine)


@pytest.mark.parametrize("engine", ["duckdb", "dask"])
def test_same_card_with_whole_weights(engine: str) -> None:
    check(engine, weighted=True)


def test_same_card_from_spark() -> None:
    check("spark")
    check("spark", weighted=True)


def test_same_card_as_in_memory() -> None:
    table = mixed().drop_columns(["weights"]).to_pandas()
    y = table.pop("died")
    found = card_of(estimator().fit(table, y))
    found["provenance"]["teacher"] += ", learnt from distinct rows by their weight"
    assert found == expected(weighted=False)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as started,
        distributed.Client(started) as client,
    ):
        yield client


def test_same_card_from_dask_on_a_cluster(cluster: Any) -> None:
    assert len(cluster.scheduler_info()["workers"]) == 2
    check("dask")


# -- columns of numbers, taken as they are ---------------------------------------------------------


def numbers() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "a": pa.array(rng.integers(-2, 3, 400), pa.int64()),
            "b": pa.array(
                [Decimal(int(v)) / 4 for v in rng.integers(0, 9, 400)], pa.decimal128(9, 2)
            ),
            "c": pa.array(rng.random(400) < 0.3),
            "d": pa.array((rng.integers(0, 9, 400) / 10).astype(np.float32)),
            "w": pa.array(rng.integers(0, 3, 400), pa.int64()),
            "y": pa.array(rng.integers(0, 2, 400), pa.int8()),
        }
    )


@pytest.mark.parametrize("engine", LAZY)
def test_same_patterns(engine: str) -> None:
    eager = PatternTable.from_frame(numbers(), "y", sample_weight="w")
    lazy = PatternTable.from_frame(in_engine(engine, numbers()), "y", sample_weight="w")
    assert lazy.names == eager.names
    assert lazy.decimals == eager.decimals == (0, 2, 0, 1)
    assert lazy.rounded == eager.rounded
    assert (lazy.codes == eager.codes).all()
    assert (lazy.positives == eager.positives).all()
    assert (lazy.negatives == eager.negatives).all()
    assert lazy.is_whole


@pytest.mark.parametrize("engine", ["pandas", *LAZY])
def test_same_card_without_a_binner(engine: str) -> None:
    model = estimator(binner=None)
    model.fit_table(in_engine(engine, numbers()), "y", sample_weight="w")
    other = estimator(binner=None).fit_table(numbers(), "y", sample_weight="w")
    assert card_of(model) == card_of(other)
    frame = numbers().drop_columns(["w", "y"]).to_pandas()
    assert model.predict_proba(frame.astype(float)).shape == (400, 2)


def test_a_binner_in_place_of_the_own_one() -> None:
    frame = pl.DataFrame({"age": [30, 50, 70, 90] * 50, "y": [0, 0, 1, 1] * 50})
    model = estimator(binner=None).fit_table(frame.lazy(), "y", binner="auto")
    assert model.binner_.fitted_.terms
    assert model.predict_proba(pd.DataFrame({"age": [30.0, 90.0]}))[:, 1].argmax() == 1
    model.fit(frame.select("age"), frame["y"])  # and the own one again: none
    assert not hasattr(model, "binner_")


@pytest.mark.parametrize("engine", ["duckdb"])
def test_fractional_weights_agree_but_for_rounding(engine: str) -> None:
    table = mixed().drop_columns(["weights"])
    rng = np.random.default_rng(5)
    table = table.append_column("weights", pa.array(rng.random(500).round(2)))
    there = estimator().fit_table(in_engine(engine, table), "died", sample_weight="weights")
    here = estimator().fit_table(table.to_pandas(), "died", sample_weight="weights")
    assert there.scorecard_.rules == here.scorecard_.rules
    found, expected = (np.array(one.scorecard_.risks) for one in (there, here))
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("method", ["quantile", "tree", "net_benefit"])
def test_bins_of_all_methods(method: str) -> None:
    table = mixed().drop_columns(["weights"])
    binners = []
    for engine in ("pandas", "duckdb"):
        model = estimator(binner=Binner(method=method)).fit_table(in_engine(engine, table), "died")
        binners.append(model.binner_.to_json())
    assert len(set(binners)) == 1


def test_what_an_engine_is_told() -> None:
    messages: list[str] = []
    model = estimator().fit_table(in_engine("duckdb", mixed()), "died", tell=messages.append)
    assert messages == ["looking at all rows", "merging rows"]
    assert model.merging_.seconds > 0
    assert model.merging_.n_rows == 500
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.scorecard_.score(mixed().to_pandas().iloc[:5]).size == 5
