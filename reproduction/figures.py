"""All figures of a run: ``write_figures(rows, folder)``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import InputError, check_binary
from netbenefit.common.files import write_text
from netbenefit.plots.base import check_picture
from reproduction.curves import (
    Drawn,
    draw_calibration,
    draw_case,
    draw_decision,
    draw_roc,
)
from reproduction.figures_files import save_drawn
from reproduction.figures_page import CAPTIONS, page_text
from reproduction.figures_pool import Outcomes, PooledRun, Row, pool_run
from reproduction.figures_region import (
    draw_region_calibration,
    draw_region_credit,
    draw_region_theory,
)
from reproduction.region import boundary_pairs, card_pair, correlated_pairs

__all__ = ["FIGURES", "FigureSet", "draw_figures", "load_outcomes", "write_figures"]

#: Names of all figures.
FIGURES = tuple(CAPTIONS)

_CURVES = {"roc": draw_roc, "calibration": draw_calibration, "decision": draw_decision}
_CREDIT = "credit"
PAGE = "figures.md"


class FigureSet(NamedTuple):
    """Figures by name, and what is lacking."""

    figures: dict[str, Drawn]
    notes: list[str]


def load_outcomes(dataset: str) -> NDArray[np.bool_]:
    """Read the outcomes of a data set; an ``InputError`` says what to do where it is absent."""
    from netbenefit.data.datasets import load_credit, load_dataset  # late: tables need their time

    return load_credit()[1] if dataset == _CREDIT else load_dataset(dataset).y


def write_figures(
    rows: Sequence[Row],
    folder: str | os.PathLike[str],
    only: Iterable[str] | None = None,
    *,
    outcomes: Outcomes | None = None,
) -> list[Path]:
    """Write all figures that the rows of a run allow, their numbers, and a page that shows them.

    Parameters
    ----------
    rows : sequence of mappings
        Rows of a run; incomplete ones will do.
    folder : path
        Made where it is not there.  Files of the same names are replaced.
    only : iterable of str, optional
        Names out of :data:`FIGURES`; all by default.  The page still shows what the folder held.
    outcomes : callable, optional
        From the name of a data set to its outcomes; by default :func:`load_outcomes`.

    Returns
    -------
    list of Path
        For each figure an SVG and a CSV file, and the page ``figures.md`` last.
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
    """Draw all figures that the rows of a run allow.

    Parameters
    ----------
    rows, only, outcomes
        As in :func:`write_figures`.

    Returns
    -------
    FigureSet
        ``figures`` by name, and ``notes``: a sentence on all that could not be drawn.
    """
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
        figures[name] = _CURVES[name](pooled)
    else:
        notes.append(f"{name}: not drawn, as the run has no held-out predictions.")


def _draw_case(
    rows: Sequence[Row], known: _Known, figures: dict[str, Drawn], notes: list[str]
) -> None:
    pooled, lacking = pool_run(rows, known, datasets=[_CREDIT])
    if _CREDIT in pooled:  # a part of the rows is held out, by design: no note on that
        figures["credit-curves"] = draw_case(pooled[_CREDIT])
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
    wanted = set(FIGURES if only is None else only)
    if unknown := sorted(wanted - set(FIGURES)):
        raise InputError(
            f"there is no figure {unknown[0]!r}. Choose from {', '.join(map(repr, FIGURES))}."
        )
    return tuple(name for name in FIGURES if name in wanted)
