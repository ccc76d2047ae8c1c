"""The house rules: one direction of imports, few dependencies, no print.

All checks read the sources with ast and import nothing, so a late import counts as much as one at
the top of a module.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "netbenefit"

#: Modules bottom to top, as names or patterns.  A module imports from its own row and from rows
#: above it in this table; no chain of imports that run comes back to where it started.
LAYERS: tuple[tuple[str, ...], ...] = (
    (
        "_validation",
        "_version",
        "_atomic",
        "_tasks",
        "_tasks_*",
        "_journal",
        "_fingerprint",
        "_progress_bar",
        "thresholds",
    ),
    (
        "metrics",
        "measures",
        "observed",
        "decision",
        "_decision_*",
        "survival",
        "sampling",
        "_table",
        "_text_table",
        "_columns",
        "_gap",
        "conditions",
        "readings",
        "scorecard",
        "_card_*",
        "binning",
        "_bin_*",
        "_labels",
        "_cut*",
        "patterns",
        "_merging",
        "_steps",
        "_engine",
        "_engine_*",
        "teachers",
        "teachers.*",
    ),
    ("kernels", "kernels.*"),
    (
        "_highs",
        "_objective",
        "limits",
        "constraints",
        "_constraint_*",
        "problem",
        "levels",
        "bounds",
        "bounds.*",
    ),
    ("solvers", "solvers.*"),
    (
        "certificate",
        "verify",
        "_certificate_*",
        "calibration",
        "_calibration_*",
        "assemble",
        "_estimator_input",
        "theory",
        "_theory_*",
    ),
    (
        "estimator",
        "_estimator_*",
        "published",
        "calibrator",
        "plots",  # results draw themselves
        "plots.*",
        "sizing",
        "_size_*",
        "updating",
        "_updating_*",
        "tables",
        "_table_*",
        "sensitivity",
        "_sensitivity_*",
        "baselines",
        "baselines.*",
        "evaluation",
        "comparison",
        "_comparison_*",
        "_evaluation_*",
    ),
    (
        "export",
        "export.*",
        "report",
        "report.*",
        "cli",
        "__main__",
        "datasets",
        "_dataset_*",
        "demo",
        "experiments",
        "experiments.*",
        "_io",
        "_sources",
        "_source_*",
        "_outcome",
        "_cli_*",
        "_terminal",
        "_fit_notes",
    ),
)
#: The package itself gathers the public names, so nothing inside may import from it.
TOP = len(LAYERS)

#: A card must score wherever numpy is: these modules use nothing else (tables come in through
#: narwhals, imported late).
CARD_MODULES = (
    "_validation",
    "_columns",
    "_gap",
    "conditions",
    "readings",
    "scorecard",
    "_card_*",
    "_steps",
)
CARD_TOP = {"numpy"}
CARD_LATE = {"numpy", "narwhals"}


class Import(NamedTuple):
    """One imported name: where it stands, and what it is."""

    line: int
    target: str
    late: bool
    types_only: bool = False  #: read by type checkers, never run


def package_sources() -> dict[str, str]:
    """Return every module of the package: its dotted name below the package → its source."""
    folder = ROOT / "src" / PACKAGE
    sources = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        sources[".".join(parts)] = path.read_text(encoding="utf-8")
    return sources


def core_imports() -> frozenset[str]:
    """Return the import names of the dependencies that everybody who installs the package has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = (re.split(r"[^\w-]", requirement)[0] for requirement in project["dependencies"])
    return frozenset({"scikit-learn": "sklearn"}.get(name, name) for name in names)


def layer_of(module: str) -> int | None:
    """Return the row of a module in the table; None where nobody has placed it."""
    if module in ("", "__main__"):
        return TOP
    for layer, patterns in enumerate(LAYERS):
        if any(fnmatchcase(module, pattern) for pattern in patterns):
            return layer
    return None


