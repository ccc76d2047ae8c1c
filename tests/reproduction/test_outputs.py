"""All outputs from a handful of rows, and the page of cards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netbenefit import Scorecard, Thresholds
from netbenefit.cards.scorecard import Rule
from netbenefit.cards.terms import PerUnit
from netbenefit.common.checks import InputError
from reproduction.outputs import cards_page, check_overwriting, index_page, write_outputs
from reproduction.plan import Job
from reproduction.run import Store, read_rows

CARD = Scorecard.from_levels(
    [Rule(PerUnit("x1"), 2)],
    [1],
    [0.1, 0.6],
    Thresholds.of([0.5]),
    feature_names=("x0", "x1", "x2"),
)


def row(dataset: str, fold: int = 0, **changes: Any) -> dict[str, Any]:
    made = {
        "dataset": dataset,
        "method": "rss-dnb-exact",
        "setting": "original",
        "fold": fold,
        "train_auroc": 0.8,
        "train_ece": 0.0,
        "train_aunbc": 0.47,
        "test_auroc": 0.7,
        "test_ece": 0.1,
        "test_aunbc": 0.4,
        "size": 1.0,
        "objective": 0.45,
        "bound": 0.45,
        "gap": 0.0,
        "penalty": 0.02,
        "status": "optimal",
        "seconds": 1.5,
        "card": CARD.to_json(),
        "n_train": 10,
        "n_test": 2,
        "test_rows": [2 * fold, 2 * fold + 1],
        "test_risks": [0.1, 0.6],
        "budget": "quick",
        "version": "0",
        "recipe": "",
    }
    return made | changes


def test_a_card_that_does_better_is_shown_with_the_names_of_its_columns() -> None:
    page = cards_page([row("haberman")], lambda dataset: ("age", "year", "nodes"))
    assert page is not None
    assert "## Haberman" in page
    assert "Ours: 1 feature, AUNBC 0.4700, objective 0.4500, proven optimal." in page
    # From the printed means and our C0: 0.476 − 0.02 · 2.4.
    assert (
        "Published: 2.4 features, AUNBC 0.476, objective 0.4280, solver status time limit" in page
    )
    assert "year" in page
    assert "x1" not in page


def test_a_card_that_does_worse_is_not_shown() -> None:
    assert cards_page([row("haberman", train_aunbc=0.3)], lambda dataset: None) is None
    assert cards_page([row("haberman", fold=1)], lambda dataset: None) is None
    assert cards_page([], lambda dataset: None) is None


def test_slim_without_an_error_and_cheaper_than_any_published_card_is_shown() -> None:
    """Published: 8 to 10 features on mushroom, each with a point at least, so 8.8 C0 or more."""
    slim = row("mushroom", method="slim", train_auroc=1.0, size=1.0)
    page = cards_page([slim], lambda dataset: None)
    assert page is not None
    assert "## Mushroom, SLIM" in page
    assert "1 feature, price 1.2 C0" in page  # a feature, and two points
    assert "a price of at least 8.8 C0" in page
    assert cards_page([slim | {"train_auroc": 0.999}], lambda dataset: None) is None
    assert cards_page([slim | {"dataset": "spambase"}], lambda dataset: None) is None


def test_a_gap_is_told_and_names_may_be_lacking() -> None:
    page = cards_page([row("haberman", gap=0.125, status="time_limit")], lambda dataset: None)
    assert page is not None
    assert "gap 12.5%" in page
    assert "x1" in page


def test_outputs_that_are_asked_for(tmp_path: Path) -> None:
    rows = [row("haberman", fold) for fold in range(2)]
    files = write_outputs(rows, tmp_path / "out", ["performance", "objective"])
    names = [file.name for file in files]
    assert names[0] == "index.md"
    assert {"performance.md", "objective.csv", "results.parquet"} <= set(names)
    assert "ranks.md" not in names
    assert all(file.is_file() for file in files)
    (kept,) = [file for file in files if file.suffix == ".parquet"]
    assert [r["fold"] for r in read_rows(kept)] == [0, 1]
    assert "test_risks" not in read_rows(kept)[0]


def test_the_index_says_what_was_run() -> None:
    page = index_page([row("heart"), row("adult")], [Path("a/performance.md")])
    assert "2 results" in page
    assert "* Data: adult, heart" in page
    assert "[performance.md](performance.md)" in page


@pytest.mark.parametrize("only", [["performance"], ["region"]])
def test_no_rows_is_no_error(tmp_path: Path, only: list[str]) -> None:
    files = write_outputs([], tmp_path, only)
    assert "No fit was made" in files[0].read_text()


def test_results_without_their_rows_are_not_replaced_by_fewer(tmp_path: Path) -> None:
    """As in a fresh clone, where the rows are not kept."""
    check_overwriting(tmp_path, [])  # nothing is there
    rows = [row("haberman", fold) for fold in range(3)]
    write_outputs(rows, tmp_path, ["performance"])
    jobs = [Job("haberman", "rss-dnb-exact", "original", fold, "quick") for fold in range(3)]
    check_overwriting(tmp_path, jobs)  # all of them are made again
    with pytest.raises(InputError, match=r"results of 1 fits \(of 'rss-dnb-exact'\).*--out"):
        check_overwriting(tmp_path, jobs[:2])
    with Store(tmp_path / "rows") as store:
        store.add(rows)
    check_overwriting(tmp_path, [])  # the rows are there
