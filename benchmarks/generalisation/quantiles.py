"""The simplest binning that reads well: round numbers near quantiles, without a look at outcomes.

The recorded results were made with it; :class:`netbenefit.Binner` has taken its place since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards.terms import Condition
from netbenefit.common.checks import FloatArray

#: How far, as a share of the rows, a cut point may move to become a rounder number.
_SLACK = 0.02


def quantile_conditions(
    columns: Mapping[str, FloatArray], quantiles: Sequence[float] = (0.25, 0.5, 0.75)
) -> tuple[Condition, ...]:
    """Cut each column of the training rows near some of its quantiles, at round numbers.

    Among the numbers with the fewest digits, the nearest to the quantile is used, as long as at
    most 2% of the rows lie between the two.

    >>> [c.text() for c in quantile_conditions({"age": np.arange(18.0, 91.0)})]
    ['age ≥ 36', 'age ≥ 54', 'age ≥ 72']
    """
    conditions = []
    for name, values in columns.items():
        above = {values.size, 0}  # a condition that is the same for all rows is none
        for cut in (_round_cut(values, q) for q in quantiles):
            count = int(np.count_nonzero(values >= cut))
            if count not in above:
                above.add(count)
                conditions.append(Condition(name, ">=", cut))
    return tuple(conditions)


def apply_conditions(
    conditions: Sequence[Condition], columns: Mapping[str, Any]
) -> dict[str, NDArray[np.bool_]]:
    """Evaluate conditions on raw columns; the results are named by the text of the conditions.

    >>> apply_conditions([Condition("age", ">=", 52)], {"age": [51, 52]})
    {'age ≥ 52': array([False,  True])}
    """
    return {
        condition.text(): condition.holds(columns[condition.feature]) for condition in conditions
    }


def _round_cut(values: FloatArray, quantile: float) -> float:
    edges = [quantile - _SLACK, quantile, quantile + _SLACK]
    low, middle, high = (float(v) for v in np.quantile(values, np.clip(edges, 0.0, 1.0)))
    for digits in range(1, 17):
        cut = float(f"{middle:.{digits}g}")
        if low <= cut <= high:
            return cut
    return middle
