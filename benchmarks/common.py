"""What the benchmarks share: data, targets, tables."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.problem import Problem
from reproduction.datasets import data_folder, load_dataset

#: Best objectives known for the published setting, as text: the digits say how exact they are.
TARGETS = {
    "bankruptcy": "0.549556",
    "haberman": "0.438505",
    "mammo": "0.244164",
    "breastcancer": "0.306149",
    "mushroom": "0.47904",
    "heart": "0.3486",  # the target of ten seconds; the best known is 0.34876
    "adult": "0.09460",
    "spambase": "0.30882",
}

console = Console(width=140)  # wide enough for every table, also in a file


def available() -> list[str]:
    """Names of the data sets that are available; prints a note if there are none."""
    names = [name for name in TARGETS if (data_folder() / f"{name}.csv").is_file()]
    if not names:
        console.print(f"no data sets in {data_folder()}: set NETBENEFIT_DATA to their folder")
    return names


def load_problem(name: str) -> Problem:
    """The published setting: tenths, equal weights, points −10 … 10, C0 = 0.1 · a0 / P."""
    X, y, names = load_dataset(name)
    return Problem.build(PatternTable.from_arrays(X, y, names=names), Thresholds.tenths())


def reached(name: str, objective: float) -> bool:
    """Whether an objective meets its target within 1e-6, rounding of the target aside."""
    text = TARGETS[name]
    rounding = 0.5 * 10.0 ** -len(text.split(".")[1]) if name != "heart" else 0.0
    return objective >= float(text) - rounding - 1e-6


def best_time(action: Callable[[], object], repeats: int = 7) -> float:
    """Shortest of several timings, in seconds: what the machine can do when left alone."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return min(times)


def median(values: Sequence[float]) -> float:
    """Median of a few numbers."""
    return statistics.median(values)


def cores() -> int:
    """Threads to use."""
    return os.cpu_count() or 1


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE)
    for k, name in enumerate(header):
        table.add_column(name, justify="left" if k == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table)
