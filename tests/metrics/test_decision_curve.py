"""Decision curves: dcurves as oracle, where it differs, our own rules; and Table."""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dcurves
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from netbenefit.common.checks import InputError
from netbenefit.common.table import Table
from netbenefit.metrics.benefit import net_benefit
from netbenefit.metrics.curves import decision_curve
from netbenefit.metrics.thresholds import Thresholds

COLUMNS = [
    "model",
    "threshold",
    "n",
    "prevalence",
    "harm",
    "test_pos_rate",
    "tp_rate",
    "fp_rate",
    "net_benefit",
    "net_intervention_avoided",
]
THEIR_NAMES = {"all": "Treat All", "none": "Treat None"}
HUNDREDTHS = [i / 100 for i in range(100)]


def shipped(name: str) -> pd.DataFrame:
    return pd.read_csv(Path(dcurves.data) / f"{name}.csv")


def theirs(
    data: pd.DataFrame, outcome: str, models: list[str], thresholds: Any, **options: Any
) -> pd.DataFrame:
    table = dcurves.dca(data, outcome, models, thresholds=list(thresholds), **options)
    return table.replace({"model": THEIR_NAMES}).reset_index(drop=True)


def ours(
    data: pd.DataFrame, outcome: str, models: list[str], thresholds: Any, **options: Any
) -> pd.DataFrame:
    risks = {name: data[name] for name in models}
    return pd.DataFrame(decision_curve(data[outcome], risks, thresholds, **options))


def assert_same(mine: pd.DataFrame, other: pd.DataFrame, columns: list[str] = COLUMNS) -> None:
    assert list(mine.columns) == COLUMNS
    assert len(mine) == len(other)
    pd.testing.assert_frame_equal(
        mine[columns], other[columns], check_dtype=False, rtol=1e-11, atol=1e-12
    )


# -- dcurves as oracle ---------------------------------------------------------------------------


def test_same_columns_in_the_same_order_as_dcurves() -> None:
    data = shipped("df_binary")
    assert list(theirs(data, "cancer", ["cancerpredmarker"], [0.1]).columns) == COLUMNS
    assert list(decision_curve(data["cancer"], data["cancerpredmarker"], [0.1])) == COLUMNS


def test_matches_dcurves_on_its_binary_data() -> None:
    data = shipped("df_binary")
    models = ["cancerpredmarker", "famhistory"]
    positive = HUNDREDTHS[1:]
    assert_same(ours(data, "cancer", models, positive), theirs(data, "cancer", models, positive))


def test_matches_dcurves_on_a_second_outcome_and_with_harm() -> None:
    data = shipped("df_binary")
    models, harm = ["cancerpredmarker", "famhistory"], {"famhistory": 0.0333}
    grid = HUNDREDTHS[5:36]
    assert_same(
        ours(data, "dead", models, grid, harm=harm), theirs(data, "dead", models, grid, harm=harm)
    )


def test_matches_dcurves_on_its_case_control_data() -> None:
    data = shipped("df_case_control")
    grid = HUNDREDTHS[1:60]
    mine = ours(data, "casecontrol", ["cancerpredmarker"], grid, prevalence=0.2)
    other = theirs(data, "casecontrol", ["cancerpredmarker"], grid, prevalence=0.2)
    assert (mine["prevalence"] == 0.2).all()
    assert_same(mine, other, [name for name in COLUMNS if name != "test_pos_rate"])


def test_matches_dcurves_with_risks_exactly_at_thresholds() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(5, 60))
        outcome = rng.random(n) < 0.4
        outcome[:2] = [False, True]
        data = pd.DataFrame(
            {"y": outcome, "a": rng.integers(1, 20, n) / 20, "b": rng.integers(0, 101, n) / 100}
        )
        grid = [i / 20 for i in range(1, 20)]
        assert_same(ours(data, "y", ["a", "b"], grid), theirs(data, "y", ["a", "b"], grid))


