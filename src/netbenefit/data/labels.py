"""Which rows had the event: the one place where labels are read."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from netbenefit.cards import Frame, as_value
from netbenefit.common import (
    FloatArray,
    InputError,
    Remedy,
    RowNumber,
    check_binary,
    meaning_of,
    shorten,
)
from netbenefit.data.files import read_cell
from netbenefit.data.patterns import PatternTable

if TYPE_CHECKING:
    from netbenefit.cards import Scorecard

_NAME_IT = Remedy("pos_label=label", "--positive LABEL")
_LIMIT = "Compare it with a limit first, as in y >= limit."


class Outcome(NamedTuple):
    """Which rows had the event, and what it is called."""

    event: NDArray[np.bool_]
    labels: NDArray[Any]  #: of the other rows, and of the event
    text: str  #: such as "died = yes"

    @property
    def remark(self) -> str:
        """A word where several labels are no event: a code for not known may be among them."""
        several = str(self.labels[0]) == f"not {self.labels[1]}"
        return " (all of its other labels count as no event)" * several


def read_outcome(
    y: Any, name: str | None = None, positive: Any = None, *, asks: bool = False
) -> Outcome:
    """Read the outcomes of rows; what has been read already is returned as it is.

    ``name`` is the column's, where there is one.  ``positive`` is the event's label, or a text that
    means it, and all other labels are no event.  Without it there are two labels, and the event is
    1, true or yes; where both are something else, it is the one that sorts last, as scikit-learn
    has it, or an error if the function ``asks`` for it.
    """
    if isinstance(y, Outcome):
        return y
    what = "y" if name is None else f"column {name!r}"
    labels = _labels(y, what)
    items = labels.tolist()
    distinct = _in_order(set(items))
    events = _choose_event(distinct, what, positive, asks)
    among = {label for label, event in zip(distinct, events, strict=True) if event}
    event = np.fromiter((item in among for item in items), np.bool_, len(items))
    chosen = next(iter(among)) if len(among) == 1 else positive
    others = [label for label in distinct if label not in among]
    pair = [others[0] if len(others) == 1 else f"not {chosen}", chosen]
    classes = np.array(pair, dtype=labels.dtype if len(others) == 1 else object)
    title = name or getattr(y, "name", None) or "outcome"
    return Outcome(event, classes, f"{title} = {_label_text(chosen)}")


def is_event(label: Any, meant: Any) -> bool:
    """Whether a label is meant: it is equal, or is read from this text (1 is 1.0 and True)."""
    if not isinstance(meant, str) or isinstance(label, str):
        return bool(label == meant)
    read = read_cell(meant)
    return bool(label == read) if not isinstance(read, str) else str(label) == meant


def sorted_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return two labels in the order of scikit-learn's ``classes_``."""
    listed = labels.tolist()
    return labels if _in_order(listed) == listed else labels[::-1]


def asked_label(model: Any) -> Any:
    """Return the ``pos_label`` of a model, of a pipeline's last step, or of what a model wraps."""
    for _ in range(10):  # wrappers of wrappers have an end
        asked = getattr(model, "pos_label", None)
        if asked is not None or model is None:
            return asked
        steps = getattr(model, "steps", None)
        model = steps[-1][1] if steps else getattr(model, "estimator", None)
    return None


def learner_of_codes(model: Any) -> Any:
    """Return a copy that learns from 0 and 1, whatever label it was to take for the event."""
    from sklearn.base import clone  # late: it takes seconds

    params = model.get_params().items()
    asked = [n for n, v in params if v is not None and f"_{n}".endswith("_pos_label")]
    return clone(model).set_params(**dict.fromkeys(asked)) if asked else clone(model)


def event_place(classes: Sequence[Any], model: Any) -> int:
    """Return which of a fitted classifier's two labels is the event."""
    return _choose_event(list(classes), "classes_", asked_label(model)).index(True)


