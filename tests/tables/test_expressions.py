"""States of columns, as expressions."""

from __future__ import annotations

import narwhals as nw
import polars as pl
import pytest

from netbenefit import Condition, PerUnit
from netbenefit.cards.terms import Edge
from netbenefit.tables.expressions import (
    choose,
    states_of_flags,
    states_of_numbers,
    states_of_text,
)


@pytest.mark.parametrize(("null_at", "null"), [(0, "low"), (1, "two"), (2, "high")])
def test_a_value_is_chosen_by_the_edges_that_it_has_reached(null_at: int, null: str) -> None:
    frame = nw.from_native(pl.DataFrame({"x": [1.0, 2.0, 3.0, None]}))
    words = [nw.lit(text) for text in ("low", "two", "high")]
    picked = choose(nw.col("x"), [Edge(2.0), Edge(2.0, above=True)], words, null_at)
    assert frame.select(picked.alias("x"))["x"].to_list() == ["low", "two", "high", null]


def test_states_are_what_the_terms_tell_apart_and_missing() -> None:
    x = nw.col("x")
    ages = [Condition("x", ">=", 40), Condition("x", "==", 60)]
    numbers = states_of_numbers(x, [x.is_null()], ages)
    assert numbers.codes == [(0, 0), (1, 0), (1, 1), (1, 0), (0, 0)]
    stages = [Condition("x", "in", ("III", "IV")), Condition("x", "==", "IV")]
    assert states_of_text(x, x.is_null(), stages).codes == [(1, 0), (1, 1), (0, 0), (0, 0)]
    assert states_of_flags(x, [PerUnit("x", binary=True)]).codes == [(0,), (1,), (0,)]
    assert states_of_numbers(x, [x.is_null()], ages, fill=50).codes[-1] == (1, 0)
