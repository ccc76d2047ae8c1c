"""A card on rows that stay where they are: DuckDB scores them and counts them by score."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from netbenefit.cli.cli_labels import check_weight, read_labels
from netbenefit.cli.cli_source import check_column, open_table
from netbenefit.cli.terminal import tell
from netbenefit.common.checks import InputError, shorten
from netbenefit.data.connection import duckdb_errors, name
from netbenefit.data.labels import label_in

if TYPE_CHECKING:
    from pathlib import Path

    from netbenefit.cards.scorecard import Scorecard
    from netbenefit.data.duckdb import OpenTable
    from netbenefit.metrics.thresholds import Thresholds
    from netbenefit.updating.evaluate import CardEvaluation

__all__ = ["evaluate_open", "evaluate_stream"]


def evaluate_open(
    card: Scorecard,
    table: OpenTable,
    target: str | None,
    positive: str | None,
    sample_weight: str | None,
    *,
    thresholds: Thresholds,
    reference: Path | None = None,
    quiet: bool = False,
) -> tuple[CardEvaluation, str]:
    """Measure a card on an open table; return also what the outcome is called.

    Parameters
    ----------
    card : Scorecard
    table : OpenTable
    target, positive, sample_weight
        What the options say.
    thresholds : Thresholds
    reference : Path, optional
        A table to compare the scores with.
    quiet : bool
        Whether to show no progress.
    """
    says = card.provenance.outcome if card.provenance else None
    target = _target(card, table, says) if target is None else target
    check_column(table, target, "--target")
    check_column(table, sample_weight, "--sample-weight")
    label = positive if positive is not None else label_in(says, target)
    with ExitStack() as stack:
        rows, called = _rows(card, table, target, label, sample_weight)
        compared = None
        if reference is not None:
            from netbenefit.data.sources import find_source

            other = stack.enter_context(
                open_table(find_source([str(reference)]), card.text_features, quiet=quiet)
            )
            compared = _reference(card, other, target, label, sample_weight)
        found = evaluate_stream(
            card, table, rows, target, sample_weight, thresholds, quiet, reference=compared
        )
    return found, called


def evaluate_stream(
    card: Scorecard,
    table: OpenTable,
    relation: Any,
    target: str,
    weight: str | None,
    thresholds: Thresholds,
    quiet: bool,
    *,
    reference: Any = None,
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
    reference : duckdb.DuckDBPyRelation, optional
        Other rows.
    """
    from netbenefit.cli.cli_words import option_words
    from netbenefit.data.duckdb import QueryBar
    from netbenefit.updating.in_tables import evaluate_table

    with (
        option_words(quiet),
        duckdb_errors(table.source),
        QueryBar(table.connection, "scoring and counting rows", shown=not quiet) as bar,
    ):
        return evaluate_table(
            card,
            relation,
            target,
            thresholds=thresholds,
            sample_weight=weight,
            reference=reference,
            tell=bar.say,
        )


def _target(card: Scorecard, table: OpenTable, says: str | None) -> str:
    """Find the column that a card calls its outcome."""
    found = [one for one in table.columns if label_in(says, one) is not None]
    found = [one for one in found if one not in card.features]
    if len(found) != 1:
        told = "does not say what its outcome is" if says is None else f"predicts {says!r}"
        raise InputError(
            f"the card {told}, and no column is sure to be that. Name the column of the outcome: "
            f"--target COLUMN. There are {shorten(list(table.columns), 10)}."
        )
    return found[0]


def _rows(
    card: Scorecard, table: OpenTable, target: str, label: str | None, weight: str | None
) -> tuple[Any, str]:
    """Return what is needed of a table, its outcome as true and false; and what that is called."""
    from netbenefit.cards.columns import check_present

    weights = [weight] if weight else []
    check_present(card.features, table.columns)
    table.check_columns({*card.features, target, *weights})
    with duckdb_errors(table.source):
        labels = read_labels(table, target, label)
        if weight is not None:
            check_weight(table, weight)
        others = [one for one in (*card.features, *weights) if one != target]
        chosen = [*map(name, dict.fromkeys(others)), f"{labels.event} AS {name(target)}"]
        return table.relation().project(", ".join(chosen)), labels.text


def _reference(
    card: Scorecard, table: OpenTable, target: str, label: str | None, weight: str | None
) -> Any:
    """Return rows to compare with; their outcomes and weights where the table has them."""
    weight = weight if weight in table.columns else None
    try:
        check_column(table, target, "--target")
        return _rows(card, table, target, label, weight)[0]
    except InputError:
        tell(
            "yellow",
            "note",
            f"{table.source.shown} has no outcome that can be read: prevalence left out.",
        )
    return table.relation(list(dict.fromkeys([*card.features, *([weight] if weight else [])])))
