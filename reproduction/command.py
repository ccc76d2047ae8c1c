"""``netbenefit reproduce``: run a plan and write its outputs, with news on the way."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from netbenefit.cli.options import Debug, Names, Quiet, option
from netbenefit.cli.terminal import make_console, print_note, program_name, report_user_errors
from netbenefit.common import install_command
from netbenefit.common.checks import InputError, shorten
from netbenefit.common.progress import TaskBar
from reproduction.datasets import DATASETS, check_present
from reproduction.fasterrisk import available
from reproduction.outputs import check_overwriting, write_outputs
from reproduction.plan import CREDIT, Job, make_plan
from reproduction.run import Failure, Outcome, run_plan

#: So many failed fits are listed one by one.
_MOST_FAILURES = 5

app = typer.Typer(
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
#: How much time is spent.
BudgetNames = StrEnum("BudgetNames", "quick standard paper")


@app.command(epilog="Example: netbenefit reproduce --budget quick --only performance")
@report_user_errors
def reproduce(
    budget: Annotated[
        BudgetNames,
        typer.Option(
            help="quick: 2 folds of small data, in minutes. standard: everything, in 3 hours at "
            "most on 2 cores. paper: 10 minutes for every integer program, which takes days."
        ),
    ] = BudgetNames.standard,
    only: Annotated[
        Names,
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
    jobs: Annotated[int, option("N", "Fits at a time; −1 for one per core.", min=-1)] = -1,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run the paper's experiments again: tables and figures, with the published numbers beside.

    Reads the data of the folder `NETBENEFIT_DATA`, or `../shared/data`.  Every finished fit is
    kept: after an interruption the same command goes on where it stopped, and makes the outputs
    anew from all that is there.
    """
    folder = out or Path("docs", "reproduction" + ("" if budget == "standard" else f"-{budget}"))
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file. Name a folder: --out FOLDER.")
    outputs, chosen = only or [], _words(methods)
    plan = make_plan(str(budget), only=outputs, datasets=_words(datasets), methods=chosen)
    plan, left_out = check_requirements(plan, required=chosen)
    check_overwriting(folder, plan)
    for note in left_out:
        print_note("yellow", "note", note)
    found = _run(plan, folder, jobs, quiet)
    _write(found, folder, outputs, quiet)
    _tell_failures(found.failures)
    if found.failures:
        raise typer.Exit(1)


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _run(plan: list[Job], folder: Path, jobs: int, quiet: bool) -> Outcome:
    rows = folder / "rows"
    if not quiet:
        print_note("bold", "fits", f"{len(plan):,}; each is kept in {rows} when it is done.")
    try:
        with TaskBar("fits", shown=not quiet, console=make_console(stderr=True)) as bar:
            return run_plan(plan, rows, n_jobs=jobs, progress=bar)
    except KeyboardInterrupt:
        print_note(
            "bold red",
            "stopped",
            f"finished fits are kept in {rows}; the same command goes on from there.",
        )
        raise typer.Exit(130) from None


def _write(found: Outcome, folder: Path, only: list[str], quiet: bool) -> None:
    files = write_outputs(found.rows, folder, only)
    if not quiet:
        make_console().print(f"Wrote {len(files)} files; begin with {files[0]}", soft_wrap=True)


def _tell_failures(failures: list[Failure]) -> None:
    for failure in failures[:_MOST_FAILURES]:
        job = failure.job
        what = f"{job.method} ({job.setting}) on {job.dataset}, fold {job.fold}"
        print_note("bold red", "failed", f"{what}: {failure.error}")
    if failures:
        print_note(
            "bold red",
            "failed",
            f"{len(failures)} fits in all; `{program_name()} reproduce` tries them again.",
        )


# -- what a run needs: data, packages, programs ----------------------------------------------------


#: Packages without which there are no rows or no outputs.
_PACKAGES = ("pyarrow", "matplotlib", "scikit_posthocs")


def check_requirements(
    plan: Sequence[Job], required: Sequence[str] = ()
) -> tuple[list[Job], list[str]]:
    """Return the jobs that can be done here, and notes on methods that were left out.

    That a method of ``required`` cannot be run is an error.
    """
    if not plan:
        return [], []
    lacking = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if lacking:
        raise InputError(
            f"the packages {shorten(lacking)} are not installed. Install them with "
            f"`{install_command('reproduce')}`."
        )
    for dataset in dict.fromkeys(job.dataset for job in plan):
        check_present(dataset if dataset in DATASETS else CREDIT)
    absent = {
        method: why
        for method, why in _absent().items()
        if any(job.method == method for job in plan)
    }
    for method in required:
        if method in absent:
            raise InputError(f"--methods: {method} cannot be run: {absent[method]}")
    notes = [f"{method} is left out: {why}" for method, why in absent.items()]
    return [job for job in plan if job.method not in absent], notes


def _absent() -> dict[str, str]:
    """Methods that cannot be run here, and why."""
    found = {}
    if importlib.util.find_spec("xgboost") is None:
        found["xgboost"] = f"it needs `{install_command('xgboost')}`."
    if not available():
        found["fasterrisk"] = (
            "it needs a Python environment of its own, named by NETBENEFIT_FASTERRISK_PYTHON."
        )
    return found
