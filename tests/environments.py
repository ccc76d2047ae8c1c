"""Run the tests with the oldest and with the newest dependencies that pyproject.toml allows.

``python -m tests.environments oldest newest --python 3.11 --python 3.13 -- tests/cards`` makes an
environment for each in ``.environments`` and runs the tests there; options of pytest come after
``--``.  The oldest are what the lower limits name; what these need in turn is new.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESOLUTION = {"oldest": "lowest-direct", "newest": "highest"}


def make(age: str, python: str) -> Path:
    """Return the folder of programs of a new environment of this age."""
    place = ROOT / ".environments" / f"{age}-{python}"
    uv = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "venv", "--clear", "--python", python, place], check=True)
    install = [*uv, "pip", "install", "--python", place, "--resolution", RESOLUTION[age]]
    subprocess.run([*install, "--editable", ".[test]"], cwd=ROOT, check=True)
    return place / "bin"


def main() -> int:
    """Test in each environment, and return 1 if a test failed anywhere."""
    parser = argparse.ArgumentParser(description="Test with the oldest and newest dependencies.")
    parser.add_argument("ages", nargs="+", choices=RESOLUTION)
    parser.add_argument("--python", action="append", help="such as 3.12; may be given repeatedly")
    given, options = sys.argv[1:], ["tests", "src"]
    if "--" in given:
        options, given = given[given.index("--") + 1 :], given[: given.index("--")]
    asked = parser.parse_args(given)
    failed = []
    for python in asked.python or ["{}.{}".format(*sys.version_info)]:
        for age in asked.ages:
            programs = make(age, python)
            env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
            tested = subprocess.run(
                [programs / "python", "-m", "pytest", *options], cwd=ROOT, env=env
            )
            print(f"{age} dependencies, Python {python}: pytest ended with {tested.returncode}")
            failed += [age] * bool(tested.returncode)
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
