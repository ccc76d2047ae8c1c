"""Training and test rows: folds of the eight data sets and of the breast-cancer measurements."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

from benchmarks.generalisation.quantiles import apply_conditions, quantile_conditions
from benchmarks.generalisation.rows import BoolArray, FloatArray, IntArray
from netbenefit.metrics.thresholds import Thresholds
from reproduction.datasets import Dataset, data_folder, load_dataset

#: Folds of the outer cross-validation, and the seed of its shuffle: the same for all methods.
FOLDS = 10
FOLD_SEED = 0


#: What a method may need: columns of whole numbers, such as conditions; also the question of each;
#: the columns as measured, in an array or in a table of any values; a table and all cores.
Need = Literal["codes", "questions", "numbers", "table", "cores"]


class Sample(NamedTuple):
    """Training rows and test rows."""

    X_train: NDArray[Any]
    y_train: BoolArray
    X_test: NDArray[Any]
    y_test: BoolArray
    thresholds: Thresholds
    truth: FloatArray | None = None  # true risk of the test rows, where it is known
    raw_train: Any = None  # columns as measured, where X holds binned ones
    raw_test: Any = None
    questions: IntArray | None = None  # question of each column of X, where they are known


@dataclass(frozen=True)
class Case(ABC):
    """One pair of training and test rows: a data set or family, and a fold or draw of it."""

    data: str
    replicate: int

    kind: ClassVar[str]
    #: Raised when a change of the code changes the rows: older results are then run again.
    version: ClassVar[int] = 1
    #: What methods get: those that need something else are left out.
    offers: ClassVar[frozenset[Need]] = frozenset({"codes"})

    @property
    def group(self) -> str:
        """Replicates of the same group are averaged."""
        return self.data

    def settings(self) -> dict[str, object]:
        """All that decides the rows, for the digest."""
        return {"kind": self.kind, "version": self.version, **asdict(self)}

    @abstractmethod
    def load(self) -> Sample:
        """Read or draw the rows."""


@dataclass(frozen=True)
class RealCase(Case):
    """One fold of a benchmark file, on the published grid of thresholds."""

    kind = "real"

    def settings(self) -> dict[str, object]:
        """Also what the file holds."""
        return {**super().settings(), "file": _file_digest(self.data)}

    def load(self) -> Sample:
        """Read the file, part its rows."""
        X, y, _ = _read(self.data)
        train, test = outer_fold(y, self.replicate)
        return Sample(X[train], y[train], X[test], y[test], Thresholds.tenths())


@dataclass(frozen=True)
class BreastCancerCase(Case):
    """One fold of scikit-learn's breast-cancer data, binned at quantiles of the training rows."""

    data: str = "breast_cancer"
    replicate: int = 0

    kind = "breast_cancer"
    offers = frozenset({"codes", "numbers"})

    def load(self) -> Sample:
        """Part the rows, bin them by the training rows alone."""
        found = load_breast_cancer()
        names = [str(name) for name in found.feature_names]
        columns = {n: found.data[:, k] for k, n in enumerate(names) if n.startswith("worst ")}
        y = found.target == 0
        train, test = outer_fold(y, self.replicate)
        conditions = quantile_conditions(_rows(columns, train))
        binned = [
            np.column_stack(list(apply_conditions(conditions, _rows(columns, part)).values()))
            for part in (train, test)
        ]
        raw = np.column_stack(list(columns.values()))
        return Sample(
            X_train=binned[0].astype(np.int64),
            y_train=y[train],
            X_test=binned[1].astype(np.int64),
            y_test=y[test],
            thresholds=Thresholds.tenths(),
            raw_train=raw[train],
            raw_test=raw[test],
        )


def outer_fold(y: BoolArray, number: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the training and test rows of one of ten stratified folds."""
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=FOLD_SEED)
    train, test = list(splitter.split(y, y))[number]
    return train, test


def _rows(columns: Mapping[str, FloatArray], chosen: NDArray[np.intp]) -> dict[str, FloatArray]:
    return {name: values[chosen] for name, values in columns.items()}


@lru_cache(maxsize=1)  # folds of a data set often follow each other
def _read(name: str) -> Dataset:
    return load_dataset(name)


@lru_cache
def _file_digest(name: str) -> str:
    return hashlib.sha256((data_folder() / f"{name}.csv").read_bytes()).hexdigest()[:16]
