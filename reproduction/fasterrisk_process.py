"""FasterRisk in a process of its own: how its interpreter is found, asked, watched and ended."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import FloatArray, InputError

__all__ = [
    "VARIABLE",
    "FasterRiskError",
    "FasterRiskTimeout",
    "Pool",
    "ask",
    "has_fasterrisk",
    "interpreter",
]

#: Environment variable that names the interpreter.
VARIABLE = "NETBENEFIT_FASTERRISK_PYTHON"

_HOW = (
    "FasterRisk pins old versions of its dependencies, so give it an environment of its own, with "
    "Python 3.8 to 3.11: `python -m venv fasterrisk-env` and `fasterrisk-env/bin/python -m pip "
    f"install fasterrisk`. Then set {VARIABLE}=fasterrisk-env/bin/python (best as a full path), or "
    "pass python=."
)
#: Succeeds where FasterRisk is installed, without the seconds that importing it takes.
_PROBE = "import sys, importlib.util as u; sys.exit(u.find_spec('fasterrisk') is None)"
_PROBE_SECONDS = 60
#: Lines of the child's last words that an error repeats.
_LINES = 8
#: Ours, and wrong for another interpreter.
_NOT_HANDED_ON = ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__")
_KILL = 9
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class FasterRiskError(InputError):
    """FasterRisk's process failed; the message ends with its last words."""


class FasterRiskTimeout(FasterRiskError):
    """FasterRisk's process was ended at its time limit, without an answer."""


class Pool(NamedTuple):
    """The cards that FasterRisk found, best logistic loss first."""

    multipliers: FloatArray  #: (n_cards,)
    intercepts: FloatArray  #: (n_cards,)
    points: FloatArray  #: (n_cards, n_features)
    seconds: float  #: of the search alone, without the interpreter's start
    version: str


# -- the interpreter -------------------------------------------------------------------------------


def interpreter(python: str | os.PathLike[str] | None = None) -> str:
    """Full path of the interpreter that has FasterRisk, as named by the caller or the environment.

    Examples
    --------
    >>> import sys
    >>> interpreter(sys.executable) == os.path.abspath(sys.executable)
    True
    """
    source = f"{VARIABLE}=" if python is None else "python="
    named = os.environ.get(VARIABLE) if python is None else python
    if not named:
        raise InputError(f"no Python with FasterRisk is named. {_HOW}")
    if not isinstance(named, str | os.PathLike):
        raise InputError(f"python={named!r} is not a path. Pass the path of an interpreter.")
    found = shutil.which(os.path.expanduser(named))
    if found is None:
        raise InputError(f"{source}{os.fspath(named)} is not a program that can be run. {_HOW}")
    # The child works in another folder.  Links stay: by its link a Python knows its environment.
    return os.path.abspath(found)


def has_fasterrisk(program: str) -> bool:
    """Whether this interpreter runs, and has FasterRisk."""
    with tempfile.TemporaryDirectory(prefix="netbenefit-") as folder:
        try:
            done = subprocess.run(
                [program, "-c", _PROBE],
                cwd=folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == 0


def _environment() -> dict[str, str]:
    """Our environment, for one thread and without what points to our own packages."""
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_HANDED_ON}
    return kept | dict.fromkeys(_ONE_THREAD, "1")


# -- question and answer ---------------------------------------------------------------------------


def ask(
    program: str,
    X: FloatArray,
    event: NDArray[np.bool_],
    options: Mapping[str, Any],
    time_limit: float | None,
) -> Pool:
    """Have FasterRisk learn from these rows.

    1. Lay question and script into a folder of their own.  (Where the script lies is the first
       place that Python imports from; beside this file it would find *our* module ``fasterrisk``.)
    2. Run it, no longer than the time limit.
    3. Read the answer; what is not one is an error with the child's last words.
    """
    with tempfile.TemporaryDirectory(prefix="netbenefit-") as name:
        folder = Path(name)
        np.savez(folder / "question.npz", X=X, y=np.where(event, 1.0, -1.0))
        (folder / "options.json").write_text(json.dumps(dict(options)), encoding="utf-8")
        shutil.copyfile(Path(__file__).with_name("fasterrisk_child.py"), folder / "run.py")
        code = _run(program, folder, time_limit)
        answer = folder / "answer.json"
        if code or not answer.is_file():
            raise FasterRiskError(f"FasterRisk {_ending(code)}. {_last_words(program, folder)}")
        return _pool(answer.read_text(encoding="utf-8"), X.shape[1])


def _run(program: str, folder: Path, time_limit: float | None) -> int:
    """Run the script; whatever happens here, the child is not left behind."""
    with open(folder / "stderr.txt", "wb") as words:
        try:
            child = subprocess.Popen(
                [program, "run.py"],
                cwd=folder,
                env=_environment(),
                stdin=subprocess.PIPE,  # stays open: it closes when we die, and the child sees it
                stdout=subprocess.DEVNULL,
                stderr=words,
                start_new_session=True,  # a group that can be ended with all that it started
            )
        except OSError as error:
            raise FasterRiskError(f"{program} cannot be run: {error}. {_HOW}") from None
        try:
            return child.wait(time_limit)
        except subprocess.TimeoutExpired:
            raise FasterRiskTimeout(
                f"FasterRisk gave no answer within time_limit={time_limit:g} seconds and was ended:"
                " it has no earlier answer to fall back on. Raise time_limit, lower max_features,"
                " or use fewer rows."
            ) from None
        finally:  # Ctrl-C comes this way, too
            _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        if os.name == "posix":
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
        child.wait()
    if child.stdin is not None:
        child.stdin.close()


def _ending(code: int) -> str:
    if code < 0:
        why = ", often a lack of memory" if -code == _KILL else ""
        return f"was ended by signal {-code}{why}"
    return f"failed with exit code {code}" if code else "left no answer"


def _last_words(program: str, folder: Path) -> str:
    text = (folder / "stderr.txt").read_text(encoding="utf-8", errors="replace")
    lines = [line.rstrip() for line in text.splitlines() if line.strip()][-_LINES:]
    if not lines:
        return f"{program} wrote no error."
    missing = lines[-1].startswith("ModuleNotFoundError")
    remedy = f"\n{program} lacks a package. {_HOW}" if missing else ""
    return "Its last lines:\n" + "\n".join(f"    {line}" for line in lines) + remedy


def _pool(text: str, n_features: int) -> Pool:
    """The answer as arrays; refuse one that is no pool of cards."""
    try:
        answer = json.loads(text)
        multipliers, intercepts, points = (
            np.asarray(answer[name], dtype=np.float64)
            for name in ("multipliers", "intercepts", "points")
        )
        seconds, version = float(answer["seconds"]), str(answer["version"])
    except (ValueError, TypeError, KeyError) as error:
        raise FasterRiskError(f"FasterRisk's answer cannot be read: {error!r}. {_OTHER}") from None
    n_cards = multipliers.size
    shapes = (multipliers.shape, intercepts.shape, points.shape)
    if n_cards == 0 or shapes != ((n_cards,), (n_cards,), (n_cards, n_features)):
        raise FasterRiskError(
            f"FasterRisk's answer has multipliers, intercepts and points of shapes {shapes}, for "
            f"{n_features} columns. {_OTHER}"
        )
    return Pool(multipliers, intercepts, points, seconds, version)


_OTHER = "Another version of FasterRisk may help: 0.1.10 is known to work."
