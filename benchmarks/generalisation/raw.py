"""Raw tables that come with other packages: kept for judging, never used to choose a setting.

Chosen before any of them was run, for being raw (numbers as measured, codes of answers), with an
outcome that is known for every row, and at hand wherever the packages are installed:

- ``breast_cancer`` (scikit-learn, 569 rows): malignant tumours;
- ``diabetes`` (scikit-learn, 442): progression among the highest 30%;
- ``anes96`` (statsmodels, 944): a vote for Dole, by answers of a survey;
- ``fair`` (statsmodels, 6,366): any affair, by answers of a survey;
- ``rossi`` (lifelines, 432): arrested again within a year of release;
- ``biopsy`` (dcurves, 750): cancer, by age, family history and a marker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.generalisation.data import Case, Sample, outer_fold
from benchmarks.generalisation.rows import BoolArray, FloatArray
from netbenefit import Binner
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.questions import Questions

#: Training rows of the small draws, and how many draws there are of each table.
SMALL_ROWS, SMALL_DRAWS = 300, 10

Columns = dict[str, FloatArray]


def _breast_cancer() -> tuple[Columns, BoolArray]:
    from sklearn.datasets import load_breast_cancer

    raw = load_breast_cancer()
    return dict(zip(map(str, raw.feature_names), raw.data.T, strict=True)), raw.target == 0


def _diabetes() -> tuple[Columns, BoolArray]:
    from sklearn.datasets import load_diabetes

    raw = load_diabetes(scaled=False)
    high = raw.target >= np.quantile(raw.target, 0.7)
    return dict(zip(map(str, raw.feature_names), raw.data.T, strict=True)), high


def _from_statsmodels(
    name: str, target: str, drop: tuple[str, ...] = ()
) -> tuple[Columns, BoolArray]:
    from statsmodels import datasets

    frame = getattr(datasets, name).load_pandas().data
    names = [str(column) for column in frame if column not in (target, *drop)]
    return {column: frame[column].to_numpy() for column in names}, frame[target].to_numpy() > 0


def _rossi() -> tuple[Columns, BoolArray]:
    from lifelines.datasets import load_rossi

    frame = load_rossi()
    names = [str(column) for column in frame if column not in ("week", "arrest")]
    return {name: frame[name].to_numpy(np.float64) for name in names}, frame[
        "arrest"
    ].to_numpy() > 0


def _biopsy() -> tuple[Columns, BoolArray]:
    from importlib.resources import files

    import pandas as pd

    frame = pd.read_csv(str(files("dcurves") / "data" / "df_binary.csv"))
    names = ["age", "famhistory", "marker"]
    return {name: frame[name].to_numpy(np.float64) for name in names}, frame["cancer"].to_numpy(
        bool
    )


TABLES: dict[str, Callable[[], tuple[Columns, BoolArray]]] = {
    "breast_cancer": _breast_cancer,
    "diabetes": _diabetes,
    "anes96": lambda: _from_statsmodels("anes96", "vote", ("logpopul",)),
    "fair": lambda: _from_statsmodels("fair", "affairs"),
    "rossi": _rossi,
    "biopsy": _biopsy,
}


@lru_cache(maxsize=2)
def load(name: str) -> tuple[Columns, BoolArray]:
    """Return the columns of a table by name, and its outcome."""
    columns, event = TABLES[name]()
    return columns, np.asarray(event, dtype=bool)


@dataclass(frozen=True)
class RawCase(Case):
    """One fold of a raw table; its conditions are cut on the training rows alone."""

    kind = "raw"
    offers = frozenset({"codes", "questions", "table"})

    def rows(self, event: BoolArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the training and the test rows."""
        return outer_fold(event, self.replicate)

    def load(self) -> Sample:
        """Part the rows, and cut the columns into conditions for the methods that need them."""
        columns, event = load(self.data)
        train, test = self.rows(event)
        parts = [{name: values[rows] for name, values in columns.items()} for rows in (train, test)]
        grid = Thresholds.tenths()
        binner = Binner(thresholds=grid).fit(parts[0], event[train])
        binned = [binner.transform(part).astype(np.int64) for part in parts]
        return Sample(
            X_train=binned[0],
            y_train=event[train],
            X_test=binned[1],
            y_test=event[test],
            thresholds=grid,
            raw_train=parts[0],
            raw_test=parts[1],
            questions=Questions.of_terms(binner.terms_).of_column,
        )


@dataclass(frozen=True)
class SmallCase(RawCase):
    """A raw table with 300 training rows; all others are test rows."""

    kind = "raw_300"

    @property
    def group(self) -> str:
        """The table, with the number of training rows."""
        return f"{self.data}-{SMALL_ROWS}"

    def rows(self, event: BoolArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Draw the training rows, of each class its share."""
        rng = np.random.default_rng([20_261_116, self.replicate, event.size])
        share = SMALL_ROWS / event.size
        chosen = np.concatenate(
            [
                rng.permutation(np.flatnonzero(event == label))[
                    : round(share * np.count_nonzero(event == label))
                ]
                for label in (False, True)
            ]
        )
        held = np.ones(event.size, dtype=bool)
        held[chosen] = False
        return np.sort(chosen), np.flatnonzero(held)
