"""The studio's page in Chromium, against a real server: numbers on it are those of Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netbenefit.cards import Scorecard
from netbenefit.estimators import RiskScoreClassifier
from netbenefit.studio import Server, Session, SetPoints
from tests.helpers import browser
from tests.studio.conftest import Table

pytestmark = pytest.mark.skipif(browser.why_not() is not None, reason=str(browser.why_not()))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser.started() as started:
        yield started


class Window:
    """One window on a studio, and all that it says to the console."""

    def __init__(self, chromium: Any, url: str, **options: Any) -> None:
        options = {"viewport": {"width": 1280, "height": 900}} | options
        self.page = chromium.new_context(**options).new_page()
        self.page.set_default_timeout(30_000)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)
        self.page.get_by_role("heading", name="The card").wait_for()

    def step(self, text: str) -> None:
        """Wait for a step of the history."""
        self.page.locator(".history").get_by_text(text).first.wait_for()

    def has_steps(self, count: int) -> None:
        """Wait until the history has so many steps."""
        from playwright.sync_api import expect

        expect(self.page.locator(".history li")).to_have_count(count)

    def cell(self, row: str, side: str) -> str:
        """A figure of the table, by its row and side."""
        cells = self.page.get_by_role("row", name=row).first.get_by_role("cell")
        return str(cells.nth(["training", "held-out"].index(side)).inner_text())


@pytest.fixture
def window(chromium: Any, session: Session) -> Iterator[Window]:
    with Server(session) as server:
        found = Window(chromium, server.url)
        yield found
        found.page.context.close()
        place = server.url.split("/")[2]
        assert {url.split("/")[2] for url in found.asked if url.startswith("http")} == {place}
        refused = "Failed to load resource: the server responded with a status of 400"
        assert [text for text in found.said if not text.startswith(refused)] == []


def test_points_change_by_an_arrow_key_and_figures_follow(window: Window, session: Session) -> None:
    page = window.page
    points = page.get_by_label("Points for age: 60 or more")
    assert points.input_value() == "2"
    points.focus()
    points.press("ArrowUp")
    window.step("age, 60 or more: 2 → 3 points")
    assert session.draft.rules["age ≥ 60"] == 2
    for side, found in session.figures().items():
        row = "Net benefit, mean over thresholds"
        assert window.cell(row, side) == f"{found.net_benefit:.5f}"
        assert window.cell("Called now, not before", side) == (
            f"{found.moved.now_called:.0f} ({found.moved.now_called_events:.0f})"
        )
    for sentence in session.standing().sentences:
        assert page.get_by_text(sentence).count() == 1
    page.get_by_role("button", name="Undo").click()
    window.has_steps(1)
    assert points.input_value() == "2"
    page.keyboard.press("Control+Shift+Z")
    window.step("age, 60 or more: 2 → 3 points")


def test_a_refusal_is_shown_and_changes_nothing(window: Window, session: Session) -> None:
    page = window.page
    page.get_by_text("Rules, cut points and names of age").click()
    cut = page.get_by_label("Cut point 60 of age")
    cut.fill("20")
    cut.press("Enter")
    page.get_by_role("alert").get_by_text("must lie above 40, between its neighbours").wait_for()
    assert len(session.history) == 1
    cut.fill("65")
    cut.press("Enter")
    window.step("cut point of age: 60 → 65")
    assert page.get_by_role("alert").inner_text() == ""
    assert page.get_by_label("Points for age: 65 or more").count() == 1


def test_rules_are_switched_off_added_and_renamed(window: Window, session: Session) -> None:
    page = window.page
    page.get_by_text("Rules, cut points and names of falls").click()
    page.get_by_role("button", name="Switch off falls").click()
    window.step("switched off “falls” (1 point)")
    page.get_by_role("button", name="Switch on falls").click()
    window.step("switched on “falls” (1 point)")
    page.get_by_text("Add a condition").click()
    page.get_by_label("Search").fill("sex")
    page.get_by_role("button", name="Add sex is male").click()
    window.step("added “sex is male”")
    page.get_by_role("button", name="Rename").first.click()
    page.get_by_label("Title of the card").fill("Falls <b>&amp;</b> frailty")
    page.get_by_role("button", name="Rename").first.click()
    page.get_by_role("heading", name="Falls <b>&amp;</b> frailty").wait_for()
    assert session.card.labels.title == "Falls <b>&amp;</b> frailty"


def test_the_solver_works_within_limits(window: Window, session: Session) -> None:
    page = window.page
    page.get_by_text("Rules, cut points and names of falls").click()
    page.get_by_label("Lock falls for the solver").click()
    window.step("limits: “points of falls from 1 to 1” from now on")
    page.get_by_label("New limit").select_option("exclude")
    page.locator("select[name=column]").select_option("bmi")
    page.get_by_role("button", name="Set", exact=True).click()
    page.get_by_role("button", name="Remove the limit: no points for bmi").wait_for()
    page.get_by_text("The card breaks “no points for").wait_for()
    page.get_by_role("button", name="Re-optimise the rest").click()
    window.step("re-optimised in")
    assert "falls" in session.draft.rules
    assert not {rule for rule in session.draft.rules if rule.startswith("bmi")}
    page.get_by_text("can be better: this is proven").wait_for()
    page.get_by_label("New limit").select_option("include")
    page.locator("select[name=column]").select_option("bmi")
    page.get_by_role("button", name="Set", exact=True).click()
    page.get_by_role("alert").get_by_text("these clash").wait_for()


def test_alternatives_and_groups(window: Window, session: Session) -> None:
    page = window.page
    page.get_by_role("button", name="Look for cards that are almost as good").click()
    page.get_by_role("button", name="2: ").first.click()
    page.get_by_role("button", name="Take over").click()
    window.step("took over alternative 2")
    page.get_by_label("Groups by").select_option("ward")
    region = page.get_by_role("region", name="Groups, held-out rows")
    region.wait_for()
    group = session.groups("ward", session.threshold())["held-out"][0]
    assert region.get_by_role("row").nth(1).inner_text().startswith("A")
    assert f"{group.at:.4f}".replace("-", "−") in region.get_by_role("row").nth(1).inner_text()


def test_files_are_saved(window: Window, session: Session, tmp_path: Path) -> None:
    session.edit(SetPoints("falls", 2))
    for link, name in (
        ("Card", "card.json"),
        ("Report", "report.html"),
        ("Python code", "edits.py"),
    ):
        with window.page.expect_download() as waited:
            window.page.get_by_role("link", name=link, exact=True).click()
        waited.value.save_as(tmp_path / name)
    card = Scorecard.load(tmp_path / "card.json")
    assert card.decisions[-1].what == "“falls”: 1 → 2 points"
    assert "Who decided what" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_two_windows_show_the_same_card(chromium: Any, session: Session) -> None:
    with Server(session) as server:
        first, second = (Window(chromium, server.url) for _ in range(2))
        first.page.get_by_label("Points for falls: yes").press("ArrowUp")
        for one in (first, second):
            one.step("falls, yes: 1 → 2 points")
        second.page.get_by_role("button", name="Undo").click()
        for one in (first, second):
            one.has_steps(1)
            one.page.context.close()


def test_a_server_that_is_killed_loses_no_edit(
    chromium: Any, model: RiskScoreClassifier, table: Table, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    with Session(model, table.X, table.y, journal=path) as session, Server(session) as server:
        window = Window(chromium, server.url)
        window.page.get_by_label("Points for falls: yes").press("ArrowUp")
        window.step("falls, yes: 1 → 2 points")
        kept = path.read_bytes()
        window.page.context.close()
    path.write_bytes(kept)  # nothing that is written at the end is needed
    with Session(model, table.X, table.y, journal=path) as session, Server(session) as server:
        window = Window(chromium, server.url)
        window.step("falls, yes: 1 → 2 points")
        window.page.get_by_label("Points for falls: yes").press("ArrowUp")
        window.step("falls, yes: 2 → 3 points")
        window.page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1024, 1600])
def test_the_page_fits_and_is_accessible(
    chromium: Any, session: Session, scheme: str, width: int
) -> None:
    session.edit(SetPoints("sex is male", 1))
    axe = browser.axe_script()
    with Server(session) as server:
        size = {"width": width, "height": 900}
        window = Window(chromium, server.url, color_scheme=scheme, viewport=size)
        page = window.page
        for details in page.locator("summary").all():
            details.click()
        page.get_by_label("Groups by").select_option("ward")
        page.get_by_role("region", name="Groups, held-out rows").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if axe is not None:
            # The policy allows no foreign script: this one comes through the debugger.
            page.evaluate(axe)
            found = page.evaluate("axe.run()")["violations"]
            assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
        page.context.close()
