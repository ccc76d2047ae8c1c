"""Performance, ablations, sensitivity: what stands in the cells, and how it is marked."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.cell_tables import (
    CellTable,
    Line,
    ablation_table,
    performance_table,
    sensitivity_table,
)
from reproduction.names import DATASETS, MEASURES, METHODS
from reproduction.summary import summarise
from tests.reproduction.made_rows import fold_row, published_rows, table_cells, with_own_methods

ROWS = published_rows()
SUMMARY = summarise(ROWS)
ALL = {
    "performance": performance_table(SUMMARY),
    "ablation": ablation_table(SUMMARY),
    "sensitivity": sensitivity_table(SUMMARY, "rss-dnb"),
    "sensitivity-sa": sensitivity_table(SUMMARY, "rss-dnb-sa"),
}


def rows_with(values: dict[str, list[Any]], key: str = "test_auroc") -> list[dict[str, Any]]:
    """One measure of some methods on a data set."""
    return [
        {**fold_row("heart", method, "original", fold), key: value}
        for method, numbers in values.items()
        for fold, value in enumerate(numbers)
    ]


def column(rows: list[dict[str, Any]], head: str = "AUROC ↑") -> dict[str, str]:
    """A column of the first table of a data set, raw."""
    lines = performance_table(summarise(rows)).markdown().split("## Heart disease")[1].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| Method"))
    place = [cell.strip() for cell in lines[start].split("|")].index(head)
    cells = {}
    for line in lines[start + 2 :]:
        if not line:
            break
        parts = line.split("|")
        cells[parts[1].strip()] = parts[place].strip().replace("\N{NO-BREAK SPACE}", " ")
    return cells


@pytest.mark.parametrize("name", ALL)
def test_the_printed_means_are_not_out_of_step_with_themselves(name: str) -> None:
    table = ALL[name]
    assert "†" not in table.markdown().split("## Agreement")[1].replace("without a †", "")
    records = table.records()
    assert len(records) == len(DATASETS) * len(table.lines) * len(MEASURES)
    for record in records:
        if record["published_mean"] is None:
            assert (record["method"], record["metric"]) == ("xgboost", "size")
            assert record["outside"] is None
            assert record["n_folds"] == 0
            continue
        assert record["outside"] is False
        assert record["mean"] == pytest.approx(record["published_mean"], abs=1e-9)
        if record["metric"] != "size":
            assert record["sd"] == pytest.approx(record["published_sd"], abs=1e-9)
        assert record["n_folds"] == 4


@pytest.mark.parametrize("name", ALL)
def test_tables_render_and_leave_nothing_empty_but_what_the_paper_does(name: str) -> None:
    pytest.importorskip("markdown_it")
    tables = table_cells(ALL[name].markdown())
    assert len(tables) == 1 + 2 * len(DATASETS)
    for table in tables:
        assert len({len(line) for line in table}) == 1
        empty = {(line[0], table[0][i]) for line in table for i, c in enumerate(line) if not c}
        assert empty <= {("XGBoost", "Size ↓"), ("XGBoost", "Size")}
        assert [line[0] for line in table[1:]][: len(ALL[name].lines)] == [
            line.title for line in ALL[name].lines
        ]


def test_the_lines_are_those_of_the_paper() -> None:
    assert [line.method for line in ALL["performance"].lines] == list(METHODS)
    assert [line[:2] for line in ALL["ablation"].lines] == [
        (method, setting)
        for method in ("rss-dnb", "rss-dnb-sa")
        for setting in ("original", "c0=0", "no-calibration")
    ]
    settings = ["original", "fine", "coarse", "random-ew", "random-lw"]
    assert [line.setting for line in ALL["sensitivity-sa"].lines] == settings
    assert all(line.in_paper for table in ALL.values() for line in table.lines)


def test_methods_beyond_the_paper_come_last_and_alone() -> None:
    summary = summarise(with_own_methods(ROWS))
    titles = [line.title for line in performance_table(summary).lines]
    assert titles[-2:] == ["RSS-DNB, our engine", "Our default card"]
    variants = [line[:2] for line in ablation_table(summary).lines[6:]]
    assert variants == [("rss-dnb-exact", "original"), ("rss-dnb-exact", "c0=0")]
    section = performance_table(summary).markdown().split("## Adult")[1]
    (line,) = [x for x in section.split("\n\n")[2].splitlines() if "Our default" in x]
    assert "[" not in line
    agreement = performance_table(summary).markdown().split("## A")[1]
    assert "Our default" not in agreement


def test_a_cell_says_ours_and_theirs() -> None:
    cells = column(rows_with({"lasso": [0.89, 0.91], "tree": [0.5, 0.5]}))
    assert cells["LASSO"] == "**0.900** ± 0.014 [0.897 ± 0.069]"
    assert cells["Decision tree"] == "_0.500_ ± 0.000 † [0.785 ± 0.109]"
    assert cells["SLIM"] == "– [0.823 ± 0.076]"
    sizes = column(
        rows_with({"lasso": [9, 12], "slim": [12, 13], "xgboost": [None]}, "size"), "Size ↓"
    )
    assert sizes["LASSO"] == "**10.5** (9–12) [11.0 (9–13)]"
    assert sizes["SLIM"] == "_12.5_ (12–13) † [15.5 (13–17)]"
    assert sizes["XGBoost"] == ""


def test_one_fold_has_no_standard_deviation() -> None:
    cells = column(rows_with({"lasso": [0.9], "mine": [None]}))
    assert cells["LASSO"] == "0.900 ± – [0.897 ± 0.069]"
    assert cells["mine"] == "–"


def test_a_measure_that_some_folds_lack_says_so() -> None:
    cells = column(rows_with({"lasso": [0.9, 0.9, float("nan")]}))
    assert cells["LASSO"] == "0.900 ± 0.000 in 2 folds [0.897 ± 0.069]"


def test_best_and_second_best_by_the_digits_shown() -> None:
    values = {"rss-dnb": [0.9001], "lasso": [0.8999], "slim": [0.85], "logistic": [0.8]}
    marks = {name: text.split(" ")[0] for name, text in column(rows_with(values)).items()}
    assert marks["RSS-DNB"] == marks["LASSO"] == "**0.900**"
    assert marks["SLIM"] == "_0.850_"
    assert marks["Logistic regression"] == "0.800"
    low = column(rows_with({"lasso": [0.1], "slim": [0.05]}, "test_ece"), "ECE ↓")
    assert low["SLIM"].startswith("**0.050**")
    alike = column(rows_with({"lasso": [1.0], "slim": [1.0]}))
    assert alike["SLIM"].startswith("1.000 ")


def test_trees_do_not_compete_in_size() -> None:
    sizes = column(rows_with({"tree": [5], "lasso": [9], "slim": [13]}, "size"), "Size ↓")
    assert sizes["Decision tree"].startswith("5.0 ")
    assert sizes["LASSO"].startswith("**9.0**")


def test_folds_are_counted_where_they_differ() -> None:
    text = performance_table(
        summarise(rows_with({"lasso": [0.9, 0.8], "tree": [0.9, 0.8], "slim": [0.7]}))
    ).markdown()
    assert "Held-out rows, and size. 2 folds, but 1 fold of SLIM." in text
    assert "Not run: Adult, Bankruptcy" in text
    assert "Heart disease" not in text.split("Not run:")[1].splitlines()[0]


def test_agreement_counts_the_cells_without_a_mark() -> None:
    rows = rows_with({"lasso": [0.9, 0.9], "tree": [0.1, 0.1]})
    text = performance_table(summarise(rows)).markdown().split("## Agreement")[1]
    lines = {
        line.split("|")[1].strip(): line.split("|")[2:]
        for line in text.splitlines()[:15]
        if "|" in line
    }
    assert lines["LASSO"][0].strip() == "1 of 1"
    assert lines["Decision tree"][0].strip() == "0 of 1"
    assert lines["**All**"][0].strip() == "1 of 2"
    assert lines["SLIM"][0].strip() == "–"
    assert lines["XGBoost"][3].strip() == ""


def test_nothing_to_agree_with() -> None:
    text = performance_table(summarise(rows_with({"mine": [0.9]}))).markdown()
    assert "Nothing was run that the paper has, too." in text


def test_names_from_outside_are_escaped() -> None:
    pytest.importorskip("markdown_it")
    odd = "a|b *c* <b>\n_d_"
    text = performance_table(summarise(rows_with({odd: [0.9], "lasso": [0.8]}))).markdown()
    titles = [line[0] for table in table_cells(text)[1:] for line in table]
    assert "a|b *c* <b> _d_" in titles


def test_an_unknown_data_set_has_a_section_without_printed_numbers() -> None:
    rows = [{**fold_row("zoo", "lasso", "original", 0), "test_auroc": 0.75}]
    text = performance_table(summarise(rows)).markdown()
    assert "0.750\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}–" in text.split("## zoo")[1]
    assert "[" not in text.split("## zoo")[1]


def test_lines_know_what_is_printed() -> None:
    assert not Line("lasso", "fine", "").in_paper
    assert not Line("scorecard", "original", "").in_paper


def test_an_empty_run_has_no_data_sets() -> None:
    empty = CellTable("", "", (Line("lasso", "original", ""),), "", True, summarise([]))
    assert empty.datasets == []
    assert empty.records() == []
