"""The levels of a card on some rows: how many there are, how many events, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.cards import HeldOut, HeldOutLevel, RiskRow, Scorecard, percent, scores_text
from netbenefit.common import Table, check_binary, check_weights, format_table
from netbenefit.metrics import count_effective_rows, wilson

#: Rows of a table that are counted one by one.
_MOST = 12


class LevelRow(NamedTuple):
    """One level of a card, evaluated on rows."""

    scores: str  #: such as "4–6"
    risk: float
    risk_text: str
    n: float  #: weight of the rows
    events: float
    rate: float | None  #: observed share of events; None without rows
    low: float | None  #: 95% interval of it
    high: float | None
    first: int | None = None  #: lowest score; None where they start at the lowest of all


def count_levels_of_card(
    card: Scorecard,
    score: ArrayLike,
    event: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    effective_rows: float | None = None,
) -> list[LevelRow]:
    """Count rows and events of each row of the card's SCORE → RISK table.

    A table of more than twelve rows is counted by levels, between the card's thresholds.  The risk
    of several scores is the mean over their rows.  ``effective_rows`` is needed where a row stands
    for many.
    """
    happened = check_binary(event)
    weight = check_weights(sample_weight, happened.size)
    # Weights of any scale: an interval needs a number of rows.
    if effective_rows is None:
        effective_rows = count_effective_rows(weight)
    effective = effective_rows / float(weight.sum())
    table = card.risk_table()
    known = np.array([row.risk for row in table])
    groups = np.arange(len(table)) if len(table) <= _MOST else card.thresholds.level_of(known)
    risk = card.risk_of_score(np.asarray(score, dtype=np.int64))
    places = np.maximum(np.searchsorted(known, risk, side="right") - 1, 0)
    rows: list[LevelRow] = []
    for group in np.unique(groups):
        own = [row for row, its in zip(table, groups, strict=True) if its == group]
        here = groups[places] == group
        mean = np.average(risk[here], weights=weight[here]) if weight[here].any() else own[0].risk
        row = RiskRow(own[0].low, own[-1].high, float(np.clip(mean, own[0].risk, own[-1].risk)))
        n, events = float(weight[here].sum()), float(weight[here & happened].sum())
        rate = events / n if n else None
        low, high = (None, None) if rate is None else wilson(rate, n * effective)
        rows.append(
            LevelRow(
                scores_text(row),
                row.risk,
                percent(row.risk, card.thresholds),
                n,
                events,
                rate,
                low,
                high,
                own[0].low if rows else None,
            )
        )
    return rows


def with_held_out(card: Scorecard, levels: Sequence[LevelRow], net_benefit: float) -> Scorecard:
    """Keep in a card what it did on rows that it was not learnt from."""
    counts = (HeldOutLevel(row.first, row.n, row.events, row.low, row.high) for row in levels)
    return replace(card, held_out=HeldOut(net_benefit, tuple(counts)))


#: Columns in print: head, name in the table, and how cells are written.
Cells = Sequence[tuple[str, str, Callable[[Any], str]]]


def table_lines(table: Table, columns: Cells, left: int = 1) -> list[str]:
    """Print some columns of a table."""
    cells = [[write(value) for value in table[name]] for _, name, write in columns]
    return format_table([head for head, _, _ in columns], list(zip(*cells, strict=True)), left)
