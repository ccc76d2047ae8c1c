"""What each row adds to the area under the net benefit curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.generalisation.rows import FloatArray
from netbenefit.metrics.thresholds import Thresholds


def contributions(outcome: NDArray[Any], risk: FloatArray, thresholds: Thresholds) -> FloatArray:
    """Return c_j = Σ_i l_i · 1[risk_j ≥ p_i] · (y_j − (1 − y_j) · r_i), whose mean is the AUNBC.

    If the outcomes y_j are true risks, the mean is the expected AUNBC.  The l_i are the lengths of
    the intervals, normalised for a range.
    """
    y = np.asarray(outcome, dtype=np.float64)
    length, level = thresholds.length_weights, thresholds.level_of(risk)
    found, alarm = np.cumsum(length), np.cumsum(length * thresholds.odds)
    result: FloatArray = y * found[level] - (1.0 - y) * alarm[level]
    return result


def regret(truth: FloatArray, risk: FloatArray, thresholds: Thresholds) -> float:
    """Return how much expected AUNBC decisions by ``risk`` lose against those by the true risk."""
    best = contributions(truth, truth, thresholds)
    return float((best - contributions(truth, risk, thresholds)).mean())
