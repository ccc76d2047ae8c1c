"""Rows to validate on: how they are drawn, learnt from and predicted."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, has_fit_parameter

from netbenefit.common import (
    FloatArray,
    InputError,
    RowNumber,
    check_count,
    check_weights,
    rows_named,
    setting,
    shorten,
)
from netbenefit.data import as_array, asked_label, check_both_classes, read_outcome
from netbenefit.metrics import inner_model

#: Row numbers of the training rows, and of the held-out ones.
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

_MOST_DRAWS = 1000


class Sample(NamedTuple):
    """All rows: columns, labels, which of them are events, and weights if there are any."""

    X: Any
    labels: NDArray[Any]
    event: NDArray[np.bool_]
    weight: FloatArray | None

    @classmethod
    def of(cls, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *models: Any) -> Sample:
        """Check what a user passed; models may say which label is the event."""
        asked = [label for label in map(asked_label, models) if label is not None]
        if any(label != asked[0] for label in asked):
            raise InputError(
                f"the models take different labels for the event: {shorten(asked)}. Give all the "
                "same pos_label."
            )
        event, classes, _ = read_outcome(y, positive=asked[0] if asked else None)
        X = X.tocsr() if hasattr(X, "tocsr") else as_array(X)  # rows can be taken of these
        by_name = isinstance(X, Mapping) and not hasattr(X, "shape")
        n_rows = len(next(iter(X.values()), ())) if by_name else _num_samples(X)
        if n_rows != event.size:
            raise InputError(
                f"X has {n_rows} rows, but y has {event.size}. Pass one label per row."
            )
        weight = None if sample_weight is None else check_weights(sample_weight, event.size)
        if weight is not None:
            check_both_classes(event, weight)
        return cls(X, classes[event.astype(np.intp)], event, weight)

    @property
    def event_label(self) -> Any:
        """What a row with the event holds."""
        return self.labels[np.argmax(self.event)]

    @property
    def strata(self) -> NDArray[np.intp]:
        """0 for a row without the event, 1 for one with it, 2 for a row of weight 0 (censored)."""
        strata = self.event.astype(np.intp)
        if self.weight is not None:
            strata[self.weight == 0.0] = 2
        return strata

    def outcomes(self, rows: NDArray[np.intp]) -> Sample:
        """Some rows without their columns: enough to draw folds of them."""
        return Sample(None, self.labels[rows], self.event[rows], self.weight_of(rows))

    def take(self, rows: NDArray[np.intp] | None) -> Sample:
        """Some rows, or all."""
        if rows is None:
            return self
        return self.outcomes(rows)._replace(X=take_rows(self.X, rows))

    def weight_of(self, rows: NDArray[np.intp]) -> FloatArray | None:
        """Weights of some rows."""
        return None if self.weight is None else self.weight[rows]


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of an array, a data frame, a dict of columns or a list of rows; the type stays."""
    if isinstance(X, Mapping) and not hasattr(X, "shape"):
        return {name: _take(column, rows) for name, column in X.items()}
    return _take(X, rows)


def _take(data: Any, rows: NDArray[np.intp]) -> Any:
    if isinstance(data, np.ndarray):
        return data[rows]
    if isinstance(data, list | tuple):  # an array would turn the list ["a", 1] into text
        return [data[row] for row in rows.tolist()]
    library = type(data).__module__.split(".")[0]
    if library == "pyarrow":
        return data.take(rows)
    return data[rows] if library == "polars" else _safe_indexing(data, rows)


def seed_of(seed: int, *place: int) -> int:
    """A seed for one place among many, the same at any time and in any process."""
    return int(np.random.SeedSequence(seed, spawn_key=place).generate_state(1)[0] >> 1)


