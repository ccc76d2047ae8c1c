"""The first minute on a new machine: a default fit and the demonstration, compiled and loaded.

Each command runs in a process of its own: first with an empty folder of compiled kernels, then
again.  Compiling is in seconds by the processor's clock; the kernels are those of the first run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.common import show

FIT = """
from sklearn.datasets import load_breast_cancer
from netbenefit import RiskScoreClassifier
data = load_breast_cancer(as_frame=True)
RiskScoreClassifier().fit(data.data, data.target == 0)
"""
DEMO = """
import sys
from netbenefit.cli.main import main
sys.argv = ["netbenefit", "demo", "--out", "demo"]
main()
"""
#: Reports every kernel that is compiled for Python to call, on the way out.
LISTEN = """
import atexit, sys, time
from numba.core import event

class Listener(event.Listener):
    begun, seconds, count = [], 0.0, 0

    def on_start(self, event):
        self.begun.append(time.process_time())

    def on_end(self, event):
        began = self.begun.pop()
        if not self.begun:
            self.seconds += time.process_time() - began
            self.count += 1

listener = Listener()
event.register("numba:compile", listener)
atexit.register(lambda: print(listener.seconds, listener.count, file=sys.stderr))
"""


def run(program: str, cache: str, folder: str) -> tuple[float, float, int]:
    """Wall seconds of a program, seconds of compilation, kernels compiled."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", LISTEN + program],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - begin
    compiled, count = done.stderr.strip().splitlines()[-1].split()
    return seconds, float(compiled), int(count)


def main() -> None:
    """Print the table."""
    rows = []
    for name, program in (("default fit", FIT), ("netbenefit demo", DEMO)):
        with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as folder:
            first, compiled, kernels = run(program, cache, folder)
            second, again, _ = run(program, cache, folder)
        figures = [f"{seconds:.1f}" for seconds in (first, compiled, second, again)]
        rows.append([name, *figures, str(kernels)])
    show(
        "Seconds on a new machine; to reach: fit 15, demo 20, second runs 4",
        ["command", "first run", "compiling", "second run", "compiling", "kernels"],
        rows,
    )


if __name__ == "__main__":
    main()
