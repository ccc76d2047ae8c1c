"""Learning conditions from a raw table."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit.binning.cuts import CutSettings, Rows, outside_logits
from netbenefit.binning.fitted import FittedBins, dtype_of
from netbenefit.binning.missing import fill, fill_source
from netbenefit.binning.roles import (
    DROP,
    ClassifiedColumn,
    ColumnOptions,
    Role,
    SkippedColumn,
    classify_column,
)
from netbenefit.binning.terms import (
    BinnedColumn,
    coarse_codes,
    count_edges_by_optbinning,
    make_terms,
)
from netbenefit.binning.weights import drop_last_bits
from netbenefit.cards import Column, Kind, Reading, Term
from netbenefit.common import (
    FloatArray,
    InputError,
    InputWarning,
    Remedy,
    drop_it,
    raise_all,
    shorten,
)
from netbenefit.data import RawTable

_Coarse = tuple[NDArray[np.int16], int, bool]
#: Levels from which a warning says that most of them were merged.
_MANY_LEVELS = 100


# -- learning --------------------------------------------------------------------------------------


def learn_bins(
    table: RawTable,
    options: ColumnOptions,
    settings: CutSettings,
    event: NDArray[np.bool_] | None,
    weight: FloatArray,
) -> tuple[FittedBins, NDArray[Any]]:
    """Learn conditions; return them with their codes of the training rows.

    1. Classify each column.
    2. Keep the strongest where there are too many.
    3. Predict each row from the other columns.
    4. Cut each column.
    5. Leave out conditions that are constant or repeat another.

    Neither the order of the rows matters, nor whether equal rows are merged. A row without weight
    is read as if it were the last before it that has some, so that row numbers in errors stay
    right.
    """
    if not weight.all():
        own = np.where(weight > 0, np.arange(len(table)), np.argmax(weight > 0))
        table = table.take(np.maximum.accumulate(own))
    known = np.zeros(len(table), np.bool_) if event is None else event
    rows = Rows(known, weight)
    # 1.
    usable, sources, skipped = classify_columns(table, options, rows)

    def read(classified: ClassifiedColumn) -> Column:
        return classified.read(table, sources.get(classified.name, ()))

    # 2.
    codes = {}
    for classified in list(usable):
        column = read(classified)
        if column.missing is not None and not weight[~column.missing].any():
            skipped.append(
                SkippedColumn(classified.name, "every value is missing", ("fill it in, or ", DROP))
            )
            usable.remove(classified)
            continue
        codes[classified.name] = coarse_codes(column, weight)
    if len(usable) > settings.max_columns:
        usable, weak = _strongest(usable, codes, event, weight, settings.max_columns)
        skipped += weak
    # 3.
    context = settings.method == "net_benefit" and any(_is_cut(d, options) for d in usable)
    offsets = _offsets(usable, codes, rows) if context else {}
    del codes
    # 4.
    edges: dict[str, NDArray[np.intp]] = {}
    if settings.method == "optbinning":
        cut = [
            (classified, read(classified), options.missing[classified.name])
            for classified in usable
            if _is_cut(classified, options)
        ]
        edges = count_edges_by_optbinning(cut, rows, settings) if cut else {}
    binned = []
    for classified in usable:
        made = make_terms(
            classified,
            read(classified),
            _own_rows(table, classified.name, rows),
            settings,
            policy=options.missing[classified.name],
            cumulative=classified.name in options.cumulative,
            cuts=options.cuts.get(classified.name),
            unit=options.per_unit.get(classified.name),
            offset=next(offsets[classified.name]) if classified.name in offsets else None,
            edges=edges.get(classified.name),
        )
        binned.append(made)
    # 5.
    return _finish(table, binned, read, sources, skipped, weight)


def _own_rows(table: RawTable, name: str, rows: Rows) -> Rows:
    """The rows with a column's own weights, where it has some."""
    own = table.column(name).weight if name in table else None
    return rows if own is None else Rows(rows.event, own)


