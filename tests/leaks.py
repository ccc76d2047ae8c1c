"""Classifiers that tell on whoever lets them see too much, or that take their time."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

__all__ = ["LeakDetector", "SlowLogistic"]


class LeakDetector(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Risk 1 for rows that it was fitted on, by their number in the first column; 0 for others."""

    def __init__(self, size: int = 1) -> None:
        self.size = size

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.classes_ = np.unique(y)
        self.seen_ = set(X[:, 0].tolist())
        return self

    def predict_proba(self, X: Any) -> Any:
        risk = np.array([row in self.seen_ for row in X[:, 0].tolist()], dtype=float)
        return np.column_stack([1 - risk, risk])


class SlowLogistic(LogisticRegression):  # type: ignore[misc]
    """Takes a moment to fit, and leaves a line in the file that FIT_LOG names."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        time.sleep(float(os.environ.get("FIT_SECONDS", "0")))
        log = os.environ.get("FIT_LOG")
        if log:
            with Path(log).open("a") as file:
                file.write("fit\n")
        super().fit(X, y, sample_weight)
        return self
