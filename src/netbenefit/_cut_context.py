"""What the other columns say about a row: the logit of its risk without one column.

A column alone often moves no row across any threshold, so cuts are judged next to all others.  A
ridge-penalised logistic model with one effect for each coarse code of each column is enough for
that; it is fitted by Newton's method on tables of code pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._cut_cells import row_unit, sum_by
from netbenefit._validation import FloatArray

__all__ = ["AdditiveModel", "fit_additive", "outside_logits"]

Codes = NDArray[np.integer]

#: The model is fitted on at most this many rows.
_MOST_ROWS = 20_000
#: … and has at most this many columns: those that say most on their own.
_MOST_COLUMNS = 50
_MOST_STEPS = 30


class AdditiveModel(NamedTuple):
    """Logit = intercept + one effect of each column's code."""

    intercept: float
    effects: tuple[FloatArray, ...]

    def logits(self, columns: Sequence[Codes]) -> FloatArray:
        """Return the logit of each row."""
        eta = np.full(columns[0].shape, self.intercept)
        for codes, effect in zip(columns, self.effects, strict=True):
            eta += effect[codes]
        return eta


def outside_logits(
    columns: Sequence[Codes],
    n_codes: Sequence[int],
    event: NDArray[np.bool_],
    weight: FloatArray,
    seed: int = 0,
) -> Iterator[FloatArray]:
    """Yield, for each column, the logit of each row's risk by all other columns.

    It is the logit of the whole model with the column's effect replaced by its mean.  The penalty
    grows with the number of columns, so that many weak columns cannot explain a small table by
    heart.  Large tables are fitted on a sample that keeps rare outcomes; of very many columns only
    the strongest take part, and the others get the logit of the model without them.

    Parameters
    ----------
    columns : sequence of ndarray of int
        Codes 0 … K-1 of each column, missing values being a code too.
    n_codes : sequence of int
        K of each column.
    event, weight : ndarray of shape (n_rows,)
        Outcomes and weights.
    seed : int, default=0
        Decides which rows of a large table are looked at.

    Examples
    --------
    >>> x, z = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> y = np.array([False, False, True, True])
    >>> without_x, without_z = outside_logits([x, z], [2, 2], y, np.ones(4))
    >>> np.abs(without_x).max() < 1e-9
    np.True_
    >>> without_z.round(2).tolist()
    [-0.4, -0.4, 0.4, 0.4]
    """
    total, events = float(weight.sum()), float(weight @ event)
    if not columns or not 0 < events < total:
        level = (events + 0.5) / (total + 1.0)
        flat = np.full(event.shape, math.log(level / (1.0 - level)))
        for _ in columns:
            yield flat
        return
    rows, row_weight = _sample(event, weight / row_unit(weight), seed)
    outcome = event[rows]
    kept = _strongest(columns, n_codes, rows, outcome, row_weight)
    model = fit_additive(
        [columns[j][rows] for j in kept],
        [n_codes[j] for j in kept],
        outcome,
        row_weight,
        ridge=float(len(kept)),  # logits are expected to spread by one, all columns together
    )
    eta = model.logits([columns[j] for j in kept])
    effect_of = dict(zip(kept, model.effects, strict=True))
    for j, codes in enumerate(columns):
        if j in effect_of:
            share = sum_by(codes, weight, n_codes[j]) / total
            yield eta - (effect_of[j] - share @ effect_of[j])[codes]
        else:
            yield eta


