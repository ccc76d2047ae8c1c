"""A card in words: rules with points, a SCORE row, SCORE → RISK; drawn as text or as HTML."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

from netbenefit.cards.readings import Reading, value_text
from netbenefit.cards.rules import ColumnLogic, Provenance, RiskRow, Rule
from netbenefit.cards.terms import (
    LEVELS,
    Condition,
    PerUnit,
    Term,
    cuts,
    edges,
    group_levels,
    intervals,
    level_order,
    total_of,
)
from netbenefit.common import LARGEST_EXACT, Value, display_width
from netbenefit.metrics import Thresholds

if TYPE_CHECKING:
    from netbenefit.cards.scorecard import Scorecard


# -- the rows of a printed card: what a person would write, with the points that the rules add up to
# The solver's conditions add up: "age ≥ 40" and "age ≥ 60" both count at age 70.  On paper a reader
# looks for the one row that fits.  So the conditions of a column are merged, exactly:
# 1. Thresholds (≥, <, between) are a step function: one row per interval, with its total.
# 2. Levels (=, ≠, in, not in): one row for all levels of equal total, one for all others.
# 3. What cannot be merged (per unit, >, ≤) is printed as it is.
# 4. "Missing" comes last, also where it is worth 0.
# Rows of one kind never both apply; rows of several kinds add up, as rules do.  The rows, taken as
# rules, give every value the points that the card gives it.


_STEPS = (">=", "<", "between")

_Pair = tuple[Term, int]


class Row(NamedTuple):
    """One printed row."""

    feature: str
    term: Term  #: when it applies, exactly
    points: int
    text: str  #: the term in words, not cleaned, not escaped


def card_rows(card: Scorecard) -> list[Row]:
    """Return what a card prints: columns by their largest points, the rows of each ascending."""
    by_column: dict[str, list[Rule]] = {}
    for rule in card.rules:
        by_column.setdefault(rule.term.feature, []).append(rule)
    columns = [_column_rows(by_column[column.name], column) for column in card._logic.columns]
    columns.sort(key=lambda rows: -max((abs(row.points) for row in rows), default=0))
    return [row for rows in columns for row in rows]


def card_notes(card: Scorecard, rows: Iterable[Row]) -> list[str]:
    """Return how the columns of some rows are read, one sentence per rule of reading.

    The fills of columns without missing values in training come last, in one sentence.
    """
    readings = {reading.feature: reading for reading in card.readings}
    names: dict[str, None] = {}
    for row in rows:
        names[row.feature] = None
        if row.feature in readings:  # the sources have to be read first
            names |= dict.fromkeys(readings[row.feature].sources)
    used = [_without_idle_fill(readings[name], readings) for name in names if name in readings]
    unseen = [
        r for r in used if r.fill is not None and not (r.saw_missing or r.special or r.sources)
    ]
    notes = [note for reading in used if reading not in unseen for note in reading.notes()]
    if unseen:
        fills = [f"{reading.feature} {value_text(cast(Value, reading.fill))}" for reading in unseen]
        notes.append(f"if not known, count as: {', '.join(fills)} (none was missing in training)")
    return notes


def _without_idle_fill(reading: Reading, readings: Mapping[str, Reading]) -> Reading:
    """Drop what a derived column counts as where its sources are never missing."""
    filled = all(n in readings and readings[n].fill is not None for n in reading.sources)
    idle = reading.sources and filled and not reading.special
    return replace(reading, fill=None) if idle else reading


# -- one column ------------------------------------------------------------------------------------


def _column_rows(rules: Sequence[Rule], column: ColumnLogic) -> list[Row]:
    worth = [(rule.term, rule.points) for rule in rules if rule.points]
    pairs: list[_Pair] = [pair for pair in worth if isinstance(pair[0], PerUnit)]
    conditions = [(term, points) for term, points in worth if isinstance(term, Condition)]
    beyond = [pair for pair in conditions if pair[0].op in (">", "<=")]
    beyond.sort(key=lambda pair: (cast(float, pair[0].value), pair[0].op == ">"))
    pairs += _step_rows([pair for pair in conditions if pair[0].op in _STEPS])
    pairs += beyond
    pairs += _level_rows([pair for pair in conditions if pair[0].op in LEVELS], column.levels)
    for rule in rules:
        # A filled column is never missing to its rules; its note says what it counts as.
        if rule.term.kind == "any" and column.last.fill is None and (pairs or rule.points):
            pairs.append((rule.term, rule.points))
    # Whether the rules see whole numbers only, filled-in ones and those of sources included.
    fills = [column.fill, *(one.fill for one in column.inputs)]
    whole = column.whole and all(fill is None or isinstance(fill, int) for fill in fills)
    return [Row(column.name, term, points, _text(term, whole)) for term, points in pairs]


def _step_rows(pairs: Sequence[tuple[Condition, int]]) -> list[_Pair]:
    """Merge thresholds into intervals that are worth something."""
    if not pairs:
        return []
    terms = [term for term, _ in pairs]
    starts = [
        (edge.value, worth) for edge, worth in intervals(edges(terms), partial(total_of, pairs))
    ]
    if len(starts) == 1:  # worth the same everywhere; no condition says "not missing"
        starts.append((cuts(terms)[0], starts[0][1]))
    ends = [start for start, _ in starts[1:]] + [math.inf]
    return [
        (_interval(terms[0].feature, low, high), worth)
        for (low, worth), high in zip(starts, ends, strict=True)
        if worth
    ]


def _interval(feature: str, low: float, high: float) -> Condition:
    if low == -math.inf:
        return Condition(feature, "<", high)
    if high == math.inf:
        return Condition(feature, ">=", low)
    return Condition(feature, "between", (low, high))


def _level_rows(pairs: Sequence[tuple[Condition, int]], known: Sequence[Value]) -> list[_Pair]:
    """Merge conditions on levels: levels of equal total together, then all others.

    The levels that training had, ``known``, only give the order.
    """
    if len(pairs) < 2:
        return list(pairs)
    feature, terms = pairs[0][0].feature, [term for term, _ in pairs]
    order = level_order(terms, known)
    groups, others = group_levels(terms, partial(total_of, pairs), order)
    rows: list[_Pair] = [
        (_among(feature, levels), worth) for worth, levels in groups.items() if worth
    ]
    if others:
        apart = [level for level in order if total_of(pairs, level) != others]
        if not apart:  # worth the same everywhere; no condition says "not missing"
            rows.append((_among(feature, order[:1]), others))
        rows.append((_among(feature, apart or order[:1], negated=True), others))
    return rows


def _among(feature: str, levels: Sequence[Value], negated: bool = False) -> Condition:
    if len(levels) == 1:
        return Condition(feature, "!=" if negated else "==", levels[0])
    return Condition(feature, "not in" if negated else "in", tuple(levels))


# -- words -----------------------------------------------------------------------------------------


def _text(term: Term, whole: bool) -> str:
    """Return when a row applies, in words; intervals of whole numbers as "40–59"."""
    if not (whole and isinstance(term, Condition) and term.op in _STEPS):
        return term.text()
    name, numbers = term.feature, [cast(float, value) for value in term.values]
    if any(abs(number) > LARGEST_EXACT for number in numbers):
        return term.text()
    ends = [math.ceil(number) for number in numbers]
    if term.op != "between":
        return Condition(name, term.op, ends[0]).text()
    first, last = ends[0], ends[1] - 1
    if first > last:  # no whole number lies within
        return term.text()
    low, high = value_text(first), value_text(last)
    if low == high:
        return f"{name} = {low}"
    if name[-1].isdigit():  # "x1 40–59" would read as one number after another
        return f"{low} ≤ {name} ≤ {high}"
    return f"{name} {low}{' to ' if first < 0 else '–'}{high}"


_BLANK = "_____"
_NARROWEST = 16
#: Most rows of an upright SCORE → RISK table; longer ones are split into columns.
_LONGEST = 15
#: Format characters that belong to writing (joiners); the others could reorder or hide text.
_JOINERS = "\u200c\u200d"
#: A horizontal line meets a vertical one (above, below).
_JUNCTIONS = {(True, True): "┼", (True, False): "┴", (False, True): "┬", (False, False): "─"}


class Contents(NamedTuple):
    """What is printed on a card, cleaned of control characters, not escaped."""

    title: str
    rules: list[tuple[str, str]]
    score: str
    table: list[tuple[str, str]]
    notes: list[str]  #: how columns are read
    footer: str


def contents(card: Scorecard) -> Contents:
    """Put a card into words."""
    outcome = strip_control(card.provenance.outcome or "") if card.provenance else ""
    rows = card_rows(card)
    rounded = any(row.term.decimals and row.points for row in rows)
    return Contents(
        title=f"Risk of {outcome}" if outcome else "Risk score",
        rules=[(strip_control(row.text), points_text(row.term, row.points)) for row in rows]
        or [("no rules: every row scores 0", "")],
        score="SCORE, rounded down" if rounded else "SCORE",
        table=[(scores_text(r), percent(r.risk, card.thresholds)) for r in card.risk_table()],
        notes=[strip_control(note) for note in card_notes(card, rows)],
        footer=_footer(card.provenance),
    )


def points_text(term: Term, points: int) -> str:
    """Write what a row is worth."""
    number = integer_text(points)
    if isinstance(term, PerUnit) and not term.binary:
        return f"× {number} per unit"
    sign = "+" if points > 0 else ""
    return f"{sign}{number} point{'' if abs(points) == 1 else 's'}"


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


def _footer(provenance: Provenance | None) -> str:
    if provenance is None:
        return ""
    parts = []
    if provenance.n_rows is not None:
        parts.append(f"{provenance.n_rows:,.10g} rows")
    if provenance.prevalence is not None:
        parts.append(f"prevalence {percent(provenance.prevalence)}")
    if provenance.prior_strength:
        # The objective is a sum that means nothing to a reader; its net benefit does.
        if provenance.net_benefit is not None:
            parts.append(f"net benefit {provenance.net_benefit:.4f}".replace("-", "−"))
    else:
        if provenance.objective is not None:
            parts.append(f"objective {provenance.objective:.4f}".replace("-", "−"))
        gap = provenance.gap
        if gap is not None and gap < math.inf:
            parts.append("proven optimal" if gap == 0 else f"gap {percent(gap)}")
    if provenance.teacher is not None:
        parts.append(f"taught by {strip_control(provenance.teacher)}")
        parts += [kept_text(provenance)] if provenance.share_kept is not None else []
    if provenance.updated is not None:
        parts.append(f"updated: {strip_control(provenance.updated)}")
    return " · ".join(parts)


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
        return f"{text} (no card with as few rules keeps more)"
    return f"{text} (no card with as few rules keeps more than {math.ceil(1000 * bound) / 10:.1f}%)"


def share_text(share: float) -> str:
    """Write a share in percent, rounded down."""
    return f"{math.floor(1000 * share) / 10:.1f}%".replace("-", "−")


# -- drawing ---------------------------------------------------------------------------------------


def render(card: Scorecard, width: int = 80) -> str:
    """Draw a card in one box, at most ``width`` columns wide where its contents allow.

    (1) Find the widths that the two tables need, (2) give the box the larger one, within the page,
    (3) draw the title, (4) the rules, (5) the score, (6) the risks, in as many blocks as they need,
    (7) notes and footer below the box.
    """
    printed = contents(card)
    # 1. The rules: label, points, blank to fill in.  The risks: heading and one cell per level.
    label = max(map(display_width, [*(name for name, _ in printed.rules), printed.score]))
    points = max(display_width(text) for _, text in printed.rules)
    blank = len(_BLANK) + 2
    rules_width = label + points + blank + 10
    cell = max(display_width(text) for pair in printed.table for text in pair) + 2
    heading = len("SCORE") + 2
    fitting = max(1, (width - heading - 2) // (cell + 1))
    blocks = -(-len(printed.table) // fitting)
    in_block = -(-len(printed.table) // blocks)
    table_width = heading + 2 + in_block * (cell + 1)
    # 2. One width for all.
    narrowest = _NARROWEST + points + blank + 10
    needed = max(rules_width, table_width, min(width, display_width(printed.title) + 4))
    total = max(min(needed, width), narrowest, table_width)
    label = total - points - blank - 10
    rule_edges = (label + 3, label + points + 6)
    box = _Box(total)
    # 3. Title.
    for line in wrap(printed.title, total - 4):
        box.row([line], ())
    # 4. Rules.
    box.line(rule_edges)
    for i, (name, text) in enumerate(printed.rules):
        sign = "+" if i else " "
        for k, line in enumerate(wrap(name, label)):
            cells = [line, text, f"{sign} {_BLANK}"] if k == 0 else [line, "", ""]
            box.row(cells, rule_edges)
    # 5. Score.
    box.line(rule_edges[1:])
    box.row([printed.score, f"= {_BLANK}"], rule_edges[1:], "><")
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
    above = [f"{'    ' if k else '  '}{line}" for note in notes for k, line in enumerate(note)]
    return "\n".join([*box.lines, *above, *below])


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
_TABLE = "border-collapse:collapse;margin:0;color:inherit;background:transparent;font-size:1em;"
_SMALL = "font-size:0.85em;overflow-wrap:anywhere;"
_WRAP = "display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start;"
_GAP = "margin-top:0.5em;"
_ROW = "background:transparent;border-top:1px solid rgba(128,128,128,0.45);"


def render_html(card: Scorecard) -> str:
    """Return the card as a self-contained fragment; every name is escaped."""
    printed = contents(card)
    rules = "".join(
        f'<tr style="{_ROW}"><td style="{_LEFT}"><bdi>{_unbroken(name)}</bdi></td>'
        f'<td style="{_RIGHT}">{escape(points)}</td></tr>'
        for name, points in printed.rules
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
        f'<bdi>{escape(printed.title)}</bdi></div><div style="{_WRAP}">'
        f'<table style="{_TABLE}"><thead><tr style="background:transparent">'
        f'<th scope="col" style="{_LEFT}">Rule</th><th scope="col" style="{_RIGHT}">Points</th>'
        f'</tr></thead><tbody>{rules}</tbody><tfoot><tr style="background:transparent;'
        f'border-top:2px solid currentColor"><th scope="row" style="{_LEFT}">'
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


def _unbroken(name: str) -> str:
    """Escape a rule's words, and keep a comparison and its value on one line."""
    found = re.search(r" ([≥≤<>=≠] \S+)$", name)
    if found is None:
        return escape(name)
    start, end = escape(name[: found.start()]), escape(found[1])
    return f'{start} <span style="white-space:nowrap">{end}</span>'
