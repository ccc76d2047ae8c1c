"""A numeric column as ordered fine cells: all that a search for cut points needs to know.

Cells hold the distinct values of a column, or quantiles of it where there are too many of them.
Whatever looks for cuts works on some hundred cells instead of on all rows, and names a cut by the
number of the cell that it stands in front of: edge k splits cells 0 … k-1 from cells k … B-1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.binning.weights import SLACK, are_whole
from netbenefit.common.checks import FloatArray, InputError, IntArray

__all__ = ["Cells", "count_cells"]


class Cells(NamedTuple):
    """The cells of a column, ascending: starts and ends, (n_cells,), and the cell of each row."""

    starts: FloatArray
    ends: FloatArray
    cell_of_row: NDArray[np.int32]

    @property
    def size(self) -> int:
        """How many cells there are (``len`` counts the three fields)."""
        return int(self.starts.size)


def count_cells(values: NDArray[Any], weight: FloatArray | None = None, most: int = 256) -> Cells:
    """Gather a column's values, none missing, in at most ``most`` cells: values or quantiles.

    No value is split over two cells, and a value that fills a cell's weight alone has its own cell.
    """
    if most < 1:
        raise InputError(f"most={most!r} must be at least 1.")
    numbers = np.asarray(values, dtype=np.float64)
    if not numbers.size:
        return Cells(np.empty(0), np.empty(0), np.empty(0, np.int32))
    if weight is None or weight[0] == weight[-1] == weight.min() == weight.max():
        ordered, cumulated = np.sort(numbers), None
    else:
        order = np.argsort(numbers)
        ordered, cumulated = numbers[order], np.cumsum(weight[order])
    if np.isnan(ordered[-1]):  # nan sorts last
        raise InputError("a numeric column holds missing values. Leave those rows out of cells.")
    firsts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if firsts.size > most:
        firsts = _quantile_firsts(ordered, cumulated, firsts, most)
    starts = ordered[firsts] + 0.0  # minus zero is zero
    ends = ordered[np.append(firsts[1:], ordered.size) - 1] + 0.0
    cell_of_row = np.searchsorted(starts, numbers, side="right") - 1
    return Cells(starts, ends, cell_of_row.astype(np.int32))


def _quantile_firsts(
    ordered: FloatArray, cumulated: FloatArray | None, firsts: IntArray, most: int
) -> IntArray:
    """Return where the quantile cells start in the ordered values."""
    if cumulated is None:
        at = np.arange(most) * ordered.size // most
    elif are_whole(cumulated):  # exactly as if the rows were not merged
        steps = np.arange(most, dtype=np.int64) * int(cumulated[-1]) // most
        at = np.searchsorted(cumulated, steps, side="right")
    else:  # a weight that is only by its last bits more than a share does not exceed it
        steps = (np.arange(most) / most + SLACK) * cumulated[-1]
        at = np.minimum(np.searchsorted(cumulated, steps, side="right"), ordered.size - 1)
    # Each quantile moves down to the first row with its value.  Where several quantiles hold one
    # value, one of them is free to mark the next value, so that the cell holds this value alone.
    which = np.searchsorted(firsts, at, side="right") - 1
    heavy = which[1:][which[1:] == which[:-1]] + 1
    chosen = np.unique(np.concatenate((which, heavy[heavy < firsts.size])))
    marked: IntArray = firsts[chosen]
    return marked