def imports_of(module: str, source: str, known: frozenset[str]) -> list[Import]:
    """Return all imports of a module, late ones and those for type checkers included."""
    is_package = any(name.startswith(f"{module}.") for name in known) or module == ""
    found: list[Import] = []
    for node, late, types_only in _walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [Import(node.lineno, alias.name, late, types_only) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = [PACKAGE, *module.split(".")] if module else [PACKAGE]
                up = node.level - 1 if is_package else node.level
                base = ".".join([*here[: len(here) - up], *([base] if base else [])])
            for alias in node.names:  # "from package import module" names the module
                deeper = f"{base}.{alias.name}"
                inside = deeper.removeprefix(f"{PACKAGE}.") in known and base.startswith(PACKAGE)
                found.append(Import(node.lineno, deeper if inside else base, late, types_only))
    return found


def _walk(
    node: ast.AST, late: bool = False, types_only: bool = False
) -> Iterator[tuple[ast.AST, bool, bool]]:
    """Yield all nodes, whether they run later than the module's import, and whether never."""
    for child in ast.iter_child_nodes(node):
        function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        typing_only = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        yield child, late, types_only
        yield from _walk(child, late or function or typing_only, types_only or typing_only)


def violations(sources: Mapping[str, str], core: frozenset[str]) -> list[str]:
    """Return what is wrong with the imports of a package, one sentence each."""
    known = frozenset(sources)
    wrong: list[str] = []
    graph: dict[str, set[str]] = {}
    for module, source in sources.items():
        layer = layer_of(module)
        if layer is None:
            wrong.append(
                f"{module}: no layer. Add it to LAYERS in tests/test_layering.py, in the lowest row"
                " that it can live in (DESIGN.md says what lives where)."
            )
            continue
        graph[module] = set()
        part_of_card = any(fnmatchcase(module, pattern) for pattern in CARD_MODULES)
        for line, target, late, types_only in imports_of(module, source, known):
            head, _, inner = target.partition(".")
            if head == PACKAGE:
                if not types_only:  # what never runs closes no circle
                    graph[module].add(inner)
                target_layer = layer_of(inner)
                if target_layer is not None and target_layer > layer:
                    wrong.append(
                        f"{module}:{line}: imports {target} from layer {target_layer}, but is in"
                        f" layer {layer}. Move what it needs down, or the module up."
                    )
            elif head not in sys.stdlib_module_names:
                if not late and head not in core:
                    wrong.append(
                        f"{module}:{line}: imports {head} at the top, which is no core dependency."
                        " Import it inside the function that needs it."
                    )
                if part_of_card and head not in (CARD_LATE if late else CARD_TOP):
                    wrong.append(
                        f"{module}:{line}: imports {head}, but a card uses numpy alone"
                        " (narwhals inside a function)."
                    )
    cycle = find_cycle(graph)
    if cycle:
        wrong.append(f"imports in a circle: {' → '.join(cycle)}.")
    return wrong


def find_cycle(graph: Mapping[str, set[str]]) -> list[str] | None:
    """Return one circle of imports, its first module repeated at the end, or None."""
    finished: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str] | None:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in finished:
            return None
        for target in sorted(graph.get(module, ())):
            found = visit(target, [*path, module])
            if found:
                return found
        finished.add(module)
        return None

    return next((c for module in sorted(graph) if (c := visit(module, []))), None)


def heavy_reach(sources: Mapping[str, str], start: str) -> dict[str, str]:
    """Return the foreign packages that importing a module imports → the module that does it."""
    known = frozenset(sources)
    reached: dict[str, str] = {}
    waiting, seen = [start], set()
    while waiting:
        module = waiting.pop()
        if module in seen or module not in sources:
            continue
        seen.add(module)
        for _, target, late, _ in imports_of(module, sources[module], known):
            head, _, inner = target.partition(".")
            if late:
                continue
            if head == PACKAGE:
                waiting.append(inner)
            elif head not in sys.stdlib_module_names:
                reached.setdefault(head, module)
    return reached


