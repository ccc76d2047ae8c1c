"""Outcomes that take time: censoring, competing events, and risk by a horizon.

Rows carry a time and a code: 0 where follow-up ended without any event (censored), 1 for the event
of interest, 2, 3, … for events that prevent it (competing).  At equal times events come before
censoring, so that a row censored at t is known to be free of events at t.
"""

from __future__ import annotations

import math
from collections.abc import Sized
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common import FloatArray, InputError, IntArray, Table, check_count, check_weights
from netbenefit.metrics.benefit import as_float, sums_by

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TimeToEvent(Sized):
    """Right-censored outcomes of rows, and the horizon by which the event counts.

    It stands in for ``y_true`` wherever decision curves are computed.

    Parameters
    ----------
    time : array-like of shape (n_rows,)
        When follow-up ended, by an event or by censoring; not negative.
    event : array-like of shape (n_rows,)
        0 (or False) for censored rows, otherwise the kind of the event that ended follow-up.
    horizon : float
        Predicted risks are those of the event happening at or before this time.
    cause : int, default=1
        The code of the event of interest.  All other codes except 0 are competing events: after
        one of them the event cannot happen any more, which is not the same as censoring.

    Examples
    --------
    >>> outcome = TimeToEvent([2, 3, 4, 6], [1, 0, 2, 0], horizon=5)
    >>> len(outcome), outcome.competing, round(outcome.risk(), 4)
    (4, True, 0.25)
    """

    time: FloatArray
    event: IntArray
    horizon: float
    cause: int = 1

    def __init__(self, time: ArrayLike, event: ArrayLike, horizon: float, cause: int = 1) -> None:
        times = _check_times(time)
        events = _check_events(event, times.size)
        times.setflags(write=False)
        events.setflags(write=False)
        put = object.__setattr__
        put(self, "time", times)
        put(self, "event", events)
        put(self, "horizon", _check_horizon(horizon))
        put(self, "cause", _check_cause(cause))

    def __len__(self) -> int:
        return int(self.time.size)

    @property
    def competing(self) -> bool:
        """Whether any row has a competing event by the horizon."""
        return bool((self.kind == 2).any())

    @property
    def kind(self) -> IntArray:
        """By the horizon: 1 for the event, 2 for a competing one, 0 for none seen."""
        by_then = (self.event != 0) & (self.time <= self.horizon)
        return np.where(by_then, np.where(self.event == self.cause, 1, 2), 0)

    @property
    def censored_early(self) -> BoolArray:
        """Rows whose outcome at the horizon is unknown."""
        return np.asarray((self.event == 0) & (self.time < self.horizon))

    def risk(self, sample_weight: ArrayLike | None = None) -> float:
        """Estimate the risk of the event by the horizon (Kaplan–Meier or Aalen–Johansen).

        It is NaN where no row is followed long enough to tell.
        """
        weight = check_weights(sample_weight, len(self))
        if undetermined(self, weight > 0):
            return math.nan
        curve = aalen_johansen(self.time, self.event, cause=self.cause, sample_weight=weight)
        reached = int(np.searchsorted(curve["time"], self.horizon, side="right"))
        return float(curve["risk"][reached - 1]) if reached else 0.0


