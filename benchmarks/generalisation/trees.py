"""Decision trees, pruned by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from benchmarks.generalisation.benefit import contributions
from benchmarks.generalisation.rows import BoolArray, Counts, FloatArray, MergedRows, stack
from netbenefit.metrics.thresholds import Thresholds

#: Most prunings that are tried.
PRUNINGS = 20


def fit_pruned(
    X: NDArray[Any], y: BoolArray, thresholds: Thresholds, seed: int
) -> DecisionTreeClassifier:
    """Fit the tree whose pruning has the highest AUNBC in five folds; among equals the smallest.

    Choosing by AUNBC favours the tree: it is the measure of the comparison, and a leaf without
    events, whose log loss may be infinite, does not matter.
    """
    merged = MergedRows.of(X, y)
    prunings = pruning_path(merged, seed)
    value = np.zeros(prunings.size)
    for fold in merged.folds(seed):
        for k, alpha in enumerate(prunings):
            tree = _fit(merged.X, fold.train, alpha, seed)
            value[k] += _total_benefit(tree, merged.X, fold.validation, thresholds)
    # (sums that differ by rounding only are equal)
    best = np.flatnonzero(value >= value.max() - 1e-9 * merged.y.size)[-1]
    return _fit(merged.X, merged.counts(), float(prunings[best]), seed)


def pruning_path(merged: MergedRows, seed: int) -> FloatArray:
    """Increasing prunings, each in the middle of a range that gives one and the same tree."""
    rows, outcome, weight = stack(merged.X, merged.counts())
    full = DecisionTreeClassifier(random_state=seed)
    alphas = full.cost_complexity_pruning_path(rows, outcome, weight).ccp_alphas
    alphas = np.unique(np.maximum(alphas, 0.0))
    middles = np.append(np.sqrt(alphas[:-1] * alphas[1:]), alphas[-1])
    # dense among small trees: a path has hundreds of large ones that hardly differ
    ranks = np.unique(np.geomspace(1, middles.size, PRUNINGS).round().astype(int))
    result: FloatArray = middles[middles.size - ranks[::-1]]
    return result


def _fit(X: FloatArray, counts: Counts, alpha: float, seed: int) -> DecisionTreeClassifier:
    rows, outcome, weight = stack(X, counts)
    return DecisionTreeClassifier(ccp_alpha=alpha, random_state=seed).fit(rows, outcome, weight)


def _total_benefit(
    tree: DecisionTreeClassifier, X: FloatArray, counts: Counts, thresholds: Thresholds
) -> float:
    number = counts.events + counts.nonevents
    used = number > 0
    risk = tree.predict_proba(X[used])[:, 1]
    share = counts.events[used] / number[used]
    return float(number[used] @ contributions(share, risk, thresholds))
