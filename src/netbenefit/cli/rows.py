"""The rows of a file or a table: those to learn from, those held out, outcomes and weights."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cli.terminal import (
    check_column,
    note,
    pick_column,
    print_note,
    warnings_as_notes,
)
from netbenefit.common import InputError, RowNumber, rows_named
from netbenefit.data import (
    Engine,
    FileFormat,
    Outcome,
    RawFile,
    check_no_missing,
    find_target,
    label_in,
    read_outcome,
    read_raw,
    size_of_file,
    size_of_table,
)

if TYPE_CHECKING:
    from netbenefit.cards import Scorecard
    from netbenefit.cli.model import ColumnFlags
    from netbenefit.cli.options import FileOptions, OutcomeOptions
    from netbenefit.data import OpenTable, Source

# -- tables: read into memory, or left where they are ----------------------------------------------


def format_of(files: FileOptions) -> FileFormat:
    """Return how files are to be read."""
    delimiter = {"tab": "\t", "\\t": "\t"}.get(files.delimiter or "", files.delimiter)
    return FileFormat(delimiter, files.decimal, files.encoding, files.sheet)


def open_data(
    source: Source,
    *,
    stream: bool | None,
    as_text: Collection[str],
    drop: Sequence[str] = (),
    jobs: int = -1,
    quiet: bool = False,
) -> RawFile | OpenTable:
    """Read a source into memory, or open it where it is (to be closed), as size and options say.

    Columns of ``as_text`` are text whatever their cells look like; those of ``drop`` need not be
    alike in all files.
    """
    if source.is_plain_file and not (size_of_file(source).is_large if stream is None else stream):
        return read_file(source.files[0], as_text, source.how, quiet)
    table = open_table(source, as_text, jobs, quiet)
    try:
        table.check_columns([name for name in table.columns if name not in drop])
        size = size_of_table(table)
        if size.is_large if stream is None else stream:
            if not quiet:
                how = "streamed by DuckDB, never all in memory"
                if source.kind == "postgresql":
                    how = "copied from PostgreSQL to this disk, then streamed by DuckDB"
                print_note("bold", source.shown, f"{size}: {how}")
            return table
        raw = table.read()
    except BaseException:
        table.close()
        raise
    table.close()
    return raw


def read_file(
    path: Path, as_text: Collection[str], how: FileFormat, quiet: bool = False
) -> RawFile:
    """Read a file into memory, and tell what was found out about it."""
    with warnings_as_notes(quiet):
        return read_raw(path, as_text, how)


def open_table(
    source: Source,
    as_text: Collection[str],
    jobs: int = -1,
    quiet: bool = False,
    used: Collection[str] | None = None,
    output: Path | None = None,
) -> OpenTable:
    """Open a source, and show how far DuckDB is while it looks at it; it may write ``output``."""
    from netbenefit.data import QueryBar, open_source

    engine = Engine(jobs, output)
    words = {"csv": "reading CSV", "postgresql": "reading from PostgreSQL"}
    doing = words.get(source.kind, "opening")
    with warnings_as_notes(quiet), QueryBar(engine.connection, doing, shown=not quiet) as bar:
        return open_source(source, as_text=as_text, used=used, engine=engine, tell=bar.say)


# -- rows ----------------------------------------------------------------------------------------


#: Labels of an outcome to look at; more are an error in any case.
_MOST_LABELS = 1000


class Rows(NamedTuple):
    """Rows to learn from, or rows held out."""

    file: RawFile
    names: tuple[str, ...]  #: columns to learn from
    outcome: Outcome
    weight: NDArray[Any] | None
    kept: NDArray[np.intp] | None = None  #: which rows of the file; None for all

    def only(self, kept: NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        outcome = self.outcome._replace(event=self.outcome.event[kept])
        weight = None if self.weight is None else self.weight[kept]
        whole = kept if self.kept is None else self.kept[kept]
        return self._replace(outcome=outcome, weight=weight, kept=whole)

    def place(self, row: int) -> str:
        """Say where a row stands in its file, such as "line 7"."""
        return self.file.place(row if self.kept is None else int(self.kept[row]))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns to learn from, as plain arrays."""
        columns = {name: self.file.columns[name] for name in self.names}
        if self.kept is None:
            return columns
        return {name: column[self.kept] for name, column in columns.items()}

    def X(self, binned: bool) -> Any:
        """Return the rows as an estimator takes them: raw for a binner, else numbers."""
        if binned:
            return self.file.rows(self.names, self.kept)
        columns = self.columns()
        with rows_named(self.place):
            _check_numbers(columns)
        return columns

    def counts(self, held_out: Rows | None = None) -> str:
        """Say how many rows and columns there are."""
        event = self.outcome.event
        aside = "" if held_out is None else f"; {held_out.outcome.event.size:,} rows held out"
        return (
            f"{event.size:,} rows, {event.sum():,} with {self.outcome.text}{self.outcome.remark}; "
            f"{count_columns(self.names)} to learn from{aside}"
        )


