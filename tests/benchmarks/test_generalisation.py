"""The benchmark of what holds up on new data measures what it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.generalisation import logistic, trees
from benchmarks.generalisation.__main__ import main, make_cases
from benchmarks.generalisation.analyse import Book, Difference, mean_difference
from benchmarks.generalisation.benefit import contributions, regret
from benchmarks.generalisation.data import BreastCancerCase
from benchmarks.generalisation.methods import all_methods, choose_methods
from benchmarks.generalisation.report import real_section, simulated_section
from benchmarks.generalisation.rows import MergedRows, fold_count
from benchmarks.generalisation.run import missing_jobs, run
from benchmarks.generalisation.simulate import FAMILIES, SimulatedCase, draw_outcomes
from benchmarks.generalisation.store import Store
from benchmarks.generalisation.tables import Section, Table, write_sections
from netbenefit.metrics.benefit import aunbc
from netbenefit.metrics.thresholds import Thresholds

GRIDS = [Thresholds.tenths(), Thresholds.range(0.01, 0.1, 0.01), Thresholds.of([0.2, 0.25, 0.7])]
TINY = [SimulatedCase("sparse", replicate, 80, test_rows=400) for replicate in range(2)]


# -- what is measured ----------------------------------------------------------------------------


@pytest.mark.parametrize("grid", GRIDS)
def test_contributions_average_to_the_area(grid: Thresholds) -> None:
    rng = np.random.default_rng(0)
    y, risk = rng.random(300) < 0.3, rng.random(300).round(2)  # some risks equal thresholds
    assert contributions(y, risk, grid).mean() == pytest.approx(aunbc(y, risk, grid))


@pytest.mark.parametrize("grid", GRIDS)
def test_no_decisions_beat_those_by_the_true_risk(grid: Thresholds) -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(500) ** 3
    assert regret(truth, truth, grid) == 0.0
    for other in (
        np.zeros(500),
        np.ones(500),
        rng.random(500),
        truth * 0.9,
        rng.permutation(truth),
    ):
        assert regret(truth, other, grid) >= 0.0


def test_expected_area_is_the_mean_over_outcomes() -> None:
    rng = np.random.default_rng(2)
    truth, risk, grid = rng.random(200), rng.random(200), GRIDS[0]
    drawn = [contributions(rng.random(200) < truth, risk, grid).mean() for _ in range(2000)]
    expected = contributions(truth, risk, grid).mean()
    assert np.mean(drawn) == pytest.approx(expected, abs=5 * np.std(drawn) / np.sqrt(2000))


# -- simulated data ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_families_have_their_prevalence_and_draw_by_their_risk(name: str) -> None:
    family = FAMILIES[name]
    X, risk = family.population(0).rows(family.generator(0, 9), 40_000)
    y = draw_outcomes(np.random.default_rng(3), risk)
    assert X.dtype == np.int64
    assert len(np.unique(X[:200], axis=0)) > 20
    assert risk.mean() == pytest.approx(family.prevalence, rel=0.05)
    assert y.mean() == pytest.approx(risk.mean(), abs=5 * np.sqrt(risk.mean() / y.size))
    high = risk > np.median(risk)
    assert y[high].mean() == pytest.approx(risk[high].mean(), rel=0.15)
    assert risk.std() > 0.2 * family.prevalence  # the columns are informative


def test_a_case_is_drawn_alike_each_time_and_a_replicate_keeps_its_truth() -> None:
    first, again = TINY[0].load(), TINY[0].load()
    larger = SimulatedCase("sparse", 0, 160, test_rows=400).load()
    np.testing.assert_array_equal(first.X_train, again.X_train)
    np.testing.assert_array_equal(first.y_train, again.y_train)
    np.testing.assert_array_equal(first.truth, larger.truth)
    assert not np.array_equal(first.X_train, larger.X_train[:80])
    assert not np.array_equal(first.truth, TINY[1].load().truth)


def test_outcomes_have_two_rows_of_each_class() -> None:
    y = draw_outcomes(np.random.default_rng(4), np.full(50, 0.01))
    assert 2 <= y.sum() <= 48


# -- the baselines' parts ------------------------------------------------------------------------


def test_merged_rows_count_every_row_once() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 2, (60, 3)), rng.random(60) < 0.4
    merged = MergedRows.of(X, y)
    np.testing.assert_array_equal(merged.X[merged.group], X)
    assert merged.counts().events.sum() == y.sum()
    folds = list(merged.folds(0))
    assert len(folds) == fold_count(y) == 5
    assert sum(fold.validation.total for fold in folds) == 60
    assert all(fold.train.total + fold.validation.total == 60 for fold in folds)


def test_one_standard_error_never_keeps_more() -> None:
    sample = TINY[0].load()
    choice = logistic.cross_validate(sample.X_train, sample.y_train, 0)
    assert choice is logistic.cross_validate(sample.X_train, sample.y_train, 0)
    assert choice.one_standard_error() >= choice.best()
    merged = MergedRows.of(sample.X_train, sample.y_train)
    rows = (merged.X - sample.X_train.mean(axis=0)) / sample.X_train.std(axis=0)
    largest = logistic.fit_lasso(rows, merged.counts(), 1.01 * choice.penalties[0])
    assert not largest.coef_.any()


def test_prunings_reach_from_the_full_tree_to_the_root() -> None:
    sample = TINY[0].load()
    path = trees.pruning_path(MergedRows.of(sample.X_train, sample.y_train), 0)
    assert path.size <= trees.PRUNINGS
    assert (np.diff(path) > 0).all()
    tree = trees.fit_pruned(sample.X_train, sample.y_train, sample.thresholds, 0)
    assert 1 <= tree.tree_.node_count < 160


def test_breast_cancer_is_binned_by_its_training_rows() -> None:
    sample = BreastCancerCase(replicate=3).load()
    assert set(np.unique(sample.X_train)) == {0, 1}
    assert sample.X_train.shape[1] == sample.X_test.shape[1]
    assert sample.raw_train is not None
    assert sample.raw_train.shape == (len(sample.y_train), 10)


# -- running, storing, reporting -----------------------------------------------------------------


def test_a_second_run_has_nothing_to_do(tmp_path: Path) -> None:
    store, methods = Store(tmp_path), choose_methods(["logistic", "lasso", "lasso_1se"])
    assert run(TINY, methods, store) == 6
    assert run(TINY, methods, store) == 0
    assert not list(tmp_path.rglob("*.draft"))
    next(tmp_path.rglob("*lasso_1se*.json")).unlink()
    assert [m.name for job in missing_jobs(TINY, methods, store) for m in job.methods] == [
        "lasso_1se"
    ]
    assert len(missing_jobs(TINY, methods, store, redo=True)) == 2


def test_other_settings_are_other_files(tmp_path: Path) -> None:
    store = Store(tmp_path)
    quick, slow = choose_methods(["default"], 1.0)[0], choose_methods(["default"], 2.0)[0]
    assert store.path(TINY[0], quick) != store.path(TINY[0], slow)
    assert store.path(TINY[0], quick) == store.path(TINY[0], choose_methods(["default"], 1.0)[0])
    files = {store.path(case, method) for case in TINY for method in all_methods()}
    assert len(files) == len(TINY) * len(all_methods())


def test_simulated_results_are_stored_and_reported(tmp_path: Path) -> None:
    store, methods = Store(tmp_path), choose_methods(["logistic", "tree"])
    run(TINY, methods, store)
    result = store.load(TINY[1], methods[0])
    assert result is not None
    assert result.n_train == 80
    assert result.size == 20
    assert result.regret is not None
    assert 0.0 < result.regret < 0.2
    section = simulated_section(Book.read(TINY, methods, store), {})
    assert section.tables[0].rows[0][0] == "sparse-80"
    assert "lowest first" in section.lines[0]


def test_real_results_are_paired_by_row(tmp_path: Path) -> None:
    cases = make_cases("breast_cancer", most=2)
    store, methods = Store(tmp_path), choose_methods(["logistic", "logistic_raw", "lasso"])
    run(cases, methods, store)
    book = Book.read(cases, methods, store)
    difference = book.by_row("breast_cancer", "lasso", "logistic")
    assert difference is not None
    area = {name: book.aunbc("breast_cancer", name) for name in ("lasso", "logistic")}
    assert difference.mean == pytest.approx(area["lasso"] - area["logistic"], abs=1e-6)
    assert difference.error > 0
    section = real_section(book, "breast-cancer", "title")
    assert section.tables[0].header[2:] == ["logistic_raw", "lasso"]


def test_a_method_that_fails_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no tree")

    monkeypatch.setattr(trees, "fit_pruned", fail)
    store, methods = Store(tmp_path), choose_methods(["tree", "logistic"])
    assert run(TINY[:1], methods, store) == 1
    assert store.load(TINY[0], methods[0]) is not None
    book = Book.read(TINY, methods, store)
    assert book.warnings() == ["Not finished: logistic has 1 of 2 fits."]


def test_means_weigh_groups_equally() -> None:
    mean = mean_difference([Difference(0.1, 0.03), None, Difference(0.3, 0.04)])
    assert mean == pytest.approx((0.2, 0.025))
    assert Difference(-0.01, 0.02).holds
    assert not Difference(-0.03, 0.02).holds


def test_sections_fill_their_places(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("a\n<!-- begin:x -->\nold\n<!-- end:x -->\nb\n", encoding="utf-8")
    section = Section("x", "X", [Table("T", ["data", "m"], [["d", "1"]])], ["Said."])
    for _ in range(2):  # a second time changes nothing
        assert write_sections(document, [section, Section("y", "Y")]) == ["x"]
        assert document.read_text(encoding="utf-8") == (
            "a\n<!-- begin:x -->\nT\n\n| data | m |\n| --- | ---: |\n| d | 1 |\n\n- Said.\n"
            "<!-- end:x -->\nb\n"
        )


def test_the_command_reports_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["report", "--only", "simulated", "--out", str(tmp_path)]) == 0
    assert "No results yet" in capsys.readouterr().out
