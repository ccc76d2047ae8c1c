"""Checks of arguments: what they return, and what they refuse."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from netbenefit.common.checks import (
    InputError,
    RowNumber,
    check_binary,
    check_level,
    check_names,
    check_risks,
    check_seed,
    check_weights,
    exact_number,
    shorten,
)


def test_accepted_arguments() -> None:
    assert check_names(["age", 3]) == ("age", "3")
    assert check_binary([0, 1, 1]).tolist() == [False, True, True]
    assert check_weights(None, 2).tolist() == [1.0, 1.0]
    assert check_risks([0.2, 1], 2).tolist() == [0.2, 1.0]
    assert (check_level(0.95), check_seed(np.int64(3))) == (0.95, 3)
    assert exact_number(0.001, "point_penalty", '"paper"') == Fraction(1, 1000)


def test_rows_are_counted_from_0_in_python_and_from_1_on_the_command_line() -> None:
    error = InputError("column 'x' is missing in ", RowNumber(3), ".")
    assert str(error) == "column 'x' is missing in row 3. (Rows are counted from 0.)"
    assert error.in_options() == "column 'x' is missing in row 4."
    error.name_rows(lambda row: f"line {row + 2}")
    assert str(error) == "column 'x' is missing in line 5."


def test_refused_arguments() -> None:
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        check_level(1)
    with pytest.raises(InputError, match="must be a whole number"):
        check_seed(True)
    with pytest.raises(InputError, match=r'point_penalty must be a finite number or "paper"'):
        exact_number("paper", "point_penalty", '"paper"')
    with pytest.raises(InputError, match="must not be negative"):
        exact_number(-1, "point_penalty", '"paper"')


def test_long_lists_are_shortened() -> None:
    assert shorten([1, 2, 3, 4, 5, 6, 7]) == "1, 2, 3, 4, 5 and 2 more"
