"""Rows on disk: what is written is read, at once or not at all, by one run at a time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from netbenefit.common.checks import InputError
from reproduction.plan import Job
from reproduction.run import Store, read_rows

JOB = Job("heart", "rss-dnb", "original", 3, "quick")


def row(**changes: Any) -> dict[str, Any]:
    found = {
        "dataset": "heart",
        "method": "rss-dnb",
        "setting": "original",
        "fold": 3,
        "recipe": "r",
        "size": 4.0,
        "gap": None,
        "test_rows": [1, 5],
        "test_risks": [0.1, 1 / 3],
    }
    return found | changes


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    rows = [row(), row(setting="no-calibration", gap=0.25, test_risks=[])]
    with Store(tmp_path) as store:
        assert not store.has(JOB, "r")
        store.add(rows)
        assert store.has(JOB, "r")
    with Store(tmp_path) as again:
        assert again.has(JOB, "r")
        assert sorted(again.rows(), key=lambda r: r["setting"]) == sorted(
            rows, key=lambda r: r["setting"]
        )


def test_half_a_job_is_no_job(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.add([row()])
        assert not store.has(JOB, "r")  # risks without calibration are missing


def test_another_recipe_is_made_again_and_replaces(tmp_path: Path) -> None:
    both = [row(), row(setting="no-calibration")]
    with Store(tmp_path) as store:
        store.add(both)
        assert not store.has(JOB, "another")
        store.add([{**r, "recipe": "another", "size": 5.0} for r in both])
        assert store.has(JOB, "another")
        assert [r["size"] for r in store.rows()] == [5.0, 5.0]


def test_a_write_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path) as store:
        store.add([row()])
        monkeypatch.setattr("os.replace", lambda *paths: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            store.add([row(fold=4)])
    (file,) = tmp_path.glob("*.parquet")
    assert [r["fold"] for r in read_rows(file)] == [3]
    assert sorted(p.name for p in tmp_path.iterdir()) == [".lock", "heart--rss-dnb.parquet"]


def test_one_run_at_a_time(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(InputError, match="in use by another run"):
        Store(tmp_path).__enter__()
    with Store(tmp_path):
        pass  # the lock is gone with the first run


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "heart--rss-dnb.parquet").write_bytes(b"PAR1 nonsense PAR1")
    with Store(tmp_path) as store, pytest.raises(InputError, match=r"heart--rss-dnb\.parquet is"):
        store.rows()


def test_without_pyarrow_there_is_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"\[reproduce\]"):
        Store(tmp_path).__enter__()
