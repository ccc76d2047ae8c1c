"""``netbenefit studio`` as people use it: it serves a page, ends by Ctrl-C, and goes on later."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from typer.testing import CliRunner

from netbenefit.cli.main import app
from netbenefit.studio import SetPoints
from tests.studio.conftest import make_table

PROGRAM = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from netbenefit.__main__ import main; main()",
]
OPTIONS = ["--no-browser", "--teacher", "logistic", "--time-limit", "1", "--jobs", "1"]


class Studio:
    """A studio that runs in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        found = re.fullmatch(
            r"The studio is at (http://127\.0\.0\.1:\d+/\S+/)\n", process.stdout.readline()
        )
        assert found is not None
        self.url = found[1]
        self.errors = ""

    def state(self) -> Any:
        with urlopen(f"{self.url}api/state", timeout=60) as answer:
            return json.load(answer)

    def edit(self, edit: Any) -> None:
        body = json.dumps({"edit": edit.to_json(), "revision": self.state()["revision"]}).encode()
        origin = "/".join(self.url.split("/")[:3])
        headers = {"Content-Type": "application/json", "Origin": origin}
        with urlopen(Request(f"{self.url}api/edit", body, headers), timeout=60) as answer:
            assert answer.status == 200


@contextmanager
def started(*args: object, cwd: Path, end: int = signal.SIGINT) -> Iterator[Studio]:
    with subprocess.Popen(
        [*PROGRAM, "studio", *map(str, args), *OPTIONS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        studio = None
        try:
            studio = Studio(process)
            yield studio
        finally:
            process.send_signal(end if studio else signal.SIGKILL)
            errors = process.communicate(timeout=120)[1]
        studio.errors = " ".join(errors.split())


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    table = make_table(400, 0)
    path = tmp_path / "patients.csv"
    names = [*table.X, "outcome"]
    columns = [*(values.tolist() for values in table.X.values()), table.y.tolist()]
    rows = [",".join("" if v != v else str(v) for v in row) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")
    return path


def test_a_studio_ends_and_goes_on(patients: Path, tmp_path: Path) -> None:
    args = [patients, "--target", "outcome", "--positive", "died", "--thresholds", "0.1:0.4:0.1"]
    with started(*args, cwd=tmp_path) as studio:
        found = studio.state()
        assert found["card"]["title"] == "Risk of died"
        assert found["figures"]["training"]["n"] == 300
        assert found["figures"]["held-out"]["n"] == 100
        rule = next(one["rule"] for one in found["conditions"] if one["points"])
        studio.edit(SetPoints(rule, 9))
    assert studio.process.returncode == 0
    assert "100 rows held out" in studio.errors
    assert "Every edit is in patients.studio.jsonl: the same command goes on." in studio.errors
    with started(*args, cwd=tmp_path, end=signal.SIGKILL) as studio:
        again = studio.state()
        assert [one["what"] for one in again["history"]][1].startswith(f"“{rule}”")
        studio.edit(SetPoints(rule, 8))
    with started(*args, cwd=tmp_path) as studio:
        assert len(studio.state()["history"]) == 3
    assert "going on from patients.studio.jsonl: 2 edits." in studio.errors


def error(*args: object) -> str:
    done = CliRunner().invoke(app, ["studio", *map(str, args)])
    assert done.exit_code == 2, done.output
    return " ".join(done.output.split())


def test_what_cannot_be_served_is_said_first(
    patients: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "or add --demo and no table" in error()
    assert "or add --demo and no table" in error(patients)
    assert "or add --demo and no table" in error(patients, "--target", "outcome", "--demo")
    assert "is not a share of the rows" in error("--demo", "--holdout", 1)
    assert "names column 'x'" in error(patients, "--target", "x")
    assert "there is no folder" in error(
        patients, "--target", "outcome", "--journal", patients.parent / "no" / "x.jsonl"
    )
    monkeypatch.setattr("netbenefit.studio.server.find_spec", lambda name: None)
    message = error("--demo")
    assert "the studio needs starlette and uvicorn: pip install" in message
    assert "[studio]" in message


def test_the_demo_is_a_studio_of_tumours(tmp_path: Path) -> None:
    with started("--demo", "--holdout", 0, cwd=tmp_path) as studio:
        found = studio.state()
        assert found["card"]["title"] == "Risk of malignancy"
        assert found["figures"]["training"]["n"] == 569
        assert "held-out" not in found["figures"]
        with urlopen(studio.url, timeout=60) as page:
            assert b"app.js" in page.read()
    assert studio.process.returncode == 0
    assert list(tmp_path.iterdir()) == []
