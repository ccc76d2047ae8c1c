"""From named columns to a card without a data frame: what the command line does to a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._validation import InputError, shorten
from netbenefit._version import __version__
from netbenefit.assemble import assemble_card
from netbenefit.conditions import Term
from netbenefit.patterns import PatternTable
from netbenefit.problem import Problem
from netbenefit.scorecard import Provenance, Scorecard
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.base import Callback, Solver, SolverResult
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.thresholds import Thresholds

__all__ = ["Training", "check_features", "train"]


class Training(NamedTuple):
    """A card, how it was found, and what its user should know."""

    card: Scorecard
    result: SolverResult
    notes: tuple[str, ...]


def train(
    columns: Mapping[str, NDArray[Any]],
    event: NDArray[Any],
    thresholds: Thresholds,
    *,
    outcome: str,
    terms: Sequence[Term] | None = None,
    sample_weight: NDArray[Any] | None = None,
    penalty: str | float = "auto",
    max_points: int = 10,
    max_features: int | None = None,
    sign: Mapping[str, str] | None = None,
    solver: str = "auto",
    time_limit: float | None = 10.0,
    seed: int = 0,
    n_jobs: int = -1,
    callback: Callback | None = None,
) -> Training:
    """Learn a card from columns.

    Parameters
    ----------
    columns : mapping of str to array
        Numbers or booleans.
    event : array of bool
    thresholds : Thresholds
    outcome : str
        What the risk is the risk of.
    terms : sequence of Condition or PerUnit, optional
        How each column arises from a raw column; the card then speaks of raw columns.
    sample_weight, penalty, max_points, max_features, sign, solver, time_limit, n_jobs, callback
        As in :class:`netbenefit.RiskScoreClassifier`.
    seed : int, default=0

    Returns
    -------
    Training

    Examples
    --------
    >>> import numpy as np
    >>> fever, cough = np.array([0, 0, 1, 1] * 5), np.array([0, 1, 0, 1] * 5)
    >>> columns = {"fever": fever, "cough": cough}
    >>> done = train(columns, fever == 1, Thresholds.of([0.5]), outcome="flu")
    >>> done.card.risk({"fever": 1, "cough": 0}), done.result.size
    (1.0, 1)
    """
    table = PatternTable.from_columns(columns, event, sample_weight=sample_weight)
    if len(table.constant) == table.n_features:
        raise InputError(
            f"every column is constant ({shorten(table.constant)}): nothing tells rows apart. Add "
            "a column that varies."
        )
    problem = Problem.build(
        table,
        thresholds,
        penalty=penalty,
        max_points=max_points,
        sign=sign,
        max_features=max_features,
    )
    result = _solver(solver, time_limit, seed, n_jobs).solve(problem, callback=callback)
    provenance = Provenance(
        version=__version__,
        n_rows=table.n_total,
        n_events=table.n_events,
        n_patterns=len(table),
        prevalence=table.prevalence,
        objective=result.objective,
        bound=result.bound,
        penalty=float(problem.penalty),
        solver=result.solver,
        status=result.status,
        seconds=round(result.seconds, 3),
        random_state=seed,
        outcome=outcome,
    )
    card = assemble_card(problem, result, provenance, terms=terms)
    return Training(card, result, tuple(_notes(table, result)))


def check_features(columns: Mapping[str, NDArray[Any]]) -> None:
    """Refuse text and missing values, naming all columns that hold some at once.

    >>> import numpy as np
    >>> check_features({"age": np.array([51.0, 52.0])})
    """
    text: dict[str, str] = {}
    missing: dict[str, list[int]] = {}
    for name, column in columns.items():
        if column.dtype.kind == "O":
            items = column.tolist()
            gone = [row for row, item in enumerate(items) if item is None or item != item]
            word = next((item for item in items if isinstance(item, str)), None)
            if word is not None:
                text[name] = word
                continue
        else:
            gone = np.flatnonzero(np.isnan(column)).tolist()
        if gone:
            missing[name] = gone
    if text:
        drops = " ".join(f"--drop {_quoted(name)}" for name in text)
        examples = ", ".join(f"{name!r} (such as {item!r})" for name, item in text.items())
        raise InputError(
            f"text in column{'s' * (len(text) > 1)} {examples}. Encode as numbers (0/1, one column "
            f"a category), or leave out: {drops}"
        )
    if missing:
        drops = " ".join(f"--drop {_quoted(name)}" for name in missing)
        found = ", ".join(
            f"{name!r} ({len(rows):,}, the first in row {rows[0]})"
            for name, rows in missing.items()
        )
        raise InputError(
            f"missing values in column{'s' * (len(missing) > 1)} {found}. Impute them, drop those "
            f"rows, or leave out: {drops}"
        )


def _quoted(name: str) -> str:
    return name if name.replace("-", "_").isidentifier() else f"'{name}'"


def _solver(name: str, time_limit: float | None, seed: int, n_jobs: int) -> Solver:
    if name == "anneal":
        return Annealing(time_limit=time_limit, seed=seed)
    if name not in ("auto", "local"):
        raise InputError(f'solver={name!r} is not known. Use "auto", "local" or "anneal".')
    if n_jobs == 0:
        raise InputError("0 threads cannot search. Use 1 or more, or −1 for all cores.")
    from joblib import effective_n_jobs  # type: ignore[import-untyped]  # by scikit-learn

    return LocalSearch(time_limit=time_limit, n_jobs=effective_n_jobs(n_jobs), seed=seed)


def _notes(table: PatternTable, result: SolverResult) -> list[str]:
    notes = []
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
        notes.append("time ran out: a longer --time-limit may find a better card.")
    if result.size == 0:
        notes.append("no rule was worth its penalty: try --penalty 0, or other columns.")
    return notes
