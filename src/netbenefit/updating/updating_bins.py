"""The distribution of one raw column in two tables, and how far they are apart."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards.columns import Column
from netbenefit.cards.terms import value_text
from netbenefit.common.checks import FloatArray

__all__ = [
    "Bins",
    "bins_of",
    "chance_index",
    "stability_index",
    "standardised_difference",
]

#: Most bins of numbers, and most levels of text that are counted one by one.
_MOST_BINS, _MOST_LEVELS = 10, 20


class Bins(NamedTuple):
    """Mass of the rows of two tables by bin."""

    names: tuple[str, ...]
    reference: FloatArray
    new: FloatArray


def stability_index(
    reference: ArrayLike, new: ArrayLike, *, rows: tuple[float, float] | None = None
) -> float:
    """Population stability index Σ (b − a) ln(b / a) of the shares a and b of two tables by bin.

    Where a bin is empty in one table, half a row is added to every bin of both, so that the index
    stays finite; bins that are empty in both do not count.

    Parameters
    ----------
    reference, new : (n_bins,) array of mass
    rows : (float, float), optional
        Effective numbers of rows, where masses are sums of weights; by default the masses.

    Examples
    --------
    >>> round(stability_index([50, 50], [40, 60]), 4)
    0.0405
    >>> stability_index([10, 20, 0], [20, 40, 0])
    0.0
    """
    a, b = np.asarray(reference, dtype=np.float64), np.asarray(new, dtype=np.float64)
    used = (a > 0) | (b > 0)
    a, b = a[used], b[used]
    if (a == 0).any() or (b == 0).any():
        sizes = (a.sum(), b.sum()) if rows is None else rows
        a, b = a + 0.5 * a.sum() / sizes[0], b + 0.5 * b.sum() / sizes[1]
    a, b = a / a.sum(), b / b.sum()
    return float((b - a) @ np.log(b / a))


def chance_index(n_bins: int, rows: tuple[float, float]) -> float:
    """Index that chance alone exceeds in about 5% of cases where nothing has changed.

    For large tables the index is (1/n + 1/m) times a chi-squared of bins − 1 degrees of freedom
    (Yurdakul and Naranjo 2020, Journal of Risk Model Validation).

    Examples
    --------
    >>> round(chance_index(10, (1000, 500)), 4)
    0.0508
    """
    from scipy.stats import chi2

    if n_bins < 2:
        return 0.0
    return float(chi2.ppf(0.95, n_bins - 1)) * (1 / rows[0] + 1 / rows[1])


def standardised_difference(
    reference: FloatArray, reference_weight: FloatArray, new: FloatArray, new_weight: FloatArray
) -> float:
    """Difference of means over the root of the mean of both variances (Austin 2009, Stat Med).

    Examples
    --------
    >>> one = np.ones(4)
    >>> standardised_difference(np.array([0, 0, 1, 1.0]), one, np.array([1, 1, 1, 1.0]), one)
    1.414213562373095
    """
    if not (reference_weight.sum() > 0 and new_weight.sum() > 0):
        return math.nan
    means, spreads = [], []
    for values, weight in ((reference, reference_weight), (new, new_weight)):
        mean = float(weight @ values) / float(weight.sum())
        means.append(mean)
        spreads.append(float(weight @ (values - mean) ** 2) / float(weight.sum()))
    gap, spread = means[1] - means[0], math.sqrt(sum(spreads) / 2)
    if gap == 0:
        return 0.0
    return gap / spread if spread > 0 else math.copysign(math.inf, gap)


def bins_of(
    reference: Column, reference_weight: FloatArray, new: Column, new_weight: FloatArray
) -> Bins:
    """Count two columns in bins that the reference sets.

    Numbers: tenths of the reference's rows, or its values where these are few.  Text: its levels,
    the commonest one by one and all others together.  Missing values have a bin of their own.

    Examples
    --------
    >>> old, recent = np.array([1.0, 1.0, 2.0]), np.array([2.0, np.nan])
    >>> bins_of(Column("x", old, None), np.ones(3), Column("x", recent, np.isnan(recent)),
    ...     np.ones(2))
    Bins(names=('< 2', '≥ 2', 'missing'), reference=array([2., 1., 0.]), new=array([0., 1., 1.]))
    """
    there, here = _present(reference, reference_weight), _present(new, new_weight)
    if reference.values.dtype.kind == "f" and new.values.dtype.kind == "f":
        edges = _edges(reference.values[there], reference_weight[there])
        names = _interval_names(edges)
        codes = [np.searchsorted(edges, c.values, side="right") for c in (reference, new)]
    else:
        levels = _levels(reference.values[there], reference_weight[there])
        names = [*levels, "others"]
        place = {level: i for i, level in enumerate(levels)}
        codes = [
            np.array([place.get(str(v), len(levels)) for v in c.values.tolist()], dtype=np.intp)
            for c in (reference, new)
        ]
    size, masses = len(names), []
    pairs = ((codes[0], there, reference_weight), (codes[1], here, new_weight))
    for code, present, weight in pairs:
        found = np.bincount(code[present], weights=weight[present], minlength=size)
        masses.append(np.append(found.astype(np.float64), weight[~present].sum()))
    used = (masses[0] > 0) | (masses[1] > 0)
    kept = tuple(name for name, use in zip([*names, "missing"], used, strict=True) if use)
    return Bins(kept, masses[0][used], masses[1][used])


def _present(column: Column, weight: FloatArray) -> NDArray[np.bool_]:
    if column.missing is None:
        return np.ones(weight.size, dtype=np.bool_)
    return ~column.missing


def _edges(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Where bins of numbers start, but for the first: tenths of the weight, or all values.

    A bin ends with the value that completes a tenth, and the next one starts at the next value: so
    a value that most rows share is told apart from the larger ones.

    >>> _edges(np.arange(1.0, 21.0), np.ones(20)).astype(int).tolist()
    [3, 5, 7, 9, 11, 13, 15, 17, 19]
    >>> _edges(np.concatenate([np.zeros(90), np.arange(1.0, 11.0)]), np.ones(100))
    array([1.])
    """
    used = weight > 0
    distinct, place = np.unique(values[used], return_inverse=True)
    if distinct.size <= _MOST_BINS:
        few: FloatArray = distinct[1:]
        return few
    mass = np.cumsum(np.bincount(place, weights=weight[used]))
    tenths = np.arange(1, _MOST_BINS) / _MOST_BINS * mass[-1]
    # An exact tenth must find its own value, whatever the sums of weights round to.
    at = np.searchsorted(mass, tenths * (1 - 1e-12))
    edges: FloatArray = np.unique(distinct[np.minimum(at + 1, distinct.size - 1)])
    return edges


def _interval_names(edges: FloatArray) -> list[str]:
    if not edges.size:
        return ["any"]
    numbers = [float(edge) for edge in edges]
    texts = [value_text(int(x) if x.is_integer() else x) for x in numbers]
    middle = [f"{low} to < {high}" for low, high in pairwise(texts)]
    return [f"< {texts[0]}", *middle, f"≥ {texts[-1]}"]


def _levels(values: NDArray[np.object_], weight: FloatArray) -> list[str]:
    """The commonest levels, by mass and then by name."""
    mass: dict[str, float] = {}
    for value, w in zip(values.tolist(), weight.tolist(), strict=True):
        mass[str(value)] = mass.get(str(value), 0.0) + w
    found = sorted((level for level, w in mass.items() if w > 0), key=lambda v: (-mass[v], v))
    return found[:_MOST_LEVELS]
