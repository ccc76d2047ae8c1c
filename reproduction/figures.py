"""All figures of a run: ``write_figures(rows, folder)``."""

from __future__ import annotations

import csv
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import InputError, check_binary
from netbenefit.common.files import write_text
from netbenefit.common.table import Table
from netbenefit.plots.base import check_picture, write_figure
from reproduction.curves import (
    HIGHLIGHTED,
    Drawn,
    Outcomes,
    PooledRun,
    Row,
    case_table,
    draw_case,
    draw_kind,
    numbers_of,
    pool_run,
)
from reproduction.names import method_order, title_of
from reproduction.region import (
    boundary_pairs,
    card_pair,
    correlated_pairs,
    draw_region_calibration,
    draw_region_credit,
    draw_region_theory,
)

# -- figures and their numbers as files: small, and the same for the same input --------------------


#: Paths and places in an SVG file, and the long numbers in them.
_PLACES = re.compile(r'(?<= )(?:d|x|y)="[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{2,}")
#: Markers that are defined once, and where they are used.
_MARKS = re.compile(r'<path id="(?P<id>[^"]+)"[^>]*? style="(?P<style>[^"]*)"')
_USES = re.compile(r'(?P<start><use xlink:href="#(?P<id>[^"]+)"[^>]*?) style="(?P<style>[^"]*)"')
#: matplotlib lists a dozen fonts at every word.
_FONTS = re.compile(r"'DejaVu Sans', [^\";]*sans-serif")


def svg_text(figure: Any) -> str:
    """Return a figure as SVG, its places rounded to a tenth of a point."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "figure.svg")
        write_figure(figure, file)
        text = file.read_text(encoding="utf-8")
    text = _FONTS.sub("'DejaVu Sans', Verdana, sans-serif", text)
    text = _without_repetition(_PLACES.sub(_rounded, text))
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(lines) + "\n"


def _rounded(place: re.Match[str]) -> str:
    return _LONG.sub(_short, place[0])


def _short(number: re.Match[str]) -> str:
    """Keep hundredths in small shapes such as markers, tenths elsewhere."""
    value = float(number[0])
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def _without_repetition(text: str) -> str:
    """Leave out of each use of a marker what the marker itself says, which holds anyhow."""
    styles = {mark["id"]: set(mark["style"].split("; ")) for mark in _MARKS.finditer(text)}

    def shortened(use: re.Match[str]) -> str:
        own = [part for part in use["style"].split("; ") if part not in styles.get(use["id"], ())]
        return f'{use["start"]} style="{"; ".join(own)}"' if own else use["start"]

    return _USES.sub(shortened, text)


def csv_text(table: Table) -> str:
    """Return a table as CSV; numbers to seven digits, nothing where a number is missing."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(
        [_cell(value) for value in row]
        for row in zip(*(column.tolist() for column in table.values()), strict=True)
    )
    return out.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.7g}"
    return str(value)


def save_drawn(name: str, figure: Any, table: Table, folder: Path) -> list[Path]:
    """Write a figure as ``name.svg`` and its numbers as ``name.csv``."""
    files = [folder / f"{name}.svg", folder / f"{name}.csv"]
    write_text(files[0], svg_text(figure))
    write_text(files[1], csv_text(table))
    return files


# -- a page that shows the figures, with a caption for each ----------------------------------------


class Caption(NamedTuple):
    """What stands above and below a figure."""

    title: str
    text: str


