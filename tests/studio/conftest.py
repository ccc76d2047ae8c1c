"""A small table with columns of all kinds, and a model of it whose best card is proven."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from netbenefit.binning import Binner
from netbenefit.estimators import RiskScoreClassifier
from netbenefit.studio import Session

CUTS = {"age": [40, 60], "bmi": [25, 30]}


class Table(NamedTuple):
    X: dict[str, NDArray[Any]]
    y: NDArray[Any]

    def take(self, rows: Any) -> Table:
        return Table({name: values[rows] for name, values in self.X.items()}, self.y[rows])


def make_table(n: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    age, bmi = rng.integers(20, 90, n), rng.normal(27, 5, n).round(1)
    X: dict[str, NDArray[Any]] = {
        "age": age,
        "bmi": np.where(rng.random(n) < 0.15, np.nan, bmi),
        "sex": np.array(["female", "male"], dtype=object)[rng.integers(0, 2, n)],
        "falls": rng.integers(0, 2, n),
        "ward": np.array(["A", "B", "C"], dtype=object)[rng.integers(0, 3, n)],
    }
    odds = -4 + 0.04 * age + 0.06 * (bmi - 27) + X["falls"] + 0.5 * (X["sex"] == "male")
    return Table(X, np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "died", "lived"))


def make_model(**settings: Any) -> RiskScoreClassifier:
    settings = {
        "thresholds": [0.1, 0.2, 0.3, 0.4],
        "binner": Binner(cuts=CUTS, drop=["ward"]),
        "teacher": "logistic",
        "max_points": 2,
        "pos_label": "died",
        "solver": "exact",
        "time_limit": 60.0,
        "n_jobs": 1,
    } | settings
    return RiskScoreClassifier(**settings)


@pytest.fixture(scope="session")
def table() -> Table:
    return make_table(500, 0)


@pytest.fixture(scope="session")
def held_out() -> Table:
    return make_table(300, 1)


@pytest.fixture(scope="session")
def model(table: Table) -> RiskScoreClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_model().fit(table.X, table.y)


@pytest.fixture
def session(model: RiskScoreClassifier, table: Table, held_out: Table) -> Session:
    return Session(model, table.X, table.y, held_out=(held_out.X, held_out.y))
