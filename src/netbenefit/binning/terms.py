"""From an understood column to its conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.binning.cuts import (
    CutSettings,
    Rows,
    count_events,
    find_edges,
    optbinning_edges,
    round_cuts,
    scores_for,
)
from netbenefit.binning.missing import easy_fill, fill_missing
from netbenefit.binning.roles import ClassifiedColumn, factorise, plain
from netbenefit.binning.search import count_cells
from netbenefit.binning.weights import (
    SLACK,
    first_reaching,
    has_enough_weight,
    mass_by,
    weight_of_one_row,
)
from netbenefit.cards import Column, Condition, PerUnit, Reading, Term
from netbenefit.common import FloatArray

#: Steps that a per-unit column should at least have.
_FEW_STEPS = 10
#: Share of the rows at either end whose values a per-unit column is clipped to.
_TAIL = 0.005
_COARSE = 10
#: Most cells of a column among which cuts are searched.
_FINE = 256
#: Rows of the rarer outcome for each cell, where cuts look at the outcome.
_ROWS_PER_CELL = 20


class BinnedColumn(NamedTuple):
    """A column with its conditions; without any, ``note`` says why."""

    classified: ClassifiedColumn
    terms: tuple[Term, ...]
    reading: Reading
    missing_mass: float
    own_missing: bool  #: whether missing values have a condition of their own
    note: str = ""
    own_cuts: bool = False  #: whether the cuts are the user's


def make_terms(
    classified: ClassifiedColumn,
    column: Column,
    rows: Rows,
    settings: CutSettings,
    *,
    policy: str,
    cumulative: bool,
    cuts: tuple[float, ...] | None = None,
    unit: PerUnit | None = None,
    offset: FloatArray | None = None,
    edges: NDArray[np.intp] | None = None,
) -> BinnedColumn:
    """Find the conditions of a column.

    1. Deal with missing values.
    2. Find conditions on the values that are present.
    3. Add one for missing values.
    4. Let missing values count as a number with few digits.
    """
    # 1.
    settled = fill_missing(classified, column, rows, policy, settings.min_mass)
    _, reading, mass, own = settled
    values, part, kept = settled.present(rows)
    # 2.
    note = ""
    terms: tuple[Term, ...]
    if classified.role == "per unit":
        terms = (unit or _find_unit(classified.name, values, part.weight, reading.whole),)
    elif classified.role == "binary":
        terms = (PerUnit(classified.name, binary=True),)
    elif classified.role == "levels":
        terms, reading, note = _level_terms(
            classified, values, part, settings, reading, alone=not own
        )
    else:
        near = None if offset is None else offset[kept]
        terms = _cut_terms(classified, values, part, settings, cumulative, cuts, near, edges)
        if classified.order is not None:
            reading = replace(reading, levels=classified.order)
        elif len(terms) == 1 and isinstance(terms[0], Condition) and terms[0].op == "==":
            reading = replace(reading, levels=tuple(plain(v) for v in np.unique(values)))
    # 3.
    if own:
        terms = (*terms, Condition(classified.name, "missing"))
    # 4.
    if classified.role in ("numeric", "per unit") and reading.fill is not None:
        reading = replace(reading, fill=easy_fill(reading.fill, terms, reading))
    return BinnedColumn(classified, terms, reading, mass, own, note, cuts is not None)


def count_edges_by_optbinning(
    usable: Sequence[tuple[ClassifiedColumn, Column, str]], rows: Rows, settings: CutSettings
) -> dict[str, NDArray[np.intp]]:
    """Let optbinning find the edges of all numeric columns at once: it starts slowly."""
    tables = []
    for classified, column, policy in usable:
        settled = fill_missing(classified, column, rows, policy, settings.min_mass)
        values, part, _ = settled.present(rows)
        tables.append(count_events(count_cells(_ranks(classified, values), part.weight), *part))
    share = settings.min_mass / float(rows.weight.sum())
    found = optbinning_edges(tables, settings.max_bins, share)
    return {classified.name: edges for (classified, _, _), edges in zip(usable, found, strict=True)}


# -- numbers ---------------------------------------------------------------------------------------


def _cut_terms(
    classified: ClassifiedColumn,
    values: NDArray[Any],
    rows: Rows,
    settings: CutSettings,
    cumulative: bool,
    given: tuple[float, ...] | None,
    offset: FloatArray | None,
    edges: NDArray[np.intp] | None,
) -> tuple[Term, ...]:
    name, order = classified.name, classified.order
    values = _ranks(classified, values)
    if given is not None:
        # Among whole numbers 39.5 and 40 are one cut, and the card prints the second.
        whole = classified.reading.whole
        cuts = list(dict.fromkeys(plain(np.ceil(cut) if whole else cut) for cut in given))
    else:
        distinct = np.unique(values)
        if distinct.size == 2 and order is None:
            return (Condition(name, "==", plain(distinct[1])),)
        cuts = [plain(cut) for cut in _find_cuts(values, rows, settings, offset, edges)]
    if order is not None:
        tops = [order[int(np.ceil(float(cut))) :] for cut in cuts]
        return tuple(
            Condition(name, "==", top[0]) if len(top) == 1 else Condition(name, "in", top)
            for top in tops
        )
    if cumulative or len(cuts) < 2:
        return tuple(Condition(name, ">=", cut) for cut in cuts)
    return (
        Condition(name, "<", cuts[0]),
        *(Condition(name, "between", pair) for pair in pairwise(cuts)),
        Condition(name, ">=", cuts[-1]),
    )


def _ranks(classified: ClassifiedColumn, values: NDArray[Any]) -> NDArray[Any]:
    """Ordered levels as numbers; numbers as they are."""
    if classified.order is None:
        return values
    rank = {level: k for k, level in enumerate(classified.order)}
    return np.fromiter((rank[v] for v in values.tolist()), np.float64, len(values))


def _find_cuts(
    values: FloatArray,
    rows: Rows,
    settings: CutSettings,
    offset: FloatArray | None,
    edges: NDArray[np.intp] | None,
) -> FloatArray:
    cells = count_cells(values, rows.weight)
    if edges is None:
        # Few cells to search among, all of them to find round numbers near what was found.
        coarse = count_cells(values, rows.weight, _most_cells(rows, settings))
        found = find_edges(coarse, rows, settings, offset)
        edges = np.unique(np.searchsorted(cells.starts, coarse.starts[found]))
        edges = edges[(edges > 0) & (edges < cells.size)]
    if not settings.round_cuts:
        return cells.starts[edges]
    scores = scores_for(cells, rows, settings, offset)
    supervised = settings.method != "quantile"
    return round_cuts(cells, edges, scores, min_mass=settings.min_mass, supervised=supervised)


def _most_cells(rows: Rows, settings: CutSettings) -> int:
    """How finely a column is looked at: with few events, exact places are noise."""
    if settings.method != "net_benefit":
        return _FINE
    events = float(rows.weight @ rows.event)
    rarer = min(events, float(rows.weight.sum()) - events) / weight_of_one_row(rows.weight)
    return int(min(max((1.0 + SLACK) * rarer / _ROWS_PER_CELL, settings.max_bins), _FINE))


def _find_unit(name: str, values: FloatArray, weight: FloatArray, whole: bool) -> PerUnit:
    """Points per unit, in steps that a person can read off, clipped to the usual range."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weight[order])
    low, high = (float(values[order][first_reaching(mass, end)]) for end in (_TAIL, 1 - _TAIL))
    if not low < high:
        low, high = float(values.min()), float(values.max())
    if not low < high:
        return PerUnit(name)
    decimals = 0
    while not whole and decimals < 6 and (high - low) * 10**decimals < _FEW_STEPS:
        decimals += 1
    step = 10.0**-decimals
    low, high = (float(np.floor(end / step + 0.5) * step) for end in (low, high))
    return PerUnit(name, decimals, round(low, decimals), round(max(high, low + step), decimals))


