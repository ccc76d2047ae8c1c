"""Rows that stand for others: weights for case-control samples and for censored outcomes.

Both turn data that are not representative into 0/1 outcomes with a ``sample_weight``, which every
classifier, metric and decision curve here takes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common import FloatArray, InputError, check_binary, check_weights
from netbenefit.metrics.benefit import check_prevalence, require_both
from netbenefit.metrics.survival import TimeToEvent, censoring_survival, check_groups, undetermined


class HorizonOutcome(NamedTuple):
    """Outcomes at a horizon, and the weights that make up for unknown ones."""

    y: NDArray[np.bool_]
    sample_weight: FloatArray


def case_control_weights(
    y: ArrayLike, prevalence: float, *, sample_weight: ArrayLike | None = None
) -> FloatArray:
    """Weights with which a case-control sample has the population's share of events.

    Cases count for ``prevalence`` of the total, controls for the rest; the total stays the number
    of rows (or of their weights).  This is right where cases were sampled from all cases, and
    controls from all controls, whatever their risks.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        1 or True for a case.
    prevalence : float
        Share of events in the population, strictly between 0 and 1.
    sample_weight : array-like of shape (n_rows,), optional
        Weights within cases and within controls, where these are not alike already.

    Examples
    --------
    >>> case_control_weights([1, 1, 0, 0], 0.1)
    array([0.2, 0.2, 1.8, 1.8])
    """
    outcome = check_binary(y, name="y")
    share = check_prevalence(prevalence)
    weight = check_weights(sample_weight, outcome.size)
    cases, controls = float(weight[outcome].sum()), float(weight[~outcome].sum())
    require_both(cases, controls, "weights for a prevalence are", name="y")
    total = cases + controls
    factor = np.where(outcome, share * total / cases, (1.0 - share) * total / controls)
    return np.asarray(weight * factor)


def censoring_weights(
    time: ArrayLike | TimeToEvent,
    event: ArrayLike | None = None,
    horizon: float | None = None,
    *,
    cause: int = 1,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> HorizonOutcome:
    """Outcomes at a horizon, with inverse-probability-of-censoring weights (IPCW).

    Rows censored before the horizon get weight 0: their outcome is unknown.  Rows with an event
    by the horizon get 1 / G(t−), with t the time of the event, and rows free of events at the
    horizon h get 1 / G(h−); G is Kaplan–Meier's estimate for the time to *censoring*, so that a row
    stands for those like it that were censored before.  A competing event by the horizon makes the
    row a non-event: the event of interest will not happen any more.  Within groups, censoring must
    be independent of the event.

    Parameters
    ----------
    time, event, horizon, cause
        As in :class:`TimeToEvent`; or one such object in place of all four.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows to begin with; they count in G, too.
    groups : array-like of shape (n_rows,), optional
        Estimate G within each group, where censoring differs between them (centres, arms, risk
        groups).  Groups should be large.

    Returns
    -------
    HorizonOutcome
        ``y`` and ``sample_weight``.  The weights add up to the number of rows (of their own
        weights), and the weighted share of events is the Kaplan–Meier or Aalen–Johansen risk.

    Examples
    --------
    The third of five people is lost at time 3; the two that stay longer stand for it.

    >>> y, weight = censoring_weights([1, 2, 3, 6, 7], [1, 2, 0, 0, 1], horizon=5)
    >>> y
    array([ True, False, False, False, False])
    >>> weight
    array([1. , 1. , 0. , 1.5, 1.5])
    """
    outcome = _as_outcome(time, event, horizon, cause)
    weight = check_weights(sample_weight, len(outcome))
    n_rows = len(outcome)
    group = np.zeros(n_rows, np.int64) if groups is None else check_groups(groups, n_rows, "groups")
    factor = np.zeros(len(outcome))
    for i in range(int(group.max()) + 1):
        rows = (group == i) & (weight > 0)
        if undetermined(outcome, rows):
            which = "" if groups is None else f" in the group {np.asarray(groups)[rows][0]!r}"
            raise InputError(
                f"no row{which} is followed to the horizon {outcome.horizon:g}, so no row can "
                "stand for the censored ones. Pass an earlier horizon, or fewer groups."
            )
        factor[rows] = _factors(outcome.time[rows], outcome.event[rows], weight[rows], outcome)
    return HorizonOutcome(outcome.kind == 1, weight * factor)


def _factors(
    time: FloatArray, event: NDArray[np.int64], weight: FloatArray, outcome: TimeToEvent
) -> FloatArray:
    """1 / G(t−) at the event or at the horizon; 0 for rows that were censored before."""
    # What happens after the horizon is of no interest, and cutting there leaves G(h−) as it is:
    # rows that go on have left by the horizon, censored there.
    over = time > outcome.horizon
    staying = censoring_survival(
        np.minimum(time, outcome.horizon), np.where(over, 0, event), weight
    )
    unknown = (event == 0) & (time < outcome.horizon)
    return np.where(unknown, 0.0, 1.0 / staying)


def _as_outcome(
    time: ArrayLike | TimeToEvent, event: ArrayLike | None, horizon: float | None, cause: int
) -> TimeToEvent:
    if isinstance(time, TimeToEvent):
        if event is not None or horizon is not None:
            raise InputError("a TimeToEvent holds event and horizon already. Leave them out.")
        return time
    if event is None or horizon is None:
        raise InputError(
            "censoring weights need time, event and horizon. Pass all three, or a TimeToEvent."
        )
    return TimeToEvent(time, event, horizon, cause)
