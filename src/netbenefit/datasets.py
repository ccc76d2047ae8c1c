"""Data to try things on: the benchmark files, and scikit-learn's breast-cancer measurements."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._io import read_table
from netbenefit._validation import FloatArray, InputError, check_binary, shorten

__all__ = [
    "Dataset",
    "data_folder",
    "load_breast_cancer",
    "load_dataset",
]


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
