"""FasterRisk in another process: protocol and failures with a stand-in, numbers with the real one.

The stand-in lives in an environment of its own, so that all processes here are real ones.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import netbenefit
from netbenefit.common.checks import InputError
from netbenefit.metrics.measures import size_of
from reproduction import fasterrisk
from reproduction.fasterrisk import (
    VARIABLE,
    FasterRiskClassifier,
    FasterRiskError,
    FasterRiskTimeout,
    available,
)
from tests.reproduction.processes import runs, wait_for

X = np.array([[0, 1, 2], [1, 0, 0.5], [1, 1, -3], [0, 0, 7]] * 3, dtype=float)
Y = np.array([0, 1, 1, 0] * 3)
posix_only = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
real_only = pytest.mark.skipif(not available(), reason=f"{VARIABLE} names no Python with it")


def make_environment(folder: Path) -> tuple[str, Path]:
    """Return a Python of its own that sees our numpy, and where its packages live."""
    venv.EnvBuilder(with_pip=False, symlinks=os.name == "posix").create(folder)
    places = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=places))
    (packages / "ours.pth").write_text(f"{Path(np.__file__).parents[1]}\n")
    scripts = Path(sysconfig.get_path("scripts", "venv", vars=places))
    return str(scripts / ("python" if os.name == "posix" else "python.exe")), packages


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a Python with the stand-in."""
    python, packages = make_environment(tmp_path_factory.mktemp("fake"))
    (packages / "fasterrisk").mkdir()
    (packages / "fasterrisk" / "__init__.py").touch()
    source = Path(__file__).with_name("fake_fasterrisk.py")
    shutil.copyfile(source, packages / "fasterrisk" / "fasterrisk.py")
    return python


