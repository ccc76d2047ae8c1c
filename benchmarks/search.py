"""The default search on the eight data sets: ``python -m benchmarks.search [seconds] [name …]``."""

from __future__ import annotations

import sys

from benchmarks.common import TARGETS, available, cores, load_problem, reached, show
from netbenefit.solvers.local_search import LocalSearch


def measure(name: str, time_limit: float) -> list[str]:
    """One search with default settings."""
    problem = load_problem(name)
    result = LocalSearch(time_limit=time_limit, n_jobs=cores()).solve(problem)
    hits = [row.seconds for row in result.trace if reached(name, row.objective)]
    return [
        name,
        f"{len(problem.patterns)} × {problem.lower.size}",
        f"{result.objective:.6f}",
        TARGETS[name],
        "yes" if reached(name, result.objective) else "no",
        f"{hits[0]:.2f}" if hits else "",
        f"{result.seconds:.2f}",
        str(result.size),
        f"{result.evaluations / 1e6:.1f}",
        result.status,
    ]


def main(time_limit: float = 10.0, names: list[str] | None = None) -> None:
    """Print objective, target and seconds of each data set."""
    rows = [measure(name, time_limit) for name in names or available()]
    header = [
        "data", "patterns", "objective", "target", "reached", "after s", "total s", "size",
        "M cards", "status",
    ]  # fmt: skip
    show(f"Default search, {time_limit:g} s, {cores()} threads", header, rows)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(float(arguments[0]) if arguments else 10.0, arguments[1:] or None)
