"""What the import contracts of pyproject.toml cannot say: what is loaded, and when."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Packages that are never imported before they are needed, with those of the extras.
OPTIONAL = [
    *(
        "matplotlib",
        "duckdb",
        "pyarrow",
        "psycopg",
        "gurobipy",
        "optbinning",
        "xlsxwriter",
        "xgboost",
    ),
    *("scikit_posthocs", "dask", "distributed", "ibis", "pyspark", "pandas", "polars"),
]


def run(code: str) -> str:
    """Run Python code in a process of its own; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(statement: str) -> set[str]:
    """Return the packages and modules that a statement loads."""
    return set(run(f"import sys\n{statement}\nprint(*sys.modules)").split())


def test_a_card_needs_numpy_alone() -> None:
    loaded = loaded_by("import netbenefit.cards.scorecard")
    foreign = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    own = {n for n in foreign if not n.startswith("_") and "site" not in n and "editable" not in n}
    assert own - {"numpy", "netbenefit", "__main__", "sitecustomize"} <= {"distutils-precedence"}


def test_optional_packages_are_imported_late() -> None:
    run(
        f"""
import pkgutil, sys
from importlib import import_module
for name in {OPTIONAL!r}:
    sys.modules[name] = None  # importing it is an error
import netbenefit
for module in pkgutil.walk_packages(netbenefit.__path__, "netbenefit."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
"""
    )


def test_no_extra_is_forgotten() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = {"matplotlib", "pyarrow", "psycopg", "gurobipy", "optbinning", "XlsxWriter"}
    known |= {"scikit-posthocs", "xgboost-cpu", "dask", "distributed", "ibis-framework", "pyspark"}
    extras = project["optional-dependencies"]
    users = [name for name in extras if name not in ("test", "dev", "bench", "reproduce")]
    needed = {
        requirement.split("[")[0].split(">")[0] for name in users for requirement in extras[name]
    }
    assert needed - known <= {"netbenefit", "duckdb"}
