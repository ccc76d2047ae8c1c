"""The printed numbers, as the package reads them, are those of the CSV files."""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path

import pytest

from netbenefit import InputError
from reproduction.names import DATASETS, MEASURES, METHODS
from reproduction.published import Printed, load_published

FOLDER = Path(str(files("reproduction"))) / "published"
TABLES = sorted(path.name for path in FOLDER.glob("*.csv"))


def rows_of(name: str) -> list[dict[str, str]]:
    with open(FOLDER / name, encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def ours(dataset: str) -> str:
    return "heart" if dataset == "heartdisease" else dataset


def keys_of(name: str, row: dict[str, str]) -> tuple[str, str, str, str]:
    measure = "size" if row["metric"] == "size" else row["split"] + "_" + row["metric"]
    if name == "performance.csv":
        method, setting = row["method"], "original"
    elif name == "ablation.csv":
        method, setting = (*row["variant"].split(" "), "original")[:2]
    else:
        method, setting = name.removeprefix("sensitivity_").removesuffix(".csv"), row["setting"]
    return ours(row["dataset"]), method, setting, measure


CELL_TABLES = [
    "performance.csv",
    "ablation.csv",
    "sensitivity_rss-dnb.csv",
    "sensitivity_rss-dnb-sa.csv",
]


@pytest.mark.parametrize("name", CELL_TABLES)
def test_cells_are_those_of_the_file(name: str) -> None:
    cells = load_published().cells
    for row in rows_of(name):
        cell = cells[keys_of(name, row)]
        for field in ("mean", "sd", "min", "max"):
            value = getattr(cell, field)
            assert value == (float(row[field]) if row[field] else None)
        assert cell.half_unit == pytest.approx(0.05 if row["metric"] == "size" else 0.0005)


def test_there_is_nothing_else_in_the_cells() -> None:
    expected = {keys_of(name, row) for name in CELL_TABLES for row in rows_of(name)}
    assert set(load_published().cells) == expected
    assert {key[0] for key in expected} == set(DATASETS)
    assert {key[1] for key in expected} == set(METHODS)
    assert {key[3] for key in expected} == set(MEASURES)


def test_the_size_of_xgboost_is_missing() -> None:
    cells = load_published().cells
    missing = {
        (method, key)
        for dataset in DATASETS
        for method in METHODS
        for key in MEASURES
        if cells.get((dataset, method, "original", key)) is None
    }
    assert missing == {("xgboost", "size")}


def test_statistics_are_those_of_the_files() -> None:
    found = load_published()
    for row in rows_of("friedman.csv"):
        test = found.friedman[row["metric"]]
        assert (test.chi2, test.df, test.p.text) == (float(row["chi2"]), int(row["df"]), row["p"])
    ranks = {(m, r["method"]): r[m] for r in rows_of("ranks.csv") for m in found.friedman}
    assert found.ranks == {key: float(text) for key, text in ranks.items() if text}
    assert ("size", "tree") not in found.ranks
    for row in rows_of("nemenyi.csv"):
        pair = frozenset((row["method_b"], row["method_a"]))
        assert found.nemenyi[row["metric"], pair] == float(row["p"])
    assert len(found.nemenyi) == len(rows_of("nemenyi.csv"))


def test_solving_and_credit_are_those_of_the_files() -> None:
    found = load_published()
    for row in rows_of("computational.csv"):
        solve = found.computational[ours(row["dataset"]), row["method"]]
        assert solve.seconds.text == row["runtime_s"]
        assert solve.gap_percent == float(row["gap_percent"])
        assert f"{solve.solved}/{solve.folds}" == row["solved_folds"]
        assert solve.status == row["status"]
    for row in rows_of("credit.csv"):
        for metric in ("auroc", "ece", "aunbc", "size"):
            cell = found.credit.get((row["method"], metric))
            expected = float(row[metric]) if row[metric] else None
            assert getattr(cell, "mean", None) == expected
    assert found.credit["lasso", "auroc"].half_unit == pytest.approx(0.00005)
    assert ("xgboost", "size") not in found.credit


@pytest.mark.parametrize(
    ("text", "value", "below", "half"),
    [("0.881", 0.881, False, 5e-4), ("<0.1", 0.1, True, 0.05), ("7", 7.0, False, 0.5)],
)
def test_printed_numbers(text: str, value: float, below: bool, half: float) -> None:
    found = Printed.read(text)
    assert (found.text, found.value, found.below) == (text, value, below)
    assert found.half_unit == pytest.approx(half)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="'n/a' where a number is due"):
        Printed.read("n/a")


def test_lookups_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        load_published().ranks["auroc", "lasso"] = 1.0  # type: ignore[index]


@pytest.mark.parametrize("name", TABLES)
def test_the_package_has_the_tables_of_the_paper(paper_folder: Path, name: str) -> None:
    assert (FOLDER / name).read_text() == (paper_folder / name).read_text()
