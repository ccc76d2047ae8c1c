"""Tables of means over folds: performance, ablations, sensitivity to the thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from reproduction.names import (
    DATASETS,
    MEASURES,
    METHODS,
    OWN_METHODS,
    Measure,
    title_of,
)
from reproduction.published import PublishedCell, load_published
from reproduction.rank_tables import competing
from reproduction.summary import (
    MISSING,
    Cell,
    Summary,
    bullets,
    document,
    escape,
    number,
    outside,
    pipe_table,
    run_words,
    spread,
)

_TEST = tuple(m for m in MEASURES.values() if m.split != "train")
_TRAIN = tuple(m for m in MEASURES.values() if m.split == "train")


class Line(NamedTuple):
    """One line of a table; those of the paper are shown even where nothing was run."""

    method: str
    setting: str
    title: str

    @property
    def in_paper(self) -> bool:
        """Whether any data set has printed numbers of it."""
        return (self.method, self.setting) in _printed_lines()


@cache
def _printed_lines() -> frozenset[tuple[str, str]]:
    return frozenset((method, setting) for _, method, setting, _ in load_published().cells)


@dataclass(frozen=True)
class CellTable:
    """Lines of cells, a section for each data set; if ``ranked``, the best are marked."""

    title: str
    words: str
    lines: tuple[Line, ...]
    head: str
    ranked: bool
    summary: Summary

    @property
    def datasets(self) -> list[str]:
        """Data sets on which any line was run."""
        return [d for d in self.summary.datasets() if any(self._ran(d, x) for x in self.lines)]

    def _ran(self, dataset: str, line: Line) -> bool:
        return (dataset, line.method, line.setting) in self.summary

    def cell(self, dataset: str, line: Line, measure: Measure) -> Cell:
        """Return our numbers."""
        return self.summary.cell(dataset, line.method, line.setting, measure.key)

    def published(self, dataset: str, line: Line, measure: Measure) -> PublishedCell | None:
        """Return the printed numbers."""
        return load_published().cells.get((dataset, line.method, line.setting, measure.key))

    def outside(self, dataset: str, line: Line, measure: Measure) -> bool | None:
        """Tell whether our mean is out of step with the printed numbers."""
        cell = self.cell(dataset, line, measure)
        return outside(measure, cell, self.published(dataset, line, measure))

    # -- CSV ---------------------------------------------------------------------------------------

    def records(self) -> list[dict[str, Any]]:
        """Return one record per data set, line and measure: ours, the printed ones, the verdict."""
        return [
            self._record(dataset, line, measure)
            for dataset in self.datasets
            for line in self.lines
            for measure in MEASURES.values()
        ]

    def _record(self, dataset: str, line: Line, measure: Measure) -> dict[str, Any]:
        cell, printed = self.cell(dataset, line, measure), self.published(dataset, line, measure)
        spreads = ("mean", "sd", "min", "max")
        return {
            "dataset": dataset,
            "method": line.method,
            "setting": line.setting,
            "split": measure.split,
            "metric": measure.metric,
            **{key: getattr(cell, key) for key in spreads},
            "n_folds": cell.n_folds,
            **{f"published_{key}": getattr(printed, key, None) for key in spreads},
            "outside": self.outside(dataset, line, measure),
        }

    # -- Markdown ----------------------------------------------------------------------------------

    def markdown(self) -> str:
        """Return the table as a document."""
        datasets = self.datasets
        absent = [title for name, title in DATASETS.items() if name not in datasets]
        return document(
            self.title,
            self.words,
            run_words(self.summary),
            "## How to read it",
            self._legend(),
            f"Not run: {', '.join(absent)}." if absent else "",
            "## Agreement with the paper",
            self._agreement(),
            *(part for dataset in datasets for part in self._section(dataset)),
        )

    def _legend(self) -> str:
        marks = (
            "Among the lines of a table, the **best** value of a column is bold and the _second "
            "best_ in italics, by the digits shown. The sizes of trees count nodes, those of all "
            "others features, so trees do not compete in size."
        )
        return bullets(
            [
                "Each cell: our mean ± standard deviation over the folds (n − 1), for sizes our "
                "mean (smallest–largest); then in square brackets what the paper prints, where "
                "it prints something.",
                "AUROC and AUNBC: higher is better. ECE and size: lower is better.",
                "RSS-DNB is the published integer program on HiGHS, which starts from a short "
                "search of ours and, in the time it has, hardly improves on it.",
                *([marks] if self.ranked else []),
                "† our mean differs from the printed mean by more than two printed standard "
                "deviations, allowing for the rounding of both (half a unit of the last digit); "
                "for sizes, it lies outside the printed smallest–largest. The standard deviation "
                "is that between folds, not the error of the mean.",
                f"{MISSING} not run, or not defined (one fold has no standard deviation); an "
                "empty cell is empty in the paper, too.",
            ]
        )

    def _agreement(self) -> str:
        """Count the cells without a mark, by line and measure."""
        lines, totals = [], dict.fromkeys(MEASURES, (0, 0))
        for line in self.lines:
            if not line.in_paper:
                continue
            texts = []
            for key, measure in MEASURES.items():
                found = [self.outside(dataset, line, measure) for dataset in self.datasets]
                within, seen = found.count(False), len(found) - found.count(None)
                totals[key] = (totals[key][0] + within, totals[key][1] + seen)
                none = "" if self._empty_in_paper(line, measure) else MISSING
                texts.append(_share(within, seen, none))
            lines.append([escape(line.title), *texts])
        if not any(seen for _, seen in totals.values()):
            return "Nothing was run that the paper has, too."
        shares = [_share(within, seen, MISSING) for within, seen in totals.values()]
        lines.append(["**All**", *shares])
        heads = [
            m.title if m.key == "size" else f"{m.split.capitalize()} {m.title}"
            for m in MEASURES.values()
        ]
        return "Data sets without a †, of those that can be compared:\n\n" + pipe_table(
            [self.head, *heads], lines
        )

    def _section(self, dataset: str) -> list[str]:
        return [
            f"## {escape(title_of(dataset))}",
            f"Held-out rows, and size. {self._folds(dataset)}",
            self._table(dataset, _TEST),
            "Training rows.",
            self._table(dataset, _TRAIN),
        ]

    def _folds(self, dataset: str) -> str:
        """Say over how many folds the means go, by line where they differ."""
        counts: dict[int, list[str]] = {}
        for line in self.lines:
            group = self.summary.get((dataset, line.method, line.setting))
            if group is not None:
                counts.setdefault(group.n_folds, []).append(escape(line.title))
        if len(counts) == 1:
            return f"{_folds_text(next(iter(counts)))}."
        most = max(counts, key=lambda n: len(counts[n]))
        few = [f"{_folds_text(n)} of {', '.join(counts[n])}" for n in counts if n != most]
        return f"{_folds_text(most)}, but {'; '.join(few)}."

    def _table(self, dataset: str, measures: Sequence[Measure]) -> str:
        marks = {m.key: self._marks(dataset, m) for m in measures}
        lines = [
            [
                escape(line.title),
                *(self._text(dataset, line, m, marks[m.key].get(line, "")) for m in measures),
            ]
            for line in self.lines
            if line.in_paper or self._ran(dataset, line)
        ]
        arrows = {True: "↑", False: "↓"}
        heads = [f"{m.title} {arrows[m.higher_is_better]}" for m in measures]
        return pipe_table([self.head, *heads], lines)

    def _marks(self, dataset: str, measure: Measure) -> dict[Line, str]:
        """Signs around the best and the second best mean, by the digits that are shown."""
        if not self.ranked:
            return {}
        shown = {}
        for line in self.lines:
            mean = self.cell(dataset, line, measure).mean
            if mean is not None and competing([line.method], measure):
                shown[line] = round(mean, measure.decimals)
        levels = sorted(set(shown.values()), reverse=measure.higher_is_better)
        if len(levels) < 2:  # all alike: none is better
            return {}
        signs = dict(zip(levels[:2], ("**", "_"), strict=True))
        return {line: signs.get(value, "") for line, value in shown.items()}

    def _empty_in_paper(self, line: Line, measure: Measure) -> bool:
        return line.in_paper and not any(
            self.published(dataset, line, measure) for dataset in DATASETS
        )

    def _text(self, dataset: str, line: Line, measure: Measure, mark: str) -> str:
        cell, printed = self.cell(dataset, line, measure), self.published(dataset, line, measure)
        digits = measure.decimals
        text = ""
        if cell.mean is not None:
            text = f"{mark}{number(cell.mean, digits)}{mark}{spread(cell, measure.key, digits)}"
            group = self.summary[dataset, line.method, line.setting]
            if cell.n_folds < group.n_folds:
                text += f" in {_folds_text(cell.n_folds)}"
            text += " †" if self.outside(dataset, line, measure) else ""
        elif not self._empty_in_paper(line, measure):
            text = MISSING
        text = _unbroken(text)
        if printed is None:
            return text
        inner = f"{number(printed.mean, digits)}{spread(printed, measure.key, digits)}"
        return f"{text} [{_unbroken(inner)}]"


def performance_table(summary: Summary) -> CellTable:
    """Return the methods of the paper, and those beyond it that were run."""
    own = [name for name in summary.methods("original") if name not in METHODS]
    return CellTable(
        title="Performance",
        words="The methods of the paper, and those of this package, compared on the same folds "
        "of each data set.",
        lines=tuple(Line(name, "original", title_of(name)) for name in [*METHODS, *own]),
        head="Method",
        ranked=True,
        summary=summary,
    )


def ablation_table(summary: Summary) -> CellTable:
    """Return the published methods with a part of them taken away."""
    settings = ("original", "c0=0", "no-calibration")
    lines = [_line(method, name) for method in ("rss-dnb", "rss-dnb-sa") for name in settings]
    own = [
        _line(method, name)
        for method in OWN_METHODS
        for name in settings
        if any(key[1:] == (method, name) for key in summary)
        and any(key[1] == method and key[2] in settings[1:] for key in summary)
    ]
    return CellTable(
        title="Ablations",
        words="What the size penalty and the calibration after training contribute: each is "
        "taken away in turn, and the rest stays as published.",
        lines=(*lines, *own),
        head="Variant",
        ranked=False,
        summary=summary,
    )


def sensitivity_table(summary: Summary, method: str) -> CellTable:
    """Return a published method, trained on other thresholds than it is measured on."""
    settings = ("original", "fine", "coarse", "random-ew", "random-lw")
    return CellTable(
        title=f"Sensitivity to the thresholds: {title_of(method)}",
        words="Trained for other thresholds and weights, and always measured on the thresholds "
        "i/10 with equal weights.",
        lines=tuple(
            Line(method, name, "original grid, i/10" if name == "original" else title_of(name))
            for name in settings
        ),
        head="Thresholds in training",
        ranked=False,
        summary=summary,
    )


def _line(method: str, setting: str) -> Line:
    return Line(method, setting, f"{title_of(method)}, {title_of(setting)}")


def _unbroken(text: str) -> str:
    """Keep a mean and its spread on one line, so that a narrow cell breaks between two of them."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _share(part: int, whole: int, none: str) -> str:
    return f"{part} of {whole}" if whole else none


def _folds_text(n: int) -> str:
    return "1 fold" if n == 1 else f"{n} folds"
