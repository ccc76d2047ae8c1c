"""The card on paper and in a notebook: it lines up, it is complete, and names cannot break it."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.cards.readings import Reading
from netbenefit.cards.rules import HeldOut
from netbenefit.cards.scorecard import Provenance, Rule, Scorecard
from netbenefit.cards.terms import Condition, PerUnit
from netbenefit.cards.text import contents, percent, strip_control, wrap
from netbenefit.common.table import display_width
from netbenefit.export.tables import to_latex, to_markdown
from netbenefit.metrics.thresholds import Thresholds
from tests.helpers.full import examples

HALF = Thresholds.of([0.5])


def credit_card(**options) -> Scorecard:
    """The published card on credit data."""
    return Scorecard.from_levels(
        rules=[
            Rule(Condition("age", ">=", 52), -2),
            Rule(PerUnit("utilisation", decimals=1, upper=1.5), 10),
            Rule(Condition("open lines", ">=", 8), 1),
            Rule(Condition("real-estate loans", ">=", 1), -1),
            Rule(PerUnit("past due", binary=True), 9),
        ],
        cutoffs=[10, 15, 18, 20, 21, 25, 25, 25, 25],
        risks=[0.028, 0.14, 0.268, 0.371, 0.489, 0.534, None, None, None, 0.9],
        thresholds=Thresholds.tenths(),
        score_range=(-3, 25),
        **options,
    )


PRINTED = """\
┌───────────────────────────────────────────────────────────────────────────┐
│ Risk of serious delinquency                                               │
│ 5 questions: add up the points of the answers                             │
├───────────────────┬─────────────────────────────┬───────────────┬─────────┤
│ question          │ answer                      │        points │         │
├───────────────────┼─────────────────────────────┼───────────────┼─────────┤
│ utilisation       │ rounded to 0.1, at most 1.5 │ × 10 per unit │   _____ │
├───────────────────┼─────────────────────────────┼───────────────┼─────────┤
│ past due          │ no                          │             0 │ + _____ │
│                   │ yes                         │             9 │         │
├───────────────────┼─────────────────────────────┼───────────────┼─────────┤
│ age               │ under 52                    │             0 │ + _____ │
│                   │ 52 or more                  │            −2 │         │
├───────────────────┼─────────────────────────────┼───────────────┼─────────┤
│ open lines        │ under 8                     │             0 │ + _____ │
│                   │ 8 or more                   │             1 │         │
├───────────────────┼─────────────────────────────┼───────────────┼─────────┤
│ real-estate loans │ under 1                     │             0 │ + _____ │
│                   │ 1 or more                   │            −1 │         │
├───────────────────┴─────────────────────────────┴───────────────┼─────────┤
│                                             SCORE, rounded down │ = _____ │
├───────┬─────────┬─────────┬─────────┬─────────┬─────────┬───────┴┬────────┤
│ SCORE │   ≤ 9   │  10–14  │  15–17  │  18–19  │   20    │ 21–24  │  ≥ 25  │
│ RISK  │  2.8%   │  14.0%  │  26.8%  │  37.1%  │  48.9%  │ 53.4%  │ 90.0%  │
└───────┴─────────┴─────────┴─────────┴─────────┴─────────┴────────┴────────┘
  150,000 rows · prevalence 6.7% · objective 0.0123 · gap 5.7%"""


def test_the_published_card_prints_as_published():
    provenance = Provenance(
        version="1",
        n_rows=150_000,
        prevalence=0.0668,
        objective=0.0123,
        bound=0.0130,
        outcome="serious delinquency",
    )
    assert str(credit_card(provenance=provenance)) == PRINTED


ASCII = str.maketrans(dict.fromkeys("┌┐└┘├┤┬┴┼", "+") | {"─": "-", "│": "|"})
BOX = set("┌┐└┘├┤┬┴┼─│")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "utf-8"])
def test_print_draws_what_the_stream_can_show(encoding):
    code = "from tests.cards.test_text import credit_card; print(credit_card())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        check=True,
    )
    lines = done.stdout.decode(encoding).splitlines()
    assert len({display_width(line) for line in lines}) == 1  # laid out for what is shown
    shown = " ".join(line.translate(ASCII) for line in lines)
    assert "?" not in shown
    signs = {"ascii": ("<=", ">=", "-"), "cp1252": ("<=", ">=", "-"), "cp437": ("≤", "≥", "-")}
    low, high, minus = signs.get(encoding, ("≤", "≥", "−"))
    for text in (f" {low} 9 ", f" {high} 25 ", f" {minus}2 |", f" {minus}1 |"):
        assert text in shown
    drawn = encoding in ("utf-8", "cp437")
    assert bool(BOX & set("".join(lines))) == drawn
    dash = "-" if encoding in ("ascii", "cp437") else "–"
    assert f" 10{dash}14 " in shown


def test_little_is_known():
    text = str(credit_card())
    assert "Risk score" in text
    assert text.endswith("┘")
    bare = str(credit_card(provenance=Provenance(version="1")))
    assert bare == text


@pytest.mark.parametrize(
    ("facts", "footer"),
    [
        ({"n_rows": 12.5}, "12.5 rows"),
        ({"objective": -0.25}, "objective −0.2500"),
        ({"objective": 0.3, "bound": 0.3}, "objective 0.3000 · proven optimal"),
        ({"objective": 0.3, "bound": 0.30001}, "objective 0.3000 · gap <0.1%"),
        ({"objective": 0.0, "bound": 0.3}, "objective 0.0000"),
        ({"n_rows": 3, "prevalence": 1.0}, "3 rows · prevalence 100.0%"),
    ],
)
def test_footer(facts, footer):
    text = str(credit_card(provenance=Provenance(version="1", **facts)))
    assert text.splitlines()[-1].strip() == footer


def box_of(card: Scorecard) -> list[str]:
    lines = str(card).splitlines()
    end = next(i for i, line in enumerate(lines) if line.startswith("└"))
    assert all(line.startswith("  ") for line in lines[end + 1 :])
    return lines[: end + 1]


def check_box(lines: list[str]) -> None:
    """Check that lines are equally wide and that every vertical stroke meets its neighbours."""
    assert len({display_width(line) for line in lines}) == 1
    grids = []
    for line in lines:  # one entry a terminal column
        grid = []
        for char in line:
            grid += [char] * display_width(char)
        grids.append(grid)
    down, up = set("┌┐├┤┬┼│"), set("└┘├┤┴┼│")
    for above, below in pairwise(grids):
        for a, b in zip(above, below, strict=True):
            assert (a in down) == (b in up)


names = st.text(
    st.characters(codec="utf-8", exclude_characters="┌┐├┤┬┼│└┘┴"), min_size=1, max_size=60
) | st.sampled_from(["年齢", "e\u0301te\u0301", "גיל", "👩‍⚕️ doctor", "a\nb\tc", "x" * 300, " "])


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.tuples(names, st.integers(-(10**9), 10**9), st.integers(0, 5)), max_size=6),
    st.integers(1, 12),
    st.integers(-(10**6), 10),
    st.integers(0, 400),
    names,
)
def test_every_line_of_the_box_lines_up(columns, count, start, step, outcome):
    rules = {}
    for name, points, kind in columns:
        term = [
            PerUnit(name, binary=True),
            PerUnit(name, 3, lower=-1, upper=12.5),
            Condition(name, ">=", -12.25),
            Condition(name, "between", (0, 1e-9)),
            Condition(name, "missing"),
            Condition(name, "in", (1, 2, 3)),
        ][kind]
        rules[term] = Rule(term, points)
    thresholds = Thresholds.of([(i + 1) / 20 for i in range(count)])
    cutoffs = [start + i * step for i in range(count)]
    reached = [True] + [step > 0] * (count - 1) + [True]
    risks = [p if r else None for p, r in zip(thresholds.values, reached, strict=True)]
    card = Scorecard.from_levels(
        tuple(rules.values()),
        cutoffs,
        risks,
        thresholds,
        provenance=Provenance(version="1", n_rows=3, outcome=outcome),
    )
    lines = box_of(card)
    check_box(lines)
    assert all(display_width(line) <= 80 for line in str(card).splitlines())
    assert sum(line.startswith("│ SCORE │") for line in lines) >= 1


def test_the_alignment_check_can_fail():
    broken = PRINTED.splitlines()[:-1]
    broken[8] = broken[8].replace("past due", "past  due")
    with pytest.raises(AssertionError):
        check_box(broken)
    broken = PRINTED.splitlines()[:-1]
    broken[-4] = broken[-4].replace("─┬─", "───", 1)
    with pytest.raises(AssertionError):
        check_box(broken)


def test_long_names_wrap_and_long_tables_split():
    name = "worst concave points of the cell nucleus, as the mean over the three largest of them"
    thresholds = Thresholds.of([i / 20 for i in range(20)])
    card = Scorecard.from_levels(
        [Rule(Condition(name, ">=", 0.142), 4), Rule(PerUnit("falls"), -1)],
        range(-19, 0),
        [p + 0.01 for p in thresholds.values],
        thresholds,
    )
    lines = box_of(card)
    check_box(lines)
    assert max(map(display_width, lines)) <= 80
    cells = [line.split("│")[1].strip() for line in lines[5:9] if "│ " in line]
    assert " ".join(cells).startswith(name)
    assert any("│ 0.142 or more" in line for line in lines)
    scores = [line for line in lines if line.startswith("│ SCORE │")]
    assert len(scores) > 1
    printed = [cell.strip() for line in scores for cell in line.split("│")[2:-1] if cell.strip()]
    assert printed == ["≤ −20", *(f"−{n}" for n in range(19, 1, -1)), "≥ −1"]


def long_card(n: int) -> Scorecard:
    """A card with ``n`` scores, each with a risk of its own."""
    rules = [Rule(Condition("sex", "==", "male"), 1), Rule(PerUnit("falls", 0, 0, n - 2), 1)]
    risks = [(s, 0.004 + 0.99 * (s / n) ** 2) for s in range(n)]
    return Scorecard(rules, risks, Thresholds.tenths(), (0, n - 1))


@pytest.mark.parametrize("n", [5, 16, 40, 60])
def test_long_tables_are_printed_in_full(n):
    card = long_card(n)
    expected = [(str(s), percent(q, card.thresholds)) for s, q in card.risks]
    lines = box_of(card)
    check_box(lines)
    assert max(map(display_width, lines)) <= 80
    scores, risks = (
        [cell.strip() for line in lines if line.startswith(head) for cell in line.split("│")[2:-1]]
        for head in ("│ SCORE │", "│ RISK  │")
    )
    assert list(zip(filter(None, scores), filter(None, risks), strict=True)) == expected
    words = [text.strip() for text in read(card._repr_html_()).text.split("|")]
    assert [w for w in words if w.endswith("%")] == [risk for _, risk in expected]
    pairs = [
        tuple(cells[i : i + 2])
        for line in to_markdown(card).splitlines()
        if re.search(r"% \|( \|  \|)*$|^\| \d+ \|", line)
        for cells in [[cell.strip() for cell in line.split("|")[1:-1]]]
        for i in range(0, len(cells), 2)
        if cells[i]
    ]
    assert sorted(pairs, key=lambda pair: int(pair[0])) == expected
    assert len(to_latex(card).splitlines()) < 45
    assert to_latex(card).count("\\%") == n


def test_neighbours_of_equal_risk_are_one_row():
    steps = [(0, 0.1), (1, 0.2), (2, 0.2), (3, 0.2), (4, 0.6)]
    card = Scorecard([Rule(PerUnit("falls", 0, 0, 4), 1)], steps, HALF, (0, 4))
    assert contents(card).table == [("0", "10.0%"), ("1–3", "20.0%"), ("4", "60.0%")]


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"teacher": "boosting"}, "taught by boosting"),
        (
            {"teacher": "boosting", "share_kept": 0.9899, "share_bound": 0.99501},
            "taught by boosting · keeps 98.9% of its net benefit (no card of its size keeps "
            "more than 99.6%)",
        ),
        (
            {"teacher": "boosting", "share_kept": 0.9899},
            "taught by boosting · keeps 98.9% of its net benefit",
        ),
        (
            {"teacher": "boosting", "share_kept": 0.99, "share_bound": 0.99},
            "taught by boosting · keeps 99.0% of its net benefit (no card of its size keeps more)",
        ),
        ({}, ""),
    ],
)
def test_the_footer_says_what_taught_the_card(known, words):
    origin = Provenance(
        version="1", n_rows=90, net_benefit=0.3474, prior_strength=math.inf, **known
    )
    footer = contents(Scorecard([], [(0, 0.1)], HALF, provenance=origin)).footer
    assert footer == " · ".join(
        filter(None, ["90 rows", "net benefit 0.3474 on the training rows", words])
    )


def test_the_footer_has_the_net_benefit_of_held_out_rows_where_it_is_known():
    levels = [(None, 30, 2, 0.01, 0.2), (1, 10, 5, 0.2, 0.8)]
    for strength, words in ((math.inf, ""), (0.0, "objective 0.4000 · ")):
        origin = Provenance(
            version="1", n_rows=90, net_benefit=0.3474, objective=0.4, prior_strength=strength
        )
        card = Scorecard([], [(0, 0.1)], HALF, provenance=origin, held_out=HeldOut(-0.02, levels))
        expected = f"90 rows · {words}net benefit −0.0200 on 40 held-out rows"
        assert contents(card).footer == expected
    bare = Scorecard([], [(0, 0.1)], HALF, held_out=HeldOut(0.02, levels))
    assert contents(bare).footer == "net benefit 0.0200 on 40 held-out rows"


def test_a_card_without_rules_and_with_many():
    empty = Scorecard.from_levels([], [1], [0.2, 0.7], HALF)
    check_box(box_of(empty))
    assert "no questions: every row scores 0" in str(empty)
    assert "no questions: every row scores 0" in empty._repr_html_()
    many = Scorecard.from_levels(
        [Rule(PerUnit(f"x{i}"), i) for i in range(1, 201)], [1], [0.2, 0.7], HALF
    )
    lines = box_of(many)
    check_box(lines)
    assert all(any(re.search(rf"\bx{i} ", line) for line in lines) for i in range(1, 201))


def test_answers_stand_below_their_question_heaviest_first():
    rules = [
        Rule(Condition("age", ">=", 40), 1),
        Rule(PerUnit("falls"), -2),
        Rule(Condition("age", ">=", 60), 3),
        Rule(PerUnit("sex"), 2),
        Rule(Condition("age", "missing"), 0),
    ]
    assert contents(Scorecard.from_levels(rules, [1], [0.2, 0.7], HALF)).questions == [
        (
            "age",
            [("under 40", "0"), ("40 to under 60", "1"), ("60 or more", "4"), ("not known", "0")],
        ),
        ("falls", [("whole number", "× −2 per unit")]),
        ("sex", [("whole number", "× 2 per unit")]),
    ]


def test_points_say_what_they_count():
    card = Scorecard.from_levels(
        [
            Rule(PerUnit("falls"), 2),
            Rule(PerUnit("bmi", decimals=1), -1),
            Rule(PerUnit("ill", binary=True), 1),
            Rule(Condition("lab", ">=", 7), -3),
            Rule(Condition("lab", "missing"), 0),
        ],
        [1],
        [0.2, 0.7],
        HALF,
    )
    for words in ("× 2 per unit", "│ rounded to 0.1 ", "× −1 per unit", "│ 7 or more ", " −3 │"):
        assert words in str(card)
    assert "rounded down" in str(card)
    whole = Scorecard.from_levels([Rule(PerUnit("falls"), 2)], [1], [0.2, 0.7], HALF)
    assert "rounded down" not in str(whole)


@pytest.mark.parametrize(
    ("risk", "text"),
    [
        (0.0, "0.0%"),
        (1e-9, "<0.1%"),
        (0.00049, "<0.1%"),
        (0.0006, "0.1%"),
        (0.14, "14.0%"),
        (0.9994, "99.9%"),
        (0.9996, ">99.9%"),
        (1 - 1e-16, ">99.9%"),
        (1.0, "100.0%"),
    ],
)
def test_percentages_are_never_falsely_certain(risk, text):
    assert percent(risk) == text


@settings(max_examples=examples(300), deadline=None)
@given(st.floats(0, 1), st.lists(st.integers(1, 9999), min_size=1, max_size=4, unique=True))
def test_a_printed_risk_stays_on_its_side_of_every_threshold(risk, grid):
    thresholds = Thresholds.of([i / 10_000 for i in sorted(grid)])
    text = percent(risk, thresholds)
    if text[0] in "<>":
        edge = float(text[1:-1]) / 100
        low, high = (0, edge) if text[0] == "<" else (edge, 1)
        assert low < risk < high
        if abs(edge - risk) < 1e-7:  # right below or above a threshold
            low, high = sorted([edge, risk])
        assert not any(low + 1e-12 < p < high - 1e-12 for p in thresholds.values)
        return
    for p in thresholds.values:
        if abs(p - risk) > 1e-9:
            assert (round(float(text[:-1]), 12) >= round(100 * p, 12)) == (risk >= p)


@pytest.mark.parametrize(
    ("text", "width"),
    [("age ≥ 5", 7), ("年齢", 4), ("e\u0301te\u0301", 3), ("می\u200cشود", 5), ("😀", 2), ("", 0)],
)
def test_display_width(text, width):
    assert display_width(text) == width


def test_wrap_keeps_every_word():
    assert wrap("", 5) == [""]
    assert wrap("ab cd", 80) == ["ab cd"]
    assert wrap("年齢年齢", 5) == ["年齢", "年齢"]
    assert wrap("abcdefgh ij", 4) == ["abcd", "efgh", "ij"]


@given(st.text(max_size=40), st.integers(2, 20))
def test_wrapped_lines_fit(text, width):
    lines = wrap(strip_control(text), width)
    assert all(display_width(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(strip_control(text).split())


def test_names_cannot_disturb_the_terminal():
    assert strip_control("a\x1b[31m\u202egnp\u2028b") == "a�[31mgnp b"
    assert strip_control("می\u200cشود") == "می\u200cشود"


# -- how columns are read --------------------------------------------------------------------------


def raw_card(*readings: Reading) -> Scorecard:
    return Scorecard.from_levels(
        rules=[
            Rule(Condition("age", ">=", 40), 1),
            Rule(Condition("age", ">=", 60), 2),
            Rule(Condition("past due", ">=", 1), 4),
        ],
        cutoffs=[4],
        risks=[0.1, 0.7],
        thresholds=HALF,
        provenance=Provenance(version="1", n_rows=90),
        readings=readings,
    )


NOTED = """\
┌───────────────────────────────────────────────┐
│ Risk score                                    │
│ 2 questions: add up the points of the answers │
├──────────┬─────────────────┬────────┬─────────┤
│ question │ answer          │ points │         │
├──────────┼─────────────────┼────────┼─────────┤
│ past due │ under 1         │      0 │   _____ │
│          │ 1 or more       │      4 │         │
├──────────┼─────────────────┼────────┼─────────┤
│ age      │ under 40        │      0 │ + _____ │
│          │ 40–59           │      1 │         │
│          │ 60 or more      │      3 │         │
├──────────┴─────────────────┴────────┼─────────┤
│                               SCORE │ = _____ │
├───────┬───────────────────┬─────────┴─────────┤
│ SCORE │        0–3        │        4–7        │
│ RISK  │       10.0%       │       70.0%       │
└───────┴───────────────────┴───────────────────┘
  past due: the sum of late 30, late 60
  late 60: −9 means not known
  if not known, count as: age 52 (none was missing in training)
  90 rows"""


def test_what_is_not_known_counts_as_yes_or_no_where_these_are_the_answers() -> None:
    rules = [Rule(PerUnit("smoker", binary=True), 2), Rule(Condition("age", ">=", 40), 1)]
    readings = [Reading(feature="smoker", fill=0), Reading(feature="age", fill=0)]
    card = Scorecard.from_levels(rules, [2], [0.1, 0.7], HALF, readings=readings)
    notes = ["if not known, count as: smoker no, age 0 (none was missing in training)"]
    assert contents(card).notes == notes


def noted_card() -> Scorecard:
    return raw_card(
        Reading(feature="age", whole=True, fill=52),
        Reading(feature="past due", sources=("late 30", "late 60"), combine="sum"),
        Reading(feature="late 60", special=(-9,)),
    )


def test_notes_stand_between_box_and_footer():
    assert str(noted_card()) == NOTED
    html = noted_card()._repr_html_()
    places = [html.index(words) for words in ("4–7", "past due: the", "late 60: −9", "90 rows")]
    assert places == sorted(places)


def test_long_notes_wrap_and_cannot_disturb_the_terminal():
    name = "the number of days\x1b[31m since the last visit " * 4
    card = raw_card(Reading(feature="past due", sources=("a" * 90, name), combine="max"))
    lines = str(card).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("└"))
    notes = lines[start + 1 : -1]
    assert all(display_width(line) <= 80 for line in lines)
    assert notes[0].startswith("  past due: the largest of")
    assert len(notes) > 3
    assert all(line.startswith("    ") for line in notes[1:])
    words = "".join("".join(notes).split())
    assert words == "".join(strip_control(f"past due: the largest of {'a' * 90}, {name}").split())


# -- HTML ------------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Collect elements, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += f"|{data}"


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


EVIL = "\"><script>alert('1')</script><img src=x onerror=alert(1)>&amp;"


def test_html_says_what_the_text_says():
    reader = read(credit_card(provenance=Provenance(version="1", outcome="default"))._repr_html_())
    expected = [
        "Risk of default",
        "5 questions: add up",
        "utilisation",
        "rounded to 0.1, at most 1.5",
    ]
    expected += [
        "× 10 per unit",
        "52 or more",
        "−2",
        "yes",
        "9",
        "SCORE, rounded down",
        "≤ 9",
        "21–24",
        "53.4%",
        "≥ 25",
        "90.0%",
    ]
    for words in expected:
        assert f"|{words}" in reader.text


def test_html_escapes_names():
    card = Scorecard.from_levels(
        [
            Rule(Condition(EVIL, "==", EVIL), 1),
            Rule(PerUnit("<b>bold</b>"), 1),
        ],
        [1],
        [0.2, 0.7],
        HALF,
        provenance=Provenance(version=EVIL, solver=EVIL, status=EVIL, outcome=EVIL),
    )
    reader = read(card._repr_html_())
    assert not {"script", "img", "b", "link", "style", "iframe"} & set(reader.tags)
    assert f"|{EVIL}|{EVIL}|1|" in reader.text
    assert f"Risk of {EVIL}" in reader.text
    assert {name for name, _ in reader.attributes} <= {
        "style",
        "class",
        "scope",
        "rowspan",
        "colspan",
    }


def test_html_escapes_notes():
    card = raw_card(Reading(feature="past due", sources=(EVIL, "b"), combine="min"))
    reader = read(card._repr_html_())
    assert not {"script", "img", "b"} & set(reader.tags)
    assert f"past due: the smallest of {EVIL}, b" in reader.text


def test_html_is_self_contained_and_inherits_colours():
    html = credit_card()._repr_html_()
    assert not re.search(r"https?:|url\(|src=|href=|@import", html)
    colours = re.findall(r"(?<![-\w])(?:color|background):([^;\"]+)", html)
    assert set(colours) <= {"inherit", "transparent"}
