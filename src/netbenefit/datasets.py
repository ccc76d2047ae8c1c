"""Data to try things on: the benchmark files, and scikit-learn's breast-cancer measurements."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._io import read_table
from netbenefit._validation import FloatArray, InputError, check_binary, shorten
from netbenefit.conditions import Condition

__all__ = [
    "Dataset",
    "apply_conditions",
    "data_folder",
    "load_breast_cancer",
    "load_dataset",
    "quantile_conditions",
]

#: How far, as a share of the rows, a cut point may move to become a rounder number.
_SLACK = 0.02


class Dataset(NamedTuple):
    """A table of numbers with its outcome."""

    X: NDArray[Any]
    y: NDArray[np.bool_]
    names: tuple[str, ...]


def data_folder() -> Path:
    """Return the folder of the benchmark files: ``NETBENEFIT_DATA``, else ``../shared/data``."""
    return Path(os.environ.get("NETBENEFIT_DATA") or Path("..", "shared", "data"))


def load_dataset(name: str) -> Dataset:
    """Read a benchmark file, whose first column is the outcome.

    Parameters
    ----------
    name : str
        Name of a CSV file in :func:`data_folder`, without its ending: ``"adult"``, ``"mammo"``, …

    Returns
    -------
    Dataset
        ``X, y, names``; X holds integers where all columns do.
    """
    folder = data_folder()
    if not folder.is_dir():
        raise InputError(
            f"there is no data folder {folder}. Set the environment variable NETBENEFIT_DATA to "
            "the folder that holds the benchmark files."
        )
    path = folder / f"{name}.csv"
    if not path.is_file():
        known = sorted(file.stem for file in folder.glob("*.csv"))
        raise InputError(
            f"there is no data set {name!r} in {folder}; there are {shorten(known, 20) or 'none'}."
        )
    target, *names = columns = read_table(path)
    y = check_binary(columns[target], name=f"column {target!r}")
    return Dataset(np.column_stack([columns[n] for n in names]), y, tuple(names))


def load_breast_cancer(kind: str = "worst") -> tuple[dict[str, FloatArray], NDArray[np.bool_]]:
    """Return measurements of 569 breast tumours that scikit-learn ships, and which are malignant.

    Parameters
    ----------
    kind : {"worst", "mean"}, default="worst"
        Ten measurements of the cell nuclei, each as the mean over all nuclei of a tumour or as the
        mean of the three largest.

    Returns
    -------
    columns : dict of str to array
    malignant : array of bool
        The event.

    Examples
    --------
    >>> columns, malignant = load_breast_cancer()
    >>> len(columns), malignant.sum()
    (10, np.int64(212))
    """
    from sklearn import datasets  # late: slow to import

    raw = datasets.load_breast_cancer()
    columns = {
        str(name): raw.data[:, k]
        for k, name in enumerate(raw.feature_names)
        if str(name).startswith(f"{kind} ")
    }
    if not columns:
        raise InputError(f'kind={kind!r} is not known. Use "worst" or "mean".')
    return columns, raw.target == 0


def quantile_conditions(
    columns: Mapping[str, FloatArray], quantiles: Sequence[float] = (0.25, 0.5, 0.75)
) -> tuple[Condition, ...]:
    """Cut each column near some of its quantiles, at numbers that a person would write.

    Of the numbers with the fewest digits the one nearest to the quantile is taken, as long as no
    more than 2% of the rows lie between it and the quantile.  This is the simplest binning that
    reads well; it looks at no outcome.

    Parameters
    ----------
    columns : mapping of str to array
        Raw columns, of the training rows only.
    quantiles : sequence of float, default=(0.25, 0.5, 0.75)

    Returns
    -------
    tuple of Condition
        ``column >= cut``, cumulative, one for each cut that parts the rows differently.

    Examples
    --------
    >>> [c.text() for c in quantile_conditions({"age": np.arange(18.0, 91.0)})]
    ['age ≥ 36', 'age ≥ 54', 'age ≥ 72']
    """
    conditions = []
    for name, values in columns.items():
        above = {values.size, 0}  # a question that all rows answer alike is none
        for cut in (_round_cut(values, q) for q in quantiles):
            count = int(np.count_nonzero(values >= cut))
            if count not in above:
                above.add(count)
                conditions.append(Condition(name, ">=", cut))
    return tuple(conditions)


def apply_conditions(
    conditions: Sequence[Condition], columns: Mapping[str, Any]
) -> dict[str, NDArray[np.bool_]]:
    """Ask raw columns the questions; the answers are named by the conditions' words.

    Examples
    --------
    >>> apply_conditions([Condition("age", ">=", 52)], {"age": [51, 52]})
    {'age ≥ 52': array([False,  True])}
    """
    return {
        condition.text(): condition.holds(columns[condition.feature]) for condition in conditions
    }


def _round_cut(values: FloatArray, quantile: float) -> float:
    edges = [quantile - _SLACK, quantile, quantile + _SLACK]
    low, middle, high = (float(v) for v in np.quantile(values, np.clip(edges, 0.0, 1.0)))
    for digits in range(1, 17):
        cut = float(f"{middle:.{digits}g}")
        if low <= cut <= high:
            return cut
    return middle
