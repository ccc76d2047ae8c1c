"""Methods ranked over the data sets: average ranks, Friedman's and Nemenyi's tests, pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from netbenefit.common.table import format_p_value
from netbenefit.validation.comparison import RankTest, rank_models
from reproduction.names import DATASETS, MEASURES, METHODS, Measure, title_of
from reproduction.published import Published, load_published
from reproduction.summary import (
    MISSING,
    Summary,
    bullets,
    document,
    escape,
    number,
    pipe_table,
    run_words,
)

if TYPE_CHECKING:
    from netbenefit.plots.comparison import CriticalDifferenceDisplay

# -- methods ranked over data sets by one measure --------------------------------------------------


#: Level of the tests.
LEVEL = 0.05
#: Means that differ by less are the same number, added up in another order.
_DIGITS = 10


def competing(methods: Iterable[str], measure: Measure) -> list[str]:
    """Return the methods whose sizes count features: neither trees (nodes) nor XGBoost (none)."""
    return [m for m in methods if not (measure.key == "size" and m in ("tree", "xgboost"))]


@dataclass(frozen=True)
class Ranking:
    """Methods ranked by one measure; no test with fewer than three methods or two data sets."""

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
    """Rank methods by a measure, on the largest block of data sets and methods without gaps."""
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
    """Return the picture of a ranking, drawn, with the measure in its title."""
    from matplotlib.figure import Figure  # late: an extra

    from netbenefit.plots.comparison import CriticalDifferenceDisplay

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


#: As the paper ranks them: on held-out rows.
_MEASURES = tuple(MEASURES[key] for key in ("test_auroc", "test_aunbc", "test_ece", "size"))


@dataclass(frozen=True)
class RankTables:
    """Rankings by each measure of the paper's methods, or of all that were run."""

    scope: str
    methods: tuple[str, ...]
    rankings: tuple[Ranking, ...]

    @property
    def printed(self) -> Published | None:
        """The printed tables, where they are of the same methods."""
        return load_published() if self.scope == "paper" else None

    # -- CSV ---------------------------------------------------------------------------------------

    def ranks(self) -> list[dict[str, Any]]:
        """Return one record a measure and method."""
        return [
            {
                "scope": self.scope,
                "metric": ranking.metric,
                "method": method,
                "rank": ranking.rank(method),
                "published_rank": self.published_rank(ranking.metric, method),
                "n_datasets": len(ranking.test.datasets) if ranking.test else 0,
            }
            for ranking in self.rankings
            for method in self.competing(ranking)
        ]

    def friedman(self) -> list[dict[str, Any]]:
        """Return one record a measure."""
        return [self._friedman(ranking) for ranking in self.rankings]

    def _friedman(self, ranking: Ranking) -> dict[str, Any]:
        test = ranking.test
        printed = self.printed.friedman.get(ranking.metric) if self.printed else None
        return {
            "scope": self.scope,
            "metric": ranking.metric,
            "n_methods": len(test.models) if test else 0,
            "n_datasets": len(test.datasets) if test else 0,
            "chi2": test.chi2 if test else None,
            "df": test.df if test else None,
            "p": test.p if test else None,
            "critical_difference": test.critical_difference(LEVEL) if test else None,
            "published_chi2": printed.chi2 if printed else None,
            "published_df": printed.df if printed else None,
            "published_p": printed.p.text if printed else None,
        }

    def nemenyi(self) -> list[dict[str, Any]]:
        """Return one record a measure and pair of methods."""
        return [
            {
                "scope": self.scope,
                "metric": ranking.metric,
                "method_a": one,
                "method_b": other,
                "p": ranking.p(one, other),
                "published_p": self.published_p(ranking.metric, one, other),
            }
            for ranking in self.rankings
            for one, other in combinations(self.competing(ranking), 2)
        ]

    def competing(self, ranking: Ranking) -> list[str]:
        """Methods that have the measure at all."""
        return competing(self.methods, ranking.measure)

    def published_rank(self, metric: str, method: str) -> float | None:
        """Return a printed average rank."""
        return self.printed.ranks.get((metric, method)) if self.printed else None

    def published_p(self, metric: str, one: str, other: str) -> float | None:
        """Return a printed p-value of Nemenyi's test."""
        pair = frozenset((one, other))
        return self.printed.nemenyi.get((metric, pair)) if self.printed else None

    # -- Markdown ----------------------------------------------------------------------------------

    def sections(self, pictures: bool = True) -> list[str]:
        """Return the parts of a document, which may point to the pictures."""
        title = "The paper's methods" if self.scope == "paper" else "All methods"
        return [
            f"## {title}",
            "### Average ranks",
            self._ranks_text(),
            self._left_out(),
            "### Friedman's test",
            self._friedman_text(),
            "### Nemenyi's test",
            *(part for r in self.rankings for part in self._nemenyi_text(r, pictures)),
        ]

    def _ranks_text(self) -> str:
        best = {
            ranking.metric: ranking.test.average.min() if ranking.test else None
            for ranking in self.rankings
        }
        lines = []
        for method in self.methods:
            texts = []
            for ranking in self.rankings:
                rank = ranking.rank(method)
                mark = "**" if rank is not None and rank == best[ranking.metric] else ""
                printed = _bracket(self.published_rank(ranking.metric, method), 2)
                text = f"{mark}{number(rank, 2)}{mark}{printed}"
                texts.append(text if method in self.competing(ranking) else "")
            lines.append([escape(title_of(method)), *texts])
        return pipe_table(["Method", *(r.measure.title for r in self.rankings)], lines)

    def _left_out(self) -> str:
        """Say what was left out, measures with the same gaps together."""
        groups: dict[str, list[str]] = {}
        for ranking in self.rankings:
            gaps = {"methods": ranking.methods_out, "data sets": ranking.datasets_out}
            words = "; ".join(
                f"{kind}: {', '.join(escape(title_of(name)) for name in names)}"
                for kind, names in gaps.items()
                if names
            )
            if words and ranking.test:
                groups.setdefault(words, []).append(ranking.measure.title)
        found = [
            f"Left out of the ranks by {', '.join(titles)}, for lack of results – {words}."
            for words, titles in groups.items()
        ]
        if self.scope == "paper" and not all(ranking.as_published for ranking in self.rankings):
            found.append(
                "**The printed ranks and tests are of all eight data sets and all methods; where "
                "ours are of fewer, the two do not compare.**"
            )
        return "\n\n".join(found)

    def _friedman_text(self) -> str:
        lines = []
        for ranking, found in zip(self.rankings, self.friedman(), strict=True):
            old = found["published_p"]
            lines.append(
                [
                    ranking.measure.title,
                    str(found["n_methods"]),
                    str(found["n_datasets"]),
                    number(found["chi2"], 2) + _bracket(found["published_chi2"], 2),
                    number(found["df"], 0) + _bracket(found["published_df"], 0),
                    _p_text(found["p"]) + (f" [{old.replace('<', '< ')}]" if old else ""),
                    number(found["critical_difference"], 2),
                ]
            )
        heads = ["Metric", "Methods", "Data sets", "χ²", "df", "p", "Critical difference"]
        return pipe_table(heads, lines)

    def _nemenyi_text(self, ranking: Ranking, pictures: bool) -> list[str]:
        """Return the p-values of all pairs below the diagonal."""
        if ranking.test is None:
            return []
        methods = self.competing(ranking)
        lines = []
        for place, method in enumerate(methods[1:], start=1):
            texts = [self._pair_text(ranking, method, other) for other in methods[:place]]
            empty = [""] * (len(methods) - 1 - place)
            lines.append([escape(title_of(method)), *texts, *empty])
        heads = [f"p, {ranking.measure.title}", *(escape(title_of(m)) for m in methods[:-1])]
        picture = f"![Average ranks by {ranking.measure.title}]({picture_name(self, ranking)})"
        table = pipe_table(heads, lines)
        return [f"#### {ranking.measure.title}", table, *([picture] if pictures else [])]

    def _pair_text(self, ranking: Ranking, one: str, other: str) -> str:
        ours, printed = ranking.p(one, other), self.published_p(ranking.metric, one, other)
        text = _p_text(ours)
        if ours is not None and ours < LEVEL:
            text = f"**{text}**"
        if ours is not None and printed is not None and ranking.as_published:
            text += " ‡" if (ours < LEVEL) != (printed < LEVEL) else ""
        return text + _bracket(printed, 3)


