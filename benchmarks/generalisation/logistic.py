"""Logistic regression, plain and with the LASSO's penalty chosen by cross-validation."""

from __future__ import annotations

import hashlib
import time
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.generalisation.rows import (
    BoolArray,
    Counts,
    FloatArray,
    MergedRows,
    Standardiser,
    stack,
)

#: Penalties tried, from the one that leaves no column down to a thousandth of it.
STEPS = 15
SMALLEST = 1e-3
#: Inverse ridge of "plain" regression: too weak to matter, enough for data that are separable.
PLAIN_C = 1e4
#: liblinear penalises the intercept, too; this factor makes that penalty negligible.
INTERCEPT_SCALING = 100.0
#: Risks are kept this far from 0 and 1 when their logarithm is taken.
CLIP = 1e-12


class CrossValidation(NamedTuple):
    """Mean log loss of each penalty on held-out folds."""

    penalties: FloatArray  # decreasing, for the mean loss
    loss: FloatArray  # (folds, penalties)
    seconds: float

    def best(self) -> float:
        """The penalty with the lowest loss."""
        return float(self.penalties[np.argmin(self.loss.mean(axis=0))])

    def one_standard_error(self) -> float:
        """The largest penalty whose loss is within one standard error of the lowest."""
        mean = self.loss.mean(axis=0)
        low = int(np.argmin(mean))
        error = self.loss[:, low].std(ddof=1) / np.sqrt(len(self.loss))
        return float(self.penalties[np.argmax(mean <= mean[low] + error)])


def fit_plain(X: NDArray[Any], y: BoolArray) -> tuple[LogisticRegression, Standardiser]:
    """Regression with a negligible penalty, on standardised columns."""
    merged, standardise = MergedRows.of(X, y), Standardiser.of(X)
    rows, outcome, weight = stack(standardise(merged.X), merged.counts())
    model = LogisticRegression(C=PLAIN_C, solver="newton-cholesky", max_iter=1000)
    return model.fit(rows, outcome, weight), standardise


def fit_lasso(rows: FloatArray, counts: Counts, penalty: float) -> LogisticRegression:
    """Minimise mean log loss + penalty · ‖coefficients‖₁."""
    X, y, weight = stack(rows, counts)
    model = LogisticRegression(
        C=1.0 / (penalty * counts.total),
        solver="liblinear",
        intercept_scaling=INTERCEPT_SCALING,
        max_iter=2000,
        random_state=0,
        **_l1(),
    )
    return model.fit(X, y, weight)


_last: dict[str, CrossValidation] = {}


def cross_validate(X: NDArray[Any], y: BoolArray, seed: int) -> CrossValidation:
    """Log loss of all penalties; the last result is cached, as two rules need the same one."""
    digest = hashlib.sha256(repr((X.shape, seed)).encode())
    for array in (X, y):
        digest.update(np.ascontiguousarray(array).tobytes())
    key = digest.hexdigest()
    if key not in _last:
        _last.clear()
        _last[key] = _cross_validate(X, y, seed)
    return _last[key]


def _cross_validate(X: NDArray[Any], y: BoolArray, seed: int) -> CrossValidation:
    begin = time.perf_counter()
    merged = MergedRows.of(X, y)
    rows = Standardiser.of(X)(merged.X)
    penalties = penalty_path(rows, merged.counts())
    loss = [
        [log_loss(fit_lasso(rows, fold.train, p), rows, fold.validation) for p in penalties]
        for fold in merged.folds(seed)
    ]
    return CrossValidation(penalties, np.array(loss), time.perf_counter() - begin)


def penalty_path(rows: FloatArray, counts: Counts) -> FloatArray:
    """Penalties on a logarithmic scale, from the smallest that leaves no column."""
    share = counts.events.sum() / counts.total
    residual = counts.events - share * (counts.events + counts.nonevents)
    largest = float(np.abs(rows.T @ residual).max()) / counts.total
    # (if no column is informative, any penalty will do)
    return (largest or 1.0) * np.geomspace(1.0, SMALLEST, STEPS)


def log_loss(model: LogisticRegression, rows: FloatArray, counts: Counts) -> float:
    """Mean log loss on counted rows."""
    used = counts.events + counts.nonevents > 0
    risk = np.clip(model.predict_proba(rows[used])[:, 1], CLIP, 1.0 - CLIP)
    total = counts.events[used] @ np.log(risk) + counts.nonevents[used] @ np.log1p(-risk)
    return -float(total) / counts.total


def _l1() -> dict[str, object]:
    """The arguments for an L1 penalty in this version of scikit-learn."""
    major, minor = (int(part) for part in sklearn.__version__.split(".")[:2])
    return {"l1_ratio": 1.0} if (major, minor) >= (1, 8) else {"penalty": "l1"}
