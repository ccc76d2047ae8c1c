"""A page that shows the figures, with a caption for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from reproduction.figures_methods import method_order
from reproduction.names import title_of

__all__ = ["CAPTIONS", "Caption", "page_text"]


class Caption(NamedTuple):
    """What stands above and below a figure."""

    title: str
    text: str


#: By file name, in the order of the page.
CAPTIONS: Mapping[str, Caption] = MappingProxyType(
    {
        "roc": Caption(
            "ROC curves",
            "Sensitivity against one minus specificity. Every row was predicted by the model that "
            "had not seen its fold, and the predictions of all folds are pooled; the AUROC is that "
            "of the pooled predictions, so it need not be the mean over folds. Where most curves "
            "hug the upper left corner, it is shown larger inside the panel. Corners of a curve "
            "that lie within 0.002 of a straight line are left out. SLIM predicts two risks only, "
            "hence the single corner.",
        ),
        "calibration": Caption(
            "Calibration",
            "Share of events against mean predicted risk, in the ten intervals of risk from 0–10% "
            "to 90–100%, on pooled held-out predictions. A larger marker stands for a larger share "
            "of the rows. Hollow markers stand for fewer than ten rows, which say little. Lines "
            "join neighbouring intervals; across intervals that are empty or nearly so there is "
            "none. On the dotted diagonal, predicted and observed risk agree.",
        ),
        "decision": Caption(
            "Decision curves",
            "Net benefit at the thresholds 0%, 1%, …, 99%, on pooled held-out predictions, beside "
            "treating all and treating none. Parts far below zero are cut off.",
        ),
        "credit-curves": Caption(
            "Credit: ROC, calibration and decision curves",
            "The case study: all methods on the quarter of the borrowers that was held out, "
            "drawn as in the figures above.",
        ),
        "region-theory": Caption(
            "AUROC and AUNBC: what is possible",
            "For half of the rows being events and the thresholds 0, 0.2, …, 0.8: the most and the "
            "least AUNBC that a model with a given AUROC can have. The AUROC is grouped: "
            "an event and a non-event between the same two thresholds count as ordered. The "
            "published lower bound is a constant; the least possible value rises with the AUROC.",
        ),
        "region-credit": Caption(
            "AUROC and AUNBC: the credit data",
            "Prevalence of the credit data, thresholds 0, 0.1, …, 0.9. Random predictions with a "
            "given correlation to the outcome (type I) lie far below the upper bound, most of them "
            "below treating none; predictions made for it (type II) lie on it. High "
            "discrimination does not bring high utility by itself.",
        ),
        "region-calibration": Caption(
            "AUROC and AUNBC: before and after calibration",
            "The type I predictions of the figure above, before and after Algorithm 2 with the "
            "order of the predictions kept; an arrow joins the two. AUNBC never falls. The "
            "ordinary AUROC (right) stays as it is; a pair may even lie above the curve there, "
            "which bounds the grouped AUROC only. By the grouped AUROC (left), joined levels "
            "gain, since ties are wins.",
        ),
    }
)


def page_text(shown: Iterable[str], methods: Iterable[str] = (), notes: Sequence[str] = ()) -> str:
    r"""Return the page, as Markdown.

    Parameters
    ----------
    shown : iterable of str
        Names of the figures that are there, out of :data:`CAPTIONS`.
    methods : iterable of str
        Methods in the tables, to tell how figures call them.
    notes : sequence of str
        What is lacking.

    Returns
    -------
    str

    Examples
    --------
    >>> text = page_text(["roc"], ["tree"], ["adult: not drawn."])
    >>> "![ROC curves](roc.svg)" in text, text.endswith("- adult: not drawn.\n")
    (True, True)
    """
    there = set(shown)
    parts = ["# Figures"]
    for name, caption in CAPTIONS.items():
        if name in there:
            numbers = f"Numbers: [{name}.csv]({name}.csv)."
            parts += [f"## {caption.title}", f"![{caption.title}]({name}.svg)"]
            parts += [f"{caption.text} {numbers}"]
    if order := method_order(methods):
        names = "\n".join(f"| `{method}` | {title_of(method)} |" for method in order)
        parts += ["## Methods", f"| in tables | in figures |\n|---|---|\n{names}"]
    if notes:
        parts += ["## What is lacking", "\n".join(f"- {note}" for note in notes)]
    return "\n\n".join(parts) + "\n"
