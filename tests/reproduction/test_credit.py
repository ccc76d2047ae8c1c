"""The credit case study: its preparation by hand, its card against the rows, its files."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from netbenefit import Binner, Condition, PerUnit, Rule, Scorecard, Thresholds
from netbenefit.cli.model import read_binner
from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.benefit import aunbc, auroc
from reproduction.credit import (
    RAW_COLUMNS,
    CreditPreparation,
    CreditSplit,
    credit_all,
    credit_split,
    credit_splits,
    split_rows,
)
from reproduction.credit_report import (
    ScoreRow,
    best_net_benefit,
    card_on_rows,
    logistic_over_splits,
    published_card,
    published_figures,
    risk_misfit,
    score_table,
    with_names,
    write_credit,
)
from reproduction.datasets import Dataset, load_credit
from reproduction.methods import make_model
from reproduction.plan import Job
from tests.helpers import slow_truth as reference

NAN = math.nan
#: Five borrowers; the fourth has codes for counts, the last one lacks or overdoes most.
ROWS: dict[str, list[float]] = {
    "RevolvingUtilizationOfUnsecuredLines": [0.04, 0.26, 0.74, 1.0, 50_708.0],
    "age": [30, 40, 52, 61, 0],
    "NumberOfTime30-59DaysPastDueNotWorse": [0, 2, 0, 98, 0],
    "NumberOfTime60-89DaysPastDueNotWorse": [0, 0, 0, 98, 0],
    "NumberOfTimes90DaysLate": [0, 0, 0, 98, 1],
    "NumberOfOpenCreditLinesAndLoans": [2, 8, 9, 12, 8],
    "NumberRealEstateLoansOrLines": [0, 1, 1, 3, 0],
    "NumberOfDependents": [0, 0, 1, 3, NAN],
    "DebtRatio": [0.0, 0.35, 1.0, 2.0, 300_000.0],
    "MonthlyIncome": [0.0, 3000.0, 6000.0, NAN, 9e6],
}
NAMES = (
    "utilisation",
    "age ≥ 46",
    "open lines ≥ 8",
    "real-estate loans ≥ 1",
    "dependents ≥ 1",
    "log debt ratio",
    "log income",
    "ever past due",
)


def raw(**changed: list[float]) -> dict[str, np.ndarray]:
    return {name: np.array(changed.get(name, values)) for name, values in ROWS.items()}


def take(columns: dict[str, np.ndarray], rows: Any) -> dict[str, np.ndarray]:
    return {name: values[rows] for name, values in columns.items()}


# -- the preparation ------------------------------------------------------------------------------


def test_preparation_by_hand() -> None:
    made = CreditPreparation(upper_quantile=1.0)
    X = made.fit_transform(raw())
    # Ages 30, 40, 52, 61 have the median 46, which takes the place of 0 and cuts, too.
    # Incomes 0, 3000, 6000, 9e6 have the median 4500: ln 4501 = 8.41.
    # ln 1.35 = 0.30, ln 2 = 0.69, ln 3 = 1.10, ln 300001 = 12.61; ln 9000001 = 16.01.
    expected = [
        [0.0, 0, 0, 0, 0, 0.0, 0, 0],
        [0.3, 0, 1, 1, 0, 0.3, 8, 1],
        [0.7, 1, 1, 1, 1, 0.7, 9, 0],
        [1.0, 1, 1, 1, 1, 1.1, 8, 0],  # the codes 98 are no late payments
        [1.5, 1, 1, 0, 0, 12.6, 16, 1],  # dependents not known: the median of 0, 0, 1, 3 is 0.5
    ]
    assert tuple(made.get_feature_names_out()) == NAMES
    np.testing.assert_allclose(X, expected, atol=1e-12)
    assert made.medians_["NumberOfDependents"] == 0.5
    assert made.medians_["MonthlyIncome"] == 4500


def test_both_codes_are_invalid_and_can_be_let_count() -> None:
    columns = raw()
    for code in (96, 98):
        columns["NumberOfTimes90DaysLate"] = np.array([code, 0, 0, 0, 0])
        columns["NumberOfTime30-59DaysPastDueNotWorse"] = np.array([0, 0, 0, 0, 3])
        late = CreditPreparation().fit_transform(columns)[:, -1]
        assert late[[0, 4]].tolist() == [0.0, 1.0]
        assert CreditPreparation(invalid_counts=()).fit_transform(columns)[0, -1] == 1.0


def test_extremes_are_cut_off_at_the_quantile_of_the_training_rows() -> None:
    columns = take(raw(), np.arange(101) % 5)
    columns["DebtRatio"] = np.arange(101.0)
    made = CreditPreparation(upper_quantile=0.9).fit(columns)
    assert made.uppers_["DebtRatio"] == 90
    later = raw(DebtRatio=[0, 89, 90, 91, 1e9])
    found = made.transform(later)[:, NAMES.index("log debt ratio")]
    np.testing.assert_allclose(found, [0, 4.5, 4.5, 4.5, 4.5])  # ln 90 = 4.4998, ln 91 = 4.51
    assert CreditPreparation(most_utilisation=1.2).fit_transform(raw())[4, 0] == 1.2


def test_cuts_are_medians_but_at_least_one() -> None:
    columns = raw(NumberOfDependents=[0, 0, 0, 0, 2], NumberRealEstateLoansOrLines=[2, 3, 3, 4, 5])
    made = CreditPreparation().fit(columns)
    assert made.cuts_["NumberOfDependents"] == 1
    assert made.cuts_["NumberRealEstateLoansOrLines"] == 3
    assert "real-estate loans ≥ 3" in made.get_feature_names_out()


def test_later_rows_change_nothing_that_was_learnt() -> None:
    made = CreditPreparation().fit(raw())
    before = {name: dict(getattr(made, name)) for name in ("medians_", "uppers_", "cuts_")}
    alone = made.transform(take(raw(), slice(0, 2)))
    made.transform(raw(age=[99] * 5, MonthlyIncome=[NAN] * 5, DebtRatio=[1e12] * 5))
    assert {name: getattr(made, name) for name in before} == before
    np.testing.assert_array_equal(made.transform(raw())[:2], alone)


def test_preparation_is_a_transformer_and_reads_any_table() -> None:
    columns = raw()
    made = clone(CreditPreparation(upper_quantile=0.95)).fit(columns)
    assert made.upper_quantile == 0.95
    array = np.column_stack([columns[name] for name in RAW_COLUMNS])
    records = [dict(zip(RAW_COLUMNS, row, strict=True)) for row in array.tolist()]
    for table in (array, records):
        np.testing.assert_array_equal(made.transform(table), made.transform(columns))


def test_preparation_says_what_is_wrong() -> None:
    with pytest.raises(InputError, match="DebtRatio"):
        CreditPreparation().fit({n: v for n, v in raw().items() if n != "DebtRatio"})
    with pytest.raises(InputError, match="'MonthlyIncome' holds no valid value"):
        CreditPreparation().fit(raw(MonthlyIncome=[NAN] * 5))
    with pytest.raises(InputError, match="upper_quantile"):
        CreditPreparation(upper_quantile=1.5).fit(raw())
    with pytest.raises(InputError, match="most_utilisation"):
        CreditPreparation(most_utilisation=0).fit(raw())


def test_split_is_stratified_and_depends_on_the_seed_alone() -> None:
    y = np.arange(400) % 10 == 0
    train, test = split_rows(y, 3)
    assert sorted([*train, *test]) == list(range(400))
    assert (train.size, y[train].sum(), y[test].sum()) == (300, 30, 10)
    np.testing.assert_array_equal(test, split_rows(y, 3)[1])
    assert not np.array_equal(test, split_rows(y, 4)[1])


# -- cards on rows --------------------------------------------------------------------------------


def small_data(n: int = 400, seed: int = 0) -> Dataset:
    """Rows with the columns of the published card, and an outcome that follows it."""
    rng = np.random.default_rng(seed)
    card = published_card()
    X = rng.integers(0, 2, (n, 5)).astype(float)
    X[:, 0] = rng.integers(0, 16, n) / 10
    risk = card.risk(dict(zip(card.features, X.T, strict=True)))
    return Dataset(X, rng.random(n) < risk, card.features)


def test_published_card_says_what_was_published() -> None:
    card = published_card()
    table = card.risk_table()
    assert [row.risk for row in table] == [0.028, 0.14, 0.268, 0.371, 0.489, 0.534, 0.9]
    ranges = [(None, 9), (10, 14), (15, 17), (18, 19), (20, 20), (21, 24), (25, None)]
    assert [(row.low, row.high) for row in table] == ranges
    assert card.score_limits is None or card.score_limits[0] <= -3
    assert card.size == 5
    assert Scorecard.from_json(card.to_json()) == card


def test_score_table_counts_every_row_once() -> None:
    data, card = small_data(), published_card()
    table = score_table(card, data)
    assert sum(row.rows for row in table) == 400
    assert sum(row.events for row in table) == data.y.sum()
    score = 10 * data.X[:, 0] + data.X[:, 1:] @ [9, -2, 1, -1]
    assert table[1].rows == np.sum((score > 9.5) & (score < 14.5))
    assert math.isnan(ScoreRow(None, 3, 0.1, 0, 0).observed)


def test_best_net_benefit_is_the_objective_by_the_reference() -> None:
    data, card = small_data(150), published_card()
    table = PatternTable.from_arrays(data.X, data.y, names=data.names)
    exact = reference.objective(table, card.thresholds, 0, [rule.points for rule in card.rules])
    assert best_net_benefit(card, data) == pytest.approx(float(exact), abs=1e-12)


def test_card_on_rows_measures_the_card() -> None:
    data, card = small_data(), published_card()
    found = card_on_rows(card, data)
    rows = dict(zip(data.names, data.X.T, strict=True))
    assert found.measures.aunbc == aunbc(data.y, card.risk(rows))
    assert found.measures.auroc_of_score == auroc(data.y, (card.score(rows) + 3) / 28)
    assert found.best >= found.measures.weighted_net_benefit


def illustrative(data: Dataset, seconds: float) -> SimpleNamespace:
    """The illustrative card as a run makes it."""
    model = make_model(Job("credit", "rss-dnb-exact", "c0=0", -1, "quick"))
    model.set_params(time_limit=seconds).fit(data.X, data.y)
    return SimpleNamespace(card=with_names(model.scorecard_, data.names), result=model.result_)


def test_our_card_is_at_least_as_good_by_the_objective() -> None:
    data = small_data(300)
    learned = illustrative(data, 1)
    found = card_on_rows(learned.card, data)
    assert found.best >= best_net_benefit(published_card(), data) - 1e-12
    assert found.best == pytest.approx(learned.result.objective, abs=1e-12)


def test_our_card_is_the_same_again() -> None:
    data = small_data(300)
    two = Dataset(data.X[:, 1:3], data.y, data.names[1:3])
    first, again = (illustrative(two, 60) for _ in range(2))
    assert first.result.status == "optimal"
    assert (first.card.rules, first.card.risks) == (again.card.rules, again.card.risks)
    assert Scorecard.from_json(first.card.to_json()) == first.card


def test_cards_of_plain_arrays_get_names() -> None:
    grid = Thresholds.of([0.5])
    rules = [Rule(PerUnit("x2", decimals=1), 3), Rule(Condition("x0", ">=", 1), 1)]
    plain = Scorecard.from_levels(rules, [1], [0.1, 0.6], grid, feature_names=("x0", "x1", "x2"))
    named = with_names(plain, ["a", "b", "c"])
    assert named.features == ("c", "a")
    X = np.array([[1.0, 0.0, 0.4], [0.0, 1.0, 0.0]])
    np.testing.assert_array_equal(named.score(X), plain.score(X))
    assert with_names(named, ["a", "b", "c"]) is named
    with pytest.raises(InputError, match="none of the prepared columns"):
        with_names(plain, ["a", "b"])


def test_misfit_is_in_standard_errors_of_a_draw_without_replacement() -> None:
    table = [ScoreRow(None, 0, 0.2, 1000, 200), ScoreRow(1, None, 0.55, 1000, 500)]
    # 0.05 / sqrt(0.25 / 750 · 0.25 + 0.001² / 12)
    np.testing.assert_allclose(risk_misfit(table), [0, 5.4745], atol=1e-3)


# -- the files ------------------------------------------------------------------------------------


def run_rows(card: Scorecard) -> list[dict[str, Any]]:
    base = {"dataset": "credit", "fold": 0, "setting": "original", "card": ""}
    figures = {"test_auroc": 0.8425, "test_ece": 0.003, "test_aunbc": 0.0118}
    return [
        {**base, **figures, "method": "logistic", "size": 8.0},
        {**base, **figures, "method": "xgboost", "size": None},
        {**base, **figures, "method": "scorecard", "size": 6.0, "test_ece": NAN},
        {**base, **figures, "method": "rss-dnb", "setting": "c0=0", "size": 5.0},
        {**base, "dataset": "adult", "method": "lasso", "test_auroc": 0.9},
        {**base, "fold": -1, "method": "rss-dnb", "card": published_card().to_json()},
        {**base, "fold": -1, "method": "rss-dnb-exact", "setting": "c0=0", "card": card.to_json()},
    ]


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_files_put_ours_beside_what_was_published(tmp_path: Path) -> None:
    data = small_data()
    ours = illustrative(data, 5).card
    split = CreditSplit(data.X, data.y, data.X, data.y, data.names, np.arange(len(data.y)))
    files = write_credit(run_rows(ours), tmp_path / "out", data=data, splits=[split, split])
    text, performance, cards = (file.read_text(encoding="utf-8") for file in files)
    by_name = {(line["method"], line["setting"]): line for line in read_csv(files[1])}
    logistic = by_name["logistic", "original"]
    assert float(logistic["difference_auroc"]) == pytest.approx(0.8425 - 0.8415)
    assert by_name["lasso", "original"]["auroc"] == ""  # that row is of another data set
    assert by_name["lasso", "original"]["published_size"] == "3"
    assert by_name["rss-dnb", "c0=0"]["published_auroc"] == ""
    flat = " ".join(text.split())
    assert "| Logistic regression | 0.8425 | 0.8415 | +0.0010 |" in flat
    assert "| RSS-DNB (c0=0) | 0.8425 | – | – |" in flat
    assert "| LASSO | – | 0.8381 | – |" in flat
    assert str(ours) in text
    assert str(published_card()) in text
    assert "nan" not in text.lower()
    counted = read_csv(files[2])
    for name in ("ours", "published"):
        assert sum(int(line["rows"]) for line in counted if line["card"] == name) == 400
    again = write_credit(run_rows(ours), tmp_path / "two", data=data, splits=[split, split])
    assert [f.read_text(encoding="utf-8") for f in again] == [text, performance, cards]


def test_verdict_says_who_is_better(tmp_path: Path) -> None:
    data = small_data()
    poor = Scorecard.from_levels([Rule(PerUnit("age ≥ 52"), 1)], [2] * 9, [0.05] + [None] * 9,
                     Thresholds.tenths(), score_range=(0, 1))  # fmt: skip
    for card, word in ((poor, "ours is worse"), (published_card(), "as good as")):
        text = write_credit(run_rows(card), tmp_path, data=data, splits=[])[0].read_text("utf-8")
        assert word in text
    assert "Not measured" in text


def test_files_are_written_without_rows_and_without_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETBENEFIT_DATA", str(tmp_path / "nowhere"))
    text, performance = write_credit([], tmp_path)
    assert "not evaluated on rows" in text.read_text(encoding="utf-8")
    assert "Not run." in text.read_text(encoding="utf-8")
    assert len(read_csv(performance)) == len(published_figures()) == 8


# -- the data themselves --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def credit_folder(data_folder: Path) -> Path:
    if not (data_folder / "givemesomecredit.csv.gz").exists():
        pytest.skip(f"{data_folder} has no givemesomecredit.csv.gz")
    return data_folder


@pytest.fixture(scope="module")
def everybody(credit_folder: Path) -> Dataset:
    return credit_all(folder=credit_folder)


def test_published_risks_are_those_of_three_quarters_of_the_rows(everybody: Dataset) -> None:
    table = score_table(published_card(), everybody)
    lower, last = risk_misfit(table[:-1]), table[-1]
    assert float(lower @ lower) == pytest.approx(4.8, abs=0.05)
    assert np.abs(lower).max() < 2
    for row, tolerance in zip(table, (0.001, 0.002, 0.004, 0.002, 0.007, 0.019), strict=False):
        assert row.observed == pytest.approx(row.risk, abs=tolerance)
    assert (last.rows, last.events) == (14, 10)  # not 90%, but 9 of 10 can be among three quarters


def test_codes_as_late_payments_fit_the_published_risks_worse(credit_folder: Path) -> None:
    counted = CreditPreparation(invalid_counts=())
    data = credit_all(folder=credit_folder, preparation=counted)
    misfit = risk_misfit(score_table(published_card(), data)[:-1])
    assert float(misfit @ misfit) == pytest.approx(16.8, abs=0.05)


def test_all_rows_have_the_published_cut_points(everybody: Dataset) -> None:
    assert everybody.names == (NAMES[0], "age ≥ 52", *NAMES[2:])
    assert everybody.X.shape == (150_000, 8)
    assert set(published_card().features) <= set(everybody.names)
    np.testing.assert_array_equal(np.round(everybody.X * 10), everybody.X * 10)


def test_binner_of_the_example_makes_the_same_columns(
    credit_folder: Path, everybody: Dataset
) -> None:
    settings = read_binner(str(Path(__file__).parents[2] / "examples" / "credit_binner.json"))
    columns, late = load_credit(folder=credit_folder)
    codes = Binner(**(settings or {})).fit_codes(columns, late)
    steps = {"utilisation": 10, "log debt ratio": 10}
    X = everybody.X * [steps.get(name, 1) for name in everybody.names]
    order = [0, 1, 5, 6, 2, 3, 4, 7]  # the raw file has debt ratio and income before the counts
    np.testing.assert_allclose(np.asarray(codes.matrix), X[:, order], atol=1e-9)


def test_split_prepares_by_its_training_rows(credit_folder: Path, everybody: Dataset) -> None:
    split = credit_split(1, folder=credit_folder)
    assert split.X_train.shape == (112_500, 8)
    assert split.X_test.shape == (37_500, 8)
    assert split.names == everybody.names
    _, test = split_rows(everybody.y, 1)
    np.testing.assert_array_equal(split.y_test, everybody.y[test])
    again = next(credit_splits([1], folder=credit_folder))
    for one, other in zip(split, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_logistic_regression_is_as_good_as_published(credit_folder: Path) -> None:
    spread = logistic_over_splits(credit_splits(range(3), folder=credit_folder))
    assert spread is not None
    theirs = published_figures()["logistic"]
    for name, tolerance in {"auroc": 0.005, "ece": 0.0015, "aunbc": 0.0005}.items():
        assert spread.mean[name] == pytest.approx(theirs[name], abs=tolerance)
