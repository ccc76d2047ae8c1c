"""What binning costs: seconds and memory from a raw frame to patterns, in fresh processes."""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.common import show

_CODE = """
import json, sys, time, tracemalloc, warnings
import numpy as np
import pandas as pd
from netbenefit import Binner, PatternTable

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)

def credit_like(n):
    frame = pd.DataFrame({
        "utilisation": rng.gamma(0.5, 0.6, n),
        "age": rng.integers(21, 100, n),
        "late_30": rng.poisson(0.3, n),
        "debt_ratio": rng.lognormal(-1, 2, n),
        "income": rng.lognormal(8.6, 0.8, n).round(),
        "lines": rng.poisson(8, n),
        "late_90": rng.poisson(0.1, n),
        "estate": rng.poisson(1, n),
        "late_60": rng.poisson(0.1, n),
        "dependents": rng.poisson(0.8, n).astype(float),
    })
    frame.loc[rng.random(n) < 0.2, "income"] = np.nan
    frame.loc[rng.random(n) < 0.03, "dependents"] = np.nan
    logit = frame["late_90"] + frame["utilisation"] - 0.02 * frame["age"] - 2.5
    return frame, rng.random(n) < 1 / (1 + np.exp(-logit))

def adult_like(n):
    levels = {"work": 9, "education": 16, "marital": 7, "job": 15, "relation": 6, "race": 5,
              "sex": 2, "country": 42}
    frame = pd.DataFrame({
        "age": rng.integers(17, 91, n),
        "weight": rng.integers(12_285, 1_484_705, n),
        "years": rng.integers(1, 17, n),
        "gain": np.where(rng.random(n) < 0.92, 0, rng.integers(100, 99_999, n)),
        "loss": np.where(rng.random(n) < 0.95, 0, rng.integers(100, 4_356, n)),
        "hours": rng.integers(1, 100, n),
        **{name: rng.choice([f"{name} {k}" for k in range(count)], n,
                            p=rng.dirichlet(np.ones(count))) for name, count in levels.items()},
    })
    frame.loc[rng.random(n) < 0.05, "work"] = None
    logit = 0.03 * frame["age"] + 0.3 * frame["years"] - 5.5
    return frame, rng.random(n) < 1 / (1 + np.exp(-logit))

kind, n, method = sys.argv[1], int(sys.argv[2]), sys.argv[3]
make = {"credit": credit_like, "adult": adult_like}[kind]
frame, y = make(n)
raw = int(frame.memory_usage(deep=True).sum())

def run():
    codes = Binner(method=method).fit_codes(frame, y)
    return codes, PatternTable.from_codes(codes.matrix, y, names=codes.names)

run()  # imports
times = []
for _ in range(3):
    begin = time.perf_counter()
    codes, table = run()
    times.append(time.perf_counter() - begin)
del codes, table
tracemalloc.start()
codes, table = run()
peak = tracemalloc.get_traced_memory()[1]
print(json.dumps([min(times), peak / raw, raw / 2**20, codes.matrix.shape[1], len(table)]))
"""


def main() -> None:
    """Print the table."""
    rows = []
    for kind, n, limit in (("credit", 150_000, 3), ("adult", 32_561, 2)):
        for method in ("net_benefit", "tree", "quantile"):
            done = subprocess.run(
                [sys.executable, "-c", _CODE, kind, str(n), method],
                capture_output=True,
                text=True,
                check=True,
            )
            seconds, memory, raw, conditions, patterns = json.loads(done.stdout)
            rows.append(
                [
                    f"{kind}-like",
                    f"{n:,}",
                    method,
                    f"{seconds:.2f}",
                    f"{limit}",
                    f"{memory:.1f}",
                    f"{raw:.0f}",
                    f"{conditions}",
                    f"{patterns:,}",
                ]
            )
    show(
        "From raw rows to patterns (best of 3; memory: peak beyond the raw frame, as its multiple)",
        ["table", "rows", "method", "s", "goal", "memory", "raw MB", "conditions", "patterns"],
        rows,
    )


if __name__ == "__main__":
    main()
