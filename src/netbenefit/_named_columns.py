"""The estimator for numbers that come as columns by name, without a data-frame library."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit._columns import numeric_column
from netbenefit._estimator_input import Rows, Training
from netbenefit._labels import warn_of_constants
from netbenefit.estimator import RiskScoreClassifier
from netbenefit.patterns import PatternTable

__all__ = ["NamedColumns"]


class NamedColumns(RiskScoreClassifier):
    """A :class:`RiskScoreClassifier` without a binner whose X is a dict of columns.

    Examples
    --------
    >>> model = NamedColumns(teacher=None, max_points=1, solver="local", time_limit=1.0)
    >>> model.fit({"fever": [0, 1, 1, 0]}, [0, 1, 1, 0]).scorecard_.features
    ('fever',)
    """

    def _training(
        self,
        X: Any,
        event: NDArray[np.bool_],
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None,
    ) -> Training:
        risks, X = self._given_risks(X)
        columns = {name: numeric_column(name, column) for name, column in X.items()}
        table = PatternTable.from_columns(
            columns, event, sample_weight=sample_weight, decimals=self.decimals
        )
        warn_of_constants(table)
        self.n_features_in_ = len(columns)
        rows = Rows(X, columns, event, sample_weight, groups, risks=risks)
        return Training(table, self._settings(), rows)

    def _rows(self, X: Any) -> Any:
        return X
