"""The plan: every cell of the paper's tables is covered, once."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from netbenefit.common.checks import InputError
from reproduction.plan import (
    BUDGETS,
    CREDIT,
    DATASETS,
    METHODS,
    PAPER_METHODS,
    Job,
    make_plan,
)


def cells(plan: list[Job]) -> list[tuple[str, str, str, int]]:
    return [(job.dataset, job.method, s, job.fold) for job in plan for s in job.settings]


def test_no_fit_is_planned_twice() -> None:
    found = cells(make_plan("standard"))
    assert len(found) == len(set(found))


def published(name: str) -> list[dict[str, str]]:
    text = (files("reproduction") / "published" / name).read_text()
    return list(csv.DictReader(text.splitlines()))


def test_every_published_cell_is_planned_for_ten_folds() -> None:
    planned = set(cells(make_plan("standard")))
    printed = {(row["dataset"], row["method"], "original") for row in published("performance.csv")}
    for row in published("ablation.csv"):
        method, _, setting = row["variant"].partition(" ")
        printed.add((row["dataset"], method, setting or "original"))
    for method in ("rss-dnb", "rss-dnb-sa"):
        for row in published(f"sensitivity_{method}.csv"):
            printed.add((row["dataset"], method, row["setting"]))
    assert len(printed) == 8 * 8 + 8 * 2 * 2 + 8 * 2 * 4
    for dataset, method, setting in printed:
        name = {"heartdisease": "heart"}.get(dataset, dataset)
        assert {(name, method, setting, fold) for fold in range(10)} <= planned
    for row in published("credit.csv"):
        assert (CREDIT, row["method"], "original", 0) in planned
    assert (CREDIT, "rss-dnb-exact", "c0=0", -1) in planned


def test_our_methods_are_columns_of_their_own() -> None:
    planned = set(cells(make_plan("standard")))
    for method in set(METHODS) - set(PAPER_METHODS):
        assert {(name, method, "original", 9) for name in DATASETS} <= planned


def test_paper_gives_every_integer_program_ten_minutes() -> None:
    """Our default keeps its own ten seconds in the tables: that is what a user gets."""
    plan = make_plan("paper", datasets=DATASETS)
    assert {job.seconds for job in plan if job.method != "scorecard"} == {600}
    assert {job.seconds for job in plan if job.method == "scorecard"} == {10}


def test_restrictions() -> None:
    plan = make_plan("standard", only=["sensitivity"], datasets=["heart"], methods=["rss-dnb"])
    assert {job.setting for job in plan} == {"original", "fine", "coarse", "random-ew", "random-lw"}
    assert {(job.dataset, job.method) for job in plan} == {("heart", "rss-dnb")}
    assert len(plan) == 50
    assert all(job.dataset == CREDIT for job in make_plan("standard", only=["credit"]))
    assert make_plan("quick", only=["region"]) == []  # small data only: no case study


def test_nothing_to_fit_is_an_error_that_says_what_to_add() -> None:
    with pytest.raises(InputError, match=r"nothing to fit for credit .* --datasets credit"):
        make_plan("quick", only=["credit"])
    with pytest.raises(InputError, match="nothing to fit"):
        make_plan("standard", only=["ablation"], datasets=["credit"])


def test_quick_is_small() -> None:
    plan = make_plan("quick")
    assert {job.fold for job in plan} == {0, 1}
    # On one core, were every solver to use all its time.
    assert sum(job.seconds for job in plan) < 2 * BUDGETS["quick"].folds * 120


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"only": ["tabel"]}, "--only: 'tabel'"),
        ({"datasets": ["iris"]}, "--datasets: 'iris'"),
        ({"methods": ["svm"]}, "--methods: 'svm'"),
    ],
)
def test_unknown_names_are_refused(options: dict[str, list[str]], word: str) -> None:
    with pytest.raises(InputError, match=f"{word} is unknown. Known are "):
        make_plan("quick", **options)
