"""Rows of a run that never was: its means are the printed ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.names import MEASURES
from reproduction.published import load_published

PENALTY = 0.0015


def published_rows(n_folds: int = 4) -> list[dict[str, Any]]:
    """All printed cells as folds: mean and standard deviation as printed, sizes at their mean."""
    rng = np.random.default_rng(0)
    found = load_published()
    rows = []
    for dataset, method, setting in sorted({key[:3] for key in found.cells}):
        values: dict[str, list[float | None]] = {}
        for key in MEASURES:
            cell = found.cells.get((dataset, method, setting, key))
            if cell is None:
                values[key] = [None] * n_folds
                continue
            z = rng.normal(size=n_folds)
            z = (z - z.mean()) / z.std(ddof=1) if n_folds > 1 else np.zeros(1)
            values[key] = (cell.mean + z * (cell.sd or 0.0)).tolist()
        rows += [
            {
                **fold_row(dataset, method, setting, fold),
                **{key: numbers[fold] for key, numbers in values.items()},
            }
            for fold in range(n_folds)
        ]
    return rows


def fold_row(dataset: str, method: str, setting: str, fold: int) -> dict[str, Any]:
    """What a row contains in addition to its measures, as the paper's solvers reported it."""
    solve = load_published().computational.get((dataset, method))
    return {
        "dataset": dataset,
        "method": method,
        "setting": setting,
        "fold": fold,
        "penalty": PENALTY if method.startswith("rss-dnb") else None,
        "seconds": solve.seconds.value if solve else 0.5,
        "gap": solve.gap_percent / 100 if solve else None,
        "status": solve.status.replace(" ", "_") if solve else "",
        "budget": "paper",
        "version": "1.0",
        "recipe": "600 s a fold" if solve else "",
    }


def with_own_methods(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add methods that the paper does not have, as copies of one that it has."""
    own = []
    for row in rows:
        if row["method"] == "rss-dnb" and row["setting"] in ("original", "c0=0"):
            own.append({**row, "method": "rss-dnb-exact"})
        if row["method"] == "rss-dnb" and row["setting"] == "original":
            own.append({**row, "method": "scorecard", "size": row["size"] + 1})
    return rows + own


def table_cells(markdown: str) -> list[list[list[str]]]:
    """All tables of a document by a Markdown parser: lines of cells, the head first."""
    from markdown_it import MarkdownIt

    tables: list[list[list[str]]] = []
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type in ("th_open", "td_open"):
            inner = tokens[place + 1].children or []
            tables[-1][-1].append("".join(child.content for child in inner))
    return tables
