"""What a notebook shows: the card of a model, tables of results, progress, each picture once."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression

import netbenefit as nb
from netbenefit import RiskScoreClassifier
from netbenefit.common import Tabular

matplotlib.use("Agg")
import matplotlib.pyplot as plt

QUICK: dict[str, Any] = {
    "thresholds": [0.2, 0.4],
    "teacher": None,
    "max_features": 2,
    "max_points": 2,
    "solver": "local",
    "time_limit": None,
    "n_jobs": 1,
}


def rows(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (n, 3)), columns=["fever", "cough", "<b>"])
    return X, rng.random(n) < 0.1 + 0.3 * X["fever"].to_numpy() + 0.3 * X["cough"].to_numpy()


@pytest.fixture(scope="module")
def fitted() -> RiskScoreClassifier:
    return RiskScoreClassifier(**QUICK).fit(*rows())


def test_a_fitted_model_shows_its_card(fitted: RiskScoreClassifier) -> None:
    html = fitted.scorecard_._repr_html_()
    assert fitted._repr_html_() == html
    bundle = fitted._repr_mimebundle_()
    assert bundle["text/html"] == html
    assert bundle["text/plain"] == repr(fitted)
    assert "fever" in html
    new = RiskScoreClassifier(**QUICK)
    assert "sk-" in new._repr_html_()
    assert "sk-" in new._repr_mimebundle_()["text/html"]
    with sklearn.config_context(display="text"):
        assert list(fitted._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(fitted, "_repr_html_")


def results(fitted: RiskScoreClassifier) -> dict[str, Any]:
    X, y = rows()
    new = RiskScoreClassifier(**QUICK)
    validated = nb.cross_validate(new, X, y, folds=2)
    compared = nb.compare({"card": new, "logistic": LogisticRegression()}, X, y, folds=2)
    card = fitted.scorecard_
    return {
        "CrossValidation": validated,
        "CardStability": validated.stability(),
        "BootstrapValidation": nb.bootstrap_validate(new, X, y, resamples=2),
        "Comparison": compared,
        "SettingChoice": nb.choose_setting(new, X, y, settings={"max_points": [1, 2]}, folds=2),
        "SizePath": nb.size_path(new, X, y, sizes=[1, 2], folds=2),
        "CardEvaluation": nb.evaluate_card(card, X, y),
        "Drift": nb.card_drift(card, X, reference=X),
        "CardUpdate": nb.update_card(card, X, y, "risks"),
        "UpdateChoice": nb.choose_update(card, X, y, folds=2, what=["risks", "cutoffs"]),
        "NearOptimal": new.near_optimal(X, y, limit=3),
        "SolverResult": fitted.result_,
        "OtherSizes": fitted.other_sizes(),
        "RankTest": nb.rank_models([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.1, 0.3, 0.2]]),
    }


def test_results_are_tables_in_a_notebook_and_short_in_a_session(
    fitted: RiskScoreClassifier,
) -> None:
    for name, found in results(fitted).items():
        assert type(found).__name__ == name
        assert isinstance(found, Tabular)
        html = found._repr_html_()
        table = found.to_table()
        assert html == table._repr_html_()
        assert html.count("<th>") == len(table)
        assert 1 < html.count("<tr>") <= 11
        assert repr(found).startswith(f"<{name}")
        assert len(repr(found).splitlines()) == 1
        assert len(repr(found)) < 150
        assert "array(" not in repr(found) + str(found)
        assert len(str(found).splitlines()) > 1 or name == "OtherSizes"
    assert len(repr(fitted.learned_)) < 200


def test_names_are_escaped() -> None:
    X, y = rows()
    X = X.rename(columns={"fever": "<i>"})
    model = RiskScoreClassifier(**QUICK)
    for shown in (model.near_optimal(X, y, limit=2), model.fit(X, y)):
        html = shown._repr_html_()
        assert "<i>" not in html
        assert "&lt;i&gt;" in html


def test_progress_in_a_notebook(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = rows()
    model = RiskScoreClassifier(**QUICK, verbose=1)
    model.fit(X, y)
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    model.fit(X, y)
    assert "objective" in capsys.readouterr().err
    nb.cross_validate(RiskScoreClassifier(**QUICK), X, y, folds=2, verbose=1)
    assert "2/2" in capsys.readouterr().err


def test_a_picture_is_drawn_once(fitted: RiskScoreClassifier) -> None:
    X, y = rows()
    plt.close("all")
    display = nb.DecisionCurveDisplay.from_estimator(fitted, X, y)
    figure = display.figure_
    assert display.plot() is display
    assert plt.get_fignums() == [figure.number]
    display.plot(kind="interventions_avoided")  # another view is another picture
    assert len(plt.get_fignums()) == 2
    display.plot()
    assert len(plt.get_fignums()) == 3
    plt.close("all")
    points = nb.PointsDisplay.from_estimator(fitted)
    points.plot().plot()
    assert len(plt.get_fignums()) == 1
    plt.close("all")
    points.plot()  # as in the next cell, where the figure of the last one is gone
    assert len(plt.get_fignums()) == 1
    _, ax = plt.subplots()
    assert points.plot(ax=ax).ax_ is ax
    plt.close("all")
