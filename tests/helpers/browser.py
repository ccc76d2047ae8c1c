"""A browser for tests of pages: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = Path(os.environ.get("NETBENEFIT_CHROMIUM", "/usr/bin/chromium"))
QUIET = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
#: Window sizes of a phone and a desktop.
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}


def why_not() -> str | None:
    """Return why no browser can be started, or None if one can."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "Playwright is not installed (pip install playwright)"
    return None if CHROMIUM.exists() else f"there is no Chromium at {CHROMIUM}"


def axe_script() -> str | None:
    """Return axe-core, if it is installed."""
    places = [
        Path(os.environ.get("NETBENEFIT_AXE", "")),
        ROOT / "node_modules/axe-core/axe.min.js",
        ROOT.parent / "node_modules/axe-core/axe.min.js",
        ROOT / "tests/export/node_modules/axe-core/axe.min.js",
    ]
    found = next((place for place in places if place.is_file()), None)
    return None if found is None else found.read_text(encoding="utf-8")


@contextmanager
def started() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=QUIET)
        yield browser
        browser.close()


class Watched:
    """A page, with its console messages, requests and dialogs."""

    def __init__(self, browser: Any, file: Path, **context: Any) -> None:
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())

    def _dialog(self, dialog: Any) -> None:
        self.messages.append(f"dialog: {dialog.message}")
        dialog.dismiss()
