"""What happens to missing values: refused, filled in, or with a condition of their own."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.binning.cuts import Rows
from netbenefit.binning.roles import ClassifiedColumn, factorise, plain
from netbenefit.binning.weights import first_reaching, has_enough_weight, mass_by, total_weight
from netbenefit.cards import Column, Reading, Term
from netbenefit.common import FloatArray, InputError, Remedy, RowNumber, Value

#: What can be done with missing values; the first by default.
POLICIES = ("auto", "condition", "impute", "refuse")


class FilledColumn(NamedTuple):
    """A column whose missing values are dealt with."""

    column: Column
    reading: Reading
    missing_mass: float
    own_missing: bool

    def present(self, rows: Rows) -> tuple[NDArray[Any], Rows, NDArray[np.bool_]]:
        """Values that are there, in rows with weight; those rows; and which they are."""
        column = self.column
        kept = rows.weight > 0
        if column.missing is not None:
            kept &= ~column.missing
        return column.values[kept], Rows(rows.event[kept], rows.weight[kept]), kept


def fill(column: Column, value: Any) -> Column:
    """Put a value where a column is missing."""
    if column.missing is None:
        return column
    values = column.values.copy()
    values[column.missing] = value
    return Column(column.name, values, None)


def fill_missing(
    classified: ClassifiedColumn, column: Column, rows: Rows, policy: str, min_mass: float
) -> FilledColumn:
    """Decide what happens to missing values, and fill them in where that is what happens."""
    missing = column.missing
    mass = 0.0 if missing is None else total_weight(rows.weight[missing])
    if mass > 0 and policy == "refuse":
        row = int(np.flatnonzero(np.asarray(missing))[0])
        name = shlex.quote(classified.name)
        raise InputError(
            f"column {classified.name!r} is missing in ",
            RowNumber(row),
            ", and missing values are to be refused. Fill them in, or choose ",
            Remedy(
                'missing="condition" or "impute" for this column',
                f"--missing {name}=condition or --missing {name}=impute",
            ),
            ".",
        )
    own = mass > 0 and (
        policy == "condition" or (policy == "auto" and has_enough_weight(mass, min_mass))
    )
    reading = replace(classified.reading, saw_missing=mass > 0, refuse=policy == "refuse")
    if own or policy == "refuse":
        return FilledColumn(column, reading, mass, own)
    usual = usual_value(classified, column, rows.weight)
    return FilledColumn(fill(column, usual), replace(reading, fill=usual), mass, own)


def fill_source(classified: ClassifiedColumn, column: Column, rows: Rows, policy: str) -> Reading:
    """Decide the same for a column that is combined with others; say how it is read."""
    missing = column.missing is not None and bool(rows.weight[column.missing].any())
    if missing and policy == "refuse":
        raise InputError(
            f"column {classified.name!r} has missing values, which are to be refused. Fill them "
            'in, or choose missing="impute" for this column.'
        )
    reading = replace(classified.reading, saw_missing=missing, refuse=policy == "refuse")
    if policy == "impute":
        reading = replace(reading, fill=usual_value(classified, column, rows.weight))
    return reading


def usual_value(classified: ClassifiedColumn, column: Column, weight: FloatArray) -> Value:
    """The lower weighted median of numbers, the middle level of ordered ones, else the mode."""
    here = weight > 0 if column.missing is None else ~column.missing & (weight > 0)
    values, mass = column.values[here], weight[here]
    if classified.role in ("numeric", "per unit"):
        order = np.argsort(values, kind="stable")
        return plain(values[order][first_reaching(np.cumsum(mass[order]), 0.5)])
    codes, levels = factorise(values)
    sums = mass_by(codes, mass, len(levels))
    by_level = dict(zip(levels, sums.tolist(), strict=True))
    if classified.order is not None:
        ranked = [level for level in classified.order if level in by_level]
        return ranked[first_reaching(np.cumsum([by_level[level] for level in ranked]), 0.5)]
    return max(levels, key=lambda level: (by_level[level], str(level)))


def easy_fill(fill: Value, terms: Sequence[Term], reading: Reading) -> Value:
    """The number with fewest digits that counts as the usual value does everywhere."""
    expected = [term.value_code(fill) for term in terms]
    for digits in range(1, 17):
        number = plain(float(f"{fill:.{digits}g}"))
        if number not in reading.special and expected == [t.value_code(number) for t in terms]:
            return number
    return fill
