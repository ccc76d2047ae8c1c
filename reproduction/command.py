"""What ``netbenefit reproduce`` does: run a plan and write its outputs, with news on the way."""

from __future__ import annotations

from pathlib import Path

import typer

from netbenefit.cli.terminal import make_console, program_name, tell
from netbenefit.common.checks import InputError
from netbenefit.common.progress import TaskBar
from reproduction.needs import check_needs
from reproduction.outputs import check_overwriting, write_outputs
from reproduction.plan import Job, make_plan
from reproduction.run import Failure, Outcome, run_plan

__all__ = ["reproduce"]

#: So many failed fits are told one by one.
_MOST_FAILURES = 5


def reproduce(
    budget: str,
    folder: Path,
    only: list[str],
    datasets: list[str],
    methods: list[str],
    *,
    jobs: int,
    quiet: bool,
) -> bool:
    """Fit what is not there yet and write all outputs; return whether any fit failed."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file. Name a folder: --out FOLDER.")
    plan = make_plan(budget, only=only, datasets=datasets, methods=methods)
    plan, left_out = check_needs(plan, asked=methods)
    check_overwriting(folder, plan)
    for note in left_out:
        tell("yellow", "note", note)
    found = _run(plan, folder, jobs, quiet)
    _write(found, folder, only, quiet)
    _tell_failures(found.failures)
    return bool(found.failures)


def _run(plan: list[Job], folder: Path, jobs: int, quiet: bool) -> Outcome:
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
