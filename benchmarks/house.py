"""The size of the package, and how far a row travels in it: ``python -m benchmarks.house``.

A module counts as entered when one of its functions runs during the call: a profiler sees it, or it
is compiled and was called from Python, or such a function can call it.  All modules are imported,
and everything is compiled, before: neither counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import show

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "netbenefit"
#: Fresh processes whose shortest time counts.
_REPEATS = 5

_BEFORE = """
import contextlib, io, json, pkgutil, sys, threading, warnings
from importlib import import_module
import numpy as np
import netbenefit

for module in pkgutil.walk_packages(netbenefit.__path__, "netbenefit."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.integers(0, 2, (600, 6))
y = (rng.random(600) < 0.1 + 0.3 * X[:, 0] + 0.4 * X[:, 2]).astype(int)
root, entered = netbenefit.__path__[0], set()

def compiled():
    from numba.core.dispatcher import Dispatcher
    modules = [module for name, module in sys.modules.items() if name.startswith("netbenefit.")]
    found = {value for module in modules for value in vars(module).values()
             if isinstance(value, Dispatcher) and value.overloads}
    new = list(found)
    while new:  # what these can call
        function = new.pop().py_func
        inside = {function.__globals__.get(name) for name in function.__code__.co_names
                  if isinstance(function.__globals__.get(name), Dispatcher)} - found
        found |= inside
        new += inside
    return {value.py_func.__code__.co_filename for value in found}

def look(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.startswith(root):
        entered.add(frame.f_code.co_filename)

def measure(call):
    before = compiled()
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    entered.update(compiled() - before)
"""

_FIT = """
from netbenefit import RiskScoreClassifier
measure(lambda: RiskScoreClassifier().fit(X, y))
"""

_COMMAND = """
from netbenefit.cli.main import app
with open("data.csv", "w") as file:
    file.write(",".join([*(f"x{k}" for k in range(6)), "y"]) + "\\n")
    file.writelines(",".join(map(str, [*row, end])) + "\\n" for row, end in zip(X, y))
def call():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        app(["fit", "data.csv", "--target", "y"], standalone_mode=False)
measure(call)
"""

_AFTER = """
print(json.dumps(sorted(name[len(root) + 1:] for name in entered)))
"""

_IMPORT = """
import json, time
begin = time.perf_counter()
import netbenefit
print(json.dumps(time.perf_counter() - begin))
"""

_HELP = """
import json, subprocess, sys, time
begin = time.perf_counter()
subprocess.run([sys.executable, "-m", "netbenefit", "--help"], check=True, capture_output=True)
print(json.dumps(time.perf_counter() - begin))
"""


class Size(NamedTuple):
    """The package's sources, counted."""

    lines: int
    files: int
    fullest: str  #: the folder with the most modules
    modules: int  #: how many it has, ``__init__`` aside


def measure_size(package: Path = PACKAGE) -> Size:
    """Count lines, files, and the modules of the fullest folder."""
    files = sorted(package.rglob("*.py"))
    folders: dict[Path, int] = {}
    for file in files:
        if file.name != "__init__.py":
            folders[file.parent] = folders.get(file.parent, 0) + 1
    fullest = max(folders, key=lambda folder: folders[folder])
    return Size(
        lines=sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files),
        files=len(files),
        fullest=fullest.relative_to(package.parent).as_posix(),
        modules=folders[fullest],
    )


def entered(code: str) -> list[str]:
    """Return the modules that a call enters, by their path in the package."""
    _run(_BEFORE + code + _AFTER)  # compiles
    found = _run(_BEFORE + code + _AFTER)
    assert isinstance(found, list)
    return found


def _run(code: str) -> object:
    """Run Python in a fresh process and an empty folder; return what it printed last, as JSON."""
    paths = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
    result: object = json.loads(done.stdout.splitlines()[-1])
    return result


def _seconds(code: str) -> str:
    _run(code)  # bytecode is written, and files are in memory
    return f"{min(float(str(_run(code))) for _ in range(_REPEATS)):.2f} s"


def main() -> None:
    """Print targets and measures; with ``--list``, also the modules that are entered."""
    size = measure_size()
    fit, command = entered(_FIT), entered(_COMMAND)
    counts = [
        ("lines of Python in src/netbenefit, docstrings included", 49_999, size.lines),
        ("modules of src/netbenefit", 199, size.files),
        (f"modules in the fullest folder ({size.fullest})", 16, size.modules),
        ("modules that RiskScoreClassifier().fit(X, y) enters", 30, len(fit)),
        ("modules that netbenefit fit data.csv --target y enters", 55, len(command)),
    ]
    rows = [
        [what, f"at most {target:,}", f"{measured:,}", "yes" if measured <= target else "no"]
        for what, target, measured in counts
    ]
    stubs = sum(
        len(file.read_text(encoding="utf-8").splitlines()) for file in PACKAGE.rglob("*.pyi")
    )
    rows.append(["lines of stubs, which list the names that a room lends", "–", f"{stubs:,}", "–"])
    rows.append(["import netbenefit", "–", _seconds(_IMPORT), "–"])
    rows.append(["netbenefit --help", "–", _seconds(_HELP), "–"])
    show("The house", ["what", "target", "measured", "met"], rows)
    if "--list" in sys.argv[1:]:
        for title, names in (("fit(X, y)", fit), ("netbenefit fit", command)):
            print(f"{title}:", *names, sep="\n  ")


if __name__ == "__main__":
    main()
