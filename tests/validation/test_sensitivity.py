"""Sensitivity to thresholds: the slow way beside it, and a grid from the data."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from netbenefit import (
    InputError,
    RiskScoreClassifier,
    SensitivityDisplay,
    Thresholds,
    aunbc,
    expected_calibration_error,
    paper_grids,
    suggest_thresholds,
    threshold_sensitivity,
)
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.validation.folds import Sample, make_folds
from netbenefit.validation.sensitivity import Sensitivity, _quantiles

mpl.use("Agg")


def rows(seed: int = 0, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 3))
    return X, rng.random(n) < 1 / (1 + np.exp(2 - X[:, 0] - 0.5 * X[:, 1]))


def searcher(**more: Any) -> RiskScoreClassifier:
    """A quick search that ends by its rounds, never by the clock."""
    quick = LocalSearch(time_limit=None, max_rounds=1, chains=1)
    return RiskScoreClassifier(**{"binner": None, "solver": quick, "prior_strength": 0, **more})


@pytest.fixture(scope="module")
def found() -> tuple[Sensitivity, np.ndarray, np.ndarray, np.ndarray]:
    X, y = rows()
    weight = np.random.default_rng(1).integers(1, 3, y.size).astype(float)
    settings: dict[str, Any] = {
        "i/10": None,
        "range": "0.1:0.4:0.1",
        "weights": Thresholds.of([0.1, 0.5], [0.9, 0.1]),
        "data": suggest_thresholds,
    }
    result = threshold_sensitivity(searcher(), X, y, settings, folds=3, sample_weight=weight)
    return result, X, y, weight


def test_the_paper_s_settings() -> None:
    grids = paper_grids()
    assert list(grids) == ["i/10", "i/20", "i/5", "random, equal", "random, length"]
    assert grids["i/10"] == Thresholds.tenths()
    assert grids["i/20"].given.tolist() == pytest.approx([i / 20 for i in range(20)])
    assert grids["i/5"].given.tolist() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])
    random = [0, 0.0857, 0.1102, 0.1325, 0.2292, 0.4491, 0.5409, 0.5727, 0.5778, 0.6975]
    assert grids["random, equal"].given.tolist() == random
    assert set(grids["random, equal"].weights) == {0.1}
    lengths = np.diff([*random, 1.0])
    np.testing.assert_allclose(grids["random, length"].weights, lengths)


def test_every_fold_is_what_a_loop_finds(found: Any) -> None:
    result, X, y, weight = found
    tenths = Thresholds.tenths()
    for k, (train, test) in enumerate(make_folds(3, Sample.of(X, y, weight), 0)):
        risks = []
        for name in result.settings:
            grid = result.settings[name]
            if name == "data":  # chosen from the training rows of the fold, not from all
                grid = suggest_thresholds(X[train], y[train], sample_weight=weight[train])
            model = searcher(thresholds=grid)
            model.fit(X[train], y[train], sample_weight=weight[train])
            risks.append(model.predict_proba(X[test])[:, 1])
            i = len(risks) - 1
            w = weight[test]
            assert result.fold_aunbc[k, i] == aunbc(y[test], risks[-1], tenths, sample_weight=w)
            ece = expected_calibration_error(y[test], risks[-1], tenths, sample_weight=w)
            assert result.fold_ece[k, i] == ece
            assert result.fold_size[k, i] == model.scorecard_.size
            for t, p in enumerate(tenths.given):
                other = sum(
                    w[j] for j in range(test.size) if (risks[0][j] >= p) != (risks[i][j] >= p)
                )
                assert result.fold_changed[k, i, t] == pytest.approx(other / w.sum())


def test_tables_and_text(found: Any) -> None:
    result = found[0]
    t = result.to_table()
    assert t["setting"].tolist() == ["i/10", "range", "weights", "data"]
    assert t["difference"][0] == 0
    assert t["changed"][0] == 0
    np.testing.assert_allclose(t["difference"], t["aunbc"] - t["aunbc"][0], atol=1e-12)
    gaps = result.fold_aunbc[:, 1] - result.fold_aunbc[:, 0]
    # a third of the rows is held out: n_test / n_train is 1/2 up to rounding
    assert result.ratio == pytest.approx(0.5, rel=0.01)
    error = gaps.std(ddof=1) * np.sqrt(1 / 3 + result.ratio)
    assert t["difference_se"][1] == pytest.approx(error)
    d = result.decisions()
    assert d.n_rows == 4 * 10
    here = (d["setting"] == "range") & (d["threshold"] == t["at"][1])
    assert d["changed"][here] == t["most_changed"][1]
    points = result.points()
    for name, card in result.cards.items():
        worth = {rule.term.text(): rule.points for rule in card.rules}
        shown = dict(zip(points["rule"], points[name], strict=True))
        assert {k: v for k, v in shown.items() if v} == {k: v for k, v in worth.items() if v}
    assert "3 folds" in str(result)
    assert "at the same 10 thresholds" in str(result)


def test_names_of_a_data_frame_stay() -> None:
    X, y = rows(3, 120)
    frame = pd.DataFrame(X, columns=["age", "bmi", "sex"])
    settings = {"one": [0.3], "two": [0.3, 0.6]}
    result = threshold_sensitivity(searcher(), frame, y, settings, folds=2, evaluate_on=[0.3, 0.6])
    assert set(result.cards["one"].features) <= {"age", "bmi", "sex"}
    assert result.evaluated.given.tolist() == [0.3, 0.6]
    raw = threshold_sensitivity(
        searcher(binner="auto"), {c: frame[c].tolist() for c in frame}, y, settings, folds=2
    )
    assert set(raw.cards) == {"one", "two"}


def test_what_cannot_be_compared_is_refused() -> None:
    X, y = rows(0, 40)
    with pytest.raises(InputError, match="estimator is a str"):
        threshold_sensitivity("card", X, y)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="settings are empty"):
        threshold_sensitivity(searcher(), X, y, {})
    with pytest.raises(InputError, match="X has 40 rows"):
        threshold_sensitivity(searcher(), X, y[:30])


# -- pictures --------------------------------------------------------------------------------------


def test_pictures_show_the_numbers(found: Any, tmp_path: Path) -> None:
    result = found[0]
    areas = result.plot()
    assert isinstance(areas, SensitivityDisplay)
    x, place = areas.errorbar_.lines[0].get_data()
    np.testing.assert_array_equal(x, result.difference)
    np.testing.assert_array_equal(place, range(4))
    assert [text.get_text() for text in areas.ax_.get_yticklabels()] == list(result.settings)
    changes = result.plot(kind="decisions")
    assert list(changes.lines_) == ["range", "weights", "data"]
    for i, line in enumerate(changes.lines_.values(), start=1):
        np.testing.assert_array_equal(line.get_xdata(), result.evaluated.given)
        np.testing.assert_array_equal(line.get_ydata(), result.changed[i])
    areas.save(tmp_path / "a.svg")
    assert "held-out rows" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    figure, ax = mpl.figure.Figure(), None
    ax = figure.subplots()
    assert areas.plot(ax=ax, kind="decisions").ax_ is ax
    with pytest.raises(InputError, match="kind='bars'"):
        result.plot(kind="bars")


# -- a grid from the data --------------------------------------------------------------------------


def test_quantiles_of_weighted_rows() -> None:
    for seed in range(500):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 30))
        values, weight = rng.integers(0, 8, n) / 8, rng.integers(1, 4, n)
        steps = rng.random(4)
        twice = np.repeat(values, weight)
        slow = np.quantile(twice, steps, method="inverted_cdf")
        np.testing.assert_array_equal(_quantiles(values, weight.astype(float), steps), slow)


class Known:
    """A preliminary model that knows the risk: the first column."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Known:
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def test_suggested_thresholds_are_quantiles_inside_the_range() -> None:
    for seed in range(200):
        rng = np.random.default_rng([5, seed])
        n = int(rng.integers(20, 200))
        risk, y = rng.beta(1, 3, n), np.arange(n) % 2
        low, high = [(0.0, 1.0), (0.05, 0.5), (0.1, 0.3)][seed % 3]
        size, weight = int(rng.integers(2, 12)), rng.integers(0, 3, n).astype(float)
        weight[risk.argsort()[n // 3 : 2 * n // 3]] += 1
        grid = suggest_thresholds(
            risk[:, None],
            y,
            low=low,
            high=high,
            size=size,
            model=Known(),
            folds=2,
            sample_weight=weight,
            decimals=3,
        )
        inside = np.repeat(risk, weight.astype(int))
        inside = inside[(inside >= low) & (inside < high)]
        steps = [Fraction(2 * k - 1, 2 * (size - 1)) for k in range(1, size)]
        found = [round(float(np.sort(inside)[math.ceil(s * inside.size) - 1]), 3) for s in steps]
        expected = sorted({low, *(q for q in found if low < q < high)})
        assert grid.given.tolist() == pytest.approx(expected)
        assert grid.end == high
        assert len(set(grid.weights[-len(grid.given) :])) == 1


def test_suggestions_use_rows_that_the_model_has_not_seen() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 40)), rng.random(60) < 0.5
    seen: list[int] = []

    class Spy(Known):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Spy:
            self.rows = {row.tobytes() for row in X}
            return self

        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            assert not any(row.tobytes() in self.rows for row in X)
            seen.append(len(X))
            return np.column_stack([np.full(len(X), 0.7), np.full(len(X), 0.3)])

    grid = suggest_thresholds(X, y, model=Spy())
    assert sum(seen) == 60
    assert grid.given.tolist() == [0, 0.3]


def test_what_cannot_be_suggested_is_refused() -> None:
    X, y = rows(0, 60)
    with pytest.raises(InputError, match="0 <= low < high <= 1"):
        suggest_thresholds(X, y, low=0.5, high=0.2)
    with pytest.raises(InputError, match="size=1"):
        suggest_thresholds(X, y, size=1)
    with pytest.raises(InputError, match="no predicted risk"):
        suggest_thresholds(X, y, low=0.98, high=0.99)
    with pytest.raises(InputError, match="X has 60 rows"):
        suggest_thresholds(X, y[:50])
    tiny = np.full((60, 1), 0.001)
    with pytest.raises(InputError, match="round to 0"):
        suggest_thresholds(tiny, y, model=Known())
