"""The page of a calculator: fields, result, and the card itself, with every name escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import pairwise
from typing import Literal

from netbenefit.cards.rows import Row, card_rows
from netbenefit.cards.scorecard import Scorecard
from netbenefit.cards.terms import value_text
from netbenefit.cards.text import contents, points_text, side_by_side, strip_control
from netbenefit.common.strict_json import Value

__all__ = ["Control", "Field", "FieldLabels", "Group", "page"]

Control = Literal["check", "choice", "select", "number"]

#: A wall has room for large letters where there are few lines.
_SIZES = ((15, "few"), (28, "some"))

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="{generator}">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<header class="top"><h1><bdi>{title}</bdi></h1><p class="lead">{lead}</p></header>
<noscript><p class="notice">This page calculates with JavaScript, which is switched off here. The
card below works with pencil and paper.</p></noscript>
<div class="work">
{form}
<div class="side">
<section class="headline" aria-label="Score and risk"><div class="needs" id="needs"></div>
<dl class="figures" id="figures" hidden>
<div><dt>Score</dt><dd id="score"></dd></div>
<div><dt>Risk</dt><dd id="risk"></dd></div>{scaled}
</dl>
<p class="verdict" id="verdict" hidden></p></section>
<section class="panel" aria-labelledby="decision-title">
<h2 id="decision-title">Decision threshold</h2>
<div class="bar" aria-hidden="true"><div class="fill" id="fill"></div>
<div class="mark" id="mark" hidden></div></div>
<div class="axis" aria-hidden="true"><span>0%</span><span>risk</span><span>100%</span></div>
<p class="asked"><label for="threshold">Risk from which to act</label>
<span class="with-unit"><input id="threshold" type="number" inputmode="decimal" min="0" max="100"
step="any" autocomplete="off" aria-describedby="meaning" value="{threshold}"><span
class="unit" aria-hidden="true">%</span></span></p>
<p class="meaning" id="meaning"></p>
</section>
<section class="panel" aria-labelledby="points-title" id="points" hidden>
<h2 id="points-title">Where the points come from</h2>
<table class="fired"><thead class="unseen"><tr><th scope="col">Rule</th><th scope="col">Points</th>
</tr></thead><tbody id="fired"></tbody>
<tfoot><tr><th scope="row" id="sum-name">Score</th><td id="sum"></td></tr></tfoot></table>
</section>
<p class="unseen" role="status" aria-live="polite" aria-atomic="true" id="spoken"></p>
</div>
</div>
{card}
<footer class="foot"><p>This page works offline. What is entered stays on this device: nothing is
stored or sent.</p></footer>
</main>
<script>{script}</script>
</body>
</html>
"""


@dataclass(frozen=True)
class Field:
    """One raw column, and how to ask for it."""

    name: str
    control: Control
    options: tuple[tuple[str, Value], ...] = ()  #: words and value, of a choice or select
    unknown: str | None = None  #: words for "not known", where the card can do without
    unseen: bool = False  #: whether training had no missing value
    whole: bool = False  #: whether training had whole numbers only
    hint: str = ""
    step: str = "any"


@dataclass(frozen=True)
class Group:
    """The fields of one column that rules speak of: several where it is combined."""

    name: str
    note: str  #: how it is combined; empty for a raw column
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class FieldLabels:
    """What the author of a page calls raw columns, and what they are measured in."""

    labels: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def range_text(self, name: str) -> str:
        """Say where a column's numbers usually lie."""
        if name not in self.ranges:
            return ""
        low, high = (value_text(int(v) if v.is_integer() else v) for v in self.ranges[name])
        return f"{low} to {high}"


def page(
    card: Scorecard,
    groups: Sequence[Group],
    labels: FieldLabels,
    *,
    threshold: str,
    script: str,
    style: str,
    policy: str,
    generator: str,
    scaling: str,
) -> str:
    """Return the whole page.  ``script`` and ``style`` stand in it as they are."""
    some = bool(groups)
    return _PAGE.format(
        policy=escape(policy),
        generator=escape(generator),
        title=escape(contents(card).title),
        lead="Fill in all fields to see score and risk."
        if some
        else "There is nothing to fill in.",
        style=style,
        form=_form(groups, labels) if some else "",
        threshold=escape(threshold),
        card=_card(card, scaling),
        scaled='\n<div><dt>Scaled score</dt><dd id="scaled"></dd></div>' if scaling else "",
        script=script,
    )


