"""Many tasks, some at a time: in this process, in others, or over a cluster, as joblib is set.

A worker that dies takes its tasks with it, not the run: what was not finished is run again.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from netbenefit.common.checks import InputError, setting


class Lost(NamedTuple):
    """What a pass yields instead of the result of a task that died with its worker."""

    why: str
    times: int = 1  #: how many workers died over it


#: The number of a task among all, and the task.
Numbered = tuple[int, Any]
#: One way to run tasks: each comes back at most once, in any order, as a result or as lost.
Pass = Callable[[Sequence[Numbered]], Generator[tuple[int, Any]]]


def attempt(function: Callable[[Any], Any], place: int, task: Any) -> tuple[int, Any]:
    """One task's number, and its result or error."""
    try:
        return place, function(task)
    except Exception as error:
        return place, error


# -- tasks on the workers of a Dask cluster --------------------------------------------------------
# joblib's own way waits for ever when Dask gives a task up, since it does not pass on errors of the
# cluster, and it sends what tasks share with each of them.  Hence its backend only tells which
# cluster to use, and with which options.

logger = logging.getLogger(__name__)

#: Tasks per thread of the cluster: one runs, one waits beside it.  More would only fill the
#: scheduler with rows; and what waits there dies with its worker.
_QUEUE = 2
#: Seconds without news after which the workers are counted.
_PATIENCE = 30.0


class DaskPass:
    """Runs tasks by joblib's Dask backend; the function is sent once, with its data."""

    def __init__(self, backend: Any, function: Callable[[Any], Any]) -> None:
        self._backend, self._client = backend, backend.client
        self._function = function
        self._shared: Any = None

    def __call__(self, tasks: Sequence[Numbered]) -> Generator[tuple[int, Any]]:
        """Run tasks; yield their numbers, and results or what is lost.

        1. Wait for a worker; send the function to the cluster.
        2. Keep every thread of the cluster busy, also of workers that join.
        3. Yield what comes back. Whatever ends this, no task stays in the queue.
        """
        import distributed  # late: an optional package

        self._share()
        waiting = deque(tasks)
        running: dict[Any, int] = {}
        queue: Any = distributed.as_completed  # it has no types
        arrivals = queue(loop=self._client.loop)
        try:
            while waiting or running:
                room = max(1, _QUEUE * self._threads()) - len(running)
                for _ in range(min(room, len(waiting))):
                    place, task = waiting.popleft()
                    future = self._submit(_on_worker, self._shared, place, task)
                    running[future] = place
                    arrivals.add(future)
                future = self._next(arrivals)
                yield running.pop(future), self._outcome(future)
        finally:
            if running and self._client.status == "running":
                self._client.cancel(list(running), force=True)

    def _share(self) -> None:
        """Step 1."""
        if self._client.status != "running":
            raise InputError(
                "the connection to the Dask cluster is lost. Start it (or its client) again."
            )
        cluster_threads(self._backend)  # waits for workers; its error has the remedy
        if self._shared is None or self._shared.status in ("error", "cancelled"):
            # A task of its own, whose result workers hand on to each other.  Data that were merely
            # put on workers (scattered) would be gone with these; a task is run again.
            from distributed.protocol import pickle

            pack: Any = pickle.dumps  # it has no types
            self._shared = self._submit(_unpacked, pack(self._function))

    def _threads(self) -> int:
        return sum(self._client.nthreads().values())

    def _next(self, arrivals: Any) -> Any:
        """What is done next.  Without any worker, warn: new ones may come, or never."""
        begin, pause, warned = time.monotonic(), 0.001, False
        while not arrivals.has_ready():
            time.sleep(pause)
            pause = min(1.5 * pause, 0.05)
            if not warned and time.monotonic() - begin > _PATIENCE:
                begin, warned = time.monotonic(), not self._threads()
                if warned:
                    logger.warning("the Dask cluster has no workers left; waiting for new ones")
        return next(arrivals)

    def _submit(self, *call: Any) -> Any:
        with warnings.catch_warnings():  # that this is much: the table once, then row numbers
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            # The same call may have to be made again.
            return self._client.submit(*call, pure=False, **self._backend.submit_kwargs)

    def _outcome(self, future: Any) -> Any:
        from distributed import CancelledError, KilledWorker

        try:
            return future.result()[1]
        except KilledWorker as error:
            times = error.allowed_failures + 1  # Dask itself has tried it again
            return Lost(f"Dask: {times} workers died", times)
        except CancelledError:  # from outside, or with the scheduler
            return Lost("Dask: the task was cancelled")
        except Exception as error:  # such as that of a result that cannot be sent
            return error


def cluster_threads(backend: Any) -> int:
    """Threads of all workers; where there are none yet, joblib waits for one."""
    from distributed import KilledWorker

    for _ in range(2):  # the worker that it waited for may have died at once
        with suppress(KilledWorker):
            return int(backend.effective_n_jobs(-1))
    return int(backend.effective_n_jobs(-1))


def _unpacked(packed: bytes) -> Any:
    from distributed.protocol import pickle

    unpack: Any = pickle.loads
    return unpack(packed)


