"""What the other columns tell about a row: the logit of its risk without one column.

A column alone often moves no row across any threshold, so cuts are judged next to all others.  A
ridge-penalised logistic model with one effect for each coarse code of each column is enough for
that; it is fitted by Newton's method on tables of code pairs.

The model sees patterns: the distinct rows of codes and outcome in lexicographic order, with their
weight.  So it depends neither on the order of the rows nor on whether equal rows are merged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.binning.weights import SLACK, drop_last_bits, sum_by, weight_of_one_row
from netbenefit.common.checks import FloatArray
from netbenefit.data.patterns import merge_rows

__all__ = ["AdditiveModel", "fit_additive", "outside_logits"]

Codes = NDArray[np.integer]

#: The model is fitted on at most this many patterns.
_MOST_PATTERNS = 20_000
#: … and has at most this many columns: the strongest on their own.
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
) -> Iterator[FloatArray]:
    """Yield, for each column of codes 0 … K-1, the logit of each row's risk by all other columns.

    It is the logit of the whole model with the column's effect replaced by its mean. The penalty
    grows with the number of columns, so that many weak columns cannot overfit a small table.
    """
    total, events = float(weight.sum()), float(weight @ event)
    if not columns or not 0 < events < total:
        level = (events + 0.5) / (total + 1.0)
        flat = np.full(event.shape, math.log(level / (1.0 - level)))
        for _ in columns:
            yield flat
        return
    row_weight = weight / weight_of_one_row(weight)
    kept = _strongest(columns, n_codes, event, row_weight)
    patterns = _thin(_merge([columns[j] for j in kept], event, row_weight))
    model = fit_additive(
        patterns.columns,
        [n_codes[j] for j in kept],
        patterns.event,
        patterns.weight,
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
    """Fit effects that minimise the deviance / 2 + ridge / 2 · Σ effect²; the intercept is free."""
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


class _Patterns(NamedTuple):
    """Distinct rows of codes and outcome, in lexicographic order, with their weight."""

    columns: list[Codes]
    event: NDArray[np.bool_]
    weight: FloatArray


def _merge(columns: Sequence[Codes], event: NDArray[np.bool_], weight: FloatArray) -> _Patterns:
    """Return the patterns of the rows that have weight; those without the event come first."""
    kept = weight > 0
    if not kept.all():
        columns, event, weight = [codes[kept] for codes in columns], event[kept], weight[kept]
    first, pattern_of_row = merge_rows([event, *columns], event.size)
    mass = sum_by(pattern_of_row, weight, first.size)
    return _Patterns([codes[first] for codes in columns], event[first], mass)


def _thin(patterns: _Patterns) -> _Patterns:
    """Return all patterns, or a sample with as many of the rare as of the common outcome.

    Patterns are sampled at equal steps along their cumulated weight and weigh as much as their
    hits: each outcome keeps its total weight, and no random generator is needed.
    """
    columns, event, weight = patterns
    if weight.size <= _MOST_PATTERNS:
        return patterns
    sides = [np.flatnonzero(event), np.flatnonzero(~event)]
    fewest = min(sides[0].size, sides[1].size, _MOST_PATTERNS // 2)
    thinned = np.zeros(weight.size)
    for side in sides:
        size = _MOST_PATTERNS - fewest if side.size > fewest else fewest
        if side.size <= size:
            thinned[side] = weight[side]
            continue
        cumulated = np.cumsum(weight[side])
        total = float(cumulated[-1])
        # The slack keeps the last bits of fractional weights from deciding.
        steps = (np.arange(size) + 0.5) * (total / size) + SLACK * total
        hit = np.searchsorted(cumulated, steps, side="right")
        thinned[side] = np.bincount(hit, minlength=side.size) * (total / size)
    chosen = np.flatnonzero(thinned)
    return _Patterns([codes[chosen] for codes in columns], event[chosen], thinned[chosen])


def _strongest(
    columns: Sequence[Codes],
    n_codes: Sequence[int],
    event: NDArray[np.bool_],
    weight: FloatArray,
) -> list[int]:
    """Return the columns that take part, by how much more than noise each explains alone."""
    if len(columns) <= _MOST_COLUMNS:
        return list(range(len(columns)))
    rate = float(weight @ event) / float(weight.sum())
    of_events = weight * event
    strength = np.empty(len(columns))
    for j, (codes, k) in enumerate(zip(columns, n_codes, strict=True)):
        mass = sum_by(codes, weight, k)
        g = sum_by(codes, of_events, k) - rate * mass
        h = mass * (rate * (1.0 - rate))
        strength[j] = np.sum(g * g / (h + 1.0)) - 2.0 * (np.count_nonzero(h) - 1)
    return sorted(np.argsort(-drop_last_bits(strength), kind="stable")[:_MOST_COLUMNS].tolist())
