"""The calculator's page: with keys alone, by ear, in the dark, on paper, and with hostile names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netbenefit import Condition, PerUnit, Reading, Rule, Scorecard, Thresholds
from netbenefit.cards.rules import HeldOut, HeldOutLevel
from netbenefit.cards.scorecard import Provenance
from netbenefit.cards.text import contents
from netbenefit.export.calculator import _seen, to_calculator
from tests.export.pages import NAMES, fields_of, fill_in, needs_browser, shown_result, small_card
from tests.export.truth import HOSTILE_LEVEL, truths
from tests.helpers.browser import SIZES, Watched, axe_script

# -- keys, ears, eyes, paper -----------------------------------------------------------------------


@needs_browser
def test_keyboard_alone(show: Callable[..., Watched]) -> None:
    page = show(to_calculator(small_card(), threshold=0.2)).page
    keys = page.keyboard

    def focused() -> str:
        outline = page.evaluate(
            "() => { const e = document.activeElement;"
            " const s = [e, e.closest('label')].filter(Boolean).map((x) => getComputedStyle(x));"
            " return s.some((x) => x.outlineStyle === 'solid' && x.outlineWidth === '3px'); }"
        )
        assert outline, "focus cannot be seen"
        return str(page.evaluate("() => document.activeElement.id || document.activeElement.name"))

    keys.press("Tab")
    assert focused() == "f0"
    keys.type("II")
    keys.press("Tab")
    assert focused() == "f1"
    keys.type("51")
    keys.press("ArrowUp")
    keys.press("Tab")
    assert focused() == "f1u"
    keys.press("Tab")
    assert focused() == "f2"
    keys.press("Space")
    keys.press("Tab")
    assert focused() == "f3"
    keys.press("Space")
    keys.press("ArrowDown")
    keys.press("Tab")
    assert focused() == "f4"
    keys.press("Space")
    keys.press("Tab")
    assert focused() == "rest"
    keys.press("Tab")
    assert focused() == "clear"
    keys.press("Tab")
    assert focused() == "threshold"
    assert shown_result(page) == ("6", "75.0%")  # stage II, 52, smoker, no diabetes, a note
    keys.press("Tab")
    assert focused() == "print"


@needs_browser
def test_result_is_spoken_once_it_stands(show: Callable[..., Watched]) -> None:
    page = show(to_calculator(small_card(), threshold=0.2)).page
    status = page.get_by_role("status")
    assert status.get_attribute("aria-live") == "polite"
    page.get_by_label("stage").select_option("II (3 points)")
    page.get_by_role("button", name="Set the rest").click()
    page.wait_for_timeout(1000)
    assert status.inner_text() == "Score 4, risk 75.0%. At or above the threshold of 20%."


@needs_browser
@pytest.mark.skipif(axe_script() is None, reason="axe-core is not installed (npm install axe-core)")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(size: str, scheme: str, show: Callable[..., Watched]) -> None:
    width, height = SIZES[size]
    # Every card once; what else there is to see changes with size and scheme, not with the card.
    for name in NAMES if (size, scheme) == ("phone", "light") else ("conditions", "hostile"):
        truth = truths()[name]
        page = show(
            to_calculator(truth.card, threshold=0.2),
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
        ).page
        page.evaluate(f"{axe_script()};0")
        states = ["empty", "filled"] if name != "200 rules" else ["empty"]
        for state in states:
            if state == "filled":
                assert any(fill_in(page, truth.card, row) for row in truth.rows[:3])
                assert shown_result(page) is not None
            found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
            problems = [(v["id"], [n["html"] for n in v["nodes"]]) for v in found["violations"]]
            assert problems == [], (name, state)
            assert len(found["passes"]) > 15


@needs_browser
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wider_than_a_phone(name: str, show: Callable[..., Watched]) -> None:
    page = show(to_calculator(truths()[name].card), viewport={"width": 320, "height": 600}).page
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320


@needs_browser
@pytest.mark.parametrize("size", [(1280, 900), (1280, 700), (1024, 768)])
def test_nothing_covers_the_card(size: tuple[int, int], show: Callable[..., Watched]) -> None:
    truth = truths()["conditions"]
    viewport = dict(zip(("width", "height"), size, strict=True))
    page = show(to_calculator(truth.card, threshold=0.2), viewport=viewport).page
    assert fill_in(page, truth.card, truth.rows[0])
    page.evaluate("() => document.getElementById('print').scrollIntoView({block: 'center'})")
    assert page.evaluate(
        "() => { const b = document.getElementById('print'); const r = b.getBoundingClientRect();"
        " return b.contains(document.elementFromPoint(r.left + 5, r.top + 5)); }"
    )


@needs_browser
def test_motion_is_reduced_on_request(show: Callable[..., Watched]) -> None:
    for preference, motion in [("reduce", "0s"), ("no-preference", "0.16s")]:
        page = show(to_calculator(small_card()), reduced_motion=preference).page
        found = page.evaluate(
            "() => getComputedStyle(document.getElementById('fill')).transitionDuration"
        )
        assert found == motion


@needs_browser
@pytest.mark.parametrize("name", NAMES)
def test_paper_shows_the_card_alone(name: str, show: Callable[..., Watched]) -> None:
    card = truths()[name].card
    page = show(to_calculator(card, threshold=0.2), color_scheme="dark").page
    page.emulate_media(media="print")
    for hidden in ("#form", ".side", "button", ".top", ".foot"):
        assert not any(one.is_visible() for one in page.locator(hidden).all()), hidden
    text = page.locator(".card").inner_text()
    printed = contents(card)
    assert printed.title in text
    for asked in printed.questions:
        assert asked.name in text
        for words, points in asked.answers:
            assert re.search(rf"{re.escape(words)}\s+{re.escape(points)}\s", text)
    for scores, risk in printed.table:
        assert re.search(rf"{re.escape(scores)}\s+{re.escape(risk)}", text)
    assert all(note in text for note in printed.notes)
    assert page.locator(".line-out").first.is_visible() or not card.questions
    assert "Act when the risk is 20% or more." in text
    ink = page.evaluate("() => getComputedStyle(document.querySelector('.card td')).color")
    paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert (ink, paper) == ("rgb(0, 0, 0)", "rgb(255, 255, 255)")


# -- the patient in the table, and what is known of such patients ----------------------------------

PHONE = {"viewport": {"width": 360, "height": 740}}


def known_card() -> Scorecard:
    levels = [(None, 40, 1, 0.004, 0.129), (2, 0, 0, None, None), (4, 12, 9, 0.468, 0.911)]
    origin = Provenance(
        version="1", n_rows=398, n_events=148, prior_strength=100.0, net_benefit=0.3, teacher="T"
    )
    return replace(small_card(provenance=origin), held_out=HeldOut(0.1234, levels))


def choose(page: Any, stage: str) -> None:
    page.get_by_label("stage").select_option(stage)
    page.get_by_role("button", name="Set the rest").click()


@needs_browser
def test_the_score_is_marked_in_the_table_and_not_on_paper(show: Callable[..., Watched]) -> None:
    page = show(to_calculator(small_card(), threshold=0.2)).page
    marked = page.locator(".risks .chosen")
    assert marked.count() == 0
    choose(page, "II (3 points)")
    assert marked.count() == 1
    assert marked.inner_text().split() == ["4–8", "75.0%"]
    assert marked.get_attribute("aria-current") == "true"
    page.get_by_label("stage").select_option("I (0 points)")
    assert page.locator("[aria-current]").inner_text().split() == ["0–1", "9.96%"]
    border = "() => getComputedStyle(document.querySelector('.risks .chosen th')).borderTopWidth"
    assert page.evaluate(border) == "3px"
    page.emulate_media(media="print")
    assert page.evaluate(border) != "3px"
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Clear").click()
    assert marked.count() == 0


def test_small_counts_of_held_out_rows_read_well() -> None:
    levels = [(None, 1, 0, 0.0, 0.9), (2, 1, 1, 0.1, 1.0), (3, 5, 0, 0.0, 0.4)]
    _, texts = _seen(HeldOut(0.1, [HeldOutLevel(*level) for level in levels]))
    assert [text.partition(" (95%")[0] for text in texts] == [
        "The only held-out record with a score of ≤ 1 did not have the event",
        "The only held-out record with a score of 2 had the event",
        "Of 5 held-out records with a score of ≥ 3, none had the event",
    ]


@needs_browser
def test_the_interval_is_that_of_held_out_rows(show: Callable[..., Watched]) -> None:
    page = show(to_calculator(known_card(), threshold=0.2)).page
    seen = page.locator("#seen")
    assert seen.is_hidden()
    choose(page, "II (3 points)")
    assert seen.inner_text() == (
        "Of 12 held-out records with a score of ≥ 4, 9 had the event (95% interval of the risk: "
        "46.8% to 91.1%)."
    )
    page.get_by_label("stage").select_option("I (0 points)")
    assert "Of 40 held-out records with a score of ≤ 1, 1 had the event" in seen.inner_text()
    page.get_by_label("smoker").check()
    assert page.locator("#score").inner_text() == "2"
    assert seen.inner_text() == "No held-out record had a score of 2–3."
    other = show(to_calculator(small_card())).page
    choose(other, "II (3 points)")
    assert other.locator("#seen").is_hidden()


@needs_browser
def test_one_line_says_from_how_many_the_card_was_made(show: Callable[..., Watched]) -> None:
    page = show(to_calculator(known_card())).page
    line = page.locator(".origin summary")
    assert line.inner_text() == "Made from 398 records, 148 of them with the event"
    rest = page.locator("details.origin p")
    assert rest.is_hidden()
    line.click()
    assert rest.inner_text() == ("398 rows · net benefit 0.1234 on 52 held-out rows · taught by T")
    page.emulate_media(media="print")
    assert page.locator("p.origin").inner_text() == rest.text_content()


@needs_browser
def test_the_table_stays_in_one_piece_and_words_stay_whole(show: Callable[..., Watched]) -> None:
    card = truths()["conditions"].card
    rules = [Rule(Condition("worst smoothness", ">=", k), 1) for k in range(6)]
    many = Scorecard(rules, [(k, 0.1 + k / 10) for k in range(7)], Thresholds.tenths())
    for one in (card, many):
        page = show(to_calculator(one), **PHONE).page
        lines = page.locator("[data-level]").all()
        boxes = [line.bounding_box() for line in lines]
        assert len({(box["x"], box["width"]) for box in boxes}) == 1
        assert all(a["y"] < b["y"] for a, b in itertools.pairwise(boxes))
    name = page.locator(".questions tbody th")
    assert name.inner_text() == "worst smoothness"
    assert name.bounding_box()["height"] < 40  # one line
    table = page.get_by_role("table").first  # though its parts are drawn as blocks
    assert table.get_by_role("rowheader").count() == 1
    assert table.get_by_role("cell", name="under 0", exact=True).count() == 1


@needs_browser
@pytest.mark.parametrize("width", [1280, 1024])
def test_long_names_stay_whole_beside_a_long_table(
    width: int, show: Callable[..., Watched]
) -> None:
    names = ("ChestPain_eq_asymptomatic", "MaxExerciseHRTargetRatio", "age")
    rules = [Rule(Condition(name, ">=", k), k) for name in names for k in (1, 2, 3)]
    card = Scorecard(rules, [(k, 0.1 + k / 40) for k in range(19)], Thresholds.tenths())
    page = show(to_calculator(card), viewport={"width": width, "height": 800}).page
    for name in page.locator(".questions tbody th").all():
        assert name.locator("bdi").bounding_box()["height"] < 30, name.inner_text()
    questions, risks = (
        page.locator(f".card .{part}").bounding_box() for part in ("questions", "risks")
    )
    assert questions["x"] + questions["width"] < risks["x"]


# -- strangers -------------------------------------------------------------------------------------

EVIL = (
    "</script><script>window.ran = 1</script>",
    "</style><img src=x onerror='window.ran = 1'>",
    "<!--<script>",
    '" autofocus onfocus="window.ran = 1',
    "' onmouseover='window.ran = 1",
    "{title}{script}",
    "${window.ran = 1}`",
    "\u2028window.ran = 1;//\u202e",
    "__proto__",
    HOSTILE_LEVEL,
)


def evil_card() -> Scorecard:
    rules = [Rule(Condition(name, "==", name), k + 1) for k, name in enumerate(EVIL)]
    rules += [Rule(PerUnit(f"{name} 2"), 1) for name in EVIL]
    readings = [Reading(feature=name, fill=f"fill {name}", levels=EVIL) for name in EVIL]
    origin = Provenance(version=EVIL[0], outcome=EVIL[0] + EVIL[1])
    return Scorecard.from_levels(
        rules, [3], [0.1, 0.6], Thresholds.of([0.5]), readings=readings, provenance=origin
    )


@needs_browser
def test_no_name_runs_or_becomes_markup(show: Callable[..., Watched]) -> None:
    card = evil_card()
    same = {name: name for name in card.features}
    labels = {name: {"label": f"{name} 3", "unit": name} for name in same}
    named = card.with_labels({"title": EVIL[0], "outcome": EVIL[1], "columns": labels})
    page = show(to_calculator(named, threshold=0.2)).page
    for k in range(len(fields_of(card))):
        field = page.locator(f"#f{k}")
        if field.evaluate("(e) => e.tagName") == "SELECT":
            field.select_option(index=k + 1)
        else:
            field.fill("1")
    assert shown_result(page) is not None
    assert page.evaluate("() => window.ran === undefined")
    # The policy would stop a script that had come in; there must be none in the first place.
    assert page.locator("script").count() == page.locator("style").count() == 1
    assert page.locator("img, b, [onfocus], [onmouseover], [onerror], [autofocus]").count() == 0
    text = page.locator("main").inner_text()
    options = page.locator("option").all_text_contents()
    for name in EVIL:
        shown = name.replace("\u2028", " ").replace("\u202e", "")
        assert shown in text
        assert any(shown in option for option in options)


@needs_browser
def test_hostile_truth_is_shown_literally(show: Callable[..., Watched]) -> None:
    truth = truths()["hostile"]
    page = show(to_calculator(truth.card)).page
    labels = page.locator("#form label bdi").all_inner_texts()
    assert sorted(labels) == sorted(truth.card.features)
    options = page.locator("option").all_text_contents()
    assert f"{HOSTILE_LEVEL} (3 points)" in options
    assert page.locator("b, script").count() == 1


@needs_browser
def test_policy_stops_what_is_not_the_page(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(to_calculator(small_card()), encoding="utf-8")
    watched = Watched(browser, file)
    stopped = watched.page.evaluate(
        """async () => {
          const found = [];
          document.addEventListener("securitypolicyviolation", (event) =>
            found.push(event.effectiveDirective));
          const script = document.createElement("script");
          script.textContent = "window.ran = 1";
          document.body.append(script);
          const image = document.createElement("img");
          image.src = "https://example.invalid/x.png";
          document.body.append(image);
          await fetch("https://example.invalid/").catch(() => {});
          await new Promise((done) => setTimeout(done, 300));
          return [found.sort(), window.ran ?? null];
        }"""
    )
    watched.context.close()
    assert stopped == [["connect-src", "img-src", "script-src-elem"], None]


def test_the_page_names_no_other_place() -> None:
    for name in set(NAMES) - {"hostile"}:
        text = to_calculator(truths()[name].card, threshold=0.2)
        assert not re.search(
            r"https?:|//[a-z]|url\(|@import|<link(?! rel=\"icon\" href=\"data:,\")", text
        )
        assert "default-src &#x27;none&#x27;" in text
        assert "unsafe" not in text
