"""Displays draw the numbers that are computed elsewhere, on any axes, into any file."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from netbenefit import (
    Condition,
    InputError,
    RiskScoreClassifier,
    RSSDNBClassifier,
    Rule,
    Scorecard,
    Thresholds,
    aunbc,
    decision_curve,
    grouped_auroc,
)
from netbenefit.cards.text import contents, wrap
from netbenefit.common import InputWarning, install_command
from netbenefit.plots.base import style_of
from netbenefit.plots.calibration import CalibrationDisplay
from netbenefit.plots.card import PointsDisplay, ScorecardDisplay
from netbenefit.plots.comparison import SensitivityDisplay
from netbenefit.plots.decision_curve import DecisionCurveDisplay
from netbenefit.plots.region import RegionDisplay
from netbenefit.plots.roc import RocDisplay
from netbenefit.plots.search import SizePathDisplay, TraceDisplay
from netbenefit.problem.problem import TraceRow
from netbenefit.updating.observed import count_levels_of_card
from tests.export.truth import HOSTILE_LEVEL, truths

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from tests.helpers.cards import SHORT_SEARCH

GRID = "0.05:0.5:0.05"
TRICKY = {"$x_1$ \\frac": 0, "_hidden": 1, "</text><script>alert(1)</script>": 2, "a\nb\x1b": 3}


class Fitted:
    """Models and rows that they have not seen."""

    def __init__(self) -> None:
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        self.X, self.y = X[1::2].reset_index(drop=True), 1 - y.to_numpy()[1::2]
        train, events = X[::2], 1 - y[::2]
        self.card = RiskScoreClassifier(
            binner="auto", thresholds=GRID, max_features=4, max_points=2, solver=SHORT_SEARCH
        ).fit(train, events)
        self.logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(train, events)
        self.models = {"card": self.card, "logistic": self.logistic}
        self.risks = {name: m.predict_proba(self.X)[:, 1] for name, m in self.models.items()}
        self.weight = np.random.default_rng(0).integers(0, 4, self.y.size).astype(float)


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return Fitted()


@pytest.fixture(autouse=True)
def _clean_slate():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a missing glyph, a name left out of a key, …
        warnings.simplefilter("ignore", InputWarning)  # of small tables
        yield
    plt.close("all")


def displays(fitted: Fitted) -> dict[str, Any]:
    """One of each, not drawn yet where that is possible."""
    X, y, models = fitted.X, fitted.y, fitted.models
    return {
        "decision": DecisionCurveDisplay.from_estimator(models, X, y),
        "avoided": DecisionCurveDisplay.from_estimator(
            fitted.card, X, y, kind="interventions_avoided"
        ),
        "calibration": CalibrationDisplay.from_estimator(models, X, y),
        "roc": RocDisplay.from_estimator(fitted.card, X, y, others={"logit": fitted.logistic}),
        "card": ScorecardDisplay(fitted.card.scorecard_),
        "points": PointsDisplay(fitted.card.scorecard_),
        "trace": TraceDisplay(fitted.card.result_),
        "region": RegionDisplay.from_estimator(models, X, y),
        "sensitivity": SensitivityDisplay(
            ["a", "b"], [0.2, 0.1], [0, -0.1], [0, 0.1], [0.1, 0.2], [[0, 0], [0.1, 0]]
        ),
        "sizes": SizePathDisplay([1, 2], [0, 1], [1, 1], [0, 1], best=2, suggested=1, n_folds=3),
    }


def key_of(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


# -- decision curves -------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_decision_curves_are_those_of_the_table(fitted: Fitted, weighted: bool) -> None:
    weight = fitted.weight if weighted else None
    display = DecisionCurveDisplay.from_estimator(
        fitted.models, fitted.X, fitted.y, sample_weight=weight
    )
    fine = sorted({i / 100 for i in range(100)} | set(fitted.card.thresholds_.given))
    table = decision_curve(fitted.y, fitted.risks, fine, sample_weight=weight)
    assert list(display.lines_) == ["card", "logistic", "Treat All", "Treat None"]
    for name, line in display.lines_.items():
        rows = table["model"] == name
        np.testing.assert_array_equal(line.get_xdata(), table["threshold"][rows])
        np.testing.assert_array_equal(line.get_ydata(), table["net_benefit"][rows])
        assert line.get_drawstyle() == "default"
    other = display.plot(kind="interventions_avoided")
    assert other is display
    for name, line in display.lines_.items():
        rows = table["model"] == name
        expected = 100 * table["net_intervention_avoided"][rows]
        np.testing.assert_array_equal(line.get_ydata(), expected)
    assert display.ax_.get_ylabel() == "Net Interventions Avoided per 100"


def test_decision_curve_frame(fitted: Fitted) -> None:
    display = DecisionCurveDisplay.from_estimator(fitted.card, fitted.X, fitted.y, name="a card")
    ax, share = display.ax_, fitted.y.mean()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Threshold Probability", "Net Benefit")
    low, high = ax.get_ylim()
    assert -0.2 * share < low < 0
    assert share < high < 1.2 * share
    assert ax.get_xlim() == (0, pytest.approx(0.6))
    box = display.range_.get_bbox() if hasattr(display.range_, "get_bbox") else display.range_
    assert (box.x0, box.x1) == (0.05, 0.5)
    assert key_of(ax) == ["a card", "Treat All", "Treat None", "thresholds of interest"]
    marked = display.lines_["a card"].get_xdata()[display.lines_["a card"].get_markevery()]
    np.testing.assert_array_equal(marked, fitted.card.thresholds_.given)
    # Without thresholds nothing is shaded, and one alone is a line.
    plain = DecisionCurveDisplay.from_predictions(fitted.y, fitted.risks["logistic"])
    assert plain.range_ is None
    assert plain.ax_.get_xlim() == (0, 0.99)
    one = DecisionCurveDisplay.from_predictions(fitted.y, fitted.risks["logistic"], [0.2])
    assert list(one.range_.get_xdata()) == [0.2, 0.2]
    table = decision_curve(fitted.y, fitted.risks, GRID)
    np.testing.assert_array_equal(
        DecisionCurveDisplay(table, GRID).plot().lines_["card"].get_xdata(),
        Thresholds.parse(GRID).given,
    )


def test_a_card_alone_is_a_model(fitted: Fitted) -> None:
    card = fitted.card.scorecard_
    by_card = DecisionCurveDisplay.from_estimator(card, fitted.X, fitted.y, name="x")
    by_model = DecisionCurveDisplay.from_estimator(fitted.card, fitted.X, fitted.y, name="x")
    np.testing.assert_array_equal(by_card.curve["net_benefit"], by_model.curve["net_benefit"])
    assert by_card.thresholds == by_model.thresholds


# -- calibration -----------------------------------------------------------------------------------


def test_levels_of_a_card(fitted: Fitted) -> None:
    display = CalibrationDisplay.from_estimator(fitted.card, fitted.X, fitted.y, name="card")
    risk, table = fitted.risks["card"], display.groups["card"]
    levels = np.unique(risk)
    assert 2 < levels.size <= 20
    np.testing.assert_array_equal(table["risk"], levels)
    np.testing.assert_array_equal(table["n"], [(risk == q).sum() for q in levels])
    np.testing.assert_array_equal(table["events"], [fitted.y[risk == q].sum() for q in levels])
    points, _, (bars,) = display.errorbars_["card"].lines
    np.testing.assert_array_equal(points.get_xdata(), levels)
    np.testing.assert_array_equal(points.get_ydata(), [fitted.y[risk == q].mean() for q in levels])
    for segment, events, n in zip(bars.get_segments(), table["events"], table["n"], strict=True):
        wilson = binomtest(int(events), int(n)).proportion_ci(method="wilson")
        np.testing.assert_allclose(segment[:, 1], [wilson.low, wilson.high], atol=1e-12)
    stems = display.counts_ax_.lines[0]
    np.testing.assert_array_equal(stems.get_ydata(), table["n"])
    figures = [text.get_text() for text in display.counts_ax_.texts]
    assert figures
    assert set(figures) <= {f"{n:g}" for n in table["n"]}
    assert list(display.line_.get_xdata()) == list(display.line_.get_ydata()) == [0, 1]


def test_quantile_groups_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    risk = rng.random(1000) ** 2
    y = (rng.random(1000) < risk).astype(int)
    observed, predicted = calibration_curve(y, risk, n_bins=10, strategy="quantile")
    table = CalibrationDisplay.from_predictions(y, risk).groups["model"]
    np.testing.assert_allclose(table["risk"], predicted)
    np.testing.assert_allclose(table["observed"], observed)
    assert table["n"].tolist() == [100.0] * 10
    # Rows of equal risk stay together, whatever that does to the sizes.
    tied = CalibrationDisplay.from_predictions(y, np.round(risk, 1), groups="quantiles")
    assert tied.groups["model"]["n"].sum() == 1000
    assert len(tied.groups["model"]["n"]) < 10


@pytest.mark.parametrize("groups", ["levels", "quantiles"])
def test_weights_count_as_rows(fitted: Fitted, groups: Any) -> None:
    risks, times = fitted.risks["logistic"].round(2), fitted.weight.astype(int)
    weighted = CalibrationDisplay.from_predictions(
        fitted.y, risks, sample_weight=fitted.weight, groups=groups
    ).groups["model"]
    repeated = CalibrationDisplay.from_predictions(
        np.repeat(fitted.y, times), np.repeat(risks, times), groups=groups
    ).groups["model"]
    for column in ("risk", "observed", "n", "events"):
        np.testing.assert_allclose(weighted[column], repeated[column])


def test_intervals_are_those_of_the_report(fitted: Fitted) -> None:
    card = fitted.card.scorecard_
    score = card.score(fitted.X)
    for weight in (None, fitted.weight, np.random.default_rng(3).uniform(1e3, 9e3, fitted.y.size)):
        table = CalibrationDisplay.from_predictions(
            fitted.y, card.risk_of_score(score), sample_weight=weight
        ).groups["model"]
        rows = [row for row in count_levels_of_card(card, score, fitted.y, weight) if row.n]
        for column, field in (("low", "low"), ("high", "high"), ("observed", "rate")):
            expected = [getattr(row, field) for row in rows]
            np.testing.assert_allclose(table[column], expected, rtol=1e-12)
        assert (table["low"] <= table["observed"]).all()
        assert (table["observed"] <= table["high"]).all()


def test_calibration_without_intervals(fitted: Fitted) -> None:
    display = CalibrationDisplay.from_predictions(fitted.y, fitted.risks, confidence=None)
    assert np.isnan(display.groups["card"]["low"]).all()
    assert display.errorbars_["card"].lines[2] == ()
    assert key_of(display.ax_) == ["card", "logistic", "perfect calibration"]


# -- ROC -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_roc_is_that_of_scikit_learn(fitted: Fitted, weighted: bool) -> None:
    weight = fitted.weight if weighted else None
    display = RocDisplay.from_estimator(
        fitted.card,
        fitted.X,
        fitted.y,
        name="card",
        others={"logit": fitted.logistic},
        sample_weight=weight,
    )
    score = fitted.card.scorecard_.score(fitted.X)
    for name, values in (("card", score), ("logit", fitted.risks["logistic"])):
        fpr, tpr, _ = roc_curve(fitted.y, values, sample_weight=weight, drop_intermediate=False)
        np.testing.assert_array_equal(display.lines_[name].get_xdata(), fpr)
        np.testing.assert_array_equal(display.lines_[name].get_ydata(), tpr)
        area = roc_auc_score(fitted.y, values, sample_weight=weight)
        assert display.curves[name].auroc == pytest.approx(area, abs=1e-12)
        assert f"{name}: AUROC {area:.3f}" in key_of(display.ax_)
    # Operating points, counted by hand.
    risk, w = fitted.risks["card"], np.ones(fitted.y.size) if weight is None else weight
    for i, p in enumerate(fitted.card.thresholds_.given):
        for rate, kind in (("fpr", 0), ("tpr", 1)):
            rows = fitted.y == kind
            share = w[rows & (risk >= p)].sum() / w[rows].sum()
            assert display.points[rate][i] == pytest.approx(share, abs=1e-12)
    np.testing.assert_array_equal(display.points_.get_xdata(), display.points["fpr"])
    # Every threshold is named, at its point, and no label covers another.
    named = [text.get_text() for text in display.labels_]
    assert named[0].startswith("5%")
    assert named[-1].endswith("50%")
    assert_apart(display.ax_, display.labels_)
    # The points lie on the curve of the scores.
    for x, y in zip(display.points["fpr"], display.points["tpr"], strict=True):
        curve = display.curves["card"]
        assert np.hypot(curve.fpr - x, curve.tpr - y).min() < 1e-12


def test_roc_without_thresholds_has_no_points(fitted: Fitted) -> None:
    display = RocDisplay.from_estimator(fitted.logistic, fitted.X, fitted.y)
    assert display.points_ is None
    assert list(display.lines_) == ["Pipeline"]
    assert RocDisplay.from_estimator(fitted.logistic, fitted.X, fitted.y, [0.2]).labels_


def test_a_risk_at_a_threshold_is_positive() -> None:
    risk = [0.2, 0.5]
    display = RocDisplay.from_predictions([0, 1], risk, risk=risk, thresholds=[0.2, 0.5])
    assert display.points["fpr"].tolist() == [1.0, 0.0]
    assert display.points["tpr"].tolist() == [1.0, 1.0]


# -- the card --------------------------------------------------------------------------------------


def assert_apart(ax: Any, texts: list[Any]) -> None:
    ax.figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in texts]  # without the lines that tie them
    for (one, a), (other, b) in combinations(zip(texts, boxes, strict=True), 2):
        overlap = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(overlap) <= 1.0, (one.get_text(), other.get_text())


@pytest.mark.parametrize("name", ["conditions", "units", "hostile", "no rules", "binned"])
def test_the_card_says_what_the_printed_card_says(name: str) -> None:
    warnings.simplefilter("ignore" if name == "hostile" else "error")  # fonts lack some glyphs
    card = truths()[name].card
    display = ScorecardDisplay.from_estimator(card)
    words, shown = [text.get_text() for text in display.texts_], contents(card)
    place = words.index(shown.asked) + 1
    for k, asked in enumerate(shown.questions):
        expected = wrap(asked.name, 24)
        for text, points in asked.answers:
            expected += [*wrap(text, 34), points]
        expected += ["+"] * (k > 0)
        assert words[place : place + len(expected)] == expected
        place += len(expected)
    start = words.index("SCORE", words.index(shown.score) + 1)
    assert words[start : start + 2] == ["SCORE", "RISK"]
    table = words[start + 2 : start + 2 + 2 * len(shown.table)]
    assert list(zip(table[::2], table[1::2], strict=True)) == shown.table
    assert " ".join(words).endswith(" ".join(filter(None, [*shown.notes, shown.footer])))
    assert words[0] == shown.title
    # All of it is on the page, and nothing covers anything else.
    assert_apart(display.ax_, display.texts_)
    page = display.ax_.get_window_extent()
    for text in display.texts_:
        box = text.get_window_extent()
        assert page.x0 <= box.x0, text.get_text()
        assert box.x1 <= page.x1, text.get_text()
        assert page.y0 <= box.y0, text.get_text()
        assert box.y1 <= page.y1, text.get_text()


def test_a_long_card_and_long_names() -> None:
    many = ScorecardDisplay(truths()["200 rules"].card).plot()
    assert len(many.texts_) > 400
    assert many.figure_.get_size_inches()[1] > 30
    long = Rule(Condition("w" * 300 + " and so on", ">=", 1), 2)
    card = Scorecard.from_levels([long], [1], [0.1, 0.9], Thresholds.of([0.5]))
    assert ScorecardDisplay(card).plot().figure_.get_size_inches()[0] < 10
    levels = Scorecard.from_levels(
        [long, *(Rule(Condition("falls", ">=", k), 1) for k in range(1, 38))],
        range(1, 40),
        [i / 40 for i in range(40)],
        Thresholds.of(np.arange(1, 40) / 40),
    )
    display = ScorecardDisplay(levels).plot()
    assert_apart(display.ax_, display.texts_)
    assert [t.get_text() for t in display.texts_].count("RISK") > 1  # in blocks


def test_the_card_fits_into_given_axes() -> None:
    figure, axes = plt.subplots(1, 2, figsize=(6, 3), dpi=600)  # tiny letters, not rounded
    display = ScorecardDisplay(truths()["binned"].card).plot(ax=axes[1])
    figure.canvas.draw()
    page = axes[1].get_window_extent()
    for text in display.texts_:
        assert text.get_window_extent().x1 <= page.x1 + 1
        assert text.get_window_extent().y0 >= page.y0 - 1


# -- points ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["conditions", "units", "binned", "200 rules"])
def test_bars_are_the_points_of_the_printed_card(name: str) -> None:
    card = truths()[name].card
    display = PointsDisplay.from_estimator(card)
    rows = [answer for question in card.questions for answer in question.listed()]
    names = [question.feature for question in card.questions for _ in question.listed()]
    assert [bar.get_width() for bar in display.bars_] == [row.points for row in rows]
    assert [label.replace("\n", " ") for label in display.labels_] == [row.text for row in rows]
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert shown == [*display.names_, *display.labels_]
    assert [name.replace("\n", " ") for name in display.names_] == list(dict.fromkeys(names))
    figures = [text.get_text() for text in display.ax_.texts]
    for row, bar, figure in zip(rows, display.bars_, figures, strict=True):
        sign = "−" if row.points < 0 else ""
        assert re.fullmatch(rf"{sign}{abs(row.points)}( per unit)?", figure)
        per_unit = "per unit" in figure
        assert per_unit == (not bar.get_fill() or bar.get_facecolor() == (1, 1, 1, 1))
        assert bool(bar.get_hatch()) == (row.points < 0 and not per_unit)
    # Bars of one question stand closer together than those of different ones.
    middles = [bar.get_y() + bar.get_height() / 2 for bar in display.bars_]
    same, apart = [], []
    for (a, b), (one, other) in zip(pairwise(middles), pairwise(names), strict=True):
        (same if one == other else apart).append(b - a)
    if same and name != "units":
        assert max(same) < min(apart)
    assert_apart(display.ax_, [*display.ax_.texts, *display.ax_.get_yticklabels()])


def test_points_of_a_card_without_rules() -> None:
    display = PointsDisplay(truths()["no rules"].card).plot()
    assert display.bars_ == []
    assert display.ax_.texts[0].get_text() == "no questions: every row scores 0"


# -- trace -----------------------------------------------------------------------------------------


def result(**change: Any) -> Any:
    trace = (
        TraceRow(0.01, 0.1, 1),
        TraceRow(0.5, 0.2, 2, 0.5),
        TraceRow(2.0, 0.2, 2, 0.25),
    )
    fields = {
        "trace": trace,
        "seconds": 3.0,
        "objective": 0.2,
        "bound": 0.25,
        "gap": 0.25,
        **change,
    }
    return SimpleNamespace(**fields)


def test_trace_draws_card_and_bound() -> None:
    display = TraceDisplay(result()).plot()
    assert display.line_.get_xdata().tolist() == [0.01, 0.5, 2.0, 3.0]
    assert display.line_.get_ydata().tolist() == [0.1, 0.2, 0.2, 0.2]
    np.testing.assert_array_equal(display.bound_line_.get_ydata(), [np.nan, 0.5, 0.25, 0.25])
    assert display.conclusion_ == "final gap 25.0%"
    assert display.ax_.get_title(loc="right") == "final gap 25.0%"
    assert display.ax_.get_xscale() == "log"
    low, high = display.ax_.get_ylim()
    assert low < 0.1
    assert high > 0.5


def test_trace_without_a_bound_or_without_a_gap() -> None:
    trace = (TraceRow(0.1, 0.1, 1),)
    none = TraceDisplay(result(trace=trace, bound=None, gap=None)).plot()
    assert none.bound_line_ is None
    assert none.conclusion_ == "no bound: nothing is proven"
    assert key_of(none.ax_) == ["best card so far"]
    assert TraceDisplay(result(bound=0.2, gap=0.0)).plot().conclusion_ == "proven optimal"
    assert TraceDisplay(result(gap=np.inf)).plot().conclusion_ == "final gap: not defined at 0"
    empty = TraceDisplay(result(trace=(), seconds=0.0)).plot()
    assert empty.line_.get_ydata().tolist() == [0.2]


def test_trace_of_real_searches(fitted: Fitted) -> None:
    X, y = [[0, 1], [1, 1], [1, 0], [0, 0]] * 5, [0, 1, 1, 0] * 5
    exact = RSSDNBClassifier(solver="exact").fit(X, y)
    display = TraceDisplay.from_estimator(exact)
    assert display.conclusion_ == "proven optimal"
    assert display.bound_line_.get_ydata()[-1] == exact.result_.objective
    local = RSSDNBClassifier(solver="local").fit(X, y)
    assert TraceDisplay.from_estimator(local).conclusion_ == "no bound: nothing is proven"
    drawn = TraceDisplay.from_estimator(fitted.card)
    assert drawn.line_.get_ydata()[-1] == fitted.card.result_.objective
    assert drawn.line_.get_xdata()[-1] == fitted.card.result_.seconds


# -- region ----------------------------------------------------------------------------------------


def test_region_draws_models_where_they_are(fitted: Fitted) -> None:
    display = RegionDisplay.from_estimator(
        fitted.models, fitted.X, fitted.y, sample_weight=fitted.weight
    )
    grid, options = fitted.card.thresholds_, {"sample_weight": fitted.weight}
    for name, risk in fitted.risks.items():
        (x,), (y,) = display.points_[name].get_data()
        assert x == grouped_auroc(fitted.y, risk, grid, **options)
        assert y == aunbc(fitted.y, risk, grid, **options)
    upper, lower = display.edges_
    np.testing.assert_array_equal(upper.get_ydata(), display.upper)
    np.testing.assert_array_equal(lower.get_ydata(), display.lower)
    share = fitted.weight[fitted.y == 1].sum() / fitted.weight.sum()
    assert display.prevalence == pytest.approx(share)
    assert display.upper[-1] == pytest.approx(share)
    near = display.plot(zoom=True).ax_
    for axis, place in ((near.get_xlim(), 0), (near.get_ylim(), 1)):
        assert all(axis[0] < pair[place] < axis[1] for pair in display.models.values())
    assert near.get_xlim()[0] > 0.5
    assert key_of(RegionDisplay(prevalence=0.3).plot(zoom=True).ax_) == ["most that is possible"]


# -- names, files, axes ----------------------------------------------------------------------------


def test_names_stand_as_they_are(fitted: Fitted, tmp_path: Path) -> None:
    warnings.simplefilter("ignore")  # a font may lack the sign for what cannot be printed
    rng = np.random.default_rng(0)
    risks = {name: np.clip(fitted.risks["card"] + rng.normal(0, 0.02, fitted.y.size), 0, 1)
             for name in TRICKY}  # fmt: skip
    made = [
        DecisionCurveDisplay.from_predictions(fitted.y, risks),
        CalibrationDisplay.from_predictions(fitted.y, risks),
        RocDisplay.from_predictions(fitted.y, risks),
        RegionDisplay.from_predictions(fitted.y, risks),
    ]
    for display in made:
        names = " ".join(key_of(display.ax_))
        for name in ("$x_1$ \\frac", "_hidden", "</text><script>alert(1)</script>", "a b�"):
            assert name in names
        assert not any(text.get_parse_math() for text in display.ax_.get_legend().get_texts())
        assert_safe(display, tmp_path, "$x_1$ \\frac")
    rules = [Rule(Condition(f"{name} $a$ $\\bad{{", "==", HOSTILE_LEVEL), 1) for name in TRICKY]
    card = Scorecard.from_levels(rules, [1], [0.1, 0.9], Thresholds.of([0.5]))
    for kind in (ScorecardDisplay, PointsDisplay):
        assert_safe(kind(card), tmp_path, "$a$ $\\bad{")


def assert_safe(display: Any, folder: Path, words: str, kinds: str = "svg pdf png") -> None:
    for suffix in kinds.split():
        display.save(folder / f"names.{suffix}")
    root = ET.parse(folder / "names.svg").getroot()
    assert not [node for node in root.iter() if node.tag.endswith("script")]
    texts = ["".join(node.itertext()) for node in root.iter() if node.tag.endswith("}text")]
    assert any(words in text for text in texts)


@pytest.mark.parametrize("name", ["hostile", "200 rules", "no rules"])
def test_hostile_cards_are_saved(name: str, tmp_path: Path) -> None:
    warnings.simplefilter("ignore")
    card = truths()[name].card
    words = next((asked.name for asked in contents(card).questions), "no questions")
    for kind in (ScorecardDisplay, PointsDisplay):
        assert_safe(kind(card), tmp_path, words, "svg" if name == "200 rules" else "svg pdf png")


def test_files_hold_text_and_are_the_same_each_time(fitted: Fitted, tmp_path: Path) -> None:
    again = displays(fitted)
    for name, display in displays(fitted).items():
        for suffix in ("svg", "png", "pdf"):
            first, second = tmp_path / f"{name}.{suffix}", tmp_path / f"{name} again.{suffix}"
            display.save(str(first))
            if suffix == "pdf" and name != "card":  # takes its time
                continue
            again[name].save(second)
            digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in (first, second)]
            assert digests[0] == digests[1], (name, suffix)
        assert "<text" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        pdf = (tmp_path / f"{name}.pdf").read_bytes()
        assert pdf.startswith(b"%PDF")
        assert b"/Type3" not in pdf  # letters as drawings
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_given_axes_leave_no_trace_in_pyplot(fitted: Fitted, tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    made = displays(fitted)
    plt.close("all")
    for display in made.values():
        figure = Figure()
        ax = figure.subplots()
        assert display.plot(ax=ax) is display
        assert display.ax_ is ax
        assert display.figure_ is figure
        display.save(tmp_path / "drawn.svg")
    fresh = ScorecardDisplay(fitted.card.scorecard_)
    fresh.save(tmp_path / "fresh.svg")
    assert plt.get_fignums() == []
    # Part of a figure is saved with the rest of it.
    top, _ = Figure().subfigures(1, 2)
    TraceDisplay(fitted.card.result_).plot(ax=top.subplots()).save(tmp_path / "part.svg")
    # Where nothing is given, it is pyplot's to show and to close.
    PointsDisplay(fitted.card.scorecard_).plot()
    assert len(plt.get_fignums()) == 1


def test_nothing_is_shown(fitted: Fitted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("show was called"))
    for display in displays(fitted).values():
        display.plot()


def test_matplotlib_is_imported_late() -> None:
    code = (
        "import sys, netbenefit, netbenefit.plots, netbenefit.validation.sizes\n"
        "netbenefit.RiskScoreClassifier\n"
        "assert not [m for m in sys.modules if m.startswith('matplotlib')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_it_says_what_to_install(
    fitted: Fitted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = displays(fitted)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for display in made.values():
        with pytest.raises(ImportError, match=re.escape(install_command("plots"))):
            display.plot()
        with pytest.raises(InputError, match=re.escape(install_command("plots"))):
            display.save(tmp_path / "x.svg")


# -- bad input -------------------------------------------------------------------------------------

Y, RISK = [0, 1, 0, 1], [0.1, 0.9, 0.4, 0.6]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DecisionCurveDisplay({"model": np.array(["a"])}), "lacks the column 'threshold'"),
        (lambda: DecisionCurveDisplay.from_predictions(Y, RISK, kind="x"), "kind='x'"),
        (lambda: DecisionCurveDisplay.from_predictions(Y, {}), "no model"),
        (lambda: DecisionCurveDisplay.from_predictions(Y, RISK[:3]), "4 rows"),
        (lambda: DecisionCurveDisplay.from_predictions(Y, {"Treat All": RISK}), "Rename"),
        (lambda: CalibrationDisplay({}), "no model"),
        (lambda: CalibrationDisplay({"a": {"risk": np.ones(1)}}), "lacks the column 'observed'"),
        (lambda: CalibrationDisplay.from_predictions(Y, RISK, groups="x"), "groups='x'"),
        (lambda: CalibrationDisplay.from_predictions(Y, RISK, n_groups=0), "n_groups=0"),
        (lambda: CalibrationDisplay.from_predictions(Y, RISK, confidence=95), "confidence=95"),
        (lambda: CalibrationDisplay.from_predictions(Y, {"a": [0.1, 0.2, 3, 0]}), r"risks\['a'\]"),
        (lambda: CalibrationDisplay.from_predictions([0, 2, 1, 1], RISK), "row 1 holds 2"),
        (lambda: CalibrationDisplay.from_predictions(Y, {1: RISK}), "model name 1 is not text"),
        (lambda: RocDisplay({}), "no model"),
        (lambda: RocDisplay.from_predictions([1, 1, 1, 1], RISK), "events and non-events"),
        (lambda: RocDisplay.from_predictions(Y, [1, 2, 3]), "4 rows"),
        (lambda: RocDisplay.from_predictions(Y, {"a": [1, 2, np.nan, 3]}), "nan in row 2"),
        (lambda: RocDisplay.from_predictions(Y, ["a", 2, 3, 4]), "one number per row"),
        (lambda: RocDisplay.from_predictions(Y, RISK, thresholds=[0.5]), "Pass risk="),
        (lambda: RocDisplay.from_estimator({"a": 1}, None, Y), "others="),
        (lambda: ScorecardDisplay("card"), "str holds no card"),
        (lambda: PointsDisplay.from_estimator(RiskScoreClassifier()), "call fit first"),
        (lambda: TraceDisplay.from_estimator(RiskScoreClassifier()), "Call fit first"),
        (lambda: TraceDisplay(3), "int has no trace"),
        (lambda: RegionDisplay(prevalence=1.5), "prevalence=1.5"),
        (lambda: RegionDisplay(prevalence=0.5, models={"a": 0.7}), r"models\['a'\]"),
        (lambda: RegionDisplay.from_predictions([0, 0, 0, 0], RISK), "no events"),
        (lambda: RegionDisplay(prevalence=0.5).plot(ax=plt.figure()), "ax must be"),
        (lambda: RegionDisplay(prevalence=0.5).save("region.docx"), "cannot tell the format"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_bad_models(fitted: Fitted) -> None:
    X, y, make = fitted.X, fitted.y, DecisionCurveDisplay.from_estimator
    with pytest.raises(InputError, match="predicts no risks"):
        make(StandardScaler(), X, y)
    with pytest.raises(InputError, match="not fitted"):
        make(LogisticRegression(), X, y)
    with pytest.raises(InputError, match="name goes with one model"):
        make(fitted.models, X, y, name="both")
    with pytest.raises(InputError, match="does not know"):
        make(fitted.logistic, X, np.where(y == 1, "ill", "well"))
    with pytest.raises(InputError, match="shape"):
        make(fitted.logistic, X, y[:, None])
    flowers = load_iris(return_X_y=True)
    three = LogisticRegression(max_iter=500).fit(*flowers)
    with pytest.raises(InputError, match="3 classes"):
        make(three, *flowers)
    labels = np.where(y == 1, "ill", "well")
    few = np.asarray(X)[:, :2]
    last, first = (LogisticRegression().fit(few, labels) for _ in range(2))
    first.pos_label = "ill"
    with pytest.raises(InputError, match="another label for the event"):
        make({"a": last, "b": first}, few, labels)
    with pytest.raises(InputError, match="Pass another name"):
        RocDisplay.from_estimator(fitted.card, X, y, name="a", others={"a": fitted.logistic})


def test_labels_of_any_kind(fitted: Fitted) -> None:
    labels = np.where(fitted.y == 1, "malignant", "benign")  # sorts as 0 and 1 do
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(fitted.X, labels)
    by_label = CalibrationDisplay.from_estimator(model, fitted.X, labels, name="m")
    risk = model.predict_proba(fitted.X)[:, 1]
    by_number = CalibrationDisplay.from_predictions(fitted.y, {"m": risk})
    np.testing.assert_array_equal(
        by_label.groups["m"]["observed"], by_number.groups["m"]["observed"]
    )


#: How colours look to people who lack one kind of cone (Machado et al. 2009, severity 1).
_BLIND = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def _lab(linear: np.ndarray) -> np.ndarray:
    """CIELAB of linear sRGB, white D65."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.clip(linear, 0, 1) @ np.array(to_xyz).T / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    a, b = 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])
    return np.column_stack([116 * f[:, 1] - 16, a, b])


@pytest.mark.parametrize("eyes", _BLIND)
def test_colours_differ_for_the_colour_blind_and_styles_without_colour(eyes: str) -> None:
    styles = [style_of(place) for place in range(6)]
    rgb = np.array([to_rgb(style.colour) for style in styles])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lab = _lab(linear @ np.array(_BLIND[eyes]).T)
    apart = np.linalg.norm(lab[:, None] - lab[None], axis=2)[np.triu_indices(len(styles), 1)]
    assert apart.min() > 10
    assert len({(str(style.line), style.marker) for style in styles}) == len(styles)
