"""Labels of two classes, and warnings, for the estimators."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from netbenefit.cards.columns import Frame, as_value
from netbenefit.common.checks import InputError, shorten
from netbenefit.data.patterns import PatternTable

__all__ = ["encode_labels", "warn_of_constants"]


def encode_labels(y: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Whether each row is an event, and the two labels; the event is the one that sorts last.

    >>> encode_labels(["no", "yes", "no"])
    (array([False,  True, False]), array(['no', 'yes'], dtype='<U3'))
    """
    labels = _labels(y)
    try:
        classes, code = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = [type(label) for label in labels]
        row = next((row for row, kind in enumerate(kinds) if kind is not kinds[0]), 0)
        raise InputError(
            f"y mixes labels that do not compare, such as {labels[0]!r} in row 0 and "
            f"{labels[row]!r} in row {row}. Use one kind of label."
        ) from None
    if classes.size == 1:
        raise InputError(
            f"y holds one class only: every row is {classes.tolist()[0]!r}. A card needs rows of "
            "both classes."
        )
    if classes.size > 2:
        # The first sentence is the one that scikit-learn's own checks look for.
        raise InputError(
            "Only binary classification is supported. The type of the target is multiclass: y "
            f"holds {classes.size} labels ({shorten(classes.tolist())}). Compare it with the "
            "event's label first, as in y == label."
        )
    return code == 1, classes


def _labels(y: Any) -> NDArray[Any]:
    """Labels as an array, none missing; objects as what they are where they are all numbers."""
    if y is None:
        raise InputError(
            "fit requires y to be passed, but the target y is None. Pass the outcome of each row."
        )
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        y = Frame(series.alias("y").to_frame().to_native()).column("y")
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    if labels.dtype.kind == "O":
        items = labels.tolist()
        missing = np.flatnonzero([as_value("y", item, "any") is None for item in items])
        if not missing.size and all(isinstance(item, Real | np.bool_) for item in items):
            labels = np.array(items)
    else:
        missing = np.flatnonzero(labels != labels)
    if missing.size:
        raise InputError(
            f"y has {missing.size} missing labels (NaN), the first in row {missing[0]}. Drop those "
            "rows."
        )
    if labels.dtype.kind == "f":
        odd = np.flatnonzero(~np.isfinite(labels) | (labels != np.floor(labels)))
        if odd.size:
            raise InputError(
                f"Unknown label type: continuous. y holds {labels[odd[0]].item()!r} in row "
                f"{odd[0]} ({odd.size} such rows), but a card needs two labels. Compare it with a "
                "limit first, as in y >= limit."
            )
    return labels


def warn_of_constants(table: PatternTable) -> None:
    """Tell of columns that cannot get points, unless that is all of them."""
    if 0 < len(table.constant) < table.n_features:  # all of them are an error, a little later
        warnings.warn(
            f"constant columns get no points: {shorten(table.constant)}. Drop them to silence "
            "this.",
            stacklevel=5,  # scikit-learn's decorator stands between the user and fit
        )
