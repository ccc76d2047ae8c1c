"""Out-of-fold predictions, put together from the rows of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common.checks import FloatArray, InputError, check_binary, check_risks
from reproduction.figures_methods import method_order
from reproduction.names import DATASETS

__all__ = ["Outcomes", "Pooled", "PooledRun", "Row", "pool_method", "pool_run"]

Row = Mapping[str, Any]
#: Outcomes of a data set, by its name.
Outcomes = Callable[[str], ArrayLike]

#: The case study has figures of its own.
_APART = "credit"


@dataclass(frozen=True, eq=False)
class Pooled:
    """Predictions of one method for the held-out rows of one data set, by row number.

    Attributes
    ----------
    dataset, method : str
    folds : tuple of int
        Which folds are in it.
    rows : (n,) int
        Row numbers, increasing, none of them twice.
    risks : (n,) float
    outcome : (n,) bool
    n_all : int
        Rows of the data set; more than n where folds were not run.
    """

    dataset: str
    method: str
    folds: tuple[int, ...]
    rows: NDArray[np.int64]
    risks: FloatArray
    outcome: NDArray[np.bool_]
    n_all: int

    @property
    def missing(self) -> int:
        """Rows of the data set without a prediction."""
        return self.n_all - self.rows.size

    @property
    def both(self) -> bool:
        """Whether there are events and non-events among the rows."""
        return bool(self.outcome.any() and not self.outcome.all())


#: By data set and method, in the order of panels and keys.
PooledRun = dict[str, dict[str, Pooled]]


def pool_method(rows: Sequence[Row], dataset: str, method: str, outcome: ArrayLike) -> Pooled:
    """Put the held-out predictions of a method's folds together (setting "original").

    Folds that were not run are left out; a fold below 0 (trained and measured on the same rows)
    holds nothing out.  What could not be from one cross-validation is refused: a fold twice, a row
    held out twice, a row number beyond the data, as many risks as rows not given.

    Parameters
    ----------
    rows : sequence of mappings
        Rows of a run, of any data sets and methods.
    dataset, method : str
    outcome : (n_rows,) array of 0 and 1
        Of all rows of the data set.

    Returns
    -------
    Pooled
    """
    y = check_binary(outcome, name=f"the outcome of {dataset!r}")
    folds: list[int] = []
    numbers: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    risks: list[FloatArray] = [np.empty(0)]
    for row in rows:
        if (row["dataset"], row["method"]) != (dataset, method) or not _held_out(row):
            continue
        where = f"{dataset}, {method}, fold {row['fold']}"
        if row["fold"] in folds:
            raise InputError(f"{where} is there twice. Pass the rows of one run only.")
        folds.append(int(row["fold"]))
        numbers.append(_row_numbers(row, where, y.size))
        risks.append(check_risks(row["test_risks"], numbers[-1].size, name=f"test_risks ({where})"))
    together, risk = np.concatenate(numbers), np.concatenate(risks)
    held, counts = np.unique(together, return_counts=True)
    if counts.size and counts.max() > 1:
        raise InputError(
            f"row {int(held[counts > 1][0])} of {dataset!r} is held out more than once by "
            f"{method!r}. Every row belongs to one fold: pass the rows of one run only."
        )
    order = np.argsort(together)
    return Pooled(dataset, method, tuple(sorted(folds)), held, risk[order], y[held], y.size)


def pool_run(
    rows: Sequence[Row], outcomes: Outcomes, *, datasets: Sequence[str] | None = None
) -> tuple[PooledRun, list[str]]:
    """Pool all methods of all data sets, and say what is lacking.

    Parameters
    ----------
    rows : sequence of mappings
    outcomes : callable
        From the name of a data set to its outcomes; an ``InputError`` means that it is absent.
    datasets : sequence of str, optional
        Only these; by default all but the case study.

    Returns
    -------
    pooled : dict of str to dict of str to Pooled
    notes : list of str
        One sentence on every data set that is absent and on all that is incomplete.
    """
    used = [row for row in rows if _held_out(row)]
    known = {row["dataset"]: None for row in used if row["dataset"] != _APART}
    chosen = _dataset_order(known) if datasets is None else list(datasets)
    found: PooledRun = {}
    notes: list[str] = []
    for dataset in chosen:
        methods = method_order(row["method"] for row in used if row["dataset"] == dataset)
        if not methods:
            continue
        try:
            y = outcomes(dataset)
        except InputError as error:
            notes.append(f"{dataset}: not drawn, as its outcomes are not there: {error}")
            continue
        found[dataset] = {m: pool_method(used, dataset, m, y) for m in methods}
        notes += _lacking(dataset, found[dataset])
    return found, notes


def _held_out(row: Row) -> bool:
    """Whether a row of the run holds predictions of the comparison."""
    numbers = row.get("test_rows")
    filled = numbers is not None and len(numbers) > 0
    return row["setting"] == "original" and row["fold"] >= 0 and filled


def _dataset_order(names: Mapping[str, None]) -> list[str]:
    known = [name for name in DATASETS if name in names]
    return known + sorted(name for name in names if name not in DATASETS)


def _row_numbers(row: Row, where: str, n_rows: int) -> NDArray[np.int64]:
    numbers = np.asarray(row["test_rows"])
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise InputError(f"test_rows ({where}) must hold whole row numbers.")
    outside = numbers[(numbers < 0) | (numbers >= n_rows)]
    if outside.size:
        raise InputError(
            f"test_rows ({where}) holds the row {int(outside[0])}, but the data set has rows 0 to "
            f"{n_rows - 1}. The run was made with other data."
        )
    return numbers.astype(np.int64)


def _lacking(dataset: str, methods: Mapping[str, Pooled]) -> list[str]:
    sizes = {m: p.rows.size for m, p in methods.items() if p.missing}
    if not sizes:
        return []
    n_all = next(iter(methods.values())).n_all
    alike = len(sizes) == len(methods) > 1 and len(set(sizes.values())) == 1
    listed = "; ".join(f"{m}: {n:,}" for m, n in sizes.items())
    found = f"all methods: {min(sizes.values()):,}" if alike else listed
    return [f"{dataset}: predictions are not there for all of its {n_all:,} rows ({found})."]
