"""How coarsely to bin a large table: what fewer bins save in patterns, and cost in net benefit."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from netbenefit.binning.binner import Binner
from netbenefit.common.checks import InputError
from netbenefit.common.table import Table
from netbenefit.data.engine import EngineTable, Tell
from netbenefit.data.raw_table import RawTable
from netbenefit.estimators.from_table import MAX_PATTERNS, Asked, features_of, raw_rows_of
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.estimators.training import make_binner
from netbenefit.metrics import net_benefit as metrics
from netbenefit.metrics.thresholds import as_thresholds
from netbenefit.tables.patterns import number_of_patterns
from netbenefit.tables.rows import MergedRows
from netbenefit.tables.survey import survey_table

__all__ = ["binning_choices"]


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

    The net benefit is that of cards on rows that they have not seen: raw rows (all distinct ones,
    or a sample of the size that is asked for) are parted into two halves, and a card of each half
    is measured on the other.  The engine counts the patterns of the whole table.

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
    asked = Asked(target, features, sample_weight, sample_rows, MAX_PATTERNS, tell)
    engine = EngineTable(table, tell)
    names = features_of(engine.names, asked)
    survey = survey_table(engine, target, names, sample_weight)
    grid = as_thresholds(estimator.thresholds, estimator.weights)
    own = estimator.binner if isinstance(estimator.binner, Binner) else Binner()
    rows, idle = raw_rows_of(engine, survey, names, asked, list(own.drop or ()))
    found: dict[str, list[float]] = {"max_bins": [], "conditions": [], "patterns": [], "aunbc": []}
    for most in max_bins:
        binner = make_binner(own, names, grid, estimator.sign, estimator.constraints or ())
        binner.set_params(max_bins=int(most), drop=idle or own.drop)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is left out is told by a fit
            binner.fit_codes(rows.table, rows.event, rows.weight)
            area = _area(clone(estimator).set_params(binner=clone(binner)), rows)
        found["max_bins"].append(most)
        found["conditions"].append(len(binner.fitted_.terms))
        found["patterns"].append(number_of_patterns(engine, survey, binner.fitted_))
        found["aunbc"].append(area)
    columns = {key: np.array(values) for key, values in found.items()}
    columns["cost"] = columns["aunbc"][0] - columns["aunbc"]
    return Table(columns)


def _area(estimator: RiskScoreClassifier, rows: MergedRows) -> float:
    """AUNBC of cards on the half of the rows that they were not made from."""
    half = np.arange(rows.size) % 2 == 0  # rows are sorted: every other one is a fair half
    risk = np.empty(rows.size)
    for part in (half, ~half):
        here, there = np.flatnonzero(part), np.flatnonzero(~part)
        model = estimator.fit(rows.table.take(here), rows.event[here], rows.weight[here])
        risk[there] = model.scorecard_.risk(_columns(rows.table, there, model.scorecard_.features))
    grid = as_thresholds(estimator.thresholds, estimator.weights)
    return float(metrics.aunbc(rows.event, risk, grid, sample_weight=rows.weight))


def _columns(table: RawTable, rows: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: table.column(name).values[rows] for name in names}
