"""Cards and tables that stay where they are: no rows come into memory, only counts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from netbenefit.cards import Scorecard
from netbenefit.common import InputError, Remedy, Table, check_names, shorten
from netbenefit.data import (
    EngineTable,
    Groups,
    Tell,
    check_no_missing,
    is_event,
    label_in,
    read_outcome,
)
from netbenefit.estimators import (
    MAX_PATTERNS,
    RiskScoreClassifier,
    TableRequest,
    features_of,
    make_binner,
    raw_rows_of,
)
from netbenefit.metrics import ThresholdsLike, as_thresholds, aunbc
from netbenefit.tables import MergedRows, number_of_patterns, risk_of, score_of, survey_table
from netbenefit.updating.drift import ScoredRows, compare_rows
from netbenefit.updating.evaluate import CardEvaluation, evaluate_scores


def binning_choices(
    estimator: RiskScoreClassifier,
    table: Any,
    target: str,
    *,
    max_bins: Sequence[int] = (5, 4, 3, 2),
    features: Sequence[str] | None = None,
    sample_weight: str | None = None,
    sample_rows: int = 100_000,
    tell: Tell | None = None,
) -> Table:
    """Compare how finely columns can be binned: number of patterns against net benefit.

    Net benefit is that of cards on rows that they have not seen: raw rows (all distinct ones, or a
    sample of ``sample_rows``) are divided into two halves, and a card of each half is measured on
    the other.  The engine counts the patterns of the whole table.

    Parameters
    ----------
    estimator : RiskScoreClassifier
        Its settings are used, its binner (``"auto"`` if it has none) with other numbers of bins.
    table, target, features, sample_weight, tell
        As in :meth:`RiskScoreClassifier.fit_table`.
    max_bins : sequence of int
        Most bins of a column, finest first.
    sample_rows : int, default=100_000
        Most raw rows to try it on.

    Returns
    -------
    Table
        ``max_bins, conditions, patterns, aunbc, cost``: cost is what is lost of the AUNBC against
        the finest bins.

    Examples
    --------
    >>> import duckdb
    >>> rows = duckdb.sql(
    ...     "SELECT x % 70 AS age, x % 70 + x % 9 > 50 AS y FROM range(990) AS t(x)")
    >>> model = RiskScoreClassifier(solver="local", time_limit=1)
    >>> found = binning_choices(model, rows, "y", max_bins=(4, 2))
    >>> found["patterns"].tolist()
    [4, 2]
    """
    if not max_bins or any(b < 2 for b in max_bins):
        raise InputError(f"max_bins={list(max_bins)!r} must be numbers of bins, at least 2 each.")
    request = TableRequest(target, features, sample_weight, sample_rows, MAX_PATTERNS, tell)
    engine = EngineTable(table, tell)
    names = features_of(engine.names, request)
    survey = survey_table(engine, target, names, sample_weight)
    grid = as_thresholds(estimator.thresholds, estimator.weights)
    given = "auto" if estimator.binner is None else estimator.binner
    own = make_binner(given, names, grid, estimator.sign, estimator.constraints or ())
    rows, idle = raw_rows_of(engine, survey, names, request, list(own.drop or ()))
    found = []
    for most in max_bins:
        binner = clone(own).set_params(max_bins=int(most), drop=idle or own.drop)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit warns of what is left out
            binner.fit_codes(rows.table, rows.event, rows.weight)
            area = _area(clone(estimator).set_params(binner=clone(binner)), rows)
        patterns = number_of_patterns(engine, survey, binner.fitted_)
        found.append((most, len(binner.fitted_.terms), patterns, area))
    heads = ("max_bins", "conditions", "patterns", "aunbc")
    columns = dict(zip(heads, map(np.array, zip(*found, strict=True)), strict=True))
    columns["cost"] = columns["aunbc"][0] - columns["aunbc"]
    return Table(columns)


def _area(estimator: RiskScoreClassifier, rows: MergedRows) -> float:
    """AUNBC of cards on the half of the rows that they were not made from."""
    half = np.empty(rows.size, dtype=bool)
    for outcome in (~rows.event, rows.event):  # rows are sorted: every other one is a fair half
        half[outcome] = np.arange(np.count_nonzero(outcome)) % 2 == 0
    risk = np.empty(rows.size)
    for part in (half, ~half):
        here, there = np.flatnonzero(part), np.flatnonzero(~part)
        model = estimator.fit(rows.table.take(here), rows.event[here], rows.weight[here])
        card = model.scorecard_
        columns = {name: rows.table.column(name).values[there] for name in card.features}
        risk[there] = card.risk(columns)
    grid = as_thresholds(estimator.thresholds, estimator.weights)
    return float(aunbc(rows.event, risk, grid, sample_weight=rows.weight))


def score_table(
    card: Scorecard,
    table: Any,
    *,
    keep: Sequence[str] | None = None,
    score_as: str = "card_score",
    risk_as: str = "card_risk",
) -> Any:
    """Add a card's score and risk to a table, where it is.

    Parameters
    ----------
    card : Scorecard
    table : data frame, lazy frame or relation
        Of Polars, DuckDB, Dask, Spark or Ibis; or a data frame in memory.
    keep : sequence of str, optional
        Columns to keep; all by default.
    score_as, risk_as : str
        Names of the two new columns.

    Returns
    -------
    lazy frame, relation or data frame
        Of the library that the table is of; nothing is computed yet, where that library can wait.
        Score and risk are null where the card refuses a row: a value is infinite, or missing
        without a rule for that.  Numbers above 2^53 in a logarithm without an end, and sums near
        2^63 units, have none either (``docs/exports.md``).

    Examples
    --------
    >>> import duckdb
    >>> from netbenefit import Condition, Rule, Thresholds
    >>> card = Scorecard([Rule(Condition("age", ">=", 52), 2)], [(0, 0.1), (1, 0.6)],
    ...     Thresholds.of([0.5]))
    >>> patients = duckdb.sql("SELECT * FROM (VALUES (40), (60)) AS t(age)")
    >>> score_table(card, patients).fetchall()
    [(40, 0, 0.1), (60, 2, 0.6)]
    """
    engine = EngineTable(table)
    names = engine.names if keep is None else check_names(keep)
    engine.require(names)
    # Databases take names that differ in case for the same.
    new, old = {score_as.casefold(), risk_as.casefold()}, {name.casefold() for name in engine.names}
    if len(new) < 2 or new & old:
        raise InputError(
            f"the new columns {shorten([score_as, risk_as])} need names of their own, which no "
            "column of the table has, in whatever case. Choose score_as and risk_as."
        )
    kept = [engine.column(name).alias(name) for name in names]
    scored = engine.frame.select(*kept, score_of(card, engine).alias(score_as))
    result = scored.with_columns(risk_of(card, nw.col(score_as), engine).alias(risk_as))
    in_memory = isinstance(nw.from_native(table), nw.DataFrame)
    return result.collect().to_native() if in_memory else result.to_native()


def evaluate_table(
    card: Scorecard,
    table: Any,
    target: str,
    *,
    positive: Any = None,
    thresholds: ThresholdsLike = None,
    sample_weight: str | None = None,
    reference: Any = None,
    tell: Tell | None = None,
) -> CardEvaluation:
    """Evaluate a card on a table, where it is.

    One query counts the rows by score and outcome.  Measures, calibration, decision curve and the
    drift of scores follow from these counts, and are those of :func:`evaluate_card` on the same
    rows in memory.  (The drift of single columns needs the rows themselves.)

    Parameters
    ----------
    card : Scorecard
    table
        As in :func:`score_table`.
    target, sample_weight, tell
        As in :meth:`RiskScoreClassifier.fit_table`.
    positive : label, optional
        The event's label in that column; by default the one that the card predicts.
    thresholds : Thresholds, str or sequence of float, optional
        Where net benefit is measured; the card's own by default.
    reference : table, optional
        Rows to compare the scores with, such as those of training; where it has the column of the
        outcome, and of weights, these are used.

    Returns
    -------
    CardEvaluation
        Print it.

    Examples
    --------
    >>> import duckdb
    >>> from netbenefit import Condition, Rule, Thresholds
    >>> card = Scorecard([Rule(Condition("age", ">=", 52), 2)], [(0, 0.1), (1, 0.6)],
    ...     Thresholds.of([0.5]))
    >>> patients = duckdb.sql("SELECT x AS age, x >= 60 AS died FROM range(40, 80) AS t(x)")
    >>> evaluate_table(card, patients, "died").measures.auroc
    0.8
    """
    engine = EngineTable(table, tell)
    grid = card.thresholds if thresholds is None else as_thresholds(thresholds)
    if positive is None and card.provenance is not None:
        positive = label_in(card.provenance.outcome, target)
    counts, label = _counts(card, engine, target, positive, sample_weight)
    assert counts.event is not None  # there is a target
    old = None
    if reference is not None:
        other = EngineTable(reference, tell)
        weight = sample_weight if sample_weight in other.types else None
        there = target if target in other.types else None
        old, _ = _counts(card, other, there, label, weight, other_labels=True)
    found = evaluate_scores(
        card, counts.score, counts.event, counts.weight, grid, effective_rows=counts.effective_rows
    )
    return replace(found, drift=compare_rows(card, counts, old))


def _counts(
    card: Scorecard,
    engine: EngineTable,
    target: str | None,
    positive: Any,
    sample_weight: str | None,
    *,
    other_labels: bool = False,
) -> tuple[ScoredRows, Any]:
    """Count rows by score and outcome, and return the label of the event.

    With ``other_labels``, a table without that label has no events.
    """
    engine.require([] if target is None else [target])
    keys = {"nb_score": score_of(card, engine)}
    if target is not None:
        keys["nb_target"] = engine.label(target)
    weight, used = engine.weights(sample_weight)
    groups = engine.group(keys, "scoring and counting rows", weight=weight, where=used)
    if not groups.size:
        raise InputError("the table has no rows with weight. Pass at least one of each outcome.")
    refused = np.array([value is None or value != value for value in groups.keys["nb_score"]])
    if refused.any():
        raise InputError(
            f"the card refuses {int(groups.rows[refused].sum()):,} of "
            f"{int(groups.rows.sum()):,} rows: a value is infinite, of another kind, or missing "
            "without a rule for that. ",
            Remedy("score_table() gives those rows no score", "`netbenefit score` shows which"),
            "; leave them out.",
        )
    event, label = None, positive
    if target is not None:
        event, label = _events(groups, target, positive, other_labels)
    mass = groups.weight.astype(np.float64)
    effective = float(mass.sum()) ** 2 / float(groups.square.sum())
    return ScoredRows(groups.keys["nb_score"].astype(np.int64), event, mass, effective), label


def _events(
    groups: Groups, target: str, positive: Any, other_labels: bool
) -> tuple[NDArray[np.bool_], Any]:
    """Which groups are events, and the label of these."""
    values = groups.keys["nb_target"]
    check_no_missing(values.tolist(), f"column {target!r}", groups.rows)
    if other_labels:  # of rows to compare with, which may lack the event
        return np.array([is_event(value, positive) for value in values.tolist()]), positive
    outcome = read_outcome(values, target, positive)
    return outcome.event, outcome.labels.tolist()[1]
