"""Means over folds against plain loops, and when our mean counts as out of step."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest

from netbenefit import InputError
from reproduction.names import MEASURES
from reproduction.published import PublishedCell
from reproduction.summary import Cell, outside, summarise

AUROC, SIZE = MEASURES["test_auroc"], MEASURES["size"]


def random_rows(seed: int) -> list[dict[str, Any]]:
    """Some folds of some methods, in any order, with gaps of all kinds."""
    rng = np.random.default_rng(seed)
    rows = []
    for dataset in ("heart", "mammo", "zoo"):
        for method in ("tree", "lasso", "mine"):
            for fold in range(int(rng.integers(0, 5))):
                numbers: dict[str, Any] = {key: float(rng.normal()) for key in MEASURES}
                key = list(MEASURES)[int(rng.integers(len(MEASURES)))]
                numbers[key] = [None, math.nan][int(rng.integers(2))]
                if rng.random() < 0.1:
                    del numbers[key]
                row = {"dataset": dataset, "method": method, "setting": "original", "fold": fold}
                rows.append({**row, **numbers})
    return [rows[i] for i in rng.permutation(len(rows))]


@pytest.mark.parametrize("seed", range(20))
def test_cells_are_those_of_a_plain_loop(seed: int) -> None:
    rows = random_rows(seed)
    summary = summarise(rows)
    assert sum(group.n_folds for group in summary.values()) == len(rows)
    for dataset, method, setting in [*summary, ("heart", "nobody", "original")]:
        for key in MEASURES:
            values = [
                row[key]
                for row in rows
                if (row["dataset"], row["method"]) == (dataset, method)
                and row.get(key) is not None
                and not math.isnan(row[key])
            ]
            cell = summary.cell(dataset, method, setting, key)
            assert cell.n_folds == len(values)
            if not values:
                assert cell == Cell(0)
                continue
            assert cell.mean == pytest.approx(statistics.fmean(values))
            assert (cell.min, cell.max) == (min(values), max(values))
            if len(values) == 1:
                assert cell.sd is None
            else:
                assert cell.sd == pytest.approx(statistics.stdev(values))


def row(**changes: Any) -> dict[str, Any]:
    return {"dataset": "heart", "method": "lasso", "setting": "original", "fold": 0, **changes}


def test_the_papers_names_come_first() -> None:
    rows = [row(dataset=d, method=m) for d in ("zoo", "mammo", "adult") for m in ("my", "slim")]
    summary = summarise([*rows, row(setting="fine", dataset="spambase", method="rss-dnb")])
    assert summary.datasets() == ["adult", "mammo", "spambase", "zoo"]
    assert summary.datasets("original") == ["adult", "mammo", "zoo"]
    assert summary.methods() == ["rss-dnb", "slim", "my"]
    assert summary.methods("original") == ["slim", "my"]


def test_the_case_study_and_cards_of_all_rows_are_no_folds() -> None:
    assert not summarise([row(dataset="credit"), row(fold=-1)])


def test_rows_of_two_runs_are_refused() -> None:
    with pytest.raises(InputError, match="fold 0 of heart / lasso / original is there twice"):
        summarise([row(), row(fold=1), row()])


def test_rows_without_a_place_are_refused() -> None:
    with pytest.raises(InputError, match="row 1 of the run has no 'fold'"):
        summarise([row(), {"dataset": "a", "method": "b", "setting": "c"}])


# -- out of step -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "sd", "ours", "expected"),
    [
        (0.880, 0.010, 0.9000, False),
        (0.880, 0.010, 0.9015, False),  # 2 · 0.0105 + 0.0005: both may have been rounded
        (0.880, 0.010, 0.9016, True),
        (0.880, 0.010, 0.8585, False),
        (0.880, 0.010, 0.8584, True),
        (1.000, 0.000, 1.0, False),
        (0.000, 0.000, 0.0015, False),  # a printed 0.000 may have been 0.0005
        (0.000, 0.000, 0.0016, True),
    ],
)
def test_measures_out_of_step(mean: float, sd: float, ours: float, expected: bool) -> None:
    printed = PublishedCell(mean, sd, None, None, 0.0005)
    assert outside(AUROC, Cell(10, ours), printed) is expected


@pytest.mark.parametrize(
    ("low", "high", "ours", "expected"),
    [
        (2, 3, 2.0, False),
        (2, 3, 3.0, False),
        (2, 3, 1.9, True),
        (2, 3, 3.1, True),
        (6, 6, 6, False),
    ],
)
def test_sizes_out_of_step(low: float, high: float, ours: float, expected: bool) -> None:
    assert outside(SIZE, Cell(10, ours), PublishedCell(2.5, None, low, high, 0.05)) is expected


def test_a_sum_of_floats_is_not_out_of_step() -> None:
    ours = float(np.mean([0.1 + 0.2, 0.3, 0.3]))
    assert ours != 0.3
    assert outside(SIZE, Cell(3, ours), PublishedCell(0.3, None, 0.3, 0.3, 0.05)) is False


def test_no_verdict_without_both() -> None:
    printed = PublishedCell(0.9, 0.1, None, None, 0.0005)
    assert outside(AUROC, Cell(0), printed) is None
    assert outside(AUROC, Cell(1, 0.9), None) is None
    assert outside(AUROC, Cell(1, 0.9), PublishedCell(0.9, None, None, None, 0.0005)) is None
    assert outside(SIZE, Cell(1, 0.9), PublishedCell(0.9, None, None, None, 0.05)) is None
