"""What a binner has learnt, and fitted binners as JSON, written exactly and read strictly."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import (
    CardLogic,
    ColumnLogic,
    Kind,
    PerUnit,
    Reading,
    Readings,
    Term,
    columns_with_others,
    read_reading,
    read_term,
    reading_data,
    term_data,
)
from netbenefit.common import (
    InputError,
    InputWarning,
    at,
    check_object,
    parse,
    read_list,
    read_text,
    read_value,
    upgrade_advice,
    wrong,
)
from netbenefit.metrics import Thresholds, as_thresholds

# -- what a binner has learnt, and how it turns raw rows into codes --------------------------------


_LARGEST_FLOAT = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class FittedBins:
    """What a binner has learnt from a table."""

    columns: tuple[str, ...]  #: raw columns of the table
    terms: tuple[Term, ...]  #: the output columns
    names: tuple[str, ...]
    readings: tuple[Reading, ...]  #: of columns with terms, and of sources of combined ones
    kinds: dict[str, Kind]
    own_missing: tuple[str, ...]  #: columns with a condition for missing values
    rows: tuple[dict[str, Any], ...]  #: what became of each column
    notices: tuple[InputWarning, ...] = field(default=(), compare=False)  #: warnings

    @property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """Output columns of each column."""
        groups: dict[str, list[int]] = defaultdict(list)
        for k, term in enumerate(self.terms):
            groups[term.feature].append(k)
        return {name: tuple(places) for name, places in groups.items()}

    @cached_property
    def logic(self) -> CardLogic:
        """How raw columns are read and turned into codes, as a card with one point per code."""
        known = Readings(self.readings, columns_with_others(self.terms))
        columns = (
            ColumnLogic.of(
                name,
                self.kinds[name],
                name in self.own_missing,
                [(self.terms[k], 1) for k in places],
                known.by_name,
            )
            for name, places in self.groups.items()
        )
        return CardLogic(tuple(columns), 1, known)

    @property
    def sources(self) -> tuple[str, ...]:
        """Raw columns that are needed."""
        return self.logic.features

    def codes(self, data: Mapping[str, Any], n_rows: int) -> NDArray[Any]:
        """Turn raw columns into the codes of all conditions."""
        matrix = np.empty((n_rows, len(self.terms)), dtype=dtype_of(self.terms), order="F")
        for column, places in zip(self.logic.read(data, n_rows), self.groups.values(), strict=True):
            for k in places:
                matrix[:, k] = self.terms[k].column_codes(column[1])
        return matrix

    def readings_of(self, features: Sequence[str]) -> tuple[Reading, ...]:
        """Readings of some columns, and of the sources that they are combined from."""
        known = Readings(self.readings)
        needed = {name for feature in features for name in (feature, *known.sources(feature))}
        return tuple(reading for reading in self.readings if reading.feature in needed)


def dtype_of(terms: Sequence[Term]) -> np.dtype[Any]:
    """Return the smallest integer type that holds all codes of some terms."""
    most = 1
    for term in terms:
        if isinstance(term, PerUnit) and not term.binary:
            if term.log:
                ends = [0.0, _LARGEST_FLOAT if term.upper is None else term.upper]
            elif term.lower is None or term.upper is None:
                return np.dtype(np.int64)  # no end is known
            else:
                ends = [term.lower, term.upper]
            most = max(most, *(abs(term.value_code(end)) for end in ends))
    types = (np.int8, np.int16, np.int32, np.int64)
    return np.dtype(next(kind for kind in types if most <= np.iinfo(kind).max))


SCHEMA = "netbenefit.binner"
VERSION = 1
_KEYS = (
    "schema",
    "version",
    "params",
    "columns",
    "terms",
    "names",
    "readings",
    "kinds",
    "own_missing",
    "rows",
)
#: What is known of every raw column.
ROW_KEYS = ("column", "taken for", "conditions", "missing")
_THRESHOLD_KEYS = ("values", "weights", "end", "zero_asked")


def dumps(params: dict[str, Any], fitted: FittedBins) -> str:
    """Write a binner's parameters and what it has learnt."""
    data = {
        "schema": SCHEMA,
        "version": VERSION,
        "params": {name: _param_data(name, value) for name, value in params.items()},
        "columns": fitted.columns,
        "terms": [term_data(term) for term in fitted.terms],
        "names": fitted.names,
        "readings": [reading_data(reading) for reading in fitted.readings],
        "kinds": fitted.kinds,
        "own_missing": fitted.own_missing,
        "rows": fitted.rows,
    }
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False, default=_plain) + "\n"


