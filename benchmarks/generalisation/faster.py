"""FasterRisk with a limit on questions, and its number of rules chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from benchmarks.generalisation.logistic import CLIP
from benchmarks.generalisation.rows import BoolArray, IntArray, fold_count
from reproduction.fasterrisk import FasterRiskClassifier, FasterRiskError

#: How the beam search of version 0.1.10 fails when no column is left to add.
_USED_UP = "max() arg is an empty sequence"


def fit_fasterrisk(
    X: NDArray[Any],
    y: BoolArray,
    questions: IntArray,
    *,
    max_questions: int,
    max_points: int,
    sizes: Sequence[int],
    folds: int,
    seed: int,
) -> FasterRiskClassifier:
    """Fit the number of rules with the lowest log loss in a few folds.

    A number is passed over where FasterRisk's beam search ends with an error, because all columns
    of the questions chosen so far are used up.  That cannot happen with one rule per question.
    """

    def fit(rows: NDArray[np.intp], size: int) -> FasterRiskClassifier:
        model = FasterRiskClassifier(
            max_features=size,
            max_points=max_points,
            options={
                "group_sparsity": max_questions,
                "featureIndex_to_groupIndex": questions.tolist(),
            },
        )
        return model.fit(X[rows], y[rows])

    splitter = StratifiedKFold(min(folds, fold_count(y)), shuffle=True, random_state=seed)
    parts = list(splitter.split(X, y))
    loss: dict[int, float] = {}
    error: Exception | None = None
    for size in sorted({min(size, X.shape[1]) for size in sizes}):
        try:
            loss[size] = sum(
                _log_loss(y[test], fit(train, size).predict_proba(X[test])[:, 1])
                for train, test in parts
            )
        except FasterRiskError as caught:
            if _USED_UP not in str(caught):
                raise
            error = caught
    for size in sorted(loss, key=lambda size: loss[size]):
        try:
            model = fit(np.arange(y.size), size)
        except FasterRiskError as caught:
            if _USED_UP not in str(caught):
                raise
            error = caught
            continue
        asked = np.unique(questions[model.coef_ != 0]).size
        if asked > max_questions:
            raise RuntimeError(f"FasterRisk asks {asked} questions, not at most {max_questions}")
        return model
    raise RuntimeError(f"FasterRisk fails with all of {sizes} rules") from error


def _log_loss(y: BoolArray, risk: NDArray[np.float64]) -> float:
    inside = np.clip(risk, CLIP, 1.0 - CLIP)
    return -float(np.log(inside[y]).sum() + np.log1p(-inside[~y]).sum()) / y.size
