"""Average ranks, Friedman and Nemenyi: slow twins, a textbook example, the paper's own tables."""

from __future__ import annotations

import csv
import itertools
import re
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from scipy import stats

from netbenefit import CriticalDifferenceDisplay, InputError, RankTest, rank_models
from netbenefit.common import install_command
from netbenefit.validation.comparison import critical_difference, rank_groups

mpl.use("Agg")

#: Four ways to grow C4.5 on 14 data sets (Demšar 2006, table 6).  The two that print as 0.975 are
#: ranked 2 and 3 there, hence the fourth decimal.
DEMSAR = [
    [0.763, 0.768, 0.771, 0.798],
    [0.599, 0.591, 0.590, 0.569],
    [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657],
    [0.882, 0.888, 0.886, 0.898],
    [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685],
    [0.583, 0.583, 0.563, 0.625],
    [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000],
    [0.940, 0.962, 0.965, 0.962],
    [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9751, 0.975],
    [0.957, 0.978, 0.946, 0.970],
]


def random_scores(seed: int) -> np.ndarray:
    """Some data sets and models, with many ties where the seed is odd."""
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(2, 9)), int(rng.integers(3, 7))
    return rng.integers(0, 4, shape) / 4 if seed % 2 else rng.normal(size=shape)


def slow_ranks(scores: np.ndarray, higher: bool) -> np.ndarray:
    """1 + how many are better + half of the others that are as good."""
    ranks = np.zeros(scores.shape)
    for i, row in enumerate(scores.tolist()):
        for j, value in enumerate(row):
            better = sum((v > value) if higher else (v < value) for v in row)
            ranks[i, j] = 1 + better + (row.count(value) - 1) / 2
    return ranks


def slow_friedman(ranks: np.ndarray) -> float:
    """The printed formula: spread of rank sums, less for ties."""
    n, k = ranks.shape
    chi2 = 12 * n / (k * (k + 1)) * sum((r - (k + 1) / 2) ** 2 for r in ranks.mean(axis=0))
    ties = sum(t**3 - t for row in ranks for t in np.unique(row, return_counts=True)[1])
    full = n * (k**3 - k)
    return 0.0 if ties == full else chi2 / (1 - ties / full)


@pytest.mark.parametrize("seed", range(200))
def test_ranks_and_friedman_agree_with_plain_loops(seed: int) -> None:
    scores, higher = random_scores(seed), seed % 3 != 0
    found = rank_models(scores, higher_is_better=higher)
    ranks = slow_ranks(scores, higher)
    np.testing.assert_allclose(found.ranks, ranks)
    np.testing.assert_allclose(found.average, ranks.mean(axis=0))
    assert found.chi2 == pytest.approx(slow_friedman(ranks), abs=1e-9)
    assert found.p == pytest.approx(stats.chi2.sf(slow_friedman(ranks), found.df), abs=1e-9)


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_nemenyi_is_the_studentised_range_of_ranks(seed: int) -> None:
    found = rank_models(random_scores(seed))
    n, k = found.ranks.shape
    for i, j in itertools.product(range(k), repeat=2):
        q = abs(found.average[i] - found.average[j]) / np.sqrt(k * (k + 1) / (12 * n))
        expected = stats.studentized_range.sf(q, k, np.inf)
        assert found.nemenyi[i, j] == pytest.approx(expected, abs=1e-6)
    table = found.to_table()
    assert table.n_rows == k * (k - 1) // 2
    np.testing.assert_allclose(table["difference"], table["rank_a"] - table["rank_b"])


def test_nemenyi_by_simulation() -> None:
    """The chance that the largest gap of k random rankings reaches the critical difference."""
    rng = np.random.default_rng(0)
    k, n = 5, 40
    ranks = rng.permuted(np.tile(np.arange(1.0, k + 1), (4000, n, 1)), axis=2).mean(axis=1)
    share = (np.ptp(ranks, axis=1) >= critical_difference(k, n, 0.10)).mean()
    assert share == pytest.approx(0.10, abs=0.02)


def test_demsars_example() -> None:
    found = rank_models(DEMSAR, models=["C4.5", "+m", "+cf", "+m+cf"])
    assert found.average.round(3).tolist() == [3.143, 2.000, 2.893, 1.964]
    plain = 12 * 14 / 20 * ((found.average - 2.5) ** 2).sum()  # he does not correct for ties
    assert plain == pytest.approx(9.28, abs=0.005)
    assert found.chi2 == pytest.approx(stats.friedmanchisquare(*np.transpose(DEMSAR)).statistic)
    assert found.critical_difference() == pytest.approx(1.25, abs=0.005)
    assert found.critical_difference(0.10) == pytest.approx(1.12, abs=0.005)
    assert 0.05 < found.nemenyi[0, 3] < 0.10  # as he says of C4.5 and C4.5+m+cf