def _choose_event(
    labels: Sequence[Any], what: str, positive: Any = None, asks: bool = False
) -> list[bool]:
    """Return for each distinct label of ``what`` whether it is the event."""
    texts = [_label_text(label) for label in _in_order(labels)]
    shown = ", ".join(texts[:10]) + ", …" * (len(texts) > 10)
    if len(labels) < 2:
        raise InputError(
            f"{what} holds one class only: every row is {shown}. Pass rows of both classes."
        )
    if positive is not None:
        events = [is_event(label, positive) for label in labels]
        if not any(events):
            raise InputError(
                f"{what} is never {positive!r}; it holds {shown}. Say which of them is the event: ",
                _NAME_IT,
                ".",
            )
        if all(events):
            raise InputError(f"{what} is {positive!r} in every row. Pass rows of both classes.")
        _check_spelling(labels, events, what)
        return events
    meanings = [meaning_of(label) for label in labels]
    if sorted(meanings, key=str) == [False, True]:
        return [bool(meaning) for meaning in meanings]
    if asks and len(labels) == 2:
        first, second = (shlex.quote(text) for text in texts)
        raise InputError(
            f"{what} holds {texts[0]} and {texts[1]}. Say which of them is the event: ",
            Remedy("pos_label=label", f"--positive {first} or --positive {second}"),
            ".",
        )
    try:
        last = max(labels)
    except TypeError:
        raise InputError(
            f"{what} mixes labels that do not compare ({shown}). Use one kind of label, or say "
            "which is the event: ",
            _NAME_IT,
            ".",
        ) from None
    if len(labels) == 2:
        return [label == last for label in labels]
    if any(isinstance(label, float) and not label.is_integer() for label in labels):
        raise InputError(
            f"Unknown label type: continuous. {what} holds {len(labels)} numbers ({shown}), but an "
            "outcome has two labels. ",
            Remedy(_LIMIT, "Add a column of two labels, and name that one."),
        )
    raise InputError(
        # The first sentence is the one that scikit-learn's own checks look for.
        Remedy(
            "Only binary classification is supported. The type of the target is multiclass: ", ""
        ),
        f"{what} holds {len(labels)} labels ({shown}), but an outcome has two. ",
        Remedy(
            "Compare it with the event's label first, as in y == label.",
            "Say which one is the event (--positive LABEL); the others, a code for not known among "
            "them, then count as no event. Or choose another --target.",
        ),
    )


def check_no_missing(labels: Sequence[Any], what: str, counts: Any = None, least: int = 0) -> None:
    """Refuse missing labels: of each row, or of groups with so many rows."""
    missing = [k for k, label in enumerate(labels) if as_value(what, label, "any") is None]
    count = max(least, len(missing) if counts is None else sum(int(counts[k]) for k in missing))
    if count:
        many = count > 1
        where = [f", {'the first ' * many}in ", RowNumber(missing[0])] if counts is None else []
        found = f"{count:,} {'labels are' if many else 'label is'} missing"
        drop = f". Drop {'those rows' if many else 'that row'}."
        raise InputError(f"{what}: {found}", *where, drop)


def match_labels(y: Any, classes: Sequence[Any], model: str) -> NDArray[np.bool_]:
    """Return which rows hold the second of the two labels that a model knows; refuse others."""
    labels = np.asarray(y)
    if labels.ndim != 1 or not labels.size:
        raise InputError(f"y must be one column of labels, but has shape {labels.shape}.")
    event = labels == classes[1]
    strange = np.flatnonzero(~(event | (labels == classes[0])))
    if strange.size:
        raise InputError(
            f"y holds labels that {model!r} does not know ({shorten(list(classes))}), the first ",
            "in ",
            RowNumber(int(strange[0])),
            f": {labels[strange[:1]].tolist()[0]!r}.",
        )
    return np.asarray(event, dtype=np.bool_)


def read_event(y: Any, card: Scorecard) -> NDArray[np.bool_]:
    """Return which rows have a card's event: 1 or True, or labels as the card's outcome has them.

    Text that means yes or no is read, too, unless the card's event is a "no".
    """
    outcome = (card.provenance.outcome if card.provenance else None) or ""
    said = outcome.rpartition(" = ")[2]
    labels = np.asarray(y)
    texts = [label for label in set(labels.ravel().tolist()) if isinstance(label, str)]
    if said and any(is_event(label, said) for label in texts) and labels.ndim == 1:
        others = [label for label in texts if not is_event(label, said)]
        if len(others) < 2 and len(texts) == len(set(labels.tolist())):
            return np.array([is_event(label, said) for label in labels.tolist()], dtype=np.bool_)
    if texts and meaning_of(said) is False:
        raise InputError(
            f"y holds text such as {texts[0]!r}, but the card's event is {outcome!r}. Pass 1 for "
            "the event, and 0."
        )
    return check_binary(y, name="y")


