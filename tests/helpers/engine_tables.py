"""One table in every engine; engines are started once."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.helpers.full import FULL

#: Lazy engines in every test; Spark takes long to start, and has separate tests.
LAZY = ("polars lazy", "duckdb", "dask", "ibis")
EAGER = ("pandas", "pandas nullable", "polars", "pyarrow")
#: In the full run, all libraries are tested with all cards.
FEW_EAGER = EAGER if FULL else EAGER[:1]


@cache
def _connection() -> Any:
    import duckdb

    return duckdb.connect()


def _duckdb(table: pa.Table) -> Any:
    # The relation reads the Arrow table itself, chunk by chunk.
    return _connection().from_arrow(table)


def _dask(table: pa.Table) -> Any:
    import dask.dataframe as dd

    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    parts = [frame.iloc[k::3] for k in range(3)]
    # One partition without any row, as filters leave them.
    return dd.concat([dd.from_pandas(part, npartitions=1) for part in [*parts, frame.iloc[:0]]])


def _ibis(table: pa.Table) -> Any:
    import ibis

    return ibis.memtable(table)


@cache
def spark_session() -> Any:
    """Spark in local mode; skips the test where it cannot run."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    atexit.register(session.stop)
    return session


def _spark(table: pa.Table) -> Any:
    return spark_session().createDataFrame(table)


MAKERS: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "pandas nullable": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
    "polars lazy": lambda table: pl.from_arrow(table).lazy(),
    "duckdb": _duckdb,
    "dask": _dask,
    "ibis": _ibis,
    "spark": _spark,
}


def in_engine(name: str, table: pa.Table) -> Any:
    """An Arrow table, in a given engine."""
    return MAKERS[name](table)


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    """All rows of a table of any engine, as plain values."""
    frame = nw.from_native(table)
    found = frame.lazy().collect().to_dict(as_series=False)
    return [tuple(map(_plain, row)) for row in zip(*found.values(), strict=True)]


def _plain(value: Any) -> Any:
    if value is None or value is pd.NA or value != value:
        return None
    return value.item() if hasattr(value, "item") else value
