"""What a binner has learnt, and how it is asked of raw rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards.columns import Kind, missing_error
from netbenefit.cards.readings import Reading, Readings
from netbenefit.cards.terms import Condition, PerUnit, Term

__all__ = ["Fitted", "dtype_of"]

_LARGEST_FLOAT = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Fitted:
    """What a binner has learnt.

    Attributes
    ----------
    columns : tuple of str
        Raw columns of the training table.
    terms, names : tuples
        The output columns, and what they are called.
    readings : tuple of Reading
        Of all columns that have terms, and of the sources of combined ones.
    kinds : dict of str to str
        What each column with terms holds: numbers or text.
    own_missing : tuple of str
        Columns whose missing values are a state of their own.
    rows : tuple of dict
        What was made of each column, for people.
    notices : tuple of str
        What the user should know.
    """

    columns: tuple[str, ...]
    terms: tuple[Term, ...]
    names: tuple[str, ...]
    readings: tuple[Reading, ...]
    kinds: dict[str, Kind]
    own_missing: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    notices: tuple[str, ...] = field(default=(), compare=False)

    @property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """Output columns of each column."""
        groups: dict[str, list[int]] = defaultdict(list)
        for k, term in enumerate(self.terms):
            groups[term.feature].append(k)
        return {name: tuple(places) for name, places in groups.items()}

    @property
    def sources(self) -> tuple[str, ...]:
        """Raw columns that are needed."""
        readings = Readings(self.readings)
        return tuple(dict.fromkeys(n for name in self.groups for n in readings.sources(name)))

    def codes(self, data: Mapping[str, Any], n_rows: int) -> NDArray[Any]:
        """Ask all conditions of raw columns."""
        others = [term.feature for term in self.terms if _takes_others(term)]
        readings = Readings(self.readings, others)
        matrix = np.empty((n_rows, len(self.terms)), dtype=dtype_of(self.terms), order="F")
        for name, places in self.groups.items():
            column = readings.column(name, data, self.kinds[name])
            if column.missing is not None and name not in self.own_missing:
                raise missing_error(name, column.missing)
            for k in places:
                matrix[:, k] = self.terms[k].column_codes(column)
        return matrix

    def readings_of(self, features: Sequence[str]) -> tuple[Reading, ...]:
        """Readings of some columns, and of the sources that they are combined from."""
        known = Readings(self.readings)
        wanted = {name for feature in features for name in (feature, *known.sources(feature))}
        return tuple(reading for reading in self.readings if reading.feature in wanted)

    def report(self) -> dict[str, list[Any]]:
        """What was made of each column, as columns of a table."""
        keys = ("column", "taken for", "conditions", "missing")
        return {key: [row[key] for row in self.rows] for key in keys}


def _takes_others(term: Term) -> bool:
    return isinstance(term, Condition) and term.op in ("not in", "!=")


def dtype_of(terms: Sequence[Term]) -> np.dtype[Any]:
    """Return the smallest integer type that holds all codes of some terms.

    >>> dtype_of([Condition("age", ">=", 52), PerUnit("bmi", decimals=1, lower=15, upper=45)])
    dtype('int16')
    """
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