# -- the form --------------------------------------------------------------------------------------


def _form(groups: Sequence[Group], labels: FieldLabels) -> str:
    parts, place = [], 0
    for group in groups:
        fields = []
        for one in group.fields:
            fields.append(_field(place, one, labels))
            place += 1
        inner = "\n".join(fields)
        if group.note:
            inner = (
                f'<fieldset class="group"><legend>{_name(group.name)}</legend>'
                f'<p class="hint">{_text(group.note)}</p>\n{inner}</fieldset>'
            )
        parts.append(inner)
    can_miss = any(one.unknown is not None for group in groups for one in group.fields)
    rest = '<button type="button" id="rest">Set the rest to “not known”</button>'
    return (
        '<form id="form" class="panel" autocomplete="off" novalidate aria-label="Values">\n'
        + "\n".join(parts)
        + f'\n<p class="buttons">{rest if can_miss else ""}'
        '<button type="button" id="clear">Clear</button></p>\n</form>'
    )


def _field(place: int, one: Field, labels: FieldLabels) -> str:
    """Return one field; controls are found by the field's number, never by a name."""
    label = _name(labels.labels.get(one.name, one.name))
    if one.name in labels.labels and strip_control(labels.labels[one.name]) != strip_control(
        one.name
    ):
        label += f' <span class="column">({_name(one.name)} on the card)</span>'
    unit = _text(labels.units[one.name]) if one.name in labels.units else ""
    if one.name in labels.ranges:
        usual = f"usually {labels.range_text(one.name)}"
        one = replace(one, hint=f"{usual}; {one.hint}" if one.hint else usual)
    inner = {
        "check": _check,
        "choice": _choice,
        "select": _select,
        "number": _number,
    }[one.control](place, one, label, unit)
    caution = f'<p class="caution" id="f{place}c" hidden></p>'
    return f'<div class="field {one.control}" data-field="{place}">{inner}{caution}</div>'


def _check(place: int, one: Field, label: str, unit: str) -> str:
    return f'<label class="tick"><input type="checkbox" id="f{place}"> <span>{label}</span></label>'


def _choice(place: int, one: Field, label: str, unit: str) -> str:
    options = [(text, str(k)) for k, (text, _) in enumerate(one.options)]
    if one.unknown is not None:
        options.append((one.unknown, "unknown"))
    radios = "".join(
        f'<label><input type="radio" name="f{place}" value="{value}"> <span>{_text(text)}</span>'
        "</label>"
        for text, value in options
    )
    return f'<fieldset><legend>{label}</legend><div class="radios">{radios}</div></fieldset>'


def _select(place: int, one: Field, label: str, unit: str) -> str:
    options = [("choose …", ""), *((text, str(k)) for k, (text, _) in enumerate(one.options))]
    if one.unknown is not None:
        options.append((one.unknown, "unknown"))
    inner = "".join(f'<option value="{v}" dir="auto">{_text(text)}</option>' for text, v in options)
    return (
        f'<label for="f{place}">{label}{_unit(unit)}</label>'
        f'<select id="f{place}" aria-describedby="f{place}c">{inner}</select>'
    )


def _number(place: int, one: Field, label: str, unit: str) -> str:
    hint = f'<p class="hint" id="f{place}h">{_text(one.hint)}</p>' if one.hint else ""
    described = f"f{place}h f{place}c" if one.hint else f"f{place}c"
    mode = "numeric" if one.whole else "decimal"
    unknown = ""
    if one.unknown is not None:
        unknown = (
            f'<label class="tick quiet"><input type="checkbox" id="f{place}u" '
            f'aria-describedby="f{place}l"> <span>{_text(one.unknown)}</span></label>'
        )
    return (
        f'<label for="f{place}" id="f{place}l">{label}{_unit(unit)}</label>{hint}'
        f'<div class="line"><span class="with-unit"><input id="f{place}" type="number" dir="ltr" '
        f'inputmode="{mode}" step="{one.step}" aria-describedby="{described}">'
        f"</span>{unknown}</div>"
    )


