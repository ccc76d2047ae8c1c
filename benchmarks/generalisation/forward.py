"""Forward selection of questions, rounded: a card as one makes it without a solver."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.generalisation.logistic import fit_plain, log_loss
from benchmarks.generalisation.rows import (
    BoolArray,
    Counts,
    FloatArray,
    IntArray,
    MergedRows,
    Standardiser,
    stack,
)

#: Inverse ridge, on standardised columns: scikit-learn's default.
RIDGE_C = 1.0


class ForwardCard(NamedTuple):
    """Points, and the logistic curve from score to risk."""

    points: IntArray  #: (P,)
    chosen: tuple[int, ...]  #: questions in the order in which they were added
    curve: LogisticRegression
    standardise: Standardiser  #: of the score

    def risk(self, X: NDArray[Any]) -> FloatArray:
        """Risk of rows."""
        score = (np.asarray(X) @ self.points)[:, None]
        result: FloatArray = self.curve.predict_proba(self.standardise(score))[:, 1]
        return result


def fit_forward(
    X: NDArray[Any],
    y: BoolArray,
    questions: IntArray,
    *,
    max_questions: int,
    max_points: int,
    seed: int,
) -> ForwardCard:
    """Choose questions one by one, with all of their columns.

    1. Add the question with which a logistic regression (with a weak ridge) on all columns of all
       chosen questions has the lowest log loss in five folds.
    2. Stop at ``max_questions``; of all steps, keep the one with the lowest log loss.
    3. Fit their columns to all rows; scale the coefficients so that the largest one becomes
       ``max_points``, and round them.
    4. Fit the risk to the score: a logistic curve.
    """
    merged, standardise = MergedRows.of(X, y), Standardiser.of(X)
    chosen = choose_questions(merged, standardise(merged.X), questions, max_questions, seed)
    points = np.zeros(questions.size, dtype=np.int64)
    if chosen:
        columns = np.isin(questions, chosen)
        coef = _fit(standardise(merged.X)[:, columns], merged.counts()).coef_[0]
        coef = coef / standardise.scale[columns]
        largest = np.abs(coef).max() or 1.0
        points[columns] = np.round(max_points * coef / largest).astype(np.int64)
    curve, of_score = fit_plain((np.asarray(X) @ points)[:, None], y)
    return ForwardCard(points, chosen, curve, of_score)


def choose_questions(
    merged: MergedRows, rows: FloatArray, questions: IntArray, most: int, seed: int
) -> tuple[int, ...]:
    """Questions in the order in which forward selection adds them, as many as serve best."""
    folds = list(merged.folds(seed))
    none = np.zeros((len(rows), 1))

    def loss(asked: tuple[int, ...]) -> float:
        own = rows[:, np.isin(questions, asked)] if asked else none
        return sum(log_loss(_fit(own, fold.train), own, fold.validation) for fold in folds)

    chosen: tuple[int, ...] = ()
    steps = [(loss(chosen), chosen)]
    left = set(np.unique(questions).tolist())
    while left and len(chosen) < most:
        lowest, best = min((loss((*chosen, question)), question) for question in left)
        chosen = (*chosen, best)
        steps.append((lowest, chosen))
        left.remove(best)
    return min(steps, key=lambda step: step[0])[1]  # of equal ones the shortest


def _fit(rows: FloatArray, counts: Counts) -> LogisticRegression:
    X, y, weight = stack(rows, counts)
    model = LogisticRegression(C=RIDGE_C, solver="newton-cholesky", max_iter=1000)
    return model.fit(X, y, weight)
