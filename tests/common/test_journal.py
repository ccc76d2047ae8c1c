"""Tasks whose finished results outlive a kill, an error, and a torn line."""

from __future__ import annotations

import json
import math
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from netbenefit import InputError
from netbenefit.common.journal import run_tasks

TASKS = {f"task {i}": i for i in range(6)}
BACKENDS = ("sequential", "threading", "loky", "multiprocessing")


def tenth(i: int) -> dict[str, Any]:
    return {"value": i * 0.1, "list": (i, i + 1), "none": math.nan, "text": "é"}


class Counting:
    """A function that records its calls, and fails for the tasks that it is given."""

    def __init__(self, fail: int | None = None, error: type[BaseException] = ValueError) -> None:
        self.calls: list[int] = []
        self.fail, self.error = fail, error

    def __call__(self, i: int) -> int:
        self.calls.append(i)
        if i == self.fail:
            raise self.error("meant to fail")
        return 10 * i


def fail_at_three(i: int) -> int:
    if i == 3:
        time.sleep(0.3)  # the others of its batch are done by then
        raise InputError("three is wrong.")
    return i


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_gives_the_same_in_the_order_of_the_tasks(
    backend: str, tmp_path: Path
) -> None:
    with joblib.parallel_config(backend=backend):
        found = run_tasks(tenth, TASKS, journal=tmp_path / "j", n_jobs=2)
    truth = {key: json.loads(json.dumps(tenth(i))) for key, i in TASKS.items()}
    assert list(found) == list(TASKS)
    assert repr(found) == repr(truth)  # nan is not equal to itself
    again = run_tasks(Counting(fail=0), TASKS, journal=tmp_path / "j")
    assert repr(again) == repr(truth)


def test_a_result_is_the_same_with_and_without_a_journal(tmp_path: Path) -> None:
    def function(i: int) -> dict[str, Any]:
        return {"a": np.float64(i) / 3, "b": np.arange(i), "c": np.int64(i), "d": np.bool_(i)}

    plain = run_tasks(function, TASKS)
    assert plain == run_tasks(function, TASKS, journal=tmp_path / "j")
    assert plain["task 2"] == {"a": 2 / 3, "b": [0, 1], "c": 2, "d": True}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_finished_tasks_are_not_run_again(error: type[BaseException], tmp_path: Path) -> None:
    first = Counting(fail=3, error=error)
    with pytest.raises(error):
        run_tasks(first, TASKS, journal=tmp_path / "j", fingerprint="f")
    assert first.calls == [0, 1, 2, 3]
    second = Counting()
    found = run_tasks(second, TASKS, journal=tmp_path / "j", fingerprint="f")
    assert second.calls == [3, 4, 5]
    assert found == {key: 10 * i for key, i in TASKS.items()}


@pytest.mark.parametrize("backend", BACKENDS[:3])
def test_an_error_names_its_task_and_loses_no_finished_one(backend: str, tmp_path: Path) -> None:
    with (
        joblib.parallel_config(backend=backend),
        pytest.raises(InputError, match=r"^task 3: three is wrong\.$"),
    ):
        run_tasks(fail_at_three, TASKS, journal=tmp_path / "j", n_jobs=2)
    again = Counting()
    run_tasks(again, TASKS, journal=tmp_path / "j")
    assert 3 in again.calls
    assert not {0, 1, 2} & set(again.calls)


def test_a_journal_torn_anywhere_is_cut_and_completed(tmp_path: Path) -> None:
    """A kill may stop the file at any byte: complete tasks are kept, the others are run again."""
    path = tmp_path / "j"
    truth = run_tasks(Counting(), TASKS, journal=path, fingerprint="äöü")
    content = path.read_bytes()
    header = content.index(b"\n") + 1
    for length in (*range(header + 12), *range(header + 12, len(content) + 1, 5), len(content)):
        path.write_bytes(content[:length])
        again = Counting()
        assert run_tasks(again, TASKS, journal=path, fingerprint="äöü") == truth
        whole = max(0, content[:length].count(b"\n") - 1)
        assert again.calls == list(range(whole, len(TASKS)))
        assert path.read_bytes() == content


def test_a_last_line_of_garbage_is_torn_too(tmp_path: Path) -> None:
    path = tmp_path / "j"
    run_tasks(Counting(), TASKS, journal=path)
    content = path.read_bytes()
    path.write_bytes(content + b"\x00\x00\x00\n")
    run_tasks(Counting(fail=0), TASKS, journal=path)
    assert path.read_bytes() == content


