"""Several members in one teacher: the choice of penalties, and weights on the log-odds scale."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import FloatArray
from netbenefit.teachers.members import expit

__all__ = ["Cells", "best_candidate", "log_loss", "stack"]

#: Mean log loss that each member has to spare, or it gets no weight.
LEAST_HELP = 1e-4
#: Rows of belief that weights add up to 1: where members tell every outcome, log loss alone would
#: have weights, and so risks, without end.
_BELIEF = 1.0
#: Breaks ties between equal members.
_RIDGE = 1e-6
#: Steps of Newton's method.
_MOST_STEPS = 50


class Cells(NamedTuple):
    """Rows of all folds, one after another: each with an out-of-fold prediction of its own."""

    event: NDArray[np.bool_]
    mass: FloatArray
    base: FloatArray  #: log-odds of an event among the rows that the fold learnt from


def log_loss(cells: Cells, odds: FloatArray) -> FloatArray:
    """Return the mean log loss of log-odds, along their last axis."""
    signed = np.where(cells.event, -odds, odds)
    loss: FloatArray = np.logaddexp(0.0, signed) @ cells.mass / cells.mass.sum()
    return loss


def best_candidate(cells: Cells, odds: FloatArray) -> FloatArray:
    """Return the candidate (row) with the least loss; the first, most penalised, of equal ones."""
    best: FloatArray = odds[int(np.argmin(np.round(log_loss(cells, odds), 12)))]
    return best


def stack(cells: Cells, odds: Mapping[str, FloatArray]) -> tuple[dict[str, float], FloatArray]:
    """Combine members: log-odds = base + Σ weight · (member − base), no weight negative.

    Of all subsets of the members, each with its weights of least out-of-fold log loss, take the one
    with the least loss when a member costs ``LEAST_HELP``; members left out have weight 0. (Weights
    that minimise the loss without being negative are those of some subset without a limit, so that
    no other solver is needed.)
    """
    names = list(odds)
    extra = np.array([odds[name] - cells.base for name in names]).reshape(-1, cells.base.size)
    best, least = np.zeros(len(names)), float(log_loss(cells, cells.base))
    for size in range(1, len(names) + 1):
        for chosen in map(list, combinations(range(len(names)), size)):
            weights = np.zeros(len(names))
            weights[chosen] = _weigh(cells, extra[chosen])
            loss = float(log_loss(cells, cells.base + weights @ extra)) + LEAST_HELP * size
            if (weights >= 0).all() and loss < least - 1e-12:
                best, least = weights, loss
    return dict(zip(names, best.tolist(), strict=True)), cells.base + best @ extra


def _weigh(cells: Cells, extra: FloatArray) -> FloatArray:
    """Return the weights of least loss by Newton's method, steps halved where the loss rises."""
    share = cells.mass / cells.mass.sum()
    weights = np.full(len(extra), 1.0 / len(extra))
    value = _penalised(cells, extra, weights)
    pull = _BELIEF / float(cells.mass.sum())
    for _ in range(_MOST_STEPS):
        risk = expit(cells.base + weights @ extra)
        gradient = extra @ (share * (risk - cells.event)) + _RIDGE * weights
        gradient += pull * (weights.sum() - 1.0)
        curvature = (extra * (share * risk * (1.0 - risk))) @ extra.T + _RIDGE * np.eye(len(extra))
        curvature += pull
        step = np.linalg.solve(curvature, gradient)
        sizes = (weights - step / 2**k for k in range(20))
        better = next((w for w in sizes if _penalised(cells, extra, w) <= value), weights)
        gain = value - _penalised(cells, extra, better)
        weights, value = better, value - gain
        if gain < 1e-12:
            break
    return weights


def _penalised(cells: Cells, extra: FloatArray, weights: FloatArray) -> float:
    loss = log_loss(cells, cells.base + weights @ extra)
    pull = _BELIEF / float(cells.mass.sum())
    return float(loss + 0.5 * _RIDGE * weights @ weights + 0.5 * pull * (weights.sum() - 1.0) ** 2)
