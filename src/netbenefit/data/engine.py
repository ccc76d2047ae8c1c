"""A table where it lives: in memory, or in an engine that computes on demand.

Whatever narwhals knows can be queried: lazy frames of Polars, relations of DuckDB, data frames of
Dask and Spark, tables of Ibis, and any data frame in memory.  Only groups, and how many rows each
of them has, come into memory.
"""

from __future__ import annotations

import logging
import operator
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import ColumnInfo, Frame
from netbenefit.common import InputError, IntArray, check_names, did_you_mean, shorten

logger = logging.getLogger(__name__)

#: What a column holds, by its type.
ColumnType = Literal["number", "boolean", "text", "date", "other"]
#: Called with what the engine is about to do, such as "merging rows".
Tell = Callable[[str], None]

_HALF = 2**26
#: Keys whose nulls fit into one whole number.
_BITS = 60
#: Names in queries, which no column of a table has.
_COUNT, _WEIGHT, _SQUARE = "nb_count", "nb_weight", "nb_square"


def is_lazy(table: Any) -> bool:
    """Whether a table computes on demand, so that its rows are not in memory."""
    try:
        return isinstance(nw.from_native(table, pass_through=True), nw.LazyFrame)
    except nw.exceptions.DuplicateError:  # the reader of the frame has the better error
        return False


