"""Time, gap, proof and objective next to the printed ones."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.published import load_published
from reproduction.solver_tables import (
    computational_markdown,
    computational_records,
    objective_markdown,
    objective_records,
)
from reproduction.summary import summarise
from tests.reproduction.made_rows import (
    PENALTY,
    fold_row,
    published_rows,
    table_cells,
    with_own_methods,
)

SUMMARY = summarise(with_own_methods(published_rows()))


def solved(*folds: tuple[float, float | None, str], method: str = "slim") -> list[dict[str, Any]]:
    return [
        {
            **fold_row("heart", method, "original", fold),
            "seconds": seconds,
            "gap": gap,
            "status": status,
        }
        for fold, (seconds, gap, status) in enumerate(folds)
    ]


def test_the_papers_solves() -> None:
    records = computational_records(SUMMARY)
    assert len(records) == 8 * 4
    for record in records:
        if record["method"] == "rss-dnb-exact":
            assert record["published_seconds"] is None
            continue
        printed = load_published().computational[record["dataset"], record["method"]]
        assert record["seconds"] == pytest.approx(printed.seconds.value)
        assert record["gap_percent"] == pytest.approx(printed.gap_percent)
        assert record["status"] == printed.status
        assert record["solved"] / record["n_folds"] == printed.solved / printed.folds


def test_folds_that_end_differently() -> None:
    rows = solved((1.0, 0.0, "optimal"), (60.0, 0.5, "time_limit"), (62.0, 0.25, "time_limit"))
    summary = summarise(rows)
    (found,) = [r for r in computational_records(summary) if r["method"] == "slim"]
    assert found["seconds"] == pytest.approx(41.0)
    assert found["gap_percent"] == pytest.approx(25.0)
    assert found["solved"] == 1
    assert found["status"] == "time limit 2, optimal 1"
    assert found["seconds_when_stopped"] == pytest.approx(61.0)
    text = computational_markdown(summary)
    assert "41.0 [600.1]" in text
    assert "1/3 [0/10]" in text
    assert "SLIM: folds that ran out of time took 61.0 s on average over a data set." in text
    assert "Recipe: 600 s a fold." in text


def test_methods_that_were_not_run_show_the_printed_numbers() -> None:
    pytest.importorskip("markdown_it")
    text = computational_markdown(summarise(solved((0.01, None, "optimal"))))
    (table,) = table_cells(text)
    assert table[1:] == [
        ["Heart disease", "RSS-DNB", "– [600.1]", "– [30.7]", "– [0/10]", "– [time limit]"],
        [
            "Heart disease",
            "SLIM",
            "< 0.1 [600.1]",
            "– [62.8]",
            "1/1 [0/10]",
            "optimal [time limit]",
        ],
        ["Heart disease", "RISKSLIM", "– [600.2]", "– [68.6]", "– [0/10]", "– [time limit]"],
    ]
    assert "SLIM: no fold ran out of time." in text
    assert computational_records(summarise(solved((1.0, None, ""), method="lasso"))) == []


def test_no_cell_is_empty() -> None:
    pytest.importorskip("markdown_it")
    for text in (computational_markdown(SUMMARY), objective_markdown(SUMMARY)):
        for table in table_cells(text):
            assert len({len(line) for line in table}) == 1
            assert all(cell for line in table for cell in line)


# -- the objective ---------------------------------------------------------------------------------


def test_the_printed_means_give_the_printed_objective() -> None:
    records = objective_records(SUMMARY)
    assert len(records) == 8 * 3
    cells = load_published().cells
    for record in records:
        key = (record["dataset"], record["published_method"], "original")
        expected = cells[(*key, "train_aunbc")].mean - PENALTY * cells[(*key, "size")].mean
        assert record["published"] == pytest.approx(expected)
        assert record["mean"] == pytest.approx(expected, abs=1e-9)
        assert record["rounding"] == pytest.approx(0.0005 + PENALTY * 0.05)
        assert record["verdict"] == "same"
        assert record["at_least_published"] is True
    assert "lower in 0 of the 24 lines" in objective_markdown(SUMMARY)


@pytest.mark.parametrize(
    ("shift", "verdict", "at_least"),
    [
        (-0.001, "lower", False),
        (-0.0005, "same", True),
        (0.0005, "same", True),
        (0.001, "higher", True),
    ],
)
def test_better_and_worse_than_the_rounding_hides(
    shift: float, verdict: str, at_least: bool
) -> None:
    cells = load_published().cells
    aunbc = cells["heart", "rss-dnb", "original", "train_aunbc"].mean
    size = cells["heart", "rss-dnb", "original", "size"].mean
    rows = [
        {
            **fold_row("heart", "rss-dnb-exact", "original", fold),
            "train_aunbc": aunbc + shift + 0.01 * (2 * fold - 1),
            "size": size + (2 * fold - 1),
        }
        for fold in range(2)
    ]
    (found,) = objective_records(summarise(rows))
    assert found["difference"] == pytest.approx(shift, abs=1e-9)
    assert (found["verdict"], found["at_least_published"]) == (verdict, at_least)
    assert ("**lower**" in objective_markdown(summarise(rows))) == (verdict == "lower")


def test_each_fold_has_its_own_penalty() -> None:
    rows = [
        {
            **fold_row("heart", "rss-dnb", "original", fold),
            "train_aunbc": 0.3,
            "size": size,
            "penalty": penalty,
        }
        for fold, (size, penalty) in enumerate([(10, 0.001), (20, 0.003)])
    ]
    (found,) = objective_records(summarise(rows))
    assert found["mean"] == pytest.approx((0.29 + 0.24) / 2)
    assert found["penalty"] == pytest.approx(0.002)


def test_without_a_penalty_there_is_no_objective() -> None:
    pytest.importorskip("markdown_it")
    row = {**fold_row("heart", "rss-dnb", "original", 0), "train_aunbc": 0.3, "penalty": None}
    summary = summarise([row])
    (found,) = objective_records(summary)
    assert (found["mean"], found["published"], found["verdict"]) == (None, None, None)
    (table,) = table_cells(objective_markdown(summary))
    assert table[1][2:] == ["–"] * 5
