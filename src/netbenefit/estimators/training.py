"""What the estimator is given: raw rows in, patterns with their conditions out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from netbenefit.binning.binner import Binner
from netbenefit.binning.fitted import FittedBins
from netbenefit.cards.columns import Frame, is_one_row, numeric_column, read_columns
from netbenefit.common.checks import InputError, check_names, check_risks
from netbenefit.data.patterns import PatternTable
from netbenefit.data.raw_table import RawTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import Constraint, Sign
from netbenefit.problem.raw_constraints import RawNames, by_condition

__all__ = [
    "Rows",
    "Training",
    "given_risks",
    "make_binner",
    "pop_column",
    "read_numeric",
    "settings_by_condition",
    "training_of_raw",
]


class Rows(NamedTuple):
    """Rows as a teacher takes them, in the order of a pattern table's rows."""

    X: Any  #: as they were passed
    columns: Any  #: numbers by name, or a raw table where there is a binner
    event: NDArray[np.bool_]
    sample_weight: ArrayLike | None = None
    groups: ArrayLike | None = None  #: rows with the same label belong together
    binner: Binner | None = None  #: with the settings of the one that made the patterns
    risks: NDArray[Any] | None = None  #: given by a column that is no feature
    learnt_from: str = ""  #: what a teacher learns from, where these are not all rows one by one


class Training(NamedTuple):
    """Patterns to learn from, and how they came about."""

    table: PatternTable
    settings: dict[str, Any]  #: of :meth:`Problem.build`
    rows: Rows
    bins: FittedBins | None = None


# -- raw tables ------------------------------------------------------------------------------------


def make_binner(
    binner: Any,
    names: Sequence[str],
    thresholds: Thresholds,
    sign: Mapping[Any, Any] | None = None,
    constraints: Sequence[Constraint] = (),
) -> Binner:
    """Return a fresh binner with the estimator's thresholds.

    Columns of which a sign is asked get conditions that add up: only then a sign of each means that
    points never fall, or never rise, along the column.

    Examples
    --------
    >>> make_binner(Binner(bins="interval"), ["age", "bmi"], Thresholds.tenths(), {"age": "+"}).bins
    {'*': 'interval', 'age': 'cumulative'}
    """
    if isinstance(binner, str) and binner == "auto":
        made = Binner()
    elif isinstance(binner, Binner):
        made = clone(binner)
    else:
        raise InputError(f'binner={binner!r} is not known. Use "auto", a Binner(), or None.')
    if made.thresholds is None:
        made.set_params(thresholds=thresholds)
    names = [*names, *(made.combine or ())]
    signed = [*(sign or {}), *(one.feature for one in constraints if isinstance(one, Sign))]
    steady = [name for name in signed if name in names]
    if steady and made.bins != "cumulative":
        bins = dict(made.bins) if isinstance(made.bins, Mapping) else {"*": made.bins}
        made.set_params(bins={**bins, **dict.fromkeys(steady, "cumulative")})
    return made


def training_of_raw(
    binner: Binner,
    X: Any,
    event: NDArray[np.bool_],
    sample_weight: ArrayLike | None,
    settings: Mapping[str, Any],
    groups: ArrayLike | None = None,
) -> Training:
    """Bin raw rows, and put what is asked of columns in terms of their conditions."""
    codes = binner.fit_codes(X, event, sample_weight)
    rows = Rows(X, X, event, sample_weight, groups, binner)
    table = PatternTable.from_codes(
        codes.matrix, event, names=codes.names, decimals=codes.decimals, sample_weight=sample_weight
    )
    return Training(table, settings_by_condition(binner, settings), rows, binner.fitted_)


