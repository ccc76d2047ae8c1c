"""Run a plan: jobs that are done are left alone, the others run some at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from netbenefit.common.checks import InputError
from netbenefit.common.journal import Progress
from netbenefit.common.parallel import finished_tasks
from reproduction.methods import recipe_of
from reproduction.plan import Job
from reproduction.run import Row, run_job
from reproduction.store import Store

__all__ = ["Failure", "Outcome", "run_plan"]


class Failure(NamedTuple):
    """A job that gave no row, and why."""

    job: Job
    error: str


class Outcome(NamedTuple):
    """What the folder holds after a run, rows of earlier runs included, and what went wrong."""

    rows: list[Row]
    failures: list[Failure]


def run_plan(
    plan: Sequence[Job],
    folder: Path,
    *,
    n_jobs: int = -1,
    progress: Progress | None = None,
) -> Outcome:
    """Fit what is not in the folder yet.

    A job that fails does not stop the others; it is tried again by the next run.

    Parameters
    ----------
    plan : sequence of Job
    folder : path
        Of the rows; see :class:`~reproduction.store.Store`.
    n_jobs : int, default=-1
        Fits at a time, by joblib; each has one thread.
    progress : callable, optional
        Called with the numbers of finished and of all jobs.

    Returns
    -------
    Outcome
    """
    report = progress or (lambda done, total: None)
    failures = []
    with Store(folder) as store:
        waiting = [job for job in plan if not store.has(job, recipe_of(job))]
        done = len(plan) - len(waiting)
        report(done, len(plan))
        for job, rows in finished_tasks(run_job, _longest_first(waiting), n_jobs):
            if isinstance(rows, Exception):
                failures.append(Failure(job, f"{type(rows).__name__}: {rows}"))
            else:
                store.add(rows)
            done += 1
            report(done, len(plan))
        return Outcome([row for row in store.rows() if _is_current(row)], failures)


def _is_current(row: Row) -> bool:
    """Whether the row is what its job would give today, and not left over from another recipe."""
    # Risks without Algorithm 2 are read off from the fit of the original setting.
    setting = "original" if row["setting"] == "no-calibration" else row["setting"]
    job = Job(row["dataset"], row["method"], setting, row["fold"], row["budget"])
    try:
        return bool(row["recipe"] == recipe_of(job))
    except InputError:  # of a package that is not installed here: nothing is known against it
        return True


def _longest_first(jobs: Iterable[Job]) -> list[Job]:
    """Long jobs at the end would leave cores idle; the order of the plan decides among equals."""
    return sorted(jobs, key=lambda job: -job.seconds if job.seconds > 60 else 0.0)
