"""Rows that stay where they are, as ``fit`` and ``evaluate`` see them: outcome, weights, split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._cli_source import check_column
from netbenefit._outcome import read_outcome
from netbenefit._source_engine import duckdb_errors, name, text
from netbenefit._validation import InputError

if TYPE_CHECKING:
    from netbenefit._cli_binner import Asked
    from netbenefit._cli_training import HeldOut, Wanted
    from netbenefit._estimator_input import Training
    from netbenefit._source_open import OpenTable
    from netbenefit.scorecard import Scorecard

__all__ = ["Stream", "read_labels", "stream_of"]

#: Labels of an outcome to look at; more are an error in any case.
_MOST_LABELS = 1000
_SAMPLE = 2000


class Labels(NamedTuple):
    """What the outcome column of a table holds."""

    event: str  #: SQL that is true for rows with the event
    text: str  #: what the event is called, such as "died = yes"
    n_events: int


class Stream(NamedTuple):
    """Rows to learn from and rows held out, as lazy relations.

    The outcome is a column of true and false, called as it was.
    """

    table: OpenTable
    names: tuple[str, ...]  #: columns to learn from
    target: str
    weight: str | None
    labels: Labels
    train: Any
    test: Any = None
    seed: int = 0

    @property
    def outcome_text(self) -> str:
        """What the risk is the risk of."""
        return self.labels.text

    def training(self, wanted: Wanted) -> Training:
        """Let DuckDB count and merge the rows, and say how columns were read."""
        raise NotImplementedError

    def measure(self, card: Scorecard, quiet: bool) -> HeldOut | None:
        """Measure a card on the rows held out, which DuckDB counts by score."""
        raise NotImplementedError

    def counts(self) -> str:
        """Say how many rows and columns there are."""
        rows, events = self.table.n_rows, self.labels.n_events
        plural = "s" * (len(self.names) != 1)
        return (
            f"{rows:,} rows, {events:,} with {self.labels.text}; {len(self.names)} column{plural} "
            "to learn from"
        )

    def sample(self) -> dict[str, NDArray[Any]]:
        """Return the first rows, for what can be told from a few."""
        from netbenefit._io import raw_file

        relation = self.table.relation(self.names).limit(_SAMPLE)
        fetch = getattr(relation, "to_arrow_table", None) or relation.fetch_arrow_table
        return raw_file(fetch(), self.table.source.shown).columns


def stream_of(
    table: OpenTable,
    target: str,
    positive: str | None,
    sample_weight: str | None,
    asked: Asked,
    *,
    holdout: float | None = None,
    seed: int = 0,
) -> Stream:
    """Find outcome and weights in an open table, and set rows aside.

    Parameters
    ----------
    table : OpenTable
    target, positive, sample_weight
        What the options say.
    asked : Asked
        What the options say about columns.
    holdout : float, optional
        Share of rows to set aside.
    seed : int
        Of the draw.
    """
    check_column(table, target, "--target")
    check_column(table, sample_weight, "--sample-weight")
    dropped = asked.dropped(dict.fromkeys(table.columns, np.empty(0)))
    used = [one for one in table.columns if one not in dropped]
    names = tuple(one for one in used if one not in (target, sample_weight))
    if not names:
        raise InputError(
            f"{table.source.shown}: no feature columns are left beside {target!r}. Add some, or "
            "drop fewer."
        )
    table.check_columns({*names, target, *([sample_weight] if sample_weight else [])})
    with duckdb_errors(table.source):
        labels = read_labels(table, target, positive)
        if sample_weight is not None:
            _check_weight(table, sample_weight)
        columns = [*names, target, *([sample_weight] if sample_weight else [])]
        if holdout is None:
            train, test = table.relation(columns), None
        else:
            train, test = table.split(holdout, seed, columns)
        event = f"{labels.event} AS {name(target)}"
        others = [name(one) for one in columns if one != target]
        chosen = ", ".join([*others, event])
        train = train.project(chosen)
        test = None if test is None else test.project(chosen)
    return Stream(table, names, target, sample_weight, labels, train, test, seed)


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


def _check_weight(table: OpenTable, column: str) -> None:
    """Refuse row weights that are no numbers, or not there."""
    relation = table.relation([column])
    kind = str(relation.types[0])
    remedy = "Weights are numbers, one a row: choose another column, or correct it."
    if kind in ("VARCHAR", "BOOLEAN") or kind.startswith(("ENUM", "DATE", "TIME")):
        raise InputError(f"--sample-weight: column {column!r} holds {kind.lower()}. {remedy}")
    cell = f"{name(column)}::DOUBLE"
    wrong = relation.aggregate(f"count(*) FILTER ({cell} IS NULL OR isnan({cell}))").fetchall()[0]
    if wrong[0]:
        raise InputError(
            f"--sample-weight: column {column!r} has {wrong[0]:,} missing values. {remedy}"
        )
