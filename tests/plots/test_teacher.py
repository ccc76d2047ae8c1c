"""A card beside its teacher: numbers against the metrics, weights, files, bad input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from netbenefit import (
    InputError,
    RiskScoreClassifier,
    RSSDNBClassifier,
    TeacherDisplay,
    decision_curve,
    net_benefit,
)
from tests.helpers.cards import SHORT_SEARCH

plt = pytest.importorskip("matplotlib.pyplot")
GRID = [0.1, 0.25, 0.4]


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    yield
    plt.close("all")


class Data:
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.X = rng.integers(0, 3, (400, 4))
        chance = 1 / (1 + np.exp(2.5 - self.X[:, 0] - 0.6 * self.X[:, 1]))
        self.y = np.where(rng.random(400) < chance, "ill", "healthy")
        self.weight = rng.integers(0, 4, 400)
        self.model = RiskScoreClassifier(
            binner=None, thresholds=GRID, max_points=3, teacher="logistic"
        )
        self.model.set_params(solver=SHORT_SEARCH).fit(self.X, self.y)
        self.event = self.y == self.model.classes_[1]
        self.risk = self.model.predict_proba(self.X)[:, 1]


@pytest.fixture(scope="module")
def data() -> Data:
    return Data()


def test_table_has_the_numbers_of_the_metrics(data: Data) -> None:
    table = TeacherDisplay.from_estimator(data.model, data.X, data.y).to_table()
    teacher = net_benefit(data.event, data.model.teaching_.risks, GRID)
    card = net_benefit(data.event, data.risk, GRID)
    assert list(table) == ["threshold", "teacher", "card", "lost", "share_kept"]
    assert table["threshold"].tolist() == GRID
    for name, expected in {
        "teacher": teacher,
        "card": card,
        "lost": teacher - card,
        "share_kept": card / teacher,
    }.items():
        np.testing.assert_allclose(table[name], expected, rtol=0, atol=1e-12)


def test_weights_count_rows(data: Data) -> None:
    rng = np.random.default_rng(1)
    teacher = rng.random(400)
    weighted = TeacherDisplay.from_estimator(
        data.model, data.X, data.y, sample_weight=data.weight, teacher_risks=teacher
    )
    rows = np.repeat(np.arange(400), data.weight)
    repeated = TeacherDisplay.from_estimator(
        data.model, data.X[rows], data.y[rows], teacher_risks=teacher[rows]
    )
    for name, column in weighted.to_table().items():
        np.testing.assert_allclose(column, repeated.to_table()[name], atol=1e-12)
    with pytest.raises(InputError, match="rows or weights differ"):
        TeacherDisplay.from_estimator(data.model, data.X, data.y, sample_weight=data.weight)


def test_weights_of_training_go_with_the_risks_of_training(data: Data) -> None:
    model = RiskScoreClassifier(
        binner=None, thresholds=GRID, teacher="logistic", solver=SHORT_SEARCH
    )
    model.fit(data.X, data.y, sample_weight=data.weight)
    table = TeacherDisplay.from_estimator(model, data.X, data.y, data.weight).to_table()
    expected = net_benefit(data.event, model.teaching_.risks, GRID, sample_weight=data.weight)
    np.testing.assert_allclose(table["teacher"], expected, atol=1e-12)
    with pytest.raises(InputError, match="rows or weights differ"):
        TeacherDisplay.from_estimator(model, data.X, data.y)


def test_what_is_drawn_is_the_table(data: Data, tmp_path: Path) -> None:
    display = TeacherDisplay.from_estimator(data.model, data.X, data.y)
    assert list(display.curves_.lines_) == ["teacher", "card", "Treat All", "Treat None"]
    p, lost = display.lost_.get_data()
    table = display.to_table()
    at = [int(np.flatnonzero(p == q)[0]) for q in table["threshold"]]
    np.testing.assert_allclose(lost[at], table["lost"])
    assert display.lost_.get_markevery() == at
    assert display.lost_ax_.get_xlim() == display.ax_.get_xlim()
    assert display.lost_ax_.get_xlabel() == "Threshold Probability"
    assert display.ax_.get_xlabel() == ""
    for name in ("one.svg", "two.svg", "one.png", "one.pdf"):
        TeacherDisplay(display.curve, GRID).save(tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert "Lost: Teacher − Card" in (tmp_path / "one.svg").read_text(encoding="utf-8")


def test_draws_on_given_axes_and_returns_itself(data: Data) -> None:
    figure, ax = plt.subplots()
    display = TeacherDisplay.from_estimator(data.model, data.X, data.y, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.plot() is display
    assert display.ax_ is ax  # it stands there already
    plt.close(figure)
    assert display.plot().ax_ is not ax


def test_new_rows_and_a_card_take_risks_from_the_user(data: Data) -> None:
    new, y = data.X[:150], data.y[:150]
    teacher = LogisticRegression().fit(data.X, data.y).predict_proba(new)[:, 1]
    table = TeacherDisplay.from_estimator(data.model, new, y, teacher_risks=teacher).to_table()
    np.testing.assert_allclose(table["teacher"], net_benefit(data.event[:150], teacher, GRID))
    card = data.model.scorecard_
    names = dict(zip(card.feature_names, new.T, strict=True))
    same = TeacherDisplay.from_estimator(card, names, data.event[:150], teacher_risks=teacher)
    np.testing.assert_allclose(same.to_table()["card"], table["card"])


def test_without_thresholds_every_percent_is_a_row() -> None:
    y, risk = [0, 1, 0, 1], [0.1, 0.9, 0.3, 0.2]
    display = TeacherDisplay.from_predictions(y, risk, risk)
    table = display.to_table()
    assert table.n_rows == 100
    assert np.nanmax(np.abs(table["lost"])) == 0
    # Above every risk no row is positive: there is no net benefit to keep a share of.
    assert np.isnan(table["share_kept"][-1])


def test_bad_input_is_refused(data: Data) -> None:
    y, risk = [0, 1, 0, 1], [0.1, 0.9, 0.3, 0.2]
    with pytest.raises(InputError, match="teacher_risks"):
        TeacherDisplay.from_predictions(y, [0.1, 0.9, 0.3, 1.2], risk)
    with pytest.raises(InputError, match="card_risks"):
        TeacherDisplay.from_predictions(y, risk, risk[:3])
    with pytest.raises(InputError, match="trained on 400: these are other rows"):
        TeacherDisplay.from_estimator(data.model, data.X[:50], data.y[:50])
    untaught = RSSDNBClassifier(thresholds=GRID, solver=SHORT_SEARCH)
    untaught.fit(data.X, data.y)
    with pytest.raises(InputError, match="no risks of a teacher"):
        TeacherDisplay.from_estimator(untaught, data.X, data.y)
    names = {f"x{k}": data.X[:, k] for k in range(4)}
    with pytest.raises(InputError, match="no risks of a teacher"):
        TeacherDisplay.from_estimator(data.model.scorecard_, names, data.event)
    curve = decision_curve(y, {"card": risk}, GRID)
    with pytest.raises(InputError, match="no model 'teacher'"):
        TeacherDisplay(curve)
    with pytest.raises(InputError, match="lacks the column 'net_benefit'"):
        TeacherDisplay({"model": curve["model"], "threshold": curve["threshold"]})
    both = decision_curve(y, {"card": risk, "teacher": risk}, GRID)
    with pytest.raises(InputError, match=r"no row for the threshold 0\.3"):
        TeacherDisplay(both, [0.3])


def test_merged_tables_have_no_order_to_go_by(data: Data) -> None:
    table = {f"x{k}": data.X[:, k] for k in range(4)} | {"y": data.event}
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(table)
    model = RiskScoreClassifier(
        binner=None, thresholds=GRID, teacher="logistic", solver=SHORT_SEARCH
    )
    model.fit_table(frame, "y")
    with pytest.raises(InputError, match="fit_table has merged"):
        TeacherDisplay.from_estimator(model, frame.drop(columns="y"), data.event)