def random_of(seed: int, *place: int) -> np.random.Generator:
    """Random numbers for one place among many."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))


def is_count(folds: Any) -> bool:
    """Whether folds are given by their number."""
    return isinstance(folds, int | np.integer) and not isinstance(folds, bool)


def check_repeats(folds: Any, repeats: Any) -> int:
    """Check how often folds are drawn; given ones cannot be drawn again."""
    count = check_count(repeats, "repeats")
    if count > 1 and not is_count(folds):
        raise InputError(
            f"repeats={repeats} draws folds anew, but folds={folds!r} are given. Pass a number of "
            "folds, or repeats=1: a splitter repeats by itself (say, RepeatedStratifiedKFold)."
        )
    return count


def make_folds(
    folds: Any,
    sample: Sample,
    random: np.random.Generator | int | None,
    *,
    repeats: int = 1,
    groups: NDArray[Any] | None = None,
    both: bool = True,
) -> list[Fold]:
    """Folds by number, each class spread evenly; or those of a splitter or a list, checked.

    A generator deals the shuffled rows of each class out one after the other, so that folds differ
    by at most one row, and by at most one event.  A seed draws folds as scikit-learn does, as often
    as ``repeats`` says; rows of one group then stay together.  ``both``
    refuses given ones that hold out rows of one class only.
    """
    if not is_count(folds):
        if folds is None or isinstance(folds, bool | float):
            raise InputError(
                setting("folds", folds), " must be a number of folds of at least 2, or a splitter."
            )
        strata = sample.strata if both else None
        return given_folds(folds, sample.event, strata=strata, groups=groups)
    strata = sample.strata
    few, kind = min(
        ((strata == 1).sum(), "events"), ((strata == 0).sum(), "rows without the event")
    )
    if not 2 <= folds <= few:
        raise InputError(
            setting("folds", int(folds)),
            f" must be at least 2, and at most {few}, the number of {kind} (with weight): every "
            "fold needs one.",
        )
    if not isinstance(random, np.random.Generator):
        return given_folds(
            _splitter(int(folds), random, repeats, groups), sample.event, groups=groups
        )
    dealt = np.concatenate([random.permutation(np.flatnonzero(strata == s)) for s in (1, 0, 2)])
    fold_of = np.empty(dealt.size, dtype=np.intp)
    fold_of[dealt] = np.arange(dealt.size) % int(folds)
    return [(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(int(folds))]


def _splitter(cv: int, seed: int | None, repeats: int, groups: NDArray[Any] | None) -> Any:
    """What draws stratified folds in scikit-learn."""
    from sklearn.model_selection import (
        RepeatedStratifiedKFold,
        StratifiedGroupKFold,
        StratifiedKFold,
    )

    if repeats > 1:
        return RepeatedStratifiedKFold(n_splits=cv, n_repeats=repeats, random_state=seed)
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    return kind(cv, shuffle=True, random_state=seed)


def given_folds(
    folds: Any,
    event: NDArray[np.bool_],
    *,
    strata: NDArray[np.intp] | None = None,
    groups: NDArray[Any] | None = None,
) -> list[Fold]:
    """Folds of a splitter or a list, checked.

    Each learns from rows of both classes, and from none that it holds out.  With ``strata`` (0 and
    1 for rows of each class that have weight) held-out rows must be of both classes, too.
    """
    from sklearn.model_selection import check_cv

    try:
        splitter = check_cv(folds, event, classifier=True)
        pairs = splitter.split(np.zeros((event.size, 1)), event, groups)
        found = [(np.asarray(a, np.intp), np.asarray(b, np.intp)) for a, b in pairs]
    except (TypeError, ValueError) as error:
        raise InputError(setting("folds", folds), f" gives no folds: {error}") from None
    if len(found) < 2:
        raise InputError(
            f"folds={folds!r} gives {len(found)} fold. Standard errors need at least 2."
        )
    kinds = event.astype(np.intp) if strata is None else strata
    for number, (train, test) in enumerate(found, start=1):
        if not {0, 1} <= set(kinds[train].tolist()):
            raise InputError(f"fold {number} has training rows of one class only. Use others.")
        if strata is not None and not {0, 1} <= set(kinds[test].tolist()):
            raise InputError(f"fold {number} has held-out rows of one class only. Use others.")
        if np.intersect1d(train, test).size:
            raise InputError(f"fold {number} holds out rows that it also learns from.")
    return found


def resample(
    strata: NDArray[np.intp], random: np.random.Generator, stratified: bool
) -> NDArray[np.intp]:
    """As many row numbers as there are rows, drawn with replacement.

    Drawn again until both the drawn rows and those left out contain both classes.
    """
    groups = [np.flatnonzero(strata == s) for s in (0, 1, 2)] if stratified else []
    for _ in range(_MOST_DRAWS):
        if stratified:
            drawn = np.concatenate([random.choice(g, g.size) for g in groups if g.size])
        else:
            drawn = random.integers(0, strata.size, strata.size)
        left = np.ones(strata.size, dtype=np.bool_)
        left[drawn] = False
        if {0, 1} <= set(strata[drawn].tolist()) and {0, 1} <= set(strata[left].tolist()):
            return drawn.astype(np.intp)
    raise InputError(
        "bootstrap samples leave no event, or no row without it, out of the drawn rows. Validation "
        "by bootstrap needs a few of each: get more rows."
    )


def check_classifier(estimator: Any, sample: Sample) -> None:
    """Refuse what cannot be validated before the work begins."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        what = getattr(estimator, "__name__", type(estimator).__name__)
        raise InputError(f"estimator is {what}, no estimator object. Pass {what}(), unfitted.")
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"{type(estimator).__name__} predicts no risks (it has no predict_proba). Wrap it in "
            "sklearn.calibration.CalibratedClassifierCV first."
        )
    if sample.weight is not None:
        weight_name(estimator)


