"""What a fit costs besides searching: import, merging, compilation, memory; in fresh processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from benchmarks.common import available, show

_IMPORT = """
import json, time
begin = time.perf_counter()
import netbenefit
package = time.perf_counter() - begin
from netbenefit import RiskScoreClassifier
print(json.dumps([package, time.perf_counter() - begin]))
"""

_FIT = """
import json, resource, time
import numpy as np
from netbenefit import RiskScoreClassifier
from reproduction.datasets import load_dataset

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

before = peak()
X, y, names = load_dataset("adult")
begin = time.perf_counter()
model = RiskScoreClassifier(time_limit=2).fit(X, y)
wall = time.perf_counter() - begin
first = wall - model.result_.seconds
begin = time.perf_counter()
model = RiskScoreClassifier(time_limit=2).fit(X, y)
again = time.perf_counter() - begin - model.result_.seconds
print(json.dumps([first - again, peak() - before]))
"""


_MERGE = """
import json, time
import numpy as np
from netbenefit import PatternTable

rng = np.random.default_rng(0)
columns = [rng.integers(0, 2, 150_000) for _ in range(4)]
columns += [rng.normal(size=150_000).round(2) for _ in range(4)]
columns += [rng.normal(size=150_000), rng.integers(0, 10**5, 150_000)]
X, y = np.column_stack(columns), rng.integers(0, 2, 150_000)
times = []
for _ in range(3):
    begin = time.perf_counter()
    PatternTable.from_arrays(X, y)
    times.append(time.perf_counter() - begin)
print(json.dumps([min(times)]))
"""


def _run(code: str, cache: str | None = None) -> list[float]:
    environment = dict(os.environ)
    if cache:
        environment["NUMBA_CACHE_DIR"] = cache
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    numbers: list[float] = json.loads(done.stdout)
    return numbers


def main() -> None:
    """Print seconds of import, merging and compilation, and memory."""
    _run(_IMPORT)
    package, estimator = (
        min(pair) for pair in zip(*(_run(_IMPORT) for _ in range(3)), strict=True)
    )
    rows = [
        ["import netbenefit, s", f"{package:.2f}", "1.5"],
        ["… and the estimator (with scikit-learn and numba), s", f"{estimator:.2f}", ""],
        ["merging 150,000 × 10 rows into patterns, s", f"{_run(_MERGE)[0]:.2f}", "1"],
    ]
    if "adult" in available():
        with tempfile.TemporaryDirectory() as cache:
            compile_seconds, cold = _run(_FIT, cache)
            load_seconds, warm = _run(_FIT, cache)
        rows += [
            ["cold compilation of a fit, s", f"{compile_seconds:.1f}", "15"],
            ["loading the compiled code, s", f"{load_seconds:.1f}", ""],
            ["peak memory of a fit on adult, MB above import", f"{warm:.0f}", "300"],
            ["… when it also compiles", f"{cold:.0f}", ""],
        ]
    show("Footprint", ["what", "measured", "goal below"], rows)


if __name__ == "__main__":
    main()
