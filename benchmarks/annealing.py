"""How long the default search takes to get where the published annealing ends, on one kernel."""

from __future__ import annotations

from benchmarks.common import available, cores, load_problem, median, show
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.local_search import LocalSearch

SEEDS = 3


def measure(name: str) -> list[str]:
    """Median over a few seeds."""
    problem = load_problem(name)
    ends, annealing_seconds, search_seconds = [], [], []
    for seed in range(SEEDS):
        annealed = Annealing(seed=seed).solve(problem)
        found = LocalSearch(time_limit=10.0, n_jobs=cores(), seed=seed).solve(problem)
        hits = [row.seconds for row in found.trace if row.objective >= annealed.objective - 1e-12]
        ends.append(annealed.objective)
        annealing_seconds.append(annealed.seconds)
        search_seconds.append(hits[0] if hits else float("inf"))
    a, b = median(annealing_seconds), median(search_seconds)
    return [name, f"{median(ends):.6f}", f"{a:.4f}", f"{b:.4f}", f"{a / b:.1f}"]


def main() -> None:
    """Print one row per data set."""
    rows = [measure(name) for name in available()]
    header = ["data", "annealing ends at", "annealing s", "search gets there in s", "ratio"]
    show(f"Published annealing against the default search (median of {SEEDS})", header, rows)


if __name__ == "__main__":
    main()
