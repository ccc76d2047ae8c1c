"""A card as an HTML fragment for notebooks: the contents of the printed card, nothing foreign.

Colours are inherited, so that the card reads on light and on dark pages alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from netbenefit.cards.text import contents, side_by_side

if TYPE_CHECKING:
    from netbenefit.cards.scorecard import Scorecard

__all__ = ["render"]

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


def render(card: Scorecard) -> str:
    """Return the card as a self-contained fragment; every name is escaped.

    Examples
    --------
    >>> from netbenefit.cards.scorecard import Scorecard
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> "<table" in render(Scorecard([], [(0, 0.2)], Thresholds.of([0.5])))
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
