"""Validation goes on after a kill where it stopped, and ends with the same numbers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from netbenefit import (
    InputError,
    bootstrap_validate,
    choose_setting,
    cross_validate,
    nested_cross_validate,
)
from tests.helpers.cards import SHORT_SEARCH
from tests.helpers.leaks import SlowLogistic

ROOT = Path(__file__).resolve().parents[2]
#: 3 outer folds, each with 3 inner folds of 2 settings: 18 models, then 3 more.
TOTAL = 21

SCRIPT = """
import json, sys
import numpy as np
from netbenefit import nested_cross_validate
from tests.helpers.leaks import SlowLogistic

journal, jobs = sys.argv[1] or None, int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
y = rng.random(150) < 1 / (1 + np.exp(-X[:, 0]))
found = nested_cross_validate(
    SlowLogistic(), X, y, settings={"C": [0.01, 1.0]}, folds=3, inner_folds=3,
    sample_weight=rng.integers(1, 3, 150), journal=journal, n_jobs=jobs,
)
json.dump([found.predictions.tolist(), {m: v.tolist() for m, v in found.held_out.items()},
           [c.values.tolist() for c in found.choices], found.settings], sys.stdout)
"""


def start(journal: Path | str, jobs: int, log: Path, seconds: float = 0.0) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "OPENBLAS_NUM_THREADS": "1",
        "FIT_LOG": str(log),
        "FIT_SECONDS": str(seconds),
    }
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(journal), str(jobs)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that workers can be killed with it
    )


def finish(process: subprocess.Popen[str]) -> Any:
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return json.loads(out)


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def kill_after(process: subprocess.Popen[str], journal: Path, tasks: int) -> None:
    """SIGKILL, as soon as so many tasks are in the journal."""
    deadline = time.monotonic() + 100
    while lines(journal) < tasks + 1:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=30)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_a_killed_nested_cross_validation_resumes(tmp_path: Path) -> None:
    """Killed in the inner folds, with two workers; and again in the outer ones."""
    whole = finish(start("", 1, tmp_path / "log of a whole run"))
    assert lines(tmp_path / "log of a whole run") == TOTAL
    journal = tmp_path / "journal"
    kill_after(start(journal, 2, tmp_path / "log 1", seconds=0.3), journal, 4)
    after_first = lines(journal) - 1
    assert 4 <= after_first < 18
    kill_after(start(journal, 1, tmp_path / "log 2", seconds=0.1), journal, 19)
    after_second = lines(journal) - 1
    assert 19 <= after_second < TOTAL
    # the one that was being fitted when the kill came counts, too
    assert lines(tmp_path / "log 2") - (after_second - after_first) in (0, 1)
    resumed = finish(start(journal, 1, tmp_path / "log 3"))
    assert lines(tmp_path / "log 3") == TOTAL - after_second  # no finished model is fitted again
    assert resumed == whole  # to the last digit


# -- what a journal is good for, without a kill ----------------------------------------------------


def rows(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    return X, rng.random(80) < 1 / (1 + np.exp(-X[:, 0]))


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FIT_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def test_more_repeats_and_resamples_are_added(tmp_path: Path, log: Path) -> None:
    X, y = rows()
    options = {"folds": 4, "journal": tmp_path / "cv"}
    few = cross_validate(SlowLogistic(), X, y, repeats=1, **options)
    more = cross_validate(SlowLogistic(), X, y, repeats=3, **options)
    assert lines(log) == 12
    assert np.array_equal(few.predictions, more.predictions[:1])
    fresh = cross_validate(SlowLogistic(), X, y, repeats=3, folds=4)
    assert np.array_equal(more.predictions, fresh.predictions)
    bootstrap_validate(SlowLogistic(), X, y, resamples=3, journal=tmp_path / "boot")
    before = lines(log)
    bootstrap_validate(SlowLogistic(), X, y, resamples=5, journal=tmp_path / "boot")
    assert lines(log) == before + 2


def test_given_folds_are_recognised_by_their_rows(tmp_path: Path, log: Path) -> None:
    X, y = rows()
    order = np.random.default_rng(0).permutation(80)
    folds = [(np.setdiff1d(order, order[k::4]), order[k::4]) for k in range(4)]
    options = {"journal": tmp_path / "j"}
    one = cross_validate(SlowLogistic(), X, y, folds=iter(folds), **options)
    again = cross_validate(SlowLogistic(), X, y, folds=folds[::-1], **options)
    assert np.array_equal(one.predictions, again.predictions)
    # other numbers of the same folds are other tasks: nothing is mixed up, all is fitted anew
    assert lines(log) == 8
    cross_validate(SlowLogistic(), X, y, folds=folds, **options)
    assert lines(log) == 8


def test_other_data_or_settings_are_another_run(tmp_path: Path) -> None:
    X, y = rows()
    options: dict[str, Any] = {"folds": 3, "journal": tmp_path / "j", "thresholds": "0.1:0.5:0.1"}
    cross_validate(LogisticRegression(), X, y, **options)
    cross_validate(LogisticRegression(), X, y, n_jobs=2, verbose=1, **options)  # the same
    other_X, other_y = X.copy(), y.copy()
    other_X[0, 0] += 1e-9
    other_y[:2] = ~other_y[:2]
    for change in (
        {"X": other_X},
        {"y": other_y},
        {"sample_weight": np.ones(80)},
        {"estimator": LogisticRegression(C=2)},
        {"folds": 4},
        {"random_state": 1},
        {"thresholds": "0.1:0.4:0.1"},
        {"net_benefit_at": 0.2},
    ):
        arguments = {"estimator": LogisticRegression(), "X": X, "y": y, **options, **change}
        with pytest.raises(InputError, match="other data or other settings"):
            cross_validate(**arguments)
    for other in (nested_cross_validate, choose_setting):
        with pytest.raises(InputError, match="other data or other settings"):
            other(LogisticRegression(), X, y, settings={"C": [1.0]}, **options)
    with pytest.raises(InputError, match="other data or other settings"):
        bootstrap_validate(LogisticRegression(), X, y, journal=tmp_path / "j")


def test_ctrl_c_in_a_search_ends_the_fold_without_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A card of a broken-off search must not be kept as if it were a whole one."""
    import netbenefit as nb

    X, y = (rows()[0] > 0).astype(int), rows()[1]
    model = nb.RiskScoreClassifier(binner=None, solver=SHORT_SEARCH, n_jobs=1)
    fit = nb.RiskScoreClassifier.fit

    def broken(self: Any, *options: Any, **more: Any) -> Any:
        fitted = fit(self, *options, **more)
        object.__setattr__(fitted.result_, "status", "interrupted")
        return fitted

    monkeypatch.setattr(nb.RiskScoreClassifier, "fit", broken)
    with pytest.raises(KeyboardInterrupt):
        cross_validate(model, X, y, folds=2, journal=tmp_path / "j")
    assert lines(tmp_path / "j") == 1
