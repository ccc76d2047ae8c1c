"""Raw tables: columns by name, taken, merged and counted in engines."""

from __future__ import annotations

import numpy as np
import polars as pl

from netbenefit.data.engine import EngineTable, group_numbers, is_lazy
from netbenefit.data.patterns import merge_rows
from netbenefit.data.raw_table import RawColumn, RawTable, raw_rows, storage_of


def test_columns_of_a_table() -> None:
    table = RawTable({"age": [51, 52, 53], "sex": ["f", "m", "f"]})
    assert (table.names, len(table)) == (("age", "sex"), 3)
    assert table.without("sex").names == ("age",)
    twice = table.take(np.array([1, 2])).take(np.array([1, 1]))
    assert twice.column("age").values.tolist() == [53, 53]
    assert RawTable.of([RawColumn("age", np.array([51.0, 52.0]))]).names == ("age",)
    assert raw_rows({"age": 51, "tags": ["a"]}, ["age"]) == [{"age": 51, "tags": ["a"]}]
    assert storage_of(RawColumn("x", np.array(["7", " 8 ", None], dtype=object))) == "text numbers"


def test_equal_rows_are_merged() -> None:
    first, kind = merge_rows([np.array([1, 0, 1]), np.array([-7, 5, -7])], 3)
    assert (first.tolist(), kind.tolist()) == ([1, 0], [1, 0, 1])


def test_rows_are_counted_in_an_engine() -> None:
    frame = pl.DataFrame({"age": [51, 60, 51], "sex": ["f", "m", None], "y": [1, 0, 1]})
    assert [is_lazy(table) for table in (frame, frame.lazy(), [51])] == [False, True, False]
    table = EngineTable(frame.lazy())
    assert table.types == {"age": "number", "sex": "text", "y": "number"}
    found = table.group({"old": table.number("age") >= 60}, "counting")
    counts = zip(found.keys["old"].tolist(), found.rows.tolist(), strict=True)
    assert sorted(counts) == [(False, 2), (True, 1)]
    groups = group_numbers(EngineTable(frame.lazy()), "y", ["age"])
    assert groups is not None
    ages = zip(groups.columns["age"].tolist(), groups.weight.tolist(), strict=True)
    assert sorted(ages) == [(51.0, 2), (60.0, 1)]
