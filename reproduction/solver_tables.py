"""What the solvers did: time, gap and proof, and how good the cards are on their own objective."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from reproduction.names import title_of
from reproduction.published import PublishedSolve, load_published
from reproduction.summary import (
    MISSING,
    Cell,
    Group,
    Summary,
    bullets,
    document,
    escape,
    number,
    pipe_table,
    run_words,
)

_SOLVED = ("rss-dnb", "rss-dnb-exact", "slim", "riskslim")
#: Methods of one objective, and the method whose printed numbers are shown next to them.
_OBJECTIVE = {"rss-dnb": "rss-dnb", "rss-dnb-exact": "rss-dnb", "rss-dnb-sa": "rss-dnb-sa"}
_DONE, _STOPPED = "optimal", "time_limit"


# -- time and proof --------------------------------------------------------------------------------


def computational_records(summary: Summary) -> list[dict[str, Any]]:
    """Return one record per data set and method with a solver: ours, then what the paper prints.

    A method of the paper that was not run has no folds; a data set on which no solver was run has
    no record.
    """
    groups = {key[:2]: group for key, group in summary.items() if key[2] == "original"}
    none, printed = Group(()), load_published().computational
    return [
        _solve(dataset, method, groups.get((dataset, method), none))
        for dataset in summary.datasets("original")
        if any((dataset, method) in groups for method in _SOLVED)
        for method in _SOLVED
        if (dataset, method) in groups or (dataset, method) in printed
    ]


def _solve(dataset: str, method: str, group: Group) -> dict[str, Any]:
    statuses = [str(row.get("status") or "") for row in group.rows]
    seconds, stopped = (
        group.values("seconds"),
        np.array([status == _STOPPED for status in statuses], dtype=bool),
    )
    gap = group.cell("gap")
    printed = load_published().computational.get((dataset, method))
    return {
        "dataset": dataset,
        "method": method,
        "n_folds": group.n_folds,
        "seconds": Cell.of(seconds).mean,
        "seconds_min": Cell.of(seconds).min,
        "seconds_max": Cell.of(seconds).max,
        "gap_percent": None if gap.mean is None else 100 * gap.mean,
        "status": _status_text(statuses),
        "solved": statuses.count(_DONE),
        "seconds_when_stopped": Cell.of(seconds[stopped]).mean,
        **_printed_solve(printed),
    }


def _printed_solve(printed: PublishedSolve | None) -> dict[str, Any]:
    return {
        "published_seconds": printed.seconds.text if printed else None,
        "published_gap_percent": printed.gap_percent if printed else None,
        "published_status": printed.status if printed else None,
        "published_solved": printed.solved if printed else None,
        "published_folds": printed.folds if printed else None,
    }


def computational_markdown(summary: Summary) -> str:
    """Return time, gap and proof as a document."""
    records = computational_records(summary)
    heads = ["Data set", "Method", "Seconds", "Gap, %", "Folds solved", "Status"]
    lines = [[escape(title_of(found["dataset"])), *_solve_texts(found)] for found in records]
    legend = [
        "Seconds and gap: means over the folds, in square brackets what the paper prints for its "
        "methods. Machines and solvers differ, so times compare in order of magnitude only.",
        "Gap: what remains between a solution and the bound that is proven, as the solver "
        "reports it; 0 where a fold is solved. Solvers measure it relative to their own "
        "objective: gaps of different methods do not compare.",
        "Folds solved: to proven optimality, of all folds that were run. Finished: the method "
        "ended by itself before its time was up, without a proof.",
        "RSS-DNB is the published integer program on HiGHS, which starts from a short search of "
        "ours; RSS-DNB, our engine, is the same objective by our own search and proof.",
        "Gap and status of RSS-DNB are what HiGHS reports, those of SLIM and RISKSLIM what our "
        "search reports; nobody can recount them.",
        f"{MISSING} not run, or not reported.",
    ]
    return document(
        "Solving: time, gap and proof",
        "How long the methods with a solver took to train on a fold, and how much they proved.",
        run_words(summary),
        pipe_table(heads, lines, left=2),
        "## How to read it",
        bullets(legend),
        "## Time limits",
        _limits(summary, records),
    )


def _solve_texts(found: dict[str, Any]) -> list[str]:
    seconds = number(found["seconds"], 1)
    if found["seconds"] is not None and found["seconds"] < 0.1:
        seconds = "< 0.1"
    texts = [
        seconds,
        number(found["gap_percent"], 1),
        f"{found['solved']}/{found['n_folds']}" if found["n_folds"] else MISSING,
        escape(found["status"]) or MISSING,
    ]
    if found["published_seconds"] is not None:
        printed = [
            found["published_seconds"].replace("<", "< "),
            number(found["published_gap_percent"], 1),
            f"{found['published_solved']}/{found['published_folds']}",
            found["published_status"],
        ]
        texts = [f"{ours} [{theirs}]" for ours, theirs in zip(texts, printed, strict=True)]
    return [escape(title_of(found["method"])), *texts]


def _limits(summary: Summary, records: list[dict[str, Any]]) -> str:
    """Return when solvers were stopped, and their settings."""
    items = []
    for method in _SOLVED:
        times = [r["seconds_when_stopped"] for r in records if r["method"] == method]
        stopped = [time for time in times if time is not None]
        groups = [group for (_, m, s), group in summary.items() if (m, s) == (method, "original")]
        if not groups:
            continue
        recipes = {str(row.get("recipe") or "") for group in groups for row in group.rows}
        ran = (
            f"folds that ran out of time took {_range(stopped)} s on average over a data set"
            if stopped
            else "no fold ran out of time"
        )
        recipe = "; ".join(escape(text) for text in sorted(recipes) if text)
        items.append(
            f"{escape(title_of(method))}: {ran}." + (f" Recipe: {recipe}." if recipe else "")
        )
    return "The paper stops after 600 s per fold. Here:\n\n" + bullets(items)


def _range(values: list[float]) -> str:
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low}–{high}"


def _status_text(statuses: list[str]) -> str:
    """Write one status, or how many folds have which."""
    counts = Counter(status.replace("_", " ") for status in statuses if status)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{status} {count}" for status, count in counts.most_common())


# -- the objective ---------------------------------------------------------------------------------


def objective_records(summary: Summary) -> list[dict[str, Any]]:
    """Return one record per data set and method of the published objective.

    The objective of a fold is AUNBC on its training rows − C0 · size. The paper does not print it;
    it follows from the printed means of both, with our mean C0, up to their rounding.
    """
    return [
        _objective(dataset, method, summary[dataset, method, "original"])
        for dataset in summary.datasets("original")
        for method in _OBJECTIVE
        if (dataset, method, "original") in summary
    ]


def _objective(dataset: str, method: str, group: Group) -> dict[str, Any]:
    penalty = group.cell("penalty").mean
    ours = Cell.of(group.values("train_aunbc") - group.values("penalty") * group.values("size"))
    cells, key = load_published().cells, (dataset, _OBJECTIVE[method], "original")
    gain, size = cells.get((*key, "train_aunbc")), cells.get((*key, "size"))
    printed = rounding = verdict = None
    if penalty is not None and gain is not None and size is not None:
        printed = gain.mean - penalty * size.mean
        rounding = gain.half_unit + penalty * size.half_unit
        verdict = _verdict(ours.mean, printed, rounding)
    return {
        "dataset": dataset,
        "method": method,
        "n_folds": ours.n_folds,
        "penalty": penalty,
        "mean": ours.mean,
        "sd": ours.sd,
        "published_method": _OBJECTIVE[method],
        "published": printed,
        "rounding": rounding,
        "difference": None if ours.mean is None or printed is None else ours.mean - printed,
        "verdict": verdict,
        "at_least_published": None if verdict is None else verdict != "lower",
    }


def _verdict(ours: float | None, printed: float, rounding: float) -> str | None:
    """Compare with a number that is known up to its rounding."""
    if ours is None:
        return None
    if abs(ours - printed) <= rounding + 1e-12:
        return "same"
    return "higher" if ours > printed else "lower"


def objective_markdown(summary: Summary) -> str:
    """Return the objectives as a document."""
    records = objective_records(summary)
    heads = ["Data set", "Method", "C0", "Ours", "Paper", "Difference", "Ours is"]
    lines = [[escape(title_of(found["dataset"])), *_objective_texts(found)] for found in records]
    count = Counter(found["verdict"] for found in records)
    legend = [
        "Ours: mean ± standard deviation over the folds of AUNBC on training rows − C0 · size, "
        "with C0 = 0.1 · prevalence / number of features.",
        "Paper: from its printed means of both, with our mean C0; ± is what the rounding of the "
        "printed means may hide. The exact engine is compared with the paper's RSS-DNB.",
        "Ours is the same where the difference is no larger than that rounding.",
        f"{MISSING} not known.",
    ]
    return document(
        "The objective that is maximised",
        "Net benefit on the training rows less the price of the features: what the search is "
        "for, whatever happens on held-out rows. Higher is better.",
        run_words(summary),
        f"Ours is higher in {count['higher']}, the same in {count['same']} and lower in "
        f"{count['lower']} of the {count.total() - count[None]} lines that compare.",
        pipe_table(heads, lines, left=2),
        "## How to read it",
        bullets(legend),
    )


def _objective_texts(found: dict[str, Any]) -> list[str]:
    sign = "+" if found["difference"] is not None and found["difference"] >= 0.00005 else ""
    printed = MISSING
    if found["published"] is not None:
        printed = f"{number(found['published'], 4)} ± {number(found['rounding'], 4)}"
    ours = MISSING
    if found["mean"] is not None:
        ours = f"{number(found['mean'], 4)} ± {number(found['sd'], 4)}"
    verdict = found["verdict"] or MISSING
    return [
        escape(title_of(found["method"])),
        number(found["penalty"], 5),
        ours,
        printed,
        sign + number(found["difference"], 4),
        f"**{verdict}**" if verdict == "lower" else verdict,
    ]
