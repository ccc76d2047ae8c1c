"""All values of one coordinate with the smooth part of the objective, against settling at each."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from benchmarks.common import available, best_time, load_problem, median, show
from netbenefit.solvers._walker import make_walker

LOOPS = 20


def measure(name: str) -> list[str]:
    """Microseconds of 21 values: gains alone, with S estimated, and with S fitted anew at each."""
    plain = load_problem(name)
    problem = replace(plain, prior_strength=Fraction(3000))
    rng = np.random.default_rng(0)
    points = np.zeros(problem.lower.size, dtype=np.int64)
    chosen = rng.permutation(points.size)[:11]
    points[chosen] = rng.integers(-10, 11, chosen.size)
    without, walker = make_walker(plain, 0), make_walker(problem, 0)
    times: list[list[float]] = [[], [], []]
    for number, k in enumerate(walker.free.tolist()):
        for one, seen in ((without, times[0]), (walker, times[1])):
            one.start(points, True)
            seen.append(best_time(lambda one=one, k=k: [one.loss(k) for _ in range(LOOPS)]) / LOOPS)  # type: ignore[misc]
        if number < 3:  # slow, and always alike
            moved = [points.copy() for _ in range(21)]
            for v, vector in enumerate(moved):
                vector[k] = int(problem.lower[k]) + v
            times[2].append(best_time(lambda moved=moved: [walker.start(v, True) for v in moved]))  # type: ignore[misc]
    gains, listed, anew = (median(seen) * 1e6 for seen in times)
    return [
        name,
        str(problem.columns.mass.size),
        f"{gains:.0f}",
        f"{listed:.0f}",
        f"{anew:.0f}",
        f"{listed / gains:.1f}",
        f"{anew / listed:.1f}",
    ]


def main() -> None:
    """Print one row a data set."""
    header = ["data", "patterns", "gains µs", "with S µs", "settling µs", "× gains", "saved ×"]
    rows = [measure(name) for name in available()]
    show("All 21 values of one coordinate, with a prior (medians over columns)", header, rows)


if __name__ == "__main__":
    main()