def _level_terms(
    classified: ClassifiedColumn,
    values: NDArray[Any],
    rows: Rows,
    settings: CutSettings,
    reading: Reading,
    alone: bool,
) -> tuple[tuple[Term, ...], Reading, str]:
    """One condition per frequent level, one for all others; of two that exclude each other, one."""
    codes, levels = factorise(values)
    mass = mass_by(codes, rows.weight, len(levels))
    events = mass_by(codes, rows.weight * rows.event, len(levels))
    by_mass = sorted(range(len(levels)), key=lambda k: (-mass[k], str(levels[k])))
    frequent = [
        k for k in by_mass[: settings.max_levels] if has_enough_weight(mass[k], settings.min_mass)
    ]
    rare = [k for k in by_mass if k not in set(frequent)]
    known = tuple(levels)
    if not frequent:
        note = f"{len(levels):,} levels, none with at least {settings.min_mass:g} rows"
        return (), replace(reading, levels=known[:1]), note
    terms: list[Condition] = [Condition(classified.name, "==", levels[k]) for k in frequent]
    risk = [events[k] / mass[k] for k in frequent]
    note = ""
    rest = float(mass[rare].sum())
    if has_enough_weight(rest, settings.min_mass) and rare:
        terms.append(Condition(classified.name, "not in", tuple(levels[k] for k in frequent)))
        risk.append(float(events[rare].sum()) / rest)
        note = f"{len(rare):,} rare level{'s' * (len(rare) != 1)} merged"
        known = ()  # every other level has its rule
    if len(terms) == 1:
        return (), replace(reading, levels=known), note or "one level only"
    if alone and len(terms) == 2:
        # Each is the other's negation: keep the one with the higher risk, whose points add.
        terms = [terms[int(risk[1] > risk[0] * (1.0 + SLACK))]]
    return tuple(terms), replace(reading, levels=known), note


def coarse_codes(column: Column, weight: FloatArray) -> tuple[NDArray[np.int16], int, bool]:
    """Return small codes of a column, how many, and whether the last of them means missing."""
    here = np.ones(len(column.values), np.bool_) if column.missing is None else ~column.missing
    codes = np.zeros(len(here), dtype=np.int16)
    values = column.values[here]
    if values.dtype.kind in "biuf":
        cells = count_cells(values.astype(np.float64), weight[here], _COARSE)
        inner, count = cells.cell_of_row, len(cells.starts)
    else:
        factors, levels = factorise(values)
        mass = mass_by(factors, weight[here], len(levels))
        rank = np.empty(len(levels), dtype=np.int32)
        rank[np.argsort(-mass, kind="stable")] = np.arange(len(levels))
        inner = np.minimum(rank[factors], 2 * _COARSE - 1)
        count = min(len(levels), 2 * _COARSE)
    codes[here] = inner
    if column.missing is not None:
        codes[~here] = count
        count += 1
    return codes, count, column.missing is not None