def require_columns(available: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a table without some columns."""
    absent = [name for name in names if name not in available]
    if absent:
        raise InputError(
            f"the table has no column {shorten(absent)}.{did_you_mean(absent[0], available)} Its "
            "columns are "
            f"{shorten(available, 10)}. Correct the name, or add the column."
        )


def in_halves(join: Callable[[Any, Any], Any], parts: Sequence[nw.Expr]) -> nw.Expr:
    """Combine expressions by halves, because libraries walk through them by recursion."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    joined: nw.Expr = join(in_halves(join, parts[:middle]), in_halves(join, parts[middle:]))
    return joined


def flag(test: nw.Expr) -> nw.Expr:
    """Return 1 where a test holds, else 0."""
    return nw.when(test).then(nw.lit(1, nw.Int64)).otherwise(nw.lit(0, nw.Int64))


class Groups(NamedTuple):
    """Groups of rows, in no particular order."""

    keys: dict[str, NDArray[Any]]  #: numbers, or objects where a key is text
    rows: IntArray  #: how many
    weight: NDArray[Any]  #: sum of their weights: int64 where these are integers, else float64
    square: NDArray[np.float64]  #: sum of the squares of their weights

    @property
    def size(self) -> int:
        """How many groups there are."""
        return int(self.rows.size)


class EngineTable:
    """A table that is queried by expressions; ``tell`` gets a few words before every query."""

    def __init__(self, table: Any, tell: Tell | None = None) -> None:
        try:
            frame = nw.from_native(table)
        except TypeError:
            raise InputError(
                f"cannot read a table from {type(table).__name__}. Pass a data frame, a lazy frame "
                "of Polars, a relation of DuckDB, a data frame of Dask or Spark, or a table of "
                "Ibis."
            ) from None
        if isinstance(frame, nw.Series):
            raise InputError("this is a single column. Pass a table.")
        self.frame: nw.LazyFrame[Any] = frame.lazy()
        self._tell = tell
        #: Column names as text.
        self.names = check_names(self.frame.collect_schema().names())
        self.frame = _with_plain_names(self.frame, self.engine)
        schema = self.frame.collect_schema()
        self._native = dict(zip(self.names, schema, strict=True))
        #: Their types, as narwhals has them.
        self.dtypes = dict(zip(self.names, schema.values(), strict=True))
        #: What each column holds.
        self.types = {name: _type_of(dtype) for name, dtype in self.dtypes.items()}
        #: Seconds that queries have taken.
        self.seconds = 0.0

    @property
    def engine(self) -> str:
        """What computes, such as "DuckDB"."""
        name = self.frame.implementation.name.lower()
        known = {"duckdb": "DuckDB", "pyspark": "Spark", "pyspark_connect": "Spark"}
        return known.get(name, str(name).capitalize())

    @property
    def _casts_safely(self) -> bool:
        """Whether casts refuse integers that floats do not hold exactly, as Arrow's do."""
        made = self.frame.implementation
        return bool(made.is_pandas_like() or made.is_dask() or made.is_pyarrow())

    def require(self, names: Sequence[str]) -> None:
        """Refuse a table without some columns."""
        require_columns(self.names, names)

    # -- columns -----------------------------------------------------------------------------------

    def column(self, name: str) -> nw.Expr:
        """Return a column as it is."""
        return nw.col(self._native[name])

    def number(self, name: str, *, nan_is_null: bool = True) -> nw.Expr:
        """Return a column of numbers or booleans as float64, null where it is null (or NaN)."""
        column, dtype = self.column(name), self.dtypes[name]
        if self.types[name] == "boolean":
            # (By way of whole numbers: 1.0 in a query is a decimal to some engines.)
            no = nw.when(~column).then(nw.lit(0, nw.Int64))
            return nw.when(column).then(nw.lit(1, nw.Int64)).otherwise(no).cast(nw.Float64)
        if dtype in (nw.Int64, nw.UInt64) and self._casts_safely:
            # In two halves, each of which is exact: the sum is rounded as a cast would be.
            half = column // _HALF
            high, low = half.cast(nw.Float64), (column - half * _HALF).cast(nw.Float64)
            return high * float(_HALF) + low
        if dtype == nw.Decimal and self._casts_safely:
            column = column.cast(nw.String)  # Arrow's own cast is off by a bit
        if dtype != nw.Float64:
            column = column.cast(nw.Float64)
        if nan_is_null and dtype.is_float():
            column = nw.when(~column.is_nan()).then(column)
        return column

    def label(self, name: str) -> nw.Expr:
        """Return a column of labels: text as text, decimals as numbers, all else as it is."""
        dtype = self.dtypes[name]
        if self.types[name] == "text":
            return self.text(name)
        exact = dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128)
        plain = exact or self.types[name] != "number" or dtype.is_float()
        return self.column(name) if plain else self.number(name)

    def text(self, name: str) -> nw.Expr:
        """Return a column of text or categories as text."""
        column = self.column(name)
        return column if self.dtypes[name] == nw.String else column.cast(nw.String)

    def info(self, name: str) -> ColumnInfo:
        """Return what is known from the type of a column: category, order, date."""
        dtype = self.dtypes[name]
        if dtype == nw.Enum:
            return ColumnInfo(True, True, tuple(getattr(dtype, "categories", ())))
        return ColumnInfo(dtype == nw.Categorical, is_date=dtype.is_temporal())

    def weights(self, name: str | None) -> tuple[nw.Expr | None, nw.Expr | None]:
        """Return the weight of a row, and whether it has any; None and None without a column."""
        if name is None:
            return None, None
        self.require([name])
        if self.types[name] not in ("number", "boolean"):
            raise InputError(f"column {name!r}, the weights, holds no numbers. Name another.")
        weight = self.number(name)
        bad = weight.is_null() | (weight < 0) | (weight > np.finfo(np.float64).max)
        seen = nw.when(bad).then(nw.lit(1, nw.Int64)).alias(_COUNT)
        counted = self.frame.select(seen).select(nw.col(_COUNT).count())
        wrong = int(self.collect(counted, "checking weights").column(_COUNT)[0])
        if wrong:
            raise InputError(
                f"column {name!r}, the weights, is missing, negative or infinite in {wrong:,} "
                "rows. Correct them, or leave those rows out."
            )
        # Whole numbers add up exactly, in whatever order an engine adds them.
        whole = self.dtypes[name].is_integer()
        return self.column(name).cast(nw.Int64) if whole else weight, weight > 0

    # -- queries -----------------------------------------------------------------------------------

    def group(
        self,
        keys: Mapping[str, nw.Expr],
        what: str,
        *,
        weight: nw.Expr | None = None,
        where: nw.Expr | None = None,
        most: int | None = None,
        never_null: bool = False,
    ) -> Groups:
        """Count the rows of each combination of some keys, and add up their weight.

        ``what`` describes it for the user; of more than ``most`` groups, one more is returned.
        """
        frame = self.frame if where is None else self.frame.filter(where)
        chosen = [expression.alias(name) for name, expression in keys.items()]
        nulls = {} if never_null else _null_keys(keys)
        chosen += [expression.alias(name) for name, expression in nulls.items()]
        sums = [nw.len().alias(_COUNT)]
        if weight is not None:
            number = weight.cast(nw.Float64)  # the square of an integer may not fit into 64 bits
            chosen += [weight.alias(_WEIGHT), (number * number).alias(_SQUARE)]
            sums += [nw.col(_WEIGHT).sum(), nw.col(_SQUARE).sum()]
        frame = frame.select(*chosen).group_by(*keys, *nulls).agg(*sums)
        if most is not None:
            frame = frame.head(most + 1)
        found = self.collect(frame, what)
        count = found.column(_COUNT).astype(np.int64)
        columns = _columns(found, keys, nulls)
        if weight is None:
            return Groups(columns, count, count, count.astype(np.float64))
        total, square = (_sums(found.column(name)) for name in (_WEIGHT, _SQUARE))
        return Groups(columns, count, total, square.astype(np.float64))

    def count_groups(
        self, keys: Mapping[str, nw.Expr], what: str, *, where: nw.Expr | None = None
    ) -> int:
        """Return how many combinations of some keys there are."""
        frame = self.frame if where is None else self.frame.filter(where)
        chosen = [expression.alias(name) for name, expression in keys.items()]
        groups = frame.select(*chosen).group_by(*keys).agg(nw.len().alias(_COUNT))
        found = self.collect(groups.select(nw.len().alias(_COUNT)), what)
        return int(found.column(_COUNT)[0])

    def collect(self, frame: nw.LazyFrame[Any], what: str) -> Frame:
        """Let the engine compute, and bring the answer into memory."""
        if self._tell is not None:
            self._tell(what)
        began = time.perf_counter()
        try:
            found: Frame
            if self.engine == "DuckDB":  # without pyarrow, which narwhals would take
                found = _Fetched(frame.to_native())
            else:
                found = Frame(frame.collect().to_native())
        except Exception as error:  # each engine has its own
            first = str(error).strip().split("\n")[0]
            raise InputError(
                f"{self.engine} failed while {what}: {first or type(error).__name__}. Correct the "
                "table or the query behind it; the engine's own error is above."
            ) from error
        seconds = time.perf_counter() - began
        self.seconds += seconds
        logger.info("%s: %s took %.1f s", self.engine, what, seconds)
        return found


