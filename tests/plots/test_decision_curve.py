"""Decision curves with bands, and over time, as drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from netbenefit import DecisionCurveDisplay, TimeToEvent, censoring_weights
from netbenefit.cards.scorecard import Rule, Scorecard
from netbenefit.cards.terms import Condition
from netbenefit.common.checks import InputError
from netbenefit.metrics.bands import decision_bands
from netbenefit.metrics.curves import decision_curve
from netbenefit.metrics.thresholds import Thresholds

plt = pytest.importorskip("matplotlib.pyplot")
GRID = "0.1:0.4:0.1"
KINDS = ["net_benefit", "standardised_net_benefit", "interventions_avoided"]
QUICK: dict[str, Any] = {"n_resamples": 40, "random_state": 3}


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    yield
    plt.close("all")


class Data:
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(300, 2))
        life = rng.exponential(8 * np.exp(-self.X[:, 0]))
        lost = rng.uniform(1, 12, 300)
        other = rng.exponential(30, 300)
        first = np.minimum(life, other)
        code = np.where(life <= other, 1, 2)
        self.y = TimeToEvent(np.minimum(first, lost), np.where(first <= lost, code, 0), 4)
        risk = 1 - np.exp(-0.5 * np.exp(self.X[:, 0]))
        self.risks = {"a": risk, "b": np.round(risk * 4) / 4}


@pytest.fixture(scope="module")
def data() -> Data:
    return Data()


def outline(collection: Any) -> set[tuple[float, float]]:
    corners = collection.get_paths()[0].vertices
    return {(round(float(x), 9), round(float(y), 9)) for x, y in corners}


@pytest.mark.parametrize(
    "kind", ["net_benefit", "standardised_net_benefit", "interventions_avoided"]
)
@pytest.mark.parametrize("band", ["pointwise", "simultaneous"])
def test_bands_are_those_of_the_table_over_the_range_of_interest(
    data: Data, kind: Any, band: Any
) -> None:
    display = DecisionCurveDisplay.from_predictions(
        data.y, data.risks, GRID, kind=kind, band=band, **QUICK
    )
    measure = {"interventions_avoided": "net_intervention_avoided"}.get(kind, kind)
    inside = [i / 100 for i in range(10, 41)]
    table = decision_bands(data.y, data.risks, inside, measure=measure, **QUICK)
    scale = 100 if kind == "interventions_avoided" else 1
    prefix = "simultaneous_" if band == "simultaneous" else ""
    assert list(display.bands_) == ["a", "b"]
    for name, drawn in display.bands_.items():
        rows = table["model"] == name
        for limit in ("lower", "upper"):
            y = scale * table[prefix + limit][rows]
            expected = {(round(p, 9), round(float(v), 9)) for p, v in zip(inside, y, strict=True)}
            assert expected <= outline(drawn)
    top = scale * np.nanmax(table[prefix + "upper"])
    assert display.ax_.get_ylim()[1] >= top
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    words = {"pointwise": "each threshold on its own", "simultaneous": "whole curve"}
    assert f"95% band, {words[band]}" in texts


def test_lines_over_time_are_those_of_the_table(data: Data) -> None:
    display = DecisionCurveDisplay.from_predictions(data.y, data.risks, GRID)
    fine = [i / 100 for i in range(100)]
    table = decision_curve(data.y, data.risks, fine)
    for name, line in display.lines_.items():
        expected = table["net_benefit"][table["model"] == name]
        assert np.asarray(line.get_ydata()) == pytest.approx(expected, nan_ok=True)
    assert display.bands_ == {}
    standard = display.plot(kind="standardised_net_benefit")
    expected = (table["net_benefit"] / table["prevalence"])[:100]
    assert np.asarray(standard.lines_["a"].get_ydata()) == pytest.approx(expected, nan_ok=True)
    assert standard.ax_.get_ylabel() == "Standardised Net Benefit"


def test_models_and_cards_predict_for_outcomes_over_time(data: Data) -> None:
    y, weight = censoring_weights(data.y)
    model = LogisticRegression().fit(data.X, y, sample_weight=weight)
    card = Scorecard.from_levels(
        rules=[Rule(Condition("x", ">=", 0.0), 1)],
        cutoffs=[1],
        risks=[0.2, 0.6],
        thresholds=Thresholds.of([0.3]),
        feature_names=["x", "z"],
    )
    display = DecisionCurveDisplay.from_estimator({"m": model, "card": card}, data.X, data.y)
    risks = {"m": model.predict_proba(data.X)[:, 1], "card": card.risk(data.X)}
    other = DecisionCurveDisplay.from_predictions(data.y, risks, [0.3])
    for name, line in display.lines_.items():
        assert np.asarray(line.get_ydata()) == pytest.approx(
            np.asarray(other.lines_[name].get_ydata()), nan_ok=True
        )
    with pytest.raises(InputError, match="'m' is not fitted"):
        DecisionCurveDisplay.from_estimator({"m": LogisticRegression()}, data.X, data.y)


def test_one_threshold_of_interest_gets_a_bar(data: Data) -> None:
    display = DecisionCurveDisplay.from_predictions(
        data.y, data.risks["a"], [0.2], band="pointwise", level=0.9, **QUICK
    )
    table = decision_bands(data.y, data.risks["a"], [0.2], level=0.9, **QUICK)
    (bar,) = display.bands_["model"].get_segments()
    assert bar[:, 1] == pytest.approx([table["lower"][0], table["upper"][0]])
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "90% band, each threshold on its own" in texts


def test_bands_of_another_measure_are_not_drawn(data: Data) -> None:
    bands = decision_bands(data.y, data.risks, GRID, **QUICK)
    display = DecisionCurveDisplay(bands, GRID, bands=bands).plot()
    assert set(display.bands_) == {"a", "b"}
    assert display.plot(kind="interventions_avoided").bands_ == {}
    assert display.plot().bands_


def test_the_same_display_gives_the_same_file(data: Data, tmp_path: Path) -> None:
    files = []
    for name in ("one.svg", "two.svg"):
        display = DecisionCurveDisplay.from_predictions(
            data.y, data.risks, GRID, band="simultaneous", **QUICK
        )
        display.save(tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]


def test_the_curve_of_a_card_jumps_at_its_risks() -> None:
    y, risk = [0, 0, 1, 0, 1, 1], np.array([0.04, 0.133, 0.133, 0.2718, 0.2718, 0.7])
    display = DecisionCurveDisplay.from_predictions(y, {"card": risk}, grid="risks")
    line = display.lines_["card"]
    p, drawn = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    for q in (0.04, 0.133, 0.2718, 0.7):
        (here,) = np.flatnonzero(p == q)
        assert 0 < p[here + 1] - q < 2e-9
        left, right = (decision_curve(y, risk, [r])["net_benefit"][0] for r in (q, q + 1e-7))
        assert drawn[here] == pytest.approx(left)
        assert drawn[here + 1] == pytest.approx(right, abs=1e-6)
        assert abs(left - right) > 0.005


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"band": "both"}, r"band='both' is not known"),
        ({"n_resamples": 50}, r"n_resamples goes with bands"),
        ({"band": "pointwise", "n_resamples": 1}, r"n_resamples=1"),
    ],
)
def test_bad_input(data: Data, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DecisionCurveDisplay.from_predictions(data.y, data.risks, GRID, **options)


def test_bands_without_limits_are_refused(data: Data) -> None:
    curve = decision_curve(data.y, data.risks, GRID)
    with pytest.raises(InputError, match="bands lacks limits"):
        DecisionCurveDisplay(curve, bands=curve)
