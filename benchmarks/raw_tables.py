"""Tables of raw columns to try binning on: real ones where they are at hand, and simulated ones.

``credit-0`` is a sample of 6,000 rows drawn with seed 0, ``spambase-0`` one of 2,000; ``credit``
and ``spambase`` are all rows.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from netbenefit.data.duckdb import read_table
from reproduction.datasets import data_folder

Columns = dict[str, np.ndarray]

TABLES = (
    "breast",
    "diabetes",
    "wine",
    "haberman",
    "spambase-0",
    "credit-0",
    "credit-1",
    "steps-500",
    "steps-2000",
    "smooth-500",
    "smooth-2000",
    "bowl-1000",
)


@cache
def load(name: str) -> tuple[Columns | None, np.ndarray]:
    """Return raw columns and outcomes; no columns where the data folder lacks the file."""
    kind, _, number = name.partition("-")
    if kind in ("breast", "diabetes", "wine"):
        return _from_sklearn(kind)
    if kind in ("haberman", "spambase", "credit"):
        return _from_folder(kind, int(number) if number else None)
    return simulate(kind, int(number))


def _from_sklearn(kind: str) -> tuple[Columns, np.ndarray]:
    from sklearn import datasets

    if kind == "breast":
        raw = datasets.load_breast_cancer()
        event = raw.target == 0
    elif kind == "diabetes":
        raw = datasets.load_diabetes(scaled=False)
        event = raw.target >= np.quantile(raw.target, 0.7)
    else:
        raw = datasets.load_wine()
        event = raw.target == 1
    names = [str(name) for name in raw.feature_names]
    return {name: raw.data[:, k] for k, name in enumerate(names)}, event


def _from_folder(kind: str, seed: int | None) -> tuple[Columns | None, np.ndarray]:
    file = {"credit": "givemesomecredit.csv.gz"}.get(kind, f"{kind}.csv")
    path = data_folder() / file
    if not path.exists():
        return None, np.empty(0)
    columns = read_table(path)
    target = "SeriousDlqin2yrs" if kind == "credit" else next(iter(columns))
    event = columns.pop(target) == 1
    if seed is None:
        return columns, event
    rows = np.random.default_rng(seed).permutation(event.size)[: {"credit": 6000}.get(kind, 2000)]
    return {name: values[rows] for name, values in columns.items()}, event[rows]


def simulate(kind: str, n_rows: int, seed: int = 0) -> tuple[Columns, np.ndarray]:
    """Twelve columns, half of them noise; the logit is a sum of steps, of lines, or of bowls."""
    rng = np.random.default_rng([seed, n_rows, len(kind)])
    mix = rng.normal(size=(n_rows, 3)) @ rng.normal(size=(3, 12)) * 0.5
    X = mix + rng.normal(size=(n_rows, 12))
    X /= X.std(axis=0)
    effect = {
        "steps": lambda x, k: 1.5 * (x > (-0.5, 0.2, 0.8)[k % 3]),
        "smooth": lambda x, k: 0.7 * x,
        "bowl": lambda x, k: 0.6 * (x * x - 1) if k % 2 else 0.6 * x,
    }[kind]
    logit = sum(effect(X[:, k], k) for k in range(6))
    event = rng.random(n_rows) < 1 / (1 + np.exp(-(logit - np.quantile(logit, 0.7))))
    return {f"x{k}": np.round(X[:, k] * 10 + 50, 1) for k in range(12)}, event
