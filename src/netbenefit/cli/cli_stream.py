"""Rows that stay where they are, as ``fit`` sees them: outcome, weights, split, patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cli.cli_labels import Labels, check_weight, read_labels
from netbenefit.cli.cli_source import check_column
from netbenefit.cli.evaluate import evaluate_stream
from netbenefit.cli.terminal import tell
from netbenefit.common.checks import InputError
from netbenefit.data.connection import duckdb_errors, name

if TYPE_CHECKING:
    from netbenefit.cards.scorecard import Scorecard
    from netbenefit.cli.cli_training import HeldOut, Prepared, Wanted
    from netbenefit.cli.columns import Asked
    from netbenefit.data.duckdb import OpenTable
    from netbenefit.estimators.from_table import MergeReport
    from netbenefit.estimators.learn import Learned

__all__ = ["Stream", "stream_of"]

_SAMPLE = 2000


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

    def training(self, wanted: Wanted) -> Prepared:
        """Let DuckDB count and merge the rows, and say how columns were read."""
        from netbenefit.cli.cli_training import Prepared, tell_guesses, wanted_binner
        from netbenefit.cli.cli_words import option_words
        from netbenefit.cli.columns import check_monotone
        from netbenefit.data.duckdb import QueryBar
        from netbenefit.estimators.from_table import (
            MAX_PATTERNS,
            SAMPLE_ROWS,
            Asked,
            finish_on_all_rows,
        )
        from netbenefit.estimators.risk_score import RiskScoreClassifier

        source, params = self.table.source, wanted.params
        with duckdb_errors(source):
            sample = self.sample()
        binner, _ = wanted_binner(wanted, self.names, sample)
        model = RiskScoreClassifier(binner=binner, **params)
        model.thresholds_ = params["thresholds"]

        with (
            option_words(wanted.quiet),
            duckdb_errors(source),
            QueryBar(self.table.connection, "counting values", shown=not wanted.quiet) as bar,
        ):
            risks = model._teacher_column()
            features = [name for name in self.names if name != risks]
            asked = Asked(
                self.target, features, self.weight, SAMPLE_ROWS, MAX_PATTERNS, bar.say, risks
            )
            found = model._table_training(self.train, asked, binner)
        if found.binner is not None:
            check_monotone(wanted.steady, found.binner)
        if not wanted.quiet:
            tell("bold", "merged", _merged(found.merging))
            if found.binner is not None:
                tell_guesses(found.binner.summary())

        def finish(learned: Learned) -> Learned:
            if not found.merging.search_sampled:
                return learned
            with (
                duckdb_errors(source),
                QueryBar(self.table.connection, "counting all rows", shown=not wanted.quiet),
            ):
                return finish_on_all_rows(learned, found, calibrate=True)

        return Prepared(model, found.training, finish, found.merging.search_sampled)

    def measure(self, card: Scorecard, quiet: bool) -> HeldOut | None:
        """Measure a card on the rows held out, which DuckDB counts by score."""
        from netbenefit.cli.cli_training import HeldOut

        if self.test is None:
            return None
        found = evaluate_stream(
            card, self.table, self.test, self.target, self.weight, card.thresholds, quiet
        )
        with duckdb_errors(self.table.source):
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
        from netbenefit.data.files import raw_file

        relation = self.table.relation(self.names).limit(_SAMPLE)
        fetch = getattr(relation, "to_arrow_table", None) or relation.fetch_arrow_table
        return raw_file(fetch(), self.table.source.shown).columns


def _merged(how: MergeReport) -> str:
    """Say what became of the rows."""
    cut = f"; columns cut on {how.binned_on:,} distinct rows" if how.binned_on else ""
    sample = " of a sample" * how.bins_sampled
    return (
        f"{how.n_rows:,} rows into {how.n_patterns:,} patterns by {how.engine} in "
        f"{how.seconds:.1f} s{cut}{sample}"
    )


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
    from netbenefit.data.duckdb import QueryBar

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
            check_weight(table, sample_weight)
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
