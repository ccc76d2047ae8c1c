"""A card as text, for paper and terminal: rules with points, a SCORE row, SCORE → RISK.

:func:`contents` says what stands on a card, in words; :func:`render` draws it in one box.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from netbenefit.cards.rows import card_notes, card_rows
from netbenefit.cards.rules import Provenance, RiskRow
from netbenefit.cards.terms import PerUnit, Term
from netbenefit.common.table import display_width
from netbenefit.metrics.thresholds import Thresholds

if TYPE_CHECKING:
    from netbenefit.cards.scorecard import Scorecard

__all__ = [
    "Contents",
    "contents",
    "kept_text",
    "percent",
    "render",
    "render_html",
    "share_text",
    "side_by_side",
]

_BLANK = "_____"
_NARROWEST = 16
#: Rows of a SCORE → RISK table, where it stands upright; more go into columns side by side.
_LONGEST = 15
#: Format characters that belong to writing (joiners); the others could reorder or hide text.
_JOINERS = "\u200c\u200d"
#: A horizontal line meets a vertical one (above, below).
_JUNCTIONS = {(True, True): "┼", (True, False): "┴", (False, True): "┬", (False, False): "─"}


class Contents(NamedTuple):
    """What stands on a card, cleaned of control characters, not escaped."""

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
    """Write what a row is worth.

    >>> points_text(PerUnit("falls"), -2), points_text(PerUnit("ill", binary=True), 1)
    ('× −2 per unit', '+1 point')
    """
    number = integer_text(points)
    if isinstance(term, PerUnit) and not term.binary:
        return f"× {number} per unit"
    sign = "+" if points > 0 else ""
    return f"{sign}{number} point{'' if abs(points) == 1 else 's'}"


def scores_text(row: RiskRow) -> str:
    """Write the scores of one row of the table.

    >>> ends = [(None, 9), (10, 14), (15, 15), (-3, 0), (25, None)]
    >>> [scores_text(RiskRow(low, high, 0.5)) for low, high in ends]
    ['≤ 9', '10–14', '15', '−3 to 0', '≥ 25']
    """
    if row.low is None:
        return "any" if row.high is None else f"≤ {integer_text(row.high)}"
    if row.high is None:
        return f"≥ {integer_text(row.low)}"
    if row.low == row.high:
        return integer_text(row.low)
    return f"{integer_text(row.low)}{' to ' if row.low < 0 else '–'}{integer_text(row.high)}"


def percent(risk: float, thresholds: Thresholds | None = None) -> str:
    """Write a risk with one decimal, never as 0 or 1 unless it is.

    A risk that rounding would carry across a threshold gets more decimals: who decides by the
    printed number decides as the card does.

    >>> percent(0.14), percent(0.0002), percent(0.99999), percent(0.0)
    ('14.0%', '<0.1%', '>99.9%', '0.0%')
    >>> tenth = Thresholds.of([0.1])
    >>> percent(0.0996, tenth), percent(0.09996, tenth), percent(0.1 - 1e-12, tenth)
    ('9.96%', '9.996%', '<10.0%')
    """
    for decimals in range(1, 6):
        text = f"{100 * risk:.{decimals}f}"
        shown = end = float(Decimal(text).scaleb(-2))
        if shown in (0.0, 1.0) and shown != risk:  # say the nearest number that it is not
            edge = Decimal(1).scaleb(-decimals)
            text = f"<{edge}" if shown == 0.0 else f">{100 - edge}"
            end = abs(shown - 1e-12)  # "<0.1%" is all that lies below: on one side, or not said
            shown = abs(shown - 0.00999999 * float(edge))
        if thresholds is None or {_level(thresholds, q) for q in (shown, end, risk)} == {
            _level(thresholds, risk)
        }:
            return text + "%"
    return f"{'<' if shown > risk else '>'}{float(text.lstrip('<>'))}%"  # next to a threshold


def _level(thresholds: Thresholds, risk: float) -> int:
    return bisect_right(thresholds.values, risk)


def side_by_side(table: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Break a long SCORE → RISK table into columns of about equal length.

    >>> [len(part) for part in side_by_side([("0", "1%")] * 40)]
    [14, 14, 12]
    """
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
    """Say how much of its teacher's net benefit a card keeps; rounding never flatters it.

    A bound of 100% or more says nothing, and is left out.

    >>> kept_text(Provenance(version="0", share_kept=0.98957, share_bound=0.9951))
    'keeps 98.9% of its net benefit (no card with as few rules keeps more than 99.6%)'
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
    """A share for people, rounded down.

    >>> share_text(0.98957)
    '98.9%'
    """
    return f"{math.floor(1000 * share) / 10:.1f}%".replace("-", "−")


# -- drawing ---------------------------------------------------------------------------------------


def render(card: Scorecard, width: int = 80) -> str:
    """Draw a card in one box, at most ``width`` columns wide where its contents allow.

    Recipe: (1) find the widths that the two tables want, (2) give the box the larger one, within
    the page, (3) draw the title, (4) the rules, (5) the score, (6) the risks, in as many blocks as
    they need, (7) notes and footer below the box.
    """
    told = contents(card)
    # 1. The rules: label, points, blank to fill in.  The risks: heading and one cell per level.
    label = max(map(display_width, [*(name for name, _ in told.rules), told.score]))
    points = max(display_width(text) for _, text in told.rules)
    blank = len(_BLANK) + 2
    rules_width = label + points + blank + 10
    cell = max(display_width(text) for pair in told.table for text in pair) + 2
    heading = len("SCORE") + 2
    fitting = max(1, (width - heading - 2) // (cell + 1))
    blocks = -(-len(told.table) // fitting)
    in_block = -(-len(told.table) // blocks)
    table_width = heading + 2 + in_block * (cell + 1)
    # 2. One width for all.
    narrowest = _NARROWEST + points + blank + 10
    wanted = max(rules_width, table_width, min(width, display_width(told.title) + 4))
    total = max(min(wanted, width), narrowest, table_width)
    label = total - points - blank - 10
    rule_edges = (label + 3, label + points + 6)
    box = _Box(total)
    # 3. Title.
    for line in wrap(told.title, total - 4):
        box.row([line], ())
    # 4. Rules.
    box.line(rule_edges)
    for i, (name, text) in enumerate(told.rules):
        sign = "+" if i else " "
        for k, line in enumerate(wrap(name, label)):
            cells = [line, text, f"{sign} {_BLANK}"] if k == 0 else [line, "", ""]
            box.row(cells, rule_edges)
    # 5. Score.
    box.line(rule_edges[1:])
    box.row([told.score, f"= {_BLANK}"], rule_edges[1:], "><")
    # 6. Risks: spare columns go to the first cells.
    spare, extra = divmod(total - table_width, in_block)
    edges = [heading + 1]
    for i in range(in_block - 1):
        edges.append(edges[-1] + cell + 1 + spare + (i < extra))
    for start in range(0, len(told.table), in_block):
        block = told.table[start : start + in_block]
        block = block + [("", "")] * (in_block - len(block))
        box.line(edges)
        box.row(["SCORE", *(scores for scores, _ in block)], edges, "<" + "^" * in_block)
        box.row(["RISK", *(risk for _, risk in block)], edges, "<" + "^" * in_block)
    box.close()
    # 7. Below the box; the lines that a long note goes on in stand further in.
    room = max(total, width) - 2
    below = [f"  {line}" for line in wrap(told.footer, room) if line]
    notes = [wrap(note, room - 2) for note in told.notes]
    above = [f"{'    ' if k else '  '}{line}" for note in notes for k, line in enumerate(note)]
    return "\n".join([*box.lines, *above, *below])


class _Box:
    """Lines of a box whose inner vertical edges change from part to part."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines = ["┌" + "─" * (width - 2) + "┐"]
        self._edges: frozenset[int] = frozenset()

    def row(self, cells: Sequence[str], edges: Sequence[int], align: str = "") -> None:
        bounds = [0, *edges, self.width - 1]
        texts = []
        for i, cell in enumerate(cells):
            room = bounds[i + 1] - bounds[i] - 3
            texts.append(_pad(cell, room, align[i] if align else "<"))
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
    r"""Make a name safe to print: no control characters, line breaks or direction overrides.

    >>> strip_control("dose\n(mg)\x1b")
    'dose (mg)�'
    """
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
    """Break a text into lines of at most ``width`` columns, at spaces where there are any.

    >>> wrap("number of real-estate loans", 12)
    ['number of', 'real-estate', 'loans']
    """
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


