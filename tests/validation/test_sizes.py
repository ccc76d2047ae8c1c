"""The path of sizes: what is measured, on which rows, and how it is shown."""

from __future__ import annotations

import csv
import pickle
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold

import netbenefit
from netbenefit import (
    AtMost,
    Binner,
    Include,
    InputError,
    MaxFPR,
    MaxQuestions,
    MinTPR,
    RiskScoreClassifier,
    RSSDNBClassifier,
    Scorecard,
    SettingChoice,
    SizePath,
    SizePathDisplay,
    Thresholds,
    UpdateChoice,
    aunbc,
    size_path,
    weighted_net_benefit,
)
from netbenefit.cards import Condition, share_text
from netbenefit.common import install_command
from netbenefit.plots.search import save_picture
from netbenefit.problem.problem import Progress
from netbenefit.validation.folds import Sample, make_folds
from netbenefit.validation.sizes import _SizeSearch
from tests.cli.test_main import COLOUR, error, people, run, save
from tests.helpers.raw_rows import outcome, raw_table

matplotlib.use("Agg")

GRID = Thresholds.of([0.1, 0.2, 0.4], weights=[0.5, 0.3, 0.2])
Folds = list[tuple[np.ndarray, np.ndarray]]


def make_data(n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 2, (n, 5)), columns=list("abcde"))
    X["e"] = rng.integers(0, 40, n) / 10
    risk = 0.08 + 0.3 * X["a"] + 0.25 * X["b"] + 0.1 * X["c"]
    return X, pd.Series(np.where(rng.random(n) < risk, "ill", "fine"), name="state")


def folds_of(y: pd.Series, n: int = 3) -> Folds:
    return list(StratifiedKFold(n, shuffle=True, random_state=1).split(np.zeros(len(y)), y))


def make_model(**settings: Any) -> RiskScoreClassifier:
    options = {"binner": None, "thresholds": GRID, "max_points": 5, "time_limit": None, "n_jobs": 1}
    return RiskScoreClassifier(**{**options, "teacher": "logistic", **settings})


def content(card: Scorecard) -> tuple[Any, ...]:
    """A card without its provenance, which says how long the search took."""
    return card.rules, card.cutoffs, card.risks


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, pd.Series]:
    return make_data()


@pytest.fixture(scope="module")
def path(data: tuple[pd.DataFrame, pd.Series]) -> SizePath:
    return size_path(make_model(teacher="auto"), *data, sizes=[1, 2, 4], folds=folds_of(data[1]))


# -- what is measured ------------------------------------------------------------------------------


