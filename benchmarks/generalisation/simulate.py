"""Simulated families: rows whose true risk is known.

Every replicate draws its own truth, so that a family is a family and not one model; the training
rows of all sizes and the test rows of a replicate share it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, ndtri

from benchmarks.generalisation.data import Case, Sample
from benchmarks.generalisation.rows import BoolArray, FloatArray
from netbenefit.metrics.thresholds import Thresholds

IntArray = NDArray[np.int64]

#: Replicates for each number of training rows.
REPLICATES = {200: 10, 1000: 10, 5000: 5, 20000: 3}
TEST_ROWS = 20_000
#: Rows on which the intercept is set to the family's prevalence.
REFERENCE_ROWS = 50_000
SEED = 20_240_601


class Truth(NamedTuple):
    """How rows come about: their columns, and the log-odds of the event up to an intercept."""

    draw: Callable[[np.random.Generator, int], IntArray]
    score: Callable[[IntArray], FloatArray]


class Population(NamedTuple):
    """A truth with its intercept."""

    truth: Truth
    intercept: float

    def rows(self, rng: np.random.Generator, n: int) -> tuple[IntArray, FloatArray]:
        """Draw columns and true risks."""
        X = self.truth.draw(rng, n)
        return X, expit(self.truth.score(X) + self.intercept)


@dataclass(frozen=True)
class Family:
    """True models of one kind: prevalence, a function that draws one, and thresholds."""

    name: str
    about: str
    prevalence: float
    build: Callable[[np.random.Generator], Truth]
    thresholds: Thresholds = field(default_factory=Thresholds.tenths)

    def generator(self, replicate: int, *purpose: int) -> np.random.Generator:
        """Random numbers for one replicate and purpose, independent of all others."""
        return np.random.default_rng([SEED, zlib.crc32(self.name.encode()), replicate, *purpose])

    def population(self, replicate: int) -> Population:
        """Draw a truth and set its intercept to the prevalence."""
        rng = self.generator(replicate, 0)
        truth = self.build(rng)
        score = truth.score(truth.draw(rng, REFERENCE_ROWS))

        def excess(intercept: float) -> float:
            return float(expit(score + intercept).mean()) - self.prevalence

        return Population(truth, float(brentq(excess, -50.0, 50.0)))


@dataclass(frozen=True)
class SimulatedCase(Case):
    """One replicate of a family with a number of training rows."""

    n: int = 1000
    test_rows: int = TEST_ROWS

    kind = "simulated"

    @property
    def group(self) -> str:
        """Family and number of training rows."""
        return f"{self.data}-{self.n}"

    def settings(self) -> dict[str, object]:
        """Also what the draws begin from."""
        return {**super().settings(), "seed": SEED, "reference": REFERENCE_ROWS}

    def load(self) -> Sample:
        """Draw a truth, then training and test rows."""
        family = FAMILIES[self.data]
        population = family.population(self.replicate)
        rng = family.generator(self.replicate, 1, self.n)
        X_train, risk = population.rows(rng, self.n)
        y_train = draw_outcomes(rng, risk)
        rng = family.generator(self.replicate, 2)
        X_test, truth = population.rows(rng, self.test_rows)
        y_test = draw_outcomes(rng, truth)
        return Sample(X_train, y_train, X_test, y_test, family.thresholds, truth)


def draw_outcomes(rng: np.random.Generator, risk: FloatArray) -> BoolArray:
    """Draw until each class has two rows: fewer cannot be cross-validated."""
    while True:
        y = rng.random(risk.size) < risk
        if 2 <= np.count_nonzero(y) <= y.size - 2:
            return y


# -- families ------------------------------------------------------------------------------------


def _effects(rng: np.random.Generator, count: int, low: float, high: float) -> FloatArray:
    """Log odds ratios of either sign, none too small to matter."""
    result: FloatArray = rng.uniform(low, high, count) * rng.choice([-1.0, 1.0], count)
    return result


def _bernoulli(shares: FloatArray, rng: np.random.Generator, n: int) -> IntArray:
    return (rng.random((n, shares.size)) < shares).astype(np.int64)


def _linear(coef: FloatArray, X: IntArray) -> FloatArray:
    result: FloatArray = X @ coef
    return result


def sparse(rng: np.random.Generator, columns: int, matter: int, largest: float = 1.5) -> Truth:
    """Independent binary columns of which some matter."""
    coef = np.zeros(columns)
    coef[rng.permutation(columns)[:matter]] = _effects(rng, matter, 0.4, largest)
    return Truth(partial(_bernoulli, rng.uniform(0.15, 0.85, columns)), partial(_linear, coef))


def steps(rng: np.random.Generator) -> Truth:
    """Eight correlated measurements cut at fifths; six of them act by steps at some of the cuts."""
    cuts = ndtri([0.2, 0.4, 0.6, 0.8])
    coef = np.zeros((8, cuts.size))
    for k in rng.permutation(8)[:6]:
        at = rng.permutation(cuts.size)[: rng.integers(1, 3)]
        # one direction a measurement: risk rises or falls with it
        coef[k, at] = rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 1.5, at.size)

    def draw(rng: np.random.Generator, n: int) -> IntArray:
        latent = _correlated(rng, n, 8, 0.3)
        answers: IntArray = (latent[:, :, None] >= cuts).reshape(n, -1).astype(np.int64)
        return answers

    return Truth(draw, partial(_linear, coef.ravel()))


def interactions(rng: np.random.Generator) -> Truth:
    """Fifteen binary columns: four main effects, and four products that no linear score holds."""
    main = np.zeros(15)
    main[rng.permutation(15)[:4]] = _effects(rng, 4, 0.4, 1.2)
    pairs = np.array([rng.choice(15, 2, replace=False) for _ in range(4)])
    joint = _effects(rng, 4, 1.0, 2.0)

    def score(X: IntArray) -> FloatArray:
        products = X[:, pairs[:, 0]] * X[:, pairs[:, 1]]
        result: FloatArray = X @ main + products @ joint
        return result

    return Truth(partial(_bernoulli, rng.uniform(0.25, 0.75, 15)), score)


def groups(rng: np.random.Generator) -> Truth:
    """Six questions of four to six answers, one column per answer; the questions are correlated."""
    cuts = [ndtri(np.cumsum(rng.dirichlet(np.full(k, 5.0)))[:-1]) for k in rng.integers(4, 7, 6)]
    coef = [rng.normal(0.0, 0.8, len(c) + 1) * (k < 4) for k, c in enumerate(cuts)]

    def draw(rng: np.random.Generator, n: int) -> IntArray:
        latent = _correlated(rng, n, len(cuts), 0.5)
        answers = [np.searchsorted(c, latent[:, k]) for k, c in enumerate(cuts)]
        columns = [
            np.eye(len(c) + 1, dtype=np.int64)[a] for c, a in zip(cuts, answers, strict=True)
        ]
        return np.concatenate(columns, axis=1)

    return Truth(draw, partial(_linear, np.concatenate(coef)))


def counts(rng: np.random.Generator) -> Truth:
    """Twelve counts of at most eight, five of which add to the log-odds by the unit."""
    means = rng.uniform(0.8, 3.0, 12)
    coef = np.zeros(12)
    coef[rng.permutation(12)[:5]] = _effects(rng, 5, 0.2, 0.6)

    def draw(rng: np.random.Generator, n: int) -> IntArray:
        return np.minimum(rng.poisson(means, (n, means.size)), 8).astype(np.int64)

    return Truth(draw, partial(_linear, coef))


def _correlated(rng: np.random.Generator, n: int, columns: int, share: float) -> FloatArray:
    """Standard normal columns that have a part in common."""
    common = np.sqrt(share) * rng.standard_normal((n, 1))
    result: FloatArray = common + np.sqrt(1.0 - share) * rng.standard_normal((n, columns))
    return result


FAMILIES = {
    family.name: family
    for family in (
        Family("sparse", "5 of 20 binary columns", 0.3, partial(sparse, columns=20, matter=5)),
        Family("steps", "measurements cut at fifths, steps at some cuts", 0.25, steps),
        Family("interactions", "4 main effects and 4 products", 0.35, interactions),
        Family(
            "rare",
            "2% events, 6 of 20 binary columns, thresholds 1% to 10%",
            0.02,
            partial(sparse, columns=20, matter=6, largest=2.0),
            Thresholds.range(0.01, 0.10, 0.01),
        ),
        Family("noise", "10 of 100 binary columns", 0.3, partial(sparse, columns=100, matter=10)),
        Family("groups", "4 of 6 correlated questions, one column per answer", 0.2, groups),
        Family("counts", "5 of 12 counts, by the unit", 0.3, counts),
    )
}
