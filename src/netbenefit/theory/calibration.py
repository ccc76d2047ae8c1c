"""Calibration for net benefit: move whole risk levels to where their event rates belong.

The thresholds cut [0, 1] into levels S_i = [p_i, p_{i+1}), S_M = [p_M, 1].  A level whose observed
event rate lies outside its own interval costs net benefit: its members are acted on at a threshold
where they should not be, or not acted on where they should.  :func:`improve_levels` moves such
levels to where they belong (Algorithm 1 of the method), :func:`calibrate_levels` then replaces
every risk by the event rate of its level (Algorithm 2), and :func:`keep_order` puts back the order
of risks that share a level.

What is learnt is a :class:`LevelMap`, a function of the risk alone, so that it applies to any new
risk of the same model.  Rates and thresholds are compared as exact fractions, weights included:
no tolerance decides a move.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common import FloatArray, InputError, check_binary, check_risks, check_weights
from netbenefit.metrics import Thresholds, ThresholdsLike, as_thresholds, largest_risk

# -- what each level holds, counted without rounding, and the two rules that move a level ----------


#: A 53-bit integer is summed as two halves, each exactly in float64 (up to 2**26 rows).
_HALF_BITS = 27


class Move(NamedTuple):
    """All risks of one level sent to a neighbouring level."""

    source: int  #: the level that was emptied
    target: int  #: the level that took its risks
    rate: float  #: observed event rate of the risks that moved: the reason for the move


@dataclass
class Levels:
    """Where each original level is now, and what the levels hold; changed by moves.

    ``events`` and ``totals`` are O_i and N_i of the present levels as integers on one common
    scale; ``now[k]`` is the present level of original level k, and ``moved[k]`` whether it has
    ever been moved, even if it came back.
    """

    thresholds: Thresholds
    events: list[int]
    totals: list[int]
    now: list[int]
    moved: list[bool]
    moves: list[Move]

    @classmethod
    def count(
        cls,
        y_true: ArrayLike,
        risk: ArrayLike,
        thresholds: Thresholds,
        sample_weight: ArrayLike | None,
    ) -> Levels:
        """Check the rows and count them by level; nothing has moved yet."""
        outcome = check_binary(y_true)
        risks = check_risks(risk, len(outcome))
        weights = check_weights(sample_weight, len(outcome))
        size = len(thresholds)
        sums = _exact_sums(weights, thresholds.level_of(risks) + size * outcome, 2 * size)
        events = sums[size:]
        totals = [a + b for a, b in zip(sums[:size], events, strict=True)]
        return cls(thresholds, events, totals, list(range(size)), [False] * size, [])

    def rate(self, level: int) -> float:
        """O_i / N_i of a level that holds rows."""
        return self.events[level] / self.totals[level]  # correctly rounded: both are integers

    def move(self, source: int, target: int) -> None:
        """Send all that is in one level now to another."""
        self.moves.append(Move(source, target, self.rate(source)))
        for counts in (self.events, self.totals):
            counts[target] += counts[source]
            counts[source] = 0
        for k, level in enumerate(self.now):
            if level == source:
                self.now[k], self.moved[k] = target, True

    def excess(self, level: int) -> Fraction:
        """O_i - p_{i+1} N_i: above 0, the level belongs one higher (rule one; p_{M+1} = 1)."""
        p = self.thresholds.fractions
        upper = p[level + 1] if level + 1 < len(p) else Fraction(1)
        return self.events[level] - upper * self.totals[level]

    def shortfall(self, level: int) -> Fraction:
        """p_i N_i - O_i: above 0, the level belongs one lower (rule two)."""
        return self.thresholds.fractions[level] * self.totals[level] - self.events[level]

    def improve(self) -> None:
        """Make the moves of Algorithm 1, upwards from the lowest level and then back down."""
        last = len(self.thresholds) - 1
        for i in range(last):
            if self.excess(i) > 0:
                self.move(i, i + 1)
        for i in range(last, 0, -1):
            if self.shortfall(i) > 0:
                self.move(i, i - 1)


def _exact_sums(weights: FloatArray, group: NDArray[np.intp], n_groups: int) -> list[int]:
    """Sum weights by group without rounding; the sums are integers on an unspecified common scale.

    A float is an integer of 53 bits times a power of two.  Weights of the same power are summed
    as integers, and Python's integers put the powers together.
    """
    used = weights > 0
    mantissa, exponent = np.frexp(weights[used])
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    group = group[used]
    sums = [0] * n_groups
    lowest = int(exponent.min())
    for power in np.unique(exponent):
        rows = exponent == power
        high, low = np.divmod(whole[rows], 1 << _HALF_BITS)
        high_sums = np.bincount(group[rows], weights=high, minlength=n_groups)
        low_sums = np.bincount(group[rows], weights=low, minlength=n_groups)
        for k in range(n_groups):
            part = (int(high_sums[k]) << _HALF_BITS) + int(low_sums[k])
            sums[k] += part << (int(power) - lowest)
    return sums


#: Share of the original risk that :func:`keep_order` adds, where there is room for it.
_DEFAULT_DELTA = 0.01


@dataclass(frozen=True)
class LevelMap:
    """A function from risks to risks that treats each level of the original risks as a whole.

    A level is either left as it is, or sent to one constant, to which ``delta`` times the original
    risk is added.  With original risk c in level i, the new risk is c where ``values[i]`` is None
    and min(``values[i]`` + ``delta`` · c, top of the level that holds ``values[i]``) elsewhere.
    """

    thresholds: Thresholds  #: they cut [0, 1] into levels S_0 … S_M
    #: of each level the constant that it is sent to; None: left as it is
    values: tuple[float | None, ...]
    delta: float = 0.0  #: share of the original risk that is added to the constants
    #: how the constants came about, in order
    moves: tuple[Move, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if len(self.values) != len(self.thresholds):
            raise InputError(
                f"{len(self.values)} values for {len(self.thresholds)} levels. Pass one per level, "
                "None for a level that stays as it is."
            )
        for i, value in enumerate(self.values):
            if value is not None and not 0.0 <= value <= 1.0:
                raise InputError(f"the value {value!r} of level {i} is outside [0, 1].")
        if not (math.isfinite(self.delta) and self.delta >= 0.0):
            raise InputError(f"delta={self.delta!r} must be finite and not negative.")

    @property
    def levels(self) -> tuple[int, ...]:
        """For each original level the level in which its new risks lie."""
        return tuple(
            i if value is None else int(self.thresholds.level_of(np.array([value]))[0])
            for i, value in enumerate(self.values)
        )

    def apply(self, risk: ArrayLike) -> FloatArray:
        """Return the new risks of any original risks, whether they were seen in training or not."""
        array = np.asarray(risk, dtype=np.float64)
        rows = array.reshape(1) if array.ndim == 0 else array
        risks = check_risks(rows, len(rows))
        level = self.thresholds.level_of(risks)
        tops = [largest_risk(self.thresholds, i) for i in self.levels]
        base = np.array([np.nan if v is None else v for v in self.values])[level]
        moved = np.minimum(base + self.delta * risks, np.array(tops)[level])
        return np.where(np.isnan(base), risks, moved).reshape(array.shape)


def improve_levels(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
    order_keeping: bool = False,
) -> LevelMap:
    """Learn the moves of whole levels that raise the net benefit (Algorithm 1).

    1. Count the events O_i and the rows N_i (their weights) of every level S_i.
    2. For i = 0 … M-1: where O_i > p_{i+1} N_i, send all that is in S_i now up to p_{i+1}.
    3. For i = M … 1: where O_i < p_i N_i, send all that is in S_i now down to p_{i-1}.

    A move counts at once: a later step sees the level together with what has joined it.  Each move
    raises the net benefit at one threshold and changes it at no other.  Afterwards
    p_i N_i ≤ O_i ≤ p_{i+1} N_i holds in every level.  A level that is sent down to p_{i-1}, as
    published, lands below the unmoved risks of S_{i-1}, which reverses their order;
    :func:`keep_order` and :func:`calibrate_levels` restore it.

    Algorithm alg:improve_aunbc of the paper.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Outcomes, 1 or True for an event.
    risk : array-like of shape (n_rows,)
        Predicted risks of the event, in [0, 1].
    thresholds : Thresholds, str, sequence of float, or None
        None is the grid 0, 0.1, …, 0.9; weights play no part.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        Weights of the rows.
    order_keeping : bool, default=False
        Whether to pass the result through :func:`keep_order`.

    Examples
    --------
    Half of those called 10-20% have the event, so they belong one level higher:

    >>> y_true = [0, 0, 0, 0, 1, 0, 1, 1]
    >>> risk = [0.05, 0.05, 0.05, 0.05, 0.15, 0.15, 0.6, 0.7]
    >>> better = improve_levels(y_true, risk, [0.1, 0.2, 0.6])
    >>> better.values, better.moves
    ((None, 0.2, None, None), (Move(source=1, target=2, rate=0.5),))
    """
    levels = Levels.count(y_true, risk, as_thresholds(thresholds), sample_weight)
    levels.improve()
    grid = levels.thresholds
    values = tuple(
        grid.values[now] if moved else None
        for now, moved in zip(levels.now, levels.moved, strict=True)
    )
    level_map = LevelMap(grid, values, moves=tuple(levels.moves))
    return keep_order(level_map) if order_keeping else level_map


def calibrate_levels(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
    order_keeping: bool = False,
) -> LevelMap:
    """Learn to give every level its observed event rate, after the moves (Algorithm 2).

    1. Move levels as :func:`improve_levels` does.
    2. For i = 0 … M, where S_i is not empty: if i < M and O_i = p_{i+1} N_i, its rate belongs to
       the next interval, so send S_i there; otherwise all of S_i gets the risk O_i / N_i.

    On the data that it was learnt from, the result has no calibration error over these levels
    (ECE = 0, and so the Hosmer-Lemeshow statistic), no lower net benefit at any threshold, and
    no pair of risks reversed, though pairs may become equal; see :func:`keep_order`.

    Algorithm alg:moderate_calibration of the paper, which shows Corollary cor:calibration.

    Parameters
    ----------
    y_true, risk, thresholds, sample_weight, order_keeping
        As in :func:`improve_levels`.

    Returns
    -------
    LevelMap
        A level without weight in training, which no move has filled, stays as it is.  The rate is
        the float nearest to O_i / N_i, or the float before p_{i+1} where that would be p_{i+1}
        itself though the exact rate is below.

    Examples
    --------
    >>> y_true = [0, 0, 0, 0, 1, 0, 1, 1]
    >>> risk = [0.05, 0.05, 0.05, 0.05, 0.15, 0.15, 0.6, 0.7]
    >>> calibrated = calibrate_levels(y_true, risk, [0.1, 0.2, 0.6])
    >>> calibrated.values
    (0.0, 0.5, 0.5, 1.0)
    >>> calibrated.apply([0.02, 0.19, 0.3, 0.9])
    array([0. , 0.5, 0.5, 1. ])
    """
    levels = Levels.count(y_true, risk, as_thresholds(thresholds), sample_weight)
    levels.improve()
    grid = levels.thresholds
    last = len(grid) - 1
    rates: list[float | None] = [None] * len(grid)
    for i in range(last + 1):
        if levels.totals[i] == 0:
            continue
        if i < last and levels.excess(i) == 0:
            levels.move(i, i + 1)
        else:
            rates[i] = min(levels.rate(i), largest_risk(grid, i))
    level_map = LevelMap(grid, tuple(rates[now] for now in levels.now), moves=tuple(levels.moves))
    return keep_order(level_map) if order_keeping else level_map


def keep_order(level_map: LevelMap, delta: float | None = None) -> LevelMap:
    """Distinguish risks that share a constant again, by a small share of the original risk.

    The constants get ``delta`` times the original risk on top, too little to cross a threshold.
    For any two original risks a < b, seen in training or not, and with f the returned map:

    - f(a) ≥ p_i exactly where ``level_map`` gives at least p_i, so every decision, the net benefit
      and its area stay the same;
    - f(a) ≤ f(b) always, and f(a) < f(b) unless f(a) = f(b) = 1 or ``delta`` · (b - a) is too
      small for floating-point numbers;
    - a calibrated map (:func:`calibrate_levels`) gains a calibration error of at most ``delta``.

    Levels that stay as they are need nothing, with one exception: an unmoved level that others
    have joined (which only :func:`improve_levels` leaves) takes their constant first.

    Proposition prop:calibration of the paper.

    Parameters
    ----------
    level_map : LevelMap
        Map whose order is to be kept.
    delta : float or None, default=None
        Share of the original risk.  It must be smaller than the distance of every constant to the
        upper end of its level; a constant 1 sets no limit, as risks are capped there.  None takes
        half of the largest possible share, and no more than 0.01.

    Examples
    --------
    >>> from netbenefit import Thresholds
    >>> ordered = keep_order(LevelMap(Thresholds.of([0.1, 0.5]), (0.05, 0.4, 0.8)))
    >>> ordered.delta, ordered.apply([0.2, 0.3])
    (0.01, array([0.402, 0.403]))
    """
    levels, edges = level_map.levels, (*level_map.thresholds.values[1:], 1.0)
    constants = [(i, v) for i, v in zip(levels, level_map.values, strict=True) if v is not None]
    joined = dict(constants)
    values = tuple(
        joined.get(i) if v is None else v for i, v in zip(levels, level_map.values, strict=True)
    )
    room, tightest, edge = min(
        ((edges[i] - v, v, edges[i]) for i, v in constants if v < 1.0), default=(math.inf, 1.0, 1.0)
    )
    if delta is None:
        delta = min(_DEFAULT_DELTA, room / 2)
    elif not 0.0 < delta < room:
        limit = (
            "finite"
            if math.isinf(room)
            else f"below {room!r}, so that the risk {tightest!r} stays below {edge!r}"
        )
        raise InputError(
            f"delta={delta!r} must be positive and {limit}. Pass another delta, or None."
        )
    return replace(level_map, values=values, delta=float(delta))
