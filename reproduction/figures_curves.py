"""The numbers behind ROC, calibration and decision curves of pooled predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from netbenefit.common.checks import FloatArray
from netbenefit.common.table import Table
from netbenefit.metrics.decision_curve import TREAT_ALL, TREAT_NONE, decision_curve
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.plots.roc import RocCurve
from reproduction.figures_pool import Pooled

__all__ = ["calibration_table", "decision_table", "roc_of", "stack_tables", "thin"]

#: Whole percents: fine enough to see every jump that matters, few enough for a small file.
PERCENTS = Thresholds.of([i / 100 for i in range(100)])
#: Thinner than a line: how far a thinned curve may be from the whole one, in units of the axes.
HAIR = 0.002


def roc_of(pooled: Pooled) -> RocCurve:
    """Return the ROC curve with all its corners."""
    from sklearn.metrics import auc, roc_curve  # late: slow to import

    fpr, tpr, _ = roc_curve(pooled.outcome, pooled.risks)
    return RocCurve(fpr, tpr, float(auc(fpr, tpr)))


def thin(curve: RocCurve, tolerance: float = HAIR) -> RocCurve:
    """Leave out corners of a ROC curve that nobody could see; the AUROC stays that of all.

    1. Keep both ends.
    2. Between two kept corners, keep the one farthest from the straight line that joins them,
       unless all are nearer than the tolerance.
    3. Repeat for the two parts.

    Parameters
    ----------
    curve : RocCurve
    tolerance : float, default=0.002
        In units of the axes.

    Returns
    -------
    RocCurve
        Its corners are corners of the curve given.
    """
    points = np.column_stack([curve.fpr, curve.tpr])
    kept = {0, len(points) - 1}
    parts = [(0, len(points) - 1)]
    while parts:
        first, last = parts.pop()
        if last - first < 2:
            continue
        away = _distances(points[first : last + 1])
        farthest = first + int(np.argmax(away))
        if away[farthest - first] > tolerance:
            kept.add(farthest)
            parts += [(first, farthest), (farthest, last)]
    places = sorted(kept)
    return RocCurve(curve.fpr[places], curve.tpr[places], curve.auroc)


def _distances(points: FloatArray) -> FloatArray:
    """Distances of points from the line between the first and the last."""
    along = points[-1] - points[0]
    length = float(np.hypot(*along))
    off = points - points[0]
    if length == 0:
        return np.asarray(np.hypot(off[:, 0], off[:, 1]))
    return np.asarray(np.abs(along[0] * off[:, 1] - along[1] * off[:, 0]) / length)


def calibration_table(pooled: Pooled, thresholds: Thresholds | None = None) -> Table:
    """Mean risk and observed share of events in each risk interval that holds rows.

    Parameters
    ----------
    pooled : Pooled
    thresholds : Thresholds, optional
        Where the intervals begin; by default 0, 0.1, …, 0.9.

    Returns
    -------
    Table
        ``low``, ``high`` (ends of the interval), ``n``, ``events``, ``risk``, ``observed``.
    """
    grid = Thresholds.tenths() if thresholds is None else thresholds
    level = grid.level_of(pooled.risks)
    n = np.bincount(level, minlength=len(grid)).astype(np.float64)
    filled = n > 0
    events = np.bincount(level, weights=pooled.outcome, minlength=len(grid))[filled]
    total = np.bincount(level, weights=pooled.risks, minlength=len(grid))[filled]
    ends = np.append(grid.array[1:], 1.0)
    n, low, high = n[filled], grid.array[filled], ends[filled]
    return Table(
        {
            "low": low,
            "high": high,
            "n": n,
            "events": events,
            "risk": np.clip(total / n, low, high),  # a sum of equal risks may be a hair off
            "observed": events / n,
        }
    )


def decision_table(methods: Mapping[str, Pooled], thresholds: Thresholds = PERCENTS) -> Table:
    """Decision curves of methods on a data set, each on the rows that it predicted.

    Treating all and treating none are of all rows that any method predicted.

    Parameters
    ----------
    methods : mapping of str to Pooled
        Of one data set.
    thresholds : Thresholds, optional
        By default 0%, 1%, …, 99%.

    Returns
    -------
    Table
        ``model``, ``threshold``, ``n``, ``prevalence``, ``net_benefit``, and all that
        :func:`netbenefit.decision_curve` tells beside.
    """
    tables = []
    for method, pooled in methods.items():
        curve = decision_curve(pooled.outcome, {method: pooled.risks}, thresholds)
        tables.append(Table({k: v[curve["model"] == method] for k, v in curve.items()}))
    outcome: dict[int, bool] = {}
    for pooled in methods.values():
        outcome.update(zip(pooled.rows.tolist(), pooled.outcome.tolist(), strict=True))
    all_rows = np.array(list(outcome.values()))
    curve = decision_curve(all_rows, np.zeros(all_rows.size), thresholds)
    shown = np.isin(curve["model"], (TREAT_ALL, TREAT_NONE))
    return stack_tables([*tables, Table({k: v[shown] for k, v in curve.items()})])


def stack_tables(tables: Sequence[Table]) -> Table:
    """Put tables of the same columns one below the other.

    Examples
    --------
    >>> stack_tables([Table({"x": [1]}), Table({"x": [2]})])["x"]
    array([1, 2])
    """
    return Table({name: np.concatenate([t[name] for t in tables]) for name in tables[0]})
