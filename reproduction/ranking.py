"""Methods ranked over data sets by one measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from netbenefit.validation.ranks import RankTest, rank_models
from reproduction.names import DATASETS, METHODS, Measure, title_of
from reproduction.summary import Summary

if TYPE_CHECKING:
    from netbenefit.plots import CriticalDifferenceDisplay

__all__ = [
    "LEVEL",
    "Ranking",
    "competing",
    "critical_difference_display",
    "largest_block",
    "rank_by",
]

#: Level of the tests.
LEVEL = 0.05
#: Means that differ by less are the same number, added up in another order.
_DIGITS = 10


def competing(methods: Iterable[str], measure: Measure) -> list[str]:
    """Return the methods that have a measure: by size neither trees nor XGBoost.

    A tree's size counts nodes, all others' count features; XGBoost has none.
    """
    return [m for m in methods if not (measure.key == "size" and m in ("tree", "xgboost"))]


@dataclass(frozen=True)
class Ranking:
    """Methods ranked by one measure, or the reason why they are not.

    Attributes
    ----------
    measure : Measure
    test : RankTest or None
        None where there are fewer than three methods or two data sets.
    methods_out, datasets_out : tuple of str
        Left out for lack of results.
    """

    measure: Measure
    test: RankTest | None
    methods_out: tuple[str, ...]
    datasets_out: tuple[str, ...]

    @property
    def metric(self) -> str:
        """Name of the measure in the printed tables."""
        return self.measure.metric

    @property
    def as_published(self) -> bool:
        """Whether the same methods and data sets are ranked as in the paper."""
        return (
            self.test is not None
            and set(self.test.models) == set(competing(METHODS, self.measure))
            and set(self.test.datasets) == set(DATASETS)
        )

    def rank(self, method: str) -> float | None:
        """Average rank of a method."""
        if self.test is None or method not in self.test.models:
            return None
        return float(self.test.average[self.test.models.index(method)])

    def p(self, one: str, other: str) -> float | None:
        """Nemenyi's p-value of a pair."""
        if self.rank(one) is None or self.rank(other) is None or self.test is None:
            return None
        models = self.test.models
        return float(self.test.nemenyi[models.index(one), models.index(other)])


def largest_block(found: Mapping[str, Sequence[str]]) -> tuple[list[str], list[str]]:
    """Return data sets and methods such that each method has a result on each data set.

    Of all such blocks the one with the most results; of equal ones that with more data sets.

    Parameters
    ----------
    found : mapping of data set to methods
        Which methods have a result.

    Returns
    -------
    datasets, methods : list of str
    """
    best: tuple[list[str], list[str]] = ([], [])
    names = list(found)
    for count in range(len(names), 0, -1):
        for some in combinations(names, count):
            shared = [m for m in found[some[0]] if all(m in found[name] for name in some)]
            if len(some) * len(shared) > len(best[0]) * len(best[1]):
                best = (list(some), shared)
    return best


def rank_by(summary: Summary, measure: Measure, methods: Sequence[str]) -> Ranking:
    """Rank methods by a measure, on the largest block of data sets and methods without gaps.

    Parameters
    ----------
    summary : Summary
    measure : Measure
    methods : sequence of str

    Returns
    -------
    Ranking

    Examples
    --------
    >>> from reproduction.names import MEASURES
    >>> from reproduction.summary import summarise
    >>> rows = [{"dataset": d, "method": m, "setting": "original", "fold": 0, "test_ece": i}
    ...         for d in ("heart", "mammo") for i, m in enumerate(["lasso", "slim", "tree"])]
    >>> rank_by(summarise(rows), MEASURES["test_ece"], ["lasso", "slim", "tree"]).rank("slim")
    2.0
    """
    scores: dict[str, dict[str, float]] = {}
    for dataset in summary.datasets("original"):
        for method in competing(methods, measure):
            mean = summary.cell(dataset, method, "original", measure.key).mean
            if mean is not None:
                scores.setdefault(dataset, {})[method] = round(mean, _DIGITS)
    datasets, kept = largest_block({name: list(row) for name, row in scores.items()})
    test = None
    if len(datasets) > 1 and len(kept) > 2:
        test = rank_models(
            {name: {method: scores[name][method] for method in kept} for name in datasets},
            higher_is_better=measure.higher_is_better,
        )
    return Ranking(
        measure,
        test,
        tuple(m for m in competing(methods, measure) if m not in kept),
        tuple(name for name in DATASETS if name not in datasets),
    )


def critical_difference_display(test: RankTest, measure: Measure) -> CriticalDifferenceDisplay:
    """Return the picture of a ranking, drawn, with the measure in its title.

    Parameters
    ----------
    test : RankTest
    measure : Measure

    Returns
    -------
    CriticalDifferenceDisplay

    Examples
    --------
    >>> from reproduction.names import MEASURES
    >>> test = rank_models([[0.9, 0.8, 0.7], [0.9, 0.7, 0.8]], models=["lasso", "slim", "tree"])
    >>> critical_difference_display(test, MEASURES["test_auroc"]).ax_.get_title()
    'AUROC: average rank over 2 data sets (1 is best)'
    """
    from matplotlib.figure import Figure  # late: an extra

    from netbenefit.plots import CriticalDifferenceDisplay

    display = CriticalDifferenceDisplay(
        [title_of(name) for name in test.models],
        test.average,
        test.critical_difference(LEVEL),
        groups=[[title_of(name) for name in group] for group in test.groups(LEVEL)],
        n_datasets=len(test.datasets),
    )
    height = 2.0 + 0.3 * ((len(test.models) + 1) // 2)
    display.plot(Figure(figsize=(8.0, height), layout="constrained").subplots())
    title = display.ax_.get_title()
    display.ax_.set_title(f"{measure.title}: {title[:1].lower()}{title[1:]}")
    return display