def settings_by_condition(binner: Binner, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Put signs, bounds and constraints of raw columns in terms of a fitted binner's conditions."""
    bins = binner.fitted_
    known = RawNames(bins.names, bins.terms, bins.columns)
    asked = by_condition(
        known, settings.get("sign"), settings.get("bounds"), settings.get("constraints", ())
    )
    return {**settings, "sign": None, "bounds": None, "constraints": asked}


def pop_column(X: Any, name: str, purpose: str) -> tuple[NDArray[Any] | None, Any]:
    """Take a column out of a table: return its values as they are, and the table without it.

    None where the table has no such column; an array has no names at all, which is an error.
    ``purpose`` says in errors what the column is for.

    >>> pop_column({"age": [51, 52], "risk": [0.1, 0.2]}, "risk", "teacher")
    (array([0.1, 0.2], dtype=object), {'age': [51, 52]})
    """
    if isinstance(X, Mapping) and not hasattr(X, "shape"):
        rest: Any = {key: values for key, values in X.items() if key != name}
    elif nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        rest = frame.drop(name, strict=False).to_native()
    elif isinstance(X, RawTable):
        rest = X.without(name)
    elif isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X):
        rest = [{key: value for key, value in row.items() if key != name} for row in X]
    else:
        raise InputError(
            f"{purpose}={name!r} is the name of a column, but X has no column names. Pass a data "
            "frame, or the numbers themselves as an array."
        )
    names = RawTable(X).names if not isinstance(X, RawTable) else X.names
    if name not in names:
        return None, X
    table = X if isinstance(X, RawTable) else RawTable(X)
    return table.column(name).values, rest


def given_risks(name: str, values: Any) -> NDArray[Any]:
    """Return a column of risks that somebody else computed, checked."""
    numbers = numeric_column(name, values)
    risks = check_risks(numbers, len(numbers), name=f"the column of risks {name!r}")
    if risks.size and risks.min() == risks.max():
        raise InputError(
            f"the column of risks {name!r} is {risks[0].item()!r} in every row, and has nothing to "
            "teach. Name one that differs between rows, or choose another teacher."
        )
    return risks


# -- tables of numbers -----------------------------------------------------------------------------


def read_numeric(
    estimator: Any, X: Any, *, feature_names: Sequence[str] | None = None
) -> dict[str, NDArray[Any]]:
    """Named numeric columns of a data frame, a mapping of columns or an array.

    ``feature_names`` are those of the fit; None where this is the fit.
    """
    reset = feature_names is None
    # (Some sparse matrices are dicts, too.)
    by_name = isinstance(X, Mapping) and not hasattr(X, "shape")
    one_row = by_name and bool(X) and is_one_row(X, feature_names or list(X))
    if one_row or nw.dependencies.is_polars_lazyframe(X):
        raise InputError(
            f"X is a {type(X).__name__}{' of single values' if one_row else ''}. Pass a data frame "
            "in memory, a dict of columns, or an array of rows and columns. A fitted card scores "
            "dicts of single values: scorecard_.risk(X)."
        )
    if by_name:
        if feature_names is not None:
            columns, _ = read_columns(X, tuple(feature_names), tuple(feature_names))
        else:
            columns = dict(zip(check_names(list(X)), X.values(), strict=True))
            estimator.n_features_in_ = len(columns)
            estimator.feature_names_in_ = np.array(list(columns), dtype=object)
    elif nw.dependencies.is_into_dataframe(X):
        # scikit-learn would make one matrix of it; this way types and errors stay exact
        frame = Frame(X)
        columns = {name: frame.column(name) for name in frame.names}
        _check_names(estimator, X, reset)
    else:
        matrix = validate_data(
            estimator, X, reset=reset, dtype=None, ensure_all_finite=False, accept_sparse=False
        )
        columns = {f"x{k}": matrix[:, k] for k in range(matrix.shape[1])}
    if reset and not columns:
        raise InputError("the table has 0 feature(s): no columns. Pass at least one.")
    if feature_names is not None and set(columns) != set(feature_names):
        # Names on one side only, of which scikit-learn has warned: go by position.
        columns = dict(zip(feature_names, columns.values(), strict=True))
    try:
        return {name: numeric_column(name, values) for name, values in columns.items()}
    except InputError as error:
        remedy = 'Or set binner="auto": it takes text and missing values.'
        raise type(error)(f"{error} {remedy}") from None


def _check_names(estimator: Any, X: Any, reset: bool) -> None:
    """scikit-learn's own check of column names, with a remedy."""
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        raise InputError(
            f"{error}\nPass the columns of the fit, named and ordered as they were there."
        ) from None
