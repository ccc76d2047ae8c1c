"""Directions of columns: by the teacher where the evidence is clear, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from netbenefit import Binner, InputError, RiskScoreClassifier, Scorecard
from netbenefit.cards import Condition, PerUnit, Term
from netbenefit.cli.main import app
from netbenefit.data import PatternTable
from netbenefit.estimators.directions import clear_directions
from netbenefit.problem import Bounds, Questions
from tests.helpers.full import slow

CUTS = (-1.0, 0.0, 1.0)


def raw_table(
    seed: int, n: int = 600
) -> tuple[pd.DataFrame, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Columns that rise, fall, dip, say nothing, or have no order; risks and outcomes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.normal(size=n) for name in ("up", "down", "dip", "noise")})
    X["town"] = rng.choice(["a", "b", "c"], n)
    odds = 1.0 * X["up"] - 0.9 * X["down"] + 1.2 * (X["dip"].abs() > 1) - 1
    odds += (X["town"] == "a") * 0.8
    risk = 1 / (1 + np.exp(-odds.to_numpy()))
    return X, risk, rng.random(n) < risk


def conditions(X: pd.DataFrame) -> tuple[list[Term], np.ndarray[Any, Any]]:
    """Cumulative cuts of all numbers, one condition for each town."""
    terms: list[Term] = [
        Condition(name, ">=", cut) for name in X.columns if name != "town" for cut in CUTS
    ]
    terms += [Condition("town", "==", town) for town in ("a", "b")]
    codes = np.column_stack([term.holds(X[term.feature]) for term in terms])  # type: ignore[union-attr]
    return terms, codes.astype(np.int64)


def mean_risks(table: PatternTable, risk: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    sums = np.bincount(table.pattern_of_row, weights=risk, minlength=len(table))
    return np.asarray(sums / (table.events + table.others))


def directions(seed: int, teacher: np.ndarray[Any, Any] | None = None) -> dict[str, int]:
    X, risk, event = raw_table(seed)
    terms, codes = conditions(X)
    table = PatternTable.from_codes(codes, event, names=[term.text() for term in terms])
    questions = Questions.of_terms(terms)
    risks = mean_risks(table, risk if teacher is None else teacher)
    found, _ = clear_directions(table, risks, terms, questions)
    return {questions.names[q]: way for q, way in found.items()}


def test_true_risks_show_what_rises_and_falls_and_nothing_else() -> None:
    """Over many tables: the right sign, always; and none for a dip, noise, or towns."""
    for seed in range(100):
        assert directions(seed) == {"up": 1, "down": -1}


def test_a_teacher_that_the_outcomes_contradict_is_not_believed() -> None:
    for seed in range(20):
        risk = raw_table(seed)[1]
        assert directions(seed, 1.0 - risk) == {}


@slow
def test_a_column_that_says_nothing_rarely_gets_a_direction() -> None:
    """By the teacher's own risks, which have learnt from the same outcomes."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame({f"x{k}": rng.normal(size=400) for k in range(12)})
    found = []
    for _ in range(4):
        event = rng.random(400) < 1 / (1 + np.exp(1 - 1.5 * X["x0"]))
        model = fit(X, event, teacher="logistic", binner=Binner(cuts=dict.fromkeys(X, CUTS)))
        found.append(model.monotone_)
    assert all(ways.get("x0") == "+" for ways in found)
    assert sum(len(ways) - 1 for ways in found) <= 2  # of 44 columns of noise


def test_columns_without_a_binner_and_steps_with_missing_values() -> None:
    X, risk, event = raw_table(1)
    numbers = X[["up", "down", "noise"]].round(1)
    table = PatternTable.from_columns(
        {name: numbers[name].to_numpy() for name in numbers}, event.astype(bool)
    )
    terms: list[Term] = [PerUnit(name, decimals=1) for name in numbers]
    found, _ = clear_directions(table, mean_risks(table, risk), terms, Questions.of_terms(terms))
    assert found == {0: 1, 1: -1}

    up = X["up"].where(np.arange(len(X)) % 5 > 0)
    steps: list[Term] = [*(Condition("up", ">=", cut) for cut in CUTS), Condition("up", "missing")]
    codes = np.column_stack([term.holds(up) for term in steps])  # type: ignore[union-attr]
    table = PatternTable.from_codes(
        codes.astype(np.int64), event, names=[term.text() for term in steps]
    )
    found, _ = clear_directions(table, mean_risks(table, risk), steps, Questions.of_terms(steps))
    assert found == {0: 1}


# -- in the estimator ------------------------------------------------------------------------------


def fit(X: Any, event: Any, **settings: Any) -> RiskScoreClassifier:
    options = {"binner": "auto", "monotone": "auto", "teacher": "logistic", "solver": "local"}
    return RiskScoreClassifier(**{**options, "time_limit": None, "n_jobs": 1, **settings}).fit(
        X, event
    )


