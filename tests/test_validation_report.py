"""The report on a card and some rows: right numbers, nothing that runs, nothing from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import roc_curve

from netbenefit import Condition, RiskScoreClassifier, Rule, Scorecard, Thresholds
from netbenefit.observed import level_rows, wilson
from netbenefit.readings import Reading
from netbenefit.report.columns import column_rows
from netbenefit.report.drawings import roc_points
from netbenefit.report.tripod import _ITEMS
from netbenefit.report.validation import certificate_sentence, validation_page
from netbenefit.verify import Check, Verdict
from tests.export.truth import HOSTILE_LEVEL, Truth, truths
from tests.raw_rows import outcome, raw_table

pytestmark = pytest.mark.filterwarnings("ignore:column ")


def columns_of(truth: Truth) -> dict[str, list[Any]]:
    kept = [row for row, score in zip(truth.rows, truth.scores, strict=True) if score is not None]
    return {name: [row[name] for row in kept] for name in kept[0]}


def events(n: int) -> np.ndarray:
    return np.arange(n) % 3 == 0


@pytest.fixture(scope="module")
def fitted() -> tuple[RiskScoreClassifier, dict[str, list[Any]], np.ndarray]:
    table = raw_table(0, 400)
    y = outcome(table, 0)
    model = RiskScoreClassifier(binner="auto", solver="local", time_limit=0.5, n_jobs=1)
    return model.fit(table, y), table, y


def test_levels_are_counted(fitted: Any) -> None:
    model, table, y = fitted
    card = model.scorecard_
    risk = card.risk(table)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, y.size)
    for weights in (None, weight):
        w = np.ones(y.size) if weights is None else weights
        rows = level_rows(card, card.score(table), y, weights)
        assert sum(row.n for row in rows) == pytest.approx(w.sum())
        for row in rows:
            here = risk == row.risk
            assert row.n == pytest.approx(w[here].sum())
            assert row.events == pytest.approx(w[here & y].sum())
            if row.rate is not None:
                assert row.rate == pytest.approx(row.events / row.n)
                assert row.low is not None
                assert row.high is not None
                assert row.low <= row.rate <= row.high


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 10), (10, 10), (7, 200)])
def test_wilson_is_scipys(k: int, n: int) -> None:
    expected = binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_roc_is_scikit_learns(fitted: Any) -> None:
    model, table, y = fitted
    score = model.scorecard_.score(table)
    fpr, tpr, _ = roc_curve(y, score, drop_intermediate=False)
    np.testing.assert_allclose(roc_points(y, score), (fpr, tpr))


def test_columns_say_how_they_were_prepared() -> None:
    truth = truths()["units"]
    rows = {row.name: row for row in column_rows(truth.card, columns_of(truth))}
    assert "added up with late60, late90 as “late”" in rows["late30"].prepared or (
        "the largest taken" in rows["late30"].prepared
    )
    assert "rounded to 0.1, from 0 to 1.5" in rows["utilisation"].prepared
    assert "missing counts as 0.2" in rows["utilisation"].prepared
    given = columns_of(truth)["utilisation"]
    assert rows["utilisation"].missing == sum(value is None for value in given)


def test_numbers_that_came_as_text_are_reported() -> None:
    readings = [Reading(feature="age", text=True, special=("NA",), fill=50)]
    rules = [Rule(Condition("age", ">=", 52), 1)]
    card = Scorecard(rules, [1], [0.1, 0.6], Thresholds.of([0.5]), readings=readings)
    columns = {"age": ["40", "60", "NA", " 70 ", ""]}
    assert card.score(columns).tolist() == [0, 1, 0, 1, 0]
    (row,) = column_rows(card, columns)
    assert (row.name, row.missing, row.share) == ("age", 2, 0.4)
    assert "age" in validation_page(card, columns, events(5))


class Page(HTMLParser):
    """Elements, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.mark.parametrize("name", ["conditions", "units", "hostile", "no rules", "200 rules"])
def test_pages_hold_text_and_nothing_that_runs(name: str) -> None:
    truth = truths()[name]
    columns = columns_of(truth)
    y = events(len(next(iter(columns.values()))))
    if y.size < 3:
        columns = {key: values * 5 for key, values in columns.items()}
        y = events(5 * y.size)
    text = validation_page(truth.card, columns, y, data='<i>"rows"</i>')
    page = Page(text)
    assert len(text) < 3_000_000
    assert not {"script", "iframe", "object", "embed", "link", "img", "i"} & set(page.tags)
    assert not [key for key, _ in page.attributes if key.startswith("on") or key in ("src", "href")]
    assert "url(" not in text.replace("url(#plot)", "")
    if name == "hostile":
        assert HOSTILE_LEVEL in "".join(page.words)
        assert HOSTILE_LEVEL not in text


def test_the_checklist_is_whole(fitted: Any) -> None:
    model, table, y = fitted
    text = validation_page(model.scorecard_, table, y)
    numbers = [number for _, number, _ in _ITEMS]
    assert len(numbers) == len(set(numbers)) == 52
    assert {int(re.sub(r"\D", "", number)) for number in numbers} == set(range(1, 28))
    assert text.count("to be filled in by the author") > 20
    assert "The event is" in text
    assert f"{y.sum():,} with the event" in text


def test_the_certificate_in_one_sentence(fitted: Any) -> None:
    model, _, _ = fitted
    card: Scorecard = model.scorecard_
    assert certificate_sentence(card, None).startswith(("Nothing is proven", "By its own record"))
    good = certificate_sentence(card, model.certificate_, Verdict(True, (), ""))
    assert good.startswith("The certificate was checked against these rows and holds")
    bad = Verdict(False, (Check("data", False, "9 rows, not 8"),), "")
    assert "does not hold for these rows: data: 9 rows, not 8." in certificate_sentence(
        card, model.certificate_, bad
    )


def test_rows_that_the_card_has_seen_are_told(fitted: Any) -> None:
    model, table, y = fitted
    card: Scorecard = model.scorecard_
    assert "as many rows and events here" in validation_page(card, table, y)
    verdict = Verdict(True, (), "")
    assert "learnt from, so the measures" in validation_page(card, table, y, verdict=verdict)
    fewer = {name: values[1:] for name, values in table.items()}
    assert "flatter" not in validation_page(card, fewer, y[1:])
