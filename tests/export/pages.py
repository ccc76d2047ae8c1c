"""Using a calculator as people do, for tests of it."""

from __future__ import annotations

from typing import Any

import pytest

from netbenefit import Condition, PerUnit, Reading, Rule, Scorecard, Thresholds
from netbenefit.export.calculator import Field, groups_of
from tests.helpers.browser import why_not

NAMES = ("conditions", "from zero", "units", "hostile", "no rules", "200 rules", "binned")
needs_browser = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


def fields_of(card: Scorecard) -> list[Field]:
    return [one for group in groups_of(card) for one in group.fields]


def option_of(one: Field, value: Any) -> str | None:
    """Return the option that a value belongs to; None where the page offers none."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return "unknown" if one.unknown is not None else None
    for place, (_, known) in enumerate(one.options):
        if known == value:
            return str(place)
    others = [k for k, (text, _) in enumerate(one.options) if text.startswith("any other")]
    return str(others[0]) if others else None


def _place(one: Field, option: str) -> int:
    """Return the place of an option in its list, whose first is "choose"."""
    return 1 + (len(one.options) if option == "unknown" else int(option))


def fill_in(page: Any, card: Scorecard, row: dict[str, Any]) -> bool:
    """Enter a row as a user does; False where the page offers no way to."""
    for place, one in enumerate(fields_of(card)):
        value = row[one.name]
        if one.control == "number":
            if value is None:
                if one.unknown is None:
                    assert page.locator(f"#f{place}u").count() == 0
                    return False
                page.locator(f"#f{place}u").check()
                continue
            if one.unknown is not None:
                page.locator(f"#f{place}u").uncheck()
            page.locator(f"#f{place}").fill(repr(value))
            continue
        if one.control == "check":
            page.locator(f"#f{place}").set_checked(bool(value))
            continue
        option = option_of(one, value)
        if option is None:
            return False
        if one.control == "select":
            page.locator(f"#f{place}").select_option(index=_place(one, option))
        else:
            page.locator(f'input[name="f{place}"][value="{option}"]').check()
    return True


def shown_result(page: Any) -> tuple[str, str] | None:
    if not page.locator("#figures").is_visible():
        return None
    return page.locator("#score").inner_text(), page.locator("#risk").inner_text()


def small_card(**more: Any) -> Scorecard:
    rules = [
        Rule(Condition("age", ">=", 52), 2),
        Rule(PerUnit("smoker", binary=True), 1),
        Rule(PerUnit("diabetes", binary=True), 1),
        Rule(Condition("stage", "==", "II"), 3),
        Rule(Condition("note", "missing"), 1),
    ]
    readings = [
        Reading(feature="age", whole=True, fill=50),
        Reading(feature="diabetes", fill=0, saw_missing=True),
        Reading(feature="stage", levels=("I", "II")),
    ]
    return Scorecard.from_levels(
        rules, [2, 4], [0.0996, 0.3, 0.75], Thresholds.of([0.1, 0.5]), readings=readings, **more
    )
