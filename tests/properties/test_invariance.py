"""What a binner learns depends neither on the order of the rows nor on merging equal ones."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from netbenefit import Binner, InputError
from netbenefit.binning.search import CellScores, count_cells, equal_mass_edges, gain_edges
from netbenefit.binning.weights import count_rows, drop_last_bits, first_reaching
from tests.helpers.full import examples

Columns = dict[str, NDArray[Any]]
KINDS = ("whole", "tenths", "float", "few", "counts", "text", "words", "yes", "gaps", "coded")


class Case(NamedTuple):
    """A table with weights, and the parameters of a binner."""

    columns: Columns
    event: NDArray[np.bool_]
    weight: NDArray[np.float64]
    params: dict[str, Any]

    def take(self, rows: NDArray[np.intp]) -> Case:
        """The same with other rows."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return Case(columns, self.event[rows], self.weight[rows], self.params)

    def merged(self) -> Case:
        """Equal rows as one, in the order of appearance."""
        seen: dict[tuple[Any, ...], int] = {}
        first: list[int] = []
        total: list[float] = []
        parts = [_hashable(values) for values in (*self.columns.values(), self.event)]
        keys = zip(*parts, strict=True)
        for row, (key, weight) in enumerate(zip(keys, self.weight, strict=True)):
            if key not in seen:
                seen[key] = len(first)
                first.append(row)
                total.append(0.0)
            total[seen[key]] += float(weight)
        return self.take(np.array(first))._replace(weight=np.array(total))

    def learnt(self) -> str:
        """All that a binner learns, or why it cannot."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                binner = Binner(**self.params).fit(self.columns, self.event, self.weight)
            except InputError as error:
                return str(error)
        return binner.to_json() + str(binner.summary())


def _hashable(values: NDArray[Any]) -> list[Any]:
    return ["hole" if value != value else value for value in values.tolist()]


def column(kind: str, event: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[Any]:
    """A random column, with ties, that may tell something about the outcome."""
    n = event.size
    signal = float(rng.choice([0.0, 1.5])) * event
    if kind == "whole":
        return np.round(rng.integers(20, 80, n) + 10 * signal).astype(np.int64)
    if kind == "float":
        return rng.normal(size=n) + signal
    if kind == "few":
        return rng.integers(0, rng.integers(2, 6), n)
    if kind == "counts":
        return rng.poisson(0.4 + signal, n)
    if kind == "text":
        return np.array([f"level {k}" for k in np.minimum(rng.geometric(0.3, n), 12)], dtype=object)
    if kind == "words":
        return np.array([str(k) for k in rng.integers(0, 9, n)], dtype=object)
    if kind == "yes":
        return rng.random(n) < 0.4
    numbers = np.round(3 * rng.exponential(size=n) + signal, 1)
    if kind == "gaps":
        numbers[rng.random(n) < 0.15] = np.nan
    if kind == "coded":
        numbers[rng.random(n) < 0.1] = -9
    return numbers


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A small table of any kind."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.sampled_from([15, 40, 80, 200, 500]))
    event = rng.random(n) < draw(st.sampled_from([0.1, 0.3, 0.5]))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=5))
    columns = {f"{kind} {k}": column(kind, event, rng) for k, kind in enumerate(kinds)}
    numbers = [name for name in columns if name.split()[0] in ("whole", "tenths", "few", "counts")]
    params: dict[str, Any] = {
        "method": draw(st.sampled_from(["net_benefit", "net_benefit", "tree", "quantile"])),
        "special": {name: [-9] for name in columns if name.startswith("coded")},
        "bins": draw(st.sampled_from(["cumulative", "interval"])),
        "max_bins": draw(st.sampled_from([5, 5, 2, 8])),
        "missing": draw(st.sampled_from(["auto", "condition", "impute"])),
        "round_cuts": draw(st.booleans()),
    }
    if len(numbers) > 1 and draw(st.booleans()):
        params["combine"] = {"sum": ("sum", numbers[:2])}
    elif numbers and draw(st.booleans()):
        params["per_unit"] = numbers[:1]
    weight = {
        "ones": np.ones(n),
        "counts": rng.integers(1, 4, n).astype(float),
        "with zeros": rng.integers(0, 3, n).astype(float),
        "fractions": rng.choice([0.1, 0.3, 0.7], n),
    }[draw(st.sampled_from(["ones", "counts", "with zeros", "fractions"]))]
    weight[:2], event[:2] = 1.0, [True, False]  # both outcomes have weight
    return Case(columns, event, weight, params)


@settings(max_examples=examples(150), deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_small_tables(case: Case, random: Any) -> None:
    order = list(range(case.event.size))
    random.shuffle(order)
    expected, moved = case.learnt(), case.take(np.array(order))
    assert moved.learnt() == expected
    if (case.weight == np.floor(case.weight)).all():  # other weights do not count rows
        assert moved.merged().learnt() == expected
        rows = np.repeat(np.arange(case.event.size), case.weight.astype(int))
        spread = case.take(rows)._replace(weight=np.ones(rows.size))
        assert spread.learnt() == expected
    assert case.take(np.flatnonzero(case.weight)).learnt() == expected


@pytest.mark.parametrize(
    ("n_rows", "kinds"),
    [
        (25_000, KINDS),
        (40_000, ("whole", "counts", "few", "text", "words", "yes", "gaps")),
        (60_000, ("few", "counts", "text", "yes", "words")),
    ],
)
def test_large_tables(n_rows: int, kinds: tuple[str, ...]) -> None:
    """More patterns than the model of the other columns is fitted on; many of them; few of them."""
    rng = np.random.default_rng(n_rows)
    event = rng.random(n_rows) < 0.2
    columns = {kind: column(kind, event, rng) for kind in kinds}
    special = {name: [-9] for name in kinds if name == "coded"}
    case = Case(columns, event, np.ones(n_rows), {"special": special})
    expected = case.learnt()
    assert case.take(rng.permutation(n_rows)).learnt() == expected
    merged = case.merged()
    assert merged.take(rng.permutation(merged.event.size)).learnt() == expected
    assert (merged.event.size < n_rows) == (n_rows > 25_000)


def test_identifiers_are_seen_in_any_order_and_by_weight() -> None:
    rng = np.random.default_rng(0)
    other = {"age": rng.integers(20, 80, 120)}
    event = rng.random(120) < 0.4
    for start in (1, 701, 20):  # a hundred numbers and more that all differ are no accident
        for numbers in (np.arange(120), rng.permutation(120)):
            with pytest.warns(UserWarning, match="number the rows"):
                Binner().fit({"record": start + numbers, **other}, event)
    # Whole weights count rows: every number stands for two, and so names none.
    twice = Binner().fit({"record": 701 + np.arange(120), **other}, event, np.full(120, 2))
    assert not any("record" in text for text in twice.fitted_.notices)


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(1).permutation(60) + 20,  # one person of each age
        np.random.default_rng(2).choice(10**6, 500, replace=False),  # amounts
        np.random.default_rng(3).integers(900, 1100, 300),  # readings
    ],
)
def test_measurements_are_no_identifiers(values: NDArray[Any]) -> None:
    for order in (np.arange(values.size), np.argsort(values)):
        binner = Binner(method="quantile").fit({"x": values[order]})
        assert set(binner.groups_) == {"x"}


def test_levels_are_free_text_by_weight() -> None:
    words = np.array([f"word {k}" for k in range(40)], dtype=object)
    age = np.arange(40) % 4
    y = np.arange(40) % 3 == 0
    with pytest.warns(UserWarning, match="free text"):
        Binner(min_share=0.0).fit({"w": words, "age": age}, y)
    with pytest.warns(UserWarning, match="40 levels, none with at least"):
        Binner(min_share=0.2).fit({"w": words, "age": age}, y, np.full(40, 3))


def test_rows_without_weight_are_not_even_read() -> None:
    x = np.arange(60) % 7 / 2
    strange = {"x": [*x.tolist(), "n/a", None], "g": [*(["a", "b"] * 30), 7, "c"]}
    y = np.arange(60) % 3 == 0
    plain = Binner().fit({"x": x.tolist(), "g": ["a", "b"] * 30}, y)
    weight = np.r_[np.ones(60), 0, 0]
    codes = Binner().fit_codes(strange, [*y, 0, 1], weight)
    assert codes.names == plain.fitted_.names
    np.testing.assert_array_equal(
        codes.matrix[:60], plain.transform({"x": x, "g": ["a", "b"] * 30})
    )


def test_cells_are_those_of_unmerged_rows() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        values = rng.integers(0, 400, 1000) / 4
        distinct, counts = np.unique(values, return_counts=True)
        for most in (3, 7, 10, 64):
            one, two = count_cells(values, None, most), count_cells(distinct, counts * 1.0, most)
            assert one.starts.tolist() == two.starts.tolist()
            half = count_cells(distinct, counts * 0.1, most)
            assert half.starts.tolist() == two.starts.tolist()


def test_last_bits_do_not_decide() -> None:
    rng = np.random.default_rng(0)
    g = np.array([-9.0, 0.0, 0.0, 0.0, 9.0])  # three places in the middle are equally good
    h = np.full(5, 5.0)
    edges = {
        tuple(gain_edges(CellScores(h, g + 1e-13 * rng.normal(size=5), h, h), 2, 1.0).tolist())
        for _ in range(50)
    }
    assert len(edges) == 1
    mass = np.full(6, 0.1)
    parts = {
        tuple(equal_mass_edges(mass + 1e-16 * rng.normal(size=6), 4, 0.1).tolist())
        for _ in range(50)
    }
    assert len(parts) == 1
    assert first_reaching(np.array([0.1, 0.1 + 0.2, 0.6000000000000001]), 0.5) == 1
    assert drop_last_bits(np.array([0.1 + 0.2, 0.7]))[0] == drop_last_bits(np.array([0.3, 0.7]))[0]
    assert drop_last_bits(np.array([1e-300, 3e-300])).tolist() == pytest.approx([1e-300, 3e-300])
    assert count_rows(np.array([2.0, 0.0])) == 2.0
