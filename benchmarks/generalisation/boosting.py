"""Boosted trees that offer their log-odds; importing this module needs xgboost."""

from __future__ import annotations

from typing import Any

from xgboost import XGBClassifier

from benchmarks.generalisation.rows import FloatArray


class MarginBooster(XGBClassifier):
    """XGBoost with a decision function.

    Platt scaling is a logistic curve through log-odds.  Without a decision function scikit-learn
    would fit it through probabilities, which distorts risks near 0 and 1.
    """

    def decision_function(self, X: Any) -> FloatArray:
        """Log-odds before scaling."""
        margin: FloatArray = self.predict(X, output_margin=True).astype(float)
        return margin
