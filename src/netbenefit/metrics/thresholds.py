"""Decision thresholds and how much each one matters.

A threshold p is the risk from which a person would act; its odds p / (1 - p) are how many
unnecessary actions one missed event is worth.  Everything that depends on thresholds takes one
frozen :class:`Thresholds`, so that training, calibration and evaluation cannot disagree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import FloatArray, InputError

Weights = str | Sequence[float] | NDArray[np.float64] | Callable[[float], float]

#: Floats within this distance of a fraction with a small denominator are taken to be that fraction.
RATIONAL_TOLERANCE = 1e-15
_LARGEST_DENOMINATOR = 100_000


class IntegerGains(NamedTuple):
    """Integers proportional to the worth of one event found and the cost of one false alarm.

    ``scale * weight_i * (TP - odds_i * FP) == found[i] * TP - alarm[i] * FP`` exactly.
    """

    scale: int
    found: tuple[int, ...]
    alarm: tuple[int, ...]


@dataclass(frozen=True)
class Thresholds:
    """Thresholds 0 = p_0 < p_1 < … < p_M < 1 with weights that sum to one.

    Build it with :meth:`of` (a list), :meth:`range` (lo, hi, step) or :meth:`parse` (text); the
    constructor itself takes the finished numbers and checks them.

    Parameters
    ----------
    values : tuple of float
        p_0 … p_M, with p_0 = 0.
    weights : tuple of float
        ω_0 … ω_M: not negative, sum 1.
    end : float, default=1.0
        Where the last interval of the *area* ends: 1, or the upper end of a range.
    zero_asked : bool, default=False
        Whether threshold 0 was given, or added to complete the intervals.

    Examples
    --------
    >>> t = Thresholds.range(0.1, 0.4, 0.1)
    >>> t.values
    (0.0, 0.1, 0.2, 0.3, 0.4)
    >>> t.weights
    (0.0, 0.25, 0.25, 0.25, 0.25)
    """

    values: tuple[float, ...]
    weights: tuple[float, ...]
    end: float = 1.0
    zero_asked: bool = False

    def __post_init__(self) -> None:
        values = tuple(tidy(_number(p)) for p in self.values)
        weights = tuple(tidy(_number(w, "weight")) for w in self.weights)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "end", tidy(_number(self.end, "end")))
        _check_values(values)
        if not values or values[0] != 0.0:
            raise InputError("Thresholds(values=…) must start at 0. Use Thresholds.of(list).")
        if len(values) < 2:
            raise InputError("thresholds hold only 0. Add at least one threshold between 0 and 1.")
        _check_end(self.end, values[-1])
        _check_threshold_weights(weights, len(values))

    # -- ways to build ---------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        values: float | Sequence[float] | FloatArray,
        weights: Weights = "equal",
        *,
        end: float = 1.0,
    ) -> Thresholds:
        """Build from a list of thresholds; 0 is added, with weight 0, where it is missing.

        Parameters
        ----------
        values : float, or sequence of float
            Increasing, in [0, 1).
        weights : {"equal", "length"}, sequence of float, or callable, default="equal"
            ``"length"`` weighs each threshold by the interval that it opens, which makes the
            weighted net benefit the area under the curve.  A sequence has one weight per threshold
            (sum 1).  A callable is a density over thresholds, integrated over each interval and
            normalised.
        end : float, default=1.0
            Where the last interval ends.
        """
        given = [tidy(_number(p)) for p in np.atleast_1d(np.asarray(values, dtype=object))]
        if not given:
            raise InputError("thresholds are empty. Pass at least one, such as [0.1, 0.2].")
        _check_values(tuple(given))
        zero_asked = given[0] == 0.0
        end = tidy(_number(end, "end"))
        _check_end(end, given[-1])
        given_weights = _make_weights(given, weights, end)
        if not zero_asked:
            given, given_weights = [0.0, *given], [0.0, *given_weights]
        return cls(tuple(given), tuple(given_weights), end, zero_asked)

    @classmethod
    def range(cls, low: float, high: float, step: float, weights: Weights = "equal") -> Thresholds:
        """Build ``low, low + step, …, high``; the area is the one over [low, high].

        With ``weights="length"`` the last threshold, ``high``, therefore weighs nothing: the
        interval that it opens lies outside the range.
        """
        lo, hi, width = _number(low), _number(high), _number(step)
        if not 0.0 <= lo < hi < 1.0:
            raise InputError(f"threshold range {lo!r} to {hi!r} must satisfy 0 <= low < high < 1.")
        if not 0.0 < width <= hi - lo + 1e-12:
            raise InputError(
                f"threshold step {width!r} must be positive and at most high - low = {hi - lo:g}."
            )
        count = math.floor((hi - lo) / width + 1e-9)
        return cls.of([lo + i * width for i in range(count + 1)], weights, end=hi)

    @classmethod
    def parse(cls, text: str, weights: Weights = "equal") -> Thresholds:
        """Read ``"0.05:0.5:0.05"`` (low:high:step) or ``"0.1,0.2,0.5"``."""
        colon = ":" in text
        parts = [part.strip() for part in text.split(":" if colon else ",")]
        try:
            numbers = [float(part) for part in parts]
        except ValueError:
            numbers = []
        if not numbers or (colon and len(numbers) != 3):
            raise InputError(
                f"cannot read thresholds {text!r}. Write low:high:step, as in 0.05:0.5:0.05, or a "
                "list, as in 0.1,0.2,0.5."
            )
        if not colon:
            return cls.of(numbers, weights)
        low, high, step = numbers
        return cls.range(low, high, step, weights)

    @classmethod
    def tenths(cls) -> Thresholds:
        """Return the published grid 0, 0.1, …, 0.9 with equal weights."""
        return cls.of([i / 10 for i in range(10)])

    # -- what it knows ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.values)

    def __reduce__(self) -> tuple[type[Thresholds], tuple[object, ...]]:
        # Cached arrays stay behind: copied or unpickled, they would be writable.
        return type(self), (self.values, self.weights, self.end, self.zero_asked)

    @property
    def given(self) -> FloatArray:
        """The thresholds that were given (0 left out where it was only added)."""
        return self.array if self.zero_asked else self.array[1:]

    @cached_property
    def array(self) -> FloatArray:
        """p_0 … p_M as a read-only array."""
        return _frozen(self.values)

    @cached_property
    def weight_array(self) -> FloatArray:
        """ω_0 … ω_M as a read-only array."""
        return _frozen(self.weights)

    @cached_property
    def odds(self) -> FloatArray:
        """r_i = p_i / (1 - p_i), each the float nearest to it."""
        return _frozen([float(p / (1 - p)) for p in self.fractions])

    @cached_property
    def length_weights(self) -> FloatArray:
        """Interval lengths over the whole range: the weights of the area under the curve."""
        lengths = np.diff(np.append(self.array, self.end))
        if not self.zero_asked:
            lengths[0] = 0.0
        total = lengths.sum()
        if total <= 0:  # a single threshold at the end of its range: all weight on it
            lengths[-1] = total = 1.0
        return _frozen(lengths / total)

    @cached_property
    def fractions(self) -> tuple[Fraction, ...]:
        """p_0 … p_M as exact fractions: the simple fraction that was meant, else the decimal."""
        return tuple(_meant(p) for p in self.values)

    @cached_property
    def weight_fractions(self) -> tuple[Fraction, ...]:
        """ω_0 … ω_M as exact fractions: the simple fraction that was meant, else the decimal."""
        return tuple(_meant(w) for w in self.weights)

    @cached_property
    def integer_gains(self) -> IntegerGains | None:
        """Weights and odds on one common integer scale, or None where no usable scale exists."""
        found = self.weight_fractions
        alarm = [w * p / (1 - p) for p, w in zip(self.fractions, found, strict=True)]
        scale = math.lcm(*(f.denominator for f in (*found, *alarm)))
        if scale > 2**40:  # no room would be left for counts
            return None
        return IntegerGains(
            scale, tuple(int(f * scale) for f in found), tuple(int(f * scale) for f in alarm)
        )

    def level_of(self, risk: FloatArray) -> NDArray[np.intp]:
        """Return i with risk in S_i = [p_i, p_{i+1}) for each risk (S_M includes 1)."""
        return np.searchsorted(self.array, risk, side="right") - 1


def largest_risk(thresholds: Thresholds, level: int) -> float:
    """Return the largest float of a level; only the last level holds its upper end."""
    last = level == len(thresholds) - 1
    return 1.0 if last else math.nextafter(thresholds.values[level + 1], 0.0)


ThresholdsLike = Thresholds | str | float | Sequence[float] | NDArray[np.float64] | None


def as_thresholds(thresholds: ThresholdsLike, weights: Weights | None = None) -> Thresholds:
    """Turn what a user may pass into :class:`Thresholds`; None is the grid 0, 0.1, …, 0.9."""
    if thresholds is None:
        thresholds = Thresholds.tenths()
    if isinstance(thresholds, Thresholds):
        if weights is None:
            return thresholds
        return Thresholds.of(thresholds.given.tolist(), weights, end=thresholds.end)
    weights = "equal" if weights is None else weights
    if isinstance(thresholds, str):
        return Thresholds.parse(thresholds, weights)
    return Thresholds.of(thresholds, weights)


def _number(value: object, what: str = "threshold") -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"{what} {value!r} is not a number.") from None


def _rational(x: float) -> Fraction | None:
    near = Fraction(x).limit_denominator(_LARGEST_DENOMINATOR)
    return near if abs(float(near) - x) <= RATIONAL_TOLERANCE else None


def _meant(x: float) -> Fraction:
    """The fraction that a float stands for, which is the one that it is nearest to."""
    near = _rational(x)
    return Fraction(repr(float(x))) if near is None else near


def tidy(x: float) -> float:
    """Undo the rounding noise of sums such as 0.1 + 0.2, so that risks compare as meant."""
    near = _rational(x) if math.isfinite(x) else None
    return x if near is None else float(near)


def _frozen(values: Sequence[float] | FloatArray) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def _check_values(values: tuple[float, ...]) -> None:
    for i, p in enumerate(values):
        if not 0.0 <= p < 1.0:
            raise InputError(
                f"threshold {p!r} (number {i + 1}) is not a risk from which one might act: it "
                "must be at least 0 and below 1; write 0.2 for 20%."
            )
        if i and p <= values[i - 1]:
            what = "repeats" if p == values[i - 1] else "is below"
            raise InputError(
                f"thresholds must increase, but {p!r} (number {i + 1}) {what} {values[i - 1]!r}. "
                "Sort them and drop duplicates."
            )


def _check_end(end: float, last: float) -> None:
    if not last <= end <= 1.0:
        raise InputError(f"end={end!r} must lie between the last threshold {last!r} and 1.")


def _check_threshold_weights(weights: tuple[float, ...], count: int) -> None:
    if len(weights) != count:
        raise InputError(
            f"{len(weights)} weights for {count} thresholds. Pass one weight per threshold."
        )
    for i, w in enumerate(weights):
        if not (math.isfinite(w) and w >= 0):
            raise InputError(f"weight {w!r} (position {i}) must be finite and not negative.")
    total = math.fsum(weights)
    if abs(total - 1.0) > 1e-9:
        raise InputError(f"threshold weights sum to {total:g}, not to 1. Divide them by their sum.")


def _make_weights(given: list[float], weights: Weights, end: float) -> list[float]:
    edges = [*given, end]
    if callable(weights):
        return _density_weights(edges, weights)
    if isinstance(weights, str) or not np.iterable(weights):
        if weights == "equal":
            return [1.0 / len(given)] * len(given)
        if weights == "length":
            exact = [_meant(p) for p in edges]
            if exact[-1] <= exact[0]:
                raise InputError(
                    'weights="length" needs an interval, but the range has no length.'
                    ' Add a threshold or use weights="equal".'
                )
            span = exact[-1] - exact[0]
            return [float((b - a) / span) for a, b in pairwise(exact)]
        raise InputError(
            f'weights={weights!r} is not known. Use "equal", "length", one number per threshold, '
            "or a density (a function of the threshold)."
        )
    numbers = [_number(w, "weight") for w in weights]
    _check_threshold_weights(tuple(numbers), len(given))
    return numbers


def _density_weights(edges: list[float], density: Callable[[float], float]) -> list[float]:
    from scipy.integrate import quad  # late: most users never pass a density

    masses = []
    for low, high in pairwise(edges):
        mass = float(quad(density, low, high, limit=200)[0]) if high > low else 0.0
        if not (math.isfinite(mass) and mass >= 0):
            raise InputError(
                f"the density over thresholds integrates to {mass!r} on [{low:g}, {high:g}]. It "
                "must be finite and not negative."
            )
        masses.append(mass)
    total = math.fsum(masses)
    if total <= 0:
        raise InputError("the density over thresholds is zero everywhere on the range.")
    return [mass / total for mass in masses]
