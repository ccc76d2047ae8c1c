"""One job: learn on the training rows, measure on both parts."""

from __future__ import annotations

import copy
import math
import time
import warnings
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from netbenefit._version import __version__
from netbenefit.cards.scorecard import Scorecard
from netbenefit.common.checks import FloatArray
from netbenefit.data.datasets import load_dataset
from netbenefit.metrics import net_benefit as metrics
from netbenefit.metrics.evaluation_measures import size_of
from netbenefit.metrics.thresholds import Thresholds
from reproduction.methods import SEED, make_model, recipe_of
from reproduction.plan import ALL_ROWS, CREDIT, Job

__all__ = ["FOLDS", "Row", "Split", "fold_rows", "run_job", "split_of", "without_calibration"]

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
    """Numbers of the training rows and of the held-out rows of one of the ten folds.

    Examples
    --------
    >>> train, test = fold_rows(np.arange(40) % 2 == 0, 3)
    >>> len(train), len(test)
    (36, 4)
    """
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
    """Fit one model and return its rows: one, or two where risks without Algorithm 2 are asked for.

    Parameters
    ----------
    job : Job

    Returns
    -------
    list of dict
    """
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

    Examples
    --------
    >>> from netbenefit.cards.terms import PerUnit
    >>> from netbenefit.cards.scorecard import Rule
    >>> rules = [Rule(PerUnit("late"), 1)]
    >>> card = Scorecard(rules, [(0, 0.05), (1, 0.22), (2, 0.7)], Thresholds.of([0.0, 0.1, 0.5]))
    >>> without_calibration(card).risks
    ((0, 0.0), (1, 0.1), (2, 0.5))
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
    """What a solver says: value, bound, gap; the card."""
    result = getattr(model, "result_", None)
    if result is None:
        nothing = dict.fromkeys(("objective", "bound", "gap", "penalty"))
        return {**nothing, "status": "", "card": ""}
    gap = model.gap_ if hasattr(model, "gap_") else result.gap
    certificate = getattr(model, "certificate_", None)
    penalty = None if certificate is None else float(certificate.problem.penalty)
    return {
        "objective": result.objective,
        "bound": result.bound,
        "gap": None if gap is None or not math.isfinite(gap) else float(gap),
        "penalty": penalty,
        "status": result.status,
        "card": model.scorecard_.to_json(),
    }
