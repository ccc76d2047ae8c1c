"""FasterRisk with a limit on questions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.generalisation.rows import BoolArray, IntArray
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
    rules: int,
) -> FasterRiskClassifier:
    """Fit so many rules; fewer where the beam search fails with them.

    It does where all columns of the questions chosen so far are used up, which cannot happen with
    one rule per question.
    """
    options = {
        "group_sparsity": max_questions,
        "featureIndex_to_groupIndex": questions.tolist(),
    }
    most = min(rules, X.shape[1])
    for size in range(most, min(most, max_questions) - 1, -1):
        try:
            model = FasterRiskClassifier(
                max_features=size, max_points=max_points, options=options
            ).fit(X, y)
        except FasterRiskError as error:
            if _USED_UP not in str(error):
                raise
            continue
        asked = np.unique(questions[model.coef_ != 0]).size
        if asked > max_questions:
            raise RuntimeError(f"FasterRisk asks {asked} questions, not at most {max_questions}")
        return model
    raise RuntimeError(f"FasterRisk fails with {rules} rules and with fewer")
