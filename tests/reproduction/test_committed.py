"""The committed results of the standard run: complete, and the page says what they say."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from reproduction.plan import CREDIT, make_plan
from reproduction.published import load_published
from reproduction.run import read_rows

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reproduction"


def table(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines()))


def test_every_planned_fit_is_there() -> None:
    """All data sets, methods, settings and folds, the case study included."""
    planned = {
        (job.dataset, job.method, setting, job.fold)
        for job in make_plan("standard")
        for setting in job.settings
    }
    rows = read_rows(FOLDER / "results.parquet")
    found = {(row["dataset"], row["method"], row["setting"], row["fold"]) for row in rows}
    assert planned == found
    assert {row["budget"] for row in rows} == {"standard"}


@pytest.mark.parametrize(
    "name", ["performance", "ablation", "sensitivity_rss-dnb", "sensitivity_rss-dnb-sa"]
)
def test_no_cell_is_empty_that_the_paper_has(name: str) -> None:
    lines = table(name)
    published = {(line["dataset"], line["method"]) for line in lines if line["published_mean"]}
    assert len(published) == {"performance": 64, "ablation": 16}.get(name, 8)
    for line in lines:
        if line["published_mean"]:
            assert line["mean"], line
            assert line["n_folds"] == "10"
            assert line["outside"] in ("true", "false")
        elif not line["mean"]:
            assert (line["method"], line["metric"]) == ("xgboost", "size")


def test_case_study_has_every_published_figure() -> None:
    cells = load_published().credit
    found = {line["method"]: line for line in table("credit_performance")}
    for method, figure in cells:
        assert found[method][figure]
    illustrative = [row for row in read_rows(FOLDER / "results.parquet") if row["fold"] == -1]
    assert [row["dataset"] for row in illustrative] == [CREDIT]


def test_our_training_objective_is_nowhere_below_the_papers() -> None:
    lines = [line for line in table("objective") if line["method"] == "rss-dnb-exact"]
    assert len(lines) == 8
    assert {line["verdict"] for line in lines} <= {"higher", "same"}


def test_the_page_counts_what_the_tables_hold() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    tables = {
        "published figures": ["performance"],
        "of the ablations": ["ablation"],
        "of the sensitivity analyses": ["sensitivity_rss-dnb", "sensitivity_rss-dnb-sa"],
    }
    for words, names in tables.items():
        cells = [line for name in names for line in table(name) if line["outside"]]
        if names != ["performance"]:  # the original setting counts once
            cells = [line for line in cells if line["setting"] != "original"]
        count = f"{sum(line['outside'] == 'false' for line in cells)} of {len(cells)}"
        assert f"{count} {words}" in page or f"{words} {count}" in page


def test_the_page_names_the_verdicts_that_change() -> None:
    page = " ".join((FOLDER / "README.md").read_text(encoding="utf-8").split())
    pairs = {
        (line["metric"], line["method_a"], line["method_b"]): float(line["p"])
        for line in table("nemenyi")
        if line["scope"] == "paper"
    }
    assert f"LASSO (p = {pairs['ece', 'rss-dnb', 'lasso']:.3f}; published 0.020)" in page
    assert f"XGBoost ({pairs['ece', 'rss-dnb', 'xgboost']:.2f}; published 0.020)" in page


def test_no_column_of_the_results_is_half_filled() -> None:
    """Rows of different ages would show here: every card has an AUROC of its scores."""
    for row in read_rows(FOLDER / "results.parquet"):
        assert (row["test_auroc_of_score"] is not None) == bool(row["card"])


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in FOLDER.glob("*.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("http") or (FOLDER / target).exists(), (page.name, target)
