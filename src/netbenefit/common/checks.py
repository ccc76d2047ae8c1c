"""Argument checks whose errors say what was wrong, where, and what to do.

Everything that a user can get wrong is checked here or in the public function that takes it, once;
private code below that line trusts its arguments.
"""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Remedy(NamedTuple):
    """What to do, in the words of Python and in those of the command line."""

    python: str
    options: str


#: Options that have other names than their parameters.
_OPTIONS = {"n_jobs": "jobs", "random_state": "seed"}


def setting(name: str, value: Any) -> Remedy:
    """Say what a parameter, or option, was set to."""
    option = _OPTIONS.get(name, name).replace("_", "-")
    return Remedy(f"{name}={value!r}", f"--{option} {shlex.quote(str(value))}")


def by_name(parameter: str, name: str) -> Remedy:
    """Say that a parameter, or option, should name a column."""
    return Remedy(f"{parameter}=[{name!r}]", f"--{parameter} {shlex.quote(name)}")


def drop_it(name: str = "NAME") -> Remedy:
    """Say that a column should be left out."""
    return Remedy("drop it", f"drop it (--drop {shlex.quote(name)})")


class RowNumber(NamedTuple):
    """A row of a table, by its place; people who have a file are told its line instead."""

    row: int

    def __str__(self) -> str:
        return f"row {self.row}"

    @property
    def options(self) -> str:
        """What a person counts, who is not told the line of a file."""
        return f"row {self.row + 1}"


class Message:
    """A text for users, parts of which have other words on the command line."""

    args: tuple[Any, ...]

    def __str__(self) -> str:
        text = "".join(p.python if isinstance(p, Remedy) else str(p) for p in self.args)
        numbered = any(isinstance(p, RowNumber) for p in self.args)
        return f"{text} (Rows are counted from 0.)" if numbered else text

    def in_options(self) -> str:
        """Return the text in the words of the command line."""
        return "".join(
            p.options if isinstance(p, Remedy | RowNumber) else str(p) for p in self.args
        )

    def name_rows(self, name: Callable[[int], Any]) -> None:
        """Put what rows are called in the place of their numbers."""
        self.args = tuple(name(p.row) if isinstance(p, RowNumber) else p for p in self.args)


def read_parts(data: Sequence[Any]) -> tuple[str | Remedy | RowNumber, ...]:
    """Return the parts of a message that JSON made lists of."""
    return tuple(
        part if isinstance(part, str) else RowNumber(*part) if len(part) == 1 else Remedy(*part)
        for part in data
    )


class InputError(Message, ValueError):
    """What a user passed cannot be used; the message names the culprit and the remedy."""


class InputWarning(Message, UserWarning):
    """What a user passed can be used, but hardly as it was meant."""


class SmallTableWarning(InputWarning):
    """A card was learnt from few rows for what it had to choose from."""


class LeakWarning(InputWarning):
    """A column gives away the outcome, as if it was recorded afterwards."""


#: Errors to tell at once; the rest are counted.
_MOST_ERRORS = 10


def raise_all(
    errors: Sequence[InputError], what: str = "columns cannot be used as they are"
) -> None:
    """Raise what was found wrong, all at once; nothing if that is nothing."""
    if len(errors) == 1:
        raise errors[0]
    parts: list[Any] = []
    for number, error in enumerate(errors[:_MOST_ERRORS], 1):
        parts += [f" ({number}) ", *error.args]
    if errors:
        more = len(errors) - _MOST_ERRORS
        rest = f" … and {more:,} more." if more > 0 else ""
        raise InputError(f"{len(errors):,} {what}:", *parts, rest)


@contextmanager
def rows_named(name: Callable[[int], Any]) -> Iterator[None]:
    """Say in errors what rows are called: a line of a file, or their number in a larger table."""
    try:
        yield
    except InputError as error:
        error.name_rows(name)
        raise


def shorten(items: Sequence[Any], limit: int = 5) -> str:
    """List a few items for an error message."""
    shown = ", ".join(repr(item) for item in items[:limit])
    more = len(items) - limit
    return shown if more <= 0 else f"{shown} and {more} more"


def did_you_mean(name: Any, known: Iterable[Any]) -> str:
    """Return a sentence that names what looks most like a name, or nothing; starts with a blank."""
    from difflib import get_close_matches  # late: only errors need it

    by_letters = {str(one).casefold(): str(one) for one in known}
    near = get_close_matches(str(name).casefold(), by_letters, n=1)
    return f" Did you mean {by_letters[near[0]]!r}?" if near else ""


def check_names(names: Sequence[Any]) -> tuple[str, ...]:
    """Return column names as strings; refuse duplicates."""
    texts = tuple(str(name) for name in names)
    repeated = [name for name, count in Counter(texts).items() if count > 1]
    if repeated:
        raise InputError(
            f"duplicate column names: {shorten(repeated)}. Rename or drop the repeated columns: "
            "a card refers to its columns by name."
        )
    return texts


#: Labels that say by themselves whether something happened.
_MEANINGS = dict.fromkeys(("1", "true", "t", "yes", "y"), True) | dict.fromkeys(
    ("0", "false", "f", "no", "n"), False
)


def meaning_of(label: Any) -> bool | None:
    """Whether a label says yes or no: 1, true, yes or 0, false, no; None for all others."""
    if isinstance(label, str):
        return _MEANINGS.get(label.strip().casefold())
    if isinstance(label, Real | np.bool_) and label in (0, 1):
        return bool(label)
    return None


