"""One job, and many: rows hold the measures of the models, and survive failures and kills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from netbenefit import RSSDNBClassifier, Scorecard
from netbenefit.validation.models import TunedClassifier, lasso
from reproduction import run as runner
from reproduction.methods import FullRankLogistic, independent_columns, make_model, recipe_of
from reproduction.plan import METHODS, PAPER_METHODS, Job
from reproduction.run import FOLDS, _solved, fold_rows, run_job, split_of


@pytest.fixture
def data(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETBENEFIT_DATA", str(data_folder))


def job(method: str, setting: str = "original", dataset: str = "bankruptcy") -> Job:
    return Job(dataset, method, setting, 0, "quick")


def test_folds_cover_every_row_once_and_keep_the_share_of_events() -> None:
    y = np.arange(237) % 3 == 0
    held_out = [fold_rows(y, fold)[1] for fold in range(FOLDS)]
    assert sorted(np.concatenate(held_out).tolist()) == list(range(237))
    assert all(abs(y[rows].mean() - y.mean()) < 0.03 for rows in held_out)
    again = fold_rows(y, 4)
    assert again[1].tolist() == held_out[4].tolist()
    assert sorted([*again[0], *again[1]]) == list(range(237))


@pytest.mark.usefixtures("data")
def test_measures_are_those_of_the_held_out_rows() -> None:
    (row,) = run_job(job("logistic", dataset="haberman"))
    split = split_of("haberman", 0)
    model = LogisticRegression(C=1e9, max_iter=10_000).fit(split.X_train, split.y_train)
    risk = model.predict_proba(split.X_test)[:, 1]
    assert row["test_rows"] == split.test_rows.tolist()
    assert row["test_risks"] == pytest.approx(risk, abs=1e-3)
    assert row["test_auroc"] == pytest.approx(roc_auc_score(split.y_test, row["test_risks"]))
    p, y = np.arange(10) / 10, split.y_test
    called = np.array(row["test_risks"])[:, None] >= p
    benefit = (called & y[:, None]).mean(axis=0) - p / (1 - p) * (called & ~y[:, None]).mean(axis=0)
    assert row["test_aunbc"] == pytest.approx(benefit.mean())
    assert (row["size"], row["status"], row["gap"]) == (3.0, "", None)
    assert (row["n_train"], row["n_test"]) == (len(split.y_train), len(split.y_test))


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("method", ["rss-dnb", "rss-dnb-sa"])
def test_one_fit_gives_both_kinds_of_risks(method: str) -> None:
    """Without Algorithm 2 the card has the same points; its risks are worse calibrated."""
    row, plain = run_job(job(method, dataset="haberman"))
    assert [row["setting"], plain["setting"]] == ["original", "no-calibration"]
    card, other = Scorecard.from_json(row["card"]), Scorecard.from_json(plain["card"])
    assert {r.term: r.points for r in card.rules} == {r.term: r.points for r in other.rules}
    assert row["objective"] == plain["objective"]
    assert row["train_ece"] == pytest.approx(0, abs=1e-9)
    assert set(plain["test_risks"]) <= {i / 10 for i in range(10)}  # the ends of the intervals
    assert plain["train_ece"] > 0.01
    assert row["train_aunbc"] - row["penalty"] * row["size"] == pytest.approx(row["objective"])


@pytest.mark.usefixtures("data")
def test_solvers_say_how_far_they_got() -> None:
    (exact,) = run_job(job("rss-dnb-exact")._replace(budget="standard"))  # it ends by itself
    assert (exact["status"], exact["gap"]) == ("optimal", 0.0)
    (slim,) = run_job(job("slim"))
    assert set(slim["test_risks"]) <= {0.0, 1.0}
    assert slim["gap"] is not None
    (riskslim,) = run_job(job("riskslim"))
    assert 0 <= riskslim["gap"] < 1
    (boosted,) = run_job(job("xgboost"))
    assert boosted["size"] is None


def test_the_integer_program_shows_what_its_solver_reports() -> None:
    """Unlike `result_`, which claims only the ceiling."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 2))
    y = (X[:, 0] + rng.normal(size=40) > 1).astype(int)
    model = RSSDNBClassifier(max_points=2, time_limit=60).fit(X, y)
    assert model.result_.status == "finished"
    assert model.result_.gap > 0
    shown = _solved(model)
    assert (shown["status"], shown["gap"]) == ("optimal", 0.0)
    assert shown["bound"] == shown["objective"] < model.result_.bound
    assert _solved(RSSDNBClassifier(solver="local", max_points=2).fit(X, y))["gap"] is None


def test_every_method_has_its_published_settings() -> None:
    made = {name: make_model(job(name)) for name in METHODS}
    assert made["rss-dnb"].solver == "milp"
    assert made["rss-dnb-sa"].solver == "anneal"
    assert made["rss-dnb"].penalty == "paper"
    assert make_model(job("rss-dnb", "c0=0")).penalty == 0
    assert made["xgboost"].estimator.get_params()["max_depth"] == 4
    assert made["lasso"][-1].rule == "one_se"
    fine = make_model(job("rss-dnb-sa", "fine")).thresholds
    assert fine.values == tuple(i / 20 for i in range(20))
    by_length = make_model(job("rss-dnb", "random-lw")).thresholds
    assert by_length.weights[-1] == pytest.approx(1 - 0.6975)
    assert len(PAPER_METHODS) == 8


