"""Best ways to part ordered cells into few bins: exact, by dynamic programming.

A bin gains G² / (H + ridge), twice what one Newton step on its rows would gain, where G sums the
gradients and H the curvatures of a proper score.  Under pure noise that is on average
V / (H + ridge), with V the variance of G.

A bin pays ``PRICE`` times that, so a cut is made only where it gains clearly more than noise would
(Takeuchi's information criterion, at a higher price because the best of many cuts is taken).  On
small tables, though, cuts that follow the outcome fit noise, and a card bears spare conditions
better than misplaced ones.  There the price fades, and bins are drawn to equal mass.
With w = N / (N + 3000), a bin pays w times ``PRICE``, and 1 − w times ``PULL`` times the square of
its share of the rows, of which equal bins pay least.  Payments differ by bin, and add up, so the
best partition with its best number of bins comes out of one pass over the cells.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.binning.weights import SLACK, weight_of_one_row
from netbenefit.common import FloatArray, InputError, IntArray, are_whole
from netbenefit.metrics import Thresholds, sums_by

# -- a numeric column as ordered fine cells: all that a search for cut points needs to know --------
# Cells hold the distinct values of a column, or quantiles of it where there are too many of them.
# Whatever looks for cuts works on some hundred cells instead of on all rows, and names a cut by the
# number of the cell that it stands in front of: edge k splits cells 0 … k-1 from cells k … B-1.


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


# --------------------------------------------------------------------------------------------------


#: What a bin pays on large tables, in units of what noise alone would gain in it.
PRICE = 10.0
#: How strongly bins are drawn to equal mass on small tables, in the same units.
PULL = 40.0
#: Rows at which a table is half large.
_HALF_LARGE = 3000.0
#: How much the prediction by the other columns counts.  A card holds few of them: next to all of
#: them in full, a column that others resemble would explain nothing, nor would the others.
_TRUST = 0.5
#: Reach of a threshold on the logit scale: about as far as one column moves a risk.
_REACH = 1.0
#: Every row counts at least this share of what a row at the best place counts.
_FLOOR = 0.05
#: Logits beyond this are certainty; thresholds have no logit there.
_FAR = 15.0
_GRID = 1201


class CellScores(NamedTuple):
    """Sums over the rows of each cell; all of shape (n_cells,)."""

    mass: FloatArray
    gradient: FloatArray  #: first derivative of the score by the logit
    curvature: FloatArray  #: expected second derivative, negated
    variance: FloatArray  #: of the gradient, where the column adds nothing to the offset

    @property
    def noise(self) -> float:
        """What one bin is expected to gain from noise; 0 where nothing can be learnt."""
        curvature = float(self.curvature.sum())
        return float(self.variance.sum()) / curvature if curvature > 0 else 0.0


def score_cells(
    cells: Cells,
    event: NDArray[np.bool_],
    weight: FloatArray,
    thresholds: Thresholds | None = None,
    offset: FloatArray | None = None,
) -> CellScores:
    """Sum gradients, curvatures and variances of a score over the rows of each cell.

    The weighted net benefit is a proper score: moving the logit of a row with risk q changes it by
    w(q) (y - q), with w the weight of the thresholds near q, each times 1 / (1 - p), which is what
    an event and its p / (1 - p) false alarms are worth together.  Thresholds are points, and a row
    between two of them would count for nothing; so they are spread by a normal kernel over the
    logit, as wide as a column may move a risk, on top of a small floor.  Without thresholds w = 1,
    which is the likelihood.  The offset tells where a row lies among the thresholds, in full; the
    logit of q goes half of the way from the overall risk to it.  Without an offset all rows have
    the overall risk.
    """
    code, count = cells.cell_of_row, cells.size
    mass = sums_by(code, weight, count)
    total = float(mass.sum())
    events = float(weight @ event)
    if not (0 < events < total):
        nothing = np.zeros(count)
        return CellScores(mass, nothing, nothing, nothing)
    if offset is None:
        q: FloatArray | float = events / total
        worth: FloatArray | float = 1.0  # the same for all rows, hence of no consequence
    else:
        level = math.log(events / (total - events))
        logit = np.clip(level + _TRUST * (offset - level), -_FAR, _FAR)
        q = 1.0 / (1.0 + np.exp(-logit))
        worth = 1.0 if thresholds is None else _worth(offset, thresholds)
    row_weight = weight * worth
    curvature = row_weight * (q * (1.0 - q))
    gradient = row_weight * (event - q)
    unit = weight_of_one_row(weight)
    h = sums_by(code, curvature, count)
    g = sums_by(code, gradient, count)
    v = sums_by(code, curvature * worth, count) * unit
    # Residuals spread more than q says where half of what the others know is left in them.
    spread = float(np.sum(gradient * worth * (event - q)) / np.sum(curvature * worth))
    v *= max(1.0, spread)
    # The overall level of risk is not for the column to explain: its Newton step is taken out.
    return CellScores(mass, g - h * (g.sum() / h.sum()), h, v)


def _worth(logit: FloatArray, thresholds: Thresholds) -> FloatArray:
    """Return w(q) of each row: at most 1, at least the floor."""
    p, omega = thresholds.array[1:], thresholds.weight_array[1:]  # at 0 every row is positive
    if not omega.any():
        return np.ones_like(logit)
    grid = np.linspace(-_FAR, _FAR, _GRID)
    away = (grid[:, None] - np.log(p / (1.0 - p))) / _REACH
    table = np.exp(-0.5 * away**2) @ (omega / (1.0 - p))
    worth: FloatArray = np.interp(logit, grid, table / table.max() + _FLOOR) / (1.0 + _FLOOR)
    return worth


def gain_edges(
    scores: CellScores, max_bins: int, min_mass: float, rows: float = math.inf
) -> NDArray[np.intp]:
    """Return the edges of the partition that gains most after each bin has paid its price."""
    noise = scores.noise
    if noise <= 0:
        return np.empty(0, np.intp)
    g, h, v = (_between(part) for part in scores[1:])
    large = 1.0 if math.isinf(rows) else rows / (rows + _HALF_LARGE)
    value = (g * g - large * PRICE * v) / (np.maximum(h, 0.0) + noise)
    if large < 1.0:
        share = _between(scores.mass) / scores.mass.sum()
        value -= (1.0 - large) * PULL * noise * np.square(share)
    return _best_edges(value, scores.mass, max_bins, min_mass)


def equal_mass_edges(mass: FloatArray, max_bins: int, min_mass: float) -> NDArray[np.intp]:
    """Return the edges of the bins of most equal mass: least sum of squares."""
    return _best_edges(-np.square(_between(mass)), mass, max_bins, min_mass)


def _between(parts: FloatArray) -> FloatArray:
    """Return M with M[a, b] = the sum of parts a … b-1."""
    sums = np.concatenate(([0.0], np.cumsum(parts)))
    between: FloatArray = sums[None, :] - sums[:, None]
    return between


def _best_edges(
    value: FloatArray, mass: FloatArray, max_bins: int, min_mass: float
) -> NDArray[np.intp]:
    """Return the inner edges of the best partition; ``value[a, b]`` is the bin of cells a … b-1.

    Of partitions that are equal up to their last bits, the one with the fewest bins is taken, then
    the one whose last edge comes first.
    """
    none = np.empty(0, np.intp)
    last, total = mass.size, float(mass.sum())
    most = min(max_bins, last)
    if most < 2 or total <= 0:
        return none
    least = max(min_mass * (1.0 - SLACK), total * 1e-12)  # an empty bin does not count
    allowed = np.where(_between(mass) >= least, value, -np.inf)
    allowed[np.tril_indices(last + 1)] = -np.inf
    slack = SLACK * float(np.abs(allowed[np.isfinite(allowed)]).max(initial=0.0))
    best = allowed[0]
    ways, totals = [np.zeros(last + 1, np.intp)], [float(best[last])]
    for _ in range(1, most):
        reached = best[:, None] + allowed
        way = (reached >= reached.max(axis=0) - slack).argmax(axis=0)
        best = np.take_along_axis(reached, way[None, :], axis=0)[0]
        ways.append(way)
        totals.append(float(best[last]))
    top = max(totals)
    if not np.isfinite(top):
        return none
    bins = next(k for k, reached_total in enumerate(totals) if reached_total >= top - slack)
    edges, at = [], last
    for way in reversed(ways[1 : bins + 1]):
        at = int(way[at])
        edges.append(at)
    return np.array(edges[::-1], dtype=np.intp)