def _unit(unit: str) -> str:
    return f' <span class="column">in {unit}</span>' if unit else ""


def _text(text: str) -> str:
    return escape(strip_control(text))


def _name(name: str) -> str:
    """Escape a name, and keep the direction of its writing to itself."""
    return f"<bdi>{_text(name)}</bdi>"


# -- the card --------------------------------------------------------------------------------------


def _card(card: Scorecard, scaling: str) -> str:
    """Return the card as it hangs on a wall."""
    printed, rows = contents(card), card_rows(card)
    places = {row.risk: place for place, row in enumerate(card._risk_rows)}
    body = "".join(_row(place, row, first) for place, (row, first) in enumerate(_starts(rows)))
    if not rows:
        body = '<tr><td colspan="3">no rules: every row scores 0</td></tr>'
    risks = "".join(
        f'<tr role="row" data-level="{places[row.risk]}"><th role="rowheader" scope="row">'
        f'{escape(scores)}</th><td role="cell">{escape(risk)}</td></tr>'
        for row, (scores, risk) in zip(card.risk_table(), printed.table, strict=True)
    )
    notes = "".join(f"<li>{_text(note)}</li>" for note in [*printed.notes, scaling] if note)
    # Five levels stand beside each other on paper, and take two lines.
    lines = len(rows) + 2 * -(-len(printed.table) // 5) + len(printed.notes)
    # A long table of risks stands below the rules, not beside them.
    long = " long" if len(side_by_side(printed.table)) > 1 else ""
    size = next((name for most, name in _SIZES if lines <= most), "many")
    return (
        f'<section class="card {size}" aria-labelledby="card-title">'
        '<div class="card-head"><h2 id="card-title"><span class="on-screen">The card</span>'
        f'<span class="on-paper"><bdi>{escape(printed.title)}</bdi></span></h2>'
        '<button type="button" id="print">Print the card</button></div>'
        f'<div class="card-body{long}"><table class="rules">'
        '<thead><tr><th scope="col">Rule</th><th scope="col">Points</th>'
        '<th scope="col" class="on-paper blank"><span class="unseen">Your points</span></th></tr>'
        f"</thead><tbody>{body}</tbody><tfoot><tr>"
        f'<th scope="row" colspan="2">{escape(printed.score)}</th>'
        '<td class="on-paper blank">= <span class="line-out"></span></td></tr></tfoot></table>'
        '<div><table class="risks" role="table"><caption class="unseen">Risk by score</caption>'
        '<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Score</th>'
        '<th role="columnheader" scope="col">Risk</th></tr></thead>'
        f'<tbody role="rowgroup">{risks}</tbody></table>'
        '<p class="act-note" id="act-note" hidden></p>'
        + (f'<ul class="notes">{notes}</ul>' if notes else "")
        + (f'<p class="origin">{escape(printed.footer)}</p>' if printed.footer else "")
        + "</div></div></section>"
    )


def _starts(rows: Sequence[Row]) -> list[tuple[Row, bool]]:
    """Pair each row with whether it is the first of its column."""
    features = ["", *(row.feature for row in rows)]
    firsts = [after != before for before, after in pairwise(features)]
    return list(zip(rows, firsts, strict=True))


def _row(place: int, row: Row, first: bool) -> str:
    start = ' class="start"' if first else ""
    sign = "+ " if place else ""
    return (
        f'<tr{start}><td dir="ltr" data-row="{place}">{_words(row)}</td>'
        f"<td>{escape(points_text(row.term, row.points))}</td>"
        f'<td class="on-paper blank">{sign}<span class="line-out"></span></td></tr>'
    )


def _words(row: Row) -> str:
    """Escape a row's words; the name of its column keeps its direction to itself."""
    before, name, after = row.text.partition(row.feature)
    if not name:
        return _text(row.text)
    if re.fullmatch(r" [≥≤<>=≠] \S{1,12}", after):  # a sign and its number stay together
        return f'{_text(before)}{_name(name)} <span class="keep">{_text(after[1:])}</span>'
    return f"{_text(before)}{_name(name)}{_text(after)}"
