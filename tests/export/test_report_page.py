"""The report in a real browser: nothing logged, nothing fetched, wide enough, and on paper."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from netbenefit.report.validation import validation_page
from tests.export.pages import NAMES, needs_browser
from tests.export.truth import truths
from tests.helpers.browser import SIZES, Watched, axe_script


def page_of(name: str) -> str:
    truth = truths()[name]
    kept = [row for row, s in zip(truth.rows, truth.scores, strict=True) if s is not None]
    event = np.arange(len(kept)) % 3 == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return validation_page(
            truth.card, {key: [row[key] for row in kept] for key in kept[0]}, event
        )


@needs_browser
@pytest.mark.parametrize("name", NAMES)
def test_no_console_error_and_nothing_fetched(name: str, show: Callable[..., Watched]) -> None:
    text = page_of(name)
    assert len(text.encode()) < 3_000_000
    page = show(text, viewport={"width": 390, "height": 844}).page
    assert page.locator("h2").count() >= 8
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert page.evaluate("() => document.scripts.length") == 0


@needs_browser
@pytest.mark.skipif(axe_script() is None, reason="axe-core is not installed (npm install axe-core)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scheme: str, browser: object, tmp_path: Path) -> None:
    for name in ("conditions", "hostile"):
        file = tmp_path / f"{name}.html"
        file.write_text(page_of(name), encoding="utf-8")
        size = dict(zip(("width", "height"), SIZES["desktop"], strict=True))
        # The page lets no script run; the check is one, so its policy is set aside here.
        watched = Watched(browser, file, viewport=size, color_scheme=scheme, bypass_csp=True)
        watched.page.evaluate(f"{axe_script()};0")
        found = watched.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in found["violations"]] == []
        watched.context.close()


@needs_browser
def test_paper(show: Callable[..., Watched], tmp_path: Path) -> None:
    page = show(page_of("conditions")).page
    page.emulate_media(media="print")
    assert page.locator("details").first.is_hidden()
    ink = page.evaluate("() => getComputedStyle(document.body).color")
    assert ink == "rgb(0, 0, 0)"
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