def test_weights_match_dcurves_on_repeated_rows() -> None:
    rng = np.random.default_rng(1)
    data = shipped("df_binary")
    weight = rng.integers(0, 4, len(data))
    repeated = data.loc[np.repeat(data.index, weight)].reset_index(drop=True)
    grid = HUNDREDTHS[1::7]
    models = ["cancerpredmarker", "famhistory"]
    mine = ours(data, "cancer", models, grid, sample_weight=weight)
    assert (mine["n"] == weight.sum()).all()
    assert_same(mine, theirs(repeated, "cancer", models, grid))


# -- where dcurves differs -----------------------------------------------------------------------


def test_everybody_is_positive_at_threshold_zero_but_not_in_dcurves() -> None:
    """dcurves moves risks of 0 below 0, so that risk >= 0 fails for them."""
    data = shipped("df_binary")
    mine = ours(data, "cancer", ["famhistory"], [0, 0.1])
    other = theirs(data, "cancer", ["famhistory"], [0, 0.1])
    share = data["cancer"].mean()
    at_zero = (mine["threshold"] == 0) & (mine["model"] == "famhistory")
    assert mine.loc[at_zero, "net_benefit"].item() == pytest.approx(share, abs=1e-15)
    assert mine.loc[at_zero, "test_pos_rate"].item() == 1.0
    assert other.loc[at_zero, "test_pos_rate"].item() == pytest.approx(data["famhistory"].mean())
    assert other.loc[at_zero, "net_benefit"].item() < share - 0.05


def test_interventions_avoided_are_missing_at_zero_but_infinite_in_dcurves() -> None:
    data = shipped("df_binary")
    mine = ours(data, "cancer", ["famhistory"], [0, 0.1])
    other = theirs(data, "cancer", ["famhistory"], [0, 0.1])
    at_zero = mine["threshold"] == 0
    assert mine.loc[at_zero, "net_intervention_avoided"].isna().all()
    assert mine.loc[~at_zero, "net_intervention_avoided"].notna().all()
    none = at_zero & (mine["model"] == "Treat None")
    assert other.loc[none, "net_intervention_avoided"].item() == -math.inf


def test_positive_share_follows_the_prevalence_but_not_in_dcurves() -> None:
    """With a prevalence given, dcurves reports the sample's share beside the population's rates."""
    data = shipped("df_case_control")
    arguments = (data, "casecontrol", ["cancerpredmarker"], [0.1, 0.3])
    mine, other = ours(*arguments, prevalence=0.2), theirs(*arguments, prevalence=0.2)
    assert (mine["test_pos_rate"] - mine["tp_rate"] - mine["fp_rate"]).abs().max() < 1e-15
    model = other["model"] == "cancerpredmarker"
    off = (other["test_pos_rate"] - other["tp_rate"] - other["fp_rate"]).abs()
    assert (off[model] > 0.01).all()
    sample = [(data["cancerpredmarker"] >= p).mean() for p in (0.1, 0.3)]
    assert other.loc[model, "test_pos_rate"].tolist() == pytest.approx(sample)


def test_noisy_thresholds_lose_ties_in_dcurves() -> None:
    data = pd.DataFrame({"y": [False, True], "a": [0.1, 0.3]})
    noisy = [0.1 + 0.2]
    other = theirs(data, "y", ["a"], noisy)
    assert other.loc[other["model"] == "a", "net_benefit"].item() == 0.0
    mine = ours(data, "y", ["a"], noisy)
    assert mine.loc[mine["model"] == "a", "net_benefit"].item() == 0.5
    assert mine["threshold"].tolist() == [0.3] * 3


def test_missing_risks_are_refused_but_negative_in_dcurves() -> None:
    data = pd.DataFrame({"y": [False, True, True], "a": [0.1, 0.9, math.nan]})
    other = theirs(data, "y", ["a"], [0.5])
    assert other.loc[other["model"] == "a", "net_benefit"].item() == pytest.approx(1 / 3)
    with pytest.raises(InputError, match=r"risks\['a'\] is missing \(nan\) in row 2"):
        ours(data, "y", ["a"], [0.5])


