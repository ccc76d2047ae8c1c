"""The models that a teacher is made of, each fitted in one fold.

A member is a function of a fold.  It learns from the fold's training units, the preparation of the
columns included, and returns log-odds for the fold's own rows: (n_candidates, n_rows), one row per
penalty where it has a choice of penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.binning import (
    ClassifiedColumn,
    Rows,
    check_column_options,
    classify_columns,
    learn_bins,
    read_settings,
)
from netbenefit.cards import numeric_column
from netbenefit.common import FloatArray, InputError, IntArray, are_whole
from netbenefit.data import LazyColumns, RawColumn, RawTable, merge_rows as distinct_rows
from netbenefit.metrics import as_thresholds

# -- the rows of a table in one order, equal ones merged, and how they are dealt to folds ----------
# What a teacher learns must depend neither on the order of the rows nor on whether equal rows come
# as one with a whole weight.  Therefore all code works on *canonical rows*: distinct, sorted, with
# the number of rows (*units*) that each stands for.


class Numbers(NamedTuple):
    """A table as numbers; NaN is missing."""

    columns: FloatArray  #: (n_rows, n_columns); a column of levels holds their places 0, 1, …
    levels: NDArray[np.bool_]  #: which columns hold levels without an order


class Fold(NamedTuple):
    """One part of the rows: a teacher learns from the others and gives these a risk."""

    number: int  #: 1, 2, …
    of: int
    train: IntArray  #: units of each canonical row to learn from
    rows: NDArray[np.intp]  #: canonical rows that get a risk
    units: IntArray  #: … and how many of each

    def __str__(self) -> str:
        return f"fold {self.number} of {self.of}"


@dataclass(frozen=True)
class CanonicalRows:
    """Distinct rows in the order of their values."""

    first: NDArray[np.intp]  #: (n,), a row of the table that each stands for
    event: NDArray[np.bool_]
    units: IntArray  #: how many rows each stands for
    mass: FloatArray  #: weight of one unit
    group: IntArray | None
    place: NDArray[np.intp]  #: (n_rows,), the canonical row of each row of the table

    def share(self, units: IntArray) -> float:
        """Return the share of events among some units of the rows."""
        mass = self.mass * units
        return float(mass[self.event].sum() / mass.sum())

    def class_sizes(self) -> tuple[int, int]:
        """Return how many rows have an event, and how many have none."""
        events = int(self.units[self.event].sum())
        return events, int(self.units.sum()) - events


# -- from raw columns to numbers -------------------------------------------------------------------


def read_numbers(table: RawTable, binner: Any, weight: FloatArray) -> tuple[Numbers, RawTable]:
    """Read a table as the binner does, without using the outcome; return numbers and table.

    Columns that the binner skips are empty in the table, because in a few of the rows an identifier
    could look like something else.
    """
    if binner is None:
        columns = [numeric_column(name, table.column(name).values) for name in table.names]
        numbers = np.column_stack(columns).astype(np.float64)
        return Numbers(numbers, np.zeros(len(columns), bool)), table
    options = check_column_options(binner, table.names)
    known = Rows(np.zeros(len(table), np.bool_), weight)
    usable, sources, skipped = classify_columns(table, options, known)
    empty = {out.name for out in skipped} | options.drop
    missing = np.full(len(table), np.nan)
    kept = [
        RawColumn(name, missing) if name in empty else table.column(name)._replace(weight=None)
        for name in table.names
    ]
    if not usable:
        raise InputError("the binner leaves out every column. Pass columns that can be used.")
    read = [
        _as_numbers(classified, classified.read(table, sources.get(classified.name, ())))
        for classified in usable
    ]
    levels = np.array([classified.role == "levels" for classified in usable])
    return Numbers(np.column_stack(read), levels), RawTable.of(kept)


def _as_numbers(classified: ClassifiedColumn, column: Any) -> FloatArray:
    """One column as numbers: levels by their place in the order, or among the sorted levels."""
    if classified.role not in ("levels", "ordered"):
        return np.asarray(column.values, dtype=np.float64)
    there = np.ones(len(column.values), bool) if column.missing is None else ~column.missing
    values = column.values.tolist()
    order = classified.order or sorted({v for v, here in zip(values, there, strict=True) if here})
    place = {level: k for k, level in enumerate(order)}
    return np.array([place[v] if here else np.nan for v, here in zip(values, there, strict=True)])


def rank(values: NDArray[Any]) -> IntArray:
    """Return the place of each value among the sorted distinct ones, whatever they are."""
    if values.dtype.kind in "biufmM":
        return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    texts = [f"{type(v).__name__} {v!r}" for v in values.tolist()]
    place = {text: k for k, text in enumerate(sorted(set(texts)))}
    return np.array([place[text] for text in texts], dtype=np.int64)


def merge_rows(
    keys: Sequence[NDArray[Any]],
    event: NDArray[np.bool_],
    weight: FloatArray,
    group: IntArray | None,
) -> CanonicalRows:
    """Merge rows with equal keys, outcome and group (and weight, unless weights are whole)."""
    whole = are_whole(weight)
    parts = [rank(key) for key in keys] + [event.astype(np.int64)]
    parts += [] if group is None else [group]
    parts += [] if whole else [rank(weight)]
    first, place = distinct_rows(parts, event.size)
    units = np.bincount(place, weight if whole else None)
    return CanonicalRows(
        first=first,
        event=event[first],
        units=units.astype(np.int64),
        mass=np.ones(first.size) if whole else weight[first] / float(np.mean(weight[first])),
        group=None if group is None else group[first],
        place=place,
    )


def fold_sizes(rows: CanonicalRows, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Deal rows to folds; return how many units of each row are in each fold, (n, n_folds).

    Without groups: shuffle the canonical rows of a class, number their units, and put unit i into
    fold i mod ``n_folds``; the second class goes on counting where the first stopped. With groups:
    deal whole groups, the largest first, each to the fold where it makes the folds' shares of both
    classes most equal.
    """
    if rows.group is not None:
        return _group_sizes(rows, n_folds, rng)
    order = np.concatenate([rng.permutation(np.flatnonzero(rows.event == e)) for e in (1, 0)])
    units = rows.units[order]
    before = np.cumsum(units) - units
    folds = np.arange(n_folds)
    # Of 0, 1, …, m-1 there are (m - f + K - 1) // K in fold f.
    upto = [(m[:, None] - folds + n_folds - 1) // n_folds for m in (before, before + units)]
    sizes = np.empty((order.size, n_folds), dtype=np.int64)
    sizes[order] = upto[1] - upto[0]
    return sizes


def _group_sizes(rows: CanonicalRows, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Deal whole groups."""
    assert rows.group is not None
    labels, code = np.unique(rows.group, return_inverse=True)
    held = np.stack([np.bincount(code, rows.units * (rows.event == e)) for e in (True, False)], 1)
    shuffled = rng.permutation(labels.size)
    order = shuffled[np.argsort(-held[shuffled].sum(axis=1), kind="stable")]
    relative = held / held.sum(axis=0)
    full = np.zeros((n_folds, 2))
    fold = np.empty(labels.size, dtype=np.intp)
    for g in order:
        # Adding a to a fold that holds f raises the sum of squares by a · (2 f + a): least first.
        fold[g] = np.argmin(np.round(full @ relative[g], 12))
        full[fold[g]] += relative[g]
    sizes = np.zeros((rows.units.size, n_folds), dtype=np.int64)
    sizes[np.arange(rows.units.size), fold[code]] = rows.units
    return sizes


def deal(rows: CanonicalRows, n_folds: int, n_repeats: int, seed: int) -> list[Fold]:
    """Return the folds of all repeats; empty folds are left out."""
    folds = []
    for repeat in range(n_repeats):
        sizes = fold_sizes(rows, n_folds, np.random.default_rng([seed, repeat]))
        for k in range(n_folds):
            here = np.flatnonzero(sizes[:, k])
            if here.size:
                own = sizes[:, k]
                folds.append(Fold(k + 1, n_folds, rows.units - own, here, own[here]))
    return folds


Member = Callable[[Fold], FloatArray]
Penalty = Literal["L1", "L2"]

#: L1 penalties, as shares of the least one that leaves no column.
_L1_SHARES = np.geomspace(0.6, 0.003, 12)
#: L2 penalties of standardised columns, for the mean log loss.
_L2_PENALTIES = np.geomspace(1.0, 1e-4, 9)
#: Newton steps per penalty, and the gain in mean log loss below which they end.
_MOST_STEPS, _LEAST_GAIN = 25, 1e-6
#: Curvature that a row has at least, so that certain rows do not stop Newton's method.
_LEAST_CURVATURE = 1e-5
#: Of more columns only those with the strongest association in the fold are used: a Newton step
#: takes time by the square of their number.
_MOST_COLUMNS = 400
#: Up to this many times the squared mean, a variance is rounding: the column is constant.
_ROUNDING = 1e-24
#: Levels of fewer training rows share one column.
_RARE = 10
#: Levels that boosting can tell apart.
_MOST_LEVELS = 255
#: Rows up to which a whole weight is spelt out as so many rows; beyond, it is passed as a weight.
_MOST_ROWS = 1_000_000
#: Risks are at least this far from 0 and 1, so that log-odds are finite.
_LEAST_RISK = 1e-6


def log_odds(risk: Any) -> Any:
    """Return the log-odds of risks, those of 0 and 1 moved inside."""
    inside = np.clip(risk, _LEAST_RISK, 1.0 - _LEAST_RISK)
    return np.log(inside) - np.log1p(-inside)


def expit(odds: FloatArray) -> FloatArray:
    """Return the risks that log-odds stand for."""
    risk: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * odds))
    return risk


# -- logistic regression ---------------------------------------------------------------------------


def logistic_conditions(rows: CanonicalRows, table: RawTable, binner: Any) -> Member:
    """L1 logistic regression on conditions that are learnt in the fold."""
    table = RawTable.of([table.take(rows.first).column(name) for name in table.names])
    options = check_column_options(binner, table.names)
    thresholds = as_thresholds(binner.thresholds, None)

    def member(fold: Fold) -> FloatArray:
        chosen, counts = _spelt_out(rows, fold.train, whole=False)
        mass = np.ones(chosen.size) if counts is None else counts
        settings = read_settings(binner, thresholds, mass)
        settings = settings._replace(round_cuts=False)  # these conditions are never shown
        fitted, _ = learn_bins(table.take(chosen), options, settings, rows.event[chosen], mass)
        # No warnings about what is new in the fold's own rows.
        silent = [replace(r, saw_missing=True, levels=(), whole=False) for r in fitted.readings]
        fitted = replace(fitted, readings=tuple(silent))
        matrix = fitted.codes(LazyColumns(table), len(table)).astype(np.float64)
        return _predict_path(rows, fold, matrix, "L1")

    return member


def logistic_columns(rows: CanonicalRows, numbers: Numbers) -> Member:
    """L2 (first) or L1 logistic regression on columns: levels one by one, missing marked."""
    columns = numbers.columns[rows.first]

    def member(fold: Fold) -> FloatArray:
        matrix = _spread(columns, numbers.levels, fold.train)
        return _predict_path(rows, fold, matrix, "L2", "L1")

    return member


def _spread(columns: FloatArray, levels: NDArray[np.bool_], train: IntArray) -> FloatArray:
    """Make columns that logistic regression can use: one per level, no value missing."""
    parts = []
    for k, is_levels in enumerate(levels):
        values = columns[:, k]
        missing = np.isnan(values)
        if is_levels:
            code = np.where(missing, -1, values).astype(np.int64) + 1
            held = np.bincount(code, train)
            common = np.flatnonzero(held >= _RARE)
            parts.append(code[:, None] == common)
            parts.append(~np.isin(code, common)[:, None])
            continue
        if missing.any():
            parts.append(missing[:, None])
            values = np.where(missing, _median(values, train * ~missing), values)
        parts.append(values[:, None])
    return np.concatenate(parts, axis=1, dtype=np.float64)


def _median(values: FloatArray, units: IntArray) -> float:
    """The lower median of values, each with its number of units; 0 without any."""
    if not units.any():
        return 0.0
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(units[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])


def _predict_path(
    rows: CanonicalRows, fold: Fold, matrix: FloatArray, *kinds: Penalty
) -> FloatArray:
    """Fit paths of penalties on a fold's training rows, and predict its own rows."""
    mass = rows.mass * fold.train
    y = rows.event.astype(np.float64)
    total = mass.sum()
    mean = mass @ matrix / total
    x = matrix - mean
    variance = mass @ np.square(x) / total
    useful = np.flatnonzero(variance > _ROUNDING * np.square(mean))
    x = x[:, useful] / np.sqrt(variance[useful])
    if useful.size > _MOST_COLUMNS:
        strength = np.abs((mass * (y - mass @ y / total)) @ x)
        x = x[:, np.sort(np.argsort(-strength, kind="stable")[:_MOST_COLUMNS])]
    used = np.flatnonzero(mass)
    data = _merged(x[used], y[used], mass[used])
    paths = [fit_path(*data, kind) for kind in kinds]
    return np.concatenate([free[:, None] + slopes @ x[fold.rows].T for free, slopes in paths])


def _merged(
    x: FloatArray, y: FloatArray, mass: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Merge equal rows, by which no optimum changes."""
    both = np.ascontiguousarray(np.column_stack([x, y]))
    bits = both.view(np.dtype((np.void, both.dtype.itemsize * both.shape[1]))).reshape(-1)
    _, first, place = np.unique(bits, return_index=True, return_inverse=True)
    return x[first], y[first], np.bincount(place.reshape(-1), mass).astype(np.float64)


def fit_path(
    x: FloatArray, y: FloatArray, mass: FloatArray, penalty: Penalty
) -> tuple[FloatArray, FloatArray]:
    """Fit penalised logistic regression for a path of penalties, strongest first.

    Minimises mean log loss + λ · (‖β‖₁ or ‖β‖²/2) for standardised x, (n, p); the intercept is
    free. Returns intercepts, (n_penalties,), and slopes, (n_penalties, p).

    1. Replace the loss by its quadratic approximation; leave out the intercept by centring.
    2. Minimise that with the penalty: coordinate descent for L1, a linear system for L2.
    3. Halve the step until the true objective does not rise; stop when it hardly falls.
    """
    mass = mass / mass.sum()
    share = float(mass @ y)
    intercept, slopes = float(log_odds(share)), np.zeros(x.shape[1])
    penalties = _L2_PENALTIES
    if penalty == "L1":
        penalties = _L1_SHARES * float(np.abs((mass * (y - share)) @ x).max(initial=1e-12))
    if not slopes.size:
        return np.full(penalties.size, intercept), np.zeros((penalties.size, 0))
    path = []
    for strength in penalties:
        eta = intercept + x @ slopes
        value = _objective(eta, slopes, y, mass, strength, penalty)
        for _ in range(_MOST_STEPS):
            # 1.
            risk = expit(eta)
            curvature = mass * np.maximum(risk * (1.0 - risk), _LEAST_CURVATURE)
            pull = mass * (y - risk)
            mean = curvature @ x / curvature.sum()
            root = x * np.sqrt(curvature)[:, None]
            gram = root.T @ root - curvature.sum() * np.outer(mean, mean)
            gradient = pull @ x - pull.sum() * mean
            # 2.
            if penalty == "L2":
                target = _ridge(gram, gradient, slopes, strength)
            else:
                response = pull / curvature + eta
                response -= curvature @ response / curvature.sum()
                squares = float(curvature @ response**2)
                target = _lasso(gram, gradient + gram @ slopes, squares, slopes, strength)
            step = target - slopes
            shift = pull.sum() / curvature.sum() - mean @ step
            # 3.
            move, size, gain = shift + x @ step, 1.0, -np.inf
            while size > 1e-3:
                new = _objective(
                    eta + size * move, slopes + size * step, y, mass, strength, penalty
                )
                gain = value - new
                if gain >= 0:
                    break
                size /= 2
            if gain < 0:
                break
            slopes, intercept = slopes + size * step, intercept + size * shift
            eta, value = eta + size * move, new
            if gain < _LEAST_GAIN:
                break
        path.append(np.append(slopes, intercept))
    found = np.array(path)
    return found[:, -1], found[:, :-1]


def _objective(
    eta: FloatArray,
    slopes: FloatArray,
    y: FloatArray,
    mass: FloatArray,
    strength: float,
    penalty: Penalty,
) -> float:
    size = np.abs(slopes).sum() if penalty == "L1" else 0.5 * slopes @ slopes
    return float(mass @ (np.logaddexp(0.0, eta) - y * eta) + strength * size)


def _ridge(
    gram: FloatArray, gradient: FloatArray, slopes: FloatArray, strength: float
) -> FloatArray:
    """Minimise the quadratic with an L2 penalty."""
    from scipy.linalg import solve

    penalised = gram + strength * np.eye(slopes.size)
    step = solve(penalised, gradient - strength * slopes, assume_a="pos", check_finite=False)
    target: FloatArray = slopes + step
    return target


def _lasso(
    gram: FloatArray, pull: FloatArray, squares: float, slopes: FloatArray, strength: float
) -> FloatArray:
    """Minimise β'Gβ/2 − β'q + λ ‖β‖₁ by scikit-learn's coordinate descent.

    It needs rows, too, but only for their number and the responses' sum of squares, by which it
    decides when to stop.
    """
    from sklearn.linear_model import enet_path

    size = slopes.size
    target: FloatArray = enet_path(
        gram,
        np.full(size, np.sqrt(squares / size)),
        l1_ratio=1.0,
        alphas=[strength / size],
        precompute=gram,
        Xy=pull,
        coef_init=slopes.copy(),  # it is changed in place
        check_input=False,
        tol=1e-6,
        max_iter=1000,
    )[1][:, 0]
    return target


# -- boosting and others ---------------------------------------------------------------------------


def boosting(rows: CanonicalRows, numbers: Numbers, seed: int) -> Member:
    """Boosted trees on the columns as they are; missing values and levels are theirs to split."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    columns = numbers.columns[rows.first]
    for k in np.flatnonzero(numbers.levels):
        columns[:, k] = _fewer_levels(columns[:, k], rows.units)

    def member(fold: Fold) -> FloatArray:
        model = HistGradientBoostingClassifier(
            max_depth=3,
            learning_rate=0.1,
            max_iter=100,
            min_samples_leaf=10,
            l2_regularization=1.0,
            early_stopping=False,
            categorical_features=numbers.levels if numbers.levels.any() else None,
            random_state=seed,
        )
        chosen, mass = _spelt_out(rows, fold.train)
        model.fit(columns[chosen], rows.event[chosen], sample_weight=mass)
        odds: FloatArray = log_odds(model.predict_proba(columns[fold.rows])[:, 1])
        return odds[None, :]

    return member


def _fewer_levels(values: FloatArray, units: IntArray) -> FloatArray:
    """Merge the rarest levels where there are more than boosting can tell apart."""
    there = ~np.isnan(values)
    held = np.bincount(values[there].astype(np.int64), units[there])
    if held.size <= _MOST_LEVELS:
        return values
    new = np.full(held.size, float(_MOST_LEVELS - 1))
    new[np.argsort(-held, kind="stable")[: _MOST_LEVELS - 1]] = np.arange(_MOST_LEVELS - 1)
    merged = values.copy()
    merged[there] = new[values[there].astype(np.int64)]
    return merged


def _spelt_out(
    rows: CanonicalRows, units: IntArray, whole: bool = True
) -> tuple[NDArray[np.intp], FloatArray | None]:
    """Repeat units as rows; return their weights if uneven, too many or not ``whole``."""
    places = np.flatnonzero(units)
    even = bool((rows.mass == 1.0).all())
    if even and not (whole and units.sum() <= _MOST_ROWS):
        return places, units[places].astype(np.float64)
    chosen = np.repeat(places, units[places])
    return chosen, None if even else rows.mass[chosen]


def foreign(
    rows: CanonicalRows, X: Any, where: NDArray[np.intp], teacher: Any, seed: int
) -> Member:
    """Risks of any scikit-learn classifier, cloned for each fold; ``where`` its rows are in X."""
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing
    from sklearn.utils.validation import has_fit_parameter

    name = type(teacher).__name__
    event = rows.event.astype(np.int64)

    def fit(fold: Fold) -> tuple[Any, Any]:
        model = clone(teacher)
        model.set_params(
            **{
                key: seed
                for key, value in sorted(model.get_params().items())
                if value is None and key.split("__")[-1] == "random_state"
            }
        )
        chosen, mass = _spelt_out(rows, fold.train)
        weights = {} if mass is None else {weight_name: mass}
        model.fit(_safe_indexing(X, where[chosen]), event[chosen], **weights)
        return model, model.predict_proba(_safe_indexing(X, where[fold.rows]))

    def member(fold: Fold) -> FloatArray:
        try:
            model, risks = fit(fold)
        except Exception as error:
            raise InputError(
                f"the teacher {name} failed on {fold}: {type(error).__name__}: {error}. Correct "
                f"{name} or its input, for instance by a pipeline that prepares the columns, or "
                'choose another teacher, such as "auto".'
            ) from error
        classes = np.asarray(getattr(model, "classes_", [0, 1])).tolist()
        risks = np.asarray(risks, dtype=np.float64)
        if 1 not in classes or risks.shape != (fold.rows.size, len(classes)):
            raise InputError(
                f"the teacher {name} gave risks of shape {risks.shape} on {fold}, for "
                f"{fold.rows.size} rows and classes {classes}. Its predict_proba must return one "
                "column per class, in the order of classes_."
            )
        risk = risks[:, classes.index(1)]
        bad = np.flatnonzero(~((risk >= 0) & (risk <= 1)))
        if bad.size:
            raise InputError(
                f"the teacher {name} gave the risk {risk[bad[0]].item()!r} on {fold} ({bad.size} "
                "of its rows are outside 0 to 1 or missing). Pass a classifier whose predict_proba "
                "returns probabilities."
            )
        return risk[None, :]

    weight_name, last = "sample_weight", teacher
    if hasattr(teacher, "steps"):  # a pipeline hands weights to the step that is named
        weight_name, last = f"{teacher.steps[-1][0]}__sample_weight", teacher.steps[-1][1]
    if not (rows.mass == 1.0).all() and not has_fit_parameter(last, "sample_weight"):
        raise InputError(
            f"the teacher {name} takes no sample_weight. Pass whole weights, no weights, or "
            "another teacher."
        )
    return member