def test_recipes_tell_settings_apart() -> None:
    settings = ("original", "c0=0", "fine", "coarse", "random-ew", "random-lw")
    texts = {recipe_of(job("rss-dnb", setting)) for setting in settings}
    assert len(texts) == len(settings)
    slow = job("rss-dnb")._replace(budget="paper")
    assert recipe_of(slow) not in texts
    assert "\n" not in recipe_of(job("xgboost"))


# -- the run ---------------------------------------------------------------------------------------


def fake_row(done: Job) -> list[dict[str, Any]]:
    if done.fold == 1:
        raise ValueError("no luck")
    return [
        {
            "dataset": done.dataset,
            "method": done.method,
            "setting": setting,
            "fold": done.fold,
            "budget": done.budget,
            "recipe": recipe_of(done),
        }
        for setting in done.settings
    ]


def test_a_failure_stops_nothing_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = [Job("heart", "tree", "original", fold, "quick") for fold in range(4)]
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(runner, "run_job", fake_row)
    found = runner.run_plan(plan, tmp_path, n_jobs=1, progress=lambda *n: seen.append(n))
    assert [row["fold"] for row in found.rows] == [0, 2, 3]
    assert found.failures == [runner.Failure(plan[1], "ValueError: no luck")]
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]

    ran: list[int] = []
    monkeypatch.setattr(runner, "run_job", lambda done: ran.append(done.fold) or fake_row(done))
    runner.run_plan(plan, tmp_path, n_jobs=1)
    assert ran == [1]


def test_rows_of_another_recipe_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = [Job("heart", "tree", "original", 0, "quick")]
    old = fake_row(plan[0])
    old[0]["recipe"] = "something else"
    with runner.Store(tmp_path) as store:
        store.add([{**old[0], "fold": 7}])
    monkeypatch.setattr(runner, "run_job", fake_row)
    assert [row["fold"] for row in runner.run_plan(plan, tmp_path, n_jobs=1).rows] == [0]


# -- baselines -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_independent_columns_are_those_that_raise_the_rank(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(5, 40)), int(rng.integers(1, 8))
    X = rng.integers(0, 3, (n, p)).astype(float)
    if p > 2:
        X[:, -1] = X[:, 0] * 2 - X[:, 1] + 5
    X[:, int(rng.integers(p))] *= 10.0 ** rng.integers(-6, 7)
    slow = []
    for k in range(p):
        before = np.column_stack([np.ones(n), X[:, slow]])
        with_it = np.column_stack([before, X[:, k]])
        unit = with_it / np.maximum(np.linalg.norm(with_it, axis=0), 1e-300)
        if np.linalg.matrix_rank(unit) > np.linalg.matrix_rank(unit[:, :-1]):
            slow.append(k)
    assert independent_columns(X).tolist() == slow


def test_logistic_without_redundant_columns_is_maximum_likelihood() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) * [1, 100, 0.01]
    y = rng.random(500) < 1 / (1 + np.exp(-X[:, 0]))
    model = FullRankLogistic().fit(np.column_stack([X, X[:, 0] - X[:, 1]]), y)
    risk = model.predict_proba(np.column_stack([X, X[:, 0] - X[:, 1]]))[:, 1]
    # At the maximum the residuals are orthogonal to the constant and to every column.
    design = np.column_stack([np.ones(500), X / X.std(axis=0)])
    assert np.abs(design.T @ (y - risk)).max() < 1e-3
    assert np.count_nonzero(model.coef_) == 3


def test_the_one_standard_error_rule_prefers_the_smaller_model() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 12))
    y = rng.random(300) < 1 / (1 + np.exp(-1.5 * X[:, 0]))
    base = lasso(0).estimator
    code, weight, sizes = y.astype(np.intp), np.ones(300), {}
    for rule in ("min", "one_se"):
        model = TunedClassifier(base, "C", rule=rule).fit(X, y)
        values = model._candidates(X, code, weight)
        losses, error = model._losses(X, code, weight, values)
        chosen, best = values.tolist().index(model.best_value_), int(losses.argmin())
        limit = losses[best] + (error[best] if rule == "one_se" else 0)
        assert losses[chosen] <= limit * (1 + 1e-9)
        assert (losses[:chosen] > limit).all()
        sizes[rule] = np.count_nonzero(model.best_estimator_.coef_)
    assert sizes["one_se"] < sizes["min"]


def test_merged_rows_give_the_same_choice() -> None:
    """Tables with many equal rows are fitted by patterns; weights say how many."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (600, 3)).astype(float)
    y = rng.random(600) < 0.2 + 0.5 * X[:, 0]
    base = lasso(0).estimator.set_params(tol=1e-8)
    model = TunedClassifier(base, "C")
    values = model._candidates(X, y.astype(np.intp), np.ones(600))
    merged = model._losses(X, y.astype(np.intp), np.ones(600), values)[0]
    noise = 1e-13 * np.arange(600)[:, None]  # no two rows are equal now
    plain = model._losses(X + noise, y.astype(np.intp), np.ones(600), values)[0]
    assert merged == pytest.approx(plain, abs=1e-4)