def test_one_class_has_a_curve_but_not_in_dcurves() -> None:
    data = pd.DataFrame({"y": [False, False], "a": [0.1, 0.9]})
    with pytest.raises(ZeroDivisionError):
        theirs(data, "y", ["a"], [0.5])
    mine = ours(data, "y", ["a"], [0.5])
    assert mine["net_benefit"].tolist() == [-0.5, -1.0, 0.0]


def test_threshold_one_is_refused_but_infinite_in_dcurves() -> None:
    data = pd.DataFrame({"y": [False, True], "a": [1.0, 1.0]})
    with np.errstate(divide="ignore"):
        other = theirs(data, "y", ["a"], [1.0])
    assert other.loc[other["model"] == "a", "net_benefit"].item() == -math.inf
    with pytest.raises(InputError, match=r"threshold 1\.0 .* is not a risk"):
        ours(data, "y", ["a"], [1.0])


# -- our own rules -------------------------------------------------------------------------------


def slow_row(
    y: list[int], risk: list[float], weight: list[float], p: float, prevalence: float | None
) -> tuple[float, float]:
    """TP/N and FP/N by loops, from sensitivity and specificity where a prevalence is given."""
    tp = fp = events = nonevents = 0.0
    for outcome, r, w in zip(y, risk, weight, strict=True):
        if outcome:
            events += w
            tp += w if r >= p else 0.0
        else:
            nonevents += w
            fp += w if r >= p else 0.0
    if prevalence is None:
        return tp / (events + nonevents), fp / (events + nonevents)
    return tp / events * prevalence, fp / nonevents * (1 - prevalence)


def test_every_cell_against_loops() -> None:
    rng = np.random.default_rng(2)
    for trial in range(200):
        n = int(rng.integers(3, 15))
        y = [0, 1, *rng.integers(0, 2, n - 2).tolist()]
        risks = {name: (rng.integers(0, 21, n) / 20).tolist() for name in ("first", "second")}
        weight = (rng.random(n) + 0.1).tolist()
        prevalence = 0.3 if trial % 2 else None
        harm = {"second": 0.02}
        grid = Thresholds.of([0, *np.sort(rng.choice(np.arange(1, 20), 3, replace=False)) / 20])
        table = decision_curve(
            y, risks, grid, sample_weight=weight, harm=harm, prevalence=prevalence
        )
        everyone = {"Treat All": [1.0] * n, "Treat None": [-1.0] * n}
        expected = []
        total = sum(weight)
        share = prevalence or sum(w for a, w in zip(y, weight, strict=True) if a) / total
        for name, risk in (risks | everyone).items():
            for p in grid.values:
                tp, fp = slow_row(y, risk, weight, p, prevalence)
                odds, cost = p / (1 - p), harm.get(name, 0.0)
                benefit = tp - fp * odds - cost
                of_all = share - (1 - share) * odds
                avoided = (benefit - of_all) / odds if p else math.nan
                expected.append((name, p, total, share, cost, tp + fp, tp, fp, benefit, avoided))
        frame = pd.DataFrame(expected, columns=COLUMNS)
        assert_same(pd.DataFrame(table), frame)


def test_agrees_with_the_plain_functions() -> None:
    data = shipped("df_binary")
    y, risk, weight = data["cancer"], data["cancerpredmarker"], data["age"]
    options = {"sample_weight": weight, "prevalence": 0.1}
    table = decision_curve(y, risk, "0.05:0.5:0.05", harm=0.01, **options)
    model = table["model"] == "model"
    plain = net_benefit(y, risk, "0.05:0.5:0.05", harm=0.01, **options)
    assert table["net_benefit"][model] == pytest.approx(plain, abs=1e-14)
    everybody = table["net_benefit"][table["model"] == "Treat All"]
    ones = net_benefit(y, np.ones(len(y)), "0.05:0.5:0.05", **options)
    assert everybody == pytest.approx(ones, abs=1e-14)
    assert (table["net_benefit"][table["model"] == "Treat None"] == 0).all()


