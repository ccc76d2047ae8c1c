"""How often validation intervals cover the true performance of a model; numbers in the docs.

    python benchmarks/validation_coverage.py [ROWS] [DATA SETS]

Logistic regression on 8 columns, of which one counts.  The truth of each model is its measure on
6,000 new rows.  Nominal coverage is 95%.
"""

from __future__ import annotations

import sys
from collections import defaultdict

import numpy as np
from sklearn.linear_model import LogisticRegression

import netbenefit as nb

MEASURES = {"auroc": nb.auroc, "aunbc": nb.aunbc}
FOLDS = ((10, 1), (5, 1), (5, 4))
RESAMPLES = 60


def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and outcomes; a third of the rows are events."""
    X = rng.normal(size=(n, 8))
    return X, rng.random(n) < 1 / (1 + np.exp(1 - X[:, 0]))


def one(seed: int, n: int) -> dict[tuple[str, str], tuple[bool, float]]:
    """Whether each interval covers the truth, and how wide it is, for one data set."""
    rng = np.random.default_rng(seed)
    (X, y), (new, later) = draw(rng, n), draw(rng, 6000)
    model = LogisticRegression(C=1e4, solver="newton-cholesky")
    risk = model.fit(X, y).predict_proba(new)[:, 1]
    truth = {name: measure(later, risk) for name, measure in MEASURES.items()}
    found = {}
    for folds, repeats in FOLDS:
        cv = nb.cross_validate(model, X, y, folds=folds, repeats=repeats)
        for name, true in truth.items():
            low, high = cv.interval(name)
            half = 1.96 * cv.se[name]
            kind = f"{folds} folds × {repeats}"
            found[f"{kind}, corrected", name] = low <= true <= high, high - low
            found[f"{kind}, plain", name] = abs(cv.mean[name] - true) <= half, 2 * half
    for stratified in (False, True):
        boot = nb.bootstrap_validate(model, X, y, resamples=RESAMPLES, stratified=stratified)
        for name, true in truth.items():
            low, high = boot.interval(name)
            kind = f"bootstrap{', stratified' * stratified}"
            found[kind, name] = low <= true <= high, high - low
    return found


def main() -> None:
    """Print coverage and mean width by method and measure."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    many = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    results = defaultdict(list)
    for seed in range(many):
        for key, value in one(seed, n).items():
            results[key].append(value)
    print(f"{n} rows, {many} data sets: coverage, mean width")
    for (kind, name), values in results.items():
        covered, width = np.mean(values, axis=0)
        print(f"{kind:28} {name:6} {covered:.2f} {width:.3f}")


if __name__ == "__main__":
    main()
