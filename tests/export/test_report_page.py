"""The report in a real browser: nothing logged, nothing fetched, wide enough, and on paper."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from netbenefit import Condition, Rule, Scorecard, Thresholds
from netbenefit.report.html import card_page
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


def rows_of(card: Scorecard, n: int = 3000) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Rows on which a card does well."""
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=n).round(1) for name in card.features}
    return columns, rng.random(n) < card.risk(columns)


def plain_card() -> Scorecard:
    names = ("worst concave points", "fractal dimensionality", "age", "smoothness")
    rules = [Rule(Condition(name, ">=", cut), 2) for name in names for cut in (-0.5, 0.5)]
    return Scorecard(
        rules, [(k, 0.02 + 0.06 * k) for k in range(0, 17, 2)], Thresholds.parse("0.1:0.6:0.1")
    )


@needs_browser
@pytest.mark.parametrize("width", [1280, 1024])
def test_verdict_card_and_curve_are_on_the_first_screen(
    width: int, show: Callable[..., Watched]
) -> None:
    card = plain_card()
    page = show(
        validation_page(card, *rows_of(card)), viewport={"width": width, "height": 800}
    ).page
    assert page.locator("h2").first.inner_text().startswith("Worth using at thresholds")
    for part in ("h2.verdict", ".netbenefit-card", ".curve figure > svg"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 800, part
    assert page.locator(".curve polygon.band").count() == 1


#: Words that stand on more than one line, and parts that are wider than their place.
BROKEN = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest("svg, details:not([open]) > :not(summary)")) continue;
    for (const word of node.data.matchAll(/\\w{2,}/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((r) => r.top)).size > 1) found.push(word[0]);
    }
  }
  for (const part of document.querySelectorAll("section, section table")) {
    const place = document.documentElement.clientWidth;
    if (part.scrollWidth > part.clientWidth + 1 || part.getBoundingClientRect().right > place)
      found.push(part.tagName + "." + part.className);
  }
  return found;
}"""


@needs_browser
@pytest.mark.parametrize("width", [1280, 1024, 768, 360])
def test_no_word_is_broken_and_nothing_is_cut_off(width: int, show: Callable[..., Watched]) -> None:
    card = plain_card()
    text = validation_page(card, *rows_of(card))
    page = show(text, viewport={"width": width, "height": 740}).page
    page.locator("#all").check()
    page.locator("summary").click()
    assert page.evaluate(BROKEN) == []
    page.set_viewport_size({"width": 90, "height": 740})  # the check itself can fail
    assert page.evaluate(BROKEN) != []


@needs_browser
def test_a_card_alone_fits_a_phone_too(show: Callable[..., Watched]) -> None:
    page = show(card_page(plain_card()), viewport={"width": 360, "height": 740}).page
    assert page.evaluate(BROKEN) == []
    assert page.get_by_text("fractal dimensionality").bounding_box()["height"] < 40


@needs_browser
def test_the_checklist_shows_what_is_known_and_paper_has_it_all(
    show: Callable[..., Watched],
) -> None:
    page = show(page_of("conditions")).page
    rows = page.locator(".check tbody tr")
    left = page.locator(".check tr.todo")
    assert rows.count() == 52
    assert 25 < left.count() < 45
    shown = [row for row in rows.all() if row.is_visible()]
    assert len(shown) == 52 - left.count()
    assert not any("filled in by the author" in row.inner_text() for row in shown)
    page.get_by_label(f"Show also the {left.count()} items").check()
    assert all(row.is_visible() for row in rows.all())
    page.locator("#all").uncheck()
    page.emulate_media(media="print")
    assert all(row.is_visible() for row in rows.all())
    assert page.locator("#all").is_hidden()
    assert page.locator(".appendix").evaluate("e => getComputedStyle(e).breakBefore") == "page"


@needs_browser
def test_paper(show: Callable[..., Watched], tmp_path: Path) -> None:
    page = show(page_of("conditions")).page
    page.emulate_media(media="print")
    assert page.locator("details").first.is_hidden()
    ink = page.evaluate("() => getComputedStyle(document.body).color")
    assert ink == "rgb(0, 0, 0)"
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
