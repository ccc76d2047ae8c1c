"""Which rows had the event: labels of any kind in a file become yes and no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import InputError, shorten
from netbenefit.data.files import read_cell

__all__ = ["Outcome", "find_target", "read_outcome"]


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