def classify_columns(
    table: RawTable, options: ColumnOptions, rows: Rows
) -> tuple[list[ClassifiedColumn], dict[str, tuple[Reading, ...]], list[SkippedColumn]]:
    """Return usable columns, the readings of combined columns' sources, and the other columns."""
    used = {source for _, names in options.combine.values() for source in names}
    usable, skipped, refused = [], [], []
    sources: dict[str, tuple[Reading, ...]] = {}
    for name in table.names:
        if name in options.drop or name in used:
            continue
        try:
            found = classify_column(table, name, options, rows.weight)
        except InputError as error:
            refused.append(error)
            continue
        if isinstance(found, SkippedColumn):
            skipped.append(found)
        else:
            usable.append(found)
    raise_all(refused)
    for name, (how, names) in options.combine.items():
        own = tuple(_source_reading(table, source, options, rows) for source in names)
        classified = ClassifiedColumn(
            name, "numeric", "number", Reading(feature=name, sources=names, combine=how)
        )
        column = classified.read(table, own)
        values = column.values if column.missing is None else column.values[~column.missing]
        whole = bool((values == np.floor(values)).all())
        role: Role = "per unit" if name in options.per_unit else "numeric"
        reading = replace(classified.reading, whole=whole, special=options.special.get(name, ()))
        sources[name] = own
        usable.append(
            classified._replace(role=role, reading=reading, guess=f"{how} of {len(names)} columns")
        )
    return usable, sources, skipped


def _source_reading(table: RawTable, name: str, options: ColumnOptions, rows: Rows) -> Reading:
    numeric = options._replace(numeric=options.numeric | {name})
    found = classify_column(table, name, numeric, rows.weight)
    if isinstance(found, SkippedColumn) or found.kind != "number":
        reason = (
            found.reason if isinstance(found, SkippedColumn) else "it holds levels, not numbers"
        )
        raise InputError(f"column {name!r} cannot be combined: {reason}.")
    return fill_source(found, found.read(table), rows, options.missing[name])


def _is_cut(classified: ClassifiedColumn, options: ColumnOptions) -> bool:
    return classified.role in ("numeric", "ordered") and classified.name not in options.cuts


def _offsets(
    usable: Sequence[ClassifiedColumn], codes: Mapping[str, _Coarse], rows: Rows
) -> dict[str, Iterator[FloatArray]]:
    """Logits of each row by the other columns: one iterator, passed from column to column."""
    if len(usable) < 2:
        return {}
    logits = outside_logits(
        [codes[classified.name][0] for classified in usable],
        [codes[classified.name][1] for classified in usable],
        rows.event,
        rows.weight,
    )
    return {classified.name: logits for classified in usable}


def _strongest(
    usable: Sequence[ClassifiedColumn],
    codes: Mapping[str, _Coarse],
    event: NDArray[np.bool_] | None,
    weight: FloatArray,
    most: int,
) -> tuple[list[ClassifiedColumn], list[SkippedColumn]]:
    """Keep the columns whose coarse bins say most about the outcome."""
    if event is None:
        raise InputError(
            f"{len(usable):,} columns, more than max_columns={most:,}. Choose columns first, raise "
            "max_columns, or pass y so that the strongest can be kept."
        )
    information = [_information(*codes[column.name][:2], event, weight) for column in usable]
    strongest = np.argsort(-drop_last_bits(np.array(information)), kind="stable")[:most]
    kept = {usable[k].name for k in strongest}
    weak = [
        SkippedColumn(
            classified.name,
            f"there are {len(usable):,} columns; only the {most:,} most informative ones are kept",
            (
                "choose columns yourself, or raise ",
                Remedy("max_columns", '"max_columns" in a --binner FILE.json'),
            ),
        )
        for classified in usable
        if classified.name not in kept
    ]
    return [classified for classified in usable if classified.name in kept], weak


def _information(
    codes: NDArray[np.int16], number: int, event: NDArray[np.bool_], weight: FloatArray
) -> float:
    """Pearson's chi-square of codes and outcome, less what chance brings."""
    mass = np.bincount(codes, weight, number)
    events = np.bincount(codes, weight * event, number)
    rate = float(events.sum() / mass.sum())
    there = mass > 0
    spread = max(rate * (1 - rate), 1e-12)
    chi = float(((events[there] - rate * mass[there]) ** 2 / (mass[there] * spread)).sum())
    return chi - float(there.sum() - 1)


# -- what is left ----------------------------------------------------------------------------------