def test_rates_are_shares_of_all_rows() -> None:
    table = decision_curve([0, 0, 0, 1], [0.2, 0.6, 0.6, 0.9], [0.5])
    assert table["tp_rate"].tolist() == [0.25, 0.25, 0.0]  # sensitivity would be 1
    assert table["fp_rate"].tolist() == [0.5, 0.75, 0.0]  # 1 - specificity would be 2/3
    assert table["test_pos_rate"].tolist() == [0.75, 1.0, 0.0]


def test_models_keep_their_order_and_the_references_come_last() -> None:
    risk = [0.2, 0.8]
    table = decision_curve([0, 1], {"z": risk, "a": risk}, [0.1, 0.5])
    names = ["z", "z", "a", "a", "Treat All", "Treat All", "Treat None", "Treat None"]
    assert table["model"].tolist() == names
    assert table["threshold"].tolist() == [0.1, 0.5] * 4


def test_default_thresholds_and_a_zero_that_was_not_given() -> None:
    default = decision_curve([0, 1], [0.2, 0.8])
    assert default.n_rows == 30
    assert default["threshold"][:10].tolist() == [i / 10 for i in range(10)]
    assert 0.0 not in decision_curve([0, 1], [0.2, 0.8], [0.1])["threshold"]


def test_n_counts_rows_or_adds_weights() -> None:
    rows = decision_curve([0, 1], [0.2, 0.8], [0.1])["n"]
    assert rows.dtype.kind == "i"
    assert rows.tolist() == [2] * 3
    assert (
        decision_curve([0, 1], [0.2, 0.8], [0.1], sample_weight=[0.5, 1])["n"].tolist() == [1.5] * 3
    )


