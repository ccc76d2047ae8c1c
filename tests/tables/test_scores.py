"""A card's expression in every engine, against the card itself."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from netbenefit import PerUnit, score_table
from netbenefit.tables.expressions import LARGEST_LOG, largest_code
from tests.export.test_python import all_truths
from tests.export.truth import Truth
from tests.helpers.engine_tables import FEW_EAGER, LAZY, in_engine, rows_of
from tests.helpers.full import FULL, more_cases

#: Three of the random cards are enough (without logarithms that have no end, which take engines
#: long to plan): every other export is tested with the same ones.
OTHERS = {f"random {k}" for k in range(99)} - {"random 1", "random 3", "random 6"}
NAMES = [name for name in sorted(all_truths()) if name not in OTHERS]
#: Long cards, and logarithms without an end, take these engines long to plan.
SLOW = {"200 rules", "extremes", "combined"}


def arrow_of(truth: Truth) -> pa.Table:
    """Rows of a truth with one type per column, and their numbers in "row id"."""
    text = set(truth.card.text_features)
    columns: dict[str, Any] = {"row id": pa.array(range(len(truth.rows)), pa.int64())}
    for name in truth.rows[0]:
        values = [row[name] for row in truth.rows]
        if name in text or any(isinstance(value, str) for value in values):
            spelt = [v if v is None or isinstance(v, str) else _spelt(v) for v in values]
            columns[name] = pa.array(spelt, pa.string())
        else:
            columns[name] = pa.array([None if v is None else float(v) for v in values])
    return pa.table(columns)


def _spelt(value: Any) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def check(engine: str, truth: Truth) -> None:
    table = in_engine(engine, arrow_of(truth))
    found = rows_of(score_table(truth.card, table, keep=["row id"]))
    by_row = {row: (score, risk) for row, score, risk in found}
    assert len(found) == len(truth.rows)
    for k, expected in enumerate(zip(truth.scores, truth.risks, strict=True)):
        if by_row[k] != expected:  # large numbers may have no score
            assert by_row[k] == (None, None), truth.rows[k]
            assert _too_large(truth, k), truth.rows[k]


def _too_large(truth: Truth, k: int) -> bool:
    """Whether a row holds a number of which no logarithm is taken, or whose points may overflow."""
    logic = truth.card._logic
    n_terms = sum(len(column.terms) for column in logic.columns)
    for column in logic.columns:
        sources = logic.readings.sources(column.name)
        values = [truth.rows[k][name] for name in sources]
        numbers = [v for v in values if isinstance(v, float | int) and v == v]
        for term, factor in column.terms:
            if isinstance(term, PerUnit) and (term.lower is None or term.upper is None):
                most = (
                    LARGEST_LOG if term.log else largest_code(factor, n_terms) / 10**term.decimals
                )
                if sum(map(abs, numbers)) > most:
                    return True
    return False


@more_cases
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("engine", [*FEW_EAGER, *LAZY])
def test_every_row_of_every_truth(engine: str, name: str) -> None:
    if engine in ("pandas nullable", "dask", "ibis") and name in SLOW and not FULL:
        pytest.skip("the other engines see it")
    check(engine, all_truths()[name])


def test_spark_agrees() -> None:
    for name in NAMES:
        check("spark", all_truths()[name])
