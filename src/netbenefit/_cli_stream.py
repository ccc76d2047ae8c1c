"""Rows that stay where they are, as ``fit`` and ``evaluate`` see them: outcome, weights, split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._cli_source import check_column
from netbenefit._outcome import label_in, read_outcome
from netbenefit._source_engine import duckdb_errors, name, text
from netbenefit._source_open import kind_of
from netbenefit._validation import InputError, shorten

if TYPE_CHECKING:
    from netbenefit._cli_binner import Asked
    from netbenefit._cli_training import HeldOut, Wanted
    from netbenefit._estimator_input import Training
    from netbenefit._source_open import OpenTable
    from netbenefit._updating_evaluate import CardEvaluation
    from netbenefit.scorecard import Scorecard
    from netbenefit.thresholds import Thresholds

__all__ = ["Labels", "Stream", "evaluate_stream", "evaluate_table", "read_labels", "stream_of"]

#: Labels of an outcome to look at; more are an error in any case.
_MOST_LABELS = 1000
_SAMPLE = 2000
_MASS = "netbenefit mass"


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
        from netbenefit._cli_binner import check_monotone
        from netbenefit._cli_training import tell_guesses, wanted_binner
        from netbenefit._cli_words import option_words
        from netbenefit._estimator_input import Training, make_binner, training_of_raw
        from netbenefit._io import raw_file
        from netbenefit._source_progress import QueryBar
        from netbenefit.patterns import PatternTable

        settings = wanted.settings
        weight = "count(*)" if self.weight is None else f"sum({name(self.weight)})"
        keys = ", ".join(map(name, [*self.names, self.target]))
        with (
            duckdb_errors(self.table.source),
            QueryBar(self.table.connection, "merging rows", shown=not wanted.quiet),
        ):
            merged = self.train.aggregate(f"{keys}, ({weight})::DOUBLE AS {name(_MASS)}", keys)
            merged = merged.order(keys)  # threads finish in any order
            fetch = getattr(merged, "to_arrow_table", None) or merged.fetch_arrow_table
            file = raw_file(fetch(), self.table.source.shown)
        mass = file.columns[_MASS]
        event = file.columns[self.target].astype(bool)
        columns = {one: file.columns[one] for one in self.names}
        binner, names = wanted_binner(wanted, self.names, columns)
        if binner is None:
            return Training(PatternTable.from_columns(columns, event, sample_weight=mass), settings)
        with option_words(wanted.quiet):
            made = make_binner(
                binner, names, wanted.grid, settings["sign"], settings["constraints"]
            )
            training = training_of_raw(made, file.rows(self.names), event, mass, settings)
            check_monotone(wanted.steady, made)
            if not wanted.quiet:
                tell_guesses(made.summary())
        return training

    def measure(self, card: Scorecard, quiet: bool) -> HeldOut | None:
        """Measure a card on the rows held out, which DuckDB counts by score."""
        from netbenefit._cli_training import HeldOut

        if self.test is None:
            return None
        found = evaluate_stream(
            card, self.table, self.test, self.target, self.weight, card.thresholds, quiet
        )
        rows = self.test.count("*").fetchall()[0][0]
        return HeldOut(
            found.measures,
            f"On {rows:,} rows of {self.table.n_rows:,} that were held out (each drawn by itself "
            f"with seed {self.seed}; the card is learnt from the rest):",
        )

    def counts(self) -> str:
        """Say how many events and columns there are; the rows have been told."""
        plural = "s" * (len(self.names) != 1)
        return (
            f"{self.labels.n_events:,} rows with {self.labels.text}; {len(self.names)} "
            f"column{plural} to learn from"
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
    quiet: bool = False,
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
    quiet : bool
        Whether to show no progress.
    """
    from netbenefit._source_progress import QueryBar

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
    with (
        duckdb_errors(table.source),
        QueryBar(table.connection, "looking at the outcome", shown=not quiet),
    ):
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


def evaluate_table(
    card: Scorecard,
    table: OpenTable,
    target: str | None,
    positive: str | None,
    sample_weight: str | None,
    thresholds: Thresholds,
    quiet: bool,
) -> tuple[CardEvaluation, str]:
    """Measure a card on an open table; return also what the outcome is called."""
    from netbenefit._columns import check_present

    says = card.provenance.outcome if card.provenance else None
    if target is None:
        found = [one for one in table.columns if label_in(says, one) is not None]
        found = [one for one in found if one not in card.features]
        if len(found) != 1:
            told = "does not say what its outcome is" if says is None else f"predicts {says!r}"
            raise InputError(
                f"the card {told}, and no column is sure to be that. Name the column of the "
                f"outcome: --target COLUMN. There are {shorten(list(table.columns), 10)}."
            )
        target = found[0]
    check_column(table, target, "--target")
    check_column(table, sample_weight, "--sample-weight")
    check_present(card.features, table.columns)
    weights = [sample_weight] if sample_weight else []
    table.check_columns({*card.features, target, *weights})
    with duckdb_errors(table.source):
        label = positive if positive is not None else label_in(says, target)
        labels = read_labels(table, target, label)
        if sample_weight is not None:
            _check_weight(table, sample_weight)
        others = [one for one in (*card.features, *weights) if one != target]
        chosen = [*map(name, dict.fromkeys(others)), f"{labels.event} AS {name(target)}"]
        relation = table.relation().project(", ".join(chosen))
    measured = evaluate_stream(card, table, relation, target, sample_weight, thresholds, quiet)
    return measured, labels.text


def evaluate_stream(
    card: Scorecard,
    table: OpenTable,
    relation: Any,
    target: str,
    weight: str | None,
    thresholds: Thresholds,
    quiet: bool,
) -> CardEvaluation:
    """Measure a card on rows that DuckDB scores and counts by score and outcome.

    Parameters
    ----------
    card : Scorecard
    table : OpenTable
        Where the rows are.
    relation : duckdb.DuckDBPyRelation
        The rows, with an outcome of true and false.
    target, weight : str
        Columns of outcomes and of weights.
    thresholds : Thresholds
    quiet : bool
        Whether to show no progress.
    """
    from netbenefit._cli_score import RISK, SCORE
    from netbenefit._source_progress import QueryBar
    from netbenefit._updating_evaluate import evaluate_scores
    from netbenefit.tables import score_table

    one = "1" if weight is None else f"{name(weight)}::DOUBLE"
    keys = f"{SCORE}, {name(target)}"
    sums = f"sum({one})::DOUBLE, sum({one} * {one})::DOUBLE, count(*)"
    with (
        duckdb_errors(table.source),
        QueryBar(table.connection, "scoring and counting", shown=not quiet),
    ):
        kept = [target, *([weight] if weight else [])]
        rows = score_table(card, relation, keep=kept, score_as=SCORE, risk_as=RISK)
        found = rows.aggregate(f"{keys}, {sums}", keys).order("1, 2").fetchall()
    refused = sum(row[4] for row in found if row[0] is None)
    if refused:
        raise InputError(
            f"{table.source.shown}: the card refuses {refused:,} of {table.n_rows:,} rows: a value "
            "is infinite, of another kind, or missing without a rule for that. `netbenefit score` "
            "writes which; leave those rows out."
        )
    score, event, mass, square = (np.array([row[k] for row in found]) for k in range(4))
    return evaluate_scores(
        card,
        score.astype(np.int64),
        event.astype(np.bool_),
        mass.astype(np.float64),
        thresholds,
        worth=float(mass.sum()) ** 2 / float(square.sum()),
    )


def _check_weight(table: OpenTable, column: str) -> None:
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
