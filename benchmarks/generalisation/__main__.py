"""Command line: ``python -m benchmarks.generalisation [run|report] [options]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import available
from benchmarks.generalisation.analyse import Book
from benchmarks.generalisation.data import FOLDS, BreastCancerCase, Case, RealCase
from benchmarks.generalisation.methods import TIME_LIMIT, choose_methods
from benchmarks.generalisation.raw import SMALL_DRAWS, TABLES, RawCase, SmallCase
from benchmarks.generalisation.report import (
    raw_section,
    real_section,
    simulated_section,
    speed_section,
)
from benchmarks.generalisation.run import default_jobs, run
from benchmarks.generalisation.simulate import FAMILIES, REPLICATES, SimulatedCase
from benchmarks.generalisation.speed import DRAWS, TRUTHS, SpeedCase
from benchmarks.generalisation.store import Store
from benchmarks.generalisation.tables import Section, write_sections

KINDS = ("real", "breast_cancer", "simulated", "raw", "raw_300", "speed")
OUT = Path(__file__).resolve().parents[1] / "results" / "generalisation"


def make_cases(
    kind: str,
    datasets: Sequence[str] | None = None,
    sizes: Sequence[int] | None = None,
    most: int | None = None,
) -> list[Case]:
    """List the cases of a kind: some or all data sets, training sizes, and folds or replicates."""

    def selected(name: str) -> bool:
        return datasets is None or name in datasets

    def some(count: int) -> range:
        return range(count if most is None else min(count, most))

    if kind == "simulated":
        return [
            SimulatedCase(name, replicate, n)
            for name in FAMILIES
            if selected(name)
            for n, count in REPLICATES.items()
            if sizes is None or n in sizes
            for replicate in some(count)
        ]
    if kind == "raw":
        return [RawCase(name, fold) for name in TABLES if selected(name) for fold in some(FOLDS)]
    if kind == "raw_300":
        return [
            SmallCase(name, draw) for name in TABLES if selected(name) for draw in some(SMALL_DRAWS)
        ]
    if kind == "speed":
        return [SpeedCase(name, draw) for name in TRUTHS if selected(name) for draw in some(DRAWS)]
    if kind == "breast_cancer":
        name = BreastCancerCase.data
        return [BreastCancerCase(name, fold) for fold in some(FOLDS) if selected(name)]
    return [RealCase(name, fold) for name in available() if selected(name) for fold in some(FOLDS)]


def make_sections(cases: dict[str, list[Case]], options: argparse.Namespace) -> list[Section]:
    """Build the report of the selected kinds."""
    methods = choose_methods(options.methods, options.time_limit)
    store = Store(options.out)
    sections = []
    for kind, chosen in cases.items():
        book = Book.read(chosen, methods, store)
        if kind == "simulated":
            abouts = {name: family.about for name, family in FAMILIES.items()}
            sections.append(simulated_section(book, abouts))
        elif kind in ("raw", "raw_300"):
            sections.append(raw_section(book, kind.replace("_", "-")))
        elif kind == "speed":
            sections.append(speed_section(book, {n: t.about for n, t in TRUTHS.items()}))
        else:
            title = "Ten folds of the eight data sets"
            if kind == "breast_cancer":
                title = "Ten folds of scikit-learn's breast-cancer data"
            sections.append(real_section(book, kind.replace("_", "-"), title))
    return sections


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generalisation")
    add = parser.add_argument
    add("command", nargs="?", choices=["run", "report"], help="default: run, then report")
    add("--only", choices=KINDS, help="one kind of data")
    add("--methods", type=_names, help="names with commas between")
    add("--datasets", type=_names, help="data sets or families, with commas between")
    add("--sizes", type=_numbers, help="training rows of simulated data, with commas between")
    add("--replicates", type=int, help="at most so many folds or replicates")
    add("--time-limit", type=float, default=TIME_LIMIT, help="seconds for a card")
    add("--jobs", type=int, default=default_jobs(), help="processes")
    add("--redo", action="store_true", help="run again what is there")
    add("--out", type=Path, default=OUT, help="folder of the results")
    add("--write", type=Path, metavar="FILE", help="fill the marked places of a document")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, report, or both."""
    options = read_options(arguments)
    kinds = KINDS if options.only is None else (options.only,)
    cases = {
        kind: make_cases(kind, options.datasets, options.sizes, options.replicates)
        for kind in kinds
    }
    if options.command != "report":
        try:
            _run(cases, options)
        except KeyboardInterrupt:
            print("stopped; what is finished is kept", file=sys.stderr)
            return 130
    if options.command != "run":
        return _report(make_sections(cases, options), options.write)
    return 0


def _run(cases: dict[str, list[Case]], options: argparse.Namespace) -> None:
    methods = choose_methods(options.methods, options.time_limit)
    everything = [case for chosen in cases.values() for case in chosen]
    store = Store(options.out)
    stored = run(everything, methods, store, n_jobs=options.jobs, redo=options.redo)
    print(f"{stored} fits stored in {options.out}", file=sys.stderr)


def _report(sections: list[Section], document: Path | None) -> int:
    for section in sections:
        section.show()
    if document is None:
        return 0
    written = write_sections(document, sections)
    names = ", ".join(section.name for section in sections)
    found = ", ".join(written) or f"nothing: it has no markers <!-- begin:NAME --> for {names}"
    print(f"{document}: wrote {found}", file=sys.stderr)
    return 0 if written else 1


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str) -> list[int]:
    return [int(part) for part in _names(text)]


if __name__ == "__main__":
    sys.exit(main())
