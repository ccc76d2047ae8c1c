"""Everything that is made of the rows: tables, figures, the case study, and an index of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from netbenefit._atomic import write_text
from netbenefit.experiments.cards import write_cards
from netbenefit.experiments.credit_report import write_credit
from netbenefit.experiments.figures import write_figures
from netbenefit.experiments.plan import BUDGETS, CREDIT, DATASETS, METHODS, OUTPUTS
from netbenefit.experiments.store import write_rows
from netbenefit.experiments.tables import TABLES, write_tables
from netbenefit.experiments.work import Row

__all__ = ["write_outputs"]

#: Of no use without the data, and by far the largest part of a row.
_LONG = ("test_rows", "test_risks")


#: Figures of an output.
_FIGURES = {
    "curves": ("roc", "calibration", "decision"),
    "region": ("region-theory", "region-credit", "region-calibration"),
    "credit": ("credit-curves",),
}


def write_outputs(rows: Sequence[Row], folder: Path, only: Iterable[str] = ()) -> list[Path]:
    """Write tables and figures, as far as there are rows for them.

    Parameters
    ----------
    rows : sequence of dict
        See :func:`netbenefit.experiments.work.run_job`.
    folder : path
    only : names of :data:`netbenefit.experiments.plan.OUTPUTS`
        All by default.

    Returns
    -------
    list of Path
        The files, in the order in which one would read them.
    """
    wanted = tuple(only) or tuple(OUTPUTS)
    folder.mkdir(parents=True, exist_ok=True)
    files = write_tables(rows, folder, [name for name in wanted if name in TABLES])
    if "objective" in wanted:
        files += write_cards(rows, folder)
    files += write_figures(rows, folder, [name for key in wanted for name in _FIGURES.get(key, ())])
    if "credit" in wanted and any(row["dataset"] == CREDIT for row in rows):
        files += write_credit(rows, folder)
    if rows:
        results = folder / "results.parquet"
        write_rows([_short(row) for row in rows], results)
        files.append(results)
    index = folder / "index.md"
    write_text(index, index_page(rows, files))
    return [index, *files]


def _short(row: Mapping[str, Any]) -> Row:
    return {name: value for name, value in row.items() if name not in _LONG}


def index_page(rows: Sequence[Mapping[str, Any]], files: Iterable[Path]) -> str:
    """What was run, and where its tables and figures are, as Markdown.

    Examples
    --------
    >>> print(index_page([], [Path("performance.md")]))
    # The paper's experiments, run again
    <BLANKLINE>
    Nothing was run yet.
    <BLANKLINE>
    * [performance.md](performance.md)
    <BLANKLINE>
    """
    links = [f"* [{file.name}]({file.name})" for file in files]
    return "\n".join(["# The paper's experiments, run again", "", *_told(rows), "", *links, ""])


def _told(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not rows:
        return ["Nothing was run yet."]
    budgets = _found(rows, "budget", BUDGETS)
    hours = sum(row["seconds"] for row in rows if row["setting"] != "no-calibration") / 3600
    return [
        f"{len(rows):,} results of netbenefit {', '.join(_found(rows, 'version', ()))}; budget: "
        f"{', '.join(budgets)}. The fits took {hours:.1f} hours of one core.",
        "",
        f"* Data: {', '.join(_found(rows, 'dataset', (*DATASETS, CREDIT)))}",
        f"* Methods: {', '.join(_found(rows, 'method', METHODS))}",
    ]


def _found(rows: Sequence[Mapping[str, Any]], name: str, known: Iterable[str]) -> list[str]:
    """Values that occur, in the order in which they are known."""
    there = {str(row[name]) for row in rows}
    return [value for value in known if value in there] + sorted(there - set(known))
