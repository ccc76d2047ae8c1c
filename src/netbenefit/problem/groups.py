"""Columns of which exactly one is 1 in every row.

Adding the same number to the points of all columns of such a group moves every score by that
number, which changes no comparison.  A search that treats these cards as one sees a much smoother
landscape: the column without points, against which the others are measured, can change in a single
step.
"""

from __future__ import annotations

import numpy as np

from netbenefit.common.checks import IntArray

__all__ = ["one_hot_groups"]


def one_hot_groups(codes: IntArray, decimals: tuple[int, ...]) -> IntArray:
    """Return (first, last) of the run of adjacent columns that each column shares its rows with.

    A column on its own gets (k, k + 1).  Only adjacent columns that vary are tried, as every
    encoder puts them; a constant column never gets points, not even by a shift.

    Examples
    --------
    >>> one_hot_groups(np.array([[1, 0, 0], [0, 1, 1]]), (0, 0, 0)).tolist()
    [[0, 2], [0, 2], [2, 3]]
    """
    n_columns = codes.shape[1]
    binary = [
        decimals[k] == 0 and codes[:, k].min() == 0 and codes[:, k].max() == 1
        for k in range(n_columns)
    ]
    groups = np.stack([np.arange(n_columns), np.arange(n_columns) + 1], axis=1)
    first = 0
    while first < n_columns:
        last = _end_of_group(codes, binary, first)
        groups[first:last] = first, last
        first = last
    return groups


def _end_of_group(codes: IntArray, binary: list[bool], first: int) -> int:
    taken = np.zeros(codes.shape[0], dtype=np.int64)
    for k in range(first, codes.shape[1]):
        if not binary[k]:
            break
        taken += codes[:, k]
        if taken.max() > 1:
            break
        if taken.min() == 1:
            return k + 1
    return first + 1
