"""Random raw tables with missing values, typing errors and unknown levels, as any container."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

STAGES = ["I", "II", "III", "IV"]
REGIONS = ["north", "south", "east", "west", "isle"]

#: Containers that a table of plain Python values can come in.
CONTAINERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
    "dict of lists": dict,
    "list of dicts": lambda columns: [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ],
}


def raw_table(
    seed: int, n_rows: int, *, strange: bool = False, missing: bool = True
) -> dict[str, list[Any]]:
    """Plain columns; ``strange`` rows have new levels, extremes and missing values."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 95, n_rows).tolist()
    lactate = rng.gamma(2.0, 1.0, n_rows).round(1).tolist()
    visits = rng.poisson(2, n_rows).tolist()
    price = [Decimal(int(v)) / 4 for v in rng.integers(0, 40, n_rows)]
    table: dict[str, list[Any]] = {
        "age": age,
        "lactate": lactate,
        "visits (−9: unknown)": [
            -9 if u < 0.1 else v for v, u in zip(visits, rng.random(n_rows), strict=True)
        ],
        "sex": rng.choice(["f", "m"], n_rows).tolist(),
        "Größe": rng.choice(REGIONS, n_rows, p=[0.4, 0.3, 0.2, 0.09, 0.01]).tolist(),
        "stage": rng.choice(STAGES, n_rows).tolist(),
        "smoker": (rng.random(n_rows) < 0.3).tolist(),
        "price": price,
        "code": rng.choice([1, 2], n_rows).tolist(),
    }
    if missing:
        for name, share in (("lactate", 0.15), ("Größe", 0.1), ("smoker", 0.05), ("price", 0.01)):
            _punch(table[name], share, rng)
    if strange:
        for name in table:
            _punch(table[name], 0.05, rng)
        table["Größe"][0], table["sex"][1] = "moon", "x"
        table["age"][2], table["lactate"][3], table["code"][4] = -5, 1e9, 3
    return table


def _punch(column: list[Any], share: float, rng: np.random.Generator) -> None:
    for row in np.flatnonzero(rng.random(len(column)) < share):
        column[row] = None


def outcome(table: dict[str, list[Any]], seed: int) -> np.ndarray:
    """Events that depend on age, stage, sex and missing lactate."""
    rng = np.random.default_rng(seed)
    logit = np.array(
        [
            0.05 * (age - 60) + 0.6 * STAGES.index(stage) + (sex == "m") + 1.5 * (lactate is None)
            for age, stage, sex, lactate in zip(
                table["age"], table["stage"], table["sex"], table["lactate"], strict=True
            )
        ]
    )
    return rng.random(len(logit)) < 1 / (1 + np.exp(1 - logit))
