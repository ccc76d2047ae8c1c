"""Do cards depend on the grid they are learnt for?  ``python -m benchmarks.thresholds``.

Cards for the paper's five sets of thresholds, and for grids that are chosen from the data (inside
the folds: quantiles of the risks that logistic regression predicts for rows it has not seen), all
measured at 0, 0.1, …, 0.9 on held-out rows.  With ``--range 0.05 0.3``: a uniform grid of that
range compared with those from the data, measured at fifty thresholds in it.

Searches end after a number of rounds, not of seconds, so the same options give the same numbers on
any machine.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from benchmarks.common import console
from netbenefit import (
    RiskScoreClassifier,
    Sensitivity,
    Thresholds,
    paper_grids,
    suggest_thresholds,
)
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.validation.sensitivity import threshold_sensitivity
from reproduction.datasets import data_folder, load_dataset

DATA = ("breast-cancer (569)", "bankruptcy", "haberman", "mammo", "heart", "breastcancer")


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and outcomes of a data set; scikit-learn's own by its number of rows."""
    if name == DATA[0]:
        raw = load_breast_cancer()
        worst = [k for k, name in enumerate(raw.feature_names) if name.startswith("worst ")]
        return raw.data[:, worst], raw.target == 0
    X, y, _ = load_dataset(name)
    return X, y


def settings_of(ends: tuple[float, float] | None) -> tuple[dict[str, Any], Thresholds]:
    """What is compared, and where it is measured: the paper's grids, or those of a range.

    In a range, ten thresholds at equal steps stand for the uniform grid, and all cards are measured
    at fifty.
    """
    if ends is None:
        low, high, first, common = 0.0, 1.0, dict(paper_grids()), Thresholds.tenths()
    else:
        low, high = ends
        grids = [np.linspace(low, high, n, endpoint=False).round(6) for n in (10, 50)]
        first = {"uniform": Thresholds.of(grids[0], end=high)}
        common = Thresholds.of(grids[1], end=high)
    for weights in ("equal", "length"):
        chosen = partial(suggest_thresholds, low=low, high=high, weights=weights)
        first[f"data, {weights}"] = chosen
    return first, common


def measure(
    name: str, folds: int, rounds: int, ends: tuple[float, float] | None = None
) -> Sensitivity:
    """All settings of one data set."""
    X, y = load(name)
    model = RiskScoreClassifier(
        binner=None,
        max_questions=None,
        solver=LocalSearch(time_limit=None, max_rounds=rounds),
    )
    settings, common = settings_of(ends)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "constant columns")  # rare ones, in small folds
        return threshold_sensitivity(model, X, y, settings, evaluate_on=common, folds=folds)


def markdown(found: dict[str, Sensitivity]) -> str:
    """Differences in AUNBC to the first setting, ± one standard error, and their means."""
    names = list(next(iter(found.values())).settings)
    lines = [
        f"| data | AUNBC, {names[0]} | " + " | ".join(names[1:]) + " |",
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
    parser.add_argument("--range", nargs=2, type=float, metavar=("LOW", "HIGH"), help="of risks")
    options = parser.parse_args(arguments)
    ends = tuple(options.range) if options.range else None
    begin, found = time.perf_counter(), {}
    for name in options.data:
        if name != DATA[0] and not (data_folder() / f"{name}.csv").is_file():
            console.print(f"{name}: not in {data_folder()}, left out (set NETBENEFIT_DATA)")
            continue
        found[name] = measure(name, options.folds, options.rounds, ends)
        console.print(f"{name}\n{found[name]}\n", soft_wrap=True)
    if found:
        console.print(markdown(found), soft_wrap=True)
    console.print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