def prepared(estimator: Any, setting: Mapping[str, Any], seed: int, *, single: bool = False) -> Any:
    """An unfitted, silent copy with other settings; a ``random_state`` without a seed gets one.

    ``single`` says that other tasks use the other cores: ``n_jobs`` becomes 1.
    """
    model = clone(silenced(estimator))
    model.set_params(**setting)  # frozen estimators return nothing here
    changes: dict[str, Any] = {}
    for name, value in model.get_params(deep=True).items():
        last = name.rpartition("__")[2]
        if last == "random_state" and not isinstance(value, Integral):
            changes[name] = seed
        elif last == "n_jobs" and single and value not in (None, 1):
            changes[name] = 1
    model.set_params(**changes)
    return model


def silenced(estimator: Any) -> Any:
    """The estimator without callback and progress line."""
    own = estimator.get_params(deep=False)
    loud = {"callback": None, "verbose": 0}
    changes = {name: quiet for name, quiet in loud.items() if name in own and own[name] != quiet}
    return copy_with(estimator, **changes) if changes else estimator


def copy_with(estimator: Any, **changes: Any) -> Any:
    """An unfitted copy with other parameters; unlike a clone it shares its callback."""
    return type(estimator)(**{**estimator.get_params(deep=False), **changes})


def fit_model(model: Any, sample: Sample, rows: NDArray[np.intp], *, whole: bool = False) -> Any:
    """Fit on some rows, with their weights; ``whole`` where these are all rows in their order."""
    options: dict[str, Any] = {}
    if sample.weight is not None:
        options[weight_name(model)] = sample.weight[rows]
    if np.unique(rows).size < rows.size:  # the same row, drawn twice, must not teach about itself
        last, prefix = _last_step(model)
        if getattr(last, "teacher", None) is not None:
            options[f"{prefix}groups"] = rows
    with rows_named(lambda row: RowNumber(int(rows[row]))):  # of the whole table
        model.fit(sample.X if whole else take_rows(sample.X, rows), sample.labels[rows], **options)
    result = getattr(inner_model(model), "result_", None)
    if getattr(result, "status", None) == "interrupted":
        raise KeyboardInterrupt  # a card of a broken-off search compares with no other
    return model


def _last_step(model: Any) -> tuple[Any, str]:
    """The last step of (nested) pipelines, and the prefix of its parameters in ``fit``."""
    prefix = ""
    while hasattr(model, "steps"):
        name, model = model.steps[-1]
        prefix += f"{name}__"
    return model, prefix


def weight_name(model: Any) -> str:
    """What ``fit`` calls the weights of rows: in a pipeline those of the last step."""
    last, prefix = _last_step(model)
    if has_fit_parameter(last, "sample_weight"):
        return f"{prefix}sample_weight"
    accepted = signature(last.fit).parameters.values()
    passes_on = any(one.kind is one.VAR_KEYWORD for one in accepted)
    if passes_on and hasattr(last, "estimator"):  # such as a grid search
        return f"{prefix}{weight_name(last.estimator)}"
    raise InputError(
        f"{type(last).__name__} takes no sample_weight. Use another classifier, or leave the "
        "weights out if they may be ignored."
    )


def risk_of(model: Any, X: Any, event: Any) -> FloatArray:
    """Predicted risks of the event, by its label."""
    both = np.asarray(model.predict_proba(X), dtype=np.float64)
    classes = getattr(model, "classes_", None)
    column = 1 if classes is None else int(np.flatnonzero(np.asarray(classes) == event)[0])
    risk: FloatArray = both[:, column]
    # Single precision may lead out of [0, 1]; larger deviations are found later.
    within = np.clip(risk, 0.0, 1.0)
    return within if np.allclose(risk, within, rtol=0.0, atol=1e-6) else risk
