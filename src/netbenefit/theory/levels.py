"""Calibration and utility: the two improvement rules, and what calibrated levels must satisfy.

The rules themselves are those of :func:`netbenefit.improve_levels`, which applies them until no
level is left that they would move; here each is shown, with what it is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.common import InputError, check_risks
from netbenefit.metrics import ThresholdsLike, as_thresholds, check_and_count, net_benefit
from netbenefit.theory.calibration import LevelMap, Levels


class Improvement(NamedTuple):
    """One level that should move, and what the move is worth."""

    level_map: LevelMap  #: makes the move: ``level_map.apply(risk)`` are the better risks
    source: int  #: the level that moves
    target: int  #: the level next to it, which it joins
    threshold: float  #: the only threshold at which a decision changes
    net_benefit: float  #: rise of the net benefit at that threshold, above 0
    aunbc: float  #: rise of the area: the same, times the threshold's weight in the area


def improvements(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> tuple[Improvement, ...]:
    """Return each single move of a level that raises net benefit.

    1. Where O_i > p_{i+1} N_i, level i belongs one higher: NB_{i+1} rises by
       (O_i − p_{i+1} N_i) / ((1 − p_{i+1}) N).
    2. Where O_i < p_i N_i, level i belongs one lower: NB_i rises by
       (p_i N_i − O_i) / ((1 − p_i) N).

    Net benefit at the other thresholds stays as it is.  Each move is taken on its own, from the
    risks as they are; :func:`netbenefit.improve_levels` takes them one after the other.  Upward
    moves come first, then downward ones, each from the lowest level to the highest.

    Theorem thm:improve_aunbc of the paper.

    Parameters
    ----------
    y_true, risk, thresholds, sample_weight
        As in :func:`netbenefit.improve_levels`.

    Examples
    --------
    >>> y_true = [0, 0, 0, 0, 1, 0, 1, 1]
    >>> risk = [0.05, 0.05, 0.05, 0.05, 0.15, 0.15, 0.6, 0.7]
    >>> (move,) = improvements(y_true, risk, [0.1, 0.2, 0.6])
    >>> move.source, move.target, move.threshold, round(move.net_benefit, 5)
    (1, 2, 0.2, 0.09375)
    """
    grid = as_thresholds(thresholds)
    levels = Levels.count(y_true, risk, grid, sample_weight)
    last = len(grid) - 1
    up = [_improvement(levels, i, i + 1, levels.excess(i)) for i in range(last)]
    down = [_improvement(levels, i, i - 1, levels.shortfall(i)) for i in range(1, last + 1)]
    return tuple(move for move in (*up, *down) if move is not None)


def _improvement(levels: Levels, source: int, target: int, gain: Fraction) -> Improvement | None:
    if gain <= 0:
        return None
    grid, changed = levels.thresholds, max(source, target)
    rise = float(gain / (1 - grid.fractions[changed]) / sum(levels.totals))
    values = tuple(grid.values[target] if i == source else None for i in range(len(grid)))
    area = rise * float(grid.length_weights[changed])
    return Improvement(LevelMap(grid, values), source, target, grid.values[changed], rise, area)


# -- what calibrated levels satisfy ----------------------------------------------------------------


class LevelFailure(NamedTuple):
    """A level or threshold at which a property fails."""

    level: int
    low: float  #: low end of the range in which the value should lie
    high: float
    value: float  #: what was found
    #: how far outside: above 0 if too high, below 0 if too low; 0 on an open upper end
    amount: float


@dataclass(frozen=True)
class LevelCheck:
    """Whether a property holds at all levels (or thresholds), and where it does not."""

    claim: str  #: the property
    failures: tuple[LevelFailure, ...]  #: in the order of the levels

    @property
    def holds(self) -> bool:
        """Whether there are no failures."""
        return not self.failures


def rates_inside(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
    half_open: bool = False,
) -> LevelCheck:
    """Check p_i N_i ≤ O_i ≤ p_{i+1} N_i for every level; weights are summed without rounding.

    After :func:`netbenefit.improve_levels` it holds, and so it does for every model with the
    highest possible AUNBC: the observed event rate of a level lies in the level's own interval.
    A failure's ``value`` is the event rate O_i / N_i.

    Proposition prop:property of the inproved model of the paper (its spelling).

    Parameters
    ----------
    y_true, risk, thresholds, sample_weight
        As in :func:`netbenefit.improve_levels`.
    half_open : bool, default=False
        Whether the rate must lie in S_i = [p_i, p_{i+1}) itself, so that it can serve as the risk
        of the level.  This holds after :func:`netbenefit.calibrate_levels`.

    Examples
    --------
    >>> check = rates_inside([0, 1, 1, 1], [0.15, 0.15, 0.6, 0.7], [0.1, 0.2, 0.6])
    >>> check.failures
    (LevelFailure(level=1, low=0.1, high=0.2, value=0.5, amount=0.3),)
    """
    grid = as_thresholds(thresholds)
    levels = Levels.count(y_true, risk, grid, sample_weight)
    last, upper = len(grid) - 1, (*grid.fractions[1:], Fraction(1))
    failures = []
    for i, total in enumerate(levels.totals):
        excess, shortfall = levels.excess(i), levels.shortfall(i)
        outside = excess > 0 or shortfall > 0 or (half_open and excess == 0 and i < last)
        if total > 0 and outside:
            amount = float((excess if excess >= 0 else -shortfall) / total)
            ends = float(grid.fractions[i]), float(upper[i])
            failures.append(LevelFailure(i, *ends, levels.rate(i), amount))
    sign = "<" if half_open else "≤"
    return LevelCheck(f"p_i ≤ O_i / N_i {sign} p_(i+1)", tuple(failures))


def rates_predicted(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
    tolerance: float = 1e-9,
) -> LevelCheck:
    """Check that in every level the mean risk is the observed event rate (moderate calibration).

    After :func:`netbenefit.calibrate_levels` it holds, so that the expected calibration error is 0;
    after :func:`netbenefit.keep_order` it holds with ``tolerance=delta``.

    Corollary cor:calibration of the paper, its conclusion.

    Parameters
    ----------
    y_true, risk, thresholds, sample_weight
        As in :func:`netbenefit.expected_calibration_error`.
    tolerance : float, default=1e-9
        How far the mean risk may be from the event rate.

    Returns
    -------
    LevelCheck
        A failure's ``value`` is the mean risk, its range the event rate ± tolerance, and its
        ``amount`` the mean risk less the event rate.

    Examples
    --------
    >>> check = rates_predicted([0, 1, 1, 1], [0.25, 0.25, 1.0, 1.0], [0.5])
    >>> [(f.level, f.value, f.amount) for f in check.failures]
    [(0, 0.25, -0.25)]
    """
    allowed = _check_tolerance(tolerance)
    counts = check_and_count(y_true, risk, thresholds, sample_weight)
    failures = []
    for i, (events, others) in enumerate(zip(counts.events, counts.nonevents, strict=True)):
        if (total := events + others) <= 0:
            continue
        rate, mean = float(events / total), float(counts.expected[i] / total)
        if abs(mean - rate) > allowed:
            failures.append(LevelFailure(i, rate - allowed, rate + allowed, mean, mean - rate))
    return LevelCheck("mean risk = O_i / N_i", tuple(failures))


def net_benefit_kept(
    y_true: ArrayLike,
    before: ArrayLike,
    after: ArrayLike,
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
    tolerance: float = 1e-12,
) -> LevelCheck:
    """Check that new risks have no lower net benefit than old ones, at any given threshold.

    Parameters
    ----------
    y_true, thresholds, sample_weight
        As in :func:`netbenefit.net_benefit`.
    before, after : array-like of shape (n_rows,)
        Old and new risks.
    tolerance : float, default=1e-12
        A loss up to this does not count.

    Returns
    -------
    LevelCheck
        A failure's ``level`` is the place of the threshold among those given, its ``value`` the
        new net benefit, ``low`` the old one, ``amount`` the (negative) difference.

    Examples
    --------
    >>> net_benefit_kept([0, 0, 1], [0.1, 0.3, 0.6], [0.1, 0.2, 0.6], [0.3, 0.5]).holds
    True
    """
    allowed, grid = _check_tolerance(tolerance), as_thresholds(thresholds)
    old, new = (net_benefit(y_true, r, grid, sample_weight=sample_weight) for r in (before, after))
    failures = tuple(
        LevelFailure(i, a, np.inf, b, b - a)
        for i, (a, b) in enumerate(zip(old.tolist(), new.tolist(), strict=True))
        if b < a - allowed
    )
    return LevelCheck("net benefit does not fall", failures)


class OrderCheck(NamedTuple):
    """Whether risks kept their order."""

    holds: bool
    pair: tuple[int, int] | None  #: two reversed rows, the one with the lower risk before first
    amount: float  #: by how much they are reversed, the most of all pairs


def order_kept(before: ArrayLike, after: ArrayLike, *, strict: bool = False) -> OrderCheck:
    """Check that a row with a lower risk than another has no higher one; find the worst pair.

    Proposition prop:calibration of the paper, its last claim.

    Parameters
    ----------
    before, after : array-like of shape (n_rows,)
        Old and new risks.
    strict : bool, default=False
        Whether a lower risk must stay lower, unless both have become 1.

    Examples
    --------
    >>> order_kept([0.1, 0.2, 0.3], [0.1, 0.5, 0.25])
    OrderCheck(holds=False, pair=(1, 2), amount=0.25)
    """
    old = check_risks(before, np.size(before), name="before")
    if old.size == 0:
        raise InputError("before is empty: there are no rows. Pass at least one row.")
    new = check_risks(after, old.size, name="after")
    rows = np.argsort(old, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(old[rows]) > 0))  # of rows with equal old risks
    lowest = np.minimum.reduceat(new[rows], starts)[1:]
    highest = np.maximum.accumulate(np.maximum.reduceat(new[rows], starts))[:-1]
    amount = highest - lowest
    reversed_ = (amount > 0) | (strict & (amount == 0) & (lowest < 1.0))
    if not reversed_.any():
        return OrderCheck(True, None, 0.0)
    worst = int(np.argmax(np.where(reversed_, amount, -1.0)))
    below, above = rows[: starts[worst + 1]], rows[starts[worst + 1] :]
    pair = int(below[np.argmax(new[below])]), int(above[np.argmax(new[above] == lowest[worst])])
    return OrderCheck(False, pair, float(amount[worst]))


def _check_tolerance(tolerance: float) -> float:
    if not 0.0 <= tolerance < np.inf:
        raise InputError(f"tolerance={tolerance!r} must be a finite number, not negative.")
    return float(tolerance)
