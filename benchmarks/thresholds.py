"""Do cards depend on the grid they are learnt for?  ``python -m benchmarks.thresholds``.

Cards for the paper's five sets of thresholds, and for grids that are chosen from the data (inside
the folds: quantiles of the risks that logistic regression predicts for rows it has not seen), all
measured at 0, 0.1, …, 0.9 on held-out rows.  Searches end after a number of rounds, not of seconds,
so the same options give the same numbers on any machine.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np

from benchmarks.common import console
from netbenefit import RiskScoreClassifier, Sensitivity, paper_grids, suggest_thresholds
from netbenefit.datasets import data_folder, load_breast_cancer, load_dataset
from netbenefit.sensitivity import threshold_sensitivity
from netbenefit.solvers.local_search import LocalSearch

DATA = ("breast-cancer (569)", "bankruptcy", "haberman", "mammo", "heart", "breastcancer")


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and outcomes of a data set; scikit-learn's own by its number of rows."""
    if name == DATA[0]:
        columns, y = load_breast_cancer()
        return np.column_stack(list(columns.values())), y
    X, y, _ = load_dataset(name)
    return X, y


def measure(name: str, folds: int, rounds: int) -> Sensitivity:
    """Seven settings of one data set."""
    X, y = load(name)
    model = RiskScoreClassifier(solver=LocalSearch(time_limit=None, max_rounds=rounds))
    settings = {
        **paper_grids(),
        "data, equal": partial(suggest_thresholds, high=0.9, weights="equal"),
        "data, length": partial(suggest_thresholds, high=1.0, weights="length"),
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "constant columns")  # rare ones, in small folds
        return threshold_sensitivity(model, X, y, settings, cv=folds)


def markdown(found: dict[str, Sensitivity]) -> str:
    """Differences to i/10 in AUNBC, ± one standard error, and the mean over data sets."""
    names = list(next(iter(found.values())).settings)
    lines = [
        "| data | AUNBC at i/10 | " + " | ".join(names[1:]) + " |",
        "|---|---:|" + "---:|" * (len(names) - 1),
    ]
    for name, one in found.items():
        cells = [
            f"{d:+.4f} ± {e:.4f} ({c:.0%})".replace("-", "−")
            for d, e, c in zip(
                one.difference, one.difference_se, one.changed.mean(axis=1), strict=True
            )
        ]
        lines.append(f"| {name} | {one.aunbc[0]:.4f} | " + " | ".join(cells[1:]) + " |")
    mean = np.mean([one.difference for one in found.values()], axis=0)
    cells = [f"{d:+.4f}".replace("-", "−") for d in mean[1:]]
    return "\n".join([*lines, "| **mean** | | " + " | ".join(cells) + " |"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table that the documentation shows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.thresholds", description=__doc__)
    parser.add_argument("data", nargs="*", default=list(DATA), help=f"some of {', '.join(DATA)}")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=1, help="rounds of each search")
    told = parser.parse_args(arguments)
    begin, found = time.perf_counter(), {}
    for name in told.data:
        if name != DATA[0] and not (data_folder() / f"{name}.csv").is_file():
            console.print(f"{name}: not in {data_folder()}, left out (set NETBENEFIT_DATA)")
            continue
        found[name] = measure(name, told.folds, told.rounds)
        console.print(f"{name}\n{found[name]}\n", soft_wrap=True)
    if found:
        console.print(markdown(found), soft_wrap=True)
    console.print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
