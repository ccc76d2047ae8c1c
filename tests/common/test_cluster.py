"""The same numbers on a Dask cluster as here; workers that are killed cost a retry, not the run.

The cluster is a real one, of two processes, and so are the kills.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import netbenefit as nb
from netbenefit import InputError
from netbenefit.common.journal import run_tasks
from netbenefit.common.parallel import (
    WorkerDied,
    finished_tasks,
    one_by_one,
    only_task_here,
    threads_here,
)
from netbenefit.solvers.local_search import LocalSearch
from tests.helpers.deaths import Counted, Deadly, Sleepy
from tests.helpers.leaks import DeadlyLogistic, DeadlySearch, WarningLogistic

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs signals"),
]

TASKS = {f"task {i}": i for i in range(8)}


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    """End a test that hangs, which is what lost workers lead to where something is wrong."""

    def stop(*_: Any) -> None:
        raise TimeoutError("the test hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(180)  # compiling may take one minute of them
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    import dask

    # Dask gives a task up after two dead workers, not four: deaths take their time.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def both_workers(client: Any) -> None:
    """Wait until those that the test before has killed are back."""
    client.cluster.scale(2)
    client.wait_for_workers(2, timeout=240)


@pytest.fixture
def dask_backend(client: Any) -> Iterator[Any]:
    both_workers(client)
    with joblib.parallel_config(backend="dask"):
        yield client


def rows(n: int = 200) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (n, 4)).astype(float)
    return X, rng.random(n) < 1 / (1 + np.exp(2 - X[:, 0] - X[:, 1]))


def journal_keys(path: Path) -> list[str]:
    lines = path.read_text().splitlines()[1:]
    return [json.loads(line)["task"] for line in lines]


def facts(value: Any) -> Any:
    """All that a result holds, to the last bit, except the time that it took."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes() if value.dtype.kind != "O" else None
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return facts({k: v for k, v in fields.items() if k not in ("seconds", "trace")})
    if isinstance(value, dict):
        return {key: facts(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [facts(one) for one in value]
    if hasattr(value, "scorecard_"):
        return facts([value.scorecard_, value.result_])
    return repr(value)


# -- the same numbers ------------------------------------------------------------------------------


def card() -> nb.RiskScoreClassifier:
    return nb.RiskScoreClassifier(
        binner=None, thresholds="0.1:0.5:0.2", solver=LocalSearch(time_limit=None, max_rounds=1)
    )


CALLS = {
    "cross_validate": lambda X, y, **o: nb.cross_validate(card(), X, y, folds=3, **o),
    "bootstrap_validate": lambda X, y, **o: nb.bootstrap_validate(card(), X, y, resamples=3, **o),
    "nested_cross_validate": lambda X, y, **o: nb.nested_cross_validate(
        LogisticRegression(), X, y, settings={"C": [0.01, 1.0]}, folds=2, inner_folds=2, **o
    ),
    "compare": lambda X, y, **o: nb.compare(["tree", card()], X, y, folds=2, **o),
    "size_path": lambda X, y, **o: nb.size_path(
        nb.RiskScoreClassifier(binner=None, thresholds=[0.3], time_limit=None),
        X,
        y,
        sizes=[1, 2],
        folds=2,
        **o,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_a_sequential_run(name: str, client: Any) -> None:
    X, y = rows()
    here = CALLS[name](X, y, n_jobs=1)
    with joblib.parallel_config(backend="dask"):
        there = CALLS[name](X, y)
    assert facts(here) == facts(there)
    assert len(repr(facts(here))) > 300  # something was compared


def test_experiments_run_on_the_cluster(
    client: Any, tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reproduction.plan import make_plan
    from reproduction.run import run_plan

    monkeypatch.setenv("NETBENEFIT_DATA", str(data_folder.resolve()))
    client.run(os.environ.__setitem__, "NETBENEFIT_DATA", str(data_folder.resolve()))
    plan = make_plan(
        "quick", only=("performance",), datasets=["heart"], methods=["tree", "logistic"]
    )
    here = run_plan(plan, tmp_path / "here", n_jobs=1)
    with joblib.parallel_config(backend="dask"):
        there = run_plan(plan, tmp_path / "there")
    assert there.failures == here.failures == []

    def lines(outcome: Any) -> list[str]:
        rows = [{k: v for k, v in row.items() if "seconds" not in k} for row in outcome.rows]
        return sorted(repr(facts(row)) for row in rows)

    assert lines(there) == lines(here)
    assert len(lines(here)) == len(plan) == 4


def test_multi_start_finds_the_same_card(client: Any) -> None:
    X, y = rows()
    solver = nb.MultiStart(starts=4, solver=LocalSearch(time_limit=None, max_rounds=1))
    here = nb.RiskScoreClassifier(binner=None, solver=solver).fit(X, y)
    with joblib.parallel_config(backend="dask"):
        there = nb.RiskScoreClassifier(binner=None, solver=solver).fit(X, y)
    assert facts(here) == facts(there)
    assert there.result_.solver == "multi-start"


def test_a_journal_begun_here_is_finished_there(client: Any, tmp_path: Path) -> None:
    X, y = rows()
    path = tmp_path / "j"
    nb.cross_validate(LogisticRegression(), X, y, folds=3, journal=path)
    with joblib.parallel_config(backend="dask"):
        more = nb.cross_validate(LogisticRegression(), X, y, folds=3, repeats=2, journal=path)
    whole = nb.cross_validate(LogisticRegression(), X, y, folds=3, repeats=2)
    assert np.array_equal(more.predictions, whole.predictions)
    assert len(journal_keys(path)) == len(set(journal_keys(path))) == 6


def test_one_at_a_time_stays_here(dask_backend: Any) -> None:
    found = dict(finished_tasks(pid_of, range(2), 1))
    assert set(found.values()) == {os.getpid()}
    assert os.getpid() not in dict(finished_tasks(pid_of, range(2), None)).values()
    assert one_by_one(1)
    assert not one_by_one(None)


def pid_of(task: Any) -> int:
    return os.getpid()


def test_threads_are_those_of_the_worker(dask_backend: Any) -> None:
    """A cluster of 1,000 cores must not make 1,000 threads in one process."""
    there = dask_backend.submit(where, pure=False).result()
    assert there == {"all": 1, "default": 1, "two": 2, "alone": True}
    assert threads_here(-1) == joblib.cpu_count()
    assert threads_here(None) == 1


def where() -> dict[str, Any]:
    with joblib.parallel_config(backend="dask"):
        return {
            "all": threads_here(-1),
            "default": threads_here(None),
            "two": threads_here(2),
            "alone": only_task_here(),
        }


# -- what comes home, and what is sent -------------------------------------------------------------


def test_warnings_of_workers_are_shown_once(dask_backend: Any) -> None:
    X, y = rows()
    with pytest.warns(RuntimeWarning, match="raised by a worker") as caught:
        nb.cross_validate(WarningLogistic(), X, y, folds=3)
    assert [str(one.message) for one in caught].count("raised by a worker") == 1
    found = nb.compare({"loud": WarningLogistic()}, X, y, folds=2)
    assert found.notes == ("loud: raised by a worker",)


def test_the_data_are_sent_once(dask_backend: Any) -> None:
    Counted.copies = 0
    found = dict(finished_tasks(Counted(bytes(2_000_000)), range(12), None))
    assert found == {i: i + 2_000_000 for i in range(12)}
    assert Counted.copies == 1


def test_errors_of_tasks_name_them_and_lose_nothing(dask_backend: Any, tmp_path: Path) -> None:
    path = tmp_path / "j"
    with pytest.raises(InputError, match=r"^task 3: three is wrong\.$"):
        run_tasks(WrongAtThree(path), TASKS, journal=path)
    kept = journal_keys(path)
    assert len(kept) == len(set(kept)) > 0
    assert "task 3" not in kept
    assert run_tasks(abs, TASKS, journal=path) == TASKS
    with pytest.raises(TypeError, match="cannot pickle"):
        run_tasks(lock_of, {"a": 1})


@dataclass(frozen=True)
class WrongAtThree:
    """Fails at one task, once the journal holds another one."""

    journal: Path

    def __call__(self, task: int) -> int:
        if task != 3:
            return task
        give_up = time.monotonic() + 600  # a busy machine may take its time
        while self.journal.read_bytes().count(b"\n") < 2 and time.monotonic() < give_up:
            time.sleep(0.1)
        raise InputError("three is wrong.")


def lock_of(task: int) -> int:
    error = TypeError("cannot pickle this")
    error.lock = threading.Lock()  # type: ignore[attr-defined]
    raise error


def test_ctrl_c_keeps_what_is_done_and_leaves_no_task(dask_backend: Any, tmp_path: Path) -> None:
    path = tmp_path / "j"

    def interrupt(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt  # as the signal does, at a moment that is known

    sleepy = Sleepy(tmp_path, seconds=0.7)  # long enough to be heard on a busy machine
    with pytest.raises(KeyboardInterrupt):
        run_tasks(sleepy, TASKS, journal=path, progress=interrupt)
    assert len(journal_keys(path)) == 3
    time.sleep(1.0)  # those that had begun
    begun = len(list(tmp_path.glob("[0-9] *")))
    assert begun < 8
    time.sleep(1.0)
    assert len(list(tmp_path.glob("[0-9] *"))) == begun  # no other one has begun since
    assert run_tasks(sleepy, TASKS, journal=path) == TASKS
    assert sorted(journal_keys(path)) == sorted(TASKS)


# -- kills -----------------------------------------------------------------------------------------


@pytest.fixture(params=["dask", "loky"])
def backend(request: pytest.FixtureRequest, client: Any) -> Iterator[str]:
    both_workers(client)
    with joblib.parallel_config(backend=request.param, n_jobs=2):
        yield request.param


def test_a_worker_that_is_killed_costs_a_retry(backend: str, tmp_path: Path) -> None:
    """A task kills its own worker the first time that it runs."""
    seen: list[int] = []
    path = tmp_path / "j"
    found = run_tasks(
        Deadly(tmp_path), TASKS, journal=path, progress=lambda done, total: seen.append(done)
    )
    assert (tmp_path / "died").exists()
    assert found == {key: 10 * i for key, i in TASKS.items()}
    assert sorted(journal_keys(path)) == sorted(TASKS)  # each once
    assert seen == list(range(9))


def test_a_worker_that_is_killed_from_outside(backend: str, tmp_path: Path) -> None:
    """The parent kills a process while it works."""
    killed: list[int] = []

    def kill() -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end and not killed:
            begun = sorted(tmp_path.glob("3 *"))
            if begun:
                killed.append(int(begun[0].name.split()[1]))
                os.kill(killed[0], signal.SIGKILL)
            time.sleep(0.01)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    path = tmp_path / "j"
    assert run_tasks(Sleepy(tmp_path), TASKS, journal=path) == TASKS
    killer.join()
    assert killed
    assert killed[0] != os.getpid()
    runs = [int(file.name.split()[1]) for file in tmp_path.glob("3 *")]
    assert len(runs) == 2  # it was run again
    assert killed[0] in runs
    assert sorted(journal_keys(path)) == sorted(TASKS)


def test_a_task_that_always_kills_is_named_and_the_others_are_kept(
    backend: str, tmp_path: Path
) -> None:
    path = tmp_path / "j"
    few = dict(list(TASKS.items())[:5])
    deadly = Deadly(tmp_path, at=1, always=True)
    with pytest.raises(
        WorkerDied, match=r"(?s)^task 1: the process .* died .*memory.* The journal"
    ):
        run_tasks(deadly, few, journal=path)
    assert sorted(journal_keys(path)) == ["task 0", "task 2", "task 3", "task 4"]
    assert run_tasks(Deadly(tmp_path, at=9), few, journal=path) == {
        key: 10 * i for key, i in few.items()
    }


def test_a_validation_outlives_a_kill(dask_backend: Any, tmp_path: Path) -> None:
    X, y = rows()
    truth = nb.cross_validate(DeadlyLogistic(), X, y, folds=3, n_jobs=1)
    deadly = DeadlyLogistic(marker=str(tmp_path / "died"))
    found = nb.cross_validate(deadly, X, y, folds=3)
    assert (tmp_path / "died").exists()
    assert np.array_equal(found.predictions, truth.predictions)


def test_a_search_outlives_a_kill(dask_backend: Any, tmp_path: Path) -> None:
    table = nb.PatternTable.from_arrays(*rows())
    problem = nb.Problem.build(table, nb.Thresholds.of([0.2, 0.4]))
    truth = LocalSearch(time_limit=None, max_rounds=1).solve(problem)
    deadly = DeadlySearch(marker=str(tmp_path / "died"))
    found = nb.MultiStart(starts=3, solver=deadly).solve(problem)
    assert (tmp_path / "died").exists()
    assert found.objective >= truth.objective
    assert found.evaluations >= 3 * truth.evaluations / 2
