"""A checklist in the shape of TRIPOD+AI: what the software knows, and what is left to the author.

The 27 items and their letters are those of the statement (Collins and others, BMJ 2024); the words
are ours, in ``assets/tripod.txt``.  Read the statement itself before submitting anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from netbenefit._version import __version__
from netbenefit.cards import Scorecard, percent
from netbenefit.common import asset
from netbenefit.metrics import Measures
from netbenefit.report.columns import ColumnRow


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
    items = [line.split("\t") for line in asset("report", "tripod.txt").splitlines()]
    return [(*item, answers.get(item[1], "")) for item in items]


def _answers(
    card: Scorecard, m: Measures, columns: Sequence[ColumnRow], data: str
) -> dict[str, str]:
    prepared = "; ".join(f"{row.name}: {row.prepared}" for row in columns)
    missing = [f"{row.name} {row.missing:,} ({row.share:.1%})" for row in columns if row.missing]
    grid = ", ".join(f"{100 * p:g}%" for p in card.thresholds.asked)
    return {
        "5a": f"Evaluated on {data}.",
        "7": prepared or "The card has no rules.",
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
        "27a": "A missing value is filled in, has its own row, or is refused, as stated by column.",
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
    if origin.outcome:
        answers["8a"] = f"The event is “{origin.outcome}”. When and how it was assessed: author."
    if origin.n_rows is not None and origin.n_events is not None:
        answers["21"] = f"Development: {origin.n_rows:,.10g} rows, {origin.n_events:,.10g} events."
        answers["13"] = (
            f"Prevalence in development {percent(origin.n_events / origin.n_rows)}, row weights "
            "included where there were any; the card's risks were calibrated there."
        )
    if origin.solver is not None:
        belief = f", taught by {origin.teacher}" if origin.teacher else ""
        answers["12c"] = (
            f"Whole points found by the solver “{origin.solver}”, maximising weighted net benefit "
            f"less a price of {origin.penalty or 0:.4g} per rule{belief}. {proof}"
        )
    return answers
