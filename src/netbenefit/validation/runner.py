"""Many tasks over folds or resamples: learn from some rows, measure on others, keep a journal."""

from __future__ import annotations

import builtins
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit._version import __version__
from netbenefit.common import (
    FloatArray,
    InputWarning,
    LeakWarning,
    Message,
    SmallTableWarning,
    TaskBar,
    fingerprint_of,
    one_by_one,
    only_task_here,
    read_parts,
    run_tasks,
)
from netbenefit.metrics import (
    Thresholds,
    ThresholdsLike,
    as_thresholds,
    chance_of,
    check_thresholds_at,
    measures_of,
    rules_of,
    size_of,
)
from netbenefit.validation.folds import (
    Sample,
    check_classifier,
    fit_model,
    prepared,
    risk_of,
    take_rows,
)


@dataclass(frozen=True, eq=False)
class Work:
    """What all tasks of a validation share; called with one task."""

    estimator: Any
    sample: Sample
    grid: Thresholds
    at: tuple[float, ...] = ()
    single: bool = False  #: whether tasks run side by side

    def identity(self, **settings: Any) -> dict[str, Any]:
        """All on which results depend, for a fingerprint."""
        return {
            "estimator": self.estimator,
            "X": self.sample.X,
            "labels": self.sample.labels,
            "weight": self.sample.weight,
            "thresholds": self.grid,
            "at": self.at,
            "settings": settings,
        }

    def __call__(self, task: Task) -> dict[str, Any]:
        """Fit a copy on the training rows, predict every row once, measure each part.

        Rows drawn twice count twice.
        """
        sample = self.sample
        model = prepared(self.estimator, task.setting, task.seed, single=self.single)
        rows = np.unique(np.concatenate(list(task.parts.values())))
        X = sample.X if rows.size == sample.event.size else take_rows(sample.X, rows)
        risk = np.full(sample.event.size, np.nan)
        fit_model(model, sample, task.train)
        risk[rows] = risk_of(model, X, sample.event_label)

        def of(rows: NDArray[np.intp]) -> tuple[Any, ...]:
            return sample.event[rows], risk[rows], sample.weight_of(rows), self.grid, self.at

        rules = rules_of(model)
        result: dict[str, Any] = {
            "measures": {name: measures_of(*of(rows)) for name, rows in task.parts.items()},
            "size": size_of(model),
            "rules": None if rules is None else list(rules),
        }
        if task.keep:
            result["risk"] = risk[task.parts[task.keep]]
        if task.chance:
            result["chance"] = chance_of(*of(task.parts[task.chance]))
        return result


class Task(NamedTuple):
    """One model: what it learns from, and on which parts of the rows it is measured."""

    train: NDArray[np.intp]
    parts: Mapping[str, NDArray[np.intp]]
    seed: int
    setting: Mapping[str, Any] = {}
    keep: str = ""  #: the part whose predicted risks are kept
    chance: str = ""  #: the part for which chance is measured, too


def measures_by_name(results: Sequence[Mapping[str, Any]], part: str) -> dict[str, FloatArray]:
    """Each measure of a part of the rows, over the results of several tasks."""
    names = results[0]["measures"][part]
    return {m: np.array([one["measures"][part][m] for one in results]) for m in names}


def run_one(function: Callable[[Any], dict[str, Any]], task: Any) -> dict[str, Any]:
    """The result of a task, the seconds that it took, and its warnings."""
    began = time.perf_counter()
    with warnings_kept() as kept:
        result = function(task)
    return {**result, "seconds": time.perf_counter() - began, "warnings": kept}


@contextmanager
def warnings_kept() -> Iterator[list[list[Any]]]:
    """Collect warnings: (kind, parts of the text, whether it is about the data, not about code).

    Catching warnings is not safe where other threads work on other tasks: there nothing is caught.
    """
    kept: list[list[Any]] = []
    if not only_task_here():
        yield kept
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
        yield kept
    for kind, text in caught:
        if issubclass(kind, SmallTableWarning):
            continue  # folds are smaller than the table, of which a fit tells
        parts = text.args if isinstance(text, Message) else [str(text)]
        kept.append([kind.__name__, parts, not issubclass(kind, _OF_CODE)])


#: Warnings for programmers.
_OF_CODE = (DeprecationWarning, FutureWarning, PendingDeprecationWarning, ImportWarning)


def _warn_once(results: Iterable[Mapping[str, Any]]) -> None:
    """Give the warnings of all models, each once."""
    kept = [(kind, read_parts(parts)) for one in results for kind, parts, *_ in one["warnings"]]
    for kind, parts in dict.fromkeys(kept):
        text, known = InputWarning(*parts), getattr(builtins, kind, None)
        if kind == InputWarning.__name__:
            warnings.warn(text, stacklevel=4)
        elif kind == LeakWarning.__name__:
            warnings.warn(LeakWarning(*parts), stacklevel=4)
        elif isinstance(known, type) and issubclass(known, Warning):
            warnings.warn(str(text), known, stacklevel=4)
        else:
            warnings.warn(f"{kind}: {text}", stacklevel=4)


def make_work(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    thresholds: ThresholdsLike,
    at: Sequence[float] | float | None,
    n_jobs: int | None,
) -> Work:
    """Check what a user passed; thresholds are the estimator's own unless others are given."""
    sample = Sample.of(X, y, sample_weight, estimator)
    check_classifier(estimator, sample)
    grid = _own_thresholds(estimator) if thresholds is None else as_thresholds(thresholds)
    return Work(estimator, sample, grid, check_thresholds_at(at), single=not one_by_one(n_jobs))


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
    """Runs tasks in parallel, with a journal and a progress bar that several batches share.

    ``function`` turns a task into a dict that fits into JSON, such as :class:`Work`; results depend
    on ``kind`` and ``identity``, which make the fingerprint of the journal, and, where the rows of
    tasks are ``given`` by the user, on these rows.  ``total`` counts the tasks of all batches.
    Without ``warn``, warnings are only left in the results.
    """

    def __init__(
        self,
        function: Callable[[Any], dict[str, Any]],
        kind: str,
        identity: Mapping[str, Any],
        *,
        total: int,
        given: bool = False,
        journal: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        warn: bool = True,
    ) -> None:
        self._function = partial(run_one, function)
        self._total, self._done, self._given, self._warn = total, 0, given, warn
        self._options: dict[str, Any] = {"journal": journal, "n_jobs": n_jobs, "fingerprint": ""}
        if journal is not None:
            self._options["fingerprint"] = fingerprint_of(
                kind=kind, version=__version__, **identity
            )
        self._bar = TaskBar(kind, shown=bool(verbose))

    def __enter__(self) -> Runner:
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)

    def run(self, tasks: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Run a batch; results by the tasks' names."""
        before = self._done
        names = {name: self._name(name, task) for name, task in tasks.items()}
        found = run_tasks(
            self._function,
            {names[name]: task for name, task in tasks.items()},
            progress=lambda done, total: self._bar(before + done, self._total),
            **self._options,
        )
        self._done += len(tasks)
        if self._warn:
            _warn_once(found.values())
        return {name: found[names[name]] for name in tasks}

    def _name(self, name: str, task: Task) -> str:
        if not self._given:
            return name
        return f"{name} ({fingerprint_of(train=task.train, parts=task.parts)})"
