"""Everything that is made of the rows: tables, figures, the case study, and an index of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from netbenefit.cards.scorecard import Scorecard
from netbenefit.common.checks import InputError, shorten
from netbenefit.common.files import write_text
from reproduction.cell_tables import CellTable, ablation_table, performance_table, sensitivity_table
from reproduction.credit_report import with_names, write_credit
from reproduction.datasets import load_dataset
from reproduction.figures import write_figures
from reproduction.names import title_of
from reproduction.plan import BUDGETS, CREDIT, DATASETS, METHODS, OUTPUTS, Job
from reproduction.published import load_published
from reproduction.rank_tables import (
    RankTables,
    critical_difference_display,
    picture_name,
    rank_tables,
    ranks_markdown,
)
from reproduction.run import Row, read_rows, write_rows
from reproduction.solver_tables import (
    computational_markdown,
    computational_records,
    objective_markdown,
    objective_records,
)
from reproduction.summary import Summary, csv_text, document, number, summarise

# -- the cards themselves: one per data set, of our engine, where it does better than published ----


CardRow = Mapping[str, Any]
_METHOD = "rss-dnb-exact"


def write_cards(rows: Sequence[CardRow], folder: Path) -> list[Path]:
    """Write ``cards.md`` where there is a card to show."""
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
    rows: Sequence[CardRow], names: Callable[[str], Sequence[str] | None] = _names_of
) -> str | None:
    """Show a card of each data set whose published objective our engine exceeds."""
    better = {
        record["dataset"]: record
        for record in objective_records(summarise(rows))
        if record["method"] == _METHOD and record["verdict"] == "higher"
    }
    mine = {row["dataset"]: row for row in rows if _is_shown(row)}
    shown = [mine[dataset] for dataset in better if dataset in mine]
    slim = _slim_cards(rows)
    if not shown and not slim:
        return None
    return document(
        "Cards that do better than published",
        "By the paper's own objective, AUNBC on the training rows less C0 for every feature. Each "
        "card was learnt from nine tenths of the rows (fold 0 is held out) by our exact engine. "
        "The published figures are means over ten other folds, so small differences may be due to "
        "the folds; `objective.md` has the means of ours.",
        *(part for row in shown for part in _section(row, better[row["dataset"]], names)),
        *(part for row in slim for part in _slim_section(row, names)),
    )


def _is_shown(row: CardRow) -> bool:
    mine = (row["method"], row["setting"], row["fold"]) == (_METHOD, "original", 0)
    return mine and bool(row.get("card"))


def _section(
    row: CardRow, record: Mapping[str, Any], names: Callable[[str], Sequence[str] | None]
) -> list[str]:
    card = _called(row, names)
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


def _slim_cards(rows: Sequence[CardRow]) -> list[CardRow]:
    """SLIM's cards without an error that cost less than any published "optimal" one can.

    A feature costs C0, a point C0 / 10; the published cards have at least a point per feature.
    """
    found: dict[str, CardRow] = {}
    for row in rows:
        if (row["method"], row["setting"]) != ("slim", "original") or row["train_auroc"] != 1:
            continue
        solved = load_published().computational.get((row["dataset"], "slim"))
        cell = load_published().cells.get((row["dataset"], "slim", "original", "size"))
        auroc = load_published().cells.get((row["dataset"], "slim", "original", "train_auroc"))
        if solved is None or cell is None or cell.min is None or auroc is None:
            continue
        claimed = solved.status == "optimal" and auroc.mean == 1
        best = found.get(row["dataset"])
        if (
            claimed
            and _price(row) < 1.1 * cell.min
            and (best is None or _price(row) < _price(best))
        ):
            found[row["dataset"]] = row
    return list(found.values())


def _price(row: CardRow) -> float:
    """Price of features and points, in units of C0."""
    rules = Scorecard.from_json(row["card"]).rules
    return len(rules) + sum(abs(rule.points) for rule in rules) / 10


def _slim_section(row: CardRow, names: Callable[[str], Sequence[str] | None]) -> list[str]:
    cell = load_published().cells[row["dataset"], "slim", "original", "size"]
    return [
        f"## {title_of(row['dataset'])}, SLIM",
        "SLIM counts errors, and has prices for features and for points. Ours (fold "
        f"{row['fold']} is held out): no error on the training rows, "
        f"{_features(int(row['size']))}, price {_price(row):.1f} C0. Published: no error, "
        f"{cell.mean:g} features ({cell.min:g} to {cell.max:g}), a price of at least "
        f"{1.1 * (cell.min or 0):.1f} C0, solver status optimal.",
        f"```\n{_called(row, names)}\n```",
    ]


def _called(row: CardRow, names: Callable[[str], Sequence[str] | None]) -> Scorecard:
    """The card, with the names of its columns where they are known."""
    card, known = Scorecard.from_json(row["card"]), names(row["dataset"])
    return card if known is None else with_names(card, known)


def _features(size: int) -> str:
    return "1 feature" if size == 1 else f"{size} features"


# -- the tables of the experiments, as Markdown to read and CSV to go on with ----------------------


def write_tables(
    rows: Iterable[Mapping[str, Any]],
    folder: str | os.PathLike[str],
    only: Iterable[str] | None = None,
) -> list[Path]:
    """Write all tables that the rows of a run allow: Markdown with a legend, and tidy CSV.

    Ranks have three CSV files, and a picture for each metric.
    """
    if isinstance(only, str):
        raise InputError(f"only={only!r} is a text. Pass a list, such as only=[{only!r}].")
    chosen = list(TABLES) if only is None else list(only)
    unknown = [name for name in chosen if name not in TABLES]
    if unknown:
        raise InputError(f"there is no table {shorten(unknown)}. Choose from {', '.join(TABLES)}.")
    summary = summarise(rows)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    return [path for name in TABLES if name in chosen for path in TABLES[name](summary, target)]


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


#: Of no use without the data, and by far the largest part of a row.
_LONG = ("test_rows", "test_risks")


#: Figures of an output.
_FIGURES = {
    "curves": ("roc", "calibration", "decision"),
    "region": ("region-theory", "region-credit", "region-calibration"),
    "credit": ("credit-curves",),
}


def write_outputs(rows: Sequence[Row], folder: Path, only: Iterable[str] = ()) -> list[Path]:
    """Write tables and figures, as far as there are rows for them, in reading order."""
    chosen = tuple(only) or tuple(OUTPUTS)
    folder.mkdir(parents=True, exist_ok=True)
    files = write_tables(rows, folder, [name for name in chosen if name in TABLES])
    if "objective" in chosen:
        files += write_cards(rows, folder)
    files += write_figures(rows, folder, [name for key in chosen for name in _FIGURES.get(key, ())])
    if "credit" in chosen and any(row["dataset"] == CREDIT for row in rows):
        files += write_credit(rows, folder)
    if rows:
        results = folder / "results.parquet"
        write_rows([_short(row) for row in rows], results)
        files.append(results)
    index = folder / "index.md"
    write_text(index, index_page(rows, files))
    return [index, *files]


def check_overwriting(folder: Path, plan: Iterable[Job]) -> None:
    """Refuse a folder whose results would be replaced by fewer.

    Without its stored rows, as in a fresh clone, a small run would overwrite the tables of a large
    one.
    """
    results = folder / "results.parquet"
    if not results.is_file():
        return
    kept = [row for file in (folder / "rows").glob("*--*.parquet") for row in read_rows(file)]
    known = {_key(row) for row in kept}
    known |= {(job.dataset, job.method, s, job.fold) for job in plan for s in job.settings}
    lost = [row for row in read_rows(results) if _key(row) not in known]
    if lost:
        methods = shorten(list(dict.fromkeys(row["method"] for row in lost)), 4)
        raise InputError(
            f"{folder} holds the results of {len(lost):,} fits (of {methods}) that this run would "
            f"not make again, and that {folder / 'rows'} does not have: its tables would lose "
            "them. Name another folder with --out."
        )


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("dataset", "method", "setting", "fold"))


def _short(row: Mapping[str, Any]) -> Row:
    return {name: value for name, value in row.items() if name not in _LONG}


def index_page(rows: Sequence[Mapping[str, Any]], files: Iterable[Path]) -> str:
    """What was run, and where its tables and figures are, as Markdown."""
    links = [f"* [{file.name}]({file.name})" for file in files]
    return "\n".join(
        ["# The paper's experiments, run again", "", *_run_notes(rows), "", *links, ""]
    )


def _run_notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not rows:
        return ["No fit was made for what is here."]
    budgets = _found(rows, "budget", BUDGETS)
    hours = sum(row["seconds"] for row in rows if row["setting"] != "no-calibration") / 3600
    return [
        f"{len(rows):,} results of netbenefit {', '.join(_found(rows, 'version', ()))}; budget: "
        f"{', '.join(budgets)}. The fits took {hours:.1f} hours of one core.",
        "",
        f"* Data: {', '.join(_found(rows, 'dataset', (*DATASETS, CREDIT)))}",
        f"* Methods: {', '.join(_found(rows, 'method', METHODS))}",
    ]


def _found(rows: Sequence[Mapping[str, Any]], name: str, known: Iterable[str]) -> list[str]:
    """Values that occur, in the order in which they are known."""
    there = {str(row[name]) for row in rows}
    return [value for value in known if value in there] + sorted(there - set(known))
