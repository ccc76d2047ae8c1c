"""Why our figures differ from the published ones: ``python -m benchmarks.reproduction``.

Each check changes one thing that the paper leaves open, or states differently, and shows whether
the published numbers come out.  ``--only penalty`` runs one of them: agreement (of the results in
``docs/reproduction``), penalty, annealing, platt, folds, slim.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.table import Table
from scipy.stats import spearmanr
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from benchmarks.common import console
from netbenefit import RSSDNBClassifier, SLIMClassifier, expected_calibration_error
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.validation.models import xgboost_platt
from reproduction.datasets import load_dataset
from reproduction.published import load_published
from reproduction.run import FOLDS, Split, fold_rows, split_of

SMALL = ("bankruptcy", "haberman", "mammo", "breastcancer")


def published(dataset: str, method: str, measure: str) -> str:
    """A published mean, or its standard deviation where there is one."""
    cell = load_published().cells[dataset, method, "original", measure]
    return f"{cell.mean:g}" if cell.sd is None else f"{cell.mean:g} ± {cell.sd:g}"


def table(title: str, *columns: str) -> Table:
    """An empty table: names to the left, numbers to the right."""
    made = Table(title=title, box=SIMPLE, title_justify="left")
    for place, column in enumerate(columns):
        made.add_column(column, justify="left" if place < 2 else "right")
    return made


def agreement(folds: int) -> Table:
    """Show how far our results are from the published ones, and whose verdicts change."""
    made = table("Ours and published", "measure", "", "median difference", "mean", "largest")
    lines = [line for line in _results("performance") if line["published_mean"]]
    for metric in ("auroc", "ece", "aunbc"):
        apart = [
            abs(float(line["mean"]) - float(line["published_mean"]))
            for line in lines
            if (line["split"], line["metric"]) == ("test", metric)
        ]
        made.add_row(
            f"test {metric}", "", *(f"{f(apart):.3f}" for f in (np.median, np.mean, np.max))
        )
    for name, files in _TABLES.items():
        # The original setting is the same in all tables: it counts once, as performance.
        cells = [line for file in files for line in _results(file) if line["published_mean"]]
        if name != "performance":
            cells = [line for line in cells if line["setting"] != "original"]
        same = sum(line["outside"] == "false" for line in cells)
        made.add_row(f"{name}: without †", f"{same} of {len(cells)}")
    for metric in ("auroc", "aunbc", "ece", "size"):
        ranks = [
            (float(line["rank"]), float(line["published_rank"]))
            for line in _results("ranks")
            if line["scope"] == "paper" and line["metric"] == metric and line["published_rank"]
        ]
        made.add_row(
            f"ranks by {metric}", f"Spearman {spearmanr(*zip(*ranks, strict=True))[0]:.2f}"
        )
    pairs = [
        (float(line["p"]) < 0.05, float(line["published_p"].lstrip("<")) < 0.05)
        for line in _results("nemenyi")
        if line["scope"] == "paper" and line["published_p"]
    ]
    either, both = sum(a or b for a, b in pairs), sum(a and b for a, b in pairs)
    made.add_row("Nemenyi, p < 0.05", f"{both} of {either} pairs in both")
    return made


def _results(name: str) -> list[dict[str, str]]:
    text = (Path("docs", "reproduction") / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


_TABLES = {
    "performance": ("performance",),
    "ablation": ("ablation",),
    "sensitivity": ("sensitivity_rss-dnb", "sensitivity_rss-dnb-sa"),
}


def penalty(folds: int) -> Table:
    """Show which share of the stated penalty gives the published sizes."""
    made = table("RSS-DNB by share of the stated C0", "data", "share", "size", "train AUNBC")
    for name in SMALL:
        for share in (1.0, 0.5, 1 / 3, 0.25, 0.1):
            sizes, benefits = [], []
            for fold in range(folds):
                split = split_of(name, fold)
                stated = 0.1 * split.y_train.mean() / split.X_train.shape[1]
                model = RSSDNBClassifier(
                    penalty=stated * share, solver=LocalSearch(max_rounds=3), n_jobs=1
                ).fit(split.X_train, split.y_train)
                sizes.append(model.result_.size)
                benefits.append(model.result_.net_benefit)
            made.add_row(name, f"{share:.2f}", f"{np.mean(sizes):.1f}", f"{np.mean(benefits):.3f}")
        for method in ("rss-dnb", "rss-dnb-sa"):
            made.add_row(
                name,
                f"published, {method}",
                published(name, method, "size"),
                published(name, method, "train_aunbc"),
            )
    return made


def annealing(folds: int) -> Table:
    """Show how many steps the annealing needs for the published sizes."""
    made = table("RSS-DNB-SA by steps", "data", "steps", "size", "train AUNBC", "objective")
    for name in ("mushroom", "adult", "heart"):
        for times in (1, 2, 3, 10):
            solver = Annealing(steps_per_temperature=10 * times)
            found = []
            for fold in range(folds):
                split = split_of(name, fold)
                model = RSSDNBClassifier(solver=solver, n_jobs=1)
                result = model.fit(split.X_train, split.y_train).result_
                found.append([result.size, result.net_benefit, result.objective])
            size, benefit, value = np.mean(found, axis=0)
            steps = f"{solver.n_steps:,}"
            made.add_row(name, steps, f"{size:.1f}", f"{benefit:.3f}", f"{value:.4f}")
        made.add_row(
            name,
            "published",
            published(name, "rss-dnb-sa", "size"),
            published(name, "rss-dnb-sa", "train_aunbc"),
            "",
        )
    return made


def platt(folds: int) -> Table:
    """Show which way of Platt scaling gives the published calibration errors."""
    made = table("XGBoost by Platt scaling", "data", "scaled by", "train ECE", "test ECE")
    for name in ("bankruptcy", "haberman", "heart", "mammo", "mushroom"):
        for way, fit in _PLATT.items():
            found = []
            for fold in range(folds):
                split = split_of(name, fold)
                model = fit(split)
                found.append(
                    [
                        expected_calibration_error(y, model.predict_proba(X)[:, 1])
                        for X, y in (
                            (split.X_train, split.y_train),
                            (split.X_test, split.y_test),
                        )
                    ]
                )
            train, test = np.mean(found, axis=0)
            made.add_row(name, way, f"{train:.3f}", f"{test:.3f}")
        errors = [published(name, "xgboost", f"{part}_ece") for part in ("train", "test")]
        made.add_row(name, "published", *errors)
    return made


class _InSample:
    """Platt scaling on the very rows that the trees were fitted to."""

    def __init__(self, split: Split) -> None:
        self.trees = xgboost_platt(0).estimator.fit(split.X_train, split.y_train)
        self.link = LogisticRegression(C=1e6).fit(self._margin(split.X_train), split.y_train)

    def _margin(self, X: Any) -> Any:
        return self.trees.predict(X, output_margin=True)[:, None]

    def predict_proba(self, X: Any) -> Any:
        """Risks of both classes."""
        return self.link.predict_proba(self._margin(X))


def _ensemble(n_folds: int) -> Callable[[Split], Any]:
    def fit(split: Split) -> Any:
        model = CalibratedClassifierCV(xgboost_platt(0).estimator, method="sigmoid", cv=n_folds)
        return model.fit(split.X_train, split.y_train)

    return fit


_PLATT: dict[str, Callable[[Split], Any]] = {
    "out-of-fold margins (ours)": lambda split: xgboost_platt(0).fit(split.X_train, split.y_train),
    "training rows": _InSample,
    "scikit-learn, 3 models": _ensemble(3),
    "scikit-learn, 5 models": _ensemble(5),
}


def folds_drawn(folds: int) -> Table:
    """Show that the published folds were not stratified: AUNBC moves with the share of events."""
    made = table(
        "Standard deviation, between folds, of the share of events",
        "data",
        "",
        "stratified",
        "at random",
        "published AUNBC (test)",
    )
    for name in ("mushroom", "bankruptcy", "haberman", "mammo"):
        y = load_dataset(name).y
        strict = np.std([y[fold_rows(y, fold)[1]].mean() for fold in range(FOLDS)], ddof=1)
        loose = [
            np.std([y[rows].mean() for _, rows in _random(seed).split(y)], ddof=1)
            for seed in range(100)
        ]
        sd = load_published().cells[name, "logistic", "original", "test_aunbc"].sd
        made.add_row(name, "", f"{strict:.3f}", f"{np.mean(loose):.3f}", f"{sd:g}")
    return made


def _random(seed: int) -> KFold:
    return KFold(FOLDS, shuffle=True, random_state=seed)


def slim(folds: int) -> Table:
    """Show that SLIM's published calibration error leaves out rows of risk 1."""
    made = table("SLIM's test ECE", "data", "", "all rows", "without risk 1", "published")
    for name in SMALL:
        found = []
        for fold in range(folds):
            split = split_of(name, fold)
            model = SLIMClassifier(calibrate=False, n_jobs=1, time_limit=2.0)
            risk = model.fit(split.X_train, split.y_train).predict_proba(split.X_test)[:, 1]
            y = split.y_test
            missed = float((y & (risk == 0)).mean())
            found.append([expected_calibration_error(y, risk), missed])
        every, without = np.mean(found, axis=0)
        paper = published(name, "slim", "test_ece")
        made.add_row(name, "", f"{every:.3f}", f"{without:.3f}", paper)
    return made


CHECKS: dict[str, Callable[[int], Table]] = {
    "agreement": agreement,
    "penalty": penalty,
    "annealing": annealing,
    "platt": platt,
    "folds": folds_drawn,
    "slim": slim,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the checks and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted(CHECKS))
    parser.add_argument("--folds", type=int, default=FOLDS, help="how many of the ten folds")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    for name, check in CHECKS.items():
        if options.only in (None, name):
            console.print(check(options.folds))


if __name__ == "__main__":
    main()
