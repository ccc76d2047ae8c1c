"""Everything that is made of the rows: tables, figures, the case study, and an index of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from netbenefit.common.checks import InputError, shorten
from netbenefit.common.files import write_text
from reproduction.cards import write_cards
from reproduction.credit_report import write_credit
from reproduction.figures import write_figures
from reproduction.plan import BUDGETS, CREDIT, DATASETS, METHODS, OUTPUTS, Job
from reproduction.run import Row
from reproduction.store import read_rows, write_rows
from reproduction.tables import TABLES, write_tables

__all__ = ["check_overwriting", "index_page", "write_outputs"]

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
        See :func:`reproduction.run.run_job`.
    folder : path
    only : names of :data:`reproduction.plan.OUTPUTS`
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


def check_overwriting(folder: Path, plan: Iterable[Job]) -> None:
    """Refuse a folder whose results would be replaced by fewer.

    Outputs are made of the rows that are kept beside them.  Where these are absent, as in a fresh
    clone, a run of a few fits would write tables of these few over those of many.

    Parameters
    ----------
    folder : path
        Of the outputs; its rows are in ``rows``.
    plan : iterable of Job
        What is going to be fitted.
    """
    results = folder / "results.parquet"
    if not results.is_file():
        return
    kept = [row for file in (folder / "rows").glob("*--*.parquet") for row in read_rows(file)]
    known = {_key(row) for row in kept}
    known |= {(job.dataset, job.method, s, job.fold) for job in plan for s in job.settings}
    lost = [row for row in read_rows(results) if _key(row) not in known]
    if lost:
        methods = shorten(list(dict.fromkeys(row["method"] for row in lost)), 4)
        raise InputError(
            f"{folder} holds the results of {len(lost):,} fits (of {methods}) that this run would "
            f"not make again, and that {folder / 'rows'} does not have: its tables would lose "
            "them. Name another folder with --out."
        )


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("dataset", "method", "setting", "fold"))


def _short(row: Mapping[str, Any]) -> Row:
    return {name: value for name, value in row.items() if name not in _LONG}


def index_page(rows: Sequence[Mapping[str, Any]], files: Iterable[Path]) -> str:
    """What was run, and where its tables and figures are, as Markdown."""
    links = [f"* [{file.name}]({file.name})" for file in files]
    return "\n".join(["# The paper's experiments, run again", "", *_told(rows), "", *links, ""])


def _told(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not rows:
        return ["No fit was made for what is here."]
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
