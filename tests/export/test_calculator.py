"""The calculator, used in a browser: with mouse and keys, on a phone, on paper, by strangers."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from netbenefit import Condition, InputError, PerUnit, Reading, Rule, Scorecard, Thresholds
from netbenefit.cards.text import integer_text, percent
from netbenefit.export.calculator import to_calculator
from netbenefit.export.javascript import to_javascript
from tests.export.pages import NAMES, fill_in, needs_browser, shown_result, small_card
from tests.export.truth import Truth, truths
from tests.helpers.browser import Watched

# -- using it --------------------------------------------------------------------------------------


def sample(truth: Truth, most: int) -> list[int]:
    step = max(1, len(truth.rows) // most)
    refused = [k for k, score in enumerate(truth.scores) if score is None]
    return [*range(0, len(truth.rows), step), *refused]


@needs_browser
@pytest.mark.parametrize("name", NAMES)
def test_page_and_module_agree_with_python_on_every_row(
    name: str, show: Callable[..., Watched]
) -> None:
    truth = truths()[name]
    page = show(to_calculator(truth.card)).page
    expected = [list(pair) for pair in zip(truth.scores, truth.risks, strict=True)]
    rows = json.loads(json.dumps(truth.rows))
    found = page.evaluate(
        "rows => rows.map((r) => [netbenefit.score(r), netbenefit.risk(r)])", rows
    )
    assert found == expected
    blank = page.context.new_page()
    module = """async ([text, rows]) => {
      const url = URL.createObjectURL(new Blob([text], {type: "text/javascript"}));
      const card = await import(url);
      return rows.map((row) => [card.score(row), card.risk(row)]);
    }"""
    assert blank.evaluate(module, [to_javascript(truth.card), rows]) == expected


@needs_browser
@pytest.mark.parametrize(
    ("name", "most"), [("conditions", 25), ("units", 25), ("hostile", 20), ("binned", 30)]
)
def test_form_shows_score_risk_and_rules_of_python(
    name: str, most: int, show: Callable[..., Watched]
) -> None:
    truth = truths()[name]
    card = truth.card
    page = show(to_calculator(card)).page
    entered = 0
    for k in sample(truth, most):
        score, risk = truth.scores[k], truth.risks[k]
        if not fill_in(page, card, truth.rows[k]):
            continue
        entered += 1
        if score is None or risk is None:
            assert shown_result(page) is None
            assert "No score: " in page.locator("#needs").inner_text()
            continue
        assert shown_result(page) == (integer_text(score), percent(risk, card.thresholds))
        assert page.locator("#sum").inner_text() == integer_text(score)
        _check_fired(page, card, truth.rows[k])
    assert entered >= most / 2


def _check_fired(page: Any, card: Scorecard, row: dict[str, Any]) -> None:
    """The answers that are shown are those that Python explains the score by."""
    shown = [
        tuple(line.locator("td").all_inner_texts())
        for line in page.locator("#fired tr").all()
        if line.locator("td").count() == 2
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # missing values that training did not have
        expected = card.explain(row)
    for (text, points), part in zip(shown, expected, strict=True):
        if not any(one.units for one in card.questions if one.feature == part.question):
            assert text == f"{part.question}: {part.answer}"
        assert float(points.replace("−", "-")) == pytest.approx(part.points, abs=1e-9)
    # On the card below, the one answer that applies is marked; a value that is counted has none.
    plain = sum(not question.units for question in card.questions)
    assert plain <= page.locator(".questions .chosen").count() <= len(card.questions)


@needs_browser
def test_two_hundred_rules(show: Callable[..., Watched]) -> None:
    truth = truths()["200 rules"]
    page = show(to_calculator(truth.card)).page
    assert "and 196 more" in page.locator("#needs").inner_text()
    assert page.locator("[data-field]").count() == 200
    assert fill_in(page, truth.card, truth.rows[0])
    score, risk = truth.scores[0], truth.risks[0]
    assert score is not None
    assert risk is not None
    assert shown_result(page) == (integer_text(score), percent(risk, truth.card.thresholds))


@needs_browser
def test_no_rules_need_no_field(show: Callable[..., Watched]) -> None:
    page = show(to_calculator(truths()["no rules"].card, threshold=0.2)).page
    assert shown_result(page) == ("0", "20.0%")
    assert page.locator("#verdict").inner_text() == "At or above the threshold of 20%"
    assert "nothing is asked" in page.locator("#points").inner_text()


@needs_browser
def test_nothing_is_shown_before_all_is_known(show: Callable[..., Watched]) -> None:
    page = show(to_calculator(small_card())).page
    assert shown_result(page) is None
    needs = page.locator("#needs")
    assert needs.inner_text() == "Still needed: stage, age, diabetes, note"
    assert not page.locator("#points").is_visible()
    page.get_by_label("stage").select_option("II (3 points)")
    page.get_by_label("age", exact=True).fill("52")
    assert needs.inner_text() == "Still needed: diabetes, note"
    page.get_by_role("button", name="Set the rest").click()
    assert shown_result(page) == ("6", "75.0%")  # 2 + 3, and 1 for the note that is missing
    page.get_by_label("smoker").check()
    assert shown_result(page) == ("7", "75.0%")
    page.get_by_role("button", name="Clear").click()
    assert shown_result(page) is None
    assert page.locator("#age").count() == 0  # fields go by number


@needs_browser
def test_fields_fit_their_columns(show: Callable[..., Watched]) -> None:
    labels = {"columns": {"age": {"unit": "years"}, "stage": {"label": "FIGO"}}}
    page = show(to_calculator(small_card().with_labels(labels))).page
    assert page.get_by_role("checkbox", name="smoker").count() == 1
    diabetes = page.get_by_role("group", name="diabetes").get_by_role("radio")
    assert diabetes.count() == 3
    assert page.get_by_role("group", name="note").get_by_role("radio").count() == 2
    age = page.get_by_role("spinbutton", name="age in years")
    assert age.get_attribute("step") == "1"
    options = page.get_by_label("FIGO").locator("option").all_inner_texts()
    assert options == [
        "choose …",
        "I (0 points)",
        "II (3 points)",
    ]  # no rule for others, none in training
    age.fill("52.5")
    assert "whole numbers" in page.locator("#f1c").inner_text()
    page.get_by_label("not known (counts as 50)").check()
    assert age.is_disabled()
    assert "None was missing" in page.locator("#f1c").inner_text()


@needs_browser
def test_a_number_that_is_not_plausible_is_refused(show: Callable[..., Watched]) -> None:
    card = small_card().with_labels({"columns": {"age": {"label": "Age", "low": 18, "high": 110}}})
    page = show(to_calculator(card)).page
    age, caution = page.get_by_role("spinbutton", name="Age"), page.locator("#f1c")
    assert "18 to 110" in page.locator("#f1h").inner_text()
    page.get_by_label("stage").select_option("I (0 points)")
    page.get_by_role("button", name="Set the rest").click()
    page.get_by_label("not known (counts as 50)").uncheck()
    for typed, refused in [("18", False), ("17", True), ("300", True), ("110", False)]:
        age.fill(typed)
        assert ("Not plausible: 18 to 110 is expected." in caution.inner_text()) is refused, typed
        assert (shown_result(page) is None) is refused
        assert (age.get_attribute("aria-invalid") == "true") is refused
        assert ("Not plausible: Age" in page.locator("#needs").inner_text()) is refused
    page.get_by_label("not known (counts as 50)").check()
    assert shown_result(page) is not None


@needs_browser
def test_a_code_for_missing_is_plausible(show: Callable[..., Watched]) -> None:
    reading = Reading(feature="visits", special=(96,), fill=1)
    card = Scorecard(
        [Rule(Condition("visits", ">=", 3), 1)],
        [(0, 0.1), (1, 0.6)],
        Thresholds.of([0.5]),
        readings=[reading],
    )
    low_and_high = {"columns": {"visits": {"low": 0, "high": 50}}}
    page = show(to_calculator(card.with_labels(low_and_high))).page
    page.locator("#f0").fill("96")
    assert shown_result(page) == ("0", "10.0%")
    page.locator("#f0").fill("95")
    assert shown_result(page) is None


@needs_browser
def test_levels_stand_in_the_order_of_the_dictionary(show: Callable[..., Watched]) -> None:
    card = small_card().with_labels({"columns": {"stage": {"levels": ["II", "I"]}}})
    assert card.score({"age": 60, "smoker": 1, "diabetes": 0, "stage": "II", "note": "x"}) == 6
    page = show(to_calculator(card)).page
    options = page.get_by_label("stage").locator("option").all_inner_texts()
    assert options == ["choose …", "II (3 points)", "I (0 points)"]


@needs_browser
def test_a_code_for_missing_is_refused_with_a_reason(show: Callable[..., Watched]) -> None:
    card = Scorecard.from_levels(
        [Rule(Condition("dose", ">=", 1), 1), Rule(PerUnit("count"), 1)],
        [1],
        [0.1, 0.6],
        Thresholds.of([0.5]),
        readings=[Reading(feature="dose", special=(-9,))],
    )
    named = card.with_labels({"columns": {"dose": {"label": "Dose of it"}}})
    page = show(to_calculator(named)).page
    page.get_by_label("Dose of it").fill("-9")
    page.get_by_label("count").fill("1")
    assert page.locator("#needs").inner_text().startswith("No score: Dose of it is missing")
    page = show(to_calculator(card)).page
    page.get_by_label("dose").fill("-9")
    page.get_by_label("count").fill("1")
    assert page.locator("#needs").inner_text().startswith("No score: dose is missing")
    page.get_by_label("dose").fill("1")
    page.get_by_label("count").fill("1e300")
    assert "count is too large" in page.locator("#needs").inner_text()
    page.get_by_label("count").fill("")
    page.get_by_label("count").press_sequentially("1e")
    assert page.locator("#needs").inner_text() == "Not a number: count"
    assert page.get_by_label("count").get_attribute("aria-invalid") == "true"


# -- the threshold ---------------------------------------------------------------------------------


@needs_browser
@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("20", "one missed case weighs as much as four unnecessary interventions."),
        ("33.3333333333333333", "one missed case weighs as much as two unnecessary interventions."),
        ("5", "one missed case weighs as much as 19 unnecessary interventions."),
        ("30", "three missed cases weigh as much as seven unnecessary interventions."),
        ("50", "one missed case weighs as much as one unnecessary intervention."),
        ("75", "one unnecessary intervention weighs as much as three missed cases."),
        ("60", "two unnecessary interventions weigh as much as three missed cases."),
        ("7", "one missed case weighs about as much as 13.3 unnecessary interventions."),
        ("93", "one unnecessary intervention weighs about as much as 13.3 missed cases."),
    ],
)
def test_threshold_in_words(typed: str, words: str, show: Callable[..., Watched]) -> None:
    page = show(to_calculator(small_card())).page
    assert "Enter the risk" in page.locator("#meaning").inner_text()
    page.locator("#threshold").fill(typed)
    assert words in page.locator("#meaning").inner_text()


@needs_browser
def test_threshold_decides_by_the_exact_risk(show: Callable[..., Watched]) -> None:
    page = show(to_calculator(small_card(), threshold=1 / 3)).page
    assert page.locator("#threshold").input_value() == "33.3333"
    meaning = page.locator("#meaning")
    assert "33.33% or more: one missed case weighs as much as two" in meaning.inner_text()
    assert "a score of 4 or more" in meaning.inner_text()
    page.get_by_role("button", name="Set the rest").click()
    page.get_by_label("stage").select_option("I (0 points)")
    assert shown_result(page) == ("1", "9.96%")
    verdict = page.locator("#verdict")
    for typed, side, risk in [
        ("9.96", "At or above", "9.96%"),
        ("9.95", "At or above", "9.96%"),
        ("9.961", "Below", "9.96%"),
        ("0.1", "At or above", "9.96%"),
    ]:
        page.locator("#threshold").fill(typed)
        assert verdict.inner_text().startswith(f"{side} the threshold"), typed
        assert shown_result(page) == ("1", risk)
    for typed in ("0", "100", "-3", "120"):
        page.locator("#threshold").fill(typed)
        assert "between 0% and 100%" in meaning.inner_text()
        assert not verdict.is_visible()
    page.locator("#threshold").fill("80")
    assert "No score on this card reaches it." in meaning.inner_text()
    page.locator("#threshold").fill("9.96")
    assert "Every score on this card reaches it." in meaning.inner_text()


@needs_browser
def test_a_risk_is_never_shown_on_the_wrong_side(show: Callable[..., Watched]) -> None:
    card = Scorecard.from_levels([], [1], [0.2996, None], Thresholds.of([0.5]), score_range=(0, 0))
    page = show(to_calculator(card)).page
    assert shown_result(page) == ("0", "30.0%")
    page.locator("#threshold").fill("30")
    assert page.locator("#verdict").inner_text() == "Below the threshold of 30%"
    assert shown_result(page) == ("0", "29.96%")


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 20, float("nan"), "0.2", True])
def test_bad_thresholds_are_refused(threshold: Any) -> None:
    with pytest.raises(InputError, match=r"threshold=.* between 0 and 1"):
        to_calculator(small_card(), threshold=threshold)