def kaplan_meier(
    time: ArrayLike, event: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> Table:
    """Kaplan–Meier's estimate of being free of any event, at each time of an event.

    Parameters
    ----------
    time, event
        As in :class:`TimeToEvent`; every code except 0 is an event.
    sample_weight : array-like of shape (n_rows,), optional
        A weight of 2 counts the row twice.

    Returns
    -------
    Table
        ``time``, ``at_risk`` (weight of the rows followed to that time or longer), ``events``,
        ``survival`` (just after that time).

    Examples
    --------
    >>> kaplan_meier([1, 2, 3, 4], [1, 0, 1, 0])
    time  at_risk  events  survival
       1        4       1     0.750
       3        2       1     0.375
    """
    times = _check_times(time)
    any_event = _check_events(event, times.size) != 0
    table = aalen_johansen(times, any_event, sample_weight=sample_weight)
    return Table({name: table[name] for name in ("time", "at_risk", "events", "survival")})


def aalen_johansen(
    time: ArrayLike, event: ArrayLike, *, cause: int = 1, sample_weight: ArrayLike | None = None
) -> Table:
    """Aalen–Johansen's estimate of the risk of one kind of event where others compete with it.

    Without other kinds it is 1 − Kaplan–Meier.

    Parameters
    ----------
    time, event, cause
        As in :class:`TimeToEvent`.
    sample_weight
        As in :func:`kaplan_meier`.

    Returns
    -------
    Table
        ``time`` (of any event), ``at_risk``, ``events`` (of this cause), ``competing``,
        ``survival`` (free of any event) and ``risk`` of this cause, just after that time.

    Examples
    --------
    >>> aalen_johansen([1, 2, 3, 4], [1, 2, 1, 0])
    time  at_risk  events  competing  survival  risk
       1        4       1          0      0.75  0.25
       2        3       0          1      0.50  0.25
       3        2       1          0      0.25  0.50
    """
    times = _check_times(time)
    codes = _check_events(event, times.size)
    weight = check_weights(sample_weight, times.size)
    at, at_risk, lost = _counts(times, codes != 0, weight)
    place = np.searchsorted(at, times)
    mine = (codes == _check_cause(cause)) & (weight > 0)
    events = sums_by(place[mine], weight[mine], at.size)
    survival = np.cumprod(1.0 - _hazard(lost, at_risk))
    before = np.concatenate([[1.0], survival[:-1]])
    return Table(
        {
            "time": at,
            "at_risk": at_risk,
            "events": events,
            "competing": np.maximum(lost - events, 0.0),
            "survival": survival,
            "risk": np.cumsum(before * _hazard(events, at_risk)),
        }
    )


def censoring_survival(times: FloatArray, events: IntArray, weight: FloatArray) -> FloatArray:
    """Estimate the chance G(t−) of not being censored before each row's own time t.

    Rows with an event at a time are no longer at risk of being censored at it, which makes G(t−)
    S(t−) the share of rows followed to t.
    """
    at, place = np.unique(times, return_inverse=True)
    censored = sums_by(place, weight * (events == 0), at.size)
    lost = sums_by(place, weight * (events != 0), at.size)
    # Summed from the end, and without the events of the same time: nothing is subtracted.
    later = np.append(np.cumsum((censored + lost)[::-1])[::-1][1:], 0.0)
    survival = np.cumprod(1.0 - _hazard(censored, censored + later))
    before: FloatArray = np.concatenate([[1.0], survival[:-1]])[place]
    return before


def undetermined(outcome: TimeToEvent, rows: BoolArray) -> bool:
    """Whether none of these rows was followed long enough to tell the risk by the horizon.

    That is so where censored rows are among the last; after a last event no row is left at risk.
    """
    times, events = outcome.time[rows], outcome.event[rows]
    if not times.size or times.max() >= outcome.horizon:
        return False
    return bool((events[times == times.max()] == 0).any())


def _check_horizon(horizon: float) -> float:
    value = as_float(horizon)
    if not 0.0 < value < math.inf:
        raise InputError(
            f"horizon={horizon!r} must be a positive number, in the unit of time. Pass the time by "
            "which the event counts, such as 5."
        )
    return value


def check_groups(groups: ArrayLike, n_rows: int, name: str) -> IntArray:
    """Number the groups of rows from 0."""
    given = np.asarray(groups)
    if given.shape != (n_rows,):
        raise InputError(
            f"{name} has shape {given.shape}, but there are {n_rows} rows. Pass one group per row."
        )
    texts = given.astype(str) if given.dtype == np.object_ else given
    return np.unique(texts, return_inverse=True)[1].astype(np.int64)


def _counts(
    times: FloatArray, ended: BoolArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """At each time of an event: the time, the weight at risk, the weight of the events."""
    ended = ended & (weight > 0)
    at = np.unique(times[ended])
    slot = np.searchsorted(at, times, side="right")  # at risk at the first `slot` times
    leaving = sums_by(slot, weight, at.size + 1)
    at_risk = np.cumsum(leaving[::-1])[::-1][1:]
    lost = sums_by(slot[ended] - 1, weight[ended], at.size)
    return at, at_risk, lost


def _hazard(lost: FloatArray, at_risk: FloatArray) -> FloatArray:
    hazard = np.divide(lost, at_risk, out=np.zeros_like(at_risk), where=at_risk > 0)
    return np.minimum(hazard, 1.0)  # sums of weights may differ in the last digit


def _check_times(time: ArrayLike) -> FloatArray:
    try:
        if np.asarray(time).dtype.kind in "mM":
            raise TypeError  # numpy would count nanoseconds
        times = np.array(time, dtype=np.float64)  # a copy, so that later changes do no harm
    except (TypeError, ValueError):
        raise InputError(
            "time must hold one number per row, in the unit of the horizon. Convert dates and "
            "durations to numbers, as in days / 365.25."
        ) from None
    if times.ndim != 1 or not times.size:
        raise InputError(f"time has shape {times.shape}. Pass one column with at least one row.")
    bad = np.flatnonzero(~(np.isfinite(times) & (times >= 0)))
    if bad.size:
        row = int(bad[0])
        raise InputError(
            f"time must be finite and not negative, but row {row} has {times[row].item()!r} "
            f"({bad.size} such rows). Correct or drop those rows."
        )
    return times


def _check_events(event: ArrayLike, n_rows: int) -> IntArray:
    try:
        codes = np.asarray(event, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "event must hold whole numbers: 0 for censored, 1 for the event, 2, 3, … for competing "
            "events. Recode texts."
        ) from None
    if codes.shape != (n_rows,):
        raise InputError(
            f"event has shape {codes.shape}, but there are {n_rows} times. Pass one code per row."
        )
    bad = np.flatnonzero(~((codes >= 0) & (codes == np.floor(codes)) & (codes < 2**31)))
    if bad.size:
        row = int(bad[0])
        raise InputError(
            f"event must hold 0 (censored), 1, 2, …, but row {row} has {codes[row].item()!r} "
            f"({bad.size} such rows). Recode or drop those rows."
        )
    return codes.astype(np.int64)


def _check_cause(cause: int) -> int:
    return check_count(cause, "cause", hint=": the code of the event of interest (0 is censored).")
