"""``netbenefit reproduce``: the paper's experiments, run again, beside the published numbers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netbenefit._cli_options import Debug, Quiet, option
from netbenefit._progress_bar import TaskBar
from netbenefit._terminal import friendly, make_console, program_name, tell

if TYPE_CHECKING:
    from netbenefit.experiments.plan import Job
    from netbenefit.experiments.runner import Failure, Outcome

__all__ = ["reproduce"]

#: So many failed fits are told one by one.
_MOST_FAILURES = 5


class BudgetNames(StrEnum):
    """How much time is spent."""

    quick = "quick"
    standard = "standard"
    paper = "paper"


@friendly
def reproduce(
    budget: Annotated[
        BudgetNames,
        typer.Option(
            help="quick: 2 folds of small data, in minutes. standard: everything, in 3 hours at "
            "most on 2 cores. paper: 10 minutes for every integer program, which takes days."
        ),
    ] = BudgetNames.standard,
    only: Annotated[
        list[str] | None,
        option(
            "NAME",
            "Only this output: performance, ablation, sensitivity, ranks, computational, "
            "objective, curves, region or credit. May be repeated.",
        ),
    ] = None,
    datasets: Annotated[str | None, option("LIST", "Data sets, separated by commas.")] = None,
    methods: Annotated[str | None, option("LIST", "Methods, separated by commas.")] = None,
    out: Annotated[
        Path | None,
        option(
            "FOLDER",
            "Where results go, and where finished fits are kept.",
            "docs/reproduction; docs/reproduction-quick for quick, and so on",
        ),
    ] = None,
    jobs: Annotated[int, option("N", "Fits at a time; −1 for one a core.", min=-1)] = -1,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run the paper's experiments again: tables and figures, with the published numbers beside.

    Reads the data of the folder `NETBENEFIT_DATA`, or `../shared/data`.  Every finished fit is
    kept: after an interruption the same command goes on where it stopped, and makes the outputs
    anew from all that is there.
    """
    from netbenefit._validation import InputError
    from netbenefit.experiments.needs import check_needs
    from netbenefit.experiments.outputs import check_overwriting
    from netbenefit.experiments.plan import make_plan

    folder = out or Path("docs", "reproduction" + ("" if budget == "standard" else f"-{budget}"))
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file. Name a folder: --out FOLDER.")
    named = _words(methods)
    plan = make_plan(budget, only=only or (), datasets=_words(datasets), methods=named)
    plan, left_out = check_needs(plan, asked=named)
    check_overwriting(folder, plan)
    for note in left_out:
        tell("yellow", "note", note)
    found = _run(plan, folder, jobs, quiet)
    _write(found, folder, only or [], quiet)
    _tell_failures(found.failures)
    if found.failures:
        raise typer.Exit(1)


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _run(plan: list[Job], folder: Path, jobs: int, quiet: bool) -> Outcome:
    from netbenefit.experiments.runner import run_plan

    rows = folder / "rows"
    if not quiet:
        tell("bold", "fits", f"{len(plan):,}; each is kept in {rows} when it is done.")
    try:
        with TaskBar("fits", shown=not quiet, console=make_console(stderr=True)) as bar:
            return run_plan(plan, rows, n_jobs=jobs, progress=bar)
    except KeyboardInterrupt:
        tell(
            "bold red",
            "stopped",
            f"finished fits are kept in {rows}; the same command goes on from there.",
        )
        raise typer.Exit(130) from None


def _write(found: Outcome, folder: Path, only: list[str], quiet: bool) -> None:
    from netbenefit.experiments.outputs import write_outputs

    files = write_outputs(found.rows, folder, only)
    if not quiet:
        make_console().print(f"Wrote {len(files)} files; begin with {files[0]}", soft_wrap=True)


def _tell_failures(failures: list[Failure]) -> None:
    for failure in failures[:_MOST_FAILURES]:
        job = failure.job
        what = f"{job.method} ({job.setting}) on {job.dataset}, fold {job.fold}"
        tell("bold red", "failed", f"{what}: {failure.error}")
    if failures:
        tell(
            "bold red",
            "failed",
            f"{len(failures)} fits in all; `{program_name()} reproduce` tries them again.",
        )
