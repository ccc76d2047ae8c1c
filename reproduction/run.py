"""One job: learn on the training rows, measure on both parts."""

from __future__ import annotations

import copy
import io
import math
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from netbenefit._version import __version__
from netbenefit.cards.scorecard import Scorecard
from netbenefit.common import install_command
from netbenefit.common.checks import FloatArray, InputError
from netbenefit.common.files import write_bytes
from netbenefit.common.journal import Progress, lock_file
from netbenefit.common.numbers import relative_gap
from netbenefit.common.parallel import finished_tasks
from netbenefit.metrics import benefit as metrics
from netbenefit.metrics.measures import size_of
from netbenefit.metrics.thresholds import Thresholds
from reproduction.datasets import load_dataset
from reproduction.methods import SEED, make_model, recipe_of
from reproduction.plan import ALL_ROWS, CREDIT, Job

#: The paper's number of folds.
FOLDS = 10

#: A result: numbers, texts, and the lists ``test_rows`` and ``test_risks``.
Row = dict[str, Any]


class Split(NamedTuple):
    """Rows to learn from and rows to measure on."""

    X_train: NDArray[Any]
    y_train: NDArray[np.bool_]
    X_test: NDArray[Any]
    y_test: NDArray[np.bool_]
    test_rows: NDArray[np.intp]  #: numbers of the held-out rows


