"""What the import contracts of pyproject.toml cannot say: what is loaded, and when."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "netbenefit"
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
    *("starlette", "uvicorn", "anyio"),
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
    known |= {"starlette", "uvicorn"}
    extras = project["optional-dependencies"]
    users = [name for name in extras if name not in ("test", "dev", "bench", "reproduce")]
    needed = {
        requirement.split("[")[0].split(">")[0] for name in users for requirement in extras[name]
    }
    assert needed - known <= {"netbenefit", "duckdb"}


def imports_of(path: Path) -> list[str]:
    """Return the modules of the package that a file imports from, early or late."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    plain = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    return [
        name for name in [*(node.module or "" for node in nodes), *plain] if name[:10] == PACKAGE
    ]


def test_rooms_borrow_only_what_another_room_lends() -> None:
    source = ROOT / "src" / PACKAGE
    for path in sorted(source.rglob("*.py")):
        room = path.relative_to(source).parts[0]
        if path.parent == source:  # the package's own first page, and the way to the command line
            continue
        deep = [name for name in imports_of(path) if name.count(".") > 1]
        foreign = [name for name in deep if name.split(".")[1] != room]
        assert not foreign, f"{path} imports {foreign}: import from the room"


def test_rooms_lend_what_they_have_and_no_module_hides_a_name() -> None:
    for stub in sorted((ROOT / "src" / PACKAGE).rglob("__init__.pyi")):
        modules = {path.stem for path in stub.parent.iterdir() if path.suffix != ".pyi"}
        dotted = ".".join(stub.parent.relative_to(ROOT / "src").parts)
        room = import_module(dotted)
        for name in room.__all__:
            assert hasattr(room, name), f"{dotted} lends {name}, which it does not have"
            assert name not in modules, f"{dotted}.{name} is a module as well"
