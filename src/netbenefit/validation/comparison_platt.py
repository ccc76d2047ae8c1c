"""Platt scaling that never turns a model round."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import logit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.validation import _check_sample_weight

__all__ = ["PlattScaled"]


class PlattScaled(CalibratedClassifierCV):  # type: ignore[misc]
    """A classifier whose scores become risks by a sigmoid that rises (Platt 1999).

    The sigmoid is fitted to scores of rows that were held out in inner folds; the classifier then
    learns from all rows.  Where held-out scores rank worse than chance, a falling sigmoid would fit
    best, and turn a model round that may be right: all risks then are the share of events.

    Parameters
    ----------
    estimator : classifier
    cv : int or splitter, default=5

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.arange(40)[:, None], np.arange(40) >= 20
    >>> model = PlattScaled(DecisionTreeClassifier(max_depth=1), cv=4).fit(X, y)
    >>> risk = model.predict_proba([[0], [39]])[:, 1]
    >>> bool(risk[0] < 0.5 < risk[1])
    True
    """

    def __init__(self, estimator: Any = None, *, cv: Any = 5) -> None:
        super().__init__(estimator, method="sigmoid", cv=cv, ensemble=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit classifier and sigmoid."""
        super().fit(X, y, sample_weight)
        weight = _check_sample_weight(sample_weight, X)
        event = np.asarray(y) == self.classes_[1]
        share = float(weight[event].sum() / weight.sum())
        for part in self.calibrated_classifiers_:
            for sigmoid in part.calibrators:
                if sigmoid.a_ > 0:  # the risk is expit(−(a · score + b))
                    sigmoid.a_, sigmoid.b_ = 0.0, -float(logit(share))
        return self
