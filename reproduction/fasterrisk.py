"""FasterRisk, a peer that the paper does not compare with, run in an environment of its own.

FasterRisk (Liu, Zhong, Li, Seltzer and Rudin, NeurIPS 2022; package ``fasterrisk``) searches cards
of small logistic loss in three steps: a beam search for a sparse logistic regression, a pool of
others nearly as good, and multipliers with which each is rounded to whole points.  Its pinned
dependencies clash with ours, so another interpreter runs it; see :class:`FasterRiskClassifier`.
"""

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
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from netbenefit.cards.rules import check_integer, is_finite
from netbenefit.common.checks import FloatArray, InputError, IntArray

# -- fasterRisk in a process of its own: how its interpreter is found, run, watched and ended ------


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
    """Full path of the interpreter that has FasterRisk, as given or by the environment."""
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
    """Let FasterRisk learn from these rows.

    1. Write the request and the script to a separate folder. (Python imports from the script's
       folder first; next to this file it would find *our* module ``fasterrisk``.)
    2. Run the script, no longer than the time limit.
    3. Read the result; if there is none, raise an error with the last lines of the child.
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


#: Arguments of FasterRisk that have parameters of their own here.
_OWN = frozenset({"X", "y", "k", "lb", "ub"})


def available(python: str | os.PathLike[str] | None = None) -> bool:
    """Whether there is an interpreter with FasterRisk, by default NETBENEFIT_FASTERRISK_PYTHON."""
    try:
        program = interpreter(python)
    except InputError:
        return False
    return has_fasterrisk(program)


class FasterRiskClassifier(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    BaseEstimator,  # type: ignore[misc]
):
    """Cards by FasterRisk, which another Python runs.

    Points λ, intercept λ₀ and multiplier m give the risk of a row x as 1 / (1 + exp(−(λ₀ + x·λ) /
    m)). The first card of FasterRisk's pool is kept, which has the smallest logistic loss on the
    training rows; cards that rounding took out of the bounds are passed over.

    ``max_features`` is FasterRisk's ``k``; the paper, which does not run FasterRisk, gives none:
    ten is our choice. ``time_limit`` holds for the whole process, which uses one thread and is
    ended at the limit, at Ctrl-C, and when the process that started it is gone. ``options`` are
    further arguments of FasterRisk's ``RiskScoreOptimizer``.
    """

    coef_: IntArray
    classes_: NDArray[Any]

    def __init__(
        self,
        python: str | os.PathLike[str] | None = None,
        *,
        max_features: int = 10,
        max_points: int = 10,
        time_limit: float | None = 600.0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.python = python
        self.max_features = max_features
        self.max_points = max_points
        self.time_limit = time_limit
        self.options = options

    def fit(self, X: Any, y: Any) -> FasterRiskClassifier:
        """Have FasterRisk learn a card from numbers, (n_rows, n_features), and two labels."""
        self._check()
        program = interpreter(self.python)
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size != 2:
            raise InputError(
                f"y has {self.classes_.size} class(es): {self.classes_[:5].tolist()}. FasterRisk "
                "needs rows of two classes."
            )
        k = min(X.shape[1], int(self.max_features))
        bound = int(self.max_points)
        options = {**(self.options or {}), "k": k, "lb": -bound, "ub": bound}
        limit = None if self.time_limit is None else float(self.time_limit)
        pool = ask(program, X, codes == 1, options, limit)
        self._keep(pool, _first_allowed(pool, k, bound))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Risks, as FasterRisk computes them: (n_rows, 2)."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        log_odds = (self.intercept_ + rows @ self.coef_) / self.multiplier_
        # not 1 − risk, which would be 0 where the risk is close to 1
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    def predict(self, X: Any) -> NDArray[Any]:
        """The event's label where the risk is at least ½."""
        risk = self.predict_proba(X)[:, 1]
        labels: NDArray[Any] = self.classes_[(risk >= 0.5).astype(np.intp)]
        return labels

    @property
    def size(self) -> int:
        """Number of columns whose points are not 0."""
        check_is_fitted(self)
        return int(np.count_nonzero(self.coef_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _keep(self, pool: Pool, best: int) -> None:
        self.coef_ = pool.points[best].astype(np.int64)
        self.intercept_ = int(pool.intercepts[best])
        self.multiplier_ = float(pool.multipliers[best])
        self.seconds_ = pool.seconds
        self.n_cards_ = pool.multipliers.size
        self.version_ = pool.version

    def _check(self) -> None:
        for name in ("max_features", "max_points"):
            value = getattr(self, name)
            if check_integer(value, name) < 1:
                raise InputError(f"{name}={value} must be at least 1.")
        limit = self.time_limit
        if limit is not None and not (is_finite(limit) and limit > 0):
            raise InputError(
                f"time_limit={limit!r} is not a number of seconds above 0. Use None for no limit."
            )
        _check_options(self.options)


def _check_options(options: Any) -> None:
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise InputError(f"options={options!r} is not a mapping of FasterRisk's argument names.")
    taken = sorted(_OWN.intersection(options))
    if taken:
        raise InputError(
            f"options holds {', '.join(taken)}. Say max_features and max_points instead of k, lb "
            "and ub; the rows go to fit."
        )
    try:
        json.dumps(dict(options))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"options cannot be sent to another process: {error}. Use plain numbers, texts and "
            "lists."
        ) from None


def _first_allowed(pool: Pool, k: int, bound: int) -> int:
    """The first card of whole points within k and the bounds, which rounding may have passed."""
    points = pool.points
    whole = (points == np.round(points)).all(axis=1) & (
        pool.intercepts == np.round(pool.intercepts)
    )
    inside = (np.abs(points) <= bound).all(axis=1) & (np.count_nonzero(points, axis=1) <= k)
    usable = np.isfinite(pool.multipliers) & (pool.multipliers > 0)
    usable &= np.isfinite(pool.intercepts)
    good = np.flatnonzero(whole & inside & usable)
    if good.size == 0:
        raise FasterRiskError(
            f"none of FasterRisk's {len(points)} cards has whole points between {-bound} and "
            f"{bound} in at most {k} columns. Columns of very different size may be the cause: "
            "rescale them, or raise max_points."
        )
    return int(good[0])
