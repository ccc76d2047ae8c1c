"""Tables of text: cells, numbers and widths; and the numbers of decimal steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netbenefit.common.numbers import (
    find_decimals,
    minimise_by_newton,
    relative_gap,
    to_step,
    to_steps,
)
from netbenefit.common.parallel import one_by_one, only_task_here, tasks_at_once, threads_here
from netbenefit.common.table import (
    Table,
    display_width,
    format_count,
    format_number,
    format_p_value,
    format_percent,
    format_table,
)


def test_cells_are_laid_out_in_columns() -> None:
    lines = format_table(["rule", "old"], [["age ≥ 52", "2"], ["x", "−10"]])
    assert lines == ["rule      old", "age ≥ 52    2", "x         −10"]
    assert [display_width(text) for text in ("age", "年齢", "e\u0301")] == [3, 4, 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (format_count(1234.0), "1,234"),
        (format_count(75094.3234), "75,094.3"),
        (format_count(0.03214567), "0.03215"),
        (format_number(-0.25, 2), "−0.25"),
        (format_number(None), "–"),
        (format_number(math.nan), "–"),
        (format_number(math.inf), "∞"),
        (format_number(-1e-6), "0.0000"),
        (format_percent(0.125), "12.5%"),
        (format_percent(None), "–"),
        (format_p_value(0.0312), "0.031"),
        (format_p_value(0.00002), "< 0.001"),
        (format_p_value(math.nan), "–"),
    ],
)
def test_numbers_in_words(text: str, expected: str) -> None:
    assert text == expected


def test_a_table_shows_its_cells() -> None:
    table = Table({"model": ["card", "Treat None"], "net_benefit": [0.125, 0.0]})
    shown = "model       net_benefit\ncard              0.125\nTreat None        0.000"
    assert (repr(table), table.n_rows) == (shown, 2)
    assert table.to_frame().shape == (2, 2)


def test_steps() -> None:
    assert to_steps(np.array([0.25, -0.25, 1.5]), 1).tolist() == [3, -2, 15]
    assert to_step(0.25, 1) == 3
    assert find_decimals(np.array([0.0, 2.3, 1.5])) == (1, True)
    assert find_decimals(np.array([0.0, 1 / 3, 2 / 3])) == (4, False)


def test_relative_gap() -> None:
    assert relative_gap(0.4, 0.5) == (0.5 - 0.4) / 0.4
    assert (relative_gap(-2.0, -1.0), relative_gap(0.25, 0.25)) == (0.5, 0.0)
    assert (relative_gap(0.25, None), relative_gap(0.0, 0.1)) == (None, math.inf)


def test_where_tasks_run() -> None:
    assert (one_by_one(1), one_by_one(2)) == (True, False)
    assert (tasks_at_once(1), tasks_at_once(2), threads_here(3)) == (1, 2, 3)
    assert only_task_here()


def test_newton_finds_the_logistic_fit_from_far_away() -> None:
    x, y = np.array([[1.0, -1.0], [1.0, 0.0], [1.0, 2.0], [1.0, 3.0]]), np.array([0, 1, 0, 1])

    def value(w: np.ndarray) -> float:
        return float(np.sum(np.logaddexp(0.0, x @ w) - y * (x @ w)))

    def derivatives(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        risk = 1.0 / (1.0 + np.exp(-x @ w))
        return x.T @ (risk - y), (x.T * (risk * (1.0 - risk))) @ x

    for start in (np.zeros(2), np.array([4.0, -3.0])):
        found = minimise_by_newton(value, derivatives, start, close=1e-10, longest=5.0)
        assert np.abs(derivatives(found)[0]).max() < 1e-12
    assert minimise_by_newton(value, derivatives, found).tolist() == pytest.approx(found.tolist())
