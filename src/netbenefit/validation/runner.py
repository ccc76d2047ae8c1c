"""One unit of validation: learn from some rows, measure on others, tell it in JSON."""

from __future__ import annotations

import builtins
import os
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit._version import __version__
from netbenefit.common.checks import InputError
from netbenefit.common.journal import fingerprint_of, run_tasks
from netbenefit.common.parallel import one_by_one, only_task_here
from netbenefit.common.progress import TaskBar
from netbenefit.metrics.measures import (
    chance_of,
    check_thresholds_at,
    measures_of,
    rules_of,
    size_of,
)
from netbenefit.metrics.thresholds import Thresholds, ThresholdsLike, as_thresholds
from netbenefit.validation.folds import (
    Sample,
    check_classifier,
    fit_model,
    prepared,
    risk_of,
    take_rows,
)

__all__ = ["Runner", "Task", "Work", "check_count", "make_work", "run_one", "warnings_kept"]


class Work(NamedTuple):
    """What all tasks of a validation share."""

    estimator: Any
    sample: Sample
    grid: Thresholds
    at: tuple[float, ...]
    single: bool = False  #: whether tasks run side by side


class Task(NamedTuple):
    """One model: what it learns from, and on which parts of the rows it is measured."""

    train: NDArray[np.intp]
    parts: Mapping[str, NDArray[np.intp]]
    seed: int
    setting: Mapping[str, Any] = {}
    keep: str = ""  #: the part whose predicted risks are kept
    chance: str = ""  #: the part for which chance is measured, too


def run_one(work: Work, task: Task) -> dict[str, Any]:
    """Learn and measure.

    1. A fresh copy of the estimator learns from the training rows alone.
    2. It predicts all rows that any part asks for, once.
    3. Each part is measured with its own weights; rows drawn twice count twice.
    """
    began = time.perf_counter()
    sample = work.sample
    model = prepared(work.estimator, task.setting, task.seed, single=work.single)
    wanted = np.unique(np.concatenate(list(task.parts.values())))
    risk = np.full(sample.event.size, np.nan)
    with warnings_kept() as told:
        fit_model(model, sample, task.train)
        risk[wanted] = risk_of(model, _rows(sample.X, wanted, sample.event.size), sample.labels)

    def of(rows: NDArray[np.intp]) -> tuple[Any, ...]:
        return sample.event[rows], risk[rows], sample.weight_of(rows), work.grid, work.at

    measured = {name: measures_of(*of(rows)) for name, rows in task.parts.items()}
    rules = rules_of(model)
    result: dict[str, Any] = {
        "measures": measured,
        "size": size_of(model),
        "rules": None if rules is None else list(rules),
        "seconds": time.perf_counter() - began,
        "warnings": told,
    }
    if task.keep:
        result["risk"] = risk[task.parts[task.keep]]
    if task.chance:
        result["chance"] = chance_of(*of(task.parts[task.chance]))
    return result