# -- a card as an HTML fragment for notebooks: the contents of the printed card, nothing foreign ---
# Colours are inherited, so that the card reads on light and on dark pages alike.


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
    """Return the card as a self-contained fragment; every name is escaped.

    Examples
    --------
    >>> from netbenefit.cards.scorecard import Scorecard
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> "<table" in render_html(Scorecard([], [(0, 0.2)], Thresholds.of([0.5])))
    True
    """
    told = contents(card)
    rules = "".join(
        f'<tr style="{_ROW}"><td style="{_LEFT}"><bdi>{_unbroken(name)}</bdi></td>'
        f'<td style="{_RIGHT}">{escape(points)}</td></tr>'
        for name, points in told.rules
    )
    risks = "".join(map(_risks, side_by_side(told.table)))
    risks = f'<div style="{_WRAP}">{risks}</div>'
    notes = "".join(
        f'<div style="{_SMALL}{"" if i else _GAP}"><bdi>{escape(note)}</bdi></div>'
        for i, note in enumerate(told.notes)
    )
    footer = f'<div style="{_SMALL}{_GAP}opacity:0.75;">{escape(told.footer)}</div>'
    return (
        '<div class="netbenefit-card" style="display:inline-block;max-width:100%;color:inherit;'
        f'background:transparent;border:{_LINE};border-radius:6px;padding:0.8em 1em;">'
        f'<div style="font-weight:bold;margin-bottom:0.5em"><bdi>{escape(told.title)}</bdi></div>'
        f'<div style="{_WRAP}">'
        f'<table style="{_TABLE}"><thead><tr style="background:transparent">'
        f'<th scope="col" style="{_LEFT}">Rule</th><th scope="col" style="{_RIGHT}">Points</th>'
        f'</tr></thead><tbody>{rules}</tbody><tfoot><tr style="background:transparent;'
        f'border-top:2px solid currentColor"><th scope="row" style="{_LEFT}">{escape(told.score)}'
        f'</th><td style="{_RIGHT}">=&nbsp;_____</td></tr></tfoot></table>{risks}</div>'
        f"{notes}{footer if told.footer else ''}</div>"
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
    """Escape a rule's words, and keep a comparison and its value on one line.

    >>> _unbroken("worst area ≥ 690")
    'worst area <span style="white-space:nowrap">≥ 690</span>'
    """
    found = re.search(r" ([≥≤<>=≠] \S+)$", name)
    if found is None:
        return escape(name)
    start, end = escape(name[: found.start()]), escape(found[1])
    return f'{start} <span style="white-space:nowrap">{end}</span>'
