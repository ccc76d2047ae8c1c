"""What happens when there are too many raw rows, or too many patterns."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from netbenefit import (
    Binner,
    RiskScoreClassifier,
    binning_choices,
    evaluate_card,
    evaluate_table,
    score_table,
)
from netbenefit.data.engine import EngineTable
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.tables.rows import count_levels, draw_sample, own_weights
from netbenefit.tables.survey import survey_table
from tests.helpers.engine_tables import FEW_EAGER, LAZY, in_engine
from tests.helpers.full import more_cases

N = 40_000
NAMES = ["age", "income", "group", "flag", "lab"]

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@cache
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 90, N)
    income = rng.lognormal(8, 1, N)
    group = rng.choice(["a", "b", "c", "d"], N, p=[0.5, 0.3, 0.15, 0.05])
    flag = rng.random(N) < 0.2
    lab = np.where(rng.random(N) < 0.1, np.nan, rng.random(N))
    logit = 0.06 * (age - 60) + (group == "b") + flag - 0.4 * np.log(income / 3000) - 1.5
    y = rng.random(N) < 1 / (1 + np.exp(-logit))
    return pl.DataFrame(
        {"age": age, "income": income, "group": group, "flag": flag, "lab": lab, "y": y}
    )


def estimator(**more: Any) -> RiskScoreClassifier:
    solver = LocalSearch(time_limit=None, max_rounds=1, n_jobs=1)
    options = {"binner": "auto", "solver": solver, "time_limit": None, "teacher": "logistic"}
    return RiskScoreClassifier(**{**options, **more})


def in_some_engine(name: str) -> Any:
    return in_engine(name, rows().to_arrow())


# -- samples ---------------------------------------------------------------------------------------


def sample_of(engine: str, size: int) -> Any:
    table = EngineTable(in_some_engine(engine))
    survey = survey_table(table, "y", NAMES, None)
    levels = count_levels(table, survey, NAMES)
    return table, survey, levels, draw_sample(table, survey, NAMES, levels, size)


def test_a_sample_is_fair() -> None:
    _, survey, _, sample = sample_of("duckdb", 4000)
    drawn = sample.rows
    assert drawn.size == pytest.approx(4000, rel=0.1)
    assert drawn.event.mean() == pytest.approx(0.5, abs=0.03)  # rare outcomes are not lost
    assert sample.distinct == pytest.approx(N, rel=0.1)
    weight = drawn.weight / drawn.weight.sum()
    share = survey.counts[1] / N
    assert weight @ drawn.event == pytest.approx(share, rel=0.05)
    for name in ("age", "income"):
        values, truth = drawn.table.column(name).values, rows()[name].to_numpy()
        error = truth.std() / np.sqrt(2000)
        assert weight @ values == pytest.approx(truth.mean(), abs=5 * error)
    for level, part in rows()["group"].value_counts(normalize=True).iter_rows():
        here = drawn.table.column("group").values == level
        assert weight @ here == pytest.approx(part, abs=0.03)


def test_a_sample_is_the_same_in_every_engine() -> None:
    first = sample_of("duckdb", 2000)[3].rows
    for engine in ("polars lazy", "dask", "ibis"):
        other = sample_of(engine, 2000)[3].rows
        assert (first.event == other.event).all()
        for name in NAMES:
            values, others = (rows.table.column(name).values for rows in (first, other))
            assert np.array_equal(values, others, equal_nan=values.dtype.kind == "f")


def test_columns_of_a_sample_are_as_frequent_as_in_the_table() -> None:
    table, survey, levels, sample = sample_of("duckdb", 4000)
    drawn = own_weights(table, survey, NAMES, levels, sample.rows)
    event = rows()["y"].to_numpy()
    for name in ("age", "group", "flag"):  # few values: exact
        values, weight = drawn.table.column(name).values, drawn.table.column(name).weight
        assert weight is not None
        assert weight.sum() == pytest.approx(sample.rows.weight.sum())
        truth = rows()[name].to_numpy()
        for value in np.unique(truth):
            for happened in (False, True):
                there = ((truth == value) & (event == happened)).mean()
                here = weight[(values == value) & (drawn.event == happened)].sum() / weight.sum()
                if here:  # an absent value of a rare outcome cannot be weighted
                    assert here == pytest.approx(there, rel=0.02)


def test_cuts_of_a_sample_are_close_to_those_of_all_rows() -> None:
    """Tolerance: a quantile of a sample is off by less than 1% of the rows."""
    found = {}
    for size in (N, 4000):
        model = estimator(binner=Binner(method="quantile", round_cuts=False))
        model.fit_table(in_some_engine("duckdb"), "y", sample_rows=size)
        assert model.merging_.bins_sampled == (size < N)
        found[size] = {
            name: [t.value for t in model.binner_.terms_ if t.feature == name and t.op == ">="]
            for name in ("income", "lab")
        }
    for name in ("income", "lab"):
        values = np.sort(rows()[name].drop_nans().to_numpy())
        exact, near = (np.searchsorted(values, found[k][name]) / values.size for k in (N, 4000))
        assert exact.size == near.size == 4
        assert near == pytest.approx(exact, abs=0.01)


def test_bins_of_a_sample_cost_little() -> None:
    table = in_some_engine("duckdb")
    areas = []
    for size in (N, 4000):
        model = estimator().fit_table(table, "y", sample_rows=size)
        assert model.merging_.binned_on == pytest.approx(size, rel=0.1)
        assert model.scorecard_.provenance.n_rows == N
        assert hasattr(model, "certificate_")
        areas.append(evaluate_table(model.scorecard_, table, "y").measures.aunbc)
    assert areas[1] == pytest.approx(areas[0], abs=0.003)


def test_few_distinct_rows_are_never_sampled() -> None:
    frame = pl.concat([rows().select("age", "group", "flag", "y")] * 2)
    model = estimator().fit_table(frame.lazy(), "y", sample_rows=5000)
    assert not model.merging_.bins_sampled
    assert model.merging_.binned_on < 1200
    assert model.merging_.n_rows == 2 * N


def test_row_numbers_are_left_out_of_samples() -> None:
    frame = rows().with_row_index("row").lazy()
    with pytest.warns(UserWarning, match="'row' left out: their values name the rows"):
        model = estimator().fit_table(frame, "y", sample_rows=4000)
    assert "row" in model.feature_names_in_
    assert "row" not in model.scorecard_.features


def test_samples_of_awkward_columns_are_fair() -> None:
    """Many levels of text, one number far away from all others, a text for every row."""
    rng = np.random.default_rng(4)
    far = rng.lognormal(3, 1, N)
    far[7] = 2.0**63
    frame = pl.DataFrame(
        {
            "zip": [f"{k:05}" for k in rng.integers(0, 6000, N)],
            "age": rng.integers(20, 90, N),
            "far": far,
            "key": [f"u{k:06}" for k in range(N)],
            "y": rng.random(N) < 0.2,
        }
    )
    names = ["zip", "age", "far"]
    for some in (names[:2], names[2:]):
        table = EngineTable(frame.lazy())
        survey = survey_table(table, "y", some, None)
        levels = count_levels(table, survey, some)
        drawn = draw_sample(table, survey, some, levels, 3000).rows
        assert 1500 < drawn.size < 6000
        assert drawn.event.mean() == pytest.approx(0.5, abs=0.05)
        if "age" in some:
            assert np.unique(drawn.table.column("age").values[drawn.event]).size == 70
        else:
            values = drawn.table.column("far").values
            assert np.median(values) == pytest.approx(np.median(far), rel=0.1)
    with pytest.warns(UserWarning, match="'key' left out: their values name the rows"):
        model = estimator().fit_table(frame.lazy(), "y", sample_rows=3000)
    assert "key" not in model.scorecard_.features


# -- too many patterns -----------------------------------------------------------------------------


def test_a_search_on_a_sample_says_so_and_is_calibrated_on_all_rows() -> None:
    table = in_some_engine("duckdb")
    model = estimator()
    with pytest.warns(UserWarning, match=r"more than 300 distinct rows.*binning_choices"):
        model.fit_table(table, "y", max_patterns=300)
    card = model.scorecard_
    assert model.merging_.search_sampled
    assert not hasattr(model, "certificate_")
    assert card.provenance.n_rows == N
    assert card.provenance.bound is None
    assert "points from a sample of" in str(card)
    assert "cut-offs and risks from all rows" in " ".join(str(card).split())
    found = evaluate_table(card, table, "y")
    assert found.calibration.ratio == pytest.approx(1, abs=0.01)
    low, high = card.score_range
    scores = score_table(card, table).aggregate("min(card_score), max(card_score)").fetchall()
    assert scores == [(low, high)]
    again = estimator().fit_table(in_some_engine("polars lazy"), "y", max_patterns=300)
    cards = [json.loads(one.scorecard_.to_json()) for one in (model, again)]
    for one in cards:
        one["provenance"].pop("seconds")
        one.pop("digest")  # which the seconds are part of
    assert cards[0] == cards[1]


def test_without_a_binner_too_many_patterns_are_refused() -> None:
    from netbenefit import InputError

    frame = rows().select("age", "income", "y").lazy()
    with pytest.raises(InputError, match=r"more than 1,000 distinct rows\. Let a binner"):
        estimator(binner=None).fit_table(frame, "y", max_patterns=1000)


def test_choices_of_bins() -> None:
    found = binning_choices(
        estimator(), in_some_engine("duckdb"), "y", max_bins=(5, 3, 2), sample_rows=4000
    )
    assert found["max_bins"].tolist() == [5, 3, 2]
    assert (np.diff(found["patterns"]) < 0).all()
    assert (np.diff(found["conditions"]) < 0).all()
    assert found["cost"][0] == 0
    assert 0 < found["cost"][2] < 0.05
    finest = estimator(binner=Binner(max_bins=5))
    patterns = finest.fit_table(in_some_engine("duckdb"), "y", sample_rows=4000).merging_.n_patterns
    assert patterns <= found["patterns"][0] <= 1.1 * patterns


def test_choices_of_bins_where_every_value_has_both_outcomes() -> None:
    """Merged rows then alternate between the outcomes: halves must not split along them."""
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, 3, 4000) for name in "abc"}
    event = rng.random(4000) < 0.2 + 0.1 * sum(columns.values())
    table = pl.DataFrame({**columns, "y": event.astype(int)})
    found = binning_choices(estimator(), table.lazy(), "y", max_bins=(3, 2))
    assert found["max_bins"].tolist() == [3, 2]


# -- evaluation ------------------------------------------------------------------------------------


@cache
def card() -> Any:
    return estimator().fit_table(rows().head(3000), "y").scorecard_


@more_cases
@pytest.mark.parametrize("engine", [*FEW_EAGER, *LAZY])
def test_evaluation_is_that_of_the_rows(engine: str) -> None:
    here = evaluate_card(card(), rows().drop("y"), rows()["y"].to_numpy())
    there = evaluate_table(card(), in_some_engine(engine), "y")
    # (Sums of many risks, added in another order.)
    assert there.measures == pytest.approx(here.measures, rel=1e-10)
    assert there.calibration[:-1] == pytest.approx(here.calibration[:-1], rel=1e-6)
    for one, other in zip(there.levels, here.levels, strict=True):
        assert one[0] == other[0]
        assert one[1] == pytest.approx(other[1], rel=1e-12)
        assert one[3:-1] == pytest.approx(other[3:-1], rel=1e-12)
        assert one.first == other.first
    for name in ("threshold", "net_benefit"):
        assert there.curve[name] == pytest.approx(here.curve[name], rel=1e-12, abs=1e-15)
    assert there.drift.prevalence[1:] == pytest.approx(here.drift.prevalence[1:], rel=1e-12)
    assert there.drift.beyond == pytest.approx(here.drift.beyond)


def test_evaluation_spark() -> None:
    here = evaluate_card(card(), rows().drop("y"), rows()["y"].to_numpy())
    there = evaluate_table(card(), in_some_engine("spark"), "y")
    # (Sums of many risks, added in another order.)
    assert there.measures == pytest.approx(here.measures, rel=1e-10)


def test_drift_of_scores_is_that_of_the_rows() -> None:
    old, new = rows().head(10_000), rows().tail(20_000).filter(pl.col("age") > 40)
    here = evaluate_card(
        card(),
        new.drop("y"),
        new["y"].to_numpy(),
        reference=old.drop("y"),
        reference_y=old["y"].to_numpy(),
    ).drift
    there = evaluate_table(card(), new.lazy(), "y", reference=old.lazy()).drift
    assert here is not None
    assert there is not None
    assert there.score_psi == pytest.approx(here.score_psi)
    assert there.score_psi > there.score_chance == pytest.approx(here.score_chance)
    assert there.levels["reference"].tolist() == here.levels["reference"].tolist()
    assert there.prevalence == pytest.approx(here.prevalence)
    assert there.columns.n_rows == there.answers.n_rows == 0
    assert "score levels: PSI" in str(there)


def test_evaluation_with_weights() -> None:
    weight = np.random.default_rng(1).integers(0, 3, N)
    here = evaluate_card(card(), rows().drop("y"), rows()["y"].to_numpy(), sample_weight=weight)
    frame = rows().with_columns(w=pl.Series(weight))
    there = evaluate_table(card(), frame.lazy(), "y", sample_weight="w")
    # (Sums of many risks, added in another order.)
    assert there.measures == pytest.approx(here.measures, rel=1e-10)
    assert there.calibration.slope_se == pytest.approx(here.calibration.slope_se)
    assert [row.low for row in there.levels] == pytest.approx([row.low for row in here.levels])
