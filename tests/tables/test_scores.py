"""A card's expression in every engine, against the card itself."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

from netbenefit import (
    Condition,
    InputError,
    PerUnit,
    Rule,
    Scorecard,
    Thresholds,
    score_table,
)
from netbenefit.cards import INT64
from netbenefit.common import LARGEST_EXACT
from netbenefit.tables.expressions import LARGEST_LOG
from tests.export.test_python import all_truths
from tests.export.truth import Truth, truth_of
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
    share = (INT64 - 1 - logic.bounded_units) // max(1, len(logic.open_factors))
    for column in logic.columns:
        sources = logic.readings.sources(column.name)
        values = [truth.rows[k][name] for name in sources]
        numbers = [v for v in values if isinstance(v, float | int) and v == v]
        for term, factor in column.terms:
            if isinstance(term, PerUnit) and (term.lower is None or term.upper is None):
                code = min(LARGEST_EXACT, share // abs(factor))
                most = LARGEST_LOG if term.log else code / 10**term.decimals
                if sum(map(abs, numbers)) > most:
                    return True
    return False


@more_cases
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("engine", [*FEW_EAGER, *LAZY])
def test_every_row_of_every_truth(engine: str, name: str) -> None:
    if engine in ("pandas nullable", "dask", "ibis") and name in SLOW and not FULL:
        pytest.skip("the other engines see it")
    if engine == "duckdb" and duckdb.__version__ < "2" and name in ("hostile", "lines"):
        with pytest.raises(duckdb.ParserException, match="quote in qualified name"):
            check(engine, all_truths()[name])
        return
    check(engine, all_truths()[name])


@pytest.mark.parametrize("engine", ["pandas", "polars", "duckdb"])
def test_sums_near_64_bits(engine: str) -> None:
    """One rule without an end may bring all that 64 bits hold, above what the others may bring."""
    rules = [
        Rule(PerUnit("x"), 10**6),
        Rule(PerUnit("y", lower=0, upper=10**12), -(10**6)),
        Rule(Condition("y", ">=", 5), 7),
    ]
    card = Scorecard(rules, [(0, 0.1), (3, 0.4)], Thresholds.of([0.3]))
    xs = [-8.2e12, -4e12, -1e12, 0, 1, 1e12, 1.1e12, 4.6e12, 8.2e12, 9e12, 9.3e12, 1e13]
    truth = truth_of(card, [{"x": x, "y": y} for x in xs for y in (0, 6, 1e12, 2e12)])
    assert max(score or 0 for score in truth.scores) > 9e18
    found = rows_of(score_table(card, in_engine(engine, arrow_of(truth)), keep=["row id"]))
    scores = dict(row[:2] for row in found)
    for k, row in enumerate(truth.rows):
        far = abs(row["x"]) * 1e6 > INT64 - 10**18 - 8
        assert scores[k] == (None if far else truth.scores[k]), row


@pytest.mark.parametrize("points", [10**6, -(10**9)])
def test_a_card_that_may_leave_64_bits_is_refused(points: int) -> None:
    rules = [Rule(PerUnit("x", lower=0, upper=10**13), points)]
    card = Scorecard(rules, [(0, 0.1), (3, 0.4)], Thresholds.of([0.3]))
    with pytest.raises(InputError, match=r"more units than tables add up .* Clip columns at"):
        score_table(card, pa.table({"x": [1.0, 1e13]}))


def test_spark_agrees() -> None:
    for name in NAMES:
        check("spark", all_truths()[name])