def test_another_fingerprint_is_refused_and_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "j"
    run_tasks(Counting(), TASKS, journal=path, fingerprint="one")
    content = path.read_bytes()
    with pytest.raises(InputError, match="j belongs to other data or other settings"):
        run_tasks(Counting(), TASKS, journal=path, fingerprint="two")
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"a,b", b"{", b"\n", b'{"some": "json"}\n'])
def test_a_file_that_is_no_journal_is_left_alone(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    if content == b"{":  # could be the first byte of a journal, and holds nothing to lose
        assert run_tasks(Counting(), TASKS, journal=path)
        return
    with pytest.raises(InputError, match="is not a journal"):
        run_tasks(Counting(), TASKS, journal=path)
    assert path.read_bytes() == content


def test_a_damaged_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "j"
    run_tasks(Counting(), TASKS, journal=path)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], b"{broken", *lines[3:]]))
    with pytest.raises(InputError, match=r"damaged in line 3, or was changed there\. Delete that"):
        run_tasks(Counting(), TASKS, journal=path)


@pytest.mark.parametrize("place", range(len(TASKS)))
def test_a_changed_line_never_enters_a_result(place: int, tmp_path: Path) -> None:
    path = tmp_path / "j"
    truth = run_tasks(Counting(), TASKS, journal=path, fingerprint="f")
    lines = path.read_bytes().split(b"\n")
    own = lines[place + 1]
    for k in range(len(own)):
        for sign in b"7}":
            lines[place + 1] = own[:k] + bytes([sign]) + own[k + 1 :]
            path.write_bytes(b"\n".join(lines))
            again = Counting()
            with suppress(InputError):  # which names the line; else it is as it was, or run again
                assert run_tasks(again, TASKS, journal=path, fingerprint="f") == truth
                assert lines[place + 1] == own or again.calls == [place]


def test_lines_of_another_journal_are_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    run_tasks(Counting(), TASKS, journal=one, fingerprint="one")
    run_tasks(Counting(), TASKS, journal=two, fingerprint="two")
    lines, others = (path.read_bytes().split(b"\n") for path in (one, two))
    one.write_bytes(b"\n".join([*lines[:2], others[2], *lines[3:]]))
    with pytest.raises(InputError, match="line 3, or was changed there"):
        run_tasks(Counting(), TASKS, journal=one, fingerprint="one")


def test_an_editor_may_end_lines_as_it_likes(tmp_path: Path) -> None:
    path = tmp_path / "j"
    truth = run_tasks(Counting(), TASKS, journal=path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert run_tasks(Counting(fail=0), TASKS, journal=path) == truth


def test_a_journal_of_an_older_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_text('{"netbenefit journal": 1, "fingerprint": ""}\n{"task": "a", "result": 1}\n')
    with pytest.raises(InputError, match="is not a journal of this version, and stays as it is"):
        run_tasks(Counting(), TASKS, journal=path)


def test_more_tasks_later_and_fewer_tasks_later(tmp_path: Path) -> None:
    some = dict(list(TASKS.items())[:2])
    run_tasks(Counting(), some, journal=tmp_path / "j")
    more = Counting()
    run_tasks(more, TASKS, journal=tmp_path / "j")
    assert more.calls == [2, 3, 4, 5]
    assert list(run_tasks(Counting(), some, journal=tmp_path / "j")) == list(some)


def test_progress_counts_from_what_was_there(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    some = dict(list(TASKS.items())[:2])
    run_tasks(Counting(), some, journal=tmp_path / "j")
    run_tasks(Counting(), TASKS, journal=tmp_path / "j", progress=lambda *done: seen.append(done))
    assert seen == [(done, 6) for done in (2, 3, 4, 5, 6)]


def test_each_result_is_on_disk_before_the_next_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "j"
    lines: list[int] = []

    def look(i: int) -> int:
        lines.append(path.read_bytes().count(b"\n"))
        return i

    run_tasks(look, TASKS, journal=path, n_jobs=1)
    assert lines == [1, 2, 3, 4, 5, 6]


def test_two_runs_do_not_share_a_journal(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / "j"
    run_tasks(Counting(), TASKS, journal=path)
    handle = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="in use by another run"):
            run_tasks(Counting(), TASKS, journal=path)
    finally:
        os.close(handle)
    run_tasks(Counting(fail=0), TASKS, journal=path)


def test_bad_places_keys_and_results(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        run_tasks(Counting(), TASKS, journal=tmp_path)
    with pytest.raises(InputError, match="a folder that does not exist"):
        run_tasks(Counting(), TASKS, journal=tmp_path / "no" / "j")
    with pytest.raises(InputError, match="text as keys, not 1"):
        run_tasks(Counting(), {1: 1})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="a: the result does not fit into JSON: it holds a set"):
        run_tasks(lambda task: {"a": {1}}, {"a": 0})
    assert run_tasks(Counting(), {}) == {}
