"""Settings tried on draws that are in no table: ``python -m benchmarks.generalisation.tuning``.

Belief per row (κ), price of a rule (in units of prevalence / rows) and number of the teacher's
folds, on replicates 100 and above of the simulated families.  The local search alone is enough
here: nothing has to be proven.  Results are printed as they come, and at the end as a table.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import netbenefit.teachers.crossfit as crossfit
from benchmarks.generalisation.benefit import regret
from benchmarks.generalisation.data import Sample
from benchmarks.generalisation.methods import Lasso
from benchmarks.generalisation.simulate import FAMILIES, SimulatedCase
from benchmarks.generalisation.tables import Table
from netbenefit.data.patterns import PatternTable
from netbenefit.problem.levels import fit_levels, floor_scores
from netbenefit.problem.problem import Problem
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.teachers.crossfit import blend

#: The first replicate: those below 100 are for judging.
FIRST = 100


class Setting(NamedTuple):
    """One candidate."""

    belief: int | None  #: rows of belief per row; None for the teacher alone
    units: Fraction  #: price of a rule, in units of prevalence / rows

    @property
    def name(self) -> str:
        """How tables call it."""
        belief = "∞" if self.belief is None else str(self.belief)
        return f"κ = {belief}, price {float(self.units):g}"


def try_settings(
    sample: Sample, settings: Sequence[Setting], seed: int
) -> dict[str, tuple[float, int]]:
    """Regret and number of rules of a card by each setting, all taught by the same risks."""
    X, y = sample.X_train, sample.y_train
    columns = {f"x{k}": X[:, k] for k in range(X.shape[1])}
    risks = crossfit.teach("auto", columns, y, seed=seed, n_jobs=1).risks
    table = PatternTable.from_columns(columns, y)
    rows = Fraction(table.n_total)
    found = {}
    for setting in settings:
        strength = None if setting.belief is None else setting.belief * rows
        masses, _ = blend(table, risks, np.ones(y.size), strength)
        price = setting.units * Fraction(table.n_events) / rows**2
        problem = Problem.build(masses, sample.thresholds, penalty=price)
        points = LocalSearch(10.0, n_jobs=1).solve(problem).points
        firsts, values = (
            np.array(part) for part in zip(*fit_levels(problem, points).risks, strict=True)
        )
        scores = floor_scores(sample.X_test.astype(np.int64), (0,) * X.shape[1], points)
        risk = values[np.maximum(np.searchsorted(firsts, scores, side="right") - 1, 0)]
        lost = regret(_truth(sample), risk, sample.thresholds)
        found[setting.name] = lost, int(np.count_nonzero(points))
    return found


def _truth(sample: Sample) -> np.ndarray:
    assert sample.truth is not None
    return sample.truth


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected settings."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generalisation.tuning")
    parser.add_argument("--sizes", default="200,1000,5000", help="training rows")
    parser.add_argument("--replicates", type=int, default=4)
    parser.add_argument("--beliefs", default="10,inf")
    parser.add_argument("--prices", default="0.25,0.5,1", help="units of prevalence / rows")
    parser.add_argument("--folds", type=int, help="of the teacher, in place of its own choice")
    options = parser.parse_args(arguments)
    if options.folds is not None:
        crossfit.N_FOLDS = crossfit.MORE_FOLDS = options.folds
    beliefs = [None if text == "inf" else int(text) for text in options.beliefs.split(",")]
    prices = [Fraction(text) for text in options.prices.split(",")]
    settings = [Setting(belief, price) for belief in beliefs for price in prices]
    rows = []
    for n in map(int, options.sizes.split(",")):
        found: dict[str, list[tuple[float, float]]] = {}
        for replicate in range(FIRST, FIRST + options.replicates):
            for family in FAMILIES:
                with threadpool_limits(1), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    sample = SimulatedCase(family, replicate, n).load()
                    lasso = Lasso("lasso").fit_predict(
                        sample.X_train, sample.y_train, sample.X_test, sample.thresholds, replicate
                    )
                    lost = regret(_truth(sample), lasso.risk, sample.thresholds)
                    cards = try_settings(sample, settings, replicate)
                for name, value in {"lasso": (lost, lasso.size or 0), **cards}.items():
                    found.setdefault(name, []).append(value)
                print(n, family, replicate, cards, flush=True)
        base = np.array([regret for regret, _ in found["lasso"]])
        for name, values in found.items():
            own, sizes = np.array(values).T
            apart = 1000 * (own - base)
            error = apart.std(ddof=1) / np.sqrt(apart.size)
            cells = [f"{1000 * own.mean():.1f}", f"{apart.mean():+.2f} ±{error:.2f}"]
            rows.append([f"N = {n}, {name}", *cells, f"{sizes.mean():.1f}"])
    Table("Regret × 1000 on new draws", ["setting", "regret", "minus lasso", "rules"], rows).show()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
