"""Outcomes and weights of a table that stays where it is, as DuckDB tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from netbenefit.common.checks import InputError
from netbenefit.data.connection import name, text
from netbenefit.data.duckdb import kind_of
from netbenefit.data.labels import read_outcome

if TYPE_CHECKING:
    from netbenefit.data.duckdb import OpenTable

__all__ = ["Labels", "check_weight", "read_labels"]

#: Labels of an outcome to look at; more are an error in any case.
_MOST_LABELS = 1000


class Labels(NamedTuple):
    """What the outcome column of a table holds."""

    event: str  #: SQL that is true for rows with the event
    text: str  #: what the event is called, such as "died = yes"
    n_events: int


def read_labels(table: OpenTable, target: str, positive: str | None) -> Labels:
    """Find the labels of an outcome, and which of them is the event."""
    quoted = name(target)
    found = table.connection.sql(
        f"SELECT {quoted}, {quoted}::VARCHAR, count(*) FROM ({table.query}) GROUP BY ALL "
        f"ORDER BY 3 DESC LIMIT {_MOST_LABELS}"
    ).fetchall()
    missing = sum(count for value, _, count in found if value is None or value != value)
    if missing:
        raise InputError(
            f"column {target!r} has {missing:,} missing outcomes. Drop those rows from the table."
        )
    column = np.empty(len(found), dtype=object)
    column[:] = [value for value, _, _ in found]
    outcome = read_outcome(target, column, positive)
    events = [row for row, event in zip(found, outcome.event.tolist(), strict=True) if event]
    listed = ", ".join(text(word) for _, word, _ in events)
    return Labels(
        f"({quoted}::VARCHAR IN ({listed}))", outcome.text, sum(count for _, _, count in events)
    )


def check_weight(table: OpenTable, column: str) -> None:
    """Refuse row weights that are no numbers, or not there."""
    relation = table.relation([column])
    kind = kind_of(str(relation.types[0]))
    remedy = "Weights are numbers, one a row: choose another column, or correct it."
    if kind != "numbers":
        raise InputError(f"--sample-weight: column {column!r} holds {kind}. {remedy}")
    cell = f"{name(column)}::DOUBLE"
    wrong = relation.aggregate(f"count(*) FILTER ({cell} IS NULL OR isnan({cell}))").fetchall()[0]
    if wrong[0]:
        raise InputError(
            f"--sample-weight: column {column!r} has {wrong[0]:,} missing values. {remedy}"
        )
