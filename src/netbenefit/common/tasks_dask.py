"""Tasks on the workers of a Dask cluster.

joblib's own way there waits for ever when Dask gives a task up, since it does not tell of errors of
the cluster, and it sends what tasks share anew with each of them.  Hence its backend is only asked
which cluster to use, and with which options.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any

from netbenefit.common.checks import InputError
from netbenefit.common.tasks_base import Lost, Numbered, attempt

__all__ = ["DaskPass", "cluster_threads"]

logger = logging.getLogger(__name__)

#: Tasks at the cluster a thread of its workers: one runs, one waits beside it.  More would only
#: fill the scheduler with rows; and what waits there dies with its worker.
_QUEUE = 2
#: Seconds without news after which somebody looks whether there are workers at all.
_PATIENCE = 30.0


class DaskPass:
    """Runs tasks on a cluster; the function, and the data that it holds, is sent once.

    Parameters
    ----------
    backend : joblib's backend for Dask
        Its client, and what else ``joblib.parallel_config`` was told: ``retries``, ``priority``, …
    function : callable
        Called with one task, on the workers.
    """

    def __init__(self, backend: Any, function: Callable[[Any], Any]) -> None:
        self._backend, self._client = backend, backend.client
        self._function = function
        self._shared: Any = None

    def __call__(self, tasks: Sequence[Numbered]) -> Generator[tuple[int, Any]]:
        """Run tasks; yield their numbers, and results or what is lost.

        1. Wait for a worker; send the function to the cluster.
        2. Keep every thread of the cluster busy, also of workers that join.
        3. Hand over what comes back.  Whatever ends this, no task stays in the queue.
        """
        import distributed  # late: not everybody has it

        self._share()
        waiting = deque(tasks)
        running: dict[Any, int] = {}
        queue: Any = distributed.as_completed  # which has no types
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
        cluster_threads(self._backend)  # waits for workers, and says what to do without any
        if self._shared is None or self._shared.status in ("error", "cancelled"):
            # A task of its own, whose result workers hand on to each other.  Data that were merely
            # put on workers (scattered) would be gone with these; a task is run again.
            from distributed.protocol import pickle

            pack: Any = pickle.dumps  # which has no types
            self._shared = self._submit(_unpacked, pack(self._function))

    def _threads(self) -> int:
        return sum(self._client.nthreads().values())

    def _next(self, arrivals: Any) -> Any:
        """What is done next.  Without any worker, say so: new ones may come, or never."""
        begin, pause, told = time.monotonic(), 0.001, False
        while not arrivals.has_ready():
            time.sleep(pause)
            pause = min(1.5 * pause, 0.05)
            if not told and time.monotonic() - begin > _PATIENCE:
                begin, told = time.monotonic(), not self._threads()
                if told:
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
            times = error.allowed_failures + 1  # Dask itself has tried it anew
            return Lost(f"Dask: {times} workers died", times)
        except CancelledError:  # by somebody else, or with the scheduler
            return Lost("Dask: the task was cancelled")
        except Exception as error:  # such as that of a result that cannot be sent
            return error


def cluster_threads(backend: Any) -> int:
    """Threads of all workers; where there are none yet, joblib waits for one.

    Parameters
    ----------
    backend : joblib's backend for Dask
    """
    from distributed import KilledWorker

    for _ in range(_QUEUE):  # the worker that it waited for may have died at once
        try:
            return int(backend.effective_n_jobs(-1))
        except KilledWorker:
            continue
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