#: By file name, in the order of the page.
CAPTIONS: Mapping[str, Caption] = MappingProxyType(
    {
        "roc": Caption(
            "ROC curves",
            "Sensitivity against one minus specificity. Every row was predicted by the model that "
            "had not seen its fold, and the predictions of all folds are pooled; the AUROC is that "
            "of the pooled predictions, so it need not be the mean over folds. Where most curves "
            "hug the upper left corner, it is shown larger inside the panel. Corners of a curve "
            "that lie within 0.002 of a straight line are left out. SLIM predicts two risks only, "
            "hence the single corner among the grey curves.",
        ),
        "calibration": Caption(
            "Calibration",
            "Share of events against mean predicted risk, in the ten intervals of risk from 0–10% "
            "to 90–100%, on pooled held-out predictions. A larger point stands for a larger share "
            "of the rows. Hollow points stand for fewer than ten rows, which say little. Lines "
            "join neighbouring intervals; across intervals that are empty or nearly so there is "
            "none. On the dotted diagonal, predicted and observed risk agree.",
        ),
        "decision": Caption(
            "Decision curves",
            "Net benefit at the thresholds 0%, 1%, …, 99%, on pooled held-out predictions, with "
            "treating all and treating none. Parts far below zero are cut off.",
        ),
        "credit-curves": Caption(
            "Credit: ROC, calibration and decision curves",
            "The case study: all methods on the quarter of the borrowers that was held out. Its "
            "calibration curves join all intervals that hold rows, however few.",
        ),
        "region-theory": Caption(
            "AUROC and AUNBC: what is possible",
            "For half of the rows being events and the thresholds 0, 0.2, …, 0.8: the most and the "
            "least AUNBC that a model with a given AUROC can have. The AUROC is grouped: "
            "an event and a non-event between the same two thresholds count as ordered. The "
            "published lower bound is a constant; the least possible value rises with the AUROC.",
        ),
        "region-credit": Caption(
            "AUROC and AUNBC: the credit data",
            "Prevalence of the credit data, thresholds 0, 0.1, …, 0.9. Random predictions with a "
            "given correlation to the outcome (type I) lie far below the upper bound, most of them "
            "below treating none; predictions made for it (type II) lie on it. High "
            "discrimination does not bring high utility by itself.",
        ),
        "region-calibration": Caption(
            "AUROC and AUNBC: before and after calibration",
            "The type I predictions of the figure above, before and after Algorithm 2 with the "
            "order of the predictions kept; an arrow joins the two. AUNBC never falls. The "
            "ordinary AUROC (right) stays as it is; a pair may even lie above the curve there, "
            "which bounds the grouped AUROC only. By the grouped AUROC (left), joined levels "
            "gain, since ties are wins.",
        ),
    }
)


_HOW = (
    f"{title_of(HIGHLIGHTED)}, the published method, stands out; all others are grey, and are told "
    "apart by the numbers behind each figure. `netbenefit reproduce` makes numbers and figures; "
    "`python -m reproduction.figures docs/reproduction` draws curves again from the numbers."
)


def page_text(shown: Iterable[str], methods: Iterable[str] = (), notes: Sequence[str] = ()) -> str:
    """Return the page, as Markdown."""
    there = set(shown)
    parts = ["# Figures", _HOW]
    for name, caption in CAPTIONS.items():
        if name in there:
            numbers = f"Numbers: [{name}.csv]({name}.csv)."
            parts += [f"## {caption.title}", f"![{caption.title}]({name}.svg)"]
            parts += [f"{caption.text} {numbers}"]
    if order := method_order(methods):
        names = "\n".join(f"| `{method}` | {title_of(method)} |" for method in order)
        parts += ["## Methods", f"| in tables | in figures |\n|---|---|\n{names}"]
    if notes:
        parts += ["## What is lacking", "\n".join(f"- {note}" for note in notes)]
    return "\n\n".join(parts) + "\n"


#: Names of all figures.
FIGURES = tuple(CAPTIONS)

_CURVES = ("roc", "calibration", "decision")
_CREDIT = "credit"
PAGE = "figures.md"


class FigureSet(NamedTuple):
    """Figures by name, and what is lacking."""

    figures: dict[str, Drawn]
    notes: list[str]


def load_outcomes(dataset: str) -> NDArray[np.bool_]:
    """Read the outcomes of a data set; an ``InputError`` says what to do where it is absent."""
    from reproduction.datasets import load_credit, load_dataset  # late: tables need their time

    return load_credit()[1] if dataset == _CREDIT else load_dataset(dataset).y


def write_figures(
    rows: Sequence[Row],
    folder: str | os.PathLike[str],
    only: Iterable[str] | None = None,
    *,
    outcomes: Outcomes | None = None,
) -> list[Path]:
    """Write all figures that the rows of a run allow, their numbers, and a page that shows them.

    With ``only`` some figures, the page still shows what the folder held before.
    """
    chosen = _checked(only)
    check_picture(Path(PAGE).with_suffix(".svg"))  # before the work
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    drawn, notes = draw_figures(rows, chosen, outcomes=outcomes)
    files = []
    for name, (figure, table) in drawn.items():
        files += save_drawn(name, figure, table, place)
    before = [] if only is None else [n for n in FIGURES if (place / f"{n}.svg").is_file()]
    methods = {row["method"] for row in rows}
    write_text(place / PAGE, page_text([*drawn, *before], methods, notes))
    return [*files, place / PAGE]


