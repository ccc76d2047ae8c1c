"""A card on rows that stay where they are: DuckDB scores them and counts them by score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from netbenefit._cli_source import check_column
from netbenefit._cli_stream import check_weight, read_labels
from netbenefit._outcome import label_in
from netbenefit._source_engine import duckdb_errors, name
from netbenefit._validation import InputError, shorten

if TYPE_CHECKING:
    from netbenefit._source_open import OpenTable
    from netbenefit._updating_evaluate import CardEvaluation
    from netbenefit.scorecard import Scorecard
    from netbenefit.thresholds import Thresholds

__all__ = ["evaluate_stream", "evaluate_table"]


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
            check_weight(table, sample_weight)
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
