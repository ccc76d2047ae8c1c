"""Distinct rows of columns of numbers, taken as they are: for patterns without a binner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import InputError
from netbenefit.data.engine import EngineTable

__all__ = ["NumberGroups", "group_numbers"]


class NumberGroups(NamedTuple):
    """Columns, outcomes and weights of groups of equal rows."""

    columns: dict[str, NDArray[Any]]
    target: NDArray[Any]
    weight: NDArray[Any]
    n_rows: int


def group_numbers(
    table: EngineTable,
    target: str,
    features: Sequence[str],
    sample_weight: str | None = None,
    most: int | None = None,
) -> NumberGroups | None:
    """Merge equal rows in the engine; None where there are more than ``most``.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.LazyFrame({"age": [51, 51, 60], "y": [1, 1, 0]})
    >>> groups = group_numbers(EngineTable(frame), "y", ["age"])
    >>> sorted(zip(groups.columns["age"].tolist(), groups.weight.tolist()))
    [(51.0, 2), (60.0, 1)]
    """
    strange = [name for name in features if table.types[name] not in ("number", "boolean")]
    if strange:
        raise InputError(
            f"column {strange[0]!r} holds {table.types[strange[0]]}, not numbers. Encode it as "
            "numbers (0/1 for yes/no, one column a category), pass a binner, or drop it."
        )
    keys = {f"nb_{k}": table.number(name) for k, name in enumerate(features)}
    keys["nb_target"] = table.label(target)
    weight, used = table.weights(sample_weight)
    groups = table.group(keys, "merging rows", weight=weight, where=used, most=most)
    if most is not None and groups.size > most:
        return None
    columns = {}
    for k, name in enumerate(features):
        values = groups.keys[f"nb_{k}"].astype(np.float64)
        holes = int(groups.rows[np.isnan(values)].sum())
        if holes:
            raise InputError(
                f"column {name!r} has {holes:,} missing values. Impute or drop them first, or pass "
                "a binner."
            )
        columns[name] = values.astype(np.float32) if table.is_single(name) else values
    n_rows = int(groups.rows.sum())
    return NumberGroups(columns, groups.keys["nb_target"], groups.weight, n_rows)
