"""Simulated raw tables on which default fits are timed: 1,000 rows, 20 columns of all kinds."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from benchmarks.generalisation.data import Case, Sample
from benchmarks.generalisation.rows import FloatArray
from benchmarks.generalisation.simulate import draw_outcomes
from netbenefit.metrics.thresholds import Thresholds

ROWS, TEST_ROWS, DRAWS = 1_000, 20_000, 5
SEED = 20_261_119
EVENTS = 0.35  # about

#: Columns of each kind; every second one of them has missing values.
NUMBERS, COUNTS, LEVELS = 8, 6, 6
MISSING = 0.08


class SpeedTruth(NamedTuple):
    """Where the signal is."""

    matter: int  #: number of columns that do
    spread: float  #: standard deviation of the log-odds
    about: str


TRUTHS = {
    "few": SpeedTruth(4, 1.6, "4 of 20 columns matter"),
    "many": SpeedTruth(15, 1.6, "15 of 20 columns matter"),
}


@dataclass(frozen=True)
class SpeedCase(Case):
    """One draw of a truth and of its rows."""

    kind = "speed"
    offers = frozenset({"cores"})

    def load(self) -> Sample:
        """Draw the rows: columns that matter act by a line or by steps."""
        truth = TRUTHS[self.data]
        rng = np.random.default_rng([SEED, zlib.crc32(self.data.encode()), self.replicate])
        n, width = ROWS + TEST_ROWS, NUMBERS + COUNTS + LEVELS
        common = rng.standard_normal((n, 1))
        latent = np.sqrt(0.2) * common + np.sqrt(0.8) * rng.standard_normal((n, width))
        raw = _columns(rng, latent)
        score = np.zeros(n)
        for k in rng.permutation(width)[: truth.matter]:
            score += rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 1.5) * _effect(rng, latent[:, k])
        score *= truth.spread / score.std()
        risk = expit(score - np.quantile(score, 1.0 - EVENTS))
        train, test = slice(ROWS), slice(ROWS, None)
        none = np.zeros((0, 0))  # only the columns as they are
        return Sample(
            X_train=none,
            y_train=draw_outcomes(rng, risk[train]),
            X_test=none,
            y_test=draw_outcomes(rng, risk[test]),
            thresholds=Thresholds.tenths(),
            truth=risk[test],
            raw_train={name: values[train] for name, values in raw.items()},
            raw_test={name: values[test] for name, values in raw.items()},
        )


def _columns(rng: np.random.Generator, latent: FloatArray) -> dict[str, NDArray[Any]]:
    """Measurements, counts and levels that follow normal values; some are missing at random."""
    columns: dict[str, NDArray[Any]] = {}
    for k in range(latent.shape[1]):
        share, values = ndtr(latent[:, k]), latent[:, k]
        missing = (rng.random(len(latent)) < MISSING) & bool(k % 2)
        if k < NUMBERS:  # half of them skewed
            measured = np.exp(1.0 + 0.6 * values) if k % 4 > 1 else 50.0 + 10.0 * values
            columns[f"number {k}"] = np.where(missing, np.nan, np.round(measured, 1))
        elif k < NUMBERS + COUNTS:
            high = int(rng.integers(5, 90))
            columns[f"count {k}"] = np.where(missing, np.nan, np.floor(high * share**2))
        else:
            names = np.array(list("abcdef")[: int(rng.integers(2, 7))], dtype=object)
            level = names[np.minimum((share * names.size).astype(int), names.size - 1)]
            columns[f"level {k}"] = np.where(missing, None, level)
    return columns


def _effect(rng: np.random.Generator, values: FloatArray) -> FloatArray:
    """A line, or two steps."""
    if rng.random() < 0.5:
        return values
    low, high = np.sort(rng.normal(0.0, 0.8, 2))
    result: FloatArray = (values >= low) + 1.0 * (values >= high)
    return result
