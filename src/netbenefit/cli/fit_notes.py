"""Checks and notes around a fit from a file: what the command line adds to the estimator."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards.scorecard import Scorecard
from netbenefit.cli.terminal import pick_column
from netbenefit.common.checks import InputError, shorten
from netbenefit.data.labels import Outcome, find_target, label_in, read_outcome
from netbenefit.estimators.learn import too_small_text
from netbenefit.problem.constraints import Constraint, from_json
from netbenefit.problem.problem import Problem
from netbenefit.problem.result import SolverResult

__all__ = ["check_features", "check_weight", "notes_on", "read_constraints", "read_for_card"]


def check_features(columns: Mapping[str, NDArray[Any]], who: str) -> None:
    """Refuse text and missing values, naming all columns that hold some at once.

    ``who`` says what takes numbers only, and what takes more.

    >>> import numpy as np
    >>> check_features({"age": np.array([51.0, 52.0])}, "this takes numbers only")
    """
    words = {name: _first_word(column) for name, column in columns.items()}
    text = {name: word for name, word in words.items() if word is not None}
    missing = {name: rows for name, column in columns.items() if (rows := _holes(column))}
    if text:
        examples = ", ".join(f"{name!r} (such as {item!r})" for name, item in text.items())
        raise InputError(
            f"text in column{'s' * (len(text) > 1)} {examples}. {who}: encode as numbers (0/1, "
            f"one column a category), or leave out: {_drops(text)}"
        )
    if missing:
        found = ", ".join(
            f"{name!r} ({len(rows):,}, the first in row {rows[0]})"
            for name, rows in missing.items()
        )
        raise InputError(
            f"missing values in column{'s' * (len(missing) > 1)} {found}. {who}: impute them, drop "
            f"those rows, or leave out: {_drops(missing)}"
        )


def check_weight(name: str, column: NDArray[Any]) -> None:
    """Refuse row weights that are no numbers, or not there.

    >>> import numpy as np
    >>> check_weight("weight", np.array([1, 2]))
    """
    word, rows = _first_word(column), _holes(column)
    remedy = "Weights are numbers, one a row: choose another column, or correct it."
    if word is not None:
        raise InputError(f"--sample-weight: text in column {name!r} (such as {word!r}). {remedy}")
    if rows:
        raise InputError(
            f"--sample-weight: column {name!r} has {len(rows):,} missing values, the first in row "
            f"{rows[0]}. {remedy}"
        )


def _first_word(column: NDArray[Any]) -> str | None:
    if column.dtype.kind != "O":
        return None
    return next((item for item in column.tolist() if isinstance(item, str)), None)


def _holes(column: NDArray[Any]) -> list[int]:
    """Rows with missing values."""
    if column.dtype.kind == "O":
        return [i for i, item in enumerate(column.tolist()) if item is None or item != item]
    return np.flatnonzero(np.isnan(column)).tolist() if column.dtype.kind == "f" else []


def _drops(names: Iterable[str]) -> str:
    return " ".join(f"--drop {shlex.quote(name)}" for name in names)


def read_for_card(
    card: Scorecard,
    columns: dict[str, NDArray[Any]],
    target: str | None,
    positive: str | None,
    sample_weight: str | None,
) -> tuple[Outcome, NDArray[Any] | None]:
    """Outcome and weights of a table that a card is held against; its own outcome by default."""
    says = card.provenance.outcome if card.provenance else None
    label: str | None
    if target is None:
        target, label = find_target(columns, says, card.features)
    else:
        label = label_in(says, target)
    outcome = read_outcome(
        target,
        pick_column(columns, target, "--target"),
        positive if positive is not None else label,
    )
    if sample_weight is None:
        return outcome, None
    weight = pick_column(columns, sample_weight, "--sample-weight")
    check_weight(sample_weight, weight)
    return outcome, weight


def read_constraints(path: Path | None) -> list[Constraint]:
    """Read a file with a JSON list of constraints, as ``Constraint.to_json`` writes them."""
    if path is None:
        return []
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} is no JSON ({error}). Write a list of constraints.") from None
    if not isinstance(items, list):
        raise InputError(f"{path} holds no list. Write [{{...}}, {{...}}], one object each.")
    return [from_json(item) for item in items]


def _columns_and_rarer(problem: Problem) -> tuple[int, float]:
    """Columns that may have points, and mass of the rarer outcome."""
    table = problem.patterns
    rarer = min(float(table.n_events), float(table.n_total - table.n_events))
    return min(int((problem.upper > problem.lower).sum()), problem.max_features), rarer


def notes_on(problem: Problem, result: SolverResult, *, binned: bool = False) -> list[str]:
    """What the user of a new card should know; ``binned`` columns are conditions."""
    notes = []
    table = problem.patterns
    if problem.too_small:
        notes.append(too_small_text(problem))
    columns, rarer = _columns_and_rarer(problem)
    if columns > rarer:
        notes.append(
            f"{columns} {'conditions' if binned else 'columns'}, but only {rarer:g} rows of the "
            "rarer outcome: the card may fit noise. Choose columns first (--drop), or set "
            "--max-features."
        )
    if table.constant:
        notes.append(f"constant columns get no points: {shorten(table.constant)}.")
    steps = dict(zip(table.names, table.decimals, strict=True))
    if table.rounded:
        listed = ", ".join(f"{name} to {10.0 ** -steps[name]:g}" for name in table.rounded[:5])
        more = len(table.rounded) - 5
        notes.append(f"rounded: {listed}{f' and {more} more' if more > 0 else ''}.")
    if result.status == "interrupted":
        notes.append("interrupted: this is the best card so far.")
    if result.status == "time_limit":
        gain = "find a better card, or prove more" if result.bound else "find a better card"
        notes.append(f"time ran out: a longer --time-limit may {gain}.")
    if result.size == 0:
        notes.append("no rule was worth its penalty: try --penalty 0, or other columns.")
    return notes
