"""Patterns of a binned table, counted where the table is."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from netbenefit.binning import FittedBins
from netbenefit.common import InputError, IntArray
from netbenefit.data import EngineTable, flag, in_halves
from netbenefit.tables.expressions import ColumnCodes, codes_of_column
from netbenefit.tables.survey import Survey

#: Keys stay below this, so that floats hold them exactly.
_LARGEST_KEY = 2**53
_EVENT, _REFUSED = "nb_event", "nb_refused"


class Counted(NamedTuple):
    """Codes of groups of rows with their outcome and weight; groups may have equal codes."""

    codes: IntArray
    event: NDArray[np.bool_]
    weight: NDArray[np.float64]
    risk: NDArray[np.float64] | None = None  #: mean of a column of risks, where there is one


class _Digit(NamedTuple):
    """Part of a key: which of ``size`` possibilities."""

    name: str
    expression: nw.Expr
    size: int


def number_of_patterns(table: EngineTable, survey: Survey, fitted: FittedBins) -> int:
    """Return how many distinct rows of conditions a table has; the rows stay where they are.

    (A few too many where different values mean the same to all conditions.)
    """
    _, _, keys = _keys(table, None, fitted)
    return table.count_groups(keys, "counting distinct rows", where=survey.used)


def count_patterns(
    table: EngineTable,
    survey: Survey,
    fitted: FittedBins,
    *,
    where: nw.Expr | None = None,
    most: int | None = None,
    risks: str | None = None,
) -> Counted | None:
    """Merge the rows of a table by what a binner makes of them; None if there are too many.

    The states of all columns (:mod:`expressions`) are the digits of one number, or of
    a few: engines group by those much faster than by columns.  ``risks`` is a column of which each
    group gets the mean.
    """
    columns, packed, keys = _keys(table, survey, fitted)
    used = survey.used if where is None or survey.used is None else survey.used & where
    used = where if used is None else used
    groups = table.group(
        keys, "merging rows", weight=survey.weight, where=used, most=most, never_null=True
    )
    if most is not None and groups.size > most:
        return None
    found = _unpacked(packed, [groups.keys[f"nb_key_{k}"] for k in range(len(packed))])
    if _REFUSED in found and found[_REFUSED].any():
        bad = int(groups.rows[found[_REFUSED] == 1].sum())
        raise InputError(
            f"{bad:,} rows hold values that the rows before did not, and that cannot be used: "
            "missing values that are to be refused, or text among numbers. Correct them."
        )
    units = {name: values.astype(np.int64) for name, values in groups.keys.items()}
    codes = _codes(columns, list(fitted.groups.values()), found, units, groups.size)
    counted = Counted(codes, found[_EVENT] == 1, groups.weight.astype(np.float64))
    if risks is None:
        return counted
    expected = table.number(risks)
    if survey.weight is not None:
        expected = expected * survey.weight.cast(nw.Float64)
    again = table.group(keys, "adding up risks", weight=expected, where=used, never_null=True)
    mean = np.empty(groups.size)
    mean[_order(groups.keys)] = again.weight.astype(np.float64)[_order(again.keys)]
    return counted._replace(risk=np.clip(mean / counted.weight, 0.0, 1.0))


def _order(keys: Mapping[str, NDArray[Any]]) -> NDArray[np.intp]:
    return np.lexsort([keys[name] for name in sorted(keys)])


def _keys(
    table: EngineTable, survey: Survey | None, fitted: FittedBins
) -> tuple[list[ColumnCodes], list[list[_Digit]], dict[str, nw.Expr]]:
    """Express conditions as keys; the outcome is one of them where a survey is given."""
    columns = [codes_of_column(table, column) for column in fitted.logic.columns]
    refused = [test for column in columns for test in column.refused]
    digits = [] if survey is None else [_Digit(_EVENT, flag(survey.event), 2)]
    if refused:
        digits.append(_Digit(_REFUSED, flag(in_halves(operator.or_, refused)), 2))
    keys: dict[str, nw.Expr] = {}
    for k, column in enumerate(columns):
        count = len(column.states.codes)
        if column.places:
            digits.append(
                _Digit(f"nb_state_{k}", column.states.pick(range(count), nw.Int64), count)
            )
        keys |= {f"nb_unit_{k}_{place}": code for place, code in column.units.items()}
    packed = _packed(digits)
    keys = {f"nb_key_{k}": _number_of(part) for k, part in enumerate(packed)} | keys
    return columns, packed, keys


def _packed(digits: Sequence[_Digit]) -> list[list[_Digit]]:
    """Share digits among as few numbers as hold them."""
    parts: list[list[_Digit]] = [[]]
    size = 1
    for digit in digits:
        if size * digit.size >= _LARGEST_KEY:
            parts.append([])
            size = 1
        parts[-1].append(digit)
        size *= digit.size
    return parts


def _number_of(digits: Sequence[_Digit]) -> nw.Expr:
    """Return digits as one number, added up in floats: Ibis would have DuckDB add 32 bits."""
    factor, parts = 1, []
    for digit in digits:
        parts.append(digit.expression.cast(nw.Float64) * float(factor))
        factor *= digit.size
    return in_halves(operator.add, parts).cast(nw.Int64)


def _unpacked(
    packed: Sequence[Sequence[_Digit]], keys: Sequence[NDArray[np.int64]]
) -> dict[str, IntArray]:
    found = {}
    for digits, key in zip(packed, keys, strict=True):
        rest = key.astype(np.int64)
        for digit in digits:
            rest, found[digit.name] = np.divmod(rest, digit.size)
    return found


def _codes(
    columns: Sequence[ColumnCodes],
    places: Sequence[tuple[int, ...]],
    found: dict[str, IntArray],
    units: dict[str, IntArray],
    n_groups: int,
) -> IntArray:
    codes = np.zeros((n_groups, sum(map(len, places))), dtype=np.int64)
    for k, (column, own) in enumerate(zip(columns, places, strict=True)):
        if column.places:
            table = np.array(column.states.codes, dtype=np.int64)
            codes[:, [own[p] for p in column.places]] = table[found[f"nb_state_{k}"]]
        for place in column.units:
            codes[:, own[place]] = units[f"nb_unit_{k}_{place}"]
    return codes
