"""A card in words: questions, a SCORE row, SCORE → RISK; drawn as text or as HTML."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from html import escape
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from netbenefit.cards.questions import Answer, is_idle
from netbenefit.cards.readings import plain_number, value_text
from netbenefit.cards.rules import HeldOut, Provenance, RiskRow
from netbenefit.cards.terms import PerUnit
from netbenefit.common import Value, display_width, meaning_of, spell_out
from netbenefit.metrics import Thresholds

if TYPE_CHECKING:
    from netbenefit.cards.scorecard import Scorecard


def card_notes(card: Scorecard) -> list[str]:
    """Return how the columns that are asked for are read, one sentence per rule of reading.

    What an answer "not known" says is left out.  The fills of columns without missing values in
    training come last, in one sentence.
    """
    readings = {reading.feature: reading for reading in card.readings}
    called = card.labels.called
    listed = {question.feature for question in card.questions if question.filled}
    names: dict[str, None] = {}
    for question in card.questions:
        names[question.feature] = None
        if question.feature in readings:  # the sources have to be read first
            names |= dict.fromkeys(readings[question.feature].sources)
    used = [
        replace(readings[name], fill=None)
        if name in listed or is_idle(readings[name], readings)
        else readings[name]
        for name in names
        if name in readings
    ]
    unseen = [
        r for r in used if r.fill is not None and not (r.saw_missing or r.special or r.sources)
    ]
    binary = {
        rule.term.feature
        for rule in card.rules
        if isinstance(rule.term, PerUnit) and rule.term.binary
    }
    notes = [
        note
        for reading in used
        if reading not in unseen
        for note in replace(
            reading,
            feature=called(reading.feature),
            sources=tuple(map(called, reading.sources)),
        ).notes()
    ]
    if unseen:
        fills = [
            f"{called(one.feature)} "
            f"{value_text(cast(Value, one.fill), binary=one.feature in binary)}"
            for one in unseen
        ]
        notes.append(f"if not known, count as: {', '.join(fills)} (none was missing in training)")
    return notes


_BLANK = "_____"
_NARROWEST = 16
#: Most rows of an upright SCORE → RISK table; longer ones are split into columns.
_LONGEST = 15
#: Format characters that belong to writing (joiners); the others could reorder or hide text.
_JOINERS = "\u200c\u200d"
#: A horizontal line meets a vertical one (above, below).
_JUNCTIONS = {(True, True): "┼", (True, False): "┴", (False, True): "┬", (False, False): "─"}


class Asked(NamedTuple):
    """One question as it is printed."""

    name: str
    answers: list[tuple[str, str]]  #: words and points


class Contents(NamedTuple):
    """What is printed on a card, cleaned of control characters, not escaped."""

    title: str
    asked: str  #: how many questions, and what to do with them
    questions: list[Asked]
    score: str
    table: list[tuple[str, str]]
    notes: list[str]  #: how columns are read
    footer: str


def contents(card: Scorecard) -> Contents:
    """Put a card into words."""
    labels = card.labels
    outcome = labels.outcome
    if not outcome and card.provenance and card.provenance.outcome:
        outcome = event_in_words(card.provenance.outcome)
    title = labels.title or (f"Risk of {outcome}" if outcome else "Risk score")
    rounded = any(
        unit.term is not None and unit.term.decimals
        for question in card.questions
        for unit in question.units
    )
    return Contents(
        title=strip_control(title),
        asked=count_text(len(card.questions)),
        questions=[
            Asked(
                strip_control(labels.of(question.feature).name),
                [(strip_control(a.text), points_text(a)) for a in question.listed()],
            )
            for question in card.questions
        ],
        score="SCORE, rounded down" if rounded else "SCORE",
        table=[(scores_text(r), percent(r.risk, card.thresholds)) for r in card.risk_table()],
        notes=[strip_control(note) for note in card_notes(card)],
        footer=_footer(card),
    )


def event_in_words(outcome: str) -> str:
    """Say what "column = label" means: the column where the label says yes, else the label."""
    name, _, label = outcome.partition(" = ")
    if not label or " = " in label or meaning_of(label) is False:
        return outcome
    if meaning_of(label):
        return "the outcome" if name == "outcome" else name
    if plain_number(label) is not None:
        return outcome
    return label if name == "outcome" else f"{label} ({name})"


def count_text(questions: int) -> str:
    """Say how many questions a card asks, and what to do with the answers."""
    if not questions:
        return "no questions: every row scores 0"
    if questions == 1:
        return "1 question: the points of its answer are the score"
    return f"{questions} questions: add up the points of the answers"


def points_text(answer: Answer) -> str:
    """Write what an answer is worth."""
    number = integer_text(answer.points)
    return f"× {number} per unit" if answer.per_unit else number


def scores_text(row: RiskRow) -> str:
    """Write the scores of one row of the table."""
    if row.low is None:
        return "any" if row.high is None else f"≤ {integer_text(row.high)}"
    if row.high is None:
        return f"≥ {integer_text(row.low)}"
    if row.low == row.high:
        return integer_text(row.low)
    return f"{integer_text(row.low)}{' to ' if row.low < 0 else '–'}{integer_text(row.high)}"


def percent(risk: float, thresholds: Thresholds | None = None) -> str:
    """Write a risk with one decimal, never as 0 or 1 unless it is.

    A risk that rounding would move across a threshold gets more decimals, so that a decision by the
    printed number is the card's decision.
    """
    for decimals in range(1, 6):
        text = f"{100 * risk:.{decimals}f}"
        shown = end = float(Decimal(text).scaleb(-2))
        if shown in (0.0, 1.0) and shown != risk:  # print the nearest number that it is not
            edge = Decimal(1).scaleb(-decimals)
            text = f"<{edge}" if shown == 0.0 else f">{100 - edge}"
            end = abs(shown - 1e-12)  # "<0.1%" covers all below, which must be on one level
            shown = abs(shown - 0.00999999 * float(edge))
        values = () if thresholds is None else thresholds.values
        if len({bisect_right(values, q) for q in (shown, end, risk)}) == 1:
            return text + "%"
    return f"{'<' if shown > risk else '>'}{float(text.lstrip('<>'))}%"  # next to a threshold


def side_by_side(table: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Break a long SCORE → RISK table into columns of about equal length."""
    columns = -(-len(table) // _LONGEST)
    length = -(-len(table) // columns)
    return [list(table[start : start + length]) for start in range(0, len(table), length)]


def integer_text(number: int) -> str:
    """Write an integer with a true minus sign."""
    return f"−{-number}" if number < 0 else str(number)


def _footer(card: Scorecard) -> str:
    held_out, provenance = card.held_out, card.provenance
    seen = [] if held_out is None else [held_out_text(held_out)]
    if provenance is None:
        return "".join(seen)
    parts = []
    if provenance.n_rows is not None:
        parts.append(f"{provenance.n_rows:,.10g} rows")
    if provenance.prevalence is not None:
        parts.append(f"prevalence {percent(provenance.prevalence)}")
    if provenance.prior_strength:
        # The objective is a sum that means nothing to a reader; its net benefit does.
        if not seen and provenance.net_benefit is not None:
            benefit = f"{provenance.net_benefit:.4f}".replace("-", "−")
            parts.append(f"net benefit {benefit} on the training rows")
    else:
        if provenance.objective is not None:
            parts.append(f"objective {provenance.objective:.4f}".replace("-", "−"))
        gap = provenance.gap
        if gap is not None and gap < math.inf:
            parts.append("proven optimal" if gap == 0 else f"gap {percent(gap)}")
    parts += seen
    if provenance.teacher is not None:
        parts.append(f"taught by {strip_control(provenance.teacher)}")
        parts += [kept_text(provenance)] if provenance.share_kept is not None else []
    if provenance.updated is not None:
        parts.append(f"updated: {strip_control(provenance.updated)}")
    changes = len(card.decisions) - 1  # the first is the card as it was learnt
    if changes > 0:
        parts.append(f"{changes} change{'s' * (changes != 1)} after it was learnt")
    if provenance.caution is not None:
        parts.append(f"caution: {strip_control(provenance.caution)}")
    return " · ".join(parts)


def held_out_text(found: HeldOut) -> str:
    """Say what a card was worth on rows that it had not seen."""
    benefit = f"{found.net_benefit:.4f}".replace("-", "−")
    return f"net benefit {benefit} on {found.n_rows:,.10g} held-out rows"


def price_text(provenance: Provenance) -> str:
    """Say what was paid for rules, or for questions and further rules; empty if nothing was."""
    if not provenance.penalty:
        return ""
    if provenance.rule_penalty is None:
        return f"{provenance.penalty:.4g} per rule"
    further = f"{provenance.rule_penalty:.4g} per further rule"
    return f"{provenance.penalty:.4g} per question and {further}"


def kept_text(provenance: Provenance) -> str:
    """Say how much of its teacher's net benefit a card keeps; a bound of 100% or more is left out.

    The share is rounded down and the bound up, so that rounding never makes the card look better.
    """
    kept, bound = provenance.share_kept, provenance.share_bound
    assert kept is not None
    text = f"keeps {share_text(kept)} of its net benefit"
    if bound is None or (bound >= 1.0 and bound > kept):
        return text
    if bound <= kept:
        return f"{text} (no card of its size keeps more)"
    return f"{text} (no card of its size keeps more than {math.ceil(1000 * bound) / 10:.1f}%)"


def share_text(share: float) -> str:
    """Write a share in percent, rounded down."""
    return f"{math.floor(1000 * share) / 10:.1f}%".replace("-", "−")


# -- drawing ---------------------------------------------------------------------------------------


def render(card: Scorecard, width: int = 80, encoding: str = "utf-8") -> str:
    """Draw a card in one box, at most ``width`` columns wide where its contents allow.

    Signs that the encoding does not hold are spelled out before anything is laid out.

    (1) Find the widths that the two tables need, (2) give the box the larger one, within the page,
    (3) draw the title, (4) the questions, (5) the score, (6) the risks, in as many blocks as they
    need, (7) notes and footer below the box.
    """
    printed = Contents(*_spelled(contents(card), encoding))
    questions = [Asked(*asked) for asked in printed.questions]
    all_answers = [pair for asked in questions for pair in asked.answers]
    # 1. Questions: name, answer, points, blank to fill in.  Risks: heading and one cell per level.
    name = max(map(display_width, ["question", *(asked.name for asked in questions)]))
    answer = max(display_width(text) for text in ["answer", *(words for words, _ in all_answers)])
    points = max(display_width(text) for text in ["points", *(worth for _, worth in all_answers)])
    blank = len(_BLANK) + 2
    cell = max(display_width(text) for pair in printed.table for text in pair) + 2
    heading = len("SCORE") + 2
    fitting = max(1, (width - heading - 2) // (cell + 1))
    blocks = -(-len(printed.table) // fitting)
    in_block = -(-len(printed.table) // blocks)
    table_width = heading + 2 + in_block * (cell + 1)
    # 2. One width for all.  Where it is short, names and answers are broken into lines.
    above = [printed.title, printed.asked]
    fixed = points + blank + 13
    needed = max(name + answer + fixed, table_width)
    needed = max(needed, *(min(width, display_width(text) + 4) for text in above))
    total = max(min(needed, width), _NARROWEST + fixed, table_width)
    name = min(name, max(_NARROWEST // 2, total - fixed - answer, (total - fixed) * 2 // 5))
    answer = total - fixed - name
    edges = [name + 3, name + answer + 6, total - blank - 4]
    box = _Box(total)
    # 3. Title.
    for line in (line for text in above for line in wrap(text, total - 4)):
        box.row([line], ())
    # 4. Questions.
    if questions:
        box.line(edges)
        box.row(["question", "answer", "points", ""], edges, "<<><")
    for i, asked in enumerate(questions):
        box.line(edges)
        words: list[str] = []
        worth: list[str] = []
        for text, own in asked.answers:
            lines = wrap(text, answer)
            words += lines
            worth += [own, *[""] * (len(lines) - 1)]
        blanks = [f"{'+' if i else ' '} {_BLANK}"]
        parts = zip_longest(wrap(asked.name, name), words, worth, blanks, fillvalue="")
        for cells in parts:
            box.row(cells, edges, "<<><")
    # 5. Score.
    box.line(edges[2:])
    box.row([printed.score, f"= {_BLANK}"], edges[2:], "><")
    # 6. Risks: spare columns go to the first cells.
    spare, extra = divmod(total - table_width, in_block)
    edges = [heading + 1]
    for i in range(in_block - 1):
        edges.append(edges[-1] + cell + 1 + spare + (i < extra))
    for start in range(0, len(printed.table), in_block):
        block = printed.table[start : start + in_block]
        block = block + [("", "")] * (in_block - len(block))
        box.line(edges)
        box.row(["SCORE", *(scores for scores, _ in block)], edges, "<" + "^" * in_block)
        box.row(["RISK", *(risk for _, risk in block)], edges, "<" + "^" * in_block)
    box.close()
    # 7. Below the box; the further lines of a long note are indented.
    room = max(total, width) - 2
    below = [f"  {line}" for line in wrap(printed.footer, room) if line]
    notes = [wrap(note, room - 2) for note in printed.notes]
    hung = [f"{'    ' if k else '  '}{line}" for note in notes for k, line in enumerate(note)]
    return spell_out("\n".join([*box.lines, *hung, *below]), encoding)


def _spelled(value: Any, encoding: str) -> Any:
    """Spell out all texts of nested lists and tuples."""
    if isinstance(value, str):
        return spell_out(value, encoding)
    return [_spelled(item, encoding) for item in value]


class _Box:
    """Lines of a box whose inner vertical edges change from part to part."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines = ["┌" + "─" * (width - 2) + "┐"]
        self._edges: frozenset[int] = frozenset()

    def row(self, cells: Sequence[str], edges: Sequence[int], align: str = "<<<") -> None:
        rooms = (end - start - 3 for start, end in pairwise([0, *edges, self.width - 1]))
        texts = map(_pad, cells, rooms, align)
        self.lines.append("│ " + " │ ".join(texts) + " │")
        self._edges = frozenset(edges)

    def line(self, edges: Sequence[int]) -> None:
        below = frozenset(edges)
        middle = (_JUNCTIONS[i in self._edges, i in below] for i in range(1, self.width - 1))
        self.lines.append("├" + "".join(middle) + "┤")
        self._edges = below

    def close(self) -> None:
        self.line(())
        self.lines[-1] = "└" + self.lines[-1][1:-1] + "┘"


def _pad(text: str, width: int, align: str) -> str:
    spare = max(0, width - display_width(text))
    left = {"<": 0, ">": spare, "^": spare // 2}[align]
    return " " * left + text + " " * (spare - left)


def strip_control(text: str) -> str:
    """Make a name safe to print: no control characters, line breaks or direction overrides."""
    kept = []
    for char in text:
        category = unicodedata.category(char)
        if char in "\t\n\r" or category in ("Zl", "Zp"):
            kept.append(" ")
        elif category in ("Cc", "Cs"):
            kept.append("�")
        elif category != "Cf" or char in _JOINERS:
            kept.append(char)
    return "".join(kept)


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines of at most ``width`` columns, at spaces where there are any."""
    lines = [""]
    for word in re.findall(r"\S+\s*|\s+", text):
        if display_width(lines[-1] + word.rstrip()) <= width:
            lines[-1] += word
            continue
        if lines[-1]:
            lines.append("")
        for char in word:
            if lines[-1] and display_width(lines[-1] + char) > width and not char.isspace():
                lines.append("")
            lines[-1] += char
    return [line.rstrip() for line in lines]


# -- a card as an HTML fragment for notebooks ------------------------------------------------------
# Colours are inherited, so that the card can be read on light and on dark pages.


_LINE = "1px solid currentColor"
_CELL = "padding:0.3em 0.8em;background:transparent;color:inherit;"
_LEFT = f"{_CELL}text-align:left;overflow-wrap:anywhere;"
_RIGHT = f"{_CELL}text-align:right;white-space:nowrap;"
_CENTRE = f"{_CELL}text-align:center;white-space:nowrap;"
_NAME = f"{_LEFT}vertical-align:top;font-weight:600;"
_BLANK_CELL = f"{_RIGHT}vertical-align:top;"
_TABLE = "border-collapse:collapse;margin:0;color:inherit;background:transparent;font-size:1em;"
_SMALL = "font-size:0.85em;overflow-wrap:anywhere;"
_WRAP = "display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start;"
_GAP = "margin-top:0.5em;"
_PLAIN_ROW = "background:transparent;border:0;"
_ROW = "background:transparent;border-top:1px solid rgba(128,128,128,0.45);"


def render_html(card: Scorecard) -> str:
    """Return the card as a self-contained fragment; every name is escaped."""
    printed = contents(card)
    questions = "".join(
        _question_html(asked, "+" if i else "") for i, asked in enumerate(printed.questions)
    )
    risks = "".join(map(_risks, side_by_side(printed.table)))
    risks = f'<div style="{_WRAP}">{risks}</div>'
    notes = "".join(
        f'<div style="{_SMALL}{"" if i else _GAP}"><bdi>{escape(note)}</bdi></div>'
        for i, note in enumerate(printed.notes)
    )
    footer = f'<div style="{_SMALL}{_GAP}opacity:0.75;">{escape(printed.footer)}</div>'
    return (
        '<div class="netbenefit-card" style="display:inline-block;max-width:100%;color:inherit;'
        f'background:transparent;border:{_LINE};border-radius:6px;padding:0.8em 1em;">'
        '<div style="font-weight:bold;margin-bottom:0.5em">'
        f"<bdi>{escape(printed.title)}</bdi></div>"
        f'<div style="{_SMALL}margin-bottom:0.5em">{escape(printed.asked)}</div>'
        f'<div style="{_WRAP}">'
        f'<table style="{_TABLE}"><thead><tr style="background:transparent">'
        f'<th scope="col" style="{_LEFT}">Question</th><th scope="col" style="{_LEFT}">Answer</th>'
        f'<th scope="col" style="{_RIGHT}">Points</th><td style="{_RIGHT}"></td></tr></thead>'
        f'<tbody>{questions}</tbody><tfoot><tr style="background:transparent;'
        f'border-top:2px solid currentColor"><th scope="row" colspan="3" style="{_RIGHT}">'
        f'{escape(printed.score)}</th><td style="{_RIGHT}">=&nbsp;_____</td></tr></tfoot></table>'
        f"{risks}</div>"
        f"{notes}{footer if printed.footer else ''}</div>"
    )


def _risks(table: Sequence[tuple[str, str]]) -> str:
    rows = "".join(
        f'<tr style="{_ROW}"><td style="{_CENTRE}">{escape(scores)}</td>'
        f'<td style="{_CENTRE}">{escape(risk)}</td></tr>'
        for scores, risk in table
    )
    return (
        f'<table style="{_TABLE}"><thead><tr style="background:transparent">'
        f'<th scope="col" style="{_CENTRE}">SCORE</th><th scope="col" style="{_CENTRE}">RISK</th>'
        f"</tr></thead><tbody>{rows}</tbody></table>"
    )


def _question_html(asked: Asked, sign: str) -> str:
    """All answers to a question; its name and the blank stand beside the first."""
    rows = len(asked.answers)
    name = f'<th scope="row" rowspan="{rows}" style="{_NAME}"><bdi>{escape(asked.name)}</bdi></th>'
    blank = f'<td rowspan="{rows}" style="{_BLANK_CELL}">{sign}&nbsp;_____</td>'
    parts = []
    for i, (words, points) in enumerate(asked.answers):
        parts.append(
            f'<tr style="{_PLAIN_ROW if i else _ROW}">{"" if i else name}'
            f'<td style="{_LEFT}"><bdi>{escape(words)}</bdi></td>'
            f'<td style="{_RIGHT}">{escape(points)}</td>{"" if i else blank}</tr>'
        )
    return "".join(parts)