def fold_rows(y: NDArray[np.bool_], fold: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Numbers of the training rows and of the held-out rows of one of the ten folds."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    train, test = list(folds.split(np.zeros(y.size), y))[fold]
    return train, test


@lru_cache(maxsize=2)  # a worker meets the same data set again and again
def split_of(dataset: str, fold: int) -> Split:
    """Read a data set and split it as a job says."""
    if dataset == CREDIT:
        return _credit(fold)
    data = load_dataset(dataset)
    train, test = fold_rows(data.y, fold)
    return Split(data.X[train], data.y[train], data.X[test], data.y[test], test)


def _credit(fold: int) -> Split:
    from reproduction.credit import credit_all, credit_split

    if fold == ALL_ROWS:
        rows = credit_all()
        return Split(rows.X, rows.y, rows.X, rows.y, np.arange(len(rows.y)))
    found = credit_split(SEED)
    return Split(found.X_train, found.y_train, found.X_test, found.y_test, found.test_rows)


def run_job(job: Job) -> list[Row]:
    """Fit one model and return its rows: one, or two where risks without Algorithm 2 are needed."""
    split = split_of(job.dataset, job.fold)
    model = make_model(job)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that are constant in a fold, and the like
        begin = time.perf_counter()
        model.fit(split.X_train, split.y_train)
        seconds = time.perf_counter() - begin
        rows = [_row(job, job.setting, split, model, seconds)]
        if "no-calibration" in job.settings:
            plain = copy.copy(model)  # the same points, and all that was proven of them
            plain.scorecard_ = without_calibration(model.scorecard_)
            rows.append(_row(job, "no-calibration", split, plain, seconds))
    return rows


def without_calibration(card: Scorecard) -> Scorecard:
    """Return the card as it is before Algorithm 2: each level has the lower end of its interval.

    Our estimator's ``calibrate=False`` takes the middle of the interval, which is closer to the
    truth; the published calibration errors come out with the lower end.
    """
    ends = card.thresholds.values
    steps = [(score, ends[card.level_of_score(score)]) for score, _ in card.risks]
    return replace(card, risks=tuple(steps))


# -- measuring -------------------------------------------------------------------------------------


def _row(job: Job, setting: str, split: Split, model: Any, seconds: float) -> Row:
    test_risks = model.predict_proba(split.X_test)[:, 1]
    size = size_of(model)
    return {
        "dataset": job.dataset,
        "method": job.method,
        "setting": setting,
        "fold": job.fold,
        **_measures("train", split.y_train, model.predict_proba(split.X_train)[:, 1]),
        **_measures("test", split.y_test, test_risks),
        "test_auroc_of_score": _auroc_of_score(model, split),
        # A number of nodes says nothing of a sum of trees; the paper leaves it out, too.
        "size": None if job.method == "xgboost" or math.isnan(size) else size,
        **_solved(model),
        "seconds": seconds,
        "n_train": len(split.y_train),
        "n_test": len(split.y_test),
        "test_rows": split.test_rows.tolist(),
        "test_risks": test_risks.tolist(),
        "budget": job.budget,
        "version": __version__,
        "recipe": recipe_of(job),
    }


def _measures(part: str, y: NDArray[np.bool_], risk: FloatArray) -> dict[str, float]:
    """Measures at the published thresholds, whatever the model was trained for."""
    grid = Thresholds.tenths()
    return {
        f"{part}_auroc": metrics.auroc(y, risk),
        f"{part}_ece": metrics.expected_calibration_error(y, risk, grid),
        f"{part}_aunbc": metrics.aunbc(y, risk, grid),
    }


def _auroc_of_score(model: Any, split: Split) -> float | None:
    """A card has fewer risks than scores, so its scores may rank rows better."""
    if not hasattr(model, "scorecard_"):
        return None
    score = np.asarray(model.scorecard_.score(split.X_test), dtype=np.float64)
    low, high = score.min(), score.max()
    return metrics.auroc(split.y_test, (score - low) / max(high - low, 1.0))


def _solved(model: Any) -> dict[str, Any]:
    """What a solver says: value, bound, gap; the card.

    For the integer program these are HiGHS's own bound, gap and "optimal", as the paper's are
    Gurobi's, and for SLIM and RISKSLIM those of the search: nobody can recount them.
    """
    result = getattr(model, "result_", None)
    if result is None:
        nothing = dict.fromkeys(("objective", "bound", "gap", "penalty"))
        return {**nothing, "status": "", "card": ""}
    gap, bound, status = result.gap, result.bound, result.status
    details = {} if result.proof is None else result.proof.details
    if "solver_bound" in details:
        bound = details["solver_bound"]
        value, tolerance = result.objective, details.get("tolerance", 0.0)
        if bound <= max(math.nextafter(value, math.inf), value + tolerance):  # equal, or rounded up
            bound, status = result.objective, "optimal"
        gap = model.gap_ if hasattr(model, "gap_") else relative_gap(result.objective, bound)
    certificate = getattr(model, "certificate_", None)
    penalty = None if certificate is None else float(certificate.problem.penalty)
    return {
        "objective": result.objective,
        "bound": bound,
        "gap": None if gap is None or not math.isfinite(gap) else float(gap),
        "penalty": penalty,
        "status": status,
        "card": model.scorecard_.to_json(),
    }


# -- rows on disk: one Parquet file per data set and method, rewritten whenever a row comes ----
# A run that is killed leaves every file as it was before or after a row, never in between.


Key = tuple[str, int]


class Store(AbstractContextManager["Store"]):
    """The rows of a run, in a folder that no other run may write to at the same time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[Path, dict[Key, Row]] = {}
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Store:
        _pyarrow()  # better to learn now that it is absent than after the first fit
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = open(self._folder / ".lock", "ab")  # held until the end
        lock_file(self._lock, f"the folder {self._folder}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._lock is not None:
            self._lock.close()

    def has(self, job: Job, recipe: str) -> bool:
        """Whether all rows of a job are there, made by this recipe."""
        rows = self._rows(self._path(job.dataset, job.method))
        found = [rows.get((setting, job.fold)) for setting in job.settings]
        return all(row is not None and row["recipe"] == recipe for row in found)

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows of one data set and method; those of the same setting and fold are replaced."""
        rows = list(rows)
        path = self._path(rows[0]["dataset"], rows[0]["method"])
        known = self._rows(path)
        known.update({(row["setting"], row["fold"]): row for row in rows})
        write_rows([known[key] for key in sorted(known)], path)

    def rows(self) -> list[Row]:
        """All rows, also those of earlier runs with other methods or data sets."""
        for path in sorted(self._folder.glob("*--*.parquet")):
            self._rows(path)
        return [file[key] for file in self._files.values() for key in sorted(file)]

    def _path(self, dataset: str, method: str) -> Path:
        return self._folder / f"{dataset}--{method}.parquet"

    def _rows(self, path: Path) -> dict[Key, Row]:
        if path not in self._files:
            rows = read_rows(path) if path.exists() else []
            self._files[path] = {(row["setting"], row["fold"]): row for row in rows}
        return self._files[path]


def write_rows(rows: list[Row], path: Path) -> None:
    """Write rows to a Parquet file, at once or not at all."""
    import pyarrow.parquet as parquet  # type: ignore[import-untyped]

    names = list(dict.fromkeys(name for row in rows for name in row))
    whole = [{name: row.get(name) for name in names} for row in rows]  # arrow asks the first alone
    buffer = io.BytesIO()
    parquet.write_table(_pyarrow().Table.from_pylist(whole), buffer, compression="zstd")
    write_bytes(path, buffer.getvalue())


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a Parquet file."""
    arrow = _pyarrow()
    import pyarrow.parquet as parquet

    try:
        rows: list[Row] = parquet.read_table(path).to_pylist()
    except (OSError, arrow.ArrowInvalid) as error:
        raise InputError(
            f"{path} is damaged ({error}). Delete it: its rows are made again."
        ) from None
    return rows


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise InputError(
            "results are kept as Parquet, which needs the package pyarrow. Install it with "
            f"`{install_command('reproduce')}`."
        ) from None
    return pyarrow


# -- run a plan: jobs that are done are left alone, the others run some at a time ------------------


class Failure(NamedTuple):
    """A job that gave no row, and why."""

    job: Job
    error: str


class Outcome(NamedTuple):
    """What the folder holds after a run, rows of earlier runs included, and what went wrong."""

    rows: list[Row]
    failures: list[Failure]


def run_plan(
    plan: Sequence[Job],
    folder: Path,
    *,
    n_jobs: int = -1,
    progress: Progress | None = None,
) -> Outcome:
    """Fit what is not in the folder yet; a job that fails is tried again by the next run."""
    report = progress or (lambda done, total: None)
    failures = []
    with Store(folder) as store:
        waiting = [job for job in plan if not store.has(job, recipe_of(job))]
        done = len(plan) - len(waiting)
        report(done, len(plan))
        for job, rows in finished_tasks(run_job, _longest_first(waiting), n_jobs):
            if isinstance(rows, Exception):
                failures.append(Failure(job, f"{type(rows).__name__}: {rows}"))
            else:
                store.add(rows)
            done += 1
            report(done, len(plan))
        return Outcome([row for row in store.rows() if _is_current(row)], failures)


def _is_current(row: Row) -> bool:
    """Whether the row is what its job would give today, and not left over from another recipe."""
    # Risks without Algorithm 2 are read off from the fit of the original setting.
    setting = "original" if row["setting"] == "no-calibration" else row["setting"]
    job = Job(row["dataset"], row["method"], setting, row["fold"], row["budget"])
    try:
        return bool(row["recipe"] == recipe_of(job))
    except InputError:  # of a package that is not installed here: nothing is known against it
        return True


def _longest_first(jobs: Iterable[Job]) -> list[Job]:
    """Long jobs at the end would leave cores idle; the order of the plan decides among equals."""
    return sorted(jobs, key=lambda job: -job.seconds if job.seconds > 60 else 0.0)