def _param_data(name: str, value: Any) -> Any:
    if name == "thresholds" and value is not None:
        grid = as_thresholds(value, None)
        return {key: getattr(grid, key) for key in _THRESHOLD_KEYS}
    if name == "per_unit" and isinstance(value, dict):
        return {key: None if unit is None else term_data(unit) for key, unit in value.items()}
    return value


def _plain(value: Any) -> Any:
    """Turn numpy's numbers and other sequences into what JSON knows."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "items"):
        return dict(value.items())
    return list(value)


def loads(text: str) -> tuple[dict[str, Any], FittedBins]:
    """Read a binner's parameters and what it had learnt, all of it checked."""
    data = parse(text, "a binner", "Pass what Binner.to_json wrote.")
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise InputError(
            f'not a binner: expected a JSON object with "schema": "{SCHEMA}". Pass what '
            "Binner.to_json wrote."
        )
    if data.get("version") != VERSION:
        raise InputError(
            f"version {data.get('version')!r} of the binner format is not known; this package "
            f"reads version {VERSION}. {upgrade_advice()}"
        )
    check_object(data, "", _KEYS)
    terms = tuple(read_list(data["terms"], "terms", read_term))
    names = tuple(read_list(data["names"], "names", read_text))
    if len(names) != len(terms) or len(set(names)) < len(names):
        wrong("names", "one name per term, none twice", data["names"])
    fitted = FittedBins(
        columns=tuple(read_list(data["columns"], "columns", read_text)),
        terms=terms,
        names=names,
        readings=tuple(read_list(data["readings"], "readings", read_reading)),
        kinds=_kinds(data["kinds"], {term.feature for term in terms}),
        own_missing=tuple(read_list(data["own_missing"], "own_missing", read_text)),
        rows=tuple(read_list(data["rows"], "rows", _row)),
    )
    for i, reading in enumerate(fitted.readings):
        numeric = fitted.kinds.get(reading.feature, "number") == "number"
        if reading.fill is not None and isinstance(reading.fill, str) == numeric:
            wrong(f"readings[{i}].fill", "of the column's kind", reading.fill)
    if not set(fitted.sources) <= set(fitted.columns):
        wrong("columns", "all raw columns that terms use", data["columns"])
    return _params(data["params"]), fitted


def _kinds(data: Any, features: set[str]) -> dict[str, Kind]:
    check_object(data, "kinds", tuple(sorted(features)))
    for name, kind in data.items():
        if kind not in get_args(Kind):
            wrong(f"kinds.{name}", " or ".join(get_args(Kind)), kind)
    return dict(data)


def _row(data: Any, path: str) -> dict[str, Any]:
    check_object(data, path, ROW_KEYS)
    texts = {key: read_text(data[key], f"{path}.{key}") for key in ROW_KEYS[:3]}
    return {**texts, "missing": read_value(data["missing"], f"{path}.missing")}


def _params(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        wrong("params", "an object", data)
    params = dict(data)
    if isinstance(params.get("thresholds"), dict):
        grid = params["thresholds"]
        check_object(grid, "params.thresholds", _THRESHOLD_KEYS)
        with at("params.thresholds"):
            params["thresholds"] = Thresholds(
                tuple(grid["values"]), tuple(grid["weights"]), grid["end"], grid["zero_asked"]
            )
    if isinstance(params.get("per_unit"), dict):
        params["per_unit"] = {
            name: None if unit is None else _unit(unit, f"params.per_unit.{name}")
            for name, unit in params["per_unit"].items()
        }
    return params


def _unit(data: Any, path: str) -> PerUnit:
    term = read_term(data, path)
    if not isinstance(term, PerUnit):
        wrong(path, "points per unit", data)
    return term