def test_iman_and_davenport() -> None:
    found = rank_models(DEMSAR)
    n, k = 14, 4
    f = (n - 1) * found.chi2 / (n * (k - 1) - found.chi2)
    assert found.f == pytest.approx(f)
    assert found.f_p == pytest.approx(stats.f.sf(f, 3, 39))
    same = rank_models([[1, 2, 3]] * 4)  # the ranking never changes: nothing left to divide by
    assert same.f == np.inf
    assert same.f_p == 0.0


@pytest.mark.parametrize("seed", range(100))
def test_groups_are_the_largest_sets_without_a_difference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    average = rng.integers(2, 13, int(rng.integers(3, 7))) / 2
    gap = float(rng.uniform(0.3, 4))
    alike = [
        frozenset(some)
        for size in range(2, average.size + 1)
        for some in itertools.combinations(range(average.size), size)
        if np.ptp(average[list(some)]) < gap
    ]
    largest = {some for some in alike if not any(some < other for other in alike)}
    found = rank_groups(average, gap)
    assert {frozenset(group) for group in found} == largest
    assert len(found) == len(largest)


def test_all_alike_is_no_evidence() -> None:
    found = rank_models(np.ones((4, 3)))
    assert (found.chi2, found.p) == (0.0, 1.0)
    assert found.groups() == [("model 1", "model 2", "model 3")]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0, 2.0], "have shape"),
        ([[1.0, 2.0], [1.0, 2.0]], "at least three models"),
        ([[1.0, 2.0, 3.0]], "two data sets"),
        ([[1.0, 2.0, np.nan], [1.0, 2.0, 3.0]], "'model 3' has no finite number on 'data set 1'"),
        ({"a": {"x": 1, "y": 2, "z": 3}, "b": {"x": 1, "y": 2}}, "same models everywhere"),
        ({}, "0 models on 0 data sets"),
    ],
)
def test_scores_that_cannot_be_ranked(scores: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rank_models(scores)  # type: ignore[arg-type]


def test_names_and_levels_are_checked() -> None:
    with pytest.raises(InputError, match="different names"):
        rank_models(np.eye(3), models=["a", "a", "b"])
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        rank_models(np.eye(3)).critical_difference(5)


def test_without_scikit_posthocs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    with pytest.raises(ImportError, match=re.escape(install_command("stats"))):
        rank_models(np.eye(3))


def test_mappings_are_read_by_name() -> None:
    scores = {"a": {"x": 1.0, "y": 2.0, "z": 3.0}, "b": {"z": 3.0, "x": 1.0, "y": 2.0}}
    found = rank_models(scores)
    assert dict(zip(found.models, found.average.tolist(), strict=True)) == {"z": 1, "y": 2, "x": 3}
    assert str(found).splitlines()[1] == "z  1.0000"


# -- the picture -----------------------------------------------------------------------------------


def test_the_critical_difference_is_drawn_to_scale(tmp_path: Path) -> None:
    found = rank_models(DEMSAR, models=["C4.5", "$m$", "_cf", "both"])
    display = found.plot(alpha=0.10)
    assert isinstance(display, CriticalDifferenceDisplay)
    assert len(display.bars_) == len(found.groups(0.10)) == 2
    for bar, group in zip(display.bars_, found.groups(0.10), strict=True):
        ranks = [found.average[found.models.index(name)] for name in group]
        low, high = bar.get_xdata()
        assert low == pytest.approx(min(ranks), abs=0.06)
        assert high == pytest.approx(max(ranks), abs=0.06)
    spans = [np.ptp(line.get_xdata()) for line in display.ax_.lines]
    assert any(span == pytest.approx(found.critical_difference(0.10)) for span in spans)
    display.save(tmp_path / "ranks.svg")
    text = (tmp_path / "ranks.svg").read_text()
    for words in ("$m$", "_cf", "3.14", "critical difference 1.12", "14 data sets"):
        assert words in text
    found.display().save(tmp_path / "again.svg")
    found.display().save(tmp_path / "same.svg")
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "same.svg").read_bytes()


def test_a_picture_needs_as_many_ranks_as_models() -> None:
    with pytest.raises(InputError, match=r"average has shape \(3,\), but there are 2 models"):
        CriticalDifferenceDisplay(["a", "b"], [1.0, 2.0, 3.0], 1.0)


# -- the paper's tables ----------------------------------------------------------------------------

BETTER = {"auroc": True, "aunbc": True, "ece": False, "size": False}