def count_columns(names: Sequence[str]) -> str:
    """Say how many columns there are."""
    return f"{len(names)} column{'s' * (len(names) != 1)}"


def read_rows(
    data: Path,
    target: str,
    positive: str | None,
    sample_weight: str | None,
    flags: ColumnFlags,
    files: FileOptions,
    quiet: bool = False,
) -> Rows:
    """Read a file, its outcome and its weights."""
    file = read_file(data, flags.levels, format_of(files), quiet)
    return rows_of(file, str(data), target, positive, sample_weight, flags, quiet)


def rows_of(
    file: RawFile,
    place: str,
    target: str,
    positive: str | None,
    sample_weight: str | None,
    flags: ColumnFlags,
    quiet: bool = False,
) -> Rows:
    """Find outcome and weights in a table that was read from ``place``."""
    check_column(file.columns, target, "--target")
    names = features_of(file.columns, place, target, sample_weight, flags)
    return _with_outcome(file, names, target, positive, sample_weight, quiet)


def _with_outcome(
    file: RawFile,
    names: tuple[str, ...],
    target: str,
    positive: str | None,
    sample_weight: str | None,
    quiet: bool,
) -> Rows:
    """Read outcome and weights; rows without an outcome are left out."""
    labels = pick_column(file.columns, target, "--target")
    weight = read_weights(file, sample_weight)
    missing, kept = _missing(labels), None
    if missing and len(missing) < labels.size:
        tell_left_out(len(missing), target, quiet)
        kept = np.setdiff1d(np.arange(labels.size), missing)
        labels = labels[kept]
    with rows_named(lambda row: file.place(row if kept is None else int(kept[row]))):
        outcome = read_outcome(labels, target, positive, asks=True)
    weight = weight if weight is None or kept is None else weight[kept]
    return Rows(file, names, outcome, weight, kept)


def tell_left_out(number: int, target: str, quiet: bool) -> None:
    """Say how many rows have no outcome."""
    if quiet:
        return
    rows = "row has" if number == 1 else "rows have"
    note(f"{number:,} {rows} no {target!r}: left out.")


def features_of(
    columns: Collection[str], place: str, target: str, sample_weight: str | None, flags: ColumnFlags
) -> tuple[str, ...]:
    """Return the columns to learn from."""
    unused = {target, sample_weight, *flags.dropped(columns)}
    names = tuple(name for name in columns if name not in unused)
    if not names:
        raise InputError(
            f"{place}: no feature columns are left beside {target!r}. Add some, or drop fewer."
        )
    return names


def read_weights(file: RawFile, sample_weight: str | None) -> NDArray[Any] | None:
    """Return row weights; refuse those that are no numbers, or missing."""
    if sample_weight is None:
        return None
    column = pick_column(file.columns, sample_weight, "--sample-weight")
    word, rows = _first_word(column), _missing(column)
    remedy = "Weights are numbers, one per row: choose another column, or correct it."
    if word is not None:
        raise InputError(
            f"--sample-weight: text in column {sample_weight!r} (such as {word[1]!r} in "
            f"{file.place(word[0])}). {remedy}"
        )
    if rows:
        raise InputError(
            f"--sample-weight: column {sample_weight!r} has {len(rows):,} missing values, the "
            f"first in {file.place(rows[0])}. {remedy}"
        )
    return column


def read_for_card(
    card: Scorecard, file: RawFile, named: OutcomeOptions, quiet: bool = False
) -> Rows:
    """Rows that a card is evaluated on, with all columns; the outcome is its own by default."""
    target, event = outcome_column(card, file.columns, named)
    return _with_outcome(file, tuple(file.columns), target, event, named.sample_weight, quiet)


