"""Equal rows of whole numbers, found fast: for tables of patterns, and wherever rows are merged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["merge_rows"]

#: Keys stay below this, so that they never overflow.
_LARGEST_KEY = 2**62


def merge_rows(
    columns: Iterable[NDArray[Any]], n_rows: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return one row of each kind, kinds in lexicographic order, and the kind of each row.

    The columns are read as the digits of one number, which sorts much faster than rows; where the
    number would overflow, what has been read so far is replaced by its rank.

    Parameters
    ----------
    columns : iterable of (n_rows,) arrays of integers or booleans
        The first decides about the order of rows first.
    n_rows : int
        How many rows there are: at least one.

    Examples
    --------
    >>> merge_rows([np.array([1, 0, 1]), np.array([-7, 5, -7])], 3)
    (array([1, 0]), array([1, 0, 1]))
    """
    key = np.zeros(n_rows, dtype=np.int64)
    size = 1
    for column in columns:
        digit = column.astype(np.int64)  # one at a time: columns may hold small integers
        digit -= digit.min()
        span = int(digit.max()) + 1
        if size * span >= _LARGEST_KEY:
            ranks, key = np.unique(key, return_inverse=True)
            size = ranks.size
            if size == n_rows:
                break  # all rows differ: the other columns change neither kinds nor their order
        if size * span >= _LARGEST_KEY:
            ranks, digit = np.unique(digit, return_inverse=True)
            span = ranks.size
        key = key * span + digit
        size *= span
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first.astype(np.intp), inverse.astype(np.intp)
