"""A first look at a table: how many rows, which outcomes, where each column begins and ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import Frame
from netbenefit.common import InputError
from netbenefit.data import EngineTable, Outcome, check_no_missing, flag, read_outcome

_TARGET, _MISSING, _COUNT = "nb_target", "nb_missing", "nb_count"


class ColumnEnds(NamedTuple):
    """Smallest and largest number of a column (NaN for text), and how many rows have a value."""

    low: float
    high: float
    present: int


class Survey(NamedTuple):
    """What is known after one look at all rows."""

    n_rows: int  #: that count: those with weight
    labels: NDArray[Any]  #: the two outcomes; the second is the event
    outcome: str  #: what the event is called, such as "died = yes"
    event: nw.Expr  #: whether a row is an event
    counts: tuple[int, int]  #: rows without and with the event
    ends: dict[str, ColumnEnds]
    weight: nw.Expr | None  #: of a row; None where every row counts once
    used: nw.Expr | None  #: whether it has any


def survey_table(
    table: EngineTable,
    target: str,
    names: Sequence[str],
    sample_weight: str | None,
    positive: Any = None,
) -> Survey:
    """Look at all rows once; refuse missing outcomes, and infinite numbers or weights."""
    weight, used = table.weights(sample_weight)
    missing = flag(table.column(target).is_null())
    looked = [table.label(target).alias(_TARGET), missing.alias(_MISSING)]
    sums = [nw.len().alias(_COUNT), nw.col(_MISSING).sum()]
    for k, name in enumerate(names):
        kind, key = table.types[name], f"nb_{k}"
        if kind in ("number", "boolean"):
            looked.append(table.number(name).alias(key))
            sums += [nw.col(key).min().alias(f"{key}_low"), nw.col(key).max().alias(f"{key}_high")]
        else:
            here = nw.when(~table.column(name).is_null()).then(nw.lit(1, nw.Int64))
            looked.append(here.alias(key))
        sums.append(nw.col(key).count().alias(f"{key}_count"))
    frame = table.frame if used is None else table.frame.filter(used)
    found = table.collect(frame.select(*looked).group_by(_TARGET).agg(*sums), "looking at all rows")
    counts = found.column(_COUNT).astype(np.int64)
    if not counts.size:
        raise InputError("the table has 0 rows with weight. Pass at least one of each outcome.")
    outcome, event = _outcome(table, target, found, counts, positive)
    happened = outcome.event
    return Survey(
        n_rows=int(counts.sum()),
        labels=outcome.labels,
        outcome=outcome.text,
        event=event,
        counts=(int(counts[~happened].sum()), int(counts[happened].sum())),
        ends={name: _ends(found, name, f"nb_{k}") for k, name in enumerate(names)},
        weight=weight,
        used=used,
    )


def _outcome(
    table: EngineTable, target: str, found: Frame, counts: NDArray[Any], positive: Any
) -> tuple[Outcome, nw.Expr]:
    """Which of the groups found are events, and which rows."""
    values = found.column(_TARGET).tolist()
    # (NaN is a label to some engines; and to Dask null is another value.)
    null = sum(map(int, found.column(_MISSING).tolist()))
    check_no_missing(values, f"column {target!r}", counts, null)
    outcome = read_outcome(np.array(values), target, positive)
    column = table.label(target)
    events = [value for value, event in zip(values, outcome.event, strict=True) if event]
    if len(events) == 1 and isinstance(events[0], bool | np.bool_):
        return outcome, column if events[0] else ~column
    return outcome, column == events[0] if len(events) == 1 else column.is_in(events)


def _ends(found: Frame, name: str, key: str) -> ColumnEnds:
    present = int(sum(int(n) for n in found.column(f"{key}_count").tolist()))
    if f"{key}_low" not in found.names:
        return ColumnEnds(math.nan, math.nan, present)
    lows, highs = (found.column(f"{key}_{end}").astype(np.float64) for end in ("low", "high"))
    if np.isnan(lows).all():
        return ColumnEnds(math.nan, math.nan, present)
    low, high = float(np.nanmin(lows)), float(np.nanmax(highs))
    if math.isinf(low) or math.isinf(high):
        raise InputError(
            f"column {name!r} holds infinite numbers. Give finite ones, or mark them as missing."
        )
    return ColumnEnds(low, high, present)
