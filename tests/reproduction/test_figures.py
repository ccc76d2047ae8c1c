"""Figures of a run: pooled predictions, the numbers that are drawn, files that stay the same."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from netbenefit import (
    Thresholds,
    aunbc,
    auroc,
    calibrate_levels,
    decision_curve,
    expected_calibration_error,
    grouped_auroc,
)
from netbenefit.common.checks import InputError
from netbenefit.plots.base import INK
from netbenefit.theory import correlated_risks, upper_aunbc
from reproduction.curves import (
    FEW,
    Pooled,
    calibration_table,
    decision_table,
    pool_method,
    pool_run,
    roc_of,
    thin,
)
from reproduction.figures import FIGURES, draw_again, draw_figures, write_figures
from reproduction.names import METHOD_NAMES
from reproduction.region import (
    FIFTHS,
    bound_table,
    boundary_pairs,
    card_pair,
    correlated_pairs,
)

pytest.importorskip("matplotlib")

SIZES = {"heart": 120, "mammo": 90, "toy": 60, "credit": 400}
MOST_BYTES = 300_000


def outcome_of(dataset: str) -> np.ndarray:
    if dataset not in SIZES:
        raise InputError(f"no {dataset}")
    share = 0.1 if dataset == "credit" else 0.4
    n = SIZES[dataset]
    return np.random.default_rng(len(dataset)).permutation(n) < share * n


def risks_of(dataset: str, method: str) -> np.ndarray:
    y = outcome_of(dataset)
    seed = sum(map(ord, dataset + method))
    risk = correlated_risks(y, 0.6, random_state=seed)
    return np.where(risk > 0.5, 0.8, 0.2) if method == "slim" else risk


def rows_of(
    datasets: tuple[str, ...] = ("heart", "mammo"),
    methods: tuple[str, ...] = tuple(METHOD_NAMES),
    folds: int = 5,
) -> list[dict[str, Any]]:
    rows = []
    for dataset in datasets:
        n = SIZES[dataset]
        for method in methods:
            risk = risks_of(dataset, method)
            for fold in range(folds):
                held = np.flatnonzero(np.arange(n) % 5 == fold)[::-1]
                rows.append(
                    {
                        "dataset": dataset,
                        "method": method,
                        "setting": "original",
                        "fold": fold,
                        "test_rows": held.tolist(),
                        "test_risks": risk[held].tolist(),
                    }
                )
    return rows


def credit_rows() -> list[dict[str, Any]]:
    card = {
        "dataset": "credit",
        "method": "rss-dnb-exact",
        "setting": "c0=0",
        "fold": -1,
        "train_auroc": 0.81,
        "train_aunbc": 0.02,
        "test_rows": [],
        "test_risks": [],
    }
    return [*rows_of(("credit",), ("rss-dnb", "slim"), folds=1), card]


# -- pooling ---------------------------------------------------------------------------------------


def test_pooled_predictions_hold_every_row_once():
    pooled = pool_method(rows_of(), "heart", "lasso", outcome_of("heart"))
    assert pooled.rows.tolist() == list(range(120))
    assert pooled.folds == (0, 1, 2, 3, 4)
    assert pooled.missing == 0
    np.testing.assert_array_equal(pooled.risks, risks_of("heart", "lasso"))
    np.testing.assert_array_equal(pooled.outcome, outcome_of("heart"))


def test_only_held_out_rows_of_the_original_setting_are_pooled():
    rows = rows_of(methods=("rss-dnb",))
    extra = [
        {**rows[0], "setting": "fine"},
        {**rows[0], "fold": -1},
        {**rows[0], "test_rows": None},
    ]
    pooled = pool_method([*rows, *extra], "heart", "rss-dnb", outcome_of("heart"))
    assert pooled.missing == 0


def test_folds_that_were_not_run_are_left_out_and_named():
    rows = rows_of(("heart",), ("tree",), folds=2) + rows_of(("heart",), ("lasso",))
    pooled, notes = pool_run(rows, outcome_of)
    assert pooled["heart"]["tree"].rows.size == 48
    assert pooled["heart"]["tree"].missing == 72
    assert notes == ["heart: predictions are not there for all of its 120 rows (tree: 48)."]


def test_what_all_methods_lack_is_said_once():
    _, notes = pool_run(rows_of(("heart",), ("tree", "lasso"), folds=2), outcome_of)
    assert notes == ["heart: predictions are not there for all of its 120 rows (all methods: 48)."]


def test_no_fold_at_all_gives_nothing():
    pooled = pool_method(rows_of(), "heart", "unheard of", outcome_of("heart"))
    assert pooled.rows.size == 0
    assert not pooled.both


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "fold 0 is there twice"),
        ({"fold": 9}, "held out more than once"),
        ({"fold": 9, "test_rows": [120], "test_risks": [0.5]}, "rows 0 to 119"),
        ({"fold": 9, "test_rows": [-1], "test_risks": [0.5]}, "the row -1"),
        ({"fold": 9, "test_rows": [0.5], "test_risks": [0.5]}, "whole row numbers"),
        ({"fold": 9, "test_rows": [1, 2], "test_risks": [0.5]}, "fold 9"),
        ({"fold": 9, "test_rows": [1], "test_risks": [1.5]}, "fold 9"),
    ],
)
def test_what_is_not_of_one_cross_validation_is_refused(change, words):
    rows = rows_of(("heart",), ("tree",))
    with pytest.raises(InputError, match=words):
        pool_method([*rows, {**rows[0], **change}], "heart", "tree", outcome_of("heart"))


def test_data_sets_come_in_the_order_of_the_paper_and_the_case_study_stays_out():
    rows = rows_of(("toy", "credit", "mammo", "heart"), ("tree", "rss-dnb"))
    pooled, notes = pool_run(rows, outcome_of)
    assert list(pooled) == ["heart", "mammo", "toy"]
    assert list(pooled["toy"]) == ["rss-dnb", "tree"]
    assert notes == []


def test_an_absent_data_set_is_named():
    rows = [{**row, "dataset": "adult"} for row in rows_of(("heart",), ("tree",))]
    pooled, notes = pool_run(rows, outcome_of)
    assert pooled == {}
    assert notes == ["adult: not drawn, as its outcomes are not there: no adult"]


# -- numbers ---------------------------------------------------------------------------------------


@pytest.fixture
def pooled() -> dict[str, Pooled]:
    return pool_run(rows_of(("heart",)), outcome_of)[0]["heart"]


def test_roc_curves_are_those_of_scikit_learn(pooled):
    for one in pooled.values():
        fpr, tpr, _ = roc_curve(one.outcome, one.risks)
        curve = roc_of(one)
        np.testing.assert_array_equal(curve.fpr, fpr)
        np.testing.assert_array_equal(curve.tpr, tpr)
        assert curve.auroc == pytest.approx(roc_auc_score(one.outcome, one.risks), abs=1e-12)


def test_thinned_curves_are_near_the_whole_and_made_of_its_corners():
    rng = np.random.default_rng(0)
    y = rng.random(5000) < 0.3
    one = Pooled(
        "toy", "tree", (0,), np.arange(5000), correlated_risks(y, 0.5, random_state=1), y, 5000
    )
    whole = roc_of(one)
    thinned = thin(whole, 0.002)
    assert thinned.fpr.size < whole.fpr.size / 10
    assert thinned.auroc == whole.auroc
    corners = set(zip(whole.fpr, whole.tpr, strict=True))
    kept = list(zip(thinned.fpr, thinned.tpr, strict=True))
    assert set(kept) <= corners
    assert kept[0] == (0, 0)
    assert kept[-1] == (1, 1)
    points = np.array(sorted(corners))
    nearest = [_to_segments(point, np.array(kept)[:-1], np.array(kept)[1:]) for point in points]
    assert max(nearest) <= 0.002 + 1e-12


def _to_segments(point: np.ndarray, start: np.ndarray, stop: np.ndarray) -> float:
    along = stop - start
    t = np.clip(((point - start) * along).sum(1) / (along**2).sum(1), 0, 1)
    return float(np.hypot(*(start + t[:, None] * along - point).T).min())


def test_a_perfect_curve_has_three_corners():
    y = np.arange(40) >= 20
    one = Pooled("toy", "tree", (0,), np.arange(40), np.arange(40) / 40, y, 40)
    assert thin(roc_of(one)).tpr.tolist() == [0, 1, 1]


def test_decision_curves_are_those_of_the_package(pooled):
    grid = Thresholds.of([0, 0.1, 0.25, 0.6])
    table = decision_table(pooled, grid)
    risks = {method: one.risks for method, one in pooled.items()}
    expected = decision_curve(outcome_of("heart"), risks, grid)
    assert table["model"].tolist() == expected["model"].tolist()
    for column in ("threshold", "n", "prevalence", "net_benefit"):
        np.testing.assert_array_equal(table[column], expected[column])


def test_each_method_is_measured_on_its_own_rows():
    rows = rows_of(("heart",), ("tree",), folds=2) + rows_of(("heart",), ("lasso",), folds=3)
    found = pool_run(rows, outcome_of)[0]["heart"]
    table = decision_table(found)
    n = {model: table["n"][table["model"] == model][0] for model in set(table["model"])}
    assert n == {"tree": 48, "lasso": 72, "Treat All": 72, "Treat None": 72}


def test_calibration_points_give_the_calibration_error(pooled):
    for one in pooled.values():
        table = calibration_table(one)
        assert table["n"].sum() == 120
        assert table["events"].sum() == one.outcome.sum()
        off = (table["n"] / 120 * np.abs(table["observed"] - table["risk"])).sum()
        assert off == pytest.approx(expected_calibration_error(one.outcome, one.risks), abs=1e-12)


def test_slim_has_two_calibration_points(pooled):
    assert calibration_table(pooled["slim"])["risk"].tolist() == [0.2, 0.8]


# -- looks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["roc", "calibration", "decision"])
@pytest.mark.parametrize(
    ("methods", "shown"),
    [(("slim", "rss-dnb", "fasterrisk"), "rss-dnb"), (("tree", "slim"), "tree")],
)
def test_one_method_stands_out_and_the_rest_are_grey(name, methods, shown):
    from matplotlib.colors import to_rgb

    drawn = draw_figures(rows_of(methods=methods), [name], outcomes=outcome_of).figures[name]
    for ax in drawn.figure.axes:
        curves = [line for line in ax.get_lines() if line.get_linewidth() in (1.0, 2.2)]
        loud = [line for line in curves if line.get_linewidth() == 2.2]
        assert len(loud) == 1
        assert loud[0].get_zorder() > max(line.get_zorder() for line in curves if line not in loud)
        grey = {line.get_color() for line in curves if line not in loud} - {INK}
        assert len(grey) == 1
        assert len({*to_rgb(*grey)}) == 1  # equal parts of red, green and blue
    texts = {text.get_text() for text in drawn.figure.legends[0].get_texts()}
    assert METHOD_NAMES[shown] in texts
    others = len(methods) - 1
    assert f"{others} other method{'s' * (others > 1)}" in texts


def test_panels_are_large_enough_to_read():
    for name in ("roc", "calibration", "decision"):
        figure = draw_figures(rows_of(), [name], outcomes=outcome_of).figures[name].figure
        across = len({round(ax.get_position().x0, 2) for ax in figure.axes})
        assert across <= 2
        assert figure.get_size_inches()[0] / across > 4.5
        assert all(ax.xaxis.label.get_size() >= 10 for ax in figure.axes)


def test_no_line_crosses_a_gap_in_calibration():
    y = np.arange(60) % 2 == 0
    risk = np.repeat([0.05, 0.15, 0.75], 20)
    rows = [
        {
            "dataset": "toy",
            "method": "tree",
            "setting": "original",
            "fold": 0,
            "test_rows": list(range(60)),
            "test_risks": risk.tolist(),
        }
    ]
    drawn = draw_figures(rows, ["calibration"], outcomes=lambda name: y)
    line, *_ = drawn.figures["calibration"].figure.axes[0].get_lines()
    np.testing.assert_allclose(line.get_xdata(), [0.05, 0.15, np.nan, 0.75])
    assert FEW <= 20


# -- the region ------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.07, 0.5, 0.9])
@pytest.mark.parametrize("grid", [Thresholds.tenths(), FIFTHS])
def test_synthetic_pairs_lie_under_the_bound_and_type_2_on_it(share, grid):
    y = np.random.default_rng(3).permutation(2000) < share * 2000
    type_1, type_2 = correlated_pairs(y, grid), boundary_pairs(y, grid)
    for kind in ("", "calibrated_"):
        bound = upper_aunbc(grid, share, type_1[f"{kind}grouped_auroc"])
        assert (type_1[f"{kind}aunbc"] <= bound + 1e-9).all()
    bound = upper_aunbc(grid, share, type_2["grouped_auroc"])
    assert (type_2["aunbc"] <= bound + 1e-9).all()
    np.testing.assert_allclose(type_2["aunbc"], bound, atol=4 / 2000)
    np.testing.assert_allclose(type_2["grouped_auroc"], type_2["wanted"], atol=0.02)


def test_calibration_never_lowers_the_aunbc_and_pairs_are_measured_right():
    y = np.random.default_rng(4).permutation(1000) < 100
    pairs = correlated_pairs(y, correlations=[0.3, 0.7], random_state=5)
    assert (pairs["calibrated_aunbc"] >= pairs["aunbc"]).all()
    risk = correlated_risks(y, 0.3, random_state=np.random.default_rng(5))
    better = calibrate_levels(y, risk, order_keeping=True).apply(risk)
    assert pairs["grouped_auroc"][0] == grouped_auroc(y, risk)
    assert pairs["auroc"][0] == auroc(y, risk)
    assert pairs["calibrated_aunbc"][0] == aunbc(y, better)
    assert pairs["calibrated_auroc"] == pytest.approx(pairs["auroc"], abs=1e-9)  # order is kept


def test_the_published_upper_bound_is_never_lower():
    for share in (0.067, 0.5, 0.9):
        table = bound_table(Thresholds.tenths(), share)
        assert (table["most_published"] >= table["most"] - 1e-12).all()
        assert (table["least_published"] <= table["least"] + 1e-12).all()
    assert (table["most_published"] > table["most"] + 1e-6).any()


def test_a_published_bound_that_differs_is_drawn():
    y = np.arange(1000) % 10 > 0
    drawn = draw_figures(credit_rows(), ["region-credit"], outcomes=lambda name: y[:400])
    texts = [t.get_text() for t in drawn.figures["region-credit"].figure.legends[0].get_texts()]
    assert "most, as published" in texts
    rare = draw_figures(credit_rows(), ["region-credit"], outcomes=outcome_of)
    texts = [t.get_text() for t in rare.figures["region-credit"].figure.legends[0].get_texts()]
    assert "most that is possible, also as published" in texts


def test_the_card_is_found_and_placed():
    assert card_pair(rows_of()) is None
    rows = credit_rows()
    assert card_pair(rows, outcome_of("credit")).place == (0.81, 0.02)
    y, risk = outcome_of("credit"), risks_of("credit", "rss-dnb")
    order = np.arange(400)[::-1]
    full = {**rows[-1], "test_rows": order.tolist(), "test_risks": risk[order].tolist()}
    assert card_pair([full], y).place == (pytest.approx(grouped_auroc(y, risk)), 0.02)
    assert card_pair([{**rows[-1], "train_auroc": None}]) is None
    other = {**rows[-1], "method": "scorecard", "train_auroc": 0.5}
    assert card_pair([other, rows[-1]]).auroc == 0.81


# -- files -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("figures") / "new"
    files = write_figures([*rows_of(), *credit_rows()], folder, outcomes=outcome_of)
    assert all(file.is_file() for file in files)
    assert files[-1].name == "figures.md"
    return folder


def test_every_figure_has_a_picture_and_numbers(written):
    expected = {f"{name}.{kind}" for name in FIGURES for kind in ("svg", "csv")} | {"figures.md"}
    assert {file.name for file in written.iterdir()} == expected


@pytest.mark.parametrize("name", FIGURES)
def test_pictures_are_small_and_well_formed(written, name):
    file = written / f"{name}.svg"
    assert ElementTree.parse(file).getroot().tag.endswith("svg")
    assert file.stat().st_size < MOST_BYTES


@pytest.mark.parametrize("name", ["roc", "calibration", "decision"])
def test_pictures_name_the_method_and_every_data_set(written, name):
    texts = {element.text for element in ElementTree.parse(written / f"{name}.svg").iter()}
    assert {"RSS-DNB", f"{len(METHOD_NAMES) - 1} other methods", "heart", "mammo"} <= texts


def test_curves_are_drawn_again_from_their_numbers(written, tmp_path):
    for name in ("roc", "calibration", "decision", "credit-curves"):
        shutil.copy(written / f"{name}.csv", tmp_path)
    files = draw_again(tmp_path)
    assert [file.stem for file in files] == ["roc", "calibration", "decision", "credit-curves"]
    for file in files:
        one, two = (ElementTree.parse(f).getroot() for f in (file, written / file.name))
        assert [e.tag for e in one.iter()] == [e.tag for e in two.iter()], file.name
        assert [e.text for e in one.iter()] == [e.text for e in two.iter()]


def test_numbers_are_those_drawn(written):
    with open(written / "decision.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    y, risk = outcome_of("heart"), risks_of("heart", "lasso")
    expected = decision_curve(y, risk, [i / 100 for i in range(100)])["net_benefit"][:100]
    found = [
        float(r["net_benefit"]) for r in rows if (r["dataset"], r["method"]) == ("heart", "lasso")
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    with open(written / "roc.csv", encoding="utf-8") as file:
        areas = {(r["dataset"], r["method"]): float(r["auroc"]) for r in csv.DictReader(file)}
    assert areas["heart", "lasso"] == pytest.approx(roc_auc_score(y, risk), abs=1e-6)
    with open(written / "region-credit.csv", encoding="utf-8") as file:
        pairs = list(csv.DictReader(file))
    assert all(float(r["aunbc"]) <= float(r["bound"]) + 1e-6 for r in pairs if r["bound"])


def test_the_page_shows_all_figures(written):
    page = (written / "figures.md").read_text(encoding="utf-8")
    for name in FIGURES:
        assert f"]({name}.svg)" in page
        assert f"]({name}.csv)" in page
    assert "What is lacking" not in page


def test_the_same_rows_give_the_same_files(written, tmp_path):
    for file in write_figures([*rows_of(), *credit_rows()], tmp_path, outcomes=outcome_of):
        assert file.read_bytes() == (written / file.name).read_bytes(), file.name


def test_some_figures_only(written, tmp_path):
    rows = rows_of(methods=("tree",))
    write_figures(rows, tmp_path, ["region-theory"], outcomes=outcome_of)
    files = write_figures(rows, tmp_path, ["roc"], outcomes=outcome_of)
    assert [file.name for file in files] == ["roc.svg", "roc.csv", "figures.md"]
    page = files[-1].read_text(encoding="utf-8")
    assert "](region-theory.svg)" in page
    assert "](decision.svg)" not in page


def test_an_unknown_figure_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no figure 'pie'.*'roc'"):
        write_figures([], tmp_path, ["pie"])
    assert not list(tmp_path.iterdir())


def test_without_credit_data_the_rest_is_drawn():
    def known(dataset: str) -> np.ndarray:
        return outcome_of("nothing" if dataset == "credit" else dataset)

    figures, notes = draw_figures([*rows_of(), *credit_rows()], outcomes=known)
    assert list(figures) == ["roc", "calibration", "decision", "region-theory"]
    assert any(n.startswith("region-credit, region-calibration: not drawn") for n in notes)
    assert any(n.startswith("credit: not drawn") for n in notes)


def test_an_empty_run_says_what_is_lacking():
    figures, notes = draw_figures([], outcomes=outcome_of)
    assert list(figures) == ["region-theory", "region-credit", "region-calibration"]
    assert "roc: not drawn, as the run has no held-out predictions." in notes
    assert any("without the illustrative credit card" in note for note in notes)


def test_one_kind_of_outcome_leaves_the_other_panels():
    rows = rows_of(("toy",), ("tree",))
    figures, _ = draw_figures(rows, ["roc", "decision"], outcomes=lambda name: np.zeros(60))
    assert np.isnan(figures["roc"].table["tpr"]).all()
    (ax,) = figures["roc"].figure.axes
    assert [text.get_text() for text in ax.texts] == ["one kind of outcome only"]
    assert figures["decision"].table.n_rows == 300


def test_a_data_set_of_files(data_folder, monkeypatch):
    monkeypatch.setenv("NETBENEFIT_DATA", str(data_folder))
    from reproduction.figures import load_outcomes

    n = load_outcomes("haberman").size
    row = {"dataset": "haberman", "method": "tree", "setting": "original", "fold": 0}
    rows = [{**row, "test_rows": list(range(n)), "test_risks": [0.1, 0.9] * (n // 2)}]
    figures, notes = draw_figures(rows, ["roc"])
    assert set(figures["roc"].table["dataset"]) == {"haberman"}
    assert notes == []
