"""A browser for all tests of pages, and databases for all tests of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.browser import Watched, started
from tests.helpers.databases import duckdb_run, postgresql_run, postgresql_socket

__all__ = ["duckdb_run", "postgresql_run", "postgresql_socket"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as found:
        yield found


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    """Show a text as a file in the browser; it must log and fetch nothing."""
    opened: list[Watched] = []

    def shown(text: str, **context: Any) -> Watched:
        file = tmp_path / f"page{len(opened)}.html"
        file.write_text(text, encoding="utf-8")
        opened.append(Watched(browser, file, **context))
        return opened[-1]

    yield shown
    for one in opened:
        one.context.close()
        assert one.messages == []
        assert [url for url in one.requests if not url.startswith("file:")] == []
        assert len(one.requests) == 1
