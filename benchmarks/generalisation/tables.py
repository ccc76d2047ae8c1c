"""Tables for the terminal and for Markdown, and the places in documents that they fill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

console = Console(width=180)  # wide enough for every table, also in a file


@dataclass(frozen=True)
class Table:
    """A title, and rows of text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def show(self) -> None:
        """Print it."""
        table = RichTable(box=SIMPLE)
        for k, name in enumerate(self.header):
            table.add_column(name, justify="left" if k == 0 else "right", no_wrap=True)
        for row in self.rows:
            table.add_row(*(Text(cell) for cell in row))  # as it is: brackets are no markup
        console.print(self.title, style="bold", highlight=False, markup=False)
        console.print(table)

    def markdown(self) -> str:
        """Write it as Markdown."""
        ruler = ["---"] + ["---:"] * (len(self.header) - 1)
        lines = ["| " + " | ".join(row) + " |" for row in (self.header, ruler, *self.rows)]
        return "\n".join([self.title, "", *lines])


@dataclass(frozen=True)
class Section:
    """Tables and sentences of one part of the report, and its name in the markers of documents."""

    name: str
    title: str
    tables: list[Table] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def show(self) -> None:
        """Print it."""
        console.rule(self.title, align="left")
        for table in self.tables:
            table.show()
        for line in self.lines:
            console.print(f"- {line}", highlight=False, markup=False)
        console.print()

    def markdown(self) -> str:
        """Write it as Markdown, without a heading: that is the document's."""
        parts = [table.markdown() for table in self.tables]
        if self.lines:
            parts.append("\n".join(f"- {line}" for line in self.lines))
        return "\n\n".join(parts)


def write_sections(path: Path, sections: Sequence[Section]) -> list[str]:
    """Replace the text between ``<!-- begin:NAME -->`` and ``<!-- end:NAME -->`` in a document.

    Return the names of the sections that were written; those without markers are left out, and so
    are those without tables: a run of one part leaves the others as they are.
    """
    text = path.read_text(encoding="utf-8")
    written = []
    for section in sections:
        begin, end = f"<!-- begin:{section.name} -->", f"<!-- end:{section.name} -->"
        start, stop = text.find(begin), text.find(end)
        if not section.tables or start < 0 or stop < start:
            continue
        text = f"{text[: start + len(begin)]}\n{section.markdown()}\n{text[stop:]}"
        written.append(section.name)
    if written:
        path.write_text(text, encoding="utf-8")
    return written
