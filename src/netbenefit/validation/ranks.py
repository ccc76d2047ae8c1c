"""Models over several data sets: average ranks, and the tests of Friedman and Nemenyi."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from netbenefit.common.checks import FloatArray, InputError, shorten
from netbenefit.common.table import Table, format_p_value
from netbenefit.plots import CriticalDifferenceDisplay

__all__ = ["RankTest", "critical_difference", "rank_groups", "rank_models"]


@dataclass(frozen=True, eq=False)
class RankTest:
    """Average ranks of models over data sets, and which of them differ.

    Made by :func:`rank_models`.

    Attributes
    ----------
    models, datasets : tuple of str
    ranks : (n_datasets, n_models) float
        Rank of each model on each data set: 1 is best, equals share the mean of their ranks.
    average : (n_models,) float
        Mean rank over the data sets.
    chi2, df, p : float, int, float
        Friedman's statistic (corrected for ties), its degrees of freedom and its p-value.
    f, f_p : float
        The statistic of Iman and Davenport, a less cautious version of Friedman's, and its p-value.
    nemenyi : (n_models, n_models) float
        Nemenyi's p-value of each pair, adjusted for the number of pairs.
    """

    models: tuple[str, ...]
    datasets: tuple[str, ...]
    ranks: FloatArray
    chi2: float
    p: float
    nemenyi: FloatArray

    @cached_property
    def average(self) -> FloatArray:
        """Mean rank of each model."""
        result: FloatArray = self.ranks.mean(axis=0)
        return result

    @property
    def df(self) -> int:
        """Degrees of freedom of Friedman's test."""
        return len(self.models) - 1

    @property
    def f(self) -> float:
        """F = (N − 1) χ² / (N (k − 1) − χ²), with k − 1 and (k − 1)(N − 1) degrees of freedom."""
        n = len(self.datasets)
        rest = n * self.df - self.chi2
        return (n - 1) * self.chi2 / rest if rest > 1e-9 else float("inf")

    @property
    def f_p(self) -> float:
        """P-value of :attr:`f`."""
        return float(stats.f.sf(self.f, self.df, self.df * (len(self.datasets) - 1)))

    def critical_difference(self, alpha: float = 0.05) -> float:
        """Difference of average ranks from which Nemenyi's test calls two models different."""
        return critical_difference(len(self.models), len(self.datasets), alpha)

    def groups(self, alpha: float = 0.05) -> list[tuple[str, ...]]:
        """Groups of models, as large as can be, in which no two differ; best ranks first."""
        found = rank_groups(self.average, self.critical_difference(alpha))
        return [tuple(self.models[place] for place in group) for group in found]

    def to_table(self) -> Table:
        """One row per pair of models: average ranks, their difference, Nemenyi's p-value."""
        first, second = np.triu_indices(len(self.models), 1)
        names = np.array(self.models, dtype=object)
        return Table(
            {
                "model_a": names[first],
                "model_b": names[second],
                "rank_a": self.average[first],
                "rank_b": self.average[second],
                "difference": self.average[first] - self.average[second],
                "p": self.nemenyi[first, second],
            }
        )

    def plot(self, ax: Any = None, *, alpha: float = 0.05) -> CriticalDifferenceDisplay:
        """Draw the average ranks, and join models that do not differ.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        alpha : float, default=0.05
            Level of Nemenyi's test.

        Returns
        -------
        CriticalDifferenceDisplay
        """
        return self.display(alpha).plot(ax=ax)

    def display(self, alpha: float = 0.05) -> CriticalDifferenceDisplay:
        """Return what :meth:`plot` draws, without drawing it; its ``save`` writes a file."""
        return CriticalDifferenceDisplay(
            self.models,
            self.average,
            self.critical_difference(alpha),
            groups=self.groups(alpha),
            n_datasets=len(self.datasets),
        )

    def __str__(self) -> str:
        width = max(map(len, self.models))
        order = np.argsort(self.average, kind="stable")
        lines = [f"{self.models[i]:<{width}}  {self.average[i]:.4f}" for i in order]
        return "\n".join(
            [
                f"Average rank over {len(self.datasets)} data sets, 1 is best:",
                *lines,
                f"Friedman: χ² = {self.chi2:.2f}, df = {self.df}, {p_text(self.p)}",
                f"Nemenyi: ranks that differ by {self.critical_difference():.3f} or more differ "
                "at the 5% level",
            ]
        )


