"""Cut points: cells, the search for edges against brute force, rounding, and the other columns."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from importlib.util import find_spec
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from netbenefit.binning import cuts as _cut_context, cuts as _cut_optbinning
from netbenefit.binning.cuts import (
    METHODS,
    CellCounts,
    Cells,
    CutSettings,
    Rows,
    count_events,
    find_edges,
    fit_additive,
    optbinning_edges,
    outside_logits,
    round_cuts,
    roundest,
    scores_for,
)
from netbenefit.binning.search import (
    PRICE,
    PULL,
    CellScores,
    count_cells,
    equal_mass_edges,
    gain_edges,
    score_cells,
)
from netbenefit.binning.weights import weight_of_one_row
from netbenefit.common import install_command
from netbenefit.common.checks import FloatArray, InputError
from netbenefit.metrics.thresholds import Thresholds
from tests.helpers.full import examples

TENTHS = Thresholds.tenths()
OWN = [method for method in METHODS if method != "optbinning"]
needs_optbinning = pytest.mark.skipif(
    find_spec("optbinning") is None, reason="optbinning is not installed"
)


def find_cuts(
    cells: Cells,
    event: NDArray[np.bool_],
    weight: FloatArray,
    *,
    offset: FloatArray | None = None,
    **options: Any,
) -> NDArray[np.intp]:
    return find_edges(cells, Rows(event, weight), cut_settings(**options), offset)


def choose_cuts(
    cells: Cells,
    event: NDArray[np.bool_],
    weight: FloatArray,
    *,
    offset: FloatArray | None = None,
    **options: Any,
) -> FloatArray:
    settings, rows = cut_settings(**options), Rows(event, weight)
    edges = find_edges(cells, rows, settings, offset)
    scores = scores_for(cells, rows, settings, offset)
    supervised = settings.method != "quantile"
    return round_cuts(cells, edges, scores, min_mass=settings.min_mass, supervised=supervised)


def cut_settings(**options: Any) -> CutSettings:
    usual = CutSettings("net_benefit", 5, 20, 0.0, True, None)
    return usual._replace(**options)


class Column:
    """A random column with outcomes, weights, and an offset."""

    def __init__(self, seed: int, rows: int, distinct: int, scale: float = 1.0) -> None:
        random = np.random.default_rng(seed)
        ladder = np.sort(random.normal(size=distinct)) * scale
        self.values = ladder[random.integers(0, distinct, rows)]
        self.offset = random.normal(-1.0, 1.0, rows)
        risk = 1 / (1 + np.exp(-self.offset - 1.5 * np.sin(2 * self.values / scale)))
        self.event = random.random(rows) < risk
        self.weight = np.ones(rows) if seed % 2 else random.exponential(size=rows)
        self.cells = count_cells(self.values, self.weight)
        self.total = float(self.weight.sum())

    def cuts(self, method: str, max_bins: int, share: float) -> FloatArray:
        return choose_cuts(
            self.cells,
            self.event,
            self.weight,
            method=method,
            max_bins=max_bins,
            min_mass=share * self.total,
            thresholds=TENTHS,
            offset=self.offset,
        )


def bin_masses(values: FloatArray, weight: FloatArray, cuts: FloatArray) -> FloatArray:
    return np.bincount(np.searchsorted(cuts, values, side="right"), weight, len(cuts) + 1)


# -- cells ---------------------------------------------------------------------------------------


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=60))
def test_few_distinct_values_are_the_cells(numbers: list[int]) -> None:
    values = np.array(numbers) / 4
    cells = count_cells(values, np.ones(len(values)), most=41)
    distinct, code = np.unique(values, return_inverse=True)
    assert cells.starts.tolist() == cells.ends.tolist() == distinct.tolist()
    assert cells.cell_of_row.tolist() == code.tolist()


@settings(max_examples=examples(300))
@given(st.integers(0, 10**6), st.integers(1, 400), st.integers(1, 40), st.booleans())
def test_cells_are_in_order_and_split_no_value(
    seed: int, rows: int, most: int, weighted: bool
) -> None:
    random = np.random.default_rng(seed)
    values = np.round(random.normal(size=rows), int(random.integers(0, 4)))
    weight = random.integers(0, 4, rows) / 3 if weighted else np.ones(rows)
    cells = count_cells(values, weight, most)
    assert 1 <= cells.size <= most
    for cell in range(cells.size):
        inside = values[cells.cell_of_row == cell]
        assert (inside.min(), inside.max()) == (cells.starts[cell], cells.ends[cell])
    assert np.all(cells.ends[:-1] < cells.starts[1:])


@pytest.mark.parametrize("weighted", [False, True])
def test_quantile_cells_have_near_equal_weight(weighted: bool) -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=20_000)
    weight = random.exponential(size=20_000) if weighted else np.ones(20_000)
    cells = count_cells(values, weight, 64)
    mass = np.bincount(cells.cell_of_row, weight)
    assert cells.size == 64
    assert np.abs(mass / weight.sum() * 64 - 1).max() < 0.05


def test_heavy_value_has_a_cell_of_its_own() -> None:
    random = np.random.default_rng(0)
    values = np.concatenate((np.zeros(3000), random.uniform(1e-6, 1.0, 7000)))
    cells = count_cells(values, np.ones(10_000), 50)
    assert (cells.starts[0], cells.ends[0]) == (0.0, 0.0)
    assert cells.starts[1] == values[values > 0].min()


def test_missing_values_are_refused_and_no_rows_are_no_cells() -> None:
    with pytest.raises(InputError, match="missing values"):
        count_cells(np.array([1.0, np.nan]))
    assert count_cells(np.empty(0)).size == 0
    with pytest.raises(InputError, match="at least 1"):
        count_cells(np.ones(2), most=0)


def test_row_unit() -> None:
    assert weight_of_one_row(np.array([3.0, 1.0])) == 1.0  # counts of rows
    assert weight_of_one_row(np.array([0.5, 0.5, 0.5])) == pytest.approx(
        0.5
    )  # as many rows as there are
    assert weight_of_one_row(np.array([1e-200, 3e-200])) == pytest.approx(2.5e-200)
    assert weight_of_one_row(np.zeros(3)) == 1.0


# -- the search ----------------------------------------------------------------------------------


def all_partitions(cells: int, max_bins: int) -> list[tuple[int, ...]]:
    inner = range(1, cells)
    return [c for k in range(min(max_bins, cells)) for c in combinations(inner, k)]


def parts(array: FloatArray, edges: tuple[int, ...]) -> list[float]:
    return [math.fsum(array[a:b]) for a, b in pairwise([0, *edges, len(array)])]


def value_of(scores: CellScores, edges: tuple[int, ...], rows: float) -> float:
    m, g, h, v = (parts(part, edges) for part in scores)
    noise = math.fsum(scores.variance) / math.fsum(scores.curvature)
    large = 1.0 if rows == math.inf else rows / (rows + 3000)
    gain = sum((a * a - large * PRICE * c) / (b + noise) for a, b, c in zip(g, h, v, strict=True))
    return gain - (1 - large) * PULL * noise * sum((part / math.fsum(m)) ** 2 for part in m)


def random_scores(random: np.random.Generator) -> CellScores:
    cells = int(random.integers(1, 9))
    mass = random.integers(0, 4, cells).astype(float)
    h = mass * random.uniform(0.1, 2.0, cells)
    g = random.normal(size=cells) * np.sqrt(h) * random.choice([1, 4])
    return CellScores(mass, g, h, h * random.uniform(0.2, 2.0, cells))


def test_gain_edges_are_the_best_of_all_partitions() -> None:
    random = np.random.default_rng(5)
    sizes = []
    for _ in range(3000):
        scores = random_scores(random)
        if not scores.mass.any():
            continue
        max_bins, least = int(random.integers(1, 6)), float(random.integers(0, 4))
        rows = float(random.choice([math.inf, 30.0, 3000.0, 1e6]))
        edges = tuple(gain_edges(scores, max_bins, least, rows).tolist())
        possible = [
            p
            for p in all_partitions(scores.mass.size, max_bins)
            if min(parts(scores.mass, p)) >= max(least, 1e-9)
        ]
        if not possible:
            assert edges == ()
            continue
        best = max(value_of(scores, p, rows) for p in possible)
        assert edges in possible
        assert value_of(scores, edges, rows) == pytest.approx(best, rel=1e-9, abs=1e-9)
        sizes.append(len(edges))
    assert {0, 1, 2, 3, 4} == set(sizes)  # all kinds of cases were met


def test_equal_mass_edges_have_the_least_sum_of_squares() -> None:
    random = np.random.default_rng(6)
    for _ in range(1000):
        mass = random.integers(0, 5, int(random.integers(1, 9))).astype(float)
        max_bins, least = int(random.integers(1, 6)), float(random.integers(1, 5))
        edges = tuple(equal_mass_edges(mass, max_bins, least).tolist())
        possible = [p for p in all_partitions(mass.size, max_bins) if min(parts(mass, p)) >= least]
        squares = [sum(m * m for m in parts(mass, p)) for p in possible]
        found = sum(m * m for m in parts(mass, edges))
        assert (edges == () and not possible) or found == min(squares)


def test_quantiles_of_a_continuous_column_are_quantiles() -> None:
    values = np.random.default_rng(0).normal(size=4000)
    cells = count_cells(values)
    edges = find_cuts(cells, values > 9, np.ones(4000), method="quantile", max_bins=4)
    assert cells.starts[edges] == pytest.approx(np.quantile(values, [0.25, 0.5, 0.75]), abs=0.02)


def test_scores_are_the_derivatives_of_the_proper_score() -> None:
    column = Column(3, 500, 7)
    scores = score_cells(column.cells, column.event, column.weight, TENTHS, column.offset)
    level = float(column.weight @ column.event) / column.total
    logit = (column.offset + math.log(level / (1 - level))) / 2  # the others' word counts half
    q = 1 / (1 + np.exp(-logit))
    # The kernel written out, one threshold after the other.
    worth = np.zeros(500)
    peak = np.zeros(3001)
    line = np.linspace(-15, 15, 3001)
    for p, omega in zip(TENTHS.values[1:], TENTHS.weights[1:], strict=True):
        here = math.log(p / (1 - p))
        worth += omega / (1 - p) * np.exp(-((column.offset - here) ** 2) / 2)
        peak += omega / (1 - p) * np.exp(-((line - here) ** 2) / 2)
    worth = (worth / peak.max() + 0.05) / 1.05
    g = column.weight * worth * (column.event - q)
    h = column.weight * worth * q * (1 - q)
    g = g - h * g.sum() / h.sum()
    code = column.cells.cell_of_row
    assert scores.gradient == pytest.approx(np.bincount(code, g), rel=1e-3, abs=1e-3)
    assert scores.curvature == pytest.approx(np.bincount(code, h), rel=1e-3)
    assert scores.gradient.sum() == pytest.approx(0.0, abs=1e-9)


def test_noise_is_what_the_gradient_earns_under_the_null() -> None:
    random = np.random.default_rng(2)
    rows = 600
    offset = random.normal(-1.0, 1.5, rows)
    cells = count_cells(random.integers(0, 4, rows).astype(float))
    ratios = []
    for _ in range(800):
        event = random.random(rows) < 1 / (1 + np.exp(0.8 - offset / 2))
        scores = score_cells(cells, event, np.ones(rows), TENTHS, offset)
        gained = np.sum(scores.gradient**2 / scores.curvature)
        # Four bins, of which the level takes one.
        ratios.append(gained / (np.sum(scores.variance / scores.curvature) - scores.noise))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.1)


def test_rows_near_the_thresholds_decide_where_to_cut() -> None:
    # Rows of low risk have a strong step at 3, rows of high risk one at 7.
    random = np.random.default_rng(0)
    rows = 40_000
    x = random.integers(0, 10, rows).astype(float)
    high = random.random(rows) < 0.5
    offset = np.where(high, 0.0, -4.0)
    truth = offset + np.where(high, 0.6 * np.sign(x - 6.5), 0.6 * np.sign(x - 2.5))
    event = random.random(rows) < 1 / (1 + np.exp(-truth))
    cells, ones = count_cells(x), np.ones(rows)

    def first(threshold: float) -> list[float]:
        return choose_cuts(
            cells, event, ones, max_bins=2, thresholds=Thresholds.of([threshold]), offset=offset
        ).tolist()

    assert first(0.5) == [7.0]
    assert first(0.02) == [3.0]


def test_noise_is_rarely_cut_and_a_step_always() -> None:
    random = np.random.default_rng(0)
    cut_noise = 0
    n = 20_000
    for _ in range(20):
        x, noise = random.normal(size=n), random.normal(size=n)
        offset = np.full(n, -1.0)
        event = random.random(n) < 1 / (1 + np.exp(-np.where(x > 0.5, 1.0, -2.0)))
        options = {"min_mass": 500.0, "thresholds": TENTHS, "offset": offset}
        cut_noise += bool(len(find_cuts(count_cells(noise), event, np.ones(n), **options)))
        cuts = choose_cuts(count_cells(x), event, np.ones(n), **options)
        assert np.abs(cuts - 0.5).min() < 0.05
    assert cut_noise <= 5


def test_small_tables_are_cut_near_quantiles() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=100)
    event = random.random(100) < 0.3
    cells = count_cells(x, most=10)
    near = find_cuts(cells, event, np.ones(100), max_bins=5, min_mass=10.0)
    assert len(near) >= 3
    assert np.diff(np.concatenate(([0], near, [10]))).max() <= 4


@pytest.mark.parametrize("method", OWN)
def test_weight_two_is_two_rows(method: str) -> None:
    column = Column(1, 300, 40)
    weight = np.random.default_rng(0).integers(1, 4, 300)
    again = np.repeat(np.arange(300), weight)
    options = {"method": method, "max_bins": 5, "min_mass": 30.0, "thresholds": TENTHS}
    cells, event = column.cells, column.event
    by_weight = choose_cuts(cells, event, weight.astype(float), offset=column.offset, **options)
    by_rows = choose_cuts(
        count_cells(column.values[again]),
        event[again],
        np.ones(again.size),
        offset=column.offset[again],
        **options,
    )
    assert len(by_rows)
    assert by_weight.tolist() == by_rows.tolist()


@pytest.mark.parametrize("method", OWN)
def test_scale_of_fractional_weights_does_not_matter(method: str) -> None:
    column = Column(4, 600, 50)
    found = [
        choose_cuts(
            column.cells,
            column.event,
            column.weight * scale,
            method=method,
            min_mass=0.05 * scale * column.total,
            thresholds=TENTHS,
            offset=column.offset,
        ).tolist()
        for scale in (1.0, 1e-3, 1e4)
    ]
    assert found[0]
    assert found[0] == found[1] == found[2]


# -- tree and optbinning -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_tree_edges_are_those_of_a_tree_on_rows(seed: int) -> None:
    from sklearn.tree import DecisionTreeClassifier

    column = Column(seed, 2000, 80)
    edges = find_cuts(
        column.cells,
        column.event,
        column.weight,
        method="tree",
        max_bins=6,
        min_mass=0.04 * column.total,
    )
    tree = DecisionTreeClassifier(
        criterion="log_loss", max_leaf_nodes=6, min_weight_fraction_leaf=0.04, random_state=0
    )
    tree.fit(column.values[:, None], column.event, sample_weight=column.weight)
    splits = np.sort(tree.tree_.threshold[tree.tree_.feature >= 0])
    assert np.searchsorted(column.cells.starts, splits).tolist() == edges.tolist()
    assert len(edges) == 5


ROWS_SCRIPT = """
import json, sys
import numpy as np
request = json.load(sys.stdin)
from optbinning import OptimalBinning
x, y = np.array(request["x"]), np.array(request["y"])
engine = OptimalBinning(dtype="numerical", max_n_bins=4, min_bin_size=0.1, min_prebin_size=0.05)
engine.fit(x, y)
bins = engine.transform(x, metric="indices")
answer = [[float(x[bins == b].min()), float(x[bins == b].max())] for b in np.unique(bins)]
print("\\n" + json.dumps([engine.splits.tolist(), answer]))
"""


@needs_optbinning
def test_optbinning_edges_are_those_of_optbinning_on_rows() -> None:
    import json

    random = np.random.default_rng(0)
    x = random.integers(0, 60, 3000).astype(float)
    event = random.random(3000) < 1 / (1 + np.exp(2 - x / 20))
    cells = count_cells(x)
    edges = find_cuts(cells, event, np.ones(3000), method="optbinning", max_bins=4, min_mass=300.0)
    done = subprocess.run(
        [sys.executable, "-c", ROWS_SCRIPT],
        input=json.dumps({"x": x.tolist(), "y": event.astype(int).tolist()}),
        capture_output=True,
        text=True,
        check=True,
    )
    splits, bins = json.loads(done.stdout.strip().splitlines()[-1])
    assert len(edges) == 3
    # x < split goes left: the smallest value of every bin but the first is at its split or above.
    assert [low for low, _ in bins[1:]] == cells.starts[edges].tolist()
    assert [high for _, high in bins[:-1]] == cells.ends[edges - 1].tolist()
    assert all(
        high < s <= low for s, (_, high), (low, _) in zip(splits, bins[:-1], bins[1:], strict=True)
    )


@needs_optbinning
def test_optbinning_takes_many_columns_fractional_weights_and_hopeless_ones() -> None:
    column = Column(2, 2000, 100)
    counts = count_events(column.cells, column.event, column.weight)
    tiny = CellCounts(counts.events / 1e6, counts.others / 1e6)
    none = CellCounts(np.zeros(3), np.ones(3))
    first, second, third = optbinning_edges([counts, none, tiny], 4, 0.1)
    assert len(first)
    assert first.tolist() == third.tolist()
    assert second.size == 0
    mass = bin_masses(column.values, column.weight, column.cells.starts[first])
    assert mass.min() >= 0.1 * column.total * (1 - 1e-5)


@needs_optbinning
def test_optbinning_leaves_highs_alone() -> None:
    column = Column(1, 400, 20)
    assert len(column.cuts("optbinning", 3, 0.1))
    assert "ortools" not in sys.modules
    import highspy

    assert highspy.Highs().version()


def test_missing_optbinning_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cut_optbinning, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=re.escape(install_command("optbinning"))):
        Column(1, 400, 20).cuts("optbinning", 3, 0.1)


# -- whatever the method -------------------------------------------------------------------------


@settings(max_examples=examples(150))
@given(
    st.integers(0, 10**6),
    st.integers(1, 500),
    st.integers(1, 500),
    st.sampled_from(OWN),
    st.integers(1, 7),
    st.sampled_from([0.0, 0.05, 0.2, 0.45, 0.6]),
    st.sampled_from([1.0, 1e-7, 3.2e9, 1e300, 1e-300]),
)
def test_cuts_keep_all_promises(
    seed: int, rows: int, distinct: int, method: str, max_bins: int, share: float, scale: float
) -> None:
    column = Column(seed, rows, distinct, scale)
    cuts = column.cuts(method, max_bins, share)
    assert len(cuts) < max_bins or max_bins == 1
    assert np.all(np.diff(cuts) > 0)
    assert np.all(np.isfinite(cuts))
    if len(cuts):
        mass = bin_masses(column.values, column.weight, cuts)
        assert mass.min() > 0
        assert mass.min() >= share * column.total * (1 - 1e-6)
    if share > 0.5:
        assert not len(cuts)


@pytest.mark.parametrize("method", OWN)
@pytest.mark.parametrize(
    ("values", "event", "weight"),
    [
        ([1.0] * 6, [0, 1] * 3, [1.0] * 6),  # one distinct value
        ([1.0, 2.0, 3.0], [0, 0, 0], [1.0] * 3),  # no events
        ([1.0, 2.0, 3.0], [1, 1, 1], [1.0] * 3),  # nothing else
        ([1.0, 2.0, 3.0], [0, 1, 1], [0.0, 1.0, 0.0]),  # all weight in one cell
        ([1.0, 2.0, 3.0], [0, 1, 1], [0.0] * 3),  # no weight
        ([], [], []),
    ],
)
def test_degenerate_columns_have_no_cuts(
    values: list[float], event: list[int], weight: list[float], method: str
) -> None:
    if method == "quantile" and set(event) in ({0}, {1}):
        pytest.skip("quantiles look at no outcome")
    x, y, w = np.array(values), np.array(event, dtype=bool), np.array(weight)
    offset = np.zeros(x.size)
    options = {"method": method, "thresholds": TENTHS, "offset": offset}
    assert choose_cuts(count_cells(x, w), y, w, **options).tolist() == []


@pytest.mark.parametrize("method", OWN)
def test_three_rows_do_not_crash(method: str) -> None:
    x, event = np.array([1.0, 2.0, 3.0]), np.array([False, True, True])
    cuts = choose_cuts(count_cells(x), event, np.ones(3), method=method, min_mass=1.0)
    assert set(cuts.tolist()) <= {2.0, 3.0}


@pytest.mark.parametrize("method", ["net_benefit", "tree"])
@pytest.mark.parametrize("up", [True, False])
def test_a_clean_step_is_found(method: str, up: bool) -> None:
    x = np.arange(1000.0)
    cuts = choose_cuts(
        count_cells(x), (x >= 400) == up, np.ones(1000), method=method, max_bins=2, min_mass=50.0
    )
    assert cuts.tolist() == [400.0]


def test_infinite_values_give_finite_cuts() -> None:
    x = np.repeat([-np.inf, 0.0, 5.0, np.inf], 50)
    event = np.repeat([False, True, False, True], 50)
    cuts = choose_cuts(count_cells(x), event, np.ones(200), max_bins=4, min_mass=10.0)
    assert len(cuts) == 3
    assert np.all(np.isfinite(cuts))
    assert bin_masses(x, np.ones(200), cuts).tolist() == [50.0] * 4


# -- rounding ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "middle", "expected"),
    [
        (51.4, 52.0, 51.7, "52.0"),
        (48.0, 52.0, 51.7, "50.0"),
        (0.5301, 0.5339, 0.5327, "0.533"),
        (0.528, 0.5339, 0.5327, "0.53"),
        (0.52, 0.561, 0.5327, "0.55"),
        (0.49, 0.561, 0.5327, "0.5"),
        (5390.0, 5410.0, 5398.5, "5400.0"),
        (4900.0, 5410.0, 5398.5, "5000.0"),
        (0.29, 0.31, 0.3, "0.3"),
        (1.1e-7, 1.9e-7, 1.5e-7, "1.5e-07"),
        (3.1e9, 3.3e9, 3.2e9, "3200000000.0"),
        (-0.31, -0.29, -0.3, "-0.3"),
        (-5.0, 4.0, -1.0, "0.0"),
        (-5.0, 0.0, -1.0, "0.0"),
        (0.0, 0.0013, 0.0006, "0.001"),
        (97.0, 104.0, 98.0, "100.0"),
        (12.0, 19.0, 13.0, "15.0"),
        (12.0, 14.9, 13.2, "13.0"),
        (1.0, math.nextafter(1.0, 2.0), 1.0, repr(math.nextafter(1.0, 2.0))),
    ],
)
def test_roundest(low: float, high: float, middle: float, expected: str) -> None:
    assert repr(roundest(low, high, middle)) == expected


def test_roundest_whole() -> None:
    assert roundest(0.0, 1.0, 0.5, whole=True) == 1.0
    assert roundest(13.0, 96.0, 54.5, whole=True) == 50.0
    assert roundest(2.0**60, 2.0**60 + 256, 0.0, whole=True) == 2.0**60 + 256


@settings(max_examples=examples(500))
@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_roundest_lies_inside_and_prints_no_longer_than_the_ends(a: float, b: float) -> None:
    low, high = sorted((a, b))
    if low == high:
        return
    cut = roundest(low, high, low / 2 + high / 2)
    assert low < cut <= high

    def digits(number: float) -> int:
        return len(f"{number!r}".partition("e")[0].replace(".", "").strip("-0"))

    assert digits(cut) <= digits(high)


def plain_scores(column: Column) -> CellScores:
    return score_cells(column.cells, column.event, column.weight)


@settings(max_examples=examples(200))
@given(st.integers(0, 10**6), st.integers(20, 3000), st.sampled_from([15, 3000]), st.booleans())
def test_rounding_keeps_within_its_limits(
    seed: int, rows: int, distinct: int, supervised: bool
) -> None:
    column = Column(seed, rows, distinct)
    cells, least = column.cells, 0.05 * column.total
    scores = plain_scores(column)
    edges = gain_edges(scores, 5, least)
    cuts = round_cuts(cells, edges, scores, min_mass=least, supervised=supervised)
    assert len(cuts) == len(edges)
    before = [float(column.weight[column.values < cells.starts[e]].sum()) for e in edges]
    after = [float(column.weight[column.values < c].sum()) for c in cuts]
    assert np.all(np.abs(np.subtract(before, after)) <= 0.01 * column.total * (1 + 1e-6))
    if not supervised or not len(edges):
        return
    # A cut inside a cell stands between two edges; both were looked at.
    for side in (cells.starts, cells.ends):
        rounded = np.searchsorted(side, cuts, side="left")
        lost = gain_of(scores, edges) - gain_of(scores, rounded)
        allowed = max(0.02 * gain_of(scores, edges), scores.noise * len(edges))
        assert lost <= allowed * (1 + 1e-6)


def gain_of(scores: CellScores, edges: NDArray[np.intp]) -> float:
    walls = tuple(int(edge) for edge in edges)
    g, h = parts(scores.gradient, walls), parts(scores.curvature, walls)
    return sum(a * a / (b + scores.noise) for a, b in zip(g, h, strict=True))


def test_rounding_moves_as_far_as_it_may_and_no_further() -> None:
    # One row in each cell of 0 … 999: a cut may cross ten of them, if nothing is lost.
    cells = count_cells(np.arange(1000.0), most=1000)
    ones = np.ones(1000)
    flat = CellScores(ones, 0 * ones, ones, ones)

    def at(edge: int, scores: CellScores = flat, **options: float) -> list[float]:
        return round_cuts(cells, np.array([edge]), scores, **options).tolist()

    assert at(510) == [500.0]
    assert at(511) == [510.0]
    pair = np.array([300, 311])
    assert round_cuts(cells, pair, flat).tolist() == [300.0, 310.0]
    assert round_cuts(cells, pair, flat, min_mass=11.0).tolist() == [300.0, 320.0]
    steep = CellScores(ones, np.where(np.arange(1000) < 507, -1.0, 1.0), ones, ones)
    assert at(507, steep) == [510.0]  # 500 would lose 2.7%, 510 loses 1.2%
    assert at(507, steep, supervised=False) == [500.0]


def test_whole_columns_have_whole_cuts() -> None:
    random = np.random.default_rng(0)
    age = random.integers(18, 90, 5000).astype(float)
    event = random.random(5000) < 1 / (1 + np.exp(3 - age / 25))
    for method in OWN:
        cuts = choose_cuts(count_cells(age), event, np.ones(5000), method=method, min_mass=250.0)
        assert len(cuts)
        assert np.all(cuts == np.floor(cuts))


# -- the other columns ---------------------------------------------------------------------------


def coded(seed: int, rows: int, n_codes: list[int]) -> tuple[list[NDArray[np.intp]], FloatArray]:
    random = np.random.default_rng(seed)
    columns = [random.integers(0, k, rows) for k in n_codes]
    return columns, sum(random.normal(size=k)[c] for k, c in zip(n_codes, columns, strict=True))


@pytest.mark.parametrize("ridge", [0.5, 4.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_model_is_a_penalised_logistic_regression(ridge: float, weighted: bool) -> None:
    from sklearn.linear_model import LogisticRegression

    n_codes = [2, 3, 6]
    columns, eta = coded(0, 500, n_codes)
    random = np.random.default_rng(1)
    event = random.random(500) < 1 / (1 + np.exp(1 - eta))
    weight = random.exponential(size=500) if weighted else np.ones(500)
    model = fit_additive(columns, n_codes, event, weight, ridge)
    design = np.hstack([np.eye(k)[c] for k, c in zip(n_codes, columns, strict=True)])
    other = LogisticRegression(C=1 / ridge, tol=1e-10, max_iter=5000)
    other.fit(design, event, sample_weight=weight)
    assert np.concatenate(model.effects) == pytest.approx(other.coef_[0], abs=1e-5)
    assert model.intercept == pytest.approx(other.intercept_[0], abs=1e-5)
    assert model.logits(columns) == pytest.approx(other.decision_function(design), abs=1e-5)


def test_each_logit_leaves_out_its_own_column() -> None:
    n_codes = [3, 4]
    columns, eta = coded(0, 800, n_codes)
    random = np.random.default_rng(1)
    event = random.random(800) < 1 / (1 + np.exp(-eta))
    weight = random.exponential(size=800)
    model = fit_additive(columns, n_codes, event, weight / weight_of_one_row(weight), 2.0)
    full = model.logits(columns)
    for j, logit in enumerate(outside_logits(columns, n_codes, event, weight)):
        own = model.effects[j][columns[j]]
        assert logit == pytest.approx(full - own + np.average(own, weights=weight), abs=1e-6)
        for code in range(n_codes[1 - j]):  # only the other column is left in it
            assert np.ptp(logit[columns[1 - j] == code]) < 1e-9


def test_separable_rare_and_flat_outcomes_end() -> None:
    column = np.repeat([0, 1], 50)
    (logit,) = outside_logits([column], [2], column > 0, np.ones(100))
    assert np.all(np.isfinite(logit))
    for event in (np.zeros(100, bool), np.ones(100, bool)):
        (logit,) = outside_logits([column], [2], event, np.ones(100))
        assert np.all(np.isfinite(logit))
    model = fit_additive([column], [2], column > 0, np.ones(100), 1e-4)
    assert model.effects[0][1] > 3
    assert list(outside_logits([], [], column > 0, np.ones(100))) == []


def test_a_sample_of_many_patterns_tells_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    n_codes = [3, 5, 30, 30, 30]
    columns, eta = coded(0, 60_000, n_codes)
    event = np.random.default_rng(1).random(60_000) < 1 / (1 + np.exp(3 - eta))
    ones, again = np.ones(60_000), np.random.default_rng(2).permutation(60_000)
    sampled = list(outside_logits(columns, n_codes, event, ones))
    moved = list(outside_logits([c[again] for c in columns], n_codes, event[again], ones))
    monkeypatch.setattr(_cut_context, "_MOST_PATTERNS", 10**6)
    exact = list(outside_logits(columns, n_codes, event, ones))
    for a, b, c in zip(sampled, moved, exact, strict=True):
        assert np.array_equal(a[again], b)
        assert not np.array_equal(a, c)
        assert np.abs(a - c).mean() < 0.15


@pytest.mark.parametrize("whole", [True, False])
def test_a_sample_keeps_the_weight_of_each_outcome(whole: bool) -> None:
    random = np.random.default_rng(0)
    columns = [random.integers(0, 100, 50_000) for _ in range(3)]
    event = random.random(50_000) < 0.2
    weight = random.integers(0, 5, 50_000) * (1.0 if whole else 0.1)
    full = _cut_context._merge(columns, event, weight)
    thin = _cut_context._thin(full)
    assert thin.weight.size <= _cut_context._MOST_PATTERNS < full.weight.size
    assert full.weight.sum() == pytest.approx(weight.sum())
    for outcome in (True, False):
        kept = full.weight[full.event == outcome].sum()
        assert thin.weight[thin.event == outcome].sum() == pytest.approx(kept)
    # 8,000 events and 32,000 others: all of the first, a part of the others
    assert thin.event.sum() == full.event.sum()


def test_of_very_many_columns_the_strongest_take_part() -> None:
    random = np.random.default_rng(0)
    columns = [random.integers(0, 3, 600) for _ in range(2000)]
    event = random.random(600) < np.array([0.1, 0.4, 0.9])[columns[1234]]
    logits = dict(enumerate(outside_logits(columns, [3] * 2000, event, np.ones(600))))
    strong, weak = logits[1234], logits[0]
    risk_of = [float(weak[columns[1234] == code].mean()) for code in range(3)]
    assert risk_of[2] - risk_of[0] > 1.0
    without = [float(strong[columns[1234] == code].mean()) for code in range(3)]
    assert without[2] - without[0] < 0.6 * (risk_of[2] - risk_of[0])


def test_many_columns_do_not_explain_a_small_table_by_heart() -> None:
    random = np.random.default_rng(0)
    columns = [random.integers(0, 12, 150) for _ in range(30)]
    event = random.random(150) < 0.3
    logit = next(outside_logits(columns, [12] * 30, event, np.ones(150)))
    q = 1 / (1 + np.exp(-logit))
    assert q[event].mean() - q[~event].mean() < 0.35


def test_cells_type_is_what_the_functions_take() -> None:
    cells = Cells(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([0, 1], np.int32))
    assert cells.size == 2
    assert count_cells(np.array([0.0, 1.0])).cell_of_row.dtype == np.int32
