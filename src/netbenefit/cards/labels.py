"""What columns are called, measured in and may hold: a data dictionary that a card keeps."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from netbenefit.cards.readings import Reading, plain_number, value_text
from netbenefit.common import InputError, Value, at, did_you_mean, parse, raise_all, shorten, show

#: Headings of a CSV file, and keys of a column in a JSON file.
HEADINGS = ("column", "label", "unit", "low", "high", "levels")
#: Rows of a CSV file that are about the card: what stands under "label".
TITLE, OUTCOME = "*title", "*outcome"
_WRONG = "entries of the data dictionary are wrong"
_REMEDY = 'Write {"title": …, "outcome": …, "columns": {"age": {"label": "Age", "unit": "years"}}}.'


@dataclass(frozen=True)
class ColumnLabel:
    """What one column is called, measured in, and may hold.

    Parameters
    ----------
    feature : str
        The column's name in tables.
    label, unit : str, optional
        What people call it, such as "Age", and what its numbers are measured in.
    low, high : float, optional
        Ends of the plausible range of its numbers.
    levels : sequence of str or float
        Its levels in the order in which people expect them.
    """

    feature: str
    label: str | None = None
    unit: str | None = None
    low: float | None = None
    high: float | None = None
    levels: tuple[Value, ...] = ()

    def __post_init__(self) -> None:
        for what in ("label", "unit"):
            text = getattr(self, what)
            if text is not None and not (isinstance(text, str) and text.strip()):
                raise InputError(f"{what} must be text that is not blank, not {text!r}.")
        for what in ("low", "high"):
            end = getattr(self, what)
            number = isinstance(end, int | float) and not isinstance(end, bool)
            if end is not None and not (number and math.isfinite(end)):
                raise InputError(f"{what} must be a number, not {end!r}.")
        if self.low is not None and self.high is not None and not self.low < self.high:
            low, high = (value_text(_short(end)) for end in (self.low, self.high))
            raise InputError(f"low={low} must be below high={high}.")
        levels = tuple(self.levels)
        if len(set(levels)) < len(levels):
            raise InputError(f"levels name {shorten(_twice(levels))} twice. Name each once.")
        object.__setattr__(self, "levels", levels)

    @property
    def name(self) -> str:
        """What people call it, with its unit."""
        return (self.label or self.feature) + (f" ({self.unit})" if self.unit else "")

    @property
    def range_text(self) -> str:
        """The plausible range in words; empty without one."""
        low, high = (None if v is None else value_text(_short(v)) for v in (self.low, self.high))
        if low is None:
            return "" if high is None else f"{high} or less"
        return f"{low} or more" if high is None else f"{low} to {high}"


@dataclass(frozen=True)
class Labels:
    """A data dictionary: what a card, its outcome and its columns are called.

    Parameters
    ----------
    title : str, optional
        What stands on top of the card.
    outcome : str, optional
        The event in words, such as "death within 30 days".
    columns : sequence of ColumnLabel

    Examples
    --------
    >>> labels = Labels.read({"columns": {"age": {"label": "Age", "unit": "years", "low": 18}}})
    >>> labels.of("age").name, labels.of("age").range_text, labels.of("sex").name
    ('Age (years)', '18 or more', 'sex')
    """

    title: str | None = None
    outcome: str | None = None
    columns: tuple[ColumnLabel, ...] = ()

    def __post_init__(self) -> None:
        for what in ("title", "outcome"):
            text = getattr(self, what)
            if text is not None and not (isinstance(text, str) and text.strip()):
                raise InputError(f"{what} must be text that is not blank, not {text!r}.")
        columns = tuple(self.columns)
        for found, what in (
            ([one.feature for one in columns], "columns"),
            ([one.name for one in columns], "labels"),
        ):
            if len(set(found)) < len(found):
                raise InputError(f"the {what} {shorten(_twice(found))} appear twice.")
        object.__setattr__(self, "columns", columns)

    @classmethod
    def read(
        cls,
        source: Labels | str | os.PathLike[str] | Mapping[str, Any],
        among: Collection[str] | None = None,
    ) -> Labels:
        """Read a data dictionary from a CSV or JSON file, or from a mapping as JSON has it.

        A CSV file has the headings ``column, label, unit, low, high, levels``, of which the first
        is needed; levels are divided by ``|``.  The rows ``*title`` and ``*outcome`` are about the
        card.  With ``among``, a column that is none of these is an error.
        """
        if isinstance(source, Labels):
            return source
        if isinstance(source, Mapping):
            return _of_mapping(source, among)
        path = Path(source)
        if not path.is_file():
            raise InputError(f"{path}: no such file. Name a data dictionary, .csv or .json.")
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(f"{path} is not UTF-8 text. Save it as UTF-8.") from None
        with at(str(path)):
            if path.suffix.lower() == ".json":
                return _of_mapping(parse(text, "a data dictionary", _REMEDY), among)
            return _of_csv(text, among)

    def of(self, feature: str) -> ColumnLabel:
        """Return what is known of a column."""
        return next((o for o in self.columns if o.feature == feature), ColumnLabel(feature))

    def called(self, feature: str) -> str:
        """Return what people call a column, without its unit."""
        return self.of(feature).label or feature

    def only(self, features: Collection[str]) -> Labels:
        """Return what is known of some columns."""
        return replace(self, columns=tuple(o for o in self.columns if o.feature in features))

    def order(self, reading: Reading) -> Reading:
        """Put the levels of a column in their order; levels that are not listed come last."""
        wanted = self.of(reading.feature).levels
        place = {str(level): k for k, level in enumerate(wanted)}
        levels = sorted(reading.levels, key=lambda level: place.get(str(level), len(place)))
        return replace(reading, levels=tuple(levels))


def _twice(items: Iterable[Any]) -> list[Any]:
    items = list(items)
    return list(dict.fromkeys(item for item in items if items.count(item) > 1))


def _short(number: float) -> float:
    return int(number) if float(number).is_integer() else number


# -- files -----------------------------------------------------------------------------------------


def _check_column(feature: str, among: Collection[str] | None) -> None:
    """Refuse a column that a table does not have."""
    if among is None or feature in among:
        return
    raise InputError(
        f"the table has no column {feature!r}.{did_you_mean(feature, among)} Its columns are "
        f"{shorten(list(among), 10)}."
    )


def _of_mapping(data: Any, among: Collection[str] | None) -> Labels:
    """Read what a JSON file holds; an error names the key."""
    _check_keys(data, "", ("title", "outcome", "columns"))
    columns = data.get("columns") or {}
    if not isinstance(columns, Mapping):
        raise InputError(f"columns must be an object by column, not {show(columns)}. {_REMEDY}")
    found, wrong = [], []
    for feature, own in columns.items():
        try:
            found.append(_of_object(str(feature), own, among))
        except InputError as error:
            wrong.append(error)
    raise_all(wrong, _WRONG)
    return Labels(data.get("title"), data.get("outcome"), tuple(found))


def _of_object(feature: str, own: Any, among: Collection[str] | None) -> ColumnLabel:
    path = f"columns.{feature}"
    _check_keys(own, path, HEADINGS[1:])
    levels = own.get("levels") or ()
    if not isinstance(levels, list | tuple):
        raise InputError(f"{path}.levels must be a list, not {show(levels)}.")
    with at(path):
        _check_column(feature, among)
        return ColumnLabel(feature, **{**own, "levels": tuple(levels)})


def _check_keys(data: Any, path: str, known: tuple[str, ...]) -> None:
    if not isinstance(data, Mapping):
        raise InputError(f"{path or 'the labels'} must be an object, not {show(data)}. {_REMEDY}")
    wrong = [key for key in data if key not in known]
    if wrong:
        place = f"{path}.{wrong[0]}" if path else wrong[0]
        raise InputError(f"{place} is not a known key. Use {', '.join(known)}.")


def _of_csv(text: str, among: Collection[str] | None) -> Labels:
    """Read a table with one row per column; an error names the line and the heading."""
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    headings = [cell.strip().lower() for cell in next(rows, [])]
    known = ", ".join(HEADINGS)
    for heading in headings:
        if heading not in HEADINGS or headings.count(heading) > 1:
            raise InputError(f"line 1: heading {heading!r} is unknown or twice there. Use {known}.")
    if "column" not in headings:
        raise InputError(f"line 1: there is no heading 'column'. The headings are {known}.")
    found: dict[str, ColumnLabel] = {}
    wrong: list[InputError] = []
    for cells in rows:
        line = f"line {rows.line_num}"
        try:
            if len(cells) > len(headings):
                raise InputError(
                    f"{line} has {len(cells)} cells, but there are {len(headings)} headings. Put "
                    'texts that hold the delimiter between quotes (").'
                )
            own = dict(zip(headings, (cell.strip() for cell in cells), strict=False))
            if any(own.values()):
                one = _of_line(own, line, among, comma=delimiter != ",")
                if one.feature in found:
                    raise InputError(
                        f"{line}, column: {one.feature!r} is there twice. Remove one of them."
                    )
                found[one.feature] = one
        except InputError as error:
            wrong.append(error)
    raise_all(wrong, _WRONG)
    title, outcome = (found.pop(name).label if name in found else None for name in (TITLE, OUTCOME))
    return Labels(title, outcome, tuple(found.values()))


def _of_line(
    own: dict[str, str], line: str, among: Collection[str] | None, *, comma: bool
) -> ColumnLabel:
    """Read what one line says of a column; title and outcome are labels, too."""
    feature = own.pop("column", "")
    if not feature:
        raise InputError(f"{line}, column: there is no name. Write the column's name.")
    if feature in (TITLE, OUTCOME):
        if not own.get("label"):
            raise InputError(f"{line}, label: {feature} needs a text here.")
        return ColumnLabel(feature, own["label"])
    given: dict[str, Any] = {key: cell for key, cell in own.items() if cell}
    for key in ("low", "high"):
        if key in given:
            given[key] = _number(given[key], f"{line}, {key}", comma=comma)
    if "levels" in given:
        given["levels"] = tuple(level.strip() for level in given["levels"].split("|"))
    with at(f"{line}, column"):
        _check_column(feature, among)
    with at(line):
        return ColumnLabel(feature, **given)


def _number(text: str, place: str, *, comma: bool) -> float:
    number = plain_number(text.replace("−", "-").replace(",", "." if comma else ","))
    if number is None:
        raise InputError(f"{place}: {text!r} is not a number. Write one such as 18 or 0.5.")
    return number


NO_LABELS = Labels()