def _on_worker(function: Callable[[Any], Any], place: int, task: Any) -> tuple[int, Any]:
    """One task; what it does in parallel stays on its worker, where it has its one thread."""
    from joblib import parallel_config  # comes with scikit-learn

    with parallel_config(backend="threading", n_jobs=1):
        return attempt(function, place, task)


#: Workers that a task may lose beside other tasks, before it is run alone.
_AMONG_OTHERS = 2
#: Workers that it may lose in all, the last when it ran alone, before it is given up.
_MOST = 4


class WorkerDied(InputError):
    """The processes that worked on a task died, every time."""


def finished_tasks(
    function: Callable[[Any], Any], tasks: Iterable[Any], n_jobs: int | None
) -> Generator[tuple[Any, Any]]:
    """Call a function for each task, some at a time, and yield tasks and results as they finish.

    1. Run all tasks. When a worker dies, those that it may have worked on are under suspicion.
    2. Run the rest first, then, among others once more, those under suspicion: what killed the
       worker may have had nothing to do with them.
    3. Run those that lost a worker again one at a time. Then the culprit is known; and where many
       at a time took too much memory, one may fit.
    4. A task that loses its workers alone, too, is given up: its result is ``WorkerDied``, which
       comes after those of all other tasks.

    An error is yielded like a result: if it were raised where it arises, joblib would drop those
    results of other tasks that it has not returned yet.
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
        yield (
            given[place],
            WorkerDied(
                "the process that worked on it died every time, lastly with nothing else running. "
                "It was killed from outside, or ran out of memory, or crashed. Give processes more "
                f"memory, or take fewer rows or columns. ({why})"
            ),
        )


# -- where tasks run -------------------------------------------------------------------------------


def one_by_one(n_jobs: int | None) -> bool:
    """Whether tasks run one after another in this process, so that each may use all its cores."""
    if n_jobs == 1:
        return True
    return not _is(_backend(), "DaskDistributedBackend") and tasks_at_once(n_jobs) == 1


def tasks_at_once(n_jobs: int | None) -> int:
    """Tasks that run at a time, as far as is known beforehand."""
    from joblib import effective_n_jobs  # comes with scikit-learn

    if n_jobs == 0:
        raise InputError(setting("n_jobs", 0), " would never run a task. Use 1 or more, or −1.")
    backend = _backend()
    if n_jobs != 1 and _is(backend, "DaskDistributedBackend"):
        return max(1, cluster_threads(backend))
    return max(1, int(effective_n_jobs(n_jobs)))


def threads_here(n_jobs: int | None) -> int:
    """Threads of this process that ``n_jobs`` stands for, even on a cluster."""
    from joblib import effective_n_jobs, parallel_config

    worker = _dask_worker()
    if worker is not None and (n_jobs is None or n_jobs < 0):
        return 1 if n_jobs is None else int(worker.state.nthreads)
    if _is(_backend(), "DaskDistributedBackend", "RayBackend"):
        with parallel_config(backend="threading"):
            return int(effective_n_jobs(n_jobs))
    return int(effective_n_jobs(n_jobs))


def only_task_here() -> bool:
    """Whether no other task runs in this process meanwhile, so that its globals may be changed."""
    if threading.current_thread() is threading.main_thread():
        return True
    worker = _dask_worker()
    return worker is not None and worker.nanny is not None and worker.state.nthreads == 1


def _dask_worker() -> Any:
    """The Dask worker that runs this code, if one does."""
    distributed = sys.modules.get("distributed")  # only a worker has it loaded
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
        return DaskPass(backend, function)
    return lambda tasks: _joblib_pass(function, tasks, n_jobs)


# -- joblib's own backends, and those that others have written for it ------------------------------


def _joblib_pass(
    function: Callable[[Any], Any], tasks: Sequence[Numbered], n_jobs: int | None
) -> Generator[tuple[int, Any]]:
    from joblib import Parallel, delayed, effective_n_jobs

    begun: set[int] = set()

    def calls(some: Sequence[Numbered]) -> Generator[Any]:
        """Yield what joblib takes, some at a time, and so learn what it has begun."""
        for place, task in some:
            begun.add(place)
            yield delayed(attempt)(function, place, task)

    parts = [tasks]
    try:
        run = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    except ValueError:  # the backend returns results all at once: give it a few tasks at a time
        run, step = Parallel(n_jobs=n_jobs), max(1, effective_n_jobs(n_jobs))
        parts = [tasks[first : first + step] for first in range(0, len(tasks), step)]
    for part in parts:
        begun.clear()
        done: Any = ()
        try:
            done = run(calls(part))
            for place, result in done:
                begun.discard(place)
                yield place, result
        except Exception as error:
            if not _is_death(error):
                raise
            # Without any suspect the next pass would be the same again, for ever.
            suspects = begun or {place for place, _ in part}
            yield from ((place, Lost(_why(error))) for place in sorted(suspects))
        finally:
            if isinstance(done, Generator):
                with warnings.catch_warnings():  # joblib warns of the tasks that it ends here
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