@pytest.fixture
def note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file in which the stand-in writes the request that it got."""
    monkeypatch.setenv("FAKE_FASTERRISK_NOTE", str(tmp_path / "note.json"))
    return tmp_path / "note.json"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder in which temporary ones are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


# -- what is sent, and what comes back -------------------------------------------------------------


def test_the_first_card_of_the_pool_is_kept(fake: str) -> None:
    model = FasterRiskClassifier(fake).fit(X, Y)
    assert model.coef_.tolist() == [3, -2, 0]
    assert model.coef_.dtype == np.int64
    assert (model.intercept_, model.multiplier_) == (-4, 1.5)
    assert (model.size, model.n_cards_) == (2, 2)
    assert size_of(model) == 2.0
    assert 0 <= model.seconds_ < 60
    assert model.n_features_in_ == 3


def test_risks_follow_the_formula(fake: str) -> None:
    model = FasterRiskClassifier(fake).fit(X, Y)
    risk = 1 / (1 + np.exp(-(-4 + 3 * X[:, 0] - 2 * X[:, 1]) / 1.5))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], risk, rtol=1e-14)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    far = model.predict_proba([[1e6, 0, 0], [-1e6, 0, 0]])  # no overflow
    assert far.tolist() == [[0, 1], [1, 0]]


def test_predict_gives_labels_of_the_fit(fake: str) -> None:
    labels = np.where(Y == 1, "yes", "no")
    model = FasterRiskClassifier(fake).fit(X, labels)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.predict([[4 / 3, 0, 0], [1.3, 0, 0]]).tolist() == ["yes", "no"]  # 0.5 acts


def test_what_the_process_is_told(fake: str, note: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "somewhere/else")
    model = FasterRiskClassifier(
        fake, max_features=2, max_points=7, options={"num_ray_search": 3}
    ).fit(X, Y)
    request = json.loads(note.read_text())
    assert request["X"] == X.tolist()
    assert request["y"] == np.where(Y == 1, 1.0, -1.0).tolist()
    assert request["k"] == 2
    assert request["bounds"] == [-7, 7]
    assert request["rays"] == 3
    assert request["threads"] == "1"
    assert request["path"] is None
    assert request["pid"] != os.getpid()
    assert not Path(request["folder"]).exists(), "the folder of the question is left behind"
    assert model.options == {"num_ray_search": 3}


def test_no_more_features_than_columns(fake: str, note: Path) -> None:
    FasterRiskClassifier(fake).fit(X, Y)
    request = json.loads(note.read_text())
    assert request["k"] == 3
    assert request["bounds"] == [-10, 10]


def test_the_environment_names_the_interpreter(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, fake)
    assert available()
    assert FasterRiskClassifier().fit(X, Y).size == 2
    # a name relative to where we are, although the process works elsewhere
    monkeypatch.chdir(Path(fake).parents[1])
    monkeypatch.setenv(VARIABLE, os.path.relpath(fake))
    assert FasterRiskClassifier().fit(X, Y).size == 2


def test_a_card_out_of_bounds_is_passed_over(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FASTERRISK", "outside")
    assert FasterRiskClassifier(fake).fit(X, Y).coef_.tolist() == [5, 0, 0]
    assert FasterRiskClassifier(fake, max_points=11).fit(X, Y).coef_.tolist() == [11, -2, 0]
    monkeypatch.setenv("FAKE_FASTERRISK", "endless")
    assert FasterRiskClassifier(fake).fit(X, Y).coef_.tolist() == [5, 0, 0]


def test_much_talk_does_not_block(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FASTERRISK", "talk")
    assert FasterRiskClassifier(fake, time_limit=60).fit(X, Y).size == 2


def test_clone_parameters_and_pickle(fake: str) -> None:
    model = FasterRiskClassifier(fake, max_features=2, time_limit=None, options={"select_top_m": 4})
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin.set_params(max_points=5).max_points == 5
    unfitted = pickle.loads(pickle.dumps(model))
    fitted = pickle.loads(pickle.dumps(unfitted.fit(X, Y)))
    assert (fitted.predict_proba(X) == model.fit(X, Y).predict_proba(X)).all()
    with pytest.raises(NotFittedError):
        _ = twin.size


def test_names_of_columns_are_kept(fake: str) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["age", "sex", "rate"])
    model = FasterRiskClassifier(fake).fit(frame, Y)
    assert model.feature_names_in_.tolist() == ["age", "sex", "rate"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict_proba(frame.rename(columns={"age": "AGE"}))


# -- what can go wrong -----------------------------------------------------------------------------


def test_no_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert not available()
    with pytest.raises(InputError, match=r"no Python .*python -m venv .*pip install fasterrisk"):
        FasterRiskClassifier().fit(X, Y)
    monkeypatch.setenv(VARIABLE, "no/such/python")
    assert not available()
    with pytest.raises(InputError, match=rf"{VARIABLE}=no/such/python is not a program.*venv"):
        FasterRiskClassifier().fit(X, Y)
    with pytest.raises(InputError, match="python=3 is not a path"):
        FasterRiskClassifier(3).fit(X, Y)  # type: ignore[arg-type]


def test_groups_arrive_as_an_array(fake: str, note: Path) -> None:
    groups = {"group_sparsity": 2, "featureIndex_to_groupIndex": [0, 0, 1]}
    FasterRiskClassifier(fake, options=groups).fit(X, Y)
    assert json.loads(note.read_text())["groups"] == [2, ["int64", [0, 0, 1]]]


def test_an_interpreter_without_fasterrisk(tmp_path: Path) -> None:
    python, _ = make_environment(tmp_path / "bare")
    assert not available(python)
    with pytest.raises(FasterRiskError, match=r"(?s)No module named 'fasterrisk'.*lacks.*venv"):
        FasterRiskClassifier(python).fit(X, Y)


@posix_only
def test_a_program_that_is_no_python(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho not a snake >&2\nexit 4\n")
    program.chmod(0o755)
    assert not available(program)
    with pytest.raises(FasterRiskError, match=r"(?s)exit code 4.*not a snake"):
        FasterRiskClassifier(program).fit(X, Y)
    program.write_text("#!/no/such/shell\n")
    assert not available(program)
    with pytest.raises(FasterRiskError, match="cannot be run"):
        FasterRiskClassifier(program).fit(X, Y)


@pytest.mark.parametrize(
    ("do", "message"),
    [
        ("raise", r"(?s)exit code 1\. Its last lines:.*ValueError: the beam broke$"),
        ("quit", r"exit code 7\. .*wrote no error"),
        ("leave", r"left no answer"),
        ("narrow", r"shapes .*\(2, 2\)\), for 3 columns"),
        ("fractions", r"none of FasterRisk's 2 cards has whole points between -10 and 10"),
        pytest.param("die", "ended by signal 9, often a lack of memory", marks=posix_only),
    ],
)
def test_failures_are_told(
    do: str, message: str, fake: str, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FASTERRISK", do)
    with pytest.raises(FasterRiskError, match=message) as caught:
        FasterRiskClassifier(fake).fit(X, Y)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert not list(temporary.iterdir())


def test_too_many_columns_are_refused(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FASTERRISK", "crowded")
    assert FasterRiskClassifier(fake, max_features=3).fit(X, Y).size == 3
    with pytest.raises(FasterRiskError, match="at most 2 columns"):
        FasterRiskClassifier(fake, max_features=2).fit(X, Y)


@pytest.mark.parametrize("answer", ["", "{}", "[1]", '{"multipliers": "x"}'])
def test_an_answer_that_cannot_be_read(answer: str) -> None:
    from reproduction.fasterrisk import _pool

    with pytest.raises(FasterRiskError, match="cannot be read"):
        _pool(answer, 3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_features": 0}, "max_features=0 must be at least 1"),
        ({"max_features": 2.5}, "max_features must be an integer"),
        ({"max_points": True}, "max_points must be an integer"),
        ({"time_limit": 0}, "time_limit=0 is not"),
        ({"time_limit": float("inf")}, "Use None for no limit"),
        ({"options": [1]}, "not a mapping"),
        ({"options": {"k": 3}}, "options holds k"),
        ({"options": {"parent_size": object()}}, "cannot be sent"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str, fake: str) -> None:
    with pytest.raises(InputError, match=message):
        FasterRiskClassifier(fake, **parameters).fit(X, Y)


def test_bad_rows(fake: str) -> None:
    model = FasterRiskClassifier(fake)
    with pytest.raises(InputError, match=r"1 class\(es\): \[1\]"):
        model.fit(X, np.ones(len(X), dtype=int))
    with pytest.raises(InputError, match=r"3 class\(es\)"):
        model.fit(X[:6], [0, 1, 2, 0, 1, 2])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X == 7, np.nan, X), Y)


# -- no process is left behind ---------------------------------------------------------------------


def test_the_time_limit_ends_the_process(
    fake: str, note: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FASTERRISK", "sleep")
    # the limit passes only once the process has reported its id
    wait = subprocess.Popen.wait

    def wait_for_the_note(child: Any, timeout: float | None = None) -> int:
        assert timeout is None or wait_for(note.exists)
        return wait(child, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", wait_for_the_note)
    with pytest.raises(FasterRiskTimeout, match=r"time_limit=0\.1 seconds and was ended"):
        FasterRiskClassifier(fake, time_limit=0.1).fit(X, Y)
    if os.name == "posix":
        assert not runs(json.loads(note.read_text())["pid"])
    assert not list(temporary.iterdir())


ASK = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever our parent made of it
from reproduction.fasterrisk import FasterRiskClassifier
FasterRiskClassifier(sys.argv[1], time_limit=None).fit([[0, 1], [1, 0]] * 4, [0, 1] * 4)
"""


