"""Many tasks, some at a time: in this process, in others, or over a cluster, as joblib is told.

A worker that dies takes its tasks with it, not the run: what was not finished is run again.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from netbenefit.common.checks import InputError
from netbenefit.common.tasks_base import Lost, Numbered, Pass, attempt

__all__ = [
    "WorkerDied",
    "finished_tasks",
    "one_by_one",
    "only_task_here",
    "tasks_at_once",
    "threads_here",
]

#: Deaths of workers over a task among others, before it is run alone.
_AMONG_OTHERS = 2
#: Deaths over a task, lastly when it ran alone, before it is given up.
_MOST = 4


class WorkerDied(InputError):
    """The processes that worked on a task died, every time."""


def finished_tasks(
    function: Callable[[Any], Any], tasks: Iterable[Any], n_jobs: int | None
) -> Generator[tuple[Any, Any]]:
    """Call a function for each task, some at a time, and hand over what finishes, as it finishes.

    1. Run all tasks.  When a worker dies, those that it may have worked on are under suspicion.
    2. Run the rest first, then, among others once more, those under suspicion: what killed the
       worker may have had nothing to do with them.
    3. Run those that lost a worker again one at a time.  Then the culprit is known; and where many
       at a time took too much memory, one may fit.
    4. A task that loses its workers alone, too, is given up: its result is ``WorkerDied``, which
       comes after those of all other tasks.

    Parameters
    ----------
    function : callable
        Called with one task, in whatever process.
    tasks : iterable
    n_jobs : int or None
        Tasks at a time, by joblib.  1 is one after another, here, whatever the backend.

    Yields
    ------
    task, result
        An error is handed over like a result: were it raised where it arises, joblib would drop
        those results of other tasks that it has not handed over yet.

    Examples
    --------
    >>> dict(finished_tasks(abs, [-1, 2], 1))
    {-1: 1, 2: 2}
    """
    given = list(tasks)
    run = _choose_pass(function, n_jobs)
    deaths = [0] * len(given)
    waiting = set(range(len(given)))
    given_up: dict[int, str] = {}
    while waiting:
        order = sorted(waiting, key=lambda place: (deaths[place], place))
        together = [place for place in order if deaths[place] < _AMONG_OTHERS]
        batch = together or order[:1]
        lost: dict[int, Lost] = {}
        finished = run([(place, given[place]) for place in batch])
        try:
            for place, result in finished:
                if isinstance(result, Lost):
                    lost[place] = result
                else:
                    waiting.remove(place)
                    yield given[place], result
        finally:
            finished.close()  # after an error or Ctrl-C: no task goes on unseen
        for place, death in lost.items():
            deaths[place] += death.times
            if not together and deaths[place] >= _MOST:
                waiting.remove(place)
                given_up[place] = death.why
    for place, why in given_up.items():
        yield given[place], WorkerDied(_told(why))


def _told(why: str) -> str:
    return (
        "the process that worked on it died every time, lastly with nothing else running. It was "
        "killed from outside, or ran out of memory, or crashed. Give processes more memory, or "
        f"take fewer rows or columns. ({why})"
    )


# -- where tasks run -------------------------------------------------------------------------------


def one_by_one(n_jobs: int | None) -> bool:
    """Whether tasks run one after another in this process, so that each may use all its cores.

    Parameters
    ----------
    n_jobs : int or None
        As of joblib.

    Examples
    --------
    >>> one_by_one(1), one_by_one(2)
    (True, False)
    """
    if n_jobs == 1:
        return True
    return not _is(_backend(), "DaskDistributedBackend") and tasks_at_once(n_jobs) == 1


def tasks_at_once(n_jobs: int | None) -> int:
    """Tasks that run at a time, as far as is known beforehand.

    Parameters
    ----------
    n_jobs : int or None
        As of joblib; a Dask cluster takes as many as it can, unless this is 1.

    Examples
    --------
    >>> tasks_at_once(1), tasks_at_once(2)
    (1, 2)
    """
    from joblib import effective_n_jobs  # comes with scikit-learn

    if n_jobs == 0:
        raise InputError("0 tasks at a time come to no end (n_jobs=0). Use 1 or more, or −1.")
    backend = _backend()
    if n_jobs != 1 and _is(backend, "DaskDistributedBackend"):
        from netbenefit.common.tasks_dask import cluster_threads

        return max(1, cluster_threads(backend))
    return max(1, int(effective_n_jobs(n_jobs)))


def threads_here(n_jobs: int | None) -> int:
    """Threads of this process that a number as scikit-learn takes it stands for.

    On a cluster joblib counts the cores of all machines, of which a thread here has no use.

    Parameters
    ----------
    n_jobs : int or None

    Examples
    --------
    >>> threads_here(3)
    3
    """
    from joblib import effective_n_jobs, parallel_config

    worker = _dask_worker()
    if worker is not None and (n_jobs is None or n_jobs < 0):
        return 1 if n_jobs is None else int(worker.state.nthreads)
    if _is(_backend(), "DaskDistributedBackend", "RayBackend"):
        with parallel_config(backend="threading"):
            return int(effective_n_jobs(n_jobs))
    return int(effective_n_jobs(n_jobs))


def only_task_here() -> bool:
    """Whether no other task runs in this process meanwhile, so that its globals may be changed.

    So it is in main threads, and where a Dask worker of one thread has a process of its own.

    Examples
    --------
    >>> only_task_here()
    True
    """
    if threading.current_thread() is threading.main_thread():
        return True
    worker = _dask_worker()
    return worker is not None and worker.nanny is not None and worker.state.nthreads == 1


def _dask_worker() -> Any:
    """The Dask worker that runs this code, if one does."""
    distributed = sys.modules.get("distributed")  # a worker has it, and nobody else should wait
    try:
        return None if distributed is None else distributed.get_worker()
    except ValueError:
        return None


def _backend() -> Any:
    from joblib.parallel import get_active_backend

    return get_active_backend()[0]


def _is(backend: Any, *names: str) -> bool:
    return any(kind.__name__ in names for kind in type(backend).__mro__)


def _choose_pass(function: Callable[[Any], Any], n_jobs: int | None) -> Pass:
    if n_jobs == 1:  # also on Dask, which would not listen
        return lambda tasks: (attempt(function, *task) for task in tasks)
    backend = _backend()
    if _is(backend, "DaskDistributedBackend"):
        from netbenefit.common.tasks_dask import DaskPass

        return DaskPass(backend, function)
    return lambda tasks: _joblib_pass(function, tasks, n_jobs)


# -- joblib's own backends, and those that others have written for it ------------------------------


def _joblib_pass(
    function: Callable[[Any], Any], tasks: Sequence[Numbered], n_jobs: int | None
) -> Generator[tuple[int, Any]]:
    from joblib import Parallel, delayed, effective_n_jobs

    begun: set[int] = set()

    def calls(some: Sequence[Numbered]) -> Generator[Any]:
        """What joblib asks for, some at a time; so it is known what it has begun."""
        for place, task in some:
            begun.add(place)
            yield delayed(attempt)(function, place, task)

    try:
        run = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    except ValueError:  # the backend hands results over all at once: give it a few tasks a time
        step = max(1, effective_n_jobs(n_jobs))
        for first in range(0, len(tasks), step):
            some = tasks[first : first + step]
            try:
                found = Parallel(n_jobs=n_jobs)(calls(some))
            except Exception as error:
                if not _is_death(error):
                    raise
                yield from ((place, Lost(_why(error))) for place, _ in some)
            else:
                yield from found
        return
    done = run(calls(tasks))
    try:
        for place, result in done:
            begun.discard(place)
            yield place, result
    except Exception as error:
        if not _is_death(error):
            raise
        # With nobody under suspicion the next pass would be the same again, for ever.
        suspects = begun or {place for place, _ in tasks}
        yield from ((place, Lost(_why(error))) for place in sorted(suspects))
    finally:
        with warnings.catch_warnings():  # joblib's, that the tasks which it ends are ended
            warnings.simplefilter("ignore", UserWarning)
            done.close()


def _is_death(error: Exception) -> bool:
    """Whether a worker is gone, by what loky and Ray raise then."""
    deaths = {"TerminatedWorkerError", "RayActorError", "WorkerCrashedError", "NodeDiedError"}
    return any(kind.__name__ in {*deaths, "OutOfMemoryError"} for kind in type(error).__mro__)


def _why(error: BaseException) -> str:
    """The first line of an error, and its kind."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