def _finish(
    table: RawTable,
    binned: Sequence[BinnedColumn],
    read: Callable[[ClassifiedColumn], Column],
    sources: Mapping[str, tuple[Reading, ...]],
    skipped: Sequence[SkippedColumn],
    weight: FloatArray,
) -> tuple[FittedBins, NDArray[Any]]:
    kept = weight > 0
    seen: dict[bytes, str] = {}
    terms: list[Term] = []
    parts: list[NDArray[Any]] = []
    rows: list[dict[str, Any]] = []
    readings: list[Reading] = []
    kinds: dict[str, Kind] = {}
    own_missing = []
    dtype = dtype_of([term for made in binned for term in made.terms])
    for made in binned:
        name = made.classified.name
        column = read(made.classified)
        if not made.own_missing:
            column = fill(column, made.reading.fill)
        new, note = [], made.note
        for term in made.terms:
            codes = np.asarray(term.column_codes(column), dtype=dtype)
            inside = codes if kept.all() else codes[kept]
            if inside.size == 0 or (inside == inside[0]).all():
                continue
            digest = hashlib.blake2b(np.ascontiguousarray(inside).tobytes()).digest()
            if digest in seen:
                note = note or f"“{term.text()}” is the same as “{seen[digest]}”"
                continue
            seen[digest] = term.text()
            new.append(term)
            parts.append(codes)
        terms += new
        rows.append(_row(made, new, note))
        if new:
            readings += [*sources.get(name, ()), made.reading]
            kinds[name] = made.classified.kind
            if made.own_missing:
                own_missing.append(name)
    rows += [
        {"column": out.name, "taken for": "left out", "conditions": out.reason, "missing": 0}
        for out in skipped
    ]
    if not terms:
        raise InputError(
            "no column could be turned into a condition: "
            + "; ".join(f"{row['column']!r}: {row['conditions']}" for row in rows[:5])
            + (f"; and {len(rows) - 5} more" if len(rows) > 5 else "")
            + ". Pass more rows, or columns that vary."
        )
    fitted = FittedBins(
        columns=table.names,
        terms=tuple(terms),
        names=_unique([term.text() for term in terms]),
        readings=tuple({reading.feature: reading for reading in readings}.values()),
        kinds=kinds,
        own_missing=tuple(own_missing),
        rows=tuple(rows),
        notices=(*_notices(skipped, binned), *_idle_cuts(binned, terms)),
    )
    matrix = np.empty((len(table), len(parts)), dtype=dtype, order="F")
    for k, part in enumerate(parts):
        matrix[:, k] = part
    return fitted, matrix


def _row(made: BinnedColumn, terms: Sequence[Term], note: str) -> dict[str, Any]:
    name = made.classified.name
    # "Missing" comes first: tables cut long cells, and this is what people look for.
    listed = sorted(terms, key=lambda term: term.kind != "any")
    words = ", ".join(term.text().removeprefix(f"{name} ") for term in listed)
    if not terms:
        words = f"none: {note or 'nothing in it tells rows apart'}"
    elif note:
        words += f" ({note})"
    share = made.missing_mass
    return {
        "column": name,
        "taken for": made.classified.guess,
        "conditions": words,
        "missing": int(share) if float(share).is_integer() else share,
    }


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """Number names that occur twice: columns may be called like conditions on others."""
    taken: set[str] = set()
    result = []
    for name in names:
        tries = (name if k == 1 else f"{name} ({k})" for k in count(1))
        result.append(next(text for text in tries if text not in taken))
        taken.add(result[-1])
    return tuple(result)


def _notices(
    skipped: Sequence[SkippedColumn], binned: Sequence[BinnedColumn]
) -> Iterator[InputWarning]:
    """What the user should know about columns."""
    by_reason: dict[str, list[SkippedColumn]] = defaultdict(list)
    for out in skipped:
        by_reason[out.reason].append(out)
    for reason, outs in by_reason.items():
        names = [out.name for out in outs]
        drop = drop_it(names[0]) if len(names) == 1 else DROP
        remedy = [drop if part is DROP else part for part in outs[0].remedy]
        plural = "s" * (len(names) > 1)
        yield InputWarning(
            f"column{plural} {shorten(names)} left out: {reason}. To do: ", *remedy, "."
        )
    for made in binned:
        column = made.classified
        if column.role == "levels" and not made.terms:
            yield InputWarning(
                f"column {column.name!r} left out: {made.note or 'one level only'}. To do: merge "
                "its levels yourself, or ",
                drop_it(column.name),
                ".",
            )
        elif column.n_levels > _MANY_LEVELS:
            yield InputWarning(
                f"column {column.name!r} has {column.guess}: {made.note}. To do: merge them by "
                "meaning, or ",
                drop_it(column.name),
                ".",
            )


def _idle_cuts(binned: Sequence[BinnedColumn], kept: Sequence[Term]) -> Iterator[InputWarning]:
    """Warn of the user's own cut points that split no rows, or split them as others do."""
    terms = set(kept)
    for made in binned:
        idle = [term.text() for term in made.terms if made.own_cuts and term not in terms]
        if idle:
            yield InputWarning(
                f"column {made.classified.name!r}: {shorten(idle)} left out, which splits no rows, "
                "or splits them as another condition does. To do: choose other cut points."
            )
