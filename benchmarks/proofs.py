"""Proofs on the eight data sets: ``python -m benchmarks.proofs [seconds] [name …] [--c0 paper|0]``.

Each line is one run of the default ``SearchThenProve``: best value, bound, gap, seconds of
search and proof, boxes or nodes, and what gave the bound.  Beside it stand the published figures of
the commercial solver: ten minutes per model, on nine tenths of the rows, averaged over ten folds.
"""

from __future__ import annotations

import argparse

from benchmarks.common import available, console, cores, load_problem, show
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.problem import Problem
from netbenefit.solvers.search_then_prove import SearchThenProve

#: Published: seconds and gap in percent of the commercial solver, with C0.
PUBLISHED = {
    "bankruptcy": ("0.2", "0.0"),
    "haberman": ("600.1", "22.7"),
    "mammo": ("600.1", "1.1"),
    "breastcancer": ("600.1", "8.3"),
    "mushroom": ("83.2", "0.0"),
    "heart": ("600.1", "30.7"),
    "adult": ("600.1", "85.0"),
    "spambase": ("4.0", "0.0"),
}
#: What is to be reached: seconds of a proof, or a gap in percent after five minutes.
REACH = {
    ("bankruptcy", "paper"): "1 s",
    ("haberman", "paper"): "1 s",
    ("mammo", "paper"): "20 s",
    ("breastcancer", "paper"): "45 s",
    ("mushroom", "paper"): "300 s",
    ("heart", "paper"): "18%",
    ("adult", "paper"): "10.5%",
    ("spambase", "paper"): "24%",
    ("bankruptcy", "0"): "1 s",
    ("haberman", "0"): "1 s",
    ("mammo", "0"): "90 s",
    ("breastcancer", "0"): "240 s",
}


def reached(name: str, c0: str, optimal: bool, seconds: float, gap: float) -> str:
    """Whether a run meets what was to be reached; empty where nothing was."""
    goal = REACH.get((name, c0))
    if goal is None:
        return ""
    if goal.endswith("%"):
        return "yes" if 100 * gap <= float(goal[:-1]) else "no"
    return "yes" if optimal and seconds <= float(goal[:-2]) else "no"


def measure(name: str, c0: str, time_limit: float) -> list[str]:
    """One search and proof."""
    problem = load_problem(name)
    if c0 != "paper":
        problem = Problem.build(problem.patterns, problem.thresholds, penalty=float(c0))
    result = SearchThenProve(time_limit=time_limit, n_jobs=cores()).solve(problem)
    assert result.proof is not None
    assert result.bound is not None
    assert result.gap is not None
    details = result.proof.details
    work = details.get("boxes", details.get("nodes", ""))
    return [
        name,
        c0,
        f"{result.objective:.6f}",
        f"{result.bound:.6f}",
        f"{result.gap:.2%}",
        f"{result.seconds:.1f}",
        f"{work:,}" if work else "",
        result.proof.method,
        REACH.get((name, c0), ""),
        reached(name, c0, result.status == "optimal", result.seconds, result.gap),
        *(PUBLISHED[name] if c0 == "paper" else ("", "")),
    ]


def warm_up() -> None:
    """Compile before the clock starts."""
    table = PatternTable.from_arrays([[0, 1], [1, 0], [1, 1], [0, 0]], [0, 1, 1, 0])
    SearchThenProve().solve(Problem.build(table, Thresholds.tenths()))


def main(time_limit: float = 300.0, names: list[str] | None = None, c0: str | None = None) -> None:
    """Print one line per data set and penalty."""
    warm_up()
    chosen = names or available()
    rows = []
    for penalty in ("paper", "0") if c0 is None else (c0,):
        for name in chosen:
            rows.append(measure(name, penalty, time_limit))
            console.print(" ".join(rows[-1]))
    header = [
        "data", "C0", "best", "bound", "gap", "s", "boxes", "by", "reach", "met", "publ. s",
        "publ. gap %",
    ]  # fmt: skip
    show(f"Proofs, at most {time_limit:g} s, {cores()} threads", header, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", nargs="?", type=float, default=300.0)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--c0", choices=["paper", "0"])
    arguments = parser.parse_args()
    main(arguments.seconds, arguments.names or None, arguments.c0)