@posix_only
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_the_process_ends_with_ours(
    how: str, fake: str, note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FASTERRISK", "sleep")
    monkeypatch.setenv("PYTHONPATH", str(Path(netbenefit.__file__).parents[1]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ours = subprocess.Popen([sys.executable, "-c", ASK, fake], stderr=subprocess.PIPE, text=True)
    try:
        assert wait_for(note.exists)
        pid = json.loads(note.read_text())["pid"]
        assert runs(pid)
        ours.send_signal(getattr(signal, how))
        words = ours.communicate(timeout=60)[1]
        assert wait_for(lambda: not runs(pid))
    finally:
        ours.kill()
        ours.wait()
    assert ("KeyboardInterrupt" in words) == (how == "SIGINT")


# -- the real one ----------------------------------------------------------------------------------

ITSELF = """
import json, sys
import numpy as np
from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer
rows = np.load(sys.argv[1])
found = RiskScoreOptimizer(X=rows["X"], y=rows["y"], k=4, lb=-10, ub=10)
found.optimize()
multiplier, intercept, points = found.get_models(model_index=0)
card = RiskScoreClassifier(multiplier, intercept, points)
print(json.dumps([points.tolist(), card.predict_prob(rows["X"]).tolist()]))
"""


@real_only
def test_the_same_card_and_risks_as_fasterrisk_itself(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = np.column_stack([rng.integers(0, 2, (300, 6)), rng.normal(size=(300, 2))])
    event = rng.random(300) < 1 / (1 + np.exp(1 - 2 * rows[:, 0] + rows[:, 3] - rows[:, 7]))
    model = FasterRiskClassifier(max_features=4).fit(rows, event)
    assert 1 <= model.size <= 4
    assert np.abs(model.coef_).max() <= 10
    assert model.version_
    np.savez(tmp_path / "rows.npz", X=rows, y=np.where(event, 1.0, -1.0))
    done = subprocess.run(
        [os.environ[fasterrisk.VARIABLE], "-c", ITSELF, str(tmp_path / "rows.npz")],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=True,
    )
    points, risks = json.loads(done.stdout.splitlines()[-1])
    assert model.coef_.tolist() == points
    np.testing.assert_allclose(model.predict_proba(rows)[:, 1], risks, rtol=1e-12)


@real_only
@pytest.mark.parametrize(("max_features", "max_points"), [(1, 10), (3, 2), (6, 5)])
def test_points_keep_to_what_was_asked(max_features: int, max_points: int) -> None:
    rng = np.random.default_rng(max_points)
    rows = rng.integers(0, 2, (200, 6)).astype(float)
    event = rng.random(200) < 0.2 + 0.6 * rows[:, 1] * rows[:, 2]
    model = FasterRiskClassifier(max_features=max_features, max_points=max_points)
    model.fit(rows, event)
    assert model.size <= max_features
    assert np.abs(model.coef_).max() <= max_points


@real_only
def test_an_unknown_option_is_told_by_fasterrisk() -> None:
    with pytest.raises(FasterRiskError, match="unexpected keyword argument 'beam'"):
        FasterRiskClassifier(options={"beam": 3}).fit(X, Y)
