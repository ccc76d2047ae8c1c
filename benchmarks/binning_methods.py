"""Which way of cutting columns pays: held-out AUNBC of cards learnt from raw columns.

Run ``python -m benchmarks.binning_methods [--tables …] [--methods …]``.  Every method sees
the same folds; everything, binning included, is learnt inside them.  Rows are appended to a CSV
file as they come, so that a run can be stopped and taken up again.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.raw_tables import TABLES, load
from netbenefit import Binner, RiskScoreClassifier, Thresholds, aunbc

RESULTS = Path("benchmarks/results/binning_methods.csv")
METHODS = ("net_benefit", "tree", "quantile", "optbinning", "logistic")
FIELDS = ("table", "method", "fold", "aunbc", "auroc", "size", "conditions", "seconds")


def run_fold(name: str, method: str, train: np.ndarray, test: np.ndarray, seconds: float) -> dict:
    """Learn from some rows, and measure on the others."""
    X, y = load(name)
    grid = Thresholds.tenths()
    started = time.perf_counter()
    here = {column: values[train] for column, values in X.items()}
    there = {column: values[test] for column, values in X.items()}
    if method == "logistic":
        model = make_pipeline(StandardScaler(), LogisticRegression(C=1e6, max_iter=5000))
        model.fit(_matrix(here, here), y[train])
        risk = model.predict_proba(_matrix(there, here))[:, 1]
        size = conditions = len(X)
    else:
        card = RiskScoreClassifier(
            thresholds=grid,
            binner=Binner(method=method),
            solver="local",
            time_limit=seconds,
            n_jobs=1,
        ).fit(here, y[train])
        risk = card.predict_proba(there)[:, 1]
        size, conditions = card.scorecard_.size, len(card.coef_)
    return {
        "aunbc": aunbc(y[test], risk, grid),
        "auroc": roc_auc_score(y[test], risk),
        "size": size,
        "conditions": conditions,
        "seconds": round(time.perf_counter() - started, 2),
    }


def _matrix(columns: dict, like: dict) -> np.ndarray:
    """Numbers, with the training median for missing values."""
    parts = []
    for name, values in columns.items():
        numbers = np.asarray(values, dtype=float)
        usual = np.nanmedian(np.asarray(like[name], dtype=float))
        parts.append(np.where(np.isnan(numbers), usual, numbers))
    return np.column_stack(parts)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument(
        "--results", type=Path, default=Path("benchmarks/results/binning_methods.csv")
    )
    options = parser.parse_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    done = {(row["table"], row["method"], row["fold"]) for row in _read(options.results)}
    warnings.simplefilter("ignore")
    for name in options.tables:
        X, y = load(name)
        if X is None:
            print(f"{name}: no data folder")
            continue
        for repeat in range(options.repeats):
            folds = StratifiedKFold(5, shuffle=True, random_state=repeat)
            for k, (train, test) in enumerate(folds.split(np.zeros(len(y)), y)):
                fold = f"{repeat}.{k}"
                for method in options.methods:
                    if (name, method, fold) not in done:
                        row = run_fold(name, method, train, test, options.seconds)
                        _append(
                            options.results, {"table": name, "method": method, "fold": fold, **row}
                        )
    print_table(_read(options.results), options.methods)


def _read(path: Path) -> list[dict]:
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _append(path: Path, row: dict) -> None:
    new = not path.exists()
    with open(path, "a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerow(row)


def print_table(rows: list[dict], methods: list[str]) -> None:
    """Print AUNBC of the first method, what the others add, and rules / conditions, as Markdown."""
    first, *others = methods
    heads = [f"{first} (rules / conditions)", *(f"{m} − {first}" for m in others)]
    print("| " + " | ".join(["table", "rows", *heads]) + " |")
    print("|---" * (len(heads) + 2) + "|")
    for table in dict.fromkeys(row["table"] for row in rows):
        own = {
            method: {r["fold"]: r for r in rows if r["table"] == table and r["method"] == method}
            for method in methods
        }
        base = own[first]
        if not base:
            continue
        mean = np.mean([float(row["aunbc"]) for row in base.values()])
        cells = [table, f"{len(load(table)[1]):,}", f"{mean:.4f} {_sizes(base)}"]
        for method in others:
            folds = [fold for fold in own[method] if fold in base]
            gap = [float(own[method][f]["aunbc"]) - float(base[f]["aunbc"]) for f in folds]
            error = np.std(gap, ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            text = f"{np.mean(gap):+.4f} ± {error:.4f} {_sizes(own[method])}" if gap else ""
            cells.append(text.replace("-", "−"))
        print("| " + " | ".join(cells) + " |")


def _sizes(folds: dict[str, dict]) -> str:
    size, number = (
        np.mean([float(row[key]) for row in folds.values()]) for key in ("size", "conditions")
    )
    return f"({size:.0f} / {number:.0f})"


if __name__ == "__main__":
    main()