def print_calls(source: str) -> list[int]:
    """Return the lines that call print."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]


# -- the package ---------------------------------------------------------------------------------


def test_imports_go_one_way() -> None:
    wrong = violations(package_sources(), core_imports())
    assert not wrong, "\n".join(wrong)


def test_a_card_reaches_only_numpy() -> None:
    sources = package_sources()
    reached = heavy_reach(sources, "scorecard")
    assert set(reached) <= CARD_TOP, f"netbenefit.scorecard reaches {reached}"


def test_nothing_prints() -> None:
    lines = {m: found for m, source in package_sources().items() if (found := print_calls(source))}
    assert not lines, f"print in the library: {lines}. Return it, or use the progress callback."


def test_core_imports_are_those_of_the_project() -> None:
    assert {"numpy", "sklearn", "numba", "narwhals"} <= core_imports()
    assert "matplotlib" not in core_imports()


# -- the checks themselves -----------------------------------------------------------------------

CORE = frozenset({"numpy", "sklearn"})
GOOD = {
    "": "from netbenefit.estimator import Estimator",
    "thresholds": "import numpy as np",
    "metrics": "from . import thresholds",
    "kernels": "",
    "kernels.compiled": "from netbenefit.thresholds import Thresholds",
    "estimator": "from netbenefit.kernels import compiled\nfrom netbenefit import metrics",
    "plots": "def draw():\n    import matplotlib.pyplot as plt",
}


def test_checker_accepts_a_good_package() -> None:
    assert violations(GOOD, CORE) == []


@pytest.mark.parametrize(
    ("module", "source", "message"),
    [
        ("thresholds", "from netbenefit.metrics import aunbc", "layer 1, but is in layer 0"),
        ("thresholds", "from .metrics import aunbc", "layer 1, but is in layer 0"),
        ("thresholds", "def f():\n    import netbenefit.estimator", "thresholds:2: imports"),
        ("kernels.compiled", "from .. import estimator", "imports netbenefit.estimator"),
        ("kernels", "from ..estimator import Estimator", "imports netbenefit.estimator"),
        ("kernels", "from .compiled import f\nfrom netbenefit import Estimator", "layer 8"),
        ("plots", "import matplotlib", "no core dependency"),
        ("plots", "try:\n    import pandas.api\nexcept ImportError:\n    pass", "imports pandas"),
        ("scorecard", "import sklearn", "a card uses numpy alone"),
        ("scorecard", "def f():\n    import sklearn", "a card uses numpy alone"),
        ("scorecard", "import narwhals", "a card uses numpy alone"),
        ("scorecard", "def f():\n    import netbenefit.kernels", "layer 2, but is in layer 1"),
        ("surprise", "", "surprise: no layer. Add it to LAYERS"),
    ],
)
def test_checker_finds_a_violation(module: str, source: str, message: str) -> None:
    found = "\n".join(violations({**GOOD, module: source}, CORE))
    assert message in found


def test_checker_finds_a_late_circle_within_a_layer() -> None:
    circle = {
        **GOOD,
        "metrics": "import netbenefit.decision",
        "decision": "def f():\n    from netbenefit.metrics import aunbc",
    }
    assert violations(circle, CORE) == ["imports in a circle: metrics → decision → metrics."]


def test_checker_lets_types_close_a_circle() -> None:
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import netbenefit.metrics"
    circle = {**GOOD, "metrics": "import netbenefit.decision", "decision": source}
    assert violations(circle, CORE) == []


def test_checker_lets_types_be_imported_for_checking_only() -> None:
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas"
    assert violations({**GOOD, "plots": source}, CORE) == []


def test_checker_follows_what_a_card_reaches() -> None:
    sources = {"scorecard": "import numpy\nfrom . import metrics", "metrics": "import sklearn.base"}
    assert heavy_reach(sources, "scorecard") == {"numpy": "scorecard", "sklearn": "metrics"}
    late = {**sources, "metrics": "def f():\n    import sklearn"}
    assert heavy_reach(late, "scorecard") == {"numpy": "scorecard"}


def test_checker_finds_print() -> None:
    assert print_calls('def f():\n    print("x")\n    console.print("y")') == [2]
