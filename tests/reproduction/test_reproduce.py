"""``netbenefit reproduce``: the quick budget for real, killed and gone on with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netbenefit.cli.main import app
from reproduction import command as reproduction_command
from reproduction.plan import PAPER_METHODS, make_plan
from reproduction.run import read_rows

ROOT = Path(__file__).resolve().parents[2]


def command(out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "netbenefit", "reproduce", "--out", str(out), *options]


@pytest.fixture
def environment(data_folder: Path) -> dict[str, str]:
    return os.environ | {"NETBENEFIT_DATA": str(data_folder.resolve())}


def stored(out: Path) -> dict[tuple[str, str, str, int], float]:
    """Seconds of each stored fit: no two runs take the same time to the last digit."""
    return {
        (row["dataset"], row["method"], row["setting"], row["fold"]): row["seconds"]
        for file in sorted((out / "rows").glob("*.parquet"))
        for row in read_rows(file)
    }


#: Methods that need no compiling, so that rows come soon on a new machine, too.
FEW = ("--budget", "quick", "--methods", "logistic,lasso,tree,xgboost")


def test_a_run_that_is_killed_goes_on_and_writes_everything(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    """Killed with all its processes while it runs; no finished fit is lost or made again.

    The whole of the quick budget is run by ``make test``, after the tests.
    """
    out = tmp_path / "run"
    run = subprocess.Popen(command(out, *FEW), env=environment, start_new_session=True, cwd=ROOT)
    deadline = time.monotonic() + 300
    while len(stored(out)) < 3 and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    before = stored(out)
    assert len(before) >= 3

    done = finished(out, environment, *FEW)
    after = stored(out)
    assert before.items() <= after.items()
    planned = make_plan("quick", methods=["logistic", "lasso", "tree", "xgboost"])
    assert set(after) == {(job.dataset, job.method, job.setting, job.fold) for job in planned}
    assert "begin with" in done.stdout
    assert {"index.md", "performance.md", "ranks.md", "results.parquet", "roc.svg"} <= {
        file.name for file in out.iterdir()
    }

    finished(out, environment, "--budget", "quick", "--only", "performance", "--methods", "tree")
    assert stored(out) == after
    assert "| LASSO " in (out / "performance.md").read_text()  # rows of other methods stay


def finished(
    out: Path, environment: dict[str, str], *options: str
) -> subprocess.CompletedProcess[str]:
    """A run to its end, which has to be a good one."""
    done = subprocess.run(
        command(out, *options),
        env=environment,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--only", "tables"], "--only: 'tables' is unknown. Known are"),
        (["--datasets", "adult,iris"], "--datasets: 'iris' is unknown"),
        (["--methods", "gam"], "--methods: 'gam' is unknown"),
    ],
)
def test_unknown_names(options: list[str], words: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", "--out", str(tmp_path), *options])
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


def test_no_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETBENEFIT_DATA", str(tmp_path / "nowhere"))
    done = CliRunner().invoke(app, ["reproduce", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert "NETBENEFIT_DATA" in done.output
    assert not (tmp_path / "out").exists()


def test_out_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    done = CliRunner().invoke(app, ["reproduce", "--out", str(file)])
    assert done.exit_code == 2
    assert "is a file" in done.output


def test_a_package_that_is_absent(monkeypatch: pytest.MonkeyPatch, data_folder: Path) -> None:
    """A method is left out, unless it was requested; some packages are always needed."""
    monkeypatch.setenv("NETBENEFIT_DATA", str(data_folder))
    plan = make_plan("quick")
    found = reproduction_command.importlib.util.find_spec

    def hide(*names: str) -> None:
        monkeypatch.setattr(
            reproduction_command.importlib.util,
            "find_spec",
            lambda n: None if n in names else found(n),
        )

    hide("xgboost")
    jobs, notes = reproduction_command.check_requirements(plan)
    assert "xgboost" not in {job.method for job in jobs}
    assert {job.method for job in jobs} >= set(PAPER_METHODS) - {"xgboost"}
    assert any("[xgboost]" in note for note in notes)
    with pytest.raises(reproduction_command.InputError, match="--methods: xgboost cannot be run"):
        reproduction_command.check_requirements(plan, required=["xgboost"])
    hide("pyarrow")
    with pytest.raises(reproduction_command.InputError, match=r"\[reproduce\]"):
        reproduction_command.check_requirements(plan)
