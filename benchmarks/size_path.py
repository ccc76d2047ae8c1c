"""How many questions a card should ask: ``python -m benchmarks.size_path heart --figure FILE.svg``.

Prints the table that the documentation shows, and draws its picture.  The same options give the
same numbers as long as no search runs out of time, as the last line shows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from netbenefit import RiskScoreClassifier, SizePath, size_path
from netbenefit.common.table import Table
from netbenefit.plots.base import check_picture
from netbenefit.plots.search import save_picture
from reproduction.datasets import load_dataset


def measure(
    name: str, sizes: Sequence[int], folds: int, time_limit: float | None, jobs: int
) -> SizePath:
    """The path of a data set, with default settings."""
    X, y, names = load_dataset(name)
    columns = Table({column: X[:, k] for k, column in enumerate(names)}).to_frame()
    model = RiskScoreClassifier(binner=None, time_limit=time_limit)
    return size_path(model, columns, y, sizes=sizes, folds=folds, n_jobs=jobs)


def markdown(path: SizePath) -> str:
    """The path as a Markdown table, best and suggested sizes in bold.

    Standard errors are over the folds; differences are taken within folds.
    """
    lines = [
        "| questions | held-out rows | below the best | training rows | |",
        "|---:|---:|---:|---:|---|",
    ]
    for i, size in enumerate(path.sizes):
        marks = {"best": path.best, "suggested": path.suggested}
        named = ", ".join(mark for mark, marked in marks.items() if marked == size)
        below = (
            "" if size == path.best else f"{-path.difference[i]:.4f} ± {path.difference_se[i]:.4f}"
        )
        held_out = f"{path.held_out[i]:.4f} ± {path.held_out_se[i]:.4f}"
        rules = f"**{size}**" if named else str(size)
        training = f"{path.training_net_benefit[i]:.4f}"
        lines.append(f"| {rules} | {held_out} | {below} | {training} | {named} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of one data set, and draw it on request."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.size_path", description=__doc__)
    parser.add_argument("name", help="a data set, such as heart")
    parser.add_argument("--figure", type=Path, help="where to draw: .svg, .png or .pdf")
    parser.add_argument("--max-size", type=int, default=12)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds per search")
    parser.add_argument("--jobs", type=int, default=1, help="folds at a time")
    options = parser.parse_args(arguments)
    if options.figure:
        check_picture(options.figure)
    begin = time.perf_counter()
    sizes = range(1, options.max_size + 1)
    path = measure(options.name, sizes, options.folds, options.time_limit, options.jobs)
    print(markdown(path))
    print(f"\nCard of {path.suggested} questions:\n\n{path.cards[path.suggested]}")
    if options.figure:
        save_picture(path, options.figure)
    # A card's provenance says how its search ended.
    origins = [c.provenance for cards in (path.cards, *path.fold_cards) for c in cards.values()]
    ends = sorted({str(origin and origin.status).replace("_", " ") for origin in origins})
    print(f"\nsearches: {', '.join(ends)}; {time.perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