def rank_tables(summary: Summary) -> list[RankTables]:
    """Rank the paper's methods, and where there are others all methods."""
    run = summary.methods("original")
    scopes = {"paper": list(METHODS)}
    if not set(run) <= set(METHODS):
        scopes["all"] = run
    tables = [
        RankTables(scope, tuple(methods), tuple(rank_by(summary, m, methods) for m in _MEASURES))
        for scope, methods in scopes.items()
    ]
    return [table for table in tables if any(ranking.test for ranking in table.rankings)]


def ranks_markdown(summary: Summary, tables: Sequence[RankTables], *, pictures: bool = True) -> str:
    """Return rankings as a document."""
    note = "The pictures were not drawn: `pip install 'netbenefit[plots]'` brings matplotlib."
    legend = [
        "Rank 1 is best; equal means share the mean of their ranks. Ranks are of the unrounded "
        "means over the folds; AUROC, AUNBC and ECE on held-out rows.",
        "In square brackets: what the paper prints for its methods.",
        "Trees (whose size counts nodes) and XGBoost (which has no size) are not ranked by size.",
        "Friedman: whether all methods could be alike, with the correction for ties. Critical "
        "difference: average ranks that differ by so much differ at the 5% level (Nemenyi).",
        "Nemenyi: **bold** p-values are below 0.05; ‡ the verdict at 5% is not that of the paper.",
        f"{MISSING} left out, for lack of results.",
    ]
    if any(table.scope == "all" for table in tables):
        legend.append(
            "All methods: ranks depend on who else is ranked, so those of the two choices of "
            "methods do not compare. The exact engine works on the problem of RSS-DNB, and the two "
            "share places where both solve it."
        )
    return document(
        "Ranks over data sets",
        "Each method is ranked on each data set by its mean over the folds, and the ranks are "
        "averaged over the data sets.",
        run_words(summary),
        "## How to read it",
        bullets(legend),
        "" if pictures else note,
        *(part for table in tables for part in table.sections(pictures)),
    )


def picture_name(table: RankTables, ranking: Ranking) -> str:
    """Return the name of a picture's file."""
    return f"ranks_{table.scope}_{ranking.metric}.svg"


def _bracket(value: float | None, decimals: int) -> str:
    return "" if value is None else f" [{number(value, decimals)}]"


def _p_text(p: float | None) -> str:
    """Write a p-value as the paper does."""
    return MISSING if p is None else format_p_value(p)
