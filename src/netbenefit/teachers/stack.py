"""Several members in one teacher: the choice of penalties, and weights on the log-odds scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._validation import FloatArray

__all__ = ["Cells", "best_candidate", "log_loss", "stack"]

#: A member whose absence costs less than this in mean log loss has no weight.
LEAST_HELP = 1e-4


class Cells(NamedTuple):
    """Rows of all folds, one after another: each with an out-of-fold prediction of its own."""

    event: NDArray[np.bool_]
    mass: FloatArray
    base: FloatArray  #: log-odds of an event among the rows that the fold learnt from


def log_loss(cells: Cells, odds: FloatArray) -> FloatArray:
    """Return the mean log loss of log-odds, along their last axis.

    >>> cells = Cells(np.array([True, False]), np.ones(2), np.zeros(2))
    >>> log_loss(cells, np.zeros(2)) == np.log(2)
    np.True_
    """
    signed = np.where(cells.event, -odds, odds)
    loss: FloatArray = np.logaddexp(0.0, signed) @ cells.mass / cells.mass.sum()
    return loss


def best_candidate(cells: Cells, odds: FloatArray) -> FloatArray:
    """Return the candidate (row) with the least loss; the first, most penalised, of equal ones."""
    best: FloatArray = odds[int(np.argmin(np.round(log_loss(cells, odds), 12)))]
    return best


def stack(cells: Cells, odds: Mapping[str, FloatArray]) -> tuple[dict[str, float], FloatArray]:
    """Combine members: log-odds = base + Σ weight · (member − base), weights not negative.

    1. Find the weights with the least out-of-fold log loss: a convex problem.
    2. Leave out the member that is missed least, if that is less than ``LEAST_HELP`` (of equal
       ones the last named), and begin again.

    Returns weights by name, 0 for members left out, and the log-odds.
    """
    kept = list(odds)
    weights, loss = _weigh(cells, odds, kept)
    while kept:
        without = {name: _weigh(cells, odds, [k for k in kept if k != name]) for name in kept}
        name = min(reversed(kept), key=lambda k: round(without[k][1], 12))
        if without[name][1] > loss + LEAST_HELP:
            break
        kept.remove(name)
        # What was given away may not add up: each step is compared with the full stack.
        weights = without[name][0]
    found = {name: float(weights[kept.index(name)]) if name in kept else 0.0 for name in odds}
    return found, _combined(cells, odds, kept, weights)


def _combined(
    cells: Cells, odds: Mapping[str, FloatArray], names: list[str], weights: FloatArray
) -> FloatArray:
    total = cells.base.copy()
    for name, weight in zip(names, weights, strict=True):
        total += weight * (odds[name] - cells.base)
    return total


def _weigh(
    cells: Cells, odds: Mapping[str, FloatArray], names: list[str]
) -> tuple[FloatArray, float]:
    """Return the best weights of some members, and their loss."""
    from scipy.optimize import minimize

    if not names:
        return np.zeros(0), float(log_loss(cells, cells.base))
    extra = np.stack([odds[name] - cells.base for name in names])
    share = cells.mass / cells.mass.sum()

    def value(weights: FloatArray) -> tuple[float, FloatArray]:
        eta = cells.base + weights @ extra
        loss = share @ (np.logaddexp(0.0, eta) - cells.event * eta)
        risk = 0.5 * (1.0 + np.tanh(0.5 * eta))
        return float(loss), extra @ (share * (risk - cells.event))

    start = np.full(len(names), 1.0 / len(names))
    bounds = [(0.0, None)] * len(names)
    found = minimize(value, start, jac=True, bounds=bounds, method="L-BFGS-B", tol=1e-12)
    return np.asarray(found.x, dtype=np.float64), float(found.fun)
