"""Ranks over data sets: the paper's own, gaps, and what is drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from reproduction.names import DATASETS, MEASURES, METHODS
from reproduction.published import load_published
from reproduction.rank_tables import (
    Ranking,
    RankTables,
    competing,
    largest_block,
    rank_tables,
    ranks_markdown,
)
from reproduction.summary import summarise
from tests.reproduction.made_rows import published_rows, table_cells, with_own_methods

ROWS = published_rows()
SUMMARY = summarise(ROWS)


@pytest.fixture(scope="module")
def paper() -> RankTables:
    (tables,) = rank_tables(SUMMARY)
    return tables


@pytest.fixture(scope="module")
def both() -> list[RankTables]:
    return rank_tables(summarise(with_own_methods(ROWS)))


def ranking_of(tables: RankTables, metric: str) -> Ranking:
    return next(ranking for ranking in tables.rankings if ranking.metric == metric)


def test_sizes_give_the_papers_ranks(paper: RankTables) -> None:
    for record in paper.ranks():
        if record["metric"] == "size":
            assert record["rank"] == pytest.approx(record["published_rank"])
    (friedman,) = [record for record in paper.friedman() if record["metric"] == "size"]
    assert friedman["chi2"] == pytest.approx(friedman["published_chi2"], abs=0.005)
    assert friedman["df"] == friedman["published_df"] == 5
    for record in paper.nemenyi():
        if record["metric"] == "size":
            assert record["p"] == pytest.approx(record["published_p"], abs=6e-4)


@pytest.mark.parametrize("metric", ["auroc", "aunbc", "ece"])
def test_the_papers_ranks_but_for_the_rounding_of_its_means(paper: RankTables, metric: str) -> None:
    """Means that are equal to three decimals may be ranked either way; the others may not."""
    test = ranking_of(paper, metric).test
    assert test is not None
    assert set(test.datasets) == set(DATASETS)
    for place, method in enumerate(test.models):
        slack = np.mean([((row == row[place]).sum() - 1) / 2 for row in test.ranks])
        printed = paper.published_rank(metric, method)
        assert abs(test.average[place] - printed) <= slack + 1e-9


def test_no_verdict_differs_from_the_paper(paper: RankTables) -> None:
    text = ranks_markdown(SUMMARY, [paper])
    assert "‡" not in text.split("## The paper's methods")[1]
    assert "do not compare" not in text.split("## The paper's methods")[1]
    assert "Left out" not in text


def test_records_are_complete(paper: RankTables) -> None:
    printed = load_published()
    assert len(paper.ranks()) == len(printed.ranks)
    assert len(paper.nemenyi()) == len(printed.nemenyi)
    for records in (paper.ranks(), paper.nemenyi(), paper.friedman()):
        assert all(value is not None for record in records for value in record.values())


def test_tables_render(both: list[RankTables]) -> None:
    pytest.importorskip("markdown_it")
    tables = table_cells(ranks_markdown(SUMMARY, both))
    assert len(tables) == 2 * (1 + 1 + 4)
    for table in tables:
        assert len({len(line) for line in table}) == 1
    ranks = tables[0]
    assert ranks[1] == ["RSS-DNB", "4.94 [4.81]", "4.12 [3.94]", "2.69 [2.56]", "3.06 [3.06]"]
    empty = {(line[0], ranks[0][i]) for line in ranks for i, c in enumerate(line) if not c}
    assert empty == {("Decision tree", "Size"), ("XGBoost", "Size")}
    for matrix in tables[2:6]:  # nothing is missing below the diagonal
        for place, line in enumerate(matrix[1:], start=1):
            assert all(line[1 : place + 1])
            assert not any(line[place + 1 :])


def test_all_methods_are_ranked_without_printed_numbers(both: list[RankTables]) -> None:
    assert [table.scope for table in both] == ["paper", "all"]
    assert both[1].methods == (*METHODS, "rss-dnb-exact", "scorecard")
    auroc = ranking_of(both[1], "auroc")
    assert auroc.rank("rss-dnb") == auroc.rank("rss-dnb-exact")
    assert not auroc.as_published
    assert ranking_of(both[0], "auroc").as_published
    assert all(record["published_rank"] is None for record in both[1].ranks())
    assert ranking_of(both[1], "size").rank("tree") is None


def test_a_reversed_order_reverses_verdicts() -> None:
    rows = [{**row, "test_auroc": 1 - row["test_auroc"]} for row in ROWS]
    (tables,) = rank_tables(summarise(rows))
    ranking = ranking_of(tables, "auroc")
    assert ranking.rank("xgboost") > ranking.rank("tree")
    matrix = ranks_markdown(SUMMARY, [tables]).split("#### AUROC")[1].split("![")[0]
    assert "‡" not in matrix  # Nemenyi's test has two sides
    rows = [{**row, "test_auroc": hash_of(row["method"])} for row in ROWS]
    (tables,) = rank_tables(summarise(rows))
    matrix = ranks_markdown(SUMMARY, [tables]).split("#### AUROC")[1].split("![")[0]
    assert "**< 0.001** ‡ [1.000]" in matrix


def hash_of(method: str) -> float:
    """Different and the same everywhere, RSS-DNB first and RSS-DNB-SA last."""
    order = ["rss-dnb", "tree", "xgboost", "slim", "lasso", "riskslim", "logistic", "rss-dnb-sa"]
    return -float(order.index(method))


def test_means_that_differ_by_float_noise_are_equal() -> None:
    noise = itertools.cycle([0.0, 1e-14, -1e-14])
    rows = [{**row, "test_auroc": 0.9 + next(noise)} for row in ROWS]
    (tables,) = rank_tables(summarise(rows))
    test = ranking_of(tables, "auroc").test
    assert test is not None
    assert (test.average == 4.5).all()
    assert (test.chi2, test.p) == (0.0, 1.0)


@pytest.mark.parametrize("seed", range(30))
def test_the_largest_block_by_trying_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    there = rng.random((4, 5)) < 0.7
    found = {f"d{i}": [f"m{j}" for j in range(5) if there[i, j]] for i in range(4)}
    datasets, methods = largest_block(found)
    assert all(method in found[name] for name in datasets for method in methods)
    best = 0
    for rows in itertools.product([False, True], repeat=4):
        for columns in itertools.product([False, True], repeat=5):
            if there[np.ix_(rows, columns)].all():
                best = max(best, sum(rows) * sum(columns))
    assert len(datasets) * len(methods) == best


def test_gaps_are_left_out_and_told() -> None:
    some = [
        row
        for row in ROWS
        if row["dataset"] in ("heart", "mammo", "adult")
        and row["method"] in ("lasso", "slim", "logistic", "tree")
        and (row["dataset"], row["method"]) != ("heart", "tree")
    ]
    summary = summarise(some)
    (tables,) = rank_tables(summary)
    ranking = ranking_of(tables, "auroc")
    assert ranking.test is not None
    assert set(ranking.test.models) == {"lasso", "slim", "logistic"}
    assert ranking.rank("tree") is None
    assert ranking.p("tree", "lasso") is None
    text = ranks_markdown(summary, [tables])
    assert "Left out of the ranks by AUROC, AUNBC, ECE, for lack of results – methods: " in text
    assert "do not compare.**" in text
    assert "‡" not in text.split("## The paper's methods")[1]
    assert "– [6.81]" in text


def test_too_little_to_rank() -> None:
    two = [row for row in ROWS if row["method"] in ("lasso", "slim")]
    assert rank_tables(summarise(two)) == []
    one = [row for row in ROWS if row["dataset"] == "heart"]
    assert rank_tables(summarise(one)) == []
    assert rank_tables(summarise([])) == []


def test_who_competes_in_size() -> None:
    ranked = {method for metric, method in load_published().ranks if metric == "size"}
    assert set(competing(METHODS, MEASURES["size"])) == ranked