def find_target(
    columns: Mapping[str, NDArray[Any]] | Sequence[str],
    outcome: str | None,
    features: Sequence[str],
) -> tuple[str, str]:
    """Find the column and the label that a card calls its outcome, such as "Malignant = 1".

    Where rows are not in memory, only the names of columns are given.
    """
    found = []
    for name in columns:
        label = label_in(outcome, name)
        if label is None or name in features:
            continue
        items = set(columns[name].tolist()) if isinstance(columns, Mapping) else {label}
        found += [(name, label)] * any(is_event(item, label) for item in items)
    if len(found) != 1:
        says = "does not say what its outcome is" if outcome is None else f"predicts {outcome!r}"
        raise InputError(
            f"the card {says}, and no column matches that. Name the column of the outcome",
            Remedy("", ": --target COLUMN"),
            f". There are {shorten(list(columns), 10)}.",
        )
    return found[0]


def label_in(outcome: str | None, name: str) -> str | None:
    """Return the label in "name = label", or None where the outcome is another column's."""
    start = f"{name} = "
    return outcome.removeprefix(start) if outcome and outcome.startswith(start) else None


def check_both_classes(event: NDArray[np.bool_], weight: FloatArray) -> None:
    """Raise an error where all rows with weight have the event, or none of them."""
    there = event[weight > 0]
    if there.size and there[0] == there.all() == there.any():
        what = "only events" if there[0] else "no events"
        raise InputError(
            f"the rows with weight are of one class only: there are {what}. Both classes need rows."
        )


def warn_of_constants(table: PatternTable, stacklevel: int = 5) -> None:
    """Warn of columns that cannot get points, unless that is all of them."""
    if 0 < len(table.constant) < table.n_features:  # all of them are an error, a little later
        warnings.warn(
            f"constant columns get no points: {shorten(table.constant)}. Drop them to silence "
            "this.",
            stacklevel=stacklevel,  # scikit-learn's decorator is between the user and fit
        )


def _labels(y: Any, what: str) -> NDArray[Any]:
    """Labels as an array, none missing; objects as what they are where they are all numbers."""
    if y is None:
        raise InputError(
            "fit requires y to be passed, but the target y is None. Pass the outcome of each row."
        )
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        y = Frame(series.alias("y").to_frame().to_native()).column("y")
    if not (type(y) is np.ndarray and y.ndim == 1):
        from sklearn.utils import column_or_1d  # late: it takes seconds, and files need none of it

        y = column_or_1d(y, warn=True)
    labels: NDArray[Any] = y
    if labels.dtype.kind == "c":
        raise InputError(
            f"Complex data not supported: {what} holds complex numbers. Pass two labels."
        )
    if labels.dtype.kind == "O" or (labels != labels).any():
        items = labels.tolist()
        check_no_missing(items, what)
        if all(isinstance(item, Real | np.bool_) for item in items):
            labels = np.array(items)
    if not labels.size:
        raise InputError(
            f"{what} has 0 sample(s): there are no rows. Pass at least one row of each outcome."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise InputError(
            f"Unknown label type: continuous. {what} holds {labels[row].item()!r} in ",
            RowNumber(row),
            f", but an outcome has two labels. {_LIMIT}",
        )
    return labels


def _check_spelling(labels: Sequence[Any], events: Sequence[bool], what: str) -> None:
    """Refuse an event that some rows spell in another way."""
    texts = [label.strip().casefold() if isinstance(label, str) else label for label in labels]
    for label, text, event in zip(labels, texts, events, strict=True):
        same = [k for k, one in enumerate(texts) if one == text and events[k]]
        if same and not event:
            raise InputError(
                f"{what} spells the event in several ways: {labels[same[0]]!r} and {label!r}. "
                "Write it in one way."
            )


def _in_order(labels: Any) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:  # labels of several kinds
        return sorted(labels, key=str)


def _label_text(label: Any) -> str:
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if whole else str(label)
