"""Classifiers that detect leaks, take time, warn, or kill their worker."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from tests.helpers.deaths import die_once

__all__ = [
    "DeadlyLogistic",
    "DeadlySearch",
    "LeakDetector",
    "SlowLogistic",
    "WarningLogistic",
]


class LeakDetector(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Risk 1 for its training rows (by their number in the first column), 0 for all others."""

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
    """Takes a moment to fit, and writes a line to the file that FIT_LOG names."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        time.sleep(float(os.environ.get("FIT_SECONDS", "0")))
        log = os.environ.get("FIT_LOG")
        if log:
            with Path(log).open("a") as file:
                file.write("fit\n")
        super().fit(X, y, sample_weight)
        return self


class DeadlyLogistic(LogisticRegression):  # type: ignore[misc]
    """Its first fit kills the worker."""

    def __init__(self, marker: str = "", C: float = 1.0) -> None:
        super().__init__(C=C)
        self.marker = marker

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        if self.marker:
            die_once(Path(self.marker))
        super().fit(X, y, sample_weight)
        return self


class WarningLogistic(LogisticRegression):  # type: ignore[misc]
    """Warns when it is fitted."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        warnings.warn("raised by a worker", RuntimeWarning, stacklevel=2)
        super().fit(X, y, sample_weight)
        return self


@dataclass(frozen=True)
class DeadlySearch:
    """A short search, the first of which kills the worker."""

    marker: str = ""
    seed: int = 0
    time_limit: float | None = None

    def solve(self, problem: Any, *, start: Any = None, callback: Any = None) -> Any:
        from netbenefit.solvers.local_search import LocalSearch

        die_once(Path(self.marker))
        search = LocalSearch(time_limit=self.time_limit, max_rounds=1, seed=self.seed)
        return search.solve(problem, start=start)