class _Fetched(Frame):
    """What a relation of DuckDB found, as columns in memory."""

    def __init__(self, relation: Any) -> None:
        from netbenefit.data.duckdb import arrays_of

        self.names = check_names(relation.columns)
        self._arrays = dict(zip(self.names, arrays_of(relation), strict=True))

    def __len__(self) -> int:
        return next((len(column) for column in self._arrays.values()), 0)

    def column(self, name: str) -> NDArray[Any]:
        return self._arrays[name]


def _with_plain_names(frame: nw.LazyFrame[Any], engine: str) -> nw.LazyFrame[Any]:
    """Rename columns in whose names an engine sees more: Spark paths, Polars patterns."""
    names = frame.collect_schema().names()
    plain = [f"nb_{k}" for k in range(len(names))]
    if engine == "Spark" and not all(name.isidentifier() for name in names):
        return cast("nw.LazyFrame[Any]", nw.from_native(frame.to_native().toDF(*plain)))
    if engine == "Polars" and any(name == "*" or name.startswith("^") for name in names):
        renamed = frame.to_native().rename(dict(zip(names, plain, strict=True)))
        return cast("nw.LazyFrame[Any]", nw.from_native(renamed))
    return frame


def _type_of(dtype: Any) -> ColumnType:
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "boolean"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    return "date" if dtype.is_temporal() else "other"


def _null_keys(keys: Mapping[str, nw.Expr]) -> dict[str, nw.Expr]:
    """Return which keys are null, in bits: Dask confuses null with other values in groups."""
    listed = list(keys.values())
    found = {}
    for first in range(0, len(listed), _BITS):
        bits = [
            nw.when(key.is_null()).then(nw.lit(2**k, nw.Int64)).otherwise(nw.lit(0, nw.Int64))
            for k, key in enumerate(listed[first : first + _BITS])
        ]
        found[f"nb_nulls_{first}"] = in_halves(operator.add, bits)
    return found


def _columns(
    found: Frame, keys: Mapping[str, Any], nulls: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    columns = {name: found.column(name) for name in keys}
    if not nulls:
        return columns
    bits = [found.column(name).astype(np.int64) for name in nulls]
    for k, (name, values) in enumerate(columns.items()):
        null = (bits[k // _BITS] >> (k % _BITS)) & 1 == 1
        if null.any():
            numbers = values.dtype.kind in "biuf"
            values = values.astype(np.float64 if numbers else object)
            values[null] = np.nan if numbers else None
            columns[name] = values
    return columns


def _sums(values: NDArray[Any]) -> NDArray[Any]:
    """Sums as int64 or float64: engines widen them to decimals and the like."""
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    whole = all(float(value).is_integer() for value in values.tolist())
    return np.array([float(v) for v in values.tolist()]).astype(np.int64 if whole else np.float64)


# -- distinct rows of columns of numbers, taken as they are: for patterns without a binner ---------


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
    """Merge equal rows in the engine; None where there are more than ``most``."""
    strange = [name for name in features if table.types[name] not in ("number", "boolean")]
    if strange:
        raise InputError(
            f"column {strange[0]!r} holds {table.types[strange[0]]}, not numbers. Encode it as "
            "numbers (0/1 for yes/no, one column per category), pass a binner, or drop it."
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
        missing = int(groups.rows[np.isnan(values)].sum())
        if missing:
            raise InputError(
                f"column {name!r} has {missing:,} missing values. Impute or drop them first, or "
                "pass a binner."
            )
        columns[name] = values.astype(np.float32) if table.dtypes[name] == nw.Float32 else values
    n_rows = int(groups.rows.sum())
    return NumberGroups(columns, groups.keys["nb_target"], groups.weight, n_rows)
