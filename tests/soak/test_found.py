"""Failures that a soak has found, each a small case in ``found``; and that it finds failures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from netbenefit.problem.problem import Problem, SolverResult
from tests.helpers.small_proofs import with_proof
from tests.properties import test_beyond_doubt
from tests.soak import Unusable, exports, files, kinds, problems, reduce, run
from tests.soak.__main__ import BEGIN, END, main, write
from tests.soak.reduce import FOUND, reduced, simpler
from tests.soak.run import Soak, run_batch, table

ROOT = Path(__file__).resolve().parents[2]
#: No clock decides what is found.
pytestmark = pytest.mark.usefixtures("patient")
CASES = sorted(FOUND.glob("*.json"))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduce, "SECONDS", float("inf"))


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_what_was_found_is_mended(path: Path) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    kinds.load(found["kind"]).check(found["case"])


@pytest.mark.parametrize("name", kinds.NAMES)
def test_cases_are_json_and_depend_on_the_seed_alone(name: str) -> None:
    def some(seed: int) -> list[str]:
        cases = zip(range(2), kinds.load(name).draw(seed), strict=False)
        return [json.dumps(case) for _, case in cases]

    assert some(7) == some(7) != some(9)


# -- planted failures ------------------------------------------------------------------------------


def test_a_wrong_number_of_an_export_is_found_and_reduced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function that takes "at least" for "more than"."""
    right = exports.to_python
    monkeypatch.setattr(exports, "to_python", lambda card: right(card).replace(">= 60", "> 60"))
    monkeypatch.setattr(exports, "BATCH", 2)
    monkeypatch.setattr(exports, "ROWS", 200)
    monkeypatch.setattr(exports, "ENGINES", {"python (CPython)": exports._python})
    seeds = iter(range(1, 60))
    while not (batch := run_batch("exports", next(seeds), float("inf"), tmp_path)).failures:
        pass
    (path, *_) = sorted(tmp_path.glob("exports-*.json"))
    found = json.loads(path.read_text())
    assert "python (CPython): 1 rows differ" in found["error"]
    (row,) = zip(*found["case"]["columns"].values(), strict=True)
    assert 60 in row
    assert len(found["case"]["card"]["rules"]) == 1
    with pytest.raises(AssertionError, match="1 rows differ"):
        exports.check(found["case"])
    monkeypatch.undo()
    exports.check(found["case"])
    assert path.name in batch.failures[0]


class Hasty:
    """A solver that takes the first card for the best one."""

    def solve(self, problem: Problem) -> SolverResult:
        return with_proof(problem, problem.nearest_to_zero(), [])


def test_a_card_that_is_not_optimal_is_found_and_reduced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_beyond_doubt, "SOLVER", Hasty())
    monkeypatch.setattr(problems, "BATCH", 1)
    seeds = iter(range(1, 60))
    while not run_batch("problems", next(seeds), float("inf"), tmp_path).failures:
        pass
    (path,) = tmp_path.glob("problems-*.json")
    found = json.loads(path.read_text())
    assert found["error"].startswith("AssertionError in test_beyond_doubt.py:check")
    case = found["case"]
    assert len(case["rows"]) == 2
    assert len(case["rows"][0]["x"]) == 1
    assert case["constraints"] == []
    assert len(case["thresholds"]) == 1
    with pytest.raises(AssertionError):
        problems.check(case)


def test_a_reader_that_breaks_is_found_and_reduced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path, **options: Any) -> Any:
        if b"\0" in path.read_bytes():
            raise IndexError("out of range")
        return files.slow_read(path)

    monkeypatch.setitem(files._USE, "csv", lambda path: bool(broken(path)))
    path = tmp_path / "t.csv"
    case = {"reader": "csv", "bytes": "a,b\n1,2\n3,\x004\n"}
    assert reduced(case, files.check) == {"reader": "csv", "bytes": "\0"}
    assert not path.exists()


# -- the run ---------------------------------------------------------------------------------------


def _module(check: Any) -> ModuleType:
    module = ModuleType("planted")
    module.SHARE = 1.0  # type: ignore[attr-defined]
    module.draw = lambda seed: iter([{"n": k} for k in range(5)])  # type: ignore[attr-defined]
    module.check = check  # type: ignore[attr-defined]
    return module


def test_failures_do_not_end_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(case: dict[str, int]) -> Counter[str]:
        assert case["n"] != 3, "three"
        return Counter({"tried": 1})

    monkeypatch.setattr(run, "load", lambda name: _module(check))
    batch = run_batch("planted", 9, float("inf"), tmp_path)
    assert (batch.cases, batch.counts["tried"], len(batch.failures)) == (5, 4, 1)
    (path,) = tmp_path.glob("*.json")
    assert path.name == "planted-9-3.json"
    assert json.loads(path.read_text())["case"] == {"n": 3}
    soak = Soak(kinds=("planted",), minutes=2, first=9, done=[batch], seconds=120)
    assert "| planted | 5 | 1 | 0.0 | 0.0 | 9–9 |" in table(soak)
    assert "| planted | tried | 4 |" in table(soak)


def test_a_whole_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    given = ["--minutes", "5", "--batches", "2", "--only", "files", "--first", "3", "--jobs", "2"]
    assert main([*given, "--found", str(tmp_path), "--write", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "| files | 200 | 0 |" in printed
    assert "| 3–4 |" in printed
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n\n`python -m tests.soak")
    assert text.endswith(f"{END}\nafter\n")
    assert "| files | hostile files | 200 |" in text
    assert "old" not in text
    with pytest.raises(SystemExit, match="has no line"):
        write("x", Path(__file__).with_name("__init__.py"))


def test_a_batch_that_kills_its_process_is_a_failure_and_the_run_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kind = "tests.helpers.soak_deaths"
    soak = Soak(kinds=(kind,), minutes=5, first=1, jobs=1, batches=4)
    soak.run()
    assert [(batch.seed, batch.cases) for batch in soak.done] == [(1, 2), (2, 0), (3, 2), (4, 2)]
    assert soak.failures == ["its process ended with -9"]
    assert f"FAILED {kind}, seed 2: its process ended with -9" in capsys.readouterr().out


def test_a_run_that_is_interrupted_says_what_it_has() -> None:
    command = [sys.executable, "-m", "tests.soak", "--minutes", "9", "--only", "files"]
    process = subprocess.Popen(
        [*command, "--jobs", "1"], cwd=ROOT, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )  # fmt: skip
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=100)
    assert first.startswith("soak: files; 9 minutes, 1 jobs, seeds from 1")
    assert "stopped: what was finished until now" in rest
    assert "| files | " in rest
    assert process.returncode == 0


# -- reducing --------------------------------------------------------------------------------------


def test_a_case_is_reduced_to_what_matters() -> None:
    def check(case: Any) -> None:
        if not isinstance(case.get("list"), list):
            raise Unusable
        if sum(case["list"]) > 10 and "x" in case["text"]:
            raise AssertionError("both")

    case = {"list": [1, 2, 3, 9, 4, 0], "text": "abcxdef", "other": {"deep": [1, [2.5]]}}
    small = reduced(case, check)
    assert small["text"] == "x"
    assert small["other"] == {"deep": []}
    assert sum(small["list"]) > 10
    assert len(small["list"]) == 2


def test_simpler_values() -> None:
    def all_of(value: Any) -> Iterator[Any]:
        return simpler(value)

    assert list(all_of(0)) == []
    assert list(all_of("")) == []
    assert list(all_of(True)) == [False]
    assert [] in all_of([5])
    assert {"a": 0} in all_of({"a": 7})
