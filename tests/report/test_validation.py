"""The report on a card and some rows: right numbers, nothing that runs, nothing from elsewhere."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from netbenefit import Condition, PerUnit, RiskScoreClassifier, Rule, Scorecard, Thresholds
from netbenefit.cards.readings import Reading
from netbenefit.cards.rules import HeldOut, HeldOutLevel
from netbenefit.cards.scorecard import Provenance
from netbenefit.certificates.certificate import Certificate
from netbenefit.certificates.judge import Check, Verdict, _acceptance, verify
from netbenefit.certificates.statement import Claim, ValueScale
from netbenefit.common import asset
from netbenefit.metrics.measures import measure, wilson
from netbenefit.report.columns import column_rows
from netbenefit.report.svg import _x, _y, roc_svg
from netbenefit.report.validation import certificate_sentence, checklist, validation_page
from netbenefit.updating.observed import count_levels_of_card
from tests.export.truth import HOSTILE_LEVEL, Truth, truths
from tests.helpers.cards import SHORT_SEARCH
from tests.helpers.raw_rows import outcome, raw_table

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
    model = RiskScoreClassifier(binner="auto", solver=SHORT_SEARCH, n_jobs=1)
    return model.fit(table, y), table, y


def test_levels_are_counted(fitted: Any) -> None:
    model, table, y = fitted
    card = model.scorecard_
    risk = card.risk(table)
    # More than twelve rows are counted between the thresholds.
    own = risk if len(card.risk_table()) <= 12 else card.thresholds.level_of(risk)
    groups = [own == value for value in np.unique(own)]
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, y.size)
    for weights in (None, weight):
        w = np.ones(y.size) if weights is None else weights
        rows = count_levels_of_card(card, card.score(table), y, weights)
        assert sum(row.n for row in rows) == pytest.approx(w.sum())
        for row, here in zip([row for row in rows if row.n], groups, strict=True):
            assert row.risk == pytest.approx(np.average(risk[here], weights=w[here]))
            assert row.n == pytest.approx(w[here].sum())
            assert row.events == pytest.approx(w[here & y].sum())
            if row.rate is not None:
                assert row.rate == pytest.approx(row.events / row.n)
                assert row.low is not None
                assert row.high is not None
                assert row.low <= row.rate <= row.high


def test_long_tables_are_counted_by_level() -> None:
    steps = [(s, s / 40) for s in range(40)]
    rules = [Rule(PerUnit("x", 0, 0, 39), 1)]
    card = Scorecard(rules, steps, Thresholds.of([0.25, 0.5]), score_range=(0, 39))
    rng = np.random.default_rng(0)
    score, weight = rng.integers(0, 30, 500), rng.uniform(0.5, 2, 500)
    event = rng.random(500) < score / 40
    rows = count_levels_of_card(card, score, event, weight)
    assert [row.scores for row in rows] == ["0–9", "10–19", "20–39"]
    for row, here in zip(
        rows, (score < 10, (score >= 10) & (score < 20), score >= 20), strict=True
    ):
        assert row.n == pytest.approx(weight[here].sum())
        assert row.events == pytest.approx(weight[here & event].sum())
        assert row.risk == pytest.approx(np.average(score[here] / 40, weights=weight[here]))
    few = count_levels_of_card(card, [3, 3], [0, 1])
    assert [(row.n, row.rate) for row in few] == [(2.0, 0.5), (0.0, None), (0.0, None)]


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 10), (10, 10), (7, 200)])
def test_wilson_is_scipys(k: int, n: int) -> None:
    expected = binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_holds_its_own_rate() -> None:
    rates = np.array([k / n for n in range(1, 40) for k in range(n + 1)])
    rows = np.array([float(n) for n in range(1, 40) for _ in range(n + 1)])
    low, high = wilson(rates, rows)
    assert (low <= rates).all()
    assert (rates <= high).all()
    assert (low[rates == 0] == 0).all()
    assert (high[rates == 1] == 1).all()
    assert wilson(float(rates[7]), float(rows[7])) == (low[7], high[7])
    low99, high99 = wilson(rates, rows, 0.99)
    assert (low99 <= low).all()
    assert (high <= high99).all()


def test_roc_has_a_point_for_every_cutoff(fitted: Any) -> None:
    model, table, y = fitted
    score = model.scorecard_.score(table)
    drawn = re.search(r'points="([^"]*)"', roc_svg(model.scorecard_, y, score))
    assert drawn is not None
    cutoffs = [np.inf, *np.unique(score)[::-1]]
    rates = [((score >= t)[~y].mean(), (score >= t)[y].mean()) for t in cutoffs]
    assert drawn[1] == " ".join(f"{_x(a)},{_y(b)}" for a, b in rates)


def test_roc_circles_are_where_the_card_acts() -> None:
    rules = [Rule(PerUnit("x"), 1)]
    card = Scorecard.from_levels(
        rules, [2, 6], [0.1, 0.3, 0.6], Thresholds.of([0.2, 0.5]), score_range=(2, 5)
    )
    score, event = np.array([0, 2, 3, 7, 9]), np.array([False, True, False, True, True])
    circles = re.findall(r'class="point" cx="([\d.]+)" cy="([\d.]+)"', roc_svg(card, event, score))
    risk = np.asarray(card.risk_of_score(score))
    acts = [risk >= p for p in (0.2, 0.5)]
    expected = [(_x(act[~event].mean()), _y(act[event].mean())) for act in acts]
    assert [(float(a), float(b)) for a, b in circles] == expected
    assert expected[1] == (_x(0), _y(0))  # no score reaches 6: the card clips 7 and 9 to 5


def test_columns_say_how_they_were_prepared() -> None:
    truth = truths()["units"]
    rows = {row.name: row for row in column_rows(truth.card, columns_of(truth))}
    assert len(rows) == len(column_rows(truth.card, columns_of(truth)))
    assert rows["late30"].prepared == (
        "added up with late60, late90 as “late”; under 1 / 1 or more; the largest taken with "
        "late90 as “worst”; whole number, from −3 to 30; 96, 98 read as missing; missing counts as "
        "0"
    )
    assert rows["late60"].prepared == (
        "added up with late30, late90 as “late”; under 1 / 1 or more; 96, 98 read as missing; "
        "where missing, late then counts as 0"
    )
    assert rows["late90"].prepared.endswith(
        "where missing, late then counts as 0; where missing, worst then counts as 1"
    )
    assert "rounded to 0.1, from 0 to 1.5" in rows["utilisation"].prepared
    assert "missing counts as 0.2" in rows["utilisation"].prepared
    given = columns_of(truth)["utilisation"]
    assert rows["utilisation"].missing == sum(value is None for value in given)


def test_numbers_that_came_as_text_are_reported() -> None:
    readings = [Reading(feature="age", text=True, special=("NA",), fill=50)]
    rules = [Rule(Condition("age", ">=", 52), 1)]
    card = Scorecard.from_levels(rules, [1], [0.1, 0.6], Thresholds.of([0.5]), readings=readings)
    columns = {"age": ["40", "60", "NA", " 70 ", ""]}
    assert card.score(columns).tolist() == [0, 1, 0, 1, 0]
    (row,) = column_rows(card, columns)
    assert (row.name, row.missing, row.share) == ("age", 2, 0.4)
    assert row.prepared.startswith("under 52 / 52 or more; ")
    assert row.prepared.endswith("missing counts as 50")
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
    numbers = [line.split("\t")[1] for line in asset("report", "tripod.txt").splitlines()]
    assert len(numbers) == len(set(numbers)) == 52
    assert {int(re.sub(r"\D", "", number)) for number in numbers} == set(range(1, 28))
    assert text.count("to be filled in by the author") > 20
    assert "The event is" in text
    assert f"{y.sum():,} with the event" in text


def test_the_checklist_mentions_updates() -> None:
    updated = Provenance(version="1", updated="risks on 512 rows (96 with the event)")
    answers = []
    for origin in (Provenance(version="1"), updated):
        card = Scorecard.from_levels([], [1], [0.2, 0.6], Thresholds.of([0.5]), provenance=origin)
        items = checklist(card, measure([0, 1], [0.2, 0.2], card.thresholds), [], "rows", "")
        answers.append({number: answer for _, number, _, answer in items})
    assert (answers[0]["12f"], answers[0]["24"]) == ("", "")
    assert answers[1]["12f"] == "Updated: risks on 512 rows (96 with the event)."
    assert "updated card" in answers[1]["24"]


def small_card(objective: float | None, bound: float | None) -> Scorecard:
    origin = Provenance(version="1", objective=objective, bound=bound)
    return Scorecard.from_levels([], [1], [0.2, 0.6], Thresholds.of([0.5]), provenance=origin)


def claimed(
    certificate: Certificate, objective: float, bound: float, rounding: float = 0.0
) -> Certificate:
    """A certificate with another objective and bound."""
    scale = ValueScale(Fraction(1), Fraction(0), 0, 0, True)
    claim = Claim("milp", Fraction(bound), Fraction(rounding), {}, scale, None)
    answer = certificate.answer._replace(objective=Fraction(objective))
    problem = replace(certificate.problem, teacher=None)
    return replace(certificate, problem=problem, answer=answer, proof=claim)


@pytest.mark.parametrize(
    ("objective", "bound", "expected"),
    [
        (None, None, "Nothing is proven about better cards."),
        (0.25, 0.25, "no card within the same limits has a higher objective ("),
        (0.4, 0.5, "has an objective more than 25.0% above this one's ("),
        (0.4, 0.40001, "has an objective more than 0.1% above this one's ("),
        (0.0, 0.012345, "has an objective above 0.01235, where this one's is 0 ("),
    ],
)
def test_what_a_card_says_is_proven(
    objective: float | None, bound: float | None, expected: str, fitted: Any
) -> None:
    alone = certificate_sentence(small_card(objective, bound), None)
    assert expected in alone
    assert "inf" not in alone
    if objective is None or bound is None:
        return
    assert alone.startswith("By its own record: no card")
    # With a certificate, its numbers count.
    certificate = claimed(fitted[0].certificate_, objective, bound)
    assert certificate_sentence(small_card(None, None), certificate) == alone
    whole = Verdict((Check("bound", True, "no box is worth more"),), "")
    assert certificate_sentence(small_card(None, None), certificate, whole) == alone.replace(
        "By its own record", "The certificate was checked against these rows and holds"
    )


def test_the_sentence_names_what_was_not_rechecked(fitted: Any) -> None:
    card, certificate = small_card(0.4, 0.5), claimed(fitted[0].certificate_, 0.4, 0.5)
    drawn = Verdict((Check("values", None, "9 of 99 boxes, drawn with seed 1, are"),), "")
    assert certificate_sentence(card, certificate, drawn).startswith(
        "The certificate is consistent with these rows, but its bound was not fully recounted. By "
        "its own record, no card within the same limits has an objective more than 25.0% above"
    )
    near = claimed(fitted[0].certificate_, 0.4, 0.4 + 1e-10, 5e-10)
    whole = Verdict((), "")
    assert "a higher objective, up to negligible rounding (" in certificate_sentence(
        card, near, whole
    )
    coarse = claimed(fitted[0].certificate_, 0.4, 0.4 + 1e-9, 1e-8)
    assert "an objective more than 0.1% above" in certificate_sentence(card, coarse, whole)


def test_the_judge_knows_an_objective_of_zero(fitted: Any) -> None:
    certificate = claimed(fitted[0].certificate_, 0.0, 0.25)
    assert _acceptance(certificate) == "no allowed card is worth more than 1/4 = 0.250000"


def test_a_certificate_that_fails_or_claims_nothing(fitted: Any) -> None:
    model, table, y = fitted
    card, certificate = model.scorecard_, model.certificate_
    assert certificate.proof is None  # local search proves nothing
    assert certificate_sentence(card, None) == "Nothing is proven about better cards."
    verdict = verify(card, certificate, table, y)
    assert verdict.accepted
    assert certificate_sentence(card, certificate, verdict) == (
        "The certificate was checked against these rows and holds, but it claims no bound: nothing "
        "is proven about better cards."
    )
    bad = Verdict((Check("data", False, "9 rows, not 8"),), "")
    assert "does not hold for these rows: data: 9 rows, not 8." in certificate_sentence(
        card, certificate, bad
    )


def test_the_page_warns_of_rows_that_the_card_has_seen(fitted: Any) -> None:
    model, table, y = fitted
    card: Scorecard = model.scorecard_
    assert "as many rows and events here" in validation_page(card, table, y)
    verdict = Verdict((), "")
    assert "learnt from, so the measures" in validation_page(card, table, y, verdict=verdict)
    fewer = {name: values[1:] for name, values in table.items()}
    assert "flatter" not in validation_page(card, fewer, y[1:])


def test_the_page_warns_of_rows_of_which_some_were_held_out(fitted: Any) -> None:
    model, table, y = fitted
    card: Scorecard = model.scorecard_
    n, events = len(y), int(np.sum(y))
    held_out = HeldOut(0.1234, (HeldOutLevel(None, 100.0, 30.0, 0.2, 0.4),))
    origin = replace(card.provenance, n_rows=n - 100, n_events=events - 30)
    made = replace(card, provenance=origin, held_out=held_out)
    page = validation_page(made, table, y)
    assert f"{n - 100} rows to learn from, and 100 held out. If they are the same rows" in page
    assert "it has net benefit 0.1234 on 100 held-out rows." in page
    other = replace(card, provenance=replace(origin, n_events=events - 29), held_out=held_out)
    assert "flatter" not in validation_page(other, table, y)


def test_the_verdict_says_what_makes_a_card_doubtful(fitted: Any) -> None:
    model, table, y = fitted
    card: Scorecard = model.scorecard_
    leaking = replace(card, provenance=replace(card.provenance, caution="likely leak: 'age < 3'"))
    verdict = validation_page(leaking, table, y).partition('class="verdict"')[2]
    assert "Caution: likely leak: &#x27;age &lt; 3&#x27;." in verdict.partition("</section>")[0]
