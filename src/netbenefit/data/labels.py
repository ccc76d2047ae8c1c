"""Labels of two classes, and warnings, for the estimators."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from netbenefit.cards.columns import Frame, as_value
from netbenefit.common.checks import InputError, shorten
from netbenefit.data.files import read_cell
from netbenefit.data.patterns import PatternTable

__all__ = ["Outcome", "encode_labels", "find_target", "read_outcome", "warn_of_constants"]


# -- which rows had the event: labels of any kind in a file become yes and no ----------------------


class Outcome(NamedTuple):
    """Which rows had the event, and what the event is called, such as "Malignant = 1"."""

    event: NDArray[np.bool_]
    text: str


def read_outcome(name: str, column: NDArray[Any], positive: str | None = None) -> Outcome:
    """Read a column of labels.

    Parameters
    ----------
    name : str
        Name of the column.
    column : array
        Two labels of any kind; more than two where ``positive`` says which of them is the event.
    positive : str, optional
        Label of the event, as it would be written in a CSV file; by default the one that sorts
        last: 1, True, "yes".

    Returns
    -------
    Outcome

    Examples
    --------
    >>> read_outcome("ill", np.array([0, 1, 1]))
    Outcome(event=array([False,  True,  True]), text='ill = 1')
    >>> read_outcome("grade", np.array(["low", "high", "none"]), positive="high").event
    array([False,  True, False])
    """
    items = column.tolist()
    missing = [row for row, item in enumerate(items) if item is None or item != item]
    if missing:
        raise InputError(
            f"column {name!r} has {len(missing)} missing outcomes, the first in row {missing[0]}. "
            "Drop those rows from the file."
        )
    labels = _sorted_labels(items)
    shown = ", ".join(_label_text(label) for label in labels[:10]) + ", …" * (len(labels) > 10)
    if len(labels) < 2:
        raise InputError(
            f"column {name!r} holds one class only: every row is {shown}. Rows of both classes are "
            "needed."
        )
    if positive is not None:
        events = [label for label in labels if _is_label(label, positive)]
        if not events:
            raise InputError(
                f"column {name!r} never is {positive!r}; it holds {shown}. Say which of them is "
                "the event: --positive LABEL."
            )
    elif len(labels) > 2:
        raise InputError(
            f"column {name!r} holds {len(labels)} labels ({shown}), but an outcome has two. Say "
            "which one is the event (--positive LABEL), or choose another --target."
        )
    else:
        events = labels[-1:]
    among = frozenset(events)
    event = np.fromiter((item in among for item in items), np.bool_, len(items))
    return Outcome(event, f"{name} = {_label_text(events[0])}")


def find_target(
    columns: Mapping[str, NDArray[Any]], outcome: str | None, features: Sequence[str]
) -> tuple[str, str]:
    """Find the column and the label that a card calls its outcome.

    Parameters
    ----------
    columns : mapping of str to array
        A table.
    outcome : str or None
        What the card says, such as "Malignant = 1".
    features : sequence of str
        Columns that the card scores, none of which can be the outcome.

    Returns
    -------
    name, label : str

    Examples
    --------
    >>> find_target({"age": np.array([51]), "ill": np.array([1])}, "ill = 1", ["age"])
    ('ill', '1')
    """
    found = []
    for name, column in columns.items():
        label = label_in(outcome, name)
        if label is not None and name not in features:
            found += [(name, label)] * any(_is_label(item, label) for item in set(column.tolist()))
    if len(found) != 1:
        says = "does not say what its outcome is" if outcome is None else f"predicts {outcome!r}"
        raise InputError(
            f"the card {says}, and no column is sure to be that. Name the column of the outcome: "
            f"--target COLUMN. There are {shorten(list(columns), 10)}."
        )
    return found[0]


def label_in(outcome: str | None, name: str) -> str | None:
    """Return the label in "name = label", or None where the outcome is another column's.

    >>> label_in("ill = 1", "ill"), label_in("ill = 1", "sick")
    ('1', None)
    """
    start = f"{name} = "
    return outcome.removeprefix(start) if outcome and outcome.startswith(start) else None


def _sorted_labels(items: list[Any]) -> list[Any]:
    labels = list(set(items))
    try:
        return sorted(labels)
    except TypeError:  # labels of several kinds
        return sorted(labels, key=str)


def _label_text(label: Any) -> str:
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if whole else str(label)


def _is_label(label: Any, text: str) -> bool:
    """Whether a text means a label: 1 is 1.0 and True, whatever the file's format made of it."""
    if isinstance(label, str):
        return label == text
    meant = read_cell(text)
    return bool(label == meant) if not isinstance(meant, str) else str(label) == text


# --------------------------------------------------------------------------------------------------


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
