"""The report on a card and some rows: one offline page for reviewers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netbenefit._version import __version__
from netbenefit.cards import Scorecard, contents, held_out_text, percent, price_text
from netbenefit.certificates import Certificate, Verdict
from netbenefit.common import asset, format_number, relative_gap
from netbenefit.metrics import Measures, compare, decision_bands, measure
from netbenefit.problem import NEGLIGIBLE
from netbenefit.report.columns import ColumnRow, column_rows
from netbenefit.report.html import (
    Section,
    curve_table,
    data_table,
    decided,
    made_table,
    models_table,
    page,
    thresholds_text,
)
from netbenefit.report.svg import calibration_svg, curve_key, curve_svg, roc_svg
from netbenefit.report.verdict import Worth, judge_worth
from netbenefit.updating import LevelRow, count_levels_of_card

# -- the checklist: items of TRIPOD+AI, with what the software knows -------------------------------
# The 27 items and their letters are those of the statement (Collins and others, BMJ 2024); the
# words are ours, in ``assets/tripod.txt``.  Read the statement itself before submitting anything.


def checklist(
    card: Scorecard, m: Measures, columns: Sequence[ColumnRow], data: str, proof: str
) -> list[tuple[str, ...]]:
    """Fill in what is known of a card and of the rows (called ``data``) that it is evaluated on.

    An item is a section, a number, a question and an answer, empty where the author has to answer.
    """
    answers = _answers(card, m, columns, data)
    made = _of_origin(card, proof)
    if "21" in made:
        made["21"] += f" {answers['21']}"
    answers |= made
    found: list[tuple[str, ...]] = []
    section = ""
    for line in asset("report", "tripod.txt").splitlines():
        own, number, question = line.split("\t")
        section = own or section
        found.append((section, number, question, answers.get(number, "")))
    return found


def _answers(
    card: Scorecard, m: Measures, columns: Sequence[ColumnRow], data: str
) -> dict[str, str]:
    prepared = "; ".join(f"{row.name}: {row.prepared}" for row in columns)
    missing = [f"{row.name} {row.missing:,} ({row.share:.1%})" for row in columns if row.missing]
    grid = ", ".join(f"{100 * p:g}%" for p in card.thresholds.given)
    return {
        "5a": f"Evaluated on {data}.",
        "7": prepared or "The card asks nothing.",
        "11": (f"Missing here: {', '.join(missing)}. " if missing else "Nothing is missing here. ")
        + "What a missing value counts as stands with each column (item 7).",
        "12b": "Conditions on raw columns with whole points; see the card.",
        "12e": "Net benefit and its area (AUNBC), AUROC, expected calibration error, "
        "Hosmer-Lemeshow; decision curve, calibration by level, ROC curve.",
        "12g": "By the card, from raw columns, in whole numbers.",
        "15": f"A risk for each score. Decisions at {grid}: act where the risk is at least that.",
        "21": f"Evaluation: {m.n:,.10g} rows, {m.events:,.10g} with the event.",
        "22": "The card in this report is the whole model.",
        "23a": f"AUNBC {m.aunbc:.4f}, AUROC of risks {m.auroc:.3f}, "
        f"ECE {m.expected_calibration_error:.4f}; intervals by level in the table. Groups of "
        "people are left to the author.",
        "27a": "A missing value is filled in, is an answer of its own, or is refused, as stated "
        "by column.",
        "18f": f"netbenefit {card.provenance.version if card.provenance else __version__}.",
    }


def _of_origin(card: Scorecard, proof: str) -> dict[str, str]:
    origin = card.provenance
    if origin is None:
        return {}
    answers = {}
    if origin.updated:
        answers["12f"] = f"Updated: {origin.updated}."
        answers["24"] = "The measures in this report are those of the updated card (item 12f)."
    event = card.labels.outcome or origin.outcome
    if event:
        answers["8a"] = f"The event is “{event}”. When and how it was assessed: author."
    if origin.n_rows is not None and origin.n_events is not None:
        answers["21"] = f"Development: {origin.n_rows:,.10g} rows, {origin.n_events:,.10g} events."
        answers["13"] = (
            f"Prevalence in development {percent(origin.n_events / origin.n_rows)}, row weights "
            "included where there were any; the card's risks were calibrated there."
        )
    if origin.solver is not None:
        price = price_text(origin)
        less = f"less a price of {price}" if price else "at no price of rules"
        belief = f", taught by {origin.teacher}" if origin.teacher else ""
        answers["12c"] = (
            f"Whole points found by the solver “{origin.solver}”, maximising weighted net benefit "
            f"{less}{belief}. {proof}"
        )
    return answers


_READ_CURVE = (
    "<figcaption>If you would act from a risk of p on, look above p: the higher the curve, the "
    "better the decisions, counted in events found per person after paying for false alarms at the "
    "odds <span class='nowrap'>p&thinsp;/&thinsp;(1&minus;p)</span>. The band holds the card's "
    "whole curve with 95% confidence; differences between curves, which the verdict goes by, are "
    "surer.</figcaption>"
)


def validation_page(
    card: Scorecard,
    columns: Mapping[str, Any],
    event: NDArray[np.bool_],
    *,
    sample_weight: NDArray[Any] | None = None,
    data: str = "these rows",
    certificate: Certificate | None = None,
    verdict: Verdict | None = None,
    others: Mapping[str, NDArray[Any]] | None = None,
    lead: str = "",
    note: str = "",
) -> str:
    """Return a report on a card, evaluated on rows: HTML that needs no other file.

    ``others`` are risks of other models, (n_rows,) each; ``lead`` is what the card is about,
    ``note`` what to keep in mind when reading the measures.
    """
    score = np.asarray(card.score(columns), dtype=np.int64)
    if score.ndim == 0:  # a card without rules scores one row, whatever the rows are
        score = np.full(event.size, int(score))
    risk = np.asarray(card.risk_of_score(score), dtype=np.float64)
    measures = measure(event, risk, card.thresholds, score=score, sample_weight=sample_weight)
    levels = count_levels_of_card(card, score, event, sample_weight)
    risks = {"Card": risk, **(others or {})}
    curve = decision_bands(event, risks, card.thresholds, sample_weight=sample_weight)
    prepared = column_rows(card, columns)
    proof = certificate_sentence(card, certificate, verdict)
    doubts = [training_note(card, measures, verdict)]
    if card.provenance is not None and card.provenance.caution is not None:
        doubts.append(f"Caution: {card.provenance.caution}.")
    sections = [
        Section(
            "", _worth(judge_worth(event, risk, card.thresholds, sample_weight), doubts), "wide"
        ),
        Section("", card._repr_html_(), "card"),
        Section(
            "Decision curve",
            f"<figure>{curve_key(curve)}{curve_svg(curve)}{_READ_CURVE}</figure>"
            f"<details><summary>The numbers</summary>{curve_table(curve)}</details>",
            "curve",
        ),
        Section("Levels", _levels(levels), "half"),
        Section("Measures", _measures(measures), "half"),
        *_beside(card, event, risks, sample_weight, note),
        Section(
            "Calibration and discrimination",
            f'<div class="pair"><figure>{calibration_svg(levels)}<figcaption>Observed against '
            "predicted risks of the levels, with 95% intervals; bars show how many rows each level "
            f"has.</figcaption></figure><figure>{roc_svg(card, event, score, sample_weight)}"
            "<figcaption>ROC curve of the score; circles are the card's cut-offs.</figcaption>"
            "</figure></div>",
            "wide",
        ),
        Section("Columns", _columns(prepared), "wide"),
        Section("How it was made", made_table(card), "half"),
        Section("What is proven", f"<p>{escape(proof)}</p>", "half"),
        *decided(card),
        _checklist(checklist(card, measures, prepared, data, proof)),
    ]
    rows = f"Evaluated on {data}: {measures.n:,.10g} rows, {measures.events:,.10g} with the event."
    style = "\n" + asset("report", "validation.css")
    return page(contents(card).title, sections, lead=f"{lead} {rows}".strip(), style=style)


def _worth(worth: Worth, doubts: Sequence[str]) -> str:
    """Return the verdict; what makes it doubtful, such as rows that the card has seen, is first."""
    parts = [f'<h2 class="verdict">{escape(worth.headline)}</h2>']
    parts += [f'<p class="open">{escape(doubt)}</p>' for doubt in doubts if doubt]
    words, sure = escape(" ".join(worth.sentences)), escape(worth.sure)
    return "".join([*parts, f'<p>{words} <span class="note">{sure}</span></p>'])


def certificate_sentence(
    card: Scorecard, certificate: Certificate | None, verdict: Verdict | None = None
) -> str:
    """Return in one sentence what is proven about a card."""
    if verdict is not None and not verdict.consistent:
        return f"The certificate does not hold for these rows: {'; '.join(verdict.failures)}."
    start = "By its own record"
    if verdict is not None:
        start = "The certificate was checked against these rows and holds"
    if certificate is not None and certificate.proof is None:
        return f"{start}, but it claims no bound: nothing is proven about better cards."
    proven = _proven(card, certificate)
    if proven is None:
        return "Nothing is proven about better cards."
    if verdict is not None and not verdict.accepted:
        return (
            "The certificate is consistent with these rows, but its bound was not fully recounted. "
            f"By its own record, {proven}."
        )
    return f"{start}: {proven}."


def _proven(card: Scorecard, certificate: Certificate | None) -> str | None:
    """Return the bound: the certificate's, or else the card's own; None without one."""
    teacher = objective = bound = None
    rounding = 0.0
    if certificate is not None and certificate.proof is not None:
        lesson = certificate.problem.teacher
        teacher = None if lesson is None else lesson.name
        objective = float(certificate.answer.objective)
        bound, rounding = float(certificate.proof.bound), float(certificate.proof.slack)
    elif card.provenance is not None:
        origin = card.provenance
        teacher, objective, bound = origin.teacher, origin.objective, origin.bound
    if objective is None or bound is None:
        return None
    belief = ", counted on outcomes and the risks of its teacher" if teacher else ""
    measured = f"the objective is net benefit in training less a price for each rule{belief}"
    return f"no card within the same limits has {_excess(objective, bound, rounding)} ({measured})"


def _excess(objective: float, bound: float, rounding: float = 0.0) -> str:
    """Return what no card has; numbers are rounded up, so that it stays true."""
    if bound <= objective:  # below it is one that rounding has moved
        return "a higher objective"
    if bound <= objective + rounding and rounding <= NEGLIGIBLE:
        return "a higher objective, up to negligible rounding"
    gap = relative_gap(objective, bound)
    if gap is None or math.isinf(gap):
        return f"an objective above {_rounded_up(bound, 5)}, where this one's is 0"
    return f"an objective more than {_rounded_up(gap, 3):.1%} above this one's"


def _rounded_up(value: float, digits: int) -> Decimal:
    return Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)


def training_note(card: Scorecard, measures: Measures, verdict: Verdict | None = None) -> str:
    """Warn of rows that the card has seen; empty where nothing suggests that."""
    origin = card.provenance
    if verdict is not None and verdict.consistent:
        return (
            "These are the rows that the card was learnt from, so the measures flatter it: "
            "evaluate it on other rows, too."
        )
    if origin is not None and (origin.n_rows, origin.n_events) == (measures.n, measures.events):
        return (
            "There are as many rows and events here as the card was learnt from. If they are the "
            "same rows, the measures flatter it."
        )
    held_out = card.held_out
    if origin is not None and held_out is not None and origin.n_rows is not None:
        learnt = origin.n_rows, origin.n_events or 0
        whole = learnt[0] + held_out.n_rows, learnt[1] + held_out.n_events
        if whole == (measures.n, measures.events):
            return (
                "There are as many rows and events here as in the table that the card was made "
                f"from: {learnt[0]:,.10g} rows to learn from, and {held_out.n_rows:,.10g} held "
                "out. If they are the same rows, the measures flatter it: it has "
                f"{held_out_text(held_out)}."
            )
    return ""


def _levels(levels: Sequence[LevelRow]) -> str:
    cells = []
    for row in levels:
        observed = interval = "–"
        if row.rate is not None:
            observed = f"{100 * row.rate:.1f}%"
        if row.low is not None and row.high is not None:
            interval = f"{100 * row.low:.1f}–{100 * row.high:.1f}%"
        numbers = [f"{row.n:,.10g}", f"{row.events:,.10g}", observed, interval]
        cells.append([row.scores, row.risk_text, *numbers])
    head = ["Score", "Risk", "Rows", "Events", "Observed", "95% interval"]
    return data_table(head, cells) + (
        '<p class="note">The interval is Wilson\'s, of the observed share. A risk outside of it '
        "does not fit these rows.</p>"
    )


def _measures(m: Measures) -> str:
    lines = [
        ("AUNBC", m.aunbc, "area under the net benefit curve, by its length"),
        ("Net benefit", m.weighted_net_benefit, "mean by the thresholds' weights"),
        ("AUROC of risks", m.auroc, "ties count one half"),
        ("AUROC of scores", m.auroc_of_score, "scores tell apart what shares a risk"),
        ("ECE", m.expected_calibration_error, "expected calibration error"),
    ]
    rows = [
        [name, f"{value:.4f}".replace("-", "−"), note]
        for name, value, note in lines
        if value is not None
    ]
    misfit = format_number(m.hosmer_lemeshow, 2)
    rows.append(["Hosmer-Lemeshow", misfit, "misfit of the levels, squared"])
    return data_table(["Measure", "Value", "Meaning"], rows, "data words")


def _beside(
    card: Scorecard,
    event: NDArray[np.bool_],
    risks: Mapping[str, NDArray[Any]],
    sample_weight: NDArray[Any] | None,
    note: str,
) -> list[Section]:
    """Set the card beside other models, where there are any."""
    if len(risks) < 2:
        return [Section("", f'<p class="note">{escape(note)}</p>', "wide")] if note else []
    rows = compare(event, risks, card.thresholds, sample_weight=sample_weight)
    area = thresholds_text(card.thresholds)
    body = models_table(rows) + (
        f'<p class="note">AUNBC is the mean net benefit over {escape(area)}: higher is better. ECE '
        f"is the calibration error: lower is better. {escape(note)}</p>"
    )
    return [Section("Beside other models", body, "wide")]


def _columns(rows: Sequence[ColumnRow]) -> str:
    if not rows:
        return "<p>The card asks nothing.</p>"
    cells = [[r.name, r.prepared, f"{r.missing:,}", f"{r.share:.1%}"] for r in rows]
    return data_table(["Column", "Prepared", "Missing here", "Share"], cells, "data second")


def _checklist(items: Sequence[tuple[str, ...]]) -> Section:
    """What the software knows; the rest is folded on a screen, and all of it is on paper."""
    table = data_table(["Section", "Item", "Question", "Answer"], items, "data check")
    head, *rows = table.split('<tr role="row"><td')
    open_rows = sum(not answer for *_, answer in items)
    shown = head + "".join(
        f'<tr role="row"{"" if answer else " class=todo"}><td{row}'
        for row, (*_, answer) in zip(rows, items, strict=True)
    )
    left = '<span class="open">to be filled in by the author</span></td></tr>'
    body = (
        f'<p class="note">The software answers {len(items) - open_rows} of the {len(items)} items '
        "of the TRIPOD+AI statement, which stand here in our words. Check these answers, and add "
        'the others.</p><p class="fold"><label><input type="checkbox" id="all"> Show also the '
        f"{open_rows} items that the author has to answer</label></p>"
        + shown.replace("></td></tr>", f">{left}")
    )
    return Section("Checklist (TRIPOD+AI)", body, "wide appendix")
