"""Measures side by side, pages that work offline, the drawing of the curve."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console

from netbenefit import InputError
from netbenefit.cards.scorecard import Provenance, Rule, Scorecard
from netbenefit.cards.terms import Condition
from netbenefit.common import asset
from netbenefit.metrics import benefit as metrics, decision_bands
from netbenefit.metrics.curves import decision_curve
from netbenefit.metrics.measures import compare, measure
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.report.html import card_page, thresholds_text
from netbenefit.report.svg import (
    MOST_MODELS,
    _styles,
    _ticks,
    calibration_svg,
    curve_key,
    curve_svg,
)
from netbenefit.report.text import comparison_table, curve_table, evaluation_json, measure_table
from netbenefit.report.validation import _excess, validation_page
from netbenefit.updating.observed import LevelRow

GRID = Thresholds.parse("0.1:0.5:0.1")
NASTY = '<script>alert(1)</script> & "co"'


def card(outcome: str = "malignancy") -> Scorecard:
    return Scorecard.from_levels(
        [Rule(Condition("area", ">=", 690), 3), Rule(Condition(NASTY, ">=", 2), -1)],
        [1, 1, 2, 3, 3],
        [0.05, None, 0.2, 0.35, None, 0.9],
        GRID,
        score_range=(-1, 3),
        provenance=Provenance(
            version="9.9", n_rows=10, n_events=4, prevalence=0.4, objective=0.25, outcome=outcome
        ),
    )


@pytest.fixture
def sample() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    risk = rng.random(200).round(2)
    return rng.random(200) < risk, risk


def page_of(y: np.ndarray, risk: np.ndarray, outcome: str = "malignancy") -> str:
    columns = {"area": 1000 * risk, NASTY: np.arange(200) % 4}
    others = {"Other": np.sqrt(risk)}
    return validation_page(
        card(outcome), columns, y, data="200 rows", others=others, lead="Some rows.", note="A note."
    )


class Checker(HTMLParser):
    """Finds what a page would fetch, and whether its tags close."""

    VOID = frozenset({"input", "meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.foreign: list[tuple[str, str]] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset", "data", "action", "xlink:href"):
                self.foreign.append((name, value or ""))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert checker.foreign == []
    assert not {"script", "link", "img", "iframe"} & checker.tags
    assert "http:" not in page
    assert "https:" not in page
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    return checker


# -- pages -----------------------------------------------------------------------------------------


def test_report_is_one_file_that_fetches_nothing(sample: tuple[np.ndarray, np.ndarray]) -> None:
    page = page_of(*sample)
    checker = check(page)
    assert {"svg", "polyline", "table", "style"} <= checker.tags
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_report_holds_card_measures_and_curve(sample: tuple[np.ndarray, np.ndarray]) -> None:
    y, risk = sample
    page = page_of(y, risk)
    assert card()._repr_html_() in page
    own = card().risk({"area": 1000 * risk, NASTY: np.arange(200) % 4})
    for name in ("auroc", "aunbc"):
        for values in (own, np.sqrt(risk)):
            more = (GRID,) if name == "aunbc" else ()
            assert f">{getattr(metrics, name)(y, values, *more):.3f}</td>" in page
    for word in (
        "Evaluated on 200 rows",
        "Some rows.",
        "A note.",
        "Treat All",
        "Treat None",
        "Other",
    ):
        assert word in page
    assert "Nothing is proven" in page


def test_names_are_escaped_everywhere(sample: tuple[np.ndarray, np.ndarray]) -> None:
    for page in (page_of(*sample, outcome=NASTY), card_page(card(NASTY))):
        check(page)
        assert "&lt;script&gt;" in page


def test_titles_hold_no_control_characters() -> None:
    text = card_page(card("death\n= 1\x1b\u202e"))
    assert "<title>Risk of death = 1\ufffd</title>" in text
    assert not set("\x1b\u202e") & set(text)


def test_card_page_without_provenance() -> None:
    bare = Scorecard.from_levels([], [1], [0.2, 0.7], Thresholds.of([0.5]))
    page = card_page(bare)
    check(page)
    assert "<title>Risk score</title>" in page
    assert "50%" in page


# -- the curve -------------------------------------------------------------------------------------


def test_curve_draws_every_point(sample: tuple[np.ndarray, np.ndarray]) -> None:
    y, risk = sample
    svg = curve_svg(decision_curve(y, {"Card": risk, "Other": risk**2}, GRID))
    assert svg.count("<polyline") == 4
    assert svg.count("<circle") == len(GRID.given)
    points = re.findall(r'class="s0" points="([^"]+)"', svg)[0].split()
    heights = [float(point.split(",")[1]) for point in points]
    benefit = metrics.net_benefit(y, risk, GRID)
    # One straight line leads from net benefits to heights.
    assert np.corrcoef(heights, benefit)[0, 1] == pytest.approx(-1, abs=1e-4)


def test_the_curve_fills_its_picture_and_its_band_is_drawn() -> None:
    rng = np.random.default_rng(0)
    risk = rng.beta(1, 12, size=3000)
    y = rng.random(3000) < risk
    grid = Thresholds.of([0.2, 0.3])  # far above the prevalence: all benefits are small
    table = decision_bands(y, {"Card": risk}, grid, n_resamples=50)
    svg = curve_svg(table)
    assert svg.count('<polygon class="band"') == 1
    points = re.findall(r'class="band" points="([^"]+)"', svg)[0].split()
    assert len(points) == 4
    heights = [float(point.split(",")[1]) for point in points]
    assert min(heights) == pytest.approx(12, abs=0.1)  # the top of the picture


def test_every_line_has_a_style_of_its_own(sample: tuple[np.ndarray, np.ndarray]) -> None:
    y, risk = sample
    models = {f"model {i}": risk ** (1 + i) for i in range(MOST_MODELS)}
    curve = decision_curve(y, models, GRID)
    classes = re.findall(r'<polyline class="(\w+)"', curve_key(curve))
    assert len(set(classes)) == len(classes) == MOST_MODELS + 2
    css = asset("report", "page.css")
    styles = {name: re.search(rf"svg \.{name} {{([^}}]*)}}", css) for name in classes}
    assert all(styles.values())
    assert len({found[1] for found in styles.values() if found}) == len(classes)
    with pytest.raises(InputError, match="at most 6"):
        curve_svg(decision_curve(y, models | {"one more": risk}, GRID))


@pytest.mark.parametrize("thresholds", [[0.2], [0, 0.5], [0.001, 0.002], "0:0.9:0.1"])
def test_curve_of_odd_grids(thresholds: object) -> None:
    svg = curve_svg(decision_curve([0, 1], {"Card": [0.1, 0.9]}, thresholds))  # type: ignore[arg-type]
    assert "nan" not in svg
    assert "inf" not in svg


def test_curve_without_events() -> None:
    assert "nan" not in curve_svg(decision_curve([0, 0], {"Card": [0.1, 0.9]}, GRID))


# -- measures --------------------------------------------------------------------------------------


def test_measures_are_those_of_the_library(sample: tuple[np.ndarray, np.ndarray]) -> None:
    y, risk = sample
    weight = np.arange(200) % 3 + 0.5
    found = measure(y, risk, GRID, sample_weight=weight)
    assert found.n == weight.sum()
    assert found.prevalence == pytest.approx(np.average(y, weights=weight))
    assert found.auroc == metrics.auroc(y, risk, sample_weight=weight)
    assert found.aunbc == metrics.aunbc(y, risk, GRID, sample_weight=weight)
    assert found.hosmer_lemeshow == metrics.hosmer_lemeshow(y, risk, GRID, sample_weight=weight)
    assert measure(y, risk, GRID).n == 200
    assert isinstance(measure(y, risk, GRID).n, int)


def test_compare_adds_the_two_strategies(sample: tuple[np.ndarray, np.ndarray]) -> None:
    y, risk = sample
    rows = compare(y, {"Card": risk}, GRID)
    assert [row.model for row in rows] == ["Card", "Treat All", "Treat None"]
    everybody = GRID.length_weights[1:] @ metrics.net_benefit(y, np.ones(len(y)), GRID)
    assert rows[1].aunbc == pytest.approx(everybody)
    assert rows[1].auroc is None
    assert rows[2].aunbc == 0.0


def text_of(table: object) -> str:
    console = Console(width=80, markup=False)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_terminal_tables(sample: tuple[np.ndarray, np.ndarray]) -> None:
    y, risk = sample
    curve = decision_curve(y, {"Card": risk}, "0:0.9:0.1")
    shown = text_of(curve_table(curve))
    assert "Threshold" in shown
    assert "90%" in shown
    assert "−" in shown  # treating all at 90%, with a true minus sign
    assert "–" in shown  # nothing is avoided at threshold 0
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert f"{metrics.auroc(y, risk):.4f}" in text_of(measure_table(measure(y, risk, GRID)))
    assert "Treat None" in text_of(comparison_table(compare(y, {"Card": risk}, GRID)))


def test_json_knows_no_infinity() -> None:
    y, risk = [0, 1, 1], [0.0, 0.0, 1.0]
    measures = measure(y, risk, GRID)
    assert math.isinf(measures.hosmer_lemeshow)
    assert "∞" in text_of(measure_table(measures))
    curve = decision_curve(y, {"Card": risk}, [0, 0.5])
    found = json.loads(evaluation_json(measures, curve, "y = 1", GRID))
    assert found["hosmer_lemeshow"] is None
    assert found["decision_curve"][0]["net_intervention_avoided"] is None
    assert found["decision_curve"][0]["model"] == "Card"
    assert found["thresholds"] == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_titles_and_words() -> None:
    card = Scorecard([], [(0, 0.2), (1, 0.6)], Thresholds.of([0.5]))
    assert "<title>Risk score</title>" in card_page(card)
    assert thresholds_text(Thresholds.parse("0.05:0.5:0.05")) == "thresholds 5% to 50%"
    assert thresholds_text(Thresholds.of([0.2])) == "threshold 20%"
    assert _excess(0.4, 0.40001) == "an objective more than 0.1% above this one's"
    assert _excess(0.0, 0.012345) == "an objective above 0.01235, where this one's is 0"


def test_parts_of_pictures() -> None:
    assert list(_styles(["card", "logit", "Treat All", "Treat None"]).values()) == [
        *("s0", "s1", "all", "none")
    ]
    assert _ticks(0.05, 0.5) == [0.1, 0.2, 0.3, 0.4, 0.5]
    rows = [LevelRow("≥ 2", 0.6, "60%", 10.0, 5.0, 0.5, 0.24, 0.76)]
    assert "risk 60%: 5 events among 10 rows, 50.0%" in calibration_svg(rows)
