"""What the documents point to is there, and nothing points outside the repository."""

from __future__ import annotations

import ast
import builtins
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.main import get_command

import netbenefit
from netbenefit.cli.main import app
from tests.paper.test_index import find

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "netbenefit"
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")]
#: Pages that describe the present code: every name in code font must be in it.
MAPS = [
    ROOT / name
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "docs/architecture.md",
        "docs/method.md",
        "docs/proofs.md",
    )
]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
#: A line of a list or of a table: one step of a recipe, one room, one decision.
_ITEM = re.compile(r"^(?:\||\d+\.|-) .*$", re.M)
_FILE = re.compile(r"[\w.-]*/[\w./-]*|\w[\w-]*\.(?:py|pyi|md|toml|cff)")
#: A name of Python, also as a call, with a value or with a type.
_NAME = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*)(?:\(.*\)|[=:] ?.*)?")
_PARTS = ("src", "tests", "benchmarks", "reproduction")
#: Names of other packages and programs that our code does not mention, or not as a name.
_ELSEWHERE = {"show", "docs", "__pycache__"}
#: Working papers that are not part of the repository.
_OUTSIDE = re.compile(r"\b(?:SPEC|DESIGN|REVIEW|TEACHER|SOLVERS)(?:\.md| §)")


def heading_ids(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def prose(page: Path) -> str:
    """Return the text of a page without its fenced code blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@cache
def names_in(place: Path) -> frozenset[str]:
    """Return the names that a file, or the files below a folder, define or import."""
    if place.is_dir():
        files = [file for file in place.rglob("*") if file.suffix in (".py", ".pyi")]
        own = {name for file in files for name in (file.stem, file.parent.name)}
        return frozenset(own).union(*(names_in(file) for file in files))
    names: set[str] = set()
    for node in ast.walk(ast.parse(place.read_text(encoding="utf-8"))):
        match node:
            case ast.Constant(value=str(text)):  # environment variables, columns of tables
                names.add(text)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.arg() | ast.keyword():
                names.add(node.arg or "")
            case ast.Name(ctx=ast.Store()):
                names.add(node.id)
            case ast.Attribute(ctx=ast.Store()):
                names.add(node.attr)
            case ast.Import() | ast.ImportFrom():
                names |= {part for one in node.names for part in one.name.split(".")}
                names |= set((getattr(node, "module", None) or "").split("."))
    return frozenset(names)


@cache
def known_names() -> frozenset[str]:
    """Return all names of the repository's code, and those of Python and of other programs."""
    own = (names_in(ROOT / part) for part in _PARTS)
    return frozenset(dir(builtins)).union(_ELSEWHERE, *own)


def place_of(code: str) -> Path | None:
    """Return the file or folder that a path, a dotted module or a room's name stands for."""
    dotted = code.replace(".", "/") if code.startswith("netbenefit.") else None
    for path in (ROOT / code, PACKAGE / code, *([ROOT / "src" / f"{dotted}.py"] if dotted else ())):
        if path.exists() and (_FILE.fullmatch(code) or dotted or path.is_dir()):
            return path
    return None


def problem_with(code: str) -> str | None:
    """Say what is wrong with a text in code font, if it names something that does not exist."""
    command, _, rest = code.partition(" ")
    if module := re.match(r"(?:\S*/)?python -m ([\w.]+)", code):
        return None if find_spec(module[1]) else "no such module"
    if command == "make" and rest:
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        return None if re.search(rf"^{re.escape(rest)}:", makefile, re.M) else "no such target"
    if command == "netbenefit" and rest:
        known = get_command(app).commands  # type: ignore[attr-defined]
        return None if rest.split()[0] in known else "no such command"
    if code.startswith("netbenefit.") and re.fullmatch(r"[\w.]+", code):
        return None if find(code) is not None else "no such module or name"
    if _FILE.fullmatch(code):
        bare = "/" not in code and any(ROOT.glob(f"src/**/{code}"))
        return None if bare or place_of(code) else "no such file"
    if name := _NAME.fullmatch(code):
        return None if set(name[1].split(".")) <= known_names() else "no such name in the code"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        if link.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or target.suffix != ".md" or anchor in heading_ids(target), link


@pytest.mark.parametrize("page", MAPS, ids=lambda page: page.name)
def test_maps_name_what_exists(page: Path) -> None:
    codes = dict.fromkeys(_CODE.findall(prose(page)))
    wrong = {code: found for code in codes if (found := problem_with(code))}
    assert wrong == {}


@pytest.mark.parametrize("page", MAPS[:3], ids=lambda page: page.name)
def test_names_are_where_the_maps_say(page: Path) -> None:
    """A step that names files, or a row that names a room, names only what is in them."""
    wrong = []
    for item in _ITEM.findall(prose(page)):
        codes = _CODE.findall(item)
        places = [place for code in codes if (place := place_of(code))]
        if not places:
            continue
        code_places = [place for place in places if place.is_dir() or place.suffix[:3] == ".py"]
        here = set(netbenefit.__all__).union(*(names_in(place) for place in code_places))
        for code in codes:
            name = None if place_of(code) or _FILE.fullmatch(code) else _NAME.fullmatch(code)
            if name and name[1][:10] != "netbenefit" and not set(name[1].split(".")) <= here:
                wrong.append((code, [place.relative_to(ROOT).as_posix() for place in places]))
    assert wrong == []


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "architecture.md"])
def test_every_room_is_on_the_map(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    rooms = [file.parent.name for file in PACKAGE.glob("*/__init__.py")]
    assert [room for room in rooms if f"`{room}`" not in text] == []


def test_nothing_refers_to_pages_outside_the_repository() -> None:
    files = [*PAGES, *(file for part in _PARTS for file in (ROOT / part).rglob("*.py"))]
    found = [
        file.relative_to(ROOT).as_posix()
        for file in files
        if file != Path(__file__) and _OUTSIDE.search(file.read_text(encoding="utf-8"))
    ]
    assert found == []
