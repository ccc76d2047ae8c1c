"""The tables of the experiments, as Markdown to read and CSV to go on with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from netbenefit.common.checks import InputError, shorten
from netbenefit.common.files import write_text
from reproduction.cell_tables import (
    CellTable,
    ablation_table,
    performance_table,
    sensitivity_table,
)
from reproduction.markup import csv_text
from reproduction.rank_tables import (
    RankTables,
    picture_name,
    rank_tables,
    ranks_markdown,
)
from reproduction.ranking import critical_difference_display
from reproduction.solver_tables import (
    computational_markdown,
    computational_records,
    objective_markdown,
    objective_records,
)
from reproduction.summary import Summary, summarise

__all__ = ["TABLES", "write_tables"]


def write_tables(
    rows: Iterable[Mapping[str, Any]],
    folder: str | os.PathLike[str],
    only: Iterable[str] | None = None,
) -> list[Path]:
    """Write all tables that the rows of a run allow.

    Each table is a Markdown file with a legend and a tidy CSV file of the same name; ranks have
    three CSV files, and a picture for each metric.

    Parameters
    ----------
    rows : iterable of mappings
        One a data set, method, setting and fold, as a run writes them.  Some may be missing.
    folder : path
        Where to write; it is made where it is not there.  Files of the same name are replaced.
    only : iterable of str, optional
        Some of :data:`TABLES`; all by default.

    Returns
    -------
    list of Path
        The files, in the order in which they were written.
    """
    if isinstance(only, str):
        raise InputError(f"only={only!r} is a text. Pass a list, such as only=[{only!r}].")
    wanted = list(TABLES) if only is None else list(only)
    unknown = [name for name in wanted if name not in TABLES]
    if unknown:
        raise InputError(f"there is no table {shorten(unknown)}. Choose from {', '.join(TABLES)}.")
    summary = summarise(rows)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    return [path for name in TABLES if name in wanted for path in TABLES[name](summary, target)]


def _performance(summary: Summary, folder: Path) -> list[Path]:
    return _cells(performance_table(summary), folder, "performance")


def _ablation(summary: Summary, folder: Path) -> list[Path]:
    return _variants(ablation_table(summary), folder, "ablation")


def _sensitivity(summary: Summary, folder: Path) -> list[Path]:
    return [
        path
        for method in ("rss-dnb", "rss-dnb-sa")
        for path in _variants(sensitivity_table(summary, method), folder, f"sensitivity_{method}")
    ]


def _variants(table: CellTable, folder: Path, name: str) -> list[Path]:
    """Write a table of variants where there is any; the original alone says nothing new."""
    ran = {(method, setting) for _, method, setting in table.summary}
    changed = any(
        (line.method, line.setting) in ran for line in table.lines if line.setting != "original"
    )
    return _cells(table, folder, name) if changed else []


def _cells(table: CellTable, folder: Path, name: str) -> list[Path]:
    if not table.datasets:
        return []
    return _pair(folder, name, table.markdown(), table.records())


def _ranks(summary: Summary, folder: Path) -> list[Path]:
    """Write ranks, tests and pictures; without an extra that they need, what needs none."""
    try:
        tables = rank_tables(summary)
    except ImportError as error:  # after a long run, one table less is better than none at all
        path = folder / "ranks.md"
        write_text(path, f"# Ranks over data sets\n\nNot computed: {error}\n")
        return [path]
    if not tables:
        return []
    try:
        pictures = _pictures(tables, folder)
    except ImportError:
        pictures = []
    records = {
        "ranks": [record for table in tables for record in table.ranks()],
        "friedman": [record for table in tables for record in table.friedman()],
        "nemenyi": [record for table in tables for record in table.nemenyi()],
    }
    document = ranks_markdown(summary, tables, pictures=bool(pictures))
    paths = _pair(folder, "ranks", document, records["ranks"])
    for name in ("friedman", "nemenyi"):
        paths.append(_write(folder / f"{name}.csv", csv_text(records[name])))
    return paths + pictures


def _pictures(tables: list[RankTables], folder: Path) -> list[Path]:
    paths = []
    for table in tables:
        for ranking in table.rankings:
            if ranking.test is not None:
                path = folder / picture_name(table, ranking)
                critical_difference_display(ranking.test, ranking.measure).save(path)
                paths.append(path)
    return paths


def _computational(summary: Summary, folder: Path) -> list[Path]:
    records = computational_records(summary)
    if not records:
        return []
    return _pair(folder, "computational", computational_markdown(summary), records)


def _objective(summary: Summary, folder: Path) -> list[Path]:
    records = objective_records(summary)
    if not any(record["mean"] is not None for record in records):
        return []
    return _pair(folder, "objective", objective_markdown(summary), records)


def _pair(folder: Path, name: str, text: str, records: list[dict[str, Any]]) -> list[Path]:
    return [
        _write(folder / f"{name}.md", text),
        _write(folder / f"{name}.csv", csv_text(records)),
    ]


def _write(path: Path, text: str) -> Path:
    write_text(path, text)
    return path


#: The tables by name, in the order in which they are written.
TABLES: dict[str, Callable[[Summary, Path], list[Path]]] = {
    "performance": _performance,
    "ablation": _ablation,
    "sensitivity": _sensitivity,
    "ranks": _ranks,
    "computational": _computational,
    "objective": _objective,
}