def fit_additive(
    columns: Sequence[Codes],
    n_codes: Sequence[int],
    event: NDArray[np.bool_],
    weight: FloatArray,
    ridge: float,
) -> AdditiveModel:
    """Fit effects that minimise the deviance / 2 + ridge / 2 · Σ effect²; the intercept is free.

    Examples
    --------
    >>> x = np.array([0, 0, 1, 1])
    >>> fit_additive([x], [2], x > 0, np.ones(4), ridge=1.0).effects[0].round(3)
    array([-0.675,  0.675])
    """
    ends = np.cumsum([1, *n_codes])
    places = [slice(a, b) for a, b in pairwise(ends.tolist())]
    penalty = np.full(ends[-1], ridge)
    penalty[0] = 0.0
    rate = float(weight @ event) / float(weight.sum())
    beta = np.zeros(ends[-1])
    beta[0] = math.log(rate / (1.0 - rate))

    def split(b: FloatArray) -> AdditiveModel:
        return AdditiveModel(float(b[0]), tuple(b[place] for place in places))

    def loss(b: FloatArray, eta: FloatArray) -> float:
        deviance = weight @ (np.logaddexp(0.0, eta) - event * eta)
        return float(deviance + 0.5 * (penalty * b) @ b)

    eta = split(beta).logits(columns)
    worst = loss(beta, eta)
    for _ in range(_MOST_STEPS):
        q = 1.0 / (1.0 + np.exp(-eta))
        downhill = _by_code(columns, n_codes, weight * (event - q)) - penalty * beta
        matrix = _gram(columns, n_codes, places, weight * q * (1.0 - q))
        matrix[np.diag_indices_from(matrix)] += penalty
        step = np.linalg.solve(matrix, downhill)
        eta = split(beta + step).logits(columns)
        while (now := loss(beta + step, eta)) > worst + 1e-9 * abs(worst) and np.any(step):
            step = 0.5 * step  # too far: Newton's parabola lies below the loss
            eta = split(beta + step).logits(columns)
        beta, worst = beta + step, now
        if np.abs(step).max() < 1e-4:  # steps shrink quadratically: the next would be 1e-8
            break
    return split(beta)


def _by_code(columns: Sequence[Codes], n_codes: Sequence[int], rows: FloatArray) -> FloatArray:
    """Return the sum of a number over all rows, and over the rows of each code."""
    sums = [sum_by(codes, rows, k) for codes, k in zip(columns, n_codes, strict=True)]
    return np.concatenate([[rows.sum()], *sums])


def _gram(
    columns: Sequence[Codes], n_codes: Sequence[int], places: Sequence[slice], rows: FloatArray
) -> FloatArray:
    """Return Zᵀ diag(rows) Z for the intercept and the indicators Z of all codes."""
    sums = _by_code(columns, n_codes, rows)
    matrix = np.diag(sums)
    matrix[0] = matrix[:, 0] = sums
    for i, (codes, k) in enumerate(zip(columns, n_codes, strict=True)):
        for j in range(i):
            pairs = codes.astype(np.intp) * n_codes[j] + columns[j]
            block = sum_by(pairs, rows, k * n_codes[j]).reshape(k, n_codes[j])
            matrix[places[i], places[j]] = block
            matrix[places[j], places[i]] = block.T
    return matrix


def _sample(
    event: NDArray[np.bool_], weight: FloatArray, seed: int
) -> tuple[NDArray[np.intp], FloatArray]:
    """Return rows and weights for the fit: all, or a sample with as many rare as common outcomes.

    Each outcome keeps its total weight, so a model of the sample is one of the table.
    """
    rows = np.flatnonzero(weight > 0)
    if rows.size <= _MOST_ROWS:
        return rows, weight[rows]
    sides = [rows[event[rows]], rows[~event[rows]]]
    fewest = min(sides[0].size, sides[1].size, _MOST_ROWS // 2)
    generator = np.random.default_rng(seed)
    chosen, weights = [], []
    for side in sides:
        size = min(side.size, _MOST_ROWS - fewest if side.size > fewest else fewest)
        taken = np.sort(generator.choice(side, size, replace=False, shuffle=False))
        chosen.append(taken)
        weights.append(weight[taken] * (weight[side].sum() / weight[taken].sum()))
    return np.concatenate(chosen), np.concatenate(weights)


def _strongest(
    columns: Sequence[Codes],
    n_codes: Sequence[int],
    rows: NDArray[np.intp],
    event: NDArray[np.bool_],
    weight: FloatArray,
) -> list[int]:
    """Return the columns that take part, by what each says alone beyond what noise would."""
    if len(columns) <= _MOST_COLUMNS:
        return list(range(len(columns)))
    rate = float(weight @ event) / float(weight.sum())
    excess = weight * (event - rate)
    strength = np.empty(len(columns))
    for j, (column, k) in enumerate(zip(columns, n_codes, strict=True)):
        codes = column[rows]
        g = sum_by(codes, excess, k)
        h = sum_by(codes, weight, k) * (rate * (1.0 - rate))
        strength[j] = np.sum(g * g / (h + 1.0)) - 2.0 * (np.count_nonzero(h) - 1)
    return sorted(np.argsort(-strength, kind="stable")[:_MOST_COLUMNS].tolist())
