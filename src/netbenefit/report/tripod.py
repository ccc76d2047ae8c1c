"""A checklist in the shape of TRIPOD+AI: what the software knows, and what is left to the author.

The 27 items and their letters are those of the statement (Collins and others, BMJ 2024); the words
are ours.  Read the statement itself before submitting anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from netbenefit._version import __version__
from netbenefit.cards import Scorecard, percent
from netbenefit.metrics import Measures
from netbenefit.report.columns import ColumnRow

_ITEMS: tuple[tuple[str, str, str], ...] = (
    ("Title", "1", "Say that a model is developed or evaluated, for whom, and for which outcome."),
    ("Abstract", "2", "Follow the statement's own list for abstracts."),
    ("Introduction", "3a", "The decision that the model is to serve, and what is done today."),
    ("", "3b", "Whom the model is for, in whose hands, and where in their work."),
    ("", "3c", "What is known of inequalities between groups."),
    ("", "4", "Whether the study develops, validates, or both."),
    ("Methods", "5a", "Where the data come from, for development and for evaluation, and why."),
    ("", "5b", "Dates: start and end of inclusion, end of follow-up."),
    ("", "6a", "The setting: level of care, number and place of centres."),
    ("", "6b", "Who was eligible."),
    ("", "6c", "Treatments, where they matter, and how they were dealt with."),
    ("", "7", "How the data were prepared, and whether alike for all groups."),
    ("", "8a", "The outcome, when and how it was assessed."),
    ("", "8b", "Who assessed it, where judgement is needed."),
    ("", "8c", "Whether that person knew the predictors."),
    ("", "9a", "Why these predictors were looked at."),
    ("", "9b", "How and when each predictor is measured."),
    ("", "9c", "Who measured it, where judgement is needed."),
    ("", "10", "Why the sample is large enough."),
    ("", "11", "What was done about missing values."),
    ("", "12a", "How the data were used, and split where they were."),
    ("", "12b", "How predictors entered the model: form, cuts, scaling."),
    ("", "12c", "The kind of model, how it was built, and how it was validated internally."),
    ("", "12d", "Whether the model differs between clusters, such as hospitals."),
    ("", "12e", "The measures of performance, and the plots."),
    ("", "12f", "How the model was updated, if it was."),
    ("", "12g", "For an evaluation: how predictions were calculated."),
    ("", "13", "What was done about rare outcomes, and what that did to the risks."),
    ("", "14", "What was done to be fair to groups."),
    ("", "15", "What the model puts out, and how classes or thresholds follow from it."),
    ("", "16", "How the data of development and evaluation differ."),
    ("", "17", "Who approved the study, and how people consented."),
    ("Open science", "18a", "Who paid, and what they had to say in it."),
    ("", "18b", "Interests of the authors."),
    ("", "18c", "Where the protocol is."),
    ("", "18d", "Where the study is registered."),
    ("", "18e", "Where the data can be had."),
    ("", "18f", "Where the code can be had."),
    ("Involvement", "19", "How patients or the public took part."),
    ("Results", "20a", "How people went through the study, and how many had the outcome."),
    ("", "20b", "What they were like, overall and by setting, with missing values."),
    ("", "20c", "For an evaluation: how they compare with those of development."),
    ("", "21", "How many people and events each analysis had."),
    ("", "22", "The whole model, so that others can use it."),
    ("", "23a", "Performance with intervals, also in groups of people."),
    ("", "23b", "How performance differs between clusters, if that was looked at."),
    ("", "24", "Results of updating the model, if it was updated."),
    ("Discussion", "25", "What the results mean, also for fairness."),
    ("", "26", "Limitations, and what they do to bias and uncertainty."),
    ("", "27a", "What to do where input is poor or not there."),
    ("", "27b", "What users have to do and to know."),
    ("", "27c", "What should be studied next."),
)


def checklist(
    card: Scorecard, m: Measures, columns: Sequence[ColumnRow], data: str, proof: str
) -> list[tuple[str, str, str, str]]:
    """Fill in what is known of a card and of the rows (called ``data``) that it is evaluated on.

    An item is a section, a number, a question and an answer, empty where the author has to answer.
    """
    answers = _answers(card, m, columns, data)
    made = _of_origin(card, proof)
    if "21" in made:
        made["21"] += f" {answers['21']}"
    answers |= made
    return [(*item, answers.get(item[1], "")) for item in _ITEMS]


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
