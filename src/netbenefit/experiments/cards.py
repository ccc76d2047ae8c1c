"""The cards themselves: one a data set, of our engine, where it does better than was published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from netbenefit._atomic import write_text
from netbenefit._validation import InputError
from netbenefit.datasets import load_dataset
from netbenefit.experiments.credit_card import with_names
from netbenefit.experiments.markup import document, number
from netbenefit.experiments.names import title_of
from netbenefit.experiments.published import load_published
from netbenefit.experiments.solver_tables import objective_records
from netbenefit.experiments.summary import summarise
from netbenefit.scorecard import Scorecard

__all__ = ["cards_page", "write_cards"]

Row = Mapping[str, Any]
_METHOD = "rss-dnb-exact"


def write_cards(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write ``cards.md`` where there is a card to show.

    Parameters
    ----------
    rows : sequence of dict
        Rows of a run.
    folder : path

    Returns
    -------
    list of Path
    """
    page = cards_page(rows)
    if page is None:
        return []
    path = folder / "cards.md"
    write_text(path, page)
    return [path]


def _names_of(dataset: str) -> tuple[str, ...] | None:
    """Names of columns; None where the data are not at hand."""
    try:
        return load_dataset(dataset).names
    except InputError:
        return None


def cards_page(
    rows: Sequence[Row], names: Callable[[str], Sequence[str] | None] = _names_of
) -> str | None:
    """Show a card of each data set whose published objective our engine exceeds.

    Parameters
    ----------
    rows : sequence of dict
    names : callable, optional
        From the name of a data set to those of its columns.

    Returns
    -------
    str or None
        Markdown; None where no card does better.
    """
    better = {
        record["dataset"]: record
        for record in objective_records(summarise(rows))
        if record["method"] == _METHOD and record["verdict"] == "higher"
    }
    mine = {row["dataset"]: row for row in rows if _is_shown(row)}
    shown = [mine[dataset] for dataset in better if dataset in mine]
    if not shown:
        return None
    return document(
        "Cards that do better than published",
        "By the paper's own objective, AUNBC on the training rows less C0 for every feature. Each "
        "card was learnt from nine tenths of the rows (fold 0 is held out) by our exact engine. "
        "The published figures are means over ten other folds, so small differences may be due to "
        "the folds; `objective.md` has the means of ours.",
        *(part for row in shown for part in _section(row, better[row["dataset"]], names)),
    )


def _is_shown(row: Row) -> bool:
    mine = (row["method"], row["setting"], row["fold"]) == (_METHOD, "original", 0)
    return mine and bool(row.get("card"))


def _section(
    row: Row, record: Mapping[str, Any], names: Callable[[str], Sequence[str] | None]
) -> list[str]:
    card = Scorecard.from_json(row["card"])
    called = names(row["dataset"])
    if called is not None:
        card = with_names(card, called)
    solved = load_published().computational.get((row["dataset"], "rss-dnb"))
    theirs = load_published().cells
    size, benefit = (
        theirs[row["dataset"], "rss-dnb", "original", key].mean for key in ("size", "train_aunbc")
    )
    ours = "proven optimal" if row["status"] == "optimal" else f"gap {row['gap']:.1%}"
    claimed = "" if solved is None else f", solver status {solved.status}"
    return [
        f"## {title_of(row['dataset'])}",
        f"Ours: {_features(card.size)}, AUNBC {number(row['train_aunbc'], 4)}, objective "
        f"{number(row['objective'], 4)}, {ours}. Published: {size:g} features, AUNBC {benefit:g}, "
        f"objective {number(record['published'], 4)}{claimed}.",
        f"```\n{card}\n```",
    ]


def _features(size: int) -> str:
    return "1 feature" if size == 1 else f"{size} features"
