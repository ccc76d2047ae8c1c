"""Cards and tables that stay where they are: Polars, DuckDB, Dask, Spark, Ibis.

Nothing here brings rows into memory.  Scores are expressions that the engine computes when the
result is read or written; measures come from one query that counts rows by score and outcome.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw

from netbenefit._engine import EngineTable
from netbenefit._engine_score import risk_of, score_of
from netbenefit._validation import InputError, check_names, shorten
from netbenefit.scorecard import Scorecard

__all__ = ["score_table"]


def score_table(
    card: Scorecard,
    table: Any,
    *,
    keep: Any = None,
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
        without a rule for that.

    Examples
    --------
    >>> import duckdb
    >>> from netbenefit.conditions import Condition
    >>> from netbenefit.scorecard import Rule
    >>> from netbenefit.thresholds import Thresholds
    >>> card = Scorecard([Rule(Condition("age", ">=", 52), 2)], [1], [0.1, 0.6],
    ...     Thresholds.of([0.5]))
    >>> patients = duckdb.sql("SELECT * FROM (VALUES (40), (60)) AS t(age)")
    >>> score_table(card, patients).fetchall()
    [(40, 0, 0.1), (60, 2, 0.6)]
    """
    engine = EngineTable(table)
    names = engine.names if keep is None else check_names(keep)
    engine.require(names)
    clash = [name for name in (score_as, risk_as) if name in names]
    if clash or score_as == risk_as:
        raise InputError(
            f"the new columns {shorten([score_as, risk_as])} need names of their own, which no "
            "column of the table has. Choose score_as and risk_as."
        )
    kept = [engine.column(name).alias(name) for name in names]
    scored = engine.frame.select(*kept, score_of(card, engine).alias(score_as))
    result = scored.with_columns(risk_of(card, nw.col(score_as)).alias(risk_as))
    in_memory = isinstance(nw.from_native(table), nw.DataFrame)
    return result.collect().to_native() if in_memory else result.to_native()