def draw_figures(
    rows: Sequence[Row], only: Iterable[str] | None = None, *, outcomes: Outcomes | None = None
) -> FigureSet:
    """Draw all figures that the rows of a run allow."""
    chosen, known = _checked(only), _Known(outcomes or load_outcomes)
    figures: dict[str, Drawn] = {}
    notes: list[str] = []
    curves = [name for name in chosen if name in _CURVES]
    if curves:
        pooled, lacking = pool_run(rows, known)
        notes += lacking
        for name in curves:
            _draw_curves(name, pooled, figures, notes)
    if "credit-curves" in chosen:
        _draw_case(rows, known, figures, notes)
    if "region-theory" in chosen:
        figures["region-theory"] = draw_region_theory()
    regions = [name for name in chosen if name in ("region-credit", "region-calibration")]
    if regions:
        _draw_regions(regions, rows, known, figures, notes)
    return FigureSet(figures, notes)


class _Known:
    """Outcomes that are read once each."""

    def __init__(self, read: Outcomes) -> None:
        self._read = read
        self._kept: dict[str, NDArray[np.bool_]] = {}

    def __call__(self, dataset: str) -> NDArray[np.bool_]:
        if dataset not in self._kept:
            self._kept[dataset] = check_binary(self._read(dataset), name=f"outcome of {dataset!r}")
        return self._kept[dataset]


def _draw_curves(name: str, pooled: PooledRun, figures: dict[str, Drawn], notes: list[str]) -> None:
    if pooled:
        figures[name] = draw_kind(name, numbers_of(name, pooled))
    else:
        notes.append(f"{name}: not drawn, as the run has no held-out predictions.")


def _draw_case(
    rows: Sequence[Row], known: _Known, figures: dict[str, Drawn], notes: list[str]
) -> None:
    pooled, lacking = pool_run(rows, known, datasets=[_CREDIT])
    if _CREDIT in pooled:  # a part of the rows is held out, by design: no note on that
        figures["credit-curves"] = draw_case(case_table(pooled[_CREDIT]))
    else:
        notes += lacking or ["credit-curves: not drawn, as the run has no case study."]


def _draw_regions(
    names: Sequence[str],
    rows: Sequence[Row],
    known: _Known,
    figures: dict[str, Drawn],
    notes: list[str],
) -> None:
    try:
        y = known(_CREDIT)
    except InputError as error:
        notes.append(f"{', '.join(names)}: not drawn, as the credit data are not there: {error}")
        return
    card = card_pair(rows, y)
    if card is None:
        notes.append(
            f"{', '.join(names)}: without the illustrative credit card, which the run has not "
            "trained (data set credit, fold -1)."
        )
    share, type_1 = float(y.mean()), correlated_pairs(y)
    shared: dict[str, Any] = {"prevalence": share, "card": card}
    if "region-credit" in names:
        figures["region-credit"] = draw_region_credit(type_1, boundary_pairs(y), **shared)
    if "region-calibration" in names:
        figures["region-calibration"] = draw_region_calibration(type_1, **shared)


def _checked(only: Iterable[str] | None) -> tuple[str, ...]:
    """Names in the order of the page."""
    chosen = set(FIGURES if only is None else only)
    if unknown := sorted(chosen - set(FIGURES)):
        raise InputError(
            f"there is no figure {unknown[0]!r}. Choose from {', '.join(map(repr, FIGURES))}."
        )
    return tuple(name for name in FIGURES if name in chosen)


# -- drawing again from the numbers ----------------------------------------------------------------


def read_numbers(file: Path) -> Table:
    """Read what :func:`save_drawn` wrote."""
    with open(file, encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    text = ("dataset", "method", "panel")
    return Table(
        {
            name: np.array(cells) if name in text else np.array([float(c or "nan") for c in cells])
            for name, cells in columns.items()
        }
    )


def draw_again(folder: Path) -> list[Path]:
    """Draw curves from the numbers in a folder; rows and data are not needed."""
    files = []
    for name in (*_CURVES, "credit-curves"):
        file = folder / f"{name}.csv"
        if not file.is_file():
            continue
        table = read_numbers(file)
        drawn = draw_case(table) if name == "credit-curves" else draw_kind(name, table)
        files.append(folder / f"{name}.svg")
        write_text(files[-1], svg_text(drawn.figure))
    return files


if __name__ == "__main__":
    for written in draw_again(Path(sys.argv[1])):
        sys.stdout.write(f"{written}\n")