@contextmanager
def warnings_kept(*, about_code: bool = True) -> Iterator[list[list[str]]]:
    """Keep warnings as kinds and texts, to be given once for all models, in whatever process.

    Those about somebody's code, such as things to come, are left out on demand.  Not where other
    threads work on other tasks, among which the catching of warnings is not safe: there they go
    their way.
    """
    told: list[list[str]] = []
    if not only_task_here():
        yield told
        return
    caught: list[tuple[type[Warning], Warning | str]] = []
    here, others = threading.get_ident(), warnings.showwarning

    def keep(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if threading.get_ident() == here:
            caught.append((category, message))
        else:  # such as of the thread in which a Dask worker listens
            others(message, category, *where, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = keep
        yield told
    told += [
        [category.__name__, str(message)]
        for category, message in caught
        if about_code or _matters(category)
    ]


def _matters(category: type[Warning]) -> bool:
    """Whether a warning is about the data, not about somebody's code."""
    programmers = (DeprecationWarning, FutureWarning, PendingDeprecationWarning, ImportWarning)
    return not issubclass(category, programmers)


def _warn_once(results: Iterable[Mapping[str, Any]]) -> None:
    """Give the warnings of all models, each once."""
    found = dict.fromkeys((kind, text) for one in results for kind, text in one["warnings"])
    for kind, text in found:
        known = getattr(builtins, kind, None)
        if isinstance(known, type) and issubclass(known, Warning):
            warnings.warn(text, known, stacklevel=4)
        else:
            warnings.warn(f"{kind}: {text}", stacklevel=4)


def _rows(X: Any, rows: NDArray[np.intp], n_rows: int) -> Any:
    return X if rows.size == n_rows else take_rows(X, rows)


# -- many of them ----------------------------------------------------------------------------------


def make_work(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    thresholds: ThresholdsLike,
    at: Sequence[float] | float | None,
) -> Work:
    """Check what a user passed; thresholds are the estimator's own unless others are given."""
    sample = Sample.of(X, y, sample_weight)
    check_classifier(estimator, sample)
    grid = _own_thresholds(estimator) if thresholds is None else as_thresholds(thresholds)
    return Work(estimator, sample, grid, check_thresholds_at(at))


def _own_thresholds(estimator: Any) -> Thresholds:
    """Thresholds of an estimator, or of what it wraps; else the default ones."""
    for _ in range(10):  # wrappers of wrappers have an end
        own = getattr(estimator, "thresholds", None)
        if hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        elif own is None and hasattr(estimator, "estimator"):
            estimator = estimator.estimator
        else:  # (nearest neighbours have weights, too, but these are no weights of thresholds)
            known = hasattr(estimator, "thresholds")
            return as_thresholds(own, getattr(estimator, "weights", None) if known else None)
    return as_thresholds(None)


class Runner:
    """Runs tasks in parallel, with a journal and a bar that several batches share.

    Parameters
    ----------
    work : Work
    kind : str
        What is done: part of the fingerprint.
    settings : mapping
        All else on which results depend.
    total : int
        Tasks of all batches together.
    given : bool, default=False
        Whether the user chose the rows of the tasks: then these are part of a task's name in the
        journal.
    journal, n_jobs, verbose
        As in :func:`netbenefit.validation.cross_validation.cross_validate`.
    """

    def __init__(
        self,
        work: Work,
        kind: str,
        settings: Mapping[str, Any],
        *,
        total: int,
        given: bool = False,
        journal: str | os.PathLike[str] | None,
        n_jobs: int | None,
        verbose: int,
    ) -> None:
        self._work = work._replace(single=not one_by_one(n_jobs))
        self._total, self._done, self._given = total, 0, given
        self._told: dict[str, Any] = {"journal": journal, "n_jobs": n_jobs, "fingerprint": ""}
        if journal is not None:
            self._told["fingerprint"] = fingerprint_of(
                kind=kind,
                version=__version__,
                estimator=work.estimator,
                X=work.sample.X,
                labels=work.sample.labels,
                weight=work.sample.weight,
                thresholds=work.grid,
                at=work.at,
                settings=settings,
            )
        self._bar = TaskBar(kind, shown=bool(verbose))

    def __enter__(self) -> Runner:
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)

    def run(self, tasks: Mapping[str, Task]) -> dict[str, dict[str, Any]]:
        """Run a batch; results by the tasks' names."""
        before = self._done
        names = {name: self._name(name, task) for name, task in tasks.items()}
        found = run_tasks(
            partial(run_one, self._work),
            {names[name]: task for name, task in tasks.items()},
            progress=lambda done, total: self._bar(before + done, self._total),
            **self._told,
        )
        self._done += len(tasks)
        _warn_once(found.values())
        return {name: found[names[name]] for name in tasks}

    def _name(self, name: str, task: Task) -> str:
        if not self._given:
            return name
        return f"{name} ({fingerprint_of(train=task.train, parts=task.parts)})"


def check_count(value: Any, name: str, least: int = 1) -> int:
    """Refuse what is no number of times."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name}={value!r} must be a whole number of at least {least}.")
    return int(value)