def worth(model: RiskScoreClassifier, name: str) -> list[int]:
    """What values of a column are worth, from the lowest to the highest, all else being equal."""
    rows = {other: ["a" if other == "town" else 0.0] * 61 for other in model.scorecard_.features}
    rows[name] = np.linspace(-3, 3, 61).tolist()
    return np.asarray(model.scorecard_.score(rows)).tolist()


def test_points_keep_to_the_directions() -> None:
    X, _, event = raw_table(2)
    model = fit(X, event)
    assert model.monotone_ == {"up": "+", "down": "-"}
    assert worth(model, "up") == sorted(worth(model, "up"))
    assert worth(model, "down") == sorted(worth(model, "down"), reverse=True)
    assert worth(model, "up")[0] < worth(model, "up")[-1]


def test_what_the_user_says_comes_first() -> None:
    X, _, event = raw_table(2)
    model = fit(X, event, monotone={"*": "auto", "up": "-"})
    assert model.monotone_ == {"down": "-"}
    assert worth(model, "up") == sorted(worth(model, "up"), reverse=True)
    assert fit(X, event, monotone={"down": "auto"}).monotone_ == {"down": "-"}
    assert fit(X, event, monotone={"down": "-"}).monotone_ == {}
    assert fit(X, event, sign={"up": "+"}).monotone_ == {"down": "-"}
    assert fit(X, event, constraints=[Bounds("down", -3, 3)]).monotone_ == {"up": "+"}
    assert fit(X, event, monotone=None).monotone_ == {}


def test_all_columns_with_an_order_are_monotone_where_that_is_asked_for() -> None:
    X, _, event = raw_table(2)
    model = fit(X, event, monotone="all", penalty=0)
    assert set(model.monotone_) == {"up", "down", "dip", "noise"}
    assert (model.monotone_["up"], model.monotone_["down"]) == ("+", "-")
    for name, way in model.monotone_.items():
        if name in model.scorecard_.features:
            assert worth(model, name) == sorted(worth(model, name), reverse=way == "-")
    mixed = fit(X, event, monotone={"*": "auto", "dip": "all", "up": "-"})
    assert set(mixed.monotone_) == {"down", "dip"}


def test_no_rule_takes_points_off() -> None:
    X, _, event = raw_table(2)
    settings = {"start_at_zero": False, "monotone": None, "penalty": 0}
    assert min(rule.points for rule in fit(X, event, **settings).scorecard_.rules) < 0
    model = fit(X, event, nonnegative=True, **settings)
    assert min(rule.points for rule in model.scorecard_.rules) > 0
    numbers = fit(X[["up", "down"]].round(1), event, binner=None, nonnegative=True, **settings)
    assert all(rule.points > 0 for rule in numbers.scorecard_.rules)
    with pytest.raises(InputError, match="nonnegative=True and a negative sign of"):
        fit(X, event, nonnegative=True, monotone={"down": "-"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"teacher": None, "monotone": "all"}, 'monotone="all" takes directions from a teacher'),
        ({"teacher": None}, 'monotone="auto" takes directions from a teacher, but there is none'),
        ({"prior_strength": 0}, "takes directions from a teacher"),
        ({"monotone": {"upp": "auto"}}, "monotone names column 'upp', which is not in the table"),
        ({"monotone": {"up": "rising"}}, "sign of column 'up' must be"),
    ],
)
def test_bad_directions(settings: dict[str, Any], message: str) -> None:
    X, _, event = raw_table(2, n=100)
    with pytest.raises(InputError, match=message):
        fit(X, event, **settings)


def test_the_command_says_which_directions_it_took(tmp_path: Any) -> None:
    X, _, event = raw_table(3)
    X.assign(ill=event.astype(int)).to_csv(tmp_path / "rows.csv", index=False)
    command = ["fit", str(tmp_path / "rows.csv"), "--target", "ill", "--solver", "local"]
    run = CliRunner().invoke(app, [*command, "--monotone", "auto", "--monotone", "noise+"])
    assert run.exit_code == 0, run.output
    assert "points never fall along 'up'; never rise along 'down'" in run.stderr
    every = CliRunner().invoke(app, [*command, "--monotone", "all"])
    assert "directions, from the teacher and clear or not: points never" in every.stderr
    assert all(name in every.stderr.split("clear or not")[1] for name in ("dip", "noise"))
    both = CliRunner().invoke(app, [*command, "--monotone", "all", "--monotone", "auto"])
    assert "cannot be both auto and all" in " ".join(both.stderr.split())
    card = tmp_path / "card.json"
    done = CliRunner().invoke(app, [*command, "--nonnegative", "--raw-points", "--out", str(card)])
    assert done.exit_code == 0, done.output
    assert all(rule.points > 0 for rule in Scorecard.load(card).rules)
    wrong = CliRunner().invoke(app, [*command, "--monotone", "automatic"])
    assert wrong.exit_code == 2
    assert "write NAME+" in wrong.stderr
    lost = CliRunner().invoke(app, [*command, "--monotone", "auto", "--teacher", "none"])
    assert lost.exit_code == 2
    assert "--monotone auto takes directions from a teacher" in " ".join(lost.stderr.split())
