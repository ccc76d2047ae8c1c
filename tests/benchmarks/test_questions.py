"""The benchmark of cards with few questions: who is compared, and how results are put together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.generalisation import faster, logistic
from benchmarks.generalisation.__main__ import make_cases
from benchmarks.generalisation.analyse import Book
from benchmarks.generalisation.faster import fit_fasterrisk
from benchmarks.generalisation.forward import choose_questions, fit_forward
from benchmarks.generalisation.methods import (
    Forward,
    Lasso,
    QuestionCard,
    all_methods,
    choose_methods,
)
from benchmarks.generalisation.raw import RawCase
from benchmarks.generalisation.report import raw_section, speed_section
from benchmarks.generalisation.rows import MergedRows, Standardiser
from benchmarks.generalisation.run import missing_jobs
from benchmarks.generalisation.simulate import SimulatedCase
from benchmarks.generalisation.speed import ROWS, SpeedCase
from benchmarks.generalisation.store import Result, Store
from benchmarks.generalisation.tables import Section, write_sections
from reproduction.fasterrisk import FasterRiskError, available

#: Question 0 says much, but only with both of its conditions; 1 says something; 2 is noise.
QUESTIONS = np.array([0, 0, 1, 2, 2])


def small_table(seed: int = 0, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    level, sign, noise = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    X = np.column_stack([level >= 1, level >= 2, sign, noise >= 1, noise >= 2]).astype(np.int64)
    score = 3.0 * (level == 1) + 1.2 * sign - 2.0
    return X, rng.random(n) < 1 / (1 + np.exp(-score))


# -- forward selection ---------------------------------------------------------------------------


def test_forward_selection_adds_the_question_that_says_most() -> None:
    X, y = small_table()
    alone = []
    for question in range(3):
        merged = MergedRows.of(X[:, question == QUESTIONS], y)
        fits = [
            (logistic.fit_lasso(merged.X, fold.train, 1e-6), fold.validation)
            for fold in merged.folds(0)
        ]
        alone.append(sum(logistic.log_loss(model, merged.X, held) for model, held in fits))
    assert np.argmin(alone) == 0
    cards = [
        fit_forward(X, y, QUESTIONS, max_questions=most, max_points=10, seed=0)
        for most in (0, 1, 2)
    ]
    assert [card.chosen for card in cards] == [(), (0,), (0, 1)]
    assert not cards[0].points.any()
    np.testing.assert_allclose(cards[0].risk(X), y.mean(), rtol=1e-6)
    assert cards[1].points[0] > 0 > cards[1].points[1]  # up and down again
    for card in cards[1:]:
        assert np.abs(card.points).max() == 10
        assert not card.points[~np.isin(QUESTIONS, card.chosen)].any()
        order = np.argsort(X @ card.points)
        assert (np.diff(card.risk(X)[order]) >= 0).all()
    assert cards[2].risk(X)[y].mean() > cards[2].risk(X)[~y].mean() + 0.2


def test_forward_selection_keeps_no_question_that_does_not_help() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (300, 5)), rng.random(300) < 0.4
    merged = MergedRows.of(X, y)
    rows = Standardiser.of(X)(merged.X)
    chosen = choose_questions(merged, rows, QUESTIONS, 3, 0)
    assert len(chosen) < 3
    assert len(choose_questions(merged, rows, QUESTIONS, 0, 0)) == 0


# -- FasterRisk ----------------------------------------------------------------------------------


class StandIn:
    """A FasterRisk that uses the first columns, and fails where it is told to."""

    asked: list[int]  #: sizes of all fits
    fails: Sequence[int] = ()
    words = "ValueError: max() arg is an empty sequence"
    asks = 2

    def __init__(self, *, max_features: int, max_points: int, options: dict[str, Any]) -> None:
        self.size, self.options = max_features, options
        assert max_points == 10

    def fit(self, X: np.ndarray, y: np.ndarray) -> StandIn:
        self.asked.append(self.size)
        if self.size in self.fails:
            raise FasterRiskError(self.words)
        assert self.options["group_sparsity"] == 2
        assert self.options["featureIndex_to_groupIndex"] == QUESTIONS.tolist()
        self.coef_ = np.where(self.asks > QUESTIONS, 1, 0)
        return self


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    class Fresh(StandIn):
        asked: list[int] = []  # noqa: RUF012

    monkeypatch.setattr(faster, "FasterRiskClassifier", Fresh)
    return Fresh


def _faster() -> Any:
    X, y = small_table()
    return fit_fasterrisk(X, y, QUESTIONS, max_questions=2, max_points=10, rules=4)


def test_numbers_with_which_the_beam_search_fails_are_passed_over(stand_in: type[StandIn]) -> None:
    assert _faster().size == 4
    stand_in.fails = [4]
    assert _faster().size == 3
    assert stand_in.asked == [4, 4, 3]
    stand_in.fails = [2, 3, 4]
    with pytest.raises(RuntimeError, match="fails with 4 rules and with fewer"):
        _faster()
    stand_in.fails, stand_in.words = [4], "MemoryError"
    with pytest.raises(FasterRiskError, match="MemoryError"):
        _faster()


def test_a_card_with_too_many_questions_is_refused(stand_in: type[StandIn]) -> None:
    stand_in.asks = 3
    with pytest.raises(RuntimeError, match="asks 3 questions"):
        _faster()


@pytest.mark.skipif(not available(), reason="FasterRisk is not installed")
def test_the_real_one_keeps_the_limit() -> None:
    X, y = small_table()
    pairs = QUESTIONS != 1  # a beam that holds a question with one column ends at two rules
    own = QUESTIONS[pairs]
    model = fit_fasterrisk(X[:, pairs], y, own, max_questions=1, max_points=10, rules=3)
    assert np.unique(own[model.coef_ != 0]).tolist() == [0]
    assert model.size == 2  # both conditions; a third would need another question


# -- methods on a raw table ----------------------------------------------------------------------


def test_limits_on_questions_hold_on_a_raw_table() -> None:
    sample = RawCase("biopsy", 0).load()
    assert sample.questions is not None
    assert np.unique(sample.questions).size == 3
    grid = sample.thresholds
    card = QuestionCard("q", time_limit=1.0, max_questions=1).fit_predict(
        sample.raw_train, sample.y_train, sample.raw_test, grid, 0
    )
    rows = sample.X_train, sample.y_train, sample.X_test, grid, 0, sample.questions
    forward = Forward("f", max_questions=1).fit_predict(*rows)
    free = Lasso("lasso").fit_predict(*rows)
    assert card.questions == forward.questions == 1
    assert card.size is not None
    assert card.size > 1  # rules are not limited
    assert free.questions == 3
    assert Lasso("lasso").fit_predict(*rows[:-1]).questions is None


def test_methods_run_where_they_get_what_they_need(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def names(case: Any) -> set[str]:
        [job] = missing_jobs([case], all_methods(), store)
        return {method.name for method in job.methods}

    plain, raw = names(SimulatedCase("sparse", 0, 80)), names(RawCase("biopsy", 0))
    assert names(SpeedCase("few", 0)) == {"timed", "timed_5q"}
    assert {"card", "card_5q", "forward_8q", "fasterrisk_5q", "lasso"} <= raw
    assert "logistic_raw" not in raw  # a table is no array of numbers
    assert plain == raw - {name for name in raw if name.startswith(("card", "fas", "forward"))}
    assert names(make_cases("breast_cancer")[0]) == plain | {"logistic_raw"}


# -- results ---------------------------------------------------------------------------------------


def _save(store: Store, case: Any, name: str, rows: np.ndarray, **more: Any) -> Result:
    [method] = choose_methods([name])
    aunbc = float(rows.mean())
    result = Result(
        case.kind, case.data, case.replicate, name, n_train=90, aunbc=aunbc, regret=None,
        auroc=0.8, ece=0.01, size=7, seconds=2.0, code="", slope=1.0, **more,
    )  # fmt: skip
    store.save(case, method, result, rows)
    return result


def test_differences_by_fold_are_corrected(tmp_path: Path) -> None:
    store, rng = Store(tmp_path), np.random.default_rng(2)
    cases = [RawCase("biopsy", fold) for fold in range(4)]
    gaps = []
    for case in cases:
        pair = [_save(store, case, name, rng.normal(size=10)) for name in ("card_5q", "lasso")]
        gaps.append(pair[0].aunbc - pair[1].aunbc)
    book = Book.read(cases, choose_methods(["card_5q", "lasso"]), store)
    found = book.by_fold("biopsy", "card_5q", "lasso")
    assert found is not None
    assert found.mean == pytest.approx(np.mean(gaps))
    assert found.error == pytest.approx(np.std(gaps, ddof=1) * math.sqrt(1 / 4 + 10 / 90))
    assert book.by_fold("biopsy", "card_5q", "forward_5q") is None
    single = Book.read(cases[:1], choose_methods(["card_5q", "lasso"]), store)
    assert math.isnan(single.by_fold("biopsy", "card_5q", "lasso").error)  # type: ignore[union-attr]


def test_results_without_questions_are_reported_as_before(tmp_path: Path) -> None:
    store, rows = Store(tmp_path), np.linspace(0.0, 0.4, 10)
    methods = choose_methods(["card", "lasso", "card_8q", "forward_8q"])
    cases = [RawCase(name, fold) for name in ("biopsy", "rossi") for fold in range(2)]
    for case in cases:
        for name in ("card", "lasso"):
            _save(store, case, name, rows)
            path = store.path(case, next(m for m in methods if m.name == name))
            text = path.read_text().replace('"questions": null,\n', "")
            assert "questions" not in text  # as files were before there was such a field
            path.write_text(text)
    before = raw_section(Book.read(cases, methods, store), "raw")
    assert len(before.tables) == 1
    for case in cases:
        shift = 0.002 if case.data == "biopsy" else 0.006
        _save(store, case, "card_8q", rows - shift, questions=4 + case.replicate)
        _save(store, case, "forward_8q", rows - shift / 4, questions=8)
    section = raw_section(Book.read(cases, methods, store), "raw")
    assert section.tables[0] == before.tables[0]
    assert len(section.tables) == 2
    table = section.tables[1]
    assert table.header == ["data", "lasso, absolute", "card_8q", "forward_8q"]
    assert table.rows[0][1:3] == [
        "200.0 [–; 7; 0.800; 1.00]",
        "−2.0 ±0.0 [4; 7; 0.800; 1.00]",
    ]
    assert table.rows[-1][1:3] == [
        "[–; 7.0; 0.800; 1.00]",
        "−4.0 ±0.0 [4.5; 7.0; 0.800; 1.00]",
    ]
    lines = [line for line in section.lines if "8q" in line]
    assert "−4.0 ±0.0: not within 3. It never asks more than 5 questions" in lines[0]
    assert "−1.0 ±0.0: within 3" in lines[1]


def test_seconds_and_gaps_are_averaged(tmp_path: Path) -> None:
    store, rows = Store(tmp_path), np.zeros(2)
    cases = make_cases("speed", most=2)
    assert len(cases) == 4
    for k, case in enumerate(cases):
        given = {"gap": 0.01 * k, "questions": 5}
        limited = _save(store, case, "timed_5q", rows, **given)
        [method] = choose_methods(["timed_5q"])
        store.save(case, method, replace(limited, seconds=8.0 + k), rows)
        if k:
            _save(store, case, "timed", rows, gap=None)
    book = Book.read(cases, choose_methods(["timed", "timed_5q"]), store)
    section = speed_section(book, {"few": "4 columns"})
    [table] = section.tables
    assert table.rows[0] == ["few #0", "8.0", "0.0%", "5", "7", "", "", "", ""]
    assert table.rows[1] == ["few #1", "9.0", "1.0%", "5", "7", "2.0", "", "", "7"]
    assert table.rows[-1] == ["mean", "9.5", "1.5%", "5.0", "7.0", "2.0", "", "", "7.0"]
    assert section.lines[:4] == [
        "Seconds with the limit: mean 9.5, longest 11.0; at most 10 in 3 of 4 fits.",
        "Mean gap with the limit: 1.50%, at most 3%.",
        "A fit with the limit takes 5.00 times as long as without.",
        "few: 4 columns.",
    ]
    empty = speed_section(Book.read(cases, choose_methods(["lasso"]), store), {})
    assert not empty.tables


def test_a_section_without_results_leaves_its_place_as_it_is(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    text = "<!-- begin:x -->\nold\n<!-- end:x -->\n"
    document.write_text(text, encoding="utf-8")
    assert write_sections(document, [Section("x", "X", lines=["No results yet."])]) == []
    assert document.read_text(encoding="utf-8") == text


# -- tables on which fits are timed ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["few", "many"])
def test_timed_tables_have_columns_of_all_kinds(name: str) -> None:
    sample, again = SpeedCase(name, 1).load(), SpeedCase(name, 1).load()
    raw = sample.raw_train
    assert len(raw) == 20
    assert {len(values) for values in raw.values()} == {ROWS}
    texts = [values for values in raw.values() if values.dtype == object]
    numbers = [values for values in raw.values() if values.dtype != object]
    assert len(texts) == 6
    assert sum(any(v is None for v in values) for values in texts) == 3
    assert sum(bool(np.isnan(values).any()) for values in numbers) == 7
    assert sum(bool((values[~np.isnan(values)] % 1 == 0).all()) for values in numbers) == 6
    assert 0.25 < sample.y_train.mean() < 0.45
    np.testing.assert_array_equal(sample.y_train, again.y_train)
    assert not np.array_equal(sample.y_train, SpeedCase(name, 2).load().y_train)
    assert sample.truth is not None
    assert sample.y_test.mean() == pytest.approx(sample.truth.mean(), abs=0.02)
    assert asdict(SpeedCase(name, 1)) == {"data": name, "replicate": 1}