def test_harm_forms() -> None:
    y, risks = [0, 1], {"a": [0.2, 0.8], "b": [0.3, 0.6]}
    assert decision_curve(y, risks, [0.5])["harm"].tolist() == [0, 0, 0, 0]
    assert decision_curve(y, risks, [0.5], harm=0.1)["harm"].tolist() == [0.1, 0.1, 0, 0]
    assert decision_curve(y, risks, [0.5], harm={"b": 0.1})["harm"].tolist() == [0, 0.1, 0, 0]
    with_harm = decision_curve(y, risks, [0.5], harm={"b": 0.1})["net_benefit"]
    assert with_harm == pytest.approx([0.5, 0.4, 0.0, 0.0], abs=1e-15)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1], {}), {}, r"risks holds no model.*Pass at least one"),
        (([0, 1], {1: [0.1, 0.2]}), {}, r"model name 1 is not text.*by strings"),
        (([0, 1], {"Treat All": [0.1, 0.2]}), {}, r"called 'Treat All'.*Rename the model"),
        (([0, 1], {"Treat None": [0.1, 0.2]}), {}, r"called 'Treat None'.*Rename the model"),
        (([0, 1], {"a": [0.1, 0.2], "b": [0.1]}), {}, r"risks\['b'\] has shape \(1,\).*2 rows"),
        (([0, 1], {"a": [0.1, 1.2]}), {}, r"risks\['a'\] must lie in \[0, 1\], but row 1 has 1\.2"),
        (([0, 1], [0.1, math.nan]), {}, r"risks is missing \(nan\) in row 1"),
        (([0, 1], [[0.9, 0.1], [0.2, 0.8]]), {}, r"risks has two columns.*risks\[:, 1\]"),
        (([], []), {}, r"y_true is empty"),
        (([0, 2], [0.1, 0.2]), {}, r"y_true must hold only 0 and 1, but row 1 holds 2"),
        (([0, 1], [0.1, 0.2], [0.5, 0.1]), {}, r"thresholds must increase"),
        (([0, 1], [0.1, 0.2]), {"sample_weight": [1, -1]}, r"sample_weight.*row 1 has -1\.0"),
        (([0, 1], [0.1, 0.2]), {"prevalence": 20}, r"prevalence=20 must lie strictly between"),
        (([0, 0], [0.1, 0.2]), {"prevalence": 0.2}, r"no events.*both classes"),
        (([0, 1], [0.1, 0.2]), {"harm": -1}, r"harm=-1 must be a finite number"),
        (([0, 1], {"a": [0.1, 0.2]}), {"harm": {"a": -1}}, r"harm\['a'\]=-1 must be a finite"),
        (([0, 1], {"a": [0.1, 0.2]}), {"harm": {"A": 0.1}}, r"harm names 'A', but .* 'a'"),
        (([0, 1], {"a": [0, 1]}), {"harm": {"Treat All": 0.1}}, r"reference strategies bear no"),
    ],
)
def test_bad_input(arguments: tuple[Any, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        decision_curve(*arguments, **options)


# -- Table ---------------------------------------------------------------------------------------


@pytest.fixture
def table() -> Table:
    return decision_curve([0, 1, 1], {"card": [0.2, 0.5, 0.8]}, "0.1:0.5:0.1")


@pytest.mark.parametrize(
    ("build", "backend"),
    [(pd.DataFrame, "pandas"), (pl.DataFrame, "polars"), (pa.table, "pyarrow")],
)
def test_frames(table: Table, build: Callable[[Any], Any], backend: Any) -> None:
    direct, named = build(table), table.to_frame(backend)
    assert type(direct) is type(named)
    for frame in (direct, named):
        columns = {name: np.asarray(frame[name]).tolist() for name in COLUMNS}
        assert list(getattr(frame, "column_names", frame.columns)) == COLUMNS
        assert columns["model"] == ["card"] * 5 + ["Treat All"] * 5 + ["Treat None"] * 5
        assert columns["n"] == [3] * 15
        assert columns["net_benefit"] == table["net_benefit"].tolist()


def test_missing_library_is_named(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"needs polars.*not installed.*pip install polars"):
        table.to_frame("polars")


def test_unknown_backend(table: Table) -> None:
    with pytest.raises(InputError, match=r"backend='excel' is not known.*'pandas', 'polars', "):
        table.to_frame("excel")  # type: ignore[arg-type]


def test_columns_must_fit() -> None:
    with pytest.raises(InputError, match=r"differ in length: \{'a': 2, 'b': 1\}.*equal length"):
        Table({"a": [1, 2], "b": [1]})
    with pytest.raises(InputError, match=r"column 'a' has shape \(1, 2\).*one-dimensional"):
        Table({"a": [[1, 2]]})


def test_table_is_a_dict_that_pickles(table: Table) -> None:
    assert isinstance(table, dict)
    assert len(table) == len(COLUMNS)
    assert table.n_rows == 15
    assert Table({}).n_rows == 0
    again = pickle.loads(pickle.dumps(table))
    assert type(again) is Table
    assert all(np.array_equal(again[k], table[k], equal_nan=k != "model") for k in table)


def test_repr_lines_up(table: Table) -> None:
    lines = repr(table).split("\n")
    assert len(lines) == 12  # names, ten rows, the rest
    assert lines[0].split() == COLUMNS
    assert lines[-1] == "… 5 more rows"
    assert {len(line) for line in lines[:-1]} == {len(lines[0])}
    assert lines[1].split()[:5] == ["card", "0.1", "3", "0.6667", "0"]
    small = Table({"x": [1.0, math.nan, 0.12345], "name": ["a", "bb", "c"]})
    assert repr(small).split("\n") == ["     x  name", "1.0000  a", "   nan  bb", "0.1235  c"]
    assert repr(Table({})) == "Table without columns"
    assert repr(Table({"x": range(11)})).endswith("… 1 more row")


def test_html_is_escaped_and_complete() -> None:
    html = Table({"<b>": ["x & y"] * 12, "v": [0.5] * 12})._repr_html_()
    assert "<th>&lt;b&gt;</th><th>v</th>" in html
    assert html.count("<td>x &amp; y</td><td>0.5</td>") == 10
    assert "… 2 more rows" in html
    assert "<b>" not in html
    assert "more row" not in Table({"v": [1]})._repr_html_()
