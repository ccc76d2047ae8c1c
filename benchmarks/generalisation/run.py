"""Run what is missing: one process per case, one thread per process; timed fits run last, alone."""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import netbenefit
from benchmarks.generalisation.benefit import contributions, regret
from benchmarks.generalisation.data import Case, Sample
from benchmarks.generalisation.methods import Card, Fit, Method, compile_for
from benchmarks.generalisation.rows import BoolArray, FloatArray
from benchmarks.generalisation.store import Result, Store
from netbenefit.metrics.benefit import auroc, expected_calibration_error
from netbenefit.updating.evaluate import recalibration

#: Where there is no terminal a line is written this often, in seconds.
EVERY = 60.0

console = Console(stderr=True)


class Job(NamedTuple):
    """A case with the methods that it lacks; they share its rows and the process."""

    case: Case
    methods: tuple[Method, ...]


class Done(NamedTuple):
    """What became of a job."""

    label: str
    fits: int
    errors: tuple[str, ...]


def missing_jobs(
    cases: Iterable[Case], methods: Sequence[Method], store: Store, *, redo: bool = False
) -> list[Job]:
    """List what is to be done, first replicates first: a stopped run has something of all."""
    jobs = []
    for case in sorted(cases, key=lambda case: case.replicate):
        possible = [m for m in methods if m.needs in case.offers]
        todo = tuple(m for m in possible if redo or not store.has(case, m))
        if todo:
            jobs.append(Job(case, todo))
    return jobs


def run(
    cases: Iterable[Case],
    methods: Sequence[Method],
    store: Store,
    *,
    n_jobs: int = 1,
    redo: bool = False,
) -> int:
    """Run and store the fits that are missing (``redo``: all); return how many were stored."""
    cases = list(cases)
    offered = frozenset().union(*(case.offers for case in cases))
    usable = [method for method in methods if method.needs in offered and _usable(method)]
    jobs = missing_jobs(cases, usable, store, redo=redo)
    total = sum(len(job.methods) for job in jobs)
    if not jobs:
        return 0
    _compile(jobs)
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    alone = [job for job in jobs if "cores" in job.case.offers]
    together = parallel(delayed(work)(job, store) for job in jobs if job not in alone)
    stored = 0
    with _progress(total) as advance:
        for done in chain(together, (work(job, store) for job in alone)):
            stored += done.fits
            advance(done)
    if stored < total:
        console.print(f"{total - stored} fits failed; the next run tries them again")
    return stored


def work(job: Job, store: Store) -> Done:
    """Run one job; a method that fails is reported and does not stop the others."""
    stored, errors = 0, []
    threads = None if "cores" in job.case.offers else 1
    with threadpool_limits(threads), warnings.catch_warnings():
        # Columns that are constant in a fold, small samples: expected here, thousands of times.
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("default", ConvergenceWarning)
        sample = job.case.load()
        for method in job.methods:
            try:
                fit_and_store(job.case, sample, method, store)
                stored += 1
            except Exception as error:  # hours of other fits must not be lost
                errors.append(f"{method.name}: {type(error).__name__}: {error}")
    return Done(f"{job.case.group} #{job.case.replicate}", stored, tuple(errors))


def fit_and_store(case: Case, sample: Sample, method: Method, store: Store) -> None:
    """Fit, measure, write."""
    X_train, X_test = sample.X_train, sample.X_test
    if method.raw and sample.raw_train is not None and sample.raw_test is not None:
        X_train, X_test = sample.raw_train, sample.raw_test
    fit = method.fit_predict(
        X_train,
        sample.y_train,
        X_test,
        sample.thresholds,
        case.replicate,
        None if method.raw else sample.questions,
    )
    # The rows' contributions serve paired errors over rows; simulated data have replicates.
    rows = contributions(sample.y_test, fit.risk, sample.thresholds)
    kept = rows if sample.truth is None else None
    store.save(case, method, measure(case, sample, method, fit), kept)


def slope(event: BoolArray, risk: FloatArray) -> float | None:
    """Slope of calibration; risks of exactly 0 and 1 are moved in by a millionth."""
    inside = np.clip(risk, 1e-6, 1.0 - 1e-6)
    return recalibration(event, inside).slope


def measure(case: Case, sample: Sample, method: Method, fit: Fit) -> Result:
    """Judge a fit by the test rows."""
    truth, grid = sample.truth, sample.thresholds
    outcome = sample.y_test if truth is None else truth
    return Result(
        kind=case.kind,
        data=case.data,
        replicate=case.replicate,
        method=method.name,
        n_train=int(sample.y_train.size),
        aunbc=float(contributions(outcome, fit.risk, grid).mean()),
        regret=None if truth is None else regret(truth, fit.risk, grid),
        auroc=auroc(sample.y_test, fit.risk),
        ece=expected_calibration_error(sample.y_test, fit.risk, grid),
        size=fit.size,
        seconds=fit.seconds,
        code=code_digest() if method.ours else "",
        slope=slope(sample.y_test, fit.risk),
        gap=fit.gap,
        questions=fit.questions,
    )


@cache
def code_digest() -> str:
    """Tell versions of the package's code apart, which settings and version number do not."""
    digest = hashlib.sha256()
    folder = Path(netbenefit.__file__).parent
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _usable(method: Method) -> bool:
    reason = method.missing()
    if reason is not None:
        console.print(f"{method.name} is skipped: {reason}", highlight=False)
    return reason is None


def _compile(jobs: Sequence[Job]) -> None:
    """Compile here, before several processes would do it at the same time."""
    for method in {method for job in jobs for method in job.methods}:
        if isinstance(method, Card):
            compile_for(method)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[Done], None]]:
    """Show what is done and how long it will take: a bar, or lines where there is no terminal."""
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=console, disable=not console.is_terminal,
    )  # fmt: skip
    begin = last = time.monotonic()
    finished = 0

    def advance(done: Done) -> None:
        nonlocal finished, last
        fits = done.fits + len(done.errors)
        finished += fits
        bar.update(task, advance=fits, description=done.label)
        for error in done.errors:
            console.print(f"{done.label}: {error}", highlight=False, markup=False, soft_wrap=True)
        now = time.monotonic()
        if not console.is_terminal and (now - last >= EVERY or finished == total):
            last = now
            minutes = (now - begin) / 60 * (total - finished) / finished
            line = f"{finished} of {total}, about {minutes:.0f} min left ({done.label})"
            console.print(line, highlight=False, markup=False)

    with bar:
        task = bar.add_task("", total=total)
        yield advance


def default_jobs() -> int:
    """Two processes, or one where there is one core."""
    return min(2, os.cpu_count() or 1)