def outcome_column(
    card: Scorecard, columns: Mapping[str, NDArray[Any]] | Sequence[str], named: OutcomeOptions
) -> tuple[str, str | None]:
    """Return the column of the outcome that a card is evaluated on, and the event's label."""
    says = card.provenance.outcome if card.provenance else None
    target = named.target
    if target is None:
        target, _ = find_target(columns, says, card.features)
    return target, label_in(says, target) if named.positive is None else named.positive


def outcome_of_table(
    table: OpenTable, target: str, positive: str | None, quiet: bool
) -> tuple[OpenTable, Outcome, int]:
    """Read the outcome of a table that stays where it is.

    Return the table without rows that have none, the outcome, and the number of events.
    """
    from netbenefit.data import name

    found = table.connection.sql(
        f"SELECT {name(target)}, count(*) FROM ({table.query}) GROUP BY 1 "
        f"ORDER BY {name(target)} IS NOT NULL, 2 DESC LIMIT {_MOST_LABELS}"
    ).fetchall()
    missing = [label is None or label != label for label, _ in found]
    if any(missing) and not all(missing):
        number = sum(n for (_, n), gone in zip(found, missing, strict=True) if gone)
        tell_left_out(number, target, quiet)
        table = table.without_missing(target)
        found = [one for one, gone in zip(found, missing, strict=True) if not gone]
    labels = np.empty(len(found), dtype=object)
    labels[:] = [value for value, _ in found]
    check_no_missing(labels.tolist(), f"column {target!r}", [count for _, count in found])
    outcome = read_outcome(labels, target, positive, asks=True)
    events = sum(n for (_, n), event in zip(found, outcome.event, strict=True) if event)
    return table, outcome, events


def check_share(share: float | None, certificate: Path | None) -> None:
    """Refuse a share of rows to hold out that is not one, or that rules out a proof."""
    if share is None:
        return
    if not 0 < share < 1:
        raise InputError(
            f"--holdout {share:g} is not a share of the rows. Write 0.25 for a quarter."
        )
    if certificate is not None:
        raise InputError(
            "--holdout and --certificate do not go together: `verify` counts all rows of a file, "
            "but the proof would be about some of them. Split the file first, or leave out one."
        )


def split_rows(rows: Rows, share: float | None, seed: int) -> tuple[Rows, Rows | None]:
    """Return rows to learn from and rows held out: of each class the same share."""
    if share is None:
        return rows, None
    event = rows.outcome.event
    random = np.random.default_rng(seed)
    held = np.zeros(event.size, dtype=np.bool_)
    for label in (False, True):
        places = np.flatnonzero(event == label)
        number = round(share * places.size)
        if not 0 < number < places.size:
            which = "with" if label else "without"
            raise InputError(
                f"--holdout {share:g} of {places.size} rows {which} {rows.outcome.text} leaves one "
                "side without any. Choose another share, or a larger table."
            )
        held[random.permutation(places)[:number]] = True
    return rows.only(np.flatnonzero(~held)), rows.only(np.flatnonzero(held))


def _check_numbers(columns: Mapping[str, NDArray[Any]]) -> None:
    """Refuse text and missing values, naming all columns that hold some at once."""
    words = {name: _first_word(column) for name, column in columns.items()}
    text = {name: word for name, word in words.items() if word is not None}
    missing = {name: rows for name, column in columns.items() if (rows := _missing(column))}
    if not text and not missing:
        return
    problems: list[str | RowNumber] = []
    for name, (row, word) in text.items():
        problems += [f"column {name!r} holds text, such as {word!r} in ", RowNumber(row), "; "]
    for name, rows in missing.items():
        problems += [
            f"column {name!r} has {len(rows):,} missing values, the first in ",
            RowNumber(rows[0]),
            "; ",
        ]
    drops = " ".join(f"--drop {shlex.quote(name)}" for name in {**text, **missing})
    raise InputError(
        *problems[:-1],
        ". With --binner none columns are numbers; --binner auto takes both. Or: encode text as "
        "numbers (0/1, one column per category), impute missing values, or leave out columns: "
        f"{drops}",
    )


def _first_word(column: NDArray[Any]) -> tuple[int, str] | None:
    """The first text of a column, and its row."""
    if column.dtype.kind != "O":
        return None
    return next((one for one in enumerate(column.tolist()) if isinstance(one[1], str)), None)


def _missing(column: NDArray[Any]) -> list[int]:
    """Rows with missing values."""
    if column.dtype.kind == "O":
        return [i for i, item in enumerate(column.tolist()) if item is None or item != item]
    return np.flatnonzero(np.isnan(column)).tolist() if column.dtype.kind == "f" else []