def check_binary(y: ArrayLike, *, name: str = "y_true") -> NDArray[np.bool_]:
    """Return outcomes as booleans, True for an event: 0/1, true/false or yes/no."""
    array = np.asarray(y)
    if array.ndim != 1:
        raise InputError(
            f"{name} must be one-dimensional, but has shape {array.shape}. Pass one column."
        )
    if array.size == 0:
        raise InputError(f"{name} is empty: there are no rows. Pass at least one row.")
    if array.dtype == np.bool_:
        return array
    culprit = array[:1].tolist()[0]
    if array.dtype.kind in "OUT":
        meanings = {label: meaning_of(label) for label in set(array.tolist())}
        if None not in meanings.values():
            return np.array([meanings[label] for label in array.tolist()], dtype=np.bool_)
    if array.dtype == np.object_:  # a column that once held, or still holds, something else
        others = [value for value in array if not isinstance(value, (bool, int, float, np.generic))]
        if others:
            culprit = others[0]
        else:
            array = np.array(array.tolist())
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{name} must hold 0 and 1, or yes and no, but holds {array.dtype} values such as "
            f"{culprit!r}. Compare it with the event's label first, as in y == 'yes'."
        )
    bad = np.flatnonzero((array != 0) & (array != 1))
    if bad.size:
        row = int(bad[0])
        raise InputError(
            f"{name} must hold only 0 and 1, but ",
            RowNumber(row),
            f" holds {array[row].item()!r} ({bad.size} such rows). Recode the outcome, or drop "
            "those rows.",
        )
    return array.astype(np.bool_)


def check_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Return row weights as floats (ones by default); refuse negative or unusable ones."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = _as_floats(sample_weight, "sample_weight")
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise InputError(
            f"sample_weight has shape {weights.shape}, but there are {n_rows} rows. "
            "Pass one weight per row."
        )
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        row = int(bad[0])
        raise InputError(
            "sample_weight must be finite and not negative, but ",
            RowNumber(row),
            f" has {weights[row].item()!r} ({bad.size} such rows). Drop those rows or set 0.",
        )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise InputError("sample_weight sums to more than a number can hold. Divide all weights.")
    if not weights.any():
        raise InputError("sample_weight is zero in every row. Give at least one row a weight.")
    return weights


def check_risks(risk: ArrayLike, n_rows: int, *, name: str = "risk") -> FloatArray:
    """Return predicted risks as floats in [0, 1], one per row."""
    risks = _as_floats(risk, name)
    if risks.ndim == 2 and risks.shape[1] == 2:
        raise InputError(
            f"{name} has two columns, like predict_proba's output. Pass the event's: {name}[:, 1]."
        )
    if risks.shape != (n_rows,):
        raise InputError(
            f"{name} has shape {risks.shape}, but there are {n_rows} rows. Pass one risk per row."
        )
    missing = np.flatnonzero(np.isnan(risks))
    if missing.size:
        raise InputError(
            f"{name} is missing (nan) in ",
            RowNumber(int(missing[0])),
            f" ({missing.size} such rows). Drop those rows, or fill in what the model needs to "
            "predict them.",
        )
    bad = np.flatnonzero(~((risks >= 0) & (risks <= 1)))
    if bad.size:
        row = int(bad[0])
        raise InputError(
            f"{name} must lie in [0, 1], but ",
            RowNumber(row),
            f" has {risks[row].item()!r} ({bad.size} such rows). Turn scores into probabilities "
            "first.",
        )
    return risks


def check_option(name: str, value: Any, known: Collection[str]) -> Any:
    """Return an option that is one of some words; refuse any other."""
    if not isinstance(value, str) or value not in known:
        raise InputError(
            f"{name}={value!r} is not known.{did_you_mean(value, known)} Use one of "
            f"{', '.join(map(repr, known))}."
        )
    return value


def check_count(value: Any, name: str, least: int = 1, hint: str = ".") -> int:
    """Return a whole number of at least ``least``; the error ends with the hint."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name}={value!r} must be a whole number of at least {least}{hint}")
    return int(value)


def check_level(level: Any) -> float:
    """Return the level of an interval as a float; refuse what is not strictly between 0 and 1."""
    if not (isinstance(level, Real) and 0.0 < float(level) < 1.0):
        raise InputError(f"level={level!r} must lie strictly between 0 and 1. Write 0.95 for 95%.")
    return float(level)


def check_seed(random_state: Any) -> int:
    """Return a seed as a whole number; refuse what is none."""
    if isinstance(random_state, bool) or not isinstance(random_state, Integral) or random_state < 0:
        raise InputError(
            setting("random_state", random_state),
            " must be a whole number, and must not be negative: with it, the same data give the "
            "same folds and resamples again.",
        )
    return int(random_state)


def check_threads(n_jobs: int | None) -> None:
    """Refuse to work with no thread at all."""
    if n_jobs == 0:
        raise InputError(
            "0 threads cannot search (",
            setting("n_jobs", 0),
            "). Use 1 or more, or −1 for all cores.",
        )


def _as_floats(values: ArrayLike, name: str) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must hold one number per row. Convert text to numbers, and drop or fill "
            "missing values."
        ) from None


def exact_number(value: Any, name: str, words: str) -> Fraction:
    """Return a setting as the decimal that was written; ``words`` are what else it may be."""
    refusal = InputError(f"{name} must be a finite number or {words}, not {value!r}.")
    if isinstance(value, bool):
        raise refusal
    if isinstance(value, Rational):
        exact = Fraction(int(value.numerator), int(value.denominator))
    elif isinstance(value, float | np.floating) and math.isfinite(value):
        exact = Fraction(repr(float(value)))
    else:
        raise refusal
    if exact < 0:
        raise InputError(f"{name} must not be negative, but is {value!r}.")
    return exact
