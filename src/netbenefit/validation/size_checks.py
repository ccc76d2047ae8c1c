"""What a path of sizes is asked for: estimator, sizes and folds, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from netbenefit.common.checks import FloatArray, InputError
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.problem.constraints import MaxFeatures
from netbenefit.problem.problem import Problem
from netbenefit.solvers.sizes import check_sizes, limit_size
from netbenefit.validation.folds import Fold, given_folds

__all__ = [
    "MOST_RULES",
    "check_estimator",
    "choose_folds",
    "choose_sizes",
    "fold_error",
    "fold_mean",
]

#: The largest size of a path about which nothing is said.
MOST_RULES = 15


def check_estimator(estimator: Any) -> RiskScoreClassifier:
    """A copy whose parameters are checked as ``fit`` does."""
    if not isinstance(estimator, RiskScoreClassifier):
        what = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        kind = "the class" if isinstance(estimator, type) else "a"
        raise InputError(
            f"estimator is {kind} {what}. Pass a RiskScoreClassifier() or RSSDNBClassifier(): only "
            "these have cards of every size."
        )
    # Not a clone, which would copy a callback, too: it has to reach the one that was given.
    copy: RiskScoreClassifier = type(estimator)(**estimator.get_params(deep=False))
    try:
        copy._validate_params()
    except ValueError as error:  # scikit-learn's own kind
        raise InputError(str(error)) from None
    return copy


def choose_sizes(problem: Problem, sizes: Sequence[int] | None) -> tuple[int, ...]:
    """Sizes that were asked for, or the default ones, within what the problem allows."""
    usable = int(((problem.lower != 0) | (problem.upper != 0)).sum())
    most = min(usable, problem.max_features)
    if sizes is not None:
        wanted = check_sizes(sizes)
        if wanted[-1] > most:
            limit = (
                f"the estimator's max_features is {most}"
                if problem.max_features < usable
                else f"only {most} columns can have points"
            )
            raise InputError(
                f"sizes go up to {wanted[-1]}, but {limit}. Use sizes of at most {most}."
            )
        limit_size(problem, wanted[0])  # refuses, naming the constraints, where it is too small
        return wanted
    if most == 0:
        raise InputError("no column may have points, so there are no sizes. Allow some columns.")
    limited = any(isinstance(constraint, MaxFeatures) for constraint in problem.constraints)
    least = next((k for k in range(1, most + 1) if _possible(problem, k)), most)
    return tuple(range(least, (most if limited else max(least, min(most, MOST_RULES))) + 1))


def _possible(problem: Problem, size: int) -> bool:
    try:
        limit_size(problem, size)
    except InputError:
        return False
    return True


def choose_folds(cv: Any, event: NDArray[np.bool_], random_state: int | None) -> list[Fold]:
    """Row numbers of training and of held-out rows, a pair a fold."""
    if isinstance(cv, int | np.integer | float | bool | None):
        if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
            raise InputError(f"cv={cv!r} must be a number of folds of at least 2, or a splitter.")
        n_events, n_others = int(event.sum()), int((~event).sum())
        few, name = min((n_events, "events"), (n_others, "rows without the event"))
        if cv > few:
            raise InputError(
                f"cv={cv} folds need as many {name}, one each, but there are {few}. Use at most "
                f"{max(few, 2)} folds{'' if few > 1 else ', and more rows'}."
            )
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
    return given_folds(cv, event)


def fold_mean(values: FloatArray) -> FloatArray:
    """Mean over the folds, which are the first axis.

    >>> fold_mean(np.array([[1.0, 2.0], [3.0, 2.0]]))
    array([2., 2.])
    """
    result: FloatArray = values.mean(axis=0)
    return result


def fold_error(values: FloatArray) -> FloatArray:
    """Standard deviation over the folds / √folds: too small, as folds share training rows.

    >>> fold_error(np.array([[1.0, 2.0], [3.0, 2.0]]))
    array([1., 0.])
    """
    result: FloatArray = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return result
