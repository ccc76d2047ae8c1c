"""Pages that work offline: one HTML file each, without script, font or anything from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from netbenefit.cards import (
    Provenance,
    Scorecard,
    contents,
    held_out_text,
    kept_text,
    price_text,
    strip_control,
)
from netbenefit.common import Table, asset, format_number
from netbenefit.metrics import ModelRow, Thresholds
from netbenefit.report.svg import lines_of_curve


def card_page(card: Scorecard) -> str:
    """Return a page with the card and where it comes from: HTML that needs no other file."""
    sections = [
        Section("", card._repr_html_()),
        Section("Where it comes from", made_table(card)),
        *decided(card),
    ]
    return page(contents(card).title, sections)


class Section(NamedTuple):
    """A part of a page; its body is HTML."""

    title: str
    body: str
    style: str = ""  #: class names


def page(title: str, sections: Sequence[Section], lead: str = "", style: str = "") -> str:
    """Return a page of titled sections; the browser may fetch nothing."""
    parts = [
        f'<section class="{one.style}">'
        f"{f'<h2>{escape(one.title)}</h2>' if one.title else ''}{one.body}</section>"
        for one in sections
    ]
    lead = f'<p class="lead">{escape(lead)}</p>' if lead else ""
    style = "\n" + asset("report", "page.css") + style
    sheet = asset("report", "page.html")
    return sheet.format(title=escape(title), style=style, lead=lead, sections="\n".join(parts))


def thresholds_text(thresholds: Thresholds) -> str:
    """Return the thresholds in words."""
    texts = [f"{100 * p:g}%" for p in thresholds.given]
    return f"threshold {texts[0]}" if len(texts) == 1 else f"thresholds {texts[0]} to {texts[-1]}"


def _objective(p: Provenance) -> str:
    price = f", after a price of {price_text(p)}" if p.penalty else ""
    if not p.prior_strength:
        return f"{p.objective:.5f}, the mean net benefit in training{price}"
    if p.teacher:
        counted = "the teacher's risks"
        if p.prior_strength < math.inf:
            counted = f"outcomes blended with {counted}"
        return f"{p.objective:.5f}, the mean net benefit in training{price}, counted on {counted}"
    return f"{p.objective:.5f}, of an objective that this version no longer has"


def made_table(card: Scorecard) -> str:
    """Return how a card was made, as a list of terms."""
    p = card.provenance
    origin: dict[str, str] = {"Thresholds": thresholds_text(card.thresholds).split(" ", 1)[1]}
    if p is not None:
        if p.n_rows is not None and p.n_events is not None:
            origin["Learnt from"] = f"{p.n_rows:,.10g} rows, {p.n_events:,.10g} with the event"
        if p.updated is not None:
            origin["Updated"] = p.updated
        if p.objective is not None:
            origin["Objective"] = _objective(p)
        if p.teacher is not None:
            kept = "" if p.share_kept is None else f"; the card {kept_text(p)}"
            origin["Taught by"] = f"{p.teacher}{kept}"
        if p.net_benefit is not None:
            origin["Net benefit"] = f"{p.net_benefit:.5f} in training, mean over the thresholds"
        if card.held_out is not None:
            origin["Held out"] = held_out_text(card.held_out)
        origin["Proof"] = "no better card is known; nothing is proven"
        if p.bound is not None:
            origin["Proof"] = f"none can exceed {p.bound:.5f}"
        if p.solver is not None:
            seconds = "" if p.seconds is None else f", {p.seconds:.1f} s"
            seed = "" if p.random_state is None else f", seed {p.random_state}"
            origin["Search"] = f"{p.solver} ({p.status}{seconds}{seed})"
        origin["Version"] = f"netbenefit {p.version}"
    return (
        "<dl>" + "".join(f"<dt>{k}</dt><dd>{escape(v)}</dd>" for k, v in origin.items()) + "</dl>"
    )


def _signed(number: float) -> str:
    return f"{number:.5f}".replace("-", "−")


def decided(card: Scorecard) -> list[Section]:
    """Tell how a card was changed after it was learnt: who decided what, and what it did."""
    if not card.decisions:
        return []
    seen = any(one.held_out is not None for one in card.decisions)
    head = ["When (UTC)", "Who", "What", "Net benefit in training"]
    rows = []
    for one in card.decisions:
        when = one.when.replace("T", " ").removesuffix("Z")
        rows.append([when, f"a {one.by}", one.what, _signed(one.net_benefit)])
        if seen:
            rows[-1].append("–" if one.held_out is None else _signed(one.held_out))
    note = ""
    if seen:
        head.append("On held-out rows")
        note = (
            '<p class="note">Net benefit on held-out rows was in view while the card was changed: '
            "the more changes were chosen by it, the more it flatters the card.</p>"
        )
    return [Section("Who decided what", data_table(head, rows) + note, "wide")]


def data_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], style: str = "data", first: bool = False
) -> str:
    """Return a table of texts; with ``first``, the first row stands out.

    A narrow screen shows each row as a list, each cell after its head: hence the roles.
    """
    heads = "".join(f'<th role="columnheader" scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr role="row"{" class=first" if first and i == 0 else ""}>'
        + "".join(
            f'<td role="cell" data-head="{escape(name)}">{escape(strip_control(cell))}</td>'
            for name, cell in zip(head, row, strict=True)
        )
        + "</tr>"
        for i, row in enumerate(rows)
    )
    return (
        f'<table role="table" class="{style}"><thead role="rowgroup"><tr role="row">{heads}</tr>'
        f'</thead><tbody role="rowgroup">{body}</tbody></table>'
    )


def models_table(rows: Sequence[ModelRow]) -> str:
    """Put models and their measures into a table."""
    cells = []
    for row in rows:
        numbers = (row.auroc, row.aunbc, row.expected_calibration_error)
        cells.append([row.model, *(format_number(x, 3) for x in numbers)])
    return data_table(["", "AUROC", "AUNBC", "ECE"], cells, first=True)


def curve_table(curve: Table) -> str:
    """Return the numbers behind decision curves."""
    lines = lines_of_curve(curve)
    thresholds = next(iter(lines.values()))[0]
    rows = [
        [f"{100 * p:g}%", *(format_number(benefit[i], 4) for _, benefit in lines.values())]
        for i, p in enumerate(thresholds)
    ]
    return data_table(["Threshold", *lines], rows)
