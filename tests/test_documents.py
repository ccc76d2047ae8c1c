"""What the documents point to is there, and nothing points outside the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.paper.test_index import find

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")]
#: Pages whose dotted paths and files are a map of the present code.
MAPS = [
    ROOT / name
    for name in ("README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/method.md")
]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_DOTTED = re.compile(r"`(netbenefit(?:\.\w+)+)`")
_FILE = re.compile(r"`((?:src|tests|docs|benchmarks|reproduction)/[\w./]+)`")
#: Working papers that are not part of the repository.
_OUTSIDE = re.compile(r"\b(?:SPEC|DESIGN|REVIEW|TEACHER|SOLVERS)(?:\.md| §)")


def heading_ids(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


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
    text = page.read_text(encoding="utf-8")
    for path in _DOTTED.findall(text):
        find(path)
    for file in _FILE.findall(text):
        assert (ROOT / file).exists(), file


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "architecture.md"])
def test_every_room_is_on_the_map(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    rooms = [file.parent.name for file in (ROOT / "src" / "netbenefit").glob("*/__init__.py")]
    assert [room for room in rooms if f"`{room}`" not in text] == []


def test_nothing_refers_to_pages_outside_the_repository() -> None:
    files = [
        *PAGES,
        *(file for name in ("src", "tests", "docs") for file in (ROOT / name).rglob("*.py")),
    ]
    found = [
        file.relative_to(ROOT).as_posix()
        for file in files
        if file != Path(__file__) and _OUTSIDE.search(file.read_text(encoding="utf-8"))
    ]
    assert found == []