def test_cards_of_all_rows(path: SizePath, data: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = data
    assert path.sizes == (1, 2, 4)
    assert (np.diff(path.objective) >= 0).all()
    for i, (size, card) in enumerate(path.cards.items()):
        assert card.size <= size
        assert card.provenance is not None
        assert card.provenance.outcome == "state = ill"
        benefit = weighted_net_benefit(y == "ill", card.risk(X), GRID)
        assert path.training_net_benefit[i] == pytest.approx(benefit, abs=1e-12)
        assert path.objective[i] == path.results[size].objective
    assert set(path.cards[2].features) == {"a", "b"}


def test_a_card_of_the_path_is_the_card_of_a_fit(
    path: SizePath, data: tuple[pd.DataFrame, pd.Series]
) -> None:
    """Risks are blended, and signs kept, as the estimator does it."""
    model = make_model(max_questions=2, solver="local").fit(*data)
    assert content(model.scorecard_) == content(path.cards[2])
    assert model.result_.objective == path.results[2].objective


def test_held_out_rows_are_measured_by_the_cards_of_their_fold(
    path: SizePath, data: tuple[pd.DataFrame, pd.Series]
) -> None:
    X, y = data
    for fold, (_, test) in enumerate(folds_of(y)):
        for i, size in enumerate(path.sizes):
            risk = path.fold_cards[fold][size].risk(X.iloc[test])
            event = (y == "ill").to_numpy()[test]
            benefit = weighted_net_benefit(event, risk, GRID)
            assert path.fold_net_benefit[fold, i] == pytest.approx(benefit, abs=1e-12)
            assert path.fold_aunbc[fold, i] == pytest.approx(aunbc(event, risk, GRID), abs=1e-12)


def test_means_errors_and_choices() -> None:
    """By hand: sizes 1, 2, 3 over two folds; as many rows are held out as are learnt from."""
    folds = np.array([[0.10, 0.29, 0.30], [0.20, 0.39, 0.44]])
    made = SizePath((1, 2, 3), {}, {}, np.zeros(3), folds, folds / 2, (), 1.0)
    assert made.held_out == pytest.approx([0.15, 0.34, 0.37])
    # sd · √(1/2 + 1), where the sd of two is their distance / √2
    assert made.held_out_se == pytest.approx(np.array([0.05, 0.05, 0.07]) * 3**0.5)
    assert made.aunbc == pytest.approx([0.075, 0.17, 0.185])
    assert made.aunbc_se == pytest.approx(np.array([0.025, 0.025, 0.035]) * 3**0.5)
    assert made.difference == pytest.approx([-0.22, -0.03, 0.0])
    assert made.difference_se == pytest.approx(np.array([0.02, 0.02, 0.0]) * 3**0.5)
    assert (made.best, made.suggested) == (3, 2)
    plain = replace(made, ratio=0.0)  # without the correction, the error is too small for that
    assert (plain.best, plain.suggested) == (3, 3)
    closer = replace(plain, fold_net_benefit=folds + np.array([0, 0.02, 0]))
    assert (closer.best, closer.suggested) == (3, 2)
    equal = SizePath((1, 4), {}, {}, np.zeros(2), np.ones((2, 2)), folds, (), 1.0)
    assert (equal.best, equal.suggested) == (1, 1)


def test_the_rule_is_that_of_choose_setting() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        values, ratio = rng.normal(size=(5, 4)).round(1), float(rng.choice([0.25, 1.0]))
        sizes = np.tile(np.arange(1.0, 5.0), (5, 1))
        choice = SettingChoice(tuple({"k": k} for k in range(1, 5)), values, sizes, ratio)
        path = SizePath((1, 2, 3, 4), {}, {}, np.zeros(4), values, values, (), ratio)
        update = UpdateChoice(("keep", "risks", "cutoffs", "refit"), values, values, ratio)
        assert path.suggested == choice.setting["k"]
        assert update.ways.index(update.suggested) == path.sizes.index(path.suggested)
        np.testing.assert_array_equal(path.difference_se, choice.difference_se)


# -- nothing leaks ---------------------------------------------------------------------------------


def test_held_out_rows_teach_nothing(path: SizePath, data: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = data
    folds = folds_of(y)
    _, test = folds[0]
    poisoned_y, poisoned_X = y.copy(), X.copy()
    poisoned_y.iloc[test] = np.where(y.iloc[test] == "ill", "fine", "ill")
    poisoned_X.iloc[test, :4] = 1 - X.iloc[test, :4]
    poisoned_X.iloc[test, 4] = 7.12345 * X.iloc[test, 4]  # more decimals, more spread
    model = make_model(teacher="auto")
    other = size_path(model, poisoned_X, poisoned_y, sizes=[1, 2, 4], folds=folds)
    for size in path.sizes:
        assert content(other.fold_cards[0][size]) == content(path.fold_cards[0][size])
    assert (other.fold_net_benefit[0] != path.fold_net_benefit[0]).any()
    assert content(other.cards[4]) != content(path.cards[4])


def test_the_estimator_is_left_alone(data: tuple[pd.DataFrame, pd.Series]) -> None:
    model = make_model(max_features=2)
    before = model.get_params()
    size_path(model, *data, sizes=[1], folds=2)
    assert model.get_params() == before
    assert not hasattr(model, "scorecard_")
    assert not hasattr(model, "n_features_in_")


def test_same_seed_same_path_also_in_parallel(
    data: tuple[pd.DataFrame, pd.Series],
) -> None:
    one, two = (size_path(make_model(), *data, sizes=[2], folds=2, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.fold_net_benefit, two.fold_net_benefit)
    np.testing.assert_array_equal(one.objective, two.objective)
    assert str(one) == str(two)
    first, second, other = (
        size_path(make_model(), *data, sizes=[1], folds=2, random_state=seed) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.fold_net_benefit, second.fold_net_benefit)
    assert (first.fold_net_benefit != other.fold_net_benefit).any()


def test_a_journal_keeps_finished_folds(
    data: tuple[pd.DataFrame, pd.Series], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = data
    file = tmp_path / "journal"
    whole = size_path(make_model(), X, y, sizes=[1, 2], folds=3, journal=file)
    lines = file.read_text().splitlines(keepends=True)
    assert len(lines) == 4
    file.write_text("".join(lines[:3]))  # as if it had been ended after two folds
    posed: list[int] = []
    pose = _SizeSearch.pose

    def counted(search: _SizeSearch, rows: Any = None) -> Any:
        posed.append(0 if rows is None else len(rows))
        return pose(search, rows)

    monkeypatch.setattr(_SizeSearch, "pose", counted)
    again = size_path(make_model(), X, y, sizes=[1, 2], folds=3, journal=file)
    assert len(posed) == 2  # all rows, and the third fold
    assert str(again) == str(whole)
    assert [content(c[2]) for c in again.fold_cards] == [content(c[2]) for c in whole.fold_cards]
    options = {"sizes": [1, 2], "folds": 3, "journal": file}
    for changed in ({"sizes": [1]}, {"random_state": 1}, {"groups": np.arange(len(y))}):
        with pytest.raises(InputError, match="other data or other settings"):
            size_path(make_model(), X, y, **{**options, **changed})


def test_groups_stay_together(data: tuple[pd.DataFrame, pd.Series]) -> None:
    """In the folds, and where the teacher learns, as in ``fit``."""
    X, y = data
    groups = np.repeat(np.arange(len(y) // 3), 3)
    seen: list[set[int]] = []
    model = make_model(max_features=1, penalty=0, solver="local")
    found = size_path(model, X, y, sizes=[1], folds=2, groups=groups)
    sample = Sample.of(X, y, None)
    for train, test in make_folds(2, sample, 0, groups=groups):
        assert not set(groups[train]) & set(groups[test])
        seen.append(set(groups[test]))
    assert set.union(*seen) == set(groups.tolist())
    assert content(found.cards[1]) == content(model.fit(X, y, groups=groups).scorecard_)
    own = found.results[1].objective
    assert own == model.result_.objective
    assert own != size_path(model, X, y, sizes=[1], folds=2).results[1].objective


# -- settings --------------------------------------------------------------------------------------


def test_settings_of_the_estimator_apply(data: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = data
    model = make_model(
        sign={"a": "-"}, bounds={"b": (0, 1)}, constraints=[AtMost(0, ["c"])], max_features=2
    )
    found = size_path(model, X, y, folds=KFold(2))
    assert found.sizes == (1, 2)
    for cards in (found.cards, *found.fold_cards):
        for card in cards.values():
            points = {rule.term.feature: rule.points for rule in card.rules}
            assert points.get("a", 0) <= 0
            assert points.get("b", 0) in (0, 1)
            assert "c" not in points


def test_sizes_begin_where_constraints_do(data: tuple[pd.DataFrame, pd.Series]) -> None:
    model = make_model(constraints=[Include("a", "b")], max_features=3)
    assert size_path(model, *data, folds=2).sizes == (2, 3)
    with pytest.raises(InputError, match=r"clash: .*at most 1 question"):
        size_path(model, *data, sizes=[1], folds=2)


def test_rates_that_small_cards_do_not_meet(data: tuple[pd.DataFrame, pd.Series]) -> None:
    model = make_model(constraints=[MinTPR(0.2, 0.8), MaxFPR(0.2, 0.52)])
    assert 1 not in size_path(model, *data, sizes=[1, 2, 4], folds=2).sizes


def test_the_published_method_and_weights() -> None:
    X, y = make_data(150, 3)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    model = RSSDNBClassifier(thresholds=GRID, max_points=3, penalty=0, n_jobs=1)
    weighted = size_path(model, X, y, sizes=[2], folds=2, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight)
    benefit = weighted_net_benefit(
        y.to_numpy()[rows] == "ill", weighted.cards[2].risk(X.iloc[rows]), GRID
    )
    assert weighted.training_net_benefit[0] == pytest.approx(benefit, abs=1e-12)
    # Without a teacher, the objective is net benefit, and levels have the rates of their rows.
    assert weighted.objective[0] == pytest.approx(benefit, abs=1e-12)


def test_columns_that_say_nothing_get_a_card_without_rules() -> None:
    rng = np.random.default_rng(5)
    X = np.column_stack([np.arange(60) % 2, rng.integers(0, 2, 60)])
    found = size_path(
        RSSDNBClassifier(thresholds=[0.5], max_points=1, n_jobs=1), X, np.arange(60) < 10, folds=2
    )
    assert [card.size for card in found.cards.values()] == [0, 0]
    assert "(0 suffice)" in str(found)
    assert (found.best, found.suggested) == (1, 1)


def test_the_estimators_callback_is_called(data: tuple[pd.DataFrame, pd.Series]) -> None:
    seen: list[Progress] = []
    size_path(make_model(callback=seen.append), *data, sizes=[1, 2], folds=2)
    assert {progress.size for progress in seen} == {1, 2}
    size_path(make_model(verbose=1), *data, sizes=[1], folds=2)


def test_an_interrupt_ends_the_search(data: tuple[pd.DataFrame, pd.Series]) -> None:
    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        size_path(make_model(callback=stop), *data, sizes=[1, 2], folds=2)


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            LogisticRegression(),
            r"estimator is a LogisticRegression. Pass a RiskScoreClassifier\(\)",
        ),
        (RiskScoreClassifier, r"estimator is the class RiskScoreClassifier. Pass a"),
        (None, "estimator is a NoneType"),
    ],
)
def test_other_estimators_are_refused(
    data: tuple[pd.DataFrame, pd.Series], estimator: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        size_path(estimator, *data)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sizes": [0]}, "each of the sizes must be a whole number of at least 1, not 0"),
        ({"sizes": [1.5]}, "not 1.5"),
        ({"sizes": 3}, "sizes must be a list of whole numbers, not 3"),
        ({"sizes": [2, 9]}, "sizes go up to 9, but only 5 columns can have points. Use sizes of"),
        ({"folds": 1}, "folds=1 must be at least 2"),
        ({"folds": True}, "folds=True must be"),
        ({"folds": 2.5}, "folds=2.5 must be"),
        ({"folds": None}, "folds=None must be"),
        ({"folds": 500}, r"folds=500 must be at least 2, and at most \d+, the number of events"),
        ({"folds": "five"}, "folds='five' gives no folds"),
        ({"folds": [(np.arange(9), np.arange(9, 20))]}, "gives 1 fold. Standard errors need at"),
        ({"n_jobs": 0}, "n_jobs=0 would never run a task"),
        ({"sample_weight": [1.0]}, r"sample_weight has shape \(1,\), but there are 240 rows"),
    ],
)
def test_bad_settings(
    data: tuple[pd.DataFrame, pd.Series], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        size_path(make_model(), *data, **settings)


def test_limits_of_the_estimator_are_named(data: tuple[pd.DataFrame, pd.Series]) -> None:
    with pytest.raises(InputError, match="up to 4, but the estimator's max_features is 3"):
        size_path(make_model(max_features=3), *data, sizes=[4])
    with pytest.raises(InputError, match="no column may have points"):
        size_path(make_model(max_features=0), *data)
    with pytest.raises(InputError, match="'max_points' parameter"):
        size_path(make_model(max_points=0), *data)


def test_errors_of_a_fold_say_which(data: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = data
    ill = np.flatnonzero(y == "ill")
    rest = np.flatnonzero(y != "ill")
    good = (np.concatenate([ill[5:], rest[5:]]), ill[:5])
    with pytest.raises(InputError, match="fold 2 has training rows of one class only"):
        size_path(make_model(), X, y, sizes=[1], folds=[good, (rest, ill)])
    with pytest.raises(InputError, match="fold 2 holds out rows that it also learns from"):
        size_path(make_model(), X, y, sizes=[1], folds=[good, (np.arange(len(y)), ill)])


# -- how it is shown -------------------------------------------------------------------------------


def test_table(path: SizePath) -> None:
    table = path.to_table()
    assert list(table) == [
        "size", "questions", "rules", "share_kept", "objective", "training_net_benefit",
        "held_out_net_benefit", "held_out_se", "difference", "difference_se", "held_out_aunbc",
        "held_out_aunbc_se", "best", "suggested", "features",
    ]  # fmt: skip
    assert table.n_rows == 3
    assert table["size"].tolist() == [1, 2, 4]
    assert table["size"][table["best"]].tolist() == [path.best]
    assert table["size"][table["suggested"]].tolist() == [path.suggested]
    assert table["features"][1] == ", ".join(path.cards[2].features)
    np.testing.assert_array_equal(table["held_out_net_benefit"], path.held_out)


def test_text(path: SizePath) -> None:
    lines = str(path).splitlines()
    assert lines[0] == "Net benefit by the number of questions"
    rows = [line.split() for line in lines[3:6]]
    assert [row[0] for row in rows] == ["1", "2", "4"]
    for i, row in enumerate(rows):
        assert row[1] == str(path.cards[path.sizes[i]].size)
        assert row[2:5] == [f"{path.held_out[i]:.4f}", "±", f"{path.held_out_se[i]:.4f}"]
        assert path.kept is not None
        assert share_text(path.kept[i]) in row
        assert ("best" in lines[3 + i]) == (path.sizes[i] == path.best)
        assert ("suggested" in lines[3 + i]) == (path.sizes[i] == path.suggested)
    assert "over 3 folds" in lines[-1]
    assert max(map(len, lines)) <= 80


def test_plot_draws_without_a_screen_and_returns_itself(path: SizePath) -> None:
    display = path.plot()
    assert isinstance(display, SizePathDisplay)
    assert (
        display.ax_.get_xlabel() == "questions on the card; share of the teacher's net benefit kept"
    )
    assert display.ax_.get_ylabel() == "net benefit on held-out rows"
    drawn = display.errorbar_.lines[0]
    np.testing.assert_array_equal(drawn.get_xdata(), path.sizes)
    np.testing.assert_array_equal(drawn.get_ydata(), path.held_out)
    np.testing.assert_array_equal(display.line_.get_ydata(), path.training_net_benefit)
    _, ax = matplotlib.pyplot.subplots()
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(label.startswith("best") for label in labels)
    assert any("suggested" in label for label in labels)
    matplotlib.pyplot.close("all")


def test_plot_of_many_sizes_and_of_two_marks() -> None:
    sizes = np.arange(1, 31)
    display = SizePathDisplay(
        sizes, sizes / 30, sizes * 0 + 0.1, sizes / 20, best=30, suggested=4, n_folds=10
    ).plot()
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "best (30 questions)" in labels
    assert "suggested: the smallest about as good (4 questions)" in labels
    assert len(display.ax_.get_xticks()) < 20
    matplotlib.pyplot.close("all")


def test_the_same_path_gives_the_same_picture(path: SizePath, tmp_path: Path) -> None:
    for suffix in (".svg", ".png", ".pdf"):
        first, second = (tmp_path / f"{name}{suffix}" for name in "ab")
        save_picture(path, first)
        save_picture(path, second)
        assert first.read_bytes() == second.read_bytes()


def test_plot_without_matplotlib_says_what_to_install(
    path: SizePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=re.escape(install_command("plots"))):
        path.plot()


def test_the_function_is_not_hidden_by_its_module() -> None:
    assert callable(netbenefit.size_path)
    assert netbenefit.SizePath is SizePath


# -- command line ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(people(300), tmp_path_factory.mktemp("sizes") / "the people.csv")


CALL = ["--target", "ill", "--drop", "town", "--time-limit", "1", "--folds", "2"]


def test_command(table: Path, tmp_path: Path) -> None:
    picture, rows = tmp_path / "sizes.svg", tmp_path / "sizes.csv"
    printed = run(
        "sizes", table, *CALL, "--max-size", 2, "--thresholds", "0.1:0.5:0.1", "--sample-weight",
        "weight", "--plot", picture, "--csv", rows, "--teacher", "logistic",
    )  # fmt: skip
    assert "the people.csv: 300 rows, " in printed
    assert "3 searches of up to 1 s each" in printed
    assert "← " in printed
    assert "± one standard error over 2 folds" in printed
    assert (
        f"netbenefit fit '{table}' --target ill --thresholds 0.1:0.5:0.1 --teacher logistic --drop "
        "town --sample-weight weight --max-questions 2 --out card.json"
    ) in printed
    assert not COLOUR.search(printed)
    assert "<svg" in picture.read_text(encoding="utf-8")
    with open(rows, encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["size"] for row in read] == ["1", "2"]
    assert read[1]["suggested"] == "True"


def test_quiet_command_prints_the_table_alone(table: Path) -> None:
    numbers = ["--binner", "none", "--teacher", "none"]
    printed = run("sizes", table, *CALL, *numbers, "--max-size", 1, "--drop", "weight", "--quiet")
    assert printed.startswith("Net benefit by the number of questions")
    assert (
        "The card with 1 question has the highest net benefit on held-out rows. Choose the size"
        in printed
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--plot", "sizes.bmp"], "sizes.bmp: cannot tell the format from the name"),
        (["--csv", "no/such/folder.csv"], "there is no folder no/such"),
        (["--sign", "old"], "write NAME=+ or NAME=-"),
        (["--prior-strength", "much"], "--prior-strength must be auto or a number"),
        (["--drop", "nothing"], "--drop names column 'nothing'"),
        (["--folds", "200"], "--folds 200 must be at least 2, and at most"),
        (["--time-limit", "-1"], "--time-limit must be positive"),
        (["--monotone", "nobody+"], "--monotone names column 'nobody'"),
    ],
)
def test_bad_options(table: Path, options: list[str], message: str) -> None:
    assert message in error("sizes", table, *CALL, *options)


def test_raw_tables(table: Path, tmp_path: Path) -> None:
    """Text and missing values: conditions are cut, and the teacher learns, anew in every fold."""
    other, journal = tmp_path / "towns.csv", tmp_path / "journal"
    call = ["--target", "ill", "--drop", "weight", "--time-limit", "1", "--folds", "2"]
    printed = run("sizes", table, *call, "--max-size", 2, "--teacher", "logistic")
    assert "over 2 folds" in printed
    assert "--teacher logistic" in printed
    rows = people(300)
    towns = save({**rows, "town": np.array(["Bonn", "Köln", "Trier"])[np.arange(300) % 3]}, other)
    assert "have no order" in error("sizes", towns, *call, "--monotone", "town+")
    limits = ["--monotone", "old+", "--max-per-column", 1, "--journal", journal]
    printed = run("sizes", table, *call, "--max-size", 2, "--teacher", "none", *limits)
    assert "--max-per-column 1 --monotone old+" in printed
    assert len(journal.read_text().splitlines()) == 3
    message = error("sizes", table, *call, "--binner", "none")
    assert "column 'town' holds text, such as 'Bonn' in line 2" in message
    assert "--teacher" not in message


def test_raw_tables_in_python() -> None:
    table = raw_table(1, 150)
    y = outcome(table, 1)
    model = RiskScoreClassifier(
        binner="auto", teacher="logistic", thresholds=GRID, max_points=2, time_limit=1.0, n_jobs=1
    )
    for rows in (table, pd.DataFrame(table)):
        found = size_path(model, rows, y, sizes=[1, 3], folds=2)
        assert found.sizes == (1, 3)
        assert found.cards[3].provenance.teacher == "logistic regression"
        assert found.cards[1].size <= 1
        assert all(card.risk(table).shape == (150,) for card in found.cards.values())


# -- questions with several rules ------------------------------------------------------------------


def stepped_rows(n: int = 400) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Five columns whose risk rises in steps, the first ones most, and five of noise."""
    rng = np.random.default_rng(8)
    X = pd.DataFrame({f"x{k}": rng.integers(0, 6, n) for k in range(10)})
    odds = sum((5 - k) / 6 * (X[f"x{k}"] - 2.5) for k in range(5))
    return X, rng.random(n) < 1 / (1 + np.exp(-odds))


def stepped_model(**settings: Any) -> RiskScoreClassifier:
    cuts = {f"x{k}": (1, 2, 3, 4, 5) for k in range(10)}
    return make_model(binner=Binner(cuts=cuts), n_jobs=2, **settings)


def test_sizes_count_questions_not_rules() -> None:
    X, y = stepped_rows()
    model = stepped_model(penalty=1e-4)
    path = size_path(model, X, y, sizes=[1, 2, 3], folds=2)
    for size, card in path.cards.items():
        assert len(card.features) == path.results[size].questions == size
        assert all(isinstance(rule.term, Condition) for rule in card.rules)
    assert path.cards[1].features == ("x0",)
    assert path.cards[1].size > 1
    assert path.kept is not None
    assert (np.diff(path.kept) > 0).all()
    assert path.to_table()["questions"].tolist() == [1, 2, 3]
    fitted = clone(model).set_params(max_questions=2, solver="local").fit(X, y)
    assert len(fitted.scorecard_.features) == 2
    # Two searches of the same problem, both to the end.
    assert fitted.result_.objective == pytest.approx(path.results[2].objective, abs=2e-3)


@pytest.mark.parametrize("teacher", ["logistic", None])
def test_what_cards_with_fewer_and_more_questions_keep(teacher: str | None) -> None:
    X, y = stepped_rows()
    model = stepped_model(
        teacher=teacher, penalty=1e-4, solver="local", max_questions=4, max_points=2
    )
    model.fit(X, y)
    assert model.result_.questions == 4
    found = model.other_sizes()
    assert list(found.kept) == [2, 3, 5]
    shares = [found.kept[2], found.kept[3], found.own_share, found.kept[5]]
    assert shares == sorted(shares)
    assert (found.own_share == 1.0) == (teacher is None)
    limited = clone(model).set_params(max_questions=3).fit(X, y)
    again = limited.result_.net_benefit / model.result_.net_benefit * found.own_share
    assert again == pytest.approx(found.kept[3], abs=2e-2)
    lines = str(found).splitlines()
    assert len(lines) == 6
    assert [line.split()[-1] for line in lines[1:-1]] == [share_text(share) for share in shares]
    assert "max_questions=K; size_path" in lines[-1]
    assert "--max-questions K; `sizes`" in found.lines(options=True)
    thawed = pickle.loads(pickle.dumps(model))
    assert thawed.scorecard_ == model.scorecard_
    with pytest.raises(InputError, match="no longer has its rows"):
        thawed.other_sizes()


def test_a_default_card_asks_at_most_eight_questions() -> None:
    rng = np.random.default_rng(8)
    X = rng.integers(0, 2, (600, 11))
    y = rng.random(600) < 1 / (1 + np.exp(5.5 - X.sum(axis=1)))
    model = make_model(penalty=0.0, teacher=None, solver="local").fit(X, y)
    assert model.result_.questions == 8
    assert list(model.other_sizes().kept) == [3, 5, 11]
    limit = {"constraints": [MaxQuestions(10)]}
    for free in ({"max_questions": None}, {"max_features": 11}, limit):
        assert clone(model).set_params(**free).fit(X, y).result_.questions > 8
    path = size_path(model, X, y, folds=2, sizes=[8, 10])
    assert path.results[10].questions == 10


def test_more_questions_that_pay_nothing_are_not_listed() -> None:
    X, y = stepped_rows()
    model = make_model(solver="local").fit(X[["x0", "x1"]], y)
    assert list(model.other_sizes().kept) == [1]
    assert "at most 1 question " in str(model.other_sizes())
    alone = make_model(solver="local").fit(X[["x0"]], y)
    assert alone.other_sizes().kept == {}
    assert str(alone.other_sizes()) == ""