def rank_models(
    scores: Mapping[str, Mapping[str, float]] | ArrayLike,
    *,
    higher_is_better: bool = True,
    models: Any = None,
) -> RankTest:
    """Rank models on each data set, and test whether they differ.

    Friedman's test asks whether all models could be alike; Nemenyi's test says which pairs are
    not (Demšar 2006).  Data sets have to be independent of each other: folds of one data set are
    not, and must not be passed as if they were.

    Tables tab:friedman, tab:ranks and tab:nemenyi_auroc to tab:nemenyi_size of the paper.

    Parameters
    ----------
    scores : mapping of data set to mapping of model to number, or (n_datasets, n_models) array
        One number a model and data set, such as ``{name: comparison.means("aunbc"), …}``.
    higher_is_better : bool, default=True
        False for calibration errors and sizes.
    models : sequence of str, optional
        Names of an array's columns.

    Returns
    -------
    RankTest
        Ranks, p-values, ``critical_difference()`` and ``plot()``.

    Examples
    --------
    >>> test = rank_models([[0.91, 0.85, 0.80], [0.78, 0.75, 0.71], [0.66, 0.67, 0.60]],
    ...                    models=["card", "tree", "coin"])
    >>> test.average.round(2), round(test.chi2, 2)
    (array([1.33, 1.67, 3.  ]), 4.67)
    >>> round(test.critical_difference(), 2), test.groups()
    (1.91, [('card', 'tree', 'coin')])
    """
    names, datasets, matrix = _read(scores, models)
    ranks = stats.rankdata(-matrix if higher_is_better else matrix, axis=1)
    if np.ptp(ranks, axis=1).any():
        friedman = stats.friedmanchisquare(*ranks.T)
        chi2, p = float(friedman.statistic), float(friedman.pvalue)
    else:  # all alike everywhere: the correction for ties would divide by nothing
        chi2, p = 0.0, 1.0
    return RankTest(names, datasets, ranks, chi2, p, _nemenyi(ranks))


def critical_difference(n_models: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Difference of average ranks from which two models differ by Nemenyi's test.

    q √(k (k + 1) / (6 N)), with q the upper ``alpha`` quantile of the studentised range of k
    models / √2.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    if not (isinstance(alpha, float | int) and 0 < alpha < 1):
        raise InputError(f"alpha={alpha!r} must lie strictly between 0 and 1, such as 0.05.")
    q = stats.studentized_range.isf(alpha, n_models, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_models * (n_models + 1) / (6 * n_datasets)))


def rank_groups(average: ArrayLike, difference: float) -> list[tuple[int, ...]]:
    """Places of the models in each group whose ranks differ by less; none inside another.

    >>> rank_groups([1.0, 2.0, 2.5, 4.0], 1.6)
    [(0, 1, 2), (2, 3)]
    """
    ranks = np.asarray(average, dtype=np.float64)
    order = np.argsort(ranks, kind="stable")
    ordered = ranks[order]
    found: list[tuple[int, ...]] = []
    last = 0
    for start, rank in enumerate(ordered):
        end = int(np.searchsorted(ordered, rank + difference, side="left"))
        if end - start > 1 and end > last:
            found.append(tuple(int(place) for place in order[start:end]))
        last = max(last, end)
    return found


def p_text(p: float) -> str:
    """Write a p-value.

    >>> p_text(0.0312), p_text(0.00002)
    ('p = 0.031', 'p < 0.001')
    """
    text = format_p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


# -- input -----------------------------------------------------------------------------------------


def _read(scores: Any, models: Any) -> tuple[tuple[str, ...], tuple[str, ...], FloatArray]:
    """Names of models and data sets, and a full matrix of finite numbers."""
    if isinstance(scores, Mapping):
        datasets = tuple(str(name) for name in scores)
        names = tuple(next(iter(scores.values()), {})) if models is None else tuple(models)
        for dataset, row in scores.items():
            if set(row) != set(names):
                raise InputError(
                    f"data set {dataset!r} has numbers of {shorten(list(row), 9)}, but ranks need "
                    f"the same models everywhere: {shorten(list(names), 9)}. Complete it."
                )
        matrix = np.array([[row[name] for name in names] for row in scores.values()], dtype=float)
        matrix = matrix.reshape(len(datasets), len(names))
    else:
        matrix = np.asarray(scores, dtype=np.float64)
        if matrix.ndim != 2:
            raise InputError(
                f"scores have shape {matrix.shape}. Pass one row per data set, "
                "one column per model."
            )
        datasets = tuple(f"data set {i + 1}" for i in range(len(matrix)))
        names = tuple(f"model {i + 1}" for i in range(matrix.shape[1]))
        names = names if models is None else tuple(str(name) for name in models)
    _check(matrix, names, datasets)
    return names, datasets, matrix


def _check(matrix: FloatArray, names: tuple[str, ...], datasets: tuple[str, ...]) -> None:
    if len(set(names)) != matrix.shape[1]:
        raise InputError(f"{matrix.shape[1]} models need as many different names, not {names!r}.")
    if len(names) < 3 or len(datasets) < 2:
        raise InputError(
            f"{len(names)} models on {len(datasets)} data sets. Friedman's test needs at least "
            "three models and two data sets; compare two models by a paired test."
        )
    missing = np.argwhere(~np.isfinite(matrix))
    if missing.size:
        row, column = missing[0]
        raise InputError(
            f"{names[column]!r} has no finite number on {datasets[row]!r}. Leave out that model or "
            "that data set."
        )


def _nemenyi(ranks: FloatArray) -> FloatArray:
    """P-values of all pairs, by scikit-posthocs."""
    try:
        import scikit_posthocs  # type: ignore[import-untyped]  # late: an extra
    except ImportError as error:
        raise ImportError(
            "Nemenyi's test needs scikit-posthocs, which is not installed. Install it with `pip "
            "install 'netbenefit[stats]'`."
        ) from error
    result: FloatArray = scikit_posthocs.posthoc_nemenyi_friedman(ranks).to_numpy(dtype=np.float64)
    return result
