"""Canonical rows and their folds, against slow and obvious code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from netbenefit import Binner
from netbenefit.data.raw_table import RawTable
from netbenefit.teachers.members import (
    CanonicalRows,
    deal,
    fold_sizes,
    merge_rows,
    rank,
    read_numbers,
)


def random_rows(rng: np.random.Generator, groups: bool = False) -> CanonicalRows:
    n = int(rng.integers(4, 60))
    weight = rng.integers(1, 5, n).astype(float) if rng.random() < 0.5 else np.ones(n)
    if rng.random() < 0.2:
        weight = rng.choice([0.5, 1.25, 2.0], n)
    keys = [rng.integers(0, 4, n).astype(float) for _ in range(3)]
    group = rng.integers(0, int(rng.integers(2, 30)), n) if groups else None
    return merge_rows(keys, rng.random(n) < 0.4, weight, group)


def obvious_sizes(
    rows: CanonicalRows, n_folds: int, rng: np.random.Generator
) -> np.ndarray[Any, Any]:
    """Deal one unit after another."""
    sizes = np.zeros((rows.units.size, n_folds), dtype=int)
    dealt = 0
    for happened in (True, False):
        mine = [i for i in range(rows.units.size) if bool(rows.event[i]) == happened]
        for place in rng.permutation(np.array(mine, dtype=np.intp)):
            for _ in range(int(rows.units[place])):
                sizes[place, dealt % n_folds] += 1
                dealt += 1
    return sizes


def test_dealing_agrees_with_obvious_code() -> None:
    for case in range(400):
        rng = np.random.default_rng(case)
        rows, n_folds = random_rows(rng), int(rng.integers(2, 7))
        sizes = fold_sizes(rows, n_folds, np.random.default_rng(case))
        assert np.array_equal(sizes, obvious_sizes(rows, n_folds, np.random.default_rng(case)))
        assert np.array_equal(sizes.sum(axis=1), rows.units)
        for part in (rows.event, ~rows.event, np.ones_like(rows.event)):
            held = sizes[part].sum(axis=0)
            assert held.max() - held.min() <= 1


def test_groups_are_never_split_and_are_dealt_evenly() -> None:
    for case in range(200):
        rng = np.random.default_rng(case)
        rows, n_folds = random_rows(rng, groups=True), int(rng.integers(2, 6))
        assert rows.group is not None
        sizes = fold_sizes(rows, n_folds, rng)
        assert np.array_equal(sizes.sum(axis=1), rows.units)
        for label in np.unique(rows.group):
            assert np.count_nonzero(sizes[rows.group == label].sum(axis=0)) == 1


def test_many_small_groups_give_each_fold_its_share() -> None:
    rng = np.random.default_rng(0)
    event = rng.random(600) < 0.3
    rows = merge_rows([rng.normal(size=600)], event, np.ones(600), rng.integers(0, 150, 600))
    sizes = fold_sizes(rows, 5, rng)
    for part in (rows.event, ~rows.event):
        held = sizes[part].sum(axis=0)
        assert held.max() - held.min() <= 6


def test_folds_partition_the_units() -> None:
    rng = np.random.default_rng(3)
    rows = random_rows(rng)
    folds = deal(rows, 3, 2, seed=5)
    assert [str(fold) for fold in folds[2:4]] == ["fold 3 of 3", "fold 1 of 3"]
    for repeat in (folds[:3], folds[3:]):
        held = np.zeros(rows.units.size, dtype=int)
        for fold in repeat:
            held[fold.rows] += fold.units
            own = np.zeros(rows.units.size, dtype=int)
            own[fold.rows] = fold.units
            assert np.array_equal(fold.train + own, rows.units)
        assert np.array_equal(held, rows.units)
    assert not np.array_equal(folds[0].train, folds[3].train)


@pytest.mark.parametrize("uneven", [False, True])
def test_merging_agrees_with_obvious_code(uneven: bool) -> None:
    for case in range(100):
        rng = np.random.default_rng(case)
        n = int(rng.integers(1, 40))
        keys = [rng.choice([0.0, 1.0, np.nan], n) for _ in range(2)]
        event, group = rng.random(n) < 0.5, rng.integers(0, 3, n)
        weight = rng.choice([0.5, 2.0, 1.5], n) if uneven else rng.integers(1, 4, n).astype(float)
        rows = merge_rows(keys, event, weight, group)
        held: dict[Any, float] = {}
        for i in range(n):
            key = [math.inf if v != v else float(v) for v in (keys[0][i], keys[1][i])]
            name = (*key, bool(event[i]), int(group[i]), *([float(weight[i])] * uneven))
            held[name] = held.get(name, 0) + (1 if uneven else float(weight[i]))
        if uneven and (weight == np.floor(weight)).all():
            continue  # whole after all
        assert rows.units.tolist() == [held[name] for name in sorted(held)]
        assert np.array_equal(rows.event[rows.place], event)
        assert np.array_equal(weight[rows.first][rows.place] if uneven else weight, weight)


def test_rank_of_anything() -> None:
    assert rank(np.array([2.0, np.nan, 1.0, np.nan])).tolist() == [1, 2, 0, 2]
    mixed = np.array(["b", None, 3, "b", (1, 2)], dtype=object)
    codes = rank(mixed)
    assert codes[0] == codes[3]
    assert np.unique(codes).size == 4


def test_columns_are_read_as_the_binner_reads_them() -> None:
    n = 40
    table = RawTable(
        {
            "patient_id": [f"p{i}" for i in range(n)],
            "number": list(range(1000, 1000 + n)),
            "seen": ["2024-01-05"] * n,
            "secret": [0, 1] * (n // 2),
            "sex": ["f", "m", None, " "] * (n // 4),
            "stage": ["II", "I", "III", "I"] * (n // 4),
            "visits": [3, -9, None, "4"] * (n // 4),
            "late_a": [1.0, 2.0] * (n // 2),
            "late_b": [2.0, 2.0] * (n // 2),
        }
    )
    binner = Binner(
        drop=["secret"],
        ordered={"stage": ["I", "II", "III"]},
        special={"visits": [-9]},
        combine={"late": ("sum", ["late_a", "late_b"])},
    )
    numbers, readable = read_numbers(table, binner, np.ones(n))
    sex, stage, visits, late = numbers.columns[:4].T
    assert numbers.levels.tolist() == [True, False, False, False]
    assert np.array_equal(sex, [0, 1, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(stage, [1, 0, 2, 0])
    assert np.array_equal(visits, [3, np.nan, np.nan, 4], equal_nan=True)
    assert np.array_equal(late, [3, 4, 3, 4])
    for name in ("patient_id", "number", "seen", "secret"):
        assert np.isnan(readable.column(name).values.astype(float)).all()
