"""Files that would fill the memory of the judge: what it takes is bounded before it is taken."""

from __future__ import annotations

import base64
import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netbenefit.cards import Condition, Provenance, Term
from netbenefit.certificates.certificate import Certificate, make_certificate
from netbenefit.certificates.judge import verify
from netbenefit.certificates.recount import RecountedProblem
from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.training import assemble_card
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import Implies
from netbenefit.problem.problem import Problem, Reason
from netbenefit.solvers.local_search import LocalSearch
from tests.certificates.test_forgeries import signed
from tests.helpers.full import slow

pytestmark = slow

#: No file below takes more.
MOST = 2**27


def taken(action: Callable[[], object]) -> int:
    """Most bytes that are held at a time, by objects and arrays."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def certified(
    codes: np.ndarray, terms: list[Term] | None = None, **settings: Any
) -> tuple[Any, dict[str, Any], PatternTable]:
    """A small card, its certificate as JSON, and its rows."""
    table = PatternTable.from_arrays(codes, np.arange(len(codes)) % 3 == 0)
    problem = Problem.build(table, Thresholds.tenths(), penalty=0.01, **settings)
    result = LocalSearch(max_rounds=1).solve(problem)
    certificate = make_certificate(problem, result, terms=terms)
    card = assemble_card(problem, result, Provenance(version="0"))
    return card, json.loads(certificate.to_json()), table


def judged(card: Any, data: dict[str, Any], table: PatternTable) -> str:
    """What is wrong with it."""
    text = signed(data)
    assert len(text) < 1_000_000
    failures: list[str] = []

    def judge() -> None:
        failures.extend(verify(card, Certificate.from_json(text), table).failures)

    assert taken(judge) < MOST
    return "; ".join(failures)


def packed(values: Any, kind: str) -> str:
    return base64.b64encode(zlib.compress(np.asarray(values).astype(kind).tobytes(), 9)).decode()


@pytest.mark.parametrize("size", [4_000_000, 16_000_000])
@pytest.mark.parametrize("item", ["[]", "{}", '""', "1e9", '{"":0}'])
def test_text_that_becomes_millions_of_values(tmp_path: Path, item: str, size: int) -> None:
    path = tmp_path / "proof.json.gz"
    items = b",".join([item.encode()] * (size // (len(item) + 1)))
    path.write_bytes(gzip.compress(b"[" + items + b"]"))
    assert path.stat().st_size < 100_000

    def read() -> None:
        with pytest.raises(InputError, match=r"not a certificate|would take more than"):
            Certificate.load(path)

    assert taken(read) < MOST


def boxes_of(count: int, columns: int, reason: Reason) -> dict[str, Any]:
    return {
        "count": count,
        "columns": columns,
        "lower": packed(np.full((count, columns), -5), "<i4"),
        "upper": packed(np.full((count, columns), 5), "<i4"),
        "values": packed(np.zeros(count), "<i8"),
        "reasons": packed(np.full(count, reason), "<u1"),
        "questions": 0,
        "asked": None,
        "packing": None,
    }


def proven(data: dict[str, Any], table: PatternTable, boxes: dict[str, Any]) -> dict[str, Any]:
    """With a claim on the scale that the judge finds."""
    statement = Certificate.from_json(signed(data)).problem
    recount = RecountedProblem(statement, table)
    total = recount.whole_total
    assert total is not None
    integers = recount.in_integers(total)
    scale = {
        "total": str(total), "constant": str(integers.constant), "price": integers.price,
        "question_price": integers.question_price, "exact": True,
    }  # fmt: skip
    proof = {
        "method": "none", "bound": "1", "rounding": "0", "details": {}, "scale": scale,
        "boxes": boxes,
    }  # fmt: skip
    return {**data, "proof": proof}


def test_boxes_that_are_all_alike() -> None:
    card, data, table = certified(np.arange(24).reshape(-1, 2) % 7, max_points=5)
    boxes = boxes_of(800_000, 2, Reason.FORBIDDEN)
    assert "some boxes overlap" in judged(card, proven(data, table, boxes), table)


def test_entries_that_name_one_long_conflict() -> None:
    card, data, table = certified(np.arange(60).reshape(-1, 3) % 7, max_points=5)
    boxes, entries, members = boxes_of(1, 3, Reason.PACKED), 5_000, 4096
    times = np.where(np.arange(members) % 2, 1, -1)
    boxes["packing"] = {
        "conflicts": 1, "members": members, "entries": entries, "fines": 0,
        "threshold": packed([0], "<i4"), "conflict_start": packed([0, members], "<i8"),
        "pattern": packed(np.arange(members) % len(table), "<i4"), "times": packed(times, "<i8"),
        "start": packed([0, entries], "<i8"), "conflict": packed(np.zeros(entries), "<i4"),
        "amount": packed(np.ones(entries), "<i8"), "way": packed(np.zeros(entries), "<u1"),
        "fine_start": packed([0, 0], "<i8"), "limit": packed([], "<i4"), "fine": packed([], "<i8"),
    }  # fmt: skip
    assert "box 1 is claimed to be worth 0 at most" in judged(
        card, proven(data, table, boxes), table
    )


def test_thresholds_times_rows() -> None:
    card, data, table = certified(np.arange(2_000).reshape(-1, 1), max_points=5)
    count = 20_000
    data["problem"]["thresholds"] = [str(Fraction(i, count)) for i in range(count)]
    data["problem"]["weights"] = ["1/20000"] * count
    assert "20,000 thresholds for 2,000 distinct rows are too many" in judged(card, data, table)


def test_conditions_on_one_column() -> None:
    n = 5_000
    terms: list[Term] = [Condition("x", ">=", k) for k in range(n)]
    steps = (np.arange(20)[:, None] * n // 20 >= np.arange(n)).astype(np.int64)
    card, data, table = certified(steps, terms, questions=None, max_points=1)
    assert "too many conditions" in judged(card, data, table)


def test_answers_are_not_compared_all_at_once() -> None:
    n = 250
    terms: list[Term] = [Condition("x", ">=", k) for k in range(n)]
    steps = (np.arange(20)[:, None] * n // 20 >= np.arange(n)).astype(np.int64)
    card, data, table = certified(steps, terms, max_points=1)
    answers = np.tri(n + 1, n, -1, dtype=np.int64).tolist()
    asked = {"name": "x", "columns": list(range(n)), "spread": 1, "answers": answers}
    data["problem"].update(questions=[asked], max_questions=1)
    boxes = boxes_of(1, n, Reason.FORBIDDEN)
    text = judged(card, proven(data, table, boxes), table)
    assert "box 1 is claimed to hold no allowed points" in text


def test_constraints_times_columns() -> None:
    card, data, table = certified(np.eye(2_000, dtype=np.int64), max_points=1)
    same = Implies("x0", "x1").to_json()
    data["problem"]["constraints"] = [same] * 9_000
    assert "its constraints are too many" in judged(card, data, table)
