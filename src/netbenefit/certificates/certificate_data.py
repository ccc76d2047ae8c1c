"""The data of a certificate, read again from a table; and what a card makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards.columns import Kind, numeric_column
from netbenefit.cards.readings import Readings
from netbenefit.cards.terms import PerUnit, Term
from netbenefit.certificates.certificate_types import Statement
from netbenefit.common.checks import InputError, shorten
from netbenefit.common.decimals import find_decimals
from netbenefit.data.patterns import PatternTable

__all__ = ["expected_risks", "rebuild_table"]

#: Events, as a share of all rows, that the sums of real weights may be off by.
_ROUNDING = 1e-9


def rebuild_table(
    said: Statement,
    columns: Mapping[str, NDArray[Any]],
    event: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> PatternTable:
    """Turn raw columns into the pattern table that a certificate describes.

    Examples
    --------
    See :func:`netbenefit.certificates.verify.verify`.
    """
    readings = Readings(said.readings, [term.feature for term in said.terms])
    wanted = (name for term in said.terms for name in readings.sources(term.feature))
    absent = [name for name in wanted if name not in columns]
    if absent:
        raise InputError(f"the table has no column {shorten(list(dict.fromkeys(absent)))}.")
    decimals = {name: term.decimals for name, term in zip(said.names, said.terms, strict=True)}
    if len(decimals) < len(said.names):
        raise InputError("the certificate names a column twice.")
    if said.readings:
        return _binned(said, readings, columns, event, sample_weight)
    made = {
        name: _values(term, exact, columns[term.feature])
        for name, term, exact in zip(said.names, said.terms, said.exact, strict=True)
    }
    return PatternTable.from_columns(made, event, sample_weight=sample_weight, decimals=decimals)


def _binned(
    said: Statement,
    readings: Readings,
    columns: Mapping[str, NDArray[Any]],
    event: ArrayLike,
    sample_weight: ArrayLike | None,
) -> PatternTable:
    """Ask the conditions of raw columns, as a binner does."""
    kinds: dict[str, Kind] = {}
    for term in said.terms:
        if kinds.get(term.feature, "any") == "any":
            kinds[term.feature] = term.kind
    read = {name: readings.column(name, columns, kind) for name, kind in kinds.items()}
    codes = [term.column_codes(read[term.feature]).astype(np.int64) for term in said.terms]
    return PatternTable.from_codes(
        np.column_stack(codes),
        event,
        names=said.names,
        decimals=[term.decimals for term in said.terms],
        sample_weight=sample_weight,
    )


def _values(term: Term, exact: bool, column: NDArray[Any]) -> NDArray[Any]:
    if isinstance(term, PerUnit) and term.lower is None and term.upper is None:
        values = numeric_column(term.feature, column)  # the table itself counts in steps
        decimals, fits = find_decimals(values)
        if exact and not (fits and decimals <= term.decimals):
            raise InputError(
                f"column {term.feature!r} holds values between the steps of 1e-{term.decimals} in "
                "which it was given."
            )
        return values
    if isinstance(term, PerUnit):
        return term.codes(column) / 10.0**term.decimals
    return term.holds(column)


def expected_risks(
    table: PatternTable,
    thresholds: Sequence[float],
    scores: Sequence[int],
    cutoffs: Sequence[int],
    rated: bool,
) -> tuple[list[float | None], list[float | None]]:
    """Risks of the levels, None where no row is: event rates, and the middles of intervals.

    An event rate outside its level's interval is moved to the near end where limits on rates may be
    the reason (``rated``), or where it is no more than the rounding of real weights.

    >>> table = PatternTable.from_arrays([[0], [1], [1], [1], [1]], [0, 1, 1, 0, 1])
    >>> expected_risks(table, [0.0, 0.5], [0, 1], [1], False)
    ([0.0, 0.75], [0.25, 0.75])
    """
    level = [sum(s >= t for t in cutoffs) for s in scores]
    ends = [*thresholds[1:], 1.0]
    rates: list[float | None] = []
    middles: list[float | None] = []
    slack = Fraction(_ROUNDING) * Fraction(table.n_total)
    for i, (low, high) in enumerate(zip(thresholds, ends, strict=True)):
        here = np.flatnonzero(np.array(level) == i)
        if not here.size:
            rates.append(None)
            middles.append(None)
            continue
        events = sum(Fraction(v) for v in table.positives[here].tolist())
        mass = events + sum(Fraction(v) for v in table.negatives[here].tolist())
        rate = float(Fraction(events, mass))
        last = i == len(ends) - 1
        inside = min(max(rate, low), high if last else float(np.nextafter(high, 0.0)))
        near = rated or abs(inside - rate) * mass <= slack
        rates.append(inside if near else rate)
        middles.append((low + high) / 2)
    return rates, middles