def rows_of(file: Path) -> list[dict[str, str]]:
    with open(file, encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def printed_ranks(folder: Path, metric: str) -> dict[str, float]:
    rows = rows_of(folder / "ranks.csv")
    return {row["method"]: float(row[metric]) for row in rows if row[metric]}


def from_means(folder: Path, metric: str) -> RankTest:
    """Ranks by the printed means, which have three decimals (sizes one)."""
    methods, split = printed_ranks(folder, metric), "all" if metric == "size" else "test"
    scores: dict[str, dict[str, float]] = {}
    for row in rows_of(folder / "performance.csv"):
        if (row["metric"], row["split"]) == (metric, split) and row["method"] in methods:
            scores.setdefault(row["dataset"], {})[row["method"]] = float(row["mean"])
    return rank_models(scores, higher_is_better=BETTER[metric])


def printed_pairs(folder: Path, metric: str) -> dict[tuple[str, str], float]:
    rows = [row for row in rows_of(folder / "nemenyi.csv") if row["metric"] == metric]
    return {(row["method_a"], row["method_b"]): float(row["p"]) for row in rows}


@pytest.mark.parametrize("metric", BETTER)
def test_the_papers_p_values_follow_from_its_ranks(paper_folder: Path, metric: str) -> None:
    ranks = printed_ranks(paper_folder, metric)
    k, n = len(ranks), 8
    odd = []
    for (a, b), p in printed_pairs(paper_folder, metric).items():
        q = abs(ranks[a] - ranks[b]) / np.sqrt(k * (k + 1) / (12 * n))
        ours = stats.studentized_range.sf(q, k, np.inf)
        assert ours == pytest.approx(p, abs=6e-4)
        odd += [(a, b)] if round(ours, 3) != p else []
    assert odd == ([("lasso", "rss-dnb")] if metric == "size" else [])


@pytest.mark.parametrize("metric", BETTER)
def test_the_papers_ranks_follow_from_its_means_up_to_rounding(
    paper_folder: Path, metric: str
) -> None:
    """Means that are equal to three decimals may be ranked either way; the others may not."""
    found = from_means(paper_folder, metric)
    assert len(found.datasets) == 8
    low, high = np.zeros(len(found.models)), np.zeros(len(found.models))
    for row in found.ranks:  # the best and the worst rank that breaking its ties could give
        for place, rank in enumerate(row):
            tied = (row == rank).sum()
            low[place] += rank - (tied - 1) / 2
            high[place] += rank + (tied - 1) / 2
    printed = np.array([printed_ranks(paper_folder, metric)[name] for name in found.models])
    assert (printed >= low / 8 - 1e-9).all()
    assert (printed <= high / 8 + 1e-9).all()
    if metric == "size":
        np.testing.assert_allclose(found.average, printed, atol=1e-9)
    else:
        assert np.abs(found.average - printed).max() > 0.1  # so rounding does change ranks


@pytest.mark.parametrize("metric", BETTER)
def test_the_papers_friedman_statistic(paper_folder: Path, metric: str) -> None:
    """It is that of the printed ranks, with fewer ties than the printed means have."""
    (row,) = [r for r in rows_of(paper_folder / "friedman.csv") if r["metric"] == metric]
    found, printed = from_means(paper_folder, metric), printed_ranks(paper_folder, metric)
    k, n, chi2 = len(printed), 8, float(row["chi2"])
    assert found.df == int(row["df"])
    plain = 12 * n / (k * (k + 1)) * sum((r - (k + 1) / 2) ** 2 for r in printed.values())
    ties = (1 - plain / chi2) * n * (k**3 - k)  # that correcting for them gives the printed one
    rounded = sum(t**3 - t for r in found.ranks for t in np.unique(r, return_counts=True)[1])
    expected = {"auroc": 504, "aunbc": 216, "ece": 126, "size": 12}[metric]
    assert ties == pytest.approx(expected, abs=1.5)
    if metric == "size":
        assert rounded == expected
        assert found.chi2 == pytest.approx(chi2, abs=0.005)
        assert found.p == pytest.approx(float(row["p"]), abs=5e-4)
    else:
        assert rounded > expected
        assert found.chi2 > chi2 + 0.1
    reported = stats.chi2.sf(chi2, k - 1)
    assert (
        reported < 0.001
        if row["p"] == "<0.001"
        else reported == pytest.approx(float(row["p"]), abs=6e-4)
    )


@pytest.mark.parametrize("metric", BETTER)
def test_rounding_changes_no_verdict_of_the_paper(paper_folder: Path, metric: str) -> None:
    found = from_means(paper_folder, metric)
    for (a, b), p in printed_pairs(paper_folder, metric).items():
        ours = found.nemenyi[found.models.index(a), found.models.index(b)]
        assert (ours < 0.05) == (p < 0.05), (a, b, ours, p)
